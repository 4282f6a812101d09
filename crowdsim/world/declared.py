"""The columns as one system sees them: those that it declares, and no others."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.old_names import COLUMNS, name_today
from crowdsim.world.columns import AgentColumns
from crowdsim.world.world import World

ROWS = ("append", "remove", "restore")  # What changes which rows there are.


class UndeclaredError(CrowdsimError):
    """A system read or wrote a column that it does not declare."""


class WriteOnly(np.ndarray):
    """A column that a system declares to write and not to read:
    values are assigned to it, kernels and functions write to it, and Python reads nothing of it.

    Attributes
    ----------
    of : tuple of str
        The names of the system and of the column.
    """

    of: tuple[str, str]

    def __array_finalize__(self, whole: Any) -> None:
        self.of = getattr(whole, "of", ("", ""))

    def __getitem__(self, key: Any) -> Any:
        raise self._refused()

    def __setitem__(self, key: Any, value: Any) -> None:
        self.view(np.ndarray)[key] = value

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(each, WriteOnly) for each in (*inputs, kwargs.get("where"))):
            raise self._refused()
        return getattr(ufunc, method)(
            *inputs, **{**kwargs, "out": tuple(each.view(np.ndarray) for each in kwargs["out"])}
        )

    def __array_function__(self, function: Any, types: Any, given: Any, more: Any) -> Any:
        if function is np.copyto and not any(isinstance(each, WriteOnly) for each in given[1:]):
            return np.copyto(np.asarray(given[0]), *given[1:], **more)
        raise self._refused()

    def copy(self, *_: Any, **__: Any) -> Any:
        """Refuse: a copy is read."""
        raise self._refused()

    def _refused(self) -> UndeclaredError:
        system, column = self.of
        return UndeclaredError(
            f'the system {system} reads the column {column}, and declares only to write it. Add "{column}" '
            "to its reads."
        )


class DeclaredColumns:
    """Stands in the place of the columns of a world while a system runs.

    A column that the system neither reads nor writes by its declaration cannot be looked at, and one that it
    only writes cannot be read from Python (`WriteOnly`). Those that it only reads are compared, once it is
    done, with what they were when it first looked at them: kernels take arrays that can be written, so that
    they cannot be locked. For the same reason a kernel can read what it is to write: for the systems of
    crowdsim, the tests look for that.

    Parameters
    ----------
    columns : AgentColumns
    system : str
        Its name, for messages.
    reads, writes : collection of str
    changes_rows : bool
        Whether it may add and remove rows.
    """

    def __init__(
        self,
        columns: AgentColumns,
        system: str,
        reads: Collection[str],
        writes: Collection[str],
        *,
        changes_rows: bool = False,
    ) -> None:
        self._whole, self._system, self._changes_rows = columns, system, changes_rows
        self._reads, self._writes = frozenset(reads), frozenset(writes)
        self._before: dict[str, NDArray[Any]] = {}

    def __getattr__(self, name: str) -> Any:
        whole = self._whole
        if name in COLUMNS and name not in whole.columns:
            name = name_today("the column", name, COLUMNS)
        if name not in whole.columns:
            if name in ROWS and not self._changes_rows:
                raise UndeclaredError(
                    f"the system {self._system} adds or removes agents, which only systems of crowdsim's "
                    "own do"
                )
            return getattr(whole, name)
        if name in self._writes:
            return getattr(whole, name) if name in self._reads else self._write_only(name)
        if name not in self._before:
            if name not in self._reads:
                raise UndeclaredError(
                    f"the system {self._system} looks at the column {name}, which it does not declare. Add "
                    f'"{name}" to its reads.'
                )
            self._before[name] = getattr(whole, name).copy()
        return getattr(whole, name)

    def _write_only(self, name: str) -> WriteOnly:
        column: WriteOnly = getattr(self._whole, name).view(WriteOnly)
        column.of = (self._system, name)
        return column

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
                    f"the system {self._system} changed the column {name} of agent "
                    f"{self._whole.entity[row]}, and declares only to read it. "
                    f'Add "{name}" to its writes, or work on a copy.'
                )


@contextmanager
def columns_declared(world: World, declared: DeclaredColumns) -> Iterator[None]:
    """Have the world show only declared columns for a while, and look afterwards whether only those were
    written that may be.

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
