"""A path as a curve: inside its polygons, off walls, without kinks where pieces meet, and where its twin lays
it.
"""

import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.corridors import Corridor, Corridors
from crowdsim.navigation.corridor.curve import (
    LEAST_LOOK_M,
    LOOK_TICKS,
    TOUCH_M,
    Curve,
    curve_many,
    curve_through,
    is_off_walls,
    make_curve_work,
)
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.visibility.planner import VisibilityPlanner
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.states import has_path
from tests.crowds import SCENARIOS
from tests.navigation.worlds import (
    free_points,
    located,
    outlines,
    pillar_hall,
    random_ground,
    rooms,
)
from tests.reference import curve as twin

SPEED, TICK = 1.3, 0.05
MAKERS = {
    "mesh": lambda mesh, goals: MeshPlanner(mesh, goals),
    "optimal": lambda mesh, goals: MeshPlanner(mesh, goals, kind="optimal"),
    "visibility": lambda mesh, goals: VisibilityPlanner(mesh, goals),
}


def corridors_to(mesh, shape, starts, radius, kind="optimal"):
    """Return the goals and the corridors from starts to a shape, with the row of each."""
    goals = cut_goals(mesh, [GoalShape(shape, reach=0.0)])
    planner, count, polygon = MAKERS[kind](mesh, goals), len(starts), located(mesh, starts)
    planner.submit(
        0, np.arange(count), starts, polygon, np.zeros(count, dtype=np.int32), np.full(count, radius)
    )
    answers, _ = planner.advance(10**8, Team())
    found = []
    for place, row in enumerate(answers.entity.tolist()):
        if answers.piece[place] >= 0:
            begin, end = int(answers.start[place]), int(answers.start[place + 1])
            found.append(
                (
                    row,
                    Corridor(
                        answers.portals, begin, end - begin, int(polygon[row]), int(answers.piece[place])
                    ),
                )
            )
    return goals, found


def paths_on(ground, radius, seed, count=12, kind="optimal", faces="polygons"):
    """Return a mesh, goals, and (start, corridor) of random paths on it."""
    mesh = build_mesh(ground, parameters=MeshParameters(faces=faces)).mesh
    points, part = free_points(ground, radius, count, np.random.default_rng(seed))
    goal, starts = points[0], points[1:][part[1:] == part[0]]
    goals, found = corridors_to(mesh, shapely.Point(goal), starts, radius, kind)
    return mesh, goals, [(starts[row], corridor) for row, corridor in found]


def assert_inside(curve: Curve, polygons, count=10_000):
    """Hold hulls and points of all pieces to their polygons; rounding is a nanometre."""
    for control, polygon in zip(curve.control, curve.polygon.tolist(), strict=True):
        outline = polygons[polygon].buffer(1e-9)
        assert outline.covers(shapely.MultiPoint(control).convex_hull)
        points = twin.at(control, np.linspace(0.0, 1.0, count))
        assert shapely.contains_xy(outline, points[:, 0], points[:, 1]).all()


def assert_smooth(curve: Curve):
    """Hold pieces to meet without a gap and without a kink."""
    assert np.array_equal(curve.control[1:, 0], curve.control[:-1, 3])
    before, behind = (
        curve.control[:-1, 3] - curve.control[:-1, 2],
        curve.control[1:, 1] - curve.control[1:, 0],
    )
    assert np.hypot(*before.T).min(initial=1.0) > 1e-6 and np.hypot(*behind.T).min(initial=1.0) > 1e-6
    turn = np.arctan2(
        before[:, 0] * behind[:, 1] - before[:, 1] * behind[:, 0], (before * behind).sum(axis=1)
    )
    assert np.abs(turn).max(initial=0.0) < 1e-6


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", list(MAKERS))
@pytest.mark.parametrize("radius", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("make, seed", [(random_ground, 3), (random_ground, 5), (rooms, 1), (pillar_hall, 4)])
def test_pieces_are_inside_their_polygons_off_walls_and_without_kinks(make, seed, radius, kind):
    ground = make(seed)
    mesh, goals, paths = paths_on(ground, radius, seed, kind=kind)
    polygons, walls, pieces = outlines(mesh), ground.boundary, 0
    for start, corridor in paths:
        curve = curve_through(mesh, goals, corridor, start, radius)
        assert_inside(curve, polygons)
        assert_smooth(curve)
        for control, is_clear in zip(curve.control, curve.is_clear, strict=True):
            assert not is_clear or twin.clearance(walls, control) >= radius - TOUCH_M - 1e-9
        assert np.array_equal(curve.control[0, 0], start)
        pieces += len(curve.control)
    assert pieces > 3 or not paths


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "name, sets, near_walls",
    [
        ("room-evacuation", ["navigation=mesh"], 0.0),
        ("room-evacuation", ["navigation=optimal"], 0.0),
        ("office-floor", ["navigation=optimal"], 0.03),
        ("office-floor", ["navigation={kind: mesh, tile_size: 8}"], 0.03),
        ("concourse", ["navigation=visibility"], 0.03),
        ("two-storeys", ["navigation=mesh"], 0.03),
        ("bridge", ["navigation=mesh"], 0.03),
        # corridors along the well of the stair lead over sectors in which the centre of no agent can be
        ("spiral-stair", ["navigation=mesh"], 0.05),
    ],
)
def test_curves_of_all_agents_of_a_scene_are_inside_their_polygons(name, sets, near_walls):
    scenario = load_scenario(SCENARIOS / f"{name}.yaml", sets=[*sets, "avoidance=none"])
    with Simulation(scenario) as run:
        world, pieces, off = run.world, 0, 0
        for _ in range(3):
            for _ in range(40):
                run.step()
            agents, polygon = world.agents, world.polygons()
            shapes = outlines(world.mesh)
            rows = np.flatnonzero(has_path(agents.path_status) & (agents.goal_piece >= 0))[::5]
            for row in rows.tolist():
                corridor = Corridor(
                    world.corridors.portals, int(agents.corridor_start[row]),
                    int(agents.corridor_length[row]), int(polygon[row]), int(agents.goal_piece[row]),
                )  # fmt: skip
                curve = curve_through(
                    world.mesh, world.goals, corridor, agents.position[row], float(agents.radius[row])
                )
                assert_inside(curve, shapes, count=10_000 if row == rows[0] else 200)
                assert_smooth(curve)
                pieces, off = pieces + len(curve.control), off + int((~curve.is_clear).sum())
        assert pieces > 10
        assert off <= near_walls * pieces


