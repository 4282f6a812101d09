"""What a second thread gives, beside what the machine gives two processes: system by system.

    python benchmarks/second_core.py                     10,000 agents
    python benchmarks/second_core.py --agents 100000 --ticks 30
    python benchmarks/second_core.py --json

Three kinds of runs take turns: one thread; two threads; and two processes at once, one thread each, which
share nothing but the machine. The second thread makes a tick so many times as fast; two processes together do
so many times the work of one, which on two halves of one core is far less than twice. The share of the one in
the other is what threads can be blamed for: what is not split, what handing over costs, and what moves from
one core's cache to the other's. Medians of ticks, the best of all rounds. It also says what it costs to hand
a range to a thread.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from crowdsim.bench.square import document
from crowdsim.kernels.decorator import kernel
from crowdsim.kernels.threads import Team
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation

WARM, SHOWN_FROM = 40, 0.02  # systems that take this share of the tick at least


def measure(agents: int, threads: int, ticks: int) -> dict[str, float]:
    """Return the median microseconds by system, and of the whole tick."""
    scenario = parse_scenario(document(agents), file="benchmark")
    with Simulation(scenario, threads=threads) as run:
        for _ in range(WARM):
            run.step()
        readings, whole = [], []
        for _ in range(ticks):
            began = time.perf_counter_ns()
            run.step()
            whole.append(time.perf_counter_ns() - began)
            readings.append(np.array(run.probes.last))
        medians = np.median(np.array(readings), axis=0) / 1e3
        names = [type(system).__name__ for system in run.systems]
    return dict(zip(names, medians.tolist(), strict=True)) | {"whole tick": statistics.median(whole) / 1e3}


def children(count: int, agents: int, threads: int, ticks: int) -> list[dict[str, float]]:
    """Measure in so many processes at once."""
    command = [sys.executable, __file__, "--alone", str(threads), "--agents", str(agents)]
    running = [
        subprocess.Popen([*command, "--ticks", str(ticks)], stdout=subprocess.PIPE, text=True, env=os.environ)
        for _ in range(count)
    ]
    found = [json.loads(each.communicate()[0]) for each in running]
    if any(each.returncode for each in running):
        raise SystemExit("a run failed")
    return found


def handing_over() -> tuple[float, float]:
    """Return the microseconds that a call takes which does nothing, of one thread and of two."""
    best = []
    for threads in (1, 2):
        team, taken = Team(threads), []
        for _ in range(3000):
            began = time.perf_counter_ns()
            team.run(_nothing, 2, at_least=1)
            taken.append(time.perf_counter_ns() - began)
        team.close()
        best.append(statistics.median(taken) / 1e3)
    return best[0], best[1]


@kernel
def _nothing(start: int, stop: int) -> int:
    return stop - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--ticks", type=int, default=80)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        print(json.dumps(measure(given.agents, given.alone, given.ticks)))
        return
    one: dict[str, float] = {}
    two: dict[str, float] = {}
    rate: dict[str, float] = {}  # ticks a microsecond of two processes together
    for _ in range(given.rounds):
        for name, us in children(1, given.agents, 1, given.ticks)[0].items():
            one[name] = min(one.get(name, us), us)
        for name, us in children(1, given.agents, 2, given.ticks)[0].items():
            two[name] = min(two.get(name, us), us)
        pair = children(2, given.agents, 1, given.ticks)
        for name in pair[0]:
            rate[name] = max(rate.get(name, 0.0), sum(1.0 / each[name] for each in pair))
    alone, handed = handing_over()
    rows: list[dict[str, Any]] = [
        {
            "system": name,
            "one_thread_us": one[name],
            "two_threads": one[name] / two[name],
            "two_processes": one[name] * rate[name],
            "share": 1.0 / (two[name] * rate[name]),
        }
        for name in sorted(one, key=lambda name: -one[name])
        if one[name] >= SHOWN_FROM * one["whole tick"]
    ]
    if given.json:
        print(json.dumps({"agents": given.agents, "handing_over_us": handed - alone, "rows": rows}))
        return
    print(f"{given.agents:,} agents; handing a range over takes {handed - alone:.1f} us\n")
    print(f"{'':16}{'one thread':>12}{'two threads':>13}{'two processes':>15}{'share':>8}")
    for row in rows:
        print(
            f"{row['system']:16}{row['one_thread_us']:9.0f} us{row['two_threads']:10.2f} x"
            f"{row['two_processes']:12.2f} x{row['share']:10.2f}"
        )


if __name__ == "__main__":
    main()
