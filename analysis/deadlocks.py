"""Which avoidance models leave people stuck on a scene, and why? One line for each model:
who was stuck for 30 s by cause; a picture of the worst moment.

python analysis/deadlocks.py [scenario.yaml] [--models orca hrvo] [--set key=value ...] [--out runs/deadlocks]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from crowdsim import load_scenario
from crowdsim.avoidance.registry import available_models
from crowdsim.cli.deadlocks import worst_moment
from crowdsim.measures.deadlock import deadlocks, stuck_people
from crowdsim.measures.deadlock_recorded import Recorded
from crowdsim.pictures.deadlocks import draw_deadlocks
from crowdsim.recording.opening import open_run
from crowdsim.simulation.simulation import Simulation

SCENE = Path(__file__).resolve().parent.parent / "scenarios" / "idle-crowd.yaml"


def main() -> None:
    """Run, print a line for each model, draw where somebody was stuck."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("scenario", nargs="?", type=Path, default=SCENE)
    parser.add_argument("--models", nargs="+", default=sorted(available_models()))
    parser.add_argument("--set", dest="sets", action="append", default=[])
    parser.add_argument("--out", type=Path, default=Path("runs") / "deadlocks")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    print("model         arrived  stuck ever  deadlocks  stuck for 30 s, by cause")
    for model in asked.models:
        scenario = load_scenario(asked.scenario, sets=[*asked.sets, f"avoidance={model}"])
        path = asked.out / f"{scenario.name}-{model}.h5"
        with Simulation(scenario, out=path, force=True) as run:
            verdict = run.run()
        with open_run(path) as recording:
            recorded = Recorded(recording)
            people, groups = stuck_people(recorded), deadlocks(recorded)
            if len(people):
                draw_deadlocks(recorded, path.with_suffix(".png"), worst_moment(recorded))
        long = people[people["is_long"]].groupby("cause")["entity"].nunique().sort_values(ascending=False)
        why = ", ".join(f"{cause} {count}" for cause, count in long.items()) or "nobody"
        print(
            f"{model:<13} {verdict.arrived:>7} {people['entity'].nunique():>11} "
            f"{int(groups['is_deadlock'].sum()):>10}  {why}"
        )
    print(f"pictures: {asked.out}/*.png")


if __name__ == "__main__":
    main()
