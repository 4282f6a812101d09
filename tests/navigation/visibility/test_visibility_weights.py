"""Paths that cost more in sight of a watcher or near a point ([Norberg 2004], section 3)."""

import numpy as np
import pytest
import shapely

from crowdsim.errors import NavigationError
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.mesh.mesh import locate_at_height
from crowdsim.navigation.mesh.watchers import place_watchers
from crowdsim.navigation.visibility.weights import extra_cost, make_weights, see_from
from tests.navigation.floors import two_storeys
from tests.navigation.sights import Sights
from tests.navigation.worlds import free_points, located, random_ground, rooms
from tests.reference import visibility as reference

# A hall with a screen of 0.2 m along its middle and one pillar: the straight path is in view of a watcher at
# its lower edge, the one behind the screen not.
HALL = shapely.box(0, 0, 20, 10) - shapely.box(2, 5, 18, 5.2)


def seen_length(view, line):
    """Return how much of a path is in view (m), but for what runs along the border of it."""
    return shapely.intersection(shapely.LineString(line), view.buffer(-1e-5)).length


def test_the_path_behind_a_screen_is_taken_if_the_straight_one_is_watched():
    start, goal, watcher = (1.0, 5.4), (19.0, 5.4), (10.0, 1.0)
    assert Sights.on(HALL).path(start, goal)[0] == pytest.approx(2.0 * np.hypot(1, 0.2) + 16.0, rel=0.1)
    below, corners = Sights.on(HALL).path((1.0, 4.0), (19.0, 4.0))
    assert below == pytest.approx(18.0) and corners == []
    hidden, corners = Sights.on(HALL, unseen_from=((watcher),)).path((1.0, 4.0), (19.0, 4.0))
    assert [c[:2] for c in corners] == [(2.0, 5.2), (18.0, 5.2)]
    assert hidden > 18.0


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(6))
def test_what_a_watcher_sees_is_its_visibility_polygon(seed):
    ground = random_ground(seed)
    mesh = build_mesh(ground).mesh
    (watcher, *_), _ = free_points(ground, 0.05, 1, np.random.default_rng(seed))
    zone, window = see_from(mesh, int(located(mesh, watcher[None])[0]), *watcher, 1 << 20)
    area = 0.0
    for polygon, row in zip(zone, window, strict=True):
        outline = shapely.Polygon(
            mesh.vertex[mesh.edge_vertex[mesh.polygon_start[polygon] : mesh.polygon_start[polygon + 1]], :2]
        )
        if not np.array_equal(row[:2], row[2:4]):
            rays = (
                (row[2:].reshape(2, 2) - row[:2])
                * 100.0
                / np.hypot(*(row[2:].reshape(2, 2) - row[:2]).T)[:, None]
            )
            outline = shapely.intersection(
                outline, shapely.Polygon([row[:2], row[:2] + rays[0], row[:2] + rays[1]])
            )
        area += outline.area
    assert area == pytest.approx(reference.sight_polygon(ground, watcher).area, rel=1e-5)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(6))
def test_extra_costs_are_integrals_along_the_path(seed):
    ground = random_ground(seed)
    mesh = build_mesh(ground).mesh
    points, _ = free_points(ground, 0.05, 40, np.random.default_rng(seed))
    watcher, shunned = points[0], points[1]
    weights = make_weights(
        mesh,
        place_watchers(mesh, [tuple(watcher)]),
        exposure=3.0,
        shunned=[tuple(shunned)],
        shun_reach=2.5,
        shun_cost=7.0,
    )
    everything = np.arange(mesh.polygon_count, dtype=np.int32)
    view = reference.sight_polygon(ground, watcher)
    for a, b in zip(points[2::2], points[3::2], strict=False):
        line = shapely.LineString([a, b])
        if not ground.covers(line):
            continue
        t = (np.arange(4000) + 0.5) / 4000
        d = np.hypot(*(a + t[:, None] * (b - a) - shunned).T)
        near = 7.0 * line.length * np.maximum(0.0, 1.0 - (d / 2.5) ** 2).mean()
        expected = 3.0 * shapely.intersection(line, view).length + near
        assert extra_cost(mesh, weights, everything, len(everything), *a, *b) == pytest.approx(
            expected, rel=1e-4, abs=1e-4
        )
        assert extra_cost(mesh, make_weights(mesh), everything, len(everything), *a, *b) == 0.0


def check_hidden(seed, radius):
    """Hold paths to the shadow: they stay there, since it connects start and goal on the ground where the
    agent can be.

    Return how many of the shortest paths are in sight.
    """
    ground = random_ground(seed)
    rng = np.random.default_rng(seed)
    (watcher, *_), _ = free_points(ground, 0.05, 1, rng)
    view = reference.sight_polygon(ground, watcher)
    standing = ground.buffer(-radius - 1e-5, quad_segs=256)
    shadow = [part for part in shapely.get_parts(standing.difference(view.buffer(1e-5))) if part.area > 0.05]
    if not shadow:
        return 0
    part = max(shadow, key=lambda p: p.area)
    candidates = rng.uniform(part.bounds[:2], part.bounds[2:], (400, 2))
    inside = candidates[shapely.contains(part, shapely.points(candidates))]
    if len(inside) < 2:
        return 0
    hidden, plain = Sights.on(ground, unseen_from=(tuple(watcher),), exposure=1e6), Sights.on(ground)
    count = 0
    for goal in inside[1:5]:
        paths = hidden.paths(inside[:1], [goal], radius)
        assert seen_length(view, paths.line(0, goal)) < 1e-3
        assert paths.cost[0] < 200.0  # a millimetre in sight would cost 1,000
        shortest = plain.paths(inside[:1], [goal], radius)
        assert shortest.cost[0] <= paths.cost[0] * (1.0 + 1e-12)
        count += seen_length(view, shortest.line(0, goal)) > 0.01
    return count


