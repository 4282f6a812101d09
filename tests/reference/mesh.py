"""Twins of the kernels that make and read a mesh: every polygon, every wall, every diagonal is looked at.

Kernels: depth_in_polygon, locate, locate_many, make_flood, wall_distance, is_cut_off, are_parted,
measure_pairs, list_bins, list_zone_walls, list_zones_near, find_exit, is_in_sight.
"""

import math

import shapely

from tests.reference.plane import distance_to_segment, orientation, segments_apart


def corners_of(mesh, polygon):
    """The corners of a polygon as (x, y)."""
    first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
    return [tuple(mesh.vertex[v, :2].tolist()) for v in mesh.edge_vertex[first:last]]


def edge_ends(mesh, edge):
    """Both ends of a half-edge, as four numbers."""
    return (*mesh.vertex[mesh.edge_vertex[edge], :2].tolist(), *mesh.vertex[mesh.edge_end[edge], :2].tolist())


def depth_in_polygon(mesh, polygon, x, y):
    """Least distance to the lines of the edges, negative outside."""
    corners = corners_of(mesh, polygon)
    return min(
        float(orientation(*a, *b, x, y)) / math.dist(a, b) for a, b in zip(corners, corners[1:] + corners[:1])
    )


def locate(mesh, x, y, layer=-1):
    """The lowest polygon that holds the point, else the one that it misses by least, up to a micrometre."""
    depths = {
        p: depth_in_polygon(mesh, p, x, y)
        for p in range(mesh.polygon_count)
        if layer in (-1, mesh.polygon_layer[p])
    }
    inside = [p for p, depth in depths.items() if depth >= 0.0]
    if inside:
        return min(inside)
    near = [p for p, depth in depths.items() if depth > -1e-6]
    return max(near, key=lambda p: depths[p]) if near else -1


def path_out(mesh, polygon, x, y, to_x, to_y):
    """The half-edges that a straight path leaves a polygon over:
    where it crosses the outline, or none if it ends inside.
    """
    if depth_in_polygon(mesh, polygon, to_x, to_y) >= 0.0:
        return []
    edges = range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1])
    outwards = [e for e in edges if orientation(*edge_ends(mesh, e), to_x, to_y) < 0]
    return [e for e in outwards if segments_apart(x, y, to_x, to_y, *edge_ends(mesh, e)) <= 1e-9]


def is_in_sight(ground, x, y, to_x, to_y):
    """On one floor: whether the line between two points is on the ground."""
    return ground.covers(shapely.LineString([(x, y), (to_x, to_y)]))


def wall_distance(mesh, layer, x, y, limit):
    """On flat ground without exits: the distance of the nearest wall of the floor."""
    walls = [
        e
        for e in range(mesh.edge_count)
        if mesh.edge_wall[e] >= 0 and mesh.polygon_layer[mesh.edge_polygon[e]] == layer
    ]
    return min([limit, *(distance_to_segment(x, y, *edge_ends(mesh, e)) for e in walls)])


def diagonals(mesh, polygon):
    """Diagonals between wall vertices, as (i, j, length) with corner numbers i < j."""
    first = mesh.polygon_start[polygon]
    corners = corners_of(mesh, polygon)
    count = len(corners)
    is_wall = [mesh.is_wall_vertex[mesh.edge_vertex[first + k]] == 1 for k in range(count)]
    pairs = [(i, j) for i in range(count) for j in range(i + 2, count) if (i, j) != (0, count - 1)]
    return [(i, j, math.dist(corners[i], corners[j])) for i, j in pairs if is_wall[i] and is_wall[j]]


def pair_width(mesh, polygon, i, j):
    """The widest agent from edge i to edge j of a polygon:
    the shortest diagonal that has them on different sides.
    """
    return min(
        [math.inf, *(length for u, v, length in diagonals(mesh, polygon) if (u <= i < v) != (u <= j < v))]
    )


def widest_from_edge(mesh, polygon, edge, x, y):
    """The widest agent from an edge to a point inside:
    the shortest diagonal that has them on different sides (`is_cut_off`).
    """
    corners, own = corners_of(mesh, polygon), edge - mesh.polygon_start[polygon]
    parts = [
        length
        for u, v, length in diagonals(mesh, polygon)
        if (u <= own < v) != (orientation(*corners[u], *corners[v], x, y) < 0)
    ]
    return min([math.inf, *parts])


def widest_between(mesh, polygon, a, b):
    """The widest agent from one point inside to another:
    the shortest diagonal that has them on different sides (`are_parted`).
    """
    corners = corners_of(mesh, polygon)
    sides = [
        (orientation(*corners[u], *corners[v], *a) < 0, orientation(*corners[u], *corners[v], *b) < 0, w)
        for u, v, w in diagonals(mesh, polygon)
    ]
    return min([math.inf, *(width for one, other, width in sides if one != other)])


def polygons_apart(mesh, edge, polygon):
    """The distance of an edge from a polygon's outline."""
    corners = corners_of(mesh, polygon)
    return min(
        segments_apart(*edge_ends(mesh, edge), *a, *b) for a, b in zip(corners, corners[1:] + corners[:1])
    )


def zones_near(mesh, edge, reach):
    """Polygons that can be got at from an edge over portals within reach of it, as a set."""
    reached = {int(mesh.edge_polygon[edge])}
    fresh = list(reached)
    while fresh:
        current = fresh.pop()
        for portal in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            if (
                mesh.edge_twin[portal] >= 0
                and segments_apart(*edge_ends(mesh, edge), *edge_ends(mesh, portal)) <= reach
            ):
                other = int(mesh.edge_polygon[mesh.edge_twin[portal]])
                fresh += {other} - reached
                reached.add(other)
    return reached


def wall_list(mesh, zone, reach):
    """Walls within reach of a polygon that can be got at over portals within reach, as a set."""
    reached, walls, fresh = {zone}, set(), [zone]
    while fresh:
        current = fresh.pop()
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            if current != zone and polygons_apart(mesh, edge, zone) > reach:
                continue
            if mesh.edge_twin[edge] < 0:
                walls |= {int(mesh.edge_wall[edge])} - {-1}
            elif (other := int(mesh.edge_polygon[mesh.edge_twin[edge]])) not in reached:
                reached.add(other)
                fresh.append(other)
    return walls
