"""Landmarks of points of portals spare searches of `mesh` ground that leads elsewhere, and change no path."""

import numpy as np
import pytest
import shapely

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.mesh.slopes import PLAN_LENGTH, SURFACE_LENGTH, TRAVEL_TIME, step_cost
from crowdsim.navigation.planning import find_landmarks as finding
from crowdsim.navigation.planning.find_landmarks import find_point_landmarks
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.protocol import ALL
from crowdsim.navigation.planning.search_backends import MiddleSearches
from crowdsim.navigation.search.a_star import begin_search
from crowdsim.navigation.search.goal_entries import make_scratch
from crowdsim.navigation.search.heuristic_weight import HeuristicParameters
from crowdsim.navigation.search.landmarks import least_from_place
from crowdsim.navigation.search.portal_points import PointParameters, place_points, points_beyond
from crowdsim.navigation.search.sharing import ShareParameters
from tests.crowds import assert_same_on_threads_and_from_saved_states, simulation
from tests.navigation.houses import random_house, spots, whole_mesh
from tests.navigation.search.test_landmarks import CITY, FOREST, count_of, landmarks_in, walls_with_gaps
from tests.navigation.worlds import free_points, located, point_goals, random_ground, rooms
from tests.reference import search as twin

ALONE = ShareParameters(share_searches=False)


@pytest.fixture(autouse=True)
def on_small_ground_too(monkeypatch):
    monkeypatch.setattr(finding, "LEAST_POINTS", 1)


def speeds(seed):
    """Two boxes on which one is slow, and fast."""
    shapes = shapely.box(1, 2, 6, 7), shapely.box(7, 4, 11, 10)
    return [Terrain(f"t{seed}", shapes[0], 0.5), Terrain(f"u{seed}", shapes[1], 1.5)]


def a_house(seed):
    """A mesh of several floors, on whose stairs it is slower up than down, and places on it."""
    house = random_house(seed)
    mesh = whole_mesh(house)
    found = [spot for spot in spots(house, mesh, 60, np.random.default_rng(seed)) if spot.wall > 0.3]
    layers = np.array([spot.layer for spot in found])
    points = np.array([[spot.x, spot.y] for spot in found])
    polygons = np.empty(len(points), dtype=np.int64)
    for layer in np.unique(layers).tolist():
        polygons[layers == layer] = located(mesh, points[layers == layer], layer)
    return mesh, points, polygons, layers


def a_ground(make, seed, terrain=()):
    """A mesh on one level, and places on it."""
    ground = make(seed)
    mesh = build_mesh(ground, terrain=terrain).mesh
    points, _ = free_points(ground, 0.3, 60, np.random.default_rng(seed))
    return mesh, points, located(mesh, points), np.zeros(len(points), dtype=np.int64)


def worlds(seed):
    yield a_ground(random_ground, seed)
    yield a_ground(rooms, seed)
    yield a_ground(random_ground, seed, speeds(seed))
    yield a_house(seed)


def searches_on(mesh, costs="time"):
    searches = MiddleSearches(mesh, finding._points([0], mesh.vertex[:1, :2]), finding.AT_ONCE)
    searches.price(costs)
    return searches


def grown(searches, polygon, place):
    """What paths from all points cost to a place in a polygon, (n,)."""
    finding._grow(searches, Team(1), [polygon], np.array([place]), searches.make_room)
    return searches.costs(1)[0]


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(6))
def test_costs_to_a_landmark_are_those_of_dijkstra(seed):
    for mesh, points, polygons, layers in worlds(seed):
        searches = searches_on(mesh)
        goals = cut_goals(mesh, [GoalShape(shapely.Point(points[0]), layer=int(layers[0]))])
        price = twin.in_plan if mesh.is_even else twin.in_time
        best = twin.costs_to_goal(mesh, goals, 0, 0.0, price)
        start, edge = searches.points.start, searches.points.edge
        expected = np.full(len(edge), np.inf)
        for (half_edge, number), cost in best.items():
            expected[start[half_edge] + number] = cost
        if searches.is_symmetric:
            expected = np.minimum(expected, expected[points_beyond(mesh, searches.points)])
        assert grown(searches, int(polygons[0]), points[0]) == pytest.approx(expected, rel=1e-9)
        assert np.isfinite(expected).any()


