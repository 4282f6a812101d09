"""Seams cut at lines of tiles, and which corners of plates are one vertex."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.navigation.mesh.build import with_crossings, with_rings
from crowdsim.navigation.mesh.plates import EdgeKey, Plate, Plates, edge_key, rings_of
from crowdsim.navigation.mesh.surface_mesh import MEETS_M
from crowdsim.navigation.tiles.cut import snapped, stops_on

Point = tuple[float, float]
Corners = Mapping[Point, tuple[int, float]]  # the number and the height (m) of the vertex at each place
# Vertices of one sheet at one place in plan: a spiral's turns meet in its middle.
MOST_AT_A_PLACE = 4096
MOST_SHEETS = 1 << 18  # Their vertices have numbers of 32 bits, `TileMesh.vertex_sheet`.


@dataclass(frozen=True)
class CutSeam:
    """A seam cut at lines of tiles: points from end to end, and the parts between them."""

    plates: tuple[int, int]
    key: EdgeKey
    whole: EdgeKey
    points: list[Point]

    @property
    def parts(self) -> list[EdgeKey]:
        """Its pieces between one point and the next."""
        return [edge_key(a, b) for a, b in itertools.pairwise(self.points)]


def cut_seams(ground: Plates, size: float) -> tuple[list[CutSeam], list[dict[Point, tuple[int, float]]]]:
    """Return the seams, and for each plate the numbers and heights of the vertices at their corners.

    Plates that overlap by a rounding error would have one side of an edge twice: these are not joined there.

    Raises
    ------
    NavigationError
        If there are too many sheets.
    """
    sheets = 1 + max(plate.sheet for plate in ground.plates)
    if sheets > MOST_SHEETS:
        raise NavigationError(
            f"the ground has {sheets:,} pieces that lie above each other or do not meet, at most "
            f"{MOST_SHEETS:,} can be cut into tiles; leave tile_size out"
        )
    seams = []
    for seam in ground.seams:
        (ax, ay), (bx, by) = snapped(np.array(seam.key).reshape(2, 2), size).tolist()
        a, b = sorted([(ax, ay), (bx, by)])
        if a != b:
            points = list(dict.fromkeys([a, *stops_on(a, b, size), b]))
            seams.append(CutSeam(seam.plates, edge_key(a, b), seam.whole, points))
    while True:
        corners = _numbered_corners(ground.plates, seams, size)
        twice = _sides_that_come_twice(ground.plates, seams, corners)
        if not twice:
            return seams, corners
        seams = [seam for number, seam in enumerate(seams) if number not in twice]


def _numbered_corners(
    plates: Sequence[Plate], seams: Sequence[CutSeam], size: float
) -> list[dict[Point, tuple[int, float]]]:
    """Return for each plate the numbers and heights of the vertices at its corners; of one plate none.

    Within a sheet those at one place and height are one; over a seam between sheets both sides are, and have
    the height of the lower sheet.
    """
    if len(plates) == 1:
        return [{}]
    at = [
        {(x, y) for ring in rings_of(plate.ground) for x, y in snapped(ring, size).tolist()}
        for plate in plates
    ]
    for seam in seams:
        for number in seam.plates:
            at[number].update(seam.points)
    rows: list[tuple[int, float, float, float, int]] = []
    for number, points in enumerate(at):
        heights = plates[number].plane.height(np.array(sorted(points))).tolist()
        rows += [
            (plates[number].sheet, *point, height, number)
            for point, height in zip(sorted(points), heights, strict=True)
        ]
    rows.sort()
    label: dict[tuple[int, Point], int] = {}
    height_of: dict[tuple[int, Point], float] = {}
    for (sheet, x, y), group in itertools.groupby(rows, key=lambda row: row[:3]):
        rank, last = -1, -math.inf
        for *_, z, number in group:
            if z - last >= MEETS_M:
                rank += 1
                height_of[sheet * MOST_AT_A_PLACE + rank, (x, y)] = z
            label[number, (x, y)] = sheet * MOST_AT_A_PLACE + rank
            last = z
    root: dict[tuple[int, Point], int] = {}

    def find(number: int, point: Point) -> int:
        while (number, point) in root:
            number = root[number, point]
        return number

    for seam in seams:
        for point in seam.points:
            one, other = sorted(find(label[number, point], point) for number in seam.plates)
            if one != other:
                root[other, point] = one
    found: list[dict[Point, tuple[int, float]]] = [{} for _ in plates]
    for (number, point), own in label.items():
        final = find(own, point)
        found[number][point] = final, height_of[final, point]
    return found


def _sides_that_come_twice(
    plates: Sequence[Plate], seams: Sequence[CutSeam], corners: Sequence[Corners]
) -> set[int]:
    """Return the seams between sheets, by their places in the list, of which two plates have one side."""
    at: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    for place, seam in enumerate(seams):
        for a, b in itertools.pairwise(seam.points):
            for number in seam.plates:
                at[a, corners[number][a][0], b, corners[number][b][0]].append((place, number))
    return {
        place
        for users in at.values()
        if len(users) > 2
        for place, _ in users
        if len({plates[number].sheet for number in seams[place].plates}) > 1
    }


def with_corners(plate: Plate, stops: Mapping[EdgeKey, Sequence[Point]], size: float) -> Plate:
    """Return a plate with corners where lines of tiles cross its seams, and its walls the outlines of exits;
    those near to lines of tiles lie on them.
    """
    outline = None
    if plate.openings is not None and not plate.openings.is_empty:
        outline = plate.openings.boundary

    def change(ring: NDArray[np.float64]) -> NDArray[np.float64]:
        ring = snapped(ring, size)
        rows = [ring[:1]]
        for place, (a, b) in enumerate(itertools.pairwise(ring.tolist())):
            side, points = ring[place : place + 2], stops.get(edge_key(a, b))
            if a == b:
                continue
            if points is None:
                rows.append(with_crossings(side, outline)[1:] if outline is not None else side[1:])
            else:
                inner = points[1:-1] if (*a,) < (*b,) else points[-2:0:-1]
                rows += [np.array(inner, dtype=np.float64).reshape(-1, 2), side[1:]]
        return np.concatenate(rows)

    return replace(plate, ground=with_rings(plate.ground, change))
