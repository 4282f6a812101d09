"""Watch: who wants to get on and does not is stuck, and why, once that is a deadlock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from crowdsim.measures.deadlock_causes import NO_QUEUE_ONCE, NOT_DIAGNOSED, Cause, diagnose
from crowdsim.measures.deadlock_live import present_moment
from crowdsim.measures.deadlock_stuck import (
    DEADLOCK_SECONDS,
    MOST_SETBACKS,
    PROGRESS_M,
    REGAINING_SECONDS,
    REGAINING_SHARE,
    is_held_up,
    look_every,
    opens_later,
    wants_on,
)
from crowdsim.scenario.model import Event, Goal
from crowdsim.systems.base import System, Tick
from crowdsim.world.events import EventKind
from crowdsim.world.world import World

QUEUE_LOOKS = 10  # Whoever was in a queue is looked at again after so many looks, and is deadlocked if it was none twice: those before it may be held by then.
STUCK_A_LOOK = 100  # A diagnosis waits a look longer for so many more who are stuck: it costs the more, and a jam that grows would be diagnosed in every look.


class Watch(System):
    """Once a second, compare each agent's progress with that of ten seconds ago; find out why, for those who have been stuck for 30 s (SYSTEMS R6).

    Parameters
    ----------
    world : World
    tick_length : float, s
    goals : sequence of Goal
        Of the scenario.
    events : sequence of Event
        Of the scenario: while a door is still to open by the clock, who has no way is not stuck.
    people : int
        How many agents the scenario has.
    going_on : callable
        Returns the entities of obstacles that will yet go on, see `Drive.going_on`.

    Notes
    -----
    What stuck means stands in `crowdsim.measures.deadlock_stuck`, how causes are told apart in `crowdsim.measures.deadlock_causes`: recordings are
    diagnosed by both too.
    """

    reads = (
        "entity", "activity", "goal", "position", "progress", "progress_trail", "behind", "remaining", "nearest_remaining", "setbacks", "last_gain",
        "regaining", "is_stuck", "stuck_tick", "stuck_cause", "blocker", "is_driven", "preferred_velocity", "desired_speed", "radius", "layer",
        "path_status", "path_tick", "next_corner", "diagnosis",
    )  # fmt: skip
    writes = ("progress_trail", "behind", "nearest_remaining", "setbacks", "last_gain", "regaining", "is_stuck", "stuck_tick", "stuck_cause")
    counts = ("stuck", "deadlocked")

    def __init__(
        self, world: World, tick_length: float, goals: Sequence[Goal], events: Sequence[Event], people: int, going_on: Callable[[], Sequence[int]]
    ) -> None:
        super().__init__(world)
        self.every, self.looks = look_every(tick_length)
        self.goals, self.events, self.people, self.going_on = goals, events, people, going_on

    def process(self, tick: Tick) -> None:
        """Compare; tell who got stuck, who got free, and who is deadlocked."""
        agents = self.world.agents
        if tick.number % self.every == 0 and len(agents):
            stuck = self._compare(tick)
            if tick.number // self.every % (1 + np.count_nonzero(stuck) // STUCK_A_LOOK) == 0:
                self._diagnose(tick, stuck)
        tick.counts["stuck"] = self.count_of(agents.is_stuck == 1)
        tick.counts["deadlocked"] = self.count_of(agents.stuck_cause != NOT_DIAGNOSED)

    def _compare(self, tick: Tick) -> NDArray[np.bool_]:
        """Return (n,) bool: who is stuck now."""
        agents = self.world.agents
        look = tick.number // self.every
        slot = look % self.looks
        then = agents.progress_trail[:, slot]
        wants = wants_on(
            agents.activity, agents.goal, agents.path_status, agents.preferred_velocity, agents.is_driven,
            door_opens_later=opens_later(self.events, tick.number),
        )  # fmt: skip
        speed = np.hypot(agents.preferred_velocity[:, 0], agents.preferred_velocity[:, 1])
        stuck = wants & is_held_up(agents.progress, then, np.where(agents.is_driven == 1, speed, agents.desired_speed))
        begins, ends = stuck & (agents.is_stuck == 0), ~stuck & (agents.is_stuck == 1)
        log = self.world.events
        log.note(tick.number, EventKind.STUCK, agents.entity[begins], agents.position[begins], agents.blocker[begins])
        log.note(tick.number, EventKind.UNSTUCK, agents.entity[ends], agents.position[ends], tick.number - agents.stuck_tick[ends])
        agents.stuck_tick[begins] = tick.number
        agents.stuck_cause[ends] = NOT_DIAGNOSED
        agents.is_stuck[:] = stuck
        then[:] = np.where(wants, agents.progress, np.nan)
        self._begin_again(tick, speed)
        return stuck

    def _begin_again(self, tick: Tick, speed: NDArray[np.float64]) -> None:
        """Let those begin again who were pushed back and walk on, for as often as they may."""
        agents = self.world.agents
        gain = agents.progress - agents.behind
        gets_on = gain - agents.last_gain >= REGAINING_SHARE * speed * self.every * tick.length
        agents.regaining[:] = np.where(gets_on & (speed > 0.0), np.minimum(agents.regaining + 1, REGAINING_SECONDS), 0)
        again = (agents.regaining == REGAINING_SECONDS) & (agents.behind > PROGRESS_M) & (agents.setbacks < MOST_SETBACKS)
        agents.behind[again] = 0.0
        agents.setbacks[again] += 1
        agents.last_gain[:] = agents.progress - agents.behind
        is_nearer = agents.remaining <= agents.nearest_remaining - PROGRESS_M
        agents.nearest_remaining[is_nearer] = agents.remaining[is_nearer]
        agents.setbacks[is_nearer] = 0

    def _diagnose(self, tick: Tick, stuck: NDArray[np.bool_]) -> None:
        """Find out why those are stuck who have been so for long, and were not asked about yet, or were in a queue then."""
        agents = self.world.agents
        long = stuck & ((tick.number - agents.stuck_tick) * tick.length >= DEADLOCK_SECONDS - 1e-9)
        due = long & (agents.stuck_cause == NOT_DIAGNOSED)
        waits = long & np.isin(agents.stuck_cause, (Cause.QUEUE, NO_QUEUE_ONCE)) & (tick.number // self.every % QUEUE_LOOKS == 0)
        if not np.any(due | waits):
            return
        found = diagnose(present_moment(self.world, tick.number, tick.length, self.goals, self.people, stuck, self.going_on()))
        is_queue = found.cause == Cause.QUEUE
        due |= waits & ~is_queue & (agents.stuck_cause == NO_QUEUE_ONCE)
        agents.stuck_cause[waits] = np.where(is_queue, np.uint8(Cause.QUEUE), np.uint8(NO_QUEUE_ONCE))[waits]
        agents.stuck_cause[due] = found.cause[due]
        self.world.events.note(tick.number, EventKind.DEADLOCKED, agents.entity[due], agents.position[due], found.cause[due])
