"""The scenes of scenarios/standards: run in memory, watched, and measured as their comments say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from crowdsim.measures.lanes import lane_order
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.simulation.verdict import Verdict
from tests.crowds import SCENARIOS

STANDARDS = SCENARIOS / "standards"
DOOR_WIDTHS = (0.8, 1.0, 1.2, 1.6, 2.0)
# Specific flows of the original RVO2 in the door scene, and of measured people, persons a second and metre.
RVO2_FLOW = {0.6: 0.9, 0.8: 2.0, 1.0: 2.9, 1.2: 3.0, 1.6: 4.4, 2.0: 4.7}
PEOPLES_FLOW = (1.2, 2.3)


def crossings(trajectories: pd.DataFrame, *, x: float, fps: float) -> pd.DataFrame:
    """Return when each person is first beyond a line, in the direction of x.

    Parameters
    ----------
    trajectories : DataFrame
        Columns frame, id, x (m).
    x : float, m
    fps : float, 1/s
        Frames a second.

    Returns
    -------
    DataFrame
        id, time_s; ascending by time, then id. Persons that never cross are missing.
    """
    first = trajectories[trajectories["x"] > x].groupby("id")["frame"].min()
    return pd.DataFrame({"id": first.index, "time_s": first.to_numpy() / fps}).sort_values(
        ["time_s", "id"], ignore_index=True
    )


def specific_flow(crossed: pd.DataFrame, *, width: float, skip: float = 0.1) -> float:
    """Return the flow through a door in its steady part, for one metre of width.

    Parameters
    ----------
    crossed : DataFrame
        As `crossings` returns it.
    width : float, m
    skip : float, 0..0.5
        Share of the people at the begin and at the end that is left out: no crowd stands at the door then.

    Returns
    -------
    float, 1/(m s)
        nan where fewer than two people are left.
    """
    times = crossed["time_s"].to_numpy()
    first, last = int(np.floor(skip * len(times))), int(np.ceil((1.0 - skip) * len(times))) - 1
    if last <= first or times[last] <= times[first]:
        return float("nan")
    return float((last - first) / (times[last] - times[first]) / width)


def watch(name: str, sets: Sequence[str] = (), every: int = 2) -> tuple[pd.DataFrame, Verdict, Simulation]:
    """Run a scene; return its trajectories (frame, id, x, y;
    a frame every `every` ticks), the verdict, and the simulation.
    """
    parts: list[pd.DataFrame] = []
    with Simulation(load_scenario(STANDARDS / f"{name}.yaml", sets=sets)) as run:
        while not run.why_over():
            if run.tick % every == 0:
                position = run.agents.position
                parts.append(
                    pd.DataFrame(
                        {
                            "frame": run.tick // every,
                            "id": run.agents.entity.copy(),
                            "x": position[:, 0].copy(),
                            "y": position[:, 1].copy(),
                        }
                    )
                )
            run.step()
        return pd.concat(parts, ignore_index=True), run.verdict(), run


def lanes(seed: int, sets: Sequence[str] = ()) -> tuple[float, Verdict]:
    """Return the mean order of lanes from 10 to 18 s, and the verdict."""
    table, verdict, run = watch("lanes", [f"seed={seed}", *sets])
    group = run.built.agents.group
    heading = pd.Series(
        np.where(group == [g.name for g in run.scenario.groups].index("eastbound"), 1, -1),
        index=np.arange(1, len(group) + 1),
    )
    order = lane_order(table[(table["frame"] >= 100) & (table["frame"] <= 180)], heading, x_range=(9.0, 29.0))
    return float(order["order"].mean()), verdict


def door(width: float, seed: int, sets: Sequence[str] = ()) -> tuple[float, Verdict]:
    """Return the specific flow through the door (1/(m s)), and the verdict."""
    box = f"geometry.walkable.1.box=[10, {4 - width / 2}, 10.2, {4 + width / 2}]"
    table, verdict, _ = watch("door", [f"seed={seed}", box, *sets])
    return specific_flow(crossings(table, x=10.1, fps=10.0), width=width), verdict


LONG_ROOM = [
    "geometry.walkable.0.box=[-10, 0, 10, 8]",
    "groups.crowd.count=200",
    "groups.crowd.region={box: [0, 0, 9.5, 8]}",
]


def steady_flow(width: float, seed: int, sets: Sequence[str] = ()) -> float:
    """Return the specific flow through the door while a crowd stands before it:
    of 200 people, from the 20th to the 120th (1/(m s)).

    In the scene as it is, with 100, the crowd before a door of 2 m is gone after a third of the time that is
    measured.
    """
    box = f"geometry.walkable.1.box=[10, {4 - width / 2}, 10.2, {4 + width / 2}]"
    table, _, _ = watch("door", [f"seed={seed}", box, *LONG_ROOM, *sets])
    return specific_flow(crossings(table, x=10.1, fps=10.0).iloc[20:121], width=width, skip=0.0)


def speed_at(density: float, sets: Sequence[str] = ()) -> tuple[float, float]:
    """Return the mean density and speed in the middle of the block of RiMEA 4 from 5 to 10 s (1/m2, m/s)."""
    table, _, _ = watch(
        "rimea-4",
        [
            f"groups.crowd.count={round(400 * density)}",
            *([f"groups.crowd.radius={0.19}"] if density > 5 else []),
            *sets,
        ],
    )
    table = table[(table["frame"] >= 50) & (table["x"] > 20) & (table["x"] < 40)]
    step = table.merge(table.assign(frame=table["frame"] + 1), on=["frame", "id"], suffixes=("", "_before"))
    speed = np.hypot(step["x"] - step["x_before"], step["y"] - step["y_before"]) / 0.1
    return float(len(table) / table["frame"].nunique() / 200.0), float(speed.mean())


def last_arrival(name: str, sets: Sequence[str] = ()) -> dict[str, Any]:
    """Return when the last one arrived (s), and how many did not."""
    with Simulation(load_scenario(STANDARDS / f"{name}.yaml", sets=sets)) as run:
        verdict = run.run()
    return {"last_s": verdict.last_arrival_s or float("nan"), "left": verdict.not_arrived}


NARROW = {
    width: f"geometry.walkable.1.box=[10, {5 - width / 2}, 10.2, {5 + width / 2}]"
    for width in (0.8, 1.0, 1.2)
}
LONG = [
    "geometry.walkable.1.box=[10, 4.5, 15, 5.5]",
    "geometry.walkable.2.box=[15, 0, 25, 10]",
    "goals.far.exit={box: [24, 0, 25, 10]}",
]


def bottleneck(sets: Sequence[str] = ()) -> float:
    """Return the flow through the bottleneck of RiMEA 12 (persons a second)."""
    table, _, _ = watch("rimea-12", sets)
    return specific_flow(crossings(table, x=10.1, fps=10.0), width=1.0)


def crowding(sets: Sequence[str] = ()) -> tuple[float, float]:
    """Return the mean number of people within 2 m before the first and the second bottleneck of RiMEA 12,
    from 5 s until half have left.
    """
    table, _, _ = watch("rimea-12-series", sets)
    counts = [((table["x"] > x - 2) & (table["x"] < x)).groupby(table["frame"]).sum() for x in (10.0, 20.2)]
    left = table.groupby("frame")["id"].nunique()
    during = (left.index >= 50) & (left.to_numpy() > left.max() / 2)
    return float(counts[0][during].mean()), float(counts[1][during].mean())
