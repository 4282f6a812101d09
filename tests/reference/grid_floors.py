"""Twin of cells over several floors, from the plans alone: which cell lies on which floor, where a step
leads, and what it costs; and Dijkstra's algorithm over that.

Kernels: link_cells, find_wrong_links, lay_on_floors. Cells are (floor, column, row in plan).
"""

import heapq
import math

import shapely

STEPS = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))
NEAR_M = 1e-5  # A tie: what lies so near to an edge may be on either side.


class Plans:
    """Floors in plan, and the lines where they meet."""

    def __init__(self, floors, joins, x, y, cell):
        """`floors` are (ground, slope, pace up, pace down), `joins` ((floor, floor), line)."""
        self.floors, self.x, self.y, self.cell = floors, x, y, cell
        self.joins = [(frozenset(pair), shapely.LineString(line)) for pair, line in joins]
        self.fastest = max(max(pace) for _, _, *pace in floors)
        for ground, *_ in floors:
            shapely.prepare(ground)

    def centre(self, column, row):
        """The centre of a cell in plan."""
        return self.x + (column + 0.5) * self.cell, self.y + (row + 0.5) * self.cell

    def over(self, floor, begin, end, came_over=None):
        """The floor on which a straight line ends that begins on another; None if it leaves the ground, "tie"
        where that is a matter of rounding.
        """
        line = shapely.LineString([begin, end])
        ground = self.floors[floor][0]
        inside = shapely.intersection(line, ground)
        if abs(inside.length - line.length) < NEAR_M:
            near = [seam.distance(shapely.Point(end)) for pair, seam in self.joins if floor in pair]
            return "tie" if min(near, default=1.0) < NEAR_M else floor
        for join in self.joins:
            pair, seam = join
            if floor not in pair or join is came_over or not line.intersects(seam):
                continue
            (beyond,) = pair - {floor}
            crossing = line.intersection(seam)
            if crossing.geom_type != "Point":
                return "tie"
            first = shapely.LineString([begin, crossing.coords[0]])
            if min(math.dist(crossing.coords[0], each) for each in seam.coords) < NEAR_M:
                return "tie"
            if abs(first.intersection(ground).length - first.length) < NEAR_M:
                return self.over(beyond, crossing.coords[0], end, join)
        # along a wall, or through its corner
        edge = shapely.union_all([ground.boundary for ground, *_ in self.floors])
        touches = shapely.Point(end).distance(edge) < NEAR_M
        touches |= came_over is None and shapely.Point(begin).distance(edge) < NEAR_M
        return "tie" if touches or line.length - inside.length < NEAR_M else None

    def laid(self, floor, begin, end):
        """The places at which a straight line comes to seams, each with the floor that it leaves there, and
        its end with the floor there.
        """
        line, found, came_over = shapely.LineString([begin, end]), [], None
        while True:
            crossings = []
            for join in self.joins:
                pair, seam = join
                if floor in pair and join is not came_over and line.intersects(seam):
                    crossings.append((line.project(line.intersection(seam)), join))
            if not crossings:
                return [*found, (*end, floor)]
            along, came_over = min(crossings, key=lambda each: each[0])
            point = line.interpolate(along)
            found.append((point.x, point.y, floor))
            (floor,) = came_over[0] - {floor}
            line = shapely.LineString([point, end])

    def metre(self, floor, dx, dy):
        """What a metre in plan costs on a floor in some direction, in metres of the fastest ground."""
        _, slope, up, down = self.floors[floor]
        climb = (slope[0] * dx + slope[1] * dy) / math.hypot(dx, dy)
        pace = up if climb > 0.0 else down if climb < 0.0 else max(up, down)
        return math.sqrt(1.0 + climb * climb) * self.fastest / pace


def costs_from(steps, start):
    """Least costs to every cell; `steps` gives (cell, cost) of the steps from one."""
    best, queue = {}, [(0.0, start)]
    while queue:
        cost, cell = heapq.heappop(queue)
        if cell in best:
            continue
        best[cell] = cost
        for other, step in steps(cell):
            if other not in best:
                heapq.heappush(queue, (cost + step, other))
    return best


def all_steps(walkable, links, metre, barred=frozenset()):
    """Return the function that gives the steps from a cell: `links` says for cells near seams where each
    direction leads, `metre` what a metre costs on a cell in a direction; no corner is cut.
    """

    def beside(cell, d):
        if cell in links:
            there = links[cell].get(d)
        else:
            there = (cell[0], cell[1] + STEPS[d][0], cell[2] + STEPS[d][1])
        return there if there in walkable and (cell, d) not in barred else None

    def steps(cell):
        for d in range(8):
            there = beside(cell, d)
            if there is None or (d % 2 and None in (beside(cell, (d + 1) % 8), beside(cell, (d - 1) % 8))):
                continue
            mean = 0.5 * (metre(cell, d) + metre(there, d))
            yield there, (math.sqrt(2.0) if d % 2 else 1.0) * mean

    return steps
