"""Five scenes in which an agent or an obstacle is in the way, each on a mesh and on a grid:
what they result in.

``python benchmarks/grid_and_mesh.py`` prints the table of docs/learn/stationary-agents.md. No time of the
clock is in it: it is the same on every machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import crowdsim
from crowdsim.simulation.verdict import Verdict

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
SCENES = {
    "doorway-blocked": "a stationary agent in a doorway",
    "closing-door": "a door that closes, and a way round",
    "goal-in-closed-room": "a goal in a closed room",
    "moving-obstacle": "a cart that moves and stands",
    "idle-crowd": "a crowd that stands about",
}
NAVIGATIONS = {"mesh": "mesh", "grid": "{kind: grid, cell_size: 0.1, object_padding: 0.02}"}
HEAD = (
    "| scene | navigation | arrived | last | new paths | asked aside | deepest overlap |\n"
    "| --- | --- | --- | ---: | --- | ---: | ---: |"
)


def outcome(scene: str, navigation: str) -> Verdict:
    """Return what a scene results in."""
    scenario = crowdsim.load_scenario(
        SCENARIOS / f"{scene}.yaml", sets=[f"navigation={NAVIGATIONS[navigation]}"]
    )
    with crowdsim.Simulation(scenario) as simulation:
        return simulation.run()


def row(scene: str, navigation: str) -> str:
    """Return a line of the table."""
    verdict = outcome(scene, navigation)
    arrived = f"{verdict.arrived} of {verdict.arrived + verdict.not_arrived}"
    if verdict.not_arrived:
        arrived += f"; {', '.join(verdict.reasons)}"
    last = f"{verdict.last_arrival_s:.1f} s" if verdict.last_arrival_s is not None else ""
    causes = ", ".join(f"{count} {cause}" for cause, count in verdict.replans.items())
    what = SCENES[scene] if navigation == "mesh" else ""
    return (
        f"| {what} | {navigation} | {arrived} | {last} | {causes} | {verdict.nudges} | "
        f"{100 * verdict.deepest_overlap_m:.1f} cm |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--scene", action="append", choices=SCENES, help="one of the scenes, may be repeated; default: all"
    )
    print(HEAD)
    for scene in parser.parse_args().scene or SCENES:
        for navigation in NAVIGATIONS:
            print(row(scene, navigation), flush=True)


if __name__ == "__main__":
    main()