@pytest.mark.sample(1)
@pytest.mark.parametrize("faces", ["polygons", "triangles"])
@pytest.mark.parametrize("radius", [0.0, 0.25])
@pytest.mark.parametrize("make, seed", [(random_ground, 3), (random_ground, 12), (rooms, 2)])
def test_curves_are_laid_where_the_reference_lays_them(make, seed, radius, faces):
    ground = make(seed)
    mesh, goals, paths = paths_on(ground, radius, seed, count=12, faces=faces)
    walls, pieces = ground.boundary, 0
    for start, corridor in paths:
        portals = corridor.portals[corridor.start : corridor.start + corridor.length][::-1].tolist()
        gates = [twin.gate(mesh, edge, radius, start if k == 0 else None) for k, edge in enumerate(portals)]
        end = goals.vertex[goals.vertex_start[corridor.piece]]
        places = twin.crossings(start, gates, end)
        curve = curve_through(mesh, goals, corridor, start, radius)
        assert np.vstack([curve.control[:, 0], curve.control[-1:, 3]]) == pytest.approx(
            np.array(places), abs=1e-6
        )
        places = [*curve.control[:, 0], curve.control[-1, 3]]
        first = (places[1] - places[0]) / np.hypot(*(places[1] - places[0]))
        directions = [first] + [
            twin.tangent(
                mesh, portals[k - 1] if k <= len(portals) else -1, places[k - 1], places[k],
                places[k + 1] if k <= len(portals) else None, radius,
            )
            for k in range(1, len(places))
        ]  # fmt: skip
        for k, polygon in enumerate(curve.polygon.tolist()):
            assert polygon == (
                corridor.polygon if k == 0 else mesh.edge_polygon[mesh.edge_twin[portals[k - 1]]]
            )
            candidates = twin.pieces(
                mesh, polygon, places[k], places[k + 1], directions[k], directions[k + 1], radius
            )
            allowed = twin.chosen(walls, candidates, radius)
            assert min(np.abs(curve.control[k] - each).max() for each in allowed) < 1e-6
            pieces += 1
    assert pieces > 3


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [3, 12])
@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_agents_steer_where_the_reference_does(seed, radius):
    rng, ground = np.random.default_rng(seed), random_ground(seed)
    mesh, goals, paths = paths_on(ground, radius, seed, count=20)
    walls, turned = ground.boundary, 0
    for start, corridor in paths:
        heading = rng.uniform(-1.0, 1.0, 2)
        velocity = SPEED * rng.uniform(0.5, 1.0) * heading / np.hypot(*heading)
        out = np.array([[SPEED, 0.0]])
        corridors = Corridors(
            corridor.portals, np.array([corridor.start]), np.array([corridor.length], dtype=np.int32),
            np.array([corridor.polygon]), np.array([corridor.piece], dtype=np.int32), start[None],
            np.array([radius]),
        )  # fmt: skip
        wants, speed = np.ones(1, dtype=np.uint8), np.full(1, SPEED)
        curve_many(0, 1, mesh, goals, corridors, wants, speed, velocity[None], TICK, out)
        portals = corridor.portals[corridor.start : corridor.start + corridor.length][::-1].tolist()[:12]
        if len(portals) < corridor.length or not portals:
            continue
        gates = [
            twin.gate(mesh, edge, radius, start if k == 0 else None, velocity)
            for k, edge in enumerate(portals)
        ]
        places = twin.crossings(start, gates, goals.vertex[goals.vertex_start[corridor.piece]])
        ahead = places[1] - places[0]
        cosine = float(ahead @ velocity) / (np.hypot(*ahead) * np.hypot(*velocity))
        share = cosine * (np.hypot(*velocity) / SPEED) ** 4 if cosine > 0.0 else 1.0
        begin = velocity / np.hypot(*velocity) if cosine > 0.0 else ahead / np.hypot(*ahead)
        direction = twin.tangent(mesh, portals[0], places[0], places[1], places[2], radius)
        look = max(LEAST_LOOK_M, LOOK_TICKS * SPEED * TICK)
        if np.hypot(*ahead) < 2.0 * look:
            continue  # it is steered at the next piece
        candidates = twin.pieces(
            mesh, corridor.polygon, places[0], places[1], begin, direction, radius, share
        )
        allowed = [
            SPEED * each / np.hypot(*each)
            for each in (
                twin.look_ahead([control], look) - start for control in twin.chosen(walls, candidates, radius)
            )
        ]
        assert min(np.abs(out[0] - each).max() for each in [*allowed, np.array([SPEED, 0.0])]) < 1e-6
        turned += min(np.abs(out[0] - each).max() for each in allowed) < 1e-6
        assert np.hypot(*out[0]) == pytest.approx(SPEED)
    assert turned >= 1


