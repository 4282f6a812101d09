"""The verbs about recordings: what they print, and what they return."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from crowdsim.cli.export import export
from crowdsim.cli.info import info
from crowdsim.cli.recover import recover
from crowdsim.errors import RecordingError
from tests.recording.crowd import Crowd, killed, new_writer, record

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def command():
    """Call a verb as the command line does and return what it printed."""
    app = typer.Typer()
    codes = []
    for verb in (info, recover, export):
        app.command(verb.__name__)(verb)

    def call(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        codes.append(result.exit_code)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.output

    return call


def cut_off(out):
    writer = new_writer(out, flush_seconds=0.0)
    Crowd(20).record(writer, 30)
    return killed(writer)


def test_info_is_one_screen_with_what_a_person_asks_first(command, tmp_path):
    path = record(tmp_path / "run.h5", agents=40, ticks=60, verdict={"arrived": 31, "stuck": 9})
    text = command("info", path)
    lines = text.splitlines()
    assert lines[0] == f"{path}: finished"
    assert len(lines) < 45
    assert max(len(line) for line in lines[:7]) < 140
    assert "crossing, seed 7, run " in lines[1]
    assert "59 ticks of 0.05 s: 2.95 s, 30 frames, 10 a second" in lines[2]
    assert lines[3].startswith("agents     40; ")
    assert lines[4] == "verdict    arrived 31, stuck 9"
    for word in ("trajectory", "agents/velocity", "ratio", "MB", "numba", "digest"):
        assert word in text


def test_info_for_programs_is_one_json_object(command, tmp_path):
    path = record(tmp_path / "run.h5", agents=40, ticks=60, verdict={"arrived": 31})
    facts = json.loads(command("info", path, "--json"))
    assert (facts["state"], facts["is_whole"], facts["ticks"], facts["frames"], facts["agents"]) == (
        "finished",
        True,
        60,
        30,
        40,
    )
    assert facts["simulated_s"] == pytest.approx(2.95)
    assert facts["verdict"]["result"] == {"arrived": 31}
    assert facts["verdict"]["run_digest"] == facts["run_digest"]
    sizes = facts["datasets"]["trajectory"]
    assert sizes["bytes_before_compression"] == 40 * facts["rows"]
    assert sizes["ratio"] == pytest.approx(sizes["bytes_before_compression"] / sizes["bytes"], abs=0.01)
    assert facts["file_bytes"] == path.stat().st_size
    assert facts["versions"]["python"]


def test_info_of_a_file_that_was_cut_off_says_what_to_do(command, tmp_path):
    text = command("info", cut_off(tmp_path / "run.h5"))
    assert "cut off: its writer was stopped; the last commit was" in text
    assert (
        f"makes a whole recording of the 1.45 s that are safe: crowdsim recover {tmp_path}/.run.h5." in text
    )
    assert "verdict" not in text.splitlines()[4]


def test_info_loads_neither_the_compiler_nor_pandas(tmp_path):
    """So that it answers at once."""
    path = record(tmp_path / "run.h5")
    code = (
        "import sys; from pathlib import Path; from crowdsim.cli.info import info; "
        f"info(Path({str(path)!r})); "
        "assert not {'numba', 'pandas'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_recover_says_where_the_whole_file_is(command, tmp_path):
    partial = cut_off(tmp_path / "run.h5")
    text = command("recover", tmp_path / "run.h5")
    assert text == f"{tmp_path / 'run.recovered.h5'}: 15 frames until tick 29, recovered from {partial}\n"
    assert command("recover", partial) == text  # the same run again
    record(tmp_path / "taken.h5")
    with pytest.raises(RecordingError, match="exists already"):
        command("recover", partial, "--out", tmp_path / "taken.h5")
    assert "other.h5" in command("recover", partial, "--out", tmp_path / "other.h5")
    assert command("info", tmp_path / "other.h5").startswith(
        f"{tmp_path / 'other.h5'}: recovered (recovered from .run.h5."
    )


@pytest.mark.parametrize(("form", "name"), [("csv", "run.csv"), ("sqlite", "run.sqlite")])
def test_export_writes_beside_the_recording(command, tmp_path, form, name):
    path = record(tmp_path / "run.h5")
    text = command("export", path, "--format", form)
    assert text.startswith(f"{tmp_path / name}: ")
    assert text.endswith(" rows\n")
    assert (tmp_path / name).stat().st_size > 0


def test_export_chooses_columns_and_pieces(command, tmp_path):
    path = record(tmp_path / "run.h5")
    command("export", path, "--columns", "velocity,activity", "--out", tmp_path / "some.csv")
    assert (tmp_path / "some.csv").read_text().startswith("id,frame,x,y,z,velocity_x,velocity_y,activity\n")
    assert command("export", path, "-f", "pedpy") == f"{tmp_path / 'run.floor0.h5'}\n"
    with pytest.raises(RecordingError, match="belongs to --format csv"):
        command("export", path, "-f", "sqlite", "--columns", "activity")


def test_a_missing_recording_is_one_sentence(tmp_path):
    for verb in (info, recover, export):
        with pytest.raises(RecordingError, match="there is no such file"):
            verb(tmp_path / "none.h5")
