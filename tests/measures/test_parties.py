"""Tables of parties, from places written by hand and beside what recorded ones say."""

import json

import numpy as np
import pytest

from crowdsim import measures
from crowdsim.errors import RecordingError
from crowdsim.simulation.simulation import Simulation
from tests.cli.command import crowdsim
from tests.measures.people import straight, tracks, with_events
from tests.scenes.parties import corridor, party_places

SCENARIO = json.dumps(
    {
        "version": 1,
        "geometry": {"walkable": {"box": [0, 0, 20, 5]}},
        "goals": {"out": {"exit": {"box": [19, 0, 20, 5]}}},
        "groups": [
            {"name": "g", "count": 6, "goals": "out", "together": {"size": 2}},
            {"name": "alone", "count": 1, "goals": "out"},
        ],
    }
)


def by_hand():
    """Two side by side, two behind each other, and one that is seen alone; one of no party."""
    paths = {
        1: straight((1, 1), (1, 0), 11),
        2: straight((1, 1.8), (1, 0), 11),
        3: straight((5, 3), (0, 1), 11),
        4: straight((5, 2), (0, 1), 11),
        5: straight((9, 1), (0, 0), 11),
        7: straight((3, 3), (2, 0), 11),
    }
    known = tracks(paths, group=["g"] * 5 + ["alone"], index=[0, 1, 2, 3, 4, 0])
    return with_events(
        known,
        (1.0, 1, "ARRIVAL", 0, 2.0, 1.0),
        (3.5, 2, "ARRIVAL", 0, 2.0, 1.8),
        scenario=SCENARIO,
    )


def test_a_party_is_as_wide_and_as_long_as_its_members_are_apart():
    found = measures.party_spread(by_hand())
    assert found["party"].unique().tolist() == [0, 1, 2] and (found["group"] == "g").all()
    assert found.attrs["units"]["spread_m"] == "m"
    abreast, line, alone = (found[found["party"] == party] for party in range(3))
    assert len(abreast) == 11 and np.allclose(abreast["time_s"], np.arange(11) / 10)
    assert np.allclose(abreast[["spread_m", "along_m", "across_m", "angle_deg"]], [0.4, 0.0, 0.8, 90.0])
    assert np.allclose(line[["spread_m", "along_m", "across_m", "angle_deg"]], [0.5, 1.0, 0.0, 0.0])
    # one that stands has no direction, and is no line
    assert (alone["members"] == 1).all() and (alone["spread_m"] == 0.0).all()
    assert alone[["along_m", "across_m", "angle_deg"]].isna().all(axis=None)


def test_a_party_has_a_first_and_a_last_that_leave():
    use = measures.party_use(by_hand()).set_index("party")
    assert use["members"].tolist() == [2, 2, 1] and use["left"].tolist() == [2, 0, 0]
    assert use.loc[0, ["first_s", "last_s", "apart_s"]].tolist() == [1.0, 3.5, 2.5]
    assert np.isnan(use.loc[1, "apart_s"])
    assert np.allclose(use.loc[[0, 1], "mean_speed_m_s"], 1.0)
    short = measures.parties_of_groups(measures.party_use(by_hand())).iloc[0]
    assert (short["parties"], short["members"], short["longest_apart_s"]) == (3, 5, 2.5)


def test_measured_people_have_no_parties_that_are_known():
    with pytest.raises(RecordingError, match="no parties"):
        measures.party_use(tracks({1: straight((0, 0), (1, 0), 5)}))


def test_a_run_without_parties_has_empty_tables():
    alone = json.loads(SCENARIO)
    del alone["groups"][0]["together"]
    known = tracks({1: straight((0, 0), (1, 0), 5)}, group=["g"], index=[0])
    assert not len(measures.party_spread(with_events(known, scenario=json.dumps(alone))))


def test_the_verb_shows_what_recorded_places_say(tmp_path):
    path = tmp_path / "run.h5"
    with Simulation(corridor(8, {"size": 3}, count=9), out=path) as run:
        run.run()
    found = measures.party_spread(path)
    for party, frames in party_places(path).items():
        own = found[found["party"] == party]
        widest = [np.hypot(*(places - places.mean(axis=0)).T).max() for _, _, places in frames]
        assert np.allclose(own["spread_m"], widest, atol=1e-9)
    shown = crowdsim(["measure", path])
    assert "apart s" in shown.stdout and "angle deg" in shown.stdout
    facts = json.loads(crowdsim(["measure", path, "--json"]).stdout)
    assert facts["parties"][0]["parties"] == 3
    assert crowdsim(["measure", path, "--csv", tmp_path / "tables"]).returncode == 0
    assert {"parties.csv", "spread.csv"} <= {each.name for each in (tmp_path / "tables").iterdir()}
