"""Makes the soups that ship, with what models of buildings are like: triangles in no order, boxes that reach
into each other, cracks, and corners on the edges of others.

``python -m tests.navigation.soup.worlds`` writes them.
"""

from __future__ import annotations

import numpy as np

from tests.crowds import SCENARIOS
from tests.navigation.soup.scenes import block, floor, quad, stair, wall

STEPS, RISER, TURN = 48, 0.16, 2.0 * np.pi / 24
INNER, OUTER = 0.5, 2.4
TOP = STEPS * RISER  # where the stair ends: two turns above where it begins


def wedge(first, last, low, high, inner=INNER, outer=OUTER):
    """Return the triangles of a tread: a prism over a piece of a ring."""
    angle = np.linspace(first, last, 3)
    ring = np.concatenate(
        [
            inner * np.column_stack([np.cos(angle), np.sin(angle)]),
            outer * np.column_stack([np.cos(angle), np.sin(angle)])[::-1],
        ]
    )
    count = len(ring)
    faces = []
    for k in range(1, count - 1):
        for z in (low, high):
            faces.append([[*ring[0], z], [*ring[k], z], [*ring[k + 1], z]])
    for k in range(count):
        a, b = ring[k], ring[(k + 1) % count]
        faces += [[[*a, low], [*b, low], [*b, high]], [[*a, low], [*b, high], [*a, high]]]
    return np.array(faces)


def spiral():
    """Return a spiral stair of two turns round a pillar, from a hall to a platform above it."""
    parts = [
        floor(-6, -8, 0.3, 6),  # the floor of the hall, in three pieces with a crack of 2 mm between two
        floor(0.302, -8, 9, -0.5),
        floor(0.302, -0.5, 9, 6),
        block(-0.45, -0.45, -0.5, 0.45, 0.45, TOP + 3.0),  # the pillar reaches into the treads
        block(2.2, -1.9, TOP - 0.2, 9, 3, TOP),  # the platform reaches into the last treads
        block(8.7, -1.9, TOP - 0.3, 9, 3, TOP + 1.1),  # a parapet
        block(5, -8, 0, 5.3, -3, 3),
        block(5, -2, -0.3, 5.3, 6, 3),  # a wall in the hall, with a doorway
    ]
    for step in range(STEPS):
        high = (step + 1) * RISER
        parts.append(wedge(step * TURN - 0.02, (step + 1) * TURN + 0.02, high - 0.2, high))
    return shuffled(parts)


def shuffled(parts):
    """Return triangles in no order, each beginning at any of its corners."""
    corners = np.concatenate(parts)
    rng = np.random.default_rng(1)
    corners = corners[rng.permutation(len(corners))]
    corners = np.stack([np.roll(triangle, rng.integers(3), axis=0) for triangle in corners])
    return np.round(corners, 4)


def slab(x0, y0, x1, y1, z):
    return block(x0, y0, z - 0.3, x1, y1, z)


def tower():
    """Return a tower of a basement, three storeys and a roof.

    A stair leads from the basement to the hall, and one from the hall to the first floor; the hall is cut in
    two by a wall with a locked door. Nothing leads further up but a lift and a ladder.
    """
    parts = [
        slab(0, 0, 14, 8, -3.0),
        stair(2.0, 0, 1.5, -3.0, 17, 0.28, 3.0 / 17),
        slab(0, 0, 2.4, 1.6, 0.0),  # these reach into each other, and into the stair
        slab(6.7, 0, 14, 1.6, 0.0),
        slab(0, 1.5, 5.0, 8, 0.0),
        slab(5.002, 1.5, 9.3, 8, 0.0),  # a crack of 2 mm
        slab(9.3, 1.5, 14, 4.4, 0.0),  # its corner lies on the edge of the last
        slab(9.3, 4.4, 14, 8, 0.0),
        block(8.0, -0.1, -0.1, 8.2, 3.0, 3.3),  # the wall with its door, which is shut
        block(8.0, 4.2, -0.1, 8.2, 8.1, 3.3),
        block(8.0, 2.9, 2.1, 8.2, 4.3, 3.3),
        block(8.05, 2.95, -0.05, 8.15, 4.25, 2.2),
        stair(1.0, 6.5, 8, 0.0, 20, 0.28, 3.5 / 20),
        slab(0, 0, 9.0, 6.5, 3.5),
        slab(8.9, 0, 14, 8, 3.5),
        slab(6.55, 6.4, 9.0, 8, 3.5),
        slab(0, 6.4, 2.4, 8, 3.5),
        slab(0, 0, 7.5, 8, 7.0),
        slab(7.4, -0.2, 14, 8.2, 7.0),
        slab(2, 1, 12, 7, 10.5),
        block(11.9, 1, 10.2, 12.1, 7, 11.6),  # a parapet
    ]
    for x, y in ((0.2, 0.2), (13.8, 0.2), (0.2, 7.8), (13.8, 7.8)):  # pillars from bottom to top
        parts.append(block(x - 0.15, y - 0.15, -3.2, x + 0.15, y + 0.15, 7.2))
    return shuffled(parts)


