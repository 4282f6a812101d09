"""Push-apart: it does no harm, comes to rest, keeps discs out of walls,
and depends on nothing that does not matter.
"""

from dataclasses import astuple

import numpy as np
import pytest

import crowdsim.bodies.separate as bodies
from crowdsim.bodies.contacts import sum_overlaps
from crowdsim.bodies.separate import Overlaps, SeparationParameters, Separator, _is_better
from crowdsim.geometry.walls import no_walls, walls_from_rings
from crowdsim.kernels.threads import Team
from tests.reference import separate as twin

ONE = Team(1)
HALL = np.array([[0.0, 0.0], [5.0, 0.0], [5.0, 3.0], [0.0, 3.0]])
PILLAR = np.array([[2.0, 1.0], [2.0, 2.0], [2.5, 2.0], [2.5, 1.0]])
PLAN = walls_from_rings([HALL, PILLAR])


def separate(
    position,
    radius,
    *,
    before=None,
    passes=1,
    movable=None,
    layer=None,
    walls=None,
    team=ONE,
    wall_distance=0.0,
    separator=None,
    further=60,
    tick=0.05,
):
    position = np.array(position, dtype=np.float64)
    before = position if before is None else np.array(before, dtype=np.float64)
    n = len(position)
    out = np.empty((n, 2))
    radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), n).copy()
    flags = np.ones(n, np.uint8) if movable is None else np.array(movable, dtype=np.uint8)
    floors = np.zeros(n, np.int32) if layer is None else np.array(layer, dtype=np.int32)
    result = (separator or Separator(SeparationParameters(passes=passes, further_passes=further))).separate(
        before, position, radii, flags, floors, np.zeros(n, np.int64), np.full(n, wall_distance, np.float32),
        no_walls() if walls is None else walls, tick, team, out,
    )  # fmt: skip
    return out, result


def overlaps(position, radius, layer=None):
    """(total, deepest) overlap of all pairs."""
    n = len(position)
    radius = np.broadcast_to(radius, n)
    distance = np.sqrt(((position[:, None] - position[None]) ** 2).sum(axis=2))
    depth = np.maximum(radius[:, None] + radius[None] - distance, 0.0)
    depth[np.arange(n), np.arange(n)] = 0.0
    if layer is not None:
        depth[layer[:, None] != layer[None]] = 0.0
    return depth.sum() / 2.0, depth.max(initial=0.0)


def random_crowd(rng):
    """Position, radius and movable flags of a crowd:
    dense or loose, on a lattice or not, of one size or many.
    """
    n, density = int(rng.integers(2, 60)), rng.uniform(0.3, 12.0)
    position = rng.uniform(0.0, np.sqrt(n / density), (n, 2))
    if rng.uniform() < 0.2:
        position = np.round(position * 4.0) / 4.0
    radius = rng.uniform(0.05, 0.4, n) if rng.uniform() < 0.5 else np.full(n, 0.25)
    movable = (rng.uniform(size=n) > rng.choice([0.0, 0.3])).astype(np.uint8)
    return position, radius, movable


