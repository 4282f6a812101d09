"""A backward search that agents of several widths share on a grid lengthens no path,
and draws only searches to its root.
"""

import numpy as np
import pytest

from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.parameters import PathParameters
from crowdsim.navigation.grid.planner import GridPlanner
from tests.navigation.grid.worlds import NAMES, cell_of_node, cells_of, node_of, random_grid
from tests.reference.grid_search import costs_from

ALL = 1 << 40


def ask(planner, entity, position, goal, radius, stationary=None):
    """Ask for paths while some agents stand; return the answers and the expansions."""
    where = np.zeros((0, 2)) if stationary is None else stationary
    planner.stand(np.arange(len(where)) + 1000, where, np.full(len(where), 0.8))
    count = len(entity)
    planner.submit(
        0,
        np.asarray(entity),
        position,
        np.full(count, -1),
        np.broadcast_to(goal, count).astype(np.int32),
        np.broadcast_to(radius, count),
    )
    return planner.advance(ALL, Team(1))


class World:
    """Open ground with blocked cells here and there, goals with agents standing on them,
    and agents whose radii lie on both sides of steps of 0.1 m.
    """

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.grid = random_grid(seed, rng.uniform(0.02, 0.07), 40, 30, cell=0.5, widest_body=0.8)
        self.target = rng.uniform(0.0, (20.0, 15.0), (2, 2))
        self.position = rng.uniform(0.0, (20.0, 15.0), (60, 2))
        self.goal = rng.integers(0, 2, 60)
        self.radius = rng.choice([0.2, 0.299, 0.3, 0.31, 0.36, 0.399, 0.4, 0.499, 0.51, 0.599, 0.7], 60)
        self.radius[:12] = 0.399  # the first that ask are wide for their class
        self.stationary = self.target + rng.normal(0.0, 0.1, (2, 2))

    def planner(self, share):
        return GridPlanner(self.grid, self.target, PathParameters(share_searches=share))


@pytest.mark.parametrize("seed", range(6))
def test_paths_drawn_by_a_shared_tree_cost_what_they_cost_alone_for_any_width_and_with_agents_on_the_goal(
    seed,
):
    world, answers = World(seed), []
    for share in (True, False):
        planner = world.planner(share)
        parts = []
        for rows, stationary in ((slice(0, 30), None), (slice(30, 60), world.stationary)):
            parts.append(
                ask(
                    planner,
                    np.arange(60)[rows],
                    world.position[rows],
                    world.goal[rows],
                    world.radius[rows],
                    stationary,
                )[0]
            )
        answers.append(
            [np.concatenate([getattr(part, name) for part in parts]) for name in ("status", "cost")]
        )
    (status, cost), (status_alone, cost_alone) = answers
    has_path = np.isin(status_alone, [2, 3])
    assert (status == status_alone).all() and has_path.sum() > 20
    np.testing.assert_allclose(cost[has_path], cost_alone[has_path], rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_is_nowhere_above_what_is_left_for_the_thinnest_that_shares_it(seed):
    """The wider ask first, so that a tree grown for the first request would miss the gaps of the others."""
    world = World(seed)
    planner, radius = (
        world.planner(True),
        np.repeat([0.499, 0.45, 0.4, 0.399, 0.36, 0.31, 0.3, 0.299, 0.25, 0.2], 2),
    )
    planner.submit(
        0, np.arange(20), world.position[:20], np.full(20, -1), np.zeros(20, dtype=np.int32), radius
    )
    shares = sorted(set(zip(planner.queue.requests["tree"].tolist(), radius.tolist())))
    planner.advance(ALL, Team(1))
    assert len({tree for tree, _ in shares}) == 3 and len(shares) == 10
    for tree, agent in shares:
        root, to_go = cell_of_node(world.grid, planner._slots.root[tree]), planner._slots.to_go[tree]
        left = costs_from(cells_of(world.grid, agent), root)
        assert len(left) > 500 and all(
            to_go[node_of(world.grid, cell)] <= cost + 1e-9 for cell, cost in left.items()
        )


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_draws_only_searches_to_the_cell_that_is_its_root(seed):
    """An agent whose goal is in another cell, for its width or for a stationary agent there, searches alone:
    the same path, and no expansion more or less.
    """
    world = World(seed)
    planner, alone = world.planner(True), world.planner(False)
    ask(planner, np.arange(12), world.position[:12], 0, 0.31)
    (tree,) = np.flatnonzero(planner._slots.root >= 0)
    root = cell_of_node(world.grid, planner._slots.root[tree])
    drawn, apart = 0, 0
    for row in range(12, 60):
        request = (
            np.arange(row, row + 1),
            world.position[row : row + 1],
            0,
            (0.31, 0.399)[row % 2],
            (None, world.stationary)[row // 2 % 2],
        )
        (shared, used), (want, used_alone) = ask(planner, *request), ask(alone, *request)
        if NAMES[want.status[0]] != "found":
            continue
        if tuple(np.floor(want.waypoint[-1] / 0.5).astype(int).tolist()) == root:
            drawn += used < used_alone
        else:
            apart += 1
            assert used == used_alone and shared.waypoint.tobytes() == want.waypoint.tobytes()
    assert drawn > 5 and apart > 5
