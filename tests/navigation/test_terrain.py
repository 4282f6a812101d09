"""Ground with speeds of its own: the mesh follows its borders, gaps stay exact,
and the search finds quick paths over it.
"""

import heapq
import math

import numpy as np
import pytest
import shapely

from crowdsim.geometry.floor_plans import FloorPlan, Join, Plane, Terrain
from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.measure import measure_corridors, measure_path_rows
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.mesh.floors import build_floors
from crowdsim.navigation.mesh.slopes import TRAVEL_TIME
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.search.a_star import COSTS, FASTEST, STRAIGHT
from crowdsim.navigation.search.slot_fields import BEST_TOTAL, FOUND, UNREACHABLE
from tests.navigation.floors import two_storeys
from tests.navigation.worlds import OnePlanner, free_points, located, point_goals, random_ground, rooms
from tests.reference import goals as goals_twin
from tests.reference import heights as twin
from tests.reference import search as search_twin


def random_terrain(seed: int):
    """Two or three turned boxes and a strip, none over another, of several speeds."""
    rng = np.random.default_rng(seed + 77)
    taken, found = shapely.Polygon(), []
    for number in range(4):
        centre, size = rng.uniform(1.0, 11.0, 2), rng.uniform(0.5, 4.0, 2)
        shape = shapely.affinity.rotate(
            shapely.box(*(centre - size), *(centre + size)), rng.uniform(0.0, 90.0)
        )
        if number == 0:
            shape = shapely.LineString([(0.0, rng.uniform(2, 10)), (12.0, rng.uniform(2, 10))]).buffer(0.6)
        area = shapely.set_precision(shape - taken, 2.0**-20)
        taken = taken | area
        if not area.is_empty:
            found.append(Terrain(f"t{number}", area, float(rng.choice([0.4, 0.6, 1.0, 1.4]))))
    return found


def outlines(mesh):
    return [
        shapely.Polygon(mesh.vertex[mesh.edge_vertex[a:b], :2])
        for a, b in zip(mesh.polygon_start[:-1], mesh.polygon_start[1:], strict=True)
    ]


def price_by_time(planner):
    """Let a planner's one slot look for quick paths."""
    planner.slots.header[:, COSTS], planner.slots.measure[:, FASTEST] = (
        TRAVEL_TIME,
        float(planner.mesh.polygon_pace.max()),
    )
    return planner


@pytest.mark.sample(2)
@pytest.mark.parametrize("cell", [0.7, 100.0])
@pytest.mark.parametrize("seed", range(6))
def test_polygons_cover_the_ground_are_convex_share_whole_edges_and_lie_on_one_terrain(seed, cell):
    ground, terrain = random_ground(seed), random_terrain(seed)
    mesh = build_mesh(ground, terrain=terrain, parameters=MeshParameters(terrain_cell=cell)).mesh
    shapes = outlines(mesh)
    assert sum(shape.area for shape in shapes) == pytest.approx(ground.area, rel=1e-12)
    for polygon in range(mesh.polygon_count):
        corners = mesh.vertex[
            mesh.edge_vertex[mesh.polygon_start[polygon] : mesh.polygon_start[polygon + 1]], :2
        ]
        along = np.roll(corners, -1, axis=0) - corners
        after = np.roll(along, -1, axis=0)
        assert (along[:, 0] * after[:, 1] - along[:, 1] * after[:, 0] > -1e-9).all()
    speed = {each.speed for each in terrain} | {1.0}
    for polygon, shape in enumerate(shapes):
        pace = mesh.polygon_pace[polygon]
        assert pace[0] == pace[1] and pace[0] in speed
        others = shapely.union_all([each.area for each in terrain if each.speed != pace[0]])
        own = (
            others
            if pace[0] != 1.0
            else shapely.union_all([each.area for each in terrain if each.speed != 1.0])
        )
        # borders are followed to a tenth of a millimetre
        assert shapely.intersection(shape, own).area <= 2e-4 * shape.length
    # Two polygons that touch along a line share an edge: every edge without a twin lies on the boundary.
    loose = np.flatnonzero(mesh.edge_twin < 0)
    middle = 0.5 * (mesh.vertex[mesh.edge_vertex[loose], :2] + mesh.vertex[mesh.edge_end[loose], :2])
    assert shapely.distance(ground.boundary, shapely.points(middle)).max() < 1e-8


