"""A point never leaves the mesh and an agent keeps its radius, however they are pushed;
what is not towards a wall is kept.
"""

import numpy as np
import pytest
import shapely
from shapely import affinity

from crowdsim.navigation.mesh.build import build_mesh
from tests.navigation.walkers import Walkers
from tests.navigation.worlds import UTM, free_points, outlines, pillar_hall, random_ground, rooms
from tests.reference import walk as twin
from tests.reference.search import is_connected

RADII = (0.0, 0.05, 0.2, 0.5)
KEEP_M = 1e-6  # What an agent may lack of its radius: rounding at UTM coordinates.


def check_moves(ground, seed, radius, agents, steps, stride):
    """Move agents at random and assert after every step what holds for walking;
    return the number of moves.
    """
    rng = np.random.default_rng(seed)
    mesh = build_mesh(ground).mesh
    walkers = Walkers(mesh, free_points(ground, radius, agents, rng)[0], radius)
    count = len(walkers.position)
    walls = ground.boundary
    polygons = np.array(outlines(mesh))
    shapely.prepare(walls)
    shapely.prepare(ground)
    rounding = 1e-9 + 4e-16 * np.abs(mesh.vertex).max()
    for _ in range(steps):
        target = walkers.position + stride * rng.standard_normal((count, 2))
        walkers.walk(target)
        points = shapely.points(walkers.position)
        apart = shapely.distance(walls, points)
        assert np.all(shapely.covers(ground, points) | (apart <= rounding)), "a point left the ground"
        assert np.all(apart >= radius - KEEP_M), f"an agent of {radius} m is {apart.min()} m from a wall"
        assert np.all(walkers.clear <= apart + KEEP_M), (
            "there is a wall within a distance that was promised to be clear"
        )
        # To the polygon, not to the lines of its edges: two edges that are nearly one line reach far beyond
        # each other's.
        beside = shapely.distance(polygons[walkers.polygon], points)
        assert beside.max(initial=0.0) <= rounding, "a point is not in the polygon that is tracked"
        untouched = walkers.touched == 0
        assert np.array_equal(walkers.position[untouched], target[untouched]), (
            "a step that met no wall was changed"
        )
    return count * steps


@pytest.mark.sample(1)
@pytest.mark.parametrize("offset", [(0.0, 0.0), UTM], ids=["near the origin", "UTM"])
@pytest.mark.parametrize("radius", RADII)
def test_random_moves_never_leave_the_mesh_nor_enter_walls(radius, offset):
    moves = 0
    for seed, make in ((3, random_ground), (12, random_ground), (1, rooms), (4, pillar_hall)):
        ground = affinity.translate(make(seed), *offset)
        for stride in (0.1, 0.6):
            moves += check_moves(ground, seed, radius, 40, 20, stride)
    assert moves >= 2500


@pytest.mark.full
@pytest.mark.parametrize("offset", [(0.0, 0.0), UTM], ids=["near the origin", "UTM"])
@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("stride", [0.05, 0.3, 2.0])
def test_a_million_random_moves_never_leave_the_mesh_nor_enter_walls(radius, offset, stride):
    moves, seed = 0, 0
    while moves < 1_000_000 / 24:
        seed += 1
        moves += check_moves(affinity.translate(random_ground(seed), *offset), seed, radius, 100, 50, stride)


@pytest.mark.parametrize("seed", [1, 3, 12, 18])
def test_points_walk_as_the_reference_does(seed):
    ground = random_ground(seed)
    mesh = build_mesh(ground).mesh
    rng = np.random.default_rng(seed)
    walkers = Walkers(mesh, free_points(ground, 0.0, 60, rng)[0], 0.0)
    boundary, begin = twin.boundary_of(mesh), walkers.position.copy()
    target = begin + 1.5 * rng.standard_normal((60, 2))
    walkers.walk(target)
    expected = np.array([twin.walk_point(boundary, *a, *b) for a, b in zip(begin.tolist(), target.tolist())])
    apart = np.hypot(*(walkers.position - expected).T)
    assert walkers.touched.sum() > 15
    assert np.all(apart <= 1e-9)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [1, 3, 12])
def test_agents_walk_as_the_reference_does(seed):
    ground = random_ground(seed)
    mesh = build_mesh(ground).mesh
    rng = np.random.default_rng(seed)
    walkers = Walkers(mesh, free_points(ground, 0.2, 40, rng)[0], 0.2)
    boundary, begin = twin.boundary_of(mesh), walkers.position.copy()
    target = begin + 0.4 * rng.standard_normal(begin.shape)
    walkers.walk(target)
    ends = [twin.walk_disc(boundary, *a, *b, 0.2) for a, b in zip(begin.tolist(), target.tolist())]
    placed = [row for row, end in enumerate(ends) if end is not None]
    assert len(placed) >= 0.8 * len(ends) and walkers.touched.sum() > 5
    for row in placed:
        assert walkers.position[row] == pytest.approx(ends[row], abs=1e-6)


