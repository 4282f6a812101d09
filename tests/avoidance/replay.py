"""Choices made anew from explanations alone: rows of `REASON_DTYPE` of one agent in, a velocity out."""

import math

import numpy as np

from crowdsim.avoidance.explain import Reason
from tests.reference import clearpath, orca


def velocity_of(told, kind):
    """The one velocity of a kind."""
    (row,) = told[told["kind"] == kind]
    return float(row["x"]), float(row["y"])


def obstacles_in(told):
    """(lines, whose, horizon) of each obstacle, as `tests.reference.clearpath` takes lines:
    (point, direction) with the obstacle on the right.
    """
    found = []
    for row in told:
        if row["kind"] == Reason.OBSTACLE:
            apex = (float(row["x"]), float(row["y"]))
            lines = [
                (apex, (float(row["a_x"]), float(row["a_y"]))),
                (apex, (-float(row["b_x"]), -float(row["b_y"]))),
            ]
            found.append((lines, int(row["other"]), float(row["value"])))
        elif row["kind"] == Reason.TIP:
            assert row["other"] == found[-1][1]
            found[-1][0].append(line_of(row))
    return found


def line_of(row):
    """The border of a half-plane or tip, with what it does not permit on the right."""
    return (float(row["x"]), float(row["y"])), (float(row["a_y"]), -float(row["a_x"]))


def depth(told, v):
    """How deep a velocity is in any obstacle that is heeded."""
    return max(
        (clearpath.depth(lines, v) for lines, _, horizon in obstacles_in(told) if horizon > 0.0),
        default=-math.inf,
    )


def from_candidates(told):
    """The preferred velocity if nobody forbids it, else the cheapest that is permitted."""
    candidates = told[told["kind"] == Reason.CANDIDATE]
    permitted = candidates[candidates["other"] == 0]
    best = candidates[0] if candidates["other"][0] == 0 else permitted[np.argmin(permitted["value"])]
    return float(best["x"]), float(best["y"])


def from_half_planes(told, speed):
    """The velocity that breaks the half-planes of agents least, or keeps all."""
    planes = told[told["kind"] == Reason.HALF_PLANE]
    return orca.choose(
        [line_of(row) for row in planes],
        int(np.count_nonzero(planes["other"] == -1)),
        speed,
        velocity_of(told, Reason.PREFERRED),
    )[0]


def from_samples(told):
    """The velocity of least penalty."""
    samples = told[told["kind"] == Reason.SAMPLE]
    best = samples[np.argmin(samples["value"])]
    return float(best["x"]), float(best["y"])
