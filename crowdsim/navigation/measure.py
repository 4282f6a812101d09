"""Lengths of ways through corridors: what an agent would walk alone."""

from __future__ import annotations

import numpy as np

from crowdsim.kernels import kernel, lean_kernel
from crowdsim.navigation.funnel import find_bends, lay_string
from crowdsim.navigation.mesh import make_flood
from crowdsim.navigation.posts import lay_out_posts

MOST_POSTS = 1 << 16  # Posts of one corridor; ways over some 20,000 portals are measured as infinite.


@kernel
def measure_corridors(mesh, goals, cells, block, ahead, polygon, piece, position, radius, out):
    """Measure the shortest ways through corridors, corners rounded at the radius.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    cells : (m,) int32
        Corridor store.
    block : (n,) int64
    ahead : (n,) int32
    polygon : (n,) int64
    piece : (n,) int32
        -1 for no way.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    out : (n,) float64, m
        Receives the lengths; inf for no way.
    """
    _measure_rows(
        mesh, goals, cells, block, ahead, polygon, piece, position, radius, out, np.empty(MOST_POSTS, dtype=np.int32),
        np.empty(MOST_POSTS, dtype=np.int32), np.empty((2 * MOST_POSTS + 2, 2)), make_flood(mesh.polygon_start.size - 1),
    )


@lean_kernel
def _measure_rows(mesh, goals, cells, block, ahead, polygon, piece, position, radius, out, posts, bends, points, flood):
    for row in range(block.size):
        out[row] = np.inf
        if piece[row] < 0:
            continue
        count, laid = lay_out_posts(mesh, cells, block[row], ahead[row], polygon[row], 0, ahead[row] + 1, posts, 0)
        if laid <= ahead[row]:
            continue
        x, y = position[row, 0], position[row, 1]
        found, tx, ty = find_bends(mesh, goals, posts, count, polygon[row], piece[row], x, y, radius[row], bends, flood)
        out[row] = lay_string(mesh, posts, bends, found, x, y, tx, ty, radius[row], points)
