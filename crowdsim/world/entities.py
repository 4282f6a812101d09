"""Entities and their components: the only importer of esper.

Everything that exists is an entity. Agents and the discs of obstacles have rows in the columns of the world.
Agents are numbered from 1, in the order in which they come, and discs behind them; where agents come for as
long as the run lasts, discs are numbered from `FIRST_DISC`. What has no row (goals, areas, obstacles, what a
program adds) is a thing and is numbered from `FIRST_THING`. All have components: instances of dataclasses, at
most one of each class.

An agent that has nothing but its list of goals, which it shares with others, is no entity of esper's: a
million of those would take 0.7 GB and 8 s. esper hears of it when it is given more.

esper keeps its world in module variables, and numbers entities by counting. So each world here has a context
of esper of its own, which every call first makes the current one: two simulations in one process do not
disturb each other. Which number of esper's an entity has is known here alone: what has left takes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

import esper
import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import Saved, ascends

FIRST_DISC = 1 << 39  # No run has so many agents.
FIRST_THING = 1 << 40  # Nor so many discs.
# That have ever been in a world: larger lets a checkpoint name entities that no run comes to.
MOST_THINGS = 2_000_000
Processor = esper.Processor
C = TypeVar("C")
_numbers = itertools.count(1)
# In place of the component that an entity shares.
_IN_ESPER, _GONE = -2, -3


class Entities:
    """What exists in one world.

    Parameters
    ----------
    shared : sequence of objects
        Components that many entities with rows share, see `add_sharing`.

    Attributes
    ----------
    highest_row, highest_disc, highest_thing : int
        How many entities there have ever been of those that are numbered from 1, from `FIRST_DISC` and from
        `FIRST_THING` on.
    """

    def __init__(self, shared: Sequence[object] = ()) -> None:
        self._shared = shared
        # entities that came with one of these, ascending, and which it is: all that they have, while esper
        # knows nothing of them; those that are gone are left out when they are more than the others
        self._sharing, self._which = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self._gone = 0
        self._context = f"crowdsim-{next(_numbers)}"
        self._of_esper: dict[int, int] = {}  # esper's numbers by entity
        self._entity: dict[int, int] = {}  # and back
        # what queries found, by class, until one comes or goes
        self._found: dict[type[Any], list[tuple[int, Any]]] = {}
        self.highest_row = self.highest_disc = self.highest_thing = 0

    def close(self) -> None:
        """Forget all entities and processors."""
        if self._context in esper.list_worlds():
            if esper.current_world == self._context:
                esper.switch_world("default")
            esper.delete_world(self._context)

    def add_rows(self, components: Sequence[tuple[object, ...]]) -> NDArray[np.int64]:
        """Make entities with rows, each with its components; return their numbers, ascending."""
        first = self.highest_row + 1
        self.highest_row += len(components)
        return self._make(range(first, first + len(components)), components)

    def add_sharing(self, which: NDArray[np.int32]) -> NDArray[np.int64]:
        """Make entities with rows, (k,), each with one of the shared components; return their numbers,
        ascending.
        """
        entity = np.arange(self.highest_row + 1, self.highest_row + 1 + len(which), dtype=np.int64)
        self.highest_row += len(which)
        self._share(np.concatenate([self._sharing, entity]), np.concatenate([self._which, which]))
        return entity

    def _share(self, entity: NDArray[np.int64], which: NDArray[np.int32]) -> None:
        there = which != _GONE
        self._sharing, self._which, self._gone = entity[there], which[there].astype(np.int32), 0
        self._forget({type(each) for each in self._shared})

    def _leave(self, place: NDArray[np.int64]) -> None:
        """Have nothing any more at these places among those that share."""
        self._which[place] = _GONE
        self._gone += len(place)
        self._forget({type(each) for each in self._shared})
        if 2 * self._gone > len(self._which):
            self._share(self._sharing, self._which)

    def add_discs(self, components: Sequence[tuple[object, ...]]) -> NDArray[np.int64]:
        """The same for discs where agents come for as long as the run lasts."""
        first = FIRST_DISC + self.highest_disc
        self.highest_disc += len(components)
        return self._make(range(first, first + len(components)), components)

    def create(self, *components: object) -> int:
        """Make a thing with components; return its entity."""
        self.highest_thing += 1
        entity = FIRST_THING + self.highest_thing
        self._make([entity], [components])
        return entity

    def _make(self, entities: Iterable[int], components: Sequence[tuple[object, ...]]) -> NDArray[np.int64]:
        _enter(self._context)
        self._forget({type(each) for own in components for each in own})
        made = []
        for entity, own in zip(entities, components, strict=True):
            number = esper.create_entity(*own)
            self._of_esper[entity], self._entity[number] = number, entity
            made.append(entity)
        return np.array(made, dtype=np.int64)

    def delete(self, entities: Iterable[int]) -> None:
        """Take entities out of the world, with their components."""
        gone = np.fromiter(entities, dtype=np.int64)
        place = np.searchsorted(self._sharing, gone)
        shares = place < len(self._sharing)
        shares[shares] = self._sharing[place[shares]] == gone[shares]
        if shares.any():
            place = place[shares]
            is_alone = self._which[place] >= 0
            gone = np.concatenate([gone[~shares], gone[shares][~is_alone]])
            self._leave(place)
        _enter(self._context)
        for entity in gone.tolist():
            own = self._of_esper.pop(entity)
            del self._entity[own]
            components: tuple[Any, ...] = esper.components_for_entity(own)
            self._forget({type(each) for each in components})
            esper.delete_entity(own, immediate=True)

    def __contains__(self, entity: int) -> bool:
        return entity in self._of_esper or self._alone(entity) >= 0

    def add(self, entity: int, component: object) -> None:
        """Give an entity a component, in place of one of the same class.

        Raises
        ------
        KeyError
            If there is no such entity.
        """
        own = self._at(entity)
        self._forget([type(component)])
        esper.add_component(own, component)

    def remove(self, entity: int, kind: type[C]) -> C:
        """Take a component from an entity and return it.

        Raises
        ------
        KeyError
            If there is no such entity, or it has none of that class.
        """
        own = self._at(entity)
        self._forget([kind])
        return esper.remove_component(own, kind)

    def component(self, entity: int, kind: type[C]) -> C:
        """Return a component of an entity.

        Raises
        ------
        KeyError
            If there is no such entity, or it has none of that class.
        """
        place = self._alone(entity)
        if place >= 0 and type(self._shared[self._which[place]]) is kind:
            return cast("C", self._shared[self._which[place]])
        return esper.component_for_entity(self._at(entity), kind)

    def components(self, entity: int) -> tuple[Any, ...]:
        """Return the components of an entity, in the order in which they were added.

        Raises
        ------
        KeyError
            If there is no such entity.
        """
        place = self._alone(entity)
        if place >= 0:
            return (self._shared[self._which[place]],)
        return esper.components_for_entity(self._at(entity))

    def query(self, kind: type[C]) -> list[tuple[int, C]]:
        """Return all components of a class with their entities, in ascending order of these.

        It is asked of esper, and put in order, anew after a component of the class has come or gone: this is
        for what is rare, not for all agents in every tick. The list stays as it is while components come and
        go.
        """
        found = self._found.get(kind)
        if found is None:
            _enter(self._context)
            found = [(self._entity[number], each) for number, each in esper.get_component(kind)]
            if any(type(each) is kind for each in self._shared):
                rows = np.flatnonzero(self._which >= 0)
                pairs = zip(self._sharing[rows].tolist(), self._which[rows].tolist(), strict=True)
                found += [(entity, cast("C", self._shared[which])) for entity, which in pairs]
            found.sort(key=_by_entity)
            self._found[kind] = found
        return found

    def _forget(self, kinds: Iterable[type[Any]]) -> None:
        for kind in kinds:
            self._found.pop(kind, None)

    def run_in_turn(self, processors: Sequence[Processor]) -> None:
        """Register what esper calls in every tick, in this order."""
        _enter(self._context)
        for place, processor in enumerate(processors):
            esper.add_processor(processor, len(processors) - place)

    def process(self, *arguments: Any) -> None:
        """Let esper call all processors in their order, with these arguments."""
        _enter(self._context)
        esper.process(*arguments)

    def restore_rows(
        self, highest: int, highest_disc: int, entity: NDArray[np.int64], which: NDArray[np.int32]
    ) -> None:
        """Have these entities with rows, (k,), ascending, and no others, each with the shared component that
        it says, or with none (-1); so many of them, and of discs with numbers of their own, there have ever
        been.
        """
        self.delete([each for each in self._of_esper if each <= FIRST_THING])
        self._share(entity[which >= 0], which[which >= 0])
        bare = entity[which < 0].tolist()
        self._make(bare, [()] * len(bare))
        self.highest_row, self.highest_disc = highest, highest_disc

    def things(self) -> NDArray[np.int64]:
        """Return the things that are there, ascending."""
        return np.array(sorted(each for each in self._of_esper if each > FIRST_THING), dtype=np.int64)

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
        self.delete([each for each in self._of_esper if each > FIRST_THING + of_scenario])
        more = there[of_scenario:].tolist()
        self._make(more, [()] * len(more))
        self.highest_thing = highest

    def state_of_things(self) -> dict[str, NDArray[Any]]:
        """Return which things there are, and how many there have ever been."""
        return {"highest": np.array([self.highest_thing], dtype=np.int64), "entity": self.things()}

    def _at(self, entity: int) -> int:
        """Enter the context; return esper's number of an entity, of which it hears now at the latest."""
        _enter(self._context)
        place = self._alone(entity)
        if place >= 0:
            self._make([entity], [(self._shared[self._which[place]],)])
            self._which[place] = _IN_ESPER
        return self._of_esper[entity]

    def _alone(self, entity: int) -> int:
        """Return the place of an entity among those that share and have nothing else; else -1."""
        place = int(np.searchsorted(self._sharing, entity))
        is_alone = place < len(self._sharing) and self._sharing[place] == entity and self._which[place] >= 0
        return place if is_alone else -1


def _enter(context: str) -> None:
    if esper.current_world != context:
        esper.switch_world(context)


def _by_entity(pair: tuple[int, Any]) -> int:
    return pair[0]
