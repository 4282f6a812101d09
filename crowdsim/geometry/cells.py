"""The neighbour index: agents sorted into square cells, so that what is near is found by reading a few
contiguous runs.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.kernels.simd import LANES, difference, load, magnitude, prefetch, spread
from crowdsim.kernels.threads import ALONE, Team

# Table cells for each agent of a floor at most. More costs clearing time each tick; fewer folds distant
# places onto each other.
CELLS_PER_AGENT = 4
# Table cells that a floor with few agents may have, so that a handful spread over a hall need no folding.
LEAST_CELLS = 256
# A thread sorts so many agents at least: smaller takes longer than one thread does alone, since each counts
# in a table of its own, larger leaves cores idle.
SORTED_AT_ONCE = 10_000
FEW_PLANES = 16  # Up to so many floors are numbered without looking which of them have agents.
# Rows of slots, and slots of rows, lie anywhere in memory, and those of large crowds not in the nearest
# cache. Loops over them have what they need so many steps later fetched, so that many are under way at once.
AHEAD = np.uint64(16)
FARTHEST_M = 1e12  # A coordinate beyond this is taken for a fault: float64 resolves 0.1 mm there.

# Columns of `Cells.shape`.
COLUMNS, COLUMN_MASK, LAST_COLUMN, ROWS, ROW_MASK, LAST_ROW, FIRST_CELL = range(7)


class Cells(NamedTuple):
    """A built index as kernels see it. A *slot* is a place in cell order, a *row* one in entity order.

    Each floor that has agents is a *plane* with a table of cells of its own, so agents on other floors are
    never met. A table holds at most `CELLS_PER_AGENT` cells per agent: where the floor's bounding box needs
    more (a straggler a kilometre away), cell numbers are folded modulo the table's size. A cell then also
    holds agents from elsewhere, which the distance test refuses; memory follows the agents, never the area.

    Attributes
    ----------
    x, y : (n + 16,) float64, m
        Positions by slot; the last sixteen are no agents but may be read.
    row : (n,) uint32
        Row of each slot; rows ascend within a cell.
    slot : (n,) uint32
        Slot of each row.
    plane : (n,) int32
        Plane of each slot.
    start : (cells + 2,) uint32
        Cell c holds the slots ``start[c]:start[c + 1]``.
    origin : (p, 2) float64, m
        Lower left corner of each plane.
    shape : (p, 7) int64
        By plane: columns, column mask, last column, rows, row mask, last row, first cell. Columns and rows
        are those of the table, the last ones those of the bounding box before folding; a mask is -1 (no
        folding) or columns - 1 with columns a power of two.
    per_metre : float
        Cells per metre.
    z : (n + 16,) float64, m
    slope_x, slope_y : (n + 16,) float32
        Height of the ground by slot, and how it rises along x and y; without entries where all agents stand
        at one height.
    step : float32, m
        Agents that stand this much above or below the plane of another are on other ground.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    row: NDArray[np.uint32]
    slot: NDArray[np.uint32]
    plane: NDArray[np.int32]
    start: NDArray[np.uint32]
    origin: NDArray[np.float64]
    shape: NDArray[np.int64]
    per_metre: float
    z: NDArray[np.float64]
    slope_x: NDArray[np.float32]
    slope_y: NDArray[np.float32]
    step: np.float32


class Heights(NamedTuple):
    """Ground that is not level, by row.

    Attributes
    ----------
    z : (n,) float64, m
    slope : (n, 2) float64
        Metres up for each metre in x and in y.
    step : float, m
        Two share ground where each stands less than this above or below the plane of the other
        (docs/guides/floors.md).
    """

    z: NDArray[np.float64]
    slope: NDArray[np.float64]
    step: float


