"""Tables of connections, beside what recorded places say."""

import numpy as np
import pytest

from crowdsim import measures
from tests.cli.command import crowdsim
from tests.scenes.behaviour import watch
from tests.scenes.connections import halves, two, walkers


@pytest.fixture(scope="module")
def crossing(tmp_path_factory):
    """A run in which seven cross a gap, two at a time, and what it looked like."""
    path = tmp_path_factory.mktemp("gap") / "run.h5"
    return path, watch(halves({"ferry": two("passage", time=4, capacity=2)}, [walkers(7)]), path)


def test_rides_take_as_long_as_people_are_seen_over_the_gap(crossing):
    path, seen = crossing
    table, use = measures.rides(path), measures.ride_use(path).iloc[0]
    assert len(table) == 7 and (table["outcome"] == "rode").all() and (table["end"] == 1).all()
    assert np.allclose(table["rode_s"], 4.0) and table.attrs["units"]["waited_s"] == "s"
    for name, own in seen.moves.groupby("name"):
        over = own[(own["x"] > 8) & (own["x"] < 12)]["time"]
        ride = table[table["id"] == 1 + int(name[2:-1])].iloc[0]
        assert ride["boarded_s"] < over.min() and over.max() < ride["out_s"]
    assert (use["people"], use["rode"], use["left"], use["most_inside"]) == (7, 7, 0, 2)
    assert use["mean_wait_s"] == pytest.approx((table["boarded_s"] - table["joined_s"]).mean())


def test_the_command_shows_them(crossing):
    told = crowdsim(["measure", crossing[0]])
    assert told.returncode == 0
    (line,) = [line for line in told.stdout.splitlines() if line.startswith("ferry")]
    assert line.split()[:4] == ["ferry", "passage", "7", "7"]
