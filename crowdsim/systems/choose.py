"""Choose: agents choose between goals, and look again whether another is quicker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.measures.exit_flow import exit_width
from crowdsim.navigation.goals.lengths import GoalLengths
from crowdsim.navigation.mesh.mesh import see_many
from crowdsim.saved import Arrays, Saved
from crowdsim.scenario.choices import Choice
from crowdsim.scenario.model import Goal, Scenario
from crowdsim.systems.base.system import Setup, Tick, TickSystem, ticks_of
from crowdsim.systems.goals.exit_queues import ExitQueue
from crowdsim.systems.paths.lost_paths import GAVE_UP, LOST
from crowdsim.systems.paths.sending import send
from crowdsim.world.columns import CHOICE_COLUMNS, AgentState, PathStatus
from crowdsim.world.events import ChoiceReason, EventKind, chose_value
from crowdsim.world.random import Stream, draw_uniform

# Of the agents between two looks: each group looks in a tick of its own, and queues are counted once for all
# of it. More groups count more often, and fewer agents decide on one count.
TURNS = 8
LEAST_SPEED_M_S = 1e-3  # Of agents that like to stand, in times.


class _Among:
    """One goal that is a choice between others.

    Attributes
    ----------
    number : int
        Of the goal.
    choice : Choice
    parts : (k,) int64
        Goals between which agents choose, ascending.
    capacity : (k,) float64, 1/s
        How many get through each; inf where no queue is counted.
    place_of : (goals + 1,) int64
        Place of a goal among the parts; -1 for others, and the last for goals that a run has set.
    """

    def __init__(self, number: int, goal: Goal, choice: Choice, scenario: Scenario) -> None:
        self.number, self.choice = number, choice
        self.parts = np.array(goal.parts, dtype=np.int64)
        self.capacity = np.array(
            [_capacity(scenario, scenario.goals[part], choice.specific_flow) for part in goal.parts]
        )
        self.place_of = np.full(len(scenario.goals) + 1, -1, dtype=np.int64)
        self.place_of[self.parts] = np.arange(len(self.parts))
        # ticks from one turn to the next, and how many turns there are
        every = max(1, ticks_of(choice.every, scenario.tick))
        self.turns = min(TURNS, every)
        self.step = every // self.turns
        self.keeps = ticks_of(choice.keeps_for, scenario.tick)
        edges = np.cumsum([0.0, *(each.share for each in choice.familiar)])
        self._edges = edges
        self._knows = np.ones((len(choice.familiar) + 1, len(self.parts)), dtype=np.bool_)
        for place, each in enumerate(choice.familiar):
            self._knows[place] = np.isin(self.parts, each.goals)

    def place(self, goal: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the places of goals, (k,), among the parts; -1 for others."""
        return self.place_of[np.minimum(goal, len(self.place_of) - 1)]

    def known(self, seed: int, key: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which parts agents with some keys, (k,), know: (k, parts)."""
        if len(self._edges) == 1:
            return np.ones((len(key), len(self.parts)), dtype=np.bool_)
        drawn = draw_uniform(seed, Stream.FAMILIAR, key, 0.0, 1.0)
        place = np.searchsorted(self._edges[1:], drawn, side="right")
        found: NDArray[np.bool_] = self._knows[place]
        return found


def _capacity(scenario: Scenario, goal: Goal, specific_flow: float) -> float:
    """Return how many get through a goal in a second; inf where that is not known."""
    if goal.kind != "exit":
        return np.inf
    ground = scenario.geometry.grounds[max(0, goal.layer)]
    capacity = specific_flow * exit_width(ground, goal.area) or np.inf
    return min(capacity, goal.flow) if goal.flow else capacity


class _Heads(NamedTuple):
    """Those that head for parts of choices: rows, (k,); which part; how far it is to each, (k, parts), m."""

    rows: NDArray[np.int64]
    part: NDArray[np.int32]
    length: NDArray[np.float64]


@dataclass
class _Queues:
    """What was counted in one tick: those that head for parts, and queues by part and capacity."""

    heads: _Heads | None = None
    counted: dict[tuple[int, float], ExitQueue] = field(default_factory=dict)


class Choose(TickSystem):
    """Let agents choose that head for a goal with `quickest_of`, and look again in turns.

    An agent counts the time to walk to each goal that it knows, and in the queue before it. What it has
    chosen is its goal from then on; `choice` is the goal of which that is a part.
    """

    reads = (
        "entity", "key", "activity", "goal", "path_status", "position", "surface", "radius", "desired_speed",
        "goal_piece", "start_tick", "waits", *(column.name for column in CHOICE_COLUMNS),
    )  # fmt: skip
    writes = (
        "activity", "goal", "guessed", "replan_wish", "remaining", *LOST,
        *(column.name for column in CHOICE_COLUMNS),
    )  # fmt: skip
    counts = ("choices", "choice_changes")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        scenario = setup.scenario
        self._seed, self._tick_s = scenario.seed, scenario.tick
        self._among = [
            _Among(number, goal, goal.choice, scenario)
            for number, goal in enumerate(scenario.goals)
            if goal.choice is not None
        ]
        self._is_idle = not self._among
        self._mesh: Any = self.world.mesh
        # all parts, and the place of each goal among them
        parts = [each.parts for each in self._among]
        self._parts = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))
        self._lengths: GoalLengths | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no goal is a choice between others."""
        return self._is_idle

    def process(self, tick: Tick) -> None:
        """Let those choose that set off, that have lost their goal, and whose turn it is."""
        tick.counts["choices"] = tick.counts["choice_changes"] = 0.0
        if self._is_idle:
            return
        world, agents = self.world, self.world.agents
        has_changed = world.mesh is not self._mesh
        if has_changed or self._lengths is None:
            self._mesh = world.mesh
            self._lengths = GoalLengths(world.mesh, world.goals, self._parts.tolist())
        goes = (agents.goal >= 0) & (
            (agents.activity == AgentState.WALKING) | (agents.activity == AgentState.STANDING)
        )
        failed = np.isin(agents.path_status, GAVE_UP)
        queues = _Queues()
        for each in self._among:
            asks = (agents.goal == each.number) & (agents.activity == AgentState.WALKING)
            chosen = goes & (agents.choice == each.number)
            if not (asks.any() or chosen.any()):
                continue
            is_turn = self._is_turn(tick.number, each)
            first = asks & (is_turn | (agents.path_status == PathStatus.NONE))
            # one to which no path was found is left at once, but not to and fro between two such goals
            rested = tick.number - agents.choice_tick >= max(1, ticks_of(1.0, self._tick_s))
            looks = chosen & (is_turn | has_changed | (failed & rested))
            rows = np.flatnonzero((first | looks) & world.has_ground())
            if len(rows):
                self._choose(tick, each, rows, first[rows], failed[rows], is_turn[rows], queues)

    def _is_turn(self, tick: int, each: _Among) -> NDArray[np.bool_]:
        """Return whose turn it is to look again, (n,)."""
        entity = self.world.agents.entity
        if tick % each.step:
            return np.zeros(len(entity), dtype=np.bool_)
        turn: NDArray[np.bool_] = (entity + tick // each.step) % each.turns == 0
        return turn

    def _choose(
        self,
        tick: Tick,
        each: _Among,
        rows: NDArray[np.int64],
        is_first: NDArray[np.bool_],
        failed: NDArray[np.bool_],
        is_turn: NDArray[np.bool_],
        queues: _Queues,
    ) -> None:
        """Let agents, (k,) rows, choose between the parts of a goal.

        Parameters
        ----------
        tick : Tick
        each : _Among
        rows : (k,) int64
        is_first : (k,) bool
            Whether they have not chosen yet.
        failed : (k,) bool
            Whether no path was found to what they have chosen.
        is_turn : (k,) bool
            Whether they look again; the others only leave what cannot be reached.
        queues : _Queues
            Those that were counted in this tick; more are added.
        """
        agents, parts, line = self.world.agents, each.parts, np.arange(len(rows))
        length = self._length(tick, rows)[:, np.searchsorted(self._parts, parts)]
        walk = length / np.maximum(agents.desired_speed[rows], LEAST_SPEED_M_S)[:, None]
        place = np.where(is_first, -1, each.place(agents.goal[rows]))
        now = np.maximum(place, 0)
        is_lost = ~is_first & ((place < 0) | failed | np.isinf(walk[line, now]))
        asks = is_first | is_lost | (is_turn & (tick.number - agents.choice_tick[rows] >= each.keeps))
        if not asks.any():
            return
        rows, length, walk, now, is_first, is_lost, failed = (
            array[asks] for array in (rows, length, walk, now, is_first, is_lost, failed)
        )
        line = np.arange(len(rows))
        total = self._times(tick, each, rows, length, walk, queues)
        can = np.isfinite(walk)
        can[line[is_lost], now[is_lost]] = False
        knows = each.known(self._seed, agents.key[rows]) & can
        nowhere = ~knows.any(axis=1)  # others show them where else it goes
        knows[nowhere] = can[nowhere]
        options = knows.sum(axis=1)
        total = np.where(knows, total, np.inf)
        best = np.argmin(total, axis=1)
        nearest = np.argmin(np.where(knows, walk, np.inf), axis=1)
        beside = np.where(is_first, nearest, now)
        with np.errstate(invalid="ignore"):
            won = np.where(is_lost, 0.0, total[line, beside] - total[line, best])
        # what an agent has chosen may be none of those that it knows: the others were closed then
        is_strange = ~is_first & ~is_lost & ~knows[line, now]
        won[is_strange] = np.inf
        changes = ~is_first & ~is_lost & (best != now) & (won > each.choice.gain)
        takes = (options > 0) & (is_first | is_lost | changes)
        reason = np.full(len(rows), int(ChoiceReason.QUICKER))
        reason[is_first & (best == nearest)] = ChoiceReason.NEAREST
        only = each.known(self._seed, agents.key[rows]).sum(axis=1) == 1
        reason[(is_first | changes) & only & ~nowhere] = ChoiceReason.FAMILIAR
        reason[is_lost] = np.where(failed[is_lost], int(ChoiceReason.NO_PATH), int(ChoiceReason.CLOSED))
        won = np.where((reason == ChoiceReason.QUICKER) & np.isfinite(won), won, 0.0)
        own, goal = rows[takes], parts[best[takes]]
        before = np.where(is_first[takes] | (each.place(agents.goal[own]) < 0), -1, agents.goal[own])
        self.world.events.note(
            tick.number,
            EventKind.CHOSE,
            agents.entity[own],
            np.column_stack([won[takes], total[line[takes], best[takes]]]),
            chose_value(before, goal, reason[takes]),
        )
        tick.counts["choices"] += float(len(own))
        tick.counts["choice_changes"] += self.count_of(changes)
        since = np.where(is_first, tick.number - each.keeps, agents.choice_tick[rows])
        since[changes | (is_lost & failed)] = tick.number
        self._take(tick, each, own, goal.astype(np.int32), is_first[takes])
        agents.choice_tick[own] = since[takes]

    def _take(
        self,
        tick: Tick,
        each: _Among,
        rows: NDArray[np.int64],
        goal: NDArray[np.int32],
        is_first: NDArray[np.bool_],
    ) -> None:
        """Send agents, (k,) rows, to what they have chosen."""
        agents = self.world.agents
        fresh = is_first & (agents.path_status[rows] == PathStatus.NONE)  # they have asked for no path yet
        agents.goal[rows[fresh]] = goal[fresh]
        if not fresh.all():
            send(self.world, rows[~fresh], goal[~fresh], tick.number)
        agents.choice[rows] = each.number

    def _length(self, tick: Tick, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how far it is for agents, (k,) rows, to each of all parts: (k, parts), m."""
        assert self._lengths is not None
        world = self.world
        return self._lengths.of(tick.team, rows, world.polygons(), world.agents)

    def _times(
        self,
        tick: Tick,
        each: _Among,
        rows: NDArray[np.int64],
        length: NDArray[np.float64],
        walk: NDArray[np.float64],
        queues: _Queues,
    ) -> NDArray[np.float64]:
        """Return in how many seconds agents, (k,) rows, would be through each part, as far as they know:
        (k, parts).
        """
        agents, found = self.world.agents, walk.copy()
        speed = np.maximum(agents.desired_speed[rows], LEAST_SPEED_M_S)
        for place, part in enumerate(each.parts.tolist()):
            if not np.isfinite(each.capacity[place]):
                continue
            if queues.heads is None:
                queues.heads = self._gather_heads(tick)
            capacity = float(each.capacity[place])
            if (part, capacity) not in queues.counted:
                queues.counted[part, capacity] = self._count(part, capacity, queues.heads)
            known = np.isfinite(walk[:, place])
            if each.choice.needs_sight:
                known &= self._sees(rows, part)
            found[known, place] = queues.counted[part, capacity].through(
                length[known, place], speed[known], agents.entity[rows[known]]
            )
        return found

    def _gather_heads(self, tick: Tick) -> _Heads:
        """Return those that head for one of the parts, whatever sent them there."""
        world, agents = self.world, self.world.agents
        part = agents.goal.copy()
        # some head for the nearest of several: for that to which their path leads
        ends = np.flatnonzero((agents.goal_piece >= 0) & (part >= 0) & ~np.isin(part, self._parts))
        part[ends] = world.goals.piece_source[agents.goal_piece[ends]]
        walks = (agents.activity == AgentState.WALKING) & world.has_ground()
        rows = np.flatnonzero(walks & np.isin(part, self._parts))
        return _Heads(rows, part[rows], self._length(tick, rows))

    def _count(self, part: int, capacity: float, heads: _Heads) -> ExitQueue:
        """Return those that head for an exit as a queue."""
        agents, own = self.world.agents, heads.part == part
        rows = heads.rows[own]
        length = heads.length[own, np.searchsorted(self._parts, part)]
        speed = np.maximum(agents.desired_speed[rows], LEAST_SPEED_M_S)
        return ExitQueue(length, speed, agents.entity[rows], capacity)

    def _sees(self, rows: NDArray[np.int64], part: int) -> NDArray[np.bool_]:
        """Return which agents, (k,) rows, see an exit: the middle of one of its pieces."""
        world, seen = self.world, np.zeros(len(rows), dtype=np.bool_)
        polygon, position = world.polygons(), world.agents.position
        for piece in range(world.goals.goal_start[part], world.goals.goal_start[part + 1]):
            left = np.flatnonzero(~seen)
            if not len(left):
                break
            aim = np.tile(world.goals.pole[piece], (len(left), 1))
            layer = np.full(len(left), world.mesh.polygon_layer[world.goals.piece_polygon[piece]], np.int32)
            found = np.empty(len(left), dtype=np.bool_)
            see_many(rows[left], world.mesh, polygon, position, aim, layer, found)
            seen[left] = found
        return seen

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave, which is nothing; the ground is that which was restored."""
        super().restore(state)
        self._mesh, self._lengths = self.world.mesh, None
