"""Twin of paths over cells past walls, with shapely in place of the mesh:
every wall of the ground counts, so grounds have to have thick ones.

Kernels: clear_place, lead_past_walls.
"""

import itertools
import math

import shapely

SPARE_M, PUSH_M, ON_WALL_M, MOST_PUSHES, MOST_HALVINGS, LEAST_STEP_M = 0.1, 1e-3, 1e-4, 40, 3, 0.02


def clear_place(ground, x, y, radius):
    """(place, clearance): pushed off the nearest wall by a falling share of what is missing, again and again;
    the best of them. None off the ground.
    """
    if not ground.covers(shapely.Point(x, y)):
        return None

    def room_at(px, py):
        return min(ground.boundary.distance(shapely.Point(px, py)), radius + SPARE_M)

    room = room_at(x, y)
    best, most = (x, y), room
    share = 0.5
    for _ in range(MOST_PUSHES):
        if room >= radius + SPARE_M:
            break
        wall = shapely.shortest_line(ground.boundary, shapely.Point(x, y)).coords[0]
        nx, ny = x - wall[0], y - wall[1]
        length = math.hypot(nx, ny)
        assert length > ON_WALL_M, "a point on a wall has a side, which shapely does not know"
        step = share * (radius + SPARE_M - room) + PUSH_M
        share *= 0.9
        x, y = x + nx / length * step, y + ny / length * step
        room = room_at(x, y)
        if room > most:
            best, most = (x, y), room
    return best, most


def lead_past_walls(ground, cells, waypoints, position, radius, gets_straight):
    """Waypoints as an agent can walk them; `cells` is (x, y, side) of a grid.

    Whether an agent gets straight from one place to another, ``gets_straight(a, b, radius)``, has a twin of
    its own; it looks in steps, so that it and areas may disagree about what an agent touches by a hair.
    """
    room = min(ground.boundary.distance(shapely.Point(position)), radius + SPARE_M)

    def is_clear(a, room_a, b, room_b):
        kept = max(radius, min(room_a, room_b, radius + SPARE_M) - PUSH_M)
        return gets_straight(a, b, kept)

    def cell(x, y):
        return math.floor((x - cells[0]) / cells[2]), math.floor((y - cells[1]) / cells[2])

    def go_to(a, b, depth):
        """Places from a to b, b the last."""
        if depth == 0 or is_clear(*a, *b):
            return [b]
        middle = clear_place(ground, 0.5 * (a[0][0] + b[0][0]), 0.5 * (a[0][1] + b[0][1]), radius)
        if middle is None or min(math.dist(middle[0], a[0]), math.dist(middle[0], b[0])) <= LEAST_STEP_M:
            return [b]
        return [*go_to(a, middle, depth - 1), *go_to(middle, b, depth - 1)]

    at, begin, found = (position, room), position, []
    for waypoint in waypoints:
        end = clear_place(ground, *waypoint, radius) or (waypoint, 0.0)
        places = []
        if not is_clear(*at, *end):
            steps = math.ceil(math.dist(begin, waypoint) / (0.5 * cells[2]))
            under = [
                cell(*(a + (b - a) * (step / steps) for a, b in zip(begin, waypoint)))
                for step in range(steps)
            ]
            changed = [this for last, this in itertools.pairwise(under) if this != last]
            places = [
                clear_place(
                    ground, *(low + (number + 0.5) * cells[2] for low, number in zip(cells, this)), radius
                )
                for this in changed
            ]
        places = [each for each in places if each is not None]
        while places and not is_clear(*at, *end):
            while len(places) > 1 and is_clear(*at, *places[1]):
                del places[0]
            found += go_to(at, places[0], MOST_HALVINGS)
            at = places.pop(0)
        found += go_to(at, end, MOST_HALVINGS)
        at, begin = end, waypoint
    return [place for place, _ in found]
