"""Which agents have others near the straight line that they walk along,
for replanning ([Pathfinding undated], section 9).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdsim.geometry.cells import plane_numbers, window
from crowdsim.geometry.plane import nearest_on_segment
from crowdsim.kernels.decorator import kernel
from crowdsim.tunable import param

# Lines are looked along in pieces: the square round a piece then has few cells beside the line, and near
# agents are found first.
_LONGEST_PIECE_M = 2.0


@dataclass(frozen=True)
class ReplanParameters:
    """When agents that have a path ask for a new one."""

    replanning: bool = param(
        False,
        "",
        source="[Pathfinding undated], section 9",
        why=(
            "whether agents ask for new paths when others stand in theirs; off, only those do that were "
            "pushed off theirs, or lost it to a shut door"
        ),
    )
    replan_trigger: float = param(
        1.8,
        "m",
        low=0.0,
        high=1000.0,
        source="[Pathfinding undated], section 9 (kReplanTriggerDist)",
        why=(
            "another agent that moved this near to the line to the next corner lets an agent look at that "
            "line; larger looks more often"
        ),
    )
    replan_moved: float = param(
        0.05,
        "m",
        low=0.0,
        high=100.0,
        source="[Pathfinding undated], section 9 (kMovedEps)",
        why=(
            "how far an agent has to get, since it last counted, to count as having moved; smaller lets "
            "pushes in a resting crowd set off searches"
        ),
    )
    replan_cooldown: float = param(
        0.5,
        "s",
        low=0.0,
        high=1e6,
        source="[Pathfinding undated], section 9 (kReplanCooldownMs)",
        why=(
            "least time from an agent's last path to its next replan; smaller answers sooner and costs "
            "searches"
        ),
    )


@kernel
def find_near_lines(start, stop, rows, plane, position, to, part, heights, cells, owner, reach, out):
    """Find the agents that have one of some others near the line to a point.

    Parameters
    ----------
    start, stop : int
        Range of `rows`.
    rows : (k,) int64
        Rows of these agents.
    plane : (k,) int32
        Plane of `cells` in which others are looked for.
    position, to : (n, 2) float64, m
        Ends of the lines of all agents.
    part : (n,) int32
        Ground that each is on; others do not count.
    heights : Heights
        An agent `step` above or below the plane under another is on other ground; without entries on level
        ground.
    cells : Cells
        Of the agents that are looked for.
    owner : (m,) int64
        Their rows.
    reach : (m,) float64, m
        How near to the line each has to be; negative: does not count.
    out : (k,) uint8
        Receives 1 where another than the agent itself is that near.

    Notes
    -----
    Twin: `tests/reference/nudge.py`.
    """
    height, slope, step = heights
    has_heights = height.size > 0
    widest = max(0.0, reach.max())
    for query in range(start, stop):
        row = rows[query]
        x, y, to_x, to_y = position[row, 0], position[row, 1], to[row, 0], to[row, 1]
        length = np.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y))
        pieces = max(1, int(np.ceil(length / max(_LONGEST_PIECE_M, widest))))
        half = 0.5 * length / pieces
        table = plane_numbers(cells.origin, cells.shape, plane[query])
        out[query] = 0
        for piece in range(pieces):
            share = (piece + 0.5) / pieces
            middle_x, middle_y = x + share * (to_x - x), y + share * (to_y - y)
            line, lines, column, columns, wrapped, row_mask, table_columns, first_cell = window(
                table, cells.per_metre, middle_x, middle_y, half + widest
            )
            while columns > 0 and out[query] == 0:
                for number in range(line, line + lines):
                    cell = first_cell + (number & row_mask) * table_columns + column
                    for slot in range(np.int64(cells.start[cell]), np.int64(cells.start[cell + columns])):
                        index = np.int64(cells.row[slot])
                        other = owner[index]
                        if reach[index] < 0.0 or other == row or part[other] != part[row]:
                            continue
                        px, py = cells.x[slot], cells.y[slot]
                        nx, ny = nearest_on_segment(px, py, x, y, to_x, to_y)
                        if (px - nx) * (px - nx) + (py - ny) * (py - ny) > reach[index] * reach[index]:
                            continue
                        if has_heights:
                            rise = height[other] - height[row]
                            if not abs(rise - (slope[row, 0] * (px - x) + slope[row, 1] * (py - y))) < step:
                                continue
                        out[query] = 1
                        break
                    if out[query] == 1:
                        break
                column, columns, wrapped = 0, wrapped, 0
            if out[query] == 1:
                break
