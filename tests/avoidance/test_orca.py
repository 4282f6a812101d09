"""ORCA against its naive twin and in scenes with known answers."""

import numpy as np
import pytest

from crowdsim.avoidance.model import FEASIBLE, NOBODY, NOT_ASKED, RELAXED, WALL
from crowdsim.avoidance.orca.orca import Orca
from crowdsim.geometry.walls import walls_from_rings
from crowdsim.kernels.threads import Team
from tests.avoidance.crowds import choose, random_view, view_of
from tests.reference import orca as twin

PILLAR = np.array([[4.0, 4.0], [4.0, 5.5], [5.0, 5.5], [5.0, 4.0]])  # clockwise: free ground outside
L_BLOCK = np.array([[1.0, 1.0], [1.0, 3.0], [1.6, 3.0], [1.6, 1.6], [3.0, 1.6], [3.0, 1.0]])
# counter-clockwise: free ground inside
ROOM = np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 4.0], [7.0, 4.0], [7.0, 7.0], [0.0, 7.0]])
PLAN = walls_from_rings([ROOM, PILLAR, L_BLOCK])


def twin_of(view, wanted=10, reach=5.0, horizon=2.0, wall_horizon=0.5, tick=0.05):
    agents = [
        {
            "entity": int(view.entity[i]),
            "position": tuple(view.position[i]),
            "velocity": tuple(view.velocity[i]),
            "preferred": tuple(view.preferred_velocity[i]),
            "radius": float(view.radius[i]),
            "speed": float(view.maximum_speed[i]),
            "layer": int(view.layer[i]),
            "active": int(view.active[i]),
        }
        for i in range(len(view.entity))
    ]
    return twin.orca(
        {"agents": agents, "walls": view.walls, "zone_walls": range(len(view.walls.start))},
        wanted,
        reach,
        horizon,
        wall_horizon,
        tick,
    )


def difference_to_twin(view, **parameters):
    """Greatest difference of velocities in m/s of each agent; asserts that diagnoses and blockers agree."""
    out = choose(view, **parameters)
    names = {
        "neighbour_count": "wanted",
        "neighbour_distance": "reach",
        "time_horizon": "horizon",
        "time_horizon_walls": "wall_horizon",
    }
    expected = twin_of(view, **{names[key]: value for key, value in parameters.items()})
    difference = np.abs(out.velocity - np.array([velocity for velocity, _, _ in expected])).max(axis=1)
    assert out.diagnosis.tolist() == [diagnosis for _, diagnosis, _ in expected]
    assert out.blocker.tolist() == [blocker for _, _, blocker in expected]
    return difference


@pytest.mark.parametrize("seed", range(6))
def test_orca_agrees_with_reference_in_open_crowds(seed):
    difference = difference_to_twin(random_view(seed, 150, density=[0.3, 1.0, 2.5][seed % 3]))
    assert difference.max() < 1e-4  # float32 against float64; measured 5e-6
    assert np.median(difference) < 2e-6


