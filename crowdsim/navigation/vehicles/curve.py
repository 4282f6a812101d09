"""Curves of arcs and lines, and the places along them."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.directions import direction_at
from crowdsim.kernels.decorator import kernel

HALF_TURN_RAD = 3.141592653589793


class Curve(NamedTuple):
    """A curve that a vehicle drives, piece by piece; an arc turns by less than half a turn.

    Attributes
    ----------
    pose : (n, 4) float64
        Where each piece begins, x and y (m), and the direction in which the vehicle looks there.
    bend : (n,) float64, 1/m
        Curvature: positive to the left of the vehicle, 0 of lines.
    gear : (n,) int64
        1 forwards, -1 backwards.
    along : (n + 1,) float64, m
        How far along the curve each piece begins, and where the last one ends.
    """

    pose: NDArray[np.float64]
    bend: NDArray[np.float64]
    gear: NDArray[np.int64]
    along: NDArray[np.float64]

    @property
    def length(self) -> float:
        """How long it is, m."""
        return float(self.along[-1])


@kernel
def poses_at(at, pose, bend, gear, along, out):
    """Return where a vehicle is on a curve.

    Parameters
    ----------
    at : (k,) float64, m
        How far along the curve.
    pose, bend, gear, along : arrays
        See `Curve`.
    out : (k, 4) float64
        Receives x, y (m) and the direction in which it looks.

    Notes
    -----
    Twin: `tests/reference/vehicles.py`.
    """
    for i in range(len(at)):
        piece = 0
        while piece + 1 < len(bend) and along[piece + 1] <= at[i]:
            piece += 1
        gone = gear[piece] * (at[i] - along[piece])
        x, y, ux, uy = pose[piece, 0], pose[piece, 1], pose[piece, 2], pose[piece, 3]
        if bend[piece] == 0.0:
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = x + gone * ux, y + gone * uy, ux, uy
            continue
        turn = gone * bend[piece]
        cosine, sine = direction_at(min(abs(turn), HALF_TURN_RAD))
        if turn < 0.0:
            sine = -sine
        vx, vy = ux * cosine - uy * sine, ux * sine + uy * cosine
        # round the middle of the arc, to the left if the bend is positive
        radius = 1.0 / bend[piece]
        mx, my = x - radius * uy, y + radius * ux
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = mx + radius * vy, my - radius * vx, vx, vy


def poses(curve: Curve, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where a vehicle is on a curve, (k, 4): x, y (m) and its direction; see `poses_at`."""
    out = np.empty((len(at), 4))
    poses_at(np.ascontiguousarray(at, dtype=np.float64), curve.pose, curve.bend, curve.gear, curve.along, out)
    return out
