"""What decides about runs: the sources of crowdsim and the versions of the packages below it.
A worker of a sweep must have the same.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

_NO_PART_OF_A_RUN = ("cli", "pictures", "sweep")  # An edit there changes no run, but for these two files:
_PART_OF_A_RUN = ("sweep/measures.py", "sweep/one_run.py")
_WHAT_RUNS_DEPEND_ON = ("numpy", "numba", "llvmlite", "shapely", "esper")


@cache
def package_versions() -> dict[str, str]:
    """Return the versions of the packages that decide about runs."""
    return {package: metadata.version(package) for package in _WHAT_RUNS_DEPEND_ON}


@cache
def code_version() -> str:
    """Return a hash of what decides about runs:
    crowdsim's own sources, and the versions of the packages below it.
    """
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.blake2b(
        " ".join(f"{package} {version}" for package, version in package_versions().items()).encode(),
        digest_size=10,
    )
    for file in sorted(root.rglob("*.py")):
        place = file.relative_to(root)
        if place.parts[0] not in _NO_PART_OF_A_RUN or place.as_posix() in _PART_OF_A_RUN:
            content = file.read_bytes()
            digest.update(f"{place} {len(content)} ".encode() + content)
    return digest.hexdigest()
