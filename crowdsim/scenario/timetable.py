"""When something that moves is where: points with times, straight from one to the next, once or again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_INFINITE = float("inf")
_ROUNDING_S = 1e-9  # Times that differ by less are one: a tick's end is a product, a waypoint's time a sum.


@dataclass(frozen=True, eq=False)
class Timetable:
    """A path with times.

    Attributes
    ----------
    times : (k,) float64, s
        Ascending. Before the first it stands at the first point, after the last at the last one.
    points : (k, 2) float64, m
    loops : bool
        After the last time it begins again with the first; the last point is the first one then.

    Notes
    -----
    Only ``+ - * /`` and floor: the same on every processor.
    """

    times: NDArray[np.float64]
    points: NDArray[np.float64]
    loops: bool = False
    _rests: list[tuple[float, float]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        same = (self.points[1:] == self.points[:-1]).all(axis=1)
        self._rests.extend(_merged([(self.times[i], self.times[i + 1]) for i in np.flatnonzero(same).tolist()]))

    @property
    def period(self) -> float:
        """Time from the first point to the last, s."""
        return float(self.times[-1] - self.times[0])

    def place(self, time: float) -> tuple[float, float]:
        """Return where it is at a time (s), as (x, y) in metres."""
        begin, end = float(self.times[0]), float(self.times[-1])
        if self.loops and time > end:
            time = begin + ((time - begin) - self.period * np.floor((time - begin) / self.period))
        leg = int(np.searchsorted(self.times, time, side="right")) - 1
        if leg < 0 or leg >= len(self.times) - 1:
            x, y = self.points[0 if leg < 0 else -1].tolist()
            return x, y
        (ax, ay), (bx, by) = self.points[leg].tolist(), self.points[leg + 1].tolist()
        share = (time - float(self.times[leg])) / float(self.times[leg + 1] - self.times[leg])
        return ax + (bx - ax) * share, ay + (by - ay) * share

    def rests(self, time: float) -> Iterator[tuple[float, float]]:
        """Yield the times (from, to) around a time (s) during which it does not move; they may be infinite."""
        begin, end, period = float(self.times[0]), float(self.times[-1]), self.period
        starts_at_rest = [to for since, to in self._rests if since == begin]
        if not self.loops:
            found = [(-_INFINITE, begin), *self._rests, (end, _INFINITE)]
            yield from _merged(found)
            return
        yield -_INFINITE, max([begin, *starts_at_rest])
        first = max(0, int(np.floor((time - begin) / period)) - 1)
        turns = [(since + turn * period, to + turn * period) for turn in range(first, first + 4) for since, to in self._rests]
        yield from _merged(turns)

    def top_speed(self) -> float:
        """Return its highest speed, m/s."""
        if len(self.times) < 2:
            return 0.0
        legs = np.diff(self.points, axis=0)
        return float((np.hypot(legs[:, 0], legs[:, 1]) / np.diff(self.times)).max())

    def stands(self, begin: float, end: float, since: float, least: float) -> bool:
        """Return whether it does not move from `begin` to `end` and had not for so long before.

        Parameters
        ----------
        begin, end : float, s
        since : float, s
            What was before that does not count.
        least : float, s
            For how long it must have stood at `begin`.
        """
        for start, stop in self.rests(begin):
            if start <= begin + _ROUNDING_S and end <= stop + _ROUNDING_S and begin - max(start, since) >= least - _ROUNDING_S:
                return True
        return False

    def next_move(self, time: float) -> float:
        """Return when it moves next after a time at which it stands (s); infinite is never."""
        return min((stop for start, stop in self.rests(time) if start <= time + _ROUNDING_S and stop > time + _ROUNDING_S), default=time)


def _merged(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Join times that follow each other without a gap."""
    found: list[tuple[float, float]] = []
    for start, stop in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], stop))
        else:
            found.append((start, stop))
    return found
