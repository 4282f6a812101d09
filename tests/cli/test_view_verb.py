"""`crowdsim view`: what it writes and prints, and what it answers to mistakes."""

import importlib.util
import json
import shutil

import pytest

from crowdsim.errors import ExitCode
from tests.cli.command import crowdsim
from tests.cli.conftest import SMALL


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    (folder / "small.yaml").write_text(SMALL)
    assert crowdsim(["run", folder / "small.yaml", "--out", folder / "small.h5", "--quiet"]).returncode == 0
    return folder / "small.h5"


@pytest.fixture
def folder(run, tmp_path):
    shutil.copy(run, tmp_path / "small.h5")
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_page_lies_beside_the_recording_and_is_replaced_by_the_next(folder):
    done = crowdsim(["view", "small.h5"], cwd=folder)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("small.html: 0.0") and ", 8 agents, " in done.stdout
    before = (folder / "small.html").read_bytes()
    assert crowdsim(["view", "small.h5", "--megabytes", "1"], cwd=folder).stderr == ""
    assert (folder / "small.html").read_bytes() == before  # the same recording is the same page, to the byte


def test_programs_are_told_sizes(folder):
    told = json.loads(crowdsim(["view", "small.h5", "--out", "page.html", "--json"], cwd=folder).stdout)
    page = told["page"]
    assert (
        told["ok"] is True
        and page["file"] == "page.html"
        and page["bytes"] == (folder / "page.html").stat().st_size
    )
    assert (
        page["frames"] == page["frames_recorded"] > 10
        and page["agents"] == page["agents_recorded"] == 8
        and page["words"] == []
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "page.pdf"], '"page.pdf": a page ends in .html or .htm. Write for example page.html.'),
        (
            ["--out", "nowhere/page.html"],
            'There is no folder "nowhere" to write "page.html" into. Make it, or choose another output path.',
        ),
        (["--megabytes", "0"], "--megabytes is 0, but a page needs at least 0.1."),
        (["--megabytes", "nan"], "--megabytes is nan, but a page needs at least 0.1."),
        (["--speed", "2"], "--speed is of films: name one with --gif or --mp4. A page has a control for it."),
        (["--gif", "film.gif", "--speed", "0"], "--speed is 0, but must be above 0."),
        (["--gif", "film.mp4"], '"film.mp4": the film ends in .gif. Write for example film.gif.'),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(folder, words, message):
    done = crowdsim(["view", "small.h5", *words], cwd=folder)
    assert (
        done.returncode in (ExitCode.USAGE, ExitCode.RECORDING)
        and done.stderr == message + "\n"
        and done.stdout == ""
    )
    assert names(folder) == ["small.h5"]


@pytest.mark.full
@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is missing")
def test_a_film_has_the_pictures_that_were_asked_for(folder):
    from PIL import Image

    told = json.loads(
        crowdsim(["view", "small.h5", "--gif", "film.gif", "--speed", "16", "--json"], cwd=folder).stdout
    )["gif"]
    assert names(folder) == ["film.gif", "small.h5"]  # no page unless it is asked for
    with Image.open(folder / "film.gif") as film:
        assert told["frames"] == film.n_frames > 5 and film.info["duration"] in (60, 70)
        first = film.convert("RGB").tobytes()
        film.seek(film.n_frames // 2)
        assert film.convert("RGB").tobytes() != first
    slow = crowdsim(["view", "small.h5", "--gif", "slow.gif", "--speed", "0.001"], cwd=folder)
    assert (
        slow.returncode == ExitCode.USAGE
        and "but at most 3,000 are drawn" in slow.stderr
        and "slow.gif" not in names(folder)
    )


@pytest.mark.skipif(shutil.which("ffmpeg") is not None, reason="ffmpeg is installed")
def test_without_ffmpeg_the_way_out_is_said(folder):
    done = crowdsim(["view", "small.h5", "--mp4", "film.mp4"], cwd=folder)
    assert (
        done.returncode == ExitCode.USAGE
        and "ffmpeg, which is not installed" in done.stderr
        and names(folder) == ["small.h5"]
    )


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is missing")
def test_an_mp4_is_one(folder):
    assert crowdsim(["view", "small.h5", "--mp4", "film.mp4", "--speed", "4"], cwd=folder).returncode == 0
    assert (folder / "film.mp4").read_bytes()[4:8] == b"ftyp"
