"""The nearest neighbours of an agent, exactly: by distance, then by entity."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.cells import on_same_ground, plane_numbers, window
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.kernels.simd import (
    append_lanes,
    bit_count,
    bits,
    choose,
    difference,
    first_bit,
    load,
    numbers,
    spread,
    store,
    total,
)

MOST_NEIGHBOURS = 64  # Neighbours that can be asked for.
# Agents within reach that are kept before the nearest of them are picked. Fewer picks more often in piles;
# more leaves the cache.
_CANDIDATES = 480

_AREA = _CANDIDATES + 32
# areas of the float32 workspace
_X, _Y, _SQUARE, _NEAR_X, _NEAR_Y = (np.uint64(_AREA * area) for area in range(5))
# areas of the uint32 workspace, after the candidates
_CHOSEN, _ORDER = np.uint64(_AREA), np.uint64(2 * _AREA)
NEAR_X, NEAR_Y, CHOSEN = _NEAR_X, _NEAR_Y, _CHOSEN
NEAREST_FLOATS, NEAREST_SLOTS = 5 * _AREA, 2 * _AREA + MOST_NEIGHBOURS + 16  # lengths of the two workspaces

_U0, _U1, _U16 = np.uint64(0), np.uint64(1), np.uint64(16)
_ONE, _ZERO = np.int32(1), np.int32(0)
_INFINITE = np.float32(np.inf)


@inlined_kernel
def find_nearest(
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
):
    """Find the neighbours of one agent within a radius, nearest first.

    Parameters
    ----------
    cells_x, cells_y : (n + 16,) float64, m
    cells_row, cells_start : uint32
        As in `Cells`, taken out of the tuple before the loop over agents.
    z, slope_x, slope_y, step : various
        As in `Cells`: only agents that share this one's ground are found.
    plane : tuple
        As `plane_numbers` gives it.
    per_metre : float
        Cells per metre.
    slot : uint64
        The agent.
    wanted : uint64, 1..MOST_NEIGHBOURS
        How many neighbours to find at most.
    reach : float32, m
        Only agents nearer than this are found.
    floats : (NEAREST_FLOATS,) float32
        Workspace. From `NEAR_X` and `NEAR_Y` on it receives the neighbours' positions relative to the agent,
        m.
    slots : (NEAREST_SLOTS,) uint32
        Workspace. From `CHOSEN` on it receives the neighbours' slots.

    Returns
    -------
    count : uint64
        Neighbours found. Where it is `wanted`, they are the nearest of all, whatever `reach` was; else all
        within `reach`.
    square : float32, m^2
        Squared distance of the last one; infinite where fewer than `wanted` were found.

    Notes
    -----
    Distances are float32, of differences taken in float64: mirrored and turned scenes give the same numbers.
    Equal distances are ordered by entity. Twin: `tests/reference/neighbours.py`.
    """
    x, y = cells_x[slot], cells_y[slot]
    first_line, lines, first_column, columns, wrapped, row_mask, table_columns, first_cell = window(
        plane, per_metre, x, y, np.float64(reach)
    )
    square = reach * reach
    found = _U0
    own = spread(np.int32(slot))
    has_heights = z.size > 0
    while columns > 0:
        for line in range(first_line, first_line + lines):
            cell = first_cell + (line & row_mask) * table_columns + first_column
            begin, end = (
                np.uint64(cells_start[np.uint64(cell)]),
                np.uint64(cells_start[np.uint64(cell + columns)]),
            )
            limit = spread(np.int32(end))
            for first in range(begin, end, _U16):
                dx, dy = difference(cells_x, first, x), difference(cells_y, first, y)
                index = numbers() + spread(np.int32(first))
                within = (index < limit) & (index != own) & (dx * dx + dy * dy < spread(square))
                near = bits(within)
                if has_heights and near != _U0:
                    within = within & on_same_ground(z, slope_x, slope_y, step, slot, first, dx, dy)
                    near = bits(within)
                append_lanes(slots, found, within, index)
                append_lanes(floats, _X + found, within, dx)
                append_lanes(floats, _Y + found, within, dy)
                found += bit_count(near)
                # a pile: keep the nearest and look no farther than the last of them
                if found > np.uint64(_CANDIDATES):
                    found, square = _thin_out(cells_row, found, wanted, square, floats, slots)
        first_column, columns, wrapped = 0, wrapped, 0  # a folded window goes on at the table's first column
    _measure(found, floats)
    return _pick(cells_row, found, wanted, floats, slots)


@lean_kernel
def _thin_out(cells_row, found, wanted, square, floats, slots):
    """Keep only the nearest candidates; return how many there are,
    and the squared distance beyond which no agent counts any more.
    """
    _measure(found, floats)
    found, farthest = _pick(cells_row, found, wanted, floats, slots)
    for place in range(found):
        slots[place] = slots[_CHOSEN + place]
        floats[_X + place], floats[_Y + place] = floats[_NEAR_X + place], floats[_NEAR_Y + place]
    return found, min(square, farthest * np.float32(1.000001) + np.float32(1e-30))


@inlined_kernel
def _measure(found, floats):
    """Write the squared distances of the candidates."""
    for first in range(_U0, found, _U16):
        dx, dy = load(floats, _X + first), load(floats, _Y + first)
        counts = numbers() + spread(np.int32(first)) < spread(np.int32(found))
        store(floats, _SQUARE + first, choose(counts, dx * dx + dy * dy, spread(_INFINITE)))


@inlined_kernel
def _pick(cells_row, found, wanted, floats, slots):
    """Write the nearest `wanted` candidates in order;
    return how many, and the squared distance of the last if that is `wanted`.
    """
    count = min(found, wanted)
    ordered = False
    # the usual crowd: the rank of a candidate is the number of nearer ones, all ranks at once
    if found <= _U16:
        squares = load(floats, _SQUARE)
        rank = spread(_ZERO)
        for place in range(16):
            rank = rank + choose(
                spread(floats[_SQUARE + np.uint64(place)]) < squares, spread(_ONE), spread(_ZERO)
            )
        ranks = total(choose(numbers() < spread(np.int32(found)), rank, spread(_ZERO)))
        # less where two are equally near
        ordered = np.uint64(ranks) + np.uint64(ranks) + found == found * found
        if ordered:
            for place in range(count):
                _take(place, first_bit(bits(rank == spread(np.int32(place)))), floats, slots)
    if not ordered:
        _insert(cells_row, found, count, floats, slots)
        for place in range(count):
            _take(place, np.uint64(slots[_ORDER + place]), floats, slots)
    farthest = _INFINITE
    if count == wanted:
        x, y = floats[_NEAR_X + count - _U1], floats[_NEAR_Y + count - _U1]
        farthest = x * x + y * y
    return count, farthest


@inlined_kernel
def _take(place, candidate, floats, slots):
    """Make the candidate the neighbour number `place`."""
    floats[_NEAR_X + place], floats[_NEAR_Y + place] = floats[_X + candidate], floats[_Y + candidate]
    slots[_CHOSEN + place] = slots[candidate]


@lean_kernel
def _insert(cells_row, found, count, floats, slots):
    """Write the numbers of the `count` nearest candidates by insertion, equally near ones by row,
    which is the order of entities.
    """
    filled = _U0
    for candidate in range(found):
        square, row = floats[_SQUARE + candidate], cells_row[np.uint64(slots[candidate])]
        place = filled
        while place > _U0:
            before = np.uint64(slots[_ORDER + place - _U1])
            nearest = floats[_SQUARE + before]
            if square > nearest or (square == nearest and row > cells_row[np.uint64(slots[before])]):
                break
            if place < count:
                slots[_ORDER + place] = slots[_ORDER + place - _U1]
            place -= _U1
        if place < count:
            slots[_ORDER + place] = np.uint32(candidate)
            filled = min(filled + _U1, count)


@kernel
def nearest_rows(start, stop, cells, wanted, reach, out_row, out_count):
    """Write the rows of the nearest neighbours, nearest first, for slots start..stop.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    wanted : int, 1..MOST_NEIGHBOURS
    reach : float, m
    out_row : (n, wanted) int64
        By row of the agent; -1 after the last neighbour.
    out_count : (n,) int64

    Notes
    -----
    For models that read lists; `orca` calls `find_nearest` itself. Twin: `tests/reference/neighbours.py`.
    """
    floats, slots = np.zeros(NEAREST_FLOATS, np.float32), np.zeros(NEAREST_SLOTS, np.uint32)
    cells_x, cells_y, cells_row, cells_start, per_metre = (
        cells.x,
        cells.y,
        cells.row,
        cells.start,
        cells.per_metre,
    )
    cells_plane, origin, shape = cells.plane, cells.origin, cells.shape
    z, slope_x, slope_y, step = cells.z, cells.slope_x, cells.slope_y, cells.step
    for slot in range(np.uint64(start), np.uint64(stop)):
        plane = plane_numbers(origin, shape, cells_plane[slot])
        count, _ = find_nearest(
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
            np.uint64(wanted),
            np.float32(reach),
            floats,
            slots,
        )
        row = cells_row[slot]
        out_count[row] = count
        for place in range(out_row.shape[1]):
            out_row[row, place] = (
                np.int64(cells_row[np.uint64(slots[_CHOSEN + np.uint64(place)])])
                if place < np.int64(count)
                else -1
            )
