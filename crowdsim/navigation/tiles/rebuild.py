"""Tiles of ground that changes: only those are meshed anew whose walls,
borders or gaps are others than they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.geometry.steps import Steps, at_once
from crowdsim.navigation.mesh.build import MeshParameters, cut_at_openings
from crowdsim.navigation.tiles.build import TileMesh, build_tile
from crowdsim.navigation.tiles.cut import TileGround, cut_ground
from crowdsim.navigation.tiles.tiled_mesh import TiledMesh

MOST_KNOWN = 20_000  # Tiles that are remembered; a few kB each.
# Made between two looks at the clock, some milliseconds where all are new; of a door that closes, one or two
# are.
TILES_A_STEP = 4


class TileRebuilder:
    """Makes the tiles of other ground than that of a tiled mesh, for it to take.

    Parameters
    ----------
    size : float, m
    first, shape : (int, int)
        Of the mesh whose tiles they are: they have its numbers.
    parameters : MeshParameters
    terrain : sequence of Terrain
        As the mesh was built with.

    Notes
    -----
    A tile follows from the bits of wall, border and gap that `cut_ground` gives it, so two tiles of the same
    bits are one. Twin: the same ground cut into tiles at once, in
    `tests/navigation/tiles/test_tile_rebuild.py`.
    """

    def __init__(
        self,
        size: float,
        first: tuple[int, int],
        shape: tuple[int, int],
        parameters: MeshParameters,
        terrain: Sequence[Terrain] = (),
    ) -> None:
        self.size, self.first, self.shape, self.parameters = size, first, shape, parameters
        self.terrain = tuple(terrain)
        self._known: dict[tuple[int, bytes], TileMesh | None] = {}
        self.built_count = 0

    def tiles_of(self, ground: Any, openings: Any = None) -> dict[int, TileMesh]:
        """Return the tiles of some ground within that of the mesh, by number;
        those without ground are left out.

        Parameters
        ----------
        ground : shapely Polygon or MultiPolygon, m
            Valid.
        openings : shapely geometry, optional

        Raises
        ------
        NavigationError
            If it cannot be meshed.
        """
        return at_once(self.steps(ground, openings))

    def steps(self, ground: Any, openings: Any = None) -> Steps[dict[int, TileMesh]]:
        """Make tiles as `tiles_of` does, resting after the ground was cut and after every TILES_A_STEP tiles,
        known or not.
        """
        if ground.is_empty:
            return {}
        cut = cut_ground(
            cut_at_openings(ground, openings),
            self.size,
            openings=openings,
            widest_gap=2.0 * self.parameters.widest_body,
            terrain=self.terrain,
            cell=self.parameters.terrain_cell,
        )
        cut = numbered_as(cut, self.first, self.shape)
        found: dict[int, TileMesh] = {}
        yield "ground"
        bits_of = bits_of_tiles(cut)
        yield "bits"
        for place, (tile, bits) in enumerate(bits_of.items(), 1):
            key = (tile, bits)
            if key not in self._known:
                self._known[key] = build_tile(cut, tile, most_sides=self.parameters.sides)
                self.built_count += 1
            content = self._known[key] = self._known.pop(key)  # the last one used is the last to go
            if content is not None:
                found[tile] = content
            if place % TILES_A_STEP == 0:
                yield "tiles"
        while len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return found


def differences(tiles: TiledMesh, wanted: Mapping[int, TileMesh]) -> tuple[list[int], dict[int, TileMesh]]:
    """Return which tiles of a mesh have to go, and which to come, so that it has the wanted ones;
    a tile that is another goes and comes.

    Parameters
    ----------
    tiles : TiledMesh
    wanted : mapping of int to TileMesh
    """
    there = set(tiles.tiles())
    new = {
        tile: content
        for tile, content in sorted(wanted.items())
        if tile not in there or not _is_same(tiles.content(tile), content)
    }
    return sorted(tile for tile in there if tile not in wanted or tile in new), new


def _is_same(one: TileMesh, other: TileMesh) -> bool:
    return one is other or one.same_as(other)


def numbered_as(cut: TileGround, first: tuple[int, int], shape: tuple[int, int]) -> TileGround:
    """Return cut ground with the numbers that its tiles have in a larger table of tiles."""
    if cut.first == first and cut.shape == shape:
        return cut
    columns, right, up = cut.shape[0], cut.first[0] - first[0], cut.first[1] - first[1]

    def number(tile: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(tile < 0, tile, (tile // columns + up) * shape[0] + tile % columns + right).astype(
            np.int32
        )

    return replace(
        cut,
        first=first,
        shape=shape,
        wall_tile=number(cut.wall_tile),
        border_tile=number(cut.border_tile),
        gap_tile=number(cut.gap_tile),
        gap_tiles=[tuple(number(np.array(tiles, dtype=np.int32)).tolist()) for tiles in cut.gap_tiles],
    )


def bits_of_tiles(cut: TileGround) -> dict[int, bytes]:
    """Return for each tile with walls or borders everything that its mesh is made from, as bytes."""
    parts: dict[int, list[bytes]] = {}

    def add(tile: NDArray[Any], kind: bytes, rows: NDArray[Any]) -> None:
        if not len(tile):
            return  # ground that lies in one tile has no borders; `np.split` would make one part of nothing
        order = np.argsort(tile, kind="stable")
        names, starts = np.unique(tile[order], return_index=True)
        for name, own in zip(names.tolist(), np.split(rows[order], starts[1:]), strict=True):
            if name >= 0:
                parts.setdefault(name, []).append(kind + own.tobytes())

    wall = np.column_stack([cut.points[cut.wall].reshape(-1, 4), cut.wall_open])
    border = cut.points[cut.border].reshape(-1, 4)
    add(cut.wall_tile, b"wall", wall)
    for side in range(2):
        add(cut.border_tile[:, side], b"border %d" % side, border)
    if len(cut.gap):
        needed = [repr(cut.gap_tiles[gap]).encode() for gap in cut.gap_of.tolist()]
        gap = np.column_stack([cut.points[cut.gap].reshape(-1, 4), cut.gap_width])
        for tile in np.unique(cut.gap_tile).tolist():
            rows = np.flatnonzero(cut.gap_tile == tile)
            text = gap[rows].tobytes() + b";".join(needed[row] for row in rows.tolist())
            if tile >= 0:
                parts.setdefault(tile, []).append(b"gap" + text)
        _add_border_gaps(cut, gap, needed, parts)
    return {tile: b"|".join(found) for tile, found in sorted(parts.items())}


def _add_border_gaps(
    cut: TileGround, gap: NDArray[np.float64], needed: list[bytes], parts: dict[int, list[bytes]]
) -> None:
    """Add the gaps that lie on borders to both tiles."""
    tiles_of: dict[tuple[int, int], list[int]] = {}
    for (a, b), tiles in zip(cut.border.tolist(), cut.border_tile.tolist(), strict=True):
        tiles_of.setdefault((min(a, b), max(a, b)), []).extend(tiles)
    for row in np.flatnonzero(cut.gap_tile < 0).tolist():
        a, b = cut.gap[row].tolist()
        for tile in tiles_of.get((min(a, b), max(a, b)), ()):
            if tile >= 0:
                parts.setdefault(tile, []).append(b"on border" + gap[row].tobytes() + needed[row])
