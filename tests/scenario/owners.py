"""Owners of tunable numbers for tests of scenarios:
fixed here, so that no text in a test changes when a room changes its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

from crowdsim.scenario import parameters, recorded
from crowdsim.scenario.parameters import Owner
from crowdsim.tunable import param


@dataclass(frozen=True)
class Orca:
    """Numbers of a model."""

    neighbour_count: int = param(
        10, "", low=0, high=64, why="the ten nearest surround a walker", source="RVO2"
    )
    time_horizon: float = param(
        2.0, "s", above=0.0, high=60.0, why="how long a velocity is to stay clear of others"
    )


@dataclass(frozen=True)
class Alone:
    """A model without numbers."""


@dataclass(frozen=True)
class Law:
    """Numbers of a law of speed and density."""

    jam_density: float = param(5.4, "1/m2", above=0.0, high=20.0, why="nobody walks there", source="Weidmann")


@dataclass(frozen=True)
class Mesh:
    """Numbers of a kind of navigation."""

    faces: str = param("polygons", "", choices=("polygons", "triangles"), why="polygons are fewer")


@dataclass(frozen=True)
class Search:
    """More numbers of the same kind of navigation."""

    share_searches: bool = param(True, "", why="one search for all with the same goal")


@dataclass(frozen=True)
class Aim:
    """What only one kind of navigation has."""

    weight: float = param(1.0, "", low=1.0, high=100.0, why="1 finds the best paths there are")


@dataclass(frozen=True)
class Contacts:
    """Numbers of bodies."""

    passes: int = param(
        3, "", low=0, high=100, why="enough for a walking crowd", source="[Pathfinding undated], section 8"
    )


@dataclass(frozen=True)
class Breaker:
    """Numbers of the symmetry breaker."""

    side: str = param("right", "", choices=("left", "right", "random"), why="people favour the right")


@dataclass(frozen=True)
class Budget:
    """Numbers of the budget."""

    work: int = param(2000, "expansions", low=0, high=10**9, why="larger makes single ticks long")
    milliseconds: float = param(0.0, "ms", low=0.0, high=10_000.0, why="0 lets work decide")
    slice: int = param(1000, "expansions", low=1, high=10**9, why="searched between two looks at the clock")


OWNERS: dict[str, dict[str, Owner]] = {
    "avoidance": {"none": Alone, "orca": Orca},
    "speed_density": {"none": Alone, "weidmann": Law},
    "navigation": {"optimal": (Mesh, Search), "mesh": (Mesh, Search, Aim)},
    "bodies": {"bodies": Contacts},
    "symmetry": {"symmetry": Breaker},
    "budget": {"budget": Budget},
}
COLUMNS = {
    "velocity": 8,
    "preferred_velocity": 8,
    "next_corner": 16,
    "activity": 1,
    "path_status": 1,
    "goal": 4,
}


@contextmanager
def fixed_owners() -> Iterator[None]:
    """Put the owners and recordable columns of this module in place of the package's."""
    real = recorded.recordable_columns
    recorded.recordable_columns = lambda **_: dict(COLUMNS)
    try:
        with mock.patch.dict(parameters._replaced, OWNERS):
            yield
    finally:
        recorded.recordable_columns = real
