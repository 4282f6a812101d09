"""Strings are pulled taut over walkable cells only."""

import math

import numpy as np
import pytest

from crowdsim.navigation.grid.sight import CLEAR, NO_NODE, _is_blocked_by, _what_blocks, is_in_sight
from tests.navigation.grid.worlds import (
    OneSearch,
    cells_of,
    centre,
    grid_from,
    grid_of,
    length_of,
    random_cell,
    random_grid,
)
from tests.reference.grid_sight import pulled, sees, sees_samples


def looking(grid):
    """A function that says whether one point sees another, by the kernel."""
    one = OneSearch(grid)
    one.find((-99.0, -99.0), (-99.0, -99.0))  # no agents stand about
    return lambda a, b, step=0.0: is_in_sight(one.slots, 0, grid.ground, *a, *b, step)


def test_a_line_between_two_cells_that_touch_at_a_corner_needs_both_beside_it():
    for picture, free in (("..\n..", True), (".#\n..", False), ("#.\n..", True)):
        grid = grid_of(picture)
        assert looking(grid)((0.5, 1.5), (1.5, 0.5)) == (free and picture[0] == ".")
    assert not looking(grid_of("..\n#."))((0.5, 1.5), (1.5, 0.5))


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(8))
def test_centres_see_each_other_like_in_exact_fractions(seed):
    grid = random_grid(seed, 0.08, 14, 12)
    rng, walkable, look = np.random.default_rng(seed), cells_of(grid), looking(grid)
    seen = 0
    for _ in range(80):
        a, b = centre(grid, random_cell(grid, rng)), centre(grid, random_cell(grid, rng))
        assert look(a, b) == look(b, a) == sees(walkable, a, b)
        seen += look(a, b)
    assert 0 < seen < 80


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(8))
def test_any_points_see_each_other_like_in_exact_fractions(seed):
    grid = random_grid(seed, 0.06, 14, 12)
    rng, walkable, look = np.random.default_rng(seed), cells_of(grid), looking(grid)
    seen = 0
    for _ in range(80):
        a, b = (tuple(np.array(random_cell(grid, rng)) + rng.uniform(0.001, 0.999, 2)) for _ in range(2))
        assert look(a, b) == look(b, a) == sees(walkable, a, b)
        seen += look(a, b)
    assert 0 < seen < 80


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("step", [0.5, 0.2, 1.0])
def test_samples_look_under_points_only(seed, step):
    grid = random_grid(seed, 0.1, 14, 12)
    rng, walkable, look = np.random.default_rng(seed), cells_of(grid), looking(grid)
    for _ in range(80):
        a, b = (tuple(np.array(random_cell(grid, rng)) + rng.uniform(0.001, 0.999, 2)) for _ in range(2))
        assert look(a, b, step) == sees_samples(walkable, a, b, step)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("step", [0.0, 0.5, 0.2, 1.0])
def test_a_cell_that_blocks_a_line_is_told_to_block_just_those_that_look_at_it(seed, step):
    """A string is pulled past what blocked the line before without looking along all of the next."""
    grid = random_grid(seed, 0.06, 40, 30, cell=0.4)
    rng, ground = np.random.default_rng(seed), grid.ground
    one = OneSearch(grid)
    one.find((-99.0, -99.0), (-99.0, -99.0))
    free = grid_from(np.ones((30, 40), dtype=bool), 0.4)
    other = OneSearch(free)
    other.find((-99.0, -99.0), (-99.0, -99.0))
    blocked = passes = clear = 0
    node = NO_NODE
    for _ in range(600):
        a, b = rng.uniform(0.01, (15.99, 11.99), (2, 2)).tolist()
        found = _what_blocks(one.slots, 0, ground, *a, *b, step)
        if node >= 0:
            does = _is_blocked_by(ground, node, *a, *b, step)
            assert not does or found != CLEAR
            # on ground where it alone is not walkable
            free.ground.clearance[node] = 0.0
            assert does == (_what_blocks(other.slots, 0, free.ground, *a, *b, step) == node)
            free.ground.clearance[node] = free.ground.clearance.max()
            passes += does
        if found >= 0:
            node = found
            assert _is_blocked_by(ground, node, *a, *b, step)
        blocked, clear = blocked + (found >= 0), clear + (found == CLEAR)
    assert blocked > 50 and clear > 50 and passes > 5


