"""The curves of vehicles: found when the world is built, on the ground of their group."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import Problem, ScenarioError
from crowdsim.geometry.directions import direction_at
from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.vehicles import search
from crowdsim.navigation.vehicles.curve import Curve
from crowdsim.scenario.model import Goal, Group, Scenario
from crowdsim.scenario.vehicles import Vehicle

MOST_FOUND = 600_000  # States of one search: some 40 MB.
ROUND_M = 1.0  # So far beyond the ground the search looks.
SQUARE_M = 2.0  # Of walls.
MOST_TURN = search.DIRECTIONS // 2 - 1  # Steps of one arc: less than half a turn.


@dataclass(frozen=True, eq=False)
class Drive:
    """A vehicle and its curve.

    Attributes
    ----------
    vehicle : Vehicle
    curve : Curve
    goal : int
    """

    vehicle: Vehicle
    curve: Curve
    goal: int


def ground_for(scenario: Scenario, group: Group) -> Any:
    """Return the ground on which vehicles of a group drive: what its navigation allows of its floor."""
    geometry, layer = scenario.geometry, max(0, group.layer)
    ground = geometry.grounds[layer]
    values = scenario.navigation_of(group).values
    areas = {each.name: each.area for each in (geometry.terrain[layer] if geometry.terrain else ())}
    if allowed := [areas[name] for name in values.get("allow") or () if name in areas]:
        ground = shapely.intersection(ground, shapely.union_all(allowed))
    if forbidden := [areas[name] for name in values.get("forbid") or () if name in areas]:
        ground = shapely.difference(ground, shapely.union_all(forbidden))
    return ground


def drives_of(scenario: Scenario) -> dict[tuple[int, int], Drive]:
    """Return the drives of all vehicles, by group and number in it.

    Raises
    ------
    ScenarioError
        If one does not fit where it stands, or no curve leads to its goal.
    """
    found, problems = dict[tuple[int, int], Drive](), list[Problem]()
    for number, group in enumerate(scenario.groups):
        if group.vehicle is None or group.positions is None:
            continue
        goal = group.visits[0].goal
        ground = ground_for(scenario, group)
        space = None if ground.is_empty else _Space(ground, scenario.goals[goal], group.vehicle)
        for index, place in enumerate(group.positions):
            curve = space.curve(place) if space is not None else "its navigation leaves no ground there"
            if isinstance(curve, str):
                name = scenario.goals[goal].name
                problems.append(
                    Problem(
                        f"{group.item}.positions[{index}]",
                        f'the vehicle at ({place[0]:g}, {place[1]:g}) does not get to "{name}": {curve}',
                        "Give it more room, a smaller turning_radius, another heading, or reverse: true.",
                        *group.place,
                    )
                )
            else:
                found[number, index] = Drive(group.vehicle, curve, goal)
    if problems:
        raise ScenarioError(problems)
    return found


class _Space:
    """Where vehicles of a group look for their curves."""

    def __init__(self, ground: Any, goal: Goal, vehicle: Vehicle) -> None:
        self._vehicle, self._ground, self._goal = vehicle, ground, goal
        self._walls = walls_of(ground)
        low, high = np.array(ground.bounds).reshape(2, 2)
        origin = low - ROUND_M
        across, up = np.ceil((high + ROUND_M - origin) / search.CELL_M).astype(int).tolist()
        self.cells = across * up
        x, y = (
            origin[0] + search.CELL_M * (np.arange(across) + 0.5),
            origin[1] + search.CELL_M * (np.arange(up) + 0.5),
        )
        xs, ys = (each.ravel() for each in np.meshgrid(x, y))
        free = shapely.contains_xy(shapely.buffer(ground, -0.5 * vehicle.width), xs, ys)
        is_goal = shapely.contains_xy(shapely.intersection(goal.area, ground), xs, ys)
        to_go = np.where(is_goal, 0.0, np.inf)
        search.spread(free, across, to_go)
        self._room = search.Room(origin, across, up, to_go, is_goal)

    def curve(self, place: NDArray[np.float64]) -> Curve | str:
        """Return the curve of a vehicle that stands somewhere, (2,) m; in words why there is none."""
        own, room = self._vehicle, self._room
        if own.heading is None:
            aim = shapely.get_coordinates(self._goal.area.representative_point())[0] - place
            heading = aim / max(float(hypots(*aim)), 1e-9)
        else:
            heading = np.array(own.heading)
        body = np.array([own.front, own.overhang, 0.5 * own.width])
        if not shapely.contains_xy(self._ground, *place) or not search.is_free(
            self._walls, *place.tolist(), *heading.tolist(), *body.tolist()
        ):
            return f"its body of {own.length:g} x {own.width:g} m meets a wall where it stands"
        states = self.cells * search.DIRECTIONS * 2
        if states > search.MOST_STATES:
            return f"the ground is too large to search: {self.cells:,} cells of {search.CELL_M:g} m"
        fine = directions(heading)
        state, came = np.empty((MOST_FOUND, 4)), np.empty((MOST_FOUND, 2), dtype=np.int64)
        end = search.find_states(
            place, fine, own.turning_radius, body, own.reverse, self._walls, room,
            np.zeros(states, dtype=np.bool_), state, came,
        )  # fmt: skip
        if end == search.TOO_LARGE:
            return f"none was found among {MOST_FOUND:,} states"
        if end == search.NO_CURVE:
            away = room.to_go[
                int((place[1] - room.origin[1]) // search.CELL_M) * room.across
                + int((place[0] - room.origin[0]) // search.CELL_M)
            ]
            if np.isinf(away):
                return f"nowhere is the ground {own.width:g} m wide all along"
            return (
                f"the turns are too sharp for a body of {own.length:g} x {own.width:g} m with a turning "
                f"radius of {own.turning_radius:g} m"
            )
        return curve_of(end, state, came, fine, own.turning_radius)


def directions(heading: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `search.FINE` directions all round, (n, 2), from one on, by own arithmetic."""
    found = np.empty((search.FINE, 2))
    for number in range(search.FINE):
        part = min(number, search.FINE - number)
        cosine, sine = direction_at(2.0 * 3.141592653589793 * part / search.FINE)
        sine = sine if number == part else -sine
        found[number] = (
            heading[0] * cosine - heading[1] * sine,
            heading[0] * sine + heading[1] * cosine,
        )
    return found


