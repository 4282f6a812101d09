"""Storeys joined by stairs and ramps: from the plans in a scenario to floors that meet,
each with free height above it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import shapely

from crowdsim.geometry.floor_plans import MEETS_M, Plane, gap_of_line
from crowdsim.geometry.lengths import dots
from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.geometry import (
    Flight,
    Floor,
    Geometry,
    GridLayout,
    Line,
    ground_of_areas,
    seen_from_above,
    written_layout,
)
from crowdsim.scenario.shapes import GRID_M, cleaned
from crowdsim.scenario.tree import Path, Problems, listed, number_text, suggestion

# Rise over run: 60 degrees. A staircase has 0.5 to 0.75, a ship's ladder 1.7; what is steeper is climbed, or
# the numbers are swapped.
STEEPEST = 1.75
# How much farther from the foot one end of the head may lie than the other: a plan drawn to the millimetre
# passes.
PARALLEL_M = 1e-3
# Up and down. Of stairs: the factors of RiMEA 4.1, tests 2 and 3.
_STAIR_SPEEDS, _RAMP_SPEEDS = (0.5, 0.75), (1.0, 1.0)
_LEAST_AREA_M2 = 1e-6
_STEP_M = 0.1  # There has to be ground so far before the ends of connections.


def resolve_storeys(shape: schema.GeometryShape, reader: AreaReader, problems: Problems) -> Geometry | None:
    """Return the ground of a scenario with storeys, or None where there are problems.

    Parameters
    ----------
    shape : GeometryShape
    reader : AreaReader
    problems : Problems

    Notes
    -----
    Storeys come in the order of their elevations, then connections in that of their names. Where a connection
    is less than the clearance above or below a storey, the storey's ground is cut away: that makes the well
    of a stair, and keeps people from walking where they would hit their head.
    """
    before = len(problems.found)
    _check_names(shape, problems)
    layouts: list[GridLayout | None] = []
    storeys = [
        floor
        for floor in (
            _storey(index, each, reader, shape.resolved, problems, layouts)
            for index, each in enumerate(shape.storeys)
        )
        if floor is not None
    ]
    if len(problems.found) > before:
        return None
    storeys.sort(key=lambda floor: (floor.elevation, floor.name))
    order = sorted(range(len(shape.connections)), key=lambda index: shape.connections[index].name)
    numbers = {floor.name: number for number, floor in enumerate(storeys)}
    flights = [
        _connection(("geometry", "connections", index), shape.connections[index], numbers, storeys, problems)
        for index in order
    ]
    if len(problems.found) > before:
        return None
    connections = [flight for flight in flights if flight is not None]
    _check_headroom(connections, order, shape.clearance, problems)
    uncut = storeys
    if not shape.resolved:
        storeys = _with_headroom(storeys, connections, shape, problems)
    if len(problems.found) > before:
        return None
    for index, connection in zip(order, connections, strict=True):
        _check_ends(("geometry", "connections", index), connection, storeys, uncut, problems)
    if len(problems.found) > before:
        return None
    floors = (*storeys, *connections)
    obstacles = tuple(obstacle for floor in floors for obstacle in floor.obstacles)
    layout = layouts[0] or written_layout(shape, problems) if len(floors) == 1 else None
    return Geometry(seen_from_above(floors), obstacles, floors, float(shape.clearance), layout=layout)


def _check_names(shape: schema.GeometryShape, problems: Problems) -> None:
    known: set[str] = set()
    for kind, names in (
        ("storeys", [each.name for each in shape.storeys]),
        ("connections", [each.name for each in shape.connections]),
    ):
        for index, name in enumerate(names):
            if name in known:
                problems.add(
                    ("geometry", kind, index, "name"),
                    f'there is a floor "{name}" already',
                    "Storeys and connections share names; give another one.",
                )
            known.add(name)


def _storey(
    index: int,
    shape: schema.StoreyShape,
    reader: AreaReader,
    resolved: bool,
    problems: Problems,
    layouts: list[GridLayout | None],
) -> Floor | None:
    """Return a storey, or None after a problem was added; `layouts` receives how a grid is laid over it."""
    found = ground_of_areas(
        shape.walkable, shape.obstacles, ("geometry", "storeys", index), reader, resolved, problems
    )
    if found is None:
        return None
    layouts.append(found.layout)
    return Floor(shape.name, found.walkable, Plane((0.0, 0.0, float(shape.elevation) + 0.0)), found.obstacles)


def _connection(
    path: Path,
    shape: schema.ConnectionShape,
    numbers: dict[str, int],
    storeys: Sequence[Floor],
    problems: Problems,
) -> Floor | None:
    ends = []
    for key, name in (("lower", shape.lower), ("upper", shape.upper)):
        if name not in numbers:
            problems.add(
                (*path, key),
                f'there is no storey "{name}"',
                f"{suggestion(name, numbers)} Known are {listed(numbers)}.".strip(),
            )
        else:
            ends.append(numbers[name])
    if len(ends) < 2:
        return None
    rise = storeys[ends[1]].elevation - storeys[ends[0]].elevation
    if not rise > 0.0:
        problems.add(
            (*path, "upper"),
            (
                f'"{shape.upper}" at {storeys[ends[1]].elevation:g} m is not above "{shape.lower}" at '
                f"{storeys[ends[0]].elevation:g} m"
            ),
            "Swap lower and upper, and foot and head.",
        )
        return None
    foot, head = _on_grid(shape.foot), _on_grid(shape.head)
    if shapely.LineString([foot[0], head[0]]).crosses(shapely.LineString([foot[1], head[1]])):
        head = (head[1], head[0])
    complaint = _complaint(foot, head, rise)
    if complaint is not None:
        problems.add(path, *complaint)
        return None
    across = np.subtract(foot[1], foot[0]) / math.dist(*foot)
    along = np.array([-across[1], across[0]])
    run = float(dots(along, np.mean(head, axis=0) - np.mean(foot, axis=0)))
    slope = along * (rise / run)
    footprint = shapely.orient_polygons(shapely.Polygon([*foot, *head[::-1]]))
    usual = _STAIR_SPEEDS if shape.kind == "stair" else _RAMP_SPEEDS
    up, down = (
        float(own if own is not None else default)
        for own, default in zip((shape.speed_up, shape.speed_down), usual, strict=True)
    )
    plane = Plane((foot[0][0], foot[0][1], storeys[ends[0]].elevation), (float(slope[0]), float(slope[1])))
    return Floor(shape.name, footprint, plane, (), Flight(shape.kind, ends[0], ends[1], foot, head, up, down))


def _on_grid(line: Sequence[Sequence[float]]) -> Line:
    """Return a line on the grid of plans, so that the ground that is cut back to it ends on exactly the same
    points.
    """
    (ax, ay), (bx, by) = (
        (round(x / GRID_M) * GRID_M + 0.0, round(y / GRID_M) * GRID_M + 0.0) for x, y in line
    )
    return (ax, ay), (bx, by)


def _complaint(foot: Any, head: Any, rise: float) -> tuple[str, str] | None:
    """Return what is wrong with the lines of a connection and the way out, or None."""
    width = math.dist(*foot)
    if width < 2.0 * PARALLEL_M or math.dist(*head) < 2.0 * PARALLEL_M:
        return (
            f"its foot is {width:.3g} m and its head {math.dist(*head):.3g} m wide",
            "Give both lines two points as far apart as it is wide.",
        )
    across = np.subtract(foot[1], foot[0]) / width
    along = np.array([-across[1], across[0]])
    runs = [float(dots(along, np.subtract(point, foot[0]))) for point in head]
    if abs(runs[0] - runs[1]) > PARALLEL_M:
        return (
            (
                f"foot and head are not parallel: the ends of the head lie {abs(runs[0]):.3f} and "
                f"{abs(runs[1]):.3f} m from the line of the foot"
            ),
            (
                "Make them parallel; where the stair turns, give the landing as a storey of its own and two "
                "connections."
            ),
        )
    run = abs(runs[0] + runs[1]) / 2.0
    if run * STEEPEST < rise:
        steep = f"{math.degrees(math.atan2(rise, run)):.0f} degrees" if run > PARALLEL_M else "upright"
        return f"it rises {rise:.3g} m over {run:.3g} m in plan, {steep}", (
            f"It may rise by {STEEPEST:g} m a metre at most: move the head away, or check the elevations."
        )
    return None


def _band(connection: Floor, low: float, high: float) -> Any:
    """Return the part of a connection's footprint whose height lies between two (m), or None."""
    flight = connection.flight
    assert flight is not None
    foot, head = np.array(flight.foot), np.array(flight.head)
    bottom, top = connection.plane.height(np.array([foot[0], head[0]])).tolist()
    begin, end = max(0.0, (low - bottom) / (top - bottom)), min(1.0, (high - bottom) / (top - bottom))
    if not begin < end:
        return None
    lines = [foot + share * (head - foot) if share < 1.0 else head for share in (begin, end)]
    return shapely.Polygon([*lines[0], *lines[1][::-1]])


