"""Planners of one's own: what a plug-in can register, that its paths are followed,
and that one which breaks its promises is reported by name and agent.

That a planner in plain Python keeps to the contract of all planners stands in test_planner.py.
"""

import dataclasses

import numpy as np
import pytest
import shapely

from crowdsim import open_run
from crowdsim.avoidance import plugins
from crowdsim.avoidance import registry as models
from crowdsim.avoidance.plugins import PluginError, load_plugin, require_recorded
from crowdsim.avoidance.registry import origin_of
from crowdsim.errors import NavigationError, ScenarioError
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.grid.planner import CELLS
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.planners import OVER_CELLS, OWN, planner_kind, planner_kinds
from crowdsim.navigation.planning import registry
from crowdsim.navigation.planning.plain_planner import PlainPlanner
from crowdsim.navigation.planning.registry import register_planner
from crowdsim.navigation.search.slot_fields import FOUND, UNREACHABLE
from crowdsim.scenario.load import parse_scenario, scenario_of_run
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems.plan import Plan
from crowdsim.world.columns import AgentState, PathStatus
from tests.navigation.toy import FILE, straight_line
from tests.navigation.worlds import located

ROOM = shapely.box(0, 0, 12, 6).difference(shapely.box(5, 2, 6, 4))
SCENE = """
version: 1
name: toy
tick: 0.1
stop: {after: 30}
geometry: {walkable: {box: [0, 0, 12, 6]}, obstacles: [{box: [5, 2, 6, 4]}]}
goals: {end: {point: [11, 1], arrive_within: 0.3}}
groups:
  - {name: one, positions: [[1, 1], [1, 1.5]], goals: end}
  - {name: behind, positions: [[1, 4.6]], goals: end}
navigation: straight-line
"""
HEAD = """
from crowdsim.navigation.planning.plain_planner import Path, PlainPlanner
from crowdsim.navigation.planning.registry import register_planner

@register_planner
class Mine(PlainPlanner):
    name = "mine"
"""


@pytest.fixture(autouse=True)
def _only_own_planners():
    """Forget, after each test, what it loaded."""
    yield
    for name in registry.registered():
        registry.forget(name)
        models.forget(name)
    plugins._files.clear()


def written(folder, text, name="mine.py"):
    path = folder / name
    path.write_text(text)
    return path


def answered(planner, mesh, position, radius=0.2):
    """Status and portals of the answers to requests from some positions to goal 0."""
    position = np.array(position, dtype=np.float64)
    rows = np.arange(len(position))
    planner.submit(
        0,
        rows + 1,
        position,
        located(mesh, position),
        np.zeros(len(rows), dtype=np.int32),
        np.full(len(rows), radius),
    )
    answers, _ = planner.advance(1 << 40, Team(1))
    return answers.status.tolist(), np.split(answers.portals, answers.start[1:-1]), answers


def test_every_kind_of_planner_is_known_by_its_name_and_its_own_folder():
    assert [kind.name for kind in planner_kinds()] == list(OWN)
    assert {kind.name for kind in planner_kinds() if kind.space is CELLS} == OVER_CELLS == {"grid", "s2-grid"}


def test_a_straight_line_is_found_where_one_can_walk_along_it_and_nowhere_else():
    mesh = build_mesh(ROOM).mesh
    goals = cut_goals(mesh, [GoalShape(shapely.Point(11, 1), reach=0.3)])
    places = [[1, 1], [1, 4.6], [10, 5], [4.5, 3]]
    status, portals, answers = answered(straight_line()(mesh, goals), mesh, places)
    assert status == [FOUND, UNREACHABLE, FOUND, UNREACHABLE] and answers.piece.tolist() == [0, -1, 0, -1]
    for place, (x, y) in enumerate(places):
        free = ROOM.buffer(-0.0).covers(shapely.LineString([(x, y), (11, 1)]))
        assert (status[place] == FOUND) == free
        for portal in portals[place].tolist():  # the line goes through each
            edge = shapely.LineString(
                [mesh.vertex[mesh.edge_vertex[portal], :2], mesh.vertex[mesh.edge_end[portal], :2]]
            )
            assert edge.distance(shapely.LineString([(x, y), (11, 1)])) < 1e-9


def test_agents_follow_the_paths_of_a_plug_in_and_those_without_one_stand(tmp_path):
    assert load_plugin(FILE) == ("straight-line",)
    out = tmp_path / "run.h5"
    with Simulation(parse_scenario(SCENE), out=out) as run:
        verdict = run.run()
        assert verdict.arrived == 2 and verdict.reasons == {"its planner found no path to its goal": 1}
        assert run.agents.path_status.tolist() == [
            PathStatus.UNREACHABLE
        ] and run.agents.activity.tolist() == [AgentState.STANDING]
    with open_run(out) as recording:
        header, entry = recording.header, dict(recording.header.plugins)
    assert (
        entry["straight-line"]["sha256"] == origin_of("straight-line").sha256
        and entry["straight-line"]["kind"] == "planner"
    )
    assert require_recorded(entry, "run.h5") == []
    registry.forget("straight-line")
    with pytest.raises(
        PluginError,
        match=(
            r"made with a planner that is not crowdsim's own and is not loaded: \"straight-line\" of "
            r".*straight_line.py"
        ),
    ):
        require_recorded(entry, "run.h5")
    # to look at it and to measure it, the file need not be there
    assert {each.name for each in scenario_of_run(header, "run.h5").navigations} == {"optimal"}


