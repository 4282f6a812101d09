"""A small scene with people in each other's way, and its golden recording,
for tests of what is done with golden recordings.
"""

from __future__ import annotations

from pathlib import Path

from crowdsim.regression.golden_runs import record_golden
from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.model import Scenario

SCENE = """
version: 1
name: meeting
seed: 4
tick: 0.05
stop: {after: 20, when: all_arrived}
geometry: {walkable: [[0, 0], [8, 0], [8, 4], [0, 4]]}
goals:
  east: {exit: [[7.5, 0], [8, 0], [8, 4], [7.5, 4]]}
  west: {exit: [[0, 0], [0.5, 0], [0.5, 4], [0, 4]]}
groups:
  - {name: to_east, count: 8, region: [[1, 0], [3, 0], [3, 4], [1, 4]], goals: [east]}
  - {name: to_west, count: 6, region: [[5, 0], [7, 0], [7, 4], [5, 4]], goals: [west]}
"""
TICKS = 30
UNTIL = 80


def scene(*sets: str) -> Scenario:
    return parse_scenario(SCENE, file="meeting", sets=list(sets))


def golden(folder: Path, *sets: str, name: str = "golden.h5") -> Path:
    record_golden(scene(*sets), folder / name, seconds=TICKS * 0.05, until=UNTIL * 0.05)
    return folder / name