@lean_kernel
def _survey(start, stop, position, layer):
    """Bound the layers and the positions of some agents.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    position : (n, 2) float64, m
    layer : (n,) int32

    Returns
    -------
    least, greatest : int
        Layers.
    low_x, low_y, high_x, high_y : float, m
    bad : int
        The first row whose position is no number up to FARTHEST_M; -1 is none.
    """
    least, greatest, bad = np.int64(layer[start]), np.int64(layer[start]), np.int64(-1)
    low_x, low_y, high_x, high_y = np.inf, np.inf, -np.inf, -np.inf
    for row in range(start, stop):
        least, greatest = min(least, np.int64(layer[row])), max(greatest, np.int64(layer[row]))
        x, y = position[row, 0], position[row, 1]
        low_x, low_y, high_x, high_y = min(low_x, x), min(low_y, y), max(high_x, x), max(high_y, y)
        if bad < 0 and not (abs(x) <= FARTHEST_M and abs(y) <= FARTHEST_M):
            bad = np.int64(row)
    return least, greatest, low_x, low_y, high_x, high_y, bad


@kernel
def _bound_planes(position, plane_of_row, box, count, planes):
    """Write each plane's bounding box (low x, low y, high x, high y) and its number of agents."""
    for p in range(planes):
        box[p, 0], box[p, 1], box[p, 2], box[p, 3] = np.inf, np.inf, -np.inf, -np.inf
        count[p] = 0
    for row in range(plane_of_row.size):
        p = plane_of_row[row]
        x, y = position[row, 0], position[row, 1]
        box[p, 0], box[p, 1] = min(box[p, 0], x), min(box[p, 1], y)
        box[p, 2], box[p, 3] = max(box[p, 2], x), max(box[p, 3], y)
        count[p] += 1


@kernel
def _lay_out(box, count, per_metre, origin, shape):
    """Give each plane its table: as large as its bounding box, or folded to what its agents are worth.

    Parameters
    ----------
    box : (>= p, 4) float64, m
    count : (>= p,) int64
        As `_bound_planes` writes them.
    per_metre : float
        Cells per metre.
    origin : (p, 2) float64, m
    shape : (p, 7) int64
        Receive what `Cells` has.

    Returns
    -------
    int64
        How many cells all tables have.

    Notes
    -----
    Twin: `tests/reference/cells.py`.
    """
    first = np.int64(0)
    for p in range(origin.shape[0]):
        low_x, low_y, high_x, high_y = 0.0, 0.0, 0.0, 0.0
        if count[p] > 0:
            low_x, low_y, high_x, high_y = box[p, 0], box[p, 1], box[p, 2], box[p, 3]
        last_column, last_row = np.int64((high_x - low_x) * per_metre), np.int64((high_y - low_y) * per_metre)
        columns, rows, column_mask, row_mask = last_column + 1, last_row + 1, np.int64(-1), np.int64(-1)
        limit = max(LEAST_CELLS, CELLS_PER_AGENT * count[p])
        if np.float64(columns) * np.float64(rows) > limit:  # whole numbers would overflow
            columns, rows = np.int64(1), np.int64(1)
            while columns <= last_column:
                columns *= 2
            while rows <= last_row:
                rows *= 2
            while np.float64(columns) * np.float64(rows) > limit:
                if columns >= rows:
                    columns //= 2
                else:
                    rows //= 2
            column_mask, row_mask = columns - 1, rows - 1
        origin[p, 0], origin[p, 1] = low_x, low_y
        shape[p, COLUMNS], shape[p, COLUMN_MASK], shape[p, LAST_COLUMN] = columns, column_mask, last_column
        shape[p, ROWS], shape[p, ROW_MASK], shape[p, LAST_ROW] = rows, row_mask, last_row
        shape[p, FIRST_CELL] = first
        first += columns * rows
    return first


