"""Which agents matter for the places of a region, beside masks, on columns of whatever they can hold."""

import numpy as np
import pytest
import shapely

from crowdsim.bodies.places import FAR_M
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.systems.goals.place_rows import (
    COUNT,
    FAR,
    NEAR,
    OUT,
    PART_COLUMNS,
    STANDING,
    STAYS,
    WAITED_FOR,
    Crowd,
    Regions,
    Settlers,
    choose_apart,
    send_in,
    settle,
    standing_places,
    survey_regions,
)
from crowdsim.world.columns import AgentState, Stepping
from tests.navigation.worlds import located
from tests.reference import places as twin

ROWS, FIXED, LISTS = 2000, 4, 3


@pytest.fixture(params=range(3))
def rng(request):
    return np.random.default_rng(request.param)


def drawn(rng):
    """Return columns at random: places are on a grid, so that some are on rims."""
    return Crowd(
        rng.integers(0, max(AgentState) + 1, ROWS).astype(np.uint8),
        rng.integers(-1, FIXED + 3, ROWS).astype(np.int32),
        rng.integers(-1, LISTS, ROWS).astype(np.int32),
        rng.integers(0, 3, ROWS).astype(np.int32),
        rng.uniform(0.1, 0.4, ROWS),
        rng.integers(0, 12, (ROWS, 2)).astype(float),
        rng.uniform(0.0, 2.0, ROWS),
        rng.integers(0, max(Stepping) + 1, ROWS).astype(np.uint8),
        rng.integers(0, 12, (ROWS, 2)).astype(float),
        np.zeros(ROWS, dtype=np.int64),
    )


def regions_of(number, low, high, layers, widest, points=None):
    """Return regions in boxes, the places of each in their order along x."""
    count = len(number)
    points = points or [np.zeros((0, 2))] * count
    leads, ends = np.array([False, True, True, False]), np.array([True, False, True])
    is_fixed = np.array(number) < FIXED
    return Regions(
        np.arange(count), np.array(number, dtype=np.int32), is_fixed,
        leads & is_fixed[:, None], ends & is_fixed[:, None],
        np.array(low, dtype=float), np.array(high, dtype=float), np.array(layers, dtype=np.int32),
        np.array(widest, dtype=float), np.cumsum([0, *map(len, points)]), np.concatenate(points),
        np.concatenate([np.argsort(each[:, 0]) for each in points]), np.zeros(count, dtype=np.int64),
    )  # fmt: skip


def surveyed(regions, agents, known, shares=2):
    """Return what a survey finds, its shares looked at one after the other."""
    count = len(regions.which)
    stays, found = known.copy(), np.full((count, 2, len(agents.goal)), -7, dtype=np.int32)
    parts, widest = np.empty((count, shares, PART_COLUMNS), dtype=np.int64), np.empty((count, shares))
    for share in range(shares):
        survey_regions(share, share + 1, regions, agents, stays, found, parts, widest)
    return stays, found, parts, widest.max(axis=1)


def parts_of(parts, first):
    return parts[:, first : first + 2].tolist()


@pytest.mark.parametrize("layers", [[[1, 1], [0, 2]], [[0, 2], [2, 2]]])
def test_a_survey_finds_what_the_twins_find_one_after_the_other(rng, layers):
    """Of a goal of the scenario and of a place that the run has set, in boxes of which a part is the same."""
    agents, numbers = drawn(rng), [1, FIXED + 1]
    regions = regions_of(numbers, [[2, 3], [4, 1]], [[4, 6], [7, 5]], layers, [0.2, 0.3])
    known = rng.choice(np.array([0] * 8 + [STAYS, OUT], dtype=np.uint8), (2, ROWS))
    stays, found, parts, widest = surveyed(regions, agents, known, shares=3)
    for at, number in enumerate(numbers):
        low, high = regions.low[at], regions.high[at]
        leads, last = (each[at] if number < FIXED else each[at, :0] for each in (regions.leads, regions.ends))
        comes, expected = twin.find_visitors(
            agents.activity, agents.goal, agents.itinerary, leads, last, number
        )  # fmt: skip
        expected = expected | (known[at] != 0)
        sums = parts[at].sum(axis=0)
        assert (sums[COUNT], sums[WAITED_FOR], widest[at]) == twin.sum_stays(
            expected, agents.goal, agents.radius
        )
        assert np.array_equal(stays[at], np.where(expected, np.maximum(known[at], STAYS), 0))
        assert 0 < np.count_nonzero(comes) < ROWS and 0 < np.count_nonzero(expected) < ROWS

        near, far = twin.list_coming(comes, agents.activity, agents.position, low, high, FAR_M)
        assert np.array_equal(twin.listed(found[at, 0], parts_of(parts[at], NEAR)), near)
        assert sorted(twin.listed(found[at, 0], parts_of(parts[at], FAR))) == far.tolist()
        assert min(len(near), len(far)) > 0 and len(near) + len(far) < ROWS

        stand = twin.list_standing(
            agents.activity, agents.layer, layers[at], agents.is_yielding, agents.yield_target,
            agents.position, agents.radius, known[at] == OUT, low, high, regions.widest[at],
        )  # fmt: skip
        assert np.array_equal(twin.listed(found[at, 1], parts_of(parts[at], STANDING)), stand)
        assert 0 < len(stand) < ROWS
        sent = rng.integers(0, ROWS, 9)
        standing = standing_places(agents, found[at, 1], parts[at], sent, 0.2)
        expected = twin.standing_places(agents, found[at, 1], parts_of(parts[at], STANDING), sent, 0.2)
        assert np.array_equal(standing, expected)


