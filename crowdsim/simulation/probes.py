"""Probes: how long each system took, by the monotonic clock.
Readings are reported and recorded, and decide nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crowdsim.simulation.recorder import Recorder
from crowdsim.systems.base.system import System, Tick
from crowdsim.world.entities import Processor


class Probe(Processor):
    """What esper calls in the place of a system:
    the system, with the clock read before and after it, and its trace where one is recorded.

    Parameters
    ----------
    system : System
    place : int
        Its number in the tick.
    readings : list of int, ns
        Receives how long it took, at its place.
    recorder : Recorder or None
        Of a traced run.
    """

    def __init__(self, system: System, place: int, readings: list[int], recorder: Recorder | None) -> None:
        self.system, self._place, self._readings, self._recorder = system, place, readings, recorder

    def process(self, tick: Tick) -> None:
        """Let the system do its part of the tick."""
        start = time.perf_counter_ns()
        self.system.process(tick)
        held = self.system.world.held
        if held is not None:
            held.trim_if_over()
        self._readings[self._place] = time.perf_counter_ns() - start
        if self._recorder is not None and not self.system.is_idle:
            self._recorder.trace_system(
                tick.number, self._place, self.system.writes, self.system.world.agents
            )


class Probes:
    """Nanoseconds per system, of the last tick and of the run so far.

    Parameters
    ----------
    names : sequence of str
        The systems, in their order.

    Attributes
    ----------
    worst_tick_ns : int
        The longest tick so far.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.last: NDArray[np.int64] = np.zeros(len(names), dtype=np.int64)
        self.total: NDArray[np.int64] = np.zeros(len(names), dtype=np.int64)
        self.ticks = 0
        self.worst_tick_ns = 0

    def note(self, readings: NDArray[np.int64]) -> None:
        """Take the readings of one tick, ns, shape (systems,)."""
        self.last = readings
        self.total += readings
        self.ticks += 1
        self.worst_tick_ns = max(self.worst_tick_ns, int(readings.sum()))

    def take(self, readings: NDArray[np.int64]) -> None:
        """Take the readings of ticks that were done before, in another process;
        ns, shape (ticks, systems).
        """
        self.total += readings.sum(axis=0)
        self.ticks += len(readings)
        self.worst_tick_ns = max(self.worst_tick_ns, int(readings.sum(axis=1).max(initial=0)))

    def slowest(self, count: int = 3) -> list[tuple[str, float]]:
        """Return the systems that took most, as (name, milliseconds a tick), the slowest first."""
        order = np.argsort(-self.total, kind="stable")[:count]
        return [(self.names[i], float(self.total[i]) / 1e6 / max(1, self.ticks)) for i in order]
