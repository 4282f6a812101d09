"""Drops: edges over which a body gets down and not up again."""

import numpy as np
import pytest
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from crowdsim.errors import NavigationError
from crowdsim.navigation.soup.drops import ABOVE_M, BELOW_M, MOST_DROPS, drops_of
from crowdsim.navigation.soup.fill import FillRules, fill
from crowdsim.navigation.soup.ground import floors_of, patches_of, plates_of
from crowdsim.navigation.soup.sectors import gather
from tests.navigation.soup.scenes import block, floor, random_world, stair
from tests.navigation.soup.test_fill import TILTED, standing_seed

RULES = FillRules(side=0.25, height=1.8, cell=0.25, drop=2.5)


def dropped(*parts, seeds=((0.6, 0.6, 0.0),), rules=RULES, width=0.5):
    corners = np.concatenate(parts)
    graph = gather(fill(corners, np.ones(len(corners), dtype=np.uint8), seeds, rules))
    patches = patches_of(graph)
    return drops_of(graph, patches, floors_of(graph, rules.height), width), graph, patches


def test_along_a_cliff_there_are_drops_of_two_metres_from_end_to_end():
    found, _, _ = dropped(floor(0, 0, 10, 8), block(0, 4, 0, 10, 8, 2.0), seeds=[(1, 1, 0), (1, 7, 2)])
    assert len(found) == 5 and all(drop.layers == (1, 0) for drop in found)
    assert [drop.fall for drop in found] == [pytest.approx(2.0)] * 5
    for place, drop in enumerate(found):
        assert drop.above.symmetric_difference(
            shapely.box(2 * place, 4, 2 * place + 2, 4 + ABOVE_M)
        ).area == pytest.approx(0.0, abs=1e-4)
        assert drop.below.symmetric_difference(
            shapely.box(2 * place, 4 - BELOW_M, 2 * place + 2, 4)
        ).area == pytest.approx(0.0, abs=0.03)  # slits


def test_where_nothing_is_dropped_from_there_are_none():
    found, _, _ = dropped(floor(0, 0, 4, 4), stair(4, 1, 3, 0.0, 4), floor(5.2, 0, 8, 4, 0.72))
    beside_the_stair = [drop for drop in found if drop.above.bounds[0] < 5.1]
    assert len(found) == len(beside_the_stair) == 0
    flat, _, _ = dropped(floor(0, 0, 4, 4))
    assert flat == []


def test_over_the_side_of_a_stair_one_drops_as_far_as_it_has_risen():
    found, _, _ = dropped(floor(0, 0, 8, 6), stair(2, 0, 2, 0.0, 10))
    falls = np.array([drop.fall for drop in found])
    assert len(found) >= 2 and falls.min() > 0.25 and falls.max() < 2.0
    side = [drop for drop in found if drop.below.bounds[1] > 1.9]  # not its end
    middles = np.array([drop.above.centroid.x for drop in side])
    order = np.argsort(middles)
    assert (np.diff(np.array([drop.fall for drop in side])[order]) > 0).all()


@pytest.mark.parametrize(("width", "count"), [(0.5, 1), (0.75, 0)])
def test_an_edge_that_a_body_does_not_fit_over_is_left_out(width, count):
    parts = [floor(0, 0, 6, 3), block(0, 3, 0, 6, 6, 1.5)]
    rail = [block(0, 3.0, 1.4, 2.5, 3.25, 3.5), block(3.0, 3.0, 1.4, 6, 3.25, 3.5)]
    found, _, _ = dropped(*parts, *rail, seeds=[(1, 1, 0), (1, 5, 1.5)], width=width)
    assert len(found) == count


def test_an_edge_across_the_cells_is_one_line_of_drops():
    rock = np.array([[[0, 3, 1.5], [12, 8, 1.5], [12, 12, 1.5]], [[0, 3, 1.5], [12, 12, 1.5], [0, 12, 1.5]]])
    found, _, _ = dropped(floor(0, 0, 12, 12), rock, seeds=[(1, 1, 0), (6, 11, 1.5)])
    length = 12 + 5  # of the stair of sides of cells
    assert length / 2.0 <= len(found) <= length / 2.0 + 1
    reach = shapely.union_all([shapely.buffer(drop.above, 0.3) for drop in found])
    edge = shapely.LineString([[0.5, 3.2], [11.5, 7.8]])
    assert shapely.covers(reach, edge)


def test_drops_that_are_too_many_become_longer_and_are_refused_in_the_end():
    crates = [block(3 * i, 3 * j, 0, 3 * i + 1, 3 * j + 1, 1.5) for i in range(12) for j in range(12)]
    seeds = [(2, 2, 0), *((3 * i + 0.5, 3 * j + 0.5, 1.5) for i in range(12) for j in range(12))]
    some, _, _ = dropped(floor(-1, -1, 36, 36), *crates[:30], seeds=seeds[:31])
    assert 30 <= len(some) <= MOST_DROPS
    with pytest.raises(NavigationError, match=r"144 edges .* at most 64: let it drop less far"):
        dropped(floor(-1, -1, 36, 36), *crates, seeds=seeds)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(40))
def test_over_plates_and_drops_one_gets_where_one_gets_over_cells(seed):
    corners = random_world(seed, boxes=10, sheets=4)
    start = standing_seed(corners, TILTED)
    if start is None:
        pytest.skip("there is nowhere to stand in this world")
    graph = gather(fill(corners, np.ones(len(corners), dtype=np.uint8), [start], TILTED))
    patches, width = patches_of(graph), 0.25
    plates = np.unique(plates_of(graph), return_inverse=True)[1]
    floors = floors_of(graph, TILTED.height)
    try:
        found = drops_of(graph, patches, floors, width)
    except NavigationError:
        pytest.skip("there are too many drops in this world")
    runs = graph.portals
    over = {tuple(plates[pair]) for pair, both in zip(runs.sectors, runs.is_two_way, strict=True) if both}
    one_way = {
        tuple(plates[pair]) for pair, both in zip(runs.sectors, runs.is_two_way, strict=True) if not both
    }
    by_drop = {
        (above, below)
        for drop in found
        for above, below in one_way
        if (floors[above], floors[below]) == drop.layers
        and shapely.intersects(patches[above].ground, drop.above)
        and shapely.intersects(patches[below].ground, drop.below)
    }
    # what is left by a drop is left by a one-way portal, and all of them that are wide enough are there
    wide = {
        tuple(plates[pair])
        for pair, both, span in zip(runs.sectors, runs.is_two_way, runs.span, strict=True)
        if not both and (span[1] - span[0] + 1) * graph.cell >= width
    }
    count = len(patches)

    def gets_to(edges):
        pairs = np.array([*over, *((b, a) for a, b in over), *edges]).reshape(-1, 2)
        steps = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(count, count)).tocsr()
        return np.isfinite(shortest_path(steps, unweighted=True))

    narrow_ones_too = gets_to(one_way)
    assert (gets_to(wide) <= gets_to(by_drop)).all() and (gets_to(by_drop) <= narrow_ones_too).all()
    assert all(drop.fall <= TILTED.drop + 0.6 for drop in found)
