"""The page that builds a station: each step runs, and comes to what the page says."""

import re
from functools import cache

import numpy as np
import pytest
import yaml

import crowdsim as library
from crowdsim import measures
from crowdsim.scenario.load import as_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import ROOT

PAGE = (ROOT / "docs" / "guides" / "station.md").read_text(encoding="utf-8")
STEPS = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]


def document(step):
    """Return the scenario after a step: keys of later ones replace those of the ones before."""
    found = {}
    for each in STEPS[:step]:
        found |= each
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a function that returns the recording and the verdict of a step."""
    folder = tmp_path_factory.mktemp("station")

    @cache
    def run_of(step):
        path = folder / f"{step}.h5"
        with Simulation(as_scenario(document(step)), out=path) as run:
            return path, run.run()

    return run_of


@pytest.mark.full
def test_they_come_in_and_stand_on_the_platform(runs):
    path, verdict = runs(1)
    assert 25 <= verdict.came <= 55 and verdict.exit_code == 0
    with library.open_run(path) as kept:
        last = kept.trajectories().sort_values("frame").drop_duplicates("id", keep="last")
    assert last["x"].between(27.95, 58).all() and last["y"].between(1, 13).all()
    place = last[["x", "y"]].to_numpy()
    apart = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1)) + 9 * np.eye(len(place))
    assert apart.min() > 0.4


@pytest.mark.full
def test_half_of_them_stand_in_line_first(runs):
    path, verdict = runs(2)
    use = measures.queue_use(path).iloc[0]
    assert 0.25 < use["people"] / verdict.came < 0.75 and use["served"] == use["people"]
    assert use["mean_service_s"] == pytest.approx(np.exp(2.08), rel=0.3)


@pytest.mark.full
def test_the_train_takes_along_those_that_wait_one_a_second_through_each_door(runs):
    path, verdict = runs(3)
    came = measures.arrivals(path)
    assert len(came) > 20 and came["time_s"].between(90, 125).all()
    for _, own in came.groupby("goal"):
        assert own["time_s"].diff().dropna().min() > 0.94
    assert verdict.exit_code in (0, 3)


@pytest.mark.full
def test_those_that_get_off_leave_by_the_street(runs):
    came = measures.trips(runs(4)[0]).set_index(["group", "goal"])["people"]
    assert came["alighting", "street"] == 30 and came["travellers"].drop("street", errors="ignore").sum() > 15


def test_all_leave_after_the_alarm(runs):
    path, verdict = runs(5)
    assert verdict.not_arrived == 0 and verdict.exit_code == 0
    trips = measures.trips(path)
    assert trips[trips["goal"] == "street"]["people"].sum() > 30
    spells = measures.state_spells(path)
    react = spells[spells["state"] == "react"]
    assert (react["from_s"] >= 100).all() and (react["reason"] == "signal").all()
