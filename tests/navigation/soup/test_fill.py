"""The fill: which cells are found, and which steps lead from one to another."""

import contextlib
import tracemalloc

import numpy as np
import pytest
import shapely

from crowdsim.errors import NavigationError
from crowdsim.navigation.soup.fill import (
    ExitRefused,
    FillRules,
    Link,
    SeedRefused,
    Zone,
    fill,
    fill_steps,
)
from tests.navigation.soup.scenes import (
    RULES,
    block,
    filled,
    floor,
    places,
    quad,
    random_world,
    stair,
    wall,
)
from tests.reference.fill import NaiveFill, box_meets

TILTED = FillRules(side=0.25, height=1.8, cell=0.25, drop=1.0)
FINE = FillRules(side=0.35, height=1.6, cell=0.2, step_up=0.3, step_down=0.2, drop=0.9, steepest=0.8)


def standing_seed(corners, rules):
    """Return the place on the ground of a random world from which a body gets to most cells, or None."""
    found = {}
    for place in [(x, y, 0.15) for x in (0.3, 2.6, 4.7) for y in (0.4, 2.4, 4.6)]:
        with contextlib.suppress(SeedRefused):
            found[place] = len(fill(corners, np.ones(len(corners), dtype=np.uint8), [place], rules))
    return list(max(found, key=found.__getitem__)) if found else None


