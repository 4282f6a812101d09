"""Does it pay to walk on a guess, and to join it? Mean arrival times with guesses and without,
on an open plan and in a maze, while searches are starved.

    python analysis/guesses.py [--agents 40] [--work 20] [--kind mesh]

Everybody has a goal of its own. The open plan is a hall with pillars; the maze has one way only between any
two places. What joining gains by itself is told in metres: what is left to walk when the path is there, and
what would be if one had to go back first, as far as one has walked, to where the path begins.
"""

from __future__ import annotations

import argparse
import json
from typing import Any, NamedTuple

import numpy as np

from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.events import EventKind

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
        ways = [
            (x + dx, y + dy)
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))
            if 0 <= x + dx < cells and 0 <= y + dy < cells
        ]
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
                walls.append(
                    [CELL * (x + 1) - 0.1, CELL * y - 0.1, CELL * (x + 1) + 0.1, CELL * (y + 1) + 0.1]
                )
            if y + 1 < cells and frozenset(((x, y), (x, y + 1))) not in open_walls:
                walls.append(
                    [CELL * x - 0.1, CELL * (y + 1) - 0.1, CELL * (x + 1) + 0.1, CELL * (y + 1) + 0.1]
                )
    return [[max(0.0, a), max(0.0, b), min(SIZE, c), min(SIZE, d)] for a, b, c, d in walls]


class Means(NamedTuple):
    """Mean arrival time and longest wait for a path (s);
    means of what was walked until the path was there, and of what was left to walk then (m).
    """

    arrival: float
    wait: float
    walked: float
    left: float


def mean_arrival(
    boxes: list[list[float]], how: str, agents: int, work: int, kind: str = "mesh", seed: int = 1
) -> Means:
    """Return what a run comes to; everybody has to arrive."""
    rng, cells = np.random.default_rng(seed), SIZE // CELL
    middles = CELL * (np.stack(np.meshgrid(np.arange(cells), np.arange(cells)), axis=-1).reshape(-1, 2) + 0.5)
    starts, ends = rng.permutation(middles)[:agents], rng.permutation(middles)[:agents]
    people = [
        {
            "id": i,
            "position": a.tolist(),
            "radius": 0.2,
            "speed": 1.3,
            "goals": [{"point": b.tolist(), "arrive_within": 0.4}],
        }
        for i, (a, b) in enumerate(zip(starts, ends, strict=True))
    ]
    alone = {"share_searches": False} if kind in ("mesh", "optimal", "grid") else {}
    document: dict[str, Any] = {
        "version": 1,
        "name": "guesses",
        "seed": seed,
        "tick": 0.1,
        "stop": {"after": 600, "when": "all_arrived"},
        "record": {"rate": 1},
        "geometry": {
            "walkable": [[0, 0], [SIZE, 0], [SIZE, SIZE], [0, SIZE]],
            "obstacles": [{"box": box} for box in boxes],
        },
        "groups": [{"name": "all", "agents": people}],
        "navigation": {"kind": kind, "while_waiting": how, **alone},
        "budget": {"work": work},
    }
    with Simulation(parse_scenario(json.dumps(document))) as run:
        arrivals: list[float] = []
        walked: dict[int, float] = {}
        left: dict[int, float] = {}
        before = dict(zip(run.agents.entity.tolist(), run.agents.position.copy(), strict=True))
        while len(run.agents) and run.time < 600.0:
            here = len(run.agents)
            found = {
                int(event.entity): float(event.x)
                for event in run.step()
                if event.kind == EventKind.PATH_FOUND
            }
            arrivals += [run.time] * (here - len(run.agents))
            # from where it was before this step
            left |= {each: length for each, length in found.items() if each not in left}
            places = dict(zip(run.agents.entity.tolist(), run.agents.position.copy(), strict=True))
            for each, place in places.items():
                if each not in left:
                    walked[each] = walked.get(each, 0.0) + float(np.hypot(*(place - before[each])))
            before = places
        assert len(arrivals) == agents, f"{agents - len(arrivals)} did not arrive"
        answered = [each for each in sorted(left) if left[each] > 0.0]
        return Means(
            float(np.mean(arrivals)),
            run.verdict().longest_wait_s,
            float(np.mean([walked.get(each, 0.0) for each in answered])),
            float(np.mean([left[each] for each in answered])),
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--agents", type=int, default=40)
    parser.add_argument("--work", type=int, default=20)
    parser.add_argument(
        "--kind", default="mesh", choices=("mesh", "optimal", "visibility", "grid", "s2-grid")
    )
    asked = parser.parse_args()
    print(
        f"{asked.agents} people with a goal each, {asked.work} expansions a tick of 0.1 s, navigation "
        f"{asked.kind}"
    )
    print(
        "plan         stay s  guess s  guess/stay  walked m  left m: joined, back first  longest wait s "
        "(stay, guess)"
    )
    for name, boxes in (("open", open_plan()), *((f"maze {seed}", maze(seed)) for seed in (1, 2, 3))):
        stay, guess = (
            mean_arrival(boxes, how, asked.agents, asked.work, asked.kind) for how in ("stay", "guess")
        )
        times = f"{stay.arrival:>8.1f} {guess.arrival:>8.1f} {guess.arrival / stay.arrival:>11.3f}"
        print(
            f"{name:<10} {times} {guess.walked:>9.1f} {guess.left:>15.1f} "
            f"{guess.walked + stay.left:>11.1f}  {stay.wait:g}, {guess.wait:g}"
        )


if __name__ == "__main__":
    main()
