"""Ground of meshes in space: by slope, with its clearance, cut where things stand on it,
and in one piece where faces meet.
"""

import numpy as np
import pytest
import shapely

from crowdsim.geometry.soup import repaired
from crowdsim.geometry.surface import SurfaceRules, walkable_patches
from crowdsim.navigation.mesh.mesh import locate_at_height, make_flood, wall_distance
from crowdsim.navigation.mesh.surface_mesh import build_surface


def soup_of(*polygons):
    vertices, faces = [], []
    for polygon in polygons:
        first = len(vertices)
        vertices += polygon
        faces += [[first, first + k, first + k + 1] for k in range(1, len(polygon) - 1)]
    return repaired(np.array(vertices, dtype=np.float64), np.array(faces))


def floor(x0, y0, x1, y1, z):
    return [(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)]


def mesh_of(soup, **rules):
    patches = walkable_patches(soup, SurfaceRules(**rules))
    return build_surface(patches, np.arange(max(patch.sheet for patch in patches) + 1, dtype=np.int32)).mesh


def area_of(soup, **rules):
    return sum(patch.ground.area for patch in walkable_patches(soup, SurfaceRules(**rules)))


@pytest.mark.parametrize(("rise", "is_ground"), [(0.0, True), (0.99, True), (1.01, False), (50.0, False)])
def test_faces_are_ground_up_to_the_steepest_slope(rise, is_ground):
    assert (area_of(soup_of([(0, 0, 0), (2, 0, 2 * rise), (2, 2, 2 * rise), (0, 2, 0)])) > 0.0) == is_ground


def test_faces_that_look_down_are_no_ground():
    assert walkable_patches(soup_of(floor(0, 0, 2, 2, 0.0)[::-1])) == []


@pytest.mark.parametrize(("height", "left"), [(1.9, 90.0), (2.1, 100.0)])
def test_what_hangs_lower_than_the_clearance_takes_the_ground_below_it(height, left):
    ceiling = floor(2, 2, 7, 4, height)[::-1]
    assert area_of(soup_of(floor(0, 0, 10, 10, 0.0), ceiling)) == pytest.approx(left)


def test_a_ramp_takes_the_ground_where_it_is_low():
    """A ramp of slope 1/2 is 2 m high 4 m in; 2 m wide, it takes 8 m2, and is itself ground."""
    ramp = [(2, 4, 0), (8, 4, 3), (8, 6, 3), (2, 6, 0)]
    patches = walkable_patches(soup_of(floor(0, 0, 10, 10, 0.0), ramp))
    assert sum(patch.ground.area for patch in patches if patch.plane.slope == (0.0, 0.0)) == pytest.approx(
        92.0, abs=1e-3
    )
    assert sum(patch.ground.area for patch in patches if patch.plane.slope[0] > 0.0) == pytest.approx(12.0)


def test_a_wall_without_thickness_parts_the_ground_and_a_beam_overhead_does_not():
    across = [(5, 0, 0), (5, 10, 0), (5, 10, 2.5), (5, 0, 2.5)]
    parted = mesh_of(soup_of(floor(0, 0, 10, 10, 0.0), across))
    assert len(set(parted.polygon_part.tolist())) == 2
    flood = make_flood(parted.polygon_count)
    assert wall_distance(
        parted, locate_at_height(parted, 4.0, 5.0, 0.0), 4.0, 5.0, 3.0, flood
    ) == pytest.approx(0.995, abs=1e-4)
    beam = [(x, y, z + 2.2) for x, y, z in across]
    whole = mesh_of(soup_of(floor(0, 0, 10, 10, 0.0), beam))
    assert len(set(whole.polygon_part.tolist())) == 1


def test_turns_of_a_spiral_that_touch_in_plan_are_not_joined():
    """A spiral ramp of square turns, 3 m a turn; the second turn begins exactly above the first.
    One walks up it and nowhere else.
    """
    corners = [((0, 0), (4, 0)), ((4, 0), (4, 4)), ((4, 4), (0, 4)), ((0, 4), (0, 0))]
    outer = {(0, 0): (-2, -2), (4, 0): (6, -2), (4, 4): (6, 6), (0, 4): (-2, 6)}
    polygons, z = [], 0.0
    for _ in range(2):
        for a, b in corners:
            top = z + 0.75
            polygons += [[(*a, z), (*outer[a], z), (*outer[b], top)], [(*a, z), (*outer[b], top), (*b, top)]]
            z = top
    mesh = mesh_of(soup_of(*polygons), clearance=2.0)
    assert len(set(mesh.polygon_part.tolist())) == 1
    low, high = locate_at_height(mesh, 0.5, -1.0, 0.1), locate_at_height(mesh, 0.5, -1.0, 3.1)
    assert low != high
    flood = make_flood(mesh.polygon_count)
    start = locate_at_height(mesh, -0.9, -0.95, 0.0)
    assert start >= 0
    assert wall_distance(mesh, low, 0.5, -1.0, 5.0, flood) <= 1.0
    portals = np.flatnonzero(mesh.edge_twin >= 0)
    jump = np.abs(
        mesh.vertex[mesh.edge_vertex[portals], 2] - mesh.vertex[mesh.edge_end[mesh.edge_twin[portals]], 2]
    )
    assert jump.max() < 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_ground_under_random_boxes_is_what_shapely_leaves(seed):
    """Boxes of 1 to 3 m hover or stand over a floor of two slanted halves:
    the ground in plan is the floor less those that begin below 2 m.
    """
    rng = np.random.default_rng(seed)
    polygons = [
        [(0, 0, 0), (10, 0, 1), (10, 20, 1), (0, 20, 0)],
        [(10, 0, 1), (20, 0, 0), (20, 20, 0), (10, 20, 1)],
    ]
    left = shapely.box(0, 0, 20, 20)
    for _ in range(12):
        x, y = rng.uniform(0.0, 17.0, 2)
        w, d = rng.uniform(0.5, 3.0, 2)
        low, high = (0.0, 1.2) if rng.random() < 0.5 else (4.0, 5.0)
        polygons += [floor(x, y, x + w, y + d, high), floor(x, y, x + w, y + d, low + 1.1)[::-1]]
        if low < 2.0:
            left -= shapely.box(x, y, x + w, y + d)
    patches = walkable_patches(soup_of(*polygons))
    ground = shapely.union_all(
        [patch.ground for patch in patches if abs(abs(patch.plane.slope[0]) - 0.1) < 1e-9]
    )
    assert ground.symmetric_difference(left).area < 1e-3


def test_exits_open_the_rim_of_a_surface():
    patches = walkable_patches(
        soup_of(floor(0, 0, 10, 10, 0.0), [(10, 0, 0), (20, 0, 2), (20, 10, 2), (10, 10, 0)])
    )
    opened = build_surface(patches, np.zeros(1, dtype=np.int32), openings={0: shapely.box(19, 4, 21, 6)}).mesh
    boundary = np.flatnonzero((opened.edge_twin < 0) & (opened.edge_wall < 0))
    length = np.hypot(
        *(opened.vertex[opened.edge_end[boundary], :2] - opened.vertex[opened.edge_vertex[boundary], :2]).T
    )
    assert length.sum() == pytest.approx(2.0)
    assert len(set(opened.polygon_part.tolist())) == 1
