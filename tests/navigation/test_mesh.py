"""Meshes cover walkable ground exactly with convex polygons that share whole edges (SYSTEMS M1), however awkward the ground is."""

from functools import cache

import numpy as np
import pytest
import shapely
from shapely import affinity

from crowdsim.errors import NavigationError
from crowdsim.navigation.build import MeshParameters, build_mesh, mesh_from_polygons
from tests.navigation.worlds import UTM, free_points, located, outlines, pillar_hall, random_ground, rooms, round_polygon, simple_polygon

SQUARE = shapely.box(0.0, 0.0, 10.0, 10.0)
TINY_ANGLE = 10.0 * np.tan(np.deg2rad(1.0))


def with_holes(*holes):
    """Return a square of 10 m with holes given by their corners."""
    return shapely.Polygon(SQUARE.exterior.coords, holes)


@cache
def awkward_grounds():
    """Return ground that breaks triangulations, by name."""
    rng = np.random.default_rng(0)
    left, upper = [(2, 2), (4, 2), (4, 4), (2, 4)], [(4, 4), (6, 4), (6, 6), (4, 6)]
    spiral = [(0, 0), (9, 0), (9, 9), (1, 9), (1, 2), (7, 2), (7, 7), (3, 7), (3, 4), (5, 4)]
    return {
        "a square": SQUARE,
        "a triangle": shapely.Polygon([(0, 0), (1, 0), (0, 1)]),
        "a hole that touches an edge of the shell": with_holes([(0, 5), (2, 4), (2, 6)]),
        "a hole that touches a corner of the shell": with_holes([(0, 0), (2, 1), (1, 2)]),
        "two holes that touch in their corners": with_holes(left, upper),
        "a hole whose corner touches another's edge": with_holes(left, [(4, 3), (6, 2), (6, 5)]),
        "a ring of holes that closes a courtyard": SQUARE.difference(
            shapely.union_all([shapely.box(2, 4, 4, 6), shapely.box(4, 6, 6, 8), shapely.box(6, 4, 8, 6), shapely.box(4, 2, 6, 4)])
        ),
        "collinear vertices": shapely.Polygon([(x, 0) for x in np.linspace(0, 10, 50)] + [(10, y) for y in np.linspace(0.2, 5, 25)] + [(0, 5)]),
        "a corridor of a millimetre": shapely.Polygon([(0, 0), (100, 0), (100, 1e-3), (0, 2e-3)]),
        "a waist of a micrometre": shapely.Polygon([(0, 0), (100, 0), (100, 1), (50, 1e-6), (0, 1)]),
        "walls that meet at one degree": SQUARE.difference(shapely.Polygon([(0, 5), (10, 5), (0, 5 + TINY_ANGLE)])),
        "a wedge of one degree that ends in free ground": shapely.box(0, 0, 20, 20).difference(
            shapely.union_all([shapely.Polygon([(0, 5), (10, 5), (0, 5 + TINY_ANGLE)]), shapely.Polygon([(20, 5), (10.1, 5), (20, 5.1)])])
        ),
        "five islands": shapely.MultiPolygon([shapely.box(3 * i, 0, 3 * i + 2, 2) for i in range(5)]),
        "islands that touch in a point": shapely.union_all([shapely.box(0, 0, 2, 2), shapely.box(2, 2, 4, 4)]),
        "a spiral of thin walls": shapely.box(-1, -1, 10, 10).difference(shapely.LineString(spiral).buffer(0.01, cap_style="flat", join_style="mitre")),
        "1,000 tiny obstacles": shapely.box(0, 0, 50, 50).difference(shapely.union_all([round_polygon(6, 0.05, rng.uniform(1, 49, 2)) for _ in range(1000)])),
        "coordinates of 1e7": affinity.translate(random_ground(7), 1e7, 1e7),
        "a circle of 5,000 sides": round_polygon(5000, 10.0),
        "a pillar of 5,000 sides": shapely.box(-5, -5, 5, 5).difference(round_polygon(5000, 1.0)),
        "5,000 jagged sides": round_polygon(5000, 30.0, wiggle=0.05),
        "a regular hall": pillar_hall(8),
        "rooms with doors": rooms(3),
    }


def check_cover(ground, mesh, most_sides):
    """Assert what M1 asks of a mesh."""
    polygons = outlines(mesh)
    sizes = np.diff(mesh.polygon_start)
    assert sizes.min() >= 3 and sizes.max() <= most_sides
    assert abs(sum(polygon.area for polygon in polygons) - ground.area) <= 1e-9 * ground.area
    for first, last in zip(mesh.polygon_start[:-1], mesh.polygon_start[1:]):
        corner = mesh.vertex[mesh.edge_vertex[first:last], :2]
        before, after = corner - np.roll(corner, 1, axis=0), np.roll(corner, -1, axis=0) - corner
        turn = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
        assert np.all(turn >= -2e-9 * np.hypot(*before.T) * np.hypot(*after.T)), f"polygon {corner} is not convex and counter-clockwise"
        assert turn.sum() > 0.0
    # Whole edges: the other side of every portal is the same two vertices, and what has no other side is the boundary of the ground.
    portal = np.flatnonzero(mesh.edge_twin >= 0)
    twin = mesh.edge_twin[portal]
    assert np.array_equal(mesh.edge_twin[twin], portal)
    assert np.array_equal(mesh.edge_vertex[twin], mesh.edge_end[portal]) and np.array_equal(mesh.edge_end[twin], mesh.edge_vertex[portal])
    boundary = np.flatnonzero(mesh.edge_twin < 0)
    ends = np.stack([mesh.vertex[mesh.edge_vertex[boundary], :2], mesh.vertex[mesh.edge_end[boundary], :2]], axis=1)
    length = np.hypot(*(ends[:, 1] - ends[:, 0]).T).sum()
    assert length == pytest.approx(ground.boundary.length, rel=1e-9)
    outline = ground.boundary
    shapely.prepare(outline)
    scale = 1e-9 + 4e-16 * np.abs(mesh.vertex).max()
    assert np.all(shapely.dwithin(outline, shapely.points(ends.mean(axis=1)), scale)) and np.all(shapely.dwithin(outline, shapely.points(ends[:, 0]), scale))