@pytest.mark.sample(2)
@pytest.mark.parametrize("rules", [TILTED, FINE], ids=["as wide as cells", "wider than cells"])
@pytest.mark.parametrize("seed", range(40))
def test_cells_and_steps_are_those_of_the_reference(seed, rules):
    corners = random_world(seed)
    start = standing_seed(corners, rules)
    assert start is not None
    table = fill(corners, np.ones(len(corners), dtype=np.uint8), [start], rules).table()
    naive = NaiveFill(corners, None, [start], rules)
    found = list(zip(table.column.tolist(), table.row.tolist(), table.z.tolist(), strict=True))
    numbers = {}
    for number, (i, j, z) in enumerate(found):
        numbers.setdefault((i, j), []).append((z, number))
    assert len(found) == len(naive.steps) > 60

    def number_of(cell):
        (number,) = [n for z, n in numbers[cell[:2]] if abs(z - cell[2]) < 1e-5]
        return number

    for cell, steps in naive.steps.items():
        expected = [-1 if other is None else number_of(other) for other in steps]
        assert table.neighbour[number_of(cell)].tolist() == expected, cell


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(30))
def test_a_body_on_a_cell_meets_no_triangle_and_rests_on_one(seed):
    corners = random_world(seed)
    start = standing_seed(corners, FINE)
    cells = fill(corners, np.ones(len(corners), dtype=np.uint8), [start], FINE)
    half = 0.5 * FINE.side - 1e-4
    for x, y, z in places(cells)[::7]:
        assert not box_meets(
            [x - half, y - half, z + 0.3], [x + half, y + half, z + 1.6 - 1e-4], corners
        ).any()
        assert box_meets([x - half, y - half, z - 2e-3], [x + half, y + half, z + 2e-3], corners).any()


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_triangles_their_corners_and_the_seeds_change_nothing(seed):
    corners, rng = random_world(seed), np.random.default_rng(seed)
    start = standing_seed(corners, TILTED)
    kind = np.ones(len(corners), dtype=np.uint8)
    first = fill(corners, kind, [start], TILTED)
    others = places(first)[rng.integers(0, len(first), 3)]
    mixed = np.stack([triangle[rng.permutation(3)] for triangle in corners[rng.permutation(len(corners))]])
    again = fill(mixed, kind, [*others.tolist(), start], TILTED)
    for one, other in zip(first.table(), again.table(), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("seed", range(4))
def test_a_world_that_is_moved_by_whole_cells_or_mirrored_has_the_same_ground_there(seed):
    corners = np.round(random_world(seed) * 2**12) / 2**12  # so that moving rounds nothing
    start = np.array(standing_seed(corners, TILTED))
    kind = np.ones(len(corners), dtype=np.uint8)
    first = fill(corners, kind, [start], TILTED).table()
    moved = fill(corners + [-9.5, 31.25, 0.0], kind, [start + [-9.5, 31.25, 0.0]], TILTED).table()

    def cells(table, right=0, up=0, turn=1):
        return {
            (turn * (int(i) - right) - (turn < 0), int(j) - up, float(z))
            for i, j, z in zip(table.column, table.row, table.z, strict=True)
        }

    assert cells(moved, -38, 125) == cells(first)
    mirrored = fill(corners * [-1, 1, 1], kind, [start * [-1, 1, 1]], TILTED).table()
    assert {cell[:2] for cell in cells(mirrored, turn=-1)} == {cell[:2] for cell in cells(first)}


def test_all_of_a_floor_is_ground_and_what_stands_on_it_is_not():
    cells = filled(floor(0, 0, 10, 10), block(4, 4, -0.1, 6, 6, 3))
    assert len(cells) == 40 * 40 - 8 * 8
    assert (cells.table().neighbour >= 0).sum() == 4 * 40 * 40 - 4 * 40 - 8 * 8 * 4 - 4 * 8
    assert len(filled(floor(0, 0, 10, 10), block(4.1, 4.1, -0.1, 5.9, 5.9, 3))) == 40 * 40 - 8 * 8


@pytest.mark.parametrize("x", [5.0, 5.1, 5.125])
def test_a_wall_without_thickness_holds_wherever_it_stands_between_cells(x):
    ground = floor(0, 0, 10, 10)
    half = places(filled(ground, wall(x, 0, x, 10)))
    assert len(half) == 20 * 40 and half[:, 0].max() < 5
    both = filled(ground, wall(x, 0, x, 4), wall(x, 5, x, 10))
    lost = 0 if x == 5.0 else 36
    assert len(both) == 40 * 40 - lost
    table = both.table()
    crossing = (table.column == 19) & (table.neighbour[:, 0] >= 0)
    assert crossing.sum() == 4


@pytest.mark.parametrize("riser", [0.18, 0.25, 0.27])
def test_steps_are_climbed_up_to_the_greatest_one(riser):
    world = (floor(0, 0, 2, 2), stair(2, 0, 2, 0.0, 8, riser=riser), floor(4.4, 0, 7, 2, 8 * riser))
    top = places(filled(*world))[:, 2].max()
    assert top == pytest.approx(8 * riser if riser <= 0.25 else 0.0, abs=1e-6)


@pytest.mark.parametrize("rise", [0.3, 0.99, 1.02, 2.0])
def test_slopes_are_climbed_up_to_the_greatest_one(rise):
    ramp = quad([2, 0, 0], [4, 0, 2 * rise], [4, 2, 2 * rise], [2, 2, 0])
    found = places(filled(floor(0, 0, 2, 2), ramp, floor(4, 0, 6, 2, 2 * rise)))
    assert found[:, 2].max() == pytest.approx(2 * rise if rise <= 1.0 else 0.0, abs=1e-6)


def test_a_cliff_is_taken_down_and_not_up():
    world = (floor(0, 0, 2, 2, 1.0), block(0, 0, -0.2, 2, 2, 0.99), floor(2, 0, 5, 2, 0.0))
    rules = FillRules(side=0.25, height=1.8, cell=0.25, drop=1.5)
    down = filled(*world, seed=(0.6, 0.6, 1.0), rules=rules)
    table = down.table()
    assert len(down) == 8 * 8 + 12 * 8
    edge = np.flatnonzero((table.column == 7) & (table.z == 1.0))
    below = table.neighbour[edge, 0]
    assert (table.z[below] == 0.0).all() and (table.neighbour[below, 2] == -1).all()
    assert len(filled(*world, seed=(3.1, 0.6, 0.0), rules=rules)) == 12 * 8
    # one that may fall less stays up
    assert len(filled(*world, seed=(0.6, 0.6, 1.0))) == 8 * 8


def test_a_body_that_falls_needs_the_height_from_where_it_comes():
    world = (floor(0, 0, 2, 2, 1.0), floor(2, 0, 5, 2, 0.0), floor(1.999, 0, 5, 2, 2.4))
    rules = FillRules(side=0.25, height=1.8, cell=0.25, drop=1.5)
    assert (
        len(filled(*world, seed=(0.6, 0.6, 1.0), rules=rules)) == 7 * 8
    )  # under the ceiling one stands nowhere
    higher = (*world[:2], floor(2.0, 0, 5, 2, 2.9))
    assert len(filled(*higher, seed=(0.6, 0.6, 1.0), rules=rules)) == 8 * 8 + 12 * 8


def test_a_bridge_and_the_road_below_it_are_both_ground():
    road, deck = floor(0, 0, 12, 3), block(5, -4, 2.3, 7, 7, 2.5)
    ramps = quad([5, -14, 0], [7, -14, 0], [7, -4, 2.5], [5, -4, 2.5])
    start = floor(5, -16, 7, -14)
    under = places(filled(road, deck, ramps, start))
    assert len(under) == 48 * 12  # all of it, also under the deck
    both = filled(
        road, deck, ramps, start, quad([5, 3, 0], [7, 3, 0], [7, 7, 0], [5, 7, 0]), seed=(6, -15, 0)
    )
    found = places(both)
    on_deck = found[found[:, 2] == 2.5]
    assert len(on_deck) == 8 * 44
    assert not ((found[:, 1] > 0) & (found[:, 2] < 2.0)).any()  # the deck's end is too high above the road


def test_on_a_spiral_stair_each_turn_is_above_the_last():
    parts, angle = [], 2 * np.pi / 24
    for k in range(72):
        a, b, z = k * angle, (k + 1.05) * angle, 0.15 * k
        inner, outer = 0.6, 2.4
        parts.append(
            quad(
                [inner * np.cos(a), inner * np.sin(a), z],
                [outer * np.cos(a), outer * np.sin(a), z],
                [outer * np.cos(b), outer * np.sin(b), z],
                [inner * np.cos(b), inner * np.sin(b), z],
            )
        )
    rules = FillRules(side=0.2, height=1.8, cell=0.1, step_up=0.2, step_down=0.2, drop=0.2)
    found = places(filled(*parts, seed=(1.5, 0.15, 0.0), rules=rules))
    assert found[:, 2].max() > 0.15 * 70
    _columns, count = np.unique(np.round(found[:, :2] * 100), axis=0, return_counts=True)
    assert count.max() >= 3 and (count >= 2).mean() > 0.8


def test_no_body_climbs_over_the_hidden_faces_of_a_thick_slab():
    # its lower face is within a step of the floor, and its upper one within a step of the lower
    assert places(filled(floor(0, 0, 6, 3), block(3, 0, 0.2, 6, 3, 0.44)))[:, 2].max() == 0.0
    assert places(filled(floor(0, 0, 6, 3), block(3, 0, 0.1, 6, 3, 0.24)))[:, 2].max() > 0.2


def test_what_is_too_low_to_step_over_does_not_matter_and_what_is_higher_does():
    ground = floor(0, 0, 6, 3)
    assert len(filled(ground, wall(3.1, 0, 3.1, 3, 0.0, 0.2))) == 24 * 12
    assert places(filled(ground, wall(3.1, 0, 3.1, 3, 0.0, 0.3)))[:, 0].max() < 3.1


def test_where_triangles_of_two_surfaces_lie_at_one_height_the_higher_number_counts():
    corners = np.concatenate([floor(0, 0, 4, 4), floor(1, 1, 2, 2), floor(1.5, 1.5, 3, 3)])
    kind = np.array([1, 1, 3, 3, 2, 2], dtype=np.uint8)
    for order in (np.arange(6), np.arange(6)[::-1]):
        table = fill(corners[order], kind[order], [[0.5, 0.5, 0]], RULES).table()
        assert [int((table.surface == each).sum()) for each in (1, 2, 3)] == [256 - 16 - 36 + 4, 32, 16]


def test_it_rests_in_between_and_what_it_finds_is_the_same():
    corners = np.concatenate([floor(0, 0, 200, 200), block(50, 50, -1, 60, 60, 3)])
    kind = np.ones(len(corners), dtype=np.uint8)
    steps, rests = fill_steps(corners, kind, [[1, 1, 0]], RULES), 0
    while True:
        try:
            next(steps)
            rests += 1
        except StopIteration as end:
            found = end.value
            break
    assert rests > 4
    for one, other in zip(found.table(), fill(corners, kind, [[199, 199, 0]], RULES).table(), strict=True):
        assert np.array_equal(one, other)


def test_it_takes_less_than_40_bytes_for_a_cell():
    storeys = [floor(0, 0, 150, 99.5, 3.0 * k) for k in range(4)]
    walls = [wall(x, 0.5, x, 99.5, 3.0 * k, 3.0 * k + 2.9) for k in range(4) for x in range(5, 150, 5)]
    flights = [
        quad([0, 99.5, 3 * k], [0, 100, 3 * k], [6, 100, 3 * (k + 1)], [6, 99.5, 3 * (k + 1)])
        for k in range(3)
    ]
    corners = np.concatenate([*storeys, *walls, *flights])
    kind = np.ones(len(corners), dtype=np.uint8)
    fill(corners, kind, [[1, 1, 0]], RULES)  # kernels are compiled
    tracemalloc.start()
    cells = fill(corners, kind, [[1, 1, 0]], RULES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(cells) > 200_000 and peak < 40 * len(cells) and cells.nbytes < 20 * len(cells)


@pytest.mark.parametrize(
    ("seed", "says"),
    [
        ((20, 0.5, 0), r"there is no triangle above or below \(20.125, 0.625\)"),
        (
            (1, 1, 4.0),
            r"nothing to stand on from 2.2 to 4.25 m; the nearest ground there is at 0 m \(triangle \d\)",
        ),
        ((5.0, 1, 0), r"stands on triangle 1 at .* meets triangle \d+, which is there from 0 to .* m high"),
        ((8, 1, 0), r"stands on triangle \d at .* meets triangle \d, which is there from 1 to 1 m high"),
        ((12, 1, 0), r"too steep to stand on: triangles \d, \d"),
    ],
)
def test_a_seed_at_which_nobody_stands_is_refused_with_what_is_there(seed, says):
    world = (
        floor(0, 0, 10, 2),
        wall(5.1, 0, 5.1, 2),
        floor(7, 0, 9, 2, 1.0),
        quad([11, 0, 0], [13, 0, 9], [13, 2, 9], [11, 2, 0]),
    )
    with pytest.raises(SeedRefused, match=says) as refused:
        filled(*world, seed=seed)
    assert refused.value.number == 0


def test_a_body_that_is_wider_than_cells_does_not_stand_beside_an_edge():
    wide = FillRules(side=0.5, height=1.8, cell=0.1, step_up=0.25, step_down=0.25, drop=0.25)
    found = places(filled(floor(0, 0, 4, 2), rules=wide))
    assert len(found) == 40 * 20 and found[:, :2].min() > 0.0
    with pytest.raises(
        SeedRefused, match=r"reaches under a body at \(-0.05, 0.65\), but not under its middle"
    ):
        filled(floor(0, 0, 4, 2), seed=(-0.05, 0.65, 0.0), rules=wide)


def test_ground_that_is_too_large_is_refused_before_it_is_looked_through():
    far = np.concatenate([floor(0, 0, 10, 10), floor(9e7, 9e7, 9.1e7, 9.1e7)])
    with pytest.raises(NavigationError, match=r"lie over .* cells of 0.25 m, from \(0, 0\) to"):
        fill(far, np.ones(4, dtype=np.uint8), [[1, 1, 0]], RULES)
    few = FillRules(side=0.25, height=1.8, cell=0.25, most_cells=100_000)
    with pytest.raises(NavigationError, match=r"more than 100,000 cells of 0.25 m that a body gets to"):
        filled(floor(0, 0, 100, 100), rules=few)
    heap = np.tile(floor(0, 0, 3000, 3000)[None], (1000, 1, 1, 1)).reshape(-1, 3, 3)
    with pytest.raises(
        NavigationError, match=r"lie over so many squares of 8 m that there are more than [\d,]+ pairs"
    ):
        fill(heap, np.ones(len(heap), dtype=np.uint8), [[1, 1, 0]], RULES)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cell": 0.3}, "a cell of 0.3 m has to be at most as wide as the body, 0.25 m"),
        ({"cell": 1e-4, "side": 1e-4}, "a cell of 0.0001 m is too small"),
        ({"step_up": 1.0}, "a step up of 1 m has to be less than half the body's height, 1.8 m"),
        ({"drop": 0.1}, "a drop of 0.1 m has to be at least a step down, 0.25 m"),
        ({"steepest": 2.0}, "rises by 0.5 m, more than a step up .* take cells of at most 0.125 m"),
    ],
)
def test_rules_that_do_not_fit_together_are_refused(change, says):
    with pytest.raises(NavigationError, match=says):
        FillRules(**({"side": 0.25, "height": 1.8, "cell": 0.25} | change))