@lean_kernel
def _count_cells(start, stop, position, plane_of_row, cells, cell_of_row, counts):
    """Note the cell of each row, and how many rows each cell holds.

    Parameters
    ----------
    start, stop : int
        Lines of `counts`, each for a share of the rows.
    position : (n, 2) float64, m
    plane_of_row : (n,) int32
    cells : Cells
    cell_of_row : (n,) uint32
    counts : (lines, cells) uint32
        Receives the counts of the lines' rows.
    """
    shape, origin, per_metre = cells.shape, cells.origin, cells.per_metre
    is_one_plane = origin.shape[0] == 1
    p = np.int64(0)
    low_x, low_y, columns, first_cell = origin[p, 0], origin[p, 1], shape[p, COLUMNS], shape[p, FIRST_CELL]
    column_mask, row_mask = shape[p, COLUMN_MASK], shape[p, ROW_MASK]
    for share in range(start, stop):
        for cell in range(counts.shape[1]):
            counts[share, cell] = np.uint32(0)
        first, last = _rows_of(share, plane_of_row, counts)
        own, far = counts[share], np.int64(AHEAD)
        for row in range(np.uint64(first), np.uint64(last)):
            if not is_one_plane:
                p = np.int64(plane_of_row[row])
                low_x, low_y = origin[p, 0], origin[p, 1]
                columns, first_cell = shape[p, COLUMNS], shape[p, FIRST_CELL]
                column_mask, row_mask = shape[p, COLUMN_MASK], shape[p, ROW_MASK]
            column = np.int64((position[row, 0] - low_x) * per_metre) & column_mask
            line = np.int64((position[row, 1] - low_y) * per_metre) & row_mask
            cell_of_row[row] = np.uint32(first_cell + line * columns + column)
        for row in range(np.uint64(first), np.uint64(last)):
            prefetch(own, np.uint64(cell_of_row[min(row + np.uint64(far), np.uint64(last - 1))]))
            own[np.uint64(cell_of_row[row])] += np.uint32(1)


@inlined_kernel
def _rows_of(line, rows, counts):
    """Return the first of the rows that belong to a line of `counts`, and the one after the last."""
    return rows.size * line // counts.shape[0], rows.size * (line + 1) // counts.shape[0]


@lean_kernel
def _lay_out_slots(counts, start):
    """Give each cell its slots: within a cell, those of a line's rows follow those of the line before.

    Parameters
    ----------
    counts : (lines, cells) uint32
        In: how many of a line's rows a cell holds. Out: the slot of the first of them.
    start : (cells + 2,) uint32
        Receives the first slot of each cell.
    """
    slot = np.uint32(0)
    for cell in range(np.uint64(counts.shape[1])):
        start[cell] = slot
        for line in range(np.uint64(counts.shape[0])):
            count = counts[line, cell]
            counts[line, cell] = slot
            slot += count
    start[counts.shape[1]] = start[counts.shape[1] + 1] = slot


@lean_kernel
def _fill_cells(start, stop, position, plane_of_row, cells, cell_of_row, counts):
    """Put each row of some lines into the next slot of its cell: rows keep their order within a cell.

    Where there is one plane only, the planes of all slots are 0 already.
    """
    is_one_plane = cells.origin.shape[0] == 1
    for share in range(start, stop):
        first, last = _rows_of(share, plane_of_row, counts)
        own, far = counts[share], np.int64(AHEAD)
        for row in range(first, last):
            prefetch(own, np.uint64(cell_of_row[min(row + far + far, last - 1)]))
            ahead = np.uint64(own[np.uint64(cell_of_row[min(row + far, last - 1)])])
            prefetch(cells.x, ahead)
            prefetch(cells.y, ahead)
            prefetch(cells.row, ahead)
            if not is_one_plane:
                prefetch(cells.plane, ahead)
            cell = np.uint64(cell_of_row[row])
            slot = np.uint64(own[cell])
            own[cell] += np.uint32(1)
            cells.x[slot], cells.y[slot] = position[row, 0], position[row, 1]
            cells.row[slot] = np.uint32(row)
            cells.slot[row] = np.uint32(slot)
            if not is_one_plane:
                cells.plane[slot] = plane_of_row[row]


@lean_kernel
def _sort_alone(position, plane_of_row, cells, cell_of_row):
    """Do all steps of the sort in one call, and count in `cells.start` itself, which then is all that they go
    to and fro in: a cell is counted two places on, its slots are given out one place on, and so each place
    ends as the first slot of its cell.
    """
    start, count = cells.start, cells.start.size - 2
    start[0] = start[1] = np.uint32(0)
    _count_cells(0, 1, position, plane_of_row, cells, cell_of_row, start[2:].reshape(1, count))
    slot = np.uint32(0)
    for place in range(np.uint64(2), np.uint64(start.size)):
        slot += start[place]
        start[place] = slot
    _fill_cells(0, 1, position, plane_of_row, cells, cell_of_row, start[1:-1].reshape(1, count))


