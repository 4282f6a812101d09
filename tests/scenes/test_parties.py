"""Parties keep together: seen from recorded places."""

import numpy as np
import pytest

import crowdsim as library
from crowdsim.simulation.simulation import Simulation
from tests.cli.command import crowdsim
from tests.crowds import assert_same_on_threads_and_from_saved_states
from tests.scenes.parties import MODELS, PLANNERS, corridor, neighbours_abreast, party_places

# How far (m) members may be behind each other in a row: ClearPath takes a neighbour that comes closer for one
# to be avoided.
LOOSE = {"clearpath": 0.5}
APART_S = 10.0  # Within so many seconds members arrive.
CLEAR_OF_OTHERS_M = 1.2  # Those of another party are in the way if they are nearer.
EACH = [(model, planner, seed) for model in MODELS for planner in PLANNERS for seed in range(1, 11)]


def recorded(document, tmp_path):
    with Simulation(document, out=tmp_path / "run.h5") as run:
        verdict = run.run()
    return verdict, party_places(tmp_path / "run.h5")


def with_room(party, parties, size):
    """Return places of a party on its way, (size, 2) a frame; none if another party ever came nearer to it
    than `CLEAR_OF_OTHERS_M`.
    """
    frames = [
        (time, places)
        for time, _, places in parties[party]
        if len(places) == size and 25 < places[:, 0].mean() < 45
    ]
    others = [{time: places for time, _, places in found} for name, found in parties.items() if name != party]
    for time, places in frames:
        for other in others:
            apart = places[:, None] - other.get(time, np.empty((0, 2)))
            if np.hypot(*apart.T).min(initial=np.inf) < CLEAR_OF_OTHERS_M:
                return []
    return [places for _, places in frames]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("model", "planner", "seed"), EACH, ids=str)
@pytest.mark.parametrize("size", [2, 3])
def test_where_there_is_room_members_walk_abreast(tmp_path, model, planner, seed, size):
    on_the_way = {}
    for count in (2 * size, size):  # two parties, and one alone where the two walk through each other
        if not any(map(len, on_the_way.values())):
            scene = corridor(10, {"size": size}, count=count, seed=seed, avoidance=model, navigation=planner)
            verdict, parties = recorded(scene, tmp_path)
            assert verdict.arrived == count
            on_the_way = {party: with_room(party, parties, size) for party in parties}
    assert any(map(len, on_the_way.values()))
    for frames in filter(len, on_the_way.values()):
        centres = np.array([places.mean(axis=0) for places in frames])
        apart = [
            neighbours_abreast(places, centres[number + 1] - centres[number])
            for number, places in enumerate(frames[:-1])
        ]
        along, across = np.concatenate(apart).T
        if model == "hrvo":  # it does so more than others: members stay near each other, and not in one row
            assert np.median(np.hypot(along, across)) < 2.5
        else:  # side by side, about as far apart as they like
            assert np.median(along) < LOOSE.get(model, 0.15) and 0.4 < np.median(across) < 1.9


@pytest.mark.sample(1)
@pytest.mark.parametrize(("model", "planner", "seed"), EACH, ids=str)
def test_where_there_is_none_members_walk_in_a_line(tmp_path, model, planner, seed):
    scene = corridor(1.1, {"size": 3}, count=3, seed=seed, avoidance=model, navigation=planner)
    verdict, parties = recorded(scene, tmp_path)
    assert verdict.arrived == 3 and not verdict.deadlocked
    for _, _, places in parties[0]:
        if len(places) == 3 and 15 < places[:, 0].mean() < 40:
            gaps = np.diff(np.sort(places[:, 0]))
            assert (gaps > 0.55).all() and (gaps < 1.3).all() and np.ptp(places[:, 1]) < 0.7


def mean_speed(path):
    """Return how fast members go along x in the middle of a corridor, m/s."""
    with library.open_run(path) as kept:
        moves = kept.trajectories(columns=["x"])
    there = moves[(moves["x"] > 20) & (moves["x"] < 40)].groupby("id")
    frames = there["frame"].agg(np.ptp)
    return float((there["x"].agg(np.ptp) / frames).mean() * moves.attrs["fps"])


@pytest.mark.parametrize("model", ["orca", pytest.param("hrvo", marks=pytest.mark.full)])
def test_larger_parties_are_slower_by_what_was_measured(tmp_path, model):
    """[Moussaid 2010], figure 2: 0.04 m/s for each member at low density; under HRVO members are in contact,
    now more and now less so, as they began.
    """
    sizes, seeds = np.arange(1, 5), np.arange(1, 2 if model == "orca" else 11)
    speeds = np.empty((len(seeds), len(sizes)))
    for row, seed in zip(speeds, seeds, strict=True):
        for size in sizes:
            together = {"size": int(size)}
            scene = corridor(
                14, together, count=int(size), seed=int(seed), avoidance=model, group={"speed": 1.26}
            )
            recorded(scene, tmp_path)
            row[size - 1] = mean_speed(tmp_path / "run.h5")
    assert np.polyfit(sizes, speeds.mean(axis=0), 1)[0] == pytest.approx(-0.04, abs=0.01)
    assert speeds[:, 0] == pytest.approx(1.26, abs=0.01)


