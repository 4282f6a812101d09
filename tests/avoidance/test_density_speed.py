"""Weidmann's relation: the exponential, the density that is measured, and that nothing depends on rows,
mirrors or threads.
"""

import math

import numpy as np
import pytest

from crowdsim.avoidance.density_speed import PLACES, SpeedLaw, Weidmann, decay, weidmann_share
from crowdsim.geometry.walls import no_walls, walls_from_rings
from crowdsim.kernels.threads import Team
from tests.avoidance.crowds import view_of
from tests.reference import density_speed as twin

ROOM = np.array([[0.0, 0.0], [12.0, 0.0], [12.0, 1.8], [0.0, 1.8]])
BAR = np.array([[5.0, 0.5], [5.0, 1.2], [5.1, 1.2], [5.1, 0.5]])  # clockwise: free ground is outside


def slowed(position, wanted, *, walls=None, team=None, layer=None, walking=None, **parameters):
    """Return the preferred velocities and densities of a crowd."""
    view = view_of(position, wanted, wanted, walls=walls, layer=layer)
    walking = np.ones(len(view.entity), np.uint8) if walking is None else walking
    out, density = np.full((len(view.entity), 2), np.nan), np.full(len(view.entity), np.nan)
    law = SpeedLaw(Weidmann(**parameters))
    law.apply(
        view.cells, view.walls, view.zone, view.preferred_velocity, walking, team or Team(1), out, density
    )
    return out, density


def crowd(seed, n=80, width=12.0, height=1.8):
    rng = np.random.default_rng(seed)
    return rng.uniform([0.05, 0.05], [width - 0.05, height - 0.05], (n, 2)), rng.normal(0.0, 1.0, (n, 2))


@pytest.mark.parametrize("x", [0.0, 1e-300, 1e-9, 0.1, 0.34657359, 0.5, 1.0, 3.0, 30.0, 300.0, 700.0])
def test_the_exponential_is_the_exponential(x):
    assert decay(x) == pytest.approx(math.exp(-x), rel=1e-15)


def test_the_exponential_of_many_numbers_and_of_those_that_are_too_large():
    for x in np.random.default_rng(1).uniform(0.0, 60.0, 2000):
        assert decay(x) == pytest.approx(math.exp(-x), rel=1e-15)
    assert decay(708.0) == 0.0 and decay(math.inf) == 0.0 and decay(math.nan) == 0.0


def test_weidmanns_table():
    for density in np.linspace(0.05, 7.0, 300):
        assert weidmann_share(density, 1.913, 5.4, 0.1) == pytest.approx(
            twin.weidmann_share(density), rel=1e-14
        )
    # read off Weidmann's figure
    assert 1.34 * weidmann_share(2.0, 1.913, 5.4, 0.1) == pytest.approx(0.61, abs=0.01)
    assert weidmann_share(0.0, 1.913, 5.4, 0.1) == 1.0 and weidmann_share(9.0, 1.913, 5.4, 0.1) == 0.1


def test_the_places_have_the_weight_of_the_disc():
    """Rings of equal weight under 1 - r^2: the share within r is 2 r^2 - r^4."""
    radii = sorted({round(math.hypot(*place), 6) for place in PLACES})
    assert [2 * r * r - r**4 for r in radii] == pytest.approx([1 / 6, 3 / 6, 5 / 6], abs=1e-5)
    assert len(PLACES) == 24 and {(-x, y) for x, y in PLACES} == set(PLACES) == {(y, x) for x, y in PLACES}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("walled", [False, True])
def test_densities_agree_with_the_twin(seed, walled):
    position, wanted = crowd(seed)
    layer = (np.arange(len(position)) % 3 == 0).astype(np.int32)
    walls = walls_from_rings([ROOM, BAR]) if walled else no_walls()
    ends = list(zip(walls.start.tolist(), walls.end.tolist()))
    parameters = (
        {"radius": 1.0, "ahead": 1.5}
        if seed % 2
        else {"radius": 1.3, "ahead": 0.4, "press_radius": 0.6, "press_ahead": 0.5, "press_from": 1.0}
    )
    out, density = slowed(position, wanted, walls=walls, layer=layer, **parameters)
    for row in range(len(position)):
        expected = twin.felt_density(
            row, position.tolist(), layer, wanted.tolist(), ends, Weidmann(**parameters)
        )
        assert density[row] == pytest.approx(expected, rel=1e-7, abs=1e-8)
        assert np.allclose(out[row], wanted[row] * twin.weidmann_share(expected), rtol=1e-6)


