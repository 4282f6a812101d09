"""Naive twins of `philox`, `uniform01`, `fill_uniform`, `natural_log`, `normal_quantile` and `fill_normal`.

Philox4x64-10 with Python's own integers ([Salmon 2011]); logarithm and normal distribution from Python's
library, which differ from ours in the last places and between processors: that is why ours exist.
"""

import math
import statistics

MASK = (1 << 64) - 1


def philox(seed: int, stream: int, key: int, index: int) -> int:
    """Return the first word for counter (index, stream, key, 0) and key (seed, 0)."""
    counter, keys = [index, stream, key, 0], [seed, 0]
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * counter[0], 0xCA5A826395121157 * counter[2]
        counter = [
            (second >> 64) ^ counter[1] ^ keys[0],
            second & MASK,
            (first >> 64) ^ counter[3] ^ keys[1],
            first & MASK,
        ]
        keys = [(keys[0] + 0x9E3779B97F4A7C15) & MASK, (keys[1] + 0xBB67AE8584CAA73B) & MASK]
    return counter[0]


def uniform(seed: int, stream: int, key: int, index: int, low: float, high: float) -> float:
    """Return the draw in (low, high)."""
    return low + (high - low) * (((philox(seed, stream, key, index) >> 12) + 0.5) * 2.0**-52)


def natural_log(x: float) -> float:
    """Return ln(x)."""
    return math.log(x)


def normal_quantile(probability: float) -> float:
    """Return the standard normal deviate below which `probability` lies."""
    return statistics.NormalDist().inv_cdf(probability)


def normal(seed: int, stream: int, key: int, mean: float, deviation: float, low: float, high: float) -> float:
    """Return the first of 1,000 normal draws that lies in low..high, nan if none does."""
    for index in range(1000):
        value = mean + deviation * normal_quantile(uniform(seed, stream, key, index, 0.0, 1.0))
        if low <= value <= high:
            return value
    return math.nan