def assert_no_harm(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        position, radius, movable = random_crowd(rng)
        before = overlaps(position, radius)
        for _ in range(4):
            moved, result = separate(position, radius, movable=movable)
            after = overlaps(moved, radius)
            assert after[0] <= before[0] + 1e-10, seed
            assert after[1] <= before[1] + 1e-12, seed
            assert result.before.total == pytest.approx(before[0], abs=1e-8)
            assert result.after.deepest == pytest.approx(after[1], abs=1e-12)
            assert (moved[movable == 0] == position[movable == 0]).all()
            position, before = moved, after


def test_neither_total_nor_deepest_overlap_rises_over_a_pass():
    assert_no_harm(range(120))


@pytest.mark.full
def test_neither_total_nor_deepest_overlap_rises_over_ten_thousand_crowds():
    assert_no_harm(range(10_000))


def test_driven_discs_do_not_overlap_each_other_and_push_those_that_can_be_pushed():
    both, result = separate([[0.0, 0.0], [0.1, 0.0]], 0.2, movable=[2, 2])
    assert (both == [[0.0, 0.0], [0.1, 0.0]]).all() and result.before.count == result.after.count == 0
    moved, result = separate([[0.0, 0.0], [0.1, 0.0], [0.4, 0.0]], 0.2, movable=[2, 2, 1])
    assert (
        (moved[:2] == [[0.0, 0.0], [0.1, 0.0]]).all()
        and np.allclose(moved[2], [0.5, 0.0])
        and result.after.count == 0
    )
    _, result = separate([[0.0, 0.0], [0.1, 0.0]], 0.2, movable=[2, 0])
    assert result.after.count == 1


@pytest.mark.parametrize("seed", range(12))
def test_separate_with_driven_discs_agrees_with_reference(seed):
    rng = np.random.default_rng(100 + seed)
    position, radius, _ = random_crowd(rng)
    movable = rng.choice([0, 1, 2], p=[0.1, 0.6, 0.3], size=len(radius)).astype(np.uint8)
    expected = twin.separate(
        [tuple(p) for p in position.tolist()],
        radius.tolist(),
        movable.tolist(),
        [0] * len(radius),
        [],
        3,
        further=0,
    )
    moved, _ = separate(position, radius, passes=3, movable=movable, further=0)
    assert np.allclose(moved, expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_separate_agrees_with_reference(seed):
    rng = np.random.default_rng(seed)
    position, radius, movable = random_crowd(rng)
    layer = rng.integers(0, 2, len(radius))
    expected = twin.separate(
        [tuple(p) for p in position.tolist()],
        radius.tolist(),
        movable.tolist(),
        layer.tolist(),
        [],
        3,
        further=0,
    )
    moved, result = separate(position, radius, passes=3, movable=movable, layer=layer, further=0)
    assert np.allclose(moved, expected, atol=1e-9)
    count, deepest, total = twin.measure(position.tolist(), radius.tolist(), layer.tolist(), movable.tolist())
    assert astuple(result.before) == (
        count,
        pytest.approx(deepest, abs=1e-12),
        pytest.approx(total, abs=1e-9),
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(40))
def test_further_passes_agree_with_reference(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    position, radius = rng.uniform(0.0, np.sqrt(n / rng.uniform(2.0, 10.0)), (n, 2)), rng.uniform(0.1, 0.3, n)
    movable = (rng.uniform(size=n) > rng.choice([0.0, 0.1])).astype(np.uint8)
    before = position + rng.uniform(-0.07, 0.07, (n, 2))
    expected = twin.separate(
        [tuple(p) for p in position.tolist()],
        radius.tolist(),
        movable.tolist(),
        [0] * n,
        [],
        3,
        before=[tuple(p) for p in before.tolist()],
    )
    moved, result = separate(position, radius, before=before, passes=3, movable=movable)
    assert np.allclose(moved, expected, atol=1e-8)
    assert result.after.deepest == pytest.approx(overlaps(moved, radius)[1], abs=1e-12)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(20))
def test_separate_among_walls_agrees_with_reference(seed):
    rng = np.random.default_rng(seed)
    position, radius = rng.uniform((0.1, 0.1), (4.9, 2.9), (40, 2)), rng.uniform(0.15, 0.3, 40)
    movable = (rng.uniform(size=40) > 0.1).astype(np.uint8)
    walls = [(tuple(a), tuple(b)) for a, b in zip(PLAN.start.tolist(), PLAN.end.tolist(), strict=True)]
    expected = twin.separate(
        [tuple(p) for p in position.tolist()], radius.tolist(), movable.tolist(), [0] * 40, walls, 2
    )
    moved, _ = separate(position, radius, passes=2, movable=movable, walls=PLAN)
    assert np.allclose(moved, expected, atol=1e-9)


def test_an_isolated_pair_parts_by_half_the_overlap_each():
    moved, result = separate([[0.0, 0.0], [0.3, 0.0]], 0.2)
    assert moved.tolist() == [[pytest.approx(-0.05), 0.0], [pytest.approx(0.35), 0.0]]
    assert astuple(result.before) == (1, pytest.approx(0.1), pytest.approx(0.1))
    assert result.after.count == 0


def test_touching_discs_are_left_alone():
    position = np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]])
    moved, result = separate(position, 0.25)
    assert (moved == position).all()
    assert result.before.count == 0


def test_the_middle_one_of_three_stays_and_the_outer_ones_give_way():
    moved, _ = separate([[-0.3, 0.0], [0.0, 0.0], [0.3, 0.0]], 0.2, further=0)
    assert moved[1].tolist() == [0.0, 0.0]
    assert moved[0, 0] == pytest.approx(-0.35)
    assert moved[2, 0] == pytest.approx(0.35)


