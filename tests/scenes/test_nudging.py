"""People who stand in the way step aside, and people whose way is taken ask for another."""

import copy

import numpy as np
import pytest
import shapely

from crowdsim.scenario.load import load_scenario
from crowdsim.scenario.parameters import parameter_rows
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems.paths.lost_paths import wish_to_replan
from crowdsim.world.columns import ReplanCause
from crowdsim.world.events import EventKind
from tests.crowds import SCENARIOS, digests, room, simulation

GRID = "navigation={kind: grid, cell_size: 0.1, object_padding: 0.02}"
PLANNERS = ["navigation=mesh", "navigation=optimal", "navigation=visibility", GRID]
BOTH = ["bodies.nudging=true", "bodies.replanning=true"]


def run_of(name, *sets):
    return Simulation(load_scenario(SCENARIOS / f"{name}.yaml", sets=list(sets)))


def in_the_way(*, size=10.0, **more):
    """Return a hall in which walkers cross people who stand and one who starts later;
    everything of this page happens in it.
    """
    rng = np.random.default_rng(3)
    places = [
        (x + rng.uniform(-0.2, 0.2), y + rng.uniform(-0.2, 0.2))
        for x in np.arange(-3, 3.1, 0.75)
        for y in np.arange(-3, 3.1, 0.75)
    ]
    idle = [
        {"id": 100 + i, "position": [float(x), float(y)], "radius": 0.22} for i, (x, y) in enumerate(places)
    ]
    idle[40] |= {"premovement": 3, "goals": [{"point": [4, 4]}]}
    walkers = [
        {"id": i, "position": [-4.5, -3 + i], "radius": 0.2, "goals": [{"point": [4.5, 3 - i]}]}
        for i in range(7)
    ]
    return room([*idle, *walkers], size=size, after=60, tick=0.1, **more)


def all_events(run):
    found = []
    while not run.why_over():
        found += [(int(e.tick), int(e.entity), int(e.kind), int(e.value)) for e in run.step()]
    return found


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
def test_a_stander_in_a_doorway_lets_others_pass_whatever_finds_the_ways(navigation):
    with run_of("doorway-blocked", navigation) as run:
        verdict = run.run()
    assert (verdict.ended, verdict.arrived) == ("all arrived", 8) and verdict.simulated_s < 15.0
    assert 1 <= verdict.nudges <= 4


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
def test_without_nudging_the_door_stays_shut_and_the_verdict_names_the_stuck(navigation):
    with run_of("doorway-blocked", navigation, "bodies.nudging=false") as run:
        events = all_events(run)
        verdict = run.verdict()
    assert verdict.arrived == 0 and verdict.nudges == 0
    stuck = {entity for _, entity, kind, _ in events if kind == EventKind.STUCK}
    assert stuck and {left.agent for left in verdict.left} == {f"walkers[{i}]" for i in range(8)}


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["navigation=mesh", GRID])
def test_movers_get_through_an_idle_crowd_which_is_asked_aside(navigation):
    with run_of("idle-crowd", navigation) as run:
        events = all_events(run)
        verdict = run.verdict()
        nudges = run.world.agents.nudges.sum()
    nudged = [value for _, _, kind, value in events if kind == EventKind.NUDGED]
    assert verdict.arrived == 16 and verdict.nudges == len(nudged) == nudges > 50


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["navigation=mesh", GRID])
def test_without_nudging_the_idle_crowd_holds_them_and_their_names_are_kept(navigation):
    with run_of("idle-crowd", navigation, "bodies.nudging=false") as run:
        verdict = run.run()
    assert verdict.arrived == 0 and verdict.ended == "all that are left are stuck"
    assert sum(verdict.reasons.values()) == sum(verdict.deadlocked.values()) == 16
    assert set(verdict.reasons) <= {"stuck: path through people", "stuck: enclosed"} and all(
        left.stuck_for_s >= 30.0 for left in verdict.left
    )


