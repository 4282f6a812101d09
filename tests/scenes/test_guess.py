"""Agents move from the first tick, on a guess, while the budget is too small for their searches;
a wrong guess is walked back.
"""

import numpy as np
import pytest
import shapely

from crowdsim.systems import Plan
from crowdsim.systems.paths import cell_guesses, corner_guesses
from crowdsim.systems.paths.waypoint_paths import WaypointPaths
from crowdsim.world.columns import PathStatus
from crowdsim.world.events import EventKind
from tests.crowds import assert_same_on_threads_and_from_saved_states, digests, simulation

# A wall across the straight line: the guess runs towards the goal into a pocket, the way leads round the far
# end.
POCKET = {
    "version": 1,
    "name": "pocket",
    "seed": 1,
    "tick": 0.1,
    "stop": {"after": 90, "when": "all_arrived"},
    "record": {"rate": 1},
    "geometry": {
        "walkable": [[0, 0], [30, 0], [30, 12], [0, 12]],
        "obstacles": [{"box": [20, 0, 20.3, 10]}]
        + [{"box": [x, y, x + 0.5, y + 0.5]} for x in range(3, 19, 3) for y in (2, 5, 8)],
    },
    "goals": {"far": {"point": [25, 1], "arrive_within": 0.3}},
    "groups": [{"name": "one", "positions": [[1.0, 1.0]], "goals": ["far"], "radius": 0.2, "speed": 1.3}],
    "navigation": {"kind": "mesh", "share_searches": False},
}


STARVED = {"mesh": 1, "optimal": 1, "visibility": 10, "grid": 60, "s2-grid": 60}  # expansions a tick
GUESSING_GRIDS = [
    pytest.param({"kind": kind, "while_waiting": "guess"}, id=kind) for kind in ("grid", "s2-grid")
]


@pytest.mark.parametrize("navigation", [POCKET["navigation"], *GUESSING_GRIDS])
def test_an_agent_moves_in_the_first_tick_and_is_guessing(navigation):
    with simulation({**POCKET, "navigation": navigation}, sets=["budget.work=1"]) as run:
        start = run.agents.position[0].copy()
        run.step()
        assert np.hypot(*(run.agents.position[0] - start)) > 0.1
        assert run.agents.path_status[0] == 1 and run.counts["guessing"] == 1.0  # pending
        assert (run.agents.position[0] - start) @ (np.array([25, 1]) - start) > 0.0


def test_a_starved_search_still_leads_to_the_goal():
    with simulation(POCKET) as run:
        served = run.run()
    with simulation(POCKET, sets=["budget.work=1"]) as run:
        starved = run.run()
    assert served.arrived == starved.arrived == 1
    assert served.longest_wait_s == 0.0 < starved.longest_wait_s
    assert starved.last_arrival_s < served.last_arrival_s + 2.0 * starved.longest_wait_s + 1.0


