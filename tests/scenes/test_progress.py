"""Who gets on and who does not: jams in which everybody jostles, people pushed back, slow ones,
those whom a program leads, seen live and from outside.
"""

import json
from itertools import pairwise

import numpy as np
import pytest
import shapely

from crowdsim.measures import deadlock
from crowdsim.measures.deadlock_causes import diagnose
from crowdsim.navigation.corridor.measure import measure_corridors, measure_path_rows
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation import ledger
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems import detect_stuck
from crowdsim.world.columns import AgentState
from crowdsim.world.events import EventKind
from crowdsim.world.states import has_path
from tests.crowds import SCENARIOS, room, simulation

BEYOND = {"box": [11, 0, 12, 6]}
TWO_ROOMS = {"walkable": [{"box": [0, 0, 6, 6]}, {"box": [6, 2.5, 6.2, 3.5]}, {"box": [6.2, 0, 12, 6]}]}
GRID = "navigation={kind: grid, cell_size: 0.1, object_padding: 0.02}"
NOTED = (
    "remaining",
    "behind",
    "progress",
    "progress_trail",
    "progress_place",
    "progress_direction",
    "nearest_remaining",
    "setbacks",
    "last_gain",
    "regaining",
)


def door_taken(walkers, *, immovable=False, after=60.0, model="orca", **more):
    """Return two rooms with somebody in the only door, who is not asked aside, or cannot be."""
    stander = {
        "name": "stander",
        "positions": [[6.1, 3.0]],
        "radius": 0.3 if immovable else 0.25,
        "immovable": immovable,
    }
    return {
        "version": 1,
        "name": "door",
        "seed": 1,
        "tick": 0.1,
        "stop": {"after": after},
        "geometry": TWO_ROOMS,
        "goals": {"beyond": {"region": BEYOND}},
        "groups": [
            stander,
            {
                "name": "walkers",
                "count": walkers,
                "region": {"box": [0, 0, 4, 6]},
                "goals": ["beyond"],
                "radius": 0.2,
            },
        ],
        "bodies": {"nudging": immovable, "replanning": True},
        "avoidance": model,
        "record": {"rate": 1},
        **more,
    }


def scene(document, *sets, **options):
    return Simulation(parse_scenario(json.dumps(document), file="test", sets=list(sets)), **options)


def longest(times):
    """Return for how many seconds on end somebody was stuck at most."""
    best = run = 1
    for before, now in pairwise(times):
        run = run + 1 if now == before + 1.0 else 1
        best = max(best, run)
    return best


JAMS = [
    (walkers, immovable, model)
    for walkers in (1, 8, 15, 30)
    for immovable in (False, True)
    for model in ("orca", "clearpath", "hrvo", "sampled-hrvo")
]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("walkers", "immovable", "model"), JAMS)
def test_a_jam_is_seen_as_from_outside_however_people_jostle(walkers, immovable, model, tmp_path):
    """From outside: the shortest path to the goal over the ground, for the middle of a disc of 0.2 m,
    has not become less than ever by 0.2 m in ten seconds.
    """
    out = tmp_path / "run.h5"
    ground = shapely.buffer(
        shapely.union_all([shapely.box(*each["box"]) for each in TWO_ROOMS["walkable"]]), -0.2, quad_segs=32
    )
    with scene(door_taken(walkers, immovable=immovable, model=model), out=out) as run:
        verdict = run.run()
    with open_run(out) as recording:
        table = deadlock.stuck_by_place(recording, goal=shapely.box(11, 0, 12, 6), ground=ground)
        spells, last = deadlock.stuck_spells(recording), recording.commit.last_tick * recording.header.tick_s
        groups = deadlock.deadlocks(recording)
    own = table[table["id"] > 1]  # the first stands in the door
    outside = own.groupby("id")["is_stuck"].sum()
    seen = (
        (spells["end_s"].fillna(last) - spells["stuck_s"])
        .groupby(spells["entity"])
        .sum()
        .reindex(outside.index, fill_value=0.0)
    )
    # a second at the begin, and there are whole seconds
    assert abs(outside.sum() - seen.sum()) <= 0.05 * outside.sum() + walkers
    long = {int(one) for one in spells.loc[spells["is_long"], "entity"]}
    held = {
        int(one)
        for one, times in own[own["is_stuck"]].groupby("id")["time_s"]
        if longest(times.tolist()) >= 31
    }
    assert len(long ^ held) <= 1 + walkers // 10
    if verdict.arrived == 0:
        assert groups["is_deadlock"].any() and long and verdict.deadlocked and int(verdict.exit_code) == 3
        named = [left for left in verdict.left if left.stuck_for_s >= 30.0]
        assert named and all(left.reason.startswith("stuck: ") and left.waits_for for left in named)
    else:
        assert not immovable  # of those who may be pushed some are pushed aside


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["orca", "clearpath", "hrvo"])
def test_one_who_is_before_an_immovable_agent_in_the_only_door_is_deadlocked(model):
    with scene(door_taken(1, immovable=True, model=model, after=52)) as run:
        verdict = run.run()
    assert verdict.deadlocked == {"path through people": 1} and verdict.left[0].waits_for == "stander[0]"


