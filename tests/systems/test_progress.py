"""Progress along the path: by how much the least remaining length has fallen, from two products a look."""

import math

import numpy as np
import pytest

from crowdsim.navigation.corridor.progress import Measured, Progress, note_progress
from crowdsim.systems.paths.lost_paths import forget_path, take_length, take_path
from crowdsim.world.columns import AgentColumns
from tests.reference import progress as naive

LEVEL = np.zeros((0, 2))
POLES = np.array([[5.0, 5.0], [-3.0, 2.0], [8.0, -1.0]])
GOAL_START = np.array([0, 1, 3, 3], dtype=np.int32)  # the third goal is off the ground


def noted(count, place=None):
    """Return columns as Gauge keeps them."""
    place = np.zeros((count, 2)) if place is None else place.copy()
    return place, np.zeros((count, 2)), np.full(count, np.nan), np.zeros(count), np.zeros(count)


def note(columns, towards, corner, heading, goal, position, slope=LEVEL, start=0, stop=None):
    stop = len(position) if stop is None else stop
    note_progress(
        start, stop, towards, corner, heading, goal, GOAL_START, POLES, slope, position, Progress(*columns)
    )


def steps(seed, count=30, looks=40):
    """Yield what many agents do: jostle, walk, be sent about, guess, stand."""
    rng = np.random.default_rng(seed)
    position = rng.uniform(-4, 8, (count, 2))
    corner, heading = rng.uniform(-4, 8, (count, 2)), rng.normal(size=(count, 2))
    towards = rng.choice([1, 1, 1, 2, 3, 0], count).astype(np.uint8)
    goal = rng.integers(0, 3, count).astype(np.int32)
    for _ in range(looks):
        position = position + rng.normal(0.0, 0.2, (count, 2))
        changed = rng.random(count) < 0.15
        corner[changed] = rng.uniform(-4, 8, (int(changed.sum()), 2))
        arrived = rng.random(count) < 0.05
        corner[arrived] = position[arrived]
        towards[rng.random(count) < 0.1] = rng.choice([0, 1, 2, 3])
        yield towards.copy(), corner.copy(), heading, goal, position


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sloped", [False, True])
def test_noting_agrees_with_its_reference(seed, sloped):
    walkers, columns = None, None
    slope = np.random.default_rng(seed + 9).normal(0.0, 0.3, (30, 2)) if sloped else LEVEL
    for towards, corner, heading, goal, position in steps(seed):
        if columns is None:
            columns, walkers = noted(len(position), position), [naive.Walker(at) for at in position.tolist()]
        note(columns, towards, corner, heading, goal, position, slope)
        for row, walker in enumerate(walkers):
            poles = POLES[GOAL_START[goal[row]] : GOAL_START[goal[row] + 1]].tolist()
            walker.note(
                int(towards[row]),
                position[row].tolist(),
                corner[row].tolist(),
                heading[row].tolist(),
                poles,
                slope[row].tolist() if sloped else None,
            )
        _, _, remaining, behind, progress = columns
        assert np.allclose(progress, [each.progress for each in walkers], atol=1e-9) and np.allclose(
            behind, [each.behind for each in walkers], atol=1e-9
        )
        assert np.allclose(remaining, [each.remaining for each in walkers], atol=1e-9, equal_nan=True)
    assert progress.max() > 1.0 and behind.max() > 1.0


@pytest.mark.parametrize("seed", range(3))
def test_rows_and_ranges_do_not_matter_and_a_mirror_image_progresses_alike(seed):
    whole = parts = mirrored = None
    order = np.random.default_rng(seed).permutation(30)
    flip = np.array([-1.0, 1.0])
    for towards, corner, heading, goal, position in steps(seed):
        if whole is None:
            whole, parts, mirrored = (
                noted(30, position),
                noted(30, position[order]),
                noted(30, position * flip),
            )
        note(whole, towards, corner, heading, goal, position)
        for start, stop in ((0, 7), (7, 22), (22, 30)):
            note(
                parts,
                towards[order],
                corner[order],
                heading[order],
                goal[order],
                position[order],
                start=start,
                stop=stop,
            )
        note_progress(
            0,
            30,
            towards,
            corner * flip,
            heading * flip,
            goal,
            GOAL_START,
            POLES * flip,
            LEVEL,
            position * flip,
            Progress(*mirrored),
        )
    for one, other, mirror in zip(whole[2:], parts[2:], mirrored[2:], strict=True):
        assert np.array_equal(one[order], other, equal_nan=True) and np.array_equal(
            one, mirror, equal_nan=True
        )


def walk(places, corner):
    """Return (remaining, behind, progress) of one agent that is at places one after the other,
    in sight of its corner.
    """
    columns = noted(1, np.array([places[0]]))
    columns[2][:] = math.dist(places[0], corner)
    for place in places:
        note(
            columns,
            np.array([Measured.CORNER], dtype=np.uint8),
            np.array([corner]),
            np.zeros((1, 2)),
            np.zeros(1, dtype=np.int32),
            np.array([place]),
        )
    return tuple(float(each[0]) for each in columns[2:])


def test_an_agent_that_walks_straight_on_progresses_by_what_it_walks():
    remaining, behind, progress = walk([(0.1 * k, 0.0) for k in range(31)], (10.0, 0.0))
    assert (remaining, behind, progress) == (pytest.approx(7.0), 0.0, pytest.approx(3.0))


def test_an_agent_that_goes_to_and_fro_gets_nowhere():
    """Ten minutes of jostling half a metre beside a corner, on the same places forwards and back:
    not a millimetre.
    """
    there = [(0.1 * k, 0.05 * k * k) for k in range(-4, 5)]
    remaining, _, progress = walk((there + there[::-1]) * 300, (0.5, 0.4))
    once = walk(there, (0.5, 0.4))[2]
    assert progress == pytest.approx(once, abs=1e-6)
    assert remaining == pytest.approx(math.dist(there[0], (0.5, 0.4)), abs=1e-6)


