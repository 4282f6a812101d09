"""What agents show of themselves, and that the way neighbours are looked for changes nothing."""

import numpy as np
import pytest

from crowdsim.avoidance.neighbour_model import gather_states
from crowdsim.avoidance.registry import available_models, origin_of
from tests.avoidance.crowds import random_view
from tests.avoidance.models import choose
from tests.reference import neighbour_model as twin

MODELS = [name for name in available_models() if origin_of(name) is None]


@pytest.mark.parametrize("with_reference", [False, True])
def test_states_agree_with_reference(with_reference):
    view = random_view(3, 50, active=np.random.default_rng(3).choice([0, 1, 2], size=50))
    side_reference = view.preferred_velocity if with_reference else None
    out, entities = np.full(6 * 50, np.nan, np.float32), np.zeros(50, np.int64)
    fastest = gather_states(
        10,
        50,
        view.cells,
        view.entity,
        view.velocity,
        side_reference,
        view.radius,
        view.active,
        entities,
        out,
    )
    expected = np.array(
        twin.states(view.cells.row, view.velocity, side_reference, view.radius, view.active), dtype=np.float32
    )
    width = 6 if with_reference else 4
    assert np.array_equal(out[10 * width : 50 * width].reshape(-1, width), expected[10:])
    assert np.isnan(out[: 10 * width]).all() and np.isnan(out[50 * width :]).all()
    assert fastest == np.abs(expected[10:, :2]).max()
    assert not entities[:10].any() and np.array_equal(entities[10:], view.entity[view.cells.row[10:]])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("reach", [0.0, 0.3, 1.0, 4.0, np.nan])
def test_how_far_neighbours_were_last_tick_decides_nothing(name, reach):
    expected = choose(name, random_view(4, 150, density=0.6))
    found = choose(name, random_view(4, 150, density=0.6, reach=np.full(150, reach)))
    assert np.array_equal(found.velocity, expected.velocity) and np.array_equal(
        found.neighbour_count, expected.neighbour_count
    )
