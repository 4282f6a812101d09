"""The columns as one system sees them: those that it declares, and no others."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.world.columns import AgentColumns
from crowdsim.world.world import World

ROWS = ("append", "remove", "restore")  # What changes which rows there are.


class UndeclaredError(CrowdsimError):
    """A system read or wrote a column that it does not declare."""


class DeclaredColumns:
    """Stands in the place of the columns of a world while a system runs.

    A column that the system neither reads nor writes by its declaration cannot be looked at. Those that it only reads are compared, once it is done, with what
    they were when it first looked at them: kernels take arrays that can be written, so that they cannot be locked.

    Parameters
    ----------
    columns : AgentColumns
    system : str
        Its name, for messages.
    reads, writes : collection of str
    changes_rows : bool
        Whether it may add and remove rows.
    """

    def __init__(self, columns: AgentColumns, system: str, reads: Collection[str], writes: Collection[str], *, changes_rows: bool = False) -> None:
        self._whole, self._system, self._changes_rows = columns, system, changes_rows
        self._reads, self._writes = frozenset(reads), frozenset(writes)
        self._before: dict[str, NDArray[Any]] = {}

    def __getattr__(self, name: str) -> Any:
        whole = self._whole
        if name not in whole.columns:
            if name in ROWS and not self._changes_rows:
                raise UndeclaredError(f"the system {self._system} adds or removes agents, which only systems of crowdsim's own do")
            return getattr(whole, name)
        if name not in self._writes and name not in self._before:
            if name not in self._reads:
                raise UndeclaredError(f'the system {self._system} looks at the column {name}, which it does not declare. Add "{name}" to its reads.')
            self._before[name] = getattr(whole, name).copy()
        return getattr(whole, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_before" in self.__dict__:
            setattr(self._whole, name, value)  # which says how columns are written
        else:
            self.__dict__[name] = value

    def __len__(self) -> int:
        return len(self._whole)

    def begin(self) -> None:
        """Forget what was looked at before."""
        self._before.clear()

    def check(self) -> None:
        """Look whether what is only read is as it was.

        Raises
        ------
        UndeclaredError
        """
        for name, array in self._before.items():
            now = getattr(self._whole, name)
            if len(now) == len(array) and not np.array_equal(now, array, equal_nan=array.dtype.kind == "f"):
                row = int(np.flatnonzero((now != array).reshape(len(now), -1).any(axis=1))[0])
                raise UndeclaredError(
                    f'the system {self._system} changed the column {name} of agent {self._whole.entity[row]}, and declares only to read it. '
                    f'Add "{name}" to its writes, or work on a copy.'
                )


@contextmanager
def columns_declared(world: World, declared: DeclaredColumns) -> Iterator[None]:
    """Have the world show only declared columns for a while, and look afterwards whether only those were written that may be.

    Raises
    ------
    UndeclaredError
    """
    whole = world.agents
    declared.begin()
    world.agents = cast(AgentColumns, declared)
    try:
        yield
    finally:
        world.agents = whole
    declared.check()
