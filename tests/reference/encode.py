"""Naive twins of crowdsim.recording.encode."""

from __future__ import annotations

import math
from fractions import Fraction


def shuffle_words(data: bytes, item_bytes: int) -> bytes:
    """Twin of `shuffle_words` (and `shuffle`):
    all first bytes of the elements, then all second bytes, and so on (HDF5's shuffle filter).
    """
    return b"".join(bytes(data[byte::item_bytes]) for byte in range(item_bytes))


def round_to_multiples(values: list[float], step: float) -> list[float]:
    """Twin of `round_to_multiples`, in exact fractions."""
    found = []
    for value in values:
        if math.isfinite(value):
            found.append(
                float(math.floor(Fraction(value) / Fraction(step) + Fraction(1, 2)) * Fraction(step))
            )
        else:
            found.append(value)
    return found
