"""What the models that try velocities share beside their kernel:
what can be tuned, how they are run, and the reasons of their choices.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import Reason, reasons
from crowdsim.avoidance.model import NOBODY, WALL, Choice, CrowdView
from crowdsim.avoidance.neighbour_model import ChooserArguments, NeighbourModel
from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS
from crowdsim.avoidance.parameters import Horizons, Sides
from crowdsim.avoidance.sampling.kernel import SamplingKernelParameters, choose_by_sampling, choose_with_trace
from crowdsim.avoidance.sampling.samplers import (
    GRID,
    SAMPLE_COLLISION,
    SAMPLE_CURRENT,
    SAMPLE_PENALTY,
    SAMPLE_PREFERRED,
    SAMPLE_SIDE,
    SAMPLE_X,
    SAMPLE_Y,
)
from crowdsim.tunable import param

# Which number of a sample stands where in a reason.
_COLUMNS = {
    "x": SAMPLE_X,
    "y": SAMPLE_Y,
    "a_x": SAMPLE_PREFERRED,
    "a_y": SAMPLE_CURRENT,
    "b_x": SAMPLE_SIDE,
    "b_y": SAMPLE_COLLISION,
    "value": SAMPLE_PENALTY,
}


@dataclass(frozen=True)
class SamplingParameters(Sides, Horizons):
    """What can be tuned in every sampling model."""

    weight_preferred: float = param(
        2.0,
        "",
        low=0.0,
        high=100.0,
        source="[Recast 2009], DetourCrowd",
        why=(
            "penalty for straying from the preferred velocity by the maximum speed; larger insists and "
            "pushes through, smaller strays"
        ),
    )
    weight_current: float = param(
        0.75,
        "",
        low=0.0,
        high=100.0,
        source="[Recast 2009], DetourCrowd; [Mononen 2010], Custom hRVO",
        why=(
            "penalty for straying from the present velocity by the maximum speed; larger is smoother and "
            "slower to react, zero flickers"
        ),
    )
    weight_side: float = param(
        0.75,
        "",
        low=0.0,
        high=100.0,
        source="[Recast 2009], DetourCrowd; [Mononen 2010], Custom hRVO",
        why=(
            "penalty for passing all neighbours on the wrong side; larger decides sooner which agent passes "
            "where and makes detours, zero flickers head-on"
        ),
    )
    weight_time_to_collision: float = param(
        2.5,
        "",
        low=0.0,
        high=100.0,
        source="[Recast 2009], DetourCrowd",
        why=(
            "penalty for an early collision, over the softening at most; larger avoids sooner and slows "
            "down in crowds, smaller bumps"
        ),
    )
    softening: float = param(
        0.1,
        "",
        above=0.0,
        high=10.0,
        source="[Recast 2009], DetourCrowd",
        why=(
            "a collision at once costs the weight over this: ten times the weight; larger cares less for "
            "the last moment before it"
        ),
    )
    horizon_share_behind: float = param(
        0.4,
        "",
        low=0.0,
        high=1.0,
        source="ours",
        why="share of the time horizon that counts towards those behind; larger makes agents dodge forward "
        "from those that follow, and crowds are "
        "squeezed, smaller lets them back into each other",
    )
    jam_distance: float = param(
        1.0,
        "",
        low=1.0,
        high=10.0,
        source="ours",
        why="two that want to go in the same direction and are blocked by a jam count as this many times as "
        "far apart as where they touch, at least; larger "
        "lets them close up and make room, smaller keeps each from stepping aside by those around it, and "
        "two crowds that meet in a narrow place stand",
    )
    neighbour_count: int = param(
        8,
        "",
        low=0,
        high=MOST_NEIGHBOURS,
        source="ours",
        why=(
            "the nearest eight surround a walker; more costs time in proportion, fewer lets crowds run into "
            "those behind the first rank"
        ),
    )


class SamplingModel(NeighbourModel):
    """A model that tries velocities and takes the one of least penalty;
    what is left to write is parameters and `sampler`.
    """

    chooser = staticmethod(choose_by_sampling)

    @abstractmethod
    def sampler(self) -> tuple[int, int, NDArray[np.float32]]:
        """Return which sampler is used, its size, and its table; see `SamplingKernelParameters`."""

    def side_reference(self, view: CrowdView) -> NDArray[np.float64]:
        """Return the velocities by which sides are chosen, (n, 2) in m/s: the preferred ones."""
        return view.preferred_velocity

    def kernel_parameters(self, tick_length: float) -> SamplingKernelParameters:
        """Return the parameters of the kernel, for ticks of `tick_length` seconds."""
        own: SamplingParameters = self.parameters
        sampler, size, table = self.sampler()
        same = {
            name: float(getattr(own, name))
            for name in SamplingKernelParameters._fields[: SamplingKernelParameters._fields.index("tick")]
        }
        return SamplingKernelParameters(
            **same,
            tick=float(tick_length),
            side=own.side_sign,
            sampler=float(sampler),
            size=float(size),
            table=table,
        )

    def reason_rows(self) -> int:
        """Return how many reasons an agent has in a tick at most:
        the velocities tried, what was preferred and chosen.
        """
        sampler, size, _ = self.sampler()
        return (size * size if sampler == GRID else size) + 4

    def reasons_of(
        self, entity: int, row: int, arguments: ChooserArguments, choice: Choice, view: CrowdView
    ) -> list[NDArray[Any]]:
        """Return the velocities that an agent tried, with the parts of their penalties."""
        used = int(choice.samples[row])
        trace, slots, neighbours = choose_with_trace(arguments, used)
        samples = reasons(entity, Reason.SAMPLE, used)
        parts = trace.samples.astype(np.float64)
        for name, column in _COLUMNS.items():
            samples[name] = parts[:, column]
        is_neighbour = (trace.hits >= 0) & (trace.hits < neighbours)
        samples["other"] = np.where(trace.hits < 0, NOBODY, WALL)
        samples["other"][is_neighbour] = arguments.entities(slots, trace.hits[is_neighbour])
        if used:
            # of equal ones the first, as in the search
            samples["binds"][np.argmin(trace.samples[:, SAMPLE_PENALTY])] = 1
        return [samples]
