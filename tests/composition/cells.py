"""One combination of features: it is run, verified and resumed, or refused; and what its recording shows is
what a person in the rooms would see.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import shapely

import crowdsim
from crowdsim.cli.verify import verify
from crowdsim.recording.checkpoint import read_checkpoint
from crowdsim.recording.compare import first_difference
from crowdsim.recording.locks import scratch_folder
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.checkpoints import Start
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import PathStatus
from crowdsim.world.events import REASONS, chose_parts
from crowdsim.world.riding import ENDS
from tests.composition.features import (
    AXES,
    BED,
    BEFORE_BED,
    CAPACITY,
    CLOSES_S,
    DOOR,
    ENTRANCE,
    LATE,
    MEETING_POINT,
    MORE_TICKS,
    OPENS_S,
    OUT,
    RIDE_S,
    SIDE,
    SLOW,
    SLOW_SPEED,
    STANDING_AT,
    STANDING_RADIUS,
    TICK_S,
    TILE,
    TILE_M,
    WIDER,
    WIDER_S,
    Choices,
    document,
    features,
    pairs,
    plain,
    ticks_of,
)


class Refusal(NamedTuple):
    """Features that cannot be combined, and why.

    Attributes
    ----------
    features : mapping of str to tuple of str
        Of each axis, the choices that are meant: a combination with one of each is refused.
    kind : str
        `physical`: there is nothing that this could mean, or mathematics forbids it. `missing`: nobody has
        built it.
    says : str
        Part of the message.
    why : str
        For the page.
    """

    features: Mapping[str, tuple[str, ...]]
    kind: str
    says: str
    why: str

    def concerns(self, choices: Choices) -> bool:
        """Return whether it holds for a combination."""
        return all(choices[axis] in meant for axis, meant in self.features.items())


_RIGHT = range(5, 15)  # entity ids of those that go right: groups are numbered by their names
RIDES = 3  # from this step of a ride on an agent is in a connection
STANDS = 0.3  # m/s: agents that wish to be slower wait
FASTEST, TOP_SPEED = 1.5, 1.2  # m/s that people like; avoidance may take them to so many times that
_CELLS = ("grid", "s2-grid")
REFUSALS = (
    Refusal(
        {"planner": ("optimal",), "terrain": ("slow",)},
        "physical",
        "knows no speeds of ground",
        "Polyanya's intervals are seen along straight lines; over ground of several speeds the best path "
        "bends at borders",
    ),
    Refusal(
        {"planner": ("visibility",), "terrain": ("slow",)},
        "physical",
        "knows no speeds of ground",
        "the graph joins corners of walls; over ground of several speeds the best path bends at borders too",
    ),
    Refusal(
        {"planner": ("optimal",), "watchers": ("unseen", "that walk")},
        "physical",
        'optimal has no parameter "unseen_',
        "Polyanya's paths are the shortest of all, whatever a metre costs",
    ),
    Refusal(
        {"planner": ("optimal", "visibility"), "ground kinds": ("priced",)},
        "physical",
        'has no parameter "prices"',
        "their paths bend at corners, and over ground of several prices the best ones bend at borders",
    ),
    Refusal(
        {"planner": _CELLS, "curves": ("bezier",)},
        "physical",
        'has no parameter "smoothing"',
        "curves are kept off walls by the convex polygons of the mesh that a path leads through, and a path "
        "over cells has none",
    ),
    Refusal(
        {"planner": _CELLS, "stationary": ("paths round them",)},
        "physical",
        'has no parameter "round_stationary"',
        "paths over cells lead round those that stand anyhow; there is nothing to switch",
    ),
    Refusal(
        {"ground": ("soup with parts",), "planner": _CELLS},
        "missing",
        "cells are laid over the ground once",
        "cells are laid over the ground before the run; they would have to be laid anew under agents that "
        "walk along them",
    ),
    Refusal(
        {"ground": ("soup with parts",), "tiles": ("of 4 m", "one goes and comes")},
        "missing",
        "tiles are cut out of the ground once",
        "the tiles that there can be are numbered before the run",
    ),
    Refusal(
        {"ground": ("soup with parts",), "terrain": ("slow",)},
        "missing",
        "terrain does not go with parts of a soup",
        "drawn terrain is cut out of the ground before the run; surfaces of the triangles do go",
    ),
    Refusal(
        {"ground": ("soup with parts",), "ground kinds": ("forbidden", "priced")},
        "missing",
        "terrain does not go with parts of a soup",
        "drawn terrain is cut out of the ground before the run; surfaces of the triangles do go",
    ),
    Refusal(
        {"ground": ("soup with parts",), "connections": ("a jump", "a waypath")},
        "missing",
        "does not go with parts of a soup",
        "where agents jump, and where waypaths lie, is held against the ground before the run",
    ),
    Refusal(
        {"behaviour": ("machines",), "together": ("parties",)},
        "physical",
        "the agents have a behaviour",
        "a machine sends each agent on by what happens to it alone: members that are sent apart would wait "
        "for each other in vain",
    ),
)


def expected_refusals(choices: Choices) -> list[Refusal]:
    """Return the declared reasons for which a combination is refused."""
    return [each for each in REFUSALS if each.concerns(choices)]


def covering(seed: int) -> list[dict[str, str]]:
    """Return combinations that no declared reason forbids, so that every pair of features that can be
    combined is in at least one of them. What makes a run long is in no more of them than that takes.
    """
    chance, found = random.Random(seed), list[dict[str, str]]()
    left = [set(pair) for pair in pairs() if not expected_refusals(plain() | dict(pair))]
    while left:
        choices: dict[str, str] = dict(left[0])
        for axis in chance.sample([axis for axis in AXES if axis not in choices], len(AXES) - len(choices)):
            news = {
                each: sum((axis, each) in pair and pair <= {*choices.items(), (axis, each)} for pair in left)
                for each in AXES[axis]
                if not any(
                    refusal.features.keys() <= {*choices, axis} and refusal.concerns({**choices, axis: each})
                    for refusal in REFUSALS
                )
            }
            if not news:  # what was chosen so far goes together, but with no choice of this axis
                break
            most = max(news.values())
            choices[axis] = (
                AXES[axis][0]
                if axis in LATE and most == 0
                else chance.choice([each for each in news if news[each] == most])
            )
        else:
            left = [pair for pair in left if not pair <= set(choices.items())]
            found.append({axis: choices[axis] for axis in AXES})
    return found


def holding_each_feature(combinations: Sequence[Choices]) -> list[int]:
    """Return numbers of combinations so that each feature is in at least one of them that is in any, and they
    are as short as they may be: those at the end have the fewest features beside.
    """
    left = {each for choices in combinations for each in choices.items()} & set(features())
    found = list[int]()
    while left:
        gains = [len(left & set(each.items())) / ticks_of(each) for each in combinations]
        found.append(max(range(len(gains)), key=lambda number: (gains[number], number)))
        left -= set(combinations[found[-1]].items())
    return sorted(found)


def digest_of(choices: Choices) -> str:
    """Run a combination without a recording; return its digest."""
    with Simulation(parse_scenario(json.dumps(document(choices)), file="matrix")) as run:
        for _ in range(ticks_of(choices)):
            run.step()
        return run.digest


def require_that_it_runs(choices: Choices, *, again: bool = True, most_ticks: int = MORE_TICKS) -> str:
    """Run a combination, and look at what it shows; return its digest. With `again`, verify its recording
    with another number of threads, and go on from the middle of it.
    """
    ticks = min(ticks_of(choices), most_ticks)
    with scratch_folder() as folder:
        whole, saved, resumed = folder / "whole.h5", folder / "a.checkpoint", folder / "again.h5"
        scenario = parse_scenario(json.dumps(document(choices)), file="matrix")
        with Simulation(scenario, threads=1, out=whole) as run:
            for tick in range(ticks):
                if tick == ticks // 2:
                    run.checkpoint(saved)
                run.step()
            run.finish()
            digest = run.digest
            if choices["tiles"] != "none":
                assert run.world.tiles is not None and run.world.tiles.tile_count > 4
        if again:
            assert verify(whole, threads=2, quiet=True) == 0
            _resume(whole, saved, resumed, ticks)
        with crowdsim.open_run(whole) as recorded:
            assert recorded.commit.last_tick == ticks
            look(choices, recorded.trajectories(), recorded.events())
    return digest


def _resume(whole: Path, saved: Path, again: Path, ticks: int) -> None:
    begun = read_checkpoint(saved)
    with crowdsim.open_run(whole) as recorded:
        start = Start(begun, "a.checkpoint", recorded)
        with Simulation(parse_scenario(begun.scenario), threads=2, out=again, start=start) as run:
            while run.tick < ticks:
                run.step()
            run.finish()
    with crowdsim.open_run(whole) as one, crowdsim.open_run(again) as other:
        assert first_difference(one, other) is None


def look(choices: Choices, rows: pd.DataFrame, events: pd.DataFrame) -> None:
    """Require of recorded positions what a person in the rooms would see."""
    steps = rows.sort_values(["id", "frame"])
    before = steps.groupby("id")[["x", "y", "frame"]].shift()
    steps = steps.assign(px=before.x, py=before.y, length=np.hypot(steps.x - before.x, steps.y - before.y))
    steps = steps[before.frame == steps.frame - 1]
    if "ride_step" in steps:  # those that ride are on no ground; the step out is one of the ride
        walks = steps.ride_step < RIDES
        steps = steps[walks & walks.groupby(steps.id).shift(fill_value=True)]
    assert (steps.length > 0.02).mean() > 0.2, "nobody walks"
    for axis, look_at in _LOOKS.items():
        if choices[axis] != "none":
            look_at(choices, steps, events)


def _ticks_of(events: pd.DataFrame, kind: str) -> list[int]:
    return sorted(events.tick[events.kind == kind].tolist())


def _look_at_door(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """While the door is closed nobody goes through it."""
    closed, opened = _ticks_of(events, "AREA_CLOSED"), _ticks_of(events, "AREA_OPENED")
    assert len(closed) == 1, "the door did not close"
    assert len(opened) == (choices["doors"] == "by the clock")
    until = opened[0] if opened else ticks_of(choices) + 1
    middle = (DOOR[0] + DOOR[2]) / 2.0
    shut = steps[(steps.frame > closed[0]) & (steps.frame < until)]
    through = shut[
        ((shut.px < middle) != (shut.x < middle)) & shut.y.between(DOOR[1], DOOR[3]) & (shut.length < 1.0)
    ]
    assert through.empty, f"agents go through the closed door: {through.head()}"


def _look_at_obstacle(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """The cart comes, and nobody stands in it."""
    assert len(_ticks_of(events, "OBSTACLE_APPEARED")) == 1, "no obstacle appeared"
    if choices["obstacles"] == "stands":
        (stands,) = _ticks_of(events, "OBSTACLE_STANDS")
        late = steps[(steps.frame > stands) & steps.z.abs().lt(0.1)]
        distance = np.hypot(late.x - STANDING_AT[0], late.y - STANDING_AT[1])
        assert (distance > STANDING_RADIUS).all(), "an agent stands in the cart"


def _look_at_terrain(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """On slow ground people wish to walk slowly, and do, beside it they do not; those that lag behind their
    party hurry. Under HRVO, whose cones have no end, they swerve at their greatest speed in half of their
    steps, on any ground.
    """
    fastest = FASTEST * (1.3 if choices["together"] != "none" else 1.0)
    if choices["connections"] != "none":
        steps = steps[steps.ride_step < RIDES]
    inside = steps.x.between(SLOW[0] + 0.2, SLOW[2] - 0.2) & steps.px.between(SLOW[0] + 0.2, SLOW[2] - 0.2)
    beside = steps.x < SLOW[0] - 1.0
    if choices["together"] == "parties":  # those that stand and wait for their party are not slowed by ground
        beside &= np.hypot(steps.preferred_velocity_x, steps.preferred_velocity_y) > STANDS
    slow, quick = steps[inside].length / TICK_S, steps[beside].length / TICK_S
    wished = np.hypot(steps[inside].preferred_velocity_x, steps[inside].preferred_velocity_y)
    assert (wished <= fastest * SLOW_SPEED + 0.05).all(), "one wishes to walk fast on slow ground"
    if len(slow) > 20:
        # those that hurry may have to swerve at their greatest speed
        if choices["together"] == "none" and choices["avoidance"] != "hrvo":
            assert np.median(slow) <= fastest * SLOW_SPEED + 0.05
        if choices["avoidance"] == "none":  # without avoidance bodies meet, and are pushed apart
            return
        assert np.percentile(slow, 95) <= fastest * SLOW_SPEED * TOP_SPEED + 0.05
        assert np.percentile(quick, 90) > 1.2 or choices["speed law"] != "none"


def _look_at_bed(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """People that go right are seldom on the bed: there they are pushed. Those that never were on it head for
    no place behind it; over cells those do that are pushed aside. Grids round those that stand know no kinds
    of ground; those that hide cross a bed that is only dear, and so do those that were stopped before it.
    """
    if choices["stationary"] != "none" or (
        choices["ground kinds"] == "priced" and (choices["watchers"] != "none" or choices["tiles"] != "none")
    ):
        return
    x0, y0, x1, y1 = BED
    own = steps[steps.id.isin(_RIGHT)]
    deep = own.x.between(x0 + 0.3, x1 - 0.3) & own.y.between(y0 + 0.3, y1 - 0.3)
    has_path = own.path_status == PathStatus.FOUND  # others wait where they are
    assert deep[has_path].mean() < 0.1, "agents walk over the bed"
    if choices["planner"] in _CELLS:
        return
    touches = own.x.between(x0 - 0.05, x1 + 0.05) & own.y.between(y0 - 0.05, y1 + 0.05)
    pushed = touches.groupby(own.id).cummax()
    walks = own[~pushed & has_path]
    ahead = walks[["x", "y", "next_corner_x", "next_corner_y"]].to_numpy().reshape(-1, 2, 2)
    over = shapely.intersects(shapely.linestrings(ahead), shapely.box(x0 + 0.2, y0 + 0.2, x1 - 0.2, y1 - 0.2))
    assert not over.any(), "agents head over the bed"


def _look_at_floors(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """Whoever is behind the ramp is 0.6 m up, and before it nobody is."""
    if choices["ground"] != "level":
        assert np.allclose(steps.z[steps.x > 13.01], 0.6) and np.allclose(steps.z[steps.x < 11.99], 0.0)


def _look_at_tiles(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """While a tile is out, those on it stand, and nobody else comes onto it."""
    if choices["tiles"] != "one goes and comes":
        return
    # where doors close and carts stand tiles are changed, too
    gone, back = (round(seconds / TICK_S) + 1 for seconds in (CLOSES_S, OPENS_S))
    assert gone in _ticks_of(events, "TILE_REMOVED") and back in _ticks_of(events, "TILE_ADDED")
    x0, y0 = TILE[0] * TILE_M, TILE[1] * TILE_M
    out = steps[(steps.frame > gone) & (steps.frame < back)]
    # its border is no wall: agents come up to it
    into, was = (
        out[x].between(x0 + 1e-6, x0 + TILE_M - 1e-6) & out[y].between(y0 + 1e-6, y0 + TILE_M - 1e-6)
        for x, y in (("x", "y"), ("px", "py"))
    )
    assert not (into & ~was & (out.length > 1e-3)).any(), "an agent walks onto a tile that is out"
    assert (out[into & was].length < 1e-9).all(), "an agent walks on a tile that is out"


def _look_at_radii(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """Those that go right become wider, and keep clear of the walls of their room as such."""
    wider = events[events.kind == "RADIUS_SET"]
    assert (wider.tick == round(WIDER_S / TICK_S) + 1).all() and len(wider) >= 5
    late = steps[(steps.frame > WIDER_S / TICK_S + 10) & (steps.x < 6.5) & steps.id.isin(wider.entity)]
    assert late.y.between(WIDER - 0.05, 6.0 - WIDER + 0.05).all(), "a wide agent is in a wall"


def _look_at_arrivals(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """Some come in while the run lasts, where they should."""
    came = events[(events.kind == "SPAWN") & (events.tick > 0)]
    x0, y0, x1, y1 = ENTRANCE
    assert len(came) >= 2 and came.x.between(x0, x1).all() and came.y.between(y0, y1).all()


def _look_at_behaviour(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """Those that go right leave only after they were at the place to which their machine sends them."""
    begun = events[events.kind == "STATE"]
    out = begun[begun.value // REASONS == OUT]
    assert len(begun) >= 18 and (np.hypot(*(out[["x", "y"]] - MEETING_POINT).T.to_numpy()) < 0.8).all()


def _look_at_parties(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """Each agent that goes somewhere belongs to one party for good, and parties have as many as they should;
    members walk no faster than those that hurry may.
    """
    assert (steps.groupby("id").party.nunique() == 1).all()
    first = steps.drop_duplicates("id")
    (right,) = events[(events.kind == "SPAWN") & (events.tick == 0)].value.mode()
    own = events[(events.kind == "SPAWN") & (events.value == right)].entity
    assert sorted(first[first.id.isin(own) & (first.party >= 0)].party.value_counts()) == [1, 3, 3, 3]
    if choices["avoidance"] != "none":  # without avoidance bodies meet, and are pushed apart
        assert np.percentile(steps.length / TICK_S, 90) <= 1.3 * FASTEST * TOP_SPEED + 0.05


def _look_at_exits(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """All that leave do so where they last said that they would: beyond the ramp, or by the turnstile, and
    there one in 2.5 s at most.
    """
    chose = events[events.kind == "CHOSE"]
    _, after, _ = chose_parts(chose.value.to_numpy())
    last = dict(zip(chose.entity.tolist(), after.tolist(), strict=True))
    left = events[(events.kind == "ARRIVAL") & events.entity.isin(chose.entity)]
    assert len(last) >= 8 and len(set(after.tolist())) == 2, "nobody chooses, or all the same"
    assert [last[entity] for entity in left.entity] == left.value.tolist()
    by_side = left.x < SIDE[2] + 0.01
    assert left.x[~by_side].gt(16.9).all() and left.y[by_side].gt(SIDE[1] - 0.01).all()
    assert (np.diff(np.sort(left.tick[by_side])) >= 2.5 / TICK_S - 1.01).all()


def _look_at_connections(choices: Choices, steps: pd.DataFrame, events: pd.DataFrame) -> None:
    """Some ride over the wall, one at a time, and each takes the time of the ride. Parties may take long to
    get there, round the bed and out of sight: then they are on their way at the end. A line is left before
    a bed that is forbidden.
    """
    if choices["connections"] == "a waypath":
        on = events[events.kind == "ALIGHTED"]
        assert len(on), "nobody has walked along the line"
        assert choices["curves"] != "none" or (steps.gait == 2).any(), "nobody crouches"
        if choices["ground kinds"] == "forbidden":
            ends = events[events.kind.isin(["BOARDED", "ALIGHTED"]) & events.entity.isin(_RIGHT)]
            assert (ends.value % ENDS <= BEFORE_BED).all(), "the line leads over the bed"
        return
    boarded, out = (
        each.assign(ride=each.groupby("entity").cumcount())
        for each in (events[events.kind == "BOARDED"], events[events.kind == "ALIGHTED"])
    )
    if not len(boarded):
        assert choices["together"] != "none" and (steps.ride_step > 0).any(), "nobody rides"
        return
    assert (boarded.ride < 2).all(), "an agent rides again and again"
    both = boarded.merge(out, on=["entity", "ride"], suffixes=("_in", "_out"))
    assert (both.tick_out - both.tick_in >= RIDE_S / TICK_S - 1e-9).all()
    change = pd.concat([boarded.assign(by=1), out.assign(by=-1)]).sort_values(["tick", "by"])
    if choices["connections"] == "a jump":
        assert (events.kind == "JUMPED").sum() == 1
        assert (boarded.entity.nunique() > 1) or choices["together"] != "none", "nobody follows"
    if choices["connections"] != "a drop":
        assert change.by.cumsum().max() <= CAPACITY, "more ride than there is room for"


_LOOKS: dict[str, Callable[[Choices, pd.DataFrame, pd.DataFrame], None]] = {
    "doors": _look_at_door,
    "obstacles": _look_at_obstacle,
    "terrain": _look_at_terrain,
    "ground kinds": _look_at_bed,
    "ground": _look_at_floors,
    "tiles": _look_at_tiles,
    "radii": _look_at_radii,
    "arrivals": _look_at_arrivals,
    "behaviour": _look_at_behaviour,
    "together": _look_at_parties,
    "exits": _look_at_exits,
    "connections": _look_at_connections,
}
