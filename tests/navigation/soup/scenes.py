"""Worlds of triangles, with known ground."""

from __future__ import annotations

import numpy as np

from crowdsim.navigation.soup.fill import FillRules, fill
from tests.reference.fill import box_triangles

RULES = FillRules(side=0.25, height=1.8, cell=0.25)


def quad(*corners):
    """Return two triangles."""
    a, b, c, d = np.array(corners, dtype=float)
    return np.array([[a, b, c], [a, c, d]])


def floor(x0, y0, x1, y1, z=0.0):
    """Return a level rectangle."""
    return quad([x0, y0, z], [x1, y0, z], [x1, y1, z], [x0, y1, z])


def wall(x0, y0, x1, y1, z0=0.0, z1=3.0):
    """Return an upright rectangle without thickness."""
    return quad([x0, y0, z0], [x1, y1, z0], [x1, y1, z1], [x0, y0, z1])


def block(x0, y0, z0, x1, y1, z1):
    return box_triangles((x0, y0, z0), (x1, y1, z1))


def stair(x, y0, y1, z, steps, tread=0.3, riser=0.18):
    """Return boxes that rise along x."""
    return np.concatenate(
        [
            block(x + k * tread, y0, z - 0.1, x + (k + 1) * tread, y1, z + (k + 1) * riser)
            for k in range(steps)
        ]
    )


def filled(*parts, seed=(0.6, 0.6, 0.0), rules=RULES):
    """Return the cells of a world that a body gets to."""
    corners = np.concatenate(parts)
    return fill(corners, np.ones(len(corners), dtype=np.uint8), [seed], rules)


def places(cells):
    """Return the middles of cells, (n, 3) m."""
    table = cells.table()
    side = cells.rules.cell
    return np.column_stack([(table.column + 0.5) * side, (table.row + 0.5) * side, table.z])


def random_world(seed, boxes=14, sheets=10, size=5.0):
    """Return boxes at any angle and tilted triangles over a floor; heights are no multiples of anything."""
    rng = np.random.default_rng(seed)
    parts = [floor(-0.5, -0.5, size + 0.5, size + 0.5, rng.uniform(-0.1, 0.1))]
    for _ in range(boxes):
        low = rng.uniform(-0.2, 0.2, 3)
        high = low + rng.uniform([0.1, 0.1, 0.05], [1.5, 1.5, 2.5])
        corners = box_triangles(low, high)
        angle = rng.uniform(0, 2 * np.pi)
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        parts.append(corners @ turn.T + np.array([*rng.uniform(0, size, 2), rng.choice([0.0, 0.0, 1.2])]))
    for _ in range(sheets):
        middle = np.array([*rng.uniform(0, size, 2), rng.uniform(0, 2.5)])
        parts.append(middle + rng.normal(0, [1.2, 1.2, 0.4], (1, 3, 3)))
    return np.concatenate(parts)
