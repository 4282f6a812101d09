"""Gates of connections: where agents go in and come out, and where those stand that wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.scenario.connections import Connection, End
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.parameters import Chosen
from crowdsim.scenario.shapes import GRID_M
from crowdsim.setup.entrances import triangles_of
from crowdsim.setup.group_ground import forbidden_areas, has_filter
from crowdsim.world.portals import NOBODY, NOWHERE_M, Portals
from crowdsim.world.riding import Gate, RidingFacts

SPACING_M = 0.7  # Between the middles of those that wait: two bodies, and room to turn.
CLEAR_M = 0.35  # From walls, and from the area in which others come out.
REACH_M = 5.0  # How far from the middle of an area those stand that wait.
MOST_SPOTS = 60
BESIDE_M = 1.0  # So near to where one takes off those stand that jump next.
NEAR_M = REACH_M + 1.0  # So far round a place where agents jump the ground is looked at.
LANDING_M = 1.5  # One that finds the place taken where it comes down lands so near to it.


def facts_of_connections(scenario: Scenario) -> RidingFacts | None:
    """Return what the world has to know of connections; None where there are none."""
    connections = scenario.carriers
    if not connections:
        return None
    ends = [(number, at, end) for number, each in enumerate(connections) for at, end in enumerate(each.ends)]
    points = [middle_of(scenario, end) for _, _, end in ends]
    gates, kept_off = list[Gate](), _kept_off(scenario)
    for place, (number, at, end) in enumerate(ends):
        others = [
            points[other]
            for other, (_, _, each) in enumerate(ends)
            if other != place and each.layer == end.layer
        ]
        ground = ground_of(scenario, end)
        free = ground_to_wait_on(scenario, kept_off, connections[number], end.layer, points[place])
        is_drop = connections[number].is_drop
        edge = spots_along(free, end.area, points[place]) if is_drop and at == 0 else np.zeros((0, 2))
        line = line_spots(end) if end.line else np.zeros((0, 2))
        if free is not ground:  # as far as all can stand there
            line = line[: int(np.argmin(np.append(shapely.intersects_xy(free, *line.T), False)))]
        if len(line):
            spots = line
        elif len(edge):
            spots = np.concatenate([edge, spots_round(free, end.area, edge[0], others, clear=0.0)])
        else:
            spots = spots_round(free, end.area, points[place], others)
        gate = Gate(
            number, at, end.layer, points[place], triangles_of(end.area, ground), spots, len(line) > 0,
            len(edge),
        )  # fmt: skip
        if is_drop and at == 1:
            gate = replace(gate, landing=triangles_of(end.area, clear_of_walls(ground)))
        gates.append(gate)
    for number, each in enumerate(connections):
        if each.waypath is not None:
            gates += [
                Gate(number, at, each.waypath.layer, point, np.zeros((0, 3, 2)), point[None, :].copy(), True)
                for at, point in enumerate(each.waypath.line[each.waypath.waypoint])
            ]
    portals = None
    if scenario.jumps is not None:
        portals = Portals(scenario.jumps.slots, len(scenario.geometry.grounds))
    first_portal = len(connections) - (portals.slots if portals is not None else 0)
    for number in range(first_portal, len(connections)):
        gates += [_nowhere(number, 0), _nowhere(number, 1)]
    sizes = [_ends_of(each) for each in connections]
    return RidingFacts(
        connections,
        gates,
        np.cumsum([0, *sizes[:-1]]).astype(np.int64),
        np.array(
            [
                [each.is_open_to(group.keys, group.excludes, group.name) for each in connections]
                for group in scenario.groups
            ],
            dtype=np.bool_,
        ).reshape(len(scenario.groups), len(connections)),
        portals,
    )


def _kept_off(scenario: Scenario) -> list[tuple[Chosen, dict[int, Any]]]:
    """Return the navigations that forbid some ground, each with what it forbids on which floor (shapely)."""
    return [
        (chosen, dict(forbidden_areas(scenario.geometry, chosen)))
        for chosen in scenario.navigations
        if has_filter(chosen)
    ]


def ground_to_wait_on(
    scenario: Scenario,
    kept_off: list[tuple[Chosen, dict[int, Any]]],
    connection: Connection,
    layer: int,
    point: NDArray[np.float64],
) -> Any:
    """Return the ground of a floor without what some of those are kept off that use a connection there: that
    may, and may walk at a point of it, (2,) m.
    """
    ground = scenario.geometry.grounds[max(0, layer)]
    users = [each for each in scenario.groups if connection.is_open_to(each.keys, each.excludes, each.name)]
    for chosen, areas in kept_off:
        area = areas.get(max(0, layer))
        if area is None or not any(scenario.navigation_of(group) == chosen for group in users):
            continue
        if not shapely.intersects_xy(area, *point):
            ground = shapely.difference(ground, area)
    return ground


def _ends_of(connection: Connection) -> int:
    if connection.waypath is not None:
        return len(connection.waypath.waypoint)
    return 2 if connection.is_jump else len(connection.ends)


def _nowhere(connection: int, end: int) -> Gate:
    """Return the gate of a portal that does not lie anywhere."""
    point = np.full(2, NOWHERE_M)
    return Gate(connection, end, -1, point, np.zeros((0, 3, 2)), point[None, :].copy(), moves_up=True)


def lay_portals(scenario: Scenario, facts: RidingFacts) -> None:
    """Put the gates of portals where these lie now."""
    portals = facts.portals
    if portals is None or portals.laid == portals.version:
        return
    portals.laid = portals.version
    for slot in range(portals.slots):
        number = facts.first_portal + slot
        first = int(facts.first_gate[number])
        facts.gates[first] = _take_off(scenario, number, portals, slot)
        facts.gates[first + 1] = _landing(scenario, number, portals, slot)


def _take_off(scenario: Scenario, number: int, portals: Portals, slot: int) -> Gate:
    """Return where those stand that jump next: where they take off, and beside it. There are no places
    farther off, since a crowd that presses to where one jumps hems in those that stand in a line before it.
    """
    if not portals.is_open[slot]:
        return _nowhere(number, 0)
    point, floor = portals.begin[slot].copy(), int(portals.floor[slot, 0])
    ground = ground_to_wait_on(scenario, _kept_off(scenario), scenario.carriers[number], floor, point)
    near = shapely.intersection(ground, shapely.box(*(point - NEAR_M), *(point + NEAR_M)))
    beside = spots_round(near, shapely.Point(point), point, [])
    apart = hypots(*(beside - point).T)
    spots = np.concatenate([point[None, :], beside[(apart > 0.0) & (apart <= BESIDE_M)]])
    return Gate(number, 0, floor, point, np.zeros((0, 3, 2)), spots, moves_up=False)


def _landing(scenario: Scenario, number: int, portals: Portals, slot: int) -> Gate:
    """Return where those come down that have jumped; also if the portal is gone: some may be in the air."""
    if portals.left_by[slot] == NOBODY:
        return _nowhere(number, 1)
    point, floor = portals.end[slot].copy(), int(portals.floor[slot, 1])
    round_it = shapely.intersection(
        scenario.geometry.grounds[max(0, floor)], shapely.box(*(point - LANDING_M), *(point + LANDING_M))
    )
    # not what lies behind a wall
    parts = shapely.get_parts(round_it)
    area = shapely.union_all(parts[shapely.dwithin(parts, shapely.Point(point), 1e-6)])
    return Gate(number, 1, floor, point, triangles_of(area, area), point[None, :].copy(), moves_up=True)


def ground_of(scenario: Scenario, end: End) -> object:
    """Return the ground of the floor on which an end lies."""
    return scenario.geometry.grounds[max(0, end.layer)]


def middle_of(scenario: Scenario, end: End) -> NDArray[np.float64]:
    """Return the middle of the part of an end's area that is ground, (2,) m."""
    part = shapely.intersection(end.area, ground_of(scenario, end))
    middle = shapely.centroid(part)
    if not shapely.covers(part, middle):
        middle = part.representative_point()
    return np.round(np.array([middle.x, middle.y]), 6)


