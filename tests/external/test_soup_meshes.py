"""The fill on the demo meshes of recastnavigation, beside what Recast and Detour made of them with the same
body (radius 0.6 m, height 2 m, climb 0.9 m, cells of 0.3 m).
"""

import json

import numpy as np
import pytest

from crowdsim.navigation.soup.fill import FillRules, SeedRefused, fill
from tests.external.data import DATA, needs
from tests.navigation.soup.scenes import places
from tests.reference.fill import box_meets

trimesh = pytest.importorskip("trimesh", reason="trimesh is missing: it reads OBJ files")
MESHES = DATA / "meshes"
pytestmark = needs(MESHES)
SIDE, HEIGHT, CLIMB = 0.6, 2.0, 0.9
# Detour's polygons are large, and the middle of one lies so far off the ground at most; bodies on other
# storeys are at least a height away.
OFF_M = 1.2
NEAR_M = 0.3001  # A cell of Recast: so far off in plan the next body stands at most.


def triangles(name):
    mesh = trimesh.load(MESHES / f"{name}.obj", process=False, force="mesh", skip_materials=True)
    return (np.asarray(mesh.vertices)[:, [0, 2, 1]] * [1, -1, 1])[np.asarray(mesh.faces)]


def islands(neighbours):
    """Return which polygons are joined, by the lowest of each part."""
    part = np.full(len(neighbours), -1)
    for first in range(len(part)):
        todo = [first] if part[first] < 0 else []
        while todo:
            polygon = todo.pop()
            if part[polygon] < 0:
                part[polygon] = first
                todo += [other for other in neighbours[polygon] if other >= 0]
    return part


@pytest.mark.parametrize("cell", [0.3, pytest.param(0.1, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", ["dungeon", "nav_test"])
def test_all_ground_of_detour_on_which_a_body_stands_is_found(name, cell):
    corners, detour = triangles(name), json.loads((DATA / "detour" / f"{name}.json").read_text())
    kind = np.ones(len(corners), dtype=np.uint8)
    rules = FillRules(SIDE, HEIGHT, cell, CLIMB, CLIMB, CLIMB)
    vertices = np.array(detour["vertices"])
    middle = np.array([vertices[polygon].mean(axis=0) for polygon in detour["polygons"]])
    part, seeds = islands(detour["neighbours"]), []
    for island in np.unique(part):
        for place in middle[part == island]:
            try:
                fill(corners, kind, [place + [0, 0, 0.1]], rules)
            except SeedRefused:
                continue
            seeds.append(place + [0, 0, 0.1])
            break
    assert len(seeds) == len(np.unique(part))  # one on each
    found = places(fill(corners, kind, seeds, rules))
    half, lost, nowhere = 0.5 * SIDE - 1e-4, [], 0
    for x, y, z in middle.tolist():
        near = (np.abs(found[:, :2] - [x, y]) <= NEAR_M).all(axis=1) & (np.abs(found[:, 2] - z) <= OFF_M)
        if near.any():
            continue
        for level in z + np.arange(-0.6, 0.6, 0.02):
            low, high = [x - half, y - half], [x + half, y + half]
            is_free = not box_meets([*low, level + CLIMB], [*high, level + HEIGHT], corners).any()
            if is_free and box_meets([*low, level - 0.02], [*high, level + 0.02], corners).any():
                lost.append((x, y, z))
                break
        else:
            nowhere += 1
    assert lost == [] and nowhere <= 5, (lost, nowhere)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("name", "start"), [("dungeon", (6.5, 4.7, 10.3)), ("nav_test", (45.7, 5.1, -0.7))])
def test_no_cell_is_found_on_which_a_body_cannot_stand(name, start, seed):
    corners = triangles(name)
    rules = FillRules(SIDE, HEIGHT, 0.3, CLIMB, CLIMB, CLIMB)
    found = places(fill(corners, np.ones(len(corners), dtype=np.uint8), [start], rules))
    assert len(found) > 5_000
    half = 0.5 * SIDE - 1e-4
    for x, y, z in np.random.default_rng(seed).choice(found, 300, replace=False):
        low, high = [x - half, y - half], [x + half, y + half]
        assert not box_meets([*low, z + CLIMB + 1e-4], [*high, z + HEIGHT - 1e-3], corners).any()
        assert box_meets([*low, z - 2e-3], [*high, z + 2e-3], corners).any()
