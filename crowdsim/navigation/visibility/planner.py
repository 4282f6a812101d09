"""The planner over points of visibility: the same questions and answers as `crowdsim.navigation.planning.mesh_planner.MeshPlanner`, found over corners.

Its ways are the shortest of all for their radius, not only in their corridor; or the cheapest, where metres cost differently. What steering gets is a
corridor, as from any planner: the way over the corners is the taut string in it, so agents walk it, arcs and all, and stay free to be pushed off it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import Flood, NavMesh
from crowdsim.navigation.planning.protocol import ANSWER_WORK, Answers, starts_of, work_of
from crowdsim.navigation.search.heuristic_weight import AimParameters
from crowdsim.navigation.search.sharing import NO_TREE, ShareParameters
from crowdsim.navigation.visibility.corridor import copy_visibility_corridor
from crowdsim.navigation.visibility.graph import MOST_PORTALS, GraphSize, VisibilityGraph, build_graph
from crowdsim.navigation.visibility.links import link_goals
from crowdsim.navigation.visibility.search import (
    BEST_PIECE,
    BEST_TOTAL,
    EXPANSIONS,
    FOUND,
    PENDING,
    STATUS,
    Scratch,
    Terrain,
    VisibilitySlots,
    advance_visibility_search,
    begin_visibility_search,
    make_visibility_slots,
)
from crowdsim.navigation.visibility.trees import CornerTrees
from crowdsim.navigation.visibility.weights import make_weights
from crowdsim.saved import FARTHEST_M, MOST, MOST_TICKS, WIDEST_M, Arrays, Saved, ascends, fields_of
from crowdsim.tunable import param

SLOTS = 8  # Searches that go on side by side: enough for the threads of a desktop.
SLOT_MEMORY_BYTES = 512 << 20  # Slots are cut down to stay within it on huge graphs; at least one is left.
BATCH = 16  # Requests that a slot takes at a time: large enough that the Python around a round costs little for each of them.


@dataclass(frozen=True)
class VisibilityParameters(AimParameters, ShareParameters):
    """How ways over points of visibility are looked for."""

    unseen_from: tuple[tuple[float, ...], ...] = param(
        (), "m", source="[Norberg 2004], section 3",
        why="points (x, y), with floors (x, y, height), of watchers; metres that they see cost more, so agents keep behind walls; none where it is empty",
    )
    exposure: float = param(
        1000.0, "", low=0.0, high=1e6, source="[Norberg 2004], section 3",
        why="cost that each metre in sight of a watcher has more; 1,000 takes a detour of a kilometre for a metre less in sight, 1 of a metre",
    )
    shun: tuple[tuple[float, ...], ...] = param(
        (), "m", source="[Norberg 2004], section 3",
        why="points (x, y), with floors (x, y, height), to keep away from where there is another path; none where it is empty",
    )
    shun_reach: float = param(5.0, "m", above=0.0, high=1e4, why="distance from such a point at which a metre costs what it always does")
    shun_cost: float = param(
        10.0, "", low=0.0, high=1e6, why="cost that a metre has more at such a point, less farther away, as 1 - (d / shun_reach)^2",
    )


_REQUEST = np.dtype([
    ("order", "i8"), ("entity", "i8"), ("goal", "i4"), ("polygon", "i4"), ("x", "f8"), ("y", "f8"), ("radius", "f8"), ("tick", "i8"), ("tree", "i8"),
])  # fmt: skip


@lean_kernel
def serve_visibility_slots(
    first, last, slots, terrain, pull, answer_work, jobs, job_count, job_next, is_active, grant, used, requests, status, piece, cost, where, size, out, fill,
    scratches,
):
    """Let slots first..last - 1 work through their requests.

    Parameters
    ----------
    first, last : int
    slots : VisibilitySlots
    terrain : Terrain
    pull : float
        Weight of the straight-line heuristic, 0 for none.
    answer_work : int, expansions
        What an answer counts as, besides its portals; 0 where neither counts.
    jobs : (s, b) int64
        Requests of each slot, as rows of `requests`.
    job_count, job_next : (s,) int64
        How many, and the one that is being worked on; the latter is moved on.
    is_active : (s,) int64
        1 while the slot is in the middle of a request.
    grant, used : (s,) int64
        Work that a slot may do: an answer is begun where some is left, and counts in full; expansions that it has made.
    requests : (n,) record array
    status : (n,) uint8
    piece : (n,) int32
    cost : (n,) float64
    where, size : (n,) int64
        For requests that ended: outcome, piece of the goal, cost, where in the slot's row of `out` the corridor is and its portals.
    out : (s, k) int32
    fill : (s,) int64
        Cells used in each row of `out`.
    scratches : Scratch
        A row for each slot.
    """
    for slot in range(first, last):
        used[slot] = spent = 0
        rows = scratches.flood
        scratch = Scratch(Flood(rows.queue[slot], rows.stamp[slot], rows.serial[slot], rows.nearest[slot], rows.join[slot]), scratches.crossed[slot])
        while job_next[slot] < job_count[slot] and spent < grant[slot]:
            job = jobs[slot, job_next[slot]]
            if is_active[slot] == 0:
                request = requests[job]
                begin_visibility_search(
                    slots, slot, terrain, np.int64(request["goal"]), request["radius"], request["x"], request["y"], np.int64(request["polygon"]), pull,
                    np.int64(request["tree"]), scratch,
                )  # fmt: skip
                is_active[slot] = 1
            made = advance_visibility_search(slots, slot, terrain, grant[slot] - spent, scratch)
            used[slot] += made
            spent += made
            if slots.header[slot, STATUS] == PENDING:
                break
            count = 0
            if slots.header[slot, STATUS] == FOUND:
                count = copy_visibility_corridor(slots, slot, terrain, out[slot], fill[slot], scratch)
                if count < 0:
                    break
            status[job], where[job], size[job], piece[job] = slots.header[slot, STATUS], fill[slot], count, slots.header[slot, BEST_PIECE]
            cost[job] = slots.measure[slot, BEST_TOTAL]
            fill[slot] += count
            is_active[slot] = 0
            job_next[slot] += 1
            spent += answer_work + count if answer_work > 0 else 0


class VisibilityPlanner:
    """Answers requests for ways over the points of visibility of a mesh.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    parameters : VisibilityParameters, optional

    Attributes
    ----------
    graph : VisibilityGraph
    size : GraphSize
    costs : dict of int to float
        What the ways of the last answers cost, by entity; lengths in metres where nothing is weighted.

    Raises
    ------
    NavigationError
        If the graph would be too large, or a watcher stands off the ground.
    """

    def __init__(self, mesh: NavMesh, goals: GoalPieces, parameters: VisibilityParameters | None = None) -> None:
        self.parameters = parameters or VisibilityParameters()
        asked = self.parameters
        self.graph: VisibilityGraph
        self.size: GraphSize
        self.graph, self.size = build_graph(mesh)
        weights = make_weights(
            mesh, watchers=asked.unseen_from, exposure=asked.exposure if asked.unseen_from else 0.0, shunned=asked.shun,
            shun_reach=asked.shun_reach, shun_cost=asked.shun_cost,
        )  # fmt: skip
        links = link_goals(self.graph, goals)
        self._trees = CornerTrees(mesh, self.graph, goals, links)
        self.terrain = Terrain(mesh, goals, self.graph, links, weights, self._trees.rows.bound)
        nodes = self.graph.edge_count + 2 * self.size.corners
        count = int(min(SLOTS, max(1, SLOT_MEMORY_BYTES // max(1, 37 * nodes))))
        self._slots: VisibilitySlots = make_visibility_slots(count, self.graph)
        self._is_active = np.zeros(count, dtype=np.int64)
        self._held = np.zeros(count, dtype=_REQUEST)  # what an active slot is in the middle of
        self._queue = np.zeros(0, dtype=_REQUEST)
        self._asked = 0
        self._out = np.empty((count, max(1 << 14, 2 * mesh.edge_count)), dtype=np.int32)
        flood = Flood(
            np.zeros((count, mesh.polygon_count), dtype=np.int32), np.zeros((count, mesh.polygon_count), dtype=np.int64),
            np.zeros((count, 1), dtype=np.int64), np.full((count, 1), -1, dtype=np.int64), np.zeros((count, mesh.polygon_count), dtype=np.int32),
        )  # fmt: skip
        self._scratches = Scratch(flood, np.zeros((count, MOST_PORTALS + 1), dtype=np.int32))
        self.costs: dict[int, float] = {}

    @property
    def waiting(self) -> int:
        """Requests that have not been answered."""
        return len(self._queue) + int(np.count_nonzero(self._is_active))

    @property
    def starts(self) -> NDArray[Any]:
        """The requests that have not been answered."""
        return starts_of(np.concatenate([self._held[self._is_active == 1], self._queue]))

    def oldest_tick(self, default: int) -> int:
        """Return the tick at which the oldest unanswered request was made; `default` if there is none."""
        ticks = np.concatenate([self._queue["tick"], self._held["tick"][self._is_active == 1]])
        return int(ticks.min()) if len(ticks) else default

    def submit(
        self,
        tick: int,
        entity: NDArray[np.int64],
        position: NDArray[np.float64],
        polygon: NDArray[np.int64],
        goal: NDArray[np.int32],
        radius: NDArray[np.float64],
    ) -> None:
        """Ask for ways; whoever asks again withdraws what it asked before.

        Parameters
        ----------
        tick : int
            Now.
        entity : (k,) int64
        position : (k, 2) float64, m
        polygon : (k,) int64
        goal : (k,) int32
        radius : (k,) float64, m
        """
        self.drop(entity)
        fresh = np.zeros(len(entity), dtype=_REQUEST)
        fresh["order"] = self._asked + np.arange(len(entity))
        self._asked += len(entity)
        fresh["entity"], fresh["goal"], fresh["polygon"], fresh["tick"], fresh["radius"] = entity, goal, polygon, tick, radius
        fresh["x"], fresh["y"], fresh["tree"] = position[:, 0], position[:, 1], NO_TREE
        if self.parameters.share_searches and self.parameters.pull > 0.0 and len(fresh):
            fresh["tree"] = self._trees.trees_of(np.column_stack([goal, CornerTrees.radius_class(radius)]), fresh["entity"], np.zeros(len(fresh)))
        self._queue = np.concatenate([self._queue, fresh])

    def drop(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that left or changed their mind."""
        if self.waiting:
            self._queue = self._queue[~np.isin(self._queue["entity"], entity)]
            self._is_active[(self._is_active == 1) & np.isin(self._held["entity"], entity)] = 0

    def advance(self, budget: int, team: Team, *, counts_answers: bool = True) -> tuple[Answers, int]:
        """Search for at most `budget` expansions, less what the answers count as, if they count.

        Returns
        -------
        Answers
            In the order in which they were asked for.
        int
            Expansions made.
        """
        spent = made = 0
        ended: list[tuple[Any, ...]] = []
        while self.waiting and spent < budget:
            grown = self._grow_tree(budget - spent)
            if grown is not None:
                made, spent = made + grown, spent + grown
                continue
            used, answers = self._round(budget - spent, team, ANSWER_WORK if counts_answers else 0)
            made += used
            spent += used + (work_of(len(answers), sum(len(answer[5]) for answer in answers)) if counts_answers else 0)
            ended += answers
            if not used and not answers:
                break
        ended.sort(key=lambda answer: answer[0])
        self.costs = {int(entity): float(cost) for _, entity, _, _, cost, _ in ended}
        cells = [answer[5] for answer in ended]
        return Answers(
            np.array([answer[1] for answer in ended], dtype=np.int64),
            np.array([answer[2] for answer in ended], dtype=np.uint8),
            np.array([answer[3] for answer in ended], dtype=np.int32),
            np.cumsum([0, *(len(corridor) for corridor in cells)]).astype(np.int64),
            np.concatenate([np.zeros(0, dtype=np.int32), *cells]),
        ), made

    def _grow_tree(self, budget: int) -> int | None:
        """Grow the tree that the next request waits for and return the expansions, none for a goal that no corner sees; None if there is work before that."""
        tree = self._queue["tree"][:1]
        if not len(tree) or self._is_active.any() or self._trees.ready(tree):
            return None
        return self._trees.grow(int(tree[0]), budget)

    def _round(self, budget: int, team: Team, answer_work: int) -> tuple[int, list[tuple[Any, ...]]]:
        """Hand out requests, let every slot with work use its share, return the expansions made and what ended."""
        count = len(self._is_active)
        active = np.flatnonzero(self._is_active)
        most = BATCH * count
        head = self._queue[:most]  # all that slots can take: a round costs no more however many wait
        ready = self._trees.ready(head["tree"])
        head, rest = self._queue[:ready], self._queue[ready:]  # those behind one whose tree is to grow wait for their turn
        requests = np.concatenate([self._held[active], head])
        jobs, job_count = np.zeros((count, BATCH), dtype=np.int64), np.zeros(count, dtype=np.int64)
        jobs[active, 0], job_count[active] = np.arange(len(active)), 1
        idle = np.flatnonzero(self._is_active == 0)
        taken = 0
        batch = min(BATCH, -(-len(head) // max(1, len(idle))))
        for slot in idle.tolist():
            mine = np.arange(len(active) + taken, min(len(active) + taken + batch, len(requests)))
            jobs[slot, : len(mine)], job_count[slot] = mine, len(mine)
            taken += len(mine)
        at_work = np.flatnonzero(job_count)
        grant = np.zeros(count, dtype=np.int64)
        grant[at_work] = budget // len(at_work)
        oldest_first = np.argsort(requests["order"][jobs[at_work, 0]], kind="stable")  # so that nobody starves on less than an expansion for each slot
        grant[at_work[oldest_first[: budget % len(at_work)]]] += 1
        used, job_next, fill = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        status, piece, cost = np.zeros(len(requests), dtype=np.uint8), np.zeros(len(requests), dtype=np.int32), np.zeros(len(requests))
        where, size = np.zeros(len(requests), dtype=np.int64), np.zeros(len(requests), dtype=np.int64)
        team.run(
            serve_visibility_slots, count, self._slots, self.terrain, self.parameters.pull, answer_work, jobs, job_count, job_next, self._is_active, grant,
            used, requests, status, piece, cost, where, size, self._out, fill, self._scratches, at_least=1,
        )  # fmt: skip
        begun = np.zeros(len(requests), dtype=bool)
        ended = []
        for slot in at_work.tolist():
            for job in jobs[slot, : job_next[slot]].tolist():
                corridor = self._out[slot, where[job] : where[job] + size[job]].copy()
                ended.append((requests["order"][job], requests["entity"][job], status[job], piece[job], cost[job], corridor))
            if self._is_active[slot]:
                job = jobs[slot, job_next[slot]]
                self._held[slot], begun[job] = requests[job], True
        left = requests[(status == 0) & ~begun]
        self._queue = np.concatenate([left[np.argsort(left["order"], kind="stable")], rest])
        return int(used.sum()), ended

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives in the planner as named arrays: of searches, what they are for and how far they are."""
        active = np.flatnonzero(self._is_active)
        return {
            **fields_of("queue_", self._queue), **fields_of("held_", self._held[active]), "active": active,
            "made": self._slots.header[active, EXPANSIONS], "counters": np.array([self._asked], dtype=np.int64),
            **{f"trees_{name}": array for name, array in self._trees.state().items()},
        }  # fmt: skip

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave: searches are begun again and do what they had done.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved, count = Saved.of(state), len(self._is_active)
        self._trees.restore(saved.below("trees_"))
        asked, is_grown = saved.whole("counters", 0, MOST), self._trees.is_grown
        far = (-FARTHEST_M, FARTHEST_M)
        bounds: dict[str, tuple[Any, Any]] = {
            "order": (0, asked - 1), "entity": (0, MOST), "goal": (0, len(self.terrain.goals.goal_start) - 2), "x": far, "y": far,
            "polygon": (0, self.terrain.mesh.polygon_count - 1), "radius": (0.0, WIDEST_M), "tick": (0, MOST_TICKS), "tree": (NO_TREE, self._trees.count - 1),
        }  # fmt: skip
        queue = saved.records("queue_", _REQUEST, bounds)
        active = saved.take("active", "i8", low=0, high=count - 1)
        held = saved.records("held_", _REQUEST, bounds, len(active))
        made = saved.take("made", "i8", (len(active),), low=0, high=MOST)
        saved.require(ascends(active), "active", "slots have to ascend")
        saved.require(ascends(queue["order"]), "queue_order", "requests stand in the order in which they were made")
        entity = np.concatenate([queue["entity"], held["entity"]])
        saved.require(len(np.unique(entity)) == len(entity), "queue_entity", "names somebody twice")
        saved.require((held["tree"] == NO_TREE) | is_grown[held["tree"]], "held_tree", "that tree is not grown")
        self._queue, self._asked = queue, asked
        self._held[active] = held
        self._is_active[:] = 0
        self._slots = make_visibility_slots(count, self.graph)
        saved.require(self._redo(active, made), "made", "the search comes to an end sooner, or goes on")
        self._is_active[active] = 1

    def _redo(self, active: NDArray[np.int64], made: NDArray[np.int64]) -> bool:
        """Let slots begin what they hold, and do so many expansions; return whether they did. Ways that are found stay where they are."""
        count = len(self._is_active)
        works, grant = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        works[active], grant[active] = 1, np.maximum(made, 1)
        none = np.zeros(count, dtype=np.int64)
        used, job_next, fill, where, size = (none.copy() for _ in range(5))
        team = Team(1)
        team.run(
            serve_visibility_slots, count, self._slots, self.terrain, self.parameters.pull, 0, np.arange(count).reshape(-1, 1).copy(), works, job_next,
            none, grant, used, self._held, np.zeros(count, dtype=np.uint8), np.zeros(count, dtype=np.int32), np.zeros(count), where, size,
            np.zeros((count, 0), dtype=np.int32), fill, self._scratches, at_least=count,
        )  # fmt: skip
        return bool(np.array_equal(used[active], made))
