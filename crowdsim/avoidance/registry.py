"""Avoidance models by name, and where those come from that are not crowdsim's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from crowdsim.errors import CrowdsimError

if TYPE_CHECKING:  # readers of recordings come by here, and need no compiler
    from crowdsim.avoidance.model import AvoidanceModel

_models: dict[str, type[AvoidanceModel]] = {}
_origins: dict[str, Origin] = {}
_current: list[Origin] = []
_sources: list[Callable[[], Mapping[str, str]]] = []
M = TypeVar("M", bound=type)


class UnknownModelError(CrowdsimError):
    """A model was asked for that is not registered."""


@dataclass(frozen=True)
class Origin:
    """Where a plug-in's model comes from; part of the identity of a run.

    Attributes
    ----------
    file : str
        Path of the source as it was given.
    sha256 : str
        Of the source, 64 hexadecimal digits.
    entry_point : str
        The entry point of an installed package; empty for a file.
    """

    file: str
    sha256: str
    entry_point: str = ""

    def __str__(self) -> str:
        return f"{self.file} ({self.entry_point})" if self.entry_point else self.file


def register(model: M) -> M:
    """Make a class of models known under its `name`; use it as a decorator.

    Raises
    ------
    ValueError
        If another class has the name already.
    """
    name: str = model.name  # type: ignore[attr-defined]
    known = _models.get(name)
    if known is not None and (known.__module__, known.__qualname__) != (model.__module__, model.__qualname__):
        raise ValueError(
            f"two avoidance models are called {name!r}: {known.__module__}.{known.__qualname__} and "
            f"{model.__module__}.{model.__qualname__}"
        )
    _models[name] = model
    if _current:
        _origins[name] = _current[-1]
    return model


def forget(name: str) -> None:
    """Take a model out of the list, if it is there:
    for a plug-in that is loaded anew, or that could not be loaded whole.
    """
    _models.pop(name, None)
    _origins.pop(name, None)


@contextmanager
def coming_from(origin: Origin) -> Iterator[None]:
    """Note `origin` for every model that is registered meanwhile."""
    _current.append(origin)
    try:
        yield
    finally:
        _current.pop()


def note_origin(name: str, origin: Origin) -> None:
    """Note where something comes from that a plug-in registers:
    from the plug-in that is being loaded, else from `origin`.
    """
    _origins[name] = _current[-1] if _current else origin


def origin_of(name: str) -> Origin | None:
    """Return where a plug-in's model or planner comes from; None for crowdsim's own."""
    return _origins.get(name)


def registered() -> dict[str, type[AvoidanceModel]]:
    """Return the models that have been registered so far, by name, in the order of registration."""
    return dict(_models)


def model_named(name: str) -> type[AvoidanceModel]:
    """Return the class of models called `name`.

    Raises
    ------
    UnknownModelError
    """
    failures = _load_all()
    if name not in _models:
        failed = (
            f" The installed plug-in {name!r} could not be loaded: {failures[name]}"
            if name in failures
            else ""
        )
        raise UnknownModelError(
            f"There is no avoidance model {name!r}; there are {', '.join(available_models())}.{failed}"
        )
    return _models[name]


def available_models() -> tuple[str, ...]:
    """Return the names of all models, sorted."""
    _load_all()
    return tuple(sorted(_models))


def models_come_from(load: Callable[[], Mapping[str, str]]) -> None:
    """Have `load` called before models are looked for;
    it registers them, and returns those that failed by name, with the reason.
    """
    _sources.append(load)


def _load_all() -> dict[str, str]:
    """Load crowdsim's own models and those of installed packages;
    return the entry points that failed, with the reason.
    """
    return {name: reason for load in _sources for name, reason in load().items()}
