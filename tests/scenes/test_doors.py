"""Areas that are opened and closed while people walk ([Ronchi 2013], test 4.1),
on the mesh and on the grid alike.
"""

import json

import numpy as np
import pytest

from crowdsim import open_run
from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems.base.system import Tick
from crowdsim.systems.change_ground import ChangeGround
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import EventKind
from tests.crowds import SCENARIOS, digests, simulation

FINE = ["navigation={kind: grid, cell_size: 0.2, object_padding: 0.02}"]
WAYS = {"mesh": [], "grid": FINE, "optimal": ["navigation=optimal"], "visibility": ["navigation=visibility"]}
BOTH = ("mesh", "grid")
TICKS = 140

# Two rooms and a door; a second door further south that is shut at first.
ROOMS = {
    "version": 1,
    "name": "rooms",
    "seed": 3,
    "tick": 0.1,
    "stop": {"after": 60},
    "geometry": {
        "walkable": [
            {"box": [0, 0, 6, 8]},
            {"box": [6.2, 0, 12, 8]},
            {"box": [6, 5, 6.2, 6.5]},
            {"box": [6, 1, 6.2, 2.5]},
        ],
        "areas": [
            {"name": "north", "area": {"box": [6, 5, 6.2, 6.5]}},
            {"name": "south", "area": {"box": [6, 1, 6.2, 2.5]}, "available": False},
        ],
    },
    "goals": {"far": {"region": {"box": [10, 0, 12, 8]}}},
    "groups": [{"name": "crowd", "count": 20, "region": {"box": [0, 0, 5, 8]}, "goals": ["far"]}],
    "record": {"rate": 10},
}


def with_events(*events, **more):
    return {**ROOMS, "events": list(events), **more}


def run_through(run, most=4000):
    """Step to the end; return all events."""
    found = []
    while not run.why_over() and len(found) < most:
        found.extend(run.step())
    return found


def of_kind(events, kind):
    return [event for event in events if event.kind == kind]


@pytest.mark.sample(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [1, 50])
def test_an_exit_closes_and_everyone_leaves_by_the_other(way, count):
    """NIST 4.1: nobody leaves by the closed exit afterwards, nobody is stuck,
    nobody asks for a way more than five times.
    """
    with Simulation(
        load_scenario(SCENARIOS / "exit-closes.yaml", sets=[*WAYS[way], f"groups.crowd.count={count}"])
    ) as run:
        events = run_through(run)
        verdict = run.verdict()
    assert verdict.ended == "all arrived" and verdict.arrived == count
    closed = next(event.tick for event in events if event.kind == EventKind.AREA_CLOSED)
    east = run.world.goal_names.index("east")
    late = [event for event in of_kind(events, EventKind.ARRIVAL) if event.tick > closed + 40]
    assert late and all(event.value != east for event in late)
    asked = np.bincount([event.entity for event in of_kind(events, EventKind.PATH_FOUND)])
    assert asked.max() <= 5 and not of_kind(events, EventKind.STUCK)
    if count == 1:
        assert verdict.arrivals["west"] == 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("way", WAYS)
def test_a_door_closes_after_ten_and_the_others_take_the_way_round(way):
    with Simulation(load_scenario(SCENARIOS / "closing-door.yaml", sets=WAYS[way])) as run:
        closed = opened = 0
        south, through_late = set(), set()
        while not run.why_over():
            before = run.world.agents.entity.copy(), run.world.agents.position.copy()
            for event in run.step():
                closed = event.tick if event.kind == EventKind.AREA_CLOSED else closed
                opened = event.tick if event.kind == EventKind.AREA_OPENED else opened
            agents = run.world.agents
            south |= set(agents.entity[agents.position[:, 1] < 2.0].tolist())
            if closed and not opened:
                _, a, b = np.intersect1d(before[0], agents.entity, return_indices=True)
                in_north = agents.position[b, 1] > 4.0
                crossed = (before[1][a, 0] < 8.0) & (agents.position[b, 0] > 8.2) & in_north
                through_late |= set(agents.entity[b][crossed].tolist()) if run.tick > closed else set()
        verdict = run.verdict()
        assert verdict.ended == "all arrived" and verdict.arrived == 40
        assert 1 <= verdict.replans["path closed"] <= 40
        assert 0 < closed < opened == 801 and not through_late
        assert 15 <= len(south) <= 22, (
            "all of the early ones but those ten, and those who were nearer to the far side when they stood "
            "in the door"
        )


