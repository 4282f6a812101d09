"""TOI sampling: try directions at full speed, weigh each by the time to collision, take the least penalty.

The scheme that Mononen used before sampled hRVO ([Mononen 2010], Custom hRVO): the same scores, under the
assumption that it is best to walk at full speed most of the time. Here: at the preferred speed, or not at
all. Kept for comparison; its author found that it makes agents rush about in crowds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.registry import register
from crowdsim.avoidance.sampling.model import SamplingModel, SamplingParameters
from crowdsim.avoidance.sampling.samplers import CIRCLE
from crowdsim.tunable import param


def directions(halvings: int) -> NDArray[np.float64]:
    """Return ``4 * 2**halvings`` unit vectors all round, counter-clockwise from (1, 0);
    each is made of its two neighbours by halving the angle.
    """
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
    class Parameters(SamplingParameters):
        """What can be tuned."""

        halvings: int = param(
            4,
            "",
            low=2,
            high=6,
            source="ours",
            why=(
                "how often the quarter turn is halved: 4 gives 64 directions, 5.6 degrees apart; one more "
                "doubles them and the time"
            ),
        )

    def sampler(self) -> tuple[int, int, NDArray[np.float32]]:
        """Return the sampler, the number of directions, and their cosines and sines."""
        vectors = directions(self.parameters.halvings)
        return CIRCLE, len(vectors), np.concatenate([vectors[:, 0], vectors[:, 1]]).astype(np.float32)
