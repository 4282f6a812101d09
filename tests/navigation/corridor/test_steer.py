"""Agents find the next corner every tick, walk the path that was measured, and guess while they have none."""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.corridor.corridors import Corridors
from crowdsim.navigation.corridor.steer import guess_many
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh, mesh_from_polygons
from tests.navigation.walkers import Walkers
from tests.navigation.worlds import OnePlanner, free_points, located, pillar_hall, random_ground, rooms
from tests.reference import steer as twin

SPEED, TICK = 1.3, 0.05


def walk_there(ground, seed, radius, cells, count=8):
    """Walk agents to one goal; return the lengths walked and measured of those more than half a metre from
    it.
    """
    rng = np.random.default_rng(seed)
    mesh = build_mesh(ground, parameters=MeshParameters(faces=cells)).mesh
    points, part = free_points(ground, radius, count + 1, rng)
    if len(points) < 2:
        return np.zeros(0), np.zeros(0)
    goal, starts = points[0], points[1:][part[1:] == part[0]]
    walkers = Walkers(mesh, starts, radius)
    measured = walkers.head_for(shapely.Point(goal))
    assert np.isfinite(measured).all()
    walked = np.zeros(len(starts))
    walls = ground.boundary
    # A point steers at the corner itself and turns only once it is past it, up to a step; agents follow arcs.
    tick = TICK if radius > 0.0 else 0.25 * TICK
    for _ in range(int(1.3 * measured.max(initial=0.0) / SPEED / tick) + 40):
        walkers.steer(SPEED, tick)
        before = walkers.position
        walkers.walk(before + walkers.velocity * tick)
        walked += np.hypot(*(walkers.position - before).T)
    assert np.hypot(*(walkers.position - goal).T).max(initial=0.0) <= 0.011, "an agent did not arrive"
    assert shapely.distance(walls, shapely.points(walkers.position)).min(initial=9.0) >= radius - 1e-6
    far = measured > 0.5
    return walked[far], measured[far]


@pytest.mark.sample(1)
@pytest.mark.parametrize("cells", ["polygons", "triangles"])
@pytest.mark.parametrize("radius", [0.0, 0.1, 0.25, 0.5])
def test_walking_to_the_next_corner_arrives_over_the_measured_length(radius, cells):
    total = excess = 0
    for make, seed in (
        (random_ground, 3),
        (random_ground, 12),
        (rooms, 1),
        (pillar_hall, 4),
        (random_ground, 1),
    ):
        walked, measured = walk_there(make(seed), seed, radius, cells)
        assert np.all(walked <= 1.01 * measured + 0.01)
        assert np.all(walked >= measured - 0.02)
        total, excess = total + measured.sum(), excess + (walked - measured).sum()
    assert total > 30.0 and excess < 0.002 * total


@pytest.mark.full
@pytest.mark.parametrize("seed", range(300))
def test_hundreds_of_crowds_walk_the_measured_lengths(seed):
    for radius in (0.0, 0.1, 0.25, 0.5):
        for cells in ("polygons", "triangles"):
            walked, measured = walk_there(random_ground(seed), seed, radius, cells)
            assert np.all(walked <= (1.01 if radius > 0.0 else 1.05) * measured + 0.01)


@pytest.mark.parametrize("radius", [0.0, 0.2])
@pytest.mark.parametrize("make, seed", [(random_ground, 3), (random_ground, 12), (rooms, 2)])
def test_the_next_corner_is_the_first_of_the_whole_path(make, seed, radius):
    """Steering looks at a few portals only; the whole path, pulled from the goal, must begin the same."""
    ground = make(seed)
    mesh = build_mesh(ground).mesh
    points, part = free_points(ground, radius, 60, np.random.default_rng(seed))
    goal, *starts = points[part == np.argmax(np.bincount(part))]
    walkers, planner = Walkers(mesh, starts, radius), OnePlanner(mesh)
    walkers.head_for(shapely.Point(goal))
    walkers.steer(SPEED, TICK)
    paths = 0
    for row, start in enumerate(starts):
        planner.search(start, walkers.goals, radius)
        path, _, _ = planner.string(start, walkers.goals, radius)
        paths += len(path) > 2
        assert walkers.corner[row] == pytest.approx(path[1], abs=1e-9)
        heading = (path[1] - start) / np.hypot(*(path[1] - start))
        assert walkers.velocity[row] == pytest.approx(SPEED * heading, abs=1e-9)
    assert paths > 10


