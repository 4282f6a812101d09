"""The forty steering cases under the sampling models."""

import numpy as np
import pytest

from tests.crowds import simulation
from tests.external.data import need
from tests.external.test_steering_cases import CASES, UNBOUND, document, ideal_time

MODELS = ("sampled-hrvo", "toi")
SAMPLE = sorted(np.random.default_rng(4).permutation(sorted(CASES))[:8].tolist())
SLOW = {
    (
        "sampled-hrvo",
        "crossing-obstacle",
    ): "two press at the corner of a box: 21.9 s of 19.8 (docs/learn/models.md)"
}


def under_each_model(names):
    """Return models with names of cases as parameters; what is known to be too slow is expected to fail."""
    return [
        pytest.param(
            model,
            name,
            marks=pytest.mark.xfail(reason=SLOW[model, name], strict=True) if (model, name) in SLOW else (),
        )
        for model in MODELS
        for name in names
    ]


def check_case(model, name):
    need("steering", "cases.json")
    with simulation(document(name, CASES[name]), sets=[f"avoidance={model}"]) as run:
        ideal = ideal_time(run)
        verdict = run.run()
    assert verdict.not_arrived == 0, verdict.left
    if name not in UNBOUND:
        assert verdict.last_arrival_s <= 1.25 * ideal + 1.0
    assert verdict.deepest_overlap_m <= 0.05
    share, overlap = verdict.last_arrival_s / ideal, 100 * verdict.deepest_overlap_m
    print(f"{model} {name}: {share:.2f} of the ideal time, overlap {overlap:.1f} cm")  # noqa: T201


@pytest.mark.sample(1)
@pytest.mark.parametrize("model, name", under_each_model(SAMPLE))
def test_everybody_arrives_in_time(model, name):
    check_case(model, name)


@pytest.mark.full
@pytest.mark.parametrize("model, name", under_each_model(sorted(set(CASES) - set(SAMPLE))))
def test_everybody_arrives_in_time_in_the_other_cases(model, name):
    check_case(model, name)
