"""One mesh of several floors: each is meshed by itself, and they are joined
along the lines where they meet.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import CLEARANCE_M, MEETS_M, FloorPlan, Join, gap_of_line
from crowdsim.geometry.lengths import dots, hypots
from crowdsim.geometry.triangulation import Triangulation, triangulate
from crowdsim.navigation.mesh.build import (
    MeshBuild,
    MeshParameters,
    cut_at_openings,
    mesh_from_polygons,
    with_rings,
)
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.mesh.plates import Plate, Plates, Seam, edge_key
from crowdsim.navigation.mesh.terrain import convex_pieces, speeds_on


def build_floors(
    floors: Sequence[FloorPlan],
    joins: Sequence[Join],
    *,
    parameters: MeshParameters | None = None,
    wall_reach: float = 5.0,
    clearance: float = CLEARANCE_M,
) -> MeshBuild:
    """Build one mesh of several floors.

    Parameters
    ----------
    floors : sequence of FloorPlan
    joins : sequence of Join
    parameters : MeshParameters, optional
    wall_reach : float, m
        See `build_mesh`.
    clearance : float, m
        Free height above all ground.

    Raises
    ------
    NavigationError
        If a line does not lie on the edges of both of its floors, or a floor cannot be meshed.

    Notes
    -----
    Widths of gaps are measured on each floor by itself: one between walls of two floors, through their seam,
    is not among them. Walking keeps agents out of such gaps as of all others.
    """
    parameters = parameters or MeshParameters()
    grounds, stops = _with_joins(floors, joins)
    points: list[NDArray[np.float64]] = []
    polygons: list[list[int]] = []
    layers: list[int] = []
    speeds: list[NDArray[np.float64]] = []
    whole: dict[tuple[int, int], tuple[int, int]] = {}
    base = 0
    for layer, (floor, ground) in enumerate(zip(floors, grounds, strict=True)):
        ground = cut_at_openings(ground, floor.openings)
        lines = [shapely.LineString(join.line) for join in joins if layer in join.floors]
        opened = [*lines, *([floor.openings] if floor.openings is not None else [])]
        triangulation = triangulate(
            ground,
            openings=shapely.GeometryCollection(opened) if opened else None,
            widest_gap=2.0 * parameters.widest_body,
        )
        kept = _edges_on(lines, triangulation)
        pieces = convex_pieces(
            triangulation,
            floor.terrain,
            most_sides=parameters.sides,
            cell=parameters.terrain_cell,
            widest=2.0 * parameters.widest_body,
            kept=kept,
        )
        points.append(np.column_stack([pieces.vertices, floor.plane.height(pieces.vertices)]))
        polygons += [[base + corner for corner in polygon] for polygon in pieces.polygons]
        layers += [layer] * len(pieces.polygons)
        speeds.append(speeds_on(floor.terrain, pieces.vertices, pieces.polygons))
        whole |= {(base + a, base + b): (base + c, base + d) for (a, b), (c, d) in pieces.whole.items()}
        base += len(points[-1])
    vertices, polygons, number = _welded(
        np.concatenate(points),
        polygons,
        joins,
        stops,
        np.repeat(np.arange(len(points)), [len(each) for each in points]),
    )
    mesh, walls = mesh_from_polygons(
        vertices,
        polygons,
        layers=np.array(layers, dtype=np.int32),
        wall_reach=wall_reach,
        clearance=clearance,
        joined=[join.floors for join in joins],
        openings={layer: floor.openings for layer, floor in enumerate(floors) if floor.openings is not None},
        paces=np.array([floor.pace for floor in floors], dtype=np.float64)[layers]
        * np.concatenate(speeds)[:, None],
        whole={(number[a], number[b]): (number[c], number[d]) for (a, b), (c, d) in whole.items()},
    )
    _check_joins(mesh, floors, joins)
    return MeshBuild(mesh, walls, parameters, None)


def plates_of_floors(floors: Sequence[FloorPlan], joins: Sequence[Join], *, cell: float = 1.0) -> Plates:
    """Return floors as plates, with seams along the lines where they meet.

    Parameters
    ----------
    floors : sequence of FloorPlan
    joins : sequence of Join
    cell : float, m
        How large polygons are where there is terrain with a speed, about.

    Raises
    ------
    NavigationError
        If a line does not lie on the edges of both of its floors.
    """
    grounds, stops = _with_joins(floors, joins)
    plates = [
        Plate(ground, layer, layer, floor.plane, floor.pace, floor.openings, floor.terrain)
        for layer, (floor, ground) in enumerate(zip(floors, grounds, strict=True))
    ]
    seams = [
        Seam(join.floors, key, key)
        for join, points in zip(joins, stops, strict=True)
        for key in (edge_key(a, b) for a, b in itertools.pairwise(points.tolist()))
    ]
    return Plates(plates, seams, cell)


def _with_joins(
    floors: Sequence[FloorPlan], joins: Sequence[Join]
) -> tuple[list[Any], list[NDArray[np.float64]]]:
    """Return the grounds of the floors with the same vertices on both sides of each line,
    and these vertices line by line.
    """
    grounds = [floor.ground for floor in floors]
    all_stops = []
    for join in joins:
        line = shapely.LineString(join.line)
        for layer in join.floors:
            if gap_of_line(grounds[layer], line) > MEETS_M:
                (ax, ay), (bx, by) = join.line
                raise NavigationError(
                    f"the line from ({ax:g}, {ay:g}) to ({bx:g}, {by:g}) does not lie on the edge of "
                    f'"{floors[layer].name}"'
                )
        found = [np.array(join.line)]
        for layer in join.floors:
            points = shapely.get_coordinates(grounds[layer])
            found.append(points[shapely.distance(line, shapely.points(points)) <= MEETS_M])
            # Borders of terrain and of exits that lead over the line: both floors have a vertex there, since
            # its edges are not cut later, or only those of one.
            borders = [terrain.area.boundary for terrain in floors[layer].terrain]
            openings = floors[layer].openings
            borders += [openings.boundary] if openings is not None else []
            found += [shapely.get_coordinates(shapely.intersection(border, line)) for border in borders]
        stops = _along(np.concatenate(found), np.array(join.line))
        for layer in join.floors:
            grounds[layer] = _insert(grounds[layer], stops)
        all_stops.append(stops)
    return grounds, all_stops


def _along(points: NDArray[np.float64], line: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return different points along a line, its two ends first and last, the others moved onto it."""
    span = line[1] - line[0]
    share = np.sort(dots(points - line[0], span) / float(dots(span, span)))
    spacing = 2.0 * MEETS_M / float(hypots(*span))
    inner: list[float] = []
    for t in share.tolist():
        if spacing < t < 1.0 - spacing and (not inner or t - inner[-1] > spacing):
            inner.append(t)
    return np.array([line[0], *(line[0] + t * span for t in inner), line[1]])


