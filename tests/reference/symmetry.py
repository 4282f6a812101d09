"""Naive twin of `follow_progress`, `turn_away` and `hold_ground`:
one tick of the symmetry breaker with dictionaries and angles.
"""

import math

GOLDEN = 0.6180339887498949
SILVER = math.sqrt(2.0) - 1.0


def stands(agent, by, slow):
    """Whether an agent wants to move and hardly moves, because of another."""
    wish = agent["preferred"]
    along = agent["velocity"][0] * wish[0] + agent["velocity"][1] * wish[1]
    return (
        bool(agent["active"])
        and by > 0
        and math.hypot(*wish) > 0.0
        and along < slow * (wish[0] ** 2 + wish[1] ** 2)
    )


def gets_on(agent):
    """Whether an agent gets on at half its pace at least."""
    wish = agent["preferred"]
    return (agent["velocity"][0] * wish[0] + agent["velocity"][1] * wish[1]) / math.hypot(
        *wish
    ) >= 0.5 * math.hypot(*wish)


def is_exact(one, other):
    """Whether two agents going as they prefer would meet centre on centre."""
    p = (other["position"][0] - one["position"][0], other["position"][1] - one["position"][1])
    v = (one["preferred"][0] - other["preferred"][0], one["preferred"][1] - other["preferred"][1])
    if math.hypot(*v) <= 1e-2 * math.hypot(*one["preferred"]):
        return False
    return p[0] * v[0] + p[1] * v[1] > 0.0 and abs(p[0] * v[1] - p[1] * v[0]) <= 1e-6 * math.hypot(
        *p
    ) * math.hypot(*v)


def tick(agents, memory, slow, patience, lasts, exact_turns, ring_turns, longest, far):
    """One tick.

    `agents` maps entity -> dict; `memory` maps entity -> [blocked, turning, events, stalled, retreating,
    holder, pressed, side] and is changed. Returns entity -> (preferred, cause).
    """
    for entity, agent in agents.items():
        holder = agent["blocker"] if agent["blocker"] != -1 else memory[entity][5]
        memory[entity][0] = memory[entity][0] + 1 if stands(agent, agent["blocker"], slow) else 0
        memory[entity][6] = memory[entity][6] + 1 if stands(agent, holder, slow) else 0
        wants = agent["active"] and agent["preferred"] != (0.0, 0.0)
        memory[entity][3] = (
            sorted((0, memory[entity][3] + (-1 if gets_on(agent) else 1), longest))[1] if wants else 0
        )
        back = sum(v * w for v, w in zip(agent["velocity"], agent["preferred"], strict=True)) < 0.0
        memory[entity][4] = sorted((0, memory[entity][4] + (1 if back else -1), far))[1] if wants else 0
        memory[entity][5] = holder if wants else 0

    def in_ring(start):
        here = agents[start]["blocker"]
        for _ in range(16):
            if here == start:
                return True
            if here not in agents or memory[here][0] < patience or agents[here]["blocker"] <= 0:
                return False
            here = agents[here]["blocker"]
        return False

    def press(one):
        """Whether an agent and another with contrary wishes hold each other up, and a wall binds one of them
        now.
        """
        other = memory[one][5]
        return (
            other in agents
            and sum(a * b for a, b in zip(agents[one]["preferred"], agents[other]["preferred"])) < 0.0
            and memory[other][5] == one
            and min(memory[one][6], memory[other][6]) >= patience
            and -1 in (agents[one]["blocker"], agents[other]["blocker"])
        )

    result = {}
    for entity, agent in agents.items():
        wish, cause = agent["preferred"], 0
        if not agent["active"] or wish == (0.0, 0.0):
            memory[entity][1] = 0
        elif memory[entity][1] > 0:
            memory[entity][1] -= 1
            cause = 2
        elif agent["blocker"] in agents:
            if memory[entity][0] >= patience and in_ring(entity):
                cause, memory[entity][1], memory[entity][7] = 2, lasts - 1, 1
                memory[entity][2] += 1
            elif is_exact(agent, agents[agent["blocker"]]):
                cause = 1
                memory[entity][2] += 1
        if not cause and agent["active"] and wish != (0.0, 0.0) and press(entity):
            longer = 0.5 + 1.5 * ((agent["draw"] + memory[entity][2] * SILVER) % 1.0)
            cause, memory[entity][1] = 2, int(lasts * longer)
            memory[entity][2] += 1
            memory[entity][7] = 2 if memory[entity][7] == 1 and agent["blocker"] == -1 else 1
        if cause:
            low, high = exact_turns if cause == 1 else ring_turns
            draw = (agent["draw"] + memory[entity][2] * GOLDEN) % 1.0
            angle = -2.0 * math.atan(low + (high - low) * draw)  # to the right: clockwise
            angle = -angle if cause == 2 and memory[entity][7] == 2 else angle
            wish = (
                wish[0] * math.cos(angle) - wish[1] * math.sin(angle),
                wish[0] * math.sin(angle) + wish[1] * math.cos(angle),
            )
        if memory[entity][6] == memory[entity][1] == 0:
            memory[entity][7] = 0
        result[entity] = (wish, cause)
    return result


def shown(agents, kept, stalled, patience, retreating, after, holder):
    """Return entity -> (velocity, holds): the velocities that agents show, by the angle between their wishes;
    `stalled` and `retreating` (ticks) and `holder` are by entity.
    """
    result = {}
    for entity, agent in agents.items():
        by = holder[entity] if agent["blocker"] == -1 else agent["blocker"]
        velocity, wish, other = agent["velocity"], agent["preferred"], agents.get(by)
        holds = False
        if (
            agent["active"]
            and other is not None
            and stalled[by] < patience
            and math.hypot(*wish) > 0.0
            and math.hypot(*other["preferred"]) > 0.0
        ):
            ahead, aside = wish[0] / math.hypot(*wish), wish[1] / math.hypot(*wish)
            forwards, sideways = (
                velocity[0] * ahead + velocity[1] * aside,
                velocity[1] * ahead - velocity[0] * aside,
            )
            between = math.atan2(
                wish[0] * other["preferred"][1] - wish[1] * other["preferred"][0],
                wish[0] * other["preferred"][0] + wish[1] * other["preferred"][1],
            )
            holds = forwards < 0.0 and retreating[entity] >= after and abs(between) > math.radians(120.0)
            if holds:
                velocity = (
                    kept * forwards * ahead - sideways * aside,
                    kept * forwards * aside + sideways * ahead,
                )
        result[entity] = (velocity, holds)
    return result


def carried(known, memory, entity):
    """Memory, a tuple for each, of the entities that are there now: zeros for those that are new."""
    before = dict(zip(known, memory, strict=True))
    return [before.get(each, (0,) * 8) for each in entity]
