"""Naive twins of `crowdsim.navigation.visibility`:
corners from rings, sight and clearance by shapely, all tangents of all pairs, Dijkstra in plain Python.

Nothing is pruned: no rule about walls or bends, no potentially visible sets, no widths. An agent goes round a
corner on either side, if shapely lets it.
"""

from __future__ import annotations

import heapq
import itertools
import math

import numpy as np
import shapely

# How much nearer than its radius an agent may come to a wall here; chords of arcs of 1 degree are 4e-5 of the
# radius nearer to the corner.
TOUCH = 1e-6
STEP = math.radians(1.0)


def concave_corners(ground):
    """Twin of `find_corners`: vertices with more than 180 degrees of ground, as a sorted array of points."""
    return np.array([corner for corner, _ in corners_and_walls(ground)]).reshape(-1, 2)


def corners_and_walls(ground):
    """Return the same corners, each with the unit directions along its two walls."""
    found = []
    for part in shapely.get_parts(ground):
        oriented = shapely.orient_polygons(part)
        for ring in (oriented.exterior, *oriented.interiors):
            points = np.asarray(ring.coords)[:-1]
            for before, here, after in zip(
                np.roll(points, 1, axis=0), points, np.roll(points, -1, axis=0), strict=True
            ):
                u, v = here - before, after - here
                if u[0] * v[1] - u[1] * v[0] < 0.0:
                    found.append((tuple(here), (-u / np.hypot(*u), v / np.hypot(*v))))
    return sorted(found, key=lambda corner: corner[0])


def in_sight(ground, a, b):
    """Twin of `see_all` and `trace_sight`: whether the straight line stays on the ground,
    by less than a grazing touch.
    """
    line = shapely.LineString([a, b])
    return ground.covers(line) or shapely.difference(line, ground.buffer(1e-7)).is_empty


def bends(ground_walls, first, second, sides, radius):
    """Twin of `bending_radii`: whether an agent that touches two corners on given sides stands in none of
    their walls.

    `ground_walls` are, for each corner, the unit directions along its two walls.
    """
    d = np.asarray(second) - first
    length = float(np.hypot(*d))
    sine = radius * (sides[0] - sides[1]) / length
    if abs(sine) > 1.0:
        return False
    d = d / length
    normal = np.array([-d[1], d[0]])
    left = math.sqrt(1.0 - sine * sine) * normal - sine * d
    return all(
        -side * float(left @ wall) <= 1e-9
        for side, walls in zip(sides, ground_walls, strict=True)
        for wall in walls
    )


def tangents(ground):
    """Twin of `find_tangents`: the tangents that some path of some radius can bend along, as {((corner,
    side), (corner, side))}.

    Radii are tried one by one, five hundred up to half the distance between the corners; an interval that is
    shorter than two steps may be missed.
    """
    corners = corners_and_walls(ground)
    found = set()
    for (a, first), (b, second) in itertools.combinations(corners, 2):
        if not in_sight(ground, a, b):
            continue
        for sides in itertools.product((1, -1), (1, -1)):
            if any(
                bends((first, second), a, b, sides, radius)
                for radius in (np.arange(500) + 0.5) * 1e-3 * math.dist(a, b)
            ):
                found.add(((a, sides[0]), (b, sides[1])))
    return found


def room(ground, corner, walls, most):
    """Twin of `measure_clearances`: half the distance to the nearest wall that is in front of one of the
    corner's two walls.
    """
    far = 1e3
    best = 2.0 * most
    # else what comes out lies on the grid of the ground
    boundary = shapely.set_precision(ground.boundary, 0.0)
    for wall, sign in zip(walls, (1.0, -1.0), strict=True):
        normal = sign * np.array([wall[1], -wall[0]])
        base = np.asarray(corner) + 1e-7 * normal
        front = shapely.Polygon(
            [base - far * wall, base + far * wall, base + far * (wall + normal), base + far * (normal - wall)]
        )
        best = min(best, shapely.distance(shapely.Point(corner), shapely.intersection(boundary, front)))
    return 0.5 * best


def clear_stretches(ground, a, b, radius, steps=20_000):
    """Twin of `next_clear_stretch`: the stretches of the line from a to b (distances from a) that are clear
    of walls, from points along it.
    """
    line = shapely.LineString([a, b])
    at = np.linspace(0.0, line.length, steps + 1)
    clear = shapely.distance(ground.boundary, shapely.line_interpolate_point(line, at)) >= radius - TOUCH
    change = np.flatnonzero(np.diff(np.concatenate([[False], clear, [False]]).astype(int)))
    return [(at[i], at[j - 1]) for i, j in change.reshape(-1, 2)]


