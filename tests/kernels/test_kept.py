"""What takes long is made once: kept under a hash of what it is made of,
and made anew when that changes or the file is spoilt.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crowdsim.kernels import disk_cache as kept


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(tmp_path))
    return []


def made(calls: list[int], *parts: bytes) -> np.ndarray:
    def make() -> dict[str, np.ndarray]:
        calls.append(1)
        return {"x": np.arange(5.0) / 3.0, "length": np.float64(2.5)}

    arrays = kept.kept_arrays("things", __file__, parts, make)
    assert float(arrays["length"]) == 2.5
    return arrays["x"]


def test_arrays_are_made_once_and_read_bit_for_bit(calls: list[int]) -> None:
    assert np.array_equal(made(calls, b"a", b"b"), made(calls, b"a", b"b"))
    assert len(calls) == 1


def test_other_parts_are_other_arrays(calls: list[int]) -> None:
    for parts in ((b"ab", b""), (b"a", b"b"), (b"", b"ab"), (b"ab",)):
        made(calls, *parts)
    assert len(calls) == 4


def test_a_spoilt_file_is_made_anew(calls: list[int], tmp_path: Path) -> None:
    made(calls, b"a")
    (file,) = (tmp_path / "things").glob("*.arrays")
    file.write_bytes(file.read_bytes()[:100])
    made(calls, b"a")
    assert len(calls) == 2
    assert not list((tmp_path / "things").glob("*.tmp"))


def test_only_the_newest_are_kept(calls: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_KEPT", 3)
    for number in range(6):
        made(calls, bytes([number]))
    assert len(list((tmp_path / "things").glob("*.arrays"))) == 3


def test_what_is_kept_takes_so_many_bytes_at_most(
    calls: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(calls, b"a")
    (file,) = (tmp_path / "things").glob("*.arrays")
    size = file.stat().st_size
    for most, left in ((3.5, 3), (0.5, 1)):
        monkeypatch.setattr(kept, "MOST_KEPT_BYTES", most * size)
        for number in range(6):
            made(calls, bytes([number]), str(most).encode())
        assert len(list((tmp_path / "things").glob("*.arrays"))) == left
    last = len(calls)
    made(calls, bytes([5]), b"0.5")
    assert len(calls) == last  # the newest is there
