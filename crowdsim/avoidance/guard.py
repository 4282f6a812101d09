"""Holding models to what they promise: what a plug-in does wrong is reported with its name,
the agent and the tick, and does not spread.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import REASON_DTYPE
from crowdsim.avoidance.model import (
    FEASIBLE,
    INFEASIBLE,
    NOT_ASKED,
    WALL,
    AvoidanceModel,
    Choice,
    CrowdView,
    copy_choice,
    empty_choice,
)
from crowdsim.avoidance.plugins import described, where_raised
from crowdsim.avoidance.registry import Origin
from crowdsim.errors import CrowdsimError
from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.decorator import kernel
from crowdsim.kernels.threads import Team

# Relative; models that work in float32 round the speed limit by 1e-7. Larger lets an agent outrun what walls
# are listed for.
SPEED_TOLERANCE = 1e-5
LAWFUL, NOT_A_NUMBER, TOO_FAST = 0, 1, 2


class ModelError(CrowdsimError):
    """A model broke a promise while a run went on.

    Attributes
    ----------
    row : int
        Row of the first agent that it concerns; -1 where it concerns none.
    """

    def __init__(self, message: str, row: int = -1) -> None:
        super().__init__(message)
        self.row = row


@kernel
def first_unlawful(start, stop, velocity, maximum_speed, deciding):
    """Return the first row whose velocity is no number or too fast, and which of both;
    -1 and LAWFUL if there is none.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    velocity : (n, 2) float64, m/s
    maximum_speed : (n,) float64, m/s
    deciding : (n,) uint8
        Rows to look at; the others count as right.

    Notes
    -----
    Twin: `tests/reference/guard.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        if deciding[row]:
            square = velocity[row, 0] * velocity[row, 0] + velocity[row, 1] * velocity[row, 1]
            limit = maximum_speed[row] * (1.0 + SPEED_TOLERANCE)
            if not square <= limit * limit:
                finite = abs(velocity[row, 0]) < np.inf and abs(velocity[row, 1]) < np.inf
                return np.int64(row), TOO_FAST if finite else NOT_A_NUMBER
    return -1, LAWFUL


def check_velocities(
    name: str,
    velocity: NDArray[np.float64],
    maximum_speed: NDArray[np.float64],
    deciding: NDArray[np.uint8],
    team: Team,
) -> None:
    """Raise ModelError unless all velocities are numbers within the speed limit."""
    for row, fault in team.run(first_unlawful, len(deciding), velocity, maximum_speed, deciding):
        if fault == NOT_A_NUMBER:
            raise ModelError(
                (
                    f"{name} chose the velocity ({velocity[row, 0]:g}, {velocity[row, 1]:g}), which is not "
                    "two finite numbers"
                ),
                row,
            )
        if fault == TOO_FAST:
            speed = float(hypots(velocity[row, 0], velocity[row, 1]))
            remedy = "shorten velocities to view.maximum_speed (crowdsim.geometry.speed.limit_speed)"
            raise ModelError(
                (
                    f"{name} chose {speed:.6g} m/s, but this agent may walk at most "
                    f"{maximum_speed[row]:.6g} m/s: {remedy}"
                ),
                row,
            )


class GuardedModel:
    """A plug-in's model as the simulation sees it: asked like any other, and held to what models promise.

    What it leaves unsaid is filled in: a diagnosis of FEASIBLE, no blocker, and a velocity of 0 for agents
    that are not active.

    Parameters
    ----------
    kind : class of models
    parameters : instance of its `Parameters`
    origin : Origin
    """

    READ_ONLY = ("entity", "position", "velocity", "preferred_velocity", "radius", "maximum_speed", "active")

    def __init__(self, kind: type[AvoidanceModel], parameters: Any, origin: Origin) -> None:
        self.origin, self.name, self.parameters = origin, kind.name, parameters
        self.model: AvoidanceModel
        try:
            self.model = kind(parameters)
        except Exception as error:
            raise ModelError(
                f"{self} raised an error when it was made, at {where_raised(error, origin)}: "
                f"{described(error)}"
            ) from error

    def prepare(self, capacity: int) -> None:
        """Let the model make room."""
        self._call("prepare", capacity)

    def choose(self, view: CrowdView, tick_length: float, team: Team, out: Choice) -> None:
        """Ask the model, and check what it answers."""
        count, deciding = len(view.entity), view.deciding()
        before = [getattr(view, name).copy() for name in self.READ_ONLY]
        answer = empty_choice(count)
        answer.velocity[deciding == 1] = np.nan  # a row that the model forgets is noticed
        answer.diagnosis[:] = np.where(deciding, FEASIBLE, NOT_ASKED)
        self._call("choose", view, tick_length, team, answer)
        for name, array in zip(self.READ_ONLY, before, strict=True):
            if not np.array_equal(array, getattr(view, name)):
                raise ModelError(f"{self} changed the view's {name}, which models only read")
        idle = deciding == 0
        answer.velocity[idle] = 0.0
        answer.diagnosis[idle], answer.blocker[idle] = NOT_ASKED, 0
        self._check(view, deciding, team, answer)
        copy_choice(answer, out)

    def _check(self, view: CrowdView, deciding: NDArray[np.uint8], team: Team, answer: Choice) -> None:
        check_velocities(str(self), answer.velocity, view.maximum_speed, deciding, team)
        wrong = np.flatnonzero(answer.diagnosis > INFEASIBLE)
        if len(wrong):
            raise ModelError(
                f"{self} gave the diagnosis {answer.diagnosis[wrong[0]]}, but there are 0 to {INFEASIBLE}",
                int(wrong[0]),
            )
        wrong = np.flatnonzero(
            (answer.blocker > 0) & ~np.isin(answer.blocker, view.entity) | (answer.blocker < WALL)
        )
        if len(wrong):
            blocker = int(answer.blocker[wrong[0]])
            raise ModelError(
                (
                    f"{self} named the blocker {blocker}, which is no entity of the view, nor 0 (no agent) "
                    "or -1 (a wall)"
                ),
                int(wrong[0]),
            )

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Return what the model remembers."""
        return dict(self._call("state"))

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Give the model back what it remembered."""
        self._call("restore", state)

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self.model, method)(*arguments)
        except Exception as error:  # whatever a user's code raises is one thing: the plug-in failed
            place = where_raised(error, self.origin)
            raise ModelError(f"{self} raised an error in {method}, at {place}: {described(error)}") from error

    def __getattr__(self, name: str) -> Any:
        """Offer the optional methods of models where the model has them."""
        offered = {"wall_reach": self._wall_reach, "explain": self._explain}
        if name in offered and hasattr(self.model, name):
            return offered[name]
        raise AttributeError(name)

    def _wall_reach(self, speed: float) -> float:
        reach = self._call("wall_reach", speed)
        if not (isinstance(reach, (int, float)) and 0.0 <= reach < np.inf):
            raise ModelError(f"{self} said {reach!r} in wall_reach, but a distance in metres is asked for")
        return float(reach)

    def _explain(self, *arguments: Any) -> NDArray[Any]:
        found = self._call("explain", *arguments)
        if not isinstance(found, np.ndarray) or found.dtype != REASON_DTYPE or found.ndim != 1:
            raise ModelError(
                f"{self} returned no array of REASON_DTYPE in explain: make one with "
                "crowdsim.avoidance.explain.reasons"
            )
        return found

    def __str__(self) -> str:
        return f'the plug-in model "{self.name}" of {self.origin}'
