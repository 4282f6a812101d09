"""Random numbers that depend on nothing but what they are for.

A draw is a function of (seed, stream, agent key, index): Philox4x64-10 ([Salmon 2011]) with these as key and
counter. Neither the order of agents nor the number of threads nor what else was drawn before can change it.
Distributions are made by inverse functions built from ``+ - * / sqrt`` alone, since the C library's `log` and
`exp` differ between processors.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import kernel

_PHILOX_M0 = np.uint64(0xD2E7470EE14C6C93)
_PHILOX_M1 = np.uint64(0xCA5A826395121157)
_PHILOX_W0 = np.uint64(0x9E3779B97F4A7C15)
_PHILOX_W1 = np.uint64(0xBB67AE8584CAA73B)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


class Stream(IntEnum):
    """What a random number is for. Numbers are part of the recorded format: never reuse one."""

    POSITION = 1
    SPEED = 2
    RADIUS = 3
    PREMOVEMENT = 4
    SYMMETRY = 5
    CHOICE = 6
    PLACE = 7
    DESTINATION = 8  # which of the goals of a list with shares
    GAP = 9  # time between an agent that comes and the one before
    TRAIN = 10  # how many come in a burst
    ENTRANCE = 11  # where an agent comes in
    STATE = 12  # what agents draw for what they do: times, places, which state comes next
    SERVICE = 13  # how long it takes to serve an agent
    PARTY = 14  # how many agents a party has
    ALIGHT = 15  # where an agent comes out of a connection
    FAMILIAR = 17  # which goals of a choice an agent knows
    INFLUENCE = 18  # whether an agent is drawn by others in its choice


def agent_key(group: str, index: int, explicit_id: int | None = None) -> int:
    """Return the 64-bit key of an agent's random streams:
    its explicit id, else (group name, index in the group).
    """
    text = f"#{explicit_id}" if explicit_id is not None else f"{group}\0{index}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def agent_keys(group: str, index: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the keys of agents of one group, by their indices in it, (k,)."""
    name = f"{group}\0".encode()
    hashed = [hashlib.blake2b(b"%b%d" % (name, each), digest_size=8).digest() for each in index.tolist()]
    return np.frombuffer(b"".join(hashed), dtype="<u8").astype(np.uint64)


@kernel
def _multiply_high(a, b):
    """Return the upper 64 bits of the 128-bit product of two uint64."""
    a_low, a_high = a & _LOW, a >> _HALF
    b_low, b_high = b & _LOW, b >> _HALF
    low = a_low * b_low
    middle = a_high * b_low + (low >> _HALF)
    cross = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (cross >> _HALF)


@kernel
def philox(seed, stream, key, index):
    """Return the first word of Philox4x64-10 for counter (index, stream, key, 0) and key (seed, 0).

    Parameters
    ----------
    seed, stream, key, index : uint64

    Returns
    -------
    uint64

    Notes
    -----
    Ten rounds as in the paper. Twin: `tests/reference/random.py`, itself held to `numpy.random.Philox`.
    """
    c0, c1, c2, c3 = np.uint64(index), np.uint64(stream), np.uint64(key), np.uint64(0)
    k0, k1 = np.uint64(seed), np.uint64(0)
    for _ in range(10):
        high0, low0 = _multiply_high(_PHILOX_M0, c0), _PHILOX_M0 * c0
        high1, low1 = _multiply_high(_PHILOX_M1, c2), _PHILOX_M1 * c2
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0 += _PHILOX_W0
        k1 += _PHILOX_W1
    return c0


@kernel
def uniform01(seed, stream, key, index):
    """Return a float64 in (0, 1), never 0 or 1: the middle of one of 2**52 equal cells."""
    return (np.float64(philox(seed, stream, key, index) >> np.uint64(12)) + 0.5) * 2.220446049250313e-16


@kernel
def natural_log(x):
    """Return ln(x) for finite x > 0 to 2 units in the last place, the same on every processor.

    x is halved or doubled into [sqrt(1/2), sqrt(2)); there ln m = 2 artanh((m - 1) / (m + 1)) by its series.
    """
    exponent = 0.0
    while x >= 1.4142135623730951:
        x *= 0.5
        exponent += 1.0
    while x < 0.7071067811865476:
        x *= 2.0
        exponent -= 1.0
    t = (x - 1.0) / (x + 1.0)
    square = t * t
    total = 0.0
    for n in range(12, -1, -1):  # the next term is below 0.1716**27 / 27 < 1e-22
        total = total * square + 1.0 / (2.0 * n + 1.0)
    return exponent * 0.6931471805599453 + 2.0 * t * total


