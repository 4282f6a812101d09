"""The planner that searches areas first, then the ground of those that its path leads through."""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.kernels.disk_cache import kept_arrays, key_of
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.kernels.held_pages import holder_of
from crowdsim.kernels.maps import give_back_row
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.hierarchy.areas import find_areas, find_centres
from crowdsim.navigation.hierarchy.graph import (
    AreaCosts,
    measure_areas,
    measure_over_centres,
    starts_of_costs,
)
from crowdsim.navigation.hierarchy.known import KnownCosts, keys_of
from crowdsim.navigation.hierarchy.nodes import AreaNodes, place_nodes
from crowdsim.navigation.hierarchy.search import (
    ENDED,
    KNOWN,
    MADE,
    NO_LAYER,
    PHASE,
    PIECE,
    SINCE,
    STATE_SIZE,
    TREE_BEFORE,
    AreaSearch,
    advance_area_search,
    begin_area_search,
)
from crowdsim.navigation.hierarchy.widths import classes_of, find_widths
from crowdsim.navigation.mesh.build import MeshParameters
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planning.mesh_planner import CostParameters, MeshPlanner
from crowdsim.navigation.planning.portals import PORTALS
from crowdsim.navigation.planning.registry import PlannerGround, PlannerKind, Values, register_kind
from crowdsim.navigation.planning.request_queue import RequestQueue
from crowdsim.navigation.planning.search_backends import GOAL_BITS, Searches, price_slots
from crowdsim.navigation.planning.serve import serve_loop
from crowdsim.navigation.planning.work import Work
from crowdsim.navigation.search.a_star import FASTEST, copy_corridor, corridor_size, make_slots
from crowdsim.navigation.search.ground_filter import GroundPrices
from crowdsim.navigation.search.heuristic_weight import HeuristicParameters
from crowdsim.navigation.search.portal_points import APART_M as LEAST_APART_M
from crowdsim.navigation.search.portal_points import PortalPoints, place_points
from crowdsim.navigation.search.portal_prices import set_prices
from crowdsim.navigation.search.sharing import NO_TREE, ShareParameters
from crowdsim.navigation.search.slot_fields import EXPANSIONS, FOUND, GOAL, IS_SEEDED, STATUS
from crowdsim.navigation.search.watching import LaterWatchParameters
from crowdsim.saved import MOST, Saved
from crowdsim.tunable import param

# Points of a portal: near its ends, where paths bend, and between them as far apart as this. The ground that
# is searched is that of a path, and strings are pulled in it.
APART_M, MOST_POINTS = 8.0, 5
NODES_APART_M = 10.0  # Of one portal.
POINTS_OF_AN_EDGE = 2  # About, walls included: 1.8 measured in a city.
KNOWN_COSTS = KnownCosts()
# Areas that go to the disk cache together when they have been measured: they take some 0.1 s; fewer are as
# soon measured as read.
LEAST_KEPT_AREAS = 50
USUAL_AREA_M, USUAL_WORKSPACE = 100.0, 4
NO_START = -1  # In place of the polygon of a start: trees are grown for no agent in particular.
# Expansions after which a slot gives the memory of the ground that it searched back, before its next request:
# so slots take what a few searches touch, and not what all of them did, some 33 MB a slot in a city of 10 km.
# Smaller takes new pages more often.
MOST_SINCE = 8000


@dataclass(frozen=True)
class HierarchyParameters:
    """How ground is parted into areas that are searched first."""

    area_size: float = param(
        0.0,
        "m",
        low=0.0,
        high=1e5,
        source="[Mononen 2010], Power of Less; [Botea 2004]",
        why=(
            "side of the squares whose contiguous ground is one area; larger makes the search over areas "
            "shorter and that of their ground longer; 0: as large as the tiles of the mesh, 100 m where it "
            "has none"
        ),
    )
    workspace: int = param(
        USUAL_WORKSPACE,
        "areas",
        low=2,
        high=10**6,
        source="[Mononen 2010], Power of Less",
        why=(
            "areas of the path whose ground is searched at a time; fewer touch less of the ground at once, "
            "and paths bend more at the borders of areas; more look at less of it twice"
        ),
    )
    tiles_in_memory: float = param(
        1.0,
        "",
        low=0.01,
        high=1.0,
        source="[Mononen 2010], Save Games and All That; [Levy 1982]",
        why=(
            "share of what the tiles of the mesh have, with the graph over them, that is in memory at most "
            "after a tick; the rest comes from the disk when it is looked at; smaller takes less memory and "
            "more time, and changes nothing else; 1: all of it"
        ),
    )
    nodes: str = param(
        "portals",
        "",
        choices=("portals", "centres"),
        source="[Mononen 2010], Power of Less",
        why=(
            "paths over areas lead from portal to portal, or over the centres of areas with one portal "
            "between two: a smaller graph, and paths that are longer"
        ),
    )


