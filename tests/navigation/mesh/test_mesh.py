"""Meshes cover walkable ground exactly with convex polygons that share whole edges,
however awkward the ground is.
"""

import gc
from functools import cache

import numpy as np
import pytest
import shapely
from shapely import affinity

from crowdsim.errors import NavigationError
from crowdsim.navigation.mesh import build
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh, mesh_from_polygons
from crowdsim.navigation.mesh.mesh import (
    are_parted,
    depth_in_polygon,
    find_exit,
    is_cut_off,
    is_in_sight,
    make_flood,
    wall_distance,
)
from crowdsim.navigation.mesh.wall_lists import list_open_edges
from tests.navigation.worlds import (
    UTM,
    free_points,
    located,
    outlines,
    pillar_hall,
    random_ground,
    rooms,
    round_polygon,
    simple_polygon,
)
from tests.reference import mesh as twin

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
            shapely.union_all(
                [
                    shapely.box(2, 4, 4, 6),
                    shapely.box(4, 6, 6, 8),
                    shapely.box(6, 4, 8, 6),
                    shapely.box(4, 2, 6, 4),
                ]
            )
        ),
        "collinear vertices": shapely.Polygon(
            [(x, 0) for x in np.linspace(0, 10, 50)] + [(10, y) for y in np.linspace(0.2, 5, 25)] + [(0, 5)]
        ),
        "a corridor of a millimetre": shapely.Polygon([(0, 0), (100, 0), (100, 1e-3), (0, 2e-3)]),
        "a waist of a micrometre": shapely.Polygon([(0, 0), (100, 0), (100, 1), (50, 1e-6), (0, 1)]),
        "walls that meet at one degree": SQUARE.difference(
            shapely.Polygon([(0, 5), (10, 5), (0, 5 + TINY_ANGLE)])
        ),
        "a wedge of one degree that ends in free ground": shapely.box(0, 0, 20, 20).difference(
            shapely.union_all(
                [
                    shapely.Polygon([(0, 5), (10, 5), (0, 5 + TINY_ANGLE)]),
                    shapely.Polygon([(20, 5), (10.1, 5), (20, 5.1)]),
                ]
            )
        ),
        "five islands": shapely.MultiPolygon([shapely.box(3 * i, 0, 3 * i + 2, 2) for i in range(5)]),
        "islands that touch in a point": shapely.union_all(
            [shapely.box(0, 0, 2, 2), shapely.box(2, 2, 4, 4)]
        ),
        "a spiral of thin walls": shapely.box(-1, -1, 10, 10).difference(
            shapely.LineString(spiral).buffer(0.01, cap_style="flat", join_style="mitre")
        ),
        "1,000 tiny obstacles": shapely.box(0, 0, 50, 50).difference(
            shapely.union_all([round_polygon(6, 0.05, rng.uniform(1, 49, 2)) for _ in range(1000)])
        ),
        "coordinates of 1e7": affinity.translate(random_ground(7), 1e7, 1e7),
        "a circle of 5,000 sides": round_polygon(5000, 10.0),
        "a pillar of 5,000 sides": shapely.box(-5, -5, 5, 5).difference(round_polygon(5000, 1.0)),
        "5,000 jagged sides": round_polygon(5000, 30.0, wiggle=0.05),
        "a regular hall": pillar_hall(8),
        "rooms with doors": rooms(3),
    }


