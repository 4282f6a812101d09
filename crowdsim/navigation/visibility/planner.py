"""The planner over points of visibility: the same requests and answers as
`crowdsim.navigation.planning.mesh_planner.MeshPlanner`, found over corners.

Its paths are the shortest of all for their radius, not only in their corridor; or the cheapest, where metres
cost differently. What steering gets is a corridor, as from any planner: the path over the corners is the taut
string in it, so agents walk it, arcs and all, and stay free to be pushed off it.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import Flood, NavMesh
from crowdsim.navigation.mesh.watchers import Watchers, place_watchers
from crowdsim.navigation.planning.portals import PORTALS
from crowdsim.navigation.planning.protocol import ANSWER_WORK, Answers
from crowdsim.navigation.planning.registry import PlannerGround, PlannerKind, Values, register_kind
from crowdsim.navigation.planning.request_queue import RequestQueue
from crowdsim.navigation.planning.serve import serve_loop
from crowdsim.navigation.planning.slot_planner import SlotPlanner
from crowdsim.navigation.planning.work import Ended, Work
from crowdsim.navigation.search.heuristic_weight import HeuristicParameters
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.navigation.search.watching import WatchParameters
from crowdsim.navigation.visibility.corridor import copy_visibility_corridor
from crowdsim.navigation.visibility.graph import MOST_PORTALS, GraphSize, VisibilityGraph, build_graph
from crowdsim.navigation.visibility.links import link_goals, with_links
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
from crowdsim.navigation.visibility.weights import Weights, make_weights
from crowdsim.saved import WIDEST_M, Arrays, Saved

SLOTS = 8  # Searches that go on side by side: enough for the threads of a desktop.
SLOT_MEMORY_BYTES = 512 << 20  # Slots are cut down to stay within it on huge graphs; at least one is left.
# Requests that a slot takes at a time: large enough that the Python around a round costs little for each of
# them.
BATCH = 16
# What a request counts as: it takes 13 to 17 us, with what is noted for its guess, an expansion 1.7.
REQUEST_WORK = 8


@dataclass(frozen=True)
class VisibilityParameters(WatchParameters, HeuristicParameters, ShareParameters):
    """How paths over points of visibility are looked for."""


FIELDS = [("goal", "i4"), ("polygon", "i4"), ("radius", "f8")]  # of requests, beside those that every one has


class VisibilitySearch(NamedTuple):
    """What searches over points of visibility work on;
    `weight` is that of the straight-line heuristic, `scratch` has a row for each slot.
    """

    slots: VisibilitySlots
    terrain: Terrain
    weight: float
    scratch: Scratch


@inlined_kernel
def _scratch_of(rows, slot):
    flood = rows.flood
    return Scratch(
        Flood(flood.queue[slot], flood.place[slot], flood.nearest[slot], flood.seam[slot]),
        rows.crossed[slot],
    )


@inlined_kernel
def _begin(search, work, slot, job):
    request = work.requests[job]
    begin_visibility_search(
        search.slots, slot, search.terrain, np.int64(request["goal"]), request["radius"], request["x"],
        request["y"], np.int64(request["polygon"]), search.weight, np.int64(request["tree"]),
        _scratch_of(search.scratch, slot),
    )  # fmt: skip
    return 0


@inlined_kernel
def _advance(search, slot, grant):
    return advance_visibility_search(
        search.slots, slot, search.terrain, grant, _scratch_of(search.scratch, slot)
    )


@inlined_kernel
def _finish(search, work, slot, job):
    header, count = search.slots.header, 0
    if header[slot, STATUS] == PENDING:
        return -1
    if header[slot, STATUS] == FOUND:
        count = copy_visibility_corridor(
            search.slots,
            slot,
            search.terrain,
            work.out[slot],
            work.fill[slot],
            _scratch_of(search.scratch, slot),
        )
    if count >= 0:
        work.status[job], work.piece[job], work.detail[job, 0] = (
            header[slot, STATUS],
            header[slot, BEST_PIECE],
            search.slots.measure[slot, BEST_TOTAL],
        )
    return count


serve_visibility_slots = serve_loop("serve_visibility_slots", _begin, _advance, _finish)


class VisibilityPlanner(SlotPlanner):
    """Answers requests for paths over the points of visibility of a mesh.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    parameters : VisibilityParameters, optional
    first : NavMesh, optional
        The mesh at the beginning, where this is another: watchers without ground see nothing now.
    whole : NavMesh, optional
        The same polygons where paths are kept off some of them: one can be seen over those.
    moving : Watchers, optional
        Those that are agents, as they stand now.

    Attributes
    ----------
    graph : VisibilityGraph
    size : GraphSize
    costs : dict of int to float
        What the paths of the last answers cost, by entity; lengths in metres where nothing is weighted.

    Raises
    ------
    NavigationError
        If the graph would be too large, or a watcher stands off ground that has not changed.
    """

    settles, request_work = True, REQUEST_WORK

    def __init__(
        self,
        mesh: NavMesh,
        goals: GoalPieces,
        parameters: VisibilityParameters | None = None,
        first: NavMesh | None = None,
        whole: NavMesh | None = None,
        moving: Watchers | None = None,
    ) -> None:
        self.parameters = parameters or VisibilityParameters()
        self._whole = mesh if whole is None else whole
        self._standing = place_watchers(self._whole, self.parameters.unseen_from, first)
        self._first = first
        self.graph: VisibilityGraph
        self.size: GraphSize
        self.graph, self.size = build_graph(mesh)
        links = link_goals(self.graph, goals)
        self.trees = trees = CornerTrees(mesh, self.graph, goals, links)
        self.terrain = Terrain(mesh, goals, self.graph, links, self._weights(moving), trees.rows.bound)
        nodes = self.graph.edge_count + 2 * self.size.corners
        count = int(min(SLOTS, max(1, SLOT_MEMORY_BYTES // max(1, 37 * nodes))))
        self._slots: VisibilitySlots = make_visibility_slots(count, self.graph)
        out = lazy_zeros((count, max(1 << 14, 2 * mesh.edge_count)), np.int32)
        super().__init__(
            RequestQueue(FIELDS, count, 0, BATCH, BATCH, out, trees=trees), ANSWER_WORK, 1, trees
        )
        flood = Flood(
            np.zeros((count, mesh.polygon_count), dtype=np.int32),
            np.zeros((count, mesh.polygon_count), dtype=np.uint32),
            np.full((count, 1), -1, dtype=np.int64),
            np.zeros((count, mesh.polygon_count), dtype=np.int32),
        )
        self._scratch = Scratch(flood, np.zeros((count, MOST_PORTALS + 1), dtype=np.int32))
        self.costs: dict[int, float] = {}

    def _weights(self, moving: Watchers | None) -> Weights:
        """Return what metres cost with these watchers beside those that stand."""
        chosen, watchers = self.parameters, self._standing
        if moving is not None:
            watchers = watchers.beside(moving)
        return make_weights(
            self._whole,
            watchers,
            exposure=chosen.exposure if len(watchers.polygon) else 0.0,
            shunned=chosen.shun,
            shun_reach=chosen.shun_reach,
            shun_cost=chosen.shun_cost,
            first=self._first,
        )

    def take_watchers(self, moving: Watchers) -> None:
        """Hide from watchers where they are now; searches that have begun begin anew."""
        self.terrain = self.terrain._replace(weights=self._weights(moving))
        self.queue.begin_anew()

    def submit(
        self,
        tick: int,
        entity: NDArray[np.int64],
        position: NDArray[np.float64],
        polygon: NDArray[np.int64],
        goal: NDArray[np.int32],
        radius: NDArray[np.float64],
        settled: bool = False,
    ) -> None:
        """Ask for paths; see `Planner.submit`.

        Parameters
        ----------
        tick, entity, position, polygon, goal, radius
            As for `Planner.submit`.
        settled : bool
            Whether `settle` was called for them, and for all that come with them for the same.
        """
        fresh = self._fresh(tick, entity, position, goal=goal, polygon=polygon, radius=radius)
        if not settled:
            self.settle(entity, goal, radius)
        if self._shares and len(fresh):
            fresh["tree"] = self.trees.trees_of(_wanted(goal, radius))
        self.queue.submit(len(fresh))

    @property
    def _shares(self) -> bool:
        return self.parameters.share_searches and self.parameters.heuristic_weight > 0.0

    def settle(self, entity: NDArray[np.int64], goal: NDArray[np.int32], radius: NDArray[np.float64]) -> None:
        """Take notice that agents, (k,), are going to ask for paths; see `MeshPlanner.settle`."""
        if self._shares and len(entity):
            self.trees.note(_wanted(goal, radius), entity, np.zeros(len(entity)))

    def take_goals(self, goals: GoalPieces, changed: NDArray[np.int64]) -> None:
        """Search for other goals from now on; see `Planner.take_goals`."""
        links = with_links(self.terrain.links, self.graph, goals, changed)
        self.terrain = self.terrain._replace(goals=goals, links=links)
        self.trees.take_goals(goals, links, changed)

    def _serve(self, team: Team, work: Work) -> None:
        search = VisibilitySearch(self._slots, self.terrain, self.parameters.heuristic_weight, self._scratch)
        team.run(serve_visibility_slots, len(work.turn), search, work, at_least=1)

    def _answers(self, ended: Ended) -> Answers:
        self.costs = dict(zip(ended.entity.tolist(), ended.detail[:, 0].tolist(), strict=True))
        return super()._answers(ended)

    def _progress(self) -> dict[str, NDArray[Any]]:
        return {"made": np.where(self.queue.is_active, self._slots.header[:, EXPANSIONS], 0)}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave: searches are begun again and do what they had done.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        self._slots = make_visibility_slots(len(self._slots.header), self.graph)
        goals, polygons = len(self.terrain.goals.goal_start) - 1, self.terrain.mesh.polygon_count
        self._restore(
            Saved.of(state), {"goal": (0, goals - 1), "polygon": (0, polygons - 1), "radius": (0.0, WIDEST_M)}
        )


def _wanted(goal: NDArray[np.int32], radius: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what requests have to have in common to share a tree, (k, 2)."""
    return np.column_stack([goal, CornerTrees.radius_class(radius)])


def _make(ground: PlannerGround, values: Values) -> VisibilityPlanner:
    parameters = values.parameters(VisibilityParameters)
    return VisibilityPlanner(
        ground.mesh, ground.goals, parameters, ground.first, ground.whole, ground.watchers
    )


register_kind(PlannerKind("visibility", _make, PORTALS, (VisibilityParameters,)))
