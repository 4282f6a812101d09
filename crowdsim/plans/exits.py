"""Exits of a plan and where people can start: what is drawn, what is given, openings in the walls;
where there is nothing, a guess that is reported.

Behind exits the ground goes on: agents that have left go on in sight of those behind, so that a crowd before
a door slows down as before a real one.

An exit at which agents vanish lets too many through: none stands before those that come. In a room of 10 x
8 m with a hundred people and an opening of 1.2 m, under Weidmann's law, 3.1 persons a second and metre got
out where they vanished in the opening, 2.4 with 2 m of ground behind it, 2.2 with 3 m.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely

from crowdsim.errors import CrowdsimError
from crowdsim.measures.exit_flow import openings_of
from crowdsim.plans.drawn import Drawn
from crowdsim.plans.ground import BODY_M, LEAST_OPENING_M, MILLIMETRE, Found
from crowdsim.printable import counted
from crowdsim.scenario.plan_kinds import Kind

DEPTH_M = 0.3  # How far an exit reaches to either side of the line that it is drawn as.
OPENING_DEPTH_M = 0.15  # And of an opening in a wall: what is counted has gone through it, not past it.
POINT_M = 0.6  # Half a side of the square of an exit that is given as a point.
REACH_M = 1.0  # How far from the ground a given point may be.
GUESSED_M = 1.2  # How wide an exit is that nobody drew: as wide as many building codes want one.
ROUNDING = 0.1 * MILLIMETRE


def find_exits(drawn: Drawn, found: Found, given: Sequence[tuple[float, float]]) -> tuple[list[Any], Any]:
    """Return the exits of a plan and where people can start.

    Parameters
    ----------
    drawn : Drawn
        Its words are added to.
    found : Found
    given : sequence of (float, float), m
        Points of exits that the user gave; then no others count.

    Returns
    -------
    exits : list of shapely Polygon
        In the order of their places, from left to right, then upwards.
    start : shapely Polygon or MultiPolygon
        Where an agent's centre can be that can get to an exit, exits left out.

    Raises
    ------
    CrowdsimError
        If a point is not on the ground, or nobody could get out.
    """
    exits = [_square(found.ground, x, y) for x, y in given]
    if exits:
        drawn.words.append(f"{counted(len(exits), 'exit')}: as given with --exit")
    exits = (
        exits
        or _drawn_exits(drawn, found)
        or _openings(drawn, found)
        or _outer_doors(drawn, found)
        or [_guessed(drawn, found)]
    )
    exits.sort(key=lambda area: tuple(round(value, 3) for value in shapely.get_coordinates(area.centroid)[0]))
    return exits, _start(drawn, found, exits)


def _square(ground: Any, x: float, y: float) -> Any:
    if ground.distance(shapely.Point(x, y)) > REACH_M:
        left, bottom, right, top = ground.bounds
        raise CrowdsimError(
            f"--exit {x:g},{y:g} is {ground.distance(shapely.Point(x, y)):.2f} m away from the ground, "
            f"which lies between ({left:.2f}, {bottom:.2f}) and "
            f"({right:.2f}, {top:.2f}) m.\n    Give a point on the ground, or within {REACH_M:g} m of it."
        )
    near = shapely.get_coordinates(shapely.shortest_line(ground, shapely.Point(x, y)))[0]
    return shapely.box(near[0] - POINT_M, near[1] - POINT_M, near[0] + POINT_M, near[1] + POINT_M)


def _drawn_exits(drawn: Drawn, found: Found) -> list[Any]:
    areas = [area if area.is_valid else shapely.make_valid(area) for area in drawn.areas_of(Kind.EXITS)]
    areas += [shapely.buffer(line, DEPTH_M, cap_style="flat") for line in drawn.lines_of(Kind.EXITS)]
    if not areas:
        return []
    parts = [part for part in shapely.get_parts(shapely.union_all(areas)) if part.geom_type == "Polygon"]
    touching = [part for part in parts if found.ground.dwithin(part, 0.05)]
    beside = len(parts) - len(touching)
    if touching:
        drawn.words.append(
            f"{counted(len(touching), 'exit')}: as drawn"
            + (f"; {beside} more lie beside the ground" if beside else "")
        )
    return [
        shapely.buffer(part, 0.06, join_style="mitre")
        if part.intersection(found.ground).area < 0.01
        else part
        for part in touching
    ]


def _openings(drawn: Drawn, found: Found) -> list[Any]:
    # others lead into hollows
    wide = [
        line
        for line in found.openings
        if line.length >= LEAST_OPENING_M and _is_on(found.ground, _band(line))
    ]
    if wide:
        widths = sorted(line.length for line in wide)
        size = f"{widths[0]:.2f} m" if len(wide) == 1 else f"{widths[0]:.2f} to {widths[-1]:.2f} m"
        drawn.words.append(
            f"{counted(len(wide), 'exit')}: the {'opening' if len(wide) == 1 else 'openings'} in the outer "
            f"walls, {size} wide"
        )
    return [_band(line) for line in wide]


def _band(line: Any) -> Any:
    return shapely.buffer(line, OPENING_DEPTH_M, cap_style="flat", join_style="mitre")


def _is_on(ground: Any, area: Any) -> bool:
    """Return whether some of an area is ground, more than rounding."""
    return bool(shapely.intersection(ground, area).area > 1e-3)


def _outer_doors(drawn: Drawn, found: Found) -> list[Any]:
    """Return the doors, drawn as areas or lines, that lie on the outline of all ground."""
    doors = [area for area in drawn.areas_of(Kind.DOORS) if area.is_valid]
    lines = drawn.lines_of(Kind.DOORS)
    if lines:
        doors += [
            hull
            for part in shapely.get_parts(shapely.union_all(shapely.buffer(lines, 0.05)))
            if (hull := part.convex_hull).area > 0.0
        ]
    filled = shapely.union_all(
        [
            shapely.Polygon(part.exterior)
            for part in shapely.get_parts(shapely.buffer(found.ground, 0.35, join_style="mitre"))
        ]
    )
    rim = shapely.buffer(filled.boundary, 0.45)
    outer = [
        door
        for door in doors
        if door.intersection(rim).area >= 0.02 and _is_on(found.ground, shapely.buffer(door, 0.1))
    ]
    if outer:
        drawn.words.append(
            f"{counted(len(outer), 'exit')}: the {'door' if len(outer) == 1 else 'doors'} in the outer walls"
        )
    return [shapely.buffer(shapely.oriented_envelope(door), 0.1, join_style="mitre") for door in outer]


def _guessed(drawn: Drawn, found: Found) -> Any:
    """Return an exit in the middle of the longest outer wall of the largest part of the ground."""
    largest = max(shapely.get_parts(found.ground), key=lambda part: part.area)
    ring = shapely.get_coordinates(largest.exterior)
    along = np.diff(ring, axis=0)
    length = np.hypot(*along.T)
    wall = int(np.argmax(np.round(length, 3)))
    middle = 0.5 * (ring[wall] + ring[wall + 1])
    half = 0.5 * min(GUESSED_M, float(length[wall])) * along[wall] / length[wall]
    drawn.words.append(
        f"no exit is drawn and the walls have no opening: one of {2.0 * float(np.hypot(*half)):.2g} m was "
        "put in the middle of the longest outer wall, at "
        f"({middle[0]:.2f}, {middle[1]:.2f}); --exit X,Y puts it elsewhere"
    )
    return shapely.buffer(shapely.LineString([middle - half, middle + half]), DEPTH_M, cap_style="flat")


def _start(drawn: Drawn, found: Found, exits: Sequence[Any]) -> Any:
    """Return where agents can stand that have a path to an exit:
    parts of the ground less an agent's radius that an exit touches.
    """
    free_ground = shapely.buffer(found.ground, -BODY_M, join_style="mitre")
    all_exits = shapely.union_all(exits)
    parts = [part for part in shapely.get_parts(free_ground) if part.geom_type == "Polygon"]
    out = [part for part in parts if part.dwithin(all_exits, BODY_M + ROUNDING)]
    if not out:
        raise CrowdsimError(
            f"Nobody with a radius of {BODY_M - 0.01:g} m could get to an exit: no ground of that width "
            "leads there.\n"
            "    Widen the passage in the drawing, or put the exit elsewhere with --exit X,Y."
        )
    shut_in = [part for part in parts if not part.dwithin(all_exits, BODY_M + ROUNDING)]
    if shut_in:
        size = sum(part.area for part in shut_in)
        drawn.words.append(
            f"nobody starts in {counted(len(shut_in), 'part')} of the ground ({size:,.0f} m2) without a way "
            f"out that is {2.0 * BODY_M:g} m wide"
        )
    start = shapely.difference(shapely.MultiPolygon(out), shapely.buffer(all_exits, 0.05, join_style="mitre"))
    asked = [area if area.is_valid else shapely.make_valid(area) for area in drawn.areas_of(Kind.STARTS)]
    if asked:
        start = shapely.intersection(start, shapely.union_all(asked))
        drawn.words.append(f"people start where the plan says: {counted(len(asked), 'area')}")
    start = shapely.set_precision(start, MILLIMETRE)
    parts = [part for part in shapely.get_parts(start) if part.geom_type == "Polygon" and part.area > 0.01]
    if not parts:
        raise CrowdsimError(
            "There is no room left to start in: exits, or the areas where people are to start, leave "
            "nothing of the ground."
        )
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)


# Of the ground outside: the law of speed and density looks at a disc 2.1 m ahead, with a radius of 1.2 m.
LENGTH_M = 3.0
EXIT_M = 0.5  # The last of it is the exit.
WIDEST_M = 10.0  # Of an opening that goes on as a passage; nobody queues before wider ones.
THICKEST_M = 0.6  # How far ground may reach into the wall behind an exit.


def led_outside(ground: Any, exits: Sequence[Any]) -> tuple[Any, list[Any], int]:
    """Continue the ground behind exits by straight passages at whose ends people leave.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon
    exits : sequence of shapely Polygon

    Returns
    -------
    ground : shapely Polygon or MultiPolygon
        With the passages.
    exits : list of shapely Polygon
        In the same order; as they were where other ground lies behind them, or where they are not the opening
        of a wall.
    count : int
        Of the passages.
    """
    passages: list[Any] = []
    moved = list(exits)
    for number, area in enumerate(exits):
        others = [ground, *passages, *(other for index, other in enumerate(exits) if index != number)]
        for passage, end in _passages(ground, area):
            if _is_free(passage, area, others):
                passages.append(passage)
                moved[number] = end
                break
    return (shapely.union_all([ground, *passages]) if passages else ground), moved, len(passages)


def _passages(ground: Any, area: Any) -> list[tuple[Any, Any]]:
    """Return passages to either side of the only opening between ground and an exit, each with its end."""
    lines = openings_of(ground, area)
    if len(lines) != 1 or lines[0].is_closed:
        return []
    first, last = np.asarray(lines[0].coords[0]), np.asarray(lines[0].coords[-1])
    width = float(np.hypot(*(last - first)))
    if not 0.1 < width < WIDEST_M:
        return []
    along = (last - first) / width
    found = []
    for across in (np.array([-along[1], along[0]]), np.array([along[1], -along[0]])):
        far, near = LENGTH_M * across, (LENGTH_M - EXIT_M) * across
        corners = [first + far, last + far]
        found.append(
            (
                shapely.Polygon([first, last, *reversed(corners)]),
                shapely.Polygon([first + near, last + near, *reversed(corners)]),
            )
        )
    return found


def _is_free(passage: Any, area: Any, others: Sequence[Any]) -> bool:
    """Return whether nothing lies where a passage would lead but the exit itself and the ground inside the
    wall behind it.
    """
    beyond = shapely.difference(passage, shapely.buffer(area, 1e-3))
    around = shapely.buffer(area, THICKEST_M)
    for other in others:
        parts = shapely.get_parts(shapely.intersection(other, beyond))
        if any(not around.contains(part) for part in parts if not part.is_empty):
            return False
    return bool(beyond.area > 0.5 * passage.area)
