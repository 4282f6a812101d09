"""Twin of the search over cells: A* with a priority queue, all eight neighbours,
and Dijkstra's algorithm under any rule for corners.

Kernels: begin_astar, advance_astar. Cells are (column, row); `walkable` is a set of them.
"""

import heapq
import math

STRAIGHT = ((1, 0), (0, 1), (-1, 0), (0, -1))
DIAGONAL = ((1, 1), (-1, 1), (-1, -1), (1, -1))
SQRT2 = math.sqrt(2.0)


def steps_from(walkable, cell, corners="both", barred=frozenset()):
    """Yield neighbours and costs; `corners` says how many of the cells beside a diagonal step must be
    walkable: both ([Pathfinding undated]), one, or none.

    `barred` holds steps, (cell, (dx, dy)), that lead over walls: as if there were no cell there.
    """
    x, y = cell

    def is_free(dx, dy):
        return (x + dx, y + dy) in walkable and (cell, (dx, dy)) not in barred

    for dx, dy in STRAIGHT:
        if is_free(dx, dy):
            yield (x + dx, y + dy), 1.0
    for dx, dy in DIAGONAL:
        sides = is_free(dx, 0) + is_free(0, dy)
        if is_free(dx, dy) and sides >= {"both": 2, "one": 1, "none": 0}[corners]:
            yield (x + dx, y + dy), SQRT2


def costs_from(walkable, start, corners="both", barred=frozenset(), slowness=None):
    """Least cost (cells) to every cell that can be reached; `slowness` says by cell how much longer a metre
    takes than on the fastest ground, a step takes the mean of its cells.
    """
    best, queue = {}, [(0.0, start)]
    while queue:
        cost, cell = heapq.heappop(queue)
        if cell in best:
            continue
        best[cell] = cost
        for other, step in steps_from(walkable, cell, corners, barred):
            if other not in best:
                factor = 1.0 if slowness is None else 0.5 * (slowness[cell] + slowness[other])
                heapq.heappush(queue, (cost + step * factor, other))
    return best


def square(a, b):
    """Square of the distance between two cells (cells)."""
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2


def octile(a, b):
    """Least cost between two cells if all others are free (cells)."""
    across, along = sorted((abs(a[0] - b[0]), abs(a[1] - b[1])))
    return along - across + SQRT2 * across


def astar(walkable, start, goal):
    """Textbook A* with the path over free cells as bound, the larger cost first where bounds are equal.

    Returns (cost or None, expanded cells in order).
    """
    cost, expanded, done = {start: 0.0}, [], set()
    queue = [(octile(start, goal), 0.0, start[1], start[0])]
    while queue:
        _, _, y, x = heapq.heappop(queue)
        cell = (x, y)
        if cell in done:
            continue
        done.add(cell)
        expanded.append(cell)
        if cell == goal:
            return cost[cell], expanded
        for other, step in steps_from(walkable, cell):
            total = cost[cell] + step
            if other not in done and total < cost.get(other, math.inf):
                cost[other] = total
                # sums of steps in another order differ by rounding alone
                bound = round(total + octile(other, goal), 9)
                heapq.heappush(queue, (bound, -total, other[1], other[0]))
    return None, expanded