@kernel
def _polynomial(coefficients, x):
    total = 0.0
    for coefficient in coefficients:
        total = total * x + coefficient
    return total


# [Wichura 1988] (PPND16), highest power first.
_CENTRE_OVER = (
    2509.0809287301226727,
    33430.575583588128105,
    67265.770927008700853,
    45921.953931549871457,
    13731.693765509461125,
    1971.5909503065514427,
    133.14166789178437745,
    3.387132872796366608,
)
_CENTRE_UNDER = (
    5226.495278852545925,
    28729.085735721942674,
    39307.89580009271061,
    21213.794301586595867,
    5394.1960214247511077,
    687.1870074920579083,
    42.313330701600911252,
    1.0,
)
_NEAR_OVER = (
    7.7454501427834140764e-4,
    0.0227238449892691845833,
    0.24178072517745061177,
    1.27045825245236838258,
    3.64784832476320460504,
    5.7694972214606914055,
    4.6303378461565452959,
    1.42343711074968357734,
)
_NEAR_UNDER = (
    1.05075007164441684324e-9,
    5.475938084995344946e-4,
    0.0151986665636164571966,
    0.14810397642748007459,
    0.68976733498510000455,
    1.6763848301838038494,
    2.05319162663775882187,
    1.0,
)
_FAR_OVER = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    0.0012426609473880784386,
    0.026532189526576123093,
    0.29656057182850489123,
    1.7848265399172913358,
    5.4637849111641143699,
    6.6579046435011037772,
)
_FAR_UNDER = (
    2.04426310338993978564e-15,
    1.4215117583164458887e-7,
    1.8463183175100546818e-5,
    7.868691311456132591e-4,
    0.0148753612908506148525,
    0.13692988092273580531,
    0.59983220655588793769,
    1.0,
)


@kernel
def normal_quantile(probability):
    """Return the standard normal deviate below which `probability` (0 < p < 1) lies,
    to 1e-15 relative (AS 241).
    """
    centred = probability - 0.5
    if abs(centred) <= 0.425:
        r = 0.180625 - centred * centred
        return centred * _polynomial(_CENTRE_OVER, r) / _polynomial(_CENTRE_UNDER, r)
    tail = probability if centred < 0.0 else 1.0 - probability
    r = np.sqrt(-natural_log(tail))
    if r <= 5.0:
        value = _polynomial(_NEAR_OVER, r - 1.6) / _polynomial(_NEAR_UNDER, r - 1.6)
    else:
        value = _polynomial(_FAR_OVER, r - 5.0) / _polynomial(_FAR_UNDER, r - 5.0)
    return -value if centred < 0.0 else value


@kernel
def fill_uniform(seed, stream, keys, index, low, high, out):
    """Write one uniform draw in (low, high) for each agent key.

    Parameters
    ----------
    seed, stream, index : int
        Which draw; see the module's docstring.
    keys : (n,) uint64
    low, high : float
    out : (n,) float64
    """
    for row in range(keys.size):
        out[row] = low + (high - low) * uniform01(
            np.uint64(seed), np.uint64(stream), keys[row], np.uint64(index)
        )


@kernel
def fill_normal(seed, stream, keys, mean, deviation, low, high, out):
    """Write one normal draw for each agent key, cut off to low..high by drawing again.

    Parameters
    ----------
    seed, stream : int
    keys : (n,) uint64
    mean, deviation, low, high : float
    out : (n,) float64

    Returns
    -------
    int
        Agents for which none of 1,000 draws fell into low..high; their `out` is nan.
    """
    failed = 0
    for row in range(keys.size):
        out[row] = np.nan
        for index in range(1000):
            value = mean + deviation * normal_quantile(
                uniform01(np.uint64(seed), np.uint64(stream), keys[row], np.uint64(index))
            )
            if low <= value <= high:
                out[row] = value
                break
        else:
            failed += 1
    return failed


def draw_uniform(
    seed: int, stream: Stream, keys: NDArray[np.uint64], low: float, high: float, index: int = 0
) -> NDArray[np.float64]:
    """Return one uniform draw in (low, high) for each agent key, shape (n,)."""
    out = np.empty(keys.size)
    fill_uniform(seed, int(stream), keys, index, float(low), float(high), out)
    return out
