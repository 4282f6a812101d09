"""Plan and Follow on a grid: ways as waypoints instead of corridors (SYSTEMS G4 to G8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals import GoalPieces
from crowdsim.navigation.grid.parameters import WalkParameters
from crowdsim.navigation.grid.planner import GridPlanner, WayAnswers
from crowdsim.navigation.grid.search import FOUND, FOUND_THROUGH_AGENTS
from crowdsim.navigation.grid.walkers import Walkers
from crowdsim.systems.base import System, Tick
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import EventKind
from crowdsim.world.world import World

LEAST_EXPANSIONS = 50_000  # Default budget of small crowds: some 5 ms of one core, a handful of ways over a large hall.
EXPANSIONS_AN_AGENT = 10


INSIDE_M = 0.1  # How far inside of a piece of a goal its target lies: farther than the 0.05 m within which a waypoint is reached.


def targets_of(goals: GoalPieces) -> NDArray[np.float64]:
    """Return the point of each piece of a goal that ways lead to, (np, 2), m: its pole, drawn a little into the piece, since the pole may lie on its rim."""
    corners = np.diff(goals.vertex_start)
    middle = np.add.reduceat(goals.vertex, goals.vertex_start[:-1]) / corners[:, None] if len(corners) else np.zeros((0, 2))
    inwards = middle - goals.pole
    away = np.maximum(np.hypot(inwards[:, 0], inwards[:, 1]), 1e-300)
    return goals.pole + inwards * np.minimum(0.5, INSIDE_M / away)[:, None]


def default_budget(agents: int) -> int:
    """Return the expansions a tick where the scenario names none: 50,000, or ten for each agent."""
    return max(LEAST_EXPANSIONS, EXPANSIONS_AN_AGENT * agents)


class Ways:
    """The walks of the agents in the world, by entity; what PlanWays and FollowWays share."""

    def __init__(self, parameters: WalkParameters) -> None:
        self.entity = np.zeros(0, dtype=np.int64)
        self.walkers = Walkers(np.zeros((0, 2)), parameters)

    def keep_up(self, world: World) -> None:
        """Number the walks like the rows of the agents, and stop those who do not walk where they are."""
        agents = world.agents
        if not np.array_equal(self.entity, agents.entity):
            place = np.searchsorted(self.entity, agents.entity)
            known = np.isin(agents.entity, self.entity)
            self.walkers.select(np.where(known, place, -1), agents.position)
            self.entity = agents.entity.copy()
        self.walkers.stop(np.flatnonzero(agents.activity != AgentState.WALKING), agents.position)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the walks as named arrays."""
        return {"entity": self.entity.copy(), **self.walkers.state()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `state()` gave."""
        self.entity = state["entity"].copy()
        self.walkers.restore(state)


class PlanWays(System):
    """Ask for ways, search within the budget, set agents on what was found; the place of Plan in the tick.

    Parameters
    ----------
    world : World
    planner : GridPlanner
        Its targets are those of `targets_of`.
    ways : Ways
    budget : int
        Expansions a tick.
    """

    reads = ("entity", "activity", "goal", "position", "radius", "path_status", "path_tick", "asks_again", "is_yielding")
    writes = ("activity", "path_status", "path_tick", "goal_piece")
    counts = ("expansions", "requests_open", "oldest_request_ticks")

    def __init__(self, world: World, planner: GridPlanner, ways: Ways, budget: int) -> None:
        super().__init__(world)
        self.planner, self.ways, self.budget = planner, ways, budget

    def process(self, tick: Tick) -> None:
        """Submit, search, apply."""
        agents = self.world.agents
        self.ways.keep_up(self.world)
        wants = np.flatnonzero((agents.activity == AgentState.WALKING) & (agents.path_status == PathStatus.NONE) & (agents.goal >= 0))
        if len(wants):
            self._ask(tick, wants)
        answers, expansions = self.planner.advance(self.budget, tick.team)
        if len(answers.entity):
            self._apply(tick, answers)
        tick.counts["expansions"] = expansions
        tick.counts["requests_open"] = self.planner.waiting
        tick.counts["oldest_request_ticks"] = tick.number - self.planner.oldest_tick(tick.number)

    def _ask(self, tick: Tick, rows: NDArray[np.int64]) -> None:
        """Ask for ways to the pieces of the goals that are nearest as the crow flies, round those who stand now."""
        agents, planner, walkers = self.world.agents, self.planner, self.ways.walkers
        piece = self._nearest_piece(rows)
        agents.goal_piece[rows] = piece
        agents.path_tick[rows] = tick.number
        hopeless = rows[piece < 0]
        self._give_up(tick, hopeless, np.full(len(hopeless), PathStatus.UNREACHABLE, dtype=np.uint8))
        rows, piece = rows[piece >= 0], piece[piece >= 0]
        is_new = walkers.ask(rows, planner.target[piece]) | (agents.asks_again[rows] == 1)
        walkers.walks.target[rows[~is_new]] = planner.target[piece[~is_new]]  # a step at most, for which no way has to be found
        agents.path_status[rows] = np.where(is_new, np.uint8(PathStatus.PENDING), np.uint8(PathStatus.FOUND))
        rows, piece = rows[is_new], piece[is_new]
        # Who is about to get a way of its own is not in the way of others: in a crowd that starts together, everybody would walk round everybody.
        stays = (agents.activity == AgentState.STANDING) | (agents.activity == AgentState.WAITING)
        stands = np.flatnonzero(walkers.standing(agents.position, tick.team) & stays & (agents.is_yielding == 0))
        planner.stand(agents.entity[stands], agents.position[stands], agents.radius[stands])
        planner.submit(tick.number, agents.entity[rows], agents.position[rows], self.world.polygons()[rows], piece, agents.radius[rows])

    def _nearest_piece(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the piece of each agent's goal whose target is nearest to it; -1 if the goal has none."""
        agents, goals = self.world.agents, self.world.goals
        target = self.planner.target
        result = np.full(len(rows), -1, dtype=np.int32)
        for goal in np.unique(agents.goal[rows]).tolist():
            first, last = int(goals.goal_start[goal]), int(goals.goal_start[goal + 1])
            mine = np.flatnonzero(agents.goal[rows] == goal)
            if last > first:
                away = agents.position[rows[mine], None, :] - target[None, first:last, :]
                result[mine] = first + np.argmin(np.hypot(away[:, :, 0], away[:, :, 1]), axis=1)
        return result

    def _apply(self, tick: Tick, answers: WayAnswers) -> None:
        """Set agents on their ways; who has none gives up."""
        agents, events = self.world.agents, self.world.events
        rows = np.searchsorted(agents.entity, answers.entity)
        agents.path_status[rows] = answers.status
        agents.path_tick[rows] = tick.number
        leads_there = (answers.status == FOUND) | (answers.status == FOUND_THROUGH_AGENTS)
        beyond = np.where(leads_there[:, None], self.planner.target[agents.goal_piece[rows]], np.nan)
        self.ways.walkers.take(rows, answers.start, answers.waypoint, agents.position, beyond)
        has_way = np.diff(answers.start) > 0
        length = np.column_stack([answers.length, np.zeros(len(rows))])
        events.note(tick.number, EventKind.PATH_FOUND, answers.entity[has_way], length[has_way], answers.status[has_way])
        self._give_up(tick, rows[~has_way], answers.status[~has_way])

    def _give_up(self, tick: Tick, rows: NDArray[np.int64], status: NDArray[np.uint8]) -> None:
        agents = self.world.agents
        agents.path_status[rows] = status
        agents.activity[rows] = AgentState.STANDING
        self.world.events.note(tick.number, EventKind.UNREACHABLE, agents.entity[rows], agents.position[rows], status)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the searches, the queue, and the walks."""
        return {**{f"planner/{name}": array for name, array in self.planner.state().items()}, **{f"ways/{n}": a for n, a in self.ways.state().items()}}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take back what `state()` gave."""
        self.planner.restore({name[8:]: array for name, array in state.items() if name.startswith("planner/")})
        self.ways.restore({name[5:]: array for name, array in state.items() if name.startswith("ways/")})


class FollowWays(System):
    """Set preferred velocities along waypoints; the place of Follow in the tick.

    Parameters
    ----------
    world : World
    ways : Ways
    """

    reads = ("entity", "activity", "path_status", "position", "desired_speed", "is_driven")
    writes = ("activity", "preferred_velocity", "next_corner")
    counts = ("guessing",)

    def __init__(self, world: World, ways: Ways) -> None:
        super().__init__(world)
        self.ways = ways

    def process(self, tick: Tick) -> None:
        """Lead those who walk; who is as near to its goal as can be stands there."""
        agents, walkers = self.world.agents, self.ways.walkers
        velocity, arrived = walkers.follow(agents.position, agents.desired_speed, tick.length, tick.team)
        free = agents.is_driven == 0
        walking = free & (agents.activity == AgentState.WALKING)
        agents.preferred_velocity[walking] = velocity[walking]
        agents.preferred_velocity[free & ~walking] = 0.0
        aim = walkers.aim()
        # A walk ends near its target, arriving may take a little more: into the region, or nearer than `arrive_within`.
        near = np.flatnonzero(walking & (walkers.walks.is_walking == 0) & np.isin(agents.path_status, (PathStatus.FOUND, PathStatus.FOUND_THROUGH_AGENTS)))
        rest = (aim[near] - agents.position[near]) / tick.length
        pace = np.maximum(np.hypot(rest[:, 0], rest[:, 1]), 1e-300)
        agents.preferred_velocity[near] = rest * np.minimum(1.0, agents.desired_speed[near] / pace)[:, None]
        agents.next_corner[walking] = aim[walking]
        agents.next_corner[free & ~walking] = agents.position[free & ~walking]
        agents.activity[walking & arrived & (agents.path_status == PathStatus.NEAREST_REACHABLE)] = AgentState.STANDING
        tick.counts["guessing"] = 0.0
