"""Lines in which agents stand and are served, seen from recorded places; and their waiting times beside the
closed formulas.
"""

import math

import numpy as np
import pytest

from crowdsim.simulation.simulation import Simulation
from tests.scenes.behaviour import watch

MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]


def shop(queue, groups, *, machine=None, seed=3, **more):
    """Return a hall of 24 by 10 m; the line goes from (12, 5) to the left. A run ends when all have left."""
    return {
        "version": 1,
        "name": "shop",
        "seed": seed,
        "tick": 0.1,
        "geometry": {"walkable": {"box": [0, 0, 24, 10]}},
        "goals": {
            "out": {"exit": {"box": [23, 4, 24, 6]}},
            "away": {"exit": {"box": [0, 8, 1, 10]}},
        },
        "queues": {"desk": queue},
        "behaviours": {
            "client": machine or {"states": {"buy": {"queue": "desk", "then": "go"}, "go": {"leave": "out"}}}
        },
        "groups": groups,
        "record": {"rate": 10},
        "stop": {"after": 200, "when": "all_arrived"},
        **more,
    }


ONE = {"servers": [[13.2, 5]], "line": [[12, 5], [4, 5]], "service": 4}


def clients(count=8, name="x", region=(1, 2, 8, 8), **more):
    return {"name": name, "count": count, "region": {"box": list(region)}, "behaviour": "client", **more}


def served(seen):
    """Return the names of those that were served, in this order, from places alone: which agent stands
    within 0.25 m of the server.
    """
    near = seen.moves[np.hypot(seen.moves["x"] - 13.2, seen.moves["y"] - 5) < 0.25]
    return near.drop_duplicates("name")["name"].tolist()


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_they_stand_one_behind_the_other_close_up_and_are_served_in_turn(tmp_path, model):
    seen = watch(shop(ONE, [clients()], avoidance=model), tmp_path / "run.h5")
    assert seen.verdict.arrived == 8 and seen.verdict.exit_code == 0
    joined = seen.events[seen.events["kind"] == "JOINED_LINE"]["name"].tolist()
    assert served(seen) == joined
    # each is at the server for its 4 s, and the next one is called as soon as it leaves
    at = seen.moves[np.hypot(seen.moves["x"] - 13.2, seen.moves["y"] - 5) < 0.21]
    times = at.groupby("name")["time"].agg(["min", "max"]).sort_values("min")
    assert np.allclose(times["max"] - times["min"], 4.0, atol=0.35)
    assert np.all(np.diff(times["min"]) < 4.0 + 2.5)  # and 1.2 m from the head of the line
    # in line they stand on it, as far apart as it says, and those behind have come up
    calm = seen.moves[np.isclose(seen.moves["time"], times["min"].iloc[1] + 3.0)]
    line = calm[calm["x"].between(3.9, 12.3) & calm["y"].between(4.5, 5.5)].sort_values("x", ascending=False)
    line = line[np.hypot(line["x"] - 13.2, line["y"] - 5) > 0.5]
    assert len(line) >= 4 and np.all(np.abs(line["y"] - 5) < 0.35)
    assert np.allclose(12 - line["x"], 0.6 * np.arange(len(line)), atol=0.4)


def test_priority_goes_to_the_head_of_the_line_and_keeps_its_own_order(tmp_path):
    early = clients(6, "x", region=(8, 2, 11, 8))
    late = clients(2, "vip", region=(0.5, 4, 2, 6))
    seen = watch(shop({**ONE, "first": ["vip"]}, [early, late]), tmp_path / "run.h5")
    order = served(seen)
    joined = seen.events[seen.events["kind"] == "JOINED_LINE"]["name"].tolist()
    assert joined[-2:] == ["vip[0]", "vip[1]"] or joined[-2:] == ["vip[1]", "vip[0]"]
    place = order.index("vip[0]")
    assert place < 6 and abs(place - order.index("vip[1]")) == 1
    others = [name for name in order if name.startswith("x")]
    assert others == [name for name in joined if name.startswith("x")]