def line_spots(end: End) -> NDArray[np.float64]:
    """Return places along a line from its head on, (s, 2) m."""
    corner = np.array(end.line)
    step = hypots(*np.diff(corner, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(step)])
    at = np.arange(int(np.floor(along[-1] / SPACING_M + 1e-9)) + 1) * SPACING_M
    part = np.minimum(np.searchsorted(along, at, side="right") - 1, len(step) - 1)
    share = (at - along[part]) / np.where(step[part] > 0.0, step[part], 1.0)
    found: NDArray[np.float64] = corner[part] + share[:, None] * (corner[part + 1] - corner[part])
    return found


def clear_of_walls(ground: Any) -> Any:
    """Return the ground that is so far from its walls that agents can come out there.

    On the grid: the corners of round buffers are of the C library's sine, whose last bits differ between
    processors.
    """
    return shapely.set_precision(shapely.buffer(ground, -CLEAR_M), GRID_M)


def spots_round(
    ground: object,
    area: object,
    point: NDArray[np.float64],
    others: list[NDArray[np.float64]],
    clear: float = CLEAR_M,
) -> NDArray[np.float64]:
    """Return places round an area, (s, 2) m, the nearest first: on free ground, in sight of a point in it,
    and nearer to that than to the `others`; the point itself where there are none. They are `clear` (m) of
    the area.
    """
    steps = np.arange(-int(REACH_M / SPACING_M), int(REACH_M / SPACING_M) + 1) * SPACING_M
    place = np.round(point + np.array([[x, y] for y in steps for x in steps]), 6)
    free = shapely.difference(
        clear_of_walls(ground), shapely.set_precision(shapely.buffer(area, max(clear, 1e-5)), GRID_M)
    )
    apart = hypots(*(place - point).T)
    fits = shapely.contains_xy(free, *place.T) & (apart <= REACH_M)
    for other in others:
        fits &= apart <= hypots(*(place - other).T)
    place, apart = place[fits], apart[fits]
    lines = (
        shapely.linestrings([[point, each] for each in place]) if len(place) else np.zeros(0, dtype=object)
    )
    seen = (
        shapely.covers(shapely.buffer(ground, 1e-6, join_style="mitre"), lines)
        if len(place)
        else np.zeros(0, dtype=np.bool_)
    )
    place, apart = place[seen], apart[seen]
    order = np.lexsort((place[:, 0], place[:, 1], np.round(apart, 6)))[:MOST_SPOTS]
    return place[order] if len(order) else point[None, :].copy()


