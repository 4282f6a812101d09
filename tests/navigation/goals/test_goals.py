"""Goals of all shapes become convex pieces of the mesh, and agents head for
places in them where they can be.
"""

import itertools

import numpy as np
import pytest
import shapely

from crowdsim.navigation.goals.goals import (
    GoalShape,
    arrived_many,
    arrived_piece,
    cut_goals,
    nearest_in_piece,
    target_in_piece,
)
from crowdsim.navigation.mesh.build import build_mesh, mesh_from_polygons
from crowdsim.navigation.mesh.mesh import are_parted, make_flood, wall_distance
from crowdsim.navigation.search.slot_fields import FOUND, UNREACHABLE
from crowdsim.navigation.tiles.make import build_tiles
from tests.crowds import simulation
from tests.navigation.walkers import Walkers
from tests.navigation.worlds import OnePlanner, free_points, located, outlines, random_ground, rooms
from tests.reference import goals as twin

RING = shapely.Point(6, 6).buffer(4).difference(shapely.Point(6, 6).buffer(3))
HORSESHOE = shapely.Polygon([(2, 2), (10, 2), (10, 10), (8, 10), (8, 4), (4, 4), (4, 10), (2, 10)])
SHAPES = {
    "a box": shapely.box(3, 3, 9, 8),
    "a horseshoe": HORSESHOE,
    "a ring": RING,
    "two boxes": shapely.union_all([shapely.box(1, 1, 3, 3), shapely.box(8, 8, 9, 11)]),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("make, seed", [(random_ground, 3), (random_ground, 12), (rooms, 1)])
def test_regions_are_cut_into_convex_pieces_that_cover_them(name, make, seed):
    ground = make(seed)
    mesh = build_mesh(ground).mesh
    goals = cut_goals(mesh, [GoalShape(SHAPES[name])])
    shapes = [twin.shape_of(goals, piece) for piece in twin.pieces_of(goals, 0)]
    polygons = outlines(mesh)
    assert sum(shape.area for shape in shapes) == pytest.approx(
        shapely.intersection(shapely.set_precision(ground, 0.0), SHAPES[name]).area, abs=1e-7
    )
    assert np.all(np.diff(goals.piece_polygon) >= 0) and len(shapes) > 3
    for shape, polygon in zip(shapes, goals.piece_polygon):
        assert shape.exterior.is_ccw
        assert shape.area == pytest.approx(shape.convex_hull.area, rel=1e-9)
        assert shapely.difference(shape, polygons[polygon]).area <= 1e-9


@pytest.mark.parametrize("tile", [0.0, 1.3])
def test_a_region_has_pieces_of_all_polygons_that_it_meets_wherever_it_lies(tile):
    ground = random_ground(3)
    mesh = build_tiles(ground, tile)[0].mesh if tile else build_mesh(ground).mesh
    polygons = outlines(mesh)
    places = np.random.default_rng(5).uniform(-4.0, 16.0, (40, 2))
    sizes = np.resize([0.01, 0.5, 3.0, 40.0], 40)
    some = [shapely.box(x - size, y - size, x + size, y + size) for (x, y), size in zip(places, sizes)]
    goals = cut_goals(mesh, [GoalShape(shape) for shape in some])
    empty = 0
    for number, shape in enumerate(some):
        area = shapely.area(shapely.intersection(np.array(polygons, dtype=object), shape))
        mine = goals.piece_polygon[goals.goal_start[number] : goals.goal_start[number + 1]]
        assert set(np.flatnonzero(area > 1e-4)) <= set(mine.tolist()) <= set(np.flatnonzero(area > 0.0))
        empty += len(mine) == 0
    assert 3 < empty < 30


@pytest.mark.sample(1)
@pytest.mark.parametrize("make, seed", [(random_ground, 12), (rooms, 1)])
@pytest.mark.parametrize("tile", [0.0, 1.3])
def test_the_pole_of_a_piece_is_as_far_from_walls_as_anything_on_its_rim_and_about_as_far_as_anything_inside(
    make, seed, tile
):
    ground = make(seed)
    mesh = build_tiles(ground, tile)[0].mesh if tile else build_mesh(ground).mesh
    goals = cut_goals(mesh, [GoalShape(SHAPES["a box"])])
    flood = make_flood(mesh.polygon_count)
    bettered = 0
    for piece in twin.pieces_of(goals, 0):
        shape, pole = twin.shape_of(goals, piece), goals.pole[piece]
        assert shape.distance(shapely.Point(pole)) <= 1e-9
        assert goals.clearance[piece] == pytest.approx(
            wall_distance(mesh, goals.piece_polygon[piece], *pole, 20.0, flood), abs=1e-12
        )
        points = np.random.default_rng(piece).uniform(shape.bounds[:2], shape.bounds[2:], (300, 2))
        points = points[shapely.contains_xy(shape, points[:, 0], points[:, 1])]
        best = shapely.distance(ground.boundary, shapely.points(points)).max(initial=0.0)
        assert goals.clearance[piece] >= best - 0.05 * shape.length
        on_rim = twin.room_on_rim(ground, shape)
        assert goals.clearance[piece] >= on_rim - 1e-7
        bettered += goals.clearance[piece] <= on_rim + 1e-7
    assert bettered > 3  # pieces of which the rim has the most room


def test_a_piece_that_an_agent_fits_in_one_corner_of_counts_as_wide_enough():
    """The rest of it lies between a wall and a column, and no point of a lattice is as good as the corner."""
    ground = shapely.Polygon([(0, 0), (4, 0), (4, 6), (0, 6)]) - shapely.Polygon(
        [(1.01, 2.2), (2, 2.2), (2, 0.5), (0.9, 0.5)]
    )
    region = shapely.box(0.2, 1.0, 0.95, 2.28)
    mesh = build_mesh(ground).mesh
    goals = cut_goals(mesh, [GoalShape(region)])
    assert goals.clearance.max() == pytest.approx(twin.room_on_rim(ground, region), abs=1e-7)


def test_the_nearest_points_of_pieces_agree_with_reference():
    mesh = build_mesh(random_ground(12)).mesh
    goals = cut_goals(mesh, [GoalShape(HORSESHOE), GoalShape(shapely.Point(0.7, 0.9))])
    rng = np.random.default_rng(0)
    for piece in range(len(goals.piece_polygon)):
        for x, y in rng.uniform(0.0, 12.0, (6, 2)):
            nearest = nearest_in_piece(goals, piece, x, y)
            expected = twin.nearest_in_piece(goals, piece, x, y)
            assert np.hypot(nearest[0] - x, nearest[1] - y) == pytest.approx(
                np.hypot(expected[0] - x, expected[1] - y), abs=1e-9
            )
            assert twin.shape_of(goals, piece).distance(shapely.Point(nearest)) <= 1e-9


@pytest.mark.parametrize("radius", [0.1, 0.3])
def test_agents_head_for_a_place_in_the_piece_where_they_fit(radius):
    ground = random_ground(12)
    mesh = build_mesh(ground).mesh
    goals = cut_goals(mesh, [GoalShape(HORSESHOE)])
    flood = make_flood(mesh.polygon_count)
    rng = np.random.default_rng(0)
    checked = 0
    for piece in np.flatnonzero(goals.clearance >= radius):
        for x, y in rng.uniform(0.0, 12.0, (3, 2)):
            tx, ty = target_in_piece(mesh, goals, piece, x, y, radius, flood)
            assert twin.shape_of(goals, piece).distance(shapely.Point(tx, ty)) <= 1e-9
            assert ground.boundary.distance(shapely.Point(tx, ty)) >= radius - 1e-9
            # Of the sides that look towards the agent no point is nearer where it fits, unless a gap that is
            # too narrow parts that point from the pole.
            for a, b in itertools.pairwise(shapely.get_coordinates(twin.shape_of(goals, piece).exterior)):
                if (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]) >= 0.0:
                    continue
                others = a + np.linspace(0.0, 1.0, 200)[:, None] * (b - a)
                fits = shapely.distance(ground.boundary, shapely.points(others)) >= radius + 1e-6
                is_nearer = np.hypot(*(others - (x, y)).T) < np.hypot(tx - x, ty - y) - 1e-6
                for px, py in others[fits & is_nearer]:
                    assert are_parted(
                        mesh, goals.piece_polygon[piece], px, py, *goals.pole[piece], 2.0 * radius
                    )
                checked += 1
    assert checked > 30