@pytest.mark.sample(1)
@pytest.mark.parametrize("cells", ["polygons", "triangles"])
@pytest.mark.parametrize("seed", [3, 12])
def test_points_steer_where_the_reference_does(seed, cells):
    ground = random_ground(seed)
    mesh = build_mesh(ground, parameters=MeshParameters(faces=cells)).mesh
    points, part = free_points(ground, 0.0, 40, np.random.default_rng(seed))
    goal, *starts = points[part == np.argmax(np.bincount(part))]
    walkers = Walkers(mesh, starts, 0.0)
    walkers.head_for(shapely.Point(goal))
    walkers.steer(SPEED, TICK)
    for row, start in enumerate(starts):
        expected = twin.next_corner(mesh, walkers.corridor(row), tuple(start), tuple(goal))
        assert walkers.corner[row] == pytest.approx(expected, abs=1e-9)


def test_a_agent_does_not_overshoot_its_goal_and_stands_still_there():
    walkers = Walkers(build_mesh(shapely.box(0, 0, 10, 10)).mesh, np.array([[3.0, 3.0]]), 0.2)
    walkers.head_for(shapely.Point(3.4, 3.3))
    for _ in range(12):
        walkers.steer(SPEED, TICK)
        walkers.walk(walkers.position + walkers.velocity * TICK)
    assert walkers.position[0] == pytest.approx((3.4, 3.3), abs=1e-12)
    walkers.position[0] = 3.4, 3.3
    walkers.steer(SPEED, TICK)
    assert walkers.velocity.tolist() == [[0.0, 0.0]]


def test_agents_that_do_not_want_to_are_left_alone():
    walkers = Walkers(build_mesh(shapely.box(0, 0, 10, 10)).mesh, np.array([[3.0, 3.0], [4.0, 4.0]]), 0.2)
    walkers.head_for(shapely.Point(8, 8))
    walkers.wants[1] = 0
    walkers.velocity[:] = walkers.corner[:] = 7.0
    walkers.steer()
    assert walkers.velocity[1].tolist() == walkers.corner[1].tolist() == [7.0, 7.0]
    assert walkers.corner[0].tolist() == [8.0, 8.0]


def test_a_push_changes_the_corner_at_once():
    ground = shapely.box(0, 0, 10, 10).difference(shapely.box(4, 4, 6, 6))
    walkers = Walkers(build_mesh(ground).mesh, np.array([[2.0, 5.1]]), 0.2)
    walkers.head_for(shapely.Point(8, 5.1))
    walkers.steer()
    assert walkers.corner[0, 1] > 6.0
    walkers.walk(np.array([[2.0, 6.5]]))
    walkers.steer()
    assert walkers.corner[0].tolist() == [8.0, 5.1] or walkers.corner[0, 1] == pytest.approx(6.2, abs=0.2)
    assert walkers.velocity[0, 0] > 1.29


@pytest.mark.full
def test_a_straight_path_over_very_many_portals_is_followed_to_its_end():
    """Longer than the vertices that fit: the corridor has portals beside 2,500 needles."""
    count = 2500
    x = np.arange(1, count + 1)
    needles = shapely.union_all([shapely.Polygon([(k, 3.0), (k + 0.1, 2.0), (k + 0.2, 3.0)]) for k in x])
    ground = shapely.box(0, 0, count + 2, 3).difference(needles)
    mesh = build_mesh(ground).mesh
    walkers = Walkers(mesh, np.array([[0.5, 0.5]]), 0.2, room=1 << 15)
    measured = walkers.head_for(shapely.Point(count + 1.5, 0.5))
    assert measured[0] == pytest.approx(count + 1.0)
    walkers.steer()
    assert walkers.velocity[0, 0] > 1.2


def guess(mesh, goals, position, radius, trails, guessed=None):
    """Return velocities, corners and choices of guesses;
    trails are lists of the portals of the paths back.
    """
    count = len(position)
    velocity, corner = np.full((count, 2), 9.0), np.full((count, 2), 9.0)
    guessed = np.full((count, 2), -1, dtype=np.int32) if guessed is None else guessed
    ahead = np.array([len(trail) for trail in trails], dtype=np.int32)
    cells, block = (
        np.array([edge for trail in trails for edge in trail], dtype=np.int32),
        np.cumsum([0, *ahead[:-1]]),
    )
    corridors = Corridors(
        cells,
        block,
        ahead,
        located(mesh, position),
        np.full(count, -1, dtype=np.int32),
        position,
        np.full(count, radius),
    )
    goal, wants = np.zeros(count, dtype=np.int32), np.ones(count, dtype=np.uint8)
    guess_many(
        0, count, mesh, goals, corridors, goal, guessed, wants, np.full(count, SPEED), TICK, velocity, corner
    )
    return velocity, corner, guessed


