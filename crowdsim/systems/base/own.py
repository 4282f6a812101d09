"""Systems of a user's own in the tick: where they stand, what they are held to,
and how what they keep is saved and digested.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.plugins import described, where_raised
from crowdsim.avoidance.registry import Origin, origin_of
from crowdsim.errors import CrowdsimError
from crowdsim.old_names import SYSTEMS
from crowdsim.saved import Saved, SavedError, ascends
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.parameters import Chosen
from crowdsim.systems.base.system import Setup, System, Tick
from crowdsim.tunable import tunables
from crowdsim.world.columns import BEHAVIOUR_COLUMNS, CHOICE_COLUMNS, PARTY_COLUMNS
from crowdsim.world.declared import DeclaredColumns, columns_declared
from crowdsim.world.registry import field_types, register, registered_systems

STATE = "{} state"  # Name of the digest of what a system keeps; names of columns have no blanks.


class OwnSystemError(CrowdsimError):
    """A system of a user's own has no place, or failed while a run went on."""


def in_order(known: Sequence[type[System]], own: Sequence[type[System]]) -> tuple[type[System], ...]:
    """Return the tick with systems of a user's own at their places;
    several at one place stand in the order in which they are given.

    Raises
    ------
    OwnSystemError
        If two have one name, count the same or have one column, or a place is none.
    """
    order, waits = list(known), list(own)
    _require_different("systems", [kind.__name__ for kind in (*known, *own)])
    _require_different("counts", ["agents", *(name for kind in (*known, *own) for name in kind.counts)])
    _require_different("columns", [column.name for kind in own for column in kind.columns])
    ends: dict[str, int] = {}  # how many stand after each already
    while waits:
        for kind in waits:
            names = [each.__name__ for each in order]
            name = _name(kind.after if kind.after is not None else kind.before)
            name = SYSTEMS.get(name, name)
            if name not in names:
                continue
            place = names.index(name)
            if kind.after is not None:
                ends[name] = ends.get(name, 0) + 1
                place += ends[name]
            order.insert(place, kind)
            waits.remove(kind)
            break
        else:
            kind = waits[0]
            where = f"after {_name(kind.after)}" if kind.after is not None else f"before {_name(kind.before)}"
            others = ", ".join(each.__name__ for each in (*known, *own) if each is not kind)
            raise OwnSystemError(
                f"the system {kind.__name__} stands {where}, but the tick has no place there. Its systems "
                f"are {others}."
            )
    return tuple(order)


def _name(place: type[System] | str | None) -> str:
    return place.__name__ if isinstance(place, type) else str(place)


def _require_different(what: str, names: Sequence[str]) -> None:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise OwnSystemError(f'two {what} of the tick are called "{twice}". Rename yours.')


def with_systems(scenario: Scenario, systems: Sequence[type[System]]) -> Scenario:
    """Return a scenario that names some systems too, with their default parameters;
    they are registered by that.

    Raises
    ------
    PluginError
        If one of them is no system.
    """
    for kind in systems:
        register(kind)
        if kind.__name__ not in [chosen.name for chosen in scenario.systems]:
            values = {tunable.name: tunable.default for tunable in tunables(kind.Parameters)}
            scenario = replace(scenario, systems=(*scenario.systems, Chosen(kind.__name__, values)))
    return scenario


def systems_of(scenario: Scenario) -> tuple[type[System], ...]:
    """Return the classes of the systems of a user's own that a scenario names."""
    return tuple(registered_systems()[chosen.name] for chosen in scenario.systems)


# columns that only some scenarios have: of what, why another has none, and the way out
_SOME_SCENARIOS = (
    (PARTY_COLUMNS, "parties", "no group of the scenario keeps together", "Give one together"),
    (
        BEHAVIOUR_COLUMNS,
        "machines of states",
        "no group of the scenario has a behaviour",
        "Give one a behaviour",
    ),
    (CHOICE_COLUMNS, "choices", "no goal of the scenario is quickest_of others", "Add one"),
)


