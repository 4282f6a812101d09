"""The path through a small grid that follows an agent:
a breadth-first search over spans that keeps to the straight line, and a funnel ([Mononen 2010]).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.local_grid.grid import FIRST, LAST, ROW

# What a local grid says of the straight line to where the agent is going.
NOT_ASKED, AGREES, LEADS_ROUND, NO_PATH = range(4)

_NO_SPAN = np.int32(-1)


@inlined_kernel
def _point_to_segment(px, py, ax, ay, bx, by):
    """Return the squared distance of a point from a segment."""
    dx, dy = bx - ax, by - ay
    square = dx * dx + dy * dy
    share = 0.0 if square == 0.0 else min(1.0, max(0.0, ((px - ax) * dx + (py - ay) * dy) / square))
    ex, ey = ax + share * dx - px, ay + share * dy - py
    return ex * ex + ey * ey


@lean_kernel
def off_line(row, first, last, ax, ay, bx, by):
    """Return the squared distance, in cells, of the middles of a span's cells, taken as a line,
    from the segment from a to b.
    """
    y, left, right = row + 0.5, first + 0.5, last + 0.5
    if min(ay, by) <= y <= max(ay, by) and ay != by:
        x = ax + (bx - ax) * (y - ay) / (by - ay)
        if left <= x <= right:
            return 0.0
    near = min(_point_to_segment(left, y, ax, ay, bx, by), _point_to_segment(right, y, ax, ay, bx, by))
    from_a = min(max(ax, left), right) - ax
    from_b = min(max(bx, left), right) - bx
    return min(near, min(from_a * from_a + (y - ay) * (y - ay), from_b * from_b + (y - by) * (y - by)))


@inlined_kernel
def span_at(spans, row_start, cells, x, y):
    """Return the span of the cell at a place, -1 if there is none."""
    column, row = np.int32(np.floor(x)), np.int64(np.floor(y))
    if row < 0 or row >= cells:
        return np.int32(-1)
    for span in range(row_start[row], row_start[row + 1]):
        if spans[span, FIRST] <= column <= spans[span, LAST]:
            return np.int32(span)
    return np.int32(-1)


@inlined_kernel
def off_point(spans, span, x, y):
    """Return the squared distance, in cells, of a place from a span's nearest cell."""
    dx = min(max(x, np.float64(spans[span, FIRST])), spans[span, LAST] + 1.0) - x
    dy = min(max(y, np.float64(spans[span, ROW])), spans[span, ROW] + 1.0) - y
    return dx * dx + dy * dy


@lean_kernel
def search_spans(spans, row_start, cells, ax, ay, bx, by, parent, queue, rank):
    """Search from the span of a to that of b, first in, first out;
    what is near to the straight line is added first ([Mononen 2010]).

    Parameters
    ----------
    spans : (MOST_SPANS, 3) int32
    row_start : (cells + 1,) int32
        As `find_spans` wrote them.
    cells : int
    ax, ay, bx, by : float
        Start and end, in cells from the grid's corner.
    parent : (MOST_SPANS,) int32
        Receives for each span from which one it was reached; that of the start is itself, -1 of those that
        were not.
    queue : (MOST_SPANS,) int32
        Receives the spans in the order in which they were visited.
    rank : (MOST_SPANS,) float64
        Workspace.

    Returns
    -------
    int
        The span at which the path ends: that of b, or the visited one that is nearest to b (the first of
        those equally near); -1 if a is in none.
    int
        How many spans were visited.

    Notes
    -----
    Spans are neighbours if they lie in rows one above the other and share a side of a cell. The open list is
    never sorted, only the new spans that are added to it. Twin: `tests/reference/local_grid.py`.
    """
    count = row_start[cells]
    for span in range(count):
        parent[span] = _NO_SPAN
    start = span_at(spans, row_start, cells, ax, ay)
    if start < 0:
        return -1, 0
    goal = span_at(spans, row_start, cells, bx, by)
    parent[start], queue[0] = start, start
    head, tail, nearest, least = 0, 1, start, off_point(spans, start, bx, by)
    while head < tail:
        span = queue[head]
        head += 1
        if span == goal:
            return span, head
        off = off_point(spans, span, bx, by)
        if off < least:
            nearest, least = span, off
        begin = tail
        for side in range(-1, 2, 2):
            row = spans[span, ROW] + side
            if row < 0 or row >= cells:
                continue
            for other in range(row_start[row], row_start[row + 1]):
                if spans[other, LAST] < spans[span, FIRST] or parent[other] >= 0:
                    continue
                if spans[other, FIRST] > spans[span, LAST]:
                    break
                parent[other] = span
                away = off_line(spans[other, ROW], spans[other, FIRST], spans[other, LAST], ax, ay, bx, by)
                # insertion among the new ones: stable, so of those equally far the lower row, then the left
                # one comes first
                place = tail
                while place > begin and rank[place - 1] > away:
                    queue[place], rank[place] = queue[place - 1], rank[place - 1]
                    place -= 1
                queue[place], rank[place] = other, away
                tail += 1
    return nearest, head


