"""Speed on slopes, stairs and ground of other kinds:
length along the surface, slower or faster there ([Norberg 2004], section 4.4).

Directions and velocities are in plan. A step of length s in the direction of the unit vector u is s times the
root of 1 + (g . u)^2 long on a plane of gradient g.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import inlined_kernel, kernel
from crowdsim.navigation.mesh.mesh import height_at

# What a metre of a path costs: its length in plan; its length along the surface; the time that it takes, over
# that on the fastest ground.
PLAN_LENGTH, SURFACE_LENGTH, TRAVEL_TIME = range(3)


@inlined_kernel
def step_cost(mesh, costs, fastest, polygon, dx, dy):
    """Return what a straight step over (dx, dy) in plan within a polygon costs,
    in metres of the cheapest ground.

    `costs` is PLAN_LENGTH, SURFACE_LENGTH or TRAVEL_TIME. Where `fastest` is the greatest pace on the mesh,
    no cost is below the length in plan, so that the straight line in plan is a lower bound; where it is 1, a
    time is that of a metre on level ground.
    """
    plan = hypot(dx, dy)
    if costs == PLAN_LENGTH:
        return plan
    climb = mesh.polygon_slope[polygon, 0] * dx + mesh.polygon_slope[polygon, 1] * dy
    along = hypot(plan, climb)
    if costs == SURFACE_LENGTH:
        return along
    up, down = mesh.polygon_pace[polygon, 0], mesh.polygon_pace[polygon, 1]
    pace = up if climb > 0.0 else (down if climb < 0.0 else max(up, down))
    return along * (fastest / pace)


@inlined_kernel
def plan_share(mesh, polygon, vx, vy):
    """Return how fast one goes in plan in the direction of (vx, vy) on a polygon,
    as a share of the speed on level ground; 1 for no direction.
    """
    square = vx * vx + vy * vy
    if not square > 0.0:
        return 1.0
    climb = mesh.polygon_slope[polygon, 0] * vx + mesh.polygon_slope[polygon, 1] * vy
    up, down = mesh.polygon_pace[polygon, 0], mesh.polygon_pace[polygon, 1]
    pace = up if climb > 0.0 else (down if climb < 0.0 else max(up, down))
    return pace / np.sqrt(1.0 + climb * climb / square)


@kernel
def plan_shares(start, stop, mesh, polygon, velocity, out):
    """Write how fast agents of rows start..stop - 1 go in plan, as a share of their speed on level ground.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    polygon : (n,) int64
    velocity : (n, 2) float64, m/s
        Directions in which they go, in plan.
    out : (n,) float64
        Receives the pace of the polygon upwards or downwards over the length of surface for each metre in
        plan; 1 for no direction.

    Notes
    -----
    Twin: `tests/reference/heights.py`.
    """
    for row in range(start, stop):
        out[row] = plan_share(mesh, polygon[row], velocity[row, 0], velocity[row, 1])


@kernel
def heights_at(start, stop, mesh, polygon, position, out):
    """Write the heights of the polygons under places of rows start..stop - 1.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    polygon : (n,) int64
    position : (n, 2) float64, m
    out : (n,) float64, m

    Notes
    -----
    Twin: `tests/reference/heights.py`.
    """
    for row in range(start, stop):
        out[row] = height_at(mesh, polygon[row], position[row, 0], position[row, 1])