class OwnSystem(System):
    """A system of a user's own as the tick sees it: called like any other, and held to what it declares.

    Parameters
    ----------
    kind : class of systems
    setup : Setup
    parameters : instance of its `Parameters`
    """

    def __init__(self, kind: type[System], setup: Setup, parameters: Any) -> None:
        super().__init__(setup.world)
        self.kind = kind
        self.reads, self.writes, self.counts = kind.reads, kind.writes, kind.counts  # type: ignore[misc]
        self._origin = origin_of(self.name) or Origin("", "")
        self._columns = DeclaredColumns(setup.world.agents, self.name, kind.reads, kind.writes)
        self._tick = setup.world.tick
        known = setup.world.agents.columns.keys()
        for columns, what, why_not, way_out in _SOME_SCENARIOS:
            missing = {column.name for column in columns} - known
            if asked := [name for name in (*self.reads, *self.writes) if name in missing]:
                raise OwnSystemError(
                    f"the system {self.name} declares {asked[0]}, a column of {what}, but {why_not}. "
                    f"{way_out}, or leave the system out."
                )
        self.system: System = self._call("made", self._make, setup, parameters)

    def _make(self, setup: Setup, parameters: Any) -> System:
        made = self.kind.from_setup(setup)
        made.parameters = parameters  # type: ignore[attr-defined]
        return made

    @property
    def name(self) -> str:
        """That of the class."""
        return self.kind.__name__

    @property
    def is_idle(self) -> bool:
        """Whether the system says so."""
        return bool(self.system.is_idle)

    def process(self, tick: Tick) -> None:
        """Let the system do its part, and look at what it wrote."""
        self._tick = tick.number
        counted, rows = set(tick.counts), len(self.world.agents)
        self._call("run", self.system.process, tick)
        if len(self.world.agents) != rows:
            raise OwnSystemError(
                f"tick {tick.number}: the system {self.name} added or removed agents, which only systems of "
                "crowdsim's own do."
            )
        if (new := set(tick.counts) - counted) != set(self.counts):
            raise OwnSystemError(
                f"tick {tick.number}: the system {self.name} counted {_listed(new)}, but declares counts = "
                f"{_listed(self.counts)}."
            )
        for name in self.writes:
            self._check(name, tick.number)

    def _check(self, name: str, tick: int) -> None:
        """Look whether a column that the system wrote holds what it may hold, as kernels take for granted."""
        agents = self.world.agents
        column, array = agents.columns[name], getattr(agents, name)
        try:
            low, high = column.within
            Saved({name: array}).take(
                name, column.dtype, array.shape, low=low, high=high, special=column.special
            )
        except SavedError as error:
            raise OwnSystemError(
                f"tick {tick}: the system {self.name} wrote what the column cannot hold: {error}."
            ) from None

    def _call(self, what: str, function: Any, *given: Any) -> Any:
        try:
            with columns_declared(self.world, self._columns):
                return function(*given)
        except SavedError:
            raise
        except CrowdsimError as error:
            raise OwnSystemError(f"tick {self._tick}: {error}") from None
        except Exception as error:
            where = f"the system {self.name} raised an error when it was {what}, at {self._where(error)}"
            raise OwnSystemError(f"tick {self._tick}: {where}: {described(error)}") from error

    def _where(self, error: Exception) -> str:
        """Return ``file:line`` of the place in the user's file;
        of one that has none, of the last line that was run.
        """
        if Path(self._origin.file).is_file():
            return where_raised(error, self._origin)
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{last.filename}:{last.lineno}"

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what the system keeps, and the components that are its own."""
        found = {
            f"own/{name}": np.asarray(array)
            for name, array in dict(self._call("saved", self.system.state)).items()
        }
        for kind in self.kind.components:
            own: list[tuple[int, Any]] = self.world.query(kind)
            found[f"components/{kind.__name__}/entity"] = np.array(
                [entity for entity, _ in own], dtype=np.int64
            )
            values = [astuple(cast(Any, each)) for _, each in own]
            for place, (field, dtype) in enumerate(field_types(kind).items()):
                found[f"components/{kind.__name__}/{field}"] = np.array(
                    [value[place] for value in values], dtype=dtype
                )
        return found

    def restore(self, state: Any) -> None:
        """Take back what `state()` gave; what the numbers of a system mean is known to it alone."""
        saved, entities = Saved.of(state), self.world.entities
        for kind in self.kind.components:
            part = saved.below(f"components/{kind.__name__}/")
            entity = part.take("entity", "i8")
            part.require(ascends(entity), "entity", "entity ids have to ascend")
            part.require([each in entities for each in entity.tolist()], "entity", "there is no such entity")
            columns = [
                part.take(field, dtype, (len(entity),), special="nan inf").tolist()
                for field, dtype in field_types(kind).items()
            ]
            for each, _ in self.world.query(kind):
                entities.remove(each, kind)
            for place, each in enumerate(entity.tolist()):
                entities.add(each, kind(*(column[place] for column in columns)))
        own = saved.below("own/")
        self._tick = self.world.tick
        self._call("restored", self.system.restore, own)


def _listed(names: Any) -> str:
    return ", ".join(sorted(names)) or "nothing"