@pytest.mark.parametrize("cells", ["polygons", "triangles"])
@pytest.mark.parametrize("name", list(awkward_grounds()))
def test_awkward_ground_is_covered_exactly(name, cells):
    ground = awkward_grounds()[name]
    check_cover(ground, build_mesh(ground, parameters=MeshParameters(cells=cells)).mesh, 3 if cells == "triangles" else 6)


@pytest.mark.parametrize("offset", [(0.0, 0.0), UTM], ids=["near the origin", "UTM"])
@pytest.mark.parametrize("sides", [3, 4, 6, 9])
@pytest.mark.parametrize("seed", range(6))
def test_random_ground_is_covered_exactly(seed, sides, offset):
    for make in (random_ground, simple_polygon, rooms):
        ground = affinity.translate(make(seed), *offset)
        check_cover(ground, build_mesh(ground, parameters=MeshParameters(most_sides=sides)).mesh, sides)


@pytest.mark.full
@pytest.mark.parametrize("block", range(20))
def test_thousands_of_random_grounds_are_covered_exactly(block):
    for seed in range(100 * block, 100 * block + 100):
        for cells, sides in (("polygons", 6), ("triangles", 3)):
            ground = random_ground(seed)
            check_cover(ground, build_mesh(ground, parameters=MeshParameters(cells=cells)).mesh, sides)


def test_merging_leaves_fewer_polygons_than_triangles():
    for seed in range(10):
        ground = random_ground(seed)
        triangles = build_mesh(ground, parameters=MeshParameters(cells="triangles")).mesh.polygon_count
        assert build_mesh(ground).mesh.polygon_count <= 0.6 * triangles


@pytest.mark.parametrize("seed", range(4))
def test_every_point_of_the_ground_is_found_in_the_polygon_that_holds_it(seed):
    ground = random_ground(seed)
    mesh = build_mesh(ground).mesh
    points, _ = free_points(ground, 0.0, 500, np.random.default_rng(seed))
    polygons = outlines(mesh)
    for point, polygon in zip(points, located(mesh, points)):
        assert polygons[polygon].distance(shapely.Point(point)) <= 1e-9


def test_points_outside_are_nowhere_and_points_a_micrometre_off_are_on_the_mesh():
    mesh = build_mesh(with_holes([(4, 4), (6, 4), (6, 6), (4, 6)])).mesh
    along = np.linspace(0.01, 9.99, 400)
    for off, is_on in ((0.9e-6, True), (1.1e-6, False), (1.0, False), (1e9, False), (np.nan, False)):
        below, right = np.c_[along, np.full(400, -off)], np.c_[np.full(400, 10.0 + off), along]
        assert np.all((located(mesh, np.vstack([below, right])) >= 0) == is_on)
    assert located(mesh, np.array([[5.0, 5.0], [np.inf, 5.0], [-np.inf, 5.0]])).tolist() == [-1, -1, -1]


def test_a_point_on_a_shared_edge_belongs_to_the_lower_polygon():
    mesh = build_mesh(pillar_hall(4)).mesh  # middles of edges are exact here
    for portal in np.flatnonzero(mesh.edge_twin > np.arange(mesh.edge_count)):
        sides = mesh.edge_polygon[portal], mesh.edge_polygon[mesh.edge_twin[portal]]
        assert located(mesh, mesh.portal_point[portal][None])[0] == min(sides)


@pytest.mark.parametrize("ground", [shapely.Polygon(), shapely.Polygon([(0, 0), (1, 0), (2, 0)])], ids=["empty", "flat"])
def test_ground_without_area_is_refused_in_words(ground):
    with pytest.raises(NavigationError, match="empty"):
        build_mesh(ground)


def test_polygons_that_overlap_are_refused_in_words():
    vertices = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    with pytest.raises(NavigationError, match="overlap"):
        mesh_from_polygons(vertices, [[0, 1, 2], [0, 1, 3]])


def test_the_mesh_of_one_ground_is_always_the_same():
    ground = random_ground(5)
    again = shapely.from_wkb(shapely.to_wkb(ground))
    for a, b in zip(build_mesh(ground).mesh, build_mesh(again).mesh):
        assert np.array_equal(a, b)


def test_the_mesh_does_not_depend_on_where_rings_begin():
    ground = rooms(1)
    shell, *holes = [np.array(ring.coords)[:-1] for ring in (ground.exterior, *ground.interiors)]
    turned = shapely.Polygon(np.roll(shell, 3, axis=0), [np.roll(hole, 2, axis=0) for hole in holes[::-1]])
    assert turned.equals(ground)
    first, second = build_mesh(ground).mesh, build_mesh(turned).mesh
    assert first.polygon_count == second.polygon_count
    check_cover(ground, second, 6)
