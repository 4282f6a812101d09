"""`crowdsim budget`: a table for people, JSON for programs."""

import json

from tests.cli.command import crowdsim
from tests.crowds import SCENARIOS


def test_costs_longest_ticks_and_waits_are_shown(tmp_path):
    path = tmp_path / "a.h5"
    assert (
        crowdsim(
            ["run", SCENARIOS / "antipodal-circle.yaml", "-o", path, "-q", "--set", "stop.after=2"]
        ).returncode
        == 3
    )
    done = crowdsim(["budget", path, "--worst", "2"])
    assert (
        done.returncode == 0
        and "no budget of milliseconds" in done.stdout
        and "whole tick" in done.stdout
        and "over the budget" not in done.stdout
    )
    held = crowdsim(["budget", path, "--milliseconds", "0", "--json"])
    facts = json.loads(held.stdout)
    assert facts["ticks_over"] == facts["ticks"] == sum(facts["over_by_culprit"].values())
    assert abs(sum(row["share"] for row in facts["systems"][:-1]) - 1.0) < 1e-9 and len(facts["worst"]) == 5


def test_shares_of_a_run_in_which_nothing_took_time_are_null():
    golden = SCENARIOS.parent / "runs/golden/antipodal-circle.h5"  # without clock readings
    done = crowdsim(["budget", golden, "--json"])
    assert done.returncode == 0 and done.stderr == ""
    assert {row["share"] for row in json.loads(done.stdout)["systems"]} == {None}
