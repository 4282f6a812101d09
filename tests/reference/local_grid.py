"""Naive twin of the kernels of `crowdsim.navigation.local_grid`:
cells one by one, shortest paths by Dijkstra's search.

Twin of `draw_discs`, `draw_segments`, `find_spans`, `search_spans`, `off_line`, `list_portals`,
`pull_string`, `find_local_path` and `find_local_paths`.
"""

import itertools
import math


def to_segment(p, a, b):
    """Distance of a point from a segment."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    square = dx * dx + dy * dy
    share = 0.0 if square == 0.0 else min(1.0, max(0.0, ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / square))
    return math.dist(p, (a[0] + share * dx, a[1] + share * dy))


def blocked_cells(cells, cell, corner, discs, segments, radius):
    """The cells (column, row) whose middles lie in a disc, or within the radius of a segment."""
    found = set()
    for j in range(cells):
        for i in range(cells):
            middle = ((corner[0] + i + 0.5) * cell, (corner[1] + j + 0.5) * cell)
            if any(math.dist(middle, disc[:2]) <= disc[2] for disc in discs) or any(
                to_segment(middle, s[:2], s[2:]) <= radius for s in segments
            ):
                found.add((i, j))
    return found


def spans_of(cells, blocked):
    """Runs of free cells (row, first, last), row by row."""
    found = []
    for j in range(cells):
        i = 0
        while i < cells:
            if (i, j) in blocked:
                i += 1
                continue
            first = i
            while i < cells and (i, j) not in blocked:
                i += 1
            found.append((j, first, i - 1))
    return found


def off_line(span, a, b):
    """Distance of the segment through the middles of a span's cells from the segment a b,
    by trying many places.
    """
    y, left, right = span[0] + 0.5, span[1] + 0.5, span[2] + 0.5
    if min(a[1], b[1]) <= y <= max(a[1], b[1]) and a[1] != b[1]:
        x = a[0] + (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1])
        if left <= x <= right:
            return 0.0
    ends = [
        to_segment((left, y), a, b),
        to_segment((right, y), a, b),
        to_segment(a, (left, y), (right, y)),
        to_segment(b, (left, y), (right, y)),
    ]
    return min(ends)


def off_point(span, p):
    """Distance of a place from the cells of a span."""
    dx = min(max(p[0], span[1]), span[2] + 1) - p[0]
    dy = min(max(p[1], span[0]), span[0] + 1) - p[1]
    return math.hypot(dx, dy)


def span_at(spans, p):
    """The number of the span under a place, or None."""
    return next(
        (
            k
            for k, (row, first, last) in enumerate(spans)
            if math.floor(p[1]) == row and first <= math.floor(p[0]) <= last
        ),
        None,
    )


def search(spans, a, b):
    """The spans of the path, from start to end, or None; and those visited in their order."""
    start, goal = span_at(spans, a), span_at(spans, b)
    if start is None:
        return None, []
    parent, queue, visited = {start: None}, [start], []
    end = None
    while queue:
        span = queue.pop(0)
        visited.append(span)
        if span == goal:
            end = span
            break
        new = []
        for k, other in enumerate(spans):
            touches = (
                abs(other[0] - spans[span][0]) == 1
                and other[1] <= spans[span][2]
                and other[2] >= spans[span][1]
            )
            if touches and k not in parent:
                parent[k] = span
                new.append(k)
        queue += sorted(new, key=lambda k: round(off_line(spans[k], a, b), 9))
    if end is None:
        end = min(visited, key=lambda k: (round(off_point(spans[k], b), 9), visited.index(k)))
    path = [end]
    while parent[path[0]] is not None:
        path.insert(0, parent[path[0]])
    return path, visited


def portals_of(spans, path):
    """The shared sides ((x, y), (x, y)) along a path, from left to right in x."""
    found = []
    for one, other in itertools.pairwise(path):
        (row, first, last), (to, to_first, to_last) = spans[one], spans[other]
        y = float(max(row, to))
        found.append(((float(max(first, to_first)), y), (float(min(last, to_last) + 1), y)))
    return found


def shortest(portals, a, b):
    """Length of the shortest path from a to b through portals one after the other:
    by their ends, as far as one sees.
    """
    points = (
        [(a, -1)] + [(end, k) for k, portal in enumerate(portals) for end in portal] + [(b, len(portals))]
    )

    def sees(p, q, low, high):
        for k in range(low + 1, high):
            (x0, y), (x1, _) = portals[k]
            if p[1] == q[1]:
                inside = p[1] == y and max(min(p[0], q[0]), x0) <= min(max(p[0], q[0]), x1) + 1e-12
            else:
                x = p[0] + (q[0] - p[0]) * (y - p[1]) / (q[1] - p[1])
                inside = x0 - 1e-9 <= x <= x1 + 1e-9
            if not inside:
                return False
        return True

    best = {0: 0.0}
    for here, (p, k) in enumerate(points):
        if here not in best:
            continue
        for there in range(here + 1, len(points)):
            q, m = points[there]
            if m > k and sees(p, q, k, m):
                best[there] = min(best.get(there, math.inf), best[here] + math.dist(p, q))
    return best[len(points) - 1]