coordinates = st.tuples(st.floats(0.0, 4.0), st.floats(0.0, 4.0))
BOX_WORK, BOX = make_curve_work(4, 1), build_mesh(shapely.box(0.0, 0.0, 4.0, 4.0)).mesh


@given(st.lists(coordinates, min_size=4, max_size=4), st.floats(0.01, 1.0))
@settings(max_examples=300, deadline=None)
def test_a_piece_is_off_walls_where_thousands_of_points_are(control, radius):
    assert BOX.polygon_count == 1
    BOX_WORK.control[:] = control
    left = twin.clearance(shapely.box(0.0, 0.0, 4.0, 4.0).boundary, np.array(control), 4000)
    if abs(left - (radius - TOUCH_M)) > 1e-3 * (1.0 + radius):
        assert is_off_walls(BOX, 0, radius, BOX_WORK) == (left > radius - TOUCH_M)


def test_a_straight_path_stays_straight():
    mesh = build_mesh(shapely.box(0.0, 0.0, 20.0, 2.0), parameters=MeshParameters(faces="triangles")).mesh
    starts = np.array([[0.5, 1.0]])
    goals, [(_, corridor)] = corridors_to(mesh, shapely.Point(19.5, 1.0), starts, 0.25)
    curve = curve_through(mesh, goals, corridor, starts[0], 0.25)
    assert np.abs(curve.control[:, :, 1] - 1.0).max() < 1e-12 and curve.is_clear.all()


def test_a_gate_leaves_the_radius_and_a_berth_at_both_ends():
    """By hand: a doorway of 2 m, a radius of 0.3 m, a berth of 0.15 m."""
    ground = shapely.union_all(
        [shapely.box(0, 0, 4, 6), shapely.box(4, 2, 4.2, 4), shapely.box(4.2, 0, 8, 6)]
    )
    mesh = build_mesh(ground).mesh
    starts = np.array([[0.5, 0.5], [0.5, 5.5]])
    goals, found = corridors_to(mesh, shapely.Point(7.5, 0.5), starts, 0.3)
    for row, corridor in found:
        curve = curve_through(mesh, goals, corridor, starts[row], 0.3)
        through = [place for place in curve.control[1:, 0].tolist() if math.isclose(place[0], 4.0)]
        assert through and through[0][1] == pytest.approx(2.45 if row == 0 else through[0][1])
        assert 2.45 - 1e-9 <= through[0][1] <= 3.55 + 1e-9


def test_no_curve_is_laid_for_agents_that_do_not_follow():
    mesh, goals, [(start, corridor), *_] = paths_on(random_ground(3), 0.2, 3)
    out = np.array([[0.3, 0.4]])
    corridors = Corridors(
        corridor.portals, np.array([corridor.start]), np.array([corridor.length], dtype=np.int32),
        np.array([corridor.polygon]), np.array([corridor.piece], dtype=np.int32), start[None],
        np.array([0.2]),
    )  # fmt: skip
    wants, speed = np.zeros(1, dtype=np.uint8), np.full(1, SPEED)
    curve_many(0, 1, mesh, goals, corridors, wants, speed, np.zeros((1, 2)), TICK, out)
    assert out.tolist() == [[0.3, 0.4]]
