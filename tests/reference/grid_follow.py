"""Twin of walking along waypoints ([Pathfinding undated], section 7), one agent at a time, with angles.

Kernels: follow_waypoints, find_standing, find_cut.
"""

import math
from itertools import pairwise


class Walker:
    """One agent."""

    def __init__(self, position, waypoints):
        self.waypoints, self.before = list(waypoints), position
        self.target = waypoints[-1] if waypoints else position

    def tick(self, position, speed, tick, reached):
        """Return (velocity, whether it arrived, whether it walks)."""
        arrived = False
        while self.waypoints:
            next_one = self.waypoints[0]
            past = [position[k] - next_one[k] for k in range(2)]
            line = [next_one[k] - self.before[k] for k in range(2)]
            crossed = len(self.waypoints) > 1 and any(line) and sum(p * q for p, q in zip(past, line)) >= 0.0
            if math.hypot(*past) > reached and not crossed:
                break
            self.before = self.waypoints.pop(0)
            arrived = not self.waypoints
        toward = self.waypoints[0] if self.waypoints else self.target
        distance = math.dist(toward, position)
        if distance <= reached:
            return (0.0, 0.0), arrived, False
        pace = min(speed, distance / tick) if len(self.waypoints) <= 1 else speed
        towards = math.atan2(toward[1] - position[1], toward[0] - position[0])
        return (pace * math.cos(towards), pace * math.sin(towards)), arrived, True

    def is_standing(self, position, reached):
        """No waypoints left, and at the target."""
        return not self.waypoints and math.dist(position, self.target) <= reached


def is_cut(position, waypoints, closed, touches):
    """Whether a line to the next waypoints touches a closed cell."""
    points = [position, *waypoints]
    return any(touches(cell, a, b) for a, b in pairwise(points) for cell in closed)
