"""Why agents are stuck: the causes, and how each is distinguished at one moment of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.lengths import dots, hypots
from crowdsim.measures.deadlock_graph import find_waits, linked_parts, pairs_within, strong_parts
from crowdsim.measures.deadlock_places import (
    GAP_REACH_M,
    Gap,
    Segments,
    gap_ahead,
    lines_cut,
    walls_beside,
)
from crowdsim.measures.shut_in import SHUT_IN_REACH_M, find_shut_in
from crowdsim.scenario.model import Goal
from crowdsim.world.columns import AgentState, Diagnosis, PathStatus, Wait
from crowdsim.world.events import NOT_DIAGNOSED, Cause
from crowdsim.world.world import World

# A path request that is open longer starves its agent; the verdict of a run warns from then on too.
STARVED_SECONDS = 2.0
ARCH_WIDEST_DIAMETERS = 5.0  # Gaps wider than so many agents do not clog ([To 2001]).
# Cosine below which two go against each other: more than 120 degrees between their directions.
AGAINST = -0.5
ACROSS = 0.5  # Cosine below which two go across each other: more than 60 degrees.
# Between agents that come against each other: what avoidance looks ahead at the speed of agents that have
# almost stopped.
MEETING_M = 2.0
AT_GOAL_M = 0.05  # A path ends at a goal if its last corner is as near to it.
# How agents are put together to find walls in their lines; changes the time that takes only.
BLOCK_M, BLOCK_ROWS = 5.0, 64
# So many agents at a time are asked whether they are shut in: 50 MB in a dense crowd.
ASKED_AT_ONCE = 4096
_QUEUE = int(Cause.QUEUE)
MOMENTARY = (Cause.UNKNOWN, Cause.HEAD_ON, Cause.ARCH, Cause.INFEASIBLE)
NOBODY, WALL = 0, -1


@dataclass(frozen=True)
class Moment:
    """All agents at one moment, rows in ascending entity;
    obstacles that move are rows too where they are known.

    Attributes
    ----------
    tick : int
    tick_length : float, s
    entity : (n,) int64
    position : (n, 2) float64, m
    radius : (n,) float64, m
    layer : (n,) int32
    activity : (n,) uint8
    goal : (n,) int32
    path_status : (n,) uint8
    path_tick : (n,) int64
    preferred_velocity : (n, 2) float64, m/s
    next_corner : (n, 2) float64, m
    diagnosis : (n,) uint8
    blocker : (n,) int64
    is_stuck : (n,) bool
    stuck_tick : (n,) int64
        When that began; of the others anything.
    walls : Segments
    goals : sequence of Goal
    goes_on : (n,) bool
        Obstacles that will yet go on, or vanish, by their timetables.
    waits : (n,) uint8
        Wait.
    highest_person : int
        Entities above it are obstacles that move.
    """

    tick: int
    tick_length: float
    entity: NDArray[np.int64]
    position: NDArray[np.float64]
    radius: NDArray[np.float64]
    layer: NDArray[np.int32]
    activity: NDArray[np.uint8]
    goal: NDArray[np.int32]
    path_status: NDArray[np.uint8]
    path_tick: NDArray[np.int64]
    preferred_velocity: NDArray[np.float64]
    next_corner: NDArray[np.float64]
    diagnosis: NDArray[np.uint8]
    blocker: NDArray[np.int64]
    is_stuck: NDArray[np.bool_]
    stuck_tick: NDArray[np.int64]
    walls: Segments
    goals: Sequence[Goal]
    goes_on: NDArray[np.bool_]
    waits: NDArray[np.uint8]
    highest_person: int

    @property
    def is_starved(self) -> NDArray[np.bool_]:
        """(n,) bool: which agents walk and have waited for their path for long."""
        waits = (self.path_status == PathStatus.PENDING) | (self.path_status == PathStatus.NONE)
        return (
            waits
            & (self.activity == AgentState.WALKING)
            & ((self.tick - self.path_tick) * self.tick_length >= STARVED_SECONDS)
        )

    @property
    def stays(self) -> NDArray[np.bool_]:
        """(n,) bool: which agents stand and go nowhere by themselves, for want of a goal, of a path,
        or of their time.
        """
        return (self.activity == AgentState.STANDING) | (self.activity == AgentState.WAITING)

    @property
    def is_obstacle(self) -> NDArray[np.bool_]:
        """(n,) bool: which rows are obstacles that move."""
        return self.activity == AgentState.OBSTACLE

    def directions(self) -> NDArray[np.float64]:
        """Return (n, 2): unit vectors where those that walk want to go:
        to their next corner, or, at it, where they would like to; 0 for the others.
        """
        to = self.next_corner - self.position
        here = hypots(to[:, 0], to[:, 1]) < 0.01
        to[here] = self.preferred_velocity[here]
        length = hypots(to[:, 0], to[:, 1])
        to[(length < 1e-3) | (self.activity != AgentState.WALKING)] = 0.0
        return to / np.where(length < 1e-3, 1.0, length)[:, None]


def diagnose(moment: Moment) -> Diagnosed:
    """Return why agents are stuck at a moment, for all that are.

    Parameters
    ----------
    moment : Moment

    Returns
    -------
    Diagnosed

    Notes
    -----
    An agent with a reason of its own (no path, no answer, a wall before it) waits for no other. The others
    wait for those that they would walk into and those that avoidance gives way to. Rings of agents that wait
    for each other are strongly connected parts of this graph. A ring that waits for none outside, an agent
    that waits for none, one right behind an agent that stays, and rings of agents that go against each other,
    are heads: their cause is found from what is there. All others have the cause of the head that they wait
    for; of several heads, one that does not get on comes before one that does.
    """
    return Diagnosed(moment)


class Diagnosed:
    """The causes of those that are stuck, by row of the moment; rows of others are not diagnosed.

    Attributes
    ----------
    cause : (n,) uint8
        Cause; NOT_DIAGNOSED for those that are not stuck.
    waits_for : (n,) int64
        Entity that each waits for before others, -1 a wall, 0 nobody.
    head : (n,) int64
        Entity at the head of what it waits for: the lowest of a ring, the one that blocks all others, itself;
        one that stays is a head too.
    is_head : (n,) bool
        Stuck for a reason of its own, in a ring of agents that wait for each other, or right behind one that
        stays.
    ring : (n,) int64
        Lowest entity of the ring that it is in; 0 is none.
    group : (n,) int64
        Lowest entity of those that are linked by waiting; 0 for those that are not stuck.
    gap : list of (Gap or None)
        The gap before it.
    front_tick : (n,) int64
        When one of its front got on last: of the ring or the agent at the head of those that it waits for;
        the tick of the moment in a queue.
    waits : Waits
    """

    def __init__(self, moment: Moment) -> None:
        self.moment = moment
        count = len(moment.entity)
        self.cause = np.full(count, NOT_DIAGNOSED, dtype=np.uint8)
        self.waits_for, self.head = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self.is_head, self.ring = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.int64)
        self.gap: list[Gap | None] = [None] * count
        self.front_tick = moment.stuck_tick.astype(np.int64)
        self.direction = moment.directions()
        self.stays = moment.stays
        # What does not depend on causes of `_rank`, as plain numbers: it is asked for each edge.
        fixed = np.where(moment.is_stuck, 1, 3)
        fixed[self.stays] = 0
        fixed[moment.is_obstacle] = np.where(moment.goes_on, 3, 2)[moment.is_obstacle]
        self.fixed_rank: list[int] = fixed.tolist()
        self.by_x = np.argsort(moment.position[:, 0], kind="stable")
        self.sorted_x, self.widest = moment.position[self.by_x, 0], float(moment.radius.max(initial=0.0))
        stuck = moment.is_stuck
        own = self._own_causes()
        self.waits = waits = find_waits(
            moment.entity,
            moment.position,
            moment.radius,
            moment.layer,
            self.direction,
            moment.blocker,
            stuck & (own == NOT_DIAGNOSED),
        )
        self.first = np.searchsorted(waits.source, np.arange(len(stuck) + 1)).tolist()
        self.target, self.edge_gap = waits.target.tolist(), waits.gap.tolist()
        for row in np.flatnonzero(own != NOT_DIAGNOSED).tolist():
            self._set(row, Cause(int(own[row])), int(moment.entity[row]), is_head=True)
        is_open = (stuck & (own == NOT_DIAGNOSED)).tolist()
        self.is_shut_in = self._shut_in()
        nodes = np.union1d(np.flatnonzero(stuck), waits.target)  # all others are in no edge
        source, target = np.searchsorted(nodes, waits.source), np.searchsorted(nodes, waits.target)
        for members in self._parts(nodes, source, target):
            if is_open[members[0]]:
                self._explain(members)
        links = linked_parts(len(nodes), source, target)
        self.group = np.zeros(len(stuck), dtype=np.int64)
        least: dict[int, int] = {}
        for row, link in zip(nodes.tolist(), links.tolist(), strict=True):
            if stuck[row]:
                self.group[row] = least.setdefault(link, int(moment.entity[row]))

    def _own_causes(self) -> NDArray[np.uint8]:
        """Return (n,) uint8: the causes of those that are stuck for a reason of their own."""
        moment = self.moment
        own = np.full(len(moment.entity), NOT_DIAGNOSED, dtype=np.uint8)
        rows = np.flatnonzero(moment.is_stuck)
        own[rows[self._is_cut_off(rows)]] = Cause.PUSHED_OFF
        own[moment.is_stuck & moment.is_starved] = Cause.STARVED
        own[moment.is_stuck & (self.stays | (moment.path_status == PathStatus.NEAREST_REACHABLE))] = (
            Cause.NO_PATH
        )
        own[moment.is_stuck & self.stays & (moment.path_status == PathStatus.ENCLOSED)] = Cause.ENCLOSED
        own[moment.is_stuck & (moment.waits == Wait.SIGNAL)] = Cause.SIGNAL
        return own

    def _is_cut_off(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (k,) bool: for which of some rows a wall stands between the agent and the point that it
        steers at.
        """
        moment, cut = self.moment, np.zeros(len(rows), dtype=np.bool_)
        # Agents beside each other are looked at together, with the walls round them.
        order = np.lexsort(
            (moment.position[rows, 1], np.floor(moment.position[rows, 0] / BLOCK_M), moment.layer[rows])
        )
        for places in np.split(order, np.arange(BLOCK_ROWS, len(rows), BLOCK_ROWS)):
            for layer in np.unique(moment.layer[rows[places]]).tolist():
                own = places[moment.layer[rows[places]] == layer]
                start, end = moment.position[rows[own]], moment.next_corner[rows[own]]
                cut[own] = lines_cut(start, end, moment.walls.near(np.concatenate([start, end]), layer, 0.0))
        return cut

    @staticmethod
    def _parts(
        nodes: NDArray[np.int64], source: NDArray[np.int64], target: NDArray[np.int64]
    ) -> list[list[int]]:
        """Return the strongly connected parts of the graph of some rows, ascending, by edges between places
        among these, so that those that are waited for come first; members ascending.
        """
        part = strong_parts(len(nodes), source, target)
        order = np.argsort(part, kind="stable")
        starts, rows = np.flatnonzero(np.diff(part[order], prepend=-1)).tolist(), nodes[order].tolist()
        return [rows[first:stop] for first, stop in pairwise([*starts, len(rows)])]

    def _edges(self, row: int) -> range:
        return range(self.first[row], self.first[row + 1])

    def _explain(self, members: list[int]) -> None:
        """Find the cause of a ring, or of one agent that is in none."""
        moment, inside = self.moment, set(members)
        best: tuple[int, float, int, int] | None = None  # rank (lower decides), gap, edge, row
        for row in members:
            for edge in self._edges(row):
                if self.target[edge] not in inside:
                    candidate = (self._rank(self.target[edge]), self.edge_gap[edge], edge, row)
                    best = candidate if best is None else min(best, candidate)
        if len(members) > 1:
            self.ring[members] = moment.entity[members[0]]
        cause, gap = (
            self._cause_of_ring(members)
            if len(members) > 1 and (best is None or best[0] == 3)
            else (Cause.UNKNOWN, None)
        )
        # One that gets on before them does not part agents that go against each other.
        if best is None or cause == Cause.HEAD_ON:
            if len(members) == 1:
                cause, gap = self._cause_alone(members[0])
            for row in members:
                self._set(row, cause, int(moment.entity[members[0]]), is_head=True, gap=gap)
            front_tick = int(moment.stuck_tick[members].max())
        else:
            rank, _, edge, front = best
            other = self.target[edge]
            cause, head = (
                self._cause_behind(front, other),
                self.head[other] if rank == 1 or (rank == 3 and self.head[other]) else moment.entity[other],
            )
            for row in members:
                self._set(row, cause, int(head), is_head=rank == 0 and row == front, gap=self.gap[other])
            self.waits_for[front] = moment.entity[other]
            held_by = {self.target[edge] for row in members for edge in self._edges(row)} - inside
            front_tick = max(
                (int(self.front_tick[each]) for each in held_by if self._rank(each) == 1), default=0
            )
        self.front_tick[members] = moment.tick if cause == Cause.QUEUE else front_tick
        for row in members:
            if not self.waits_for[row]:
                self.waits_for[row] = self._nearest(row, inside)

    def _rank(self, other: int) -> int:
        """Return how surely an agent blocks those that wait for it:
        one that stays, one that is blocked for good, an obstacle, one that gets on.
        """
        rank = self.fixed_rank[other]
        return 3 if rank == 1 and self.cause[other] == _QUEUE else rank

    def _nearest(self, row: int, inside: set[int]) -> int:
        """Return the entity of the nearest that a row waits for, within its ring if there is one;
        -1 if a wall holds it, 0 if nobody does.
        """
        edges = self._edges(row)
        if not edges:
            return WALL if self.moment.blocker[row] == WALL else NOBODY
        nearest = min(edges, key=lambda edge: (self.target[edge] not in inside, self.edge_gap[edge], edge))
        return int(self.moment.entity[self.target[nearest]])

    def _set(self, row: int, cause: Cause, head: int, *, is_head: bool, gap: Gap | None = None) -> None:
        self.cause[row], self.head[row], self.is_head[row], self.gap[row] = cause, head, is_head, gap
        if cause == Cause.PUSHED_OFF and is_head:
            self.waits_for[row] = WALL

    def _cause_behind(self, front: int, other: int) -> Cause:
        """Return the cause of one that waits for an agent outside its ring."""
        rank = self._rank(other)
        if rank == 1:
            return Cause(int(self.cause[other]))
        if rank == 2:
            return Cause.OBSTACLE
        if rank == 3:
            return Cause.QUEUE
        if self._is_goal_taken(front, other):
            return Cause.GOAL_OCCUPIED
        return Cause.ENCLOSED if self.is_shut_in[front] else Cause.THROUGH_PEOPLE

    def _is_goal_taken(self, row: int, other: int) -> bool:
        """Return whether `other` is where the path of `row` ends."""
        moment = self.moment
        corner = moment.next_corner[row]
        apart = float(hypots(*(moment.position[other] - corner)))
        return (
            apart < moment.radius[row] + moment.radius[other]
            and goal_distance(moment.goals, int(moment.goal[row]), corner) <= AT_GOAL_M
        )

    def _shut_in(self) -> NDArray[np.bool_]:
        """Return (n,) bool: those that wait for one that stays and are shut in by such and by walls."""
        moment, waits = self.moment, self.waits
        found = np.zeros(len(moment.entity), dtype=np.bool_)
        asked = np.unique(waits.source[self.stays[waits.target]])
        stays = self.stays | moment.is_obstacle
        those, reach = np.union1d(asked, np.flatnonzero(stays)), SHUT_IN_REACH_M + 2.0 * self.widest
        position, layer, walls = moment.position[those], moment.layer[those], moment.walls
        for rows in np.split(asked, np.arange(ASKED_AT_ONCE, len(asked), ASKED_AT_ONCE)):
            places = np.searchsorted(those, rows)
            i, j = pairs_within(position, layer, places, np.sqrt(2.0) * reach)
            i, other = i[stays[those[j]]], those[j[stays[those[j]]]]
            first = np.searchsorted(i, np.append(places, len(those)))
            beside, shut_in = walls_beside(position[places], layer[places], walls, reach), found[rows]
            find_shut_in(
                rows, moment.position, moment.radius, first, other, walls.start, walls.end, *beside, shut_in
            )  # fmt: skip
            found[rows] = shut_in
        return found

    def _gap(self, rows: list[int]) -> tuple[Gap | None, NDArray[np.int8]]:
        moment, index = self.moment, np.array(rows)
        size = moment.radius[index]
        widest = ARCH_WIDEST_DIAMETERS * 2.0 * float(size.mean())
        layer = int(moment.layer[index[0]])
        walls = moment.walls.near(moment.position[index], layer, GAP_REACH_M + float(size.max()) + widest)
        return gap_ahead(moment.position[index], moment.next_corner[index], size, walls, widest)

    def _cause_alone(self, row: int) -> tuple[Cause, Gap | None]:
        """Return the cause of one that waits for none:
        others that want through the same gap may block it by leaning on it.
        """
        moment = self.moment
        if moment.diagnosis[row] == Diagnosis.INFEASIBLE:
            return Cause.INFEASIBLE, None
        if moment.blocker[row] > moment.highest_person:
            goes_on = bool(np.any(moment.goes_on & (moment.entity == moment.blocker[row])))
            return (Cause.QUEUE if goes_on else Cause.OBSTACLE), None
        near = self._around(row, GAP_REACH_M)
        beside = near[moment.is_stuck[near] & (near != row)].tolist()
        if beside:
            gap, directions = self._gap([row, *beside])
            if gap is not None and directions[0] != 0 and np.any(directions[1:] == directions[0]):
                return (Cause.QUEUE if self._is_served(row, gap) else Cause.ARCH), gap
        if self._meets_another(row):
            return Cause.HEAD_ON, None
        holds = moment.diagnosis[row] == Diagnosis.RELAXED or moment.blocker[row] == WALL
        return (Cause.INFEASIBLE if holds else Cause.UNKNOWN), None

    def _meets_another(self, row: int) -> bool:
        """Return whether another stuck agent comes towards a row in the strip that it needs,
        though neither waits for the other before all others.
        """
        moment, (ux, uy) = self.moment, self.direction[row]
        near = self._around(row, MEETING_M)
        apart = moment.position[near] - moment.position[row]
        along, across = apart[:, 0] * ux + apart[:, 1] * uy, apart[:, 1] * ux - apart[:, 0] * uy
        there = (
            moment.is_stuck[near]
            & (along > 0.0)
            & (np.abs(across) < moment.radius[near] + moment.radius[row])
        )
        cosine = self.direction[near, 0] * ux + self.direction[near, 1] * uy
        return bool(np.any(there & (cosine < AGAINST)))

    def _around(self, row: int, gap: float) -> NDArray[np.int64]:
        """Return the rows of those on the same floor between which and a row is at most a gap (m),
        ascending.
        """
        moment, reach = self.moment, gap + self.widest + float(self.moment.radius[row])
        x = moment.position[row, 0]
        near = self.by_x[
            np.searchsorted(self.sorted_x, x - reach) : np.searchsorted(
                self.sorted_x, x + reach, side="right"
            )
        ]
        near = near[
            (moment.layer[near] == moment.layer[row])
            & (np.abs(moment.position[near, 1] - moment.position[row, 1]) <= reach)
        ]
        apart = hypots(*(moment.position[near] - moment.position[row]).T)
        return np.sort(near[apart - moment.radius[near] - moment.radius[row] <= gap])

    def _cause_of_ring(self, members: list[int]) -> tuple[Cause, Gap | None]:
        """Return the cause of agents that wait for each other and for no others."""
        moment, inside = self.moment, set(members)
        pairs = [
            (row, self.target[edge])
            for row in members
            for edge in self._edges(row)
            if self.target[edge] in inside
        ]
        taken = {row for row, other in pairs if self._is_goal_taken(row, other)}
        if len(taken) == len(members):
            return Cause.GOAL_OCCUPIED, None
        gap, directions = self._gap(members)
        sides = dict(zip(members, directions.tolist(), strict=True))
        against = [self._cosine(a, b) for a, b in pairs if sides[a] == 0 or sides[a] != sides[b]]
        if (np.any(directions == 1) and np.any(directions == -1)) or any(
            cosine < AGAINST for cosine in against
        ):
            return Cause.HEAD_ON, gap
        if gap is not None and max(np.count_nonzero(directions == 1), np.count_nonzero(directions == -1)) > 1:
            return (Cause.QUEUE if self._is_served(members[0], gap) else Cause.ARCH), gap
        if any(cosine < ACROSS for cosine in against) or any(self._meets_another(row) for row in members):
            return Cause.HEAD_ON, gap
        relaxed = np.count_nonzero(moment.diagnosis[members] >= Diagnosis.RELAXED)
        return (Cause.INFEASIBLE if 2 * relaxed > len(members) else Cause.UNKNOWN), None

    def _is_served(self, row: int, gap: Gap) -> bool:
        """Return whether an agent that gets on is at a gap:
        those that block each other before it for a while are passed beside then, and no arch.
        """
        moment = self.moment
        gets_on = (
            (moment.activity == AgentState.WALKING)
            & ~moment.is_stuck
            & (moment.layer == moment.layer[row])
            & (moment.entity <= moment.highest_person)
        )
        along, beyond = gap.b - gap.a, moment.position[gets_on] - gap.a
        share = (dots(beyond, along) / max(gap.width * gap.width, 1e-300)).clip(0.0, 1.0)
        apart = hypots(*(beyond - share[:, None] * along).T)
        return bool(np.any(apart - moment.radius[gets_on] <= GAP_REACH_M))

    def _cosine(self, a: int, b: int) -> float:
        return float(
            self.direction[a, 0] * self.direction[b, 0] + self.direction[a, 1] * self.direction[b, 1]
        )


