"""Large crowds: what an agent takes of memory, and that people walk as they should however many there are.

By default with small twins of the shipped scenarios of a million people; these themselves with ``-m full``.
"""

import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import shapely

from crowdsim.measures.deadlock import why_stuck
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import load_scenario, scenario_of_run
from crowdsim.simulation.simulation import Simulation
from tests.cli.command import environment
from tests.crowds import ROOT, SCENARIOS

MOST_BYTES = 2000  # Of an agent in all, of memory that is in use.
# The same of all that is asked for, of which some is never filled: 2,670 when this was written.
MOST_TRACED = 2900
MOST_SECONDS = 30.0  # Of processor time until a million agents are there.
PEOPLE, TICKS = 1_000_000, 40


def traced_peak(people, out):
    """Return the most bytes that were in use while a crowd was set up and walked, without code."""
    sets = [f"vars.people={people // 4}", f"vars.side={people**0.5 + 10.0:.0f}"]
    scenario = load_scenario(SCENARIOS / "open-1000000.yaml", sets=sets)
    tracemalloc.start(1)
    try:
        with Simulation(scenario, out=out) as run:
            for _ in range(3):
                run.step()
            return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_agent_takes_so_many_bytes_and_no_more(tmp_path, monkeypatch):
    """Planning of all paths in the first tick is the most, which is why three ticks are enough."""
    # what is taken page by page is not numpy's, and would not be traced
    monkeypatch.setattr("crowdsim.kernels.growing.LEAST_LAZY_BYTES", 1 << 60)
    traced_peak(400, tmp_path / "warm.h5")  # kernels are loaded
    few, many = traced_peak(2000, tmp_path / "few.h5"), traced_peak(10_000, tmp_path / "many.h5")
    assert 1500 < (many - few) / 8000 < MOST_TRACED


def check_open(path):
    """Look from outside, at places alone: nobody leaves the ground but over its own edge, and all walk."""
    with open_run(path) as recording:
        ground = scenario_of_run(recording.header, str(path)).geometry.walkable
        rows, roster = recording.trajectories(columns=["x", "y"]), recording.roster().set_index("entity")
        frame_s = recording.header.tick_s * recording.header.ticks_per_frame
    assert shapely.intersects_xy(ground, rows["x"].to_numpy(), rows["y"].to_numpy()).all()
    first = rows[rows["frame"] == 0].set_index("id")
    assert len(first) == len(roster)
    last = rows.groupby("id", sort=False).last()
    towards = {"to_west": (-1, 0), "to_east": (1, 0), "to_south": (0, -1), "to_north": (0, 1)}
    side = ground.bounds[2]
    for group, (x, y) in towards.items():
        own = roster.index[roster["group_name"] == group]
        speed = roster["desired_speed"].reindex(own)
        after = rows[rows["frame"] == 1].set_index("id").reindex(own).dropna()
        step = (after[["x", "y"]] - first[["x", "y"]].reindex(after.index)).to_numpy() / frame_s
        ratio = (step @ np.array([x, y])) / speed.reindex(after.index)
        assert 0.7 < np.median(ratio) < 1.01 and np.mean(ratio > 0.2) > 0.9
        end = last.reindex(own)
        gone = end[end["frame"] < rows["frame"].max()]
        left = gone[["x", "y"]].to_numpy() @ np.array([x, y]) + (0.0 if x + y < 0 else -side)
        assert len(gone) and (-left < 2.0 + 1.3 * frame_s * speed.reindex(gone.index)).all()
    assert len(why_stuck(path)) == 0  # on ground that has exits all round, and no wall
    return len(roster)


def check_city(path):
    """Look from outside: nobody is in a house, and those that have their path walk at about their speed."""
    with open_run(path) as recording:
        scenario = scenario_of_run(recording.header, str(path))
        rows, roster = recording.trajectories(columns=["x", "y"]), recording.roster().set_index("entity")
        frame_s = recording.header.tick_s * recording.header.ticks_per_frame
        arrived = recording.events().query("kind == 'ARRIVAL'")
    shapely.prepare(ground := scenario.geometry.walkable)
    assert shapely.intersects_xy(ground, rows["x"].to_numpy(), rows["y"].to_numpy()).all()
    for goal, own in arrived.groupby("value"):
        area = scenario.goals[goal].area.buffer(0.1)
        assert shapely.intersects_xy(area, own["x"].to_numpy(), own["y"].to_numpy()).all()
    pairs = rows.merge(rows.assign(frame=rows["frame"] + 1), on=["frame", "id"])
    walked = np.hypot(pairs["x_x"] - pairs["x_y"], pairs["y_x"] - pairs["y_y"]) / frame_s
    ratio = walked / roster["desired_speed"].reindex(pairs["id"]).to_numpy()
    assert ratio.max() < 1.31 and np.median(ratio[pairs["frame"] == pairs["frame"].max()]) > 0.8
    return len(roster)


@pytest.mark.parametrize(
    ("name", "sets", "check"),
    [
        ("open-1000000", ["vars.side=40", "vars.people=200", "stop.after=4"], check_open),
        ("city", ["vars.size=500", "vars.people=25", "stop.after=6"], check_city),
    ],
)
def test_people_of_a_small_twin_walk_as_they_should(name, sets, check, tmp_path):
    with Simulation(load_scenario(SCENARIOS / f"{name}.yaml", sets=sets), out=tmp_path / "run.h5") as run:
        run.run()
    assert check(tmp_path / "run.h5") == len(run.built.agents)


PROGRAM = """
import json, resource, sys, time
import crowdsim
began = time.process_time()
scenario = crowdsim.load_scenario(sys.argv[1], sets=sys.argv[3:])
with crowdsim.Simulation(scenario, out=sys.argv[2]) as run:
    built = time.process_time() - began
    run.run()
print(json.dumps([built, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""


def run_alone(name, out, *sets):
    """Run a shipped scenario in a process of its own; return processor time until it is built, s, and the
    most memory, bytes.
    """
    words = [sys.executable, "-c", PROGRAM, str(SCENARIOS / f"{name}.yaml"), str(out), *sets]
    done = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "few", "check"),
    [
        ("open-1000000", ["vars.side=101", "vars.people=2500"], check_open),
        ("city", ["vars.people=625"], check_city),
    ],
)
def test_a_million_people_walk_as_they_should_and_take_what_is_said(name, few, check, tmp_path):
    ticks = f"stop.after={TICKS * 0.05:g}"
    run_alone(name, tmp_path / "first.h5", *few, ticks)  # kernels and meshes are made
    _, small = run_alone(name, tmp_path / "few.h5", *few, ticks)
    seconds, large = run_alone(name, tmp_path / "many.h5", ticks)
    assert check(tmp_path / "many.h5") == PEOPLE
    assert seconds < MOST_SECONDS and (large - small) / PEOPLE < MOST_BYTES
