"""How much faster two workers are than one, and what a process of its own costs a run.

    python -m benchmarks.sweeps [--runs 40] [--repeats 3] [--seconds 20] [--pairs 40]

Sweeps with one and with two workers take turns, both recorded, with kernels that are ready; the start of the
warm process is in both. The throughput is a matter of the wall clock, and of what else the machine does.
Where cores are shared with other programs, a run's processor time and the share of the workers' time in which
they had a run say what it would be if they were not: share / processor time, for each worker. Then each run
is done in a process of its own and in this one, in turn, and the difference is taken by processor time, which
does not count what other programs take; the table has medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from crowdsim.sweep.folder import Folder
from crowdsim.sweep.one_run import do_run
from crowdsim.sweep.plan import Plan, Source, plan_sweep
from crowdsim.sweep.supervise import Limits, run_sweep, task_of
from crowdsim.sweep.tables import tables_of
from crowdsim.sweep.worker import RunServer

SCENE = """
version: 1
name: room
tick: {tick}
stop: {{after: {after}, when: {when}}}
geometry: {{walkable: [[0, 0], [12, 0], [12, 8], [0, 8]]}}
goals: {{end: {{exit: [[11.5, 0], [12, 0], [12, 8], [11.5, 8]]}}}}
groups: [{{name: crowd, count: {count}, region: [[0, 0], [6, 0], [6, 8], [0, 8]], goals: [end]}}]
"""


def plan_of(place: Path, runs: int, **values: object) -> Plan:
    """Return a plan of as many runs of a small room."""
    path = place / "room.yaml"
    path.write_text(SCENE.format(**values))
    return plan_sweep(Source(path), [{}], range(runs))


def throughput(plan: Plan, place: Path, workers: int) -> tuple[float, float, float]:
    """Return how many runs a sweep does in a second, their processor time each,
    and the share of the workers' time in which they had one.
    """
    began = time.perf_counter()
    report = run_sweep(plan, Folder(place), workers=workers)
    wall = time.perf_counter() - began
    assert report.failed == 0
    _, timings = tables_of(plan, Folder(place))
    return len(plan.runs) / wall, timings["processor_s"].mean(), timings["process_s"].sum() / (wall * workers)


def costs(plan: Plan, place: Path) -> list[dict[str, float]]:
    """Return for each run, in milliseconds, what it took in a process of its own and in this one."""
    found = []
    folder, server = Folder(place), RunServer()
    with folder.held():
        for run in plan.runs:
            task = task_of(plan, run, folder, Limits(), record=True)
            result = server.execute(task)
            scratch = folder.scratch / "here"
            scratch.mkdir(exist_ok=True)
            processor, wall = time.process_time(), time.perf_counter()
            do_run({**task, "scratch": str(scratch)})
            here = {"processor": time.process_time() - processor, "wall": time.perf_counter() - wall}
            clocks = result["timings"]
            row = {
                "forked, processor": clocks["processor_s"],
                "here, processor": here["processor"],
                "forked less here, processor": clocks["processor_s"] - here["processor"],
                "forked, wall": clocks["process_s"],
                "here, wall": here["wall"],
                "process less its own run, wall": clocks["process_s"] - clocks["run_s"],
            }
            found.append({name: 1000.0 * value for name, value in row.items()})
        server.close()
    return found[2:]  # the first ones make things ready


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="simulated, of each run of the throughput"
    )
    parser.add_argument("--pairs", type=int, default=40)
    asked = parser.parse_args()
    with TemporaryDirectory(prefix="crowdsim-") as name:
        place = Path(name)
        if asked.repeats:
            plan = plan_of(place, asked.runs, tick=0.02, after=asked.seconds, when="never", count=20)
            print("workers  runs/s  processor s a run  share in runs  load")
            for repeat in range(asked.repeats):
                found = {}
                for workers in (1, 2) if repeat % 2 == 0 else (2, 1):
                    rate, processor, share = found[workers] = throughput(
                        plan, place / f"{repeat}-{workers}", workers
                    )
                    print(
                        (
                            f"{workers:7}  {rate:6.3f}  {processor:17.3f}  {share:13.3f}  "
                            f"{os.getloadavg()[0]:4.1f}"
                        ),
                        flush=True,
                    )
                by_processor = 2.0 * (found[2][2] / found[2][1]) / (found[1][2] / found[1][1])
                print(
                    (
                        f"two workers: {found[2][0] / found[1][0]:.2f} times one by the clock, "
                        f"{by_processor:.2f} times by processor time and share"
                    ),
                    flush=True,
                )
        if asked.pairs:
            rows = costs(
                plan_of(place, asked.pairs + 2, tick=0.1, after=20, when="all_arrived", count=3),
                place / "pairs",
            )
            print(f"\nms a run, of {len(rows)}, load {os.getloadavg()[0]:.1f}")
            for name in rows[0]:
                print(f"{name:32} {statistics.median(row[name] for row in rows):7.1f}")


if __name__ == "__main__":
    main()