def test_where_nothing_is_in_the_way_the_target_is_the_nearest_point():
    mesh = build_mesh(shapely.box(0, 0, 20, 20)).mesh
    goals = cut_goals(mesh, [GoalShape(shapely.box(12, 5, 15, 15))])
    flood = make_flood(mesh.polygon_count)
    targets = [
        target_in_piece(mesh, goals, piece, 3.0, 10.0, 0.4, flood) for piece in twin.pieces_of(goals, 0)
    ]
    assert min(np.hypot(x - 3.0, y - 10.0) for x, y in targets) == pytest.approx(9.0)


def test_arrivals_agree_with_reference():
    ground = random_ground(12)
    mesh = build_mesh(ground).mesh
    points, _ = free_points(ground, 0.2, 400, np.random.default_rng(1))
    shapes = [
        GoalShape(shapely.Point(points[0]), reach=1.5),
        GoalShape(HORSESHOE),
        GoalShape(None, parts=(0, 1)),
        GoalShape(shapely.Point(99, 99), reach=1.0),
    ]
    goals = cut_goals(mesh, shapes)
    polygon, out = located(mesh, points), np.empty(len(points), dtype=np.int32)
    arrived = 0
    for goal in range(4):
        wants = (np.arange(len(points)) % 5 > 0).astype(np.uint8)
        found = arrived_many(
            0,
            len(points),
            mesh,
            goals,
            np.full(len(points), goal, dtype=np.int32),
            polygon,
            wants,
            points,
            out,
        )
        for row, (x, y) in enumerate(points):
            expected = twin.arrived_pieces(ground, goals, goal, polygon[row], x, y) if wants[row] else []
            assert (out[row] in expected) if expected else out[row] == -1
            if wants[row]:
                assert arrived_piece(mesh, goals, goal, polygon[row], x, y) == out[row]
        assert found == np.sum(out >= 0)
        arrived += found
    assert arrived > 50


