"""Where over the width of a region's rim do agents come in? A crowd takes the whole of it.

The shortest path leads to the nearest point of a region, so that all who come from one side come in at the same end of its rim. In front of a rim those
who come at the same time form a crowd. They are ordered by the lines along which a liquid would flow in, so that their ways do not cross, and each gets
the place over the width that it has in that order: the first of four the middle of the first quarter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdsim.bodies.nudge import is_clear_way
from crowdsim.geometry.plane import distance_to_segment
from crowdsim.kernels import kernel, lean_kernel
from crowdsim.navigation.mesh import make_flood
from crowdsim.tunable import param

NO_RIM = -1
NATURAL, HERE, FRONT, ORDER, WEIGHT = range(5)  # What the columns of `place` are.


@dataclass(frozen=True)
class SpreadParameters:
    """How a crowd takes the width of the fronts of regions."""

    spread_reach: float = param(
        4.0, "m", low=0.0, high=100.0, source="ours",
        why="agents that come straight to a region, and are nearer to its rim than this, share its width; smaller turns them aside later, larger shares it "
        "among some that do not meet there; 0 leaves all on their shortest paths: of a crowd two of three come in at the ends of the rim",
    )  # fmt: skip
    spread_crowd: float = param(
        3.0, "agents", above=0.0, high=1000.0, source="ours",
        why="so many others in front of a rim turn an agent to its place altogether, fewer in proportion: one alone walks the shortest path; smaller spreads "
        "those who come in twos and threes, larger only a crowd",
    )  # fmt: skip
    spread_width: float = param(
        3.0, "diameters", low=1.0, high=1000.0, source="ours",
        why="least width of a rim that is shared, in diameters of an agent; narrower ones leave no room for two beside each other",
    )  # fmt: skip


@kernel
def find_crowds(start, stop, fronts, source, wants, position, corner, radius, reach, least, rim, place):
    """Find the parts of fronts that agents of rows start..stop - 1 come to, and how they stand to them.

    Parameters
    ----------
    start, stop : int
    fronts : Fronts
    source : (n,) int32
        Index of the region that each walks to.
    wants : (n,) uint8
        1 for those whose next corner is on the rim of that region.
    position, corner : (n, 2) float64, m
    radius : (n,) float64, m
    reach, least : float
        See `SpreadParameters`.
    rim : (n,) int32
        Receives the part, -1 for those that belong to no crowd.
    place : (n, 5) float64
        Receives along the part, from its middle towards its end b: where the shortest path ends, and where the agent is; how far it is in front of the part;
        its place in the order of the crowd, -1 to 1; its weight in the crowd, 0 to 1.
    """
    for row in range(start, stop):
        rim[row] = NO_RIM
        if wants[row] == 0:
            continue
        x, y, cx, cy = position[row, 0], position[row, 1], corner[row, 0], corner[row, 1]
        narrow = 2.0 * least * radius[row]
        nearest, farthest = narrow, -np.inf
        for k in range(fronts.goal_start[source[row]], fronts.goal_start[source[row] + 1]):
            ax, ay, bx, by = fronts.end[k, 0], fronts.end[k, 1], fronts.end[k, 2], fronts.end[k, 3]
            width = np.hypot(bx - ax, by - ay)
            if width < narrow:
                continue
            away = distance_to_segment(cx, cy, ax, ay, bx, by)
            ux, uy = (bx - ax) / width, (by - ay) / width
            front = ux * (y - ay) - uy * (x - ax)
            # At a corner of the region the path ends at two parts: it is the one that the agent is more in front of.
            if away < nearest - 1e-6 or (away <= nearest + 1e-6 and front > farthest):
                nearest, farthest, rim[row] = away, front, k
        k = rim[row]
        if k < 0:
            continue
        ax, ay, bx, by = fronts.end[k, 0], fronts.end[k, 1], fronts.end[k, 2], fronts.end[k, 3]
        weight = min(1.0, reach - distance_to_segment(x, y, ax, ay, bx, by))
        if weight <= 0.0:
            rim[row] = NO_RIM
            continue
        width = np.hypot(bx - ax, by - ay)
        ux, uy = (bx - ax) / width, (by - ay) / width
        mx, my = 0.5 * (ax + bx), 0.5 * (ay + by)
        place[row, NATURAL] = min(0.5 * width, max(-0.5 * width, (cx - mx) * ux + (cy - my) * uy))
        here = (x - mx) * ux + (y - my) * uy
        front = ux * (y - ay) - uy * (x - ax)
        place[row, HERE], place[row, FRONT] = here, front
        above = max(0.0, front)
        place[row, ORDER] = (np.hypot(here + 0.5 * width, above) - np.hypot(here - 0.5 * width, above)) / width
        place[row, WEIGHT] = weight


@kernel
def lead_aside(start, stop, member, first, last, mesh, fronts, polygon, position, radius, rim, place, full, velocity, corner):
    """Lead the members start..stop - 1 of crowds to their places.

    Parameters
    ----------
    start, stop : int
    member : (k,) int64
        Rows of those in crowds, crowd by crowd and in order of rows.
    first, last : (k,) int64
        Where in `member` the crowd of each begins and ends.
    mesh : NavMesh
    fronts : Fronts
    polygon : (n,) int64
    position : (n, 2) float64, m
    radius : (n,) float64, m
    rim, place
        See `find_crowds`.
    full : float
        How many others turn an agent to its place altogether.
    velocity, corner : (n, 2) float64
        In and out: where each wants to go, m/s, and the point that it steers at, m.
    """
    if start == stop:
        return
    _lead_rows(
        start, stop, member, first, last, mesh, fronts, polygon, position, radius, rim, place, full, velocity, corner,
        make_flood(mesh.polygon_start.size - 1), np.empty(3, dtype=np.int64), np.empty(0, dtype=np.int64),
    )  # fmt: skip


SLOPE = 2.0
OUT = 1.0


@lean_kernel
def _lead_rows(start, stop, member, first, last, mesh, fronts, polygon, position, radius, rim, place, full, velocity, corner, flood, state, crossed):
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
        pace = np.hypot(velocity[row, 0], velocity[row, 1])
        if share <= 0.0 or pace <= 0.0:
            continue
        ax, ay, bx, by = fronts.end[rim[row], 0], fronts.end[rim[row], 1], fronts.end[rim[row], 2], fronts.end[rim[row], 3]
        width = np.hypot(bx - ax, by - ay)
        ux, uy = (bx - ax) / width, (by - ay) / width
        half = 0.5 * width - radius[row]
        at, here, front = place[row, NATURAL], place[row, HERE], max(0.0, place[row, FRONT])
        to = at + share * ((2.0 * (before + 0.5 * weight) / (others + weight) - 1.0) * half - at)
        inside = min(half, max(-half, here))
        most = SLOPE * front + 10.0 * abs(here - inside)
        to = min(max(to, inside - most), inside + most)
        out = share * min(OUT, max(0.0, abs(to - here) / SLOPE - front)) if here != inside else 0.0
        x, y = position[row, 0], position[row, 1]
        tx, ty = 0.5 * (ax + bx) + to * ux - out * uy, 0.5 * (ay + by) + to * uy + out * ux
        if not is_clear_way(mesh, polygon[row], x, y, tx, ty, radius[row], flood, state, crossed):
            continue
        apart = np.hypot(tx - x, ty - y)
        if apart <= 0.0:
            continue
        velocity[row, 0], velocity[row, 1] = pace * (tx - x) / apart, pace * (ty - y) / apart
        corner[row, 0], corner[row, 1] = tx, ty
