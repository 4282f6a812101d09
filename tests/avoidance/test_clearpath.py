"""ClearPath against its naive twin, against dense sampling, and in scenes with known answers."""

import numpy as np
import pytest

from crowdsim.avoidance.model import FEASIBLE, NOT_ASKED, RELAXED, WALL
from crowdsim.geometry.walls import walls_from_rings
from tests.avoidance.crowds import random_view, view_of
from tests.avoidance.models import as_dicts, choose
from tests.avoidance.test_orca import PLAN
from tests.reference import clearpath as twin

PLAIN = {"tip": "butt", "side_bias": 0.0, "boundary_choice": "nearest"}
# Parameters of the model, and the same as the twin calls them.
VARIANTS = {
    "plain": (PLAIN, {"farther": 1.0, "bias": 0.0}),
    "nearest": ({"boundary_choice": "nearest"}, {}),
    "progress": ({"boundary_choice": "progress", "sideways_cost": 0.4}, {"sideways": 0.4}),
    "steady": ({"boundary_choice": "steady", "steadiness": 0.5}, {"steadiness": 0.5}),
    "side": ({"boundary_choice": "side", "side_pull": 0.2}, {"pull": 0.2}),
    "weighted, left": (
        {
            "boundary_choice": "weighted",
            "sideways_cost": 0.7,
            "steadiness": 0.2,
            "side_pull": 0.3,
            "side": "left",
            "side_bias": 0.6,
            "spike_reach": 3.0,
        },
        {"sideways": 0.7, "steadiness": 0.2, "pull": 0.3, "side": -1.0, "bias": 0.6, "farther": 3.0},
    ),
}
SPEED_SLACK = 1.0 + 1e-15


