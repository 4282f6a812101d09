"""Where over the width of a region's rim do agents come in? A crowd takes the whole of it.

The shortest path leads to the nearest point of a region, so that all agents from one side come in at the same
end of its rim. In front of a rim those that come at the same time form a crowd. They are ordered by the lines
along which a liquid would flow in, so that their paths do not cross, and each gets the place over the width
that it has in that order: the first of four the middle of the first quarter.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import distance_to_segment
from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.navigation.corridor.clear_line import is_clear_line
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.tunable import param

NO_CROWD = -1
CORNER_ON_RIM, HEADS_THERE = 1, 2  # How an agent goes to its region, for `find_crowds`.
PATH, HERE, AHEAD, ORDER, WEIGHT = range(5)  # What the columns of `place` are.
FADE_M = 1.0  # Over so much of the reach the weight of an agent grows: none is turned aside all at once.
# An agent in front of a region goes at most so far aside for each metre ahead: 45 degrees, not across the
# paths of others.
ASLANT = 1.0
# How that is let go beside the front, in metres more for each metre: there an agent has to walk along it.
BESIDE = 10.0
# An agent from beside steers at most so far ahead of its place, to turn in as aslant: others would push it
# past the end of the front.
MOST_OUT_M = 0.7
# How far agents keep off the ends of a front where they can: 0 leaves too many there under HRVO, twice as
# much too few under sampled HRVO.
EDGE_M = 0.06
LEVEL_M = 1e-6  # Differences of distance that are rounding.


@dataclass(frozen=True)
class SpreadParameters:
    """How a crowd takes the width of the fronts of regions."""

    spread_reach: float = param(
        4.0,
        "m",
        low=0.0,
        high=50.0,
        source="ours",
        why="agents that come straight to a region, and are nearer to its rim than this, share its width; "
        "smaller turns them aside later, larger shares it "
        "among some that do not meet there; 0 leaves all on their shortest paths: of a crowd two of three "
        "come in at the ends of the rim",
    )
    spread_crowd: float = param(
        3.0,
        "agents",
        above=0.0,
        high=1000.0,
        source="ours",
        why="so many others in front of a rim turn an agent to its place altogether, fewer in proportion: "
        "one alone walks the shortest path; smaller spreads "
        "agents in twos and threes, larger only a crowd",
    )
    spread_width: float = param(
        3.5,
        "diameters",
        low=1.0,
        high=1000.0,
        source="ours",
        why="least width of a rim that is shared, in diameters of an agent; in narrower ones two streams, "
        "one from each side, leave no room for a third, and "
        "sharing gains nothing",
    )


@kernel
def find_crowds(start, stop, fronts, source, wants, position, corner, radius, reach, least, crowd, place):
    """Find the fronts that agents of rows start..stop - 1 come to, and how they stand to them.

    Parameters
    ----------
    start, stop : int
    fronts : Fronts
    source : (n,) int32
        Index of the region that each walks to.
    wants : (n,) uint8
        CORNER_ON_RIM for agents with their next corner on the rim of that region; HEADS_THERE for those that
        go straight there, wherever over the rim; else 0.
    position, corner : (n, 2) float64, m
        As corner of those with HEADS_THERE, their positions.
    radius : (n,) float64, m
    reach, least : float
        See `SpreadParameters`.
    crowd : (n,) int32
        Receives the front, -1 for those that belong to no crowd.
    place : (n, 5) float64
        Receives along the front, from its middle towards its end b: where the shortest path ends, and where
        the agent is; how far it is ahead of the front; its place in the order of the crowd, -1 to 1; its
        weight in the crowd, 0 to 1.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        crowd[row] = NO_CROWD
        if wants[row] == 0:
            continue
        x, y, cx, cy = position[row, 0], position[row, 1], corner[row, 0], corner[row, 1]
        around, far = fronts.around[source[row]], reach + LEVEL_M
        if x < around[0] - far or y < around[1] - far or x > around[2] + far or y > around[3] + far:
            continue  # too far from all of them
        narrow = 2.0 * least * radius[row]
        nearest, farthest = narrow if wants[row] == CORNER_ON_RIM else reach, -np.inf
        for k in range(fronts.goal_start[source[row]], fronts.goal_start[source[row] + 1]):
            ax, ay, bx, by = fronts.end[k, 0], fronts.end[k, 1], fronts.end[k, 2], fronts.end[k, 3]
            width = hypot(bx - ax, by - ay)
            if width < narrow:
                continue
            away = distance_to_segment(cx, cy, ax, ay, bx, by)
            ux, uy = (bx - ax) / width, (by - ay) / width
            ahead = ux * (y - ay) - uy * (x - ax)
            # At a corner of the region the path ends at two fronts: it is the one that the agent is farther
            # ahead of.
            if away < nearest - LEVEL_M or (away <= nearest + LEVEL_M and ahead > farthest):
                nearest, farthest, crowd[row] = away, ahead, k
        k = crowd[row]
        if k < 0 or fronts.is_shared[k] == 0:
            crowd[row] = NO_CROWD
            continue
        ax, ay, bx, by = fronts.end[k, 0], fronts.end[k, 1], fronts.end[k, 2], fronts.end[k, 3]
        weight = min(1.0, (reach - distance_to_segment(x, y, ax, ay, bx, by)) / FADE_M)
        if weight <= 0.0:
            crowd[row] = NO_CROWD
            continue
        width = hypot(bx - ax, by - ay)
        ux, uy = (bx - ax) / width, (by - ay) / width
        mx, my = 0.5 * (ax + bx), 0.5 * (ay + by)
        place[row, PATH] = min(0.5 * width, max(-0.5 * width, (cx - mx) * ux + (cy - my) * uy))
        here = (x - mx) * ux + (y - my) * uy
        ahead = ux * (y - ay) - uy * (x - ax)
        place[row, HERE], place[row, AHEAD] = here, ahead
        ahead = max(0.0, ahead)
        place[row, ORDER] = (hypot(here + 0.5 * width, ahead) - hypot(here - 0.5 * width, ahead)) / width
        place[row, WEIGHT] = weight


