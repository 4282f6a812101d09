"""What models of neighbours share: the state of neighbours, the search for them,
the walls as kernels read them, and the step from tick to tick.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import REASON_DTYPE
from crowdsim.avoidance.model import Choice, CrowdView, StatelessModel, empty_choice
from crowdsim.avoidance.neighbours import CHOSEN, MOST_NEIGHBOURS, NEAR_X, NEAR_Y, find_nearest
from crowdsim.geometry.cells import Cells, row_ahead
from crowdsim.geometry.walls import WallFrame, Walls, wall_frame
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.held_pages import held_like
from crowdsim.kernels.simd import load, load_records, prefetch, store
from crowdsim.kernels.threads import Team

# How much farther than last tick the last neighbour is looked for at first: a guess that costs time where it
# is wrong, never exactness.
MARGIN_TICKS = 1.0  # ticks of walking at the crowd's greatest speed
MARGIN_M = 1e-3

# Places of an agent's state as its neighbours see it, in a float32 array by slot: velocity, radius, the share
# that the other one takes of avoiding it, and the velocity by which sides are chosen, where a model wants
# that.
STATE_VX, STATE_VY, STATE_RADIUS, STATE_SHARE, STATE_REFERENCE_X, STATE_REFERENCE_Y = (
    np.uint64(place) for place in range(6)
)
STATE_FLOATS, FULL_STATE_FLOATS = np.uint64(4), np.uint64(6)  # numbers of one agent

# Areas of a float32 array with what is known of each neighbour.
_AREA = MOST_NEIGHBOURS + 16  # room for a whole set of lanes
NEIGHBOUR_X, NEIGHBOUR_Y, NEIGHBOUR_VX, NEIGHBOUR_VY, NEIGHBOUR_RADIUS, NEIGHBOUR_SHARE = (
    np.uint64(_AREA * area) for area in range(6)
)
NEIGHBOUR_FLOATS = 6 * _AREA

_F0, _HALF, _WHOLE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
_U0, _U16 = np.uint64(0), np.uint64(16)


# How many agents ahead what a model reads and writes of an agent is fetched. Farther ahead it would be gone
# again: the nearest cache has to hold what the model works with, too.
_AHEAD = np.uint64(4)


class Columns(NamedTuple):
    """The columns of `CrowdView` that the kernels of models read, by row, but for `entity`, which is by slot,
    as `gather_states` wrote it; `reach` is also written.
    """

    entity: NDArray[np.int64]
    velocity: NDArray[np.float64]
    preferred_velocity: NDArray[np.float64]
    radius: NDArray[np.float64]
    maximum_speed: NDArray[np.float64]
    active: NDArray[np.uint8]
    zone: NDArray[np.int64]
    reach: NDArray[np.float32]


@lean_kernel
def gather_states(start, stop, cells, entity, velocity, side_reference, radius, active, entities, states):
    """Copy the ids and the states of agents, as neighbours see them, into cell order.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    entity : (n,) int64
    velocity : (n, 2) float64, m/s
    side_reference : (n, 2) float64, m/s, or None
        The velocity by which sides are chosen.
    radius : (n,) float64, m
    active : (n,) uint8
        As in `CrowdView`.
    entities : (n,) int64
        Receives `entity` by slot.
    states : (4 n,) or, with `side_reference`, (6 n,) float32
        Receives for each slot velocity, radius, the share that the other one takes of avoiding it: 1/2, or 1
        of one that stands or keeps its velocity, and `side_reference`; agents that stand have no velocities.

    Returns
    -------
    float32, m/s
        The greatest component of a velocity in this range.

    Notes
    -----
    Neighbours lie close together in cell order, while their rows lie anywhere: 1 to 5 ns an agent spent here
    save several times that later. Twin: `tests/reference/neighbour_model.py`.
    """
    fastest, cells_row = _F0, cells.row
    width = STATE_FLOATS if side_reference is None else FULL_STATE_FLOATS
    for slot in range(np.uint64(start), np.uint64(stop)):
        ahead = row_ahead(cells_row, slot)
        prefetch(entity, ahead)
        prefetch(velocity, ahead + ahead)
        prefetch(radius, ahead)
        prefetch(active, ahead)
        row, place = np.uint64(cells_row[slot]), slot * width
        entities[slot] = entity[row]
        moves = active[row] != 0
        vx, vy = (
            np.float32(velocity[row, 0]) if moves else _F0,
            np.float32(velocity[row, 1]) if moves else _F0,
        )
        states[place + STATE_VX], states[place + STATE_VY] = vx, vy
        states[place + STATE_RADIUS], states[place + STATE_SHARE] = (
            np.float32(radius[row]),
            _HALF if active[row] == 1 else _WHOLE,
        )
        if side_reference is not None:
            states[place + STATE_REFERENCE_X] = np.float32(side_reference[row, 0]) if moves else _F0
            states[place + STATE_REFERENCE_Y] = np.float32(side_reference[row, 1]) if moves else _F0
        fastest = max(fastest, max(abs(vx), abs(vy)))
    return fastest


@inlined_kernel
def fetch_ahead(cells_row, slot, columns, out):
    """Have the processor fetch what is read and written of an agent whose turn comes soon."""
    row = np.uint64(cells_row[min(slot + _AHEAD, np.uint64(cells_row.size - 1))])
    _, velocity, preferred, radii, speeds, active, zones, reaches = columns
    chosen, diagnoses, blockers, neighbour_counts, _ = out
    for pairs in (velocity, preferred, chosen):
        prefetch(pairs, row + row)
    for singles in (radii, speeds):
        prefetch(singles, row)
    prefetch(active, row)
    prefetch(zones, row)
    prefetch(reaches, row)
    prefetch(diagnoses, row)
    prefetch(blockers, row)
    prefetch(neighbour_counts, row)


@inlined_kernel
def find_neighbours(
    cells_x,
    cells_y,
    cells_row,
    cells_start,
    z,
    slope_x,
    slope_y,
    step,
    plane,
    per_metre,
    slot,
    wanted,
    farthest,
    margin,
    row,
    reaches,
    floats,
    slots,
):
    """Find the nearest neighbours of an agent, at first no farther than they were.

    Parameters
    ----------
    cells_x, cells_y, cells_row, cells_start, z, slope_x, slope_y, step, plane, per_metre, slot, wanted : as
        for `find_nearest`
    farthest : float32, m
        An agent farther away is no neighbour.
    margin : float32, m
        How much farther than last time the last neighbour is looked for at first.
    row : uint64
        Of the agent.
    reaches : (n,) float32, m
        In: the distance of the last neighbour when it was looked for last. Out: now.
    floats, slots : as for `find_nearest`

    Returns
    -------
    uint64
        How many were found.

    Notes
    -----
    Twin: `tests/reference/neighbours.py`; what is found does not depend on `margin` and `reaches`.
    """
    reach = reaches[row] + margin
    if not _F0 < reach < farthest:
        reach = farthest
    while True:  # one call, which is inlined: two are twice the machine code
        count, square = find_nearest(
            cells_x,
            cells_y,
            cells_row,
            cells_start,
            z,
            slope_x,
            slope_y,
            step,
            plane,
            per_metre,
            slot,
            wanted,
            reach,
            floats,
            slots,
        )
        if count == wanted or not reach < farthest:
            break
        reach = min(reach + reach, farthest)  # an agent left: look farther
    reaches[row] = np.sqrt(square)
    return count


@inlined_kernel
def gather_neighbours(states, width, count, floats, slots, neighbours):
    """Lay out what is known of the neighbours found, by area; `width` is the number of floats in a state.

    Slots behind those of the neighbours are read, and name some agent; up to 15 places behind are
    overwritten.
    """
    for first in range(_U0, count, _U16):
        store(neighbours, NEIGHBOUR_X + first, load(floats, NEAR_X + first))
        store(neighbours, NEIGHBOUR_Y + first, load(floats, NEAR_Y + first))
        vx, vy, radius, share = load_records(states, width, slots, CHOSEN + first)
        store(neighbours, NEIGHBOUR_VX + first, vx)
        store(neighbours, NEIGHBOUR_VY + first, vy)
        store(neighbours, NEIGHBOUR_RADIUS + first, radius)
        store(neighbours, NEIGHBOUR_SHARE + first, share)


class ChooserArguments(NamedTuple):
    """The arguments of a chooser: a range of slots, what it sees, and its parameters."""

    start: int
    stop: int
    cells: Cells
    states: NDArray[np.float32]
    columns: Columns
    frame: WallFrame | None
    parameters: Any
    margin: np.float32
    out: Choice

    def rows(self, slots: NDArray[np.uint32], places: Any) -> NDArray[np.int64]:
        """Return the rows of the neighbours that stand at `places` (nearest first) in the workspace `slots`
        after a kernel was called.
        """
        return np.asarray(self.cells.row[_slots_at(slots, places)], dtype=np.int64)

    def entities(self, slots: NDArray[np.uint32], places: Any) -> NDArray[np.int64]:
        """Return the ids of the same neighbours."""
        return self.columns.entity[_slots_at(slots, places)]


def _slots_at(slots: NDArray[np.uint32], places: Any) -> NDArray[np.int64]:
    return slots[int(CHOSEN) + np.asarray(places, dtype=np.int64)].astype(np.int64)


class NeighbourModel(StatelessModel, ABC):
    """A model that gathers the neighbours of each agent and lets one kernel choose.

    What is left to write is parameters, `kernel_parameters`, the kernel, and the reasons of a choice.

    What guides the search for neighbours is the column `reach`, which belongs to the caller: nothing is
    remembered here.

    Attributes
    ----------
    chooser : kernel
        Called as ``chooser(start, stop, cells, states, columns, frame, parameters, margin, out)`` for ranges
        of slots.
    """

    chooser: ClassVar[Callable[..., None]]

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._states, self._entities = np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int64)
        self._walls: Walls | None = None
        self._frame: WallFrame | None = None

    def side_reference(self, view: CrowdView) -> NDArray[np.float64] | None:
        """Return the velocities by which sides are chosen, (n, 2) in m/s; None where sides are not chosen."""
        return None

    @abstractmethod
    def kernel_parameters(self, tick_length: float) -> Any:
        """Return the parameters of the kernel, for ticks of `tick_length` seconds."""

    @abstractmethod
    def reasons_of(
        self, entity: int, row: int, arguments: ChooserArguments, choice: Choice
    ) -> list[NDArray[Any]]:
        """Return the reasons of one agent, arrays of `REASON_DTYPE`;
        `arguments` are the arguments of `chooser` for this agent alone.
        """

    def reason_rows(self) -> int:
        """Return how many reasons an agent has in a tick, some:
        one for each neighbour and two walls, what was preferred and chosen.
        """
        return int(self.parameters.neighbour_count) + 4

    def prepare(self, capacity: int) -> None:
        """Make room for `capacity` agents."""
        needed = int(FULL_STATE_FLOATS) * capacity
        if len(self._states) < needed:
            self._states, self._entities = np.empty(needed, np.float32), np.empty(capacity, np.int64)

    def choose(self, view: CrowdView, tick_length: float, team: Team, out: Choice) -> None:
        """Choose a velocity for all agents; see `AvoidanceModel`."""
        count = len(view.entity)
        if not count:
            return
        self.prepare(count)
        if view.walls is not self._walls:
            frame = wall_frame(view.walls)
            self._walls, self._frame = view.walls, held_like(view.walls.start, frame)
        fastest = max(
            team.run(
                gather_states,
                count,
                view.cells,
                view.entity,
                view.velocity,
                self.side_reference(view),
                view.radius,
                view.active,
                self._entities,
                self._states,
            )
        )
        margin = np.float32(MARGIN_TICKS * tick_length * float(fastest) + MARGIN_M)
        team.run(
            self.chooser,
            count,
            view.cells,
            self._states,
            self._columns(view),
            self._frame,
            self.kernel_parameters(tick_length),
            margin,
            out,
        )

    def explain(
        self, view: CrowdView, tick_length: float, rows: NDArray[np.int64], choice: Choice
    ) -> NDArray[Any]:
        """Return what the kernel worked with for some agents; see `crowdsim.avoidance.explain`.

        The choice is made once more for each of them, by the same kernel, whose workspace can then be read.
        """
        columns, again, parameters = (
            self._columns(view)._replace(reach=view.reach.copy()),
            empty_choice(len(view.entity)),
            self.kernel_parameters(tick_length),
        )
        parts = [np.zeros(0, dtype=REASON_DTYPE)]
        for row in rows.tolist():
            slot = int(view.cells.slot[row])
            arguments = ChooserArguments(
                slot,
                slot + 1,
                view.cells,
                self._states,
                columns,
                self._frame,
                parameters,
                np.float32(MARGIN_M),
                again,
            )
            parts.extend(self.reasons_of(int(view.entity[row]), row, arguments, choice))
        return np.concatenate(parts)

    def _columns(self, view: CrowdView) -> Columns:
        return Columns(
            self._entities,
            view.velocity,
            view.preferred_velocity,
            view.radius,
            view.maximum_speed,
            view.deciding(),
            view.zone,
            view.reach,
        )
