"""The corner that an agent steers at stays the same for a while:
how far the agent may leave its line before another has to be searched for.

The string from an agent to its next corner stays taut as long as no other vertex of the corridor comes into
it and it still bends at that corner. Both are known when the corner is found: vertices are some distance away
from the line, the *slack*, and no point of the line moves farther across it than the agent; the path behind
the corner does not depend on the agent, so that its direction there decides whether the string still bends.
Until then the next corner is where it was, and steering costs one tangent, however long the corridor is. What
is cached is part of the state of an agent; it never changes which corner is right, only which agents have to
search for it.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.navigation.corridor.portal_vertices import EITHER, FLAGS, vertex_disc, vertices_beside

NOT_CACHED = -(1 << 31)  # The corner has to be searched for.
STRAIGHT_TO_GOAL = NOT_CACHED + 1  # The path to the goal is straight.
# Vertices farther from the line than this are not looked for: a walker strays some decimetres from its line
# before its corner changes.
MOST_SLACK_M = 1.0
# How far behind where the corner was found the agent may be: rounding while it stands. Part of the slack.
BACK_M = 1e-3
# Taken off the slack: BACK_M, the tangent's point that wanders on its disc, and the rounding of the line to
# single precision.
ROUNDING_M = 2e-3
UX, UY, VX, VY, SLACK, REACH = range(6)  # What the columns of `CornerCache.line` are.


class CornerCache(NamedTuple):
    """The corners of agents, a row for each.

    Attributes
    ----------
    code : (n,) int32
        ``8 v`` for a corner at vertex v on the left of the path, ``~(8 v)`` on its right; STRAIGHT_TO_GOAL,
        or NOT_CACHED.
    line : (n, 6) float32
        Unit direction of the line to the corner (x, y), of the path behind the corner (x, y; 0 at the goal),
        slack (m), length of the line (m).
    offset : (n,) float64, m
        Left normal of that direction times any point of the line.
    """

    code: NDArray[np.int32]
    line: NDArray[np.float32]
    offset: NDArray[np.float64]


def empty_corner_cache(count: int) -> CornerCache:
    """Return the cache of `count` agents that have to search for their corners."""
    return CornerCache(
        np.full(count, NOT_CACHED, dtype=np.int32), np.zeros((count, 6), dtype=np.float32), np.zeros(count)
    )


@inlined_kernel
def slack_of(mesh, vertices, count, bend, stop, sx, sy, ux, uy, reach, radius):
    """Return how far from the straight line of an agent every vertex stays (m; 0 if one presses into it).

    `bend` is the place of the corner's vertex, `count` at the goal; `stop` its code. The line begins at (sx,
    sy) and is `reach` long.
    """
    # farther away not all walls are known there
    slack = min(MOST_SLACK_M, radius) if mesh.vertex_clearance.size > 0 and radius > 0.0 else MOST_SLACK_M
    first, last = vertices_beside(
        mesh, vertices, count, 0, bend, sx, sy, sx + reach * ux, sy + reach * uy, radius + MOST_SLACK_M
    )
    for place in range(first, last):
        code = vertices[place]
        if code | FLAGS == stop | FLAGS or (code >= 0 and code & EITHER):
            continue
        cx, cy, side = vertex_disc(mesh, code, radius)
        along = (cx - sx) * ux + (cy - sy) * uy
        if along < -MOST_SLACK_M or along > reach:
            continue
        aside = ux * (cy - sy) - uy * (cx - sx)
        gap = aside - side if code >= 0 else side - aside
        if along < 0.0:
            gap = hypot(aside, along) - abs(side)
        elif gap < -2.0 * radius - ROUNDING_M:
            continue  # passed before or after this part of the path, see `inflate`
        slack = min(slack, gap)
    return max(0.0, slack - ROUNDING_M)


@inlined_kernel
def store_corner(cache, row, code, x, y, ux, uy, vx, vy, slack, reach):
    """Remember the corner of an agent at (x, y)."""
    cache.code[row] = code
    cache.line[row, UX], cache.line[row, UY] = ux, uy
    cache.line[row, VX], cache.line[row, VY] = vx, vy
    cache.line[row, SLACK], cache.line[row, REACH] = slack, reach
    cache.offset[row] = cache.line[row, UX] * y - cache.line[row, UY] * x


@inlined_kernel
def distance_aside(cache, row, x, y):
    """Return how far (x, y) is from the line that was remembered (m)."""
    return abs(cache.line[row, UX] * y - cache.line[row, UY] * x - cache.offset[row])
