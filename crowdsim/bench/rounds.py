"""Taking turns: what is measured, for how long, and on which machine.
Ratios of turns in the same round are results; times are of the machine.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from crowdsim.kernels.threads import available_cores
from crowdsim.version import __version__

WARM_TICKS = 20
STEPS = 3  # a turn: one step to warm the caches up again, untimed, and these
# an agent and step: a slower runner warms up for two ticks, is timed for one step a turn, and leaves after
# SLOW_ROUNDS
SLOW_NS = 8e3
SLOW_ROUNDS = 3


@dataclass
class Runner:
    """One that takes turns.

    Attributes
    ----------
    row : dict
        What it is: product, model, threads and so on.
    agents : int
    step : callable
    more : callable or None
        Given how many steps there were since its last call, returns numbers to be noted.
    close : callable or None
    steps : int
        How many are timed in a turn, all of them and always; 0 is as many as suit how slow it is.
    cpu, wall : list of float, ns an agent and step
        For each turn the processor time of the whole process, and the time on the wall's clock.
    noted : list of dict
        What `more` returned.
    """

    row: dict[str, Any]
    agents: int
    step: Callable[[], Any]
    more: Callable[[int], dict[str, float]] | None = None
    close: Callable[[], None] | None = None
    steps: int = 0
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    noted: list[dict[str, float]] = field(default_factory=list)
    slow: bool = False

    def warm_up(self) -> None:
        """Walk until caches, memory and the crowd are as they will be; see how slow it is."""
        self.step()  # a first step may compile and build trees, and does not count
        begin = time.process_time()
        self.step()
        self.slow = not self.steps and (time.process_time() - begin) / self.agents * 1e9 > SLOW_NS
        for _ in range(0 if self.slow or self.steps else WARM_TICKS - 2):
            self.step()

    def take_turn(self) -> None:
        """Step and note the time."""
        steps = self.steps or (1 if self.slow else STEPS)
        if not self.slow and not self.steps:
            self.step()
        if self.more:
            self.more(1)  # of steps that are not timed
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(steps):
            self.step()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        per_step = 1e9 / steps / self.agents
        self.cpu.append(cpu * per_step)
        self.wall.append(wall * per_step)
        if self.more:
            self.noted.append(self.more(steps))

    def result(self) -> dict[str, Any]:
        """Return the row with medians; millions of agent-steps a second by the processor's time on one
        thread, by the wall's on more.
        """
        own = self.wall if self.row["threads"] > 1 else self.cpu
        found: dict[str, Any] = {
            **self.row,
            "agents": self.agents,
            "cpu_ns": middle(self.cpu),
            "wall_ns": middle(self.wall),
        }
        found |= {"million_a_second": round(1e3 / float(np.median(own)), 4), "turns": len(self.cpu)}
        for name in self.noted[0] if self.noted else ():
            found[name] = round(float(np.median([one[name] for one in self.noted])), 3)
        return found


def middle(values: list[float]) -> float:
    """Return the median, to a tenth."""
    return round(float(np.median(values)), 1)


def take_turns(runners: list[Runner], rounds: int) -> float:
    """Warm all up, then let them step in turns;
    return how many cores others used meanwhile, nan where the system does not say.
    """
    for runner in runners:
        runner.warm_up()
    busy, own, begin = busy_seconds(), time.process_time(), time.perf_counter()
    for number in range(rounds):
        for runner in runners:
            if not runner.slow or number < SLOW_ROUNDS:
                runner.take_turn()
    own, spent = time.process_time() - own, time.perf_counter() - begin
    return max(0.0, (busy_seconds() - busy - own) / spent)


def busy_seconds() -> float:
    """Return the processor time of all processes on the machine, in s, to 10 ms a core;
    nan where /proc/stat does not say.
    """
    try:
        user, nice, system, _, _, interrupts, soft, *_ = map(
            int, Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
        )
    except (OSError, ValueError):
        return float("nan")
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


def ratio(above: list[float], below: list[float]) -> dict[str, float]:
    """Return the median of the ratios round by round, and their quartiles."""
    rounds = min(len(above), len(below))
    low, median, high = np.percentile(np.array(above[:rounds]) / np.array(below[:rounds]), [25.0, 50.0, 75.0])
    return {
        "ratio": round(float(median), 2),
        "ratio_low": round(float(low), 2),
        "ratio_high": round(float(high), 2),
    }


def spread(above: list[float], below: list[float]) -> dict[str, float]:
    """Return the median of ratios round by round, the least and the most.

    Parameters
    ----------
    above, below : list of float
        Times of one and of the other by rounds; rounds that one of them does not have are left out.
    """
    rounds = min(len(above), len(below))
    ratios = np.array(above[:rounds]) / np.array(below[:rounds])
    return {
        "ratio": round(float(np.median(ratios)), 3),
        "ratio_least": round(float(ratios.min()), 3),
        "ratio_most": round(float(ratios.max()), 3),
    }


def installed(product: str) -> str | None:
    """Return the version of a package, None where there is none."""
    try:
        return version(product)
    except PackageNotFoundError:
        return None


def machine() -> dict[str, Any]:
    """Return what the numbers were taken on, and when."""
    cpu = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    if facts.is_file():
        models = [
            line.partition(":")[2].strip()
            for line in facts.read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ]
        cpu = models[0] if models else cpu
    versions = {"crowdsim": __version__} | {
        name: installed(name) for name in ("numpy", "numba", "llvmlite", "pyrvo", "jupedsim", "navground")
    }
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "processor": cpu,
        "cores": available_cores(),
        "load": [round(one, 2) for one in os.getloadavg()],
        "python": platform.python_version(),
        "versions": versions,
    }
