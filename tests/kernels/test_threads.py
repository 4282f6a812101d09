"""A team gives every row to exactly one call, waits for all of them, and reports what goes wrong."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest

from crowdsim.errors import CrowdsimError
from crowdsim.kernels import threads
from crowdsim.kernels.decorator import kernel
from crowdsim.kernels.threads import MOST_THREADS, Team, available_cores


@kernel
def count_rows(start, stop, out):
    """Add one to every row of a range and return its length."""
    for row in range(start, stop):
        out[row] += 1
    return stop - start


@pytest.mark.parametrize("threads", range(1, 8))
def test_every_row_is_given_to_exactly_one_call(threads):
    team = Team(threads)
    for rows in (*range(40), *range(40, 1001, 31), 1000):
        out = np.zeros(rows, dtype=np.int64)
        lengths = team.run(count_rows, rows, out, at_least=1)
        assert np.all(out == 1)
        assert sum(lengths) == rows
        assert len(lengths) == max(1, min(threads, rows))
        assert max(lengths) - min(lengths) <= 1
    team.close()


def test_answers_come_in_row_order_and_few_rows_are_not_split():
    team = Team(3)
    assert team.run(bounds, 9, at_least=1) == [(0, 3), (3, 6), (6, 9)]
    assert team.run(bounds, 1023, at_least=512) == [(0, 1023)]
    assert team.run(bounds, 1024, at_least=512) == [(0, 512), (512, 1024)]
    assert team.run(bounds, 0) == [(0, 0)]
    team.close()


def bounds(start: int, stop: int) -> tuple[int, int]:
    """Return its range."""
    return start, stop


def slow(start: int, stop: int) -> tuple[int, int]:
    """Take 0.1 ms a row."""
    time.sleep(1e-4 * (stop - start))
    return start, stop


def test_a_kernel_is_split_once_it_is_known_to_take_long(monkeypatch):
    team = Team(3)
    assert team.run(slow, 60) == [(0, 60)]  # nothing is known of it
    assert team.run(slow, 60) == [(0, 20), (20, 40), (40, 60)]
    assert team.run(slow, 1) == [(0, 1)]
    for _ in range(3):
        assert team.run(bounds, 60) == [(0, 60)]
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
    assert team.run(bounds, 60) == [(0, 20), (20, 40), (40, 60)]
    team.close()


@pytest.mark.parametrize("split_ns, alone_ns", [(100.0, 200.0), (250.0, 200.0)])
def test_rows_are_split_where_that_was_faster_and_the_other_manner_is_tried_now_and_then(split_ns, alone_ns):
    pace, rows, done = threads._Pace(), 10_000, []
    for _ in range(5 * threads.TRIED_EVERY):
        parts = max(1, pace.parts(rows, 2))
        pace.note(rows, rows * (split_ns if parts > 1 else alone_ns), is_split=parts > 1)
        done.append(parts)
    faster = 2 if split_ns < alone_ns else 1
    assert done[:2] == [1, 2]  # one is known after the other
    assert done[2:].count(3 - faster) == pytest.approx(2 * 5, abs=2)
    for _ in range(2 * threads.TRIED_EVERY + 10):  # what was faster is no longer
        parts = max(1, pace.parts(rows, 2))
        pace.note(rows, rows * 1000 if parts == faster else rows * 150, is_split=parts > 1)
    assert pace.parts(rows, 2) == 3 - faster


def test_functions_that_are_made_anew_are_known_by_their_code_and_not_kept():
    team, given = Team(2), []
    for _ in range(50):
        rows = np.zeros(3)
        given.append(weakref.ref(rows))
        team.run(lambda start, stop, rows=rows: rows[start:stop].sum(), 3)
    del rows
    team.close()  # with the thread goes what it was given last
    assert len(team._paces) == 1 and not any(each() is not None for each in given)


def test_short_calls_are_never_split():
    pace = threads._Pace()
    for _ in range(300):
        assert pace.parts(100, 2) < 2
        pace.note(100, threads.WORTH_NS, is_split=False)


def test_a_call_that_waited_for_a_core_is_no_reason_to_split(monkeypatch):
    """One of 50 ms among calls of 20 us."""
    team, clock = Team(2), iter(range(10**6))
    times = iter([0, 20_000, 0, 50_000_000, 0, 20_000])  # before and after each call
    monkeypatch.setattr("crowdsim.kernels.threads.perf_counter_ns", lambda: next(times, next(clock)))
    for _ in range(3):
        assert team.run(bounds, 100) == [(0, 100)]
    assert team.run(bounds, 100) == [(0, 100)]
    team.close()


def test_ctrl_c_comes_once_all_ranges_have_ended():
    team, ended = Team(2), []

    def work(start: int, stop: int) -> None:
        time.sleep(0.1 + 0.4 * start)
        ended.append(start)

    presses = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    presses.start()
    with pytest.raises(KeyboardInterrupt):
        team.run(work, 2, at_least=1)
    assert ended == [0, 1]
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


def test_ranges_run_side_by_side():
    meeting = threading.Barrier(3, timeout=10)
    team = Team(3)
    # passes only if all three are there at once
    places = team.run(lambda start, stop: meeting.wait(), 3, at_least=1)
    assert sorted(places) == [0, 1, 2]
    team.close()


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_an_exception_in_one_range_reaches_the_caller_once_all_have_ended(bad):
    team, ended = Team(3), []

    def work(start: int, stop: int) -> None:
        if start == bad:
            raise ArithmeticError(f"row {start}")
        time.sleep(0.05)
        ended.append(start)

    with pytest.raises(ArithmeticError, match=f"row {bad}"):
        team.run(work, 3, at_least=1)
    assert sorted(ended) == [row for row in range(3) if row != bad]
    assert team.run(lambda start, stop: stop, 3, at_least=1) == [1, 2, 3]
    team.close()


def test_of_several_exceptions_that_of_the_first_row_is_raised():
    def work(start: int, stop: int) -> None:
        time.sleep(0.02 * (3 - start))
        raise ArithmeticError(f"row {start}")

    with pytest.raises(ArithmeticError, match="row 0"):
        Team(3).run(work, 3, at_least=1)


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_a_kernel_may_use_its_own_team(threads):
    """With a thread for each range the inner calls would wait for threads that wait for them."""
    team = Team(threads)

    def outer(start: int, stop: int) -> int:
        inner = team.run(
            lambda low, high: team.run(lambda a, b: b - a, high - low, at_least=1), stop - start, at_least=1
        )
        return sum(map(sum, inner))

    found: list[int] = []
    worker = threading.Thread(target=lambda: found.extend(team.run(outer, 50, at_least=1)), daemon=True)
    worker.start()
    worker.join(20)
    assert not worker.is_alive(), "the team waits for itself"
    assert sum(found) == 50
    team.close()


def test_a_team_that_was_closed_can_be_used_again():
    team = Team(2)
    team.close()
    assert team.run(lambda start, stop: stop, 2, at_least=1) == [1, 2]
    team.close()
    team.close()
    assert team.run(lambda start, stop: stop, 2, at_least=1) == [1, 2]
    team.close()


def test_a_forked_child_starts_threads_of_its_own():
    team = Team(2)
    team.run(lambda start, stop: stop, 2, at_least=1)
    child = os.fork()
    if not child:
        os._exit(0 if team.run(lambda start, stop: stop, 2, at_least=1) == [1, 2] else 1)
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
    monkeypatch.setattr("crowdsim.kernels.threads._Helper._ring", lambda helper: None)  # it hears of nothing
    team = Team(3)
    assert team.run(bounds, 9, at_least=1) == [(0, 3), (3, 6), (6, 9)]
    monkeypatch.undo()
    assert team.run(bounds, 9, at_least=1) == [(0, 3), (3, 6), (6, 9)]
    team.close()
