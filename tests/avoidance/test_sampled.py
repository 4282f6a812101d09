"""Sampled hRVO and TOI sampling against their naive twin, and in scenes with known answers."""

import math

import numpy as np
import pytest

from crowdsim.avoidance.model import FEASIBLE, INFEASIBLE, NOBODY, NOT_ASKED, RELAXED, WALL, empty_choice
from crowdsim.avoidance.neighbour_model import (
    NEIGHBOUR_FLOATS,
    NEIGHBOUR_RADIUS,
    NEIGHBOUR_SHARE,
    NEIGHBOUR_VX,
    NEIGHBOUR_VY,
    NEIGHBOUR_X,
    NEIGHBOUR_Y,
)
from crowdsim.avoidance.orca.wall_planes import MOST_WALLS, near_walls
from crowdsim.avoidance.registry import model_named
from crowdsim.avoidance.sampling import candidate_velocities, time_to_collision
from crowdsim.avoidance.sampling.toi import directions
from crowdsim.geometry.walls import wall_frame, walls_from_rings
from crowdsim.kernels.threads import Team
from crowdsim.tunable import tunables
from tests.avoidance.crowds import random_view, view_of
from tests.avoidance.sampling_states import states
from tests.avoidance.test_orca import PLAN
from tests.reference import sampled as twin

MODELS = ("sampled-hrvo", "toi")
# what its defaults are beside those of the twin
OWN = {"sampled-hrvo": {}, "toi": {"time_horizon": 2.0, "jam_distance": 1.0}}


def choose(view, name="sampled-hrvo", tick=0.05, team=None, **parameters):
    """What a sampling model with these parameters chooses."""
    model, out = model_named(name), empty_choice(len(view.entity))
    model(model.Parameters(**parameters)).choose(view, tick, team or Team(1), out)
    return out


def searched(state, name, grid=0):
    if name == "toi":
        return twin.search_circle(state, 64)
    return twin.search_grid(state, grid) if grid else twin.search_adaptively(state)


def crowded_plan(seed, n=60):
    """Agents all over a plan with corners, pillars and an L, some of them touching walls."""
    rng = np.random.default_rng(seed)
    position = rng.uniform((0.0, 0.0), (9.0, 7.0), (n, 2))
    return view_of(
        position,
        rng.normal(size=(n, 2)),
        rng.normal(size=(n, 2)),
        radius=rng.uniform(0.05, 0.35, n),
        speed=1.8,
        walls=PLAN,
    )


def assert_agrees(view, name, lines=0, exact_samples=True, numbers=None, **parameters):
    """Velocities, penalties, samples, diagnoses and blockers are those of the twin."""
    numbers = numbers or twin.Numbers(**OWN[name])
    out = choose(view, name, **parameters)
    seen = list(states(view, numbers))
    differences = []
    for row, state in seen:
        expected, velocity = searched(state, name, lines), tuple(out.velocity[row].tolist())
        differences.append(math.dist(expected.velocity, velocity))
        # where two are equally good, float32 may take the other
        assert state.penalty(velocity) == pytest.approx(expected.best, rel=2e-4)
        assert out.neighbour_count[row] == len(state.neighbours)
        if differences[-1] < 1e-4:
            assert (out.diagnosis[row], out.blocker[row]) == twin.judged(state, expected, 0.05)
            if exact_samples:
                assert out.samples[row] == expected.used
    assert np.mean(np.array(differences) < 1e-4) > 0.97  # float32 against float64; measured 1.0
    assert np.median(differences) < 1e-6


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("density", [0.3, 1.0, 2.6])
def test_a_model_agrees_with_reference_in_open_crowds(name, density):
    assert_agrees(
        random_view(
            int(density * 10), 100, density=density, active=np.random.default_rng(0).random(100) < 0.9
        ),
        name,
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(2))
def test_a_model_agrees_with_reference_among_walls(name, seed):
    assert_agrees(crowded_plan(seed), name)


def test_the_grid_agrees_with_reference():
    # The kernel leaves out velocities whose deviation alone is too dear, in batches of sixteen; the twin one
    # by one.
    assert_agrees(
        random_view(4, 40, density=1.5),
        "sampled-hrvo",
        lines=33,
        exact_samples=False,
        sampler="grid",
        grid=33,
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "change",
    [
        {"side": "left"},
        {"samples": 16},
        {"samples": 100},
        {"weight_side": 2.0, "weight_current": 0.1},
        {"horizon_share_behind": 1.0, "softening": 0.5},
        {"jam_distance": 1.0},
        {"jam_distance": 4.0},
    ],
)
def test_parameters_agree_with_reference(change):
    numbers = twin.Numbers(**{key: {"left": -1.0}.get(value, value) for key, value in change.items()})
    assert_agrees(random_view(7, 60, density=1.5), "sampled-hrvo", numbers=numbers, **change)


