"""What stood behind a choice of velocity: the half-planes, obstacles and samples that a model worked with,
for the few agents that are asked about.

A model that can explain its choices has the method ``explain(view, tick_length, rows, choice)``. It is called
right after `choose` with the same view, for rows that were asked for, and returns an array of `REASON_DTYPE`.
It must not change the model: a run is the same with and without it. The preferred and the chosen velocity are
reported for every model, whether it has the method or not.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # readers of recordings need the kinds of reasons, and no compiler
    from crowdsim.avoidance.model import AvoidanceModel, Choice, CrowdView


class Reason(IntEnum):
    """Kinds of reasons; all places are in the space of velocities (m/s).
    Numbers are part of the recorded format: never reuse one.
    """

    PREFERRED = 1  # x, y: the velocity that the agent would like
    CHOSEN = 2  # x, y: the velocity that it got
    # permits velocities v with (v - (x, y)) . (a_x, a_y) >= 0; value: how far inside the chosen velocity
    # lies, negative where it is broken
    HALF_PLANE = 3
    # forbids a cone with apex x, y between left leg a and right leg b (unit vectors; opposite ones: a
    # half-plane), less the tips that follow; value: for how long a collision is forbidden, s: inf for ever,
    # 0: it gave way to nearer ones and forbids nothing
    OBSTACLE = 4
    # x, y: a velocity that was tried; value: its penalty, the sum of a_x (straying from the preferred
    # velocity), a_y (from the present one), b_x (passing on the wrong side) and b_y (time to collision);
    # other: the agent that is run into first within the horizon
    SAMPLE = 5
    # x, y: a velocity that was looked at; value: its cost, in (m/s)^2; other: the agent that forbids it, 0
    # where it is permitted
    CANDIDATE = 6
    # permits, of the obstacle before it, velocities v with (v - (x, y)) . (a_x, a_y) >= 0; value: how far
    # from the apex it cuts, m/s
    TIP = 7


REASON_DTYPE = np.dtype(
    [
        ("entity", "<i8"),
        ("kind", "<i8"),
        ("other", "<i8"),
        ("binds", "<i8"),
        ("x", "<f8"),
        ("y", "<f8"),
        ("a_x", "<f8"),
        ("a_y", "<f8"),
        ("b_x", "<f8"),
        ("b_y", "<f8"),
        ("value", "<f8"),
    ]
)


def reasons(entity: int, kind: Reason, count: int) -> NDArray[Any]:
    """Return `count` rows of one kind for an agent;
    numbers are nan until they are filled in, no other agent is concerned, and nothing binds.
    """
    rows = np.zeros(count, dtype=REASON_DTYPE)
    rows["entity"], rows["kind"] = entity, int(kind)
    for name in ("x", "y", "a_x", "a_y", "b_x", "b_y", "value"):
        rows[name] = np.nan
    return rows


def half_plane_reasons(
    entity: int,
    normals: NDArray[Any],
    offsets: NDArray[Any],
    others: NDArray[np.int64],
    velocity: NDArray[np.float64],
) -> NDArray[Any]:
    """Return half-planes as reasons; none of them binds.

    Parameters
    ----------
    entity : int
    normals : (k, 2), unit vectors
    offsets : (k,), m/s
        Half-plane i permits velocities v with ``normals[i] . v >= offsets[i]``.
    others : (k,) int64
        The entity that imposes each.
    velocity : (2,) float64, m/s
        What was chosen.
    """
    found = reasons(entity, Reason.HALF_PLANE, len(offsets))
    found["other"] = others
    found["a_x"], found["a_y"] = normals.T.astype(np.float64)
    found["x"], found["y"] = offsets * found["a_x"], offsets * found["a_y"]
    found["value"] = found["a_x"] * velocity[0] + found["a_y"] * velocity[1] - offsets
    return found


def explain_choices(
    model: AvoidanceModel, view: CrowdView, tick_length: float, rows: NDArray[np.int64], choice: Choice
) -> NDArray[Any]:
    """Return what stood behind the choices of some agents, in the order of `rows`.

    Parameters
    ----------
    model : AvoidanceModel
        Which has just chosen.
    view : CrowdView
    tick_length : float, s
    rows : (k,) int64
        Agents that decided.
    choice : Choice
        What the model chose.

    Returns
    -------
    (m,) REASON_DTYPE
    """
    own = getattr(model, "explain", None)
    found = (
        np.asarray(own(view, tick_length, rows, choice))
        if own is not None and len(rows)
        else np.zeros(0, dtype=REASON_DTYPE)
    )
    parts = []
    for row in rows.tolist():
        entity = int(view.entity[row])
        for kind, velocity in ((Reason.PREFERRED, view.preferred_velocity), (Reason.CHOSEN, choice.velocity)):
            part = reasons(entity, kind, 1)
            part["x"], part["y"] = velocity[row]
            parts.append(part)
        parts.append(found[found["entity"] == entity].astype(REASON_DTYPE))
    return np.concatenate(parts) if parts else np.zeros(0, dtype=REASON_DTYPE)
