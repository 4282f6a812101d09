"""Naive twin of ClearPath, in float64 and plain Python:
obstacles as lists of lines, and every crossing of two lines tested against every obstacle.

Twin of `agent_obstacle`, `wall_obstacle`, `first_forbidding`, `best_permitted` and
`choose_by_velocity_obstacles`. Lines are (point, direction) with the obstacle on the right, as in
`tests.reference.orca`. Source: [Guy 2009], section 4: the best velocity is the wish, or lies where a boundary
is nearest to it, or where two boundaries cross.
"""

import itertools
import math

from tests.reference.orca import (
    add,
    det,
    dot,
    program2,
    program3,
    scaled,
    sub,
    tangent,
    unit,
    violation,
    wall_vertices,
    walls_in_sight,
)

DEFAULTS = {
    "wanted": 10, "reach": 5.0, "horizon": 2.0, "standing": 1.0, "walls": 0.5, "tick": 0.05, "farther": 2.0,
    "bias": 1.0, "side": 1.0, "side_sine": 0.1, "sideways": 1.0, "steadiness": 0.0, "pull": 0.0,
}  # fmt: skip
SHALLOW = 1e-6  # m/s, as in the kernel


def left_of(a):
    return (-a[1], a[0])


def agent_obstacle(me, other, numbers, shorter=1.0):
    """Lines round the velocities that another agent forbids; with its horizon `shorter` by that factor."""
    p, reach = sub(other["position"], me["position"]), me["radius"] + other["radius"]
    share = 0.5 if other["active"] else 0.0
    theirs = other["velocity"] if other["active"] else (0.0, 0.0)
    horizon = (numbers["horizon"] if other["active"] else numbers["standing"]) / shorter
    relative = sub(me["velocity"], theirs)

    def shared(w, part=share):
        """Where a relative velocity of the unshared obstacle goes when `part` of avoiding is left to the
        other one.
        """
        return add(scaled(add(w, theirs), 1.0 - part), me["velocity"], part)

    distance = math.hypot(*p)
    if distance <= reach:
        towards = (
            unit(p) if distance > 0.0 else ((-1.0, 0.0) if me["entity"] < other["entity"] else (1.0, 0.0))
        )
        return [(shared(scaled(towards, -(reach - distance) / numbers["tick"])), left_of(towards))]
    ahead, leg = unit(p), math.sqrt(distance * distance - reach * reach)
    left, right = tangent(p, reach, 1.0), tangent(p, reach, -1.0)
    turn = det(p, relative)
    if abs(turn) <= numbers["side_sine"] * distance * math.hypot(*relative):
        turn = -numbers["side"]
    whole = share * (1.0 - numbers["bias"])
    left_part, right_part = (share, whole) if turn > 0.0 else (whole, share)
    cut = (distance - reach) / horizon
    tip = scaled(ahead, cut / numbers["farther"])
    left_end = add(scaled(ahead, cut), left_of(ahead), cut * reach / leg)
    right_end = add(scaled(ahead, cut), left_of(ahead), -cut * reach / leg)
    return [
        (shared((0.0, 0.0), left_part), left),
        (shared((0.0, 0.0), right_part), scaled(right, -1.0)),
        (shared(tip), unit(sub(left_end, tip))),
        (shared(tip), unit(sub(tip, right_end))),
    ]


def wall_obstacle(left, right, position, radius, horizon):
    """Lines round the velocities that a wall forbids, from its vertex on the left to that on the right;
    none where it forbids none.
    """
    a, b = sub(left.point, position), sub(right.point, position)
    along = unit(sub(b, a))
    height, before, after = det(a, along) * -1.0, dot(a, along) > 0.0, dot(b, along) < 0.0
    if before and math.hypot(*a) <= radius:
        return [((0.0, 0.0), left_of(unit(a)))] if left.convex else []
    if after and math.hypot(*b) <= radius:
        lonely = right.direction is None or det(b, right.direction) >= 0.0
        return [((0.0, 0.0), left_of(unit(b)))] if right.convex and lonely else []
    if not before and not after and abs(height) <= radius:
        return [((0.0, 0.0), scaled(along, -1.0))]
    lines = []
    if height > radius:
        lines.append((scaled(left_of(along), (height - radius) / horizon), scaled(along, -1.0)))
    elif before:
        b = a
    else:
        a = b
    if before or after:
        end = a if before else b
        lines.append((scaled(unit(end), (math.hypot(*end) - radius) / horizon), left_of(unit(end))))
    return [
        ((0.0, 0.0), tangent(a, radius, 1.0)),
        ((0.0, 0.0), scaled(tangent(b, radius, -1.0), -1.0)),
        *lines,
    ]


def depth(obstacle, v):
    """How deep a velocity is inside an obstacle; negative outside."""
    return min(violation(line, v) for line in obstacle)


def costs(wish, velocity, speed_limit, numbers):
    """The cost of a velocity, by its definition:
    measured from the velocity of least cost after that was brought into the disc.
    """
    raw = raw_costs(wish, velocity, numbers)
    best = vertex(raw)
    aim = best if math.hypot(*best) <= speed_limit else scaled(unit(best), speed_limit)
    return lambda v: raw(add(v, sub(best, aim)))