def test_a_path_that_stays_out_of_sight_is_found_where_one_exists():
    """Among the worlds are those of the first forty in which the shortest path is in sight."""
    assert sum(check_hidden(seed, 0.0) for seed in (*range(5), 10, 22, 37)) >= 4
    assert sum(check_hidden(seed, 0.15) for seed in (*range(5), 27, 37)) >= 2


@pytest.mark.full
@pytest.mark.parametrize("block", range(0, 1000, 25))
def test_paths_stay_out_of_sight_in_a_thousand_worlds(block):
    for seed in range(block, block + 25):
        check_hidden(seed, (0.0, 0.1, 0.25)[seed % 3])


def test_points_that_are_shunned_are_passed_on_the_other_side_if_that_is_cheaper():
    ground = shapely.box(0, 0, 20, 10) - shapely.box(8, 4, 12, 7)
    start, goal = (2.0, 5.0), (18.0, 5.0)
    plain, corners = Sights.on(ground).path(start, goal)
    assert {y for _, y, _ in corners} == {4.0}
    shun, corners = Sights.on(ground, shun=((10.0, 3.0),), shun_reach=3.0, shun_cost=5.0).path(start, goal)
    assert {y for _, y, _ in corners} == {7.0}
    light, corners = Sights.on(ground, shun=((10.0, 3.0),), shun_reach=3.0, shun_cost=0.01).path(start, goal)
    assert {y for _, y, _ in corners} == {4.0} and plain < light < shun


@pytest.mark.parametrize("exposure", [0.5, 20.0])
def test_costs_under_weights_are_the_least_of_all_taut_paths(exposure):
    ground = rooms(3, 2)
    points, _ = free_points(ground, 0.1, 5, np.random.default_rng(2))
    watcher = tuple(points[0])
    view = reference.sight_polygon(ground, watcher)
    sights = Sights.on(ground, unseen_from=(watcher,), exposure=exposure)
    for start, goal in zip(points[1:3], points[3:], strict=True):
        expected = reference.cheapest_taut(
            ground, start, goal, lambda line: line.length + exposure * shapely.intersection(line, view).length
        )
        assert sights.path(start, goal)[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("height", [0.0, 3.0])
def test_on_several_floors_costs_are_those_of_what_is_seen_over_joined_ground_and_of_points_on_the_same_floor(
    height,
):
    """Against a twin that follows each line of sight from polygon to polygon;
    lines lie on the ground, on the stair, and above both.
    """
    mesh = two_storeys()[2].mesh
    rng = np.random.default_rng(5)
    watcher, shunned = (4.0, 5.3, height), (17.0, 4.0, height)
    weights = make_weights(
        mesh, place_watchers(mesh, [watcher]), exposure=3.0, shunned=[shunned], shun_reach=3.0, shun_cost=7.0
    )
    eye, floor = (
        int(locate_at_height(mesh, *watcher)),
        int(mesh.polygon_layer[int(locate_at_height(mesh, *shunned))]),
    )
    seen_on, dear = set(), set()
    for _ in range(60):
        place = np.array([rng.uniform(0, 30), rng.uniform(0, 10), rng.choice([0.0, 1.5, 3.0])])
        begin = int(locate_at_height(mesh, *place))
        a, b = place[:2], np.array([rng.uniform(0, 30), rng.uniform(0, 10)])
        passed = reference.trace(mesh, begin, a, b) if begin >= 0 else None
        if passed is None:
            continue
        expected, count = 0.0, 150
        for t in (np.arange(count) + 0.5) / count:
            point = a + t * (b - a)
            under = next(polygon for low, high, polygon in passed if low <= t <= high)
            line = reference.trace(mesh, eye, np.array(watcher[:2]), point)
            if line is not None and line[-1][2] == under:
                expected += 3.0
                seen_on.add(int(mesh.polygon_layer[under]))
            near = 1.0 - (np.hypot(*(point - shunned[:2])) / 3.0) ** 2
            if near > 0.0:
                expected += 7.0 * near if mesh.polygon_layer[under] == floor else 0.0
                dear.add(int(mesh.polygon_layer[under]))
        expected *= float(np.hypot(*(b - a))) / count
        polygons = np.array([polygon for *_, polygon in passed], dtype=np.int32)
        assert extra_cost(mesh, weights, polygons, len(polygons), *a, *b) == pytest.approx(
            expected, rel=2e-3, abs=0.5
        )
    # from the ground up the stair and over the floor behind its head
    assert dear >= {0, 1} and seen_on >= ({0, 1, 2} if height == 0.0 else {1})


def test_a_watcher_off_the_ground_is_refused_with_its_place():
    with pytest.raises(
        NavigationError,
        match=r"the watcher at \(5, 5.1\) stands off the ground; move it onto walkable ground",
    ):
        place_watchers(build_mesh(HALL).mesh, [(5.0, 5.1)])
    mesh = two_storeys()[2].mesh
    with pytest.raises(NavigationError, match=r"the watcher at \(40, 5, 0\) stands off the ground"):
        place_watchers(mesh, [(40.0, 5.0, 0.0)])
    # Points that are shunned may be off it, as in a wall: they count on the floor that is nearest.
    assert make_weights(
        mesh, shunned=[(20.1, 4.0, 3.0), (20.1, 4.0, 0.0), (40.0, 5.0, 2.5), (31.0, 11.0, -4.0)]
    ).shunned[:, 4].tolist() == [1, 0, 1, 0]
