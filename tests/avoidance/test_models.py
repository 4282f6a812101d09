"""The registry, and what every model has to keep."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from crowdsim.avoidance.model import FEASIBLE, NOBODY, NOT_ASKED, empty_choice
from crowdsim.avoidance.none import NoAvoidance
from crowdsim.avoidance.registry import (
    UnknownModelError,
    available_models,
    forget,
    model_named,
    origin_of,
    register,
)
from crowdsim.kernels.threads import Team
from tests.avoidance.crowds import random_view

MODELS = tuple(name for name in available_models() if origin_of(name) is None)


def test_models_are_known_by_name():
    assert {"none", "orca"} <= set(MODELS)
    assert model_named("none") is NoAvoidance


def test_an_unknown_model_is_named_with_those_that_exist():
    with pytest.raises(UnknownModelError, match=r"'orcha'.*none, orca"):
        model_named("orcha")


def test_two_models_of_one_name_are_refused():
    class Impostor:
        name: ClassVar[str] = "orca"

    with pytest.raises(ValueError, match=r"two avoidance models are called 'orca'"):
        register(Impostor)


def test_a_model_of_ones_own_runs_by_name():
    @register
    class Statue:
        name: ClassVar[str] = "statue (test)"

        @dataclass(frozen=True)
        class Parameters:
            pass

        def __init__(self, parameters=None):
            self.parameters = parameters or self.Parameters()

        def choose(self, view, tick_length, team, out):
            out.velocity[:] = 0.0

    assert isinstance(model_named("statue (test)")(None), Statue)
    forget("statue (test)")


@pytest.mark.parametrize("name", MODELS)
def test_a_model_overwrites_the_whole_choice_and_leaves_the_view_alone(name):
    view = random_view(3, 100, active=np.random.default_rng(0).integers(0, 2, 100))
    kept = [np.copy(part) for part in view[:9]]
    out = empty_choice(100)
    out.velocity[:], out.diagnosis[:], out.blocker[:], out.neighbour_count[:], out.samples[:] = (
        np.nan,
        99,
        -99,
        -99,
        0,
    )
    model_named(name)().choose(view, 0.05, Team(1), out)
    assert np.isfinite(out.velocity).all()
    assert set(out.diagnosis.tolist()) <= {0, 1, 2, 3}
    assert (out.blocker >= -1).all()
    assert (out.neighbour_count >= 0).all() and (out.samples >= 0).all()
    still = view.active == 0
    assert (out.velocity[still] == 0.0).all()
    assert (out.diagnosis[still] == NOT_ASKED).all()
    for before, after in zip(kept, view[:9], strict=True):
        assert np.array_equal(before, after)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_is_asked_for_some_chooses_for_them_what_it_would_choose_if_asked_for_all(name):
    view = random_view(6, 120, density=1.5)
    asked = np.random.default_rng(1).integers(0, 2, 120).astype(np.uint8)
    whole, part = empty_choice(120), empty_choice(120)
    model_named(name)().choose(view, 0.05, Team(1), whole)
    model_named(name)().choose(
        view._replace(asked=asked, reach=np.full(120, np.inf, np.float32)), 0.05, Team(1), part
    )
    for one, other in zip(whole, part, strict=True):
        assert np.array_equal(one[asked == 1], other[asked == 1])


@pytest.mark.parametrize("name", MODELS)
def test_a_restored_model_goes_on_bit_for_bit(name):
    view = random_view(4, 200, density=2.0)
    one = model_named(name)()
    one.prepare(200)
    first, second = empty_choice(200), empty_choice(200)
    one.choose(view, 0.05, Team(1), first)
    other = model_named(name)()
    other.restore(one.state())
    reach = view.reach.copy()
    one.choose(view, 0.05, Team(1), first)
    other.choose(view._replace(reach=reach), 0.05, Team(1), second)
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_none_keeps_preferred_velocities_up_to_the_maximum_speed():
    view = random_view(5, 50)
    out = empty_choice(50)
    NoAvoidance().choose(view, 0.05, Team(1), out)
    slow = np.hypot(*view.preferred_velocity.T) <= view.maximum_speed
    assert (out.velocity[slow] == view.preferred_velocity[slow]).all()
    assert (np.hypot(*out.velocity[~slow].T) <= view.maximum_speed[~slow]).all()
    assert (out.diagnosis == FEASIBLE).all()
    assert (out.blocker == NOBODY).all()
