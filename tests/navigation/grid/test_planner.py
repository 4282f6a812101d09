"""The grid's planner gives the same answers for any budget, any number of threads,
and with a save in between.
"""

import itertools

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.errors import NavigationError
from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.grid import Area, build_grid
from crowdsim.navigation.grid.parameters import GridParameters, PathParameters
from crowdsim.navigation.grid.planner import BATCH, MOST_SLOTS, GridPlanner
from tests.navigation.grid.worlds import (
    NAMES,
    OneSearch,
    cell_of_node,
    centre,
    grid_of,
    random_cell,
    random_grid,
)
from tests.reference.grid_obstacles import stationary_near
from tests.reference.grid_search import costs_from

ALL = 1 << 40
NOWHERE = np.array([-1])  # a grid needs no polygon


class Crowd:
    """Agents that ask for paths among others that stand."""

    def __init__(self, seed=1, agents=150, blocked=0.38, goals=7):
        rng = np.random.default_rng(seed)
        self.grid = random_grid(seed, blocked, 40, 30, cell=0.5, widest_body=0.6)
        self.entity = np.arange(agents) + 1
        self.position = rng.uniform(0.0, (20.0, 15.0), (agents, 2))
        self.target = rng.uniform(0.0, (20.0, 15.0), (goals, 2))
        self.goal = rng.integers(0, goals, agents).astype(np.int32)
        self.radius = rng.choice([0.0, 0.1, 0.2], agents)
        self.stands = rng.uniform(size=agents) < 0.2

    def planner(self, **parameters):
        planner = GridPlanner(self.grid, self.target, PathParameters(**parameters))
        planner.stand(self.entity[self.stands], self.position[self.stands], np.full(self.stands.sum(), 0.4))
        return planner

    def submit(self, planner, rows=slice(None), tick=0):
        planner.submit(
            tick,
            self.entity[rows],
            self.position[rows],
            np.full(len(self.entity), -1)[rows],
            self.goal[rows],
            self.radius[rows],
        )

    def answers(self, budgets=(ALL,), threads=1, save=False, **parameters):
        """Return the answers and what they cost; a list of budgets is gone over again and again."""
        planner, team, answers, spent = self.planner(**parameters), Team(threads), {}, 0
        self.submit(planner)
        for budget in itertools.cycle(budgets):
            if not planner.waiting:
                break
            found, used = planner.advance(budget, team)
            assert used <= budget
            spent += used
            take(answers, found)
            if save:
                saved = planner.state()
                planner.advance(5, team)  # what happens afterwards must not reach into what was saved
                planner = GridPlanner(self.grid, self.target, PathParameters(**parameters))
                planner.restore(saved)
        team.close()
        assert set(answers) == set(self.entity.tolist())
        return answers, spent


def take(answers, found):
    """Add answers to a dictionary; no agent is answered twice."""
    for i, entity in enumerate(found.entity.tolist()):
        assert entity not in answers
        path = found.waypoint[found.start[i] : found.start[i + 1]]
        answers[entity] = int(found.status[i]), path.tobytes(), float(found.length[i]), float(found.cost[i])


def test_each_agent_gets_the_path_of_a_search_of_its_own_round_agents_that_stood_near_the_line():
    crowd = Crowd()
    answers, spent = crowd.answers(share_searches=False)
    one, total = OneSearch(crowd.grid), 0
    for row, entity in enumerate(crowd.entity.tolist()):
        end = crowd.target[crowd.goal[row]]
        standing = [
            (int(e), tuple(p))
            for e, p in zip(crowd.entity[crowd.stands], crowd.position[crowd.stands].tolist())
        ]
        near = stationary_near(entity, tuple(crowd.position[row]), tuple(end), 6.0, standing)
        discs = np.array([[*standing[i][1], 0.4] for i in near]).reshape(-1, 3)
        outcome, cell, cost, used = one.find(
            tuple(crowd.position[row]), tuple(end), crowd.radius[row], stationary=discs, rings=16
        )
        total += used
        status, path, length, metres = answers[entity]
        assert (NAMES[status], metres) == (outcome, cost * 0.5)
        if cell is None:
            assert path == b"" and length == 0.0
        else:
            waypoints, want = one.waypoints()
            assert (np.array(waypoints).tobytes(), want) == (path, length)
    assert spent == total
    assert {NAMES[answer[0]] for answer in answers.values()} >= {"found", "nearest reachable", "enclosed"}


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    slices=st.lists(st.integers(1, 3000), min_size=1, max_size=12),
    threads=st.sampled_from([1, 2]),
    save=st.booleans(),
    weight=st.sampled_from([1.0, 1.5]),
    heuristic=st.sampled_from(["euclidean", "octile", "zero"]),
    goals=st.sampled_from([2, 7]),
)
def test_every_slicing_gives_the_same_paths_to_the_last_bit(slices, threads, save, weight, heuristic, goals):
    scene, drawn = Crowd(agents=40, goals=goals), {"weight": weight, "heuristic": heuristic}
    assert scene.answers(slices, threads, save, **drawn) == scene.answers(**drawn)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("drawn", [{}, {"heuristic": "octile"}, {"weight": 3.0}], ids=str)
