"""Weights and heuristics of one's own: paths are the cheapest over middles of portals, by trying all;
a heuristic changes what is looked at and not what is found; the example keeps to the dark.
"""

import itertools
import math

import numpy as np
import pytest
import shapely

from crowdsim.avoidance import plugins
from crowdsim.avoidance.plugins import load_plugin
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.planning import registry
from crowdsim.navigation.planning.a_star_planner import AStarPlanner
from crowdsim.navigation.search.slot_fields import FOUND, UNREACHABLE
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import ROOT
from tests.navigation.worlds import free_points, located, pillar_hall, point_goals

ALL = 1 << 40


def muddy(x, y):
    """What a metre costs at a point, of ground that gets worse to the north."""
    return 1.0 + 0.3 * max(0.0, y)


class Muddy(AStarPlanner):
    """Metres are dear in the north, and no path leads over a strip."""

    name = "muddy"

    def weight(self, request, start, end):
        x, y = 0.5 * (start.x + end.x), 0.5 * (start.y + end.y)
        return math.inf if 4.0 < x < 4.6 and y > 6.0 else math.dist(start[:3], end[:3]) * muddy(x, y)


class Blind(Muddy):
    """The same without a heuristic."""

    def heuristic(self, request, spot):
        return 0.0


def asked(planner, mesh, places, goals, radius=0.2):
    planner.submit(
        0,
        np.arange(len(places)) + 1,
        places,
        located(mesh, places),
        np.array(goals, dtype=np.int32),
        np.full(len(places), radius),
    )
    answers, made = planner.advance(ALL, Team())
    paths = [answers.portals[answers.start[i] : answers.start[i + 1]][::-1] for i in range(len(places))]
    return answers.status, paths, made


def cost_of(planner, mesh, place, portals, target):
    """Return what a path costs by the weights, from middle to middle."""
    middle = [
        0.5 * (mesh.vertex[mesh.edge_vertex[p], :2] + mesh.vertex[mesh.edge_end[p], :2]) for p in portals
    ]
    points = [place, *middle, target]
    total = 0.0
    for a, b in itertools.pairwise(points):
        x, y = 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])
        total += math.inf if 4.0 < x < 4.6 and y > 6.0 else math.dist(a, b) * muddy(x, y)
    return total


def cheapest(mesh, place, polygon, target, end, width):
    """Return what the cheapest path costs: costs to all edges lowered until none changes."""
    middle = 0.5 * (mesh.vertex[mesh.edge_vertex, :2] + mesh.vertex[mesh.edge_end, :2])

    def part(a, b):
        x, y = 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])
        return math.inf if 4.0 < x < 4.6 and y > 6.0 else math.dist(a, b) * muddy(x, y)

    cost = np.full(mesh.edge_count, np.inf)
    edges = {
        p: [e for e in range(mesh.polygon_start[p], mesh.polygon_start[p + 1]) if mesh.edge_twin[e] >= 0]
        for p in range(mesh.polygon_count)
    }
    for edge in edges[polygon]:
        if mesh.edge_width[edge] >= width:
            cost[edge] = part(place, middle[edge])
    changed = True
    while changed:
        changed = False
        for edge in np.flatnonzero(cost < np.inf).tolist():
            entry = mesh.edge_twin[edge]
            beyond = int(mesh.edge_polygon[entry])
            size = mesh.polygon_start[beyond + 1] - mesh.polygon_start[beyond]
            for out in edges[beyond]:
                first = mesh.polygon_start[beyond]
                pair = mesh.pair_start[beyond] + (entry - first) * size + out - first
                if out == entry or mesh.edge_width[out] < width or mesh.pair_width[pair] < width:
                    continue
                total = cost[edge] + part(middle[edge], middle[out])
                if total < cost[out] - 1e-12:
                    cost[out], changed = total, True
    best = part(place, target) if polygon == end else math.inf
    for edge in np.flatnonzero(cost < np.inf).tolist():
        if mesh.edge_polygon[mesh.edge_twin[edge]] == end:
            best = min(best, cost[edge] + part(middle[edge], target))
    return best


def test_paths_are_the_cheapest_over_middles_of_portals_with_and_without_a_heuristic():
    ground = pillar_hall(5)
    mesh = build_mesh(ground, parameters=MeshParameters(faces="triangles")).mesh
    points, _ = free_points(ground, 0.3, 24, np.random.default_rng(3))
    goals = point_goals(mesh, points[12:])
    guided, blind = Muddy(mesh, goals), Blind(mesh, goals)
    status, paths, made = asked(guided, mesh, points[:12], range(12))
    other_status, others, more = asked(blind, mesh, points[:12], range(12))
    np.testing.assert_array_equal(status, other_status)
    assert made < more and (status == FOUND).any()
    for row, (path, other) in enumerate(zip(paths, others, strict=True)):
        if status[row] != FOUND:
            continue
        target = guided.target[int(goals.goal_start[row])]
        start, end = (int(located(mesh, place[None])[0]) for place in (points[row], target))
        expected = cheapest(mesh, points[row], start, target, end, 0.4)
        assert cost_of(guided, mesh, points[row], path, target) == pytest.approx(expected)
        assert cost_of(blind, mesh, points[row], other, target) == pytest.approx(expected)


def test_where_no_part_may_lead_no_path_does():
    ground = shapely.box(0, 0, 12, 8).difference(shapely.box(4, 0, 4.6, 6.2))

    class Never(AStarPlanner):
        name = "never"

        def weight(self, request, start, end):
            return math.inf if end.x >= 4.0 > start.x else math.dist(start[:3], end[:3])

    mesh = build_mesh(ground).mesh
    goals = cut_goals(
        mesh, [GoalShape(shapely.Point(10, 2), reach=0.2), GoalShape(shapely.Point(2, 6), reach=0.2)]
    )
    status, _, _ = asked(Never(mesh, goals), mesh, np.array([[1.0, 1.0], [1.0, 1.0]]), [0, 1])
    assert status.tolist() == [UNREACHABLE, FOUND]


@pytest.fixture
def dark_side(monkeypatch):
    monkeypatch.setattr(plugins, "_files", {})
    load_plugin(ROOT / "docs" / "examples" / "dark_side.py")
    yield
    registry.forget("dark-side")


@pytest.mark.parametrize(("light", "in_the_dark"), [(10.0, True), (0.0, False)])
def test_the_example_leads_round_the_light_of_a_lamp(light, in_the_dark, dark_side, tmp_path):
    scenario = f"""
version: 1
name: dark
tick: 0.05
stop: {{after: 60}}
geometry:
  walkable: {{box: [0, 0, 30, 20]}}
  obstacles: [{{box: [10, 5, 12, 15]}}, {{box: [18, 5, 20, 15]}}]
goals: {{end: {{region: {{box: [27, 2, 29, 5]}}}}}}
groups: [{{name: one, positions: [[1, 3], [1, 4]], goals: end}}]
navigation: {{kind: dark-side, lamps: [[15, 2]], light: {light}}}
"""
    with Simulation(parse_scenario(scenario), out=tmp_path / "run.h5") as run:
        assert run.run().arrived == 2
    with open_run(tmp_path / "run.h5") as recorded:
        rows = recorded.trajectories()
    lit = np.hypot(rows.x - 15.0, rows.y - 2.0) < 5.0
    assert (lit.mean() < 0.01) == in_the_dark
