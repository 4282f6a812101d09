"""Integration walks exactly as far as the velocity says, and no agent too fast."""

import numpy as np

from crowdsim.bodies.integrate import integrate
from tests.reference import speed as twin


def test_integrate_agrees_with_reference():
    rng = np.random.default_rng(1)
    position, velocity, speed = (
        rng.uniform(-50.0, 50.0, (80, 2)),
        rng.normal(size=(80, 2)) * 2.0,
        rng.uniform(0.0, 3.0, 80),
    )
    walked, tentative = np.empty((80, 2)), np.empty((80, 2))
    integrate(0, 80, position, velocity, speed, 0.05, walked, tentative)
    expected_walked, expected = twin.integrate(position.tolist(), velocity.tolist(), speed.tolist(), 0.05)
    own, there = velocity.copy(), np.empty((80, 2))
    integrate(0, 80, position, own, speed, 0.05, own, there)
    assert own.tobytes() == walked.tobytes()  # they may be written over the old ones
    assert there.tobytes() == tentative.tobytes()
    assert np.allclose(walked, expected_walked, atol=1e-15)
    assert np.allclose(tentative, expected, atol=1e-14)
    assert (walked[:, 0] ** 2 + walked[:, 1] ** 2 <= speed * speed).all()
    slow = np.hypot(*velocity.T) <= speed
    assert (walked[slow] == velocity[slow]).all()


def test_a_lone_walker_arrives_after_length_over_speed():
    position, velocity = np.zeros((1, 2)), np.array([[1.25, 0.0]])
    walked, tentative = np.empty((1, 2)), np.empty((1, 2))
    for _ in range(160):
        integrate(0, 1, position, velocity, np.array([1.3]), 0.05, walked, tentative)
        position[:] = tentative
    assert abs(position[0, 0] - 10.0) < 1e-12


def test_only_the_rows_asked_for_are_written():
    out = np.full((5, 2), -7.0)
    integrate(1, 3, np.zeros((5, 2)), np.ones((5, 2)), np.full(5, 9.0), 0.5, np.zeros((5, 2)), out)
    assert out[:, 0].tolist() == [-7.0, 0.5, 0.5, -7.0, -7.0]