@pytest.mark.parametrize("seed", range(6))
def test_orca_agrees_with_reference_among_walls(seed):
    rng = np.random.default_rng(seed)
    position = rng.uniform((0.0, 0.0), (9.0, 7.0), (60, 2))
    view = view_of(
        position,
        rng.normal(size=(60, 2)),
        rng.normal(size=(60, 2)),
        radius=rng.uniform(0.05, 0.35, 60),
        speed=1.8,
        walls=PLAN,
    )
    difference = difference_to_twin(view, time_horizon_walls=1.5)
    assert difference.max() < 1e-4  # measured 2e-6


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(20))
def test_walls_alone_agree_with_reference(seed):
    """Every vertex, leg and corner case: lone agents all over a plan, some of them touching walls."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for place in rng.uniform((0.05, 0.05), (8.95, 6.95), (40, 2)):
        view = view_of(
            [place],
            rng.normal(size=2),
            2.0 * rng.normal(size=2),
            radius=rng.uniform(0.05, 0.6),
            speed=2.0,
            walls=PLAN,
        )
        worst = max(worst, difference_to_twin(view, time_horizon_walls=float(rng.uniform(0.3, 3.0))).max())
    assert worst < 1e-4


@pytest.mark.parametrize("wanted", [0, 1, 3, 17, 40])
def test_only_the_nearest_neighbours_count(wanted):
    assert difference_to_twin(random_view(7, 120, density=2.0), neighbour_count=wanted).max() < 1e-4


def test_standing_agents_are_avoided_whole_by_the_movers():
    # A walker at 1 m/s, 2 m before a standing one: it may close in by (2 - 0.4) m in 2 s, and that one does
    # nothing of it.
    view = view_of(
        [[0.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], active=[1, 0]
    )
    out = choose(view)
    assert out.velocity[0] == pytest.approx([0.8, 0.0], abs=1e-6)
    assert out.velocity[1].tolist() == [0.0, 0.0]
    assert out.diagnosis.tolist() == [FEASIBLE, NOT_ASKED]
    assert out.blocker.tolist() == [2, NOBODY]
    # Were the other one active, each would take half: 1.0 - (1.0 - 0.8) / 2.
    assert choose(view._replace(active=np.ones(2, np.uint8))).velocity[0] == pytest.approx(
        [0.9, 0.0], abs=1e-6
    )


def test_a_standing_agent_counts_as_still_whatever_its_velocity_column_says():
    view = view_of(
        [[0.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]], active=[1, 0]
    )
    assert choose(view).velocity[0] == pytest.approx([0.8, 0.0], abs=1e-6)


def test_a_lone_agent_keeps_its_preferred_velocity_bit_for_bit():
    wish = np.random.default_rng(0).normal(size=(300, 2)) * 0.3
    for place in ([0.1, 0.2], [4e5, 5e6]):
        for velocity in wish:
            assert (
                choose(view_of([place], [[0.3, 0.1]], [velocity])).velocity[0].tolist() == velocity.tolist()
            )


def test_an_agent_that_nobody_hinders_keeps_its_preferred_velocity_bit_for_bit():
    view = random_view(3, 300, density=0.05)
    slow = view._replace(preferred_velocity=view.preferred_velocity * 0.2, velocity=view.velocity * 0.1)
    out = choose(slow)
    free = out.blocker == NOBODY
    assert free.mean() > 0.5
    assert (out.velocity[free] == slow.preferred_velocity[free]).all()


def test_an_agent_on_another_floor_is_no_neighbour():
    view = view_of(
        [[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]], layer=[0, 1]
    )
    out = choose(view)
    assert (out.velocity == view.preferred_velocity).all()
    assert out.neighbour_count.tolist() == [0, 0]


def test_a_wall_ahead_brakes_and_is_named():
    room = walls_from_rings([np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])])
    out = choose(view_of([[3.5, 2.0]], [[1.0, 0.0]], [[1.2, 0.3]], walls=room), time_horizon_walls=0.5)
    assert out.velocity[0] == pytest.approx([(0.5 - 0.2) / 0.5, 0.3], abs=1e-6)
    assert out.blocker.tolist() == [WALL]


def test_a_wall_is_no_hindrance_from_behind():
    # A wall whose free side is the other one, as seen from outside the room.
    room = walls_from_rings([np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])])
    out = choose(view_of([[4.5, 2.0]], [[-1.0, 0.0]], [[-1.2, 0.0]], walls=room))
    assert out.velocity[0].tolist() == [-1.2, 0.0]


def test_an_agent_clipped_to_a_wall_walks_off_it():
    room = walls_from_rings([np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])])
    for x in (4.0, 4.0 + 5e-4):
        assert choose(view_of([[x, 2.0]], [[0.0, 0.0]], [[1.0, 0.0]], walls=room)).velocity[0, 0] <= 1e-6


def test_walls_alone_always_leave_standing_still_and_people_may_leave_nothing():
    # A slit narrower than the body: both walls are touched, and only along it may one go.
    slit = walls_from_rings([np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 0.3], [0.0, 0.3]])])
    wedged = choose(view_of([[3.0, 0.14]], [[0.0, 0.3]], [[1.0, 0.2]], walls=slit), time_horizon_walls=2.0)
    assert wedged.velocity[0].tolist() == [1.0, 0.0]
    assert wedged.diagnosis[0] == FEASIBLE
    squeezed = view_of(
        [[0.0, 0.0], [0.3, 0.0], [-0.3, 0.0]], np.zeros((3, 2)), [[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]
    )
    assert choose(squeezed).diagnosis[0] == RELAXED


def test_coincident_agents_part_by_entity():
    out = choose(view_of([[1.0, 1.0], [1.0, 1.0]], np.zeros((2, 2)), [[0.0, 1.0], [0.0, 1.0]]))
    assert out.velocity[0, 0] > 0.5
    assert out.velocity[1, 0] < -0.5


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
        # relative velocity at the centre of the cut-off disc
        view_of([[0.0, 0.0], [0.1, 0.0]], [[2.0, 0.0], [0.0, 0.0]], np.ones((2, 2))),
    ],
    ids=[
        "nobody",
        "no speed, alone",
        "no speed, overlapping",
        "no radius",
        "a pile of points",
        "a pile of discs",
        "a giant",
        "no direction",
    ],
)
def test_odd_crowds_give_numbers_within_the_speed_limit(view):
    out = choose(view, neighbour_distance=100.0)
    speed = np.hypot(out.velocity[:, 0], out.velocity[:, 1])
    assert np.isfinite(out.velocity).all()
    assert (speed <= view.maximum_speed * (1.0 + 1e-15)).all()


@pytest.mark.parametrize("seed", range(4))
def test_mirrored_and_turned_crowds_choose_mirrored_and_turned_velocities(seed):
    view = random_view(seed, 200, density=2.0)
    expected = choose(view).velocity
    moves = {
        "mirror x": lambda a: a * (-1.0, 1.0),
        "mirror y": lambda a: a * (1.0, -1.0),
        "quarter turn": lambda a: np.stack([-a[:, 1], a[:, 0]], axis=1),
        "half turn": lambda a: -a,
        "diagonal": lambda a: a[:, ::-1],
    }
    for name, move in moves.items():
        moved = view_of(
            move(view.position),
            move(view.velocity),
            move(view.preferred_velocity),
            radius=view.radius,
            speed=view.maximum_speed,
        )
        assert (choose(moved).velocity == move(expected)).all(), name


@pytest.mark.parametrize("seed", range(3))
def test_mirrored_plans_choose_mirrored_velocities(seed):
    rng = np.random.default_rng(seed)
    position, velocity, wish = (
        rng.uniform((0.0, 0.0), (9.0, 7.0), (60, 2)),
        rng.normal(size=(60, 2)),
        rng.normal(size=(60, 2)),
    )
    out = choose(view_of(position, velocity, wish, walls=PLAN), time_horizon_walls=1.0)
    sign = np.array([-1.0, 1.0])
    # A mirrored wall runs the other way; its corners keep their places in the lists.
    flipped = PLAN._replace(
        start=PLAN.end * sign,
        end=PLAN.start * sign,
        previous=PLAN.next,
        next=PLAN.previous,
        is_corner=PLAN.is_corner[PLAN.next],
    )
    mirrored = choose(
        view_of(position * sign, velocity * sign, wish * sign, walls=flipped), time_horizon_walls=1.0
    )
    assert (mirrored.velocity == out.velocity * sign).all()


def test_the_number_of_threads_changes_nothing():
    view = random_view(5, 4000, density=1.5)
    expected = choose(view._replace(reach=view.reach.copy()))
    for threads in (2, 3, 7):
        team = Team(threads)
        out = choose(view._replace(reach=view.reach.copy()), team=team)
        team.close()
        for mine, theirs in zip(out, expected, strict=True):
            assert (mine == theirs).all()


def test_the_order_of_agents_changes_nothing():
    view = random_view(6, 300)
    order = np.random.default_rng(1).permutation(300)
    expected = choose(view).velocity
    shuffled = view_of(
        view.position[order],
        view.velocity[order],
        view.preferred_velocity[order],
        radius=view.radius[order],
        speed=view.maximum_speed[order],
    )
    assert (choose(shuffled).velocity == expected[order]).all()


def test_what_reach_says_changes_nothing():
    view = random_view(8, 300, density=3.0)
    expected = choose(view._replace(reach=view.reach.copy()))
    for guess in (0.0, 0.3, 4.0, np.inf, -3.0, np.nan):
        assert (
            choose(view._replace(reach=np.full(300, guess, np.float32))).velocity == expected.velocity
        ).all()
    remembered = view._replace(reach=view.reach.copy())
    choose(remembered)
    assert (choose(remembered).velocity == expected.velocity).all()


def test_parameters_declare_ranges_and_reasons():
    from crowdsim.tunable import tunables

    declared = {tunable.name: tunable for tunable in tunables(Orca.Parameters)}
    assert set(declared) == {"neighbour_count", "neighbour_distance", "time_horizon", "time_horizon_walls"}
    assert all(tunable.why and tunable.source for tunable in declared.values())
    assert declared["neighbour_count"].complaint(65)
