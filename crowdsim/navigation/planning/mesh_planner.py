"""The planner over polygons: corridors of portals, by A* or the shortest of all.

Requests for the same goal by agents that can pass the same gaps go to a shared slot, which keeps its tree:
once that has grown past a start, its answer takes no expansion. Whether a request shares is settled when it
is made, or when it is known that it will be, by the requests for the same before, and those that come with
it; so it depends on no budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planning.find_landmarks import find_landmarks, find_point_landmarks
from crowdsim.navigation.planning.keys import group_equal
from crowdsim.navigation.planning.portals import PORTALS
from crowdsim.navigation.planning.protocol import ANSWER_WORK
from crowdsim.navigation.planning.registry import PlannerGround, PlannerKind, Values, register_kind
from crowdsim.navigation.planning.request_queue import RequestQueue
from crowdsim.navigation.planning.search_backends import (
    FIELDS,
    GOAL_BITS,
    SEARCHES,
    MiddleSearches,
    OptimalSearches,
    Searches,
)
from crowdsim.navigation.planning.slot_planner import SlotPlanner
from crowdsim.navigation.planning.work import Work
from crowdsim.navigation.search.ground_filter import GroundPrices
from crowdsim.navigation.search.heuristic_weight import HeuristicParameters
from crowdsim.navigation.search.landmarks import NO_LANDMARKS, LandmarkParameters
from crowdsim.navigation.search.portal_points import PointParameters, place_points
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.navigation.search.slot_fields import MOST_PRICED
from crowdsim.navigation.search.watching import LaterWatchParameters
from crowdsim.saved import FARTHEST_M, MOST, WIDEST_M, Arrays, Saved, ascends, fields_of
from crowdsim.tunable import param

# Searches of their own that go on side by side: enough for the threads of a desktop; more costs memory.
OWN_SLOTS = 8
SHARED_SLOTS = 24  # Trees that are kept: goals times classes of widths. The least recently used gives way.
# Slots are cut down to stay within it on huge meshes; at least two of each kind are left.
SLOT_MEMORY_BYTES = 512 << 20
# Requests that a slot takes at a time: large enough that the Python around a round costs little for each of
# them.
OWN_BATCH, SHARED_BATCH = 16, 256


@dataclass(frozen=True)
class CostParameters:
    """What paths over points of portals are to be short in."""

    costs: str = param(
        "time",
        "",
        choices=("time", "length"),
        source="[Cui 2012], section 2",
        why=(
            "time walks round by fast ground and avoids stairs where that pays, by the paces of stairs and "
            "terrain; length is that along the surface"
        ),
    )


def bounds_on(mesh: NavMesh, goals: GoalPieces) -> dict[str, tuple[Any, Any]]:
    """Return what the fields of a request may hold on a ground, by name."""
    priced = {f"priced_{place}": (-1, mesh.edge_count - 1) for place in range(MOST_PRICED)}
    return {
        "width": (0.0, 2.0 * WIDEST_M),
        "price": (0.0, FARTHEST_M),
        **priced,
        "goal": (0, len(goals.goal_start) - 2),
        "polygon": (0, mesh.polygon_count - 1),
    }


NO_KEY = -1  # Keys of goals and width classes are 0 and more.
# first agent; requests, without its later ones; how many of those that came together are still to be made
_KNOWN = np.dtype([("key", "i8"), ("entity", "i8"), ("width", "f8"), ("count", "i4"), ("together", "i4")])
_MOST_COUNTED = 1 << 30  # More are not told apart.


class MeshPlanner(SlotPlanner):
    """Answers requests for paths on a mesh; a `crowdsim.navigation.planning.protocol.Planner`.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    parameters : ShareParameters, optional
    kind : str, default "mesh"
        ``mesh``: A* over points of portals; ``optimal``: shortest paths of all, in plan.
    costs : str, default "time"
        Of ``mesh``: what paths are to be short in, see `CostParameters`.
    aim : HeuristicParameters, optional
        Of ``mesh``: how strongly the heuristic draws searches. Optimal ones take no weight: they would be
        none.
    points : PointParameters, optional
        Of ``mesh``: where its searches cross portals.
    landmarks : int, default 0
        To how many places distances are found before the first search, see `Landmarks`.
    key : bytes
        Hash of what the mesh was made of; empty where it is not in the disk cache.

    Attributes
    ----------
    searches_as_first : bool
        Whether agents that share a tree search with the width of the first of them.
    """

    prices = searches_as_first = settles = True

    def __init__(
        self,
        mesh: NavMesh,
        goals: GoalPieces,
        parameters: ShareParameters | None = None,
        kind: str = "mesh",
        costs: str = "time",
        aim: HeuristicParameters | None = None,
        points: PointParameters | None = None,
        landmarks: int = 0,
        key: bytes = b"",
    ) -> None:
        self.mesh, self.goals, self._landmarks = mesh, goals, (landmarks, key)
        self.points = points or PointParameters()
        self.parameters = parameters or ShareParameters()
        fitting = SLOT_MEMORY_BYTES // max(1, self._backend(kind).slot_bytes(mesh))
        self._own = int(min(OWN_SLOTS, max(2, fitting // 4)))
        shared = int(min(SHARED_SLOTS, max(2, fitting - self._own))) if self.parameters.share_searches else 0
        count = self._own + shared
        weight = (aim or HeuristicParameters()).heuristic_weight
        self._searches = self._make_searches(kind, count, costs, weight)
        out = lazy_zeros((count, max(1 << 14, mesh.edge_count)), np.int32)
        queue = RequestQueue(FIELDS, self._own, shared, OWN_BATCH, SHARED_BATCH, out, self._searches.forget)
        super().__init__(queue, ANSWER_WORK, 1)
        self._known = np.zeros(0, dtype=_KNOWN)  # goals and width classes that requests had, ascending
        self._first_goals = goals
        # of regions that came later: twice the clearances of their pieces, ascending
        self._later_widths: dict[int, NDArray[np.float64]] = {}

    @cached_property
    def widths(self) -> NDArray[np.float64]:
        """Every width (m) at which what an agent can pass changes, ascending, (k,)."""
        return _class_borders(self.mesh, self._first_goals)

    def _backend(self, kind: str) -> type[Searches]:
        """Return the class of the searches of a kind."""
        return SEARCHES[kind]

    def _make_searches(self, kind: str, count: int, costs: str, weight: float) -> Searches:
        """Return searches for so many slots; what they are short in and their weight as for the planner."""
        backend = self._backend(kind)
        if issubclass(backend, OptimalSearches):
            return backend(self.mesh, self.goals, count, find_landmarks(self.mesh, *self._landmarks))
        if not issubclass(backend, MiddleSearches):
            return backend(self.mesh, self.goals, count)
        points = place_points(self.mesh, self.points.points_apart)
        searches = backend(self.mesh, self.goals, count, points)
        searches.price(costs, weight)
        landmarks = find_point_landmarks(self.mesh, points, costs, *self._landmarks)
        searches.take_landmarks(landmarks or NO_LANDMARKS)
        return searches

    def width_class(self, radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return for each radius (m) the number of gaps of the mesh that an
        agent of that radius cannot pass.
        """
        return np.searchsorted(self.widths, 2.0 * np.asarray(radius), side="left")

    def take_goals(self, goals: GoalPieces, changed: NDArray[np.int64]) -> None:
        """Search for other goals from now on; see `Planner.take_goals`."""
        self.goals = goals
        self._searches.take_goals(goals, changed)
        self.queue.forget_trees(np.isin(self.queue.keys >> GOAL_BITS, changed))
        self._known = self._known[~np.isin(self._known["key"] >> GOAL_BITS, changed)]
        for goal in changed[goals.reach[changed] == 0.0].tolist():  # regions
            first, last = goals.goal_start[goal], goals.goal_start[goal + 1]
            self._later_widths[goal] = np.unique(2.0 * goals.clearance[first:last])

    def _gap_class(self, goal: NDArray[np.int32], radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return numbers of classes, the same for agents with one goal that can pass the same gaps and enter
        the same of its pieces.
        """
        found = self.width_class(radius)
        for region, widths in self._later_widths.items():
            mine = np.flatnonzero(np.asarray(goal) == region)
            found[mine] += (len(self.widths) + 1) * np.searchsorted(
                widths, 2.0 * np.asarray(radius)[mine], side="left"
            )
        return found

    def _keys(self, goal: NDArray[np.int32], radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the keys of the trees that requests can share."""
        return (
            (np.asarray(goal, dtype=np.int64) << GOAL_BITS)
            | (self._searches.radius_step(radius) << 32)
            | self._gap_class(goal, radius)
        )

    def settle(self, entity: NDArray[np.int64], goal: NDArray[np.int32], radius: NDArray[np.float64]) -> None:
        """Take notice that agents, (k,), are going to ask for paths: which requests share trees is settled by
        all of which it was taken, however many are made at a time.
        """
        if self.parameters.share_searches and len(entity):
            self._note(self._keys(goal, radius), entity, 2.0 * radius)

    def submit(
        self,
        tick: int,
        entity: NDArray[np.int64],
        position: NDArray[np.float64],
        polygon: NDArray[np.int64],
        goal: NDArray[np.int32],
        radius: NDArray[np.float64],
        priced: NDArray[np.int32] | None = None,
        price: float = 0.0,
        settled: bool = False,
    ) -> None:
        """Ask for paths; see `Planner.submit`.

        Parameters
        ----------
        tick, entity, position, polygon, goal, radius
            As for `Planner.submit`.
        priced : (k, 4) int32, optional
            Half-edges of portals that cost `price` besides, on either side; -1 is none, and comes last. Only
            planners that say so (`prices`) heed them.
        price : float, m
        settled : bool
            Whether `settle` was called for them, and for all that come with them for the same.
        """
        fresh = self._fresh(tick, entity, position, goal=goal, polygon=polygon, width=2.0 * radius)
        fresh["key"] = self._keys(goal, radius)
        note_prices(fresh, priced, price)
        is_alone = fresh["priced_0"] >= 0
        may_share = np.flatnonzero(~is_alone) if is_alone.any() else slice(None)
        if self.parameters.share_searches and not is_alone.all():
            key, entity, width = (fresh[name][may_share] for name in ("key", "entity", "width"))
            if not settled:
                self._note(key, entity, width)
            fresh["shares"][may_share], fresh["width"][may_share] = self._as_first(key, width)
        self.queue.submit(len(fresh))

    def _as_first(
        self, key: NDArray[np.int64], width: NDArray[np.float64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which requests, that are made now, share trees, since so many others are for the same that
        it pays, and the width (m) that each is searched with.
        """
        place = np.searchsorted(self._known["key"], key)
        # one that was not noted, or has been forgotten since, is the only one of its kind
        known = np.append(self._known, np.array([(NO_KEY, 0, 0.0, 0, 0)], dtype=_KNOWN))[place]
        is_known = known["key"] == key
        are_many = (known["count"] + 1 >= self._searches.share_at) | (known["together"] > 0)
        shares: NDArray[np.bool_] = is_known & are_many
        made = np.bincount(place[is_known], minlength=len(self._known))
        self._known["together"] = np.maximum(0, self._known["together"] - made)
        if self.searches_as_first:
            width = np.where(shares, known["width"], width)
        return shares, width

    def _note(self, key: NDArray[np.int64], entity: NDArray[np.int64], width: NDArray[np.float64]) -> None:
        """Note which goals and widths are requested, by how many others than the first, and how many come
        together, where these are many.
        """
        first, group, number = group_equal(key)
        ascending = np.argsort(key[first], kind="stable")
        first, number = first[ascending], number[ascending]
        unique, inverse = key[first], np.argsort(ascending)[group]
        place = np.searchsorted(self._known["key"], unique)
        is_new = np.append(self._known["key"], NO_KEY)[place] != unique
        if is_new.any():
            added = np.zeros(int(is_new.sum()), dtype=_KNOWN)
            added["key"], added["entity"], added["width"] = (
                unique[is_new],
                entity[first[is_new]],
                width[first[is_new]],
            )
            self._known = np.insert(self._known, place[is_new], added)
            place = np.searchsorted(self._known["key"], unique)
        own = np.bincount(
            inverse, weights=entity == self._known["entity"][place][inverse], minlength=len(unique)
        ).astype(np.int64)
        together = np.where(number >= self._searches.share_together, number, 0)
        for name, more in (("count", number - own), ("together", together)):
            self._known[name][place] = np.minimum(self._known[name][place] + more, _MOST_COUNTED)

    def _serve(self, team: Team, work: Work) -> None:
        self._searches.serve(team, self._own, work)

    def _make_room(self) -> bool:
        return self._searches.make_room()

    def _progress(self) -> dict[str, NDArray[Any]]:
        return {
            f"slots_{name}": array
            for name, array in self._searches.state(self._own, self.queue.is_active).items()
        }

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives in the planner as named arrays:
        of searches, what they are for and how far they are.
        """
        return {**super().state(), **fields_of("known_", self._known)}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave: searches are begun again and do what they had done.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved = Saved.of(state)
        known = saved.records(
            "known_",
            _KNOWN,
            {
                "key": (0, MOST),
                "entity": (0, MOST),
                "width": (0.0, 2.0 * WIDEST_M),
                "count": (0, _MOST_COUNTED),
                "together": (0, _MOST_COUNTED),
            },
        )
        saved.require(ascends(known["key"]), "known_key", "keys have to ascend")
        self._restore(saved, bounds_on(self.mesh, self.goals))
        self._known = known

    def _redo(self, saved: Saved) -> None:
        requests = self.queue.requests
        is_shared = requests["shares"] == 1
        saved.require(
            ~is_shared | (requests["key"] >> GOAL_BITS == requests["goal"]),
            "queue_request_key",
            "that is a tree of another goal",
        )
        self._searches.restore(saved.below("slots_"), self._own, self.queue)


def note_prices(fresh: NDArray[Any], priced: NDArray[np.int32] | None, price: float) -> None:
    """Note in new requests which portals cost more, and how much (m); see `MeshPlanner.submit`."""
    for place in range(MOST_PRICED):
        fresh[f"priced_{place}"] = -1 if priced is None else priced[:, place]
    fresh["price"] = price


def usual_planner(mesh: NavMesh, goals: GoalPieces) -> MeshPlanner:
    """Return the planner that a scenario on a mesh gets if it does not say:
    shortest paths, and quick ones where the ground is not even.
    """
    return MeshPlanner(mesh, goals, kind="optimal" if mesh.is_even else "mesh")


def _class_borders(mesh: NavMesh, goals: GoalPieces) -> NDArray[np.float64]:
    """Return every width at which what an agent can pass changes, ascending:
    all edges and diagonals between wall vertices, and the clearances of goals.
    """
    lengths = [mesh.edge_width[np.isfinite(mesh.edge_width)], 2.0 * goals.clearance]
    sizes = np.diff(mesh.polygon_start)
    for size in np.unique(sizes):
        first = mesh.polygon_start[:-1][sizes == size]
        for i in range(size):
            for j in range(i + 2, size):
                a, b = mesh.edge_vertex[first + i], mesh.edge_vertex[first + j]
                both = (mesh.is_wall_vertex[a] == 1) & (mesh.is_wall_vertex[b] == 1)
                span = mesh.vertex[a[both], :2] - mesh.vertex[b[both], :2]
                lengths.append(hypots(span[:, 0], span[:, 1]))
    return np.unique(np.concatenate(lengths))


def _make(kind: str, ground: PlannerGround, values: Values) -> MeshPlanner:
    known = values.parameters(LandmarkParameters).landmarks if ground.is_first else 0
    shares = values.parameters(ShareParameters)
    if kind == "optimal":
        return MeshPlanner(ground.mesh, ground.goals, shares, kind, landmarks=known, key=ground.key)
    return MeshPlanner(
        ground.mesh,
        ground.goals,
        shares,
        kind,
        values.parameters(CostParameters).costs,
        values.parameters(HeuristicParameters),
        values.parameters(PointParameters),
        known,
        ground.key,
    )


register_kind(
    PlannerKind(
        "mesh",
        partial(_make, "mesh"),
        PORTALS,
        (ShareParameters,),
        (
            CostParameters,
            HeuristicParameters,
            PointParameters,
            GroundPrices,
            LaterWatchParameters,
            LandmarkParameters,
        ),
        knows_terrain=True,
    )
)
register_kind(
    PlannerKind("optimal", partial(_make, "optimal"), PORTALS, (ShareParameters,), (LandmarkParameters,))
)
