"""Where one may drop and never come back up: one-way portals as edges with ground along and below them.

A drop is no edge of the mesh. Searches, the funnel, walls, shared trees and widths of gaps all take an edge
to lead there and back, in every kind of planner; a drop leads there only, takes a time, and agents on both
sides of it must keep off it as off a wall. That is what a connection is: a directed link from one place to
another. So drops become connections, each over a piece of edge that is some bodies long, and go with all that
these go with. It costs that the place along an edge is chosen among the middles of pieces, not by the metre.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.ops import substring

from crowdsim.errors import NavigationError
from crowdsim.geometry.lengths import dots, hypots
from crowdsim.geometry.surface import GRID_M, Patch
from crowdsim.navigation.soup.ground import plates_of
from crowdsim.navigation.soup.sectors import SectorGraph, portal_lines

PIECE_M = 2.0  # About so long is the edge of one drop, if there are not too many.
LONGEST_PIECE_M = 16.0
MOST_DROPS = 64  # Routes are looked for over all pairs of them.
ABOVE_M = 0.7  # So deep is the ground along an edge from which agents drop: room for one before it.
BELOW_M = 1.0  # And that on which they land: a body lands clear of the wall behind it.
_TOUCH_M = 0.02  # Slits at thin walls are a centimetre wide.


class Drop(NamedTuple):
    """A piece of an edge.

    Attributes
    ----------
    above, below : shapely Polygon or MultiPolygon, m
        Ground along the edge, and where one lands.
    layers : (int, int)
        Their floors.
    fall : float, m
    """

    above: Any
    below: Any
    layers: tuple[int, int]
    fall: float


class _Edge(NamedTuple):
    """A side of cells over which one drops.

    Attributes
    ----------
    line : shapely LineString, m
    plates : (int, int)
        Above and below, by their places among the patches.
    fall : float, m
    """

    line: Any
    plates: tuple[int, int]
    fall: float


def drops_of(
    graph: SectorGraph, patches: Sequence[Patch], floors: NDArray[np.int32], width: float
) -> list[Drop]:
    """Return the drops of sectors.

    Parameters
    ----------
    graph : SectorGraph
    patches : sequence of Patch
        Of its plates, see `crowdsim.navigation.soup.ground.patches_of`.
    floors : (patches,) int32
    width : float, m
        Of a body: shorter pieces of edge are left out, as gaps are through which it does not fit.

    Returns
    -------
    list of Drop
        From the lowest floor upwards, then from west to east and south to north.

    Raises
    ------
    NavigationError
        If there are more than `MOST_DROPS`.
    """
    by_floors: dict[tuple[int, int], list[_Edge]] = defaultdict(list)
    for edge in _edges(graph):
        by_floors[int(floors[edge.plates[0]]), int(floors[edge.plates[1]])].append(edge)
    chains = {layers: _chains(edges, width) for layers, edges in sorted(by_floors.items())}
    lengths = [chain.length for own in chains.values() for chain in own]
    longest = PIECE_M
    while _count(lengths, longest) > MOST_DROPS and longest < LONGEST_PIECE_M:
        longest *= 2.0
    if _count(lengths, longest) > MOST_DROPS:
        raise NavigationError(
            f"there are {_count(lengths, longest):,} edges over which a body drops, but there may be at most "
            f"{MOST_DROPS}: let it drop less far, or close what is not meant to be left"
        )
    found = []
    for layers, own in chains.items():
        for chain in own:
            for piece in _pieces(chain, longest):
                drop = _drop(piece, by_floors[layers], patches, layers)
                if drop is not None:
                    found.append(drop)
    return sorted(found, key=lambda drop: (drop.layers[::-1], shapely.bounds(drop.above).tolist()))


def _edges(graph: SectorGraph) -> Iterator[_Edge]:
    sectors, cell, runs = graph.sectors, graph.cell, graph.portals
    _, plate = np.unique(plates_of(graph), return_inverse=True)
    lines = np.round(portal_lines(graph) / GRID_M) * GRID_M
    for run in np.flatnonzero(~runs.is_two_way).tolist():
        one, other = runs.sectors[run].tolist()
        middle = lines[run].mean(axis=0)
        above, below = (
            float(sectors.z[each] + dots(sectors.slope[each], middle - (sectors.first[each] + 0.5) * cell))
            for each in (one, other)
        )
        yield _Edge(
            shapely.LineString(lines[run]), (int(plate[one]), int(plate[other])), max(above - below, 0.0)
        )


def _chains(edges: Sequence[_Edge], width: float) -> list[Any]:
    """Return the lines that edges are parts of, those that are long enough; an edge across the cells is a
    stair of sides of cells.
    """
    merged = shapely.line_merge(shapely.union_all([edge.line for edge in edges], grid_size=GRID_M))
    chains = shapely.get_parts(merged)
    return [chain for chain in chains if _across(chain) >= width - GRID_M]


def _across(chain: Any) -> float:
    """Return how wide a line is from end to end, or round as a whole if it is closed (m)."""
    if chain.is_ring:
        return float(chain.length)
    first, last = chain.coords[0], chain.coords[-1]
    return float(hypots(last[0] - first[0], last[1] - first[1]))


def _count(lengths: Sequence[float], longest: float) -> int:
    return sum(_parts(length, longest) for length in lengths)


def _parts(length: float, longest: float) -> int:
    return max(1, int(np.ceil(length / longest - 1e-9)))


def _pieces(chain: Any, longest: float) -> list[Any]:
    count = _parts(chain.length, longest)
    return [substring(chain, k / count, (k + 1) / count, normalized=True) for k in range(count)]


def _drop(
    piece: Any, edges: Sequence[_Edge], patches: Sequence[Patch], layers: tuple[int, int]
) -> Drop | None:
    """Return the drop over a piece of edge; None if there is no ground on a side."""
    own = [edge for edge in edges if shapely.dwithin(edge.line, piece, GRID_M)]
    near = shapely.buffer(piece, GRID_M, cap_style="square", join_style="mitre")
    shares = np.array([shapely.intersection(edge.line, near).length for edge in own])
    if not shares.sum() > 0.0:
        return None
    grounds = []
    for side, depth in ((0, ABOVE_M), (1, BELOW_M)):
        plates = sorted(
            {edge.plates[side] for edge, share in zip(own, shares, strict=True) if share > GRID_M}
        )
        near = shapely.buffer(piece, depth, cap_style="flat", join_style="mitre")
        ground = shapely.union_all([patches[plate].ground for plate in plates], grid_size=GRID_M)
        parts = shapely.get_parts(shapely.intersection(ground, near))
        beside = [
            part for part in parts if part.geom_type == "Polygon" and shapely.dwithin(part, piece, _TOUCH_M)
        ]
        if not beside:
            return None
        grounds.append(shapely.union_all(beside, grid_size=GRID_M))
    fall = float(np.average([edge.fall for edge in own], weights=shares))
    return Drop(grounds[0], grounds[1], layers, fall)
