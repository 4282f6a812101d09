"""`crowdsim doctor`: what is installed, what a run will use, and whether it works."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdsim.cli.shell import table, tell
from crowdsim.errors import ExitCode
from crowdsim.version import __version__

if TYPE_CHECKING:
    from crowdsim.recording.leftovers import Found

_REQUIREMENT = re.compile(r"""([\w.-]+)([^;]*)(?:;.*?extra==["'](\w+)["'])?.*$""")
_BOUND = re.compile(r"(>=|<)([\d.]+)")
_FOR_DEVELOPERS = ("dev", "bench")
_MEGABYTE = 1e6


def doctor(
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help=(
                "Delete compiled kernels of other versions of the code, and what killed commands have left "
                "that nobody needs."
            ),
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")] = False,
) -> int:
    """Show versions, processor and threads, HDF5, the cache of compiled kernels,
    and what killed commands have left here; say what is wrong and what to do.

    Exit codes: 0 all is well; 2 a package is missing or too old, a variable slows everything down, or others
    can write to the cache; 4 what runs need cannot be written.
    """
    if prune:
        _clear_left()
    facts = examine()
    freed = _prune() if prune else 0
    if freed:
        facts = examine()
    if prune:
        facts["cache"]["freed_bytes"] = freed
    problems: list[str] = facts["problems"]
    tell({"ok": not problems, **facts}, json, lambda: _as_text(facts))
    if not problems:
        return ExitCode.OK
    return ExitCode.RECORDING if facts["hdf5"]["problem"] or facts["cache"]["problem"] else ExitCode.USAGE


def examine() -> dict[str, Any]:
    """Return everything that `doctor` shows, as plain values; sizes in bytes.
    ``problems`` are sentences with the way out.
    """
    import h5py
    from llvmlite import binding

    from crowdsim.kernels.threads import available_cores

    packages = list(_packages())
    cache = _cache()
    here = Path.cwd()
    facts: dict[str, Any] = {
        "crowdsim": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": binding.get_host_cpu_name(),
        "cores": os.cpu_count(),
        "threads": available_cores(),
        "threading_layer": (
            "none: a run has its own team of threads, which release the interpreter lock; processes may be "
            "forked"
        ),
        "variables": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(("NUMBA_", "CROWDSIM_", "HDF5_", "OMP_NUM_"))
        },
        "packages": packages,
        "hdf5": {
            "version": h5py.version.hdf5_version,
            "compresses": bool(h5py.h5z.filter_avail(h5py.h5z.FILTER_DEFLATE)),
            "problem": _hdf5_problem(),
        },
        "cache": cache,
        "free_here_bytes": shutil.disk_usage(here).free,
        "left": list(_left()),
    }
    problems = [package["problem"] for package in packages if package["problem"]]
    problems += [part["problem"] for part in (facts["hdf5"], cache) if part["problem"]]
    problems += cache["refused"]
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        problems.append(
            "NUMBA_DISABLE_JIT is set: nothing is compiled, and runs are a hundred times as slow. Unset it, "
            "but for debugging."
        )
    return {**facts, "problems": problems}


def _places() -> list[Path]:
    """Return the folders in which commands leave something if they are killed:
    here, where recordings are kept by default, and the one for temporary files.
    """
    return [
        place
        for place in (Path(), Path("runs"), Path("runs/golden"), Path(tempfile.gettempdir()))
        if place.is_dir()
    ]


def _left() -> Iterator[dict[str, Any]]:
    """Yield what killed commands have left, and runs that go on:
    path, what it is in words, bytes, and what can be done with it.
    """
    from crowdsim.recording.files import out_of, partials_in
    from crowdsim.recording.locks import left_scratch
    from crowdsim.simulation.going_on import runs_of

    for place in _places():
        for out in dict.fromkeys(out_of(path) for path in partials_in(place)):
            for run in runs_of(out) if out is not None else ():
                steps = [{"what": what, "command": how} for what, how in run.steps()]
                for found in run.files:
                    if out_of(found.path) is not None:
                        size = found.path.stat().st_size if found.path.exists() else 0
                        yield {
                            "path": str(found.path),
                            "what": _what_is(found),
                            "bytes": size,
                            "steps": steps if found is run.longest else [],
                        }
        for folder in left_scratch(place):
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            yield {
                "path": str(folder),
                "what": "what a killed command was making; the next one that works there removes it",
                "bytes": size,
                "steps": [],
            }


def _what_is(found: Found) -> str:
    from crowdsim.recording.schema import RunState

    if found.is_live:
        return f"a run that goes on ({found.writer}), until {found.until_s:g} s so far"
    if found.problem:
        return f"cannot be read ({found.problem.removeprefix(f'{found.path}: ')})"
    if found.last_tick < 0:
        return "a run that was stopped before anything was recorded; the next one removes it"
    return (
        f"a run that {'was cut off' if found.state is RunState.RUNNING else 'ended without its name'} at "
        f"{found.until_s:g} s"
    )


def _clear_left() -> None:
    """Remove what killed commands have left and nobody needs any more."""
    from crowdsim.recording.leftovers import clear_left
    from crowdsim.recording.locks import clear_scratch

    for place in _places():
        clear_left(place)
        clear_scratch(place)


def _packages() -> Iterator[dict[str, Any]]:
    """Yield what crowdsim needs, and what its extras need:
    name, version or None, extra or None, and what is wrong with it.
    """
    seen = set()
    for text in _requirements():
        match = _REQUIREMENT.match(text.replace(" ", ""))
        if match is None or match[3] in _FOR_DEVELOPERS or match[1] in seen:
            continue
        name, range_text, extra = match.groups()
        bounds = dict(_BOUND.findall(range_text))
        least, below = bounds.get(">="), bounds.get("<")
        seen.add(name)
        try:
            found: str | None = version(name)
        except PackageNotFoundError:
            found = None
        problem = ""
        if found is None and extra is None:
            problem = f"{name} is missing. Install it: pip install {name}"
        elif found is not None and least and _numbers(found) < _numbers(least):
            problem = f"{name} {found} is too old. Install a newer one: pip install '{name}>={least}'"
        elif found is not None and below and _numbers(found) >= _numbers(below):
            problem = (
                f"{name} {found} is newer than what crowdsim was tried with. Install an older one: pip "
                f"install '{name}{range_text}'"
            )
        yield {"name": name, "version": found, "extra": extra, "needed": least, "problem": problem}


def _requirements() -> list[str]:
    """Return what the installed distribution requires;
    of a source tree that is not installed, what its pyproject.toml says.
    """
    with contextlib.suppress(PackageNotFoundError):
        return requires("crowdsim") or []
    with contextlib.suppress(OSError), (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
        extras = project["optional-dependencies"].items()
        return [
            *project["dependencies"],
            *(f'{text}; extra == "{extra}"' for extra, texts in extras for text in texts),
        ]
    return []


def _numbers(text: str) -> tuple[int, ...]:
    """Return the release numbers that a version begins with."""
    numbers = re.match(r"[\d.]*", text)
    assert numbers is not None  # It matches nothing, too.
    return tuple(int(number) for number in numbers[0].split(".") if number)


def _hdf5_problem() -> str:
    """Return what is wrong with writing and reading a compressed dataset in the folder for temporary files;
    nothing, if it works.
    """
    import h5py
    import numpy as np

    try:
        with tempfile.TemporaryDirectory() as folder:
            path, numbers = Path(folder) / "try.h5", np.arange(1000.0)
            with h5py.File(path, "w", libver="latest") as file:
                file.create_dataset("numbers", data=numbers, compression="gzip")
            with h5py.File(path, "r") as file:
                if not np.array_equal(file["numbers"][:], numbers):
                    return (
                        "HDF5 reads other numbers than it wrote. Install h5py again: pip install "
                        "--force-reinstall h5py"
                    )
    except OSError as error:
        return (
            f"HDF5 cannot write in the folder for temporary files: {error}. Set TMPDIR to a folder that can "
            "be written, on a disk that is not full."
        )
    return ""


def _cache() -> dict[str, Any]:
    """Return where compiled kernels are kept, how many there are, and how many of them this version of the
    code uses.
    """
    from crowdsim.kernels.cache_folder import CacheWarning, cache_directory, refused_folders

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)  # it is among the problems
        folder = cache_directory()
    used, others, carried_folders = _kernel_folders()
    problem = ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        problem = (
            f"{folder}: the cache of compiled kernels cannot be written ({error.strerror}), so every run "
            "compiles for minutes. Set CROWDSIM_CACHE_DIR."
        )
    files, size = _weigh(used)
    other_files, other_size = _weigh(others)
    carried, _ = _weigh(carried_folders)
    counts = {
        "carried_kernels": carried,
        "kernels": files,
        "bytes": size,
        "unused_kernels": other_files,
        "unused_bytes": other_size,
    }
    return {"folder": str(folder), **counts, "refused": refused_folders(), "problem": problem}


def _kernel_folders() -> tuple[list[Path], list[Path], list[Path]]:
    """Return the folders of compiled kernels that this version of the code uses, and the others;
    and those that came with the package and that runs can use.
    """
    from crowdsim.kernels.cache_folder import cache_directory
    from crowdsim.kernels.decorator import carried_folders, kernel_folder, key_of

    files, carried = [*Path(__file__).parents[1].rglob("*.py")], carried_folders()
    ours = {kernel_folder(file).name for file in files}
    there = sorted(
        path.parent for path in {each.parent / "_" for each in cache_directory().glob("*/*.nb[ci]")}
    )
    return (
        [path for path in there if path.name in ours],
        [path for path in there if path.name not in ours],
        [carried[key] for key in ({key_of(file) for file in files} if carried else set()) & carried.keys()],
    )


def _weigh(folders: list[Path]) -> tuple[int, int]:
    """Return how many compiled kernels are in some folders, and their size."""
    files = [file for folder in folders for file in folder.glob("*.nbc")]
    return len(files), sum(file.stat().st_size for file in files)


def _prune() -> int:
    """Delete the compiled kernels that this version of the code does not use; return their size."""
    _, others, _ = _kernel_folders()
    _, size = _weigh(others)
    for folder in others:
        shutil.rmtree(folder, ignore_errors=True)
    return size


def _as_text(facts: dict[str, Any]) -> str:
    cache, hdf5 = facts["cache"], facts["hdf5"]
    empty = "empty" if cache["carried_kernels"] else "empty: the first run compiles for less than a minute"
    kernels = (
        f"{cache['kernels']} kernels, {cache['bytes'] / _MEGABYTE:.0f} MB" if cache["kernels"] else empty
    )
    rows = [
        ("crowdsim", f"{facts['crowdsim']}, Python {facts['python']}, {facts['system']}"),
        (
            "processor",
            (
                f"{facts['processor']}, {facts['cores']} cores, of which a run uses {facts['threads']} "
                "(--threads)"
            ),
        ),
        ("threading layer", facts["threading_layer"]),
        (
            "HDF5",
            (
                f"{hdf5['version']}, {'writes and reads' if not hdf5['problem'] else 'fails'}, "
                f"{'with' if hdf5['compresses'] else 'WITHOUT'} compression"
            ),
        ),
        ("cache", f"{cache['folder']}: {kernels}"),
    ]
    if cache["carried_kernels"]:
        rows.append(
            ("", f"{cache['carried_kernels']} kernels came compiled with the package, and need not be")
        )
    if "freed_bytes" in cache:
        rows.append(("pruned", f"{cache['freed_bytes'] / _MEGABYTE:.0f} MB of kernels"))
    elif cache["unused_kernels"]:
        megabytes = cache["unused_bytes"] / _MEGABYTE
        rows.append(
            (
                "",
                (
                    f"{cache['unused_kernels']} kernels of other versions, {megabytes:.0f} MB: crowdsim "
                    "doctor --prune deletes them"
                ),
            )
        )
    rows.append(("free here", f"{facts['free_here_bytes'] / 1e9:.1f} GB"))
    for left in facts["left"]:
        rows.append(("left", f"{left['path']}: {left['what']}"))
        rows += [("", f"{step['what']}: {step['command']}") for step in left["steps"]]
    rows += [("set", f"{name}={value}") for name, value in facts["variables"].items()]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {text}".rstrip() for name, text in rows]
    packages = [
        (
            package["name"],
            package["version"] or "-",
            f">= {package['needed']}" if package["needed"] else "",
            _purpose(package),
        )
        for package in facts["packages"]
    ]
    lines += ["", table(("package", "version", "needed", ""), packages), ""]
    lines += facts["problems"] or ["all is well"]
    return "\n".join(lines)


def _purpose(package: dict[str, Any]) -> str:
    if package["extra"] is None:
        return ""
    missing = "" if package["version"] else f": pip install 'crowdsim[{package['extra']}]'"
    return f"extra {package['extra']}{missing}"
