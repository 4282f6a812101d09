"""What saved agents have to do with the ground under them:
looked at when a run is taken up, once the ground is what it was.

Kernels index the mesh with what agents keep of it, and follow corridors from portal to portal without looking
whether these are joined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED, STRAIGHT_TO_GOAL
from crowdsim.navigation.corridor.portal_vertices import VERTEX
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.tiles import handles
from crowdsim.navigation.tiles.renumber import places_in
from crowdsim.saved import Saved
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import NOT_REPORTED, Cause
from crowdsim.world.world import FIRST_SALT, ONE_TILE, World

# How far beside its polygon an agent can be: rounding where a mesh is cut anew. Walls keep agents within 1 cm
# of it.
OFF_GROUND_M = 0.01


def check_agents(world: World, saved: Saved, widest: float = np.inf) -> None:
    """Look at everything that agents keep of the ground.

    Parameters
    ----------
    world : World
        As it was restored, on its ground.
    saved : Saved
        The columns, for the names in errors.
    widest : float, m
        Greatest radius that the ground was made for.

    Raises
    ------
    SavedError
    """
    polygon = _check_places(world, saved)
    _check_corridors(world, saved, polygon)
    agents, mesh = world.agents, world.mesh
    has_size = (agents.radius > 0.0) & (agents.radius <= widest)
    saved.require(
        has_size | (agents.activity == AgentState.OBSTACLE),
        "radius",
        f"agents have radii above 0 up to {widest:g} m",
    )
    saved.require(agents.guessed < mesh.polygon_count, "guessed", f"there are {mesh.polygon_count} polygons")
    priced = agents.priced_portal
    saved.require(priced < mesh.edge_count, "priced_portal", f"there are {mesh.edge_count} half-edges")
    saved.require((priced < 0) | (mesh.edge_twin[priced] >= 0), "priced_portal", "that is no portal")
    post = agents.corner_vertex
    vertex = np.where(post < 0, ~post, post) >> VERTEX
    saved.require(
        np.isin(post, (NOT_CACHED, STRAIGHT_TO_GOAL)) | (vertex < len(mesh.vertex)),
        "corner_vertex",
        f"there are {len(mesh.vertex)} vertices",
    )
    causes = (*Cause, *NOT_REPORTED)
    saved.require(
        np.isin(agents.stuck_cause, causes),
        "stuck_cause",
        f"causes are {min(Cause)} to {max(Cause)}, {min(NOT_REPORTED)} to {max(NOT_REPORTED)}",
    )


def _check_places(world: World, saved: Saved) -> NDArray[np.int64]:
    """Return the polygon under each agent, (n,), after a look at where they are."""
    agents, mesh = world.agents, world.mesh
    if world.tiles is None:
        count = mesh.polygon_count
        under = handles.polygon_of(agents.surface)
        is_right = (agents.surface == handles.pack(FIRST_SALT, ONE_TILE, under)) & (under < count)
        first = handles.pack(FIRST_SALT, ONE_TILE, 0)
        saved.require(is_right, "surface", f"the ground has the polygons {first} to {first + count - 1}")
    else:  # also one whose ground is gone stood on a tile once
        count = world.tiles.tile_count
        saved.require(handles.tile_of(agents.surface) < count, "surface", f"there are {count} tiles")
    polygon, has_ground = world.polygons(), world.has_ground()
    saved.require(
        agents.layer <= mesh.polygon_layer.max(), "layer", f"there are {mesh.polygon_layer.max() + 1} floors"
    )
    saved.require(
        ~has_ground | (agents.layer == mesh.polygon_layer[polygon]),
        "layer",
        "its polygon is on another floor",
    )
    stands = np.flatnonzero(has_ground & (agents.activity < AgentState.OBSTACLE))
    is_there = np.ones((len(agents), 2), dtype=np.bool_)
    is_there[stands] = is_inside(mesh, agents.position[stands], polygon[stands])[:, None]
    saved.require(is_there, "position", "that is not in the polygon that the agent stands on")
    return polygon


def is_inside(mesh: NavMesh, position: NDArray[np.float64], polygon: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which places, (k, 2) m, are in the polygons that they are said to be in, (k,),
    up to `OFF_GROUND_M`.
    """
    first = mesh.polygon_start[polygon].astype(np.int64)
    sides = mesh.polygon_start[polygon + 1] - first
    edge, row = places_in(first, sides), np.repeat(np.arange(len(position)), sides)
    a, b = mesh.vertex[mesh.edge_vertex[edge], :2], mesh.vertex[mesh.edge_end[edge], :2]
    along, to = b - a, position[row] - a
    length = hypots(along[:, 0], along[:, 1])
    farthest: NDArray[np.float64] = np.full(len(position), -np.inf)
    np.maximum.at(
        farthest, row, (along[:, 1] * to[:, 0] - along[:, 0] * to[:, 1]) / np.where(length > 0.0, length, 1.0)
    )
    found: NDArray[np.bool_] = farthest <= OFF_GROUND_M
    return found


