"""Naive twins of the kernels in `crowdsim.setup.draws`: exponential, exponentials, logarithms."""

from __future__ import annotations

import math
from fractions import Fraction


def exponential(x: float) -> float:
    """Return e**x from its series in exact fractions: no rounding but the last."""
    exact = Fraction(x)
    halvings = 0
    while abs(exact) > Fraction(1, 2):
        exact /= 2
        halvings += 1
    term = total = Fraction(1)
    for n in range(1, 40):
        term *= exact / n
        total += term
        total, term = total.limit_denominator(10**60), term.limit_denominator(10**80)
    for _ in range(halvings):
        total = (
            (total * total).limit_denominator(10**60)
            if total > 1
            else 1 / ((1 / total) ** 2).limit_denominator(10**60)
        )
    return float(total)


def exponentials(values: list[float], low: float, high: float) -> list[float]:
    """Return e to the power of each value, held within low..high."""
    return [min(max(math.exp(value), low), high) for value in values]


def logarithms(values: list[float], mean: float, low: float, high: float) -> list[float]:
    """Return the exponential deviate below which a share of all lies, held within low..high."""
    return [min(max(-mean * math.log1p(-value), low), high) for value in values]
