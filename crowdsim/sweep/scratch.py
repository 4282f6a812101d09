"""A folder for runs that go on, on a disk of this machine; it goes with its maker, and what a killed one left goes when the next is made."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from crowdsim.errors import RecordingError

_PREFIX = "crowdsim-runs-"


class Scratch:
    """A folder of its own within another one, until `close`.

    Parameters
    ----------
    parent : Path
        Made where it is not there.

    Raises
    ------
    RecordingError
        If nothing can be made there.
    """

    def __init__(self, parent: Path) -> None:
        try:
            parent.mkdir(parents=True, exist_ok=True)
            _clear_left(parent)
            made = Path(tempfile.mkdtemp(prefix=f".new-{_PREFIX}", dir=parent))
            self._lock = os.open(made / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self.path = made.rename(parent / made.name.removeprefix(".new-"))  # Not before: a process that makes one now would take it for a killed one's.
        except OSError as error:
            raise RecordingError(f"{parent}: cannot hold runs that go on ({error.strerror}). Choose another place with --scratch DIR.") from None

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _clear_left(parent: Path) -> None:
    """Remove the folders of processes that were killed: nobody holds their locks any more."""
    for left in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError), _taken(left / ".lock"):
            shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def _taken(lock: Path) -> Iterator[None]:
    descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
