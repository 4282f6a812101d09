"""Slow, obvious twin of `crowdsim.bodies.party`: the members of one party, with lists.
Twin of `keep_together`.
"""

from __future__ import annotations

import math

from crowdsim.bodies import party as own


def room_beside(walls, at, direction, limit):
    """Return how far the first of some walls [((x, y), (x, y)), ...] is in a direction."""
    ux, uy = direction
    found = limit
    for (ax, ay), (bx, by) in walls:
        along = [(x - at[0]) * ux + (y - at[1]) * uy for x, y in ((ax, ay), (bx, by))]
        aside = [ux * (y - at[1]) - uy * (x - at[0]) for x, y in ((ax, ay), (bx, by))]
        if (aside[0] < 0.0) == (aside[1] < 0.0):
            continue
        share = aside[0] / (aside[0] - aside[1])
        away = along[0] + share * (along[1] - along[0])
        if away >= 0.0:
            found = min(found, away)
    return found


def fits(walls, agent, apart, most):
    """Return how many fit side by side where an agent is, and a little ahead."""
    (x, y), (ux, uy) = agent["position"], unit(agent["wanted"])
    left, right = (-uy, ux), (uy, -ux)

    def width(at):
        return room_beside(walls, at, left, own.LOOK_M) + room_beside(walls, at, right, own.LOOK_M)

    ahead = min(own.AHEAD_M, 0.5 * room_beside(walls, (x, y), (ux, uy), 2.0 * own.AHEAD_M))
    room = min(width((x, y)), width((x + ahead * ux, y + ahead * uy)))
    room -= 2.0 * (agent["radius"] + own.CLEAR_M)
    return 1 if room < apart else min(most, 1 + int(room / apart))


def unit(vector):
    size = math.hypot(*vector)
    return vector[0] / size, vector[1] / size


