"""The first agents that come in while the run lasts, put where they come in: for a look before the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import Problem
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.scenario.model import Group
from crowdsim.setup.agents import Agents
from crowdsim.setup.build import Built
from crowdsim.setup.entrances import areas_of, draw_spots, find_room, shares_of, triangles_of
from crowdsim.setup.newcomers import Arriving, first_index
from crowdsim.setup.placement import GAP_M, WALL_MARGIN_M
from crowdsim.world.random import Stream

_LOOKED_AT = 256  # Agents of a group among which the widest of each itinerary is looked for.
_MOST = 200  # Agents of a group that are put somewhere.
_TRIES = 2_000  # Places that are tried for one, which is alone there.


def with_first_arrivals(built: Built) -> tuple[Built, list[Problem]]:
    """Return a world that is set up, with the first agents of its entrances as if they were there at the
    beginning, and a problem for each entrance that has no room for one of them.

    Of each group the widest agent of each itinerary is put into each entrance, one door after the other.
    """
    parts: list[tuple[Agents, NDArray[np.float64], NDArray[np.int64]]] = []
    problems: list[Problem] = []
    if built.scenario.has_arrivals:
        arriving = Arriving(built.scenario, len(built.all_agents.itineraries))
        for number, group in enumerate(built.scenario.groups):
            if group.arrive is not None:
                parts += _of_group(built, arriving, number, group, problems)
    if not parts:
        return built, problems
    agents = built.agents
    merged: dict[str, Any] = {"itineraries": built.world.itineraries}
    for name in (field.name for field in fields(Agents)):
        own = [getattr(each, name) for each in (agents, *(part for part, _, _ in parts))]
        if name == "group_names":
            merged[name] = agents.group_names
        elif name == "position":
            merged[name] = np.concatenate([agents.position, *(place for _, place, _ in parts)])
        elif name != "itineraries":
            merged[name] = np.concatenate(own)
    polygon = np.concatenate([built.polygon, *(polygon for _, _, polygon in parts)])
    return replace(built, agents=Agents(**merged), polygon=polygon), problems


def _of_group(
    built: Built, arriving: Arriving, number: int, group: Group, problems: list[Problem]
) -> Iterator[tuple[Agents, NDArray[np.float64], NDArray[np.int64]]]:
    """Yield agents of a group, one door after the other, with their places and polygons."""
    assert group.arrive is not None
    count = int(min(_LOOKED_AT, group.arrive.at_most))
    index = (first_index(group) + np.arange(count)).astype(np.int32)
    agents = arriving.agents(np.full(count, number, dtype=np.int32), index)
    # of each itinerary the widest
    order = np.lexsort((-agents.radius, agents.itinerary))
    chosen = order[np.unique(agents.itinerary[order], return_index=True)[1]][:_MOST]
    own = arriving.agents(np.full(len(chosen), number, dtype=np.int32), index[chosen])
    areas = areas_of(built.scenario, group)
    for door, (area, ground) in enumerate(areas[: max(1, _MOST // len(chosen))]):
        place, polygon = _places(built, own, group.layer, triangles_of(area, ground))
        found = polygon >= 0
        if not found.all():
            where = f"arrive.doors[{door}]" if group.arrive.doors else "its region"
            widest = own.radius[~found].max()
            problems.append(
                Problem(
                    f'"{group.name}"',
                    f"{where} has no room for an agent of radius {widest:g} m: none comes in",
                    "Make it wider, or the agents thinner.",
                    *group.place,
                )
            )
        yield _of(own, found), place[found], polygon[found]


def _places(
    built: Built, agents: Agents, layer: int, triangles: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return a place in an area for each of some agents, as if it were alone, and its polygon; -1 where there
    is none.
    """
    count, mesh = len(agents), built.world.mesh
    place, polygon = np.zeros((count, 2)), np.full(count, -1, dtype=np.int64)
    if not len(triangles):
        return place, polygon
    spots = np.empty((count, _TRIES, 2))
    shares = shares_of(triangles)
    draw_spots(built.scenario.seed, int(Stream.ENTRANCE), agents.key, 0, triangles, shares, spots)
    # a middle of a triangle, which a strip as wide as a body has nowhere else
    middles = triangles.mean(axis=1)[:_TRIES]
    spots[:, : len(middles)] = middles
    flood = make_flood(mesh.polygon_count)
    for row in range(count):
        one = slice(row, row + 1)
        find_room(
            mesh, spots[one], layer, agents.radius[one], WALL_MARGIN_M, GAP_M, np.empty((1, 2)), np.empty(1),
            0, flood, place[one], polygon[one],
        )  # fmt: skip
    return place, polygon


def _of(agents: Agents, rows: NDArray[np.bool_]) -> Agents:
    """Return some of the agents."""
    chosen = np.flatnonzero(rows)
    found: dict[str, Any] = {}
    for name in (field.name for field in fields(Agents)):
        own = getattr(agents, name)
        found[name] = own if isinstance(own, list) else own[chosen]
    return Agents(**found)
