"""Commands without the two seconds that a process takes to start:
a server has imported everything, has run one tick, and forks for each command.

A child is a process of its own, with its own arguments, folder and streams. There is one thread, and no open
file, where the server forks.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import NoReturn

from tests.crowds import ROOT

# Imported by verbs only when they are used; what draws takes half a second.
LATE = (
    "crowdsim.measures.report", "crowdsim.pictures.run", "crowdsim.recording.compare",
    "crowdsim.recording.export", "crowdsim.regression.golden_runs", "matplotlib.figure",
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg",
)  # fmt: skip


class Server:
    """The process that forks; it ends with the process that started it."""

    def __init__(self, environment: Mapping[str, str], module: str = "tests.cli.forked") -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", module, str(theirs.fileno())]
        self._process = subprocess.Popen(command, cwd=ROOT, env=dict(environment), pass_fds=[theirs.fileno()])
        theirs.close()
        atexit.register(self.close)

    def run(
        self,
        arguments: Sequence[str],
        cwd: Path,
        timeout: float = 600.0,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run ``crowdsim``, or what else the server is for, with these arguments to its end."""
        with Path(os.devnull).open("rb") as nothing, TemporaryFile("w+") as out, TemporaryFile("w+") as err:
            request = json.dumps(
                {"arguments": list(arguments), "cwd": str(cwd), "environment": dict(environment or {})}
            ).encode()
            socket.send_fds(self._requests, [request], [nothing.fileno(), out.fileno(), err.fileno()])
            self._requests.settimeout(timeout)
            code = self._requests.recv(64)
            assert code, "the server has ended"
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(["crowdsim", *arguments], int(code), out.read(), err.read())

    def close(self) -> None:
        """End the server."""
        self._requests.close()
        self._process.wait(timeout=30)


@cache
def server(variables: tuple[tuple[str, str], ...]) -> Server:
    """Return the server with these environment variables, started where there is none."""
    return Server(dict(variables))


def becomes_a_command(requests: socket.socket) -> bool:
    """Fork for each request; return True in a child, whose process is then that of the command,
    and False when nobody asks any more.
    """
    while True:
        text, streams, _, _ = socket.recv_fds(requests, 1 << 18, 3)
        if not text:
            return False
        child = os.fork()
        if child == 0:
            requests.close()
            request = json.loads(text)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            os.chdir(request["cwd"])
            os.environ.update(request["environment"])
            sys.argv = ["crowdsim", *request["arguments"]]
            return True
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        requests.send(str(os.waitstatus_to_exitcode(status)).encode())


def end(command: Callable[[], None]) -> NoReturn:
    """Run the command and leave, but for taking the interpreter down,
    which takes a second where its memory is shared with a parent.
    """
    code = 1
    try:
        command()
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def get_ready() -> None:
    """Import all that commands import, run a tick, and find out what they ask of the sources and of the
    installation.
    """
    import pandas  # noqa: F401

    from crowdsim.cli.verbs import VERBS
    from crowdsim.recording.header import software_versions
    from crowdsim.scenario.load import load_scenario
    from crowdsim.simulation import going_on  # noqa: F401
    from crowdsim.simulation.checkpoints import code_version
    from crowdsim.simulation.simulation import Simulation

    for verb in VERBS:
        import_module(f"crowdsim.cli.{verb}")
    for module in LATE:
        with contextlib.suppress(ImportError):  # some are of packages that may be missing
            import_module(module)
    Simulation(load_scenario(ROOT / "scenarios/head-on-corridor.yaml"), threads=1).step()
    code_version()  # with checkpoints these two are half of the time of a short run
    software_versions()
    assert threading.active_count() == 1


def main() -> None:
    """Serve, or be a command."""
    from crowdsim.cli import main as command
    from crowdsim.kernels import sources

    get_ready()
    if becomes_a_command(socket.socket(fileno=int(sys.argv.pop()))):
        sources._BEGAN_NS = time.time_ns()  # a plug-in that was written before the command is no edited one
        end(command)


if __name__ == "__main__":
    main()
