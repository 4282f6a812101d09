"""Machine code refuses what it was not made for; the right code is found then, as numba finds it."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest

from crowdsim.kernels import compiling
from crowdsim.kernels.decorator import kernel
from crowdsim.kernels.fitting import layout_is_known


class Point(NamedTuple):
    """A point by its columns."""

    x: Any
    y: Any


class Turned(NamedTuple):
    """The same numbers the other way round."""

    y: Any
    x: Any


FROZEN = np.arange(6.0)
FROZEN.flags.writeable = False
GRID = np.arange(6.0).reshape(2, 3)
NUMBERS = [
    2, -(2**62), 2**62, 2.5, True, None, np.int64(2), np.float64(2.5), np.float32(0.1), np.int32(7),
    np.uint8(7), np.int16(-7), np.uint32(7), np.uint64(2**63 + 1), np.bool_(True),
]  # fmt: skip
ARRAYS = [
    np.arange(6.0), np.arange(6), np.arange(6, dtype=np.int32), np.arange(6, dtype=np.uint8),
    np.arange(6, dtype=np.float32), np.arange(6) > 2, np.arange(12.0)[::2], np.arange(12)[::2], FROZEN,
    np.arange(6.0)[:0], np.arange(6, dtype=np.longlong),
]  # fmt: skip
GRIDS = [GRID, GRID.T, GRID[:, ::2], GRID.astype(np.int64), np.zeros((1, 1)), np.zeros((0, 3))]
TUPLES = [Point(1, 2.0), Turned(1, 2.0), Point(2.0, 1), (1, 2.0), Point(1, (3, 4)), Point(1, Turned(1, 2.0))]


def test_python_and_numpy_keep_things_where_they_are_read():
    assert layout_is_known()


def given_in_turn(function: Any, arguments: list[Any]) -> None:
    """Call a kernel with one after the other, many times, beside what Python makes of them."""
    compiled = kernel(function)
    rng = np.random.default_rng(1)
    for argument in [*arguments, *(arguments[k] for k in rng.integers(0, len(arguments), 60))]:
        found, expected = compiled(argument), function(argument)
        assert found == expected and type(found) is type(expected), argument


def test_numbers_of_all_kinds():
    def kind_of(x: Any) -> int:
        if x is None:
            return 0
        return 1 if x > 2 else 2

    given_in_turn(kind_of, NUMBERS)


def test_a_number_with_too_many_bits_is_refused_as_ever():
    @kernel
    def double(x):
        return x + x

    assert double(1) == 2
    with pytest.raises(OverflowError):
        double(2**63)
    assert double(2) == 4


def test_numbers_keep_their_type():
    """A float given where the last one was whole is not cut to a whole number, nor a truth value to one."""

    @kernel
    def half(x):
        return x / 2

    for x in (3, 3.5, np.float32(3.5), 3, np.int32(3), True, 4.5, 3):
        assert half(x) == x / 2


@pytest.mark.parametrize("arrays", [ARRAYS, GRIDS])
def test_arrays_of_all_kinds(arrays):
    @kernel
    def spread(array):
        total = 0.0
        for x in array.flat:
            total = 2.0 * total + x
        return total

    rng = np.random.default_rng(2)
    for k in [*range(len(arrays)), *rng.integers(0, len(arrays), 60)]:
        total = 0.0
        for x in arrays[k].flat:
            total = 2.0 * total + x
        assert spread(arrays[k]) == total, k


def test_arrays_that_may_be_written_are_told_from_those_that_may_not():
    @kernel
    def first(array):
        return array[0]

    @kernel
    def write(array):
        array[0] = 1.0

    assert first(np.ones(3)) == 1.0
    assert first(FROZEN) == 0.0
    write(np.zeros(3))
    with pytest.raises(Exception, match=r"[Cc]annot|readonly|read-only"):
        write(FROZEN)
    assert FROZEN[0] == 0.0


def test_bytes_in_the_other_order_are_no_numbers():
    @kernel
    def first(array):
        return array[0]

    assert first(np.arange(3.0) + 1.0) == 1.0
    with pytest.raises(Exception, match="byte"):
        first(np.arange(3.0).astype(">f8"))


def test_tuples_are_told_apart_by_their_classes_and_what_is_in_them():
    def first(pair: Any) -> Any:
        return pair[0]

    given_in_turn(first, TUPLES)

    @kernel
    def x_of(point):
        return point.x

    also_point = namedtuple("Point", ["y", "x"])  # of the same name
    for _ in range(3):
        assert x_of(Point(1, 2)) == 1
        assert x_of(Turned(1, 2)) == 2
        assert x_of(also_point(1, 2)) == 2


def test_records_are_told_apart_by_their_fields():
    @kernel
    def x_of(record):
        return record[0].x

    one = np.array([(1.0, 2)], dtype=[("x", "f8"), ("n", "i8")])
    turned = np.array([(2, 1.0)], dtype=[("n", "i8"), ("x", "f8")])
    whole = np.array([(1, 2.0)], dtype=[("x", "i8"), ("n", "f8")])
    for array in (one, turned, whole) * 3:
        assert x_of(array) == 1
    assert any(entry(one.copy(), True) == 1.0 for entry in x_of._entries)  # and no other takes it
    assert sum(entry(one, True) is not NotImplemented for entry in x_of._entries) == 1


def test_what_is_no_array_and_no_tuple_is_refused_by_numba_as_ever():
    @kernel
    def first(array):
        return array[0]

    assert first(np.ones(2)) == 1.0
    with pytest.raises(Exception, match=r"typing|determine|type"):
        first(object())
    with pytest.raises(TypeError):
        first()
    with pytest.raises(TypeError):
        first(np.ones(2), 1)
    assert first(array=np.ones(2)) == 1.0


def test_the_code_that_was_used_last_is_asked_first_and_few_are_asked():
    @kernel
    def same(x):
        return x

    kinds = [1, 1.0, np.float32(1), np.int32(1), np.uint8(1), np.int16(1)]
    assert len(kinds) > compiling._MOST_TRIED
    for x in kinds:
        same(x)
    for x in kinds:
        assert same(x) == 1
        if same._entries.index(same.overloads[(same.typeof_pyval(x),)].entry_point) >= compiling._MOST_TRIED:
            continue  # numba found it
        assert same._entries[0] is same.overloads[(same.typeof_pyval(x),)].entry_point


def test_without_a_known_layout_numba_finds_the_code(monkeypatch):
    monkeypatch.setattr(compiling, "layout_is_known", lambda: False)

    @kernel
    def double(x):
        return 2 * x

    assert [double(x) for x in (1, 1.5, 2)] == [2, 3.0, 4]
    assert not double._entries