def zone(x0, y0, x1, y1, z=0.0):
    return Zone(shapely.box(x0, y0, x1, y1), z)


def linked(*parts, links, seed=(0.6, 0.6, 0.0), rules=RULES):
    corners = np.concatenate(parts)
    return fill(corners, np.ones(len(corners), dtype=np.uint8), [seed], rules, links)


LIFT = Link(zone(3, 1, 4, 2), zone(3, 1, 4, 2, 4.0))
LADDER = Link(zone(0, 3, 1, 4, 4.0), zone(0, 3, 1, 4, 8.0))
STOREYS = (floor(0, 0, 4, 4), floor(0, 0, 4, 4, 4.0), floor(0, 0, 4, 4, 8.0))


@pytest.mark.parametrize("links", [(LIFT, LADDER), (LADDER, LIFT), (LADDER, LIFT, LADDER)])
def test_the_fill_goes_on_behind_a_lift_and_behind_what_is_reached_by_it(links):
    cells = linked(*STOREYS, links=links)
    assert len(cells) == 3 * 256 and sorted(set(places(cells)[:, 2])) == [0.0, 4.0, 8.0]
    # what takes a body from one storey to the next is no step
    assert (cells.table().neighbour < 0).sum() == 3 * 4 * 16


def test_a_link_leads_nowhere_from_where_no_whole_cell_lies_in_it_or_none_is_reached():
    assert len(linked(*STOREYS, links=[Link(zone(3.1, 1, 3.4, 2), LIFT.exit)])) == 256
    assert len(linked(*STOREYS, links=[LADDER])) == 256
    assert len(linked(*STOREYS, links=[Link(LIFT.enter._replace(height=4.0), LADDER.exit)])) == 256


