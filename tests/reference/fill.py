"""Naive twin of the fill: boxes against triangles by separating axes, level by level, in plain loops.

Kernel: land.
"""

from __future__ import annotations

import itertools

import numpy as np
import shapely

from tests.reference.mesh import depth_in_polygon

TOUCH, SAME = 1e-5, 1e-3
EAST, NORTH, WEST, SOUTH = (1, 0), (0, 1), (-1, 0), (0, -1)
SIDES = (EAST, NORTH, WEST, SOUTH)


def axes_of(corners):
    """Return the axes that may separate triangles (nt, 3, 3) from boxes, (13, nt, 3): those of boxes, the
    normal, and those across an edge of each.
    """
    edges = np.roll(corners, -1, axis=1) - corners
    axes = [np.tile(axis, (len(corners), 1)) for axis in np.eye(3)]
    axes.append(np.cross(edges[:, 0], edges[:, 1]))
    return np.array(axes + [np.cross(axis, edges[:, k]) for axis in np.eye(3) for k in range(3)])


def box_meets(low, high, corners, axes=None):
    """Return which triangles (nt, 3, 3) an open box meets: no axis separates them [Akenine-Moeller 2001].
    `axes` are theirs, from `axes_of`, if they are known.
    """
    middle, half = 0.5 * (np.array(low) + np.array(high)), 0.5 * (np.array(high) - np.array(low))
    meets = (corners.min(axis=1) < high).all(axis=1) & (corners.max(axis=1) > low).all(axis=1)
    near = np.flatnonzero(meets)
    if not len(near):
        return meets
    v = corners[near] - middle
    axes = axes_of(corners[near]) if axes is None else axes[:, near]
    along = np.einsum("nkj,anj->ank", v, axes)
    reach = np.abs(axes) @ half
    is_axis = np.abs(axes).max(axis=2) > 1e-12
    apart = is_axis & ((along.min(axis=2) >= reach) | (along.max(axis=2) <= -reach))
    meets[near] = ~apart.any(axis=0)
    return meets


