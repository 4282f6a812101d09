"""Landmarks spare searches ground that leads elsewhere, and change no path."""

import numpy as np
import pytest
import shapely

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.goals.rims import find_rims
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.planning import find_landmarks as finding
from crowdsim.navigation.planning.find_landmarks import distances_to_landmarks, find_landmarks
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.protocol import ALL
from crowdsim.navigation.planning.search_backends import NO_START, OptimalSearches
from crowdsim.navigation.search.goal_entries import make_scratch
from crowdsim.navigation.search.landmarks import LANES, landmarks_of, least_from_line, note_distances
from crowdsim.navigation.search.polyanya import advance_polyanya, begin_polyanya
from crowdsim.navigation.search.polyanya_floods import keep_waiting, note_lengths
from crowdsim.navigation.search.polyanya_lengths import total_length
from crowdsim.navigation.search.polyanya_slots import (
    FRONTIER,
    INTERVAL_COUNT,
    NEXT_UP,
    PARENT,
    POLYGON,
    make_interval_slots,
)
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.navigation.search.slot_fields import (
    BEST_NODE,
    BEST_TOTAL,
    HEAP_SIZE,
    OUT_OF_NODES,
    PENDING,
    START_POLYGON,
    START_X,
    START_Y,
    STATUS,
)
from tests.crowds import assert_same_on_threads_and_from_saved_states, simulation
from tests.navigation.search.test_polyanya import Polyanya, check_agents, check_points
from tests.navigation.worlds import free_points, located, pillar_hall, point_goals, random_ground, rooms
from tests.reference import floods as floods_twin
from tests.reference import polyanya as twin

ALONE = ShareParameters(share_searches=False)


def walls_with_gaps(seed):
    """A hall with walls from side to side, each with two gaps somewhere: the straight line says little."""
    rng, walls = np.random.default_rng(seed), []
    for y in range(3, 60, 3):
        a, b = np.sort(rng.uniform(2.0, 38.0, 2))
        for first, last in ((0.0, a - 0.6), (a + 0.6, b - 0.6), (b + 0.6, 40.0)):
            if first < last:
                walls.append(shapely.box(first, y, last, y + 0.2))
    return shapely.box(0, 0, 40, 60).difference(shapely.union_all(walls))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "make, seed", [(random_ground, 3), (random_ground, 11), (rooms, 2), (pillar_hall, 4)]
)
def test_distances_are_those_of_the_visibility_graph(make, seed):
    """From inside each polygon near each of its corners, to each landmark."""
    ground = make(seed)
    mesh, best = build_mesh(ground).mesh, twin.of_point(make(seed))
    distance = distances_to_landmarks(mesh, 4)
    assert distance.shape == (mesh.edge_count, 4)
    middle = np.add.reduceat(mesh.vertex[mesh.edge_vertex, :2], mesh.polygon_start[:-1])
    middle /= np.diff(mesh.polygon_start)[:, None]
    edges = np.random.default_rng(seed).permutation(mesh.edge_count)[:40]
    near = 1e-7
    for landmark in range(4):
        # where its own polygon's corners are as far from the middle of it as it says
        away = np.hypot(*(mesh.vertex[mesh.edge_vertex, :2] - middle[mesh.edge_polygon]).T)
        own = np.flatnonzero(
            np.logical_and.reduceat(
                np.isclose(distance[:, landmark], away, atol=1e-12), mesh.polygon_start[:-1]
            )
        )
        assert len(own) == 1
        for edge in edges.tolist():
            corner, inside = mesh.vertex[mesh.edge_vertex[edge], :2], middle[mesh.edge_polygon[edge]]
            expected = best.shortest(corner + near * (inside - corner), middle[own[0]])
            assert distance[edge, landmark] == pytest.approx(expected, abs=1e-5), (edge, landmark)


@lean_kernel
def find_bounds(landmarks, span, mesh, polygon, x, y, ends, lengths, out):
    note_distances(landmarks, span, mesh, polygon, x, y)
    for k in range(lengths.size):
        out[k] = least_from_line(landmarks, span, ends[k, 0], ends[k, 1], lengths[k])


def bounds_from(landmarks, mesh, start, ends, lengths):
    """How far it is at least from lines between vertices, (n, 2), of some lengths to a place; (n,)."""
    span, out = np.zeros(2 * int(landmarks.each[0]), dtype=np.float32), np.empty(len(ends))
    polygon = int(located(mesh, np.array([start]))[0])
    find_bounds(landmarks, span, mesh, polygon, *map(float, start), ends, lengths, out)
    return out


