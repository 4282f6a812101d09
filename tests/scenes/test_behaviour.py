"""Agents that do what machines of states say, seen from outside: from recorded places alone."""

import itertools

import numpy as np
import pytest
import shapely

from crowdsim.errors import CrowdsimError
from crowdsim.simulation.simulation import Simulation
from tests.scenes.behaviour import everything, hall, watch

WALLS = shapely.union_all(
    [shapely.box(10, 4, 11, 12), shapely.box(18, 0, 19, 6), shapely.box(18, 10, 19, 20)]
)
PLANNERS = [
    "optimal",
    "mesh",
    "visibility",
    "grid",
    "s2-grid",
    {"kind": "mesh", "tile_size": 5},
    {"kind": "hierarchical", "area_size": 3},
]
MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]


def one(machine, tmp_path, *, place=(3.0, 3.0), groups=(), machines=None, **more):
    """Watch one agent, `x[0]`, with a machine."""
    own = {"name": "x", "positions": [list(place)], "behaviour": "m", "speed": 1.34}
    return watch(hall({"m": machine, **(machines or {})}, [own, *groups], **more), tmp_path / "run.h5")


def until(seconds):
    """Return when a run stops in which somebody stays; nothing changes for the last few seconds of it."""
    return {"after": seconds, "when": "never"}


GONE = {"after": 90, "when": "all_arrived"}  # where all leave, that is the end


def stands(moves, begin, end):
    """Return whether an agent does not move between two times (s)."""
    own = moves[(moves.index >= begin - 1e-6) & (moves.index <= end + 1e-6)]
    return len(own) > 1 and np.hypot(np.ptp(own["x"]), np.ptp(own["y"])) < 0.02


def place(moves, time):
    row = moves.iloc[np.argmin(np.abs(moves.index - time))]
    return np.array([row["x"], row["y"]])


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS, ids=str)
@pytest.mark.parametrize("model", ["orca", "sampled-hrvo"])
def test_it_goes_waits_and_leaves_under_every_planner(tmp_path, navigation, model):
    seen = one(
        {
            "states": {
                "go": {"go_to": "a", "then": "rest"},
                "rest": {"wait": 3, "then": "off"},
                "off": {"leave": "out"},
            }
        },
        tmp_path,
        place=(8, 3),
        navigation=navigation,
        avoidance=model,
        stop=GONE,
    )
    moves = seen.of("x[0]")
    assert seen.chain("x[0]") == ["go", "rest", "off"]
    (rest,), (off,) = seen.begins("x[0]", "rest"), seen.begins("x[0]", "off")
    assert np.hypot(*(place(moves, rest) - (2, 2))) <= 0.3 + 0.15  # within reach, and a step
    assert off - rest == pytest.approx(3.0) and stands(moves, rest + 0.3, off)
    last = moves.iloc[-1]
    assert last["x"] > 28.7 and 7.9 < last["y"] < 12.1 and seen.verdict.arrived == 1
    # it walks at its speed: 6 m to the point, and 27.6 m to the exit round a wall
    assert rest == pytest.approx(5.8 / 1.34, abs=1.5)


def test_what_ends_is_over_and_the_agent_stands(tmp_path):
    seen = one({"states": {"go": {"go_to": "a"}}}, tmp_path, stop=until(20))
    assert seen.chain("x[0]") == ["go", "end"]
    assert stands(seen.of("x[0]"), seen.begins("x[0]", "end")[0] + 0.3, 20)
    assert seen.verdict.exit_code == 0 and seen.verdict.standing == 1


def test_a_machine_that_never_ends_is_a_good_end_of_a_run(tmp_path):
    seen = one({"states": {"sit": {"stay": "hall"}}}, tmp_path, stop=until(20))
    assert seen.verdict.exit_code == 0 and seen.verdict.staying == 1


def test_times_are_drawn_for_each_agent(tmp_path):
    machine = {
        "states": {
            "rest": {"wait": {"uniform": {"low": 2, "high": 10}}, "then": "off"},
            "off": {"stand": True},
        }
    }
    group = {"name": "x", "count": 200, "region": {"box": [20, 1, 28, 19]}, "behaviour": "m"}
    seen = watch(hall({"m": machine}, [group], stop=until(11)), tmp_path / "run.h5")
    times = seen.states[seen.states["state"] == "off"]["time"].to_numpy() - 0.1
    assert len(times) == 200 and times.min() >= 2.0 and times.max() <= 10.1
    assert times.mean() == pytest.approx(6.0, abs=4 * (8 / 12**0.5) / 200**0.5)


