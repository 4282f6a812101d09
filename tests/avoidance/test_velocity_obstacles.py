"""What ClearPath and HRVO both keep, whatever their parameters: symmetries, threads, order, odd crowds."""

import numpy as np
import pytest

from crowdsim.avoidance.model import NOBODY, NOT_ASKED, RELAXED
from crowdsim.kernels.threads import Team
from crowdsim.tunable import tunables
from tests.avoidance.crowds import random_view, view_of
from tests.avoidance.models import MOVES, choose, flipped, model_named, moved
from tests.avoidance.test_orca import PLAN

KINDS = {
    "clearpath": ("clearpath", {}),
    "clearpath, butt end": ("clearpath", {"tip": "butt", "boundary_choice": "nearest", "side_bias": 0.3}),
    "clearpath, weighted": (
        "clearpath",
        {"boundary_choice": "weighted", "sideways_cost": 0.6, "steadiness": 0.3},
    ),
    "hrvo": ("hrvo", {}),
    "hrvo, nearest": ("hrvo", {"side_pull": 0.0}),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
@pytest.mark.parametrize("seed", range(3))
def test_mirrored_and_turned_crowds_choose_mirrored_and_turned_velocities(kind, seed):
    name, parameters = KINDS[kind]
    view = random_view(
        seed, 200, density=[0.5, 1.0, 2.0][seed], active=np.random.default_rng(seed).uniform(size=200) > 0.1
    )
    expected = choose(name, view, side="right", **parameters)
    assert np.count_nonzero(expected.diagnosis == RELAXED) > 5
    for what, (move, mirrors) in MOVES.items():
        out = choose(name, moved(view, move), side="left" if mirrors else "right", **parameters)
        assert (out.velocity == move(expected.velocity)).all(), what
        assert (out.diagnosis == expected.diagnosis).all(), what


@each_kind
@pytest.mark.parametrize("seed", range(2))
def test_mirrored_plans_choose_mirrored_velocities(kind, seed):
    name, parameters = KINDS[kind]
    rng = np.random.default_rng(seed)
    view = view_of(
        rng.uniform((0.0, 0.0), (9.0, 7.0), (60, 2)),
        rng.normal(size=(60, 2)),
        rng.normal(size=(60, 2)),
        walls=PLAN,
    )
    expected = choose(name, view, side="right", time_horizon_walls=1.0, **parameters)
    move, _ = MOVES["mirror x"]
    out = choose(name, moved(view, move, flipped(PLAN)), side="left", time_horizon_walls=1.0, **parameters)
    assert (out.velocity == move(expected.velocity)).all()


@each_kind
def test_the_order_of_agents_changes_nothing(kind):
    name, parameters = KINDS[kind]
    view, order = random_view(6, 300), np.random.default_rng(1).permutation(300)
    expected = choose(name, view, **parameters)
    shuffled = view_of(
        view.position[order],
        view.velocity[order],
        view.preferred_velocity[order],
        radius=view.radius[order],
        speed=view.maximum_speed[order],
    )
    assert (choose(name, shuffled, **parameters).velocity == expected.velocity[order]).all()


@pytest.mark.sample(3)
@each_kind
def test_the_number_of_threads_changes_nothing(kind):
    name, parameters = KINDS[kind]
    view = random_view(5, 4000, density=1.5)
    expected = choose(name, view._replace(reach=view.reach.copy()), **parameters)
    for threads in (2, 3, 7):
        team = Team(threads)
        out = choose(name, view._replace(reach=view.reach.copy()), team=team, **parameters)
        team.close()
        for mine, theirs in zip(out, expected, strict=True):
            assert (mine == theirs).all()


@each_kind
def test_what_reach_says_changes_nothing(kind):
    name, parameters = KINDS[kind]
    view = random_view(8, 300, density=3.0)
    expected = choose(name, view._replace(reach=view.reach.copy()), **parameters)
    for guess in (0.0, 0.3, 4.0, np.inf, -3.0, np.nan):
        assert (
            choose(name, view._replace(reach=np.full(300, guess, np.float32)), **parameters).velocity
            == expected.velocity
        ).all()


@each_kind
def test_an_agent_that_nobody_hinders_keeps_its_preferred_velocity_bit_for_bit(kind):
    name, parameters = KINDS[kind]
    view = random_view(3, 300, density=0.05)
    slow = view._replace(preferred_velocity=view.preferred_velocity * 0.2, velocity=view.velocity * 0.1)
    out = choose(name, slow, **parameters)
    free = out.blocker == NOBODY
    assert free.mean() > 0.5
    assert (out.velocity[free] == slow.preferred_velocity[free]).all()


@each_kind
def test_standing_agents_are_avoided_whole_and_count_as_still(kind):
    name, parameters = KINDS[kind]
    view = view_of(
        [[0.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]], active=[1, 0]
    )
    out = choose(name, view._replace(velocity=np.array([[1.0, 0.0], [0.0, 0.0]])), **parameters)
    same = choose(name, view, **parameters)
    assert (out.velocity == same.velocity).all()
    assert out.velocity[1].tolist() == [0.0, 0.0]
    assert out.diagnosis[1] == NOT_ASKED


@each_kind
def test_an_agent_on_another_floor_is_no_neighbour(kind):
    name, parameters = KINDS[kind]
    view = view_of(
        [[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]], layer=[0, 1]
    )
    out = choose(name, view, **parameters)
    assert (out.velocity == view.preferred_velocity).all()
    assert out.neighbour_count.tolist() == [0, 0]


@each_kind
@pytest.mark.parametrize(
    "view",
    [
        view_of(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2))),
        view_of([[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]], speed=0.0),
        view_of([[0.0, 0.0], [0.1, 0.0]], np.zeros((2, 2)), np.ones((2, 2)), speed=0.0),
        view_of([[0.0, 0.0], [0.1, 0.0]], np.ones((2, 2)), np.ones((2, 2)), radius=0.0),
        view_of(np.zeros((30, 2)), np.zeros((30, 2)), np.ones((30, 2)), radius=0.0),
        view_of(np.zeros((600, 2)), np.zeros((600, 2)), np.ones((600, 2))),
        view_of(
            [[0.0, 0.0], [50.0, 0.0]],
            [[1.0, 0.0], [-1.0, 0.0]],
            [[1.0, 0.0], [-1.0, 0.0]],
            radius=[40.0, 0.2],
        ),
        view_of([[0.0, 0.0], [0.4, 0.0]], np.zeros((2, 2)), [[1.0, 0.0], [-1.0, 0.0]]),
        view_of([[0.0, 0.0], [1.0, 0.0]], np.zeros((2, 2)), np.zeros((2, 2))),
    ],
    ids=[
        "nobody",
        "no speed, alone",
        "no speed, overlapping",
        "no radius",
        "points in one place",
        "discs in one place",
        "a giant",
        "just touching",
        "no wish",
    ],
)
def test_odd_crowds_give_numbers_within_the_speed_limit(kind, view):
    name, parameters = KINDS[kind]
    out = choose(name, view, **{**parameters, "neighbour_distance": 100.0})
    speed = np.hypot(out.velocity[:, 0], out.velocity[:, 1])
    assert np.isfinite(out.velocity).all()
    assert (speed <= view.maximum_speed * (1.0 + 1e-15)).all()


