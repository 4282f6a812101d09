"""The hot columns: dense rows in ascending entity id."""

import numpy as np
import pytest

from crowdsim.kernels.threads import Team
from crowdsim.world.columns import AGENT_COLUMNS, AgentColumns


def columns_with(entities):
    columns = AgentColumns()
    columns.append(len(entities), {"entity": np.array(entities), "radius": np.array(entities) / 10.0})
    return columns


def test_a_fresh_row_has_the_fills():
    columns = columns_with([4])
    assert columns.goal[0] == -1 and columns.path_tick[0] == -1 and np.isinf(columns.neighbour_reach[0])
    assert columns.position.shape == (1, 2) and columns.position.dtype == np.float64


def test_rows_are_kept_while_the_columns_grow():
    columns = AgentColumns()
    for start in range(0, 1000, 100):
        ids = np.arange(start, start + 100)
        columns.append(100, {"entity": ids, "radius": ids / 7.0})
    assert np.array_equal(columns.entity, np.arange(1000))
    assert np.array_equal(columns.radius, np.arange(1000) / 7.0)


def test_ids_that_do_not_ascend_are_refused():
    columns = columns_with([1, 5])
    for ids in ([5], [9, 8], [4]):
        with pytest.raises(ValueError, match="ascending"):
            columns.append(len(ids), {"entity": np.array(ids)})
    assert len(columns) == 2


def test_removed_rows_leave_the_others_in_order():
    columns = columns_with([1, 3, 4, 8, 9])
    columns.remove(np.array([1, 4]))
    assert columns.entity.tolist() == [1, 4, 8] and columns.radius.tolist() == [0.1, 0.4, 0.8]
    columns.append(1, {"entity": np.array([10])})
    assert columns.entity.tolist() == [1, 4, 8, 10] and columns.radius[3] == 0.0


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.999, 1.0])
def test_every_column_closes_up_over_rows_that_go(share, threads, monkeypatch):
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
    rng, rows, team = np.random.default_rng(3), 500, Team(threads)
    columns = AgentColumns()
    for turn in range(3):  # grown, and grown again, between times
        first, more = len(columns), rows * (1 + turn)
        ids = np.arange(1 + 10_000 * turn, 1 + 10_000 * turn + more)
        columns.append(more, {"entity": ids})
        for name, column in columns.columns.items():
            if name != "entity":
                own = getattr(columns, name)
                own[first:] = rng.integers(0, 200, own[first:].shape).astype(column.dtype)
        before, keep = columns.state(), rng.uniform(size=len(columns)) >= share
        keep[rng.integers(0, len(keep))] = share == 0.0
        columns.remove(np.flatnonzero(~keep), team)
        assert len(columns) == np.count_nonzero(keep)
        for name, column in before.items():
            assert np.array_equal(getattr(columns, name), column[keep], equal_nan=True), name
    team.close()


def test_a_column_cannot_be_replaced_by_accident():
    columns = columns_with([1])
    with pytest.raises(AttributeError, match="radius"):
        columns.radius = np.array([2.0])
    with pytest.raises(AttributeError):
        columns.no_such_column  # noqa: B018


def test_state_and_restore_give_the_same_rows():
    columns = columns_with([2, 7, 11])
    columns.position[:] = np.random.default_rng(0).normal(size=(3, 2))
    kept = columns.state()
    columns.position[:] = 0.0
    columns.remove(np.array([0, 2]))
    columns.restore(kept)
    for column in AGENT_COLUMNS:
        assert np.array_equal(getattr(columns, column.name), kept[column.name], equal_nan=True)
