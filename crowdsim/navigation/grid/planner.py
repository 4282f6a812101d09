"""The planner of the grid world: waypoints over cells, found by searches in slots under a budget of
expansions.

Which agents stand in the way is noted when a request is made, so that its answer does not depend on when its
search begins. If an area is opened or closed, the searches that have begun begin anew.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.goals.targets import GoalPoints, points_after, points_of
from crowdsim.navigation.grid.cascade import advance_path, begin_path, last_node
from crowdsim.navigation.grid.choices import Chooser, places_of_goals
from crowdsim.navigation.grid.grid import Grid, refuse_numbers
from crowdsim.navigation.grid.ground import Ground, is_flat
from crowdsim.navigation.grid.obstacles import StationaryDiscs
from crowdsim.navigation.grid.parameters import (
    CellParameters,
    DocumentPathParameters,
    PathParameters,
    WalkParameters,
)
from crowdsim.navigation.grid.points import PointLists
from crowdsim.navigation.grid.search import (
    BYTES_A_NODE,
    END_X,
    END_Y,
    EXPANSIONS,
    FOUND,
    OCTILE_WEIGHT,
    PENDING,
    START_X,
    START_Y,
    STATUS,
    WEIGHT,
    GridSlots,
    make_slots,
)
from crowdsim.navigation.grid.sight import copy_waypoints, list_cells, pull_taut
from crowdsim.navigation.grid.trees import CellTrees, trees_that_fit
from crowdsim.navigation.grid.waiting import CellWaitParameters
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planning.protocol import ALL, Asked, FoundPaths, Line, SearchSpace
from crowdsim.navigation.planning.registry import PlannerGround, PlannerKind, Values, register_kind
from crowdsim.navigation.planning.request_queue import RequestQueue
from crowdsim.navigation.planning.serve import serve_loop
from crowdsim.navigation.planning.slot_planner import SlotPlanner
from crowdsim.navigation.planning.work import Ended, Work
from crowdsim.navigation.search.ground_filter import GroundFilter, GroundPrices
from crowdsim.navigation.search.watching import LaterWatchParameters
from crowdsim.navigation.stationary.near import list_stationary
from crowdsim.saved import FARTHEST_M, MOST, WIDEST_M, Arrays, Saved

MOST_SLOTS = 8  # Searches that go on side by side: enough for the threads of a desktop.
SLOT_MEMORY_BYTES = 512 << 20  # Slots are cut down to stay within it on huge grids; at least two are left.
# Requests that a slot takes at a time: large enough that the Python around a round costs little for each of
# them.
BATCH = 16
# Points that a saved list may have, and as many for each that goals have now: ground that changes cuts goals
# anew.
LEAST_CHOICES, MORE_CHOICES = 1024, 16
# What an answer counts as, in expansions: pulling its string and setting an agent on it takes some 5 us, and
# an expansion 0.1.
PATH_WORK = 50
# What a request counts as: it takes 65 to 80 us, most of it to note the stationary agents near its line, and
# an expansion 0.3 to 0.6 between the other work of a tick.
REQUEST_WORK = 100

# of requests, beside those that every one has
FIELDS = [("need", "f8"), ("to", "i8"), ("first", "i8"), ("last", "i8")]


@dataclass(frozen=True)
class WaypointAnswers:
    """Searches that ended, in the order of the requests.

    Attributes
    ----------
    entity : (k,) int64
    status : (k,) uint8
        FOUND, FOUND_THROUGH_AGENTS, NEAREST_REACHABLE, or ENCLOSED, which has no waypoints; see
        `crowdsim.navigation.grid.search`.
    start : (k + 1,) int64
    waypoint : (m, 2) float64, m
        Those of answer i are ``waypoint[start[i]:start[i + 1]]``, the goal's end last. On several floors they
        are places on the sheet of the grid, one of them at each seam, on the floor that is left there.
    length : (k,) float64, m
        From where the agent was over all waypoints, along the surface.
    cost : (k,) float64, m
        Length of the path over the centres of cells, before its string was pulled; over ground of several
        speeds, and on slopes, how far one would go in that time on the fastest.
    target : (k, 2) float64, m
        The point that the path leads to, or as near to as possible: of several the one that is nearest on
        foot.
    """

    entity: NDArray[np.int64]
    status: NDArray[np.uint8]
    start: NDArray[np.int64]
    waypoint: NDArray[np.float64]
    length: NDArray[np.float64]
    cost: NDArray[np.float64]
    target: NDArray[np.float64]


class CellSearch(NamedTuple):
    """What searches over cells work on.

    Attributes
    ----------
    slots : GridSlots
    ground : Ground
    rings : int
    step, trim : float, cells
    share : float
        See `nearest_walkable`, `is_in_sight`, `pull_taut`, `stamp_stationary`.
    stationary : (k, 3) float64, m
        Stationary agents; those of a request are its rows `first` to `last` - 1.
    choice : (m, 2) float64, m
    choice_start : (c + 1,) int64
        A request asks for the points of its list `to`, ``choice[choice_start[to]:choice_start[to + 1]]``.
    waypoint : (s, k, 2) float64, m
        The numbers of ``Work.out``, two by two.
    """

    slots: GridSlots
    ground: Ground
    rings: int
    step: float
    trim: float
    share: float
    stationary: NDArray[np.float64]
    choice: NDArray[np.float64]
    choice_start: NDArray[np.int64]
    waypoint: NDArray[np.float64]


@inlined_kernel
def _begin(search, work, slot, job):
    request, slots = work.requests[job], search.slots
    begin = search.choice_start[request["to"]]
    choices = search.choice_start[request["to"] + 1] - begin
    for place in range(choices):
        slots.choice[slot, place, 0], slots.choice[slot, place, 1] = (
            search.choice[begin + place, 0],
            search.choice[begin + place, 1],
        )
    stationary = StationaryDiscs(search.stationary, request["first"], request["last"], search.share)
    begin_path(
        slots, slot, search.ground, request["need"], request["x"], request["y"], choices, stationary,
        search.rings, request["tree"]
    )  # fmt: skip
    return 0


@inlined_kernel
def _advance(search, slot, grant):
    return advance_path(search.slots, slot, search.ground, search.rings, grant)


@inlined_kernel
def _finish(search, work, slot, job):
    slots, ground = search.slots, search.ground
    if slots.header[slot, STATUS] == PENDING:
        return -1
    node, count, at = last_node(slots, slot), 0, work.fill[slot] // 2
    if node >= 0:
        count = pull_taut(
            slots, slot, ground, list_cells(slots, slot, ground, node), search.step, search.trim
        )
    begins = 0 if is_flat(ground) or count == 0 else 1  # where seams are looked for from
    if work.fill[slot] + 2 * (count + begins) > work.out.shape[1]:
        return -1
    if begins:
        search.waypoint[slot, at, 0] = slots.measure[slot, START_X]
        search.waypoint[slot, at, 1] = slots.measure[slot, START_Y]
    work.status[job] = slots.header[slot, STATUS]
    work.detail[job, 0] = copy_waypoints(slots, slot, ground, count, search.waypoint[slot], at + begins)
    work.detail[job, 1] = slots.cost[slot, node] * ground.cell if node >= 0 else 0.0
    work.detail[job, 2], work.detail[job, 3] = slots.measure[slot, END_X], slots.measure[slot, END_Y]
    return 2 * (count + begins)


serve_waypoints = serve_loop("serve_waypoints", _begin, _advance, _finish)


class GridPlanner(SlotPlanner):
    """Answers requests for paths on a grid, for agents of any radius.

    Parameters
    ----------
    grid : Grid
        May be changed between calls. On several floors all places, of agents and of goals, are those on its
        sheet.
    target : (g, 2) float64, m
        Where the goals are.
    parameters : PathParameters, optional

    Raises
    ------
    NavigationError
        If a parameter is out of its range.
    """

    settles, request_work = True, REQUEST_WORK

    def __init__(
        self, grid: Grid, target: NDArray[np.float64], parameters: PathParameters | None = None
    ) -> None:
        self.grid, self.target = grid, np.asarray(target, dtype=np.float64).reshape(-1, 2)
        self._on: tuple[NavMesh, GoalPieces, GoalPoints] | None = None  # where goals lie, if that was said
        self._chooser: Chooser | None = None
        self.parameters = parameters or PathParameters()
        refuse_numbers(self.parameters, PathParameters)
        self._nodes = (grid.width + 2) * (grid.depth + 2)
        self._count = int(min(MOST_SLOTS, max(2, SLOT_MEMORY_BYTES // (BYTES_A_NODE * self._nodes))))
        self._most_choices = 1
        self._lists = PointLists()
        self._slots: GridSlots = self._idle_slots()
        self.trees = CellTrees(grid, self._slots, self.rings, self._lists)
        self._waypoint = np.empty((self._count, max(1 << 12, self._nodes), 2))
        queue = RequestQueue(
            FIELDS, self._count, 0, BATCH, BATCH, self._waypoint.reshape(self._count, -1), trees=self.trees
        )
        super().__init__(queue, PATH_WORK, 0, self.trees)
        self._owed = 0
        self._version = grid.version
        self._pool = np.zeros((0, 3))  # stationary agents of all requests
        self._stationary = np.zeros(0, dtype=np.int64)
        self._stationary_disc = np.zeros((0, 3))

    def _idle_slots(self) -> GridSlots:
        made, is_octile = (
            make_slots(self._count + 1, self._nodes, trees_that_fit(self._nodes), self._most_choices),
            self.parameters.heuristic == "octile",
        )
        made.measure[:, WEIGHT] = 0.0 if is_octile else self.parameters.heuristic_weight
        made.measure[:, OCTILE_WEIGHT] = self.parameters.heuristic_weight if is_octile else 0.0
        return made

    def stand_on(self, mesh: NavMesh, goals: GoalPieces) -> None:
        """Search for the goals of a mesh from now on: `target` are their points."""
        points = points_of(goals)
        self._on, self._chooser = (mesh, goals, points), None
        self.target = places_of_goals(mesh, goals, points, self.grid)

    def take_goals(self, goals: GoalPieces, changed: NDArray[np.int64]) -> None:
        """Search for other goals of the mesh from now on; see `Planner.take_goals`."""
        mesh, _, before = self._where()
        piece = goals.goal_start[changed]
        gone = self._lists.single(self.target[piece[piece < before.middles]])
        gone = np.setdiff1d(gone, self.queue.requests["to"])  # other goals lie at the same place
        numbers = set(gone.tolist())
        if numbers:
            self.trees.forget(lambda wanted: wanted[0] in numbers)
            self._lists.give_up(gone)
        points = points_after(before, goals, changed)
        self._on = mesh, goals, points
        self.target = places_of_goals(mesh, goals, points, self.grid)

    def chooser(self) -> Chooser:
        """Return what knows which points of goals agents can mean, on the grid as it is now."""
        mesh, goals, points = self._where()
        known = self._chooser
        if known is None or known.version != self.grid.version:
            known = None
        if known is None or known.target is not self.target:
            known = Chooser(mesh, goals, points, self.target, self.grid, self.rings(), known)
        self._chooser = known
        return known

    def _where(self) -> tuple[NavMesh, GoalPieces, GoalPoints]:
        """Return the mesh, the goals on it, and their points."""
        assert self._on is not None, "stand_on comes first"
        return self._on

    def needs(self, radius: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the clearance (m) that cells have to exceed for agents, (k,); see `Grid.need`."""
        own = (
            np.full(len(radius), self.parameters.agent_radius)
            if self.parameters.agent_radius > 0.0
            else radius
        )
        return own + self.grid.parameters.object_padding

    def rings(self) -> int:
        """Return how many rings of cells round a start or a goal are looked at."""
        return int(min(self.parameters.snap_distance / self.grid.parameters.cell_size + 1e-9, 1 << 30))

    def stand(
        self, entity: NDArray[np.int64], position: NDArray[np.float64], radius: NDArray[np.float64]
    ) -> None:
        """Say which agents are stationary, for the requests that are made from now on:
        agents that are alive, enabled, and not moving.

        Parameters
        ----------
        entity : (k,) int64
        position : (k, 2) float64, m
        radius : (k,) float64, m
            Collision radius, which is not the radius that paths are looked for with.
        """
        self._stationary = np.array(entity, dtype=np.int64)
        self._stationary_disc = np.column_stack([position, radius]).astype(np.float64).reshape(-1, 3)

    def submit(
        self,
        tick: int,
        entity: NDArray[np.int64],
        position: NDArray[np.float64],
        polygon: NDArray[np.int64],
        goal: NDArray[np.int32],
        radius: NDArray[np.float64],
        choices: Sequence[NDArray[np.int64]] = (),
        settled: bool = False,
    ) -> None:
        """Ask for paths; see `Planner.submit`.

        Parameters
        ----------
        tick, entity, position
            As for `Planner.submit`.
        polygon : (k,) int64
            Not used: a grid finds the cell from the position.
        goal : (k,) int32
            Rows of `target`, or of `choices`.
        radius : (k,) float64, m
            Of the agents; where `agent_radius` is above 0, paths are looked for with that.
        choices : sequence of (c,) int64, optional
            Of several rows of `target`, one at least, the nearest on foot is meant.
        settled : bool
            Whether `settle` was called for them, and for all that come with them for the same.

        Raises
        ------
        NavigationError
            If an agent is wider than the grid knows distances for.
        """
        for each in (
            np.unique(radius).tolist()
            if self.parameters.agent_radius == 0.0
            else [self.parameters.agent_radius]
        ):
            self.grid.need(each)
        fresh = self._fresh(tick, entity, position, need=self.needs(radius))
        fresh["to"] = self._lists_of(goal, choices)
        self._make_room_for_choices()
        if self._shares and len(fresh):
            wanted = _wanted(fresh["to"], fresh["need"])
            if not settled:
                self.trees.note(wanted, fresh["entity"], fresh["need"])
            fresh["tree"] = self.trees.trees_of(wanted)
        self._note_stationary(fresh)
        self.queue.submit(len(fresh))

    @property
    def _shares(self) -> bool:
        return self.parameters.share_searches and self.parameters.heuristic_weight > 0.0

    def _lists_of(self, goal: NDArray[np.int32], choices: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the numbers of the lists of points that agents want to one of, (k,); see `submit`."""
        wanted, which = np.unique(goal, return_inverse=True)
        numbers = [
            self._lists.number_of(self.target[choices[each] if choices else np.array([each])])
            for each in wanted.tolist()
        ]
        return np.array(numbers, dtype=np.int64)[which.reshape(-1)]

    def settle(
        self,
        entity: NDArray[np.int64],
        goal: NDArray[np.int32],
        radius: NDArray[np.float64],
        choices: Sequence[NDArray[np.int64]] = (),
    ) -> None:
        """Take notice that agents, (k,), are going to ask for paths to rows of `target`, or of `choices`; see
        `MeshPlanner.settle`.
        """
        if self._shares and len(entity):
            need = self.needs(radius)
            self.trees.note(_wanted(self._lists_of(goal, choices), need), entity, need)

    def _note_stationary(self, fresh: NDArray[Any]) -> None:
        """Keep for each new request the stationary agents near its line,
        and forget those of requests that were answered.
        """
        kept = self.queue.requests
        pools = [self._pool[a:b] for a, b in zip(kept["first"], kept["last"], strict=True)]
        points = [self._lists.points(number) for number in fresh["to"].tolist()]
        sizes = np.array([len(each) for each in points], dtype=np.int64)
        plan_of = self.grid.sheet.plan_of
        to = plan_of(np.concatenate([np.zeros((0, 2)), *points]))
        begin = plan_of(np.column_stack([fresh["x"], fresh["y"]]))
        line = np.column_stack([np.repeat(begin, sizes, axis=0), to])
        start, near = list_stationary(
            np.repeat(fresh["entity"], sizes),
            line,
            self.parameters.obstacle_reach,
            self._stationary,
            np.ascontiguousarray(plan_of(self._stationary_disc[:, :2])),
        )
        ends = start[np.concatenate([[0], np.cumsum(sizes)])]
        # ascending already for one point; near several lines are some twice
        rows = [np.unique(near[a:b]) for a, b in itertools.pairwise(ends.tolist())]
        pools += [self._stationary_disc[each] for each in rows]
        ends = np.cumsum([0, *(len(pool) for pool in pools)])
        self._pool = np.concatenate([np.zeros((0, 3)), *pools])
        fresh["first"], fresh["last"] = ends[len(kept) : -1], ends[len(kept) + 1 :]
        self.queue.change("first", ends[: len(kept)])
        self.queue.change("last", ends[1 : len(kept) + 1])

    def _make_room_for_choices(self) -> None:
        """Let searches have as many goals as the longest list has points."""
        if self._lists.longest <= self._most_choices:
            return
        more = self._lists.longest - self._most_choices
        self._most_choices = self._lists.longest
        slots = self._slots
        self._slots = slots._replace(
            goal=np.pad(slots.goal, ((0, 0), (0, more)), constant_values=-1),
            choice=np.pad(slots.choice, ((0, 0), (0, more), (0, 0))),
            roots=np.pad(slots.roots, ((0, 0), (0, more)), constant_values=-1),
        )
        self.trees.slots = self._slots

    def advance(self, budget: int, team: Team, *, counts_answers: bool = True) -> tuple[WaypointAnswers, int]:
        """Do so much work, expansions, and what answers count as, if they count; see `Planner.advance`."""
        self._heed_ground()
        paid = min(self._owed, budget)
        self._owed -= paid
        answers, made = super().advance(budget - paid, team, counts_answers=counts_answers)
        self.spent += paid
        return answers, made + paid

    def owe(self, expansions: int) -> None:
        """Take expansions that were made elsewhere for an answer off the next budgets."""
        self._owed += expansions

    def _heed_ground(self) -> None:
        """Let searches and trees begin anew if cells have changed: what they know is no longer true."""
        if self._version != self.grid.version:
            self._version = self.grid.version
            self.queue.begin_anew()
            self.trees.grow_anew()

    def _serve(self, team: Team, work: Work) -> None:
        own, step = (
            self.parameters,
            float(self.parameters.sight_step) if self.parameters.sight == "sampled" else 0.0,
        )
        search = CellSearch(
            self._slots,
            self.grid.ground,
            self.rings(),
            step,
            float(own.first_waypoint_trim),
            float(own.obstacle_radius_share),
            self._pool,
            *self._lists.arrays(),
            self._waypoint,
        )
        team.run(serve_waypoints, len(work.turn), search, work, at_least=1)

    def _answers(self, ended: Ended) -> WaypointAnswers:
        start = np.concatenate([[0], np.cumsum(ended.size // 2)]).astype(np.int64)
        waypoint, length = ended.path.reshape(-1, 2), ended.detail[:, 0]
        if self.grid.has_floors:
            waypoint, start, length = self.grid.laid_on_floors(waypoint, start)
        cost, target = ended.detail[:, 1], ended.detail[:, 2:]
        return WaypointAnswers(ended.entity, ended.status, start, waypoint, length, cost, target)

    def _progress(self) -> dict[str, NDArray[Any]]:
        return {"made": np.where(self.queue.is_active, self._slots.header[: self._count, EXPANSIONS], 0)}

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives in the planner as named arrays:
        of searches, what they are for and how far they are.
        """
        self._heed_ground()
        return {
            **super().state(),
            "pool": self._pool.copy(),
            "stationary": self._stationary.copy(),
            "stationary_disc": self._stationary_disc.copy(),
            "version": np.array([self._version], dtype=np.int64),
            "owed": np.array([self._owed], dtype=np.int64),
            **{f"lists_{name}": array for name, array in self._lists.state().items()},
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave; the grid has to be as it was.
        Searches are begun again and do what they had done.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved = Saved.of(state)
        self._version, self._owed = saved.whole("version", 0, MOST), saved.whole("owed", 0, MOST)
        low, high = [-FARTHEST_M, -FARTHEST_M, 0.0], [FARTHEST_M, FARTHEST_M, WIDEST_M]
        self._pool, self._stationary = (
            saved.take("pool", "f8", (None, 3), low=low, high=high),
            saved.take("stationary", "i8", low=1, high=MOST),
        )
        self._stationary_disc = saved.take(
            "stationary_disc", "f8", (len(self._stationary), 3), low=low, high=high
        )
        self._lists.restore(saved.below("lists_"), LEAST_CHOICES + MORE_CHOICES * len(self.target))
        wanted = saved.take("queue_request_to", "i8", low=0, high=self._lists.count - 1)
        saved.require(self._lists.is_list(wanted), "queue_request_to", "there is no such list")
        self._most_choices = self._lists.longest
        self._slots = self.trees.slots = self._idle_slots()
        pool = {"first": (0, len(self._pool)), "last": (0, len(self._pool))}
        self._restore(saved, {"need": (0.0, WIDEST_M), "to": (0, self._lists.count - 1), **pool})
        requests = self.queue.requests
        saved.require(requests["first"] <= requests["last"], "queue_request_first", "comes after the last")


def _wanted(to: NDArray[np.int64], need: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what requests have to have in common to share a tree, (k, 2)."""
    return np.column_stack([to.astype(np.float64), CellTrees.clearance_class(need)])


class FoundOverCells(FoundPaths):
    """Paths over cells that an idle planner answers, without a budget; one that ends before the goal is none,
    but has a line.
    """

    def __init__(self, planner: GridPlanner, asked: Asked) -> None:
        mesh, _, position, polygon, goal, radius = asked
        chooser, count = planner.chooser(), len(goal)
        which, choices = chooser.choices(goal, polygon, planner.needs(radius), radius)
        asks = np.flatnonzero(which >= 0)
        self._sheet = planner.grid.sheet
        place = self._sheet.place_of(position, mesh.polygon_layer[polygon])
        planner.submit(0, asks + 1, place[asks], polygon[asks], which[asks], radius[asks], choices)
        answers, _ = planner.advance(ALL, Team())
        self._place, self._answers, found = place, answers, answers.status == FOUND
        self.piece = np.full(count, -1, dtype=np.int32)
        self._length, self._effort = np.full(count, np.inf), np.full(count, np.inf)
        rows = answers.entity[found] - 1
        self.piece[rows] = chooser.piece_at(goal[rows], answers.target[found])
        self._length[rows] = answers.length[found]
        grid = planner.grid
        self._effort[rows] = (answers.length if grid.is_even else answers.cost / grid.fastest)[found]

    def lengths(self, *, in_time: bool = False) -> NDArray[np.float64]:
        """Return how long the paths are; see `FoundPaths.lengths`."""
        return self._effort if in_time else self._length

    def lines(self) -> list[Line]:
        """Return the lines over waypoints, those on each floor apart; those to the nearest reachable place,
        too.
        """
        answers, sheet, found = self._answers, self._sheet, list[Line]()
        parts = zip((answers.entity - 1).tolist(), itertools.pairwise(answers.start.tolist()), strict=True)
        for row, (first, last) in parts:
            floor = sheet.floors_of(answers.waypoint[first:last])
            point = np.vstack([self._place[row], answers.waypoint[first:last]])
            point = sheet.plan_of(point)
            changes = np.flatnonzero(np.diff(floor)) + 1
            for begin, end in itertools.pairwise([0, *changes.tolist(), len(floor)]):
                if begin < end:
                    found.append(Line(row, int(floor[begin]), point[begin : end + 1]))
        return found


# An expansion of a grid is less work than one of a mesh, and more are needed: the least work is some 5 ms of
# one core, a handful of paths over a large hall.
CELLS = SearchSpace(FoundOverCells, 50_000, 10, 500, (WalkParameters, CellWaitParameters, GroundFilter))


def _make(ground: PlannerGround, values: Values) -> GridPlanner:
    grid: Grid = ground.cells()
    planner = GridPlanner(grid, np.zeros((0, 2)), values.parameters(PathParameters))
    planner.stand_on(ground.mesh, ground.goals)
    return planner


for _name, _own in (("grid", PathParameters), ("s2-grid", DocumentPathParameters)):
    register_kind(
        PlannerKind(
            _name,
            _make,
            CELLS,
            (CellParameters, _own),
            (GroundPrices, LaterWatchParameters),
            knows_terrain=True,
        )
    )
