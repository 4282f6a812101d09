"""What of the kernels is made ahead: the list of those that runs need,
and wheels that carry their machine code.

    python -m crowdsim.build_kernels --list          write crowdsim/kernels/needed.json anew
    python -m crowdsim.build_kernels --wheel DIR     make a wheel of this source tree for this Python

The list is made anew after kernels, the types of their arguments, or what calls them have changed; a test
says when. Everything is compiled once, in some minutes, to see what it is made of; each scene of the warm-up
is then run in a process that has called nothing before.

A wheel carries machine code for every processor of the level x86-64-v3 (since 2013): first runs compile
nothing. It is found by a hash of the sources and of the versions of Python and numba; where any is another,
or the processor is older, kernels are compiled as without it.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from crowdsim.errors import CrowdsimError
from crowdsim.kernels.needed import FILE, type_text

Called = dict[str, tuple[str, tuple[Any, ...]]]  # kernels by name and types as text: name, types
_LEVEL = "x86-64-v3"
_COMPILE = (
    "import sys; sys.path.insert(0, {tree!r}); from crowdsim.kernels import ahead, needed; "
    "ahead.make_ready(needed.the_list().kernels)"
)


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m crowdsim.build_kernels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--list", action="store_true", help="write the list of kernels that runs need")
    asked.add_argument("--wheel", type=Path, metavar="DIR", help="make a wheel that carries machine code")
    options = parser.parse_args(arguments)
    try:
        if options.list:
            FILE.write_text(the_list_as_text())
        else:
            print(make_wheel(Path(__file__).resolve().parents[1], options.wheel))  # noqa: T201
    except CrowdsimError as error:
        raise SystemExit(str(error)) from None


def make_wheel(tree: Path, folder: Path) -> Path:
    """Make a wheel of a source tree, with machine code of all kernels that runs need; return its path.

    Raises
    ------
    CrowdsimError
        If this is no source tree, or something in it cannot be built.
    """
    if not (tree / "pyproject.toml").is_file():
        raise CrowdsimError(
            f"{tree}: there is no pyproject.toml, so this is no source tree of crowdsim. Run the command "
            "from a clone."
        )
    with tempfile.TemporaryDirectory(prefix="crowdsim-wheel-") as scratch:
        copy, cache, made = Path(scratch) / "tree", Path(scratch) / "cache", Path(scratch) / "made"
        shutil.copytree(
            tree / "crowdsim", copy / "crowdsim", ignore=shutil.ignore_patterns("__pycache__", "carried")
        )
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy2(tree / name, copy / name)
        compile_carried(copy, cache)
        for found in cache.glob(f"{_LEVEL}-*"):
            shutil.copytree(found, copy / "crowdsim" / "carried" / found.name)
        tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
        options = [
            f"--config-settings=--build-option=--python-tag={tag}",
            "--config-settings=--build-option=--plat-name=manylinux_2_17_x86_64",
        ]
        _run(
            [
                sys.executable,
                "-m",
                "pip",
                "wheel",
                "--no-deps",
                "--quiet",
                *options,
                "--wheel-dir",
                str(made),
                str(copy),
            ],
            dict(os.environ),
        )
        (wheel,) = made.glob("*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy2(wheel, folder / wheel.name))


def compile_carried(tree: Path, cache: Path) -> None:
    """Compile all kernels that runs of a source tree need, for any processor of the level, into a cache."""
    environment = {
        **os.environ,
        "CROWDSIM_CACHE_DIR": str(cache),
        "NUMBA_CPU_NAME": _LEVEL,
        "NUMBA_CPU_FEATURES": "",
    }
    _run([sys.executable, "-c", _COMPILE.format(tree=str(tree))], environment)


def _run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CrowdsimError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def the_list_as_text() -> str:
    """Return the list as the code is now: one line a kernel."""
    from crowdsim.simulation.warm import all_scenes

    with tempfile.TemporaryDirectory(prefix="crowdsim-") as folder:
        os.environ["CROWDSIM_CACHE_DIR"] = folder
        scenes, made = [], {}
        for scene in all_scenes():
            called, parts = _in_another_process(scene, Path(folder))
            made.update(parts)
            scenes.append((scene, called))
    return _as_text(scenes, made)


def called_in(scene: Any) -> Called | None:
    """Return what a scene calls in this process, which has called nothing yet; None if it is refused."""
    return _in_this_process(scene)[0]


def _in_this_process(scene: Any) -> tuple[Called | None, dict[str, dict[str, int]]]:
    from crowdsim.errors import CrowdsimError
    from crowdsim.kernels.compiling import KernelDispatcher, parts_of
    from crowdsim.simulation.simulation import Simulation
    from crowdsim.simulation.warm import play

    called: Called = {}
    made: dict[str, dict[str, int]] = {}
    compile_it, make = KernelDispatcher.compile, KernelDispatcher._whole

    def noted(self: Any, sig: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        called[f"{name} {sig}"] = name, tuple(sig)
        return compile_it(self, sig)

    def made_of(self: Any, args: Any) -> Any:
        whole = make(self, args)
        made[f"{self.py_func.__module__}.{self.py_func.__qualname__} {args}"] = parts_of(self._part(args))
        return whole

    dispatcher: Any = KernelDispatcher
    dispatcher.compile, dispatcher._whole = noted, made_of
    try:
        play(scene, Simulation)
    except CrowdsimError:
        return None, made
    return called, made


def _in_another_process(scene: Any, folder: Path) -> tuple[Called | None, dict[str, dict[str, int]]]:
    """Fork, since all is imported already and nothing was called."""
    file = folder / "found"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            file.write_bytes(pickle.dumps(_in_this_process(scene)))
            code = 0
        finally:
            os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise SystemExit(f"{scene.needs}: failed, see above")
    found: tuple[Called | None, dict[str, dict[str, int]]] = pickle.loads(file.read_bytes())
    return found


def _as_text(scenes: list[tuple[Any, Called | None]], made: dict[str, dict[str, int]]) -> str:
    """Return the list as JSON."""
    needed = needs_of([(scene.needs, frozenset(called)) for scene, called in scenes if called is not None])
    kernels = dict(sorted((key, what) for _, called in scenes for key, what in (called or {}).items()))
    tuples: dict[str, list[str]] = {}
    numbers: dict[str, int] = {}
    rows: list[list[Any]] = []
    parts: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for key, (name, args) in kernels.items():
        try:
            row = [name, [type_text(kind, tuples) for kind in args]]
        except ValueError:
            continue
        numbers[key] = len(rows)
        rows.append(row)
        sizes.update(made[key])
    for part in sorted(sizes):
        parts[part] = len(parts)
    for key, number in numbers.items():
        rows[number].append(sorted(parts[part] for part in made[key]))
    lines = [
        (
            f'"tuples": {{\n'
            f"{_lines(json.dumps(name) + ': ' + json.dumps(of) for name, of in sorted(tuples.items()))}}}"
        )
    ]
    lines.append(f'"sizes": {json.dumps([sizes[part] for part in sorted(sizes)])}')
    lines.append(f'"kernels": [\n{_lines(map(json.dumps, rows))}]')
    within = {name: sorted(numbers[key] for key in keys if key in numbers) for name, keys in needed.items()}
    lines.append(
        f'"scenes": {{\n'
        f"{_lines(json.dumps(name) + ': ' + json.dumps(of) for name, of in sorted(within.items()))}}}"
    )
    return "{" + ",\n".join(lines) + "}\n"


def _lines(texts: Any) -> str:
    return ",\n".join(texts) + "\n"


def needs_of(scenes: list[tuple[tuple[str, ...], frozenset[str]]]) -> dict[str, frozenset[str]]:
    """Return what each thing in a scenario needs, from what scenes of several things call.

    Parameters
    ----------
    scenes : list of (names, called)
        What is in a scene, and what it calls. Each thing is there beside the first of the others, which are
        in the first scene.

    Notes
    -----
    The first scene is of a model and a kind of navigation. What it calls and another kind in the place of its
    own does not is needed by the kind, and what it calls and another model does not is needed by the model;
    the rest by either. What is left over of other scenes is needed by what else is in them.
    """
    (model, kind), base = scenes[0]
    of_kind = {names[1]: called for names, called in scenes if len(names) == 2 and names[0] == model}
    of_model = {names[0]: called for names, called in scenes if len(names) == 2 and names[1] == kind}
    by_kind = base - frozenset.intersection(*of_kind.values())
    by_model = base - frozenset.intersection(*of_model.values()) - by_kind
    needed = {name: called - by_model for name, called in of_kind.items()} | {
        name: called - by_kind for name, called in of_model.items()
    }
    for names, called in scenes:
        for name in names:
            if name not in needed:
                own_kind = f"navigation={name.rsplit(', ', 1)[-1]}"
                others = {*names, model, own_kind if own_kind in needed else kind} & needed.keys()
                needed[name] = called.difference(*(needed[other] for other in others))
    return needed


if __name__ == "__main__":
    main()
