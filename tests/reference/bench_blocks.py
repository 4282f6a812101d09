"""Naive twin of `crowdsim.bench.crowds.find_blocks`:
which block of a square of blocks a point stands in, by trying them all.
"""

from __future__ import annotations


def block_of(x: float, y: float, per_metre: float, blocks: int) -> int:
    """Return the number of the block by columns; a point beyond the square has the nearest."""
    size = 1.0 / per_metre

    def nearest(value: float) -> int:
        return min(
            range(blocks), key=lambda number: max(number * size - value, 0.0, value - (number + 1) * size)
        )

    return nearest(x) * blocks + nearest(y)
