"""Local navigation grids: drawn, searched and pulled taut as [Mononen 2010] says."""

import itertools
import math

import numpy as np
import pytest

from crowdsim.navigation.local_grid.detours import find_local_path, make_scratch
from crowdsim.navigation.local_grid.grid import corner_of_grid, draw_discs, draw_segments, find_spans
from crowdsim.navigation.local_grid.search import (
    AGREES,
    LEADS_ROUND,
    NO_PATH,
    list_portals,
    pull_string,
    search_spans,
)
from tests.reference import local_grid as twin


def random_scene(seed):
    rng = np.random.default_rng(seed)
    cells, cell = int(rng.choice([20, 32, 47, 64])), float(rng.choice([0.1, 0.15, 0.3]))
    here = rng.uniform(-50, 50, 2)
    half = 0.5 * cells * cell
    count = int(rng.integers(0, 12))
    discs = np.column_stack(
        [here + rng.uniform(-1.2 * half, 1.2 * half, (count, 2)), rng.uniform(0.1, 0.3 * half, count)]
    )
    segments = np.hstack(
        [
            here + rng.uniform(-1.5 * half, 1.5 * half, (8, 2)),
            here + rng.uniform(-1.5 * half, 1.5 * half, (8, 2)),
        ]
    )[: int(rng.integers(0, 9))]
    return (
        cells,
        cell,
        here,
        np.ascontiguousarray(discs),
        np.ascontiguousarray(segments),
        float(rng.uniform(0.1, 0.3)),
        here + rng.uniform(-half, half, 2),
    )


def drawn(cells, cell, here, discs, segments, radius):
    work = make_scratch(cells)
    work.words[:] = 0
    corner = [int(np.floor(each / cell)) - cells // 2 for each in here.tolist()]
    draw_discs(work.words, cells, cell, *corner, discs, len(discs))
    draw_segments(work.words, cells, cell, *corner, segments, len(segments), radius)
    return work, corner


@pytest.mark.sample(5)
@pytest.mark.parametrize("seed", range(40))
def test_cells_and_spans_agree_with_reference(seed):
    cells, cell, here, discs, segments, radius, _ = random_scene(seed)
    work, corner = drawn(cells, cell, here, discs, segments, radius)
    blocked = twin.blocked_cells(cells, cell, corner, discs.tolist(), segments.tolist(), radius)
    assert {(i, j) for j in range(cells) for i in range(cells) if int(work.words[j]) >> i & 1} == blocked
    count = find_spans(work.words, cells, work.spans, work.row_start)
    assert [tuple(span) for span in work.spans[:count].tolist()] == twin.spans_of(cells, blocked)
    assert work.row_start.tolist() == [
        sum(span[0] < row for span in twin.spans_of(cells, blocked)) for row in range(cells + 1)
    ]


@pytest.mark.sample(20)
@pytest.mark.parametrize("seed", range(60))
def test_searches_and_strings_agree_with_reference(seed):
    cells, cell, here, discs, segments, radius, to = random_scene(seed)
    work, corner = drawn(cells, cell, here, discs, segments, radius)
    count = find_spans(work.words, cells, work.spans, work.row_start)
    spans = [tuple(span) for span in work.spans[:count].tolist()]
    a, b = [tuple((each / cell - corner).tolist()) for each in (here, to)]
    end, visited = search_spans(work.spans, work.row_start, cells, *a, *b, work.parent, work.queue, work.rank)
    path, order = twin.search(spans, a, b)
    if path is None:
        assert end == -1
        return
    assert work.queue[:visited].tolist() == order and end == path[-1]
    portals = list_portals(work.spans, work.parent, end, work.queue, work.portals)
    assert portals == len(path) - 1
    expected = twin.portals_of(spans, path)
    assert [tuple(sorted([tuple(p[:2]), tuple(p[2:])])) for p in work.portals[:portals].tolist()] == expected
    goal = (
        b
        if twin.span_at(spans, b) == path[-1]
        else (min(max(b[0], spans[end][1] + 0.5), spans[end][2] + 0.5), spans[end][0] + 0.5)
    )
    found = pull_string(work.portals, portals, *a, *goal, work.corners)
    string = [a, *map(tuple, work.corners[:found].tolist())]
    assert string[-1] == goal
    length = sum(math.dist(p, q) for p, q in itertools.pairwise(string))
    assert length == pytest.approx(twin.shortest(expected, a, goal), abs=1e-9)


def path_of(discs, segments=(), to=(1.5, 0.0), radius=0.2, cells=32, cell=0.15):
    """Return what the grid round an agent at the origin says, and the bends (m)."""
    discs, segments = (
        np.array(discs, dtype=float).reshape(-1, 3),
        np.array(segments, dtype=float).reshape(-1, 4),
    )
    work, corner = drawn(cells, cell, np.zeros(2), discs, segments, radius)
    said, found = find_local_path(work, cells, cell, *corner, 0.0, 0.0, *to)
    return said, (work.corners[:found] + corner) * cell


def test_a_free_line_is_agreed_to():
    said, bends = path_of([[0.0, 1.0, 0.4]])
    assert said == AGREES and np.allclose(bends, [[1.5, 0.0]])


def test_a_path_leads_round_a_disc_on_the_nearer_side():
    for y in (0.1, -0.1):
        said, bends = path_of([[0.8, y, 0.4]])
        assert (
            said == LEADS_ROUND and np.allclose(bends[-1], [1.5, 0.0]) and np.sign(bends[0, 1]) == -np.sign(y)
        )
        assert all(math.dist(bend, (0.8, y)) > 0.4 - 0.15 for bend in bends)


def test_a_pocket_is_left_backwards():
    pocket = [[0.6, -0.8, 0.6, 0.8], [-0.5, 0.8, 0.6, 0.8], [-0.5, -0.8, 0.6, -0.8]]
    said, bends = path_of([], pocket)
    assert said == LEADS_ROUND and bends[0, 0] < -0.5 and abs(bends[0, 1]) > 0.6


def test_where_no_path_leads_there_it_ends_as_near_as_possible():
    said, bends = path_of([], [[0.9, -9, 0.9, 9]])
    assert said == NO_PATH and 0.5 < bends[-1, 0] < 0.7 and abs(bends[-1, 1]) < 0.1


def test_an_agent_that_is_shut_in_stays_and_one_that_touches_another_goes_away_from_it():
    assert path_of([[0.0, 0.0, 9.0]])[0] == NO_PATH and len(path_of([[0.0, 0.0, 9.0]])[1]) == 0
    said, bends = path_of([[0.3, 0.0, 0.4]])
    assert said == LEADS_ROUND and bends[0, 0] < 0.3 and abs(bends[0, 1]) > 0.2


def test_what_lies_beyond_the_grid_is_headed_for_along_the_line():
    said, bends = path_of([], to=(30.0, 15.0))
    assert (
        said == AGREES
        and bends[0, 0] == pytest.approx(2.25, abs=0.1)
        and bends[0, 1] == pytest.approx(1.125, abs=0.05)
    )


def test_cells_stay_where_they_are_while_the_agent_walks():
    assert [corner_of_grid(x, 0.5, 20) for x in (0.0, 0.49, 0.5, -0.01)] == [-10, -10, -9, -11]
