"""Paths over points of visibility: as short as can be for every radius, clear of walls,
found exactly where they exist ([Norberg 2004], figures 7, 12, 14, 15, 19, 20).
"""

import itertools

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goal_entry import next_clear_stretch
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh, mesh_from_polygons
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.search.slot_fields import FOUND, UNREACHABLE
from crowdsim.navigation.visibility.planner import VisibilityPlanner
from tests.navigation.sights import ALL, Sights, ask, counts
from tests.navigation.worlds import (
    UTM,
    free_points,
    located,
    pillar_hall,
    point_goals,
    random_ground,
    rooms,
    simple_polygon,
)
from tests.reference import visibility as reference

BEAM = (
    shapely.box(0, 0, 20, 10)
    - shapely.box(4, 0, 6, 4)
    - shapely.box(10, 0, 12, 4)
    - shapely.box(7.5, 4.8, 8.5, 6.0)
)


def pairs_of(ground, radius, count, seed=0):
    """Return starts, ends, and whether the eroded ground connects them."""
    points, part = free_points(ground, radius, 2 * count, np.random.default_rng(seed))
    half = len(points) // 2
    return points[:half], points[half : 2 * half], part[:half] == part[half : 2 * half]


def check_lengths(seed, radii):
    """Hold paths in a random world to the naive graph, for points to rounding,
    for agents to what the twin lets them touch.
    """
    ground = random_ground(seed)
    sights = Sights.on(ground)
    for radius in radii:
        starts, ends, _ = pairs_of(ground, radius, 3 if radius == 0.0 else 1, seed)
        if not len(starts):
            continue
        paths = sights.paths(starts, ends, radius)
        for start, end, cost in zip(starts, ends, paths.cost, strict=True):
            assert cost == pytest.approx(
                reference.shortest(ground, start, end, radius), rel=1e-9 if radius == 0.0 else 2e-6
            )


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(12))
def test_pruned_and_unpruned_graphs_give_the_same_lengths_for_each_radius(seed):
    check_lengths(seed, (0.0, (0.05, 0.15, 0.3, 0.5)[seed % 4]))


@pytest.mark.full
@pytest.mark.parametrize("block", range(12, 2024, 40))
def test_pruned_and_unpruned_graphs_give_the_same_lengths_in_thousands_of_worlds(block):
    for seed in range(block, min(block + 40, 2024)):
        check_lengths(seed, (0.0, 0.05, 0.15, 0.3, 0.5))


def check_existence(seed, radius):
    """Hold what is found to the eroded ground, and each path to its distance from the walls."""
    ground = (random_ground, rooms, simple_polygon)[seed % 3](seed)
    starts, ends, connected = pairs_of(ground, radius, 6, seed)
    if not len(starts):
        return
    sights = Sights.on(ground, cells=("polygons", "triangles")[seed % 2])
    paths = sights.paths(starts, ends, radius)
    assert np.array_equal(paths.status == FOUND, connected)
    assert set(paths.status[~connected].tolist()) <= {UNREACHABLE}
    # The string that steering pulls through the corridor is the path that was found, arcs and all.
    assert paths.strings()[connected] == pytest.approx(paths.cost[connected], rel=1e-9)
    mesh = sights.mesh
    at = located(mesh, starts)
    for row in np.flatnonzero(connected).tolist():
        polygon = at[row]
        for edge in paths.portals[row][::-1]:
            assert mesh.edge_polygon[edge] == polygon
            assert mesh.edge_width[edge] >= 2.0 * radius - 1e-6
            polygon = mesh.edge_polygon[mesh.edge_twin[edge]]
        assert polygon == paths.planner.terrain.goals.piece_polygon[paths.piece[row]]
    row = int(np.flatnonzero(connected)[-1]) if connected.any() else -1
    if row >= 0:
        alone = sights.paths(starts[row : row + 1], ends[row : row + 1], radius)
        assert alone.cost[0] == paths.cost[row]
        line = shapely.LineString(alone.line(0, ends[row]))
        assert line.length == pytest.approx(paths.cost[row], rel=1e-4)
        assert shapely.distance(line, ground.boundary) >= radius - 4e-5 * radius - 1e-6  # chords of a degree


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(60))
def test_a_path_is_found_exactly_where_the_eroded_ground_connects_and_keeps_its_distance(seed):
    check_existence(seed, (0.0, 0.1, 0.2, 0.35, 0.5)[seed % 5])


