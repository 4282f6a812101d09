"""Asking aside: an agent that stands in the way of a walker takes a small step ([Pathfinding undated],
section 8).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.cells import plane_numbers, share_ground, window
from crowdsim.kernels.decorator import kernel
from crowdsim.navigation.corridor.clear_line import is_clear_line
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.tunable import param

CANDIDATES = 4  # straight away, to the left of that, to the right, and back
NO_CANDIDATE = -1


@dataclass(frozen=True)
class NudgeParameters:
    """Which agents are asked aside, and how far they go."""

    nudging: bool = param(
        False,
        "",
        source="[Pathfinding undated], section 8",
        why=(
            "whether stationary agents step aside for walkers; off, one in a doorway keeps it shut unless "
            "it is pushed out"
        ),
    )
    nudge_distance: float = param(
        1.2,
        "m",
        above=0.0,
        high=100.0,
        source="[Pathfinding undated], section 8 (kNudgeDist)",
        why=(
            "how far a stationary agent steps aside: two diameters and a bit; larger opens paths wider and "
            "scatters a crowd that stands"
        ),
    )
    nudge_reached: float = param(
        0.05,
        "m",
        low=0.0,
        high=10.0,
        source="[Pathfinding undated], section 7 (WALK_THRESHOLD)",
        why="a step aside is over this near to its end; larger ends it sooner",
    )
    nudge_contact: float = param(
        0.01,
        "m",
        low=0.0,
        high=1.0,
        source="ours",
        why=(
            "gap up to which agents count as touching: those that overlapped have been pushed apart by the "
            "end of the tick; larger asks before they touch"
        ),
    )
    nudge_patience: float = param(
        3.0,
        "s",
        above=0.0,
        high=1e6,
        source="ours",
        why=(
            "after this time a step aside is over wherever it led: others may stand on its end; smaller "
            "gives up sooner, larger presses on in a crowd"
        ),
    )


@dataclass(frozen=True)
class BlockedParameters:
    """When a stationary agent counts as blocking a walker."""

    blocked_share: float = param(
        1.0 / 3.0,
        "",
        low=0.0,
        high=1.0,
        source="ours",
        why=(
            "share of its preferred speed, in that direction, below which a walker is blocked; larger asks "
            "agents that only slow others, 0 those that touch"
        ),
    )
    blocked_time: float = param(
        0.5, "s", low=0.0, high=1e6, source="ours",
        why="for how long it has to be; smaller asks at every dodge, larger lets a path be shut for longer",
    )  # fmt: skip


def count_blocked(
    entity: NDArray[np.int64],
    wants: NDArray[np.bool_],
    stands: NDArray[np.bool_],
    velocity: NDArray[np.float64],
    preferred_velocity: NDArray[np.float64],
    blocker: NDArray[np.int64],
    share: float,
    blocked: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Count for how many ticks in a row stationary agents have blocked walkers.

    Velocity obstacles keep agents from touching, so a stationary agent in the way of one that avoids it would
    never be asked aside on contact.

    Parameters
    ----------
    entity : (n,) int64
        Ascending.
    wants : (n,) bool
        Agents that are on their way.
    stands : (n,) bool
    velocity, preferred_velocity : (n, 2) float64, m/s
        Of the last tick.
    blocker : (n,) int64
        Of the last tick: entity whose constraint bound the velocity, 0 none, -1 a wall.
    share : float
        Of the preferred speed, along the preferred direction, below which an agent is blocked.
    blocked : (n,) int32, ticks
        The count so far.

    Returns
    -------
    (n,) int32, ticks
        One more where the agent that `blocker` names, always the same or not, is stationary and blocks the
        walker; else 0. Twin: `tests/reference/nudge.py`.
    """
    result = np.zeros(len(entity), dtype=np.int32)
    rows = np.flatnonzero(wants & (blocker > 0))
    if not len(rows):
        return result
    wanted = preferred_velocity[rows]
    wish = wanted[:, 0] * wanted[:, 0] + wanted[:, 1] * wanted[:, 1]
    along = velocity[rows, 0] * wanted[:, 0] + velocity[rows, 1] * wanted[:, 1]
    rows = rows[(along < share * wish) & (wish > 0.0)]
    by = rows_of_entities(entity, blocker[rows])
    rows = rows[(by >= 0) & stands[by]]
    result[rows] = blocked[rows] + 1
    return result


