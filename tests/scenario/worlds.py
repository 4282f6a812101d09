"""A small scenario with a bit of everything, and helpers to load texts."""

from __future__ import annotations

from typing import Any

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.model import Scenario

SMALL = """\
version: 1
name: small
description: A room with a table, a door and a seat.
seed: 3
tick: 0.05
stop: {after: 60, stuck_for: 30}
geometry:
  walkable: [{name: room, box: [0, 0, 10, 8]}, {name: hall, box: [10, 0, 14, 8]}]
  obstacles: [{name: table, box: [4, 4, 5, 5]}, {circle: {centre: [7, 2], radius: 0.5, corners: 12}}]
goals:
  seat: {point: [3, 5], arrive_within: 0.4}
  door: {exit: {box: [13, 0, 14, 8]}}
  back: {region: [[0, 0], [1, 0], [0, 1]]}
  out: {nearest_of: [door, back]}
groups:
  - name: walkers
    count: 20
    region: {box: [0, 0, 9, 8]}
    goals: [seat, {goal: out, speed: 1.5}]
    speed: {normal: {mean: 1.34, sd: 0.26, low: 0.5, high: 2.2}}
    radius: {uniform: {low: 0.18, high: 0.25}}
    premovement: {lognormal: {mu: 2, sigma: 0.5}}
  - name: sitters
    positions: [[1, 1], [2, 1.5], [2, 3]]
    goals: {point: [9, 1]}
    leave_on_arrival: false
  - name: guests
    goals: door
    radius: {choice: {values: [0.2, 0.3], weights: [3, 1]}}
    agents:
      - {id: 40, position: [12, 4], speed: 1.1}
      - {id: 7, goals: [{point: [12, 1], arrive_within: 0.5, speed: 0.9}, door]}
      - {position: [11, 6], radius: 0.15, premovement: {uniform: {low: 5, high: 9}}}
avoidance: {model: orca, time_horizon: 3}
navigation: {kind: mesh, faces: triangles}
record: {rate: 5, columns: [velocity, goal], agents: [walkers, 7], region: {box: [0, 0, 12, 8]}, trace: true}
"""


def load(text: str, **options: Any) -> Scenario:
    """Load a text as the file ``t.yaml``."""
    return parse_scenario(text, file="t.yaml", **options)


def problems_of(text: str, **options: Any) -> list[str]:
    """Return the problems of a text as they are printed, without the way out of each."""
    try:
        load(text, **options)
    except ScenarioError as error:
        return [str(problem).splitlines()[0] for problem in error.problems]
    return []


def with_line(key: str, value: str) -> str:
    """Return a minimal scenario with one more (or another) top-level key."""
    lines = {
        "version": "1",
        "geometry": "{walkable: {box: [0, 0, 10, 8]}}",
        "goals": "{door: {exit: {box: [9, 0, 10, 8]}}}",
        "groups": "[{name: crowd, count: 5, goals: door}]",
    }
    lines[key] = value
    return "".join(f"{name}: {text}\n" for name, text in lines.items())
