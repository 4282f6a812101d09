"""The queue before an exit, agent by agent: see crowdsim.systems.goals.exit_queues."""

import math


def through(queue, agent, capacity):
    """Return in how many seconds an agent would be at an exit with none before it.

    `queue` has (length, speed, entity) of all that head for the exit, `agent` the same of one.
    """
    free = -math.inf  # when the exit is free for the next
    for length, speed, entity in sorted(queue, key=lambda each: (each[0], each[2])):
        if math.isinf(length) or entity == agent[2] or (length, entity) > (agent[0], agent[2]):
            continue
        free = max(length / speed, free) + 1 / capacity
    return max(agent[0] / agent[1], free)
