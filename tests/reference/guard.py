"""Twin of `crowdsim.avoidance.guard.first_unlawful`, from its definition."""

from __future__ import annotations

import math

from crowdsim.avoidance.guard import LAWFUL, NOT_A_NUMBER, SPEED_TOLERANCE, TOO_FAST


def first_unlawful(velocity, maximum_speed, deciding):
    """Return (row, fault) of the first agent that decides and whose velocity is no number or too fast."""
    for row, (x, y) in enumerate(velocity):
        if not deciding[row]:
            continue
        if not (math.isfinite(x) and math.isfinite(y)):
            return row, NOT_A_NUMBER
        if math.hypot(x, y) > maximum_speed[row] * (1.0 + SPEED_TOLERANCE):
            return row, TOO_FAST
    return -1, LAWFUL
