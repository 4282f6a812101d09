"""What a program gives, as arrays: agents by number or name, points, velocities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.scenario.geometry import Geometry
from crowdsim.scenario.tree import listed, suggestion
from crowdsim.setup.identity import AgentNames
from crowdsim.world.columns import MOST_SPEED_M_S


def rows_of(
    entity: ArrayLike,
    present: NDArray[np.int64],
    names: AgentNames,
    absent: str = "has left the world",
    away: Sequence[int] = (),
) -> NDArray[np.intp]:
    """Return the rows of agents that a user names.

    Parameters
    ----------
    entity : int, str, or sequence of these
        Entity ids or names.
    present : (n,) int64
        Entity ids of those in the world, ascending.
    names : AgentNames
    absent : str
        What is wrong with one that is not among them.
    away : sequence of int
        Those that may come in.

    Raises
    ------
    CrowdsimError
        If an agent is not there, or a name fits none.
    """
    given = np.atleast_1d(np.asarray(entity)).ravel()
    if given.dtype.kind in "UO" and all(isinstance(name, str) for name in given):
        given = np.array([_entity_of(name, names) for name in given], dtype=np.int64)
    if given.size and given.dtype.kind not in "iu":
        way_out = (
            "For a mask write agents.entity[mask]."
            if given.dtype.kind == "b"
            else "agents.entity has the numbers, agents.label the names."
        )
        raise CrowdsimError(
            f"agents are told apart by whole numbers or names, but {str(given[0])!r} was given. {way_out}"
        )
    wanted = given.astype(np.int64)
    is_there = np.isin(wanted, present)
    if not np.all(is_there):
        missing, count = int(wanted[~is_there][0]), names.highest
        if missing in away:
            absent = "is not in the world now; add_agents and switch_on put agents in"
        has_left = 1 <= missing <= count
        what = (
            f'agent {missing} ("{names.of(missing)}") {absent}'
            if has_left
            else f"there is no agent {missing}: their numbers are 1 to {count:,}"
        )
        raise CrowdsimError(f"{what}. agents.entity has those that are there.")
    return np.searchsorted(present, wanted)


def _entity_of(name: str, names: AgentNames) -> int:
    entity = names.entity_of(name)
    if not entity:
        raise CrowdsimError(
            f'there is no agent "{name}". {names.near(name)} agents.label has the names.'.replace("  ", " ")
        )
    return entity


def velocities_of(velocity: ArrayLike, count: int) -> NDArray[np.float64]:
    """Return one velocity (m/s) for each of `count` agents, from one for all or one for each.

    Raises
    ------
    CrowdsimError
        If it is anything else than pairs of finite numbers.
    """
    given = finite_numbers(velocity)
    if given.shape not in ((2,), (count, 2)):
        pairs = "a pair of finite numbers in m/s" + (f", or {count:,} such pairs" if count != 1 else "")
        raise CrowdsimError(f"a preferred velocity is {pairs}, not {velocity!r:.80}.")
    fastest = float(np.abs(given).max(initial=0.0))
    if fastest > MOST_SPEED_M_S:
        raise CrowdsimError(
            f"a preferred velocity of {fastest:g} m/s is none; at most {MOST_SPEED_M_S:g} m/s are taken."
        )
    return np.broadcast_to(given, (count, 2))


def finite_numbers(given: ArrayLike) -> NDArray[np.float64]:
    """Return what a program gives as an array; an empty one if it is anything else than finite numbers."""
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)
    return numbers if np.all(np.isfinite(numbers)) else np.empty(0)


def points_of(points: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return points (m) that a program gives, (k, 2).

    Raises
    ------
    CrowdsimError
        If they are anything else than pairs of finite numbers.
    """
    given = finite_numbers(points)
    if given.size == 0 or given.ndim not in (1, 2) or given.shape[-1] != 2:
        raise CrowdsimError(f"{what} is [x, y] in metres, or several of these, not {points!r:.60}.")
    return given.reshape(-1, 2)


def floor_of(geometry: Geometry, storey: str | None, height: float | None, what: str) -> int | None:
    """Return the number of the floor on which a program says that something lies;
    -1 where there is one level floor, None where only the height says it.

    Raises
    ------
    CrowdsimError
        If it says nothing on several floors, both, or a storey that there is not.
    """
    names = list(geometry.floor_names)
    if not geometry.floors:
        if storey is not None or height is not None:
            raise CrowdsimError("the ground has one level floor: leave out storey and height.")
        return -1
    if storey is not None and height is not None:
        raise CrowdsimError("give a storey or a height, not both.")
    if storey is not None:
        if storey not in names:
            near = suggestion(storey, names) if isinstance(storey, str) else ""
            raise CrowdsimError(
                f"there is no storey {storey!r}. {near} Known are {listed(names)}.".replace("  ", " ")
            )
        return names.index(storey)
    if height is None:
        if len(names) == 1:
            return 0
        raise CrowdsimError(
            f"there are several floors. Say on which {what} lies: height=, or storey= one of {listed(names)}."
        )
    if finite_numbers(height).ndim:
        raise CrowdsimError(f"a height is a finite number in metres, not {height!r:.60}.")
    return None
