"""Speed limits hold exactly and leave everything else alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crowdsim.geometry.speed import limit_speed, limited
from tests.reference import speed as twin

component = st.floats(-1e150, 1e150)


@given(component, component, st.floats(0.0, 1e3))
def test_limited_never_exceeds_the_limit_and_agrees_with_reference(vx, vy, speed):
    x, y = limited(vx, vy, speed)
    assert x * x + y * y <= speed * speed
    expected = twin.limited(vx, vy, speed)
    assert np.allclose((x, y), expected, rtol=1e-12, atol=1e-150)


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_limited_leaves_slow_velocities_alone(vx, vy):
    assert limited(vx, vy, 1.5) == (vx, vy)


def test_limited_keeps_huge_velocities_finite():
    assert np.allclose(limited(1e308, 1e308, 2.0), (2.0**0.5, 2.0**0.5))


def test_limit_speed_agrees_with_reference_and_stops_those_that_are_not_active():
    rng = np.random.default_rng(2)
    velocity, speed, active = (
        rng.normal(size=(50, 2)),
        rng.uniform(0.0, 2.0, 50),
        rng.integers(0, 2, 50).astype(np.uint8),
    )
    out = np.full((50, 2), 9.0)
    limit_speed(0, 50, velocity, speed, active, out)
    assert np.allclose(out, twin.limit_speed(velocity.tolist(), speed.tolist(), active.tolist()), atol=1e-15)
    assert (out[active == 0] == 0.0).all()