def of_different_speeds(**more):
    """Return a corridor with parties of which every fifth member is slow."""
    slow = {"choice": {"values": [0.6, 1.25], "weights": [1, 4]}}
    together = {"size": {"choice": {"values": [2, 3, 4, 5]}}}
    return corridor(6, together, count=20, length=60, group={"speed": slow}, **more)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("model", "planner", "seed"), EACH, ids=str)
def test_members_of_different_speeds_come_to_the_exit_together(tmp_path, model, planner, seed):
    """After the test of groups in NIST Technical Note 1822, 2.9: from the first to the last at most 10 s."""
    scene = of_different_speeds(seed=seed, avoidance=model, navigation=planner)
    verdict, parties = recorded(scene, tmp_path)
    assert verdict.arrived == 20
    for frames in parties.values():
        last = {int(entity): time for time, entities, _ in frames for entity in entities}
        assert max(last.values()) - min(last.values()) <= APART_S
        if len(last) > 1:  # and on the way the last is never left behind
            assert np.median([np.ptp(places[:, 0]) for _, _, places in frames]) < 4.0


def test_one_that_waits_is_not_driven_on_by_those_that_come_close_behind(tmp_path):
    """ClearPath evades others by going on: in this scene one of three went 15 m ahead, along the wall."""
    scene = of_different_speeds(seed=4, avoidance="clearpath", stop={"after": 30})
    _, parties = recorded(scene, tmp_path)
    later = [np.ptp(places[:, 0]) for time, _, places in parties[5] if time > 10]
    assert len(later) > 50 and max(later) < 4.0


def door(together, events, **more):
    """Return two halls with a door between them."""
    areas = [{"name": "door", "area": {"box": [10, 3.5, 10.2, 4.5]}}]
    ground = [{"box": [0, 0, 10, 8]}, {"box": [10, 3.5, 10.2, 4.5]}, {"box": [10.2, 0, 30, 8]}]
    return {
        **corridor(8, together, length=30, count=6, group={"region": {"box": [1, 1, 6, 7]}}),
        "geometry": {"walkable": ground, "areas": areas},
        "events": events,
        **more,
    }


CLOSES = {"when": {"crossed": [[10.3, 3], [10.3, 5]], "count": 3}, "close": "door"}


# over corners one that a closing door left touching a wall by rounding may get no path when it opens again
WITHOUT_CORNERS = [each for each in EACH if each[1] != "visibility"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("model", "planner", "seed"), WITHOUT_CORNERS, ids=str)
def test_a_party_that_a_door_splits_meets_on_the_other_side(tmp_path, model, planner, seed):
    events = [CLOSES, {"at": 40, "open": "door"}]
    scene = door({"size": 6}, events, seed=seed, avoidance=model, navigation=planner)
    verdict, parties = recorded(scene, tmp_path)
    assert verdict.arrived == 6 and verdict.exit_code == 0 and not verdict.deadlocked
    places = {round(time, 1): places for time, _, places in parties[0]}
    ahead = places[39.0][places[39.0][:, 0] > 10.2]
    assert 1 <= len(ahead) < 6 and ahead[:, 0].max() < 16  # they wait not far behind the door
    gone = {int(entity): time for time, entities, _ in parties[0] for entity in entities}
    assert max(gone.values()) - min(gone.values()) < 6


def test_the_waiting_has_an_end_where_the_door_stays_closed(tmp_path):
    with Simulation(door({"size": 6, "patience": 15}, [CLOSES]), out=tmp_path / "run.h5") as run:
        for _ in range(200):
            run.step()
        waits = run.world.agents.waits
        assert 1 <= np.count_nonzero(waits == 6) < 6
        verdict = run.run()
    assert 1 <= verdict.arrived < 6 and verdict.ended == "no agent can go on"


def test_the_verdict_says_which_wait_for_their_party(tmp_path):
    with Simulation({**door({"size": 6}, [CLOSES]), "stop": {"after": 25}}) as run:
        verdict = run.run()
    assert verdict.arrived == 0 and not verdict.deadlocked
    assert 1 <= verdict.reasons["waits for its party"] < 6


def test_without_patience_none_waits():
    with Simulation(door({"size": 6, "patience": 0}, [CLOSES])) as run:
        for _ in range(600):
            run.step()
            assert not np.any(run.world.agents.waits)


def two_exits(together, **more):
    """Return a hall with an exit at each end, and parties in the middle."""
    scene = corridor(8, together, length=30, count=24, group={"region": {"box": [10, 0.5, 20, 7.5]}})
    scene["goals"] = {
        "left": {"exit": {"box": [0, 2, 1, 6]}},
        "right": {"exit": {"box": [29, 2, 30, 6]}},
        "out": {"nearest_of": ["left", "right"]},
    }
    return {**scene, **more}