class NaiveFill:
    """The ground of a fill; `cells` has the cells as (column, row, height), `steps` where each leads."""

    def __init__(self, corners, surfaces, seeds, rules, links=()):
        self.corners, self.rules = np.array(corners, dtype=float), rules
        self.axes = axes_of(self.corners)
        normal = np.cross(self.corners[:, 1] - self.corners[:, 0], self.corners[:, 2] - self.corners[:, 0])
        self.is_ground = (np.hypot(normal[:, 0], normal[:, 1]) <= rules.steepest * np.abs(normal[:, 2])) & (
            normal[:, 2] != 0
        )
        self.surfaces = surfaces
        self.plans = [shapely.Polygon(corner[:, :2]) for corner in self.corners]
        self.low, self.high = self.corners[:, :, :2].min(axis=1), self.corners[:, :, :2].max(axis=1)
        self.known = {}
        self.steps = {}
        todo = []
        for x, y, z in seeds:
            column = int(np.floor(x / rules.cell)), int(np.floor(y / rules.cell))
            under = [level for level in self.levels(*column) if z - rules.height < level <= z + rules.step_up]
            todo.append((*column, max(under)))
        while todo:
            cell = todo.pop()
            if cell in self.steps:
                continue
            self.steps[cell] = [self.step(cell, side) for side in SIDES]
            todo += [other for other in self.steps[cell] if other is not None]
            for link in links:  # as the document has it, cell by cell
                if self.is_within(cell, link.enter):
                    x, y, z = link.exit.middle
                    column = int(np.floor(x / rules.cell)), int(np.floor(y / rules.cell))
                    near = [level for level in self.levels(*column) if abs(level - z) < 0.5 * rules.height]
                    todo += [(*column, min(near, key=lambda level: abs(level - z)))] if near else []

    def is_within(self, cell, zone):
        i, j, z = cell
        side = self.rules.cell
        square = shapely.box(i * side, j * side, (i + 1) * side, (j + 1) * side)
        if not shapely.covers(zone.area, square):
            return False
        near = min(self.levels(i, j), key=lambda level: abs(level - zone.height))
        return near == z and abs(z - zone.height) < 0.5 * self.rules.height

    def square(self, i, j):
        """Return the corners of the square that a body stands on."""
        reach = 0.5 * self.rules.side - TOUCH
        middle = (np.array([i, j]) + 0.5) * self.rules.cell
        return middle - reach, middle + reach

    def is_shut(self, low, high, bottom, top, which):
        if top <= bottom:
            return False
        return bool(box_meets([*low, bottom], [*high, top], self.corners[which], self.axes[:, which]).any())

    def levels(self, i, j):
        """Return the heights at which a body stands in a column."""
        if (i, j) in self.known:
            return self.known[i, j]
        low, high = self.square(i, j)
        square = shapely.box(*low, *high)
        tops = [self.highest_over(number, square) for number in self.ground_near(low, high)]
        tops = [top for top in tops if np.isfinite(top)]
        found = []
        for top in sorted(tops, reverse=True):
            if found and found[-1][0] - top <= SAME:
                continue
            head = top + self.rules.height - TOUCH
            is_free = not self.is_shut(low, high, top + SAME, head, self.is_ground) and not self.is_shut(
                low, high, top + self.rules.step_up, head, np.ones(len(self.corners), dtype=bool)
            )
            found.append((top, is_free and self.has_ground_under(i, j, top)))
        self.known[i, j] = [top for top, is_free in found if is_free]
        return self.known[i, j]

    def has_ground_under(self, i, j, level):
        """Return whether something to stand on lies under the cell itself, at most a step below a level."""
        cell = self.rules.cell
        low, high = np.array([i, j]) * cell + TOUCH, np.array([i + 1, j + 1]) * cell - TOUCH
        own = shapely.box(*low, *high)
        return any(
            level - self.rules.step_up - SAME <= self.highest_over(number, own) <= level + SAME
            for number in self.ground_near(low, high)
        )

    def ground_near(self, low, high):
        """Return the triangles to stand on that may have a point over a square."""
        return np.flatnonzero(
            self.is_ground & (self.low <= high).all(axis=1) & (self.high >= low).all(axis=1)
        )

    def highest_over(self, number, square):
        """Return the highest point of a triangle over a square, -inf if none is there."""
        common = self.plans[number].intersection(square)
        if common.is_empty:
            return -np.inf
        a, b, c = self.corners[number]
        normal = np.cross(b - a, c - a)
        points = shapely.get_coordinates(common)
        return float((a[2] - ((points - a[:2]) @ normal[:2]) / normal[2]).max())

    def free_above(self, i, j, level, top):
        low, high = self.square(i, j)
        return not self.is_shut(
            low, high, level + self.rules.step_up, top - SAME, np.ones(len(self.corners), dtype=bool)
        ) and not self.is_shut(low, high, level + SAME, top - SAME, self.is_ground)

    def step(self, cell, side):
        """Return the cell that a step leads to, or None."""
        rules = self.rules
        i, j, z = cell
        k, m = i + side[0], j + side[1]
        others = [level for level in self.levels(k, m) if level <= z + rules.step_up + SAME]
        if not others or max(others) < z - rules.drop - SAME:
            return None
        other = max(others)
        higher = max(z, other)
        if not (
            self.free_above(i, j, z, higher + rules.height)
            and self.free_above(k, m, other, higher + rules.height)
        ):
            return None
        # what stands between both squares
        low, high = np.minimum(self.square(i, j)[0], self.square(k, m)[0]), None
        high = np.maximum(self.square(i, j)[1], self.square(k, m)[1])
        if self.is_shut(
            low,
            high,
            higher + rules.step_up,
            higher + rules.height - TOUCH,
            np.ones(len(self.corners), dtype=bool),
        ):
            return None
        return k, m, other


def box_triangles(low, high):
    """Return the twelve triangles of a box."""
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))), dtype=float)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.array([corners[list(t)] for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])


def land(mesh, corners, place, height):
    """Return the polygon that an agent comes to and how far it falls, from the definitions: where a vertical
    line meets the planes of triangles, and which polygon is nearest to that.
    """
    x, y = place
    hits = []
    for a, b, c in np.asarray(corners, dtype=float):
        plan = shapely.Polygon([a[:2], b[:2], c[:2]])
        if plan.area > 0.0 and plan.covers(shapely.Point(x, y)):
            normal = np.cross(b - a, c - a)
            z = a[2] - (normal[0] * (x - a[0]) + normal[1] * (y - a[1])) / normal[2]
            hits += [z] if z <= height + mesh.step else []
    hit = max(hits, default=height)
    found = []
    for polygon in range(mesh.polygon_count):
        # over steps polygons share corners: what counts is the plane of each
        first = mesh.vertex[mesh.edge_vertex[mesh.polygon_start[polygon]], :2]
        z = mesh.polygon_height[polygon] + float(mesh.polygon_slope[polygon] @ (np.array([x, y]) - first))
        beside = max(0.0, -depth_in_polygon(mesh, polygon, x, y))
        found.append((z > height + mesh.step, round(np.hypot(beside, z - hit), 9), polygon, z))
    _, _, polygon, z = min(found)
    return polygon, max(0.0, height - z)