def obstacles_of(view, row):
    """What the agent in a row sees, the kernels' table of it, and the counts of discs of neighbours,
    all discs, slabs.
    """
    state = dict(states(view, twin.Numbers(), rows=[row]))[row]
    table, neighbours, preferred_velocities = (
        np.zeros(count, np.float32)
        for count in (time_to_collision.OBSTACLE_FLOATS, NEIGHBOUR_FLOATS, time_to_collision.PREFERRED_FLOATS)
    )
    areas = (NEIGHBOUR_X, NEIGHBOUR_Y, NEIGHBOUR_VX, NEIGHBOUR_VY, NEIGHBOUR_RADIUS, NEIGHBOUR_SHARE)
    for place, disc in enumerate(state.neighbours):
        other = int(np.flatnonzero(view.entity == disc.entity)[0])
        for area, value in zip(areas, [*disc.centre, *view.velocity[other], view.radius[other], 0.5]):
            neighbours[int(area) + place] = value
        (
            preferred_velocities[int(time_to_collision.PREFERRED_X) + place],
            preferred_velocities[int(time_to_collision.PREFERRED_Y) + place],
        ) = view.preferred_velocity[other]
    u, f = np.uint64, np.float32
    time_to_collision.lay_out_neighbours(
        neighbours,
        preferred_velocities,
        u(len(state.neighbours)),
        *(
            f(x)
            for x in (
                *view.velocity[row],
                *state.wish,
                view.radius[row],
                state.speed,
                2.5,
                0.4,
                2.25**2 - 1.0,
                1.0,
            )
        ),
        table,
    )
    frame, found = wall_frame(view.walls), np.zeros(MOST_WALLS, np.int64)
    x, y, radius = *view.position[row], view.radius[row]
    count = near_walls(
        frame.shape,
        frame.zone_wall,
        frame.zone_start[0],
        frame.zone_start[1],
        x,
        y,
        state.speed * 0.5 + radius,
        np.zeros(MOST_WALLS),
        found,
    )
    discs = time_to_collision.lay_out_walls(
        frame.shape, frame.link, found, count, x, y, radius, 0.5, 1.0, table, u(len(state.neighbours))
    )
    return state, table, u(len(state.neighbours)), u(discs), u(count)


def test_first_collision_agrees_with_reference():
    view, rng = crowded_plan(5), np.random.default_rng(5)
    hit = 0
    for row in range(0, 60, 3):
        state, table, _, discs, slabs = obstacles_of(view, row)
        assert (discs, slabs) == (len(state.neighbours) + len(state.ends), len(state.slabs))
        for velocity in rng.normal(size=(10, 2)):
            urgency, which = time_to_collision.first_collision(
                table, discs, slabs, np.float32(velocity[0]), np.float32(velocity[1])
            )
            expected, thing = state.urgency(tuple(velocity))
            assert max(urgency, 1.0) == pytest.approx(expected, rel=2e-3)
            if thing is not None:
                hit += 1
                assert state.things[which] is thing
    assert hit > 100


@pytest.mark.parametrize("seed", range(20))
def test_take_cheapest_agrees_with_reference(seed):
    rng = np.random.default_rng(seed)
    count, wanted = int(rng.integers(0, 300)), int(rng.integers(1, 17))
    costs = np.float32(np.round(rng.exponential(size=count), 1 if seed % 2 else 6))  # with and without ties
    table, slots = (
        np.zeros(candidate_velocities.CANDIDATE_FLOATS, np.float32),
        np.zeros(candidate_velocities.CANDIDATE_SLOTS, np.uint32),
    )
    at = int(candidate_velocities.CANDIDATE_COST)
    table[at : at + count] = costs
    left, limit = list(costs), np.float32(4.0)
    while True:
        expected = twin.take_cheapest(left, wanted, limit)
        taken = int(
            candidate_velocities.take_cheapest(table, np.uint64(count), np.uint64(wanted), limit, slots)
        )
        assert slots[:taken].tolist() == expected
        if not taken:
            break
    assert sorted(np.flatnonzero(np.isinf(left)).tolist()) == np.flatnonzero(costs < 4.0).tolist()


