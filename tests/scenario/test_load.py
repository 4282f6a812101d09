"""Loading as a whole: fast, lean, and nothing heavy before it is needed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import yaml

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.scenario.yaml_reader import read_yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.full
def test_a_hundred_thousand_positions_are_loaded_in_seconds_and_little_memory() -> None:
    positions = ", ".join(f"[{1 + n % 400 * 0.7:.2f}, {1 + n // 400 * 0.7:.2f}]" for n in range(100_000))
    text = (
        f"version: 1\ngeometry: {{walkable: {{box: [0, 0, 300, 300]}}}}\n"
        f"groups: [{{name: a, positions: [{positions}]}}]\n"
    )
    start = time.process_time()
    scenario = parse_scenario(text)
    assert scenario.agent_count == 100_000
    assert time.process_time() - start < 15.0  # some 3 s
    tenth = text[: len(text) // 10].rpartition(", [")[0] + "]}]\n"
    tracemalloc.start()
    read_yaml(tenth, "f")
    assert tracemalloc.get_traced_memory()[1] < 25e6
    tracemalloc.stop()


def test_reading_a_scenario_needs_no_compiler() -> None:
    code = """
import sys
from tests.scenario.owners import fixed_owners
from tests.scenario.worlds import SMALL, load
with fixed_owners():
    load(SMALL).canonical()
heavy = {"numba", "pandas", "h5py", "matplotlib", "rich", "esper"} & set(sys.modules)
assert not heavy, heavy
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("text", ["version: 1\n" * 2, "version: 1\n"])
def test_nothing_is_kept_between_loads(text: str) -> None:
    from crowdsim.errors import ScenarioError

    messages = []
    for _ in range(2):
        with pytest.raises(ScenarioError) as caught:
            parse_scenario(text)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


ROOM = {
    "version": 1,
    "geometry": {"walkable": {"wkt_file": "room.wkt"}},
    "goals": {"out": {"exit": {"box": [9, 3, 10, 5]}}},
    "groups": [
        {
            "name": "crowd",
            "count": np.int64(3),
            "region": {"box": np.array([1.0, 1.0, 4.0, 4.0])},
            "goals": "out",
        }
    ],
}


def test_a_mapping_is_a_scenario_and_its_files_lie_in_the_working_directory_or_a_folder_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "room.wkt").write_text("POLYGON ((0 0, 10 0, 10 8, 0 8, 0 0))")
    (tmp_path / "room.yaml").write_text(
        yaml.safe_dump(
            {
                **ROOM,
                "name": "scenario",
                "groups": [{**ROOM["groups"][0], "count": 3, "region": {"box": [1.0, 1.0, 4.0, 4.0]}}],
            }
        )
    )
    loaded = load_scenario(ROOM, folder=tmp_path / "plans", sets=["seed=7"])
    assert (loaded.agent_count, loaded.seed, loaded.geometry.walkable.area) == (3, 7, 80.0)
    monkeypatch.chdir(tmp_path / "plans")
    assert load_scenario(ROOM, sets=["seed=7"]).canonical() == loaded.canonical()
    (tmp_path / "room.yaml").replace(tmp_path / "plans" / "room.yaml")
    assert load_scenario("room.yaml", sets=["seed=7"]).canonical() == loaded.canonical()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": [{"name": "crowd", "count": -3}]}, "groups[0].count: is -3"),
        (
            {"geometry": {"walkable": {"wkt_file": "nowhere.wkt"}}},
            "geometry.walkable: nowhere.wkt: there is no such file",
        ),
        ({"tick": float("nan")}, "cannot be written as text"),
        ({"seed": object()}, "object is no plain value"),
        ({"sped": 1}, 'sped: there is no key "sped" here'),
    ],
)
def test_mistakes_in_a_mapping_name_the_key_and_no_place(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    (tmp_path / "room.wkt").write_text("POLYGON ((0 0, 10 0, 10 8, 0 8, 0 0))")
    with pytest.raises(ScenarioError) as caught:
        load_scenario({**ROOM, **change}, folder=tmp_path)
    assert message in str(caught.value)
    assert all(problem.line == 0 and not problem.file for problem in caught.value.problems)


def test_what_is_neither_a_file_nor_a_mapping_is_refused_and_a_folder_beside_a_file(tmp_path: Path) -> None:
    with pytest.raises(CrowdsimError, match="a scenario is a file or a mapping, not 7"):
        load_scenario(7)  # type: ignore[arg-type]
    with pytest.raises(CrowdsimError, match="names files of its own folder"):
        load_scenario("room.yaml", folder=tmp_path)
