"""The time slicer: which task gets the next slice, when a tick is over, and that none starves."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.systems.base.slices import ClockMeter, GrantMeter, Progress, Slicer, Spent, Wish, WorkMeter
from tests.reference.slicer import NaiveSlicer


class Clock:
    """A clock that tasks move on."""

    def __init__(self):
        self.now, self.readings = 0, 0

    def __call__(self):
        self.readings += 1
        return self.now


def job(log, name, work, *, rounds=1, wish=Wish.GO_ON, then=None):
    """Return a task of `rounds` rounds of `work` units, which notes its slices in `log`."""
    left = [work, rounds]

    def slice_of(most):
        used = min(most, left[0])
        left[0] -= used
        log.append(name)
        if then is not None:
            then(name)
        if left[0]:
            return Progress(used, wish)
        left[0] = work
        return Progress(used, Wish.DONE)

    return slice_of


def test_a_task_that_is_done_leaves_and_its_slices_add_up():
    slicer, log = Slicer(10), []
    slicer.add("a", job(log, "a", 25), due=1)
    assert slicer.run(0, WorkMeter(100)) == Spent(0, 0, 0, 0) and "a" in slicer  # not due yet
    slicer.add("b", job(log, "b", 5), due=1)
    assert slicer.run(1, WorkMeter(100)).used == 30
    # the last slice of a is all the rest, since it is alone
    assert log == ["a", "b", "a"] and len(slicer) == 0


def test_equals_have_slices_in_turn():
    slicer, log = Slicer(10), []
    for name in "abc":
        slicer.add(name, job(log, name, 30), due=0)
    slicer.run(0, WorkMeter(1000))
    assert "".join(log) == "abcabcabc"


def test_a_task_that_is_alone_does_all_the_work_of_a_tick_in_one_slice():
    slicer, log = Slicer(10), []
    slicer.add("a", job(log, "a", 1000), due=0)
    assert slicer.run(0, WorkMeter(700)) == Spent(1, 700, 700, 0)
    assert slicer.run(1, WorkMeter(700)) == Spent(1, 700, 300, 0)


def test_a_periodic_task_runs_every_period_and_does_not_make_up_for_missed_rounds():
    slicer, log = Slicer(10), []
    slicer.add("p", job(log, "p", 10), due=0, period=3)
    ticks = []
    for now in [0, 1, 2, 3, 4, 11, 12, 13, 14]:
        if slicer.run(now, WorkMeter(100)).slices:
            ticks.append(now)
    assert ticks == [0, 3, 11, 12]  # due at 6, served at 11, then due at max(6 + 3, 12)
    assert log == ["p"] * 4


def test_a_task_may_take_itself_and_others_off_and_add_new_ones_while_it_runs():
    slicer, log = Slicer(10), []

    def on_slice(name):
        if name == "a" and "c" in slicer:
            slicer.remove("c")
            slicer.add("new", job(log, "new", 5), due=0)
            slicer.add("later", job(log, "later", 5), due=1)
        if name == "b":
            assert slicer.remove("b") and not slicer.remove("b")

    for name in "abc":
        slicer.add(name, job(log, name, 20, then=on_slice), due=0)
    slicer.run(0, WorkMeter(1000))
    assert log == ["a", "b", "new", "a"] and "later" in slicer and len(slicer) == 1


def test_a_task_that_took_itself_off_and_was_added_again_under_its_name_has_one_place_in_the_queue():
    slicer, log = Slicer(10), []

    def again(name):
        slicer.remove("a")
        slicer.add("a", job(log, "again", 10), due=0)

    slicer.add("a", job(log, "a", 20, then=again), due=0)
    slicer.run(0, WorkMeter(1000))
    assert log == ["a", "again"] and len(slicer) == 0


def test_what_a_task_raises_goes_on_to_the_caller_and_the_task_stays():
    slicer = Slicer(10)

    def fail(most):
        raise ZeroDivisionError

    slicer.add("a", fail, due=0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            slicer.run(0, WorkMeter(10))
    assert "a" in slicer and slicer.ages(3) == {"a": 3}


def test_names_are_distinct_and_a_task_cannot_run_its_slicer():
    slicer = Slicer(10)
    slicer.add("a", lambda most: slicer.run(0, WorkMeter(1)), due=0)
    with pytest.raises(ValueError, match="already"):
        slicer.add("a", lambda most: Progress(0, Wish.DONE), due=0)
    with pytest.raises(ValueError, match="negative"):
        slicer.add("b", lambda most: Progress(0, Wish.DONE), due=0, head_start=-1)
    with pytest.raises(RuntimeError):
        slicer.run(0, WorkMeter(1))


def test_a_tick_ends_even_if_tasks_do_nothing_but_want_to_go_on():
    slicer = Slicer(10)
    slicer.add("idle", lambda most: Progress(0, Wish.GO_ON), due=0)
    assert slicer.run(0, WorkMeter(50)).slices == 50


def test_a_task_that_waits_for_the_next_tick_has_one_slice_a_tick():
    slicer = Slicer(10)
    slicer.add("blocked", lambda most: Progress(1, Wish.NEXT_TICK), due=0)
    assert [slicer.run(now, WorkMeter(50)).slices for now in range(3)] == [1, 1, 1]


def test_a_head_start_is_a_priority_that_starves_nobody():
    slicer, log = Slicer(10), []
    slicer.add("rich", job(log, "rich", 10**6), due=0, head_start=5)
    slicer.add("poor", job(log, "poor", 10**6), due=0)
    ages = []
    for now in range(60):
        # two slices a tick for two tasks that want more
        ages.append(slicer.run(now, WorkMeter(20)).oldest_ticks)
    assert log.count("rich") > log.count("poor") >= 60 // 7
    assert max(ages) == 4  # ages are told: after five ticks without a slice the head start is used up


@given(seed=st.integers(0, 10**9))
@settings(max_examples=150, deadline=None)
def test_the_slicer_agrees_with_its_naive_twin(seed):
    def play(slicer):
        rng, log = random.Random(seed), []
        names = iter(range(10**6))
        told = []

        def add(now):
            name, dues = f"t{next(names)}", now + rng.randrange(3)
            work, period, head_start = (
                rng.randrange(1, 60),
                rng.choice([0, 0, 1, 4]),
                rng.choice([0, 0, 2, 5]),
            )
            wish = rng.choice([Wish.GO_ON, Wish.GO_ON, Wish.NEXT_TICK])

            def meddle(me):
                chance = rng.random()
                if chance < 0.05:
                    slicer.remove(me)
                elif chance < 0.1:
                    slicer.remove(f"t{rng.randrange(8)}")
                elif chance < 0.15:
                    add(now)

            slicer.add(
                name,
                job(log, name, work, wish=wish, then=meddle),
                due=dues,
                period=period,
                head_start=head_start,
            )

        for now in range(25):
            for _ in range(rng.randrange(3)):
                add(now)
            meter = rng.choice([WorkMeter, GrantMeter])(rng.randrange(1, 80))
            spent = slicer.run(now, meter)
            told.append(spent[-1])
        return log, told

    assert play(Slicer(7)) == play(NaiveSlicer(7))


@given(head_starts=st.lists(st.integers(0, 6), min_size=2, max_size=6), slices=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_none_starves_while_all_want_more(head_starts, slices):
    slicer, log = Slicer(1), []
    for number, head_start in enumerate(head_starts):
        slicer.add(str(number), job(log, str(number), 10**6), due=0, head_start=head_start)
    bound = max(head_starts) + len(head_starts) // slices + 2
    for now in range(80):
        assert slicer.run(now, WorkMeter(slices)).oldest_ticks <= bound


@pytest.mark.parametrize(("fixed", "each"), [(0, 100), (100, 10), (400, 30), (30, 400), (5000, 1)])
@pytest.mark.parametrize("limit", [5000, 9000, 40_000])
def test_slices_become_larger_while_they_fit_and_fill_what_is_left(fixed, each, limit):
    """What a slice takes besides its work is paid once for all of a large one."""
    clock, slicer, sizes = Clock(), Slicer(10), []

    def work(most):
        sizes.append(most // 10)
        clock.now += fixed + each * (most // 10)
        return Progress(most, Wish.GO_ON)

    slicer.add("search", work, due=0)
    spent = slicer.run(0, ClockMeter(limit, 0, clock))
    assert clock.readings == spent.slices + 1 and spent.granted == 10 * sum(sizes)
    assert clock.now <= max(limit, fixed + each)
    assert clock.now + fixed + each > limit  # another, however small, would not have fitted
    top = sizes.index(max(sizes))
    assert sizes[: top + 1] == [1 << place for place in range(top + 1)]
    assert all(size >= 2 * after for size, after in pairwise(sizes[top + 1 :]))


def test_a_slice_is_begun_only_if_it_fits_should_it_take_as_long_as_the_longest_of_the_tick():
    rng, overruns, limit, longest = np.random.default_rng(4), [], 1000, 100
    for _ in range(3000):
        clock, slicer = Clock(), Slicer(1)
        lengths, taken = iter(rng.integers(1, longest + 1, 2000).tolist()), []

        def work(most, clock=clock, lengths=lengths, taken=taken):
            taken.append(next(lengths))
            clock.now += taken[-1]
            return Progress(1, Wish.GO_ON)

        slicer.add("search", work, due=0)
        slicer.add("other", work, due=0)  # two are in turn, by one slice each
        spent = slicer.run(0, ClockMeter(limit, 0, clock))
        assert clock.readings == spent.slices + 1 == spent.granted + 1
        assert clock.now + max(taken) > limit  # another would not have fitted
        assert clock.now <= limit or taken[-1] > max(taken[:-1])
        overruns.append(clock.now - limit)
    # the last is the longest of some twenty, and comes where less is left than it takes
    assert max(overruns) < longest and np.mean(np.array(overruns) > 0) < 0.005


def test_a_slice_is_no_larger_than_twice_what_one_has_done():
    """One that searches ends after some expansions, however much it may do, and says nothing of others."""
    clock, slicer, sizes = Clock(), Slicer(10), []

    def work(most):
        sizes.append(most // 10)
        clock.now += 100
        return Progress(min(most, 10), Wish.GO_ON)

    slicer.add("search", work, due=0)
    slicer.run(0, ClockMeter(10_000, 0, clock))
    assert sizes == [1, *[2] * 98, 1]


@given(seed=st.integers(0, 10**9))
@settings(max_examples=150, deadline=None)
def test_what_was_granted_says_which_slices_there_were(seed):
    """Whatever slices took and did, and whichever tasks came and went in between."""

    def play(meters):
        rng, slicer, log, granted = random.Random(seed), Slicer(7), [], []
        clock = Clock()

        def add(name, tick):
            def work(most):
                log.append((name, most))
                used = rng.randrange(most + 1) if rng.random() < 0.6 else most
                clock.now += rng.randrange(200) + used * rng.randrange(1, 20)
                if rng.random() < 0.05:
                    add(f"{name}+{len(log)}", tick)
                return Progress(used, rng.choices([Wish.GO_ON, Wish.NEXT_TICK, Wish.DONE], (20, 1, 1))[0])

            slicer.add(name, work, due=tick)

        for tick in range(6):
            for number in range(rng.choice((0, 1, 1, 2))):
                add(f"{tick}, {number}", tick)
            early = rng.random() < 0.3
            meter = meters(tick, rng.randrange(4000), clock)
            spent = slicer.run(tick, meter, f"{tick}, 0" if early else None).granted
            if early:
                if isinstance(meter, ClockMeter):
                    meter.end(1000, clock.now)
                spent += slicer.run(tick, meter).granted
            granted.append(spent)
        return log, granted

    log, granted = play(lambda tick, limit, clock: ClockMeter(limit, clock.now, clock))
    again, _ = play(lambda tick, limit, clock: GrantMeter(granted[tick]))
    assert again == log and (not log or max(most for _, most in log) >= 7)


def test_a_tick_without_time_has_one_slice():
    clock, slicer, log = Clock(), Slicer(10), []
    slicer.add("a", job(log, "a", 100), due=0)
    assert slicer.run(0, ClockMeter(-5000, 0, clock)).slices == 1
    assert slicer.run(1, ClockMeter(0, 0, clock)).slices == 1
    assert slicer.run(2, GrantMeter(0)).slices == 0


@given(seed=st.integers(0, 10**9), stop=st.integers(0, 20))
@settings(max_examples=60, deadline=None)
def test_a_queue_that_was_saved_goes_on_as_it_would_have(seed, stop):
    def fill(log):
        rng, slicer = random.Random(seed), Slicer(5)
        for number in range(6):
            slicer.add(
                str(number),
                job(log, str(number), 10**6),
                due=rng.randrange(6),
                period=0,
                head_start=rng.randrange(3),
            )
        return slicer

    first, second = [], []
    slicer, other = fill(first), fill(second)
    for now in range(20):
        if now == stop:
            other.restore(slicer.state())
            first.clear()
        slicer.run(now, WorkMeter(20))
        if now >= stop:
            other.run(now, WorkMeter(20))
    assert first == second if stop < 20 else not second


def test_a_state_of_other_tasks_is_refused():
    slicer, other = Slicer(5), Slicer(5)
    slicer.add("a", lambda most: Progress(0, Wish.DONE), due=0)
    with pytest.raises(ValueError, match="task/ has a, but what is to be done is nothing"):
        other.restore(slicer.state())
