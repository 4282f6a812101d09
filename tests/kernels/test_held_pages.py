"""Of arrays that are held, a share of their pages is in memory at most: what the system says of the maps, and
not what `HeldPages` counts.
"""

from __future__ import annotations

import gc
import mmap
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from crowdsim.errors import CrowdsimError
from crowdsim.kernels import held_pages
from crowdsim.kernels.held_pages import HeldPages, can_hold, held_like, holder_of

pytestmark = pytest.mark.skipif(not can_hold(), reason="Linux is missing: no system takes pages back")

PAGES = 400


class Pair(NamedTuple):
    one: np.ndarray
    other: np.ndarray
    number: int


def pair(pages: int = PAGES) -> Pair:
    words = pages * mmap.PAGESIZE // 8
    return Pair(np.arange(float(words)), np.arange(words)[::-1].copy(), 3)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(held_pages, "cache_directory", lambda: tmp_path)
    return tmp_path


def resident_kb(folder: Path) -> int:
    """Return what the system has of maps of files in a folder, those without a name too (KB)."""
    total, is_ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            is_ours = f" {folder}/" in line
        elif is_ours and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_no_more_than_the_share_is_in_memory_and_values_stay(share, folder):
    held, given = HeldPages(share), pair()
    made = held.take(given)
    most = share * (2 * PAGES + 2) * mmap.PAGESIZE / 1024
    for _ in range(3):
        assert np.array_equal(made.one, given.one) and np.array_equal(made.other, given.other)
        assert resident_kb(folder) > 2 * PAGES * mmap.PAGESIZE / 1024 * 0.9
        held.trim()
        assert 0 < resident_kb(folder) <= most
        assert held.in_memory() == resident_kb(folder) * 1024 // mmap.PAGESIZE
    assert made.number == 3 and list(folder.iterdir()) == []


def test_pages_that_came_first_go_first(folder):
    held = HeldPages(0.25)
    made, words = held.take(pair()), mmap.PAGESIZE // 8
    held.trim()
    assert made.one[: 50 * words].sum() > 0
    held.trim()
    assert made.one[100 * words : 250 * words].sum() > 0
    held.trim()
    (came,) = held._came.values()
    assert np.all(came[130:240] != held_pages.NOT_THERE)
    assert np.all(came[:30] == held_pages.NOT_THERE)


def test_pages_that_were_written_to_are_not_lost(folder):
    held = HeldPages(0.1)
    made = held.take(pair())
    made.one[::5] = -1.0
    expected = made.one.copy()
    for _ in range(2):
        held.trim()
        assert np.array_equal(made.one, expected)


def test_what_seems_to_be_within_the_share_is_not_looked_at(folder, monkeypatch):
    held = HeldPages(0.5)
    made = held.take(pair(4000))
    held.trim()
    looks = held._looks
    held.trim_if_over()
    assert held._looks == looks
    assert made.one.sum() + made.other.sum() > 0
    held.trim_if_over()
    assert held._looks == looks + 1 and held.in_memory() <= held.most


def test_what_is_made_of_held_arrays_is_held_with_them(folder):
    held, given = HeldPages(0.1), pair()
    assert held_like(given.one, given) is given and holder_of(given.one) is None
    made = held.take(given)
    more = held_like(made.one, pair())
    assert holder_of(more.other) is held and held.page_count == 2 * (2 * PAGES + 1)
    again = held.take(more)  # it is there already
    assert held.page_count == 2 * (2 * PAGES + 1) and again.one is more.one
    few = Pair(np.arange(3.0), np.arange(3), 1)
    assert held_like(made.one, few).one is few.one
    del more, again
    gc.collect()
    assert held.page_count == 2 * PAGES + 1  # what nobody uses any more is forgotten


def test_a_disk_that_is_full_is_one_clear_error(folder, monkeypatch):
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(held_pages.tempfile, "TemporaryFile", full)
    with pytest.raises(CrowdsimError, match=r"No space left.*CROWDSIM_CACHE_DIR"):
        HeldPages(0.1).take(pair())
