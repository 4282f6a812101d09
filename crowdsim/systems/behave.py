"""Behave: agents go on in their machines of states."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.saved import Arrays, Saved
from crowdsim.scenario.behaviours import END, Condition, Next, State, heard_once
from crowdsim.scenario.tree import listed
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.systems.behaviour.actions import (
    Action,
    Choose,
    Crew,
    GoTo,
    Leave,
    Stand,
    Stay,
    Waiting,
    WaitUntil,
    states_of_kinds,
)
from crowdsim.systems.behaviour.company import Approach, Follow
from crowdsim.systems.behaviour.hiding import Flee, Sightings
from crowdsim.systems.behaviour.jumping import Jump
from crowdsim.systems.behaviour.lines import QueueUp
from crowdsim.systems.behaviour.rounds import Patrol, Wander
from crowdsim.systems.paths.lost_paths import LOST
from crowdsim.world.columns import BEHAVIOUR_COLUMNS, NEVER, AgentState, Errand, Wait
from crowdsim.world.events import REASONS, EventKind, Reason

ACTIONS: dict[str, type[Action]] = {
    "go_to": GoTo, "leave": Leave, "stay": Stay, "wait": Waiting, "wait_until": WaitUntil, "stand": Stand,
    "choose": Choose, "patrol": Patrol, "wander": Wander, "approach": Approach, "follow": Follow,
    "flee": Flee, "queue": QueueUp, "jump": Jump,
}  # fmt: skip
# of agents at connections that are sent elsewhere
AT_GATES = ("ride_step", "ride_until", "bound_for", "gate", "gate_out", "gate_spot")
# and of those that jump
IN_AIR = ("ride_since", "boarded_at", "velocity", "preferred_velocity", "chosen_velocity", "walked_velocity")
MACHINE_COLUMNS = tuple(column.name for column in BEHAVIOUR_COLUMNS)
# States that agents go through in one tick; more is a machine that goes round without any time.
MOST_IN_A_TICK = 100


class Exit(NamedTuple):
    """A reason to leave a state.

    Attributes
    ----------
    reason : Reason
    condition : Condition or None
        Of a transition.
    level : int
        Of the state that says so, among those that an agent is in.
    next : tuple of Target
    signals : tuple of str
        Of which one has to be new to the agent; empty where that does not matter.
    """

    reason: Reason
    condition: Condition | None
    level: int
    next: Next
    signals: tuple[str, ...] = ()


class Behave(TickSystem):
    """Let agents do what their machines say.

    Only agents to which something happens are touched: one that has come to its place, whose time is over, or
    whose condition is so.
    """

    reads = (
        "entity", "group", "key", "activity", "goal", "position", "layer", "radius", "surface", "path_status",
        "start_tick", "waits", "desired_speed", "is_yielding", "goal_piece", "itinerary", *MACHINE_COLUMNS,
        *AT_GATES, "ride_since",
    )  # fmt: skip
    writes = (
        "activity", "goal", "waits", "desired_speed", "guessed", "replan_wish", "remaining", *LOST,
        "is_yielding", "yield_target", "yield_tick", "choice", *MACHINE_COLUMNS, *AT_GATES, *IN_AIR,
    )  # fmt: skip
    counts = ("transitions",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        scenario = setup.scenario
        self._states: list[State] = scenario.behaviours.states
        self._is_idle = self.world.machines is None
        if self._is_idle:
            return
        self.crew = Crew(setup)
        kinds = states_of_kinds(self._states)
        self.actions = {kind: ACTIONS[kind](self.crew, own) for kind, own in kinds.items()}
        self._action_of = [self.actions[state.kind] for state in self._states]
        # the first state of the machine of each state, from which targets count
        self._base = [
            scenario.behaviours.first_state(machine.name)
            for machine in scenario.behaviours.machines
            for _ in machine.states
        ]
        self._starts = np.array(
            [
                scenario.behaviours.first_state(group.behaviour)
                + scenario.behaviours.machine(group.behaviour).start
                if group.behaviour
                else END
                for group in scenario.groups
            ],
            dtype=np.int32,
        )
        # of each group the first state of its machine; -1 where it has none
        self._low = np.array(
            [
                scenario.behaviours.first_state(group.behaviour) if group.behaviour else -1
                for group in scenario.groups
            ],
            dtype=np.int64,
        )
        self._exits = [exits_of(state) for state in self._states]
        self._asks = [number for number, state in enumerate(self._states) if self._is_asking(state)]
        self._sightings = Sightings(self.crew, self._states)
        self._heard = heard_once(self._states)

    def _is_asking(self, state: State) -> bool:
        """Return whether agents in a state ask for more than time."""
        return any(condition.kind != "after" for condition in state.conditions())

    @property
    def is_idle(self) -> bool:
        """Whether no group has a machine."""
        return self._is_idle

    def process(self, tick: Tick) -> None:
        """Let agents go on to which something has happened."""
        tick.counts["transitions"] = 0.0
        if self._is_idle:
            return
        agents, crew = self.world.agents, self.crew
        crew.conditions.begin()
        self._forget_signals()
        is_look = tick.number % crew.look == 0
        if is_look:
            self._sightings.look(tick)
        crew.errands.note()
        self._begin(tick)
        self._grant(tick)
        for action in self.actions.values():
            action.every_tick(tick)
        self._hear(tick, np.flatnonzero(agents.errand == Errand.THERE))
        self._hear(tick, np.flatnonzero(agents.pause_until <= tick.number), rested=True)
        if is_look:
            self._look(tick)
        happened = (agents.errand == Errand.DONE) | (agents.errand == Errand.FAILED)
        happened |= agents.wake_tick <= tick.number
        rows = np.flatnonzero(happened & (agents.machine_state >= 0))
        asked = [self._asking(number, is_look=is_look) for number in self._asks]
        rows = np.unique(np.concatenate([rows, *asked]))
        visited: set[int] = set()
        for number in range(MOST_IN_A_TICK):
            rows = self._go_on(tick, rows)
            if not len(rows):
                break
            if number >= MOST_IN_A_TICK // 2:  # by now there are only those that go round
                visited.update(agents.machine_state[rows].tolist())
        else:
            self._refuse_round(tick, rows, visited)
        crew.errands.finish(tick.number)

    def _forget_signals(self) -> None:
        """Let agents hear signals again that are off now."""
        agents = self.world.agents
        off = [number for number, name in enumerate(self._heard) if not self.world.signals[name]]
        bits = np.uint64(sum(1 << number for number in off))
        if off and np.any(agents.heard & bits):
            agents.heard[:] &= ~bits

    def _refuse_round(self, tick: Tick, rows: NDArray[np.int64], visited: set[int]) -> None:
        names = listed(self._states[number].name for number in sorted(visited))
        first = self.crew.setup.built.names.of(int(self.world.agents.entity[rows[0]]))
        raise CrowdsimError(
            f"tick {tick.number}: {first} goes through {MOST_IN_A_TICK} states in one tick, round and round: "
            f"{names}. Let one of them last for a while, or a condition not be so at once."
        )

    def _begin(self, tick: Tick) -> None:
        """Let agents begin that have set off."""
        agents, machines = self.world.agents, self.world.machines
        assert machines is not None
        begins = (
            (agents.machine_state < 0)
            & (agents.errand == Errand.NONE)
            & (agents.activity == AgentState.WALKING)
        )
        rows = np.flatnonzero(begins & (agents.goal < 0))
        rows = rows[machines.groups[agents.group[rows]]]
        if len(rows):
            self._enter(
                tick, rows, self._starts[agents.group[rows]], np.zeros(len(rows), np.int64), Reason.BEGINS
            )

    def _grant(self, tick: Tick) -> None:
        """Put agents into the states that systems of a user's own wish."""
        agents = self.world.agents
        rows = np.flatnonzero(agents.state_wish >= 0)
        if not len(rows):
            return
        wish = agents.state_wish[rows].copy()
        agents.state_wish[rows] = -1
        wrong = np.flatnonzero(self._low[agents.group[rows]] != np.array(self._base)[wish])
        if len(wrong):
            name = self.crew.setup.built.names.of(int(agents.entity[rows[wrong[0]]]))
            raise CrowdsimError(
                f"tick {tick.number}: a system puts {name} into the state "
                f'"{self._states[wish[wrong[0]]].name}", which its machine has not.'
            )
        self._enter(tick, rows, wish, np.zeros(len(rows), np.int64), Reason.PROGRAM)

    def end(self, tick: Tick, rows: NDArray[np.int64]) -> None:
        """End the machines of agents, (k,) rows; those without one, or at its end, stay as they are."""
        agents, machines = self.world.agents, self.world.machines
        if machines is None:
            return
        rows = np.unique(rows[machines.groups[agents.group[rows]] & (agents.errand[rows] != Errand.ENDED)])
        if len(rows):
            self._enter(
                tick, rows, np.full(len(rows), END, np.int32), np.zeros(len(rows), np.int64), Reason.PROGRAM
            )
            self.crew.errands.finish(tick.number)

    def put_into(self, tick: Tick, rows: NDArray[np.int64], state: int) -> None:
        """Let agents, (k,) rows, begin a state of their machine, by its number in a run."""
        self._enter(
            tick, rows, np.full(len(rows), state, np.int32), np.zeros(len(rows), np.int64), Reason.PROGRAM
        )
        self.crew.errands.finish(tick.number)

    def _hear(self, tick: Tick, rows: NDArray[np.int64], *, rested: bool = False) -> None:
        """Tell actions of agents that have come to their place, or whose pause is over."""
        agents = self.world.agents
        if rested:
            agents.pause_until[rows] = NEVER
        for number in np.unique(agents.machine_state[rows]).tolist():
            if number < 0:
                continue
            own, action = rows[agents.machine_state[rows] == number], self._action_of[number]
            if rested:
                action.rested(tick, number, own)
            else:
                action.arrived(tick, number, own)
        self._set_alarm(rows)

    def _look(self, tick: Tick) -> None:
        """Let agents look where others are, in states that ask for it."""
        agents = self.world.agents
        for action in self.actions.values():
            if action.looks:
                for number in action.states:
                    rows = np.flatnonzero(agents.machine_state == number)
                    if len(rows):
                        action.look(tick, number, rows)
                        self._set_alarm(rows)

    def _asking(self, number: int, *, is_look: bool) -> NDArray[np.int64]:
        """Return the agents in a state for which a condition may be so now."""
        conditions = self.crew.conditions
        asked = [each for each, _ in self._states[number].asked() if each.kind != "after"]
        if any((is_look or not conditions.is_local(each)) and conditions.may_hold(each) for each in asked):
            return np.flatnonzero(self.world.agents.machine_state == number)
        return np.zeros(0, dtype=np.int64)

    def _go_on(self, tick: Tick, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Let agents leave their states that have a reason; return those that have."""
        agents = self.world.agents
        moved, targets, levels, reasons = [], [], [], []
        for number in np.unique(agents.machine_state[rows]).tolist():
            left = rows[agents.machine_state[rows] == number]
            for each in self._exits[number]:
                if not len(left):
                    break
                holds = self._holds(each, tick.number, left)
                own = left[holds]
                if len(own):
                    chosen = self.crew.draws.choices(np.array([target.share for target in each.next]), own)
                    state = np.array([target.state for target in each.next], dtype=np.int32)
                    moved.append(own)
                    targets.append(np.where(state[chosen] == END, END, state[chosen] + self._base[number]))
                    levels.append(np.array([target.level for target in each.next], dtype=np.int64)[chosen])
                    reasons.append(np.full(len(own), each.reason))
                    if each.signals:
                        agents.heard[own] |= self._bits(each)
                left = left[~holds]
            self._sleep_on(tick.number, number, left)
        if not moved:
            return rows[:0]
        found = np.concatenate(moved)
        order = np.argsort(found)
        target, level, reason = (np.concatenate(each)[order] for each in (targets, levels, reasons))
        self._enter(tick, found[order], target.astype(np.int32), level, reason)
        tick.counts["transitions"] += float(len(found))
        return found[order][agents.machine_state[found[order]] >= 0]

    def _holds(self, each: Exit, tick: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which agents have a reason to leave their state, (k,)."""
        agents = self.world.agents
        if each.reason == Reason.LASTED:
            over: NDArray[np.bool_] = agents.state_until[rows, each.level] <= tick
            return over
        if each.condition is None:
            wanted = Errand.DONE if each.reason == Reason.DONE else Errand.FAILED
            found: NDArray[np.bool_] = agents.errand[rows] == wanted
            return found
        holds = self.crew.conditions.holds(each.condition, tick, rows, each.level)
        bits = self._bits(each)
        return holds & ((agents.heard[rows] & bits) != bits) if bits else holds

    def _bits(self, each: Exit) -> np.uint64:
        """Return the bits of the signals that are on, of those for which agents have a reason to leave."""
        on = [name for name in each.signals if self.world.signals[name]]
        return np.uint64(sum(1 << self._heard.index(name) for name in on))

    def _sleep_on(self, tick: int, number: int, rows: NDArray[np.int64]) -> None:
        """Let agents that were looked at stay in their state."""
        agents = self.world.agents
        if not len(rows):
            return
        if self._states[number].cannot is None:  # they go on trying, as all agents do
            failed = rows[agents.errand[rows] == Errand.FAILED]
            agents.errand[failed] = Errand.GOING
        self._set_alarm(rows, tick)

    def _enter(
        self,
        tick: Tick,
        rows: NDArray[np.int64],
        target: NDArray[np.int32],
        level: NDArray[np.int64],
        reason: Any,
    ) -> None:
        """Let agents begin states, (k,), that stay in so many of those in which they are, (k,)."""
        agents = self.world.agents
        for number in np.unique(agents.machine_state[rows]).tolist():
            if number >= 0:
                self._action_of[number].end(number, rows[agents.machine_state[rows] == number])
        value = target.astype(np.int64) * REASONS + reason
        self.world.events.note(
            tick.number, EventKind.STATE, agents.entity[rows], agents.position[rows], value
        )
        usual = ~np.isnan(agents.own_speed[rows])
        agents.desired_speed[rows[usual]] = agents.own_speed[rows[usual]]
        agents.own_speed[rows] = np.nan
        agents.machine_state[rows], agents.errand[rows] = target, Errand.NONE
        agents.pause_until[rows], agents.step[rows], agents.partner[rows] = NEVER, -1, -1
        ended = rows[target == END]
        if len(ended):
            self.crew.errands.stop(ended, Wait.NOTHING)
            agents.errand[ended], agents.wake_tick[ended] = Errand.ENDED, NEVER
        for number in np.unique(target[target != END]).tolist():
            own = target == number
            self._begin_state(tick, number, rows[own], level[own])

    def _begin_state(
        self, tick: Tick, number: int, rows: NDArray[np.int64], level: NDArray[np.int64]
    ) -> None:
        agents, state, crew = self.world.agents, self._states[number], self.crew
        for at, lasts in enumerate(state.lasts):
            new = rows[level <= at]
            if not len(new):
                continue
            agents.state_since[new, at], agents.state_until[new, at] = tick.number, NEVER
            if lasts is not None:
                ticks = np.ceil(crew.draws.of(lasts, new) / tick.length - 1e-6).astype(np.int64)
                agents.state_until[new, at] = tick.number + np.maximum(0, ticks)
            self.world.signals |= dict.fromkeys(state.signals[at], True)
            self.world.signals |= dict.fromkeys(state.ends_signals[at], False)
        agents.state_until[rows, len(state.lasts) :] = NEVER
        self._sightings.begin(number, rows, tick.number)
        if state.speed is not None:
            agents.own_speed[rows] = agents.desired_speed[rows]
            agents.desired_speed[rows] = crew.draws.of(state.speed, rows)
        self._action_of[number].begin(tick, number, rows)
        self._set_alarm(rows)

    def _set_alarm(self, rows: NDArray[np.int64], now: int = -1) -> None:
        """Have agents looked at again when the next of their times is over."""
        agents = self.world.agents
        rows = rows[agents.machine_state[rows] >= 0]
        wake = agents.state_until[rows].min(axis=1, initial=NEVER)
        for number in np.unique(agents.machine_state[rows]).tolist():
            own = agents.machine_state[rows] == number
            for condition, level in self._states[number].asked():
                for each in condition.each():
                    if each.kind == "after":
                        due = agents.state_since[rows[own], level] + self.crew.conditions.ticks(each.seconds)
                        wake[own] = np.minimum(wake[own], np.where(due > now, due, NEVER))
        agents.wake_tick[rows] = wake

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what lives in the actions; all else stands in columns."""
        if self._is_idle:
            return {}
        return {
            f"{kind}/{name}": array
            for kind, action in sorted(self.actions.items())
            for name, array in action.state().items()
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved = Saved.of(state)
        if self._is_idle:
            saved.finish()
            return
        self._check(saved)
        for kind, action in sorted(self.actions.items()):
            action.restore(saved.below(f"{kind}/"))

    def _check(self, saved: Saved) -> None:
        """Require that agents are in states of their machines, and there as they can be."""
        agents, groups = self.world.agents, self.crew.setup.scenario.groups
        behaviours, low = self.crew.setup.scenario.behaviours, np.maximum(self._low, 0)
        count = np.array(
            [len(behaviours.machine(each.behaviour).states) if each.behaviour else 0 for each in groups]
        )
        group, state = agents.group, agents.machine_state
        own = (state >= low[group]) & (state < low[group] + count[group]) & (group >= 0)
        saved.require(own | (state < 0), "machine_state", "this agent has another machine")
        for number in np.unique(state[state >= 0]).tolist():
            self._action_of[number].check(saved, number, np.flatnonzero(state == number))


def exits_of(state: State) -> list[Exit]:
    """Return all reasons to leave a state, the first ones first: transitions of the states that it is in
    before its own, the time that is over, then that it cannot be done, or is done.
    """
    found = [
        Exit(
            Reason[each.condition.kind.upper()],
            each.condition,
            each.level,
            each.next,
            tuple(sorted(each.signals)) if each.once else (),
        )
        for each in state.when
    ]
    if state.condition is not None:
        found.append(
            Exit(Reason[state.condition.kind.upper()], state.condition, len(state.lasts) - 1, state.then)
        )
    found += [
        Exit(Reason.LASTED, None, level, following)
        for level, (lasts, following) in enumerate(zip(state.lasts, state.on_time, strict=True))
        if lasts is not None
    ]
    if state.cannot is not None:
        found.append(Exit(Reason.CANNOT, None, 0, state.cannot))
    found.append(Exit(Reason.DONE, None, 0, state.then))
    return found
