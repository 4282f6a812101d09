"""The search finds the cheapest corridor, the same one however it is sliced, alone or shared."""

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.search.a_star import (
    STRAIGHT,
    STRAIGHT_COST,
    advance_search,
    begin_search,
    make_slots,
)
from crowdsim.navigation.search.goal_entries import make_scratch
from crowdsim.navigation.search.slot_fields import (
    BEST_TOTAL,
    EXPANSIONS,
    FOUND,
    IS_SEEDED,
    STATUS,
    UNREACHABLE,
)
from tests.navigation.worlds import (
    OnePlanner,
    free_points,
    located,
    pillar_hall,
    point_goals,
    random_ground,
    rooms,
)
from tests.reference import search as twin


def goals_on(mesh, ground, rng):
    """Return goals of all kinds: a point, a region over many polygons, the nearest of both."""
    points, _ = free_points(ground, 0.3, 1, rng)
    west, south, east, north = ground.bounds
    region = shapely.box(
        west + 0.4 * (east - west),
        south + 0.3 * (north - south),
        west + 0.6 * (east - west),
        south + 0.6 * (north - south),
    )
    return cut_goals(
        mesh,
        [GoalShape(shapely.Point(points[0]), reach=0.1), GoalShape(region), GoalShape(None, parts=(0, 1))],
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("cells", ["polygons", "triangles"])
@pytest.mark.parametrize(
    "make, seed", [(random_ground, 3), (random_ground, 12), (rooms, 1), (pillar_hall, 5)]
)
def test_corridors_cost_what_dijkstra_finds(make, seed, cells):
    ground = make(seed)
    planner = OnePlanner.on(ground, faces=cells)
    rng = np.random.default_rng(seed)
    goals = goals_on(planner.mesh, ground, rng)
    found = straight = 0
    for radius in (0.0, 0.2, 0.45):
        starts, _ = free_points(ground, radius, 4, rng)
        for goal in range(3):
            asked = (planner.mesh, goals, goal, 2.0 * radius)
            costs = twin.costs_to_goal(*asked)
            for start, polygon in zip(starts, located(planner.mesh, starts)):
                expected = twin.least_total(*asked, *start.tolist(), polygon, costs=costs)
                status = planner.search(start, goals, radius, goal=goal)
                assert status == (FOUND if np.isfinite(expected) else UNREACHABLE)
                if status == FOUND:
                    found += 1
                    cells_, piece = planner.corridor()
                    portals, total = cells_[::-1].tolist(), planner.slots.measure[0, BEST_TOTAL]
                    assert twin.is_connected(planner.mesh, goals, portals, polygon, piece)
                    # the piece is in sight, and nearer than over points of portals
                    if planner.slots.header[0, STRAIGHT] > 0:
                        end = twin.entry_of(planner.mesh, goals, piece, 2.0 * radius, tuple(start.tolist()))
                        assert (
                            total == pytest.approx(STRAIGHT_COST * np.hypot(*(start - end)), rel=1e-4)
                            and total < expected
                        )
                        assert ground.buffer(1e-6).covers(shapely.LineString([start, end]))
                        straight += 1
                    else:
                        assert twin.cost_of_corridor(
                            planner.mesh, goals, portals, piece, 2.0 * radius, *start.tolist()
                        ) == pytest.approx(expected, rel=1e-12)
                        assert total == pytest.approx(expected, rel=1e-12)
                    assert goals.goal_start[goal] <= piece < goals.goal_start[goal + 1]
    assert found > 10 and straight < found


@pytest.fixture(scope="module")
def worlds_to_slice():
    """Planners with goals and starts: a plan without ties, and one full of them."""
    out = []
    for ground in (random_ground(12), pillar_hall(6)):
        planner = OnePlanner.on(ground)
        rng = np.random.default_rng(5)
        out.append((planner, goals_on(planner.mesh, ground, rng), free_points(ground, 0.2, 20, rng)[0]))
    return out


@settings(max_examples=60, deadline=None)
@given(
    world=st.integers(0, 1), start=st.integers(0, 19), goal=st.integers(0, 2), is_shared=st.integers(0, 1),
    slices=st.lists(st.integers(0, 40), min_size=1, max_size=30),
)  # fmt: skip
def test_every_slicing_gives_the_same_corridor(worlds_to_slice, world, start, goal, is_shared, slices):
    planner, goals, starts = worlds_to_slice[world]
    status = planner.search(starts[start], goals, 0.2, goal=goal)
    cells, piece = planner.corridor() if status == FOUND else (None, None)
    total, expansions = planner.slots.measure[0, BEST_TOTAL], planner.slots.header[0, EXPANSIONS]
    other = OnePlanner(planner.mesh)
    other.goals = goals
    x, y = starts[start].tolist()
    begin_search(
        other.slots,
        0,
        planner.mesh,
        goals,
        other.points,
        other.scratch,
        goal,
        0.4,
        x,
        y,
        int(located(planner.mesh, starts[start][None])[0]),
        is_shared,
    )
    made = 0
    for grant in slices + [1] * 100_000:
        used = advance_search(other.slots, 0, planner.mesh, goals, other.points, other.scratch, grant)
        assert used <= grant
        made += used
        if other.slots.header[0, STATUS] != 1:
            break
    assert other.slots.header[0, STATUS] == status
    assert made == other.slots.header[0, EXPANSIONS] and (is_shared or made == expansions)
    if status == FOUND:
        again, again_piece = other.corridor()
        assert np.array_equal(cells, again) and piece == again_piece
    assert other.slots.measure[0, BEST_TOTAL] == total


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "make, seed", [(random_ground, 3), (random_ground, 8), (rooms, 2), (pillar_hall, 4), (pillar_hall, 9)]
)
def test_one_tree_for_all_gives_each_start_the_corridor_of_a_search_of_its_own(make, seed):
    """Pillars in rows are full of equal paths;
    each start must still get the very same corridor, whatever was requested before it.
    """
    ground = make(seed)
    alone, shared = OnePlanner.on(ground), OnePlanner.on(ground)
    rng = np.random.default_rng(seed)
    goals = goals_on(alone.mesh, ground, rng)
    starts, _ = free_points(ground, 0.2, 60, rng)
    lattice = np.stack(np.meshgrid(np.arange(0.5, 8.0, 1.5), np.arange(0.5, 8.0, 1.5)), axis=-1).reshape(
        -1, 2
    )
    starts = np.vstack(
        [starts, lattice[shapely.contains_xy(ground.buffer(-0.2), lattice[:, 0], lattice[:, 1])]]
    )
    for goal in range(3):
        shared.slots.header[0, IS_SEEDED] = 0  # the planner does so when a slot turns to another goal
        for start in starts:
            assert alone.search(start, goals, 0.2, goal=goal) == shared.search(
                start, goals, 0.2, goal=goal, is_shared=1, slice_size=7
            )
            if alone.slots.header[0, STATUS] == FOUND:
                (mine, my_piece), (theirs, their_piece) = alone.corridor(), shared.corridor()
                assert np.array_equal(mine, theirs) and my_piece == their_piece


