"""Edges that are forced into a triangulation are there afterwards, and the ground is still covered."""

import numpy as np
import pytest
import shapely

from crowdsim.errors import NavigationError
from crowdsim.geometry.forced_edges import force_edges
from tests.reference.forced_edges import area_of, has_edges


def triangulated(points):
    """Return a Delaunay triangulation of points by their numbers, counter-clockwise."""
    number = {tuple(point): place for place, point in enumerate(points.tolist())}
    corners = shapely.get_coordinates(
        shapely.orient_polygons(shapely.get_parts(shapely.delaunay_triangles(shapely.MultiPoint(points))))
    ).reshape(-1, 4, 2)
    return np.array(
        [[number[tuple(point)] for point in triangle[:3].tolist()] for triangle in corners], dtype=np.int32
    )


@pytest.mark.sample(7)
@pytest.mark.parametrize("offset", [0.0, 5e6])
@pytest.mark.parametrize("seed", range(20))
def test_forced_edges_are_there_and_the_ground_is_covered(seed, offset):
    rng = np.random.default_rng(seed)
    points = np.unique(rng.uniform(0.0, 10.0, (40, 2)) + offset, axis=0)
    triangles = triangulated(points)
    wanted, lines = [], []
    for _ in range(200):
        a, b = (int(each) for each in rng.integers(len(points), size=2))
        line = shapely.LineString([points[a], points[b]])
        if (
            a != b
            and not any(shapely.crosses(line, other) for other in lines)
            and {a, b} not in [set(pair) for pair in wanted]
        ):
            wanted.append((a, b))
            lines.append(line)
    forced, edges = force_edges(points, triangles, wanted)
    assert len(wanted) > 15 and has_edges(forced, wanted) and edges == [[pair] for pair in wanted]
    before, after = area_of(points - offset, triangles), area_of(points - offset, forced)
    assert after[0] == pytest.approx(before[0], rel=1e-9) and after[1] > 0.0


def test_an_edge_through_a_vertex_becomes_two():
    points = np.array([(0.0, 0.0), (4.0, 0.0), (2.0, 1.0), (2.0, -1.0), (2.0, 0.0)])
    triangles = np.array([(0, 3, 4), (3, 1, 4), (1, 2, 4), (2, 0, 4)], dtype=np.int32)
    _, edges = force_edges(points, triangles, [(0, 1)])
    assert edges == [[(0, 4), (4, 1)]]


def test_edges_that_cross_are_refused():
    points = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)])
    triangles = np.array([(0, 1, 2), (0, 2, 3)], dtype=np.int32)
    with pytest.raises(NavigationError, match="does not fit"):
        force_edges(points, triangles, [(0, 2), (1, 3)])
