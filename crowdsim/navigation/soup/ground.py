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

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.floor_plans import Plane
from crowdsim.geometry.surface import GRID_M, WALL_M, Patch
from crowdsim.navigation.soup.levels import SAME_M
from crowdsim.navigation.soup.sectors import Portals, SectorGraph
from crowdsim.navigation.soup.spans import EAST, NORTH, SOUTH, WEST

SIDES = (EAST, NORTH, WEST, SOUTH)
SAME_SLOPE = 1e-3  # Rise over run by which planes may differ that are one.
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

    middle = (sectors.first + 0.5 * sectors.size) * graph.cell
    for (one, other), _, _, is_two_way in _rows(graph.portals):
        between = 0.5 * (middle[one] + middle[other])
        rises = [
            sectors.z[each] + sectors.slope[each] @ (between - (sectors.first[each] + 0.5) * graph.cell)
            for each in (one, other)
        ]
        is_alike = (
            sectors.surface[one] == sectors.surface[other]
            and np.abs(sectors.slope[one] - sectors.slope[other]).max() < SAME_SLOPE
        )
        if is_two_way and is_alike and abs(rises[0] - rises[1]) < SAME_M:
            a, b = find(one), find(other)
            root[max(a, b)] = min(a, b)
    return np.array([find(sector) for sector in range(len(root))], dtype=np.int64)


def patches_of(graph: SectorGraph) -> list[Patch]:
    """Return the plates of sectors as patches, one sheet each, numbered as their first sectors are ordered.

    Sectors beside each other that are not joined are kept apart by slits of a centimetre, as thin walls are.
    """
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
    outlines = [
        shapely.Polygon(_outline(tuple(first), size, stops[sector], slits[sector], cell))
        for sector, (first, size) in enumerate(
            zip(sectors.first.tolist(), sectors.size.tolist(), strict=True)
        )
    ]
    plate = plates_of(graph)
    patches = []
    for number, own in enumerate(np.flatnonzero(plate == each) for each in np.unique(plate)):
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


def floors_of(graph: SectorGraph, clearance: float) -> NDArray[np.int32]:
    """Return the floor of each plate, in the order of `patches_of`: those at about one height of which none
    lies above another are one floor; floors come from below upwards.
    """
    sectors, cell = graph.sectors, graph.cell
    _, plate = np.unique(plates_of(graph), return_inverse=True)
    low, high = sectors.first, sectors.first + sectors.size
    areas = np.prod(sectors.size, axis=1) * cell**2
    heights = sectors.z + (sectors.slope * (sectors.size - 1) * 0.5 * cell).sum(axis=1)
    area = np.bincount(plate, areas)
    height = np.bincount(plate, areas * heights) / area
    floor = np.full(len(area), -1, dtype=np.int64)
    floor_height: list[float] = []
    for number in np.lexsort((np.arange(len(area)), -area)).tolist():
        # the floors of which some sector lies above or below it
        taken: set[int] = set()
        for own in np.flatnonzero(plate == number):
            above = (low < high[own]).all(axis=1) & (high > low[own]).all(axis=1)
            taken |= set(floor[plate[above]].tolist())
        near = [
            each
            for each, its_height in enumerate(floor_height)
            if each not in taken and (abs(height[number] - its_height) < clearance or area[number] < SCRAP_M2)
        ]
        if not near:
            near = [len(floor_height)]
            floor_height.append(float(height[number]))
        floor[number] = min(near, key=lambda each: abs(height[number] - floor_height[each]))
    order = np.argsort(np.argsort(floor_height, kind="stable"), kind="stable")
    return order[floor].astype(np.int32)
