"""Corridors that change while agents follow them: larger blocks in their store for those that grow, and
portals past vertices in free ground, on the side on which the string from where the agent is now is straight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.corridor.corner_cache import NOT_CACHED, STRAIGHT_TO_GOAL
from crowdsim.navigation.corridor.measure import straighten_many
from crowdsim.navigation.corridor.portal_vertices import VERTEX
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planning.work import pieces
from crowdsim.world.world import World


def make_room(world: World, rows: NDArray[np.int64], portals: NDArray[np.int64]) -> None:
    """Give agents blocks that corridors of so many portals fit in; what is in those that are too small moves.

    Parameters
    ----------
    world : World
        Columns `corridor_start` and `corridor_capacity` and the store of corridors are written.
    rows : (k,) int64
    portals : (k,) int64
    """
    agents = world.agents
    world.corridors.enlarge(
        rows, portals, agents.corridor_start, agents.corridor_capacity, agents.corridor_length
    )


def straighten(world: World, rows: NDArray[np.int64], mesh: NavMesh) -> None:
    """Lead the corridors of agents past free vertices on their straight side;
    nothing to do on ground without such vertices.

    Parameters
    ----------
    world : World
        Columns `corridor_length`, `corridor_start` and `corridor_capacity` and the store of corridors are
        written.
    rows : (k,) int64
    mesh : NavMesh
        What their paths may lead over. Those that come over other ground first, onto which their agents were
        pushed, stay as they are.
    """
    if not mesh.vertex_clearance.size:
        return
    agents = world.agents
    if mesh is not world.mesh:
        rows = rows[~_come_over_barred_ground(world, rows, mesh)]
    while len(rows):
        ahead, need = agents.corridor_length[rows], np.zeros(len(rows), dtype=np.int64)
        straighten_many(
            mesh, world.goals, world.corridors.portals, agents.corridor_start[rows], ahead,
            agents.corridor_capacity[rows], world.polygons(rows), agents.goal_piece[rows],
            agents.position[rows], agents.radius[rows], need,
        )  # fmt: skip
        agents.corridor_length[rows] = ahead
        make_room(world, rows, need)
        rows = rows[need > 0]


def _come_over_barred_ground(world: World, rows: NDArray[np.int64], mesh: NavMesh) -> NDArray[np.bool_]:
    """Return which corridors have a portal that is none on a mesh, (k,)."""
    length = world.agents.corridor_length[rows].astype(np.int64)
    portals = pieces(world.corridors.portals, world.agents.corridor_start[rows], length)
    of_row = np.repeat(np.arange(len(rows)), length)
    return np.bincount(of_row[mesh.edge_twin[portals] < 0], minlength=len(rows)) > 0


def led_round_free_vertices(
    world: World, follows: NDArray[np.bool_], before: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return the rows of agents whose corridor may lead round a free vertex on the wrong side: the next
    corner has become a free vertex, or is one nearer to a wall than their radius, or lies nearer than twice
    their radius and is another than before, or known for this tick alone.

    Walking round corners and being pushed they leave the string with which their path was found, and the one
    from where they are may bend there: they would take a detour, and where the wall is near walk against it
    for good, or to and fro between a vertex and the wall behind it.

    Parameters
    ----------
    world : World
    follows : (n,) bool
        Which agents follow a corridor.
    before : (n,) int32
        Column `corner_vertex` before the agents were steered: a vertex that could not be passed on the other
        side in vain asked again every tick costs time.
    """
    mesh, agents = world.mesh, world.agents
    if not mesh.vertex_clearance.size:
        return np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero(follows & (agents.corner_vertex != STRAIGHT_TO_GOAL))
    post = agents.corner_vertex[rows]
    is_known = post != NOT_CACHED
    vertex = np.where(is_known, np.where(post >= 0, post, ~post) >> VERTEX, 0)
    is_new = (post != before[rows]) | ~is_known
    is_free = is_known & (mesh.is_wall_vertex[vertex] == 0)
    apart = agents.next_corner[rows] - agents.position[rows]
    is_near = np.hypot(apart[:, 0], apart[:, 1]) < 2.0 * agents.radius[rows]
    return rows[
        (is_free & (is_new | (mesh.vertex_clearance[vertex] < agents.radius[rows]))) | (is_near & is_new)
    ]
