"""A* over cells finds the shortest path that cuts no corner, in any slices."""

import heapq
import itertools

import numpy as np
import pytest

from crowdsim.navigation.grid.moves import NO_STEP, STEP_X, STEP_Y, steps_allowed, steps_worth_taking
from crowdsim.navigation.grid.search import (
    GENERATION,
    HEAP_SIZE,
    LAST_GENERATION,
    NODE_BITS,
    PENDING,
    STATUS,
    advance_astar,
    begin_astar,
    new_generation,
)
from tests.navigation.grid.worlds import (
    OneSearch,
    cells_of,
    centre,
    grid_from,
    grid_of,
    random_cell,
    random_grid,
)
from tests.reference.grid_search import SQRT2, astar, costs_from, steps_from

SEEDS = range(40)


@pytest.mark.parametrize(
    ("picture", "start", "end", "cost"),
    [
        ("..\n..", (0, 0), (1, 1), SQRT2),
        (".#\n..", (0, 1), (1, 0), 2.0),
        ("..\n#.", (0, 1), (1, 0), 2.0),
        ("#.\n..", (0, 0), (1, 1), 2.0),
    ],
)
def test_a_diagonal_step_needs_both_cells_beside_it(picture, start, end, cost):
    grid = grid_of(picture)
    assert OneSearch(grid).find(centre(grid, start), centre(grid, end))[2] == pytest.approx(cost)


@pytest.mark.sample(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_path_costs_what_dijkstra_says(seed):
    rng = np.random.default_rng(seed)
    grid = random_grid(seed, blocked=rng.choice([0.0, 0.1, 0.25, 0.4]))
    walkable, one = cells_of(grid), OneSearch(grid)
    for _ in range(10):
        start, end = random_cell(grid, rng), random_cell(grid, rng)
        costs = costs_from(walkable, start)
        outcome, cell, cost, _ = one.find(centre(grid, start), centre(grid, end))
        if end in costs:
            assert (outcome, cell) == ("found", end)
            assert cost == pytest.approx(costs[end], rel=1e-12)
            path = one.cells()
            assert path[0] == start and path[-1] == end
            assert all(b in dict(steps_from(walkable, a)) for a, b in itertools.pairwise(path))
        else:
            assert outcome in ("nearest reachable", "enclosed")


@pytest.mark.parametrize("corners", ["one", "none"])
def test_the_oracle_tells_rules_for_corners_apart(corners):
    count = 0
    for seed in range(10):
        grid = random_grid(seed, 0.25)
        walkable = cells_of(grid)
        start = random_cell(grid, np.random.default_rng(seed))
        strict, loose = costs_from(walkable, start), costs_from(walkable, start, corners)
        count += sum(loose[cell] < cost - 1e-9 for cell, cost in strict.items())
    assert count > 100


@pytest.mark.parametrize("grant", [1, 2, 7, 100])
def test_slices_change_nothing(grant):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        grid = random_grid(seed, 0.3)
        start, end = centre(grid, random_cell(grid, rng)), centre(grid, random_cell(grid, rng))
        whole, sliced = OneSearch(grid), OneSearch(grid)
        assert whole.find(start, end) == sliced.find(start, end, grant=grant)
        for a, b in zip(whole.slots, sliced.slots):
            np.testing.assert_array_equal(a, b)


def test_a_grant_of_nothing_does_nothing():
    grid = grid_of("....\n....")
    one = OneSearch(grid)
    new_generation(one.slots, 0)
    begin_astar(one.slots, 0, grid.ground, 7, 10, 3, 0)
    before = [array.copy() for array in one.slots]
    assert advance_astar(one.slots, 0, grid.ground, 0) == 0
    assert one.slots.header[0, STATUS] == PENDING
    for a, b in zip(before, one.slots):
        np.testing.assert_array_equal(a, b)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(6))
def test_on_open_ground_no_more_is_expanded_than_by_a_search_that_prefers_the_larger_cost_on_ties(seed):
    rng = np.random.default_rng(seed)
    grid = grid_from(np.ones((60, 80), dtype=bool))
    walkable, one = cells_of(grid), OneSearch(grid)
    ours = theirs = 0
    for _ in range(8):
        start, end = random_cell(grid, rng), random_cell(grid, rng)
        ours += one.find(centre(grid, start), centre(grid, end))[3]
        theirs += len(astar(walkable, start, end)[1])
    assert ours <= theirs


