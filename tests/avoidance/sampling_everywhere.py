"""Prints a digest of what the sampling models choose in small crowds;
started by test_sampling_everywhere in other circumstances.
"""

import hashlib
import math
import sys

import numpy as np

from crowdsim.avoidance.model import empty_choice
from crowdsim.avoidance.registry import model_named
from crowdsim.geometry.walls import walls_from_rings
from crowdsim.kernels.threads import Team
from tests.avoidance.crowds import view_of

hall = walls_from_rings(
    [
        np.array([[-3.0, -3.0], [3.0, -3.0], [3.0, 3.0], [-3.0, 3.0]]),
        np.array([[1.0, 1.0], [1.0, 1.8], [1.7, 1.8], [1.7, 1.0]]),
    ]
)
rng = np.random.default_rng(3)
digest = hashlib.blake2b(digest_size=16)
for name, parameters in (
    ("sampled-hrvo", {}),
    ("sampled-hrvo", {"sampler": "grid", "grid": 17}),
    ("toi", {}),
):
    position, velocity = rng.uniform(-3.0, 3.0, (30, 2)), rng.normal(size=(30, 2))
    model = model_named(name)
    model = model(model.Parameters(**parameters))
    for _ in range(3):
        view, out = view_of(position, velocity, -position, walls=hall, speed=1.7), empty_choice(30)
        model.choose(view, 0.05, Team(1), out)
        for part in out:
            digest.update(part.tobytes())
        position, velocity = position + 0.05 * out.velocity, out.velocity
sys.stdout.write(f"digest {digest.hexdigest()} exp {sum(math.exp(k * 0.001) for k in range(1000)).hex()}\n")
