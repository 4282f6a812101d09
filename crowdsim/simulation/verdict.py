"""The verdict: what a run resulted in, honestly."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from crowdsim.errors import ExitCode
from crowdsim.world.columns import AgentColumns, AgentState, PathStatus, Wait
from crowdsim.world.events import NOT_DIAGNOSED, Cause

MOST_NAMED = 10  # Agents that the verdict names one by one; the recording has them all.
TIME_IS_UP = "time is up"
ON_ITS_WAY, WAITS_FOR_PATH, NOT_YET = "on its way", "still waits for its path", "premovement time not over"
# Reasons of agents that nothing keeps from arriving.
GOES_ON = {ON_ITS_WAY, WAITS_FOR_PATH, NOT_YET, *(wait.words for wait in Wait)}


@dataclass(frozen=True)
class Left:
    """An agent that had not arrived at the end.

    Attributes
    ----------
    agent : str
        Its id, or group[index].
    x, y : float, m
    reason : str
    stuck_for_s : float
        0 if it was not stuck.
    waits_for : str
        The agent or thing that it waits for, if it is stuck because of one; may be empty.
    """

    agent: str
    x: float
    y: float
    reason: str
    stuck_for_s: float = 0.0
    waits_for: str = ""


@dataclass(frozen=True)
class Flow:
    """How many agents got through an exit.

    Attributes
    ----------
    exit : str
    people : int
    width_m : float
        Of its openings to the ground.
    per_m_s : float, 1/(m s)
        Specific flow while the busier half came through; see `crowdsim.measures.exit_flow`.
    """

    exit: str
    people: int
    width_m: float
    per_m_s: float


@dataclass(frozen=True)
class Verdict:
    """What a run resulted in.

    Attributes
    ----------
    scenario : str
    ended : str
        Why the run ended: ``all arrived``, ``time is up``, ``all that are left are stuck``, ``time limit``,
        ``interrupted``.
    agents, arrived, standing : int
        All that came into the world, those that reached their last goal (and were not sent on since), those
        without a goal (they had none, or are done and stay).
    arrivals : dict of str to int
        By goal.
    not_arrived : int
    reasons : dict of str to int
        How many did not arrive for which reason.
    left : list of Left
        The first of them, one by one.
    last_arrival_s : float or None
    simulated_s, wall_s : float
    begun_s : float
        Simulated time at which the run began: above 0 where it goes on from a checkpoint of another.
    ticks : int
    deepest_overlap_m : float
        Between two agents, after they were pushed apart.
    overlap_pairs_ticks : int
        Pairs of agents that still overlapped, summed over ticks.
    symmetries_broken : int
    strays : int
        How often an agent was pushed so far off its path that it asked for a new one.
    nudges : int
        How often an agent was asked aside.
    replans : dict of str to int
        How often an agent that had a path asked for a new one, by cause; those that strayed are not among
        them.
    deadlocked : dict of str to int
        How many were ever stuck for 30 s, by the cause that was found then; those in queues that get on are
        not among them.
    expansions : int
    steered : int
        How often a program changed an agent, or something else: such a run does not follow from its scenario
        alone, but from its recording.
    longest_wait_s : float
        Longest time that a path request was open.
    most_requests_open : int
        Path requests that were open at the end of a tick, at most.
    ms_per_tick : dict of str to float
        By system, slowest first.
    worst_tick_ms : float
    digest : str
        16 hexadecimal digits over the digested columns of every tick (`crowdsim.systems.record`).
    flows : list of Flow
        Of exits through which at least 20 came.
    speed_law : str
        Law of speed and density, ``none`` where speeds do not depend on density: then no model is calibrated
        for flow.
    came : int
        Of the agents: those that came in while the run lasted.
    waiting_outside : int
        Agents that were due and found no room to come in.
    longest_outside_s : float
        For how long the first of these had waited at the end.
    more_to_come : bool
        Whether agents were still to come in when the run ended.
    staying : int
        Agents whose machine never ends: they are not to arrive.
    choice_changes : int
        How often an agent changed the goal that it had chosen, for a quicker one.
    """

    scenario: str
    ended: str
    agents: int
    arrived: int
    standing: int
    arrivals: dict[str, int]
    not_arrived: int
    reasons: dict[str, int]
    left: list[Left]
    last_arrival_s: float | None
    simulated_s: float
    wall_s: float
    ticks: int
    deepest_overlap_m: float
    overlap_pairs_ticks: int
    symmetries_broken: int
    strays: int
    expansions: int
    longest_wait_s: float
    ms_per_tick: dict[str, float] = field(default_factory=dict)
    worst_tick_ms: float = 0.0
    digest: str = ""
    steered: int = 0
    nudges: int = 0
    replans: dict[str, int] = field(default_factory=dict)
    most_requests_open: int = 0
    deadlocked: dict[str, int] = field(default_factory=dict)
    begun_s: float = 0.0
    flows: list[Flow] = field(default_factory=list)
    speed_law: str = ""
    came: int = 0
    waiting_outside: int = 0
    longest_outside_s: float = 0.0
    more_to_come: bool = False
    staying: int = 0
    choice_changes: int = 0

    @property
    def exit_code(self) -> ExitCode:
        """What the command returns for it."""
        if self.ended == "interrupted":
            return ExitCode.INTERRUPTED
        if self.ended == "time limit":
            return ExitCode.TIME_LIMIT
        return ExitCode.NOT_ARRIVED if self.is_short else ExitCode.OK

    @property
    def is_short(self) -> bool:
        """Whether an agent is missing that should have arrived: where agents come in for as long as the run
        lasts, those that are on their way at its end are not.
        """
        if self.more_to_come and self.ended == TIME_IS_UP:
            return any(reason.split(' in "')[0] not in GOES_ON for reason in self.reasons)
        return self.not_arrived > 0

    def __repr__(self) -> str:
        return (
            f"<Verdict of {self.scenario}: {self.ended} at {self.simulated_s:g} s, {self.arrived:,} arrived, "
            f"{self.not_arrived:,} not, digest {self.digest}>"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return asdict(self)


def reason_of(
    agents: AgentColumns,
    row: int,
    cause: int = NOT_DIAGNOSED,
    *,
    finds_all: bool = True,
    is_kept_off: bool = False,
) -> str:
    """Return in words why an agent that has a goal, or waits for something, is not there;
    `cause` is why it is stuck, if it is, `finds_all` whether its planner misses no path, `is_kept_off`
    whether its navigation forbids some ground.
    """
    status, state = PathStatus(int(agents.path_status[row])), AgentState(int(agents.activity[row]))
    if agents.waits[row] != Wait.NOTHING and cause != Cause.SIGNAL:
        return Wait(int(agents.waits[row])).words
    if cause == Cause.SIGNAL:
        return f"stuck: {Cause.SIGNAL.words}"
    if state == AgentState.WAITING:
        return NOT_YET
    if status == PathStatus.UNREACHABLE and is_kept_off:
        return "no path to its goal over ground that it may use"
    if status == PathStatus.UNREACHABLE:
        return (
            "no path to its goal that is wide enough"
            if finds_all
            else "its planner found no path to its goal"
        )
    if status == PathStatus.STALE:
        return "the ground under it was taken out"
    if status == PathStatus.ENCLOSED:
        return "shut in where it stands"
    if status == PathStatus.NEAREST_REACHABLE:
        return "no path to its goal; walks as close as it can"
    if status in (PathStatus.NONE, PathStatus.PENDING):
        return WAITS_FOR_PATH
    return f"stuck: {Cause(cause).words}" if cause != NOT_DIAGNOSED else ON_ITS_WAY
