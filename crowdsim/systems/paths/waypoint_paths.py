"""Paths as waypoints: points that agents walk to one after the other, over the cells of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.bodies.spread import SpreadParameters
from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED, STRAIGHT_TO_GOAL
from crowdsim.navigation.goals.fronts import WIDEST_M
from crowdsim.navigation.grid.choices import Choices
from crowdsim.navigation.grid.clearance import walked
from crowdsim.navigation.grid.layout import Shut
from crowdsim.navigation.grid.parameters import WalkParameters
from crowdsim.navigation.grid.planner import WaypointAnswers
from crowdsim.navigation.grid.search import FOUND, FOUND_THROUGH_AGENTS
from crowdsim.navigation.grid.waiting import CellWaitParameters
from crowdsim.navigation.grid.walkers import Walkers
from crowdsim.navigation.mesh.mesh import see_many
from crowdsim.saved import MOST, Arrays, Saved, ascends
from crowdsim.scenario.areas import closed_at_the_begin
from crowdsim.scenario.parameters import Chosen
from crowdsim.setup.build import Built, weigh_cells
from crowdsim.systems.base.slices import Budget
from crowdsim.systems.base.system import GroundChange, Tick, shares_in_plan
from crowdsim.systems.paths.cell_guesses import CellGuesses
from crowdsim.systems.paths.lost_paths import (
    WALKS,
    ask_on_new_ground,
    drop_corridors,
    lose_shut_paths,
    take_length,
    take_path,
)
from crowdsim.systems.paths.paths import Paths, require_open
from crowdsim.world.columns import AgentState, Led, PathStatus
from crowdsim.world.states import has_path

# A path over cells that is longer than the line to its end by less leads straight there: steps from cell to
# cell are up to 8 % longer.
STRAIGHT = 1.1
BEYOND_M = 1000.0  # How far beyond the cells a saved waypoint can lie: goals may lie off the ground.


class WaypointPaths(Paths):
    """Paths that are waypoints, and the walks of agents along them.

    The planner is a `GridPlanner`, its targets are those of `places_of_goals`. Planner and walks know places
    on the sheet of the grid, on which floors lie side by side; columns of agents have places in plan.

    Attributes
    ----------
    walkers : Walkers
        The walks of all agents in the world, row by row.
    near : float, m
        How far from the end of its path an agent is at most of which it is looked at whether it leads
        straight there, though the cells have it bend.
    guesses : CellGuesses or None
        Of agents that do not just stand, or keep to their paths, while they wait (`CellWaitParameters`).
    """

    def __init__(
        self,
        built: Built,
        chosen: Chosen,
        budget: Budget,
        groups: NDArray[np.bool_] | None,
        name: str,
    ) -> None:
        super().__init__(built, chosen, budget, groups, name)
        self._entity = np.zeros(0, dtype=np.int64)
        ground = self.planner.grid.ground if self.planner.grid.has_floors else None
        self.walkers = Walkers(np.zeros((0, 2)), chosen.parameters(WalkParameters), ground)
        reach = built.scenario.bodies.parameters(SpreadParameters).spread_reach
        self.near = reach + WIDEST_M if reach > 0.0 else 0.0
        waiting = chosen.parameters(CellWaitParameters).while_waiting
        self.stays = waiting == "stay"
        self.guesses: CellGuesses | None = None
        if waiting in ("guess", "previous"):
            self.guesses = CellGuesses(self.world, self.planner, waiting == "previous", self.past_walls)
        self.show(closed_at_the_begin(built.scenario.geometry.areas))

    def places(self) -> NDArray[np.float64]:
        """Return where all agents are on the sheet of the grid, (n, 2) m."""
        agents = self.world.agents
        return self.planner.grid.sheet.place_of(agents.position, agents.layer)

    def keep_up(self) -> None:
        """Number the walks like the rows of the agents, and stop those of agents that do not walk."""
        agents, here = self.world.agents, self.places()
        if not np.array_equal(self._entity, agents.entity):
            place = np.searchsorted(self._entity, agents.entity)
            known = np.isin(agents.entity, self._entity)
            self.walkers.select(np.where(known, place, -1), here)
            self._entity = agents.entity.copy()
        self.walkers.stop(np.flatnonzero(agents.activity != AgentState.WALKING), here)

    def ask(self, tick: Tick) -> None:
        """Ask, for the agents that there are now."""
        self.keep_up()
        super().ask(tick)

    def forget(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that changed their mind."""
        self.planner.drop(entity)
        if self.guesses is not None:
            led, agents = entity[self.guesses.led(entity)], self.world.agents
            self.walkers.halt(
                np.searchsorted(self._entity, led), self.places()[np.searchsorted(agents.entity, led)]
            )
            self.guesses.forget(entity)

    def give_up(self, tick: Tick, rows: NDArray[np.int64], status: NDArray[np.uint8]) -> None:
        """Let agents stand because there is no path for them, on no guess either; see `Paths.give_up`."""
        super().give_up(tick, rows, status)
        if self.guesses is not None:
            self.guesses.forget(self.world.agents.entity[rows])

    def let_go(self, rows: NDArray[np.int64]) -> None:
        """Take the goals of agents that are sent elsewhere; they walk on until they have another path."""
        drop_corridors(self.world.agents, rows)

    def too_narrow(self, row: int, radius: float, before: float) -> bool:
        """Return that a path over cells serves one radius."""
        return True

    def forget_targets(self, rows: NDArray[np.int64]) -> None:
        """Forget what agents asked for, so that they look for a path even to the same target."""
        self.keep_up()
        self.walkers.forget(rows)

    def put_elsewhere(self, rows: NDArray[np.int64]) -> None:
        """Stop agents where they are now."""
        self.keep_up()
        self.walkers.stop(rows, self.places())
        self.walkers.forget(rows)

    @property
    def widest_agent(self) -> float:
        """The greatest radius (m) that paths can be found for."""
        return np.inf if self.planner.parameters.agent_radius > 0.0 else float(self.planner.grid.widest_body)

    def weigh_anew(self) -> None:
        """Search by what metres cost now; see `Paths.weigh_anew`."""
        built, chosen = self._found_by
        weigh_cells(self.planner.grid, built.scenario.geometry, chosen, self.own.weigh)

    def show(self, closed: Sequence[Shut]) -> None:
        """Show on the grid what is closed now."""
        self.planner.grid.show(closed)
        self._closed = tuple(closed)
        self.planner.stand_on(self.world.mesh, self.world.goals)

    def stand_on(self, tick: int, change: GroundChange, team: Team) -> None:
        """Find paths on another ground from now on;
        agents that wait for a path, or have one over cells that were lost, ask again.
        """
        world, agents, walkers = self.world, self.world.agents, self.walkers
        before, bars = self.planner.grid.walkable(), self.planner.grid.bars
        self.show(change.closed)
        if not change.is_new:
            return
        ask_on_new_ground(world, change.has_opened)
        self.keep_up()
        mine = self.mine()
        self.forget(agents.entity[mine & (agents.path_status == PathStatus.STALE)])
        grid = self.planner.grid
        # a thin door may hold no centre: then steps over it are what is lost
        is_lost = before & (~grid.walkable() | ((grid.bars & ~bars) > 0))
        is_cut = walkers.cut(is_lost, grid.ground, self.places(), team)
        lost = np.flatnonzero(
            is_cut & mine & np.isin(agents.path_status, WALKS) & (agents.activity == AgentState.WALKING)
        )
        lose_shut_paths(world, tick, lost, (walkers.walks.total - walkers.walks.current)[lost])
        walkers.forget(np.flatnonzero(mine & (agents.path_status == PathStatus.NONE)))
        has_piece = np.flatnonzero(mine & (agents.goal_piece >= 0))
        agents.goal_piece[has_piece] = self.planner.chooser().piece_at(
            agents.goal[has_piece], walkers.walks.target[has_piece]
        )

    def submit(self, tick: Tick, rows: NDArray[np.int64], since: int, *, settled: bool = False) -> None:
        """Ask for paths to the pieces of the goals that are nearest on foot, round agents that stand now;
        see `Paths.submit`.
        """
        agents, planner, walkers = self.world.agents, self.planner, self.walkers
        shut_in = self._shut_in(rows)
        self.give_up(tick, rows[shut_in], np.full(int(shut_in.sum()), PathStatus.ENCLOSED, dtype=np.uint8))
        rows, chooser = rows[~shut_in], self.planner.chooser()
        which, choices = self._choices(rows)
        agents.path_tick[rows] = tick.number
        hopeless = rows[which < 0]
        agents.goal_piece[hopeless] = -1
        self.give_up(tick, hopeless, np.full(len(hopeless), PathStatus.UNREACHABLE, dtype=np.uint8))
        rows, which = rows[which >= 0], which[which >= 0]
        # Of several points the search finds the nearest; of one it is known whether a path leads there
        # already.
        only = (
            np.array([points[0] if len(points) == 1 else -1 for points in choices], dtype=np.int64)[which]
            if len(rows)
            else which
        )
        has_one = only >= 0
        agents.goal_piece[rows] = np.where(has_one, chooser.piece[only], -1)
        is_new = np.ones(len(rows), dtype=np.bool_)
        is_new[has_one] = walkers.ask(rows[has_one], planner.target[only[has_one]]) | (
            agents.asks_again[rows[has_one]] == 1
        )
        if self.guesses is not None:
            # an agent that was put elsewhere while it waited has no path yet
            is_new |= self.guesses.knows(agents.entity[rows])
        walkers.forget(rows[~has_one])
        # a step at most, which needs no new path
        walkers.walks.target[rows[~is_new]] = planner.target[only[~is_new]]
        agents.path_status[rows] = np.where(is_new, np.uint8(PathStatus.PENDING), np.uint8(PathStatus.FOUND))
        rows, which = rows[is_new], which[is_new]
        stands, places = self._stationary(tick), self.places()
        planner.stand(agents.entity[stands], places[stands], agents.radius[stands])
        planner.submit(
            since,
            agents.entity[rows],
            places[rows],
            self.world.polygons(rows),
            which,
            agents.radius[rows],
            choices,
            settled,
        )
        if self.guesses is not None:
            self.guesses.ask(rows, walkers)

    def _choices(self, rows: NDArray[np.int64]) -> Choices:
        """Return among which points of their goals agents, (k,) rows, can choose; see `Chooser.choices`."""
        agents, radius = self.world.agents, self.world.agents.radius[rows]
        return self.planner.chooser().choices(
            agents.goal[rows], self.world.polygons(rows), self.planner.needs(radius), radius
        )

    def line_up(self, rows: NDArray[np.int64]) -> None:
        """Let agents guess until their requests are made; see `Paths.line_up`."""
        if self.guesses is not None:
            self.guesses.ask(rows, self.walkers)

    def settle(self, rows: NDArray[np.int64]) -> None:
        """Tell the planner of agents whose requests are made next; see `Paths.settle`."""
        which, choices = self._choices(rows)
        rows, which, agents = rows[which >= 0], which[which >= 0], self.world.agents
        self.planner.settle(agents.entity[rows], which, agents.radius[rows], choices)

    def _stationary(self, tick: Tick) -> NDArray[np.int64]:
        """Return the stationary agents that others go round.

        An agent that is about to get a path is not in the way of others: in a crowd that starts together,
        each would walk round all others.
        """
        agents = self.world.agents
        stays = (agents.activity == AgentState.STANDING) | (agents.activity == AgentState.WAITING)
        return np.flatnonzero(
            (self.walkers.standing(self.places(), tick.team) & stays & (agents.is_yielding == 0))
            | (agents.is_driven == Led.HELD)
        )

    def _shut_in(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the agents inside something that is closed:
        cells have no path there, walls are all around.
        """
        position, layer = self.world.agents.position[rows], self.world.agents.layer[rows]
        found = np.zeros(len(rows), dtype=np.bool_)
        for each in self._closed:
            is_inside = shapely.contains_xy(each.polygon, position[:, 0], position[:, 1])
            found |= is_inside & ((layer == each.layer) | (each.layer < 0) | self.planner.grid.sheet.is_plan)
        return found

    def take(self, tick: Tick, answers: WaypointAnswers, rows: NDArray[np.int64]) -> None:
        """Set agents on their waypoints; those that have none give up."""
        agents = self.world.agents
        if self.guesses is not None:
            stands = self._stationary(tick)
            answers = self.guesses.join(
                answers, rows, np.column_stack([self.places()[stands], agents.radius[stands]])
            )
        agents.path_status[rows] = answers.status
        agents.path_tick[rows] = tick.number
        leads_there = (answers.status == FOUND) | (answers.status == FOUND_THROUGH_AGENTS)
        beyond = np.where(leads_there[:, None], answers.target, np.nan)
        walkers = self.walkers
        walkers.walks.requested[rows] = answers.target
        agents.goal_piece[rows] = self.planner.chooser().piece_at(agents.goal[rows], answers.target)
        waypoint, start = self.past_walls(rows, answers.waypoint, answers.start)
        places = self.places()
        walkers.take(rows, start, waypoint, places, beyond)
        is_found = np.diff(answers.start) > 0
        take_path(agents, rows[is_found], walkers.ahead(rows[is_found], places, tick.team))
        self.has_found(tick, rows[is_found], answers.status[is_found], answers.length[is_found])
        self.give_up(tick, rows[~is_found], answers.status[~is_found])

    def past_walls(
        self, rows: NDArray[np.int64], waypoint: NDArray[np.float64], start: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return paths as agents can walk them where cells keep less than their radius from walls:
        waypoints, and where those of each row begin.
        """
        parameters, grid, agents = self.planner.parameters, self.planner.grid, self.world.agents
        if not len(waypoint):
            return waypoint, start
        place = grid.sheet.place_of(agents.position[rows], agents.layer[rows])
        if not parameters.keep_off_edges or parameters.agent_radius > 0.0:
            waypoint, start = walked(
                self.world.mesh,
                grid.ground,
                waypoint,
                start,
                place,
                self.world.polygons(rows),
                agents.radius[rows],
                grid.sheet,
            )
        if not grid.has_floors:
            return waypoint, start
        # from where an agent is to its first waypoint there may be a seam, too
        begins = np.arange(len(rows)) + start[:-1]
        waypoint, start, _ = grid.laid_on_floors(
            np.insert(waypoint, start[:-1], place, axis=0), np.append(begins, len(waypoint) + len(rows))
        )
        return waypoint, start

    def follow(self, tick: Tick) -> float:
        """Lead agents along their waypoints; one that is as near to its goal as can be stands there."""
        agents, walkers = self.world.agents, self.walkers
        mine = self.mine()
        waits = mine & (agents.activity == AgentState.WALKING) & (agents.path_status == PathStatus.PENDING)
        guessing = (
            len(self.guesses.lead(tick, np.flatnonzero(waits), walkers)) if self.guesses is not None else 0
        )
        before, places = walkers.walks.current.copy(), self.places()
        aim = np.empty_like(places)
        velocity, arrived = walkers.follow(
            places, agents.desired_speed, tick.length, tick.team, agents.radius, aim
        )
        aim = self.planner.grid.sheet.plan_of(aim)
        passed = arrived | (walkers.walks.current != before)
        free = mine & (agents.is_driven == 0)
        walking = free & (agents.activity == AgentState.WALKING) & ~(waits & self.stays)
        agents.preferred_velocity[walking] = velocity[walking]
        agents.preferred_velocity[free & ~walking] = 0.0
        # A waypoint is passed at some distance, and an agent that kept its path to another target, or was led
        # by a program, was not set on one.
        measured = np.flatnonzero(
            walking & np.isin(agents.path_status, WALKS) & (passed | np.isnan(agents.remaining))
        )
        take_length(agents, measured, walkers.ahead(measured, places, tick.team))
        # A walk ends near its target, arriving may take a little more: into the region, or nearer than
        # `arrive_within`.
        near = np.flatnonzero(walking & (walkers.walks.is_walking == 0) & has_path(agents.path_status))
        rest = (aim[near] - agents.position[near]) / tick.length
        pace = np.maximum(hypots(rest[:, 0], rest[:, 1]), 1e-300)
        agents.preferred_velocity[near] = rest * np.minimum(1.0, agents.desired_speed[near] / pace)[:, None]
        agents.next_corner[walking] = aim[walking]
        # In front of a region a crowd may spread.
        straight = walking & (agents.path_status != PathStatus.NEAREST_REACHABLE)
        straight[straight] = self._leads_straight(tick, np.flatnonzero(straight))
        agents.corner_vertex[free] = np.where(
            straight[free], np.int32(STRAIGHT_TO_GOAL), np.int32(NOT_CACHED)
        )
        agents.next_corner[free & ~walking] = agents.position[free & ~walking]
        agents.activity[walking & arrived & (agents.path_status == PathStatus.NEAREST_REACHABLE)] = (
            AgentState.STANDING
        )
        if not self.world.is_even:
            shares = shares_in_plan(self.world, tick, agents.preferred_velocity)
            agents.preferred_velocity[walking] *= shares[walking, None]
        return guessing

    def _leads_straight(self, tick: Tick, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which paths lead straight to their ends, (k,):
        over the last waypoint alone, or over bends that are not of the ground, but of cells.
        """
        agents, walkers = self.world.agents, self.walkers
        walks = walkers.walks
        found = walks.total[rows] - walks.current[rows] <= 1
        bends = np.flatnonzero(~found & (agents.remaining[rows] <= STRAIGHT * self.near))
        if len(bends):
            near, sheet = rows[bends], self.planner.grid.sheet
            end = walks.waypoint[walks.start[near] + walks.total[near] - 1]
            line = sheet.plan_of(end) - agents.position[near]
            found[bends] = walkers.ahead(near, self.places(), tick.team) <= STRAIGHT * hypots(
                line[:, 0], line[:, 1]
            )
            if not sheet.is_plan:
                found[bends] &= sheet.floors_of(end) == agents.layer[near]
        return found

    def astray(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which of some agents stand on another floor than their path, and have it not in sight:
        pushed past the foot of a stair, they would walk on below or above it.
        """
        grid, world, agents = self.planner.grid, self.world, self.world.agents
        if grid.sheet.is_plan:
            return rows[:0]
        self.keep_up()
        rows = rows[self.mine()[rows]]
        aim, seen = self.walkers.toward()[rows], np.zeros(len(rows), dtype=np.bool_)
        floor = grid.sheet.floors_of(aim)
        see_many(rows, world.mesh, world.polygons(), agents.position, grid.sheet.plan_of(aim), floor, seen)
        return rows[(floor != agents.layer[rows]) & ~seen]

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the searches, the request queue, the walks, and the guesses."""
        parts = {
            "planner": self.planner.state(),
            "walks": {"entity": self._entity.copy(), **self.walkers.state()},
        }
        parts |= {"guesses": self.guesses.state()} if self.guesses is not None else {}
        return {f"{part}/{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved, ground = Saved.of(state), self.planner.grid.ground
        # ChangeGround has put up the same by other steps
        self.planner.grid.version = saved.whole("planner/version", 0, MOST)
        self.planner.restore(saved.below("planner/"))
        require_open(saved, self.world, self.planner.entities, self.mine())
        right, top = ground.x + ground.width * ground.cell, ground.y + ground.depth * ground.cell
        walks = saved.below("walks/")
        entity = walks.take("entity", "i8", low=1, high=MOST)
        walks.require(ascends(entity), "entity", "entity ids have to ascend")
        self.walkers.restore(
            walks, (ground.x - BEYOND_M, ground.y - BEYOND_M, right + BEYOND_M, top + BEYOND_M)
        )
        walks.require(
            len(self.walkers.walks.total) == len(entity),
            "entity",
            "has not as many agents as there are walks",
        )
        self._entity = entity
        if self.guesses is not None:
            asked = np.array(self.planner.entities, dtype=np.int64)
            waiting = np.concatenate([asked, self.asking.entities])
            self.guesses.restore(saved.below("guesses/"), waiting)
        self.searches.restored(self.world.tick)