def test_one_that_has_waited_for_too_long_leaves_the_line_and_the_others_close_up(tmp_path):
    machine = {
        "states": {
            "buy": {"queue": {"at": "desk", "patience": 10}, "then": "go", "cannot": "home"},
            "go": {"leave": "out"},
            "home": {"leave": "away"},
        }
    }
    seen = watch(shop({**ONE, "service": 6}, [clients()], machine=machine), tmp_path / "run.h5")
    joined = seen.events[seen.events["kind"] == "JOINED_LINE"].set_index("name")["time"]
    gone = seen.states[seen.states["state"] == "home"].set_index("name")["time"]
    assert 3 <= len(gone) <= 6 and set(served(seen)) == set(joined.index) - set(gone.index)
    assert np.allclose(gone - joined[gone.index], 10.0, atol=0.15)
    assert seen.verdict.arrived == 8
    for name in gone.index:  # they leave by the other exit
        assert seen.of(name)["x"].iloc[-1] < 1.5


@pytest.mark.sample(1)
@pytest.mark.parametrize("join", ["shortest", "random"])
def test_several_servers_have_lines_of_their_own(tmp_path, join):
    queue = {
        "servers": [[13.2, 2], [13.2, 8]],
        "lines": [[[12, 2], [4, 2]], [[12, 8], [4, 8]]],
        "service": 5,
        "join": join,
    }
    seen = watch(shop(queue, [clients(12, region=(1, 1, 3, 4))]), tmp_path / "run.h5")
    near = [np.hypot(seen.moves["x"] - 13.2, seen.moves["y"] - y) < 0.25 for y in (2, 8)]
    lower, upper = (set(seen.moves[each]["name"]) for each in near)
    assert not lower & upper and len(lower | upper) == 12 and seen.verdict.arrived == 12
    if join == "shortest":  # though all come from below
        assert 5 <= len(lower) <= 7
    else:
        assert 2 <= len(lower) <= 10


@pytest.mark.full
def test_one_line_for_several_servers_sends_each_to_the_one_that_is_free(tmp_path):
    queue = {"servers": [[13.2, 4], [13.2, 6]], "line": [[12, 5], [4, 5]], "service": 5}
    seen = watch(shop(queue, [clients(10)]), tmp_path / "run.h5")
    assert seen.verdict.arrived == 10
    near = [np.hypot(seen.moves["x"] - 13.2, seen.moves["y"] - y) < 0.25 for y in (4, 6)]
    lower, upper = (set(seen.moves[each]["name"]) for each in near)
    assert not lower & upper and len(lower) == len(upper) == 5
    for each in near:  # no two at one server
        times = seen.moves[each].groupby("name")["time"].agg(["min", "max"]).sort_values("min")
        assert np.all(times["min"].to_numpy()[1:] > times["max"].to_numpy()[:-1])


def test_a_line_that_is_full_turns_away_those_that_have_somewhere_else_to_go(tmp_path):
    machine = {
        "states": {
            "buy": {"queue": "desk", "then": "go", "cannot": "home"},
            "go": {"leave": "out"},
            "home": {"leave": "away"},
        }
    }
    short = {"servers": [[13.2, 5]], "line": [[12, 5], [10.8, 5]], "service": 30}
    seen = watch(shop(short, [clients()], machine=machine), tmp_path / "run.h5")
    # one is served, three stand in line, and each time one is called there is room for one more
    assert len(seen.begins("x[0]", "buy")) == 1
    away = seen.states[seen.states["state"] == "home"]
    assert 3 <= len(away) <= 5 and (away["reason"] == "cannot be done").all()
    assert len(away) + len(served(seen)) == 8


TICK = 0.2


