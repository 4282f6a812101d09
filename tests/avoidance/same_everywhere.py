"""Prints a digest of a small run with everything that avoidance and bodies do;
started by test_same_everywhere in other circumstances.
"""

import hashlib
import math
import sys

import numpy as np

from crowdsim.geometry.walls import walls_from_rings
from tests.avoidance.crowds import antipodal, walk

hall = walls_from_rings(
    [
        np.array([[-4.0, -4.0], [4.0, -4.0], [4.0, 4.0], [-4.0, 4.0]]),
        np.array([[1.0, 1.0], [1.0, 1.8], [1.7, 1.8], [1.7, 1.0]]),
    ]
)
digest = hashlib.blake2b(digest_size=16)
for start, goal, walls in ((*antipodal(6, 2.0), None), (*antipodal(9, 3.0, noise=0.3), hall)):
    outcome = walk(start, goal, breaker={}, walls=walls, limit=2.0, keep_paths=True)
    for positions in outcome.paths:
        digest.update(positions.tobytes())
digest.update(np.float64(outcome.deepest).tobytes())
sys.stdout.write(f"digest {digest.hexdigest()} exp {sum(math.exp(k * 0.001) for k in range(1000)).hex()}\n")