def _with_headroom(
    storeys: Sequence[Floor], connections: Sequence[Floor], shape: schema.GeometryShape, problems: Problems
) -> list[Floor]:
    """Return the storeys without the ground that has less than the clearance above it,
    or a connection rising through it.
    """
    found = []
    for storey in storeys:
        clearance = float(shape.clearance)
        blocks = [
            _band(connection, storey.elevation - clearance, storey.elevation + clearance)
            for connection in connections
        ]
        for other in storeys:
            over = other.elevation - storey.elevation
            shared = (
                shapely.area(shapely.intersection(other.ground, storey.ground))
                if other is not storey and 0.0 <= over < clearance
                else 0.0
            )
            if shared > _LEAST_AREA_M2 and over > 0.0:
                blocks.append(other.ground)
            elif shared > _LEAST_AREA_M2 and storey.name < other.name:
                problems.add(
                    ("geometry", "storeys"),
                    (
                        f'"{storey.name}" and "{other.name}" are both at {storey.elevation:g} m and share '
                        f"{shared:.3g} m2"
                    ),
                    "Cut one of them back, or make them one storey.",
                )
        taken = [block for block in blocks if block is not None]
        ground = storey.ground
        if taken:
            ground = cleaned(
                shapely.difference(ground, shapely.union_all(taken, grid_size=GRID_M), grid_size=GRID_M)
            )
        if ground.is_empty:
            index = next(number for number, each in enumerate(shape.storeys) if each.name == storey.name)
            problems.add(
                ("geometry", "storeys", index),
                f"nothing of it has {clearance:g} m of height above it",
                "Raise what stands above, or lower the clearance.",
            )
            continue
        found.append(replace(storey, ground=ground))
    return found