@pytest.mark.full
def test_two_who_swing_in_a_doorway_are_deadlocked():
    """Under HRVO, without the breaker, one goes forward when the other goes back, for ever."""
    pair = {
        "version": 1,
        "tick": 0.1,
        "stop": {"after": 56},
        "geometry": {
            "walkable": [{"box": [0, 0, 5, 4]}, {"box": [5, 1.7, 5.4, 2.3]}, {"box": [5.4, 0, 10.4, 4]}]
        },
        "groups": [
            {
                "name": "east",
                "positions": [[2, 2]],
                "radius": 0.25,
                "speed": 1.3,
                "goals": [{"point": [9, 2]}],
            },
            {
                "name": "west",
                "positions": [[8.4, 2]],
                "radius": 0.25,
                "speed": 1.1,
                "goals": [{"point": [1, 2]}],
            },
        ],
        "navigation": "mesh",
        "avoidance": "hrvo",
        "symmetry": {"enabled": False},
    }
    with scene(pair) as run:
        places = []
        while not run.why_over():
            run.step()
            places.append(run.agents.position[:, 0].copy())
        verdict = run.verdict()
    swing = np.ptp(np.array(places)[200:], axis=0)
    assert verdict.arrived == 0 and swing.min() > 0.1
    assert verdict.deadlocked == {"head-on": 2} and verdict.reasons == {"stuck: head-on": 2}


def carts(turns):
    """Return somebody in a lane before a cart that stands for four seconds,
    comes towards it and goes back again, and leaves no room beside it.
    """
    path = [{"point": [20, 0.5], "wait": 4}, [6, 0.5], [20, 0.5]]
    return {
        "version": 1,
        "tick": 0.1,
        "stop": {"after": 39.0 * turns},
        "geometry": {"walkable": {"box": [0, 0, 30, 1]}},
        "groups": [
            {
                "name": "walker",
                "positions": [[17, 0.5]],
                "radius": 0.2,
                "speed": 1.2,
                "goals": [{"point": [29, 0.5]}],
            }
        ],
        "obstacles": [
            {
                "name": "cart",
                "shape": {"disc": 0.45},
                "path": path,
                "speed": 0.8,
                "loop": True,
                "stands_after": 1000,
            }
        ],
    }


@pytest.mark.full
def test_who_is_pushed_back_is_free_soon_after_it_walks_on_but_not_for_ever():
    """Pushed back for 17 s it is stuck; behind the cart it is free after five,
    long before it is where it was. That it comes no nearer tells in the end.
    """
    with scene(carts(6)) as run:
        stuck = []
        while not run.why_over():
            run.step()
            stuck.append(bool(run.agents.is_stuck[0]))
        verdict = run.verdict()
    turns = np.array(stuck).reshape(6, 390)
    for turn in turns[:3]:  # the cart turns at 21.5 s
        assert turn[170:210].all() and not turn[285:390].any()
    # a queue: the cart goes on
    assert turns[5].all() and verdict.left[0].stuck_for_s > 30.0 and verdict.deadlocked == {}


