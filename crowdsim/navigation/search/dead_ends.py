"""Which ground a shortest path can lead over: not that behind a portal that it would have to come back over.

A portal is a *bridge* if the mesh falls into two parts without it. Polygons that hang together without
bridges are a *region*. Regions hang together by bridges as a tree, so there is one chain of them from the
start to a goal. What lies off it is a dead end, for agents of every width: ground that wide agents do not get
to only makes more of them.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.mesh.mesh import NavMesh


class Regions(NamedTuple):
    """The tree of the regions of a mesh.

    Attributes
    ----------
    of_polygon : (np,) int32
        Region of each polygon.
    above : (nr,) int32
        The region behind the bridge that leads to the root; its number is greater. -1 at a root.
    """

    of_polygon: NDArray[np.int32]
    above: NDArray[np.int32]


def find_regions(mesh: NavMesh) -> Regions:
    """Return the regions of a mesh."""
    count = mesh.polygon_count
    regions = Regions(np.full(count, -1, dtype=np.int32), np.full(count, -1, dtype=np.int32))
    work = np.zeros((5, count), dtype=np.int32)
    found = part_at_bridges(mesh, *work, regions)
    return regions._replace(above=regions.above[:found].copy())


@lean_kernel
def part_at_bridges(mesh, order, earliest, over, next_edge, stack, regions):
    """Part a mesh at its bridges, by a walk in depth (the low links of [Tarjan 1972]).

    Parameters
    ----------
    mesh : NavMesh
    order : (np,) int32
        0 for each polygon; receives when it was first seen, from 1 on.
    earliest, over, next_edge, stack : (np,) int32
        To work on: the earliest polygon that what was seen from here leads back to, the half-edge over which
        a polygon was entered, the one to look at next, and the polygons whose region is not known yet.
    regions : Regions
        -1 for each polygon; receives the regions, `above` in as many of its first rows.

    Returns
    -------
    int
        How many regions there are.

    Notes
    -----
    Twin: `tests/reference/dead_ends.py`.
    """
    seen = size = found = 0
    for root in range(order.size):
        if order[root] > 0:
            continue
        polygon, edge = root, -1
        while polygon >= 0:
            if order[polygon] == 0:
                seen += 1
                order[polygon], earliest[polygon], over[polygon] = seen, seen, edge
                next_edge[polygon], stack[size] = mesh.polygon_start[polygon], polygon
                size += 1
            here = next_edge[polygon]
            if here < mesh.polygon_start[polygon + 1]:
                next_edge[polygon] = here + 1
                twin = mesh.edge_twin[here]
                if twin >= 0 and here != over[polygon]:
                    there = mesh.edge_polygon[twin]
                    if order[there] == 0:
                        polygon, edge = there, twin
                    elif order[there] < earliest[polygon]:
                        earliest[polygon] = order[there]
                continue
            back = over[polygon]
            behind = mesh.edge_polygon[mesh.edge_twin[back]] if back >= 0 else -1
            if earliest[polygon] == order[polygon]:  # nothing from here on leads back but over a bridge
                while True:
                    size -= 1
                    regions.of_polygon[stack[size]] = found
                    if stack[size] == polygon:
                        break
                regions.above[found] = behind
                found += 1
            elif earliest[polygon] < earliest[behind]:
                earliest[behind] = earliest[polygon]
            polygon = behind
    for region in range(found):
        if regions.above[region] >= 0:
            regions.above[region] = regions.of_polygon[regions.above[region]]
    return found


@inlined_kernel
def mark_chains(regions, stamp, generation, slot, polygon, goals, goal):
    """Mark the regions on the chains from a polygon to all pieces of a goal with a generation.

    `stamp` is (s, nr) int64. It takes as many steps as regions are marked.
    """
    top = regions.of_polygon[polygon]
    stamp[slot, top] = generation
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        region = regions.of_polygon[goals.piece_polygon[piece]]
        # Of two regions that with the lower number is not above the other, so the chain leads over what is
        # above it. All from the start to `top` are marked.
        while region >= 0 and stamp[slot, region] != generation:
            if region < top:
                stamp[slot, region] = generation
                region = regions.above[region]
            elif regions.above[top] >= 0:
                top = regions.above[top]
                stamp[slot, top] = generation
            else:
                break  # this piece is in another part of the mesh