def _check_corridors(world: World, saved: Saved, polygon: NDArray[np.int64]) -> None:
    """Look at the corridors of agents: portals that are joined, from the polygon that the agent is in to that
    of its piece of the goal.
    """
    agents, mesh, goals, cells = world.agents, world.mesh, world.goals, world.corridors.portals
    saved.require(agents.corridor_start < len(cells), "corridor_start", f"the store has {len(cells)} cells")
    saved.require(
        agents.corridor_length <= agents.corridor_capacity,
        "corridor_length",
        "the agent has no room for so many portals",
    )
    pieces = len(goals.piece_polygon)
    saved.require(agents.goal_piece < pieces, "goal_piece", f"goals have {pieces} pieces")

    rows = np.flatnonzero(agents.corridor_length > 0)
    length = agents.corridor_length[rows].astype(np.int64)
    place, of_row = places_in(agents.corridor_start[rows], length), np.repeat(np.arange(len(rows)), length)
    portal = cells[place]
    is_portal = (portal >= 0) & (portal < mesh.edge_count)
    is_portal[is_portal] = mesh.edge_twin[portal[is_portal]] >= 0
    bad = np.bincount(of_row[~is_portal], minlength=len(rows))
    _require_of(saved, rows, bad == 0, len(agents), "its path leads over what is no portal")
    leaves, enters = mesh.edge_polygon[portal], mesh.edge_polygon[mesh.edge_twin[portal]]
    last = np.cumsum(length) - 1  # the next portal comes last
    joined = np.ones(len(place), dtype=np.bool_)
    # a portal leads into the polygon that the one before it in the list leaves
    joined[:-1] = leaves[:-1] == enters[1:]
    joined[last] = True
    bad = np.bincount(of_row[~joined], minlength=len(rows))
    _require_of(saved, rows, bad == 0, len(agents), "the portals of its path are not joined")
    has_ground = world.has_ground()[rows]
    _require_of(
        saved,
        rows,
        ~has_ground | (leaves[last] == polygon[rows]),
        len(agents),
        "its path begins in another polygon than that which it is in",
    )
    piece = agents.goal_piece[rows]
    # an agent that waits keeps the path back
    ends, may_end = enters[last - length + 1], (piece < 0) | (agents.path_status[rows] == PathStatus.PENDING)
    _require_of(
        saved,
        rows,
        may_end | (ends == goals.piece_polygon[piece] if pieces else True),
        len(agents),
        "its path does not end at its goal",
    )


def _require_of(
    saved: Saved, rows: NDArray[np.int64], is_right: NDArray[np.bool_], count: int, what: str
) -> None:
    right = np.ones(count, dtype=np.bool_)
    right[rows] = is_right
    saved.require(right, "corridor_start", what)
