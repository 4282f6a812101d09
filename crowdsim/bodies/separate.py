"""Collision resolution: discs that overlap are pushed apart, and none is pushed into a wall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies import contacts, recount
from crowdsim.bodies.clearance import Barriers, barriers, move_off_walls
from crowdsim.geometry.cells import CellIndex, Cells, Heights
from crowdsim.geometry.walls import Walls
from crowdsim.kernels.held_pages import held_like
from crowdsim.kernels.simd import LANES
from crowdsim.kernels.threads import Team
from crowdsim.tunable import param

Rows = dict[str, NDArray[Any]]  # buffers of one number a slot, by name

# Of further passes: the share of its last displacement that a disc goes on with. With 0.9 two crowds of 100
# in a corridor, with 150 contacts over 2 cm, still overlap by 5 cm after 1,000 passes; with 0.97 by less than
# 3 after 200 to 600. A thousand at four doors take no more passes than with 0.9.
SWING = 0.97
# A further pass that moves no disc farther than this is the last: what is wedged between walls would cost all
# of them in every tick.
STILL_M = 1e-4
# Where further passes leave a pair overlapping by more than this times what ends them, the knot that it is
# in takes its step back, and what is left is pushed again. Others may then step into the knot; so that goes
# on, but only for what comes near 5 cm: where each round asks for 1.5, too many stand, and crowds that meet
# stand for good under sampled-hrvo.
STEPS_BACK = (1.5, 2.25, 2.25, 2.25)
# Where passes move no disc any more, further ones follow from this share of that depth on: among discs as
# dense as four of 0.5 m a square metre, passes that do no harm end with 2 cm left, which nothing would ever
# part.
WEDGED = 0.1
SLIGHT_M = 1e-3  # Overlaps from this depth on join discs to a knot.
# Where more than this share of discs have moved since their overlaps were counted, or one has moved farther
# than this, all are counted anew: that costs less then.
_MOST_MOVED, _FARTHEST_MOVED_M = 0.125, 0.5
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


class Past(NamedTuple):
    """Where discs were, by slot.

    Attributes
    ----------
    old_x, old_y : (n + 16,) float64, m
        Before the last pass.
    first_x, first_y : (n + 16,) float64, m
        Before the first of the further passes.
    """

    old_x: NDArray[np.float64]
    old_y: NDArray[np.float64]
    first_x: NDArray[np.float64]
    first_y: NDArray[np.float64]


@dataclass(frozen=True)
class Overlaps:
    """Overlaps of a crowd: pairs that overlap by more than a micrometre, the deepest overlap (m),
    and the sum over all pairs (m).
    """

    count: int
    deepest: float
    total: float


_NOTHING = Overlaps(0, 0.0, 0.0)


def _overlaps(found: list[tuple[int, float, int]]) -> Overlaps:
    """Return the overlaps of the crowd from those of ranges of discs."""
    overlaps, depth, depths = found[0]
    for count, deepest, total in found[1:]:
        overlaps, depth, depths = overlaps + count, max(depth, deepest), depths + total
    return Overlaps(overlaps // 2, depth, depths / 2.0 / contacts.FINE)


def _is_better(after: Overlaps, least: Overlaps, most: float) -> bool:
    """Return whether overlaps are less deep than the least so far and not more than `most` in all,
    or no deeper and less in all; micrometres do not count.
    """
    if after.deepest < least.deepest - contacts.TOUCH_M:
        return after.total <= most
    return after.deepest <= least.deepest and after.total < least.total - contacts.TOUCH_M


class Separation(NamedTuple):
    """What a separation found and left."""

    before: Overlaps
    after: Overlaps


class _Left(NamedTuple):
    """Discs as they were left, with their overlaps by slot.

    Attributes
    ----------
    cells : Cells
    now : Now
    widest, drift : float, m
        Greatest radius; how far discs have moved at most since `cells` was built.
    rows : dict of str to array
    layer : (n,) int32
        By row.
    """

    cells: Cells
    now: Now
    widest: float
    drift: float
    rows: Rows
    layer: NDArray[np.int32]


@dataclass(frozen=True)
class SeparationParameters:
    """What can be tuned."""

    passes: int = param(
        3,
        "",
        low=0,
        high=100,
        source="[Pathfinding undated], sections 8 and 10",
        why=(
            "enough that a walking crowd shows no overlap; more brings dense crowds to rest sooner and "
            "costs their time, 0 lets bodies overlap"
        ),
    )
    deepest_overlap: float = param(
        0.02,
        "m",
        low=0.0,
        high=10.0,
        source="ours",
        why="where bodies overlap by more than this after those passes, further ones follow: what clothes "
        "give. Avoidance presses a dense knot together by "
        "1 to 2 cm in a tick, so 3 passes alone let it go on to 10 cm; smaller costs dense crowds more "
        "time, larger shows",
    )
    further_passes: int = param(
        600,
        "",
        low=0,
        high=1000,
        source="ours",
        why=(
            "at most so many of them: crowds of 100 that meet in a corridor keep 8 cm with 60 and 5.5 with "
            "300; hardly any tick takes them all"
        ),
    )
    fastest_push: float = param(
        6.0,
        "m/s",
        above=0.0,
        high=1000.0,
        source="ours",
        why="those passes move no agent faster than this beyond its step: without a bound the middle of a "
        "press is thrown 0.7 m in a tick, past others; at 4 "
        "crowds of 100 that meet in a corridor take a third longer under sampled-hrvo and overlap by 5 cm, "
        "at 2 they stand for good",
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
        self._rows: Rows = {}
        self._contacts: tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.float64]] = (
            np.empty(0, dtype=np.uint32),
            np.empty(0, dtype=np.uint8),
            np.empty((0, contacts.TABLE_COLUMNS)),
        )
        self._left: _Left | None = None  # known where ground is level
        self._gaps_owe = 0.0  # how far discs have moved since their gaps were looked at, m
        self._seen: tuple[Walls | None, Walls | None] = (None, None)
        self._barriers: Barriers | None = None

    def separate(
        self,
        before: NDArray[np.float64],
        position: NDArray[np.float64],
        radius: NDArray[np.float64],
        movable: NDArray[np.uint8],
        layer: NDArray[np.int32],
        zone: NDArray[np.int64],
        wall_distance: NDArray[np.float32],
        walls: Walls,
        tick_length: float,
        team: Team,
        out: NDArray[np.float64],
        heights: Heights | None = None,
        open_edges: Walls | None = None,
    ) -> Separation:
        """Push discs apart by a few Jacobi passes, and further ones where something is deep.

        Neither the sum nor the depth of overlaps ever rises. What comes out does not depend on the number of
        threads or on the order of cells, and mirrored or turned crowds are parted as mirror images.

        Parameters
        ----------
        before : (n, 2) float64, m
            Positions before this tick's step, off walls: where discs of a knot go back to if further passes
            do not loosen it.
        position : (n, 2) float64, m
            Tentative positions; rows in ascending entity id, which decides between centres that coincide.
        radius : (n,) float64, m, >= 0
        movable : (n,) uint8
            0: is never pushed; others make all of the room. 1: is pushed. 2: is never pushed, and does not
            count as overlapping others that are 2.
        layer : (n,) int32
            Floor; discs on different floors do not touch.
        zone : (n,) int64
            Row of the wall lists.
        wall_distance : (n,) float32, m
            Lower bound of the distance from `position` to any wall, and of `radius` and the distance to any
            open edge; 0 where unknown. It only saves time.
        walls : Walls
        tick_length : float, s
        team : Team
        out : (n, 2) float64, m
            Receives the positions afterwards. Must not alias `before` or `position`.
        heights : Heights, optional
            Ground that is not level, under `position`: discs touch only where they share it.
        open_edges : Walls, optional
            Edges of the ground without walls, with lists for the same zones: centres stay on their free side.

        Returns
        -------
        Separation

        Notes
        -----
        Source: [Pathfinding undated], section 8. The rule of a pass is in `contacts.push_apart`, why it never
        does harm in `contacts.scale_pushes`.
        """
        if not len(radius):
            out[:] = position
            return Separation(_NOTHING, _NOTHING)
        self._see(walls, open_edges)
        discs = radius, movable, layer, zone
        parted = first = self._part(
            position, *discs, wall_distance, walls.reach, tick_length, team, out, heights
        )
        fewer, own = position, self.parameters
        for too_deep in STEPS_BACK if own.further_passes else ():
            if parted.after.deepest <= too_deep * own.deepest_overlap:
                break
            stands = self._knots(out, *discs, walls.reach, too_deep * own.deepest_overlap, team, heights)
            if (fewer[stands] == before[stands]).all():
                break
            fewer, clear = fewer.copy(), np.where(stands, np.float32(0.0), wall_distance)
            fewer[stands], wall_distance = before[stands], clear
            parted = self._part(fewer, *discs, wall_distance, walls.reach, tick_length, team, out, heights)
        return Separation(first.before, parted.after)

    def _part(
        self,
        position: NDArray[np.float64],
        radius: NDArray[np.float64],
        movable: NDArray[np.uint8],
        layer: NDArray[np.int32],
        zone: NDArray[np.int64],
        wall_distance: NDArray[np.float32],
        reach: float,
        tick_length: float,
        team: Team,
        out: NDArray[np.float64],
        heights: Heights | None,
    ) -> Separation:
        """Do what `separate` says, with one set of tentative positions."""
        n = len(radius)
        cells, now, widest, rows, before = self._look(position, radius, movable, layer, team, heights)
        after = counted = before
        drift, ground = 0.0, (zone, wall_distance, reach)
        moved = np.inf
        for _ in range(self.parameters.passes):
            if after.count == 0:
                break
            now, after, drift, moved = self._pass(team, n, cells, now, widest, drift, after, rows, ground)
            counted = after
        tolerated = self.parameters.deepest_overlap * (WEDGED if moved < STILL_M else 1.0)
        if after.deepest > tolerated:
            now, after, drift, counted = self._loosen(
                team, n, cells, now, widest, drift, after, rows, ground, tick_length, tolerated
            )
        if heights is None and counted is after:
            self._left = _Left(cells, now, widest, drift, rows, layer.copy())
        if drift > 0.0:
            team.run(contacts.scatter_positions, n, cells, now.x, now.y, out)
        else:
            out[:] = position
        return Separation(before, after)

    def _knots(
        self,
        position: NDArray[np.float64],
        radius: NDArray[np.float64],
        movable: NDArray[np.uint8],
        layer: NDArray[np.int32],
        zone: NDArray[np.int64],
        reach: float,
        depth: float,
        team: Team,
        heights: Heights | None,
    ) -> NDArray[np.bool_]:
        """Return (n,) bool: movable discs that are deeper than `depth` in each other,
        and all movable ones that a chain of overlaps joins to them.
        """
        n, stands = len(radius), np.zeros(len(radius), dtype=np.bool_)
        cells, now, widest, rows, found = self._look(position, radius, movable, layer, team, heights)
        nowhere = np.zeros(n, dtype=np.float32)
        first, other, _, table = self._list(
            team, n, rows, found,
            (cells, now, self._capacity, widest, 0.0, self._barriers, zone, nowhere, reach),
        )  # fmt: skip
        listed = slice(int(first[n]))
        one, two, overlap = (
            np.repeat(np.arange(n), np.diff(first[: n + 1])),
            other[listed],
            table[listed, contacts.OVERLAP],
        )
        joined = (
            (now.movable[one] == contacts.MOVABLE)
            & (now.movable[two] == contacts.MOVABLE)
            & (overlap > SLIGHT_M)
        )
        one, two, overlap = one[joined], two[joined], overlap[joined]
        knot, known = np.zeros(n, dtype=np.bool_), -1
        knot[one[overlap > depth]] = True
        while known != (known := int(np.count_nonzero(knot))):
            knot[one[knot[two]]] = True
        stands[cells.row[:n]] = knot
        return stands

    def measure(
        self,
        position: NDArray[np.float64],
        radius: NDArray[np.float64],
        movable: NDArray[np.uint8],
        layer: NDArray[np.int32],
        team: Team,
        heights: Heights | None = None,
    ) -> Overlaps:
        """Return how discs overlap where they are; parameters as in `separate`.

        It costs little where they are those of the last call of `separate` and few have moved since.
        """
        if not len(radius):
            return _NOTHING
        left, self._left = self._left, None
        if left is None or heights is not None or len(left.layer) != len(radius):
            return self._measure_all(position, radius, movable, layer, team, heights)
        n, cells, rows = len(radius), left.cells, left.rows
        stale = np.empty(n, dtype=np.uint8)
        x, y = rows["new_x"], rows["new_y"]
        found = team.run(
            recount.find_moved, n, cells, left.now, position, radius, movable, layer, left.layer, x, y, stale
        )
        moved, farthest = sum(count for count, _ in found), max(far for _, far in found)
        if min(found)[0] < 0 or moved > _MOST_MOVED * n or farthest > _FARTHEST_MOVED_M:
            return self._measure_all(position, radius, movable, layer, team, heights)
        now = left.now._replace(x=x, y=y)
        return self._recount(
            team, n, cells, left.now, now, left.widest, left.drift, farthest, moved, stale, rows
        )

    def _recount(
        self,
        team: Team,
        n: int,
        cells: Cells,
        before: Now,
        now: Now,
        widest: float,
        drift: float,
        farthest: float,
        moved: int,
        stale: NDArray[np.uint8],
        rows: Rows,
    ) -> Overlaps:
        """Count the overlaps of the discs that have moved since they were counted, and of those beside them;
        return those of all.
        """
        while True:
            is_marked = not moved or not any(
                team.run(
                    recount.mark_beside, n, cells, before, now, self._capacity, widest, drift, farthest,
                    stale, work=moved,
                )
            )  # fmt: skip
            if is_marked:
                found = team.run(
                    recount.recount, n, cells, now, self._capacity, widest, drift + farthest, stale,
                    rows["gap"], rows["count"], rows["deepest"], rows["total"], work=moved,
                )  # fmt: skip
                if min(found)[0] >= 0:
                    return _overlaps(found)
            self._capacity *= 2  # there is no room for a pile

    def _measure_all(
        self,
        position: NDArray[np.float64],
        radius: NDArray[np.float64],
        movable: NDArray[np.uint8],
        layer: NDArray[np.int32],
        team: Team,
        heights: Heights | None,
    ) -> Overlaps:
        return self._look(position, radius, movable, layer, team, heights)[-1]

    def _look(
        self,
        position: NDArray[np.float64],
        radius: NDArray[np.float64],
        movable: NDArray[np.uint8],
        layer: NDArray[np.int32],
        team: Team,
        heights: Heights | None,
    ) -> tuple[Cells, Now, float, Rows, Overlaps]:
        """Sort discs into cells and count their overlaps;
        return the cells, the discs by slot, the greatest radius (m), the counts by slot, and all overlaps.
        """
        n, self._left = len(radius), None
        self._reserve(n)
        rows = self._rows.copy()
        cells = self._index.build(
            position, layer, max(2.2 * float(np.add.reduce(radius)) / n, 0.1), heights, team
        )
        now = Now(rows["x"], rows["y"], rows["radius"], rows["radius32"], rows["movable"])
        widest = max(team.run(contacts.gather_discs, n, cells, radius, movable, now))
        rows["gap"][:n] = 0.0
        return cells, now, widest, rows, self._scan(team, n, cells, now, widest, 0.0, 0.0, rows)

    def move_off_walls(
        self,
        position: NDArray[np.float64],
        tentative: NDArray[np.float64],
        radius: NDArray[np.float64],
        zone: NDArray[np.int64],
        wall_distance: NDArray[np.float32],
        walls: Walls,
        team: Team,
        out: NDArray[np.float64],
        clear: NDArray[np.float32],
        open_edges: Walls | None = None,
    ) -> None:
        """Move bodies that would be within walls off them; see `clearance.move_off_walls`."""
        self._see(walls, open_edges)
        team.run(
            move_off_walls,
            len(radius),
            position,
            tentative,
            radius,
            zone,
            wall_distance,
            walls.reach,
            self._barriers,
            out,
            clear,
        )

    def _see(self, walls: Walls, open_edges: Walls | None) -> None:
        """Lay out walls and open edges for kernels, if they are others than before."""
        if walls is not self._seen[0] or open_edges is not self._seen[1]:
            self._seen = walls, open_edges
            self._barriers = held_like(walls.start, barriers(walls, open_edges))

    def _pass(
        self,
        team: Team,
        n: int,
        cells: Cells,
        now: Now,
        widest: float,
        drift: float,
        before: Overlaps,
        rows: Rows,
        ground: tuple[Any, ...],
    ) -> tuple[Now, Overlaps, float, float]:
        """Push once; return where the discs are then, how they overlap,
        and how far they have moved at most since `cells` was built.
        """
        walls_of = (drift, self._barriers, *ground)
        listed = self._list(team, n, rows, before, (cells, now, self._capacity, widest, *walls_of))
        # divided pushes hardly ever do harm; where they would, the guarded ones take over, which never do
        for guarded in (False, True):
            if guarded:
                rows["gap"][:n] = 0.0  # what was known of them is not true of these pushes
                while -1 in team.run(
                    contacts.scale_pushes, n, cells, now, self._capacity, widest, *walls_of, *listed
                ):
                    self._capacity *= 2
            pushed, moved, far, after = self._push(
                team,
                n,
                cells,
                now,
                (*walls_of, *listed, guarded, 0.0, np.inf, Past(now.x, now.y, now.x, now.y)),
                widest,
                drift,
                rows,
                is_second=guarded,
            )
            if after.total <= before.total and after.deepest <= before.deepest:
                break
        rows["new_x"], rows["new_y"] = now.x, now.y
        return pushed, after, max(drift, far), moved

    def _loosen(
        self,
        team: Team,
        n: int,
        cells: Cells,
        now: Now,
        widest: float,
        drift: float,
        before: Overlaps,
        rows: Rows,
        ground: tuple[Any, ...],
        tick_length: float,
        tolerated: float,
    ) -> tuple[Now, Overlaps, float, Overlaps]:
        """Push on while something overlaps by more than `tolerated` (m);
        return the best that was come by, which is where the discs are if nothing is better, and the overlaps
        that `rows` hold in the end.

        A pass for itself may do harm here: pressure has to go through the middle layers of a knot before it
        is let out. What counts is the end.
        """
        best, least, after = now._replace(x=rows["best_x"], y=rows["best_y"]), before, before
        best.x[:], best.y[:] = now.x, now.y
        first = rows["first_x"], rows["first_y"]
        first[0][:], first[1][:] = now.x, now.y
        old, swing, spare = now, 0.0, (rows["spare_x"], rows["spare_y"])
        farthest = self.parameters.fastest_push * tick_length
        for _ in range(self.parameters.further_passes):
            listed = self._list(
                team, n, rows, after,
                (cells, now, self._capacity, widest, drift, self._barriers, *ground),
            )  # fmt: skip
            past = Past(old.x, old.y, *first)
            pushed, moved, far, after = self._push(
                team,
                n,
                cells,
                now,
                (drift, self._barriers, *ground, *listed, False, swing, farthest, past),
                widest,
                drift,
                rows,
            )
            drift = max(drift, far)
            rows["new_x"], rows["new_y"] = spare
            old, now, spare, swing = now, pushed, (now.x, now.y), SWING
            if _is_better(after, least, before.total):
                best.x[:], best.y[:], least = now.x, now.y, after
            if least.deepest <= tolerated or moved < STILL_M:
                break
        return best, least, drift, after

    def _push(
        self,
        team: Team,
        n: int,
        cells: Cells,
        now: Now,
        arguments: tuple[Any, ...],
        widest: float,
        drift: float,
        rows: Rows,
        *,
        is_second: bool = False,
    ) -> tuple[Now, float, float, Overlaps]:
        """Push once; return where the discs are then, the longest push, how far a disc is at most from where
        it was when `cells` was built, and how the discs overlap.

        With `is_second`, what is known of overlaps is that of another push from the same places.
        """
        stale = rows["stale"][:n]
        found = team.run(contacts.push_apart, n, cells, now, *arguments, rows["new_x"], rows["new_y"], stale)
        lengths, drifts, counts = zip(*found, strict=True)
        longest, far, moved = max(lengths), max(drifts), sum(counts)
        pushed = now._replace(x=rows["new_x"], y=rows["new_y"])
        if moved > _MOST_MOVED * n or is_second:
            after = self._scan(team, n, cells, pushed, widest, max(drift, far), longest, rows)
        else:
            self._gaps_owe += longest
            after = self._recount(team, n, cells, now, pushed, widest, drift, longest, moved, stale, rows)
        return pushed, longest, far, after

    def _scan(
        self,
        team: Team,
        n: int,
        cells: Cells,
        now: Now,
        widest: float,
        drift: float,
        moved: float,
        rows: Rows,
    ) -> Overlaps:
        """Count overlaps, with more room where a pile needs it."""
        moved, self._gaps_owe = moved + self._gaps_owe, 0.0
        counts = rows["gap"], rows["count"], rows["deepest"], rows["total"]
        while True:
            found = team.run(
                contacts.scan_contacts, n, cells, now, self._capacity, widest, drift, moved, *counts
            )
            if min(found)[0] >= 0:
                return _overlaps(found)
            self._capacity *= 2
            rows["gap"][:n] = 0.0  # all are looked at

    def _list(
        self, team: Team, n: int, rows: Rows, found: Overlaps, arguments: tuple[Any, ...]
    ) -> tuple[NDArray[Any], ...]:
        """List the contacts that were counted."""
        first, needed = rows["first"], 2 * found.count + 1
        if needed > len(self._contacts[0]):
            self._contacts = (
                np.empty(2 * needed, dtype=np.uint32),
                np.empty(2 * needed, dtype=np.uint8),
                np.empty((2 * needed, contacts.TABLE_COLUMNS)),
            )
        team.run(
            contacts.list_contacts, n, *arguments, rows["count"], first, *self._contacts, work=found.count
        )
        return first, *self._contacts

    def _reserve(self, n: int) -> None:
        """Make room for `n` discs."""
        if self._rows and len(self._rows["radius"]) >= n + LANES:
            return
        size = max(2 * n, 64) + LANES
        kinds = {
            "radius32": np.float32,
            "movable": np.uint8,
            "stale": np.uint8,
            "count": np.int64,
            "total": np.int64,
            "first": np.int64,
        }
        names = (*_PADDED, "radius", "movable", "stale", "gap", "count", "deepest", "total")
        self._rows = {name: np.zeros(size, dtype=kinds.get(name, np.float64)) for name in names}


_PADDED = (
    "x",
    "y",
    "new_x",
    "new_y",
    "spare_x",
    "spare_y",
    "best_x",
    "best_y",
    "first_x",
    "first_y",
    "radius32",
    "first",
)