def test_nobody_stays_by_a_list_where_there_are_no_lists_and_nobody_stands_nowhere(rng):
    agents, none = drawn(rng), np.full(ROWS, -1, dtype=np.int32)
    agents = agents._replace(
        activity=np.full(ROWS, AgentState.WALKING, np.uint8), goal=np.ones(ROWS, np.int32), itinerary=none
    )
    regions = regions_of([0], [[np.inf, np.inf]], [[-np.inf, -np.inf]], [[-1]], [0.0])
    stays, _, parts, widest = surveyed(
        regions._replace(ends=np.zeros((1, 0), dtype=bool)), agents, np.zeros((1, ROWS), np.uint8), 1
    )
    assert parts.tolist() == [[[0, 0, 0, 0, 0, ROWS, 0, 0]]] and widest == 0.0  # all come, and are far
    assert not stays.any()


@pytest.mark.parametrize(
    "layout, again",
    [
        ("shared", 1),
        ("apart", 0),
        ("some go beside", 1),
        ("one stands beside", 1),
        ("one was going beside", 1),
        ("none goes", 0),
    ],
)
def test_agents_choose_in_one_region_after_the_other_and_see_where_those_before_are_sent(rng, layout, again):
    """Two regions share a half of their places, or lie apart. Those that come into the second choose anew
    only where it matters which places those of the first go to.
    """
    mesh = build_mesh(shapely.box(0.0, 0.0, 12.0, 12.0)).mesh
    drawn_places = rng.uniform(2.0, 8.0, (90, 2))
    points = [drawn_places[:60], drawn_places[30:]]
    if layout != "shared":
        points = [rng.uniform(1.0, 4.0, (60, 2)), rng.uniform(7.5, 11.0, (60, 2))]
    if layout == "some go beside":  # they take three of the four places of the second, and leave one
        points[1] = np.array([(8.0, 8.0), (10.0, 8.0), (8.0, 10.0), (10.0, 10.0)])
        points[0] = np.vstack([points[0][:1], points[1][:3]])
    low, high = zip(*((each.min(axis=0) - 1.2, each.max(axis=0) + 1.2) for each in points), strict=True)
    table = regions_of([2, 1], low[::-1], high[::-1], [[0], [0]], [0.4, 0.4], points[::-1])
    regions = table._replace(which=np.array([1, 0]))
    agents, rows = drawn(rng), [np.array([3, 11, 12, 40]), np.array([5, 90, 91])]
    agents = agents._replace(
        layer=np.zeros(ROWS, np.int32), position=rng.uniform(0.5, 11.5, (ROWS, 2)),
        yield_target=rng.uniform(0.5, 11.5, (ROWS, 2)), radius=np.full(ROWS, 0.1),
        activity=rng.choice([AgentState.WALKING, AgentState.STANDING], ROWS, p=[0.98, 0.02]).astype(np.uint8),
        itinerary=np.where(np.arange(ROWS) % 67 == 0, 0, 1).astype(np.int32),  # few stay
    )  # fmt: skip
    is_new = np.concatenate(rows)
    agents.activity[is_new], agents.goal[is_new], agents.is_yielding[is_new] = AgentState.STANDING, -1, 0
    if layout != "shared":
        agents.position[rows[0]], agents.position[rows[1]] = rng.uniform(1.0, 4.0, (4, 2)), points[1][:3]
    if layout == "some go beside":
        agents.activity[agents.activity == AgentState.STANDING] = AgentState.WALKING
        agents.activity[is_new], agents.position[rows[1]] = AgentState.STANDING, rng.uniform(5.0, 6.0, (3, 2))
    if layout == "one stands beside":
        agents.position[rows[0][1]] = points[1][9]
    if layout == "one was going beside":
        agents.is_yielding[rows[0][1]], agents.yield_target[rows[0][1]] = Stepping.IN, points[1][9]
    if layout == "none goes":  # all places of the first are taken
        agents.activity[100:160], agents.is_yielding[100:160] = AgentState.STANDING, 0
        agents.position[100:160] = points[0]
    known = np.zeros((2, ROWS), dtype=np.uint8)
    for at in (0, 1):
        known[at, rows[at]] = OUT
    _, found, parts, _ = surveyed(regions, agents, known)
    start, before = np.array([0, 4, 7]), agents._replace(**{
        name: getattr(agents, name).copy() for name in ("is_yielding", "yield_target", "yield_tick")
    })  # fmt: skip
    chosen, done = np.empty(7, dtype=np.int64), np.empty(2, dtype=np.int64)
    settlers = Settlers(
        np.concatenate(rows), start, np.array([4, 3]), np.array([True, False]), 5.0, 100, 0.05
    )
    waited_for = np.count_nonzero((agents.itinerary == 0) & (agents.goal >= 0)) + settlers.waited_for
    assert waited_for.max() < 40  # fewer than there are free places
    polygon = located(mesh, agents.position).astype(np.int64)
    given = regions, agents, mesh, polygon, found, parts, settlers, chosen, done
    for at in (1, 0):
        choose_apart(at, at + 1, *given)
    assert settle(*given) == again
    assert done.tolist() == ([4, 1] if layout == "some go beside" else [4, 3])

    taken = 0
    for at in (0, 1):
        standing = twin.list_standing(
            before.activity, before.layer, [0], before.is_yielding, before.yield_target, before.position,
            before.radius, known[at] == OUT, low[at], high[at], 0.4,
        )  # fmt: skip
        comes = twin.find_visitors(
            agents.activity, agents.goal, agents.itinerary, regions.leads[at], regions.ends[at], at + 1
        )[0]
        near, far = twin.list_coming(comes, agents.activity, agents.position, low[at], high[at], FAR_M)
        walking = agents.position[np.concatenate([near, far])]
        place = np.where((before.is_yielding != 0)[:, None], before.yield_target, before.position)
        is_free = twin.find_free(points[at], place[standing], before.radius[standing] + 0.4)
        taken += is_free.count(False)
        expected = twin.choose_places(
            before.position[rows[at]], points[at].tolist(), is_free, walking.tolist(), waited_for[at],
            np.ones((len(rows[at]), len(points[at])), dtype=bool),
        )  # fmt: skip
        if layout == "none goes" and at == 0:
            assert expected == [] and chosen[:4].tolist() == [-1] * 4
            continue
        assert chosen[start[at] : start[at] + done[at]].tolist() == expected
        goes = rows[at][: done[at]]
        assert np.array_equal(agents.yield_target[goes], points[at][expected])
        before.is_yielding[goes], before.yield_target[goes] = Stepping.IN, points[at][expected]
    goes = {"none goes": rows[1], "some go beside": is_new[:5]}.get(layout, is_new)
    assert 0 < taken < 110 and (np.flatnonzero(agents.yield_tick) == np.sort(goes)).all()


def test_agents_go_to_their_places_for_as_long_as_they_need_at_half_of_their_speed_and_a_while(rng):
    agents, place = drawn(rng), rng.normal(size=(9, 2))
    rows, chosen = np.array([3, 4, 11, 19, 20]), np.array([8, 0, 5, 2, -1])
    agents.desired_speed[3], agents.is_yielding[:] = 0.0, Stepping.NOWHERE
    none = np.zeros(0, dtype=np.int64)
    send_in(rows, chosen, place, agents, Settlers(none, none, none, none.astype(bool), 5.0, 100, 0.05))
    rows, chosen = rows[:4], chosen[:4]  # the last has no place
    assert np.flatnonzero(agents.is_yielding == Stepping.IN).tolist() == rows.tolist()
    assert np.count_nonzero(agents.is_yielding) == len(rows)
    assert np.array_equal(agents.yield_target[rows], place[chosen])
    expected = [
        100 + twin.ticks_to(place[at], agents.position[row], agents.desired_speed[row], 5.0, 0.05)
        for row, at in zip(rows, chosen)
    ]
    assert agents.yield_tick[rows].tolist() == expected
    assert np.count_nonzero(agents.yield_tick) == len(rows)