def test_shares_are_kept(tmp_path):
    machine = {
        "states": {
            "draw": {"choose": {"left": 1, "right": 3}},
            "left": {"stand": True},
            "right": {"wait": 1, "then": {"left": 1, "right": 1}},
        }
    }
    group = {"name": "x", "count": 240, "region": {"box": [20, 1, 28, 19]}, "behaviour": "m"}
    seen = watch(hall({"m": machine}, [group], stop=until(0.5)), tmp_path / "run.h5")
    first = seen.states[seen.states["reason"] == "done"]["state"]
    assert len(first) == 240 and abs((first == "left").sum() - 60) < 4 * (240 * 0.25 * 0.75) ** 0.5


CONDITIONS = {
    "after": ({"after": 4}, 4.1),
    "at": ({"at": 5}, 5.0),
    "signal of the clock": ({"signal": "bell"}, 6.0),
    "door opens": ({"opened": "gate"}, 8.0),
    "all of": ({"all_of": [{"signal": "bell"}, {"at": 7}]}, 7.0),
    "any of": ({"any_of": [{"signal": "bell"}, {"at": 7}]}, 6.0),
    "none of": ({"none_of": [{"closed": "gate"}]}, 8.0),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CONDITIONS)
def test_it_waits_until_something_is_so(tmp_path, name):
    condition, due = CONDITIONS[name]
    document = {"states": {"w": {"wait_until": condition, "then": "off"}, "off": {"stand": True}}}
    events = [
        {"at": 6, "signal": "bell"},
        {"at": 6.5, "end_signal": "bell"},
        {"at": 6.9, "signal": "bell"},
        {"at": 8, "open": "gate"},
    ]
    shut = hall({}, [])["geometry"]
    shut["areas"][0]["available"] = False
    seen = one(document, tmp_path, events=events, geometry=shut, stop=until(12))
    (off,) = seen.begins("x[0]", "off")
    assert off == pytest.approx(due, abs=0.25)


def test_counts_and_densities_of_areas_are_those_of_the_people_in_them(tmp_path):
    """Ten walk into the hall; one waits for six of them, one for a density, one for all of the group."""
    machines = {
        "six": {
            "states": {
                "w": {"wait_until": {"count": {"where": "hall", "at_least": 6}}, "then": "o"},
                "o": {"stand": True},
            }
        },
        "full": {
            "states": {
                "w": {"wait_until": {"density": {"where": "front", "at_least": 1}}, "then": "o"},
                "o": {"stand": True},
            }
        },
        "own": {
            "states": {
                "w": {
                    "wait_until": {"count": {"where": "hall", "at_most": 0, "group": "crowd"}},
                    "then": "go",
                },
                "go": {
                    "wait_until": {"count": {"where": "hall", "at_least": 10, "group": "crowd"}},
                    "then": "o",
                },
                "o": {"stand": True},
            }
        },
        "crowd": {"states": {"sit": {"stay": "hall"}}},
    }
    groups = [
        *(
            {"name": name, "positions": [[25, 2 + at]], "behaviour": name}
            for at, name in enumerate(("six", "full", "own"))
        ),
        {
            "name": "crowd",
            "count": 10,
            "region": {"box": [11.5, 1, 17, 6]},
            "behaviour": "crowd",
            "premovement": {"uniform": {"low": 0, "high": 6}},
        },
    ]
    front = {"front": {"area": {"box": [11.5, 12, 17, 13]}}}
    seen = watch(hall(machines, groups, measures=front, stop=until(25)), tmp_path / "run.h5")
    crowd = seen.moves[seen.moves["name"].str.startswith("crowd")]
    inside = crowd[crowd["x"].between(11.5, 17) & crowd["y"].between(12, 19)].groupby("time").size()
    before = crowd[crowd["x"].between(11.5, 17) & crowd["y"].between(12, 13)].groupby("time").size()
    (six,), (go,), (own,) = (
        seen.begins("six[0]", "o"),
        seen.begins("own[0]", "go"),
        seen.begins("own[0]", "o"),
    )
    assert go < 0.3
    assert inside[inside >= 6].index[0] == pytest.approx(six, abs=0.15)
    assert inside[inside >= 10].index[0] == pytest.approx(own, abs=0.15)
    dense = before[before / 5.5 >= 1]
    assert seen.begins("full[0]", "o") == ([] if dense.empty else [pytest.approx(dense.index[0], abs=0.15)])


