"""Twin of the making of cells: every centre against every edge, from the definition (S2 section 2).

Kernels: fill_polygon, stamp_distances. Also Grid as a whole: `clearance_of`.
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
    """Distance of a centre to the nearest obstacle; -1 if no area holds it `padding` inside of its edges. Areas and obstacles are lists of edges."""
    if not any(is_inside(edges, px, py) and min(distance_to_edge(e, px, py) for e in edges) >= padding for edges in areas):
        return -1.0
    if any(is_inside(edges, px, py) for edges in obstacles):
        return 0.0
    return min((distance_to_edge(e, px, py) for edges in obstacles for e in edges), default=math.inf)
