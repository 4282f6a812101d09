"""Progress: one line on a terminal that is written over and wiped; nothing where nobody watches."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading

import pytest

from crowdsim.cli import progress
from crowdsim.cli.progress import line_of
from tests.cli.command import crowdsim, environment
from tests.crowds import ROOT, SCENARIOS

RUN = [
    "run",
    str(SCENARIOS / "concourse.yaml"),
    "--no-record",
    *(word for group in range(4) for word in ("--set", f"groups.{group}.count=100")),
    "--set",
    "stop.after=40",
]


def on_terminal(arguments, columns):
    """Run the command with standard error on a terminal of so many columns, standard output in a pipe;
    return the code and what came to each.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = environment()
    variables.pop("COLUMNS")
    process = subprocess.Popen(
        [sys.executable, "-m", "crowdsim.cli", *arguments],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown: list[bytes] = []

    def read():
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            shown.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    out, _ = process.communicate(timeout=300)
    reader.join(30)
    os.close(ours)
    return process.returncode, out.decode(), b"".join(shown).decode()


def screen(text):
    """Return the lines of a terminal after a text:
    a carriage return goes back to the begin of the line and what comes then is written over it.
    """
    lines, at = [""], 0
    for character in text:
        if character == "\n":
            lines.append("")
            at = 0
        elif character == "\r":
            at = 0
        else:
            lines[-1] = lines[-1][:at].ljust(at) + character + lines[-1][at + 1 :]
            at += 1
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize("columns", [80, pytest.param(200, marks=pytest.mark.full)])
def test_a_terminal_shows_rate_and_remaining_time_in_one_line_that_is_wiped_at_the_end(columns):
    code, out, shown = on_terminal(RUN, columns)
    assert code == 3 and out.startswith("concourse: ") and "\r" not in out
    states = [state for state in shown.split("\r") if state.strip()]
    assert max(map(len, states)) < columns
    moving = [state for state in states if "of 40 s" in state]
    assert len(moving) >= 3
    for state in moving:
        assert re.fullmatch(
            r"\[#* *\]  \d+\.\d of 40 s  [\d,]+ agents  \d+\.\d x real time  at most \d+ s left *", state
        ), state
    assert screen(shown) == [""]


@pytest.mark.full
def test_a_narrow_terminal_gets_fewer_words():
    code, _, shown = on_terminal(RUN, 30)
    states = [state for state in shown.split("\r") if state.strip()]
    assert code == 3 and max(map(len, states)) < 30
    assert any(re.match(r"\[#* *\]  \d+\.\d of 40 s", state) for state in states) and screen(shown) == [""]


@pytest.mark.full
def test_mistakes_and_notes_stand_on_lines_of_their_own(tmp_path):
    path = tmp_path / "idle.yaml"
    path.write_text(
        (SCENARIOS / "four-way-crossing.yaml")
        .read_text()
        .replace("goals:\n", "goals:\n  nowhere: {point: [0, 0]}\n", 1)
    )
    _, _, shown = on_terminal(["run", str(path), "--no-record", "--set", "stop.after=1"], 200)
    assert [line for line in screen(shown) if line] == [
        f"note: {path}:{line_number(path)}:1: goals: nobody goes to nowhere"
    ]
    _, _, shown = on_terminal(["run", str(tmp_path / "missing.yaml"), "--no-record"], 200)
    assert screen(shown)[0] == f"{tmp_path / 'missing.yaml'}: there is no such file"


def line_number(path):
    return path.read_text().splitlines().index("goals:") + 1


@pytest.mark.full
@pytest.mark.parametrize("option", ["--json", pytest.param("--quiet", marks=pytest.mark.full)])
def test_quiet_and_json_show_no_progress_even_on_a_terminal(option):
    code, out, shown = on_terminal([*RUN[:-1], "stop.after=2", option], 80)
    assert (code, shown) == (3, "") and (out == "") is (option == "--quiet")


def test_a_pipe_gets_nothing_of_it():
    done = crowdsim([*RUN[:-1], "stop.after=10"])
    assert (done.returncode, done.stderr) == (3, "")


def test_the_bar_takes_the_room_that_is_left():
    texts = ("12.0 of 40 s  80 agents", "12.0 of 40 s", "12.0")
    assert line_of(texts, 0.5, 79) == "[##########          ]  12.0 of 40 s  80 agents"
    assert line_of(texts, 0.5, 35) == "[####    ]  12.0 of 40 s  80 agents"
    assert line_of(texts, 0.5, 34) == "[#########         ]  12.0 of 40 s"
    assert line_of(texts, 1.0, 17) == "[#########]  12.0"
    assert line_of(texts, 1.0, 15) == "12.0 of 40 s"
    assert line_of(texts, 1.0, 3) == "12."


@pytest.mark.parametrize("says, columns", [(80, 79), (2, 1), (1, 1), (0, 79), (None, 79)])
def test_a_terminal_that_does_not_know_how_wide_it_is_has_80_columns(says, columns, monkeypatch):
    def size(_):
        if says is None:
            raise OSError("no terminal")
        return os.terminal_size((says, 24))

    monkeypatch.setattr(os, "get_terminal_size", size)
    assert progress._columns() == columns
