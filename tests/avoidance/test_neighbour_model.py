"""What agents show of themselves, and that the way neighbours are looked for changes nothing."""

import numpy as np
import pytest

from crowdsim.avoidance.model import empty_choice
from crowdsim.avoidance.neighbour_model import Columns, Own, pack_agents, unpack_choices
from crowdsim.avoidance.registry import available_models, model_named, origin_of
from tests.avoidance.crowds import random_view
from tests.avoidance.models import choose
from tests.reference import neighbour_model as twin

MODELS = [name for name in available_models() if origin_of(name) is None]


def columns_of(view):
    return Columns(
        view.entity, view.velocity, view.preferred_velocity, view.radius, view.maximum_speed, view.active,
        view.deciding(), view.zone, view.reach,
    )  # fmt: skip


@pytest.mark.parametrize("with_reference", [False, True])
@pytest.mark.parametrize("asks_some", [False, True])
def test_what_is_packed_agrees_with_reference(with_reference, asks_some):
    rng = np.random.default_rng(3)
    view = random_view(3, 50, active=rng.choice([0, 1, 2], size=50), reach=rng.uniform(0.0, 3.0, 50))
    if asks_some:
        view = view._replace(asked=rng.choice([0, 1], size=50).astype(np.uint8))
    side_reference, width = (view.preferred_velocity, 6) if with_reference else (None, 4)
    states, columns = np.full(6 * 50, np.nan, np.float32), columns_of(view)
    own = Own(np.full((50, 8), np.nan), np.full((50, 2), -7))
    fastest = pack_agents(10, 50, view.cells.slot, columns, side_reference, own, states)
    slots = view.cells.slot[10:]
    expected = twin.states(range(10, 50), view.velocity, side_reference, view.radius, view.active)
    expected = np.array(expected, dtype=np.float32)
    assert np.array_equal(states[: 50 * width].reshape(-1, width)[slots], expected)
    assert fastest == np.abs(expected[:, :2]).max()
    for slot, row in zip(slots, range(10, 50), strict=True):
        numbers, ids = twin.own_numbers(row, columns)
        assert own.numbers[slot].tolist() == numbers and own.ids[slot].tolist() == ids
    rest = view.cells.slot[:10]
    assert np.isnan(own.numbers[rest]).all() and (own.ids[rest] == -7).all()
    assert np.isnan(states[: 50 * width].reshape(-1, width)[rest]).all()


def test_what_was_chosen_agrees_with_reference():
    rng = np.random.default_rng(4)
    view, told = random_view(3, 50), rng.normal(size=(50, 8))
    told[:, 2:6] = rng.integers(0, [2**40, 4, 65, 400], size=(50, 4))
    told[:5, 2], told[:, 6] = -1, np.float32(told[:, 6])
    out, reach = empty_choice(50), np.full(50, 9.0, np.float32)
    unpack_choices(10, 50, view.cells.slot, Own(told, np.zeros((50, 2), np.int64)), reach, out)
    expected = np.array(twin.choices(view.cells.slot, told))
    found = np.column_stack(
        [out.velocity, out.blocker, out.diagnosis, out.neighbour_count, out.samples, reach]
    )
    assert np.array_equal(found[10:], expected[10:])
    assert not found[:10, :6].any() and (found[:10, 6] == 9.0).all()


def test_what_agents_choose_by_lies_in_one_line_of_the_cache():
    model = model_named("orca")()
    for capacity in (1, 7, 1000):
        model.prepare(capacity)
        assert model._own.numbers.shape[0] >= capacity and model._own.numbers.ctypes.data % 64 == 0


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("reach", [0.0, 0.3, 1.0, 4.0, np.nan])
def test_how_far_neighbours_were_last_tick_decides_nothing(name, reach):
    expected = choose(name, random_view(4, 150, density=0.6))
    found = choose(name, random_view(4, 150, density=0.6, reach=np.full(150, reach)))
    assert np.array_equal(found.velocity, expected.velocity) and np.array_equal(
        found.neighbour_count, expected.neighbour_count
    )
