"""What ClearPath and HRVO tell: from it alone their choices are made again,
and it is what the twins build.
"""

import math

import numpy as np
import pytest

from crowdsim.avoidance.explain import Reason, explain_choices
from crowdsim.avoidance.model import FEASIBLE, RELAXED, WALL, empty_choice
from crowdsim.avoidance.registry import model_named
from tests.avoidance.crowds import ONE, random_view, view_of
from tests.avoidance.models import as_dicts
from tests.avoidance.replay import depth, from_candidates, from_half_planes, obstacles_in, velocity_of
from tests.avoidance.test_orca import PLAN
from tests.reference import clearpath as twin

# Name, parameters, and the cost as the twin calls it.
KINDS = {
    "clearpath": ("clearpath", {}, {"sideways": 0.8, "steadiness": 0.2, "pull": 0.25}),
    "clearpath, butt end, left": (
        "clearpath",
        {"tip": "butt", "side": "left", "boundary_choice": "nearest"},
        {"side": -1.0},
    ),
    "hrvo": ("hrvo", {}, {"pull": 0.8}),
    "hrvo, nearest": ("hrvo", {"side_pull": 0.0}, {}),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def crowd(seed, density, walls=False, n=60):
    rng = np.random.default_rng(seed)
    active = rng.uniform(size=n) > 0.15
    if not walls:
        return random_view(seed, n, density=density, active=active)
    position = rng.uniform((0.0, 0.0), (9.0, 7.0), (n, 2))
    return view_of(
        position,
        rng.normal(size=(n, 2)),
        rng.normal(size=(n, 2)),
        radius=rng.uniform(0.05, 0.3, n),
        speed=1.8,
        active=active,
        walls=PLAN,
    )


def explained(view, name, tick=0.05, **parameters):
    """(choice, reasons of each deciding row)"""
    model, choice = (
        model_named(name)(model_named(name).Parameters(**parameters)),
        empty_choice(len(view.entity)),
    )
    model.choose(view, tick, ONE, choice)
    rows = np.flatnonzero(view.active)
    told = explain_choices(model, view, tick, rows, choice)
    return choice, {int(row): told[told["entity"] == view.entity[row]] for row in rows}


@each_kind
def test_an_agent_of_another_model_is_told_of_as_one_that_moves(kind):
    name, parameters, _ = KINDS[kind]
    view = crowd(5, 1.5)
    asked = (np.arange(len(view.entity)) % 2).astype(np.uint8)
    _, all_asked = explained(view, name, **parameters)
    _, some_asked = explained(view._replace(asked=asked), name, **parameters)
    for row in np.flatnonzero(view.active & asked).tolist():
        assert some_asked[row].tobytes() == all_asked[row].tobytes()


@pytest.mark.sample(1)
@each_kind
@pytest.mark.parametrize(("density", "walls"), [(0.5, False), (1.2, False), (2.5, False), (0.0, True)])
def test_the_choice_follows_from_what_is_told(kind, density, walls):
    name, parameters, numbers = KINDS[kind]
    view = crowd(3, density, walls)
    choice, reasons = explained(view, name, **parameters)
    costlier, from_planes = 0, 0
    for row, told in reasons.items():
        chosen, speed = velocity_of(told, Reason.CHOSEN), float(view.maximum_speed[row])
        assert chosen == tuple(choice.velocity[row])
        if Reason.HALF_PLANE in told["kind"]:  # nothing was permitted at all
            assert choice.diagnosis[row] != FEASIBLE and Reason.CANDIDATE not in told["kind"]
            assert math.dist(from_half_planes(told, speed), chosen) < 1e-3
            from_planes += 1
            continue
        assert math.dist(from_candidates(told), chosen) < 1e-5
        assert depth(told, chosen) < 3e-6
        wish = twin.scaled(
            velocity_of(told, Reason.PREFERRED),
            min(1.0, speed / math.hypot(*velocity_of(told, Reason.PREFERRED))),
        )
        cost = twin.costs(wish, tuple(view.velocity[row]), speed, {**twin.DEFAULTS, **numbers})
        best, _ = twin.best(
            [lines for lines, _, horizon in obstacles_in(told) if horizon > 0.0], speed, wish, cost
        )
        if choice.blocker[row] == 0:
            assert math.dist(best, chosen) < 1e-6
        else:
            assert cost(chosen) >= cost(best) - 5e-5  # float32 moves a velocity by some 5e-6 m/s
            # a crossing of nearly parallel lines, which float32 moves
            costlier += cost(chosen) > cost(best) + 1e-4
    assert costlier <= 1 and 0 < from_planes < 0.7 * len(reasons)


@each_kind
def test_one_obstacle_binds_the_velocity_and_it_is_that_of_the_blocker(kind):
    name, parameters, _ = KINDS[kind]
    view = crowd(5, 1.5)
    choice, reasons = explained(view, name, **parameters)
    for row, told in reasons.items():
        binding = told[(told["binds"] == 1) & np.isin(told["kind"], [Reason.OBSTACLE, Reason.HALF_PLANE])]
        assert len(binding) == (choice.blocker[row] != 0)
        assert all(binding["other"] == choice.blocker[row])
    assert np.count_nonzero(choice.blocker > 0) > 20


@pytest.mark.parametrize("kind", ["clearpath", "clearpath, butt end, left"])
@pytest.mark.parametrize("walls", [False, True])
def test_clearpaths_obstacles_are_those_of_the_twin(kind, walls):
    name, parameters, numbers = KINDS[kind]
    view = crowd(8, 0.8, walls, n=40)
    agents, numbers = as_dicts(view), {**twin.DEFAULTS, **numbers, "farther": 1.0 if "butt" in kind else 2.0}
    choice, reasons = explained(view, name, **parameters)
    compared = {"cone": 0, "half-plane": 0, "wall": 0}
    for row, told in reasons.items():
        if choice.diagnosis[row] != FEASIBLE:
            continue
        solid, soft, near = twin.obstacles_of(agents, row, numbers)
        expected = [(lines, WALL) for lines in solid] + [
            (lines, int(view.entity[i])) for lines, i in zip(soft, near)
        ]
        left = list(expected)
        for lines, other, _ in obstacles_in(told):
            match = next(one for one in left if one[1] == other and same_region(one[0], lines))
            left.remove(match)
            compared["wall" if other == WALL else "half-plane" if len(match[0]) == 1 else "cone"] += 1
        for lines, _ in left:  # left out, since it forbids no velocity of the disc
            assert (
                max(-twin.violation(line, (0.0, 0.0)) for line in lines)
                >= float(view.maximum_speed[row]) - 1e-5
            )
    assert compared["cone"] > 50 and (compared["wall"] > 10) == walls


def same_region(one, other):
    """Whether two sets of lines bound the same obstacle: each line of one is a line of the other."""
    return all(min(apart(line, each) for each in one) < 1e-4 for line in other) and all(
        min(apart(line, each) for each in other) < 1e-4 for line in one
    )


def apart(line, other):
    """How much two lines differ: in direction, and in how far from the origin they pass."""
    (p, d), (q, e) = line, other
    return max(math.dist(d, e), abs(twin.det(p, d) - twin.det(q, e)))


@pytest.mark.sample(1)
@each_kind
def test_a_relaxed_velocity_shows_which_agents_gave_way(kind):
    """ClearPath shortens the horizons of agents, HRVO lets the farthest go; walls stay as they are."""
    name, parameters, _ = KINDS[kind]
    choice, reasons = explained(crowd(2, 1.6, n=300), name, **parameters)
    seen = 0
    for row, told in reasons.items():
        cones = told[(told["kind"] == Reason.OBSTACLE)]
        if choice.diagnosis[row] == FEASIBLE:
            assert not len(cones) or cones["value"].min() > 0.0
        elif choice.diagnosis[row] == RELAXED and Reason.CANDIDATE in told["kind"]:
            seen += 1
            if name == "hrvo":
                dropped = np.flatnonzero(cones["value"] == 0.0)
                assert len(dropped) and dropped.tolist() == list(range(len(cones) - len(dropped), len(cones)))
            else:
                horizons = cones["value"][(cones["value"] != 0.05)]
                assert set(np.round(np.log2(horizons), 9)) <= set(range(-6, 1)) and horizons.max() < 2.0
    assert seen > 2


def test_a_cone_reads_as_one_would_draw_it():
    """Walking at 1 m/s towards one that stands 2 m ahead, reach 0.4 m:
    apex at rest, legs of sine 0.2, cut off 1.6 m/s ahead after a second.
    """
    view = view_of(
        [[0.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]], [[1.5, 0.0], [0.0, 0.0]], active=[1, 0], speed=1.7
    )
    choice, reasons = explained(view, "clearpath", tip="butt", time_horizon_stationary=1.0)
    (cone,), (tip,) = (reasons[0][reasons[0]["kind"] == kind] for kind in (Reason.OBSTACLE, Reason.TIP))
    cosine = math.sqrt(1.0 - 0.04)
    assert [cone[name] for name in ("x", "y", "a_x", "a_y", "b_x", "b_y")] == pytest.approx(
        [0.0, 0.0, cosine, 0.2, cosine, -0.2], abs=1e-6
    )
    assert [tip[name] for name in ("x", "y", "a_x", "a_y")] == pytest.approx([1.6, 0.0, -1.0, 0.0], abs=1e-6)
    assert (
        cone["other"] == tip["other"] == 2
        and cone["value"] == pytest.approx(1.0)
        and tip["value"] == pytest.approx(1.6, abs=1e-6)
    )
    assert choice.velocity[0] == pytest.approx([1.5, 0.0]) and not cone["binds"]


def test_bodies_without_size_have_cones_without_width():
    view = view_of([[0.0, 0.0], [2.0, 0.5]], [[1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]], radius=0.0)
    for name in ("clearpath", "hrvo"):
        _, reasons = explained(view, name)
        cones = reasons[0][reasons[0]["kind"] == Reason.OBSTACLE]
        assert np.isfinite(cones["x"]).all() and np.isfinite(cones["a_x"]).all()
