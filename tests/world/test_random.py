"""Random numbers that depend on nothing but what they are for."""

import math

import numpy as np
import pytest

from crowdsim.world.random import (
    Stream,
    agent_key,
    agent_keys,
    draw_uniform,
    fill_normal,
    fill_uniform,
    natural_log,
    normal_quantile,
    philox,
    uniform01,
)
from tests.reference import random as reference


def test_philox_agrees_with_numpy():
    for seed, stream, key, index in ((0, 1, 2, 3), (7, 2, 99, 5), (2**63, 6, 2**64 - 1, 12345)):
        generator = np.random.Philox(
            key=np.array([seed, 0], dtype=np.uint64),
            counter=np.array([index, stream, key, 0], dtype=np.uint64),
        )
        # numpy counts up before it draws
        state = generator.state
        state["state"]["counter"][0] -= np.uint64(1) if index else np.uint64(0)
        generator.state = state
        assert int(generator.random_raw(1)[0]) == int(
            philox(np.uint64(seed), np.uint64(stream), np.uint64(key), np.uint64(index))
        )


@pytest.mark.parametrize("seed", range(5))
def test_philox_agrees_with_reference(seed):
    rng = np.random.default_rng(seed)
    for words in rng.integers(0, 2**64, (50, 4), dtype=np.uint64):
        assert int(philox(*words)) == reference.philox(*(int(word) for word in words))


def test_uniform01_is_never_0_or_1_and_fills_the_interval_evenly():
    draws = np.array(
        [uniform01(np.uint64(1), np.uint64(2), np.uint64(key), np.uint64(0)) for key in range(20000)]
    )
    assert 0.0 < draws.min() < 1e-3 and 1.0 - 1e-3 < draws.max() < 1.0
    counts, _ = np.histogram(draws, bins=20, range=(0, 1))
    assert np.all(np.abs(counts - 1000) < 5 * math.sqrt(1000))


def test_natural_log_agrees_with_the_library_to_two_units_in_the_last_place():
    for x in np.concatenate([np.logspace(-300, 300, 999), np.linspace(0.5, 2.0, 999)]):
        assert natural_log(x) == pytest.approx(reference.natural_log(x), rel=5e-16, abs=2e-16)


def test_normal_quantile_inverts_the_normal_distribution():
    for p in np.concatenate([np.linspace(1e-9, 1 - 1e-9, 501), [1e-300, 1e-30]]):
        x = normal_quantile(p)
        assert 0.5 * math.erfc(-x / math.sqrt(2.0)) == pytest.approx(p, rel=2e-13)


@pytest.mark.parametrize("seed", range(3))
def test_normal_quantile_agrees_with_reference(seed):
    for p in np.random.default_rng(seed).uniform(0.0, 1.0, 200).tolist() + [
        1e-300,
        1e-12,
        0.075,
        0.925,
        0.5,
        1.0 - 1e-12,
    ]:
        assert normal_quantile(p) == pytest.approx(reference.normal_quantile(p), rel=1e-14, abs=1e-15)


def test_draws_of_an_agent_do_not_depend_on_the_others():
    keys = np.array([agent_key("crowd", i) for i in range(100)], dtype=np.uint64)
    alone = np.array([draw_uniform(3, Stream.SPEED, keys[i : i + 1], 1.0, 2.0)[0] for i in range(100)])
    assert np.array_equal(draw_uniform(3, Stream.SPEED, keys, 1.0, 2.0), alone)
    order = np.random.default_rng(0).permutation(100)
    assert np.array_equal(draw_uniform(3, Stream.SPEED, keys[order], 1.0, 2.0), alone[order])


def test_streams_seeds_and_indices_give_different_numbers():
    keys = np.arange(10, dtype=np.uint64)
    first = draw_uniform(1, Stream.SPEED, keys, 0.0, 1.0)
    for other in (
        draw_uniform(2, Stream.SPEED, keys, 0.0, 1.0),
        draw_uniform(1, Stream.RADIUS, keys, 0.0, 1.0),
        draw_uniform(1, Stream.SPEED, keys, 0.0, 1.0, 1),
    ):
        assert not np.any(first == other)


def test_keys_of_many_agents_are_those_of_each():
    index = np.array([0, 7, 250_000, 999_999])
    for group in ("crowd", "été 7"):
        assert agent_keys(group, index).tolist() == [agent_key(group, each) for each in index.tolist()]


def test_agent_key_takes_the_explicit_id_before_group_and_index():
    assert agent_key("a", 3, 7) == agent_key("b", 5, 7)
    assert agent_key("a", 3) != agent_key("a", 4) != agent_key("b", 4)


def test_fill_uniform_agrees_with_reference():
    keys = np.arange(1, 40, dtype=np.uint64)
    out = np.empty(39)
    fill_uniform(5, 4, keys, 2, -1.0, 3.0, out)
    assert out.tolist() == [reference.uniform(5, 4, int(key), 2, -1.0, 3.0) for key in keys]


def test_fill_normal_keeps_the_cut_offs_and_says_where_it_failed():
    keys = np.arange(20000, dtype=np.uint64)
    out = np.empty(20000)
    assert fill_normal(1, 2, keys, 1.34, 0.26, 0.5, 2.2, out) == 0
    assert out.min() >= 0.5 and out.max() <= 2.2
    assert out.mean() == pytest.approx(1.34, abs=0.01) and out.std() == pytest.approx(0.26, abs=0.01)
    assert fill_normal(1, 2, keys[:3], 0.0, 1.0, 50.0, 51.0, out[:3]) == 3
    assert np.all(np.isnan(out[:3]))


@pytest.mark.parametrize(
    ("mean", "deviation", "low", "high"),
    [(1.34, 0.26, 0.5, 2.2), (0.0, 1.0, 1.5, 2.0), (0.0, 1.0, 60.0, 61.0)],
)
def test_fill_normal_agrees_with_reference(mean, deviation, low, high):
    keys = np.array([agent_key("crowd", i) for i in range(30)], dtype=np.uint64)
    out = np.empty(30)
    failed = fill_normal(7, 3, keys, mean, deviation, low, high, out)
    expected = [reference.normal(7, 3, int(key), mean, deviation, low, high) for key in keys]
    assert out.tolist() == pytest.approx(expected, rel=1e-12, nan_ok=True)
    assert failed == sum(math.isnan(value) for value in expected)
