"""Sampled hRVO: try velocities of all speeds, weigh each by four penalties, take the least.

[Mononen 2010], "Custom hRVO" and "Geometric vs. Sampling": reciprocal velocity obstacles, a preferred side to
pass on, a liking for the present velocity, and no velocity that is forbidden: where all run into an agent or
a wall, the one that does so last is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.registry import register
from crowdsim.avoidance.sampling.model import SamplingModel, SamplingParameters
from crowdsim.avoidance.sampling.samplers import ADAPTIVE, GRID, MOST_GRID
from crowdsim.tunable import param


@register
class SampledHrvo(SamplingModel):
    """Least penalty among sampled velocities; never without an answer,
    and smooth where geometric models switch sides.

    The diagnosis of a velocity is feasible where nothing is run into within the horizon, infeasible where a
    wall is within the tick, else relaxed; to blame is what is run into first, by the velocity chosen or,
    where that is free, by the preferred one.
    """

    name: ClassVar[str] = "sampled-hrvo"

    @dataclass(frozen=True)
    class Parameters(SamplingParameters):
        """What can be tuned."""

        sampler: str = param(
            "adaptive",
            "",
            choices=("adaptive", "grid"),
            source="[Mononen 2010], Geometric vs. Sampling",
            why=(
                "adaptive tries the crossings of cone legs and rings round the best; grid tries a whole "
                "regular grid, for reference, some fifteen times slower"
            ),
        )
        samples: int = param(
            64,
            "",
            low=16,
            high=1024,
            source="[Mononen 2010]: 200 to be acceptable, `I'd love to have less`",
            why="velocities that the adaptive sampler may try; 64 come within 2 % of the grid's penalty in "
            "95 % of states up to 1.2 agents a square metre, "
            "100 up to 2.6; more costs time in proportion",
        )
        grid: int = param(
            129,
            "",
            low=3,
            high=MOST_GRID,
            source="[Mononen 2010], Geometric vs. Sampling",
            why=(
                "lines of the regular grid in each direction, an even number counts as the next odd one; "
                "smaller is faster and coarser"
            ),
        )
        time_horizon: float = param(
            2.5,
            "s",
            above=0.0,
            high=60.0,
            source="[Recast 2009], DetourCrowd",
            why=(
                "collisions with agents later than this do not count; larger avoids sooner and hesitates in "
                "crowds, smaller dodges late"
            ),
        )
        jam_distance: float = param(
            2.25,
            "",
            low=1.0,
            high=10.0,
            source="ours",
            why="two that want to go in the same direction and are blocked by a jam count as this many "
            "times as far apart as where they touch, at least; "
            "with 1 they step aside at 2 cm/s, and two crowds that meet in a corridor stand for minutes; "
            "larger closes crowds up, and "
            "circles of agents take longer",
        )

    def sampler(self) -> tuple[int, int, NDArray[np.float32]]:
        """Return the sampler, its size, and the numbers of grid lines."""
        own: SampledHrvo.Parameters = self.parameters
        if own.sampler == "adaptive":
            return ADAPTIVE, own.samples, np.zeros(1, dtype=np.float32)
        half = own.grid // 2
        return GRID, 2 * half + 1, np.arange(-half, half + 1, dtype=np.float32)
