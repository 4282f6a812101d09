"""What does a budget in milliseconds cost the people? One scenario at several budgets:
frames kept, paths waited for, arrivals; a picture of each.

    python analysis/frame_budget.py [scenario.yaml] [--milliseconds 0.5 1 2 4] [--out runs/frame-budget]

Times are those of the machine that it runs on; kernels are compiled before.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from crowdsim import load_scenario
from crowdsim.measures.budget import frame_times
from crowdsim.pictures.budget import draw_budget
from crowdsim.recording.opening import open_run
from crowdsim.simulation.simulation import Simulation

SCENE = Path(__file__).resolve().parent.parent / "scenarios" / "concourse.yaml"
SLICE = 100  # Expansions between two looks at the clock: some 0.05 ms.


def main() -> None:
    """Run, print a line for each budget, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("scenario", nargs="?", type=Path, default=SCENE)
    parser.add_argument("--milliseconds", type=float, nargs="+", default=[0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--out", type=Path, default=Path("runs") / "frame-budget")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    print(
        "budget ms  over %  planning p99 ms  overrun p99 ms  most open  longest wait s  arrived  last s  to "
        "blame"
    )
    for milliseconds in asked.milliseconds:
        scenario = load_scenario(
            asked.scenario, sets=[f"budget={{milliseconds: {milliseconds}, slice: {SLICE}}}"]
        )
        path = asked.out / f"{scenario.name}-{milliseconds:g}ms.h5"
        with Simulation(scenario, out=path, force=True) as run:
            verdict = run.run()
        with open_run(path) as recording:
            frames = frame_times(recording.timings(), milliseconds)
            draw_budget(recording, path.with_suffix(".png"), milliseconds)
        searched = frames[(frames["share_ms"] > 0.0) & (frames["over_ms"] > 0.0)]["over_ms"]
        overrun = f"{np.percentile(searched, 99):.2f}" if len(searched) else "none"
        late = frames[frames["is_over"]]["culprit"].value_counts()
        print(
            f"{milliseconds:>9g} {100.0 * frames['is_over'].mean():>7.1f} "
            f"{np.percentile(frames['planning_ms'], 99):>16.2f} {overrun:>15} "
            f"{verdict.most_requests_open:>10} {verdict.longest_wait_s:>15g} {verdict.arrived:>8} "
            f"{verdict.last_arrival_s or float('nan'):>7g}  "
            + ", ".join(f"{name} {count}" for name, count in late.head(2).items())
        )
    print(f"pictures: {asked.out}/*.png")


if __name__ == "__main__":
    main()