def test_a_stander_is_asked_aside_on_contact_where_nobody_avoids_anybody():
    stander, walker = (
        {"id": 1, "position": [0, 0], "radius": 0.3},
        {"id": 2, "position": [-3, 0.01], "radius": 0.3, "goals": [{"point": [5, 0.01]}]},
    )
    with simulation(room([stander, walker], after=30), sets=["avoidance=none", "bodies.nudging=true"]) as run:
        events = [event for event in all_events(run) if event[2] == EventKind.NUDGED]
        assert events and all(event[1] == 1 and event[3] == 2 for event in events)
        assert run.verdict().arrived == 1 and run.agents.position[0, 0] > 1.0


def test_a_step_aside_ends_where_it_led_and_the_agent_stays_there():
    stander, walker = (
        {"id": 1, "position": [0, 0], "radius": 0.3},
        {"id": 2, "position": [-1, 0], "radius": 0.3, "goals": [{"point": [-0.4, 0], "arrive_within": 0.05}]},
    )
    with simulation(room([stander, walker], after=30), sets=["avoidance=none", "bodies.nudging=true"]) as run:
        aims = []
        for _ in range(200):
            aims += [(e.x, e.y) for e in run.step() if e.kind == EventKind.NUDGED]
        place = run.world.agents.position[0].copy()
        assert len(aims) == 1 and np.hypot(*(place - aims[0])) <= 0.05
        for _ in range(100):
            run.step()
        assert np.array_equal(run.world.agents.position[0], place)


@pytest.mark.parametrize("moves", [True, False])
def test_an_immovable_agent_is_neither_pushed_nor_asked_aside(moves):
    stander = {"id": 1, "position": [0, 0], "radius": 0.3, **({} if moves else {"immovable": True})}
    walker = {"id": 2, "position": [-3, 0.02], "radius": 0.3, "goals": [{"point": [5, 0.02]}]}
    with simulation(room([stander, walker], after=20), sets=["avoidance=none", *BOTH]) as run:
        verdict = run.run()
        assert (run.world.agents.position[0].tolist() == [0.0, 0.0]) != moves
        assert (verdict.nudges > 0) == moves and verdict.arrived == 1


def test_a_group_says_it_for_its_agents_and_an_agent_for_itself():
    document = room([{"id": 1, "position": [0, 0]}, {"id": 2, "position": [2, 0], "immovable": False}])
    document["groups"][0]["immovable"] = True
    with simulation(document) as run:
        assert run.world.agents.is_immovable.tolist() == [1, 0]
        assert run.scenario.canonical().count("immovable: true") == 1


def test_who_waits_for_its_time_is_asked_aside_too_and_sets_off_at_its_time():
    waiting = {"id": 1, "position": [0, 0], "radius": 0.3, "premovement": 8, "goals": [{"point": [0, 8]}]}
    walker = {"id": 2, "position": [-3, 0.01], "radius": 0.3, "goals": [{"point": [5, 0.01]}]}
    with simulation(room([waiting, walker], after=40), sets=["avoidance=none", "bodies.nudging=true"]) as run:
        events = all_events(run)
        assert any(event[2] == EventKind.NUDGED and event[1] == 1 and event[0] * 0.05 < 8 for event in events)
        assert run.verdict().arrived == 2


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
def test_replans_keep_their_cooldown_and_are_counted_by_cause(navigation):
    with simulation(in_the_way(), sets=[navigation, *BOTH, "bodies.nudging=false"]) as run:
        events = [event for event in all_events(run) if event[2] == EventKind.REPLANNED]
        verdict = run.verdict()
    assert len(events) > 10
    by_agent = {}
    for tick, entity, _, _ in events:
        assert tick - by_agent.get(entity, -100) >= 5
        by_agent[entity] = tick
    assert sum(verdict.replans.values()) == len(events) and verdict.replans["blocked"] == sum(
        value == ReplanCause.BLOCKED for *_, value in events
    )


@pytest.mark.full
def test_a_replan_on_a_grid_leads_round_who_has_come_to_stand_in_the_way():
    """He walks up, stops in the middle of the other's way and stands there:
    from then on the way bends round him.
    """
    late = {"id": 1, "position": [0, 3.2], "radius": 0.4, "goals": [{"point": [0, 0], "arrive_within": 0.05}]}
    walker = {"id": 2, "position": [-9, 0], "radius": 0.2, "speed": 1.0, "goals": [{"point": [9, 0]}]}
    document = room([late, walker], after=40)
    document["groups"][0]["leave_on_arrival"] = False
    bends = []
    for sets in ([], ["bodies.replanning=true"]):
        with simulation(document, sets=[GRID, "avoidance=none", *sets]) as run:
            farthest = 0.0
            while not run.why_over():
                run.step()
                if run.world.agents.position[1, 0] < -0.7:
                    farthest = max(farthest, float(np.abs(run.world.agents.next_corner[1, 1])))
            bends.append(farthest)
    assert bends[0] < 0.1 < 0.2 < bends[1]


