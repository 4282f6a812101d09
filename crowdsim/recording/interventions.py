"""Interventions: what a program has done to a run between its ticks, as a recording keeps it.

One line of JSON for each call, in their order: ``{"tick": 40, "call": "set_goal", "arguments": {...}}``.
The tick is the last one before it. Many numbers are text in base64, which is written a hundred times as fast
and half as long: ``{"numbers": "<i8", "shape": [3], "base64": "..."}``.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from crowdsim.recording.gate import Damage

# Of one call: the velocities of a million agents take less. Larger lets one line of a hostile file fill the
# memory.
MOST_LINE_BYTES = 2**26
_FEW = 8  # Numbers that are written as they are: a place, a radius, a handful of agents.
_TYPES = ("<i8", "<f8")
_NAME = re.compile("[a-z_]{1,40}")
_KEYS = {"tick", "call", "arguments"}


@dataclass(frozen=True)
class Intervention:
    """One call by which a program changed a run.

    Attributes
    ----------
    tick : int
        The last tick before it; it holds from the next one on.
    call : str
        Name of the method of `crowdsim.Simulation`.
    arguments : mapping
        Its arguments by name, without those that were left out; lists of numbers may be arrays.
    end : int
        Of one that was read: the bytes of the file until behind it.
    """

    tick: int
    call: str
    arguments: Mapping[str, Any]
    end: int = field(default=0, compare=False)

    def line(self) -> bytes:
        """Return it as it stands in a file, with its line break.

        Raises
        ------
        TypeError, ValueError
            If it holds what no JSON has.
        OverflowError
            If it is longer than `MOST_LINE_BYTES`.
        """
        content = {"tick": self.tick, "call": self.call, "arguments": _written(self.arguments)}
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        line = text.encode() + b"\n"
        if len(line) > MOST_LINE_BYTES:
            raise OverflowError(
                f"its arguments take {len(line):,} bytes, but at most {MOST_LINE_BYTES:,} are recorded; "
                "call it for fewer agents at a time"
            )
        return line

    def __str__(self) -> str:
        """Return it as a person would write it, shortened."""
        given = ", ".join(f"{name}={_short(value)}" for name, value in self.arguments.items())
        return f"{self.call}({given})"


def _short(value: Any) -> str:
    text = repr(value.tolist() if isinstance(value, np.ndarray) and value.size <= _FEW else value)
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _written(value: Any) -> Any:
    """Return a value as JSON has it."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _written(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and any(isinstance(item, (str, bool, Mapping)) for item in value):
        return [_written(item) for item in value]
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf":
        plain = value.tolist() if hasattr(value, "tolist") else value
        return [_written(item) for item in plain] if isinstance(plain, (list, tuple)) else plain
    if array.size <= _FEW or array.ndim > 2:
        return array.tolist()
    array = np.ascontiguousarray(array, dtype="<f8" if array.dtype.kind == "f" else "<i8")
    text = base64.b64encode(array.tobytes()).decode()
    return {"numbers": array.dtype.str, "shape": list(array.shape), "base64": text}


def _read(value: Any) -> Any:
    """Return a value of JSON as it was given, numbers in base64 as an array."""
    if isinstance(value, list):
        return [_read(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {"numbers", "shape", "base64"}:
        return {key: _read(item) for key, item in value.items()}
    kind, shape = value["numbers"], value["shape"]
    is_shape = isinstance(shape, list) and len(shape) in (1, 2) and all(type(size) is int for size in shape)
    if kind not in _TYPES or not is_shape or min(shape) < 0:
        raise Damage("its numbers have no type or shape")
    data = base64.b64decode(value["base64"], validate=True)
    if len(data) != 8 * shape[0] * (shape[1] if len(shape) == 2 else 1):
        raise Damage(f"its numbers have {len(data):,} bytes, not those of {shape} numbers")
    return np.frombuffer(data, dtype=kind).reshape(shape)


def read_interventions(blocks: Iterable[NDArray[np.uint8]], last_tick: int) -> Iterator[Intervention]:
    """Yield interventions, one after the other: no more memory is taken than one of them needs.

    Parameters
    ----------
    blocks : iterable of (n,) uint8
        The bytes of the file in order, in pieces of any size.
    last_tick : int
        Of the commit.

    Raises
    ------
    Damage
        At the first that cannot be, with its number, counted from 0.
    """
    number, before, end, rest = 0, 0, 0, b""
    for block in blocks:
        *lines, rest = (rest + block.tobytes()).split(b"\n")
        for line in lines:
            end += len(line) + 1
            found = replace(_parsed(line, number, before, last_tick), end=end)
            yield found
            number, before = number + 1, found.tick
        if len(rest) > MOST_LINE_BYTES:
            raise Damage(f"row {number:,} of interventions has more than {MOST_LINE_BYTES:,} bytes")
    if rest:
        raise Damage(f"row {number:,} of interventions is cut off")


def _parsed(line: bytes, number: int, before: int, last_tick: int) -> Intervention:
    try:
        content = json.loads(line, parse_constant=_no_number)
        if not isinstance(content, dict) or set(content) != _KEYS:
            raise Damage("is no call")
        tick, call, arguments = content["tick"], content["call"], content["arguments"]
        if type(tick) is not int or not before <= tick <= last_tick:
            raise Damage("has a tick out of order")
        if not isinstance(call, str) or not _NAME.fullmatch(call) or not isinstance(arguments, dict):
            raise Damage("is no call")
        return Intervention(tick, call, _read(arguments))
    except Damage as damage:
        raise Damage(f"row {number:,} of interventions {damage}") from None
    except (ValueError, TypeError, RecursionError, binascii.Error) as error:
        raise Damage(f"row {number:,} of interventions cannot be read ({str(error)[:80]})") from None


def _no_number(text: str) -> NoReturn:
    raise Damage(f"holds {text}")