@pytest.mark.full
@pytest.mark.parametrize("block", range(60, 3060, 60))
def test_paths_are_found_exactly_where_they_exist_in_thousands_of_worlds(block):
    for seed in range(block, block + 60):
        check_existence(seed, (0.0, 0.1, 0.2, 0.35, 0.5)[seed % 5])


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(8))
def test_figure_7_paths_bend_only_as_their_corners_do(seed):
    ground = random_ground(seed)
    starts, ends, connected = pairs_of(ground, 0.0, 3, seed)
    sights = Sights.on(ground)
    for start, end in zip(starts[connected], ends[connected], strict=True):
        _, corners = sights.path(start, end)
        points = [tuple(start), *((x, y) for x, y, _ in corners), tuple(end)]
        for (a, b, c), (_, _, side) in zip(
            zip(points, points[1:], points[2:], strict=False), corners, strict=True
        ):
            turn = (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
            assert turn >= -1e-9 if side == "left" else turn <= 1e-9


def test_figure_12_start_and_goal_are_linked_to_what_they_see():
    ground = shapely.box(0, 0, 10, 10) - shapely.box(4, 0, 6, 6)
    cost, corners = Sights.on(ground).path((1, 1), (9, 1))
    assert [corner[:2] for corner in corners] == [(4, 6), (6, 6)]
    assert cost == pytest.approx(2.0 * np.hypot(3, 5) + 2.0)
    cost, corners = Sights.on(ground).path((1, 8), (9, 9))
    assert corners == [] and cost == pytest.approx(np.hypot(8, 1))


def test_figure_15_a_small_agent_goes_straight_and_a_large_one_bends_round_what_is_beside_the_edge():
    sights = Sights.on(BEAM)
    small, over = sights.path((1, 1), (15, 1), 0.39)
    large, under = sights.path((1, 1), (15, 1), 0.41)
    assert over == [(4, 4, "right"), (12, 4, "right")]  # straight on over the tops of both boxes
    assert under == [
        (4, 4, "right"),
        (6, 4, "right"),
        (7.5, 4.8, "left"),
        (8.5, 4.8, "left"),
        (10, 4, "right"),
        (12, 4, "right"),
    ]
    assert 0.0 < large - small < 0.5


def test_figure_14_a_path_in_a_maze_with_one_floor_over_another_keeps_the_radius_from_all_corners():
    xs = {"a": -4.0, "b": 0.0, "c": 10.0, "d": 14.0}
    names, vertices = {}, []

    def quad(x1, x2, y1, y2, heights):
        corners = []
        for key in (
            (xs[x1], y1, heights[0]),
            (xs[x2], y1, heights[1]),
            (xs[x2], y2, heights[2]),
            (xs[x1], y2, heights[3]),
        ):
            if key not in names:
                names[key] = len(vertices)
                vertices.append(key)
            corners.append(names[key])
        return corners

    low, high = (0, 0, 0, 0), (3, 3, 3, 3)
    polygons = [
        quad("b", "c", 0, 4, low),
        quad("c", "d", 0, 4, low),
        quad("c", "d", 4, 8, (0, 0, 3, 3)),
        quad("c", "d", 8, 12, high),
        quad("b", "c", 8, 12, high),
        quad("a", "b", 8, 12, high),
        quad("a", "b", 4, 8, high),
        quad("a", "b", 0, 4, high),
        quad("b", "c", 0, 4, high),
    ]
    layers = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1], dtype=np.int32)
    mesh, _ = mesh_from_polygons(np.array(vertices, dtype=np.float64), polygons, layers=layers)
    goals = cut_goals(
        mesh, [GoalShape(shapely.Point(9, 2), layer=1), GoalShape(shapely.Point(9, 2), layer=0)]
    )
    for radius in (0.0, 0.5, 1.9):
        planner = VisibilityPlanner(mesh, goals)
        start = np.array([(1.0, 2.0)] * 2)
        planner.submit(
            0, np.arange(2), start, located(mesh, start, 0), np.arange(2, dtype=np.int32), np.full(2, radius)
        )
        answers, _ = planner.advance(ALL, Team(1))
        assert answers.status.tolist() == [FOUND, FOUND]
        bend = np.arctan2(2, 9) - np.arcsin(radius / np.sqrt(85))
        # up the ramp and back
        assert planner.costs[0] == pytest.approx(
            18.0 + 2.0 * np.sqrt(85.0 - radius**2) + radius * (2.0 * np.pi - 2.0 * bend)
        )
        assert planner.costs[1] == pytest.approx(8.0)


