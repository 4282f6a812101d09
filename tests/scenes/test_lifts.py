"""Lifts, seen from recorded places and events."""

import numpy as np
import pytest

from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import AgentState
from tests.crowds import assert_same_on_threads_and_from_saved_states
from tests.scenes.behaviour import watch
from tests.scenes.connections import riders, storeys

MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]
PLANNERS = ["mesh", "optimal", "visibility", "hierarchical", "grid"]
FOUR = {"capacity": 4}
# doors 2 s, open for 3 s at least, 1 s for each that goes in or out, 3 m at 1 m/s from storey to storey
OPEN_AND_SHUT = 2.0 + 3.0 + 2.0


def times(seen, kind):
    """Return when something happened to each agent first, by name."""
    return seen.events[seen.events["kind"] == kind].groupby("name")["time"].min()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("begin", "end", "seconds"),
    [
        (0, 2, OPEN_AND_SHUT + 6.0 + 2.0),  # it stands at the lowest stop
        (1, 2, 3.0 + OPEN_AND_SHUT + 3.0 + 2.0),
        (2, 0, 6.0 + OPEN_AND_SHUT + 6.0 + 2.0),
        (1, 0, 3.0 + OPEN_AND_SHUT + 3.0 + 2.0),
    ],
)
def test_one_alone_takes_the_time_of_its_ride_to_the_tick(tmp_path, begin, end, seconds):
    seen = watch(storeys({"lift": FOUR}, [riders(1, begin, end)]), tmp_path / "run.h5")
    took = times(seen, "ALIGHTED") - times(seen, "WAITS_AT")
    assert took.tolist() == pytest.approx([seconds]) and seen.verdict.arrived == 1
    # and by its places: it is on the storey where it goes from half of the last way on
    own = seen.moves.set_index("time")["layer"]
    assert own.iloc[0] == begin and own.iloc[-1] == end and (own.diff().dropna() * (end - begin) >= 0).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("navigation", PLANNERS)
