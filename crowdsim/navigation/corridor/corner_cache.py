"""The corner that a body steers at holds for a while: how far the body may leave its line before another corner has to be looked for.

The string from a body to its next corner stays taut as long as no other post of the corridor comes into it and it still bends at that corner. Both are
known when the corner is found: posts are some distance away from the line, the *slack*, and no point of the line moves farther than the body does across it;
the way behind the corner does not depend on the body, so that its direction there tells whether the string still bends. Until then the next corner is where
it was, and steering costs one tangent, however long the corridor is. What is held is part of the state of an agent; it never changes which corner is right,
only who has to look for it.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.navigation.corridor.portal_vertices import EITHER, FLAGS, post_disc, posts_beside

NOTHING_HELD = -(1 << 31)  # The corner has to be looked for.
GOAL_HELD = NOTHING_HELD + 1  # The way to the goal is straight.
MOST_SLACK_M = 1.0  # Posts farther from the line than this are not looked for: a walker strays some decimetres from its line before its corner changes.
BACK_M = 1e-3  # How far behind where the corner was found the body may be: rounding of who stands. Part of the slack.
ROUNDING_M = 2e-3  # Taken off the slack: BACK_M, the tangent's point that wanders on its disc, and the rounding of the line to single precision.
UX, UY, VX, VY, SLACK, REACH = range(6)  # What the columns of `Held.line` are.


class Held(NamedTuple):
    """What bodies hold of their corners, a row for each.

    Attributes
    ----------
    post : (n,) int32
        ``8 v`` for a corner at vertex v on the left of the way, ``~(8 v)`` on its right; GOAL_HELD, or NOTHING_HELD.
    line : (n, 6) float32
        Unit direction of the line to the corner (x, y), of the way behind the corner (x, y; 0 at the goal), slack (m), length of the line (m).
    offset : (n,) float64, m
        Left normal of that direction times any point of the line.
    """

    post: NDArray[np.int32]
    line: NDArray[np.float32]
    offset: NDArray[np.float64]


def held_by_nobody(count: int) -> Held:
    """Return what `count` bodies hold that have to look for their corners."""
    return Held(np.full(count, NOTHING_HELD, dtype=np.int32), np.zeros((count, 6), dtype=np.float32), np.zeros(count))


@inlined_kernel
def slack_of(mesh, posts, count, bend, stop, sx, sy, ux, uy, reach, radius):
    """Return how far from the straight line of a body every post stays (m; 0 if one presses into it).

    `bend` is the place of the corner's post, `count` at the goal; `stop` the post itself. The line begins at (sx, sy) and is `reach` long.
    """
    slack = min(MOST_SLACK_M, radius) if mesh.vertex_room.size > 0 and radius > 0.0 else MOST_SLACK_M  # farther away not all walls are known there
    first, last = posts_beside(mesh, posts, count, 0, bend, sx, sy, sx + reach * ux, sy + reach * uy, radius + MOST_SLACK_M)
    for place in range(first, last):
        post = posts[place]
        if post | FLAGS == stop | FLAGS or (post >= 0 and post & EITHER):
            continue
        cx, cy, side = post_disc(mesh, post, radius)
        along = (cx - sx) * ux + (cy - sy) * uy
        if along < -MOST_SLACK_M or along > reach:
            continue
        aside = ux * (cy - sy) - uy * (cx - sx)
        room = aside - side if post >= 0 else side - aside
        if along < 0.0:
            room = np.hypot(aside, along) - abs(side)
        elif room < -2.0 * radius - ROUNDING_M:
            continue  # passed before or after this part of the way, see `swell`
        slack = min(slack, room)
    return max(0.0, slack - ROUNDING_M)


@inlined_kernel
def hold(held, row, post, x, y, ux, uy, vx, vy, slack, reach):
    """Remember the corner of a body at (x, y)."""
    held.post[row] = post
    held.line[row, UX], held.line[row, UY] = ux, uy
    held.line[row, VX], held.line[row, VY] = vx, vy
    held.line[row, SLACK], held.line[row, REACH] = slack, reach
    held.offset[row] = held.line[row, UX] * y - held.line[row, UY] * x


@inlined_kernel
def distance_aside(held, row, x, y):
    """Return how far (x, y) is from the line that was remembered (m)."""
    return abs(held.line[row, UX] * y - held.line[row, UY] * x - held.offset[row])
