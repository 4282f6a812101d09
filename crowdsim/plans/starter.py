"""The scenario that is written for a plan:
as short as can be, commented, with its ground in files beside it.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import shapely

from crowdsim.errors import CrowdsimError
from crowdsim.measures.exit_flow import exit_width
from crowdsim.plans.exits import LENGTH_M, find_exits, led_outside
from crowdsim.plans.ground import OPENING_M, THICK_M, find_ground
from crowdsim.plans.read import ground_of_mesh, obj_beside, read_plan
from crowdsim.printable import counted, visible
from crowdsim.scenario.plan_kinds import Kind
from crowdsim.scenario.shapes import wkt_of

PERSON_M2 = 4.0  # Ground for each person where nobody says how many there are.
MOST_PEOPLE = 500  # Where nobody says it: a run of seconds, a page of a few megabytes.
BODY_M2 = 0.125  # Of an agent of 0.2 m radius.
# Persons a second and metre of exit, fewer than pass: what a run lasts at most leaves time for a queue.
DOOR_FLOW = 1.0
# mu and sigma of the logarithm (median 20 s), and the longest, s. An assumption to be replaced by what is
# known of the building.
PREMOVEMENT = (3.0, 0.5, 120)
WALKING_M_S = 0.5  # The slowest person's speed: what a run lasts at most follows from the size of the plan.


@dataclass(frozen=True)
class Starter:
    """A scenario for a plan.

    Attributes
    ----------
    files : dict of str to str
        Texts by name, to stand in one folder; the first is the scenario.
    words : tuple of str
        What was found, mended and taken for granted.
    """

    files: dict[str, str]
    words: tuple[str, ...] = field(default=())


def starter_of(
    plan: Path,
    target: Path,
    *,
    unit: str | None = None,
    kinds: dict[str, Kind] | None = None,
    exits: Sequence[tuple[float, float]] = (),
    people: int | None = None,
    opening: float = OPENING_M,
    wall: float = THICK_M,
) -> Starter:
    """Return a scenario for a plan: a crowd on its free ground that leaves by the nearest exits.

    Parameters
    ----------
    plan : Path
        .dxf, .wkt, .geojson, .json or .obj.
    target : Path
        The scenario's file; the others stand beside it and begin with its name.
    unit : str, optional
        See `crowdsim.plans.read.read_plan`; not for OBJ files, which are in metres.
    kinds : dict of str to Kind, optional
        What layers are; likewise.
    exits : sequence of (float, float), m
        Points of exits; without them those that are drawn, or openings.
    people : int, optional
        How many; by default one for each 4 m2, at most 500.
    opening : float, m
        Widest gap in an outer wall that is a way out.
    wall : float, m
        How thick walls that are drawn as lines are.

    Raises
    ------
    CrowdsimError
        If the plan cannot be read or encloses no ground, or nobody could get out.
    """
    name = target.stem
    files: dict[str, str] = {f"{name}.yaml": ""}
    if plan.suffix.lower() == ".obj":
        if unit is not None or kinds:
            raise CrowdsimError("--unit and --layer are of drawings: an OBJ file is in metres and has faces.")
        drawn, found, up, height = ground_of_mesh(plan)
        file, text = obj_beside(plan, target.parent, name)
        where = f"surface: {{obj_file: {_quoted(file)}, up: {up}}}"
        level = f"height: {height:g}"
        if text is not None:
            files[file] = text
    else:
        drawn = read_plan(plan, unit=unit, kinds=kinds)
        with _untangled(plan):
            found = find_ground(drawn, opening=opening, wall=wall)
        where, level = f"walkable: {{wkt_file: {_quoted(f'{name}-ground.wkt')}}}", ""
    with _untangled(plan):
        areas, start = find_exits(drawn, found, exits)
        ground, areas, passages = (found.ground, areas, 0) if level else led_outside(found.ground, areas)
    if not level:
        files[f"{name}-ground.wkt"] = wkt_of(ground) + "\n"
    left, bottom, right, top = found.ground.bounds
    words = [
        f"ground of {found.ground.area:,.0f} m2 in {right - left:.2f} m x {top - bottom:.2f} m",
        *drawn.words,
    ]
    if passages:
        goes_on = f"behind {counted(passages, 'exit')} the ground goes on for {LENGTH_M:g} m"
        words.append(
            f"{goes_on}, and agents leave at its end: those that are out still slow down those that follow"
        )
    if people is None:
        people = max(1, min(MOST_PEOPLE, round(start.area / PERSON_M2)))
        words.append(
            f"{counted(people, 'person', 'people')} at random places, one for "
            f"{start.area / people:.2g} m2 (--people says otherwise)"
        )
    if people * BODY_M2 > start.area:
        raise CrowdsimError(f"{people:,} people do not fit on {start.area:,.1f} m2. Say fewer with --people.")
    words += [
        (
            f"people set off after {math.exp(PREMOVEMENT[0]):.0f} s (median; premovement), and walk slower "
            "in a crowd (speed_density: weidmann)"
        ),
        (
            "that law is made for crowds that walk in one direction: where streams cross or meet it can "
            "freeze them; then take speed_density: none"
        ),
    ]
    files[f"{name}-start.wkt"] = wkt_of(start) + "\n"
    files[f"{name}.yaml"] = _text(
        name, plan, words, where, level, areas, people, _longest_s(ground, areas, people)
    )
    return Starter(files, tuple(words))


@contextlib.contextmanager
def _untangled(plan: Path) -> Iterator[None]:
    """Turn what GEOS cannot overlay into a message."""
    try:
        yield
    except shapely.errors.GEOSException as error:
        reason = str(error).splitlines()[0]
        raise CrowdsimError(
            f"{plan}: its outlines are too tangled to be united ({reason}).\n"
            "    Draw anew what lies there, or leave the layer out."
        ) from None


def _longest_s(ground: Any, exits: Sequence[Any], people: int) -> int:
    """Return how long a run may last, s, as whole minutes:
    premovement, a queue of all at the narrowest exit, five times round the outline at a slow pace.
    """
    left, bottom, right, top = ground.bounds
    narrowest = min(max(exit_width(ground, area), 0.5) for area in exits)
    seconds = (
        PREMOVEMENT[2] + 5.0 * (right - left + top - bottom) / WALKING_M_S + people / (DOOR_FLOW * narrowest)
    )
    return math.ceil(seconds / 60.0) * 60


def _text(
    name: str,
    plan: Path,
    words: Sequence[str],
    where: str,
    level: str,
    exits: Sequence[Any],
    people: int,
    longest_s: int,
) -> str:
    """Return the scenario's text; `where` is its geometry, `level` what goals
    and groups say of their height.
    """
    names = ["exit"] if len(exits) == 1 else [f"exit-{number}" for number in range(1, len(exits) + 1)]
    goals = [
        f"  {each}: {{exit: {_area(area)}{', ' + level if level else ''}}}"
        for each, area in zip(names, exits, strict=True)
    ]
    if len(exits) > 1:
        goals.append(f"  out: {{nearest_of: [{', '.join(names)}]}}")
    notes = "\n".join(f"#   {visible(word)}" for word in words)
    mu, sigma, high = PREMOVEMENT
    median = f"{math.exp(mu):.0f}"
    return f"""\