def _insert(ground: Any, stops: NDArray[np.float64]) -> Any:
    """Return a ground whose boundary runs through `stops`, which lie on it up to `MEETS_M`."""
    return with_rings(ground, lambda ring: _ring_through(ring[:-1], stops))


def _ring_through(ring: NDArray[np.float64], stops: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a ring with the stops among its vertices, in place of those that are near them,
    as far as it runs along them.
    """
    outline = shapely.LinearRing(ring)
    if shapely.distance(outline, shapely.points(0.5 * (stops[0] + stops[1]))) > MEETS_M:
        return ring
    kept = ring[shapely.distance(shapely.LineString(stops), shapely.points(ring)) > MEETS_M]
    points = np.concatenate([kept, stops])
    return points[np.argsort(shapely.line_locate_point(outline, shapely.points(points)), kind="stable")]


def _welded(
    points: NDArray[np.float64],
    polygons: list[list[int]],
    joins: Sequence[Join],
    stops: Sequence[NDArray[np.float64]],
    layer: NDArray[np.int64],
) -> tuple[NDArray[np.float64], list[list[int]], list[int]]:
    """Return vertices of which those on a join are one for both of its floors,
    the polygons with their new numbers, and all new numbers.
    """
    number = np.arange(len(points))
    for join, stop in zip(joins, stops, strict=True):
        for x, y in stop:
            rows = np.flatnonzero(np.isin(layer, join.floors) & (points[:, 0] == x) & (points[:, 1] == y))
            points[rows, 2] = join.height
            number[np.isin(number, number[rows])] = number[rows].min()
    kept, renumbered = np.unique(number, return_inverse=True)
    return (
        np.ascontiguousarray(points[kept]),
        [[int(renumbered[corner]) for corner in polygon] for polygon in polygons],
        renumbered.tolist(),
    )


def _edges_on(lines: Sequence[Any], triangulation: Triangulation) -> list[tuple[int, int]]:
    """Return the edges of triangles that lie on joins: another floor has them too."""
    owner, side = np.nonzero(triangulation.neighbours < 0)
    a, b = triangulation.triangles[owner, side], triangulation.triangles[owner, (side + 1) % 3]
    middle = shapely.points(0.5 * (triangulation.vertices[a] + triangulation.vertices[b]))
    on = np.zeros(len(owner), dtype=np.bool_)
    for line in lines:
        on |= shapely.distance(line, middle) <= MEETS_M
    return list(zip(a[on].tolist(), b[on].tolist(), strict=True))


def _check_joins(mesh: NavMesh, floors: Sequence[FloorPlan], joins: Sequence[Join]) -> None:
    """Raise where two floors are not joined along the whole of a line:
    a fault of the plan that nothing else has found.
    """
    layer = mesh.polygon_layer[mesh.edge_polygon]
    portal = np.flatnonzero(mesh.edge_twin >= 0)
    a, b = layer[portal], layer[mesh.edge_twin[portal]]
    middle = shapely.points(mesh.portal_point[portal])
    length = hypots(*(mesh.vertex[mesh.edge_end[portal], :2] - mesh.vertex[mesh.edge_vertex[portal], :2]).T)
    for join in joins:
        line = shapely.LineString(join.line)
        own = (a == join.floors[0]) & (b == join.floors[1]) & (shapely.distance(line, middle) <= MEETS_M)
        if abs(float(length[own].sum()) - line.length) > 4.0 * MEETS_M:
            names = " and ".join(f'"{floors[number].name}"' for number in join.floors)
            raise NavigationError(
                f"{names} meet over {length[own].sum():.3f} m of a line of {line.length:.3f} m from "
                f"({join.line[0][0]:g}, {join.line[0][1]:g}); "
                "look for another line that ends within some micrometres of it"
            )
