"""What a metre of a path costs: 1, and more where a watcher sees it or near a point that is shunned
([Norberg 2004], section 3).

Costs never fall below 1 a metre, so the straight-line heuristic stays a lower bound.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import orientation
from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.navigation.mesh.mesh import NavMesh, height_at
from crowdsim.navigation.mesh.watchers import NO_WATCHERS, Watchers, polygon_under
from crowdsim.navigation.visibility.sight import narrow_window

# A path along the border of what a watcher sees is out of its sight: corners between are touched exactly,
# within rounding.
SHADOW_EDGE_M = 1e-6
MOST_WINDOWS = 50_000_000  # Rows of 40 bytes: 2 GB.


class Weights(NamedTuple):
    """What makes metres dearer.

    Attributes
    ----------
    exposure : float
        Added for each metre and watcher that sees it.
    window_start : (np + 1,) int64
    window : (k, 6) float64, m
        What watchers see of polygon p is ``window[window_start[p]:window_start[p + 1]]``: the watcher, then
        the points that bound its view on the right and on the left (x, y each); both are the watcher itself
        where it sees all of the polygon.
    shunned : (m, 5) float64
        Points to keep away from: x, y, reach (m), cost, floor. A metre at distance d costs
        ``cost (1 - (d / reach)^2)`` more, inside the reach, on that floor; -1, for all of them or none, is
        any.
    """

    exposure: float
    window_start: NDArray[np.int64]
    window: NDArray[np.float64]
    shunned: NDArray[np.float64]


def make_weights(
    mesh: NavMesh,
    watchers: Watchers = NO_WATCHERS,
    *,
    exposure: float = 0.0,
    shunned: Sequence[tuple[float, ...]] = (),
    shun_reach: float = 1.0,
    shun_cost: float = 0.0,
    first: NavMesh | None = None,
) -> Weights:
    """Return weights for paths that stay out of sight of watchers and away from points.

    Parameters
    ----------
    mesh : NavMesh
    watchers : Watchers
    exposure : float
        Cost that a metre in sight of a watcher has more, >= 0.
    shunned : sequence of (x, y) or (x, y, z), m
        All with heights, or none: with them each counts only on the floor that is nearest to it.
    shun_reach : float, m, > 0
    shun_cost : float
        Cost that a metre at a shunned point has more, >= 0.
    first : NavMesh, optional
        The mesh at the beginning, where this is another: points stay on the floors that they were on.
    """
    rows, zones = [], []
    for polygon, (x, y) in zip(watchers.polygon.tolist(), watchers.place.tolist(), strict=True):
        zone, window = see_from(mesh, polygon, x, y, MOST_WINDOWS)
        zones.append(zone)
        rows.append(window)
    zone = np.concatenate([np.zeros(0, dtype=np.int32), *zones])
    order = np.argsort(zone, kind="stable")
    start = np.searchsorted(zone[order], np.arange(mesh.polygon_count + 1)).astype(np.int64)
    window = np.concatenate([np.zeros((0, 6)), *rows])[order]
    points = shunned_points(first or mesh, shunned, shun_reach, shun_cost)
    return Weights(float(exposure), start, window, points)


def shunned_points(
    mesh: NavMesh, points: Sequence[tuple[float, ...]], reach: float, cost: float
) -> NDArray[np.float64]:
    """Return points to keep away from as `Weights` has them."""
    found = [(*place[:2], reach, cost, _floor_of(mesh, place)) for place in points]
    return np.array(found, dtype=np.float64).reshape(-1, 5)


def _floor_of(mesh: NavMesh, place: tuple[float, ...]) -> int:
    """Return the floor that is nearest to a point (x, y, z): it may be off the ground, as in a pillar;
    -1, any, of one without a height.
    """
    if len(place) < 3:
        return -1
    point, polygon = np.array(place), polygon_under(mesh, place)
    miss = abs(float(height_at(mesh, polygon, point[0], point[1])) - point[2]) if polygon >= 0 else np.inf
    begin, along = mesh.vertex[mesh.edge_vertex], mesh.vertex[mesh.edge_end] - mesh.vertex[mesh.edge_vertex]
    share = np.clip(np.sum((point - begin) * along, axis=1) / np.sum(along * along, axis=1), 0.0, 1.0)
    away = np.sqrt(np.sum((begin + share[:, None] * along - point) ** 2, axis=1))
    nearest = int(np.argmin(away))
    return int(mesh.polygon_layer[polygon if miss <= away[nearest] else mesh.edge_polygon[nearest]])


@kernel
def see_from(mesh, polygon, x, y, most):
    """Find what can be seen from a point.

    Parameters
    ----------
    mesh : NavMesh
    polygon : int
        Where the point is.
    x, y : float, m
    most : int
        Windows that may be made; what is behind is not seen.

    Returns
    -------
    zone : (k,) int32
        Polygons, as often as they are seen through different windows; these do not overlap.
    window : (k, 6) float64, m
        See `Weights`.
    """
    zone, window, count = np.empty(64, dtype=np.int32), np.empty((64, 6)), 1
    zone[0] = polygon
    for k in range(3):
        window[0, 2 * k], window[0, 2 * k + 1] = x, y
    stack = np.empty((mesh.edge_vertex.size + 1, 3), dtype=np.int32)
    depth = 0
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        if (
            mesh.edge_twin[edge] >= 0
            and orientation(x, y, mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1])
            > 0.0
        ):
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = edge, a, b
            depth += 1
    while depth > 0 and count < most:
        depth -= 1
        entry, right, left = mesh.edge_twin[stack[depth, 0]], stack[depth, 1], stack[depth, 2]
        current = mesh.edge_polygon[entry]
        if count == zone.size:
            more_zone, more_window = np.empty(2 * count, dtype=np.int32), np.empty((2 * count, 6))
            more_zone[:count], more_window[:count] = zone, window
            zone, window = more_zone, more_window
        rx, ry, lx, ly = (
            mesh.vertex[right, 0],
            mesh.vertex[right, 1],
            mesh.vertex[left, 0],
            mesh.vertex[left, 1],
        )
        zone[count] = current
        (
            window[count, 0],
            window[count, 1],
            window[count, 2],
            window[count, 3],
            window[count, 4],
            window[count, 5],
        ) = x, y, rx, ry, lx, ly
        count += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            if edge == entry or mesh.edge_twin[edge] < 0:
                continue
            is_open, new_right, new_left = narrow_window(mesh, x, y, edge, right, left)
            if is_open:
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = edge, new_right, new_left
                depth += 1
    return zone[:count].copy(), window[:count].copy()


@lean_kernel
def _clip(low, high, a, b):
    """Narrow the part [low, high] of a segment to where a function is positive that goes linearly from `a` at
    0 to `b` at 1.
    """
    if a <= 0.0 and b <= 0.0:
        return 1.0, 0.0
    if a < 0.0:
        low = max(low, a / (a - b))
    elif b < 0.0:
        high = min(high, a / (a - b))
    return low, high


@lean_kernel
def extra_cost(mesh, weights, polygons, count, ax, ay, bx, by):
    """Return what a straight part of a path costs beyond its length.

    Parameters
    ----------
    mesh : NavMesh
    weights : Weights
    polygons : (k,) int32
        Polygons in which the part may lie: ``polygons[:count]``, each once.
    count : int
    ax, ay, bx, by : float, m

    Returns
    -------
    float, m
        Exact: the part is cut at polygons and at the borders of sight, and the cost near a shunned point is a
        polynomial along it.
    """
    length = hypot(bx - ax, by - ay)
    if length <= 0.0:
        return 0.0
    covered, in_sight, near_points = 0.0, 0.0, 0.0
    shunned = weights.shunned
    has_floors = shunned.shape[0] > 0 and shunned[0, 4] >= 0.0
    for k in range(count if weights.exposure > 0.0 or has_floors else 0):
        polygon = polygons[k]
        low, high = 0.0, 1.0
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            p, q = mesh.edge_vertex[edge], mesh.edge_end[edge]
            px, py, qx, qy = mesh.vertex[p, 0], mesh.vertex[p, 1], mesh.vertex[q, 0], mesh.vertex[q, 1]
            # Reaching a shadow's width over the edge keeps a part that runs along it; what two polygons share
            # is counted once, see below.
            over = SHADOW_EDGE_M * hypot(qx - px, qy - py)
            low, high = _clip(
                low,
                high,
                orientation(px, py, qx, qy, ax, ay) + over,
                orientation(px, py, qx, qy, bx, by) + over,
            )
        if low >= high:
            continue
        covered += high - low
        for row in range(weights.window_start[polygon], weights.window_start[polygon + 1]):
            x, y = weights.window[row, 0], weights.window[row, 1]
            rx, ry, lx, ly = (
                weights.window[row, 2],
                weights.window[row, 3],
                weights.window[row, 4],
                weights.window[row, 5],
            )
            near, far = low, high
            if rx != x or ry != y:
                inside = SHADOW_EDGE_M * hypot(rx - x, ry - y)
                near, far = _clip(
                    near,
                    far,
                    orientation(x, y, rx, ry, ax, ay) - inside,
                    orientation(x, y, rx, ry, bx, by) - inside,
                )
                inside = SHADOW_EDGE_M * hypot(lx - x, ly - y)
                near, far = _clip(
                    near,
                    far,
                    -orientation(x, y, lx, ly, ax, ay) - inside,
                    -orientation(x, y, lx, ly, bx, by) - inside,
                )
            # What a line sees of a polygon only by the width that was added beyond its edges is rounding.
            if (far - near) * length > 4.0 * SHADOW_EDGE_M:
                in_sight += far - near
        for row in range(shunned.shape[0] if has_floors else 0):
            if shunned[row, 4] == mesh.polygon_layer[polygon]:
                near_points += (
                    _shunned_cost(
                        shunned[row, 0] - ax,
                        shunned[row, 1] - ay,
                        bx - ax,
                        by - ay,
                        length,
                        low,
                        high,
                        shunned[row, 2],
                    )
                    * shunned[row, 3]
                )
    cost = 0.0
    if covered > 0.0:
        cost = (weights.exposure * length * in_sight + near_points) / max(1.0, covered)
    for row in range(0 if has_floors else shunned.shape[0]):
        cost += (
            _shunned_cost(
                shunned[row, 0] - ax,
                shunned[row, 1] - ay,
                bx - ax,
                by - ay,
                length,
                0.0,
                1.0,
                shunned[row, 2],
            )
            * shunned[row, 3]
        )
    return cost


@lean_kernel
def _shunned_cost(px, py, dx, dy, length, begin, end, reach):
    """Return the integral of ``1 - (d / reach)^2`` along a part, from begin to end (0..1),
    of a segment d from the origin, inside the reach of p (m).
    """
    along = (px * dx + py * dy) / length
    aside = (px * dy - py * dx) / length
    half = reach * reach - aside * aside
    if half <= 0.0:
        return 0.0
    half = np.sqrt(half)
    low, high = max(begin * length - along, -half), min(end * length - along, half)
    if low >= high:
        return 0.0
    return (high - low) * (1.0 - aside * aside / (reach * reach)) - (high * high * high - low * low * low) / (
        3.0 * reach * reach
    )
