"""Twins of what is said of heights and slopes: every polygon is looked at, every formula is the definition.

Kernels: height_at, locate_at_height, plan_share, plan_shares, heights_at, step_cost, measure_path_rows,
trace_path, trace_string, make_tracing, share_ground, on_same_ground, _sort_heights.
"""

import math

import numpy as np

from tests.reference.mesh import corners_of, depth_in_polygon


def plane_of(mesh, polygon):
    """Coefficients (a, b, c) of the plane z = a x + b y + c through the corners,
    by least squares about their middle, and that middle.
    """
    first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
    corners = mesh.vertex[mesh.edge_vertex[first:last]]
    middle = corners.mean(axis=0)
    offset = corners - middle
    slope = np.linalg.lstsq(offset[:, :2], offset[:, 2], rcond=None)[0]
    return slope, middle


def height_at(mesh, polygon, x, y):
    """Height of the plane through the corners."""
    slope, middle = plane_of(mesh, polygon)
    return float(middle[2] + slope @ (np.array([x, y]) - middle[:2]))


def locate_at_height(mesh, x, y, z):
    """Of the polygons that hold a point in plan (up to a micrometre) the one
    whose height there is nearest.
    """
    holding = [
        p
        for p in range(mesh.polygon_count)
        if len(corners_of(mesh, p)) and depth_in_polygon(mesh, p, x, y) > -1e-6
    ]
    return min(holding, key=lambda p: (round(abs(height_at(mesh, p, x, y) - z), 9), p)) if holding else -1


def plan_share(mesh, polygon, vx, vy):
    """Speed in plan over speed on level ground: a step of one metre in plan climbs g . u metres."""
    speed = math.hypot(vx, vy)
    if speed == 0.0:
        return 1.0
    slope, _ = plane_of(mesh, polygon)
    climb = float(slope @ np.array([vx, vy])) / speed
    up, down = mesh.polygon_pace[polygon]
    pace = max(up, down) if abs(climb) < 1e-12 else up if climb > 0.0 else down
    return pace / math.hypot(1.0, climb)


def step_length(mesh, polygon, dx, dy):
    """Length along the surface of a straight step over (dx, dy) in plan."""
    slope, _ = plane_of(mesh, polygon)
    return math.sqrt(dx * dx + dy * dy + float(slope @ np.array([dx, dy])) ** 2)


def step_time(mesh, polygon, dx, dy):
    """Time of that step for an agent that goes 1 m/s on level, plain ground:
    its length in plan over the speed in plan.
    """
    return math.hypot(dx, dy) / plan_share(mesh, polygon, dx, dy)


def along_line(mesh, a, b, layer=None):
    """Length and time of a straight path in plan, on one floor:
    cut at the polygons by their outlines, part by part.
    """
    import shapely

    line, length, time = shapely.LineString([a, b]), 0.0, 0.0
    d = np.subtract(b, a) / math.dist(a, b)
    for polygon in range(mesh.polygon_count):
        if layer is None or mesh.polygon_layer[polygon] in layer:
            part = shapely.intersection(line, shapely.Polygon(corners_of(mesh, polygon))).length
            length += step_length(mesh, polygon, *(part * d))
            time += step_time(mesh, polygon, *(part * d)) if part > 0.0 else 0.0
    return length, time


def over_polygons(mesh, polygons, points, aside=0.0, within=1e-7):
    """Length and time of a line over a row of polygons, each gone over as far as it holds the line, or the
    line is at most `aside` out of it and in none of the others: cut at their outlines, one straight part at a
    time.
    """
    import shapely

    rest, length, time = list(map(tuple, points)), 0.0, 0.0
    row = [shapely.Polygon(corners_of(mesh, polygon)) for polygon in polygons]
    for number, polygon in enumerate(polygons):
        others = shapely.union_all([each for each, other in zip(row, polygons) if other != polygon])
        beside = row[number].buffer(aside, join_style="mitre") - others
        ground = (row[number] | beside).buffer(within, join_style="mitre")
        while len(rest) > 1:
            part = shapely.intersection(shapely.LineString(rest[:2]), ground)
            reach = (
                part.length
                if number + 1 < len(polygons) and shapely.distance(part, shapely.Point(rest[0])) < within
                else 0.0
            )
            whole = math.dist(*rest[:2])
            share = 1.0 if reach > whole - within or number + 1 == len(polygons) else reach / whole
            step = [share * (b - a) for a, b in zip(*rest[:2], strict=True)]
            if math.hypot(*step) > 0.0:
                length, time = (
                    length + step_length(mesh, polygon, *step),
                    time + step_time(mesh, polygon, *step),
                )
            if share < 1.0:
                rest[0] = tuple(a + d for a, d in zip(rest[0], step, strict=True))
                break
            rest.pop(0)
    return length, time


def share_ground(place, slope, step, i, j):
    """Whether each of two agents at (x, y, z) stands less than `step` above or
    below the plane of the other.
    """
    path = place[j] - place[i]
    return all(abs(path[2] - slope[k] @ path[:2]) < step for k in (i, j))
