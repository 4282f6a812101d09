"""Where something that moves is, and since when it stands."""

import numpy as np
import pytest

from crowdsim.scenario.timetable import Timetable
from tests.reference import timetable as twin


def random_timetable(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    points = rng.integers(0, 4, (count, 2)).astype(float).tolist()
    times = (rng.integers(0, 3) + np.cumsum(rng.integers(1, 6, count)) * 0.5).tolist()
    for i in np.flatnonzero(rng.uniform(size=count - 1) < 0.4).tolist():
        points[i + 1] = points[i]
    loops = bool(rng.uniform() < 0.5)
    if loops:
        points.append(points[0])
        times.append(times[-1] + 1.0)
    return times, points, loops


@pytest.mark.parametrize("seed", range(40))
def test_places_agree_with_reference(seed):
    times, points, loops = random_timetable(seed)
    table = Timetable(np.array(times), np.array(points), loops)
    for time in np.linspace(0.0, 40.0, 161).tolist():
        assert np.allclose(table.place(time), twin.place(times, points, loops, time), atol=1e-9)


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(40))
def test_stands_agree_with_reference(seed):
    times, points, loops = random_timetable(seed)
    table = Timetable(np.array(times), np.array(points), loops)
    found = []
    for tick in range(1, 150):
        begin, end = (tick - 1) * 0.2, tick * 0.2
        for since, least in ((0.0, 0.0), (0.0, 0.6), (2.0, 1.0)):
            stands = table.stands(begin, end, since, least)
            assert stands == twin.stands(times, points, loops, begin, end, since, least), (tick, since, least)
            found.append(stands)
    assert any(found) or loops


def test_it_goes_straight_stands_and_goes_on():
    table = Timetable(
        np.array([2.0, 6.0, 9.0, 11.0]), np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 0.0], [4.0, 2.0]])
    )
    assert [table.place(time) for time in (0.0, 2.0, 3.0, 6.0, 8.0, 10.0, 99.0)] == [
        (0, 0),
        (0, 0),
        (1, 0),
        (4, 0),
        (4, 0),
        (4, 1),
        (4, 2),
    ]
    assert not table.stands(5.9, 6.1, 0.0, 0.0) and table.stands(6.0, 6.1, 0.0, 0.0)
    assert (
        not table.stands(6.9, 7.0, 0.0, 1.0)
        and table.stands(7.0, 7.1, 0.0, 1.0)
        and table.stands(8.9, 9.0, 0.0, 1.0)
    )
    assert not table.stands(8.95, 9.05, 0.0, 1.0)
    assert table.next_move(7.0) == 9.0 and table.next_move(12.0) == np.inf


def test_a_loop_stands_across_its_end():
    table = Timetable(
        np.array([0.0, 1.0, 2.0, 3.0, 4.0]),
        np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
        loops=True,
    )
    assert (
        table.stands(4.5, 4.6, 0.0, 1.5)
        and not table.stands(4.5, 4.6, 0.0, 1.6)
        and table.stands(16.5, 16.6, 0.0, 1.5)
    )
    assert table.place(10.0) == table.place(2.0) == (1.0, 0.0)
    assert table.next_move(3.5) == 5.0
