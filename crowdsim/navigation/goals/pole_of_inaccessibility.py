"""The pole of a piece of a goal: a place in it where a large agent can have its centre,
and so which radii fit into the piece at all.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import orientation
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.goals.goal_entry import TOUCH_M, next_clear_stretch
from crowdsim.navigation.mesh.mesh import NavMesh, make_flood, wall_distance

MOST_CLEARANCE_M = 20.0  # Pieces with a larger clearance count as if it was this: no agent is so large.
EXACT_M = 1e-8  # How exactly the clearance on a rim is known: far below what ties gaps with radii.
# Points a side, how much smaller the next lattice is, and how many there are.
LATTICE, FINER, REFINEMENTS = 8, 0.3, 6
CLEARLY_M = 1e-12  # How much larger the clearance of a point must be to be the better one.


def find_pole(mesh: NavMesh, polygon: int, corners: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the point of a convex piece that is about farthest from walls, and its distance from them.

    Parameters
    ----------
    mesh : NavMesh
    polygon : int
        In which the piece lies.
    corners : (k, 2) float64, m
        Counter-clockwise; one for a point.

    Returns
    -------
    pole : (2,) float64, m
    clearance : float, m

    Notes
    -----
    Inside the piece it is looked for on a lattice, refined around the best point: within some per cent of the
    piece's size. On the rim it is found exactly: an agent that enters the piece from outside has its centre
    there, so which radii fit is not a matter of per cents.
    """
    flood = make_flood(mesh.polygon_count)
    corners = np.ascontiguousarray(corners)
    x, y = corners.mean(axis=0)
    clearance = wall_distance(mesh, polygon, x, y, MOST_CLEARANCE_M, flood)
    if len(corners) > 1:
        clearance, x, y = farthest_on_lattice(
            mesh, polygon, corners, np.linspace(-1.0, 1.0, LATTICE), clearance, x, y, flood
        )
        on_rim, rim_x, rim_y = farthest_on_rim(mesh, polygon, corners, clearance, MOST_CLEARANCE_M, flood)
        if on_rim > clearance:
            x, y = rim_x, rim_y
            clearance = wall_distance(mesh, polygon, x, y, MOST_CLEARANCE_M, flood)
    return np.array([x, y]), float(clearance)


@lean_kernel
def farthest_on_lattice(mesh, polygon, corner, step, clearance, x, y, flood):
    """Find the point of a lattice over a convex piece that is farthest from walls,
    and again round it on finer lattices.

    Parameters
    ----------
    mesh : NavMesh
    polygon : int
        In which the piece lies.
    corner : (k, 2) float64, m
        Its corners, counter-clockwise.
    step : (n,) float64
        Where the points of a lattice are, from -1 to 1.
    clearance, x, y : float, m
        A point of the piece and its distance to walls, to be bettered.
    flood : Flood

    Returns
    -------
    clearance, x, y : float, m
    """
    low_x, high_x, low_y, high_y = np.inf, -np.inf, np.inf, -np.inf
    for i in range(corner.shape[0]):
        low_x, high_x = min(low_x, corner[i, 0]), max(high_x, corner[i, 0])
        low_y, high_y = min(low_y, corner[i, 1]), max(high_y, corner[i, 1])
    mid_x, mid_y, half_x, half_y = (
        0.5 * (low_x + high_x),
        0.5 * (low_y + high_y),
        0.5 * (high_x - low_x),
        0.5 * (high_y - low_y),
    )
    for _ in range(REFINEMENTS):
        for i in range(step.size):
            for j in range(step.size):
                px, py = mid_x + half_x * step[i], mid_y + half_y * step[j]
                is_inside = True
                for k in range(corner.shape[0]):
                    after = k + 1 if k + 1 < corner.shape[0] else 0
                    if (
                        orientation(corner[k, 0], corner[k, 1], corner[after, 0], corner[after, 1], px, py)
                        < 0.0
                    ):
                        is_inside = False
                        break
                if not is_inside:
                    continue
                here = wall_distance(mesh, polygon, px, py, MOST_CLEARANCE_M, flood)
                if here > clearance + CLEARLY_M:
                    clearance, x, y = here, px, py
        mid_x, mid_y, half_x, half_y = x, y, FINER * half_x, FINER * half_y
    return clearance, x, y


@lean_kernel
def farthest_on_rim(mesh, polygon, corner, clearance, most, flood):
    """Find the place on the rim of a convex piece of ground where the largest agent can have its centre.

    Parameters
    ----------
    mesh : NavMesh
    polygon : int
        In which the piece lies.
    corner : (k, 2) float64, m
        Its corners, in order.
    clearance : float, m
        Only places with a larger one count.
    most : float, m
        Larger clearances are not looked for.
    flood : Flood

    Returns
    -------
    clearance, x, y : float, m
        The clearance there, to within `EXACT_M`, and the place; the given one, and nan, if none is larger.

    Notes
    -----
    Found by halving, side by side: where a radius fits on a side, a smaller one fits too. Twin:
    `tests/reference/goals.py`.
    """
    found, x, y = clearance, np.nan, np.nan
    for i in range(corner.shape[0]):
        j = i + 1 if i + 1 < corner.shape[0] else 0
        ax, ay, bx, by = corner[i, 0], corner[i, 1], corner[j, 0], corner[j, 1]
        length = hypot(bx - ax, by - ay)
        if length <= 0.0:
            continue
        high = most
        radius = found + EXACT_M
        while radius <= high:
            low, last = next_clear_stretch(mesh, polygon, ax, ay, bx, by, 0.0, radius + TOUCH_M, flood)
            if low <= length:
                share = 0.5 * (low + last) / length
                found, x, y = radius, ax + share * (bx - ax), ay + share * (by - ay)
            else:
                high = radius - EXACT_M
            radius = max(found + EXACT_M, 0.5 * (found + high))
    return found, x, y