SLOW = {
    "level": ({"walkable": {"box": [0, 0, 8, 2]}}, {}),
    "stairs": (
        {
            "storeys": [
                {"name": "low", "elevation": 0, "walkable": {"box": [0, 0, 1, 2]}},
                {"name": "high", "elevation": 5, "walkable": {"box": [6, 0, 8, 2]}},
            ],
            "connections": [
                {
                    "name": "stair",
                    "lower": "low",
                    "upper": "high",
                    "foot": [[1, 0], [1, 2]],
                    "head": [[6, 0], [6, 2]],
                }
            ],
        },
        {"storey": "low"},
    ),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("where", SLOW)
@pytest.mark.parametrize("speed", [0.05, 0.02])
def test_somebody_slow_is_not_stuck_and_neither_up_a_steep_stair(where, speed):
    geometry, own = SLOW[where]
    start = 0.7 if where == "stairs" else 0.5
    goal = {"point": [7, 1], **({"storey": "high"} if where == "stairs" else {})}
    walker = {"name": "slow", "positions": [[start, 1.0]], "speed": speed, "goals": [goal], **own}
    with scene(
        {"version": 1, "tick": 0.1, "stop": {"after": 40}, "geometry": geometry, "groups": [walker]}
    ) as run:
        while not run.why_over():
            run.step()
            assert run.counts["stuck"] == 0
        assert run.agents.position[0, 0] - start > 0.3 * speed * 40


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "name, most", [("office-floor", 0.25), ("four-way-crossing", 0.2), ("two-storeys", 0.5)]
)
def test_a_remaining_length_is_that_of_the_path_ahead_to_some_centimetres(name, most):
    """All that follow corridors, every second, though it is measured but once:
    round corners, through a crowd, down stairs.
    """
    with Simulation(load_scenario(SCENARIOS / f"{name}.yaml")) as run:
        world, agents, off = run.world, run.world.agents, []
        for tick in range(1, 401):
            run.step()
            rows = np.flatnonzero(has_path(agents.path_status) & (agents.activity == AgentState.WALKING))
            if tick % 20 or not len(rows):
                continue
            length = np.empty(len(rows))
            corridors = (
                world.mesh,
                world.goals,
                world.corridors.portals,
                agents.corridor_start[rows],
                agents.corridor_length[rows],
                world.polygons()[rows],
                agents.goal_piece[rows],
                agents.position[rows],
                agents.radius[rows],
            )
            if world.is_even:
                measure_corridors(*corridors, length)
            else:
                measure_path_rows(0, len(rows), *corridors, length, np.empty(len(rows)))
            off += np.abs(agents.remaining[rows] - length).tolist()
        assert len(off) > 100 and max(off) < most and np.median(off) < 0.12


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["navigation=optimal", "navigation=visibility", GRID])
def test_whatever_finds_the_path_a_lone_walker_makes_as_much_progress_as_it_walks(navigation):
    bar = {
        **room(
            [{"id": 1, "position": [-8, 0.3], "radius": 0.2, "goals": [{"point": [8, 0.2]}]}],
            after=30,
            tick=0.1,
            obstacles=[[[-1, -4], [1, -4], [1, 5], [-1, 5]]],
        )
    }
    with simulation(bar, sets=[navigation]) as run:
        walked, before, first = 0.0, None, None
        while not run.why_over():
            run.step()
            if len(run.agents.position) and np.isfinite(run.world.agents.remaining[0]):
                first = run.world.agents.remaining[0] if first is None else first
                walked += 0.0 if before is None else float(np.hypot(*(run.agents.position[0] - before)))
                before, last = (
                    run.agents.position[0].copy(),
                    (run.world.agents.remaining[0], run.world.agents.progress[0], run.world.agents.behind[0]),
                )
        assert run.verdict().arrived == 1
    remaining, progress, behind = last
    assert (
        remaining < 0.6
        and behind < 0.1
        and progress == pytest.approx(walked, abs=0.6)
        and first - remaining == pytest.approx(walked, abs=0.6)
    )


@pytest.mark.full
def test_whom_a_program_leads_gets_on_in_the_direction_that_it_is_told():
    """East for 15 s, then against the wall: stuck ten seconds later; told to stand, or back, it is not."""
    with simulation(
        room([{"id": 1, "position": [-9, 0], "goals": [{"point": [0, 9]}]}], after=100, tick=0.1)
    ) as run:
        run.set_preferred_velocity(1, [1.3, 0.0])
        stuck = []
        for tick in range(1, 801):
            if tick == 450:
                run.set_preferred_velocity(1, [0.0, 0.0])
            if tick == 600:
                run.set_preferred_velocity(1, [-1.3, 0.0])
            run.step()
            stuck.append(bool(run.agents.is_stuck[0]))
        assert np.isnan(run.world.agents.remaining[0])
    first = stuck.index(True) * 0.1
    assert 23.0 < first < 26.5 and all(stuck[int(first * 10) + 5 : 448]) and not any(stuck[460:])