@pytest.mark.sample(1)
@pytest.mark.parametrize("way", BOTH)
def test_a_closed_door_is_a_wall_at_once_and_nobody_comes_nearer_to_it_than_its_body(way):
    with simulation(with_events({"at": 3, "close": "north"}), sets=WAYS[way]) as run:
        for _ in range(TICKS):
            run.step()
            if run.tick > 31:
                place = run.world.agents.position
                inside = (place[:, 1] > 5.0) & (place[:, 1] < 6.5)
                assert np.all(np.abs(place[inside, 0] - 6.1) >= 0.1 + run.world.agents.radius[inside] - 1e-5)


@pytest.mark.sample(1)
@pytest.mark.parametrize("way", BOTH)
def test_who_had_given_up_goes_on_when_a_door_opens(way):
    closed_first = {
        **ROOMS,
        "geometry": {
            **ROOMS["geometry"],
            "areas": [{**area, "available": False} for area in ROOMS["geometry"]["areas"]],
        },
    }
    with simulation({**closed_first, "events": [{"at": 20, "open": "south"}]}, sets=WAYS[way]) as run:
        while run.time < 19.9:
            run.step()
        agents = run.world.agents
        assert not run.why_over() and len(agents) == 20
        if way == "mesh":
            assert np.all(agents.path_status == PathStatus.UNREACHABLE) and np.all(
                agents.activity == AgentState.STANDING
            )
        else:
            assert np.all(agents.path_status == PathStatus.NEAREST_REACHABLE)
        verdict = run.run()
        assert verdict.ended == "all arrived" and verdict.arrived == 20


@pytest.mark.parametrize("way", BOTH)
def test_a_goal_in_a_room_that_is_shut_is_not_reached_and_the_verdict_says_why(way):
    with simulation(
        with_events({"at": 0.2, "close": "north"}), sets=[*WAYS[way], "groups.crowd.count=1"]
    ) as run:
        verdict = run.run()
    assert verdict.ended == "no agent can go on" and verdict.arrived == 0
    reason = {
        "mesh": "no path to its goal that is wide enough",
        "grid": "no path to its goal; walks as close as it can",
    }[way]
    assert verdict.reasons == {reason: 1}


@pytest.mark.sample(1)
@pytest.mark.parametrize("way", BOTH)
def test_who_is_in_a_room_that_closes_is_shut_in_until_it_opens(way):
    areas = [{"name": "pen", "area": {"box": [0, 0, 3, 3]}}]
    agents = [{"id": 1, "position": [1.5, 1.5]}, {"id": 2, "position": [5, 5]}]
    scene = {
        **ROOMS,
        "geometry": {"walkable": {"box": [0, 0, 12, 8]}, "areas": areas},
        "groups": [{"name": "two", "agents": agents, "goals": ["far"], "speed": 1.2}],
        "events": [{"at": 0.2, "close": "pen"}, {"at": 15, "open": "pen"}],
    }
    with simulation(scene, sets=WAYS[way]) as run:
        while run.time < 14.5:
            run.step()
            first = run.world.agents.position[run.world.agents.entity == 1][0]
            assert np.all(first < 3.0)
        assert run.world.agents.entity.tolist() == [1]
        assert run.run().ended == "all arrived"


@pytest.mark.sample(2)
@pytest.mark.parametrize("way", WAYS)
def test_who_does_not_go_through_a_door_keeps_its_way_when_it_closes(way):
    agents = [
        {"id": 1, "position": [1, 4], "goals": [{"point": [5, 1]}]},
        {"id": 2, "position": [3, 5.7], "goals": [{"point": [11, 5]}]},
    ]
    areas = [ROOMS["geometry"]["areas"][0], {**ROOMS["geometry"]["areas"][1], "available": True}]
    scene = {
        **ROOMS,
        "geometry": {**ROOMS["geometry"], "areas": areas},
        "groups": [{"name": "two", "agents": agents}],
        "events": [{"at": 1, "close": "north"}],
    }
    with simulation(scene, sets=WAYS[way]) as run:
        events = run_through(run)
        assert run.verdict().arrived == 2
    lost = [event.entity for event in of_kind(events, EventKind.PATH_LOST)]
    assert lost == [2] if way == "grid" else 2 in lost