def test_one_machine_tells_another(tmp_path):
    machines = {
        "guide": {
            "states": {
                "come": {"go_to": "c", "then": "call"},
                "call": {"wait": 2, "signals": ["follow me"], "then": "off"},
                "off": {"leave": "out"},
            }
        },
        "m": {
            "states": {"w": {"wait_until": {"signal": "follow me"}, "then": "off"}, "off": {"leave": "out"}}
        },
    }
    groups = [
        {"name": "guide", "positions": [[8, 2]], "behaviour": "guide"},
        {"name": "x", "count": 8, "region": {"box": [11.5, 5, 17, 9]}, "behaviour": "m"},
    ]
    seen = watch(hall(machines, groups, stop=GONE), tmp_path / "run.h5")
    (call,) = seen.begins("guide[0]", "call")
    assert np.hypot(*(place(seen.of("guide[0]"), call) - (15, 2))) < 0.5
    for number in range(8):
        assert seen.begins(f"x[{number}]", "off") == [pytest.approx(call, abs=0.11)]
        assert stands(seen.of(f"x[{number}]"), 0.1, call - 0.1)
    assert seen.verdict.arrived == 9


def test_a_signal_to_a_whole_machine_is_heard_once_in_every_state_of_it(tmp_path):
    """They react to the first alarm wherever they are; a second, after the first is over, counts again."""
    machine = {
        "when": [{"signal": "alarm", "to": "startle"}],
        "states": {
            "stroll": {"patrol": {"places": ["a", "b"]}},
            "startle": {"wait": 1, "then": "stroll"},
        },
    }
    events = [
        {"at": 5, "signal": "alarm"},
        {"at": 10, "end_signal": "alarm"},
        {"at": 15, "signal": "alarm"},
    ]
    seen = one(machine, tmp_path, events=events, stop=until(25))
    assert seen.begins("x[0]", "startle") == [pytest.approx(5, abs=0.15), pytest.approx(15, abs=0.15)]
    assert seen.begins("x[0]", "stroll")[1:] == [pytest.approx(6, abs=0.25), pytest.approx(16, abs=0.25)]


def test_an_announcement_is_for_those_in_an_area(tmp_path):
    machine = {
        "states": {
            "w": {
                "stand": True,
                "when": [{"all_of": [{"signal": "closing"}, {"inside": "hall"}], "to": "go"}],
            },
            "go": {"leave": "out"},
        }
    }
    groups = [
        {"name": "in", "count": 6, "region": {"box": [12, 12.5, 16.5, 18.5]}, "behaviour": "m"},
        {"name": "beside", "count": 6, "region": {"box": [1, 1, 9, 19]}, "behaviour": "m"},
    ]
    events = [{"at": 5, "signal": "closing"}]
    seen = watch(hall({"m": machine}, groups, events=events, stop=until(40)), tmp_path / "run.h5")
    went = seen.states[seen.states["state"] == "go"]
    assert sorted(went["name"]) == [f"in[{number}]" for number in range(6)]
    assert went["time"].between(5, 5.4).all() and seen.verdict.arrived == 6


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_those_that_stay_stand_apart_in_the_region_and_go_when_it_is_over(tmp_path, model):
    machine = {"states": {"sit": {"stay": "hall", "lasts": 30, "then": "off"}, "off": {"leave": "out"}}}
    group = {"name": "x", "count": 20, "region": {"box": [1, 1, 9, 19]}, "behaviour": "m"}
    seen = watch(
        hall({"m": machine}, [group], avoidance=model, stop=GONE),
        tmp_path / "run.h5",
    )
    then = seen.moves[np.isclose(seen.moves["time"], 29)]
    at = then[["x", "y"]].to_numpy()
    assert shapely.intersects_xy(shapely.box(11.5, 12, 17, 19), *at.T).all()
    apart = min(np.hypot(*(p - q)) for p, q in itertools.combinations(at, 2))
    assert apart > (0.45 if model != "none" else 0.39)  # that pushes; two bodies of 0.2 m touch at 0.4
    # not all in one heap: they take up most of the region
    assert shapely.MultiPoint(at).convex_hull.area > 10
    assert seen.states[seen.states["state"] == "off"]["time"].between(29.9, 30.2).all()
    assert seen.verdict.arrived == 20 and seen.verdict.exit_code == 0


