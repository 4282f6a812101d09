"""A wheel carries machine code: what it was installed from compiles nothing on its first run."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from crowdsim.build_kernels import make_wheel
from crowdsim.errors import CrowdsimError
from crowdsim.kernels.needed import the_list
from tests.crowds import ROOT

FIRST_RUN = """
from crowdsim.kernels import decorator as kernels
compiled = []
kernels.on_compile(compiled.append)
import crowdsim
with crowdsim.Simulation(crowdsim.load_scenario("room-evacuation.yaml")) as run:
    run.step()
print(crowdsim.__file__, run.digest, len(compiled))
"""


def test_a_wheel_is_made_of_a_source_tree_only(tmp_path: Path):
    with pytest.raises(CrowdsimError, match="no source tree"):
        make_wheel(tmp_path, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "crowdsim.build_kernels"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2 and "one of the arguments --list --wheel is required" in done.stderr


@pytest.mark.full  # compiles everything
def test_the_first_run_from_a_wheel_compiles_nothing(tmp_path: Path):
    wheel = make_wheel(ROOT, tmp_path / "dist")
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel.name.endswith(f"-{tag}-none-manylinux_2_17_x86_64.whl") and wheel.stat().st_size < 8_000_000
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    carried = list((tmp_path / "installed/crowdsim/carried").rglob("*.nbc"))
    assert len(carried) == len(the_list().kernels)
    (tmp_path / "room-evacuation.yaml").write_text((ROOT / "scenarios/room-evacuation.yaml").read_text())
    variables = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "installed"),
        "CROWDSIM_CACHE_DIR": str(tmp_path / "cache"),
    }

    def run(**more: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", FIRST_RUN],
            cwd=tmp_path,
            env={**variables, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    place, digest, compiled = run()
    assert place.startswith(str(tmp_path)) and compiled == "0"
    assert run(PYTHONPATH=str(ROOT), CROWDSIM_CACHE_DIR=os.environ.get("CROWDSIM_CACHE_DIR", ""))[1] == digest
