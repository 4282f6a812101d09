"""A team gives every row to exactly one call, waits for all of them, and reports what goes wrong."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest

from crowdsim.errors import CrowdsimError
from crowdsim.kernels import threads
from crowdsim.kernels.decorator import kernel
from crowdsim.kernels.threads import MOST_THREADS, Team, available_cores
from crowdsim.kernels.waiting import look_ns, looks_in, read_control


@kernel
def count_rows(start, stop, out):
    """Add one to every row of a range and return its length."""
    for row in range(start, stop):
        out[row] += 1
    return stop - start


@kernel
def bounds(start, stop):
    """Return its range."""
    return start, stop


@kernel
def work_hard(start, stop, work, out):
    """Take about a nanosecond a row and unit of work."""
    for row in range(start, stop):
        x = np.float64(row)
        for _ in range(work):
            x = np.sqrt(x + 1.0)
        out[row] = x
    return start, stop


@kernel
def raise_at(start, stop, at, work, out):
    """Work, and raise where a row is at a multiple of `at`."""
    for row in range(start, stop):
        if row % at == 0:
            raise ArithmeticError("a bad row")
        x = np.float64(row)
        for _ in range(work):
            x = np.sqrt(x + 1.0)
        out[row] = x


@pytest.mark.parametrize("count", range(1, 8))
def test_every_row_is_given_to_exactly_one_call(count):
    team = Team(count)
    for rows in (*range(40), *range(40, 1001, 31), 1000):
        out = np.zeros(rows, dtype=np.int64)
        lengths = team.run(count_rows, rows, out, at_least=1)
        assert np.all(out == 1)
        assert sum(lengths) == rows
        most = threads.RANGES_OF_A_THREAD * count if count > 1 else 1
        assert len(lengths) == max(1, min(most, rows))
        assert max(lengths) - min(lengths) <= 1
    team.close()


def test_answers_come_in_row_order_and_few_rows_are_not_split():
    team = Team(3)
    assert team.run(bounds, 9, at_least=3) == [(0, 3), (3, 6), (6, 9)]
    assert team.run(bounds, 1023, at_least=512) == [(0, 1023)]
    assert team.run(bounds, 1024, at_least=512) == [(0, 512), (512, 1024)]
    assert team.run(bounds, 0) == [(0, 0)]
    team.close()


def test_a_kernel_is_split_once_it_is_known_to_take_long(monkeypatch):
    team = Team(3)
    slow = 10_000, np.zeros(60)  # some 20 us a row
    assert team.run(work_hard, 60, *slow) == [(0, 60)]  # nothing is known of it
    found = team.run(work_hard, 60, *slow)
    assert 3 <= len(found) <= 3 * threads.RANGES_OF_A_THREAD and found[0][0] == 0 and found[-1][1] == 60
    assert team.run(work_hard, 0, *slow) == [(0, 0)]
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 10**9)
    for _ in range(3):
        assert team.run(bounds, 60) == [(0, 60)]
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
    assert team.run(bounds, 60) == [(0, 20), (20, 40), (40, 60)]
    team.close()


@pytest.mark.parametrize("split_ns, alone_ns", [(100.0, 200.0), (250.0, 200.0)])
def test_rows_are_split_where_that_was_faster_and_the_other_manner_is_tried_now_and_then(split_ns, alone_ns):
    pace, rows, done = threads._Pace(), 140, []
    for _ in range(5 * threads.TRIED_EVERY):
        parts = max(1, pace.parts(rows, rows, 2))
        pace.note(rows, rows * (split_ns if parts > 1 else alone_ns), is_split=parts > 1)
        done.append(parts)
    faster = 2 if split_ns < alone_ns else 1
    assert done[:2] == [1, 2]  # one is known after the other
    assert done[3:5] == [3 - faster] * 2  # the slower one is tried again soon, then seldom
    # after 20 calls, 40, 80, then every 100; the calling thread alone, where it is far slower, after 160, 320
    assert done[5:].count(3 - faster) == pytest.approx(2 * (4 if faster == 2 else 7), abs=2)
    for _ in range(2 * threads.TRIED_EVERY + 10):  # what was faster is no longer
        parts = max(1, pace.parts(rows, rows, 2))
        pace.note(rows, rows * 1000 if parts == faster else rows * 150, is_split=parts > 1)
    assert pace.parts(rows, rows, 2) == 3 - faster


def test_few_rows_say_nothing_about_many():
    """A kernel that sets up for 100 us before it does rows of 1 us each: two of them on two threads take
    longer than on one, two thousand do not, and how many are asked for goes up and down.
    """
    paces, done = threads._Paces(), {2: [], 2000: []}
    for call in range(200):
        rows = 2000 if call % 10 == 9 else 2
        pace = paces.of(rows)
        parts = max(1, pace.parts(rows, rows, 2))
        alone_ns = 100_000 + 1_000 * rows
        pace.note(
            rows, alone_ns if parts == 1 else 110_000 + 500 * rows if rows > 2 else 2 * alone_ns,
            is_split=parts > 1,
        )  # fmt: skip
        done[rows].append(parts > 1)
    assert all(done[2000][:8])  # from the first on: it is known how long two take
    assert done[2000].count(True) >= 18 and done[2].count(True) < 20


def test_work_is_what_is_told_to_be_and_not_the_rows(monkeypatch):
    team, slow = Team(2), (10_000, np.zeros(60))
    team.run(work_hard, 60, *slow, at_least=1)  # loads it, and starts the other thread
    times = iter([0, 60_000, 0, 36_000])  # before and after each call
    monkeypatch.setattr("crowdsim.kernels.threads.perf_counter_ns", _clock_of_caller(times))
    assert len(team.run(work_hard, 60, *slow, work=2)) == 1
    pace = team._paces[work_hard].of(2)
    assert pace.alone_ns == 30_000
    assert len(team.run(work_hard, 60, *slow, work=2)) == 2
    assert (pace.alone_ns, pace._split_ns) == (30_000, 18_000)
    monkeypatch.undo()
    assert sorted(team._paces[work_hard]._by_size) == [2]
    team.run(work_hard, 60, *slow, work=9)
    assert sorted(team._paces[work_hard]._by_size) == [2, 4]
    team.close()


def _clock_of_caller(times):
    """Return a clock that shows these times to the thread that asks for it here, and others the true time."""
    caller, true = threading.get_ident(), time.perf_counter_ns
    return lambda: next(times) if threading.get_ident() == caller else true()


def test_what_the_first_calls_of_a_run_say_wrongly_is_soon_put_right():
    pace, rows = threads._Pace(), 140
    for call in range(30):
        parts = max(1, pace.parts(rows, rows, 2))
        is_first = call < 7
        ns = (2000 if is_first else 200) if parts > 1 else (300 if is_first else 400)
        pace.note(rows, rows * ns, is_split=parts > 1)
    assert pace.parts(rows, rows, 2) > 1


@pytest.mark.parametrize(
    "rows, row_ns, parts",
    [
        (1_000, 5, 1),  # not worth it
        (1_000, 30, 2),  # a range for each thread
        (1_000, 140, 4),  # three would leave one thread with two of them, and the other with one
        (1_000, 240, 6),  # ranges of 50 us at most
        (100_000, 1_000, 2 * threads.RANGES_OF_A_THREAD),
        (3, 10_000_000, 3),  # no more than there are rows
    ],
)
def test_long_calls_have_several_ranges_for_each_thread(rows, row_ns, parts):
    pace = threads._Pace()
    pace.note(rows, rows * row_ns, is_split=False)
    assert max(1, pace.parts(rows, rows, 2)) == parts


def test_more_ranges_than_threads_cover_all_rows_and_need_no_more_threads():
    team, rows = Team(2), 1600
    team._paces[bounds].of(rows).note(rows, rows * 2_000, is_split=False)
    found = team.run(bounds, rows)
    assert len(found) == 2 * threads.RANGES_OF_A_THREAD and len(team._helpers) == 1
    assert [first for first, _ in found[1:]] == [last for _, last in found[:-1]]
    assert (found[0][0], found[-1][1]) == (0, rows)
    team.close()


def test_what_is_no_kernel_is_called_once_with_all_rows():
    team = Team(3)
    assert team.run(lambda start, stop, more: (start, stop, more), 90, "x", at_least=1) == [(0, 90, "x")]
    assert not team._helpers
    team.close()


def test_a_kernel_that_is_not_for_ranges_is_one_sentence():
    @kernel
    def makes_rows(start, stop):
        return np.zeros(stop - start)

    team = Team(2)
    with pytest.raises(
        TypeError, match="makes_rows is no kernel for a team: it must return numbers or nothing"
    ):
        team.run(makes_rows, 10, at_least=1)
    assert team.run(bounds, 2, at_least=1) == [(0, 1), (1, 2)]
    team.close()


def test_a_kernel_may_be_given_other_types_from_call_to_call():
    """The code that was used last refuses them, and the right one is found."""
    team = Team(2)
    for _ in range(2):
        for kind in (np.int64, np.float64, np.uint8, np.int16, np.float32, np.int32):
            out = np.zeros(10, dtype=kind)
            team.run(count_rows, 10, out, at_least=1)
            assert out.dtype == kind and (out == 1).all()
        wide = np.zeros(20)
        team.run(count_rows, 10, wide[::2], at_least=1)
        assert (wide == np.tile([1, 0], 10)).all()
    team.close()


def test_short_calls_are_never_split():
    pace = threads._Pace()
    for _ in range(300):
        assert pace.parts(100, 100, 2) < 2
        pace.note(100, threads.WORTH_NS, is_split=False)


def test_a_call_that_waited_for_a_core_is_no_reason_to_split(monkeypatch):
    """One of 50 ms among calls of 8 us."""
    team, clock = Team(2), iter(range(10**6))
    times = iter([0, 8_000, 0, 50_000_000, 0, 8_000])  # before and after each call
    monkeypatch.setattr("crowdsim.kernels.threads.perf_counter_ns", lambda: next(times, next(clock)))
    for _ in range(3):
        assert team.run(bounds, 100) == [(0, 100)]
    assert team.run(bounds, 100) == [(0, 100)]
    team.close()


def test_a_thread_that_works_much_looks_for_longer():
    patience, while_ns = threads._Patience(0, 0), threads.JUDGED_NS
    short, long = looks_in(threads.AWAKE_NS), looks_in(threads.LONG_AWAKE_NS)
    assert short < long and patience.looks == short
    half = while_ns // 2
    assert not patience.judge(0, half, while_ns - 1, half)  # it is too soon to say
    assert patience.judge(0, half, while_ns, half) and patience.looks == long
    # as much again, but in vain: half of the time it looked, the other half it slept
    vain = int(half / look_ns())
    assert patience.judge(vain, half, 2 * while_ns, while_ns) and patience.looks == short
    assert patience.judge(vain, while_ns, 3 * while_ns, 2 * while_ns) and patience.looks == long
    # it works as much, but waits for a core as long: others work there
    assert patience.judge(0, while_ns, 4 * while_ns, 2 * while_ns + half) and patience.looks == short


def test_threads_look_for_as_long_as_their_work_is_worth():
    """Calls that follow each other closely are met by a thread that is awake; it sleeps in the end."""
    team = Team(2)
    slow = 10_000, np.zeros(60)
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        team.run(work_hard, 60, *slow, at_least=1)
    (helper,) = team._helpers
    until = time.monotonic() + 10.0
    while not helper._sleeps and time.monotonic() < until:
        time.sleep(0.01)
    assert helper._sleeps
    assert team.run(bounds, 2, at_least=1) == [(0, 1), (1, 2)]
    team.close()


def test_ctrl_c_comes_once_all_ranges_have_ended():
    team, out = Team(2), np.zeros(2)
    team.run(work_hard, 2, 1, out, at_least=1)
    out[:] = 0.0
    presses = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
    presses.start()
    with pytest.raises(KeyboardInterrupt):
        team.run(work_hard, 2, 200_000_000, out, at_least=1)
        time.sleep(10)
    assert (out > 0.0).all()
    assert team.run(bounds, 2, at_least=1) == [(0, 1), (1, 2)]
    team.close()


def test_a_team_that_is_dropped_ends_its_threads():
    before = threading.active_count()
    team = Team(3)
    team.run(bounds, 3, at_least=1)
    assert threading.active_count() == before + 2
    del team
    gc.collect()
    assert threading.active_count() == before


def test_many_calls_in_turn_lose_no_range():
    """A thread that comes late finds the next range, or none."""
    team = Team(4)
    for rows in range(4, 3000):
        assert team.run(bounds, rows, at_least=1)[-1][1] == rows
    team.close()


@kernel
def meet(start, stop, there, most):
    """Say that one is there, and look for the others so often; return whether all came."""
    there[start] = 1
    for _ in range(most):
        if read_control(there, 0) + read_control(there, 1) == 2:
            return True
    return False


def test_ranges_run_side_by_side():
    # passes only if both are there at once
    team = Team(2)
    assert any(
        team.run(meet, 2, np.zeros(2, dtype=np.int64), 100_000_000, at_least=1) == [True, True]
        for _ in range(3)
    )
    team.close()


@pytest.mark.parametrize("at", [1, 7, 11])
def test_an_exception_in_a_range_reaches_the_caller_once_all_have_ended(at):
    """Row 0 is bad in any case; of the other ranges those without a bad row are done to the end."""
    team, out = Team(3), np.zeros(12)
    with pytest.raises(ArithmeticError, match="a bad row"):
        team.run(raise_at, 12, at, 100_000, out, at_least=4)
    assert (out > 0.0).tolist() == [clean(row, at) for row in range(12)]
    assert team.run(bounds, 3, at_least=1) == [(0, 1), (1, 2), (2, 3)]
    team.close()


def clean(row: int, at: int) -> bool:
    """Return whether no row of its range of four is bad up to this one."""
    return all(earlier % at for earlier in range(row // 4 * 4, row + 1))


@kernel
def raise_its_own(start, stop, out):
    """Raise another exception in each range."""
    if start == 0:
        raise ArithmeticError("row 0")
    raise ValueError("another row")


def test_of_several_exceptions_that_of_the_first_row_is_raised():
    team = Team(3)
    for _ in range(20):
        with pytest.raises(ArithmeticError, match="row 0"):
            team.run(raise_its_own, 3, np.zeros(3), at_least=1)
    team.close()


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_several_threads_may_use_one_team(threads):
    """One of them has the ranges shared, the others do theirs alone meanwhile."""
    team, wrong = Team(threads), []

    def use() -> None:
        for rows in range(2, 400):
            out = np.zeros(rows, dtype=np.int64)
            team.run(count_rows, rows, out, at_least=1)
            if (out != 1).any():
                wrong.append(rows)

    users = [threading.Thread(target=use) for _ in range(3)]
    for user in users:
        user.start()
    for user in users:
        user.join(60)
    assert not wrong and not any(user.is_alive() for user in users)
    team.close()


def test_a_team_that_was_closed_can_be_used_again():
    team = Team(2)
    team.close()
    assert team.run(bounds, 2, at_least=1) == [(0, 1), (1, 2)]
    team.close()
    team.close()
    assert team.run(bounds, 2, at_least=1) == [(0, 1), (1, 2)]
    team.close()


def test_a_forked_child_starts_threads_of_its_own():
    team = Team(2)
    team.run(bounds, 2, at_least=1)
    child = os.fork()
    if not child:
        os._exit(0 if team.run(bounds, 2, at_least=1) == [(0, 1), (1, 2)] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    team.close()


def test_no_threads_are_started_before_they_are_needed():
    before = threading.active_count()
    team = Team(64)
    team.run(bounds, 100)
    assert threading.active_count() == before
    team.run(bounds, 1024, at_least=512)
    assert threading.active_count() == before + 1
    team.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("threads", [-1, MOST_THREADS + 1, 2.0, "2", True, None])
def test_a_number_of_threads_that_makes_no_sense_is_one_sentence(threads):
    with pytest.raises(
        CrowdsimError, match=r"must be a whole number from 1 to 1,024, or 0 for one for each core\."
    ) as caught:
        Team(threads)
    assert repr(threads) in str(caught.value)


def test_zero_threads_are_one_for_each_core_that_the_process_may_use():
    assert Team(0).threads == available_cores() == len(os.sched_getaffinity(0))
    assert Team(np.int64(3)).threads == 3


def test_what_a_thread_that_gets_no_core_has_not_begun_is_done_by_the_caller(monkeypatch):
    def serves_nobody(control, looks, most):
        time.sleep(0.01)
        return 1

    monkeypatch.setattr("crowdsim.kernels.threads.serve", serves_nobody)
    team = Team(3)
    assert team.run(bounds, 9, at_least=3) == [(0, 3), (3, 6), (6, 9)]
    monkeypatch.undo()
    assert team.run(bounds, 9, at_least=3) == [(0, 3), (3, 6), (6, 9)]
    team.close()