@pytest.mark.sample(1)
@pytest.mark.parametrize("make", [random_ground, rooms])
@pytest.mark.parametrize("seed", range(8))
def test_a_agent_has_a_path_over_cut_ground_exactly_if_it_has_one_over_plain_ground(seed, make):
    ground = make(seed)
    plain = OnePlanner(build_mesh(ground).mesh)
    cut = price_by_time(OnePlanner(build_mesh(ground, terrain=random_terrain(seed)).mesh))
    rng = np.random.default_rng(seed)
    outcomes = []
    for radius in (0.0, 0.1, 0.2, 0.35, 0.7):
        points, _ = free_points(ground, radius, 16, rng)
        for a, b in zip(points[::2], points[1::2], strict=False):
            found = [planner.search(a, point_goals(planner.mesh, [b]), radius) for planner in (plain, cut)]
            assert found[0] == found[1], f"radius {radius}: from {a} to {b}"
            outcomes.append(found[0])
    assert len(outcomes) > 15


def test_paths_both_found_and_not_found_were_compared():
    """The comparison above would be worth nothing if every agent always fitted."""
    planner = OnePlanner(build_mesh(rooms(1), terrain=random_terrain(1)).mesh)
    points, _ = free_points(rooms(1), 0.35, 30, np.random.default_rng(3))
    statuses = {
        planner.search(a, point_goals(planner.mesh, [b]), 0.35)
        for a, b in zip(points[::2], points[1::2], strict=True)
    }
    assert statuses == {FOUND, UNREACHABLE}


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_paths_cost_the_time_that_dijkstra_finds_and_no_metre_is_cheaper_than_one(seed):
    ground = random_ground(seed)
    planner = price_by_time(
        OnePlanner(
            build_mesh(ground, terrain=random_terrain(seed), parameters=MeshParameters(terrain_cell=2.0)).mesh
        )
    )
    rng = np.random.default_rng(seed)
    goals = cut_goals(
        planner.mesh,
        [
            GoalShape(shapely.Point(free_points(ground, 0.3, 1, rng)[0][0]), 0.1),
            GoalShape(shapely.box(4, 4, 7, 7)),
        ],
    )
    found = 0
    for radius in (0.0, 0.2):
        starts, _ = free_points(ground, radius, 3, rng)
        for goal in range(2):
            asked, price = (planner.mesh, goals, goal, 2.0 * radius), search_twin.in_time
            costs = search_twin.costs_to_goal(*asked, price)
            for start, polygon in zip(starts, located(planner.mesh, starts), strict=True):
                expected = search_twin.least_total(*asked, *start.tolist(), polygon, price, costs)
                if planner.search(start, goals, radius, goal=goal) == FOUND:
                    found += 1
                    total = planner.slots.measure[0, BEST_TOTAL]
                    # the goal is in sight, and nearer in time than over points of portals
                    if planner.slots.header[0, STRAIGHT] > 0:
                        assert total < expected
                    else:
                        assert total == pytest.approx(expected, rel=1e-9)
                    _, piece = planner.corridor()
                    straight = math.dist(start, goals_twin.nearest_in_piece(goals, piece, *start.tolist()))
                    assert planner.slots.measure[0, BEST_TOTAL] >= straight * (1.0 - 1e-12)
                else:
                    assert expected == math.inf
    assert found >= 6