def spots_along(ground: object, area: object, point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return places in an area, (s, 2) m, those first that are nearest to its middle: on free ground, or the
    middle itself where there are none.
    """
    free = shapely.intersection(clear_of_walls(ground), shapely.buffer(area, 1e-6, join_style="mitre"))
    if shapely.is_empty(free):
        return point[None, :].copy()
    first = shapely.get_coordinates(shapely.shortest_line(free, shapely.Point(point)))[0]
    low, high = np.array(shapely.bounds(free)).reshape(2, 2)
    counts = [
        np.arange(np.floor((a - o) / SPACING_M), np.ceil((b - o) / SPACING_M) + 1) * SPACING_M
        for a, b, o in zip(low, high, first, strict=True)
    ]
    place = np.round(first + np.array([[x, y] for y in counts[1] for x in counts[0]]), 6)
    place = place[shapely.dwithin(free, shapely.points(place), 1e-5)]
    apart = np.round(hypots(*(place - first).T), 6)
    return place[np.lexsort((place[:, 0], place[:, 1], apart))[:MOST_SPOTS]]


def seconds_between(connection: Connection, first: int, second: int) -> float:
    """Return how long a connection takes from one end to another, doors not counted, s."""
    low, high = sorted((first, second))
    return float(sum(connection.seconds[low:high]))