def count_of(landmarks):
    """How many landmarks there are."""
    if not landmarks.each[0]:
        return 0
    return int((~np.isnan(landmarks.distance.reshape(-1, landmarks.each[0])).all(axis=0)).sum())


@pytest.mark.sample(2)
@pytest.mark.parametrize("make, seed", [(random_ground, 3), (random_ground, 8), (rooms, 2), (pillar_hall, 4)])
@pytest.mark.parametrize("count", [6, 19])
def test_nothing_is_nearer_than_landmarks_say_and_some_is_hardly_farther(make, seed, count):
    """Neither places on portals nor their ends."""
    ground, rng = make(seed), np.random.default_rng(seed)
    mesh, best = build_mesh(ground).mesh, twin.of_point(ground)
    landmarks = landmarks_of(mesh, distances_to_landmarks(mesh, count))
    assert count_of(landmarks) == count and landmarks.each[0] == LANES * -(-count // LANES)
    starts, _ = free_points(ground, 0.0, 10, rng)
    portals = np.flatnonzero(mesh.edge_twin >= 0)
    ends = np.column_stack([mesh.edge_vertex[portals], mesh.edge_end[portals]])
    ends = np.vstack([ends, ends[:, [0, 0]]])
    begin, end = mesh.vertex[ends[:, 0], :2], mesh.vertex[ends[:, 1], :2]
    lengths, share = np.hypot(*(end - begin).T), []
    for start in starts:
        out = bounds_from(landmarks, mesh, start, ends, lengths)
        for k in rng.permutation(len(ends))[:40].tolist():
            for part in (0.02, 0.5, 0.98):
                far = best.shortest(begin[k] + part * (end[k] - begin[k]), start)
                assert out[k] <= far * (1.0 + 1e-12) or not np.isfinite(far)
                if np.isfinite(far) and far > 0.0:
                    share.append(out[k] / far)
    assert max(share) > 0.9 and np.mean(np.array(share) > 0.2) > 0.2


@pytest.mark.parametrize("seed", range(3))
def test_what_landmarks_say_is_what_their_distances_say_one_by_one(seed):
    mesh, rng = build_mesh(random_ground(seed)).mesh, np.random.default_rng(seed)
    distance = distances_to_landmarks(mesh, 20)
    landmarks, starts = landmarks_of(mesh, distance), free_points(random_ground(seed), 0.0, 10, rng)[0]
    ends = rng.choice(np.unique(mesh.edge_vertex), (50, 2))
    lengths = np.hypot(*(mesh.vertex[ends[:, 1], :2] - mesh.vertex[ends[:, 0], :2]).T)
    one = np.full((len(mesh.vertex), 20), np.nan)
    for vertex in np.unique(mesh.edge_vertex).tolist():
        here = distance[mesh.edge_vertex == vertex]
        # nothing is known where no path leads, or it is farther on one side of the vertex
        one[vertex] = np.where(here.max(axis=0) < here.min(axis=0) + 1e-9, here[0], np.nan)
    one[np.isinf(one)] = np.nan
    for start, polygon in zip(starts, located(mesh, starts).tolist()):
        around = mesh.edge_vertex[mesh.polygon_start[polygon] : mesh.polygon_start[polygon + 1]]
        away = np.hypot(*(mesh.vertex[around, :2] - start).T)[:, None]
        low = np.fmax.reduce(one[around] - away, axis=0, initial=0.0)
        high = np.fmin.reduce(one[around] + away, axis=0, initial=np.inf)
        middle = 0.5 * (one[ends[:, 0]] + one[ends[:, 1]])
        said = np.fmax.reduce(np.maximum(low - middle, middle - high), axis=1, initial=0.0) - 0.5 * lengths
        out = bounds_from(landmarks, mesh, start, ends, lengths)
        assert out == pytest.approx(said, abs=2.0 * landmarks.slack[0]) and (out <= said).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("block", range(12))
def test_paths_of_points_by_landmarks_are_those_of_the_visibility_graph(block):
    seeds = range(10 * block, 10 * block + 10)
    assert sum(check_points(random_ground(seed), seed, "polygons", 4, landmarks=5) for seed in seeds) > 20


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(12))
def test_paths_of_agents_by_landmarks_are_the_shortest_on_eroded_ground(seed):
    assert check_agents(seed, (0.1, 0.35), 3, landmarks=5) >= 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bounds_of_intervals_that_are_carried_on_never_fall(seed):
    """Those that enter the start's polygon are looked at in the order in which they were made, as far as one
    that is too long.
    """
    world, rng = Polyanya(walls_with_gaps(seed), landmarks=6), np.random.default_rng(seed)
    points, _ = free_points(walls_with_gaps(seed), 0.0, 30, rng)
    mesh, slots, scratch, steps = world.mesh, world.slots, world.scratch, 0
    goals, polygons = point_goals(mesh, points[:15]), located(mesh, points[15:])
    for goal, (start, polygon) in enumerate(zip(points[15:].tolist(), polygons.tolist())):
        bounds = []
        begin_polyanya(slots, 0, mesh, goals, scratch, goal, 0.0, *start, polygon, 0)
        while slots.header[0, STATUS] == PENDING:
            advance_polyanya(slots, 0, mesh, goals, world.rims(goals), scratch, 1)
            bounds.append(float(slots.measure[0, FRONTIER]))
        assert bounds == sorted(bounds)
        steps += len(bounds)
    assert steps > 300


