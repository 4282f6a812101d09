"""Discs that cover convex polygons."""

import numpy as np
import pytest
import shapely

from crowdsim.geometry.cover import BEYOND_M, cover


def check(corners, beyond):
    centre, radius = cover(np.asarray(corners, dtype=float), beyond)
    discs = shapely.union_all(
        [shapely.Point(c).buffer(r + 1e-9, quad_segs=64) for c, r in zip(centre, radius, strict=True)]
    )
    polygon = shapely.Polygon(corners)
    rng = np.random.default_rng(0)
    left, bottom, right, top = polygon.bounds
    points = shapely.points(rng.uniform((left, bottom), (right, top), (2000, 2)))
    points = np.append(
        points[shapely.contains(polygon, points)],
        shapely.line_interpolate_point(polygon.exterior, np.linspace(0, 1, 200), normalized=True),
    )
    reach = (
        np.hypot(*(shapely.get_coordinates(points)[:, None] - centre[None]).transpose(2, 0, 1))
        <= radius + 1e-9
    )
    assert reach.any(axis=1).all()
    assert shapely.difference(discs, polygon.buffer(beyond + 1e-6, quad_segs=256)).area < 1e-3 * beyond
    return len(centre)


def test_a_cart_is_eight_discs():
    assert check([[-1, -0.5], [1, -0.5], [1, 0.5], [-1, 0.5]], BEYOND_M) == 8
    assert check([[0, 0], [0.3, 0], [0.3, 0.3], [0, 0.3]], BEYOND_M) == 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(25))
def test_any_convex_polygon_is_covered_and_discs_stick_out_no_farther_than_said(seed):
    rng = np.random.default_rng(seed)
    points = shapely.MultiPoint(rng.normal(size=(int(rng.integers(3, 12)), 2)) * rng.uniform(0.2, 2.0, 2))
    corners = shapely.get_coordinates(shapely.orient_polygons(points.convex_hull))[:-1]
    check(corners, float(rng.choice([0.05, BEYOND_M, 0.5])))


def test_where_it_lies_and_how_it_is_turned_change_no_number_of_discs():
    box = np.array([[-1, -0.5], [1, -0.5], [1, 0.5], [-1, 0.5]])
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    centre, radius = cover(box)
    turned, same = cover(box @ turn.T + [100.0, 7.0])
    assert np.allclose(same, radius) and np.allclose(turned, centre @ turn.T + [100.0, 7.0])