def crowd(seed, walls):
    rng = np.random.default_rng(seed)
    if not walls:
        return random_view(seed, 40, density=[0.4, 0.8, 1.5][seed % 3], active=rng.uniform(size=40) > 0.15)
    position = rng.uniform((0.0, 0.0), (9.0, 7.0), (30, 2))
    return view_of(
        position,
        rng.normal(size=(30, 2)),
        rng.normal(size=(30, 2)),
        radius=rng.uniform(0.05, 0.35, 30),
        speed=1.8,
        active=rng.uniform(size=30) > 0.1,
        walls=PLAN,
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("walls", [False, True], ids=["open", "walls"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_clearpath_agrees_with_reference(variant, walls):
    parameters, numbers = VARIANTS[variant]
    numbers = {**twin.DEFAULTS, **numbers}
    apart = []
    for seed in range(3):
        view = crowd(seed, walls)
        out, agents = choose("clearpath", view, **parameters), as_dicts(view)
        for row, me in enumerate(agents["agents"]):
            velocity, diagnosis = twin.choose(agents, row, numbers)
            assert out.diagnosis[row] == diagnosis
            difference = np.abs(out.velocity[row] - velocity).max()
            apart.append(difference)
            if difference > 1e-4 and diagnosis == FEASIBLE:
                # Where two lines are nearly parallel, float32 moves their crossing, or closes a sliver
                # between obstacles: what was found costs no more.
                wish = np.array(me["preferred"]) * min(1.0, me["speed"] / np.hypot(*me["preferred"]))
                cost = twin.costs(tuple(wish), me["velocity"], me["speed"], numbers)
                assert cost(tuple(out.velocity[row])) <= cost(velocity) + 2e-3
    assert np.mean(np.array(apart) < 1e-4) >= 0.97  # measured 0.97 to 1.0
    assert np.median(apart) < 1e-6


def lines_of(obstacles):
    """Normals and offsets of all lines, and the first line of each obstacle, for `depths`."""
    normals, offsets, first = [], [], []
    for one in obstacles:
        first.append(len(normals))
        for point, direction in one:
            normals.append((-direction[1], direction[0]))
            offsets.append(direction[0] * point[1] - direction[1] * point[0])
    return np.array(normals, dtype=float).reshape(-1, 2), np.array(offsets, dtype=float), first


def depths(obstacles, velocities):
    """How deep each velocity is in the obstacle that it is deepest in; -inf where there are none."""
    normals, offsets, first = lines_of(obstacles)
    if not len(first):
        return np.full(len(velocities), -np.inf)
    inside = offsets[None, :] - velocities @ normals.T
    return np.minimum.reduceat(inside, first, axis=1).max(axis=1)


def check_by_sampling(seeds, agents=200, samples=1500):
    """Hold choices to dense samples of the disc;
    return how many states there were and how many of them left no velocity.
    """
    states, without = 0, 0
    for seed in seeds:
        rng = np.random.default_rng(90_000 + seed)
        if seed % 4 == 3:
            place = rng.uniform((0.0, 0.0), (9.0, 7.0), (agents // 4, 2))
            heading = rng.normal(size=(2, *place.shape)) * 0.8
            view = view_of(
                place,
                heading[0],
                heading[1],
                radius=rng.uniform(0.1, 0.3, len(place)),
                speed=rng.uniform(0.8, 2.0, len(place)),
                walls=PLAN,
            )
        else:
            view = random_view(
                90_000 + seed,
                agents,
                density=[0.5, 1.0, 2.0][seed % 3],
                active=rng.uniform(size=agents) > 0.1,
            )
        variant = list(VARIANTS)[seed % len(VARIANTS)]
        parameters, numbers = VARIANTS[variant]
        numbers, crowd_ = {**twin.DEFAULTS, **numbers}, as_dicts(view)
        out = choose("clearpath", view, **parameters)
        around = np.sqrt(rng.uniform(size=samples)) * np.exp(2j * np.pi * rng.uniform(size=samples))
        disc = np.stack([around.real, around.imag], axis=1)
        for row in np.flatnonzero(view.active):
            speed = view.maximum_speed[row]
            solid, soft, _ = twin.obstacles_of(crowd_, int(row), numbers)
            obstacles = [*solid, *soft]
            assert np.hypot(*out.velocity[row]) <= speed * SPEED_SLACK
            assert depths(solid, out.velocity[row : row + 1])[0] <= 1e-5, (seed, row)
            permitted = depths(obstacles, disc * speed) <= 0.0
            states += 1
            if out.diagnosis[row] == FEASIBLE:
                assert depths(obstacles, out.velocity[row : row + 1])[0] <= 1e-5, (seed, row)
                wish = view.preferred_velocity[row] * min(
                    1.0, speed / np.hypot(*view.preferred_velocity[row])
                )
                cost = twin.costs(tuple(wish), tuple(view.velocity[row]), speed, numbers)
                if permitted.any() and not np.allclose(out.velocity[row], wish, rtol=0.0, atol=1e-12):
                    best = min(cost(tuple(v)) for v in (disc * speed)[permitted][:200])
                    assert cost(tuple(out.velocity[row])) <= best + 1e-3, (seed, row)
            else:
                assert out.diagnosis[row] == RELAXED
                assert not permitted.any(), (seed, row)
                without += 1
    return states, without


@pytest.mark.parametrize(
    "seeds, least", [(range(4), 550), pytest.param(range(18), 2500, marks=pytest.mark.full)]
)
def test_a_permitted_velocity_is_found_wherever_sampling_finds_one(seeds, least):
    states, without = check_by_sampling(seeds)
    assert states > least
    assert 0.1 < without / states < 0.7  # both kinds of states are well represented


@pytest.mark.full
def test_a_permitted_velocity_is_found_in_100000_states():
    states, _ = check_by_sampling(range(100, 800))
    assert states >= 100_000


def test_a_butt_end_lets_walk_up_to_the_horizon_and_a_spike_turns_aside():
    # An agent that stands 2.4 m ahead, 0.4 m of bodies: 2 m to go in 2 s. The butt end permits 1 m/s straight
    # on, the legs a swerve by a sixth of the speed.
    view = view_of(
        [[0.0, 0.0], [2.4, 0.0]], [[1.1, 0.0], [0.0, 0.0]], [[1.1, 0.0], [0.0, 0.0]], active=[1, 0]
    )
    butt = choose("clearpath", view, **{**PLAIN, "time_horizon_stationary": 2.0})
    assert butt.velocity[0] == pytest.approx([1.0, 0.0], abs=1e-6)
    assert butt.blocker.tolist() == [2, 0]
    spike = choose("clearpath", view, **{**PLAIN, "tip": "spike", "time_horizon_stationary": 2.0})
    assert spike.velocity[0, 0] > 1.0
    assert spike.velocity[0, 1] < -0.01  # passing on the right
    # A spike that reaches one horizon is a butt end.
    same = choose(
        "clearpath", view, **{**PLAIN, "tip": "spike", "spike_reach": 1.0, "time_horizon_stationary": 2.0}
    )
    assert (same.velocity == butt.velocity).all()


def test_standing_and_moving_agents_have_horizons_of_their_own():
    for active, named, other in (
        ([1, 0], "time_horizon_stationary", "time_horizon"),
        ([1, 1], "time_horizon", "time_horizon_stationary"),
    ):
        view = view_of(
            [[0.0, 0.0], [2.4, 0.0]], [[1.1, 0.0], [0.0, 0.0]], [[1.1, 0.0], [0.0, 0.0]], active=active
        )
        long = choose("clearpath", view, **{**PLAIN, named: 4.0, other: 0.1})
        short = choose("clearpath", view, **{**PLAIN, named: 0.1, other: 4.0})
        assert long.blocker[0] == 2
        assert short.velocity[0].tolist() == [1.1, 0.0]


def test_each_of_a_moving_pair_does_half_of_what_is_needed():
    # 2.4 m apart: together they may close in by 2 m within the horizon, each by half of it. A swerve would
    # cost a sixth of the speed.
    view = view_of([[0.0, 0.0], [2.4, 0.0]], [[1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]])
    out = choose("clearpath", view, **{**PLAIN, "time_horizon": 1.05})
    assert out.velocity[0] == pytest.approx([1.0 / 1.05, 0.0], abs=1e-6)
    assert out.velocity[1] == pytest.approx([-1.0 / 1.05, 0.0], abs=1e-6)


def test_the_side_bias_lets_both_make_the_same_choice():
    # Both have begun to go right: they go on so. Had both begun to go left, they would go on with that.
    view = view_of([[0.0, 0.0], [3.0, 0.0]], [[1.2, -0.4], [-1.2, 0.4]], [[1.3, 0.0], [-1.3, 0.0]])
    biased = choose("clearpath", view, boundary_choice="nearest", side_bias=1.0)
    assert biased.velocity[0, 1] < 0.0 < biased.velocity[1, 1]
    other_way = choose(
        "clearpath",
        view._replace(velocity=view.velocity * (1.0, -1.0)),
        boundary_choice="nearest",
        side_bias=1.0,
    )
    assert other_way.velocity[1, 1] < 0.0 < other_way.velocity[0, 1]


def test_progress_walks_round_where_the_nearest_velocity_slows_down():
    # An agent that stands 1.4 m ahead: 1 m to go in 1 s.
    view = view_of(
        [[0.0, 0.0], [1.4, 0.0]], [[1.1, 0.0], [0.0, 0.0]], [[1.1, 0.0], [0.0, 0.0]], active=[1, 0]
    )
    nearest = choose("clearpath", view, **{**PLAIN, "time_horizon_stationary": 1.0})
    assert nearest.velocity[0] == pytest.approx([1.0, 0.0], abs=1e-6)
    progress = choose(
        "clearpath",
        view,
        **{**PLAIN, "time_horizon_stationary": 1.0, "boundary_choice": "progress", "sideways_cost": 0.05},
    )
    assert progress.velocity[0, 0] > 1.03
    assert abs(progress.velocity[0, 1]) > 0.2


def test_a_wall_ahead_brakes_and_is_named_and_one_behind_is_no_hindrance():
    room = walls_from_rings([np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])])
    out = choose("clearpath", view_of([[3.5, 2.0]], [[1.0, 0.0]], [[1.2, 0.3]], walls=room), **PLAIN)
    assert out.velocity[0] == pytest.approx([(0.5 - 0.2) / 0.5, 0.3], abs=1e-6)
    assert out.blocker.tolist() == [WALL]
    assert choose("clearpath", view_of([[4.5, 2.0]], [[-1.0, 0.0]], [[-1.2, 0.0]], walls=room)).velocity[
        0
    ].tolist() == [-1.2, 0.0]
    for x in (4.0, 4.0 + 5e-4):  # clipped to the wall
        assert (
            choose("clearpath", view_of([[x, 2.0]], [[0.0, 0.0]], [[1.0, 0.0]], walls=room)).velocity[0, 0]
            <= 1e-6
        )


def test_a_slit_narrower_than_the_body_can_be_walked_along():
    slit = walls_from_rings([np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 0.3], [0.0, 0.3]])])
    wedged = choose(
        "clearpath",
        view_of([[3.0, 0.14]], [[0.0, 0.3]], [[1.0, 0.2]], walls=slit),
        **{**PLAIN, "time_horizon_walls": 2.0},
    )
    assert wedged.velocity[0] == pytest.approx([1.0, 0.0], abs=3e-6)
    assert wedged.diagnosis[0] == FEASIBLE


