"""Corridors that change while agents follow them: larger blocks in their store for those that grow, and
portals past vertices in free ground, on the side on which the string from where the agent is now is straight.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import ALONE, Team
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
    world: World, follows: NDArray[np.bool_], before: NDArray[np.int32], team: Team = ALONE
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
    team : Team, optional
    """
    mesh, agents = world.mesh, world.agents
    if not mesh.vertex_clearance.size:
        return np.zeros(0, dtype=np.int64)
    is_led_round = np.empty(len(agents), dtype=np.bool_)
    found = team.run(
        find_led_round, len(agents), follows, before, agents.corner_vertex, agents.next_corner,
        agents.position, agents.radius, mesh.is_wall_vertex, mesh.vertex_clearance, is_led_round,
    )  # fmt: skip
    return np.flatnonzero(is_led_round) if sum(found) else np.zeros(0, dtype=np.int64)


@lean_kernel
def find_led_round(
    start, stop, follows, before, corner_vertex, next_corner, position, radius, is_wall_vertex, clearance, out
):
    """Write for agents of a range, (n,) bool, whether `led_round_free_vertices` has them; return how many.

    Twin: `tests/reference/rows.py`.
    """
    count = 0
    for row in range(start, stop):
        corner, out[row] = corner_vertex[row], False
        if not follows[row] or corner == STRAIGHT_TO_GOAL:
            continue
        is_known = corner != NOT_CACHED
        is_new = corner != before[row] or not is_known
        if is_known:
            vertex = (corner if corner >= 0 else ~corner) >> VERTEX
            if is_wall_vertex[vertex] == 0 and (is_new or clearance[vertex] < radius[row]):
                out[row] = True
        if is_new and not out[row]:
            dx, dy = next_corner[row, 0] - position[row, 0], next_corner[row, 1] - position[row, 1]
            out[row] = hypot(dx, dy) < 2.0 * radius[row]
        count += out[row]
    return count
