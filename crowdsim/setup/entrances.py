"""Areas in which agents come in: places drawn at random in them, and which of these are free."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.kernels.decorator import kernel
from crowdsim.navigation.mesh.mesh import locate, wall_distance
from crowdsim.scenario.model import Group, Scenario
from crowdsim.world.random import uniform01

_LEAST_AREA_M2 = 1e-9  # Of triangles: thinner ones are rounding.


def areas_of(scenario: Scenario, group: Group) -> list[tuple[Any, Any]]:
    """Return the entrances of a group whose agents come in while the run lasts: areas, each with the ground
    on which it lies.
    """
    assert group.arrive is not None
    ground = scenario.geometry.grounds[max(0, group.layer)]
    own = group.arrive.doors or (group.region if group.region is not None else ground,)
    return [(area, ground) for area in own]


def triangles_of(area: Any, ground: Any) -> NDArray[np.float64]:
    """Return the part of an area that is on the ground, cut into triangles, (t, 3, 2), m."""
    common = shapely.intersection(area, ground)
    parts = [part for part in shapely.get_parts(common) if part.geom_type == "Polygon"]
    cut = [
        triangle
        for part in parts
        for triangle in shapely.get_parts(shapely.constrained_delaunay_triangles(part))
        if triangle.area > _LEAST_AREA_M2
    ]
    corners = [np.asarray(shapely.normalize(each).exterior.coords)[:3] for each in cut]
    return np.array(sorted(each.tolist() for each in corners), dtype=np.float64).reshape(-1, 3, 2)


def shares_of(triangles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the area of some triangles, (t, 3, 2), that each and those before have, (t,)."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    twice = np.abs((b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0]))
    return np.cumsum(twice) / np.sum(twice)


@kernel
def draw_spots(seed, stream, key, first, triangles, shares, spots):
    """Draw places in an area for agents.

    Parameters
    ----------
    seed, stream : int
        See `crowdsim.world.random`.
    key : (k,) uint64
        Of the agents.
    first : int
        Index of the first draw of each; three are taken for each place.
    triangles : (t, 3, 2) float64, m
        The area.
    shares : (t,) float64
        From `shares_of`.
    spots : (k, s, 2) float64, m
        Receives the places.
    """
    for row in range(key.size):
        for spot in range(spots.shape[1]):
            index = np.uint64(first + 3 * spot)
            chosen = uniform01(np.uint64(seed), np.uint64(stream), key[row], index)
            u = uniform01(np.uint64(seed), np.uint64(stream), key[row], index + np.uint64(1))
            v = uniform01(np.uint64(seed), np.uint64(stream), key[row], index + np.uint64(2))
            place = 0
            while place < shares.size - 1 and shares[place] < chosen:
                place += 1
            # evenly over the triangle: a parallelogram folded along its diagonal
            if u + v > 1.0:
                u, v = 1.0 - u, 1.0 - v
            for axis in range(2):
                begin = triangles[place, 0, axis]
                spots[row, spot, axis] = (
                    begin + u * (triangles[place, 1, axis] - begin) + v * (triangles[place, 2, axis] - begin)
                )


@kernel
def find_room(
    mesh, spots, layer, radius, margin, gap, others, other_radius, known, flood, place, polygon
):  # fmt: skip
    """Find room for agents that come in, one after the other; those behind one that finds none wait.

    Parameters
    ----------
    mesh : NavMesh
    spots : (k, s, 2) float64, m
        Where each tries to stand, the first ones first.
    layer : int
        Floor; -1 for any.
    radius : (k,) float64, m
    margin, gap : float, m
        How far they keep from walls, and from others, beside their radii.
    others : (m + k, 2) float64, m
        Those that stand near, `known` of them; receives those that find room.
    other_radius : (m + k,) float64, m
    known : int
    flood : Flood
    place : (k, 2) float64, m
        Receives where each stands.
    polygon : (k,) int64
        Receives its polygon.

    Returns
    -------
    int
        How many, from the first on, have found room.

    Notes
    -----
    Twin: `tests/reference/entrances.py`.
    """
    for row in range(radius.size):
        is_placed = False
        for spot in range(spots.shape[1]):
            x, y = spots[row, spot, 0], spots[row, spot, 1]
            found = locate(mesh, x, y, layer)
            if found < 0:
                continue
            is_free = True
            for other in range(known):
                dx, dy = others[other, 0] - x, others[other, 1] - y
                apart = radius[row] + other_radius[other] + gap
                if dx * dx + dy * dy < apart * apart:
                    is_free = False
                    break
            need = radius[row] + margin
            if not is_free or wall_distance(mesh, found, x, y, need, flood) < need:
                continue
            place[row, 0], place[row, 1], polygon[row] = x, y, found
            others[known, 0], others[known, 1], other_radius[known] = x, y, radius[row]
            known += 1
            is_placed = True
            break
        if not is_placed:
            return row
    return radius.size
