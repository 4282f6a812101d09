"""Arrays that were saved, and are taken back only by saying what they may hold.

A checkpoint comes from a disk, and perhaps from somebody else. What kernels index with is not looked at
again, so a number out of its range ends the process, or never ends. That is why whoever has a `state()` gets
it back as a `Saved`, which gives an array out for its type, its shape and its range only; and whoever took
all of them says so (`finish`), so that nothing is left that nobody has looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
MOST_NAMED = 5  # Names that an error lists.
FARTHEST_M = 1e10  # No place is farther off; coordinates in scenarios end at 1e8.
WIDEST_M = 1e6  # No body is wider.
MOST_TICKS = 1 << 41  # Beyond all numbers of ticks, and those that stand for "long ago".
MOST = 1 << 60  # Beyond all counts.


class SavedError(ValueError):
    """A saved array that cannot be taken back; the message begins with its name."""


class Saved:
    """Named arrays, of which each is taken once.

    Parameters
    ----------
    arrays : mapping of str to array
    name : str
        Goes before the names of the arrays in errors.

    Attributes
    ----------
    name : str
    """

    def __init__(self, arrays: Arrays, name: str = "") -> None:
        self._arrays, self.name = arrays, name
        self._taken: set[str] = set()

    @classmethod
    def of(cls, state: Arrays | Saved) -> Saved:
        """Return named arrays to be taken, whatever they are given as."""
        return state if isinstance(state, Saved) else cls(state)

    def below(self, prefix: str) -> Saved:
        """Return the arrays whose names begin with a prefix, without it."""
        part = Saved(_Below(self._arrays, prefix), self.name + prefix)
        part._taken = _TakenBelow(self._taken, prefix)
        return part

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._arrays)

    def take(
        self,
        name: str,
        kind: str,
        shape: Sequence[int | None] = (None,),
        *,
        low: Any = None,
        high: Any = None,
        special: str = "",
    ) -> NDArray[Any]:
        """Return a copy of an array that holds what it may hold.

        Parameters
        ----------
        name : str
        kind : str
            Type as numpy names it.
        shape : sequence of int or None
            None is any length.
        low, high : number or array, optional
            Least and greatest value; real numbers are to be finite anyhow.
        special : str
            ``nan``, ``inf`` or both: numbers that are not finite and may be there all the same.

        Raises
        ------
        SavedError
        """
        array = self._arrays.get(name)
        if array is None:
            raise SavedError(f"{self.name}{name} is missing")
        self._taken.add(name)
        wanted = np.dtype(kind)
        if (
            array.dtype != wanted
            or array.ndim != len(shape)
            or any(n is not None and n != has for n, has in zip(shape, array.shape, strict=True))
        ):
            lengths = " x ".join("n" if length is None else str(length) for length in shape)
            has = " x ".join(map(str, array.shape)) or "one"
            raise SavedError(
                f"{self.name}{name} is {has} of {array.dtype}, but has to be {lengths or 'one'} of {wanted}"
            )
        if wanted.kind in "iuf" and array.size and not _is_within(array, low, high, special):
            self._refuse_range(name, array, low, high, special)
        return array.copy()

    def whole(self, name: str, low: int, high: int) -> int:
        """Return a whole number."""
        return int(self.take(name, "i8", (1,), low=low, high=high)[0])

    def like(self, arrays: Arrays) -> dict[str, NDArray[Any]]:
        """Return copies of all arrays, which have to be like those that somebody has now:
        the same names and types, as many dimensions, finite numbers.
        """
        for name in self.names():
            if name not in arrays:
                raise SavedError(f"{self.name}{name} is not known here")
        return {
            name: self.take(name, np.asarray(array).dtype.str, (None,) * np.ndim(array))
            for name, array in arrays.items()
        }

    def parts(self, name: str, count: int, total: int) -> NDArray[np.int64]:
        """Return the lengths of `count` parts that make up `total` together."""
        lengths = self.take(name, "i8", (count,), low=0, high=total)
        if int(lengths.sum()) != total:
            raise SavedError(f"{self.name}{name} adds up to {int(lengths.sum())}, but has to be {total}")
        return lengths

    def records(
        self,
        prefix: str,
        dtype: np.dtype[Any],
        bounds: Mapping[str, tuple[Any, Any]],
        count: int | None = None,
    ) -> NDArray[Any]:
        """Return records whose fields are arrays of their own, as `fields_of` names them.

        Parameters
        ----------
        prefix : str
        dtype : dtype
        bounds : mapping of str to (low, high)
            Of every field.
        count : int, optional
            How many there have to be.
        """
        columns: dict[str, NDArray[Any]] = {}
        for field in dtype.names or ():
            low, high = bounds[field]
            columns[field] = self.take(f"{prefix}{field}", dtype[field].str, (count,), low=low, high=high)
            count = len(columns[field])
        found = np.zeros(count or 0, dtype=dtype)
        for field, column in columns.items():
            found[field] = column
        return found

    def require(self, is_right: Any, name: str, what: str) -> None:
        """Refuse an array of which not all entries are right.

        Parameters
        ----------
        is_right : (n,) or (n, m) bool, or bool
        name : str
        what : str
            Goes on where the sentence begins with the entry: ``, but ...``.
        """
        right = np.asarray(is_right)
        if right.all():
            return
        if right.ndim == 0:
            raise SavedError(f"{self.name}{name} {what}")
        place = tuple(int(number) for number in np.argwhere(~right)[0])
        array = self._arrays.get(name)
        value = (
            f" is {array[place]}"
            if array is not None
            and array.ndim >= len(place)
            and all(i < n for i, n in zip(place, array.shape, strict=False))
            else ""
        )
        raise SavedError(f"{self.name}{name}[{', '.join(map(str, place))}]{value}, but {what}")

    def finish(self) -> None:
        """Refuse what nobody has taken."""
        left = [name for name in self.names() if name not in self._taken]
        if left:
            more = f", and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
            raise SavedError(
                f"{', '.join(self.name + name for name in left[:MOST_NAMED])}{more}: not known here"
            )

    def _refuse_range(self, name: str, array: NDArray[Any], low: Any, high: Any, special: str) -> None:
        place = tuple(int(number) for number in np.argwhere(_is_beyond(array, low, high, special))[0])
        least, most = (
            None if bound is None else np.broadcast_to(bound, array.shape)[place] for bound in (low, high)
        )
        allowed = " ".join(
            part
            for part in (
                "" if least is None else f"at least {least}",
                "" if most is None else f"at most {most}",
            )
            if part
        )
        allowed = allowed.replace(" at most", " and at most") or "finite"
        raise SavedError(
            f"{self.name}{name}[{', '.join(map(str, place))}] is {array[place]}, but has to be {allowed}"
        )


def fields_of(prefix: str, records: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the fields of records as arrays of their own."""
    return {f"{prefix}{field}": records[field].copy() for field in records.dtype.names or ()}


