"""What all planners with searches in slots have in common:
a request queue, rounds in which the slots are served, and answers in order.

Requests wait in a queue (`crowdsim.navigation.planning.request_queue`), first in, first out. Each slot works
on a few of them one after the other, and a budget is shared equally among as many slots as it is worth, the
oldest requests first; the slots, not the threads, decide which requests share it, so that the number of
threads changes nothing. So that a budget bounds the answers too, each counts as some expansions; one that
counts as more than is left is paid for in parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.threads import Team
from crowdsim.navigation.planning.protocol import Answers, starts_of
from crowdsim.navigation.planning.request_queue import RequestQueue
from crowdsim.navigation.planning.work import Ended, Work, pieces
from crowdsim.navigation.search.sharing import NO_TREE, SharedTrees
from crowdsim.saved import FARTHEST_M, MOST, MOST_TICKS, Arrays, Saved


class SlotPlanner(ABC):
    """A planner whose searches go on side by side in slots.

    Parameters
    ----------
    queue : RequestQueue
    trees : SharedTrees, optional
        Those of the queue.
    answer_work, path_work : int, expansions
        What an answer counts as, where answers count, and each of the numbers of its path.

    Attributes
    ----------
    has_rounds, round_work
        See `Planner`.
    """

    prices = heeds_standing = settles = False
    has_rounds = True
    round_work = MOST
    request_work = 1  # it takes 0.3 to 0.7 us, one of 20,000; see `ANSWER_WORK`
    spent = 0

    def __init__(
        self, queue: RequestQueue, answer_work: int, path_work: int, trees: SharedTrees | None = None
    ) -> None:
        self.queue, self._trees, self._answer_work, self._path_work = queue, trees, answer_work, path_work
        self._next_order = 0

    @property
    def waiting(self) -> int:
        """Requests that have not been answered."""
        return self.queue.waiting

    @property
    def starts(self) -> NDArray[Any]:
        """The requests that have not been answered: records of the type `START`."""
        return starts_of(self.queue.requests)

    @property
    def entities(self) -> list[int]:
        """The agents whose requests have not been answered."""
        return self.queue.entities

    def oldest_tick(self, default: int) -> int:
        """Return the tick at which the oldest unanswered request was made; `default` if there is none."""
        return self.queue.oldest_tick(default)

    def expect(self, count: int) -> None:
        """Make room for so many requests, which come in parts."""
        self.queue.make_room(count)

    def drop(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that left or changed their mind."""
        self.queue.drop(entity)

    def _fresh(
        self, tick: int, entity: NDArray[np.int64], position: NDArray[np.float64], **fields: Any
    ) -> NDArray[Any]:
        """Return new requests of agents, (k,), from where they are, (k, 2) m, with more fields, as
        `RequestQueue.blank` has them; those that they made before are withdrawn.
        """
        self.drop(entity)
        fresh = self.queue.blank(len(entity))
        fresh["order"] = self._next_order + np.arange(len(entity))
        self._next_order += len(entity)
        fresh["entity"], fresh["tick"], fresh["x"], fresh["y"], fresh["tree"] = (
            entity,
            tick,
            position[:, 0],
            position[:, 1],
            NO_TREE,
        )
        for name, value in fields.items():
            fresh[name] = value
        return fresh

    def advance(self, budget: int, team: Team, *, counts_answers: bool = True) -> tuple[Any, int]:
        """Do so much work, expansions, and what answers count as, if they count; see `Planner.advance`."""
        self.spent = made = 0
        answer_work, path_work = (self._answer_work, self._path_work) if counts_answers else (0, 0)
        finished: list[Ended] = []
        while self.waiting and self.spent < budget and made < self.round_work:
            # rounds get smaller as expansions are used up, but not tiny: a round costs what an answer does
            most = min(budget - self.spent, max(self.round_work - made, self.round_work // 2))
            tree = self.queue.tree_to_grow()
            if tree != NO_TREE and self._trees is not None:
                used = self._trees.grow(tree, most)
                made, self.spent = made + used, self.spent + used
                continue
            used, spent, ended = self._round(most, team, answer_work, path_work)
            made, self.spent = made + used, self.spent + spent
            if ended is not None:
                finished.append(ended)
            elif spent == 0 and not self._make_room():
                break
        return self._answers(in_order(finished, self.queue)), made

    def _round(
        self, budget: int, team: Team, answer_work: int, path_work: int
    ) -> tuple[int, int, Ended | None]:
        """Let every slot with work use its share of a budget; see `RequestQueue.collect`."""
        self.queue.assign(budget)
        work = self.queue.work(answer_work, path_work)
        self._serve(team, work)
        return self.queue.collect()

    @abstractmethod
    def _serve(self, team: Team, work: Work) -> None:
        """Let the slots whose turn it is work through their requests, on the threads of a team."""

    def _make_room(self) -> bool:
        """Give more room to slots that ran out of it; return whether there were any."""
        return False

    def _answers(self, ended: Ended) -> Any:
        """Return what ended, in the order of the requests, as the planner's answers: with corridors."""
        start = np.zeros(len(ended.size) + 1, dtype=np.int64)
        np.cumsum(ended.size, out=start[1:])
        return Answers(ended.entity, ended.status, ended.piece, start, ended.path)

    @abstractmethod
    def _progress(self) -> dict[str, NDArray[Any]]:
        """Return how far the searches are as named arrays, for `_redo`; ``made``:
        the expansions that the search in each slot that is active has made.
        """

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives in the planner as named arrays:
        of searches, what they are for and how far they are.
        """
        trees = self._trees.state() if self._trees is not None else {}
        return {
            **{f"queue_{name}": array for name, array in self.queue.state().items()},
            **{f"trees_{name}": array for name, array in trees.items()},
            **self._progress(),
            "counters": np.array([self._next_order], dtype=np.int64),
        }

    def _restore(self, saved: Saved, bounds: dict[str, tuple[Any, Any]]) -> None:
        """Take back the trees, the queue and the searches of idle slots;
        `bounds` as for `RequestQueue.restore`.
        """
        if self._trees is not None:
            self._trees.restore(saved.below("trees_"))
        self._next_order = saved.whole("counters", 0, MOST)
        self.queue.restore(
            saved.below("queue_"),
            {**bounds_of(self._next_order, 0 if self._trees is None else self._trees.count), **bounds},
        )
        if self._trees is not None:
            tree = self.queue.requests["tree"]
            saved.require(
                self._trees.has(tree[tree != NO_TREE]), "queue_request_tree", "there is no such tree"
            )
        self._redo(saved)

    def _redo(self, saved: Saved) -> None:
        """Let searches do what they had done: begun again with the same,
        they are where they were after as many expansions.
        """
        made, active = (
            saved.take("made", "i8", (len(self.queue.is_active),), low=0, high=MOST),
            self.queue.is_active,
        )
        work = self.queue.work_again(active, np.maximum(made, 1))
        self._serve(Team(1), work)
        saved.require(
            (work.used == made) & (active | (made == 0)),
            "made",
            "the search comes to an end sooner, or goes on",
        )

    @abstractmethod
    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave to a planner on the same ground and goals."""


def bounds_of(orders: int, trees: int = 0) -> dict[str, tuple[Any, Any]]:
    """Return what the fields of every request may hold, by name, where so many have been made,
    and there are so many trees.
    """
    return {
        "order": (0, orders - 1),
        "entity": (0, MOST),
        "tick": (0, MOST_TICKS),
        "x": (-FARTHEST_M, FARTHEST_M),
        "y": (-FARTHEST_M, FARTHEST_M),
        "key": (0, MOST),
        "shares": (0, 1),
        "tree": (NO_TREE, trees - 1),
    }


def in_order(finished: list[Ended], queue: RequestQueue) -> Ended:
    """Return what ended in all rounds in the order of the requests."""
    if not finished:
        return queue.nothing
    ended = finished[0]
    if len(finished) > 1:
        ended = Ended(*(np.concatenate(parts) for parts in zip(*finished, strict=True)))
    order, entity, status, piece, size, detail, path = ended
    if (order[1:] > order[:-1]).all():  # as where one tree answers
        return ended
    by_order = np.argsort(order, kind="stable")
    begin, size = (np.cumsum(size) - size)[by_order], size[by_order]
    return Ended(
        order[by_order],
        entity[by_order],
        status[by_order],
        piece[by_order],
        size,
        detail[by_order],
        pieces(path, begin, size),
    )