def test_directions_are_unit_vectors_all_round():
    vectors = directions(4)
    angle = 2.0 * np.pi * np.arange(64) / 64
    assert np.abs(vectors - np.stack([np.cos(angle), np.sin(angle)], axis=1)).max() < 1e-15


@pytest.mark.parametrize("name", MODELS)
def test_a_lone_agent_keeps_its_preferred_velocity_bit_for_bit(name):
    for wish in np.random.default_rng(0).normal(size=(50, 2)) * 0.3:
        out = choose(view_of([[4e5, 5e6]], [[0.3, 0.1]], [wish]), name)
        assert out.velocity[0].tolist() == wish.tolist()
        assert (out.diagnosis[0], out.blocker[0], out.neighbour_count[0]) == (FEASIBLE, NOBODY, 0)


def test_an_agent_that_is_far_from_all_others_stops_after_the_first_batch():
    out = choose(view_of([[0.0, 0.0], [4.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]))
    assert (out.samples <= 16).all() and (out.samples > 0).all()
    assert (out.velocity == [[0.0, 1.0], [0.0, 1.0]]).all()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("side", "sign"), [("right", 1.0), ("left", -1.0)])
def test_two_that_go_straight_at_each_other_pass_on_the_preferred_side(name, side, sign):
    out = choose(
        view_of([[0.0, 0.0], [3.0, 0.0]], [[1.3, 0.0], [-1.3, 0.0]], [[1.3, 0.0], [-1.3, 0.0]], speed=1.7),
        name,
        side=side,
    )
    assert sign * out.velocity[0, 1] < -0.05  # to the right of +x is -y
    assert (out.velocity[1] == -out.velocity[0]).all()
    assert (out.diagnosis == FEASIBLE).all()
    assert out.blocker.tolist() == [2, 1]


def test_an_agent_that_crosses_in_front_is_passed_behind():
    # From the left to the right, a little ahead: the other one is on the way to the right, so the left of it
    # is free.
    out = choose(
        view_of([[0.0, 0.0], [2.0, 1.0]], [[1.2, 0.0], [0.0, -1.2]], [[1.2, 0.0], [0.0, -1.2]], speed=1.5)
    )
    assert out.velocity[0, 1] >= 0.0


def test_one_that_stands_is_avoided_whole():
    standing = choose(
        view_of([[0.0, 0.0], [2.0, 0.05]], [[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], active=[1, 0])
    )
    state = dict(
        states(
            view_of(
                [[0.0, 0.0], [2.0, 0.05]], [[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], active=[1, 0]
            ),
            twin.Numbers(),
        )
    )[0]
    # with its whole velocity it passes
    assert state.neighbours[0].impact(tuple(standing.velocity[0])) == math.inf
    assert standing.velocity[1].tolist() == [0.0, 0.0]
    assert standing.diagnosis.tolist() == [FEASIBLE, NOT_ASKED]
    assert standing.samples[1] == 0


def test_toi_walks_at_full_speed_or_stands():
    view = random_view(3, 300, density=2.0)
    speed = np.hypot(*choose(view, "toi").velocity.T)
    full = np.minimum(np.hypot(*view.preferred_velocity.T), view.maximum_speed)
    assert (np.isclose(speed, full, rtol=1e-5) | (speed == 0.0)).all()
    assert (speed > 0.0).mean() > 0.8


def test_sampled_hrvo_slows_down_behind_a_slower_one_where_there_is_no_room():
    alley = walls_from_rings([np.array([[-9.0, -0.22], [9.0, -0.22], [9.0, 0.22], [-9.0, 0.22]])])
    out = choose(
        view_of([[0.0, 0.0], [0.8, 0.0]], [[1.2, 0.0], [0.3, 0.0]], [[1.2, 0.0], [0.3, 0.0]], walls=alley)
    )
    assert 0.3 <= out.velocity[0, 0] < 0.9
    assert out.blocker[0] == 2


def test_in_a_jam_those_of_ones_own_way_are_no_walls():
    """At rest, one of its own way beside it and one behind it, all about to touch,
    and one that comes the other way a little to the right: it passes on the left.
    """
    position, wish = (
        [[0.0, 0.0], [0.0, 0.42], [-0.42, 0.0], [0.42, -0.15]],
        [[1.3, 0.0], [1.3, 0.0], [1.3, 0.0], [-1.3, 0.0]],
    )
    view = view_of(position, np.zeros((4, 2)), wish)
    held, free = (choose(view, **own).velocity[0] for own in ({"jam_distance": 1.0}, {}))
    assert np.hypot(*held) < 0.02
    assert (free > 0.1).all()
    walking = view_of(position, np.multiply(wish, 1.0), wish)
    assert (choose(walking, jam_distance=1.0).velocity[0] == choose(walking).velocity[0]).all()


def test_a_wall_ahead_is_not_walked_into_and_one_alongside_does_not_hinder():
    room = walls_from_rings([np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])])
    ahead = choose(view_of([[3.75, 2.0]], [[1.0, 0.0]], [[1.2, 0.3]], walls=room))
    assert ahead.velocity[0, 0] < 0.2  # at 0.1 m/s the wall is half a second away
    assert ahead.velocity[0, 1] > 0.1
    assert (ahead.diagnosis[0] != INFEASIBLE) and ahead.blocker[0] == WALL
    for gap in (0.0, 1e-9, 1e-6, 1e-3):  # touching, or nearly
        along = choose(view_of([[3.8 - gap, 2.0]], [[0.0, 1.2]], [[0.0, 1.2]], walls=room))
        assert along.velocity[0].tolist() == [0.0, 1.2]
        assert (along.diagnosis[0], along.blocker[0]) == (FEASIBLE, NOBODY)