def test_the_path_is_the_same_in_slots_that_were_used_before():
    ground = random_ground(3)
    planner = OnePlanner.on(ground)
    rng = np.random.default_rng(0)
    goals = goals_on(planner.mesh, ground, rng)
    starts, _ = free_points(ground, 0.1, 30, rng)
    for start in starts:
        used = (
            planner.search(start, goals, 0.1, goal=1),
            planner.corridor()[0].tolist() if planner.slots.header[0, STATUS] == FOUND else None,
        )
        fresh = OnePlanner(planner.mesh)
        new = (
            fresh.search(start, goals, 0.1, goal=1),
            fresh.corridor()[0].tolist() if fresh.slots.header[0, STATUS] == FOUND else None,
        )
        assert used == new


def test_no_grant_means_no_expansion_and_a_goal_in_the_same_polygon_needs_one():
    planner = OnePlanner.on(shapely.box(0, 0, 4, 4))
    goals = point_goals(planner.mesh, [(3.0, 3.0)])
    begin_search(
        planner.slots, 0, planner.mesh, goals, planner.points, planner.scratch, 0, 0.4, 1.0, 1.0, 0, 0
    )
    assert advance_search(planner.slots, 0, planner.mesh, goals, planner.points, planner.scratch, 0) == 0
    assert (
        planner.search((1.0, 1.0), goals, 0.2) == FOUND
        and planner.slots.header[0, EXPANSIONS] == 1
        and planner.corridor() == (pytest.approx([]), 0)
    )


def test_a_goal_off_the_mesh_and_one_behind_a_wall_are_unreachable():
    ground = shapely.box(0, 0, 10, 4).difference(shapely.box(5, 0, 5.1, 4))
    planner = OnePlanner.on(ground)
    goals = cut_goals(
        planner.mesh,
        [
            GoalShape(shapely.Point(20.0, 1.0)),
            GoalShape(shapely.Point(8.0, 1.0)),
            GoalShape(shapely.box(6, 1, 7, 2)),
        ],
    )
    assert [planner.search((1.0, 1.0), goals, 0.1, goal=goal) for goal in range(3)] == [UNREACHABLE] * 3
    assert planner.search((9.0, 1.0), goals, 0.1, goal=2) == FOUND


def test_slots_do_not_disturb_each_other():
    ground = rooms(2)
    planner = OnePlanner.on(ground)
    rng = np.random.default_rng(1)
    goals = goals_on(planner.mesh, ground, rng)
    starts, _ = free_points(ground, 0.1, 6, rng)
    polygons = located(planner.mesh, starts)
    slots, scratch = make_slots(6, len(planner.points.edge)), make_scratch(6, planner.mesh.polygon_count)
    for k in range(6):
        begin_search(
            slots,
            k,
            planner.mesh,
            goals,
            planner.points,
            scratch,
            k % 3,
            0.2,
            *starts[k].tolist(),
            int(polygons[k]),
            k % 2,
        )
    while np.any(slots.header[:, STATUS] == 1):
        for k in range(6):
            advance_search(slots, k, planner.mesh, goals, planner.points, scratch, 3)
    for k in range(6):
        assert planner.search(starts[k], goals, 0.1, goal=k % 3) == slots.header[k, STATUS]
        assert planner.slots.measure[0, BEST_TOTAL] == slots.measure[k, BEST_TOTAL]
