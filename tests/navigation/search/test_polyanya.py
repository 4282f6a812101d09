"""Paths of Polyanya are the shortest of all:
as short as in the visibility graph, never longer than those of A*, however they are searched for.
"""

import resource
from pathlib import Path

import numpy as np
import pytest
import shapely
from shapely import affinity

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.goals.rims import find_rims
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.planning.find_landmarks import distances_to_landmarks
from crowdsim.navigation.search.goal_entries import make_scratch
from crowdsim.navigation.search.landmarks import landmarks_of
from crowdsim.navigation.search.polyanya import advance_polyanya, begin_polyanya
from crowdsim.navigation.search.polyanya_slots import (
    HALF_EDGE,
    HEADER_SIZE,
    INTERVAL_COUNT,
    IS_FULL,
    LOOKED_AT,
    NEXT,
    PAGE_ROWS,
    POOL_ARRAYS,
    ROOM,
    copy_polyanya,
    make_interval_slots,
    polyanya_size,
    with_more_room,
)
from crowdsim.navigation.search.slot_fields import (
    BEST_TOTAL,
    EXPANSIONS,
    FOUND,
    GENERATION,
    PENDING,
    STATUS,
    UNREACHABLE,
)
from tests.navigation.worlds import (
    UTM,
    OnePlanner,
    free_points,
    located,
    pillar_hall,
    point_goals,
    random_ground,
    rooms,
    simple_polygon,
)
from tests.reference import funnel
from tests.reference import polyanya as twin
from tests.reference import search as dijkstra

ALL = 1 << 40


class Polyanya:
    """A mesh with one slot for a search of its own and one for a shared one."""

    def __init__(self, ground, cells="polygons", capacity=1 << 12, mesh=None, landmarks=0):
        self.mesh = build_mesh(ground, parameters=MeshParameters(faces=cells)).mesh if mesh is None else mesh
        known = landmarks_of(self.mesh, distances_to_landmarks(self.mesh, landmarks)) if landmarks else None
        self.slots = make_interval_slots(2, self.mesh, capacity, landmarks=known)
        self._goals, self.scratch = None, make_scratch(2, self.mesh.polygon_count)

    def rims(self, goals):
        """Return the rims of goals, found once."""
        if self._goals is not goals:
            self._goals, self._rims = goals, find_rims(self.mesh, goals)
        return self._rims

    def search(self, start, goals, radius, *, goal=0, is_shared=0, slice_size=ALL, polygon=None):
        """Run a search in slices; return its status and its total."""
        polygon = int(located(self.mesh, np.array([start]))[0]) if polygon is None else polygon
        rims = self.rims(goals)
        begin_polyanya(
            self.slots,
            is_shared,
            self.mesh,
            goals,
            self.scratch,
            goal,
            2.0 * radius,
            float(start[0]),
            float(start[1]),
            polygon,
            is_shared,
        )
        while self.slots.header[is_shared, STATUS] == PENDING:
            advance_polyanya(self.slots, is_shared, self.mesh, goals, rims, self.scratch, slice_size)
            if self.slots.header[is_shared, IS_FULL]:
                self.slots = with_more_room(self.slots)
        return int(self.slots.header[is_shared, STATUS]), float(self.slots.measure[is_shared, BEST_TOTAL])

    def corridor(self, slot=0):
        """Return the found corridor (goal's end first) and the piece of the goal."""
        cells = np.zeros(max(1, polyanya_size(self.slots, slot)), dtype=np.int32)
        count, piece = copy_polyanya(self.slots, slot, cells, 0)
        return cells[:count], piece

    def measured(self, start, goals, radius, slot=0):
        """Return how long the way through the found corridor is."""
        cells, piece = self.corridor(slot)
        out = np.empty(1)
        measure_corridors(
            self.mesh,
            goals,
            np.append(cells, np.int32(0)),
            np.zeros(1, dtype=np.int64),
            np.array([len(cells)], dtype=np.int32),
            located(self.mesh, np.array([start])),
            np.array([piece], dtype=np.int32),
            np.array([start], dtype=np.float64),
            np.array([radius]),
            out,
        )
        return float(out[0])


