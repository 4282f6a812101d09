"""The warm process: it has imported everything and made the kernels ready, and forks for each run,
which then begins in milliseconds.

A request is a datagram with two descriptors: a file with the task as JSON, and a socket on which the answer
is given when the run has ended; to close it before ends the run. The server is one thread and opens no file,
so that a fork is safe; nothing of a run happens in it. It ends, and all of its runs with it, when nobody
holds the other end of its socket any more; the system ends the runs if the server is killed.

The memory of a run is limited by RLIMIT_DATA, on top of what the server has: the kernel refuses what goes
beyond, at the moment it is asked for. To watch the resident size instead would see a large request only after
the machine has begun to swap.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import faulthandler
import gc
import json
import math
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from crowdsim.avoidance.plugins import load_plugins
from crowdsim.errors import CrowdsimError
from crowdsim.recording.header import software_versions
from crowdsim.recording.locks import scratch_folder
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.simulation.warm import warm_kernels
from crowdsim.sweep.folder import Folder, write_json
from crowdsim.sweep.one_run import do_run

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
# of 1,000: where memory runs out, the system is to end a run, not the server or the sweep
_FIRST_TO_GO = "800"


@dataclass
class Child:
    """A run that goes on."""

    reply: socket.socket
    began: float
    deadline: float
    is_late: bool = False


class Server:
    """Forks for requests, ends what takes too long, and answers how each run ended."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._children: dict[int, Child] = {}
        self._ready: set[str] = set()
        self._woken, self._wake = socket.socketpair()
        for end in (self._woken, self._wake):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)

    def serve(self) -> None:
        """Serve until nobody asks any more."""
        while True:
            deadlines = [
                child.deadline
                for child in self._children.values()
                if not child.is_late and child.deadline < math.inf
            ]
            wait = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
            readable, _, _ = select.select(
                [self._requests, self._woken, *(child.reply for child in self._children.values())],
                [],
                [],
                wait,
            )
            if self._woken in readable:
                with contextlib.suppress(BlockingIOError):
                    while self._woken.recv(4096):
                        pass
            self._bury()
            self._end_some(readable)
            if self._requests in readable and not self._take():
                break
        for number in self._children:
            _kill(number)
        for number in self._children:
            os.waitpid(number, 0)

    def _take(self) -> bool:
        """Take one request; return False when nobody asks any more."""
        message, descriptors, _, _ = socket.recv_fds(self._requests, 64, 2)
        if not message:
            return False
        with os.fdopen(descriptors[0], "rb") as file:
            file.seek(0)
            task = json.load(file)
        reply = socket.socket(fileno=descriptors[1])
        try:
            self._make_ready(task)
        except CrowdsimError as error:
            _answer(reply, {"status": "error", "error": str(error)})
            return True
        number = os.fork()
        if number == 0:
            self._become(task, reply)
        limit = task["timeout"]
        now = time.monotonic()
        self._children[number] = Child(reply, now, now + limit if limit else math.inf)
        return True

    def _make_ready(self, task: dict[str, Any]) -> None:
        """Load the plug-ins and make ready the kernels that runs of this kind need, once for each kind."""
        load_plugins(task["plugins"])
        if task["kind"] in self._ready:
            return
        scenario = parse_scenario(task["text"], file=task["file"])
        warm_kernels(scenario, Simulation, explaining=task["record"] and bool(scenario.record.explain))
        software_versions()
        if not self._ready:
            _rehearse()
        self._ready.add(task["kind"])
        gc.collect()
        gc.freeze()  # A collection in a run would touch, and so copy, every page of what is ready.

    def _become(self, task: dict[str, Any], reply: socket.socket) -> NoReturn:
        """Be the process of a run, and end with it."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in (
            reply,
            self._requests,
            self._woken,
            self._wake,
            *(child.reply for child in self._children.values()),
        ):
            each.close()
        _be_run(task)

    def _end_some(self, readable: Collection[Any]) -> None:
        """End the runs that take too long, and those whose askers have gone:
        on their sockets nothing comes but the end.
        """
        now = time.monotonic()
        for number, child in self._children.items():
            if child.reply in readable or (now >= child.deadline and not child.is_late):
                _kill(number)
            child.is_late |= now >= child.deadline

    def _bury(self) -> None:
        """Answer how runs ended that have."""
        while self._children:
            number, status, usage = os.wait4(-1, os.WNOHANG)
            if number == 0:
                return
            child = self._children.pop(number)
            code = os.waitstatus_to_exitcode(status)
            clocks = {
                "process_s": time.monotonic() - child.began,
                "processor_s": usage.ru_utime + usage.ru_stime,
                "peak_mb": usage.ru_maxrss / 1024.0,
            }
            _answer(
                child.reply,
                {"status": "ended", "code": code, "is_late": child.is_late and code != 0, "clocks": clocks},
            )


def _answer(reply: socket.socket, value: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the asking process has gone
        reply.sendall(json.dumps(value).encode())
    reply.close()


def _kill(number: int) -> None:
    """End a run and what it may have started."""
    for end in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            end(number, signal.SIGKILL)


_REHEARSAL = """
version: 1
name: rehearsal
tick: 0.1
stop: {after: 0.3}
geometry: {walkable: {box: [0, 0, 4, 4]}}
goals: {out: {exit: {box: [3, 0, 4, 4]}}}
groups: [{name: crowd, count: 2, region: {box: [0, 0, 2, 4]}, goals: [out]}]
"""


def _rehearse() -> None:
    """Do a run of three ticks with everything round it:
    what is imported or made at first use is then there for all.
    """
    with scratch_folder() as place:
        folder = Folder(place)
        for name in (folder.result("0").parent, folder.recording("0").parent):
            name.mkdir(parents=True)
        do_run(
            {
                "folder": str(place),
                "scratch": str(place),
                "id": "0",
                "text": _REHEARSAL,
                "file": "rehearsal",
                "seed": 1,
                "threads": 1,
                "record": True,
            }
        )
        folder.known("0", recorded=True)


def _be_run(task: dict[str, Any]) -> NoReturn:
    """Do a run and leave without taking the interpreter down, which takes long where its memory is shared
    with a parent.
    """
    scratch = Path(task["scratch"])
    code = 1
    try:
        output = os.open(scratch / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(output, 1)
        os.dup2(output, 2)
        faulthandler.enable(2)
        _bind_to_parent()
        _limit_memory(task["memory"])
        do_run(task)
        code = 0
    except BaseException as error:
        soft_again = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (soft_again, soft_again))  # to report it takes memory too
        with contextlib.suppress(Exception):
            write_json(scratch / "error.json", _told(error))
            if not isinstance(error, CrowdsimError):
                sys.excepthook(type(error), error, error.__traceback__)
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _bind_to_parent() -> None:
    """Let the process end with the server, be the leader of a group of its own, leave no core file,
    and be the first to go where memory runs out.
    """
    parent = os.getppid()
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, AttributeError):  # no Linux
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # the server ended in between
        os._exit(1)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)


def _limit_memory(limit: int) -> None:
    """Let the process have so many bytes more than it has now; 0 is no limit."""
    if limit:
        lines = Path("/proc/self/status").read_text().splitlines()
        has = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
        resource.setrlimit(resource.RLIMIT_DATA, (has + limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _told(error: BaseException) -> dict[str, str]:
    """Return how a run failed, in words that are the same each time."""
    if any(
        isinstance(each, MemoryError) or (isinstance(each, OSError) and each.errno == errno.ENOMEM)
        for each in _causes(error)
    ):
        return {"status": "memory", "error": ""}
    if isinstance(error, CrowdsimError):
        return {"status": "error", "error": str(error)}
    return {"status": "error", "error": f"a fault of the program: {type(error).__name__}: {error}"}


def _causes(error: BaseException | None) -> list[BaseException]:
    """Return an error and those behind it: a plug-in's comes wrapped in one that names the plug-in."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def main() -> None:
    """Serve the socket whose number is the last argument."""
    requests = socket.socket(fileno=int(sys.argv.pop()))
    assert threading.active_count() == 1, "a process of several threads must not fork"
    Server(requests).serve()
    os._exit(0)


if __name__ == "__main__":
    main()
