"""The verdict: what a run resulted in, honestly. The ledger counts along; at the end no agent is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import ExitCode
from crowdsim.measures.deadlock_causes import NOBODY, WALL, diagnose, present_moment
from crowdsim.measures.destinations import SET_PLACES
from crowdsim.measures.exit_flow import LEAST_COUNTED, busiest_flow, exit_width
from crowdsim.navigation.planners import OWN
from crowdsim.saved import MOST, Arrays, Saved
from crowdsim.setup.build import Built
from crowdsim.setup.things import Goals
from crowdsim.simulation.probes import Probes
from crowdsim.systems.ground.things import discs_going_on
from crowdsim.world.columns import AgentColumns, AgentState, PathStatus
from crowdsim.world.events import NOT_DIAGNOSED, Cause, EventKind

MOST_NAMED = 10  # Agents that the verdict names one by one; the recording has them all.

REPLANS = {  # counts of a tick, and how the verdict names the cause
    "replans_agents_ahead": "agents ahead",
    "replans_blocked": "blocked",
    "replans_path_closed": "path closed",
    "replans_goal_moved": "goal moved",
    "replans_pushed_off": "pushed off",
    "replans_no_local_path": "no local path",
}


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

    @property
    def exit_code(self) -> ExitCode:
        """What the command returns for it."""
        if self.ended == "interrupted":
            return ExitCode.INTERRUPTED
        if self.ended == "time limit":
            return ExitCode.TIME_LIMIT
        return ExitCode.NOT_ARRIVED if self.not_arrived else ExitCode.OK

    def __repr__(self) -> str:
        return (
            f"<Verdict of {self.scenario}: {self.ended} at {self.simulated_s:g} s, {self.arrived:,} arrived, "
            f"{self.not_arrived:,} not, digest {self.digest}>"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return asdict(self)


class Ledger:
    """Counts what the verdict needs while the run goes on.

    Parameters
    ----------
    built : Built
    """

    def __init__(self, built: Built) -> None:
        self._built = built
        # by goal, and behind them at places that the run has set
        self._arrivals = np.zeros(len(built.scenario.goals) + 1, dtype=np.int64)
        self._has_come = np.arange(len(built.all_agents) + 1) <= len(built.agents)  # by entity
        self._has_come[0] = False
        self._has_arrived = np.zeros(len(built.all_agents) + 1, dtype=bool)  # by entity
        # by entity: where it arrived last, and in which tick
        self._last_goal = np.full(len(built.all_agents) + 1, -1, dtype=np.int32)
        self._last_tick = np.zeros(len(built.all_agents) + 1, dtype=np.int64)
        self._deadlocked = np.zeros(
            (len(built.all_agents) + 1, len(Cause)), dtype=bool
        )  # by entity and cause
        names = (
            "steered",
            "interventions",
            "last_arrival_tick",
            "deepest_overlap_m",
            "overlap_pairs_ticks",
            "symmetries_broken",
            "strays",
            "expansions",
            "longest_wait_ticks",
        )
        self._numbers = dict.fromkeys((*names, "nudges", *REPLANS, "most_requests_open"), 0.0)

    def note(self, tick: int, counts: Mapping[str, float], events: NDArray[Any]) -> None:
        """Take in one tick."""
        numbers = self._numbers
        if len(events):
            self._note_events(tick, events)
        numbers["nudges"] += counts.get("nudges_on_contact", 0.0) + counts.get("nudges_blocked", 0.0)
        for name in REPLANS:
            numbers[name] += counts.get(name, 0.0)
        numbers["strays"] += counts.get("strayed", 0.0)
        numbers["expansions"] += counts.get("expansions", 0.0)
        numbers["overlap_pairs_ticks"] += counts.get("overlaps", 0.0)
        numbers["deepest_overlap_m"] = max(numbers["deepest_overlap_m"], counts.get("deepest_overlap_m", 0.0))
        numbers["most_requests_open"] = max(numbers["most_requests_open"], counts.get("requests_open", 0.0))
        numbers["longest_wait_ticks"] = max(
            numbers["longest_wait_ticks"], counts.get("oldest_request_ticks", 0.0)
        )

    def _note_events(self, tick: int, events: NDArray[Any]) -> None:
        numbers, kind = self._numbers, events["kind"]
        self._has_come[events["entity"][kind == EventKind.SPAWN]] = True
        arrivals = events[kind == EventKind.ARRIVAL]
        if len(arrivals):
            goal = np.minimum(arrivals["value"], len(self._arrivals) - 1)
            np.add.at(self._arrivals, goal, 1)
            self._has_arrived[arrivals["entity"]] = True
            self._last_goal[arrivals["entity"]], self._last_tick[arrivals["entity"]] = goal, tick
            numbers["last_arrival_tick"] = tick
        long = events[kind == EventKind.DEADLOCKED]
        self._deadlocked[long["entity"], long["value"]] = True
        numbers["symmetries_broken"] += int(np.count_nonzero(kind == EventKind.SYMMETRY_BROKEN))

    @property
    def interventions(self) -> int:
        """How many calls of a program have changed the run."""
        return int(self._numbers["interventions"])

    def note_intervention(self) -> None:
        """Take in such a call."""
        self._numbers["interventions"] += 1

    def note_steering(self, entity: NDArray[np.int64], *, are_sent: bool) -> None:
        """Take in that a program steered agents; those that it sent to a goal have not arrived yet."""
        self._numbers["steered"] += len(entity)
        if are_sent:
            self._has_arrived[entity] = False

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the counts as named arrays."""
        numbers = np.array(list(self._numbers.values()))
        arrays = {
            "arrivals": self._arrivals,
            "has_come": self._has_come,
            "has_arrived": self._has_arrived,
            "last_goal": self._last_goal,
            "last_tick": self._last_tick,
        }
        return {
            "numbers": numbers,
            "deadlocked": self._deadlocked.copy(),
            **{name: array.copy() for name, array in arrays.items()},
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved, agents = Saved.of(state), len(self._built.all_agents)
        goals = len(self._built.scenario.goals)
        self._arrivals = saved.take("arrivals", "i8", (goals + 1,), low=0, high=MOST)
        self._has_come = saved.take("has_come", "?", (agents + 1,))
        self._has_arrived = saved.take("has_arrived", "?", (agents + 1,))
        self._deadlocked = saved.take("deadlocked", "?", (agents + 1, len(Cause)))
        self._last_goal = saved.take("last_goal", "i4", (agents + 1,), low=-1, high=goals)
        self._last_tick = saved.take("last_tick", "i8", (agents + 1,), low=0, high=MOST)
        numbers = saved.take("numbers", "f8", (len(self._numbers),), low=0.0, high=float(MOST))
        self._numbers = dict(zip(self._numbers, numbers.tolist(), strict=True))

    def verdict(self, ended: str, probes: Probes, *, wall_s: float, digest: str, first_tick: int) -> Verdict:
        """Return what the run resulted in so far."""
        world, agents, tick = self._built.world, self._built.world.agents, self._built.world.tick
        scenario, numbers = self._built.scenario, self._numbers
        walkers = np.flatnonzero((agents.activity != AgentState.ARRIVED) & (agents.goal >= 0))
        found = diagnose(
            present_moment(
                world,
                tick,
                scenario.tick,
                Goals(world),
                len(self._built.all_agents),
                agents.is_stuck == 1,
                discs_going_on(world),
            )
        )
        finds_all = np.array(
            [scenario.navigation_of(group).name in OWN for group in scenario.groups], dtype=np.bool_
        )
        reasons = [
            reason_of(agents, row, int(found.cause[row]), finds_all=bool(finds_all[agents.group[row]]))
            for row in walkers.tolist()
        ]
        deadlocked = self._deadlocked
        order = sorted(range(len(walkers)), key=lambda i: (agents.is_stuck[walkers[i]] == 0, walkers[i]))
        return Verdict(
            scenario=scenario.name,
            ended=ended,
            agents=int(self._has_come.sum()),
            arrived=int(self._has_arrived.sum()),
            standing=int(np.count_nonzero((agents.goal < 0) & (agents.activity == AgentState.STANDING))),
            arrivals=self._by_goal(),
            not_arrived=len(walkers),
            reasons=dict(sorted(Counter(reasons).items(), key=lambda item: (-item[1], item[0]))),
            left=[
                self._left(agents, int(walkers[i]), reasons[i], tick, int(found.waits_for[walkers[i]]))
                for i in order[:MOST_NAMED]
            ],
            last_arrival_s=self._seconds(numbers["last_arrival_tick"]) if self._arrivals.any() else None,
            simulated_s=self._seconds(tick),
            wall_s=wall_s,
            begun_s=self._seconds(first_tick),
            ticks=tick,
            deepest_overlap_m=numbers["deepest_overlap_m"],
            overlap_pairs_ticks=int(numbers["overlap_pairs_ticks"]),
            symmetries_broken=int(numbers["symmetries_broken"]),
            strays=int(numbers["strays"]),
            expansions=int(numbers["expansions"]),
            longest_wait_s=self._seconds(numbers["longest_wait_ticks"]),
            ms_per_tick=dict(probes.slowest(len(probes.names))),
            worst_tick_ms=probes.worst_tick_ns / 1e6,
            digest=digest,
            steered=int(numbers["steered"]),
            nudges=int(numbers["nudges"]),
            replans={cause: int(numbers[name]) for name, cause in REPLANS.items() if numbers[name]},
            most_requests_open=int(numbers["most_requests_open"]),
            deadlocked={
                cause.words: int(deadlocked[:, cause].sum())
                for cause in Cause
                if cause != Cause.QUEUE and deadlocked[:, cause].any()
            },
            flows=self._flows(),
            speed_law=scenario.speed_density.name,
        )

    def _by_goal(self) -> dict[str, int]:
        """Return how many arrived at each goal, by name; those of exits that no agent took, too."""
        goals, counts = self._built.scenario.goals, self._arrivals.tolist()
        found = {
            goal.name: count
            for goal, count in zip(goals, counts, strict=False)
            if count or goal.kind == "exit"
        }
        return found | ({SET_PLACES: counts[-1]} if counts[-1] else {})

    def _flows(self) -> list[Flow]:
        """Return the flow through each exit that enough agents took."""
        scenario, found = self._built.scenario, []
        for number, goal in enumerate(scenario.goals):
            ticks = self._last_tick[self._last_goal == number]
            if goal.kind != "exit" or len(ticks) < LEAST_COUNTED:
                continue
            width, flow = (
                exit_width(scenario.geometry.grounds[max(goal.layer, 0)], goal.area),
                busiest_flow(ticks * scenario.tick),
            )
            if width > 0.0 and flow == flow:
                found.append(Flow(goal.name, len(ticks), round(width, 3), round(flow / width, 3)))
        return found

    def _seconds(self, ticks: float) -> float:
        """Return a time without the rounding of its product (142 ticks of 0.05 s are 7.1 s)."""
        return round(ticks * self._built.scenario.tick, 9)

    def _left(self, agents: AgentColumns, row: int, reason: str, tick: int, waits_for: int) -> Left:
        labels = self._built.all_agents.label
        stuck = self._seconds(tick - int(agents.stuck_tick[row])) if agents.is_stuck[row] else 0.0
        blocker = (
            "a wall"
            if waits_for == WALL
            else ""
            if waits_for == NOBODY
            else labels[waits_for - 1]
            if waits_for <= len(labels)
            else "an obstacle"
        )
        x, y = agents.position[row].tolist()
        return Left(labels[int(agents.entity[row]) - 1], x, y, reason, stuck, blocker)


def reason_of(agents: AgentColumns, row: int, cause: int = NOT_DIAGNOSED, *, finds_all: bool = True) -> str:
    """Return in words why an agent that has a goal is not there;
    `cause` is why it is stuck, if it is, `finds_all` whether its planner misses no path.
    """
    status, state = PathStatus(int(agents.path_status[row])), AgentState(int(agents.activity[row]))
    if state == AgentState.WAITING:
        return "premovement time not over"
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
        return "still waits for its path"
    return f"stuck: {Cause(cause).words}" if cause != NOT_DIAGNOSED else "on its way"
