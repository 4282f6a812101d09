"""Paths are as short as they can be: in their corridor, and on ground without holes at all."""

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import affinity

from crowdsim.navigation.corridor.funnel import tangent
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.goals.goals import GoalShape, arrived_piece, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.search.slot_fields import FOUND
from crowdsim.navigation.tiles.make import build_tiles
from tests.navigation.walkers import Walkers
from tests.navigation.worlds import OnePlanner, free_points, pillar_hall, random_ground, rooms, simple_polygon
from tests.reference import funnel as twin

# Arcs of the eroded ground are chords, 16 to a quarter: these are shorter than the arc by a share of
# (pi / 64)**2 / 6, and the paths with them.
CHORDS, CHORD_SLACK = 16, 5e-4


def paths_on(planner, ground, radius, seed, count=8):
    """Yield (start, goal, portals, points, length) of paths that are found between random points."""
    points, part = free_points(ground, radius, 2 * count, np.random.default_rng(seed))
    for k in range(0, len(points) - 1, 2):
        if part[k] == part[k + 1]:
            status, path, _, length = planner.path(points[k], points[k + 1], radius)
            assert status == FOUND
            yield (
                tuple(points[k].tolist()),
                tuple(points[k + 1].tolist()),
                planner.corridor()[0][::-1].tolist(),
                path,
                length,
            )


@pytest.mark.sample(2)
@pytest.mark.parametrize("cells", ["polygons", "triangles"])
@pytest.mark.parametrize(
    "make, seed",
    [
        (random_ground, 3),
        (random_ground, 12),
        (random_ground, 1),
        (rooms, 1),
        (pillar_hall, 4),
        (simple_polygon, 2),
    ],
)
def test_the_path_of_a_point_is_the_shortest_in_its_corridor(make, seed, cells):
    ground = make(seed)
    planner = OnePlanner.on(ground, faces=cells)
    bent = 0
    for start, goal, portals, path, length in paths_on(planner, ground, 0.0, seed):
        expected, corners = twin.shortest_in_corridor(planner.mesh, portals, start, goal)
        assert length == pytest.approx(expected, rel=1e-12)
        assert shapely.LineString(path).length == pytest.approx(length, rel=1e-12)
        assert shapely.hausdorff_distance(shapely.LineString(path), shapely.LineString(corners)) <= 1e-9
        assert length <= twin.over_midpoints(planner.mesh, portals, start, goal) * (1.0 + 1e-12)
        bent += len(corners) > 2
    assert bent >= 2


@pytest.mark.sample(5)
@pytest.mark.parametrize("cells", ["polygons", "triangles"])
@pytest.mark.parametrize("seed", range(12))
def test_on_ground_without_holes_the_path_of_a_point_is_the_shortest_of_all(seed, cells):
    ground = simple_polygon(seed)
    planner, optimum = OnePlanner.on(ground, faces=cells), twin.Visibility(ground)
    for start, goal, _, _, length in paths_on(planner, ground, 0.0, seed):
        assert length == pytest.approx(optimum.shortest(start, goal), rel=1e-9)


