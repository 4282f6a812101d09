"""The points-of-visibility graph: corners, which see each other, which edges are left,
and for which widths ([Norberg 2004], section 4, figures 7 to 11).
"""

import itertools

import numpy as np
import pytest
import shapely

from crowdsim.errors import NavigationError
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.visibility.corners import find_corners
from crowdsim.navigation.visibility.graph import build_graph
from crowdsim.navigation.visibility.sight import see_all, trace_sight
from crowdsim.navigation.visibility.tangents import bending_radii, measure_clearances
from tests.navigation.worlds import free_points, located, pillar_hall, random_ground, rooms
from tests.reference import visibility as reference

GROUNDS = [*(random_ground(seed) for seed in range(4)), rooms(2, 3)]


def corner_at(corners, x, y):
    """Return the corner at a point."""
    (found,) = np.flatnonzero((np.abs(corners.position - (x, y)) < 1e-9).all(axis=1))
    return int(found)


def edges_between(graph, first, second):
    """Return the edges between two corners as {(side, side): (low, high, clear)}; 1 is left."""
    found = {}
    for a, b in itertools.product((0, 1), (0, 1)):
        for edge in range(graph.edge_start[2 * first + a], graph.edge_start[2 * first + a + 1]):
            if graph.edge_target[edge] == 2 * second + b:
                found[1 - 2 * a, 1 - 2 * b] = tuple(
                    float(v[edge]) for v in (graph.edge_low, graph.edge_high, graph.edge_clear)
                )
    return found


def test_a_pillar_has_four_corners_and_a_plain_room_none():
    assert len(find_corners(build_mesh(shapely.box(0, 0, 10, 10)).mesh).vertex) == 0
    corners = find_corners(build_mesh(shapely.box(0, 0, 10, 10) - shapely.box(4, 4, 6, 6)).mesh)
    assert sorted(map(tuple, corners.position.tolist())) == [(4, 4), (4, 6), (6, 4), (6, 6)]


@pytest.mark.parametrize("ground", GROUNDS)
def test_corners_are_the_concave_vertices_of_the_ground(ground):
    found = find_corners(build_mesh(ground).mesh)
    expected = reference.concave_corners(ground)
    # Feet on slanted walls are off their line by rounding, so that some are corners of some 1e-16 radians.
    turn = found.wall[:, 0] * found.wall[:, 3] - found.wall[:, 1] * found.wall[:, 2]
    real = found.position[np.abs(turn) > 1e-6]
    assert np.array_equal(real[np.lexsort((real[:, 1], real[:, 0]))], expected)


def test_two_obstacles_that_touch_have_a_corner_on_either_side():
    ground = shapely.box(0, 0, 10, 10) - shapely.box(3, 3, 5, 5) - shapely.box(5, 5, 7, 7)
    corners = find_corners(build_mesh(ground).mesh)
    # the touching corners are no passage: 90 degrees of ground on either side
    assert len(corners.vertex) == 6
    spike = (
        shapely.box(0, 0, 10, 10)
        - shapely.Polygon([(2, 2), (5, 5), (2, 3)])
        - shapely.Polygon([(8, 8), (5, 5), (8, 7)])
    )
    corners = find_corners(build_mesh(spike).mesh)
    # less than 180 degrees on either side of the point where they touch
    assert (np.abs(corners.position - 5.0) < 1e-12).all(axis=1).sum() == 0


@pytest.mark.sample(1)
@pytest.mark.parametrize("ground", GROUNDS)
def test_corners_see_each_other_exactly_if_the_line_between_them_stays_on_the_ground(ground):
    mesh = build_mesh(ground).mesh
    corners = find_corners(mesh)
    seen = see_all(mesh, corners, 1 << 20)
    count = len(corners.vertex)
    sees = np.zeros((count, count), dtype=bool)
    sees[np.repeat(np.arange(count), np.diff(seen.pair_start)), seen.pair] = True
    pairs = np.array(list(itertools.combinations(range(count), 2)))
    lines = shapely.linestrings(corners.position[pairs])
    inside = shapely.covers(ground, lines)
    clear_miss = ~shapely.covers(shapely.buffer(ground, 1e-6), lines)
    found = sees[pairs[:, 0], pairs[:, 1]]
    assert not np.any(inside & ~found)
    assert not np.any(clear_miss & found)