def shortest(ground, start, goal, radius=0.0):
    """Twin of `advance_visibility_search`: the length of the shortest path of an agent,
    inf if there is none.
    """
    return (
        _shortest_of_a_point(ground, start, goal)
        if radius == 0.0
        else _shortest_of_a_disc(ground, start, goal, radius)
    )


def _shortest_of_a_point(ground, start, goal):
    points = [tuple(start), tuple(goal), *map(tuple, concave_corners(ground))]
    shapely.prepare(ground)
    pairs = list(itertools.combinations(range(len(points)), 2))
    seen = shapely.covers(ground, shapely.linestrings([[points[a], points[b]] for a, b in pairs]))
    beside = {k: [] for k in range(len(points))}
    for (a, b), sees in zip(pairs, seen, strict=True):
        if sees:
            length = math.dist(points[a], points[b])
            beside[a].append((b, length))
            beside[b].append((a, length))
    return _dijkstra(0, 1, lambda node, _: beside[node])


def _dijkstra(start, goal, neighbours):
    best, queue, done = {start: 0.0}, [(0.0, start)], set()
    while queue:
        cost, node = heapq.heappop(queue)
        if node == goal:
            return cost
        if node in done:
            continue
        done.add(node)
        for other, length in neighbours(node, cost):
            if cost + length < best.get(other, math.inf):
                best[other] = cost + length
                heapq.heappush(queue, (cost + length, other))
    return math.inf


