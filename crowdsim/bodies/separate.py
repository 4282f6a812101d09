"""Collision resolution: discs that overlap are pushed apart, and nobody is pushed into a wall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies import contacts
from crowdsim.geometry.cells import CellIndex, Cells, Heights
from crowdsim.geometry.wall_frame import WallFrame, wall_frame
from crowdsim.geometry.walls import Walls
from crowdsim.lanes import LANES
from crowdsim.threads import Team
from crowdsim.tunable import param

Rows = dict[str, NDArray[Any]]  # buffers of one number a slot, by name

_LEAST_CAPACITY = 64  # Neighbours of one disc that there is room for at first; grows when a pile needs more.


class Now(NamedTuple):
    """Discs by slot.

    Attributes
    ----------
    x, y : (n + 16,) float64, m
    radius : (n,) float64, m
    radius32 : (n + 16,) float32, m
    movable : (n,) uint8
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    radius: NDArray[np.float64]
    radius32: NDArray[np.float32]
    movable: NDArray[np.uint8]


@dataclass(frozen=True)
class Overlaps:
    """Overlaps of a crowd: pairs that overlap by more than a micrometre, the deepest overlap (m), and the sum over all pairs (m)."""

    count: int
    deepest: float
    total: float


def _overlaps(rows: Rows) -> Overlaps:
    """Return the overlaps of the crowd from those of each disc."""
    return Overlaps(int(rows["count"].sum()) // 2, float(rows["deepest"].max()), int(rows["total"].sum()) / 2.0 / contacts.FINE)


class Separation(NamedTuple):
    """What a separation found and left."""

    before: Overlaps
    after: Overlaps


@dataclass(frozen=True)
class SeparationParameters:
    """What can be tuned."""

    passes: int = param(
        3, "", low=0, high=100, source="S2 section 8 and section 10",
        why="enough that a walking crowd shows no overlap; more brings dense crowds to rest sooner and costs their time, 0 lets bodies overlap",
    )


class Separator:
    """Pushes overlapping discs apart, in buffers that are kept.

    Parameters
    ----------
    parameters : SeparationParameters, optional
    """

    def __init__(self, parameters: SeparationParameters | None = None) -> None:
        self.parameters = parameters or SeparationParameters()
        self._index = CellIndex()
        self._capacity = _LEAST_CAPACITY
        self._rows: dict[str, NDArray[Any]] = {}
        self._contacts: tuple[NDArray[np.uint32], NDArray[np.bool_], NDArray[np.float64]] = (
            np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.bool_), np.empty((0, 4)),
        )
        self._walls: Walls | None = None
        self._frame: WallFrame | None = None

    def separate(
        self,
        position: NDArray[np.float64],
        radius: NDArray[np.float64],
        movable: NDArray[np.uint8],
        layer: NDArray[np.int32],
        zone: NDArray[np.int64],
        wall_distance: NDArray[np.float32],
        walls: Walls,
        team: Team,
        out: NDArray[np.float64],
        heights: Heights | None = None,
    ) -> Separation:
        """Push discs apart by a few Jacobi passes.

        Neither the sum nor the depth of overlaps ever rises. What comes out does not depend on the number of threads or on the order of cells,
        and mirrored or turned crowds are parted as mirror images.

        Parameters
        ----------
        position : (n, 2) float64, m
            Tentative positions; rows in ascending entity id, which decides between centres that coincide.
        radius : (n,) float64, m, >= 0
        movable : (n,) uint8
            0: is never pushed; others make way all the way.
        layer : (n,) int32
            Floor; discs on different floors do not touch.
        zone : (n,) int64
            Row of the wall lists.
        wall_distance : (n,) float32, m
            Lower bound of the distance from `position` to any wall; 0 where unknown. It only saves time.
        walls : Walls
        team : Team
        out : (n, 2) float64, m
            Receives the positions afterwards. Must not alias `position`.
        heights : Heights, optional
            Ground that is not level: discs touch only where they share it.

        Returns
        -------
        Separation

        Notes
        -----
        Source: S2, section 8. The rule of a pass is in `contacts.push_apart`, why it never does harm in `contacts.scale_pushes`.
        """
        n = len(radius)
        nothing = Overlaps(0, 0.0, 0.0)
        out[:] = position
        if not n:
            return Separation(nothing, nothing)
        if walls is not self._walls:
            self._walls, self._frame = walls, wall_frame(walls)
        self._reserve(n)
        rows = {name: array[: n + (LANES if name in _PADDED else 0)] for name, array in self._rows.items()}
        cells = self._index.build(position, layer, cell_size=max(2.2 * float(radius.mean()), 0.1), heights=heights)
        now = Now(rows["x"], rows["y"], rows["radius"], rows["radius32"], rows["movable"])
        widest = max(team.run(contacts.gather_discs, n, cells, radius, movable, now))
        rows["gap"][:] = 0.0
        self._scan(team, n, cells, now, widest, 0.0, 0.0, rows)
        before = after = _overlaps(rows)
        drift = 0.0
        for _ in range(self.parameters.passes):
            if after.count == 0:
                break
            now, after, drift = self._pass(team, n, cells, now, widest, drift, after, rows, (zone, wall_distance, walls.reach))
        if drift > 0.0:
            team.run(contacts.scatter_positions, n, cells, now.x, now.y, out)
        return Separation(before, after)

    def _pass(
        self, team: Team, n: int, cells: Cells, now: Now, widest: float, drift: float, before: Overlaps, rows: Rows, ground: tuple[Any, ...]
    ) -> tuple[Now, Overlaps, float]:
        """Push once; return where the discs are then, how they overlap, and how far they have moved at most since `cells` was built."""
        walls_of = (drift, self._frame, *ground)
        listed = self._list(team, n, rows, (cells, now, self._capacity, widest, *walls_of))
        known_gap = rows["gap"].copy()
        for guarded in (False, True):  # divided pushes hardly ever do harm; where they would, the guarded ones take over, which never do
            if guarded:
                rows["gap"][:] = known_gap
                while -1 in team.run(contacts.scale_pushes, n, cells, now, self._capacity, widest, *walls_of, *listed):
                    self._capacity *= 2
            moved = max(team.run(contacts.push_apart, n, cells, now, *walls_of, *listed, guarded, rows["new_x"], rows["new_y"]))
            pushed = now._replace(x=rows["new_x"], y=rows["new_y"])
            self._scan(team, n, cells, pushed, widest, drift + moved, moved, rows)
            after = _overlaps(rows)
            if after.total <= before.total and after.deepest <= before.deepest:
                break
        rows["new_x"], rows["new_y"] = now.x, now.y
        return pushed, after, drift + moved

    def _scan(self, team: Team, n: int, cells: Cells, now: Now, widest: float, drift: float, moved: float, rows: Rows) -> None:
        """Count overlaps, with more room where a pile needs it."""
        gap = rows["gap"]
        known = gap.copy() if self._capacity < n else gap
        found = (rows["count"], rows["deepest"], rows["total"])
        while -1 in team.run(contacts.scan_contacts, n, cells, now, self._capacity, widest, drift, moved, gap, *found):
            self._capacity *= 2
            gap[:] = known

    def _list(self, team: Team, n: int, rows: Rows, arguments: tuple[Any, ...]) -> tuple[NDArray[Any], ...]:
        """List the contacts that were counted."""
        first = rows["first"]
        np.cumsum(rows["count"], out=first[1 : n + 1])
        needed = int(first[n])
        if needed > len(self._contacts[0]):
            self._contacts = np.empty(2 * needed, dtype=np.uint32), np.empty(2 * needed, dtype=np.bool_), np.empty((2 * needed, 4))
        team.run(contacts.list_contacts, n, *arguments, first, *self._contacts)
        return first, *self._contacts

    def _reserve(self, n: int) -> None:
        """Make room for `n` discs."""
        if self._rows and len(self._rows["radius"]) >= n + LANES:
            return
        size = max(2 * n, 64) + LANES
        kinds = {"radius32": np.float32, "movable": np.uint8, "count": np.int64, "total": np.int64, "first": np.int64}
        names = ("x", "y", "new_x", "new_y", "radius", "radius32", "movable", "gap", "count", "deepest", "total", "first")
        self._rows = {name: np.zeros(size, dtype=kinds.get(name, np.float64)) for name in names}


_PADDED = ("x", "y", "new_x", "new_y", "radius32", "first")
