"""Does it pay to walk on a guess? Mean arrival times with guesses and without, on an open plan and in a maze, while searches are starved.

    python analysis/guesses.py [--agents 40] [--work 20] [--kind mesh]

Everybody has a goal of its own. The open plan is a hall with pillars; the maze has one way only between any two places.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from crowdsim.scenario.load import parse_scenario
from crowdsim.schedule.simulation import Simulation

SIZE = 30  # m
CELL = 3  # m; of the maze


def open_plan() -> list[list[float]]:
    """Return the pillars of a hall as boxes."""
    return [[x, y, x + 0.6, y + 0.6] for x in range(3, SIZE - 1, 3) for y in range(3, SIZE - 1, 3)]


def maze(seed: int) -> list[list[float]]:
    """Return the walls of a maze as boxes: a spanning tree of cells, grown from the first at random."""
    rng, cells = np.random.default_rng(seed), SIZE // CELL
    open_walls, visited, stack = set(), {(0, 0)}, [(0, 0)]
    while stack:
        x, y = stack[-1]
        ways = [(x + dx, y + dy) for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)) if 0 <= x + dx < cells and 0 <= y + dy < cells]
        ways = [cell for cell in ways if cell not in visited]
        if not ways:
            stack.pop()
            continue
        there = ways[int(rng.integers(len(ways)))]
        open_walls.add(frozenset(((x, y), there)))
        visited.add(there)
        stack.append(there)
    walls = []
    for x in range(cells):
        for y in range(cells):
            if x + 1 < cells and frozenset(((x, y), (x + 1, y))) not in open_walls:
                walls.append([CELL * (x + 1) - 0.1, CELL * y - 0.1, CELL * (x + 1) + 0.1, CELL * (y + 1) + 0.1])
            if y + 1 < cells and frozenset(((x, y), (x, y + 1))) not in open_walls:
                walls.append([CELL * x - 0.1, CELL * (y + 1) - 0.1, CELL * (x + 1) + 0.1, CELL * (y + 1) + 0.1])
    return [[max(0.0, a), max(0.0, b), min(SIZE, c), min(SIZE, d)] for a, b, c, d in walls]


def mean_arrival(boxes: list[list[float]], how: str, agents: int, work: int, kind: str = "mesh", seed: int = 1) -> tuple[float, float]:
    """Return the mean arrival time and the longest wait for a path (s); everybody has to arrive."""
    rng, cells = np.random.default_rng(seed), SIZE // CELL
    middles = CELL * (np.stack(np.meshgrid(np.arange(cells), np.arange(cells)), axis=-1).reshape(-1, 2) + 0.5)
    starts, ends = rng.permutation(middles)[:agents], rng.permutation(middles)[:agents]
    people = [
        {"id": i, "position": a.tolist(), "radius": 0.2, "speed": 1.3, "goals": [{"point": b.tolist(), "arrive_within": 0.4}]}
        for i, (a, b) in enumerate(zip(starts, ends, strict=True))
    ]
    document: dict[str, Any] = {
        "version": 1, "name": "guesses", "seed": seed, "tick": 0.1, "stop": {"after": 600, "when": "all_arrived"}, "record": {"rate": 1},
        "geometry": {"walkable": [[0, 0], [SIZE, 0], [SIZE, SIZE], [0, SIZE]], "obstacles": [{"box": box} for box in boxes]},
        "groups": [{"name": "all", "agents": people}],
        "navigation": {"kind": kind, "while_waiting": how, **({} if kind == "visibility" else {"share_searches": False})}, "budget": {"work": work},
    }  # fmt: skip
    with Simulation(parse_scenario(json.dumps(document))) as run:
        arrivals: list[float] = []
        while len(run.agents) and run.time < 600.0:
            here = len(run.agents)
            run.step()
            arrivals += [run.time] * (here - len(run.agents))
        assert len(arrivals) == agents, f"{agents - len(arrivals)} did not arrive"
        return float(np.mean(arrivals)), run.verdict().longest_wait_s


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=40)
    parser.add_argument("--work", type=int, default=20)
    parser.add_argument("--kind", default="mesh", choices=("mesh", "optimal", "visibility"))
    asked = parser.parse_args()
    print(f"{asked.agents} people with a goal each, {asked.work} expansions a tick of 0.1 s, navigation {asked.kind}")
    print("plan         stay s  guess s  guess/stay  longest wait s (stay, guess)")
    for name, boxes in (("open", open_plan()), *((f"maze {seed}", maze(seed)) for seed in (1, 2, 3))):
        stay, guess = (mean_arrival(boxes, how, asked.agents, asked.work, asked.kind) for how in ("stay", "guess"))
        print(f"{name:<10} {stay[0]:>8.1f} {guess[0]:>8.1f} {guess[0] / stay[0]:>11.3f}  {stay[1]:g}, {guess[1]:g}")


if __name__ == "__main__":
    main()
