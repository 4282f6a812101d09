"""Where obstacles that move were in a recorded run:
they are no rows of its trajectories, since their timetables say it exactly.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from crowdsim.scenario.model import Scenario


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
    rows: list[dict[str, Any]] = []
    for frame, tick in zip(frames["frame"].tolist(), frames["tick"].tolist(), strict=True):
        for index, obstacle in enumerate(scenario.obstacles):
            if obstacle.is_there(tick):
                (x, y), along = obstacle.place(tick), obstacle.direction(tick)
                row = {
                    "frame": frame,
                    "obstacle": index,
                    "name": obstacle.name,
                    "x": x,
                    "y": y,
                    "direction_x": along[0],
                    "direction_y": along[1],
                }
                rows.append({**row, "is_closed": obstacle.is_closed(tick)})
    return pd.DataFrame(
        rows, columns=["frame", "obstacle", "name", "x", "y", "direction_x", "direction_y", "is_closed"]
    )