def test_sight_follows_the_floor_and_goes_back_from_dead_ends_at_vertices_on_its_line():
    mesh = build_mesh(pillar_hall(4)).mesh
    corners = find_corners(mesh)
    crossed = np.zeros(4097, dtype=np.int32)
    # From pillar to pillar along the fronts of two others: every vertex between lies on the line.
    a, b = corner_at(corners, 1.5, 1.5), corner_at(corners, 5.5, 1.5)
    count, first, last = trace_sight(
        mesh, corners, a, -1, *corners.position[a], b, -1, *corners.position[b], crossed
    )
    assert count >= 0
    for edge in crossed[:count]:
        assert mesh.edge_polygon[edge] == first
        first = mesh.edge_polygon[mesh.edge_twin[edge]]
    assert first == last
    c = corner_at(corners, 5.5, 3.0)
    assert (
        trace_sight(mesh, corners, a, -1, *corners.position[a], c, -1, *corners.position[c], crossed)[0] == -1
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize("ground", GROUNDS)
def test_the_set_of_a_polygon_holds_every_corner_that_is_seen_from_anywhere_in_it(ground):
    mesh = build_mesh(ground).mesh
    graph, _ = build_graph(mesh)
    points, _ = free_points(ground, 0.0, 60, np.random.default_rng(1))
    for point, polygon in zip(points, located(mesh, points), strict=True):
        listed = set(graph.pvs[graph.pvs_start[polygon] : graph.pvs_start[polygon + 1]].tolist())
        lines = shapely.linestrings(
            np.stack([np.broadcast_to(point, graph.corners.position.shape), graph.corners.position], axis=1)
        )
        assert set(np.flatnonzero(shapely.covers(ground, lines)).tolist()) <= listed


def test_the_sets_of_rooms_hold_what_can_be_seen_through_their_doors_only():
    graph, size = build_graph(build_mesh(rooms(2, 6)).mesh)
    assert np.diff(graph.pvs_start).mean() < 0.25 * size.corners


def test_figure_8_an_edge_that_no_path_can_bend_along_for_any_radius_is_removed():
    # From (6, 6) the corner (8, 7) is outside both wall planes; a tangent would have to turn by 63 degrees,
    # and the slanted wall lets it turn by 37.
    ground = (
        shapely.box(0, 0, 16, 12)
        - shapely.box(3, 3, 6, 6)
        - shapely.Polygon([(8, 7), (12, 7), (12, 5), (7, 5)])
    )
    graph, size = build_graph(build_mesh(ground).mesh)
    first, second = corner_at(graph.corners, 6, 6), corner_at(graph.corners, 8, 7)
    seen = see_all(build_mesh(ground).mesh, graph.corners, 1 << 20)
    assert second in seen.pair[seen.pair_start[first] : seen.pair_start[first + 1]]
    assert edges_between(graph, first, second) == {}
    # figure 9: the graph with edges removed is smaller; before, each pair that sees each other was an edge
    assert size.edges < size.pairs


def test_figure_10_offsets_make_an_edge_valid_from_a_radius_on():
    # Corner against corner: points never bend from one to the other; from 1 m on the tangent has turned by
    # 45 degrees and runs along the walls.
    ground = shapely.box(0, 0, 14, 14) - shapely.box(2, 2, 6, 6) - shapely.box(8, 8, 12, 12)
    graph, _ = build_graph(build_mesh(ground).mesh)
    edges = edges_between(graph, corner_at(graph.corners, 6, 6), corner_at(graph.corners, 8, 8))
    assert set(edges) == {(1, -1), (-1, 1)}
    for low, high, clear in edges.values():
        assert low == pytest.approx(1.0)
        # half the distance between the corners: wider agents do not fit between them
        assert high == pytest.approx(np.sqrt(2.0))
        assert clear == pytest.approx(1.0)  # nothing else is near; widths are found up to 1 m


def test_figure_11_an_edge_beside_an_obstacle_has_a_greatest_radius():
    ground = (
        shapely.box(0, 0, 20, 10)
        - shapely.box(4, 0, 6, 4)
        - shapely.box(10, 0, 12, 4)
        - shapely.box(7.5, 4.8, 8.5, 6.0)
    )
    graph, _ = build_graph(build_mesh(ground).mesh)
    (widths,) = edges_between(graph, corner_at(graph.corners, 6, 4), corner_at(graph.corners, 10, 4)).values()
    assert widths == pytest.approx((0.0, 0.4, 0.4))


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(20))
def test_radii_of_a_tangent_are_those_for_which_an_agent_stands_in_no_wall(seed):
    rng = np.random.default_rng(seed)
    mesh = build_mesh(random_ground(seed)).mesh
    corners = find_corners(mesh)
    for _ in range(60):
        a, b = rng.choice(len(corners.vertex), 2, replace=False)
        length = float(np.hypot(*(corners.position[a] - corners.position[b])))
        walls = [corners.wall[c].reshape(2, 2) for c in (a, b)]
        for sides in itertools.product((1, -1), (1, -1)):
            low, high = bending_radii(corners, a, b, *sides)
            for radius in rng.uniform(0.0, 0.5 * length, 4):
                if min(abs(radius - low), abs(radius - high)) > 1e-6 * length:
                    assert (low <= radius <= high) == reference.bends(
                        walls, corners.position[a], corners.position[b], sides, radius
                    )