def test_coincident_centres_part_along_x_by_entity():
    moved, _ = separate([[1.0, 1.0], [1.0, 1.0]], 0.2)
    assert moved.tolist() == [[pytest.approx(1.2), 1.0], [pytest.approx(0.8), 1.0]]


def test_the_neighbour_of_a_disc_that_cannot_move_gets_the_whole_push():
    moved, _ = separate([[0.0, 0.0], [0.3, 0.0]], 0.2, movable=[1, 0])
    assert moved.tolist() == [[pytest.approx(-0.1), 0.0], [0.3, 0.0]]
    both, result = separate([[0.0, 0.0], [0.3, 0.0]], 0.2, movable=[0, 0])
    assert both.tolist() == [[0.0, 0.0], [0.3, 0.0]]
    assert result.after.count == 1


def test_a_push_into_a_wall_goes_to_the_other():
    moved, _ = separate([[0.2, 1.5], [0.5, 1.5]], 0.2, walls=PLAN)
    assert moved.tolist() == [[0.2, 1.5], [pytest.approx(0.6), 1.5]]


def test_a_body_between_a_cart_and_a_wall_leaves_to_the_side():
    position, movable = np.array([[3.0, 0.25], [2.99, 0.75]]), np.array([1, 2], np.uint8)
    moved, result = separate(position, [0.25, 0.4], movable=movable, walls=PLAN, passes=3)
    assert result.before.deepest > 0.14
    assert result.after.deepest <= 0.02
    assert (moved[1] == position[1]).all() and moved[0, 0] > 3.0 and moved[0, 1] >= 0.25 - 1e-4


def test_two_in_a_corner_part_along_its_walls():
    # Each is between the other and a wall: the lower one at the floor, the other at the right wall, 0.1 m too
    # near.
    position = [[4.62, 0.2], [4.8, 0.44]]
    moved, result = separate(position, 0.2, walls=PLAN, further=0)
    assert moved.tolist() == [
        [pytest.approx(4.62 - 0.05 * 0.6), 0.2],
        [4.8, pytest.approx(0.44 + 0.05 * 0.8)],
    ]
    assert result.after.deepest < 0.06
    _, result = separate(position, 0.2, walls=PLAN)
    assert result.after.deepest <= 0.02


def test_one_that_has_room_for_half_of_a_push_takes_that_where_the_other_stands_at_a_wall():
    """The other may not be pushed, the whole push would lead into the next wall: the half is free."""
    room = walls_from_rings([np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 8.0], [0.0, 8.0]])])
    start = [[9.757, 0.26], [9.8, 0.582]]
    assert overlaps(np.array(start), 0.2)[1] > 0.07
    moved, _ = separate(start, 0.2, passes=3, walls=room)
    assert overlaps(moved, 0.2)[1] < 0.02
    assert np.all(moved[:, 1] >= 0.2 - 1e-4) and np.all(moved[:, 0] <= 9.8 + 1e-4)


def pressed_knot(count=80, seed=0):
    """Agents on a disc that are pressed into 85 % of the room that they need."""
    rng = np.random.default_rng(seed)
    return random_places(count, rng) * 0.85


def random_places(count, rng):
    """Places of a close-packed patch of touching discs of 0.2 m, nearest to the middle first,
    moved by a few millimetres.
    """
    lattice = (
        np.array(
            [
                [column + 0.5 * (line % 2), line * np.sqrt(0.75)]
                for line in range(-8, 9)
                for column in range(-8, 9)
            ]
        )
        * 0.4
    )
    return (
        lattice[np.argsort((lattice**2).sum(axis=1), kind="stable")][:count]
        + rng.normal(size=(count, 2)) * 0.003
    )


@pytest.mark.parametrize("seed", range(5))
def test_further_passes_let_the_pressure_out_of_a_knot(seed):
    position = pressed_knot(seed=seed)
    _, three = separate(position, 0.2, passes=3, further=0)
    _, more = separate(position, 0.2, passes=3, tick=1.0)
    assert three.after.deepest > 0.05
    assert more.after.deepest <= 0.02
    assert more.after.total <= three.after.total


