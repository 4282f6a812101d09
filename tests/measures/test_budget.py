"""Where the time of ticks goes, on numbers that a reader can check by hand."""

import numpy as np
import pandas as pd

from crowdsim.measures import budget as measured
from crowdsim.simulation import budget
from tests.cli.command import crowdsim
from tests.measures.long_runs import record_walkers

MS = 1_000_000
TIMINGS = pd.DataFrame(
    {
        "tick": [1, 2, 3, 4],
        "Plan": [1 * MS, 1 * MS, 5 * MS, 1 * MS],
        "Avoid": [2 * MS, 2 * MS, 2 * MS, 6 * MS],
    }
)


def test_costs_shares_and_the_worst_tick_of_each_system():
    table = measured.system_costs(TIMINGS).set_index("system")
    assert table.loc["Plan", ["p50_ms", "worst_ms", "worst_tick", "share"]].tolist() == [1.0, 5.0, 3, 0.4]
    assert (
        table.loc["Avoid", "share"] == 0.6
        and table.loc["tick_total", "worst_ms"] == 7.0
        and table.attrs["units"]["p99_ms"] == "ms"
    )


def test_the_culprit_is_the_system_farthest_above_its_own_median_not_the_dearest():
    frames = measured.frame_times(TIMINGS, 4.0)
    assert frames["culprit"].tolist()[2:] == ["Plan", "Avoid"]
    assert frames["is_over"].tolist() == [False, False, True, True]


def test_the_share_of_planning_is_that_which_the_budget_gave():
    kept = budget.ClockBudget(budget.Slicer(10), 4.0, planning=0)
    shares = []
    for row in TIMINGS[["Plan", "Avoid"]].to_numpy():
        shares.append(kept.share_ns / 1e6)
        kept.note(row)
    frames = measured.frame_times(TIMINGS, 4.0)
    assert frames["share_ms"].tolist() == shares == [4.0, 2.0, 2.0, 2.0]
    assert frames["over_ms"].tolist() == [-3.0, -1.0, 3.0, -1.0]
    assert measured.RECENT_TICKS == budget.RECENT_TICKS


def test_without_a_budget_nothing_is_over_and_the_share_is_not_a_number():
    frames = measured.frame_times(TIMINGS)
    assert not frames["is_over"].any() and frames["share_ms"].isna().all()


def test_a_run_without_ticks_has_numbers_that_are_none():
    table = measured.system_costs(TIMINGS[:0])
    assert np.isnan(table["p50_ms"]).all() and len(measured.frame_times(TIMINGS[:0], 4.0)) == 0


def test_without_systems_nothing_is_to_blame_and_nothing_costs():
    frames = measured.frame_times(TIMINGS[["tick"]], 4.0)
    assert set(frames["culprit"]) == {""} and not frames["total_ms"].any() and not frames["is_over"].any()
    assert measured.system_costs(TIMINGS[["tick"]])["system"].tolist() == ["tick_total"]


def test_the_verb_says_where_a_recording_does_not_have_what_systems_took(tmp_path):
    done = crowdsim(["budget", record_walkers(tmp_path / "a.h5", 4, 3)])
    assert done.returncode == 2 and done.stdout == ""
    assert "holds 3 ticks, but not what the systems took in them" in done.stderr
    assert "Traceback" not in done.stderr
