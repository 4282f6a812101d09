"""A backward search that agents of several widths share on a grid lengthens no path,
and draws only searches to its root.
"""

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.grid import Area, build_grid
from crowdsim.navigation.grid.parameters import GridParameters, PathParameters
from crowdsim.navigation.grid.planner import GridPlanner
from tests.navigation.grid.worlds import NAMES, cell_of_node, cells_of, node_of, random_grid
from tests.reference.grid_search import costs_from, square

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


class Pockets:
    """Ground that is cut into many parts, and more agents than cells in some of them."""

    def __init__(self, seed, goals=1, radii=(0.2, 0.21, 0.25)):
        rng = np.random.default_rng(seed)
        self.grid = random_grid(seed, 0.28, 50, 40, cell=0.5, widest_body=0.8)
        self.target = rng.uniform(0.0, (25.0, 20.0), (goals, 2))
        self.position = rng.uniform(0.0, (25.0, 20.0), (120, 2))
        self.radius = rng.choice(radii, 120)
        self.stationary = self.position[:6]

    def ask(self, share, stationary=None):
        """The planner, answers and expansions of all agents with all goals to choose from."""
        planner = GridPlanner(self.grid, self.target, PathParameters(share_searches=share))
        where = np.zeros((0, 2)) if stationary is None else stationary
        planner.stand(np.arange(len(where)) + 1000, where, np.full(len(where), 0.8))
        planner.submit(
            0, np.arange(120), self.position, np.full(120, -1), np.zeros(120, dtype=np.int32), self.radius,
            [np.arange(len(self.target))],
        )  # fmt: skip
        return planner, *planner.advance(ALL, Team(1))

    def parts(self, radius):
        """The parts of the ground, as the costs from one of their cells."""
        left, found = cells_of(self.grid, radius), []
        while left:
            found.append(costs_from(cells_of(self.grid, radius), min(left)))
            left = left - set(found[-1])
        return found


