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
from crowdsim.avoidance.model import Choice, CrowdView, StatelessModel
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


# Places of what an agent chooses by, in a float64 array by slot; with all eight it is a line of the cache.
OWN_VX, OWN_VY, OWN_PREFERRED_X, OWN_PREFERRED_Y, OWN_RADIUS, OWN_MAXIMUM, OWN_REACH, OWN_DECIDES = (
    np.uint64(place) for place in range(8)
)
# Places of what it has chosen, in the same array. The reach stays in its place.
TOLD_VX, TOLD_VY, TOLD_BLOCKER, TOLD_DIAGNOSIS, TOLD_COUNT, TOLD_SAMPLES = (
    np.uint64(place) for place in range(6)
)
OWN_NUMBERS, OWN_IDS = 8, 2  # of one agent
OWN_ENTITY, OWN_ZONE = np.uint64(0), np.uint64(1)  # Places of its ids.
_LINE_BYTES = 64  # of the cache


class Columns(NamedTuple):
    """The columns of `CrowdView` that are packed for the kernels of models, by row; `decides` as
    `CrowdView.deciding` gives it.
    """

    entity: NDArray[np.int64]
    velocity: NDArray[np.float64]
    preferred_velocity: NDArray[np.float64]
    radius: NDArray[np.float64]
    maximum_speed: NDArray[np.float64]
    active: NDArray[np.uint8]
    decides: NDArray[np.uint8]
    zone: NDArray[np.int64]
    reach: NDArray[np.float32]


class Own(NamedTuple):
    """What agents choose by, in cell order, and what they have chosen.

    Rows lie anywhere in memory as seen in cell order: here one line of the cache has what else lies in eight.

    Attributes
    ----------
    numbers : (n, 8) float64
        In: velocity and preferred velocity (m/s), radius (m), maximum speed (m/s), the distance of the last
        neighbour when it was looked for last (m), and 1 for one that decides and is asked, else 0. A chooser
        writes with `tell` over those of its slots what it has chosen.
    ids : (n, 2) int64
        Entity, and row of the wall lists.
    """

    numbers: NDArray[np.float64]
    ids: NDArray[np.int64]


@lean_kernel
def pack_agents(start, stop, slot_of_row, columns, side_reference, own, states):
    """Copy what agents choose by, and their states as neighbours see them, into cell order.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    slot_of_row : (n,) uint32
        As in `Cells`.
    columns : Columns
    side_reference : (n, 2) float64, m/s, or None
        The velocity by which sides are chosen.
    own : Own
        Receives what they choose by.
    states : (4 n,) or, with `side_reference`, (6 n,) float32
        Receives for each slot velocity, radius, the share that the other one takes of avoiding it: 1/2, or 1
        of one that stands or keeps its velocity, and `side_reference`; agents that stand have no velocities.

    Returns
    -------
    float32, m/s
        The greatest component of a velocity in this range.

    Notes
    -----
    Twin: `tests/reference/neighbour_model.py`.
    """
    entity, velocity, preferred, radius, maximum, active, decides, zone, reach = columns
    numbers, ids = own
    fastest = _F0
    width = STATE_FLOATS if side_reference is None else FULL_STATE_FLOATS
    for row in range(np.uint64(start), np.uint64(stop)):
        ahead = row_ahead(slot_of_row, row)
        prefetch(numbers, ahead * np.uint64(OWN_NUMBERS))
        prefetch(ids, ahead + ahead)
        prefetch(states, ahead * width)
        slot = np.uint64(slot_of_row[row])
        place, moves = slot * width, active[row] != 0
        numbers[slot, OWN_VX], numbers[slot, OWN_VY] = velocity[row, 0], velocity[row, 1]
        numbers[slot, OWN_PREFERRED_X] = preferred[row, 0]
        numbers[slot, OWN_PREFERRED_Y] = preferred[row, 1]
        numbers[slot, OWN_RADIUS], numbers[slot, OWN_MAXIMUM] = radius[row], maximum[row]
        numbers[slot, OWN_REACH], numbers[slot, OWN_DECIDES] = reach[row], decides[row]
        ids[slot, OWN_ENTITY], ids[slot, OWN_ZONE] = entity[row], zone[row]
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
def tell(numbers, slot, vx, vy, blocker, diagnosis, count, samples):
    """Write what an agent has chosen over what it chose by."""
    numbers[slot, TOLD_VX], numbers[slot, TOLD_VY], numbers[slot, TOLD_BLOCKER] = vx, vy, blocker
    numbers[slot, TOLD_DIAGNOSIS], numbers[slot, TOLD_COUNT] = diagnosis, count
    numbers[slot, TOLD_SAMPLES] = samples


