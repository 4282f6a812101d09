"""The step of each avoidance model on the same crowd among pillars, on one thread, alternated with ORCA's: ratios are the result.

    python -m benchmarks.models                          all models, 10,000 agents
    python -m benchmarks.models --models clearpath orca  some

Agents stand 1 a square metre among pillars of 0.6 m, one for each 25 square metres, and walk to places drawn all over the square; 10 neighbours, range
5 m, step 0.05 s, everything else as the models have it. All models see the state that ORCA led to.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.avoidance import TICK, Crowd
from crowdsim.avoidance.model import CrowdView, empty_choice
from crowdsim.avoidance.registry import available_models, model_named
from crowdsim.geometry.walls import Walls, walls_from_rings

SPACING_M, HALF_M, AROUND = 5.0, 0.3, 1  # Distance of pillars, half their side; a zone lists the walls of pillars that many cells away and nearer.


def pillars(columns: int) -> Walls:
    """Return the walls of columns x columns pillars, with one zone for each cell round a pillar."""
    corner = HALF_M * np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])  # clockwise: free ground outside
    middles = [(np.array([column, row]) + 0.5) * SPACING_M for row in range(columns) for column in range(columns)]
    walls = walls_from_rings([middle + corner for middle in middles])
    lists = []
    for row in range(columns):
        for column in range(columns):
            near = [
                other_row * columns + other
                for other_row in range(max(0, row - AROUND), min(columns, row + AROUND + 1))
                for other in range(max(0, column - AROUND), min(columns, column + AROUND + 1))
            ]
            lists.append(np.concatenate([np.arange(4 * pillar, 4 * pillar + 4) for pillar in near]))
    start = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
    return walls._replace(zone_start=start.astype(np.int64), zone_wall=np.concatenate(lists).astype(np.int32))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=list(available_models()))
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    crowd = Crowd(arguments.agents, False, 1)
    columns = int(np.sqrt(arguments.agents) / SPACING_M)
    crowd.walls, crowd.model = pillars(columns), model_named("orca")()
    names = ["orca", *(name for name in arguments.models if name != "orca")]
    models = {name: model_named(name)() for name in names}
    spent: dict[str, list[float]] = {name: [] for name in names}
    for tick in range(20 + arguments.rounds):
        cell = np.clip((crowd.position / SPACING_M).astype(np.int64), 0, columns - 1)
        crowd.zone = cell[:, 1] * columns + cell[:, 0]
        cells = crowd.index.build(crowd.position, crowd.layer)
        for name, model in models.items():
            if tick in (0, 19) or tick >= 20:
                view = CrowdView(
                    crowd.entity, crowd.position, crowd.velocity, crowd.wish, crowd.radius, crowd.maximum, crowd.active, crowd.zone, crowd.layer, cells,
                    crowd.walls, crowd.reach.copy(),
                )  # fmt: skip
                out = empty_choice(arguments.agents)
                begin = time.process_time()
                model.choose(view, TICK, crowd.team, out)
                if tick >= 20:
                    spent[name].append((time.process_time() - begin) / arguments.agents)
                if tick == 20 + arguments.rounds - 1:
                    relaxed = np.mean(out.diagnosis >= 2)
                    ratio = np.median(np.array(spent[name]) / np.array(spent["orca"]))
                    each = float(np.median(spent[name]))
                    print(f"{name}: {each * 1e9:.0f} ns an agent, {1e-6 / each:.2f} M agent-steps/s, {ratio:.1f} times ORCA, {100 * relaxed:.0f} % relaxed")
        crowd.step(part=True)


if __name__ == "__main__":
    main()
