"""Naive twins of `crowdsim.navigation.corridor.progress` and `crowdsim.systems.paths.lost_paths`,
one agent at a time.
"""

import math

NOT, CORNER, GOAL, HEADING = range(4)


class Walker:
    """What is noted of one agent, and how that goes on."""

    def __init__(self, place):
        self.place, self.direction = tuple(place), None
        self.remaining, self.behind, self.progress = math.nan, 0.0, 0.0
        self.nearest, self.setbacks = math.nan, 0

    def note(self, how, at, corner, heading, poles, slope=None):
        """Twin of `note_progress`: what was gone counts in the mean of the directions along the path at its
        two ends.
        """
        gone = (at[0] - self.place[0], at[1] - self.place[1])
        self.place = tuple(at)
        if how == NOT:
            self.direction, self.remaining, self.behind = None, math.nan, 0.0
            return
        to = (corner[0] - at[0], corner[1] - at[1])
        if how == GOAL:
            to = min(
                ((x - at[0], y - at[1]) for x, y in poles),
                key=lambda each: each[0] ** 2 + each[1] ** 2,
                default=(0.0, 0.0),
            )
        if how == HEADING or math.hypot(*to) < 1e-6:
            to = heading
        if how == HEADING:
            self.remaining = math.nan
        length = math.hypot(*to)
        direction = (to[0] / length, to[1] / length) if length > 0.0 else (0.0, 0.0)
        if slope is not None:
            along = math.hypot(1.0, slope[0] * direction[0] + slope[1] * direction[1])
            direction = (along * direction[0], along * direction[1])
        before = direction if self.direction is None else self.direction
        self.direction = direction if direction != (0.0, 0.0) else None
        self._walk(gone[0] * (before[0] + direction[0]) / 2.0 + gone[1] * (before[1] + direction[1]) / 2.0)

    def _walk(self, gone):
        self.remaining -= gone
        self.behind -= gone
        if self.behind < 0.0:
            self.progress, self.behind = self.progress - self.behind, 0.0

    def take_path(self, at, length):
        """Twin of `take_path`: a longer path is forgiven three times, a new one begins afresh."""
        if self.direction is not None:
            self._walk(
                (at[0] - self.place[0]) * self.direction[0] + (at[1] - self.place[1]) * self.direction[1]
            )
        self.place, self.direction = tuple(at), None
        if math.isnan(self.remaining):
            self.behind, self.setbacks, self.nearest = 0.0, 0, length
        else:
            longer = length - self.remaining
            if longer > 0.2 and self.setbacks < 3:
                self.setbacks += 1
            else:
                self.behind = max(0.0, self.behind + longer)
        self.remaining = length


def stuck_seconds(lengths, seconds=10, least=0.2):
    """Return at which of some lengths, one a second, the least so far has fallen by less than `least` in so
    many seconds: the definition in words.
    """
    found = []
    for now in range(seconds, len(lengths)):
        if min(lengths[: now - seconds + 1]) - min(lengths[: now + 1]) < least:
            found.append(now)
    return found