@lean_kernel
def unpack_choices(start, stop, slot_of_row, own, reach, out):
    """Copy what agents have chosen, and how far their last neighbour is, into the order of rows.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    slot_of_row : (n,) uint32
        As in `Cells`.
    own : Own
        As a chooser left it.
    reach : (n,) float32, m
    out : Choice

    Notes
    -----
    Twin: `tests/reference/neighbour_model.py`.
    """
    numbers = own.numbers
    chosen, diagnoses, blockers, neighbour_counts, samples = out
    for row in range(np.uint64(start), np.uint64(stop)):
        prefetch(numbers, row_ahead(slot_of_row, row) * np.uint64(OWN_NUMBERS))
        slot = np.uint64(slot_of_row[row])
        chosen[row, 0], chosen[row, 1] = numbers[slot, TOLD_VX], numbers[slot, TOLD_VY]
        blockers[row] = np.int64(numbers[slot, TOLD_BLOCKER])
        diagnoses[row] = np.uint8(numbers[slot, TOLD_DIAGNOSIS])
        neighbour_counts[row] = np.int32(numbers[slot, TOLD_COUNT])
        samples[row] = np.int32(numbers[slot, TOLD_SAMPLES])
        reach[row] = np.float32(numbers[slot, OWN_REACH])


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
    numbers,
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
    numbers : (n, 8) float64
        Of `Own`. In: the distance of the last neighbour when it was looked for last. Out: now.
    floats, slots : as for `find_nearest`

    Returns
    -------
    uint64
        How many were found.

    Notes
    -----
    Twin: `tests/reference/neighbours.py`; what is found does not depend on `margin` and that distance.
    """
    reach = np.float32(numbers[slot, OWN_REACH]) + margin
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
    numbers[slot, OWN_REACH] = np.sqrt(square)
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
    own: Own
    frame: WallFrame | None
    parameters: Any
    margin: np.float32

    def rows(self, slots: NDArray[np.uint32], places: Any) -> NDArray[np.int64]:
        """Return the rows of the neighbours that stand at `places` (nearest first) in the workspace `slots`
        after a kernel was called.
        """
        return np.asarray(self.cells.row[_slots_at(slots, places)], dtype=np.int64)

    def entities(self, slots: NDArray[np.uint32], places: Any) -> NDArray[np.int64]:
        """Return the ids of the same neighbours."""
        return self.own.ids[_slots_at(slots, places), OWN_ENTITY]


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
        Called as ``chooser(start, stop, cells, states, own, frame, parameters, margin)`` for ranges of slots.
    """

    chooser: ClassVar[Callable[..., None]]

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._own, self._states = _empty_own(0), np.empty(0, dtype=np.float32)
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
        self, entity: int, row: int, arguments: ChooserArguments, choice: Choice, view: CrowdView
    ) -> list[NDArray[Any]]:
        """Return the reasons of one agent, arrays of `REASON_DTYPE`;
        `arguments` are the arguments of `chooser` for this agent alone, which is called once.
        """

    def reason_rows(self) -> int:
        """Return how many reasons an agent has in a tick, some:
        one for each neighbour and two walls, what was preferred and chosen.
        """
        return int(self.parameters.neighbour_count) + 4

    def prepare(self, capacity: int) -> None:
        """Make room for `capacity` agents."""
        if len(self._own.ids) < capacity:
            self._own, self._states = _empty_own(capacity), _empty_states(capacity)

    def choose(self, view: CrowdView, tick_length: float, team: Team, out: Choice) -> None:
        """Choose a velocity for all agents; see `AvoidanceModel`."""
        count = len(view.entity)
        if not count:
            return
        self.prepare(count)
        if view.walls is not self._walls:
            frame = wall_frame(view.walls)
            self._walls, self._frame = view.walls, held_like(view.walls.start, frame)
        slots, own, states = view.cells.slot, self._own, self._states
        fastest = max(
            team.run(pack_agents, count, slots, _columns(view), self.side_reference(view), own, states)
        )
        margin = np.float32(MARGIN_TICKS * tick_length * float(fastest) + MARGIN_M)
        parameters = self.kernel_parameters(tick_length)
        team.run(self.chooser, count, view.cells, states, own, self._frame, parameters, margin)
        team.run(unpack_choices, count, slots, own, view.reach, out)

    def explain(
        self, view: CrowdView, tick_length: float, rows: NDArray[np.int64], choice: Choice
    ) -> NDArray[Any]:
        """Return what the kernel worked with for some agents; see `crowdsim.avoidance.explain`.

        The choice is made once more for each of them, by the same kernel, whose workspace can then be read.
        """
        parts, count = [np.zeros(0, dtype=REASON_DTYPE)], len(view.entity)
        own, states = _empty_own(count), _empty_states(count)
        pack_agents(0, count, view.cells.slot, _columns(view), self.side_reference(view), own, states)
        parameters, margin = self.kernel_parameters(tick_length), np.float32(MARGIN_M)
        for row in rows.tolist():
            slot = int(view.cells.slot[row])
            arguments = ChooserArguments(
                slot, slot + 1, view.cells, states, own, self._frame, parameters, margin
            )
            parts.extend(self.reasons_of(int(view.entity[row]), row, arguments, choice, view))
        return np.concatenate(parts)


def _columns(view: CrowdView) -> Columns:
    return Columns(
        view.entity, view.velocity, view.preferred_velocity, view.radius, view.maximum_speed, view.active,
        view.deciding(), view.zone, view.reach,
    )  # fmt: skip


def _empty_states(capacity: int) -> NDArray[np.float32]:
    return np.empty(int(FULL_STATE_FLOATS) * capacity, dtype=np.float32)


def _empty_own(capacity: int) -> Own:
    """Return room for `capacity` agents, the numbers of each in a line of the cache."""
    room = np.empty(capacity * OWN_NUMBERS + _LINE_BYTES // 8)
    first = -room.ctypes.data % _LINE_BYTES // 8
    numbers = room[first : first + capacity * OWN_NUMBERS].reshape(capacity, OWN_NUMBERS)
    return Own(numbers, np.empty((capacity, OWN_IDS), dtype=np.int64))
