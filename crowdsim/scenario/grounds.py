"""The ground of a scenario with any of its areas closed: meshes, walls and goals, built when they are first needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from crowdsim.navigation.build import MeshBuild
from crowdsim.navigation.goals import GoalPieces, cut_goals
from crowdsim.scenario.build import Built, goal_shape, mesh_of
from crowdsim.scenario.geometry import ToggledArea
from crowdsim.scenario.model import Event

MOST_KEPT = 64  # Grounds that are kept: a door that opens and closes again and again is built twice. Some 0.3 MB each for a plan of a thousand corners.


class BuiltGround(NamedTuple):
    """A ground as it is walked on.

    Attributes
    ----------
    build : MeshBuild
    goals : GoalPieces
    """

    build: MeshBuild
    goals: GoalPieces


class Grounds:
    """Builds grounds and keeps the last ones.

    What is built depends on the closed areas alone, not on what was open before; so a run that goes on from a saved state stands on the same ground.

    Parameters
    ----------
    built : Built
        Its own ground is known already.
    closed : sequence of shapely geometry
        The areas that are closed on it.
    """

    def __init__(self, built: Built, closed: Sequence[Any] = ()) -> None:
        self._built = built
        self._goals = [goal_shape(goal) for goal in built.scenario.goals]
        self._kept: dict[tuple[bytes, ...], BuiltGround] = {_key(closed): BuiltGround(built.mesh_build, built.world.goals)}

    def with_closed(self, closed: Sequence[Any]) -> BuiltGround:
        """Return the ground with some areas closed.

        Parameters
        ----------
        closed : sequence of shapely Polygon or MultiPolygon, m
            Where two overlap, the first has the common part.

        Raises
        ------
        ScenarioError
            If it cannot be meshed.
        """
        key = _key(closed)
        if key not in self._kept:
            build = mesh_of(self._built.scenario, self._built.agents, closed)
            self._kept[key] = BuiltGround(build, cut_goals(build.mesh, self._goals))
        found = self._kept[key] = self._kept.pop(key)  # the last one used is the last to go
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return found


def _key(closed: Sequence[Any]) -> tuple[bytes, ...]:
    return tuple(area.wkb for area in closed)


def grounds_by_the_clock(areas: Sequence[ToggledArea], events: Sequence[Event]) -> list[list[Any]]:
    """Return what is closed after each moment at which events happen by the clock, if nothing else happens."""
    available = [area.available for area in areas]
    found: list[list[Any]] = []
    timed = sorted((event for event in events if event.tick >= 0), key=lambda event: event.tick)
    for number, event in enumerate(timed):
        available[event.area] = event.opens
        if number + 1 == len(timed) or timed[number + 1].tick != event.tick:
            found.append([area.area for area, is_open in zip(areas, available, strict=True) if not is_open])
    return found[:MOST_KEPT]
