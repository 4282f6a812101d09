"""Twins of curves: gates by looking at many points of a portal, the string through them by the shortest path
over a graph of their ends, tangents by angles, control points by shapely, walls by thousands of points.

Kernels: lay_gate, cross_gates, direct_crossing, lay_piece, is_off_walls, look_ahead, lay_curve, curve_many;
lead_along_string, which is checked by what its curves keep.
"""

import itertools
import math

import numpy as np
import shapely

BERTH, SHARE, NEAR, TOUCH, INSIDE, ACROSS = 0.15, 0.25, 0.5, 1e-3, 0.999, 1e-3
SCALES = (1.0, 1.25, 1.6, 0.5, 0.25, 0.125, 0.0625)


def _point(mesh, vertex):
    return np.array(mesh.vertex[vertex, :2])


def _ends(mesh, edge):
    return _point(mesh, mesh.edge_vertex[edge]), _point(mesh, mesh.edge_end[edge])


def _sides(mesh, polygon):
    return range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1])


def _is_wall(mesh, edge):
    return mesh.edge_twin[edge] < 0 and mesh.edge_wall[edge] >= 0


def gate(mesh, edge, radius, place=None, velocity=(0.0, 0.0), samples=4001):
    """The right and the left end of the gate of a portal; `place` if it is the next one of an agent there."""
    a, b = _ends(mesh, edge)
    width = np.hypot(*(b - a))
    along = (b - a) / width
    walls = []
    for polygon in (mesh.edge_polygon[edge], mesh.edge_polygon[mesh.edge_twin[edge]]):
        for side in _sides(mesh, polygon):
            if _is_wall(mesh, side):
                walls.append(shapely.LineString(_ends(mesh, side)))
            elif mesh.is_wall_vertex[mesh.edge_vertex[side]] == 1:
                walls.append(shapely.Point(_point(mesh, mesh.edge_vertex[side])))
    walls = shapely.union_all(walls)

    def is_free(s):
        return (
            walls.is_empty
            or shapely.distance(shapely.points(a + np.atleast_1d(s)[:, None] * along), walls) >= radius
        )

    s = np.linspace(0.0, width, samples)
    free = np.broadcast_to(is_free(s), s.shape).astype(int)
    begins, stops = (
        np.flatnonzero(np.diff(free, prepend=0) == 1),
        np.flatnonzero(np.diff(free, append=0) == -1),
    )
    low = high = 0.5 * width
    if len(begins):
        widest = max(range(len(begins)), key=lambda k: (s[stops[k]] - s[begins[k]], -k))
        low, high = s[begins[widest]], s[stops[widest]]
        if begins[widest]:
            low = _halved(lambda x: bool(is_free(x)[0]), s[begins[widest] - 1], low)
        if stops[widest] + 1 < samples:
            high = _halved(lambda x: bool(is_free(x)[0]), s[stops[widest] + 1], high)
    off = min(BERTH, SHARE * (high - low))
    ends = [low + off, high - off]
    if place is not None:
        rest = np.asarray(place) - a
        away = along[0] * rest[1] - along[1] * rest[0]
        if abs(away) < NEAR:
            meets = float(rest @ along)
            nearing = along[1] * velocity[0] - along[0] * velocity[1]
            if nearing > 0.0 and away > 0.0:
                meets += away / nearing * float(np.asarray(velocity) @ along)
            meets = min(high, max(low, meets))
            ends = [min(ends[0], meets), max(ends[1], meets)]
    return a + ends[0] * along, a + ends[1] * along


def _halved(is_free, outside, inside):
    for _ in range(60):
        middle = 0.5 * (outside + inside)
        outside, inside = (outside, middle) if is_free(middle) else (middle, inside)
    return inside


def crossings(start, gates, end):
    """Where the shortest line from start to end crosses the gates: Dijkstra over their ends."""
    nodes = [(0, np.asarray(start))] + [(k + 1, p) for k, pair in enumerate(gates) for p in pair]
    nodes.append((len(gates) + 1, np.asarray(end)))
    best, before = [0.0] + [math.inf] * (len(nodes) - 1), [-1] * len(nodes)
    for j in range(1, len(nodes)):
        for i in range(j):
            (k, p), (m, q) = nodes[i], nodes[j]
            if k >= m or best[i] == math.inf:
                continue
            if all(_meets(p, q, *gates[g - 1]) is not None for g in range(k + 1, m)):
                length = best[i] + np.hypot(*(q - p))
                if length < best[j] - 1e-12:
                    best[j], before[j] = length, i
    chain, at = [], len(nodes) - 1
    while at >= 0:
        chain.append(nodes[at])
        at = before[at]
    chain.reverse()
    found = [np.asarray(start)]
    for (k, p), (m, q) in itertools.pairwise(chain):
        found += [_meets(p, q, *gates[g - 1]) for g in range(k + 1, m)] + [q]
    return found


