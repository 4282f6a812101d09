"""Paths round stationary agents, for any planner that finds corridors:
the first two steps of the cascade of [Pathfinding undated], section 5, on a mesh.

The answers of that planner know of walls alone. Where agents stand near the line to the goal, it is tested
whether they leave room through that corridor. If they do, the answer stays; if not, a search that knows of
them looks for the cheapest corridor that is left. Where there is none, the answer is the first one after all,
with the status FOUND_THROUGH_AGENTS. Which agents stand is noted when a request is made, so that its answer
does not depend on when it is found.

That is for corridors. On the line between two corners, which has no portal, `crowdsim.systems.go_round` leads
round them.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.goals.targets import nearest_pieces, targets_of
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planning.mesh_planner import (
    FIELDS,
    OWN_BATCH,
    OWN_SLOTS,
    SLOT_MEMORY_BYTES,
    CostParameters,
    bounds_on,
    note_prices,
)
from crowdsim.navigation.planning.protocol import ANSWER_WORK, Answers, Planner, starts_of
from crowdsim.navigation.planning.request_queue import RequestQueue
from crowdsim.navigation.planning.search_backends import MiddleSearches, price_slots
from crowdsim.navigation.planning.serve import serve_loop
from crowdsim.navigation.planning.slot_planner import SlotPlanner, bounds_of, in_order
from crowdsim.navigation.planning.work import Ended, Work
from crowdsim.navigation.search.a_star import chain_size
from crowdsim.navigation.search.portal_prices import set_prices
from crowdsim.navigation.search.round_stationary import StationaryParameters
from crowdsim.navigation.search.slot_fields import EXPANSIONS, FOUND, FOUND_THROUGH_AGENTS, PENDING, STATUS
from crowdsim.navigation.stationary.barriers import draw_barriers
from crowdsim.navigation.stationary.near import list_stationary
from crowdsim.navigation.stationary.passage import is_corridor_open
from crowdsim.navigation.stationary.search import advance_round, begin_round, copy_round
from crowdsim.navigation.stationary.slots import (
    ANSWER,
    IS_FULL,
    LEAST_ROOM,
    LOOKS,
    NOT_BEGUN,
    STAYS,
    StationarySlots,
    make_stationary_slots,
)
from crowdsim.saved import FARTHEST_M, MOST, WIDEST_M, Arrays, Saved, fields_of

MOST_ROOM = 1 << 20  # Of saved slots; what they take is far below.
# What a stationary agent near the line counts as, in expansions, where answers count: drawing its barriers
# takes some 0.7 us.
STATIONARY_WORK = 4


class RoundSearch(NamedTuple):
    """What searches round agents that stand work on.

    The request with the key k has stationary agents in rows ``stationary_start[k]`` to
    ``stationary_start[k + 1]`` - 1 of `stationary`, and the corridor that was found without them in
    ``corridor[corridor_start[k]:corridor_start[k + 1]]``, to the piece ``piece[k]``. `share` is that of their
    radius that is shut.
    """

    slots: StationarySlots
    mesh: NavMesh
    goals: GoalPieces
    share: float
    stationary: NDArray[np.float64]
    stationary_start: NDArray[np.int64]
    corridor: NDArray[np.int32]
    corridor_start: NDArray[np.int64]
    piece: NDArray[np.int32]


@inlined_kernel
def _begin(search, work, slot, job):
    request, slots, mesh = work.requests[job], search.slots, search.mesh
    key = request["key"]
    first, last, at = (
        search.stationary_start[key],
        search.stationary_start[key + 1],
        search.corridor_start[key],
    )
    slots.marks[slot, ANSWER] = NOT_BEGUN
    if not draw_barriers(
        slots, slot, mesh, search.stationary, first, last, 0.5 * request["width"], search.share
    ):
        return -1
    count = search.corridor_start[key + 1] - at
    if is_corridor_open(
        slots,
        slot,
        mesh,
        search.goals,
        search.corridor,
        at,
        count,
        search.piece[key],
        request["x"],
        request["y"],
        request["polygon"],
    ):
        slots.marks[slot, ANSWER], slots.search.header[slot, STATUS] = STAYS, FOUND
    else:
        slots.marks[slot, ANSWER] = LOOKS
        set_prices(slots.search, slot, request)
        begin_round(
            slots,
            slot,
            mesh,
            search.goals,
            request["goal"],
            request["width"],
            request["x"],
            request["y"],
            request["polygon"],
        )
    return STATIONARY_WORK * (last - first) if work.answer_work > 0 else 0


@inlined_kernel
def _advance(search, slot, grant):
    return (
        advance_round(search.slots, slot, search.mesh, grant)
        if search.slots.marks[slot, ANSWER] == LOOKS
        else 0
    )


@inlined_kernel
def _finish(search, work, slot, job):
    slots, key = search.slots, work.requests[job]["key"]
    answer, status, at = (
        slots.marks[slot, ANSWER],
        slots.search.header[slot, STATUS],
        search.corridor_start[key],
    )
    is_new, count = answer == LOOKS and status == FOUND, search.corridor_start[key + 1] - at
    portals = chain_size(slots.search, slot) if is_new else count
    if (answer == LOOKS and status == PENDING) or work.fill[slot] + portals > work.out.shape[1]:
        return -1
    work.status[job] = FOUND if is_new or answer == STAYS else FOUND_THROUGH_AGENTS
    work.piece[job] = search.piece[key]
    if is_new:
        work.piece[job] = copy_round(slots, slot, search.mesh, work.out[slot], work.fill[slot])
    else:
        for place in range(count):
            work.out[slot, work.fill[slot] + place] = search.corridor[at + place]
    return portals


serve_round = serve_loop("serve_round", _begin, _advance, _finish)


class StationaryPlanner(SlotPlanner):
    """Lets another planner's paths lead round stationary agents;
    a `crowdsim.navigation.planning.protocol.Planner`.

    Requests go to the other planner first. Its answers that stationary agents are near to, and no others,
    wait in the queue.

    Parameters
    ----------
    planner : Planner
        Finds corridors.
    mesh : NavMesh
    goals : GoalPieces
    parameters : StationaryParameters, optional
    costs : str, default "time"
        What paths round are to be short in, see `crowdsim.navigation.planning.mesh_planner.CostParameters`.
    """

    heeds_standing = True

    def __init__(
        self,
        planner: Planner,
        mesh: NavMesh,
        goals: GoalPieces,
        parameters: StationaryParameters | None = None,
        costs: str = CostParameters.costs,
    ) -> None:
        self.planner, self.mesh = planner, mesh
        self.parameters = parameters or StationaryParameters(round_stationary=True)
        self.prices, self.settles = planner.prices, planner.settles
        self._costs = costs
        count = int(min(OWN_SLOTS, max(2, SLOT_MEMORY_BYTES // max(1, 4 * MiddleSearches.slot_bytes(mesh)))))
        out = lazy_zeros((count, max(1 << 14, mesh.edge_count)), np.int32)
        super().__init__(RequestQueue(FIELDS, count, 0, OWN_BATCH, OWN_BATCH, out), ANSWER_WORK, 1)
        self._slots = self._make_slots(LEAST_ROOM)
        self._aim_at(goals)
        # by entity: the request, and the stationary agents near it
        self._requests: dict[int, tuple[Any, NDArray[np.float64]]] = {}
        # by entity: corridor without stationary agents, and piece of the goal
        self._found: dict[int, tuple[NDArray[np.int32], int]] = {}
        self._stationary, self._disc = np.zeros(0, dtype=np.int64), np.zeros((0, 4))
        self._lay_out([])

    def _aim_at(self, goals: GoalPieces) -> None:
        self.goals, self._target = goals, targets_of(goals)
        self._part_of_piece = self.mesh.polygon_part[goals.piece_polygon]

    def take_goals(self, goals: GoalPieces, changed: NDArray[np.int64]) -> None:
        """Search for other goals from now on; see `Planner.take_goals`."""
        self.planner.take_goals(goals, changed)
        self._aim_at(goals)

    def _make_slots(self, room: int) -> StationarySlots:
        slots = make_stationary_slots(len(self.queue.keys), self.mesh.edge_count, room)
        price_slots(slots.search, self.mesh, self._costs)
        return slots

    @property
    def waiting(self) -> int:
        """Requests that have not been answered."""
        return self.planner.waiting + self.queue.waiting

    @property
    def starts(self) -> NDArray[Any]:
        """The requests that have not been answered; those that the planner or the queue has, twice."""
        own = np.array([request for request, _ in self._requests.values()], dtype=self.queue.record)
        return np.concatenate([starts_of(own), self.planner.starts, starts_of(self.queue.requests)])

    def oldest_tick(self, default: int) -> int:
        """Return the tick at which the oldest unanswered request was made; `default` if there is none."""
        oldest = [part.oldest_tick(default) for part in (self.planner, self.queue) if part.waiting]
        return min(oldest, default=default)

    def stand(
        self,
        entity: NDArray[np.int64],
        position: NDArray[np.float64],
        radius: NDArray[np.float64],
        polygon: NDArray[np.int64],
    ) -> None:
        """Say which agents are stationary, for the requests that are made from now on.

        Parameters
        ----------
        entity : (k,) int64
        position : (k, 2) float64, m
        radius : (k,) float64, m
            Collision radius.
        polygon : (k,) int64
            Where they stand.
        """
        disc = np.column_stack([position, radius, polygon]).astype(np.float64).reshape(-1, 4)
        by_x = np.lexsort((entity, disc[:, 1], disc[:, 0]))
        self._stationary, self._disc = np.asarray(entity, dtype=np.int64)[by_x], disc[by_x]

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
        """Ask for paths round the agents that stand now; see `MeshPlanner.submit`."""
        fresh = self._fresh(tick, entity, position, goal=goal, polygon=polygon, width=2.0 * radius).copy()
        more = (priced, price) if self.prices and priced is not None else ()
        settles = {"settled": True} if settled else {}
        self.planner.submit(tick, entity, position, polygon, goal, radius, *more, **settles)
        note_prices(fresh, priced if self.prices else None, price)
        start, rows = self._near(fresh)
        for i, each in enumerate(fresh["entity"].tolist()):
            self._requests[each] = fresh[i], self._disc[rows[start[i] : start[i + 1]]]

    def _near(self, fresh: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the stationary agents near the straight line from each request to the nearest piece of its
        goal; see `list_stationary`.
        """
        position = np.column_stack([fresh["x"], fresh["y"]])
        part = self.mesh.polygon_part[fresh["polygon"]]
        piece = nearest_pieces(self.goals, self._target, fresh["goal"], position, part, self._part_of_piece)
        target = (
            np.where((piece >= 0)[:, None], self._target[piece], position) if len(self._target) else position
        )
        return list_stationary(
            fresh["entity"].copy(),
            np.hstack([position, target]),
            self.parameters.obstacle_reach,
            self._stationary,
            np.ascontiguousarray(self._disc[:, :2]),
        )

    def settle(self, entity: NDArray[np.int64], goal: NDArray[np.int32], radius: NDArray[np.float64]) -> None:
        """Take notice that agents are going to ask for paths; see `MeshPlanner.settle`."""
        inner: Any = self.planner
        inner.settle(entity, goal, radius)

    def expect(self, count: int) -> None:
        """Make room for so many requests, which come in parts."""
        self.planner.expect(count)

    def drop(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that left or changed their mind."""
        self.planner.drop(entity)
        super().drop(entity)
        for each in np.asarray(entity).tolist() if self._requests else ():
            self._requests.pop(each, None)
            self._found.pop(each, None)

    has_rounds = False

    def advance(self, budget: int, team: Team, *, counts_answers: bool = True) -> tuple[Answers, int]:
        """Do so much work, expansions, and what answers count as, if they count; see `Planner.advance`."""
        self.spent = made = 0
        finished: list[Ended] = []
        while self.waiting and self.spent < budget:
            if self.queue.waiting:
                used, spent, ended = self._round(
                    budget - self.spent, team, *((ANSWER_WORK, 1) if counts_answers else (0, 0))
                )
                has_moved = ended is not None or self._make_room()
            else:
                used, has_moved, ended = self._from_planner(budget - self.spent, team, counts_answers)
                spent = self.planner.spent
            made += used
            self.spent += spent
            if ended is not None and len(ended.order):
                finished.append(ended)
                for each in ended.entity.tolist():
                    del self._requests[each]
                    self._found.pop(each, None)
            elif spent == 0 and not has_moved:
                break
        return self._answers(in_order(finished, self.queue)), made

    def _from_planner(self, budget: int, team: Team, counts_answers: bool) -> tuple[int, bool, Ended]:
        """Let the planner search, and queue what stationary agents are near to.

        Returns
        -------
        used : int
        has_moved : bool
            Whether any search ended.
        ended : Ended
            Those that no stationary agent is near to.
        """
        answers, used = self.planner.advance(budget, team, counts_answers=counts_answers)
        records = [self._requests[each] for each in answers.entity.tolist()]
        looks = np.array([len(disc) > 0 for _, disc in records], dtype=np.bool_) & (answers.status == FOUND)
        size = np.diff(answers.start)
        for i in np.flatnonzero(looks).tolist():
            self._found[int(answers.entity[i])] = (
                answers.portals[answers.start[i] : answers.start[i + 1]].copy(),
                int(answers.piece[i]),
            )
        if looks.any():
            self._lay_out([records[i][0] for i in np.flatnonzero(looks).tolist()])
        order = np.array([record["order"] for record, _ in records], dtype=np.int64)[~looks]
        portals = answers.portals[np.repeat(~looks, size)]
        detail = np.zeros((len(order), 4))
        ended = Ended(
            order,
            answers.entity[~looks],
            answers.status[~looks],
            answers.piece[~looks],
            size[~looks],
            detail,
            portals,
        )
        return used, len(records) > 0, ended

    def _lay_out(self, fresh: list[Any]) -> None:
        """Queue requests, and put what is known of all that are there one after the other;
        their keys say where.
        """
        entities = sorted(self._found, key=lambda each: int(self._requests[each][0]["order"]))
        key = {each: place for place, each in enumerate(entities)}
        discs, corridors = (
            [self._requests[each][1] for each in entities],
            [self._found[each][0] for each in entities],
        )
        self._pool = np.concatenate([np.zeros((0, 4)), *discs])
        self._pool_start = np.cumsum([0, *(len(disc) for disc in discs)]).astype(np.int64)
        self._corridor = np.concatenate([np.zeros(0, dtype=np.int32), *corridors])
        self._corridor_start = np.cumsum([0, *(len(corridor) for corridor in corridors)]).astype(np.int64)
        self._piece = np.array([self._found[each][1] for each in entities], dtype=np.int32)
        waiting = self.queue.requests["entity"].tolist()
        self.queue.change("key", np.array([key[each] for each in waiting], dtype=np.int64))
        if fresh:
            rows = np.array(fresh, dtype=self.queue.record)
            rows["key"] = [key[each] for each in rows["entity"].tolist()]
            self.queue.blank(len(rows))[:] = rows[np.argsort(rows["order"], kind="stable")]
            self.queue.submit(len(rows))

    def _serve(self, team: Team, work: Work) -> None:
        share = float(self.parameters.obstacle_radius_share)
        search = RoundSearch(
            self._slots,
            self.mesh,
            self.goals,
            share,
            self._pool,
            self._pool_start,
            self._corridor,
            self._corridor_start,
            self._piece,
        )
        team.run(serve_round, len(work.turn), search, work, at_least=1)

    def _make_room(self) -> bool:
        """Double the room of all slots if one ran out of it; return whether one did."""
        if not self._slots.marks[:, IS_FULL].any():
            return False
        self._slots.marks[:, IS_FULL] = 0
        before, self._slots = self._slots, self._make_slots(2 * self._slots.room)
        _copy_slots(before, self._slots)
        return True

    def _progress(self) -> dict[str, NDArray[Any]]:
        looks = self.queue.is_active & (self._slots.marks[:, ANSWER] == LOOKS)
        return {
            "room": np.array([self._slots.room], dtype=np.int64),
            "is_full": self._slots.marks[:, IS_FULL].astype(np.uint8),
            "made": np.where(looks, self._slots.search.header[:, EXPANSIONS], 0),
        }

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives in the planner as named arrays:
        of searches, what they are for and how far they are.
        """
        self._lay_out([])  # keys as a planner that takes the state back gives them
        entities = sorted(self._requests)
        discs = [self._requests[each][1] for each in entities]
        found = [self._found.get(each, (np.zeros(0, dtype=np.int32), -1)) for each in entities]
        return {
            **super().state(),
            **{f"inner_{name}": array for name, array in self.planner.state().items()},
            **fields_of(
                "request_", np.array([self._requests[each][0] for each in entities], dtype=self.queue.record)
            ),
            "near": np.concatenate([np.zeros((0, 4)), *discs]),
            "near_count": np.array([len(disc) for disc in discs], dtype=np.int64),
            "is_queued": np.array([each in self._found for each in entities], dtype=np.uint8),
            "corridor": np.concatenate([np.zeros(0, dtype=np.int32), *(corridor for corridor, _ in found)]),
            "corridor_size": np.array([len(corridor) for corridor, _ in found], dtype=np.int64),
            "piece": np.array([piece for _, piece in found], dtype=np.int32),
            "stationary": self._stationary.copy(),
            "disc": self._disc.copy(),
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave to a planner on the same mesh and goals:
        searches are begun again and do what they had done.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved, mesh = Saved.of(state), self.mesh
        low, high = (
            [-FARTHEST_M, -FARTHEST_M, 0.0, 0.0],
            [FARTHEST_M, FARTHEST_M, WIDEST_M, float(mesh.polygon_count - 1)],
        )
        self._stationary = saved.take("stationary", "i8", low=1, high=MOST)
        self._disc = saved.take("disc", "f8", (len(self._stationary), 4), low=low, high=high)
        near = saved.take("near", "f8", (None, 4), low=low, high=high)
        for name, each in (("disc", self._disc), ("near", near)):
            saved.require(each[:, 3] == np.floor(each[:, 3]), name, "the last number is that of a polygon")
        self.planner.restore(saved.below("inner_"))
        self._restore(saved, bounds_on(mesh, self.goals))

    def _redo(self, saved: Saved) -> None:
        self._restore_requests(saved)
        room = saved.whole("room", LEAST_ROOM, MOST_ROOM)
        saved.require(room & (room - 1) == 0, "room", "is no power of two")
        count, active = len(self.queue.keys), self.queue.is_active
        is_full = saved.take("is_full", "u1", (count,), high=1)
        made = saved.take("made", "i8", (count,), low=0, high=MOST)
        self._slots = self._make_slots(room)
        work = self.queue.work_again(active, np.maximum(made, 1))
        self._serve(Team(1), work)
        saved.require(
            (work.used == made) & (active | (made == 0)),
            "made",
            "the search comes to an end sooner, or goes on",
        )
        self._slots.marks[:, IS_FULL] = is_full

    def _restore_requests(self, saved: Saved) -> None:
        """Take back the requests, with what is known of each;
        they have to be those that the planner and the queue have.
        """
        mesh = self.mesh
        requests = saved.records(
            "request_", self.queue.record, {**bounds_of(self._next_order), **bounds_on(mesh, self.goals)}
        )
        count, near = len(requests), saved.take("near", "f8", (None, 4))
        near_of = _split(near, saved.parts("near_count", count, len(near)))
        is_queued, corridor = (
            saved.take("is_queued", "u1", (count,), high=1) == 1,
            saved.take("corridor", "i4", low=0, high=mesh.edge_count - 1),
        )
        saved.require(mesh.edge_twin[corridor] >= 0, "corridor", "that is no portal")
        sizes = saved.parts("corridor_size", count, len(corridor))
        piece = saved.take("piece", "i4", (count,), low=-1, high=len(self.goals.piece_polygon) - 1)
        for row in np.flatnonzero(is_queued).tolist():
            saved.require(
                piece[row] >= 0 and len(near_of[row]) > 0,
                "is_queued",
                "has a request with no goal, or that no stationary agent is near to",
            )
        here = set(requests["entity"][is_queued].tolist())
        saved.require(
            len(set(requests["entity"].tolist())) == count, "request_entity", "names an agent twice"
        )
        others = {*self.planner.starts["entity"].tolist()} == set(requests["entity"][~is_queued].tolist())
        saved.require(
            others and here == set(self.queue.entities),
            "is_queued",
            "is not that of the requests that there are",
        )
        self._requests, self._found = {}, {}
        for row, (each, own) in enumerate(
            zip(requests["entity"].tolist(), _split(corridor, sizes), strict=True)
        ):
            self._requests[each] = requests[row], near_of[row]
            if is_queued[row]:
                self._found[each] = own, int(piece[row])
                saved.require(
                    _leads_there(mesh, requests[row], own, int(self.goals.piece_polygon[piece[row]])),
                    "corridor",
                    "its portals are not joined",
                )
        self._lay_out([])


def _split(array: NDArray[Any], lengths: NDArray[np.int64]) -> list[NDArray[Any]]:
    """Return copies of the parts of an array, end to end in it."""
    return [part.copy() for part in np.split(array, np.cumsum(lengths)[:-1])] if len(lengths) else []


def _leads_there(mesh: NavMesh, request: Any, corridor: NDArray[np.int32], end: int) -> bool:
    """Return whether portals, the next one last, lead from where a request was made to a polygon."""
    leaves, enters = mesh.edge_polygon[corridor], mesh.edge_polygon[mesh.edge_twin[corridor]]
    if not len(corridor):
        return int(request["polygon"]) == end
    return (
        int(leaves[-1]) == int(request["polygon"])
        and int(enters[0]) == end
        and bool(np.array_equal(leaves[:-1], enters[1:]))
    )


def _copy_slots(old: StationarySlots, new: StationarySlots) -> None:
    """Copy searches in the middle into slots with more room."""
    for before, after in ((old, new), (old.search, new.search)):
        for name in before._fields:
            array = getattr(before, name)
            if isinstance(array, np.ndarray):
                getattr(after, name)[tuple(slice(length) for length in array.shape)] = array
