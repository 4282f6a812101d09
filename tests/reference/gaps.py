"""Twin of the feet of gaps: every corner against every wall.

Kernel: find_feet (with the emptiness of the discs, as `crowdsim.geometry.triangulation.triangulate` tests it afterwards).
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


def gap_feet(ground, widest_gap):
    """Feet of gaps between corners above 180 degrees and the insides of walls, by definition: the disc with the gap as diameter touches nothing else."""
    walls, corners = [], set()
    for ring in rings_of(ground):
        for i, b in enumerate(ring):
            a, c = ring[i - 1], ring[(i + 1) % len(ring)]
            walls.append((a, b))
            if (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]) < 0.0:
                corners.add(b)
    feet = []
    for p in sorted(corners):
        for a, b in walls:
            dx, dy = b[0] - a[0], b[1] - a[1]
            length = math.hypot(dx, dy)
            along = ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length
            height = (dx * (p[1] - a[1]) - dy * (p[0] - a[0])) / length
            if not (1e-6 < along < length - 1e-6 and 1e-6 < height <= widest_gap):
                continue
            foot = (a[0] + along / length * dx, a[1] + along / length * dy)
            centre = (0.5 * (p[0] + foot[0]), 0.5 * (p[1] + foot[1]))
            if all(_distance(centre, c, d) >= 0.5 * height * (1.0 - 1e-9) for c, d in walls):
                feet.append(foot)
    return feet
