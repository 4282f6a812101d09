"""Places for agents that stand where a new wall is: the nearest that they could be pushed to."""

# mypy: allow-untyped-defs

from __future__ import annotations

from crowdsim.kernels.decorator import kernel
from crowdsim.navigation.mesh.mesh import depth_in_polygon, is_in_sight, locate, make_flood, wall_distance

# Directions in which a free place is looked for; more finds one that is nearer by some per cent at most.
RAYS = 32
STEP_OF_RADIUS = 0.125  # Distance between two places on a ray as a share of the radius.
# Beyond the radius. An agent that finds no free place so near stays where it is; a door is not so deep.
FARTHEST_M = 4.0
# How far off its polygon an agent may be by rounding, where walls end; beyond it stands on no ground.
BESIDE_M = 0.01


@kernel
def relocate(old, new, old_polygon, polygon, position, radius, rays, out, out_polygon):
    """Find for agents that stand too near to walls of a mesh the nearest place that is free.

    Parameters
    ----------
    old, new : NavMesh
        Before and after walls were put up.
    old_polygon, polygon : (n,) int64
        Where the agents are, on each; of one off the new ground, the polygon that is nearest.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    rays : (k, 2) float64
        Unit vectors, in the order in which equally near places are preferred.
    out : (n, 2) float64, m
        Receives the places: an agent stays where it is clear of walls, and where nothing is free within
        `FARTHEST_M` and its radius. One that is off the ground by more than `BESIDE_M` does not stay, and
        looks as much farther as it is off.
    out_polygon : (n,) int64
        Receives the polygons of the new mesh there.

    Notes
    -----
    An agent that is as far from walls as before stays too. A place counts if a straight line led there on the
    old mesh, so that no agent is put through a wall. Agents do not heed each other: those that are put on the
    same place are pushed apart later. Twin: the naive search in
    `tests/navigation/tiles/test_changed_ground.py`.
    """
    flood = make_flood(max(old.polygon_start.size, new.polygon_start.size) - 1)
    for row in range(position.shape[0]):
        x, y, r = position[row, 0], position[row, 1], radius[row]
        out[row, 0], out[row, 1], out_polygon[row] = x, y, polygon[row]
        outside = max(0.0, -depth_in_polygon(new, polygon[row], x, y))
        if outside <= BESIDE_M:
            clearance = wall_distance(new, polygon[row], x, y, r, flood)
            if clearance >= r or clearance >= wall_distance(old, old_polygon[row], x, y, r, flood):
                continue
        is_free = False
        # in the middle of ground that is gone all walls may be far off; the ground is twice as far at most,
        # unless beyond a sharp corner
        for step in range(1, int((FARTHEST_M + r + 2.0 * outside) / (STEP_OF_RADIUS * r)) + 1):
            away = step * STEP_OF_RADIUS * r
            for ray in range(rays.shape[0]):
                to_x, to_y = x + away * rays[ray, 0], y + away * rays[ray, 1]
                if not is_in_sight(
                    old, old_polygon[row], x, y, to_x, to_y, old.polygon_layer[old_polygon[row]]
                ):
                    continue
                place = locate(new, to_x, to_y, new.polygon_layer[polygon[row]])
                if place >= 0 and wall_distance(new, place, to_x, to_y, r, flood) >= r:
                    out[row, 0], out[row, 1], out_polygon[row] = to_x, to_y, place
                    is_free = True
                    break
            if is_free:
                break