@pytest.mark.sample(1)
@pytest.mark.parametrize("turn, offset", [(0.0, (0.0, 0.0)), (37.0, (400_000.0, 5_000_000.0))])
def test_stairs_cost_the_time_that_dijkstra_finds_up_and_down(turn, offset):
    _, _, build = two_storeys(turn, offset)
    planner = price_by_time(OnePlanner(build.mesh))
    mesh = build.mesh
    places = [int(np.flatnonzero(mesh.polygon_layer == layer)[0]) for layer in (0, 1, 2)]
    middles = [
        mesh.vertex[mesh.edge_vertex[mesh.polygon_start[p] : mesh.polygon_start[p + 1]], :2].mean(axis=0)
        for p in places
    ]
    goals = cut_goals(
        mesh, [GoalShape(shapely.Point(middle), 0.1, layer=layer) for layer, middle in enumerate(middles)]
    )
    for start, polygon in zip(middles, places, strict=True):
        for goal in range(3):
            expected = search_twin.least_total(
                mesh, goals, goal, 0.4, *start.tolist(), polygon, price=search_twin.in_time
            )
            assert planner.search(start, goals, 0.2, goal=goal, polygon=polygon) == FOUND
            assert planner.slots.measure[0, BEST_TOTAL] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def path_of(mesh, start, goal, radius=0.0, costs="time", layers=(-1, -1)):
    """Length along the surface, effort and length in plan of the path that a planner finds."""
    goals = cut_goals(mesh, [GoalShape(shapely.Point(goal), 0.05, layer=layers[1])])
    planner = MeshPlanner(mesh, goals, costs=costs)
    begin, polygon, radii = (
        np.array([start], dtype=np.float64),
        located(mesh, np.array([start]), layers[0]),
        np.array([radius]),
    )
    planner.submit(0, np.array([1]), begin, polygon, np.zeros(1, dtype=np.int32), radii)
    answers, _ = planner.advance(1 << 40, Team())
    assert answers.status[0] == FOUND
    length, effort, plan = np.empty(1), np.empty(1), np.empty(1)
    corridor = (
        mesh,
        goals,
        answers.portals,
        answers.start[:-1],
        np.diff(answers.start).astype(np.int32),
        polygon,
        answers.piece,
        begin,
        radii,
    )
    measure_path_rows(0, len(length), *corridor, length, effort)
    measure_corridors(*corridor, plan)
    return float(length[0]), float(effort[0]), float(plan[0])


@pytest.mark.parametrize(("speed", "pays"), [(0.9, False), (0.6, True), (0.5, True)])
def test_a_path_round_by_the_road_is_taken_exactly_if_it_pays(speed, pays):
    """A park of 20 x 10 m between two squares, with a road of 2 m round it on one side:
    20 m over the grass or some 29 m over the road.
    """
    park = shapely.box(2, 2, 22, 12)
    mesh = build_mesh(shapely.box(0, 0, 24, 12), terrain=[Terrain("grass", park, speed)]).mesh
    length, effort, _ = path_of(mesh, (1.0, 7.0), (23.0, 7.0), 0.2)
    if pays:
        assert 28.0 < length < 34.0 and effort == pytest.approx(length, rel=0.05)
    else:
        assert length == pytest.approx(22.0, rel=0.01) and effort == pytest.approx(
            2.0 + 20.0 / speed, rel=0.01
        )
    assert path_of(mesh, (1.0, 7.0), (23.0, 7.0), costs="length")[0] == pytest.approx(22.0, rel=0.01)


@pytest.mark.full
def test_paths_over_terrain_take_little_longer_than_the_quickest_of_all():
    """Against Dijkstra over a lattice of 25 cm with 32 directions, which is some 1 % too slow itself:
    on average 5 % longer, nine in ten below 10 %.
    """
    ground = shapely.box(0, 0, 24, 12) - shapely.box(10, 5, 13, 6)
    road = shapely.Polygon([(0, 0), (24, 0), (24, 1.5), (13, 2.5), (0, 1.5)])
    terrain = [Terrain("road", road, 1.4), Terrain("grass", shapely.box(0, 1, 24, 12) - road, 0.6)]
    mesh = build_mesh(ground, terrain=terrain).mesh
    rng = np.random.default_rng(4)
    starts = np.round(free_points(ground, 0.3, 25, rng)[0] / 0.25) * 0.25
    ratios = []
    for goal in ((2.0, 3.0), (22.0, 9.0)):
        quickest = lattice_times(ground, road, goal)
        ratios += [
            path_of(mesh, start, goal, 0.01)[1] / quickest[round(start[0] / 0.25), round(start[1] / 0.25)]
            for start in starts
        ]
    ratios = np.array(ratios)
    assert (
        ratios.mean() < 1.05
        and np.quantile(ratios, 0.9) < 1.10
        and ratios.max() < 1.25
        and ratios.min() > 0.97
    )


