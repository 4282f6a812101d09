"""Twin of the cascade: three searches one after the other, word for word ([Pathfinding undated],
sections 3 and 5).

Kernels: nearest_walkable, begin_path, advance_path, serve_waypoints.
"""

from tests.reference.grid_search import costs_from, square


def snapped(walkable, cell, rings):
    """The cell itself, else the nearest one of the smallest square ring that has any;
    None if there is none.
    """
    for ring in range(rings + 1):
        found = [c for c in walkable if max(abs(c[0] - cell[0]), abs(c[1] - cell[1])) == ring]
        if found:
            return min(found, key=lambda c: (square(c, cell), c[1], c[0]))
    return None


def path(walkable, without_agents, start, end, rings):
    """Return (outcome, cell at the end or None, cost);
    `walkable` leaves out the cells of standing agents, `without_agents` does not.
    """
    for cells, outcome in ((walkable, "found"), (without_agents, "found through agents")):
        first, last = snapped(cells, start, rings), snapped(cells, end, rings)
        if first is not None and last is not None:
            costs = costs_from(cells, first)
            if last in costs:
                return outcome, last, costs[last]
    if first is None:
        return "enclosed", None, 0.0
    costs = costs_from(without_agents, first)
    target = last or end
    best = min(costs, key=lambda c: (square(c, target), round(costs[c], 6), c[1], c[0]))
    return ("enclosed", None, 0.0) if best == first else ("nearest reachable", best, costs[best])
