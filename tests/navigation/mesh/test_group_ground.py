"""The ground of a group: what it bars is parted from the rest, and left by the shortest path."""

import numpy as np
import pytest
import shapely

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.mesh.group_ground import GroupGround
from crowdsim.setup.group_ground import middles_of
from tests.navigation.worlds import located

LAWN = shapely.box(6, 3, 14, 9)
POND = shapely.box(16, 2, 18, 6)


def grounds(lawn_price=1.0):
    """Return a hall with a lawn that is barred, and a pond that is dear."""
    hall = shapely.box(0, 0, 24, 12).difference(shapely.box(9, 5, 10, 7))
    terrain = [Terrain("lawn", LAWN, 1.0, "lawn"), Terrain("pond", POND, 0.5, "pond", has_price=True)]
    mesh = build_mesh(hall, terrain=terrain, parameters=MeshParameters(terrain_cell=2.0)).mesh
    middle = shapely.points(middles_of(mesh))
    price = np.where(shapely.contains(POND, middle), 4.0, lawn_price)
    return mesh, GroupGround(mesh, shapely.contains(LAWN, middle), price)


def test_no_portal_leads_between_barred_ground_and_the_rest_and_all_others_stay():
    mesh, own = grounds()
    twin = mesh.edge_twin
    side = own.barred[mesh.edge_polygon]
    over = (twin >= 0) & (side != side[np.maximum(twin, 0)])
    assert over.sum() > 8 and own.barred.any() and not own.barred.all()
    np.testing.assert_array_equal(own.mesh.edge_twin, np.where(over, -1, twin))
    np.testing.assert_array_equal(own.mesh.edge_width[over], 0.0)
    np.testing.assert_array_equal(own.mesh.edge_width[~over], mesh.edge_width[~over])
    # parts are those of the polygons that portals join
    for polygon in range(mesh.polygon_count):
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            if own.mesh.edge_twin[edge] >= 0:
                beyond = mesh.edge_polygon[own.mesh.edge_twin[edge]]
                assert own.mesh.polygon_part[polygon] == own.mesh.polygon_part[beyond]
    assert len(np.unique(own.mesh.polygon_part)) == 2


def test_every_polygon_of_the_mesh_lies_on_one_kind_of_ground():
    mesh, _ = grounds()
    for polygon in range(mesh.polygon_count):
        edges = slice(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1])
        shape = shapely.Polygon(mesh.vertex[mesh.edge_vertex[edges], :2])
        for area in (LAWN, POND):
            common = shapely.area(shapely.intersection(shape, area))
            assert min(common, shape.area - common) < 1e-3 * shape.area


def test_prices_divide_speeds_of_searches_alone():
    mesh, own = grounds(lawn_price=3.0)
    pond = mesh.polygon_pace[:, 0] == 0.5
    assert pond.any()
    np.testing.assert_allclose(own.mesh.polygon_pace[pond], 0.125)
    np.testing.assert_allclose(own.mesh.polygon_pace[~pond], 1.0 / 3.0)
    assert own.whole is mesh and np.all(mesh.polygon_pace[~pond] == 1.0)


def test_barred_ground_is_left_by_the_shortest_path_over_middles_of_edges():
    mesh, own = grounds()
    rng = np.random.default_rng(2)
    place = np.column_stack([rng.uniform(6.1, 13.9, 60), rng.uniform(3.1, 8.9, 60)])
    place = place[~shapely.contains_xy(shapely.box(9, 5, 10, 7), *place.T)]
    polygon = located(mesh, place)
    begin, under, trails = own.walks_off(place, polygon)
    assert set(trails) == set(range(len(place))) and not own.barred[under].any()
    of_edge = _lengths_out(mesh, own.barred)
    for row, trail in trails.items():
        here = polygon[row]
        for edge in trail:
            assert mesh.edge_polygon[edge] == here and own.barred[here]
            here = mesh.edge_polygon[mesh.edge_twin[edge]]
        assert here == under[row]
        parts = np.diff(mesh.portal_point[trail], axis=0)
        assert np.hypot(*parts.T).sum() == pytest.approx(of_edge[trail[0]])
        best = min(
            of_edge[edge] + _to_inner_half(mesh, edge, place[row])
            for edge in range(mesh.polygon_start[polygon[row]], mesh.polygon_start[polygon[row] + 1])
        )
        assert of_edge[trail[0]] + _to_inner_half(mesh, trail[0], place[row]) == pytest.approx(best)
        edges = mesh.vertex[[mesh.edge_vertex[trail[-1]], mesh.edge_end[trail[-1]]], :2]
        assert shapely.LineString(edges).distance(shapely.Point(begin[row])) < 0.06
        assert located(mesh, begin[[row]])[0] == under[row]


def _lengths_out(mesh, barred):
    """Return how long the shortest path off barred ground from the middle of each edge on is, leaving by it:
    by trying until nothing becomes shorter.
    """
    of_edge = np.full(mesh.edge_count, np.inf)
    for edge in range(mesh.edge_count):
        twin = mesh.edge_twin[edge]
        if twin >= 0 and barred[mesh.edge_polygon[edge]] and not barred[mesh.edge_polygon[twin]]:
            of_edge[edge] = 0.0
    for _ in range(mesh.polygon_count):
        before = of_edge.copy()
        for edge in range(mesh.edge_count):
            twin = mesh.edge_twin[edge]
            if twin < 0 or not barred[mesh.edge_polygon[edge]] or not barred[mesh.edge_polygon[twin]]:
                continue
            beyond = mesh.edge_polygon[twin]
            for out in range(mesh.polygon_start[beyond], mesh.polygon_start[beyond + 1]):
                step = np.hypot(*(mesh.portal_point[edge] - mesh.portal_point[out]))
                of_edge[edge] = min(of_edge[edge], step + of_edge[out])
        if np.array_equal(before, of_edge):
            break
    return of_edge


def _to_inner_half(mesh, edge, place):
    """Return how far a place is from the middle half of an edge."""
    a, b = mesh.vertex[[mesh.edge_vertex[edge], mesh.edge_end[edge]], :2]
    half = shapely.LineString([a + 0.25 * (b - a), a + 0.75 * (b - a)])
    return half.distance(shapely.Point(place))


def test_an_agent_elsewhere_begins_where_it_is():
    mesh, own = grounds()
    place = np.array([[1.0, 1.0], [20.0, 11.0]])
    polygon = located(mesh, place)
    begin, under, trails = own.walks_off(place, polygon)
    np.testing.assert_array_equal(begin, place)
    np.testing.assert_array_equal(under, polygon)
    assert trails == {}
