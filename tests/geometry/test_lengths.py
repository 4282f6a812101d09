"""Lengths and products of vectors are the same everywhere, and as exact as the C library's."""

import platform

import numpy as np
import pytest

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.lengths import dots, hypots, lengths_of
from tests.reference import lengths as twin

EDGES = [0.0, -0.0, 5e-324, 1e-310, 1e-160, 2.0**-459, 1.0, 2.0**511, 2.0**512, 1.2e308]


def legs(kind):
    rng = np.random.default_rng(7)
    if kind == "edges":
        return [(a, b) for a in EDGES for b in EDGES if a + b < 1.5e308]
    if kind == "alike":
        x = rng.normal(size=500)
        return list(zip(x, x * (1.0 + rng.choice([0.0, 1e-16, 1e-12, 1e-6], 500)), strict=True))
    return list(
        zip(rng.normal(size=500), rng.normal(size=500) * 10.0 ** rng.uniform(-20, 20, 500), strict=True)
    )


@pytest.mark.parametrize("kind", ["any", "alike", "edges"])
def test_a_length_is_off_by_less_than_a_unit_in_the_last_place(kind):
    for x, y in legs(kind):
        length = hypot(float(x), float(y))
        assert twin.is_within_a_unit(length, x, y, np.spacing(length)), (x, y)


def _glibc():
    name, version = platform.libc_ver()
    return tuple(map(int, version.split(".")[:2])) if name == "glibc" else (0, 0)


@pytest.mark.skipif(_glibc() < (2, 35), reason="the C library has another hypot")
def test_lengths_are_those_that_recordings_were_made_with():
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(2, 200_000))
    y *= 10.0 ** rng.uniform(-4, 1, len(y))
    assert np.array_equal(hypots(x, y), np.hypot(x, y))


@pytest.mark.parametrize("kind", ["any", "alike", "edges"])
def test_arrays_have_the_lengths_of_numbers_whichever_leg_is_which(kind):
    x, y = np.array(legs(kind), dtype=np.float64).T
    expected = [hypot(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    for one, other in ((x, y), (y, x), (-x, y), (y, -x)):
        assert hypots(one, other).tolist() == expected
    assert float(hypots(x[0], y[0])) == expected[0]
    assert hypots(x[:, None], y[:, None]).tolist() == [[each] for each in expected]


@pytest.mark.parametrize("shape", [(40_000,), (3, 20_000), (20_000, 3), (40_000, 1)])
def test_many_lengths_are_those_of_few(shape):
    x, y = np.random.default_rng(3).normal(size=(2, *shape))
    expected = np.reshape(
        [hypots(a, b) for a, b in zip(x.reshape(-1, 20), y.reshape(-1, 20), strict=True)], shape
    )
    assert np.array_equal(hypots(x, y), expected)
    assert np.array_equal(hypots(x.T, y.T), expected.T)
    assert np.array_equal(hypots(x, 2.5), hypots(x, np.full(shape, 2.5)))


def test_what_is_no_number_gives_none():
    assert hypot(np.inf, 1.0) == hypot(-1.0, -np.inf) == hypot(np.inf, np.inf) == np.inf
    assert np.isnan(hypot(np.nan, 1.0)) and np.isnan(hypot(1.0, np.nan))
    assert hypots([np.inf, 1.0], [1.0, -np.inf]).tolist() == [np.inf, np.inf]
    assert np.isnan(hypots([np.nan, 1.0], [1.0, np.nan])).all()


@pytest.mark.parametrize("size", [2, 3, 4])
def test_products_are_summed_from_the_first_to_the_last(size):
    rng = np.random.default_rng(size)
    a, b = rng.normal(size=(2, 200, size))
    expected = [twin.dot(one.tolist(), other.tolist()) for one, other in zip(a, b, strict=True)]
    assert dots(a, b).tolist() == expected
    assert [float(dots(one, other)) for one, other in zip(a, b, strict=True)] == expected
    assert dots(a, b[0]).tolist() == [twin.dot(one.tolist(), b[0].tolist()) for one in a]
    assert lengths_of(a).tolist() == [np.sqrt(twin.dot(one.tolist(), one.tolist())) for one in a]
