"""The whole tick beside the bare `doStep` of RVO2, on the same agents in one run, alternated:
ratios are the result, times are of this machine.

    python benchmarks/whole_tick.py                     10,000 agents, one thread
    python benchmarks/whole_tick.py --agents 100000     another size
    python benchmarks/whole_tick.py --grow              cost and memory an agent at 10,000 and 100,000
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
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from crowdsim.bench.square import document, rvo2_of
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation

# A block has a whole block of the recording (80 frames): commits that only the clock asks for stay rare.
TICKS, BLOCK, WARM = 480, 160, 20


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


def alone(agents: int) -> dict[str, float]:
    """Return the cost of a tick without planning, ns an agent, and the memory of this process, bytes."""
    with Simulation(parse_scenario(document(agents), file="benchmark")) as run:
        plan = [type(system).__name__ for system in run.systems].index("Plan")
        for _ in range(WARM):
            run.step()
        costs = []
        for _ in range(60):
            run.step()
            costs.append((run.probes.last.sum() - run.probes.last[plan]) / agents)
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return {"agents": agents, "ns_an_agent": float(np.median(costs)), "resident_bytes": resident}


def growth() -> dict[str, float]:
    """Compare 10,000 with 100,000 agents, each in a process of its own, alternated."""
    runs: dict[int, list[dict[str, float]]] = {10_000: [], 100_000: []}
    for _ in range(3):
        for agents, found in runs.items():
            done = subprocess.run(
                [sys.executable, __file__, "--alone", str(agents)], capture_output=True, text=True, check=True
            )
            found.append(json.loads(done.stdout))
    small, large = (min(run["ns_an_agent"] for run in runs[agents]) for agents in runs)
    memory = [min(run["resident_bytes"] for run in found) for found in runs.values()]
    return {
        "ns_an_agent_10000": small,
        "ns_an_agent_100000": large,
        "growth": large / small,
        "bytes_an_agent": (memory[1] - memory[0]) / 90_000,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--grow", action="store_true")
    parser.add_argument("--alone", type=int)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(alone(options.alone)))
        return
    result = growth() if options.grow else compare(options.agents)
    if options.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:24} {value:,.3f}")


if __name__ == "__main__":
    main()
