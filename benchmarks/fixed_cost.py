"""What a tick costs with few agents: the fixed part of each system.

    python benchmarks/fixed_cost.py                          100 agents
    python benchmarks/fixed_cost.py --agents 1000
    python benchmarks/fixed_cost.py --beside ../before       by turns with another tree of sources
    python benchmarks/fixed_cost.py --json

Each system is called again and again on the same tick, and the shortest time counts: what is left of a call
when everything is in the caches, which a machine on which others work gives too. The recorder is measured
apart, a tick's numbers and a frame. Times are of this machine; between two trees the ratio counts.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from crowdsim.bench.square import TICK, document
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems import Tick

WARM, TICKS, CALLS, TURNS = 60, 5, 60, 3


def measure(agents: int) -> dict[str, float]:
    """Return microseconds by system, and those of the recorder."""
    best: dict[str, float] = {}

    def note(name: str, call: Callable[[], object]) -> None:
        for _ in range(CALLS):
            began = time.perf_counter_ns()
            call()
            best[name] = min(best.get(name, 1e12), (time.perf_counter_ns() - began) / 1e3)

    scenario = parse_scenario(document(agents), file="benchmark")
    with tempfile.TemporaryDirectory() as folder, Simulation(scenario, out=Path(folder) / "a.h5") as run:
        for _ in range(WARM):
            run.step()
        recorder = run.recorder
        assert recorder is not None
        for _ in range(TICKS):
            run.step()
            tick = Tick(run.tick + 1, TICK, run.team)
            for system in run.systems:
                if hasattr(system, "recorder"):  # its frames come below
                    system.recorder = None
                note(type(system).__name__, partial(system.process, tick))
                if hasattr(system, "recorder"):
                    system.recorder = recorder
            readings, events = run.probes.last, run.world.events.take()
            note("recorder, a tick", partial(recorder.tick, tick, readings, events[:0]))
        every = scenario.record.ticks_per_frame
        ticks = itertools.count((run.tick // every + 1) * every, every)
        note("recorder, a frame", lambda: recorder.frame(next(ticks), run.world.agents))
    return best


def of_tree(tree: Path, agents: int) -> dict[str, float]:
    """Measure the sources in a folder, in a process of their own."""
    done = subprocess.run(
        [sys.executable, __file__, "--alone", "--agents", str(agents)],
        env=os.environ | {"PYTHONPATH": str(tree.resolve())},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--beside", type=Path, help="another tree of sources")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measure(options.agents)))
        return
    trees = [Path(__file__).parent.parent, *([options.beside] if options.beside else [])]
    found: list[dict[str, float]] = [{} for _ in trees]
    for _ in range(TURNS):
        for tree, best in zip(trees, found, strict=True):
            for name, us in of_tree(tree, options.agents).items():
                best[name] = min(best.get(name, us), us)
    every = parse_scenario(document(options.agents), file="benchmark").record.ticks_per_frame
    for best in found:
        frame = best["recorder, a frame"]
        systems = sum(us for name, us in best.items() if not name.startswith("recorder"))
        best["all of a tick"] = systems + best["recorder, a tick"] + frame / every
    if options.json:
        print(json.dumps({"agents": options.agents, "us": found}))
        return
    print(f"{options.agents:,} agents, us a tick" + (", here and beside it" if len(found) > 1 else ""))
    for name in sorted(found[0], key=lambda name: -found[0][name]):
        times = [best.get(name, float("nan")) for best in found]
        ratio = f"{times[1] / times[0]:8.2f}" if len(times) > 1 else ""
        print(f"{name:20}" + "".join(f"{us:9.1f}" for us in times) + ratio)


if __name__ == "__main__":
    main()
