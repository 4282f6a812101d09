"""HRVO against its naive twin, and in scenes with known answers."""

import numpy as np
import pytest

from crowdsim.avoidance.model import FEASIBLE, RELAXED, WALL
from crowdsim.geometry.walls import walls_from_rings
from tests.avoidance.crowds import random_view, view_of
from tests.avoidance.models import as_dicts, choose
from tests.reference import hrvo as twin

EXACT = {"side_pull": 0.0}


@pytest.mark.parametrize("apex", ["paper", "library"])
@pytest.mark.parametrize("seed", range(4))
def test_hrvo_agrees_with_reference(seed, apex):
    rng = np.random.default_rng(seed)
    view = random_view(seed, 80, density=[0.05, 0.3, 0.8, 1.5][seed], active=rng.uniform(size=80) > 0.1)
    out, agents = choose("hrvo", view, apex=apex, **EXACT), as_dicts(view)["agents"]
    apart = []
    for row in np.flatnonzero(view.active):
        velocity, free = twin.hrvo(agents, int(row), 10, 5.0, 0.05, apex)
        assert (out.diagnosis[row] == FEASIBLE) == free
        if twin.keeps_nearest(agents, int(row), 5.0, 0.05, apex):
            apart.append(np.abs(out.velocity[row] - velocity).max())
    assert len(apart) > 40
    # elsewhere two candidates are equally near, or float32 closes a sliver
    assert np.mean(np.array(apart) < 1e-4) >= 0.97
    assert np.median(apart) < 1e-6


def test_an_agent_that_passes_on_the_right_leaves_the_other_half_of_the_left_leg_only():
    # The obstacle of one that stands is not shared; a mover's is, on the side where one goes: the swerve
    # before a mover is half of that before one that stands.
    still = view_of(
        [[0.0, 0.0], [4.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]], [[1.0, -0.01], [0.0, 0.0]], active=[1, 0]
    )
    whole = choose("hrvo", still, **EXACT).velocity[0]
    assert whole[1] < 0.0
    sine = 0.1  # 0.4 m over 4 m
    assert -whole[1] / whole[0] == pytest.approx(sine / np.sqrt(1.0 - sine**2), rel=1e-5)  # along the leg
    shared = choose("hrvo", still._replace(active=np.ones(2, np.uint8)), **EXACT).velocity[0]
    assert shared[1] == pytest.approx(whole[1] / 2.0, rel=0.1)


def test_cones_are_endless():
    view = view_of([[0.0, 0.0], [40.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]])
    assert choose("hrvo", view, neighbour_distance=50.0, **EXACT).blocker.tolist() == [2, 1]
    assert choose("hrvo", view, **EXACT).blocker.tolist() == [0, 0]  # farther than is looked


def test_where_nothing_is_permitted_the_farthest_neighbours_give_way_first():
    angle = 2.0 * np.pi * np.arange(8) / 8
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) * np.linspace(0.6, 1.2, 8)[:, None]
    view = view_of([[0.0, 0.0], *ring], [[0.0, 0.0], *(-ring)], [[1.0, 0.2], *(-ring)])
    out, agents = choose("hrvo", view, **EXACT), as_dicts(view)["agents"]
    assert out.diagnosis[0] == RELAXED
    cones = [twin.cone(agents[0], agents[i], 0.05) for i in range(1, 9)]
    broken = [i for i, one in enumerate(cones) if twin.depth(one, tuple(out.velocity[0])) > 1e-5]
    assert broken and min(broken) >= 2
    for fewer in range(1, 8):  # the longest run of nearest neighbours that leaves a velocity is kept
        _, free = twin.choose(cones[:fewer], 1.34, (1.0, 0.2))
        assert free == (fewer <= min(broken))


def test_an_agent_that_the_nearest_alone_leaves_nothing_moves_away_from_it():
    view = view_of([[0.0, 0.0], [0.2, 0.0]], np.zeros((2, 2)), [[1.0, 0.0], [-1.0, 0.0]])
    out = choose("hrvo", view, **EXACT)
    assert out.diagnosis.tolist() == [RELAXED, RELAXED]
    assert out.velocity[0, 0] < -1.0
    assert out.velocity[1, 0] > 1.0


def test_walls_are_kept():
    room = walls_from_rings([np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])])
    out = choose("hrvo", view_of([[3.5, 2.0]], [[1.0, 0.0]], [[1.2, 0.3]], walls=room), **EXACT)
    assert out.velocity[0] == pytest.approx([(0.5 - 0.2) / 0.4, 0.3], abs=1e-6)
    assert out.blocker.tolist() == [WALL]


def test_the_library_s_slip_is_not_mirrored_and_the_paper_s_cone_is():
    view = view_of([[0.0, 0.0], [3.0, 0.4]], [[1.2, 0.2], [-1.0, 0.3]], [[1.2, 0.0], [-1.0, 0.1]])
    mirror = np.array([1.0, -1.0])
    other = view_of(view.position * mirror, view.velocity * mirror, view.preferred_velocity * mirror)
    for apex, same in (("paper", True), ("library", False)):
        first, second = (
            choose("hrvo", one, apex=apex, side=side, **EXACT).velocity
            for one, side in ((view, "right"), (other, "left"))
        )
        assert bool((first == second * mirror).all()) is same
