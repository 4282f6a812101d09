"""The folder that keeps what is costly to make and can always be made anew: compiled kernels, meshes, the imports of source files."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from functools import cache
from pathlib import Path


def cache_directory() -> Path:
    """Return the folder that holds compiled kernels: `CROWDSIM_CACHE_DIR`, else the user's cache folder, else a temporary one."""
    explicit = os.environ.get("CROWDSIM_CACHE_DIR")
    if explicit:
        return Path(explicit)
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: a user without a home
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "crowdsim"
        base.mkdir(parents=True, exist_ok=True)
        if os.access(base, os.W_OK):
            return base
    shared = Path(tempfile.gettempdir()) / f"crowdsim-{os.getuid()}"
    return shared if _only_we_can_write(shared) else _private_directory()


def _only_we_can_write(folder: Path) -> bool:
    """Return whether a folder in a place where everybody writes is ours: what lies in it is run as code."""
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022
    return False


@cache
def _private_directory() -> Path:
    """Return a folder of this process alone."""
    return Path(tempfile.mkdtemp(prefix="crowdsim-"))
