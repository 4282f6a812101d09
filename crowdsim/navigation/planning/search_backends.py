"""The kinds of searches that a planner can have in its slots:
how they are kept, served, saved, and given more room.

A search of any kind answers with a corridor on the mesh. To add one, derive a class from `Searches` and name
it in SEARCHES.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.goals.rims import Rims, find_rims, with_rims
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.mesh.slopes import SURFACE_LENGTH, TRAVEL_TIME
from crowdsim.navigation.planning.request_queue import RequestQueue
from crowdsim.navigation.planning.serve import serve_loop
from crowdsim.navigation.planning.work import Work
from crowdsim.navigation.search.a_star import (
    COSTS,
    FASTEST,
    SearchSlots,
    advance_search,
    begin_search,
    copy_corridor,
    corridor_size,
    make_slots,
)
from crowdsim.navigation.search.goal_entries import Scratch, make_scratch
from crowdsim.navigation.search.landmarks import Landmarks
from crowdsim.navigation.search.polyanya import advance_polyanya, begin_polyanya
from crowdsim.navigation.search.polyanya_floods import keep_waiting, note_lengths
from crowdsim.navigation.search.polyanya_slots import (
    INTERVAL_BYTES,
    INTERVAL_COUNT,
    IS_FULL,
    MOST_INTERVALS,
    ROOM,
    IntervalSlots,
    copy_polyanya,
    make_interval_slots,
    polyanya_size,
    with_more_room,
)
from crowdsim.navigation.search.portal_points import PortalPoints, place_points, points_beyond
from crowdsim.navigation.search.portal_prices import set_prices
from crowdsim.navigation.search.sharing import NO_TREE
from crowdsim.navigation.search.slot_fields import (
    BEST_NODE,
    BEST_TOTAL,
    EXPANSIONS,
    FOUND,
    GENERATION,
    GOAL,
    HEURISTIC_WEIGHT,
    IS_SEEDED,
    MOST_PRICED,
    OUT_OF_NODES,
    PENDING,
    START_POLYGON,
    STATUS,
    WIDTH,
)
from crowdsim.saved import MOST, WIDEST_M, Saved

FIELDS = [
    ("goal", "i4"),
    ("polygon", "i4"),
    ("width", "f8"),
    ("price", "f8"),
    ("priced_0", "i4"),
    ("priced_1", "i4"),
    ("priced_2", "i4"),
    ("priced_3", "i4"),
]
# Of requests, beside those that every one has. Of those that share a tree, `width` is that of the agent with
# the first request. `price` (m) is what each of the portals `priced_...` costs more; -1 is none, and those
# that are there come first.

# Agents whose radii are nearer than this may share an optimal tree: the path of one is longer than its
# shortest by less than 5 mm in 60 crowds (by 14 mm with steps of 1/32 m). Smaller makes more trees where
# radii are drawn from a distribution.
RADIUS_STEP_M = 1.0 / 128.0
# Intervals of a tree that has grown over a whole mesh, for each half-edge: 16 measured for agents, 40 for
# points among pillars.
TREE_CONES = 32
MOST_ROOM_BYTES = 4 << 30  # Of saved searches; what they take is far below.
LONG_WORK = 100_000  # Expansions that are worth waking threads for where a run is taken up: some 20 ms.
# Where the goal is in the key of a tree, above the step of the radius and what agents can pass.
GOAL_BITS = 42
NO_START = -1  # In place of the polygon of a start: trees are grown for no agent in particular.
# Optimal searches are shared from one request for so many half-edges on: those before, each on its own, then
# cost about what a tree over the whole mesh costs, 15 expansions a half-edge against some 50 a search. Larger
# shares sooner, which pays less where requests are few.
EDGES_A_REQUEST = 4
# Requests from which on they are shared on any mesh. In a large building a search costs a fifteenth of a
# tree, whatever its size; in a hall of pillars a four-hundredth.
MOST_ALONE = 256
# The same of requests that come together: their tree need not be kept for others. With landmarks a tree costs
# as much as 16 searches (rooms), 32 (game maps), 70 (the building) or 150 (1,600 pillars). Larger lets crowds
# search one by one for two to six times as long, smaller grows trees among pillars that do not pay.
MOST_TOGETHER = 64


class Searches(ABC):
    """Searches of one kind, one in each slot.

    Attributes
    ----------
    mesh : NavMesh
    share_at, share_together : int
        Requests for one goal by agents that can share a tree from which on one is made: in all, and at once.
    """

    share_at: int
    share_together: int
    _slots: Any

    def __init__(self, mesh: NavMesh, goals: GoalPieces, count: int) -> None:
        self.mesh, self._goals = mesh, goals
        self._scratch: Scratch = make_scratch(count, mesh.polygon_count)

    @staticmethod
    @abstractmethod
    def slot_bytes(mesh: NavMesh) -> int:
        """Return about how many bytes a slot takes on a mesh."""

    @abstractmethod
    def radius_step(self, radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return a number from 0 to 1,023 for each radius (m):
        agents with the same number, that pass the same gaps, may share a tree.
        """

    @abstractmethod
    def serve(self, team: Team, own: int, work: Work) -> None:
        """Let the slots whose turn it is work through their requests, on the threads of a team;
        those from `own` on keep their trees.
        """

    def take_goals(self, goals: GoalPieces, changed: NDArray[np.int64]) -> None:
        """Search for other goals from now on; see `Planner.take_goals`."""
        self._goals = goals

    def forget(self, slot: int) -> None:
        """Give the tree of a shared slot up."""
        self._slots.header[slot, IS_SEEDED] = 0

    def make_room(self) -> bool:
        """Give more room to slots that ran out of it; return whether there were any."""
        return False

    def look_for_no_start(self, which: NDArray[np.bool_]) -> None:
        """Let the trees of some slots, (slots,), grow on for no agent in particular."""
        header, measure = self._slots.header, self._slots.measure
        header[which, STATUS], header[which, START_POLYGON], header[which, BEST_NODE] = PENDING, NO_START, -1
        measure[which, BEST_TOTAL] = np.inf

    def state(self, own: int, is_active: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """Return what leads the searches to where they are as named arrays:
        the goals and widths of trees, expansions that were made.

        Slots from `own` on keep trees, those that are active, (slots,), are in the middle of a request.
        """
        slots = self._slots
        made = slots.header[:, EXPANSIONS]
        is_tree = (np.arange(len(made)) >= own) & (slots.header[:, IS_SEEDED] == 1) & (made > 0)
        return {
            "tree_goal": np.where(is_tree, slots.header[:, GOAL], NO_TREE).astype(np.int32),
            "tree_width": np.where(is_tree, slots.measure[:, WIDTH], 0.0),
            "made": np.where(is_tree | is_active, made, 0),
        }

    def restore(self, saved: Saved, own: int, queue: RequestQueue) -> None:
        """Let idle searches do what they had done when they were saved:
        begun with the same, they are where they were after as many expansions.

        Nothing that a search keeps is taken from a checkpoint so, and none need hold it. What a shared tree
        knows does not depend on the starts that it was looked through for, nor on when: it is grown for the
        request in hand, and on for no start, if it knew more when that was begun.

        Parameters
        ----------
        saved : Saved
        own : int
        queue : RequestQueue
            As it was.
        """
        slots, goals = self._slots, len(self._goals.goal_start) - 1
        count, active, number = len(slots.header), queue.is_active, np.arange(len(slots.header))
        goal = saved.take("tree_goal", "i4", (count,), low=NO_TREE, high=goals - 1)
        width = saved.take("tree_width", "f8", (count,), low=0.0, high=2.0 * WIDEST_M)
        made = saved.take("made", "i8", (count,), low=0, high=MOST)
        is_tree = goal != NO_TREE
        saved.require(
            ~is_tree | ((number >= own) & (queue.keys >> GOAL_BITS == goal)),
            "tree_goal",
            "the slot keeps no tree of this goal",
        )
        saved.require(is_tree | active | (made == 0), "made", "the slot has nothing to look for")
        requests = queue.in_hand.copy()
        is_same = (requests["goal"] == goal) & (requests["width"] == width)
        saved.require(~(is_tree & active) | is_same, "tree_width", "the request in hand is for another tree")
        alone = is_tree & ~active
        requests[alone] = np.zeros(1, dtype=requests.dtype)
        requests["goal"][alone], requests["width"][alone], requests["polygon"][alone] = (
            goal[alone],
            width[alone],
            NO_START,
        )
        for place in range(MOST_PRICED):
            requests[f"priced_{place}"][alone] = -1

        def serve_again(
            which: NDArray[np.bool_], grant: NDArray[np.int64], begins: bool
        ) -> NDArray[np.int64]:
            """Let some slots begin, or go on, with their requests; return the expansions made.
            There is no room for the paths: they stay in the slots.
            """
            work = queue.work_again(which, grant, begins=begins, requests=requests)
            team = Team(0 if int(grant.sum()) >= LONG_WORK else 1)
            try:
                self.serve(team, own, work)
            finally:
                team.close()
            return work.used

        left = made - serve_again(is_tree | active, np.maximum(made, 1), begins=True)
        more = is_tree & (left > 0)
        if more.any():
            self.look_for_no_start(more)
            left -= serve_again(more, left, begins=False)
            left -= serve_again(more & active, np.ones(count, dtype=np.int64), begins=True)
        saved.require(left == 0, "made", "the search comes to an end sooner, or goes on")


class MiddleSearch(NamedTuple):
    """What searches over points of portals work on; slots from `own` on are shared."""

    slots: SearchSlots
    mesh: NavMesh
    goals: GoalPieces
    points: PortalPoints
    scratch: Scratch
    own: int


@inlined_kernel
def _begin_middle(search, work, slot, job):
    request = work.requests[job]
    set_prices(search.slots, slot, request)
    begin_search(
        search.slots, slot, search.mesh, search.goals, search.points, search.scratch, request["goal"],
        request["width"], request["x"], request["y"], request["polygon"], 1 if slot >= search.own else 0,
    )  # fmt: skip
    return 0


@inlined_kernel
def _advance_middle(search, slot, grant):
    return advance_search(search.slots, slot, search.mesh, search.goals, search.points, search.scratch, grant)


@inlined_kernel
def _finish_middle(search, work, slot, job):
    status = search.slots.header[slot, STATUS]
    count = corridor_size(search.slots, slot) if status == FOUND else 0
    if status == PENDING or work.fill[slot] + count > work.out.shape[1]:
        return -1
    work.status[job], work.piece[job] = status, -1
    if status == FOUND:
        _, work.piece[job] = copy_corridor(
            search.slots, slot, search.mesh, search.goals, search.points, work.out[slot], work.fill[slot]
        )
    return count


serve_slots = serve_loop("serve_slots", _begin_middle, _advance_middle, _finish_middle)


class IntervalSearch(NamedTuple):
    """What searches for the shortest paths work on; slots from `own` on are shared."""

    slots: IntervalSlots
    mesh: NavMesh
    goals: GoalPieces
    rims: Rims
    scratch: Scratch
    own: int


@inlined_kernel
def _begin_interval(search, work, slot, job):
    request = work.requests[job]
    set_prices(search.slots, slot, request)
    begin_polyanya(
        search.slots, slot, search.mesh, search.goals, search.scratch, request["goal"], request["width"],
        request["x"], request["y"], request["polygon"], 1 if slot >= search.own else 0,
    )  # fmt: skip
    return 0


@inlined_kernel
def _advance_interval(search, slot, grant):
    return advance_polyanya(search.slots, slot, search.mesh, search.goals, search.rims, search.scratch, grant)


@inlined_kernel
def _finish_interval(search, work, slot, job):
    status = search.slots.header[slot, STATUS]
    count = polyanya_size(search.slots, slot) if status == FOUND else 0
    if status == PENDING or work.fill[slot] + count > work.out.shape[1]:
        return -1
    work.status[job], work.piece[job] = status, -1
    if status == FOUND:
        _, work.piece[job] = copy_polyanya(search.slots, slot, work.out[slot], work.fill[slot])
    return count


# A slot without room stops where it is.
serve_interval_slots = serve_loop(
    "serve_interval_slots", _begin_interval, _advance_interval, _finish_interval
)


def price_slots(slots: SearchSlots, mesh: NavMesh, costs: str, pull: float = 1.0) -> None:
    """Say what the paths of searches are to be short in, ``time`` or ``length`` along the surface,
    the same on even ground, and the heuristic weight.
    """
    slots.measure[:, HEURISTIC_WEIGHT] = pull
    if not mesh.is_even:
        slots.header[:, COSTS] = TRAVEL_TIME if costs == "time" else SURFACE_LENGTH
        slots.measure[:, FASTEST] = float(mesh.polygon_pace.max())


class MiddleSearches(Searches):
    """A* over points of portals (`crowdsim.navigation.search.a_star`).

    Attributes
    ----------
    points : PortalPoints
    """

    share_at = share_together = 2

    def __init__(
        self, mesh: NavMesh, goals: GoalPieces, count: int, points: PortalPoints | None = None
    ) -> None:
        super().__init__(mesh, goals, count)
        self.points: PortalPoints = points or place_points(mesh)
        self._slots: SearchSlots = make_slots(count, len(self.points.edge))

    @staticmethod
    def slot_bytes(mesh: NavMesh) -> int:
        """Return about how many bytes a slot takes on a mesh."""
        return 40 * len(place_points(mesh).edge)

    def price(self, costs: str, pull: float = 1.0) -> None:
        """Say what paths are to be short in, before the first of them; see `price_slots`.
        Shared trees take no weight: many starts are looked for.
        """
        price_slots(self._slots, self.mesh, costs, pull)

    def radius_step(self, radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return 0 for all radii (m): costs over points of portals do not know of them."""
        return np.zeros(len(radius), dtype=np.int64)

    def serve(self, team: Team, own: int, work: Work) -> None:
        """Let every slot work through its requests."""
        search = MiddleSearch(self._slots, self.mesh, self._goals, self.points, self._scratch, own)
        team.run(serve_slots, len(work.turn), search, work, at_least=1)

    def take_landmarks(self, landmarks: Landmarks) -> None:
        """Take landmarks of the points, before the first search."""
        span = np.zeros((len(self._slots.header), 2 * int(landmarks.each[0])), dtype=np.float32)
        self._slots = self._slots._replace(span=span, landmarks=landmarks)

    @property
    def is_symmetric(self) -> bool:
        """Whether paths cost the same in both directions."""
        return bool(
            np.all(self._slots.header[:, COSTS] != TRAVEL_TIME)
            or np.array_equal(self.mesh.polygon_pace[:, 0], self.mesh.polygon_pace[:, 1])
        )

    def costs(self, count: int) -> NDArray[np.float64]:
        """Return what paths from all points cost (m) by the trees of the first slots, (count, points), that
        have grown as far as they can; inf where none leads.

        A path from a point leads on over its portal. Where paths cost the same in both directions it is the
        cheaper one from either side of the portal: between points of one polygon these differ by no more than
        a step from one to the other costs.
        """
        slots, points = self._slots, self.points
        is_reached = slots.stamp[:count] == slots.header[:count, [GENERATION]]
        found = np.where(is_reached, slots.cost[:count], np.inf)
        if self.is_symmetric:
            found = np.minimum(found, found[:, points_beyond(self.mesh, points)])
        return found

    def restore(self, saved: Saved, own: int, queue: RequestQueue) -> None:
        """Take back what `state()` gave."""
        before = self._slots
        self._slots = make_slots(len(before.header), len(self.points.edge))
        self.take_landmarks(before.landmarks)
        self._slots.header[:, COSTS] = before.header[:, COSTS]
        self._slots.measure[:, [FASTEST, HEURISTIC_WEIGHT]] = before.measure[:, [FASTEST, HEURISTIC_WEIGHT]]
        super().restore(saved, own, queue)


class OptimalSearches(Searches):
    """Shortest paths of all (`crowdsim.navigation.search.polyanya`)."""

    def __init__(
        self, mesh: NavMesh, goals: GoalPieces, count: int, landmarks: Landmarks | None = None
    ) -> None:
        super().__init__(mesh, goals, count)
        self._landmarks = landmarks
        self.share_at, self.share_together = (
            max(2, min(most, mesh.edge_count // EDGES_A_REQUEST))
            if TREE_CONES * mesh.edge_count < MOST_INTERVALS
            else 1 << 40
            for most in (MOST_ALONE, MOST_TOGETHER)
        )
        self._rims: Rims = find_rims(mesh, goals)
        self._least = max(256, mesh.edge_count)  # room of a slot
        self._slots: IntervalSlots = self._slots_for(count, self._least)

    def take_goals(self, goals: GoalPieces, changed: NDArray[np.int64]) -> None:
        """Search for other goals from now on; see `Planner.take_goals`."""
        super().take_goals(goals, changed)
        self._rims = with_rims(self._rims, self.mesh, goals, changed)

    def _slots_for(
        self, count: int, room: int | NDArray[np.int64], like: IntervalSlots | None = None
    ) -> IntervalSlots:
        """Return idle slots with so much room, and as many rows as a tree over the whole mesh needs."""
        reserve = min(TREE_CONES * self.mesh.edge_count, MOST_INTERVALS)
        return make_interval_slots(count, self.mesh, room, reserve, like, self._landmarks)

    @staticmethod
    def slot_bytes(mesh: NavMesh) -> int:
        """Return about how many bytes a slot takes on a mesh once a tree has grown over the whole of it;
        searches of their own take a tenth.
        """
        return TREE_CONES * INTERVAL_BYTES * mesh.edge_count + 64 * len(mesh.vertex) + 20 * mesh.polygon_count

    def radius_step(self, radius: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of whole steps in each radius (m):
        corners are rounded at the radius of the agent that asked first.
        """
        return np.minimum(np.asarray(radius, dtype=np.float64) / RADIUS_STEP_M, 1023.0).astype(np.int64)

    def serve(self, team: Team, own: int, work: Work) -> None:
        """Let every slot work through its requests."""
        search = IntervalSearch(self._slots, self.mesh, self._goals, self._rims, self._scratch, own)
        team.run(serve_interval_slots, len(work.turn), search, work, at_least=1)

    def note_lengths(self, team: Team, noted: NDArray[np.int64], length: NDArray[np.float64]) -> None:
        """Note how long paths from all corners are by what the searches of the first slots have found since
        the last time; see `polyanya_floods.note_lengths`.
        """
        team.run(note_lengths, len(noted), self._slots, self.mesh, noted, length, at_least=1)

    def end_floods(self, team: Team, noted: NDArray[np.int64], length: NDArray[np.float64]) -> None:
        """Note the last lengths of floods that have grown as far as they can; one that had no room for that
        says nothing: inf. Parameters as in `note_lengths`.
        """
        self.note_lengths(team, noted, length)
        length[self._slots.header[: len(noted), STATUS] == OUT_OF_NODES] = np.inf

    def make_room_in_floods(self, team: Team, noted: NDArray[np.int64], length: NDArray[np.float64]) -> bool:
        """Let floods in the first slots forget what they have carried on, if one of them is full; return
        whether one was. Parameters as in `note_lengths`.
        """
        full = np.flatnonzero(self._slots.header[: len(noted), IS_FULL])
        if not len(full):
            return False
        self.note_lengths(team, noted, length)
        for slot in full.tolist():
            keep_waiting(self._slots, slot)
            noted[slot] = self._slots.header[slot, INTERVAL_COUNT]
            # with less room than for as many again they would be full soon, or at once
            needed = 2 * (noted[slot] + int(self._slots.most_new[0]))
            self._slots.header[slot, IS_FULL] = needed > self._slots.header[slot, ROOM]
        self.make_room()
        return True

    def make_room(self) -> bool:
        """Double the room of slots that ran out of it; return whether there were any."""
        if not self._slots.header[:, IS_FULL].any():
            return False
        self._slots = with_more_room(self._slots)
        return True

    def state(self, own: int, is_active: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """Return how far the searches are as named arrays, and how much room they have."""
        header = self._slots.header
        return {
            **super().state(own, is_active),
            "room": header[:, ROOM].copy(),
            "is_full": header[:, IS_FULL].astype(np.uint8),
        }

    def restore(self, saved: Saved, own: int, queue: RequestQueue) -> None:
        """Take back what `state()` gave."""
        count, least = len(self._slots.header), self._least
        room = saved.take("room", "i8", (count,), low=least, high=max(least, 2 * MOST_INTERVALS))
        saved.require(
            np.isin(room, least << np.arange(32)), "room", f"rooms are {least} times a power of two"
        )
        saved.require(
            int(room.sum()) * INTERVAL_BYTES <= max(MOST_ROOM_BYTES, count * least * INTERVAL_BYTES),
            "room",
            "is more than there is memory for",
        )
        is_full = saved.take("is_full", "u1", (count,), high=1)
        self._slots = self._slots_for(count, room, self._slots)
        super().restore(saved, own, queue)
        self._slots.header[:, IS_FULL] = is_full


SEARCHES: dict[str, type[Searches]] = {"mesh": MiddleSearches, "optimal": OptimalSearches}