@pytest.mark.parametrize("shift", [0.0, 5e5])
def test_of_few_agents_and_of_many_the_same_have_arrived(shift):
    """Those on the very rim of goals and as far from points as they reach, too: of many agents those that are
    far from their goals are told by a box.
    """
    ground, region = (
        shapely.affinity.translate(each, shift, shift) for each in (random_ground(12), HORSESHOE)
    )
    mesh = build_mesh(ground).mesh
    rng = np.random.default_rng(2)
    middle = free_points(ground, 0.2, 1, rng)[0][0]
    shapes = [GoalShape(shapely.Point(middle), reach=1.5), GoalShape(region), GoalShape(None, parts=(0, 1))]
    goals = cut_goals(mesh, shapes)
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    ring = middle + 1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    corners = np.repeat(goals.vertex, 50, axis=0) + rng.choice(
        [0.0, 1e-8, -1e-8, 1e-6, -1e-6, 0.2, -0.2],
        (
            50 * len(goals.vertex),
            2,
        ),
    )
    points = np.concatenate([ring, corners])
    polygon = located(mesh, points)
    points, polygon = points[polygon >= 0], polygon[polygon >= 0]
    n, out = len(points), np.empty(len(points), dtype=np.int32)
    for goal in range(len(shapes)):
        given = (
            mesh,
            goals,
            np.full(n, goal, dtype=np.int32),
            polygon,
            np.ones(n, dtype=np.uint8),
            points,
            out,
        )
        found = arrived_many(0, n, *given)
        alone = [arrived_piece(mesh, goals, goal, polygon[row], *points[row]) for row in range(n)]
        assert out.tolist() == alone and found == np.count_nonzero(out >= 0)
        assert sum(arrived_many(row, row + 1, *given) for row in range(n)) == found
        assert out.tolist() == alone
        assert 50 < found < n - 50