def curve_of(
    end: int, state: NDArray[np.float64], came: NDArray[np.int64], fine: NDArray[np.float64], radius: float
) -> Curve:
    """Return the curve that leads to a state; steps that are steered alike are one piece."""
    chain = [end]
    while came[chain[-1], 0] >= 0:
        chain.append(int(came[chain[-1], 0]))
    chain.reverse()
    step = radius * (2.0 * 3.141592653589793 / search.DIRECTIONS)
    pieces: list[list[float]] = []
    for before, after in itertools.pairwise(chain):
        how = state[after, 3]
        gear = -1 if how >= 3.0 else 1
        turn = int(how) - (4 if gear < 0 else 0)
        if pieces and pieces[-1][4:6] == [turn, gear] and (turn == 0 or pieces[-1][6] < MOST_TURN):
            pieces[-1][6] += 1
            continue
        ux, uy = fine[came[before, 1] * search.CHECKS]
        pieces.append([float(state[before, 0]), float(state[before, 1]), float(ux), float(uy), turn, gear, 1])
    if not pieces:  # it stands in its goal
        x, y = state[end, :2].tolist()
        pieces.append([x, y, *fine[0].tolist(), 0, 1, 0])
    table = np.array(pieces)
    return Curve(
        np.ascontiguousarray(table[:, :4]),
        table[:, 4] / radius,
        table[:, 5].astype(np.int64),
        np.concatenate([[0.0], np.cumsum(table[:, 6] * step)]),
    )


def walls_of(ground: Any) -> search.Walls:
    """Return the outline of ground, in squares."""
    rings = [shapely.get_coordinates(ring) for ring in shapely.get_rings(shapely.get_parts(ground))]
    line = np.concatenate([np.column_stack([ring[:-1], ring[1:]]) for ring in rings])
    low, high = np.minimum(line[:, :2], line[:, 2:]), np.maximum(line[:, :2], line[:, 2:])
    origin = low.min(axis=0) - SQUARE_M
    across, up = (np.floor((high.max(axis=0) - origin) / SQUARE_M).astype(int) + 2).tolist()
    inside: list[list[int]] = [[] for _ in range(across * up)]
    first, last = (np.floor((each - origin) / SQUARE_M).astype(int) for each in (low, high))
    for number, ((west, south), (east, north)) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for row in range(south, north + 1):
            for column in range(west, east + 1):
                inside[row * across + column].append(number)
    return search.Walls(
        np.ascontiguousarray(line),
        origin,
        SQUARE_M,
        across,
        up,
        np.concatenate([[0], np.cumsum([len(each) for each in inside])]).astype(np.int64),
        np.array([number for each in inside for number in each], dtype=np.int64),
    )
