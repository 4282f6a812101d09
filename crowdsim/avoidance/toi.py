"""TOI sampling: try directions at full speed, weigh each by the time of impact, take the least penalty.

The scheme that Mononen used before sampled hRVO (S1, Custom hRVO): the same scores, under the assumption that it is best to walk at full speed most of
the time. Here: at the preferred speed, or not at all. Kept for comparison; its author found that it makes people rush about in crowds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS
from crowdsim.avoidance.registry import register
from crowdsim.avoidance.samplers import CIRCLE
from crowdsim.avoidance.sampling import Sampling, SamplingModel
from crowdsim.tunable import param


def directions(halvings: int) -> NDArray[np.float64]:
    """Return ``4 * 2**halvings`` unit vectors all round, counter-clockwise from (1, 0); each is made of its two neighbours by halving the angle."""
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    for _ in range(halvings):
        middle = vectors + np.roll(vectors, -1, axis=0)
        middle /= np.sqrt(middle[:, 0] * middle[:, 0] + middle[:, 1] * middle[:, 1])[:, None]
        vectors = np.stack([vectors, middle], axis=1).reshape(-1, 2)
    return vectors


@register
class ToiSampling(SamplingModel):
    """All directions at the preferred speed, and standing still; nothing in between."""

    name: ClassVar[str] = "toi"

    @dataclass(frozen=True)
    class Parameters:
        """What can be tuned."""

        halvings: int = param(
            4, "", low=2, high=6, source="ours",
            why="how often the quarter turn is halved: 4 gives 64 directions, 5.6 degrees apart; one more doubles them and the time",
        )
        weight_preferred: float = param(
            2.0, "", low=0.0, high=100.0, source="DetourCrowd",
            why="penalty for straying from the preferred velocity by the maximum speed; larger insists and pushes through, smaller strays",
        )
        weight_current: float = param(
            0.75, "", low=0.0, high=100.0, source="DetourCrowd",
            why="penalty for straying from the present velocity by the maximum speed; larger is smoother and slower to react, zero flickers",
        )
        weight_side: float = param(
            0.75, "", low=0.0, high=100.0, source="DetourCrowd; S1, Custom hRVO",
            why="penalty for passing everybody on the wrong side; larger decides sooner who passes where and makes detours, zero flickers head-on",
        )
        weight_impact: float = param(
            2.5, "", low=0.0, high=100.0, source="DetourCrowd",
            why="penalty for an early impact, over the softening at most; larger turns away sooner, smaller bumps",
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
            2.0, "s", above=0.0, high=60.0, source="ours",
            why="impacts with people later than this do not count; larger turns away sooner and makes long detours, smaller dodges late",
        )
        time_horizon_walls: float = param(
            0.5, "s", above=0.0, high=60.0, source="ours; S1: a different horizon lets agents walk close to walls",
            why="impacts with walls later than this do not count; larger keeps off walls, smaller runs along them",
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
        """Return the numbers, and the directions; see `SamplingModel`."""
        own: ToiSampling.Parameters = self.parameters
        vectors = directions(own.halvings)
        numbers = Sampling(
            own.neighbour_count, own.neighbour_distance, own.time_horizon, own.time_horizon_walls, tick_length,
            own.weight_preferred, own.weight_current, own.weight_side, own.weight_impact, own.softening,
            1.0 if own.side == "right" else -1.0, CIRCLE, len(vectors), own.behind,
        )  # fmt: skip
        return numbers, np.concatenate([vectors[:, 0], vectors[:, 1]]).astype(np.float32)
