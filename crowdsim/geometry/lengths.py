"""Lengths that are the same to the last bit on every machine.

`hypot` of the C library rounds differently from one library, and from one version of it, to the next, and
products of vectors (``a @ b``) are left to code that the processor decides on. Here both are sums, products,
quotients and roots in a fixed order, each rounded once as IEEE 754 says.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel

# A leg this many times shorter than the other changes no bit of the hypotenuse but by its own last one.
_NEGLIGIBLE = 2.0**-54
# Beyond these squares overflow, or lose bits; powers of two scale without rounding.
_HUGE, _TINY, _SCALE = 2.0**511, 2.0**-459, 2.0**600


@lean_kernel
def _hypotenuse(big, small):
    """Return the root of the sum of two squares, corrected by what its own square is off."""
    length = np.sqrt(big * big + small * small)
    over, beyond = length - small, length - big
    if length <= 2.0 * small:
        square = big * (2.0 * over - big) + (over - 2.0 * (big - small)) * over
    else:
        square = 2.0 * beyond * (big - 2.0 * small) + ((4.0 * beyond - small) * small + beyond * beyond)
    return length - square / (2.0 * length)


@lean_kernel
def hypot(x, y):
    """Return the length of the vector (x, y), off by less than a unit in the last place.

    Parameters
    ----------
    x, y : float64

    Returns
    -------
    float64
        Infinite where one is and the other a number; nan where one is nan.

    Notes
    -----
    [Borges 2019]: the root is corrected by what its square is off. Twin: `tests/reference/lengths.py`.
    """
    x, y = abs(x), abs(y)
    big, small = (x, y) if x >= y else (y, x)
    if small <= big * _NEGLIGIBLE:
        return big + small
    if big > _HUGE:
        return _hypotenuse(big / _SCALE, small / _SCALE) * _SCALE
    if small < _TINY:
        return _hypotenuse(big * _SCALE, small * _SCALE) / _SCALE
    return _hypotenuse(big, small)


def hypots(x: Any, y: Any) -> Any:
    """Return the lengths of the vectors (x, y), numbers or arrays that go together: what `hypot` gives for
    each.
    """
    x, y = np.abs(np.asarray(x, dtype=np.float64)), np.abs(np.asarray(y, dtype=np.float64))
    big, small = np.maximum(x, y), np.minimum(x, y)
    with np.errstate(all="ignore"):  # of legs that are infinite, huge or nothing, in what is then not taken
        scale = np.where(big > _HUGE, 1.0 / _SCALE, np.where(small < _TINY, _SCALE, 1.0))
        a, b = big * scale, small * scale
        length = np.sqrt(a * a + b * b)
        over, beyond = length - b, length - a
        square = np.where(
            length <= 2.0 * b,
            a * (2.0 * over - a) + (over - 2.0 * (a - b)) * over,
            2.0 * beyond * (a - 2.0 * b) + ((4.0 * beyond - b) * b + beyond * beyond),
        )
        return np.where(small <= big * _NEGLIGIBLE, big + small, (length - square / (2.0 * length)) / scale)[
            ()
        ]


def dots(a: NDArray[np.float64], b: NDArray[np.float64]) -> Any:
    """Return the products of vectors, (..., k) each, of few numbers: summed from the first to the last."""
    parts = np.moveaxis(np.asarray(a) * np.asarray(b), -1, 0)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def lengths_of(vectors: NDArray[np.float64]) -> Any:
    """Return the lengths of vectors, (..., k) m, of few numbers each: roots of sums of squares."""
    return np.sqrt(dots(vectors, vectors))
