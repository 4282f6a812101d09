"""Parties at lifts and other connections: seen from recorded places, states and events."""

import numpy as np
import pytest

import crowdsim as library
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.riding import RideStep
from tests.crowds import assert_same_on_threads_and_from_saved_states
from tests.scenes.connections import halves, riders, storeys, walkers
from tests.scenes.parties import MODELS, PLANNERS, party_places

FLAT = [each for each in PLANNERS if isinstance(each, str)]
EACH = [(model, planner, seed) for model in MODELS for planner in PLANNERS for seed in range(1, 11)]
PARTY = 6  # what agents wait for, in the column `waits`


def recorded(scene, path):
    """Return the verdict, rows with their time in s, and events with theirs."""
    with Simulation(scene, out=path) as run:
        verdict = run.run()
    with library.open_run(path) as kept:
        rows, events, tick = kept.trajectories(), kept.events(), kept.header.tick_s
    return verdict, rows.assign(time=rows["frame"] * tick), events.assign(time=events["tick"] * tick)


def last_seen(rows):
    """Return when each agent was there last, s, by party and agent."""
    return rows.groupby(["party", "id"])["time"].max()


@pytest.mark.sample(1)
@pytest.mark.parametrize(("model", "planner", "seed"), EACH, ids=str)
@pytest.mark.parametrize("leader", [False, True])
def test_a_party_that_a_lift_splits_meets_where_it_goes(tmp_path, model, planner, seed, leader):
    together = {"size": 4, "leader": leader}
    scene = storeys(
        {"lift": {"capacity": 2}},
        [riders(4, 0, 2, together=together)],
        seed=seed,
        avoidance=model,
        navigation=planner,
    )
    verdict, rows, events = recorded(scene, tmp_path / "run.h5")
    assert verdict.arrived == 4 and not verdict.deadlocked
    boarded = events[events["kind"] == "BOARDED"]["time"].sort_values().to_numpy()
    assert len(boarded) == 4 and boarded[2] - boarded[1] > 15.0  # two, and two with the next
    # while some ride, those before the lift wait for it and not for their party
    late = rows[rows["time"] > boarded[0]]
    assert not (late[(late["layer"] == 0)]["waits"] == PARTY).any()
    # those that are up wait a few steps from the lift, and all go on together
    out = events[events["kind"] == "ALIGHTED"].set_index("entity")["time"]
    first = rows[rows["id"].isin(out.nsmallest(2).index) & (rows["time"] == out.max())]
    assert len(first) == 2 and first["x"].between(7.0, 12.4).all() and (first["waits"] == PARTY).all()
    assert np.ptp(last_seen(rows)) <= 5.0


