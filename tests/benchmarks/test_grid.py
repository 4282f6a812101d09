"""A search over cells expands five million of them a second, also on the maps of 512 x 512 (by the time of
its own processor).
"""

import numpy as np
import pytest

from benchmarks.grid import best_of, find_all, made, queries_of
from crowdsim.navigation.grid.files import load_grid
from crowdsim.navigation.grid.obstacles import StationaryDiscs
from crowdsim.navigation.grid.search import make_slots
from tests.external.data import need


@pytest.mark.full  # by the clock, so it needs a machine that does nothing else
@pytest.mark.parametrize("name", ["open", "pillars", "a third blocked", "16room_000", "maze512-32-9"])
def test_five_million_cells_a_second(name):
    if name in ("16room_000", "maze512-32-9"):
        path = need("movingai", f"{name}.map")
        grid = load_grid(path)
        start, end = queries_of(grid, path.with_suffix(".map.scen"), 60)
    else:
        grid = made(name)
        start, end = queries_of(grid, None, 60)
    slots = make_slots(1, (grid.width + 2) * (grid.depth + 2))
    arguments = slots, grid.ground, grid.need(0.0), start, end, StationaryDiscs(np.zeros((0, 3)), 0, 0, 1.0)
    expansions, _ = find_all(*arguments, False)
    assert expansions / best_of(lambda: find_all(*arguments, False)) > 5e6
