"""Arrays of whole numbers as few bytes: differences in time, small numbers for small differences, bytes of one weight side by side, deflated."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import RecordingError

STEP_M = 0.0025  # Places are multiples of it: no agent is farther than 1.8 mm from where it was. Finer steps cost a bit per coordinate and halving.
MOST_BYTES = 6  # Of one number: what a browser's numbers hold exactly, with the sign.
LIMIT = 2**46


class Packer:
    """Collects named arrays and makes one compressed piece of them.

    Notes
    -----
    The piece unpacks to: the length of a JSON text (4 bytes, little-endian), that text, and the bytes of all arrays. The text has what was given to `pack`
    under ``facts`` and under ``arrays``, by name, ``[offset, count, bytes, order]``: where the bytes of an array begin, behind the text; how many numbers it
    has; how many bytes each has, all lowest ones first, then all second ones, and so on; and how often differences were taken. A number n is stored as 2 n,
    or -2 n - 1 below 0. Differences begin anew with each stretch of rows, of which the arrays ``stretch_length`` tells.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._table: dict[str, list[int]] = {}
        self._size = 0

    def add(self, name: str, values: NDArray[Any], order: int = 0, starts: NDArray[np.int64] | None = None) -> None:
        """Add an array.

        Parameters
        ----------
        name : str
        values : (n,) integers, less than 2**46 from 0
        order : int, 0..2
            How often differences are taken: 1 for what changes seldom, 2 for what moves evenly.
        starts : (m,) int64, ascending, the first 0
            Rows at which differences begin anew; without it, the first row only.

        Raises
        ------
        RecordingError
            If a number is larger than any of a run.
        """
        numbers = np.asarray(values).astype(np.int64)
        coded = differences(numbers, order, np.zeros(1, dtype=np.int64) if starts is None else starts)
        if len(coded) and (int(coded.max()) >= LIMIT or int(coded.min()) <= -LIMIT):
            largest = max(int(coded.max()), -int(coded.min()))
            raise RecordingError(f"The recording holds numbers up to {largest:,} where no run has them ({name}): it is damaged.")
        folded = np.where(coded < 0, -2 * coded - 1, 2 * coded).astype("<u8")
        planes = folded.view(np.uint8).reshape(-1, 8)
        count = next((k for k in range(MOST_BYTES, 0, -1) if planes[:, k - 1].any()), 0)
        self._table[name] = [self._size, len(numbers), count, order]
        for k in range(count):
            self._parts.append(np.ascontiguousarray(planes[:, k]).tobytes())
            self._size += len(numbers)

    def pack(self, facts: Any) -> bytes:
        """Return everything as one deflated piece, with `facts` (what JSON can write) before it."""
        text = json.dumps({"facts": facts, "arrays": self._table}, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
        squeeze = zlib.compressobj(9, zlib.DEFLATED, 15, 9)
        parts = [squeeze.compress(len(text).to_bytes(4, "little") + text)]
        parts += [squeeze.compress(part) for part in self._parts]
        return b"".join([*parts, squeeze.flush()])


def differences(values: NDArray[np.int64], order: int, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return differences of numbers, taken `order` times, beginning anew at some rows.

    Parameters
    ----------
    values : (n,) int64
    order : int, 0..2
    starts : (m,) int64, ascending, the first 0

    Returns
    -------
    (n,) int64
        At a start the number itself; at the row behind it, of order 2, the first difference.
    """
    if order == 0 or len(values) == 0:
        return values
    first = np.diff(values, prepend=0)
    first[starts] = values[starts]
    if order == 1:
        return first
    second = np.diff(first, prepend=0)
    second[starts] = first[starts]
    behind = starts + 1
    is_start = np.zeros(len(values), dtype=bool)
    is_start[starts] = True
    behind = behind[behind < len(values)]
    behind = behind[~is_start[behind]]
    second[behind] = first[behind]
    return second


def in_steps(metres: NDArray[np.float64], origin: float, step: float = STEP_M) -> NDArray[np.int64]:
    """Return coordinates as whole steps from an origin; 0 for what is no number."""
    return np.rint(np.nan_to_num((np.asarray(metres, dtype=np.float64) - origin) / step, nan=0.0, posinf=0.0, neginf=0.0)).astype(np.int64)
