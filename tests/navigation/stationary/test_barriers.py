"""What stationary agents shut, against areas that are cut out and looked at."""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.search.a_star import corridor_size
from crowdsim.navigation.search.slot_fields import BEST_TOTAL, FOUND, STATUS, UNREACHABLE
from crowdsim.navigation.stationary.barriers import draw_barriers
from crowdsim.navigation.stationary.passage import (
    are_parted_by_barriers,
    gap_count,
    gap_point,
    is_corridor_open,
    portal_place,
)
from crowdsim.navigation.stationary.search import advance_round, begin_round, copy_round
from crowdsim.navigation.stationary.slots import IS_FULL, make_stationary_slots
from tests.navigation.worlds import free_points, located, pillar_hall, point_goals, random_ground, rooms
from tests.reference.stationary import (
    Crowd,
    Rounds,
    gaps_of,
    outline,
    part_with,
    parts_of,
    taken_by_agents,
    taken_by_walls,
)

SHARE = 0.6
TIE_M = 1e-4  # Twins round circles by polygons: what another radius by this much decides otherwise is a tie.


def slots_for(mesh, stationary, radius, room=4096):
    """Return a slot with the barriers of stationary agents, (k, 4) sorted by x."""
    slots = make_stationary_slots(1, mesh.edge_count, room)
    assert draw_barriers(slots, 0, mesh, stationary, 0, len(stationary), radius, SHARE)
    return slots


def scattered(mesh, ground, count, rng, radius=(0.1, 0.45)):
    """Return stationary agents, some in clumps: x, y, radius, polygon, sorted by x."""
    points, _ = free_points(ground, 0.02, count, rng)
    for i in range(1, len(points), 2):
        near = points[i - 1] + rng.normal(0.0, 0.25, 2)
        points[i] = near if shapely.contains_xy(ground, *near) else points[i]
    discs = np.column_stack([points, rng.uniform(*radius, len(points)), located(mesh, points)])
    return np.ascontiguousarray(discs[np.argsort(discs[:, 0], kind="stable")])


def shares(stationary, more=0.0):
    """Return the discs in which no other centre may be, all larger by `more`."""
    return [(x, y, SHARE * r + more, polygon) for x, y, r, polygon in stationary]


@pytest.mark.sample(2)  # in the second one areas are parted
@pytest.mark.parametrize("seed", range(60))
def test_points_of_a_polygon_are_parted_exactly_if_areas_are(seed):
    rng = np.random.default_rng(seed)
    ground = (random_ground, rooms, lambda k: pillar_hall(3 + k % 3))[seed % 3](seed)
    mesh, radius = build_mesh(ground).mesh, float(rng.choice([0.1, 0.2]))
    stationary = scattered(mesh, ground, 60, rng)
    slots = slots_for(mesh, stationary, radius)
    crowds = [Crowd(mesh, shares(stationary, more), radius) for more in (-TIE_M, TIE_M)]
    count = 0
    for polygon in range(mesh.polygon_count):
        area = outline(mesh, polygon)
        walls = taken_by_walls(mesh, polygon, radius)
        free = [area.difference(walls.union(taken_by_agents(each.of(polygon)))) for each in crowds]
        alone = area.difference(walls)
        low, high = area.bounds[:2], area.bounds[2:]
        inside, points = free[1].buffer(-TIE_M), rng.uniform(low, high, (40, 2))
        points = points[shapely.contains_xy(inside, *points.T)][:6]
        # of each area, the part that a point is in
        parts = [parts_of(each) for each in (*free, alone)]
        part = [[part_with(each, p) for p in points] for each in parts]
        for i, p in enumerate(points):
            for j, q in enumerate(points[:i]):
                *twins, without = [bool(own) and of[i] == of[j] for own, of in zip(parts, part)]
                if not without or twins[0] != twins[1]:
                    continue
                assert are_parted_by_barriers(slots, 0, polygon, *p, *q) != twins[0], (polygon, p, q)
                count += 1
    assert count > 20


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(40))
def test_gaps_are_what_discs_leave_of_a_portal(seed):
    rng = np.random.default_rng(seed)
    ground = (random_ground, rooms)[seed % 2](seed)
    mesh, radius = build_mesh(ground).mesh, float(rng.choice([0.1, 0.2]))
    stationary = scattered(mesh, ground, 80, rng)
    slots, crowd, cut = slots_for(mesh, stationary, radius), Crowd(mesh, shares(stationary), radius), 0
    for edge in np.flatnonzero(mesh.edge_twin >= 0).tolist():
        place = portal_place(slots, 0, mesh, edge)
        found = [gap_point(slots, 0, mesh, edge, place, k) for k in range(gap_count(slots, 0, place))]
        want = gaps_of(mesh, edge, radius, crowd)
        if mesh.edge_width[edge] >= 2.0 * radius:
            assert np.allclose(np.array(found).reshape(-1, 2), np.array(want).reshape(-1, 2), atol=1e-9)
            cut += place >= 0
    assert cut > 3


