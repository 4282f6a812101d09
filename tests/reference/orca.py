"""Naive twin of the ORCA kernels, in float64 and plain Python,
with boundaries as point and direction as in the paper.

Twin of `agent_half_planes`, `near_walls`, `wall_half_planes`, `first_broken`, `best_on_line`,
`best_velocity`, `least_violation`, and `choose_velocities`.
"""

import math

EPSILON = 1e-5
INFINITY = math.inf


def det(a, b):
    return a[0] * b[1] - a[1] * b[0]


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1]


def sub(a, b):
    return (a[0] - b[0], a[1] - b[1])


def add(a, b, k=1.0):
    return (a[0] + k * b[0], a[1] + k * b[1])


def scaled(a, k):
    return (a[0] * k, a[1] * k)


def unit(a):
    return scaled(a, 1.0 / math.hypot(*a))


def violation(line, velocity):
    """How far a velocity is on the forbidden side, which is the right of the direction."""
    point, direction = line
    return det(direction, sub(point, velocity))


def agent_line(
    position, velocity, radius, other_position, other_velocity, other_radius, share, side, horizon, tick
):
    """The half-plane that another agent imposes."""
    p, v, reach = sub(other_position, position), sub(velocity, other_velocity), radius + other_radius
    apart = dot(p, p) > reach * reach
    time = horizon if apart else tick
    w = sub(v, scaled(p, 1.0 / time))
    if not apart or (dot(w, p) < 0.0 and dot(w, p) ** 2 > reach**2 * dot(w, w)):
        length = math.hypot(*w)
        outwards = (
            scaled(w, 1.0 / length)
            if length > 0.0
            else (scaled(unit(p), -1.0) if p != (0.0, 0.0) else (side, 0.0))
        )
        change = reach / time - length
    elif det(p, w) == 0.0:
        outwards = scaled(unit(p), -1.0)
        change = -dot(outwards, v) - (math.hypot(*p) - reach) / time
    else:
        leg = math.sqrt(dot(p, p) - reach * reach)
        if det(p, w) > 0.0:
            direction = scaled((p[0] * leg - p[1] * reach, p[0] * reach + p[1] * leg), 1.0 / dot(p, p))
        else:
            direction = scaled((p[0] * leg + p[1] * reach, -p[0] * reach + p[1] * leg), -1.0 / dot(p, p))
        outwards = (-direction[1], direction[0])
        change = -dot(outwards, v)
    return add(velocity, outwards, share * change), (outwards[1], -outwards[0])


class Vertex:
    """One end of walls as RVO2 has it: walls run from vertex to vertex with the body on the left."""

    def __init__(self, point, convex):
        self.point, self.convex, self.before, self.after, self.direction = point, convex, None, None, None


def wall_vertices(walls):
    """For each wall, the vertex at its `end` (seen from the free side:
    left) and the one at its `start` (right).
    """
    result = []
    for i in range(len(walls.start)):
        follows = int(walls.next[i])
        left = Vertex(tuple(walls.end[i]), True if follows < 0 else bool(walls.is_corner[follows]))
        right = Vertex(tuple(walls.start[i]), bool(walls.is_corner[i]))
        left.direction = right.before = unit(sub(right.point, left.point))
        if follows >= 0:
            left.before = unit(sub(tuple(walls.start[follows]), tuple(walls.end[follows])))
        precedes = int(walls.previous[i])
        if precedes >= 0:
            right.direction = unit(sub(tuple(walls.start[precedes]), tuple(walls.end[precedes])))
        result.append((left, right))
    return result


def distance_to_segment(a, b, p):
    t = dot(sub(p, a), sub(b, a)) / dot(sub(b, a), sub(b, a))
    return math.dist(p, add(a, sub(b, a), min(max(t, 0.0), 1.0)))


def walls_in_sight(walls, candidates, position, reach):
    """Walls whose free side the position is on, nearest first."""
    seen = []
    for i in candidates:
        a, b = tuple(walls.start[i]), tuple(walls.end[i])
        distance = distance_to_segment(a, b, position)
        height = det(unit(sub(b, a)), sub(position, a))
        along = dot(sub(position, a), sub(b, a)) / dot(sub(b, a), sub(b, a))
        if height > (-1e-3 if 0.0 <= along <= 1.0 else 0.0) and distance < reach:
            seen.append((distance, i))
    return [i for _, i in sorted(seen)]


