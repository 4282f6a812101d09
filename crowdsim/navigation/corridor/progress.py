"""Progress along the path: by how much the least remaining length so far has fallen.

A path is measured once, when it is found. From then on its length falls by what the agent gets nearer to the
point that it steers at, and rises by what it is pushed away from it, however the path bends behind that
point: the gradient of the remaining length is the direction in which one steers. So it is known at the cost
of a few products, whatever found the path.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel

# Nearer to its corner than this, as on the arc round it, an agent's direction is the one that it prefers:
# that to the corner is rounding.
AT_CORNER_M = 1e-6


class Measured(IntEnum):
    """Towards what the progress of an agent is measured."""

    NOT = 0  # it goes nowhere
    CORNER = 1  # the point that it steers at along its path
    GOAL = 2  # its goal as the crow flies: it guesses, for want of a path
    HEADING = 3  # the direction that a program tells it


class Progress(NamedTuple):
    """What is known of the progress of agents, a row each.

    Attributes
    ----------
    place : (n, 2) float64, m
        Where each was when its progress was noted last.
    direction : (n, 2) float64
        That of its path there, as long as a metre in plan is along the surface; 0, 0 where it is not known.
    remaining : (n,) float64, m
        Length of the path ahead; nan is not known, and NOT and HEADING make it so.
    behind : (n,) float64, m
        By how much it is longer than the least so far.
    gained : (n,) float64, m
        By how much the least has fallen since the agent came into the world.
    """

    place: NDArray[np.float64]
    direction: NDArray[np.float64]
    remaining: NDArray[np.float64]
    behind: NDArray[np.float64]
    gained: NDArray[np.float64]


@lean_kernel
def note_progress(start, stop, towards, corner, heading, goal, goal_start, pole, slope, position, progress):
    """Note what agents of rows start..stop - 1 have got nearer since their progress was noted last.

    Parameters
    ----------
    start, stop : int
    towards : (n,) uint8
        Measured.
    corner : (n, 2) float64, m
        The point that each steers at from where it is.
    heading : (n, 2) float64
        The direction that each prefers there, of any length.
    goal : (n,) int32
    goal_start : (goals + 1,) int32
    pole : (pieces, 2) float64, m
        See `GoalPieces`; GOAL is the nearest.
    slope : (n, 2) float64
        Gradient of the ground under each; shape (0, 2) where it is level: then lengths in plan are those
        along the surface.
    position : (n, 2) float64, m
    progress : Progress
        In and out.

    Notes
    -----
    What was gone since then counts in the mean of both directions (the trapezoidal rule): an agent that goes
    to and fro is where it was but for rounding. Cost: 8 ns an agent. Twin: `tests/reference/progress.py`.
    """
    place, direction, remaining, behind = (
        progress.place,
        progress.direction,
        progress.remaining,
        progress.behind,
    )
    for row in range(np.uint64(start), np.uint64(stop)):
        x, y = position[row, 0], position[row, 1]
        dx, dy = x - place[row, 0], y - place[row, 1]
        place[row, 0], place[row, 1] = x, y
        how = towards[row]
        if how == Measured.NOT:
            direction[row, 0] = direction[row, 1] = 0.0
            remaining[row], behind[row] = np.nan, 0.0
            continue
        ux, uy = corner[row, 0] - x, corner[row, 1] - y
        if how == Measured.GOAL:
            ux, uy, least = 0.0, 0.0, np.inf
            for piece in range(goal_start[goal[row]], goal_start[goal[row] + 1]):
                away_x, away_y = pole[piece, 0] - x, pole[piece, 1] - y
                square = away_x * away_x + away_y * away_y
                if square < least:
                    least, ux, uy = square, away_x, away_y
        length = np.sqrt(ux * ux + uy * uy)
        if how == Measured.HEADING or length < AT_CORNER_M:
            ux, uy = heading[row, 0], heading[row, 1]
            length = np.sqrt(ux * ux + uy * uy)
        if how == Measured.HEADING:
            remaining[row] = np.nan
        share = 1.0 / length if length > 0.0 else 0.0
        if slope.shape[0] > 0:
            climb = share * (slope[row, 0] * ux + slope[row, 1] * uy)
            share *= np.sqrt(1.0 + climb * climb)
        ux, uy = share * ux, share * uy
        was_x, was_y = direction[row, 0], direction[row, 1]
        direction[row, 0], direction[row, 1] = ux, uy
        if was_x == 0.0 and was_y == 0.0:
            was_x, was_y = ux, uy
        gone = 0.5 * (dx * (was_x + ux) + dy * (was_y + uy))
        remaining[row] -= gone
        left = behind[row] - gone
        progress.gained[row] -= min(0.0, left)
        behind[row] = max(0.0, left)
