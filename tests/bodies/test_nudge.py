"""Which agents are asked aside and where they go; which are ahead."""

import numpy as np
import pytest
import shapely

from crowdsim.bodies.nudge import (
    choose_aside,
    count_blocked,
    find_blocked_lines,
    find_touching,
    rows_of_entities,
)
from crowdsim.bodies.replan import find_near_lines
from crowdsim.geometry.cells import CellIndex, Heights
from crowdsim.kernels.threads import Team
from crowdsim.navigation.mesh.build import build_mesh
from tests.navigation.worlds import free_points, located, random_ground, rooms
from tests.reference import nudge as twin

DISTANCE = 1.2


def aside(ground, position, radius, away, *, threads=1):
    mesh = build_mesh(ground).mesh
    position, away = np.array(position, dtype=float), np.array(away, dtype=float)
    target, choice = np.empty_like(position), np.empty(len(position), dtype=np.int64)
    polygon = located(mesh, position).astype(np.int64)
    Team(threads).run(
        choose_aside,
        len(position),
        mesh,
        polygon,
        position,
        np.full(len(position), float(radius)),
        away,
        DISTANCE,
        target,
        choice,
        at_least=1,
    )
    return target, choice


def crowd(seed, count=60, size=6.0):
    rng = np.random.default_rng(seed)
    position = rng.uniform(0.0, size, (count, 2))
    position[1] = position[0]  # two on one spot
    wants = rng.random(count) < 0.5
    stands = ~wants & (rng.random(count) < 0.8)
    return {
        "position": position,
        "layer": rng.integers(0, 2, count).astype(np.int32),
        "radius": rng.uniform(0.15, 0.4, count),
        "preferred": np.where(wants[:, None], rng.normal(0.0, 1.0, (count, 2)), 0.0),
        "wants": wants,
        "stands": stands,
    }


def touching(agents, gap=0.02, threads=1, heights=None):
    cells = CellIndex(1.0).build(agents["position"], agents["layer"], heights=heights)
    out = np.empty(len(agents["radius"]), dtype=np.int64)
    Team(threads).run(
        find_touching, len(out), cells, agents["radius"], agents["preferred"], agents["wants"].view(np.uint8),
        agents["stands"].view(np.uint8), gap, float(agents["radius"].max()), out, at_least=1,
    )  # fmt: skip
    return out


def test_a_stationary_agent_in_the_open_goes_straight_away_from_the_walker():
    target, choice = aside(shapely.box(-5, -5, 5, 5), [(0.0, 0.0)], 0.25, [(0.6, 0.8)])
    assert choice.tolist() == [0] and target[0] == pytest.approx([0.72, 0.96])


@pytest.mark.parametrize(
    ("box", "expected", "place"),
    [
        ((-0.5, -2, 0.5, 2), 1, (0.0, 1.2)),  # walls ahead and behind
        ((-0.5, -2, 0.5, 0.5), 2, (0.0, -1.2)),  # nor to the left
        ((-2, -0.5, 0.5, 0.5), 3, (-1.2, 0.0)),  # only the way back is left
        ((-0.5, -0.5, 0.5, 0.5), -1, (0.0, 0.0)),  # shut in
    ],
)
def test_the_four_places_are_tried_in_their_order(box, expected, place):
    target, choice = aside(shapely.box(*box), [(0.0, 0.0)], 0.25, [(1.0, 0.0)])
    assert choice.tolist() == [expected] and target[0] == pytest.approx(place)


