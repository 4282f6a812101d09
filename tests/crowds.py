"""Small scenarios for tests: text to `Simulation`, and the digests of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "scenarios"
# Shipped scenarios that are too large for most tests, and what makes each of them a small one.
LARGE = {
    "open-1000000": ("vars.side=110", "vars.people=10"),
    "city": ("vars.size=500", "vars.people=3"),
}

# A room with a bar and a thin wall, two groups that cross, somebody who stands, premovement times, via
# points, a starved budget: something of everything.
BUSY = {
    "version": 1,
    "name": "busy",
    "seed": 5,
    "tick": 0.1,
    "stop": {"after": 30, "when": "all_arrived"},
    "geometry": {
        "walkable": [[0, 0], [12, 0], [12, 8], [0, 8]],
        "obstacles": [[[4, 2], [5, 2], [5, 6], [4, 6]], [[8, 0], [8.05, 0], [8.05, 3], [8, 3]]],
    },
    "goals": {
        "east": {"exit": [[11.5, 3], [12, 3], [12, 5], [11.5, 5]]},
        "west": {"exit": [[0, 3], [0.5, 3], [0.5, 5], [0, 5]]},
        "any": {"nearest_of": ["east", "west"]},
        "table": {"region": [[6, 6], [7, 6], [7, 7], [6, 7]]},
    },
    "groups": [
        {
            "name": "to_east",
            "count": 24,
            "region": [[0, 0], [3.5, 0], [3.5, 8], [0, 8]],
            "goals": ["east"],
            "radius": {"uniform": {"low": 0.18, "high": 0.25}},
        },
        {
            "name": "to_west",
            "count": 12,
            "region": [[8.5, 0], [11, 0], [11, 8], [8.5, 8]],
            "goals": ["table", "west"],
            "premovement": {"uniform": {"low": 0, "high": 3}},
        },
        {
            "name": "listed",
            "agents": [
                {"id": 70, "position": [6, 1], "goals": [{"point": [6, 7.5], "arrive_within": 0.3}, "any"]},
                {"id": 71, "position": [6.5, 4]},
            ],
        },
    ],
    "budget": {"work": 5},
    "record": {"rate": 5},
}


def simulation(
    document: dict[str, Any] | None = None, *, sets: list[str] | None = None, **options: Any
) -> Simulation:
    """Return a simulation of a document (default: `BUSY`)."""
    return Simulation(parse_scenario(json.dumps(document or BUSY), file="test", sets=sets or []), **options)


def digests(run: Simulation, ticks: int) -> list[str]:
    """Step a simulation; return the digest of the run after each tick."""
    found = []
    for _ in range(ticks):
        run.step()
        found.append(run.digest)
    return found


def assert_same_on_threads_and_from_saved_states(document: Any, ticks: int, saved: tuple[int, ...]) -> None:
    """Run a scene with one thread, with three, and again from states saved before some of its ticks:
    every tick must have the same digest and events.
    """

    def next_ticks(run: Simulation, count: int) -> list[tuple[str, str]]:
        return [(repr(list(run.step())), run.digest) for _ in range(count)]

    with simulation(document) as one, simulation(document, threads=3) as three, simulation(document) as other:
        states, expected = {}, []
        for tick in range(ticks):
            if tick in saved:
                states[tick] = one.state()
            expected += next_ticks(one, 1)
        assert next_ticks(three, ticks) == expected
        for tick, state in states.items():
            other.restore(state)
            assert next_ticks(other, 20) == expected[tick : tick + 20]


def room(
    agents: list[dict[str, Any]],
    *,
    size: float = 20.0,
    after: float = 60.0,
    tick: float = 0.05,
    obstacles: Any = (),
    **more: Any,
) -> dict[str, Any]:
    """Return a square room round the origin with agents listed one by one."""
    half = size / 2.0
    return {
        "version": 1,
        "name": "room",
        "seed": 1,
        "tick": tick,
        "stop": {"after": after, "when": "all_arrived"},
        "geometry": {
            "walkable": [[-half, -half], [half, -half], [half, half], [-half, half]],
            **({"obstacles": list(obstacles)} if obstacles else {}),
        },
        "groups": [{"name": "all", "agents": agents}],
        "record": {"rate": 1},
        **more,
    }


def on_circle(count: int, *, radius: float = 5.0, noise: float = 0.0, seed: int = 0) -> list[dict[str, Any]]:
    """Return agents on a circle who all want to the opposite point;
    bodies of 0.2 m, 1.34 m/s, arrival within 0.2 m.
    """
    rng = np.random.default_rng(seed)
    places = []
    for i in range(count // 2):
        angle = 2.0 * np.pi * i / count
        places.append((radius * np.cos(angle), radius * np.sin(angle)))
    places += [(-x, -y) for x, y in places]
    agents = []
    for i, (x, y) in enumerate(places):
        start = (np.array([x, y]) + noise * rng.uniform(-1.0, 1.0, 2)).tolist()
        agents.append(
            {
                "id": i,
                "position": start,
                "radius": 0.2,
                "speed": 1.34,
                "goals": [{"point": [-x, -y], "arrive_within": 0.2}],
            }
        )
    return agents
