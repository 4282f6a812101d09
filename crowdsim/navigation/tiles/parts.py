"""Tiles of ground that consists of plates: each is put together from the parts that plates have in it."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from crowdsim.geometry.steps import Steps
from crowdsim.geometry.triangulation import is_open
from crowdsim.navigation.mesh.build import MeshParameters
from crowdsim.navigation.mesh.plates import edge_key
from crowdsim.navigation.mesh.surface_mesh import pieces_of
from crowdsim.navigation.mesh.terrain import speeds_on
from crowdsim.navigation.tiles.bits import bits_of_plate
from crowdsim.navigation.tiles.build import (
    BORDER,
    OPEN,
    WALL,
    TileMesh,
    in_space,
    packed,
    put_together,
    tile_steps,
)
from crowdsim.navigation.tiles.plates import PlateCut
from crowdsim.navigation.tiles.seams import MOST_AT_A_PLACE


class CutPlates:
    """Plates that were cut, as tiles are put together from their parts.

    Parameters
    ----------
    cuts : sequence of PlateCut
    parameters : MeshParameters
    cell : float, m
        See `Plates`.

    Attributes
    ----------
    bits : dict of int to bytes
        For each tile with ground everything that its mesh is made from.
    """

    def __init__(self, cuts: Sequence[PlateCut], parameters: MeshParameters, cell: float) -> None:
        self._cuts, self._parameters, self._cell = cuts, parameters, cell
        self._parts: dict[int, list[tuple[bytes, int]]] = defaultdict(list)
        for number, cut in enumerate(cuts):
            for tile, bits in bits_of_plate(cut).items():
                self._parts[tile].append((bits, number))
        for parts in self._parts.values():
            parts.sort()  # so that their order does not depend on plates that are elsewhere
        self.bits = {
            tile: b"|".join(bits for bits, _ in parts) for tile, parts in sorted(self._parts.items())
        }

    def steps(self, tile: int) -> Steps[TileMesh | None]:
        """Mesh a tile, resting in between; None where it has no ground.

        Raises
        ------
        NavigationError
            If it cannot be meshed.
        """
        found = []
        for _, number in self._parts[tile]:
            cut, plate = self._cuts[number], self._cuts[number].plate
            if cut.ground is None:
                part: TileMesh | None = _whole_plate(cut, self._parameters, self._cell)
            else:
                part = yield from tile_steps(cut.ground, tile, most_sides=self._parameters.sides)
            if part is not None:
                sheet = plate.sheet * MOST_AT_A_PLACE
                found.append(in_space(part, plate.plane, plate.pace, sheet, cut.corners, cut.gaps))
            yield "part"
        return put_together(found) if found else None


def _whole_plate(cut: PlateCut, parameters: MeshParameters, cell: float) -> TileMesh:
    """Return the part that a tile has of a plate which lies in it."""
    plate = cut.plate
    pieces = pieces_of(plate, cut.seams, parameters, cell)
    vertices, whole = pieces.vertices, pieces.whole
    sides = {side for corners in pieces.polygons for side in itertools.pairwise([*corners, corners[0]])}
    rim = sorted({whole.get((a, b), (a, b)) for a, b in sides if (b, a) not in sides})
    ends = np.array(rim)
    opened = is_open(vertices[ends[:, 0]], vertices[ends[:, 1]], plate.openings)
    points = vertices.tolist()
    kinds = {
        (a, b): BORDER if edge_key(points[a], points[b]) in cut.seams else OPEN if is_exit else WALL
        for (a, b), is_exit in zip(rim, opened.tolist(), strict=True)
    }
    tiles: dict[int, set[int]] = defaultdict(set)
    for end in sorted({end for side, kind in kinds.items() if kind == WALL for end in side}):
        tiles[end].add(cut.tile)
    for end, (x, y) in enumerate(points):
        tiles[end].update(cut.at_walls.get((x, y), ()))
    gaps = {}
    for a, b in sorted({(min(side), max(side)) for side in whole.values()}):
        width = math.dist(points[a], points[b])
        if tiles[a] and tiles[b] and width <= 2.0 * parameters.widest_body:
            alone = {tile for end in (a, b) if len(tiles[end]) == 1 for tile in tiles[end]}
            gaps[a, b] = width, tuple(sorted(alone | {cut.tile}))
    return packed(pieces, kinds, speeds_on(plate.terrain, vertices, pieces.polygons), gaps)
