"""The floors of a grid side by side: a place on a floor is a place on one sheet, where none lies above
another.

Each floor is moved up by a whole number of cells, so that columns and rows line up over floors, and one level
floor is the sheet itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _none() -> NDArray[Any]:
    return np.zeros(1)


@dataclass(frozen=True, eq=False)
class Sheet:
    """Where the floors lie.

    Attributes
    ----------
    low : (f,) float64, m
        Where each floor begins on the sheet, ascending.
    rise : (f,) float64, m
        How far each was moved up.
    """

    low: NDArray[np.float64] = field(default_factory=_none)
    rise: NDArray[np.float64] = field(default_factory=_none)

    @property
    def is_plan(self) -> bool:
        """Whether places on it are those in plan."""
        return len(self.rise) == 1

    def place_of(self, position: NDArray[np.float64], floor: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Return places on the sheet, (k, 2) m, of positions in plan, (k, 2) m, and floors, (k,)."""
        if self.is_plan:
            return position
        place = np.array(position, dtype=np.float64)
        place[:, 1] += self.rise[floor]
        return place

    def floors_of(self, place: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the floors, (k,), of places on the sheet, (k, 2) m; off the sheet the nearest."""
        if self.is_plan:
            return np.zeros(len(place), dtype=np.int32)
        found = np.searchsorted(self.low, place[:, 1], side="right") - 1
        return np.maximum(found, 0).astype(np.int32)

    def plan_of(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions in plan, (k, 2) m, of places on the sheet."""
        if self.is_plan:
            return place
        position = place.copy()
        position[:, 1] -= self.rise[self.floors_of(place)]
        return position
