"""Agents with one goal share one backward search over the corners, and walk the same paths as alone."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.kernels.threads import Team
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.visibility.planner import VisibilityParameters, VisibilityPlanner
from crowdsim.navigation.visibility.trees import RADIUS_STEP_M
from tests.navigation.worlds import free_points, located, point_goals, random_ground, rooms, simple_polygon
from tests.reference.visibility_trees import distances

ALL = 10**9


class Crowd:
    """Agents that go to a few goals among walls."""

    def __init__(self, ground, agents=60, goals=3, seed=0):
        rng = np.random.default_rng(seed)
        self.mesh = build_mesh(ground).mesh
        points, _ = free_points(ground, 0.3, agents + goals, rng)
        self.goals, self.start = point_goals(self.mesh, points[:goals]), points[goals:]
        count = len(self.start)
        self.entity, self.goal = np.arange(count) + 5, (np.arange(count) % goals).astype(np.int32)
        # those on a step share trees that are tested for width
        self.radius = rng.choice([0.0, 0.1, 0.2, 0.27], count)

    def planner(self, **parameters):
        return VisibilityPlanner(self.mesh, self.goals, VisibilityParameters(**parameters))

    def submit(self, planner, rows=slice(None)):
        planner.submit(
            0,
            self.entity[rows],
            self.start[rows],
            located(self.mesh, self.start[rows]),
            self.goal[rows],
            self.radius[rows],
        )

    def paths(self, planner, slices=(ALL,), threads=1, save=False):
        """Return (what each entity got, expansions)."""
        self.submit(planner)
        team, got, made = Team(threads), {}, 0
        for budget in itertools.cycle(slices):
            if not planner.waiting:
                break
            answers, used = planner.advance(budget, team, counts_answers=False)
            assert used <= budget
            made += used
            for row, entity in enumerate(answers.entity.tolist()):
                assert entity not in got
                corridor = answers.portals[answers.start[row] : answers.start[row + 1]]
                got[entity] = (
                    int(answers.status[row]),
                    int(answers.piece[row]),
                    corridor.tobytes(),
                    planner.costs[entity],
                )
            if save:
                state = planner.state()
                planner.advance(3, team)  # what happens afterwards must not reach into what was saved
                planner = VisibilityPlanner(self.mesh, self.goals, planner.parameters)
                planner.restore(state)
        team.close()
        assert set(got) == set(self.entity.tolist())
        return got, made


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("world", [random_ground, rooms, simple_polygon], ids=lambda world: world.__name__)
def test_an_agent_that_shares_a_search_gets_the_same_path_as_alone(world, seed):
    crowd = Crowd(world(seed), seed=seed)
    assert crowd.paths(crowd.planner())[0] == crowd.paths(crowd.planner(share_searches=False))[0]


@pytest.mark.parametrize("seed", range(3))
def test_where_metres_cost_differently_too(seed):
    crowd = Crowd(random_ground(seed), seed=seed)
    cost = {"unseen_from": (tuple(crowd.start[0]), tuple(crowd.start[1])), "shun": (tuple(crowd.start[2]),)}
    assert (
        crowd.paths(crowd.planner(**cost))[0] == crowd.paths(crowd.planner(share_searches=False, **cost))[0]
    )


def test_a_building_is_searched_with_half_of_the_expansions():
    crowd = Crowd(rooms(0, 7), 300, 2)
    crowd.radius[:] = 0.0
    alone, shared = (crowd.paths(crowd.planner(share_searches=share))[1] for share in (False, True))
    assert shared < 0.5 * alone


@pytest.mark.parametrize("weight", [1.5, 10.0])
def test_with_a_weight_paths_cost_no_more_than_it_allows(weight):
    crowd = Crowd(rooms(1), 80, 2)
    best, found = (
        crowd.paths(crowd.planner(share_searches=False))[0],
        crowd.paths(crowd.planner(weight=weight))[0],
    )
    for entity, (status, _, _, cost) in found.items():
        assert status == best[entity][0]
        assert not np.isfinite(cost) or best[entity][3] * (1 - 1e-9) <= cost <= weight * best[entity][3] * (
            1 + 1e-9
        )


def test_without_a_heuristic_nothing_draws_a_search():
    crowd = Crowd(rooms(2), 30, 1)
    alone, shared = (
        crowd.paths(crowd.planner(heuristic="zero", share_searches=share)) for share in (False, True)
    )
    assert alone == shared


@pytest.mark.full
@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    slices=st.lists(st.integers(1, 400), min_size=1, max_size=8),
    threads=st.sampled_from([1, 2]),
    save=st.booleans(),
)
def test_every_slicing_gives_the_same_paths_to_the_last_bit(slices, threads, save):
    crowd = Crowd(rooms(3), 24, 2)
    assert crowd.paths(crowd.planner(), slices, threads, save) == crowd.paths(crowd.planner())


def test_an_agent_that_leaves_while_a_tree_grows_is_not_answered_and_the_others_are():
    crowd = Crowd(rooms(4), 24, 1)
    planner = crowd.planner()
    crowd.submit(planner)
    planner.advance(10, Team(1))
    planner.drop(crowd.entity[:12])
    answers, _ = planner.advance(ALL, Team(1))
    assert answers.entity.tolist() == crowd.entity[12:].tolist()


def test_an_agent_that_asks_again_and_again_does_not_share_with_itself():
    crowd = Crowd(rooms(0), 2, 1)
    planner = crowd.planner()
    for _ in range(3):
        crowd.submit(planner, slice(0, 1))
        planner.advance(ALL, Team(1))
    assert not planner._trees._wanted
    crowd.radius[:] = crowd.radius[0]
    crowd.submit(planner, slice(1, 2))
    assert len(planner._trees._wanted) == 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("radius", [0.03, 0.12, 0.27])
@pytest.mark.parametrize("seed", range(3))
def test_trees_are_those_of_the_twin(seed, radius):
    crowd = Crowd(random_ground(seed), 30, 2, seed)
    crowd.radius[:] = radius
    planner = crowd.planner()
    crowd.paths(planner, slices=(7,))
    assert len(planner._trees._wanted) == 2
    for row, (goal, low, high) in enumerate(planner._trees._wanted):
        assert low * RADIUS_STEP_M <= radius <= high * RADIUS_STEP_M and high - low == 1.0
        want = distances(
            planner.graph,
            planner.terrain.goals,
            planner.terrain.links,
            int(goal),
            low * RADIUS_STEP_M,
            high * RADIUS_STEP_M,
        )
        np.testing.assert_allclose(planner.terrain.to_go[row, : len(want)], want, rtol=1e-9, atol=1e-9)