def _meets(p, q, right, left):
    """Where the line pq crosses a gate, at most 1e-9 beside it; None if it does not."""

    def cross(u, v):
        return u[0] * v[1] - u[1] * v[0]

    r, s = cross(q - p, right - p), cross(q - p, left - p)
    within = 1e-9 * max(1.0, np.hypot(*(q - p)))
    if r > within or s < -within:
        return None
    return right + (min(1.0, max(0.0, -r / (s - r))) if s > r else 0.5) * (left - right)


def tangent(mesh, edge, before, here, behind, radius):
    """The direction in which the curve crosses a portal (-1: ends there)."""
    u = (here - before) / np.hypot(*(here - before))
    if edge < 0:
        return u
    v = (behind - here) / np.hypot(*(behind - here))
    a, b = _ends(mesh, edge)
    normal = math.atan2(*((b - a) / np.hypot(*(b - a)) * (-1.0, 1.0)))
    least = ACROSS
    for end in (mesh.edge_vertex[edge], mesh.edge_end[edge]):
        if mesh.is_wall_vertex[end] == 1:
            away = np.hypot(*(here - _point(mesh, end)))
            least = max(least, radius / away if away > radius else 1.0)

    def turned(vector):  # angle from the normal, to the left
        return math.remainder(math.atan2(vector[1], vector[0]) - normal, 2.0 * math.pi)

    low, high = sorted((turned(u), turned(v)))
    angle = min(high, max(low, 0.0))
    most = math.acos(min(1.0, least))
    angle = min(most, max(-most, angle)) + normal
    return np.array((math.cos(angle), math.sin(angle)))


def _reach(mesh, polygon, point, direction, want, radius):
    """How far a control point may be away."""
    inside = walls = want
    for edge in _sides(mesh, polygon):
        a, b = _ends(mesh, edge)
        inward = np.array((a[1] - b[1], b[0] - a[0])) / np.hypot(*(b - a))
        depth, rate = float(inward @ (point - a)), -float(inward @ direction)
        if rate > 0.0:
            inside = min(inside, INSIDE * max(0.0, depth) / rate)
            if _is_wall(mesh, edge):
                walls = min(walls, max(0.0, depth - radius) / rate)
    return min(inside, max(walls, SCALES[-1] * want))


def pieces(mesh, polygon, p, q, u, v, radius, share=1.0):
    """The control points of a piece by scale, in the order in which they are tried."""
    third = np.hypot(*(q - p)) / 3.0
    out = _reach(mesh, polygon, p, u, SCALES[2] * third, radius)
    back = _reach(mesh, polygon, q, -v, SCALES[2] * third, radius)
    return [
        np.array((p, p + min(out, scale * share * third) * u, q - min(back, scale * third) * v, q))
        for scale in SCALES
    ]


def at(control, t):
    """Points on a piece: de Casteljau."""
    t = np.atleast_1d(t)[:, None]
    row = [np.broadcast_to(each, (len(t), 2)) for each in control]
    while len(row) > 1:
        row = [(1.0 - t) * one + t * other for one, other in itertools.pairwise(row)]
    return row[0]


def clearance(walls, control, samples=2000):
    """The least distance of a piece to walls."""
    return float(shapely.distance(walls, shapely.points(at(control, np.linspace(0.0, 1.0, samples)))).min())


def chosen(walls, candidates, radius, margin=2e-5):
    """The candidates that may have been chosen: the first that keeps off walls, and those before it that do
    so but for rounding; the last if none does.
    """
    found = []
    for each in candidates:
        left = clearance(walls, each) - (radius - TOUCH)
        if radius <= TOUCH or left > -margin:
            found.append(each)
            if radius <= TOUCH or left > margin:
                return found
    return [*found, candidates[-1]]


def look_ahead(controls, look):
    """The point that is `look` along pieces that are measured by 16 chords each."""
    line = np.vstack([controls[0][:1], *(at(each, np.arange(1, 17) / 16.0) for each in controls)])
    gone = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    if look >= gone[-1]:
        return line[-1]
    return np.array([np.interp(look, gone, line[:, axis]) for axis in range(2)])
