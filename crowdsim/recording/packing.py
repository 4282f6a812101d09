"""A thread that packs full chunks and writes them while the run goes on."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable

# Jobs that wait at most, where nothing else is said.
MOST_WAITING = 16


class Packer:
    """Does what it is given, in that order, on a thread of its own, which begins with the first.

    What fails is raised by the next call of `give` or `wait`; what waits behind it is dropped. A process that
    is forked off has no such thread, and is refused.

    Parameters
    ----------
    most_waiting : int
        Jobs that wait at most: what they hold stays in memory.
    """

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue(most_waiting)
        self._has_begun = False
        self._process = os.getpid()
        self._has_ended = threading.Event()
        self._failure: BaseException | None = None
        self._is_dropping = False

    def give(self, job: Callable[[], None]) -> None:
        """Have it do something, as soon as what it was given before is done;
        wait while as much as it may keep is waiting.
        """
        self._raise()
        if not self._has_begun:
            self._has_begun = True
            threading.Thread(target=self._work, name="crowdsim-recording", daemon=True).start()
        self._jobs.put(job)

    def wait(self) -> None:
        """Return once everything is done."""
        self._raise()
        if not self._has_ended.is_set():  # else nobody takes what is left
            self._jobs.join()
            self._raise()

    def stop(self) -> None:
        """Drop what waits, and end the thread once it has done what it is at; it begins no more."""
        self._is_dropping = True
        interrupt: KeyboardInterrupt | None = None
        # not `join`, which takes a thread for ended where Ctrl-C breaks it off
        while self._has_begun and not self._has_ended.is_set() and self._process == os.getpid():
            try:
                with contextlib.suppress(queue.Full):  # it makes room by dropping
                    self._jobs.put(None, timeout=0.1)
                self._has_ended.wait(0.1)
            except KeyboardInterrupt as pressed:  # the file is not to be let go while it is written to
                interrupt = pressed
        if interrupt is not None:
            raise interrupt

    def _raise(self) -> None:
        if self._process != os.getpid():
            raise RuntimeError(
                "a forked process cannot go on with the recording of the one that it comes from"
            )
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                if job is None:
                    self._has_ended.set()
                    return
                if not self._is_dropping:
                    job()
            except BaseException as error:
                self._failure, self._is_dropping = error, True
            finally:
                self._jobs.task_done()
                job = None  # and what it holds
