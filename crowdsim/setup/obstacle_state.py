"""Obstacles as named arrays: what a saved state keeps of those that a program
has put in or sent elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.saved import Saved, SavedError, ascends
from crowdsim.scenario.limits import MAX_COORDINATE_M, MAX_DISCS, MAX_KEY_LENGTH, MAX_TICKS, MAX_WAYPOINTS
from crowdsim.scenario.obstacles import Obstacle
from crowdsim.scenario.timetable import Timetable, Turning

_VANISHES = 2  # Place of the only number that may be missing.
_LONGEST_S = 1e9  # Beyond all times of a run.
_FASTEST = 1e6  # rad/s
_LEAST = 1e-9
_MOST_CORNERS = 100_000


def arrays_of(obstacle: Obstacle) -> dict[str, NDArray[Any]]:
    """Return an obstacle as named arrays."""
    turning = obstacle.turning
    numbers = [
        obstacle.disc, obstacle.appears, np.nan if obstacle.vanishes is None else obstacle.vanishes,
        obstacle.stands_after, obstacle.tick, turning.speed, turning.since, float(turning.along_path),
        turning.turn_time, *turning.before, float(obstacle.timetable.loops),
    ]  # fmt: skip
    return {
        "name": np.frombuffer(obstacle.name.encode(), dtype=np.uint8).copy(),
        "corners": obstacle.corners.copy(),
        "centre": obstacle.centre.copy(),
        "radius": obstacle.radius.copy(),
        "times": obstacle.timetable.times.copy(),
        "points": obstacle.timetable.points.copy(),
        "numbers": np.array(numbers),
        "whole": np.array([obstacle.first_tick, obstacle.last_tick, obstacle.layer], dtype=np.int64),
    }


def obstacle_from(saved: Saved) -> Obstacle:
    """Return the obstacle of which `arrays_of` made these arrays.

    Raises
    ------
    SavedError
        If there is no such obstacle.
    """
    name = saved.take("name", "u1")
    saved.require(len(name) <= 4 * MAX_KEY_LENGTH, "name", "is too long")
    corners = saved.take("corners", "f8", (None, 2), low=-MAX_COORDINATE_M, high=MAX_COORDINATE_M)
    radius = saved.take("radius", "f8", low=_LEAST, high=MAX_COORDINATE_M)
    centre = saved.take("centre", "f8", (len(radius), 2), low=-MAX_COORDINATE_M, high=MAX_COORDINATE_M)
    saved.require(
        0 < len(radius) <= MAX_DISCS and 2 < len(corners) <= _MOST_CORNERS,
        "radius",
        "are of no disc or too many, or have no outline",
    )
    saved.require(_is_area(corners), "corners", "make no area")
    times = saved.take("times", "f8", low=-_LONGEST_S, high=_LONGEST_S)
    points = saved.take("points", "f8", (len(times), 2), low=-MAX_COORDINATE_M, high=MAX_COORDINATE_M)
    saved.require(0 < len(times) <= 4 * MAX_WAYPOINTS, "times", "are none or too many")
    saved.require(ascends(times), "times", "times have to ascend")
    least = [
        0.0,
        -_LONGEST_S,
        -_LONGEST_S,
        0.0,
        _LEAST,
        -_FASTEST,
        -_LONGEST_S,
        0.0,
        0.0,
        -1.001,
        -1.001,
        0.0,
    ]
    most = [
        MAX_COORDINATE_M,
        _LONGEST_S,
        _LONGEST_S,
        _LONGEST_S,
        1.0,
        _FASTEST,
        _LONGEST_S,
        1.0,
        _LONGEST_S,
        1.001,
        1.001,
        1.0,
    ]
    numbers = saved.take("numbers", "f8", (len(least),), low=least, high=most, special="nan")
    saved.require(
        ~np.isnan(numbers) | (np.arange(len(least)) == _VANISHES),
        "numbers",
        "only that of an end may be missing",
    )
    disc, appears, vanishes, stands_after, tick, speed, since, along, turn_time, before_x, before_y, loops = (
        numbers.tolist()
    )
    first, last, layer = saved.take(
        "whole", "i8", (3,), low=[-MAX_TICKS, -1, -1], high=[MAX_TICKS, MAX_TICKS, len(times) + MAX_TICKS]
    ).tolist()
    saved.require(loops != 1.0 or len(times) > 1, "times", "are too few for a loop")
    timetable = Timetable(times, points, loops == 1.0)
    turning = Turning(timetable, speed, since, along == 1.0, turn_time, (before_x, before_y))
    try:
        text = name.tobytes().decode()
    except UnicodeDecodeError:
        raise SavedError(f"{saved.name}name is no text") from None
    return Obstacle(
        text, disc, corners, centre, radius, timetable, turning, appears,
        None if np.isnan(vanishes) else vanishes, stands_after, tick, first, last, layer,
    )  # fmt: skip


def _is_area(corners: NDArray[np.float64]) -> bool:
    shape = shapely.Polygon(corners)
    return bool(shape.is_valid and shape.area > 0.0)
