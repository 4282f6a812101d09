"""Paths up and down stairs and round their wells:
strings that go back in line with where they came from, on another floor.
"""

import numpy as np
import pytest
import shapely
from shapely import affinity

from crowdsim.errors import ScenarioError
from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.corridors import Corridor
from crowdsim.navigation.corridor.measure import measure_corridors, measure_path_rows
from crowdsim.navigation.corridor.trace import make_tracing, trace_path
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.search.slot_fields import FOUND
from crowdsim.navigation.visibility.planner import VisibilityPlanner
from crowdsim.scenario.load import parse_scenario
from crowdsim.setup.build import build_world
from tests.navigation.worlds import located
from tests.reference import funnel as twin
from tests.reference import heights
from tests.reference.mesh import depth_in_polygon

WIDE, DEEP, RISE = 20, 12, 3.0


def house(seed):
    """Two or three storeys of 20 x 12 m with stairs along the axes, all on a grid of a metre,
    so that much is in line; None if two stairs collide.
    """
    rng = np.random.default_rng(seed)
    storeys, connections = [], []
    for level in range(int(rng.integers(2, 4))):
        boxes = []
        for _ in range(int(rng.integers(0, 4))):
            x, y = int(rng.integers(1, WIDE - 3)), int(rng.integers(1, DEEP - 3))
            boxes.append(f"{{box: [{x}, {y}, {x + rng.integers(1, 4)}, {y + rng.integers(1, 3)}]}}")
        storeys.append(
            f"{{name: s{level}, elevation: {level * RISE}, walkable: {{box: [0, 0, {WIDE}, {DEEP}]}}, "
            f"obstacles: [{', '.join(boxes)}]}}"
        )
        for number in range(int(rng.integers(1, 3)) if level else 0):
            x, y, run, width = (
                int(rng.integers(2, 12)),
                int(rng.integers(1, 6)),
                int(rng.integers(4, 7)),
                int(rng.integers(1, 4)),
            )
            ends = [[[x, y], [x, y + width]], [[x + run, y], [x + run, y + width]]]
            if rng.random() < 0.4:
                ends = [[[x, y], [x + width, y]], [[x, y + run], [x + width, y + run]]]
            foot, head = ends[:: int(rng.choice([-1, 1]))]
            connections.append(
                f"{{name: c{level}{number}, lower: s{level - 1}, upper: s{level}, foot: {foot}, head: "
                f"{head}}}"
            )
    try:
        return build_world(
            parse_scenario(f"""
version: 1
geometry:
  storeys: [{", ".join(storeys)}]
  connections: [{", ".join(connections)}]
goals: {{out: {{point: [0.5, 0.5], storey: s0}}}}
groups: [{{name: one, storey: s0, positions: [[0.5, 0.5]], goals: [out]}}]
""")
        )
    except ScenarioError:
        return None


def corridors(built, seed, radius, count=24):
    """Yield the corridors between places of a grid of half a metre, many of which are in line with stairs:
    (corridor for kernels, start, goal).
    """
    mesh, geometry = built.world.mesh, built.scenario.geometry
    rng = np.random.default_rng(seed)
    places = []
    while len(places) < 2 * count:
        layer = int(rng.integers(len(geometry.grounds)))
        point = rng.integers(0, [2 * WIDE, 2 * DEEP]) / 2.0
        if shapely.contains_xy(geometry.grounds[layer].buffer(-radius - 1e-6), *point):
            places.append((point, layer))
    for (start, layer), (goal, other) in zip(places[::2], places[1::2], strict=True):
        goals = cut_goals(mesh, [GoalShape(shapely.Point(goal), 0.0, layer=other)])
        planner = MeshPlanner(mesh, goals)
        begin, polygon, radii = start[None], located(mesh, start[None], layer), np.array([radius])
        planner.submit(0, np.array([1]), begin, polygon, np.zeros(1, dtype=np.int32), radii)
        answers, _ = planner.advance(1 << 40, Team())
        if answers.status[0] == FOUND:
            yield (
                (
                    mesh,
                    goals,
                    answers.portals,
                    answers.start[:-1],
                    np.diff(answers.start).astype(np.int32),
                    polygon,
                    answers.piece,
                    begin,
                    radii,
                ),
                start,
                goal,
            )


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(300))
def test_the_path_of_a_point_is_the_shortest_in_its_corridor(seed):
    built = house(seed)
    for corridor, start, goal in corridors(built, seed, 0.0) if built is not None else []:
        mesh, cells = corridor[0], corridor[2]
        expected, corners = twin.shortest_in_corridor(
            mesh, cells[::-1].tolist(), tuple(start.tolist()), tuple(goal.tolist())
        )
        length = np.empty(1)
        measure_corridors(*corridor, length)
        assert length[0] == pytest.approx(expected, rel=1e-12), (start, goal, corners)