def surrounded(gap):
    """An agent that wants to go on in the middle of a tight ring that walks at it."""
    angle = 2.0 * np.pi * np.arange(9) / 9
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return view_of(
        [[0.0, 0.0], *(ring * (0.4 + gap))], [[0.0, 0.0], *(-ring * 1.2)], [[1.2, 0.1], *(-ring * 1.2)]
    )


@pytest.mark.parametrize("gap", [0.3, 0.1, 0.02, -0.05])
def test_where_nothing_is_permitted_the_latest_collisions_give_way_first_and_it_is_said(gap):
    out = choose("clearpath", surrounded(gap))
    assert out.diagnosis[0] == RELAXED
    assert out.blocker[0] > 0
    assert np.isfinite(out.velocity).all()
    # nobody collides within the longest horizon that leaves a velocity; closer, not even a tick does
    if gap >= 0.1:
        agents = as_dicts(surrounded(gap))
        numbers = {**twin.DEFAULTS, "sideways": 0.8, "steadiness": 0.2, "pull": 0.25}
        kept = [
            halvings
            for halvings in range(7)
            if depths(twin.obstacles_of(agents, 0, numbers, 2.0**halvings)[1], out.velocity[:1])[0] <= 1e-5
        ]
        assert kept, "the collisions that are kept off are the nearest ones"
        disc = np.stack(
            np.meshgrid(np.linspace(-1.34, 1.34, 201), np.linspace(-1.34, 1.34, 201)), axis=-1
        ).reshape(-1, 2)
        disc = disc[np.hypot(*disc.T) <= 1.34]
        earlier = depths(twin.obstacles_of(agents, 0, numbers, 2.0 ** (kept[0] - 1))[1], disc)
        assert (earlier > 0.0).all(), "no longer horizon leaves a velocity"


def test_a_squeezed_agent_moves_where_it_is_squeezed_least():
    view = view_of(
        [[0.0, 0.0], [0.3, 0.0], [-0.36, 0.0]], np.zeros((3, 2)), [[0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]]
    )
    out = choose("clearpath", view)
    assert out.diagnosis[0] == RELAXED
    assert out.velocity[0, 0] < -0.1  # away from the nearer one
    assert (
        choose("clearpath", view._replace(active=np.zeros(3, np.uint8))).diagnosis.tolist() == [NOT_ASKED] * 3
    )


@pytest.mark.full
def test_only_the_nearest_neighbours_count():
    view = random_view(7, 30, density=2.0)
    agents = as_dicts(view)
    for wanted in (0, 1, 3, 17):
        out = choose("clearpath", view, neighbour_count=wanted, boundary_choice="nearest")
        expected = [twin.choose(agents, row, {**twin.DEFAULTS, "wanted": wanted})[0] for row in range(30)]
        assert np.mean(np.abs(out.velocity - expected).max(axis=1) < 1e-4) > 0.95