@pytest.mark.full
def test_who_is_sent_elsewhere_while_it_is_jammed_is_still_jammed_and_free_when_it_walks():
    document = door_taken(1, immovable=True, after=100)
    document["goals"]["here"] = {"region": {"box": [0, 0, 1, 6]}}
    with scene(document) as run:
        while run.time < 40.0:
            run.step()
        assert run.agents.is_stuck[1]
        run.set_goal("walkers[0]", "here")
        run.step()
        assert run.agents.is_stuck[1]
        for _ in range(19):
            run.step()
        assert not run.agents.is_stuck[1]


@pytest.mark.full
def test_people_who_guess_their_way_for_long_get_on_as_long_as_they_come_nearer():
    """With a budget of one expansion a tick paths are long in coming;
    nobody who walks on is stuck for that.
    """
    with Simulation(
        load_scenario(SCENARIOS / "office-floor.yaml", sets=["budget.work=1", "stop.after=40"])
    ) as run:
        verdict = run.run()
    assert verdict.longest_wait_s > 15.0 and verdict.deadlocked == {} and verdict.arrived > 20


CART = {"name": "cart", "shape": {"disc": 0.3}, "path": [[3, 3], [3, 5]], "speed": 1.0}


@pytest.mark.parametrize("obstacles", [[], [CART]], ids=["people", "people and a cart"])
def test_who_is_a_person_is_known_while_a_run_lasts_and_in_its_verdict(monkeypatch, obstacles):
    """All were taken for obstacles: agents behind somebody who gets on for a deadlock."""
    in_ticks, in_verdict = [], []
    for module, looked in ((detect_stuck, in_ticks), (ledger, in_verdict)):
        monkeypatch.setattr(
            module, "diagnose", lambda moment, looked=looked: looked.append(moment) or diagnose(moment)
        )
    with scene(door_taken(2, immovable=True, after=60) | {"obstacles": obstacles}) as run:
        run.run()
    assert in_ticks and in_verdict
    for moment in in_ticks + in_verdict:
        assert np.array_equal(moment.entity > moment.highest_person, moment.is_obstacle)
        assert np.count_nonzero(moment.is_obstacle) == len(obstacles)
        assert moment.highest_person == 3


@pytest.mark.full
def test_rings_of_a_moment_in_a_crowd_that_gets_on_are_no_deadlock(tmp_path):
    """Nine of 130 people are stuck for more than 30 s where streams meet on the stair,
    and go against each other when they are looked at; all arrive.
    """
    path = tmp_path / "run.h5"
    with Simulation(load_scenario(SCENARIOS / "two-storeys.yaml"), out=path) as run:
        while not run.why_over():
            run.step()
            assert run.counts["deadlocked"] == 0
        verdict = run.finish()
    assert verdict.not_arrived == 0 and verdict.deadlocked == {}
    assert not deadlock.deadlocks(path)["is_deadlock"].any() and deadlock.stuck_spells(path)["is_long"].any()


