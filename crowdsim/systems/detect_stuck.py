"""DetectStuck: agents that want to get on and do not are stuck, and why, once that is a deadlock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crowdsim.front_doors import renamed_in
from crowdsim.geometry.lengths import hypots
from crowdsim.measures.deadlock_causes import MOMENTARY, Diagnosed, diagnose, present_moment
from crowdsim.measures.deadlock_stuck import (
    DEADLOCK_SECONDS,
    MOST_SETBACKS,
    PROGRESS_M,
    REGAINING_SECONDS,
    REGAINING_SHARE,
    has_no_progress,
    look_every,
    opens_later,
    wants_on,
)
from crowdsim.old_names import SYSTEMS
from crowdsim.setup.things import Goals
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.systems.behaviour.signals import outlook_of
from crowdsim.systems.ground.things import discs_going_on
from crowdsim.world.columns import AgentState, Wait
from crowdsim.world.events import LOOK_AGAIN, NO_QUEUE_ONCE, NOT_DIAGNOSED, NOT_REPORTED, Cause, EventKind

if not TYPE_CHECKING:
    __getattr__ = renamed_in(__name__, SYSTEMS)

_IS_REPORTED = ~np.isin(np.arange(256), (Cause.QUEUE, *NOT_REPORTED))  # by what the column of causes holds
# An agent in a queue, or in what may last but a moment, is looked at again every so many looks, and is
# deadlocked if in no queue twice.
AGAIN_LOOKS = 5
# A diagnosis waits a look longer for so many more stuck agents: it costs the more, and a jam that grows would
# be diagnosed in every look.
STUCK_A_LOOK = 100


class DetectStuck(TickSystem):
    """Once a second, compare each agent's progress with that of ten seconds ago;
    find out why agents have been stuck for 30 s.

    While a door is still to open by the clock, an agent without a path is not stuck. When the run ends, those
    that have been stuck for 30 s since the last look are reported.

    Notes
    -----
    What stuck means stands in `crowdsim.measures.deadlock_stuck`, how causes are found in
    `crowdsim.measures.deadlock_causes`: recordings are diagnosed by both too.
    """

    reads = (
        "entity", "activity", "goal", "position", "progress", "progress_trail", "behind", "remaining",
        "nearest_remaining", "setbacks", "last_gain", "regaining", "is_stuck", "stuck_tick", "stuck_cause",
        "front_tick", "blocker", "is_driven", "preferred_velocity", "desired_speed", "radius", "layer",
        "path_status", "path_tick", "next_corner", "diagnosis", "waits", "machine_state", "group",
        "start_tick", "stands_since",
    )  # fmt: skip
    writes = (
        "progress_trail",
        "behind",
        "nearest_remaining",
        "setbacks",
        "last_gain",
        "regaining",
        "is_stuck",
        "stuck_tick",
        "stuck_cause",
        "front_tick",
    )
    counts = ("stuck", "deadlocked")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.goals = Goals(setup.world)
        self.events, self.stop = setup.scenario.events, setup.scenario.stop
        self.tick_length = setup.scenario.tick
        self.every, self.looks = look_every(self.tick_length)
        machines = setup.scenario.behaviours
        self._outlook = outlook_of(machines) if machines.machines else None

    def process(self, tick: Tick) -> None:
        """Compare; note which agents got stuck, got free, and are deadlocked."""
        agents = self.world.agents
        if tick.number % self.every == 0 and len(agents):
            self._compare(tick)
            self._note_obstacles(tick.number)
            if tick.number // self.every % (1 + np.count_nonzero(agents.is_stuck) // STUCK_A_LOOK) == 0:
                self._diagnose(tick.number)
        if tick.number == self.stop.ticks or self.is_all_stuck(tick.number):
            self._diagnose(tick.number, is_last=True)
        tick.counts["stuck"] = self.count_of(agents.is_stuck == 1)
        causes = agents.stuck_cause[agents.stuck_cause != NOT_DIAGNOSED]  # of no agent, as a rule
        tick.counts["deadlocked"] = self.count_of(_IS_REPORTED[causes])

    def is_all_stuck(self, tick: int) -> bool:
        """Return whether all agents that are left, and what they wait for,
        have been stuck for as long as ends the run.
        """
        agents, limit = self.world.agents, self.stop.stuck_for
        if limit is None or not (self.world.vehicle_groups is not None or np.any(agents.is_stuck)):
            return False
        drives = self.world.drives() & (agents.activity == AgentState.RIDING)
        if not (np.any(agents.is_stuck) or np.any(drives)):
            return False
        left = self._left()
        if not np.any(left | drives):
            return False
        stuck = (agents.is_stuck == 1) & ((tick - agents.front_tick) * self.tick_length >= limit)
        if np.any(drives):
            stuck |= drives & ((tick - agents.stands_since) * self.tick_length >= limit)
            stuck &= ~drives | (tick > agents.start_tick)
        return bool(np.all(stuck[left | drives]))

    def _left(self) -> NDArray[np.bool_]:
        """Return (n,) bool: agents that are still to arrive, or to set off."""
        agents = self.world.agents
        waits = (agents.activity == AgentState.WAITING) | (agents.waits != Wait.NOTHING)
        left: NDArray[np.bool_] = ((agents.activity == AgentState.WALKING) | waits) & ~self.world.stays()
        return left

    def _note_obstacles(self, tick: int) -> None:
        """Where no agent gets on, note those that wait for obstacles that will:
        they do not end the run, nor at once when those have gone.
        """
        agents, left = self.world.agents, self._left()
        if (
            self.stop.stuck_for is not None
            and np.any(left)
            and np.all(agents.is_stuck[left] == 1)
            and discs_going_on(self.world)
        ):
            agents.front_tick[self._why(tick).cause == Cause.QUEUE] = tick

    def _why(self, tick: int) -> Diagnosed:
        """Return why agents are stuck."""
        world = self.world
        return diagnose(
            present_moment(
                world,
                tick,
                self.tick_length,
                self.goals,
                world.last_agent,
                world.agents.is_stuck == 1,
                discs_going_on(world),
            )
        )

    def _compare(self, tick: Tick) -> None:
        """Find out which agents are stuck now."""
        agents = self.world.agents
        look = tick.number // self.every
        slot = look % self.looks
        then = agents.progress_trail[:, slot]
        wants = wants_on(
            agents.activity, agents.goal, agents.path_status, agents.preferred_velocity, agents.is_driven,
            agents.waits, door_opens_later=opens_later(self.events, tick.number),
        )  # fmt: skip
        speed = hypots(agents.preferred_velocity[:, 0], agents.preferred_velocity[:, 1])
        stuck = wants & has_no_progress(
            agents.progress, then, np.where(agents.is_driven != 0, speed, agents.desired_speed)
        )
        stuck |= self._waits_for_good()
        begins, frees = stuck & (agents.is_stuck == 0), ~stuck & (agents.is_stuck == 1)
        log = self.world.events
        log.note(
            tick.number,
            EventKind.STUCK,
            agents.entity[begins],
            agents.position[begins],
            agents.blocker[begins],
        )
        log.note(
            tick.number,
            EventKind.UNSTUCK,
            agents.entity[frees],
            agents.position[frees],
            tick.number - agents.stuck_tick[frees],
        )
        agents.stuck_tick[begins] = agents.front_tick[begins] = tick.number
        agents.stuck_cause[frees] = NOT_DIAGNOSED
        agents.is_stuck[:] = stuck
        then[:] = np.where(wants, agents.progress, np.nan)
        self._begin_again(tick, speed)

    def _waits_for_good(self) -> NDArray[np.bool_]:
        """Return (n,) bool: agents that wait for signals that none gives any more."""
        agents, world = self.world.agents, self.world
        if self._outlook is None:
            return np.zeros(len(agents), dtype=np.bool_)
        waits = agents.waits == Wait.SIGNAL
        if not np.any(waits):
            return waits
        on = {name for name, is_on in world.signals.items() if is_on}
        present = np.unique(agents.machine_state[agents.machine_state >= 0]).tolist()
        blocked = self._outlook.blocked(present, world.signals_to_come, on)
        found: NDArray[np.bool_] = waits & np.isin(agents.machine_state, sorted(blocked))
        return found

    def _begin_again(self, tick: Tick, speed: NDArray[np.float64]) -> None:
        """Let agents begin again that were pushed back and walk on, for as often as they may."""
        agents = self.world.agents
        gain = agents.progress - agents.behind
        gets_on = gain - agents.last_gain >= REGAINING_SHARE * speed * self.every * tick.length
        agents.regaining[:] = np.where(
            gets_on & (speed > 0.0), np.minimum(agents.regaining + 1, REGAINING_SECONDS), 0
        )
        again = (
            (agents.regaining == REGAINING_SECONDS)
            & (agents.behind > PROGRESS_M)
            & (agents.setbacks < MOST_SETBACKS)
        )
        agents.behind[again] = 0.0
        agents.setbacks[again] += 1
        agents.last_gain[:] = agents.progress - agents.behind
        is_nearer = agents.remaining <= agents.nearest_remaining - PROGRESS_M
        agents.nearest_remaining[is_nearer] = agents.remaining[is_nearer]
        agents.setbacks[is_nearer] = 0

    def _diagnose(self, tick: int, *, is_last: bool = False) -> None:
        """Find out why agents have been stuck for long that were not diagnosed yet, or were in a queue then.

        What may last but a moment is reported when it is found again and the front of the queue has got on in
        no look for as long as its agents have been stuck themselves; at the end of a run, when it is found
        once.
        """
        agents = self.world.agents
        long = (agents.is_stuck == 1) & (
            (tick - agents.stuck_tick) * self.tick_length >= DEADLOCK_SECONDS - 1e-9
        )
        later = tick // self.every % AGAIN_LOOKS
        due = long & (agents.stuck_cause == NOT_DIAGNOSED)
        waits = (
            long
            & np.isin(agents.stuck_cause, (Cause.QUEUE, LOOK_AGAIN, NO_QUEUE_ONCE))
            & (is_last | (later == 0))
        )
        if not np.any(due | waits):
            return
        found = self._why(tick)
        is_queue, may_pass = found.cause == Cause.QUEUE, np.isin(found.cause, MOMENTARY)
        looked = due | waits
        agents.front_tick[looked] = np.maximum(agents.front_tick[looked], found.front_tick[looked])
        is_blocked = ~may_pass | ((tick - agents.front_tick) * self.tick_length >= DEADLOCK_SECONDS - 1e-9)
        again = np.where(
            is_queue, agents.stuck_cause != Cause.QUEUE, is_last | (agents.stuck_cause == NO_QUEUE_ONCE)
        )
        reported = is_blocked & ((due & (~may_pass | is_last)) | (waits & again))
        # so that two looks are three seconds apart
        agents.stuck_cause[due] = LOOK_AGAIN if later > AGAIN_LOOKS // 2 else NO_QUEUE_ONCE
        agents.stuck_cause[waits] = NO_QUEUE_ONCE
        settled = reported | (waits & is_queue)
        agents.stuck_cause[settled] = found.cause[settled]
        self.world.events.note(
            tick,
            EventKind.DEADLOCKED,
            agents.entity[reported],
            agents.position[reported],
            found.cause[reported],
        )
