"""When something that moves is where, and how it is turned:
points with times, straight from one to the next, once or again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdsim.geometry.lengths import hypots


def ticks_in(seconds: ArrayLike, tick: float) -> NDArray[np.int64]:
    """Return how many ticks last at least so many seconds;
    a time that is a whole number of ticks up to rounding is that number.

    Parameters
    ----------
    seconds : float or array, s, >= 0
    tick : float, s

    Returns
    -------
    int64 array of the same shape
    """
    exact = np.asarray(seconds, dtype=np.float64) / tick
    nearest = np.round(exact)
    return np.where(np.abs(exact - nearest) <= 1e-9 * np.maximum(1.0, exact), nearest, np.ceil(exact)).astype(
        np.int64
    )


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
        self._rests.extend(
            _merged([(self.times[i], self.times[i + 1]) for i in np.flatnonzero(same).tolist()])
        )

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
        """Yield the times (from, to) around a time (s) during which it does not move;
        they may be infinite.
        """
        begin, end, period = float(self.times[0]), float(self.times[-1]), self.period
        starts_at_rest = [to for since, to in self._rests if since == begin]
        if not self.loops:
            found = [(-_INFINITE, begin), *self._rests, (end, _INFINITE)]
            yield from _merged(found)
            return
        yield -_INFINITE, max([begin, *starts_at_rest])
        first = max(0, int(np.floor((time - begin) / period)) - 1)
        turns = [
            (since + turn * period, to + turn * period)
            for turn in range(first, first + 4)
            for since, to in self._rests
        ]
        yield from _merged(turns)

    def top_speed(self) -> float:
        """Return its highest speed, m/s."""
        if len(self.times) < 2:
            return 0.0
        legs = np.diff(self.points, axis=0)
        return float((hypots(legs[:, 0], legs[:, 1]) / np.diff(self.times)).max())

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
            if (
                start <= begin + _ROUNDING_S
                and end <= stop + _ROUNDING_S
                and begin - max(start, since) >= least - _ROUNDING_S
            ):
                return True
        return False

    def next_move(self, time: float) -> float:
        """Return when it moves next after a time at which it stands (s); infinite is never."""
        return min(
            (
                stop
                for start, stop in self.rests(time)
                if start <= time + _ROUNDING_S and stop > time + _ROUNDING_S
            ),
            default=time,
        )


def _merged(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Join times that follow each other without a gap."""
    found: list[tuple[float, float]] = []
    for start, stop in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], stop))
        else:
            found.append((start, stop))
    return found


_WHOLE_TURN = 6.283185307179586
Direction = tuple[float, float]  # where its x axis points, a unit vector
AS_DRAWN: Direction = (1.0, 0.0)


@dataclass(frozen=True, eq=False)
class Turning:
    """How an obstacle turns while it moves.

    Attributes
    ----------
    timetable : Timetable
    speed : float, rad/s
        Of turning round and round, to the left above 0; 0 is none.
    since : float, s
        When it is as drawn, if it turns round and round.
    along_path : bool
        Whether its x axis points where it goes; where it stands, where it went last.
    turn_time : float, s
        How long it takes to turn after a corner of its path, or less where the next leg is shorter.
    before : (float, float)
        Direction before the first leg, from which it turns too; (0, 0) is that of the first leg.

    Notes
    -----
    A function of the time, without memory. Only ``+ - * /``, sqrt and floor: the same on every processor.
    """

    timetable: Timetable
    speed: float = 0.0
    since: float = 0.0
    along_path: bool = False
    turn_time: float = 1.0
    before: Direction = (0.0, 0.0)
    _legs: list[tuple[float, float, Direction]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        times, points = self.timetable.times.tolist(), self.timetable.points.tolist()
        for leg in range(len(times) - 1):
            dx, dy = points[leg + 1][0] - points[leg][0], points[leg + 1][1] - points[leg][1]
            if dx != 0.0 or dy != 0.0:
                self._legs.append((times[leg], times[leg + 1], _unit(dx, dy)))

    def direction(self, time: float) -> Direction:
        """Return where its x axis points at a time (s)."""
        if self.speed != 0.0:
            return _at_angle(self.speed * (time - self.since))
        return self._along(time) if self.along_path and self._legs else AS_DRAWN

    def _along(self, time: float) -> Direction:
        begin, end = float(self.timetable.times[0]), float(self.timetable.times[-1])
        has_been_round = self.timetable.loops and time > end
        if has_been_round:
            time = begin + (
                (time - begin)
                - self.timetable.period * float(np.floor((time - begin) / self.timetable.period))
            )
        number = max(0, int(np.searchsorted([leg[0] for leg in self._legs], time, side="right")) - 1)
        since, until, now = self._legs[number]
        last = self._legs[number - 1][2]
        if number == 0 and not has_been_round:
            last = now if self.before == (0.0, 0.0) else self.before
        if time < since:  # stands before its first leg, turned as it came
            return last
        share = (time - since) / min(self.turn_time, until - since) if self.turn_time > 0.0 else 1.0
        return now if share >= 1.0 else _between(last, now, share)


def _unit(x: float, y: float) -> Direction:
    length = float(np.sqrt(x * x + y * y))
    return x / length, y / length


def _between(before: Direction, after: Direction, share: float) -> Direction:
    """Return a direction on the shorter turn from one to another; straight back is turned to by the left."""
    (ax, ay), (bx, by) = before, after
    if ax * bx + ay * by <= 0.0:  # more than a right angle: by way of the middle
        x, y = ax + bx, ay + by
        middle = _unit(x, y) if x * x + y * y > 1e-12 else (-ay, ax)
        return (
            _between(before, middle, 2.0 * share)
            if share < 0.5
            else _between(middle, after, 2.0 * share - 1.0)
        )
    return _unit(ax + (bx - ax) * share, ay + (by - ay) * share)


def _at_angle(angle: float) -> Direction:
    """Return the direction at any angle (rad) from +x."""
    from crowdsim.geometry.directions import direction_at

    angle -= _WHOLE_TURN * float(np.floor(angle / _WHOLE_TURN))
    x, y = direction_at(min(angle, _WHOLE_TURN - angle))
    return float(x), float(y if angle <= 0.5 * _WHOLE_TURN else -y)
