"""Obstacles as named arrays: what a saved state keeps of those that a program has put in or sent elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.scenario.obstacles import Obstacle
from crowdsim.scenario.timetable import Timetable
from crowdsim.scenario.turning import Turning


def arrays_of(obstacle: Obstacle) -> dict[str, NDArray[Any]]:
    """Return an obstacle as named arrays."""
    turning = obstacle.turning
    numbers = [
        obstacle.disc, obstacle.appears, np.nan if obstacle.vanishes is None else obstacle.vanishes, obstacle.stands_after, obstacle.tick, turning.speed,
        turning.since, float(turning.along_path), turning.turn_time, *turning.before, float(obstacle.timetable.loops),
    ]  # fmt: skip
    return {
        "name": np.frombuffer(obstacle.name.encode(), dtype=np.uint8).copy(), "corners": obstacle.corners.copy(), "centre": obstacle.centre.copy(),
        "radius": obstacle.radius.copy(), "times": obstacle.timetable.times.copy(), "points": obstacle.timetable.points.copy(),
        "numbers": np.array(numbers), "whole": np.array([obstacle.first_tick, obstacle.last_tick, obstacle.layer], dtype=np.int64),
    }  # fmt: skip


def obstacle_from(arrays: Mapping[str, NDArray[Any]]) -> Obstacle:
    """Return the obstacle of which `arrays_of` made these arrays."""
    disc, appears, vanishes, stands_after, tick, speed, since, along, turn_time, before_x, before_y, loops = arrays["numbers"].tolist()
    first, last, layer = arrays["whole"].tolist()
    timetable = Timetable(arrays["times"].copy(), arrays["points"].copy(), loops == 1.0)
    turning = Turning(timetable, speed, since, along == 1.0, turn_time, (before_x, before_y))
    return Obstacle(
        bytes(arrays["name"]).decode(), disc, arrays["corners"].copy(), arrays["centre"].copy(), arrays["radius"].copy(), timetable, turning, appears,
        None if np.isnan(vanishes) else vanishes, stands_after, tick, first, last, layer,
    )  # fmt: skip