def rows_of_entities(entity: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of each of `wanted`, (k,), in the ascending `entity`, (n,);
    -1 for those that are not there.
    """
    place = np.minimum(np.searchsorted(entity, wanted), max(0, len(entity) - 1))
    return (
        np.where(entity[place] == wanted, place, -1)
        if len(entity)
        else np.full(len(wanted), -1, dtype=np.int64)
    )


@kernel
def find_touching(start, stop, cells, radius, preferred_velocity, wants, stands, gap, widest, out):
    """Find for each stationary agent the walker that touches it and wants to go where it stands.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    cells : Cells
        Of all rows.
    radius : (n,) float64, m
    preferred_velocity : (n, 2) float64, m/s
    wants, stands : (n,) uint8
        Agents that are on their way, and agents that can be asked aside.
    gap : float, m
        Agents no farther from each other than this touch.
    widest : float, m
        Largest radius of all.
    out : (n,) int64
        Receives the row of the walker whose centre is nearest, of those equally near the lowest row; -1 where
        there is none.

    Notes
    -----
    A walker that touches an agent in passing, and wants away from it, asks nothing. Twin:
    `tests/reference/nudge.py`.
    """
    x, y, row_of_slot, first = cells.x, cells.y, cells.row, cells.start
    has_heights = cells.z.size > 0
    for row in range(start, stop):
        out[row] = -1
        if stands[row] == 0:
            continue
        slot = np.int64(cells.slot[row])
        here_x, here_y = x[slot], y[slot]
        nearest = np.inf
        plane = plane_numbers(cells.origin, cells.shape, cells.plane[slot])
        reach = radius[row] + widest + gap
        line, lines, column, columns, wrapped, row_mask, table_columns, first_cell = window(
            plane, cells.per_metre, here_x, here_y, reach
        )
        while columns > 0:
            for step in range(line, line + lines):
                cell = first_cell + (step & row_mask) * table_columns + column
                for other in range(np.int64(first[cell]), np.int64(first[cell + columns])):
                    walker = np.int64(row_of_slot[other])
                    if wants[walker] == 0 or walker == row:
                        continue
                    dx, dy = here_x - x[other], here_y - y[other]
                    away = np.sqrt(dx * dx + dy * dy)
                    if (
                        away > radius[row] + radius[walker] + gap
                        or away > nearest
                        or (away == nearest and walker > out[row])
                    ):
                        continue
                    # On one spot no direction leads away: then any preferred velocity will do.
                    if (
                        preferred_velocity[walker, 0] * dx + preferred_velocity[walker, 1] * dy <= 0.0
                        and away > 0.0
                    ):
                        continue
                    if has_heights and not share_ground(
                        cells.z, cells.slope_x, cells.slope_y, cells.step, slot, other, -dx, -dy
                    ):
                        continue
                    nearest, out[row] = away, walker
            column, columns, wrapped = 0, wrapped, 0


@kernel
def choose_aside(start, stop, mesh, polygon, position, radius, away, distance, target, choice):
    """Choose where stationary agents step aside to:
    the first of four places at some distance that can be walked to straight.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    mesh : NavMesh
    polygon : (k,) int64
        Polygon under each of them.
    position : (k, 2) float64, m
    radius : (k,) float64, m
    away : (k, 2) float64
        Unit vector from the walker that asks to the agent.
    distance : float, m, > 0
    target : (k, 2) float64, m
        Receives the places.
    choice : (k,) int64
        Receives 0 for straight away, 1 for 90 degrees to the left of it, 2 for 90 degrees to the right, 3 for
        back; -1 where all are refused.

    Notes
    -----
    A place will do if the agent keeps clear of walls on the whole line: a place behind a thin wall is
    walkable ground too, and useless. Other agents do not count. Source: [Pathfinding undated], section 8.
    Twin: `tests/reference/nudge.py`.
    """
    if start == stop:
        return
    flood, state, crossed = (
        make_flood(mesh.polygon_start.size - 1),
        np.empty(3, dtype=np.int64),
        np.empty(0, dtype=np.int64),
    )
    for row in range(start, stop):
        ux, uy = away[row, 0] * distance, away[row, 1] * distance
        x, y = position[row, 0], position[row, 1]
        target[row, 0], target[row, 1], choice[row] = x, y, NO_CANDIDATE
        for candidate in range(CANDIDATES):
            if candidate == 0:
                dx, dy = ux, uy
            elif candidate == 1:
                dx, dy = -uy, ux
            elif candidate == 2:
                dx, dy = uy, -ux
            else:
                dx, dy = -ux, -uy
            if is_clear_line(mesh, polygon[row], x, y, x + dx, y + dy, radius[row], flood, state, crossed):
                target[row, 0], target[row, 1], choice[row] = x + dx, y + dy, candidate
                break


@kernel
def find_blocked_lines(start, stop, rows, mesh, polygon, position, to, radius, out):
    """Find the agents with walls in their straight line to a point.

    Parameters
    ----------
    start, stop : int
        Range of `rows`.
    rows : (k,) int64
        Rows of the agents.
    mesh : NavMesh
    polygon : (n,) int64
    position, to : (n, 2) float64, m
        Ends of the lines of all agents.
    radius : (n,) float64, m
    out : (k,) uint8
        Receives 1 where the agent does not get there straight; see `is_clear_line`.

    Notes
    -----
    Twin: `tests/reference/nudge.py`.
    """
    if start == stop:
        return
    flood, state, crossed = (
        make_flood(mesh.polygon_start.size - 1),
        np.empty(3, dtype=np.int64),
        np.empty(0, dtype=np.int64),
    )
    for query in range(start, stop):
        row = rows[query]
        is_clear = is_clear_line(
            mesh,
            polygon[row],
            position[row, 0],
            position[row, 1],
            to[row, 0],
            to[row, 1],
            radius[row],
            flood,
            state,
            crossed,
        )
        out[query] = 0 if is_clear else 1
