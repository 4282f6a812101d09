"""Can an agent go straight from one place on the mesh to another?"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.corridor.walk import walk_point
from crowdsim.navigation.mesh.mesh import wall_distance

FIT_M = 1e-3  # How much nearer than its radius to a wall an agent may be: walking pushes it off by that much.
# Of a path along a wall every such part of the radius is looked at: gaps a hundredth too narrow may be
# missed, and stop the walker.
STEP_OF_RADIUS = 0.25
LEAST_STEP_M = 0.01  # The same for agents without extent.


@lean_kernel
def is_clear_line(mesh, polygon, x, y, to_x, to_y, radius, flood, state, crossed):
    """Tell whether an agent can go straight from one place on the mesh to another,
    keeping clear of walls and on the ground.

    Parameters
    ----------
    mesh : NavMesh
    polygon : int
        Under the first place.
    x, y, to_x, to_y, radius : float, m
    flood : Flood
    state : (3,) int64
    crossed : (0,) int64
        Scratch; see `crowdsim.navigation.corridor.walk.walk_point`.

    Returns
    -------
    bool

    Notes
    -----
    Where nothing is near, a few distances to walls answer for the whole path; beside a wall it is looked at
    in short steps. Twin: `tests/reference/nudge.py`.
    """
    length = np.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y))
    state[0], state[1], state[2] = polygon, 0, 0
    at_x, at_y, gone = x, y, 0.0
    while gone < length:
        clear = wall_distance(mesh, state[0], at_x, at_y, radius + length, flood)
        if clear < radius - FIT_M and gone > 0.0:
            return False
        gone = min(length, gone + max(clear - radius, STEP_OF_RADIUS * radius, LEAST_STEP_M))
        share = gone / length
        at_x, at_y = walk_point(
            mesh, state, crossed, at_x, at_y, x + share * (to_x - x), y + share * (to_y - y)
        )
        if state[2] == 1:
            return False
    return wall_distance(mesh, state[0], at_x, at_y, radius + length, flood) >= radius - FIT_M