@pytest.mark.parametrize("seed", range(3))
def test_points_of_both_sides_of_a_portal_are_at_the_same_places(seed):
    mesh = a_house(seed)[0]
    points = place_points(mesh)
    beyond = points_beyond(mesh, points)
    assert np.array_equal(points.point[beyond], points.point) and np.array_equal(
        points.edge[beyond], mesh.edge_twin[points.edge]
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("costs", ["time", "length"])
@pytest.mark.parametrize("seed", range(4))
def test_from_point_to_point_distances_differ_by_no_more_than_the_step_costs(seed, costs):
    """So no search has to open a point twice, and none stops too soon."""
    for mesh, *_ in worlds(seed):
        points, searches = place_points(mesh), searches_on(mesh, costs)
        landmarks = find_point_landmarks(mesh, points, costs, 3)
        distance = landmarks.distance.reshape(len(points.edge), -1)[:, :3].astype(float)
        kind = PLAN_LENGTH if mesh.is_even else TRAVEL_TIME if costs == "time" else SURFACE_LENGTH
        fastest, slack = float(mesh.polygon_pace.max()), landmarks.slack[0]
        assert landmarks.is_symmetric[0] == searches.is_symmetric
        looked_at = 0
        for out in np.random.default_rng(seed).permutation(np.flatnonzero(mesh.edge_twin >= 0))[:60].tolist():
            polygon = int(mesh.edge_polygon[out])
            for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
                if edge == out or mesh.edge_twin[edge] < 0:
                    continue
                for before in range(*points.start[mesh.edge_twin[edge] : mesh.edge_twin[edge] + 2]):
                    for after in range(points.start[out], points.start[out + 1]):
                        step = points.point[after] - points.point[before]
                        cost = step_cost(mesh, kind, fastest, polygon, *step.tolist())
                        there, here = distance[after], distance[before]
                        assert not (here > there + cost + slack).any()
                        if landmarks.is_symmetric[0]:
                            assert not (there > here + cost + slack).any()
                        looked_at += 1
        assert looked_at > 100


@lean_kernel
def find_bounds(slots, mesh, goals, points, scratch, x, y, polygon, out):
    begin_search(slots, 0, mesh, goals, points, scratch, 0, 0.0, x, y, polygon, 0)
    for node in range(out.size):
        out[node] = least_from_place(slots.landmarks, slots.span[0], node)


@pytest.mark.parametrize("seed", range(4))
def test_no_point_is_nearer_to_the_start_than_landmarks_say_and_most_are_hardly_farther(seed):
    shares = []
    for mesh, points, polygons, _ in (a_ground(random_ground, seed), a_ground(rooms, seed)):
        searches, largest = searches_on(mesh), np.argmax(np.bincount(mesh.polygon_part))
        searches.take_landmarks(find_point_landmarks(mesh, searches.points, "time", 19))
        count = len(searches.points.edge)
        goals, scratch = point_goals(mesh, points[-1:]), make_scratch(1, mesh.polygon_count)
        for start, polygon in zip(points[:8].tolist(), polygons[:8].tolist()):
            away, out = grown(searches_on(mesh), polygon, np.array(start)), np.empty(count)
            find_bounds(searches._slots, mesh, goals, searches.points, scratch, *start, polygon, out)
            is_there = np.isfinite(away)
            assert (out[is_there] <= away[is_there]).all()
            if mesh.polygon_part[polygon] == largest:  # where the landmarks are
                shares.append(np.median(out[is_there] / away[is_there]))
    assert min(shares) > 0.8 and np.mean(shares) > 0.95


def answers(planner, starts, polygons, goal, radius, priced=None):
    """Statuses, corridors and expansions."""
    count = len(starts)
    planner.submit(0, np.arange(count) + 1, starts, polygons, goal, np.full(count, radius), priced, 7.5)
    told, made = planner.advance(ALL, Team(1))
    corridors = [told.portals[a:b].tolist() for a, b in zip(told.start[:-1], told.start[1:])]
    order = np.argsort(told.entity)
    return told.status[order].tolist(), [corridors[k] for k in order], made


@pytest.mark.sample(2)
@pytest.mark.parametrize("costs", ["time", "length"])
@pytest.mark.parametrize("seed", range(8))
def test_corridors_are_the_same_with_landmarks(seed, costs):
    """To points, regions, and the nearest of several; of portals of which some cost more; on shared trees."""
    plain_made = known_made = 0
    for mesh, points, polygons, layers in worlds(seed):
        rng, half = np.random.default_rng(seed), len(points) // 2
        shapes = [
            GoalShape(shapely.Point(point), layer=int(layer))
            for point, layer in zip(points[half:], layers[half:])
        ]
        shapes += [
            GoalShape(shapely.Point(point).buffer(0.5), layer=int(layer))
            for point, layer in zip(points[half:], layers[half:])
        ]
        shapes += [GoalShape(None, parts=tuple(rng.integers(0, half, 3).tolist())) for _ in range(10)]
        goals, starts = cut_goals(mesh, shapes), points[:half]
        portals = np.flatnonzero(mesh.edge_twin >= 0)
        priced = np.full((half, 4), -1, dtype=np.int32)
        priced[: half // 3, :2] = rng.choice(portals, (half // 3, 2))
        for radius in (0.0, 0.25):
            goal = rng.integers(0, len(shapes), half).astype(np.int32)
            found = [
                answers(
                    MeshPlanner(mesh, goals, shares, "mesh", costs, landmarks=count),
                    *(starts, polygons[:half], goal, radius, priced),
                )
                for shares, count in ((ALONE, 0), (ALONE, 1), (ALONE, 19), (ShareParameters(), 19))
            ]
            assert found[1][:2] == found[0][:2] and found[2][:2] == found[0][:2]
            assert found[3][0] == found[0][0]
            plain_made, known_made = plain_made + found[0][2], known_made + found[2][2]
    assert known_made < 0.9 * plain_made


@pytest.mark.parametrize("apart", [1.0, 1000.0])
def test_where_walls_stand_between_a_fraction_of_the_expansions_is_left(apart):
    ground, rng = walls_with_gaps(3), np.random.default_rng(1)
    mesh = build_mesh(ground).mesh
    points, _ = free_points(ground, 0.3, 120, rng)
    goals, goal = point_goals(mesh, points[60:]), np.arange(60, dtype=np.int32)
    polygons, apart_m = located(mesh, points[:60]), PointParameters(points_apart=apart)
    plain, known = (
        answers(
            MeshPlanner(mesh, goals, ALONE, points=apart_m, landmarks=count),
            *(points[:60], polygons, goal, 0.2),
        )
        for count in (0, 32)
    )
    assert known[:2] == plain[:2] and known[2] < 0.3 * plain[2]


@pytest.mark.parametrize("seed", range(3))
def test_weighed_paths_are_at_most_that_many_times_as_long(seed):
    mesh, points, polygons, _ = a_ground(rooms, seed)
    half = len(points) // 2
    goals, goal = point_goals(mesh, points[half:]), np.arange(half, dtype=np.int32)
    lengths, made = [], []
    for weight, count in ((1.0, 0), (1.5, 0), (1.5, 16)):
        planner = MeshPlanner(mesh, goals, ALONE, aim=HeuristicParameters(weight=weight), landmarks=count)
        planner.submit(0, goal + 1, points[:half], polygons[:half], goal, np.full(half, 0.0))
        told, expansions = planner.advance(ALL, Team(1))
        row, out = told.entity - 1, np.empty(half)
        measure_corridors(
            mesh, goals, told.portals, told.start[:-1].copy(), np.diff(told.start).astype(np.int32),
            polygons[row], told.piece, points[row], np.zeros(half), out,
        )  # fmt: skip
        length = np.empty(half)
        length[row] = out
        lengths.append(length)
        made.append(expansions)
    assert np.array_equal(np.isfinite(lengths[2]), np.isfinite(lengths[0]))
    there = np.isfinite(lengths[0])
    assert (lengths[2][there] <= 1.5 * 1.02 * lengths[0][there]).all()
    assert made[2] < made[1] < made[0]


def test_few_points_and_too_many_have_none(monkeypatch):
    mesh = build_mesh(rooms(2)).mesh
    points = place_points(mesh)
    assert count_of(find_point_landmarks(mesh, points, "time", 5)) == 5
    assert find_point_landmarks(mesh, points, "time", 0) is None
    monkeypatch.setattr(finding, "LEAST_POINTS", len(points.edge) + 1)
    assert find_point_landmarks(mesh, points, "time", 5) is None
    monkeypatch.setattr(finding, "LEAST_POINTS", 1)
    monkeypatch.setattr(finding, "MOST_POINTS", len(points.edge) - 1)
    assert find_point_landmarks(mesh, points, "time", 5) is None


BY_MESH = {**FOREST, "navigation": {"kind": "mesh", "share_searches": False}}


def test_scenarios_have_landmarks_on_ground_in_one_piece_that_has_no_prices():
    assert landmarks_in(BY_MESH) == 32
    assert landmarks_in(BY_MESH, "navigation.landmarks=3") == 3
    assert landmarks_in(BY_MESH, "navigation.landmarks=0") == 0
    assert landmarks_in(BY_MESH, "navigation.tile_size=20") == 0
    lawn = [{"name": "lawn", "area": {"box": [0, 0, 3, 60]}}]
    priced = {**BY_MESH, "navigation": {"kind": "mesh", "prices": {"lawn": 2.0}}}
    assert landmarks_in({**priced, "geometry": {**BY_MESH["geometry"], "terrain": lawn}}) == 0


def test_runs_by_landmarks_are_the_same_on_threads_and_from_saved_states():
    assert_same_on_threads_and_from_saved_states(BY_MESH, 50, (3, 11, 25))


def test_where_no_one_waits_a_run_by_landmarks_is_the_run_without():
    document = {**CITY, "navigation": {"kind": "mesh", "share_searches": False}}
    found = []
    for count in (0, 32):
        assert landmarks_in(document, f"navigation.landmarks={count}") == count
        sets = ["budget.work=100000000", f"navigation.landmarks={count}"]
        with simulation(document, sets=sets) as run:
            made = 0.0
            for _ in range(15):
                run.step()
                made += run.counts["expansions"]
            found.append((run.digest, made))
    assert found[0][0] == found[1][0] and found[1][1] < 0.5 * found[0][1]
