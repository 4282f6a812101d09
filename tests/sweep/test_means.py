"""Means and spreads over the runs of each combination: in the table, printed, measured and drawn."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from crowdsim.errors import RecordingError
from crowdsim.sweep.folder import Folder
from crowdsim.sweep.tables import kept_runs, means_of, shown_measures
from tests.cli.command import crowdsim as command


def test_means_are_over_the_different_runs_of_a_combination_that_have_a_value():
    runs = pd.DataFrame(
        {
            "run": [0, 1, 2, 3, 4, 5],
            "id": list("abcdea"),
            "width": [1, 1, 1, 2, 2, 1],
            "seed": [0, 1, 2, 0, 1, 0],
            "status": ["finished"] * 4 + ["timeout", "finished"],
            "last_arrival_s": [3.0, 5.0, np.nan, 7.0, np.nan, 3.0],
            "ended": ["all arrived"] * 6,
        }
    )
    means = means_of(runs, ["width"])
    assert list(means.columns) == ["width", "runs", "finished", "mean_last_arrival_s", "sd_last_arrival_s"]
    first, second = means.to_dict("records")
    assert first == {
        "width": 1, "runs": 3, "finished": 3, "mean_last_arrival_s": 4.0,
        "sd_last_arrival_s": pytest.approx(math.sqrt(2.0)),
    }  # fmt: skip
    assert (second["runs"], second["finished"], second["mean_last_arrival_s"]) == (2, 1, 7.0)
    assert math.isnan(second["sd_last_arrival_s"])
    assert shown_measures(means) == ["last_arrival_s"]
    assert len(means_of(runs, [])) == 1


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Return a folder with a sweep of two counts and two seeds in it, and what the command printed."""
    from tests.sweep.conftest import SMALL

    folder = tmp_path_factory.mktemp("swept")
    (folder / "small.yaml").write_text(SMALL)
    words = ["sweep", "small.yaml", "--vary", "groups.0.count=2,4", "--seeds", "0:2", "--out", "out"]
    return folder, command(words, cwd=folder)


def test_a_sweep_ends_with_a_table_of_means(swept):
    folder, done = swept
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[2].split()[:4] == ["groups.0.count", "runs", "arrived", "not_arrived"]
    assert [" ".join(line.split()).split(" ± ")[0] for line in lines[3:5]] == ["2 2 2", "4 2 4"]
    (table,) = (folder / "out").glob("means.*")
    assert lines[-1].endswith(f"all: out/{table.name}")
    keys, runs = kept_runs(Folder(folder / "out"))
    means = means_of(runs, keys)
    if table.suffix == ".csv":
        pd.testing.assert_frame_equal(pd.read_csv(table), means, check_dtype=False)
    arrivals = runs.loc[runs["groups.0.count"] == 4, "last_arrival_s"]
    assert means["mean_last_arrival_s"][1] == pytest.approx(arrivals.mean())
    assert means["sd_last_arrival_s"][1] == pytest.approx(abs(arrivals.diff().iloc[1]) / math.sqrt(2.0))
    words = [
        "sweep",
        "small.yaml",
        "--vary",
        "groups.0.count=2,4",
        "--seeds",
        "0:2",
        "--out",
        "out",
        "--json",
    ]
    told = json.loads(command(words, cwd=folder).stdout)
    assert [each["mean_arrived"] for each in told["means"]] == [2.0, 4.0]


def test_a_sweep_is_measured_run_by_run_and_in_means(swept):
    folder, _ = swept
    words = ["measure", "out", "--line", "mid=3,0,3,4"]
    done = command(words, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "lines.mid.specific_flow_per_m_s" in done.stdout and "mean_detour" in done.stdout
    told = json.loads(command([*words, "--json"], cwd=folder).stdout)
    assert [(each["groups.0.count"], each["seed"]) for each in told["runs"]] == [
        (2, 0),
        (2, 1),
        (4, 0),
        (4, 1),
    ]
    one = json.loads(
        command(
            ["measure", f"out/recordings/{told['runs'][2]['id']}.h5", "--line", "mid=3,0,3,4", "--json"],
            cwd=folder,
        ).stdout
    )
    assert told["runs"][2]["lines.mid.forwards"] == one["lines"][0]["forwards"] == 4
    assert told["runs"][2]["mean_speed_m_s"] == one["summary"]["mean_speed_m_s"]
    assert [each["mean_lines.mid.forwards"] for each in told["means"]] == [2.0, 4.0]
    assert command([*words, "--csv", "tables"], cwd=folder).stdout.endswith(
        "2 files in tables: runs.csv, means.csv\n"
    )
    assert len(pd.read_csv(folder / "tables" / "runs.csv")) == 4


def test_a_sweep_is_drawn(swept):
    pytest.importorskip("matplotlib", reason="matplotlib is missing")
    folder, _ = swept
    done = command(["plot", "out"], cwd=folder)
    assert (done.returncode, done.stdout) == (0, "out/means.png\n")
    assert command(["plot", "out", "--show", "last_arrival_s", "--out", "a.svg"], cwd=folder).returncode == 0
    done = command(["plot", "out", "--show", "last_arival_s"], cwd=folder)
    assert done.returncode == 2 and done.stderr.startswith(
        '--show names "last_arival_s", but of this sweep there are agents, arrived, '
    )
    assert 'Did you mean "last_arrival_s"?' in done.stderr


def test_other_folders_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    for verb in ("measure", "plot"):
        done = command([verb, "empty"], cwd=tmp_path)
        assert done.returncode == 4
        assert done.stderr.startswith("empty: is a folder, but not of a sweep: it has no manifest.json.")
    for broken in ("{", "[]", '{"format": "crowdsim sweep", "format_version": 1, "keys": [], "runs": []}'):
        (tmp_path / "empty" / "manifest.json").write_text(broken)
        done = command(["measure", "empty"], cwd=tmp_path)
        assert done.returncode in (2, 4) and done.stderr.startswith("empty/manifest.json: "), done.stderr
        assert done.stderr.count("\n") == 1
    with pytest.raises(RecordingError, match="not of a sweep"):
        kept_runs(Folder(tmp_path))
