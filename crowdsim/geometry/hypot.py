"""The length of a vector for kernels: see `crowdsim.geometry.lengths`, which has it for all else."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

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


@lean_kernel
def hypot_each(x, y, out):
    """Write the lengths of the vectors (x, y), (n,) float64 each, to `out`."""
    for k in range(out.size):
        out[k] = hypot(x[k], y[k])