def goal_distance(goals: Sequence[Goal], index: int, point: NDArray[np.float64]) -> float:
    """Return the distance (m) from a point to a goal; infinite if there is no such goal.

    Parameters
    ----------
    goals : sequence of Goal
    index : int
    point : (2,) float64, m
    """
    if not 0 <= index < len(goals):
        return float("inf")
    goal = goals[index]
    if goal.parts:
        return min(goal_distance(goals, part, point) for part in goal.parts)
    shape = shapely.Point(goal.point) if goal.point is not None else goal.area
    return float(shapely.distance(shape, shapely.Point(point)))


def present_moment(
    world: World,
    tick: int,
    tick_length: float,
    goals: Sequence[Goal],
    people: int,
    is_stuck: NDArray[np.bool_],
    going_on: Sequence[int],
) -> Moment:
    """Return the moment at the end of a tick.

    Parameters
    ----------
    world : World
    tick : int
    tick_length : float, s
    goals : sequence of Goal
        Of the scenario.
    people : int
        The highest entity that an agent can have: those above are obstacles.
    is_stuck : (n,) bool
    going_on : sequence of int
        Entities of obstacles that will yet go on; see `MoveObstacles.going_on`.
    """
    agents, walls = world.agents, world.walls
    return Moment(
        tick, tick_length, agents.entity, agents.position, agents.radius, agents.layer, agents.activity,
        agents.goal, agents.path_status, agents.path_tick, agents.preferred_velocity, agents.next_corner,
        agents.diagnosis, agents.blocker, is_stuck, agents.stuck_tick,
        Segments(walls.start, walls.end, walls.layer), goals,
        np.isin(agents.entity, np.array(going_on, dtype=np.int64)), agents.waits, people,
    )  # fmt: skip
