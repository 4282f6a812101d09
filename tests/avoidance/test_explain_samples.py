"""What the sampling models tell: every velocity that was tried, with the parts of its penalty,
which are those of the twin.
"""

import math

import numpy as np
import pytest

from crowdsim.avoidance.explain import Reason
from tests.avoidance.crowds import random_view
from tests.avoidance.replay import from_samples, velocity_of
from tests.avoidance.sampling_states import states
from tests.avoidance.test_explain_velocity_obstacles import explained
from tests.avoidance.test_sampled import OWN, crowded_plan
from tests.reference import sampled as twin

KINDS = {
    "sampled-hrvo": ("sampled-hrvo", {}),
    "sampled-hrvo, grid": ("sampled-hrvo", {"sampler": "grid", "grid": 17}),
    "toi": ("toi", {"side": "left"}),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def crowd(walls):
    return (
        crowded_plan(3)
        if walls
        else random_view(2, 60, density=1.5, active=np.random.default_rng(0).random(60) < 0.9)
    )


@pytest.mark.sample(2)
@each_kind
@pytest.mark.parametrize("walls", [False, True])
def test_the_choice_follows_from_the_samples(kind, walls):
    name, parameters = KINDS[kind]
    choice, reasons = explained(crowd(walls), name, **parameters)
    for row, told in reasons.items():
        samples = told[told["kind"] == Reason.SAMPLE]
        assert len(samples) == choice.samples[row] > 0
        parts = sum(samples[part] for part in ("a_x", "a_y", "b_x", "b_y"))
        assert np.allclose(parts, samples["value"], rtol=1e-6, atol=1e-6)
        assert math.dist(from_samples(told), velocity_of(told, Reason.CHOSEN)) < 1e-6
        (best,) = samples[samples["binds"] == 1]
        assert (best["x"], best["y"]) == from_samples(told)


@pytest.mark.sample(2)
@each_kind
@pytest.mark.parametrize("walls", [False, True])
def test_the_parts_are_those_of_the_twin(kind, walls):
    name, parameters = KINDS[kind]
    view, numbers = crowd(walls), twin.Numbers(**OWN[name], side=-1.0 if "side" in parameters else 1.0)
    _, reasons = explained(view, name, **parameters)
    compared, same_hit = 0, 0
    for row, state in states(view, numbers):
        samples = reasons[row][reasons[row]["kind"] == Reason.SAMPLE]
        for sample in samples[:: max(1, len(samples) // 12)]:
            v = (float(sample["x"]), float(sample["y"]))
            assert sample["a_x"] == pytest.approx(
                numbers.weight_preferred * math.dist(v, state.wish) / state.speed, abs=1e-4
            )
            assert sample["a_y"] == pytest.approx(
                numbers.weight_current * math.dist(v, state.velocity) / state.speed, abs=1e-4
            )
            aside = sum(other.aside(v, state.speed) for other in state.neighbours) / max(
                1, len(state.neighbours)
            )
            assert sample["b_x"] == pytest.approx(numbers.weight_side * aside, abs=1e-4)
            urgency, hit = state.urgency(v)
            least, most = (
                numbers.weight_time_to_collision * z / (1.0 + numbers.softening * z) for z in (1.0, urgency)
            )
            # what is grazed is hit or not by rounding
            assert sample["b_y"] == pytest.approx(most, abs=5e-3) or abs(sample["b_y"] - least) < 1e-3
            expected = 0 if hit is None else getattr(hit, "entity", 0) or -1
            same_hit += sample["other"] == expected
            compared += 1
    assert same_hit > 0.98 * compared > 300


def test_nobody_is_run_into_where_nobody_is():
    choice, reasons = explained(random_view(1, 1), "sampled-hrvo")
    (told,) = reasons.values()
    samples = told[told["kind"] == Reason.SAMPLE]
    assert (samples["other"] == 0).all() and choice.samples[0] == len(samples)
    assert samples["b_y"] == pytest.approx(2.5 / 1.1) and samples["b_x"] == pytest.approx(0.0)
