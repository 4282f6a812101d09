"""What the models that look round share: what agents show of themselves, who is near, the walls as kernels read them, and the step from tick to tick."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import REASON_DTYPE
from crowdsim.avoidance.model import Choice, CrowdView, StatelessModel, empty_choice
from crowdsim.avoidance.neighbours import CHOSEN, MOST_NEIGHBOURS, NEAR_X, NEAR_Y, find_nearest
from crowdsim.geometry.cells import Cells
from crowdsim.geometry.wall_frame import WallFrame, wall_frame
from crowdsim.geometry.walls import Walls
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.threads import Team

# How much farther than last tick the last neighbour is looked for at first: a guess that costs time where it is wrong, never exactness.
MARGIN_TICKS = 1.0  # ticks of walking at the crowd's greatest speed
MARGIN_M = 1e-3

# Places of what an agent shows of itself, in a float32 array by slot: velocity, radius, the share that the other one takes of avoiding it, and the
# velocity by which sides are chosen, where a model wants that.
SHOWN_VX, SHOWN_VY, SHOWN_RADIUS, SHOWN_SHARE, SHOWN_MEANT_X, SHOWN_MEANT_Y = (np.uint64(place) for place in range(6))
SHOWN, SHOWN_WITH_MEANT = np.uint64(4), np.uint64(6)  # numbers of one agent

# Areas of a float32 array with what is known of each neighbour.
_AREA = MOST_NEIGHBOURS + 16  # room for a whole set of lanes
OTHER_X, OTHER_Y, OTHER_VX, OTHER_VY, OTHER_RADIUS, OTHER_SHARE, OTHER_SIDE = (np.uint64(_AREA * area) for area in range(7))
OTHER_FLOATS = 7 * _AREA

_F0, _HALF, _WHOLE = np.float32(0.0), np.float32(0.5), np.float32(1.0)


class Columns(NamedTuple):
    """The columns of `CrowdView` that the kernels of models read, by row; `reach` is also written."""

    entity: NDArray[np.int64]
    velocity: NDArray[np.float64]
    preferred_velocity: NDArray[np.float64]
    radius: NDArray[np.float64]
    maximum_speed: NDArray[np.float64]
    active: NDArray[np.uint8]
    zone: NDArray[np.int64]
    reach: NDArray[np.float32]


@lean_kernel
def gather_shown(start, stop, cells, velocity, meant, radius, active, shown):
    """Copy what agents show of themselves into cell order.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    velocity : (n, 2) float64, m/s
    meant : (n, 2) float64, m/s, or None
        The velocity by which sides are chosen.
    radius : (n,) float64, m
    active : (n,) uint8
        As in `CrowdView`.
    shown : (4 n,) or, with `meant`, (6 n,) float32
        Receives for each slot velocity, radius, the share that the other one takes of avoiding it: 1/2, or 1 of one that stands or keeps to its way, and
        `meant`; those who stand have no velocities.

    Returns
    -------
    float32, m/s
        The greatest component of a velocity in this range.

    Notes
    -----
    Neighbours lie close together in cell order, while their rows lie anywhere: 1 to 5 ns an agent spent here save several times that later.
    Twin: `tests/reference/surroundings.py`.
    """
    fastest, cells_row = _F0, cells.row
    width = SHOWN if meant is None else SHOWN_WITH_MEANT
    for slot in range(np.uint64(start), np.uint64(stop)):
        row, place = np.uint64(cells_row[slot]), slot * width
        moves = active[row] != 0
        vx, vy = np.float32(velocity[row, 0]) if moves else _F0, np.float32(velocity[row, 1]) if moves else _F0
        shown[place + SHOWN_VX], shown[place + SHOWN_VY] = vx, vy
        shown[place + SHOWN_RADIUS], shown[place + SHOWN_SHARE] = np.float32(radius[row]), _HALF if active[row] == 1 else _WHOLE
        if meant is not None:
            shown[place + SHOWN_MEANT_X] = np.float32(meant[row, 0]) if moves else _F0
            shown[place + SHOWN_MEANT_Y] = np.float32(meant[row, 1]) if moves else _F0
        fastest = max(fastest, max(abs(vx), abs(vy)))
    return fastest


@inlined_kernel
def look_round(
    cells_x, cells_y, cells_row, cells_start, z, slope_x, slope_y, step, plane, per_metre, slot, wanted, farthest, margin, row, reaches, floats, slots
):
    """Find the nearest neighbours of an agent, at first no farther than they were.

    Parameters
    ----------
    cells_x, cells_y, cells_row, cells_start, z, slope_x, slope_y, step, plane, per_metre, slot, wanted : as for `find_nearest`
    farthest : float32, m
        Who is farther away is no neighbour.
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
            cells_x, cells_y, cells_row, cells_start, z, slope_x, slope_y, step, plane, per_metre, slot, wanted, reach, floats, slots
        )
        if count == wanted or not reach < farthest:
            break
        reach = min(reach + reach, farthest)  # someone left: look farther
    reaches[row] = np.sqrt(square)
    return count


