"""Which velocity on the boundary is best? Models and choices on the same scenes:
which agents arrive, which stand still, how long it takes.

    python -m benchmarks.boundary_choices
        the table of docs/learn/choosing-velocities.md, some ten minutes
    python -m benchmarks.boundary_choices --only clearpath:tip=butt,side_bias=0
        one model with numbers of its own
    python -m benchmarks.boundary_choices --scenes circles bottleneck --seeds 1

Columns: agents that did not arrive; agent-seconds of those stuck (no progress along the path by 0.2 m in ten
seconds); the mean over scenes of the last arrival over the ideal time, which is the longest of the agents'
shortest paths at their speeds; deepest overlap after agents were pushed apart.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import yaml

from crowdsim.navigation.planning.mesh_planner import usual_planner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS, on_circle, room, simulation
from tests.external.test_steering_cases import CASES, document

CHOICES = [
    f"clearpath:boundary_choice={choice}" for choice in ("nearest", "progress", "steady", "side", "weighted")
]
COMPARED = ["orca", "hrvo:side_pull=0", "hrvo", *CHOICES, "clearpath:tip=butt", "clearpath:side_bias=0"]


def circles(seeds: int) -> Iterator[dict[str, Any]]:
    """Yield antipodal circles, exact and with 5 cm of noise."""
    for count, radius in ((8, 5), (16, 5), (24, 5), (40, 10), (80, 10)):
        for seed in range(-1, seeds):
            agents = on_circle(count, radius=radius, noise=0.05 if seed >= 0 else 0.0, seed=max(seed, 0))
            yield room(agents, size=2 * radius + 10, after=90)


def shipped(name: str, seeds: int, **group: Any) -> Iterator[dict[str, Any]]:
    """Yield a shipped scenario with several seeds, its groups changed by `group`."""
    for seed in range(1, seeds + 1):
        scene = yaml.safe_load((SCENARIOS / f"{name}.yaml").read_text(encoding="utf-8"))
        yield {**scene, "seed": seed, "groups": [{**one, **group} for one in scene["groups"]]}


def steering(_: int) -> Iterator[dict[str, Any]]:
    """Yield the steering cases; none where the data is missing."""
    for name, case in sorted(CASES.items()):
        if case is not None:
            yield document(name, case)


SCENES = {
    "steering": steering,
    "circles": circles,
    "bottleneck": lambda seeds: shipped("bottleneck", seeds),
    "crossing": lambda seeds: shipped("four-way-crossing", seeds),
    "corridor": lambda seeds: shipped("head-on-corridor", seeds),
    "corridor, 60 + 60": lambda seeds: shipped("head-on-corridor", seeds, count=60),
}


def ideal_time(run: Simulation) -> float:
    """Return the longest of the agents' shortest paths over their speeds, in s."""
    world, built, longest = run.world, run.built, 0.0
    for row in range(len(built.agents)):
        itinerary = world.itineraries[built.agents.itinerary[row]]
        place, polygon, total = built.agents.position[row], built.polygon[row], 0.0
        for goal, speed in zip(itinerary.goals, itinerary.speeds, strict=True):
            radius, goals = built.agents.radius[row : row + 1], np.array([goal], dtype=np.int32)
            asked = Asked(world.mesh, world.goals, place[None], np.array([polygon]), goals, radius)
            found = FoundCorridors(usual_planner(world.mesh, world.goals), asked)
            total += found.lengths()[0] / (speed if np.isfinite(speed) else built.agents.desired_speed[row])
            place, polygon = world.goals.pole[found.piece[0]], world.goals.piece_polygon[found.piece[0]]
        longest = max(longest, total)
    return longest


def judge(scene: dict[str, Any], sets: list[str]) -> tuple[int, float, float, float]:
    """Return agents that did not arrive, agent-seconds stuck, last arrival over ideal time,
    deepest overlap in m.
    """
    with simulation(json.loads(json.dumps(scene)), sets=sets, threads=1) as run:
        ideal, stuck = ideal_time(run), 0.0
        while not run.why_over():
            run.step()
            stuck += float(np.count_nonzero(run.agents.is_stuck)) * scene["tick"]
        verdict = run.verdict()
    last = (
        verdict.last_arrival_s
        if verdict.last_arrival_s is not None and not verdict.not_arrived
        else verdict.simulated_s
    )
    return verdict.not_arrived, stuck, last / ideal, verdict.deepest_overlap_m


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=COMPARED, metavar="MODEL[:NAME=VALUE,...]")
    parser.add_argument("--scenes", nargs="*", choices=list(SCENES), default=list(SCENES))
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    print(
        "| scene | model | not arrived | stuck, agent-s | time / ideal | deepest overlap, cm |\n"
        "| --- | --- | --- | --- | --- | --- |"
    )
    for name in arguments.scenes:
        scenes = list(SCENES[name](arguments.seeds))
        for which in arguments.only:
            model, _, numbers = which.partition(":")
            sets = [f"avoidance={model}", *(f"avoidance.{one}" for one in numbers.split(",") if one)]
            found = np.array([judge(scene, sets) for scene in scenes]).reshape(-1, 4)
            if len(found):
                missing, stuck, ratio, deepest = (
                    found[:, 0].sum(),
                    found[:, 1].sum(),
                    found[:, 2].mean(),
                    found[:, 3].max(),
                )
                called = which.replace(":", " ").replace(",", " ")
                print(
                    (
                        f"| {name} | {called} | {missing:.0f} | {stuck:.0f} | {ratio:.2f} | "
                        f"{100 * deepest:.1f} |"
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main()
