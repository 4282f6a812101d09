"""Sampled hRVO: try velocities of all speeds, weigh each by four penalties, take the least.

Mononen, "Custom hRVO" and "Geometric vs. Sampling" (S1): reciprocal velocity obstacles, a preferred side to pass on, a liking for the present velocity,
and no velocity that is forbidden: where all run into somebody, the one that does so last is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS
from crowdsim.avoidance.registry import register
from crowdsim.avoidance.samplers import ADAPTIVE, GRID, MOST_GRID
from crowdsim.avoidance.sampling import Sampling, SamplingModel
from crowdsim.tunable import param


@register
class SampledHrvo(SamplingModel):
    """Least penalty among sampled velocities; never without an answer, and smooth where geometric models switch sides.

    The diagnosis of a velocity is feasible where nothing is run into within the horizon, infeasible where a wall is within the tick, else relaxed; to
    blame is who is run into first, by the velocity chosen or, where that is free, by the preferred one.
    """

    name: ClassVar[str] = "sampled-hrvo"

    @dataclass(frozen=True)
    class Parameters:
        """What can be tuned."""

        sampler: str = param(
            "adaptive", "", choices=("adaptive", "grid"), source="S1, Geometric vs. Sampling",
            why="adaptive tries the crossings of cone legs and rings round the best; grid tries a whole regular grid, for reference, some fifteen times slower",
        )
        samples: int = param(
            64, "", low=16, high=1024, source="S1: 200 to be acceptable, `I'd love to have less`",
            why="velocities that the adaptive sampler may try; 64 come within 2 % of the grid's penalty in 95 % of states up to 1.2 people a square metre, "
            "100 up to 2.6; more costs time in proportion",
        )
        grid: int = param(
            129, "", low=3, high=MOST_GRID, source="S1, Geometric vs. Sampling",
            why="lines of the regular grid in each direction, an even number counts as the next odd one; smaller is faster and coarser",
        )
        weight_preferred: float = param(
            2.0, "", low=0.0, high=100.0, source="DetourCrowd",
            why="penalty for straying from the preferred velocity by the maximum speed; larger insists and pushes through, smaller drifts",
        )
        weight_current: float = param(
            0.75, "", low=0.0, high=100.0, source="DetourCrowd; S1, Custom hRVO",
            why="penalty for straying from the present velocity by the maximum speed; larger is smoother and slower to react, zero flickers",
        )
        weight_side: float = param(
            0.75, "", low=0.0, high=100.0, source="DetourCrowd; S1, Custom hRVO",
            why="penalty for passing everybody on the wrong side; larger decides sooner who passes where and makes detours, zero flickers head-on",
        )
        weight_impact: float = param(
            2.5, "", low=0.0, high=100.0, source="DetourCrowd",
            why="penalty for an early impact, over the softening at most; larger avoids sooner and slows down in crowds, smaller bumps",
        )
        softening: float = param(
            0.1, "", above=0.0, high=10.0, source="DetourCrowd",
            why="an impact at once costs the weight over this: ten times the weight; larger cares less for the last moment before an impact",
        )
        side: str = param(
            "right", "", choices=("right", "left"), source="S1, Custom hRVO: agents favour passing each other on the right",
            why="the side on which those pass each other who go straight at each other",
        )
        time_horizon: float = param(
            2.5, "s", above=0.0, high=60.0, source="DetourCrowd",
            why="impacts with people later than this do not count; larger avoids sooner and hesitates in crowds, smaller dodges late",
        )
        time_horizon_walls: float = param(
            0.5, "s", above=0.0, high=60.0, source="ours; S1: a different horizon lets agents walk close to walls",
            why="impacts with walls later than this do not count; larger keeps off walls and hesitates at doors, smaller brakes late",
        )
        behind: float = param(
            0.4, "", low=0.0, high=1.0, source="ours",
            why="share of the time horizon that counts towards those behind; larger makes people dodge forward from those who follow, and crowds are "
            "squeezed, smaller lets them back into each other",
        )
        neighbour_count: int = param(
            8, "", low=0, high=MOST_NEIGHBOURS, source="ours",
            why="the nearest eight surround a walker; more costs time in proportion, fewer lets crowds run into those behind the first rank",
        )
        neighbour_distance: float = param(
            5.0, "m", above=0.0, high=100.0, source="ours",
            why="3.7 s of walking at 1.34 m/s; in crowds the nearest are far closer, in the open larger reacts sooner and costs time",
        )

    def __init__(self, parameters: Parameters | None = None) -> None:
        super().__init__()
        self.parameters = parameters or self.Parameters()

    def sampling(self, tick_length: float) -> tuple[Sampling, NDArray[np.float32]]:
        """Return the numbers, and the grid lines; see `SamplingModel`."""
        own: SampledHrvo.Parameters = self.parameters
        half = own.grid // 2 if own.sampler == "grid" else 0
        sampler, size = (GRID, 2 * half + 1) if own.sampler == "grid" else (ADAPTIVE, own.samples)
        numbers = Sampling(
            own.neighbour_count, own.neighbour_distance, own.time_horizon, own.time_horizon_walls, tick_length,
            own.weight_preferred, own.weight_current, own.weight_side, own.weight_impact, own.softening,
            1.0 if own.side == "right" else -1.0, sampler, size, own.behind,
        )  # fmt: skip
        return numbers, np.arange(-half, half + 1, dtype=np.float32)