def test_searches_that_know_nobody_are_not_asked_because_of_people_ahead():
    with simulation(in_the_way(), sets=["navigation=mesh", *BOTH]) as run:
        cuts = 0.0
        while not run.why_over():
            run.step()
            cuts += run.counts["replan_cuts"]
        assert cuts > 0 and "agents ahead" not in run.verdict().replans


def test_nothing_is_asked_again_where_nothing_is_cut():
    walkers = [{"id": i, "position": [-8, i - 3], "goals": [{"point": [8, i - 3]}]} for i in range(6)]
    with simulation(room([*walkers, {"id": 50, "position": [0, 9]}]), sets=["bodies.replanning=true"]) as run:
        triggers = 0.0
        while not run.why_over():
            run.step()
            triggers += run.counts["replan_triggers"]
        assert triggers > 50 and run.verdict().replans == {}


def test_a_shut_way_is_a_cause_even_where_people_are_none():
    with simulation(room([{"id": 1, "position": [-8, 0], "goals": [{"point": [8, 0]}]}])) as run:
        granted = []
        run.step()  # its first way
        for number in range(2, 41):
            wish_to_replan(run.world.agents, np.array([0]), ReplanCause.PATH_CLOSED)
            granted += [
                number
                for event in run.step()
                if event.kind == EventKind.REPLANNED and event.value == ReplanCause.PATH_CLOSED
            ]
        assert granted == [11, 21, 31] and run.verdict().replans == {"path closed": 3}
        assert run.world.agents.replans.tolist() == [3]


def test_a_goal_that_moved_is_a_cause():
    document = room(
        [{"id": 1, "position": [-8, 0], "goals": ["a"]}],
        goals={"a": {"point": [8, 0]}, "b": {"point": [8, 5]}},
    )
    with simulation(document) as run:
        run.step()
        run.set_goal(1, "b")
        run.run()
        assert run.verdict().replans == {"goal moved": 1} and run.verdict().arrivals == {"b": 1}


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["navigation=mesh", GRID])
def test_threads_order_and_saving_change_nothing(navigation, monkeypatch):
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
    sets, ticks = [navigation, *BOTH], 80
    document = in_the_way()
    with simulation(document, sets=sets) as run:
        expected = digests(run, ticks)
        assert run.verdict().nudges > 5 and run.verdict().replans
    shuffled = copy.deepcopy(document)
    np.random.default_rng(1).shuffle(shuffled["groups"][0]["agents"])
    for other, threads in ((document, 3), (shuffled, 1)):
        with simulation(other, sets=sets, threads=threads) as run:
            assert digests(run, ticks) == expected
    with simulation(document, sets=sets) as run:
        for number in range(ticks):
            state = run.state()
            if number % 8 == 0:
                with simulation(document, sets=sets) as again:
                    again.restore(state)
                    assert digests(again, 8) == expected[number : number + 8]
            run.step()


def test_in_a_crowd_that_is_asked_aside_everybody_stays_clear_of_walls_and_nobody_is_pressed_into_anybody():
    bars = [[[-1, -5], [-0.9, -5], [-0.9, -1], [-1, -1]], [[1, 1], [1.1, 1], [1.1, 5], [1, 5]]]
    document = in_the_way()
    document["geometry"]["obstacles"] = bars
    agents = document["groups"][0]["agents"]
    walls = shapely.box(-5, -5, 5, 5).difference(shapely.union_all([shapely.Polygon(bar) for bar in bars]))
    document["groups"][0]["agents"] = [
        agent for agent in agents if walls.contains(shapely.Point(agent["position"]).buffer(0.25))
    ]
    with simulation(document, sets=BOTH) as run:
        while not run.why_over():
            run.step()
            place = shapely.points(run.world.agents.position)
            assert np.all(shapely.covers(walls, place)) and np.all(
                shapely.distance(walls.boundary, place) >= run.world.agents.radius - 1e-4
            )
            assert run.counts["deepest_overlap_m"] <= 0.02 + 1e-9
        assert run.verdict().nudges > 20


