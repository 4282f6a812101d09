"""Paths over cells are walked past the walls at which the ground ends,
by agents that cells know nothing of.
"""

import itertools

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.clear_line import is_clear_line
from crowdsim.navigation.grid.clearance import SPARE_M, walked
from crowdsim.navigation.grid.grid import Area, build_grid
from crowdsim.navigation.grid.parameters import GridParameters, PathParameters
from crowdsim.navigation.grid.planner import GridPlanner
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.mesh.mesh import locate_many, make_flood
from tests.reference import grid_clearance
from tests.reference.nudge import clearance_of_line

RADIUS = 0.2


def ground_of(seed):
    """Rooms two by two with walls of 0.8 m between them, doors of 0.7 to 1.4 m, and a table in some."""
    rng = np.random.default_rng(seed)
    parts, tables = [], []
    for i in range(2):
        for j in range(2):
            x, y = 5.0 * i, 5.0 * j
            parts.append(shapely.box(x, y, x + 4.2, y + 4.2))
            door, at = rng.uniform(0.7, 1.4, 2), rng.uniform(0.8, 2.0, 2)
            parts += [shapely.box(x + 4.2, y + at[0], x + 5.0, y + at[0] + door[0])] if i == 0 else []
            parts += [shapely.box(x + at[1], y + 4.2, x + at[1] + door[1], y + 5.0)] if j == 0 else []
            tables += [shapely.box(x + 1.8, y + 1.8, x + 2.4, y + 2.6)] if rng.uniform() < 0.5 else []
    return shapely.union_all(parts).difference(shapely.union_all(tables))


def polygons(mesh, points):
    out = np.empty(len(points), dtype=np.int64)
    locate_many(0, len(points), mesh, points, np.zeros(len(points), dtype=np.int32), out)
    return out


def paths(seed, count=12):
    """Ground, its mesh, a grid of [Pathfinding undated] over it, and paths over that grid:
    (start points, waypoints, where each begins).
    """
    rng, ground = np.random.default_rng(seed), ground_of(seed)
    grid = build_grid([Area("all", ground)], (), GridParameters())
    free = ground.buffer(-RADIUS - SPARE_M)
    points = []
    while len(points) < 2 * count:
        point = rng.uniform(0.0, 9.2, 2)
        points += [point] if shapely.contains_xy(free, *point) else []
    points = np.array(points)
    planner = GridPlanner(
        grid, points[count:], PathParameters(keep_off_edges=False, agent_radius=0.45, sight="sampled")
    )
    rows = np.arange(count)
    planner.submit(0, rows + 1, points[:count], rows, rows.astype(np.int32), np.full(count, RADIUS))
    answers, _ = planner.advance(1 << 30, Team(1))
    return ground, build_mesh(ground).mesh, grid, points[:count], answers


@pytest.mark.parametrize("seed", range(8))
def test_paths_past_walls_are_those_of_the_twin(seed):
    ground, mesh, grid, starts, answers = paths(seed)
    waypoint, start = walked(
        mesh,
        grid.ground,
        answers.waypoint,
        answers.start,
        starts,
        polygons(mesh, starts),
        np.full(len(starts), RADIUS),
    )
    flood, state, crossed, more = (
        make_flood(mesh.polygon_count),
        np.zeros(3, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
        0,
    )

    def gets_straight(a, b, radius):
        under = int(polygons(mesh, np.array([a]))[0])
        return bool(is_clear_line(mesh, under, *a, *b, radius, flood, state, crossed))

    for row, place in enumerate(starts.tolist()):
        own = answers.waypoint[answers.start[row] : answers.start[row + 1]].tolist()
        want = grid_clearance.lead_past_walls(
            ground, (grid.x, grid.y, 0.4), [tuple(each) for each in own], tuple(place), RADIUS, gets_straight
        )
        got = waypoint[start[row] : start[row + 1]]
        np.testing.assert_allclose(got, want, atol=1e-6)
        more += len(got) > len(own)
    assert more > 0, "no line went through a wall"


@pytest.mark.parametrize("seed", range(8))
def test_agents_get_from_each_waypoint_to_the_next_without_touching_a_wall(seed):
    """What a line of sight takes for ground ends half a cell behind a wall;
    of the plain paths many a leg touches one, of these none.
    """
    ground, mesh, grid, starts, answers = paths(seed)
    waypoint, start = walked(
        mesh,
        grid.ground,
        answers.waypoint,
        answers.start,
        starts,
        polygons(mesh, starts),
        np.full(len(starts), RADIUS),
    )

    def touching(points, begin):
        legs = [
            [place, *points[begin[row] : begin[row + 1]].tolist()]
            for row, place in enumerate(starts.tolist())
        ]
        return sum(
            clearance_of_line(ground, a, b) < RADIUS - 1e-6
            for path in legs
            for a, b in itertools.pairwise(path)
        )

    assert touching(waypoint, start) == 0 < touching(answers.waypoint, answers.start)
    np.testing.assert_array_equal(np.diff(start) > 0, np.diff(answers.start) > 0)


def test_a_path_with_room_stays_as_it_is_to_the_last_bit():
    ground = shapely.box(0, 0, 10, 10)
    mesh, grid = build_mesh(ground).mesh, build_grid([Area("all", ground)], (), GridParameters())
    waypoint = np.array([[3.0, 3.0], [7.0, 3.0], [7.0, 9.5]])
    there = np.array([[1.0, 1.0]])
    found, start = walked(
        mesh, grid.ground, waypoint, np.array([0, 3]), there, polygons(mesh, there), np.array([0.3])
    )
    assert np.array_equal(found, waypoint) and start.tolist() == [0, 3]


def test_waypoints_at_and_off_the_edge_and_paths_without_any_are_borne():
    ground = shapely.box(0, 0, 4, 4)
    mesh, grid = build_mesh(ground).mesh, build_grid([Area("all", ground)], (), GridParameters())
    waypoint = np.array([[4.0, 2.0], [4.1, 3.0], [0.0, 0.0]])
    there = np.array([[1.0, 1.0], [2.0, 2.0]])
    found, start = walked(
        mesh, grid.ground, waypoint, np.array([0, 3, 3]), there, polygons(mesh, there), np.array([0.2, 0.2])
    )
    assert start.tolist() == [0, len(found), len(found)]
    assert found[0] == pytest.approx((3.7, 2.0), abs=2e-2) and found[-1] == pytest.approx(
        (0.3, 0.3), abs=2e-2
    )
    assert [4.1, 3.0] in found.tolist(), "what is no ground stays where it is"