def test_an_agent_that_is_wedged_in_still_gets_an_answer_with_its_diagnosis():
    around = [[0.0, 0.0], [0.4, 0.0], [-0.4, 0.0], [0.0, 0.4], [0.0, -0.4]]
    inwards = [[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]]
    out = choose(view_of(around, inwards, inwards))
    assert out.diagnosis[0] == RELAXED
    assert out.blocker[0] in (2, 3, 4, 5)
    assert np.isfinite(out.velocity).all()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "view",
    [
        view_of(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2))),
        view_of([[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]], speed=0.0),
        view_of([[0.0, 0.0], [0.1, 0.0]], np.zeros((2, 2)), np.ones((2, 2)), speed=0.0),
        view_of([[0.0, 0.0], [0.1, 0.0]], np.ones((2, 2)), np.ones((2, 2)), radius=0.0),
        view_of(np.zeros((30, 2)), np.zeros((30, 2)), np.ones((30, 2)), radius=0.0),
        view_of(np.zeros((600, 2)), np.zeros((600, 2)), np.ones((600, 2))),
        view_of(np.zeros((30, 2)), np.zeros((30, 2)), np.zeros((30, 2))),
        view_of(
            [[0.0, 0.0], [50.0, 0.0]],
            [[1.0, 0.0], [-1.0, 0.0]],
            [[1.0, 0.0], [-1.0, 0.0]],
            radius=[40.0, 0.2],
        ),
        view_of([[0.0, 0.0], [0.4, 0.0]], [[3.0, 0.0], [0.0, 0.0]], np.ones((2, 2))),  # faster than allowed
        view_of(
            [[0.2, 0.0], [0.0, 0.0], [4.0, 4.0]],
            np.ones((3, 2)),
            np.ones((3, 2)),
            walls=walls_from_rings([np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])]),
        ),
    ],
    ids=[
        "nobody",
        "no speed, alone",
        "no speed, overlapping",
        "no radius",
        "points",
        "pile of discs",
        "no wish",
        "a giant",
        "too fast",
        "on corners",
    ],
)
def test_odd_crowds_give_numbers_within_the_speed_limit(name, view):
    out = choose(view, name, neighbour_distance=100.0)
    speed = np.hypot(out.velocity[:, 0], out.velocity[:, 1])
    assert np.isfinite(out.velocity).all()
    assert (speed <= view.maximum_speed * (1.0 + 1e-15)).all()


@pytest.mark.parametrize("count", [0, 1, 17, 64])
@pytest.mark.parametrize("samples", [16, 17, 64, 1000])
def test_never_more_samples_are_used_than_allowed(count, samples):
    out = choose(random_view(2, 300, density=2.0), samples=samples, neighbour_count=count)
    assert (out.samples <= samples).all() and (out.samples > 0).all()
    assert (out.neighbour_count <= count).all()


def test_more_samples_are_seldom_worse():
    view, numbers = random_view(9, 150, density=2.0), twin.Numbers()
    few, many = choose(view, samples=32), choose(view, samples=128)
    gains = [
        state.penalty(tuple(few.velocity[row])) - state.penalty(tuple(many.velocity[row]))
        for row, state in states(view, numbers)
    ]
    assert np.mean(np.array(gains) > -1e-3) > 0.9
    assert np.mean(gains) > 0.0