def check_points(ground, seed, cells, pairs, landmarks=0):
    """Assert that paths of points are those of the visibility graph, alone and shared,
    and that their corridors are as long; return how many were found.
    """
    world = Polyanya(ground, cells, landmarks=landmarks)
    best, rng = twin.of_point(ground), np.random.default_rng(seed)
    points, _ = free_points(ground, 0.0, 2 * pairs, rng)
    goals, found = point_goals(world.mesh, points), 0
    one = OnePlanner(world.mesh)
    for k in range(0, len(points) - 1, 2):
        expected = best.shortest(points[k], points[k + 1])
        for is_shared in (0, 1):
            room = world.slots.header[1, ROOM]
            world.slots.header[1] = 0 * world.slots.header[1] + [
                *world.slots.header[1, :2],
                *(0,) * (HEADER_SIZE - 2),
            ]
            world.slots.header[1, ROOM] = room
            status, total = world.search(points[k], goals, 0.0, goal=k + 1, is_shared=is_shared)
            assert status == (FOUND if np.isfinite(expected) else UNREACHABLE), (seed, k)
            if status == FOUND:
                assert total == pytest.approx(expected, rel=1e-9), (seed, k, is_shared)
                assert world.measured(points[k], goals, 0.0, is_shared) == pytest.approx(
                    expected, rel=1e-9
                ), (seed, k, is_shared)
        if np.isfinite(expected):
            found += 1
            assert one.path(points[k], points[k + 1], 0.0)[3] >= expected * (1.0 - 1e-9)
            portals = world.corridor()[0][::-1].tolist()
            assert dijkstra.is_connected(
                world.mesh, goals, portals, int(located(world.mesh, points[k][None])[0]), world.corridor()[1]
            )
    return found


@pytest.mark.sample(1)
@pytest.mark.parametrize("cells", ["polygons", "triangles"])
@pytest.mark.parametrize("block", range(5))
def test_paths_of_points_are_those_of_the_visibility_graph(block, cells):
    assert (
        sum(check_points(random_ground(seed), seed, cells, 4) for seed in range(10 * block, 10 * block + 10))
        > 20
    )


# A path turns at a corner that only feet of walls, or a wall in line with a portal, lead to.
@pytest.mark.parametrize("seed", [71, 95])
def test_paths_along_walls_bend_at_the_last_corner_in_line(seed):
    assert check_points(random_ground(seed), seed, "polygons", 6) > 3


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "ground, seed",
    [
        (pillar_hall(6), 1),
        (rooms(3), 2),
        (simple_polygon(4), 3),
        (affinity.translate(random_ground(5), *UTM), 4),
    ],
    ids=["pillars", "rooms", "no holes", "map coordinates"],
)
def test_paths_on_other_grounds_are_those_of_the_visibility_graph(ground, seed):
    assert check_points(ground, seed, "polygons", 10) > 3


@pytest.mark.full
@pytest.mark.parametrize("block", range(40))
def test_thousands_of_worlds_have_the_paths_of_the_visibility_graph(block):
    for seed in range(100 + 50 * block, 150 + 50 * block):
        check_points(random_ground(seed), seed, ("polygons", "triangles")[seed % 2], 5)


def check_agents(seed, radii, pairs, landmarks=0):
    """Assert that paths of agents are those of the visibility graph on eroded ground, up to its chords;
    return how many were found.
    """
    ground, rng, found = random_ground(seed), np.random.default_rng(seed), 0
    world = Polyanya(ground, landmarks=landmarks)
    for radius in radii:
        points, part = free_points(ground, radius, 2 * pairs, rng)
        if len(points) < 2:
            continue
        best, goals = twin.of_agent(ground, radius), point_goals(world.mesh, points)
        for k in range(0, len(points) - 1, 2):
            status, _ = world.search(points[k], goals, radius, goal=k + 1)
            expected = best.shortest(points[k], points[k + 1])
            assert (status == FOUND) == (part[k] == part[k + 1])
            if status != FOUND:
                continue
            found += 1
            length = world.measured(points[k], goals, radius)
            assert length >= expected - 1e-6
            # more than any way here turns: a full turn, and one more for every 4 m
            turning = 2.0 * np.pi * (1.0 + length / 4.0)
            # over chords the path may lead through a gap that is too narrow by the width of a hair
            if length > expected + twin.chord_error(radius, turning) + 1e-6:
                assert (
                    length <= twin.of_wider_agent(ground, radius).shortest(points[k], points[k + 1]) + 1e-6
                ), (seed, radius, k)
    return found


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(5))
def test_paths_of_agents_are_the_shortest_on_eroded_ground(seed):
    assert check_agents(seed, (0.1, 0.35), 3) > 1


