"""Twin of the making of cells: every centre against every edge, from the definition ([Pathfinding undated],
section 2).

Kernels: fill_polygon, stamp_distances, bar_steps. Also Grid as a whole: `clearance_of`.
"""

import math


def is_inside(edges, px, py):
    """Even-odd rule: a ray to the left of the point crosses an odd number of edges."""
    crossings = 0
    for ax, ay, bx, by in edges:
        if (ay <= py) != (by <= py) and ax + (py - ay) * (bx - ax) / (by - ay) < px:
            crossings += 1
    return crossings % 2 == 1


def distance_to_edge(edge, px, py):
    """Distance from a point to a segment (m)."""
    ax, ay, bx, by = edge
    square = (bx - ax) ** 2 + (by - ay) ** 2
    t = min(1.0, max(0.0, ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / square)) if square else 0.0
    return math.hypot(px - ax - t * (bx - ax), py - ay - t * (by - ay))


def clearance_of(areas, obstacles, padding, px, py):
    """Distance of a centre to the nearest obstacle; -1 if no area holds it `padding` inside of its edges.
    Areas and obstacles are lists of edges.
    """
    if not any(
        is_inside(edges, px, py) and min(distance_to_edge(e, px, py) for e in edges) >= padding
        for edges in areas
    ):
        return -1.0
    if any(is_inside(edges, px, py) for edges in obstacles):
        return 0.0
    return min((distance_to_edge(e, px, py) for edges in obstacles for e in edges), default=math.inf)


def are_parted(edge, a, b):
    """Whether a segment properly crosses an edge (ties are the caller's to leave out)."""

    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    c, d = edge[:2], edge[2:]
    return side(c, d, a) * side(c, d, b) < 0.0 and side(a, b, c) * side(a, b, d) < 0.0


def bars_of(edges, x, y, cell, width, depth):
    """Set of ((column, row), (dx, dy)): steps between neighbouring centres that lead over an edge."""
    found = set()
    for column in range(width):
        for row in range(depth):
            a = x + (column + 0.5) * cell, y + (row + 0.5) * cell
            for dx, dy in ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)):
                if any(are_parted(edge, a, (a[0] + dx * cell, a[1] + dy * cell)) for edge in edges):
                    found.add(((column, row), (dx, dy)))
    return found