def spacing(size: float) -> tuple[float, float]:
    """Return how far apart points of a portal are, and those of which nodes are made (m), for areas of a
    size: what a path loses at a border is to be a small share of an area. Not nearer to each other than where
    all ground is searched.
    """
    share = min(1.0, size / USUAL_AREA_M)
    return max(LEAST_APART_M, share * APART_M), max(LEAST_APART_M, share * NODES_APART_M)


@inlined_kernel
def _begin(search, work, slot, job):
    if search.state[slot, SINCE] >= search.most_since:
        return -1
    request = work.requests[job]
    set_prices(search.ground, slot, request)
    begin_area_search(
        search, slot, np.int64(request["goal"]), request["width"], request["x"], request["y"],
        np.int64(request["polygon"]), 1 if slot >= search.own else 0,
    )  # fmt: skip
    return 0


@inlined_kernel
def _advance(search, slot, grant):
    return advance_area_search(search, slot, grant)


@inlined_kernel
def _finish(search, work, slot, job):
    if search.state[slot, PHASE] != ENDED:
        return -1
    slots = search.ground
    status, known, at = slots.header[slot, STATUS], search.state[slot, KNOWN], work.fill[slot]
    if status != FOUND:
        work.status[job], work.piece[job] = status, -1
        return 0
    count = known + corridor_size(slots, slot)
    if at + count > work.out.shape[1]:
        return -1
    for place in range(known):
        work.out[slot, at + place] = search.path[slot, place]
    _, piece = copy_corridor(
        slots, slot, search.mesh, search.goals, search.points, work.out[slot], at + known
    )
    if search.state[slot, PIECE] >= 0:
        piece = search.state[slot, PIECE]
    work.status[job], work.piece[job] = status, piece
    return count


def _named(group: str, arrays: NamedTuple) -> dict[str, NDArray[Any]]:
    """Return the arrays of a named tuple by names with the group before them."""
    return {f"{group}.{name}": each for name, each in arrays._asdict().items()}


serve_area_slots = serve_loop("serve_area_slots", _begin, _advance, _finish)


