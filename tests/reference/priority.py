"""Twin of giving way by waiting time, pair by pair.

Functions: count_waiting, find_right_of_way.
"""

import math


def waited_after(wanted, velocity, walks, share, waited):
    """For how long an agent has waited after a tick."""
    length = math.hypot(*wanted)
    if not walks or length == 0.0:
        return 0
    got_on = (wanted[0] * velocity[0] + wanted[1] * velocity[1]) / length
    return waited + 1 if got_on < share * length else max(waited - 4, 0)


def lets_through(agent, agents, after, margin, reach):
    """The index of the one that an agent makes room for, or -1; agents are dicts."""
    me = agents[agent]
    best = -1
    if not me["walks"] or math.hypot(*me["wanted"]) == 0.0:
        return -1
    for number, other in enumerate(agents):
        speed = math.hypot(*other["wanted"])
        if number == agent or not other["walks"] or speed == 0.0 or other["part"] != me["part"]:
            continue
        if other["waited"] < max(1, after) or other["waited"] < me["waited"] + max(1, margin):
            continue
        way = [value / speed for value in other["wanted"]]
        to = [me["position"][k] - other["position"][k] for k in range(2)]
        ahead, aside = way[0] * to[0] + way[1] * to[1], abs(way[0] * to[1] - way[1] * to[0])
        both = me["radius"] + other["radius"]
        same = (way[0] * me["wanted"][0] + way[1] * me["wanted"][1]) / math.hypot(*me["wanted"])
        if not (0.0 < ahead <= reach + both and aside < both and same < 0.5):
            continue
        if best < 0 or (-other["waited"], other["entity"]) < (
            -agents[best]["waited"],
            agents[best]["entity"],
        ):
            best = number
    return best
