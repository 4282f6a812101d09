"""When agents are due that come in while the run lasts."""

import math

import numpy as np
import pytest

from crowdsim.saved import Saved, SavedError
from crowdsim.scenario.load import as_scenario
from crowdsim.setup.due import Due


def group(arrive, name="crowd", **more):
    document = {
        "version": 1,
        "geometry": {"walkable": {"box": [0, 0, 20, 10]}},
        "goals": {"out": {"exit": {"box": [19, 0, 20, 10]}}},
        "groups": [{"name": name, "goals": "out", "arrive": arrive, **more}],
    }
    return as_scenario(document).groups[0]


def due_of(arrive, seed=1, tick=0.05, **more):
    return Due(group(arrive, **more), seed, tick)


def until(due, ticks, step=1):
    found = []
    for tick in range(0, ticks, step):
        found += due.take(tick + step - 1)
    return found


def test_a_rate_is_at_equal_intervals_from_its_beginning_on():
    due = due_of({"rate": "2/s", "after": 1.0, "until": 3.0})
    assert until(due, 200) == [(0, 20), (1, 30), (2, 40), (3, 50)]  # at 1, 1.5, 2 and 2.5 s
    assert due.is_over


@pytest.mark.parametrize("rate, seconds", [(0.5, 2.0), ("90/min", 60 / 90), ("1200/h", 3.0), ("0.1/s", 10.0)])
def test_a_rate_may_be_by_the_second_the_minute_or_the_hour(rate, seconds):
    found = until(due_of({"rate": rate}), 1000)
    assert [tick for _, tick in found[:4]] == [
        math.ceil(number * seconds / 0.05 - 1e-9) for number in range(4)
    ]


def test_an_even_rate_does_not_drift():
    """The hundred-thousandth is due when it should be: no sum of rounded gaps."""
    due = due_of({"rate": 3})
    found = until(due, 2 * 33_334 * 20 // 2, step=1000)
    index, tick = found[100_000]
    assert index == 100_000 and tick == math.ceil(100_000 / 3 / 0.05 - 1e-6)


def test_a_poisson_process_has_exponential_gaps_with_the_mean_of_its_rate():
    """In 200 windows of 20 s the mean and the variance of the counts are both 40; gaps pass the test of
    Kolmogorov and Smirnov against 1 - exp(-2 t).
    """
    due = due_of({"rate": 2, "process": "poisson"}, seed=3, tick=0.001)
    ticks = np.array([tick for _, tick in until(due, 4_000_000, step=1000)])
    counts = np.histogram(ticks, bins=np.arange(0, 4_000_001, 20_000))[0]
    assert counts.mean() == pytest.approx(40.0, rel=0.03) and counts.var() == pytest.approx(40.0, rel=0.2)
    gaps = np.sort(np.diff(ticks) * 0.001)
    expected = 1.0 - np.exp(-2.0 * gaps)
    assert np.abs(expected - (np.arange(len(gaps)) + 0.5) / len(gaps)).max() < 1.36 / math.sqrt(len(gaps))


def test_gaps_may_have_any_distribution():
    due = due_of({"gap": {"uniform": {"low": 0.5, "high": 1.5}}, "at_most": 400})
    ticks = np.array([tick for _, tick in until(due, 20_000)])
    gaps = np.diff(ticks) * 0.05
    assert len(ticks) == 400 and due.is_over
    assert gaps.min() >= 0.45 and gaps.max() <= 1.55 and gaps.mean() == pytest.approx(1.0, rel=0.05)


def test_a_schedule_says_when_how_many_come():
    due = due_of({"schedule": [[10, 2], [0, 3], [10, 1], [5.02, 1]], "at_most": 6})
    assert until(due, 400) == [(0, 0), (1, 0), (2, 0), (3, 101), (4, 200), (5, 200)]


def test_a_schedule_may_stand_in_a_table(tmp_path):
    (tmp_path / "when.csv").write_text("line, time, count\nA, 3, 2\n\nB, 1.5, 1\n", encoding="utf-8")
    (tmp_path / "a.yaml").write_text(
        "version: 1\ngeometry: {walkable: {box: [0, 0, 20, 10]}}\n"
        "goals: {out: {exit: {box: [19, 0, 20, 10]}}}\n"
        "groups: [{name: crowd, goals: out, arrive: {schedule_file: when.csv}}]\n",
        encoding="utf-8",
    )
    from crowdsim.scenario.load import load_scenario

    scenario = load_scenario(tmp_path / "a.yaml")
    assert scenario.groups[0].arrive.schedule == ((1.5, 1), (3.0, 2))
    assert until(Due(scenario.groups[0], 1, 0.5), 20) == [(0, 3), (1, 6), (2, 6)]


def test_trains_come_at_intervals_and_empty_within_a_time():
    due = due_of({"trains": {"people": 4, "within": 2, "every": 10}, "after": 1, "at_most": 10})
    assert [tick for _, tick in until(due, 1000)] == [20, 30, 40, 50, 220, 230, 240, 250, 420, 430]


def test_trains_of_a_drawn_size_are_the_same_for_the_same_seed():
    arrive = {"trains": {"people": {"uniform": {"low": 5, "high": 30}}, "at": [0, 60, 120, 180]}}
    sizes = [
        np.bincount([tick // 1200 for _, tick in until(due_of(arrive, seed), 6000)]) for seed in (1, 1, 2)
    ]
    assert sizes[0].tolist() == sizes[1].tolist() != sizes[2].tolist()
    assert all(5 <= size <= 30 for size in sizes[0])


def test_indices_follow_those_of_the_beginning_and_of_the_reserve():
    due = due_of({"rate": 1}, count=5, reserve=2)
    assert [index for index, _ in until(due, 100)] == [7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    "arrive",
    [
        {"rate": 3, "process": "poisson"},
        {"rate": 2},
        {"schedule": [[0, 30], [8, 5], [20, 100]]},
        {"trains": {"people": {"uniform": {"low": 5, "high": 30}}, "within": 7, "every": 9}},
    ],
    ids=lambda each: next(iter(each)),
)
def test_what_is_due_when_does_not_depend_on_how_often_it_is_asked_or_saved(arrive):
    whole = until(due_of(arrive), 800)
    assert until(due_of(arrive), 800, step=25) == whole
    due, found = due_of(arrive), []
    for tick in range(800):
        found += due.take(tick)
        if tick % 37 == 5:
            again = due_of(arrive)
            again.restore(Saved.of(due.state()))
            due = again
    assert found == whole and len(whole) > 30


def test_another_group_does_not_change_which_agent_comes_when():
    one, other = (
        due_of({"rate": 3, "process": "poisson"}),
        due_of({"rate": 3, "process": "poisson"}, name="b"),
    )
    assert until(one, 400) != until(other, 400)


@pytest.mark.parametrize(
    ("name", "value"), [("made", [11, 0, 0]), ("made", [-1, 0, 0]), ("time", [np.nan]), ("time", [-1.0])]
)
def test_a_state_that_cannot_be_is_refused(name, value):
    due = due_of({"rate": 3, "process": "poisson", "at_most": 10})
    state = due.state()
    state[name] = np.array(value, dtype=state[name].dtype)
    with pytest.raises(SavedError):
        due.restore(Saved.of(state))
