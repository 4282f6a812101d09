"""A mesh of plane patches in space, as `crowdsim.geometry.surface` finds them."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import CLEARANCE_M, Terrain
from crowdsim.geometry.lengths import dots, hypots
from crowdsim.geometry.steps import Steps, at_once
from crowdsim.geometry.surface import STEP_M, Patch
from crowdsim.geometry.triangulation import triangulation_steps
from crowdsim.navigation.mesh.build import (
    MeshBuild,
    MeshParameters,
    mesh_without_lists,
    with_crossings,
    with_rings,
)
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.mesh.plates import EdgeKey, Plate, Plates, Seam, edge_key, edge_keys
from crowdsim.navigation.mesh.terrain import (
    BORDER_M,
    CELL_SHARE,
    MOST_CELLS,
    Pieces,
    convex_pieces,
    region_of,
    speeds_on,
    terrain_near,
)
from crowdsim.navigation.mesh.wall_lists import with_lists

# Heights on both sides of an edge may differ by this where sheets meet: faces that share an edge agree up to
# rounding in plan.
MEETS_M = 5e-3
_AT_ONCE = 64  # Edges of a step: some 0.01 s, as a run rests between two.
LEAST_PASS_M = 1e-3  # Less of a seam is a single point to an agent that has to keep its radius from its end.


def build_surface(
    patches: Sequence[Patch],
    layers: NDArray[np.int32],
    *,
    openings: Mapping[int, Any] | None = None,
    parameters: MeshParameters | None = None,
    wall_reach: float = 5.0,
    clearance: float = CLEARANCE_M,
    step: float = STEP_M,
    terrain: Sequence[Sequence[Terrain]] = (),
) -> MeshBuild:
    """Build the mesh of patches.

    Parameters
    ----------
    patches : sequence of Patch
    layers : (sheets,) int32
        Floor of each sheet.
    openings : mapping of int to shapely geometry, optional
        Areas of exits by floor: boundary inside them is no wall.
    parameters : MeshParameters, optional
    wall_reach : float, m
        See `build_mesh`.
    clearance : float, m
        Free height above all ground.
    step : float, m
        How high one steps: ground of two sheets that meet along an edge in plan is joined up to this
        difference in height.
    terrain : sequence of sequences of Terrain
        For each floor areas that are walked at speeds of their own and do not overlap; empty where there are
        none.

    Raises
    ------
    NavigationError
        If there is no ground.

    Notes
    -----
    Widths of gaps are exact within a patch; across the edges of patches they are those of the edges. Walking
    keeps agents out of narrower gaps.
    """
    return at_once(
        surface_steps(
            patches,
            layers,
            openings=openings,
            parameters=parameters,
            wall_reach=wall_reach,
            clearance=clearance,
            step=step,
            terrain=terrain,
        )
    )


def surface_steps(
    patches: Sequence[Patch],
    layers: NDArray[np.int32],
    *,
    openings: Mapping[int, Any] | None = None,
    parameters: MeshParameters | None = None,
    wall_reach: float = 5.0,
    clearance: float = CLEARANCE_M,
    step: float = STEP_M,
    terrain: Sequence[Sequence[Terrain]] = (),
) -> Steps[MeshBuild]:
    """Build the mesh of patches as `build_surface` does, resting in between."""
    parameters = parameters or MeshParameters()
    ground = yield from plate_steps(
        patches, layers, openings=openings, cell=parameters.terrain_cell, step=step, terrain=terrain
    )
    yield "plates"
    is_even = not any(plate.terrain for plate in ground.plates)
    part_of = {seam.key: seam.whole for seam in ground.seams if seam.key != seam.whole}
    points: list[tuple[float, float, float]] = []
    number: dict[tuple[int, float, float], list[int]] = {}
    polygons: list[list[int]] = []
    layer: list[int] = []
    slope: list[tuple[float, float]] = []
    height: list[float] = []
    pace: list[float] = []
    whole: dict[tuple[int, int], tuple[int, int]] = {}
    of_plate: list[int] = []
    for number_of_plate, (plate, inner) in enumerate(zip(ground.plates, keys_of_seams(ground), strict=True)):
        pieces = yield from piece_steps(plate, inner, parameters, ground.cell)
        corners, own = pieces.vertices, pieces.polygons
        row = []
        for (x, y), z in zip(corners.tolist(), plate.plane.height(corners).tolist(), strict=True):
            there = number.setdefault((plate.sheet, x, y), [])
            place = next((place for place in there if abs(points[place][2] - z) < MEETS_M), len(points))
            if place == len(points):
                points.append((x, y, z))
                there.append(place)
            row.append(place)
        polygons += [[row[corner] for corner in polygon] for polygon in own]
        layer += [plate.layer] * len(own)
        of_plate += [number_of_plate] * len(own)
        slope += [plate.plane.slope] * len(own)
        height += plate.plane.height(corners[[polygon[0] for polygon in own]]).tolist()
        pace += speeds_on(plate.terrain, corners, own).tolist()
        ends = pieces.whole | _wholes(corners, own, part_of)
        whole |= {(row[a], row[b]): (row[c], row[d]) for (a, b), (c, d) in ends.items()}
        yield "polygons"
    vertices, final = _welded(np.array(points), polygons, number, ground)
    polygons = [[int(final[corner]) for corner in polygon] for polygon in polygons]
    whole = {
        (int(final[a]), int(final[b])): (int(final[c]), int(final[d])) for (a, b), (c, d) in whole.items()
    }
    yield "welded"
    mesh, walls = mesh_without_lists(
        vertices,
        polygons,
        layers=np.array(layer, dtype=np.int32),
        openings=openings,
        clearance=clearance,
        slopes=np.array(slope),
        heights=np.array(height),
        paces=None if is_even else np.repeat(np.array(pace)[:, None], 2, axis=1),
        whole=None if is_even else whole,
    )
    yield "mesh"
    walls = with_lists(mesh, walls, float(wall_reach))
    return MeshBuild(_without_points(mesh, np.array(of_plate)), walls, parameters, None)


def _without_points(mesh: NavMesh, of_plate: NDArray[np.int64]) -> NavMesh:
    """Return a mesh in which no agent crosses a seam from a wall to a free vertex that it could cross at that
    vertex alone, or nowhere: it comes by on the vertex' far side, over seams that are not so short. Led to a
    single point, agents that others have pushed stood there for good.

    Parameters
    ----------
    mesh : NavMesh
    of_plate : (np,) int64
        Plate of each polygon.
    """
    plate = of_plate[mesh.edge_polygon]
    is_seam = (mesh.edge_twin >= 0) & (plate != plate[mesh.edge_twin])
    at_wall = mesh.is_wall_vertex == 1
    is_seam &= at_wall[mesh.edge_vertex] != at_wall[mesh.edge_end]
    span = mesh.vertex[mesh.edge_end, :2] - mesh.vertex[mesh.edge_vertex, :2]
    room = 2.0 * np.maximum(hypots(*span.T) - LEAST_PASS_M, 0.0)
    return mesh._replace(edge_width=np.where(is_seam, np.minimum(mesh.edge_width, room), mesh.edge_width))


def plates_of_surface(
    patches: Sequence[Patch],
    layers: NDArray[np.int32],
    *,
    openings: Mapping[int, Any] | None = None,
    cell: float = 1.0,
    step: float = STEP_M,
    terrain: Sequence[Sequence[Terrain]] = (),
) -> Plates:
    """Return the ground of patches as plates with seams where one walks from one to another.

    Parameters
    ----------
    patches, layers, openings, step, terrain
        See `build_surface`.
    cell : float, m
        How large polygons are where there is terrain with a speed, about.

    Raises
    ------
    NavigationError
        If there is no ground.
    """
    return at_once(plate_steps(patches, layers, openings=openings, cell=cell, step=step, terrain=terrain))


def plate_steps(
    patches: Sequence[Patch],
    layers: NDArray[np.int32],
    *,
    openings: Mapping[int, Any] | None = None,
    cell: float = 1.0,
    step: float = STEP_M,
    terrain: Sequence[Sequence[Terrain]] = (),
) -> Steps[Plates]:
    """Return what `plates_of_surface` does, resting in between."""
    if not patches:
        raise NavigationError(
            "there is no walkable ground: no face looks up, is flat enough, and has the clearance above it"
        )
    openings, step = openings or {}, max(step, MEETS_M)
    regions = [region_of(each) for each in terrain]
    is_even = all(region is None for region, _ in regions)
    open_edges = yield from _open_edges(patches, step)
    part_of: dict[EdgeKey, EdgeKey] = {}
    if not is_even:
        area = sum(region.area for region, _ in regions if region is not None)
        cell = max(cell, math.sqrt(area / MOST_CELLS))
        patches, part_of = _with_stops(patches, layers, open_edges, regions, cell)
        open_edges = yield from _open_edges(patches, step)
    plates = []
    for patch in patches:
        layer, bounds = int(layers[patch.sheet]), np.array(patch.ground.bounds)
        near = () if is_even else tuple(terrain_near(terrain[layer], bounds[:2], bounds[2:]))
        plates.append(
            Plate(
                patch.ground,
                layer,
                patch.sheet,
                patch.plane,
                openings=openings.get(layer),
                terrain=near,
            )
        )
    seams = [
        Seam((one, other), key, part_of.get(key, key))
        for (one, key), other in sorted(open_edges.items())
        if one < other
    ]
    return Plates(plates, seams, cell)


def _with_stops(
    patches: Sequence[Patch],
    layers: NDArray[np.int32],
    open_edges: Mapping[tuple[int, EdgeKey], int],
    regions: Sequence[tuple[Any, list[tuple[NDArray[np.float64], NDArray[np.float64]]]]],
    cell: float,
) -> tuple[list[Patch], dict[EdgeKey, EdgeKey]]:
    """Return patches with corners where borders of terrain cross the edges that they share,
    and between them as far apart as cells are large (m); and for the parts of such edges the whole.
    """
    borders = [
        shapely.multilinestrings([np.array(pair) for pair in pairs]) if pairs else None
        for _, pairs in regions
    ]
    stops: dict[EdgeKey, list[tuple[float, float]]] = {}
    for (number, key), other in sorted(open_edges.items()):
        floors = {int(layers[patches[each].sheet]) for each in (number, other)}
        a, b = np.array(key[:2]), np.array(key[2:])
        line, length = shapely.LineString([a, b]), float(hypots(*(b - a)))
        shares = [0.0, 1.0]

        def enter(share: float, apart: float, shares: list[float] = shares, length: float = length) -> None:
            if all(abs(share - each) * length > apart for each in shares):
                shares.append(share)

        for floor in sorted(floors):
            if borders[floor] is None or not shapely.dwithin(regions[floor][0], line, BORDER_M):
                continue
            crossings = shapely.get_coordinates(shapely.intersection(borders[floor], line))
            for share in sorted((dots(crossings - a, b - a) / length**2).tolist()):
                enter(share, BORDER_M)
            count = int(np.ceil(length / cell))
            for place in range(1, count):
                enter(place / count, CELL_SHARE * length / count)
        inner = sorted(shares)[1:-1]
        stops[key] = [(float(x), float(y)) for x, y in (a + np.array(inner)[:, None] * (b - a)).tolist()]
    part_of: dict[EdgeKey, EdgeKey] = {}

    def change(ring: NDArray[np.float64]) -> NDArray[np.float64]:
        points = [tuple(ring[0].tolist())]
        for a, b in itertools.pairwise(ring.tolist()):
            between = stops.get(edge_key(a, b), [])
            row = [tuple(a), *(between if tuple(a) < tuple(b) else between[::-1]), tuple(b)]
            if between:
                part_of.update({edge_key(p, q): edge_key(a, b) for p, q in itertools.pairwise(row)})
            points += row[1:]
        return np.array(points)

    return [replace(patch, ground=with_rings(patch.ground, change)) for patch in patches], part_of


def _wholes(
    corners: NDArray[np.float64], polygons: Sequence[Sequence[int]], part_of: Mapping[EdgeKey, EdgeKey]
) -> dict[tuple[int, int], tuple[int, int]]:
    """Return for the edges of polygons that are parts of others the ends of the whole edge."""
    if not part_of:
        return {}
    points = [tuple(point) for point in corners.tolist()]
    place = {point: number for number, point in enumerate(points)}
    found = {}
    for polygon in polygons:
        for a, b in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
            key = part_of.get(edge_key(points[a], points[b]))
            if key is not None:
                found[a, b] = place[key[:2]], place[key[2:]]
    return found


def _open_edges(patches: Sequence[Patch], step: float) -> Steps[dict[tuple[int, EdgeKey], int]]:
    """Return the edges over which one can walk, as (patch, edge), with the patch on the other side:
    both have them, at one height or over a step.
    """
    at: dict[EdgeKey, list[int]] = defaultdict(list)
    for number, patch in enumerate(patches):
        for key in edge_keys(patch.ground):
            at[key].append(number)
    found: dict[tuple[int, EdgeKey], int] = {}
    yield "edges"
    shared = [(key, numbers) for key, numbers in at.items() if len(numbers) > 1]
    for place, (key, numbers) in enumerate(shared):
        if place % _AT_ONCE == 0:
            yield "sides"
        ends = np.array(key).reshape(2, 2)
        heights = [patches[number].plane.height(ends) for number in numbers]
        apart = [
            (float(np.abs(heights[i] - heights[j]).max()), a, b)
            for i, a in enumerate(numbers)
            for j, b in enumerate(numbers[i + 1 :], i + 1)
        ]
        for rise, a, b in sorted(apart):
            is_one_sheet = patches[a].sheet == patches[b].sheet
            if (a, key) in found or (b, key) in found or rise > (MEETS_M if is_one_sheet else step):
                continue
            if is_one_sheet or _face_each_other(patches[a], patches[b], key):
                found[a, key], found[b, key] = b, a
    return found


def _face_each_other(a: Patch, b: Patch, key: EdgeKey) -> bool:
    """Return whether two patches lie on different sides of their common edge."""
    ends = np.array(key).reshape(2, 2)
    middle, along = ends.mean(axis=0), ends[1] - ends[0]
    aside = np.array([-along[1], along[0]]) * (min(1e-4, 0.1 * float(hypots(*along))) / float(hypots(*along)))
    left = [
        shapely.distance(patch.ground, shapely.Point(middle + aside))
        < shapely.distance(patch.ground, shapely.Point(middle - aside))
        for patch in (a, b)
    ]
    return left[0] != left[1]


def keys_of_seams(ground: Plates) -> list[set[EdgeKey]]:
    """Return for each plate the edges that it shares with others."""
    found: list[set[EdgeKey]] = [set() for _ in ground.plates]
    for seam in ground.seams:
        for number in seam.plates:
            found[number].add(seam.key)
    return found


def pieces_of(plate: Plate, inner: set[EdgeKey], parameters: MeshParameters, cell: float) -> Pieces:
    """Return the convex polygons of a plate.

    Parameters
    ----------
    plate : Plate
        Its ground is a polygon.
    inner : set of edges
        Those that it shares with others, see `keys_of_seams`.
    parameters : MeshParameters
    cell : float, m
        See `Plates`.
    """
    return at_once(piece_steps(plate, inner, parameters, cell))


def piece_steps(plate: Plate, inner: set[EdgeKey], parameters: MeshParameters, cell: float) -> Steps[Pieces]:
    """Return what `pieces_of` does, resting in between."""
    ground, exits = plate.ground, plate.openings
    if exits is not None and not exits.is_empty and shapely.intersects(exits.boundary, ground):
        ground = with_rings(ground, lambda ring: _cut_walls(ring, inner, exits.boundary))
    corners = shapely.get_coordinates(ground)[:-1]
    if len(corners) == 3 and not ground.interiors and not plate.terrain:
        return Pieces(corners, [[0, 1, 2]], {})
    parts = [shapely.MultiLineString([np.array(key).reshape(2, 2) for key in sorted(inner)])] if inner else []
    if exits is not None:
        parts.append(exits)
    triangulation = yield from triangulation_steps(
        ground,
        openings=shapely.GeometryCollection(parts) if parts else None,
        widest_gap=2.0 * parameters.widest_body,
    )
    yield "triangulation"
    place = {tuple(point): number for number, point in enumerate(triangulation.vertices.tolist())}
    return convex_pieces(
        triangulation,
        plate.terrain,
        most_sides=parameters.sides,
        cell=cell,
        widest=2.0 * parameters.widest_body,
        kept=[(place[key[:2]], place[key[2:]]) for key in inner] if plate.terrain else (),
    )


def _cut_walls(ring: NDArray[np.float64], inner: set[EdgeKey], outline: Any) -> NDArray[np.float64]:
    """Return a ring with vertices where its walls cross the outlines of exits;
    its other edges stay as the next patch has them.
    """
    points = [ring[:1]]
    for a, b in itertools.pairwise(ring):
        points.append(
            np.array([b]) if edge_key(a, b) in inner else with_crossings(np.array([a, b]), outline)[1:]
        )
    return np.concatenate(points)


def _welded(
    points: NDArray[np.float64],
    polygons: list[list[int]],
    number: dict[tuple[int, float, float], list[int]],
    ground: Plates,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return vertices of which those where sheets meet are one, and the new number of each.

    Sheets that overlap by a rounding error would give two polygons one side of an edge: there they are not
    joined.
    """
    plates = ground.plates
    crossings = [
        (one, key, other) for (one, other), key, _ in ground.seams if plates[one].sheet != plates[other].sheet
    ]
    while True:
        final = _roots(points, number, crossings, plates)
        seen: set[tuple[int, int]] = set()
        twice: set[int] = set()
        for polygon in polygons:
            corners = [int(final[corner]) for corner in polygon]
            for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
                if (a, b) in seen or a == b:
                    twice |= {a, b}
                seen.add((a, b))
        kept_crossings = [
            (one, key, other)
            for one, key, other in crossings
            if not twice
            & {int(final[_vertex_of(points, number, plates[one], *end)]) for end in (key[:2], key[2:])}
        ]
        if len(kept_crossings) == len(crossings):
            break
        crossings = kept_crossings
    kept, renumbered = np.unique(final, return_inverse=True)
    return np.ascontiguousarray(points[kept]), renumbered


def _vertex_of(
    points: NDArray[np.float64],
    number: dict[tuple[int, float, float], list[int]],
    plate: Plate,
    x: float,
    y: float,
) -> int:
    """Return the vertex of a plate at one of its corners."""
    z = float(plate.plane.height(np.array([[x, y]]))[0])
    return min(number[plate.sheet, x, y], key=lambda place: abs(points[place, 2] - z))


def _roots(
    points: NDArray[np.float64],
    number: dict[tuple[int, float, float], list[int]],
    crossings: Sequence[tuple[int, EdgeKey, int]],
    plates: Sequence[Plate],
) -> NDArray[np.int64]:
    """Return for each vertex the lowest that it is one with."""
    root = np.arange(len(points))

    def find(row: int) -> int:
        while root[row] != row:
            row = int(root[row])
        return row

    for one, key, other in crossings:
        for end in (key[:2], key[2:]):
            a, b = (find(_vertex_of(points, number, plates[which], *end)) for which in (one, other))
            root[max(a, b)] = min(a, b)
    return np.array([find(row) for row in range(len(points))])