def check_cover(ground, mesh, most_sides):
    """Assert that a mesh covers its ground with convex polygons that share whole edges."""
    polygons = outlines(mesh)
    sizes = np.diff(mesh.polygon_start)
    assert sizes.min() >= 3 and sizes.max() <= most_sides
    assert abs(sum(polygon.area for polygon in polygons) - ground.area) <= 1e-9 * ground.area
    for first, last in zip(mesh.polygon_start[:-1], mesh.polygon_start[1:]):
        corner = mesh.vertex[mesh.edge_vertex[first:last], :2]
        before, after = corner - np.roll(corner, 1, axis=0), np.roll(corner, -1, axis=0) - corner
        turn = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
        assert np.all(turn >= -2e-9 * np.hypot(*before.T) * np.hypot(*after.T)), (
            f"polygon {corner} is not convex and counter-clockwise"
        )
        assert turn.sum() > 0.0
    # Whole edges: the other side of every portal is the same two vertices, and what has no other side is the
    # boundary of the ground.
    portal = np.flatnonzero(mesh.edge_twin >= 0)
    twin = mesh.edge_twin[portal]
    assert np.array_equal(mesh.edge_twin[twin], portal)
    assert np.array_equal(mesh.edge_vertex[twin], mesh.edge_end[portal]) and np.array_equal(
        mesh.edge_end[twin], mesh.edge_vertex[portal]
    )
    boundary = np.flatnonzero(mesh.edge_twin < 0)
    ends = np.stack(
        [mesh.vertex[mesh.edge_vertex[boundary], :2], mesh.vertex[mesh.edge_end[boundary], :2]], axis=1
    )
    length = np.hypot(*(ends[:, 1] - ends[:, 0]).T).sum()
    assert length == pytest.approx(ground.boundary.length, rel=1e-9)
    outline = ground.boundary
    shapely.prepare(outline)
    scale = 1e-9 + 4e-16 * np.abs(mesh.vertex).max()
    assert np.all(shapely.dwithin(outline, shapely.points(ends.mean(axis=1)), scale)) and np.all(
        shapely.dwithin(outline, shapely.points(ends[:, 0]), scale)
    )


@pytest.mark.sample(5)
@pytest.mark.parametrize("cells", ["polygons", "triangles"])
@pytest.mark.parametrize("name", list(awkward_grounds()))
def test_awkward_ground_is_covered_exactly(name, cells):
    ground = awkward_grounds()[name]
    check_cover(
        ground,
        build_mesh(ground, parameters=MeshParameters(faces=cells)).mesh,
        3 if cells == "triangles" else 6,
    )


@pytest.mark.sample(4)
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
            check_cover(ground, build_mesh(ground, parameters=MeshParameters(faces=cells)).mesh, sides)


def test_merging_leaves_fewer_polygons_than_triangles():
    for seed in range(10):
        ground = random_ground(seed)
        triangles = build_mesh(ground, parameters=MeshParameters(faces="triangles")).mesh.polygon_count
        assert build_mesh(ground).mesh.polygon_count <= 0.6 * triangles


@pytest.mark.sample(1)
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


@pytest.mark.parametrize(
    "ground", [shapely.Polygon(), shapely.Polygon([(0, 0), (1, 0), (2, 0)])], ids=["empty", "flat"]
)
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


@pytest.fixture(scope="module")
def small_mesh():
    """A mesh with its walls, small enough for the twins."""
    mesh, walls = (build := build_mesh(random_ground(12), wall_reach=1.5)).mesh, build.walls
    assert 20 < mesh.polygon_count < 200
    return mesh, walls


def test_locating_agrees_with_reference(small_mesh):
    mesh, _ = small_mesh
    rng = np.random.default_rng(0)
    corners = mesh.vertex[rng.integers(0, len(mesh.vertex), 20), :2]
    points = np.vstack(
        [
            rng.uniform(-0.5, 12.5, (40, 2)),
            corners,
            corners + rng.uniform(-1e-6, 1e-6, (20, 2)),
            mesh.portal_point[::9],
        ]
    )
    for (x, y), found in zip(points, located(mesh, points)):
        assert found == twin.locate(mesh, x, y)
        if found >= 0:
            assert depth_in_polygon(mesh, found, x, y) == pytest.approx(
                twin.depth_in_polygon(mesh, found, x, y), abs=1e-12
            )


def test_widths_inside_polygons_agree_with_reference(small_mesh):
    mesh, _ = small_mesh
    rng = np.random.default_rng(1)
    wide = cut_off = 0
    for polygon in range(mesh.polygon_count):
        first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
        count = last - first
        widths = mesh.pair_width[mesh.pair_start[polygon] : mesh.pair_start[polygon + 1]].reshape(
            count, count
        )
        weights = rng.dirichlet(np.ones(count))
        corners = mesh.vertex[mesh.edge_vertex[first:last], :2]
        x, y = weights @ corners
        other = rng.dirichlet(np.full(count, 0.3)) @ corners
        widest = twin.widest_between(mesh, polygon, (x, y), tuple(other))
        for width in (0.0, rng.uniform(0.0, 6.0), widest * (1.0 - 1e-12), widest * (1.0 + 1e-12)):
            assert are_parted(mesh, polygon, x, y, *other, width) == (widest < width)
        for i in range(count):
            assert [twin.pair_width(mesh, polygon, i, j) for j in range(count) if j != i] == pytest.approx(
                np.delete(widths[i], i), rel=1e-15
            )
            widest = twin.widest_from_edge(mesh, polygon, first + i, x, y)
            for width in (0.0, rng.uniform(0.0, 6.0), widest * (1.0 - 1e-12), widest * (1.0 + 1e-12)):
                assert is_cut_off(mesh, polygon, first + i, x, y, width) == (widest < width)
                cut_off += int(widest < width)
            wide += int(np.isfinite(np.delete(widths[i], i)).sum())
    assert wide > 50
    assert cut_off > 50