@pytest.mark.parametrize("radius", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("degrees", range(-80, 90, 20))
def test_sliding_keeps_the_part_along_the_wall(radius, degrees):
    for turn in (0.0, 33.0, 90.0, 211.0):
        room = affinity.rotate(shapely.box(-50, 0, 50, 10), turn, origin=(0, 0))
        cos, sin = np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))
        rotate = np.array([[cos, sin], [-sin, cos]])
        walkers = Walkers(build_mesh(room).mesh, np.array([[0.0, radius + 1e-6]]) @ rotate, radius)
        step = 0.1 * np.array([np.sin(np.deg2rad(degrees)), -np.cos(np.deg2rad(degrees))])
        for _ in range(20):
            walkers.walk(walkers.position + step @ rotate)
        along, height = (walkers.position[0] @ rotate.T).tolist()
        assert along == pytest.approx(20 * step[0], abs=1e-6)
        assert height == pytest.approx(radius, abs=2e-6)
        assert walkers.touched[0] == 1


def thin_wall(wall=0.05):
    """Return a room with a free-standing wall of 5 cm and 3 m."""
    return shapely.box(0, 0, 10, 10).difference(shapely.box(5, 3, 5 + wall, 6))


@pytest.mark.parametrize("radius", [0.05, 0.2, 0.3])
def test_a_thin_wall_stops_agents_that_run_at_it_or_round_its_end(radius):
    """A wall of 5 cm, 3 m/s and a tick of 0.1 s: a step is six times as long as the wall is thick."""
    ground = thin_wall()
    mesh, wall = build_mesh(ground).mesh, ground.interiors[0]
    angles = np.deg2rad(np.arange(0, 360, 3))
    heading = np.c_[np.cos(angles), np.sin(angles)]
    for aim in (
        (5.025, 4.5),
        (5.025, 6.0),
        (5.0, 6.0),
        (5.025, 3.0),
        (5.06, 6.0 + radius),
        (5.0 - radius, 6.0 + radius),
    ):
        start = np.array(aim) - (radius + 0.7) * heading
        free = shapely.distance(wall, shapely.points(start)) >= radius
        assert free.sum() > 80
        walkers, toward = Walkers(mesh, start[free], radius), heading[free]
        side = np.sign(walkers.position[:, 0] - 5.025)
        for _ in range(20):
            before = walkers.position.copy()
            walkers.walk(before + 0.3 * toward)
            points = shapely.points(walkers.position)
            assert shapely.distance(wall, points).min() >= radius - 0.01
            # round an end it is a little farther
            assert np.hypot(*(walkers.position - before).T).max() <= 0.31
            within = (np.abs(before[:, 1] - 4.5) < 1.2) & (np.abs(walkers.position[:, 1] - 4.5) < 1.2)
            assert np.array_equal(
                np.sign(walkers.position[within, 0] - 5.025), np.sign(before[within, 0] - 5.025)
            ), "an agent went through the wall"
        if aim == (5.025, 4.5):
            straight = np.abs(toward[:, 0]) > 0.98
            assert np.array_equal(np.sign(walkers.position[straight, 0] - 5.025), side[straight])


@pytest.mark.parametrize(
    "radius, slit", [(0.2, 0.02), (0.2, 0.1), (0.2, 0.38), (0.2, 0.3999), (0.05, 0.02), (0.5, 0.999)]
)
def test_no_agent_is_pushed_through_a_gap_narrower_than_itself(radius, slit):
    """Just before a gap of nearly its diameter an agent is clear of both sides,
    and a step behind it as well.
    """
    ground = shapely.box(0, 0, 10, 10).difference(
        shapely.union_all([shapely.box(5, 0, 5.05, 5 - slit / 2), shapely.box(5, 5 + slit / 2, 5.05, 10)])
    )
    mesh = build_mesh(ground).mesh
    angles = np.deg2rad(np.linspace(-89, 89, 60))
    heading = np.vstack([np.c_[np.cos(angles), np.sin(angles)], np.tile([1.0, 0.0], (60, 1))])
    start = np.c_[
        np.full(120, 4.999 - radius), np.tile(np.linspace(5 - 1.5 * radius, 5 + 1.5 * radius, 60), 2)
    ]
    for push in (0.05, 0.1, 0.3, 0.4, 0.6, 1.0, 3.0):
        walkers = Walkers(mesh, start, radius)
        for _ in range(6):
            walkers.walk(walkers.position + push * heading)
            assert walkers.position[:, 0].max() < 5.0
            assert (
                shapely.distance(ground.boundary, shapely.points(walkers.position)).min() >= radius - KEEP_M
            )
    passers = Walkers(mesh, np.c_[np.full(9, 4.9), np.full(9, 5.0)], 0.4999 * slit)
    for _ in range(12):
        passers.walk(passers.position + np.array([0.03, 0.0]))
    assert passers.position[:, 0].min() > 5.2


