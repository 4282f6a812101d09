"""`record: {explain: [...]}`: the reasons of the agents that are named, in every tick,
without any effect on the run.
"""

import copy
import math
from functools import partial

import numpy as np
import pytest

import crowdsim
from crowdsim.avoidance.explain import Reason
from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import parse_scenario
from tests.avoidance.replay import from_candidates, from_half_planes, from_samples, velocity_of
from tests.crowds import BUSY, digests, simulation
from tests.recording.crowd import cut

EXPLAINED = {**copy.deepcopy(BUSY), "record": {"rate": 5, "explain": [70, "to_west"]}}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("explained") / "a.h5"
    with simulation(EXPLAINED, out=path) as run:
        fold = digests(run, 40)[-1]
    return path, fold


def test_a_run_that_is_explained_is_the_same_run(recorded):
    with simulation() as run:
        assert digests(run, 40)[-1] == recorded[1]


def test_the_reasons_of_those_who_are_named_are_in_the_recording(recorded):
    with crowdsim.open_run(recorded[0]) as run:
        table, roster = run.explanations(), run.roster()
        named = set(roster.entity[(roster.scenario_id == 70) | (roster.group_name == "to_west")])
        assert set(table.entity) == named
        assert table.tick.min() == 1 and table.tick.max() == 40 and table.attrs["units"]["x"] == "m/s"
        assert {"PREFERRED", "CHOSEN", "HALF_PLANE"} == set(table.kind)
        frame = run.trajectories(
            columns=["velocity", "preferred_velocity", "diagnosis", "blocker", "neighbour_count", "samples"]
        )
        shown = frame[(frame.frame == 5) & frame.id.isin(named) & (frame.diagnosis > 0)].set_index("id")
        reasons = table[table.tick == 10]
        wish = reasons[reasons.kind == "PREFERRED"].set_index("entity").loc[shown.index]
        assert np.allclose(
            wish[["x", "y"]], shown[["preferred_velocity_x", "preferred_velocity_y"]], atol=1e-4
        )
        counts = (
            reasons[(reasons.kind == "HALF_PLANE") & (reasons.other > 0)]
            .groupby("entity")
            .size()
            .reindex(shown.index, fill_value=0)
        )
        assert (counts == shown.neighbour_count).all() and (shown.samples == 0).all()
        binding = reasons[reasons.binds].set_index("entity").other.reindex(shown.index, fill_value=0)
        assert (binding == shown.blocker).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["orca", "clearpath", "hrvo", "sampled-hrvo", "toi"])
def test_the_recorded_velocities_follow_from_the_recorded_reasons(model, tmp_path):
    with simulation(EXPLAINED, sets=[f"avoidance={model}"], out=tmp_path / "a.h5") as run:
        digests(run, 30)
    with crowdsim.open_run(tmp_path / "a.h5") as run:
        table, roster = run.table("explanations"), run.roster().set_index("entity")
    kinds = set()
    for _, told in by_agent_and_tick(table):
        speed, chosen = float(roster.maximum_speed[int(told["entity"][0])]), velocity_of(told, Reason.CHOSEN)
        for kind, replay in (
            (Reason.CANDIDATE, from_candidates),
            (Reason.SAMPLE, from_samples),
            (Reason.HALF_PLANE, partial(from_half_planes, speed=speed)),
        ):
            if kind in told["kind"]:
                assert math.dist(replay(told), chosen) < (1e-3 if kind is Reason.HALF_PLANE else 1e-5)
                kinds.add(kind)
    expected = {"orca": {Reason.HALF_PLANE}, "sampled-hrvo": {Reason.SAMPLE}, "toi": {Reason.SAMPLE}}
    assert kinds >= expected.get(model, {Reason.CANDIDATE})


def by_agent_and_tick(table):
    """The rows of each agent in each tick, as they follow each other in the table."""
    keys = np.stack([table["tick"], table["entity"]], axis=1)
    starts = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1)))
    for start, stop in zip(starts, np.append(starts[1:], len(table))):
        yield tuple(keys[start]), table[start:stop]


def test_a_recording_that_is_cut_keeps_the_reasons_until_then(recorded, tmp_path):
    with crowdsim.open_run(cut(recorded[0], tmp_path / "b.h5", 20)) as run:
        short = run.explanations()
    with crowdsim.open_run(recorded[0]) as run:
        whole = run.explanations()
    assert len(short) and short.equals(whole[whole.tick <= 20].reset_index(drop=True))


def test_a_recording_without_explanations_has_an_empty_table(tmp_path):
    with simulation(out=tmp_path / "a.h5") as run:
        run.step()
    with crowdsim.open_run(tmp_path / "a.h5") as recording:
        table = recording.explanations()
        assert len(table) == 0 and "explanations" not in recording.sizes()


def test_agents_that_do_not_exist_cannot_be_explained():
    with pytest.raises(
        ScenarioError, match=r'record.explain\[0\]: there is no group "to_wets"\n.*Did you mean "to_west"'
    ):
        simulation({**BUSY, "record": {"explain": ["to_wets"]}})
    with pytest.raises(
        ScenarioError, match=r"record.explain: the reasons of 36 agents in 100,000,000 ticks are some"
    ):
        simulation({**BUSY, "record": {"explain": ["to_west", "to_east"]}, "stop": {"after": 1e7}})


@pytest.mark.parametrize(
    ("model", "gib"), [("orca", 451), ("clearpath", 2253), ("sampled-hrvo", 2189), ("none", 451)]
)
def test_how_much_the_reasons_may_become_depends_on_the_model(model, gib):
    document = {**BUSY, "record": {"explain": ["to_west", "to_east"]}, "stop": {"after": 1e6}}
    sets = [f"avoidance={model}"]
    if gib < 1024:
        simulation(document, sets=sets).close()
    else:
        with pytest.raises(ScenarioError, match=f"record.explain: .* are some {gib:,} GiB"):
            simulation(document, sets=sets)


def test_an_agent_that_is_named_counts_under_the_model_of_its_group():
    document = {**copy.deepcopy(BUSY), "record": {"explain": [70]}, "stop": {"after": 1e6}}
    document["groups"][2]["avoidance"] = {"model": "sampled-hrvo", "sampler": "grid"}
    with pytest.raises(
        ScenarioError, match=r"record.explain: the reasons of 1 agent in 10,000,000 ticks are some 14,"
    ):
        simulation(document)


def test_the_canonical_text_keeps_who_is_explained():
    import json

    scenario = parse_scenario(json.dumps(EXPLAINED))
    assert parse_scenario(scenario.canonical()).record.explain == (70, "to_west") == scenario.record.explain