def test_no_agent_is_sent_through_a_thin_wall():
    ground = shapely.box(-3, -3, 3, 3).difference(shapely.box(0.5, -1, 0.52, 1))
    assert ground.covers(shapely.Point(1.2, 0)), "straight away is walkable ground, behind the wall"
    _, choice = aside(ground, [(0.0, 0.0)], 0.25, [(1.0, 0.0)])
    assert choice.tolist() == [1]


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(12))
def test_choose_aside_agrees_with_its_twin(seed):
    ground = rooms(seed) if seed % 2 else random_ground(seed)
    rng = np.random.default_rng(seed)
    radius = 0.2
    points, _ = free_points(ground, radius, 40, rng)
    points = np.array(points)
    angle = rng.uniform(0.0, 7.0, len(points))
    away = np.column_stack([np.cos(angle), np.sin(angle)])
    target, choice = aside(ground, points, radius, away)
    again, same = aside(ground, points, radius, away, threads=3)
    assert np.array_equal(target, again) and np.array_equal(choice, same)
    compared = 0
    for row, (point, unit) in enumerate(zip(points, away)):
        # Lines that graze a wall by less than the tolerances of the kernel may be clear or not.
        answers = {
            twin.choose_aside(ground, point, width, unit, DISTANCE)[0]
            for width in (0.98 * radius - 0.002, radius + 0.001)
        }
        if len(answers) == 1:
            compared += 1
            number, place = twin.choose_aside(ground, point, radius, unit, DISTANCE)
            assert choice[row] == number and target[row] == pytest.approx(place, abs=1e-12)
    assert compared > 0.7 * len(points)


@pytest.mark.parametrize("seed", range(8))
def test_lines_with_walls_in_them_are_found_as_by_the_twin(seed):
    ground, rng, radius = rooms(seed), np.random.default_rng(seed), 0.2
    mesh = build_mesh(ground).mesh
    points = np.array(free_points(ground, radius, 60, rng)[0])
    to = points[rng.permutation(len(points))]
    out, rows = np.empty(len(points), dtype=np.uint8), np.arange(len(points))
    Team(2).run(
        find_blocked_lines,
        len(points),
        rows,
        mesh,
        located(mesh, points).astype(np.int64),
        points,
        to,
        np.full(len(points), radius),
        out,
        at_least=1,
    )
    clear = np.array([twin.clearance_of_line(ground, a, b) for a, b in zip(points, to)])
    assert np.all(out[clear > radius + 0.001] == 0) and np.all(out[clear < 0.98 * radius - 0.002] == 1)
    assert 0 < out.sum() < len(out)


@pytest.mark.parametrize("seed", range(12))
def test_find_touching_agrees_with_its_twin(seed):
    agents = crowd(seed)
    expected = twin.find_touching(**agents, gap=0.02)
    assert touching(agents).tolist() == expected == touching(agents, threads=3).tolist()
    assert max(expected) >= 0


def walkers_round(places):
    """An agent of 0.25 m that stands at the first place, and walkers of that size at the others that go to
    where it stands.
    """
    position = np.array(places, dtype=np.float64)
    count, first = len(position), np.arange(len(position)) == 0
    return {
        "position": position,
        "layer": np.zeros(count, dtype=np.int32),
        "radius": np.full(count, 0.25),
        "preferred": position[0] - position,
        "wants": ~first,
        "stands": first,
    }


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_of_two_that_are_equally_near_the_one_with_the_lower_row_asks(side):
    for angle in ((1.0, 0.0), (0.0, 1.0)):
        step = side * 0.5 * np.array(angle)
        assert touching(walkers_round([[3.5, 3.5], [3.5, 3.5] + step, [3.5, 3.5] - step]))[0] == 1


def test_a_walker_a_gap_away_is_found_wherever_cells_end():
    for x in np.arange(0.0, 1.0, 0.004).tolist():
        assert touching(walkers_round([[3.0 + x, 3.2], [3.515 + x, 3.2], [0.0, 0.0]]))[0] == 1


@pytest.mark.parametrize("seed", range(4))
def test_which_walker_asks_does_not_depend_on_the_order_of_rows(seed):
    agents = crowd(seed)
    agents["position"][1] += 0.3  # where two are on one spot the row, which is the entity's, decides
    order = np.random.default_rng(seed).permutation(len(agents["radius"]))
    before, after = touching(agents), touching({name: array[order] for name, array in agents.items()})
    assert [order[walker] if walker >= 0 else -1 for walker in after] == before[order].tolist()


