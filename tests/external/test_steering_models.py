"""The forty steering cases under the other models that claim them;
the terms are those of `test_steering_cases`.
"""

import random

import pytest

from tests.crowds import simulation
from tests.external.data import need
from tests.external.test_steering_cases import CASES, UNBOUND, document, ideal_time

MODELS = ("clearpath", "hrvo")
# Each case under one of the models by default, drawn once, so that all cases are; under the other one in
# full.
DRAWN = {name: random.Random(name).choice(MODELS) for name in CASES}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "model"),
    [
        pytest.param(name, model, marks=() if model == DRAWN[name] else pytest.mark.full)
        for name in sorted(CASES)
        for model in MODELS
    ],
)
def test_everybody_arrives_in_time(name, model):
    need("steering", "cases.json")
    with simulation(document(name, CASES[name]), sets=[f"avoidance={model}"]) as run:
        ideal = ideal_time(run)
        verdict = run.run()
    assert verdict.not_arrived == 0, verdict.left
    if name not in UNBOUND:
        assert verdict.last_arrival_s <= 1.25 * ideal + 1.0
    assert verdict.deepest_overlap_m <= 0.01
