"""Twin of the line of agents that want a path: a list of pairs."""

from crowdsim.world.columns import AgentState, PathStatus


def stay_in_line(agents, before):
    """Return the pairs of an entity and the tick since which it stands in line that stay, and the entities of
    those that have been sent elsewhere meanwhile.

    Parameters
    ----------
    agents : list of dict
        With entity, activity, path_status and goal.
    before : list of (int, int)
        Entities in line, and since when.
    """
    of = {agent["entity"]: agent for agent in agents}
    waits = (PathStatus.PENDING, PathStatus.NONE)
    stay = [
        (entity, since)
        for entity, since in before
        if entity in of
        and of[entity]["activity"] == AgentState.WALKING
        and of[entity]["goal"] >= 0
        and of[entity]["path_status"] in waits
    ]
    return stay, [entity for entity, _ in stay if of[entity]["path_status"] == PathStatus.NONE]


def join_line(agents, wants, now):
    """Return the pairs of those that come: by goal, and those with one goal by their rows.

    Parameters
    ----------
    agents : list of dict
    wants : list of bool
    now : int
    """
    come = [agent for agent, want in zip(agents, wants, strict=True) if want]
    return [(agent["entity"], now) for agent in sorted(come, key=lambda agent: agent["goal"])]


def alike(goal_of, line, told):
    """Return how many at the head of a line have come in one tick and have one goal, beyond the first `told`.

    Parameters
    ----------
    goal_of : dict of int to int
    line : list of (int, int)
    told : int
    """
    count = told
    while count < len(line) and (goal_of[line[count][0]], line[count][1]) == (
        goal_of[line[0][0]],
        line[0][1],
    ):
        count += 1
    return count - told