@pytest.mark.sample(1)
@pytest.mark.parametrize("radius", [0.1, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_on_ground_without_holes_the_path_of_a_agent_is_the_shortest_of_all(seed, radius):
    ground = simple_polygon(seed)
    planner = OnePlanner.on(ground)
    optimum = twin.Visibility(ground.buffer(-radius, quad_segs=CHORDS))
    for start, goal, _, _, length in paths_on(planner, ground, radius, seed):
        expected = optimum.shortest(start, goal)
        assert expected * (1.0 - 1e-6) - 1e-6 <= length <= expected * (1.0 + CHORD_SLACK) + 1e-6


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("radius", [0.0, 0.2])
@pytest.mark.parametrize(
    "make, seed", [(random_ground, 3), (random_ground, 12), (rooms, 1), (pillar_hall, 3)]
)
def test_no_path_is_shorter_than_the_shortest_of_all_and_half_are_hardly_longer(make, seed, radius):
    ground = make(seed)
    planner = OnePlanner.on(ground)
    optimum = twin.Visibility(ground.buffer(-radius, quad_segs=4) if radius else ground)
    ratios = []
    for start, goal, _, _, length in paths_on(planner, ground, radius, seed, 12):
        expected = optimum.shortest(start, goal)
        assert length >= expected * (1.0 - 1e-9) - 1e-6
        ratios.append(length / expected)
    assert len(ratios) > 2 and np.median(ratios) < 1.01


@pytest.mark.full
@pytest.mark.parametrize("block", range(40))
def test_thousands_of_paths_are_as_short_as_they_can_be(block):
    for seed in range(25 * block, 25 * block + 25):
        simple, holes = simple_polygon(seed), random_ground(seed)
        for ground, cells in (
            (simple, "polygons"),
            (simple, "triangles"),
            (holes, "polygons"),
            (holes, "triangles"),
        ):
            planner = OnePlanner.on(ground, faces=cells)
            optimum = twin.Visibility(ground)
            for start, goal, portals, _, length in paths_on(planner, ground, 0.0, seed):
                best = optimum.shortest(start, goal)
                assert length >= best * (1.0 - 1e-9)
                assert length == pytest.approx(
                    best
                    if ground is simple
                    else twin.shortest_in_corridor(planner.mesh, portals, start, goal)[0],
                    rel=1e-9,
                )
        planner = OnePlanner.on(simple)
        optimum = twin.Visibility(simple.buffer(-0.25, quad_segs=CHORDS))
        for start, goal, _, _, length in paths_on(planner, simple, 0.25, seed):
            best = optimum.shortest(start, goal)
            assert best * (1.0 - 1e-6) - 1e-6 <= length <= best * (1.0 + CHORD_SLACK) + 1e-6


def test_corners_are_rounded_at_the_radius():
    """Round one corner of 90 degrees: two straight lines and a known arc."""
    ground = shapely.box(0, 0, 10, 10).difference(shapely.box(0, 0, 5, 5))
    planner = OnePlanner.on(ground)
    for radius in (0.1, 0.5, 1.0):
        _, path, corner, length = planner.path((5.0 + radius, 1.0), (1.0, 5.0 + radius), radius)
        assert len(path) == 4 and planner.mesh.vertex[corner[1], :2].tolist() == [5.0, 5.0]
        assert np.array(path)[1:3] == pytest.approx(np.array([[5.0 + radius, 5.0], [5.0, 5.0 + radius]]))
        assert length == pytest.approx(8.0 + 0.5 * np.pi * radius, rel=1e-12)


def test_a_path_round_a_square_pillar_hugs_two_corners():
    ground = shapely.box(0, 0, 10, 10).difference(shapely.box(4, 4.9, 6, 9))
    _, path, _, length = OnePlanner.on(ground).path((1.0, 5.0), (9.0, 5.0), 0.5)
    run = np.hypot(3.0, 0.1)
    reach = np.sqrt(run**2 - 0.25)
    turn = np.arcsin(0.5 / run) + np.arctan2(0.1, 3.0)
    assert len(path) == 6
    assert length == pytest.approx(2.0 * reach + 2.0 + 2 * 0.5 * turn, rel=1e-9)


@settings(max_examples=200, deadline=None)
@given(*[st.floats(-20.0, 20.0)] * 4, *[st.sampled_from([0.0, 0.3, -0.3, 1.2, -1.2])] * 2)
def test_tangents_agree_with_reference(ax, ay, bx, by, a_side, b_side):
    ux, uy, reach = tangent(ax, ay, a_side, bx, by, b_side)
    assert ux * ux + uy * uy == pytest.approx(1.0)
    expected = twin.tangents((ax, ay), a_side, (bx, by), b_side) if (ax, ay) != (bx, by) else None
    if expected is None:
        assert reach == 0.0
        return
    begin, end = np.array(expected)
    assert (ax + a_side * uy, ay - a_side * ux) == pytest.approx(begin, abs=2e-6)
    assert reach == pytest.approx(np.hypot(*(end - begin)), abs=2e-6)


def test_measured_corridors_are_as_long_as_their_strings():
    ground = random_ground(12)
    planner = OnePlanner.on(ground)
    points, part = free_points(ground, 0.2, 30, np.random.default_rng(0))
    goal, *starts = points[part == np.argmax(np.bincount(part))]
    goals = cut_goals(planner.mesh, [GoalShape(shapely.Point(goal))])
    cells, lengths, polygons = [], [], []
    for start in starts:
        assert planner.search(start, goals, 0.2) == FOUND
        cells.append(planner.corridor()[0])
        polygons.append(planner.slots.header[0, 6])
        lengths.append(planner.string(start, goals, 0.2)[2])
    ahead = np.array([len(c) for c in cells] + [0], dtype=np.int32)
    block = np.concatenate([[0], np.cumsum(ahead)])[:-1].astype(np.int64)
    piece = np.array([0] * len(starts) + [-1], dtype=np.int32)
    out = np.empty(len(starts) + 1)
    position, polygon = np.array([*starts, starts[0]]), np.array([*polygons, polygons[0]])
    measure_corridors(
        planner.mesh,
        goals,
        np.concatenate(cells),
        block,
        ahead,
        polygon,
        piece,
        position,
        np.full(len(out), 0.2),
        out,
    )
    assert out[:-1].tolist() == lengths and out[-1] == np.inf


def test_the_path_does_not_depend_on_polygons_or_triangles_where_there_is_only_one():
    for seed in range(8):
        ground = simple_polygon(seed)
        first, second = (
            OnePlanner(build_mesh(ground, parameters=MeshParameters(faces=cells)).mesh)
            for cells in ("polygons", "triangles")
        )
        for a, b in zip(paths_on(first, ground, 0.2, seed), paths_on(second, ground, 0.2, seed)):
            assert a[-1] == pytest.approx(b[-1], rel=1e-9)


@pytest.mark.sample(4)
@pytest.mark.parametrize("tile", [0.0, 2.0])
@pytest.mark.parametrize("turned", [0.0, 90.0, 180.0, 270.0, 37.0])
@pytest.mark.parametrize("is_mirrored", [False, True])
def test_a_path_to_a_region_flush_with_the_end_of_a_wall_rounds_both_corners(is_mirrored, turned, tile):
    """The string of a point runs along the end of the wall and on in line with it;
    the agent bends round both corners on the same side, and so it walks.
    """

    def placed(shape):
        shape = affinity.scale(shape, -1.0, 1.0, origin=(0, 0)) if is_mirrored else shape
        return affinity.rotate(shape, turned, origin=(0, 0))

    ground, start = (
        placed(shapely.box(0, 0, 12, 12) - shapely.box(0, 4, 6, 4.2)),
        np.array(placed(shapely.Point(2, 8)).coords),
    )
    mesh = build_tiles(ground, tile)[0].mesh if tile else build_mesh(ground).mesh
    for region in (shapely.box(6, 0, 9, 2), shapely.box(3, 0, 9, 2)):
        for radius in (0.0, 0.1, 0.3, 0.5):
            walkers = Walkers(mesh, start, radius)
            reach = np.sqrt(4.0**2 + 3.8**2 - radius**2)
            turn = np.arctan2(4.0, 3.8) + np.arcsin(radius / np.hypot(4.0, 3.8))
            (length,) = walkers.head_for(placed(region), reach=0.0)
            shortest = reach + radius * turn + 2.2
            # On tiles a path may lead to another piece of the region.
            assert shortest - 1e-5 <= length <= shortest * (1.01 if tile else 1.0) + 1e-5
            walked = 0.0
            while (
                walked < length + 0.3
                and arrived_piece(mesh, walkers.goals, 0, int(walkers.polygon[0]), *walkers.position[0]) < 0
            ):
                walkers.steer()
                before = walkers.position.copy()
                walkers.walk(walkers.position + walkers.velocity * 0.05)
                walked += float(np.hypot(*(walkers.position - before).T)[0])
            # There a corridor is straight for a point, and an agent beside its string is led back to the last
            # portal, which may be centimetres wide.
            assert walked < (1.03 if tile else 1.01) * length + 0.1, (region, radius)