class Crowds(NamedTuple):
    """Agents that share fronts.

    Attributes
    ----------
    member : (k,) int64
        Rows of agents in crowds, crowd by crowd and in order of rows.
    first, last : (k,) int64
        Where in `member` the crowd of each begins and ends.
    front : (n,) int32
        Of each agent, as `find_crowds` wrote it.
    place : (n, 5) float64
        How each stands to its front, as `find_crowds` wrote it.
    """

    member: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    front: NDArray[np.int32]
    place: NDArray[np.float64]


def crowds_of(front: NDArray[np.int32], place: NDArray[np.float64]) -> Crowds:
    """Return the crowds before fronts, by what `find_crowds` wrote."""
    found = np.flatnonzero(front >= 0)
    member = found[np.argsort(front[found], kind="stable")]
    own = front[member]
    return Crowds(member, np.searchsorted(own, own), np.searchsorted(own, own, side="right"), front, place)


@kernel
def lead_aside(start, stop, crowds, mesh, fronts, polygon, position, radius, full, velocity, corner):
    """Lead the members start..stop - 1 of crowds to their places.

    Parameters
    ----------
    start, stop : int
    crowds : Crowds
    mesh : NavMesh
    fronts : Fronts
    polygon : (n,) int64
    position : (n, 2) float64, m
    radius : (n,) float64, m
    full : float
        How many others turn an agent to its place altogether.
    velocity, corner : (n, 2) float64
        In and out: where each wants to go, m/s, and the point that it steers at, m.
    """
    if start == stop:
        return
    work = make_flood(mesh.polygon_start.size - 1), np.empty(3, dtype=np.int64), np.empty(0, dtype=np.int64)
    _lead_rows(start, stop, crowds, mesh, fronts, polygon, position, radius, full, velocity, corner, work)


@lean_kernel
def _lead_rows(start, stop, crowds, mesh, fronts, polygon, position, radius, full, velocity, corner, work):
    member, first, last, crowd, place = crowds
    flood, state, crossed = work
    for k in range(start, stop):
        row = member[k]
        before, others = 0.0, 0.0
        order, weight = place[row, ORDER], place[row, WEIGHT]
        for m in range(first[k], last[k]):
            other = member[m]
            if other == row:
                continue
            others += place[other, WEIGHT]
            if place[other, ORDER] < order or (place[other, ORDER] == order and m < k):
                before += place[other, WEIGHT]
        share = min(1.0, others / full)
        pace = hypot(velocity[row, 0], velocity[row, 1])
        if share <= 0.0 or pace <= 0.0:
            continue
        ax, ay, bx, by = (
            fronts.end[crowd[row], 0],
            fronts.end[crowd[row], 1],
            fronts.end[crowd[row], 2],
            fronts.end[crowd[row], 3],
        )
        width = hypot(bx - ax, by - ay)
        ux, uy = (bx - ax) / width, (by - ay) / width
        half = max(0.0, 0.5 * width - radius[row] - EDGE_M)
        at, here, ahead = place[row, PATH], place[row, HERE], max(0.0, place[row, AHEAD])
        to = at + share * ((2.0 * (before + 0.5 * weight) / (others + weight) - 1.0) * half - at)
        inside = min(half, max(-half, here))
        most = ASLANT * ahead + BESIDE * abs(here - inside)
        to = min(max(to, inside - most), inside + most)
        out = share * min(MOST_OUT_M, max(0.0, abs(to - here) / ASLANT - ahead)) if here != inside else 0.0
        x, y = position[row, 0], position[row, 1]
        tx, ty = 0.5 * (ax + bx) + to * ux - out * uy, 0.5 * (ay + by) + to * uy + out * ux
        if not is_clear_line(mesh, polygon[row], x, y, tx, ty, radius[row], flood, state, crossed):
            continue
        apart = hypot(tx - x, ty - y)
        if apart <= 0.0:
            continue
        velocity[row, 0], velocity[row, 1] = pace * (tx - x) / apart, pace * (ty - y) / apart
        corner[row, 0], corner[row, 1] = tx, ty
