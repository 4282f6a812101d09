"""Places in regions for agents that stay: those that arrive move in,
so that those behind them find the rim free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.bodies.nudge import find_blocked_lines, rows_of_entities
from crowdsim.bodies.places import PlaceParameters
from crowdsim.setup.things import Goals
from crowdsim.systems.base.system import Tick
from crowdsim.systems.goals.place_rows import (
    COUNT,
    OUT,
    PART_COLUMNS,
    STAYS,
    Crowd,
    Regions,
    Settlers,
    choose_apart,
    settle,
    survey_regions,
)
from crowdsim.world.columns import AgentState, Wait
from crowdsim.world.random import Stream, agent_key, draw_uniform
from crowdsim.world.world import World

# Farthest apart that places are: pedestrians that wait where the ground is wide stand at arm's length.
LOOSEST_M = 1.2
CLOSER = 0.9  # Share by which they are moved together until there are enough.
ROW = math.sqrt(0.75)  # Distance of the rows of a triangular lattice, of that of its points.
SHARED = 5_000  # Rows of a range at least: one row takes 4 to 6 ns.
AT_ONCE = 8  # Regions that are looked at together at most: each takes 9 bytes of memory for an agent.


@dataclass(frozen=True, eq=False)
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
    """Which agents matter for the places of regions; see `survey_regions`.

    Attributes
    ----------
    stays : (k, n) uint8
        Not 0 for those that stay in the end.
    staying : (k,) int64
        How many these are.
    widest : (k,) float64, m
        Their greatest radius.
    found : (k, 2, n) int32
        Until the next survey.
    parts : (k, shares, PART_COLUMNS) int64
    """

    stays: NDArray[np.uint8]
    staying: NDArray[np.int64]
    widest: NDArray[np.float64]
    found: NDArray[np.int32]
    parts: NDArray[np.int64]


# The places of a region, None for none, and the radius (m) of agents that they are for.
Known = tuple[Lattice | None, float]
Coming = dict[int, list[int]]  # Rows of agents that are to have places, by region.


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
        self._found = np.empty((0, 2, 0), dtype=np.int32)
        self._lattices: dict[tuple[int, float, float], Lattice] = {}
        self._spacings: dict[int, tuple[tuple[int, float, float], float]] = {}  # of agents, and how far
        self._leads: dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}
        self._last: dict[int, Known] = {}
        self._laid_out: dict[int, Known] = {}  # what is in the table
        self._row: dict[int, int] = {}  # of each region there
        self._table: Regions | None = None

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
        coming: Coming = {}
        reach = self.world.goals.reach
        for row, region in zip(rows.tolist(), regions.tolist(), strict=True):
            if reach[region] == 0.0:
                coming.setdefault(region, []).append(row)
        which = sorted(coming)
        for first in range(0, len(which), AT_ONCE):
            some = which[first : first + AT_ONCE]
            self._take_in(tick, {region: coming[region] for region in some}, polygon)

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
            seen = self._survey(tick, {region: []}, self._table_of({region: (None, 0.0)}))
            before = standing[seen.stays[0, standing] != 0]
            if len(before):
                self._take_in(tick, {region: before.tolist()}, self.world.polygons(), leaving=True)

    def _take_in(
        self, tick: Tick, coming: Coming, polygon: NDArray[np.int64], *, leaving: bool = False
    ) -> None:
        """Give agents their places in regions, of one after the other; those that are `leaving` have one,
        and get none that they could have from there.
        """
        known, spacing, tight, seen = self._survey_places(tick, coming, leaving=leaving)
        counts = [len(rows) for rows in coming.values()]
        is_last = [loose == least for loose, least in zip(spacing, tight, strict=True)]
        done = self._settle(tick, self._regions(list(coming), known), seen, coming, counts, is_last, polygon)
        for at, (region, rows) in enumerate(coming.items()):
            if done[at] < counts[at]:
                apart, widest = (spacing[at], tight[at]), float(seen.widest[at])
                self._take_in_one_by_one(
                    tick, region, rows[done[at] :], apart, widest, polygon, leaving=leaving
                )

    def _take_in_one_by_one(
        self,
        tick: Tick,
        region: int,
        rows: list[int],
        apart: tuple[float, float],
        widest: float,
        polygon: NDArray[np.int64],
        *,
        leaving: bool,
    ) -> None:
        """Give agents at a region, of which the first gets to none of the places that are as far apart as
        they fit, places as near to each other as they may be, and those after it places farther apart again;
        they are for agents of a radius `widest` (m).

        Walls may leave too few within reach, or some stand beside their places. Of other places, or where
        some are on their way to theirs, others stand near: all are looked at again for each.
        """
        loose, tight = apart
        first, spacing = 0, tight
        while first < len(rows):
            left = rows[first:]
            regions = self._table_of({region: (self._lattice(region, spacing, widest), widest)})
            seen = self._survey(tick, {region: left}, regions, leaving=leaving)
            # of the nearer places more than one may be taken
            now = {region: left if spacing == loose else left[:1]}
            done = self._settle(tick, regions, seen, now, [len(left)], [False], polygon)[0]
            if spacing == loose:
                first, spacing = first + done, tight
            else:
                first, spacing = first + 1, loose  # it has one, or none at all

    def _settle(
        self,
        tick: Tick,
        regions: Regions,
        seen: Surveyed,
        coming: Coming,
        counts: list[int],
        is_last: list[bool],
        polygon: NDArray[np.int64],
    ) -> list[int]:
        """Let agents choose places in regions, and go there; return how many have chosen in each.

        Parameters
        ----------
        tick : Tick
        regions : Regions
        seen : Surveyed
        coming : Coming
        counts : list of int
            How many come to each region, these included.
        is_last : list of bool
            Whether there are no other places for one that gets to none of these.
        polygon : (n,) int64
            Under all agents.
        """
        rows = np.array([row for of_one in coming.values() for row in of_one], dtype=np.int64)
        start = np.array([0, *accumulate(map(len, coming.values()))])
        settlers = Settlers(
            rows,
            start,
            np.array(counts),
            np.array(is_last),
            float(self.parameters.place_patience),
            tick.number,
            tick.length,
        )
        chosen, done = np.empty(len(rows), dtype=np.int64), np.empty(len(counts), dtype=np.int64)
        given = regions, self._crowd(), self.world.mesh, polygon, seen.found, seen.parts, settlers
        tick.team.run(choose_apart, len(done), *given, chosen, done, at_least=1)
        settle(*given, chosen, done)
        counted: list[int] = done.tolist()
        return counted

    def _survey_places(
        self, tick: Tick, coming: Coming, *, leaving: bool
    ) -> tuple[list[Known], list[float], list[float], Surveyed]:
        """Return the places of regions, how far apart they are and are at least, m, and what is found among
        them; parameters as in `_take_in`.

        Which places there are follows from those that stay. They are the same as the last time, as a rule;
        where they are not, those that stand among them are looked for once more.
        """
        self._look_at_ground()
        which = list(coming)
        known: list[Known] = [self._last.get(region, (None, 0.0)) for region in which]
        while True:
            seen = self._survey(tick, coming, self._regions(which, known), leaving=leaving)
            now, spacing, tight = list[Known](), list[float](), list[float]()
            for region, staying, widest in zip(
                which, seen.staying.tolist(), seen.widest.tolist(), strict=True
            ):
                tight.append(2.0 * widest + self.parameters.place_gap)
                spacing.append(self._spacing(region, staying, widest, tight[-1]))
                now.append((self._lattice(region, spacing[-1], widest), widest))
            if now == known:
                return known, spacing, tight, seen
            known = now
            self._last.update(zip(which, now, strict=True))

    def _survey(self, tick: Tick, coming: Coming, regions: Regions, *, leaving: bool = False) -> Surveyed:
        """Return which agents matter for regions: those that head for one, or will once they start; those
        with that as their last goal, to stay, and those that are `coming`; and those that stand among its
        places, or are about to. Of these those that are coming only count if they are `leaving`.

        Of a region that the run has set, those stay that head for it or stand in it.
        """
        world, count = self.world, len(self.world.agents)
        stays = np.zeros((len(coming), count), dtype=np.uint8)
        for at, (region, rows) in enumerate(coming.items()):
            if world.machines is not None or region >= world.destinations.fixed:
                self._mark_staying(region, stays[at])
            stays[at, rows] = STAYS if leaving else OUT
        if self._found.shape[2] != count or len(self._found) < len(coming):
            self._found = np.empty((len(coming), 2, count), dtype=np.int32)
        found, shares = self._found[: len(coming)], max(1, min(tick.team.threads, count // SHARED))
        parts = np.empty((len(coming), shares, PART_COLUMNS), dtype=np.int64)
        widest = np.empty((len(coming), shares))
        given = regions, self._crowd(), stays, found, parts, widest
        tick.team.run(survey_regions, shares, *given, at_least=1)
        return Surveyed(stays, parts[:, :, COUNT].sum(axis=1), widest.max(axis=1), found, parts)

    def _mark_staying(self, region: int, stays: NDArray[np.uint8]) -> None:
        """Mark those that stay in a region for other reasons than their lists of goals, (n,)."""
        world, agents = self.world, self.world.agents
        if region >= world.destinations.fixed:
            stays[self._standing_in(region)] = STAYS
        elif world.machines is not None:  # those whose machine lets them stay there
            stays[(agents.waits == Wait.STAY) & (agents.step == region)] = STAYS

    def _crowd(self) -> Crowd:
        """Return what kernels see of agents."""
        agents = self.world.agents
        return Crowd(
            agents.activity, agents.goal, agents.itinerary, agents.layer, agents.radius, agents.position,
            agents.desired_speed, agents.is_yielding, agents.yield_target, agents.yield_tick,
        )  # fmt: skip

    def _regions(self, which: Sequence[int], known: Sequence[Known]) -> Regions:
        """Return what kernels see of regions and their places, as long as these are the same: a table of all
        regions into which agents have come.
        """
        self._look_at_ground()
        places = dict(zip(which, known, strict=True))
        if self._table is None or any(self._laid_out.get(each) != own for each, own in places.items()):
            self._laid_out |= places
            self._row = {region: row for row, region in enumerate(self._laid_out)}
            self._table = self._table_of(self._laid_out)
        return self._table._replace(which=np.array([self._row[region] for region in which]))

    def _table_of(self, places: dict[int, Known]) -> Regions:
        """Return what kernels see of regions with these places, all of which are looked at."""
        number, fixed = np.array(list(places), dtype=np.int32), self.world.destinations.fixed
        self._look_at_ground()
        leads, ends = zip(*(self._leading_to(region) for region in places), strict=True)
        lattices = [lattice or _NO_PLACES for lattice, _ in places.values()]
        floors = max(1, *(len(each.layers) for each in lattices))
        layers = [np.resize(each.layers if len(each.layers) else -1, floors) for each in lattices]
        return Regions(
            np.arange(len(number)),
            number,
            number < fixed,
            np.array(leads),
            np.array(ends),
            np.array([each.low for each in lattices]),
            np.array([each.high for each in lattices]),
            np.array(layers, dtype=np.int32),
            np.array([widest for _, widest in places.values()]),
            np.cumsum([0, *(len(each.point) for each in lattices)]),
            np.concatenate([each.point for each in lattices]),
            np.concatenate([each.order for each in lattices]),
            np.array([each.axis for each in lattices]),
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
            self._laid_out.clear()
            self._table = None

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
        """Return which goals of the scenario are a region or may be, (goals,) bool, and which itineraries end
        there for agents that stay, (itineraries,) bool.
        """
        if region not in self._leads:
            goals = self.world.fixed_goals
            start = goals.goal_start
            leads = np.array(
                [
                    region in goals.piece_source[start[goal] : start[goal + 1]]
                    for goal in range(len(start) - 1)
                ],
                dtype=np.bool_,
            )
            last = [
                bool(each.goals) and not each.leaves and bool(leads[each.goals[-1]])
                for each in self.world.itineraries
            ]
            self._leads[region] = leads, np.array(last, dtype=np.bool_)
        return self._leads[region]

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


_NO_PLACES = Lattice(
    np.zeros((0, 2)),
    np.zeros(0, dtype=np.int32),
    np.full(2, np.inf),
    np.full(2, -np.inf),
    0,
    np.zeros(0, dtype=np.int64),
)


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
