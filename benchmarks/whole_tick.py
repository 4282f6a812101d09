"""The whole tick beside the bare `doStep` of RVO2, on the same agents in one run, alternated:
ratios are the result, times are of this machine.

    python benchmarks/whole_tick.py                     10,000 agents, one thread
    python benchmarks/whole_tick.py --agents 100000     another size
    python benchmarks/whole_tick.py --grow              cost and memory an agent at 10,000 and 100,000
    python benchmarks/whole_tick.py --grow 10000 1000000 --threads 1 2 --rounds 2
    python benchmarks/whole_tick.py --json

Ours is everything that a run does: index, paths, next corners, ORCA, integration, collision resolution,
walking on the mesh, arrivals, watching, digests and a recording at 10 frames a second. RVO2's (the wheel
`pyrvo`, extra `bench`) is `doStep` alone: neighbours, half-planes, linear programs, integration. Times are
CPU times of the whole process, all its threads included, so that what else runs on the machine matters
little. Agents stand 1 a square metre with ids in random order; 10 neighbours, range 5 m, horizon 5 s, step
0.05 s; columns stand about every 20 m, in ours only.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from crowdsim.bench.square import document, rvo2_of
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation import probes
from crowdsim.simulation.simulation import Simulation

# A block has a whole block of the recording (80 frames): commits that only the clock asks for stay rare.
TICKS, BLOCK, WARM = 480, 160, 20
GROW_WARM, GROW_TICKS = 4, 12  # Of a million agents each takes seconds.


def compare(agents: int) -> dict[str, float]:
    """Step ours with and without recording, and RVO2, in turn."""

    scenario = parse_scenario(document(agents), file="benchmark")
    with (
        tempfile.TemporaryDirectory() as folder,
        Simulation(scenario, out=Path(folder) / "a.h5") as ours,
        Simulation(scenario) as bare,
    ):
        for _ in range(WARM):
            ours.step()
            bare.step()
        rvo = rvo2_of(ours)
        spent = {"ours": 0.0, "bare": 0.0, "rvo2": 0.0}
        systems = np.zeros(len(ours.systems))
        for _ in range(TICKS // BLOCK):
            for name, run in (("ours", ours), ("bare", bare)):
                begin = time.process_time()
                for _ in range(BLOCK):
                    run.step()
                    if name == "ours":
                        systems += ours.probes.last
                spent[name] += time.process_time() - begin
            wish = ours.agents.preferred_velocity
            for row in range(len(wish)):
                rvo.set_agent_pref_velocity(row, wish[row].tolist())
            begin = time.process_time()
            for _ in range(BLOCK):
                rvo.do_step()
            spent["rvo2"] += time.process_time() - begin
        names = [type(system).__name__ for system in ours.systems]
    per_tick = {name: seconds / TICKS * 1e3 for name, seconds in spent.items()}
    return {
        "agents": agents,
        "ours_ms": per_tick["ours"],
        "rvo2_dostep_ms": per_tick["rvo2"],
        "times_as_fast": per_tick["rvo2"] / per_tick["ours"],
        "recording_share": 1.0 - per_tick["bare"] / per_tick["ours"],
        **{f"{name}_ms": ns / TICKS / 1e6 for name, ns in zip(names, systems, strict=True)},
    }


def alone(agents: int, threads: int) -> dict[str, Any]:
    """Return the cost of a tick by system, ns of processor time an agent, and the memory of this process,
    bytes: at most, so far.
    """
    # others use the machine, too
    vars(probes)["time"] = SimpleNamespace(perf_counter_ns=time.process_time_ns)
    with Simulation(parse_scenario(document(agents), file="benchmark"), threads=threads) as run:
        for _ in range(GROW_WARM):
            run.step()
        costs = []
        for _ in range(GROW_TICKS):
            run.step()
            costs.append(run.probes.last / agents)
        names = [type(system).__name__ for system in run.systems]
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"systems": dict(zip(names, np.median(costs, axis=0).tolist(), strict=True)), "bytes": most}


def growth(sizes: Sequence[int], threads: Sequence[int], rounds: int) -> dict[str, float]:
    """Compare crowds of several sizes, each in a process of its own, by turns: all but planning."""
    runs: dict[tuple[int, int], list[dict[str, Any]]] = {
        (own, agents): [] for own in threads for agents in sizes
    }
    for _ in range(rounds):
        for (own, agents), found in runs.items():
            words = [sys.executable, __file__, "--alone", str(agents), "--threads", str(own)]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            found.append(json.loads(done.stdout))
    result: dict[str, float] = {}
    for own in threads:
        least: dict[int, dict[str, float]] = {}
        for agents in sizes:
            found = runs[own, agents]
            least[agents] = {
                name: min(run["systems"][name] for run in found)
                for name in found[0]["systems"]
                if name != "Plan"
            }
            result[f"ns an agent, {agents:,}, {own} thr"] = sum(least[agents].values())
        first = least[sizes[0]]
        for agents in sizes[1:]:
            result[f"growth, {agents:,}, {own} thr"] = sum(least[agents].values()) / sum(first.values())
            grown = {name: ns - first[name] for name, ns in least[agents].items()}
            for name in sorted(grown, key=lambda each: -abs(grown[each]))[:6]:
                result[f"  {name}, ns more, {agents:,}, {own} thr"] = grown[name]
    memory = [min(run["bytes"] for run in runs[threads[0], agents]) for agents in sizes]
    result["bytes an agent"] = (memory[-1] - memory[0]) / (sizes[-1] - sizes[0])
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--grow", type=int, nargs="*", help="sizes to compare, the smallest first")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="of --grow")
    parser.add_argument("--rounds", type=int, default=3, help="of --grow")
    parser.add_argument("--alone", type=int)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(alone(options.alone, options.threads[0])))
        return
    if options.grow is None:
        result = compare(options.agents)
    else:
        result = growth(options.grow or [10_000, 100_000], options.threads, options.rounds)
    if options.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:44} {value:,.3f}")


if __name__ == "__main__":
    main()
