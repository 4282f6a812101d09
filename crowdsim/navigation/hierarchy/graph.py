"""What a path between two nodes of one area costs, for agents of some width."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.navigation.hierarchy.flood import BACKWARDS, FORWARDS, begin_at_start, begin_flood, expand
from crowdsim.navigation.hierarchy.nodes import AreaNodes
from crowdsim.navigation.search.a_star import pop_first, reach
from crowdsim.navigation.search.slot_fields import GENERATION, HEAP_SIZE


class AreaCosts(NamedTuple):
    """Costs of paths through areas.

    Attributes
    ----------
    start : (areas + 1,) int64
    cost : (m,) float64, m
        In area a with k nodes: from where node i of its neighbours, the twin of its own node i, leads in, to
        its node j: ``cost[start[a] + j * k + i]``; inf where none leads there.
    """

    start: NDArray[np.int64]
    cost: NDArray[np.float64]


def starts_of_costs(nodes: AreaNodes) -> NDArray[np.int64]:
    """Return where the costs of each area begin, (areas + 1,)."""
    return np.concatenate([[0], np.cumsum(np.diff(nodes.start) ** 2)]).astype(np.int64)


@lean_kernel
def _spread(slots, slot, mesh, points, nodes, direction):
    """Reach all that is within an area."""
    while slots.header[slot, HEAP_SIZE] > 0:
        node = pop_first(slots, slot)
        if nodes.is_border[points.edge[node]] == 0:
            expand(slots, slot, mesh, points, nodes, node, True, direction)


@kernel
def measure_areas(start, stop, mesh, points, nodes, slots, slot, width, which, costs):
    """Measure what paths through areas cost.

    Parameters
    ----------
    start, stop : int
        Rows of `which`.
    mesh : NavMesh
    points : PortalPoints
    nodes : AreaNodes
    slots : SearchSlots
    slot : int
        The one to work in.
    width : float, m
        Of agents.
    which : (k,) int64
        Areas.
    costs : AreaCosts
        Receives them.
    """
    for row in range(start, stop):
        area = which[row]
        first, last = nodes.start[area], nodes.start[area + 1]
        for end in range(first, last):
            begin_flood(slots, slot, width)
            point = nodes.point[end]
            if mesh.edge_width[points.edge[point]] < width:
                continue
            reach(slots, slot, point, points.point[point, 0], points.point[point, 1], 0.0, -2)
            expand(slots, slot, mesh, points, nodes, pop_first(slots, slot), True, BACKWARDS)
            _spread(slots, slot, mesh, points, nodes, BACKWARDS)
            at = costs.start[area] + (end - first) * (last - first)
            for begin in range(first, last):
                entry = nodes.point[nodes.twin[begin]]
                if slots.stamp[slot, entry] == slots.header[slot, GENERATION] and begin != end:
                    costs.cost[at + begin - first] = slots.cost[slot, entry]


@kernel
def measure_over_centres(start, stop, mesh, points, nodes, slots, slot, width, which, place, polygon, costs):
    """Measure what paths through areas cost that lead over their centres.

    Parameters
    ----------
    start, stop, mesh, points, nodes, slots, slot, width, which
        As for `measure_areas`.
    place : (areas, 2) float64, m
        Centres.
    polygon : (areas,) int64
        Under them.
    costs : AreaCosts
        Receives the costs.
    """
    for row in range(start, stop):
        area = which[row]
        first, last = nodes.start[area], nodes.start[area + 1]
        for direction in (BACKWARDS, FORWARDS):
            begin_flood(slots, slot, width)
            begin_at_start(
                slots, slot, mesh, points, nodes, place[area, 0], place[area, 1], polygon[area], direction
            )
            _spread(slots, slot, mesh, points, nodes, direction)
            for one in range(first, last):
                point = nodes.point[nodes.twin[one] if direction == BACKWARDS else one]
                known = slots.stamp[slot, point] == slots.header[slot, GENERATION]
                half = slots.cost[slot, point] if known else np.inf
                for other in range(first, last):
                    if other == one:
                        continue
                    if direction == BACKWARDS:
                        costs.cost[costs.start[area] + (other - first) * (last - first) + one - first] = half
                    else:
                        costs.cost[costs.start[area] + (one - first) * (last - first) + other - first] += half