@pytest.mark.full
def test_a_path_may_cross_an_edge_before_it_touches_the_disc_at_its_end():
    """Two corners 6 cm apart, passed by an agent of 0.2 m: its path was 4 cm too long."""
    assert check_agents(26, (0.1, 0.2), 5) > 5


@pytest.mark.full
@pytest.mark.parametrize("block", range(20))
def test_paths_of_agents_in_hundreds_of_worlds_are_the_shortest_on_eroded_ground(block):
    assert sum(check_agents(seed, (0.1, 0.2, 0.35), 5) for seed in range(10 * block, 10 * block + 10)) > 30


@pytest.mark.parametrize("seed", range(4))
def test_each_side_knows_those_beside_it_and_the_next_portal_round_its_polygon(seed):
    mesh = build_mesh(random_ground(seed)).mesh
    sides = make_interval_slots(1, mesh, 64).sides
    assert HALF_EDGE.itemsize == 48  # that many lie side by side in 64-byte lines
    for first, stop in zip(mesh.polygon_start[:-1].tolist(), mesh.polygon_start[1:].tolist(), strict=True):
        ring = list(range(first, stop))
        for place, edge in enumerate(ring):
            later = ring[place + 1 :] + ring[: place + 1]
            portals = [each for each in later if mesh.edge_twin[each] >= 0]
            assert edge + sides[edge]["after"] == later[0]
            assert edge + sides[edge]["before"] == later[-2]
            assert edge + sides[edge]["portal"] == (portals[0] if portals else edge)


def test_ground_of_one_polygon_has_no_portals_to_go_round():
    mesh = build_mesh(shapely.box(0.0, 0.0, 4.0, 3.0)).mesh
    assert make_interval_slots(1, mesh, 64).sides["portal"].tolist() == [0] * 4
    world = Polyanya(shapely.box(0.0, 0.0, 4.0, 3.0))
    goals = point_goals(world.mesh, np.array([[3.0, 2.0]]))
    for is_shared in (0, 1):
        found = world.search(np.array([1.0, 1.0]), goals, 0.2, is_shared=is_shared)
        assert found == (FOUND, pytest.approx(np.sqrt(5.0)))


def test_a_search_that_gets_more_room_copies_nothing_of_any_slot_while_there_are_rows():
    """All that 32 slots knew was copied when one was full: 50 ms in one tick."""
    mesh = build_mesh(random_ground(3)).mesh
    slots = make_interval_slots(3, mesh, 64, 1 << 14)
    slots.header[:, INTERVAL_COUNT], slots.header[1, IS_FULL] = (64, 60, 10), 1
    slots.real[:64], slots.real[1 << 14 : (1 << 14) + 60] = 1.0, 2.0
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    more = with_more_room(slots)
    assert resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before < 10
    assert more.real is slots.real and more.header[:, ROOM].tolist() == [64, 128, 64]
    assert not more.header[:, IS_FULL].any()


