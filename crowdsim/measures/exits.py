"""Exits: which people left by which and when, how much each was used, and how a place empties."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdsim.measures.destinations import SET_PLACES, places_reached
from crowdsim.measures.scenarios import scenario_of
from crowdsim.measures.sources import Source, facts_of, facts_of_run
from crowdsim.measures.tracks import Tracks, with_units

_LACKING = "goals. Count those that leave with a line: line_crossings, or crowdsim measure --line."


def arrivals(source: Source) -> pd.DataFrame:
    """Return which people reached their last goal, when and which.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        id, group, goal (name), time_s (s), travel_s: since it might first move (s), x_m, y_m (m). Ascending
        by time, then id. One that was sent on and arrived again has a row for each arrival.

    Raises
    ------
    RecordingError
        If it is of measured people, which have no goals.
    """
    tracks = facts_of_run(source, _LACKING)
    happened = tracks.events[tracks.events["kind"] == "ARRIVAL"]
    people = tracks.people.set_index("id").reindex(happened["id"])
    start = np.fmax(people["start_s"].to_numpy(), tracks.frame_s[0] if len(tracks.frame_s) else 0.0)
    names = np.array([*(tracks.header.goals if tracks.header is not None else ()), ""], dtype=object)
    value = happened["value"].to_numpy().astype(np.int64)
    goal = names[np.where((value >= 0) & (value < len(names) - 1), value, len(names) - 1)]
    at_places = np.flatnonzero(value >= len(names) - 1)
    if len(at_places):
        goal[at_places] = places_reached(tracks.events, happened.iloc[at_places])
    table = happened[["id", "time_s", "x_m", "y_m"]].assign(
        group=people["group"].to_numpy(), goal=goal, travel_s=happened["time_s"].to_numpy() - start
    )
    table = table[["id", "group", "goal", "time_s", "travel_s", "x_m", "y_m"]].sort_values(
        ["time_s", "id"], kind="stable", ignore_index=True
    )
    return with_units(table)


def exit_use(source: Source) -> pd.DataFrame:
    """Return how many reached each goal as their last, and when; of exits also those that nobody took.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each goal, in the order of their names, and a last one for all places that the run has
        set: goal; kind (exit, region, point, set by the run); people; share: of all arrivals; first_s,
        median_s, last_s (s); mean_travel_s (s); flow_per_s (1/s): those after the first over the time from
        the first to the last. NaN where there are too few.

    Raises
    ------
    RecordingError
        If it is of measured people, which have no goals.
    """
    tracks = facts_of_run(source, _LACKING)
    # of the goals at which people can arrive
    kinds = {goal.name: goal.kind for goal in scenario_of(tracks).goals if not goal.parts}
    came = arrivals(tracks)
    of_scenario = came["goal"].isin(kinds)
    came["goal"] = came["goal"].where(of_scenario, SET_PLACES)
    by_goal = {
        name: (part["time_s"].to_numpy(), float(part["travel_s"].mean()))
        for name, part in came.groupby("goal", sort=False)
    }
    rows = []
    for name in [*sorted(kinds), SET_PLACES]:
        times, travel = by_goal.get(name, (np.zeros(0), np.nan))
        kind = kinds.get(name, "set by the run")
        if not len(times) and kind != "exit":
            continue
        span = float(times[-1] - times[0]) if len(times) else 0.0
        rows.append(
            {
                "goal": name,
                "kind": kind,
                "people": len(times),
                "share": len(times) / len(came) if len(came) else np.nan,
                "first_s": times[0] if len(times) else np.nan,
                "median_s": np.median(times) if len(times) else np.nan,
                "last_s": times[-1] if len(times) else np.nan,
                "mean_travel_s": travel,
                "flow_per_s": (len(times) - 1) / span if span > 0.0 else np.nan,
            }
        )
    columns = [
        "goal",
        "kind",
        "people",
        "share",
        "first_s",
        "median_s",
        "last_s",
        "mean_travel_s",
        "flow_per_s",
    ]
    return with_units(pd.DataFrame(rows, columns=columns))


def evacuation_curve(source: Source) -> pd.DataFrame:
    """Return how many had left or arrived by when.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of measured people, a person has left when it is seen no more; one that is there in the last frame
        stays.

    Returns
    -------
    DataFrame
        One row for the begin, and one for each time at which a person left: time_s (s); left: how many by
        then; share: of all people that have a goal, or were seen; still_there.
    """
    tracks = facts_of(source)
    begin = float(tracks.frame_s[0]) if len(tracks.frame_s) else 0.0
    if tracks.has_events:
        happened = (
            tracks.events[tracks.events["kind"] == "ARRIVAL"]
            .sort_values("time_s", kind="stable")
            .drop_duplicates("id", keep="last")
        )
        times, total = happened["time_s"].to_numpy(), len(tracks.people) - _without_goal(tracks)
    else:
        last = tracks.time_s[tracks.starts[1:] - 1]
        times, total = np.sort(last[last < tracks.frame_s[-1]]) if len(last) else last, len(tracks.seen)
    moments, count = np.unique(times, return_counts=True)
    left = np.append(0, np.cumsum(count))
    table = pd.DataFrame(
        {"time_s": np.append(begin, moments), "left": left, "share": left / total if total else np.nan}
    )
    return with_units(table.assign(still_there=total - left))


def _without_goal(tracks: Tracks) -> int:
    """Return how many of the people never have a goal: they stand."""
    standing = 0
    for group in scenario_of(tracks).groups:
        own = tracks.people.loc[tracks.people["group"] == group.name, "index"]
        stands = {
            number
            for number, agent in enumerate(group.listed)
            if not (group.visits if agent.visits is None else agent.visits)
        }
        standing += int(own.isin(stands).sum()) if group.listed else len(own) * (not group.visits)
    return standing
