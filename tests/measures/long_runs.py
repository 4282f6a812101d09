"""Recordings of agents that walk straight on in the open: as long and as many as a test wants, without a
simulation.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crowdsim.recording.commit import Commit
from crowdsim.recording.header import Header
from crowdsim.recording.opening import open_run
from crowdsim.recording.schema import EVENT_DTYPE, EventKind, RunState
from crowdsim.recording.storage import Storage
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation

SPACING_M, MARGIN_M = 1.2, 150.0


def scenario_of_walkers(agents: int, tick_s: float = 0.1, rate: int = 10) -> str:
    """Return a scenario of agents that begin on a square in the middle of a larger one."""
    side = SPACING_M * math.sqrt(agents)
    low, high = MARGIN_M, MARGIN_M + side
    size = side + 2 * MARGIN_M
    return json.dumps(
        {
            "version": 1,
            "name": "walkers",
            "tick": tick_s,
            "stop": {"after": 60},
            "geometry": {"walkable": {"box": [0, 0, size, size]}},
            "goals": {"east": {"exit": {"box": [size - 1, 0, size, size]}}},
            "groups": [
                {
                    "name": name,
                    "count": agents // 2,
                    "region": {"box": [low, low, high, high]},
                    "goals": "east",
                }
                for name in ("one", "two")
            ],
            "record": {"rate": rate},
        }
    )


def record_walkers(
    path: Path, agents: int, frames: int, *, apart: int = 1, stuck: bool = False, **scenario: Any
) -> Path:
    """Record so many frames, so many ticks apart, in which all agents walk on from where a simulation has
    placed them, a tenth of them through each other; or in which all are stuck there from the begin.
    `scenario` are tick_s and rate, if others.
    """
    first = path.with_name(f"first-{path.name}")
    with Simulation(parse_scenario(scenario_of_walkers(agents, **scenario)), out=first):
        pass
    with open_run(first) as begun:
        columns = [f"agents/{column.name}" for column in begun.layout.columns]
        rows = begun.frame_rows(0, ["x", "y", "z"])
        others = {name: begun.table(name)[: len(rows["id"])] for name in columns}
        roster, events = begun.table("roster"), begun.table("events")
        header: Header = replace(begun.header)
        storage = Storage(path, header, replace(begun.layout, digests=(), systems=()))
    heading = np.where(rows["id"] % 10 == 0, 0.5 * math.pi, 0.0)
    if stuck:  # close to each other, and all want to the right
        rows |= {axis: MARGIN_M + 0.3 * (rows[axis] - MARGIN_M) for axis in "xy"}
        others["agents/preferred_velocity"][:, 0] = 1.0
        first_rows = {"entity": rows["id"], "kind": int(EventKind.STUCK), "x": rows["x"], "y": rows["y"]}
        events = np.zeros(len(rows["id"]), dtype=EVENT_DTYPE)
        for name, values in first_rows.items():
            events[name] = values
    for frame in range(frames):
        way = 0.0 if stuck else 0.13 * frame * apart
        x, y = rows["x"] + way * np.cos(heading), rows["y"] + way * np.sin(heading)
        storage.append("frames/start", 1, frame * len(x))
        storage.append("frames/tick", 1, frame * apart)
        storage.append("trajectory", len(x), frame, rows["id"], x, y, rows["z"])
        for name, values in others.items():
            storage.append(name, len(x), values)
    ticks = np.zeros(frames * apart, dtype=storage.datasets["ticks"].dataset.dtype)
    ticks["tick"] = np.arange(frames * apart)
    for name, table in (("ticks", ticks), ("roster", roster), ("events", events)):
        storage.append(name, len(table), table)
    storage.finish(Commit(number=1, state=int(RunState.FINISHED), last_tick=frames * apart - 1))
    first.unlink()
    return path
