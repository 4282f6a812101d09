"""Points of portals, over which `mesh` searches:
the same from both sides, and no two of one polygon at one place.
"""

import itertools
import math

import numpy as np
import pytest
import shapely

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.search.portal_points import place_points
from crowdsim.navigation.tiles.make import build_tiles
from tests.navigation.worlds import random_ground, rooms
from tests.reference.search import points_of

LAWN = Terrain("lawn", shapely.box(3.0, 3.0, 9.0, 8.0), 0.5)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["plain", "terrain", "tiles"])
def test_points_are_those_of_the_twin_and_steps_between_them_cost_something(kind, seed):
    """Where two points were at one place, parents of equal cost could lead round in a circle."""
    ground = (random_ground, rooms)[seed % 2](seed)
    mesh = (
        build_tiles(ground, 2.0)[0].mesh
        if kind == "tiles"
        else build_mesh(ground, terrain=[LAWN] if kind == "terrain" else []).mesh
    )
    points = place_points(mesh)
    for polygon in range(mesh.polygon_count):
        edges = range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1])
        placed = {edge: points.point[points.start[edge] : points.start[edge + 1]] for edge in edges}
        for edge in edges:
            twin = mesh.edge_twin[edge]
            assert placed[edge] == pytest.approx(
                np.array(points_of(mesh, edge)) if twin >= 0 else np.zeros((0, 2)), abs=1e-12
            )
            assert twin < 0 or np.array_equal(
                placed[edge], points.point[points.start[twin] : points.start[twin + 1]][::-1]
            )
        for a, b in itertools.combinations(edges, 2):
            assert all(math.dist(p, q) > 1e-6 for p in placed[a] for q in placed[b])
