"""Exits through which only so many leave a second, seen from recorded places."""

import numpy as np
import pytest

import crowdsim as library
from crowdsim.simulation.simulation import Simulation
from tests.cli.command import crowdsim
from tests.scenario.worlds import load, problems_of

MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]


def hall(flow, **more):
    return {
        "version": 1,
        "seed": 3,
        "tick": 0.1,
        "geometry": {"walkable": {"box": [0, 0, 20, 8]}},
        "goals": {
            "gate": {"exit": {"box": [19, 3, 20, 5]}, "flow": flow},
            "open": {"exit": {"box": [0, 3, 0.5, 5]}},
        },
        "groups": [
            {"name": "x", "count": 30, "region": {"box": [8, 0, 16, 8]}, "goals": "gate"},
            {"name": "y", "count": 5, "region": {"box": [2, 0, 6, 8]}, "goals": "open"},
        ],
        "record": {"rate": 10},
        "stop": {"after": 120},
        **more,
    }


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "navigation", ["optimal", "mesh", "visibility", "grid", {"kind": "mesh", "tile_size": 4}], ids=str
)
@pytest.mark.parametrize("model", MODELS)
def test_no_more_leave_than_the_flow_and_as_many_while_there_are_some(tmp_path, model, navigation):
    with Simulation(hall("60/min", avoidance=model, navigation=navigation), out=tmp_path / "run.h5") as run:
        verdict = run.run()
    assert verdict.arrived == 35 and verdict.exit_code == 0
    with library.open_run(tmp_path / "run.h5") as kept:
        moves, roster = kept.trajectories(), kept.roster().set_index("entity")
    last = moves.sort_values("frame").drop_duplicates("id", keep="last").set_index("id")
    gone = last[roster.loc[last.index, "group_name"] == "x"]["frame"].sort_values().to_numpy() / 10
    assert np.diff(gone).min() > 0.99  # one a second at most
    assert np.median(np.diff(gone)) < 1.05  # and as many, while they press
    others = last[roster.loc[last.index, "group_name"] == "y"]["frame"].to_numpy() / 10
    assert others.max() < 15  # those of the other exit do not wait
    # they wait for their turn: nobody is deadlocked
    assert not verdict.deadlocked
    # those that wait do so at the gate: in it, or before it
    waits = moves[(moves["frame"] == 150) & moves["id"].isin(roster.index[roster["group_name"] == "x"])]
    assert len(waits) > 8 and (waits["x"] > 15.5).all()


def test_those_that_were_there_first_go_first():
    document = hall(0.5)
    document["groups"] = [
        {"name": "late", "positions": [[17.0, 4.0]], "goals": "gate"},
        {"name": "soon", "positions": [[19.2, 3.4], [19.2, 4.6], [19.6, 4.0]], "goals": "gate"},
    ]
    gone = []
    with Simulation(document) as run:
        run.on("ARRIVAL", lambda event: gone.append((event.tick, run.built.names.of(event.entity))))
        run.run()
    assert [name.split("[")[0] for _, name in gone] == ["soon", "soon", "soon", "late"]
    assert np.all(np.diff([tick for tick, _ in gone]) == 20)


def test_saved_runs_go_on_and_are_verified(tmp_path):
    with Simulation(hall("90/min"), threads=2, out=tmp_path / "run.h5") as run:
        states, digests = [], []
        for _ in range(200):
            states.append({name: array.copy() for name, array in run.state().items()})
            run.step()
            digests.append(run.digest)
    for begin in range(0, 200, 23):
        with Simulation(hall("90/min")) as again:
            again.restore(states[begin])
            for tick in range(begin, min(200, begin + 25)):
                again.step()
                assert again.digest == digests[tick]
    assert crowdsim(["verify", tmp_path / "run.h5"]).returncode == 0


def test_a_flow_is_a_rate_with_a_unit_and_is_written_again():
    text = (
        "version: 1\ngeometry: {{walkable: {{box: [0, 0, 9, 9]}}}}\n"
        "goals: {{a: {{exit: {{box: [8, 0, 9, 9]}}, flow: {0}}}}}\n"
        "groups: [{{name: g, count: 1, goals: a}}]\n"
    )
    scenario = load(text.format("90/min"))
    assert scenario.goals[0].flow == 1.5 and load(scenario.canonical()).goals[0].flow == 1.5
    for wrong in ("0", "-1", "90/day", "[1]"):
        assert any("goals.a.flow: " in problem for problem in problems_of(text.format(wrong))), wrong
