"""Runs of several seeds put together, as a reader could by hand."""

from __future__ import annotations

import json
import math

import pytest

from crowdsim.comparison.comparison import HEADERS, Outcome, over_seeds, table_row


def outcome(seed, **more):
    values = {
        "agents": 10,
        "arrived": 10,
        "time_over_ideal": 1.0 + 0.1 * seed,
        "path_over_optimal": 1.05,
        "overlaps": seed,
        "steerbench_score": 100.0,
        "ms_per_tick": 1.0,
    }
    return Outcome("scene", "orca", seed, **{**values, **more})


def test_numbers_are_means_with_the_deviation_of_a_sample_and_counts_are_sums():
    both = over_seeds([outcome(1, deepest_overlap_m=0.01), outcome(3, arrived=8, deepest_overlap_m=0.02)])
    assert (both.arrived, both.agents, both.deepest_overlap_m, both.seeds) == (18, 20, 0.02, (1, 3))
    assert both.mean["time_over_ideal"] == pytest.approx(1.2) and both.deviation[
        "time_over_ideal"
    ] == pytest.approx(math.sqrt(0.02))
    cells = dict(zip(HEADERS, table_row(both), strict=True))
    assert (cells["arrived"], cells["time/ideal"], cells["overlaps"], cells["deepest cm"]) == (
        "18 of 20",
        "1.20 ± 0.14",
        "2.0 ± 1.4",
        "2.0",
    )


def test_one_seed_has_no_spread():
    cells = dict(zip(HEADERS, table_row(over_seeds([outcome(2)])), strict=True))
    assert cells["time/ideal"] == "1.20" and cells["overlaps"] == "2" and "±" not in " ".join(cells.values())


def test_what_nobody_has_is_a_dash_and_null():
    empty = over_seeds(
        [Outcome("scene", "orca", 1, agents=0, arrived=0), Outcome("scene", "orca", 2, agents=0, arrived=0)]
    )
    assert dict(zip(HEADERS, table_row(empty), strict=True))["time/ideal"] == "-"
    assert json.loads(json.dumps(empty.as_dict(), allow_nan=False))["mean"]["time_over_ideal"] is None


def test_runs_that_were_broken_off_count_in_no_mean():
    both = over_seeds([outcome(1), outcome(3, arrived=0, failed="too fast")])
    assert (
        both.mean["time_over_ideal"] == pytest.approx(1.1)
        and both.failed == "too fast"
        and both.arrived == 10
    )
    assert math.isnan(over_seeds([outcome(3, failed="too fast")]).mean["overlaps"])


def test_a_table_of_a_thousand_people_and_many_seeds_fits_160_characters():
    wide = over_seeds(
        [
            outcome(
                seed,
                agents=1000,
                arrived=1000,
                stuck_agent_s=12345.0 * seed,
                overlaps=777 * seed,
                steerbench_score=987.6 * seed,
            )
            for seed in (1, 2)
        ]
    )
    row = ("head-on-corridor", "sampled-hrvo", *table_row(wide)[2:])
    assert (
        sum(max(len(head), len(cell)) for head, cell in zip(HEADERS, row, strict=True))
        + 2 * (len(HEADERS) - 1)
        <= 160
    )