def test_the_distance_to_walls_agrees_with_reference_up_to_its_limit(small_mesh):
    mesh, _ = small_mesh
    flood = make_flood(mesh.polygon_count)
    points, _ = free_points(random_ground(12), 0.0, 60, np.random.default_rng(2))
    for (x, y), polygon in zip(points, located(mesh, points)):
        for limit in (0.2, 5.0):
            expected = twin.wall_distance(mesh, 0, x, y, limit)
            assert wall_distance(mesh, polygon, x, y, limit, flood) == pytest.approx(expected, abs=1e-12)
            assert (flood.nearest[0] < 0) == (expected == limit)
            if expected < limit:
                assert twin.distance_to_segment(
                    x, y, *twin.edge_ends(mesh, flood.nearest[0])
                ) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("place", [0, 1, 7, 2**32 - 1, None])
def test_floods_need_nothing_cleared(small_mesh, place):
    """Whatever the scratch has in it: nothing, what a flood left, or what memory held before."""
    mesh, _ = small_mesh
    rng, clean = np.random.default_rng(4), make_flood(mesh.polygon_count)
    points, _ = free_points(random_ground(12), 0.0, 60, np.random.default_rng(2))
    for (x, y), polygon in zip(points, located(mesh, points)):
        used = make_flood(mesh.polygon_count)
        used.queue[:] = rng.integers(0, mesh.polygon_count, mesh.polygon_count)
        used.place[:] = rng.integers(0, mesh.polygon_count, mesh.polygon_count) if place is None else place
        for limit in (5.0, 0.2, 5.0):
            expected = wall_distance(mesh, polygon, x, y, limit, clean)
            assert wall_distance(mesh, polygon, x, y, limit, used) == expected
            assert used.nearest[0] == clean.nearest[0]


def test_sight_and_paths_out_of_polygons_agree_with_reference(small_mesh):
    mesh, _ = small_mesh
    ground = random_ground(12)
    shapely.prepare(ground)
    points, _ = free_points(ground, 0.0, 80, np.random.default_rng(3))
    polygon = located(mesh, points)
    seen = 0
    for i, (x, y) in enumerate(points):
        for tx, ty in points[i + 1 : i + 9]:
            edge, share = find_exit(mesh, polygon[i], x, y, tx, ty)
            expected = twin.path_out(mesh, polygon[i], x, y, tx, ty)
            assert (edge in expected) if expected else edge == -1
            if edge >= 0:
                cut = (x + share * (tx - x), y + share * (ty - y))
                assert twin.distance_to_segment(*cut, *twin.edge_ends(mesh, edge)) <= 1e-9
            sees = twin.is_in_sight(ground, x, y, tx, ty)
            assert is_in_sight(mesh, polygon[i], x, y, tx, ty, 0) == sees
            assert not is_in_sight(mesh, polygon[i], x, y, tx, ty, 1)
            seen += sees
    assert 50 < seen < 500


