"""Ways on the MovingAI benchmark ([Sturtevant 2012]) are as long as it says, in both directions,
and strings are pulled taut on walkable ground.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.files import load_grid
from crowdsim.navigation.grid.planner import GridPlanner
from crowdsim.navigation.grid.search import FOUND
from tests.external.data import need
from tests.navigation.grid.worlds import cells_of
from tests.reference.grid_search import costs_from

WHOLE = ("arena", "arena2", "den203d", "lak303d")
EVERY_TENTH_BUCKET = ("16room_000", "maze512-32-9")


@cache
def benchmark(name):
    """Return (grid, starts, goals, optimal lengths); starts and goals are the centres of cells, m."""
    grid = load_grid(need("movingai", f"{name}.map"))
    rows = [
        line.split()
        for line in need("movingai", f"{name}.map.scen").read_text().split("\n")[1:]
        if line.strip()
    ]
    if name in EVERY_TENTH_BUCKET:
        first = {}
        for row in rows:
            first.setdefault(int(row[0]), row)
        rows = [row for bucket, row in first.items() if bucket % 10 == 0]
    cells = np.array([[int(value) for value in row[4:8]] for row in rows]) + 0.5
    cells[:, 1::2] = grid.depth - cells[:, 1::2]
    return grid, cells[:, :2].copy(), cells[:, 2:].copy(), np.array([float(row[8]) for row in rows])


def answers_of(grid, start, goal):
    planner = GridPlanner(grid, goal)
    count = len(start)
    planner.submit(
        0, np.arange(count), start, np.full(count, -1), np.arange(count, dtype=np.int32), np.zeros(count)
    )
    answers, _ = planner.advance(1 << 60, Team(1))
    assert len(answers.entity) == count
    return answers


@pytest.mark.sample(1)
@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("name", WHOLE + EVERY_TENTH_BUCKET)
def test_every_length_is_the_optimum(name, backwards):
    grid, start, goal, optimum = benchmark(name)
    before = grid.ground.clearance.copy()
    answers = answers_of(grid, goal, start) if backwards else answers_of(grid, start, goal)
    assert (answers.status == FOUND).all()
    assert (np.abs(answers.cost - optimum) <= 1e-4 * (1.0 + optimum)).all()
    np.testing.assert_array_equal(grid.ground.clearance, before)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", WHOLE + EVERY_TENTH_BUCKET)
def test_strings_are_no_longer_than_ways_over_cells_and_every_point_of_them_is_walkable(name):
    grid, start, goal, _ = benchmark(name)
    answers = answers_of(grid, start, goal)
    assert (answers.length <= answers.cost + 1e-9 * (1.0 + answers.cost)).all()
    free = grid.walkable(0.0)
    for i in range(len(start)):
        points = np.vstack([start[i], answers.waypoint[answers.start[i] : answers.start[i + 1]]])
        assert (points[-1] == goal[i]).all()
        for a, b in pairwise(points):
            steps = np.linspace(0.0, 1.0, 2 + int(8.0 * np.hypot(*(b - a))))[:, None]
            cells = np.floor(a + (b - a) * steps).astype(int)
            assert free[cells[:, 1], cells[:, 0]].all()


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("corners", ["one", "none"])
def test_a_wrong_rule_for_corners_fails(corners):
    """The benchmark itself tells the rules apart: with another rule, lengths are missed."""
    grid, start, goal, optimum = benchmark("den203d")
    walkable = cells_of(grid)
    missed = 0
    for i in range(0, len(start), 12):
        a, b = (tuple(int(v) for v in point) for point in (start[i], goal[i]))
        assert abs(costs_from(walkable, a)[b] - optimum[i]) <= 1e-4 * (1.0 + optimum[i])
        missed += abs(costs_from(walkable, a, corners)[b] - optimum[i]) > 1e-4 * (1.0 + optimum[i])
    assert missed > 5
