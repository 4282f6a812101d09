"""Joining what an agent walked while it waited for its path with the path that was found ([Norberg 2004],
section 3.2).

The vertices of [Norberg 2004] are polygons here and its edges portals. The *trail* is the row of portals from
where the agent is back to where its search began, whether it went there on guesses or along its previous
path.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.mesh.mesh import NavMesh, is_cut_off, width_between
from crowdsim.tunable import param


@dataclass(frozen=True)
class WaitParameters:
    """What agents do while their path is being searched for."""

    while_waiting: str = param(
        "guess",
        "",
        choices=("guess", "previous", "stay"),
        source="[Norberg 2004], section 3.1",
        why="guess walks through the portal that points most to the goal, straight on where the goal is "
        "straight over it; previous keeps to the path that there was, if any, and guesses without one: "
        "better where goals move a little; stay stands until the path is there",
    )


def trail_along(
    mesh: NavMesh, previous: NDArray[np.int32], ahead: NDArray[np.int32], polygon: int
) -> NDArray[np.int32]:
    """Return the trail of an agent that kept to its previous path while it waited.

    Parameters
    ----------
    mesh : NavMesh
    previous : (k,) int32
        That path when the search began, the next portal last.
    ahead : (m,) int32
        What of it is still ahead, with the path back to it before it where the agent was pushed off; the next
        portal last.
    polygon : int
        Where the agent is.

    Returns
    -------
    (n,) int32
        Portals from there back to where the search began, the nearest last.
    """
    # polygons by the portal that leads out of them
    passed = {int(mesh.edge_polygon[edge]): place for place, edge in enumerate(previous.tolist())}
    if len(previous):
        passed.setdefault(int(mesh.edge_polygon[mesh.edge_twin[previous[0]]]), -1)
    to_path = []
    for edge in ahead[::-1].tolist():
        if polygon in passed:
            break
        to_path.append(edge)
        polygon = int(mesh.edge_polygon[mesh.edge_twin[edge]])
    back = mesh.edge_twin[previous[passed[polygon] + 1 :]]  # the nearest first
    return np.concatenate([np.array(to_path, dtype=np.int32), back])[::-1].astype(np.int32)


@lean_kernel
def join_guess(mesh, goals, portals, start, length, trail, first, last, piece, width, x, y):
    """Join a found corridor with the trail of its agent.

    The trail is walked back from where the agent is. At the first polygon that the corridor passes, or that
    has a portal to one, wide enough for the agent, it goes over; of several, to the one that is nearest to
    the goal. If there is none, it goes back to where the search began.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    portals : (m,) int32
        Corridor store; the block is written and has to be large enough for the corridor and the trail.
    start, length : int
        The block and the portals of the found corridor, which begins where the agent was when it requested
        it; the next one last.
    trail : (k,) int32
        Trails; this one is ``trail[first:last]``, the portal nearest to the agent last.
    first, last : int
    piece : int
        Piece of the goal at the end.
    width : float, m
        Diameter of the agent.
    x, y : float, m
        Where it is.

    Returns
    -------
    int
        Portals ahead from where the agent is now.

    Notes
    -----
    Source: [Norberg 2004], section 3.2, steps 1 to 7. Twin: `tests/reference/guess.py`.
    """
    steps = last - first
    for back in range(steps + 1):
        entry = mesh.edge_twin[trail[last - back]] if back > 0 else -1
        polygon = mesh.edge_polygon[entry] if back > 0 else mesh.edge_polygon[trail[last - 1]]
        for ahead in range(length + 1):  # portals from there to the goal
            if _polygon_at(mesh, portals, start, length, ahead, trail, first) != polygon:
                continue
            if (back == steps and ahead == length) or _fits(
                mesh, goals, portals, start, ahead, polygon, entry, piece, width, x, y
            ):
                return _put_on(portals, start, ahead, trail, last, back)
        for ahead in range(length + 1):
            there = _polygon_at(mesh, portals, start, length, ahead, trail, first)
            edge = _portal_between(mesh, polygon, there, entry, width, x, y)
            if edge >= 0 and _fits(
                mesh, goals, portals, start, ahead, there, mesh.edge_twin[edge], piece, width, x, y
            ):
                portals[start + ahead] = edge
                return _put_on(portals, start, ahead + 1, trail, last, back)
    return length  # cannot be: the last polygon of the trail is the first of the corridor


@inlined_kernel
def _polygon_at(mesh, portals, start, length, ahead, trail, first):
    """Return the polygon of a corridor from which so many portals are ahead."""
    if ahead < length:
        return mesh.edge_polygon[mesh.edge_twin[portals[start + ahead]]]
    return mesh.edge_polygon[mesh.edge_twin[trail[first]]]


@inlined_kernel
def _fits(mesh, goals, portals, start, ahead, polygon, entry, piece, width, x, y):
    """Return whether an agent can go from a portal into a polygon, or from (x, y) if `entry` is -1,
    to the next portal of a corridor, or to its goal.
    """
    if ahead == 0:
        return entry < 0 or not is_cut_off(
            mesh, polygon, entry, goals.pole[piece, 0], goals.pole[piece, 1], width
        )
    following = portals[start + ahead - 1]
    if entry < 0:
        return not is_cut_off(mesh, polygon, following, x, y, width)
    return entry != following and width_between(mesh, polygon, entry, following) >= width


@inlined_kernel
def _portal_between(mesh, polygon, there, entry, width, x, y):
    """Return the lowest portal from a polygon to another that an agent can take that came in by `entry`,
    or is at (x, y) if that is -1; -1 if there is none.
    """
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        twin = mesh.edge_twin[edge]
        if twin < 0 or mesh.edge_polygon[twin] != there or mesh.edge_width[edge] < width or edge == entry:
            continue
        if not (
            is_cut_off(mesh, polygon, edge, x, y, width)
            if entry < 0
            else width_between(mesh, polygon, entry, edge) < width
        ):
            return edge
    return -1


@inlined_kernel
def _put_on(portals, start, length, trail, last, back):
    """Put the first `back` portals of a trail before a corridor of `length` portals;
    return how many there are then.
    """
    for k in range(back):
        portals[start + length + k] = trail[last - back + k]
    return length + back


@lean_kernel
def join_many(mesh, goals, portals, block, ahead, trail, trail_start, piece, radius, position):
    """Join the found corridors of some agents with their trails; see `join_guess`.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    portals : (m,) int32
        Corridor store.
    block : (n,) int64
    ahead : (n,) int32
        Portals of each corridor; receives those from where the agents are now.
    trail : (k,) int32
    trail_start : (n + 1,) int64
        Trail i is ``trail[trail_start[i]:trail_start[i + 1]]``; without one nothing is to be joined.
    piece : (n,) int32
        -1 for those without a path; they are left alone.
    radius : (n,) float64, m
    position : (n, 2) float64, m
    """
    for row in range(block.size):
        first, last = trail_start[row], trail_start[row + 1]
        if last > first and piece[row] >= 0:
            ahead[row] = join_guess(
                mesh,
                goals,
                portals,
                block[row],
                ahead[row],
                trail,
                first,
                last,
                piece[row],
                2.0 * radius[row],
                position[row, 0],
                position[row, 1],
            )