def test_the_first_of_two_events_that_cross_and_a_program_agree():
    """`set_area_available` does what an event does, in the next tick."""
    with simulation(with_events({"at": 2, "close": "north"}, {"at": 2, "open": "south"})) as run:
        expected = digests(run, TICKS)
    with simulation(ROOMS) as run:
        found = digests(run, 20)
        run.set_area_available("north", False)
        run.set_area_available("south", True)
        found += digests(run, TICKS - 20)
        assert found == expected
        with pytest.raises(
            CrowdsimError, match=r"there is no area 'nort'. Did you mean \"north\"\? Known are north, south."
        ):
            run.set_area_available("nort", True)


def test_a_line_counts_everyone_once_in_either_direction():
    agents = [
        {"id": 1, "position": [1, 4], "goals": [{"point": [3, 4]}, {"point": [1, 4]}, {"point": [3, 4.5]}]},
        {"id": 2, "position": [3, 6], "premovement": 8, "goals": [{"point": [1, 6]}]},
    ]
    scene = {
        **ROOMS,
        "groups": [{"name": "two", "agents": agents, "speed": 1.2, "leave_on_arrival": False}],
        "events": [{"when": {"crossed": [[2, 0], [2, 8]], "count": 2}, "open": "south"}],
    }
    with simulation(scene) as run:
        events = run_through(run, 400)
    assert 80 < of_kind(events, EventKind.AREA_OPENED)[0].tick < 110


SEVERAL = with_events(
    {"at": 2, "close": "north"},
    {"at": 2, "open": "south"},
    {"when": {"crossed": [[7, 0], [7, 8]], "count": 6}, "open": "north"},
    {"at": 9, "close": "south"},
)


@pytest.fixture(scope="module", params=BOTH)
def several(request):
    with simulation(SEVERAL, sets=WAYS[request.param]) as run:
        return request.param, digests(run, TICKS)


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_changes_nothing(threads, several, monkeypatch):
    way, expected = several
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
    with simulation(SEVERAL, sets=WAYS[way], threads=threads) as run:
        assert digests(run, TICKS) == expected


@pytest.mark.full
@pytest.mark.sample(1)
def test_saving_and_loading_between_changes_goes_on_bit_for_bit(several):
    way, expected = several
    with simulation(SEVERAL, sets=WAYS[way]) as run:
        for number in range(TICKS):
            if number in (0, 19, 20, 21, 45, 60, 89, 90, 91, 120):
                state = run.state()
                with simulation(SEVERAL, sets=WAYS[way]) as other:
                    other.restore(state)
                    again = other.state()
                    for name, array in state.items():
                        assert np.array_equal(array, again[name], equal_nan=array.dtype.kind == "f"), name
                    assert digests(other, TICKS - number) == expected[number:], number
            run.step()


def test_gates_write_what_they_declare():
    with simulation(SEVERAL) as run:
        agents, changed = run.world.agents, set()
        for number in range(1, TICKS):
            tick = Tick(number, run.scenario.tick, run.team)
            for system in run.systems:
                before = agents.state()
                system.process(tick)
                if isinstance(system, ChangeGround):
                    changed |= {
                        name
                        for name, array in before.items()
                        if not np.array_equal(array, getattr(agents, name), equal_nan=array.dtype.kind == "f")
                    }
            run.world.tick = number
    assert changed <= set(ChangeGround.writes)
    assert {"surface", "path_status", "corridor_length", "goal_piece", "wall_distance"} <= changed


