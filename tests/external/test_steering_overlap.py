"""The steering cases under every model: bodies do not overlap by more than 5 cm, and everybody arrives;
exact, and with starts moved by up to 2.5 cm.
"""

import copy

import numpy as np
import pytest

from tests.external.data import need
from tests.external.test_steering_cases import CASES, document
from tests.scenes.test_overlap import MODELS, MOST_M, run_to_the_end


def check(name, model, seed):
    """Seed 0 is the exact case."""
    case = copy.deepcopy(CASES[name])
    rng = np.random.default_rng(seed)
    for agent in case["agents"] if seed else ():
        agent["start"] = (np.array(agent["start"]) + rng.uniform(-0.025, 0.025, 2)).tolist()
    deepest, verdict = run_to_the_end({**document(name, case), "seed": seed + 1}, f"avoidance={model}")
    assert deepest <= MOST_M, (name, seed)
    assert verdict.not_arrived == 0, (name, seed, verdict.left)


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in sorted(CASES)
        if name in {"circle-20", "fan-in", "oncoming-groups", "doorway-one-way", "3-squeeze", "missing"}
    ],
)
def test_the_crowded_cases_leave_no_overlap(name, model):
    need("steering", "cases.json")
    check(name, model, 1)


@pytest.mark.full
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", sorted(CASES))
def test_no_case_leaves_overlap_whatever_the_starts(name, model):
    need("steering", "cases.json")
    for seed in range(11):
        check(name, model, seed)