@inlined_kernel
def meet_others(shown, width, count, floats, slots, others):
    """Lay out what is known of the neighbours found, by area; `width` is the number of numbers that each shows."""
    for place in range(count):
        other = np.uint64(slots[CHOSEN + place]) * width
        others[OTHER_X + place], others[OTHER_Y + place] = floats[NEAR_X + place], floats[NEAR_Y + place]
        others[OTHER_VX + place], others[OTHER_VY + place] = shown[other + SHOWN_VX], shown[other + SHOWN_VY]
        others[OTHER_RADIUS + place], others[OTHER_SHARE + place] = shown[other + SHOWN_RADIUS], shown[other + SHOWN_SHARE]


class Look(NamedTuple):
    """The arguments of a chooser: a range of slots, and what it sees and is told."""

    start: int
    stop: int
    cells: Cells
    shown: NDArray[np.float32]
    columns: Columns
    frame: WallFrame | None
    numbers: Any
    margin: np.float32
    out: Choice

    def rows(self, slots: NDArray[np.uint32], places: Any) -> NDArray[np.int64]:
        """Return the rows of the neighbours that stand at `places` (nearest first) in the workspace `slots` after a kernel was called."""
        return np.asarray(self.cells.row[slots[int(CHOSEN) + np.asarray(places, dtype=np.int64)].astype(np.int64)], dtype=np.int64)


class LookingModel(StatelessModel, ABC):
    """A model that looks round and lets one kernel choose; what is left to write is parameters, `numbers`, the kernel, and what it tells.

    What guides the search for neighbours is the column `reach`, which belongs to the caller: nothing is remembered here.

    Attributes
    ----------
    chooser : kernel
        Called as ``chooser(start, stop, cells, shown, columns, frame, numbers, margin, out)`` for ranges of slots.
    """

    chooser: ClassVar[Callable[..., None]]

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._shown = np.empty(0, dtype=np.float32)
        self._walls: Walls | None = None
        self._frame: WallFrame | None = None

    def meant(self, view: CrowdView) -> NDArray[np.float64] | None:
        """Return the velocities by which sides are chosen, (n, 2) in m/s; None where sides are not chosen."""
        return None

    @abstractmethod
    def numbers(self, tick_length: float) -> Any:
        """Return what the kernel is told beside the crowd, for ticks of `tick_length` seconds."""

    @abstractmethod
    def reasons_of(self, entity: int, row: int, look: Look, choice: Choice) -> list[NDArray[Any]]:
        """Return the reasons of one agent, arrays of `REASON_DTYPE`; `look` are the arguments of `chooser` for this agent alone."""

    def reason_rows(self) -> int:
        """Return how many reasons an agent has in a tick, some: one for each neighbour and two walls, what was preferred and chosen."""
        return int(self.parameters.neighbour_count) + 4

    def prepare(self, capacity: int) -> None:
        """Make room for `capacity` agents."""
        needed = int(SHOWN_WITH_MEANT) * capacity
        if len(self._shown) < needed:
            self._shown = np.empty(needed, dtype=np.float32)

    def choose(self, view: CrowdView, tick_length: float, team: Team, out: Choice) -> None:
        """Choose a velocity for everyone; see `AvoidanceModel`."""
        count = len(view.entity)
        if not count:
            return
        self.prepare(count)
        if view.walls is not self._walls:
            self._walls, self._frame = view.walls, wall_frame(view.walls)
        fastest = max(team.run(gather_shown, count, view.cells, view.velocity, self.meant(view), view.radius, view.active, self._shown))
        margin = np.float32(MARGIN_TICKS * tick_length * float(fastest) + MARGIN_M)
        team.run(self.chooser, count, view.cells, self._shown, _columns(view), self._frame, self.numbers(tick_length), margin, out)

    def explain(self, view: CrowdView, tick_length: float, rows: NDArray[np.int64], choice: Choice) -> NDArray[Any]:
        """Return what the kernel worked with for some agents; see `crowdsim.avoidance.explain`.

        The choice is made once more for each of them, by the same kernel, whose workspace can then be read.
        """
        columns, again, numbers = _columns(view)._replace(reach=view.reach.copy()), empty_choice(len(view.entity)), self.numbers(tick_length)
        parts = [np.zeros(0, dtype=REASON_DTYPE)]
        for row in rows.tolist():
            slot = int(view.cells.slot[row])
            look = Look(slot, slot + 1, view.cells, self._shown, columns, self._frame, numbers, np.float32(MARGIN_M), again)
            parts.extend(self.reasons_of(int(view.entity[row]), row, look, choice))
        return np.concatenate(parts)


def _columns(view: CrowdView) -> Columns:
    return Columns(view.entity, view.velocity, view.preferred_velocity, view.radius, view.maximum_speed, view.deciding(), view.zone, view.reach)