def cliff():
    """Return a valley with a rock across its north-west: a ramp leads up at its far end, and its edge stands
    across the cells.
    """
    edge = np.array([[0.0, 6.0], [24.0, 11.0]])
    top = np.array([[edge[0], edge[1], [24.0, 18.0]], [edge[0], [24.0, 18.0], [0.0, 18.0]]])
    parts = [
        floor(0, 0, 16.003, 18),
        floor(16.005, 0, 36, 18),  # a crack of 2 mm
        np.concatenate([top, np.full((2, 3, 1), 2.0)], axis=2),
        wall(*edge[0], *edge[1], -0.5, 2.0),
        wall(24.0, 11.0, 24.0, 13.5, -0.5, 2.0),
        quad([24.0, 13.5, 2.0], [24.0, 18.0, 2.0], [32.0, 18.0, 0.0], [32.0, 13.5, 0.0]),
        wall(24.0, 13.5, 32.0, 13.5, -0.5, 3.2),  # a rail beside the ramp
        block(8, 2, -0.2, 9.5, 3.5, 1.2),
    ]
    return shuffled(parts)


def overpass():
    """Return a road between two squares, and a bridge over it with a ramp on each: triangles, and what each
    is made of.
    """
    road = floor(0, 10, 40, 16)
    squares = [floor(8, -6, 32, 10.0005), floor(8, 16, 20, 32), floor(20, 16, 32, 32)]
    bridge = [
        slab(18, 7.9, 21, 18.1, 3.0),
        quad([18, -2, 0], [21, -2, 0], [21, 8, 3], [18, 8, 3]),
        quad([18, 28, 0], [21, 28, 0], [21, 18, 3], [18, 18, 3]),
    ]
    for x in (18.0, 21.0):  # rails, which stand on the ground beside the ramps
        bridge += [
            wall(x, -2, x, 8, -0.1, 4.2),
            wall(x, 18, x, 28, -0.1, 4.2),
            wall(x, 7.9, x, 18.1, 2.8, 4.2),
        ]
    paved = np.concatenate([*squares, *bridge])
    order = np.random.default_rng(1).permutation(len(road) + len(paved))
    materials = np.array(["asphalt"] * len(road) + ["paving"] * len(paved))
    return np.round(np.concatenate([road, paved])[order], 4), materials[order]


def cutting():
    """Return two squares with a railway cutting between them, 3 m deep, and what each triangle is made of.

    A footbridge leads over it, rubble can lie below that, and a gangway can be laid farther along. Out of the
    cutting a stair leads up to the north.
    """
    made = {
        "paving": [
            floor(0, 0, 14.003, 10),
            floor(14.005, 0, 30, 10),  # a crack of 2 mm
            floor(0, 18, 30, 28),
            *(floor(0, 10, 30, 18, -3.0), stair(17.0, 16.2, 18.0, -3.0, 17, 0.28, 3.0 / 17)),
            floor(21.7, 16.2, 30, 18.1),
            wall(0, 10, 30, 10, -3.2, 0.0),
            wall(0, 18, 17, 18, -3.2, 0.0),
            wall(17, 16.2, 30, 16.2, -3.2, 0.0),  # beside the stair, and below what it comes to
            wall(17, 18, 21.7, 18, -3.2, 1.2),
            wall(21.7, 16.2, 30, 16.2, -0.1, 1.2),
            wall(17, 16.2, 21.7, 16.2, -0.1, 1.2),
        ],
        "planks": [block(7, 9.9, -0.2, 9.5, 18.1, 0.0)],
        "rubble": [
            block(6.5, 12.0, -3.1, 10.0, 16.0, -2.8),
            block(7.2, 12.6, -3.1, 9.2, 15.2, -2.6),
            block(7.8, 13.4, -3.1, 8.6, 14.4, -1.2),
        ],
        "steel": [block(2.5, 9.9, -0.1, 4.5, 18.1, 0.02)],
    }
    for x in (7.0, 9.5):  # rails
        made["planks"].append(wall(x, 10, x, 18, -0.2, 1.2))
    for x in (2.5, 4.5):
        made["steel"].append(wall(x, 10, x, 18, -0.1, 1.2))
    corners = np.concatenate([each for own in made.values() for each in own])
    materials = np.repeat(list(made), [sum(map(len, own)) for own in made.values()])
    order = np.random.default_rng(1).permutation(len(corners))
    return np.round(corners[order], 4), materials[order]


def as_obj(corners, materials=None):
    """Return triangles as the text of an OBJ file, y up; each has corners of its own."""
    lines = ["# made by python -m tests.navigation.soup.worlds"]
    lines += [f"v {x:g} {z:g} {-y + 0.0:g}" for x, y, z in corners.reshape(-1, 3).tolist()]
    last = None
    for k in range(len(corners)):
        if materials is not None and materials[k] != last:
            last = materials[k]
            lines.append(f"usemtl {last}")
        lines.append(f"f {3 * k + 1} {3 * k + 2} {3 * k + 3}")
    return "\n".join(lines) + "\n"


SHIPPED = {
    "cliff.obj": lambda: as_obj(cliff()),
    "cutting.obj": lambda: as_obj(*cutting()),
    "overpass.obj": lambda: as_obj(*overpass()),
    "spiral.obj": lambda: as_obj(spiral()),
    "tower.obj": lambda: as_obj(tower()),
}

if __name__ == "__main__":
    for name, text_of in SHIPPED.items():
        (SCENARIOS / "maps" / name).write_text(text_of())