@pytest.mark.sample(1)
@pytest.mark.parametrize(("model", "planner", "seed"), EACH, ids=str)
@pytest.mark.parametrize("leader", [False, True])
def test_all_of_a_party_take_the_same_connection(tmp_path, model, planner, seed, leader):
    ends = {
        name: [{"area": {"box": [6.8, low, 8, low + 1.2]}}, {"area": {"box": [12, low, 13.2, low + 1.2]}}]
        for name, low in (("north", 4.6), ("south", 0.2))
    }
    kinds = {name: {"passage": {"ends": each, "time": 3, "capacity": 1}} for name, each in ends.items()}
    group = walkers(12, together={"size": 3, "leader": leader})
    scene = halves(kinds, [group], seed=seed, avoidance=model, navigation=planner)
    verdict, rows, events = recorded(scene, tmp_path / "run.h5")
    assert verdict.arrived == 12 and not verdict.deadlocked
    party = rows.drop_duplicates("id").set_index("id")["party"]
    boarded = events[events["kind"] == "BOARDED"]
    taken = boarded.assign(by=boarded["value"] // 1024, party=boarded["entity"].map(party))
    assert (taken.groupby("party")["by"].nunique() == 1).all()
    assert taken["by"].nunique() == 2  # not all parties take the same
    for _, own in last_seen(rows).groupby("party"):
        assert np.ptp(own) <= 10.0


def beside(walk, **more):
    """Return two halls with a passage over the gap, 7.5 s long, and a walk round it of so many m."""
    scene = halves(
        {
            "bridge": {
                "passage": {
                    "ends": [{"area": {"box": [7, 2, 8, 4]}}, {"area": {"box": [12, 2, 13, 4]}}],
                    "time": 7.5,
                }
            }
        },
        [],
        **more,
    )
    scene["geometry"] = {
        "walkable": [
            {"box": [0, 0, 8, 6]},
            {"box": [12, 0, 20, 6]},
            {
                "polygon": [
                    [3, 6],
                    [5, 6],
                    [5, 6 + walk],
                    [15, 6 + walk],
                    [15, 6],
                    [17, 6],
                    [17, 8 + walk],
                    [3, 8 + walk],
                ]
            },
        ]
    }
    return scene


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", FLAT)
@pytest.mark.parametrize("leader", [False, True])
def test_of_a_ride_and_a_walk_a_party_takes_one(tmp_path, navigation, leader):
    """Two stand where the walk begins, and one before the passage: alone each would take what it is at."""
    places = [[7.2, 1.0], [4.0, 5.6], [4.0, 4.6]]
    found = {}
    for kind, together in (("alone", None), ("party", {"size": 3, "leader": leader})):
        group = {"name": "w", "positions": places, "goals": "east", "speed": 1.25}
        if together:
            group["together"] = together
        scene = beside(1.0, navigation=navigation)
        scene["groups"] = [group]
        verdict, _, events = recorded(scene, tmp_path / f"{kind}.h5")
        assert verdict.arrived == 3
        found[kind] = sorted(events[events["kind"] == "BOARDED"]["entity"])
    assert found["alone"] == [1]
    assert found["party"] == ([1, 2, 3] if leader else [])


def test_a_member_that_lacks_the_key_goes_round_and_is_waited_for(tmp_path):
    scene = beside(3.0)
    group = {"name": "w", "positions": [[5, 1.0], [5, 2.0]], "goals": "east", "together": {"size": 2}}
    scene["groups"] = [group]
    scene["connections"]["bridge"] = {"door": {**scene["connections"]["bridge"]["passage"], "key": "red"}}
    del scene["connections"]["bridge"]["door"]["time"]
    verdict, rows, events = recorded(scene, tmp_path / "run.h5")
    assert verdict.arrived == 2 and not len(events[events["kind"] == "BOARDED"])
    assert np.ptp(last_seen(rows)) <= 5.0
    for keys, count in (([], 0), (["red"], 2)):
        scene["groups"] = [{**group, "keys": keys}]
        assert len(recorded(scene, tmp_path / "run.h5")[2].query("kind == 'BOARDED'")) == count


def test_members_before_a_ladder_of_one_do_not_wait_for_each_other(tmp_path):
    """Five go over one after the other; those that are over wait beyond its end, and leave it free."""
    scene = halves(
        {
            "rungs": {
                "ladder": {
                    "ends": [{"area": {"box": [7, 2, 8, 4]}}, {"area": {"box": [12, 2, 13, 4]}}],
                    "climb": 2,
                }
            }
        },
        [walkers(5, together={"size": 5})],
    )
    verdict, rows, events = recorded(scene, tmp_path / "run.h5")
    assert verdict.arrived == 5 and verdict.exit_code == 0
    boarded = events[events["kind"] == "BOARDED"]["time"].sort_values()
    assert np.allclose(np.diff(boarded), 5.0, atol=0.3)  # 2 m at 0.4 m/s
    out = events[events["kind"] == "ALIGHTED"].set_index("entity")["time"]
    over = rows[(rows["time"] > out.min() + 5.0) & (rows["time"] < out.max()) & (rows["x"] > 12)]
    over = over[over["ride_step"] == RideStep.NONE]
    assert len(over) and over["x"].between(12.0, 17.5).all()
    for parties in party_places(tmp_path / "run.h5").values():
        gone = {int(entity): time for time, entities, _ in parties for entity in entities}
        assert max(gone.values()) - min(gone.values()) <= 5.0


def test_threads_and_saved_states():
    scene = storeys(
        {"a": {"capacity": 2}, "b": {"capacity": 3}},
        [riders(9, 0, 2, together={"size": 3}), riders(4, 2, 0, together={"size": 4, "leader": True})],
    )
    assert_same_on_threads_and_from_saved_states(scene, 300, (1, 60, 75, 90, 105, 130, 160, 250))