def called_and_joined(arrive, service, servers, seed):
    """Return when the clients of a run are called, ascending, and when they joined the line, s."""
    queue = {"servers": servers, "line": [[12, 5], [1, 5]], "service": service, "spacing": 0.5}
    group = {
        "name": "x",
        "region": {"box": [0, 8, 1, 9]},
        "behaviour": "client",
        "speed": 1.5,
        "arrive": arrive,
    }
    document = shop(queue, [group], seed=seed, tick=TICK, stop={"after": 20_000, "when": "all_arrived"})
    del document["record"]
    noted = {"JOINED_LINE": {}, "CALLED": {}}
    with Simulation(document) as run:
        for kind, times in noted.items():
            run.on(kind, lambda event, times=times: times.setdefault(event.entity, event.tick * TICK))
        verdict = run.run()
    assert verdict.arrived == arrive["at_most"] == len(noted["CALLED"])
    order = sorted(noted["CALLED"], key=noted["CALLED"].get)
    return (np.array([noted[kind][each] for each in order]) for kind in ("CALLED", "JOINED_LINE"))


def time_between(servers, service):
    """Return the time between two clients of each server beside the service itself, s: the step from the head
    of the line, seen where one client follows the other.
    """
    called, _ = called_and_joined({"gap": 0.5, "at_most": 24}, service, servers, 1)
    return float(np.median(np.diff(called)[4:])) * len(servers) - service


@pytest.mark.full
def test_each_client_waits_longer_by_the_same_time_where_more_come_than_are_served():
    """Every 6 s comes one, each is served for 7 s: the k-th waits k times the difference and the step."""
    called, joined = called_and_joined({"gap": 6, "at_most": 16}, 7, [[13.2, 5]], 1)
    step = time_between([[13.2, 5]], 7)
    assert 0.8 < step < 1.6  # 1.2 m at 1.5 m/s, and starting
    longer = np.diff(called - joined)
    assert longer[3:].mean() == pytest.approx(7 + step - 6, abs=0.1) and longer.std() < 0.4


def erlang_c(load, servers):
    """Return the chance that one has to wait in M/M/c ([Kleinrock 1975], 3.4)."""
    below = sum(load**k / math.factorial(k) for k in range(servers))
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (below + last)


ARRIVALS, MEAN = 0.2, 2.2
KINDS = {  # service, servers
    "M/M/1": ({"exponential": {"mean": MEAN}}, [[12.6, 5]]),
    "M/D/1": (MEAN, [[12.6, 5]]),
    "M/M/2": ({"exponential": {"mean": 2 * MEAN}}, [[12.5, 4.6], [12.5, 5.4]]),
}


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_mean_waiting_times_are_those_of_the_closed_formulas(kind):
    """The step from the head of the line to the server takes a constant time, in which the server serves no
    other: M/M/1 is M/G/1 with the service S + c, whose mean wait is that of Pollaczek and Khinchine. Services
    take whole ticks, half a tick more on average.
    """
    service, servers = KINDS[kind]
    step = time_between(servers, 4.0) + (TICK / 2 if kind != "M/D/1" else 0.0)
    means = []
    for seed in range(30):
        arrive = {"rate": ARRIVALS, "process": "poisson", "at_most": 240}
        called, joined = called_and_joined(arrive, service, servers, seed)
        means.append((called - joined)[40:].mean())  # the line is empty in the beginning
    if len(servers) == 1:
        mean = MEAN + step
        square = (2 * MEAN**2 if kind == "M/M/1" else MEAN**2) + 2 * MEAN * step + step**2
        wait = ARRIVALS * square / 2 / (1 - ARRIVALS * mean)
    else:  # no closed formula has the constant: an M/G/c is near to M/M/c with the spread of its service
        mean = 2 * MEAN + step
        spread = (1 + (2 * MEAN / mean) ** 2) / 2
        wait = spread * erlang_c(ARRIVALS * mean, 2) / (2 / mean - ARRIVALS)
    half = 1.96 * np.std(means, ddof=1) / 30**0.5
    found = f"{kind}: {np.mean(means):.2f} +- {half:.2f} s, formula {wait:.2f} s, step {step:.2f} s"
    assert abs(np.mean(means) - wait) <= half, found
