"""What agents remember of portals at which their local grids found no path:
searches on a mesh put a price on them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.plane import distance_to_segment
from crowdsim.navigation.search.slot_fields import MOST_PRICED
from crowdsim.world.columns import AgentColumns
from crowdsim.world.world import World

MOST_LOOKED_AT = 8  # Portals of a corridor that a local grid may reach to.
BEYOND_M = 0.3  # What is shut begins behind where the grid leads to: about the width of an agent.


def remember_shut(
    world: World, rows: NDArray[np.int64], waypoint: NDArray[np.float64], reach: float, until: int
) -> None:
    """Let agents remember the portal of their corridors at which their grids found no path.

    Parameters
    ----------
    world : World
    rows : (k,) int64
        Agents that follow corridors.
    waypoint : (k, 2) float64, m
        As near as can be to the next corner.
    reach : float, m
        How far the grids reach.
    until : int, tick
        For how long.

    Notes
    -----
    It is the portal, of those ahead within the grid, that is nearest to a place a little beyond where the
    grid leads to. Of four that are remembered the one that would be forgotten first gives way.
    """
    agents = world.agents
    for row, (x, y) in zip(rows.tolist(), waypoint.tolist(), strict=True):
        to_x, to_y = (agents.next_corner[row] - (x, y)).tolist()
        far = float(np.sqrt(to_x * to_x + to_y * to_y))
        step = min(1.0, BEYOND_M / far) if far > 0.0 else 0.0
        edge = _nearest_portal(world, row, x + step * to_x, y + step * to_y, reach)
        if edge >= 0:
            _note(agents, row, edge, int(world.mesh.edge_twin[edge]), until)


def forget_open(world: World, rows: NDArray[np.int64], reach: float) -> None:
    """Let agents, (k,) rows, forget what they remember of the portals ahead within reach (m):
    their grids found a path to the next corner.
    """
    agents = world.agents
    for row in rows[(agents.priced_portal[rows, 0] >= 0)].tolist():
        ahead = _portals_ahead(world, row, reach)
        both = {*ahead, *(int(world.mesh.edge_twin[edge]) for edge in ahead)}
        _keep(agents, row, np.array([edge not in both for edge in agents.priced_portal[row].tolist()]))


def forget_old(agents: AgentColumns, rows: NDArray[np.int64], tick: int) -> None:
    """Let agents, (k,) rows, forget what they remembered until now."""
    for row in rows[(agents.priced_portal[rows, 0] >= 0)].tolist():
        _keep(agents, row, agents.priced_until[row] > tick)


def _nearest_portal(world: World, row: int, x: float, y: float, reach: float) -> int:
    mesh, best, least = world.mesh, -1, np.inf
    for edge in _portals_ahead(world, row, reach):
        (ax, ay), (bx, by) = (
            mesh.vertex[mesh.edge_vertex[edge], :2].tolist(),
            mesh.vertex[mesh.edge_end[edge], :2].tolist(),
        )
        off = float(distance_to_segment(x, y, ax, ay, bx, by))
        if off < least:
            best, least = edge, off
    return best


def _portals_ahead(world: World, row: int, reach: float) -> list[int]:
    """Return the next portals of an agent's corridor, as far as they are within reach of it."""
    agents, mesh = world.agents, world.mesh
    start, length = int(agents.corridor_start[row]), int(agents.corridor_length[row])
    x, y = agents.position[row].tolist()
    found = []
    # the goal's end comes first
    for edge in world.corridors.portals[max(start, start + length - MOST_LOOKED_AT) : start + length][
        ::-1
    ].tolist():
        (ax, ay), (bx, by) = (
            mesh.vertex[mesh.edge_vertex[edge], :2].tolist(),
            mesh.vertex[mesh.edge_end[edge], :2].tolist(),
        )
        if float(distance_to_segment(x, y, ax, ay, bx, by)) > reach:
            break
        found.append(int(edge))
    return found


def _note(agents: AgentColumns, row: int, edge: int, twin: int, until: int) -> None:
    known = agents.priced_portal[row].tolist()
    place = next(
        (i for i, each in enumerate(known) if each in (edge, twin)),
        known.index(-1) if -1 in known else int(np.argmin(agents.priced_until[row])),
    )
    agents.priced_portal[row, place], agents.priced_until[row, place] = edge, until


def _keep(agents: AgentColumns, row: int, stays: NDArray[np.bool_]) -> None:
    left = np.flatnonzero(stays & (agents.priced_portal[row] >= 0))
    portal, until = np.full(MOST_PRICED, -1, dtype=np.int32), np.zeros(MOST_PRICED, dtype=np.int64)
    portal[: len(left)], until[: len(left)] = agents.priced_portal[row, left], agents.priced_until[row, left]
    agents.priced_portal[row], agents.priced_until[row] = portal, until
