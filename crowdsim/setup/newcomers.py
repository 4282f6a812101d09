"""What agents are that come in while the run lasts, and how wide and fast they can be."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.scenario.model import Group, Scenario
from crowdsim.setup.agents import Agents, further_agents, list_itineraries
from crowdsim.world.world import Itinerary

_MOST_INDEX = 2.0**31 - 1  # Indices in groups are kept in 32 bits.


class Arriving:
    """The agents that come in while the run lasts; a `crowdsim.world.world.Newcomers`.

    Parameters
    ----------
    scenario : Scenario
    first : int
        How many lists of goals there are without theirs.

    Attributes
    ----------
    itineraries : list of Itinerary
        Theirs.
    """

    def __init__(self, scenario: Scenario, first: int) -> None:
        self._scenario, self._lists, self._first = scenario, list_itineraries(scenario), first
        self.itineraries: list[Itinerary] = self._lists.itineraries
        self._least = np.array([first_index(each) for each in scenario.groups], dtype=np.int64)
        most = [each.arrive.at_most if each.arrive is not None else 0 for each in scenario.groups]
        self._below = np.minimum(self._least + np.array(most, dtype=np.float64), _MOST_INDEX)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self._scenario.groups)

    def agents(self, group: NDArray[np.int32], index: NDArray[np.int32]) -> Agents:
        """Return what agents are, (k,): a function of their groups and indices."""
        return further_agents(self._scenario, group, index, self._lists, self._first)

    def columns(self, group: NDArray[np.int32], index: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what agents have in columns when they come, beside their place."""
        agents = self.agents(group, index)
        top = float(self._scenario.bodies.values["top_speed"])
        found = {**agents.columns(), "maximum_speed": agents.highest_speed * top}
        del found["position"]
        return found

    def can_be(self, group: NDArray[np.int32], index: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of some agents can come, (k,) bool."""
        is_group = (group >= 0) & (group < self.groups)
        own = np.where(is_group, group, 0)
        found: NDArray[np.bool_] = is_group & (index >= self._least[own]) & (index < self._below[own])
        return found


def first_index(group: Group) -> int:
    """Return the index of the first agent of a group that comes in while the run lasts."""
    return group.count + group.reserve


def widest_to_come(scenario: Scenario) -> float:
    """Return the greatest radius (m) that agents can have which come in while the run lasts; 0 if none do."""
    return max((each.radius.high for each in scenario.groups if each.arrive is not None), default=0.0)


def fastest_to_come(scenario: Scenario) -> float:
    """Return the greatest speed (m/s) that such agents like; 0 if none come."""
    speeds = [
        speed
        for each in scenario.groups
        if each.arrive is not None
        for speed in (
            each.speed.high * (each.together.hurry if each.together is not None else 1.0),
            scenario.behaviours.fastest(each.behaviour),
            *(visit.speed or 0.0 for visit in each.visits),
        )
    ]
    return max(speeds, default=0.0)


def agents_by_identity(
    scenario: Scenario,
    listed: Agents,
    entity: NDArray[np.int64],
    group: NDArray[Any],
    index: NDArray[Any],
) -> Agents:
    """Return what agents of a run are, in its order, (k,): those that the scenario lists, and those that came
    in while the run lasted, by their groups (numbers) and indices in them.
    """
    found: dict[str, Any] = {}
    is_listed = entity <= len(listed)
    came = np.flatnonzero(~is_listed)
    itineraries, more = listed.itineraries, None
    if len(came):
        arriving = Arriving(scenario, len(itineraries))
        itineraries = [*itineraries, *arriving.itineraries]
        more = arriving.agents(group[came].astype(np.int32), index[came].astype(np.int32))
    for name in [each.name for each in fields(Agents)]:
        own = getattr(listed, name)
        if name == "itineraries":
            found[name] = itineraries
        elif name == "group_names":
            found[name] = own
        else:
            found[name] = np.zeros((len(entity), *own.shape[1:]), dtype=own.dtype)
            found[name][is_listed] = own[entity[is_listed] - 1]
            if more is not None:
                found[name][came] = getattr(more, name)
    return Agents(**found)
