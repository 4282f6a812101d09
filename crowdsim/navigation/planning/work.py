"""One round of work: what slots have to do, what ended in it, how a budget is shared among them,
and how their answers are collected.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel

# Expansions that a slot gets in a round, some 0.1 ms: with fewer, what a search touches has left the cache
# when its turn comes again.
LEAST_GRANT = 500


class Work(NamedTuple):
    """What slots have to do in one round, of `s` slots that have up to `b` requests each.

    Attributes
    ----------
    jobs : (s, b) int64
        Requests of each slot, as rows of `requests`.
    job_count, job_next : (s,) int64
        How many, and the one that is being worked on; the latter is moved on.
    is_active : (s,) int64
        1 while the slot is in the middle of a request.
    grant, used, spent : (s,) int64
        Work that a slot may do, expansions that it has made, and work that it has done, never more than it
        may: expansions, and what it has paid for answers, if they count.
    paid : (s,) int64
        What each slot has paid for the answer in hand, less what it owes for beginning it: an answer that
        costs more than is left is paid for in parts, and given when all of it is.
    requests : (n,) record array
    status : (n,) uint8
    piece : (n,) int32
    where, size : (n,) int64
        For requests that ended: outcome, piece of the goal, where in the slot's row of `out` the path is, and
        its length there.
    detail : (n, 4) float64
        What else is to be known of a path; see the planner.
    out : (s, k) int32 or float64
    fill : (s,) int64
        What is used of each row of `out`.
    turn : (k,) int64
        The slots that may do anything, in the order in which threads take them: those in the middle of a
        search first. They take longest, and are not to be what is left when all else is done.
    answer_work, path_work : int, expansions
        What an answer counts as, and each of the numbers of its path; 0 where answers do not count.
    """

    jobs: NDArray[np.int64]
    job_count: NDArray[np.int64]
    job_next: NDArray[np.int64]
    is_active: NDArray[np.int64]
    grant: NDArray[np.int64]
    used: NDArray[np.int64]
    spent: NDArray[np.int64]
    paid: NDArray[np.int64]
    requests: NDArray[Any]
    status: NDArray[np.uint8]
    piece: NDArray[np.int32]
    where: NDArray[np.int64]
    size: NDArray[np.int64]
    detail: NDArray[np.float64]
    out: NDArray[Any]
    fill: NDArray[np.int64]
    turn: NDArray[np.int64]
    answer_work: int
    path_work: int


class Ended(NamedTuple):
    """Requests that were answered in one round.

    Attributes
    ----------
    order, entity : (k,) int64
    status : (k,) uint8
    piece : (k,) int32
    size : (k,) int64
    detail : (k, 4) float64
    path : (m,) int32 or float64
        The paths one after the other, `size` numbers each.
    """

    order: NDArray[np.int64]
    entity: NDArray[np.int64]
    status: NDArray[np.uint8]
    piece: NDArray[np.int32]
    size: NDArray[np.int64]
    detail: NDArray[np.float64]
    path: NDArray[Any]


@lean_kernel
def share_out(budget, now, jobs, job_next, job_count, is_active, order, grant, last_use, began, turn):
    """Share a budget among the slots with the oldest requests, at least LEAST_GRANT for each;
    return how many get a share.

    Parameters
    ----------
    budget : int, expansions
    now : int
        Number of the round; noted in `last_use`.
    jobs : (s, b) int64
    job_next, job_count, is_active : (s,) int64
    order : (n,) int64
        When each request was made.
    grant, last_use, began : (s,) int64
        Receive; `began` what `job_next` is now.
    turn : (s,) int64
        Receives the slots that get a share as in `Work`, first of all.

    Notes
    -----
    Twin: `tests/reference/work.py`.
    """
    at_work = 0
    for slot in range(jobs.shape[0]):
        grant[slot], began[slot] = 0, job_next[slot]
        if job_next[slot] < job_count[slot]:
            at_work += 1
            last_use[slot] = now
    if at_work == 0:
        return 0
    served = min(at_work, max(1, budget // LEAST_GRANT))
    share, left = budget // served, budget % served
    for slot in range(jobs.shape[0]):
        if job_next[slot] < job_count[slot]:
            mine, older = order[jobs[slot, job_next[slot]]], 0
            for other in range(jobs.shape[0]):
                if job_next[other] < job_count[other] and order[jobs[other, job_next[other]]] < mine:
                    older += 1
            if older < served:
                grant[slot] = share + (1 if older < left else 0)
    count = 0
    for searches in (1, 0):
        for slot in range(jobs.shape[0]):
            if grant[slot] > 0 and is_active[slot] == searches:
                turn[count] = slot
                count += 1
    return count


@lean_kernel
def take_out(jobs, began, job_next, used, spent, is_open, where, size, out, answered, path):
    """Close the requests that were answered in a round, and put their paths one after the other.

    Parameters
    ----------
    jobs : (s, b) int64
    began, job_next : (s,) int64
        Where each slot was in its jobs before the round, and is now.
    used, spent : (s,) int64
    is_open : (n,) uint8
        Receives 0.
    where, size : (n,) int64
        Where in the slot's row of `out` a path is.
    out : (s, k) int32 or float64
    answered : (s b,) int64
        Receives the requests.
    path : (s k,) int32 or float64
        Receives the paths.

    Returns
    -------
    expansions, work, answers, length : int
        Sums of `used` and `spent`; requests answered; length of the paths.

    Notes
    -----
    Twin: `tests/reference/work.py`.
    """
    expansions, work, answers, length = 0, 0, 0, 0
    for slot in range(jobs.shape[0]):
        expansions += used[slot]
        work += spent[slot]
        for k in range(began[slot], job_next[slot]):
            row = jobs[slot, k]
            is_open[row] = 0
            answered[answers] = row
            answers += 1
            for i in range(where[row], where[row] + size[row]):
                path[length] = out[slot, i]
                length += 1
    return expansions, work, answers, length


def pieces(flat: NDArray[Any], begin: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[Any]:
    """Return the pieces ``flat[begin[i]:begin[i] + size[i]]`` one after the other."""
    end = np.cumsum(size)
    total = int(end[-1]) if len(end) else 0
    return flat[np.repeat(begin - end + size, size) + np.arange(total)]
