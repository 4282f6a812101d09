"""The triangulation is Delaunay, and every gap is one of its edges."""

import numpy as np
import pytest
import shapely
from shapely import affinity

from crowdsim.geometry.made_city import make_city
from crowdsim.geometry.triangulation import in_pieces, neighbours_of, triangulate
from tests.navigation.worlds import UTM, pillar_hall, random_ground, rooms
from tests.reference.gaps import gaps_at_walls, gaps_between_corners
from tests.reference.plane import in_circle
from tests.reference.triangulation import edges_that_are_not_delaunay


@pytest.mark.parametrize("seed", range(6))
def test_no_edge_has_a_far_corner_well_inside_its_circle(seed):
    triangulation = triangulate(random_ground(seed), widest_gap=4.0)
    for t, i in edges_that_are_not_delaunay(*triangulation.__dict__.values()):
        # Feet are rounded, so that exact arithmetic finds some corners inside by less than a rounding: these
        # must be next to nothing.
        corners = triangulation.triangles[t]
        other = triangulation.triangles[triangulation.neighbours[t, i]]
        far = next(v for v in other if v not in (corners[i], corners[(i + 1) % 3]))
        points = triangulation.vertices[[*corners, far]]
        size = np.abs(points - points.mean(axis=0)).max()
        assert float(in_circle(*points.ravel().tolist())) <= 1e-13 * size**4


def test_an_exact_grid_of_squares_is_left_alone_by_ties():
    triangulation = triangulate(pillar_hall(4), widest_gap=4.0)
    assert (
        edges_that_are_not_delaunay(triangulation.vertices, triangulation.triangles, triangulation.neighbours)
        == []
    )


@pytest.mark.parametrize("offset", [(0.0, 0.0), UTM], ids=["near the origin", "UTM"])
@pytest.mark.parametrize("widest", [1.0, 4.0])
@pytest.mark.parametrize("seed", [0, 3, 4])
def test_the_feet_are_those_that_brute_force_finds(seed, widest, offset):
    ground = affinity.translate(random_ground(seed), *offset)
    expected = np.array([foot for _, foot in gaps_at_walls(ground, widest)])
    outline = set(map(tuple, shapely.get_coordinates(ground).tolist()))
    made = np.array(
        [v for v in triangulate(ground, widest_gap=widest).vertices.tolist() if tuple(v) not in outline]
    )
    tolerance = 1e-8 if offset[0] else 2e-6
    assert len(expected) > 5 and len(made) > 5
    for foot in expected:  # a foot within a micrometre of another is left to that
        assert np.hypot(*(made - foot).T).min() <= tolerance + 1e-6
    if not offset[0]:  # far from the origin the slack for rounding lets a few more pass
        for foot in made:
            assert np.hypot(*(expected - foot).T).min() <= tolerance


@pytest.mark.parametrize("seed", range(5))
def test_every_gap_is_an_edge(seed):
    ground = random_ground(seed)
    triangulation = triangulate(ground, widest_gap=2.0)
    pairs = np.stack(
        [triangulation.triangles, np.roll(triangulation.triangles, -1, axis=1)], axis=-1
    ).reshape(-1, 2)
    edges = {(a, b) for a, b in np.concatenate([pairs, pairs[:, ::-1]]).tolist()}
    # Two corners of one obstacle may have an empty disc inside it.
    gaps = [
        gap
        for gap in gaps_at_walls(ground, 2.0) + gaps_between_corners(ground, 2.0)
        if ground.covers(shapely.LineString(gap).centroid)
    ]
    assert len(gaps) > 20
    for gap in gaps:
        a, b = (np.flatnonzero(np.hypot(*(triangulation.vertices - end).T) <= 2e-6).tolist() for end in gap)
        assert any((u, v) in edges for u in a for v in b), f"the gap {gap} is no edge"


def test_neighbours_share_their_edges():
    triangulation = triangulate(rooms(0), widest_gap=2.0)
    triangles, neighbours = triangulation.triangles, triangulation.neighbours
    assert np.array_equal(neighbours, neighbours_of(triangles))
    for t, i in np.argwhere(neighbours >= 0):
        shared = {triangles[t, i], triangles[t, (i + 1) % 3]}
        assert shared <= set(triangles[neighbours[t, i]].tolist()) and t in neighbours[neighbours[t, i]]


def test_no_feet_are_made_for_gaps_wider_than_asked_for_nor_in_openings():
    needle = shapely.Polygon([(5.0, 1.0), (5.02, 4.0), (4.98, 4.0)])
    room = shapely.box(0.0, 0.0, 10.0, 5.0).difference(needle)

    def feet_below(t):
        return int(np.sum((t.vertices[:, 1] == 0.0) & (t.vertices[:, 0] > 0.0) & (t.vertices[:, 0] < 10.0)))

    assert feet_below(triangulate(room, widest_gap=1.01)) == 1
    assert feet_below(triangulate(room, widest_gap=0.99)) == 0
    assert feet_below(triangulate(room, openings=shapely.box(0.0, -1.0, 10.0, 0.1), widest_gap=1.01)) == 0


def in_any_order(found):
    return {frozenset(map(tuple, corners)) for corners in found.vertices[found.triangles].tolist()}


@pytest.mark.parametrize(
    "ground",
    [
        *(random_ground(seed) for seed in (0, 3, 4)),
        affinity.translate(random_ground(5), *UTM),
        shapely.union(make_city(400.0, 1).ground, affinity.translate(make_city(400.0, 3).ground, 500.0)),
    ],
    ids=["a", "b", "c", "UTM", "two parts"],
)
def test_ground_with_very_many_holes_is_triangulated_the_same_in_pieces(ground):
    with_holes = [part for part in shapely.get_parts(ground) if part.interiors]
    assert with_holes
    for part in with_holes:
        assert all(not piece.interiors for piece in shapely.get_parts(in_pieces(part)))
    whole, pieces = (triangulate(ground, widest_gap=4.0, most_holes=most) for most in (np.inf, 0))
    assert in_any_order(pieces) == in_any_order(whole)


def test_ground_whose_rings_touch_inside_edges_is_not_triangulated_in_pieces_that_do_not_cover_it():
    """The corner of a hole on the side of another is no end of an edge there."""
    touching = [[(2, 2), (2, 8), (5, 8), (5, 2)], [(5, 4), (7, 6), (7, 3)]]
    ground = shapely.Polygon([(0, 0), (10, 0), (10, 10), (0, 10)], touching)
    assert ground.is_valid
    whole, pieces = (triangulate(ground, widest_gap=4.0, most_holes=most) for most in (np.inf, 0))
    assert in_any_order(pieces) == in_any_order(whole)