def test_agents_that_share_a_search_get_paths_as_short_as_alone(seed, drawn):
    crowd = Crowd(seed, 200, blocked=0.15, goals=2)
    alone, _ = crowd.answers(share_searches=False)
    shared, _ = crowd.answers(**drawn)
    for entity, (status, path, _, cost) in shared.items():
        assert status == alone[entity][0] and (path == b"") == (alone[entity][1] == b"")
        if NAMES[status] == "found" and "weight" not in drawn:
            assert cost == pytest.approx(alone[entity][3], rel=1e-12)
        assert cost <= drawn.get("weight", 1.0) * alone[entity][3] * (1.0 + 1e-12) or NAMES[status] != "found"


def test_a_hundred_agents_with_one_goal_look_at_a_quarter_of_what_they_would_alone():
    grid, rng = random_grid(1, 0.3, 120, 90), np.random.default_rng(1)
    start = np.array([centre(grid, random_cell(grid, rng)) for _ in range(100)])
    looked, cost = [], []
    for share in (True, False):
        planner = GridPlanner(grid, start[:1], PathParameters(share_searches=share))
        planner.submit(
            0, np.arange(100), start, np.full(100, -1), np.zeros(100, dtype=np.int32), np.zeros(100)
        )
        answers, used = planner.advance(ALL, Team(1))
        looked.append(used)
        cost.append(np.where(answers.status == 2, answers.cost, np.nan))
    assert looked[0] < 0.25 * looked[1] and np.isfinite(cost[0]).sum() > 90
    np.testing.assert_allclose(cost[0], cost[1], rtol=1e-12)


def test_one_tree_serves_agents_of_several_widths_and_goals_in_other_cells_are_searched_alone():
    """A goal in the wall is in another cell for a wide agent than for a thin one;
    the tree that the thin ones share leads it nowhere.
    """
    grid = grid_of("##########\n..........\n..........\n..........\n..........", cell=0.5, widest_body=1.5)
    target = np.array([[2.25, 2.25]])  # in the wall
    radius = np.array([0.0] * 6 + [0.05, 0.7])
    for share in (True, False):
        planner = GridPlanner(grid, target, PathParameters(share_searches=share))
        position = np.tile([[4.75, 0.25]], (8, 1))
        planner.submit(0, np.arange(8), position, np.full(8, -1), np.zeros(8, dtype=np.int32), radius)
        paths = planner.advance(ALL, Team(1))[0]
        if share:
            kept = paths
    np.testing.assert_allclose(kept.cost, paths.cost, rtol=1e-12)
    assert (kept.status == paths.status).all() and kept.cost[0] != kept.cost[7]


def test_a_tree_that_is_shared_holds_the_cost_of_every_cell():
    crowd = Crowd(7, 60, goals=1)
    crowd.radius[:] = 0.1
    planner = crowd.planner()
    crowd.submit(planner)
    while planner.waiting:
        planner.advance(37, Team(1))
    need = 0.1 + crowd.grid.parameters.object_padding
    clearance = crowd.grid.clearance
    walkable = clearance > np.floor(need / 0.1) * 0.1 + 1e-6
    tree, root = planner._slots.to_go[0], int(planner._slots.root[0])
    want = costs_from({(x, y) for y, x in np.argwhere(walkable).tolist()}, cell_of_node(crowd.grid, root))
    found = {
        cell_of_node(crowd.grid, node): tree[node] for node in np.flatnonzero(np.isfinite(tree)).tolist()
    }
    assert len(found) == np.count_nonzero(walkable)
    found = {cell: left for cell, left in found.items() if left >= 0.0}
    assert found.keys() == want.keys()
    assert all(found[cell] == pytest.approx(cost, rel=1e-12) for cell, cost in want.items())


