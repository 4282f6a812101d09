"""Convex polygons as discs: a few that together cover one and stick out only a little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots

# How far discs stick out of the polygon at most: a hand's breadth. Half of it takes four times as many discs.
BEYOND_M = 0.12
_PITCH_SHARE = 4.8  # Side of a square piece whose disc sticks out by the same: 1 / (1 / sqrt(2) - 1 / 2).


def cover(
    corners: NDArray[np.float64], beyond: float = BEYOND_M
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cover a convex polygon with discs.

    Parameters
    ----------
    corners : (k, 2) float64, m
        Counter-clockwise.
    beyond : float, m, > 0
        How far a disc may stick out of the polygon.

    Returns
    -------
    (d, 2) float64, m
        Centres.
    (d,) float64, m
        Radii.

    Notes
    -----
    The polygon is cut along its longest side into equal pieces, and each piece has the disc round the middle
    of its box that reaches all its corners. A square piece of side s sticks out by 0.207 s; at pointed
    corners more, so pieces become smaller until all of them keep to `beyond`. Twin: sampled points in
    `tests/geometry/test_cover.py`.
    """
    sides = np.roll(corners, -1, axis=0) - corners
    length = hypots(sides[:, 0], sides[:, 1])
    along = sides[int(np.argmax(length))] / length.max()
    frame = np.array([along, [-along[1], along[0]]])
    low, high = _in_frame(corners, frame).min(axis=0), _in_frame(corners, frame).max(axis=0)
    pitch = _PITCH_SHARE * beyond
    while True:
        counts = np.maximum(1, np.ceil((high - low) / pitch - 1e-9)).astype(int)
        step = (high - low) / counts
        centres, radii = [], []
        for i in range(counts[0]):
            strip = _between(corners, frame[0], low[0] + i * step[0], low[0] + (i + 1) * step[0])
            for j in range(counts[1]):
                piece = _between(strip, frame[1], low[1] + j * step[1], low[1] + (j + 1) * step[1])
                if len(piece) >= 3:
                    box = _in_frame(piece, frame)
                    u, v = (0.5 * (box.min(axis=0) + box.max(axis=0))).tolist()
                    centre = u * frame[0] + v * frame[1]
                    centres.append(centre)
                    radii.append(float(hypots(piece[:, 0] - centre[0], piece[:, 1] - centre[1]).max()))
        found, radius = np.array(centres), np.array(radii)
        if (radius - _depth(corners, sides, length, found)).max() <= beyond + 1e-9:
            return found, radius
        pitch *= 0.8


def _in_frame(point: NDArray[np.float64], frame: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points in coordinates along the rows of `frame`;
    written out, since a matrix product may differ between processors.
    """
    return np.stack([point[:, 0] * axis[0] + point[:, 1] * axis[1] for axis in frame], axis=1)


def _depth(
    corners: NDArray[np.float64],
    sides: NDArray[np.float64],
    length: NDArray[np.float64],
    point: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return how deep points are in the polygon, the least over its sides (m)."""
    away = point[:, None, :] - corners[None, :, :]
    deep: NDArray[np.float64] = ((sides[:, 0] * away[:, :, 1] - sides[:, 1] * away[:, :, 0]) / length).min(
        axis=1
    )
    return deep


def _between(
    corners: NDArray[np.float64], axis: NDArray[np.float64], low: float, high: float
) -> NDArray[np.float64]:
    """Return the part of a convex polygon between two lines across `axis`."""
    return _beyond(_beyond(corners, axis, low), -axis, -high)


def _beyond(corners: NDArray[np.float64], axis: NDArray[np.float64], offset: float) -> NDArray[np.float64]:
    """Return the part of a convex polygon with ``axis . p >= offset``."""
    kept = []
    value = [float(axis[0] * x + axis[1] * y) - offset for x, y in corners]
    for here in range(len(corners)):
        there = (here + 1) % len(corners)
        if value[here] >= 0.0:
            kept.append(corners[here])
        if (value[here] < 0.0) != (value[there] < 0.0):
            share = value[here] / (value[here] - value[there])
            kept.append(corners[here] + share * (corners[there] - corners[here]))
    return np.array(kept).reshape(-1, 2)
