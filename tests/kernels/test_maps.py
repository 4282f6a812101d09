"""Rows that go from one array to another: by their pages, or copied, the same either way."""

import ctypes
import errno
import mmap
import resource

import numpy as np
import pytest

from crowdsim.kernels import maps
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.kernels.maps import move_rows

ROWS = mmap.PAGESIZE // 8  # of a page, of numbers of 8 bytes


def filled(rows: int) -> np.ndarray:
    array = lazy_zeros(rows)
    array[:] = 1 + np.arange(rows)
    return array


def pages_touched() -> int:
    """Return how many pages this thread has touched for the first time."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt


def takes_none(source: int, target: int, size: int) -> int:
    return errno.EINVAL


def takes_few(source: int, target: int, size: int) -> int:
    """As older systems do with pages of two maps: the target has no map then."""
    if size <= 4 * mmap.PAGESIZE:
        return REMAP(source, target, size)
    libc = ctypes.CDLL(None)
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    assert libc.munmap(target, size) == 0
    return errno.EFAULT


REMAP = maps._remap


@pytest.mark.parametrize("system", [REMAP, takes_few, takes_none])
@pytest.mark.parametrize(
    ("first", "to", "rows"),
    [
        (0, 0, 300 * ROWS),
        (ROWS, 5 * ROWS, 64 * ROWS - 1),  # the last row of a page goes along
        (3, 3, 10 * ROWS),  # rows that do not begin with a page are copied
        (ROWS, 7, 10 * ROWS),
        (299 * ROWS, 300 * ROWS, ROWS),
        (ROWS, 2 * ROWS, 0),
    ],
)
def test_rows_get_where_they_are_to_be(monkeypatch, system, first, to, rows):
    monkeypatch.setattr(maps, "_remap", system)
    old, new = filled(300 * ROWS), lazy_zeros(320 * ROWS)
    expected, before, behind = old[first : first + rows].copy(), old[:first].copy(), first + rows + ROWS
    others = old[behind:].copy()
    move_rows(old, new, first, to, rows)
    assert np.array_equal(new[to : to + rows], expected)
    assert not new[:to].any() and not new[to + rows + ROWS :].any()
    assert np.array_equal(old[:first], before) and np.array_equal(old[behind:], others)
    old[:] = new[:5].sum()  # both can be written to, and let go in any order
    new[:] = 1
    del old
    assert new.sum() == len(new)


@pytest.mark.parametrize("small", ["old", "new"])
def test_small_arrays_have_no_pages_of_their_own(small):
    size = {"old": 300 * ROWS, "new": 300 * ROWS, small: 100}
    old, new = filled(size["old"]), lazy_zeros(size["new"])
    move_rows(old, new, 0, 0, 100)
    assert np.array_equal(new[:100], 1 + np.arange(100)) and np.array_equal(old[:100], new[:100])


@pytest.mark.parametrize("system", [REMAP, takes_few])
def test_pages_that_came_in_several_moves_go_along_once_more(monkeypatch, system):
    monkeypatch.setattr(maps, "_remap", system)
    arrays, rows = [filled(300 * ROWS)], 0
    for more in (100 * ROWS, 37 * ROWS, 80 * ROWS - 5):  # what is moved, and what is added to it
        arrays.append(lazy_zeros(300 * ROWS))
        move_rows(arrays[-2], arrays[-1], 0, 0, rows)
        arrays[-1][rows : rows + more] = 1 + np.arange(rows, rows + more)
        rows += more
        assert np.array_equal(arrays[-1][:rows], 1 + np.arange(rows))
    last = lazy_zeros(600 * ROWS)
    move_rows(arrays[-1], last, 0, 300 * ROWS, rows)
    assert np.array_equal(last[300 * ROWS :][:rows], 1 + np.arange(rows)) and not last[: 300 * ROWS].any()


def test_pages_that_go_along_are_not_touched():
    old, new = filled(4000 * ROWS), lazy_zeros(4000 * ROWS)
    before = pages_touched()
    move_rows(old, new, 0, 0, 4000 * ROWS)
    assert new[2000 * ROWS] == 1 + 2000 * ROWS and pages_touched() - before < 100
    assert old[2000 * ROWS] == 0  # they are not there any more
    old[::ROWS] = 1  # the count is one that counts
    assert pages_touched() - before >= 4000
