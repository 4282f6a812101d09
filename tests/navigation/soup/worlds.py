"""Makes the soups that ship, with what models of buildings are like: triangles in no order, boxes that reach
into each other, cracks, and corners on the edges of others.

``python -m tests.navigation.soup.worlds`` writes them.
"""

from __future__ import annotations

import numpy as np

from tests.crowds import SCENARIOS
from tests.navigation.soup.scenes import block, floor

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
    corners = np.concatenate(parts)
    rng = np.random.default_rng(1)
    corners = corners[rng.permutation(len(corners))]
    corners = np.stack([np.roll(triangle, rng.integers(3), axis=0) for triangle in corners])
    return np.round(corners, 4)


def as_obj(corners):
    """Return triangles as the text of an OBJ file, y up; each has corners of its own."""
    lines = ["# made by python -m tests.navigation.soup.worlds"]
    lines += [f"v {x:g} {z:g} {-y + 0.0:g}" for x, y, z in corners.reshape(-1, 3).tolist()]
    lines += [f"f {3 * k + 1} {3 * k + 2} {3 * k + 3}" for k in range(len(corners))]
    return "\n".join(lines) + "\n"


SHIPPED = {"spiral.obj": spiral}

if __name__ == "__main__":
    for name, make in SHIPPED.items():
        (SCENARIOS / "maps" / name).write_text(as_obj(make()))