MOVES = {
    "mirror x": (lambda a: a * (-1.0, 1.0), True),
    "mirror y": (lambda a: a * (1.0, -1.0), True),
    "quarter turn": (lambda a: np.stack([-a[:, 1], a[:, 0]], axis=1), False),
    "half turn": (lambda a: -a, False),
    "diagonal": (lambda a: a[:, ::-1], True),
}


@pytest.mark.parametrize(
    "parameters",
    [{"name": "sampled-hrvo"}, {"name": "sampled-hrvo", "sampler": "grid"}, {"name": "toi"}],
    ids=["adaptive", "grid", "toi"],
)
@pytest.mark.parametrize("seed", range(3))
def test_mirrored_and_turned_crowds_choose_mirrored_and_turned_velocities(parameters, seed):
    view = random_view(seed, 150, density=[0.5, 2.0, 3.0][seed])
    expected = choose(view, **parameters)
    for name, (move, mirrors) in MOVES.items():
        moved = view_of(
            move(view.position),
            move(view.velocity),
            move(view.preferred_velocity),
            radius=view.radius,
            speed=view.maximum_speed,
        )
        out = choose(moved, side="left" if mirrors else "right", **parameters)
        assert (out.velocity == move(expected.velocity)).all(), name
        assert (out.samples == expected.samples).all() and (out.blocker == expected.blocker).all()


@pytest.mark.parametrize("name", MODELS)
def test_an_exactly_symmetric_ring_stays_symmetric(name):
    # To rounding: the two at the same distance are ordered by entity, which turned copies are not.
    places = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.0, -2.0]])
    out = choose(view_of(places, -0.5 * places, -0.5 * places, speed=1.5), name)
    for k in range(4):
        x, y = out.velocity[k]
        assert out.velocity[(k + 1) % 4] == pytest.approx([-y, x], abs=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_mirrored_plans_choose_mirrored_velocities(name):
    view, sign = crowded_plan(8), np.array([-1.0, 1.0])
    out = choose(view, name)
    flipped = PLAN._replace(
        start=PLAN.end * sign,
        end=PLAN.start * sign,
        previous=PLAN.next,
        next=PLAN.previous,
        is_corner=PLAN.is_corner[PLAN.next],
    )
    mirrored = view_of(
        view.position * sign,
        view.velocity * sign,
        view.preferred_velocity * sign,
        radius=view.radius,
        speed=view.maximum_speed,
        walls=flipped,
    )
    assert (choose(mirrored, name, side="left").velocity == out.velocity * sign).all()


@pytest.mark.parametrize("name", MODELS)
def test_neither_threads_nor_order_nor_remembered_reach_change_anything(name):
    view = random_view(5, 2500, density=1.5)
    expected = choose(view._replace(reach=view.reach.copy()), name)
    for threads in (2, 3, 7):
        team = Team(threads)
        out = choose(view._replace(reach=view.reach.copy()), name, team=team)
        team.close()
        assert all((mine == theirs).all() for mine, theirs in zip(out, expected, strict=True))
    for guess in (0.0, 0.3, 4.0, -3.0, np.nan):
        assert (
            choose(view._replace(reach=np.full(2500, guess, np.float32)), name).velocity == expected.velocity
        ).all()
    order = np.random.default_rng(1).permutation(2500)
    shuffled = view_of(
        view.position[order],
        view.velocity[order],
        view.preferred_velocity[order],
        radius=view.radius[order],
        speed=view.maximum_speed[order],
    )
    assert (choose(shuffled, name).velocity == expected.velocity[order]).all()


@pytest.mark.parametrize("name", MODELS)
def test_lengths_and_speeds_have_no_natural_scale(name):
    view = random_view(6, 150, density=1.0)
    expected = choose(view, name)
    doubled = view_of(
        view.position * 2.0,
        view.velocity * 2.0,
        view.preferred_velocity * 2.0,
        radius=view.radius * 2.0,
        speed=view.maximum_speed * 2.0,
    )
    assert (
        np.abs(choose(doubled, name, neighbour_distance=10.0).velocity - 2.0 * expected.velocity).max() < 1e-5
    )


@pytest.mark.parametrize("name", MODELS)
def test_parameters_declare_ranges_reasons_and_sources(name):
    declared = {tunable.name: tunable for tunable in tunables(model_named(name).Parameters)}
    assert {
        "weight_preferred",
        "weight_current",
        "weight_side",
        "weight_time_to_collision",
        "softening",
        "side",
        "time_horizon",
        "time_horizon_walls",
    } < set(declared)
    assert all(tunable.why and tunable.source for tunable in declared.values())
