"""Floors are one mesh: joined where they meet, apart where one lies above the other,
at every place and turn.
"""

import numpy as np
import pytest
import shapely

from crowdsim.errors import NavigationError
from crowdsim.geometry.cells import CellIndex, Heights
from crowdsim.geometry.floor_plans import FloorPlan, Join, Plane
from crowdsim.navigation.corridor.walk import walk_point
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.floors import build_floors
from crowdsim.navigation.mesh.mesh import locate, locate_at_height, make_flood, wall_distance
from crowdsim.navigation.mesh.slopes import heights_at, plan_shares
from tests.avoidance.test_neighbours import nearest_rows
from tests.navigation.floors import RISE, STEEPNESS, two_storeys
from tests.reference import heights as twin

WORLDS = [(0.0, (0.0, 0.0)), (33.0, (0.0, 0.0)), (90.0, (400_000.0, 5_000_000.0)), (201.7, (-70.0, 12.0))]


@pytest.mark.parametrize("cells", ["polygons", "triangles"])
@pytest.mark.parametrize(("turn", "offset"), WORLDS)
def test_floors_are_covered_exactly_and_joined_along_their_lines_only(turn, offset, cells):
    floors, joins, built = two_storeys(turn, offset, cells)
    mesh = built.mesh
    for layer, floor in enumerate(floors):
        area = 0.0
        for polygon in np.flatnonzero(mesh.polygon_layer == layer):
            corners = mesh.vertex[
                mesh.edge_vertex[mesh.polygon_start[polygon] : mesh.polygon_start[polygon + 1]], :2
            ]
            area += shapely.Polygon(corners - corners[0]).area
        assert area == pytest.approx(floor.ground.area, rel=1e-7)
    assert len(set(mesh.polygon_part.tolist())) == 1
    portals = np.flatnonzero(mesh.edge_twin >= 0)
    layer = mesh.polygon_layer[mesh.edge_polygon]
    crossing = portals[layer[portals] != layer[mesh.edge_twin[portals]]]
    for join in joins:
        line = shapely.LineString(join.line)
        own = [e for e in crossing if {int(layer[e]), int(layer[mesh.edge_twin[e]])} == set(join.floors)]
        ends = mesh.vertex[np.r_[mesh.edge_vertex[own], mesh.edge_end[own]]]
        assert shapely.distance(line, shapely.points(ends[:, :2])).max() < 1e-5 and np.all(
            ends[:, 2] == join.height
        )
        assert sum(
            shapely.LineString(mesh.vertex[[mesh.edge_vertex[e], mesh.edge_end[e]], :2]).length for e in own
        ) == pytest.approx(4.0, abs=1e-4)
    assert len(crossing) >= 4


@pytest.mark.sample(1)
@pytest.mark.parametrize(("turn", "offset"), WORLDS)
def test_heights_places_and_speeds_agree_with_the_twin(turn, offset):
    floors, _, built = two_storeys(turn, offset)
    mesh = built.mesh
    rng = np.random.default_rng(3)
    low, high = np.array(floors[0].ground.bounds[:2]), np.array(floors[0].ground.bounds[2:])
    for x, y in rng.uniform(low, high, (300, 2)):
        for z in (-1.0, 0.3, 1.6, 2.9):
            expected = twin.locate_at_height(mesh, x, y, z)
            assert locate_at_height(mesh, x, y, z) == expected
            if expected >= 0:
                layer = mesh.polygon_layer[expected]
                assert mesh.polygon_layer[locate(mesh, x, y, layer)] == layer
    polygon = rng.integers(0, mesh.polygon_count, 200)
    position, velocity = rng.uniform(low, high, (200, 2)), rng.normal(0.0, 1.0, (200, 2))
    velocity[:5] = 0.0
    height, share = np.empty(200), np.empty(200)
    heights_at(0, 200, mesh, polygon, position, height)
    plan_shares(0, 200, mesh, polygon, velocity, share)
    assert height == pytest.approx(
        [twin.height_at(mesh, p, *at) for p, at in zip(polygon, position, strict=True)], abs=1e-6
    )
    assert share == pytest.approx(
        [twin.plan_share(mesh, p, *v) for p, v in zip(polygon, velocity, strict=True)], rel=1e-8
    )


