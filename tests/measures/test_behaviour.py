"""Tables of what agents did: states of machines, lines, trips; beside what recorded places say."""

import json

import numpy as np
import pytest

from crowdsim import measures
from crowdsim.errors import RecordingError
from tests.cli.command import crowdsim
from tests.measures.people import tracks
from tests.scenes.behaviour import everything, watch
from tests.scenes.test_queues import ONE, clients, shop


@pytest.fixture(scope="module")
def shopping(tmp_path_factory):
    """A run in which eight are served one after the other, for 4 s each, and what it looked like."""
    path = tmp_path_factory.mktemp("shop") / "run.h5"
    return path, watch(shop(ONE, [clients()]), path)


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    path = tmp_path_factory.mktemp("busy") / "run.h5"
    return path, watch(everything(), path)


def test_waits_are_from_the_line_to_the_server_and_services_as_long_as_people_stand_there(shopping):
    path, seen = shopping
    waits = measures.waits_in_line(path)
    assert (
        len(waits) == 8 and (waits["outcome"] == "served").all() and waits["joined_s"].is_monotonic_increasing
    )
    assert waits.attrs["units"]["waited_s"] == "s"
    at = seen.moves[np.hypot(seen.moves["x"] - 13.2, seen.moves["y"] - 5) < 0.21]
    times = at.groupby("name")["time"].agg(["min", "max"]).sort_values("min")
    assert np.allclose(np.sort(waits["served_s"]), times["min"], atol=0.15)
    assert np.allclose(np.sort(waits["left_s"]), times["max"], atol=0.25)
    use = measures.queue_use(path).iloc[0]
    assert (use["people"], use["served"], use["left"]) == (8, 8, 0)
    assert use["mean_wait_s"] == pytest.approx((waits["called_s"] - waits["joined_s"]).mean())
    assert use["mean_service_s"] == pytest.approx(4.0, abs=0.06)
    # people on the line, counted in the picture of each tick
    on_line = seen.moves[seen.moves["x"].between(3.8, 12.4) & (np.abs(seen.moves["y"] - 5) < 0.3)]
    most = on_line.groupby("time").size().max()
    assert abs(use["most_in_line"] - most) <= 1 < use["mean_in_line"] < most
    lengths = measures.queue_lengths(path)
    assert lengths["people"].max() == use["most_in_line"] and lengths["people"].iloc[-1] == 0
    then = on_line.groupby("time").size()
    for time in (10.0, 20.0, 30.0):
        own = lengths[lengths["time_s"] <= time]["people"].iloc[-1]
        assert abs(own - then.iloc[np.argmin(np.abs(then.index - time))]) <= 1


def test_states_of_a_person_follow_one_another_from_its_beginning_to_its_end(busy):
    path, seen = busy
    spells, use = measures.state_spells(path), measures.state_use(path)
    assert len(spells) == (seen.states["state"] != "end").sum()
    for _, own in spells.groupby("id"):
        assert np.array_equal(own["until_s"][:-1], own["from_s"][1:])
        assert own["then"].tolist()[:-1] == own["state"].tolist()[1:]
    last = spells.drop_duplicates("id", keep="last")
    assert set(last["then"]) <= {"", "left", "end"}
    assert (last["then"] == "left").sum() == (seen.verdict.arrived - 5)  # all but those without a machine
    assert use["times"].sum() == len(spells)
    stay = use.set_index(["machine", "state"]).loc[("visitor", "react")]
    assert stay["mean_s"] == pytest.approx(np.exp(0.5 + 0.08), rel=0.4)


def test_trips_are_counted_by_group_and_goal(busy):
    path, _ = busy
    table = measures.trips(path)
    assert table["people"].sum() == len(measures.arrivals(path))
    assert set(table["group"]) >= {"visitors", "others"} and set(table["goal"]) == {"out"}
    assert np.allclose(table.groupby("group")["share"].sum(), 1.0)


def test_crowdsim_measure_shows_states_and_queues_and_writes_their_tables(busy, tmp_path):
    path, _ = busy
    shown = crowdsim(["measure", path, "--csv", tmp_path / "tables"])
    assert shown.returncode == 0, shown.stderr
    assert "machine  state" in shown.stdout and "queue  people" in shown.stdout
    assert max(len(line) for line in shown.stdout.split("files in")[0].splitlines()) <= 80
    written = {file.name for file in (tmp_path / "tables").iterdir()}
    assert written >= {"states.csv", "spells.csv", "queues.csv", "waits.csv", "lengths.csv", "trips.csv"}
    facts = json.loads(crowdsim(["measure", path, "--json"]).stdout)
    assert {each["queue"] for each in facts["queues"]} == {"desk", "tills"} and len(facts["states"]) > 10


def test_measured_people_have_none():
    with pytest.raises(RecordingError, match="measured people have no states of machines"):
        measures.state_spells(tracks({1: [(0, 0), (1, 0)]}))
