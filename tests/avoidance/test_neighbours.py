"""The nearest neighbours are those of brute force, in every world and after every kind of change."""

import numpy as np
import pytest

from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS, nearest_rows
from crowdsim.geometry.cells import CellIndex
from tests.avoidance.crowds import choose, random_view
from tests.geometry.test_cells import worlds
from tests.reference import neighbours as twin


def found_by_kernel(position, layer, wanted, reach, cell_size=1.0):
    cells = CellIndex(cell_size).build(position, layer)
    rows, count = np.empty((len(position), wanted), np.int64), np.empty(len(position), np.int64)
    nearest_rows(0, len(position), cells, wanted, reach, rows, count)
    assert ((rows >= 0).sum(axis=1) == count).all()
    return rows


@pytest.mark.sample(3)
@pytest.mark.parametrize("wanted", [1, 10, MOST_NEIGHBOURS])
@pytest.mark.parametrize("name", worlds())
def test_find_nearest_equals_brute_force(name, wanted):
    position, layer = worlds()[name]
    layer = np.array(layer, dtype=np.int32)
    for reach, cell_size in ((0.7, 0.4), (5.0, 1.5), (40.0, 3.0)):
        assert (
            found_by_kernel(position, layer, wanted, reach, cell_size)
            == twin.nearest(position, layer, wanted, reach)
        ).all()


def test_a_pile_larger_than_the_workspace_is_searched_whole():
    rng = np.random.default_rng(4)
    position = np.concatenate([np.full((700, 2), 1.0), rng.uniform(0.0, 2.0, (900, 2))])
    layer = np.zeros(1600, np.int32)
    rows = found_by_kernel(position, layer, 10, 5.0)
    chosen = rng.permutation(1600)[:40]
    for row in chosen:
        square = ((position - position[row]).astype(np.float32) ** 2).sum(axis=1)
        order = [other for other in np.lexsort((np.arange(1600), square)) if other != row][:10]
        assert rows[row].tolist() == order


@pytest.mark.parametrize("seed", range(3))
def test_remembered_reach_stays_exact_after_teleports_arrivals_and_departures(seed):
    """ORCA with the memory of the last tick chooses what ORCA without memory chooses."""
    rng = np.random.default_rng(seed)
    view = random_view(seed, 200, density=1.5)
    reach = view.reach
    for tick in range(12):
        n = len(view.entity)
        if tick % 3 == 0:  # teleports: some jump across the crowd
            view.position[rng.integers(0, n, 20)] = rng.uniform(0.0, 12.0, (20, 2))
        if tick % 3 == 1:  # departures
            keep = np.sort(rng.permutation(n)[: n - 15])
            view, reach = (
                type(view)(*(part[keep] if isinstance(part, np.ndarray) else part for part in view)),
                reach[keep],
            )
        if tick % 3 == 2:  # arrivals
            more = random_view(100 * seed + tick, 25, density=1.5)
            view = type(view)(
                *(
                    np.concatenate([old, new]) if isinstance(old, np.ndarray) else old
                    for old, new in zip(view, more, strict=True)
                )
            )._replace(entity=np.arange(1, len(view.entity) + 26))
            reach = np.concatenate([reach, np.full(25, np.inf, np.float32)])
        view = view._replace(cells=CellIndex().build(view.position, view.layer))
        remembering, fresh = (
            view._replace(reach=reach),
            view._replace(reach=np.full(len(reach), np.inf, np.float32)),
        )
        one, other = choose(remembering), choose(fresh)
        assert (one.velocity == other.velocity).all()
        assert (one.blocker == other.blocker).all()
        assert (remembering.reach == fresh.reach).all()
        reach = remembering.reach
        view.position[:] += one.velocity * 0.05
        view.velocity[:] = one.velocity