def test_samples_miss_the_corner_that_a_line_cuts_between_two_of_them():
    """The line is inside the blocked cell from x = 2 to 2.05;
    points at half a cell have x = 1.8 and 2.1125.
    """
    look = looking(grid_of("....\n....\n..#.\n...."))
    a, b = (0.55, 0.5), (3.05, 3.0)
    assert not look(a, b)
    assert look(a, b, 0.5)
    assert not look(a, b, 0.05)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(25))
def test_the_string_is_the_one_of_the_document_and_no_longer_than_the_path(seed):
    cell = [1.0, 0.4][seed % 2]
    grid = random_grid(seed, [0.05, 0.15, 0.3][seed % 3], 30, 25, cell=cell)
    rng, walkable, one = np.random.default_rng(seed), cells_of(grid), OneSearch(grid)
    for _ in range(6):
        start, end = (
            tuple((np.array(random_cell(grid, rng)) + rng.uniform(0.01, 0.99, 2)) * cell) for _ in range(2)
        )
        if one.find(start, end)[0] != "found":
            continue
        middle = one.cells()[1:-1]
        waypoints, length = one.waypoints()
        line = [start, *(centre(grid, c) for c in middle), end]
        in_cells = [
            (start[0] / cell, start[1] / cell),
            *((x + 0.5, y + 0.5) for x, y in middle),
            (end[0] / cell, end[1] / cell),
        ]
        want = [
            line[in_cells.index(p)]
            for p in pulled(in_cells, lambda a, b, walkable=walkable: sees(walkable, a, b))
        ]
        assert [start, *waypoints] == want
        assert length == pytest.approx(length_of([start, *waypoints]), rel=1e-12)
        assert length <= length_of(line) * (1.0 + 1e-12)


def test_the_first_waypoint_is_left_out_where_the_agent_is_there_already():
    grid = grid_of("....\n.##.\n....")
    one = OneSearch(grid)
    one.find((0.9, 2.9), (3.2, 0.7))
    assert one.waypoints()[0][0] != (0.5, 2.5)
    one.find((0.9, 2.9), (3.2, 0.7))
    assert one.waypoints(trim=0.5)[0][0] == (0.5, 2.5)  # 0.566 cells from the centre
    one.find((0.6, 2.6), (3.2, 0.7))
    assert one.waypoints(trim=0.5)[0][0] != (0.5, 2.5)


def test_the_last_waypoint_is_the_very_point_asked_for_or_the_centre_of_another_cell():
    grid = grid_of("....\n....\n..##")
    one = OneSearch(grid)
    one.find((0.5, 2.5), (3.2, 1.1))
    assert one.waypoints()[0][-1] == (3.2, 1.1)
    one.find((0.5, 2.5), (3.2, 0.9))  # blocked: the nearest cell is the one above
    assert one.waypoints()[0][-1] == (3.5, 1.5)


def test_a_target_in_the_agents_own_cell_is_one_waypoint():
    grid = grid_of("....")
    one = OneSearch(grid)
    assert one.find((0.1, 0.1), (0.9, 0.8))[0] == "found"
    assert one.waypoints() == ([(0.9, 0.8)], pytest.approx(math.hypot(0.8, 0.7)))


def test_a_start_off_the_ground_is_led_to_the_cell_it_was_moved_to():
    grid = grid_of("#....\n#....\n#####")
    one = OneSearch(grid)
    one.find((0.1, 0.1), (4.5, 2.5))
    waypoints, _ = one.waypoints()
    assert waypoints[0] == (1.5, 1.5) and waypoints[-1] == (4.5, 2.5)
