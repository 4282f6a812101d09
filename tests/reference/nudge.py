"""Twins of asking aside and of looking ahead, all against all.

Kernels: find_touching, choose_aside, is_clear_line, find_blocked_lines, find_near_lines; and the function
count_blocked.
"""

import math

import shapely


def count_blocked(entity, wants, stands, velocity, preferred, blocker, share, held):
    """One more tick for each walker whose blocker stands and who gets along by less than a share of what it
    wants; else 0.
    """
    row_of = {int(e): row for row, e in enumerate(entity)}
    result = []
    for row in range(len(entity)):
        by = row_of.get(int(blocker[row]), -1)
        wish = math.hypot(*preferred[row])
        progress = (
            (velocity[row][0] * preferred[row][0] + velocity[row][1] * preferred[row][1]) / wish
            if wish
            else 0.0
        )
        is_held = wants[row] and wish > 0.0 and by >= 0 and stands[by] and progress < share * wish
        result.append(int(held[row]) + 1 if is_held else 0)
    return result


def find_touching(position, layer, radius, preferred, wants, stands, gap):
    """For each stander the nearest walker that touches it and wants towards it, -1 for none."""
    result = []
    for i in range(len(position)):
        near = []
        for j in range(len(position)):
            dx, dy = position[i][0] - position[j][0], position[i][1] - position[j][1]
            away = math.sqrt(dx * dx + dy * dy)
            towards = preferred[j][0] * dx + preferred[j][1] * dy > 0.0 or away == 0.0
            if (
                i != j
                and wants[j]
                and layer[i] == layer[j]
                and away <= radius[i] + radius[j] + gap
                and towards
            ):
                near.append((away, j))
        result.append(min(near)[1] if stands[i] and near else -1)
    return result


def clearance_of_line(ground, start, end):
    """How far a straight line stays from every wall, m; negative where it leaves the ground."""
    line = shapely.LineString([start, end])
    return line.distance(ground.boundary) if ground.covers(line) else -1.0


def is_clear_line(ground, start, end, radius):
    """Whether a body goes straight from one place to another without touching a wall;
    find_blocked_lines says the opposite.
    """
    return clearance_of_line(ground, start, end) >= radius


def choose_aside(ground, position, radius, away, distance):
    """The first of ahead, left, right and back that is clear, and its place;
    -1 and the place itself where none is.
    """
    (x, y), (ux, uy) = position, away
    for number, (dx, dy) in enumerate(((ux, uy), (-uy, ux), (uy, -ux), (-ux, -uy))):
        place = (x + distance * dx, y + distance * dy)
        if is_clear_line(ground, (x, y), place, radius):
            return number, place
    return -1, (x, y)


def find_near_lines(row, position, to, part, others, reach):
    """Whether somebody else of `others`, on the same part of the ground,
    is within its reach of the line of `row`.
    """
    line = shapely.LineString([position[row], to[row]])
    return any(
        other != row
        and part[other] == part[row]
        and line.distance(shapely.Point(position[other])) <= reach[i]
        for i, other in enumerate(others)
    )