def test_a_resting_crowd_of_four_a_square_metre_comes_to_rest():
    document = room([], size=5.0, after=20)
    document["groups"] = [{"name": "crowd", "count": 100, "radius": 0.2}]
    with simulation(document, sets=BOTH) as run:
        agents = run.world.agents
        # so that many overlap
        agents.position[:] += np.random.default_rng(0).uniform(-0.03, 0.03, agents.position.shape)
        agents.tentative_position[:] = agents.position
        for _ in range(200):
            before = run.world.agents.position.copy()
            run.step()
        moved = np.hypot(*(run.world.agents.position - before).T)
        assert moved.mean() / 0.05 < 0.01 and run.verdict().nudges == 0


TABLE = {
    "navigation.grid.cell_size": 0.4,
    "navigation.grid.object_padding": 0.25,
    "navigation.grid.waypoint_reached": 0.05,
    "navigation.grid.same_target": 0.25,
    "navigation.grid.obstacle_reach": 6.0,
    "navigation.grid.obstacle_radius_share": 0.6,
    "bodies.nudge_distance": 1.2,
    "bodies.replan_trigger": 1.8,
    "bodies.replan_cooldown": 0.5,
    "bodies.replan_moved": 0.05,
    "bodies.passes": 3,
}


def test_the_constants_of_the_source_are_the_defaults():
    defaults = {row["name"]: row["default"] for row in parameter_rows()}
    assert {name: defaults[name] for name in TABLE} == TABLE
    assert defaults["bodies.blocked_time"] == 0.5 and defaults["bodies.blocked_share"] == pytest.approx(1 / 3)


@pytest.fixture(scope="module")
def usual():
    with simulation(in_the_way(), sets=BOTH) as run:
        run.run()
        return run.digest


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "change",
    [
        "nudging=false",
        "nudge_distance=0.7",
        "nudge_reached=0.5",
        "nudge_contact=0.2",
        "nudge_patience=0.4",
        "blocked_share=0.9",
        "blocked_time=1.5",
    ],
)
def test_every_number_of_nudging_takes_effect(change, usual):
    with simulation(in_the_way(), sets=[*BOTH, f"bodies.{change}"]) as run:
        run.run()
        assert run.digest != usual


@pytest.fixture(scope="module")
def usual_on_a_grid():
    with simulation(in_the_way(), sets=[GRID, *BOTH]) as run:
        run.run()
        return run.verdict()


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "change", ["replanning=false", "replan_trigger=0.3", "replan_moved=1.5", "replan_cooldown=2"]
)
def test_every_number_of_replanning_takes_effect(change, usual_on_a_grid):
    with simulation(in_the_way(), sets=[GRID, *BOTH, f"bodies.{change}"]) as run:
        run.run()
        assert run.verdict().replans != usual_on_a_grid.replans


@pytest.mark.full
def test_a_stander_on_a_stair_is_asked_aside():
    document = {
        "version": 1,
        "name": "stair",
        "seed": 1,
        "tick": 0.05,
        "stop": {"after": 40},
        "geometry": {
            "storeys": [
                {"name": "low", "elevation": 0, "walkable": {"box": [0, 0, 4, 4]}},
                {"name": "high", "elevation": 3, "walkable": {"box": [10, 0, 14, 4]}},
            ],
            "connections": [
                {
                    "name": "stair",
                    "lower": "low",
                    "upper": "high",
                    "foot": [[4, 1.4], [4, 2.6]],
                    "head": [[10, 1.4], [10, 2.6]],
                }
            ],
        },
        "goals": {"up": {"region": {"box": [12, 0, 14, 4]}, "storey": "high"}},
        "groups": [
            {"name": "on", "positions": [[7, 2]], "storey": "stair", "radius": 0.35},
            {"name": "walker", "positions": [[2, 2]], "storey": "low", "goals": ["up"], "radius": 0.3},
        ],
    }
    with simulation(document, sets=BOTH) as run:
        verdict = run.run()
    assert verdict.arrived == 1 and verdict.nudges >= 1
