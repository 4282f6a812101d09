"""All measures of one run at once: a table for each, and the few numbers that say most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdsim.measures.areas import Area, area_states_in, area_stays_in
from crowdsim.measures.behaviour import (
    queue_lengths,
    queue_use,
    state_spells,
    state_use,
    trips,
    waits_in_line,
)
from crowdsim.measures.choosing import choice_changes, choice_use, choices
from crowdsim.measures.connections import ride_use, rides
from crowdsim.measures.contacts import LEAST_DEPTH_M, Spells, collisions_of, steering_scores_in
from crowdsim.measures.exits import arrivals, evacuation_curve, exit_use
from crowdsim.measures.lines import Line, flow_over_time, line_crossings_in, mean_flow
from crowdsim.measures.motion import frames_with_speeds, path_lengths_in, speeds_in
from crowdsim.measures.parties import PARTY_ORDER, party_spread_in, party_use_in, together
from crowdsim.measures.scenarios import measured_places, scenario_of
from crowdsim.measures.shortest_paths import detours_in, open_world
from crowdsim.measures.sources import LongRun, Source, facts_of, joined_tables, run_of, tables_by_people
from crowdsim.measures.tracks import Tracks


def all_tables(
    source: Source,
    *,
    lines: Sequence[Line] = (),
    areas: Sequence[Area] = (),
    deeper_than_m: float = LEAST_DEPTH_M,
    radius_m: float | None = None,
) -> dict[str, pd.DataFrame]:
    """Return a table for each measure that can be taken.

    Parameters
    ----------
    source : path, Recording, or Tracks
    lines : sequence of Line
    areas : sequence of Area
    deeper_than_m : float, m
    radius_m : float, m, optional
        See `overlaps`.

    Returns
    -------
    dict of str to DataFrame
        ``paths``, ``speeds`` and ``evacuation``; of recorded runs ``detours``, ``arrivals``, ``exits`` and
        ``trips``; where agents have machines of states ``states`` and ``spells``, where there are queues
        ``queues``, ``waits`` and ``lengths``; where they form parties ``parties`` and ``spread``; where goals
        are choices ``choices``, ``choice use`` and ``changes``; where there are connections ``connections``
        and ``rides``;
        where radii are known ``overlaps`` and ``scores``; ``line <name>`` and ``flow <name>`` for each line,
        ``area <name>`` and ``stays <name>`` for each area.
    """
    with run_of(source) as run:
        # recordings say how wide agents are
        has_radii = (
            radius_m is not None
            or isinstance(run, LongRun)
            or (not np.isnan(run.of_people("radius_m").astype(np.float64)).any())
        )
        spells = Spells(run, deeper_than_m, radius_m) if has_radii else None
        frames = _tables_by_frames(run, areas, spells)
        overlaps = None if spells is None else spells.table()
        people = _tables_by_people(run, lines, areas, overlaps)
        tables = {"paths": people["paths"], "speeds": frames["speeds"], "evacuation": evacuation_curve(run)}
        tables |= _tables_of_events(run, people)
        if overlaps is not None:
            tables |= {"overlaps": overlaps, "scores": people["scores"]}
        return tables | _of_places(lines, areas, frames | people)


def _tables_of_events(run: Tracks | LongRun, people: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables that recorded runs have only; `people` has those that are taken of places."""
    facts = facts_of(run)
    if not facts.has_events:
        return {}
    tables = {"detours": people["detours"], "arrivals": arrivals(run), "exits": exit_use(run)}
    tables["trips"] = trips(run)
    scenario = scenario_of(facts)
    if scenario.behaviours.machines:
        tables |= {"states": state_use(run), "spells": state_spells(run)}
    if scenario.queues:
        tables |= {"queues": queue_use(run), "waits": waits_in_line(run)}
        tables["lengths"] = queue_lengths(run)
    if scenario.has_parties:
        tables |= {name: people[name] for name in ("parties", "spread")}
    if any(goal.choice is not None for goal in scenario.goals):
        tables |= {"choices": choices(run), "choice use": choice_use(run)}
        tables["changes"] = choice_changes(run)
    if scenario.carriers:
        tables |= {"connections": ride_use(run), "rides": rides(run)}
    return tables


