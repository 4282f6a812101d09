"""Kernels are compiled by several processes at once, into the cache,
where each finds what the others made.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from crowdsim.kernels import decorator as kernels
from crowdsim.kernels.compiling import without_collections
from crowdsim.kernels.needed import Needed, ready, shared_out
from crowdsim.kernels.sources import at_one_moment

FEWEST = 6  # Kernels for which another process is started: it takes a second of its own to begin.
MOST_PROCESSES = 4  # More have too much in common to do.
_START = "import sys; sys.path[:] = {path!r}; from crowdsim.kernels.ahead import main; main()"


def make_ready(wanted: Sequence[Needed]) -> int:
    """Load kernels, and compile those that are not kept, with other processes where that pays;
    return how many had to be compiled.

    Parameters
    ----------
    wanted : sequence of Needed
    """
    with at_one_moment():
        cold = [kernel for kernel in wanted if not _load(kernel)]
    if not cold:
        return 0
    lists = shared_out(cold, _process_count(len(cold)))
    with _helpers(lists), without_collections():
        pending = cold
        for kernel in _compiled_in_turn(_own_first(lists, 0)):
            pending = [each for each in pending if each != kernel and not _load(each)]
            kernels.tell_progress(len(cold) - len(pending), len(cold))
        for kernel in pending:  # what the others are at
            _compile(kernel, wait=True)
        # To look for what the compiler left takes two seconds, and gives no memory back: what is freed lies
        # between what is used.
        gc.freeze()
    return len(cold)


def _compiled_in_turn(wanted: Iterable[Needed]) -> Iterator[Needed]:
    """Compile what no other process compiles, and yield each;
    where another is at work, go on from the other end, far from what it makes parts of.
    """
    left = deque(wanted)
    while left:
        kernel = left.popleft()
        if _compile(kernel, wait=False):
            yield kernel
        else:
            left.reverse()


def _process_count(cold: int) -> int:
    asked = os.environ.get("CROWDSIM_COMPILE_PROCESSES")
    if asked is not None and asked.isdigit():
        return max(1, int(asked))
    return max(1, min(len(os.sched_getaffinity(0)), MOST_PROCESSES, cold // FEWEST)) if sys.executable else 1


def _load(kernel: Needed) -> bool:
    """Load a kernel if it is kept; return whether it is there, or cannot be."""
    found = ready(kernel)
    return found is None or found[0].load(found[1])


def _compile(kernel: Needed, *, wait: bool) -> bool:
    """Compile a kernel, or wait for another process that does;
    return false if one does and we do not wait.
    """
    found = ready(kernel)
    if found is None:
        return True
    function, args = found
    # the list is older than the code: the call of the kernel reports what is wrong, if anything is
    with contextlib.suppress(Exception):
        if wait:
            function.compile(args)
        else:
            return bool(function.compile_unless_another_does(args))
    return True


def _own_first(lists: Sequence[Sequence[Needed]], own: int) -> Iterator[Needed]:
    """Yield a process's own kernels, then from the end what others may not have reached yet."""
    yield from lists[own]
    for k in range(1, len(lists)):
        yield from reversed(lists[(own + k) % len(lists)])


@contextlib.contextmanager
def _helpers(lists: Sequence[Sequence[Needed]]) -> Iterator[None]:
    """Have other processes compile all lists but the first."""
    running = []
    program = _START.format(path=[entry or str(Path.cwd()) for entry in sys.path])
    environment = {**os.environ, "CROWDSIM_COMPILE_PROCESSES": "1"}
    try:
        for own in range(1, len(lists)):
            with contextlib.suppress(OSError):  # nothing but time is lost
                command = [sys.executable, "-c", program, str(os.getpid())]
                process = subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                running.append(process)
                assert process.stdin is not None
                with process.stdin:
                    process.stdin.write(json.dumps(list(_own_first(lists, own))).encode())
        yield
    finally:
        for process in running:
            process.terminate()
            process.wait()


def main() -> None:
    """Compile the kernels that standard input names, until the process that asked is gone."""
    parent = int(sys.argv[1])
    wanted = [Needed(name, tuple(args), tuple(parts)) for name, args, parts in json.loads(sys.stdin.read())]
    with without_collections():
        for _ in _compiled_in_turn(wanted):
            if os.getppid() != parent:
                return
