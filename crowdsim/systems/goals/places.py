"""Places in regions for agents that stay: those that arrive move in,
so that those behind them find the rim free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.bodies.nudge import find_blocked_lines, rows_of_entities
from crowdsim.bodies.places import TAKEN, PlaceParameters, measure_distances, rank_places
from crowdsim.setup.things import Goals
from crowdsim.systems.base.system import Tick
from crowdsim.systems.goals.place_rows import find_visitors, list_coming, list_standing, sum_stays
from crowdsim.world.columns import AgentState, Stepping, Wait
from crowdsim.world.random import Stream, agent_key, draw_uniform
from crowdsim.world.world import World

# Farthest apart that places are: pedestrians that wait where there is distance stand at arm's length.
LOOSEST_M = 1.2
CLOSER = 0.9  # Share by which they are moved together until there are enough.
ROW = 0.75**0.5  # Distance of the rows of a triangular lattice, of that of its points.
NO_PLACE = -1
MORE = 8  # Times as many places are ranked where none of the best can be reached.
AT_ONCE = 4  # Places that are tried together for whether an agent gets there straight.
LEAST_SPEED = 0.05  # That is the least, in m/s: a slower agent does not keep a run from its end.
SLOWEST = 0.5  # Share of its speed that an agent is expected to reach on the way to its place.


@dataclass(frozen=True)
class Lattice:
    """The places of a region: a triangular lattice, shifted by a draw of the scenario's seed."""

    point: NDArray[np.float64]
    layers: NDArray[np.int32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Places:
    """Gives agents that stay in a region a place of their own.

    Parameters
    ----------
    world : World
    parameters : PlaceParameters
    seed : int

    Notes
    -----
    Nothing is kept between ticks but what follows from the goals and the seed: a place is free where no agent
    stands or is about to stand.
    """

    def __init__(self, world: World, parameters: PlaceParameters, seed: int) -> None:
        self.world, self.parameters, self.seed = world, parameters, seed
        self._goals: object = None
        self._lattices: dict[tuple[int, float, float], Lattice] = {}
        self._leads: dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}

    def take(self, tick: Tick, rows: NDArray[np.int64], regions: NDArray[np.int32]) -> None:
        """Let agents that have arrived, and stay, move to places in their regions.

        Parameters
        ----------
        tick : Tick
        rows : (k,) int64
        regions : (k,) int32
            Index of the goal of each.
        """
        if not self.parameters.moving_in or not len(rows):
            return
        is_region = self.world.goals.reach == 0.0
        for region in np.unique(regions).tolist():
            if is_region[region]:
                self._take_in(tick, rows[regions == region], region)

    def move_up(self, tick: Tick) -> None:
        """Let agents that stay in a region and stand before one that is stuck go on to other places:
        they shut its rim, or an agent in.

        Looked at once a second.
        """
        agents, goals = self.world.agents, self.world.goals
        if not self.parameters.moving_in or tick.number % max(1, round(1.0 / tick.length)):
            return
        stuck = np.flatnonzero((agents.is_stuck == 1) & (agents.goal >= 0) & (agents.blocker > 0))
        if not len(stuck):
            return
        blocking = np.unique(rows_of_entities(agents.entity, agents.blocker[stuck]))
        blocking = blocking[blocking >= 0]
        stands = (
            (agents.activity == AgentState.STANDING)
            & (agents.goal < 0)
            & (agents.is_yielding == 0)
            & (agents.is_driven == 0)
            & (agents.is_immovable == 0)
        )
        for region in np.flatnonzero(goals.reach == 0.0).tolist():
            before = blocking[stands[blocking] & self._visitors(region)[1][blocking]]
            if len(before):
                self._take_in(tick, before, region, leaving=True)

    def _take_in(self, tick: Tick, rows: NDArray[np.int64], region: int, *, leaving: bool = False) -> None:
        """Give agents at one region their places; those that are `leaving` have one,
        and get none that they could have from there.
        """
        agents = self.world.agents
        comes, stays = self._visitors(region)
        stays[rows] = True
        count, bound, widest = sum_stays(stays, agents.goal, agents.radius)
        waited_for = bound + len(rows)
        tight = 2.0 * widest + self.parameters.place_gap
        spacing = self._spacing(region, count, widest, tight)
        lattice = self._lattice(region, spacing, widest)
        # Along the longer side of the region agents are told apart soonest.
        axis = int(np.argmax(lattice.high - lattice.low))
        coming = self._coming(comes, lattice, axis)
        distance: dict[float, NDArray[np.float64]] = {}
        for i, row in enumerate(rows.tolist()):
            # walls may leave too few within reach, or some stand beside their places
            for apart in dict.fromkeys((spacing, tight)):
                lattice = self._lattice(region, apart, widest)
                if apart not in distance:
                    distance[apart] = self._distances(
                        tick, lattice, rows[:0] if leaving else rows[i:], widest, coming, axis
                    )
                place = self._choose(tick, row, lattice, distance[apart], waited_for - i)
                if place >= 0:
                    self._send(tick, row, lattice.point[place])
                    # of the other lattice more than one place may be taken
                    distance = {apart: distance[apart]}
                    distance[apart][place] = TAKEN
                    break

    def _send(self, tick: Tick, row: int, place: NDArray[np.float64]) -> None:
        """Let an agent go to a place, for a while."""
        agents = self.world.agents
        rest = place - agents.position[row]
        pace = max(LEAST_SPEED, SLOWEST * float(agents.desired_speed[row]))
        needed = float(np.hypot(rest[0], rest[1])) / pace + self.parameters.place_patience
        agents.is_yielding[row], agents.yield_target[row] = Stepping.IN, place
        agents.yield_tick[row] = tick.number + int(np.ceil(needed / tick.length))

    def _visitors(self, region: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return (n,) bool twice: agents that head for a region, or will once they start;
        and those with that as their last goal, to stay. Of a region that the run has set these are the ones
        that head for it or stand in it.
        """
        agents, none = self.world.agents, np.zeros(0, dtype=np.bool_)
        comes, leads, last = np.empty(len(agents), dtype=np.bool_), none, none
        if region >= self.world.destinations.fixed:
            stays = self._standing_in(region)
        else:
            leads, last = self._leading_to(region)
            stays = np.zeros(len(agents), dtype=np.bool_)
            if self.world.machines is not None:  # those whose machine lets them stay there
                stays |= (agents.waits == Wait.STAY) & (agents.step == region)
        find_visitors(agents.activity, agents.goal, agents.itinerary, leads, last, region, comes, stays)
        return comes, stays

    def _standing_in(self, region: int) -> NDArray[np.bool_]:
        """Return the agents that stand in a region that the run has set, and go nowhere, (n,) bool."""
        agents, shape = self.world.agents, self.world.destinations.shape_of(region)
        found = (agents.activity == AgentState.STANDING) & (agents.goal < 0)
        if shape.layer >= 0:
            found &= agents.layer == shape.layer
        x, y = agents.position[found].T
        found[found] = shapely.intersects_xy(shape.shape, x, y)
        return found

    def _leading_to(self, region: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which goals are a region or may be, (goals,) bool, and which itineraries end there for
        agents that stay, (itineraries,) bool.
        """
        if region not in self._leads:
            goals = self.world.fixed_goals
            start = goals.goal_start
            leads = np.array(
                [
                    region in goals.piece_source[start[goal] : start[goal + 1]]
                    for goal in range(len(start) - 1)
                ]
            )
            last = [
                bool(each.goals) and not each.leaves and bool(leads[each.goals[-1]])
                for each in self.world.itineraries
            ]
            self._leads[region] = leads, np.array(last, dtype=np.bool_)
        return self._leads[region]

    def _coming(self, comes: NDArray[np.bool_], lattice: Lattice, axis: int) -> NDArray[np.float64]:
        """Return where the agents are that come, and those that walk among the places, or next to them: they
        are not to be shut in, (2, k), m, as `sorted_along` gives them.
        """
        agents = self.world.agents
        found = np.empty((2, len(agents)))
        count = list_coming(comes, agents.activity, agents.position, lattice.low, lattice.high, found)
        return sorted_along(axis, found, count)

    def _distances(
        self,
        tick: Tick,
        lattice: Lattice,
        rows: NDArray[np.int64],
        radius: float,
        coming: NDArray[np.float64],
        axis: int,
    ) -> NDArray[np.float64]:
        """Return how far each place is from agents that walk there, or through, (places,), m;
        `TAKEN` where those that stand, or are about to, are too near.

        The place is for an agent of this radius; `rows` do not count.
        """
        agents = self.world.agents
        found, is_out = np.empty((3, len(agents))), np.zeros(len(agents), dtype=np.bool_)
        is_out[rows] = True
        count = list_standing(
            agents.activity, agents.layer, lattice.layers, agents.is_yielding, agents.yield_target,
            agents.position, agents.radius, is_out, lattice.low, lattice.high, radius, found,
        )  # fmt: skip
        along, across, reach = sorted_along(axis, found, count)
        reach += radius
        distance = np.empty(len(lattice.point))
        tick.team.run(
            measure_distances, len(distance), lattice.point, axis, along, across, reach,
            float(reach.max(initial=0.0)), *coming, distance,
        )  # fmt: skip
        return distance

    def _choose(
        self, tick: Tick, row: int, lattice: Lattice, distance: NDArray[np.float64], waited_for: int
    ) -> int:
        """Return a free place for an agent, -1 if it gets to none straight.

        As many of the nearest are looked at as agents are still to come; the one farthest from those that
        walk there, or through, is taken.
        """
        x, y = self.world.agents.position[row].tolist()
        away, scratch = np.empty(len(distance)), np.empty(len(distance))
        tried, ranked = 0, AT_ONCE
        while True:
            order = np.empty(ranked, dtype=np.int64)
            found = rank_places(lattice.point, distance, x, y, waited_for, away, scratch, order)
            for first in range(tried, found, AT_ONCE):
                at_once = order[first : min(first + AT_ONCE, found)]
                clear = self._clear(tick, np.full(len(at_once), row), lattice.point[at_once])
                if np.any(clear):
                    return int(at_once[np.argmax(clear)])
            if found < ranked:
                return NO_PLACE
            tried, ranked = ranked, MORE * ranked  # seldom: walls are in the way

    def _spacing(self, region: int, agents: int, radius: float, tight: float) -> float:
        """Return how far apart the places of a region are for so many agents (m):
        as far as they fit, but no farther than pedestrians like it.
        """
        spacing = max(tight, LOOSEST_M)
        while spacing > tight and len(self._lattice(region, spacing, radius).point) < agents:
            spacing = max(tight, CLOSER * spacing)
        return spacing

    def _lattice(self, region: int, spacing: float, radius: float) -> Lattice:
        """Return the places of a region, so far apart; they are laid out once."""
        if self._goals is not self.world.fixed_goals:  # the ground is another
            self._goals = self.world.fixed_goals
            self._lattices.clear()
            self._leads.clear()
        known = (region, spacing, radius)
        if known not in self._lattices:
            self._lattices[known] = self._lay_out(region, spacing, radius)
        return self._lattices[known]

    def _lay_out(self, region: int, spacing: float, radius: float) -> Lattice:
        """Return the places of a region, so far apart, at which an agent of this radius is clear of walls."""
        world, goals = self.world, self.world.goals
        key = np.array([agent_key(Goals(world).name(region), 0)], dtype=np.uint64)
        shift = [float(draw_uniform(self.seed, Stream.PLACE, key, 0.0, 1.0, index)[0]) for index in range(2)]
        found, under = [np.zeros((0, 2))], [np.zeros(0, dtype=np.int64)]
        for piece in range(goals.goal_start[region], goals.goal_start[region + 1]):
            corner = goals.vertex[goals.vertex_start[piece] : goals.vertex_start[piece + 1]]
            points = _lattice_points(corner.min(axis=0), corner.max(axis=0), spacing, shift)
            side = np.roll(corner, -1, axis=0) - corner
            inside = np.ones(len(points), dtype=np.bool_)
            for a, d in zip(corner, side, strict=True):
                inside &= d[0] * (points[:, 1] - a[1]) - d[1] * (points[:, 0] - a[0]) > 0.0
            found.append(points[inside])
            under.append(np.full(int(np.count_nonzero(inside)), goals.piece_polygon[piece], dtype=np.int64))
        point, polygon = np.concatenate(found), np.concatenate(under)
        blocked = np.empty(len(point), dtype=np.uint8)
        find_blocked_lines(
            0,
            len(point),
            np.arange(len(point)),
            world.mesh,
            polygon,
            point,
            point,
            np.full(len(point), radius),
            blocked,
        )
        point = point[blocked == 0]
        low, high = (
            point.min(axis=0, initial=np.inf) - LOOSEST_M,
            point.max(axis=0, initial=-np.inf) + LOOSEST_M,
        )
        return Lattice(point, np.unique(world.mesh.polygon_layer[polygon]), low, high)

    def _clear(self, tick: Tick, rows: NDArray[np.int64], point: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which agents of `rows` get straight to their point, (k,) bool: no wall is in the way."""
        agents, world = self.world.agents, self.world
        blocked = np.empty(len(rows), dtype=np.uint8)
        tick.team.run(
            find_blocked_lines,
            len(rows),
            np.arange(len(rows)),
            world.mesh,
            world.polygons(rows),
            agents.position[rows],
            point,
            agents.radius[rows],
            blocked,
        )
        return blocked == 0


def sorted_along(axis: int, found: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the first `count` columns, ascending by the coordinate that the axis (0 x, 1 y) names, which
    becomes the first row; the other one becomes the second.
    """
    rows = found[:, :count]
    ordered = rows.take(np.argsort(rows[axis]), axis=1)
    ordered[:2] = ordered[[axis, 1 - axis]]
    return ordered


def _lattice_points(
    low: NDArray[np.float64], high: NDArray[np.float64], spacing: float, shift: list[float]
) -> NDArray[np.float64]:
    """Return the points of a triangular lattice in a box, (k, 2), m, row by row;
    `shift` is in parts of its spacing.
    """
    row = np.arange(
        np.floor(low[1] / (ROW * spacing) - shift[1]), np.ceil(high[1] / (ROW * spacing) - shift[1]) + 1
    )
    column = np.arange(np.floor(low[0] / spacing - shift[0]) - 1, np.ceil(high[0] / spacing - shift[0]) + 1)
    x = (column[None, :] + shift[0] + 0.5 * (row % 2)[:, None]) * spacing
    y = np.broadcast_to(((row + shift[1]) * ROW * spacing)[:, None], x.shape)
    return np.column_stack([x.ravel(), y.ravel()])
