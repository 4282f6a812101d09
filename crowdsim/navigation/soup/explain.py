"""Why does no body stand at a place? Looked up slowly, triangle by triangle, for a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.soup.levels import SAME_M, TOUCH_M


class _Span(NamedTuple):
    triangle: int  # from 1
    low: float  # m
    top: float
    is_stood_on: bool


def why_nobody_stands(
    corners: NDArray[np.float64],
    is_stood_on: NDArray[np.bool_],
    middle: tuple[float, float],
    z: float,
    *,
    reach: float,
    height: float,
    step_up: float,
) -> str:
    """Return in words why no body stands in a column.

    Parameters
    ----------
    corners : (nt, 3, 3) float64, m
    is_stood_on : (nt,) bool
        Whether it is flat enough.
    middle : (float, float), m
        Of the column.
    z : float, m
        Where the body was put down.
    reach : float, m
        Half the side of its square, less what may touch it.
    height, step_up : float, m
        Of the body.
    """
    spans = _spans_over(corners, is_stood_on, middle, reach)
    x, y = middle
    if not spans:
        return f"there is no triangle above or below ({x:g}, {y:g})"
    ground = [span for span in spans if span.is_stood_on]
    if not ground:
        return (
            f"the triangles above and below ({x:g}, {y:g}) are too steep to stand on: "
            f"{_numbers(span.triangle for span in spans)}"
        )
    near = [span for span in ground if z - height < span.top <= z + step_up]
    if not near:
        nearest = min(ground, key=lambda span: abs(span.top - z))
        return (
            f"there is nothing to stand on from {z - height:g} to {z + step_up:g} m; the nearest ground "
            f"there is at {nearest.top:g} m (triangle {nearest.triangle})"
        )
    level = max(near, key=lambda span: span.top)
    in_the_way = [
        span
        for span in spans
        if span.top > level.top + (SAME_M if span.is_stood_on else step_up)
        and span.low < level.top + height - TOUCH_M
    ]
    if not in_the_way:
        return (
            f"triangle {level.triangle}, at {level.top:g} m, reaches under a body at ({x:g}, {y:g}), but not "
            "under its middle: take a place farther from the edge"
        )
    lowest = min(in_the_way, key=lambda span: (span.low, span.triangle))
    side = 2.0 * (reach + TOUCH_M)
    return (
        f"a body of {side:g} x {side:g} x {height:g} m that stands on triangle "
        f"{level.triangle} at ({x:g}, {y:g}, {level.top:g}) meets triangle {lowest.triangle}, which is there "
        f"from {lowest.low:g} to {lowest.top:g} m high"
    )


def _numbers(numbers: Iterable[int]) -> str:
    listed = sorted(set(numbers))
    return (
        "triangles " + ", ".join(str(number) for number in listed[:5]) + (", ..." if len(listed) > 5 else "")
    )


def _spans_over(
    corners: NDArray[np.float64],
    is_stood_on: NDArray[np.bool_],
    middle: tuple[float, float],
    reach: float,
) -> list[_Span]:
    """Return the heights that triangles take up over a square."""
    low, high = np.array(middle) - reach, np.array(middle) + reach
    near = np.flatnonzero(
        (corners[:, :, :2].max(axis=1) >= low).all(axis=1)
        & (corners[:, :, :2].min(axis=1) <= high).all(axis=1)
    )
    found = []
    for number in near.tolist():
        polygon = [corner.tolist() for corner in corners[number]]
        for axis, sign, limit in ((0, 1, high[0]), (0, -1, low[0]), (1, 1, high[1]), (1, -1, low[1])):
            polygon = _cut(polygon, axis, sign, float(limit))
        if polygon:
            heights = [point[2] for point in polygon]
            found.append(_Span(number + 1, min(heights), max(heights), bool(is_stood_on[number])))
    return found


def _cut(polygon: list[list[float]], axis: int, sign: int, limit: float) -> list[list[float]]:
    """Return what of a convex polygon lies on one side of a plane."""
    kept = []
    for here, there in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        a, b = sign * (limit - here[axis]), sign * (limit - there[axis])
        if a >= 0.0:
            kept.append(here)
        if a * b < 0.0:
            kept.append([p + a / (a - b) * (q - p) for p, q in zip(here, there, strict=True)])
    return kept
