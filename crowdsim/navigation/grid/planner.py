"""The planner of the grid world: many requests for a way, answered by searches in slots under a budget of expansions.

Requests wait in one queue, first in, first out. Each slot works on a few of them one after the other; all slots with work get an equal share of the
budget, what does not divide evenly going to the oldest. Which agents stand in the way is noted when a request is made, so that its answer does not
depend on when its search begins. If an area is opened or closed, the searches that have begun begin anew.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.grid.cascade import advance_way, begin_way_to_nearest, last_node
from crowdsim.navigation.grid.choices import Chooser
from crowdsim.navigation.grid.grid import Grid
from crowdsim.navigation.grid.parameters import WayParameters
from crowdsim.navigation.grid.points import PointLists
from crowdsim.navigation.grid.search import BYTES_A_NODE, END_X, END_Y, EXPANSIONS, OCTILE_PULL, PENDING, PULL, STATUS, GridSlots, make_slots
from crowdsim.navigation.grid.sight import copy_waypoints, list_cells, pull_taut
from crowdsim.navigation.grid.trees import CellTrees, trees_that_fit
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.search.sharing import NO_TREE
from crowdsim.navigation.stationary.near import list_standers
from crowdsim.saved import FARTHEST_M, MOST, MOST_TICKS, WIDEST_M, Arrays, Saved, ascends, fields_of
from crowdsim.tunable import tunables

MOST_SLOTS = 8  # Searches that go on side by side: enough for the threads of a desktop.
SLOT_MEMORY_BYTES = 512 << 20  # Slots are cut down to stay within it on huge grids; at least two are left.
BATCH = 16  # Requests that a slot takes at a time: large enough that the Python around a round costs little for each of them.
LEAST_CHOICES, MORE_CHOICES = 1024, 16  # Points that a saved list may have, and as many for each that goals have now: ground that changes cuts goals anew.
WAY_WORK = 50  # What an answer counts as, in expansions: pulling its string and setting an agent on it takes some 5 us, and an expansion 0.1.

_REQUEST = np.dtype(
    [
        ("order", "i8"), ("entity", "i8"), ("tick", "i8"), ("need", "f8"), ("x", "f8"), ("y", "f8"), ("to", "i8"),
        ("first", "i8"), ("last", "i8"), ("tree", "i8"),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class WayAnswers:
    """Searches that ended, in the order in which they were asked for.

    Attributes
    ----------
    entity : (k,) int64
    status : (k,) uint8
        FOUND, FOUND_THROUGH_AGENTS, NEAREST_REACHABLE, or ENCLOSED, which has no waypoints; see `crowdsim.navigation.grid.search`.
    start : (k + 1,) int64
    waypoint : (m, 2) float64, m
        Those of answer i are ``waypoint[start[i]:start[i + 1]]``, the goal's end last.
    length : (k,) float64, m
        From where the agent was over all waypoints.
    cost : (k,) float64, m
        Length of the way over the centres of cells, before its string was pulled.
    target : (k, 2) float64, m
        The point that the way leads to, or as near to as can be: of several the one that is nearest on foot.
    """

    entity: NDArray[np.int64]
    status: NDArray[np.uint8]
    start: NDArray[np.int64]
    waypoint: NDArray[np.float64]
    length: NDArray[np.float64]
    cost: NDArray[np.float64]
    target: NDArray[np.float64]

    @property
    def work(self) -> int:
        """What the answers count as, in expansions."""
        return WAY_WORK * len(self.entity)


@lean_kernel
def serve_ways(
    first, last, slots, ground, rings, step, trim, share, way_work, stander, choice, choice_start, jobs, job_count, job_next, is_active, grant, used,
    requests, status, where, size, length, cost, target, out, fill,
):  # fmt: skip
    """Let slots first..last - 1 work through their requests.

    Parameters
    ----------
    first, last : int
    slots : GridSlots
    ground : Ground
    rings : int
    step, trim : float, cells
    share : float
        See `nearest_walkable`, `is_in_sight`, `pull_taut`, `stamp_standers`.
    way_work : int, expansions
        What an answer counts as; 0 where answers do not count.
    stander : (k, 3) float64, m
        Those of a request are its rows `first` to `last` - 1.
    choice : (m, 2) float64, m
    choice_start : (c + 1,) int64
        A request asks for the points of its list `to`, ``choice[choice_start[to]:choice_start[to + 1]]``.
    jobs : (s, b) int64
        Requests of each slot, as rows of `requests`.
    job_count, job_next : (s,) int64
        How many, and the one that is being worked on; the latter is moved on.
    is_active : (s,) int64
        1 while the slot is in the middle of a request.
    grant, used : (s,) int64
        Work that a slot may do: a way is begun where some is left, and counts as `way_work`; expansions that it has made.
    requests : (n,) record array
    status : (n,) uint8
    where, size : (n,) int64
    length, cost : (n,) float64, m
    target : (n, 2) float64, m
        For requests that ended: outcome, where in the slot's row of `out` the waypoints are and how many, lengths, and the point; see `WayAnswers`.
    out : (s, k, 2) float64, m
    fill : (s,) int64
        Waypoints in each row of `out`.
    """
    for slot in range(first, last):
        used[slot] = spent = 0
        while job_next[slot] < job_count[slot] and spent < grant[slot]:
            job = jobs[slot, job_next[slot]]
            if is_active[slot] == 0:
                request = requests[job]
                begin, choices = choice_start[request["to"]], choice_start[request["to"] + 1] - choice_start[request["to"]]
                for place in range(choices):
                    slots.choice[slot, place, 0], slots.choice[slot, place, 1] = choice[begin + place, 0], choice[begin + place, 1]
                begin_way_to_nearest(
                    slots, slot, ground, request["need"], request["x"], request["y"], choices,
                    stander, request["first"], request["last"], share, rings, request["tree"],
                )  # fmt: skip
                is_active[slot] = 1
            made = advance_way(slots, slot, ground, rings, grant[slot] - spent)
            used[slot] += made
            spent += made
            if slots.header[slot, STATUS] == PENDING:
                break
            node = last_node(slots, slot)
            count = 0
            if node >= 0:
                count = pull_taut(slots, slot, ground, list_cells(slots, slot, ground, node), step, trim)
            if fill[slot] + count > out.shape[1]:
                break  # The way is found; the next round, with an empty row, takes it.
            status[job] = slots.header[slot, STATUS]
            where[job], size[job] = fill[slot], count
            length[job] = copy_waypoints(slots, slot, ground, count, out[slot], fill[slot])
            cost[job] = slots.cost[slot, node] * ground.cell if node >= 0 else 0.0
            target[job, 0], target[job, 1] = slots.measure[slot, END_X], slots.measure[slot, END_Y]
            fill[slot] += count
            is_active[slot] = 0
            job_next[slot] += 1
            spent += way_work


class GridPlanner:
    """Answers requests for ways on a grid, for bodies of any radius.

    Parameters
    ----------
    grid : Grid
        May be changed between calls.
    target : (g, 2) float64, m
        Where the goals are.
    parameters : WayParameters, optional

    Raises
    ------
    NavigationError
        If a parameter is out of its range.
    """

    def __init__(self, grid: Grid, target: NDArray[np.float64], parameters: WayParameters | None = None) -> None:
        self.grid, self.target = grid, np.asarray(target, dtype=np.float64).reshape(-1, 2)
        self.parameters = parameters or WayParameters()
        for tunable in tunables(WayParameters):
            complaint = tunable.complaint(getattr(self.parameters, tunable.name))
            if complaint:
                raise NavigationError(f"{tunable.name}: {complaint}.")
        self._nodes = (grid.width + 2) * (grid.depth + 2)
        self._count = int(min(MOST_SLOTS, max(2, SLOT_MEMORY_BYTES // (BYTES_A_NODE * self._nodes))))
        self._most_choices = 1
        self._lists = PointLists()
        self._slots: GridSlots = self._idle_slots()
        self._trees = CellTrees(grid, self._slots, self.rings, self._lists)
        self._out = np.empty((self._count, max(1 << 12, self._nodes), 2))
        self._is_active = np.zeros(self._count, dtype=np.int64)
        self._held = np.zeros(self._count, dtype=_REQUEST)  # what an active slot is in the middle of
        self._queue = np.zeros(0, dtype=_REQUEST)
        self._asked = self._owed = 0
        self._version = grid.version
        self._pool = np.zeros((0, 3))  # standing agents of all requests
        self._stander = np.zeros(0, dtype=np.int64)
        self._stander_disc = np.zeros((0, 3))

    def _idle_slots(self) -> GridSlots:
        made, is_octile = make_slots(self._count + 1, self._nodes, trees_that_fit(self._nodes), self._most_choices), self.parameters.heuristic == "octile"
        made.measure[:, PULL] = 0.0 if is_octile else self.parameters.pull
        made.measure[:, OCTILE_PULL] = self.parameters.pull if is_octile else 0.0
        return made

    def chooser(self, mesh: NavMesh, goals: GoalPieces) -> Chooser:
        """Return what knows which points of goals agents can mean, on the grid as it is now; `target` is to be `points_of` them."""
        return Chooser(mesh, goals, self.grid, self.rings())

    def needs(self, radius: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the clearance (m) that cells have to exceed for bodies, (k,); see `Grid.need`."""
        own = np.full(len(radius), self.parameters.agent_radius) if self.parameters.agent_radius > 0.0 else radius
        return own + self.grid.parameters.object_padding

    def rings(self) -> int:
        """Return how many rings of cells round a start or a goal are looked at."""
        return int(min(self.parameters.snap_distance / self.grid.parameters.cell_size + 1e-9, 1 << 30))

    @property
    def waiting(self) -> int:
        """Requests that have not been answered."""
        return len(self._queue) + int(np.count_nonzero(self._is_active))

    @property
    def entities(self) -> list[int]:
        """Whose requests have not been answered."""
        return [int(each) for each in self._open_requests()["entity"]]

    def oldest_tick(self, default: int) -> int:
        """Return the tick at which the oldest unanswered request was made; `default` if there is none."""
        ticks = self._open_requests()["tick"]
        return int(ticks.min()) if len(ticks) else default

    def _open_requests(self) -> NDArray[Any]:
        requests = np.concatenate([self._held[self._is_active == 1], self._queue])
        return requests[np.argsort(requests["order"], kind="stable")]

    def stand(self, entity: NDArray[np.int64], position: NDArray[np.float64], radius: NDArray[np.float64]) -> None:
        """Say who stands about, for the requests that are made from now on: agents that are alive, enabled, and not moving.

        Parameters
        ----------
        entity : (k,) int64
        position : (k, 2) float64, m
        radius : (k,) float64, m
            Collision radius, which is not the radius that ways are looked for with.
        """
        self._stander = np.array(entity, dtype=np.int64)
        self._stander_disc = np.column_stack([position, radius]).astype(np.float64).reshape(-1, 3)

    def submit(
        self,
        tick: int,
        entity: NDArray[np.int64],
        position: NDArray[np.float64],
        polygon: NDArray[np.int64],
        goal: NDArray[np.int32],
        radius: NDArray[np.float64],
        choices: Sequence[NDArray[np.int64]] = (),
    ) -> None:
        """Ask for ways; whoever asks again withdraws what it asked before.

        Parameters
        ----------
        tick : int
            Now.
        entity : (k,) int64
        position : (k, 2) float64, m
        polygon : (k,) int64
            As all planners are asked; a grid finds the cell from the position.
        goal : (k,) int32
            Rows of `target`, or of `choices`.
        radius : (k,) float64, m
            Of the bodies; where `agent_radius` is above 0, ways are looked for with that.
        choices : sequence of (c,) int64, optional
            Of several rows of `target`, one at least, the nearest on foot is meant.

        Raises
        ------
        NavigationError
            If a body is wider than the grid knows distances for.
        """
        for each in np.unique(radius).tolist() if self.parameters.agent_radius == 0.0 else [self.parameters.agent_radius]:
            self.grid.need(each)
        self.drop(entity)
        fresh = np.zeros(len(entity), dtype=_REQUEST)
        fresh["order"] = self._asked + np.arange(len(entity))
        self._asked += len(entity)
        fresh["entity"], fresh["tick"] = entity, tick
        fresh["need"] = self.needs(radius)
        fresh["x"], fresh["y"] = position[:, 0], position[:, 1]
        asked, which = np.unique(goal, return_inverse=True)
        numbers = [self._lists.number_of(self.target[choices[each] if choices else np.array([each])]) for each in asked.tolist()]
        fresh["to"] = np.array(numbers, dtype=np.int64)[which.reshape(-1)] if len(fresh) else 0
        self._make_room_for_choices()
        fresh["tree"] = NO_TREE
        if self.parameters.share_searches and self.parameters.pull > 0.0 and len(fresh):
            wanted = np.column_stack([fresh["to"].astype(np.float64), CellTrees.clearance_class(fresh["need"])])
            fresh["tree"] = self._trees.trees_of(wanted, fresh["entity"], fresh["need"])
        self._note_standers(fresh)
        self._queue = np.concatenate([self._queue, fresh])

    def _note_standers(self, fresh: NDArray[Any]) -> None:
        """Keep for each new request who stands near its line, and forget those of requests that were answered."""
        kept = self._open_requests()
        pools = [self._pool[a:b] for a, b in zip(kept["first"], kept["last"], strict=True)]
        points = [self._lists.points(number) for number in fresh["to"].tolist()]
        sizes = np.array([len(each) for each in points], dtype=np.int64)
        to = np.concatenate([np.zeros((0, 2)), *points])
        line = np.column_stack([np.repeat(fresh["x"], sizes), np.repeat(fresh["y"], sizes), to])
        start, near = list_standers(
            np.repeat(fresh["entity"], sizes), line, self.parameters.obstacle_reach, self._stander, np.ascontiguousarray(self._stander_disc[:, :2])
        )  # fmt: skip
        ends = start[np.concatenate([[0], np.cumsum(sizes)])]
        rows = [np.unique(near[a:b]) for a, b in itertools.pairwise(ends.tolist())]  # ascending already for one point; near several lines are some twice
        pools += [self._stander_disc[each] for each in rows]
        ends = np.cumsum([0, *(len(pool) for pool in pools)])
        self._pool = np.concatenate([np.zeros((0, 3)), *pools])
        fresh["first"], fresh["last"] = ends[len(kept) : -1], ends[len(kept) + 1 :]
        for requests in (self._held, self._queue):
            place = np.searchsorted(kept["order"], requests["order"])
            inside = place < len(kept)
            requests["first"][inside], requests["last"][inside] = ends[place[inside]], ends[place[inside] + 1]

    def _make_room_for_choices(self) -> None:
        """Let searches have as many goals as the longest list has points."""
        if self._lists.longest <= self._most_choices:
            return
        more = self._lists.longest - self._most_choices
        self._most_choices = self._lists.longest
        slots = self._slots
        self._slots = slots._replace(
            goal=np.pad(slots.goal, ((0, 0), (0, more)), constant_values=-1), choice=np.pad(slots.choice, ((0, 0), (0, more), (0, 0))),
            roots=np.pad(slots.roots, ((0, 0), (0, more)), constant_values=-1),
        )  # fmt: skip
        self._trees.slots = self._slots

    def drop(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that left or changed their mind."""
        if self.waiting == 0:
            return
        self._queue = self._queue[~np.isin(self._queue["entity"], entity)]
        gone = (self._is_active == 1) & np.isin(self._held["entity"], entity)
        self._is_active[gone] = 0

    def advance(self, budget: int, team: Team, *, counts_answers: bool = True) -> tuple[WayAnswers, int]:
        """Search for at most `budget` expansions, less what the answers count as, if they count.

        Returns
        -------
        WayAnswers
        int
            Expansions made.
        """
        self._heed_ground()
        spent = made = min(self._owed, budget)
        self._owed -= made
        way_work = WAY_WORK if counts_answers else 0
        finished: list[_Finished] = []
        while self.waiting and spent < budget:
            used, ended = self._round(budget - spent, team, way_work)
            made += used
            spent += used
            if ended is not None:
                finished.append(ended)
                spent += way_work * len(ended.requests)
        return _in_order(finished), made

    def owe(self, expansions: int) -> None:
        """Take expansions that somebody else has made for an answer off the next budgets."""
        self._owed += expansions

    def _heed_ground(self) -> None:
        """Let searches and trees begin anew if cells have changed: what they know is no longer true."""
        if self._version != self.grid.version:
            self._version = self.grid.version
            self._queue = self._open_requests()
            self._is_active[:] = 0
            self._trees.grow_anew()

    def _round(self, budget: int, team: Team, way_work: int) -> tuple[int, _Finished | None]:
        """Hand out requests, let every slot with work use its share, collect what ended."""
        active = np.flatnonzero(self._is_active)
        most = BATCH * self._count
        head = self._queue[:most]  # all that slots can take: a round costs no more however many wait
        ready = self._trees.ready(head["tree"])
        if not ready and not len(active):
            return self._trees.grow(head["tree"][0], budget), None
        head, rest = self._queue[:ready], self._queue[ready:]  # those behind one whose tree is to grow wait for their turn
        requests = np.concatenate([self._held[active], head])
        jobs = np.zeros((self._count, BATCH), dtype=np.int64)
        job_count = np.zeros(self._count, dtype=np.int64)
        jobs[active, 0] = np.arange(len(active))
        job_count[active] = 1
        idle = np.flatnonzero(self._is_active == 0)
        batch = min(BATCH, -(-len(head) // max(1, len(idle))))
        for i, slot in enumerate(idle.tolist()):
            mine = np.arange(len(active) + i * batch, len(active) + min(len(head), (i + 1) * batch))
            jobs[slot, : len(mine)] = mine
            job_count[slot] = len(mine)
        at_work = np.flatnonzero(job_count)
        grant = np.zeros(self._count, dtype=np.int64)
        grant[at_work] = budget // len(at_work)
        oldest_first = np.argsort(requests["order"][jobs[at_work, 0]], kind="stable")  # so that nobody starves on less than an expansion for each slot
        grant[at_work[oldest_first[: budget % len(at_work)]]] += 1
        used, job_next, fill = (np.zeros(self._count, dtype=np.int64) for _ in range(3))
        status = np.zeros(len(requests), dtype=np.uint8)
        where, size = np.zeros(len(requests), dtype=np.int64), np.zeros(len(requests), dtype=np.int64)
        length, cost, target = np.zeros(len(requests)), np.zeros(len(requests)), np.zeros((len(requests), 2))
        way, rings = self.parameters, self.rings()
        step = float(way.sight_step) if way.sight == "sampled" else 0.0
        team.run(
            serve_ways, self._count, self._slots, self.grid.ground, rings, step, float(way.first_waypoint_trim), float(way.obstacle_radius_share),
            way_work, self._pool, *self._lists.arrays(), jobs, job_count, job_next, self._is_active, grant, used, requests, status, where, size, length,
            cost, target, self._out, fill, at_least=1,
        )  # fmt: skip
        begun = np.zeros(len(requests), dtype=bool)
        slot_of = np.zeros(len(requests), dtype=np.int64)
        for slot in at_work.tolist():
            mine = jobs[slot, : job_count[slot]]
            slot_of[mine] = slot
            if self._is_active[slot]:
                self._held[slot] = requests[mine[job_next[slot]]]
                begun[mine[job_next[slot]]] = True
        left = requests[(status == 0) & ~begun]
        self._queue = np.concatenate([left[np.argsort(left["order"], kind="stable")], rest])
        over = np.flatnonzero(status)
        if not len(over):
            return int(used.sum()), None
        ways = [self._out[slot_of[i], where[i] : where[i] + size[i]].copy() for i in over]
        return int(used.sum()), _Finished(requests[over], status[over], length[over], cost[over], target[over], ways)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives in the planner as named arrays: of searches, what they are for and how far they are."""
        self._heed_ground()
        active = np.flatnonzero(self._is_active)
        return {
            **fields_of("queue_", self._queue), **fields_of("held_", self._held[active]), "active": active,
            "made": self._slots.header[active, EXPANSIONS], "pool": self._pool.copy(), "stander": self._stander.copy(),
            "stander_disc": self._stander_disc.copy(), "counters": np.array([self._asked, self._version], dtype=np.int64),
            "owed": np.array([self._owed], dtype=np.int64),
            **{f"lists_{name}": array for name, array in self._lists.state().items()},
            **{f"trees_{name}": array for name, array in self._trees.state().items()},
        }  # fmt: skip

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave; the grid has to be as it was. Searches are begun again and do what they had done.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved, far = Saved.of(state), (-FARTHEST_M, FARTHEST_M)
        asked, version = saved.take("counters", "i8", (2,), low=0, high=MOST).tolist()
        self._owed = saved.whole("owed", 0, MOST)
        low, high = [-FARTHEST_M, -FARTHEST_M, 0.0], [FARTHEST_M, FARTHEST_M, WIDEST_M]
        pool, stander = saved.take("pool", "f8", (None, 3), low=low, high=high), saved.take("stander", "i8", low=1, high=MOST)
        stander_disc = saved.take("stander_disc", "f8", (len(stander), 3), low=low, high=high)
        self._lists.restore(saved.below("lists_"), LEAST_CHOICES + MORE_CHOICES * len(self.target))
        self._most_choices = self._lists.longest
        self._slots = self._trees.slots = self._idle_slots()
        self._trees.restore(saved.below("trees_"))
        bounds: dict[str, tuple[Any, Any]] = {
            "order": (0, asked - 1), "entity": (0, MOST), "tick": (0, MOST_TICKS), "need": (0.0, WIDEST_M), "x": far, "y": far,
            "to": (0, self._lists.count - 1), "first": (0, len(pool)), "last": (0, len(pool)), "tree": (NO_TREE, self._trees.count - 1),
        }  # fmt: skip
        queue = saved.records("queue_", _REQUEST, bounds)
        active = saved.take("active", "i8", low=0, high=self._count - 1)
        held = saved.records("held_", _REQUEST, bounds, len(active))
        made = saved.take("made", "i8", (len(active),), low=0, high=MOST)
        saved.require(ascends(active), "active", "slots have to ascend")
        saved.require(ascends(queue["order"]), "queue_order", "requests stand in the order in which they were made")
        both = np.concatenate([held, queue])
        for field in ("entity", "order"):
            saved.require(len(np.unique(both[field])) == len(both), f"queue_{field}", "has one twice")
        for name, records in (("queue", queue), ("held", held)):
            saved.require(records["first"] <= records["last"], f"{name}_first", "comes after the last")
        saved.require((held["tree"] == NO_TREE) | self._trees.is_grown[held["tree"]], "held_tree", "that tree is not grown")
        self._queue, self._asked, self._version = queue, asked, version
        self._pool, self._stander, self._stander_disc = pool, stander, stander_disc
        self._held[active] = held
        self._is_active[:] = 0
        saved.require(self._redo(active, made), "made", "the search comes to an end sooner, or goes on")
        self._is_active[active] = 1

    def _redo(self, active: NDArray[np.int64], made: NDArray[np.int64]) -> bool:
        """Let slots begin what they hold, and do so many expansions; return whether they did. Ways that are found stay where they are."""
        count, way = self._count, self.parameters
        works, grant = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        works[active], grant[active] = 1, np.maximum(made, 1)
        none = np.zeros(count, dtype=np.int64)
        used, job_next, fill, where, size = (none.copy() for _ in range(5))
        Team(1).run(
            serve_ways, count, self._slots, self.grid.ground, self.rings(), float(way.sight_step) if way.sight == "sampled" else 0.0,
            float(way.first_waypoint_trim), float(way.obstacle_radius_share), 0, self._pool, *self._lists.arrays(), np.arange(count).reshape(-1, 1).copy(),
            works, job_next, none, grant, used, self._held, np.zeros(count, dtype=np.uint8), where, size, np.zeros(count), np.zeros(count),
            np.zeros((count, 2)), np.zeros((count, 0, 2)), fill, at_least=count,
        )  # fmt: skip
        return bool(np.array_equal(used[active], made))


@dataclass(frozen=True)
class _Finished:
    """Requests that ended in one round."""

    requests: NDArray[Any]
    status: NDArray[np.uint8]
    length: NDArray[np.float64]
    cost: NDArray[np.float64]
    target: NDArray[np.float64]
    ways: list[NDArray[np.float64]]


def _in_order(finished: list[_Finished]) -> WayAnswers:
    if not finished:
        none = np.zeros(0)
        nobody, nowhere = np.zeros(0, dtype=np.int64), np.zeros((0, 2))
        return WayAnswers(nobody, np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64), nowhere, none, none, nowhere)
    requests = np.concatenate([part.requests for part in finished])
    ways = [way for part in finished for way in part.ways]
    order = np.argsort(requests["order"], kind="stable")
    ways = [ways[i] for i in order]
    return WayAnswers(
        requests["entity"][order].copy(),
        np.concatenate([part.status for part in finished])[order],
        np.cumsum([0, *(len(way) for way in ways)]).astype(np.int64),
        np.concatenate(ways),
        np.concatenate([part.length for part in finished])[order],
        np.concatenate([part.cost for part in finished])[order],
        np.concatenate([part.target for part in finished])[order],
    )