def ascends(numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which numbers are greater than the one before, shape (n,); the first is."""
    found = np.ones(len(numbers), dtype=np.bool_)
    found[1:] = numbers[1:] > numbers[:-1]
    return found


class _Below(Mapping[str, NDArray[Any]]):
    """The arrays of a mapping whose names begin with a prefix."""

    def __init__(self, arrays: Arrays, prefix: str) -> None:
        self._arrays, self._prefix = arrays, prefix

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[self._prefix + name]

    def __iter__(self) -> Any:
        return (name[len(self._prefix) :] for name in self._arrays if name.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _TakenBelow(set[str]):
    """Notes in the set of the whole what of a part was taken."""

    def __init__(self, whole: set[str], prefix: str) -> None:
        super().__init__()
        self._whole, self._prefix = whole, prefix

    def add(self, name: str) -> None:
        super().add(name)
        self._whole.add(self._prefix + name)


def _is_within(array: NDArray[Any], low: Any, high: Any, special: str) -> bool:
    """Return whether all numbers are within bounds, in as few passes as can be."""
    if special or np.ndim(low) or np.ndim(high):
        return not _is_beyond(array, low, high, special).any()
    least, most = array.min(), array.max()  # not a number if one is not
    if array.dtype.kind == "f" and not (np.isfinite(least) and np.isfinite(most)):
        return False
    return bool((low is None or least >= low) and (high is None or most <= high))


def _is_beyond(array: NDArray[Any], low: Any, high: Any, special: str) -> NDArray[np.bool_]:
    """Return which numbers are not within bounds."""
    found = np.zeros(array.shape, dtype=np.bool_)
    if low is not None:
        found |= ~(array >= low)
    if high is not None:
        found |= ~(array <= high)
    if array.dtype.kind == "f":
        found |= ~np.isfinite(array)
        found &= ~_is_special(array, special)
    return found


def _is_special(array: NDArray[Any], special: str) -> NDArray[np.bool_]:
    found = np.zeros(array.shape, dtype=np.bool_)
    if "nan" in special:
        found |= np.isnan(array)
    if "inf" in special:
        found |= array == np.inf
    return found