def test_a_search_that_has_no_rows_left_gets_more_and_copies_none_of_any_slot():
    """All that trees knew was copied when one was full: 0.8 s in one tick of 100,000 agents among columns."""
    slots, rows, found = make_interval_slots(3, build_mesh(random_ground(3)).mesh, 64, 1 << 14), 1 << 14, {}
    counts = np.array([rows, 60, rows])
    slots.header[:, INTERVAL_COUNT], slots.header[:, ROOM], slots.header[:, IS_FULL] = counts, rows, (1, 0, 1)
    for name in POOL_ARRAYS:
        for slot, count in enumerate(counts.tolist()):
            part = getattr(slots, name)[slot * rows : slot * rows + count]
            part[:] = found[name, slot] = 1 + slot + np.arange(part.size).reshape(part.shape)
            found[name, slot] = found[name, slot].astype(part.dtype)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    larger = with_more_room(slots)
    assert resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before < 200  # of more than 1,000 pages
    assert np.diff(larger.first).tolist() == [2 * rows, rows, 2 * rows]
    for (name, slot), expected in found.items():
        begin = int(larger.first[slot])
        assert np.array_equal(getattr(larger, name)[begin : begin + len(expected)], expected)
    assert not larger.real[2 * rows + PAGE_ROWS : 3 * rows].any() and not larger.bound[-rows:].any()


@pytest.mark.parametrize(("room", "reserve"), [(100, 0), (3000, 0), (100, 5000)])
def test_slots_begin_with_a_page_or_have_less_than_one(room, reserve):
    slots, most = make_interval_slots(4, build_mesh(random_ground(3)).mesh, room, reserve), max(room, reserve)
    each = np.diff(slots.first)
    assert np.all(each >= most) and len(slots.bound) == slots.first[-1]
    assert np.all(each % PAGE_ROWS == 0) if most > PAGE_ROWS else np.all(each == most)


@pytest.mark.parametrize("seed", [3, 12])
def test_every_slicing_and_any_capacity_give_the_same_path(seed):
    ground = random_ground(seed)
    points, _ = free_points(ground, 0.1, 8, np.random.default_rng(seed))
    for is_shared in (0, 1):
        answers = []
        for slice_size, capacity in ((ALL, 1 << 14), (1, 1 << 14), (7, 64), (ALL, 64)):
            world = Polyanya(ground, capacity=capacity)
            goals, answer = point_goals(world.mesh, points), []
            for k in range(1, 8):
                status, total = world.search(
                    points[k], goals, 0.1, goal=0, is_shared=is_shared, slice_size=slice_size
                )
                answer.append(
                    (
                        status,
                        total,
                        world.corridor(is_shared)[0].tolist(),
                        int(world.slots.header[is_shared, EXPANSIONS]),
                    )
                )
            answers.append(answer)
        assert answers[0] == answers[1] == answers[2] == answers[3]


def test_one_tree_serves_all_starts_in_any_order():
    ground = pillar_hall(7)
    points, _ = free_points(ground, 0.2, 40, np.random.default_rng(1))
    forth, back = Polyanya(ground), Polyanya(ground)
    goals = point_goals(forth.mesh, points[:1])
    paths = [{}, {}]
    for world, order, path in ((forth, range(1, 40), paths[0]), (back, range(39, 0, -1), paths[1])):
        for k in order:
            path[k] = (*world.search(points[k], goals, 0.2, is_shared=1), world.corridor(1)[0].tolist())
    assert paths[0] == paths[1]


