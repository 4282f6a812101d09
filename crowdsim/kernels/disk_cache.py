"""Arrays that take long to make, kept on disk under a hash of everything that they were made of."""

from __future__ import annotations

import contextlib
import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.kernels.cache_folder import cache_directory, keep, read_kept
from crowdsim.kernels.sources import source_key

MOST_KEPT = 64  # Files of one kind; the oldest goes.
MOST_KEPT_BYTES = 2**30  # Of one kind: the mesh of a city of 10 km has 70 MB. The newest stays in any case.
Arrays = dict[str, NDArray[Any]]


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
    versions = f"numpy {np.__version__} shapely {shapely.__version__} geos {shapely.geos_version_string}"
    digest = hashlib.blake2b(source_key(Path(made_by).resolve(), versions).encode(), digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    folder = cache_directory() / kind
    target = folder / f"{digest.hexdigest()}.npz"
    data = read_kept(target) or b""
    with (
        contextlib.suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile),
        np.load(io.BytesIO(data), allow_pickle=False) as file,
    ):
        return {name: file[name] for name in file.files}
    arrays = make()
    written = io.BytesIO()
    np.savez(written, allow_pickle=False, **arrays)
    with contextlib.suppress(OSError):
        keep(target, written.getvalue())
        _prune(folder)
    return arrays


def _prune(folder: Path) -> None:
    """Let the oldest files go where there are too many of a kind, or too large ones."""
    ages = sorted(((path.stat().st_mtime, path) for path in folder.glob("*.npz")), reverse=True)
    size = 0
    for number, (_, path) in enumerate(ages):
        size += path.stat().st_size
        if number and (number >= MOST_KEPT or size > MOST_KEPT_BYTES):
            path.unlink(missing_ok=True)
