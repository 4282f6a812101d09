"""What a user of the library gives to steer agents, as rows and arrays;
mistakes are reported here, before anything is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.scenario.canonical import canonical_data
from crowdsim.scenario.load import as_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.obstacles import Obstacle
from crowdsim.scenario.tree import suggestion


def rows_of(entity: ArrayLike, present: NDArray[np.int64], labels: Sequence[str]) -> NDArray[np.intp]:
    """Return the rows of agents that a user names.

    Parameters
    ----------
    entity : int, str, or sequence of these
        Entity ids or names.
    present : (n,) int64
        Entity ids of those in the world, ascending.
    labels : sequence of str
        Names of all agents there ever were, by entity id - 1.

    Raises
    ------
    CrowdsimError
        If an agent is not there, or a name fits none.
    """
    given = np.atleast_1d(np.asarray(entity)).ravel()
    if given.dtype.kind in "UO" and all(isinstance(name, str) for name in given):
        given = np.array([_entity_of(name, labels) for name in given], dtype=np.int64)
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
        missing, count = int(wanted[~is_there][0]), len(labels)
        has_left = 1 <= missing <= count
        what = (
            f'agent {missing} ("{labels[missing - 1]}") has left the world'
            if has_left
            else f"there is no agent {missing}: their numbers are 1 to {count:,}"
        )
        raise CrowdsimError(f"{what}. agents.entity has those that are there.")
    return np.searchsorted(present, wanted)


def _entity_of(name: str, labels: Sequence[str]) -> int:
    try:
        return labels.index(name) + 1
    except ValueError:
        raise CrowdsimError(
            f'there is no agent "{name}". {suggestion(name, labels)} agents.label has the names.'.replace(
                "  ", " "
            )
        ) from None


def velocities_of(velocity: ArrayLike, count: int) -> NDArray[np.float64]:
    """Return one velocity (m/s) for each of `count` agents, from one for all or one for each.

    Raises
    ------
    CrowdsimError
        If it is anything else than pairs of finite numbers.
    """
    try:
        given = np.asarray(velocity, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape not in ((2,), (count, 2)) or not np.all(np.isfinite(given)):
        pairs = "a pair of finite numbers in m/s" + (f", or {count:,} such pairs" if count != 1 else "")
        raise CrowdsimError(f"a preferred velocity is {pairs}, not {velocity!r:.80}.")
    return np.broadcast_to(given, (count, 2))


def obstacle_of(scenario: Scenario, values: Mapping[str, Any]) -> Obstacle:
    """Return an obstacle that a program describes with the keys of a scenario file.

    Raises
    ------
    CrowdsimError
        With everything that is wrong with it on the ground of the scenario.
    """
    data = {
        key: value for key, value in canonical_data(scenario).items() if key not in ("events", "obstacles")
    }
    try:
        return as_scenario({**data, "groups": [], "record": {}, "obstacles": [values]}).obstacles[0]
    except ScenarioError as error:
        raise CrowdsimError(
            "; ".join(
                f"{problem.item.replace('obstacles[0]', 'the obstacle', 1)}: {problem.message}"
                for problem in error.problems
            )
        ) from None