@inlined_kernel
def row_ahead(rows, place):
    """Return what stands `AHEAD` places on in a list of rows by slot, or of slots by row; or its last."""
    return np.uint64(rows[min(place + AHEAD, np.uint64(rows.size - 1))])


@inlined_kernel
def plane_numbers(origin, shape, p):
    """Return the row of `origin` and of `shape` of plane `p` as one tuple, as `window` takes it.
    Twin: `tests/reference/cells.py`.
    """
    return (
        origin[p, 0],
        origin[p, 1],
        shape[p, 0],
        shape[p, 1],
        shape[p, 2],
        shape[p, 3],
        shape[p, 4],
        shape[p, 5],
        shape[p, 6],
    )


@inlined_kernel
def window(plane, per_metre, x, y, reach):
    """Find the table cells of a plane that hold all agents within `reach` of (x, y).

    Parameters
    ----------
    plane : tuple
        As `plane_numbers` gives it.
    per_metre : float
        Cells per metre.
    x, y, reach : float, m

    Returns
    -------
    first_line, lines, first_column, columns, wrapped : int64
        In each of `lines` lines from `first_line` on (modulo the row mask): `columns` cells from
        `first_column` on, and `wrapped` cells from column 0 on where the table is folded. No cell is named
        twice.
    row_mask, table_columns, first_cell : int64
        The cell of line l and column c is ``first_cell + (l & row_mask) * table_columns + c``.

    Notes
    -----
    The window is a little larger than asked (1e-6 of `reach` and a nanometre), so that a distance rounded to
    float32 cannot reach past it. Twin: `tests/reference/cells.py`.
    """
    (
        origin_x,
        origin_y,
        table_columns,
        column_mask,
        last_column,
        table_rows,
        row_mask,
        last_row,
        first_cell,
    ) = plane
    padded = reach * 1.000001 + 1e-9
    relative_x, relative_y = x - origin_x, y - origin_y
    left = np.int64(min(max((relative_x - padded) * per_metre, 0.0), np.float64(last_column)))
    right = np.int64(min(max((relative_x + padded) * per_metre, 0.0), np.float64(last_column)))
    low = np.int64(min(max((relative_y - padded) * per_metre, 0.0), np.float64(last_row)))
    high = np.int64(min(max((relative_y + padded) * per_metre, 0.0), np.float64(last_row)))
    width = min(right - left + 1, table_columns)
    first_column = left & column_mask
    columns = min(width, table_columns - first_column)
    return (
        low & row_mask,
        min(high - low + 1, table_rows),
        first_column,
        columns,
        width - columns,
        row_mask,
        table_columns,
        first_cell,
    )


@lean_kernel
def _sort_heights(start, stop, row_of_slot, z, slope, out_z, out_x, out_y):
    """Copy heights and slopes into cell order, for a range of slots."""
    for slot in range(np.uint64(start), np.uint64(stop)):
        ahead = row_ahead(row_of_slot, slot)
        prefetch(z, ahead)
        prefetch(slope, ahead + ahead)
        row = row_of_slot[slot]
        out_z[slot], out_x[slot], out_y[slot] = z[row], np.float32(slope[row, 0]), np.float32(slope[row, 1])


@inlined_kernel
def share_ground(z, slope_x, slope_y, step, i, j, dx, dy):
    """Return whether two agents stand each less than `step` above or below the plane of the other, (dx,
    dy) being the vector from slot i to slot j (m).

    Arrays and `step` as in `Cells`; the same float32 arithmetic as `on_same_ground`. Twin:
    `tests/reference/heights.py`.
    """
    x, y, rise = np.float32(dx), np.float32(dy), np.float32(z[j] - z[i])
    over = rise - (slope_x[i] * x + slope_y[i] * y)
    under = rise - (slope_x[j] * x + slope_y[j] * y)
    return abs(over) < step and abs(under) < step


