"""Which stationary agents are near the straight lines to the goals of many ([Pathfinding undated],
section 6).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import nearest_on_segment
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel


@inlined_kernel
def _is_near(planning, line, reach, entity, position, row):
    """Return whether an agent that stands is another and within reach of a line."""
    x, y = position[row, 0], position[row, 1]
    if (
        x < min(line[0], line[2]) - reach
        or x > max(line[0], line[2]) + reach
        or y < min(line[1], line[3]) - reach
        or y > max(line[1], line[3]) + reach
    ):
        return False
    nx, ny = nearest_on_segment(x, y, line[0], line[1], line[2], line[3])
    return entity[row] != planning and hypot(nx - x, ny - y) <= reach


@lean_kernel
def count_stationary(planning, line, reach, entity, position, count):
    """Count the stationary agents within reach of each of many straight lines.

    Parameters
    ----------
    planning : (n,) int64
        Entity ids of the agents that plan; none is in its own way.
    line : (n, 4) float64, m
        x and y of where each is, x and y of where it wants to be.
    reach : float, m
    entity : (k,) int64
        Agents that are alive, enabled, and stand.
    position : (k, 2) float64, m
    count : (n,) int64
        Receives.

    Notes
    -----
    Source: [Pathfinding undated], section 6. Twin: `tests/reference/grid_obstacles.py`.
    """
    for i in range(planning.size):
        count[i] = 0
        for row in range(entity.size):
            if _is_near(planning[i], line[i], reach, entity, position, row):
                count[i] += 1


@lean_kernel
def write_stationary(planning, line, reach, entity, position, start, out):
    """Write the rows of the stationary agents within reach of line i, ascending, to ``out[start[i]:]``;
    see `count_stationary`.
    """
    for i in range(planning.size):
        place = start[i]
        for row in range(entity.size):
            if _is_near(planning[i], line[i], reach, entity, position, row):
                out[place] = row
                place += 1


def list_stationary(
    planning: NDArray[np.int64],
    line: NDArray[np.float64],
    reach: float,
    entity: NDArray[np.int64],
    position: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the stationary agents near the lines of many, as (start, rows):
    those of line i are ``rows[start[i]:start[i + 1]]``; see `count_stationary`.
    """
    count = np.zeros(len(planning), dtype=np.int64)
    if len(entity):
        count_stationary(planning, line, float(reach), entity, position, count)
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    rows = np.empty(int(start[-1]), dtype=np.int64)
    if len(rows):
        write_stationary(planning, line, float(reach), entity, position, start, rows)
    return start, rows
