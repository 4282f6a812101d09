"""Whether agents get anywhere from where they are, between others that stay and walls."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import inlined_kernel, kernel

SHUT_IN_REACH_M = 2.0  # An agent that cannot get as far as this from where it is, is shut in.
# Of the lattice on which that is found out: gaps that are wider or narrower than an agent by less may count
# as closed or open.
SHUT_IN_CELL_M = 0.05
# Agents are taken to be thinner by so much there, half a cell, so that the lattice errs as often to either
# side, and contacts overlap.
SQUEEZE_M = 0.025
_CELLS = round(SHUT_IN_REACH_M / SHUT_IN_CELL_M)  # from the agent to each side
_LEAST_SQUARE = 1e-300  # of the length of a wall, m2: one without length is a point


@inlined_kernel
def _is_within(dx, dy, far):
    """Return whether the vector (dx, dy) is shorter than `far`, m; most are not, in x or y alone."""
    return abs(dx) < far and abs(dy) < far and hypot(dx, dy) < far


@inlined_kernel
def _is_free(x, y, own, position, radius, others, start, end, walls):
    """Return whether an agent of radius `own` could be at (x, y), m, beside rows of others and of walls."""
    for other in others:
        far = own + radius[other] - SQUEEZE_M
        if _is_within(x - position[other, 0], y - position[other, 1], far):
            return False
    for wall in walls:
        ax, ay = start[wall, 0], start[wall, 1]
        along_x, along_y = end[wall, 0] - ax, end[wall, 1] - ay
        square = max(along_x * along_x + along_y * along_y, _LEAST_SQUARE)
        share = min(max(((x - ax) * along_x + (y - ay) * along_y) / square, 0.0), 1.0)
        if _is_within(ax + share * along_x - x, ay + share * along_y - y, own - SQUEEZE_M):
            return False
    return True


@kernel
def find_shut_in(rows, position, radius, first_other, other, start, end, first_wall, wall, is_shut_in):
    """Find the agents that can get nowhere from where they are, between others that stay and walls.

    Parameters
    ----------
    rows : (k,) int64
        Of the agents that are asked about.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    first_other : (k + 1,) int64
    other : (p,) int64
        Rows of those that stay near each, ``other[first_other[i]:first_other[i + 1]]``; others may be among
        them that are too far away to matter.
    start, end : (m, 2) float64, m
        Ends of walls.
    first_wall : (k + 1,) int64
    wall : (q,) int64
        Those near each, likewise.
    is_shut_in : (k,) bool
        Receives which they are.

    Notes
    -----
    Places `SHUT_IN_CELL_M` apart where the agent would be free, `SQUEEZE_M` thinner, are flooded from where
    it is; it is shut in if the flood ends within `SHUT_IN_REACH_M` in x and y. The flood goes on from the
    place that it found last, so that one that gets out is soon out. Twin: `tests/reference/deadlock.py`.
    """
    wide = 2 * _CELLS + 1
    seen = np.full((wide, wide), -1)  # by which agent's flood
    found = np.empty(wide * wide, dtype=np.int64)  # places to go on from
    for each in range(rows.size):
        row = rows[each]
        others = other[first_other[each] : first_other[each + 1]]
        walls = wall[first_wall[each] : first_wall[each + 1]]
        seen[_CELLS, _CELLS] = each
        found[0], left, gets_out = _CELLS * wide + _CELLS, 1, False
        while left > 0 and not gets_out:
            left -= 1
            i, j = found[left] // wide, found[left] % wide
            for step_i, step_j in ((0, 1), (0, -1), (1, 0), (-1, 0)):
                k, m = i + step_i, j + step_j
                if seen[k, m] == each:
                    continue
                seen[k, m] = each
                x = position[row, 0] + (k - _CELLS) * SHUT_IN_CELL_M
                y = position[row, 1] + (m - _CELLS) * SHUT_IN_CELL_M
                if not _is_free(x, y, radius[row], position, radius, others, start, end, walls):
                    continue
                if k == 0 or m == 0 or k == wide - 1 or m == wide - 1:
                    gets_out = True
                    break
                found[left] = k * wide + m
                left += 1
        is_shut_in[each] = not gets_out
