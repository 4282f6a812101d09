"""Local navigation grids against the times that [Mononen 2010] published:
0.026 ms for an update with 6 segments and 6 agents, 0.012 ms for a query.

``python benchmarks/local_grid.py``. Its machine was a Core Duo of 2.8 GHz, and the size of its grid is not
said: 20 to 64 cells a side "probably suffices".
"""

from __future__ import annotations

import time

import numpy as np

from crowdsim.kernels.decorator import kernel
from crowdsim.navigation.local_grid.detours import find_local_path, make_scratch
from crowdsim.navigation.local_grid.grid import corner_of_grid, draw_discs, draw_segments, find_spans

UPDATE_MS, QUERY_MS = 0.026, 0.012  # [Mononen 2010], "Local Navigation Grids", Finding the Final Path
SCENES, ROUNDS, RADIUS, CELL = 200, 20, 0.2, 0.15


@kernel
def run(scenes, rounds, side, cell, discs, segments, to, radius, asks, out):
    """Update the grids of scenes again and again, and ask each, if `asks`."""
    scratch = make_scratch(side)
    words = scratch.words
    corner = corner_of_grid(0.0, cell, side)
    for _ in range(rounds):
        for scene in range(scenes):
            words[:] = 0
            draw_discs(words, side, cell, corner, corner, discs[scene], discs.shape[1])
            draw_segments(words, side, cell, corner, corner, segments[scene], segments.shape[1], radius)
            out[scene] = find_spans(words, side, scratch.spans, scratch.row_start)
            for _ in range(asks):
                said, found = find_local_path(
                    scratch, side, cell, corner, corner, 0.0, 0.0, to[scene, 0], to[scene, 1]
                )
                out[scene] = 10 * said + found


def best(asks: int, side: int, data: tuple[np.ndarray, ...]) -> float:
    """Return the time of an update with so many queries after it, ms: the best of seven."""
    discs, segments, to = data
    out, found = np.zeros(SCENES, dtype=np.int64), []
    for _ in range(7):
        start = time.perf_counter()
        run(SCENES, ROUNDS, side, CELL, discs, segments, to, RADIUS, asks, out)
        found.append(time.perf_counter() - start)
    return 1e3 * min(found) / (SCENES * ROUNDS)


def main() -> None:
    """Print the table."""
    print(
        "| cells a side | update, 6 segments and 6 agents | Mononen | query with the string | Mononen |\n"
        "| ---: | ---: | ---: | ---: | ---: |"
    )
    for side in (20, 32, 64):
        rng, half = np.random.default_rng(1), 0.5 * side * CELL
        discs = np.concatenate(
            [rng.uniform(-half, half, (SCENES, 6, 2)), np.full((SCENES, 6, 1), 2 * RADIUS)], axis=2
        )
        from_ = rng.uniform(-half, half, (SCENES, 6, 2))
        segments = np.concatenate([from_, from_ + rng.uniform(-2.0, 2.0, (SCENES, 6, 2))], axis=2)
        data = (discs, segments, rng.uniform(-half, half, (SCENES, 2)))
        update = best(0, side, data)
        query = (best(4, side, data) - update) / 4  # each of which finds the spans again
        print(f"| {side} | {update:.4f} ms | {UPDATE_MS} ms | {query:.4f} ms | {QUERY_MS} ms |")


if __name__ == "__main__":
    main()