@pytest.mark.full
def test_a_recording_has_the_changes_and_is_run_again_alike(tmp_path):
    out = tmp_path / "doors.h5"
    with simulation(SEVERAL, out=out) as run:
        digest = run.run().digest
    recording = open_run(out)
    events = recording.events()
    told = events[events["kind"].isin(["AREA_CLOSED", "AREA_OPENED"])]
    assert [*zip(told["kind"], told["value"], strict=True)][:2] == [("AREA_OPENED", 1), ("AREA_CLOSED", 0)]
    again = parse_scenario(recording.header.scenario)
    assert [area.name for area in again.geometry.areas] == ["north", "south"] and len(again.events) == 4
    with Simulation(again) as run:
        assert run.run().digest == digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"events": [{"at": 1, "close": "nroth"}]}, 'there is no area "nroth"'),
        ({"events": [{"close": "north"}]}, "the event does not say when it happens"),
        ({"events": [{"at": 1}]}, "the event does not say what happens"),
        ({"events": [{"at": 1, "close": "north", "open": "south"}]}, "open and close are both given"),
        ({"events": [{"when": {"crossed": [[1, 1], [1, 1]]}, "open": "south"}]}, "the line has no length"),
        (
            {
                "geometry": {
                    "walkable": {"box": [0, 0, 4, 4]},
                    "areas": [{"name": "a", "area": {"box": [5, 0, 6, 1]}}],
                }
            },
            '"a" shares nothing with the walkable ground',
        ),
        (
            {
                "geometry": {
                    "walkable": {"box": [0, 0, 12, 8]},
                    "areas": [{"name": "a", "area": {"box": [5, 0, 6, 1]}}] * 2,
                }
            },
            'there is an area "a" already',
        ),
    ],
)
def test_mistakes_are_told_with_the_way_out(change, message):
    import json

    with pytest.raises(ScenarioError, match=message):
        parse_scenario(json.dumps({**ROOMS, **change}))


@pytest.mark.full
def test_doors_in_tiles_rebuild_their_own_tiles_only_and_lead_to_the_same():
    scenario = load_scenario(SCENARIOS / "closing-door.yaml", sets=["navigation.tile_size=4"])
    with Simulation(scenario) as run:
        changed, through = set(), 0
        while not run.why_over():
            before = run.agents.position.copy(), run.agents.entity.copy()
            is_closed = bool(run.counts.get("closed_areas"))
            for event in run.step():
                if event.kind in (EventKind.TILE_REMOVED, EventKind.TILE_ADDED):
                    changed.add(run.world.tiles.name_of(int(event.value)))
            if is_closed and run.counts["closed_areas"]:
                rows = np.isin(before[1], run.agents.entity)
                old, new = before[0][rows, 0], run.agents.position[np.isin(run.agents.entity, before[1]), 0]
                high = run.agents.position[np.isin(run.agents.entity, before[1]), 1] > 4.0
                through += int(np.count_nonzero((old < 8.1) & (new >= 8.1) & high))
        assert run.why_over() == "all arrived" and through == 0
        assert changed == {(1, 1), (2, 1), (1, 2), (2, 2)}  # of 12, those that the door touches or borders on


@pytest.mark.parametrize("door", [[8, 4, 8.4, 6], [6, 3, 10, 7]])
def test_an_agent_in_a_door_in_tiles_that_closes_is_put_beside_it(door):
    """Through no wall: there is one 0.5 m to the west of the narrow door, and nearer to it than the east."""
    document = {
        "version": 1,
        "name": "hall",
        "tick": 0.1,
        "stop": {"after": 10},
        "geometry": {
            "walkable": {"box": [0, 0, 16, 10]},
            "obstacles": [{"box": [7.9, 2, 7.92, 8]}] if door[0] == 8 else [],
            "areas": [{"name": "door", "area": {"box": door}}],
        },
        "groups": [{"name": "waits", "positions": [[8.15, 5]], "radius": 0.2}],
        "events": [{"at": 1, "close": "door"}],
        "navigation": {"tile_size": 3},
    }
    with simulation(document) as run:
        events = np.concatenate([run.step() for _ in range(15)])
        (put,) = events[events["kind"] == EventKind.PUT_OUT]
        x, y = run.agents.position[0]
        assert not np.any(events["kind"] == EventKind.GROUND_LOST)
        assert (x, y) == (put["x"], put["y"]) and run.world.has_ground().all()
        inside = door[0] - 0.2 < x < door[2] + 0.2 and door[1] - 0.2 < y < door[3] + 0.2
        assert not inside and x > 7.92