def raw_costs(wish, velocity, numbers):
    """What falling behind, swerving and changing velocity cost."""
    speed = math.hypot(*wish)
    ahead = scaled(wish, 1.0 / speed) if speed > 0.0 else (0.0, 0.0)

    def cost(v):
        if speed > 0.0:
            behind, aside = dot(ahead, sub(wish, v)), numbers["side"] * -det(ahead, v)
            first = behind**2 + numbers["sideways"] * (aside - numbers["pull"] * speed) ** 2
        else:
            first = numbers["sideways"] * dot(v, v)
        return first + numbers["steadiness"] * math.dist(v, velocity) ** 2

    return cost


def lowest(cost, point, direction):
    """Where on a line a quadratic cost is least: the vertex of the parabola through three of its points."""
    before, here, after = (cost(add(point, direction, t)) for t in (-1.0, 0.0, 1.0))
    return 0.5 * (before - after) / (before - 2.0 * here + after)


def best(obstacles, speed, wish, cost):
    """(velocity, obstacle on whose boundary it lies or None); None if nothing is permitted."""
    if all(depth(one, wish) <= SHALLOW for one in obstacles):
        return wish, None
    lines = [(line, number) for number, one in enumerate(obstacles) for line in one]
    candidates = [
        (vertex(cost), next(number for number, one in enumerate(obstacles) if depth(one, wish) > SHALLOW))
    ]
    for (point, direction), number in lines:
        foot = add(point, direction, -dot(point, direction))
        chord = speed**2 - dot(foot, foot)
        if chord < 0.0:
            continue
        half = math.sqrt(chord)
        places = [-half, half, min(max(lowest(cost, foot, direction), -half), half)]
        for (other, along), _ in lines:
            if abs(det(direction, along)) > 1e-12:
                places.append(det(sub(other, foot), along) / det(direction, along))
        candidates += [(add(foot, direction, t), number) for t in places if -half - 1e-9 <= t <= half + 1e-9]
    permitted = [
        (cost(v), number, v)
        for v, number in candidates
        if all(depth(one, v) <= 2.0 * SHALLOW for one in obstacles)
    ]
    if not permitted:
        return None
    _, number, v = min(permitted)
    return v, number


def vertex(cost):
    """Where a quadratic cost is least."""
    c, x, y = cost((0.0, 0.0)), (cost((1.0, 0.0)), cost((-1.0, 0.0))), (cost((0.0, 1.0)), cost((0.0, -1.0)))
    gx, gy, hxx, hyy = (x[0] - x[1]) / 2.0, (y[0] - y[1]) / 2.0, x[0] + x[1] - 2.0 * c, y[0] + y[1] - 2.0 * c
    hxy = cost((1.0, 1.0)) - x[0] - y[0] + c
    d = hxx * hyy - hxy * hxy
    return -(hyy * gx - hxy * gy) / d, -(hxx * gy - hxy * gx) / d


def sight(crowd, number, numbers):
    """(walls in sight, nearest first, as pairs of vertices; numbers of the neighbours, nearest first)"""
    me, vertices = crowd["agents"][number], wall_vertices(crowd["walls"])
    reach = me["speed"] * numbers["walls"] + me["radius"]
    walls = [vertices[i] for i in walls_in_sight(crowd["walls"], crowd["zone_walls"], me["position"], reach)]
    near = sorted(
        (math.dist(me["position"], other["position"]), i)
        for i, other in enumerate(crowd["agents"])
        if i != number
        and other["layer"] == me["layer"]
        and math.dist(me["position"], other["position"]) < numbers["reach"]
    )
    return walls, [i for _, i in near[: numbers["wanted"]]]


def obstacles_of(crowd, number, numbers, shorter=1.0):
    """(obstacles of walls, obstacles of agents, whose they are), nearest first."""
    me = crowd["agents"][number]
    walls, near = sight(crowd, number, numbers)
    solid = [
        one
        for one in (
            wall_obstacle(left, right, me["position"], me["radius"], numbers["walls"])
            for left, right in walls
        )
        if one
    ]
    return solid, [agent_obstacle(me, crowd["agents"][i], numbers, shorter) for i in near], near


def choose(crowd, number, numbers):
    """(velocity, diagnosis as in crowdsim.avoidance.model) of one agent of a dict as
    `tests.reference.orca.orca` takes it.
    """
    me = crowd["agents"][number]
    if not me["active"]:
        return (0.0, 0.0), 0
    wish = (
        me["preferred"]
        if math.hypot(*me["preferred"]) <= me["speed"]
        else scaled(unit(me["preferred"]), me["speed"])
    )
    cost = costs(wish, me["velocity"], me["speed"], numbers)
    for halvings in itertools.count():
        solid, soft, _ = obstacles_of(crowd, number, numbers, 2.0**halvings)
        found = best(solid + soft, me["speed"], wish, cost)
        if found is not None:
            return found[0], 2 if halvings else 1
        if 2.0**halvings * numbers["tick"] >= max(numbers["horizon"], numbers["standing"]):
            break
    lines = [min(one, key=lambda line: violation(line, me["velocity"])) for one in solid + soft]
    failed, v, binding = program2(lines, me["speed"], wish, False, wish, wish)
    v, _ = program3(lines, len(solid), failed, me["speed"], v, binding, wish)
    return v, 3 if failed < len(solid) else 2