class AreaSearches(Searches):
    """Searches over areas (`crowdsim.navigation.hierarchy.search`).

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    count : int
    size : float, m
        Side of the squares.
    workspace : int
        Areas whose ground is searched at a time.
    nodes : str
        ``portals`` or ``centres``.
    costs : str
    weight : float
        Of the heuristic.
    key : bytes
        See `HierarchicalPlanner`.

    Attributes
    ----------
    nodes : AreaNodes
    widths : (k,) float64, m
        Those for which layers of the graph can be made.
    measured : int
        Areas that were measured, and not known.
    """

    share_at = share_together = 2

    def __init__(
        self,
        mesh: NavMesh,
        goals: GoalPieces,
        count: int,
        size: float,
        workspace: int,
        nodes: str,
        costs: str,
        weight: float,
        key: bytes = b"",
    ) -> None:
        super().__init__(mesh, goals, count)
        self._over_centres = nodes == "centres"
        self._key = key_of(__file__, [key, repr((size, nodes, costs)).encode()]) if key else b""
        self._points, self.nodes, self.widths = self._graph(size)
        self._costs, self._weight, self._workspace = costs, weight, workspace
        self._start, self.measured = starts_of_costs(self.nodes), 0
        self._layers = np.zeros((0, int(self._start[-1])))
        self._layer_of = np.full(len(self.widths), NO_LAYER, dtype=np.int64)
        # for each of them the least and the greatest that agents came with
        self._asked = np.full((2, len(self.widths)), [[np.inf], [-np.inf]])
        self._empty_slots(count)

    def _graph(self, size: float) -> tuple[PortalPoints, AreaNodes, NDArray[np.float64]]:
        """Return the points of portals, the nodes between areas of a size (m), and the widths of layers."""

        def make() -> dict[str, NDArray[Any]]:
            points_apart, nodes_apart = spacing(size)
            points = place_points(self.mesh, points_apart, MOST_POINTS)
            area = find_areas(self.mesh, size)
            nodes = place_nodes(self.mesh, points, area, nodes_apart, is_sparse=self._over_centres)
            return {
                **_named("points", points), **_named("nodes", nodes), "widths": find_widths(self.mesh)
            }  # fmt: skip

        arrays = self._arrays("graphs", [], make)
        return (
            PortalPoints(*(arrays[f"points.{name}"] for name in PortalPoints._fields)),
            AreaNodes(*(arrays[f"nodes.{name}"] for name in AreaNodes._fields)),
            arrays["widths"],
        )

    def _arrays(
        self, kind: str, parts: list[bytes], make: Callable[[], dict[str, NDArray[Any]]]
    ) -> dict[str, NDArray[Any]]:
        """Return what is made of the mesh: from the disk cache if the mesh is there, and held as that is."""
        holder = holder_of(self.mesh.vertex)
        arrays = kept_arrays(kind, __file__, [self._key, *parts], make) if self._key else make()
        if holder is None:
            return arrays
        return holder.take_all(arrays)

    def _empty_slots(self, count: int) -> None:
        self._slots = make_slots(count, len(self.nodes.point))  # the trees
        self._ground = make_slots(count, len(self._points.edge))
        for slots in (self._slots, self._ground):
            price_slots(slots, self.mesh, self._costs, self._weight)
        self._state = np.zeros((count, STATE_SIZE), dtype=np.int64)
        self._marks = np.zeros((count, self.nodes.area_count), dtype=np.int64)
        self._gate = lazy_zeros((count, len(self.nodes.point) + 1), np.int32)
        self._crossing = lazy_zeros((count, len(self.nodes.point) + 1, 2), np.float64)
        self._path = lazy_zeros((count, self.mesh.edge_count), np.int32)
        self._known_cost = np.zeros(count)

    @staticmethod
    def slot_bytes(mesh: NavMesh) -> int:
        """Return about how many bytes a slot takes on a mesh."""
        return 40 * POINTS_OF_AN_EDGE * mesh.edge_count

    def radius_step(self, radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return 0 for all radii (m): costs over points of portals do not know of them."""
        return np.zeros(len(radius), dtype=np.int64)

    def serve(self, team: Team, own: int, work: Work) -> None:
        """Let every slot work through its requests."""
        for slot in np.flatnonzero(work.job_next < work.job_count).tolist():
            jobs = work.jobs[slot, work.job_next[slot] : work.job_count[slot]]
            self._make_layers(work.requests["width"][jobs])
        search = AreaSearch(
            self._ground, self._slots, self._state, self._marks, self._gate, self._crossing, self._path,
            self._known_cost, self.mesh, self._goals, self._points, self._scratch, self.nodes,
            self._start, self._layers, self.widths, self._layer_of, self._workspace, own, MOST_SINCE,
        )  # fmt: skip
        holder = holder_of(self.mesh.vertex)
        while True:
            team.run(serve_area_slots, len(work.turn), search, work, at_least=1)
            if holder is not None:
                holder.trim_if_over()
            rests = (self._state[:, SINCE] >= MOST_SINCE) & (work.is_active == 0)
            for slot in np.flatnonzero(rests).tolist():
                self._give_back(slot)
            if not np.any(rests & (work.job_next < work.job_count) & (work.spent < work.grant)):
                break

    def _give_back(self, slot: int) -> None:
        """Let the memory of the ground that a slot has searched go; nothing of it outlives a request."""
        ground, scratch = self._ground, self._scratch
        for each in (
            ground.cost, ground.parent, ground.stamp, ground.heap, ground.place, ground.bound,
            scratch.queue, scratch.seam, scratch.place,
        ):  # fmt: skip
            give_back_row(each, slot)
        self._state[slot, SINCE] = 0

    def _make_layers(self, width: NDArray[np.float64]) -> None:
        """Make the layers of the graph that widths (m) need."""
        which = classes_of(self.widths, width)
        is_one = which < len(self.widths)
        np.minimum.at(self._asked[0], which[is_one], width[is_one])
        np.maximum.at(self._asked[1], which[is_one], width[is_one])
        needed = np.unique(which[is_one])
        new = needed[self._layer_of[needed] == NO_LAYER]
        if not len(new):
            return
        there = np.flatnonzero(self._layer_of != NO_LAYER)
        made = np.concatenate([there[np.argsort(self._layer_of[there])], new])
        first, self._layer_of[made] = len(there), np.arange(len(made))
        widths = self.widths[new].tolist()
        self._layers = self._arrays(
            "areas", [repr(self.widths[made].tolist()).encode()], partial(self._with_layers, widths)
        )["cost"]
        for number, each in enumerate(widths if self._key else ()):
            KNOWN_COSTS.note_later(self._keys_for(each), self._start, self._layers[first + number])

    def make_layers_of(self, other: AreaSearches) -> None:
        """Make the layers that the agents of others may need, of which those have made some. On other ground
        there are other gaps.
        """
        asked = other._asked[:, other._layer_of != NO_LAYER]
        first, last = classes_of(self.widths, asked)
        between = [self.widths[one:end] for one, end in zip(first.tolist(), last.tolist(), strict=True)]
        self._make_layers(np.concatenate([asked.ravel(), *between]))

    def _with_layers(self, widths: list[float]) -> dict[str, NDArray[Any]]:
        """Return the layers of the graph with more, for some widths (m)."""
        here: dict[bytes, NDArray[np.float64]] = {}
        more = [self._measured(each, here)[None] for each in widths]
        return {"cost": np.concatenate([self._layers, *more])}

    def _keys_for(self, width: float) -> Callable[[], list[bytes]]:
        """Return what makes the keys of areas for a width (m)."""
        fastest = float(self._ground.measure[0, FASTEST])
        # whether an agent gets off a centre depends on its width as well
        of_centres = width if self._over_centres else None
        return partial(keys_of, self.mesh, self._points, self.nodes, width, self._costs, fastest, of_centres)

    def _measured(self, width: float, here: dict[bytes, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return what paths through all areas cost for a width (m):
        of areas that are as they were in a graph before, that is known, and many new ones come from the disk
        cache where a process before has measured the same. `here` is known besides, and gets what is new.
        """
        costs = AreaCosts(self._start, np.full(int(self._start[-1]), np.inf))
        keys = self._keys_for(width)()
        known = [here[key] if key in here else KNOWN_COSTS[key] for key in keys]
        sizes = np.diff(costs.start).tolist()  # what a file says may be wrong
        known = [
            each if each is not None and len(each) == size else None
            for each, size in zip(known, sizes, strict=True)
        ]
        new = np.array([area for area, each in enumerate(known) if each is None], dtype=np.int64)
        for area, each in enumerate(known):
            if each is not None:
                costs.cost[costs.start[area] : costs.start[area + 1]] = each
        entry = np.repeat(np.isin(np.arange(len(sizes)), new), sizes)  # those of new areas

        def measure() -> dict[str, NDArray[Any]]:
            self.measured += len(new)
            slots = make_slots(1, len(self._points.edge))
            price_slots(slots, self.mesh, self._costs)
            work = (0, len(new), self.mesh, self._points, self.nodes, slots, 0, width, new)
            if self._over_centres:
                measure_over_centres(*work, *find_centres(self.mesh, self.nodes.area), costs)
            else:
                measure_areas(*work, costs)
            return {"cost": costs.cost[entry]}

        if len(new) >= LEAST_KEPT_AREAS and not self._key:
            parts = [b"".join(keys[area] for area in new.tolist())]
            costs.cost[entry] = kept_arrays("areas", __file__, parts, measure)["cost"]
        elif len(new):
            measure()
        for area in new.tolist():
            here[keys[area]] = costs.cost[costs.start[area] : costs.start[area + 1]]
            if not self._key:
                KNOWN_COSTS[keys[area]] = here[keys[area]].copy()
        return costs.cost

    def state(self, own: int, is_active: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """Return what leads the searches to where they are as named arrays; see `Searches.state`.
        ``tree_made`` is how far the trees were when the requests in hand began.
        """
        header, state = self._slots.header, self._state
        before = np.where(is_active, state[:, TREE_BEFORE], header[:, EXPANSIONS] * header[:, IS_SEEDED])
        before[:own] = 0
        is_tree = before > 0
        return {
            "tree_goal": np.where(is_tree, header[:, GOAL], NO_TREE).astype(np.int32),
            "tree_made": before,
            "made": np.where(is_active, state[:, MADE], 0),
        }

    def restore(self, saved: Saved, own: int, queue: RequestQueue) -> None:
        """Let idle searches do what they had done; see `Searches.restore`."""
        count, goals = len(self._state), len(self._goals.goal_start) - 1
        self._empty_slots(count)
        goal = saved.take("tree_goal", "i4", (count,), low=NO_TREE, high=goals - 1)
        before = saved.take("tree_made", "i8", (count,), low=0, high=MOST)
        made = saved.take("made", "i8", (count,), low=0, high=MOST)
        is_tree, is_active = goal != NO_TREE, queue.is_active
        saved.require(is_tree == (before > 0), "tree_made", "there is no such tree")
        saved.require(
            ~is_tree | ((np.arange(count) >= own) & (queue.keys >> GOAL_BITS == goal)),
            "tree_goal",
            "the slot keeps no tree of this goal",
        )
        saved.require(is_active | (made == 0), "made", "the slot has nothing to look for")
        in_hand = queue.in_hand
        of_width = queue.keys & ((1 << 32) - 1)  # which of the widths, see `HierarchicalPlanner._gap_class`
        saved.require(~is_tree | (of_width < len(self.widths)), "tree_goal", "no tree is for such widths")
        is_same = (in_hand["goal"] == goal) & (classes_of(self.widths, in_hand["width"]) == of_width)
        saved.require(
            ~(is_tree & is_active) | is_same, "tree_goal", "the request in hand is for another tree"
        )
        requests = np.zeros(count, dtype=in_hand.dtype)
        requests["goal"], requests["width"], requests["polygon"] = (
            np.maximum(goal, 0),
            self.widths[np.where(is_tree, of_width, 0)],
            NO_START,
        )
        for which, grant, wanted, asked in (
            (is_tree, before, "tree_made", requests),
            (is_active, np.maximum(made, 1), "made", in_hand),
        ):
            work = queue.work_again(which, grant, requests=asked)
            self.serve(Team(1), own, work)
            expected = before if wanted == "tree_made" else made
            saved.require(work.used == expected, wanted, "the search comes to an end sooner, or goes on")


class HierarchicalPlanner(MeshPlanner):
    """Answers requests for paths on large ground; a `crowdsim.navigation.planning.protocol.Planner`.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    parameters : ShareParameters, optional
    size : float, m
        Side of the squares whose contiguous ground is an area.
    workspace : int
        Areas of a path whose ground is searched at a time.
    nodes : str
        Where paths over areas lead: ``portals`` or ``centres``.
    costs : str, default "time"
        What paths are to be short in, see `CostParameters`.
    aim : HeuristicParameters, optional
    key : bytes
        Hash of what the mesh was made of, under which the disk cache keeps the graph; empty: it keeps none.
    """

    prices = searches_as_first = False

    def __init__(
        self,
        mesh: NavMesh,
        goals: GoalPieces,
        parameters: ShareParameters | None = None,
        size: float = USUAL_AREA_M,
        workspace: int = USUAL_WORKSPACE,
        nodes: str = "portals",
        costs: str = "time",
        aim: HeuristicParameters | None = None,
        key: bytes = b"",
    ) -> None:
        self._parted, self._key = (size, workspace, nodes), key
        super().__init__(mesh, goals, parameters, "hierarchical", costs, aim)

    def foresee(self, mesh: NavMesh) -> None:
        """Measure areas of a mesh for which a planner like this one will be made; see `KnownCosts`."""
        searches = AreaSearches(mesh, self.goals, 1, *self._parted, *self._costs)
        searches.make_layers_of(self.searches)

    def _gap_class(self, goal: NDArray[np.int32], radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the layers of the graph of agents: those of one layer share a tree, and search on their own
        where the ground is theirs.
        """
        return classes_of(self.searches.widths, 2.0 * np.asarray(radius, dtype=np.float64))

    def _backend(self, kind: str) -> type[Searches]:
        return AreaSearches

    def _make_searches(self, kind: str, count: int, costs: str, weight: float) -> Searches:
        self._costs = costs, weight
        return AreaSearches(self.mesh, self.goals, count, *self._parted, costs, weight, self._key)

    @property
    def searches(self) -> AreaSearches:
        """The searches in its slots."""
        assert isinstance(self._searches, AreaSearches)
        return self._searches


def _make(ground: PlannerGround, values: Values) -> HierarchicalPlanner:
    tile = values.parameters(MeshParameters).tile_size
    own = values.parameters(HierarchyParameters)
    size = own.area_size
    return HierarchicalPlanner(
        ground.mesh,
        ground.goals,
        values.parameters(ShareParameters),
        size if size > 0.0 else tile if tile > 0.0 else USUAL_AREA_M,
        own.workspace,
        own.nodes,
        values.parameters(CostParameters).costs,
        values.parameters(HeuristicParameters),
        ground.key,
    )


register_kind(
    PlannerKind(
        "hierarchical",
        _make,
        PORTALS,
        (ShareParameters, HierarchyParameters),
        (CostParameters, HeuristicParameters, GroundPrices, LaterWatchParameters),
        knows_terrain=True,
    )
)
