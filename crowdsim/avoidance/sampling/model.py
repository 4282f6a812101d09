"""What the models that try velocities share beside their kernel: what can be tuned, how they are run, and what they tell."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import Reason, reasons
from crowdsim.avoidance.model import NOBODY, WALL, Choice, CrowdView
from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS
from crowdsim.avoidance.parameters import Horizons, Sides
from crowdsim.avoidance.sampling.kernel import Sampling, choose_by_sampling, choose_telling
from crowdsim.avoidance.sampling.samplers import (
    GRID,
    TRIED_CURRENT,
    TRIED_IMPACT,
    TRIED_PENALTY,
    TRIED_PREFERRED,
    TRIED_SIDE,
    TRIED_X,
    TRIED_Y,
)
from crowdsim.avoidance.surroundings import Look, LookingModel
from crowdsim.tunable import param

# Which number of a sample stands where in a reason.
_COLUMNS = {
    "x": TRIED_X, "y": TRIED_Y, "a_x": TRIED_PREFERRED, "a_y": TRIED_CURRENT, "b_x": TRIED_SIDE, "b_y": TRIED_IMPACT, "value": TRIED_PENALTY
}  # fmt: skip


@dataclass(frozen=True)
class SamplingParameters(Sides, Horizons):
    """What can be tuned in every sampling model."""

    weight_preferred: float = param(
        2.0, "", low=0.0, high=100.0, source="[Recast 2009], DetourCrowd",
        why="penalty for straying from the preferred velocity by the maximum speed; larger insists and pushes through, smaller strays",
    )
    weight_current: float = param(
        0.75, "", low=0.0, high=100.0, source="[Recast 2009], DetourCrowd; [Mononen 2010], Custom hRVO",
        why="penalty for straying from the present velocity by the maximum speed; larger is smoother and slower to react, zero flickers",
    )
    weight_side: float = param(
        0.75, "", low=0.0, high=100.0, source="[Recast 2009], DetourCrowd; [Mononen 2010], Custom hRVO",
        why="penalty for passing everybody on the wrong side; larger decides sooner who passes where and makes detours, zero flickers head-on",
    )
    weight_impact: float = param(
        2.5, "", low=0.0, high=100.0, source="[Recast 2009], DetourCrowd",
        why="penalty for an early impact, over the softening at most; larger avoids sooner and slows down in crowds, smaller bumps",
    )
    softening: float = param(
        0.1, "", above=0.0, high=10.0, source="[Recast 2009], DetourCrowd",
        why="an impact at once costs the weight over this: ten times the weight; larger cares less for the last moment before an impact",
    )
    behind: float = param(
        0.4, "", low=0.0, high=1.0, source="ours",
        why="share of the time horizon that counts towards those behind; larger makes people dodge forward from those who follow, and crowds are "
        "squeezed, smaller lets them back into each other",
    )
    jam_distance: float = param(
        1.0, "", low=1.0, high=10.0, source="ours",
        why="two who want to go the same way and whom a jam holds count as this many times as far apart as where they touch, at least; larger lets them close "
        "up and make room, smaller keeps each from stepping aside by those around it, and two crowds that meet in a narrow place stand",
    )
    neighbour_count: int = param(
        8, "", low=0, high=MOST_NEIGHBOURS, source="ours",
        why="the nearest eight surround a walker; more costs time in proportion, fewer lets crowds run into those behind the first rank",
    )


class SamplingModel(LookingModel):
    """A model that tries velocities and takes the one of least penalty; what is left to write is parameters and `sampler`."""

    chooser = staticmethod(choose_by_sampling)

    @abstractmethod
    def sampler(self) -> tuple[int, int, NDArray[np.float32]]:
        """Return which sampler is used, its size, and its table; see `Sampling`."""

    def meant(self, view: CrowdView) -> NDArray[np.float64]:
        """Return the velocities by which sides are chosen, (n, 2) in m/s: the preferred ones."""
        return view.preferred_velocity

    def numbers(self, tick_length: float) -> Sampling:
        """Return what the kernel is told, for ticks of `tick_length` seconds."""
        own: SamplingParameters = self.parameters
        sampler, size, table = self.sampler()
        same = {name: float(getattr(own, name)) for name in Sampling._fields[: Sampling._fields.index("tick")]}
        return Sampling(**same, tick=float(tick_length), side=own.side_sign, sampler=float(sampler), size=float(size), table=table)

    def reason_rows(self) -> int:
        """Return how many reasons an agent has in a tick at most: the velocities tried, what was preferred and chosen."""
        sampler, size, _ = self.sampler()
        return (size * size if sampler == GRID else size) + 4

    def reasons_of(self, entity: int, row: int, look: Look, choice: Choice) -> list[NDArray[Any]]:
        """Return the velocities that an agent tried, with the parts of their penalties."""
        used = int(choice.samples[row])
        told, slots, neighbours = choose_telling(look, used)
        samples = reasons(entity, Reason.SAMPLE, used)
        numbers = told.numbers.astype(np.float64)
        for name, column in _COLUMNS.items():
            samples[name] = numbers[:, column]
        is_neighbour = (told.hits >= 0) & (told.hits < neighbours)
        samples["other"] = np.where(told.hits < 0, NOBODY, WALL)
        samples["other"][is_neighbour] = look.columns.entity[look.rows(slots, told.hits[is_neighbour])]
        if used:
            samples["binds"][np.argmin(told.numbers[:, TRIED_PENALTY])] = 1  # of equal ones the first, as in the search
        return [samples]