def wall_lines(walls, candidates, position, velocity, radius, reach, horizon):
    """The half-planes that walls impose, nearest wall first."""
    lines, vertices = [], wall_vertices(walls)
    for i in walls_in_sight(walls, candidates, position, reach):
        left, right = vertices[i]
        line = wall_line(left, right, position, velocity, radius, horizon, lines)
        if line is not None:
            lines.append(line)
    return lines


def wall_line(left, right, position, velocity, radius, horizon, lines):
    p1, p2 = sub(left.point, position), sub(right.point, position)
    for line in lines:
        if all(
            det(sub(scaled(p, 1.0 / horizon), line[0]), line[1]) - radius / horizon >= -EPSILON
            for p in (p1, p2)
        ):
            return None
    along = left.direction
    s = dot(scaled(p1, -1.0), along) / math.dist(left.point, right.point)
    off_line = abs(det(along, p1))
    if s < 0.0 and math.hypot(*p1) <= radius:
        return ((0.0, 0.0), unit((-p1[1], p1[0]))) if left.convex else None
    if s > 1.0 and math.hypot(*p2) <= radius:
        lonely = right.direction is None or det(p2, right.direction) >= 0.0
        return ((0.0, 0.0), unit((-p2[1], p2[0]))) if right.convex and lonely else None
    if 0.0 <= s <= 1.0 and off_line <= radius:
        return (0.0, 0.0), scaled(along, -1.0)
    if s < 0.0 and off_line <= radius:
        if not left.convex:
            return None
        right = left
    elif s > 1.0 and off_line <= radius:
        if not right.convex:
            return None
        left = right
    same = left is right
    left_leg = tangent(sub(left.point, position), radius, 1.0) if left.convex else scaled(along, -1.0)
    right_leg = tangent(sub(right.point, position), radius, -1.0) if right.convex else along
    left_foreign = right_foreign = False
    if left.convex and left.before is not None and det(left_leg, scaled(left.before, -1.0)) >= 0.0:
        left_leg, left_foreign = scaled(left.before, -1.0), True
    if right.convex and right.direction is not None and det(right_leg, right.direction) <= 0.0:
        right_leg, right_foreign = right.direction, True
    left_centre, right_centre = (
        scaled(sub(left.point, position), 1.0 / horizon),
        scaled(sub(right.point, position), 1.0 / horizon),
    )
    chord = sub(right_centre, left_centre)
    t = 0.5 if same else dot(sub(velocity, left_centre), chord) / dot(chord, chord)
    t_left, t_right = dot(sub(velocity, left_centre), left_leg), dot(sub(velocity, right_centre), right_leg)
    for centre, hit in (
        (left_centre, (t < 0.0 and t_left < 0.0) or (same and t_left < 0.0 and t_right < 0.0)),
        (right_centre, t > 1.0 and t_right < 0.0),
    ):
        if hit:
            w = unit(sub(velocity, centre))
            return add(centre, w, radius / horizon), (w[1], -w[0])
    to_chord = INFINITY if t < 0.0 or t > 1.0 or same else math.dist(velocity, add(left_centre, chord, t))
    to_left = INFINITY if t_left < 0.0 else math.dist(velocity, add(left_centre, left_leg, t_left))
    to_right = INFINITY if t_right < 0.0 else math.dist(velocity, add(right_centre, right_leg, t_right))
    if to_chord <= to_left and to_chord <= to_right:
        direction, centre = scaled(along, -1.0), left_centre
    elif to_left <= to_right:
        if left_foreign:
            return None
        direction, centre = left_leg, left_centre
    else:
        if right_foreign:
            return None
        direction, centre = scaled(right_leg, -1.0), right_centre
    return add(centre, (-direction[1], direction[0]), radius / horizon), direction


def tangent(p, radius, side):
    square = dot(p, p)
    leg = math.sqrt(square - radius * radius)
    return ((p[0] * leg - side * p[1] * radius) / square, (side * p[0] * radius + p[1] * leg) / square)


