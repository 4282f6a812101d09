"""Weights of one's own: paths of agents that keep out of the light of lamps."""

import math
from dataclasses import dataclass

from crowdsim.navigation.planning.a_star_planner import AStarPlanner
from crowdsim.navigation.planning.registry import register_planner
from crowdsim.tunable import param

STEP = 0.25  # m: so finely a part of a path is looked at


@register_planner
class DarkSide(AStarPlanner):
    """Take detours for each metre less in the light."""

    name = "dark-side"

    @dataclass(frozen=True)
    class Parameters:
        """Where lamps are, and how much light costs."""

        lamps: tuple[tuple[float, ...], ...] = param((), "m", why="points (x, y) of lamps")
        reach: float = param(5.0, "m", above=0.0, high=1e3, why="so far from a lamp it is light")
        light: float = param(10.0, "", low=0.0, high=1e6, why="what a metre in the light costs more")

    def weight(self, request, start, end):
        """A metre costs 1, and `light` more within reach of a lamp."""
        length = math.dist(start[:3], end[:3])
        count = max(1, math.ceil(length / STEP))
        lit = sum(self._is_lit(start, end, (step + 0.5) / count) for step in range(count))
        return length * (1.0 + self.parameters.light * lit / count)

    def _is_lit(self, start, end, share):
        x = start.x + share * (end.x - start.x)
        y = start.y + share * (end.y - start.y)
        return any(math.dist((x, y), lamp[:2]) < self.parameters.reach for lamp in self.parameters.lamps)