def test_figure_19_an_agent_rounds_a_sharp_corner_without_touching_its_walls():
    ground = shapely.box(0, 0, 11, 9) - shapely.Polygon([(5.2, 0), (5.5, 6), (5.8, 0)])
    radius, start, end = 0.5, (1.0, 1.0), (10.0, 1.0)
    sights = Sights.on(ground)
    paths = sights.paths([start], [end], radius)
    line = shapely.LineString(paths.line(0, end))
    assert shapely.distance(line, ground.boundary) >= radius - 1e-4
    # A single vertex offset along the bisector, as to the left in the figure, is on a line that hits the
    # wall.
    assert (
        shapely.distance(shapely.LineString([start, (5.5, 6.0 + radius), end]), ground.boundary)
        < 0.7 * radius
    )
    assert paths.cost[0] == pytest.approx(reference.shortest(ground, start, end, radius), rel=2e-6)


def test_figure_20_a_pit_is_not_seen_its_slopes_are_walked_through():
    """The limit that [Norberg 2004] states in section 6.4: paths are the shortest over x and y;
    there are no concave corners, so there is nothing to search.
    """
    vertices = np.array(
        [
            (0, 0, 0),
            (10, 0, 0),
            (10, 10, 0),
            (0, 10, 0),
            (3, 3, 0),
            (7, 3, 0),
            (7, 7, 0),
            (3, 7, 0),
            (5, 5, -6),
        ],
        dtype=np.float64,
    )
    polygons = [
        [0, 1, 5, 4],
        [1, 2, 6, 5],
        [2, 3, 7, 6],
        [3, 0, 4, 7],
        [4, 5, 8],
        [5, 6, 8],
        [6, 7, 8],
        [7, 4, 8],
    ]
    mesh, _ = mesh_from_polygons(vertices, polygons)
    sights = Sights(mesh)
    cost, corners = sights.path((1.0, 5.0), (9.0, 5.0))
    assert corners == [] and cost == pytest.approx(8.0)
    through = 2.0 * 2.0 + 2.0 * np.hypot(2.0, 6.0)
    round_the_pit = 2.0 * np.hypot(2.0, 2.0) + 4.0
    # so the shortest path over the surface goes round, and this planner does not
    assert round_the_pit < through


def test_regions_are_entered_at_the_point_that_is_nearest_from_the_last_corner():
    ground = shapely.box(0, 0, 10, 10) - shapely.box(4, 0, 6, 6)
    sights = Sights.on(ground)
    planner = sights.planner([shapely.box(8, 0, 10, 2)])
    paths = ask(
        planner, np.array([(1.0, 1.0), (9.0, 1.0), (9.5, 5.0)]), np.zeros(3, dtype=np.int32), np.zeros(3)
    )
    assert paths.cost == pytest.approx([np.hypot(3, 5) + 2.0 + np.hypot(2, 4), 0.0, 3.0])


