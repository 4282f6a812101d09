"""Pushes never end in walls or beyond them."""

import numpy as np
import pytest

from crowdsim.bodies.clearance import (
    barriers,
    bent_along_walls,
    clear_of_walls,
    may_be_pushed,
    move_off_walls,
)
from crowdsim.geometry.walls import Walls, walls_from_rings
from tests.reference import clearance as twin

ROOM = np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 4.0], [0.0, 4.0]])
THIN = np.array([[2.0, 1.0], [2.0, 3.0], [2.1, 3.0], [2.1, 1.0]])
PLAN = walls_from_rings([ROOM, THIN])
FRAME = barriers(PLAN)
PAIRS = [(tuple(a), tuple(b)) for a, b in zip(PLAN.start.tolist(), PLAN.end.tolist(), strict=True)]


def part_of(walls: Walls, numbers: list[int]) -> Walls:
    """Some of the walls, as all that there are."""
    return walls._replace(
        start=walls.start[numbers],
        end=walls.end[numbers],
        previous=np.full(len(numbers), -1, np.int32),
        next=np.full(len(numbers), -1, np.int32),
        is_corner=np.ones(len(numbers), dtype=bool),
        zone_start=np.array([0, len(numbers)]),
        zone_wall=np.arange(len(numbers), dtype=np.int32),
    )


# The same room, open to the right and, from a corner of the two on, above.
OPEN = [1, 2]
OPEN_EDGES = [PAIRS[number] for number in OPEN]
WALLS_LEFT = [pair for number, pair in enumerate(PAIRS) if number not in OPEN]
OPEN_FRAME = barriers(
    part_of(PLAN, [number for number in range(len(PAIRS)) if number not in OPEN]), part_of(PLAN, OPEN)
)
GROUNDS = {"walled": (FRAME, PAIRS, []), "open": (OPEN_FRAME, WALLS_LEFT, OPEN_EDGES)}


def may(here, there, radius, frame=FRAME):
    return may_be_pushed(frame, frame.zone_start[0], frame.zone_start[1], *here, *there, radius)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("seed", range(5))
def test_may_be_pushed_agrees_with_reference(seed, ground):
    rng = np.random.default_rng(seed)
    answers, (frame, walls, open_edges) = [], GROUNDS[ground]
    for _ in range(400):
        here, radius = rng.uniform((0.0, 0.0), (6.0, 4.0)), rng.uniform(0.05, 0.4)
        there = here + rng.normal(size=2) * rng.choice([0.01, 0.1, 0.5])
        answers.append(may(here, there, radius, frame))
        assert answers[-1] == twin.may_be_pushed(
            walls, tuple(here.tolist()), tuple(there.tolist()), radius, open_edges
        )
    assert 0.1 < np.mean(answers) < 0.9


def test_a_push_does_not_jump_over_a_thin_wall():
    assert not may((1.9, 2.0), (2.2, 2.0), 0.05)
    assert may((1.9, 2.0), (1.7, 2.0), 0.05)


def test_a_body_that_is_too_near_may_be_pushed_away_or_along_but_no_nearer():
    assert may((3.0, 0.1), (3.0, 0.15), 0.2)
    assert may((3.0, 0.1), (3.2, 0.1), 0.2)
    assert not may((3.0, 0.1), (3.0, 0.09), 0.2)


def test_far_from_walls_they_are_not_looked_at_and_beyond_their_lists_pushes_are_refused():
    nowhere = FRAME._replace(zone_start=np.zeros(1, np.int64))  # looking at the list would read past its end
    assert clear_of_walls(nowhere, 0, 1.0, np.inf, 3.0, 2.0, 0.5, 0.0, 0.5, 0.2)
    assert not clear_of_walls(FRAME, 0, 0.0, 0.6, 3.0, 2.0, 0.5, 0.0, 0.5, 0.2)
    assert clear_of_walls(FRAME, 0, 0.0, 0.8, 3.0, 2.0, 0.5, 0.0, 0.5, 0.2)