def test_it_goes_up_to_another_and_they_talk_at_a_distance(tmp_path):
    machine = {
        "states": {
            "up": {"approach": {"to": "other"}, "then": "talk"},
            "talk": {"wait": 4, "then": "off"},
            "off": {"leave": "out"},
        }
    }
    walker = {
        "w": {
            "states": {
                "walk": {"patrol": {"places": ["c", "hall"]}, "lasts": 12, "then": "s"},
                "s": {"stand": True},
            }
        }
    }
    seen = one(
        machine,
        tmp_path,
        machines=walker,
        groups=[{"name": "other", "positions": [[16, 3]], "behaviour": "w", "speed": 0.8}],
        stop=until(30),
    )
    (talk,) = seen.begins("x[0]", "talk")
    apart = np.hypot(*(place(seen.of("x[0]"), talk) - place(seen.of("other[0]"), talk)))
    assert 1.0 < apart <= 1.35 + 0.1
    assert stands(seen.of("x[0]"), talk + 0.3, talk + 3.9)


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_it_follows_at_a_distance_and_stands_where_the_other_stands(tmp_path, model):
    machine = {
        "states": {
            "f": {"follow": {"after": "lead", "distance": 2}, "lasts": 50, "then": "off"},
            "off": {"leave": "out"},
        }
    }
    leader = {
        "l": {
            "states": {
                "w": {"wait": 3, "then": "go"},
                "go": {"go_to": "b", "then": "r"},
                "r": {"wait": 6, "then": "on"},
                "on": {"go_to": "c"},
            }
        }
    }
    seen = one(
        machine,
        tmp_path,
        machines=leader,
        avoidance=model,
        groups=[{"name": "lead", "positions": [[5, 3]], "behaviour": "l", "speed": 1.0}],
    )
    x, lead = seen.of("x[0]"), seen.of("lead[0]")
    (rest,), (on,), (end,) = (seen.begins("lead[0]", each) for each in ("r", "on", "end"))
    for moment in (on - 0.5, end + 5):
        assert np.hypot(*(place(x, moment) - place(lead, moment))) == pytest.approx(2.0, abs=0.7)
    both = x.merge(lead, on="time", suffixes=("_x", "_l")).loc[8:end]
    apart = np.hypot(both["x_x"] - both["x_l"], both["y_x"] - both["y_l"])
    assert apart.max() < 5.0 and apart.min() > 0.4 and rest < on < end < 44


def test_it_follows_up_the_stairs(tmp_path):
    document = hall({}, [])
    document |= {
        "geometry": {
            "storeys": [
                {"name": "ground", "elevation": 0, "walkable": {"box": [0, 0, 20, 8]}},
                {"name": "upper", "elevation": 4, "walkable": {"box": [0, 0, 20, 8]}},
            ],
            "connections": [
                {
                    "name": "stairs",
                    "kind": "stair",
                    "lower": "ground",
                    "upper": "upper",
                    "foot": [[10, 3], [10, 5]],
                    "head": [[18, 3], [18, 5]],
                },
            ],
        },
        "goals": {"top": {"point": [3, 4], "storey": "upper"}},
        "behaviours": {
            "lead": {"states": {"go": {"go_to": "top"}}},
            "m": {"states": {"f": {"follow": {"after": "lead"}}}},
        },
        "groups": [
            {"name": "lead", "positions": [[6, 4]], "storey": "ground", "behaviour": "lead", "speed": 1.0},
            {"name": "x", "positions": [[3, 2]], "storey": "ground", "behaviour": "m"},
        ],
    }
    document["stop"] = until(45)
    seen = watch(document, tmp_path / "run.h5")
    x, lead = seen.of("x[0]"), seen.of("lead[0]")
    assert lead["layer"].iloc[-1] == x["layer"].iloc[-1] != x["layer"].iloc[0]
    assert np.hypot(*(place(x, 45) - place(lead, 45))) < 2.0