@pytest.mark.parametrize("make, seed", [(random_ground, 3), (rooms, 2), (pillar_hall, 4)])
def test_guesses_agree_with_reference(make, seed):
    ground = make(seed)
    mesh = build_mesh(ground).mesh
    rng = np.random.default_rng(seed)
    position, _ = free_points(ground, 0.2, 40, rng)
    polygon = located(mesh, position)
    most = polygon == np.argmax(np.bincount(polygon))  # the goal is among them
    goals = cut_goals(mesh, [GoalShape(shapely.Point(position[most].mean(axis=0)), reach=0.1)])
    portals = [
        [e for e in range(mesh.polygon_start[p], mesh.polygon_start[p + 1]) if mesh.edge_twin[e] >= 0]
        for p in polygon
    ]
    trails = [rng.permutation(of)[: rng.integers(0, 3)].tolist() for of in portals]
    passed = [[int(mesh.edge_polygon[mesh.edge_twin[edge]]) for edge in trail] for trail in trails]
    velocity, corner, _ = guess(mesh, goals, position, 0.2, trails)
    stays = there = 0
    for row, start in enumerate(position):
        expected = twin.guess(mesh, goals, polygon[row], start, 0.4, passed[row])
        stays += expected is None
        there += polygon[row] in goals.piece_polygon
        if expected is None:
            assert velocity[row].tolist() == [0.0, 0.0] and corner[row] == pytest.approx(start)
        else:
            assert corner[row] == pytest.approx(expected, abs=2e-3)
            assert velocity[row] == pytest.approx(
                SPEED * (corner[row] - start) / np.hypot(*(corner[row] - start))
            )
    assert stays < len(position) / 2 and there > 1


def test_in_the_polygon_of_its_goal_a_guess_goes_straight_there_and_stops():
    mesh = build_mesh(shapely.box(0, 0, 20, 10).difference(shapely.box(12, 4, 14, 6))).mesh
    region = shapely.box(1, 1, 3, 2)
    for shape, nearest in ((shapely.Point(2, 2), (2, 2)), (region, (3, 2))):
        goals = cut_goals(mesh, [GoalShape(shape, reach=0.1)])
        start = np.array([[4.0, 3.0]])
        assert located(mesh, start)[0] in goals.piece_polygon
        velocity, corner, _ = guess(mesh, goals, start, 0.2, [[]])
        assert corner[0] == pytest.approx(nearest)
        towards = np.subtract(nearest, start[0])
        assert velocity[0] == pytest.approx(SPEED * towards / np.hypot(*towards))
    goals = cut_goals(mesh, [GoalShape(shapely.Point(4, 3.01), reach=0.1)])
    velocity, _, _ = guess(mesh, goals, start, 0.2, [[]])
    assert velocity[0] * TICK == pytest.approx([0.0, 0.01])  # no farther in a tick


def two_rooms():
    """A room of 4 x 10 m and one of 4 x 4 m, with a portal of 4 m between them."""
    corners = [(0, 0), (4, 0), (4, 3), (4, 7), (4, 10), (0, 10), (8, 3), (8, 7)]
    return mesh_from_polygons(np.array(corners, dtype=np.float64), [[0, 1, 2, 3, 4, 5], [2, 6, 7, 3]])[0]


@pytest.mark.parametrize(
    ("start", "goal", "aim"),
    [
        ((1.0, 4.0), (7.0, 4.0), (4.0, 4.0)),
        ((2.0, 7.0), (6.0, 5.0), (4.0, 6.0)),
        ((3.0, 1.0), (7.0, 3.5), (4.0, 3.2)),  # as near to the end as there is room for a body
        ((4.0, 5.0), (7.0, 3.5), (4.0, 5.0)),  # in the portal: on over it
    ],
)
def test_a_guess_leads_straight_on_where_the_goal_is_straight_over_a_portal(start, goal, aim):
    """Not to the middle of the portal."""
    goals = cut_goals(two_rooms(), [GoalShape(shapely.Point(goal), reach=0.1)])
    velocity, corner, _ = guess(two_rooms(), goals, np.array([start]), 0.2, [[]])
    assert corner[0] == pytest.approx(aim)
    towards = np.subtract(aim, start) if aim != start else np.array([1.0, 0.0])
    assert velocity[0] == pytest.approx(SPEED * towards / np.hypot(*towards))


