"""Listeners: functions of a user that are called for events while a simulation runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.old_names import member_named
from crowdsim.scenario.tree import suggestion
from crowdsim.world.events import EventKind

Listener = tuple[EventKind | None, Callable[[Any], Any]]


class Listeners:
    """Calls every listener once for each event of its kind, in the order of the events."""

    def __init__(self) -> None:
        self._all: list[Listener] = []
        self._events: deque[NDArray[Any]] = deque()
        self._calls: deque[tuple[Listener, Any]] = deque()

    def add(self, kind: EventKind | str | int | None, callback: Callable[[Any], Any]) -> Callable[[], None]:
        """Add a listener; return a function that takes it off again."""
        if not callable(callback):
            raise CrowdsimError(
                f"the callback is {callback!r}, which cannot be called. Give a function of one event: "
                f"on({kind!r}, print)."
            )
        listener = (None if kind is None else event_kind(kind), callback)
        self._all.append(listener)

        def forget() -> None:
            if listener in self._all:
                self._all.remove(listener)

        return forget

    def take(self, events: NDArray[Any]) -> None:
        """Note events to call listeners for."""
        if len(events):
            self._events.append(events)

    def call(self) -> None:
        """Call the listeners for all events that are noted.

        A listener's exception goes on to the caller with a note that says where it came from. Calls that are
        left then are made the next time.
        """
        if not self._all:
            self._events.clear()
            self._calls.clear()
        while self._calls or self._events:
            if not self._calls:
                wanted = self._wanted(self._events.popleft())
                self._calls.extend(
                    (listener, event)
                    for event in wanted
                    for listener in self._all
                    if listener[0] in (None, event.kind)
                )
                continue
            listener, event = self._calls.popleft()
            if listener not in self._all:  # taken off by a callback
                continue
            try:
                listener[1](event)
            except BaseException as error:
                name = getattr(listener[1], "__name__", repr(listener[1]))
                error.add_note(
                    f"crowdsim: raised by the callback {name} for {EventKind(int(event.kind)).name} at tick "
                    f"{event.tick}. The tick itself is whole and "
                    "recorded; the simulation can go on."
                )
                raise

    def _wanted(self, events: NDArray[Any]) -> Any:
        """Return the events that a listener is for, with attributes;
        most have none, and a record costs a microsecond.
        """
        kinds = {kind for kind, _ in self._all}
        if None not in kinds:
            is_wanted = np.zeros(max(EventKind) + 1, dtype=np.bool_)
            is_wanted[[kind for kind in kinds if kind is not None]] = True
            events = events[is_wanted[events["kind"]]]
        return events.view(np.recarray)


def event_kind(kind: EventKind | str | int) -> EventKind:
    """Return a kind of event by its name, in any case, or its number.

    Raises
    ------
    CrowdsimError
        If there is none.
    """
    try:
        return member_named(EventKind, kind.upper()) if isinstance(kind, str) else EventKind(kind)
    except (KeyError, ValueError, TypeError):
        near = suggestion(kind, EventKind.__members__) if isinstance(kind, str) else ""
        known = ", ".join(EventKind.__members__)
        raise CrowdsimError(
            (
                f"there is no kind of event {kind!r}. {near} Known are {known}, and None for all of them."
            ).replace("  ", " ")
        ) from None