def bent(here, push, radius=0.2, reach=np.inf, slides=False, frame=FRAME):
    return bent_along_walls(frame, 0, reach, *here, *push, radius, slides)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("slides", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_bent_along_walls_agrees_with_reference(seed, slides, ground):
    rng = np.random.default_rng(seed)
    found, (frame, walls, open_edges) = [], GROUNDS[ground]
    for _ in range(400):
        here, radius = rng.uniform((0.0, 0.0), (6.0, 4.0)), rng.uniform(0.05, 0.4)
        push = rng.normal(size=2) * rng.choice([0.01, 0.1])
        if not twin.may_be_pushed(walls, tuple(here), tuple(here + push), radius, open_edges):
            expected = twin.bent_along_walls(
                walls, tuple(here.tolist()), tuple(push.tolist()), radius, slides, open_edges
            )
            assert bent(here, push, radius, slides=slides, frame=frame) == (
                pytest.approx(expected[0], abs=1e-12),
                pytest.approx(expected[1], abs=1e-12),
            )
            found.append(expected != (0.0, 0.0))
    assert 0.1 < np.mean(found) < 0.9


def test_a_refused_push_goes_along_the_wall_and_nowhere_in_a_corner():
    assert bent((3.0, 0.2), (0.03, -0.04)) == (pytest.approx(0.03), pytest.approx(0.0, abs=1e-15))
    assert bent((5.8, 0.2), (0.03, -0.04)) == (0.0, 0.0)
    assert bent((3.0, 0.2), (0.0, -0.04)) == (0.0, 0.0)
    assert bent((3.0, 0.2), (0.002, -0.04)) == (0.0, 0.0)  # what is left would part no discs
    assert bent((3.0, 0.2), (0.03, -0.04), reach=0.2) == (0.0, 0.0)


def test_before_what_does_not_make_way_a_body_slides_along_the_wall_by_the_whole_push():
    assert bent((3.0, 0.2), (0.002, -0.04), slides=True) == (
        pytest.approx(np.hypot(0.002, 0.04)),
        pytest.approx(0.0, abs=1e-12),
    )
    assert bent((3.0, 0.2), (-0.002, -0.04), slides=True) == (
        pytest.approx(-np.hypot(0.002, 0.04)),
        pytest.approx(0.0, abs=1e-12),
    )
    assert bent((3.0, 0.2), (0.0, -0.04), slides=True) == (0.0, 0.0)  # to which side, nothing says
    assert bent((3.0, 0.2), (0.0, 0.04), slides=True) == (0.0, 0.0)
    # the next wall is nearer than 5 cm
    assert bent((5.77, 0.2), (0.03, -0.04), slides=True) == (
        pytest.approx(0.03),
        pytest.approx(0.0, abs=1e-15),
    )


def test_a_push_is_bent_round_the_end_of_a_wall():
    # 45 degrees off the end of the thin wall: what is left of a push straight down goes outwards, square to
    # the line to the corner.
    x, y = 2.1 + 0.2 * np.sqrt(0.5), 3.0 + 0.2 * np.sqrt(0.5)
    dx, dy = bent((x, y), (0.0, -0.02))
    assert dx > 0.008
    assert dy == pytest.approx(-dx, rel=0.1)


def test_a_centre_is_not_pushed_over_an_open_edge_but_along_it_however_near_it_is():
    assert may((5.9, 2.0), (5.99, 2.0), 0.2, OPEN_FRAME) and not may((5.9, 2.0), (5.99, 2.0), 0.2)
    assert not may((5.9, 2.0), (6.01, 2.0), 0.2, OPEN_FRAME)
    # on the edge, and off it by rounding
    assert not may((6.0, 2.0), (6.01, 2.0), 0.2, OPEN_FRAME)
    assert not may((6.0 + 1e-9, 2.0), (6.01, 2.0), 0.2, OPEN_FRAME)
    assert may((6.0 + 1e-9, 2.0), (6.0 - 1e-9, 2.1), 0.2, OPEN_FRAME)
    assert bent((6.0, 2.0), (0.03, 0.04), frame=OPEN_FRAME) == (pytest.approx(0.0, abs=1e-15), 0.04)
    assert bent((6.0, 4.0), (0.03, 0.04), frame=OPEN_FRAME) == (0.0, 0.0)


def moved_off(position, tentative, radius, wall_distance=0.0, reach=np.inf, frame=FRAME):
    n = len(position)
    out, clear = np.empty((n, 2)), np.empty(n, dtype=np.float32)
    move_off_walls(
        0,
        n,
        position,
        tentative,
        radius,
        np.zeros(n, np.int64),
        np.full(n, wall_distance, np.float32),
        reach,
        frame,
        out,
        clear,
    )
    return out, clear


@pytest.mark.parametrize("ground", GROUNDS)
def test_move_off_walls_agrees_with_reference_and_leaves_bodies_clear(ground):
    rng = np.random.default_rng(0)
    n, (frame, walls, open_edges) = 2000, GROUNDS[ground]
    high = (6.0, 4.0) if open_edges else (5.7, 3.7)
    position, radius = rng.uniform((0.3, 0.3), high, (n, 2)), rng.uniform(0.05, 0.3, n)
    tentative = position + rng.normal(size=(n, 2)) * 0.1
    out, _ = moved_off(position, tentative, radius, frame=frame)
    for row in range(n):
        expected = twin.moved_off_walls(
            walls,
            tuple(position[row].tolist()),
            tuple(tentative[row].tolist()),
            float(radius[row]),
            open_edges,
        )
        assert out[row].tolist() == pytest.approx(expected, abs=1e-12)
    moved = (out != tentative).any(axis=1)
    assert 0.03 < moved.mean() < 0.5
    for row in np.flatnonzero(moved):
        assert twin.nearest_wall(walls, tuple(out[row]), tuple(out[row]), radius[row] - 2e-4)[0] == (0.0, 0.0)
    if open_edges:
        assert (tentative > (6.0, 4.0)).any(axis=0).all() and (out <= np.array((6.0, 4.0)) + 1e-12).all()
        out, clear = moved_off(position, tentative, radius, wall_distance=9.0, frame=frame)
        assert (clear <= radius + (np.array((6.0, 4.0)) - out).min(axis=1) + 1e-12).all()


def test_a_disc_that_is_clear_of_walls_or_may_have_crossed_one_is_not_moved_off():
    position = np.array([[3.0, 2.0], [1.75, 2.0], [3.0, 0.25]])
    tentative = np.array([[3.0, 1.9], [2.05, 2.0], [3.0, 0.15]])
    out, _ = moved_off(position, tentative, np.full(3, 0.2))
    # the second is inside the thin wall, with a step beyond its radius
    assert (out[:2] == tentative[:2]).all()
    assert out[2].tolist() == [3.0, pytest.approx(0.2)]
    assert (moved_off(position, tentative, np.full(3, 0.2), reach=0.1)[0] == tentative).all()


def test_the_distance_to_walls_stays_a_lower_bound():
    position, tentative = np.array([[3.0, 1.0], [3.0, 0.25]]), np.array([[3.0, 0.9], [3.0, 0.15]])
    out, clear = moved_off(position, tentative, np.full(2, 0.2), wall_distance=0.25)
    assert clear[0] == pytest.approx(0.15, rel=1e-5)
    assert (clear <= out[:, 1]).all()


def test_the_end_of_a_thin_wall_is_in_the_way_from_behind_too():
    """Beside a stair the wall's other side is that of another floor, and not in the list."""
    far_side = next(i for i, (start, end) in enumerate(PAIRS) if start[0] == end[0] == 2.1)
    frame = FRAME._replace(zone_start=np.array([0, 1]), zone_wall=np.array([far_side], dtype=np.int32))
    assert not may_be_pushed(frame, 0, 1, 2.0, 3.25, 2.05, 3.1, 0.2)
    assert may_be_pushed(frame, 0, 1, 2.0, 3.25, 1.9, 3.3, 0.2)
    # behind it, and beside: what stands there is the other side
    assert may_be_pushed(frame, 0, 1, 1.7, 2.0, 1.8, 2.0, 0.2)
    position, out, clear = np.array([[2.0, 3.25]]), np.empty((1, 2)), np.empty(1, np.float32)
    tentative = np.array([[2.06, 3.1]])
    move_off_walls(
        0,
        1,
        position,
        tentative,
        np.array([0.2]),
        np.zeros(1, np.int64),
        np.zeros(1, np.float32),
        np.inf,
        frame,
        out,
        clear,
    )
    assert np.hypot(*(out[0] - [2.1, 3.0])) == pytest.approx(0.2)
