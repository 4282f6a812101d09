"""How much room there is at places that agents may go to: whether bodies leave any, and how far off those are who walk."""

from __future__ import annotations

import numpy as np

from crowdsim.kernels import lean_kernel

TAKEN = -1.0


@lean_kernel
def measure_room(start, stop, place, standing_x, standing_y, reach, widest, walking_x, walking_y, room):
    """Find how far the nearest walker is from each place that those who stand leave free.

    Parameters
    ----------
    start, stop : int
        Range of places.
    place : (n, 2) float64, m
    standing_x, standing_y : (s,) float64, m
        Where bodies stand or are about to, by x, ascending.
    reach : (s,) float64, m
        Places no farther from a body than this are taken.
    widest : float, m
        No reach is larger.
    walking_x, walking_y : (w,) float64, m
        Where walkers are, by x, ascending.
    room : (n,) float64, m
        Receives the distance to the nearest walker, inf without one; `TAKEN` for places that are taken.

    Notes
    -----
    Bodies are looked at from the place on to both sides, until they are too far off in x alone. Twin: `tests/reference/places.py`.
    """
    for i in range(start, stop):
        x, y = place[i, 0], place[i, 1]
        is_taken = False
        other = np.searchsorted(standing_x, x - widest)
        other = max(0, other - 1)  # the difference is rounded
        while other < standing_x.size and standing_x[other] - x <= widest and not is_taken:
            dx, dy = standing_x[other] - x, standing_y[other] - y
            is_taken = np.sqrt(dx * dx + dy * dy) <= reach[other]
            other += 1
        if is_taken:
            room[i] = TAKEN
            continue
        least = np.inf
        right = np.searchsorted(walking_x, x)
        left = right - 1
        while left >= 0 or right < walking_x.size:
            if right >= walking_x.size or (left >= 0 and x - walking_x[left] <= walking_x[right] - x):
                other = left
                left -= 1
            else:
                other = right
                right += 1
            dx, dy = walking_x[other] - x, walking_y[other] - y
            if dx * dx > least:
                break
            least = min(least, dx * dx + dy * dy)
        room[i] = np.sqrt(least)
