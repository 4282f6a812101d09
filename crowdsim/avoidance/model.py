"""What an avoidance model is: it sees a crowd and chooses a velocity for each agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.cells import Cells
from crowdsim.geometry.walls import Walls
from crowdsim.threads import Team

# How a model came to a velocity.
NOT_ASKED = 0  # the agent stands or waits
FEASIBLE = 1  # the velocity keeps every constraint
RELAXED = 2  # no velocity kept every constraint of other agents; those were relaxed
INFEASIBLE = 3  # not even the walls could be kept

NOBODY = 0  # blocker: the preferred velocity was taken as it is, or only the speed limit changed it
WALL = -1  # blocker: a wall


class CrowdView(NamedTuple):
    """The crowd as models see it: rows in ascending entity id, read only but for `reach`.

    Attributes
    ----------
    entity : (n,) int64
        Entity ids, 1 or greater.
    position, velocity, preferred_velocity : (n, 2) float64, m and m/s
        Of the last tick; nobody has moved yet.
    radius, maximum_speed : (n,) float64, m and m/s
    active : (n,) uint8
        1: decides for itself. 0: stands and is avoided by others, who take the whole responsibility for it; its velocity is 0.
    zone : (n,) int64
        Row of the wall lists.
    layer : (n,) int32
        Floor.
    cells : Cells
        Index built of exactly these positions and layers.
    walls : Walls
        Taken to be unchanged as long as it is the same object.
    reach : (n,) float32, m
        In and out: the distance of the last neighbour that counted, infinite where unknown. It only guides the next search, which is exact
        whatever stands here.
    """

    entity: NDArray[np.int64]
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    preferred_velocity: NDArray[np.float64]
    radius: NDArray[np.float64]
    maximum_speed: NDArray[np.float64]
    active: NDArray[np.uint8]
    zone: NDArray[np.int64]
    layer: NDArray[np.int32]
    cells: Cells
    walls: Walls
    reach: NDArray[np.float32]


class Choice(NamedTuple):
    """What a model chose; rows as in the view, all overwritten.

    Attributes
    ----------
    velocity : (n, 2) float64, m/s
        Never faster than `maximum_speed` by more than rounding; 0 for those that are not active.
    diagnosis : (n,) uint8
        NOT_ASKED, FEASIBLE, RELAXED or INFEASIBLE.
    blocker : (n,) int64
        Entity of the neighbour whose constraint binds the velocity, WALL, or NOBODY.
    neighbour_count : (n,) int32
        Neighbours that were heeded.
    samples : (n,) int32
        Velocities that were tried; 0 by models that try none. It is 0 before a model is asked.
    """

    velocity: NDArray[np.float64]
    diagnosis: NDArray[np.uint8]
    blocker: NDArray[np.int64]
    neighbour_count: NDArray[np.int32]
    samples: NDArray[np.int32]


def empty_choice(count: int) -> Choice:
    """Return a choice for `count` agents that stand."""
    counts = np.zeros((2, count), dtype=np.int32)
    return Choice(np.zeros((count, 2)), np.zeros(count, dtype=np.uint8), np.zeros(count, dtype=np.int64), counts[0], counts[1])


class AvoidanceModel(Protocol):
    """One way to choose velocities.

    A model is a class with a name and a frozen dataclass `Parameters` of `crowdsim.tunable.param` fields, whose instance it is made with. One
    made of the same parameters, restored from `state()`, must choose the same velocities bit for bit; nothing may depend on the number of threads
    or on who was asked first.
    """

    name: ClassVar[str]
    Parameters: ClassVar[type]
    parameters: Any

    def __init__(self, parameters: Any) -> None: ...

    def prepare(self, capacity: int) -> None:
        """Make room for `capacity` agents, so that no memory is taken during a tick."""
        ...

    def choose(self, view: CrowdView, tick_length: float, team: Team, out: Choice) -> None:
        """Choose a velocity for everyone, seconds of `tick_length` ahead, and write it to `out`."""
        ...

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Return what the model remembers between ticks, as named arrays."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `state()` gave."""
        ...