def test_of_a_corner_whose_distance_is_not_known_nothing_is_said():
    """Taken for 0, it would be as far away as the start is from the landmark."""
    mesh = build_mesh(rooms(2)).mesh
    portal = int(np.argmax(mesh.edge_twin >= 0))
    ends, lengths = np.array([[mesh.edge_vertex[portal], mesh.edge_end[portal]]]), np.array([0.5])
    for unknown in (np.inf, 3.0):  # there is no path, or the ground on either side is not the same
        distance = distances_to_landmarks(mesh, 2).copy()
        distance[portal] = unknown
        landmarks = landmarks_of(mesh, distance)
        assert np.isnan(landmarks.distance.reshape(len(mesh.vertex), -1)[ends[0, 0]]).all()
        assert bounds_from(landmarks, mesh, [1.0, 1.0], ends, lengths)[0] == -0.25 - landmarks.slack[0]


def answers(planner, starts, polygons, radius):
    """Paths of agents, each to a goal of its own; their lengths of statuses, corridors, and expansions."""
    count = len(starts)
    row = np.arange(count)
    planner.submit(0, row + 1, starts, polygons, row.astype(np.int32), np.full(count, radius))
    told, made = planner.advance(ALL, Team(1))
    corridors = [told.portals[a:b].tolist() for a, b in zip(told.start[:-1], told.start[1:])]
    order = np.argsort(told.entity)
    return told.status[order].tolist(), [corridors[k] for k in order], made


@pytest.mark.parametrize("radius", [0.0, 0.25])
def test_on_large_ground_corridors_are_the_same_and_found_with_fewer_expansions(radius, monkeypatch):
    ground, rng = walls_with_gaps(3), np.random.default_rng(1)
    mesh = build_mesh(ground).mesh
    monkeypatch.setattr(finding, "LEAST_POLYGONS", 1)
    points, _ = free_points(ground, 0.3, 120, rng)
    starts, goals = points[:60], point_goals(mesh, points[60:])
    polygons = located(mesh, starts)
    plain = answers(MeshPlanner(mesh, goals, ALONE, "optimal"), starts, polygons, radius)
    one = answers(MeshPlanner(mesh, goals, ALONE, "optimal", landmarks=1), starts, polygons, radius)
    known = answers(MeshPlanner(mesh, goals, ALONE, "optimal", landmarks=16), starts, polygons, radius)
    assert known[:2] == one[:2] == plain[:2] and plain[0].count(plain[0][0]) > 40
    assert known[2] < 0.85 * one[2] and known[2] < 0.7 * plain[2]


def test_what_is_left_is_known_from_the_corner_at_which_paths_bend_last_too(monkeypatch):
    """From the portals alone it would be 0.82 of the expansions."""
    ground, rng = rooms(5, 8), np.random.default_rng(1)
    mesh = build_mesh(ground).mesh
    monkeypatch.setattr(finding, "LEAST_POLYGONS", 1)
    points, _ = free_points(ground, 0.3, 120, rng)
    goals, polygons = point_goals(mesh, points[60:]), located(mesh, points[:60])
    plain, known = (
        answers(MeshPlanner(mesh, goals, ALONE, "optimal", landmarks=count), points[:60], polygons, 0.0)
        for count in (0, 16)
    )
    assert known[:2] == plain[:2] and known[2] < 0.75 * plain[2]


