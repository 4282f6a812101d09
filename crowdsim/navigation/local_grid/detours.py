"""Local navigation grids: where a walker goes round what stands in its way and its path knows nothing of.

Source: [Mononen 2010], "Local Navigation Grids". The path leads from corner to corner; on the way to the next
one, a grid of 20 to 64 cells a side follows the walker.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.cells import Cells, plane_numbers, window
from crowdsim.geometry.plane import distance_to_segment
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.local_grid.grid import (
    MOST_SPANS,
    corner_of_grid,
    draw_discs,
    draw_segments,
    find_spans,
)
from crowdsim.navigation.local_grid.search import (
    AGREES,
    LEADS_ROUND,
    NO_PATH,
    end_in,
    list_portals,
    off_point,
    pull_string,
    search_spans,
    span_at,
)
from crowdsim.tunable import param

# that one grid draws; more than that many agents within its reach stand shoulder to shoulder, and those
# beyond are left out
MOST_DISCS = 512
MOST_SEGMENTS = 1024  # of walls, likewise
# Instead of a share of a stationary agent's radius: the grid is drawn for every line that a disc is near to.
EVERY_LINE = -1.0
# A bend nearer than this share of a cell is as good as reached: the next one is the waypoint.
_CLOSE_OF_CELL = 0.5
# Where there is no path, an agent that gets this much nearer goes there first. Less swings to and fro between
# two dead ends; more goes through sooner.
_WORTH_M = 1.0


@dataclass(frozen=True)
class LocalGridParameters:
    """Local grids."""

    local_grid: bool = param(
        False,
        "",
        source="[Mononen 2010], Local Navigation Grids",
        why=(
            "whether walkers look for a path round stationary agents and round obstacles on a small grid "
            "that follows them; off, avoidance alone leads past"
        ),
    )
    local_grid_cells: int = param(
        32, "", low=20, high=64, source="[Mononen 2010]: 20 to 64 a side",
        why="cells a side; more look farther and cost more time",
    )  # fmt: skip
    local_grid_cell: float = param(
        0.15,
        "m",
        low=0.02,
        high=2.0,
        source="ours",
        why=(
            "width of a cell: less than the radius of an agent, so that gaps that it fits through are "
            "found; larger looks farther and misses narrow ones"
        ),
    )
    local_grid_price: float = param(
        20.0,
        "m",
        low=0.0,
        high=1e6,
        source="ours",
        why="what searches on a mesh add to a path through a portal at which the agent's grid found none, "
        "with replanning: longer paths round are not taken; "
        "larger goes farther round, 0 finds the same path again",
    )
    local_grid_memory: float = param(
        20.0,
        "s",
        low=0.0,
        high=1e6,
        source="ours",
        why=(
            "for how long an agent remembers that, once it has turned away and cannot see it any more; "
            "larger comes back later, smaller walks to and fro"
        ),
    )


class Scratch(NamedTuple):
    """Room to work in, for one grid at a time; see the kernels of `grid` and `search`."""

    words: NDArray[np.uint64]
    spans: NDArray[np.int32]
    row_start: NDArray[np.int32]
    parent: NDArray[np.int32]
    queue: NDArray[np.int32]
    rank: NDArray[np.float64]
    portals: NDArray[np.float64]
    corners: NDArray[np.float64]


class Walking(NamedTuple):
    """All agents, as far as grids ask.

    Attributes
    ----------
    position, to : (n, 2) float64, m
        Where they are, and the next corners of their paths.
    radius : (n,) float64, m
    part : (n,) int32
        Ground that each is on; others do not count.
    zone : (n,) int64
        Row of the wall lists.
    """

    position: NDArray[np.float64]
    to: NDArray[np.float64]
    radius: NDArray[np.float64]
    part: NDArray[np.int32]
    zone: NDArray[np.int64]


class Standing(NamedTuple):
    """Stationary agents, and the discs of obstacles.

    Attributes
    ----------
    cells : Cells
        Of them.
    owner : (m,) int64
        Their rows.
    radius : (m,) float64, m
    widest : float, m
        The farthest that any of them keeps any walker away.
    """

    cells: Cells
    owner: NDArray[np.int64]
    radius: NDArray[np.float64]
    widest: float


@kernel
def make_scratch(side):
    """Return room for a grid of so many cells a side."""
    return Scratch(
        np.empty(side, np.uint64),
        np.empty((MOST_SPANS, 3), np.int32),
        np.empty(side + 1, np.int32),
        np.empty(MOST_SPANS, np.int32),
        np.empty(MOST_SPANS, np.int32),
        np.empty(MOST_SPANS),
        np.empty((MOST_SPANS + 1, 4)),
        np.empty((MOST_SPANS + 1, 2)),
    )


@lean_kernel
def find_local_path(scratch, cells, cell, corner_x, corner_y, x, y, to_x, to_y):
    """Find the path through a drawn grid, ``scratch.words``; see `find_local_paths`.

    Returns
    -------
    int
        AGREES, LEADS_ROUND or NO_PATH.
    int
        How many entries of ``scratch.corners`` are the bends and the end of the path, in cells from the
        grid's corner.
    """
    spans, row_start = scratch.spans, scratch.row_start
    find_spans(scratch.words, cells, spans, row_start)
    ax, ay, bx, by = x / cell - corner_x, y / cell - corner_y, to_x / cell - corner_x, to_y / cell - corner_y
    share, most = 1.0, 0.5 * cells - 1.0
    for step in (bx - ax, by - ay):
        if abs(step) * share > most:
            share = most / abs(step)
    bx, by = ax + share * (bx - ax), ay + share * (by - ay)
    from_x, from_y = ax, ay
    start = span_at(spans, row_start, cells, ax, ay)
    if start < 0:  # the agent touches something: it begins in the nearest free cell
        least = np.inf
        for span in range(row_start[cells]):
            off = off_point(spans, span, ax, ay)
            if off < least:
                start, least = np.int32(span), off
        if start < 0:
            return NO_PATH, 0
        from_x, from_y = end_in(spans, start, ax, ay)
    end, _ = search_spans(
        spans, row_start, cells, from_x, from_y, bx, by, scratch.parent, scratch.queue, scratch.rank
    )
    is_there = span_at(spans, row_start, cells, bx, by) == end
    if not is_there:
        bx, by = end_in(spans, end, bx, by)
    count = list_portals(spans, scratch.parent, end, scratch.queue, scratch.portals)
    found = pull_string(scratch.portals, count, ax, ay, bx, by, scratch.corners)
    if not is_there:
        return NO_PATH, found
    return AGREES if found == 1 and from_x == ax and from_y == ay else LEADS_ROUND, found


@inlined_kernel
def _gather_discs(row, plane, half, share, walking, standing, discs):
    """Write the discs within reach of the grid of an agent, with the radius that it keeps from their centres;
    return how many.
    """
    cells, x, y, radius = (
        standing.cells,
        walking.position[row, 0],
        walking.position[row, 1],
        walking.radius[row],
    )
    table = plane_numbers(cells.origin, cells.shape, plane)
    line, lines, column, columns, wrapped, row_mask, table_columns, first_cell = window(
        table, cells.per_metre, x, y, half + standing.widest
    )
    count = 0
    while columns > 0:
        for number in range(line, line + lines):
            cell = first_cell + (number & row_mask) * table_columns + column
            for slot in range(np.int64(cells.start[cell]), np.int64(cells.start[cell + columns])):
                index = np.int64(cells.row[slot])
                owner = standing.owner[index]
                if owner == row or walking.part[owner] != walking.part[row] or count == discs.shape[0]:
                    continue
                reach = max(standing.radius[index] + radius, share * standing.radius[index])
                if abs(cells.x[slot] - x) < half + reach and abs(cells.y[slot] - y) < half + reach:
                    discs[count, 0], discs[count, 1], discs[count, 2] = cells.x[slot], cells.y[slot], reach
                    count += 1
        column, columns, wrapped = 0, wrapped, 0
    return count


@inlined_kernel
def _gather_segments(row, reach, walking, walls, segments):
    """Write the walls within reach of an agent along x and y; return how many."""
    wall_start, wall_end, zone_start, zone_wall = walls
    x, y, near = walking.position[row, 0], walking.position[row, 1], 0
    for place in range(zone_start[walking.zone[row]], zone_start[walking.zone[row] + 1]):
        wall = zone_wall[place]
        ax, ay, bx, by = wall_start[wall, 0], wall_start[wall, 1], wall_end[wall, 0], wall_end[wall, 1]
        if (
            max(ax, bx) > x - reach
            and min(ax, bx) < x + reach
            and max(ay, by) > y - reach
            and min(ay, by) < y + reach
            and near < MOST_SEGMENTS
        ):
            segments[near, 0], segments[near, 1], segments[near, 2], segments[near, 3] = ax, ay, bx, by
            near += 1
    return near


@inlined_kernel
def _is_cut(discs, count, ax, ay, bx, by):
    """Return whether any of the first `count` discs cuts a segment."""
    for disc in range(count):
        if distance_to_segment(discs[disc, 0], discs[disc, 1], ax, ay, bx, by) < discs[disc, 2]:
            return True
    return False


@inlined_kernel
def _gets_on(corners, found, corner_x, corner_y, cell, x, y, to, row):
    """Return whether the end of a path through a grid is nearer to where an agent is going than the agent,
    by what is worth a detour.
    """
    if found == 0:
        return False
    ex, ey = (
        (corners[found - 1, 0] + corner_x) * cell - to[row, 0],
        (corners[found - 1, 1] + corner_y) * cell - to[row, 1],
    )
    return np.sqrt(ex * ex + ey * ey) + _WORTH_M <= np.sqrt(
        (x - to[row, 0]) * (x - to[row, 0]) + (y - to[row, 1]) * (y - to[row, 1])
    )


@kernel
def find_local_paths(
    start, stop, rows, plane, share, walking, standing, walls, side, cell, waypoint, outcome
):
    """Find the paths of agents through the grids round them.

    Parameters
    ----------
    start, stop : int
        Range of `rows`.
    rows : (k,) int64
        Of the agents that ask.
    plane : (k,) int32
        Plane of ``standing.cells`` in which others are looked for.
    share : (k,) float64
        Part of a stationary agent's radius in which no other centre is to be, if that is more than both
        radii. The grid is drawn only where a disc cuts the straight line; EVERY_LINE: wherever one is near.
    walking : Walking
    standing : Standing
    walls : tuple
        `start`, `end`, `zone_start` and `zone_wall` of `Walls`.
    side : int, 20..64
        Cells a side.
    cell : float, m
        Width of a cell.
    waypoint : (k, 2) float64, m
        Receives where each is to go first: the corner itself where the grid agrees.
    outcome : (k,) uint8
        Receives AGREES where the straight line is free, LEADS_ROUND where another path leads to the corner
        (or to where the line leaves the grid), NO_PATH where none does: then the waypoint is as near as
        possible; with a share, only if that is a metre nearer than the agent, else it is the corner.

    Notes
    -----
    With no disc near there is nothing that the path does not know: the grid is not drawn. Of a path's bends
    the first counts that is half a cell away. A cell is free if its middle is as far from everything as the
    agent is wide. Twin: `tests/reference/local_grid.py`.
    """
    scratch, discs, segments = make_scratch(side), np.empty((MOST_DISCS, 3)), np.empty((MOST_SEGMENTS, 4))
    half, to = 0.5 * (side + 1) * cell, walking.to
    for query in range(start, stop):
        row = rows[query]
        x, y = walking.position[row, 0], walking.position[row, 1]
        waypoint[query, 0], waypoint[query, 1], outcome[query] = to[row, 0], to[row, 1], AGREES
        count = _gather_discs(row, plane[query], half, share[query], walking, standing, discs)
        if count == 0 or (
            share[query] != EVERY_LINE and not _is_cut(discs, count, x, y, to[row, 0], to[row, 1])
        ):
            continue
        near = _gather_segments(row, half + walking.radius[row], walking, walls, segments)
        scratch.words[:] = 0
        corner_x, corner_y = corner_of_grid(x, cell, side), corner_of_grid(y, cell, side)
        draw_discs(scratch.words, side, cell, corner_x, corner_y, discs, count)
        draw_segments(scratch.words, side, cell, corner_x, corner_y, segments, near, walking.radius[row])
        said, found = find_local_path(scratch, side, cell, corner_x, corner_y, x, y, to[row, 0], to[row, 1])
        outcome[query], corners = said, scratch.corners
        if said == AGREES or (
            said == NO_PATH
            and share[query] != EVERY_LINE
            and not _gets_on(corners, found, corner_x, corner_y, cell, x, y, to, row)
        ):
            continue
        waypoint[query, 0], waypoint[query, 1] = x, y
        for bend in range(found):
            waypoint[query, 0], waypoint[query, 1] = (
                (corners[bend, 0] + corner_x) * cell,
                (corners[bend, 1] + corner_y) * cell,
            )
            dx, dy = waypoint[query, 0] - x, waypoint[query, 1] - y
            if np.sqrt(dx * dx + dy * dy) >= _CLOSE_OF_CELL * cell:
                break
