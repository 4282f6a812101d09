"""The planner: many requests for a way, answered by searches in slots under a budget of expansions.

Requests wait at a desk (`crowdsim.navigation.planning.request_queue`), first in, first out. Each slot works on a few of them one after the other, and a budget
is shared equally among as many slots as it is worth handing out to, the oldest requests first; the slots, not the threads, decide who shares with whom, so that
the number of threads changes nothing. Requests for the same goal by bodies that can pass the same gaps go to a shared slot, whose tree is kept: once it has
grown past a start, its answer takes no expansion. So that a budget bounds the answers too, each counts as some expansions. Whether a request shares is
settled when it is made, by who asked for the same before; so it depends on no budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planning.protocol import ANSWER_WORK, Answers, starts_of, work_of
from crowdsim.navigation.planning.request_queue import GOAL_BITS, REQUEST, Desk, Ended, pieces
from crowdsim.navigation.planning.search_backends import SEARCHES, MiddleSearches
from crowdsim.navigation.search.heuristic_weight import AimParameters
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.navigation.search.slot_fields import MOST_PRICED
from crowdsim.saved import FARTHEST_M, MOST, MOST_TICKS, WIDEST_M, Arrays, Saved, ascends, fields_of
from crowdsim.tunable import param

OWN_SLOTS = 8  # Searches of their own that go on side by side: enough for the threads of a desktop; more costs memory.
SHARED_SLOTS = 24  # Trees that are kept: goals times classes of body widths. The least recently used gives way.
SLOT_MEMORY_BYTES = 512 << 20  # Slots are cut down to stay within it on huge meshes; at least two of each kind are left.
OWN_BATCH, SHARED_BATCH = 16, 256  # Requests that a slot takes at a time: large enough that the Python around a round costs little for each of them.
FOR_TEAMS = 4000  # Budget of a round from which on its slots are shared among threads, some 0.8 ms; waking one takes up to 0.1 ms.


@dataclass(frozen=True)
class CostParameters:
    """What ways over points of portals are to be short in."""

    costs: str = param(
        "time", "", choices=("time", "length"), source="[Cui 2012], section 2",
        why="time walks round by fast ground and avoids stairs where that pays, by the paces of stairs and terrain; length is that along the surface",
    )


# What a saved request may hold beside what depends on the ground, see `bounds_of`.
_BOUNDS: dict[str, tuple[Any, Any]] = {
    "entity": (0, MOST), "x": (-FARTHEST_M, FARTHEST_M), "y": (-FARTHEST_M, FARTHEST_M), "width": (0.0, 2.0 * WIDEST_M), "key": (0, MOST),
    "tick": (0, MOST_TICKS), "shares": (0, 1), "price": (0.0, FARTHEST_M),
}  # fmt: skip


def bounds_of(mesh: NavMesh, goals: GoalPieces, asked: int) -> dict[str, tuple[Any, Any]]:
    """Return what the fields of a request may hold on a ground, by name, where so many have been made."""
    priced = {f"priced_{place}": (-1, mesh.edge_count - 1) for place in range(4)}
    return {**_BOUNDS, **priced, "order": (0, asked - 1), "goal": (0, len(goals.goal_start) - 2), "polygon": (0, mesh.polygon_count - 1)}


NO_KEY = -1  # Keys of goals and width classes are 0 and more.
_KNOWN = np.dtype([("key", "i8"), ("entity", "i8"), ("width", "f8"), ("count", "i8")])  # who asked first; requests, its later ones not counted


class MeshPlanner:
    """Answers requests for ways on a mesh; a `crowdsim.navigation.planning.protocol.Planner`.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    parameters : ShareParameters, optional
    kind : str, default "mesh"
        ``mesh``: A* over points of portals; ``optimal``: shortest ways of all, in plan.
    costs : str, default "time"
        Of ``mesh``: what ways are to be short in, see `CostParameters`.
    aim : AimParameters, optional
        Of ``mesh``: what draws searches. Optimal ones take no weight: they would be none.

    Attributes
    ----------
    widths : (k,) float64, m
        Every width at which what a body can pass changes, ascending.
    prices : bool
        Whether it heeds prices on portals.
    """

    def __init__(
        self, mesh: NavMesh, goals: GoalPieces, parameters: ShareParameters | None = None, kind: str = "mesh", costs: str = "time",
        aim: AimParameters | None = None,
    ) -> None:  # fmt: skip
        self.mesh, self.goals = mesh, goals
        self.parameters = parameters or ShareParameters()
        fitting = SLOT_MEMORY_BYTES // max(1, SEARCHES[kind].slot_bytes(mesh))
        self._own = int(min(OWN_SLOTS, max(2, fitting // 4)))
        shared = int(min(SHARED_SLOTS, max(2, fitting - self._own))) if self.parameters.share_searches else 0
        count = self._own + shared
        self._searches = SEARCHES[kind](mesh, goals, count)
        self.prices = True
        if isinstance(self._searches, MiddleSearches):
            self._searches.price(costs, (aim or AimParameters()).pull)
        cells = max(1 << 14, mesh.edge_count)
        self._desk = Desk(self._own, shared, OWN_BATCH, SHARED_BATCH, cells, self._searches.forget)
        self._asked = 0
        self._known = np.zeros(0, dtype=_KNOWN)  # goals and width classes that were asked for, ascending
        self.widths = _class_borders(mesh, goals)

    @property
    def waiting(self) -> int:
        """Requests that have not been answered."""
        return self._desk.waiting

    @property
    def starts(self) -> NDArray[Any]:
        """The requests that have not been answered."""
        return starts_of(self._desk.requests)

    def oldest_tick(self, default: int) -> int:
        """Return the tick at which the oldest unanswered request was made; `default` if there is none."""
        return self._desk.oldest_tick(default)

    def width_class(self, radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return for each radius (m) the number of gaps of the mesh that a body of that radius cannot pass."""
        return np.searchsorted(self.widths, 2.0 * np.asarray(radius), side="left")

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
        priced : (k, 4) int32, optional
            Half-edges of portals that cost `price` besides, on either side; -1 is none, and comes last. Only planners that say so (`prices`) heed them.
        price : float, m
        """
        self.drop(entity)
        fresh = np.zeros(len(entity), dtype=REQUEST)
        fresh["order"] = self._asked + np.arange(len(entity))
        self._asked += len(entity)
        fresh["entity"], fresh["goal"], fresh["polygon"], fresh["tick"] = entity, goal, polygon, tick
        fresh["x"], fresh["y"], fresh["width"] = position[:, 0], position[:, 1], 2.0 * radius
        fresh["key"] = (np.asarray(goal, dtype=np.int64) << GOAL_BITS) | (self._searches.radius_step(radius) << 32) | self.width_class(radius)
        for place in range(MOST_PRICED):
            fresh[f"priced_{place}"] = -1 if priced is None or not self.prices else priced[:, place]
        fresh["price"] = price
        shares = np.flatnonzero(fresh["priced_0"] < 0)
        if self.parameters.share_searches and len(shares):
            noted = fresh[shares]
            self._note(noted)
            fresh[shares] = noted
        self._desk.submit(fresh)

    def _note(self, fresh: NDArray[Any]) -> None:
        """Note who asks for what, and mark the requests that so many others make, or have made, as well that a shared search pays."""
        unique, first, inverse, number = np.unique(fresh["key"], return_index=True, return_inverse=True, return_counts=True)
        place = np.searchsorted(self._known["key"], unique)
        is_new = np.append(self._known["key"], NO_KEY)[place] != unique
        if is_new.any():
            added = np.zeros(int(is_new.sum()), dtype=_KNOWN)
            added["key"], added["entity"], added["width"] = unique[is_new], fresh["entity"][first[is_new]], fresh["width"][first[is_new]]
            self._known = np.insert(self._known, place[is_new], added)
            place = np.searchsorted(self._known["key"], unique)
        own = np.bincount(inverse, weights=fresh["entity"] == self._known["entity"][place][inverse], minlength=len(unique)).astype(np.int64)
        self._known["count"][place] += number - own
        fresh["shares"] = self._known["count"][place][inverse] + 1 >= self._searches.share_at
        fresh["width"] = np.where(fresh["shares"] == 1, self._known["width"][place][inverse], fresh["width"])

    def drop(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that left or changed their mind."""
        self._desk.drop(entity)

    def advance(self, budget: int, team: Team, *, counts_answers: bool = True) -> tuple[Answers, int]:
        """Search for at most `budget` expansions, less what the answers count as, if they count; see `work_of`.

        Returns
        -------
        Answers
        int
            Expansions made.
        """
        spent = made = 0
        finished: list[Ended] = []
        while self.waiting and spent < budget:
            used, has_moved, ended = self._round(budget - spent, team, ANSWER_WORK if counts_answers else 0)
            made += used
            spent += used
            if ended is not None:
                finished.append(ended)
                spent += work_of(len(ended.order), len(ended.cells)) if counts_answers else 0
            elif used == 0 and not has_moved and not self._searches.make_room():
                break
        return sorted_answers(finished), made

    def _round(self, budget: int, team: Team, answer_work: int) -> tuple[int, bool, Ended | None]:
        """Hand out requests, let every slot with work use its share; return the expansions made, whether any slot got on in its jobs, and what ended."""
        desk = self._desk
        desk.hand_out(budget)
        work = desk.work()
        self._searches.serve(team, self._own, work, answer_work, 1 if budget >= FOR_TEAMS else len(work.jobs))
        return desk.collect()

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives in the planner as named arrays: of searches, what they are for and how far they are."""
        return {
            **{f"slots_{name}": array for name, array in self._searches.state(self._own, self._desk.is_active).items()}, **fields_of("known_", self._known),
            **{f"desk_{name}": array for name, array in self._desk.state().items()}, "counters": np.array([self._asked], dtype=np.int64),
        }  # fmt: skip

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave: searches are begun again and do what they had done.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved = Saved.of(state)
        asked = saved.whole("counters", 0, MOST)
        known = saved.records("known_", _KNOWN, {"key": (0, MOST), "entity": (0, MOST), "width": (0.0, 2.0 * WIDEST_M), "count": (0, MOST)})
        saved.require(ascends(known["key"]), "known_key", "keys have to ascend")
        self._desk.restore(saved.below("desk_"), bounds_of(self.mesh, self.goals, asked))
        self._searches.restore(saved.below("slots_"), self._own, self._desk)
        self._known, self._asked = known, asked


def usual_planner(mesh: NavMesh, goals: GoalPieces) -> MeshPlanner:
    """Return the planner that a scenario on a mesh gets if it does not say: shortest ways, and quick ones where the ground is not even."""
    return MeshPlanner(mesh, goals, kind="optimal" if mesh.is_even else "mesh")


def sorted_answers(finished: list[Ended]) -> Answers:
    """Return what ended in all rounds in the order in which it was asked for."""
    if not finished:
        none = np.zeros(0, dtype=np.int32)
        return Answers(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint8), none, np.zeros(1, dtype=np.int64), none)
    order, entity, status, piece, size, cells = (np.concatenate(parts) for parts in zip(*finished, strict=True))
    by_order = np.argsort(order, kind="stable")
    begin, size = (np.cumsum(size) - size)[by_order], size[by_order]
    start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    return Answers(entity[by_order], status[by_order], piece[by_order], start, pieces(cells, begin, size))


def _class_borders(mesh: NavMesh, goals: GoalPieces) -> NDArray[np.float64]:
    """Return every width at which what a body can pass changes, ascending: all edges and diagonals between wall vertices, and the room of goals."""
    lengths = [mesh.edge_width[np.isfinite(mesh.edge_width)], 2.0 * goals.room]
    sizes = np.diff(mesh.polygon_start)
    for size in np.unique(sizes):
        first = mesh.polygon_start[:-1][sizes == size]
        for i in range(size):
            for j in range(i + 2, size):
                a, b = mesh.edge_vertex[first + i], mesh.edge_vertex[first + j]
                both = (mesh.is_wall_vertex[a] == 1) & (mesh.is_wall_vertex[b] == 1)
                span = mesh.vertex[a[both], :2] - mesh.vertex[b[both], :2]
                lengths.append(np.hypot(span[:, 0], span[:, 1]))
    return np.unique(np.concatenate(lengths))