def test_random_walks_change_floors_over_the_joins_only():
    """A point that is walked about changes its layer exactly where it crosses the foot or the head,
    and its height never jumps.
    """
    _, joins, built = two_storeys()
    mesh = built.mesh
    lines = [shapely.LineString(join.line) for join in joins]
    rng = np.random.default_rng(7)
    x, y = 9.0, 5.0
    state, crossed = np.array([locate(mesh, x, y, 0), 0, 0]), np.empty(64, dtype=np.int64)
    z, floors_seen = 0.0, set()
    for _ in range(6000):
        before, state[1] = int(mesh.polygon_layer[state[0]]), 0
        aim = (12.0, 5.0) if rng.random() < 0.3 else rng.uniform((0, 0), (30, 10))
        to = np.array([x, y]) + 0.4 * (np.array(aim) - (x, y)) / np.hypot(aim[0] - x, aim[1] - y)
        new_x, new_y = walk_point(mesh, state, crossed, x, y, *to)
        after = int(mesh.polygon_layer[state[0]])
        new_z = twin.height_at(mesh, state[0], new_x, new_y)
        if after != before:
            path = shapely.LineString([(x, y), (new_x, new_y)])
            assert min(line.distance(path) for line in lines) < 1e-9
        assert abs(new_z - z) <= STEEPNESS * np.hypot(new_x - x, new_y - y) + 1e-9
        x, y, z = new_x, new_y, new_z
        floors_seen.add(after)
    assert floors_seen == {0, 1, 2}


def test_walls_below_a_stair_are_in_no_list_of_the_stair_and_its_own_are():
    _, _, built = two_storeys()
    mesh, walls = built.mesh, built.walls
    for polygon in np.flatnonzero(mesh.polygon_layer == 2):
        near = walls.zone_wall[walls.zone_start[polygon] : walls.zone_start[polygon + 1]]
        assert set(walls.layer[near].tolist()) >= {2}
        for wall in near[walls.layer[near] != 2]:
            ends = np.array([walls.start[wall], walls.end[wall]])
            plane = STEEPNESS * (ends[:, 0] - 10.0)
            floor = RISE if walls.layer[wall] == 1 else 0.0
            assert np.abs(plane - floor).max() < mesh.step
    under = locate(mesh, 14.0, 5.0, 0)
    near = walls.zone_wall[walls.zone_start[under] : walls.zone_start[under + 1]]
    assert set(walls.layer[near].tolist()) == {0}


def test_a_landing_lists_the_side_walls_of_a_stair_that_ends_a_storey_below():
    """An agent that steps from a landing onto a long stair within a tick has to be stopped by its walls;
    where the stair has gone a head's height down is out of reach.
    """
    floors = [
        FloorPlan("ground", shapely.box(0, 0, 10, 10), Plane((0, 0, 0))),
        FloorPlan("upper", shapely.box(30, 0, 40, 10), Plane((0, 0, 4))),
        FloorPlan("stair", shapely.box(10, 4, 30, 6), Plane((10, 4, 0), (0.2, 0.0))),
    ]
    joins = [Join((0, 2), ((10, 4), (10, 6)), 0.0), Join((1, 2), ((30, 4), (30, 6)), 4.0)]
    for reach, listed in ((4.0, 2), (12.0, 0)):  # 1.8 m down are 9 m on
        built = build_floors(floors, joins, wall_reach=reach)
        for x in (9.5, 30.5):
            zone = locate(built.mesh, x, 5.0, -1)
            near = built.walls.zone_wall[built.walls.zone_start[zone] : built.walls.zone_start[zone + 1]]
            assert np.count_nonzero(built.walls.layer[near] == 2) == listed


def test_the_nearest_wall_is_that_of_the_own_floor():
    _, _, built = two_storeys()
    flood = make_flood(built.mesh.polygon_count)
    x, y = 20.1, 4.0  # inside the thin wall upstairs, in the open downstairs
    assert locate(built.mesh, x, y, 1) == -1
    assert wall_distance(built.mesh, locate(built.mesh, x, y, 0), x, y, 3.0, flood) == 3.0
    assert wall_distance(built.mesh, locate(built.mesh, 20.5, y, 1), 20.5, y, 3.0, flood) == pytest.approx(
        0.3
    )


def test_goals_are_cut_on_their_own_floor():
    _, _, built = two_storeys()
    region = shapely.box(22, 2, 25, 5)
    goals = cut_goals(
        built.mesh,
        [
            GoalShape(region, layer=0),
            GoalShape(region, layer=1),
            GoalShape(shapely.Point(12, 5), 0.3, layer=2),
        ],
    )
    for goal, layer in enumerate((0, 1, 2)):
        pieces = goals.piece_polygon[goals.goal_start[goal] : goals.goal_start[goal + 1]]
        assert len(pieces) and set(built.mesh.polygon_layer[pieces].tolist()) == {layer}