@pytest.mark.parametrize(
    "navigation",
    [{"kind": "mesh", "share_searches": False}, {"kind": "mesh"}, {"kind": "optimal"}, *GUESSING_GRIDS],
    ids=str,
)
def test_who_arrives_on_a_guess_waits_for_no_answer_and_nobody_else_gets_it(navigation):
    """Six have two metres to go, which they do on guesses:
    twelve before them in the queue have far to go, and an expansion a tick is all there is.
    """
    far = [
        {
            "id": i,
            "position": [1.0, 0.6 + 0.9 * i],
            "radius": 0.2,
            "speed": 1.3,
            "goals": [{"point": [25, 1 + 0.5 * i], "arrive_within": 0.3}],
        }
        for i in range(12)
    ]
    near = [
        {"id": 12 + i, "position": [2.2, y], "radius": 0.2, "speed": 1.3, "goals": ["near"]}
        for i, y in enumerate((1.0, 3.6, 4.3, 6.6, 7.3, 9.6))
    ]
    goals = {"near": {"region": [[4.2, 0], [6, 0], [6, 12], [4.2, 12]]}}
    scene = {
        **POCKET,
        "goals": goals,
        "groups": [{"name": "all", "agents": [*far, *near]}],
        "navigation": navigation,
        "budget": {"work": 1},
    }
    with simulation(scene) as run:
        arrived_on_a_guess = 0
        while len(run.agents) > 12:
            waiting = run.agents.entity[run.agents.path_status == PathStatus.PENDING]
            events = run.step()
            done, found = (
                events.entity[events.kind == kind].tolist()
                for kind in (EventKind.ARRIVAL, EventKind.PATH_FOUND)
            )
            arrived_on_a_guess += len(set(done) & set(waiting.tolist()) - set(found))
        assert arrived_on_a_guess
        for _ in range(20):
            run.step()
            assert run.counts["requests_open"] == np.count_nonzero(
                run.agents.path_status == PathStatus.PENDING
            )


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["mesh", "visibility", "optimal", "grid", "s2-grid"])
def test_a_wrong_guess_is_walked_back_and_the_goal_is_reached(kind):
    """The guess leads straight on, into the pocket that the wall makes; the way leads round its far end."""
    scene = {
        **POCKET,
        "navigation": {"kind": kind, "while_waiting": "guess"},
        "stop": {"after": 120, "when": "all_arrived"},
    }
    with simulation(scene, sets=[f"budget.work={STARVED[kind]}"]) as run:
        while run.agents.path_status[0] != PathStatus.FOUND:
            run.step()
        # on the way into the pocket
        assert run.agents.position[0, 0] > 3.0 and run.agents.position[0, 1] < 6.0
        highest = 0.0
        while len(run.agents):
            highest = max(highest, float(run.agents.position[0, 1]))
            run.step()
            assert run.time < 100.0
        assert highest > 10.0  # round the far end
        assert run.counts["arrivals"] == 1.0


# A winding corridor between shelves, and two places near each other at its end.
SHELVES = {
    "version": 1,
    "name": "shelves",
    "seed": 1,
    "tick": 0.1,
    "stop": {"after": 120, "when": "all_arrived"},
    "record": {"rate": 1},
    "geometry": {
        "walkable": [[0, 0], [24, 0], [24, 8], [0, 8]],
        "obstacles": [
            {"box": [x, 0 if i % 2 else 2, x + 0.5, 6 if i % 2 else 8]}
            for i, x in enumerate((4, 8, 12, 16, 20))
        ],
    },
    "goals": {
        "here": {"point": [23, 5], "arrive_within": 0.3},
        "there": {"point": [22.5, 5.5], "arrive_within": 0.3},
    },
    "groups": [{"name": "one", "positions": [[1.0, 5.0]], "goals": ["here"], "radius": 0.2, "speed": 1.3}],
}


def walk_to_a_goal_that_moves(how, kind="mesh"):
    """Return (arrival time, ticks in which it waited for a path, least speed of those),
    of a walker whose goal moves every three seconds.
    """
    waited, slowest = 0, np.inf
    with simulation(
        {**SHELVES, "navigation": {"kind": kind, "while_waiting": how}},
        sets=[f"budget.work={max(1, STARVED[kind] // 5)}"],
    ) as run:
        while run.agents.path_status[0] != PathStatus.FOUND:
            run.step()
        while len(run.agents) and run.time < 110.0:
            if run.tick % 30 == 0:
                run.set_goal(1, "there" if run.tick % 60 else "here")
            before = run.agents.position[0].copy()
            run.step()
            if len(run.agents) and run.agents.path_status[0] == PathStatus.PENDING:
                waited += 1
                slowest = min(slowest, float(np.hypot(*(run.agents.position[0] - before))) / 0.1)
        return run.time, waited, slowest


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["mesh", "visibility", "optimal", "grid"])
def test_the_previous_path_is_kept_while_the_goal_moves(kind):
    kept, waited, slowest = walk_to_a_goal_that_moves("previous", kind)
    assert waited >= 15 and slowest > 1.0  # it walks on all the while
    stood, waited, slowest = walk_to_a_goal_that_moves("stay", kind)
    assert waited >= 15 and slowest < 1e-9
    assert kept < stood - 0.5 * 0.1 * waited
    assert kept <= walk_to_a_goal_that_moves("guess", kind)[0]


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind, work, kept", [("mesh", 1, "previous_entity"), ("grid", 60, "guesses/entity")])
def test_saving_and_loading_while_agents_keep_to_their_paths_changes_nothing(kind, work, kept):
    document = {
        **SHELVES,
        "navigation": {"kind": kind, "while_waiting": "previous"},
        "budget": {"work": work},
    }

    def sent(run):
        while run.agents.path_status[0] != PathStatus.FOUND:
            run.step()
        run.set_goal(1, "there")
        for _ in range(5):
            run.step()
        assert run.agents.path_status[0] == PathStatus.PENDING

    with simulation(document) as run, simulation(document) as other:
        sent(run)
        state = run.state()
        other.restore(state)
        assert other.state().keys() == state.keys() and any(
            name.endswith(kept) and len(state[name]) == 1 for name in state
        )
        assert digests(other, 60) == digests(run, 60)
        assert run.agents.path_status[0] == PathStatus.FOUND