@pytest.mark.parametrize("shift", [0.0, 5e5])
def test_an_agent_on_the_rim_of_a_region_has_arrived_on_either_side_of_the_portal(shift):
    ground, exit_ = (
        shapely.affinity.translate(shape, shift, shift)
        for shape in (shapely.box(0, 0, 20, 8) - shapely.box(9, 0, 9.4, 5), shapely.box(19, 0, 20, 8))
    )
    mesh = build_mesh(ground, openings=exit_).mesh
    goals = cut_goals(mesh, [GoalShape(exit_)])
    (there,) = goals.piece_polygon.tolist()
    before = int(located(mesh, np.array([[shift + 18.9, shift + 4.0]]))[0])
    assert there != before
    for x, polygon, has_arrived in (
        (19.0, before, True),
        (19.0, there, True),
        (18.999, before, False),
        (19.001, there, True),
    ):
        assert (arrived_piece(mesh, goals, 0, polygon, shift + x, shift + 7.0) >= 0) == has_arrived, x


def test_no_agent_stops_for_ever_on_the_rim_of_an_exit():
    """Steps of 6.25 cm lead exactly to it."""
    document = {
        "version": 1,
        "name": "rim",
        "tick": 0.05,
        "stop": {"after": 30},
        "avoidance": "none",
        "geometry": {"walkable": {"box": [0, 0, 20, 8]}, "obstacles": [{"box": [9, 0, 9.4, 5]}]},
        "goals": {"out": {"exit": {"box": [19, 0, 20, 8]}}},
        "groups": [
            {
                "name": "walker",
                "agents": [{"position": [3, 7], "speed": 1.25, "radius": 0.2}],
                "goals": ["out"],
            }
        ],
    }
    with simulation(document) as run:
        assert run.run().last_arrival_s == pytest.approx(12.85, abs=0.051)


def test_no_agent_arrives_at_a_point_through_a_wall_or_round_a_corner():
    ground = shapely.box(0, 0, 10, 10).difference(shapely.box(5, 0, 5.1, 8))
    mesh = build_mesh(ground).mesh
    goals = cut_goals(mesh, [GoalShape(shapely.Point(4.8, 7.9), reach=0.6)])
    for place, has_arrived in (
        ((5.3, 7.9), False),
        ((5.2, 7.95), False),
        ((5.15, 8.05), False),
        ((4.9, 8.3), True),
        ((4.8, 7.4), True),
        ((4.3, 7.9), True),
    ):
        polygon = int(located(mesh, np.array([place]))[0])
        assert (arrived_piece(mesh, goals, 0, polygon, *place) >= 0) == has_arrived, place


def test_no_agent_arrives_from_the_floor_above():
    corners = [(0, 0), (4, 0), (4, 4), (0, 4)]
    vertices = np.array([(x, y, z) for z in (0.0, 3.0) for x, y in corners])
    mesh, _ = mesh_from_polygons(
        vertices, [[0, 1, 2, 3], [4, 5, 6, 7]], layers=np.array([0, 1], dtype=np.int32)
    )
    goals = cut_goals(mesh, [GoalShape(shapely.Point(2, 2), reach=0.5, layer=1)])
    assert [arrived_piece(mesh, goals, 0, polygon, 2.2, 2.0) for polygon in (0, 1)] == [-1, 0]