def test_edges_are_all_tangents_that_some_path_can_bend_along():
    for ground in (
        shapely.box(0, 0, 16, 12)
        - shapely.box(3, 3, 6, 6)
        - shapely.Polygon([(8, 7), (12, 7), (12, 5), (7, 5)]),
        rooms(2, 2),
    ):
        graph, _ = build_graph(build_mesh(ground).mesh)
        source = np.repeat(np.arange(len(graph.edge_start) - 1), np.diff(graph.edge_start))
        nodes = [
            (tuple(graph.corners.position[node // 2]), 1 - 2 * (node % 2))
            for node in range(len(graph.edge_start) - 1)
        ]
        found, long = set(), set()
        for edge, (a, b) in enumerate(zip(source, graph.edge_target, strict=True)):
            if nodes[a][0] < nodes[b][0]:
                found.add((nodes[a], nodes[b]))
                if nodes[a][1] == nodes[b][1] or graph.edge_high[edge] - graph.edge_low[
                    edge
                ] > 0.002 * np.hypot(*np.subtract(nodes[a][0], nodes[b][0])):
                    long.add((nodes[a], nodes[b]))
        assert long <= reference.tangents(ground) <= found and len(long) > 10


@pytest.mark.parametrize("ground", GROUNDS)
def test_clearances_of_corners_are_half_the_distance_to_the_nearest_wall_in_front(ground):
    corners = find_corners(build_mesh(ground).mesh)
    room = measure_clearances(build_mesh(ground).mesh, corners, 1.0)
    for position, walls, found in zip(corners.position, corners.wall, room, strict=True):
        expected = reference.room(ground, position, walls.reshape(2, 2), 1.0)
        assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("ground", GROUNDS)
def test_widths_of_edges_say_for_sure_what_is_free_and_what_is_not(ground):
    graph, _ = build_graph(build_mesh(ground).mesh)
    walls = ground.boundary
    rng = np.random.default_rng(0)
    source = np.repeat(np.arange(len(graph.edge_start) - 1), np.diff(graph.edge_start))
    for edge in rng.choice(graph.edge_count, 150):
        ends = [
            (*graph.corners.position[node // 2], 1.0 - 2.0 * (node % 2))
            for node in (source[edge], graph.edge_target[edge])
        ]
        low, high, clear = (float(v[edge]) for v in (graph.edge_low, graph.edge_high, graph.edge_clear))
        for radius, is_free in ((low + rng.random() * (clear - low), True), (1.01 * high + 1e-3, False)):
            if radius > 1.0 or (is_free and clear < low):
                continue
            line = reference._tangent(*((x, y, radius * side) for x, y, side in ends))
            if line is not None:
                distance = shapely.distance(shapely.LineString(line[:2]), walls)
                assert (distance >= radius - 1e-6) == is_free


def test_static_pruning_leaves_far_fewer_edges():
    for ground in (pillar_hall(6), rooms(1), random_ground(3)):
        _, size = build_graph(build_mesh(ground).mesh)
        assert size.edges < 0.35 * size.tangents
        assert size.edges < 1.2 * size.pairs  # of points alone, each pair would be an edge


def test_memory_is_that_of_the_edges_and_the_sets():
    graph, size = build_graph(build_mesh(rooms(1)).mesh)
    assert size.bytes < 2_000 + 400 * size.corners + 17 * graph.edge_count + 4 * len(graph.pvs) + 24 * len(
        graph.pvs_start
    ) + 4 * len(graph.corners.at_edge)


def test_too_large_a_graph_is_refused_before_it_is_made():
    with pytest.raises(
        NavigationError,
        match=r"more than 1,000 lines of sight between its 144 concave corners; use navigation: mesh",
    ):
        build_graph(build_mesh(pillar_hall(6)).mesh, most_edges=1000)
    with pytest.raises(
        NavigationError, match=r"more than 7,300 edges between its 144 concave corners; use navigation: mesh"
    ):
        build_graph(build_mesh(pillar_hall(6)).mesh, most_edges=7300)
