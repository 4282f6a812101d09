"""Twin of the line of agents that want a path: a list of pairs."""

from crowdsim.world.columns import AgentState, PathStatus


def line_up(agents, wants, before, now):
    """Return pairs of a row and the tick since which it stands in line.

    Parameters
    ----------
    agents : list of dict
        With entity, activity, path_status and goal.
    wants : list of bool
    before : list of (int, int)
        Entities in line, and since when.
    now : int
    """
    row_of = {agent["entity"]: row for row, agent in enumerate(agents)}
    found = []
    for entity, since in before:
        agent = agents[row_of[entity]] if entity in row_of else None
        waits = (PathStatus.PENDING, PathStatus.NONE)
        if (
            agent is not None
            and agent["activity"] == AgentState.WALKING
            and agent["goal"] >= 0
            and agent["path_status"] in waits
        ):
            found.append((row_of[entity], since))
    known = {row for row, _ in found}
    return found + [(row, now) for row, want in enumerate(wants) if want and row not in known]