@each_kind
def test_coincident_agents_part_by_entity(kind):
    name, parameters = KINDS[kind]
    out = choose(
        name, view_of([[1.0, 1.0], [1.0, 1.0]], np.zeros((2, 2)), [[0.0, 1.0], [0.0, 1.0]]), **parameters
    )
    assert out.velocity[0, 0] > 0.5
    assert out.velocity[1, 0] < -0.5


@each_kind
def test_an_exactly_head_on_pair_passes_on_the_declared_side(kind):
    name, parameters = KINDS[kind]
    view = view_of([[0.0, 0.0], [3.0, 0.0]], [[1.3, 0.0], [-1.3, 0.0]], [[1.3, 0.0], [-1.3, 0.0]])
    for side, sign in (("right", -1.0), ("left", 1.0)):
        out = choose(name, view, side=side, **parameters)
        assert sign * out.velocity[0, 1] > 0.05  # heading +x: the right is -y
        assert (out.velocity[0] == -out.velocity[1]).all()
        assert out.blocker.tolist() == [2, 1]


@pytest.mark.parametrize("name", ["clearpath", "hrvo"])
def test_parameters_declare_ranges_reasons_and_sources(name):
    declared = list(tunables(model_named(name).Parameters))
    assert len(declared) > 4
    assert all(tunable.why and tunable.source for tunable in declared)
