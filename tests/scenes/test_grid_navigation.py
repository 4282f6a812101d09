"""Scenarios whose agents find their ways on a grid:
`navigation: grid` is one switch, and everything else holds as before.
"""

import numpy as np
import pytest

from crowdsim.systems.base.system import Tick
from crowdsim.systems.follow import Follow
from crowdsim.systems.plan import Plan
from crowdsim.world.columns import PathStatus
from crowdsim.world.events import EventKind
from tests.crowds import BUSY, digests, room, simulation
from tests.simulation.test_determinism import child

GRID = ["navigation={kind: grid, cell_size: 0.25, object_padding: 0.05}", "budget.work=300"]
TICKS = 50


def lone(goal, *, obstacles=(), start=(-8.0, 0.0), more=(), sets=()):
    """One agent in a room of 20 x 20 m; `more` are others."""
    agents = [
        {"position": list(start), "speed": 1.3, "goals": [{"point": list(goal), "arrive_within": 0.1}]},
        *more,
    ]
    return simulation(room(agents, obstacles=obstacles), sets=[*GRID, *sets])


@pytest.fixture(scope="module")
def expected():
    with simulation(sets=GRID) as run:
        return digests(run, TICKS)


def test_a_busy_scene_arrives_as_a_whole():
    with simulation(sets=GRID) as run:
        verdict = run.run()
        assert verdict.ended == "all arrived" and verdict.not_arrived == 0
        assert verdict.expansions > 0


def test_a_lone_agent_arrives_after_the_length_of_its_way_over_its_speed():
    with lone((8.0, 0.0)) as run:
        verdict = run.run()
        assert verdict.last_arrival_s == pytest.approx(16.0 / 1.3, abs=0.25)


def test_a_next_goal_within_a_step_of_the_last_is_reached_without_another_search():
    goals = [{"point": [-6.0, 0.0], "arrive_within": 0.05}, {"point": [-5.8, 0.0], "arrive_within": 0.05}]
    agent = {"position": [-8.0, 0.0], "speed": 1.3, "goals": goals}
    with simulation(room([agent]), sets=GRID) as run:
        found = [event for _ in range(60) for event in run.step() if event.kind == EventKind.PATH_FOUND]
        assert len(found) == 1
        assert run.run().arrived == 1


def test_an_agent_goes_round_a_wall_and_the_length_of_its_way_is_noted():
    with lone((8.0, 0.0), obstacles=[[[-0.5, -9], [0.5, -9], [0.5, 3], [-0.5, 3]]]) as run:
        found = [event for _ in range(20) for event in run.step() if event.kind == EventKind.PATH_FOUND]
        assert len(found) == 1 and found[0].value == PathStatus.FOUND
        assert 2 * np.hypot(7.5, 3.0) < found[0].x < 2 * np.hypot(7.5, 3.0) + 2.0
        assert run.run().arrived == 1


def test_an_agent_goes_round_one_who_stands():
    standing = {"position": [0.0, 0.0], "radius": 0.5, "goals": []}
    lengths = []
    for more in ([], [standing]):
        with lone((8.0, 0.0), more=more) as run:
            lengths += [
                event.x for _ in range(5) for event in run.step() if event.kind == EventKind.PATH_FOUND
            ]
    assert lengths[0] == pytest.approx(16.0, abs=0.01) and lengths[1] > lengths[0] + 0.01


def test_a_goal_in_a_closed_room_is_approached_and_the_verdict_says_so():
    """Walls of a box round the goal; the mesh has ground inside of it, which no way leads to."""
    box = [
        [[3, -3], [9, -3], [9, -2.8], [3, -2.8]],
        [[3, 2.8], [9, 2.8], [9, 3], [3, 3]],
        [[3, -3], [3.2, -3], [3.2, 3], [3, 3]],
        [[8.8, -3], [9, -3], [9, 3], [8.8, 3]],
    ]
    with lone((4.5, 0.0), obstacles=box) as run:
        verdict = run.run()
        assert verdict.ended == "no agent can go on"
        assert list(verdict.reasons) == ["no path to its goal; walks as close as it can"]
        assert (
            run.world.agents.position[0, 0] == pytest.approx(2.7, abs=0.3)
            and abs(run.world.agents.position[0, 1]) < 0.3
        )


@pytest.mark.sample(1)
@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_changes_nothing(threads, expected, monkeypatch):
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
    with simulation(sets=GRID, threads=threads) as run:
        assert digests(run, TICKS) == expected


def test_listing_groups_in_another_order_changes_nothing(expected):
    with simulation({**BUSY, "groups": BUSY["groups"][::-1]}, sets=GRID) as run:
        assert digests(run, TICKS) == expected


@pytest.mark.full
def test_saving_and_loading_changes_nothing(expected):
    with simulation(sets=GRID) as run:
        for number in range(TICKS):
            state = run.state()
            if number % 7 == 0:
                with simulation(sets=GRID) as other:
                    other.restore(state)
                    assert digests(other, TICKS - number) == expected[number:]
            run.step()


