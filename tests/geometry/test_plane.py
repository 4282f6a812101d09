"""Predicates never err where they say to be sure; distances and angles agree with exact arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.geometry import plane
from tests.reference import plane as twin

# Whole numbers make collinear and cocircular cases likely; their tiny multiples and offsets make them hard.
small = st.integers(-6, 6).map(float)
hard = st.builds(
    lambda k, e, o: k * 2.0**-e + o,
    st.integers(-9, 9),
    st.integers(0, 50),
    st.sampled_from([0.0, 1.0, 5e6, 1e7]),
)
# The twin's distances of less than the root of the smallest number are 0.
not_tiny = st.floats(-100.0, 100.0).map(lambda x: x if abs(x) > 1e-100 else 0.0)
coordinate = st.one_of(small, hard, st.floats(-1e7, 1e7))


@settings(max_examples=400, deadline=None)
@given(st.lists(coordinate, min_size=6, max_size=6))
def test_a_sure_left_turn_is_one_and_a_clear_one_is_seen(p):
    exact = twin.orientation(*p)
    if plane.turns_left_for_sure(*p):
        assert exact > 0
    size = abs(p[2] - p[0]) * abs(p[5] - p[1]) + abs(p[3] - p[1]) * abs(p[4] - p[0])
    if exact > 1e-14 * size and size > 1e-290:  # below, products underflow to nothing and no sign is sure
        assert plane.turns_left_for_sure(*p)
    assert plane.orientation(*p) == pytest.approx(float(exact), abs=1e-15 * size + 1e-300)


@settings(max_examples=400, deadline=None)
@given(st.lists(coordinate, min_size=8, max_size=8))
def test_a_point_that_is_in_a_circle_for_sure_is_in_it(p):
    if plane.in_circle_for_sure(*p):
        assert twin.in_circle(*p) > 0


def test_cocircular_points_are_never_in_the_circle_for_sure():
    for scale in (1.0, 0.1, 1e-5, 1e6):
        ring = [
            (3 * scale, 4 * scale),
            (-4 * scale, 3 * scale),
            (-3 * scale, -4 * scale),
            (4 * scale, -3 * scale),
        ]
        for k in range(4):
            a, b, c, d = (ring[(k + i) % 4] for i in range(4))
            assert not plane.in_circle_for_sure(*a, *b, *c, *d)
            assert plane.in_circle_for_sure(*a, *b, *c, 0.999 * d[0], 0.999 * d[1])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(small, st.floats(-100.0, 100.0)), min_size=8, max_size=8))
def test_distances_agree_with_exact_arithmetic(p):
    assert plane.distance_to_segment(*p[:6]) == pytest.approx(
        twin.distance_to_segment(*p[:6]), rel=1e-9, abs=1e-9
    )
    assert plane.segments_apart(*p) == pytest.approx(twin.segments_apart(*p), rel=1e-9, abs=1e-7)
    x, y = plane.nearest_on_segment(*p[:6])
    ex, ey = twin.nearest_on_segment(*p[:6])
    length = math.hypot(p[4] - p[2], p[5] - p[3])
    if length == 0.0 or length > 1e-3:
        assert math.hypot(x - float(ex), y - float(ey)) <= 1e-9


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(small, not_tiny), min_size=8, max_size=8),
    st.one_of(st.just(0.0), st.floats(0.0, 150.0)),
)
def test_segments_are_beyond_a_distance_only_where_they_are(p, distance):
    apart = float(twin.segments_apart(*p))
    if plane.are_beyond(*p, distance):
        assert apart > distance
    assert not plane.are_beyond(*p, max(apart, 1e-9))
    assert not plane.are_beyond(*p, max(plane.segments_apart(*p), 1e-9))


def test_most_segments_that_are_far_apart_are_told():
    rng = np.random.default_rng(0)
    drawn = rng.uniform(-1.0, 1.0, (2000, 8))
    far = [p for p in drawn if plane.segments_apart(*p) > 0.3]
    told = [p for p in drawn if plane.are_beyond(*p, 0.3)]
    assert 0.7 * len(far) < len(told) <= len(far)


def test_segments_that_cross_or_touch_are_no_distance_apart():
    assert plane.segments_apart(0.0, 0.0, 2.0, 2.0, 0.0, 2.0, 2.0, 0.0) == 0.0
    assert plane.segments_apart(0.0, 0.0, 2.0, 0.0, 1.0, 0.0, 1.0, 5.0) == 0.0
    assert plane.segments_apart(0.0, 0.0, 2.0, 0.0, 1.0, 0.0, 3.0, 0.0) == 0.0
    assert plane.segments_apart(0.0, 0.0, 2.0, 0.0, 3.0, 0.0, 5.0, 0.0) == 1.0
    assert plane.segments_apart(0.0, 0.0, 0.0, 0.0, 3.0, 4.0, 3.0, 4.0) == 5.0


def test_arc_tangents_are_right_to_four_units_in_the_last_place():
    for x in [0.0, 1e-300, 1e-9, *np.linspace(0.0, 3.0, 1001), *np.logspace(0, 300, 301), 1.7e308]:
        value, exact = plane.arc_tangent(float(x)), twin.arc_tangent(float(x))
        assert (
            abs(value - exact) <= 4 * math.ulp(exact)
            if exact > 1e-290
            else value == pytest.approx(exact, abs=1e-300)
        )


@pytest.mark.parametrize("degrees", [0.0, 1e-7, 0.5, 30.0, 89.999, 90.0, 120.0, 179.9999, 180.0])
def test_angles_between_directions_are_what_they_were_made_of(degrees):
    angle = math.radians(degrees)
    for turn in (0.3, 2.0, 4.5):
        value = plane.angle_between(
            math.cos(turn), math.sin(turn), math.cos(turn + angle), math.sin(turn + angle)
        )
        assert value == pytest.approx(angle, abs=5e-16 * 8)
        assert value == pytest.approx(
            twin.angle_between(
                math.cos(turn), math.sin(turn), math.cos(turn + angle), math.sin(turn + angle)
            ),
            abs=4e-15,
        )
