"""Plug-ins: avoidance models from a user's own file, or from another installed package.

A plug-in is a Python file that registers one model or more (docs/learn/models.md). Loading it runs it: only files that the user names, and packages that the
user has installed, are ever loaded; a scenario or a recording cannot name one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from crowdsim.avoidance.registry import Origin, available_models, coming_from, forget, origin_of, register, registered
from crowdsim.commands import command
from crowdsim.errors import CrowdsimError

ENTRY_POINTS = "crowdsim.models"  # Group under which installed packages name modules or classes with models.
METHODS = ("prepare", "choose", "state", "restore")
LARGEST_BYTES = 2**24

_files: dict[str, tuple[Origin, tuple[str, ...]]] = {}
_failed: dict[str, str] | None = None


class PluginError(CrowdsimError):
    """A plug-in cannot be loaded, or is missing."""


def load_plugins(paths: Sequence[str | Path]) -> tuple[str, ...]:
    """Load the plug-ins in some files; return the names of their models. See `load_plugin`."""
    return tuple(name for path in paths for name in load_plugin(path))


def load_plugin(path: str | Path) -> tuple[str, ...]:
    """Load the models in a Python file.

    Parameters
    ----------
    path : str or Path
        Loaded once; again where its text has changed since.

    Returns
    -------
    tuple of str
        Names of the models that it registers.

    Raises
    ------
    PluginError
        If there is no such file, it raises an error, registers nothing, or takes a name that another model has.
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
    for name in loaded[1] if loaded is not None else ():
        forget(name)
    _files.pop(origin.file, None)
    name = f"crowdsim_plugin_{file.stem}_{origin.sha256[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    before = set(registered())
    sys.modules[name] = module  # dataclasses look their module up
    try:
        with coming_from(origin):
            exec(compile(source, str(file), "exec", dont_inherit=True), module.__dict__)  # what was hashed, not what a cache of bytecode holds
        names = tuple(each for each in registered() if each not in before)
        _require_models(file, names)
    except BaseException as error:
        sys.modules.pop(name, None)
        for each in set(registered()) - before:
            forget(each)
        if isinstance(error, PluginError) or not isinstance(error, (Exception, SystemExit)):
            raise
        raise PluginError(f"{where_raised(error, origin)}: the plug-in cannot be loaded: {told(error)}") from None
    _files[origin.file] = (origin, names)
    return names


def _require_models(file: Path, names: Sequence[str]) -> None:
    """Raise unless there are models, and each is what a model has to be."""
    if not names:
        raise PluginError(f"{file}: the plug-in registers no model. Put @register (crowdsim.avoidance.registry) before the class of your model.")
    for name in names:
        model = registered()[name]
        if complaint := complaint_about(model):
            raise PluginError(f'{file}: the model "{name}" {complaint}')


def complaint_about(model: Any) -> str:
    """Return what a class lacks to be a model, with the way out; an empty string if it lacks nothing."""
    if not isinstance(model, type):
        return "is not a class. Register the class, not an instance."
    name = getattr(model, "name", None)
    if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable() or len(name) > 60:
        return "has no usable name: name is a short text without blanks at its ends."
    missing = [method for method in METHODS if not callable(getattr(model, method, None))]
    if missing:
        return f"has no method {', '.join(missing)}. Derive it from StatelessModel (crowdsim.avoidance.model), which has all but choose."
    parameters = getattr(model, "Parameters", None)
    if not (isinstance(parameters, type) and is_dataclass(parameters)):
        return "has no class Parameters that is a frozen dataclass of crowdsim.tunable.param fields."
    plain = [field for field, value in parameters.__dataclass_fields__.items() if "why" not in value.metadata]
    if plain:
        return f"has the parameter {plain[0]} without a declaration. Write {plain[0]}: float = param(default, unit, why=...) (crowdsim.tunable)."
    return ""


def load_installed() -> dict[str, str]:
    """Load the models of installed packages, once; return the entry points that failed, with the reason."""
    global _failed
    if _failed is None:
        _failed = {}
        for point in sorted(metadata.entry_points(group=ENTRY_POINTS), key=lambda point: (point.name, point.value)):
            try:
                _load_entry_point(point)
            except Exception as error:  # a package that is broken must not keep others from running
                _failed[point.name] = told(error)
    return _failed


def _load_entry_point(point: metadata.EntryPoint) -> None:
    spec = importlib.util.find_spec(point.module)
    file = Path(spec.origin) if spec is not None and spec.origin and Path(spec.origin).is_file() else None
    digest = hashlib.sha256(file.read_bytes()).hexdigest() if file is not None else ""
    before = set(registered())
    try:
        with coming_from(Origin(str(file or point.module), digest, f"{point.name} = {point.value}")):
            found = point.load()
            if inspect.isclass(found):
                register(found)
        for name in set(registered()) - before:
            if complaint := complaint_about(registered()[name]):
                raise PluginError(f'the model "{name}" {complaint}')
    except BaseException:
        for name in set(registered()) - before:
            forget(name)
        raise


def told(error: BaseException) -> str:
    """Return what an error says, on one line; a name that is taken in our own words."""
    if isinstance(error, ValueError) and str(error).startswith("two avoidance models are called"):
        return f"{error}. Give yours another name."
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def where_raised(error: BaseException, origin: Origin) -> str:
    """Return ``file:line`` of the place in a plug-in at which an error came up, or the file alone."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).resolve() == Path(origin.file) and error.lineno:
        return f"{origin.file}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename and Path(frame.filename).resolve() == Path(origin.file)]
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
    then = {name: Origin(**{key: str(entry.get(key, "")) for key in ("file", "sha256", "entry_point")}) for name, entry in wanted.items()}
    known = available_models()
    missing = {name: origin for name, origin in then.items() if name not in known}
    if missing:
        which = ", ".join(f'"{name}" of {origin}, SHA-256 {origin.sha256}' for name, origin in missing.items())
        files = list(dict.fromkeys(origin.file for origin in missing.values() if not origin.entry_point))
        named = [word for file in files for word in ("--plugin", Path(file))]
        way = f"Name the file: {command('verify', Path(run), *named)}" if files else "Install the package again."
        raise PluginError(f"{run}: the run was made with a model that is not crowdsim's own and is not loaded: {which}.\n    {way}")
    notes = []
    for name, origin in then.items():
        now = origin_of(name)
        if now is None or now.sha256 != origin.sha256:
            source = f"{now}, SHA-256 {now.sha256}" if now is not None else "crowdsim's own"
            notes.append(f'the source of the model "{name}" has changed: {origin}, SHA-256 {origin.sha256} then; {source} now')
    return notes