def test_paths_to_regions_and_to_the_nearest_of_several_are_the_same(monkeypatch):
    ground, rng = rooms(5, 8), np.random.default_rng(2)
    mesh = build_mesh(ground).mesh
    monkeypatch.setattr(finding, "LEAST_POLYGONS", 1)
    points, _ = free_points(ground, 0.3, 80, rng)
    squares = [shapely.box(x - 0.6, y - 0.6, x + 0.6, y + 0.6) for x, y in points[40:]]
    shapes = [GoalShape(each) for each in squares]
    shapes += [GoalShape(None, parts=tuple(rng.integers(0, 40, 3).tolist())) for _ in range(40)]
    goals, starts = cut_goals(mesh, shapes), np.vstack([points[:40], points[:40]])
    polygons, found = located(mesh, starts), []
    for landmarks in (0, 7):
        found.append(
            answers(MeshPlanner(mesh, goals, ALONE, "optimal", landmarks=landmarks), starts, polygons, 0.2)
        )
    assert found[0][:2] == found[1][:2]


def test_small_ground_and_ground_that_would_take_long_has_none(monkeypatch):
    mesh = build_mesh(rooms(2)).mesh
    assert mesh.polygon_count < finding.LEAST_POLYGONS and find_landmarks(mesh, 8) is None
    monkeypatch.setattr(finding, "LEAST_POLYGONS", 1)
    assert count_of(find_landmarks(mesh, 8)) == 8
    assert find_landmarks(mesh, 0) is None
    monkeypatch.setattr(finding, "MOST_POLYGONS", mesh.polygon_count - 1)
    assert find_landmarks(mesh, 8) is None


@pytest.mark.parametrize("make, seed", [(random_ground, 3), (rooms, 2), (pillar_hall, 4)])
@pytest.mark.parametrize("room", [1, 1 << 20])
def test_floods_that_forget_what_they_have_carried_on_find_the_same(make, seed, room, monkeypatch):
    """With so little room that they forget all the time, and have more made, and with so much that they never
    do; by the intervals that are left.
    """
    mesh, kept = build_mesh(make(seed)).mesh, []
    usual = distances_to_landmarks(mesh, 5)

    class Roomy(OptimalSearches):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self._least = max(room, int(self._slots.most_new[0]) + 1)
            self._slots = self._slots_for(len(self._slots.header), self._least)

        def make_room_in_floods(self, team, noted, length):
            before = self._slots.header[: len(noted), INTERVAL_COUNT].tolist()
            was_full = super().make_room_in_floods(team, noted, length)
            if was_full:
                kept.append(sum(noted) / sum(before))
                assert noted.tolist() == self._slots.header[: len(noted), INTERVAL_COUNT].tolist()
            return was_full

    monkeypatch.setattr(finding, "OptimalSearches", Roomy)
    found = distances_to_landmarks(mesh, 5)
    assert np.array_equal(usual, found)
    assert np.isfinite(found).mean() > 0.5 and (len(kept) > 5 and min(kept) < 0.5 if room == 1 else not kept)


@lean_kernel
def total_by(slots, slot, node, x, y):
    slots.measure[slot, START_X], slots.measure[slot, START_Y] = x, y
    return total_length(slots, slot, node)


