"""Checkpoints: everything that lives in a run, in one file, so that another process goes on as if there had
been no stop.

A file is: 16 bytes that name the format and its version; the XXH64 of all that follows; the length of a JSON
text; that text; the arrays, one after the other, each filled up to eight bytes. A bit that changed anywhere
is found before anything is believed. There is no clock reading in it: what is saved, loaded and saved again
has the same bytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.recording.files import new_file
from crowdsim.saved import MOST_TICKS

MAGIC = b"crowdsim ckpt 01"
SUFFIX = ".checkpoint"
# Two million agents have 1.5 GB, half-done searches next to nothing. Larger lets a strange file fill the
# memory.
MOST_BYTES = 2**32
_WORD = 8
_LONGEST_TICK_S = 1e3


@dataclass(frozen=True)
class Checkpoint:
    """Everything that lives in a run after a tick.

    Attributes
    ----------
    name : str
        Of the scenario.
    tick : int
        The last tick that was done.
    tick_s : float, s
        Its length.
    scenario : str
        The scenario in its canonical text.
    run_id : str
        Of the recording that the run writes; empty where there is none.
    code : str
        Names the code that the run's state belongs to.
    versions : mapping of str to str
        Software.
    plugins : mapping
        Models that are not crowdsim's own, as in the header of a recording.
    state : mapping of str to arrays
        What `Simulation.state` returns.
    """

    name: str
    tick: int
    tick_s: float
    scenario: str
    run_id: str
    code: str
    versions: Mapping[str, str] = field(default_factory=dict)
    plugins: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def time_s(self) -> float:
        """Simulated time that has passed."""
        return round(self.tick * self.tick_s, 9)


_TEXTS = ("name", "scenario", "run_id", "code")


def checkpoint_bytes(checkpoint: Checkpoint) -> bytes:
    """Return a checkpoint as it stands in a file.

    Raises
    ------
    TypeError
        If an array of the state holds objects.
    """
    from crowdsim.recording.digest import digest  # which needs the compiler

    about = {key: getattr(checkpoint, key) for key in (*_TEXTS, "tick", "tick_s")}
    about |= {"versions": dict(checkpoint.versions), "plugins": dict(checkpoint.plugins)}
    arrays = {name: np.ascontiguousarray(checkpoint.state[name]) for name in sorted(checkpoint.state)}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"{name} holds objects, which no checkpoint keeps")
    about["arrays"] = [
        [name, npy.dtype_to_descr(array.dtype), list(np.shape(checkpoint.state[name]))]
        for name, array in arrays.items()
    ]
    text = _filled(json.dumps(about, ensure_ascii=False, sort_keys=True).encode(), b" ")
    body = b"".join(
        [
            len(text).to_bytes(_WORD, "little"),
            text,
            *(_filled(array.tobytes(), b"\0") for array in arrays.values()),
        ]
    )
    return MAGIC + int(digest(np.frombuffer(body, dtype=np.uint8))).to_bytes(_WORD, "little") + body


def _filled(data: bytes, filling: bytes) -> bytes:
    return data + filling * (-len(data) % _WORD)


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint in the place of an older one; at every moment there is the one or the other, whole.

    Raises
    ------
    RecordingError
        If it cannot be written.
    """
    data = checkpoint_bytes(checkpoint)
    with new_file(path, force=True) as scratch:
        scratch.write_bytes(data)


def read_checkpoint(path: str | Path, *, with_state: bool = True) -> Checkpoint:
    """Read a checkpoint. Whether its state is one that a run can have is looked at by what takes it up
    (`crowdsim.saved`).

    Parameters
    ----------
    path : str or Path
    with_state : bool
        Without it only what it says of itself is read, and not the state, which is 0.7 kB an agent: bytes
        that have changed are not noticed then, but a file that was cut off is.

    Raises
    ------
    RecordingError
        If there is none, or it is damaged, or of another version of the format.
    """
    path = Path(path)
    start = len(MAGIC) + _WORD  # of what the digest is of
    try:
        if not path.is_file():
            raise RecordingError(
                f"{path}: cannot be read "
                f"({'it is no file' if path.exists() else 'No such file or directory'})."
            )
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise RecordingError(f"{path}: has {size:,} bytes, but checkpoints have at most {MOST_BYTES:,}.")
        with path.open("rb") as file:
            head = file.read(start + _WORD)
            file.seek(start)
            until = size - start if with_state else _WORD + int.from_bytes(head[start:], "little")
            body = np.fromfile(file, dtype=np.uint8, count=max(0, min(until, size - start)))
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror}).") from None
    magic = head[: len(MAGIC)]
    if magic[:-2] != MAGIC[:-2]:
        raise RecordingError(f"{path}: is no checkpoint of crowdsim.")
    if magic != MAGIC:
        version, ours = magic[-2:].decode("ascii", "replace"), MAGIC[-2:].decode()
        raise RecordingError(
            f"{path}: has version {version} of the format of checkpoints, but this crowdsim reads version "
            f"{ours}."
        )
    if len(body) <= _WORD or (with_state and not _is_whole(body, head[len(MAGIC) : start])):
        raise RecordingError(f"{path}: is damaged: its bytes are not those that were written.")
    try:
        return _parsed(body, size - start, with_state=with_state)
    except Exception as error:  # whatever is wrong with it, it is not ours
        if not with_state:
            read_checkpoint(path)  # says whether it is damaged
        raise RecordingError(
            f"{path}: is no checkpoint that crowdsim has written ({str(error)[:200]})."
        ) from None


