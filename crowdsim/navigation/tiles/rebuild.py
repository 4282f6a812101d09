"""Tiles of ground that changes: only those are meshed anew whose walls,
borders or gaps are others than they were.
"""

from __future__ import annotations

from collections.abc import Mapping

from crowdsim.geometry.steps import Steps, at_once
from crowdsim.navigation.mesh.build import MeshParameters
from crowdsim.navigation.mesh.plates import Plates
from crowdsim.navigation.tiles.build import TileMesh
from crowdsim.navigation.tiles.cut import TileGround
from crowdsim.navigation.tiles.numbers import TileNumbers
from crowdsim.navigation.tiles.parts import CutPlates
from crowdsim.navigation.tiles.plates import cut_plates
from crowdsim.navigation.tiles.tiled_mesh import TiledMesh

MOST_KNOWN = 20_000  # Tiles that are remembered; a few kB each.
# Made between two looks at the clock, some milliseconds where all are new; of a door that closes, one or two
# are.
TILES_A_STEP = 4


class TileRebuilder:
    """Makes the tiles of other ground than that of a tiled mesh, for it to take.

    Parameters
    ----------
    numbers : TileNumbers
        Of the mesh whose tiles they are.
    parameters : MeshParameters

    Notes
    -----
    A tile follows from the bits of walls, borders, gaps and seams that `cut_plates` gives it, so two tiles of
    the same bits are one. Twin: the same ground cut into tiles at once, in
    `tests/navigation/tiles/test_tile_rebuild.py`.
    """

    def __init__(self, numbers: TileNumbers, parameters: MeshParameters) -> None:
        self.numbers, self.parameters = numbers, parameters
        self._known: dict[tuple[int, bytes], TileMesh | None] = {}
        self._cut: dict[bytes, TileGround] = {}  # the plates of the last ground
        self.built_count = 0

    def tiles_of(self, ground: Plates) -> dict[int, TileMesh]:
        """Return the tiles of some ground within that of the mesh, by number;
        those without ground are left out.

        Parameters
        ----------
        ground : Plates
            With the terrain of all grounds that are asked for.

        Raises
        ------
        NavigationError
            If it cannot be meshed.
        """
        return at_once(self.steps(ground))

    def steps(self, ground: Plates) -> Steps[dict[int, TileMesh]]:
        """Make tiles as `tiles_of` does, resting after the ground was cut and after every TILES_A_STEP tiles,
        known or not.
        """
        if all(plate.ground.is_empty for plate in ground.plates):
            return {}
        cuts, self._cut = yield from cut_plates(ground, self.numbers, self.parameters, self._cut)
        yield "ground"
        cut = CutPlates(cuts, self.parameters, ground.cell)
        found: dict[int, TileMesh] = {}
        yield "bits"
        for place, key in enumerate(cut.bits.items(), 1):
            if key not in self._known:
                self._known[key] = at_once(cut.steps(key[0]))
                self.built_count += 1
            content = self._known[key] = self._known.pop(key)  # the last one used is the last to go
            if content is not None:
                found[key[0]] = content
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
