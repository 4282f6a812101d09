"""Which agents have gone over a line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def crosses_line(
    before: NDArray[np.float64], now: NDArray[np.float64], line: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which steps lead over a line, in either direction.

    Parameters
    ----------
    before, now : (n, 2) float64, m
    line : (2, 2) float64, m
        Its ends.

    Returns
    -------
    (n,) bool
        A step that begins on the line leads over it only if it ends on the line's right: so one that stops on
        it, and goes on or back, is counted at most once.
    """
    begin, end = line
    is_left_before = _side(begin, end, before) >= 0.0
    is_left_now = _side(begin, end, now) >= 0.0
    parts = _turn(before, now, begin) * _turn(before, now, end) <= 0.0
    return (is_left_before != is_left_now) & parts


def _side(a: NDArray[np.float64], b: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    return (b[0] - a[0]) * (p[:, 1] - a[1]) - (b[1] - a[1]) * (p[:, 0] - a[0])


def _turn(a: NDArray[np.float64], b: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    return (b[:, 0] - a[:, 0]) * (p[1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (p[0] - a[:, 0])
