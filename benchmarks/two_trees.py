"""A whole tick of this tree beside that of another one, by turns in one run: ratios are the result.

    python benchmarks/two_trees.py ../before                       10,000 agents, one thread and two
    python benchmarks/two_trees.py ../before --agents 100000
    python benchmarks/two_trees.py ../before --scenario scenarios/open-10000.yaml
    python benchmarks/two_trees.py ../before --json

Each tree runs in processes of its own, one for each number of threads, with the same agents. All are warm
when it begins, and take turns: some ticks of one, then of the next, so that a machine that gets slower
does so for all. The first ticks of a turn find caches full of what another tree has left, which no run does:
turns of 10 ticks show a second thread worse than it is. Runs are recorded at 10 frames a second. Times are
medians of ticks, and means of processor time, all threads included. The other tree is a folder with the
package in it, and needs what this one needs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
WARM = 60

# Runs in either tree: nothing of the package may be new in it but what both have.
CHILD = """
import json, sys, time
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation.simulation import Simulation
given, threads, out, warm = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
if given.isdigit():
    from crowdsim.bench.square import document
    scenario = parse_scenario(document(int(given)), file="benchmark")
else:
    scenario = load_scenario(given)
with Simulation(scenario, threads=threads, out=out) as run:
    for _ in range(warm):
        run.step()
    print("ready", flush=True)
    for line in sys.stdin:
        taken, before = [], time.process_time_ns()
        for _ in range(int(line)):
            began = time.perf_counter_ns()
            run.step()
            taken.append(time.perf_counter_ns() - began)
        print(json.dumps([taken, time.process_time_ns() - before]), flush=True)
"""


def begin(tree: Path, given: str, threads: int, folder: str) -> Any:
    """Return a process that runs ticks of a tree when it is asked to."""
    out = str(Path(folder) / f"{tree.name}-{threads}.h5")
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, given, str(threads), out, str(WARM)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=tree,
    )  # fmt: skip


def ask(process: Any, ticks: int) -> tuple[list[int], int]:
    """Return what so many ticks took, each by the clock and all of processor time (ns)."""
    process.stdin.write(f"{ticks}\n")
    process.stdin.flush()
    taken, spent = json.loads(process.stdout.readline())
    return taken, spent


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--scenario", type=Path)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--ticks", type=int, default=40, help="of a turn")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    scene = str(given.scenario.resolve()) if given.scenario else str(given.agents)
    kinds = [(name, threads) for threads in given.threads for name in ("before", "now")]
    wall: dict[tuple[str, int], list[int]] = {kind: [] for kind in kinds}
    processor = dict.fromkeys(kinds, 0)
    with tempfile.TemporaryDirectory() as folder:
        trees = {"before": given.before.resolve(), "now": HERE}
        processes = {kind: begin(trees[kind[0]], scene, kind[1], folder) for kind in kinds}
        for process in processes.values():
            if process.stdout.readline() != "ready\n":
                raise SystemExit("a run failed")
        for _ in range(given.turns):
            for kind, process in processes.items():
                taken, spent = ask(process, given.ticks)
                wall[kind] += taken
                processor[kind] += spent
        for process in processes.values():
            process.stdin.close()
            process.wait()
    first = wall["before", given.threads[0]]
    rows = [
        {
            "tree": kind[0],
            "threads": kind[1],
            "tick_ms": statistics.median(wall[kind]) / 1e6,
            "processor_ms": processor[kind] / len(wall[kind]) / 1e6,
            "of_the_first": statistics.median(wall[kind]) / statistics.median(first),
        }
        for kind in kinds
    ]
    if given.json:
        print(json.dumps({"scene": given.scenario.name if given.scenario else given.agents, "rows": rows}))
        return
    print(f"{'tree':8}{'threads':>8}{'tick':>12}{'processor':>12}{'of the first':>14}")
    for row in rows:
        print(
            f"{row['tree']:8}{row['threads']:8}{row['tick_ms']:9.2f} ms{row['processor_ms']:9.2f} ms"
            f"{row['of_the_first']:14.2f}"
        )


if __name__ == "__main__":
    main()
