"""Avoidance models by name."""

from __future__ import annotations

from typing import TypeVar

from crowdsim.avoidance.model import AvoidanceModel
from crowdsim.errors import CrowdsimError

_models: dict[str, type[AvoidanceModel]] = {}
M = TypeVar("M", bound=type)


class UnknownModelError(CrowdsimError):
    """A model was asked for that nobody registered."""


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
        raise ValueError(f"two avoidance models are called {name!r}: {known.__module__}.{known.__qualname__} and {model.__module__}.{model.__qualname__}")
    _models[name] = model
    return model


def model_named(name: str) -> type[AvoidanceModel]:
    """Return the class of models called `name`.

    Raises
    ------
    UnknownModelError
    """
    _load_own()
    if name not in _models:
        raise UnknownModelError(f"There is no avoidance model {name!r}; there are {', '.join(available_models())}.")
    return _models[name]


def available_models() -> tuple[str, ...]:
    """Return the names of all models, sorted."""
    _load_own()
    return tuple(sorted(_models))


def _load_own() -> None:
    from crowdsim.avoidance import clearpath, hrvo, none, orca  # noqa: F401  (importing a model registers it)
