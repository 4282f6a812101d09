"""What an avoidance model is: it sees a crowd and chooses a velocity for each agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS, nearest_rows
from crowdsim.codes import Diagnosis
from crowdsim.geometry.cells import Cells
from crowdsim.geometry.walls import Walls
from crowdsim.kernels.threads import Team

NOT_ASKED, FEASIBLE, RELAXED, INFEASIBLE = map(int, Diagnosis)

KEEPS_ITS_VELOCITY = np.uint8(2)  # active: has a velocity, whatever others do

NOBODY = 0  # blocker: the preferred velocity was taken as it is, or only the speed limit changed it
WALL = -1  # blocker: a wall


class CrowdView(NamedTuple):
    """The crowd as models see it: rows in ascending entity id, read only but for `reach`.

    Attributes
    ----------
    entity : (n,) int64
        Entity ids, 1 or greater.
    position, velocity, preferred_velocity : (n, 2) float64, m and m/s
        Of the last tick; no agent has moved yet.
    radius : (n,) float64, m
    maximum_speed : (n,) float64, m/s
        How fast each goes at most now: on slopes in plan, and less where it is ahead of its party, or waits.
    active : (n,) uint8
        1: decides for itself. 0: stands and is avoided by others, which take the whole responsibility for it;
        its velocity is 0. 2: keeps to the velocity that it has, whatever comes, and is avoided like an agent
        that stands.
    zone : (n,) int64
        Row of the wall lists.
    layer : (n,) int32
        Floor.
    cells : Cells
        Index built of exactly these positions and layers.
    walls : Walls
        Taken to be unchanged as long as it is the same object.
    reach : (n,) float32, m
        In and out: the distance of the last neighbour that counted, infinite where unknown. It only guides
        the next search, which is exact whatever stands here.
    asked : (n,) uint8 or None
        1: the velocity of this agent is wanted. Where several models share a crowd, each gets all agents and
        is asked for its own; what it writes in the other rows does not count, so that a model may pass over
        it. None: all agents are asked for.
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
    asked: NDArray[np.uint8] | None = None

    def deciding(self) -> NDArray[np.uint8]:
        """Return 1 for agents that decide for themselves and are asked for, 0 for the others, (n,) uint8."""
        decides = self.active & np.uint8(1)
        return decides if self.asked is None else decides & self.asked

    def neighbours(self, count: int, distance: float, team: Team) -> NDArray[np.int64]:
        """Return the rows of each agent's nearest neighbours, nearest first, (n, count) int64;
        -1 after the last.

        Parameters
        ----------
        count : int, 1..64
        distance : float, m
            Between centres; an agent farther away is no neighbour.
        team : Team

        Raises
        ------
        ValueError
            If `count` or `distance` are out of range: the kernel has room for 64 neighbours.
        """
        if not 1 <= count <= MOST_NEIGHBOURS or not distance > 0.0:
            raise ValueError(
                f"neighbours(count={count}, distance={distance}): 1 to {MOST_NEIGHBOURS} neighbours within "
                "a distance above 0 m can be found"
            )
        rows, found = (
            np.empty((len(self.entity), count), dtype=np.int64),
            np.empty(len(self.entity), dtype=np.int64),
        )
        team.run(nearest_rows, len(self.entity), self.cells, count, float(distance), rows, found)
        return rows


class Choice(NamedTuple):
    """The velocities that a model chose; rows as in the view, all overwritten.

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
    return Choice(
        np.zeros((count, 2)),
        np.zeros(count, dtype=np.uint8),
        np.zeros(count, dtype=np.int64),
        counts[0],
        counts[1],
    )


def copy_choice(source: Choice, target: Choice, rows: Any = slice(None)) -> None:
    """Copy some rows (an index, by default all) of a choice into another."""
    for name in Choice._fields:
        getattr(target, name)[rows] = getattr(source, name)[rows]


class AvoidanceModel(Protocol):
    """One way to choose velocities.

    A model is a class with a name and a frozen dataclass `Parameters` of `crowdsim.tunable.param` fields,
    whose instance it is made with. One made of the same parameters, restored from `state()`, must choose the
    same velocities bit for bit; nothing may depend on the number of threads or on which agent was asked for
    first.

    Two methods are optional. ``wall_reach(speed)`` returns how far from its rim an agent of that speed (m/s)
    heeds walls (m), see `wall_reach`. ``explain(view, tick_length, rows, choice)`` returns what stood behind
    the choices of a few agents, see `crowdsim.avoidance.explain`.
    """

    name: ClassVar[str]
    Parameters: ClassVar[type]
    parameters: Any

    def __init__(self, parameters: Any) -> None: ...

    def prepare(self, capacity: int) -> None:
        """Make room for `capacity` agents, so that no memory is taken during a tick."""
        ...

    def choose(self, view: CrowdView, tick_length: float, team: Team, out: Choice) -> None:
        """Choose a velocity for all agents, seconds of `tick_length` ahead, and write it to `out`."""
        ...

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Return what the model remembers between ticks, as named arrays."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `state()` gave."""
        ...


class StatelessModel:
    """A model that remembers nothing and needs no memory of its own:
    what is left to write is a name and `choose`.
    """

    name: ClassVar[str] = ""
    parameters: Any

    @dataclass(frozen=True)
    class Parameters:
        """Nothing can be set."""

    def __init__(self, parameters: Any = None) -> None:
        self.parameters = parameters or self.Parameters()

    def prepare(self, capacity: int) -> None:
        """Do nothing: no memory is needed."""

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Return nothing: nothing is remembered."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take nothing back."""


def wall_reach(model: AvoidanceModel, speed: float) -> float:
    """Return how far from its rim an agent of a speed heeds walls under a model:
    the lists of walls go that far.

    Parameters
    ----------
    model : AvoidanceModel
    speed : float, m/s

    Returns
    -------
    float, m
        What the model's own method `wall_reach` says; without one, the distance walked in its parameter
        `time_horizon_walls`; without that, in the longest parameter that is called a horizon, and at least in
        one second.
    """
    own = getattr(model, "wall_reach", None)
    if own is not None:
        return float(own(speed))
    horizon = getattr(model.parameters, "time_horizon_walls", None)
    if horizon is None:
        values = vars(model.parameters) if hasattr(model.parameters, "__dict__") else {}
        horizon = max(
            [
                1.0,
                *(
                    float(value)
                    for name, value in values.items()
                    if "horizon" in name and isinstance(value, (int, float))
                ),
            ]
        )
    return speed * float(horizon)
