"""Drawing the numbers of distributions; apart from `distributions`, because it needs the compiler."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import kernel
from crowdsim.scenario.distributions import Distribution
from crowdsim.world.random import fill_normal, fill_uniform, natural_log


@kernel
def exponential(x):
    """Return e**x to 2 units in the last place for -700 <= x <= 700, the same on every processor.

    x = n ln 2 + r with |r| <= ln(2) / 2; e**r by its series, then doubled or halved n times. Twin:
    `tests/reference/draws.py`.
    """
    n = np.floor(x * 1.4426950408889634 + 0.5)
    # ln 2 in two parts, so that the product with n is exact (Cody and Waite)
    r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10
    total = 1.0
    for term in range(14, 0, -1):  # the next term is below 0.347**15 / 15! < 1e-19
        total = 1.0 + total * r / term
    scale = 1.0
    for _ in range(int(abs(n))):
        scale = scale * 2.0 if n > 0.0 else scale * 0.5
    return total * scale


@kernel
def exponentials(values, low, high):
    """Replace each of `values` ((n,) float64) by e to its power, held within low..high against rounding."""
    for row in range(values.size):
        values[row] = min(max(exponential(values[row]), low), high)


@kernel
def logarithms(values, mean, low, high):
    """Replace each of `values` ((n,) float64, shares below 1) by the exponential deviate with that mean
    below which it lies, held within low..high against rounding.
    """
    for row in range(values.size):
        values[row] = min(max(-mean * natural_log(1.0 - values[row]), low), high)


def _decay(x: float) -> float:
    """Return e**-x for x >= 0, the same on every processor."""
    return float(exponential(-x)) if x < 700.0 else 0.0


def draw_distribution(
    distribution: Distribution, seed: int, stream: int, keys: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Return one draw for each agent: a function of seed, stream and the agent's key alone.

    Parameters
    ----------
    distribution : Distribution
    seed : int, >= 0
    stream : int
        `crowdsim.world.random.Stream`.
    keys : (n,) uint64
        Keys of the agents' random streams.

    Returns
    -------
    (n,) float64
        Within low..high of the distribution.
    """
    low, high = distribution.low, distribution.high
    if distribution.kind == "number":
        return np.full(keys.size, low)
    out = np.empty(keys.size)
    if distribution.kind == "uniform":
        fill_uniform(seed, stream, keys, 0, low, high, out)
    elif distribution.kind == "normal":
        fill_normal(seed, stream, keys, distribution.first, distribution.second, low, high, out)
    elif distribution.kind == "lognormal":
        bounds = (natural_log(low) if low > 0.0 else -np.inf, natural_log(high))
        fill_normal(seed, stream, keys, distribution.first, distribution.second, bounds[0], bounds[1], out)
        exponentials(out, low, high)
    elif distribution.kind == "exponential":
        # of the part within the cut-offs: the inverse of the distribution function, there
        share = [1.0 - _decay(bound / distribution.first) for bound in (low, high)]
        fill_uniform(seed, stream, keys, 0, share[0], share[1], out)
        logarithms(out, distribution.first, low, high)
    else:
        fill_uniform(seed, stream, keys, 0, 0.0, 1.0, out)
        edges = np.cumsum(np.array(distribution.weights))
        rows = np.searchsorted(edges / edges[-1], out, side="right")
        return np.array(distribution.values)[np.minimum(rows, len(distribution.values) - 1)]
    if np.isnan(out).any():
        raise ValueError(
            "cut-offs that keep next to nothing should have been refused when the scenario was loaded"
        )
    return out