def test_a_straight_path_over_open_ground_expands_its_own_cells_only():
    grid = grid_from(np.ones((50, 50), dtype=bool))
    for end in ((45, 5), (5, 45)):
        assert OneSearch(grid).find(centre(grid, (5, 5)), centre(grid, end))[3] == 41


@pytest.mark.parametrize("seed", range(10))
def test_what_is_expanded_below_the_cost_of_the_path_is_the_same_as_in_the_textbook(seed):
    rng = np.random.default_rng(seed)
    grid = random_grid(seed, 0.2, 40, 30)
    start, end = random_cell(grid, rng), random_cell(grid, rng)
    cost, expanded = astar(cells_of(grid), start, end)
    outcome, _, _, count = OneSearch(grid).find(centre(grid, start), centre(grid, end))
    if cost is None:
        assert outcome != "found" and count == len(expanded)
    else:
        # cells whose bound is the cost itself depend on the order of ties
        assert abs(count - len(expanded)) <= 0.05 * len(expanded) + 3


def test_a_slot_forgets_searches_before_and_starts_its_count_of_generations_anew():
    grid = random_grid(3, 0.3)
    rng = np.random.default_rng(3)
    used, one = OneSearch(grid), OneSearch(grid)
    for lap in range(30):
        if lap == 10:
            used.slots.header[0, GENERATION] = LAST_GENERATION - 5
        start, end = centre(grid, random_cell(grid, rng)), centre(grid, random_cell(grid, rng))
        one = OneSearch(grid)
        assert used.find(start, end) == one.find(start, end)
    assert used.slots.header[0, GENERATION] < 40


def costs_past_the_middle(cells, before):
    """Least costs from a cell by paths that do not enter (0, 0), which stays
    walkable beside diagonal steps.
    """
    best, queue = {}, [(0.0, before)]
    while queue:
        cost, cell = heapq.heappop(queue)
        if cell in best:
            continue
        best[cell] = cost
        for other, step in steps_from(cells, cell):
            if other != (0, 0):
                heapq.heappush(queue, (cost + step, other))
    return best


def test_steps_left_out_are_those_that_the_cell_before_makes_as_cheaply():
    """All 8 x 256 cases."""
    left_out = 0
    for arrived_by in range(8):
        for free in range(256):
            before = (-STEP_X[arrived_by], -STEP_Y[arrived_by])
            cells = {(STEP_X[d], STEP_Y[d]) for d in range(8) if free >> d & 1} | {(0, 0)}
            first = dict(steps_from(cells, before)).get((0, 0))
            if first is None or before not in cells:
                continue
            costs = costs_past_the_middle(cells, before)
            allowed, wanted = steps_allowed(free), steps_worth_taking(arrived_by, free)
            assert allowed == sum(
                1 << d for d in range(8) if (STEP_X[d], STEP_Y[d]) in dict(steps_from(cells, (0, 0)))
            )
            assert wanted & ~allowed == 0
            for d in range(8):
                cell = (STEP_X[d], STEP_Y[d])
                if (allowed & ~wanted) >> d & 1 and cell != before:
                    assert costs[cell] <= first + (SQRT2 if d % 2 else 1.0) + 1e-12
                    left_out += 1
    assert left_out > 500
    assert steps_worth_taking(NO_STEP, 0xFF) == 0xFF


def test_a_heap_that_is_full_drops_what_is_stale_and_goes_on_the_same():
    dropped = 0
    for seed in range(30):
        grid = random_grid(seed, 0.2, 40, 40)
        rng = np.random.default_rng(seed)
        start, end = centre(grid, random_cell(grid, rng)), centre(grid, random_cell(grid, rng))
        watched = OneSearch(grid)
        sizes, opens = [], []

        def watch(slots, sizes=sizes, opens=opens):
            nodes = slots.heap_entry[0, : slots.header[0, HEAP_SIZE]] & (1 << NODE_BITS) - 1
            sizes.append(len(nodes))
            opens.append(int(np.count_nonzero(slots.mark[0, nodes] & 1 == 0)))

        want = watched.find(start, end, grant=1, after_each=watch)
        room = max(opens) + 16
        tight = OneSearch(grid)
        tight.slots = tight.slots._replace(
            heap_bound=tight.slots.heap_bound[:, :room].copy(),
            heap_entry=tight.slots.heap_entry[:, :room].copy(),
        )
        assert tight.find(start, end) == want
        dropped += max(sizes) + 8 > room
    assert dropped > 0