@pytest.mark.parametrize("make, seed", [(rooms, 2), (pillar_hall, 4)])
@pytest.mark.parametrize("grants", [3, 40])
def test_what_floods_keep_and_note_is_what_the_twins_do(make, seed, grants):
    mesh = build_mesh(make(seed)).mesh
    corner = np.ascontiguousarray(mesh.vertex[mesh.edge_vertex, :2])
    middle = np.add.reduceat(corner, mesh.polygon_start[:-1])[0] / np.diff(mesh.polygon_start)[0]
    goals = finding._points([0], middle[None])
    slots = make_interval_slots(1, mesh, 4096)
    scratch, rims, slots_header = make_scratch(1, mesh.polygon_count), find_rims(mesh, goals), slots.header
    grow(slots, mesh, goals, rims, scratch, grants)
    count, waiting = slots_header[0, INTERVAL_COUNT], slots.heap[: slots_header[0, HEAP_SIZE]].tolist()
    before = [array[:count].copy() for array in (slots.real, slots.whole)]

    known = np.full((1, mesh.edge_count), np.inf)
    known[0, ::3], noted = 5.0, np.zeros(1, dtype=np.int64)
    polygons = [range(*mesh.polygon_start[each : each + 2]) for each in range(mesh.polygon_count)]
    expected = floods_twin.note_lengths(
        lambda node, x, y: total_by(slots, 0, node, x, y), before[1][:, POLYGON], polygons, corner, known[0]
    )
    note_lengths(0, 1, slots, mesh, noted, known)
    assert noted == count and known[0].tolist() == expected and len(set(expected)) > 10

    kept, heap, top = floods_twin.keep_waiting(waiting, int(slots_header[0, NEXT_UP]))
    keep_waiting(slots, 0)
    assert slots_header[0, INTERVAL_COUNT] == len(kept) < count and slots_header[0, NEXT_UP] == top
    assert slots.heap[: len(heap)].tolist() == heap
    assert np.array_equal(slots.real[: len(kept)], before[0][kept])
    others = np.arange(before[1].shape[1]) != PARENT
    assert np.array_equal(slots.whole[: len(kept), others], before[1][kept][:, others])
    assert np.all(slots.whole[: len(kept), PARENT] < 0)


@lean_kernel
def grow(slots, mesh, goals, rims, scratch, grants):
    begin_polyanya(slots, 0, mesh, goals, scratch, 0, 0.0, 0.0, 0.0, NO_START, 1)
    slots.header[0, STATUS], slots.header[0, START_POLYGON], slots.header[0, BEST_NODE] = (
        PENDING,
        NO_START,
        -1,
    )
    slots.measure[0, BEST_TOTAL] = np.inf
    advance_polyanya(slots, 0, mesh, goals, rims, scratch, grants)


def test_a_flood_that_has_no_room_says_nothing(monkeypatch):
    """Not what it has found so far: some of it is too far."""
    mesh = build_mesh(rooms(2)).mesh

    class Cramped(OptimalSearches):
        def end_floods(self, team, noted, length):
            self._slots.header[0, STATUS] = OUT_OF_NODES
            super().end_floods(team, noted, length)

    monkeypatch.setattr(finding, "OptimalSearches", Cramped)
    landmarks = landmarks_of(mesh, distances_to_landmarks(mesh, 4))
    known = landmarks.distance.reshape(len(mesh.vertex), -1)[:, :4]
    assert np.isnan(known[:, ::2]).mean() > 0.9 and np.isfinite(known[:, 1::2]).all()


def test_looking_for_landmarks_tells_how_far_it_is():
    mesh, told = build_mesh(rooms(2)).mesh, []
    forget = finding.on_progress(lambda *counts: told.append(counts))
    distances_to_landmarks(mesh, 5)
    forget()
    distances_to_landmarks(mesh, 2)
    assert told == [(0, 5), (2, 5), (4, 5)]


def test_ground_in_two_parts_has_landmarks_in_the_larger_and_paths_in_both(monkeypatch):
    ground = shapely.union(rooms(2), shapely.affinity.translate(rooms(4, 2), 500.0, 0.0))
    mesh, rng = build_mesh(ground).mesh, np.random.default_rng(3)
    monkeypatch.setattr(finding, "LEAST_POLYGONS", 1)
    landmarks = find_landmarks(mesh, 5)
    known, right = landmarks.distance.reshape(len(mesh.vertex), -1)[:, :5], mesh.vertex[:, 0] > 400.0
    assert np.isfinite(known[~right]).all() and np.isnan(known[right]).all()
    points, _ = free_points(ground, 0.2, 80, rng)
    goals, polygons = point_goals(mesh, points[40:]), located(mesh, points[:40])
    found = [
        answers(MeshPlanner(mesh, goals, ALONE, "optimal", landmarks=count), points[:40], polygons, 0.2)
        for count in (0, 5)
    ]
    assert found[0][:2] == found[1][:2]
    assert sum(points[:40, 0] > 400.0) > 2


