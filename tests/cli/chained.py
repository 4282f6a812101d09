"""Commands that kill themselves: at the n-th place where something reaches the disk, before or after it,
at a tick, or at a moment.

Nothing of this is in the program: a forked child wraps what it calls, before the command begins. The plan is
in the variable KILL: ``before:12``, ``after:12``, ``tick:30``, ``ms:80``, and ``interrupt:30`` for Ctrl-C.
NO_LINKS is a file system without hard links.
"""

from __future__ import annotations

import errno
import io
import itertools
import os
import signal
import socket
import sys
import time
from pathlib import Path

import h5py

from tests.cli.forked import becomes_a_command, end, get_ready


def points():
    """Return where something reaches the disk: owner and name of each function."""
    from crowdsim.recording.encode import GrowingDataset
    from crowdsim.recording.journal import Journal
    from crowdsim.recording.storage import Storage

    found = [
        (os, name)
        for name in (
            "link",
            "unlink",
            "replace",
            "rename",
            "mkdir",
            "rmdir",
            "fsync",
            "pwrite",
            "open",
            "write",
            "ftruncate",
        )
    ]
    found += [
        (GrowingDataset, "_write"),
        (GrowingDataset, "copy_to"),
        (Storage, "_record"),
        (Storage, "_write_anew"),
        (Journal, "_put"),
    ]
    return [*found, (h5py.File, "__init__"), (h5py.File, "close"), (Path, "write_bytes"), (io, "open")]


def arm(plan: str) -> None:
    """Let this process end as a plan says."""
    kind, _, number = plan.partition(":")
    if kind in ("before", "after"):
        count = itertools.count(1)
        for owner, name in points():
            setattr(owner, name, _deadly(getattr(owner, name), count, int(number), kind))
    elif kind in ("tick", "interrupt"):
        from crowdsim.simulation.simulation import Simulation

        Simulation._step = _deadly(Simulation._step, itertools.count(1), int(number), kind)
    elif kind == "ms":
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process at once, like SIGKILL
        signal.setitimer(signal.ITIMER_REAL, int(number) / 1000.0)


def _deadly(function, count, number, kind):
    def wrapped(*arguments, **options):
        is_it = next(count) == number
        if is_it and kind != "after":
            os.kill(os.getpid(), signal.SIGINT if kind == "interrupt" else signal.SIGKILL)
        found = function(*arguments, **options)
        if is_it:
            os.kill(os.getpid(), signal.SIGKILL) if kind == "after" else None
        return found

    return wrapped


def without_links(*_):
    raise OSError(errno.EPERM, "Operation not permitted")


def main() -> None:
    """Serve, or be a command."""
    from crowdsim.cli import main as command
    from crowdsim.kernels import sources
    from crowdsim.recording.writer import RecordingWriter

    get_ready()
    RecordingWriter.__init__.__kwdefaults__["flush_seconds"] = 0.0  # a commit in every tick
    if becomes_a_command(socket.socket(fileno=int(sys.argv.pop()))):
        sources._BEGAN_NS = time.time_ns()
        if os.environ.get("NO_LINKS"):
            os.link = without_links
        arm(os.environ.get("KILL", ""))
        end(command)


if __name__ == "__main__":
    main()
