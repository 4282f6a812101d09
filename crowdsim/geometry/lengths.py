"""Lengths that are the same to the last bit on every machine.

`hypot` of the C library rounds differently from one library, and from one version of it, to the next, and
products of vectors (``a @ b``) are left to code that the processor decides on. Here both are sums, products,
quotients and roots in a fixed order, each rounded once as IEEE 754 says. Kernels take `hypot` from
`crowdsim.geometry.hypot`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def hypots(x: Any, y: Any) -> Any:
    """Return the lengths of the vectors (x, y), numbers or arrays that go together."""
    # A scenario that asks for no length is read without numba.
    from crowdsim.geometry.hypot import hypot, hypot_each

    if np.ndim(x) == np.ndim(y) == 0:
        return np.float64(hypot(float(x), float(y)))
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.shape != y.shape:
        x, y = np.broadcast_arrays(x, y)
    found = np.empty(x.shape)
    hypot_each(np.ravel(x), np.ravel(y), found.reshape(-1))
    return found


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
