"""The fill of triangles in space, in steps, and the cells that it results in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.lengths import hypots
from crowdsim.geometry.steps import Steps, at_once
from crowdsim.geometry.surface import STEP_M
from crowdsim.kernels.decorator import kernel
from crowdsim.navigation.soup import flood as flooding
from crowdsim.navigation.soup.explain import why_nobody_stands
from crowdsim.navigation.soup.flood import NO_STEP, Flooded, flood, keep_reached, make_block
from crowdsim.navigation.soup.levels import Body, make_levels
from crowdsim.navigation.soup.spans import (
    BLOCK,
    COLUMNS,
    TOUCH_M,
    Lattice,
    Triangles,
    first_touched,
    last_touched,
    make_spans,
)

LEAST_CELL_M = 0.05  # Slits along thin walls are a centimetre wide, and have to fit into cells.
MOST_CELLS = 50_000_000  # Of one fill: 1 GB.
MOST_BLOCKS = 2**24  # Of a directory: a square of 13 km at 0.1 m.
MOST_LISTED = 2**27  # Triangles over blocks, those over several counted for each.
_BLOCKS_AT_ONCE = 32  # Blocks of a step: some 0.01 s, as a run rests between two.
_FIRST_LEVELS, _FIRST_BLOCKS, _FIRST_SPANS = 2**16, 64, 2**14
_GROWTH = 1.5


@dataclass(frozen=True)
class FillRules:
    """What fills the ground, and how it steps.

    Attributes
    ----------
    side : float, m
        Of the square that a body stands on. Half the width of an agent lets it through doors that stand
        across the cells ([Smith 2002], "tall, skinny").
    height : float, m
    cell : float, m
        Side of a cell; `side`, or less.
    step_up, step_down : float, m
        How far it steps from cell to cell.
    drop : float, m
        How far it falls at most from one cell to the next; no less than `step_down`.
    steepest : float
        Rise over run of what it stands on; 1 is 45 degrees.
    most_cells : int
    """

    side: float
    height: float
    cell: float
    step_up: float = STEP_M
    step_down: float = STEP_M
    drop: float = STEP_M
    steepest: float = 1.0
    most_cells: int = MOST_CELLS

    def __post_init__(self) -> None:
        """Refuse what does not fit together."""
        if not 0.0 < self.cell <= self.side:
            raise NavigationError(
                f"a cell of {self.cell:g} m has to be at most as wide as the body, {self.side:g} m: bodies "
                "beside each other would leave gaps"
            )
        if self.cell < LEAST_CELL_M:
            raise NavigationError(f"a cell of {self.cell:g} m is too small: at least {LEAST_CELL_M:g} m")
        if not 0.0 < self.step_up < 0.5 * self.height:
            raise NavigationError(
                f"a step up of {self.step_up:g} m has to be less than half the body's height, "
                f"{self.height:g} m"
            )
        if self.drop < self.step_down:
            raise NavigationError(
                f"a drop of {self.drop:g} m has to be at least a step down, {self.step_down:g} m"
            )
        if self.cell * self.steepest > self.step_up + 1e-9:
            raise NavigationError(
                f"over a cell of {self.cell:g} m, ground of the greatest slope ({self.steepest:g}) rises by "
                f"{self.cell * self.steepest:g} m, more than a step up ({self.step_up:g} m): take cells of "
                f"at most {self.step_up / self.steepest:g} m, or a higher step"
            )


class SeedRefused(NavigationError):
    """No body can stand at a seed.

    Attributes
    ----------
    number : int
        Of the seed, from 0.
    """

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number


class Zone(NamedTuple):
    """A place in space.

    Attributes
    ----------
    area : shapely Polygon or MultiPolygon, m
        In plan.
    height : float, m
        About how high it lies: what is meant is the level nearest to it, less than half of the body's height
        away.
    """

    area: Any
    height: float

    @property
    def middle(self) -> tuple[float, float, float]:
        """Return a place in the middle (m)."""
        middle = shapely.centroid(self.area)
        if not shapely.covers(self.area, middle):
            middle = shapely.point_on_surface(self.area)
        return float(middle.x), float(middle.y), self.height


class Link(NamedTuple):
    """What takes a body from one zone to another: a lift, a ladder, a door ([Smith 2002], "teleport
    mechanisms").

    Attributes
    ----------
    enter, exit : Zone
        Where one goes in and comes out.
    """

    enter: Zone
    exit: Zone


class ExitRefused(NavigationError):
    """No body can stand in the middle of a link's exit, and none gets there otherwise.

    Attributes
    ----------
    number : int
        Of the link, from 0.
    """

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number


class Table(NamedTuple):
    """Cells, in order of their blocks, rows, columns and heights.

    Attributes
    ----------
    column, row : (n,) int32
        Cell (0, 0) has its corner at the origin.
    z : (n,) float32, m
    surface : (n,) uint8
    neighbour : (n, 4) int32
        The cells that steps lead to: east, north, west, south; -1 where none does.
    """

    column: NDArray[np.int32]
    row: NDArray[np.int32]
    z: NDArray[np.float32]
    surface: NDArray[np.uint8]
    neighbour: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Cells:
    """The ground that a body gets to.

    Attributes
    ----------
    lattice : Lattice
    flooded : Flooded
        After `keep_reached`.
    rules : FillRules
    """

    lattice: Lattice
    flooded: Flooded
    rules: FillRules

    def __len__(self) -> int:
        return int(self.flooded.counted[flooding.LEVELS])

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return sum(int(array.nbytes) for array in self.flooded)

    def table(self) -> Table:
        """Return the cells as arrays, in an order that does not depend on the seeds."""
        n = len(self)
        table = Table(
            np.empty(n, dtype=np.int32),
            np.empty(n, dtype=np.int32),
            np.empty(n, dtype=np.float32),
            np.empty(n, dtype=np.uint8),
            np.empty((n, 4), dtype=np.int32),
        )
        _list_cells(self.lattice, self.flooded, np.empty(n, dtype=np.int32), table)
        return table


@kernel
def _list_cells(lattice, flooded, number, table):  # type: ignore[no-untyped-def]
    """Write the cells into a table; `number` is scratch for that of each level."""
    listed = 0
    for place in range(len(flooded.made)):
        block = flooded.made[place]
        if block < 0:
            continue
        left = (lattice.first_x + place % lattice.wide) * BLOCK
        bottom = (lattice.first_y + place // lattice.wide) * BLOCK
        for column in range(COLUMNS):
            for level in range(flooded.start[block, column], flooded.start[block, column + 1]):
                number[level] = listed
                table.column[listed] = left + column % BLOCK
                table.row[listed] = bottom + column // BLOCK
                table.z[listed], table.surface[listed] = flooded.z[level], flooded.surface[level]
                listed += 1
    for block in range(flooded.counted[0]):
        for column in range(COLUMNS):
            for level in range(flooded.start[block, column], flooded.start[block, column + 1]):
                for side in range(4):
                    other = flooding.level_beside(lattice, flooded, block, column, level, side)
                    table.neighbour[number[level], side] = -1 if other < 0 else number[other]


@kernel
def _list_triangles(corner, lattice, start, inside, most):  # type: ignore[no-untyped-def]
    """Count the triangles over each block in ``start[1:]``, or list them if `inside` has room for them.
    Return how many there are, those over several blocks counted for each; it ends where they are more than
    `most`.
    """
    is_listing, found = len(inside) > 0, 0
    for t in range(len(corner)):
        west = min(corner[t, 0, 0], corner[t, 1, 0], corner[t, 2, 0])
        east = max(corner[t, 0, 0], corner[t, 1, 0], corner[t, 2, 0])
        south = min(corner[t, 0, 1], corner[t, 1, 1], corner[t, 2, 1])
        north = max(corner[t, 0, 1], corner[t, 1, 1], corner[t, 2, 1])
        # between two columns the last that ends before it is one less than the first that begins after it
        a, b = (
            first_touched(west, lattice.cell, lattice.reach),
            last_touched(east, lattice.cell, lattice.reach),
        )
        c, d = (
            first_touched(south, lattice.cell, lattice.reach),
            last_touched(north, lattice.cell, lattice.reach),
        )
        left, right = min(a, b) // BLOCK - lattice.first_x, max(a, b) // BLOCK - lattice.first_x
        low, high = min(c, d) // BLOCK - lattice.first_y, max(c, d) // BLOCK - lattice.first_y
        found += (right - left + 1) * (high - low + 1)
        if found > most:
            break
        for y in range(low, high + 1):
            for x in range(left, right + 1):
                block = y * lattice.wide + x
                if is_listing:
                    inside[start[block]] = t
                    start[block] += 1
                else:
                    start[block + 1] += 1
    return found


def fill(
    corners: NDArray[np.float64],
    surfaces: NDArray[np.uint8],
    seeds: Sequence[Sequence[float]],
    rules: FillRules,
    links: Sequence[Link] = (),
) -> Cells:
    """Find all ground that a body gets to; see `fill_steps`."""
    return at_once(fill_steps(corners, surfaces, seeds, rules, links))


def fill_steps(
    corners: NDArray[np.float64],
    surfaces: NDArray[np.uint8],
    seeds: Sequence[Sequence[float]],
    rules: FillRules,
    links: Sequence[Link] = (),
    *,
    is_lenient: bool = False,
) -> Steps[Cells]:
    """Find all ground that a body gets to, resting in between.

    Parameters
    ----------
    corners : (nt, 3, 3) float64, m
        Triangles, z up, in any order and orientation.
    surfaces : (nt,) uint8
        Kind of surface of each, from 1 to 255. Where two lie at one height the higher number counts.
    seeds : sequence of [x, y, z], m
        Places where a body can stand: on the highest level that is at most a step above, and less than the
        body's height below.
    rules : FillRules
    links : sequence of Link
        A cell that is reached and lies wholly where one goes in lets a body stand in the middle of where it
        comes out, if there is room for it ([Smith 2002]).
    is_lenient : bool
        Whether seeds at which no body can stand, and such ends of links, are left out.

    Returns
    -------
    Cells
        The same for any order of triangles, seeds and links.

    Raises
    ------
    NavigationError
        If a body cannot stand at a seed, at any where it is lenient, or where a link that is reached comes
        out, or the ground is larger than `rules` allow.
    """
    lattice = _lattice_of(corners, rules)
    triangles = _over_blocks(corners, surfaces, lattice, rules)
    yield "index"
    body = Body(rules.height, rules.step_up, rules.step_down, rules.drop)
    flooded = _nothing_flooded(lattice)
    spans, levels, stack = _scratch(_FIRST_SPANS)

    def grow(said: int) -> None:
        nonlocal spans, levels, stack
        if said == flooding.NEEDS_SPANS:
            spans, levels, stack = _scratch(2 * len(spans.after))
        elif said == flooding.NEEDS_LEVELS:
            _grow((flooded.z, flooded.free, flooded.surface, flooded.mark, flooded.step))
        elif said == flooding.NEEDS_BLOCKS:
            _grow((flooded.place, flooded.start, flooded.waiting, flooded.waits))
        elif said == flooding.TOO_MANY_LEVELS:
            raise NavigationError(
                f"near {_place_of(lattice, int(flooded.counted[flooding.CULPRIT]))} there are more than "
                f"{NO_STEP - 1} levels above each other"
            )
        elif said == flooding.TOO_MANY_CELLS:
            raise NavigationError(
                f"there are more than {rules.most_cells:,} cells of {rules.cell:g} m that a body gets to: "
                "take larger cells, or close the world where it does not matter"
            )

    def put_down(block: int, level: int) -> None:
        if not flooded.mark[level] & flooding.REACHED:
            flooded.mark[level] |= flooding.REACHED
            flooded.counted[flooding.CELLS] += 1
            its_block = int(flooded.made[block])
            if not flooded.waits[its_block]:
                flooded.waits[its_block] = True
                flooded.waiting[flooded.counted[flooding.WAITING]] = its_block
                flooded.counted[flooding.WAITING] += 1

    def column_under(place: Sequence[float]) -> tuple[int, int]:
        block, column = _column_of(lattice, place)
        if block >= 0:
            while (
                said := make_block(lattice, body, triangles, flooded, spans, levels, block)
            ) != flooding.DONE:
                grow(said)
        return block, column

    for number, seed in enumerate(seeds):
        block, column = column_under(seed)
        level = _level_under(flooded, rules, block, column, float(seed[2]))
        if level >= 0:
            put_down(block, level)
        elif not is_lenient:
            raise SeedRefused(number, _why_not(triangles, lattice, rules, seed))
    if not flooded.counted[flooding.CELLS]:
        raise NavigationError("no agent can stand at any of the seeds")
    unused, blocked = list(range(len(links))), list[int]()
    while True:
        said = flood(
            lattice, body, triangles, flooded, spans, levels, stack, _BLOCKS_AT_ONCE, rules.most_cells
        )
        if said == flooding.DONE and flooded.counted[flooding.CELLS] <= rules.most_cells:
            reached = [
                number for number in unused if _is_reached(lattice, flooded, rules, links[number].enter)
            ]
            if not reached:
                break
            unused = [number for number in unused if number not in reached]
            for number in reached:
                middle = links[number].exit.middle
                block, column = column_under(middle)
                level = _level_near(flooded, rules, block, column, middle[2])
                if level >= 0:
                    put_down(block, level)
                else:
                    blocked.append(number)
        else:
            grow(said if said != flooding.DONE else flooding.TOO_MANY_CELLS)
        yield "flood"
    for number in blocked:
        if not is_lenient and not _is_reached(lattice, flooded, rules, links[number].exit):
            raise ExitRefused(number, _why_not(triangles, lattice, rules, links[number].exit.middle))
    kept = keep_reached(lattice, flooded)
    yield "cells"
    blocks = int(flooded.counted[flooding.BLOCKS])
    _cut_to(kept, flooded.z, flooded.surface, flooded.mark, flooded.step)
    _cut_to(blocks, flooded.place, flooded.start, flooded.waiting, flooded.waits)
    _cut_to(0, flooded.free)
    return Cells(lattice, flooded, rules)


def _lattice_of(corners: NDArray[np.float64], rules: FillRules) -> Lattice:
    reach = 0.5 * rules.side - TOUCH_M
    low, high = corners[:, :, :2].min(axis=(0, 1)), corners[:, :, :2].max(axis=(0, 1))
    first = np.floor((np.floor((low - reach) / rules.cell - 0.5) - 1.0) / BLOCK)
    last = np.floor((np.ceil((high + reach) / rules.cell - 0.5) + 1.0) / BLOCK)
    wide, deep = (last - first + 1.0).tolist()
    if wide * deep > MOST_BLOCKS:
        raise NavigationError(
            f"the triangles lie over {wide * BLOCK:,.0f} x {deep * BLOCK:,.0f} cells of {rules.cell:g} m, "
            f"from ({low[0]:g}, {low[1]:g}) to ({high[0]:g}, {high[1]:g}) m; at most "
            f"{MOST_BLOCKS * COLUMNS:,} are looked through: take larger cells, or leave out what is far away"
        )
    return Lattice(rules.cell, reach, int(first[0]), int(first[1]), int(wide), int(deep))


def _over_blocks(
    corners: NDArray[np.float64], surfaces: NDArray[np.uint8], lattice: Lattice, rules: FillRules
) -> Triangles:
    corners = np.ascontiguousarray(corners, dtype=np.float64)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    is_flat_enough = hypots(normal[:, 0], normal[:, 1]) <= rules.steepest * np.abs(normal[:, 2]) * (
        1.0 + 1e-9
    )
    is_flat_enough &= normal[:, 2] != 0.0
    start = np.zeros(lattice.wide * lattice.deep + 1, dtype=np.int64)
    if _list_triangles(corners, lattice, start, np.empty(0, dtype=np.int32), MOST_LISTED) > MOST_LISTED:
        raise NavigationError(
            f"the triangles lie over so many squares of {BLOCK * rules.cell:g} m that there are more than "
            f"{MOST_LISTED:,} pairs to look through: take larger cells, or fewer triangles"
        )
    np.cumsum(start, out=start)
    inside = np.empty(int(start[-1]), dtype=np.int32)
    if len(inside):
        _list_triangles(corners, lattice, start, inside, MOST_LISTED)
        start[1:] = start[:-1]
        start[0] = 0
    return Triangles(corners, np.where(is_flat_enough, surfaces, 0).astype(np.uint8), start, inside)


def _nothing_flooded(lattice: Lattice) -> Flooded:
    return Flooded(
        np.full(lattice.wide * lattice.deep, flooding.NOT_MADE, dtype=np.int32),
        np.empty(_FIRST_BLOCKS, dtype=np.int64),
        np.empty((_FIRST_BLOCKS, COLUMNS + 1), dtype=np.int32),
        np.empty(_FIRST_BLOCKS, dtype=np.int32),
        np.zeros(_FIRST_BLOCKS, dtype=np.bool_),
        np.empty(_FIRST_LEVELS, dtype=np.float32),
        np.empty(_FIRST_LEVELS, dtype=np.float32),
        np.empty(_FIRST_LEVELS, dtype=np.uint8),
        np.empty(_FIRST_LEVELS, dtype=np.uint8),
        np.empty((_FIRST_LEVELS, 4), dtype=np.uint8),
        np.zeros(5, dtype=np.int64),
    )


def _scratch(capacity: int):  # type: ignore[no-untyped-def]
    return make_spans(capacity), make_levels(capacity), np.empty((2, capacity), dtype=np.int32)


def _grow(arrays: Sequence[NDArray[Any]]) -> None:
    """Make arrays longer."""
    for array in arrays:
        _cut_to(int(len(array) * _GROWTH), array)


def _cut_to(length: int, *arrays: NDArray[Any]) -> None:
    """Give arrays another length where they are: if they are large, old and new are never held at once."""
    for array in arrays:
        array.resize((length, *array.shape[1:]), refcheck=False)


def _column_of(lattice: Lattice, seed: Sequence[float]) -> tuple[int, int]:
    """Return the place in the directory, and the column of that block, under a place; -1 if there are no
    triangles near."""
    i, j = int(np.floor(seed[0] / lattice.cell)), int(np.floor(seed[1] / lattice.cell))
    x, y = i // BLOCK - lattice.first_x, j // BLOCK - lattice.first_y
    column = j % BLOCK * BLOCK + i % BLOCK
    if not (0 <= x < lattice.wide and 0 <= y < lattice.deep):
        return -1, column
    return y * lattice.wide + x, column


def _level_under(flooded: Flooded, rules: FillRules, block: int, column: int, z: float) -> int:
    """Return the level on which a body stands that is put down at a height; -1 if there is none."""
    if block < 0 or flooded.made[block] < 0:
        return -1
    number = int(flooded.made[block])
    own = range(int(flooded.start[number, column]), int(flooded.start[number, column + 1]))
    return max(
        (level for level in own if z - rules.height < flooded.z[level] <= z + rules.step_up), default=-1
    )


def _level_near(flooded: Flooded, rules: FillRules, block: int, column: int, z: float) -> int:
    """Return the level of a column that is nearest to a height, less than half of the body's away; -1 if
    there is none.
    """
    if block < 0 or flooded.made[block] < 0:
        return -1
    number = int(flooded.made[block])
    own = range(int(flooded.start[number, column]), int(flooded.start[number, column + 1]))
    near = [level for level in own if abs(flooded.z[level] - z) < 0.5 * rules.height]
    return min(near, key=lambda level: abs(flooded.z[level] - z), default=-1)


def _is_reached(lattice: Lattice, flooded: Flooded, rules: FillRules, zone: Zone) -> bool:
    """Return whether a cell lies wholly in a zone, and a body gets there."""
    shapely.prepare(zone.area)
    side = BLOCK * lattice.cell
    low, high = (
        np.floor(np.array(ends) / side).astype(np.int64) - [lattice.first_x, lattice.first_y]
        for ends in np.reshape(zone.area.bounds, (2, 2))
    )
    low, high = np.maximum(low, 0), np.minimum(high, [lattice.wide - 1, lattice.deep - 1])
    for y in range(int(low[1]), int(high[1]) + 1):
        for x in range(int(low[0]), int(high[0]) + 1):
            block = y * lattice.wide + x
            if flooded.made[block] < 0:
                continue
            corner = np.array([lattice.first_x + x, lattice.first_y + y]) * BLOCK
            row, column = np.divmod(np.arange(COLUMNS), BLOCK)
            left, bottom = (column + corner[0]) * lattice.cell, (row + corner[1]) * lattice.cell
            squares = shapely.box(left, bottom, left + lattice.cell, bottom + lattice.cell)
            for inside in np.flatnonzero(shapely.covers(zone.area, squares)).tolist():
                level = _level_near(flooded, rules, block, inside, zone.height)
                if level >= 0 and flooded.mark[level] & flooding.REACHED:
                    return True
    return False


def _place_of(lattice: Lattice, block: int) -> str:
    x = (lattice.first_x + block % lattice.wide + 0.5) * BLOCK * lattice.cell
    y = (lattice.first_y + block // lattice.wide + 0.5) * BLOCK * lattice.cell
    return f"({x:.1f}, {y:.1f}) m"


def _why_not(triangles: Triangles, lattice: Lattice, rules: FillRules, seed: Sequence[float]) -> str:
    """Return in words why no body stands at a seed."""
    x, y = ((float(np.floor(each / lattice.cell)) + 0.5) * lattice.cell for each in seed[:2])
    return why_nobody_stands(
        triangles.corner,
        triangles.surface > 0,
        (x, y),
        float(seed[2]),
        reach=lattice.reach,
        height=rules.height,
        step_up=rules.step_up,
    )
