"""Kinds of planners as they are registered, by crowdsim's own modules (`crowdsim.navigation.planners` has the
list) and by plug-ins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:  # readers of scenarios import this, and need no compiler
    from crowdsim.navigation.goals.goals import GoalPieces
    from crowdsim.navigation.mesh.mesh import NavMesh
    from crowdsim.navigation.mesh.watchers import Watchers
    from crowdsim.navigation.planning.protocol import SearchSpace

P = TypeVar("P", bound=type)


class PlannerGround(NamedTuple):
    """What a planner is made for.

    Attributes
    ----------
    mesh : NavMesh
    goals : GoalPieces
    cells : callable
        Makes the cells of a grid, a `Grid`, for planners that ask for them.
    first : NavMesh or None
        The mesh at the beginning, where this is another: what a scenario places on that may stand on no
        ground now.
    whole : NavMesh or None
        The same polygons with the portals over which no path leads: one can be seen through them.
    watchers : Watchers or None
        Agents that paths hide from, where they are now.
    key : bytes
        Hash of what the mesh was made of; empty where it is not in the disk cache.
    is_first : bool
        Whether this is the ground at the beginning, in one piece.
    """

    mesh: NavMesh
    goals: GoalPieces
    cells: Callable[[], Any]
    first: NavMesh | None = None
    whole: NavMesh | None = None
    watchers: Watchers | None = None
    key: bytes = b""
    is_first: bool = False


class Values(Protocol):
    """The values that a scenario gives the parameters of a planner."""

    def parameters(self, owner: type[Any]) -> Any:
        """Return an instance of a dataclass of parameters with their values."""


@dataclass(frozen=True)
class PlannerKind:
    """A kind of planner.

    Attributes
    ----------
    name : str
        What scenarios call it.
    make : callable
        Makes one for a ground, with values.
    space : SearchSpace
        What it searches: `crowdsim.navigation.planning.portals.PORTALS`, whose answers are corridors on the
        mesh (`Answers`), or `crowdsim.navigation.grid.planner.CELLS`, whose answers are waypoints over the
        cells of a grid (`WaypointAnswers`).
    owners, options : tuple of dataclasses
        Its parameters: those that are listed before, and after, what all planners of its space have.
    knows_terrain : bool
        Whether it finds quick paths where the ground has speeds of its own.
    """

    name: str
    make: Callable[[PlannerGround, Values], Any]
    space: SearchSpace
    owners: tuple[type, ...] = ()
    options: tuple[type, ...] = ()
    knows_terrain: bool = False


_kinds: dict[str, PlannerKind] = {}
_of_plugins: dict[str, type] = {}


def register_kind(kind: PlannerKind) -> None:
    """Make a kind of planner known."""
    _kinds[kind.name] = kind


def register_planner(planner: P) -> P:
    """Make a class of planners known under its `name`; use it as a decorator.
    It is made with a mesh, goals, and its `Parameters`.

    Raises
    ------
    ValueError
        If another planner has the name already.
    """
    from crowdsim.navigation.planning.portals import PORTALS  # needs the compiler

    name: str = planner.name  # type: ignore[attr-defined]
    known = _of_plugins.get(name)
    is_own = known is None and name in _kinds
    if is_own or (
        known is not None
        and (known.__module__, known.__qualname__) != (planner.__module__, planner.__qualname__)
    ):
        other = "crowdsim's own" if known is None else f"{known.__module__}.{known.__qualname__}"
        raise ValueError(
            f"two planners are called {name!r}: {other} and {planner.__module__}.{planner.__qualname__}"
        )
    _of_plugins[name] = planner
    owner: Any = getattr(planner, "Parameters", None)

    def make(ground: PlannerGround, values: Values) -> Any:
        return planner(ground.mesh, ground.goals, values.parameters(owner))

    register_kind(PlannerKind(name, make, PORTALS, (owner,)))
    return planner


def forget(name: str) -> None:
    """Take a plug-in's planner out of the list, if it is there."""
    if _of_plugins.pop(name, None) is not None:
        _kinds.pop(name, None)


def registered() -> dict[str, type]:
    """Return the planners of plug-ins, by name."""
    return dict(_of_plugins)


def kinds() -> dict[str, PlannerKind]:
    """Return the kinds of planners that have been registered so far, by name."""
    return dict(_kinds)
