"""Groups that find their ways in ways of their own, in one scene:
every combination arrives, nobody's ways depend on the others, and runs stay reproducible.
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.budget import WorkBudget
from crowdsim.systems.base.slices import Slicer
from crowdsim.systems.base.system import Tick
from crowdsim.systems.paths.asking import Asking
from crowdsim.systems.paths.paths import SearchTask, search
from crowdsim.systems.plan import Plan
from crowdsim.world.columns import PathStatus
from crowdsim.world.events import EventKind
from tests.crowds import BUSY, digests, room, simulation

KINDS = ("mesh", "optimal", "visibility", "grid")
# Cells that let everybody through where the mesh does.
FINE = {"kind": "grid", "cell_size": 0.2, "object_padding": 0.02}
TICKS = 40


def navigation(kind):
    return FINE if kind == "grid" else kind


def busy(*kinds, work=60):
    """`BUSY` with a kind for each of its three groups."""
    groups = [
        {**group, "navigation": navigation(kind)} for group, kind in zip(BUSY["groups"], kinds, strict=True)
    ]
    return {**BUSY, "groups": groups, "budget": {"work": work}}


def walled(kind, *, more=()):
    """One agent of a group of its own that has to go round a bar; `more` are other groups."""
    agent = {"position": [-8.0, 0.0], "speed": 1.3, "goals": [{"point": [8.0, 0.5], "arrive_within": 0.1}]}
    scene = room([agent], obstacles=[[[-0.5, -9], [0.5, -9], [0.5, 3], [-0.5, 3]]], budget={"work": 100_000})
    return {**scene, "groups": [{"name": "lone", "agents": [agent], "navigation": navigation(kind)}, *more]}


@pytest.mark.sample(1)
@pytest.mark.parametrize("kinds", list(itertools.combinations(KINDS, 2)), ids="+".join)
def test_two_kinds_in_one_scene_all_arrive(kinds):
    first, second = kinds
    with simulation(busy(first, second, first)) as run:
        assert [chosen.name for chosen in run.scenario.navigations] == sorted({first, second})
        verdict = run.run()
        assert verdict.ended == "all arrived" and verdict.not_arrived == 0, verdict.reasons


@pytest.mark.full
@pytest.mark.parametrize("kinds", list(itertools.permutations(KINDS, 3)), ids="+".join)
def test_every_order_of_three_kinds_arrives(kinds):
    with simulation(busy(*kinds)) as run:
        assert run.run().ended == "all arrived"


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_way_does_not_depend_on_how_other_groups_find_theirs(kind):
    """The others are far off, so that only the planners could disturb each other."""
    others = [
        {
            "name": f"other {other}",
            "positions": [[-9.0 + 0.1 * place, -9.0]],
            "radius": 0.05,
            "speed": 1.0,
            "goals": [{"point": [-5.0, -9.0]}],
            "navigation": navigation(other),
        }
        for place, other in enumerate(KINDS)
    ]
    trails = []
    for more in ([], others):
        with simulation(walled(kind, more=more)) as run:
            lone = int(run.world.agents.entity[np.flatnonzero(run.world.agents.radius == 0.2)[0]])
            trail = []
            for _ in range(200):
                run.step()
                trail.append(
                    run.world.agents.position[np.searchsorted(run.world.agents.entity, lone)].tolist()
                )
            trails.append(trail)
    assert trails[0] == trails[1]


def test_lengths_of_ways_differ_as_the_kinds_do():
    """Round the end of the bar: the corners of the bar, swollen by the body, for corridors;
    cells a little outside of that for a grid.
    """
    lengths = {}
    for kind in KINDS:
        with simulation(walled(kind)) as run:
            (found,) = [event for _ in range(3) for event in run.step() if event.kind == EventKind.PATH_FOUND]
            lengths[kind] = float(found.x)
    shortest = np.hypot(7.5, 3.0) + 1.0 + np.hypot(7.5, 2.5)  # of a point
    assert lengths["optimal"] == pytest.approx(lengths["visibility"], rel=1e-6)
    assert shortest < lengths["optimal"] < shortest + 0.3
    assert lengths["optimal"] <= lengths["mesh"] * (1.0 + 1e-9) and lengths["optimal"] < lengths["grid"]


@pytest.fixture(scope="module")
def expected():
    with simulation(busy("mesh", "grid", "visibility")) as run:
        return digests(run, TICKS)


def test_threads_and_the_order_of_groups_change_nothing(expected, monkeypatch):
    scene = busy("mesh", "grid", "visibility")
    with simulation({**scene, "groups": scene["groups"][::-1]}) as run:
        assert digests(run, TICKS) == expected
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
    with simulation(scene, threads=3) as run:
        assert digests(run, TICKS) == expected


@pytest.mark.full
def test_saving_and_loading_changes_nothing(expected):
    scene = busy("mesh", "grid", "visibility")
    with simulation(scene) as run:
        for number in range(TICKS):
            state = run.state()
            if number % 9 == 0:
                with simulation(scene) as other:
                    other.restore(state)
                    assert digests(other, TICKS - number) == expected[number:]
            run.step()


@pytest.mark.parametrize("work", [1, 2, 7])
def test_a_starved_budget_is_kept_and_serves_every_kind(work):
    agents = [
        {"position": [-8.0, y], "speed": 1.3, "goals": [{"point": [8.0, y], "arrive_within": 0.3}]}
        for y in (-4.0, 0.0, 4.0, 6.0)
    ]
    groups = [
        {"name": f"g{place}", "agents": [agent], "navigation": kind}
        for place, (agent, kind) in enumerate(zip(agents, KINDS, strict=True))
    ]
    for group in groups:
        group["navigation"] = (
            {"kind": "grid", "cell_size": 1.0} if group["navigation"] == "grid" else group["navigation"]
        )
    scene = {**room([]), "groups": groups, "budget": {"work": work}}
    scene["geometry"]["obstacles"] = [[[-0.5, -3], [0.5, -3], [0.5, 3], [-0.5, 3]]]
    with simulation(scene) as run:
        found = set()
        for _ in range(400):
            found |= {int(event.entity) for event in run.step() if event.kind == EventKind.PATH_FOUND}
            assert run.counts["expansions"] <= work
            if len(found) == len(KINDS):
                break
        assert found == {1, 2, 3, 4}


class Endless:
    """A planner that always has something to search for, and counts how far it got."""

    waiting = 1

    def __init__(self):
        self.made = self.spent = 0

    def advance(self, most, team, *, counts_answers):
        self.made += most
        self.spent = most
        return SimpleNamespace(entity=()), most

    def oldest_tick(self, now):
        return now - 3


@pytest.mark.parametrize("work", [1, 2, 3, 5, 2000, 5000])
def test_planners_have_slices_in_turn(work):
    budget = WorkBudget(Slicer(), work)
    planners = [Endless() for _ in range(3)]
    tasks = [
        SearchTask(f"searches {place}", planner, Asking(), None, None, budget.tasks)
        for place, planner in enumerate(planners)
    ]
    for number in range(1, 31):
        tick = Tick(number, 0.1, None)
        search(tick, budget, tasks)
        assert tick.counts["expansions"] == tick.counts["expansions_granted"] == work
        assert tick.counts["requests_open"] == 3 and tick.counts["oldest_request_ticks"] == 3
        made = [planner.made for planner in planners]
        assert sum(made) == number * work
        assert max(made) - min(made) <= min(work, 1000)


@pytest.mark.full
def test_a_system_writes_only_what_it_declares():
    with simulation(busy("grid", "mesh", "visibility")) as run:
        agents = run.world.agents
        for number in range(1, 61):
            tick = Tick(number, run.scenario.tick, run.team)
            for system in run.systems:
                before, entities = agents.state(), agents.entity.copy()
                counted = set(tick.counts)
                system.process(tick)
                assert set(tick.counts) - counted == set(type(system).counts)
                if np.array_equal(entities, agents.entity):
                    changed = {
                        name
                        for name, array in before.items()
                        if not np.array_equal(array, getattr(agents, name), equal_nan=array.dtype.kind == "f")
                    }
                    assert changed <= set(type(system).writes), type(system).__name__
            run.world.tick = number


def test_a_recording_names_the_navigation_of_each_group(tmp_path):
    target = tmp_path / "run.h5"
    with simulation({**busy("mesh", "grid", "optimal"), "stop": {"after": 0.5}}, out=target) as run:
        run.run()
    with open_run(target) as recording:
        parameters = recording.header.parameters
        assert parameters["navigation.kind"] == "optimal"
        assert (
            parameters["groups.to_west.navigation.kind"] == "grid"
            and parameters["groups.to_west.navigation.cell_size"] == 0.2
        )
        assert (
            parameters["groups.to_east.navigation.kind"] == "mesh"
            and "groups.listed.navigation.kind" not in parameters
        )
        again = parse_scenario(recording.header.scenario)
    assert [again.navigation_of(group).name for group in again.groups] == ["optimal", "mesh", "grid"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_of_any_kind_can_be_sent_elsewhere(kind):
    scene = {**walled(kind), "goals": {"start": {"point": [-8.0, 2.0], "arrive_within": 0.1}}}
    with simulation(scene) as run:
        for _ in range(20):
            run.step()
        run.set_goal(1, "start")
        assert run.world.agents.path_status[0] == PathStatus.NONE
        assert run.run().arrivals == {"start": 1}


def test_a_group_over_cells_and_one_over_the_mesh_climb_the_same_stair():
    storeys = [
        {"name": "low", "elevation": 0, "walkable": {"box": [0, 0, 4, 4]}},
        {"name": "high", "elevation": 1, "walkable": {"box": [6, 0, 9, 4]}},
    ]
    stair = {
        "name": "stair",
        "lower": "low",
        "upper": "high",
        "foot": [[4, 1], [4, 3]],
        "head": [[6, 1], [6, 3]],
    }
    scene = {
        "version": 1,
        "goals": {"up": {"region": {"box": [7, 1, 8, 3]}, "storey": "high"}},
        "geometry": {"storeys": storeys, "connections": [stair]},
        "groups": [
            {"name": "a", "storey": "low", "positions": [[1, 1]], "goals": ["up"]},
            {"name": "b", "storey": "low", "positions": [[3, 3]], "goals": ["up"], "navigation": "grid"},
        ],
    }
    with simulation(scene) as run:
        assert run.run().arrived == 2


def test_one_navigation_for_all_is_one_planner():
    with simulation(busy("grid", "grid", "grid")) as run:
        assert [len(system.paths) for system in run.systems if isinstance(system, Plan)] == [1]
