"""Distributions: what they mean, what is refused, and that draws depend on seed and identity alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crowdsim.scenario.distributions import WEIDMANN_SPEED, Distribution, number
from crowdsim.setup.draws import draw_distribution, exponential, exponentials, logarithms
from crowdsim.world.random import Stream
from tests.reference import draws as naive
from tests.scenario.worlds import load, problems_of, with_line

KEYS = np.random.default_rng(3).integers(0, 2**63, 20_000, dtype=np.uint64)


def speed(text: str) -> Distribution:
    return load(with_line("groups", f"[{{name: g, count: 1, speed: {text}}}]")).groups[0].speed


def premovement(text: str) -> Distribution:
    return load(with_line("groups", f"[{{name: g, count: 1, premovement: {text}}}]")).groups[0].premovement


@pytest.mark.parametrize(
    "x", [0.0, 1.0, -1.0, 0.3466, 0.34658, -0.3466, 10.0, -20.0, 1e-9, 50.0, 123.456, -300.0]
)
def test_exponential_agrees_with_exact_fractions(x: float) -> None:
    assert exponential(x) == pytest.approx(naive.exponential(x), rel=5e-16)


def test_exponential_agrees_with_the_c_library_to_its_last_digits() -> None:
    for x in np.linspace(-700.0, 700.0, 5001):
        assert exponential(x) == pytest.approx(math.exp(x), rel=1e-15)


def test_exponentials_hold_values_within_bounds() -> None:
    values = np.linspace(-3.0, 3.0, 101)
    found = values.copy()
    exponentials(found, 0.1, 10.0)
    assert found == pytest.approx(naive.exponentials(values.tolist(), 0.1, 10.0), rel=1e-14)
    assert found.min() == 0.1
    assert found.max() == 10.0


def test_defaults_are_filled_in() -> None:
    assert speed("{normal: {mean: 1.3, sd: 0.1}}") == Distribution(
        "normal", 1.3 - 3.0 * 0.1, 1.3 + 3.0 * 0.1, 1.3, 0.1
    )
    assert speed("{choice: {values: [1, 2]}}") == Distribution(
        "choice", 1.0, 2.0, 0.0, 0.0, (1.0, 2.0), (1.0, 1.0)
    )
    low_high = premovement("{lognormal: {mu: 3, sigma: 0.5}}")
    assert (low_high.low, low_high.high) == pytest.approx((math.exp(1.5), math.exp(4.5)), rel=1e-8)
    assert load(with_line("groups", "[{name: g, count: 1}]")).groups[0].speed == WEIDMANN_SPEED


@pytest.mark.parametrize(
    ("distribution", "mean", "deviation"),
    [
        (number(1.5), 1.5, 0.0),
        (Distribution("uniform", 10.0, 100.0), 55.0, 90.0 / math.sqrt(12.0)),
        (Distribution("normal", -10.0, 10.0, 1.34, 0.26), 1.34, 0.26),
        (
            Distribution("lognormal", 0.0, 1e9, 1.0, 0.25),
            math.exp(1.0 + 0.25**2 / 2),
            math.sqrt((math.exp(0.25**2) - 1.0) * math.exp(2.0 + 0.25**2)),
        ),
        (
            Distribution("choice", 0.2, 0.4, 0.0, 0.0, (0.2, 0.4), (95.0, 5.0)),
            0.21,
            0.2 * math.sqrt(0.95 * 0.05),
        ),
    ],
)
def test_draws_have_the_mean_and_deviation_of_their_distribution(
    distribution: Distribution, mean: float, deviation: float
) -> None:
    found = draw_distribution(distribution, 1, int(Stream.SPEED), KEYS)
    margin = 4.0 * deviation / math.sqrt(len(KEYS))
    assert found.mean() == pytest.approx(mean, abs=margin + 1e-12)
    assert found.std() == pytest.approx(deviation, rel=0.05, abs=1e-12)


@pytest.mark.parametrize(
    "distribution",
    [
        Distribution("uniform", 0.2, 0.25),
        WEIDMANN_SPEED,
        Distribution("lognormal", 5.0, 20.0, 3.0, 1.0),
        Distribution("normal", 1.3, 1.4, 1.0, 0.3),
    ],
)
def test_no_draw_lies_outside_the_cut_offs(distribution: Distribution) -> None:
    found = draw_distribution(distribution, 1, int(Stream.SPEED), KEYS)
    assert found.min() >= distribution.low
    assert found.max() <= distribution.high


def test_weights_decide_how_often_each_value_comes_and_none_comes_without_weight() -> None:
    found = draw_distribution(
        Distribution("choice", 1.0, 3.0, 0.0, 0.0, (1.0, 2.0, 3.0), (0.0, 3.0, 1.0)), 1, 2, KEYS
    )
    values, counts = np.unique(found, return_counts=True)
    assert values.tolist() == [2.0, 3.0]
    assert counts[0] / len(KEYS) == pytest.approx(0.75, abs=0.015)


@pytest.mark.parametrize(
    "distribution",
    [Distribution("uniform", 0.0, 1.0), WEIDMANN_SPEED, Distribution("lognormal", 1.0, 100.0, 3.0, 0.5)],
)
def test_a_draw_depends_on_the_key_alone_and_not_on_what_else_is_drawn(distribution: Distribution) -> None:
    whole = draw_distribution(distribution, 1, 2, KEYS[:500])
    order = np.random.default_rng(0).permutation(500)
    assert np.array_equal(draw_distribution(distribution, 1, 2, KEYS[:500][order]), whole[order])
    assert np.array_equal(draw_distribution(distribution, 1, 2, KEYS[100:101]), whole[100:101])
    assert not np.isclose(draw_distribution(distribution, 2, 2, KEYS[:500]), whole).any()
    assert not np.isclose(draw_distribution(distribution, 1, 3, KEYS[:500]), whole).any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "is 0 m/s, but must be above 0 m/s"),
        ("51", "is 51 m/s, but may be at most 50 m/s"),
        ("{uniform: {low: 1, high: 60}}", "can be as high as 60 m/s, but may be at most 50 m/s"),
        ("{uniform: {low: 2, high: 1}}", "low is 2 m/s, but high is 1 m/s: nothing lies between them"),
        ("{uniform: {low: 1, high: 1}}", "low is 1 m/s, but high is 1 m/s: nothing lies between them"),
        ("{normal: {mean: 1, sd: 0.5}}", "can be as low as -0.5 m/s, but must be above 0 m/s"),
        (
            "{normal: {mean: 1, sd: 0.1, low: 1.3, high: 2}}",
            "the cut-offs 1.3 to 2 m/s keep 0.13% of the draws of mean 1 and sd 0.1",
        ),
        (
            "{lognormal: {mu: 0, sigma: 0.1, low: 9, high: 10}}",
            "the cut-offs 9 to 10 m/s keep next to none of the draws of mu 0 and sigma 0.1",
        ),
        ("{choice: {values: [1, 2], weights: [1]}}", "2 values, but 1 weight"),
        ("{choice: {values: [1, 2], weights: [0, 0]}}", "all weights are 0"),
        ("{choice: {values: [1, -2]}}", "can be as low as -2 m/s, but must be above 0 m/s"),
    ],
)
def test_distributions_that_make_no_sense_are_refused_with_the_numbers(text: str, message: str) -> None:
    assert problems_of(with_line("groups", f"[{{name: g, count: 1, speed: {text}}}]")) == [
        f"t.yaml:4:37: groups[0].speed: {message}"
    ]


def test_the_share_that_cut_offs_keep_is_that_of_the_bell_curve() -> None:
    assert Distribution("normal", -1.0, 1.0, 0.0, 1.0).share_kept() == pytest.approx(0.6826894921)
    assert Distribution("lognormal", 1.0, math.e, 0.0, 1.0).share_kept() == pytest.approx(0.3413447461)
    assert Distribution("lognormal", 0.0, math.e, 0.0, 1.0).share_kept() == pytest.approx(0.8413447461)
    assert Distribution("uniform", 0.0, 1.0).share_kept() == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "1.2",
        "{uniform: {low: 1, high: 2}}",
        "{normal: {mean: 1.3, sd: 0.1}}",
        "{lognormal: {mu: 0, sigma: 0.2}}",
        "{choice: {values: [1, 2], weights: [3, 1]}}",
    ],
)
def test_a_distribution_that_is_written_out_is_read_back_as_it_was(text: str) -> None:
    import json

    first = speed(text)
    assert speed(json.dumps(first.data())) == first


def test_logarithms_are_exponential_deviates_within_bounds() -> None:
    values = np.linspace(0.0, 0.999, 400)
    found = values.copy()
    logarithms(found, 2.5, 0.1, 10.0)
    assert found == pytest.approx(naive.logarithms(values.tolist(), 2.5, 0.1, 10.0), rel=1e-12)
    assert found[0] == 0.1 and found[-1] == 10.0
