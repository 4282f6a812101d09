"""Requests stand in line, are taken and are dropped as lists would have it; keys are found as in a dict."""

import numpy as np
import pytest

from crowdsim.navigation.planning.keys import group_equal, make_table, note_numbers, place_of
from crowdsim.navigation.planning.waiting_rows import (
    UNASSIGNED,
    drop_rows,
    first_alone,
    head_of,
    heads_of,
    larger_queues,
    make_queues,
    make_rows,
    stand_rows,
    take_alone,
    take_of_tree,
)
from tests.reference.waiting_rows import Lines

ROOM, SLOTS, BATCH = 4000, 3, 5


@pytest.mark.parametrize("seed", range(6))
def test_lines_are_those_of_lists(seed):
    rng, twin = np.random.default_rng(seed), Lines()
    rows, row_of, queues, count = make_rows(ROOM), make_table(ROOM), make_queues(2), 0
    jobs, begin, many = (
        np.zeros((SLOTS, BATCH), np.int64),
        np.zeros(SLOTS, np.int64),
        np.zeros(SLOTS, np.int64),
    )
    active, paid, taken = np.zeros(SLOTS, np.int64), np.zeros(SLOTS, np.int64), np.empty(BATCH, np.int64)
    is_grown, used, first, done = np.array([True, False, True]), 0, 0, dict.fromkeys("sard", 0)
    while used < ROOM - 40:
        what = "ssardd"[rng.integers(6)]
        if what == "s":
            free = np.setdiff1d(np.arange(600), rows.entity[:used][rows.is_open[:used] == 1])
            size = min(len(free), int(rng.integers(1, 30)))
            fresh = slice(used, used + size)
            rows.entity[fresh] = rng.permutation(free)[:size]
            rows.key[fresh], rows.tree[fresh] = rng.integers(0, 40, size), rng.integers(-1, 3, size)
            rows.shares[fresh], rows.is_open[fresh], rows.slot[fresh] = (
                rng.integers(0, 2, size),
                1,
                UNASSIGNED,
            )
            note_numbers(row_of, rows.entity[fresh], used)
            at, woken, begun = used, np.empty(size, np.int64), []
            while at < fresh.stop:
                *_, count, heads, at = stand_rows(rows, at, fresh.stop, queues, count, woken)
                begun += woken[:heads].tolist()
                queues = larger_queues(queues) if at < fresh.stop else queues
            facts = zip(range(used, fresh.stop), rows.entity[fresh].tolist(), rows.key[fresh].tolist(),
                        rows.shares[fresh].tolist(), strict=True)  # fmt: skip
            expected = [row for row, *more in facts if twin.stand(row, *more)]
            assert begun == expected
            used = fresh.stop
        slot = int(rng.integers(SLOTS))
        if what in "ar" and begin[slot] == many[slot]:
            key, most = int(rng.integers(0, 40)), int(rng.integers(1, BATCH + 1))
            assert head_of(rows, queues, key) == twin.head_of(key)
            heads = np.empty(40, dtype=np.int64)
            waiting = heads_of(rows, queues, np.arange(40), heads)
            assert waiting == np.count_nonzero(heads >= 0)
            assert heads.tolist() == [twin.head_of(each) for each in range(40)]
            if what == "a":
                first, size = take_alone(rows, first, used, is_grown, most, taken)
                expected = twin.take_alone(most, rows.tree, is_grown)
            elif key in twin.of_tree:
                size, expected = take_of_tree(rows, queues, key, most, taken), twin.take_of_tree(key, most)
            else:
                continue
            assert taken[:size].tolist() == expected
            jobs[slot, :size], begin[slot], many[slot], active[slot] = taken[:size], 0, size, size > 0
            rows.slot[taken[:size]] = slot
        if what == "d":
            gone = rng.permutation(600)[: int(rng.integers(1, 40))]
            left = [jobs[s, begin[s] : many[s]].tolist() for s in range(SLOTS)]
            closed = [row for row in map(twin.drop, gone.tolist()) if row is not None]
            at_work = [row for each in left for row in each]
            paid[:] = active
            counts = drop_rows(rows, row_of, gone, jobs, begin, many, active, paid)
            assert paid.tolist() == active.tolist()  # what was paid for an answer is gone with its request
            waits = [row for row in closed if row not in at_work]
            alone = sum(int(rows.shares[row]) == 0 for row in waits)
            assert counts == (alone, len(waits) - alone, len(closed) - len(waits))
            for s in range(SLOTS):
                assert jobs[s, begin[s] : many[s]].tolist() == [row for row in left[s] if row not in closed]
            assert not any(active[s] for s in range(SLOTS) if left[s] and left[s][0] in closed)
        elif what == "s" and begin[slot] < many[slot]:  # an answer
            row = int(jobs[slot, begin[slot]])
            rows.is_open[row], active[slot] = 0, 0
            twin.open.discard(row)
            begin[slot] += 1
        assert set(np.flatnonzero(rows.is_open[:used]).tolist()) == twin.open
        done[what] += 1
    assert min(done.values()) > 20 and count == len(twin.of_tree) == 40
    assert first_alone(rows, 0, used) == next((r for r in twin.alone if r in twin.open), used)


@pytest.mark.parametrize("seed", range(4))
def test_keys_are_found_as_a_dict_finds_them(seed):
    rng, table, known = np.random.default_rng(seed), make_table(500), {}
    keys = rng.integers(0, 2**60, 500) if seed % 2 else rng.integers(0, 500, 500) * 2**32
    for first in range(0, 500, 50):
        some = rng.choice(keys[: first + 50], 50)
        note_numbers(table, some, first)
        known.update({int(key): first + place for place, key in enumerate(some.tolist())})
    for key in keys.tolist():
        place = place_of(table, key)
        assert table.key[place] == (key + 1 if key in known else 0)
        assert key not in known or table.number[place] == known[key]


@pytest.mark.parametrize("most", [1, 7, 10**6])
def test_equal_keys_are_brought_together(most):
    key = np.random.default_rng(most).integers(0, most, 800)
    found = group_equal(key)
    unique, first, inverse, size = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    assert found.first.tolist() == first[order].tolist()
    assert found.size.tolist() == size[order].tolist()
    assert np.array_equal(key[found.first][found.group], unique[inverse])
    assert len(group_equal(key[:0]).first) == 0
