"""Which agent is meant: by its id, by its group and index, by its group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdsim.scenario.model import Scenario
from crowdsim.scenario.tree import suggestion
from crowdsim.setup.agents import NO_ID, Agents
from crowdsim.world.columns import AgentColumns
from crowdsim.world.world import World

_BY_ID = re.compile(r"#(0|[1-9][0-9]{0,18})")
_OF_GROUP = re.compile(r"(.*)\[([0-9]{1,10})\]", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Selection:
    """Agents that a scenario names by ids and groups, those too that are yet to come.

    Attributes
    ----------
    groups : (groups,) bool
    entities : (k,) int64
        Of those that are named by their ids.
    every : int
        Of all these every so many-th, by entity.
    """

    groups: NDArray[np.bool_]
    entities: NDArray[np.int64]
    every: int = 1

    def among(self, group: NDArray[np.int32], entity: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of some rows they are, (n,) bool; discs of obstacles, of no group, are none."""
        found: NDArray[np.bool_] = np.append(self.groups, False)[group]
        if len(self.entities):
            found = found | np.isin(entity, self.entities)
        if self.every > 1:
            found = found & ((entity - 1) % self.every == 0)
        return found

    def rows(self, agents: AgentColumns) -> NDArray[np.bool_]:
        """Return which rows of the world they are, (n,) bool."""
        return self.among(agents.group, agents.entity)


def selected(scenario: Scenario, agents: Agents, chosen: Sequence[int | str], every: int = 1) -> Selection:
    """Return the agents with one of some ids, or of one of some groups.

    Parameters
    ----------
    scenario : Scenario
    agents : Agents
        All that it lists.
    chosen : sequence of int or str
    every : int
    """
    ids = np.array([item for item in chosen if isinstance(item, int)], dtype=np.int64)
    groups = np.array([group.name in chosen for group in scenario.groups], dtype=np.bool_)
    return Selection(groups, 1 + np.flatnonzero(np.isin(agents.id, ids) & (agents.id != NO_ID)), every)


def recorded(scenario: Scenario, agents: Agents) -> Selection | None:
    """Return the agents that are recorded; None where all are."""
    chosen, every = scenario.record.agents, scenario.record.every
    if isinstance(chosen, str):
        all_groups = np.ones(len(scenario.groups), dtype=np.bool_)
        return None if every == 1 else Selection(all_groups, np.zeros(0, dtype=np.int64), every)
    return selected(scenario, agents, chosen, every)


class AgentNames:
    """What users call agents: ``#7`` by their ids, else ``crowd[3]``.

    Parameters
    ----------
    scenario : Scenario
    agents : Agents
        All that it lists.
    world : World
        Where those are that came while the run lasted.
    """

    def __init__(self, scenario: Scenario, agents: Agents, world: World) -> None:
        self._groups, self._listed, self._world = [each.name for each in scenario.groups], agents, world

    @property
    def highest(self) -> int:
        """The highest entity of an agent that there has been or can be put in."""
        world = self._world
        return world.entities.highest_row if world.newcomers is not None else len(self._listed)

    def of(self, entity: int) -> str:
        """Return what an agent is called; one that came while the run lasted and has left is known by its
        entity alone.
        """
        if 1 <= entity <= len(self._listed):
            return self._listed.label(entity - 1)
        found = self._identity(entity)
        return f"{self._groups[found[0]]}[{found[1]}]" if found is not None else f"agent {entity}"

    def of_all(self, entity: NDArray[np.int64]) -> list[str]:
        """Return what some agents are called."""
        return [self.of(each) for each in entity.tolist()]

    def _identity(self, entity: int) -> tuple[int, int] | None:
        agents, outside = self._world.agents, self._world.outside
        for known, group, index in (
            (agents.entity, agents.group, agents.index),
            (outside["entity"], outside["group"], outside["index"]),
        ):
            row = int(np.searchsorted(known, entity))
            if row < len(known) and known[row] == entity and group[row] >= 0:
                return int(group[row]), int(index[row])
        return None

    def entity_of(self, name: str) -> int:
        """Return the entity of an agent; 0 if there is none of that name."""
        listed = self._listed
        if by_id := _BY_ID.fullmatch(name):
            return int(np.append(np.flatnonzero(listed.id == int(by_id[1])) + 1, 0)[0])
        parts = _OF_GROUP.fullmatch(name)
        if parts is None or parts[1] not in self._groups:
            return 0
        group, agents, outside = self._groups.index(parts[1]), self._world.agents, self._world.outside
        for entity, own, index in (
            (np.where(listed.id == NO_ID, np.arange(1, len(listed) + 1), 0), listed.group, listed.index),
            (agents.entity, agents.group, agents.index),
            (outside["entity"], outside["group"], outside["index"]),
        ):
            rows = np.flatnonzero((own == group) & (index == int(parts[2])) & (entity > 0))
            if len(rows):
                return int(entity[rows[0]])
        return 0

    def near(self, name: str) -> str:
        """Return in words which name may be meant by one that is not there."""
        return suggestion(name, map(self._listed.label, range(len(self._listed))))
