"""What a row of a benchmark says of times."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdsim.bench.crowds import TICK


def spread(above: list[float], below: list[float]) -> dict[str, float]:
    """Return the median of ratios round by round, the least and the most.

    Parameters
    ----------
    above, below : list of float
        Times of one and of the other by rounds; rounds that one of them does not have are left out.
    """
    rounds = min(len(above), len(below))
    ratios = np.array(above[:rounds]) / np.array(below[:rounds])
    return {
        "ratio": round(float(np.median(ratios)), 3),
        "ratio_least": round(float(ratios.min()), 3),
        "ratio_most": round(float(ratios.max()), 3),
    }


def times_of(times: list[float], agents: int, threads: int) -> dict[str, Any]:
    """Return what a row says of its times, ns an agent and step by rounds:
    their median, the least and the most.
    """
    middle = float(np.median(times))
    return {
        "threads": threads,
        "tick_s": TICK,
        "agents": agents,
        "cpu_ns": round(middle, 1),
        "cpu_ns_least": round(min(times), 1),
        "cpu_ns_most": round(max(times), 1),
        "million_a_second": round(1e3 / middle, 4),
        "turns": len(times),
    }
