"""An agent of any radius finds a path exactly if there is one,
and its path keeps its radius from all walls.
"""

import numpy as np
import pytest
import shapely
from shapely import affinity

from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.search.slot_fields import FOUND, UNREACHABLE
from tests.navigation.worlds import UTM, OnePlanner, free_points, pillar_hall, random_ground, rooms, with_arcs

# Half a gap and a radius that are nearer to each other than this are a tie: the eroded ground is itself only
# known to 5e-6 r.
TIE_M = 1e-5
RADII = (0.0, 0.1, 0.2, 0.35, 0.7)
# Paths that came up to 3 cm too near to the wall that they begin or end beside, before vertices there were
# looked for at each end by itself.
ONCE_TOO_NEAR = [
    (502, "triangles"),
    (604, "triangles"),
    (624, "triangles"),
    (764, "triangles"),
    (1366, "triangles"),
    (1481, "polygons"),
]


def connected(ground, a, b, radius):
    """Return whether the ground eroded by a radius connects two points."""
    eroded = ground.buffer(-radius, quad_segs=512)
    return any(
        part.covers(shapely.Point(a)) and part.covers(shapely.Point(b)) for part in shapely.get_parts(eroded)
    )


def check_paths(ground, seed, cells, radii, pairs=6, parameters=None):
    """Assert for random starts and goals that a path is found exactly if there is one, and that it is clear;
    return how many were found.
    """
    rng = np.random.default_rng(seed + 10**6)
    planner = OnePlanner(
        build_mesh(ground, parameters=MeshParameters(faces=cells, **(parameters or {}))).mesh
    )
    walls = ground.boundary
    shapely.prepare(walls)
    found = 0
    for radius in radii:
        points, part = free_points(ground, radius, 2 * pairs, rng)
        for k in range(0, len(points) - 1, 2):
            a, b = points[k], points[k + 1]
            status, bends, corner, length = planner.path(a, b, radius)
            expected = part[k] == part[k + 1]
            if (status == FOUND) != expected:
                is_tie = connected(ground, a, b, radius - TIE_M) != connected(ground, a, b, radius + TIE_M)
                assert is_tie, (
                    f"radius {radius}: from {a} to {b} there {'is' if expected else 'is no'} path, but the "
                    f"status is {status}"
                )
                continue
            if status != FOUND:
                assert status == UNREACHABLE
                continue
            found += 1
            path = shapely.LineString(with_arcs(bends, corner, planner.mesh))
            assert shapely.difference(path, ground).length <= 1e-6
            assert shapely.distance(walls, path) >= radius - 1e-4
            assert path.length == pytest.approx(length, rel=1e-4, abs=1e-6)
    return found


@pytest.mark.sample(1)
@pytest.mark.parametrize("cells", ["polygons", "triangles"])
@pytest.mark.parametrize("block", range(4))
def test_a_path_is_found_exactly_if_there_is_one_and_keeps_clear(block, cells):
    assert (
        sum(
            check_paths(random_ground(seed), seed, cells, RADII, pairs=3)
            for seed in range(10 * block, 10 * block + 10)
        )
        > 100
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed, cells", ONCE_TOO_NEAR)
def test_paths_that_begin_or_end_beside_a_thin_wall_keep_clear_of_its_end(seed, cells):
    assert check_paths(random_ground(seed), seed, cells, RADII) > 20


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(6))
def test_agents_pass_exactly_the_doors_that_are_wide_enough(seed):
    assert check_paths(rooms(seed), seed, "polygons", (0.1, 0.2, 0.3, 0.4, 0.6), pairs=8) > 10


@pytest.mark.parametrize("seed", range(3))
def test_widths_are_exact_at_utm_coordinates(seed):
    assert check_paths(affinity.translate(random_ground(seed), *UTM), seed, "polygons", RADII, pairs=4) > 10


@pytest.mark.parametrize("seed", range(3))
def test_widths_are_exact_for_agents_as_wide_as_the_mesh_can_answer_for(seed):
    ground = affinity.scale(random_ground(seed), 4.0, 4.0, origin=(0.0, 0.0))
    assert (
        check_paths(ground, seed, "polygons", (1.0, 1.5, 2.0, 3.0), pairs=6, parameters={"widest_body": 3.0})
        > 4
    )


