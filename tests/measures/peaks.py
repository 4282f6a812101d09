"""How much memory a verb, or a measure, takes at most: each in a process that is forked where all is
imported.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import resource
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.cli.command import environment
from tests.cli.forked import Server, becomes_a_command, end, get_ready
from tests.crowds import ROOT

# imported by verbs only when they are used
MODULES = (
    "crowdsim.measures.deadlock", "crowdsim.measures.lanes", "crowdsim.measures.report",
    "crowdsim.pictures.run", "crowdsim.pictures.sheet", "crowdsim.pictures.view.page",
    "crowdsim.measures.with_pedpy", "crowdsim.recording.export", "matplotlib.figure", "pedpy",
)  # fmt: skip


@cache
def _server() -> Server:
    return Server(environment(MPLBACKEND="Agg"), module="tests.measures.peaks")


def called(
    words: Sequence[Any], constants: Mapping[str, int] | None = None, *, beyond: int = 0, whole: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a verb, or with the word ``python`` some lines, in a process of its own; the last line of its
    standard error is its peak.

    Parameters
    ----------
    words : sequence
    constants : mapping of str to int, optional
        Values of constants of modules, by their full names.
    beyond : int
        Bytes of addresses that it may take beyond what it has when it begins; 0 is no limit.
    whole : bool
        Have recordings read all places as soon as they are asked for some.
    """
    about = json.dumps({"constants": dict(constants or {}), "beyond": beyond, "whole": whole})
    return _server().run([about, *map(str, words)], ROOT)


def peak_mb(words: Sequence[Any], constants: Mapping[str, int] | None = None, **more: Any) -> float:
    """Return the most memory that it takes, MB."""
    done = called(words, constants, **more)
    assert done.returncode in (0, 3), done.stderr[-2000:]  # 3: an agent was deadlocked
    return float(done.stderr.splitlines()[-1])


def _status_kb(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{key}:")).split()[1])


def _read_whole() -> None:
    """Have a recording keep all rows of what it is asked for some: what a reader that is not careful does."""
    from crowdsim.recording.reader import Recording

    rows_of, table_of, kept = Recording.rows, Recording.table, {}

    def rows(self, start, stop, columns=None):
        key = (id(self), None if columns is None else tuple(columns))
        if key not in kept:
            kept[key] = rows_of(self, 0, self.commit.rows, columns)
        return {name: values[start:stop] for name, values in kept[key].items()}

    def table(self, name, start=0, stop=None):
        if (id(self), name) not in kept:
            kept[id(self), name] = table_of(self, name)
        return kept[id(self), name][start:stop]

    Recording.rows, Recording.table = rows, table


def _command() -> None:
    from crowdsim.cli import main

    about = json.loads(sys.argv.pop(1))
    for name, value in about["constants"].items():
        module, _, constant = name.rpartition(".")
        setattr(importlib.import_module(module), constant, value)
    if about["whole"]:
        _read_whole()
    if about["beyond"]:
        limit = _status_kb("VmSize") * 1024 + about["beyond"]
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        if sys.argv[1] == "python":
            exec(sys.argv[2], {"path": Path(sys.argv[3])})
        else:
            main()
    finally:
        sys.stderr.write(f"{_status_kb('VmHWM') / 1024}\n")


if __name__ == "__main__":
    get_ready()
    for each in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(each)
    if becomes_a_command(socket.socket(fileno=int(sys.argv.pop()))):
        end(_command)