def requests_in(seed, count=5):
    """Return a world, the stationary agents in it, and requests: (start, polygon, goal) each."""
    rng = np.random.default_rng(seed)
    ground = (random_ground, rooms, lambda k: pillar_hall(3 + k % 3))[seed % 3](seed)
    mesh = build_mesh(ground).mesh
    radius = float(rng.choice([0.1, 0.2]))
    stationary = scattered(mesh, ground, 150, rng)
    points, _ = free_points(ground, radius, 8 * count, rng)
    # an agent in a disc is beside its middle; areas know of no sides there
    away = np.hypot(*(points[:, None] - stationary[None, :, :2]).transpose(2, 0, 1))
    points = points[(away > SHARE * stationary[:, 2] + 2.0 * TIE_M).all(axis=1)][: 2 * count]
    goals = point_goals(mesh, points[1::2])
    return mesh, goals, radius, stationary, points[::2], located(mesh, points[::2])


@pytest.mark.full
@pytest.mark.parametrize("seed", range(60))
def test_the_cheapest_path_round_costs_what_areas_say(seed):
    mesh, goals, radius, stationary, starts, polygons = requests_in(seed)
    slots = slots_for(mesh, stationary, radius)
    found = lost = 0
    for goal, (start, polygon) in enumerate(zip(starts.tolist(), polygons.tolist())):
        want = [
            Rounds(mesh, goals, goal, radius, shares(stationary, more)).search(*start, polygon)
            for more in (-TIE_M, 0.0, TIE_M)
        ]
        if want != pytest.approx([want[1]] * 3, abs=0.01):
            continue  # also where the point of a portal is just inside of a gap, or not
        begin_round(slots, 0, mesh, goals, goal, 2.0 * radius, *start, polygon)
        while slots.search.header[0, STATUS] == 1:
            advance_round(slots, 0, mesh, 7)
        assert slots.search.header[0, STATUS] == (FOUND if np.isfinite(want[1]) else UNREACHABLE)
        if np.isfinite(want[1]):
            assert slots.search.measure[0, BEST_TOTAL] == pytest.approx(want[1], rel=1e-9)
            cells = np.zeros(corridor_size(slots.search, 0), dtype=np.int32)
            piece = copy_round(slots, 0, mesh, cells, 0)
            assert is_corridor_open(slots, 0, mesh, goals, cells, 0, len(cells), piece, *start, polygon)
            assert Rounds(mesh, goals, goal, radius, shares(stationary)).is_open(
                cells.tolist(), piece, *start, polygon
            )
        found, lost = found + np.isfinite(want[1]), lost + (not np.isfinite(want[1]))
    assert found + lost >= 2


def test_what_does_not_fit_says_so_and_more_room_does():
    mesh, _, radius, stationary, _, _ = requests_in(1)
    small = make_stationary_slots(1, mesh.edge_count, 16)
    assert (
        not draw_barriers(small, 0, mesh, stationary, 0, len(stationary), radius, SHARE)
        and small.marks[0, IS_FULL] == 1
    )
    slots_for(mesh, stationary, radius)