@inlined_kernel
def on_same_ground(z, slope_x, slope_y, step, slot, first, dx, dy):
    """Return which of sixteen agents from slot `first` on share the ground of the one at `slot`,
    as truth lanes; `dx`, `dy` lanes of the vectors there.
    """
    rise = difference(z, first, z[slot])
    over = rise - (spread(slope_x[slot]) * dx + spread(slope_y[slot]) * dy)
    under = rise - (load(slope_x, first) * dx + load(slope_y, first) * dy)
    return (magnitude(over) < spread(step)) & (magnitude(under) < spread(step))


class CellIndex:
    """Sorts agents into cells once a tick, in buffers that are kept.

    Parameters
    ----------
    cell_size : float, m
        Edge of a cell. Results never depend on it, only speed does: about the radius that is usually searched
        is fastest, half or twice that costs a tenth. The ten nearest at 1 person a square metre lie within
        1.8 m, at 4 within 0.9 m.

    Attributes
    ----------
    cells : Cells
        What the last `build` found; its arrays are overwritten by the next one.
    """

    def __init__(self, cell_size: float = 1.5) -> None:
        self.cell_size = cell_size
        self._capacity = 0
        self._slots: dict[str, NDArray] = {}
        self._shown: dict[str, NDArray] = {}  # what of them the last build used
        self._use = -1, False
        self._count = np.empty(0, dtype=np.int64)
        self._make_planes(FEW_PLANES)
        self._table = self._counts = np.empty(0, dtype=np.uint32)
        self.build(np.empty((0, 2)), np.empty(0, dtype=np.int32))

    def build(
        self,
        position: NDArray[np.float64],
        layer: NDArray[np.int32],
        cell_size: float | None = None,
        heights: Heights | None = None,
        team: Team = ALONE,
    ) -> Cells:
        """Sort rows into cells.

        Parameters
        ----------
        position : (n, 2) float64, m
        layer : (n,) int32
            Floors; agents on different ones are in different tables.
        cell_size : float, m, optional
            New edge of a cell, kept until the next change.
        heights : Heights, optional
            Where it is missing, all agents of a layer share ground.
        team : Team, optional

        Returns
        -------
        Cells

        Raises
        ------
        ValueError
            If a coordinate is no number up to 1e12 m.
        """
        if cell_size is not None:
            self.cell_size = cell_size
        count = len(layer)
        self._reserve(count)
        per_metre = 1.0 / self.cell_size
        plane_of_row, planes = self._planes(position, layer, team)
        origin, shape, table = self._laid_out(planes, per_metre)
        slots = self._shown_for(count, heights is not None)
        step = np.float32(heights.step if heights is not None else np.inf)
        ground = slots["z"], slots["slope_x"], slots["slope_y"]
        self.cells = Cells(
            slots["x"],
            slots["y"],
            slots["row"],
            slots["slot"],
            slots["plane"],
            table,
            origin,
            shape,
            per_metre,
            *ground,
            step,
        )
        self._sort(position, plane_of_row, slots["cell"], team)
        if heights is not None:
            team.run(_sort_heights, count, slots["row"], heights.z, heights.slope, *ground)
        return self.cells

    def _sort(
        self,
        position: NDArray[np.float64],
        plane_of_row: NDArray[np.int32],
        cell_of_row: NDArray[np.uint32],
        team: Team,
    ) -> None:
        """Fill `cells` by a counting sort of the rows that keeps their order within a cell.

        The rows are counted and placed in as many shares as the team has threads.
        """
        cells = len(self.cells.start) - 2
        lines = max(1, min(team.threads, len(plane_of_row) // SORTED_AT_ONCE))
        if lines == 1:
            _sort_alone(position, plane_of_row, self.cells, cell_of_row)
            return
        if lines * cells > self._counts.size:
            self._counts = np.empty(2 * lines * cells, dtype=np.uint32)
        counts = self._counts[: lines * cells].reshape(lines, cells)
        given = position, plane_of_row, self.cells, cell_of_row, counts
        team.run(_count_cells, lines, *given, at_least=1)
        _lay_out_slots(counts, self.cells.start)
        team.run(_fill_cells, lines, *given, at_least=1)

    def _shown_for(self, count: int, has_heights: bool) -> dict[str, NDArray]:
        """Return the buffers as long as so many agents need them."""
        if self._use != (count, has_heights):
            sizes = dict.fromkeys(("x", "y"), count + LANES) | dict.fromkeys(
                ("z", "slope_x", "slope_y"), count + LANES if has_heights else 0
            )
            self._use, self._shown = (
                (count, has_heights),
                {name: array[: sizes.get(name, count)] for name, array in self._slots.items()},
            )
        return self._shown

    def _reserve(self, count: int) -> None:
        if count <= self._capacity and self._slots:
            return
        self._capacity = max(64, count, 2 * self._capacity)
        kinds = {
            "x": np.float64,
            "y": np.float64,
            "row": np.uint32,
            "slot": np.uint32,
            "plane": np.int32,
            "cell": np.uint32,
            "plane_of_row": np.int32,
        }
        kinds |= {"z": np.float64, "slope_x": np.float32, "slope_y": np.float32}
        self._slots = {name: np.zeros(self._capacity + LANES, dtype=kind) for name, kind in kinds.items()}
        self._use, self._has_planes = (-1, False), False

    def _planes(
        self, position: NDArray[np.float64], layer: NDArray[np.int32], team: Team
    ) -> tuple[NDArray[np.int32], int]:
        """Number the layers that occur, and find each one's bounding box and number of agents."""
        plane_of_row = self._slots["plane_of_row"][: len(layer)]
        if not len(layer):
            self._count[0] = 0
            return plane_of_row, 1
        found = team.run(_survey, len(layer), position, layer)
        bad = next((each[-1] for each in found if each[-1] >= 0), -1)
        if bad >= 0:
            raise ValueError(
                f"row {bad}: the position ({position[bad, 0]}, {position[bad, 1]}) is not a place "
                f"within {FARTHEST_M:g} m of the origin"
            )
        least, greatest, low_x, low_y, high_x, high_y, _ = found[0]
        for each in found[1:]:
            least, low_x, low_y = min(least, each[0]), min(low_x, each[2]), min(low_y, each[3])
            greatest, high_x, high_y = max(greatest, each[1]), max(high_x, each[4]), max(high_y, each[5])
        planes = greatest - least + 1
        if planes == 1:
            if self._has_planes:
                self._slots["plane_of_row"][:] = self._slots["plane"][:] = 0
                self._has_planes = False
            self._box[0] = low_x, low_y, high_x, high_y
            self._count[0] = len(layer)
            return plane_of_row, 1
        self._has_planes = True
        if planes <= len(self._count):
            np.subtract(layer, np.int32(least), out=plane_of_row)
            _bound_planes(position, plane_of_row, self._box, self._count, planes)
        else:  # layers may be numbered with gaps
            occurring = np.unique(layer)
            planes = len(occurring)
            plane_of_row[:] = np.searchsorted(occurring, layer)
            self._make_planes(planes)
            _bound_planes(position, plane_of_row, self._box, self._count, planes)
        return plane_of_row, planes

    def _make_planes(self, planes: int) -> None:
        """Have room for so many planes."""
        if planes > len(self._count):
            self._box, self._count = np.empty((planes, 4)), np.empty(planes, dtype=np.int64)
            self._origin, self._shape = np.empty((planes, 2)), np.empty((planes, 7), dtype=np.int64)

    def _laid_out(
        self, planes: int, per_metre: float
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.uint32]]:
        """Return origin, shape and the table of all planes, as in `Cells`."""
        origin, shape = self._origin[:planes], self._shape[:planes]
        cells = _lay_out(self._box, self._count, per_metre, origin, shape)
        if cells + 2 > len(self._table):
            self._table = np.empty(2 * cells + 2, dtype=np.uint32)
        return origin, shape, self._table[: cells + 2]
