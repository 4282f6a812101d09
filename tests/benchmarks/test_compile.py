"""The benchmark of the first run says what each function costs to compile."""

import subprocess
import sys

import pytest

from tests.crowds import ROOT


@pytest.mark.full  # compiles everything that a run needs
def test_seconds_of_functions_add_up_to_those_of_the_warm_up(tmp_path):
    table = tmp_path / "cost.csv"
    command = [sys.executable, "benchmarks/compile.py", "--csv", str(table)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr
    *_, last = done.stdout.splitlines()
    head, *rows = [line.split(",") for line in table.read_text().splitlines()]
    assert head[:3] == ["function", "times", "types"] and len(rows) > 100
    assert all(int(row[1]) >= 1 for row in rows if float(row[2]) > 0.0)
    whole = float(last.split()[1])
    assert 0.8 * whole < sum(float(cell) for row in rows for cell in row[2:]) < whole
