"""Twin of the places of crowds in front of regions, one front after the other, in plain lists.

Kernels: find_crowds, lead_aside.
"""

import math

FADE, ASLANT, BESIDE, MOST_OUT, EDGE = 1.0, 1.0, 10.0, 0.7, 0.06


def _in_front_of(front, point):
    """Along a front from its middle, and how far ahead of it."""
    ax, ay, bx, by = front
    width = math.hypot(bx - ax, by - ay)
    ux, uy = (bx - ax) / width, (by - ay) / width
    dx, dy = point[0] - (ax + bx) / 2, point[1] - (ay + by) / 2
    return dx * ux + dy * uy, ux * dy - uy * dx, width


def _away(front, point):
    """How far a point is from a front."""
    along, ahead, width = _in_front_of(front, point)
    return math.hypot(max(0.0, abs(along) - width / 2), ahead)


def front_of(fronts, position, corner, radius, least, most):
    """Index of the front at which the path ends, no farther from it than `most`, -1 for none:
    of several there, the one that the agent is farther ahead of.
    """
    wide = [k for k, front in enumerate(fronts) if _in_front_of(front, position)[2] >= 2 * least * radius]
    near = [k for k in wide if _away(fronts[k], corner) < most]
    if not near:
        return -1
    nearest = min(_away(fronts[k], corner) for k in near)
    return max(
        (k for k in near if _away(fronts[k], corner) <= nearest + 1e-6),
        key=lambda k: _in_front_of(fronts[k], position)[1],
    )


def targets(fronts, position, corner, radius, reach, full, least, comes_near=False):
    """Where each agent steers: its corner, or its place in front of the region;
    `comes_near` if the corners say nothing of where paths end.
    """
    result = [tuple(each) for each in corner]
    corner = position if comes_near else corner
    mine = [
        front_of(
            fronts, position[i], corner[i], radius[i], least, reach if comes_near else 2 * least * radius[i]
        )
        for i in range(len(position))
    ]
    for k, front in enumerate(fronts):
        crowd = []
        for i in range(len(position)):
            weight = min(1.0, (reach - _away(front, position[i])) / FADE) if mine[i] == k else 0.0
            if weight > 0.0:
                along, ahead, width = _in_front_of(front, position[i])
                ends = [math.hypot(along + side * width / 2, max(0.0, ahead)) for side in (1, -1)]
                crowd.append(((ends[0] - ends[1]) / width, i, weight))
        total, passed = sum(weight for _, _, weight in crowd), 0.0
        for _, i, weight in sorted(crowd):
            share = min(1.0, (total - weight) / full)
            middle, passed = passed + weight / 2, passed + weight
            if share <= 0.0:
                continue
            here, ahead, width = _in_front_of(front, position[i])
            path = min(width / 2, max(-width / 2, _in_front_of(front, corner[i])[0]))
            half, ahead = max(0.0, width / 2 - radius[i] - EDGE), max(0.0, ahead)
            to = (1 - share) * path + share * (2 * middle / total - 1) * half
            inside = min(half, max(-half, here))
            most = ASLANT * ahead + BESIDE * abs(here - inside)
            to = min(max(to, inside - most), inside + most)
            out = (
                share * min(MOST_OUT, max(0.0, abs(to - here) / ASLANT - ahead)) if abs(here) > half else 0.0
            )
            ax, ay, bx, by = front
            ux, uy = (bx - ax) / width, (by - ay) / width
            result[i] = ((ax + bx) / 2 + to * ux - out * uy, (ay + by) / 2 + to * uy + out * ux)
    return result
