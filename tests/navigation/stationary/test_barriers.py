"""What those who stand shut, against areas that are cut out and looked at."""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.search.a_star import corridor_size
from crowdsim.navigation.search.slot_fields import BEST_TOTAL, FOUND, STATUS, UNREACHABLE
from crowdsim.navigation.stationary.barriers import draw_barriers
from crowdsim.navigation.stationary.passage import are_parted_by_standers, gap_count, gap_point, is_way_open, portal_place
from crowdsim.navigation.stationary.search import advance_round, begin_round, copy_round
from crowdsim.navigation.stationary.slots import IS_FULL, make_stander_slots
from tests.navigation.worlds import free_points, located, pillar_hall, point_goals, random_ground, rooms
from tests.reference.standers import People, Rounds, gaps_of, outline, taken_by_people, taken_by_walls, together

SHARE = 0.6
TIE_M = 1e-4  # Twins round circles by polygons: what another radius by this much decides otherwise is a tie.


def slots_for(mesh, standers, radius, room=4096):
    """Return a slot with the barriers of those who stand, (k, 4) sorted by x."""
    slots = make_stander_slots(1, mesh.edge_count, room)
    assert draw_barriers(slots, 0, mesh, standers, 0, len(standers), radius, SHARE)
    return slots


def people(mesh, ground, count, rng, radius=(0.1, 0.45)):
    """Return people who stand about, some in clumps: x, y, radius, polygon, sorted by x."""
    points, _ = free_points(ground, 0.02, count, rng)
    for i in range(1, len(points), 2):
        near = points[i - 1] + rng.normal(0.0, 0.25, 2)
        points[i] = near if shapely.contains_xy(ground, *near) else points[i]
    discs = np.column_stack([points, rng.uniform(*radius, len(points)), located(mesh, points)])
    return np.ascontiguousarray(discs[np.argsort(discs[:, 0], kind="stable")])


def shares(standers, more=0.0):
    """Return the discs in which no other centre may be, all larger by `more`."""
    return [(x, y, SHARE * r + more, polygon) for x, y, r, polygon in standers]


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(60))
def test_points_of_a_polygon_are_parted_exactly_if_areas_are(seed):
    rng = np.random.default_rng(seed)
    ground = (random_ground, rooms, lambda k: pillar_hall(3 + k % 3))[seed % 3](seed)
    mesh, radius = build_mesh(ground).mesh, float(rng.choice([0.1, 0.2]))
    standers = people(mesh, ground, 60, rng)
    slots = slots_for(mesh, standers, radius)
    crowds = [People(mesh, shares(standers, more), radius) for more in (-TIE_M, TIE_M)]
    told = 0
    for polygon in range(mesh.polygon_count):
        area = outline(mesh, polygon)
        walls = taken_by_walls(mesh, polygon, radius)
        free = [area.difference(walls.union(taken_by_people(each.of(polygon)))) for each in crowds]
        alone = area.difference(walls)
        low, high = area.bounds[:2], area.bounds[2:]
        points = [p for p in rng.uniform(low, high, (40, 2)) if free[1].buffer(-TIE_M).contains(shapely.Point(p))][:6]
        for i, p in enumerate(points):
            for q in points[:i]:
                twins = [together(each, p, q) for each in free]
                if not together(alone, p, q) or twins[0] != twins[1]:
                    continue
                assert are_parted_by_standers(slots, 0, polygon, *p, *q) != twins[0], (polygon, p, q)
                told += 1
    assert told > 20


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(40))
def test_gaps_are_what_discs_leave_of_a_portal(seed):
    rng = np.random.default_rng(seed)
    ground = (random_ground, rooms)[seed % 2](seed)
    mesh, radius = build_mesh(ground).mesh, float(rng.choice([0.1, 0.2]))
    standers = people(mesh, ground, 80, rng)
    slots, crowd, cut = slots_for(mesh, standers, radius), People(mesh, shares(standers), radius), 0
    for edge in np.flatnonzero(mesh.edge_twin >= 0).tolist():
        place = portal_place(slots, 0, mesh, edge)
        found = [gap_point(slots, 0, mesh, edge, place, k) for k in range(gap_count(slots, 0, place))]
        want = gaps_of(mesh, edge, radius, crowd)
        if mesh.edge_width[edge] >= 2.0 * radius:
            assert np.allclose(np.array(found).reshape(-1, 2), np.array(want).reshape(-1, 2), atol=1e-9)
            cut += place >= 0
    assert cut > 3


def asked(seed, count=5):
    """Return a world, those who stand in it, and questions: (start, polygon, goal) each."""
    rng = np.random.default_rng(seed)
    ground = (random_ground, rooms, lambda k: pillar_hall(3 + k % 3))[seed % 3](seed)
    mesh = build_mesh(ground).mesh
    radius = float(rng.choice([0.1, 0.2]))
    standers = people(mesh, ground, 150, rng)
    points, _ = free_points(ground, radius, 8 * count, rng)
    away = np.hypot(*(points[:, None] - standers[None, :, :2]).transpose(2, 0, 1))  # who is in a disc is beside its middle; areas know of no sides there
    points = points[(away > SHARE * standers[:, 2] + 2.0 * TIE_M).all(axis=1)][: 2 * count]
    goals = point_goals(mesh, points[1::2])
    return mesh, goals, radius, standers, points[::2], located(mesh, points[::2])


@pytest.mark.full
@pytest.mark.parametrize("seed", range(60))
def test_the_cheapest_way_round_costs_what_areas_say(seed):
    mesh, goals, radius, standers, starts, polygons = asked(seed)
    slots = slots_for(mesh, standers, radius)
    found = lost = 0
    for goal, (start, polygon) in enumerate(zip(starts.tolist(), polygons.tolist())):
        want = [Rounds(mesh, goals, goal, radius, shares(standers, more)).search(*start, polygon) for more in (-TIE_M, 0.0, TIE_M)]
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
            assert is_way_open(slots, 0, mesh, goals, cells, 0, len(cells), piece, *start, polygon)
            assert Rounds(mesh, goals, goal, radius, shares(standers)).is_open(cells.tolist(), piece, *start, polygon)
        found, lost = found + np.isfinite(want[1]), lost + (not np.isfinite(want[1]))
    assert found + lost >= 2


def test_what_does_not_fit_says_so_and_more_room_does():
    mesh, _, radius, standers, _, _ = asked(1)
    small = make_stander_slots(1, mesh.edge_count, 16)
    assert not draw_barriers(small, 0, mesh, standers, 0, len(standers), radius, SHARE) and small.marks[0, IS_FULL] == 1
    slots_for(mesh, standers, radius)
