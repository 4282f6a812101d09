"""What a search on a mesh knows of stationary agents: rows of arrays, called slots, as of other searches.

Nothing of it is on the mesh: the next search in the same slot has forgotten it ([Pathfinding undated],
section 6: the static grid is never changed).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.search.a_star import SearchSlots, make_slots

# Whole numbers of a slot: how many there are of each, whether something did not fit, and what the request
# resulted in.
REACHES, POLYGONS, BARRIERS, PORTALS, GAPS, IS_FULL, ANSWER = range(7)
MARKS = 7

# What a request resulted in so far.
NOT_BEGUN, STAYS, LOOKS = range(3)

LEAST_ROOM = 64


class StationarySlots(NamedTuple):
    """Searches round stationary agents; row s belongs to slot s.

    Attributes
    ----------
    search : SearchSlots
        Nodes 0 .. ne - 1 are half-edges, over the first gap of their portal; node ``ne + 2 k`` goes over gap
        k along the half-edge with the lower number, ``ne + 2 k + 1`` along its twin.
    marks : (s, 7) int64
        REACHES .. ANSWER above.
    reach : (s, room) int64
        Scratch: which polygons or portals each disc reaches, sorted.
    span : (s, room, 2) float64, m
        Scratch: what is shut of a portal.
    polygon, polygon_first, polygon_nodes : (s, room) int32
        Polygons with barriers, ascending; the first barrier of each (one more marks the end); how many discs
        they join, and one for the rim.
    barrier : (s, room, 4) float64, m
        Ends of segments that no centre can cross: between two discs that overlap, or a disc and what of the
        rim it leaves no room beside.
    barrier_node : (s, room, 2) int32
        Which discs they join; 0 is the rim.
    portal, portal_first, portal_gaps : (s, room) int32
        Portals that discs reach into, by the lower number of their half-edges, ascending; the first gap of
        each, and how many there are.
    gap : (s, room, 2) float64, m
        A free point in each gap.
    gap_portal : (s, room) int32
        Half-edge with the lower number.
    root : (s, room) int32
    parity : (s, room) uint8
        Scratch: which discs are joined, and whether the path between them crosses a line.
    """

    search: SearchSlots
    marks: NDArray[np.int64]
    reach: NDArray[np.int64]
    span: NDArray[np.float64]
    polygon: NDArray[np.int32]
    polygon_first: NDArray[np.int32]
    polygon_nodes: NDArray[np.int32]
    barrier: NDArray[np.float64]
    barrier_node: NDArray[np.int32]
    portal: NDArray[np.int32]
    portal_first: NDArray[np.int32]
    portal_gaps: NDArray[np.int32]
    gap: NDArray[np.float64]
    gap_portal: NDArray[np.int32]
    root: NDArray[np.int32]
    parity: NDArray[np.uint8]

    @property
    def room(self) -> int:
        """How much of each there is room for."""
        return self.reach.shape[1]


def make_stationary_slots(count: int, edges: int, room: int) -> StationarySlots:
    """Return `count` idle slots for a mesh with `edges` half-edges."""

    def whole(*more: int) -> NDArray[np.int32]:
        return np.zeros((count, room, *more), dtype=np.int32)

    return StationarySlots(
        make_slots(count, edges + 2 * room), np.zeros((count, MARKS), dtype=np.int64),
        np.zeros((count, room), dtype=np.int64), np.zeros((count, room, 2)), whole(), whole(), whole(),
        np.zeros((count, room, 4)), whole(2), whole(), whole(), whole(), np.zeros((count, room, 2)), whole(),
        whole(), np.zeros((count, room), dtype=np.uint8),
    )  # fmt: skip
