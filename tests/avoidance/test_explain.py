"""Explanations: what is told is what the choice was made of, and asking changes nothing."""

import numpy as np
import pytest

from crowdsim.avoidance.explain import REASON_DTYPE, Reason, explain_choices
from crowdsim.avoidance.model import WALL, empty_choice
from crowdsim.avoidance.none import NoAvoidance
from crowdsim.avoidance.orca.orca import Orca
from crowdsim.geometry.walls import walls_from_rings
from crowdsim.kernels.threads import Team
from tests.avoidance.crowds import random_view

ONE = Team(1)


def explained(seed, density=1.5, n=150, **parameters):
    view = random_view(seed, n, density=density)
    model, choice = Orca(Orca.Parameters(**parameters)), empty_choice(n)
    model.choose(view, 0.05, ONE, choice)
    return view, choice, explain_choices(model, view, 0.05, np.arange(n), choice)


@pytest.mark.parametrize("seed", range(4))
def test_orcas_half_planes_explain_its_velocities(seed):
    """Feasible: the velocity keeps all of them, and lies on the boundary of the one that binds it; relaxed:
    it breaks one.
    """
    view, choice, told = explained(seed)
    for row in range(len(view.entity)):
        planes = told[(told["entity"] == view.entity[row]) & (told["kind"] == Reason.HALF_PLANE)]
        assert len(planes) == choice.neighbour_count[row]
        slack = (choice.velocity[row, 0] - planes["x"]) * planes["a_x"] + (
            choice.velocity[row, 1] - planes["y"]
        ) * planes["a_y"]
        assert np.allclose(slack, planes["value"], atol=1e-5)
        assert np.allclose(np.hypot(planes["a_x"], planes["a_y"]), 1.0, atol=1e-5)
        if choice.diagnosis[row] == 1:
            assert slack.min(initial=0.0) > -1e-4
        else:
            assert slack.min() < -1e-5
        binding = planes[planes["binds"] == 1]
        assert len(binding) == (choice.blocker[row] != 0)
        if len(binding):
            assert binding["other"][0] == choice.blocker[row]
            if choice.diagnosis[row] == 1:
                assert abs(binding["value"][0]) < 1e-4


@pytest.mark.parametrize("wanted", [4, 20])
def test_half_planes_of_walls_are_told_before_those_of_neighbours(wanted):
    """With four neighbours agents are solved in groups, with twenty each alone."""
    room = np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 6.0], [0.0, 6.0]])
    view = random_view(5, 80, density=80 / 36, walls=walls_from_rings([room]))
    model, choice = Orca(Orca.Parameters(neighbour_count=wanted, time_horizon_walls=1.0)), empty_choice(80)
    model.choose(view, 0.05, ONE, choice)
    told, of_walls = explain_choices(model, view, 0.05, np.arange(80), choice), set()
    for row in range(80):
        planes = told[(told["entity"] == view.entity[row]) & (told["kind"] == Reason.HALF_PLANE)]
        walls = int((planes["other"] == WALL).sum())
        assert (planes["other"][:walls] == WALL).all()
        assert len(planes) - walls == choice.neighbour_count[row]
        # the normal of a wall's half-plane leads into the room
        middle = np.array([3.0, 3.0]) - view.position[row]
        assert (planes["a_x"][:walls] * middle[0] + planes["a_y"][:walls] * middle[1] > 0.0).all()
        of_walls.add(walls)
    assert {0, 1, 2} <= of_walls


def test_everybodys_preferred_and_chosen_velocity_is_told_whatever_the_model():
    view, choice = random_view(1, 20), empty_choice(20)
    model = NoAvoidance()
    model.choose(view, 0.05, ONE, choice)
    told = explain_choices(model, view, 0.05, np.array([3, 7]), choice)
    assert (
        told.dtype == REASON_DTYPE and told["entity"].tolist() == [view.entity[3]] * 2 + [view.entity[7]] * 2
    )
    assert told["kind"].tolist() == [Reason.PREFERRED, Reason.CHOSEN] * 2
    assert np.array_equal(told["x"][1::2], choice.velocity[[3, 7], 0]) and np.array_equal(
        told["y"][::2], view.preferred_velocity[[3, 7], 1]
    )


def test_explaining_changes_neither_the_choice_nor_the_next_one():
    view = random_view(9, 100)
    model, other, first, second = Orca(), Orca(), empty_choice(100), empty_choice(100)
    model.choose(view, 0.05, ONE, first)
    reach, kept = view.reach.copy(), [part.copy() for part in first]
    explain_choices(model, view, 0.05, np.arange(100), first)
    assert np.array_equal(reach, view.reach) and all(np.array_equal(a, b) for a, b in zip(kept, first))
    model.choose(view, 0.05, ONE, first)
    other.choose(random_view(9, 100), 0.05, ONE, second)
    assert all(np.array_equal(a, b) for a, b in zip(first, second))


def test_nobody_asked_about_is_nothing_told():
    view, choice = random_view(1, 5), empty_choice(5)
    assert len(explain_choices(Orca(), view, 0.05, np.zeros(0, dtype=np.int64), choice)) == 0
