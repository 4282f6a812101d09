"""Halls with several exits, and what their recordings hold, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import crowdsim as library
from crowdsim.measures import choices
from crowdsim.simulation.simulation import Simulation


class Left(NamedTuple):
    """What a recording holds.

    Attributes
    ----------
    last : DataFrame
        Columns name, group, time (s), x, y (m): where each agent was in its last frame; ascending by id.
    moves : DataFrame
        Columns id, time, x, y: all places.
    chosen : DataFrame
        As `crowdsim.measures.choices` returns it.
    verdict : Verdict
    """

    last: pd.DataFrame
    moves: pd.DataFrame
    chosen: pd.DataFrame
    verdict: Any


def watch(document: dict[str, Any], folder: Path, **options: Any) -> Left:
    """Run a scenario, and return what was recorded."""
    path = folder / "run.h5"
    with Simulation(document, out=path, force=True, **options) as run:
        verdict = run.run()
    with library.open_run(path) as kept:
        moves, roster = kept.trajectories(), kept.roster().set_index("entity")
        rate = 1.0 / (kept.header.ticks_per_frame * kept.header.tick_s)
        moves["time"] = moves["frame"] / rate
    last = moves.sort_values(["id", "frame"]).drop_duplicates("id", keep="last").set_index("id")
    group, index = roster.loc[last.index, "group_name"], roster.loc[last.index, "index"]
    last = last.assign(group=group, name=[f"{g}[{i}]" for g, i in zip(group, index, strict=True)])
    return Left(last, moves, choices(path), verdict)


def hall(
    groups: list[dict[str, Any]],
    goals: dict[str, Any] | None = None,
    *,
    out: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a hall of 30 by 20 m with an exit of 2 m in the west and one in the east."""
    return {
        "version": 1,
        "name": "hall",
        "seed": 4,
        "tick": 0.1,
        "geometry": {"walkable": {"box": [0, 0, 30, 20]}},
        "goals": {
            "west": {"exit": {"box": [-0.2, 9, 0.2, 11]}},
            "east": {"exit": {"box": [29.8, 9, 30.2, 11]}},
            "out": {"quickest_of": ["west", "east"], **(out or {})},
            "nearest": {"nearest_of": ["west", "east"]},
            **(goals or {}),
        },
        "groups": groups,
        "record": {"rate": 10},
        "stop": {"after": 200},
        **more,
    }


CROWD = {"name": "crowd", "count": 150, "region": {"box": [1, 1, 12, 19]}, "goals": "out"}
