"""Naive twin of exact HRVO, in float64 and plain Python:
cones with an apex and two sides, and every candidate point tested against every cone.

Twin of `choose_by_velocity_obstacles` as `Hrvo` calls it. Source: [Snape 2011], sections IV and V.
"""

import math

from tests.reference.orca import add, det, dot, scaled, sub, unit


def cone(me, other, tick, apex_of="paper"):
    """(apex, right side, left side) of the hybrid reciprocal velocity obstacle
    that `other` imposes on `me`.
    """
    p, reach = sub(other["position"], me["position"]), me["radius"] + other["radius"]
    theirs = other["velocity"] if other["active"] else (0.0, 0.0)
    share = 0.5 if other["active"] else 0.0  # of what is needed, left to the other
    distance = math.hypot(*p)
    if distance <= reach:  # overlapping already: part within a tick, each its share
        towards = (
            unit(p) if distance > 0.0 else ((-1.0, 0.0) if me["entity"] < other["entity"] else (1.0, 0.0))
        )
        apex = add(theirs, sub(me["velocity"], theirs), share)
        apex = add(apex, towards, -(1.0 - share) * (reach - distance) / tick)
        return apex, (towards[1], -towards[0]), (-towards[1], towards[0])
    sine, cosine = reach / distance, math.sqrt(distance**2 - reach**2) / distance
    ahead = unit(p)
    right = (ahead[0] * cosine + ahead[1] * sine, ahead[1] * cosine - ahead[0] * sine)
    left = (ahead[0] * cosine - ahead[1] * sine, ahead[1] * cosine + ahead[0] * sine)
    relative = sub(me["velocity"], theirs)
    their_wish = other["preferred"] if other["active"] else (0.0, 0.0)
    # Who goes left shares only the left side: the right side is that of the velocity obstacle, whole. The
    # apex is where both sides meet.
    if det(p, sub(me["preferred"], their_wish)) > 0.0:
        apex = add(theirs, right, share * det(relative, left) / det(right, left))
    else:
        slip = -1.0 if apex_of == "library" else 1.0
        apex = add(theirs, left, slip * share * det(right, relative) / det(right, left))
    return apex, right, left


def inside(cone_, v):
    """Whether a velocity is in a cone's interior."""
    apex, right, left = cone_
    w = sub(v, apex)
    if dot(right, left) < -1.0 + 1e-12:  # a half-plane
        return det(right, w) > 0.0
    return det(right, w) > 0.0 and det(left, w) < 0.0


def depth(cone_, v):
    """How deep a velocity is in a cone; negative outside."""
    apex, right, left = cone_
    w = sub(v, apex)
    return min(det(right, w), -det(left, w))


def candidates(cones, speed, preferred):
    """(velocity, cones on whose boundary it lies)"""
    wish = preferred if math.hypot(*preferred) < speed else scaled(unit(preferred), speed)
    found = [(wish, ())]
    for i, (apex, right, left) in enumerate(cones):
        for side in (right, left):
            t = dot(sub(preferred, apex), side)
            if t > 0.0 and inside(cones[i], preferred):
                found.append((add(apex, side, t), (i,)))
            chord = speed**2 - det(apex, side) ** 2
            if chord > 0.0:
                for t in (-dot(apex, side) + math.sqrt(chord), -dot(apex, side) - math.sqrt(chord)):
                    if t >= 0.0:
                        found.append((add(apex, side, t), (i,)))
        for j in range(i + 1, len(cones)):
            other_apex, *sides = cones[j]
            for side in (right, left):
                for other_side in sides:
                    d = det(side, other_side)
                    if d != 0.0:
                        s, t = (
                            det(sub(other_apex, apex), other_side) / d,
                            det(sub(other_apex, apex), side) / d,
                        )
                        if s >= 0.0 and t >= 0.0:
                            found.append((add(apex, side, s), (i, j)))
    return [(v, own) for v, own in found if math.hypot(*v) <= speed * (1.0 + 1e-9)]


def choose(cones, speed, preferred):
    """(velocity, whether it is outside every cone):
    where none is, the nearest one that is outside of most of the nearest neighbours' cones in a row.

    What is nearest is measured from the preferred velocity within the speed limit; the library measures from
    beyond it.
    """
    best, reached = None, -1
    preferred = preferred if math.hypot(*preferred) <= speed else scaled(unit(preferred), speed)
    for v, own in sorted(candidates(cones, speed, preferred), key=lambda c: math.dist(c[0], preferred)):
        first = next((i for i, one in enumerate(cones) if i not in own and inside(one, v)), None)
        if first is None:
            return v, True
        if first > reached:
            best, reached = v, first
    return best, False


def cones_of(agents, number, wanted, reach, tick, apex_of):
    me = agents[number]
    near = sorted((math.dist(me["position"], a["position"]), i) for i, a in enumerate(agents) if i != number)
    return [cone(me, agents[i], tick, apex_of) for distance, i in near if distance < reach][:wanted]


def hrvo(agents, number, wanted, reach, tick, apex_of="paper"):
    """Velocity of one agent of a list of dicts with the columns of CrowdView,
    and whether it is outside every cone.
    """
    return choose(
        cones_of(agents, number, wanted, reach, tick, apex_of),
        agents[number]["speed"],
        agents[number]["preferred"],
    )


def keeps_nearest(agents, number, reach, tick, apex_of="paper"):
    """Whether the cone of the nearest neighbour alone leaves a velocity;
    if not, paper and library go as they please, and the model moves away.
    """
    return choose(
        cones_of(agents, number, 1, reach, tick, apex_of),
        agents[number]["speed"],
        agents[number]["preferred"],
    )[1]
