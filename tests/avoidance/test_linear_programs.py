"""Linear programs against exhaustive search and their twin."""

import numpy as np
import pytest

from crowdsim.avoidance.orca.linear_programs import (
    LINE_FLOATS,
    NORMAL_X,
    NORMAL_Y,
    OFFSET,
    best_on_line,
    best_velocity,
    first_broken,
    least_violation,
)
from tests.reference import orca as twin

F, U = np.float32, np.uint64


def random_lines(rng, count, feasible, walls=0):
    """(workspace, [(point, direction)]): half-planes of which the first `walls`, or all where `feasible`,
    permit to stand still.
    """
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    normal = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    offset = rng.uniform(-1.5, -0.02 if feasible else 1.2, count)
    offset[:walls] = -np.abs(offset[:walls])
    lines = np.zeros(LINE_FLOATS, np.float32)
    for area, values in ((NORMAL_X, normal[:, 0]), (NORMAL_Y, normal[:, 1]), (OFFSET, offset)):
        lines[int(area) : int(area) + count] = values
    return lines, [
        ((o * n[0], o * n[1]), (n[1], -n[0])) for n, o in zip(normal.tolist(), offset.tolist(), strict=True)
    ]


def as_wish(rng, speed):
    wish = rng.normal(size=2)
    return wish * min(1.0, speed / np.hypot(*wish))


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(60))
def test_best_velocity_agrees_with_reference_and_no_permitted_velocity_is_nearer(seed):
    rng = np.random.default_rng(seed)
    count, speed = int(rng.integers(1, 40)), 1.3
    lines, plain = random_lines(rng, count, True)
    wish = as_wish(rng, speed)
    failed, x, y, binding = best_velocity(
        lines, U(0), U(count), F(speed), F(wish[0]), F(wish[1]), F(wish[0]), F(wish[1]), False, F(0), F(0)
    )
    expected_failed, expected, expected_binding = twin.program2(
        plain, speed, tuple(wish), False, tuple(wish), (0.0, 0.0)
    )
    assert failed == count
    assert expected_failed is None
    assert (x, y) == pytest.approx(expected, abs=1e-5)
    assert binding == (-1 if expected_binding is None else expected_binding)
    others = rng.uniform(-speed, speed, (4000, 2))
    permitted = (np.hypot(*others.T) <= speed) & np.all(
        [[twin.violation(line, tuple(v)) <= 0.0 for line in plain] for v in others], axis=1
    )
    if permitted.any():
        assert np.hypot(x - wish[0], y - wish[1]) <= np.hypot(*(others[permitted] - wish).T).min() + 1e-4


@pytest.mark.sample(10)
@pytest.mark.parametrize("seed", range(60))
def test_least_violation_agrees_with_reference_and_keeps_walls(seed):
    rng, speed, count, failed = np.random.default_rng(1000 + seed), 1.3, 0, 0
    while failed == count:  # until nothing is permitted
        walls, count = int(rng.integers(0, 4)), int(rng.integers(6, 30))
        lines, plain = random_lines(rng, count, False, walls)
        wish = as_wish(rng, speed)
        failed, x, y, binding = best_velocity(
            lines, U(0), U(count), F(speed), F(wish[0]), F(wish[1]), F(wish[0]), F(wish[1]), False, F(0), F(0)
        )
    x, y, binding = least_violation(
        lines, U(walls), U(count), U(failed), F(speed), F(x), F(y), binding, F(wish[0]), F(wish[1])
    )
    number, start, bound = twin.program2(plain, speed, tuple(wish), False, tuple(wish), (0.0, 0.0))
    expected, _ = twin.program3(plain, walls, number, speed, start, bound, tuple(wish))
    assert (x, y) == pytest.approx(expected, abs=2e-4)
    assert all(twin.violation(line, (x, y)) <= 1e-4 for line in plain[:walls])
    worst = max(twin.violation(line, (x, y)) for line in plain[walls:])
    for v in rng.uniform(-speed, speed, (500, 2)):
        if np.hypot(*v) <= speed and all(twin.violation(line, tuple(v)) <= 0.0 for line in plain[:walls]):
            assert max(twin.violation(line, tuple(v)) for line in plain[walls:]) >= worst - 1e-3


def test_first_broken_finds_the_first_from_a_place_on():
    lines = np.zeros(LINE_FLOATS, np.float32)
    lines[int(NORMAL_X) : int(NORMAL_X) + 40] = 1.0
    lines[int(OFFSET) : int(OFFSET) + 40] = -1.0
    for place in (3, 17, 39):
        lines[int(OFFSET) + place] = 0.5
    for begin, expected in ((0, 3), (3, 3), (4, 17), (18, 39), (40, 40)):
        assert first_broken(lines, U(0), U(begin), U(40), F(0), F(0), F(0)) == expected
    assert first_broken(lines, U(0), U(0), U(17), F(0), F(0), F(0.6)) == 17


def test_best_on_line_takes_the_wish_where_every_point_is_equally_good():
    lines = np.zeros(LINE_FLOATS, np.float32)
    lines[int(NORMAL_Y)] = 1.0  # velocities with y >= 0; the boundary is the x axis
    exists, x, y = best_on_line(lines, U(0), U(0), F(1), F(0), F(1), True, F(0.25), F(0.7))
    assert exists
    assert (x, y) == (0.25, 0.0)


def test_a_half_plane_beyond_the_speed_limit_leaves_nothing():
    lines = np.zeros(LINE_FLOATS, np.float32)
    lines[int(NORMAL_X)], lines[int(OFFSET)] = 1.0, 2.0
    assert not best_on_line(lines, U(0), U(0), F(1), F(0), F(0), False, F(0), F(0))[0]


@pytest.mark.parametrize("tilt", [0.0, 1e-7, 1e-6, 8e-6, 1e-3])
def test_half_planes_that_point_the_same_way_do_not_disturb_the_least_violation(tilt):
    normal, offset = (
        np.array([[1.0, 0.0], [np.cos(tilt), np.sin(tilt)], [-1.0, 0.0], [0.0, 1.0]]),
        np.array([0.5, 0.4, 0.3, -0.2]),
    )
    lines = np.zeros(LINE_FLOATS, np.float32)
    (
        lines[int(NORMAL_X) : int(NORMAL_X) + 4],
        lines[int(NORMAL_Y) : int(NORMAL_Y) + 4],
        lines[int(OFFSET) : int(OFFSET) + 4],
    ) = *normal.T, offset
    failed, x, y, binding = best_velocity(
        lines, U(0), U(4), F(1.3), F(1.0), F(0.1), F(1.0), F(0.1), False, F(0), F(0)
    )
    assert failed == 2
    x, y, _ = least_violation(lines, U(0), U(4), U(failed), F(1.3), F(x), F(y), binding, F(1.0), F(0.1))
    assert x == pytest.approx(0.1, abs=1e-4)  # between 0.5 and -0.3, whatever lies beside
    assert y == pytest.approx(0.1, abs=1e-3)
