"""Arrays that take long to make, kept on disk under a hash of everything that they were made of. They are
mapped into memory, not read: what a run does not look at stays on the disk.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import shapely

from crowdsim.kernels.cache_folder import cache_directory, keep, open_kept
from crowdsim.kernels.sources import source_key
from crowdsim.kernels.stored_arrays import Arrays, StoredError, map_file, parts_of_file

MOST_KEPT = 64  # Files of one kind; the oldest goes.
MOST_KEPT_BYTES = 2**30  # Of one kind: the mesh of a city of 10 km has 70 MB. The newest stays in any case.
SUFFIX = ".arrays"
SUFFIXES = SUFFIX, ".npz"  # The latter is of versions before: no one reads them any more.


def kept_arrays(kind: str, made_by: str, parts: Iterable[bytes], make: Callable[[], Arrays]) -> Arrays:
    """Return arrays from the cache, or make and keep them.

    Parameters
    ----------
    kind : str
        Name of their folder in the cache.
    made_by : str
        File of the module that makes them: an edit in it, or in anything that it imports, makes them anew.
    parts : iterable of bytes
        What they are made of.
    make : callable
        Makes them: named arrays without objects.

    Notes
    -----
    A cache that cannot be read or written is as good as none. What is kept is whole: it gets its name when it
    has been written.
    """
    folder = cache_directory() / kind
    target = folder / f"{key_of(made_by, parts).hex()}{SUFFIX}"
    found = _mapped(target)
    if found is not None:
        return found
    arrays = make()
    with contextlib.suppress(OSError):
        keep(target, *parts_of_file(arrays))
        _prune(folder)
    # a run takes as much memory whether or not it is the first that has them
    found = _mapped(target)
    return arrays if found is None else found


def key_of(made_by: str, parts: Iterable[bytes]) -> bytes:
    """Return a hash of what arrays are made of, and of what makes them, see `kept_arrays`: it may be one of
    the parts of what is made of them.
    """
    versions = f"numpy {np.__version__} shapely {shapely.__version__} geos {shapely.geos_version_string}"
    digest = hashlib.blake2b(source_key(Path(made_by).resolve(), versions).encode(), digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()


def _mapped(path: Path) -> Arrays | None:
    """Return the arrays of a file; None where there is none, or none that is whole."""
    with contextlib.suppress(OSError, StoredError):
        file = open_kept(path)
        if file is not None:
            with file:
                return map_file(file)
    return None


def _prune(folder: Path) -> None:
    """Let the oldest files go where there are too many of a kind, or too large ones."""
    ages = sorted(
        ((path.stat().st_mtime, path) for path in folder.iterdir() if path.suffix in SUFFIXES), reverse=True
    )
    size = 0
    for number, (_, path) in enumerate(ages):
        size += path.stat().st_size
        if number and (number >= MOST_KEPT or size > MOST_KEPT_BYTES):
            path.unlink(missing_ok=True)