@pytest.mark.full
@pytest.mark.parametrize("block", range(40))
def test_tens_of_thousands_of_paths_are_found_exactly_and_keep_clear(block):
    for seed in range(50 * block, 50 * block + 50):
        for cells in ("polygons", "triangles"):
            check_paths(random_ground(seed), seed, cells, RADII)


def funnel_with_a_beam(gap):
    """Return a room of 10 x 5 m in which a beam from above ends `gap` above the floor:
    the edges beside it are 5 m long, the path under it is not.
    """
    return shapely.box(0.0, 0.0, 10.0, 5.0).difference(shapely.Polygon([(4.9, 5.0), (5.0, gap), (5.1, 5.0)]))


@pytest.mark.parametrize("cells", ["polygons", "triangles"])
def test_portals_of_five_metres_with_a_gap_of_0_3_metres_inside_stop_wide_agents(cells):
    planner = OnePlanner.on(funnel_with_a_beam(0.3), faces=cells)
    for radius, status in (
        (0.14, FOUND),
        (0.1499, FOUND),
        (0.1501, UNREACHABLE),
        (0.2, UNREACHABLE),
        (1.5, UNREACHABLE),
    ):
        assert planner.path((2.0, 2.5), (8.0, 2.5), radius)[0] == status, radius


@pytest.mark.parametrize("cells", ["polygons", "triangles"])
def test_a_vertex_opposite_a_wall_inside_one_polygon_parts_it_for_wide_agents(cells):
    # The needle's point lies 0.3 m from the floor; without a foot in the floor there is no edge of 0.3 m that
    # a search could measure.
    needle = shapely.Polygon([(5.0, 0.3), (5.02, 4.0), (4.98, 4.0)])
    planner = OnePlanner.on(shapely.box(0.0, 0.0, 10.0, 5.0).difference(needle), faces=cells)
    assert planner.path((1.0, 0.2), (9.0, 0.2), 0.14)[3] < 8.1
    wide = planner.path((1.0, 0.2), (9.0, 0.2), 0.16)
    assert wide[0] == FOUND and wide[3] > 10.0  # over the needle's other end, 0.84 m from the ceiling
    assert planner.path((1.0, 0.6), (9.0, 0.6), 0.51)[0] == UNREACHABLE


def test_a_agent_exactly_as_wide_as_the_door_passes_it():
    door = shapely.box(0, 0, 9, 4).difference(
        shapely.union_all([shapely.box(4, 0, 5, 1.5), shapely.box(4, 2.5, 5, 4)])
    )
    planner = OnePlanner.on(door)
    assert planner.path((1.0, 2.0), (8.0, 2.0), 0.5)[0] == FOUND
    assert planner.path((1.0, 2.0), (8.0, 2.0), np.nextafter(0.5, 1.0))[0] == UNREACHABLE


def test_a_agent_takes_the_longer_path_where_the_shorter_is_too_narrow():
    walls = shapely.union_all(
        [shapely.box(4, 0, 4.2, 1.8), shapely.box(4, 2.2, 4.2, 7), shapely.box(4, 8.2, 4.2, 10)]
    )
    planner = OnePlanner.on(shapely.box(0, 0, 8, 10).difference(walls))
    narrow, wide = planner.path((2, 2), (6, 2), 0.19), planner.path((2, 2), (6, 2), 0.21)
    assert narrow[3] == pytest.approx(4.0, abs=1e-9)
    assert 11.0 < wide[3] < 13.0
    assert planner.path((2, 2), (6, 2), 0.61)[0] == UNREACHABLE


def test_a_path_through_pillars_exists_up_to_half_the_gap():
    hall = pillar_hall(5, gap=1.0)
    planner = OnePlanner.on(hall)
    size = hall.bounds[2]
    assert planner.path((0.5, 0.5), (size - 0.5, size - 0.5), 0.5)[0] == FOUND
    assert planner.path((0.51, 0.51), (size - 0.51, size - 0.51), 0.501)[0] == UNREACHABLE


def test_memory_does_not_grow_with_the_number_of_radii():
    planner = OnePlanner.on(random_ground(1))

    def taken():
        *arrays, landmarks = planner.slots
        return sum(np.asarray(array).nbytes for array in (*planner.mesh, *arrays, *landmarks))

    size = taken()
    for radius in np.linspace(0.0, 0.7, 50):
        planner.path((0.8, 0.8), (11.2, 11.2), radius)
    assert taken() == size
