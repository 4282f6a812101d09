"""What every planner finds, one of a plug-in too, can be measured and drawn."""

import numpy as np
import pytest
import shapely

from crowdsim.avoidance import plugins
from crowdsim.avoidance import registry as models
from crowdsim.avoidance.plugins import load_plugin
from crowdsim.navigation.planners import OWN, planner_kind
from crowdsim.navigation.planning import registry
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.scenario.load import parse_scenario
from crowdsim.setup.build import build_world, own_ground, planner_of
from crowdsim.setup.examine import examine
from crowdsim.setup.paths import Legs, PathFinder, lines_of
from tests.navigation.toy import FILE

TOY = "straight-line"
KINDS = (*OWN, TOY, "{kind: mesh, round_stationary: true}", "{kind: grid, cell_size: 0.1, object_padding: 0}")
PILLAR, END, RADIUS = shapely.box(5, 2, 6, 4), shapely.Point(11, 1), 0.2
STARTS = [[1, 1], [1, 4.6], [8, 5], [21, 1]]  # free ahead; behind a pillar; free ahead; on another ground
SCENE = f"""
version: 1
name: pillar
geometry:
  walkable: [{{box: [0, 0, 12, 6]}}, {{box: [20, 0, 24, 6]}}]
  obstacles: [{{box: [5, 2, 6, 4]}}]
goals: {{end: {{point: [11, 1], arrive_within: 0.3}}}}
groups:
  - {{name: all, positions: {STARTS}, goals: end, radius: {RADIUS}}}
"""


@pytest.fixture(autouse=True)
def _with_a_plug_in():
    """Load a planner of one's own, and forget it after each test."""
    load_plugin(FILE)
    yield
    for name in registry.registered():
        registry.forget(name)
        models.forget(name)
    plugins._files.clear()


def built_with(kind, scene=SCENE):
    return build_world(parse_scenario(scene, sets=[f"navigation={kind}"]))


def found_in(built, rows):
    """Return what the agents of some rows find to their first goals."""
    legs = Legs(built)
    return PathFinder(built).find(rows, legs.position[rows], legs.polygon[rows], legs.goal[rows])


@pytest.mark.parametrize("kind", KINDS)
def test_every_planner_finds_paths_that_are_measured_and_drawn(kind):
    built = built_with(kind)
    found = found_in(built, np.arange(4))
    length, lines = found.lengths(), {line.row: line for line in lines_of(built, 100)}
    goes = [True, kind != TOY, True, False]
    assert (found.piece >= 0).tolist() == np.isfinite(length).tolist() == goes
    assert (found.lengths(in_time=True) == length).all(), "on level ground as long as it takes"
    for row in np.flatnonzero(goes).tolist():
        path, start = shapely.LineString(lines[row].points), shapely.Point(STARTS[row])
        assert lines[row].layer == 0 and path.length == pytest.approx(length[row], rel=0.01)
        assert shapely.Point(path.coords[0]) == start
        assert shapely.distance(shapely.Point(path.coords[-1]), END) < 0.3
        assert shapely.distance(path, PILLAR) > 0.14  # 0.2 m round a corner of 90 degrees, on its chord
        # straight on, or past the upper corners of the pillar
        least = shapely.distance(start, END) if row != 1 else np.hypot(4, 0.6) + 1.0 + np.hypot(5, 3)
        assert least - 0.01 < length[row] < 1.1 * least + 0.3


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_found_depends_on_no_order_and_on_nobody_else(kind):
    built = built_with(kind)
    finder, legs, length = PathFinder(built), Legs(built), found_in(built, np.arange(4)).lengths()
    for rows in ([3, 2, 1, 0], [2], [1, 3]):
        found = finder.find(np.array(rows), legs.position[rows], legs.polygon[rows], legs.goal[rows])
        assert (found.lengths() == length[rows]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_that_cannot_get_to_its_goal_is_none_and_over_cells_leads_as_near_as_can_be(kind):
    """The goal lies in an area that is closed; agents on a grid go to the nearest place that they reach."""
    hall = "  areas: [{name: hall, area: {box: [20, 0, 24, 6]}, available: false}]\ngoals:"
    scene = SCENE.replace("goals:", hall, 1).replace(str(STARTS), str(STARTS[:3]))
    point, region = "{point: [11, 1], arrive_within: 0.3}", "{region: {box: [21, 1, 22, 2]}}"
    built = built_with(kind, scene.replace(point, region))
    found = found_in(built, np.arange(3))
    assert (found.piece < 0).all() and np.isinf(found.lengths()).all()
    ends = [line.points[-1].tolist() for line in lines_of(built, 100)]
    assert len(ends) == (3 if "grid" in kind else 0)
    assert all(11.0 < x < 12.0 and 0.5 < y < 2.5 for x, y in ends)


@pytest.mark.parametrize("kind", KINDS)
def test_where_nobody_asks_nothing_is_found(kind):
    built = built_with(kind)
    chosen, world, none = built.scenario.navigation, built.world, np.zeros(0)
    asked = Asked(
        world.mesh, world.goals, np.zeros((0, 2)), none.astype(np.int64), none.astype(np.int32), none
    )
    found = planner_kind(chosen.name).space.find(planner_of(built, chosen, own_ground(built, chosen)), asked)
    assert len(found.piece) == len(found.lengths()) == len(found.lines()) == 0


def test_groups_are_asked_by_their_own_planners_and_drawn_together():
    kinds = ["grid", "optimal", TOY]
    groups = "".join(
        f"  - {{name: {kind}, positions: {STARTS[:3]}, goals: end, radius: {RADIUS}, navigation: {kind}}}\n"
        for kind in kinds
    )
    built = build_world(parse_scenario(SCENE.partition("groups:")[0] + "groups:\n" + groups))
    found = found_in(built, np.arange(9))
    alone = [found_in(built_with(kind), np.arange(3)).lengths() for kind in kinds]
    assert found.lengths().tolist() == np.concatenate(alone).tolist()
    rows = [line.row for line in lines_of(built, 100)]
    assert sorted(rows) == np.flatnonzero(found.piece >= 0).tolist() == [0, 1, 2, 3, 4, 5, 6, 8]


def test_a_path_that_a_planner_does_not_find_is_no_gap_in_the_ground():
    """The pillar is in the line of the second agent, and gaps of 2 m are beside it."""
    problems = examine(built_with(TOY))[0]
    assert [problem.item for problem in problems] == ["all[1]", "all[3]"]
    assert problems[0].message == (
        'has no path to goal "end" that navigation straight-line finds, and there is one over the mesh'
    )
    assert "navigation: optimal" in problems[0].way_out
    assert "not connected" in problems[1].message
    assert [problem.item for problem in examine(built_with("optimal"))[0]] == ["all[3]"]
