"""What is summed up tick by tick is what the measures say of a recording of every tick."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from crowdsim.comparison.counts import COLLISION_DEPTH_M, RunCounts, Trace
from crowdsim.measures import collisions, detours, path_lengths, steering_scores
from crowdsim.measures.sources import tracks_of
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import room

# Two streams through one gap, via a point, some later than others, one that only stands, one that is at its
# goal from the start, and one that never arrives.
CROWD = {
    "version": 1,
    "name": "gap",
    "seed": 3,
    "tick": 0.05,
    "stop": {"after": 25, "when": "all_arrived"},
    "geometry": {
        "walkable": {"box": [0, 0, 12, 6]},
        "obstacles": [{"box": [5.8, 0, 6.2, 2.5]}, {"box": [5.8, 3.5, 6.2, 6]}],
    },
    "goals": {
        "east": {"exit": {"box": [11, 0, 12, 6]}},
        "west": {"exit": {"box": [0, 0, 1, 6]}},
        "post": {"region": {"box": [8, 1, 9, 2]}},
    },
    "avoidance": "none",
    "record": {"rate": 20},
    "bodies": {"further_passes": 0},
    "groups": [
        {
            "name": "to_east",
            "count": 8,
            "region": {"box": [2, 1, 5, 5]},
            "goals": ["post", "east"],
            "premovement": {"uniform": {"low": 0, "high": 2}},
        },
        {
            "name": "to_west",
            "count": 8,
            "region": {"box": [7, 1, 10, 5]},
            "goals": ["west"],
            "radius": {"uniform": {"low": 0.15, "high": 0.25}},
        },
        {
            "name": "others",
            "agents": [
                {"position": [3, 5.5]},
                {"position": [11.5, 5.5], "goals": ["east"]},
                {"position": [11.5, 0.5], "goals": [{"point": [1, 5.5]}], "speed": 0.3},
            ],
        },
    ],
}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Sums of a run, and the tracks of its recording."""
    path = tmp_path_factory.mktemp("counts") / "run.h5"
    with Simulation(parse_scenario(json.dumps(CROWD)), out=path) as run:
        counts = RunCounts(run, Trace())
        while not run.why_over():
            counts.note(run.step())
        counts.close_trace(["to_east", "to_west", "others"])
        optimal = counts.shortest_paths()[0]
        run.finish()
    return counts, optimal, tracks_of(path)


def test_lengths_times_and_arrivals_are_those_of_the_recording(both):
    counts, _, tracks = both
    paths = path_lengths(tracks)
    assert len(paths) == counts.count == 19 and 0 < (counts.arrived > 0).sum() < 19
    assert np.array_equal(counts.arrived > 0, paths["has_arrived"])
    np.testing.assert_allclose(counts.length, paths["length_m"], atol=1e-9)
    np.testing.assert_allclose(counts.on_the_way_s(), paths["duration_s"], atol=1e-9)


def test_collisions_and_scores_are_those_of_the_recording(both):
    counts, _, tracks = both
    hits = collisions(tracks, deeper_than_m=COLLISION_DEPTH_M)["collisions"].to_numpy()
    assert hits.sum() > 0 and np.array_equal(counts.collisions, hits) and counts.overlaps == hits.sum() // 2
    scores = steering_scores(tracks, deeper_than_m=COLLISION_DEPTH_M)
    np.testing.assert_allclose(counts.scores(), scores["score"], rtol=1e-9)
    np.testing.assert_allclose(counts.acceleration, scores["acceleration"], rtol=1e-9, atol=1e-9)


def test_shortest_paths_are_those_of_the_recording(both):
    counts, optimal, tracks = both
    expected = detours(tracks)["optimum_m"].to_numpy()
    assert np.isfinite(expected).sum() == (counts.arrived > 0).sum()
    np.testing.assert_allclose(optimal, expected, atol=1e-9)


def test_a_trace_has_everybodys_way_and_where_bodies_met(both):
    counts, _, tracks = both
    trace = counts.trace
    assert (
        trace.people == 19
        and trace.trails.shape[1:] == (19, 2)
        and trace.group.tolist() == counts.run.built.agents.group.tolist()
    )
    assert len(trace.overlaps) == counts.overlaps and trace.last_tick == counts.run.tick
    first = tracks.x[tracks.starts[:-1]]
    np.testing.assert_allclose(trace.trails[0, :, 0], first, atol=1e-5)
    there = ~np.isnan(trace.trails[:, :, 0])
    # an agent that has left does not come back
    assert there[0].all() and not there[-1].all() and np.all(np.diff(there.astype(int), axis=0) <= 0)


def test_an_agent_alone_walks_the_shortest_path_and_scores_its_time_and_energy():
    document = room(
        [
            {
                "position": [-5, 0],
                "goals": [{"point": [5, 0], "arrive_within": 0.2}],
                "speed": 1.25,
                "radius": 0.2,
            }
        ],
        after=30,
    )
    with Simulation(parse_scenario(json.dumps(document))) as run:
        counts = RunCounts(run)
        while not run.why_over():
            counts.note(run.step())
        took = counts.on_the_way_s()[0]
        assert 9.8 / 1.25 <= took <= 9.8 / 1.25 + 0.15 and counts.length[0] == pytest.approx(9.8, abs=0.07)
        assert counts.shortest_paths()[0][0] == pytest.approx(9.8, abs=1e-6)
        assert counts.scores()[0] == pytest.approx(took + 20.0 * took * 0.5 * 1.25**2, rel=0.02)
        assert counts.mean_accelerations()[0] == pytest.approx(0.0, abs=0.02)


def test_where_nobody_arrives_there_is_no_shortest_path():
    with Simulation(
        parse_scenario(json.dumps(room([{"position": [0, 0]}], stop={"after": 1, "when": "never"})))
    ) as run:
        counts = RunCounts(run)
        for _ in range(3):
            counts.note(run.step())
        assert (
            math.isnan(counts.shortest_paths()[0][0])
            and counts.length[0] == 0.0
            and counts.scores()[0] == pytest.approx(0.15)
        )