def _shortest_of_a_disc(ground, start, goal, radius):
    """Nodes are tangents (from disc, to disc); between two at one corner, the arc in either direction."""
    corners = [tuple(c) for c in concave_corners(ground)]
    discs = [(*start, 0.0), (*goal, 0.0), *((*c, side * radius) for c in corners for side in (1, -1))]
    walls = ground.boundary
    shapely.prepare(walls)
    shapely.prepare(ground)
    names, lines = [], []
    for i, j in itertools.permutations(range(len(discs)), 2):
        if i == 1 or j == 0 or (i > 1 and j > 1 and i // 2 == j // 2):
            continue
        line = _tangent(discs[i], discs[j])
        if line is not None:
            names.append((i, j))
            lines.append(line)
    shapes = shapely.linestrings(np.array([line[:2] for line in lines]))
    free = shapely.contains_properly(ground, shapes) & ~shapely.dwithin(shapes, walls, radius - TOUCH)
    directions = {name: line[2] for name, line, is_free in zip(names, lines, free, strict=True) if is_free}
    lengths = {
        name: math.dist(*line[:2]) for name, line, is_free in zip(names, lines, free, strict=True) if is_free
    }
    leaving: dict[int, list[tuple[int, int]]] = {}
    for name in directions:
        leaving.setdefault(name[0], []).append(name)

    def neighbours(node, _cost):
        if node == "start":
            return [(name, lengths[name]) for name in leaving.get(0, [])]
        if node[1] == 1:
            return [("goal", 0.0)]
        disc = discs[node[1]]
        found = []
        for name in leaving.get(node[1], []):
            for turn in _turns(directions[node], directions[name], disc[2]):
                if _arc_is_free(ground, walls, disc, directions[node], turn, radius):
                    found.append((name, abs(turn) * radius + lengths[name]))
        return found

    return _dijkstra("start", "goal", neighbours)


def _tangent(a, b):
    """Return where the line that touches disc a and then disc b begins and ends, and its direction;
    None if the discs overlap.
    """
    d = np.array([b[0] - a[0], b[1] - a[1]])
    length = float(np.hypot(*d))
    if length == 0.0 or abs(b[2] - a[2]) >= length:
        return None
    across = (b[2] - a[2]) / length
    d /= length
    u = math.sqrt(1.0 - across * across) * d + across * np.array([d[1], -d[0]])
    return (a[0] + a[2] * u[1], a[1] - a[2] * u[0]), (b[0] + b[2] * u[1], b[1] - b[2] * u[0]), u


def _turns(u, v, side):
    """Return by which angles one may turn from u to v on a disc: as its side turns;
    a full turn would be a loop.
    """
    angle = math.atan2(u[0] * v[1] - u[1] * v[0], float(u @ v))
    if side < 0.0:
        return [min(angle, 0.0)] if angle < 1e-9 else []
    return [max(angle, 0.0)] if angle > -1e-9 else []


def _arc_is_free(ground, walls, disc, u, turn, radius):
    steps = max(1, math.ceil(abs(turn) / STEP))
    points = []
    for k in range(steps + 1):
        c, s = math.cos(turn * k / steps), math.sin(turn * k / steps)
        w = (c * u[0] - s * u[1], s * u[0] + c * u[1])
        points.append((disc[0] + disc[2] * w[1], disc[1] - disc[2] * w[0]))
    return not shapely.dwithin(shapely.MultiPoint(points), walls, radius - TOUCH) and ground.contains(
        shapely.MultiPoint(points)
    )


def cheapest_taut(ground, start, goal, cost_of_line):
    """Return the least cost of all taut chains of corners for a point:
    paths that no pull would shorten, which is how agents walk them.

    Nodes are lines (from, to, side on which the corner at `to` is passed); `cost_of_line` gives what a
    shapely line costs.
    """
    nodes = [(tuple(start), ()), (tuple(goal), ()), *corners_and_walls(ground)]
    shapely.prepare(ground)

    def is_taut(first, second, sides):
        return bends((nodes[first][1], nodes[second][1]), nodes[first][0], nodes[second][0], sides, 0.0)

    def neighbours(state, _cost):
        before, here, side = state
        if here == 1:
            return
        for other in range(1, len(nodes)):
            line = shapely.LineString([nodes[here][0], nodes[other][0]])
            if other == here or not ground.covers(line):
                continue
            if before is not None:
                u, v = (
                    np.subtract(nodes[here][0], nodes[before][0]),
                    np.subtract(nodes[other][0], nodes[here][0]),
                )
                if side * (u[0] * v[1] - u[1] * v[0]) < -1e-9:
                    continue
            for next_side in (1, -1) if other > 1 else (1,):
                if is_taut(here, other, (side, next_side)):
                    yield (here, other, next_side) if other > 1 else "goal", cost_of_line(line)

    return _dijkstra((None, 0, 1), "goal", neighbours)


def sight_polygon(ground, watcher):
    """Return what a watcher sees: rays to just beside every vertex, for `see_from`."""
    x, y = watcher
    vertices = shapely.get_coordinates(ground)
    far = 4.0 * float(np.ptp(vertices, axis=0).sum())
    angles = np.arctan2(vertices[:, 1] - y, vertices[:, 0] - x)
    angles = np.unique(np.concatenate([angles - 1e-9, angles, angles + 1e-9]))
    walls = ground.boundary
    hits = []
    for angle in angles:
        ray = shapely.LineString([(x, y), (x + far * math.cos(angle), y + far * math.sin(angle))])
        met = shapely.get_coordinates(shapely.intersection(ray, walls))
        distance = np.hypot(met[:, 0] - x, met[:, 1] - y)
        hits.append(met[np.argmin(distance)])
    return shapely.make_valid(shapely.Polygon(hits))


def trace(mesh, polygon, a, b):
    """Return [(t, t', polygon)] of the polygons that a straight line in plan leads through from a point of
    one, over shared edges; None if it ends before b.

    Every polygon is cut with the line, and of those that are joined the next one is taken; the floor of each
    follows from the joins.
    """
    line, length = shapely.LineString([a, b]), float(np.hypot(b[0] - a[0], b[1] - a[1]))
    found, at, seen = [], 0.0, set()
    while True:
        corners = mesh.edge_vertex[mesh.polygon_start[polygon] : mesh.polygon_start[polygon + 1]]
        part = shapely.intersection(line, shapely.Polygon(mesh.vertex[corners, :2]).buffer(1e-9))
        end = max(
            (float(np.hypot(x - a[0], y - a[1])) / length for x, y in shapely.get_coordinates(part)),
            default=at,
        )
        found.append((at, end, polygon))
        seen.add(polygon)
        if end >= 1.0 - 1e-6:
            return found
        at = end
        place = shapely.Point(a[0] + at * (b[0] - a[0]), a[1] + at * (b[1] - a[1]))
        beyond = shapely.Point(a[0] + (at + 1e-6) * (b[0] - a[0]), a[1] + (at + 1e-6) * (b[1] - a[1]))
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            twin = mesh.edge_twin[edge]
            ends = shapely.LineString(mesh.vertex[[mesh.edge_vertex[edge], mesh.edge_end[edge]], :2])
            other = mesh.edge_polygon[twin] if twin >= 0 else -1
            if other < 0 or other in seen or shapely.distance(ends, place) > 1e-6:
                continue
            outline = mesh.edge_vertex[mesh.polygon_start[other] : mesh.polygon_start[other + 1]]
            if shapely.distance(shapely.Polygon(mesh.vertex[outline, :2]), beyond) < 1e-8:
                polygon = other
                break
        else:
            return None
