"""Meshes that others made, as ground: whoever walks at random on them never leaves the ground and never goes
through a face of the file.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import shapely

from crowdsim.geometry.soup import repaired
from crowdsim.geometry.surface import SurfaceRules, walkable_patches
from crowdsim.navigation.corridor.corridors import Corridors
from crowdsim.navigation.corridor.walk import Walked, walk_many
from crowdsim.navigation.mesh.mesh import depth_in_polygon, height_at, locate_at_height
from crowdsim.navigation.mesh.slopes import heights_at
from crowdsim.navigation.mesh.surface_mesh import build_surface
from tests.external.data import DATA, needs

trimesh = pytest.importorskip("trimesh", reason="trimesh is missing: it reads OBJ files")
MESHES = DATA / "meshes"
# the ground of each takes seconds to make
NAMES = ["nav_test", *(pytest.param(name, marks=pytest.mark.full) for name in ("dungeon", "undulating"))]
pytestmark = needs(MESHES)


@cache
def ground(name):
    """Return the triangles of a file, z up, and the mesh of its ground."""
    loaded = trimesh.load(MESHES / f"{name}.obj", process=False, force="mesh")
    vertices = np.asarray(loaded.vertices)[:, [0, 2, 1]] * [1.0, -1.0, 1.0]
    soup = repaired(vertices, np.asarray(loaded.faces))
    patches = walkable_patches(soup, SurfaceRules())
    sheets = max(patch.sheet for patch in patches) + 1
    return vertices[np.asarray(loaded.faces)], build_surface(patches, np.arange(sheets, dtype=np.int32)).mesh


class Faces:
    """Looks for faces that a straight way in space goes through."""

    def __init__(self, triangles):
        self.triangles = triangles
        self.tree = shapely.STRtree(
            shapely.box(*triangles[:, :, :2].min(axis=1).T, *triangles[:, :, :2].max(axis=1).T)
        )

    def crossed(self, start, end, depth=0.0):
        """Return the rows of ways that go through a face, with both ends at least `depth` (m) off it,
        and the faces ([Moeller 1997]).
        """
        way, face = self.tree.query(
            shapely.linestrings(np.stack([start[:, :2], end[:, :2]], axis=1)), predicate="intersects"
        )
        a, b, c = (self.triangles[face, k] for k in range(3))
        along = end[way] - start[way]
        e1, e2 = b - a, c - a
        p = np.cross(along, e2)
        det = np.sum(e1 * p, axis=1)
        with np.errstate(all="ignore"):
            s = start[way] - a
            u = np.sum(s * p, axis=1) / det
            q = np.cross(s, e1)
            v = np.sum(along * q, axis=1) / det
            t = np.sum(e2 * q, axis=1) / det
            normal = np.cross(e1, e2)
            distance = [
                np.abs(np.sum((at[way] - a) * normal, axis=1)) / np.linalg.norm(normal, axis=1)
                for at in (start, end)
            ]
            hit = (
                (np.abs(det) > 1e-12)
                & (u >= 0.0)
                & (v >= 0.0)
                & (u + v <= 1.0)
                & (t > 0.0)
                & (t < 1.0)
                & (np.minimum(*distance) >= depth)
            )
        return way[hit], face[hit]


def walked(name, radius, walkers, moves, seed, stride=0.3):
    """Walk at random; after every move look whether everybody is on its polygon, at the height of the ground,
    and went through no face.
    """
    triangles, mesh = ground(name)
    faces = Faces(triangles)
    rng = np.random.default_rng(seed)
    size = np.diff(mesh.polygon_start)
    corners = [
        mesh.vertex[mesh.edge_vertex[a : a + n]] for a, n in zip(mesh.polygon_start[:-1], size, strict=True)
    ]
    area = np.array([shapely.Polygon(c[:, :2] - c[0, :2]).area for c in corners])
    polygon = rng.choice(len(area), walkers, p=area / area.sum()).astype(np.int64)
    weights = [rng.dirichlet(np.ones(size[p])) for p in polygon]
    position = np.array([w @ corners[p][:, :2] for w, p in zip(weights, polygon, strict=True)])
    heading = rng.uniform(0.0, 2.0 * np.pi, walkers)
    radii, clear, touched = (
        np.full(walkers, radius),
        np.zeros(walkers, dtype=np.float32),
        np.zeros(walkers, dtype=np.uint8),
    )
    portals, block, none = (
        np.zeros(1, dtype=np.int32),
        np.zeros(walkers, dtype=np.int64),
        np.zeros(walkers, dtype=np.int32),
    )
    z, new_z = np.empty(walkers), np.empty(walkers)
    heights_at(0, walkers, mesh, polygon, position, z)
    crossings, worst = 0, 0.0
    for _ in range(moves):
        heading += rng.normal(0.0, 0.4, walkers) + (touched == 1) * rng.uniform(-2.0, 2.0, walkers)
        target = position + stride * np.c_[np.cos(heading), np.sin(heading)]
        new = [np.empty_like(each) for each in (position, polygon, none, clear, touched)]
        corridors = Corridors(portals, block, none, polygon, none, position, radii)
        walk_many(0, walkers, mesh, corridors, none, target, clear, Walked(*new))
        there, polygon, _, clear, touched = new
        heights_at(0, walkers, mesh, polygon, there, new_z)
        worst = max(
            worst,
            -min(
                depth_in_polygon(mesh, p, x, y)
                for p, (x, y) in zip(polygon.tolist(), there.tolist(), strict=True)
            ),
        )
        for above in (0.3, 1.0, 1.7):
            # A point touches walls, of which those that lean by less than a thousandth count as upright (2 mm
            # at the height of a head), and one that slides round a corner does not go straight: bodies tell
            # whether sliding keeps to the ground.
            way, _ = faces.crossed(
                np.c_[position, z + above], np.c_[there, new_z + above], 0.002 if radius == 0.0 else 0.0
            )
            crossings += len(way) if radius > 0.0 else int(np.count_nonzero(touched[way] == 0))
        position = there
        z[:] = new_z
    return crossings, worst


@pytest.mark.sample(1)
@pytest.mark.parametrize("radius", [0.0, 0.3])
@pytest.mark.parametrize("name", NAMES)
def test_random_moves_leave_no_ground_and_cross_no_face(name, radius):
    crossings, worst = walked(name, radius, 150, 40, 5)
    assert crossings == 0
    assert worst <= 1e-5


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_a_million_random_moves_leave_no_ground_and_cross_no_face(name):
    crossings, worst = walked(name, 0.2, 5000, 200, 11)
    assert crossings == 0
    assert worst <= 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_ground_has_its_clearance(name):
    """Above random places of the ground, no face of the file begins between a hand's breadth and the
    clearance.
    """
    triangles, mesh = ground(name)
    faces = Faces(triangles)
    rng = np.random.default_rng(2)
    size = np.diff(mesh.polygon_start)
    corners = [
        mesh.vertex[mesh.edge_vertex[a : a + n]] for a, n in zip(mesh.polygon_start[:-1], size, strict=True)
    ]
    area = np.array([shapely.Polygon(c[:, :2] - c[0, :2]).area for c in corners])
    polygon = rng.choice(len(area), 3000, p=area / area.sum())
    place = np.array([rng.dirichlet(np.ones(size[p])) @ corners[p] for p in polygon])
    start, end = place + (0.0, 0.0, 0.1), place + (1e-9, 0.0, 1.99)
    way, face = faces.crossed(start, end)
    assert len(way) == 0, (place[way[:5]], face[:5])


@pytest.mark.parametrize("name", NAMES)
def test_places_are_found_again_by_their_height(name):
    _, mesh = ground(name)
    rng = np.random.default_rng(1)
    for polygon in rng.integers(0, mesh.polygon_count, 200).tolist():
        first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
        x, y = mesh.vertex[mesh.edge_vertex[first:last], :2].mean(axis=0)
        found = locate_at_height(mesh, x, y, height_at(mesh, polygon, x, y))
        assert abs(height_at(mesh, found, x, y) - height_at(mesh, polygon, x, y)) < 1e-6