@pytest.mark.parametrize("save", [False, True])
def test_a_door_that_shuts_while_a_tree_grows_makes_it_grow_anew(save):
    def scene():
        rooms = [
            Area("left", shapely.box(0, 0, 4, 4)),
            Area("right", shapely.box(5, 0, 9, 4)),
            Area("door", shapely.box(4, 1, 5, 3)),
        ]
        rooms.append(Area("path round", shapely.box(0, 4, 9, 6)))
        grid = build_grid(rooms, (), GridParameters(cell_size=0.25))
        return grid, GridPlanner(grid, np.array([[8.0, 2.0]]))

    def ask(planner):
        planner.submit(
            0,
            np.arange(9),
            np.tile([[1.0, 2.0]], (9, 1)),
            np.full(9, -1),
            np.zeros(9, dtype=np.int32),
            np.full(9, 0.2),
        )

    paths = []
    for begun in (300, 0):
        grid, planner = scene()
        if begun:
            ask(planner)
            # the tree is half grown
            assert planner.advance(begun, Team(1))[1] == begun and planner.waiting == 9
        grid.set_area_available("door", False)
        if begun and save:
            state, planner = planner.state(), GridPlanner(grid, planner.target)
            planner.restore(state)
        if not begun:
            ask(planner)
        paths.append(planner.advance(ALL, Team(1))[0])
    # 7 m through the door
    assert {NAMES[status] for status in paths[0].status} == {"found"} and paths[0].length[0] > 8.0
    np.testing.assert_array_equal(paths[0].waypoint, paths[1].waypoint)


@pytest.mark.parametrize("begun", [200, ALL])
def test_a_door_that_opens_shortens_the_paths_of_agents_that_share_a_tree(begun):
    """What the tree knew before, whole or half grown, would lead all agents round."""

    def ask(planner):
        planner.submit(
            0,
            np.arange(9),
            np.tile([[1.0, 2.0]], (9, 1)),
            np.full(9, -1),
            np.zeros(9, dtype=np.int32),
            np.full(9, 0.2),
        )

    rooms = [
        Area("left", shapely.box(0, 0, 4, 4)),
        Area("right", shapely.box(5, 0, 9, 4)),
        Area("door", shapely.box(4, 1, 5, 3), False),
    ]
    grid = build_grid(
        [*rooms, Area("path round", shapely.box(0, 4, 9, 6))], (), GridParameters(cell_size=0.25)
    )
    planner = GridPlanner(grid, np.array([[8.0, 2.0]]))
    ask(planner)
    planner.advance(begun, Team(1))
    grid.set_area_available("door", True)
    ask(planner)
    fresh = GridPlanner(grid, planner.target)
    ask(fresh)
    paths, want = planner.advance(ALL, Team(1))[0], fresh.advance(ALL, Team(1))[0]
    # the string that is pulled would be as short: round the door one sees through it
    assert want.cost.max() < 7.5
    np.testing.assert_array_equal(paths.cost, want.cost)


def test_without_a_heuristic_nothing_draws_a_search():
    crowd = Crowd(2, 60, goals=1)
    assert crowd.answers(heuristic="zero") == crowd.answers(heuristic="zero", share_searches=False)