@pytest.mark.parametrize("model", MODELS)
def test_the_cabin_never_holds_more_than_it_takes(tmp_path, model, navigation, seed):
    scene = storeys(
        {"a": {"capacity": 2}, "b": {"capacity": 2}},
        [riders(6, 0, 2), riders(3, 2, 0), riders(2, 1, 2), riders(2, 1, 0)],
        seed=seed,
        avoidance=model,
        navigation=navigation,
    )
    seen = watch(scene, tmp_path / "run.h5")
    assert seen.verdict.arrived == 13 and seen.verdict.deepest_overlap_m < 0.05
    inside = {0: 0, 1: 0}
    most = 0
    for kind, value in seen.events[["kind", "value"]].itertuples(index=False):
        if kind in ("BOARDED", "ALIGHTED"):
            inside[value // 1024] += 1 if kind == "BOARDED" else -1
            most = max(most, *inside.values())
    assert most == 2 and set(inside.values()) == {0}


@pytest.mark.full
def test_loads_that_fill_the_lift_come_in_the_time_of_a_round(tmp_path):
    scene = storeys({"lift": FOUR}, [riders(16, 0, 1)], floors=2, stop={"after": 400})
    seen = watch(scene, tmp_path / "run.h5")
    first_out = times(seen, "ALIGHTED").sort_values().to_numpy()[::4]
    # doors, four in, doors, 3 s, doors, four out, doors, 3 s
    whole = 2.0 * (2.0 + 4.0 + 2.0 + 3.0)
    assert seen.verdict.arrived == 16 and np.allclose(np.diff(first_out), whole, rtol=0.05)


@pytest.mark.full
def test_one_that_waits_in_the_middle_is_not_passed_for_good(tmp_path):
    # six times as many come to the lowest stop as the lift carries, most of them after that one
    crowd = riders(12, 0, 2, premovement={"uniform": {"low": 0, "high": 50}})
    groups = [crowd, riders(4, 0, 2, name="first"), riders(1, 1, 2, name="middle", premovement=10)]
    scene = storeys({"lift": {"capacity": 2}}, groups, stop={"after": 500})
    seen = watch(scene, tmp_path / "run.h5")
    waited = (times(seen, "BOARDED") - times(seen, "WAITS_AT"))["middle[0]"]
    whole = 2.0 * (2.0 + 3.0 + 2.0 + 6.0)
    assert seen.verdict.arrived == 17 and waited < 60.0 + 2.0 * whole
    # it was passed before: it is the full cabin that is held to it, not the order of the calls
    assert waited > 40.0


def test_it_takes_those_on_its_way_and_turns_where_none_wants_on(tmp_path):
    groups = [riders(1, 0, 2), riders(1, 1, 2, name="up"), riders(1, 1, 0, name="down")]
    for group, x in zip(groups, (11.0, 11.0, 10.0), strict=True):
        group |= {"positions": [[x, 1.8]]}
        del group["count"], group["region"]
    seen = watch(storeys({"lift": FOUR}, groups), tmp_path / "run.h5")
    went, came = times(seen, "BOARDED"), times(seen, "ALIGHTED")
    assert went["from 0 to 2[0]"] < went["up[0]"] < came["up[0]"] < went["down[0]"]
    assert abs(came["up[0]"] - came["from 0 to 2[0]"]) < 1.5  # with one ride


def test_agents_take_both_lifts(tmp_path):
    seen = watch(storeys({"a": FOUR, "b": FOUR}, [riders(10, 0, 2)]), tmp_path / "run.h5")
    of = seen.events[seen.events["kind"] == "BOARDED"]["value"] // 1024
    assert 3 <= (of == 0).sum() <= 7 and seen.verdict.arrived == 10


def test_waiting_for_a_lift_is_not_stuck_and_the_verdict_says_since_when(tmp_path):
    scene = storeys({"lift 1": {"capacity": 1}}, [riders(4, 0, 2)], stop={"after": 60, "stuck_for": 60})
    seen = watch(scene, tmp_path / "run.h5")
    assert not seen.verdict.deadlocked and "STUCK" not in set(seen.events["kind"])
    reasons = [left.reason for left in seen.verdict.left]
    assert any(reason.startswith("waits for lift 1 since ") for reason in reasons)
    assert seen.verdict.exit_code == 3 or seen.verdict.not_arrived


def test_those_that_ride_meet_no_others():
    """Others walk through the place of the cabin as if it were free."""
    scene = storeys({"lift": {"capacity": 4, "dwell": 8}}, [riders(4, 0, 2)])
    with Simulation(scene) as run:
        agents = run.world.agents
        while np.count_nonzero(agents.activity == AgentState.RIDING) < 3:
            run.step()
        rows = agents.activity == AgentState.RIDING
        part, _ = run.world.ground_of(agents.position)
        assert len(set(part[rows].tolist())) == rows.sum() and (part[rows] < 0).all()
        assert (agents.neighbour_count[rows] == 0).all()


def test_a_run_is_the_same_on_threads_and_from_every_saved_state():
    scene = storeys(
        {"a": {"capacity": 2}, "b": {"capacity": 3}}, [riders(6, 0, 2), riders(5, 2, 0), riders(3, 1, 2)]
    )
    assert_same_on_threads_and_from_saved_states(scene, 300, (1, 60, 75, 90, 105, 130, 160, 250))


def test_machines_of_states_lead_to_queues_on_other_storeys_and_back(tmp_path):
    machine = {
        "states": {
            "up": {"go_to": {"point": [4, 4], "storey": "s1"}, "then": "ask"},
            "ask": {"queue": "desk", "then": "out"},
            "out": {"leave": "to s0"},
        }
    }
    desk = {"servers": [[4, 6]], "line": [[4, 5], [4, 2]], "service": 1, "storey": "s1"}
    group = {"name": "x", "count": 4, "region": {"box": [8, 2, 11, 6]}, "storey": "s0", "behaviour": "clerk"}
    scene = storeys({"lift": FOUR}, [group], floors=2, behaviours={"clerk": machine}, queues={"desk": desk})
    seen = watch(scene, tmp_path / "run.h5")
    assert seen.verdict.arrived == 4 and seen.verdict.exit_code == 0
    rides = seen.events[seen.events["kind"] == "ALIGHTED"].groupby("name").size()
    served = seen.moves[
        (np.hypot(seen.moves["x"] - 4, seen.moves["y"] - 6) < 0.25) & (seen.moves["layer"] == 1)
    ]
    assert (rides == 2).all() and served["name"].nunique() == 4
    for name in ("x[0]", "x[1]", "x[2]", "x[3]"):
        assert seen.chain(name) == ["up", "ask", "out"]