def _tables_by_frames(
    run: Tracks | LongRun, areas: Sequence[Area], spells: Spells | None
) -> dict[str, pd.DataFrame]:
    """Return the tables with a row for each frame; give its tracks to `spells`, too."""

    def measure(tracks: Tracks, speed: NDArray[np.float64]) -> dict[str, pd.DataFrame]:
        if spells is not None:
            spells.take(tracks)
        return _by_frames(tracks, speed, areas) | {"speeds": speeds_in(tracks, speed)}

    return joined_tables((measure(*part) for part in frames_with_speeds(run)), {})


def _tables_by_people(
    run: Tracks | LongRun,
    lines: Sequence[Line],
    areas: Sequence[Area],
    overlaps: pd.DataFrame | None,
) -> dict[str, pd.DataFrame]:
    """Return the tables of which each row is of a person or party: its path, parties, lines, stays in areas,
    and with `overlaps` scores.
    """
    facts = facts_of(run)
    scenario = scenario_of(facts) if facts.has_events else None
    has_parties = scenario is not None and scenario.has_parties
    built = None if scenario is None else open_world(scenario)
    hits = None if overlaps is None else collisions_of(overlaps)

    def measure(tracks: Tracks) -> dict[str, pd.DataFrame]:
        paths = path_lengths_in(tracks)
        found = {"paths": paths} | _by_people(tracks, lines, areas)
        if built is not None:
            found["detours"] = detours_in(tracks, paths, built)
        if has_parties:
            found["spread"] = party_spread_in(tracks)
            found["parties"] = party_use_in(tracks, found["spread"])
        if hits is not None:
            found["scores"] = steering_scores_in(tracks, paths, hits)
        return found

    order = dict.fromkeys(("paths", "detours", "scores"), ("id",)) | PARTY_ORDER | _order(lines, areas)
    return tables_by_people(run, measure, order, together(facts) if has_parties else None)


def place_tables(source: Source, lines: Sequence[Line], areas: Sequence[Area]) -> dict[str, pd.DataFrame]:
    """Return the tables of lines and areas, as in `all_tables`."""
    if not (lines or areas):
        return {}
    with run_of(source) as run:
        parts = frames_with_speeds(run) if areas else ()
        found = joined_tables((_by_frames(tracks, speed, areas) for tracks, speed in parts), {})
        found |= tables_by_people(run, lambda tracks: _by_people(tracks, lines, areas), _order(lines, areas))
        return _of_places(lines, areas, found)


def _by_frames(tracks: Tracks, speed: NDArray[np.float64], areas: Sequence[Area]) -> dict[str, pd.DataFrame]:
    """Return what was in the areas."""
    return {f"area {each.name}": area_states_in(tracks, each, speed) for each in areas}


def _by_people(tracks: Tracks, lines: Sequence[Line], areas: Sequence[Area]) -> dict[str, pd.DataFrame]:
    """Return the crossings of lines and the stays in areas."""
    found = {f"line {each.name}": line_crossings_in(tracks, each) for each in lines}
    return found | {f"stays {each.name}": area_stays_in(tracks, each) for each in areas}


def _order(lines: Sequence[Line], areas: Sequence[Area]) -> dict[str, tuple[str, ...]]:
    """Return the columns by which those ascend."""
    found: dict[str, tuple[str, ...]] = {f"line {each.name}": ("time_s", "id") for each in lines}
    return found | {f"stays {each.name}": ("enter_s", "id") for each in areas}


def _of_places(
    lines: Sequence[Line], areas: Sequence[Area], found: dict[str, pd.DataFrame]
) -> dict[str, pd.DataFrame]:
    """Return the tables of lines and areas that were found, with flows, each beside its other."""
    tables: dict[str, pd.DataFrame] = {}
    for line in lines:
        crossed = found[f"line {line.name}"]
        tables |= {
            f"line {line.name}": crossed,
            f"flow {line.name}": flow_over_time(crossed, width_m=line.length_m),
        }
    for area in areas:
        tables |= {name: found[name] for name in (f"area {area.name}", f"stays {area.name}")}
    return tables