def test_on_less_than_an_expansion_for_each_slot_the_oldest_search_goes_on():
    """The first slot is free early and takes the last request; those in the other slots come before."""
    grid = random_grid(3, 0.2, 36, 24)
    near, far = centre(grid, (0, 0)), centre(grid, (35, 23))
    planner, team = GridPlanner(grid, np.array([near, far]), PathParameters(share_searches=False)), Team(1)
    goal = np.array([0] + [1] * (MOST_SLOTS - 1), dtype=np.int32)
    planner.submit(
        0,
        np.arange(MOST_SLOTS),
        np.tile(near, (MOST_SLOTS, 1)),
        np.full(MOST_SLOTS, -1),
        goal,
        np.zeros(MOST_SLOTS),
    )
    answers, _ = planner.advance(10 * MOST_SLOTS, team, counts_answers=False)
    assert answers.entity.tolist() == [0]
    planner.submit(1, np.array([99]), np.array([near]), NOWHERE, np.array([1], dtype=np.int32), np.zeros(1))
    order = []
    while planner.waiting:
        order += planner.advance(1, team, counts_answers=False)[0].entity.tolist()
    assert order == [*range(1, MOST_SLOTS), 99]


@pytest.mark.sample(1)
@pytest.mark.parametrize("budget", [1, 3, 100, 5000])
def test_the_budget_changes_no_answer_and_no_expansion(budget):
    crowd = Crowd(2, 30 if budget < 10 else 150)
    assert crowd.answers([budget]) == crowd.answers()


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_the_number_of_threads_changes_nothing(threads):
    crowd = Crowd(3)
    assert crowd.answers([700], threads) == crowd.answers([700])


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("budget", [40, 900])
def test_a_save_in_between_changes_nothing(budget):
    crowd = Crowd(4, 60)
    assert crowd.answers([budget], save=True) == crowd.answers([budget])