def one_party(members, rules, walls, *, led=False, outside=False):
    """Return for each member what it prefers (None: as it did), how fast it goes at most, whether it is held,
    and for how long.

    Parameters
    ----------
    members : list of dict
        In the order of the group: state, position, wanted, remaining, layer, stage, desired, maximum, radius,
        waited.
    rules : dict
        spacing, abreast, gap, patience (ticks), hurry, slower.
    walls : list of ((x, y), (x, y))
    led, outside : bool
        Whether the first leads (by its own direction; others see it everywhere), and some are outside.
    """
    out = [{"wanted": None, "limit": math.inf, "held": False, "waited": each["waited"]} for each in members]
    walkers = [k for k, each in enumerate(members) if each["state"] == own.WALKS]
    present = [each for each in members if each["state"] != own.IGNORED]
    if not walkers:
        return out
    if len(present) == 1 and not outside:
        out[walkers[0]]["waited"] = 0
        return out
    has_leader = led and walkers[0] == 0
    stage = min(members[k]["stage"] for k in walkers)
    same = [members[k] for k in walkers if members[k]["stage"] == stage]
    layer = same[0]["layer"]
    centre = [sum(each["position"][axis] for each in same) / len(same) for axis in (0, 1)]
    way = [sum(unit(each["wanted"])[axis] for each in same) for axis in (0, 1)]
    if math.hypot(*way) > 0.0:
        way = unit(way)
    lengths = [each["remaining"] for each in same if not math.isnan(each["remaining"])]
    middle = sum(lengths) / len(lengths) if lengths else math.nan
    behind = {}
    for k in walkers:
        each = members[k]
        dx, dy = (each["position"][axis] - centre[axis] for axis in (0, 1))
        away = math.hypot(dx, dy)
        if each["stage"] != stage:
            behind[k] = -away if each["layer"] == layer else -own.FAR_M
            continue
        rest = each["remaining"] - middle
        cosine = sum(a * b for a, b in zip(unit(each["wanted"]), way, strict=True))
        is_near = away <= 2.0 + 0.5 * rules["spacing"] * len(same) and cosine >= own.ALIKE
        if math.isnan(rest) or (is_near and abs(rest) <= away + 2.0):
            behind[k] = -(dx * way[0] + dy * way[1])
        else:
            behind[k] = rest
    order = sorted(walkers, key=lambda k: (not (has_leader and k == 0), behind[k], k))
    apart = max([rules["spacing"], *(2.0 * members[k]["radius"] + own.BODY_GAP_M for k in walkers)])
    liked = [members[k]["desired"] for k in walkers]
    pace = min(sum(liked) / len(liked), rules["hurry"] * min(liked))
    pace -= rules["slower"] * min(len(present) - 1, own.MOST_SLOWER)
    pace = max(pace, own.LEAST_PACE * min(liked))
    rows, left = [], list(order)
    while left:
        count = 1 if has_leader and not rows else fits(walls, members[left[0]], apart, rules["abreast"])
        rows.append(left[:count])
        left = left[count:]
    row_of = {k: number for number, row in enumerate(rows) for k in row}
    mean = sum(row_of.values()) * apart / len(order)
    lag = {k: behind[k] - (row_of[k] * apart - mean) for k in order}
    most = max(lag.values())
    place = [sum(members[k]["position"][axis] for k in order) / len(order) for axis in (0, 1)]
    for each in members:
        if each["state"] == own.PRESENT:
            is_here = each["layer"] == members[order[-1]]["layer"]
            most = max(most, math.dist(each["position"], place) if is_here else own.FAR_M)
    alone = [k for k in order if members[k]["waited"] >= rules["patience"]]
    for k in order:
        each, found = members[k], out[k]
        ahead = most - lag[k]
        speed = min(max(0.0, pace + own.CATCH_UP * lag[k]), rules["hurry"] * each["desired"])
        ramp = min(1.0, max(0.0, (rules["gap"] - ahead) / (0.5 * rules["gap"])))
        if ramp < 1.0:
            speed = min(speed, pace * ramp)
        if outside:
            speed = min(speed, own.HELD * pace)
        waits = speed < own.HELD * pace or outside
        if k in alone:
            speed = pace + own.CATCH_UP * (lag[k] - sum(lag[other] for other in alone) / len(alone))
            speed = min(max(own.LEAST_PACE * pace, speed), rules["hurry"] * each["desired"])
            waits = False
        limit = math.inf
        if waits:
            limit = max(speed, own.STEPS_ASIDE)
        elif lag[k] < 0.0 and k not in alone:
            limit = pace + own.CATCH_UP * max(0.0, own.FREE_AHEAD_M + lag[k])
        found["limit"] = math.hypot(*each["wanted"]) * limit / each["desired"]
        if waits:
            found["waited"], found["held"] = each["waited"] + 1, True
        elif ahead <= 0.5 * rules["gap"] and not outside:
            found["waited"] = 0
        speed = min(speed, each["maximum"])
        way_k = unit(each["wanted"])
        if has_leader and row_of[k] > 0:
            x, y = each["position"]
            to = members[rows[row_of[k] - 1][0]]
            dx, dy = to["position"][0] - x, to["position"][1] - y
            if (
                math.hypot(dx, dy) > 1.5 * apart
                and dx * way_k[0] + dy * way_k[1] > 0.0
                and to["layer"] == each["layer"]
            ):
                way_k = unit((dx, dy))
        aslant = aside(members, rows[row_of[k]], k, walls, apart, speed, way_k)
        dx, dy = way_k[0] - aslant * way_k[1], way_k[1] + aslant * way_k[0]
        size = math.hypot(*each["wanted"]) * speed / each["desired"] / math.hypot(dx, dy)
        found["wanted"] = dx * size, dy * size
    return out


def aside(members, row, k, walls, apart, speed, way):
    """Return how far a member goes to the left for each metre ahead."""
    if len(row) < 2 or speed <= 0.0:
        return 0.0
    left = (-way[1], way[0])
    at = {other: sum(a * b for a, b in zip(left, members[other]["position"], strict=True)) for other in row}
    place = sorted(row, key=lambda other: (at[other], row.index(other))).index(k)
    rest = sum(at.values()) / len(row) + (place - 0.5 * (len(row) - 1)) * apart - at[k]
    found = own.ASIDE * rest / max(speed, own.LEAST_SPEED)
    found = min(own.MOST_ASLANT, max(-own.MOST_ASLANT, found))
    side = left if found > 0.0 else (-left[0], -left[1])
    room = room_beside(walls, members[k]["position"], side, own.LOOK_M)
    return 0.0 if room < members[k]["radius"] + own.CLEAR_M else found
