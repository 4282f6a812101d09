"""Programs that tests run as processes of their own, since they are killed or run out of disk.

Each forks once for every case, so that Python and the kernels are loaded once, and leaves through the
interpreter's own end: what HDF5 does there is part of the test.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
from pathlib import Path

import numpy as np

from crowdsim.errors import CrowdsimError
from crowdsim.recording import datasets, storage, writer
from crowdsim.recording.recover import recover
from tests.recording.crowd import Crowd, new_writer


def say(*words):
    sys.stdout.write(" ".join(str(word) for word in words) + "\n")
    sys.stdout.flush()


def warm_up(folder):
    """Load or compile every kernel, so that the cases measure the recording and not the compiler."""
    path = new_writer(folder / "warm.h5", trace=True)
    Crowd(20).record(path, 3)
    path.discard()


def record_until_killed(out, agents, ticks, claims):
    """Record a run; after every commit say through a pipe how many ticks are safe."""
    made = new_writer(out, flush_seconds=0.01)

    def claim(_):
        if made.committed.ticks:
            os.write(claims, f"{made.committed.ticks}\n".encode())

    Crowd(agents).record(made, ticks, pause=claim)
    made.close({"arrived": agents})
    os.write(claims, b"0\n")


def kill(folder, agents, ticks, moments, seed):
    """Print for each kill: the run's number, the ticks that were said to be safe, and whether it had ended.

    The moments are spread over the run, from before the file is made to after it has its name: a tick is
    drawn, and then some milliseconds.
    """
    warm_up(folder)
    nobody_listens = os.open(os.devnull, os.O_WRONLY)
    record_until_killed(folder / "whole.h5", agents, ticks, nobody_listens)
    rng = np.random.default_rng(seed)
    for number in range(moments):
        reading, claims = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            record_until_killed(folder / f"run{number}.h5", agents, ticks, claims)
            os._exit(0)
        os.close(claims)
        target, pause = rng.integers(-ticks // 10, ticks + ticks // 10), rng.uniform(0.0, 0.02)
        with os.fdopen(reading, "rb") as pipe:
            said = []
            while (said[-1] if said else 0) < target and said[-1:] != [0]:
                said.append(int(pipe.readline()))
            time.sleep(pause)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            said += [int(line) for line in pipe.read().split(b"\n")[:-1]]
        say(number, max(said, default=0), int(said[-1:] == [0]))


def record_in_a_full_disk(out, agents, ticks, limit, *, blind):
    """Record with a limit on the size of files;
    `blind` takes away the look ahead, so that HDF5 meets the limit itself.
    """
    if blind:
        storage.free_bytes = lambda *_: 10**12
        writer.require_place.__globals__["free_bytes"] = lambda *_: 10**12
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    made = None
    try:
        made = new_writer(out, flush_seconds=0.0)
        Crowd(agents).record(made, ticks)
        made.close({})
        say("finished")
    except CrowdsimError as error:
        say("refused", made.committed.ticks if made else 0, str(error).replace("\n", " "))
        sys.exit(int(error.exit_code))


def fill_disk(folder, agents, ticks, blind, limits):
    """Print for each limit: the limit, the exit status, and what the child said."""
    warm_up(folder)
    for limit in limits:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            os.dup2(writing, 1)
            os.dup2(writing, 2)
            record_in_a_full_disk(folder / f"run{limit}.h5", agents, ticks, limit, blind=blind)
            sys.exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read().decode().strip().replace("\n", " | ")
        _, status = os.waitpid(child, 0)
        say(limit, os.waitstatus_to_exitcode(status), said)


def record_once(out, agents, ticks):
    """Record a run that commits in every tick, with small chunks, so that many become full."""
    datasets.LEAST_AGENT_CHUNK_ROWS, datasets.CHUNK_FRAMES = 256, 4
    made = new_writer(out, flush_seconds=0.0, agents=agents, header_changes={"run_id": "traced"})
    with contextlib.suppress(KeyboardInterrupt):
        Crowd(agents).record(made, ticks)
    os._exit(0)  # like a kill: the file stays as it is


def main(verb, folder, *numbers):
    place = Path(folder)
    values = [int(number) for number in numbers]
    if verb == "kill":
        kill(place, *values)
    elif verb == "fill":
        fill_disk(place, values[0], values[1], bool(values[2]), values[3:])
    elif verb == "once":
        record_once(place / "run.h5", *values)
    elif verb == "recover":
        recover(place)


if __name__ == "__main__":
    main(*sys.argv[1:])
