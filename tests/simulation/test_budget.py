"""Budgets of work, of milliseconds, and of a recorded run, in whole simulations."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.recording.opening import open_run
from crowdsim.simulation.budget import RECENT_TICKS, ClockBudget, RecordedBudget, WorkBudget, recorded_grants
from crowdsim.systems.base.slices import Progress, Slicer, Wish
from tests.crowds import BUSY, digests, simulation

TICKS = 40
BY_CLOCK = {**BUSY, "budget": {"milliseconds": 3, "slice": 4}}


def with_budget(**budget):
    return {**copy.deepcopy(BUSY), "budget": budget}


def test_planning_gets_the_milliseconds_less_the_largest_cost_of_the_others_in_the_last_20_ticks():
    budget = ClockBudget(Slicer(10), 4.0, planning=1)
    assert budget.share_ns == 4_000_000  # nothing is known yet
    for others in (1_000_000, 2_500_000, 500_000):
        budget.note(np.array([others - 100, 9_999_999, 100]))
    assert budget.share_ns == 1_500_000
    for _ in range(RECENT_TICKS - 2):
        budget.note(np.array([700_000, 0, 0]))
    assert budget.share_ns == 1_500_000  # the peak is the 20th last
    budget.note(np.array([700_000, 0, 0]))
    assert budget.share_ns == 3_300_000
    budget.note(np.array([5_000_000, 0, 0]))
    assert budget.share_ns == -1_000_000


def test_the_time_of_planning_runs_from_its_beginning_and_one_slice_is_always_done():
    now = [0]
    budget = ClockBudget(Slicer(10), 1.0, planning=0, clock=lambda: now[0])

    def slice_of(most):
        now[0] += 150_000
        return Progress(most, Wish.GO_ON)

    budget.tasks.add("search", slice_of, due=1)
    budget.begin()
    now[0] += 400_000  # requests are taken in: on the account of planning
    assert budget.spend(1).slices == 4  # 0.4 ms + 4 slices of 0.15 ms
    budget.begin()
    now[0] += 5_000_000
    assert budget.spend(2).slices == 1


def test_a_recorded_run_in_milliseconds_is_run_again_from_what_it_granted(tmp_path):
    out = tmp_path / "clock.h5"
    with simulation(BY_CLOCK, out=out) as run:
        expected = digests(run, TICKS)
    with open_run(out) as recording:
        assert not recording.header.reproducible
        granted = recorded_grants(recording)
        ticks = recording.ticks()
    assert sorted(granted) == list(range(1, TICKS + 1))
    # Slices are as large as said, or as many times larger as fits.
    assert (ticks["expansions_granted"] % 4 == 0).all()
    assert (ticks["expansions_granted"] >= 4 * ticks["slices"]).all()
    assert (ticks["expansions"] <= ticks["expansions_granted"]).all()
    assert ticks["expansions"].sum() > 0
    for threads in (1, 2):
        with simulation(BY_CLOCK, granted=granted, threads=threads) as run:
            assert digests(run, TICKS) == expected
            with pytest.raises(CrowdsimError, match=f"ends with tick {TICKS}"):
                run.step()


@given(granted=st.lists(st.integers(0, 6), min_size=12, max_size=12))
@settings(max_examples=8, deadline=None)
def test_a_schedule_of_grants_decides_the_run_and_nothing_else_does(granted):
    document = {**BUSY, "budget": {"milliseconds": 3, "slice": 2}}
    schedule = {tick: 2 * slices for tick, slices in enumerate(granted, 1)}
    with simulation(document, granted=schedule) as one, simulation(document, granted=schedule) as other:
        assert digests(one, 12) == digests(other, 12)
        assert one.counts["expansions_granted"] <= schedule[12]


def test_other_grants_give_another_run():
    with (
        simulation(BY_CLOCK, granted=dict.fromkeys(range(1, 13), 4)) as one,
        simulation(BY_CLOCK, granted=dict.fromkeys(range(1, 13), 400)) as other,
    ):
        assert digests(one, 12) != digests(other, 12)


def test_the_default_is_work_2000_expansions_or_one_for_each_agent():
    with simulation(with_budget()) as run:
        assert isinstance(run.budget, WorkBudget) and run.budget.work == 2000
    with simulation(with_budget(work=5)) as run:
        assert run.budget.work == 5
        made = []
        for _ in range(6):
            run.step()
            assert run.counts["expansions_granted"] == 5 and run.counts["slices"] == 1
            made.append(run.counts["expansions"])
        assert 0 < made[0] < 5 and max(made) <= 5  # requests are work, too, half of it at first
    with simulation(BY_CLOCK) as run:
        assert isinstance(run.budget, ClockBudget) and run.budget.tasks.slice_size == 4
    with simulation(BY_CLOCK, granted={}) as run:
        assert isinstance(run.budget, RecordedBudget)
    with pytest.raises(CrowdsimError, match="budget of work"):
        simulation(BUSY, granted={1: 5})


def test_a_budget_is_of_work_or_of_milliseconds():
    for budget, message in (
        ({"work": 5, "milliseconds": 4}, "one of them decides"),
        ({"slice": 5}, "no clock decides here"),
        ({"milliseconds": -1}, "outside"),
    ):
        with pytest.raises(ScenarioError, match=message):
            simulation({**BUSY, "budget": budget})


def test_the_text_of_a_scenario_says_only_what_its_kind_of_budget_has():
    for budget, kept in (
        ({"work": 7}, {"work": 7}),
        ({"milliseconds": 2}, {"milliseconds": 2.0, "slice": 1000}),
    ):
        with simulation({**BUSY, "budget": budget}) as run:
            assert run.scenario.budget.values == kept


def test_saving_and_loading_between_slices_of_a_search_changes_nothing():
    document = {**BUSY, "budget": {"milliseconds": 3, "slice": 1}}
    schedule = dict.fromkeys(range(1, TICKS + 1), 1)
    with simulation(document, granted=schedule) as run:
        beginning, expected = run.state(), digests(run, TICKS)
    with simulation(document, granted=schedule) as run, simulation(document, granted=schedule) as other:
        for _ in range(6):
            run.step()
            assert "searches" in run.budget.tasks and run.counts["requests_open"]
        state = run.state()
        other.restore(state)
        assert other.state().keys() == state.keys() and "tasks/task/searches" in state
        assert digests(other, TICKS - 6) == expected[6:]
        other.restore(beginning)  # back to where nobody had asked
        assert digests(other, TICKS) == expected


def test_on_a_grid_too_a_run_in_milliseconds_is_run_again(tmp_path):
    document = {
        **BUSY,
        "navigation": {"kind": "grid", "cell_size": 0.1, "object_padding": 0.02},
        "budget": {"milliseconds": 3, "slice": 50},
    }
    out = tmp_path / "grid.h5"
    with simulation(document, out=out) as run:
        expected = digests(run, 20)
    with open_run(out) as recording:
        granted = recorded_grants(recording)
    assert max(granted.values()) >= 50
    with simulation(document, granted=granted) as run:
        assert digests(run, 20) == expected
