"""``crowdsim bench``: rows and ratios are what the times say, what is missing is named,
and what is stored can be read again. Nothing here looks at a clock's reading.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import shapely

from crowdsim.bench import document, paths, scenes
from crowdsim.bench.crowds import crowd, find_blocks
from crowdsim.bench.rounds import Runner, installed
from crowdsim.cli import bench as verb
from crowdsim.errors import CrowdsimError
from tests.crowds import ROOT
from tests.reference.bench_blocks import block_of


def test_a_ratio_is_the_median_of_the_rounds_with_the_least_and_the_most() -> None:
    assert scenes.spread([10.0, 40.0, 30.0], [5.0, 10.0, 10.0]) == {
        "ratio": 3.0,
        "ratio_least": 2.0,
        "ratio_most": 4.0,
    }
    # rounds that one of them does not have are left out
    assert scenes.spread([10.0, 40.0], [5.0, 10.0, 999.0])["ratio"] == 3.0


def test_peers_are_set_beside_our_model_in_the_same_round(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"orca": [1.0, 2.0, 4.0], "RVO2": [10.0, 30.0, 20.0], "else": [7.0, 7.0, 7.0]}

    def with_times(runners, rounds):
        for runner in runners:
            runner.cpu, runner.wall = times[runner.row["model"]][:rounds], [1.0] * rounds
        return 0.5

    monkeypatch.setattr(scenes, "take_turns", with_times)
    closed = []
    runners = [
        Runner(
            {"product": "crowdsim", "model": "orca", "threads": 1},
            10,
            lambda: None,
            close=lambda: closed.append(1),
        ),
        Runner({"product": "pyrvo", "model": "RVO2", "threads": 1, "beside": "orca"}, 10, lambda: None),
        Runner(
            {"product": "other", "model": "else", "threads": 1, "beside": "a model that was not run"},
            10,
            lambda: None,
        ),
    ]
    rows, others = scenes.measured(runners, 3)
    assert others == 0.5 and closed == [1]
    assert [(row["cpu_ns"], row["cpu_ns_least"], row["cpu_ns_most"]) for row in rows] == [
        (2.0, 1.0, 4.0),
        (20.0, 10.0, 30.0),
        (7.0, 7.0, 7.0),
    ]
    assert (rows[1]["ratio"], rows[1]["ratio_least"], rows[1]["ratio_most"]) == (10.0, 5.0, 15.0)
    assert "ratio" not in rows[0] and "ratio" not in rows[2]


def test_a_small_bench_has_a_row_for_each_of_ours_and_each_peer_or_says_which_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = [
        scenes.Scene(each.name, each.about, 30, 30, 1, 1, each.run)
        for each in scenes.SCENES
        if each.name in ("pillars", "paths")
    ]
    monkeypatch.setattr(scenes, "SCENES", tuple(small))
    heard: list[str] = []
    found = document.run_bench(quick=True, products=("pyrvo", "jupedsim", "other"), note=heard.append)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["missing"].pop("other") == "not installed (pip install other)"
    there = {product for product in ("pyrvo", "jupedsim") if installed(product)}
    assert {row["product"] for scene in found["scenes"] for row in scene["rows"]} == {"crowdsim"} | there
    pillars = found["scenes"][0]["rows"]
    assert [row["model"] for row in pillars if row["product"] == "crowdsim"] == list(scenes.OURS)
    assert all(row["cpu_ns"] > 0.0 and row["agents"] == 30 for row in pillars) and all(
        "ratio" in row for row in pillars if row["product"] != "crowdsim"
    )
    assert {"processor", "cores", "memory_gb", "load", "versions", "date"} <= set(
        found["machine"]
    ) and "pillars: taking turns" in heard


def test_paths_between_the_same_points_are_as_long_as_those_of_another_router() -> None:
    pytest.importorskip("jupedsim", reason="jupedsim is the other router")
    ground = paths.pillar_hall()
    places = paths.points_in(ground, 60)
    assert shapely.contains_xy(shapely.buffer(ground, -0.04), places).all()
    ours, theirs = (
        make(ground, places[:30], places[30:])() for make in (paths.our_paths, paths.jupedsim_paths)
    )
    straight = np.hypot(*(places[:30] - places[30:]).T)
    assert (ours >= straight - 0.011).all() and np.isfinite(ours).all()  # a goal is a disc of 1 cm
    assert 0.99 < (theirs / ours).mean() < 1.03 and (theirs / ours).min() > 0.97


def test_blocks_are_those_that_agents_stand_in() -> None:
    agents = crowd(60, "pillars")
    zone, blocks, per_metre = np.full(60, -1, dtype=np.int64), 3, 0.2
    find_blocks(5, 55, agents.position, per_metre, blocks, zone)
    expected = [block_of(x, y, per_metre, blocks) for x, y in agents.position.tolist()]
    assert zone[5:55].tolist() == expected[5:55] and (zone[:5] == -1).all() and (zone[55:] == -1).all()


def entry(date: str, ratio: float, agents: int = 100) -> dict:
    row = {
        "product": "pyrvo",
        "model": "RVO2",
        "agents": agents,
        "cpu_ns": 10.0,
        "beside": "orca",
        "alike": "same",
    }
    row |= {"ratio": ratio, "ratio_least": ratio - 1, "ratio_most": ratio + 1}
    own = {"product": "crowdsim", "model": "orca", "agents": agents, "cpu_ns": 1.0}
    machine = {
        "date": date,
        "processor": "P",
        "cores": 2,
        "memory_gb": 8.0,
        "system": "S",
        "python": "3",
        "load": [0.5, 0, 0],
        "versions": {"crowdsim": "0.1.0"},
    }
    scene = {
        "name": "open",
        "about": "a step",
        "agents": agents,
        "rounds": 3,
        "cores_of_others": 0.0,
        "rows": [own, row],
    }
    return {
        "format": 1,
        "quick": False,
        "machine": machine,
        "load_after": [0.6, 0, 0],
        "scenes": [scene],
        "missing": {"navground": "not installed"},
    }


def test_the_history_sets_ratios_of_the_same_scene_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "deep" / "bench.jsonl"
    for each in (
        entry("2026-01-01T00:00", 8.0),
        entry("2026-02-01T00:00", 9.0),
        entry("2026-02-02T00:00", 5.0, agents=20),
    ):
        document.keep(each, file)
    assert [one["scenes"][0]["agents"] for one in document.read_history(file)] == [100, 100, 20]
    headers, rows = document.history_rows(document.read_history(file))
    assert headers[2:] == ["2026-01-01 0.1.0", "2026-02-01 0.1.0", "2026-02-02 0.1.0"]
    assert rows == [
        ["open, 100", "pyrvo RVO2", "8.00 [7.00, 9.00]", "9.00 [8.00, 10.00]", ""],
        ["open, 20", "pyrvo RVO2", "", "", "5.00 [4.00, 6.00]"],
    ]
    assert verb.bench(history=True, file=file) == 0 and "9.00 [8.00, 10.00]" in capsys.readouterr().out


def test_a_scene_that_had_another_name_is_found_by_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, before, now = (
        tmp_path / "bench.jsonl",
        entry("2026-01-01T00:00", 2.0),
        entry("2026-02-01T00:00", 3.0),
    )
    for each, name in ((before, "ways"), (now, "paths")):
        each["scenes"][0] |= {
            "name": name,
            "rows": [{**each["scenes"][0]["rows"][1], "beside": f"mesh {name}"}],
        }
        document.keep(each, file)
    assert document.history_rows(document.read_history(file))[1] == [
        ["paths, 100", "pyrvo RVO2", "2.00 [1.00, 3.00]", "3.00 [2.00, 4.00]"]
    ]
    monkeypatch.setattr(
        scenes,
        "SCENES",
        tuple(scenes.Scene(each.name, "", 1, 1, 1, 1, lambda *_: ([], 0.0)) for each in scenes.SCENES),
    )
    heard: list[str] = []
    assert [scene["name"] for scene in document.run_bench(scenes=["ways"], note=heard.append)["scenes"]] == [
        "paths"
    ]
    assert heard == ['the scene "ways" is called "paths" now']


def test_what_is_measured_is_printed_stored_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(document, "run_bench", lambda **_: entry("2026-01-01T00:00", 8.0))
    file, out = tmp_path / "history.jsonl", tmp_path / "bench.json"
    assert verb.bench(keep=True, file=file, out=out) == 0
    printed = capsys.readouterr().out
    assert (
        "8.00 [7.00, 9.00]  same as orca" in printed
        and "missing: navground: not installed" in printed
        and "load of the machine 0.5 before, 0.6 after" in printed
    )
    assert json.loads(out.read_text()) == document.read_history(file)[0] == entry("2026-01-01T00:00", 8.0)
    with pytest.raises(CrowdsimError, match=r"bench\.json exists already\. Choose another name"):
        verb.bench(out=out)


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        CrowdsimError, match=r'There is no history ".*none\.jsonl"\. "crowdsim bench --keep" begins one'
    ):
        verb.bench(history=True, file=tmp_path / "none.jsonl")
    (tmp_path / "bad.jsonl").write_text('{"format": 1, "scenes": []}\n{"format": 7}\n')
    with pytest.raises(CrowdsimError, match=r"bad\.jsonl:2: this line is no benchmark of format 1"):
        verb.bench(history=True, file=tmp_path / "bad.jsonl")
    with pytest.raises(
        CrowdsimError, match=r"--history measures nothing, and leaves nothing to do for --quick and --keep"
    ):
        verb.bench(history=True, quick=True, keep=True)
    with pytest.raises(
        CrowdsimError, match=r'There is no scene "closed"\. Known are open, pillars, paths, tick'
    ):
        document.run_bench(scenes=["closed"])
    with pytest.raises(CrowdsimError, match=r"cannot be written"):
        document.keep(entry("2026-01-01T00:00", 8.0), tmp_path)


def test_the_history_of_the_project_can_be_read() -> None:
    entries = document.read_history(ROOT / verb.HISTORY)
    assert entries and all(scene["rows"] for one in entries for scene in one["scenes"])