def program1(lines, number, speed, wish, outwards, tie):
    point, direction = lines[number]
    foot = dot(point, direction)
    chord = foot**2 + speed**2 - dot(point, point)
    if chord < 0.0:
        return None
    left, right = -foot - math.sqrt(chord), -foot + math.sqrt(chord)
    for other_point, other_direction in lines[:number]:
        denominator, numerator = (
            det(direction, other_direction),
            det(other_direction, sub(point, other_point)),
        )
        if abs(denominator) <= EPSILON:
            if numerator < 0.0:
                return None
        elif denominator > 0.0:
            right = min(right, numerator / denominator)
        else:
            left = max(left, numerator / denominator)
        if left > right:
            return None
    along = dot(wish, direction)
    if outwards and abs(along) > EPSILON:
        t = right if along > 0.0 else left
    else:
        t = min(max(dot(direction, sub(tie if outwards else wish, point)), left), right)
    return add(point, direction, t)


def program2(lines, speed, wish, outwards, start, tie):
    """(number of the line that failed or None, velocity, binding line or None)"""
    result, binding = start, None
    for number, line in enumerate(lines):
        if violation(line, result) > 0.0:
            found = program1(lines, number, speed, wish, outwards, tie)
            if found is None:
                return number, result, binding
            result, binding = found, number
    return None, result, binding


def program3(lines, walls, failed, speed, result, binding, tie):
    distance = 0.0
    for number in range(failed, len(lines)):
        point, direction = lines[number]
        if violation(lines[number], result) <= distance:
            continue
        projected = list(lines[:walls])
        for other_point, other_direction in lines[walls:number]:
            determinant = det(direction, other_direction)
            if abs(determinant) <= EPSILON:
                if dot(direction, other_direction) > 0.0:
                    continue
                meeting = scaled(add(point, other_point), 0.5)
            else:
                meeting = add(point, direction, det(other_direction, sub(point, other_point)) / determinant)
            projected.append((meeting, unit(sub(other_direction, direction))))
        outwards = (-direction[1], direction[0])
        stopped, found, _ = program2(projected, speed, outwards, True, scaled(outwards, speed), tie)
        if stopped is None:
            result = found
        binding = number
        distance = violation(lines[number], result)
    return result, binding


def choose(lines, walls, speed, preferred):
    """(velocity, diagnosis, binding line or None); the diagnosis as in crowdsim.avoidance.model."""
    wish = preferred if math.hypot(*preferred) <= speed else scaled(unit(preferred), speed)
    failed, result, binding = program2(lines, speed, wish, False, wish, wish)
    if failed is None:
        return result, 1, binding
    result, binding = program3(lines, walls, failed, speed, result, binding, wish)
    return result, 3 if failed < walls else 2, binding


def orca(crowd, wanted, reach, horizon, wall_horizon, tick):
    """Velocity, diagnosis and blocker of each agent of a list of dicts with the columns of CrowdView and
    `walls`, `zone_walls`.
    """
    results = []
    for me, agent in enumerate(crowd["agents"]):
        if not agent["active"]:
            results.append(((0.0, 0.0), 0, 0))
            continue
        near = sorted(
            (math.dist(agent["position"], other["position"]), number)
            for number, other in enumerate(crowd["agents"])
            if number != me
            and other["layer"] == agent["layer"]
            and math.dist(agent["position"], other["position"]) < reach
        )[:wanted]
        sight = agent["speed"] * wall_horizon + agent["radius"]
        lines = wall_lines(
            crowd["walls"],
            crowd["zone_walls"],
            agent["position"],
            agent["velocity"],
            agent["radius"],
            sight,
            wall_horizon,
        )
        walls = len(lines)
        for _, number in near:
            other = crowd["agents"][number]
            still = not other["active"]
            lines.append(
                agent_line(
                    agent["position"],
                    agent["velocity"],
                    agent["radius"],
                    other["position"],
                    (0.0, 0.0) if still else other["velocity"],
                    other["radius"],
                    1.0 if still else 0.5,
                    1.0 if me < number else -1.0,
                    horizon,
                    tick,
                )
            )
        velocity, diagnosis, binding = choose(lines, walls, agent["speed"], agent["preferred"])
        blocker = (
            0
            if binding is None
            else (-1 if binding < walls else crowd["agents"][near[binding - walls][1]]["entity"])
        )
        results.append((velocity, diagnosis, blocker))
    return results