@pytest.mark.parametrize("seed", range(3))
def test_further_passes_move_nobody_faster_than_a_push_may(seed):
    position = pressed_knot(seed=seed)
    three, _ = separate(position, 0.2, passes=3, further=0)
    far = [
        np.hypot(*(separate(position, 0.2, passes=3, tick=tick)[0] - three).T).max()
        for tick in (0.02, 0.05, 1.0)
    ]
    assert far[0] <= 0.12 + 1e-9 and far[1] <= 0.3 + 1e-9 < far[2]


def test_a_knot_that_further_passes_do_not_loosen_takes_its_step_back_and_nobody_else_does():
    before = np.concatenate(
        [random_places(80, np.random.default_rng(1)), [[9.0, 0.0], [9.0, 1.0], [9.0, 1.4]]]
    )
    after = (
        before * np.where(np.arange(83) < 80, 0.85, 1.0)[:, None]
        + np.where(np.arange(83) < 81, 0.0, 0.05)[:, None]
    )
    still, result = separate(after, 0.2, passes=3, tick=0.0001)
    assert result.after.deepest > 0.04  # hardly any push is allowed
    moved, result = separate(after, 0.2, before=before, passes=3, tick=0.0001)
    assert result.after.deepest < 0.02 and result.before.deepest > 0.06
    assert (
        np.hypot(*(moved - before)[:80].T).max() < 0.01
        and (moved[80:] == after[80:]).all()
        and (still[80:] == after[80:]).all()
    )


def test_one_wedged_between_immovable_discs_takes_nobodys_step():
    """Two that are never pushed leave one no room, wherever it comes from;
    another that touches it takes its step.
    """
    before = np.array([[0.0, 0.0], [0.3, 0.0], [0.6, 0.0], [0.3, 0.45]])
    after = before + [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, -0.08]]
    moved, result = separate(after, 0.2, before=before, passes=3, movable=[0, 1, 0, 1], tick=0.03)
    assert result.after.deepest > 0.03 and (moved[[0, 2]] == after[[0, 2]]).all()
    kept, _ = separate(after, 0.2, before=after, passes=3, movable=[0, 1, 0, 1], tick=0.03)
    assert (moved == kept).all()


def test_further_passes_are_only_made_where_something_is_deep():
    for gap, differs in ((0.015, False), (0.06, True)):  # twenty agents in a row, each overlapping the next
        row = np.stack([np.arange(20) * (0.4 - gap), np.zeros(20)], axis=1)
        assert (
            separate(row, 0.2, passes=1)[0] != separate(row, 0.2, passes=1, further=0)[0]
        ).any() == differs


@pytest.mark.parametrize("seed", range(6))
def test_discs_that_passes_without_harm_leave_wedged_are_parted_all_the_same(seed):
    """Packed closely enough, every push that does no harm is none at all:
    some of these crowds stood for good with 2 cm of overlap.
    """
    position, separator = np.random.default_rng(seed).uniform(0.0, 10.0, (400, 2)), Separator()
    for _ in range(250):
        position, result = separate(position, 0.25, separator=separator)
    assert result.after.deepest < 0.002


def test_what_cannot_be_parted_ends_the_further_passes(monkeypatch):
    passes, push = [], Separator._push
    monkeypatch.setattr(
        Separator, "_push", lambda *arguments, **options: passes.append(1) or push(*arguments, **options)
    )
    _, result = separate([[0.0, 0.0], [0.3, 0.0]], 0.2, movable=[0, 0])
    assert result.after.deepest == pytest.approx(0.1)
    assert len(passes) == 2  # the ordinary one, and a further one that moves none


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("passes", [3, 0], ids=["passes", "further passes"])
def test_where_few_discs_are_pushed_only_they_and_those_beside_them_are_counted_again(
    monkeypatch, seed, passes
):
    """Knots in a wide crowd: positions and overlaps are those where all are counted after each pass."""
    rng = np.random.default_rng(seed)
    position = rng.uniform(0.0, 40.0, (1500, 2))
    position[: 20 * (seed + 1)] = rng.uniform(10.0, 12.0 + 0.2 * seed, (20 * (seed + 1), 2))
    radius = rng.uniform(0.15, 0.3, len(position))
    scan, scanned = Separator._scan, []
    monkeypatch.setattr(Separator, "_scan", lambda *arguments: scanned.append(1) or scan(*arguments))
    out, result = separate(position, radius, passes=passes)
    few = len(scanned)
    monkeypatch.setattr(bodies, "_MOST_MOVED", -1.0)
    expected, everywhere = separate(position, radius, passes=passes)
    assert np.array_equal(out, expected) and result == everywhere
    assert result.after == overlaps_of_all(out, radius) and few < len(scanned) - few
    assert result.after != result.before