def test_a_lone_agent_walks_bit_exactly_straight_in_the_open():
    ground = shapely.box(0, 0, 60, 60).difference(shapely.box(30, 40, 31, 41))
    walkers = Walkers(build_mesh(ground).mesh, np.array([[3.0, 7.0]]), 0.25)
    position = np.array([[3.0, 7.0]])
    for _ in range(600):
        position = position + np.array([[1.3, 0.7]]) * 0.05
        walkers.walk(position)
        assert np.array_equal(walkers.position, position) and walkers.touched[0] == 0


def test_an_agent_that_does_not_move_stays_exactly_where_it_is():
    walkers = Walkers(build_mesh(thin_wall()).mesh, np.array([[4.8, 4.0], [4.7, 4.0]]), 0.2)
    begin = walkers.position.copy()
    walkers.walk(begin.copy())
    assert np.array_equal(walkers.position, begin) and not walkers.touched.any()


def test_a_agent_that_stands_too_near_to_a_wall_comes_free_of_it():
    walkers = Walkers(build_mesh(shapely.box(0, 0, 10, 10)).mesh, np.array([[5.0, 0.05], [9.95, 9.9]]), 0.2)
    walkers.walk(walkers.position + np.array([[0.01, 0.0], [0.0, 0.01]]))
    assert walkers.position.min() >= 0.2 - KEEP_M and walkers.position.max() <= 9.8 + KEEP_M


def test_a_agent_in_a_corner_of_ten_degrees_stops_where_it_fits():
    wedge = shapely.Polygon([(0, 0), (20, 0), (20, 20 * np.tan(np.deg2rad(10)))])
    walkers = Walkers(build_mesh(wedge).mesh, np.array([[15.0, 1.0]]), 0.3)
    for _ in range(300):
        walkers.walk(walkers.position + np.array([[-0.1, -0.003]]))
        assert wedge.boundary.distance(shapely.Point(walkers.position[0])) >= 0.3 - KEEP_M
    assert walkers.position[0, 0] == pytest.approx(0.3 / np.tan(np.deg2rad(5)), abs=0.05)


@pytest.mark.parametrize(
    "seed, make", [(3, random_ground), (12, random_ground), (2, rooms), (4, pillar_hall)]
)
def test_corridors_lead_on_to_the_goal_after_any_push(seed, make):
    """Pushed off its corridor an agent finds the portals put before it or cut off,
    so that they always lead from where it is to the goal.
    """
    ground = make(seed)
    mesh = build_mesh(ground).mesh
    rng = np.random.default_rng(seed)
    points, part = free_points(ground, 0.15, 60, rng)
    largest = np.argmax(np.bincount(part))
    goal, *points = points[part == largest]
    walkers = Walkers(mesh, points, 0.15)
    lengths = walkers.head_for(shapely.Point(goal))
    assert np.isfinite(lengths).all() and len(lengths) > 10
    longer = shorter = 0
    for _ in range(60):
        before = walkers.ahead.copy()
        walkers.walk(walkers.position + 0.5 * rng.standard_normal(walkers.position.shape))
        for row in range(len(lengths)):
            if walkers.ahead[row] >= 0:
                assert is_connected(
                    mesh, walkers.goals, walkers.corridor(row), walkers.polygon[row], walkers.piece[row]
                )
        longer += int(np.sum(walkers.ahead > before))
        shorter += int(np.sum(walkers.ahead < before))
    assert longer > 20 and shorter > 20
    assert np.mean(walkers.ahead >= 0) > 0.9


def test_a_agent_that_strays_farther_than_its_block_can_note_is_told_so():
    hall = pillar_hall(14)
    walkers = Walkers(build_mesh(hall).mesh, np.array([[0.5, 0.5]]), 0.1, room=16)
    walkers.head_for(shapely.Point(1.2, 0.5))
    assert 0 <= walkers.ahead[0] <= 2
    for _ in range(300):
        walkers.walk(walkers.position + np.array([[0.05, 0.0]]))
        if walkers.ahead[0] < 0:
            break
    assert walkers.ahead[0] == -1
    assert walkers.position[0, 0] > 3.0
