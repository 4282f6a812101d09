"""Small exact-as-possible tools of plane geometry that kernels of several rooms share."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import lean_kernel

ORIENTATION_ERROR = 3.3306690738754716e-16  # (3 + 16 eps) eps with eps = 2**-53: [Shewchuk 1997],
# bounds ccwerrboundA and iccerrboundA. Below them a sign is not certain.
IN_CIRCLE_ERROR = 1.1102230246251577e-15


@lean_kernel
def orientation(ax, ay, bx, by, cx, cy):
    """Return twice the signed area of triangle abc (m2):
    positive if a, b, c turn left, rounded once per operation.
    """
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)


@lean_kernel
def turns_left_for_sure(ax, ay, bx, by, cx, cy):
    """Return whether a, b, c turn left beyond the rounding error of the test ([Shewchuk 1997],
    the first filter).
    """
    left = (bx - ax) * (cy - ay)
    right = (by - ay) * (cx - ax)
    return left - right > ORIENTATION_ERROR * (abs(left) + abs(right))


@lean_kernel
def in_circle_for_sure(ax, ay, bx, by, cx, cy, dx, dy):
    """Return whether d lies inside the circle through a, b, c (counter-clockwise) beyond the rounding error
    ([Shewchuk 1997], the first filter).
    """
    adx, ady = ax - dx, ay - dy
    bdx, bdy = bx - dx, by - dy
    cdx, cdy = cx - dx, cy - dy
    bc, cb = bdx * cdy, cdx * bdy
    ca, ac = cdx * ady, adx * cdy
    ab, ba = adx * bdy, bdx * ady
    a2, b2, c2 = adx * adx + ady * ady, bdx * bdx + bdy * bdy, cdx * cdx + cdy * cdy
    determinant = a2 * (bc - cb) + b2 * (ca - ac) + c2 * (ab - ba)
    permanent = (abs(bc) + abs(cb)) * a2 + (abs(ca) + abs(ac)) * b2 + (abs(ab) + abs(ba)) * c2
    return determinant > IN_CIRCLE_ERROR * permanent


@lean_kernel
def nearest_on_segment(px, py, ax, ay, bx, by):
    """Return the point of segment ab that is nearest to p, as (x, y); a where a equals b."""
    dx, dy = bx - ax, by - ay
    length2 = dx * dx + dy * dy
    if length2 <= 0.0:
        return ax, ay
    t = ((px - ax) * dx + (py - ay) * dy) / length2
    if t <= 0.0:
        return ax, ay
    if t >= 1.0:
        return bx, by
    return ax + t * dx, ay + t * dy


@lean_kernel
def distance_to_segment(px, py, ax, ay, bx, by):
    """Return the distance (m) from p to segment ab."""
    x, y = nearest_on_segment(px, py, ax, ay, bx, by)
    return hypot(px - x, py - y)


@lean_kernel
def is_beyond(px, py, ax, ay, bx, by, distance):
    """Return whether p is for sure farther than a distance (m) from the line through a and b;
    without a division or a root.
    """
    dx, dy = bx - ax, by - ay
    area = dx * (py - ay) - dy * (px - ax)
    return area * area > 1.000001 * distance * distance * (dx * dx + dy * dy)


@lean_kernel
def segments_apart(ax, ay, bx, by, cx, cy, dx, dy):
    """Return the distance (m) between segments ab and cd."""
    o1 = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    o2 = (bx - ax) * (dy - ay) - (by - ay) * (dx - ax)
    o3 = (dx - cx) * (ay - cy) - (dy - cy) * (ax - cx)
    o4 = (dx - cx) * (by - cy) - (dy - cy) * (bx - cx)
    if o1 * o2 < 0.0 and o3 * o4 < 0.0:
        return 0.0
    best = np.inf
    for px, py, sx, sy, ex, ey in (
        (ax, ay, cx, cy, dx, dy),
        (bx, by, cx, cy, dx, dy),
        (cx, cy, ax, ay, bx, by),
        (dx, dy, ax, ay, bx, by),
    ):
        ux, uy = ex - sx, ey - sy
        length2 = ux * ux + uy * uy
        t = min(1.0, max(0.0, ((px - sx) * ux + (py - sy) * uy) / length2)) if length2 > 0.0 else 0.0
        best = min(best, hypot(px - sx - t * ux, py - sy - t * uy))
    return best


@lean_kernel
def are_beyond(ax, ay, bx, by, cx, cy, dx, dy, distance):
    """Return whether segments ab and cd are for sure farther apart than a distance (m), without a division or
    a root: in x or in y alone, or since the line of one has all of the other far on one side.
    """
    far = 1.000001 * distance
    if (
        min(cx, dx) - max(ax, bx) > far
        or min(ax, bx) - max(cx, dx) > far
        or min(cy, dy) - max(ay, by) > far
        or min(ay, by) - max(cy, dy) > far
    ):
        return True
    ux, uy, vx, vy = bx - ax, by - ay, dx - cx, dy - cy
    c_side, d_side = ux * (cy - ay) - uy * (cx - ax), ux * (dy - ay) - uy * (dx - ax)
    if c_side * d_side > 0.0 and min(c_side * c_side, d_side * d_side) > far * far * (ux * ux + uy * uy):
        return True
    a_side, b_side = vx * (ay - cy) - vy * (ax - cx), vx * (by - cy) - vy * (bx - cx)
    return a_side * b_side > 0.0 and min(a_side * a_side, b_side * b_side) > far * far * (vx * vx + vy * vy)


@lean_kernel
def arc_tangent(x):
    """Return atan(x) (radians) for finite x >= 0 to 4 units in the last place, the same on every processor.

    The angle is halved three times, atan x = 2 atan(x / (1 + sqrt(1 + x x))), and then summed from its
    series.
    """
    x = x / (1.0 + hypot(1.0, x))  # the square of a huge x would be infinite
    x = x / (1.0 + np.sqrt(1.0 + x * x))
    x = x / (1.0 + np.sqrt(1.0 + x * x))
    square = x * x
    total = 0.0
    for n in range(12, -1, -1):  # x <= 0.199: the next term is below 0.199**27 / 27 < 5e-21
        total = 1.0 / (2.0 * n + 1.0) - square * total
    return 8.0 * x * total


@lean_kernel
def angle_between(ux, uy, vx, vy):
    """Return the angle (radians, 0..pi) between two unit vectors."""
    apart = hypot(ux - vx, uy - vy)
    together = hypot(ux + vx, uy + vy)
    if together <= 1e-300:
        return 3.141592653589793
    return 2.0 * arc_tangent(apart / together)
