"""In which direction something that moves is turned: as it was drawn, round and round, or along its path."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from crowdsim.scenario.timetable import Timetable

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
            time = begin + ((time - begin) - self.timetable.period * float(np.floor((time - begin) / self.timetable.period)))
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
        return _between(before, middle, 2.0 * share) if share < 0.5 else _between(middle, after, 2.0 * share - 1.0)
    return _unit(ax + (bx - ax) * share, ay + (by - ay) * share)


def _at_angle(angle: float) -> Direction:
    """Return the direction at any angle (rad) from +x."""
    from crowdsim.geometry.directions import direction_at

    angle -= _WHOLE_TURN * float(np.floor(angle / _WHOLE_TURN))
    x, y = direction_at(min(angle, _WHOLE_TURN - angle))
    return float(x), float(y if angle <= 0.5 * _WHOLE_TURN else -y)
