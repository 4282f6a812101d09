"""The benchmark of what bit-identity costs measures each price,
and its loose kernels are not the exact ones.
"""

import json

import pytest

from benchmarks import bit_identity


@pytest.mark.parametrize("measure", [bit_identity.two_phases, bit_identity.random_numbers])
def test_prices_beside_other_methods_are_times_and_their_ratios(measure):
    for row in measure(2000, 3):
        assert row["exact_ns"] > 0.0 and row["loose_ns"] > 0.0
        assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]


@pytest.mark.full  # compiles ORCA's kernels a second time
def test_loose_kernels_lead_elsewhere(capsys):
    bit_identity.main(["--agents", "200", "--rounds", "2", "--models", "orca", "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["price"] for row in rows} == {"arithmetic", "two phases", "random numbers"}
    row = next(row for row in rows if row["price"] == "arithmetic")
    assert row["exact_ns"] > 0.0 and row["loose_ns"] > 0.0
    assert row["first_velocities_that_differ"] > 0.0
    assert 0.0 < row["apart_after_20_ticks_m"] < 1.0
