"""Scenes of exact symmetry end well, and nothing else is touched."""

import numpy as np
import pytest

from tests.crowds import on_circle, room, simulation

IDEAL_S = 10.0 / 1.34


@pytest.mark.sample(3)
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
            assert np.allclose(x[:4], -x[4:], atol=1e-4)  # sides of lines are sorted by entity, which rounding tells from a turned copy
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
    pairs = [{"id": i, "position": [side * 6, row * 0.5], "goals": [{"point": [-side * 6, row * 0.5]}]} for i, (side, row) in enumerate([(-1, 1), (-1, -1), (1, 1), (1, -1)])]
    crossing = [{"id": i, "position": [6 * x, 6 * y], "goals": [{"point": [-6 * x, -6 * y]}]} for i, (x, y) in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)])]
    for agents in (pairs, crossing):
        with simulation(room(agents, after=40)) as run:
            verdict = run.run()
        assert verdict.arrived == 4 and verdict.last_arrival_s <= 18.0
