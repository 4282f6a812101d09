"""Places at which agents come in: evenly over an area, and free."""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.setup.entrances import draw_spots, find_room, shares_of, triangles_of
from tests.navigation.worlds import random_ground
from tests.reference import entrances as reference

L_SHAPE = shapely.Polygon([(0, 0), (4, 0), (4, 1), (1, 1), (1, 3), (0, 3)])


def spots_in(area, ground, keys, count, first=0, seed=5):
    triangles = triangles_of(area, ground)
    found = np.empty((len(keys), count, 2))
    draw_spots(seed, 11, keys, first, triangles, shares_of(triangles), found)
    return found, triangles


def test_spots_are_evenly_over_the_part_of_the_area_that_is_ground():
    ground = shapely.box(0.5, 0, 10, 10)
    found, triangles = spots_in(L_SHAPE, ground, np.arange(1, 401, dtype=np.uint64), 50)
    assert triangles.shape[1:] == (3, 2)
    points = found.reshape(-1, 2)
    assert shapely.intersects_xy(shapely.intersection(L_SHAPE, ground).buffer(1e-9), *points.T).all()
    foot = (points[:, 1] <= 1.0).mean()  # 3.5 m2 of 4.5 m2
    assert foot == pytest.approx(3.5 / 4.5, abs=0.01)
    right = (points[points[:, 1] <= 1.0, 0] > 2.25).mean()
    assert right == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize("seed", range(3))
def test_spots_are_those_of_the_naive_twin(seed):
    keys = np.random.default_rng(seed).integers(0, 2**63, 4).astype(np.uint64)
    found, triangles = spots_in(L_SHAPE, shapely.box(-1, -1, 10, 10), keys, 7, first=30, seed=seed)
    expected = reference.draw_spots(seed, 11, keys, 30, triangles, shares_of(triangles).tolist(), 7)
    assert found.tolist() == expected


@pytest.mark.parametrize("seed", range(12))
def test_agents_find_the_room_that_the_naive_twin_finds(seed):
    ground, rng = random_ground(seed), np.random.default_rng(seed)
    mesh, count = build_mesh(ground).mesh, 14
    spots = rng.uniform(0.0, 12.0, (count, 6, 2))
    radius = rng.uniform(0.1, 0.4, count)
    others = np.column_stack([rng.uniform(0.0, 12.0, (40, 2)), rng.uniform(0.1, 0.5, 40)])
    room = np.concatenate([others[:, :2], np.empty((count, 2))])
    sizes = np.concatenate([others[:, 2], np.empty(count)])
    place, polygon = np.full((count, 2), np.nan), np.full(count, -1, dtype=np.int64)
    flood = make_flood(mesh.polygon_count)
    found = find_room(mesh, spots, -1, radius, 0.01, 0.02, room, sizes, 40, flood, place, polygon)
    expected = reference.find_room(ground, spots.tolist(), radius.tolist(), 0.01, 0.02, others.tolist())
    assert [tuple(each) for each in place[:found].tolist()] == expected
    assert (polygon[:found] >= 0).all() and room[40 : 40 + found].tolist() == place[:found].tolist()


def test_no_agent_overtakes_one_that_finds_no_room():
    mesh = build_mesh(shapely.box(0, 0, 4, 4)).mesh
    spots = np.array([[[2.0, 2.0]], [[2.0, 2.3]], [[0.5, 0.5]]])
    place, polygon = np.empty((3, 2)), np.empty(3, dtype=np.int64)
    found = find_room(
        mesh, spots, -1, np.full(3, 0.2), 0.01, 0.0, np.empty((3, 2)), np.empty(3), 0,
        make_flood(mesh.polygon_count), place, polygon,
    )  # fmt: skip
    assert found == 1
