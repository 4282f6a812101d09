"""The kinds of searches that a planner can have in its slots: how they are kept, served, saved, and given more room.

A search of any kind answers with a corridor on the mesh. To add one, write a class like these and name it in SEARCHES.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.goals.rims import Rims, find_rims
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.mesh.slopes import SURFACE_LENGTH, TRAVEL_TIME
from crowdsim.navigation.planning.request_queue import GOAL_BITS, NO_TREE, Desk, Work
from crowdsim.navigation.search.a_star import COSTS, FASTEST, SearchSlots, advance_search, begin_search, copy_corridor, corridor_size, make_slots
from crowdsim.navigation.search.goal_entries import Scratch, make_scratch
from crowdsim.navigation.search.polyanya import advance_optimal, begin_optimal
from crowdsim.navigation.search.polyanya_slots import (
    CONE_BYTES,
    IS_FULL,
    MOST_CONES,
    IntervalSlots,
    copy_optimal,
    make_interval_slots,
    optimal_size,
    with_room,
    with_rooms,
)
from crowdsim.navigation.search.portal_points import PortalPoints, place_points
from crowdsim.navigation.search.portal_prices import set_prices
from crowdsim.navigation.search.slot_fields import (
    BEST_NODE,
    BEST_TOTAL,
    EXPANSIONS,
    FOUND,
    GOAL,
    IS_SEEDED,
    MOST_PRICED,
    PENDING,
    PULL,
    START_POLYGON,
    STATUS,
    WIDTH,
)
from crowdsim.saved import MOST, WIDEST_M, Arrays, Saved

RADIUS_STEP_M = 1.0 / 128.0  # Bodies whose radii are nearer than this may share an optimal tree: the way of one is longer than its shortest by less than
# 5 mm in 60 crowds (by 14 mm with steps of 1/32 m). Smaller makes more trees where radii are drawn from a distribution.
TREE_CONES = 32  # Cones of a tree that has grown over a whole mesh, for each half-edge: 16 measured for bodies, 40 for points among pillars.
MOST_ROOM_BYTES = 4 << 30  # Of saved searches; what they take is far below.
LONG_WORK = 100_000  # Expansions that are worth waking threads for where a run is taken up: some 20 ms.
NO_START = -1  # In place of the polygon of a start: trees are grown for nobody in particular.
EDGES_A_REQUEST = 4  # Optimal searches are shared from one request for so many half-edges on: those before, each on its own, then cost about what a tree
# over the whole mesh costs, 15 expansions a half-edge against some 50 a search. Larger shares sooner, which pays less where few ask.


class Searches(Protocol):
    """Searches of one kind, one in each slot.

    Attributes
    ----------
    share_at : int
        Requests for one goal by bodies that can share a tree from which on one is made.
    """

    share_at: int

    def __init__(self, mesh: NavMesh, goals: GoalPieces, count: int) -> None: ...

    @staticmethod
    def slot_bytes(mesh: NavMesh) -> int:
        """Return about how many bytes a slot takes on a mesh."""

    def radius_step(self, radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return a number from 0 to 1,023 for each radius (m): bodies with the same number, that pass the same gaps, may share a tree."""

    def serve(self, team: Team, own: int, work: Work, answer_work: int, at_least: int) -> None:
        """Let every slot work through its requests, at least so many slots on a thread; those from `own` on keep their trees."""

    def forget(self, slot: int) -> None:
        """Give the tree of a shared slot up."""

    def make_room(self) -> bool:
        """Give more room to slots that ran out of it; return whether there were any."""

    def state(self, own: int, is_active: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """Return how far the searches are as named arrays; slots from `own` on keep trees, those that are active, (slots,), are in the middle of a request."""

    def restore(self, state: Arrays | Saved, own: int, desk: Desk) -> None:
        """Take back what `state()` gave, by doing it again for the requests of a desk that was restored."""


@lean_kernel
def serve_slots(
    first, last, slots, mesh, goals, points, scratch, own_slots, answer_work, jobs, job_count, job_next, is_active, grant, used, requests, is_open, status,
    piece, where, size, out, fill,
):
    """Let slots first..last - 1 work through their requests.

    Parameters
    ----------
    first, last : int
    slots : SearchSlots
    mesh : NavMesh
    goals : GoalPieces
    points : PortalPoints
    scratch : Scratch
    own_slots : int
        Slots from this one on are shared.
    answer_work : int, expansions
        What an answer counts as, besides its portals; 0 where neither counts.
    jobs : (s, b) int64
        Requests of each slot, as rows of `requests`.
    job_count, job_next : (s,) int64
        How many, and the one that is being worked on; the latter is moved on.
    is_active : (s,) int64
        1 while the slot is in the middle of a request.
    grant, used : (s,) int64
        Work that a slot may do: an answer is begun where some is left, and counts in full, if it counts; expansions that it has made.
    requests : (n,) record array
    is_open : (n,) uint8
        0 for requests that were dropped; they are passed over.
    status : (n,) uint8
    piece : (n,) int32
    where, size : (n,) int64
        For requests that ended: outcome, piece of the goal, where in the slot's row of `out` the corridor is and its portals.
    out : (s, k) int32
    fill : (s,) int64
        Receives the cells used in each row of `out`.
    """
    for slot in range(first, last):
        used[slot] = spent = fill[slot] = 0
        while job_next[slot] < job_count[slot] and spent < grant[slot]:
            job = jobs[slot, job_next[slot]]
            if is_open[job] == 0:
                job_next[slot] += 1
                continue
            if is_active[slot] == 0:
                request = requests[job]
                is_shared = 1 if slot >= own_slots else 0
                set_prices(slots, slot, request)
                begin_search(
                    slots, slot, mesh, goals, points, scratch, request["goal"], request["width"], request["x"], request["y"], request["polygon"], is_shared
                )
                is_active[slot] = 1
            made = advance_search(slots, slot, mesh, goals, points, scratch, grant[slot] - spent)
            used[slot] += made
            spent += made
            if slots.header[slot, STATUS] == PENDING:
                break
            count = corridor_size(slots, slot) if slots.header[slot, STATUS] == FOUND else 0
            if fill[slot] + count > out.shape[1]:
                break
            status[job] = slots.header[slot, STATUS]
            where[job], size[job], piece[job] = fill[slot], count, -1
            if status[job] == FOUND:
                _, piece[job] = copy_corridor(slots, slot, mesh, goals, points, out[slot], fill[slot])
            fill[slot] += count
            is_active[slot] = 0
            job_next[slot] += 1
            spent += answer_work + count if answer_work > 0 else 0


@lean_kernel
def serve_interval_slots(
    first, last, slots, mesh, goals, rims, scratch, own_slots, answer_work, jobs, job_count, job_next, is_active, grant, used, requests, is_open, status,
    piece, where, size, out, fill,
):
    """Let slots first..last - 1, an IntervalSlots, work through their requests; see `serve_slots`. A slot without room stops where it is."""
    for slot in range(first, last):
        used[slot] = spent = fill[slot] = 0
        while job_next[slot] < job_count[slot] and spent < grant[slot]:
            job = jobs[slot, job_next[slot]]
            if is_open[job] == 0:
                job_next[slot] += 1
                continue
            if is_active[slot] == 0:
                request = requests[job]
                is_shared = 1 if slot >= own_slots else 0
                set_prices(slots, slot, request)
                begin_optimal(
                    slots, slot, mesh, goals, scratch, request["goal"], request["width"], request["x"], request["y"], request["polygon"], is_shared
                )
                is_active[slot] = 1
            made = advance_optimal(slots, slot, mesh, goals, rims, scratch, grant[slot] - spent)
            used[slot] += made
            spent += made
            if slots.header[slot, STATUS] == PENDING:
                break
            count = optimal_size(slots, slot) if slots.header[slot, STATUS] == FOUND else 0
            if fill[slot] + count > out.shape[1]:
                break
            status[job] = slots.header[slot, STATUS]
            where[job], size[job], piece[job] = fill[slot], count, -1
            if status[job] == FOUND:
                _, piece[job] = copy_optimal(slots, slot, out[slot], fill[slot])
            fill[slot] += count
            is_active[slot] = 0
            job_next[slot] += 1
            spent += answer_work + count if answer_work > 0 else 0


def price_slots(slots: SearchSlots, mesh: NavMesh, costs: str, pull: float = 1.0) -> None:
    """Say what the ways of searches are to be short in, and how strongly they are aimed; see `MiddleSearches.price`."""
    slots.measure[:, PULL] = pull
    if not mesh.is_even:
        slots.header[:, COSTS] = TRAVEL_TIME if costs == "time" else SURFACE_LENGTH
        slots.measure[:, FASTEST] = float(mesh.polygon_pace.max())


class MiddleSearches:
    """A* over points of portals (`crowdsim.navigation.search.a_star`)."""

    share_at = 2

    def __init__(self, mesh: NavMesh, goals: GoalPieces, count: int) -> None:
        self._mesh, self._goals = mesh, goals
        self._points: PortalPoints = place_points(mesh)
        self._slots: SearchSlots = make_slots(count, len(self._points.edge))
        self._scratch: Scratch = make_scratch(count, mesh.polygon_count)

    @staticmethod
    def slot_bytes(mesh: NavMesh) -> int:
        """Return about how many bytes a slot takes on a mesh."""
        return 40 * len(place_points(mesh).edge)

    def price(self, costs: str, pull: float = 1.0) -> None:
        """Say what ways are to be short in, before the first of them: ``time`` or ``length``, along the surface; and how strongly searches are aimed.

        On even ground time and length are the same. Shared trees are not aimed: many starts are looked for.
        """
        price_slots(self._slots, self._mesh, costs, pull)

    def radius_step(self, radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return 0 for all radii (m): costs over points of portals do not know of them."""
        return np.zeros(len(radius), dtype=np.int64)

    def serve(self, team: Team, own: int, work: Work, answer_work: int, at_least: int) -> None:
        """Let every slot work through its requests."""
        slots = self._slots, self._mesh, self._goals, self._points, self._scratch
        team.run(serve_slots, len(work.jobs), *slots, own, answer_work, *work, at_least=at_least)

    def forget(self, slot: int) -> None:
        """Give the tree of a shared slot up."""
        self._slots.header[slot, IS_SEEDED] = 0

    def make_room(self) -> bool:
        """Return that no slot ran out of room: it has a place for every point."""
        return False

    def state(self, own: int, is_active: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """Return how far the searches are as named arrays."""
        return progress_of(self._slots, own, is_active)

    def restore(self, state: Arrays | Saved, own: int, desk: Desk) -> None:
        """Take back what `state()` gave."""
        costs, kept = self._slots.header[:, COSTS].copy(), self._slots.measure[:, [FASTEST, PULL]].copy()
        self._slots = make_slots(len(costs), len(self._points.edge))
        self._slots.header[:, COSTS], self._slots.measure[:, [FASTEST, PULL]] = costs, kept
        redo(self, self._slots, Saved.of(state), own, desk, len(self._goals.goal_start) - 1)


class OptimalSearches:
    """Shortest ways of all (`crowdsim.navigation.search.polyanya`)."""

    def __init__(self, mesh: NavMesh, goals: GoalPieces, count: int) -> None:
        self._mesh, self._goals = mesh, goals
        self.share_at = max(2, mesh.edge_count // EDGES_A_REQUEST) if TREE_CONES * mesh.edge_count < MOST_CONES else 1 << 40
        self._rims: Rims = find_rims(mesh, goals)
        self._scratch: Scratch = make_scratch(count, mesh.polygon_count)
        self._slots: IntervalSlots = make_interval_slots(count, mesh, max(256, mesh.edge_count))

    @staticmethod
    def slot_bytes(mesh: NavMesh) -> int:
        """Return about how many bytes a slot takes on a mesh once a tree has grown over the whole of it; searches of their own take a tenth."""
        return TREE_CONES * CONE_BYTES * mesh.edge_count + 64 * len(mesh.vertex) + 12 * mesh.polygon_count

    def radius_step(self, radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of whole steps in each radius (m): corners are rounded at the radius of the body that asked first."""
        return np.minimum(np.asarray(radius, dtype=np.float64) / RADIUS_STEP_M, 1023.0).astype(np.int64)

    def serve(self, team: Team, own: int, work: Work, answer_work: int, at_least: int) -> None:
        """Let every slot work through its requests."""
        slots = self._slots, self._mesh, self._goals, self._rims, self._scratch
        team.run(serve_interval_slots, len(work.jobs), *slots, own, answer_work, *work, at_least=at_least)

    def forget(self, slot: int) -> None:
        """Give the tree of a shared slot up."""
        self._slots.header[slot, IS_SEEDED] = 0

    def make_room(self) -> bool:
        """Double the room of slots that ran out of it; return whether there were any."""
        if not self._slots.header[:, IS_FULL].any():
            return False
        self._slots = with_room(self._slots)
        return True

    def state(self, own: int, is_active: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """Return how far the searches are as named arrays, and how much room they have."""
        return {
            **progress_of(self._slots, own, is_active), "room": np.diff(self._slots.first), "is_full": self._slots.header[:, IS_FULL].astype(np.uint8),
        }  # fmt: skip

    def restore(self, state: Arrays | Saved, own: int, desk: Desk) -> None:
        """Take back what `state()` gave."""
        saved, count, least = Saved.of(state), len(self._slots.header), max(256, self._mesh.edge_count)
        room = saved.take("room", "i8", (count,), low=least, high=max(least, 2 * MOST_CONES))
        saved.require(np.isin(room, least << np.arange(32)), "room", f"rooms are {least} times a power of two")
        saved.require(int(room.sum()) * CONE_BYTES <= max(MOST_ROOM_BYTES, count * least * CONE_BYTES), "room", "is more than there is memory for")
        is_full = saved.take("is_full", "u1", (count,), high=1)
        self._slots = with_rooms(make_interval_slots(count, self._mesh, 1, self._slots), room)
        redo(self, self._slots, saved, own, desk, len(self._goals.goal_start) - 1)
        self._slots.header[:, IS_FULL] = is_full


def progress_of(slots: SearchSlots | IntervalSlots, own: int, is_active: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return what leads searches to where they are: the goals and widths of trees, expansions that were made; see `redo`."""
    made = slots.header[:, EXPANSIONS]
    is_tree = (np.arange(len(made)) >= own) & (slots.header[:, IS_SEEDED] == 1) & (made > 0)
    return {
        "tree_goal": np.where(is_tree, slots.header[:, GOAL], NO_TREE).astype(np.int32), "tree_width": np.where(is_tree, slots.measure[:, WIDTH], 0.0),
        "made": np.where(is_tree | is_active, made, 0),
    }  # fmt: skip


def redo(searches: Searches, slots: SearchSlots | IntervalSlots, saved: Saved, own: int, desk: Desk, goals: int) -> None:
    """Let searches do what they had done when they were saved: begun with the same, they are where they were after as many expansions.

    Nothing that a search keeps is believed this way, and a checkpoint need not hold it. What a shared tree knows does not depend on the starts that it was
    looked through for, nor on when: it is grown for the request in hand, and on for nobody, if it knew more when that was begun.

    Parameters
    ----------
    searches : Searches
    slots : SearchSlots or IntervalSlots
        Theirs, idle.
    saved : Saved
    own : int
    desk : Desk
        As it was.
    goals : int
        How many there are.
    """
    count, active, number = len(slots.header), desk.is_active, np.arange(len(slots.header))
    goal, width = saved.take("tree_goal", "i4", (count,), low=NO_TREE, high=goals - 1), saved.take("tree_width", "f8", (count,), low=0.0, high=2.0 * WIDEST_M)
    made = saved.take("made", "i8", (count,), low=0, high=MOST)
    is_tree = goal != NO_TREE
    saved.require(~is_tree | ((number >= own) & (desk.keys >> GOAL_BITS == goal)), "tree_goal", "the slot keeps no tree of this goal")
    saved.require(is_tree | active | (made == 0), "made", "the slot has nothing to look for")
    requests = desk.in_hand.copy()
    saved.require(~(is_tree & active) | ((requests["goal"] == goal) & (requests["width"] == width)), "tree_width", "the request in hand is for another tree")
    alone = is_tree & ~active
    requests[alone] = np.zeros(1, dtype=requests.dtype)
    requests["goal"][alone], requests["width"][alone], requests["polygon"][alone] = goal[alone], width[alone], NO_START
    for place in range(MOST_PRICED):
        requests[f"priced_{place}"][alone] = -1

    def serve(which: NDArray[np.bool_], grant: NDArray[np.int64], begins: bool) -> NDArray[np.int64]:
        """Let some slots begin, or go on, with their requests; return the expansions made. Ways that are found stay there: there is no room for them."""
        some, none, used = which.astype(np.int64), np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        work = Work(
            number.reshape(-1, 1).copy(), some, none, np.full(count, int(not begins)), np.where(which, grant, 0), used, requests,
            np.ones(count, dtype=np.uint8), np.zeros(count, dtype=np.uint8), np.zeros(count, dtype=np.int32), none.copy(), none.copy(),
            np.zeros((count, 0), dtype=np.int32), none.copy(),
        )  # fmt: skip
        team = Team(0 if int(grant.sum()) >= LONG_WORK else 1)
        try:
            searches.serve(team, own, work, 0, 1)
        finally:
            team.close()
        return used

    left = made - serve(is_tree | active, np.maximum(made, 1), begins=True)
    more = is_tree & (left > 0)
    if more.any():
        slots.header[more, STATUS], slots.header[more, START_POLYGON], slots.header[more, BEST_NODE] = PENDING, NO_START, -1
        slots.measure[more, BEST_TOTAL] = np.inf
        left -= serve(more, left, begins=False)
        left -= serve(more & active, np.ones(count, dtype=np.int64), begins=True)
    saved.require(left == 0, "made", "the search comes to an end sooner, or goes on")


SEARCHES: dict[str, type[Searches]] = {"mesh": MiddleSearches, "optimal": OptimalSearches}
