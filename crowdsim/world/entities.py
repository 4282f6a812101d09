"""Entities and their components: the only importer of esper.

Everything that exists is an entity. Agents and the discs of obstacles have rows in the columns of the world
and are numbered from 1, in the order in which they come. What has no row (goals, areas, obstacles, what a
program adds) is a thing and is numbered from `FIRST_THING`. Both kinds have components: instances of
dataclasses, at most one of each class.

esper keeps its world in module variables, and numbers entities itself. So each world here has two contexts of
esper, one for each range of numbers, and every call first makes the right one the current one: two
simulations in one process do not disturb each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import esper
import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import Saved, ascends

FIRST_THING = 1 << 40  # No run has so many agents and discs.
MOST_THINGS = 2_000_000  # That have ever been in a world: each is made again where a saved one is taken up.
Processor = esper.Processor
C = TypeVar("C")
_numbers = itertools.count(1)


class Entities:
    """What exists in one world.

    Attributes
    ----------
    highest_row, highest_thing : int
        How many entities with and without rows there have ever been.
    """

    def __init__(self) -> None:
        number = next(_numbers)
        self._rows, self._things = f"crowdsim-{number}", f"crowdsim-{number}-things"
        # what queries found, by class, until one comes or goes
        self._found: dict[type[Any], list[tuple[int, Any]]] = {}
        self.highest_row = self.highest_thing = 0

    def close(self) -> None:
        """Forget all entities and processors."""
        for context in (self._rows, self._things):
            if context in esper.list_worlds():
                if esper.current_world == context:
                    esper.switch_world("default")
                esper.delete_world(context)

    def add_rows(self, components: Sequence[tuple[object, ...]]) -> NDArray[np.int64]:
        """Make entities with rows, each with its components; return their numbers, ascending."""
        _enter(self._rows)
        self._forget({type(each) for own in components for each in own})
        self.highest_row += len(components)
        return np.array([esper.create_entity(*own) for own in components], dtype=np.int64)

    def create(self, *components: object) -> int:
        """Make a thing with components; return its entity."""
        _enter(self._things)
        self._forget({type(each) for each in components})
        self.highest_thing += 1
        return FIRST_THING + esper.create_entity(*components)

    def delete(self, entities: Iterable[int]) -> None:
        """Take entities out of the world, with their components."""
        for entity in entities:
            own = self._at(entity)
            components: tuple[Any, ...] = esper.components_for_entity(own)
            self._forget({type(each) for each in components})
            esper.delete_entity(own, immediate=True)

    def __contains__(self, entity: int) -> bool:
        return esper.entity_exists(self._at(entity))

    def add(self, entity: int, component: object) -> None:
        """Give an entity a component, in place of one of the same class.

        Raises
        ------
        KeyError
            If there is no such entity.
        """
        own = self._at(entity)
        if not esper.entity_exists(own):
            raise KeyError(entity)
        self._forget([type(component)])
        esper.add_component(own, component)

    def remove(self, entity: int, kind: type[C]) -> C:
        """Take a component from an entity and return it.

        Raises
        ------
        KeyError
            If there is no such entity, or it has none of that class.
        """
        self._forget([kind])
        return esper.remove_component(self._at(entity), kind)

    def component(self, entity: int, kind: type[C]) -> C:
        """Return a component of an entity.

        Raises
        ------
        KeyError
            If there is no such entity, or it has none of that class.
        """
        return esper.component_for_entity(self._at(entity), kind)

    def components(self, entity: int) -> tuple[Any, ...]:
        """Return the components of an entity, in the order in which they were added.

        Raises
        ------
        KeyError
            If there is no such entity.
        """
        return esper.components_for_entity(self._at(entity))

    def query(self, kind: type[C]) -> list[tuple[int, C]]:
        """Return all components of a class with their entities, in ascending order of these.

        It is asked of esper, and put in order, anew after a component of the class has come or gone: this is
        for what is rare, not for all agents in every tick. The list stays as it is while components come and
        go.
        """
        found = self._found.get(kind)
        if found is None:
            _enter(self._rows)
            found = sorted(esper.get_component(kind), key=_by_entity)
            _enter(self._things)
            found += [
                (FIRST_THING + entity, each)
                for entity, each in sorted(esper.get_component(kind), key=_by_entity)
            ]
            self._found[kind] = found
        return found

    def _forget(self, kinds: Iterable[type[Any]]) -> None:
        for kind in kinds:
            self._found.pop(kind, None)

    def run_in_turn(self, processors: Sequence[Processor]) -> None:
        """Register what esper calls in every tick, in this order."""
        _enter(self._rows)
        for place, processor in enumerate(processors):
            esper.add_processor(processor, len(processors) - place)

    def process(self, *arguments: Any) -> None:
        """Let esper call all processors in their order, with these arguments."""
        _enter(self._rows)
        esper.process(*arguments)

    def restore_rows(self, highest: int, components: dict[int, tuple[object, ...]]) -> None:
        """Have the entities with rows that are the keys of a mapping, and no others;
        `highest` of them there have ever been.
        """
        self._found.clear()
        _enter(self._rows)
        esper.clear_database()
        _count_through(highest, components)
        self.highest_row = highest

    def things(self) -> NDArray[np.int64]:
        """Return the things that are there, ascending."""
        _enter(self._things)
        return np.array(sorted(FIRST_THING + entity for entity in esper.get_entities()), dtype=np.int64)

    def restore_things(self, saved: Saved, of_scenario: int) -> None:
        """Have the things that were saved: the first ones, so many, are the scenario's and stay as they are;
        the others come without components.
        """
        highest = saved.whole("highest", of_scenario, of_scenario + MOST_THINGS)
        there = saved.take("entity", "i8", low=FIRST_THING + 1, high=FIRST_THING + highest)
        saved.require(ascends(there), "entity", "entity ids have to ascend")
        first = np.arange(FIRST_THING + 1, FIRST_THING + of_scenario + 1)
        saved.require(
            np.array_equal(there[:of_scenario], first),
            "entity",
            f"the first {of_scenario} things are those of the scenario",
        )
        if not of_scenario and not highest:
            return
        self._found.clear()
        _enter(self._things)
        components: dict[int, tuple[Any, ...]] = {
            entity: esper.components_for_entity(entity) for entity in range(1, of_scenario + 1)
        }
        esper.clear_database()
        _count_through(highest, {**dict.fromkeys((there - FIRST_THING).tolist(), ()), **components})
        self.highest_thing = highest

    def state_of_things(self) -> dict[str, NDArray[Any]]:
        """Return which things there are, and how many there have ever been."""
        return {"highest": np.array([self.highest_thing], dtype=np.int64), "entity": self.things()}

    def _at(self, entity: int) -> int:
        """Enter the context that an entity is in; return its number there."""
        _enter(self._rows if entity <= FIRST_THING else self._things)
        return entity if entity <= FIRST_THING else entity - FIRST_THING


def _enter(context: str) -> None:
    if esper.current_world != context:
        esper.switch_world(context)


def _by_entity(pair: tuple[int, Any]) -> int:
    return pair[0]


def _count_through(highest: int, components: dict[int, tuple[object, ...]]) -> None:
    """Make entities in the current context, which is empty;
    those that have left are counted, so that the living and the next have the same numbers.
    """
    for entity in range(1, highest + 1):
        if entity in components:
            esper.create_entity(*components[entity])
        else:
            esper.delete_entity(esper.create_entity(), immediate=True)
