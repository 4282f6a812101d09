"""Tables of what agents chose, beside events that are read one by one."""

import json

import numpy as np
import pytest

import crowdsim as library
from crowdsim import measures
from crowdsim.errors import RecordingError
from crowdsim.simulation.simulation import Simulation
from tests.cli.command import crowdsim
from tests.measures.people import tracks
from tests.scenes.exits import CROWD, hall


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("choices") / "run.h5"
    goals = {"west": {"exit": {"box": [-0.2, 9, 0.2, 11]}, "flow": 1}}
    groups = [CROWD | {"count": 50}, {"name": "far", "positions": [[28, 4], [27, 9]], "goals": "out"}]
    document = hall(groups, goals, out={"keeps_for": 3, "familiar": {"share": 0.1, "only": ["west"]}})
    with Simulation(document, out=path) as run:
        run.run()
    return path


def test_each_choice_has_its_goals_reason_and_times(kept):
    found = measures.choices(kept)
    with library.open_run(kept) as run:
        names = list(run.header.goals)
        events = run.events()
        own = events[events["kind"] == "CHOSE"].sort_values(["tick", "entity"])
    assert len(found) == len(own) > 52
    for row, event in zip(found.itertuples(), own.itertuples(), strict=True):
        goals, reason = divmod(int(event.value), 16)
        before, after = divmod(goals, 2**18)
        assert row.id == event.entity and row.time_s == pytest.approx(event.tick * 0.1)
        assert row.goal == names[after] and row.before == ("" if before == 0 else names[before - 1])
        words = ["nearest", "quicker", "the one before closed", "no path", "the only one it knows"]
        assert row.reason == words[reason]
        assert row.expected_s == event.y and (np.isnan(row.quicker_s) or row.quicker_s == event.x)
    assert found.attrs["units"]["expected_s"] == "s"
    # a person chooses once out of nothing, and goes on from what it chose last
    for _, own_choices in found.groupby("id"):
        assert own_choices["before"].tolist() == ["", *own_choices["goal"].tolist()[:-1]]


def test_use_and_changes_count_the_same_choices(kept):
    found, use = measures.choices(kept), measures.choice_use(kept)
    assert use["times"].sum() == len(found)
    for row in use.itertuples():
        own = found[
            (found["group"] == row.group) & (found["goal"] == row.goal) & (found["reason"] == row.reason)
        ]
        assert (len(own), own["id"].nunique()) == (row.times, row.people)
    changes = measures.choice_changes(kept).set_index("group")
    assert changes.loc["far", ["people", "changes"]].tolist() == [2, 0]
    own = found[(found["group"] == "crowd") & (found["before"] != "")]
    assert changes.loc["crowd", "changes"] == len(own) > 5
    most = 0
    for _, times in own.groupby("id")["time_s"]:
        most = max(most, *(((times >= begin) & (times < begin + 60)).sum() for begin in times))
    assert changes.loc["crowd", "most_in_a_minute"] == most


def test_the_verb_shows_them(kept, tmp_path):
    shown = crowdsim(["measure", kept, "--csv", tmp_path / "tables"])
    assert "the only one it knows" in shown.stdout and "most in a minute" in shown.stdout
    assert {"choices.csv", "choice-use.csv", "changes.csv"} <= {
        each.name for each in (tmp_path / "tables").iterdir()
    }
    facts = json.loads(crowdsim(["measure", kept, "--json"]).stdout)
    assert sum(row["times"] for row in facts["choice use"]) == len(measures.choices(kept))


def test_measured_people_choose_nothing_that_is_known():
    with pytest.raises(RecordingError, match="no choices among goals"):
        measures.choices(tracks({1: [(0.0, 0.0), (1.0, 0.0)]}))
