"""Ground in the making, as a task of the time slicer:
built in steps, paid for, and put in at once between two ticks.

Walls, contacts, avoidance and planning change together. Until then everything is as it was. How many steps
there are and what they cost depends on what was ordered alone, so that a saved run goes on as it would have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from crowdsim.geometry.steps import Steps
from crowdsim.systems.base.slices import Budget, Progress, Wish

TASK = "ground"  # One for all kinds of ground: what is in the making is put in before the next is begun.
# Ticks, a second or two: so long the ground goes before searches that have waited as long. Larger lets them
# starve for longer.
HEAD_START = 20


class Building(ABC):
    """Builds one thing at a time, and puts it in when it is done.

    Parameters
    ----------
    budget : Budget
        Where a clock decides, each step is a slice. Where work decides, what was built is paid for before it
        is put in.

    Attributes
    ----------
    work : int
        What was paid for in this tick, in expansions.
    """

    def __init__(self, budget: Budget) -> None:
        self.work = 0
        self._budget = budget
        self._steps: Steps[Any] | None = None
        self._done, self._owed = 0, -1  # steps; work that is left to be paid, -1 until it is built
        self._is_between_ticks = False

    @property
    def is_building(self) -> bool:
        """Whether something is in the making."""
        return self._steps is not None

    @property
    def progress(self) -> tuple[int, int]:
        """Steps that were done, and work that is left to be paid, -1 until it is known:
        with them `redo` gets to where this is.
        """
        return self._done, self._owed

    def _begin(self, steps: Steps[Any], tick: int, *, is_there: bool = False) -> None:
        """Begin to build; nothing is in the making. What is there already is put in as it is."""
        self._steps, self._done, self._owed = steps, 0, 0 if is_there else -1
        self._budget.tasks.add(TASK, self._slice, due=tick, head_start=HEAD_START)

    def go_on(self, tick: int) -> None:
        """Build on, and put in what is done, between two ticks."""
        self._is_between_ticks = True
        try:
            self._budget.hurry(tick, TASK)
        finally:
            self._is_between_ticks = False

    @abstractmethod
    def _built(self, made: Any) -> int:
        """Take the result of the steps; return what that counts as where work decides."""

    @abstractmethod
    def _put_in(self) -> None:
        """Put in what was built, or was there already."""

    def _slice(self, most: int) -> Progress:
        """Build for a slice."""
        if self._owed < 0:
            if self._budget.is_timed:  # the clock is looked at after every step
                self._step()
                self.work += most
                return Progress(most, Wish.GO_ON)
            while self._owed < 0:
                self._step()
        used = min(most, self._owed)
        self._owed -= used
        self.work += used
        if self._owed:
            return Progress(used, Wish.GO_ON)
        if not self._is_between_ticks:
            return Progress(used, Wish.NEXT_TICK)
        self._steps = None
        self._put_in()
        return Progress(used, Wish.DONE)

    def _step(self) -> None:
        assert self._steps is not None
        try:
            next(self._steps)
            self._done += 1
        except StopIteration as end:
            work = self._built(end.value)
            self._owed = 0 if self._budget.is_timed else work

    def give_up(self) -> None:
        """Forget what is in the making."""
        self._budget.tasks.remove(TASK)
        self._steps = None

    def _redo(self, done: int, owed: int) -> bool:
        """Do the same steps again, after `_begin`; return whether there are so many."""
        if self._owed < 0:
            for _ in range(done + (owed >= 0)):
                if self._owed >= 0:
                    return False
                self._step()
        is_there = self._done == done and (self._owed < 0) == (owed < 0)
        self._owed = owed
        return is_there
