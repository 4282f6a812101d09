"""Twin of the feet of gaps: every corner against every wall.

Kernel: find_feet (with the emptiness of the discs, as `crowdsim.geometry.triangulation.triangulate` tests it
afterwards).
"""

import math


def _distance(p, a, b):
    dx, dy = b[0] - a[0], b[1] - a[1]
    t = min(1.0, max(0.0, ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / (dx * dx + dy * dy)))
    return math.hypot(p[0] - a[0] - t * dx, p[1] - a[1] - t * dy)


def rings_of(ground):
    """The rings of some ground as lists of corners, free ground on the left."""
    rings = []
    for part in getattr(ground, "geoms", [ground]):
        for ring, is_hole in ((part.exterior, False), *((r, True) for r in part.interiors)):
            corners = [tuple(c) for c in ring.coords[:-1]]
            rings.append(corners if ring.is_ccw != is_hole else corners[::-1])
    return rings


def walls_and_corners(ground):
    """The walls of some ground as pairs of points, free ground on the left,
    and its corners above 180 degrees.
    """
    walls, corners = [], set()
    for ring in rings_of(ground):
        for i, b in enumerate(ring):
            a, c = ring[i - 1], ring[(i + 1) % len(ring)]
            walls.append((a, b))
            if (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]) < 0.0:
                corners.add(b)
    return walls, sorted(corners)


def _is_gap(p, q, walls):
    centre = (0.5 * (p[0] + q[0]), 0.5 * (p[1] + q[1]))
    return all(_distance(centre, a, b) >= 0.5 * math.dist(p, q) * (1.0 - 1e-9) for a, b in walls)


def gaps_at_walls(ground, widest_gap):
    """Gaps, as (corner, foot), between corners above 180 degrees and the insides of walls:
    the disc with the gap as diameter has no wall in it.
    """
    walls, corners = walls_and_corners(ground)
    gaps = []
    for p in corners:
        for a, b in walls:
            dx, dy = b[0] - a[0], b[1] - a[1]
            length = math.hypot(dx, dy)
            along = ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length
            height = (dx * (p[1] - a[1]) - dy * (p[0] - a[0])) / length
            if not (1e-6 < along < length - 1e-6 and 1e-6 < height <= widest_gap):
                continue
            foot = (a[0] + along / length * dx, a[1] + along / length * dy)
            if _is_gap(p, foot, walls):
                gaps.append((p, foot))
    return gaps


def gaps_between_corners(ground, widest_gap):
    """Gaps between two corners above 180 degrees, by the same definition."""
    walls, corners = walls_and_corners(ground)
    gaps = []
    for i, p in enumerate(corners):
        for q in corners[:i]:
            if (
                math.dist(p, q) <= widest_gap
                and ((p, q) not in walls and (q, p) not in walls)
                and _is_gap(p, q, walls)
            ):
                gaps.append((p, q))
    return gaps
