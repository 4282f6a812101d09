"""Prices on portals that a request puts there, for any kind of search."""

# mypy: allow-untyped-defs

from __future__ import annotations

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.search.slot_fields import MOST_PRICED, PRICE


@inlined_kernel
def price_of(slots, slot, edge, twin):
    """Return what going over a portal costs besides its path (m)."""
    for place in range(MOST_PRICED):
        priced = slots.priced[slot, place]
        if priced >= 0 and (priced == edge or priced == twin):
            return slots.measure[slot, PRICE]
    return 0.0


@lean_kernel
def set_prices(slots, slot, request):
    """Put the prices of a request on portals, for the search that is about to begin in a slot;
    shared searches know of none.
    """
    slots.priced[slot, 0], slots.priced[slot, 1] = request["priced_0"], request["priced_1"]
    slots.priced[slot, 2], slots.priced[slot, 3] = request["priced_2"], request["priced_3"]
    slots.measure[slot, PRICE] = request["price"]
