"""No avoidance: everyone does what it would do alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.model import FEASIBLE, NOBODY, NOT_ASKED, Choice, CrowdView
from crowdsim.avoidance.registry import register
from crowdsim.geometry.speed import limit_speed
from crowdsim.threads import Team


@register
class NoAvoidance:
    """Keep the preferred velocity, up to the maximum speed; bodies alone keep agents apart."""

    name: ClassVar[str] = "none"

    @dataclass(frozen=True)
    class Parameters:
        """Nothing can be set."""

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters or self.Parameters()

    def prepare(self, capacity: int) -> None:
        """Do nothing: no memory is needed."""

    def choose(self, view: CrowdView, tick_length: float, team: Team, out: Choice) -> None:
        """Write the preferred velocities; see `AvoidanceModel`."""
        team.run(limit_speed, len(view.entity), view.preferred_velocity, view.maximum_speed, view.active, out.velocity)
        out.diagnosis[:] = np.where(view.active, FEASIBLE, NOT_ASKED)
        out.blocker[:] = NOBODY
        out.neighbour_count[:] = 0

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Return nothing: nothing is remembered."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take nothing back."""