def summary(source: Source, tables: dict[str, pd.DataFrame] | None = None) -> pd.Series:
    """Return the few numbers that say most about a run.

    Parameters
    ----------
    source : path, Recording, or Tracks
    tables : dict, optional
        As `all_tables` returns them, where they have been made already.

    Returns
    -------
    Series
        people, frames, fps (1/s), from_s, until_s (s); mean_length_m (m), mean_speed_m_s (m/s): of all
        people's means; of recorded runs arrived, last_arrival_s (s), mean_detour, mean_time_over_ideal: of
        those that arrived; where radii are known overlaps, overlap_s: of all pairs (s), deepest_overlap_m
        (m), collisions_each, score_each, score_2_each: means. NaN of what nobody did.
    """
    tracks = facts_of(source)
    tables = all_tables(source) if tables is None else tables
    paths = tables["paths"]
    ends = (float(tracks.frame_s[0]), float(tracks.frame_s[-1])) if len(tracks.frame_s) else (np.nan, np.nan)
    values: dict[str, float] = {
        "people": len(paths),
        "frames": len(tracks.frame_s),
        "fps": tracks.fps,
        "from_s": ends[0],
        "until_s": ends[1],
        "mean_length_m": paths["length_m"].mean(),
        "mean_speed_m_s": paths["mean_speed_m_s"].mean(),
    }
    if "detours" in tables:
        arrived = paths[paths["has_arrived"]]
        values |= {
            "arrived": len(arrived),
            "last_arrival_s": arrived["end_s"].max(),
            "mean_detour": tables["detours"]["detour"].mean(),
            "mean_time_over_ideal": tables["detours"]["time_over_ideal"].mean(),
        }
    if "scores" in tables:
        found, scores = tables["overlaps"], tables["scores"]
        values |= {
            "overlaps": len(found),
            "overlap_s": found["duration_s"].sum(),
            "deepest_overlap_m": found["deepest_m"].max() if len(found) else 0.0,
            "collisions_each": scores["collisions"].mean(),
            "score_each": scores["score"].mean(),
            "score_2_each": scores["score_2"].mean(),
        }
    return pd.Series({name: float(value) for name, value in values.items()}, name=tracks.name)


def place_figures(
    lines: Sequence[Line], areas: Sequence[Area], tables: dict[str, pd.DataFrame]
) -> dict[str, list[dict[str, Any]]]:
    """Return the figures of lines and areas, from `all_tables`, by ``lines`` and ``areas``."""
    return {
        "lines": [line_summary(each, tables[f"line {each.name}"]) for each in lines],
        "areas": [
            area_summary(each, tables[f"area {each.name}"], tables[f"stays {each.name}"]) for each in areas
        ],
    }


def scenario_figures(source: Source) -> dict[str, list[dict[str, Any]]]:
    """Return the figures of the lines and areas that the scenario of a run names under `measures`."""
    with run_of(source) as run:
        lines, areas = measured_places(facts_of(run))
        return place_figures(lines, areas, place_tables(run, lines, areas))


def line_summary(line: Line, crossed: pd.DataFrame) -> dict[str, Any]:
    """Return the figures of a line, from `line_crossings`:
    counts in both directions, and mean flows between the first and last crossing.
    """
    flow = mean_flow(crossed, width_m=line.length_m)
    forwards = int((crossed["direction"] > 0).sum())
    numbers = {
        name: float(flow[name]) for name in ("first_s", "last_s", "flow_per_s", "specific_flow_per_m_s")
    }
    return {
        "line": line.name,
        "length_m": line.length_m,
        "forwards": forwards,
        "backwards": len(crossed) - forwards,
        **numbers,
    }


def area_summary(area: Area, states: pd.DataFrame, stays: pd.DataFrame) -> dict[str, Any]:
    """Return the figures of an area, from `area_states` and `area_stays`;
    means are over frames with people inside.
    """
    busy = states[states["people"] > 0]
    return {
        "area": area.name,
        "people": int(stays["id"].nunique()),
        "most": int(states["people"].max()) if len(states) else 0,
        "densest_per_m2": float(states["density_per_m2"].max()) if len(states) else float("nan"),
        "mean_density_per_m2": float(busy["density_per_m2"].mean()),
        "mean_speed_m_s": float(busy["speed_m_s"].mean()),
        "mean_stay_s": float(stays["stay_s"].mean()),
    }
