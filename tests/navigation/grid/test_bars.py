"""Walls that are thinner than a cell part the cells on their two sides:
no step and no line of sight leads over them.
"""

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.grid import Area, Shut, build_grid
from crowdsim.navigation.grid.moves import STEP_X, STEP_Y
from crowdsim.navigation.grid.parameters import GridParameters, PathParameters
from crowdsim.navigation.grid.planner import GridPlanner
from crowdsim.navigation.grid.sight import is_in_sight
from tests.navigation.grid.worlds import OneSearch, cells_of, centre, random_cell, random_grid
from tests.reference.grid_cells import are_parted, bars_of
from tests.reference.grid_search import costs_from


def walled(seed, walls=14, blocked=0.1, width=26, depth=20, cell=0.5):
    """A grid with cells blocked here and there, and walls without thickness at any angle;
    return (grid, edges).
    """
    rng = np.random.default_rng(seed)
    grid = random_grid(seed, blocked, width, depth, cell)
    start = rng.uniform(0.0, (width * cell, depth * cell), (walls, 2))
    turn = rng.choice([0.0, 0.5 * np.pi, *rng.uniform(0.0, np.pi, 3)], walls)
    edges = np.column_stack(
        [start, start + rng.uniform(0.2, 6.0, (walls, 1)) * np.column_stack([np.cos(turn), np.sin(turn)])]
    )
    return grid, np.ascontiguousarray(edges)


def steps_in(bars):
    """The barred steps of a grid as the twin has them."""
    return {
        ((int(column), int(row)), (STEP_X[d], STEP_Y[d]))
        for d in range(8)
        for row, column in np.argwhere(bars >> d & 1)
    }


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(10))
def test_steps_over_walls_are_barred_and_no_others(seed):
    grid, edges = walled(seed)
    grid.add_bars(edges)
    want = bars_of(edges.tolist(), grid.x, grid.y, 0.5, grid.width, grid.depth)
    assert steps_in(grid.bars) == want and len(want) > 100
    assert all(
        ((column + dx, row + dy), (-dx, -dy)) in want
        for (column, row), (dx, dy) in want
        if 0 <= column + dx < grid.width and 0 <= row + dy < grid.depth
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(6))
def test_what_is_put_up_and_taken_down_bars_steps_as_if_it_had_always_stood_there(seed):
    rng = np.random.default_rng(seed)
    grid, edges = walled(seed)
    grid.add_bars(edges)
    shapes = [
        Shut(
            f"{i}",
            shapely.box(*(low := rng.uniform(0.0, 8.0, 2)), *(low + rng.uniform(0.05, 2.0, 2))),
            bool(i % 2),
        )
        for i in range(5)
    ]
    for _ in range(8):
        up = [each for each in shapes if rng.uniform() < 0.5]
        grid.show(up)
        fresh, _ = walled(seed)
        fresh.add_bars(edges)
        fresh.show(up)
        for name in ("_bars", "_clearance"):
            np.testing.assert_array_equal(getattr(grid, name), getattr(fresh, name))
        rings = [
            [*a, *b]
            for each in up
            for a, b in zip(each.polygon.exterior.coords, each.polygon.exterior.coords[1:], strict=False)
        ]
        assert steps_in(grid.bars) == bars_of(
            [*edges.tolist(), *rings], grid.x, grid.y, 0.5, grid.width, grid.depth
        )
    grid.show([])
    assert steps_in(grid.bars) == bars_of(edges.tolist(), grid.x, grid.y, 0.5, grid.width, grid.depth)


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("heuristic", ["euclidean", "zero"])
def test_paths_cost_what_they_cost_without_steps_over_walls(seed, heuristic):
    grid, edges = walled(seed, walls=30)
    grid.add_bars(edges)
    rng, walkable, barred = np.random.default_rng(seed), cells_of(grid), steps_in(grid.bars)
    cells = [random_cell(grid, rng) for _ in range(12)]
    target = np.array([centre(grid, cell) for cell in cells])
    planner = GridPlanner(grid, target, PathParameters(heuristic=heuristic, share_searches=seed % 2 == 0))
    start = random_cell(grid, rng)
    costs = costs_from(walkable, start, barred=barred)
    planner.submit(
        0,
        np.arange(12),
        np.tile(centre(grid, start), (12, 1)),
        np.full(12, -1),
        np.arange(12, dtype=np.int32),
        np.zeros(12),
    )
    answers, _ = planner.advance(1 << 40, Team(1))
    for entity, status, cost in zip(
        answers.entity.tolist(), answers.status.tolist(), answers.cost.tolist(), strict=True
    ):
        assert (status == 2) == (cells[entity] in costs)
        assert status != 2 or cost == pytest.approx(0.5 * costs[cells[entity]], abs=1e-9)
    assert costs != costs_from(walkable, start)


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_a_string_is_pulled_over_no_wall(step):
    """A line between cells that a wall parts is never in sight, however thin the wall;
    one past its end is.
    """
    grid = build_grid(
        [Area("all", shapely.box(0, 0, 8, 8))],
        (),
        GridParameters(cell_size=0.5, agent_radius=0.0, object_padding=0.0),
    )
    wall = np.array([[4.0, -1.0, 4.0, 6.0]])
    grid.add_bars(wall)
    one, rng = OneSearch(grid), np.random.default_rng(1)
    one.find((1.0, 1.0), (2.0, 2.0))
    seen = 0
    for _ in range(300):
        a, b = rng.uniform(0.2, 7.8, (2, 2)).tolist()
        got = is_in_sight(one.slots, 0, grid.ground, *a, *b, step)
        clear = shapely.LineString([a, b]).distance(shapely.LineString([(4, -1), (4, 6)]))
        assert not (
            got
            and are_parted(wall[0].tolist(), a, b)
            and shapely.Point(4, 6).distance(shapely.LineString([a, b])) > 0.5
        )
        assert got or clear < 0.5
        seen += got
    assert 100 < seen < 290
    assert one.find((3.3, 1.0), (4.7, 1.0))[0] == "found"
    assert one.waypoints(step)[1] > 9.0, "round the end"