class NotFirst:
    """Stands for the share of moved discs from which on all are counted: first it is more than all."""

    is_first = True

    def __mul__(self, count):
        most, self.is_first = np.inf if self.is_first else -1.0, False
        return most


def test_how_far_discs_moved_before_a_count_of_all_is_not_forgotten(monkeypatch):
    """The second disc goes 3 cm towards the first, and then 1.5 cm, into it: more than half of the gap that
    was known, and less than that in each pass.
    """
    position = np.array([[0.0, 0.0], [0.44, 0.0], [0.78, 0.0], [1.12, 0.0]])
    monkeypatch.setattr(bodies, "_MOST_MOVED", NotFirst())
    out, result = separate(position, 0.2, passes=2, further=0)
    assert out[1, 0] == pytest.approx(0.44 - 0.045)
    assert result.after == overlaps_of_all(out, np.full(4, 0.2)) and result.after.count == 3


def overlaps_of_all(position, radius):
    count = len(position)
    return Separator().measure(position, radius, np.ones(count, np.uint8), np.zeros(count, np.int32), ONE)


def test_discs_on_different_floors_do_not_touch():
    position = np.array([[0.0, 0.0], [0.1, 0.0]])
    assert (separate(position, 0.2, layer=[0, 1])[0] == position).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(5))
def test_no_disc_is_pushed_into_a_wall(seed):
    rng = np.random.default_rng(seed)
    n, radius = 120, 0.2
    position = rng.uniform((0.2, 0.2), (4.8, 2.8), (n, 2))
    position = position[
        ~((position[:, 0] > 1.8) & (position[:, 0] < 2.7) & (position[:, 1] > 0.8) & (position[:, 1] < 2.2))
    ]
    for _ in range(60):
        position, _ = separate(position, radius, passes=3, walls=PLAN)
        assert (position > radius - 2e-4).all()
        assert (position[:, 0] < 5.0 - radius + 2e-4).all()
        assert (position[:, 1] < 3.0 - radius + 2e-4).all()
        to_pillar = np.hypot(*np.maximum(np.maximum([2.0, 1.0] - position, position - [2.5, 2.0]), 0.0).T)
        assert (to_pillar > radius - 2e-4).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("radius", [0.2, 0.25])
def test_a_crowd_of_four_a_square_metre_comes_to_rest(radius):
    rng = np.random.default_rng(3)
    position, separator = rng.uniform(0.0, 10.0, (400, 2)), Separator()
    for _ in range(1500):
        moved, result = separate(position, radius, separator=separator)
        step, position = np.abs(moved - position).max(), moved
    assert step < 1e-5
    assert result.after.deepest < 0.002


