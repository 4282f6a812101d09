"""Brute force twins of `find_nearest` and `nearest_rows`."""

import numpy as np


def nearest(position, layer, wanted, reach):
    """Rows of the nearest others of the same layer nearer than `reach`, -1 after the last, (n, wanted);
    ties by row.
    """
    count = len(position)
    result = np.full((count, wanted), -1)
    limit = np.float32(reach) * np.float32(reach)
    for row in range(count):
        with np.errstate(over="ignore"):
            difference = (position - position[row]).astype(np.float32)
            square = difference[:, 0] * difference[:, 0] + difference[:, 1] * difference[:, 1]
        others = [
            other
            for other in range(count)
            if other != row and layer[other] == layer[row] and square[other] < limit
        ]
        others.sort(key=lambda other: (square[other], other))
        result[row, : len(others[:wanted])] = others[:wanted]
    return result
