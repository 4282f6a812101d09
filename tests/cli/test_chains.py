"""Chains of commands on one name, each killed at a random place: nothing committed is ever lost, what is left
is told with commands that work, and in the end the run is whole and bit for bit the one that was never
killed."""

from __future__ import annotations

import re
import shlex
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import crowdsim as library
from crowdsim.errors import RecordingError
from crowdsim.recording.compare import first_difference
from tests.cli.command import environment
from tests.cli.forked import Server

SCENE = """
version: 1
name: chain
tick: 0.05
stop: {after: 2.5, when: all_arrived}
geometry: {walkable: [[0, 0], [12, 0], [12, 4], [0, 4]]}
goals: {end: {exit: [[11.5, 0], [12, 0], [12, 4], [11.5, 4]]}}
groups: [{name: crowd, count: 5, region: [[0, 0], [3, 0], [3, 4], [0, 4]], goals: [end]}]
"""
PLACEHOLDER_BYTES = 200  # what a file that only keeps a name is shorter than
TICKS = 50
KILLED = (-9, -14)
ENDED = (0, 3, 5)  # of a run: it came to its end
RUN = ("run", "scene.yaml", "-o", "a.h5", "-q", "-j", "1", "--checkpoint-every", "0.5")


@cache
def server() -> Server:
    variables = {name: value for name, value in environment().items() if name != "PYTEST_CURRENT_TEST"}
    return Server(variables, module="tests.cli.chained")


def call(folder: Path, *words: str, kill: str = "", no_links: bool = False):
    """Run a command, killed as planned; return its exit code, and what it printed."""
    given = {"KILL": kill} | ({"NO_LINKS": "1"} if no_links else {})
    done = server().run(list(words), folder, timeout=120.0, environment=given)
    text = done.stdout + done.stderr
    assert "Traceback" not in text, (words, kill, text)
    assert done.returncode in KILLED if done.returncode < 0 else done.returncode in (0, 2, 3, 4, 5, 7, 130), (
        words,
        kill,
        text,
    )
    return done.returncode, text


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that was never killed."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "scene.yaml").write_text(SCENE)
    assert call(folder, *RUN)[0] == 3
    return folder / "a.h5"


def recordings(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix == ".h5")


def committed(folder: Path, whole: Path) -> int:
    """Return the last tick that any recording in a folder has, once all of them have turned out to be
    beginnings of the whole run.
    """
    last = -1
    with library.open_run(whole) as expected:
        places = expected.table("trajectory")
        digests = expected.table("digests")
        for path in recordings(folder):
            try:
                run = library.open_run(path)
            except RecordingError as error:
                # stopped before it began, or a placeholder, beside which what a run left may be named
                words = r"Nothing is recorded|is empty|ends after|not an HDF5 file"
                if path.stat().st_size < PLACEHOLDER_BYTES:
                    words += "|a run with this output was cut off"
                assert re.search(words, str(error)), error
                continue
            with run:
                if run.commit.number == 0:
                    continue
                begin = int(run.table("frames/tick")[0]) if run.commit.frames else 0
                if begin == 0:  # a fork begins later
                    assert run.table("trajectory").tobytes() == places[: run.commit.rows].tobytes(), path
                    assert np.array_equal(run.table("digests"), digests[: run.commit.ticks]), path
                    last = max(last, run.commit.last_tick)
    return last


def named_commands(text: str) -> list[list[str]]:
    """Return the commands that a text names in lines of their own, as a shell would take them."""
    return [
        shlex.split(line)[1:] for line in re.findall(r"^[^:\n]+: (crowdsim [^\n`]+)$", text, re.MULTILINE)
    ]


def plan(rng: np.random.Generator) -> str:
    kind = rng.choice(
        ["", "before", "after", "tick", "ms", "interrupt"], p=[0.15, 0.25, 0.25, 0.15, 0.15, 0.05]
    )
    most = {"": 1, "before": 420, "after": 420, "tick": TICKS, "ms": 400, "interrupt": TICKS}[kind]
    if not kind:
        return ""
    count = most ** rng.uniform(0.0, 1.0) if kind in ("before", "after") else rng.integers(1, most + 1)
    return f"{kind}:{int(count)}"