def test_the_nearest_of_several_goals_is_found_with_where_it_came_from():
    planner = OnePlanner.on(shapely.box(0, 0, 40, 4).difference(shapely.box(10, 0, 10.1, 3)))
    shapes = [
        GoalShape(shapely.Point(1, 1), reach=0.3),
        GoalShape(shapely.box(30, 0, 31, 4)),
        GoalShape(None, parts=(0, 1)),
    ]
    goals = cut_goals(planner.mesh, shapes)
    for x, expected in ((3.0, 0), (25.0, 1), (38.0, 1), (12.0, 0)):
        assert planner.search((x, 1.0), goals, 0.2, goal=2) == FOUND
        _, piece = planner.corridor()
        assert goals.piece_source[piece] == expected
    assert (
        planner.search((12.0, 1.0), goals, 0.6, goal=2) == FOUND
        and goals.piece_source[planner.corridor()[1]] == 1
    )
    assert planner.search((12.0, 1.0), goals, 0.6, goal=0) == UNREACHABLE


def test_an_agent_wider_than_the_strip_of_an_exit_is_deep_walks_into_it():
    room, strip = shapely.box(0, 0, 10, 10), shapely.box(9.9, 4, 10, 6)
    build = build_mesh(room, openings=strip)
    mesh, walls = build.mesh, shapely.multilinestrings(np.stack([build.walls.start, build.walls.end], axis=1))
    for radius in (0.2, 0.5, 0.9):
        walkers = Walkers(mesh, np.array([[3.0, 2.0], [8.0, 9.0], [9.0, 5.0]]), radius)
        lengths = walkers.head_for(strip, reach=0.0)
        assert np.isfinite(lengths).all()
        for _ in range(160):
            walkers.steer()
            walkers.walk(walkers.position + walkers.velocity * 0.05)
        assert [
            arrived_piece(mesh, walkers.goals, 0, p, x, y) >= 0
            for p, (x, y) in zip(walkers.polygon, walkers.position)
        ] == [True] * 3
        assert shapely.distance(walls, shapely.points(walkers.position)).min() >= radius - 1e-6
    assert not np.isfinite(Walkers(mesh, np.array([[5.0, 5.0]]), 1.1).head_for(strip, reach=0.0)).any()


def test_the_boundary_in_an_opening_is_no_wall():
    build = build_mesh(shapely.box(0, 0, 10, 10), openings=shapely.box(9.9, 4, 10, 6))
    flood = make_flood(build.mesh.polygon_count)
    polygon = located(build.mesh, np.array([[9.95, 5.0]]))[0]
    assert wall_distance(build.mesh, polygon, 9.95, 5.0, 5.0, flood) == pytest.approx(np.hypot(1.0, 0.05))
    assert np.sum(build.walls.next == -1) == np.sum(build.walls.previous == -1) == 1


@pytest.mark.parametrize("goal", [(9.95, 5.0), (0.01, 0.01), (5.0, 4.001)])
def test_a_point_nearer_to_a_wall_than_the_radius_is_approached_as_far_as_can_be(goal):
    ground = shapely.box(0, 0, 10, 10).difference(shapely.box(4, 3, 6, 4))
    walkers = Walkers(build_mesh(ground).mesh, np.array([[2.0, 8.0], [8.0, 2.0]]), 0.3)
    assert np.isfinite(walkers.head_for(shapely.Point(goal), reach=0.5)).all()
    for _ in range(300):
        walkers.steer()
        walkers.walk(walkers.position + walkers.velocity * 0.05)
        assert shapely.distance(ground.boundary, shapely.points(walkers.position)).min() >= 0.3 - 1e-6
    assert np.hypot(*(walkers.position - goal).T).max() <= 0.5


def test_goals_off_the_mesh_have_no_pieces():
    mesh = build_mesh(shapely.box(0, 0, 4, 4)).mesh
    goals = cut_goals(
        mesh,
        [
            GoalShape(shapely.Point(9, 9)),
            GoalShape(shapely.box(5, 5, 6, 6)),
            GoalShape(None, parts=(0, 1)),
            GoalShape(shapely.box(4, 0, 5, 4)),
        ],
    )
    # no agent can stand in a region that only touches the ground
    assert goals.goal_start.tolist() == [0, 0, 0, 0, 0]
