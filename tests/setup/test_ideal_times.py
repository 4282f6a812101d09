"""How long agents would take if they were alone."""

import numpy as np
import pytest

from crowdsim.scenario.load import parse_scenario
from crowdsim.setup.build import build_world
from crowdsim.setup.paths import ideal_times

TEXT = """
version: 1
geometry: {walkable: {box: [0, 0, 40, 4]}, obstacles: {box: [10, 0, 11, 2]}}
goals: {end: {exit: {box: [39, 0, 40, 4]}}, seat: {point: [20, 3], arrive_within: 0.5}}
groups:
  - name: all
    speed: 2.0
    radius: 0.2
    agents:
      - {position: [15, 3], goals: end}
      - {position: [15, 3], goals: [{goal: seat, speed: 1.0}, end]}
      - {position: [30, 1]}
      - {position: [9, 0.5], goals: {point: [12, 0.5], arrive_within: 0.3}}
"""


@pytest.fixture(autouse=True)
def _real_owners():
    from crowdsim.scenario import parameters

    kept = dict(parameters._replaced)
    parameters._replaced.clear()
    yield
    parameters._replaced.update(kept)


def test_shortest_paths_over_speeds_up_to_where_agents_arrive():
    times = ideal_times(build_world(parse_scenario(TEXT)))
    assert times[0] == pytest.approx(24.0 / 2.0, abs=0.2)  # straight on to the exit
    assert times[1] == pytest.approx(4.5 / 1.0 + 19.0 / 2.0, abs=0.2)  # each part at its own speed
    assert np.isnan(times[2])  # nowhere to go
    around = 2.0 * np.hypot(1.0, 1.5) + 1.0 - 0.3  # over the obstacle's two corners, for a point
    assert around / 2.0 < times[3] < (around + np.pi * 0.2) / 2.0  # a body of 0.2 m goes round them in arcs