@pytest.mark.parametrize("radius", [0.0, 0.2])
@pytest.mark.parametrize("ground", [pillar_hall(7), rooms(2)], ids=["pillar_hall", "rooms"])
def test_a_tree_that_was_grown_far_beyond_a_start_gives_it_the_same_path(ground, radius):
    """And few of the intervals that have entered its polygon are looked at."""
    points, _ = free_points(ground, 0.2, 40, np.random.default_rng(5))
    grown = Polyanya(ground)
    goals = point_goals(grown.mesh, points[:1])
    farthest = max(points[1:], key=lambda point: np.hypot(*(point - points[0])))
    grown.search(farthest, goals, radius, is_shared=1)
    looked_at, entered = 0, 0
    for point in points[1:]:
        fresh = Polyanya(ground)
        expected = fresh.search(point, goals, radius, is_shared=1), fresh.corridor(1)[0].tolist()
        assert (grown.search(point, goals, radius, is_shared=1), grown.corridor(1)[0].tolist()) == expected
        slots, polygon = grown.slots, int(located(grown.mesh, np.array([point]))[0])
        node = int(slots.oldest[1, polygon])
        is_looked_at = slots.header[1, LOOKED_AT] != -1
        while node != -1 and slots.newest_stamp[1, polygon] == slots.header[1, GENERATION]:
            looked_at, entered = looked_at + is_looked_at, entered + 1
            is_looked_at &= node != slots.header[1, LOOKED_AT]
            node = int(slots.whole[slots.first[1] + node, NEXT])
    assert 0 < looked_at < 0.8 * entered


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "seeds",
    [range(1), *(pytest.param(seeds, marks=pytest.mark.full) for seeds in (range(2), range(2, 16)))],
    ids=str,
)
@pytest.mark.parametrize("is_shared", [0, 1])
def test_the_path_to_a_region_is_the_path_to_its_nearest_point(is_shared, seeds):
    region = shapely.box(4.0, 4.0, 7.0, 6.5)
    checked = 0
    for seed in seeds:
        ground = random_ground(seed)
        world, best = Polyanya(ground), funnel.Visibility(ground)
        goals = cut_goals(world.mesh, [GoalShape(region)])
        inside = shapely.intersection(region, ground)
        # on a wall itself nothing is seen
        rim = [
            inside.buffer(-1e-7).boundary.interpolate(t, normalized=True) for t in np.linspace(0.0, 1.0, 200)
        ]
        points, _ = free_points(ground, 0.0, 4, np.random.default_rng(seed))
        for start in points:
            if region.contains(shapely.Point(start)):
                continue
            nearest = min(best.shortest(start, (p.x, p.y)) for p in rim)
            status, total = world.search(start, goals, 0.0, is_shared=is_shared)
            assert (status == FOUND) == np.isfinite(nearest)
            if status == FOUND:
                assert nearest - inside.length / 200.0 - 1e-6 <= total <= nearest + 1e-9
                checked += 1
    assert checked > len(seeds)


@pytest.mark.parametrize("radius", [0.0, 0.2])
@pytest.mark.parametrize("area", [(30, 39, 50, 40), (79, 0, 80, 40), (10, 0, 30, 1), (30, 5, 35, 9)], ids=str)
def test_a_tree_without_a_start_ends_when_it_has_looked_at_the_whole_ground(area, radius):
    """From a corner of an exit in an outer wall paths lead off the ground;
    none of them comes in again over an edge behind the corner, to go round for ever.
    """
    hall, exit_area = shapely.from_wkt(Path("scenarios/maps/concourse.wkt").read_text()), shapely.box(*area)
    mesh = build_mesh(shapely.union_all([hall, shapely.box(90, 0, 91, 1)]), openings=exit_area).mesh
    world = Polyanya(None, capacity=1 << 15, mesh=mesh)
    goals = cut_goals(mesh, [GoalShape(exit_area)])
    for is_shared in (0, 1):
        assert world.search((90.5, 0.5), goals, radius, is_shared=is_shared) == (UNREACHABLE, np.inf)
        # it is known at once that there is no path ...
        assert world.slots.header[is_shared, EXPANSIONS] == world.slots.header[is_shared, INTERVAL_COUNT] == 0
        world.slots.header[is_shared, STATUS] = PENDING  # ... and if it looked all the same
        advance_polyanya(
            world.slots, is_shared, mesh, goals, world.rims(goals), world.scratch, 25 * mesh.edge_count
        )
        assert world.slots.header[is_shared, STATUS] == UNREACHABLE


@pytest.mark.parametrize("goal", [(3.0, 2.0), (2.0, 2.0), (4.0, 1.0), (4.0, 3.0), (6.0, 2.0)])
def test_goals_and_starts_on_edges_and_corners_of_the_mesh_are_reached_on_the_shortest_path(goal):
    ground = shapely.box(0, 0, 8, 4).difference(shapely.box(4, 1, 5, 3))
    world, best = Polyanya(ground), funnel.Visibility(ground)
    for start in ((1.0, 2.0), (7.0, 2.0), (4.0, 0.5), (5.0, 3.0), (0.0, 0.0), (6.5, 3.9)):
        for a, b in ((start, goal), (goal, start)):
            status, total = world.search(a, point_goals(world.mesh, [b]), 0.0)
            assert status == FOUND and total == pytest.approx(best.shortest(a, b), rel=1e-9)