def test_a_run_with_a_plug_in_goes_on_from_a_saved_state_in_the_middle_of_a_search():
    load_plugin(FILE)
    with (
        Simulation(parse_scenario(SCENE, sets=["budget.work=1"])) as run,
        Simulation(parse_scenario(SCENE, sets=["budget.work=1"])) as other,
    ):
        run.step()  # makes a request, and there is no work left
        assert len(run.system(Plan).paths[0].asking) > 0
        run.step()
        assert run.system(Plan).paths[0].planner.queue.is_active.any()
        other.restore(run.state())
        for _ in range(30):
            run.step()
            other.step()
        assert (
            run.digest == other.digest
            and run.agents.path_status.tolist() == other.agents.path_status.tolist()
        )


def test_parameters_of_a_plug_in_are_checked_like_any_other():
    load_plugin(FILE)
    scenario = parse_scenario(SCENE, sets=["navigation={kind: straight-line, farthest: 3}"])
    assert planner_kind("straight-line").owners[0](farthest=3.0) == scenario.navigation.parameters(
        planner_kind("straight-line").owners[0]
    )
    with Simulation(scenario) as run:
        run.step()
        assert (run.agents.path_status == PathStatus.UNREACHABLE).all()
    with pytest.raises(ScenarioError, match="farthest"):
        parse_scenario(SCENE, sets=["navigation={kind: straight-line, farthest: -1}"])
    with pytest.raises(ScenarioError, match=r'(?s)"straight" is no known kind.*straight-line.*--plugin FILE'):
        parse_scenario(SCENE, sets=["navigation=straight"])


@pytest.mark.parametrize(
    "text, words",
    [
        ("x = 1\n", "registers no model.*@register_planner"),
        (HEAD, r'the planner "mine" has no method search of its own'),
        (
            HEAD.replace('"mine"', '"mesh"') + "    def search(self, request): yield\n",
            "two planners are called 'mesh'",
        ),
        (
            HEAD.replace('"mine"', '"orca"') + "    def search(self, request): yield\n",
            'an avoidance model called "orca"',
        ),
        (HEAD.replace('"mine"', '" mine"') + "    def search(self, request): yield\n", "has no usable name"),
        (
            HEAD.replace("(PlainPlanner)", "") + "    def search(self, request): yield\n",
            r"has no method submit, .*Derive it from PlainPlanner",
        ),
        (HEAD + "    Parameters = 3\n    def search(self, request): yield\n", "has no class Parameters"),
    ],
)
def test_a_plug_in_that_is_no_planner_is_refused_in_one_line_and_leaves_nothing(tmp_path, text, words):
    with pytest.raises(PluginError, match=words) as caught:
        load_plugin(written(tmp_path, text))
    assert (
        "\n" not in str(caught.value)
        and registry.registered() == {}
        and [kind.name for kind in planner_kinds()] == list(OWN)
    )


@pytest.mark.parametrize(
    "body, words",
    [
        (
            "        yield\n        return 1 / 0\n",
            (
                r'the planner "mine" raised an error for agent 1, at .*mine.py:\d+: ZeroDivisionError: '
                r"division by zero"
            ),
        ),
        (
            "        yield\n        return Path(7, [])\n",
            r'the planner "mine" answers agent 1 with a path to piece 7, but its goal has \[0\]',
        ),
        (
            "        yield\n        return Path(0, [0, 0, 0])\n",
            r"whose portal \d, half-edge 0, does not lead out of polygon",
        ),
        ("        yield\n        return Path(0, [])\n", r"that ends in polygon \d+, but the piece is in \d+"),
    ],
    ids=["error", "piece", "portal", "end"],
)
def test_a_planner_that_breaks_its_promises_is_reported_by_name_and_agent(tmp_path, body, words):
    load_plugin(written(tmp_path, HEAD + "    def search(self, request):\n" + body))
    mesh = build_mesh(ROOM).mesh
    goals = cut_goals(mesh, [GoalShape(shapely.Point(11, 1), reach=0.3)])
    with pytest.raises(NavigationError, match=words):
        answered(registry.registered()["mine"](mesh, goals), mesh, [[1, 1]])


def test_the_page_shows_the_file_that_is_tested():
    page = (FILE.parents[1] / "develop" / "extending.md").read_text(encoding="utf-8")
    assert (
        f"```python\n{FILE.read_text(encoding='utf-8')}```" in page
        and PlainPlanner.__name__ in page
        and register_planner.__name__ in page
    )


def test_the_parameters_of_a_kind_are_listed_once():
    for kind in planner_kinds():
        owners = (*kind.owners, *kind.space.owners, *kind.options)
        names = [field.name for owner in owners for field in dataclasses.fields(owner)]
        assert len(set(names)) == len(names), kind.name