@inlined_kernel
def _cross(ax, ay, bx, by, cx, cy):
    return (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)


@lean_kernel
def list_portals(spans, parent, end, queue, portals):
    """Write the sides that the spans of a path share, from its start to its end.

    Parameters
    ----------
    spans : (MOST_SPANS, 3) int32
    parent : (MOST_SPANS,) int32
    end : int
        Span at which the path ends.
    queue : (MOST_SPANS,) int32
        Workspace.
    portals : (MOST_SPANS + 1, 4) float64
        Receives x, y of the left end and of the right end of each, in cells.

    Returns
    -------
    int
        How many portals there are.
    """
    count, span = 0, end
    while parent[span] != span:
        queue[count] = span
        count += 1
        span = parent[span]
    for place in range(count):
        to = queue[count - 1 - place]
        low, high = max(spans[span, FIRST], spans[to, FIRST]), min(spans[span, LAST], spans[to, LAST]) + 1
        up = spans[to, ROW] > spans[span, ROW]
        y = np.float64(spans[to, ROW] if up else spans[span, ROW])
        left, right = (low, high) if up else (high, low)
        portals[place, 0], portals[place, 1], portals[place, 2], portals[place, 3] = left, y, right, y
        span = to
    return count


@lean_kernel
def pull_string(portals, count, ax, ay, bx, by, corners):
    """Pull a string through portals ([Mononen 2010], "Simple Stupid Funnel Algorithm").

    Parameters
    ----------
    portals : (count + 1, 4) float64
        The last entry is used for the end.
    count : int
    ax, ay, bx, by : float
        Start and end.
    corners : (MOST_SPANS + 1, 2) float64
        Receives the bends and the end.

    Returns
    -------
    int
        How many corners there are, at least the end.

    Notes
    -----
    Twin: the shortest path of all through the portals in `tests/reference/local_grid.py`.
    """
    portals[count, 0], portals[count, 1], portals[count, 2], portals[count, 3] = bx, by, bx, by
    found = 0
    apex_x, apex_y, left_x, left_y, right_x, right_y = ax, ay, ax, ay, ax, ay
    left, right, place = -1, -1, 0
    while place <= count:
        to_x, to_y = portals[place, 2], portals[place, 3]
        # the right leg does not turn outwards
        if _cross(apex_x, apex_y, right_x, right_y, to_x, to_y) >= 0.0:
            if (apex_x == right_x and apex_y == right_y) or _cross(
                apex_x, apex_y, left_x, left_y, to_x, to_y
            ) < 0.0:
                right_x, right_y, right = to_x, to_y, place
            else:  # it passes the left leg: that is a corner
                corners[found, 0], corners[found, 1] = left_x, left_y
                found += 1
                apex_x, apex_y, place = left_x, left_y, left
                left_x, left_y, right_x, right_y, right = apex_x, apex_y, apex_x, apex_y, place
                place += 1
                continue
        to_x, to_y = portals[place, 0], portals[place, 1]
        if _cross(apex_x, apex_y, left_x, left_y, to_x, to_y) <= 0.0:
            if (apex_x == left_x and apex_y == left_y) or _cross(
                apex_x, apex_y, right_x, right_y, to_x, to_y
            ) > 0.0:
                left_x, left_y, left = to_x, to_y, place
            else:
                corners[found, 0], corners[found, 1] = right_x, right_y
                found += 1
                apex_x, apex_y, place = right_x, right_y, right
                left_x, left_y, right_x, right_y, left = apex_x, apex_y, apex_x, apex_y, place
                place += 1
                continue
        place += 1
    if found == 0 or corners[found - 1, 0] != bx or corners[found - 1, 1] != by:
        corners[found, 0], corners[found, 1] = bx, by
        found += 1
    return found


@lean_kernel
def end_in(spans, span, bx, by):
    """Return the place in a span's cells that is nearest to b, half a cell inside, in cells."""
    y = spans[span, ROW] + 0.5
    return min(max(bx, spans[span, FIRST] + 0.5), spans[span, LAST] + 0.5), y