def test_an_even_crowd_has_its_density_and_the_walls_of_a_corridor_do_not_thin_it_out():
    spacing = 0.6
    grid = np.stack(
        np.meshgrid(np.arange(0.3, 12.0, spacing), np.arange(0.3, 1.8, spacing)), axis=-1
    ).reshape(-1, 2)
    _, density = slowed(grid, np.tile([1.0, 0.0], (len(grid), 1)), walls=walls_from_rings([ROOM]))
    inside = (grid[:, 0] > 1.0) & (grid[:, 0] < 9.0)
    assert density[inside].mean() == pytest.approx(1.0 / spacing**2, rel=0.1)
    _, unwalled = slowed(grid, np.tile([1.0, 0.0], (len(grid), 1)))
    assert unwalled[inside].mean() < 0.85 / spacing**2


def test_a_press_right_before_an_agent_slows_it_down_where_the_ground_ahead_is_empty():
    """As behind a narrow door: nobody stands 2 m ahead, four stand shoulder to
    shoulder within half a metre.
    """
    position = np.array([[0.0, 0.0], [0.45, 0.1], [0.5, -0.3], [0.3, 0.4], [0.35, -0.45]])
    wanted = np.tile([1.0, 0.0], (5, 1))
    out, density = slowed(position, wanted)
    assert density[0] > 0.2 and out[0, 0] < 1.0
    assert density[0] == pytest.approx(0.3 / 0.6 * slowed(position, wanted, press_share=0.6)[1][0])
    assert slowed(position, wanted, press_share=0.0)[1][0] == 0.0
    assert slowed(position, wanted, press_from=12.0)[1][0] == 0.0
    assert slowed(position, wanted, press_radius=0.3, press_ahead=0.0)[1][0] == 0.0
    assert slowed(position, wanted, press_ahead=3.0)[1][0] == 0.0


def test_the_crowd_in_the_next_room_does_not_count():
    position = np.array([[4.0, 0.85], [5.6, 0.8], [5.6, 0.9], [5.5, 0.85]])
    out, density = slowed(position, np.tile([1.0, 0.0], (4, 1)), walls=walls_from_rings([ROOM, BAR]))
    assert density[0] == 0.0 and out[0, 0] == 1.0
    assert slowed(position, np.tile([1.0, 0.0], (4, 1)), walls=walls_from_rings([ROOM]))[1][0] > 0.5


def test_one_that_is_alone_stands_or_is_driven_keeps_its_velocity_bit_for_bit():
    position, wanted = crowd(3)
    walking = np.zeros(len(position), np.uint8)
    assert np.array_equal(slowed(position, wanted, walking=walking)[0], wanted)
    assert np.array_equal(slowed(position[:1], wanted[:1])[0], wanted[:1])
    assert np.array_equal(slowed(position, np.zeros_like(wanted))[0], np.zeros_like(wanted))


@pytest.mark.parametrize("seed", range(4))
def test_neither_threads_nor_mirrors_nor_turns_nor_the_order_of_rows_change_a_bit(seed, monkeypatch):
    position, wanted = crowd(seed, 600, 40.0, 12.0)
    position -= position.mean(axis=0)
    out, density = slowed(position, wanted)
    team = Team(3)
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
    assert np.array_equal(slowed(position, wanted, team=team)[0], out)
    assert np.array_equal(slowed(position * [1, -1], wanted * [1, -1])[0], out * [1, -1])
    turned = slowed(
        np.stack([-position[:, 1], position[:, 0]], 1), np.stack([-wanted[:, 1], wanted[:, 0]], 1)
    )[0]
    assert np.array_equal(turned, np.stack([-out[:, 1], out[:, 0]], 1))
    order = np.random.default_rng(seed).permutation(len(position))
    assert np.array_equal(slowed(position[order], wanted[order])[1], density[order])