@pytest.mark.parametrize(
    ("start", "to"),
    [
        ((3.0, 5.0), (4.5, 5.0)),  # nearer, and straight over the portal
        ((1.5, 8.0), (1.0, 9.0)),  # that which is here is nearer
        ((3.8, 1.0), (1.0, 9.0)),  # the other is nearer, but round a corner
    ],
)
def test_of_two_pieces_of_a_goal_a_guess_takes_the_nearer_if_nothing_is_seen_to_be_in_between(start, to):
    squares = [shapely.box(x - 0.1, y - 0.1, x + 0.1, y + 0.1) for x, y in ((1.0, 9.0), (4.5, 5.0))]
    goals = cut_goals(two_rooms(), [GoalShape(shapely.union_all(squares))])
    velocity, _, _ = guess(two_rooms(), goals, np.array([start]), 0.2, [[]])
    towards = np.subtract(to, start) / np.hypot(*np.subtract(to, start))
    assert velocity[0] @ towards > 0.995 * SPEED
    expected = twin.guess(two_rooms(), goals, 0, start, 0.4)
    towards = np.subtract(expected, start) / np.hypot(*np.subtract(expected, start))
    assert velocity[0] == pytest.approx(SPEED * towards, abs=2e-3)


def test_a_guess_holds_in_a_polygon_wherever_the_agent_is_in_it():
    mesh = build_mesh(pillar_hall(4)).mesh
    rng = np.random.default_rng(4)
    goals = cut_goals(mesh, [GoalShape(shapely.Point(1, 1), reach=0.1)])
    first, moved = free_points(pillar_hall(4), 0.2, 400, rng)[0][:200].reshape(2, 100, 2)
    together = np.argwhere(located(mesh, first)[:, None] == located(mesh, moved)[None]).tolist()
    anew = 0
    for i, j in together:
        _, _, guessed = guess(mesh, goals, first[i : i + 1], 0.2, [[]])
        kept = guess(mesh, goals, moved[j : j + 1], 0.2, [[]], guessed.copy())[2]
        assert np.array_equal(kept, guessed)
        anew += not np.array_equal(guess(mesh, goals, moved[j : j + 1], 0.2, [[]])[2], guessed)
    assert anew > 0  # elsewhere in the polygon another portal would be chosen


def test_of_several_portals_to_one_polygon_a_guess_takes_the_best_each_time():
    """The border of two rooms is three portals, the narrowest of them too narrow."""
    x, y = [0, 4, 4, 4, 4, 0, 8, 8], [0, 0, 0.3, 3, 6, 6, 0, 6]
    mesh, _ = mesh_from_polygons(
        np.array([x, y], dtype=np.float64).T, [[0, 1, 2, 3, 4, 5], [1, 6, 7, 4, 3, 2]]
    )
    goals = cut_goals(mesh, [GoalShape(shapely.Point(7.5, 4.6), reach=0.1)])
    guessed, portals = np.full((1, 2), -1, dtype=np.int32), set()
    for start in ((1.0, 0.5), (1.0, 5.5), (3.9, 0.2), (3.9, 5.9), (2.0, 3.0)):
        velocity, corner, guessed = guess(mesh, goals, np.array([start]), 0.2, [[]], guessed)
        expected = twin.guess(mesh, goals, 0, start, 0.4)
        assert corner[0] == pytest.approx(expected, abs=2e-3) and guessed.tolist() == [[0, 1]]
        assert velocity[0] == pytest.approx(SPEED * (corner[0] - start) / np.hypot(*(corner[0] - start)))
        portals.add(bool(corner[0, 1] < 3.0))
    assert len(portals) == 2


def test_a_guess_for_a_goal_that_is_nowhere_stays():
    mesh = build_mesh(shapely.box(0, 0, 4, 4)).mesh
    goals = cut_goals(mesh, [GoalShape(shapely.Point(99, 99))])
    velocity, corner, _ = guess(mesh, goals, np.array([[1.0, 2.0]]), 0.2, [[]])
    assert velocity.tolist() == [[0.0, 0.0]] and corner.tolist() == [[1.0, 2.0]]
