"""The planners `optimal` and `mesh` side by side on scenarios:
paths a second, expansions, lengths, and what a tick costs under each.

    python benchmarks/planners.py scenarios/concourse.yaml scenarios/room-evacuation.yaml
        scenarios/standards/rimea-9.yaml
    python benchmarks/planners.py --ticks 200 --turns 5 SCENARIO

Paths: those of all agents from where they start to their first goals, each with a search of its own
(`alone`), and as a run looks for them, where agents with one goal can share a search (`shared`). Ticks: two
runs step in turn, a block each. Times are CPU times of the process; paths the best of several turns.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation

KINDS = ("optimal", "mesh")
# Ticks that a run steps before the other one has its turn; ticks before that, in which code may be loaded and
# most paths are found.
BLOCK, WARM = 50, 3


def time_paths(path: Path, turns: int) -> dict[tuple[str, str], tuple[float, int, float]]:
    """Print and return what the paths of all agents of a scenario cost under each planner:
    (time (s), expansions, mean length (m)).
    """
    with Simulation(load_scenario(path)) as run:
        mesh, goals, agents = run.world.mesh, run.world.goals, run.world.agents
        position, radius, goal, polygon = (
            agents.position.copy(),
            agents.radius.copy(),
            agents.goal.copy(),
            run.world.polygons().astype(np.int64),
        )
    count, team = len(goal), Team(1)
    print(f"{path.stem}: {count} paths on {mesh.polygon_count} polygons with {mesh.edge_count} half-edges")
    best: dict[tuple[str, str], tuple[float, int, float]] = {}
    for turn in range(turns + 1):  # what the first takes is not counted: it may compile
        for kind in KINDS:
            for how in ("alone", "shared"):
                planner = MeshPlanner(mesh, goals, ShareParameters(share_searches=how == "shared"), kind=kind)
                begin = time.process_time()
                planner.submit(0, np.arange(count), position, polygon, goal, radius)
                answers, expansions = planner.advance(1 << 40, team)
                took = time.process_time() - begin
                if turn == 0:
                    length = np.empty(count)
                    ahead = np.diff(answers.start).astype(np.int32)
                    order = answers.entity
                    measure_corridors(
                        mesh,
                        goals,
                        answers.portals,
                        answers.start[:-1],
                        ahead,
                        polygon[order],
                        answers.piece,
                        position[order],
                        radius[order],
                        length,
                    )
                    best[kind, how] = np.inf, expansions, float(length[np.isfinite(length)].mean())
                else:
                    best[kind, how] = (min(took, best[kind, how][0]), *best[kind, how][1:])
    for (kind, how), (took, expansions, length) in best.items():
        each = 1e6 * took / max(1, expansions)
        print(
            f"  {kind:<8} {how:<7} {count / took:9.0f} paths a second, {expansions / count:7.1f} expansions "
            f"a path, {each:5.2f} us each, {length:.3f} m"
        )
    return best


def time_ticks(path: Path, ticks: int) -> None:
    """Print what a tick of a scenario costs under each planner."""
    runs = [Simulation(load_scenario(path, sets=[f"navigation.kind={kind}"])) for kind in KINDS]
    spent, plan, made, worst = np.zeros(2), np.zeros(2), np.zeros(2, dtype=np.int64), np.zeros(2)
    for _ in range(WARM):
        for run in runs:
            run.step()
    for _ in range(max(1, ticks // BLOCK)):
        for which, run in enumerate(runs):
            names = [type(system).__name__ for system in run.systems]
            for _ in range(BLOCK):
                if run.why_over():
                    break
                begin = time.process_time()
                run.step()
                took = time.process_time() - begin
                spent[which] += took
                made[which] += 1
                worst[which] = max(worst[which], took)
                plan[which] += run.probes.last[names.index("Plan")]
    for which, (kind, run) in enumerate(zip(KINDS, runs, strict=True)):
        planned = 1e-6 * plan[which] / made[which]
        expansions = run.verdict().expansions
        each = 1e3 * spent[which] / made[which]
        print(
            f"  {kind:<8} {each:.3f} ms a tick over {made[which]}, at most {1e3 * worst[which]:.1f}; "
            f"{planned:.3f} ms of it Plan; {expansions} expansions"
        )
        run.close()
    print(f"  optimal : mesh {(spent[0] / made[0]) / (spent[1] / made[1]):.3f}")


def main() -> None:
    """Read the arguments and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", type=Path, nargs="+")
    parser.add_argument("--ticks", type=int, default=400)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    for path in given.scenarios:
        time_paths(path, given.turns)
        time_ticks(path, given.ticks)


if __name__ == "__main__":
    main()
