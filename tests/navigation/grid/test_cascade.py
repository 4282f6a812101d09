"""Every target brings an agent as near as possible, round stationary agents or through them."""

import numpy as np
import pytest

from crowdsim.navigation.grid.cascade import nearest_walkable
from crowdsim.navigation.grid.search import NEED, new_generation
from tests.navigation.grid.worlds import NAMES, OneSearch, cell_of_node, cells_of, grid_of, random_grid
from tests.reference.grid_cascade import path, snapped
from tests.reference.grid_obstacles import without_stationary

ROOM = """
    .....#...
    .....#...
    .....#...
"""
DOOR = """
    ...#...
    .......
    ...#...
"""


def test_a_target_in_a_closed_room_brings_the_agent_to_the_wall_before_it():
    outcome, cell, cost, _ = OneSearch(grid_of(ROOM)).find((0.5, 1.5), (7.5, 1.5))
    assert (outcome, cell, cost) == ("nearest reachable", (4, 1), 4.0)


def test_an_enclosed_agent_stays_put():
    grid = grid_of("###..\n#.#..\n###..")
    outcome, cell, _, expanded = OneSearch(grid).find((1.5, 1.5), (4.5, 1.5))
    assert (outcome, cell, expanded) == ("enclosed", None, 1)


def test_an_agent_far_off_the_ground_is_enclosed_and_a_target_far_off_is_approached():
    grid = grid_of("....")
    assert OneSearch(grid).find((60.0, 0.5), (1.5, 0.5))[0] == "enclosed"
    assert OneSearch(grid).find((0.5, 0.5), (60.0, 0.5))[:2] == ("nearest reachable", (3, 0))
    assert OneSearch(grid).find((0.5, 0.5), (float("1e300"), 0.5))[:2] == ("nearest reachable", (3, 0))
    assert OneSearch(grid).find((0.5, 0.5), (10.0, 0.5))[:2] == ("found", (3, 0))  # within 8 cells


def test_a_path_goes_round_a_standing_agent_and_through_it_when_it_blocks_the_only_door():
    wide = grid_of("......\n......\n......")
    agent = np.array([[2.5, 1.5, 0.5]])
    one = OneSearch(wide)
    assert one.find((0.5, 1.5), (5.5, 1.5))[:3] == ("found", (5, 1), 5.0)
    outcome, _, cost, _ = one.find((0.5, 1.5), (5.5, 1.5), stationary=agent)
    assert outcome == "found" and cost == pytest.approx(3.0 + 2.0 * 2**0.5) and (2, 1) not in one.cells()
    door = OneSearch(grid_of(DOOR))
    assert door.find((0.5, 1.5), (6.5, 1.5), stationary=np.array([[3.5, 1.5, 0.5]]))[:3] == (
        "found through agents",
        (6, 1),
        6.0,
    )


def test_an_agent_on_the_target_is_walked_up_to():
    grid = grid_of("......")
    outcome, cell, _, _ = OneSearch(grid).find((0.5, 0.5), (5.5, 0.5), stationary=np.array([[5.5, 0.5, 0.5]]))
    assert (outcome, cell) == ("found", (4, 0))


def test_the_share_of_the_radius_decides_what_is_blocked():
    grid = grid_of("\n".join(["......."] * 7))
    one = OneSearch(grid)
    agent = np.array([[3.5, 3.5, 2.0]])
    blocked = {}
    for share in (0.0, 0.6, 1.0):
        one.find((0.5, 0.5), (6.5, 6.5), stationary=agent, share=share)
        mark = one.slots.mark[0].reshape(9, 9)[1:-1, 1:-1]
        blocked[share] = int(np.count_nonzero((mark >> 6 == one.slots.header[0, 1]) & (mark & 2 == 2)))
    assert blocked == {0.0: 1, 0.6: 5, 1.0: 13}  # the own cell; centres within 1.2 m; within 2 m


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(60))
def test_paths_are_those_of_the_three_searches_of_the_document(seed):
    rng = np.random.default_rng(seed)
    grid = random_grid(seed, rng.choice([0.2, 0.35, 0.5]), 16, 13, cell=0.5)
    static, one = cells_of(grid), OneSearch(grid)
    kept = grid.ground.clearance.copy()
    for _ in range(8):
        stationary = np.column_stack([rng.uniform(0, 8, (12, 2)), rng.uniform(0.1, 1.2, 12)])[
            : rng.integers(13)
        ]
        start, end = rng.uniform(-1.0, 9.0, 2), rng.uniform(-1.0, 9.0, 2)
        left = without_stationary(static, grid, stationary.tolist(), 0.6)
        from_cell, to_cell = (tuple(np.floor(p / 0.5).astype(int).tolist()) for p in (start, end))
        want = path(left, static, from_cell, to_cell, 3)
        got = one.find(
            tuple(start), tuple(end), stationary=stationary, rings=3, grant=int(rng.choice([1, 5, 1 << 40]))
        )
        assert got[:2] == want[:2]
        assert got[2] == pytest.approx(want[2], abs=1e-9)
    np.testing.assert_array_equal(grid.ground.clearance, kept)


def test_all_outcomes_occur_in_random_worlds():
    seen = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        grid = random_grid(seed, 0.4, 16, 13)
        stationary = np.column_stack([rng.uniform(0, 16, (10, 2)), np.full(10, 0.5)])
        seen.add(
            OneSearch(grid).find(
                tuple(rng.uniform(0, 13, 2)), tuple(rng.uniform(0, 13, 2)), stationary=stationary
            )[0]
        )
    assert seen == set(NAMES.values())


@pytest.mark.parametrize("seed", range(10))
def test_points_off_the_ground_are_moved_to_the_nearest_cell_of_the_smallest_ring(seed):
    rng = np.random.default_rng(seed)
    grid = random_grid(seed, 0.9, 18, 15)
    walkable, one = cells_of(grid), OneSearch(grid)
    one.slots.measure[0, NEED] = 0.0
    new_generation(one.slots, 0)
    for _ in range(60):
        point, rings = rng.uniform(-9.0, 27.0, 2), int(rng.integers(0, 9))
        node = nearest_walkable(one.slots, 0, grid.ground, *point, rings)
        want = snapped(walkable, tuple(np.floor(point).astype(int).tolist()), rings)
        assert (None if node < 0 else cell_of_node(grid, node)) == want


def test_a_ring_that_touches_at_the_same_distance_gives_the_lowest_cell():
    grid = grid_of(".#.\n###\n.#.")
    one = OneSearch(grid)
    one.slots.measure[0, NEED] = 0.0
    new_generation(one.slots, 0)
    assert cell_of_node(grid, nearest_walkable(one.slots, 0, grid.ground, 1.5, 1.5, 8)) == (0, 0)


def test_agents_of_several_radii_find_different_paths_on_one_grid():
    """A gap of one cell straight ahead, one of three further up."""
    one = OneSearch(
        grid_of(
            "\n".join(
                [
                    ".........",
                    ".........",
                    ".........",
                    "....#....",
                    "....#....",
                    ".........",
                    "....#....",
                    "....#....",
                ]
            ),
            widest_body=2.0,
        )
    )
    straight, round_about = (one.find((1.5, 2.5), (7.5, 2.5), radius=radius) for radius in (0.49, 0.5))
    assert straight[:3] == ("found", (7, 2), 6.0)
    assert round_about[:2] == ("found", (7, 2)) and round_about[2] > 8.0
    assert one.find((1.5, 2.5), (7.5, 2.5), radius=1.2)[0] == "found"
    assert one.find((1.5, 2.5), (7.5, 2.5), radius=1.5)[0] == "enclosed"
