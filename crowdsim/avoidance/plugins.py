"""Plug-ins: avoidance models, planners, and systems of the tick, from a user's own file,
or from another installed package.

A plug-in is a Python file that registers some of these (docs/learn/models.md, docs/develop/extending.md).
Loading it runs it: only files that the user names, and packages that the user has installed, are ever loaded;
a scenario or a recording cannot name one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from crowdsim.avoidance.registry import (
    Origin,
    available_models,
    coming_from,
    forget,
    note_origin,
    origin_of,
    register,
    registered,
)
from crowdsim.commands import command
from crowdsim.errors import CrowdsimError
from crowdsim.navigation.planners import planner_kinds
from crowdsim.navigation.planning import registry as planners

ENTRY_POINTS = "crowdsim.models"  # Group under which installed packages name modules or classes with models.
METHODS = ("prepare", "choose", "state", "restore")
BASE = "StatelessModel (crowdsim.avoidance.model), which has all but choose"
PLANNER_METHODS = ("submit", "drop", "advance", "oldest_tick", "state", "restore")
PLANNER_BASE = "PlainPlanner (crowdsim.navigation.planning.plain_planner), which has all but search"
LARGEST_BYTES = 2**24

_others: list[tuple[Callable[[], Mapping[str, type]], Callable[[str], None]]] = []
_files: dict[str, tuple[Origin, tuple[str, ...]]] = {}
_failed: dict[str, str] | None = None


class PluginError(CrowdsimError):
    """A plug-in cannot be loaded, or is missing."""


def plugins_may_register(registered: Callable[[], Mapping[str, type]], forget: Callable[[str], None]) -> None:
    """Make known what plug-ins can register beside models and planners:
    a function that returns it by name, and one that forgets a name.
    """
    _others.append((registered, forget))


def _registered() -> dict[str, Any]:
    """Return everything that plug-ins have registered, and crowdsim's own models, by name."""
    return {
        **registered(),
        **planners.registered(),
        **{name: kind for known, _ in _others for name, kind in known().items()},
    }


def _forget(name: str) -> None:
    for forget_it in (forget, planners.forget, *(other for _, other in _others)):
        forget_it(name)


def _complaint(name: str) -> str:
    """Return what is wrong with a model or planner that was registered by a name, as a sentence;
    an empty string if nothing is.
    """
    planner, model = planners.registered().get(name), registered().get(name)
    if planner is not None:
        what, lacks = "planner", complaint_about(planner, PLANNER_METHODS, PLANNER_BASE)
    else:  # systems are looked at when they are registered
        what, lacks = "model", complaint_about(model) if model is not None else ""
    return f'the {what} "{name}" {lacks}' if lacks else ""


def load_plugins(paths: Sequence[str | Path]) -> tuple[str, ...]:
    """Load the plug-ins in some files; return the names of their models. See `load_plugin`."""
    return tuple(name for path in paths for name in load_plugin(path))


def load_plugin(path: str | Path) -> tuple[str, ...]:
    """Load the models, planners and systems in a Python file.

    Parameters
    ----------
    path : str or Path
        Loaded once; again where its text has changed since.

    Returns
    -------
    tuple of str
        Names of the models and planners that it registers.

    Raises
    ------
    PluginError
        If there is no such file, it raises an error, registers nothing, or takes a name that another model
        has.
    """
    file = Path(path)
    if not file.is_file():
        raise PluginError(f'There is no plug-in "{file}": --plugin takes the path of a Python file.')
    if file.suffix != ".py" or file.stat().st_size > LARGEST_BYTES:
        raise PluginError(f"{file}: a plug-in is a Python file (.py) of at most {LARGEST_BYTES >> 20} MiB.")
    source = file.read_bytes()
    origin = Origin(str(file.resolve()), hashlib.sha256(source).hexdigest())
    loaded = _files.get(origin.file)
    if loaded is not None and loaded[0] == origin:
        return loaded[1]
    available_models()  # names that are taken must be known before
    planner_kinds()
    for name in loaded[1] if loaded is not None else ():
        _forget(name)
    _files.pop(origin.file, None)
    name = f"crowdsim_plugin_{file.stem}_{origin.sha256[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    before = set(_registered())
    sys.modules[name] = module  # dataclasses look their module up
    try:
        with coming_from(origin):
            # what was hashed, not what a cache of bytecode holds
            exec(compile(source, str(file), "exec", dont_inherit=True), module.__dict__)
            names = tuple(each for each in _registered() if each not in before)
            for each in set(planners.registered()) & set(registered()):
                planners.forget(each)
                raise PluginError(
                    f'{file}: there is an avoidance model called "{each}". Give your planner another name.'
                )
            _require_models(file, names)
            for each in names:
                note_origin(each, origin)
    except BaseException as error:
        sys.modules.pop(name, None)
        for each in set(_registered()) - before:
            _forget(each)
        if isinstance(error, PluginError) or not isinstance(error, (Exception, SystemExit)):
            raise
        raise PluginError(
            f"{where_raised(error, origin)}: the plug-in cannot be loaded: {described(error)}"
        ) from None
    _files[origin.file] = (origin, names)
    return names


def _require_models(file: Path, names: Sequence[str]) -> None:
    """Raise unless there are models, and each is what a model has to be."""
    if not names:
        raise PluginError(
            f"{file}: the plug-in registers no model. Put @register (crowdsim.avoidance.registry) before "
            "the class of your model, @register_planner "
            "(crowdsim.navigation.planning.registry) before that of your planner, or @register "
            "(crowdsim.systems) before that of your system."
        )
    for name in names:
        if complaint := _complaint(name):
            raise PluginError(f"{file}: {complaint}")


