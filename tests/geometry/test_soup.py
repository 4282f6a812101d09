"""What modelling programs leave behind is repaired and told, or refused with its number."""

import numpy as np
import pytest

from crowdsim.errors import NavigationError
from crowdsim.geometry.soup import repaired
from crowdsim.geometry.surface import SurfaceRules, walkable_patches

SQUARE = np.array([[0, 0, 0], [4, 0, 0], [4, 4, 0], [0, 4, 0]], dtype=np.float64)
HALVES = np.array([[0, 1, 2], [0, 2, 3]])


def area_of(soup):
    return sum(patch.ground.area for patch in walkable_patches(soup, SurfaceRules()))


def test_a_clean_square_is_left_alone():
    soup = repaired(SQUARE, HALVES)
    assert (
        soup.repairs == () and soup.faces.tolist() == HALVES.tolist() and area_of(soup) == pytest.approx(16.0)
    )


def test_double_faces_count_once():
    soup = repaired(SQUARE, np.array([*HALVES, [2, 0, 1]]))
    assert soup.repairs == ("face 3 that repeats others is left out",) and area_of(soup) == pytest.approx(
        16.0
    )


def test_vertices_that_differ_by_rounding_are_one():
    vertices = np.concatenate([SQUARE, SQUARE[[0, 2]] + 2e-6])
    soup = repaired(vertices, np.array([[0, 1, 2], [4, 5, 3]]))
    patches = walkable_patches(soup)
    assert len(soup.vertices) == 4 and len(patches) == 1 and patches[0].ground.area == pytest.approx(16.0)


def test_a_reversed_face_is_turned():
    soup = repaired(
        np.concatenate([SQUARE, [[8, 0, 0], [8, 4, 0]]]),
        np.array([[0, 1, 2], [0, 2, 3], [1, 2, 4], [2, 4, 5]]),
    )
    assert soup.repairs == ("face 3 that faces the other way than those around is turned",)
    assert area_of(soup) == pytest.approx(32.0)


def test_slivers_are_left_out_and_the_edge_that_they_hid_is_split():
    """A triangle of no height lies between a large face and two small ones: a T-junction once it is gone."""
    vertices = np.array(
        [[0, 0, 0], [4, 0, 0], [2, 4, 0], [2, 0, 0], [1, -2, 0], [3, -2, 0]], dtype=np.float64
    )
    faces = np.array([[0, 1, 2], [0, 3, 1], [0, 4, 3], [3, 5, 1]])
    soup = repaired(vertices, faces)
    assert soup.repairs == (
        "face 2 without area is left out",
        "face 1 with vertices of others on its edges is split there",
    )
    patches = walkable_patches(soup)
    assert len({patch.sheet for patch in patches}) == 1 and area_of(soup) == pytest.approx(12.0)


def test_a_one_sided_band_is_refused_with_its_faces():
    steps = 12
    angle = np.linspace(0.0, 2.0 * np.pi, steps, endpoint=False)
    rim = [
        [(2 + s * np.cos(a / 2)) * np.cos(a), (2 + s * np.cos(a / 2)) * np.sin(a), s * np.sin(a / 2)]
        for a in angle
        for s in (-0.5, 0.5)
    ]
    faces = []
    for k in range(steps):
        a, b = 2 * k, 2 * k + 1
        c, d = (2 * k + 2, 2 * k + 3) if k < steps - 1 else (1, 0)
        faces += [[a, c, b], [b, c, d]]
    with pytest.raises(NavigationError, match=r"faces \d+ and \d+ belong to a one-sided surface"):
        repaired(np.array(rim), np.array(faces))


@pytest.mark.parametrize(
    ("vertices", "faces", "told"),
    [
        (SQUARE, np.zeros((0, 3), dtype=np.int64), "there are no faces"),
        (np.where(SQUARE == 4.0, np.nan, SQUARE), HALVES, "vertex 2 is not a place"),
        (SQUARE, np.array([[0, 1, 9]]), "face 1 names a vertex that does not exist; there are 4"),
        (SQUARE, np.array([[0, 1, 1]]), "no face has an area"),
    ],
)
def test_what_cannot_be_repaired_is_refused(vertices, faces, told):
    with pytest.raises(NavigationError, match=told):
        repaired(vertices, faces)


def test_three_faces_at_one_edge_leave_the_upper_ramp_joined():
    """A floor that runs on below a ramp which begins on it: one goes up the ramp;
    below its low part nobody walks.
    """
    vertices = np.array(
        [[0, 0, 0], [5, 0, 0], [5, 2, 0], [0, 2, 0], [15, 0, 0], [15, 2, 0], [15, 0, 5], [15, 2, 5]],
        dtype=np.float64,
    )
    faces = np.array([[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2], [1, 6, 7], [1, 7, 2]])
    patches = walkable_patches(repaired(vertices, faces))
    first = next(
        patch
        for patch in patches
        if patch.ground.contains_properly(patch.ground.centroid) and patch.ground.bounds[0] == 0.0
    )
    ramp = next(patch for patch in patches if patch.plane.slope[0] > 0.4)
    assert first.sheet == ramp.sheet
    under = [patch for patch in patches if patch.sheet != ramp.sheet]
    # where the ramp is 2 m high
    assert min(patch.ground.bounds[0] for patch in under) == pytest.approx(9.0, abs=1e-5)
