"""Detours: how much farther and longer each person walked than the shortest path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdsim.measures.motion import path_lengths_in
from crowdsim.measures.scenarios import scenario_of
from crowdsim.measures.sources import Source, facts_of, of_each_person, run_of
from crowdsim.measures.tracks import Tracks, with_units
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.scenario.model import Scenario
from crowdsim.setup.agents import Agents
from crowdsim.setup.build import Built, build_world
from crowdsim.setup.newcomers import agents_by_identity


def detours(source: Source) -> pd.DataFrame:
    """Return how long each person's path was beside the shortest through the same goals.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each person that was seen: id, group, has_arrived; length_m: as `path_lengths` has it;
        optimum_m: of the shortest path for an agent of this width from where it was first seen through its
        goals, each from where it reached the one before, to where it would have arrived (m); detour: length
        over optimum; extra_m: length less optimum (m); duration_s (s); ideal_s: of the quickest in that
        path's corridor at its desired speed (s); time_over_ideal. All but the first five are NaN for those
        that did not arrive, that a program sent elsewhere, or that are too wide for any path.

    Raises
    ------
    RecordingError
        If it is of measured people, which have no goals.

    Notes
    -----
    Shortest paths are those of the planner `optimal`, in plan, on the ground with everything open that can be
    opened and without obstacles that move: a bound from below. Agents keep clear of walls by a little, and
    frames cut corners, so that the detour of one alone lies between 0.999 and 1.01. Times can be shorter than
    ideal: to avoid others, agents may walk faster than they like (`bodies.top_speed`).
    """
    with run_of(source) as run:
        built = open_world(scenario_of(facts_of(run)))
        return of_each_person(run, lambda tracks: detours_in(tracks, path_lengths_in(tracks), built))


def detours_in(tracks: Tracks, paths: pd.DataFrame, built: Built) -> pd.DataFrame:
    """Return `detours` of tracks, from their `path_lengths` and what `open_world` returns."""
    first = tracks.starts[:-1]
    numbers = {group.name: number for number, group in enumerate(built.scenario.groups)}
    group = np.array([numbers.get(name, -1) for name in tracks.of_seen("group").tolist()], dtype=np.int32)
    agents = agents_by_identity(built.scenario, built.all_agents, tracks.seen, group, tracks.of_seen("index"))
    floors = np.array([each.layer for each in built.scenario.groups], dtype=np.int32)[agents.group]
    layer = tracks.layer[first] if tracks.layer is not None else floors
    reached = _reached(tracks, floors, paths["has_arrived"].to_numpy())
    optimum, ideal = shortest_path_lengths(
        built, tracks.seen, agents, np.column_stack((tracks.x[first], tracks.y[first])), layer, reached
    )
    table = paths[["id", "group", "has_arrived", "length_m"]].assign(optimum_m=optimum)
    positive = np.where(optimum > 0.0, optimum, np.nan)
    table = table.assign(
        detour=table["length_m"] / positive,
        extra_m=table["length_m"] - optimum,
        duration_s=paths["duration_s"],
        ideal_s=ideal,
    )
    return with_units(
        table.assign(time_over_ideal=table["duration_s"] / np.where(ideal > 0.0, ideal, np.nan))
    )


REACHED = np.dtype([("person", "i8"), ("goal", "i8"), ("x", "f8"), ("y", "f8"), ("layer", "i4")])
_LEG = np.dtype(
    [
        ("row", "i8"),
        ("person", "i8"),
        ("x", "f8"),
        ("y", "f8"),
        ("layer", "i4"),
        ("goal", "i4"),
        ("speed", "f8"),
    ]
)


def open_world(scenario: Scenario) -> Built:
    """Return the world of a scenario with everything open that can be opened,
    on which paths are the shortest.
    """
    areas = tuple(replace(area, available=True) for area in scenario.geometry.areas)
    return build_world(replace(scenario, geometry=replace(scenario.geometry, areas=areas)))


def shortest_path_lengths(
    built: Built,
    people: NDArray[np.int64],
    agents: Agents,
    place: NDArray[np.float64],
    layer: NDArray[np.int32],
    reached: NDArray[Any],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how long the shortest paths are through the goals that people reached, and how long they take.

    Parameters
    ----------
    built : Built
        See `open_world`.
    people : (k,) int64
        Entities.
    agents : Agents
        What they are, (k,).
    place : (k, 2) float64, m
        Where each was first.
    layer : (k,) int32
        On which floor.
    reached : (r,) of `REACHED`
        The goals that were reached, by person and then by time, with where they were then.

    Returns
    -------
    optimum : (k,) float64, m
        In plan, for an agent of the person's width, to where it would have arrived; NaN of those that reached
        nothing, that a program sent elsewhere, that stood off the ground, or are too wide for any path.
    ideal : (k,) float64, s
        Of the quickest in that path's corridor at the person's desired speed.
    """
    world, scenario = built.world, built.scenario
    begins, ends = (
        np.searchsorted(reached["person"], people),
        np.searchsorted(reached["person"], people, side="right"),
    )
    legs: list[tuple[Any, ...]] = []
    for row, (person, begin, end) in enumerate(
        zip(people.tolist(), begins.tolist(), ends.tolist(), strict=True)
    ):
        itinerary = world.itineraries[agents.itinerary[row]]
        if not 0 < end - begin <= len(itinerary.goals):
            continue
        offset = len(itinerary.goals) - (end - begin)
        meant = [(itinerary.goals[offset + k], itinerary.speeds[offset + k]) for k in range(end - begin)]
        if not all(
            _is_same(scenario, goal, int(found))
            for (goal, _), found in zip(meant, reached["goal"][begin:end], strict=True)
        ):
            continue
        places = [
            (*place[row], layer[row]),
            *((each["x"], each["y"], each["layer"]) for each in reached[begin : end - 1]),
        ]
        for (goal, speed), (x, y, floor) in zip(meant, places, strict=True):
            legs.append(
                (
                    row,
                    person,
                    x,
                    y,
                    floor,
                    goal,
                    agents.desired_speed[row] if np.isnan(speed) else speed,
                )
            )
    return _sums(built, np.array(legs, dtype=_LEG), agents.radius)


