"""Naive twins of the kernels in `crowdsim.setup.packing`: gap_to_others, place_in_turn, push_apart_in_area.

Plain lists and loops over everything; only the order in which overlapping discs are summed up follows the
kernel's grid, since sums depend on it.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from crowdsim.setup.packing import CROWDED, HOMELESS, MOVE_EVERY, PLACED, SPOTS_TRIED, TOUCHING
from crowdsim.world.random import Stream, uniform01
from tests.reference.area_grid import Edge, may_stand, off_walls


@dataclass
class Scene:
    """Everything that places discs.

    `cells` are the cells (x, y of the corner, size) of the area in which spots are drawn; `grid` is corner
    and cell size of the discs' grid.
    """

    ground: list[Edge]
    area: list[Edge]
    cells: list[tuple[float, float, float]]
    near: object  # walls near a point, in the kernel's order
    grid: tuple[float, float, float]
    seed: int
    margin: float
    key: list[int]
    radius: list[float]
    fixed: list[bool]
    x: list[float]
    y: list[float]
    status: list[int] = field(default_factory=list)
    drawn: list[int] = field(default_factory=list)
    lists: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def cell(self, x: float, y: float) -> tuple[int, int]:
        return int((y - self.grid[1]) / self.grid[2]), int((x - self.grid[0]) / self.grid[2])

    def insert(self, row: int) -> None:
        self.lists.setdefault(self.cell(self.x[row], self.y[row]), []).insert(0, row)

    def move(self, row: int, x: float, y: float) -> None:
        self.lists[self.cell(self.x[row], self.y[row])].remove(row)
        self.x[row], self.y[row] = x, y
        self.insert(row)

    def around(self, x: float, y: float) -> list[int]:
        up, aside = self.cell(x, y)
        return [
            other for i in (-1, 0, 1) for j in (-1, 0, 1) for other in self.lists.get((up + i, aside + j), [])
        ]

    def draw(self, row: int) -> tuple[float, float]:
        first = self.drawn[row]
        self.drawn[row] += 3
        u = [
            float(
                uniform01(
                    np.uint64(self.seed),
                    np.uint64(int(Stream.POSITION)),
                    np.uint64(self.key[row]),
                    np.uint64(first + part),
                )
            )
            for part in range(3)
        ]
        x, y, size = self.cells[min(int(u[0] * len(self.cells)), len(self.cells) - 1)]
        return x + u[1] * size, y + u[2] * size

    def fits(self, row: int, x: float, y: float) -> bool:
        return may_stand(self.area, self.ground, x, y, self.radius[row] + self.margin)


def gap_to_others(scene: Scene, row: int, x: float, y: float) -> float:
    """Return the least gap to any other disc that has a place."""
    gaps = [
        math.sqrt((x - scene.x[other]) ** 2 + (y - scene.y[other]) ** 2)
        - scene.radius[row]
        - scene.radius[other]
        for inserted in scene.lists.values()
        for other in inserted
        if other != row
    ]
    return min(gaps, default=math.inf)


def place_in_turn(scene: Scene, gap: float, valid_tries: int, all_tries: int) -> int:
    """Give each disc a random place, one after the other."""
    for row, fixed in enumerate(scene.fixed):
        if fixed:
            scene.insert(row)
    for row, fixed in enumerate(scene.fixed):
        if fixed:
            continue
        scene.status[row] = HOMELESS
        best, valid = -math.inf, 0
        for _ in range(all_tries if scene.cells else 0):
            x, y = scene.draw(row)
            if not scene.fits(row, x, y):
                continue
            room = gap_to_others(scene, row, x, y)
            if room > best or valid == 0:
                best = room
                scene.x[row], scene.y[row] = x, y
                scene.status[row] = PLACED if room >= gap else CROWDED
            valid += 1
            if scene.status[row] == PLACED or valid >= valid_tries:
                break
        if scene.status[row] != HOMELESS:
            scene.insert(row)
    return sum(status != PLACED for status in scene.status)


def push_apart_in_area(scene: Scene, target: float, steps: int) -> int:
    """Push overlapping discs apart, first come first served."""
    queue = deque(row for row, status in enumerate(scene.status) if status == CROWDED)
    pushes = [0] * len(scene.x)
    for _ in range(steps):
        if not queue:
            break
        row = queue.popleft()
        px = py = 0.0
        touched = False
        for other in scene.around(scene.x[row], scene.y[row]):
            dx, dy = scene.x[row] - scene.x[other], scene.y[row] - scene.y[other]
            distance = math.sqrt(dx * dx + dy * dy)
            depth = scene.radius[row] + scene.radius[other] + target - distance
            if other == row or depth <= target - TOUCHING:
                continue
            touched = True
            share = 1.0 if scene.fixed[other] else 0.5
            if not scene.fixed[other] and other not in queue:
                queue.append(other)
            if distance > 0.0:
                px += share * depth * dx / distance
                py += share * depth * dy / distance
            else:
                px += share * depth if row < other else -share * depth
        if not touched:
            continue
        queue.append(row)
        pushes[row] += 1
        if pushes[row] % MOVE_EVERY == 0:
            room, best = gap_to_others(scene, row, scene.x[row], scene.y[row]), (scene.x[row], scene.y[row])
            for _ in range(SPOTS_TRIED):
                x, y = scene.draw(row)
                if scene.fits(row, x, y) and gap_to_others(scene, row, x, y) > room:
                    room, best = gap_to_others(scene, row, x, y), (x, y)
            scene.move(row, *best)
            continue
        reach = math.sqrt(px * px + py * py)
        scale = min(1.0, scene.radius[row] / reach) if reach > 0.0 else 0.0
        for _ in range(3):
            x, y = scene.x[row] + scale * px, scene.y[row] + scale * py
            reach = scene.radius[row] + scene.margin  # type: ignore[operator]
            x, y = off_walls(scene.near(x, y), x, y, reach)
            if scene.fits(row, x, y):
                scene.move(row, x, y)
                break
            scale *= 0.5
    for row, fixed in enumerate(scene.fixed):
        if not fixed and scene.status[row] != HOMELESS:
            scene.status[row] = (
                CROWDED if gap_to_others(scene, row, scene.x[row], scene.y[row]) < 0.0 else PLACED
            )
    return sum(status == CROWDED for status, fixed in zip(scene.status, scene.fixed) if not fixed)