def test_a_guarded_pass_takes_over_where_a_divided_push_would_do_harm():
    # One pair overlaps amid a close-packed lattice: pushing it apart straight would press it into four
    # others.
    lattice = (
        np.array(
            [[column + 0.5 * (line % 2), line * np.sqrt(0.75)] for line in range(7) for column in range(7)]
        )
        * 0.4
    )
    lattice[24, 0] += 0.05
    before = overlaps(lattice, 0.2)
    moved, _ = separate(lattice, 0.2)
    after = overlaps(moved, 0.2)
    assert after[0] <= before[0] + 1e-10
    assert after[1] <= before[1] + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_a_pair_keeps_its_centre_and_a_crowd_its_equal_contacts(seed):
    rng = np.random.default_rng(seed)
    pairs = (np.arange(20)[:, None] * [3.0, 0.0])[:, None] + rng.uniform(0.0, 0.3, (20, 2, 2))
    moved, _ = separate(pairs.reshape(-1, 2), 0.25)
    assert np.allclose(moved.reshape(20, 2, 2).mean(axis=1), pairs.mean(axis=1), atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_mirrored_turned_and_reordered_crowds_are_parted_alike(seed):
    rng = np.random.default_rng(seed)
    n = 150
    position, radius = rng.uniform(0.0, 6.0, (n, 2)), rng.uniform(0.1, 0.35, n)
    expected, _ = separate(position, radius, passes=3)
    for move in (
        lambda a: a * (-1.0, 1.0),
        lambda a: -a,
        lambda a: np.stack([-a[:, 1], a[:, 0]], axis=1),
        lambda a: a[:, ::-1],
    ):
        assert (separate(move(position), radius, passes=3)[0] == move(expected)).all()
    order = rng.permutation(n)
    assert (separate(position[order], radius[order], passes=3)[0] == expected[order]).all()


def test_the_number_of_threads_changes_nothing():
    rng = np.random.default_rng(0)
    position, radius = rng.uniform(0.0, 30.0, (4000, 2)), rng.uniform(0.15, 0.3, 4000)
    expected, result = separate(position, radius, passes=3)
    for threads in (2, 3, 7):
        team = Team(threads)
        moved, other = separate(position, radius, passes=3, team=team)
        team.close()
        assert (moved == expected).all()
        assert other == result


def test_wall_distance_only_saves_time():
    rng = np.random.default_rng(1)
    position = rng.uniform((0.2, 0.2), (4.8, 2.8), (80, 2))
    frame = np.minimum(position, [5.0, 3.0] - position).min(axis=1)
    pillar = np.hypot(*np.maximum(np.maximum([2.0, 1.0] - position, position - [2.5, 2.0]), 0.0).T)
    distance = (np.minimum(frame, pillar) * 0.999).astype(np.float32)
    assert (
        separate(position, 0.2, passes=3, walls=PLAN)[0]
        == separate(position, 0.2, passes=3, walls=PLAN, wall_distance=distance)[0]
    ).all()


@pytest.mark.parametrize(
    "position, radius",
    [
        (np.zeros((0, 2)), 0.2),
        (np.zeros((1, 2)), 0.2),
        (np.zeros((90, 2)), 0.2),
        (np.random.default_rng(0).uniform(0.0, 3.0, (50, 2)), 0.0),
        (np.random.default_rng(0).uniform(0.0, 9.0, (50, 2)), np.array([30.0, *[0.2] * 49])),
        (np.random.default_rng(0).uniform(0.0, 3.0, (50, 2)) + np.array([4e5, 5e6]), 0.25),
    ],
    ids=["none", "one", "a pile", "points", "a giant", "UTM"],
)
def test_odd_crowds_are_parted_without_harm(position, radius):
    before = overlaps(position, radius)
    moved, result = separate(position, radius, passes=3)
    after = overlaps(moved, radius)
    assert np.isfinite(moved).all()
    assert after[0] <= before[0] + 1e-6
    assert after[1] <= before[1] + 1e-8
    assert result.before.total == pytest.approx(before[0], abs=1e-6)


def test_buffers_serve_crowds_of_changing_size():
    separator, rng = Separator(), np.random.default_rng(5)
    for n in (3, 200, 50, 1000, 1):
        position = rng.uniform(0.0, np.sqrt(n), (n, 2))
        assert (
            separate(position, 0.25, separator=separator)[0] == separate(position, 0.25, passes=3)[0]
        ).all()


def test_less_deep_overlaps_are_no_better_where_there_are_more_in_all_than_before():
    least = Overlaps(5, 0.10, 0.50)
    assert _is_better(Overlaps(9, 0.08, 0.60), least, 0.60) and not _is_better(
        Overlaps(9, 0.08, 0.61), least, 0.60
    )
    assert _is_better(Overlaps(5, 0.10, 0.49), least, 0.60) and not _is_better(
        Overlaps(5, 0.10, 0.50), least, 0.60
    )
    assert not _is_better(Overlaps(5, 0.11, 0.10), least, 0.60)


def test_walls_that_changed_are_seen_by_a_separator_that_knew_others():
    position = [[1.9, 1.2], [1.85, 1.3]]  # pushed to the right, one would be in the pillar
    kept = Separator()
    free, _ = separate(position, 0.2, separator=kept, walls=no_walls())
    beside, _ = separate(position, 0.2, separator=kept, walls=PLAN)
    fresh, _ = separate(position, 0.2, separator=Separator(), walls=PLAN)
    assert beside.tobytes() == fresh.tobytes() != free.tobytes()


def test_overlaps_of_all_discs_are_summed():
    rng = np.random.default_rng(1)
    count, deepest, total = rng.integers(0, 4, 500), rng.uniform(0.0, 0.1, 500), rng.integers(0, 2**50, 500)
    assert sum_overlaps(0, len(count), count, deepest, total) == twin.sum_overlaps(count, deepest, total)
