"""Sectors as ground of the navigation mesh: those that are joined and lie in one plane make a *plate*, which
is cut into convex polygons as a drawn floor is, with corners where portals to other plates end.

So what is one level floor to a person is one to the mesh: its gaps are as wide as they are, its paths bend at
walls alone. If each sector were a polygon of its own, as in [Smith 2002], paths would bend at the corners of
rectangles in the middle of a room, and no gap would be known that reaches over two of them.

What a sector's edge means: the edge of free ground. A body's square is free where it stands, so the radius
of an agent is applied once, by walking and by paths, as on all ground. Where bodies are larger than cells,
free ground reaches half of the difference farther.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.floor_plans import Plane
from crowdsim.geometry.steps import Steps, at_once
from crowdsim.geometry.surface import GRID_M, WALL_M, Patch
from crowdsim.navigation.soup.levels import SAME_M
from crowdsim.navigation.soup.sectors import Portals, SectorGraph
from crowdsim.navigation.soup.spans import EAST, NORTH, SOUTH, WEST

SIDES = (EAST, NORTH, WEST, SOUTH)
SAME_SLOPE = 1e-3  # Rise over run by which planes may differ that are one.
AT_ONCE = 32  # Sectors or plates of a step: some 0.01 s, as a run rests between two.
SCRAP_M2 = 4.0  # Floors smaller than this join one of another height, if they do not lie above it.


def plates_of(graph: SectorGraph) -> NDArray[np.int64]:
    """Return for each sector its plate: sectors of one surface that are joined and lie in one plane, the
    lowest of them.
    """
    sectors = graph.sectors
    root = np.arange(len(sectors.z))

    def find(sector: int) -> int:
        while root[sector] != sector:
            sector = int(root[sector])
        return sector

    runs, middle = graph.portals, (sectors.first + 0.5 * sectors.size) * graph.cell
    between = 0.5 * (middle[runs.sectors[:, 0]] + middle[runs.sectors[:, 1]])
    rises = [
        sectors.z[own]
        + ((between - (sectors.first[own] + 0.5) * graph.cell) * sectors.slope[own]).sum(axis=1)
        for own in runs.sectors.T
    ]
    slopes, surfaces = sectors.slope[runs.sectors], sectors.surface[runs.sectors]
    is_one = (
        runs.is_two_way.astype(np.bool_)
        & (surfaces[:, 0] == surfaces[:, 1])
        & (np.abs(slopes[:, 0] - slopes[:, 1]).max(axis=1, initial=0.0) < SAME_SLOPE)
        & (np.abs(rises[0] - rises[1]) < SAME_M)
    )
    for one, other in runs.sectors[is_one].tolist():
        a, b = find(one), find(other)
        root[max(a, b)] = min(a, b)
    return np.array([find(sector) for sector in range(len(root))], dtype=np.int64)


def patches_of(graph: SectorGraph) -> list[Patch]:
    """Return the plates of sectors as patches, one sheet each, numbered as their first sectors are ordered.

    Sectors beside each other that are not joined are kept apart by slits of a centimetre, as thin walls are.
    """
    return at_once(patch_steps(graph, plates_of(graph)))


def patch_steps(graph: SectorGraph, plate: NDArray[np.int64]) -> Steps[list[Patch]]:
    """Return what `patches_of` does, of sectors whose plates are known, resting in between."""
    sectors, cell = graph.sectors, graph.cell
    stops = [{side: set[int]() for side in SIDES} for _ in range(len(sectors.z))]
    slits = [{side: set[tuple[int, int]]() for side in SIDES} for _ in range(len(sectors.z))]
    for runs, is_slit in ((graph.portals, False), (graph.barriers, True)):
        for (one, other), side, (first, last), is_two_way in _rows(runs):
            if not is_two_way:
                continue
            stops[one][side] |= {first, last + 1}
            stops[other][(side + 2) & 3] |= {first, last + 1}
            if is_slit:
                slits[one][side].add((first, last + 1))
    yield "stops"
    outlines = []
    for sector, (first, size) in enumerate(zip(sectors.first.tolist(), sectors.size.tolist(), strict=True)):
        outlines.append(shapely.Polygon(_outline(tuple(first), size, stops[sector], slits[sector], cell)))
        if sector % AT_ONCE == 0:
            yield "outlines"
    patches = []
    for number, own in enumerate(_members(plate)):
        if number % AT_ONCE == 0:
            yield "plates"
        largest = int(own[np.argmax(np.prod(sectors.size[own], axis=1))])
        x, y = (sectors.first[largest] + 0.5) * cell
        plane = Plane(
            (float(x), float(y), float(sectors.z[largest])),
            (float(sectors.slope[largest, 0]), float(sectors.slope[largest, 1])),
        )
        ground = outlines[own[0]]
        if len(own) > 1:
            ground = shapely.union_all([outlines[each] for each in own], grid_size=GRID_M)
        patches.append(Patch(shapely.orient_polygons(ground), plane, number))
    return patches


def _members(plate: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the sectors of each plate, ascending."""
    order = np.argsort(plate, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(plate[order])) + 1)


