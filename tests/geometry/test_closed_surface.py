"""Areas are cut out of plane patches in space: what is left has the same planes, and patches beside each
other still share whole edges.
"""

import numpy as np
import pytest
import shapely

from crowdsim.geometry.soup import repaired
from crowdsim.geometry.surface import Patch, patches_without, walkable_patches
from crowdsim.navigation.mesh.build import MeshBuild
from crowdsim.navigation.mesh.surface_mesh import build_surface
from tests.navigation.worlds import located, outlines


def hill(seed: int) -> list[Patch]:
    """A field of 8 x 8 m whose corners, a metre or two apart, lie at random heights: triangles in space."""
    rng = np.random.default_rng(seed)
    x, y = (np.cumsum(rng.uniform(0.8, 2.0, 6)) for _ in range(2))
    corners = np.array([(a, b, rng.uniform(0.0, 0.5)) for b in y for a in x])
    faces = []
    for j in range(5):
        for i in range(5):
            a, b, c, d = (6 * j + i, 6 * j + i + 1, 6 * j + i + 7, 6 * j + i + 6)
            faces += [[a, b, c], [a, c, d]]
    return walkable_patches(repaired(corners, np.array(faces, dtype=np.int64)))


def meshed(patches: list[Patch]) -> MeshBuild:
    """Return the mesh of patches of one floor."""
    return build_surface(patches, np.zeros(1 + max(patch.sheet for patch in patches), dtype=np.int32))


def random_area(ground, rng):
    """A turned box somewhere on the ground."""
    west, south, east, north = ground.bounds
    box = shapely.box(-rng.uniform(0.2, 2.0), -0.4, rng.uniform(0.2, 2.0), 0.4)
    return shapely.affinity.translate(
        shapely.affinity.rotate(box, rng.uniform(0.0, 180.0)),
        rng.uniform(west, east),
        rng.uniform(south, north),
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(12))
def test_what_is_left_is_the_ground_without_the_areas_and_one_can_walk_wherever_it_is_joined(seed):
    patches, rng = hill(seed), np.random.default_rng(seed)
    whole = shapely.union_all([patch.ground for patch in patches])
    areas = [random_area(whole, rng) for _ in range(3)]
    left = patches_without(patches, [([0], area) for area in areas])
    ground = shapely.difference(whole, shapely.union_all(areas))
    assert sum(patch.ground.area for patch in left) == pytest.approx(ground.area, abs=1e-4)
    assert (
        shapely.symmetric_difference(
            shapely.union_all([patch.ground for patch in left], grid_size=1e-9), ground
        ).area
        < 1e-4
    )
    mesh = meshed(left).mesh
    # Every edge without a twin lies on the rim: no wall has come up between patches that meet.
    loose = np.flatnonzero(mesh.edge_twin < 0)
    middle = 0.5 * (mesh.vertex[mesh.edge_vertex[loose], :2] + mesh.vertex[mesh.edge_end[loose], :2])
    assert shapely.distance(ground.boundary, shapely.points(middle)).max() < 1e-4
    parts = [part for part in shapely.get_parts(ground) if part.area > 1e-3]
    found = {mesh.polygon_part[p] for p, shape in enumerate(outlines(mesh)) if shape.area > 1e-3}
    assert len(found) == len(parts)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(6))
def test_heights_stay_and_a_place_has_ground_exactly_if_no_area_has_it(seed):
    patches, rng = hill(seed), np.random.default_rng(seed + 50)
    whole = shapely.union_all([patch.ground for patch in patches])
    area = random_area(whole, rng)
    before, after = meshed(patches).mesh, meshed(patches_without(patches, [([0], area)])).mesh
    places = np.column_stack([rng.uniform(*whole.bounds[::2], 300), rng.uniform(*whole.bounds[1::2], 300)])
    was, now = located(before, places), located(after, places)
    for place, old, new in zip(places, was, now, strict=True):
        if area.boundary.distance(shapely.Point(place)) > 1e-4:
            assert (new >= 0) == (old >= 0 and not area.contains(shapely.Point(place)))
        if old >= 0 and new >= 0:
            heights = [
                mesh.polygon_height[polygon]
                + mesh.polygon_slope[polygon]
                @ (place - mesh.vertex[mesh.edge_vertex[mesh.polygon_start[polygon]], :2])
                for mesh, polygon in ((before, old), (after, new))
            ]
            assert heights[0] == pytest.approx(heights[1], abs=1e-6)


def test_ground_of_other_sheets_stays_and_gets_the_corners_where_it_meets_what_is_cut():
    patches = hill(1)
    grounds = [patch.ground for patch in patches]
    below = [Patch(patch.ground, patch.plane, 1) for patch in patches]
    area = shapely.box(3.0, 3.0, 4.0, 6.0)
    left = patches_without([*patches, *below], [([0], area)])
    kept = [patch for patch in left if patch.sheet == 1]
    assert len(kept) == len(below)
    assert sum(patch.ground.area for patch in kept) == pytest.approx(sum(each.area for each in grounds))
    corners = {tuple(each) for patch in kept for each in shapely.get_coordinates(patch.ground).tolist()}
    rims = shapely.union_all([each.boundary for each in grounds])
    for patch in left:
        if patch.sheet == 0:
            for point in shapely.get_coordinates(patch.ground).tolist():
                if rims.distance(shapely.Point(point)) < 1e-9:
                    assert tuple(point) in corners


def test_areas_that_meet_nothing_change_nothing_and_one_that_covers_all_leaves_nothing():
    patches = hill(2)
    same = patches_without(
        patches, [([0], shapely.box(100, 100, 101, 101)), ([5], shapely.box(0, 0, 50, 50))]
    )
    assert [patch.ground.wkb for patch in same] == [patch.ground.wkb for patch in patches]
    assert patches_without(patches, [([0], shapely.box(-50, -50, 50, 50))]) == []
