"""One round of work, with lists: how a budget is shared among slots, and what is taken out in the end."""

from __future__ import annotations

from crowdsim.navigation.planning.work import LEAST_GRANT


def share_out(
    budget: int, lines: list[list[int]], order: list[int], searches: list[bool]
) -> tuple[list[int], list[int]]:
    """Return what each slot may do, and the slots that may do anything in the order in which threads take
    them.

    Parameters
    ----------
    budget : int, expansions
    lines : list of list of int
        The requests that each slot has left.
    order : list of int
        When each request was made.
    searches : list of bool
        Whether each slot is in the middle of a search.
    """
    at_work = sorted(
        (slot for slot, line in enumerate(lines) if line), key=lambda slot: order[lines[slot][0]]
    )
    served = at_work[: max(1, budget // LEAST_GRANT)]
    grant = [0] * len(lines)
    for place, slot in enumerate(served):
        grant[slot] = budget // len(served) + (place < budget % len(served))
    return grant, sorted(
        (slot for slot in served if grant[slot]), key=lambda slot: (not searches[slot], slot)
    )


def take_out(
    answered: list[list[int]], out: list[list[float]], where: list[int], size: list[int]
) -> tuple[list[int], list[float]]:
    """Return the requests that slots have answered, and the paths of these one after the other."""
    rows = [(slot, row) for slot, line in enumerate(answered) for row in line]
    return [row for _, row in rows], [
        number for slot, row in rows for number in out[slot][where[row] : where[row] + size[row]]
    ]