def _is_whole(body: NDArray[np.uint8], expected: bytes) -> bool:
    from crowdsim.recording.digest import digest  # which needs the compiler

    return int(digest(body)) == int.from_bytes(expected, "little")


def _parsed(body: NDArray[np.uint8], size: int, *, with_state: bool) -> Checkpoint:
    """Return a checkpoint whose arrays are views of the bytes of a file, read only; without its state,
    `body` are the first of `size` bytes.
    """
    length = int.from_bytes(body[:_WORD].tobytes(), "little")
    if length > size - _WORD:
        raise ValueError("its text reaches beyond its end")
    about = json.loads(body[_WORD : _WORD + length].tobytes())
    at, state = _WORD + length, {}
    body.flags.writeable = False
    for name, description, shape in about["arrays"]:
        dtype = npy.descr_to_dtype(_as_description(description))
        if (
            dtype.hasobject
            or not isinstance(name, str)
            or name in state
            or any(type(n) is not int or n < 0 for n in shape)
        ):
            raise ValueError(f"{name} cannot be read")
        count = math.prod(shape)
        if at + count * dtype.itemsize > size:
            raise ValueError(f"{name} reaches beyond its end")
        state[name] = (
            np.frombuffer(body, dtype=dtype, count=count, offset=at).reshape(shape)
            if count and with_state
            else np.zeros(shape if with_state else 0, dtype=dtype)
        )
        at += count * dtype.itemsize + (-(count * dtype.itemsize) % _WORD)
    if at != size:
        raise ValueError("there is more in it than it says")
    texts, versions, plugins = {key: about[key] for key in _TEXTS}, about["versions"], about["plugins"]
    if not all(isinstance(text, str) for text in (*texts.values(), *versions.values())):
        raise ValueError(f"{', '.join(_TEXTS)} and versions have to be texts")
    if not all(
        isinstance(entry, dict) and all(isinstance(value, str) for value in entry.values())
        for entry in plugins.values()
    ):
        raise ValueError("plugins have to be texts by name")
    tick, tick_s = about["tick"], about["tick_s"]
    if (
        type(tick) is not int
        or not 0 <= tick <= MOST_TICKS
        or type(tick_s) not in (int, float)
        or not 0.0 < tick_s <= _LONGEST_TICK_S
    ):
        raise ValueError(f"it cannot be from tick {str(tick)[:40]} of {str(tick_s)[:40]} s")
    return Checkpoint(
        **texts, tick=tick, tick_s=float(tick_s), versions=versions, plugins=plugins,
        state=state if with_state else {},
    )  # fmt: skip


def _as_description(given: Any) -> Any:
    """Return the description of a type as numpy gave it, where JSON has made lists of tuples."""
    if isinstance(given, list):
        return [
            tuple(
                _as_description(part)
                if isinstance(part, list) and number == 1
                else tuple(part)
                if isinstance(part, list)
                else part
                for number, part in enumerate(entry)
            )
            for entry in given
        ]
    return given


def checkpoint_names(out: Path, run_id: str) -> tuple[Path, Path]:
    """Return the names of the two checkpoints that a run keeps in turn beside its recording."""
    first, second = (out.with_name(f"{out.stem}.{run_id}.{number}{SUFFIX}") for number in (0, 1))
    return first, second


def checkpoints_of(recording: Path, run_id: str) -> list[Path]:
    """Return the checkpoints of a run that lie beside its recording."""
    if not recording.parent.is_dir():
        return []
    return sorted(
        path
        for path in recording.parent.iterdir()
        if re.search(rf"\.{re.escape(run_id)}\.[01]{re.escape(SUFFIX)}$", path.name)
    )