def _rows(runs: Portals) -> Iterator[tuple[list[int], int, list[int], bool]]:
    return zip(
        runs.sectors.tolist(), runs.side.tolist(), runs.span.tolist(), runs.is_two_way.tolist(), strict=True
    )


def _outline(
    first: tuple[int, int],
    size: Sequence[int],
    stops: Mapping[int, set[int]],
    slits: Mapping[int, set[tuple[int, int]]],
    cell: float,
) -> NDArray[np.float64]:
    """Return the corners of a sector (m), counter-clockwise from the lower left."""
    (x, y), (wide, deep) = first, size
    points: list[tuple[float, float]] = []
    for side, line, inwards, begin, end in (
        (SOUTH, y, WALL_M, x, x + wide),
        (EAST, x + wide, -WALL_M, y, y + deep),
        (NORTH, y + deep, -WALL_M, x + wide, x),
        (WEST, x, WALL_M, y + deep, y),
    ):
        onward = 1 if begin < end else -1
        for a, b in itertools.pairwise(sorted({begin, end} | stops[side])[::onward]):
            places = [(a * cell, line * cell)]
            if (min(a, b), max(a, b)) in slits[side]:
                aside = 2.0 * onward * WALL_M  # two slits at a corner do not touch
                places += [
                    (a * cell + aside, line * cell + inwards),
                    (b * cell - aside, line * cell + inwards),
                ]
            points += places if side in (SOUTH, NORTH) else [place[::-1] for place in places]
    return np.round(np.array(points) / GRID_M) * GRID_M


@dataclass(frozen=True, eq=False)
class KnownFloors:
    """Floors that ground was given before: ground that is filled anew keeps their numbers.

    Attributes
    ----------
    patches : tuple of Patch
        Plates of all ground of before.
    floor : (k,) int64
        Their floors.
    height : tuple of float, m
        About how high each floor lies.
    """

    patches: tuple[Patch, ...] = ()
    floor: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    height: tuple[float, ...] = ()

    @cached_property
    def _tree(self) -> Any:
        return shapely.STRtree([patch.ground for patch in self.patches])

    def overlaps(self, patches: Sequence[Patch], clearance: float) -> list[dict[int, float]]:
        """Return what each of some plates has in common (m2) with each floor at about its height."""
        found: list[dict[int, float]] = [{} for _ in patches]
        if not self.patches:
            return found
        own, place = self._tree.query([patch.ground for patch in patches], predicate="intersects")
        grounds = np.array([patch.ground for patch in patches])
        common = shapely.intersection(grounds[own], self._tree.geometries[place])
        area, point = shapely.area(common), shapely.get_coordinates(shapely.point_on_surface(common))
        has_any = ~shapely.is_empty(common)
        own, place, area = own[has_any], place[has_any], area[has_any]
        order = np.lexsort((place, own))
        for row in order[area[order] > 0.0].tolist():
            mine, theirs = patches[own[row]].plane, self.patches[place[row]].plane
            here = point[row : row + 1]
            if abs(float((mine.height(here) - theirs.height(here))[0])) < 0.5 * clearance:
                floor = int(self.floor[place[row]])
                found[own[row]][floor] = found[own[row]].get(floor, 0.0) + float(area[row])
        return found

    def with_more(
        self, patches: Sequence[Patch], floor: NDArray[np.int64], height: Sequence[float]
    ) -> KnownFloors:
        """Return these with further ground."""
        return KnownFloors((*self.patches, *patches), np.concatenate([self.floor, floor]), tuple(height))

    def from_below(self) -> KnownFloors:
        """Return the same, numbered from below upwards."""
        rank = np.argsort(np.argsort(self.height, kind="stable"), kind="stable")
        return KnownFloors(self.patches, rank[self.floor], tuple(sorted(self.height)))


