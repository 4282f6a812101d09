"""Prints a digest of what ClearPath and HRVO choose in a few crowds;
started by test_velocity_obstacles_everywhere in other circumstances.
"""

import hashlib
import sys

import numpy as np

from crowdsim.geometry.walls import walls_from_rings
from tests.avoidance.crowds import random_view, view_of
from tests.avoidance.models import choose

hall = walls_from_rings(
    [
        np.array([[-4.0, -4.0], [4.0, -4.0], [4.0, 4.0], [-4.0, 4.0]]),
        np.array([[1.0, 1.0], [1.0, 1.8], [1.7, 1.8], [1.7, 1.0]]),
    ]
)
rng = np.random.default_rng(3)
place = rng.uniform(-3.8, 3.8, (12, 2))
crowds = [
    random_view(1, 14, density=0.6, active=np.arange(14) % 5 > 0),
    random_view(2, 10, density=3.0),
    view_of(place, rng.normal(size=(12, 2)), rng.normal(size=(12, 2)), walls=hall),
]
digest = hashlib.blake2b(digest_size=16)
for view in crowds:
    for name, parameters in (
        ("clearpath", {}),
        ("clearpath", {"tip": "butt", "boundary_choice": "nearest"}),
        ("hrvo", {}),
    ):
        for array in choose(name, view, **parameters):
            digest.update(array.tobytes())
sys.stdout.write(digest.hexdigest())
