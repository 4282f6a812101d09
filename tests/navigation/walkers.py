"""Agents that walk on a mesh, as the tests of walking and steering need them."""

from __future__ import annotations

import numpy as np

from crowdsim.navigation.corridor.corner_cache import NOT_CACHED, CornerCache, empty_corner_cache
from crowdsim.navigation.corridor.corridors import Corridors
from crowdsim.navigation.corridor.steer import steer_many
from crowdsim.navigation.corridor.walk import Walked, walk_many
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.search.slot_fields import FOUND
from tests.navigation.worlds import OnePlanner, located


class Walkers:
    """Some agents with their corridors; `walk` moves them, `steer` gives them velocities."""

    def __init__(self, mesh, position, radius, room: int = 256) -> None:
        count = len(position)
        self.mesh, self.position, self.polygon = (
            mesh,
            np.array(position, dtype=np.float64),
            located(mesh, position),
        )
        self.radius = np.broadcast_to(np.asarray(radius, dtype=np.float64), count).copy()
        self.portals, self.block = (
            np.zeros(count * room, dtype=np.int32),
            np.arange(count, dtype=np.int64) * room,
        )
        self.capacity, self.ahead = np.full(count, room, dtype=np.int32), np.zeros(count, dtype=np.int32)
        self.clear, self.touched = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.uint8)
        self.goals, self.piece, self.wants = (
            None,
            np.full(count, -1, dtype=np.int32),
            np.zeros(count, dtype=np.uint8),
        )
        self.velocity, self.corner = np.zeros((count, 2)), np.zeros((count, 2))
        self.cache: CornerCache = empty_corner_cache(count)

    def head_for(self, shape, reach: float = 0.01) -> np.ndarray:
        """Find paths to a goal; return their lengths, inf where there is none."""
        planner = OnePlanner(self.mesh)
        self.goals = cut_goals(self.mesh, [GoalShape(shape, reach=reach)])
        lengths = np.full(len(self.position), np.inf)
        for row in range(len(self.position)):
            if (
                planner.search(
                    self.position[row], self.goals, self.radius[row], polygon=int(self.polygon[row])
                )
                == FOUND
            ):
                portals, self.piece[row] = planner.corridor()
                assert len(portals) <= self.capacity[row]
                self.portals[self.block[row] : self.block[row] + len(portals)] = portals
                self.ahead[row], self.wants[row] = len(portals), 1
                self.cache.code[row] = NOT_CACHED
                lengths[row] = planner.string(self.position[row], self.goals, self.radius[row])[2]
        return lengths

    def steer(self, speed: float = 1.3, tick: float = 0.05) -> None:
        """Set velocities towards the next corners."""
        count = len(self.position)
        steer_many(
            0,
            count,
            self.mesh,
            self.goals,
            self.corridors(),
            self.wants,
            np.full(count, speed),
            tick,
            self.cache,
            self.velocity,
            self.corner,
        )

    def walk(self, target) -> None:
        """Walk towards targets."""
        new = Walked(
            *(
                np.empty_like(each)
                for each in (self.position, self.polygon, self.ahead, self.clear, self.touched)
            )
        )
        walk_many(0, len(self.position), self.mesh, self.corridors(), self.capacity, target, self.clear, new)
        self.position, self.polygon, self.ahead, self.clear, self.touched = new

    def corridors(self) -> Corridors:
        """Return the corridors as kernels take them."""
        return Corridors(
            self.portals, self.block, self.ahead, self.polygon, self.piece, self.position, self.radius
        )

    def corridor(self, row: int) -> list[int]:
        """Return the portals ahead of an agent, the next one first."""
        return self.portals[self.block[row] : self.block[row] + self.ahead[row]][::-1].tolist()
