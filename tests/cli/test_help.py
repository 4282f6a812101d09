"""The help answers at once, since it needs nothing that is slow to import."""

import statistics
import subprocess
import sys
import time

import pytest

from crowdsim.cli.verbs import VERBS
from tests.cli.command import crowdsim, environment
from tests.crowds import ROOT, SCENARIOS


def test_help_names_every_verb_and_imports_nothing_heavy():
    probe = (
        "import sys; from crowdsim.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    )
    for verb in VERBS:
        assert f"  {verb} " in done.stdout
    for heavy in ("numpy", "numba", "pandas", "shapely", "h5py", "pydantic", "rich", "matplotlib"):
        assert f"'{heavy}'" not in done.stdout


@pytest.mark.sample(1)
@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_explains_itself(verb):
    done = crowdsim([verb, "--help"], fresh=True)
    assert done.returncode == 0 and verb in done.stdout and done.stderr == ""


@pytest.mark.full
def test_help_within_0_3_s_and_a_small_scenario_within_3_s(tmp_path):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        assert crowdsim(["--help"], fresh=True).returncode == 0
        times.append(time.perf_counter() - start)
    assert statistics.median(times) <= 0.3, times
    crowdsim(["run", SCENARIOS / "room-evacuation.yaml", "--no-record", "-q"], fresh=True)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        assert (
            crowdsim(
                ["run", SCENARIOS / "room-evacuation.yaml", "-o", tmp_path / f"{len(times)}.h5", "-q"],
                fresh=True,
            ).returncode
            == 0
        )
        times.append(time.perf_counter() - start)
    assert statistics.median(times) <= 3.0, times