def floors_of(graph: SectorGraph, clearance: float) -> NDArray[np.int32]:
    """Return the floor of each plate, in the order of `patches_of`: those at about one height of which none
    lies above another are one floor; floors come from below upwards.
    """
    floor, height = at_once(floor_steps(graph, plates_of(graph), (), clearance, KnownFloors()))
    rank = np.argsort(np.argsort(height, kind="stable"), kind="stable")
    return rank[floor].astype(np.int32)


def floor_steps(
    graph: SectorGraph,
    plates: NDArray[np.int64],
    patches: Sequence[Patch],
    clearance: float,
    known: KnownFloors,
) -> Steps[tuple[NDArray[np.int64], list[float]]]:
    """Return the floor of each plate, and about how high (m) the floors lie; see `floors_of`. It rests in
    between.

    Parameters
    ----------
    graph : SectorGraph
    plates : (ns,) int64
        Of each sector.
    patches : sequence of Patch
        Its plates; needed where floors are known.
    clearance : float, m
    known : KnownFloors
        A plate takes the floor of the ground that was there before, if it can; new ones come after those that
        are known.
    """
    sectors, cell = graph.sectors, graph.cell
    members = _members(plates)
    plate = np.empty(len(plates), dtype=np.int64)
    for number, own in enumerate(members):
        plate[own] = number
    low, high = sectors.first, sectors.first + sectors.size
    areas = np.prod(sectors.size, axis=1) * cell**2
    heights = sectors.z + (sectors.slope * (sectors.size - 1) * 0.5 * cell).sum(axis=1)
    area = np.bincount(plate, areas)
    height = np.bincount(plate, areas * heights) / area
    common: list[dict[int, float]] = []
    for begin in range(0, len(patches), AT_ONCE):
        common += known.overlaps(patches[begin : begin + AT_ONCE], clearance)
        yield "overlaps"
    floor = np.full(len(area), -1, dtype=np.int64)
    floor_height = list(known.height)
    for place, number in enumerate(np.lexsort((np.arange(len(area)), -area)).tolist()):
        if place % AT_ONCE == 0:
            yield "floors"
        # the floors of which some sector lies above or below it
        taken: set[int] = set()
        for own in members[number]:
            above = (low < high[own]).all(axis=1) & (high > low[own]).all(axis=1)
            taken |= set(floor[plate[above]].tolist())
        before = [each for each in sorted(common[number]) if each not in taken] if common else []
        if before:
            floor[number] = max(before, key=common[number].__getitem__)
            continue
        near = [
            each
            for each, its_height in enumerate(floor_height)
            if each not in taken and (abs(height[number] - its_height) < clearance or area[number] < SCRAP_M2)
        ]
        if not near:
            near = [len(floor_height)]
            floor_height.append(float(height[number]))
        floor[number] = min(near, key=lambda each: abs(height[number] - floor_height[each]))
    return floor, floor_height