@pytest.mark.sample(1)
@pytest.mark.parametrize(("model", "planner", "seed"), EACH, ids=str)
@pytest.mark.parametrize("leader", [False, True])
def test_all_of_a_party_leave_by_the_same_exit(tmp_path, model, planner, seed, leader):
    scene = two_exits({"size": 4, "leader": leader}, seed=seed, avoidance=model, navigation=planner)
    verdict, parties = recorded(scene, tmp_path)
    assert verdict.arrived == 24 and len(verdict.arrivals) == 2
    for frames in parties.values():
        last = {}
        for _, entities, places in frames:
            last |= dict(zip(entities.tolist(), places[:, 0].tolist(), strict=True))
        assert len({x < 15 for x in last.values()}) == 1


def test_where_the_common_exit_closes_the_party_takes_the_other(tmp_path):
    scene = two_exits({"size": 24}, stop={"after": 120})
    door = [28.5, 0, 28.7, 8]
    scene["geometry"] = {
        "walkable": [{"box": [0, 0, 28.5, 8]}, {"box": door}, {"box": [28.7, 0, 30, 8]}],
        "areas": [{"name": "door", "area": {"box": door}}],
    }
    scene["groups"][0]["region"] = {"box": [12, 0.5, 22, 7.5]}
    for events, arrivals in (
        ([], {"left": 0, "right": 24}),
        ([{"at": 3, "close": "door"}], {"left": 24, "right": 0}),
    ):
        with Simulation({**scene, "events": events}) as run:
            assert run.run().arrivals == arrivals


def arriving(**more):
    group = {
        "count": None,
        "region": None,
        "arrive": {"rate": 2, "at_most": 24, "doors": [{"box": [0, 0, 2, 2]}, {"box": [0, 8, 2, 10]}]},
    }
    scene = corridor(10, {"size": 3}, length=40, group=group, **more)
    scene["groups"][0] = {key: value for key, value in scene["groups"][0].items() if value is not None}
    return scene


def test_a_party_that_comes_in_is_complete_and_uses_one_door(tmp_path):
    verdict, parties = recorded(arriving(), tmp_path)
    assert verdict.arrived == 24 and sorted(parties) == list(range(8))
    for party, frames in parties.items():
        first = {}
        for time, entities, places in frames:
            for entity, place in zip(entities.tolist(), places, strict=True):
                first.setdefault(entity, (time, place))
        times, begin = zip(*first.values(), strict=True)
        assert len(first) == 3 and np.ptp(times) < 3.0
        assert len({bool(place[1] > 5) for place in begin}) == 1 and (begin[0][1] > 5) == (party % 2 == 1)
        gone = {int(entity): time for time, entities, _ in frames for entity in entities}
        assert np.ptp(list(gone.values())) < 3.0


def test_a_party_that_is_not_complete_does_not_wait_for_room():
    scene = arriving(stop={"after": 5.0})
    scene["groups"][0]["arrive"] = {"rate": 1}
    with Simulation(scene) as run:
        verdict = run.run()
    assert verdict.agents == 3 and verdict.waiting_outside == 0  # two more are due, and their third is not


def test_a_leader_goes_in_front(tmp_path):
    scene = corridor(4, {"size": 9, "leader": True, "abreast": 2}, count=9, length=60)
    _, parties = recorded(scene, tmp_path)
    for _, entities, places in parties[0]:
        if len(places) == 9 and 25 < places[:, 0].mean() < 50:
            assert entities[np.argmax(places[:, 0])] == 1
            # in pairs behind it
            assert 2.0 < np.ptp(places[:, 0]) < 6.5


def test_threads_saved_states_and_verify(tmp_path):
    scene = arriving()
    scene["groups"].append(
        {
            "name": "back",
            "count": 20,
            "region": {"box": [25, 1, 38, 9]},
            "goals": {"point": [1, 5]},
            "together": {"size": {"choice": {"values": [2, 3, 4]}}, "leader": True},
        }
    )
    assert_same_on_threads_and_from_saved_states(scene, 120, (0, 3, 40, 77))
    with Simulation(scene, out=tmp_path / "run.h5") as run:
        for _ in range(60):
            run.step()
    assert crowdsim(["verify", tmp_path / "run.h5"]).returncode == 0


def test_the_order_of_groups_changes_nothing():
    scene = corridor(10, {"size": 3})
    other = {**scene["groups"][0], "name": "a", "together": {"size": 2}}
    digests = []
    for groups in ([scene["groups"][0], other], [other, scene["groups"][0]]):
        with Simulation({**scene, "groups": groups}) as run:
            for _ in range(50):
                run.step()
            digests.append(run.digest)
    assert digests[0] == digests[1]
