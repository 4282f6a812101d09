"""The cell index holds all agents once, and its windows miss nobody."""

import numpy as np
import pytest

from crowdsim.geometry.cells import (
    CELLS_PER_AGENT,
    FEW_PLANES,
    LEAST_CELLS,
    CellIndex,
    Heights,
    plane_numbers,
    window,
)
from crowdsim.kernels.threads import Team
from tests.reference import cells as twin


def worlds():
    """Positions and layers of awkward crowds, by name."""
    rng = np.random.default_rng(11)
    clusters = np.concatenate(
        [rng.normal(centre, 2.0, (60, 2)) for centre in ((0.0, 0.0), (1e5, 3.0), (-4e4, 9e5))]
    )
    spread = rng.uniform(0.0, 30.0, (200, 2))
    return {
        "one agent": (np.array([[3.0, 4.0]]), [0]),
        "a room": (spread, np.zeros(200)),
        "three floors": (spread, rng.integers(0, 3, 200)),
        "floors with gaps": (spread, rng.choice([-(2**31), -5, 7, 2**31 - 1], 200)),
        "a floor each": (spread, rng.permutation(200)),
        "UTM": (spread + np.array([4e5, 5e6]), np.zeros(200)),
        "far clusters": (clusters, np.zeros(180)),
        "a straggler": (np.concatenate([spread, [[1e9, -1e9]]]), np.zeros(201)),
        "a line": (np.stack([np.arange(200) * 50.0, np.zeros(200)], axis=1), np.zeros(200)),
        "all in one place": (np.full((50, 2), 7.25), np.zeros(50)),
        "a lattice": (
            np.stack(np.meshgrid(np.arange(15.0), np.arange(15.0)), axis=-1).reshape(-1, 2),
            np.zeros(225),
        ),
    }


@pytest.mark.parametrize("cell_size", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("name", worlds())
def test_a_window_holds_all_agents_within_reach_and_nobody_twice(name, cell_size):
    position, layer = worlds()[name]
    layer = np.array(layer, dtype=np.int32)
    cells = CellIndex(cell_size).build(position, layer)
    for row in range(0, len(layer), 7):
        slot = int(cells.slot[row])
        assert cells.row[slot] == row
        for reach in (0.2, 1.0, 6.0):
            found = window(
                plane_numbers(cells.origin, cells.shape, cells.plane[slot]),
                cells.per_metre,
                *position[row],
                reach,
            )
            rows = twin.rows_of_window(cells, cells.plane[slot], found)
            assert len(rows) == len(set(rows))
            assert all(layer[other] == layer[row] for other in rows)
            near = np.flatnonzero((np.hypot(*(position - position[row]).T) <= reach) & (layer == layer[row]))
            assert set(near) <= set(rows)


@pytest.mark.parametrize("name", worlds())
def test_every_row_has_one_slot_and_cells_keep_the_order_of_rows(name):
    position, layer = worlds()[name]
    cells = CellIndex(1.0).build(position, np.array(layer, dtype=np.int32))
    n = len(layer)
    assert sorted(cells.row.tolist()) == list(range(n))
    assert (cells.slot[cells.row] == np.arange(n)).all()
    assert (cells.x[:n] == position[cells.row, 0]).all()
    assert (cells.y[:n] == position[cells.row, 1]).all()
    for cell in range(len(cells.start) - 2):
        assert (np.diff(cells.row[cells.start[cell] : cells.start[cell + 1]].astype(np.int64)) > 0).all()
    assert cells.start[len(cells.start) - 2] == n


def test_plane_numbers_agrees_with_reference():
    position, layer = worlds()["three floors"]
    cells = CellIndex(1.0).build(position, np.array(layer, dtype=np.int32))
    for place in range(3):
        assert tuple(plane_numbers(cells.origin, cells.shape, place)) == twin.plane_numbers(cells, place)


@pytest.mark.parametrize("name", worlds())
def test_memory_follows_the_agents_and_not_the_area(name):
    position, layer = worlds()[name]
    cells = CellIndex(0.01).build(position, np.array(layer, dtype=np.int32))
    floors = len(np.unique(layer))
    assert len(cells.start) <= CELLS_PER_AGENT * len(layer) + LEAST_CELLS * floors + 2


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("name", worlds())
def test_threads_sort_as_one_does(name, threads, monkeypatch):
    monkeypatch.setattr("crowdsim.geometry.cells.SORTED_AT_ONCE", 1)  # so that few agents are shared out
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
    position, layer = worlds()[name]
    layer, rng = np.array(layer, dtype=np.int32), np.random.default_rng(5)
    slope = rng.normal(size=(len(layer), 2))
    heights = Heights(rng.normal(size=len(layer)), slope, 0.5)
    team = Team(threads)
    alone, shared = CellIndex(1.0), CellIndex(1.0)
    for ground in (heights, None):
        one = alone.build(position, layer, heights=ground)
        other = shared.build(position, layer, heights=ground, team=team)
        count = len(layer)
        for field in ("x", "y", "z", "slope_x", "slope_y"):  # what lies behind the agents is nothing
            assert np.array_equal(getattr(one, field)[:count], getattr(other, field)[:count]), field
        for field in ("row", "slot", "plane", "start", "origin", "shape", "per_metre", "step"):
            assert np.array_equal(getattr(one, field), getattr(other, field)), field
    team.close()


@pytest.mark.parametrize("order", [1, -1])
def test_what_was_sorted_before_leaves_nothing(order):
    kept = CellIndex(1.0)
    for name in [*worlds()][::order] * 2:  # floors come and go, and more agents after fewer
        position, layer = worlds()[name]
        layer = np.array(layer, dtype=np.int32)
        found, fresh = kept.build(position, layer), CellIndex(1.0).build(position, layer)
        for field in ("row", "slot", "plane", "start", "origin", "shape"):
            assert np.array_equal(getattr(found, field), getattr(fresh, field)), (name, field)


def test_buffers_are_kept_between_builds():
    index, rng = CellIndex(), np.random.default_rng(0)
    layer = np.zeros(1000, np.int32)
    first = index.build(rng.uniform(0.0, 30.0, (1000, 2)), layer)
    second = index.build(rng.uniform(0.0, 30.0, (1000, 2)), layer)
    assert np.shares_memory(first.x, second.x)
    assert np.shares_memory(first.start, second.start)


def test_a_coordinate_that_is_no_place_is_named():
    for fault in (np.nan, np.inf, 1e300):
        position = np.zeros((5, 2))
        position[3, 1] = fault
        with pytest.raises(ValueError, match="row 3"):
            CellIndex().build(position, np.zeros(5, np.int32))


@pytest.mark.parametrize("cell_size", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("name", worlds())
def test_tables_are_laid_out_as_the_twin_does(name, cell_size):
    position, layer = worlds()[name]
    layer = np.array(layer, dtype=np.int32)
    cells = CellIndex(cell_size).build(position, layer)
    planes = (
        np.unique(layer)
        if np.ptp(layer.astype(np.int64)) >= FEW_PLANES
        else np.arange(layer.min(), layer.max() + 1)
    )
    own = [position[layer == plane] for plane in planes]
    boxes = [(*each.min(axis=0), *each.max(axis=0)) if len(each) else (0.0,) * 4 for each in own]
    rows, count = twin.lay_out(boxes, list(map(len, own)), 1.0 / cell_size, LEAST_CELLS, CELLS_PER_AGENT)
    assert [
        (*place, *shape) for place, shape in zip(cells.origin.tolist(), cells.shape.tolist(), strict=True)
    ] == rows
    assert len(cells.start) == count + 2
