"""Twins of `may_be_pushed`, `clear_of_walls`, `bent_along_walls` and `move_off_walls`,
by shapely's idea of distance written out. Walls, and open edges of the ground, are pairs (start, end) with
free ground on the left.
"""

import math

GRACE = 1e-4
ROUNDING = 1e-9


def _distance(a, b, p):
    ax, ay = b[0] - a[0], b[1] - a[1]
    t = min(max(((p[0] - a[0]) * ax + (p[1] - a[1]) * ay) / (ax * ax + ay * ay), 0.0), 1.0)
    return math.hypot(a[0] + t * ax - p[0], a[1] + t * ay - p[1])


def _left_of(a, b, p):
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


def _is_beyond(a, b, p):
    along = (p[0] - a[0]) * (b[0] - a[0]) + (p[1] - a[1]) * (b[1] - a[1])
    return not 0.0 <= along <= math.dist(a, b) ** 2


def leaves(edge, here, there):
    """Whether a centre leaves the ground over an open edge, or is just off it and goes farther."""
    start, end = edge
    height, new_height = (_left_of(start, end, p) / math.dist(start, end) for p in (here, there))
    if height < -1e-3 or new_height >= min(height, 0.0):
        return False
    share = max(height, 0.0) / (height - new_height)
    cut = (here[0] + (there[0] - here[0]) * share, here[1] + (there[1] - here[1]) * share)
    return not _is_beyond(start, end, cut)


def may_be_pushed(walls, here, there, radius, open_edges=()):
    """Whether a disc may go straight from here to there."""
    if any(leaves(edge, here, there) for edge in open_edges):
        return False
    for start, end in walls:
        length = math.dist(start, end)
        if _left_of(start, end, here) < -1e-3 * length and not _is_beyond(start, end, there):
            continue
        if _left_of(start, end, here) >= 0.0 > _left_of(start, end, there):
            share = _left_of(start, end, here) / (_left_of(start, end, here) - _left_of(start, end, there))
            cut = (here[0] + (there[0] - here[0]) * share, here[1] + (there[1] - here[1]) * share)
            if _distance(start, end, cut) < 1e-9 * length:
                return False
        if (
            _distance(start, end, there) < radius - GRACE
            and _distance(start, end, there) < _distance(start, end, here) - ROUNDING
        ):
            return False
    return True


def nearest_wall(walls, here, there, within, open_edges=()):
    """((x, y) from here to the wall nearest to there, how near), of walls with each on their free side or
    beyond an end; ((0, 0), within) if none is within reach. Open edges that are crossed come first.
    """
    crossed = [edge for edge in open_edges if leaves(edge, here, there)]
    if crossed:
        along = [(b[0] - a[0], b[1] - a[1], math.dist(a, b)) for a, b in crossed]
        return (
            sum(dy / length for _, dy, length in along),
            sum(-dx / length for dx, _, length in along),
        ), 0.0
    found = []
    for start, end in walls:
        if (
            all(_left_of(start, end, p) > 0.0 or _is_beyond(start, end, p) for p in (here, there))
            and _distance(start, end, there) <= within
        ):
            ax, ay = end[0] - start[0], end[1] - start[1]
            t = min(
                max(((here[0] - start[0]) * ax + (here[1] - start[1]) * ay) / (ax * ax + ay * ay), 0.0), 1.0
            )
            found.append(
                (_distance(start, end, there), (start[0] + t * ax - here[0], start[1] + t * ay - here[1]))
            )
    least = min((distance for distance, _ in found), default=within)
    # walls that are equally near count together
    into = [vector for distance, vector in found if distance <= least + 1e-12]
    return (sum(x for x, _ in into), sum(y for _, y in into)), least


def bent_along_walls(walls, here, push, radius, slides=False, open_edges=()):
    """What of a push is along the wall that it would come nearest to;
    nothing if that is less than a tenth, or refused too. Or all of it that way.
    """
    (mx, my), _ = nearest_wall(walls, here, (here[0] + push[0], here[1] + push[1]), radius, open_edges)
    if (mx, my) == (0.0, 0.0):
        return 0.0, 0.0
    lost = (push[0] * mx + push[1] * my) / (mx * mx + my * my)
    bent = (push[0] - lost * mx, push[1] - lost * my)
    if slides and lost > 0.0 and math.hypot(*bent) > 1e-6 * math.hypot(*push):
        slid = tuple(part / math.hypot(*bent) * math.hypot(*push) for part in bent)
        if may_be_pushed(walls, here, (here[0] + slid[0], here[1] + slid[1]), radius, open_edges):
            return slid
    if (
        lost <= 0.0
        or math.hypot(*bent) < 0.1 * math.hypot(*push)
        or not may_be_pushed(walls, here, (here[0] + bent[0], here[1] + bent[1]), radius, open_edges)
    ):
        return 0.0, 0.0
    return bent


def back_over_edges(open_edges, here, there):
    """Where a centre comes to that goes from here to there, and along open edges that it meets."""
    for _ in range(2):
        for start, end in open_edges:
            if leaves((start, end), here, there):
                length = math.dist(start, end)
                off, dx, dy = _left_of(start, end, there) / length**2, end[0] - start[0], end[1] - start[1]
                there = (there[0] + off * dy, there[1] - off * dx)
    return there


def moved_off_walls(walls, here, there, radius, open_edges=()):
    """Where a body that would be `there` is on the ground and clear of walls;
    just on the ground if it steps farther than its radius, or four moves do not do.
    """
    there = back_over_edges(open_edges, here, there)
    if math.dist(here, there) > radius:
        return there
    x, y = there
    for _ in range(5):
        (mx, my), distance = nearest_wall(walls, (x, y), (x, y), radius - GRACE)
        if (mx, my) == (0.0, 0.0):
            return x, y
        x, y = (
            x - mx / math.hypot(mx, my) * (radius - distance),
            y - my / math.hypot(mx, my) * (radius - distance),
        )
    return there
