"""Plan: requests for paths are made and searched for within the budget, and answers become corridors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.corner_cache import NOTHING_HELD
from crowdsim.navigation.corridor.guess import join_many, trail_along
from crowdsim.navigation.corridor.measure import measure_corridors, measure_ways
from crowdsim.navigation.goals.targets import TargetParameters, targets_of
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.protocol import Answers, Planner
from crowdsim.navigation.planning.request_queue import pieces
from crowdsim.navigation.stationary.planner import StanderPlanner
from crowdsim.saved import MOST, Arrays, Saved, ascends
from crowdsim.systems.base.setup import Setup
from crowdsim.systems.base.slices import Budget, SearchTask, require_open, search
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.ground.ground_change import GroundChange, ask_again
from crowdsim.systems.notice import standing
from crowdsim.systems.paths.corner_guesses import CornerGuesses
from crowdsim.systems.paths.corridor_blocks import make_room
from crowdsim.systems.paths.progress import TAKEN, forget_path, take_path
from crowdsim.systems.paths.straighten import straighten
from crowdsim.world.checks import is_inside
from crowdsim.world.columns import AgentState, PathStatus, has_way
from crowdsim.world.events import EventKind
from crowdsim.world.world import World

LEAST_EXPANSIONS = 2000  # Default budget of small crowds: some 0.5 ms of one core, a path over a thousand polygons in one tick.
TRAIL_SLACK = 8  # Portals that a trail has room for before its block is exchanged for a larger one; nobody goes through so many in a tick.


def default_budget(agents: int) -> int:
    """Return the expansions a tick where the scenario names none: 2,000, or one for each agent."""
    return max(LEAST_EXPANSIONS, agents)


class Plan(System):
    """Ask for paths, search within the budget of expansions, take answers over into corridors.

    Parameters
    ----------
    world : World
    planner : Planner
    budget : Budget
        Says how far searches get in a tick.
    groups : (groups,) bool, optional
        Whose agents it plans for; all by default.
    name : str
        Of the searches as a task, one for each planner of a world.
    make_planner : callable, optional
        Makes a planner for a world whose mesh has changed.
    keeps_previous : bool
        Whether agents keep to their previous path until the next is found ([Norberg 2004], section 3.1), if they have one.
    price : float, m
        What a way costs besides through each portal that an agent remembers as shut.
    same_target : float, m
        A target this near to the one that an agent has a way to is no new request ([Pathfinding undated], section 7).
    """

    reads = (
        "entity", "group", "activity", "goal", "position", "surface", "radius", "path_status", "corridor_start", "corridor_capacity", "corridor_length",
        "path_tick", "priced_portal", "is_yielding", "is_driven", *TAKEN,
    )
    writes = (
        "activity", "path_status", "path_tick", "corridor_start", "corridor_capacity", "corridor_length", "goal_piece", "strays", "guessed", "corner_post",
        *TAKEN,
    )
    counts = SearchTask.counts

    def __init__(
        self, world: World, planner: Planner, budget: Budget, groups: NDArray[np.bool_] | None = None, name: str = "searches",
        make_planner: Callable[[World], Planner] | None = None, keeps_previous: bool = False, price: float = 0.0,
        same_target: float = TargetParameters.same_target,
    ) -> None:  # fmt: skip
        super().__init__(world)
        self.price, self.same_target = price, same_target
        self.keeps_previous = keeps_previous
        self._previous: dict[int, NDArray[np.int32]] = {}  # by entity: the path it keeps to, as it was when the search began
        self.planner, self.budget, self.groups, self._make_planner = planner, budget, groups, make_planner
        self.corner_guesses: CornerGuesses | None = None  # of those who guess over points of visibility
        self.searches = SearchTask(name, planner, self._apply, budget.tasks, budget.counts_answers)

    @classmethod
    def from_setup(cls, setup: Setup) -> System:
        """Return what plans for the groups of the scenario."""
        planning: System = setup.planning
        return planning

    def take_mesh(self) -> None:
        """Search on the mesh that the world has now; who waits for an answer has to ask again."""
        assert self._make_planner is not None
        self.planner = self._make_planner(self.world)
        self.searches.take(self.planner)
        self._previous.clear()
        if self.corner_guesses is not None:
            self.corner_guesses.clear()

    def stand_on(self, tick: int, change: GroundChange, team: Team) -> None:
        """Search on another ground from now on; whoever waits for a way asks again."""
        self.take_mesh()
        if change.is_new:
            ask_again(self.world, change)

    def process(self, tick: Tick) -> None:
        """Submit, search, apply."""
        self.budget.begin()
        self.ask(tick)
        search(tick, self.budget, (self.searches,))

    def ask(self, tick: Tick) -> None:
        """Ask for the ways of those who have none."""
        world, agents = self.world, self.world.agents
        wants = (agents.activity == AgentState.WALKING) & (agents.path_status == PathStatus.NONE) & (agents.goal >= 0)
        wants = np.flatnonzero(wants & self.of_groups(self.groups))
        if len(wants):
            polygon = world.polygons()[wants]
            request = agents.entity[wants], agents.position[wants], polygon, agents.goal[wants], agents.radius[wants]
            if isinstance(self.planner, StanderPlanner):
                stands = np.flatnonzero(standing(agents))
                self.planner.stand(agents.entity[stands], agents.position[stands], agents.radius[stands], world.polygons()[stands])
            if self.price > 0.0 and isinstance(self.planner, (MeshPlanner, StanderPlanner)) and np.any(agents.priced_portal[wants, 0] >= 0):
                self.planner.submit(tick.number, *request, agents.priced_portal[wants], self.price)
            else:
                self.planner.submit(tick.number, *request)
            agents.path_status[wants] = PathStatus.PENDING
            agents.path_tick[wants] = tick.number
            if self.keeps_previous:
                wants = self._keep_to_path(wants)
            if self.corner_guesses is not None:
                self.corner_guesses.ask(wants)
            # While an agent waits it may walk on a guess: its empty corridor then notes the portals of the way back to where the search began.
            make_room(self.world, wants, np.zeros(len(wants), dtype=np.int64))
            agents.corridor_length[wants] = 0
        if self.searches.waiting:
            self._make_room_for_trails()

    def _keep_to_path(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Let those who have a path keep to it while they wait; return the others."""
        agents = self.world.agents
        keeps = (agents.corridor_length[rows] > 0) & (agents.goal_piece[rows] >= 0)
        for row in rows[keeps].tolist():
            start = int(agents.corridor_start[row])
            self._previous[int(agents.entity[row])] = self.world.corridors.cells[start : start + int(agents.corridor_length[row])].copy()
        others = rows[~keeps]
        agents.goal_piece[others] = -1  # so that Follow knows who has a path
        for entity in agents.entity[others].tolist():
            self._previous.pop(entity, None)
        return others

    def keep_ways(self, rows: NDArray[np.int64], goal: int) -> NDArray[np.bool_]:
        """Let those keep their ways whose new goal has a piece within `same_target` of where they lead, in the same polygon.

        Parameters
        ----------
        rows : (k,) int64
        goal : int

        Returns
        -------
        (k,) bool
            Who does; the way leads to the new goal now.
        """
        agents, goals = self.world.agents, self.world.goals
        keeps = np.zeros(len(rows), dtype=np.bool_)
        first, last = int(goals.goal_start[goal]), int(goals.goal_start[goal + 1])
        mine = has_way(agents.path_status[rows]) & (agents.activity[rows] == AgentState.WALKING) & (agents.goal_piece[rows] >= 0)
        mine &= self.of_groups(self.groups)[rows]
        if last == first or not mine.any():
            return keeps
        target, heads_for = targets_of(goals), agents.goal_piece[rows]
        for piece in np.unique(heads_for[mine]).tolist():
            away = np.hypot(*(target[first:last] - target[piece]).T)
            away = np.where(goals.piece_polygon[first:last] == goals.piece_polygon[piece], away, np.inf)
            nearest = int(np.argmin(away))
            if away[nearest] <= self.same_target:
                theirs = mine & (heads_for == piece)
                agents.goal_piece[rows[theirs]], keeps[theirs] = first + nearest, True
        return keeps

    def lose_ways(self, rows: NDArray[np.int64]) -> None:
        """Take the ways of agents that are sent elsewhere, but for those who keep to them until they have another."""
        agents = self.world.agents
        rows = rows[self.of_groups(self.groups)[rows]]
        forget_path(agents, rows)
        status = agents.path_status[rows]
        keeps = has_way(status) | ((status == PathStatus.PENDING) & (agents.goal_piece[rows] >= 0))
        lost = rows[~(keeps & self.keeps_previous)]
        agents.corridor_length[lost] = 0
        agents.goal_piece[lost] = -1

    def forget(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that changed their mind."""
        self.planner.drop(entity)
        if self.corner_guesses is not None:
            self.corner_guesses.forget(entity)
        for each in entity.tolist() if self._previous else ():
            self._previous.pop(each, None)

    def _apply(self, tick: Tick, answers: Answers) -> None:
        world, agents = self.world, self.world.agents
        rows = np.searchsorted(agents.entity, answers.entity)
        assert np.array_equal(agents.entity[rows], answers.entity)  # who leaves is forgotten by the planner before
        found, is_joined = has_way(answers.status), np.zeros(len(rows), dtype=np.bool_)
        if self.corner_guesses is not None:
            answers, is_joined = self.corner_guesses.join(answers, rows)
        agents.path_status[rows] = answers.status
        agents.path_tick[rows] = tick.number
        agents.goal_piece[rows] = answers.piece
        agents.strays[rows] = 0
        agents.guessed[rows] = -1
        agents.corner_post[rows] = NOTHING_HELD
        lengths = np.diff(answers.start)
        agents.corridor_length[rows[is_joined]] = 0  # what is joined over corners needs no way back over portals
        trail, trail_start = self._trails(rows)
        make_room(world, rows, lengths + np.diff(trail_start))
        world.corridors.fill(agents.corridor_start[rows], answers.start, answers.cells)
        ahead = lengths.astype(np.int32)
        join_many(
            world.mesh, world.goals, world.corridors.cells, agents.corridor_start[rows], ahead, trail, trail_start, answers.piece, agents.radius[rows],
            agents.position[rows],
        )  # fmt: skip
        agents.corridor_length[rows] = ahead
        straighten(world, rows)
        hopeless = rows[~found]
        agents.activity[hopeless] = AgentState.STANDING
        agents.corridor_length[hopeless] = 0
        world.events.note(tick.number, EventKind.UNREACHABLE, agents.entity[hopeless], agents.position[hopeless], answers.status[~found])
        way = np.zeros((len(rows), 2))
        lengths_m = np.empty(len(rows))
        corridors = (
            world.mesh, world.goals, world.corridors.cells, agents.corridor_start[rows], agents.corridor_length[rows], world.polygons()[rows],
            agents.goal_piece[rows], agents.position[rows], agents.radius[rows],
        )  # fmt: skip
        if world.is_even:
            measure_corridors(*corridors, lengths_m)
        else:
            measure_ways(*corridors, lengths_m, np.empty(len(rows)))
        take_path(agents, rows[found], lengths_m[found])
        way[:, 0] = lengths_m
        world.events.note(tick.number, EventKind.PATH_FOUND, answers.entity[found], way[found], answers.status[found])

    def _trails(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the portals back to where the searches of agents began, the nearest last, and where each begins: by guesses, or by their previous paths."""
        agents, cells = self.world.agents, self.world.corridors.cells
        length = agents.corridor_length[rows].astype(np.int64)
        if not self._previous:
            return pieces(cells, agents.corridor_start[rows], length), np.concatenate([[0], np.cumsum(length)])
        trails, here = [], self.world.polygons()
        for row, start, portals in zip(rows.tolist(), agents.corridor_start[rows].tolist(), length.tolist(), strict=True):
            ahead, previous = cells[start : start + portals].copy(), self._previous.pop(int(agents.entity[row]), None)
            trails.append(ahead if previous is None else trail_along(self.world.mesh, previous, ahead, int(here[row])))
        return np.concatenate([np.zeros(0, dtype=np.int32), *trails]), np.cumsum([0, *(len(trail) for trail in trails)])

    def _make_room_for_trails(self) -> None:
        """Give those who wait larger blocks before their trails fill them: who has no room for its trail has to ask again, at the end of the queue."""
        agents = self.world.agents
        waits = (agents.path_status == PathStatus.PENDING) & (agents.corridor_length > agents.corridor_capacity - TRAIL_SLACK)
        rows = np.flatnonzero(waits & self.of_groups(self.groups))
        if len(rows):
            make_room(self.world, rows, agents.corridor_capacity[rows].astype(np.int64))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the planner's searches and queue, and the paths that agents keep to."""
        state = self.planner.state()
        if self.corner_guesses is not None:
            state |= self.corner_guesses.state()
        if self.keeps_previous:
            entities = sorted(self._previous)
            paths = [self._previous[entity] for entity in entities]
            state |= {
                "previous_entity": np.array(entities, dtype=np.int64), "previous_length": np.array([len(path) for path in paths], dtype=np.int64),
                "previous_cells": np.concatenate([np.zeros(0, dtype=np.int32), *paths]),
            }  # fmt: skip
        return state

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave, to a world in which everybody is where they were."""
        saved, agents = Saved.of(state), self.world.agents
        self.planner.restore(saved)
        self.searches.restored(self.world.tick)
        if self.corner_guesses is not None:
            self.corner_guesses.restore(saved)
        if self.keeps_previous:
            entity = saved.take("previous_entity", "i8", low=1, high=MOST)
            cells = saved.take("previous_cells", "i4", low=0, high=self.world.mesh.edge_count - 1)
            ends = np.cumsum(saved.parts("previous_length", len(entity), len(cells)))
            saved.require(ascends(entity), "previous_entity", "entity ids have to ascend")
            saved.require(np.isin(entity, agents.entity), "previous_entity", "there is no such agent")
            saved.require(self.world.mesh.edge_twin[cells] >= 0, "previous_cells", "that is no portal")
            paths = np.split(cells, ends[:-1]) if len(entity) else []
            self._previous = {each: path.copy() for each, path in zip(entity.tolist(), paths, strict=True)}
            saved.require([self._is_known(each) for each in self._previous], "previous_entity", "does not come back to the path that it keeps to")
        self._check_starts(saved)

    def _check_starts(self, saved: Saved) -> None:
        """Look whether the ways that are searched for begin where their agents can get back to: what they have gone since is joined with what is found."""
        world, agents, starts = self.world, self.world.agents, self.planner.starts
        require_open(saved, world, starts["entity"].tolist(), self.of_groups(self.groups) & (agents.path_status == PathStatus.PENDING))
        position = np.column_stack([starts["x"], starts["y"]])
        saved.require(bool(is_inside(world.mesh, position, starts["polygon"]).all()), "", "has a request from a place that is not in its polygon")
        mesh, cells, here = world.mesh, world.corridors.cells, world.polygons()
        rows = np.searchsorted(agents.entity, starts["entity"])
        begins = here[rows]
        far = agents.corridor_length[rows] > 0
        begins[far] = mesh.edge_polygon[mesh.edge_twin[cells[agents.corridor_start[rows[far]]]]]
        for place, entity in enumerate(starts["entity"].tolist()):
            path = self._previous.get(entity)
            if path is not None and len(path):
                begins[place] = mesh.edge_polygon[path[-1]]
        saved.require(bool(np.array_equal(begins, starts["polygon"])), "", "has a request from where its agent has never been")
        if self.corner_guesses is not None:
            self.corner_guesses.check(saved, starts)

    def _is_known(self, entity: int) -> bool:
        """Return whether the way of an agent leads to the path that it keeps to, as `trail_along` takes for granted."""
        row = int(np.searchsorted(self.world.agents.entity, entity))
        start, length = int(self.world.agents.corridor_start[row]), int(self.world.agents.corridor_length[row])
        ahead = self.world.corridors.cells[start : start + length] if length else np.zeros(0, dtype=np.int32)
        try:
            trail_along(self.world.mesh, self._previous[entity], ahead, int(self.world.polygons()[row]))
        except KeyError:
            return False
        return True
