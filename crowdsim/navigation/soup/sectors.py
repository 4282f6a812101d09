"""Cells are gathered into rectangles, *sectors*, and the steps between them into *portals* ([Smith 2002]).

A sector is a rectangle of cells of one surface that are all joined to those beside them there and back, and
whose heights lie in one plane: exactly on level ground, and else within half a step. From each corner cell
the largest rectangle is taken that begins there; then from what is left. A portal is a run of cells along a
side of a sector from which steps lead to one other sector. It is two-way if all of them lead there and back,
and one-way if none leads back.

Where two sectors lie beside each other, so near in height that one could step from one to the other, and no
step leads there and back, since something thin stands between them or hangs low, there is a *barrier*.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.steps import Steps, at_once
from crowdsim.kernels.decorator import inlined_kernel, kernel
from crowdsim.navigation.soup.fill import Cells
from crowdsim.navigation.soup.flood import block_beside, column_beside, level_beside
from crowdsim.navigation.soup.levels import SAME_M
from crowdsim.navigation.soup.spans import BLOCK, COLUMNS, EAST, NORTH, SOUTH, WEST

# Of two rectangles from one cell the one that is nearer to its plane is taken if it is at least so large a
# share of the other, or if the other is level over more than such a share of a side: floors stay level and
# ramps plane where they meet, and a stair is no row of treads.
LEVEL_SHARE = 0.5
PLANE_M = 0.01  # Heights that are so near to a plane lie in it.
NO_SECTOR = -1
# Steps by which planes of sectors that are joined may differ in height where they meet: cells by one, and
# each of the planes from its cells by half of one.
JOIN_STEPS = 2.0
# And cells between which there is a barrier, if no step leads there and back: planes may be nearer than cells
# by as much.
BARRIER_STEPS = 4.0
_BLOCKS_AT_ONCE = 64
MOST_ROW = 1 << 16  # Cells of a row of a sector.


class Sectors(NamedTuple):
    """Rectangles of cells.

    Attributes
    ----------
    first : (ns, 2) int32
        Column and row of the cell in the lower left corner.
    size : (ns, 2) int32
        Cells along x and y.
    z : (ns,) float64, m
        Height of the plane in the middle of the first cell.
    slope : (ns, 2) float64
        How it rises along x and y.
    surface : (ns,) uint8
    """

    first: NDArray[np.int32]
    size: NDArray[np.int32]
    z: NDArray[np.float64]
    slope: NDArray[np.float64]
    surface: NDArray[np.uint8]


class Portals(NamedTuple):
    """Runs of steps from one sector to another.

    Attributes
    ----------
    sectors : (n, 2) int32
        From and to; of a two-way portal the western or southern one first.
    side : (n,) uint8
        Of the first sector, on which the other lies.
    span : (n, 2) int32
        First and last cell along the side: rows, or columns on the north and the south side.
    is_two_way : (n,) bool
    """

    sectors: NDArray[np.int32]
    side: NDArray[np.uint8]
    span: NDArray[np.int32]
    is_two_way: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SectorGraph:
    """The ground of a fill as sectors and portals.

    Attributes
    ----------
    cell : float, m
    step : float, m
        Up to which difference in height sectors beside each other may be joined.
    sectors : Sectors
    portals : Portals
    barriers : Portals
        Two-way ones that are shut.
    """

    cell: float
    step: float
    sectors: Sectors
    portals: Portals
    barriers: Portals

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return sum(int(array.nbytes) for array in (*self.sectors, *self.portals, *self.barriers))


class _Work(NamedTuple):
    """Scratch of the search for rectangles.

    Attributes
    ----------
    column : (n,) int32
        Of each level, the number of its block times 1024 plus its column.
    sector : (n,) int32
        `NO_SECTOR` if it is in none yet.
    row, above : (k,) int32
        Levels of the last row of a rectangle, and of the one above.
    """

    column: NDArray[np.int32]
    sector: NDArray[np.int32]
    row: NDArray[np.int32]
    above: NDArray[np.int32]


@kernel
def _columns_of(flooded, column):
    for block in range(flooded.counted[0]):
        for place in range(COLUMNS):
            for level in range(flooded.start[block, place], flooded.start[block, place + 1]):
                column[level] = block * COLUMNS + place


@inlined_kernel
def _beside(lattice, flooded, work, level, side):
    where = np.int64(work.column[level])
    return level_beside(lattice, flooded, where // COLUMNS, where % COLUMNS, level, side)


@inlined_kernel
def _joined(lattice, flooded, work, level, side):
    """Return the level beside one that is joined to it there and back, is in no sector yet, and has the same
    surface; -1 if there is none.
    """
    if not flooded.mark[level] >> side & 1:
        return np.int64(-1)
    other = _beside(lattice, flooded, work, level, side)
    if work.sector[other] != NO_SECTOR or flooded.surface[other] != flooded.surface[level]:
        return np.int64(-1)
    return other


@kernel
def _largest_from(lattice, flooded, work, level, tolerance, is_level):
    """Return the largest rectangle that begins at a level, in cells along x and y, and how its plane rises
    from cell to cell along both.

    Along the first row, and then from row to row, those slopes are kept for which all heights lie within the
    tolerance of the plane through the first cell. Of them that is taken which is nearest to the slope from
    end to end.
    """
    z = np.float64(flooded.z[level])
    low, high = (0.0, 0.0) if is_level else (-np.inf, np.inf)
    work.row[0] = level
    wide = 1
    while wide < len(work.row):
        other = _joined(lattice, flooded, work, work.row[wide - 1], EAST)
        if other < 0:
            break
        rise = flooded.z[other] - z
        least, most = max(low, (rise - tolerance) / wide), min(high, (rise + tolerance) / wide)
        if least > most:
            break
        low, high = least, most
        work.row[wide] = other
        wide += 1
    along = 0.0
    if wide > 1:
        along = min(max((flooded.z[work.row[wide - 1]] - z) / (wide - 1), low), high)
    deep, best_wide, best_deep, best_across = 1, wide, 1, 0.0
    low, high = (0.0, 0.0) if is_level else (-np.inf, np.inf)
    while True:
        reached, row_low, row_high = 0, low, high
        while reached < wide:
            other = _joined(lattice, flooded, work, work.row[reached], NORTH)
            if other < 0:
                break
            if reached > 0 and _joined(lattice, flooded, work, work.above[reached - 1], EAST) != other:
                break
            rise = flooded.z[other] - z - along * reached
            least, most = max(row_low, (rise - tolerance) / deep), min(row_high, (rise + tolerance) / deep)
            if least > most:
                break
            row_low, row_high = least, most
            work.above[reached] = other
            reached += 1
        if reached == 0:
            break
        wide, low, high = reached, row_low, row_high
        deep += 1
        for k in range(wide):
            work.row[k] = work.above[k]
        if wide * deep > best_wide * best_deep:
            best_wide, best_deep = wide, deep
            best_across = min(max((flooded.z[work.row[0]] - z) / (deep - 1), low), high)
    return best_wide, best_deep, along, best_across


@kernel
def _slopes_evenly(lattice, flooded, work, level, side, count):
    """Return whether a row of so many cells on a side of one is level as a whole, or nowhere level over more
    than `LEVEL_SHARE` of it.
    """
    each, first, begin, longest = np.int64(level), flooded.z[level], 0, 0
    is_level = True
    for k in range(1, count):
        each = _beside(lattice, flooded, work, each, side)
        if abs(flooded.z[each] - first) > SAME_M:
            first, begin, is_level = flooded.z[each], k, False
        longest = max(longest, k + 1 - begin)
    return is_level or longest <= LEVEL_SHARE * count


@kernel
def _rectangle_from(lattice, flooded, work, level, tolerance):
    """Return the rectangle that is taken from a level on: on level ground, on a plane, or near one; each only
    if the one before is much smaller.
    """
    taken = _largest_from(lattice, flooded, work, level, SAME_M, True)
    for tried in (PLANE_M, tolerance):
        slanted = _largest_from(lattice, flooded, work, level, tried, False)
        if taken[0] * taken[1] < LEVEL_SHARE * slanted[0] * slanted[1] and (
            _slopes_evenly(lattice, flooded, work, level, EAST, slanted[0])
            and _slopes_evenly(lattice, flooded, work, level, NORTH, slanted[1])
        ):
            taken = slanted
    return taken


@kernel
def _take(lattice, flooded, work, level, wide, deep, number):
    """Put the cells of a rectangle into a sector."""
    begin = np.int64(level)
    for row in range(deep):
        each = begin
        for k in range(wide):
            work.sector[each] = number
            if k + 1 < wide:
                each = _beside(lattice, flooded, work, each, EAST)
        if row + 1 < deep:
            begin = _beside(lattice, flooded, work, begin, NORTH)


@kernel
def _gather(lattice, flooded, work, tolerance, cell, reach, places, only_corners, found, sectors, corner):
    """Gather the cells of some blocks of the directory into sectors.

    Returns
    -------
    place, found : int
        The first block that was not looked through to its end, since there is no room for more sectors, or
        the one after the last; and how many sectors there are.
    """
    for place in range(places[0], places[1]):
        block = flooded.made[place]
        if block < 0:
            continue
        for column in range(COLUMNS):
            for level in range(flooded.start[block, column], flooded.start[block, column + 1]):
                if work.sector[level] != NO_SECTOR:
                    continue
                if only_corners and (
                    _joined(lattice, flooded, work, level, WEST) >= 0
                    or _joined(lattice, flooded, work, level, SOUTH) >= 0
                ):
                    continue
                if found == len(sectors.z):
                    return place, found
                wide, deep, along, across = _rectangle_from(lattice, flooded, work, level, tolerance)
                _take(lattice, flooded, work, level, wide, deep, found)
                sectors.first[found, 0] = (lattice.first_x + place % lattice.wide) * BLOCK + column % BLOCK
                sectors.first[found, 1] = (lattice.first_y + place // lattice.wide) * BLOCK + column // BLOCK
                sectors.size[found, 0], sectors.size[found, 1] = wide, deep
                sectors.slope[found, 0], sectors.slope[found, 1] = along / cell, across / cell
                # a body on a slope rests on its upper edge: the ground under its middle is lower
                sectors.z[found] = flooded.z[level] - (abs(along) + abs(across)) / cell * reach
                sectors.surface[found] = flooded.surface[level]
                corner[found] = level
                found += 1
    return places[1], found


@kernel
def _near_beside(lattice, flooded, work, level, side, step):
    """Return the level of the next column that is nearest in height, -1 if none is within a step."""
    where = np.int64(work.column[level])
    block = where // COLUMNS
    column, is_beside = column_beside(where % COLUMNS, side)
    if is_beside:
        place = block_beside(lattice, flooded.place[block], side)
        block = np.int64(flooded.made[place]) if place >= 0 else np.int64(-1)
        if block < 0:
            return np.int64(-1)
    nearest, miss = np.int64(-1), np.float64(step)
    for other in range(flooded.start[block, column], flooded.start[block, column + 1]):
        apart = np.float64(abs(flooded.z[other] - flooded.z[level]))
        if apart <= miss:
            nearest, miss = np.int64(other), apart
    return nearest


@kernel
def _find_runs(lattice, flooded, work, sectors, corner, step, runs, is_barriers):
    """Find the runs of steps between sectors, or those of barriers between them; return how many there are,
    whether there is room for them or not.
    """
    found = 0
    for sector in range(len(corner)):
        wide, deep = sectors.size[sector, 0], sectors.size[sector, 1]
        for side in range(4):
            is_told_there = side == WEST or side == SOUTH  # of what leads there and back
            if is_barriers and is_told_there:
                continue
            # along the side: from west to east, or from south to north
            onward, count = (NORTH, deep) if side == EAST or side == WEST else (EAST, wide)
            each = np.int64(corner[sector])
            if side == EAST:
                for _ in range(wide - 1):
                    each = _beside(lattice, flooded, work, each, EAST)
            elif side == NORTH:
                for _ in range(deep - 1):
                    each = _beside(lattice, flooded, work, each, NORTH)
            first = sectors.first[sector, 1] if onward == NORTH else sectors.first[sector, 0]
            last_to, last_two_way, begin = np.int64(NO_SECTOR), False, 0
            for k in range(count + 1):
                to, is_two_way = np.int64(NO_SECTOR), False
                if k < count:
                    is_two_way = bool(flooded.mark[each] >> side & 1)
                    if is_barriers:
                        other = np.int64(-1)
                        if not is_two_way:
                            other = _near_beside(lattice, flooded, work, each, side, step)
                        is_two_way = True
                    else:
                        other = np.int64(-1)
                        if not (is_two_way and is_told_there):
                            other = _beside(lattice, flooded, work, each, side)
                    if other >= 0:
                        to = np.int64(work.sector[other])
                    if k + 1 < count:
                        each = _beside(lattice, flooded, work, each, onward)
                if to != last_to or is_two_way != last_two_way:
                    if last_to != NO_SECTOR:
                        if found < len(runs.side):
                            runs.sectors[found, 0], runs.sectors[found, 1] = sector, last_to
                            runs.side[found], runs.is_two_way[found] = side, last_two_way
                            runs.span[found, 0], runs.span[found, 1] = first + begin, first + k - 1
                        found += 1
                    last_to, last_two_way, begin = to, is_two_way, k
    return found


def gather(cells: Cells) -> SectorGraph:
    """Gather cells into sectors and portals; see `gather_steps`."""
    return at_once(gather_steps(cells))


def gather_steps(cells: Cells) -> Steps[SectorGraph]:
    """Gather cells into sectors and portals, resting in between.

    Parameters
    ----------
    cells : Cells

    Returns
    -------
    SectorGraph
        The same for any order of triangles and seeds.
    """
    lattice, flooded, rules = cells.lattice, cells.flooded, cells.rules
    n = len(cells)
    work = _Work(
        np.empty(n, dtype=np.int32),
        np.full(n, NO_SECTOR, dtype=np.int32),
        np.empty(MOST_ROW, dtype=np.int32),
        np.empty(MOST_ROW, dtype=np.int32),
    )
    _columns_of(flooded, work.column)
    yield "columns"
    sectors, corner, found = _room_for(1024), np.empty(1024, dtype=np.int32), 0
    for only_corners in (True, False):
        place = 0
        while place < len(flooded.made):
            place, found = _gather(
                lattice,
                flooded,
                work,
                0.5 * rules.step_up,
                rules.cell,
                lattice.reach,
                (place, min(place + _BLOCKS_AT_ONCE, len(flooded.made))),
                only_corners,
                found,
                sectors,
                corner,
            )
            if found == len(corner):
                for array in (*sectors, corner):
                    array.resize((2 * len(array), *array.shape[1:]), refcheck=False)
            yield "sectors"
    for array in (*sectors, corner):
        array.resize((found, *array.shape[1:]), refcheck=False)
    step = BARRIER_STEPS * rules.step_up
    runs = []
    for is_barriers in (False, True):
        count = _find_runs(lattice, flooded, work, sectors, corner, step, _no_runs(0), is_barriers)
        runs.append(_no_runs(count))
        _find_runs(lattice, flooded, work, sectors, corner, step, runs[-1], is_barriers)
        yield "portals"
    return SectorGraph(rules.cell, JOIN_STEPS * rules.step_up, sectors, *runs)


def _room_for(capacity: int) -> Sectors:
    return Sectors(
        np.empty((capacity, 2), dtype=np.int32),
        np.empty((capacity, 2), dtype=np.int32),
        np.empty(capacity),
        np.empty((capacity, 2)),
        np.empty(capacity, dtype=np.uint8),
    )


def _no_runs(count: int) -> Portals:
    return Portals(
        np.empty((count, 2), dtype=np.int32),
        np.empty(count, dtype=np.uint8),
        np.empty((count, 2), dtype=np.int32),
        np.empty(count, dtype=np.bool_),
    )


def portal_lines(graph: SectorGraph) -> NDArray[np.float64]:
    """Return the edges that portals are, (n, 2, 2) m."""
    runs, sectors, cell = graph.portals, graph.sectors, graph.cell
    one, side = runs.sectors[:, 0], runs.side
    far = np.stack([side == EAST, side == NORTH], axis=1) * sectors.size[one]
    across = (sectors.first[one] + far) * cell
    along = runs.span * cell + np.array([0.0, cell])
    is_upright = np.isin(side, (EAST, WEST))[:, None]
    x = np.where(is_upright, across[:, :1], along)
    y = np.where(is_upright, along, across[:, 1:])
    return np.stack([x, y], axis=2)
