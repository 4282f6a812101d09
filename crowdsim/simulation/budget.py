"""Budgets: how much long work a tick does, said in work, in milliseconds, or by a recorded run.

Work is the same in every run. Milliseconds keep a frame short, and make what a run computes depend on the
machine; so what each tick granted is recorded, and a recorded run can be run again from that.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.navigation.planners import planner_kind
from crowdsim.recording.reader import Recording
from crowdsim.scenario.model import Scenario
from crowdsim.systems.base.slices import (
    DEFAULT_SLICE,
    Budget,
    ClockMeter,
    GrantMeter,
    Meter,
    Slicer,
    Spent,
    WorkMeter,
)

# Ticks whose costs tell what the other systems will need. Fewer forget a rare peak, more let one peak starve
# the searches for long.
RECENT_TICKS = 20
GRANTED = "expansions_granted"  # the count of each tick that a run is run again from


class WorkBudget(Budget):
    """So much work a tick.

    Parameters
    ----------
    tasks : Slicer
    work : int, >= 1, expansions
    planning, ground : int
        See `Budget`.
    counts_answers : bool
        See `Budget`.
    """

    def __init__(
        self, tasks: Slicer, work: int, planning: int = 1, ground: int = 0, *, counts_answers: bool = True
    ) -> None:
        super().__init__(tasks, planning, ground)
        self.work, self.counts_answers = work, counts_answers

    def _meter_of(self, tick: int) -> Meter:
        return WorkMeter(self.work)


class ClockBudget(Budget):
    """So many milliseconds a tick, for all systems together.

    Long work gets what the others leave: the milliseconds less the largest cost of all other systems over the
    last 20 ticks, and one slice at least. The cost of planning itself, requests and what is done with
    answers, is on its own account. Readings are no part of any state: a run that goes on from a saved one
    begins without them.

    Parameters
    ----------
    tasks : Slicer
    milliseconds : float, ms
    planning, ground, clock
        See `Budget`.
    """

    counts_answers, is_timed = True, True

    def __init__(
        self,
        tasks: Slicer,
        milliseconds: float,
        planning: int,
        ground: int = 0,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        super().__init__(tasks, planning, ground, clock)
        self.milliseconds = milliseconds
        self._others: deque[int] = deque(maxlen=RECENT_TICKS)

    @property
    def share_ns(self) -> int:
        """What planning may take in the tick that comes, ns;
        below 0 where the others alone take longer than the frame.
        """
        return int(self.milliseconds * 1e6) - max(self._others, default=0)

    def hurry(self, tick: int, name: str) -> None:
        """Let a task have slices before planning begins, on its account."""
        self._began = self._clock() - self._early_ns
        super().hurry(tick, name)

    def _meter_of(self, tick: int) -> Meter:
        return ClockMeter(self.share_ns, self._began, self._clock)

    def spend(self, tick: int) -> Spent:
        """Let the tasks have the slices of this tick that are left:
        the time runs from where planning began, less what was spent before.
        """
        if isinstance(self._meter, ClockMeter):
            self._meter.end(self.share_ns - self._early_ns, self._began)
        return super().spend(tick)

    def note(self, readings: NDArray[np.int64]) -> None:
        """Take the clock readings of a tick that is over, ns, shape (systems,)."""
        super().note(readings)
        self._others.append(int(readings.sum() - readings[self._planning]))


class RecordedBudget(Budget):
    """As much work in each tick as a recorded run granted.

    Parameters
    ----------
    tasks : Slicer
    granted : mapping of int to int
        Work granted, by tick.
    planning, ground : int
        See `Budget`.
    """

    counts_answers, is_timed = True, True

    def __init__(self, tasks: Slicer, granted: Mapping[int, int], planning: int = 1, ground: int = 0) -> None:
        super().__init__(tasks, planning, ground)
        self._granted = granted

    def _meter_of(self, tick: int) -> Meter:
        """Return a meter of the recorded slices.

        Raises
        ------
        CrowdsimError
            If the recorded run did not reach this tick.
        """
        if tick not in self._granted:
            last = max(self._granted, default=0)
            raise CrowdsimError(
                f"the recorded budget ends with tick {last:,} and cannot say how far searches get in tick "
                f"{tick:,}. Stop there."
            )
        return GrantMeter(self._granted[tick])


def recorded_grants(recording: Recording) -> dict[int, int]:
    """Return how much work each tick of a recorded run granted, by tick.

    Parameters
    ----------
    recording : Recording

    Raises
    ------
    RecordingError
        If it does not say.
    """
    if GRANTED not in [count.name for count in recording.layout.counts]:
        raise RecordingError(
            f"{recording.path}: does not say how many expansions each tick granted. Recordings of crowdsim "
            "say so from 0.1.0 on."
        )
    ticks = recording.table("ticks")
    return {int(tick): int(granted) for tick, granted in zip(ticks["tick"], ticks[GRANTED], strict=True)}


def milliseconds_of(scenario: Scenario) -> float:
    """Return the milliseconds that a tick of a scenario may take;
    0 where work decides, the same in every run.
    """
    return float(scenario.budget.values.get("milliseconds", 0.0))


def budget_of(
    scenario: Scenario, *, planning: int, ground: int, granted: Mapping[int, int] | None = None
) -> Budget:
    """Return the budget of a scenario.

    Parameters
    ----------
    scenario : Scenario
    planning, ground : int
        Places of the planning system, and of the one that changes the ground, among the systems.
    granted : mapping of int to int, optional
        What a recorded run of it granted; see `recorded_grants`.

    Raises
    ------
    CrowdsimError
        If grants are given and no clock decides in the scenario.
    """
    values = scenario.budget.values
    tasks = Slicer(int(values.get("slice", DEFAULT_SLICE)))
    milliseconds = milliseconds_of(scenario)
    if granted is not None:
        if not milliseconds:
            raise CrowdsimError(
                "this run has a budget of work, not of milliseconds: it is the same each time, and needs no "
                "recorded budget."
            )
        return RecordedBudget(tasks, granted, planning, ground)
    if milliseconds:
        return ClockBudget(tasks, milliseconds, planning, ground)
    work = int(values.get("work", 0))
    return WorkBudget(tasks, work or _default_work(scenario), planning, ground, counts_answers=work > 0)


def _default_work(scenario: Scenario) -> int:
    """Return the expansions a tick that the planners of a scenario need for their agents."""
    work = 0
    for chosen in scenario.navigations:
        agents = sum(group.count for group in scenario.groups if scenario.navigation_of(group) == chosen)
        space = planner_kind(chosen.name).space
        work += max(space.least_work, space.work_an_agent * agents)
    return work