def test_walls_of_the_floor_above_are_not_near():
    # Two floors of 4 x 4 m, one above the other; above, a wall crosses the middle.
    below, above = [(0, 0), (4, 0), (4, 4), (0, 4)], [(0, 0), (2, 0), (2, 4), (0, 4)]
    vertices = np.array([(x, y, 0.0) for x, y in below] + [(x, y, 3.0) for x, y in above])
    mesh, walls = mesh_from_polygons(
        vertices, [[0, 1, 2, 3], [4, 5, 6, 7]], layers=np.array([0, 1], dtype=np.int32)
    )
    flood = make_flood(2)
    assert wall_distance(mesh, 0, 1.9, 2.0, 9.0, flood) == pytest.approx(1.9)
    assert wall_distance(mesh, 1, 1.9, 2.0, 9.0, flood) == pytest.approx(0.1)
    assert [located(mesh, np.array([[1.0, 1.0]]), layer)[0] for layer in (-1, 0, 1, 2)] == [0, 0, 1, -1]
    assert [set(walls.zone_wall[walls.zone_start[z] : walls.zone_start[z + 1]]) for z in (0, 1)] == [
        {0, 1, 2, 3},
        {4, 5, 6, 7},
    ]
    assert walls.layer.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_wall_lists_agree_with_reference(small_mesh):
    mesh, walls = small_mesh
    for zone in range(0, mesh.polygon_count, 5):
        listed = walls.zone_wall[walls.zone_start[zone] : walls.zone_start[zone + 1]].tolist()
        assert listed == sorted(twin.wall_list(mesh, zone, 1.5))


def test_open_edges_are_those_of_the_ground_that_have_no_wall_and_are_listed_where_they_are_near():
    ground, exits = (
        random_ground(12),
        shapely.union_all([shapely.box(-1.0, 2.0, 0.5, 9.0), shapely.box(4.0, 11.5, 7.0, 13.0)]),
    )
    mesh = build_mesh(ground, openings=exits, wall_reach=1.5).mesh
    edges, length = list_open_edges(mesh, 1.0), 0.0
    for number, edge in enumerate(np.flatnonzero((mesh.edge_twin < 0) & (mesh.edge_wall < 0)).tolist()):
        listed = [
            zone
            for zone in range(mesh.polygon_count)
            if number in edges.zone_wall[edges.zone_start[zone] : edges.zone_start[zone + 1]]
        ]
        assert set(listed) == twin.zones_near(mesh, edge, 1.0)
        assert (*edges.start[number], *edges.end[number]) == twin.edge_ends(mesh, edge)
        length += np.hypot(*(edges.end[number] - edges.start[number]))
    assert number > 0 and length == pytest.approx(ground.boundary.intersection(exits).length)
    assert len(list_open_edges(build_mesh(ground, wall_reach=1.5).mesh, 1.0).start) == 0


def test_cells_list_every_polygon_that_comes_near_them_and_no_others(small_mesh):
    mesh, _ = small_mesh
    columns, rows = mesh.bin_shape
    polygons = outlines(mesh)
    for cell in range(columns * rows):
        low = mesh.bin_origin + mesh.bin_size * np.array([cell % columns, cell // columns])
        listed = set(mesh.bin_polygon[mesh.bin_start[cell] : mesh.bin_start[cell + 1]].tolist())
        apart = shapely.distance(shapely.box(*low, *(low + mesh.bin_size)), polygons)
        assert (
            set(np.flatnonzero(apart <= 0.99e-6).tolist())
            <= listed
            <= set(np.flatnonzero(apart <= 4e-6).tolist())
        )


def test_walls_run_on_over_the_vertices_that_gaps_put_into_them():
    needle = shapely.Polygon([(5.0, 0.3), (5.02, 4.0), (4.98, 4.0)])
    build = build_mesh(shapely.box(0.0, 0.0, 10.0, 5.0).difference(needle))
    assert len(build.walls.start) == 7 < int(np.sum(build.mesh.edge_wall >= 0))
    floor = np.flatnonzero(
        (build.walls.start == (0.0, 0.0)).all(axis=1) & (build.walls.end == (10.0, 0.0)).all(axis=1)
    )
    assert len(floor) == 1 and not build.walls.is_corner[floor[0]]
    assert build.walls.is_corner.sum() == 3  # the needle's
    assert np.array_equal(build.walls.previous[build.walls.next], np.arange(7))


def test_walls_are_joined_without_work_for_the_garbage_collector(monkeypatch):
    """A list for every edge made it look at young objects every 350 edges,
    and now and then at all that the process has, in the middle of a tick.
    """
    make, looked, edges = build.make_walls, [], []

    def watched(*arguments):
        gc.callbacks.append(note)
        try:
            return make(*arguments)
        finally:
            gc.callbacks.remove(note)
            edges.append(len(arguments[2]))

    def note(phase, info):
        looked.append((phase, info))

    monkeypatch.setattr(build, "make_walls", watched)
    build_mesh(pillar_hall(18))
    # one at most: it may have been near
    assert len(edges) == 1 and edges[0] > 3000 and len(looked) <= 2, looked