def test_where_no_body_can_come_out_that_is_said_unless_one_gets_there_otherwise():
    pole = block(3.4, 1.4, 3.9, 3.6, 1.6, 7.0)
    with pytest.raises(ExitRefused, match="meets triangle") as refused:
        linked(*STOREYS, pole, links=[LADDER, LIFT])
    assert refused.value.number == 1
    other = Link(zone(0, 0, 1, 1), zone(0, 0, 1, 1, 4.0))
    assert len(linked(*STOREYS, pole, links=[LIFT, other])) > 500
    with pytest.raises(ExitRefused, match="there is no triangle above or below"):
        linked(*STOREYS, links=[Link(LIFT.enter, zone(9, 9, 11, 11))])


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(20))
def test_cells_behind_links_are_those_of_the_reference(seed):
    corners = np.concatenate([random_world(seed), random_world(seed + 500) + [8.0, 0.0, 0.0]])
    rng = np.random.default_rng(seed)
    start = standing_seed(corners, TILTED)
    low = rng.uniform(0.5, 3.5, (3, 2, 2))
    areas = [[shapely.box(*corner, *(corner + rng.uniform(0.4, 1.5, 2))) for corner in pair] for pair in low]
    links = [
        Link(Zone(one, 0.2), Zone(shapely.affinity.translate(other, shift), 0.2))
        for (one, other), shift in zip(areas, (8.0, 8.0, 0.0), strict=True)
    ]
    surfaces = np.ones(len(corners), dtype=np.uint8)
    with contextlib.suppress(ExitRefused):
        table = fill(corners, surfaces, [start], TILTED, links).table()
        again = fill(corners, surfaces, [start], TILTED, links[::-1]).table()
        assert all(np.array_equal(one, other) for one, other in zip(table, again, strict=True))
        naive = NaiveFill(corners, None, [start], TILTED, links)
        assert len(table.z) == len(naive.steps)
        found = {(i, j, round(float(z), 4)) for i, j, z in zip(table.column, table.row, table.z, strict=True)}
        assert found == {(i, j, round(float(z), 4)) for i, j, z in naive.steps}