@pytest.mark.full
def test_a_door_in_tiles_that_is_shut_at_first_opens_and_a_saved_run_goes_on():
    sets = ["navigation.tile_size=4"]
    with Simulation(load_scenario(SCENARIOS / "goal-in-closed-room.yaml", sets=sets)) as run:
        for _ in range(590):
            run.step()
        state, expected = run.state(), []
        for _ in range(40):
            run.step()
            expected.append(run.digest)
        verdict = run.run()
        assert verdict.arrived == 20 and verdict.not_arrived == 1
    with Simulation(load_scenario(SCENARIOS / "goal-in-closed-room.yaml", sets=sets)) as other:
        other.restore(state)
        for digest in expected:
            other.step()
            assert other.digest == digest


MEETING = {"name": "clerk", "agents": [{"id": 7, "position": [3, 7]}]}
VISITORS = {
    "name": "visitors",
    "positions": [[1, 1], [1, 3], [5, 1]],
    "goals": [{"point": [3, 6.4], "arrive_within": 0.4}],
    "leave_on_arrival": False,
}


@pytest.mark.parametrize(("count", "within"), [(1, 1.35), (2, 1.35), (1, 3.0)])
def test_a_door_opens_when_visitors_have_come_up_to_the_clerk(count, within):
    event = {
        "when": {"met": ["visitors", 7], "count": count, **({} if within == 1.35 else {"within": within})},
        "open": "south",
    }
    with simulation(with_events(event, groups=[VISITORS, MEETING])) as run:
        near = set()
        while not run.why_over():
            clerk = run.agents.entity.tolist().index(
                next(
                    e
                    for e, label in zip(run.agents.entity.tolist(), run.agents.label, strict=True)
                    if label == "#7"
                )
            )
            away = np.hypot(*(run.agents.position - run.agents.position[clerk]).T)
            near |= {
                e
                for e, far in zip(run.agents.entity.tolist(), away.tolist(), strict=True)
                if 0.0 < far <= within
            }
            if of_kind(run.step(), EventKind.AREA_OPENED):
                break
        assert len(near) == count


def test_nobody_meets_himself_and_nobody_meets_on_the_way_back_to_a_saved_state():
    event = {"when": {"met": ["visitors", "visitors"], "within": 1.0, "count": 2}, "open": "south"}
    document = with_events(event, groups=[VISITORS, MEETING])
    with simulation(document) as run, simulation(document) as other:
        opened, expected, states = [], [], []
        for tick in range(100):
            if tick % 9 == 0:
                states.append((tick, run.state()))
            opened += [event.tick for event in of_kind(run.step(), EventKind.AREA_OPENED)]
            expected.append(run.digest)
        assert len(opened) == 1 and opened[0] > 10
        for tick, state in states[::-1]:
            other.restore(state)
            assert digests(other, min(5, 100 - tick)) == expected[tick : tick + 5]


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ({"met": ["visitors", "clark"]}, 'there is no group "clark"'),
        ({"met": ["visitors", 8]}, "no agent has the id 8"),
        ({"met": ["visitors"]}, "two groups or ids"),
        ({"met": ["visitors", 7], "within": 0}, "within"),
        ({"meet": ["visitors", 7]}, "met: \\[a, b\\]"),
    ],
)
def test_mistakes_about_meetings_are_named(when, message):
    with pytest.raises(ScenarioError, match=message):
        parse_scenario(
            json.dumps(with_events({"when": when, "open": "south"}, groups=[VISITORS, MEETING])),
            file="t.yaml",
        )


def test_a_meeting_is_kept_in_the_canonical_text():
    text = parse_scenario(
        json.dumps(
            with_events({"when": {"met": ["visitors", 7]}, "open": "south"}, groups=[VISITORS, MEETING])
        )
    ).canonical()
    assert "within: 1.35" in text and parse_scenario(text).canonical() == text
