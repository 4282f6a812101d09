"""Places in regions for agents that stay: those that arrive move in,
so that those behind them find the rim free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.bodies.nudge import find_blocked_lines, rows_of_entities
from crowdsim.bodies.places import FAR_M, FreePlaces, PlaceParameters, choose_places
from crowdsim.setup.things import Goals
from crowdsim.systems.base.system import Tick
from crowdsim.systems.goals.place_rows import (
    NOWHERE,
    OUT,
    STAYS,
    Box,
    Crowd,
    Ends,
    distances_of_free,
    send_in,
    sorted_along,
    split_coming,
    survey_region,
)
from crowdsim.world.columns import AgentState, Wait
from crowdsim.world.random import Stream, agent_key, draw_uniform
from crowdsim.world.states import NO_ONE
from crowdsim.world.world import World

# Farthest apart that places are: pedestrians that wait where the ground is wide stand at arm's length.
LOOSEST_M = 1.2
CLOSER = 0.9  # Share by which they are moved together until there are enough.
ROW = math.sqrt(0.75)  # Distance of the rows of a triangular lattice, of that of its points.
SHARED = 5_000  # Rows of a range at least: one row takes 4 to 6 ns.


@dataclass(frozen=True)
class Lattice:
    """The places of a region: a triangular lattice, shifted by a draw of the scenario's seed.

    Attributes
    ----------
    point : (n, 2) float64, m
    layers : (k,) int32
        The floors that they are on.
    low, high : (2,) float64, m
        A box that is a little larger than they need.
    axis : int
        Its longer side, 0 x or 1 y: along that agents are told apart soonest.
    order : (n,) int64
        The places, ascending along it.
    """

    point: NDArray[np.float64]
    layers: NDArray[np.int32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    axis: int
    order: NDArray[np.int64]


class Surveyed(NamedTuple):
    """Which agents matter for the places of a region; see `survey_region`.

    Attributes
    ----------
    stays : (n,) uint8
        Not 0 for those that stay in the end.
    staying, waited_for : int
        How many these are, and how many of them have a goal.
    widest : float, m
        Their greatest radius.
    found : (5, n) float64, m
        Until the next survey.
    parts : (p, 6) int64
    """

    stays: NDArray[np.uint8]
    staying: int
    waited_for: int
    widest: float
    found: NDArray[np.float64]
    parts: NDArray[np.int64]


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
        self._scratch = np.empty((5, 0))
        self._lattices: dict[tuple[int, float, float], Lattice] = {}
        self._spacings: dict[int, tuple[tuple[int, float, float], float]] = {}  # of agents, and how far
        self._leads: dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}
        self._last: dict[int, tuple[Lattice, float]] = {}  # places of a region, and for how wide agents

    def take(
        self,
        tick: Tick,
        rows: NDArray[np.int64],
        regions: NDArray[np.int32],
        polygon: NDArray[np.int64],
    ) -> None:
        """Let agents that have arrived, and stay, move to places in their regions.

        Parameters
        ----------
        tick : Tick
        rows : (k,) int64
        regions : (k,) int32
            Index of the goal of each.
        polygon : (n,) int64
            Under all agents.
        """
        if not self.parameters.moving_in or not len(rows):
            return
        is_region = self.world.goals.reach == 0.0
        for region in sorted(set(regions.tolist())):
            if is_region[region]:
                self._take_in(tick, rows[regions == region], region, polygon)

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
        standing = blocking[
            (agents.activity[blocking] == AgentState.STANDING)
            & (agents.goal[blocking] < 0)
            & (agents.is_yielding[blocking] == 0)
            & (agents.is_driven[blocking] == 0)
            & (agents.is_immovable[blocking] == 0)
        ]
        if not len(standing):  # mostly those in the way walk themselves
            return
        for region in np.flatnonzero(goals.reach == 0.0).tolist():
            if not self._is_for_staying(region):
                continue
            before = standing[self._survey(tick, region, None).stays[standing] != 0]
            if len(before):
                self._take_in(tick, before, region, self.world.polygons(), leaving=True)

    def _take_in(
        self,
        tick: Tick,
        rows: NDArray[np.int64],
        region: int,
        polygon: NDArray[np.int64],
        *,
        leaving: bool = False,
    ) -> None:
        """Give agents at one region their places; those that are `leaving` have one,
        and get none that they could have from there.
        """
        lattice, spacing, tight, seen = self._survey_places(tick, region, rows, leaving=leaving)
        waited_for, widest, axis = seen.waited_for + len(rows), seen.widest, lattice.axis
        near, far = split_coming(seen.found[:2], seen.parts, axis)
        none, free, chosen = np.empty((2, 0)), dict[float, FreePlaces](), np.empty(len(rows), dtype=np.int64)
        first = 0
        while first < len(rows):
            for apart in dict.fromkeys((spacing, tight)):
                if apart not in free:
                    walking = (near, far) if apart == spacing else (self._all_along(axis, near, far), none)
                    # of other places, or where some are on their way to theirs, others stand near
                    if apart != spacing or first:
                        lattice = self._lattice(region, apart, widest)
                        seen = self._survey(tick, region, (lattice, widest), rows[first:], leaving=leaving)
                    free[apart] = self._free(lattice, seen, widest, walking, axis)
                # walls may leave too few within reach, or some stand beside their places
                last = len(rows) if apart == spacing else first + 1
                done = choose_places(
                    rows, first, last, free[apart], waited_for, self.world.mesh, polygon,
                    self.world.agents.position, self.world.agents.radius, chosen,
                )  # fmt: skip
                if done > first:
                    self._send(tick, rows[first:done], chosen[first:done], free[apart].point)
                    # of the other lattice more than one place may be taken
                    free = {apart: free[apart]}
                    first = done
                    break
            else:
                first += 1  # it has none

    def _send(
        self, tick: Tick, rows: NDArray[np.int64], chosen: NDArray[np.int64], point: NDArray[np.float64]
    ) -> None:
        """Let agents go to the places, (p, 2) m, that they have chosen, for a while."""
        agents = self.world.agents
        send_in(
            rows, chosen, point, agents.position, agents.desired_speed,
            float(self.parameters.place_patience), tick.number, tick.length,
            agents.is_yielding, agents.yield_target, agents.yield_tick,
        )  # fmt: skip

    def _survey_places(
        self, tick: Tick, region: int, rows: NDArray[np.int64], *, leaving: bool
    ) -> tuple[Lattice, float, float, Surveyed]:
        """Return the places of a region, how far apart they are and are at least (m), and what is found among
        them; `rows` and `leaving` as in `_take_in`.

        Which places there are follows from those that stay. They are the same as the last time, as a rule;
        where they are not, those that stand among them are looked for once more.
        """
        self._look_at_ground()
        known = self._last.get(region)
        while True:
            seen = self._survey(tick, region, known, rows, leaving=leaving)
            tight = 2.0 * seen.widest + self.parameters.place_gap
            spacing = self._spacing(region, seen.staying, seen.widest, tight)
            lattice = self._lattice(region, spacing, seen.widest)
            if known is not None and known[0] is lattice and known[1] == seen.widest:
                return lattice, spacing, tight, seen
            known = self._last[region] = lattice, seen.widest

    def _survey(
        self,
        tick: Tick,
        region: int,
        places: tuple[Lattice, float] | None,
        rows: NDArray[np.int64] | None = None,
        *,
        leaving: bool = False,
    ) -> Surveyed:
        """Return which agents matter for a region: those that head for it, or will once they start; those
        with that as their last goal, to stay, and `rows`; and those that stand among its places, for agents
        of a radius (m), if any are given, or are about to. Of these `rows` only count if they are `leaving`.

        Of a region that the run has set, those stay that head for it or stand in it.
        """
        self._look_at_ground()
        agents, fixed = self.world.agents, region < self.world.destinations.fixed
        leads, last = self._leading_to(region) if fixed else (NO_ONE, NO_ONE)
        stays = np.zeros(len(agents), dtype=np.uint8)
        if not fixed:
            stays[self._standing_in(region)] = STAYS
        elif self.world.machines is not None:  # those whose machine lets them stay there
            stays[(agents.waits == Wait.STAY) & (agents.step == region)] = STAYS
        if rows is not None:
            stays[rows] = STAYS if leaving else OUT
        box = NOWHERE
        if places is not None:
            box = Box(places[0].low, places[0].high, places[0].layers, FAR_M, places[1])
        if self._scratch.shape[1] != len(agents):
            self._scratch = np.empty((5, len(agents)))
        crowd = Crowd(
            agents.activity, agents.goal, agents.itinerary, agents.layer, agents.radius, agents.position,
            agents.is_yielding, agents.yield_target,
        )  # fmt: skip
        listed = tick.team.run(
            survey_region, len(agents), crowd, Ends(region, leads, last), box, stays, self._scratch,
            at_least=SHARED,
        )  # fmt: skip
        return Surveyed(
            stays,
            sum(each[0] for each in listed),
            sum(each[1] for each in listed),
            max(each[2] for each in listed),
            self._scratch,
            np.array([each[3:] for each in listed]),
        )

    def _is_for_staying(self, region: int) -> bool:
        """Return whether agents may stay in a region: those with it as the last of their goals do, those
        whose machine says so, and those that the run has sent there.
        """
        if region >= self.world.destinations.fixed or self.world.machines is not None:
            return True
        self._look_at_ground()
        return bool(self._leading_to(region)[1].any())

    def _look_at_ground(self) -> None:
        """Forget what follows from goals on other ground."""
        if self._goals is not self.world.fixed_goals:
            self._goals = self.world.fixed_goals
            self._lattices.clear()
            self._spacings.clear()
            self._leads.clear()
            self._last.clear()

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

    @staticmethod
    def _all_along(axis: int, near: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return all walkers, sorted along an axis: far from one lattice is not far from another."""
        return sorted_along(0, np.concatenate([near, far[[axis, 1 - axis]]], axis=1))

    @staticmethod
    def _free(
        lattice: Lattice,
        seen: Surveyed,
        radius: float,
        walking: tuple[NDArray[np.float64], NDArray[np.float64]],
        axis: int,
    ) -> FreePlaces:
        """Return which places those leave free that stand, or are about to, for an agent of this radius."""
        distance = distances_of_free(
            lattice.point, lattice.axis, lattice.order, seen.found[2:], seen.parts, radius
        )
        return FreePlaces(lattice.point, axis, *walking, distance, np.zeros(len(distance), dtype=np.bool_))

    def _spacing(self, region: int, agents: int, radius: float, tight: float) -> float:
        """Return how far apart the places of a region are for so many agents (m):
        as far as they fit, but no farther than pedestrians like it.
        """
        for_these, spacing = (agents, radius, tight), max(tight, LOOSEST_M)
        known = self._spacings.get(region)
        if known is not None and known[0] == for_these:
            return known[1]
        while spacing > tight and len(self._lattice(region, spacing, radius).point) < agents:
            spacing = max(tight, CLOSER * spacing)
        self._spacings[region] = for_these, spacing
        return spacing

    def _lattice(self, region: int, spacing: float, radius: float) -> Lattice:
        """Return the places of a region, so far apart; they are laid out once."""
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
        axis = int(np.argmax(high - low))
        layers, order = np.unique(world.mesh.polygon_layer[polygon]), np.argsort(point[:, axis])
        return Lattice(point, layers, low, high, axis, order)


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
