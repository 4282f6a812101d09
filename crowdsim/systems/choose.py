"""Choose: agents choose between goals, and look again whether another is quicker."""

from __future__ import annotations

from collections.abc import Sequence
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
from crowdsim.systems.base.sight import in_sight, pairs_within
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
_WHOLE = -1  # In place of the number of paths: their agents use all ground.
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

    def is_drawn(self, seed: int, key: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which agents with some keys, (k,), others draw with them."""
        rule = self.choice.influence
        if rule is None:
            return np.zeros(len(key), dtype=np.bool_)
        found: NDArray[np.bool_] = draw_uniform(seed, Stream.INFLUENCE, key, 0.0, 1.0) < rule.share
        return found

    def place(self, goal: NDArray[Any]) -> NDArray[np.int64]:
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
    """Those that head for parts of choices: rows, (k,); which part; how far it is to that, (k,), m."""

    rows: NDArray[np.int64]
    part: NDArray[np.int32]
    length: NDArray[np.float64]


class _Asking(NamedTuple):
    """Agents that choose in one tick between the parts of one goal.

    Attributes
    ----------
    each : _Among
    rows : (k,) int64
    length : (k, parts) float64, m
    walk : (k, parts) float64, s
        Time to walk to each part; inf where no path leads there.
    knows : (k, parts) bool
        Which they know, and can get to.
    starts : (k,) int64
        Place of the part that they have; of those that have none, or have lost it, the nearest.
    is_first, is_lost : (k,) bool
        Whether they choose for the first time, or have lost what they had chosen.
    failed : (k,) bool
        Whether no path was found to what they had chosen.
    only : (k,) bool
        Whether they know one part alone.
    """

    each: _Among
    rows: NDArray[np.int64]
    length: NDArray[np.float64]
    walk: NDArray[np.float64]
    knows: NDArray[np.bool_]
    starts: NDArray[np.int64]
    is_first: NDArray[np.bool_]
    is_lost: NDArray[np.bool_]
    failed: NDArray[np.bool_]
    only: NDArray[np.bool_]


@dataclass
class _Queues:
    """What was counted in one tick: those that head for parts, and queues by part and capacity."""

    heads: _Heads | None = None
    counted: dict[tuple[int, float], ExitQueue] = field(default_factory=dict)


class Choose(TickSystem):
    """Let agents choose that head for a goal with `quickest_of`, and look again in turns.

    An agent counts the time to walk to each goal that it knows, and in the queue before it; goals to which
    others go that it sees may seem sooner to it. What it has chosen is its goal from then on; `choice` is the
    goal of which that is a part.
    """

    reads = (
        "entity", "key", "activity", "goal", "path_status", "position", "layer", "surface", "radius",
        "desired_speed", "goal_piece", "start_tick", *(column.name for column in CHOICE_COLUMNS),
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
        self._lengths: dict[int, GoalLengths] = {}  # by the paths of groups that are kept off some ground

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
        if has_changed:
            self._mesh = world.mesh
            self._lengths.clear()
        goes = (agents.goal >= 0) & (
            (agents.activity == AgentState.WALKING) | (agents.activity == AgentState.STANDING)
        )
        failed = np.isin(agents.path_status, GAVE_UP)
        asking = []
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
                asking += self._asking(tick, each, rows, first[rows], failed[rows], is_turn[rows])
        queues = _Queues()
        for asks_now in asking:
            times = self._times(tick, asks_now, asking, queues)
            self._choose(tick, asks_now, times, self._influence(asks_now, asking))

    def _is_turn(self, tick: int, each: _Among) -> NDArray[np.bool_]:
        """Return whose turn it is to look again, (n,)."""
        entity = self.world.agents.entity
        if tick % each.step:
            return np.zeros(len(entity), dtype=np.bool_)
        turn: NDArray[np.bool_] = (entity + tick // each.step) % each.turns == 0
        return turn

    def _asking(
        self,
        tick: Tick,
        each: _Among,
        rows: NDArray[np.int64],
        is_first: NDArray[np.bool_],
        failed: NDArray[np.bool_],
        is_turn: NDArray[np.bool_],
    ) -> list[_Asking]:
        """Return those agents, (k,) rows, that choose now, if there are any: for the first time, since they
        have lost what they had chosen, or since it is their turn and they may change.
        """
        agents = self.world.agents
        length = self._length(tick, rows)[:, np.searchsorted(self._parts, each.parts)]
        walk = length / np.maximum(agents.desired_speed[rows], LEAST_SPEED_M_S)[:, None]
        place = np.where(is_first, -1, each.place(agents.goal[rows]))
        line, now = np.arange(len(rows)), np.maximum(place, 0)
        is_lost = ~is_first & ((place < 0) | failed | np.isinf(walk[line, now]))
        asks = is_first | is_lost | (is_turn & (tick.number - agents.choice_tick[rows] >= each.keeps))
        can = np.isfinite(walk)
        can[line[is_lost], now[is_lost]] = False
        familiar = each.known(self._seed, agents.key[rows])
        knows = familiar & can
        nowhere = ~knows.any(axis=1)
        knows[nowhere] = can[nowhere]  # others show them where else it goes
        asks &= knows.any(axis=1)
        nearest = np.argmin(np.where(knows, walk, np.inf), axis=1)
        starts = np.where(is_first | is_lost, nearest, now)
        only = ~nowhere & (familiar.sum(axis=1) == 1)
        arrays = (rows, length, walk, knows, starts, is_first, is_lost, failed, only)
        return [_Asking(each, *(array[asks] for array in arrays))] if asks.any() else []

    def _choose(
        self, tick: Tick, asks: _Asking, total: NDArray[np.float64], sooner: NDArray[np.float64]
    ) -> None:
        """Let agents choose that take so long, (k, parts) s, to each part as far as they know, and to which
        each seems sooner by so much, (k, parts) s, since others go there.
        """
        agents, each, rows = self.world.agents, asks.each, asks.rows
        line, is_first, is_lost = np.arange(len(rows)), asks.is_first, asks.is_lost
        seems = total - sooner
        best = np.argmin(seems, axis=1)
        moves = self._worth_it(asks, best, seems[line, asks.starts] - seems[line, best])
        won = total[line, asks.starts] - total[line, best]
        # what by the times alone it would not have left, or at first not have kept to
        alone = total[line, asks.starts] - total.min(axis=1) > each.choice.gain
        is_swayed = (sooner[line, np.where(moves, best, asks.starts)] > 0.0) & np.where(
            moves, won <= each.choice.gain, alone
        )
        goal = each.parts[np.where(moves, best, asks.starts)]
        changes = moves & ~is_first & ~is_lost
        takes = is_first | is_lost | changes
        reason = np.where(moves, int(ChoiceReason.QUICKER), int(ChoiceReason.NEAREST))
        reason[is_swayed] = ChoiceReason.OTHERS
        reason[(is_first | changes) & asks.only] = ChoiceReason.FAMILIAR
        reason[is_lost] = np.where(asks.failed[is_lost], int(ChoiceReason.NO_PATH), int(ChoiceReason.CLOSED))
        told = np.where((reason == ChoiceReason.QUICKER) & np.isfinite(won), won, 0.0)
        expects = total[line, each.place(goal)]
        had = np.where(is_first | (each.place(agents.goal[rows]) < 0), -1, agents.goal[rows])
        self.world.events.note(
            tick.number,
            EventKind.CHOSE,
            agents.entity[rows[takes]],
            np.column_stack([told, expects])[takes],
            chose_value(had, goal, reason)[takes],
        )
        tick.counts["choices"] += self.count_of(takes)
        tick.counts["choice_changes"] += self.count_of(changes)
        since = np.where(is_first, tick.number - each.keeps, agents.choice_tick[rows])
        since[changes | (is_lost & asks.failed)] = tick.number
        self._take(tick, each, rows[takes], goal[takes].astype(np.int32), is_first[takes])
        agents.choice_tick[rows[takes]] = since[takes]

    def _worth_it(
        self, asks: _Asking, best: NDArray[np.int64], won: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return which agents, (k,), go to the best part in place of that from which they start: those to
        which it is worth it (s), those first to which it is worth most. Each that goes makes one queue longer
        for the next and the other shorter, so that not all leave one queue for another in one tick.
        """
        each, moves = asks.each, np.zeros(len(best), dtype=np.bool_)
        wants = np.flatnonzero((best != asks.starts) & (won > each.choice.gain))
        wants = wants[np.lexsort((self.world.agents.entity[asks.rows[wants]], -won[wants]))]
        pace, lost = 1.0 / each.capacity, np.zeros(len(wants))
        for part in np.flatnonzero(pace).tolist():
            for own in (best[wants] == part, asks.starts[wants] == part):
                lost[own] += np.arange(np.count_nonzero(own)) * pace[part]
        moves[wants] = won[wants] - lost > each.choice.gain
        return moves

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

    def _length(
        self, tick: Tick, rows: NDArray[np.int64], which: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return how far it is for agents, (k,) rows, to each of all parts over ground that they use:
        (k, parts), m; see `GoalLengths.of`.
        """
        world, agents = self.world, self.world.agents
        position, polygon = agents.position[rows], world.polygons(rows)
        found, of_paths = np.empty((len(rows), len(self._parts))), np.full(len(rows), _WHOLE)
        for number, paths in enumerate(world.planning.paths):
            if paths.kept_off is not None:
                of_paths[paths.mine()[rows]] = number
        for number in np.unique(of_paths).tolist():
            mine, mesh = np.flatnonzero(of_paths == number), world.mesh
            if number != _WHOLE:
                own = world.planning.paths[number].kept_off
                position[mine], polygon[mine], _ = own.walks_off(position[mine], polygon[mine])
                mesh = own.passable
            if number not in self._lengths:
                self._lengths[number] = GoalLengths(mesh, world.goals, self._parts.tolist())
            found[mine] = self._lengths[number].of(
                tick.team, polygon[mine], position[mine], agents.radius[rows[mine]],
                which if which is None else which[mine],
            )  # fmt: skip
        return found

    def _times(
        self, tick: Tick, asks: _Asking, asking: Sequence[_Asking], queues: _Queues
    ) -> NDArray[np.float64]:
        """Return in how many seconds agents would be through each part, as far as they know, (k, parts); inf
        for those that they do not know. `asking` are all that choose in this tick.
        """
        agents, each, rows = self.world.agents, asks.each, asks.rows
        found = np.where(asks.knows, asks.walk, np.inf)
        speed = np.maximum(agents.desired_speed[rows], LEAST_SPEED_M_S)
        for place, part in enumerate(each.parts.tolist()):
            capacity = float(each.capacity[place])
            known = np.isfinite(found[:, place])
            if not np.isfinite(capacity) or not known.any():
                continue
            if queues.heads is None:
                queues.heads = self._gather_heads(tick, asking)
            if (part, capacity) not in queues.counted:
                queues.counted[part, capacity] = self._count(part, capacity, queues.heads)
            if each.choice.needs_sight:
                known &= self._sees(rows, part)
            found[known, place] = queues.counted[part, capacity].through(
                asks.length[known, place], speed[known], agents.entity[rows[known]]
            )
        return found

    def _gather_heads(self, tick: Tick, asking: Sequence[_Asking]) -> _Heads:
        """Return those that head for one of the parts, whatever sent them there; those that have none yet,
        or have lost it, as if they went to the nearest.
        """
        part, walks = self._heading()
        for asks in asking:
            part[asks.rows] = asks.each.parts[asks.starts]
            walks[asks.rows] = True
        rows = np.flatnonzero(walks & np.isin(part, self._parts))
        place = np.searchsorted(self._parts, part[rows])
        return _Heads(rows, part[rows], self._length(tick, rows, place)[np.arange(len(rows)), place])

    def _heading(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return for which goal agents head, (n,), and which walk, (n,)."""
        world, agents = self.world, self.world.agents
        goal = agents.goal.copy()
        # some head for the nearest of several: for that to which their path leads
        ends = np.flatnonzero((agents.goal_piece >= 0) & (goal >= 0) & ~np.isin(goal, self._parts))
        goal[ends] = world.goals.piece_source[agents.goal_piece[ends]]
        return goal, (agents.activity == AgentState.WALKING) & world.has_ground()

    def _influence(self, asks: _Asking, asking: Sequence[_Asking]) -> NDArray[np.float64]:
        """Return by how much sooner each part seems to be to agents since others go there, (k, parts), s: by
        the share of those that they see among all that go to one of the parts ([Kinateder 2021]).
        """
        agents, each = self.world.agents, asks.each
        found, rule = np.zeros(asks.walk.shape), each.choice.influence
        mine = np.flatnonzero(each.is_drawn(self._seed, agents.key[asks.rows]))
        if rule is None or not len(mine):
            return found
        goal, walks = self._heading()
        for other in asking:
            walks[other.rows[other.is_first]] = False  # nobody sees where these will go
        place = each.place(goal)
        others = np.flatnonzero(walks & (place >= 0))
        first, second = pairs_within(agents, asks.rows[mine], others, rule.within)
        seen = in_sight(self.world, asks.rows[mine[first]], second)
        np.add.at(found, (mine[first[seen]], place[second[seen]]), 1.0)
        share: NDArray[np.float64] = found / np.maximum(1.0, found.sum(axis=1, keepdims=True))
        return rule.worth * share

    def _count(self, part: int, capacity: float, heads: _Heads) -> ExitQueue:
        """Return those that head for an exit as a queue."""
        agents, own = self.world.agents, heads.part == part
        rows = heads.rows[own]
        speed = np.maximum(agents.desired_speed[rows], LEAST_SPEED_M_S)
        return ExitQueue(heads.length[own], speed, agents.entity[rows], capacity)

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
        self._mesh = self.world.mesh
        self._lengths.clear()