PAIRS = {
    "version": 1,
    "tick": 0.1,
    "stop": {"after": 60},
    "geometry": {"walkable": {"box": [0, 0, 14, 0.8]}},
    "record": {"rate": 1},
    "symmetry": {"enabled": False},
    "groups": [
        {
            "name": "east",
            "positions": [[3, 0.35], [2, 0.4]],
            "radius": 0.25,
            "speed": 1.3,
            "goals": [{"point": [13, 0.4]}],
        },
        {
            "name": "west",
            "positions": [[11, 0.45], [12, 0.4]],
            "radius": 0.25,
            "speed": 1.3,
            "goals": [{"point": [1, 0.4]}],
        },
    ],
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("stop", [{"after": 41.3}, {"after": 47.3}, {"after": 100, "stuck_for": 31.7}])
def test_whenever_a_run_ends_its_verdict_its_events_and_its_recording_name_the_same_deadlocks(stop, tmp_path):
    """Also between two looks, and before anybody was looked at twice."""
    with scene({**PAIRS, "stop": stop}, out=tmp_path / "run.h5") as run:
        verdict = run.run()
    held = min(left.stuck_for_s for left in verdict.left)
    groups, people = deadlock.deadlocks(tmp_path / "run.h5"), deadlock.stuck_people(tmp_path / "run.h5")
    with open_run(tmp_path / "run.h5") as recording:
        events, counted = recording.events(), recording.ticks()["deadlocked"].iloc[-1]
    told = events[events["kind"] == "DEADLOCKED"]["entity"].tolist()
    expected = [1, 2, 3, 4] if held >= 30.0 else []
    assert sorted(told) == sorted(people.loc[people["is_deadlock"], "entity"]) == expected
    assert (
        counted == len(expected)
        and verdict.deadlocked == ({"head-on": 4} if expected else {})
        and groups["is_deadlock"].tolist() == [bool(expected)]
    )
    assert int(verdict.exit_code) == 3 and (
        "stuck_for" not in stop or (verdict.ended == "all that are left are stuck" and expected)
    )


@pytest.mark.full
def test_those_who_wait_for_an_obstacle_that_will_go_on_do_not_end_a_run():
    barrier = {
        "name": "barrier",
        "shape": {"disc": 0.3},
        "path": [[6, 0.4]],
        "vanishes": 40,
        "stands_after": 1000,
    }
    alone = {**PAIRS, "groups": PAIRS["groups"][:1], "stop": {"after": 100, "stuck_for": 5}}
    with scene({**alone, "obstacles": [barrier]}) as run:
        verdict = run.run()
    assert (
        verdict.ended == "all arrived" and 45.0 < verdict.last_arrival_s < 60.0 and verdict.deadlocked == {}
    )
    with scene(
        {**alone, "stop": {"after": 30, "stuck_for": 5}, "obstacles": [{**barrier, "vanishes": 1000}]}
    ) as run:
        assert run.run().ended == "time is up"
    with scene(
        {**alone, "obstacles": [{key: value for key, value in barrier.items() if key != "vanishes"}]}
    ) as run:
        assert run.run().ended == "all that are left are stuck"


@pytest.mark.sample(1)
@pytest.mark.parametrize(("later", "looked_at"), [(0, 254), (3, 253)])
def test_a_run_goes_on_from_a_state_in_which_somebody_is_looked_at_again(later, looked_at):
    document = {**PAIRS, "groups": [{**group, "premovement": later} for group in PAIRS["groups"]]}
    with scene(document) as run, scene(document) as other:
        while looked_at not in run.world.agents.stuck_cause:
            run.step()
        other.restore(run.state())
        assert other.run().deadlocked == run.run().deadlocked == {"head-on": 4}


@pytest.mark.full
def test_progress_is_the_same_on_any_threads_and_goes_on_from_a_saved_state():
    document = door_taken(8, after=40)
    with scene(document) as one, scene(document, threads=3) as three, scene(document) as other:
        saved = None
        for tick in range(1, 401):
            one.step()
            three.step()
            if tick == 163:
                saved = one.state()
        other.restore(saved)
        while other.tick < 400:
            other.step()
        for name in NOTED:
            expected = getattr(one.world.agents, name)
            assert np.array_equal(expected, getattr(three.world.agents, name), equal_nan=True), name
            assert np.array_equal(expected, getattr(other.world.agents, name), equal_nan=True), name
        assert one.digest == three.digest == other.digest and one.counts["stuck"] == 8.0


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("rate", [0.5, 10])
def test_a_recording_of_any_frame_rate_says_the_same(rate, tmp_path):
    out = tmp_path / "run.h5"
    with scene({**door_taken(3, after=52), "record": {"rate": rate}}, out=out) as run:
        told = []
        while not run.why_over():
            told += [(int(e.entity), int(e.tick)) for e in run.step() if e.kind == EventKind.STUCK]
        run.finish(run.why_over())
    with open_run(out) as recording:
        spells, groups = deadlock.stuck_spells(recording), deadlock.deadlocks(recording)
    assert sorted(zip(spells["entity"], np.rint(spells["stuck_s"] / 0.1).astype(int), strict=True)) == sorted(
        told
    )
    assert groups["is_deadlock"].sum() == 1 and groups["people"].max() == 3
