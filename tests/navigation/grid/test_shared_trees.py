"""A backward search that bodies of several widths share on a grid lengthens nobody's way, and draws only who goes to its root."""

import numpy as np
import pytest

from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.parameters import WayParameters
from crowdsim.navigation.grid.planner import GridPlanner
from tests.navigation.grid.worlds import NAMES, cell_of_node, cells_of, node_of, random_grid
from tests.reference.grid_search import costs_from

ALL = 1 << 40


def ask(planner, entity, position, goal, radius, standers=None):
    """Ask for ways while some stand about; return the answers and the expansions."""
    where = np.zeros((0, 2)) if standers is None else standers
    planner.stand(np.arange(len(where)) + 1000, where, np.full(len(where), 0.8))
    count = len(entity)
    planner.submit(0, np.asarray(entity), position, np.full(count, -1), np.broadcast_to(goal, count).astype(np.int32), np.broadcast_to(radius, count))
    return planner.advance(ALL, Team(1))


class World:
    """Open ground with blocked cells here and there, goals with somebody standing on them, and bodies whose radii lie on both sides of steps of 0.1 m."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.grid = random_grid(seed, rng.uniform(0.02, 0.07), 40, 30, cell=0.5, widest_body=0.8)
        self.target = rng.uniform(0.0, (20.0, 15.0), (2, 2))
        self.position = rng.uniform(0.0, (20.0, 15.0), (60, 2))
        self.goal = rng.integers(0, 2, 60)
        self.radius = rng.choice([0.2, 0.299, 0.3, 0.31, 0.36, 0.399, 0.4, 0.499, 0.51, 0.599, 0.7], 60)
        self.radius[:12] = 0.399  # those who ask first are wide for their class
        self.standers = self.target + rng.normal(0.0, 0.1, (2, 2))

    def planner(self, share):
        return GridPlanner(self.grid, self.target, WayParameters(share_searches=share))


@pytest.mark.parametrize("seed", range(6))
def test_paths_drawn_by_a_shared_tree_cost_what_they_cost_alone_with_any_width_and_agents_on_the_goal(seed):
    world, answers = World(seed), []
    for share in (True, False):
        planner = world.planner(share)
        parts = []
        for rows, standers in ((slice(0, 30), None), (slice(30, 60), world.standers)):
            parts.append(ask(planner, np.arange(60)[rows], world.position[rows], world.goal[rows], world.radius[rows], standers)[0])
        answers.append([np.concatenate([getattr(part, name) for part in parts]) for name in ("status", "cost")])
    (status, cost), (status_alone, cost_alone) = answers
    has_way = np.isin(status_alone, [2, 3])
    assert (status == status_alone).all() and has_way.sum() > 20
    np.testing.assert_allclose(cost[has_way], cost_alone[has_way], rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_is_nowhere_above_what_is_left_for_the_thinnest_who_shares_it(seed):
    """The wider ask first, so that a tree grown for whoever asked first would miss the gaps of the others."""
    world = World(seed)
    planner, radius = world.planner(True), np.repeat([0.499, 0.45, 0.4, 0.399, 0.36, 0.31, 0.3, 0.299, 0.25, 0.2], 2)
    planner.submit(0, np.arange(20), world.position[:20], np.full(20, -1), np.zeros(20, dtype=np.int32), radius)
    shares = sorted(set(zip(planner.queue.requests["tree"].tolist(), radius.tolist())))
    planner.advance(ALL, Team(1))
    assert len({tree for tree, _ in shares}) == 3 and len(shares) == 10
    for tree, body in shares:
        root, to_go = cell_of_node(world.grid, planner._slots.root[tree]), planner._slots.to_go[tree]
        left = costs_from(cells_of(world.grid, body), root)
        assert len(left) > 500 and all(to_go[node_of(world.grid, cell)] <= cost + 1e-9 for cell, cost in left.items())


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_draws_only_who_goes_to_the_cell_that_is_its_root(seed):
    """Whose goal comes to another cell, for its width or because somebody stands there, searches alone: the same way, and no expansion more or less."""
    world = World(seed)
    planner, alone = world.planner(True), world.planner(False)
    ask(planner, np.arange(12), world.position[:12], 0, 0.31)
    (tree,) = np.flatnonzero(planner._slots.root >= 0)
    root = cell_of_node(world.grid, planner._slots.root[tree])
    drawn, apart = 0, 0
    for row in range(12, 60):
        asked = np.arange(row, row + 1), world.position[row : row + 1], 0, (0.31, 0.399)[row % 2], (None, world.standers)[row // 2 % 2]
        (shared, used), (want, used_alone) = ask(planner, *asked), ask(alone, *asked)
        if NAMES[want.status[0]] != "found":
            continue
        if tuple(np.floor(want.waypoint[-1] / 0.5).astype(int).tolist()) == root:
            drawn += used < used_alone
        else:
            apart += 1
            assert used == used_alone and shared.waypoint.tobytes() == want.waypoint.tobytes()
    assert drawn > 5 and apart > 5
