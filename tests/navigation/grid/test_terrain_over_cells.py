"""Cells with speeds of their own: searches find the quickest paths over them, and strings bend at borders."""

import itertools
import json
import math

import numpy as np
import pytest
import shapely

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.navigation.grid.worlds import OneSearch, cells_of, centre, grid_from, random_cell, random_grid
from tests.navigation.test_terrain import random_terrain
from tests.reference.grid_search import costs_from, steps_from
from tests.reference.grid_sight import touches


def slowness_of(grid):
    """How much longer a metre takes on each cell, read off the grid, by (column, row)."""
    table = grid.ground.slowness.reshape(grid.depth + 2, grid.width + 2)[1:-1, 1:-1]
    return {(column, row): float(table[row, column]) for row, column in np.ndindex(table.shape)}


def with_terrain(seed, blocked=0.25, cell=0.5):
    """Cells blocked at random, with terrain of several speeds."""
    grid = random_grid(seed, blocked, cell=cell)
    grid.set_terrain(random_terrain(seed))
    return grid


@pytest.mark.parametrize("seed", range(4))
def test_a_cell_has_the_speed_of_the_terrain_under_its_centre(seed):
    grid, terrain = with_terrain(seed), random_terrain(seed)
    speeds = {
        cell: next(
            (each.speed for each in terrain if each.area.contains(shapely.Point(centre(grid, cell)))), 1.0
        )
        for cell in itertools.product(range(grid.width), range(grid.depth))
    }
    fastest = max(speeds.values())
    assert grid.fastest == fastest and not grid.is_even
    assert slowness_of(grid) == {cell: fastest / speed for cell, speed in speeds.items()}


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(30))
def test_every_path_costs_what_dijkstra_says(seed):
    rng = np.random.default_rng(seed)
    grid = with_terrain(seed, blocked=rng.choice([0.0, 0.1, 0.25]))
    walkable, slowness, one = cells_of(grid), slowness_of(grid), OneSearch(grid)
    for _ in range(10):
        start, end = random_cell(grid, rng), random_cell(grid, rng)
        costs = costs_from(walkable, start, slowness=slowness)
        outcome, cell, cost, _ = one.find(centre(grid, start), centre(grid, end))
        assert (outcome == "found") == (end in costs)
        if end in costs:
            assert cell == end and cost == pytest.approx(costs[end], rel=1e-9)
            path = one.cells()
            assert all(b in dict(steps_from(walkable, a)) for a, b in itertools.pairwise(path))


@pytest.mark.sample(2)
@pytest.mark.parametrize("step", [0.0, 0.25])
@pytest.mark.parametrize("seed", range(12))
def test_a_string_is_pulled_over_ground_of_one_speed_only_and_takes_no_longer(seed, step):
    rng = np.random.default_rng(seed)
    grid = with_terrain(seed, blocked=0.05)
    slowness, one, size = slowness_of(grid), OneSearch(grid), grid.parameters.cell_size
    for _ in range(6):
        start, end = random_cell(grid, rng), random_cell(grid, rng)
        outcome, _, cost, _ = one.find(centre(grid, start), centre(grid, end))
        if outcome != "found":
            continue
        points = [(x / size, y / size) for x, y in [centre(grid, start), *one.waypoints(step)[0]]]
        time = 0.0
        for a, b in itertools.pairwise(points):
            ends = [slowness[math.floor(x), math.floor(y)] for x, y in (a, b)]
            time += math.dist(a, b) * sum(ends) / 2.0
            if math.dist(a, b) < 1.5 or step > 0.0:  # a step from cell to cell may lead to another speed
                continue
            around = (range(math.floor(min(p)), math.floor(max(p)) + 1) for p in zip(a, b, strict=True))
            passed = [cell for cell in itertools.product(*around) if touches(cell, a, b)]
            assert {slowness[cell] for cell in passed} == {ends[0]}
        assert step > 0.0 or time <= cost + 1e-9


@pytest.mark.parametrize(("speed", "pays"), [(0.9, False), (0.5, True)])
def test_a_path_round_by_the_road_is_taken_exactly_if_it_pays(speed, pays):
    grid = grid_from(np.ones((24, 48), dtype=bool), 0.5)
    grid.set_terrain([Terrain("grass", shapely.box(2, 2, 22, 12), speed)])
    one = OneSearch(grid)
    outcome, *_ = one.find((1.25, 6.25), (23.25, 6.25))
    waypoints, length = one.waypoints()
    assert outcome == "found"
    assert (min(y for _, y in waypoints) < 2.5) == pays
    assert 26.0 < length < 32.0 if pays else length == pytest.approx(22.0, rel=0.02)


def test_speeds_stay_when_an_obstacle_comes_and_goes():
    grid, same = with_terrain(3), with_terrain(3)
    grid.put_up("cart", shapely.box(2, 2, 4, 4))
    grid.take_down("cart")
    assert all(np.array_equal(a, b) for a, b in zip(grid.ground[:-1], same.ground[:-1], strict=True))


@pytest.mark.parametrize(
    "kind", [{"kind": "grid", "cell_size": 0.1, "object_padding": 0.02}, {"kind": "s2-grid"}]
)
def test_an_agent_over_cells_walks_by_the_road_and_one_on_grass_at_its_speed(kind):
    document = {
        "version": 1,
        "tick": 0.1,
        "stop": {"after": 60, "when": "all_arrived"},
        "navigation": kind,
        "geometry": {
            "walkable": {"box": [0, 0, 24, 12]},
            "terrain": [{"name": "grass", "speed": 0.4, "area": {"box": [2, 3, 22, 12]}}],
        },
        "goals": {"east": {"region": {"box": [22.5, 5, 24, 7]}}, "mid": {"region": {"box": [19, 5, 20, 7]}}},
        "groups": [
            {"name": "road", "positions": [[1.0, 6.0]], "goals": ["east"], "speed": 1.5},
            {"name": "grass", "positions": [[17.0, 6.0]], "goals": ["mid"], "speed": 1.5},
        ],
    }
    places, speeds = [], []
    with Simulation(parse_scenario(json.dumps(document))) as run:
        while not run.why_over():
            before = dict(zip(run.agents.label, run.agents.position.tolist(), strict=True))
            run.step()
            for label, place in zip(run.agents.label, run.agents.position.tolist(), strict=True):
                if label.startswith("road"):
                    places.append(place)
                elif label.startswith("grass"):
                    speeds.append(math.dist(place, before[label]) / 0.1)
        assert run.verdict().arrived == 2
    assert min(y for x, y in places if 8 < x < 16) < 3.2
    assert max(speeds) <= 0.6 + 1e-6 and np.median(speeds) == pytest.approx(0.6, abs=0.02)