def _check_headroom(
    connections: Sequence[Floor], order: Sequence[int], clearance: float, problems: Problems
) -> None:
    """Report connections that run into each other."""
    for number, connection in enumerate(connections):
        for other in connections[:number]:
            common = shapely.intersection(connection.ground, other.ground)
            if common.area <= _LEAST_AREA_M2:
                continue
            corners = shapely.get_coordinates(common)
            apart = connection.plane.height(corners) - other.plane.height(corners)
            least = 0.0 if apart.min() < 0.0 < apart.max() else float(np.abs(apart).min())
            if least < clearance - MEETS_M:
                x, y = common.representative_point().coords[0]
                problems.add(
                    ("geometry", "connections", order[number]),
                    (
                        f'near ({x:.3g}, {y:.3g}) it is only {least:.3g} m above or below "{other.name}", '
                        f"but the clearance is {clearance:g} m"
                    ),
                    "Move one of them aside.",
                )


def _before(flight: Flight, key: str) -> tuple[float, float]:
    """Return the place one steps on the foot, or the head, of a connection from (m)."""
    foot, head = np.mean(flight.foot, axis=0), np.mean(flight.head, axis=0)
    up = _STEP_M * (head - foot) / math.dist(foot, head)
    x, y = foot - up if key == "foot" else head + up
    return float(x), float(y)


def _check_ends(
    path: Path, connection: Floor, storeys: Sequence[Floor], uncut: Sequence[Floor], problems: Problems
) -> None:
    """Report a connection whose foot or head does not meet the edge of its storey."""
    flight = connection.flight
    assert flight is not None
    ends: list[tuple[str, Line, int]] = [
        ("foot", flight.foot, flight.lower),
        ("head", flight.head, flight.upper),
    ]
    for key, line, number in ends:
        ground = uncut[number].ground
        gap = gap_of_line(storeys[number].ground, shapely.LineString(line))
        if gap <= MEETS_M:
            continue
        outside = float(
            shapely.distance(
                ground,
                shapely.line_interpolate_point(
                    shapely.LineString(line), np.linspace(0.0, 1.0, 41), normalized=True
                ),
            ).max()
        )
        x, y = _before(flight, key)
        if outside <= MEETS_M and not shapely.intersects_xy(ground, x, y):
            where = f"at ({x:.2f}, {y:.2f}): the {flight.kind} leads back over it"
            problems.add(
                (*path, key),
                (
                    f'the {key} of "{connection.name}" has no ground of "{storeys[number].name}" before it, '
                    f"{where}"
                ),
                (
                    f"An agent that gets to the {key} steps on it there. Move the {key} into the storey, or "
                    f"turn the {flight.kind} round."
                ),
            )
            continue
        where = (
            f"lies up to {outside:.3f} m outside"
            if outside > MEETS_M
            else f"strays up to {gap:.3f} m from the edge of"
        )
        near = [shapely.shortest_line(ground, shapely.Point(point)).coords[0] for point in line]
        at = " and ".join(f"({number_text(round(x, 3))}, {number_text(round(y, 3))})" for x, y in near)
        problems.add(
            (*path, key),
            f'the {key} of "{connection.name}" {where} the ground of "{storeys[number].name}"',
            (
                "It has to lie on that edge over its whole width: the ground nearest to its ends is at "
                f"{at}. Move the {key} there, or extend the storey."
            ),
        )