@pytest.mark.parametrize("kind", ["grid", "s2-grid"])
def test_an_agent_stands_while_its_first_path_is_searched_and_keeps_to_what_it_has_while_another_is(kind):
    agents = [
        {
            "id": 0,
            "position": [-8.0, 0.0],
            "radius": 0.2,
            "speed": 1.3,
            "goals": [{"point": [8.0, 0.0], "arrive_within": 0.1}],
        }
    ]
    side = {"side": {"point": [0.0, 8.0], "arrive_within": 0.1}}
    with simulation(room(agents, goals=side), sets=[f"navigation={{kind: {kind}}}", "budget.work=1"]) as run:
        rows = run.world.agents
        run.step()
        while rows.path_status[0] == PathStatus.PENDING:
            assert np.array_equal(rows.position[0], [-8.0, 0.0]) and not np.any(rows.preferred_velocity[0])
            run.step()
        assert run.tick > 10
        for _ in range(10):
            run.step()
        before = rows.position[0].copy()
        run.set_goal(int(rows.entity[0]), "side")
        for _ in range(20):
            run.step()
            assert rows.path_status[0] == PathStatus.PENDING
        got = rows.position[0] - before
        assert got[0] > 0.9 * 1.3 * 20 * run.scenario.tick and abs(got[1]) < 0.1


def test_only_scenes_that_ask_for_guesses_need_what_leads_them():
    for kind in ("grid", "s2-grid"):
        for how, needs in (("keep", False), ("stay", False), ("guess", True), ("previous", True)):
            with simulation(room([]), sets=[f"navigation={{kind: {kind}, while_waiting: {how}}}"]) as run:
                plan = run.system(Plan).paths[0]
                assert (plan.guesses is not None) == needs == any("guesses/" in name for name in plan.state())


def test_an_agent_that_stays_stands_even_with_a_path_that_it_had():
    agents = [
        {
            "id": 0,
            "position": [-8.0, 0.0],
            "radius": 0.2,
            "speed": 1.3,
            "goals": [{"point": [8.0, 0.0], "arrive_within": 0.1}],
        }
    ]
    side = {"side": {"point": [0.0, 8.0], "arrive_within": 0.1}}
    with simulation(
        room(agents, goals=side), sets=["navigation={kind: grid, while_waiting: stay}", "budget.work=1"]
    ) as run:
        rows = run.world.agents
        while rows.position[0, 0] < -7.0:
            run.step()
        run.set_goal(int(rows.entity[0]), "side")
        run.step()
        before = rows.position[0].copy()
        for _ in range(10):
            run.step()
            assert rows.path_status[0] == PathStatus.PENDING and np.array_equal(rows.position[0], before)
        assert run.run().arrived == 1


def test_a_starved_budget_gives_the_same_ways_later():
    """Requests are made when there is use for them: others stand elsewhere then, by centimetres here."""
    ways, ticks = [], []
    for work in (60, 10_000_000):
        with simulation(sets=[*GRID, f"budget.work={work}"]) as run:
            at_once = set(run.world.agents.entity[run.world.agents.start_tick == 0].tolist())
            first = {}
            for _ in range(220):
                for event in run.step():
                    if event.kind == EventKind.PATH_FOUND and event.entity in at_once:
                        first.setdefault(
                            int(event.entity), (int(event.tick), float(event.x), int(event.value))
                        )
            ways.append({entity: way[1:] for entity, way in first.items()})
            ticks.append(max(way[0] for way in first.values()))
    assert ways[0].keys() == ways[1].keys() and len(ways[0]) >= 25
    for entity, (length, status) in ways[0].items():
        assert (pytest.approx(length, abs=0.1), status) == ways[1][entity]
    assert ticks[1] == 1 and ticks[0] > 20


def test_plan_and_follow_write_what_they_declare():
    with simulation(sets=GRID) as run:
        agents, changed = run.world.agents, {}
        for number in range(1, 40):
            tick = Tick(number, run.scenario.tick, run.team)
            for system in run.systems:
                before = agents.state()
                system.process(tick)
                if isinstance(system, (Plan, Follow)):
                    new = {
                        name
                        for name, array in before.items()
                        if not np.array_equal(array, getattr(agents, name), equal_nan=array.dtype.kind == "f")
                    }
                    changed.setdefault(type(system), set()).update(new)
            run.world.tick = number
    assert changed[Plan] <= set(Plan.writes) and changed[Follow] <= set(Follow.writes)
    assert {"path_status", "goal_piece"} <= changed[Plan] and {
        "preferred_velocity",
        "next_corner",
    } <= changed[Follow]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("cell_size", 0.5),
        ("object_padding", 0.3),
        ("boundary_padding", 0.5),
        ("first_waypoint_trim", 0.0),
        ("waypoint_reached", 0.5),
        ("obstacle_radius_share", 3.0),
        ("obstacle_reach", 0.0),
    ],
)
def test_numbers_of_a_scenario_change_the_run(number, value, expected):
    with simulation(sets=[*GRID, f"navigation.{number}={value}"]) as run:
        assert digests(run, TICKS)[-1] != expected[-1]


# By default the choices of tests/avoidance/test_velocity_obstacles_everywhere.py are made so, and digests.
@pytest.mark.full
def test_code_for_another_processor_gives_the_same_run(expected):
    assert child(TICKS, GRID, NUMBA_CPU_NAME="generic") == expected


@pytest.mark.full  # by default tests/simulation/test_determinism.py does so
def test_without_compilation_the_run_is_the_same():
    sets = [*GRID, "groups.0.count=4", "groups.1.count=2"]
    assert child(8, sets, NUMBA_DISABLE_JIT="1") == child(8, sets)