@pytest.mark.parametrize("goals", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_tree_knows_of_each_part_that_is_cut_off_which_cell_is_nearest_and_how_far_it_is_there(seed, goals):
    world = Pockets(seed, goals)
    planner, _, _ = world.ask(share=True)
    (tree,) = np.flatnonzero(planner._slots.root >= 0)
    roots = [cell_of_node(world.grid, each) for each in planner._slots.roots[tree, :goals] if each >= 0]
    to_go, walkable, cut_off = planner._slots.to_go[tree], cells_of(world.grid, 0.2), 0
    for part in world.parts(0.2):
        known = {cell: to_go[node_of(world.grid, cell)] for cell in part}
        if any(root in part for root in roots):
            assert min(known.values()) == 0.0
            continue
        cut_off += 1
        away = {cell: min(square(cell, root) for root in roots) for cell in part}
        nearest = [cell for cell, value in known.items() if value == -1.0]
        assert set(nearest) == {cell for cell in part if away[cell] == min(away.values())}
        costs = [costs_from(walkable, cell) for cell in nearest]
        assert {cell: -1.0 - value for cell, value in known.items()} == pytest.approx(
            {cell: min(each[cell] for each in costs) for cell in part}
        )
    assert cut_off > 5


@pytest.mark.parametrize("radii", [[0.25], [0.2, 0.21, 0.25]])
@pytest.mark.parametrize("goals", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_agents_that_are_cut_off_go_as_near_as_those_that_search_alone_whatever_their_width(
    seed, goals, radii
):
    world = Pockets(seed, goals, radii)
    for stationary in (None, world.stationary):
        (_, shared, _), (_, alone, _) = (world.ask(share, stationary) for share in (True, False))
        assert (shared.status == alone.status).all()
        ends = [
            [
                each.waypoint[last - 1] if last > first else at
                for first, last, at in zip(each.start, each.start[1:], world.position)
            ]
            for each in (shared, alone)
        ]
        away = [
            np.min(np.hypot(*(np.array(end)[:, None] - world.target[None]).transpose(2, 0, 1)), axis=1)
            for end in ends
        ]
        found = np.isin(alone.status, [2, 3])
        assert np.count_nonzero(~found) > 20
        assert away[0][~found] == pytest.approx(away[1][~found], abs=0.75)  # the goal is not a cell's middle
        same = np.all(np.isclose(*map(np.array, ends)), axis=1)
        assert same[~found].all()
        assert shared.cost == pytest.approx(alone.cost)


@pytest.mark.parametrize("has_stationary", [False, True])
def test_with_a_goal_that_is_walled_in_each_search_goes_straight_to_its_wall(has_stationary):
    room = shapely.box(20, 10, 24, 14).boundary.buffer(0.5)
    grid = build_grid(
        [Area("hall", shapely.box(0, 0, 40, 30))], [room], GridParameters(object_padding=0.0, cell_size=0.25)
    )
    rng, cells = np.random.default_rng(3), len(cells_of(grid, 0.2))
    position = np.column_stack([rng.uniform(1, 18, 60), rng.uniform(1, 29, 60)])
    # agents on the cells that are nearest: no path leads round them
    ring = shapely.box(19, 9, 25, 15).exterior
    beside = shapely.get_coordinates(shapely.line_interpolate_point(ring, np.arange(0.0, 24.0, 0.4)))
    where = beside if has_stationary else None
    planners = [
        GridPlanner(grid, np.array([[22.1, 12.1]]), PathParameters(share_searches=share))
        for share in (True, False)
    ]
    (shared, used), (alone, used_alone) = (
        ask(planner, np.arange(60), position, 0, 0.2, where) for planner in planners
    )
    assert {NAMES[status] for status in shared.status} == {NAMES[status] for status in alone.status}
    assert {NAMES[status] for status in shared.status} == {"nearest reachable"}
    last = shared.start[1:] - 1
    assert np.hypot(*(shared.waypoint[last] - [22.1, 12.1]).T) == pytest.approx(2.8, abs=0.2)
    # the tree looks at all cells twice, each search at little more than its path; alone each looks at all
    assert used < 2.2 * cells + 1.5 * shared.cost.sum() / 0.25
    assert used_alone > 55 * cells


def test_of_places_that_are_equally_near_each_agent_goes_to_the_one_on_its_side():
    """They all walked to one of the four, round the room."""
    room = shapely.box(16, 11, 24, 19).boundary.buffer(0.5, join_style="mitre")
    grid = build_grid(
        [Area("hall", shapely.box(0, 0, 40, 30))], [room], GridParameters(object_padding=0.0, cell_size=0.25)
    )
    goal = grid.x + (np.floor((20.0 - grid.x) / 0.25) + 0.5) * 0.25
    goal = np.array([[goal, grid.y + (np.floor((15.0 - grid.y) / 0.25) + 0.5) * 0.25]])
    side = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])[np.arange(80) % 4]
    position = goal + 8.0 * side + np.random.default_rng(2).uniform(-2.0, 2.0, (80, 2))
    ends = []
    for share in (True, False):
        planner = GridPlanner(grid, goal, PathParameters(share_searches=share))
        answers, _ = ask(planner, np.arange(80), position, 0, 0.2)
        ends.append(answers.waypoint[answers.start[1:] - 1])
    assert np.array_equal(*ends) and len(np.unique(ends[0], axis=0)) >= 2
    assert np.all(np.sum((ends[0] - goal) * side, axis=1) > -0.5)


def test_a_tree_over_parts_that_are_cut_off_is_the_same_in_any_slices_and_when_it_is_restored():
    world = Pockets(1)
    whole, answers, used = world.ask(share=True)
    parts, planner = 0, GridPlanner(world.grid, world.target, PathParameters(share_searches=True))
    planner.submit(
        0, np.arange(120), world.position, np.full(120, -1), np.zeros(120, dtype=np.int32), world.radius
    )
    found, rng = [], np.random.default_rng(5)
    while planner.waiting:
        part, made = planner.advance(int(rng.integers(1, 60)), Team(1), counts_answers=False)
        found += list(zip(part.entity.tolist(), part.status.tolist(), part.cost.tolist(), strict=True))
        parts += made
        if rng.random() < 0.2:
            other = GridPlanner(world.grid, world.target, PathParameters(share_searches=True))
            other.restore(planner.state())
            planner = other
    assert found == list(
        zip(answers.entity.tolist(), answers.status.tolist(), answers.cost.tolist(), strict=True)
    )
    assert parts == used
    assert np.array_equal(planner._slots.to_go[0], whole._slots.to_go[0])
