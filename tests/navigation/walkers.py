"""Bodies that walk on a mesh, as the tests of walking and steering need them."""

from __future__ import annotations

import numpy as np

from crowdsim.navigation.corridor.corner_cache import NOTHING_HELD, Held, held_by_nobody
from crowdsim.navigation.corridor.steer import steer_many
from crowdsim.navigation.corridor.walk import walk_many
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.search.slot_fields import FOUND
from tests.navigation.worlds import OnePlanner, located


class Walkers:
    """Some bodies with their corridors; `walk` moves them, `steer` gives them velocities."""

    def __init__(self, mesh, position, radius, room: int = 256) -> None:
        count = len(position)
        self.mesh, self.position, self.polygon = mesh, np.array(position, dtype=np.float64), located(mesh, position)
        self.radius = np.broadcast_to(np.asarray(radius, dtype=np.float64), count).copy()
        self.cells, self.block = np.zeros(count * room, dtype=np.int32), np.arange(count, dtype=np.int64) * room
        self.capacity, self.ahead = np.full(count, room, dtype=np.int32), np.zeros(count, dtype=np.int32)
        self.clear, self.touched = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.uint8)
        self.goals, self.piece, self.wants = None, np.full(count, -1, dtype=np.int32), np.zeros(count, dtype=np.uint8)
        self.velocity, self.corner = np.zeros((count, 2)), np.zeros((count, 2))
        self.held: Held = held_by_nobody(count)

    def head_for(self, shape, reach: float = 0.01) -> np.ndarray:
        """Find ways to a goal; return their lengths, inf where there is none."""
        planner = OnePlanner(self.mesh)
        self.goals = cut_goals(self.mesh, [GoalShape(shape, reach=reach)])
        lengths = np.full(len(self.position), np.inf)
        for row in range(len(self.position)):
            if planner.search(self.position[row], self.goals, self.radius[row], polygon=int(self.polygon[row])) == FOUND:
                cells, self.piece[row] = planner.corridor()
                assert len(cells) <= self.capacity[row]
                self.cells[self.block[row] : self.block[row] + len(cells)] = cells
                self.ahead[row], self.wants[row] = len(cells), 1
                self.held.post[row] = NOTHING_HELD
                lengths[row] = planner.string(self.position[row], self.goals, self.radius[row])[2]
        return lengths

    def steer(self, speed: float = 1.3, tick: float = 0.05) -> None:
        """Set velocities towards the next corners."""
        count = len(self.position)
        steer_many(
            0, count, self.mesh, self.goals, self.cells, self.block, self.ahead, self.polygon, self.piece, self.wants, self.position, self.radius,
            np.full(count, speed), tick, self.held, self.velocity, self.corner,
        )  # fmt: skip

    def walk(self, target) -> None:
        """Walk towards targets."""
        new = [np.empty_like(a) for a in (self.position, self.polygon, self.ahead, self.clear, self.touched)]
        walk_many(
            0, len(self.position), self.mesh, self.cells, self.block, self.capacity, self.ahead, self.polygon, self.position, target, self.radius,
            self.clear, *new,
        )  # fmt: skip
        self.position, self.polygon, self.ahead, self.clear, self.touched = new

    def corridor(self, row: int) -> list[int]:
        """Return the portals ahead of a body, the next one first."""
        return self.cells[self.block[row] : self.block[row] + self.ahead[row]][::-1].tolist()
