"""Whatever names stand in files, and however files are called:
every verb shows them, and a terminal obeys none of them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from crowdsim.cli import main
from crowdsim.printable import is_printable
from crowdsim.recording.header import Layout, from_json, to_json
from tests.recording.crowd import Crowd, header, killed, new_writer

# what a name in a scenario may hold: all but the ends of lines and other control characters below the space
BAD = "e\x9b31m\u202ed\u2066\u200b\x7f"
WORSE = BAD + "\x1b]0;title\x07"  # what the name of a file may
TOLD = json.dumps(BAD).replace("\x7f", "\\u007f")
SCENE = f"""
version: 1
name: {TOLD}
description: {TOLD}
tick: 0.05
stop: {{after: 1.5}}
geometry:
  walkable: [[0, 0], [12, 0], [12, 4], [0, 4]]
  areas: [{{name: {TOLD}, area: {{box: [5, 0, 6, 4]}}}}]
goals: {{{TOLD}: {{exit: [[11.5, 0], [12, 0], [12, 4], [11.5, 4]]}}}}
groups: [{{name: {TOLD}, count: 3, region: [[0, 0], [3, 0], [3, 4], [0, 4]], goals: [{TOLD}]}}]
record: {{explain: [{TOLD}]}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A scenario, its recording with a checkpoint, and a killed run, all with such names."""
    folder = tmp_path_factory.mktemp("bad")
    (folder / f"{WORSE}.yaml").write_text(SCENE)
    assert (
        called(
            folder, "run", f"{WORSE}.yaml", "-o", f"{WORSE}.h5", "-q", "-j", "1", "--checkpoint-every", "1"
        )
        == 3
    )
    writer = new_writer(
        folder / f"{WORSE}-killed.h5",
        header_changes={"name": BAD, "groups": (BAD, "b"), "goals": (BAD,)},
        flush_seconds=0.0,
    )
    Crowd(5).record(writer, 20)
    killed(writer)
    return folder


def called(folder: Path, *words: str) -> int:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as left:
        patch.chdir(folder)
        main(list(words))
    return int(left.value.code or 0)


RUN = f"{WORSE}.h5"
VERBS = [
    ("info", RUN), ("info", RUN, "--json"), ("verify", RUN, "-j", "1"), ("compare", RUN, RUN),
    ("compare", RUN, RUN, "--aggregates", "0.1", "--json"), ("export", RUN, "--force"), ("measure", RUN),
    ("measure", RUN, "--json"), ("measure", RUN, "--area", BAD), ("deadlocks", RUN, "--all"), ("budget", RUN),
    ("view", RUN, "--force"), ("migrate", RUN), ("bless", RUN, "--folder", f"golden{WORSE}", "-j", "1"),
    ("resume", RUN), ("recover", RUN), ("recover", f"{WORSE}-killed.h5"), ("info", f"{WORSE}-killed.h5"),
    ("resume", f"{WORSE}-killed.h5"), ("resume", RUN, "--at", "1", "-j", "1"),
    ("run", f"{WORSE}.yaml", "-o", RUN, "-j", "1"),
    ("run", f"{WORSE}.yaml", "--set", f"{WORSE}=1", "-j", "1"), ("validate", f"{WORSE}.yaml"),
    ("validate", f"{WORSE}.yaml", "--json"), ("list", "."), ("list", ".", "--json"), ("list", WORSE),
    ("info", WORSE), ("info", f"{WORSE}.yaml"), ("export", RUN, "--columns", WORSE),
    ("plot", RUN, "--explain", WORSE, "--at", "1"),
    ("sweep", f"{WORSE}.yaml", "--seeds", "0:2", "--dry-run", "--out", WORSE),
    ("sweep", f"{WORSE}.yaml", "--vary", f"groups.0.{WORSE}=1", "--dry-run"), ("new", f"{WORSE}-new.yaml"),
    ("new", f"{WORSE}-new.yaml"), ("new", "--plan", f"{WORSE}.wkt"), (WORSE,), ("info", f"--{WORSE}"),
    ("info", RUN, WORSE), ("run", RUN), ("fork", f"{WORSE}.0.checkpoint", "-o", "f.h5"),
    ("models", f"{WORSE}.yaml", "--models", WORSE), ("doctor",), ("measure", RUN, "--line", WORSE),
    ("budget", RUN, "--milliseconds", WORSE), ("bench", "--scene", WORSE), ("parameters", WORSE),
    ("verify", f"{WORSE}-killed.h5"), ("cut", RUN, f"{WORSE}-cut.h5"), ("cut", RUN, "c.h5", "--group", WORSE),
    ("cut", RUN, "c.h5", "--region", WORSE), ("cut", RUN, "c.h5", "--floor", WORSE),
]  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "words",
    VERBS,
    ids=[
        f"{number}-{words[0]}".encode("ascii", "replace").decode() if words[0] != WORSE else str(number)
        for number, words in enumerate(VERBS)
    ],
)
def test_no_verb_prints_what_a_terminal_would_obey(folder, tmp_path, capfd, words):
    work = tmp_path / "work"
    shutil.copytree(folder, work)
    code = called(work, *words)
    out, err = capfd.readouterr()
    assert code != 1 and "Traceback" not in err
    assert code in (0, 3) or words not in VERBS[:14]  # it is the names that are shown, not one mistake
    for letter in out + err:
        assert letter in "\n\t" or is_printable(letter), (hex(ord(letter)), out, err)
    if "--json" in words:
        json.loads(out)


def test_json_gives_names_back_as_they_are(folder, capfd):
    assert called(folder, "info", RUN, "--json") == 0
    assert json.loads(capfd.readouterr().out)["scenario"] == BAD


def test_progress_is_printed_through_the_same_border(monkeypatch, capfd):
    from crowdsim.cli.progress import Progress

    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Progress() as progress:
        progress.note(f"compiling {WORSE}")
    assert all(letter in "\r" or is_printable(letter) for letter in capfd.readouterr().err)


def test_a_header_with_lines_in_its_names_is_refused(tmp_path):
    for changes in (
        {"name": "a\nall is well"},
        {"groups": ("a", "b\x1b[2J")},
        {"cpu": "x\ry"},
        {"versions": {"a\nb": "1"}},
    ):
        with pytest.raises(ValueError, match="holds control characters"):
            from_json(to_json(header(**changes), Layout()))
    assert from_json(to_json(header(scenario="a:\n b\n"), Layout()))[0].scenario == "a:\n b\n"