@pytest.mark.parametrize(
    ("seeds", "least"),
    [
        (range(3), 6),
        pytest.param(range(7), 18, marks=pytest.mark.full),
        pytest.param(range(6, 60), 160, marks=pytest.mark.full),
    ],
)
def test_a_line_is_clear_of_walls_on_the_stretches_that_its_points_are(seeds, least):
    stretches = 0
    for seed in seeds:
        ground = random_ground(seed)
        mesh, rng = build_mesh(ground).mesh, np.random.default_rng(seed)
        flood = make_flood(mesh.polygon_count)
        for polygon in rng.choice(mesh.polygon_count, 6):
            corners = mesh.vertex[
                mesh.edge_vertex[mesh.polygon_start[polygon] : mesh.polygon_start[polygon + 1]], :2
            ]
            a, b = rng.dirichlet(np.ones(len(corners)), 2) @ corners
            radius, found, begin, length = rng.uniform(0.05, 0.6), [], 0.0, float(np.hypot(*(b - a)))
            while begin < length:
                low, high = next_clear_stretch(mesh, int(polygon), *a, *b, begin, radius, flood)
                if low > length:
                    break
                found.append((low, high))
                begin = high
            expected = reference.clear_stretches(ground, a, b, radius)
            assert len(found) == len(expected), (seed, polygon)
            assert np.allclose(np.array(found), np.array(expected), rtol=0.0, atol=length / 9_000 + 1e-4)
            stretches += len(found)
    assert stretches > least


def test_to_a_region_beside_walls_a_path_is_as_short_as_possible():
    """The region is entered where its rim is clear:
    straight, as far from a wall as the agent needs, or on the arc round a corner.
    """
    ground = shapely.union_all([shapely.box(0, 0, 12, 8), shapely.box(12, 3, 14, 5)])
    sights = Sights.on(ground)
    for radius in (0.1, 0.2, 0.45):
        planner = sights.planner([shapely.box(13.5, 3, 14, 5)])
        paths = ask(
            planner,
            np.array([(10.0, 4.0), (13.0, 5.0 - radius), (10.0, 8.0 - radius)]),
            np.zeros(3, dtype=np.int32),
            np.full(3, radius),
        )
        # along the wall behind the corner
        by_hand = reference.shortest(ground, (10.0, 8.0 - radius), (13.5, 5.0 - radius), radius)
        assert paths.cost == pytest.approx([3.5, 0.5, by_hand], rel=2e-6)


def test_an_agent_that_stands_too_near_to_a_wall_still_finds_its_path():
    ground = shapely.box(0, 0, 10, 10) - shapely.box(4, 0, 6, 6)
    sights = Sights.on(ground)
    paths = sights.paths(
        [(3.9, 3.0), (3.95, 5.9), (0.01, 0.01)], [(6.1, 3.0), (9.99, 9.99), (6.05, 5.9)], 0.3
    )
    assert (paths.status == FOUND).all()
    assert (paths.cost < 20.0).all()


def test_paths_at_map_coordinates_are_those_at_the_origin():
    ground = random_ground(5)
    starts, ends, _ = pairs_of(ground, 0.2, 6)
    here = Sights.on(ground).paths(starts, ends, 0.2)
    moved = Sights.on(shapely.transform(ground, lambda xy: xy + UTM)).paths(starts + UTM, ends + UTM, 0.2)
    assert moved.status.tolist() == here.status.tolist()
    assert moved.cost == pytest.approx(here.cost, abs=1e-6)


@pytest.mark.full
def test_paths_are_never_longer_than_those_over_portals():
    ground = rooms(4)
    starts, ends, _ = pairs_of(ground, 0.2, 60)
    sights = Sights.on(ground)
    paths = sights.paths(starts, ends, 0.2)
    planner = MeshPlanner(sights.mesh, point_goals(sights.mesh, ends))
    planner.submit(
        0,
        np.arange(60),
        starts,
        located(sights.mesh, starts),
        np.arange(60, dtype=np.int32),
        np.full(60, 0.2),
    )
    answers, _ = planner.advance(ALL, Team(1))
    own = paths.strings()
    paths.portals = [answers.portals[a:b] for a, b in itertools.pairwise(answers.start)]
    paths.piece = answers.piece
    assert (own <= paths.strings() + 1e-9).all()
    assert (own < paths.strings() - 1e-3).any()