ROUNDS = {
    "round": (["a", "b", "c"] * 2)[:6],
    "to_and_fro": ["a", "b", "c", "b", "a", "b"],
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("order", [*ROUNDS, "random"])
def test_it_goes_from_place_to_place_in_order(tmp_path, order):
    spots = {"a": (2, 2), "b": (6, 2), "c": (6, 7)}
    places = [{"point": list(at)} for at in spots.values()]
    machine = {"states": {"p": {"patrol": {"places": places, "order": order, "pause": 1}}}}
    seen = one(machine, tmp_path, place=(3, 4), stop=until(45))
    moves, visited = seen.of("x[0]"), []
    for begin in np.arange(1, 44, 0.2):
        if stands(moves, begin, begin + 0.6):
            at = place(moves, begin)
            name = min(spots, key=lambda each: np.hypot(*(at - spots[each])))
            assert np.hypot(*(at - spots[name])) < 0.45
            if not visited or visited[-1] != name:
                visited.append(name)
    assert len(visited) >= 6
    if order in ROUNDS:
        assert visited[:6] == ROUNDS[order]
    else:
        assert set(visited) == set(spots)


def test_rounds_are_counted(tmp_path):
    places = [{"point": [2, 2]}, {"point": [6, 2]}]
    seen = one(
        {"states": {"p": {"patrol": {"places": places, "rounds": 2}, "then": "s"}, "s": {"stand": True}}},
        tmp_path,
        stop=until(20),
    )
    (end,) = seen.begins("x[0]", "s")
    moves = seen.of("x[0]").loc[:end]
    assert np.hypot(*(place(moves, end) - (6, 2))) < 0.5
    path = np.hypot(np.diff(moves["x"]), np.diff(moves["y"])).sum()
    assert path == pytest.approx(1.4 + 3 * 4, abs=2.5)


@pytest.mark.full
def test_it_wanders_about_in_all_of_a_region_and_nowhere_else(tmp_path):
    machine = {"states": {"w": {"wander": {"where": "room", "pause": {"uniform": {"low": 0, "high": 1}}}}}}
    group = {"name": "x", "count": 5, "region": {"box": [20, 1, 28, 6]}, "behaviour": "m"}
    seen = watch(
        hall({"m": machine}, [group], stop=until(120)),
        tmp_path / "run.h5",
    )
    assert seen.moves["x"].between(19.7, 28.3).all() and seen.moves["y"].between(0.7, 6.3).all()
    cells, _, _ = np.histogram2d(seen.moves["x"], seen.moves["y"], bins=[4, 3], range=[[20, 28], [1, 6]])
    assert (cells > 0.2 * cells.mean()).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_it_hides_until_none_of_them_has_seen_it_for_a_while(tmp_path, model):
    """A thief behind a wall: from its places and the guard's follows when it was last seen."""
    machine = {
        "states": {
            "lurk": {
                "stay": "hall",
                "when": [{"near": {"to": "guard", "within": 9, "seen": True}, "to": "hide"}],
            },
            "hide": {"flee": {"away_from": ["guard"], "hidden_for": 5, "sight": 40}, "then": "safe"},
            "safe": {"stand": True},
        }
    }
    guard = {"g": {"states": {"walk": {"go_to": "hall", "then": "s"}, "s": {"stand": True}}}}
    seen = one(
        machine,
        tmp_path,
        place=(14, 15),
        machines=guard,
        avoidance=model,
        groups=[{"name": "guard", "positions": [[14, 2]], "behaviour": "g", "speed": 0.7}],
        stop=until(40),
    )
    (hide,), (safe,) = seen.begins("x[0]", "hide"), seen.begins("x[0]", "safe")
    x, other = seen.of("x[0]"), seen.of("guard[0]")

    def is_seen(time):
        return not WALLS.intersects(shapely.LineString([place(x, time), place(other, time)]))

    assert is_seen(hide - 0.1) and np.hypot(*(place(x, hide) - place(other, hide))) < 9.5
    times = np.arange(hide, safe, 0.1)
    last = max(time for time in times if is_seen(time))
    assert safe - last == pytest.approx(5.0, abs=0.5)
    assert not is_seen(safe)


def test_what_cannot_be_done_leads_elsewhere_or_is_tried_again(tmp_path):
    closed = {"states": {"go": {"go_to": "out", "cannot": "sulk"}, "sulk": {"stand": True}}}
    shut = [{"at": 0.1, "close": "gate"}, {"at": 20, "open": "gate"}]
    seen = one(closed, tmp_path, events=shut, stop=until(15))
    assert seen.chain("x[0]") == ["go", "sulk"] and seen.states["reason"].iloc[-1] == "cannot be done"
    (tmp_path / "patient").mkdir()
    patient = one(
        {"states": {"go": {"go_to": "out"}}},
        tmp_path / "patient",
        events=shut,
        stop=until(61),
    )
    assert patient.chain("x[0]") == ["go", "end"]
    assert 20 < patient.begins("x[0]", "end")[0] < 60


def test_a_state_has_a_speed_of_its_own_and_the_agent_its_own_after_it(tmp_path):
    machine = {"states": {"run": {"go_to": "b", "speed": 2.0, "then": "walk"}, "walk": {"go_to": "a"}}}
    seen = one(machine, tmp_path, groups=[], place=(3, 3), stop=until(30))
    moves, (walk,), (end,) = seen.of("x[0]"), seen.begins("x[0]", "walk"), seen.begins("x[0]", "end")
    speed = np.hypot(np.diff(moves["x"]), np.diff(moves["y"])) / 0.1
    assert np.median(speed[20 : int(walk * 10) - 10]) == pytest.approx(2.0, abs=0.05)
    assert np.median(speed[int(walk * 10) + 20 : int(end * 10) - 10]) == pytest.approx(1.34, abs=0.05)


def test_machines_in_machines_last_as_long_as_the_state_around_them(tmp_path):
    machines = {
        "inner": {"states": {"go": {"go_to": "b", "then": "back"}, "back": {"go_to": "a", "then": "go"}}},
    }
    machine = {"states": {"busy": {"machine": "inner", "lasts": 25, "then": "rest"}, "rest": {"stand": True}}}
    seen = one(machine, tmp_path, machines=machines, stop=until(35))
    assert seen.chain("x[0]")[:2] == ["busy/go", "busy/back"] and seen.chain("x[0]")[-1] == "rest"
    assert seen.begins("x[0]", "rest") == [pytest.approx(25.1, abs=0.15)]
    assert seen.states["reason"].iloc[-1] == "lasted"


def test_states_that_go_round_in_no_time_are_an_error_that_names_them():
    machine = {
        "states": {"x": {"wait_until": {"at": 1}, "then": "y"}, "y": {"wait_until": {"at": 0}, "then": "x"}}
    }
    document = hall({"m": machine}, [{"name": "x", "positions": [[3, 3]], "behaviour": "m"}])
    with (
        Simulation(document) as run,
        pytest.raises(CrowdsimError, match=r"tick 10: x\[0\] goes through 100 states in one tick.*: x, y"),
    ):
        for _ in range(20):
            run.step()


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_any_number_of_threads_and_any_order_of_groups_give_the_same_run(tmp_path, model):
    document = everything(avoidance=model)
    digests = []
    for threads in (1, 2):
        with Simulation(document, threads=threads) as run:
            for _ in range(200):
                run.step()
            digests.append(run.digest)
            assert len(np.unique(run.agents.machine_state)) > 6
    assert digests[0] == digests[1]
    turned = {**document, "groups": document["groups"][::-1]}
    places = []
    for each in (document, turned):
        with Simulation(each) as run:
            for _ in range(60):  # before two of the same distance decide by their numbers
                run.step()
            agents = run.agents
            places.append(sorted(zip(agents.label, agents.position.tolist(), strict=True)))
    assert places[0] == places[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS, ids=str)
def test_a_saved_run_goes_on_as_it_would_have(navigation):
    document, begins = everything(navigation=navigation), range(3, 500, 83)
    with Simulation(document, threads=2) as run:
        states, digests = {}, []
        for tick in range(500):
            if tick in begins:
                states[tick] = {name: array.copy() for name, array in run.state().items()}
            run.step()
            digests.append(run.digest)
    for begin in begins:
        with Simulation(document) as again:
            again.restore(states[begin])
            for tick in range(begin, min(500, begin + 30)):
                again.step()
                assert again.digest == digests[tick], (begin, tick)
