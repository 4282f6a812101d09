"""The real command killed at any moment: what was committed is there, and equals the uninterrupted run."""

import random
import signal
import time

import numpy as np
import pytest

import crowdsim as library
from tests.cli.command import crowdsim, start
from tests.cli.test_run import wait_for_partial
from tests.crowds import SCENARIOS


def check_kills(scenario, sets, moments, folder, seed):
    """Kill a run at random moments; every committed row must be that of the whole run.
    Return how many rows the killed runs had kept.
    """
    whole = folder / "whole" / "a.h5"
    whole.parent.mkdir()
    options = [part for value in sets for part in ("--set", value)]
    process = start(["run", scenario, "-o", whole, "-q", *options])
    wait_for_partial(whole.parent, process)
    began = time.monotonic()
    process.communicate()
    longest = time.monotonic() - began
    assert process.returncode in (0, 3)
    with library.open_run(whole) as run:
        expected = run.rows(0, run.commit.rows)
        rows_of = run.frame_starts()
    rng = random.Random(seed)
    kept = []
    for number in range(moments):
        place = folder / f"kill{number}"
        place.mkdir()
        process = start(["run", scenario, "-o", place / "a.h5", "-q", *options])
        wait_for_partial(place, process)
        time.sleep(rng.uniform(0.0, longest))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if (place / "a.h5").exists():  # the run was faster than its killer
            continue
        partial = next(place.glob(".*.partial.h5"))
        done = crowdsim(["recover", partial, "--out", place / "recovered.h5"])
        # killed while the file was being laid out
        if done.returncode == 4 and "nothing was committed" in done.stderr:
            kept.append(0)
            continue
        assert done.returncode == 0, done.stderr
        with library.open_run(place / "recovered.h5") as run:
            count, frames = run.commit.rows, run.commit.frames
            assert count == rows_of[frames]
            for name, array in run.rows(0, count).items():
                assert np.array_equal(array, expected[name][:count], equal_nan=array.dtype.kind == "f"), (
                    number,
                    name,
                )
        kept.append(count)
    return kept


@pytest.mark.parametrize(
    "scenario, sets, moments",
    [
        ("bottleneck", ["stop.after=25"], 1),
        pytest.param("concourse", ["stop.after=12"], 2, marks=pytest.mark.full),
    ],
)
def test_a_killed_run_keeps_what_was_committed(tmp_path, scenario, sets, moments):
    kept = check_kills(SCENARIOS / f"{scenario}.yaml", sets, moments, tmp_path, 1)
    assert max(kept) > 0


@pytest.mark.full
def test_ten_thousand_agents_killed_at_fifty_moments(tmp_path):
    kept = check_kills(SCENARIOS / "open-10000.yaml", [], 50, tmp_path, 2)
    assert sum(count > 0 for count in kept) >= 25
