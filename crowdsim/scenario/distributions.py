"""Numbers that differ from agent to agent:
what a distribution is and where it can lie (`draws` draws from it).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from crowdsim.scenario import schema

# Cut-offs that keep less than this are a mistake; a thousand draws then miss them all with a chance of 2e-9.
LEAST_SHARE_KEPT = 0.02
# Where exponential draws are cut off if nothing is said: beyond lie 2 in a thousand million.
MOST_MEANS = 20.0


@dataclass(frozen=True)
class Distribution:
    """One number, or how it is distributed over agents.

    Attributes
    ----------
    kind : str
        ``number``, ``uniform``, ``normal``, ``lognormal``, ``exponential`` or ``choice``.
    low, high : float
        No draw lies outside; for a number both are the number.
    first, second : float
        normal: mean, sd. lognormal: mu, sigma (of the natural logarithm). exponential: mean, 0. Else 0.
    values, weights : tuple of float
        choice: the values and how often each comes; else empty.
    """

    kind: str
    low: float
    high: float
    first: float = 0.0
    second: float = 0.0
    values: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()

    def data(self) -> Any:
        """Return the distribution as it is written in a scenario, with every number given."""
        if self.kind == "number":
            return self.low
        bounds = {"low": self.low, "high": self.high}
        if self.kind == "uniform":
            return {"uniform": bounds}
        if self.kind == "normal":
            return {"normal": {"mean": self.first, "sd": self.second, **bounds}}
        if self.kind == "lognormal":
            return {"lognormal": {"mu": self.first, "sigma": self.second, **bounds}}
        if self.kind == "exponential":
            return {"exponential": {"mean": self.first, **bounds}}
        return {"choice": {"values": list(self.values), "weights": list(self.weights)}}

    def share_kept(self) -> float:
        """Return which share of draws the cut-offs keep, 0..1."""
        if self.kind == "exponential":
            return math.exp(-self.low / self.first) - math.exp(-self.high / self.first)
        if self.kind not in ("normal", "lognormal"):
            return 1.0
        low, high = self.low, self.high
        if self.kind == "lognormal":
            low, high = (math.log(bound) if bound > 0 else -math.inf for bound in (low, high))
        below = [
            0.5 * math.erfc(-(bound - self.first) / (self.second * math.sqrt(2.0))) for bound in (low, high)
        ]
        return below[1] - below[0]


def number(value: float) -> Distribution:
    """Return the distribution that is always `value`."""
    return Distribution("number", float(value), float(value))


# [Weidmann 1993]; cut-offs as [RiMEA 2025] uses them
WEIDMANN_SPEED = Distribution("normal", 0.5, 2.2, 1.34, 0.26)
DEFAULT_RADIUS = number(0.2)  # m; as the test cases of [RiMEA 2025] are run by others; an agent of 0.4 m
NO_PREMOVEMENT = number(0.0)


def distribution_from(shape: Any) -> Distribution:
    """Return the distribution that a scenario's (valid) shape describes, with defaults filled in."""
    if isinstance(shape, (int, float)):
        return number(shape)
    if isinstance(shape, schema.UniformForm):
        return Distribution("uniform", float(shape.uniform.low), float(shape.uniform.high))
    if isinstance(shape, schema.NormalForm):
        bell = shape.normal
        low = bell.low if bell.low is not None else bell.mean - 3.0 * bell.sd
        high = bell.high if bell.high is not None else bell.mean + 3.0 * bell.sd
        return Distribution("normal", float(low), float(high), float(bell.mean), float(bell.sd))
    if isinstance(shape, schema.LogNormalForm):
        log = shape.lognormal
        low = log.low if log.low is not None else _rounded(math.exp(log.mu - 3.0 * log.sigma))
        high = log.high if log.high is not None else _rounded(math.exp(log.mu + 3.0 * log.sigma))
        return Distribution("lognormal", float(low), float(high), float(log.mu), float(log.sigma))
    if isinstance(shape, schema.ExponentialForm):
        decay = shape.exponential
        high = decay.high if decay.high is not None else MOST_MEANS * decay.mean
        return Distribution("exponential", float(decay.low or 0.0), float(high), float(decay.mean))
    values = tuple(float(value) for value in shape.choice.values)
    weights = tuple(float(weight) for weight in shape.choice.weights or [1.0] * len(values))
    return Distribution("choice", min(values), max(values), 0.0, 0.0, values, weights)


def _rounded(value: float) -> float:
    """Return a default cut-off with nine digits:
    the C library's exp differs in the last digits between processors.
    """
    return float(f"{value:.9g}")


def complaint(
    shape: Any, distribution: Distribution, *, least: float, most: float, unit: str, positive: bool
) -> tuple[str, str] | None:
    """Return what is wrong with a distribution, and the way out, or None.

    Parameters
    ----------
    shape : number or schema form
        As in the file.
    distribution : Distribution
        The same, resolved.
    least, most : float
        Every draw must lie within; with `positive`, above `least`.
    unit : str
    positive : bool
    """
    low, high = distribution.low, distribution.high
    if distribution.kind == "choice":
        weights = shape.choice.weights
        if weights is not None and len(weights) != len(distribution.values):
            counts = [
                f"{len(items)} {word}{'' if len(items) == 1 else 's'}"
                for items, word in ((distribution.values, "value"), (weights, "weight"))
            ]
            return ", but ".join(counts), "Give one weight for each value."
        if not sum(distribution.weights) > 0.0:
            return "all weights are 0", "Give at least one value a weight above 0."
    if low > high or (low == high and distribution.kind not in ("number", "choice")):
        return f"low is {low:g} {unit}, but high is {high:g} {unit}: nothing lies between them", (
            "Exchange low and high." if low > high else f"For a fixed value write the number: {low:g}."
        )
    if low < least or (positive and low <= least):
        words = f"must be {'above' if positive else 'at least'} {least:g} {unit}"
        if distribution.kind == "number":
            return f"is {low:g} {unit}, but {words}", ""
        return (
            f"can be as low as {low:g} {unit}, but {words}",
            f"Give a low {'above' if positive else 'of at least'} {least:g}.",
        )
    if high > most:
        verb = "is" if distribution.kind == "number" else "can be as high as"
        return f"{verb} {high:g} {unit}, but may be at most {most:g} {unit}", ""
    kept = distribution.share_kept()
    if kept < LEAST_SHARE_KEPT:
        named = {"normal": ("mean", "sd"), "lognormal": ("mu", "sigma"), "exponential": ("mean",)}
        numbers = zip(named[distribution.kind], (distribution.first, distribution.second), strict=False)
        about = " and ".join(f"{name} {value:g}" for name, value in numbers)
        return (
            (
                f"the cut-offs {low:g} to {high:g} {unit} keep "
                f"{f'{kept:.2%}' if kept > 1e-4 else 'next to none'} of the draws of {about}"
            ),
            "Move the cut-offs towards the middle of the distribution.",
        )
    return None
