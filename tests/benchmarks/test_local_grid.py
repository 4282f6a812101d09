"""Local grids keep to the times that [Mononen 2010] published with room to spare, also on a busy machine."""

import numpy as np

from benchmarks.local_grid import CELL, QUERY_MS, RADIUS, SCENES, UPDATE_MS, best


def test_updates_and_queries_are_within_the_published_times():
    rng, half = np.random.default_rng(1), 0.5 * 32 * CELL
    from_ = rng.uniform(-half, half, (SCENES, 6, 2))
    discs = np.concatenate(
        [rng.uniform(-half, half, (SCENES, 6, 2)), np.full((SCENES, 6, 1), 2 * RADIUS)], axis=2
    )
    data = (
        discs,
        np.concatenate([from_, from_ + rng.uniform(-2.0, 2.0, (SCENES, 6, 2))], axis=2),
        rng.uniform(-half, half, (SCENES, 2)),
    )
    best(4, 32, data)  # compiles
    update = best(0, 32, data)
    assert update < UPDATE_MS and (best(4, 32, data) - update) / 4 < QUERY_MS