def test_a_walker_that_leaves_a_stationary_agent_behind_asks_nothing():
    agents = {
        "position": np.array([[0.0, 0.0], [0.4, 0.0]]),
        "layer": np.zeros(2, dtype=np.int32),
        "radius": np.full(2, 0.2),
        "preferred": np.array([[0.0, 0.0], [1.0, 0.0]]),
        "wants": np.array([False, True]),
        "stands": np.array([True, False]),
    }
    assert touching(agents).tolist() == [-1, -1]
    agents["preferred"][1] = -1.0, 0.0
    assert touching(agents).tolist() == [1, -1]
    heights = Heights(np.array([0.0, 3.0]), np.zeros((2, 2)), 1.0)
    assert touching(agents, heights=heights).tolist() == [-1, -1], "one is on the floor above"


@pytest.mark.parametrize("seed", range(6))
def test_count_blocked_agrees_with_its_twin(seed):
    rng = np.random.default_rng(seed)
    entity = np.unique(rng.integers(1, 900, 500))
    count = len(entity)
    wants = rng.random(count) < 0.6
    blocked = rng.integers(0, 9, count).astype(np.int32)
    arguments = (
        entity,
        wants,
        ~wants & (rng.random(count) < 0.7),
        rng.normal(0, 0.3, (count, 2)),
        rng.normal(0, 1, (count, 2)),
        rng.integers(-1, 900, count),
        1 / 3,
    )
    found = count_blocked(*arguments, blocked)
    assert found.tolist() == twin.count_blocked(*arguments, blocked) and found.any() and not found.all()


def test_an_agent_without_a_wish_is_not_blocked_nor_one_that_gets_on_at_the_share():
    entity, wants, stands, blocker = (
        np.array([1, 2, 3, 4]),
        np.array([True, True, True, False]),
        np.array([False, False, False, True]),
        np.array([4, 4, 4, 0]),
    )
    preferred = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    velocity = np.array([[0.0, 0.0], [0.25, 0.0], [0.24, 0.0], [0.0, 0.0]])
    assert count_blocked(
        entity, wants, stands, velocity, preferred, blocker, 0.25, np.full(4, 6, dtype=np.int32)
    ).tolist() == [0, 0, 7, 0]


def test_entities_are_looked_up_and_those_that_left_are_not_there():
    assert rows_of_entities(np.array([2, 5, 9]), np.array([9, 1, 5, 6, 70, -1])).tolist() == [
        2,
        -1,
        1,
        -1,
        -1,
        -1,
    ]
    assert rows_of_entities(np.array([], dtype=np.int64), np.array([3])).tolist() == [-1]


@pytest.mark.parametrize("seed", range(10))
def test_find_near_lines_agrees_with_its_twin(seed):
    rng = np.random.default_rng(seed)
    count = 50
    position, to = rng.uniform(0, 30, (count, 2)), rng.uniform(0, 30, (count, 2))
    to[3] = position[3]  # a line without length
    part = rng.integers(0, 2, count).astype(np.int32)
    others = np.sort(rng.choice(count, 25, replace=False))
    reach = rng.uniform(0.1, 1.8, 25)
    cells = CellIndex(2.0).build(position[others], np.zeros(25, dtype=np.int32))
    rows, out = np.arange(count), np.empty(count, dtype=np.uint8)
    Team(2).run(
        find_near_lines, count, rows, np.zeros(count, dtype=np.int32), position, to, part,
        Heights(np.zeros(0), np.zeros((0, 2)), np.inf), cells, others, reach, out, at_least=1,
    )  # fmt: skip
    assert out.astype(bool).tolist() == [
        bool(twin.find_near_lines(row, position, to, part, others, reach)) for row in rows
    ]
    assert 0 < out.sum() < count