def next_command(rng: np.random.Generator, folder: Path) -> tuple[str, ...]:
    hidden = sorted(path.name for path in folder.glob(".*.partial.h5"))
    checkpoints = sorted(path.name for path in folder.glob("*.checkpoint"))
    go_on = ("-q", "-j", "1", "--checkpoint-every", "0.5")
    choices = [
        RUN,
        (*RUN, "--time-limit", "0.05"),
        ("resume", "a.h5", *go_on),
        ("resume", "a.h5", *go_on),
        ("resume", "a.h5", *go_on, "--time-limit", "0.03"),
    ]
    choices += [
        ("recover", "a.h5"),
        ("verify", "a.h5", "-j", "1", "-q"),
        ("bless", "a.h5", "--folder", "golden", "--seconds", "0.5"),
        ("resume", "a.h5", "--at", "0", *go_on),
    ]
    choices += [
        ("export", "a.h5", "-o", "a.csv", "--force"),
        ("view", "a.h5", "--force"),
        ("info", "a.h5"),
        ("resume", "a.h5", "--at", "1", *go_on),
    ]
    choices += [("resume", str(rng.choice(hidden)), *go_on)] if hidden else []
    choices += (
        [
            (
                "fork",
                str(rng.choice(checkpoints)),
                "-o",
                "fork.h5",
                "-q",
                "-j",
                "1",
                "--set",
                "avoidance=clearpath",
            )
        ]
        if checkpoints
        else []
    )
    return choices[int(rng.integers(len(choices)))]


def finish(folder: Path, whole: Path, no_links: bool) -> None:
    """Follow what is told until the run is whole, and hold it against the one that was never killed."""
    for _ in range(4):
        code, told = call(folder, "info", "a.h5", no_links=no_links)
        if code == 0 and told.startswith("a.h5: finished"):
            break
        commands = [words for words in named_commands(told) if words[0] == "resume"]
        if not commands:
            assert "there is no such file" in told, told
            commands = [list(RUN)]
        code, text = call(folder, *commands[0], no_links=no_links)
        assert code in ENDED, (commands[0], code, text)
    with library.open_run(folder / "a.h5") as run, library.open_run(whole) as expected:
        assert run.is_whole and run.state is expected.state and run.commit.rows == expected.commit.rows
        assert first_difference(expected, run) is None and run.run_digest == expected.run_digest
    # the next command clears away what killed ones have left
    call(folder, "run", "scene.yaml", "-o", "b.h5", "-q", "--set", "stop.after=0.1", no_links=no_links)
    left = [
        path.name for path in folder.iterdir() if path.name.startswith(".") and "fork.h5" not in path.name
    ]
    assert left == [], left


def chain(folder: Path, whole: Path, seed: int) -> list[int]:
    """Run a chain of commands, make the run whole, and return the exit codes of the chain."""
    rng = np.random.default_rng(seed)
    no_links = seed % 3 == 0
    (folder / "scene.yaml").write_text(SCENE)
    done, best = [], -1
    words: tuple[str, ...] = RUN
    for _ in range(int(rng.integers(2, 7))):
        how = plan(rng)
        code, text = call(folder, *words, kill=how, no_links=no_links)
        done.append((words, how, code))
        now = committed(folder, whole)
        assert now >= best, (done, "committed rows were lost", best, now)
        best = now
        if rng.random() < 0.3:
            told = call(folder, "info", "a.h5")[1]
            commands = named_commands(told)
            if commands:  # what is told works, whichever is taken
                copy = folder.with_name(folder.name + ".copy")
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(folder, copy)
                chosen = commands[int(rng.integers(len(commands)))]
                code, text = call(copy, *chosen, no_links=no_links)
                assert code in ENDED, (done, chosen, code, text)
                assert committed(copy, whole) >= best
            else:
                assert best < 0 or told.startswith("a.h5: finished"), (done, told)
        words = next_command(rng, folder)
    try:
        finish(folder, whole, no_links)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {done}") from error
    return [code for _, _, code in done]


@pytest.mark.parametrize("count", [4, pytest.param(500, marks=pytest.mark.full)])
def test_after_any_chain_of_kills_the_run_can_be_made_whole(tmp_path, whole, count):
    killed = 0
    for seed in range(count):
        folder = tmp_path / str(seed)
        folder.mkdir()
        killed += any(code in KILLED for code in chain(folder, whole, seed))
        with library.open_run(folder / "a.h5") as run, library.open_run(whole) as expected:
            assert run.is_whole and run.run_digest == expected.run_digest, seed
        shutil.rmtree(folder)
    assert killed > 0.6 * count  # in most chains a command was in fact killed