def test_two_ramps_side_by_side_are_parted_by_a_wall():
    ground, upper = shapely.box(0, 0, 10, 10), shapely.box(20, 0, 30, 10)
    floors = [FloorPlan("ground", ground, Plane((0, 0, 0))), FloorPlan("upper", upper, Plane((0, 0, 1)))]
    joins = []
    for number, low in ((2, 2.0), (3, 4.0)):
        floors.append(
            FloorPlan(f"ramp {number}", shapely.box(10, low, 20, low + 2), Plane((10, 0, 0), (0.1, 0.0)))
        )
        joins += [
            Join((0, number), ((10, low), (10, low + 2)), 0.0),
            Join((1, number), ((20, low), (20, low + 2)), 1.0),
        ]
    built = build_floors(floors, joins)
    mesh = built.mesh
    flood = make_flood(mesh.polygon_count)
    assert wall_distance(mesh, locate(mesh, 15.0, 3.5, 2), 15.0, 3.5, 1.0, flood) == pytest.approx(0.5)


def test_a_line_that_misses_the_edge_of_a_floor_is_refused_with_its_place():
    floors = [
        FloorPlan("ground", shapely.box(0, 0, 10, 10), Plane((0, 0, 0))),
        FloorPlan("ramp", shapely.box(10.01, 4, 20, 6), Plane((10, 0, 0), (0.1, 0.0))),
    ]
    with pytest.raises(
        NavigationError, match=r'from \(10, 4\) to \(10, 6\) does not lie on the edge of "ramp"'
    ):
        build_floors(floors, [Join((0, 1), ((10, 4), (10, 6)), 0.0)])


@pytest.mark.parametrize("seed", range(3))
def test_neighbours_are_those_that_share_ground(seed):
    """In every storey, on the stair, and round its ends:
    exactly those that stand less than the step off each other's plane.
    """
    _, _, built = two_storeys()
    mesh = built.mesh
    rng = np.random.default_rng(seed)
    places, polygons = [], []
    while len(places) < 250:
        (x, y), layer = rng.uniform((6, 2), (20, 8)), int(rng.integers(3))
        polygon = locate(mesh, x, y, layer)
        if polygon >= 0:
            places.append((x, y, twin.height_at(mesh, polygon, x, y)))
            polygons.append(polygon)
    place, slope = np.array(places), mesh.polygon_slope[polygons]
    cells = CellIndex(1.0).build(
        place[:, :2].copy(), np.zeros(250, np.int32), heights=Heights(place[:, 2].copy(), slope, mesh.step)
    )
    rows, count = np.empty((250, 10), np.int64), np.empty(250, np.int64)
    nearest_rows(0, 250, cells, 10, 4.0, rows, count)
    parted = 0
    for i in range(250):
        square = ((place[:, :2] - place[i, :2]).astype(np.float32) ** 2).sum(axis=1)
        order = [j for j in np.lexsort((np.arange(250), square)) if j != i and square[j] < 16.0]
        meet = [j for j in order if twin.share_ground(place, slope, mesh.step, i, j)]
        parted += len(order) - len(meet)
        assert rows[i, : count[i]].tolist() == meet[:10]
    assert parted > 1000


def test_an_agent_at_the_foot_meets_those_on_the_stair_and_none_under_it():
    """Numbers by hand: at the foot the stair's plane is that of the floor; 3.5 m in, it is 2.19 m up."""
    _, _, built = two_storeys()
    mesh = built.mesh
    spots = [(9.5, 5.0, 0), (10.5, 5.0, 2), (13.5, 5.0, 0), (13.5, 5.0, 2), (15.5, 5.0, 1)]
    polygon = np.array([locate(mesh, x, y, layer) for x, y, layer in spots])
    assert np.all(polygon >= 0)
    position = np.array([spot[:2] for spot in spots])
    z = np.empty(5)
    heights_at(0, 5, mesh, polygon, position, z)
    cells = CellIndex(1.0).build(
        position, np.zeros(5, np.int32), heights=Heights(z, mesh.polygon_slope[polygon], mesh.step)
    )
    rows, count = np.empty((5, 4), np.int64), np.empty(5, np.int64)
    nearest_rows(0, 5, cells, 4, 4.5, rows, count)
    meets = [set(row[:n].tolist()) for row, n in zip(rows, count, strict=True)]
    assert meets == [{1, 2}, {0, 3}, {0}, {1, 4}, {3}]
