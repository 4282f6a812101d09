"""A mesh in tiles that can be taken out, put back and replaced while agents walk on it.

Kernels see one `NavMesh`. When tiles change it is joined anew from those that are there, so that it depends
on them only, and not on what was before; what keeps numbers of polygons or half-edges is given their new
ones. Where there are several floors each has tiles of its own, and they are joined over their seams as over
lines of tiles. What outlives changes are handles (`crowdsim.navigation.tiles.handles`): a tile that is
removed gets a new salt, and all handles of its polygons are stale from then on, also after the same tile has
been put back.

Source: [Mononen 2010], "Save Games and All That", "Detour Serialization API", "Delta State".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import CLEARANCE_M
from crowdsim.geometry.steps import Steps, at_once
from crowdsim.geometry.walls import Walls
from crowdsim.kernels.held_pages import HeldPages, holder_of
from crowdsim.navigation.mesh.kept import kept_mesh, mesh_of_kept
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.mesh.point_location import Cells, cells_over
from crowdsim.navigation.mesh.wall_lists import with_lists
from crowdsim.navigation.tiles import handles
from crowdsim.navigation.tiles.build import TileMesh, depths_in
from crowdsim.navigation.tiles.join import Joined, connected_parts, join_tiles
from crowdsim.navigation.tiles.numbers import TileNumbers
from crowdsim.navigation.tiles.renumber import Renumbered, renumber
from crowdsim.navigation.tiles.state import are_apart, numbers_from, pack_tiles, split_tiles, unpack_tiles
from crowdsim.saved import Arrays, Saved

# Flag of a polygon that no agent may enter or leave; the other bits of the flags are free for users.
CLOSED = 1
MISPLACED_M = 1e-3  # How far beyond its tile a polygon may reach.
_LEAST_M, _FAR = 1e-3, 1e9  # Bounds of what a saved mesh says of its tiles and cells.


class NewTiles(NamedTuple):
    """A mesh of other tiles, joined and ready to be taken.

    Attributes
    ----------
    remove : list of int
    add : dict of int to (TileMesh or None)
        The change.
    joined : Joined
        Its walls have their lists.
    now : Renumbered
    version : int
        Of the mesh that it was made from.
    """

    remove: list[int]
    add: dict[int, TileMesh | None]
    joined: Joined
    now: Renumbered
    version: int


class TiledMesh:
    """A mesh of tiles with salted handles.

    Parameters
    ----------
    tiles : mapping of int to TileMesh
        All there are, by number.
    numbers : TileNumbers
    wall_reach : float, m
        How far the wall lists of the polygons reach.
    clearance : float, m
        Free height above all ground.

    Attributes
    ----------
    mesh : NavMesh
        Joined from the tiles that are there, plus one polygon, the last, that stands for no ground.
    walls : Walls
    contents_version : int
    salt : (tiles,) int64
    flags : (np,) uint16
        See `set_flags`.
    areas : (np,) uint8
        See `set_areas`.
    held : HeldPages or None
        Holds the mesh and its walls, so that a share of them is in memory at most; None: all are.
    """

    def __init__(
        self,
        tiles: Mapping[int, TileMesh],
        numbers: TileNumbers,
        wall_reach: float,
        clearance: float = CLEARANCE_M,
    ) -> None:
        self._begin(tiles, numbers, wall_reach, clearance)
        self._join()

    def _begin(
        self, tiles: Mapping[int, TileMesh], numbers: TileNumbers, wall_reach: float, clearance: float
    ) -> None:
        """Take what a mesh is joined from."""
        self.numbers, self.wall_reach, self.clearance = numbers, float(wall_reach), float(clearance)
        self._built = dict(tiles)  # as they were at the beginning
        self._content = dict(tiles)  # as they are; of a tile that is not there, as it was
        self._kept_flags = {
            tile: np.zeros(content.polygon_count, dtype=np.uint16) for tile, content in tiles.items()
        }
        self._kept_areas = {
            tile: np.zeros(content.polygon_count, dtype=np.uint8) for tile, content in tiles.items()
        }
        self.is_there = np.zeros(numbers.count, dtype=np.bool_)
        self.is_there[list(tiles)] = True
        self.salt = np.full(len(self.is_there), handles.FIRST_SALT, dtype=np.int64)
        corners = np.concatenate([content.vertex for content in tiles.values()])
        self._cells: Cells = cells_over(corners, sum(content.polygon_count for content in tiles.values()))
        self.held: HeldPages | None = None
        self._version = 0  # goes up with everything that the joined mesh depends on
        self.contents_version = 0  # goes up where a tile becomes another, be it there or not
        self._whole: dict[int, NDArray[np.int32]] | None = None
        self._whole_parts: tuple[tuple[int, int], NDArray[np.int32]] | None = None

    @property
    def size(self) -> float:
        """Side of a tile (m)."""
        return self.numbers.size

    @property
    def tile_count(self) -> int:
        """Number of tiles, those without ground included."""
        return len(self.salt)

    @property
    def is_level(self) -> bool:
        """Whether all of its tiles, those that are not there included, lie at one height."""
        heights = np.concatenate(
            [each for tile in self._content.values() for each in (tile.vertex_height, tile.polygon_height)]
        )
        return bool(np.all(heights == heights[0]))

    @property
    def is_even(self) -> bool:
        """Whether that is so, and all of them are walked at the agents' own speed."""
        return self.is_level and all(
            bool(np.all(tile.polygon_pace == 1.0)) for tile in self._content.values()
        )

    @property
    def nowhere(self) -> int:
        """The polygon that stands for no ground."""
        return self.mesh.polygon_count - 1

    def tile_at(self, x: float, y: float, layer: int = 0) -> int:
        """Return the number of the tile of a floor over a point (m); -1 if none was ever there."""
        return self.tile_named(int(np.floor(x / self.size)), int(np.floor(y / self.size)), layer)

    def tile_named(self, column: int, row: int, layer: int = 0) -> int:
        """Return the number of the tile in a column and row of a floor; -1 if none was ever there."""
        tile = self.numbers.number(column, row, layer)
        return tile if tile in self._content else -1

    def name_of(self, tile: int) -> tuple[int, int]:
        """Return the column and row of a tile."""
        return self.numbers.place(tile)

    def known(self) -> list[int]:
        """Return the numbers of the tiles that are there or were, ascending."""
        return sorted(self._content)

    def tiles(self) -> list[int]:
        """Return the numbers of the tiles that are there, ascending."""
        return [int(tile) for tile in np.flatnonzero(self.is_there)]

    def content(self, tile: int) -> TileMesh:
        """Return the polygons of a tile; of one that is not there, those that it had."""
        self._refuse_unknown([tile])
        return self._content[tile]

    def handles_of(self, polygon: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the handles of polygons, shape (n,); the null handle where there is no ground."""
        return self._handle[polygon]

    def polygons_of(self, handle: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the polygons that handles name, shape (n,); `nowhere` for stale ones."""
        found = handles.find_polygons(handle, self.salt, self.first_polygon)
        return np.where(found < 0, self.nowhere, found)

    def is_stale(self, handle: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which handles name nothing any more, shape (n,)."""
        return handles.find_polygons(handle, self.salt, self.first_polygon) < 0

    def whole_parts(self) -> NDArray[np.int32]:
        """Return for each polygon in which connected part of the ground it would be if no tile were out,
        (np,); numbers mean nothing else, and that of `nowhere` is -1.
        """
        if self._whole_parts is None or self._whole_parts[0] != (self._version, self.contents_version):
            whole = self._whole_by_tile()
            parts = [*(whole[tile] for tile in self.tiles()), np.array([-1], dtype=np.int32)]
            self._whole_parts = (self._version, self.contents_version), np.concatenate(parts)
        return self._whole_parts[1]

    def _whole_by_tile(self) -> dict[int, NDArray[np.int32]]:
        if self._whole is None:
            self._whole = connected_parts(self._content, self.numbers)
        return self._whole

    def plane_under(
        self, x: float, y: float, layer: int
    ) -> tuple[int, tuple[float, float, float], tuple[float, float]]:
        """Return on what ground of a floor something stands at a point (m) where there is none now: in which
        part of the whole (see `whole_parts`), a point of its plane (m), and its slope.

        The ground is that of the tile there, of one that is out as it was; of a hole it is the nearest.
        """
        own = self.tile_at(x, y, layer)
        tiles = [own] if own >= 0 else [tile for tile in self.known() if self.numbers.layer_of(tile) == layer]
        found = (-np.inf, 0, 0)
        for tile in tiles:
            depth = depths_in(self._content[tile], x, y)
            polygon = int(np.argmax(depth))
            found = max(found, (float(depth[polygon]), -tile, polygon))
        tile, polygon = -found[1], found[2]
        content = self._content[tile]
        place = content.vertex[content.edge_vertex[content.polygon_start[polygon]]].tolist()
        slope = content.polygon_slope[polygon].tolist()
        return (
            int(self._whole_by_tile()[tile][polygon]),
            (place[0], place[1], float(content.polygon_height[polygon])),
            (slope[0], slope[1]),
        )

    def change(
        self, *, remove: Iterable[int] = (), add: Mapping[int, TileMesh | None] | Iterable[int] = ()
    ) -> Renumbered:
        """Take tiles out and put tiles in, at once.

        Parameters
        ----------
        remove : iterable of int
        add : mapping of int to (TileMesh or None), or iterable of int
            None is the tile as it was when it was taken out, flags and areas included. A tile that is removed
            and added is replaced.

        Returns
        -------
        Renumbered

        Raises
        ------
        NavigationError
            If a tile to remove is not there, or one to add is, or lies elsewhere; nothing is changed then.
        """
        return self.take(at_once(self.steps(remove=remove, add=add)))

    def steps(
        self, *, remove: Iterable[int] = (), add: Mapping[int, TileMesh | None] | Iterable[int] = ()
    ) -> Steps[NewTiles]:
        """Join the tiles that there will be, resting in between as often whatever they are; see `change`.
        Nothing is changed.
        """
        gone, added = self._checked(remove, add)
        version, new = (
            self._version,
            {tile: content for tile, content in added.items() if content is not None},
        )
        there = sorted((set(self.tiles()) - set(gone)) | set(added))
        flags = self._flags_by_tile() | {
            tile: np.zeros(content.polygon_count, dtype=np.uint16) for tile, content in new.items()
        }
        before = Joined(self.mesh, self.walls, self.first_polygon, self.first_edge)
        joined = self._joined(there, self._content | new, flags)
        yield "joined"
        joined = self._with_lists(joined)
        yield "walls"
        return NewTiles(gone, added, joined, renumber(before, joined, set(gone) | set(added)), version)

    def take(self, made: NewTiles) -> Renumbered:
        """Become what `steps` has made; where the mesh has become another one since, that is made anew.

        Raises
        ------
        NavigationError
            See `change`.
        """
        if made.version != self._version or made.joined.walls.reach != self.wall_reach:
            made = at_once(self.steps(remove=made.remove, add=made.add))
        self._kept_flags, self._kept_areas = self._flags_by_tile(), self._areas_by_tile()
        for tile in made.remove:
            self.is_there[tile] = False
            self.salt[tile] = handles.next_salt(int(self.salt[tile]))
        for tile, content in made.add.items():
            self.is_there[tile] = True
            if content is not None:
                self._take_content(tile, content)
        self._become(made.joined)
        return made.now

    def _checked(
        self, remove: Iterable[int], add: Mapping[int, TileMesh | None] | Iterable[int]
    ) -> tuple[list[int], dict[int, TileMesh | None]]:
        """Return what goes and what comes, if that can be."""
        gone = sorted(set(remove))
        added = dict(add) if isinstance(add, Mapping) else dict.fromkeys(add)
        self._refuse_unknown([*gone, *added])
        for tile in gone:
            self.refuse_absent(tile, bool(self.is_there[tile]))
        for tile in added:
            self.refuse_present(tile, bool(self.is_there[tile]) and tile not in gone)
            self._refuse_misplaced(tile, added[tile])
        return gone, added

    def refuse_absent(self, tile: int, is_there: bool) -> None:
        """Raise NavigationError for a tile that is to go, unless it is there."""
        if not is_there:
            raise NavigationError(f"{self.numbers.text(tile)} is not there, so it cannot be removed")

    def refuse_present(self, tile: int, is_there: bool) -> None:
        """Raise NavigationError for a tile that is to come, if it is there."""
        if is_there:
            raise NavigationError(
                f"{self.numbers.text(tile)} is there already; remove it first, or in the same change"
            )

    def keep(self, tile: int, content: TileMesh) -> None:
        """Note what a tile that is not there will be when it is put back:
        the ground has changed since it was taken out.

        Raises
        ------
        NavigationError
            If the tile is there, or lies elsewhere.
        """
        self._refuse_unknown([tile])
        if self.is_there[tile]:
            raise NavigationError(f"{self.numbers.text(tile)} is there; replace it with a change")
        self._refuse_misplaced(tile, content)
        self._take_content(tile, content)
        self._version += 1

    def _take_content(self, tile: int, content: TileMesh) -> None:
        self._content[tile], self._whole = content, None
        self.contents_version += 1
        self._kept_flags[tile] = np.zeros(content.polygon_count, dtype=np.uint16)
        self._kept_areas[tile] = np.zeros(content.polygon_count, dtype=np.uint8)

    def set_flags(self, handle: NDArray[np.int64], flags: int) -> Renumbered:
        """Set the flags of polygons. CLOSED ones can be neither entered nor left;
        what the other bits mean is the caller's.

        Raises
        ------
        NavigationError
            If a handle is stale.
        """
        self.flags[self._fresh(handle)] = flags
        return self._rejoin()

    def set_areas(self, handle: NDArray[np.int64], area: int) -> None:
        """Set the area type of polygons, 0 to 255; what it means is the caller's.

        Raises
        ------
        NavigationError
            If a handle is stale.
        """
        self.areas[self._fresh(handle)] = area

    def _fresh(self, handle: NDArray[np.int64]) -> NDArray[np.int64]:
        handle = np.atleast_1d(handle)
        stale = self.is_stale(handle)
        if stale.any():
            old = int(handle[stale][0])
            raise NavigationError(
                f"{int(stale.sum())} of {len(handle)} handles are stale: the first names polygon "
                f"{handles.polygon_of(old)} of tile {handles.tile_of(old)} "
                f"with salt {handles.salt_of(old)}, and that was removed. Look the polygons up anew"
            )
        return self.polygons_of(handle)

    def _refuse_unknown(self, tiles: Iterable[int]) -> None:
        for tile in tiles:
            if tile not in self._content:
                layer = self.numbers.layer_of(max(0, tile))
                extent = self.numbers.extent_text(layer)
                raise NavigationError(f"there is no tile number {tile}: {extent[0].lower()}{extent[1:]}")

    def _refuse_misplaced(self, tile: int, content: TileMesh | None) -> None:
        if content is not None and not self._is_inside(tile, content):
            (ax, ay), (bx, by) = content.vertex.min(axis=0), content.vertex.max(axis=0)
            raise NavigationError(
                f"the polygons from ({ax:g}, {ay:g}) to ({bx:g}, {by:g}) m do not belong to "
                f"{self.numbers.text(tile)}"
            )

    def _own(self, values: NDArray[Any], tile: int) -> NDArray[Any]:
        return values[self.first_polygon[tile] : self.first_polygon[tile + 1]]

    def _rejoin(self) -> Renumbered:
        """Join the same tiles anew, whose flags are others than before;
        return what became of their polygons.
        """
        before = Joined(self.mesh, self.walls, self.first_polygon, self.first_edge)
        self._kept_flags, self._kept_areas = self._flags_by_tile(), self._areas_by_tile()
        self._join()
        return renumber(before, Joined(self.mesh, self.walls, self.first_polygon, self.first_edge), set())

    def _flags_by_tile(self) -> dict[int, NDArray[np.uint16]]:
        """Return the flags of all tiles: of one that is not there, as they were."""
        return self._kept_flags | {tile: self._own(self.flags, tile).copy() for tile in self.tiles()}

    def _areas_by_tile(self) -> dict[int, NDArray[np.uint8]]:
        return self._kept_areas | {tile: self._own(self.areas, tile).copy() for tile in self.tiles()}

    def _join(self) -> None:
        self._become(self._with_lists(self._joined(self.tiles(), self._content, self._kept_flags)))

    def _joined(
        self, there: list[int], content: Mapping[int, TileMesh], flags: Mapping[int, NDArray[np.uint16]]
    ) -> Joined:
        closed = {tile: closed for tile in there if (closed := flags[tile] & CLOSED != 0).any()}
        present = {tile: content[tile] for tile in there}
        return join_tiles(present, self.numbers, self._cells, closed, self.clearance)

    def _with_lists(self, joined: Joined) -> Joined:
        return joined._replace(walls=with_lists(joined.mesh, joined.walls, self.wall_reach))

    def _become(self, joined: Joined) -> None:
        there = self.tiles()
        if self.held is not None and holder_of(joined.mesh.vertex) is not self.held:
            joined = joined._replace(mesh=self.held.take(joined.mesh), walls=self.held.take(joined.walls))
        self._version += 1
        self.first_polygon, self.first_edge = joined.first_polygon, joined.first_edge
        self.mesh: NavMesh = joined.mesh
        self.walls: Walls = joined.walls
        self.flags = np.concatenate(
            [*(self._kept_flags[tile] for tile in there), np.zeros(1, dtype=np.uint16)]
        )
        self.areas = np.concatenate(
            [*(self._kept_areas[tile] for tile in there), np.zeros(1, dtype=np.uint8)]
        )
        tile = np.repeat(np.arange(self.tile_count), np.diff(self.first_polygon))
        handle = handles.pack(self.salt[tile], tile, np.arange(len(tile)) - self.first_polygon[tile])
        self._handle: NDArray[np.int64] = np.append(handle, handles.NULL).astype(np.int64)

    def tile_state(self, tile: int) -> dict[str, NDArray[Any]]:
        """Return the flags and areas of a tile that is there as named arrays,
        with the reference that they are valid for ([Mononen 2010], "Delta State").

        Raises
        ------
        NavigationError
            If the tile is not there.
        """
        self._refuse_unknown([tile])
        if not self.is_there[tile]:
            raise NavigationError(f"{self.numbers.text(tile)} is not there, so it has no state to save")
        reference = np.array([handles.pack(int(self.salt[tile]), tile, 0)], dtype=np.int64)
        return {
            "reference": reference,
            "flags": self._own(self.flags, tile).copy(),
            "areas": self._own(self.areas, tile).copy(),
        }

    def restore_tile_state(self, state: Mapping[str, NDArray[Any]]) -> Renumbered:
        """Take back what `tile_state` gave for the same version of the tile.

        Raises
        ------
        NavigationError
            If the tile was removed since, or has another number of polygons.
        """
        reference = state["reference"]
        if self.is_stale(reference)[0]:
            tile, salt = int(handles.tile_of(reference[0])), int(handles.salt_of(reference[0]))
            raise NavigationError(f"the state is of tile {tile} with salt {salt}, which was removed since")
        tile = int(handles.tile_of(reference[0]))
        flags, areas = self._own(self.flags, tile), self._own(self.areas, tile)
        if len(state["flags"]) != len(flags) or len(state["areas"]) != len(areas):
            raise NavigationError(
                f"the state has {len(state['flags'])} polygons, but {self.numbers.text(tile)} has "
                f"{len(flags)}"
            )
        flags[:], areas[:] = state["flags"], state["areas"]
        return self._rejoin()

    def state(self, *, whole: bool = False) -> dict[str, NDArray[Any]]:
        """Return everything that lives as named arrays.

        Parameters
        ----------
        whole : bool
            Also the tiles that are as they were built: `from_state` then needs nothing else. Otherwise
            `restore` takes them from a mesh that was built alike.
        """
        self._kept_flags, self._kept_areas = self._flags_by_tile(), self._areas_by_tile()
        known = sorted(self._content)
        other = (
            known if whole else [tile for tile in known if self._content[tile] is not self._built.get(tile)]
        )
        return {
            "salt": self.salt.copy(),
            "is_there": self.is_there.astype(np.uint8),
            "flags": np.concatenate([self._kept_flags[tile] for tile in known]),
            "areas": np.concatenate([self._kept_areas[tile] for tile in known]),
            "place": np.array([self.size, self.wall_reach, self.clearance]),
            "floors": self.numbers.table(),
            "cells": np.array([*self._cells.origin, self._cells.size, *self._cells.shape]),
            **pack_tiles({tile: self._content[tile] for tile in other}),
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` of a mesh that was built alike gave;
        handles that were valid then are valid again.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved, count = Saved.of(state), self.tile_count
        # of another ground, these would be others
        saved.take(
            "place", "f8", (3,), low=[self.size, 0.0, self.clearance], high=[self.size, _FAR, self.clearance]
        )
        floors = self.numbers.table()
        saved.take("floors", "i8", floors.shape, low=floors, high=floors)
        own = [*self._cells.origin, self._cells.size, *self._cells.shape]
        saved.take("cells", "f8", (5,), low=own, high=own)
        salt = saved.take("salt", "i8", (count,), low=handles.FIRST_SALT, high=handles.LAST_SALT)
        is_there = saved.take("is_there", "u1", (count,), high=1).astype(np.bool_)
        others = unpack_tiles(saved, count)
        content = dict(self._built) | others
        known = sorted(content)
        saved.require(~is_there | np.isin(np.arange(count), known), "is_there", "there is no such tile")
        sizes = [content[tile].polygon_count for tile in known]
        flags, areas = saved.take("flags", "u2", (sum(sizes),)), saved.take("areas", "u1", (sum(sizes),))
        for tile, each in others.items():
            saved.require(self._is_inside(tile, each), "tiles", f"has tile {tile} elsewhere")
        saved.require(
            are_apart([content[tile] for tile in known if is_there[tile]]) if others else True,
            "tiles",
            "has two polygons on one side of an edge",
        )
        self._content, self.salt, self.is_there, self._whole = content, salt, is_there, None
        self.contents_version += 1
        self._kept_flags = dict(zip(known, np.split(flags, np.cumsum(sizes)[:-1]), strict=True))
        self._kept_areas = dict(zip(known, np.split(areas, np.cumsum(sizes)[:-1]), strict=True))
        self._join()

    @classmethod
    def from_state(cls, state: Arrays) -> TiledMesh:
        """Return the mesh whose ``state(whole=True)`` this is ([Mononen 2010], "Save Games"):
        nothing of the ground is needed.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved = Saved(state)
        size, reach, clearance = saved.take(
            "place", "f8", (3,), low=[_LEAST_M, 0.0, _LEAST_M], high=_FAR
        ).tolist()
        numbers = numbers_from(saved, size)
        tiles = unpack_tiles(saved, numbers.count)
        saved.require(len(tiles) > 0, "tiles", "has no tiles")
        # Tiles that were taken out may not fit to those that are there: all come together only in `restore`.
        mesh = cls(dict(list(tiles.items())[:1]), numbers, reach, clearance)
        mesh._built = tiles
        x, y, cell, across, up = saved.take(
            "cells", "f8", (5,), low=[-_FAR, -_FAR, _LEAST_M, 1, 1], high=[_FAR, _FAR, _FAR, 3000, 3000]
        ).tolist()
        mesh._cells = Cells(np.array([x, y]), cell, np.array([across, up], dtype=np.int64))
        mesh.restore(Saved(state))
        return mesh

    def kept(self) -> dict[str, NDArray[Any]]:
        """Return what `from_kept` needs as named arrays: tiles, and the mesh that they are joined to."""
        return {
            **self.state(whole=True),
            **kept_mesh(self.mesh, self.walls),
            "first_polygon": self.first_polygon,
            "first_edge": self.first_edge,
        }

    @classmethod
    def from_kept(
        cls,
        kept: Arrays,
        numbers: TileNumbers,
        walls: Callable[[NavMesh, Walls], Walls],
        clearance: float,
        held: HeldPages | None = None,
    ) -> TiledMesh:
        """Return the mesh whose `kept()` this is; `walls` gives its walls the lists that it is asked for.

        Nothing is joined or looked at, since the cache is trusted; a file of a user's is for `from_state`.
        """
        if held is not None:
            held.hold(kept.values())
        mesh_alone, lines = mesh_of_kept(kept)
        with_their_lists = walls(mesh_alone, lines)
        mesh = cls.__new__(cls)
        mesh._begin(split_tiles(kept), numbers, with_their_lists.reach, clearance)
        mesh.held = held
        mesh.salt, mesh.is_there = kept["salt"], kept["is_there"].astype(np.bool_)
        x, y, cell, across, up = kept["cells"].tolist()
        mesh._cells = Cells(np.array([x, y]), cell, np.array([across, up], dtype=np.int64))
        mesh._become(Joined(mesh_alone, with_their_lists, kept["first_polygon"], kept["first_edge"]))
        return mesh

    def _is_inside(self, tile: int, content: TileMesh) -> bool:
        low = np.array(self.name_of(tile)) * self.size
        return bool(
            np.all(content.vertex >= low - MISPLACED_M)
            and np.all(content.vertex <= low + self.size + MISPLACED_M)
        )