def walls_of(mesh, layer):
    edges = np.flatnonzero((mesh.edge_twin < 0) & (mesh.polygon_layer[mesh.edge_polygon] == layer))
    return shapely.multilinestrings(
        list(
            np.stack(
                [mesh.vertex[mesh.edge_vertex[edges], :2], mesh.vertex[mesh.edge_end[edges], :2]], axis=1
            )
        )
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(300))
def test_every_part_of_a_path_lies_in_the_polygon_that_it_is_said_to_lead_over(seed):
    """And agents keep their distance from the walls of the floor they are on, but for the chords of arcs;
    lengths and efforts agree with the definition.
    """
    built = house(seed)
    radius = (0.0, 0.2, 0.45)[seed % 3]
    for corridor, start, goal in corridors(built, seed, radius, 10) if built is not None else []:
        mesh, goals, cells, _, ahead, polygon, piece = corridor[:7]
        tracing = make_tracing(4096, mesh.polygon_count)
        parts = trace_path(
            mesh,
            goals,
            Corridor(cells, 0, int(ahead[0]), int(polygon[0]), int(piece[0])),
            *start.tolist(),
            radius,
            tracing,
        )
        place, over, stretch = tracing.place[: parts + 1], tracing.over[:parts], tracing.stretch[:parts]
        assert np.allclose(place[0], start) and np.allclose(place[-1], goal)
        for each, a, b in zip(over.tolist(), place[:-1], place[1:], strict=True):
            assert (
                min(depth_in_polygon(mesh, each, *a), depth_in_polygon(mesh, each, *b))
                > -1e-6 - 0.02 * radius
            )
            assert (
                shapely.distance(shapely.LineString([a, b]), walls_of(mesh, mesh.polygon_layer[each]))
                > 0.98 * radius - 1e-6
            )
        chords = np.hypot(*np.diff(place, axis=0).T)
        plan, length, effort = np.empty(1), np.empty(1), np.empty(1)
        measure_corridors(*corridor, plan)
        measure_path_rows(0, len(length), *corridor, length, effort)
        assert (
            plan[0] == pytest.approx(float(chords @ stretch), rel=1e-9)
            and 1.0 <= stretch.min() <= stretch.max() < 1.007
        )
        steps = list(zip(over.tolist(), np.diff(place, axis=0) * stretch[:, None], strict=True))
        assert length[0] == pytest.approx(
            sum(heights.step_length(mesh, each, *step) for each, step in steps), rel=1e-9
        )
        if radius > 0.0:  # points go along the edges between polygons, which is over either
            polygons = [
                int(polygon[0]),
                *(int(mesh.edge_polygon[mesh.edge_twin[edge]]) for edge in cells[::-1]),
            ]
            # an arc may bulge out of a polygon by as much as was allowed above
            over = heights.over_polygons(mesh, polygons, place, aside=0.02 * radius)
            arcs = float((chords * (stretch - 1.0)).sum())
            # the line has chords for arcs
            assert (
                0.0 <= length[0] - over[0] + 1e-5 <= 1.2 * arcs + 2e-5
                and 0.0 <= effort[0] - over[1] + 1e-5 <= 4.0 * arcs + 2e-5
            )
        assert effort[0] == pytest.approx(
            sum(heights.step_time(mesh, each, *step) for each, step in steps), rel=1e-9
        )


def found_by(planner, corridor):
    """The length in plan of the path that a planner finds; inf if it finds none."""
    mesh, goals, _, _, _, polygon, _, start, radii = corridor
    planner.submit(0, np.array([1]), start, polygon, np.zeros(1, dtype=np.int32), radii)
    answers, _ = planner.advance(1 << 40, Team())
    length = np.full(1, np.inf)
    if answers.status[0] == FOUND:
        sizes = np.diff(answers.start).astype(np.int32)
        measure_corridors(
            mesh,
            goals,
            answers.portals,
            answers.start[:-1],
            sizes,
            polygon,
            answers.piece,
            start,
            radii,
            length,
        )
    return float(length[0])


def check_planners(seed):
    """Check shortest paths against those of the visibility graph, and the others to be no shorter."""
    built = house(seed)
    for corridor, start, goal in (
        corridors(built, seed, (0.0, 0.2, 0.45)[seed % 3], 10) if built is not None else []
    ):
        mesh, goals = corridor[:2]
        other = found_by(MeshPlanner(mesh, goals, costs="length"), corridor)
        optimal = found_by(MeshPlanner(mesh, goals, kind="optimal"), corridor)
        visible = found_by(VisibilityPlanner(mesh, goals), corridor)
        assert optimal == pytest.approx(visible, rel=1e-9) and optimal <= other * (1.0 + 1e-9), (
            start,
            goal,
            optimal,
            visible,
            other,
        )


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(700))
def test_optimal_paths_are_those_of_the_visibility_graph_and_no_other_is_shorter(seed):
    """Agents are kept off walls by those of their own floor only, and a path that turns back round the end of
    a well costs what it is long.
    """
    check_planners(seed)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", [20, 47, 49, 196, 344, 746, 862, 1006, 1397])
def test_houses_in_which_paths_went_wrong(seed):
    """Through a wall to a portal that faces away (49), to places that only a straight line sees (196),
    round wells (20, 344 to 862, 1397), through a gap (1006).
    """
    check_planners(seed)


@pytest.mark.parametrize("turned", [0.0, 90.0, 180.0, 270.0, 37.0])
def test_a_line_of_sight_along_walls_on_both_sides_lets_points_through_and_no_agent(turned):
    """One wall ends and another begins a third of a metre further on, on the other side of the line:
    it leads through the gap, which is too narrow.
    """

    def placed(shape):
        return affinity.rotate(shape, turned, origin=(0, 0))

    ground = shapely.box(0, 0, 20, 12) - shapely.box(4, 5, 7, 6) - shapely.box(7 + 1 / 3, 3, 10, 5)
    mesh = build_mesh(placed(ground)).mesh
    start, goal = (np.array(placed(shapely.Point(point)).coords) for point in ((2.5, 4.9), (7.5, 5.5)))
    goals = cut_goals(mesh, [GoalShape(shapely.Point(goal[0]), 0.0)])
    for radius, passes in ((0.0, True), (0.15, True), (0.2, False)):
        corridor = (mesh, goals, None, None, None, located(mesh, start), None, start, np.array([radius]))
        optimal, visible = (
            found_by(planner, corridor)
            for planner in (MeshPlanner(mesh, goals, kind="optimal"), VisibilityPlanner(mesh, goals))
        )
        assert visible == pytest.approx(optimal, rel=1e-9) and (optimal < 5.5) == passes
