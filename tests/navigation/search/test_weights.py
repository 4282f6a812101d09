"""The heuristic of A* and its weight, by choice for every planner that can have one ([Norberg 2004],
section 3).
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.errors import ScenarioError
from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.parameters import PathParameters
from crowdsim.navigation.grid.search import OCTILE_WEIGHT
from crowdsim.navigation.grid.search import WEIGHT as CELL_WEIGHT
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.search.heuristic_weight import HeuristicParameters
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.navigation.search.slot_fields import BEST_TOTAL, EXPANSIONS, FOUND, HEURISTIC_WEIGHT
from crowdsim.navigation.visibility.planner import VisibilityParameters, VisibilityPlanner
from crowdsim.systems.plan import Plan
from tests.crowds import BUSY, digests, simulation
from tests.navigation.grid.worlds import OneSearch, random_grid
from tests.navigation.planning.test_planner import ALL, crowd, take
from tests.navigation.worlds import OnePlanner


def searched(scene, pull):
    """Return (costs, corridors, expansions) of searches of their own, with a weight of the straight line."""
    one, costs, cells, before = OnePlanner(scene.mesh), [], [], 0
    one.slots.measure[:, HEURISTIC_WEIGHT] = pull
    for row in range(len(scene.entity)):
        status = one.search(scene.position[row], scene.goals, scene.radius[row], goal=scene.goal[row])
        costs.append(float(one.slots.measure[0, BEST_TOTAL]) if status == FOUND else np.inf)
        cells.append(tuple(one.corridor()[0].tolist()) if status == FOUND else ())
        before = int(one.slots.header[0, EXPANSIONS])
    return np.array(costs), cells, before


def expansions_of(scene, pull):
    """Return the expansions of all searches of their own."""
    planner = MeshPlanner(scene.mesh, scene.goals, ShareParameters(share_searches=False), aim=aim(pull))
    scene.submit(planner, slice(None))
    return planner.advance(ALL, Team(1))[1]


def aim(pull):
    """Return the parameters of a weight; 0 is no heuristic."""
    return HeuristicParameters(weight=pull) if pull else HeuristicParameters(heuristic="zero")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["random", "rooms", "pillars"])
def test_on_a_mesh_a_weight_looks_at_less_and_paths_cost_at_most_that_many_times_as_much(name):
    scene = crowd(name, 60)
    best, corridors, _ = searched(scene, 1.0)
    for weight in (1.2, 2.0, 10.0):
        costs, _, _ = searched(scene, weight)
        assert np.array_equal(np.isfinite(costs), np.isfinite(best))
        there = np.isfinite(best)
        assert (costs[there] >= best[there] * (1.0 - 1e-12)).all() and (
            costs[there] <= weight * best[there] * (1.0 + 1e-12)
        ).all()
        assert expansions_of(scene, weight) < expansions_of(scene, 1.0)
    blind, same, _ = searched(scene, 0.0)
    assert np.array_equal(blind, best) and same == corridors
    assert expansions_of(scene, 0.0) > expansions_of(scene, 1.0)


def test_trees_that_are_shared_are_the_best_whatever_the_weight():
    scene = crowd("pillars", 80)

    def answers(weight, share):
        planner, found = (
            MeshPlanner(scene.mesh, scene.goals, ShareParameters(share_searches=share), aim=aim(weight)),
            {},
        )
        scene.submit(planner, slice(None))
        take(found, planner.advance(ALL, Team(1))[0])
        return found, planner

    heavy, planner = answers(5.0, True)
    best, _ = answers(1.0, False)
    shared = {
        entity
        for entity, known in zip(
            planner._known["entity"].tolist(), planner._known["count"].tolist(), strict=True
        )
        if known >= 2
    }
    keys = planner.width_class(scene.radius) + 1000 * scene.goal
    together = [row for row in range(len(keys)) if np.count_nonzero(keys == keys[row]) >= 2]
    assert shared and len(together) > 60
    for row in together:
        assert heavy[int(scene.entity[row])] == best[int(scene.entity[row])]
    assert answers(5.0, False)[0] != best  # alone, some paths are longer


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["mesh", "visibility"])
@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    slices=st.lists(st.integers(1, 400), min_size=1, max_size=8),
    pull=st.sampled_from([0.0, 1.2, 3.0]),
    share=st.booleans(),
    save=st.booleans(),
)
def test_with_every_weight_and_slicing_the_paths_are_the_same_to_the_last_bit(
    kind, slices, pull, share, save
):
    scene, team = crowd("rooms", 30), Team(1)

    def planner():
        if kind == "visibility":
            return VisibilityPlanner(
                scene.mesh,
                scene.goals,
                VisibilityParameters(weight=max(1.0, pull), heuristic="euclidean" if pull else "zero"),
            )
        return MeshPlanner(scene.mesh, scene.goals, ShareParameters(share_searches=share), aim=aim(pull))

    whole, expected = planner(), {}
    scene.submit(whole, slice(None))
    take(expected, whole.advance(ALL, team)[0])
    sliced, answers = planner(), {}
    scene.submit(sliced, slice(None))
    for number, budget in enumerate(itertools.cycle(slices)):
        if not sliced.waiting:
            break
        take(answers, sliced.advance(budget, team, counts_answers=number % 2 == 0)[0])
        if save:
            saved, sliced = sliced.state(), planner()
            sliced.restore(saved)
    assert answers == expected


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_a_grid_every_heuristic_finds_paths_as_short_and_a_weight_keeps_its_bound(seed):
    grid = random_grid(seed, 0.3, 60, 50, cell=0.5, widest_body=0.6)
    rng = np.random.default_rng(seed)
    pairs = [(tuple(rng.uniform(0, (30, 25))), tuple(rng.uniform(0, (30, 25)))) for _ in range(40)]

    def searched(pull, octile):
        one = OneSearch(grid)
        one.slots.measure[:, CELL_WEIGHT], one.slots.measure[:, OCTILE_WEIGHT] = pull, octile
        found = [one.find(*pair, rings=16) for pair in pairs]
        return (
            [(path[0], path[1]) for path in found],
            np.array([path[2] for path in found]),
            sum(path[3] for path in found),
        )

    ends, best, expansions = searched(1.0, 0.0)
    blind, octile = searched(0.0, 0.0), searched(0.0, 1.0)
    for other in (blind, octile):
        assert other[0] == ends and other[1] == pytest.approx(best, abs=1e-9)
    assert octile[2] < expansions < blind[2]
    reaches = np.array([end[0] == "found" for end in ends])
    assert reaches.sum() > 10
    for pulls in ((1.5, 0.0), (0.0, 1.5), (4.0, 0.0)):
        found_ends, costs, fewer = searched(*pulls)
        assert found_ends == ends
        assert (costs[reaches] <= sum(pulls) * best[reaches] + 1e-9).all() and (
            costs[reaches] >= best[reaches] - 1e-9
        ).all()
        assert fewer < expansions


def test_a_scenario_says_how_searches_are_drawn_for_each_planner():
    for kind, choice in (("mesh", "zero"), ("grid", "octile"), ("visibility", "zero")):
        navigation = {"kind": kind, "heuristic": choice}
        if kind == "grid":
            navigation |= {"cell_size": 0.1, "object_padding": 0.02}
        with simulation({**BUSY, "navigation": navigation}) as run:
            assert (
                run.scenario.navigation.values["heuristic"] == choice
                and run.scenario.navigation.values["weight"] == 1.0
            )
            digests(run, 3)
    with simulation({**BUSY, "navigation": {"kind": "mesh", "weight": 3, "share_searches": False}}) as run:
        assert (run.system(Plan).paths[0].planner._searches._slots.measure[:, HEURISTIC_WEIGHT] == 3.0).all()
    assert (
        PathParameters(heuristic="octile", weight=2.0).heuristic_weight == 2.0
        and HeuristicParameters(heuristic="zero").heuristic_weight == 0.0
    )


@pytest.mark.parametrize(
    "navigation, message",
    [
        ({"kind": "optimal", "weight": 2}, "shortest of all.*Take kind: mesh"),
        ({"kind": "optimal", "heuristic": "zero"}, "shortest of all.*Take kind: mesh"),
        ({"kind": "mesh", "weight": 0.5}, r"outside \[1, 100\]"),
        ({"kind": "mesh", "heuristic": "octile"}, "not one of euclidean, zero"),
        ({"kind": "grid", "heuristic": "zero", "weight": 2}, "the heuristic is zero"),
    ],
)
def test_what_cannot_be_weighed_is_refused_with_the_path_out(navigation, message):
    with pytest.raises(ScenarioError, match=f"(?s){message}"):
        simulation({**BUSY, "navigation": navigation})
