"""What a page has beside places: the plan, what changes in it, events, and what the ticks took."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import shapely

from crowdsim.measures.obstacles import TURNS, places_of_obstacles
from crowdsim.pictures.budget import longest_ticks
from crowdsim.pictures.view.moves import (
    LIMIT,
    STEP_M,
    Packer,
    Thinning,
    add_moves,
    in_steps,
    kept_agents,
    kept_frames,
)
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import EventKind, digest_text
from crowdsim.scenario.connections import End
from crowdsim.scenario.model import AreaChange, Scenario
from crowdsim.scenario.plan_in_time import PlanInTime, plan_in_time
from crowdsim.scenario.queues import Queue
from crowdsim.scenario.waypaths import Waypath
from crowdsim.world.events import CHOICE_REASONS, GOALS, REASONS, ChoiceReason, Reason

MOST_COLUMNS = 2000  # Of the strips under the picture: screens have no more dots.
MOST_EVENTS = 200_000  # More are thinned to what a time line shows: the rarest kinds first.
DIRECTION_STEP = 1e-4  # of unit vectors
PLACES = 3  # Decimals of metres in plans: a millimetre.

Rings = list[list[float]]


def origin_of(scenario: Scenario) -> tuple[float, float]:
    """Return the lower left corner of the plan, m; places are counted from there."""
    left, bottom, _, _ = scenario.geometry.walkable.bounds
    return float(left), float(bottom)


def rings_of(area: Any, origin: tuple[float, float]) -> Rings:
    """Return the rings of polygons as x, y, x, y ... from an origin, rounded to a millimetre; not closed."""
    found = []
    for polygon in shapely.get_parts(area):
        for ring in (polygon.exterior, *polygon.interiors):
            corners = np.round(np.asarray(ring.coords)[:-1, :2] - np.array(origin), PLACES)
            found.append(corners.ravel().tolist())
    return found


def plan_facts(scenario: Scenario, recording: Recording, origin: tuple[float, float]) -> dict[str, Any]:
    """Return the plan: floors, terrain, doors with what became of them, goals."""
    geometry, plan = scenario.geometry, plan_in_time(scenario.geometry)
    floors = [
        {"name": name, "rings": rings_of(ground, origin)}
        for name, ground in zip(geometry.floor_names, plan.grounds, strict=True)
    ]
    for shown, floor in zip(floors, geometry.floors, strict=False):
        shown["title"] = f"{floor.name}, {floor.elevation:g} m" + (
            " and up" if floor.flight is not None else ""
        )
    terrain = [
        {"name": each.name, "speed": each.speed, "layer": layer, "rings": rings_of(each.area, origin)}
        for layer, areas in enumerate(geometry.terrain)
        for each in areas
    ]
    return {
        "floors": floors,
        "terrain": terrain,
        "doors": _doors(scenario, plan, recording, origin),
        "areas": [area.name for area in geometry.areas],
        "goals": [_goal(goal, origin) for goal in scenario.goals],
    }


def _doors(
    scenario: Scenario, plan: PlanInTime, recording: Recording, origin: tuple[float, float]
) -> list[dict[str, Any]]:
    """Return areas with whether they were open when the recording begins,
    and the ticks in which that changed.
    """
    events = recording.events()
    changes = events[events["kind"].isin(TURNS)]
    found = []
    for area, (number, opens) in zip(plan.areas, plan.of, strict=True):
        is_open = scenario.geometry.areas[number].available
        for event in scenario.events:
            change = event.change
            if not isinstance(change, AreaChange) or change.area != number:
                continue
            if 0 <= event.tick <= recording.header.first_tick:  # before what a fork of this run knows
                is_open = change.opens
        own = changes[changes["value"] == number]
        turns = [
            [int(tick), TURNS[kind] == opens] for tick, kind in zip(own["tick"], own["kind"], strict=True)
        ]
        found.append(
            {
                "name": area.name,
                "layer": area.layer,
                "rings": rings_of(area.area, origin),
                "open": is_open == opens,
                "turns": turns,
            }
        )
    return found


def _queue(queue: Queue, origin: tuple[float, float]) -> dict[str, Any]:
    """Return the lines and servers of a queue, from an origin."""
    placed = [
        np.round(np.array(points) - origin, PLACES).tolist() for points in (queue.servers, *queue.lines)
    ]
    return {"name": queue.name, "layer": queue.layer, "servers": placed[0], "lines": placed[1:]}


def _gate(name: str, end: End, origin: tuple[float, float]) -> dict[str, Any]:
    """Return the outlines of an end of a connection and its line, as those of a queue."""
    outlines = [part.exterior.coords for part in shapely.get_parts(end.area)]
    middle = end.area.representative_point()
    lines = [*outlines, *([end.line] if end.line else ())]
    return {
        "name": name,
        "layer": end.layer,
        "servers": np.round(np.array([[middle.x, middle.y]]) - origin, PLACES).tolist(),
        "lines": [np.round(np.array(line) - origin, PLACES).tolist() for line in lines],
    }


def _waypath(waypath: Waypath, origin: tuple[float, float]) -> dict[str, Any]:
    """Return a waypath and its waypoints, as the line of a queue."""
    return {
        "name": waypath.name,
        "layer": waypath.layer,
        "servers": np.round(waypath.line[waypath.waypoint] - origin, PLACES).tolist(),
        "lines": [np.round(waypath.line - origin, PLACES).tolist()],
    }


def _goal(goal: Any, origin: tuple[float, float]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": goal.name,
        "kind": goal.kind,
        "layer": goal.layer,
        "parts": list(goal.parts),
        "inline": goal.is_inline,
    }
    if goal.area is not None:
        middle = goal.area.representative_point()
        shown["rings"] = rings_of(goal.area, origin)
        shown["at"] = [round(middle.x - origin[0], PLACES), round(middle.y - origin[1], PLACES)]
    elif goal.point is not None:
        shown["at"] = [round(goal.point[0] - origin[0], PLACES), round(goal.point[1] - origin[1], PLACES)]
        shown["within"] = goal.arrive_within
    return shown


def add_obstacles(
    packer: Packer, scenario: Scenario, recording: Recording, frames: Any, origin: tuple[float, float]
) -> list[dict[str, Any]]:
    """Add where obstacles were in some frames to a page; return their names and outlines.

    Parameters
    ----------
    packer : Packer
    scenario : Scenario
    recording : Recording
    frames : DataFrame
        Columns frame, tick: frames of the page with their places in it.
    origin : (x, y), m

    Notes
    -----
    From the tick in which a program sent an obstacle elsewhere nothing says where it is, and it is not shown.
    """
    events = recording.events()
    sent = events[events["kind"] == "OBSTACLE_SENT"].groupby("value")["tick"].min().to_dict()
    places = places_of_obstacles(scenario, frames) if scenario.obstacles else None
    found = []
    for number, obstacle in enumerate(scenario.obstacles):
        left_alone = (
            places[
                (places["obstacle"] == number)
                & (
                    places["frame"].map(dict(zip(frames["frame"], frames["tick"], strict=True)))
                    < sent.get(number, np.inf)
                )
            ]
            if places is not None
            else frames.iloc[:0]
        )
        name = f"obstacle{number}"
        packer.add(f"{name}_frame", left_alone["frame"].to_numpy(), 1)
        for axis, start in zip("xy", origin, strict=True):
            packer.add(f"{name}_{axis}", in_steps(left_alone[axis].to_numpy(), start), 2)
            packer.add(
                f"{name}_direction_{axis}",
                in_steps(left_alone[f"direction_{axis}"].to_numpy(), 0.0, DIRECTION_STEP),
                1,
            )
        corners = np.round(obstacle.corners, PLACES).ravel().tolist()
        found.append(
            {
                "name": obstacle.name,
                "disc": obstacle.disc,
                "corners": corners,
                "layer": obstacle.layer,
                "sent": number in sent,
            }
        )
    return found


def add_events(packer: Packer, recording: Recording, origin: tuple[float, float], thinning: Thinning) -> str:
    """Add what happened to a page, to the agents that are kept and to what is no agent; return a word about
    what was left out, if anything was.
    """
    events, left_out = recording.events(), ""
    entities = kept_agents(recording, thinning)["entity"].to_numpy()
    if thinning.agent_step > 1:
        others = np.setdiff1d(recording.roster()["entity"].to_numpy(), entities)
        events = events[~np.isin(events["entity"].to_numpy(), others)]
    if len(events) > MOST_EVENTS:
        counts = events["kind"].value_counts().sort_values()
        kept = counts.index[counts.cumsum() <= MOST_EVENTS]
        left_out = (
            f"{len(events) - int(counts[kept].sum()):,} of {len(events):,} events are left out: "
            f"{', '.join(sorted(set(counts.index) - set(kept)))}."
        )
        events = events[events["kind"].isin(kept)]
    numbers = {kind.name: int(kind) for kind in EventKind}
    entity = events["entity"].to_numpy()
    agent = np.searchsorted(entities, entity)
    if len(entities):
        agent = np.where(entities[np.minimum(agent, len(entities) - 1)] == entity, agent, -1)
    else:
        agent = np.full(len(entity), -1)
    packer.add("event_tick", events["tick"].to_numpy(), 1)
    packer.add("event_agent", agent)
    packer.add("event_kind", events["kind"].map(lambda name: numbers.get(name, 0)).to_numpy(dtype=np.int64))
    packer.add("event_value", np.clip(events["value"].to_numpy(), 1 - LIMIT, LIMIT - 1))
    is_length = events["kind"].isin(("PATH_FOUND", "CHOSE")).to_numpy()  # their x and y are no places
    packer.add("event_x", in_steps(np.where(is_length, events["x"], events["x"] - origin[0]), 0.0))
    packer.add("event_y", in_steps(np.where(is_length, events["y"], events["y"] - origin[1]), 0.0))
    return left_out


def add_ticks(packer: Packer, recording: Recording) -> list[str]:
    """Add what ticks took, how many were there, stuck, and waited for a path; return the names of systems."""
    timings, ticks = recording.timings(), recording.ticks()
    systems = [str(name) for name in timings.columns if name != "tick"]
    costs = timings[systems].to_numpy()
    total = costs.sum(axis=1) / 1e3 if len(systems) else np.zeros(len(timings))
    longest = longest_ticks(total, MOST_COLUMNS)
    begins = len(total) * np.arange(len(longest)) // max(1, len(longest))
    packer.add("column_tick", ticks["tick"].to_numpy()[begins] if len(ticks) else begins, 2)
    packer.add("column_longest", timings["tick"].to_numpy()[longest], 1)
    packer.add("column_microseconds", np.rint(total[longest]))
    packer.add(
        "column_culprit",
        np.argmax(costs[longest] - np.median(costs, axis=0), axis=1)
        if len(longest) and systems
        else np.zeros(0),
    )
    for name in ("agents", "stuck", "requests_open"):
        values = ticks[name].to_numpy() if name in ticks else np.zeros(len(ticks))
        packer.add(f"column_{name}", np.maximum.reduceat(values, begins) if len(begins) else values[:0], 1)
    return systems


def run_facts(scenario: Scenario, recording: Recording) -> dict[str, Any]:
    """Return what the whole run was."""
    header = recording.header
    result = (recording.verdict or {}).get("result") or {}
    budget = header.parameters.get("budget.milliseconds")
    return {
        "name": header.name, "description": scenario.description, "seed": header.seed,
        "run_id": header.run_id, "started": header.started, "version": header.versions.get("crowdsim", ""),
        "digest": digest_text(recording.run_digest), "model": scenario.avoidance.name,
        "tick_s": header.tick_s, "first_tick": header.first_tick, "last_tick": recording.commit.last_tick,
        "groups": list(header.groups), "agents": recording.commit.agents,
        "state": recording.state.name.lower(), "ended": str(result.get("ended", "")),
        "budget_ms": float(budget) if isinstance(budget, (int, float)) else None,
        "kinds": {int(kind): kind.name for kind in EventKind},
    }  # fmt: skip


def gather(
    recording: Recording, scenario: Scenario, thinning: Thinning, note: Callable[[str], None] = lambda _: None
) -> tuple[bytes, dict[str, Any]]:
    """Return everything that a page shows, packed, and what of the recording it has.

    Parameters
    ----------
    recording : Recording
    scenario : Scenario
        Of the recording.
    thinning : Thinning
    note : callable
        Gets what goes on, as words.

    Returns
    -------
    bytes
        As `Packer.pack` makes them.
    dict
        As `add_moves` returns it, with ``words``: what was left out, as sentences; and ``facts_bytes``: how
        many of the bytes are those of the plan and of all else that is no array.
    """
    packer, origin = Packer(), origin_of(scenario)
    has = add_moves(packer, recording, scenario, origin, thinning, note)
    frames = (
        recording.frames()
        .iloc[kept_frames(recording.commit.frames, thinning.frame_step)]
        .reset_index(drop=True)
    )
    shown = frames.assign(frame=np.arange(len(frames)))
    words = []
    if has["frames"] < recording.commit.frames:
        apart = thinning.frame_step * recording.header.ticks_per_frame * recording.header.tick_s
        words.append(
            f"Every {_ordinal(thinning.frame_step)} of {recording.commit.frames:,} frames is kept, "
            f"{apart:g} s apart."
        )
    if thinning.agent_step > 1:
        which = _ordinal(thinning.agent_step)
        words.append(f"Every {which} of {recording.commit.agents:,} agents is kept, with its events.")
    facts = run_facts(scenario, recording) | plan_facts(scenario, recording, origin)
    facts |= {
        "obstacles": add_obstacles(packer, scenario, recording, shown, origin),
        "systems": add_ticks(packer, recording),
        "columns": has["columns"],
        "states": scenario.behaviours.state_names,
        "reasons": {int(reason): reason.words for reason in Reason},
        "vehicles": {
            number: [each.vehicle.front, each.vehicle.overhang, 0.5 * each.vehicle.width]
            for number, each in enumerate(scenario.groups)
            if each.vehicle is not None
        },
        "queues": [_queue(queue, origin) for queue in scenario.queues],
        "connections": [each.name for each in scenario.carriers],
        "gates": [
            *(_gate(each.name, end, origin) for each in scenario.connections for end in each.ends),
            *(_waypath(each, origin) for each in scenario.waypaths),
        ],
    }
    left_out = add_events(packer, recording, origin, thinning)
    if left_out:
        words.append(left_out)
    facts |= {"words": words, "origin": list(origin), "step_m": STEP_M, "direction_step": DIRECTION_STEP}
    facts["reasons_step"] = REASONS
    facts["choices"] = {int(reason): reason.words for reason in ChoiceReason}
    facts["choices_steps"] = [CHOICE_REASONS, GOALS]
    packed = packer.pack(facts)
    return packed, has | {"words": words, "facts_bytes": packer.facts_bytes}


def _ordinal(number: int) -> str:
    """Return 2nd, 3rd, 4th, 11th, 21st."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