@pytest.mark.parametrize("budget", [40, 900])
def test_a_planner_that_was_restored_answers_later_requests_as_the_one_that_was_saved(budget):
    """Which agents stand is still known, and later requests are answered after the others."""
    crowd, team = Crowd(8, 90), Team(1)
    saved = crowd.planner()
    crowd.submit(saved, slice(0, 45))
    saved.advance(budget, team)
    restored = GridPlanner(crowd.grid, crowd.target, PathParameters())
    restored.restore(saved.state())
    found = []
    for planner in (saved, restored):
        crowd.submit(planner, slice(45, 90))
        found.append(planner.advance(ALL, team))
    (one, used), (other, used_by_other) = found
    assert len(one.entity) > 45 and used == used_by_other
    for name in ("entity", "status", "start", "waypoint", "length", "cost"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_an_agent_that_is_dropped_is_not_answered_and_one_that_asks_again_is_answered_once():
    crowd = Crowd(5, 40)
    planner, team = crowd.planner(), Team(1)
    crowd.submit(planner)
    planner.advance(50, team)
    planner.drop(crowd.entity[:10])
    crowd.submit(planner, slice(10, 20), tick=3)
    assert planner.oldest_tick(9) == 0
    answers = {}
    while planner.waiting:
        take(answers, planner.advance(1000, team)[0])
    assert set(answers) == set(crowd.entity[10:].tolist())
    assert planner.oldest_tick(9) == 9


def test_answers_come_in_the_order_of_asking():
    crowd = Crowd(6, 3 * BATCH * MOST_SLOTS)
    planner = crowd.planner()
    crowd.submit(planner)
    answers, _ = planner.advance(ALL, Team(1))
    assert answers.entity.tolist() == crowd.entity.tolist()
    assert planner.waiting == 0 and planner.advance(10, Team(1))[1] == 0


def test_which_agents_stand_is_noted_when_a_path_is_requested():
    """The agent leaves before the search begins;
    the answer is that of the moment of asking, in one slice or in many.
    """
    grid = grid_of("......\n......\n......")
    paths = []
    for stands in (True, False):
        planner = GridPlanner(grid, np.array([[5.5, 1.5]]))
        disc = np.array([[2.5, 1.5]]), np.array([0.5])
        planner.stand(np.array([9]), *disc) if stands else None
        planner.submit(
            0, np.array([1]), np.array([[0.5, 1.5]]), NOWHERE, np.array([0], dtype=np.int32), np.array([0.0])
        )
        planner.stand(np.zeros(0, dtype=np.int64), np.zeros((0, 2)), np.zeros(0))
        planner.submit(
            0, np.array([2]), np.array([[0.5, 1.5]]), NOWHERE, np.array([0], dtype=np.int32), np.array([0.0])
        )
        answers, _ = planner.advance(ALL, Team(1))
        paths.append(answers.length.tolist())
    assert paths[0][0] > 5.1 and paths[0][1] == paths[1][0] == paths[1][1] == 5.0


def test_an_agent_is_never_in_its_own_way():
    grid = grid_of("......")
    planner = GridPlanner(grid, np.array([[5.5, 0.5]]))
    planner.stand(np.array([1]), np.array([[0.5, 0.5]]), np.array([0.5]))
    planner.submit(
        0, np.array([1]), np.array([[0.5, 0.5]]), NOWHERE, np.array([0], dtype=np.int32), np.array([0.0])
    )
    assert planner.advance(ALL, Team(1))[0].length.tolist() == [5.0]


def test_a_door_that_opens_during_a_search_begins_it_anew():
    rooms = [
        Area("left", shapely.box(0, 0, 4, 4)),
        Area("right", shapely.box(5, 0, 9, 4)),
        Area("door", shapely.box(4, 1, 5, 3), False),
    ]
    grid = build_grid(rooms, (), GridParameters(cell_size=0.25))
    planner = GridPlanner(grid, np.array([[8.0, 2.0]]))
    planner.submit(
        0, np.array([1]), np.array([[1.0, 2.0]]), NOWHERE, np.array([0], dtype=np.int32), np.array([0.2])
    )
    planner.advance(20, Team(1))
    grid.set_area_available("door", True)
    answers, used = planner.advance(ALL, Team(1))
    fresh = GridPlanner(grid, np.array([[8.0, 2.0]]))
    fresh.submit(
        0, np.array([1]), np.array([[1.0, 2.0]]), NOWHERE, np.array([0], dtype=np.int32), np.array([0.2])
    )
    want, expansions = fresh.advance(ALL, Team(1))
    assert NAMES[answers.status[0]] == "found" and used == expansions
    np.testing.assert_array_equal(answers.waypoint, want.waypoint)


def test_a_search_that_begins_anew_still_goes_round_agents_that_stood_when_it_was_requested():
    """Others were requested and answered since, with no stationary agents;
    a door that opens elsewhere makes all begin anew.
    """
    rooms = [Area("hall", shapely.box(0, 0, 12, 4)), Area("shed", shapely.box(13, 0, 14, 4), False)]
    lengths = []
    for opens in (False, True):
        grid = build_grid(rooms, (), GridParameters(cell_size=0.25))
        planner = GridPlanner(grid, np.array([[11.0, 2.0]]))
        for entity, stationary in ((1, [[3.0, 2.0]]), (2, [[6.0, 2.0], [9.0, 1.0]])):
            planner.stand(
                np.arange(len(stationary)) + 50, np.array(stationary), np.full(len(stationary), 0.8)
            )
            planner.submit(
                0,
                np.array([entity]),
                np.array([[1.0, 2.0]]),
                NOWHERE,
                np.array([0], dtype=np.int32),
                np.array([0.2]),
            )
        planner.advance(60, Team(1))  # both have begun
        planner.drop(np.array([1]))
        planner.stand(np.array([60]), np.array([[3.0, 3.5]]), np.array([0.8]))
        planner.submit(
            0, np.array([3]), np.array([[1.0, 2.0]]), NOWHERE, np.array([0], dtype=np.int32), np.array([0.2])
        )
        if opens:
            grid.set_area_available("shed", True)
        lengths.append(planner.advance(ALL, Team(1))[0].length.tolist())
    assert lengths[0] == lengths[1] and lengths[0][0] > 10.05 and lengths[0][1] == 10.0


def test_an_agent_that_is_too_wide_for_the_grid_is_refused():
    planner = GridPlanner(grid_of("..."), np.array([[0.5, 0.5]]))
    with pytest.raises(NavigationError, match=r"radius 1\.5 m"):
        planner.submit(
            0,
            np.array([1, 2]),
            np.zeros((2, 2)),
            np.zeros(2, dtype=np.int64),
            np.zeros(2, dtype=np.int32),
            np.array([0.1, 1.5]),
        )
    with pytest.raises(NavigationError, match="snap_distance: -1 m"):
        GridPlanner(grid_of("..."), np.zeros((1, 2)), PathParameters(snap_distance=-1.0))
