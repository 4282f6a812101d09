"""Progress of long work: one line on standard error that is written over, only on a terminal."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING

from crowdsim.cli.shell import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crowdsim.simulation.simulation import Simulation

SHOW_SECONDS = 0.2
SHORTEST_BAR, LONGEST_BAR = 8, 20  # characters
# The rate shown is that of the last so many seconds: shorter jitters, longer hides that a run slows down.
RATE_SECONDS = 2.0


class Progress(AbstractContextManager["Progress"]):
    """Shows what goes on; silent where standard error is not a terminal.

    Parameters
    ----------
    enabled : bool
    """

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled and sys.stderr.isatty()
        self._width = 0
        self._marks: list[tuple[float, int]] = []
        self._forget: list[Callable[[], None]] = []

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for forget in self._forget:
            forget()
        self._write("")

    def note(self, text: str) -> None:
        """Show what is being done."""
        self._write(text)

    def watch_first_run(self) -> None:
        """Say which kernels have to be compiled, or how many of how many are, and which landmarks of large
        ground are looked for: a first run would seem to hang otherwise.
        """
        if self._enabled:
            from crowdsim.kernels.decorator import on_compile, on_progress
            from crowdsim.navigation.planning.find_landmarks import on_progress as on_landmarks

            counted = False

            def count(done: int, total: int) -> None:
                nonlocal counted
                counted = done < total
                self._write(f"compiling, first run only: {done + counted} of {total}")

            def name(kernel: str) -> None:
                if not counted:
                    self._write(f"compiling, first run only: {kernel}")

            def look(done: int, total: int) -> None:
                self._write(f"looking for landmarks, first run only: {done} of {total}")

            self._forget += [on_compile(name), on_progress(count), on_landmarks(look)]

    def start(self, simulation: Simulation) -> None:
        """Begin to watch a simulation."""
        self._marks = [(time.monotonic(), simulation.tick)]

    def show(self, simulation: Simulation) -> None:
        """Show where a simulation is."""
        if not self._enabled:
            return
        now, stop = time.monotonic(), simulation.scenario.stop
        self._marks.append((now, simulation.tick))
        while len(self._marks) > 2 and now - self._marks[1][0] > RATE_SECONDS:
            self._marks.pop(0)
        seconds, ticks = now - self._marks[0][0], simulation.tick - self._marks[0][1]
        rate = ticks * simulation.scenario.tick / seconds if seconds > 0.0 else 0.0
        left = (stop.ticks - simulation.tick) * simulation.scenario.tick / rate if rate > 0.0 else 0.0
        times = f"{simulation.time:.1f} of {stop.after:g} s"
        speed = f"{rate:.1f} x real time  at most {clock_text(left)} left" if rate > 0.0 else "..."
        lines = (f"{times}  {len(simulation.world.agents):,} agents  {speed}", f"{times}  {speed}", times)
        self._write(line_of(lines, simulation.tick / stop.ticks, _columns()))

    def follow(self, simulation: Simulation) -> None:
        """Watch a simulation from the first call on, and show where it is now and then."""
        if not self._marks:
            self.start(simulation)
        if self._enabled and time.monotonic() - self._marks[-1][0] >= SHOW_SECONDS:
            self.show(simulation)

    def line(self, texts: Sequence[str], share: float) -> None:
        """Show a bar with the first text that leaves room for it (`line_of`)."""
        if self._enabled:
            self._write(line_of(texts, share, _columns()))

    def _write(self, text: str) -> None:
        if not self._enabled:
            return
        text = printable(text, sys.stderr)[: _columns()]
        sys.stderr.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
        sys.stderr.flush()
        self._width = len(text)


def _columns() -> int:
    """Return how many characters a line may have on the terminal of standard error;
    in its last column some terminals begin a new one.
    """
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return max(1, (columns or 80) - 1)  # some terminals say that they have none


def line_of(texts: Sequence[str], share: float, columns: int) -> str:
    """Return a line of progress: a bar and the first text that leaves room for it,
    else the first that fits alone, else the last.

    Parameters
    ----------
    texts : sequence of str
        The same in more and in fewer words, the longest first.
    share : float, 0..1
        What is done.
    columns : int
    """
    for text in texts:
        width = min(LONGEST_BAR, columns - len(text) - 4)
        if width >= SHORTEST_BAR:
            return f"[{'#' * int(width * share):<{width}}]  {text}"
    return next((text for text in texts if len(text) <= columns), texts[-1][:columns])


def clock_text(seconds: float) -> str:
    """Return a span of time as people say it: 45 s, 3:20 min, 2:05 h."""
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    if seconds < 3600.0:
        return f"{int(seconds // 60)}:{int(seconds % 60):02d} min"
    return f"{int(seconds // 3600)}:{int(seconds % 3600 // 60):02d} h"
