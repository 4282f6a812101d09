"""The serve loop: slots work through their requests, whatever a search is."""

from __future__ import annotations

from typing import Any

from crowdsim.kernels.decorator import lean_kernel_of


def serve(start: int, stop: int, search: Any, work: Any) -> None:
    """Let slots work through their requests.

    Parameters
    ----------
    start, stop : int
        Those at these places of `work.turn`.
    search : NamedTuple
        What searches of the kind work on, with a row for each slot.
    work : Work

    Notes
    -----
    What a kind of search consists of stands in its own file:
    ``begin(search, work, slot, job)`` sets the slot up for a request, and returns what that counts as, in
    expansions, which is paid with the answer; -1 where it has no room for it. With room it goes on, in the
    same round, where this is called again: other slots do nothing then.
    ``advance(search, slot, grant)`` goes on for at most `grant` expansions, and returns those that it made.
    ``finish(search, work, slot, job)`` notes status, piece and path of the request, and returns the length of
    the path in ``work.out``; -1 where the search has not come to its end, or there is no room left for the
    path, which the next round then has. It is called again where the answer is not paid for yet, and then
    writes the same.
    """
    for place in range(start, stop):
        slot = work.turn[place]
        while work.job_next[slot] < work.job_count[slot] and work.spent[slot] < work.grant[slot]:
            job = work.jobs[slot, work.job_next[slot]]
            if work.is_active[slot] == 0:
                counts_as = begin(search, work, slot, job)  # type: ignore[name-defined]  # noqa: F821
                if counts_as < 0:
                    break
                work.is_active[slot], work.paid[slot] = 1, -counts_as
            left = work.grant[slot] - work.spent[slot]
            made = advance(search, slot, left)  # type: ignore[name-defined]  # noqa: F821
            work.used[slot] += made
            work.spent[slot] += made
            size = finish(search, work, slot, job)  # type: ignore[name-defined]  # noqa: F821
            if size < 0:
                break
            owed, left = work.answer_work + work.path_work * size - work.paid[slot], left - made
            if owed > left:
                work.paid[slot] += left
                work.spent[slot] += left
                break
            work.spent[slot] += owed
            work.where[job], work.size[job] = work.fill[slot], size
            work.fill[slot] += size
            work.is_active[slot] = work.paid[slot] = 0
            work.job_next[slot] += 1


def serve_loop(name: str, begin: Any, advance: Any, finish: Any) -> Any:
    """Return the serve loop over searches of a kind, to be bound to `name` in the module that calls this;
    see `serve`.
    """
    return lean_kernel_of(serve, name, begin=begin, advance=advance, finish=finish)
