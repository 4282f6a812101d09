"""What a program does to a run is recorded, and done again where the recording is run again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.recording.interventions import Intervention
from crowdsim.simulation.ledger import Ledger
from crowdsim.simulation.recorder import Recorder

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Steered")
CALLS: dict[str, Callable[..., Any]] = {}  # the calls by which a program changes a run, by name


class Steered(Protocol):
    """A run as its interventions see it; `crowdsim.simulation.simulation.Simulation` is one."""

    recorder: Recorder | None
    ledger: Ledger
    is_in_tick: bool

    @property
    def tick(self) -> int:
        """Ticks done so far."""


def intervention(change: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Have the calls of a method recorded by which a program changes a run between two ticks.

    A call that raises has changed nothing, and is not recorded.
    """
    signature, name = inspect.signature(change), change.__name__

    @functools.wraps(change)
    def done(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.is_in_tick:
            raise CrowdsimError(
                f"{name} changes a run between two ticks, and was called by a system in the middle of one. "
                "A system writes the columns that it declares. Call it after the step, or from a callback."
            )
        given = signature.bind(self, *args, **kwargs).arguments
        given.pop("self")
        given |= given.pop("more", {})
        recorder = self.recorder if self.recorder is not None and not self.recorder.writer.is_over else None
        line = b""
        if recorder is not None:
            line = _line_of(self.tick, name, given)
        result = change(self, *args, **kwargs)
        self.ledger.note_intervention()
        if recorder is None:
            return result
        if not line:
            raise CrowdsimError(
                f"{name} was given what no recording can hold ({_kinds(given)}). The run has changed, and "
                "its recording does not say how: it cannot be verified. Give numbers, texts, lists or arrays."
            )
        recorder.intervention(self.tick, line)
        return result

    CALLS[name] = done
    return done


def _line_of(tick: int, name: str, given: dict[str, Any]) -> bytes:
    """Return a call as it is recorded; nothing where the call itself has to say what is wrong with it."""
    try:
        return Intervention(tick, name, given).line()
    except OverflowError as error:
        raise CrowdsimError(f"{name}: {error}.") from None
    except (TypeError, ValueError):
        return b""


def _kinds(given: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {type(value).__name__}" for name, value in given.items())


class Replay:
    """Does again what a program did to a run.

    Parameters
    ----------
    interventions : iterator of Intervention
        From a recording, in order.
    where : str
        Its file, for messages.
    """

    def __init__(self, interventions: Iterator[Intervention], where: str) -> None:
        self._left, self._where = interventions, where
        self._number = 0
        self._next = next(interventions, None)

    @property
    def is_over(self) -> bool:
        """Whether all is done."""
        return self._next is None

    def skip(self, count: int) -> None:
        """Leave out the first ones, which a checkpoint has."""
        while self._number < count and self._next is not None:
            self._advance()

    def _advance(self) -> None:
        self._number += 1
        self._next = next(self._left, None)

    def play(self, run: Steered) -> None:
        """Do what was done after the tick that a run has reached.

        Raises
        ------
        RecordingError
            If it cannot be done again.
        """
        while self._next is not None and self._next.tick <= run.tick:
            due, where = self._next, f"{self._where}: intervention {self._number:,} (after tick "
            try:
                if due.call not in CALLS:
                    raise CrowdsimError(f"there is no such call. Known are {', '.join(sorted(CALLS))}")
                CALLS[due.call](run, **due.arguments)
            except (
                CrowdsimError,
                TypeError,
                ValueError,
                LookupError,
                ArithmeticError,
                AttributeError,
            ) as error:
                raise RecordingError(f"{where}{due.tick:,}), {due}, cannot be done again: {error}") from error
            self._advance()