def _reached(tracks: Tracks, floors: NDArray[np.int32], has_arrived: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the goals that people reached while they were seen; `floors` are those on which their groups
    begin, (k,).
    """
    happened = tracks.events[tracks.events["kind"].isin(["GOAL_REACHED", "ARRIVAL"])].sort_values(
        ["id", "time_s"], kind="stable"
    )
    happened = happened[happened["id"].isin(tracks.seen[has_arrived])]
    number = np.searchsorted(tracks.seen, happened["id"].to_numpy())
    happened = happened[happened["time_s"].to_numpy() >= tracks.time_s[tracks.starts[number]]]
    found = np.zeros(len(happened), dtype=REACHED)
    for name, column in (("person", "id"), ("goal", "value"), ("x", "x_m"), ("y", "y_m")):
        found[name] = happened[column].to_numpy()
    if tracks.layer is None:
        found["layer"] = floors[np.searchsorted(tracks.seen, found["person"])]
    else:
        numbers = np.searchsorted(tracks.seen, found["person"]).tolist()
        rows = [
            _row_at(tracks, each, time)
            for each, time in zip(numbers, happened["time_s"].tolist(), strict=True)
        ]
        found["layer"] = tracks.layer[np.array(rows, dtype=np.int64)]
    return found


def _is_same(scenario: Scenario, goal: int, reached: int) -> bool:
    """Return whether a goal that was reached is the one that was meant, or one of those."""
    parts = scenario.goals[goal].parts
    return reached in parts if parts else reached == goal


def _row_at(tracks: Tracks, number: int, time_s: float) -> int:
    """Return the row of the last frame of a person, by its place among those seen, until a time."""
    first, stop = int(tracks.starts[number]), int(tracks.starts[number + 1])
    return max(first, first + int(np.searchsorted(tracks.time_s[first:stop], time_s, side="right")) - 1)


def _sums(
    built: Built, legs: NDArray[Any], radii: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for each person, of some radii, (k,) m, the length of the shortest paths of all legs (m), and
    their time (s); NaN without legs, or where one has no path.
    """
    world, people = built.world, len(radii)
    position = np.column_stack((legs["x"], legs["y"]))
    polygon = np.empty(len(legs), dtype=np.int64)
    locate_many(0, len(legs), world.mesh, position, np.ascontiguousarray(legs["layer"]), polygon)
    lost = legs["row"][polygon < 0]  # stood off the ground, where a camera or a push has put a person
    legs, position, polygon = legs[polygon >= 0], position[polygon >= 0], polygon[polygon >= 0]
    goal, radius = np.ascontiguousarray(legs["goal"]), radii[legs["row"]]
    asked = Asked(world.mesh, world.goals, position, polygon, goal, radius)
    found = FoundCorridors(MeshPlanner(world.mesh, world.goals, kind="optimal"), asked)
    length, effort, piece = found.lengths(), found.lengths(in_time=True), found.piece
    within = np.array([goal.arrive_within for goal in built.scenario.goals] or [0.0])
    reach = np.where(piece >= 0, within[world.goals.piece_source[np.maximum(piece, 0)]], 0.0)
    walked, took = np.maximum(0.0, length - reach), np.maximum(0.0, effort - reach) / legs["speed"]
    walked[piece < 0] = took[piece < 0] = np.nan
    sums = [
        np.bincount(legs["row"], weights=values, minlength=people).astype(np.float64)
        for values in (walked, took)
    ]
    nobody = np.bincount(legs["row"], minlength=people) == 0
    for values in sums:
        values[nobody] = np.nan
        values[lost] = np.nan
    return sums[0], sums[1]