def lattice_times(ground, road, goal, step=0.25):
    """Times to a goal by Dijkstra's algorithm over a square lattice."""
    west, south, east, north = ground.bounds
    shape = round((east - west) / step) + 1, round((north - south) / step) + 1
    x, y = np.meshgrid(np.arange(shape[0]) * step, np.arange(shape[1]) * step, indexing="ij")
    inside = shapely.intersects_xy(ground.buffer(1e-9), x, y)
    slowness = 1.0 / np.where(shapely.intersects_xy(road, x, y), 1.4, 0.6)
    moves = [(i, j) for i in range(-4, 5) for j in range(-4, 5) if math.gcd(i, j) == 1]
    time = np.full(shape, np.inf)
    first = (round(goal[0] / step), round(goal[1] / step))
    time[first] = 0.0
    queue = [(0.0, first)]
    while queue:
        now, (i, j) = heapq.heappop(queue)
        if now > time[i, j]:
            continue
        for di, dj in moves:
            a, b = i + di, j + dj
            if 0 <= a < shape[0] and 0 <= b < shape[1] and inside[a, b] and inside[i + di // 2, j + dj // 2]:
                then = now + step * math.hypot(di, dj) * 0.5 * (slowness[i, j] + slowness[a, b])
                if then < time[a, b]:
                    time[a, b] = then
                    heapq.heappush(queue, (then, (a, b)))
    return time


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_lengths_and_efforts_of_straight_paths_agree_with_the_twin(seed):
    ground = shapely.box(0, 0, 12, 12)
    mesh = build_mesh(ground, terrain=random_terrain(seed)).mesh
    rng = np.random.default_rng(seed)
    compared = 0
    for a, b in rng.uniform(0.5, 11.5, (20, 2, 2)):
        length, effort, plan = path_of(mesh, a, b)
        assert length == pytest.approx(plan, rel=1e-9)
        if plan < math.dist(a, b) * (1.0 + 1e-9):
            compared += 1
            expected = twin.along_line(mesh, a.tolist(), b.tolist())
            assert (length, effort) == pytest.approx(expected, rel=1e-6)
    assert compared >= 1


def test_a_path_up_a_stair_is_as_long_as_its_surface():
    _, _, build = two_storeys()
    length, effort, plan = path_of(build.mesh, (8.0, 5.0), (17.0, 5.0), layers=(0, 1))
    slope = math.hypot(4.8, 3.0)
    assert (
        plan == pytest.approx(9.0)
        and length == pytest.approx(4.2 + slope)
        and effort == pytest.approx(4.2 + slope / 0.5)
    )
    length, effort, _ = path_of(build.mesh, (17.0, 5.0), (8.0, 5.0), layers=(1, 0))
    assert length == pytest.approx(4.2 + slope) and effort == pytest.approx(4.2 + slope / 0.75)


def pit(depth: float):
    """A floor of 20 x 10 m with a trench of 4 m across all but 2 m of it, whose walls are ramps:
    figure 20 of [Norberg 2004].
    """
    rim = shapely.box(0, 0, 20, 10) - shapely.box(8, 0, 12, 8)
    floors = [
        FloorPlan("rim", rim, Plane((0.0, 0.0, 0.0))),
        FloorPlan("down", shapely.box(8, 0, 10, 8), Plane((8.0, 0.0, 0.0), (-depth / 2.0, 0.0))),
        FloorPlan("up", shapely.box(10, 0, 12, 8), Plane((12.0, 0.0, 0.0), (depth / 2.0, 0.0))),
    ]
    joins = [
        Join((0, 1), ((8, 0), (8, 8)), 0.0),
        Join((1, 2), ((10, 0), (10, 8)), -depth),
        Join((0, 2), ((12, 0), (12, 8)), 0.0),
    ]
    return build_floors(floors, joins, clearance=0.5).mesh


@pytest.mark.parametrize(("depth", "around"), [(0.5, False), (8.0, True)])
def test_a_pit_is_crossed_or_walked_round_by_its_depth(depth, around):
    """Figure 20: over the pit a straight line in plan is always the shortest path;
    with costs along the surface a deep one is walked round.
    """
    mesh = pit(depth)
    length, _, plan = path_of(mesh, (4.0, 5.0), (16.0, 5.0), 0.2, layers=(0, 0))
    through = 8.0 + 2.0 * math.hypot(2.0, depth)
    corner = 2.0 * math.hypot(4.0, 3.0) + 4.0
    if around:
        assert length == pytest.approx(plan) and corner < length < 1.1 * corner < through
    else:
        assert length == pytest.approx(through, rel=1e-6) and plan == pytest.approx(12.0)


def test_even_ground_costs_what_it_always_did():
    """Terrain of speed 1 changes nothing at all."""
    ground = random_ground(3)
    plain = build_mesh(ground).mesh
    named = build_mesh(ground, terrain=[Terrain("square", shapely.box(2, 2, 9, 9), 1.0)]).mesh
    assert (
        plain.is_even
        and named.is_even
        and all(np.array_equal(a, b) for a, b in zip(plain, named, strict=True))
    )