def test_an_agent_that_goes_round_its_corner_in_circles_gets_nowhere():
    """A closed loop that does not lead round the corner, in steps of 3 cm, for a hundred turns."""
    loop = [(1.0 + 0.3 * math.cos(k * math.pi / 30), 0.3 * math.sin(k * math.pi / 30)) for k in range(60)]
    remaining, _, progress = walk(loop * 100, (2.0, 0.5))
    assert progress < 0.7 and abs(remaining - math.dist(loop[0], (2.0, 0.5))) < 0.1


def test_an_agent_that_is_pushed_back_has_to_win_back_what_it_lost_first():
    _, behind, progress = walk([(x, 0.0) for x in (0.0, 1.0, 2.0, 1.5, 0.5)], (10.0, 0.0))
    assert behind == pytest.approx(1.5) and progress == pytest.approx(2.0)
    _, behind, progress = walk([(x, 0.0) for x in (0.0, 1.0, 2.0, 1.5, 0.5, 2.25)], (10.0, 0.0))
    assert behind == 0.0 and progress == pytest.approx(2.25)


def agents_at(*places):
    agents = AgentColumns()
    position = np.array(places, dtype=float)
    agents.append(
        len(position),
        {"entity": np.arange(1, len(position) + 1), "position": position, "progress_place": position},
    )
    return agents


def test_a_first_path_begins_and_a_shorter_one_is_no_progress():
    agents = agents_at((0, 0))
    take_path(agents, np.array([0]), np.array([10.0]))
    assert (
        agents.remaining.tolist() == [10.0]
        and agents.nearest_remaining.tolist() == [10.0]
        and agents.progress.tolist() == [0.0]
    )
    take_path(agents, np.array([0]), np.array([4.0]))
    assert (
        agents.remaining.tolist() == [4.0]
        and agents.progress.tolist() == [0.0]
        and agents.setbacks.tolist() == [0]
    )


def test_a_longer_path_begins_again_three_times_and_then_has_to_be_walked():
    agents, row = agents_at((0, 0)), np.array([0])
    take_path(agents, row, np.array([10.0]))
    for number in (1, 2, 3):
        take_path(agents, row, np.array([10.0 + 5.0 * number]))
        assert agents.behind.tolist() == [0.0] and agents.setbacks.tolist() == [number]
    take_path(agents, row, np.array([30.0]))
    assert agents.behind.tolist() == [5.0] and agents.setbacks.tolist() == [3]
    take_path(agents, row, np.array([27.0]))
    assert agents.behind.tolist() == [2.0]
    forget_path(agents, row)
    take_path(agents, row, np.array([50.0]))
    assert (
        agents.behind.tolist() == [0.0]
        and agents.setbacks.tolist() == [0]
        and agents.nearest_remaining.tolist() == [50.0]
    )


def test_a_path_over_too_many_portals_to_be_measured_is_not_known():
    agents = agents_at((0, 0))
    take_path(agents, np.array([0]), np.array([np.inf]))
    assert np.isnan(agents.remaining[0]) and agents.behind.tolist() == [0.0]


@pytest.mark.parametrize("seed", range(4))
def test_paths_between_looks_agree_with_the_reference(seed):
    """Steps that were gone since the last look count along the path that they were gone on,
    whenever the next one comes.
    """
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 5, (12, 2))
    agents, walkers = agents_at(*places), [naive.Walker(at) for at in places.tolist()]
    columns = (
        agents.progress_place,
        agents.progress_direction,
        agents.remaining,
        agents.behind,
        agents.progress,
    )
    towards, nothing, goal = (
        np.full(12, Measured.CORNER, dtype=np.uint8),
        np.zeros((12, 2)),
        np.zeros(12, dtype=np.int32),
    )
    for _ in range(60):
        agents.position[:] += rng.normal(0.0, 0.15, (12, 2))
        rows = np.flatnonzero(rng.random(12) < 0.3)
        length = rng.uniform(1, 20, len(rows))
        take_path(agents, rows, length)
        for row, metres in zip(rows.tolist(), length.tolist(), strict=True):
            walkers[row].take_path(agents.position[row].tolist(), metres)
        if rng.random() < 0.7:
            corner = rng.uniform(0, 5, (12, 2))
            note(columns, towards, corner, nothing, goal, agents.position)
            for row, walker in enumerate(walkers):
                walker.note(naive.CORNER, agents.position[row].tolist(), corner[row].tolist(), (0.0, 0.0), [])
    for name in ("progress", "behind", "remaining"):
        assert np.allclose(
            getattr(agents, name), [getattr(each, name) for each in walkers], equal_nan=True, atol=1e-9
        )
    assert agents.setbacks.tolist() == [each.setbacks for each in walkers]


def test_a_length_that_is_corrected_keeps_what_was_gone():
    agents, row = agents_at((0, 0)), np.array([0])
    take_path(agents, row, np.array([10.0]))
    note(
        (agents.progress_place, agents.progress_direction, agents.remaining, agents.behind, agents.progress),
        np.array([1], dtype=np.uint8),
        np.array([[5.0, 0.0]]),
        np.zeros((1, 2)),
        np.zeros(1, dtype=np.int32),
        agents.position,
    )
    agents.position[0] = (0.5, 0.3)
    take_length(agents, row, np.array([9.2]))
    assert (
        agents.remaining.tolist() == [9.2]
        and agents.progress.tolist() == [0.5]
        and agents.progress_place.tolist() == [[0.5, 0.3]]
    )