# Made from {visible(plan.name)} by "crowdsim new". What was found there, and what was taken for granted:
{notes}
# docs/reference/scenarios.md, or "crowdsim schema", says what else may stand here.
# Change this file as you like.
version: 1
seed: 1                       # the same seed gives the same run, to the last bit

stop:                         # whichever comes first
  after: {longest_s}                  # s
  when: all_arrived
  stuck_for: 60               # s; all agents that are left have been stuck for so long

# In a crowd people walk slower ([Weidmann 1993]). Without the law 1.5 to 2.5 times too many
# get through a door; with it, streams that cross or meet can freeze.
speed_density: weidmann

geometry:
  {where}

goals:                        # people leave the world when their centre is inside
{chr(10).join(goals)}

groups:
  - name: people
    count: {people}
    region: {{wkt_file: {_quoted(f"{name}-start.wkt")}}}
{"    " + level + chr(10) if level else ""}    goals: {names[0] if len(exits) == 1 else "out"}
    radius: {{uniform: {{low: 0.18, high: 0.22}}}}  # m; speeds are those of Weidmann: 1.34 m/s, sd 0.26
    premovement: {{lognormal: {{mu: {mu}, sigma: {sigma}, high: {high}}}}}  # s; median {median}, assumed

record:
  rate: 10                    # frames a second
"""


def _quoted(text: str) -> str:
    """Return a YAML text, in quotation marks where it needs them."""
    is_plain = all(letter.isalnum() or letter in "-_." for letter in text) and not text[0].isdigit()
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _area(area: Any) -> str:
    """Return an exit as the scenario writes it, to the millimetre: a box where it is one."""
    left, bottom, right, top = area.bounds
    if not area.interiors and area.area >= 0.999 * (right - left) * (top - bottom):
        return f"{{box: [{', '.join(_number(value) for value in (left, bottom, right, top))}]}}"
    corners = (
        shapely.get_coordinates(shapely.simplify(area, 0.001))[:-1]
        if not area.interiors
        else shapely.get_coordinates(area.exterior)[:-1]
    )
    return "[" + ", ".join(f"[{_number(x)}, {_number(y)}]" for x, y in corners.tolist()) + "]"


def _number(value: float) -> str:
    return (
        f"{value:.3f}".rstrip("0").rstrip(".").replace("-0", "0", 1)
        if round(value, 3) == 0
        else f"{value:.3f}".rstrip("0").rstrip(".")
    )
