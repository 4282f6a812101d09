"""The benchmark of a second thread beside a second process prints its table."""

import json
import subprocess
import sys

import pytest

from tests.cli.command import environment
from tests.crowds import ROOT

WITH = ("--agents", "60", "--ticks", "3", "--rounds", "1", "--json")


@pytest.mark.full
def test_it_compares_threads_with_processes():
    done = subprocess.run(
        [sys.executable, "benchmarks/second_core.py", *WITH],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    found = json.loads(done.stdout)
    whole = next(row for row in found["rows"] if row["system"] == "whole tick")
    assert found["agents"] == 60 and found["handing_over_us"] > 0.0
    assert whole["one_thread_us"] == max(row["one_thread_us"] for row in found["rows"])
    assert all(row["two_threads"] > 0.0 and row["two_processes"] > 0.0 for row in found["rows"])
    for row in found["rows"]:
        assert abs(row["share"] - row["two_threads"] / row["two_processes"]) < 1e-9
