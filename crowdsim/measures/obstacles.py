"""What changed on the ground in a recorded run: where obstacles that move were, which are no rows of its
trajectories, since their timetables say it exactly; and which areas were open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from crowdsim.scenario.geometry import ToggledArea
from crowdsim.scenario.model import Scenario

# Events of areas and parts of a soup, and whether they are open, or there, from then on.
TURNS = {"AREA_OPENED": True, "AREA_CLOSED": False, "PART_ADDED": True, "PART_REMOVED": False}


def places_of_obstacles(scenario: Scenario, frames: pd.DataFrame) -> pd.DataFrame:
    """Return where the obstacles of a scenario were in the frames of a run of it.

    Parameters
    ----------
    scenario : Scenario
        As ``parse_scenario(recording.header.scenario)`` returns it.
    frames : DataFrame
        Columns frame, tick; as `Recording.frames` returns them.

    Returns
    -------
    DataFrame
        frame, obstacle (index by name), name, x, y (m), direction_x, direction_y (unit vector where its x
        axis points), is_closed (whether paths were looked for round it); ascending by frame. Frames in which
        an obstacle was not there have no row of it.
    """
    rows: list[tuple[Any, ...]] = []
    for frame, tick in zip(frames["frame"].tolist(), frames["tick"].tolist(), strict=True):
        for index, obstacle in enumerate(scenario.obstacles):
            if obstacle.is_there(tick):
                (x, y), along = obstacle.place(tick), obstacle.direction(tick)
                rows.append((frame, index, obstacle.name, x, y, *along, obstacle.is_closed(tick)))
    return pd.DataFrame(
        rows, columns=["frame", "obstacle", "name", "x", "y", "direction_x", "direction_y", "is_closed"]
    )


def open_areas(areas: Sequence[ToggledArea], events: pd.DataFrame, tick: int) -> list[bool]:
    """Return which areas were open, and which parts of a soup there, at the end of a tick of a run that began
    with the scenario.

    Parameters
    ----------
    areas : sequence of ToggledArea
    events : DataFrame
        As `Recording.events` returns them.
    tick : int
    """
    turns = events[events["kind"].isin(TURNS) & (events["tick"] <= tick)]
    is_open = [area.available for area in areas]
    for kind, area in zip(turns["kind"], turns["value"], strict=True):
        is_open[area] = TURNS[kind]
    return is_open
