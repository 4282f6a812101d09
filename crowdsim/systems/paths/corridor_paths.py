"""Paths as corridors: portals of the mesh in their store, in which agents steer to the next corner."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED, CornerCache
from crowdsim.navigation.corridor.corridors import Corridors
from crowdsim.navigation.corridor.curve import CurveParameters, curve_many
from crowdsim.navigation.corridor.guess import WaitParameters, join_many, trail_along
from crowdsim.navigation.corridor.measure import measure_corridor_rows, measure_path_rows
from crowdsim.navigation.corridor.steer import guess_many, steer_many
from crowdsim.navigation.goals.targets import TargetParameters, targets_at
from crowdsim.navigation.local_grid.detours import LocalGridParameters
from crowdsim.navigation.mesh.group_ground import GroupGround
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planning.protocol import Answers
from crowdsim.navigation.planning.work import pieces
from crowdsim.saved import MOST, Arrays, Saved, ascends
from crowdsim.scenario.parameters import Chosen
from crowdsim.setup.build import Built
from crowdsim.systems.base.slices import Budget
from crowdsim.systems.base.system import GroundChange, Tick, shares_in_plan
from crowdsim.systems.paths.corner_guesses import CornerGuesses
from crowdsim.systems.paths.lost_paths import ask_anew, ask_on_new_ground, drop_corridors, take_path
from crowdsim.systems.paths.paths import Paths, require_open
from crowdsim.systems.paths.straighten import led_round_free_vertices, make_room, straighten
from crowdsim.world.checks import is_inside
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.states import FOUND, FOUND_THROUGH_AGENTS, PENDING, WALKING, has_path, standing

# Portals that a trail has room for before its block is exchanged for a larger one; no agent goes through so
# many in a tick.
TRAIL_SLACK = 8


NOWHERE_BARRED: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)


@lean_kernel
def sort_followers(
    start,
    stop,
    mine,
    activity,
    is_driven,
    path_status,
    goal_piece,
    polygon,
    barred,
    keeps_previous,
    may_guess,
    position,
    follows,
    guesses,
    preferred_velocity,
    next_corner,
):
    """Find which agents follow a corridor and which guess, and let the others stand that nobody leads.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    mine : (n,) bool
        Those that are looked at.
    activity, is_driven, path_status, goal_piece, position : (n, ...)
        Columns of agents.
    polygon : (n,) int64
        Under each.
    barred : (polygons,) bool
        Where none guesses; without entries that is nowhere.
    keeps_previous : bool
        One that waits for a path follows the one that it had, if any.
    may_guess : bool
        Else one that waits stands.
    follows, guesses : (n,) bool
        Receive which do.
    preferred_velocity, next_corner : (n, 2) float64, m/s and m
        Receive 0 and the agent's place for those that stand.

    Returns
    -------
    int
        How many guess.

    Notes
    -----
    Twin: `tests/reference/rows.py`.
    """
    guessing = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        follows[row], guesses[row] = False, False
        if not mine[row] or is_driven[row] != 0:
            continue
        if activity[row] == WALKING:
            waits, has_one = path_status[row] == PENDING, goal_piece[row] >= 0
            follows[row] = (
                path_status[row] == FOUND
                or path_status[row] == FOUND_THROUGH_AGENTS
                or (keeps_previous and waits and has_one)
            )
            guesses[row] = (
                waits
                and (not has_one if keeps_previous else may_guess)
                and not (barred.size > 0 and barred[polygon[row]])
            )
        if guesses[row]:
            guessing += 1
        elif not follows[row]:
            preferred_velocity[row, 0], preferred_velocity[row, 1] = 0.0, 0.0
            next_corner[row, 0], next_corner[row, 1] = position[row, 0], position[row, 1]
    return guessing


class CorridorPaths(Paths):
    """Paths that are portals of the mesh, and the funnel through them.

    Attributes
    ----------
    price : float, m
        What a path costs besides through each portal that an agent remembers as shut.
    same_target : float, m
        A target this near to the one that an agent has a path to is no new request ([Pathfinding undated],
        section 7).
    while_waiting : str
        What agents do while they wait for their path, see
        `crowdsim.navigation.corridor.guess.WaitParameters`.
    is_curved : bool
        Whether agents are led along curves, see `crowdsim.navigation.corridor.curve`.
    corner_guesses : CornerGuesses or None
        Of agents that guess over points of visibility.
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
        bodies = built.scenario.bodies
        remembers = bodies.values["local_grid"] and bodies.values["replanning"]
        self.price = bodies.parameters(LocalGridParameters).local_grid_price if remembers else 0.0
        self.same_target = chosen.parameters(TargetParameters).same_target
        self.while_waiting = chosen.parameters(WaitParameters).while_waiting
        self.keeps_previous = self.while_waiting == "previous"
        self.is_curved = chosen.parameters(CurveParameters).smoothing == "bezier"
        # by entity: the path it keeps to, as it was when the search began
        self._previous: dict[int, NDArray[np.int32]] = {}
        # Joining over corners finds the shortest path on from a guess, which may lead through agents that
        # stand: a planner that goes round them has no terrain.
        joins = hasattr(self.planner, "terrain") and self.while_waiting != "stay"
        self.corner_guesses = CornerGuesses(self.world, lambda: self.planner.terrain) if joins else None

    def take_mesh(self) -> None:
        """Search on the mesh that the world has now; agents that wait for an answer have to ask again."""
        self.planner = self.make_planner()
        self.searches.take(self.planner)
        self._previous.clear()
        if self.corner_guesses is not None:
            self.corner_guesses.clear()

    def weigh_anew(self) -> None:
        """Search by what metres cost now; see `Paths.weigh_anew`."""
        if hasattr(self.planner, "take_watchers"):
            self.planner.take_watchers(self.own.watchers)
            if self.corner_guesses is not None:
                self.corner_guesses.take_goals()
        else:
            self.planner = self.new_planner()
            self.searches.take(self.planner)

    def take_goals(self, changed: NDArray[np.int64]) -> None:
        """Search for the goals that the world has now; see `Paths.take_goals`."""
        super().take_goals(changed)
        if self.corner_guesses is not None:
            self.corner_guesses.take_goals()

    def stand_on(self, tick: int, change: GroundChange, team: Team) -> None:
        """Search on another ground from now on; agents that wait for a path ask again."""
        self.take_mesh()
        if change.is_new:
            ask_on_new_ground(self.world, change.has_opened)

    def begin(self, tick: Tick) -> None:
        """Tell a planner that heeds them which agents stand."""
        if self.planner.heeds_standing:
            agents = self.world.agents
            stands = np.flatnonzero(standing(agents))
            self.planner.stand(
                agents.entity[stands],
                agents.position[stands],
                agents.radius[stands],
                self.world.polygons(stands),
            )

    def line_up(self, rows: NDArray[np.int64]) -> None:
        """Let agents guess over corners until their requests are made; see `Paths.line_up`."""
        if self.corner_guesses is not None:
            self.corner_guesses.ask(rows)

    def settle(self, rows: NDArray[np.int64]) -> None:
        """Tell the planner of agents whose requests are made next; see `Paths.settle`. Those with portals
        that cost more search alone.
        """
        agents = self.world.agents
        if self.price > 0.0 and self.planner.prices:
            rows = rows[agents.priced_portal[rows, 0] < 0]
        self.planner.settle(agents.entity[rows], agents.goal[rows], agents.radius[rows])

    def submit(self, tick: Tick, rows: NDArray[np.int64], since: int, *, settled: bool = False) -> None:
        """Ask the planner for the paths of agents from where they are; see `Paths.submit`."""
        world, agents, planner = self.world, self.world.agents, self.planner
        position, polygon, off = agents.position[rows], world.polygons(rows), dict[int, list[int]]()
        if self.own.filtered is not None:
            position, polygon, off = self.own.filtered.walks_off(position, polygon)
        request: tuple[Any, ...] = (
            agents.entity[rows],
            position,
            polygon,
            agents.goal[rows],
            agents.radius[rows],
        )
        if self.price > 0.0 and planner.prices and np.any(agents.priced_portal[rows, 0] >= 0):
            request = (*request, agents.priced_portal[rows], self.price)
        planner.submit(since, *request, **({"settled": True} if settled else {}))
        agents.path_status[rows] = PathStatus.PENDING
        agents.path_tick[rows] = tick.number
        is_off = np.isin(np.arange(len(rows)), list(off))
        if off:
            self._walk_off(rows[is_off], list(off.values()))
            rows = rows[~is_off]
        if self.keeps_previous:
            others = self._keep_to_path(rows)
            if self.corner_guesses is not None:  # those that keep to a path join it over portals
                self.corner_guesses.forget(agents.entity[np.setdiff1d(rows, others)])
            rows = others
        if self.corner_guesses is not None:
            self.corner_guesses.ask(rows)
        # While an agent waits it may walk on a guess: its empty corridor then notes the portals of the path
        # back to where the search began.
        make_room(world, rows, np.zeros(len(rows), dtype=np.int64))
        agents.corridor_length[rows] = 0

    @property
    def _mesh(self) -> NavMesh:
        """What paths may lead over."""
        return self.world.mesh if self.own.filtered is None else self.own.filtered.mesh

    def _walk_off(self, rows: NDArray[np.int64], trails: list[list[int]]) -> None:
        """Note for agents on ground that is barred to them by which portals they come to where their search
        begins, as if they had walked from there on a guess.
        """
        world, agents = self.world, self.world.agents
        if self.keeps_previous:
            agents.goal_piece[rows] = -1
            for entity in agents.entity[rows].tolist():
                self._previous.pop(entity, None)
        if self.corner_guesses is not None:
            self.corner_guesses.forget(agents.entity[rows])
        size = np.array([len(trail) for trail in trails], dtype=np.int64)
        agents.corridor_length[rows] = 0
        make_room(world, rows, size)
        start = np.concatenate([[0], np.cumsum(size)])
        portals = np.array([edge for trail in trails for edge in reversed(trail)], dtype=np.int32)
        world.corridors.fill(agents.corridor_start[rows], start, portals)
        agents.corridor_length[rows] = size

    def _keep_to_path(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Let agents that have a path keep to it while they wait; return the others."""
        agents = self.world.agents
        keeps = (agents.corridor_length[rows] > 0) & (agents.goal_piece[rows] >= 0)
        for row in rows[keeps].tolist():
            start = int(agents.corridor_start[row])
            self._previous[int(agents.entity[row])] = self.world.corridors.portals[
                start : start + int(agents.corridor_length[row])
            ].copy()
        others = rows[~keeps]
        agents.goal_piece[others] = -1  # so that `follow` knows which have a path
        for entity in agents.entity[others].tolist():
            self._previous.pop(entity, None)
        return others

    def keep(self, rows: NDArray[np.int64], goal: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Let agents keep paths that lead to within `same_target` of a piece of another goal,
        in the same polygon; see `Paths.keep`.
        """
        agents, goals = self.world.agents, self.world.goals
        keeps = np.zeros(len(rows), dtype=np.bool_)
        mine = np.flatnonzero(
            has_path(agents.path_status[rows])
            & (agents.activity[rows] == AgentState.WALKING)
            & (agents.goal_piece[rows] >= 0)
            & self.mine()[rows]
        )
        if not len(mine):
            return keeps
        heads_for, wanted = agents.goal_piece[rows[mine]], goal[mine]
        first = goals.goal_start[wanted]
        pieces = goals.goal_start[wanted + 1] - first
        nearest = np.where(pieces == 1, first, -1)
        several = np.flatnonzero(pieces > 1)
        pairs, of_pair = np.unique(np.column_stack([wanted, heads_for])[several], axis=0, return_inverse=True)
        found = np.array([self._nearest_piece(*pair) for pair in pairs.tolist()], dtype=np.int64)
        nearest[several] = found[of_pair.reshape(-1)]
        away = hypots(*(targets_at(goals, np.maximum(nearest, 0)) - targets_at(goals, heads_for)).T)
        stays = (nearest >= 0) & (goals.piece_polygon[nearest] == goals.piece_polygon[heads_for])
        stays &= away <= self.same_target
        agents.goal_piece[rows[mine[stays]]], keeps[mine[stays]] = nearest[stays], True
        return keeps

    def _nearest_piece(self, goal: int, piece: int) -> int:
        """Return the piece of a goal in the polygon of a piece of another that is nearest to that; -1 if
        there is none.
        """
        goals = self.world.goals
        first, last = int(goals.goal_start[goal]), int(goals.goal_start[goal + 1])
        target = targets_at(goals, np.array([*range(first, last), piece]))
        away = hypots(*(target[:-1] - target[-1]).T)
        away = np.where(goals.piece_polygon[first:last] == goals.piece_polygon[piece], away, np.inf)
        nearest = int(np.argmin(away))
        return first + nearest if away[nearest] < np.inf else -1

    def let_go(self, rows: NDArray[np.int64]) -> None:
        """Have the paths of agents end where they are, but for those that keep to them until they have
        another.
        """
        agents = self.world.agents
        status = agents.path_status[rows]
        keeps = has_path(status) | ((status == PathStatus.PENDING) & (agents.goal_piece[rows] >= 0))
        drop_corridors(agents, rows[~(keeps & self.keeps_previous)])

    def forget(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that changed their mind."""
        self.planner.drop(entity)
        if self.corner_guesses is not None:
            self.corner_guesses.forget(entity)
        for each in entity.tolist() if self._previous else ():
            self._previous.pop(each, None)

    def take(self, tick: Tick, answers: Answers, rows: NDArray[np.int64]) -> None:
        """Set agents on the corridors that were found, from where they are now."""
        world, agents = self.world, self.world.agents
        found = has_path(answers.status)
        if self.corner_guesses is not None:
            answers, is_joined = self.corner_guesses.join(answers, rows)
            # what is joined over corners needs no trail over portals
            agents.corridor_length[rows[is_joined]] = 0
        agents.path_status[rows] = answers.status
        agents.path_tick[rows] = tick.number
        agents.goal_piece[rows] = answers.piece
        agents.strays[rows] = 0
        agents.guessed[rows] = -1
        agents.corner_vertex[rows] = NOT_CACHED
        lengths = answers.start[1:] - answers.start[:-1]
        trail, trail_start = self._trails(rows)
        make_room(world, rows, lengths + (trail_start[1:] - trail_start[:-1]))
        world.corridors.fill(agents.corridor_start[rows], answers.start, answers.portals)
        ahead = lengths.astype(np.int32)
        joins = answers.piece.copy()
        if self.own.filtered is not None:
            joins[self._put_on_trails(rows, ahead, trail, trail_start, answers.piece)] = -1
        join_many(
            world.mesh, world.goals, world.corridors.portals, agents.corridor_start[rows], ahead, trail,
            trail_start, joins, agents.radius[rows], agents.position[rows],
        )  # fmt: skip
        agents.corridor_length[rows] = ahead
        straighten(world, rows, self._mesh)
        status = answers.status
        if not found.all():
            lost = ~found
            self.give_up(tick, rows[lost], status[lost])
            agents.corridor_length[rows[lost]] = 0
            rows, status = rows[found], status[found]
        lengths_m = self._measure(tick.team, rows)
        take_path(agents, rows, lengths_m)
        self.has_found(tick, rows, status, lengths_m)

    def _measure(self, team: Team, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how long the paths of agents, (k,) rows, are from where they are (m)."""
        world, agents, length = self.world, self.world.agents, np.empty(len(rows))
        corridors = (
            world.mesh,
            world.goals,
            world.corridors.portals,
            agents.corridor_start[rows],
            agents.corridor_length[rows],
            world.polygons(rows),
            agents.goal_piece[rows],
            agents.position[rows],
            agents.radius[rows],
            length,
        )
        if world.is_even:
            team.run(measure_corridor_rows, len(rows), *corridors)
        else:
            team.run(measure_path_rows, len(rows), *corridors, np.empty(len(rows)))
        return length

    def _put_on_trails(
        self,
        rows: NDArray[np.int64],
        ahead: NDArray[np.int32],
        trail: NDArray[np.int32],
        trail_start: NDArray[np.int64],
        piece: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        """Lead agents on barred ground all along their trails to where their searches began: a shorter path
        would lead over more of it. Return which of the rows these are.
        """
        agents, store = self.world.agents, self.world.corridors.portals
        assert self.own.filtered is not None
        barred = self.own.filtered.barred[self.world.polygons(rows)]
        found = np.flatnonzero(barred & (piece >= 0) & (np.diff(trail_start) > 0))
        for number in found.tolist():
            own = trail[trail_start[number] : trail_start[number + 1]]
            end = int(agents.corridor_start[rows[number]]) + int(ahead[number])
            store[end : end + len(own)] = own
            ahead[number] += len(own)
        return found

    def _trails(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the portals back to where the searches of agents began, the nearest last,
        and where each begins: by guesses, or by their previous paths.
        """
        agents, cells = self.world.agents, self.world.corridors.portals
        length = agents.corridor_length[rows].astype(np.int64)
        if not self._previous:
            start = np.zeros(len(rows) + 1, dtype=np.int64)
            np.cumsum(length, out=start[1:])
            return pieces(cells, agents.corridor_start[rows], length), start
        trails, here = [], self.world.polygons()
        for row, start, portals in zip(
            rows.tolist(), agents.corridor_start[rows].tolist(), length.tolist(), strict=True
        ):
            ahead, previous = (
                cells[start : start + portals].copy(),
                self._previous.pop(int(agents.entity[row]), None),
            )
            trails.append(
                ahead if previous is None else trail_along(self.world.mesh, previous, ahead, int(here[row]))
            )
        return np.concatenate([np.zeros(0, dtype=np.int32), *trails]), np.cumsum(
            [0, *(len(trail) for trail in trails)]
        )

    def ask(self, tick: Tick) -> None:
        """Ask, and give agents that wait larger blocks before their trails fill them:
        one without room has to ask again, at the end of the queue.
        """
        if self.own.filtered is not None and self.own.filtered.is_barred:
            self._leave_what_leads_back(self.own.filtered)
        super().ask(tick)
        if not self.planner.waiting:
            return
        agents = self.world.agents
        waits = (agents.path_status == PathStatus.PENDING) & (
            agents.corridor_length > agents.corridor_capacity - TRAIL_SLACK
        )
        # of those whose requests are made later, some have no block yet, and need none
        waits &= agents.corridor_capacity > 0
        rows = np.flatnonzero(waits & self.mine())
        if len(rows):
            make_room(self.world, rows, agents.corridor_capacity[rows].astype(np.int64))

    def _leave_what_leads_back(self, ground: GroupGround) -> None:
        """Let agents ask anew that were pushed off barred ground over another rim than that to which their
        paths lead: back over it, and round.
        """
        agents, here = self.world.agents, self.world.polygons()
        rows = np.flatnonzero(self.mine() & has_path(agents.path_status) & (agents.corridor_length > 0))
        portal = self.world.corridors.portals[
            agents.corridor_start[rows] + agents.corridor_length[rows].astype(np.int64) - 1
        ]
        mesh = self.world.mesh
        ahead = mesh.edge_polygon[mesh.edge_twin[portal]]
        ask_anew(agents, rows[ground.barred[ahead] & ~ground.barred[here[rows]]])

    def follow(self, tick: Tick) -> float:
        """Steer agents with a path, let those without guess, and the others stand."""
        world, agents = self.world, self.world.agents
        polygon = world.polygons()
        follows, guesses = np.empty(len(agents), dtype=np.bool_), np.empty(len(agents), dtype=np.bool_)
        guessing = sum(
            tick.team.run(
                sort_followers,
                len(agents),
                self.mine(),
                agents.activity,
                agents.is_driven,
                agents.path_status,
                agents.goal_piece,
                polygon,
                # off barred ground a guess would lead anywhere
                NOWHERE_BARRED if self.own.filtered is None else self.own.filtered.barred,
                self.keeps_previous,
                self.while_waiting != "stay",
                agents.position,
                follows,
                guesses,
                agents.preferred_velocity,
                agents.next_corner,
            )
        )
        before = agents.corner_vertex.copy()
        self._steer(tick, follows, polygon)
        aside = led_round_free_vertices(world, follows, before, tick.team)
        if len(aside):
            self._straighten(aside)
            agents.corner_vertex[aside] = NOT_CACHED
            again = np.zeros(len(agents), dtype=np.bool_)
            again[aside] = True
            self._steer(tick, again, polygon)
        if self.is_curved:
            self._turn_along_curves(tick, follows, polygon)
        if guessing and self.corner_guesses is not None:
            self.corner_guesses.lead(tick, guesses)
        elif guessing:
            self._guess(tick, guesses, polygon)
        if not world.is_even:
            walks = follows | guesses
            agents.preferred_velocity[walks] *= shares_in_plan(world, tick, agents.preferred_velocity)[
                walks, None
            ]
        return guessing

    def _straighten(self, rows: NDArray[np.int64]) -> None:
        """Lead corridors that are being followed past free vertices on their straight side."""
        straighten(self.world, rows, self._mesh)

    def _steer(self, tick: Tick, follows: NDArray[np.bool_], polygon: NDArray[np.int64]) -> None:
        """Set the preferred velocities of agents that follow a corridor."""
        world, agents = self.world, self.world.agents
        tick.team.run(
            steer_many,
            len(agents),
            world.mesh,
            world.goals,
            self._corridors(polygon),
            follows.view(np.uint8),
            agents.desired_speed,
            tick.length,
            CornerCache(agents.corner_vertex, agents.corner_line, agents.corner_offset),
            agents.preferred_velocity,
            agents.next_corner,
        )

    def _turn_along_curves(self, tick: Tick, follows: NDArray[np.bool_], polygon: NDArray[np.int64]) -> None:
        """Lead agents that follow a corridor along its curve; the corner that they come to stays the same."""
        world, agents = self.world, self.world.agents
        tick.team.run(
            curve_many,
            len(agents),
            world.mesh,
            world.goals,
            self._corridors(polygon),
            follows.view(np.uint8),
            agents.desired_speed,
            agents.velocity,
            tick.length,
            agents.preferred_velocity,
        )

    def _corridors(self, polygon: NDArray[np.int64]) -> Corridors:
        agents, portals = self.world.agents, self.world.corridors.portals
        return Corridors(
            portals,
            agents.corridor_start,
            agents.corridor_length,
            polygon,
            agents.goal_piece,
            agents.position,
            agents.radius,
        )

    def _guess(self, tick: Tick, guesses: NDArray[np.bool_], polygon: NDArray[np.int64]) -> None:
        """Set the preferred velocities of agents that wait for their path."""
        world, agents = self.world, self.world.agents
        tick.team.run(
            guess_many,
            len(agents),
            self._mesh,
            world.goals,
            self._corridors(polygon),
            agents.goal,
            agents.guessed,
            guesses.view(np.uint8),
            agents.desired_speed,
            tick.length,
            agents.preferred_velocity,
            agents.next_corner,
        )

    def too_narrow(self, row: int, radius: float, before: float) -> bool:
        """Return whether the corridor of an agent has a portal, a turn inside a polygon,
        or a region at its end, that it has become too wide for.
        """
        mesh, goals, agents, width = self.world.mesh, self.world.goals, self.world.agents, 2.0 * radius
        if radius <= before:
            return False
        start, length, piece = (
            int(agents.corridor_start[row]),
            int(agents.corridor_length[row]),
            int(agents.goal_piece[row]),
        )
        cells = self.world.corridors.portals[start : start + length]  # the goal's end first
        if length and float(mesh.edge_width[cells].min()) < width:
            return True
        leave, enter = cells[:-1], mesh.edge_twin[cells[1:]]
        polygon = mesh.edge_polygon[leave]
        first = mesh.polygon_start[polygon]
        turn = (
            mesh.pair_start[polygon]
            + (enter - first).astype(np.int64) * (mesh.polygon_start[polygon + 1] - first)
            + (leave - first)
        )
        if len(turn) and float(mesh.pair_width[turn].min()) < width:
            return True
        is_region = piece >= 0 and goals.vertex_start[piece + 1] - goals.vertex_start[piece] > 1
        return bool(is_region and 2.0 * goals.clearance[piece] < width)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the planner's searches and queue, and the paths that agents keep to."""
        state = self.planner.state()
        if self.corner_guesses is not None:
            state |= self.corner_guesses.state()
        if self.keeps_previous:
            entities = sorted(self._previous)
            paths = [self._previous[entity] for entity in entities]
            state |= {
                "previous_entity": np.array(entities, dtype=np.int64),
                "previous_length": np.array([len(path) for path in paths], dtype=np.int64),
                "previous_cells": np.concatenate([np.zeros(0, dtype=np.int32), *paths]),
            }
        return state

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave, to a world in which all agents are where they were."""
        saved, agents = Saved.of(state), self.world.agents
        self.planner.restore(saved)
        self.searches.restored(self.world.tick)
        if self.corner_guesses is not None:
            self.corner_guesses.restore(saved)
        if self.keeps_previous:
            entity = saved.take("previous_entity", "i8", low=1, high=MOST)
            cells = saved.take("previous_cells", "i4", low=0, high=self.world.mesh.edge_count - 1)
            stops = np.cumsum(saved.parts("previous_length", len(entity), len(cells)))
            saved.require(ascends(entity), "previous_entity", "entity ids have to ascend")
            saved.require(np.isin(entity, agents.entity), "previous_entity", "there is no such agent")
            saved.require(self.world.mesh.edge_twin[cells] >= 0, "previous_cells", "that is no portal")
            paths = np.split(cells, stops[:-1]) if len(entity) else []
            self._previous = {each: path.copy() for each, path in zip(entity.tolist(), paths, strict=True)}
            saved.require(
                [self._is_known(each) for each in self._previous],
                "previous_entity",
                "does not come back to the path that it keeps to",
            )
        self._check_starts(saved)

    def _check_starts(self, saved: Saved) -> None:
        """Require that searches begin where their agents can get back to:
        what they have walked since is joined with what is found.
        """
        world, agents, starts = self.world, self.world.agents, self.planner.starts
        require_open(
            saved, world, starts["entity"].tolist(), self.mine() & (agents.path_status == PathStatus.PENDING)
        )
        position = np.column_stack([starts["x"], starts["y"]])
        # whence an agent asks whose tile is out
        nowhere = -1 if world.tiles is None else world.tiles.nowhere
        is_right = (starts["polygon"] == nowhere) | is_inside(world.mesh, position, starts["polygon"])
        saved.require(
            bool(is_right.all()),
            "",
            "has a request from a place that is not in its polygon",
        )
        mesh, cells, here = world.mesh, world.corridors.portals, world.polygons()
        rows = np.searchsorted(agents.entity, starts["entity"])
        begins = here[rows]
        far = agents.corridor_length[rows] > 0
        begins[far] = mesh.edge_polygon[mesh.edge_twin[cells[agents.corridor_start[rows[far]]]]]
        for place, entity in enumerate(starts["entity"].tolist()):
            path = self._previous.get(entity)
            if path is not None and len(path):
                begins[place] = mesh.edge_polygon[path[-1]]
        saved.require(
            bool(np.array_equal(begins, starts["polygon"])),
            "",
            "has a request from where its agent has never been",
        )
        if self.corner_guesses is not None:
            self.corner_guesses.check(saved, starts)

    def _is_known(self, entity: int) -> bool:
        """Return whether the trail of an agent leads back to the path that it keeps to,
        as `trail_along` takes for granted.
        """
        row = int(np.searchsorted(self.world.agents.entity, entity))
        start, length = (
            int(self.world.agents.corridor_start[row]),
            int(self.world.agents.corridor_length[row]),
        )
        ahead = (
            self.world.corridors.portals[start : start + length] if length else np.zeros(0, dtype=np.int32)
        )
        try:
            trail_along(self.world.mesh, self._previous[entity], ahead, int(self.world.polygons()[row]))
        except KeyError:
            return False
        return True
