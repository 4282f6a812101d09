"""Programs with kernels of their own, without the second that importing the compiler takes:
each is forked where it has been imported, and has compiled.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.cli.forked import Server, becomes_a_command, end


@cache
def _server() -> Server:
    return Server(os.environ, "tests.kernels.forked")


def run(
    program: str, folder: Path, cwd: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end in a process of its own, in which modules of a folder can be imported."""
    return _server().run([str(folder), program], cwd, environment=environment)


def main() -> None:
    """Serve, or be a program."""
    from crowdsim.kernels import sources
    from crowdsim.kernels.decorator import kernel

    def twice(x: float) -> float:
        return x + x

    with tempfile.TemporaryDirectory() as folder:
        mine, os.environ["CROWDSIM_CACHE_DIR"] = os.environ.get("CROWDSIM_CACHE_DIR", ""), folder
        for number in (1.0, 1, True, 1j):
            kernel(twice)(number)
        os.environ["CROWDSIM_CACHE_DIR"] = mine
    if becomes_a_command(socket.socket(fileno=int(sys.argv.pop()))):
        _, folder, program = sys.argv
        sys.path.insert(0, folder)
        # of sources that are edited within a second Python would believe the bytecode
        sys.dont_write_bytecode = True
        sources._BEGAN_NS = time.time_ns()
        end(lambda: exec(compile(program, "<program>", "exec"), {"__name__": "__main__"}))


if __name__ == "__main__":
    main()