def complaint_about(model: Any, methods: Sequence[str] = METHODS, base: str = BASE) -> str:
    """Return what a class lacks to be a model, or a planner, with the way out;
    an empty string if it lacks nothing.
    """
    if not isinstance(model, type):
        return "is not a class. Register the class, not an instance."
    name = getattr(model, "name", None)
    if (
        not isinstance(name, str)
        or not name
        or name != name.strip()
        or not name.isprintable()
        or len(name) > 60
    ):
        return "has no usable name: name is a short text without blanks at its ends."
    missing = [method for method in methods if not callable(getattr(model, method, None))]
    if missing:
        return f"has no method {', '.join(missing)}. Derive it from {base}."
    if abstract := sorted(getattr(model, "__abstractmethods__", ())):
        return f"has no method {', '.join(abstract)} of its own."
    parameters = getattr(model, "Parameters", None)
    if not (isinstance(parameters, type) and is_dataclass(parameters)):
        return "has no class Parameters that is a frozen dataclass of crowdsim.tunable.param fields."
    plain = [field for field, value in parameters.__dataclass_fields__.items() if "why" not in value.metadata]
    if plain:
        return (
            f"has the parameter {plain[0]} without a declaration. Write {plain[0]}: float = param(default, "
            "unit, why=...) (crowdsim.tunable)."
        )
    return ""


def load_installed() -> dict[str, str]:
    """Load the models of installed packages, once; return the entry points that failed, with the reason."""
    global _failed
    if _failed is None:
        _failed = {}
        for point in sorted(
            metadata.entry_points(group=ENTRY_POINTS), key=lambda point: (point.name, point.value)
        ):
            try:
                _load_entry_point(point)
            except Exception as error:  # a package that is broken must not keep others from running
                _failed[point.name] = described(error)
    return _failed


def _load_entry_point(point: metadata.EntryPoint) -> None:
    spec = importlib.util.find_spec(point.module)
    file = Path(spec.origin) if spec is not None and spec.origin and Path(spec.origin).is_file() else None
    digest = hashlib.sha256(file.read_bytes()).hexdigest() if file is not None else ""
    before, origin = (
        set(_registered()),
        Origin(str(file or point.module), digest, f"{point.name} = {point.value}"),
    )
    try:
        with coming_from(origin):
            found = point.load()
            if inspect.isclass(found) and found not in _registered().values():
                register(found)
        for name in set(_registered()) - before:
            note_origin(name, origin)
            if complaint := _complaint(name):
                raise PluginError(complaint)
    except BaseException:
        for name in set(_registered()) - before:
            _forget(name)
        raise


def described(error: BaseException) -> str:
    """Return what an error says, on one line; a name that is taken in our own words."""
    if isinstance(error, ValueError) and str(error).startswith(
        ("two avoidance models are called", "two planners are called")
    ):
        return f"{error}. Give yours another name."
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def where_raised(error: BaseException, origin: Origin) -> str:
    """Return ``file:line`` of the place in a plug-in at which an error came up, or the file alone."""
    if (
        isinstance(error, SyntaxError)
        and error.filename
        and Path(error.filename).resolve() == Path(origin.file)
        and error.lineno
    ):
        return f"{origin.file}:{error.lineno}"
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename and Path(frame.filename).resolve() == Path(origin.file)
    ]
    return f"{origin.file}:{lines[-1]}" if lines else origin.file


def require_recorded(wanted: Mapping[str, Any], run: str) -> list[str]:
    """Make sure that the plug-ins which a recording was made with are there.

    Parameters
    ----------
    wanted : mapping
        `Header.plugins`.
    run : str
        How messages name the recording.

    Returns
    -------
    list of str
        A note for each plug-in whose source is another than then.

    Raises
    ------
    PluginError
        If one is missing, with the command that names it.
    """
    then = {
        name: Origin(**{key: str(entry.get(key, "")) for key in ("file", "sha256", "entry_point")})
        for name, entry in wanted.items()
    }
    known = {*available_models(), *_registered()}
    missing = {name: origin for name, origin in then.items() if name not in known}
    if missing:
        which = ", ".join(
            f'"{name}" of {origin}, SHA-256 {origin.sha256}' for name, origin in missing.items()
        )
        files = list(dict.fromkeys(origin.file for origin in missing.values() if not origin.entry_point))
        named = [word for file in files for word in ("--plugin", Path(file))]
        way = (
            f"Name the file: {command('verify', Path(run), *named)}"
            if files
            else "Install the package again."
        )
        kinds = {str(wanted[name].get("kind", "model")) for name in missing}
        what = kinds.pop() if len(kinds) == 1 else "model"
        raise PluginError(
            f"{run}: the run was made with a {what} that is not crowdsim's own and is not loaded: {which}.\n"
            f"    {way}"
        )
    notes = []
    for name, origin in then.items():
        now = origin_of(name)
        if now is None or now.sha256 != origin.sha256:
            source = f"{now}, SHA-256 {now.sha256}" if now is not None else "crowdsim's own"
            notes.append(
                f'the source of the {wanted[name].get("kind", "model")} "{name}" has changed: {origin}, '
                f"SHA-256 {origin.sha256} then; {source} now"
            )
    return notes
