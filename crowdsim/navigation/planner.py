"""The planner: many requests for a way, answered by searches in slots under a budget of expansions.

Requests wait in one queue, first in, first out. Each slot works on a few of them one after the other, and all slots with work get an equal share of the
budget, what does not divide evenly going to the oldest; the slots, not the threads, decide who shares with whom, so that the number of threads changes
nothing. Requests for the same goal by bodies that can pass the same gaps go to a shared slot, whose tree is kept: once it has grown past a start, its
answer costs nothing. Whether a request shares is settled when it is made, by who asked for the same before; so it depends on no budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals import GoalPieces
from crowdsim.navigation.mesh import NavMesh
from crowdsim.navigation.protocol import Answers
from crowdsim.navigation.slot_searches import SEARCHES, MiddleSearches, Work
from crowdsim.threads import Team
from crowdsim.tunable import param

OWN_SLOTS = 8  # Searches of their own that go on side by side: enough for the threads of a desktop; more costs memory.
SHARED_SLOTS = 24  # Trees that are kept: goals times classes of body widths. The least recently used gives way.
SLOT_MEMORY_BYTES = 512 << 20  # Slots are cut down to stay within it on huge meshes; at least two of each kind are left.
OWN_BATCH, SHARED_BATCH = 16, 256  # Requests that a slot takes at a time: large enough that the Python around a round costs little for each of them.


@dataclass(frozen=True)
class PlannerParameters:
    """How ways are looked for."""

    share_searches: bool = param(
        True, "",
        why="one backward search serves all agents with the same goal that can pass the same gaps; off, each has its own; the ways are the same",
    )


@dataclass(frozen=True)
class CostParameters:
    """What ways over the middles of portals are to be short in."""

    costs: str = param(
        "time", "", choices=("time", "length"), source="SYSTEMS M3",
        why="time walks round by fast ground and avoids stairs where that pays, by the paces of stairs and terrain; length is that along the surface",
    )


# `shares` says whether a request goes to a slot whose tree is kept; `width` is then that of the body that asked for the same tree first.
_REQUEST = np.dtype([
    ("order", "i8"), ("entity", "i8"), ("goal", "i4"), ("polygon", "i4"), ("x", "f8"), ("y", "f8"), ("width", "f8"), ("key", "i8"), ("tick", "i8"),
    ("shares", "i8"),
])  # fmt: skip


_KNOWN = np.dtype([("key", "i8"), ("entity", "i8"), ("width", "f8"), ("count", "i8")])  # who asked first; requests, its later ones not counted


class MeshPlanner:
    """Answers requests for ways on a mesh (SYSTEMS M3, M5, T1); a `crowdsim.navigation.protocol.Planner`.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    parameters : PlannerParameters, optional
    kind : str, default "mesh"
        ``mesh``: A* over the middles of portals; ``optimal``: shortest ways of all, in plan.
    costs : str, default "time"
        Of ``mesh``: what ways are to be short in, see `CostParameters`.

    Attributes
    ----------
    widths : (k,) float64, m
        Every width at which what a body can pass changes, ascending.
    """

    def __init__(
        self, mesh: NavMesh, goals: GoalPieces, parameters: PlannerParameters | None = None, kind: str = "mesh", costs: str = "time"
    ) -> None:
        self.mesh, self.goals = mesh, goals
        self.parameters = parameters or PlannerParameters()
        fitting = SLOT_MEMORY_BYTES // max(1, SEARCHES[kind].slot_bytes(mesh))
        self._own = int(min(OWN_SLOTS, max(2, fitting // 4)))
        shared = int(min(SHARED_SLOTS, max(2, fitting - self._own))) if self.parameters.share_searches else 0
        count = self._own + shared
        self._searches = SEARCHES[kind](mesh, goals, count)
        if isinstance(self._searches, MiddleSearches):
            self._searches.price(costs)
        self._is_active = np.zeros(count, dtype=np.int64)
        self._held = np.zeros(count, dtype=_REQUEST)  # what an active slot is in the middle of
        self._key = np.full(count, -1, dtype=np.int64)  # goal and width class that a shared slot serves
        self._last_use = np.zeros(count, dtype=np.int64)
        self._queue = np.zeros(0, dtype=_REQUEST)
        self._asked = 0
        self._rounds = 0
        self._known = np.zeros(0, dtype=_KNOWN)  # goals and width classes that were asked for, ascending
        self.widths = _class_borders(mesh, goals)
        self._out = np.empty((count, max(1 << 14, mesh.edge_count)), dtype=np.int32)

    @property
    def waiting(self) -> int:
        """Requests that have not been answered."""
        return len(self._queue) + int(np.count_nonzero(self._is_active))

    def oldest_tick(self, default: int) -> int:
        """Return the tick at which the oldest unanswered request was made; `default` if there is none."""
        ticks = np.concatenate([self._queue["tick"], self._held["tick"][self._is_active == 1]])
        return int(ticks.min()) if len(ticks) else default

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
        fresh["entity"], fresh["goal"], fresh["polygon"], fresh["tick"] = entity, goal, polygon, tick
        fresh["x"], fresh["y"], fresh["width"] = position[:, 0], position[:, 1], 2.0 * radius
        fresh["key"] = (np.asarray(goal, dtype=np.int64) << 42) | (self._searches.radius_step(radius) << 32) | self.width_class(radius)
        if self.parameters.share_searches:
            self._note(fresh)
        self._queue = np.concatenate([self._queue, fresh])

    def _note(self, fresh: NDArray[Any]) -> None:
        """Note who asks for what, and mark the requests that so many others make, or have made, as well that a shared search pays."""
        unique, first, inverse, number = np.unique(fresh["key"], return_index=True, return_inverse=True, return_counts=True)
        place = np.searchsorted(self._known["key"], unique)
        is_new = ~np.isin(unique, self._known["key"])
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
        if self.waiting == 0:
            return
        self._queue = self._queue[~np.isin(self._queue["entity"], entity)]
        gone = (self._is_active == 1) & np.isin(self._held["entity"], entity)
        self._is_active[gone] = 0

    def advance(self, budget: int, team: Team) -> tuple[Answers, int]:
        """Search for at most `budget` expansions.

        Returns
        -------
        Answers
        int
            Expansions made.
        """
        spent = 0
        finished: list[tuple[NDArray[Any], NDArray[np.uint8], NDArray[np.int32], list[NDArray[np.int32]]]] = []
        while self.waiting and spent < budget:
            used, ended = self._round(budget - spent, team)
            spent += used
            if ended is not None:
                finished.append(ended)
            elif used == 0 and not self._searches.make_room():
                break
        return _sorted_answers(finished), spent

    def _round(self, budget: int, team: Team) -> tuple[int, Any]:
        """Hand out requests, let every slot with work use its share, collect what ended."""
        self._rounds += 1
        count = len(self._key)
        requests = np.concatenate([self._held[self._is_active == 1], self._queue])
        active = np.flatnonzero(self._is_active)
        jobs = np.zeros((count, SHARED_BATCH), dtype=np.int64)
        job_count = np.zeros(count, dtype=np.int64)
        jobs[active, 0] = np.arange(len(active))
        job_count[active] = 1
        self._hand_out(requests[len(active) :], len(active), jobs, job_count)
        at_work = np.flatnonzero(job_count)
        grant = np.zeros(count, dtype=np.int64)
        grant[at_work] = budget // len(at_work)
        oldest_first = np.argsort(requests["order"][jobs[at_work, 0]], kind="stable")  # so that nobody starves on less than an expansion for each slot
        grant[at_work[oldest_first[: budget % len(at_work)]]] += 1
        used, job_next, fill = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        status = np.zeros(len(requests), dtype=np.uint8)
        piece = np.zeros(len(requests), dtype=np.int32)
        where, size = np.zeros(len(requests), dtype=np.int64), np.zeros(len(requests), dtype=np.int64)
        work = Work(jobs, job_count, job_next, self._is_active, grant, used, requests, status, piece, where, size, self._out, fill)
        self._searches.serve(team, self._own, work)
        self._last_use[at_work] = self._rounds
        slot_of = np.zeros(len(requests), dtype=np.int64)
        begun = np.zeros(len(requests), dtype=bool)
        for slot in at_work:
            mine = jobs[slot, : job_count[slot]]
            slot_of[mine] = slot
            if self._is_active[slot]:
                self._held[slot] = requests[mine[job_next[slot]]]
                begun[mine[job_next[slot]]] = True
        over = np.flatnonzero(status)
        left = (status == 0) & ~begun
        self._queue = requests[left]
        self._queue = self._queue[np.argsort(self._queue["order"], kind="stable")]
        if not len(over):
            return int(used.sum()), None
        cells = [self._out[slot_of[i], where[i] : where[i] + size[i]].copy() for i in over]
        return int(used.sum()), (requests[over], status[over], piece[over], cells)

    def _hand_out(self, queue: NDArray[Any], offset: int, jobs: NDArray[np.int64], job_count: NDArray[np.int64]) -> None:
        """Give the queue's requests to slots: those that share a goal to the slot of its tree, the others in turn to the slots of their own."""
        common, alone = np.flatnonzero(queue["shares"] == 1), np.flatnonzero(queue["shares"] == 0)
        unique, first, inverse = np.unique(queue["key"][common], return_index=True, return_inverse=True)
        for k in np.argsort(first, kind="stable"):
            slot = self._slot_for(int(unique[k]), job_count)
            if slot < 0:
                continue
            room = SHARED_BATCH - int(job_count[slot])
            mine = common[inverse == k][:room]
            jobs[slot, job_count[slot] : job_count[slot] + len(mine)] = offset + mine
            job_count[slot] += len(mine)
        idle = np.flatnonzero(job_count[: self._own] == 0)
        if not len(idle) or not len(alone):
            return
        batch = min(OWN_BATCH, -(-len(alone) // len(idle)))
        for i, own in enumerate(idle.tolist()):
            mine = alone[i * batch : (i + 1) * batch]
            jobs[own, : len(mine)] = offset + mine
            job_count[own] = len(mine)

    def _slot_for(self, key: int, job_count: NDArray[np.int64]) -> int:
        """Return the shared slot for a key: its own, else the one that was used longest ago; -1 if all are at work."""
        shared = np.arange(self._own, len(self._key))
        known = shared[self._key[shared] == key]
        if len(known):
            return int(known[0])
        free = shared[(self._is_active[shared] == 0) & (job_count[shared] == 0)]
        if not len(free):
            return -1
        slot = int(free[np.argmin(self._last_use[free])])
        self._key[slot] = key
        self._searches.forget(slot)
        return slot

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives in the planner as named arrays."""
        counters = np.array([self._asked, self._rounds], dtype=np.int64)
        return {
            **{f"slots_{name}": array for name, array in self._searches.state().items()},
            **_columns("known", self._known),
            **_columns("queue", self._queue),
            **_columns("held", self._held),
            "is_active": self._is_active.copy(),
            "key": self._key.copy(),
            "last_use": self._last_use.copy(),
            "counters": counters,
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `state()` gave."""
        self._searches.restore({name.removeprefix("slots_"): array for name, array in state.items() if name.startswith("slots_")})
        self._queue, self._held, self._known = _records("queue", _REQUEST, state), _records("held", _REQUEST, state), _records("known", _KNOWN, state)
        self._is_active, self._key, self._last_use = state["is_active"].copy(), state["key"].copy(), state["last_use"].copy()
        self._asked, self._rounds = (int(value) for value in state["counters"])


def _columns(name: str, records: NDArray[Any]) -> dict[str, NDArray[Any]]:
    assert records.dtype.names is not None
    return {f"{name}_{field}": records[field].copy() for field in records.dtype.names}


def _records(name: str, kind: np.dtype[Any], state: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    fields = kind.names or ()
    records = np.zeros(len(state[f"{name}_{fields[0]}"]), dtype=kind)
    for field in fields:
        records[field] = state[f"{name}_{field}"]
    return records


def _sorted_answers(finished: list[tuple[NDArray[Any], NDArray[np.uint8], NDArray[np.int32], list[NDArray[np.int32]]]]) -> Answers:
    if not finished:
        none = np.zeros(0, dtype=np.int32)
        return Answers(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint8), none, np.zeros(1, dtype=np.int64), none)
    requests = np.concatenate([part[0] for part in finished])
    cells = [corridor for part in finished for corridor in part[3]]
    order = np.argsort(requests["order"], kind="stable")
    cells = [cells[i] for i in order]
    start = np.concatenate([[0], np.cumsum([len(corridor) for corridor in cells])]).astype(np.int64)
    return Answers(
        requests["entity"][order].copy(),
        np.concatenate([part[1] for part in finished])[order],
        np.concatenate([part[2] for part in finished])[order],
        start,
        np.concatenate(cells) if cells else np.zeros(0, dtype=np.int32),
    )


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
