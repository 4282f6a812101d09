"""Scenes of exact symmetry end well, and nothing else is touched."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdsim.avoidance.symmetry import SymmetryBreaker
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import on_circle, room, simulation

IDEAL_S = 10.0 / 1.34


@pytest.mark.sample(1)
@pytest.mark.parametrize("count", [2, 8, 16, 24])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_people_on_a_circle_change_places_within_twice_the_ideal_time(count, noise):
    for seed in range(3 if noise else 1):
        with simulation(room(on_circle(count, noise=noise, seed=seed), after=60)) as run:
            verdict = run.run()
        assert verdict.arrived == count, verdict.left
        assert verdict.last_arrival_s <= 2.0 * IDEAL_S
        assert verdict.deepest_overlap_m <= 0.02
        if noise == 0.0:
            assert verdict.symmetries_broken > 0


def test_with_the_breaker_off_an_exact_circle_stays_symmetric_and_stops():
    with simulation(room(on_circle(8), after=20), sets=["symmetry.enabled=false"]) as run:
        for _ in range(200):
            run.step()
            x = run.agents.position
            # sides of lines are sorted by entity, which rounding tells from a turned copy
            assert np.allclose(x[:4], -x[4:], atol=1e-4)
        assert run.verdict().symmetries_broken == 0
        assert len(run.agents) == 8


def test_a_lone_walker_is_never_turned():
    lone = [{"id": 1, "position": [-8, 0], "goals": [{"point": [8, 0]}]}]
    found = []
    for enabled in ("true", "false"):
        with simulation(room(lone), sets=[f"symmetry.enabled={enabled}"]) as run:
            places = []
            while not run.why_over():
                run.step()
                places.append(run.agents.position[:, 1].tolist())
            found.append((run.tick, places))
            assert run.verdict().symmetries_broken == 0
    assert found[0] == found[1]
    assert all(y == [0.0] or y == [] for y in found[0][1])


def test_two_by_two_head_on_and_an_exact_crossing_come_through():
    pairs = [
        {"id": i, "position": [side * 6, row * 0.5], "goals": [{"point": [-side * 6, row * 0.5]}]}
        for i, (side, row) in enumerate([(-1, 1), (-1, -1), (1, 1), (1, -1)])
    ]
    crossing = [
        {"id": i, "position": [6 * x, 6 * y], "goals": [{"point": [-6 * x, -6 * y]}]}
        for i, (x, y) in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)])
    ]
    for agents in (pairs, crossing):
        with simulation(room(agents, after=40)) as run:
            verdict = run.run()
        assert verdict.arrived == 4 and verdict.last_arrival_s <= 18.0


def meet_in_a_door(seed: int, width: float, radius: float) -> dict[str, Any]:
    """Two agents, from drawn places on both sides of a door in a wall of 0.4 m."""
    rng = np.random.default_rng(seed)
    groups = [
        {
            "name": name,
            "positions": [[x + rng.uniform(-0.5, 0.5), 2.0 + rng.uniform(-0.8, 0.8)]],
            "radius": radius,
            "speed": speed,
            "goals": [{"point": [goal, 2]}],
        }
        for name, x, speed, goal in (("east", 2.0, 1.3, 9), ("west", 8.4, 1.3 - 0.1 * (seed % 3), 1))
    ]
    walkable = [
        {"box": [0, 0, 5, 4]},
        {"box": [5, 2.0 - width / 2, 5.4, 2.0 + width / 2]},
        {"box": [5.4, 0, 10.4, 4]},
    ]
    return {
        "version": 1,
        "tick": 0.1,
        "seed": seed,
        "stop": {"after": 60, "when": "all_arrived"},
        "geometry": {"walkable": walkable},
        "groups": groups,
    }


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["mesh", "optimal"])
@pytest.mark.parametrize("model", ["hrvo", "orca", "sampled-hrvo", "clearpath"])
@pytest.mark.parametrize(
    "width, radius", [(0.6, 0.25), (0.7, 0.25), (0.7, 0.3), (0.8, 0.3), (0.9, 0.25), (0.9, 0.3)]
)
def test_two_that_meet_in_a_door_for_one_get_through(width, radius, model, navigation):
    """They stood for good now and then, or pressed for 93 s: a post bound one of them, so that they were no
    ring, and where both stepped aside both came back at once.
    """
    for seed in range(10):
        with simulation(
            meet_in_a_door(seed, width, radius), sets=[f"avoidance={model}", f"navigation={navigation}"]
        ) as run:
            verdict = run.run()
        assert verdict.arrived == 2 and verdict.last_arrival_s < 40.0, (seed, verdict.left)


@pytest.mark.full
def test_two_that_would_swing_in_a_door_for_ever_get_through_with_the_breaker_as_it_is():
    scene = Path(__file__).parent / "stuck" / "swinging-in-a-door.yaml"
    own = SymmetryBreaker.Parameters()
    defaults = [
        f"symmetry.{name}={getattr(own, name)}"
        for name in ("patience", "retreat_patience", "retreat_after", "retreat_time")
    ]
    for sets, arrive in (([], 0), (defaults, 2)):
        with Simulation(load_scenario(scene, sets=sets)) as run:
            assert run.run().arrived == arrive
