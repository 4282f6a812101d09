"""Times as numbers of ticks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def ticks_in(seconds: ArrayLike, tick: float) -> NDArray[np.int64]:
    """Return how many ticks last at least so many seconds; a time that is a whole number of ticks up to rounding is that number.

    Parameters
    ----------
    seconds : float or array, s, >= 0
    tick : float, s

    Returns
    -------
    int64 array of the same shape
    """
    exact = np.asarray(seconds, dtype=np.float64) / tick
    nearest = np.round(exact)
    return np.where(np.abs(exact - nearest) <= 1e-9 * np.maximum(1.0, exact), nearest, np.ceil(exact)).astype(np.int64)