def test_a_agent_bends_round_one_corner_by_tangent_arc_and_tangent():
    ground = shapely.box(0, 0, 10, 10).difference(shapely.box(0, 4, 5, 6))
    world = Polyanya(ground)
    start, goal, r = np.array([2.0, 2.0]), np.array([2.0, 8.0]), 0.5
    status, total = world.search(start, point_goals(world.mesh, [goal]), r)
    reach = np.sqrt((5.0 - 2.0) ** 2 + (4.0 - 2.0) ** 2 - r * r)
    turn = 2.0 * (np.pi / 2.0 - np.arctan2(2.0, 3.0) + np.arcsin(r / np.hypot(3.0, 2.0)) - 0.0) / 2.0
    assert status == FOUND and total == pytest.approx(2.0 * reach + 2.0 * r * turn + 2.0, abs=1e-9)


def test_a_agent_exactly_as_wide_as_the_door_passes_it_on_a_slant():
    door = shapely.box(0, 0, 9, 4).difference(
        shapely.union_all([shapely.box(4, 0, 5, 1.5), shapely.box(4, 2.5, 5, 4)])
    )
    world = Polyanya(door)
    goals = point_goals(world.mesh, [(8.0, 3.4)])
    assert world.search((1.0, 0.6), goals, 0.5)[0] == FOUND
    assert world.search((1.0, 0.6), goals, float(np.nextafter(0.5, 1.0)))[0] == UNREACHABLE


def test_a_goal_at_a_vertex_in_free_ground_is_found_from_everywhere():
    """Its polygons lie all round it: a search must not go round and round."""
    hall = shapely.box(0, 0, 24, 12).difference(shapely.box(6, 4, 18, 8))
    whole = shapely.difference(hall, shapely.box(-1, -1, 0, 0))
    weighed = [Terrain("all", whole, 1.0, kind="all", has_price=True)]
    mesh = build_mesh(hall, terrain=weighed, parameters=MeshParameters(terrain_cell=1.0)).mesh
    used = np.bincount(mesh.edge_vertex, minlength=len(mesh.vertex))
    free = np.flatnonzero((mesh.is_wall_vertex == 0) & (used >= 4))
    assert len(free) > 50
    best, world = twin.of_point(hall), Polyanya(hall, mesh=mesh)
    chosen = free[:: max(1, len(free) // 12)]
    goals = point_goals(mesh, mesh.vertex[chosen, :2])
    for goal, vertex in enumerate(chosen.tolist()):
        for start in ([1.0, 6.0], [23.0, 6.3], [12.1, 1.1], [12.3, 11.2]):
            status, total = world.search(np.array(start), goals, 0.0, goal=goal)
            assert status == FOUND
            expected = best.shortest(np.array(start), mesh.vertex[vertex, :2])
            assert total == pytest.approx(expected, rel=1e-9)
            assert world.slots.header[0, EXPANSIONS] < 8 * mesh.edge_count


@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_a_search_takes_as_many_expansions_whatever_its_slot_has_searched_before(radius):
    ground = rooms(2)
    points, _ = free_points(ground, radius, 30, np.random.default_rng(2))
    used, world = Polyanya(ground), Polyanya(ground)
    goals, longest = point_goals(world.mesh, points[:15]), 0
    for k in range(15, 30):
        found = []
        for each in (used, world):
            answer = each.search(points[k], goals, radius, goal=k - 15)
            header = each.slots.header[0]
            found.append((*answer, int(header[EXPANSIONS]), int(header[INTERVAL_COUNT])))
        assert found[0] == found[1]
        longest = max(longest, found[0][2])
        world = Polyanya(ground, mesh=world.mesh)  # slots that know nothing
    assert longest > 20
