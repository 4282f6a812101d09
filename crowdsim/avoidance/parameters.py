"""The tunables that several models have, each declared once;
a model that needs another default or has another reason declares the field again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS
from crowdsim.tunable import param


@dataclass(frozen=True)
class Sight:
    """Which neighbours an agent heeds."""

    neighbour_count: int = param(
        10,
        "",
        low=0,
        high=MOST_NEIGHBOURS,
        source="[RVO2 2008], examples",
        why=(
            "the nearest ten surround a walker; more costs time and seldom binds, fewer lets crowds run "
            "into those behind the first rank"
        ),
    )
    neighbour_distance: float = param(
        5.0,
        "m",
        above=0.0,
        high=100.0,
        source="ours",
        why=(
            "3.7 s of walking at 1.34 m/s; in crowds the nearest are far closer, in the open larger reacts "
            "sooner and costs time"
        ),
    )


def wall_horizon(default: float = 0.5) -> Any:
    """Return the field of a time horizon for walls (s)."""
    return param(
        default,
        "s",
        above=0.0,
        high=60.0,
        source=(
            "ours; [Mononen 2010], Geometric vs. Sampling: a horizon of their own lets agents walk close to "
            "walls"
        ),
        why=(
            "how long a velocity is to stay clear of walls; larger slows down far before a wall and cannot "
            "use narrow doors, smaller brakes late"
        ),
    )


@dataclass(frozen=True)
class Horizons(Sight):
    """Which neighbours an agent heeds, and how far ahead it looks."""

    time_horizon: float = param(
        2.0,
        "s",
        above=0.0,
        high=60.0,
        source="ours",
        why=(
            "how long a velocity is to stay clear of other agents; larger plans ahead and hesitates in "
            "crowds, smaller dodges late"
        ),
    )
    time_horizon_walls: float = wall_horizon()


@dataclass(frozen=True)
class Sides:
    """On which side agents pass each other."""

    side: str = param(
        "right",
        "",
        choices=("right", "left"),
        source=(
            "[Mononen 2010], Custom hRVO: agents favour passing each other on the right; [HRVO 2009]: the "
            "right"
        ),
        why=(
            "on which side agents pass each other where nothing else decides, as when they go straight at "
            "each other"
        ),
    )

    @property
    def side_sign(self) -> float:
        """Return 1 for the right, -1 for the left, as kernels take it."""
        return 1.0 if self.side == "right" else -1.0