# A hall with pillars across its middle; from left of them everybody is sent to the right, and then back.
BACK_AND_FORTH = {
    **POCKET,
    "geometry": {
        "walkable": [[0, 0], [60, 0], [60, 20], [0, 20]],
        "obstacles": [{"box": [29, y, 31, y + 2]} for y in range(1, 18, 4)],
    },
    "goals": {
        name: {"point": [x, 10], "arrive_within": 0.3} for name, x in {"right": 57, "left": 3}.items()
    },
    "groups": [
        {"name": "all", "positions": [[10.0 + 1.1 * (k % 4), 0.5 + 1.9 * (k // 4)] for k in range(40)],
         "goals": ["right"], "radius": 0.2, "speed": 1.3}
    ],
    "budget": {"work": 1},
}  # fmt: skip
ALL_THAT_GUESS = [
    *({"kind": kind} for kind in ("mesh", "optimal", "hierarchical", "visibility")),
    *({"kind": kind, "while_waiting": "guess"} for kind in ("grid", "s2-grid")),
    *({"kind": kind, "while_waiting": "previous"} for kind in ("mesh", "visibility", "grid")),
]


@pytest.mark.parametrize("navigation", ALL_THAT_GUESS, ids=lambda each: "-".join(each.values()))
def test_agents_that_are_sent_back_before_a_request_was_made_for_them_turn_round(navigation):
    """They stood, on grids, or walked on as before, over points of visibility."""
    with simulation({**BACK_AND_FORTH, "navigation": navigation}) as run:
        for _ in range(15):
            run.step()
        assert np.mean(run.agents.velocity[:, 0] > 0.5) > 0.9
        run.set_goal(run.agents.entity.copy(), "left")
        for _ in range(40):
            run.step()
        assert run.counts["requests_open"] > 36.0  # nearly all that they do is guessed
        assert np.mean(run.agents.velocity[:, 0] < -0.5) > 0.9


# A hall with two exits, both in sight of nearly all, whose ground is few and large polygons.
TWO_EXITS = {
    "version": 1,
    "seed": 45,
    "tick": 0.1,
    "stop": {"after": 60},
    "geometry": {
        "walkable": {"box": [0, 0, 12.35, 11.85]},
        "obstacles": [
            [[4.26, 0.67], [4.37, 0.87], [4.22, 1.0], [4.01, 0.93], [4.02, 0.73]],
            [[5.53, 7.14], [5.27, 7.66], [5.08, 7.13]],
        ],
    },
    "goals": {
        "above": {"exit": {"box": [7.54, 11.25, 9.1, 11.85]}},
        "below": {"exit": {"box": [5.63, 0, 8.49, 0.6]}},
        "out": {"nearest_of": ["above", "below"]},
    },
    "groups": [{"name": "all", "count": 10, "goals": "out", "radius": 0.28, "speed": 1.4}],
    "avoidance": "none",
    "budget": {"work": 20},
}


@pytest.mark.parametrize("seed", [1, 2, 45])
@pytest.mark.parametrize("kind", ["mesh", "optimal", "hierarchical", "visibility"])
def test_agents_that_see_an_exit_walk_straight_to_the_nearest_while_they_wait(kind, seed):
    """On the mesh some walked away from it, to the middle of a long portal, or to a farther exit that was in
    the polygon in which they stood.
    """
    with simulation({**TWO_EXITS, "navigation": kind}, sets=[f"seed={seed}"]) as run:
        boxes = {
            each.name: shapely.box(*each.area.bounds) for each in run.scenario.goals if each.area is not None
        }
        place = dict(zip(run.agents.entity.tolist(), run.agents.position.tolist()))
        begin, walked, ended = dict(place), dict.fromkeys(place, 0.0), {}
        for _ in range(120):
            events = run.step()
            for entity, at in zip(run.agents.entity.tolist(), run.agents.position.tolist()):
                walked[entity] += np.hypot(*np.subtract(at, place[entity]))
                place[entity] = at
            gone = events[events["kind"] == EventKind.ARRIVAL]
            ended |= {int(each["entity"]): (each["x"], each["y"]) for each in gone}
        assert run.verdict().arrived == 10 and run.verdict().longest_wait_s > 0.5
        for entity, at in begin.items():
            away = {name: box.distance(shapely.Point(at)) for name, box in boxes.items()}
            nearest = min(away, key=lambda name: away[name])
            assert boxes[nearest].distance(shapely.Point(ended[entity])) < 0.05
            assert walked[entity] < away[nearest] + 0.35


@pytest.mark.parametrize("kind", ["mesh", "optimal", "hierarchical", "visibility", "grid"])
def test_agents_that_keep_to_their_paths_while_they_stand_in_line_can_be_saved_at_any_time(kind):
    """Their requests are made where they have come to by then."""
    scene = {
        **BACK_AND_FORTH,
        "navigation": {"kind": kind, "while_waiting": "previous"},
        "budget": {"work": 2000 if kind == "grid" else 30},
    }
    with simulation(scene) as run, simulation(scene) as other:
        while run.tick < 30 or run.counts["requests_open"]:
            run.step()
        run.set_goal(run.agents.entity.copy(), "left")
        waiting = set()
        for _ in range(12):
            other.restore(run.state())
            assert digests(other, 1) == digests(run, 1)
            waiting.add(run.counts["requests_open"])
        assert len(waiting - {0}) > 1
        assert digests(other, 40) == digests(run, 40)


@pytest.mark.parametrize("while_waiting", ["guess", "previous"])
@pytest.mark.parametrize("kind", ["grid", "s2-grid"])
def test_an_agent_in_a_door_that_is_shut_while_it_waits_is_on_no_guess(kind, while_waiting):
    """It gives up before there is a request for it; a state with its guess was refused when it was loaded."""
    scene = {
        **BACK_AND_FORTH,
        "geometry": {
            "walkable": [[0, 0], [60, 0], [60, 20], [0, 20]],
            "areas": [{"name": "door", "area": {"box": [8, 0, 12, 20]}}],
        },
        "navigation": {"kind": kind, "while_waiting": while_waiting},
        "budget": {"work": 200},
    }
    with simulation(scene) as run, simulation(scene) as other:
        run.step()
        run.set_area_available("door", False)
        enclosed = set()
        for _ in range(40):
            run.step()
            enclosed |= set(np.flatnonzero(run.agents.path_status == PathStatus.ENCLOSED).tolist())
            other.restore(run.state())
        assert len(enclosed) > 3


@pytest.mark.parametrize("kind", ["mesh", "optimal", "hierarchical", "visibility"])
def test_an_agent_that_is_pushed_back_off_its_previous_path_while_it_waits_goes_on_from_where_it_is(kind):
    """Over points of visibility that was an error where it had come to ground behind its previous path."""
    pillars = [{"box": [12, y, 13, y + 3]} for y in (2, 8, 14)]
    scene = {
        **BACK_AND_FORTH,
        "geometry": {**BACK_AND_FORTH["geometry"], "obstacles": pillars},
        "groups": [{**BACK_AND_FORTH["groups"][0], "positions": [[5, 10]]}],
        "navigation": {"kind": kind, "while_waiting": "previous"},
        "stop": {"after": 120, "when": "all_arrived"},
    }
    with simulation(scene) as run:
        while run.agents.path_status[0] != PathStatus.FOUND or run.agents.position[0, 0] < 12.6:
            run.step()
        run.set_goal(1, "left")
        run.step()
        assert run.agents.path_status[0] == PathStatus.PENDING
        run.set_preferred_velocity(1, [-1.3, 0.0])
        while run.agents.path_status[0] != PathStatus.FOUND:
            run.step()
        run.set_preferred_velocity(1, None)
        places = []
        while len(run.agents):
            places.append(run.agents.position[0].copy())
            run.step()
        away, walked = np.hypot(*(places[0] - [3, 10])), np.hypot(*np.diff(places, axis=0).T).sum()
        assert away - 0.5 < walked < away + 1.0


@pytest.mark.full
def test_an_agent_that_wanders_far_on_guesses_keeps_its_place_in_the_queue():
    """Trails are noted in blocks of 16 portals;
    who went through more had to ask again, at the end of the queue.
    """
    rows = [{"box": [x, y, x + 0.5, y + 0.5]} for x in range(3, 55, 2) for y in (2, 5, 8)]
    scene = {
        **POCKET,
        "geometry": {
            "walkable": [[0, 0], [60, 0], [60, 12], [0, 12]],
            "obstacles": [{"box": [56, 0, 56.3, 10]}, *rows],
        },
    }
    scene = {
        **scene,
        "goals": {"far": {"point": [58, 1], "arrive_within": 0.3}},
        "stop": {"after": 45, "when": "all_arrived"},
    }
    with simulation(scene, sets=["budget.work=1", "navigation.while_waiting=guess"]) as run:
        most, asked = 0, run.agents.path_tick[0]
        for _ in range(440):
            run.step()
            if run.agents.path_status[0] == PathStatus.PENDING:
                most = max(most, int(run.world.agents.corridor_length[0]))
                asked = max(asked, int(run.agents.path_tick[0]))
        assert most > 16 and asked == 1


# Straight to the goal there is the row of a comb with a lid before it. And a block with a floor all round it.
COMB = {
    "geometry": {
        "walkable": [[0, 0], [30, 0], [30, 16], [0, 16]],
        "obstacles": [*({"box": [x, 3, x + 0.3, 12]} for x in range(2, 27, 3)), {"box": [13, 10, 15, 10.3]}],
    },
    "goals": {"far": {"point": [14, 11], "arrive_within": 0.2}},
    "groups": [{"name": "one", "positions": [[5, 1.5]], "goals": ["far"], "radius": 0.2, "speed": 1.3}],
}  # fmt: skip
BLOCK = {
    "geometry": {"walkable": [[0, 0], [16, 0], [16, 16], [0, 16]], "obstacles": [{"box": [3, 3, 13, 13]}]},
    "goals": {"far": {"point": [14, 8], "arrive_within": 0.2}},
    "groups": [{"name": "one", "positions": [[1.5, 8]], "goals": ["far"], "radius": 0.2, "speed": 1.3}],
}


def unanswered(scene, navigation, seconds=40.0):
    """Positions at each tick of one agent whose searches never come to an end."""
    with simulation({**POCKET, **scene, "tick": 0.05, "navigation": navigation}) as run:
        plan = next(system for system in run.systems if isinstance(system, Plan))

        def only_ask(tick):
            for each in plan.paths:
                each.ask(tick)
            tick.counts.update(dict.fromkeys(plan.counts, 0.0))

        plan.process = only_ask
        places = [run.agents.position[0].copy()]
        while len(run.agents) and run.time < seconds:
            run.step()
            if len(run.agents):
                assert run.agents.path_status[0] == PathStatus.PENDING
                places.append(run.agents.position[0].copy())
    return np.array(places)


def reversals(places):
    """How often somebody turned back, by more than a right angle, from one tick to the next."""
    steps = np.diff(places, axis=0)
    return np.count_nonzero(np.sum(steps[1:] * steps[:-1], axis=1) < 0.0)


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", [pytest.param({"kind": "mesh"}, id="mesh"), *GUESSING_GRIDS])
@pytest.mark.parametrize("scene, turns", [(COMB, 3), (BLOCK, 0)], ids=["comb", "block"])
def test_an_agent_that_is_never_answered_does_not_swing_to_and_fro(scene, turns, navigation):
    """It keeps to what it chose and goes nowhere twice.
    Choosing anew in each tick it turned back 337 times in the comb, 1,370 times at the block, on the mesh.
    """
    places = unanswered(scene, navigation)
    assert reversals(places) <= turns
    assert np.hypot(*(places[-1] - places[0])) > 10.0


# A comb whose teeth are joined behind, and a hall that is open on one side only.
DEAD_ENDS = {
    **COMB,
    "geometry": {
        "walkable": [[0, 0], [30, 0], [30, 16], [0, 16]],
        "obstacles": [*COMB["geometry"]["obstacles"][:-1], {"box": [2, 12, 26.3, 12.3]}],
    },
    "goals": {"far": {"point": [23, 14], "arrive_within": 0.2}},
}
HALL = {
    "geometry": {
        "walkable": [[0, 0], [30, 0], [30, 16], [0, 16]],
        "obstacles": [{"box": [8, 2, 20, 2.3]}, {"box": [8, 13.7, 20, 14]}, {"box": [19.7, 2, 20, 14]}],
    },
    "goals": {"far": {"point": [26, 8], "arrive_within": 0.3}},
    "groups": [{"name": "one", "positions": [[2, 8]], "goals": ["far"], "radius": 0.2, "speed": 1.3}],
}  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", GUESSING_GRIDS)
@pytest.mark.parametrize("scene", [DEAD_ENDS, HALL], ids=["dead ends", "hall"])
def test_on_a_grid_dead_ends_are_left_and_the_goal_is_come_to_on_guesses_alone(scene, navigation):
    places = unanswered(scene, navigation, 100.0)
    (goal,) = scene["goals"].values()
    assert np.hypot(*(places[-1] - goal["point"])) < 0.5 and reversals(places) <= 6
    for left, low, right, high in (each["box"] for each in scene["geometry"]["obstacles"]):
        inside = (places > np.array([left, low]) - 0.19) & (places < np.array([right, high]) + 0.19)
        assert not np.any(inside.all(axis=1))


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "document",
    [
        {**POCKET, "budget": {"work": 1}},
        *(
            {**DEAD_ENDS, "navigation": {"kind": kind, "while_waiting": "guess"}, "budget": {"work": 40}}
            for kind in ("grid", "s2-grid")
        ),
    ],
    ids=["mesh", "grid", "s2-grid"],
)
def test_guesses_are_the_same_with_any_threads_and_from_saved_states(document):
    assert_same_on_threads_and_from_saved_states({**POCKET, **document}, 60, (7, 30))


def crowd(scene, seed, navigation, count=10):
    """A scene with many who start round its place of start, and go round its goal."""
    rng, (goal,), (start,) = (
        np.random.default_rng(seed),
        scene["goals"].values(),
        scene["groups"][0]["positions"],
    )
    agents = [
        {"id": i, "position": (start + rng.uniform(-1.0, 1.0, 2)).tolist(), "radius": 0.2, "speed": 1.3,
         "goals": [{"point": (goal["point"] + rng.uniform(-0.5, 0.5, 2)).tolist(), "arrive_within": 0.4}]}
        for i in range(count)
    ]  # fmt: skip
    return {
        **POCKET,
        **scene,
        "goals": {},
        "groups": [{"name": "all", "agents": agents}],
        "seed": seed,
        "navigation": navigation,
        "budget": {"work": 50},
    }


def first_steps_and_arrivals(document):
    """Mean times (s) until everybody has moved by 10 cm, and has arrived, from positions alone."""
    moved, arrived = {}, {}
    with simulation(document) as run:
        begin = dict(zip(run.agents.entity.tolist(), run.agents.position.copy(), strict=True))
        while len(run.agents) and run.time < 90.0:
            run.step()
            here = dict(zip(run.agents.entity.tolist(), run.agents.position.copy(), strict=True))
            for each, place in here.items():
                if np.hypot(*(place - begin[each])) > 0.1:
                    moved.setdefault(each, run.time)
            arrived |= {each: run.time for each in begin if each not in here and each not in arrived}
    assert len(arrived) == len(begin)
    return np.mean(list(moved.values())), np.mean(list(arrived.values()))


SMALL_COMB = {**COMB, "goals": {"far": {"point": [13, 11], "arrive_within": 0.2}}}


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["grid", "s2-grid"])
@pytest.mark.parametrize("scene", [SMALL_COMB, BLOCK], ids=["comb", "block"])
def test_on_a_grid_agents_that_guess_set_off_and_arrive_sooner_than_agents_that_stay(scene, kind, seed):
    stay, guess = (
        first_steps_and_arrivals(crowd(scene, seed, {"kind": kind, "while_waiting": how}))
        for how in ("stay", "guess")
    )
    assert guess[0] < 0.5 < 1.5 < stay[0] and guess[1] < stay[1]


# Two rooms with two doors, of which one closes and opens again while people of two widths look for their
# ways; some of them do so on the mesh.
TWO_DOORS = {
    **POCKET,
    "geometry": {
        "walkable": [
            {"box": [0, 0, 12, 10]},
            {"box": [12, 1, 12.4, 3]},
            {"box": [12, 7, 12.4, 9]},
            {"box": [12.4, 0, 24, 10]},
        ],
        "obstacles": [{"box": [4, 3, 5, 8]}, {"box": [16, 2, 17, 8]}],
        "areas": [{"name": "door", "area": {"box": [12, 1, 12.4, 3]}}],
    },
    "goals": {
        "far": {"point": [22, 2], "arrive_within": 0.4},
        "back": {"point": [2, 8], "arrive_within": 0.4},
    },
    "groups": [
        {
            "name": name,
            "positions": [[1 + 0.9 * i, y] for i in range(3)],
            "goals": ["far"],
            "radius": radius,
            "speed": 1.2,
            **more,
        }
        for name, y, radius, more in (
            ("thin", 1.5, 0.2, {}),
            ("wide", 4.5, 0.35, {}),
            ("others", 9.0, 0.2, {"navigation": "optimal"}),
        )
    ],
    "events": [{"at": 2, "close": "door"}, {"at": 8, "open": "door"}],
    "obstacles": [
        {
            "name": "cart",
            "shape": {"disc": 0.4},
            "path": [[9, 5], {"point": [9, 2], "wait": 3}, [9, 5]],
            "speed": 0.6,
            "stands_after": 0.5,
        }
    ],
    "navigation": {"kind": "grid", "while_waiting": "guess"},
    "budget": {"work": 40},
}


@pytest.mark.full
def test_guesses_on_a_grid_live_with_doors_widths_carts_other_planners_and_goals_that_change():
    assert_same_on_threads_and_from_saved_states(TWO_DOORS, 60, (5, 25, 40))
    with simulation(TWO_DOORS, sets=["stop.after=120"]) as run:
        part = next(part for part in run.system(Plan).paths if isinstance(part, WaypointPaths))
        most, guessed = 0, set()
        while len(run.agents) and run.time < 110.0:
            if run.tick in (12, 50):
                run.set_goal(run.agents.entity[-2:], "back" if run.tick == 12 else "far")
            run.step()
            waits = run.agents.entity[
                (run.agents.path_status == PathStatus.PENDING) & part.groups[run.agents.group]
            ]
            # requests and guesses are made as the budget allows, and dropped with the wish
            guess = set(part.guesses.state()["entity"].tolist())
            assert set(part.planner.entities) <= set(waits.tolist()) >= guess
            guessed |= guess
            most = max(most, len(waits))
        assert most == len(guessed) == 6 and run.verdict().arrived == 9


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("navigation", [{"kind": "visibility"}, *GUESSING_GRIDS])
def test_in_an_alarm_so_many_choose_in_a_tick_and_the_others_stand_until_it_is_their_turn(
    monkeypatch, threads, navigation
):
    for room in (corner_guesses, cell_guesses):
        monkeypatch.setattr(room, "MOST_FIRST_CHOICES", 4)
    places = [[1.0 + 0.7 * k, 1.0] for k in range(11)]
    crowd = {
        **POCKET,
        "groups": [{**POCKET["groups"][0], "positions": places}],
        "navigation": navigation,
        "budget": {"work": 1},
    }
    with simulation(crowd, threads=threads) as run:
        before, stood = run.agents.position.copy(), []
        for _ in range(4):
            run.step()
            stood.append(np.flatnonzero(np.hypot(*(run.agents.position - before).T) == 0.0).tolist())
        assert [len(each) for each in stood] == [7, 3, 0, 0]
        assert set(stood[1]) < set(stood[0])
        # and all of them towards the goal, which is straight ahead
        assert np.all(run.agents.position[:, 0] - before[:, 0] > 0.03)
        state = run.state()
        ahead = digests(run, 6)
        with simulation(crowd, threads=3 - threads) as other:
            other.restore(state)
            assert digests(other, 6) == ahead