@pytest.mark.parametrize("slice_size", [1, 2, 7, 40])
def test_paths_are_the_same_however_the_search_is_sliced(slice_size):
    ground = pillar_hall(5)  # full of ties
    starts, ends, _ = pairs_of(ground, 0.3, 10)
    sights = Sights.on(ground)
    whole, sliced = sights.paths(starts, ends, 0.3), sights.paths(starts, ends, 0.3, slice_size)
    assert np.array_equal(whole.cost, sliced.cost)
    assert all(np.array_equal(a, b) for a, b in zip(whole.portals, sliced.portals, strict=True))
    assert whole.expansions == sliced.expansions


def test_a_search_goes_on_after_saving_and_loading_as_if_nothing_had_been():
    ground = rooms(1)
    starts, ends, _ = pairs_of(ground, 0.2, 10)
    mesh = build_mesh(ground, parameters=MeshParameters()).mesh
    goals = point_goals(mesh, ends)
    planner, other = VisibilityPlanner(mesh, goals), VisibilityPlanner(mesh, goals)
    planner.submit(
        3, np.arange(10), starts, located(mesh, starts), np.arange(10, dtype=np.int32), np.full(10, 0.2)
    )
    planner.advance(25, Team(1))
    assert planner.waiting > 0 and planner.oldest_tick(9) == 3
    other.restore(planner.state())
    while planner.waiting:
        first, used = planner.advance(11, Team(1))
        second, used_too = other.advance(11, Team(3))
        assert used == used_too
        for a, b in zip(vars(first).values(), vars(second).values(), strict=True):
            assert np.array_equal(a, b)
    assert other.waiting == 0 and other.oldest_tick(9) == 9


def test_an_agent_that_asks_again_or_leaves_takes_the_old_request_back():
    sights = Sights.on(BEAM)
    planner = sights.planner([(15, 1), (1, 1)])
    at = np.array([(1.0, 1.0), (2.0, 1.0)])
    polygon = located(sights.mesh, at)
    planner.submit(0, np.array([7, 8]), at, polygon, np.zeros(2, dtype=np.int32), np.full(2, 0.3))
    planner.advance(1, Team(1))
    planner.submit(1, np.array([7]), at[:1], polygon[:1], np.ones(1, dtype=np.int32), np.full(1, 0.3))
    planner.drop(np.array([8]))
    answers, _ = planner.advance(ALL, Team(1))
    assert answers.entity.tolist() == [7] and planner.costs[7] == 0.0 and planner.waiting == 0


def test_tests_of_sight_follow_what_is_near_not_the_size_of_the_graph():
    tests, sizes = [], []
    for count in (3, 6, 12):
        ground = rooms(3, 3)
        if count > 3:  # the same three by three rooms, and more beyond a wall without doors
            ground = shapely.union_all(
                [
                    ground,
                    *(
                        shapely.transform(rooms(k, 3), lambda xy, k=k: xy + (12.0 * k, 0.0))
                        for k in range(1, count // 3)
                    ),
                ]
            )
            ground = ground.difference(
                shapely.union_all(
                    [shapely.box(12.0 * k - 0.05, 0, 12.0 * k + 0.05, 12.0) for k in range(1, count // 3)]
                )
            )
        sights = Sights.on(ground)
        paths = sights.paths([(1.0, 1.0)], [(11.0, 11.0)], 0.1)
        tests.append(int(counts(paths.planner)[1].max()))
        sizes.append(paths.planner.size.edges)
    assert sizes[2] > 2.5 * sizes[0]
    assert 0 < tests[0] < 80
    assert tests == [tests[0]] * 3


def test_a_larger_weight_of_the_heuristic_looks_at_less_and_keeps_its_bound():
    ground = pillar_hall(6)
    starts, ends, _ = pairs_of(ground, 0.15, 12)
    best, greedy, blind = (
        Sights.on(ground, **weigh).paths(starts, ends, 0.15)
        for weigh in ({}, {"weight": 2.0}, {"heuristic": "zero"})
    )
    assert greedy.expansions < best.expansions < blind.expansions
    assert blind.cost == pytest.approx(best.cost, rel=1e-12)
    assert (greedy.cost <= 2.0 * best.cost).all()
