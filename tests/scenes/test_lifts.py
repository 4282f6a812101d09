"""Lifts, seen from recorded places and events."""

import numpy as np
import pytest

from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import AgentState
from tests.crowds import assert_same_on_threads_and_from_saved_states
from tests.scenes.behaviour import watch
from tests.scenes.connections import riders, storeys

MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]
PLANNERS = ["mesh", "optimal", "visibility", "grid"]
FOUR = {"capacity": 4}
# doors 2 s, open for 3 s at least, 1 s for each that goes in or out, 3 m at 1 m/s from storey to storey
OPEN_AND_SHUT = 2.0 + 3.0 + 2.0


def times(seen, kind):
    """Return when something happened to each agent first, by name."""
    return seen.events[seen.events["kind"] == kind].groupby("name")["time"].min()


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


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("navigation", PLANNERS)
@pytest.mark.parametrize("model", MODELS)
def test_the_cabin_never_holds_more_than_it_takes(tmp_path, model, navigation, seed):
    scene = storeys(
        {"a": {"capacity": 3}, "b": {"capacity": 3}},
        [riders(7, 0, 2), riders(4, 2, 0), riders(4, 1, 2), riders(4, 1, 0)],
        seed=seed,
        avoidance=model,
        navigation=navigation,
    )
    seen = watch(scene, tmp_path / "run.h5")
    assert seen.verdict.arrived == 19 and seen.verdict.deepest_overlap_m < 0.05
    inside = {0: 0, 1: 0}
    most = 0
    for kind, value in seen.events[["kind", "value"]].itertuples(index=False):
        if kind in ("BOARDED", "ALIGHTED"):
            inside[value // 1024] += 1 if kind == "BOARDED" else -1
            most = max(most, *inside.values())
    assert 2 <= most <= 3 and set(inside.values()) == {0}


def test_loads_that_fill_the_lift_come_in_the_time_of_a_round(tmp_path):
    scene = storeys({"lift": FOUR}, [riders(24, 0, 1)], floors=2, stop={"after": 400})
    seen = watch(scene, tmp_path / "run.h5")
    first_out = times(seen, "ALIGHTED").sort_values().to_numpy()[::4]
    # doors, four in, doors, 3 s, doors, four out, doors, 3 s
    whole = 2.0 * (2.0 + 4.0 + 2.0 + 3.0)
    assert seen.verdict.arrived == 24 and np.allclose(np.diff(first_out), whole, rtol=0.05)


def test_one_that_waits_in_the_middle_is_not_passed_for_good(tmp_path):
    groups = [riders(16, 0, 2), riders(1, 1, 2, name="middle")]
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
    seen = watch(storeys({"a": FOUR, "b": FOUR}, [riders(16, 0, 2)]), tmp_path / "run.h5")
    of = seen.events[seen.events["kind"] == "BOARDED"]["value"] // 1024
    assert 5 <= (of == 0).sum() <= 11 and seen.verdict.arrived == 16


def test_waiting_for_a_lift_is_not_stuck_and_the_verdict_says_since_when(tmp_path):
    scene = storeys({"lift 1": {"capacity": 1}}, [riders(9, 0, 2)], stop={"after": 100, "stuck_for": 60})
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
    assert_same_on_threads_and_from_saved_states(scene, 500, (1, 60, 75, 90, 105, 130, 160, 250, 400))