# Pillars in a hall, so many that there are landmarks.
FOREST = {
    "version": 1,
    "tick": 0.1,
    "stop": {"after": 30},
    "geometry": {
        "walkable": {"box": [0, 0, 60, 60]},
        "obstacles": [
            {"box": [3 * i, 3 * j, 3 * i + 0.8, 3 * j + (0.6 if (i + j) % 3 else 3)]}
            for i in range(1, 19)
            for j in range(1, 19)
        ],
    },
    "groups": [
        {"name": "a", "count": 60, "goals": {"point": [58, 58]}, "radius": 0.2},
        {"name": "b", "count": 60, "goals": {"point": [1.5, 30]}, "radius": 0.3},
    ],
    "navigation": {"kind": "optimal", "share_searches": False},
    "budget": {"work": 300},
}


def landmarks_in(document, *sets):
    """How many landmarks the planner of a scenario has."""
    with simulation(document, sets=list(sets)) as run:
        (paths,) = run.world.planning.paths
        return count_of(paths.planner._searches._slots.landmarks)


def test_scenarios_have_landmarks_on_large_ground_in_one_piece():
    assert landmarks_in(FOREST) == 32
    assert landmarks_in(FOREST, "navigation.landmarks=3") == 3
    assert landmarks_in(FOREST, "navigation.landmarks=0") == 0
    assert landmarks_in(FOREST, "navigation.tile_size=20") == 0


def test_runs_by_landmarks_are_the_same_on_threads_and_from_saved_states():
    assert_same_on_threads_and_from_saved_states(FOREST, 50, (3, 11, 25))


def assert_gone_for_a_while(scene, monkeypatch):
    """In a run there are 32 landmarks, then none, then 32 again, which are not found anew."""
    with simulation(scene) as run:
        monkeypatch.setattr(finding, "_far_apart", None)  # they are known by now
        counts = []
        for _ in range(25):
            run.step()
            (paths,) = run.world.planning.paths
            counts.append(count_of(paths.planner._searches._slots.landmarks))
    assert counts[0] == counts[-1] == 32 and counts.count(0) > 5


def test_while_an_obstacle_stands_there_are_none_and_after_it_those_of_before(monkeypatch):
    """They were found anew in the tick in which it came, and in that in which it went."""
    cart = {"name": "cart", "shape": {"disc": 0.4}, "path": [[31.9, 32.3]], "stands_after": 0.2}
    scene = {**FOREST, "obstacles": [{**cart, "appears": 0.5, "vanishes": 1.5}]}
    assert_same_on_threads_and_from_saved_states(scene, 50, (3, 9, 12, 22))
    assert_gone_for_a_while(scene, monkeypatch)


@pytest.mark.parametrize("kind", ["optimal", "mesh"])
@pytest.mark.parametrize("is_open", [True, False])
def test_while_a_door_is_not_as_at_the_beginning_there_are_none(kind, is_open, monkeypatch):
    """Shut where it was open, distances would be too short; open where it was shut, too long."""
    door = {"name": "door", "area": {"box": [32.0, 29.9, 33.0, 33.2]}, "available": is_open}
    first, then = ("close", "open") if is_open else ("open", "close")
    scene = {
        **FOREST,
        "geometry": {**FOREST["geometry"], "areas": [door]},
        "events": [{"at": 0.5, first: "door"}, {"at": 1.5, then: "door"}],
        "navigation": {"kind": kind, "share_searches": False},
    }
    assert_same_on_threads_and_from_saved_states(scene, 45, (3, 9, 12, 22))
    assert_gone_for_a_while(scene, monkeypatch)


CITY = {
    "version": 1,
    "tick": 0.1,
    "stop": {"after": 10},
    "geometry": {"walkable": {"city": {"size": 1000, "seed": 3}}},
    "goals": {
        **{name: {"region": {"box": [x, 480, x + 40, 520]}} for name, x in (("west", 100), ("east", 800))},
        "near": {"nearest_of": ["west", "east"]},
    },
    "groups": [
        {"name": "near", "count": 40, "goals": "near"},
        {"name": "west", "count": 40, "goals": "west"},
    ],
    "navigation": {"kind": "optimal", "share_searches": False},
}


def test_where_no_one_waits_a_run_by_landmarks_is_the_run_without():
    found = []
    for count in (0, 32):
        assert landmarks_in(CITY, f"navigation.landmarks={count}") == count
        sets = ["budget.work=10000000", f"navigation.landmarks={count}"]
        with simulation(CITY, sets=sets) as run:
            made = 0.0
            for _ in range(15):
                run.step()
                made += run.counts["expansions"]
            found.append((run.digest, made))
    assert found[0][0] == found[1][0] and found[1][1] < 0.7 * found[0][1]
