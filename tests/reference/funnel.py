"""Twins of the funnel: shortest paths by looking at every pair of corners that see each other.

Kernels: pull_straight, straighten_corridor, straighten_many, add_vertices_along_string, group_start,
group_end, has_vertex, list_portal_vertices, bits_of, vertex_disc, vertices_beside, choose_first_sides,
choose_sides, add_vertices_off_corridor, move_to_front, tangent, pull_string, inflate, find_bends,
lay_string, measure_corridors, measure_corridor_rows. None is done step by step: what they make together
is the shortest path, and that has a definition of its own.
"""

import heapq
import itertools
import math
from fractions import Fraction

import numpy as np
import shapely


def tangents(a, a_side, b, b_side):
    """Whether a line that touches two discs can be made:
    the end points on the rims, from the definition n . c = offset + side.
    """
    distance = math.dist(a, b)
    if abs(b_side - a_side) > distance:
        return None
    turn = math.atan2(b[1] - a[1], b[0] - a[0]) - math.asin((b_side - a_side) / distance)
    ux, uy = math.cos(turn), math.sin(turn)
    return (a[0] + a_side * uy, a[1] - a_side * ux), (b[0] + b_side * uy, b[1] - b_side * ux)


def _side(a, b, p):
    ax, ay, bx, by, px, py = map(Fraction, (*a, *b, *p))
    turn = (bx - ax) * (py - ay) - (by - ay) * (px - ax)
    return (turn > 0) - (turn < 0)


def _leads_through(p, q, left, right):
    """Whether the line from p to q crosses a portal; staying in place does if it is at an end of it:
    a corridor may come round to the same corner again.

    A portal in line with p and q it crosses if it comes to one of its ends.
    """
    if p == q:
        return p in (left, right)
    if _side(p, q, left) == 0 == _side(p, q, right):
        return any(0 <= _along(p, q, end) <= _along(p, q, q) for end in (left, right))
    return _side(p, q, left) >= 0 >= _side(p, q, right)


def _along(p, q, end):
    px, py, qx, qy, x, y = map(Fraction, (*p, *q, *end))
    return (qx - px) * (x - px) + (qy - py) * (y - py)


def shortest_in_corridor(mesh, portals, start, goal):
    """The shortest path of a point through portals in their order, as (length, corners).

    Two ends of portals see each other if the line between them has the left end of every portal in between on
    its left or on it, and the right end on its right. Exact turns; the best path by dynamic programming from
    portal to portal.
    """
    ends = [
        (
            tuple(mesh.vertex[mesh.edge_end[e], :2].tolist()),
            tuple(mesh.vertex[mesh.edge_vertex[e], :2].tolist()),
        )
        for e in portals
    ]
    stages = [(start,), *ends, (goal,)]
    best = {(0, start): (0.0, (start,))}
    for j in range(1, len(stages)):
        for q in stages[j]:
            paths = []
            for i in range(j):
                for p in stages[i]:
                    if (i, p) in best and all(_leads_through(p, q, *portal) for portal in ends[i : j - 1]):
                        length, corners = best[i, p]
                        paths.append((length + math.dist(p, q), (*corners, q) if p != q else corners))
            if paths:
                best[j, q] = min(paths)
    length, corners = best[len(stages) - 1, goal]
    return length, corners if len(corners) > 1 else (*corners, goal)


def over_midpoints(mesh, portals, start, goal):
    """The length of the path over the middles of the portals."""
    points = [start, *(mesh.portal_point[e].tolist() for e in portals), goal]
    return sum(math.dist(a, b) for a, b in itertools.pairwise(points))


class Visibility:
    """Shortest paths over ground by its visibility graph:
    corners that stick out, and every pair of them that sees each other, but for those between which no
    shortest path goes, since their line leads on into the ground's outline at one of them.
    """

    def __init__(self, ground):
        self.ground = ground
        shapely.prepare(ground)
        corners = []
        for part in shapely.get_parts(ground):
            for ring in (shapely.orient_polygons(part).exterior, *shapely.orient_polygons(part).interiors):
                c = np.asarray(ring.coords)[:-1]
                before, after = c - np.roll(c, 1, axis=0), np.roll(c, -1, axis=0) - c
                out = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0] < 0.0
                corners.append(np.stack([c, before, after], axis=1)[out])
        corners = np.concatenate(corners)
        self.corners, first, times = np.unique(corners[:, 0], axis=0, return_index=True, return_counts=True)
        count = len(self.corners)
        i, j = np.triu_indices(count, 1)
        step = self.corners[j] - self.corners[i]

        def is_bent_round(at):
            # both walls there are on one side of the line; where outlines touch we do not say
            one, two = (
                step[:, 0] * wall[:, 1] - step[:, 1] * wall[:, 0]
                for wall in (-corners[first[at], 1], corners[first[at], 2])
            )
            return (np.minimum(one, two) >= -1e-9) | (np.maximum(one, two) <= 1e-9) | (times[at] > 1)

        bent = is_bent_round(i) & is_bent_round(j)
        i, j = i[bent], j[bent]
        sees = self._sees(self.corners[i], self.corners[j])
        self.links = {k: [] for k in range(count)}
        for a, b in zip(i[sees].tolist(), j[sees].tolist()):
            length = math.dist(self.corners[a], self.corners[b])
            self.links[a].append((b, length))
            self.links[b].append((a, length))

    def _sees(self, a, b):
        return shapely.covers(self.ground, shapely.linestrings(np.stack([a, b], axis=1)))

    def shortest(self, start, goal):
        """The length of the shortest path, inf if there is none."""
        start, goal = np.asarray(start), np.asarray(goal)
        if self._sees(start[None], goal[None])[0]:
            return math.dist(start, goal)
        if not len(self.corners):
            return math.inf
        first, last = (
            self._sees(np.broadcast_to(p, self.corners.shape), self.corners) for p in (start, goal)
        )
        rest = {k: math.dist(self.corners[k], goal) for k in np.flatnonzero(last).tolist()}
        queue = [(math.dist(start, self.corners[k]), k) for k in np.flatnonzero(first).tolist()]
        heapq.heapify(queue)
        done, best = set(), math.inf
        while queue:
            length, k = heapq.heappop(queue)
            if k in done:
                continue
            done.add(k)
            best = min(best, length + rest.get(k, math.inf))
            for other, step in self.links[k]:
                if other not in done:
                    heapq.heappush(queue, (length + step, other))
        return best
