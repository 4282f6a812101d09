"""Losing a path, and getting another: the one place at which agents lose theirs, or wish for another,
and what a new path does to the progress of an agent along it.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.measures.deadlock_stuck import MOST_SETBACKS, PROGRESS_M
from crowdsim.navigation.corridor.progress import Progress
from crowdsim.world.columns import AgentColumns, AgentState, PathStatus, ReplanCause
from crowdsim.world.events import EventKind
from crowdsim.world.world import World

GAVE_UP = (PathStatus.NEAREST_REACHABLE, PathStatus.ENCLOSED, PathStatus.UNREACHABLE, PathStatus.OUT_OF_NODES)
WALKS = (PathStatus.FOUND, PathStatus.FOUND_THROUGH_AGENTS, PathStatus.NEAREST_REACHABLE)
LOST = ("path_status", "corridor_length", "goal_piece", "strays")  # what `lose_paths` writes
# what `take_length` reads and writes, and `Gauge`
NOTED = ("remaining", "behind", "progress", "progress_place", "progress_direction")
TAKEN = (*NOTED, "setbacks", "nearest_remaining")  # what `take_path` reads and writes


def lose_paths(
    agents: AgentColumns, rows: NDArray[np.int64] | NDArray[np.bool_], status: PathStatus = PathStatus.NONE
) -> None:
    """Take the paths of agents, whether they follow, wait for, or never found them.

    Parameters
    ----------
    agents : AgentColumns
    rows : (k,) int or (n,) bool
    status : PathStatus
        Why they have none now. With NONE they ask for a path in their next tick, if they walk.
    """
    agents.path_status[rows] = status
    drop_corridors(agents, rows)


def ask_anew(agents: AgentColumns, rows: NDArray[np.int64] | NDArray[np.bool_]) -> None:
    """Let agents, (k,) rows or (n,) bool, ask for a path in their next tick;
    one that they have is theirs until then.
    """
    agents.path_status[rows] = PathStatus.NONE


def drop_corridors(agents: AgentColumns, rows: NDArray[np.int64] | NDArray[np.bool_]) -> None:
    """Let agents, (k,) rows or (n,) bool, have no portals ahead, nor behind,
    and head for no piece of their goal; what became of their requests stays.
    """
    agents.corridor_length[rows], agents.goal_piece[rows], agents.strays[rows] = 0, -1, 0


def lose_shut_paths(
    world: World, tick: int, rows: NDArray[np.int64], ahead: NDArray[np.int64] | NDArray[np.int32]
) -> None:
    """Take paths that lead over ground that was lost:
    that is noted of agents that walk, and they ask for another.

    Parameters
    ----------
    world : World
    tick : int
    rows : (k,) int64
    ahead : (k,) int
        Portals or waypoints that were still ahead.
    """
    agents = world.agents
    walks = agents.activity[rows] == AgentState.WALKING
    asks = rows[walks]
    world.events.note(tick, EventKind.PATH_LOST, agents.entity[asks], agents.position[asks], ahead[walks])
    wish_to_replan(agents, asks, ReplanCause.PATH_CLOSED)
    lose_paths(agents, rows)


def ask_on_new_ground(world: World, has_opened: bool) -> None:
    """Let agents that wait for a path ask on the new ground, and, if something has opened,
    those that had given up and have ground under them.
    """
    agents = world.agents
    ask_anew(agents, agents.path_status == PathStatus.PENDING)
    if has_opened:
        hopes = (
            np.isin(agents.path_status, GAVE_UP)
            & (agents.goal >= 0)
            & np.isin(agents.activity, (AgentState.STANDING, AgentState.WALKING))
            & world.has_ground()
        )
        agents.activity[hopes] = AgentState.WALKING
        ask_anew(agents, hopes)


def wish_to_replan(
    agents: AgentColumns, rows: NDArray[np.int64] | NDArray[np.bool_], cause: ReplanCause
) -> None:
    """Note that agents want a new path to their goal.

    `Replan` grants the wish in its next turn to agents that walk and have a path, and to none sooner than a
    cooldown after its last path came. The latest cause is the one that is counted. A wish is forgotten when
    the agent gets a path for another reason, or stands.

    Parameters
    ----------
    agents : AgentColumns
    rows : (k,) int or (n,) bool
    cause : ReplanCause
    """
    agents.replan_wish[rows] = cause


def take_path(agents: AgentColumns, rows: NDArray[np.int64], length_m: NDArray[np.float64]) -> None:
    """Note the lengths of paths that agents have just been set on.

    Parameters
    ----------
    agents : AgentColumns
    rows : (k,) int64
    length_m : (k,) float64, m
        From where the agents are.

    Notes
    -----
    A path is no progress, however short: only walking is. An agent without a remaining length (it had no
    path, or lost it through no choice of its own, see `forget_path`) begins with the new one. Else, a longer
    path moves the least so far by as much as it is longer, if the agent may begin again (see
    `MOST_SETBACKS`); if not, what it is longer has to be walked first. So a detour counts from its beginning,
    and an agent that goes to and fro between two paths does not get on by that. Twin:
    `tests/reference/progress.py`.
    """
    _count_steps(agents, rows)
    note_paths(rows, length_m, agents.remaining, agents.behind, agents.setbacks, agents.nearest_remaining)


def take_length(agents: AgentColumns, rows: NDArray[np.int64], length_m: NDArray[np.float64]) -> None:
    """Note how long the paths still are on which agents, (k,) rows, are already, from where they are (m)."""
    _count_steps(agents, rows)
    agents.remaining[rows] = length_m


def forget_path(agents: AgentColumns, rows: NDArray[np.int64] | NDArray[np.bool_]) -> None:
    """Let the next paths of agents be new ones:
    they were sent elsewhere, or the ground has changed under the paths that they had.
    """
    agents.remaining[rows] = np.nan


def _count_steps(agents: AgentColumns, rows: NDArray[np.int64]) -> None:
    """Count what agents have gone since `Gauge` has looked at them last, along the paths that they had;
    it looks at them anew from here.
    """
    progress = Progress(
        agents.progress_place,
        agents.progress_direction,
        agents.remaining,
        agents.behind,
        agents.progress,
    )
    count_steps(rows, agents.position, progress)


@lean_kernel
def count_steps(rows, position, noted):
    """Count what agents, (k,) rows, have gone since their progress was noted last; see `_count_steps`.

    Parameters
    ----------
    rows : (k,) int64
        None twice.
    position : (n, 2) float64, m
    noted : Progress
        In and out.
    """
    for i in range(rows.size):
        row = rows[i]
        x, y = position[row, 0], position[row, 1]
        gone = (x - noted.place[row, 0]) * noted.direction[row, 0]
        gone += (y - noted.place[row, 1]) * noted.direction[row, 1]
        left = noted.behind[row] - gone
        noted.remaining[row] -= gone
        noted.gained[row] += max(0.0, -left)
        noted.behind[row] = max(0.0, left)
        noted.place[row, 0], noted.place[row, 1] = x, y
        noted.direction[row, 0], noted.direction[row, 1] = 0.0, 0.0


@lean_kernel
def note_paths(rows, length, remaining, behind, setbacks, nearest):
    """Note the lengths of new paths, (k,) m, of agents, (k,) rows of which none is there twice; see
    `take_path`. All others are columns of agents, in and out.
    """
    for i in range(rows.size):
        row = rows[i]
        metres = length[i] if np.isfinite(length[i]) else np.nan
        longer = metres - remaining[row]
        if np.isnan(longer):
            behind[row], setbacks[row], nearest[row] = 0.0, 0, metres
        elif longer > PROGRESS_M and setbacks[row] < MOST_SETBACKS:
            setbacks[row] += 1
        else:
            behind[row] = max(0.0, behind[row] + longer)
        remaining[row] = metres
