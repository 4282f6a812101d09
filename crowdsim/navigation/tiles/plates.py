"""Plates cut into tiles: a tile has a part of each plate that reaches into it, and whatever these parts share
with others is the same on both sides.

What is found here, once for all tiles: where lines of tiles cross seams; which corners of plates are one
vertex; and which gaps a line of tiles cuts that lie on a seam. The parts themselves are cut plate by plate
(`crowdsim.navigation.tiles.cut`); a plate that lies in one tile is not cut.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crowdsim.geometry.steps import Steps
from crowdsim.geometry.triangulation import is_open
from crowdsim.navigation.mesh.build import MeshParameters, cut_at_openings
from crowdsim.navigation.mesh.plates import EdgeKey, Plate, Plates, edge_key, rings_of
from crowdsim.navigation.tiles.cut import (
    TileGround,
    cut_ground,
    numbered_as,
    tiles_at_points,
    with_tiles_at_ends,
)
from crowdsim.navigation.tiles.numbers import TileNumbers, line_at
from crowdsim.navigation.tiles.seams import Corners, CutSeam, Point, cut_seams, with_corners

PLATES_A_STEP = 64  # Cut between two looks at the clock, some milliseconds where all are new.


@dataclass(frozen=True, eq=False)
class PlateCut:
    """A plate as its tiles have parts of it.

    Attributes
    ----------
    plate : Plate
        With corners where lines of tiles cross its seams.
    seams : set of edges
        What it shares with others, cut at lines of tiles.
    walls : list of ((x, y), (x, y)), m
        Its edges that are walls, ground on the left.
    corners : dict of (x, y) to (int, float)
        Where there are seams: for its corners the number of the vertex there, see `TileMesh.vertex_sheet`,
        and its height (m).
    at_walls : dict of (x, y) to tuple of int
        Of these corners the ones where walls end, whichever plate has them, and the tiles of such walls.
    ground : TileGround or None
        None where it lies in one tile.
    tile : int
        The tile of one that lies in one tile.
    gaps : dict of edges to (float, tuple of int)
        Parts of seams that stop some agent: the width of the whole (m), and the tiles without which it is no
        gap.
    """

    plate: Plate
    seams: set[EdgeKey]
    walls: list[tuple[Point, Point]]
    corners: Corners
    at_walls: dict[Point, tuple[int, ...]]
    ground: TileGround | None
    tile: int
    gaps: dict[EdgeKey, tuple[float, tuple[int, ...]]]


def cut_plates(
    ground: Plates,
    numbers: TileNumbers,
    parameters: MeshParameters,
    known: Mapping[bytes, TileGround] | None = None,
) -> Steps[tuple[list[PlateCut], dict[bytes, TileGround]]]:
    """Cut plates into tiles, resting in between.

    Parameters
    ----------
    ground : Plates
    numbers : TileNumbers
        Of the tiles of this ground, or of more.
    parameters : MeshParameters
    known : mapping of bytes to TileGround, optional
        What was returned for other ground with the same terrain: plates that are the same there are not cut
        again.

    Returns
    -------
    list of PlateCut
    dict of bytes to TileGround
        Those that lie in several tiles, by what they were cut from.

    Raises
    ------
    NavigationError
        If a plate cannot be triangulated.
    """
    seams, corners = cut_seams(ground, numbers.size)
    stops = {seam.key: seam.points for seam in seams}
    parts: list[set[EdgeKey]] = [set() for _ in ground.plates]
    for seam in seams:
        for number in seam.plates:
            parts[number].update(seam.parts)
    plates = list(ground.plates)
    if len(plates) > 1:
        plates = [with_corners(plate, stops, numbers.size) for plate in plates]
    yield "seams"
    walls = [_walls_of(plate, own) if corners else [] for plate, own in zip(plates, parts, strict=True)]
    labels = _labels_at_walls(walls, corners)
    cuts: list[PlateCut] = []
    fresh: dict[bytes, TileGround] = {}
    for number, (plate, own) in enumerate(zip(plates, parts, strict=True)):
        ends = {point: () for point, (label, _) in corners[number].items() if (label, point) in labels}
        tile = _only_tile(plate, numbers) if len(plates) > 1 and plate.ground.geom_type == "Polygon" else -1
        cut = None
        if tile < 0:
            key = _key_of(plate, own, ends)
            cut = fresh[key] = (known or {}).get(key) or _cut_plate(
                plate, own, ends, numbers, parameters, ground.cell
            )
        cuts.append(PlateCut(plate, own, walls[number], corners[number], {}, cut, tile, {}))
        if number % PLATES_A_STEP == PLATES_A_STEP - 1:
            yield "plates"
    if len(plates) > 1:
        cuts = _with_tiles_of_others(cuts, seams)
    return cuts, fresh


def _walls_of(plate: Plate, seams: set[EdgeKey]) -> list[tuple[Point, Point]]:
    """Return the edges of a plate that are walls, ground on the left."""
    sides = [
        ((a[0], a[1]), (b[0], b[1]))
        for ring in rings_of(plate.ground)
        for a, b in itertools.pairwise(ring.tolist())
        if edge_key(a, b) not in seams
    ]
    if not sides or plate.openings is None:
        return sides
    ends = np.array(sides)
    opened = is_open(ends[:, 0], ends[:, 1], plate.openings)
    return [side for side, is_exit in zip(sides, opened.tolist(), strict=True) if not is_exit]


def _labels_at_walls(
    walls: Sequence[Sequence[tuple[Point, Point]]], corners: Sequence[Corners]
) -> set[tuple[int, Point]]:
    """Return the vertices at corners of plates where a wall ends, as their numbers and places."""
    return {
        (known[point][0], point)
        for sides, known in zip(walls, corners, strict=True)
        for side in sides
        for point in side
        if point in known
    }


def _only_tile(plate: Plate, numbers: TileNumbers) -> int:
    """Return the tile in which a plate lies; -1 where it reaches into several."""
    left, low, right, top = plate.ground.bounds
    column, row = (line_at(place, numbers.size, np.floor) for place in (left, low))
    if (column + 1, row + 1) != tuple(line_at(place, numbers.size, np.ceil) for place in (right, top)):
        return -1
    return numbers.number(column, row, plate.layer)


def _key_of(plate: Plate, seams: set[EdgeKey], at_walls: Collection[Point]) -> bytes:
    """Return what a plate is cut from, as bytes, but for what all plates of some ground have in common."""
    exits = plate.openings.wkb if plate.openings is not None else b""
    return repr((sorted(seams), sorted(at_walls), plate.layer)).encode() + plate.ground.wkb + exits


def _cut_plate(
    plate: Plate,
    seams: set[EdgeKey],
    at_walls: Collection[Point],
    numbers: TileNumbers,
    parameters: MeshParameters,
    cell: float,
) -> TileGround:
    """Cut a plate that lies in several tiles."""
    cut = cut_ground(
        plate.ground if seams else cut_at_openings(plate.ground, plate.openings),
        numbers.size,
        openings=plate.openings,
        widest_gap=2.0 * parameters.widest_body,
        terrain=plate.terrain,
        cell=cell,
        seams=seams,
        walls_beyond=at_walls,
    )
    return numbered_as(cut, numbers, plate.layer)


def _with_tiles_of_others(cuts: Sequence[PlateCut], seams: Sequence[CutSeam]) -> list[PlateCut]:
    """Return cut plates that know in which tiles walls end at their corners, whichever plate has them,
    and which parts of seams are gaps.
    """
    at: dict[tuple[int, Point], set[int]] = defaultdict(set)
    tile_of: dict[tuple[int, EdgeKey], int] = {}
    for number, cut in enumerate(cuts):
        for a, b, tile, is_seam in _sides_of(cut):
            if is_seam:
                tile_of[number, edge_key(a, b)] = tile
                continue
            for point in (a, b):
                if point in cut.corners:
                    at[cut.corners[point][0], point].add(tile)
    gaps = _gaps_over_seams(cuts, seams, at, tile_of)
    found = []
    for cut, own in zip(cuts, gaps, strict=True):
        ends = {
            point: tuple(sorted(at[label, point]))
            for point, (label, _) in cut.corners.items()
            if (label, point) in at
        }
        ground = cut.ground
        if ground is not None:
            ground = _with_tiles_at_corners(ground, ends)
        found.append(replace(cut, ground=ground, at_walls=ends, gaps=own))
    return found


def _gaps_over_seams(
    cuts: Sequence[PlateCut],
    seams: Sequence[CutSeam],
    at: Mapping[tuple[int, Point], set[int]],
    tile_of: Mapping[tuple[int, EdgeKey], int],
) -> list[dict[EdgeKey, tuple[float, tuple[int, ...]]]]:
    """Return for each plate the parts of seams that stop some agent: those between two walls.

    Parameters
    ----------
    cuts : sequence of PlateCut
    seams : sequence of CutSeam
    at : mapping of (int, (x, y)) to set of int
        For the vertices where walls end the tiles of these.
    tile_of : mapping of (int, edge) to int
        For each plate and part of a seam the tile in which it is.
    """
    gaps: list[dict[EdgeKey, tuple[float, tuple[int, ...]]]] = [{} for _ in cuts]
    whole: dict[tuple[EdgeKey, tuple[int, int]], list[CutSeam]] = defaultdict(list)
    for seam in seams:
        whole[seam.whole, seam.plates].append(seam)
    for (key, (first, _)), own in whole.items():
        points = sorted({point for seam in own for point in seam.points})
        if len(points) < 3:
            continue  # it is one edge, which is as wide as it is long
        corners = cuts[first].corners
        tiles = [at.get((corners[point][0], point), set()) for point in (points[0], points[-1])]
        if not all(tiles):
            continue
        parts = [(number, part) for seam in own for part in seam.parts for number in seam.plates]
        needed = {tile_of[each] for each in parts}
        needed |= {tile for each in tiles if len(each) == 1 for tile in each}
        for number, part in parts:
            gaps[number][part] = math.dist(key[:2], key[2:]), tuple(sorted(needed))
    return gaps


def _sides_of(cut: PlateCut) -> list[tuple[Point, Point, int, bool]]:
    """Return the walls and seams of a plate, with their tiles, and which are seams."""
    if cut.ground is None:
        walls = [(a, b, cut.tile, False) for a, b in cut.walls]
        return walls + [(key[:2], key[2:], cut.tile, True) for key in sorted(cut.seams)]
    ground = cut.ground
    kept = ground.wall_seam | ~ground.wall_open
    return [
        ((a[0], a[1]), (b[0], b[1]), tile, is_seam)
        for (a, b), tile, is_seam in zip(
            ground.points[ground.wall[kept]].tolist(),
            ground.wall_tile[kept].tolist(),
            ground.wall_seam[kept].tolist(),
            strict=True,
        )
    ]


def _with_tiles_at_corners(ground: TileGround, ends: Mapping[Point, tuple[int, ...]]) -> TileGround:
    """Return cut ground whose gaps know in which tiles walls of other plates end at its corners."""
    walls = ~ground.wall_open
    at_point: dict[int, Collection[int]] = dict(tiles_at_points(ground.wall[walls], ground.wall_tile[walls]))
    for number, (x, y) in enumerate(ground.points.tolist()):
        if (x, y) in ends:
            at_point[number] = ends[x, y]
    tiles = with_tiles_at_ends(ground.gap_through, ground.gap_of, ground.gap, at_point)
    return replace(ground, gap_tiles=tiles)
