"""Kernels that ask in one pass which agents do what, beside masks, on columns of whatever they can hold."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from crowdsim.codes import PathStatus
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED, STRAIGHT_TO_GOAL
from crowdsim.navigation.corridor.portal_vertices import VERTEX
from crowdsim.navigation.corridor.walk import Walked
from crowdsim.navigation.tiles.handles import pack
from crowdsim.systems.avoid import NONE_DRIVES, find_active
from crowdsim.systems.nudge import end_steps, find_movable_standing, lead_steps
from crowdsim.systems.paths.corridor_paths import NOWHERE_BARRED, sort_followers
from crowdsim.systems.paths.paths import find_asking
from crowdsim.systems.paths.straighten import find_led_round
from crowdsim.systems.separate import find_movable, take_pushes
from crowdsim.systems.spread import ListEnds, find_straight
from crowdsim.systems.turn import find_gaits
from crowdsim.systems.walk import MOST_STRAYS, Steps, note_steps
from crowdsim.world.columns import AgentColumns, AgentState, Led, Stepping
from crowdsim.world.states import NO_ONE, has_path, on_their_way, standing
from crowdsim.world.world import NO_ROWS
from tests.reference import rows as twin

ROWS = 3000  # some 100 for each state of an agent that any of them tells from others
HALVES = ((0, 1000), (1000, ROWS))


@pytest.fixture(params=range(3))
def crowd(request):
    """Columns at random, and a generator."""
    rng, agents = np.random.default_rng(request.param), AgentColumns()
    agents.append(
        ROWS,
        {
            "entity": np.arange(1, ROWS + 1),
            "activity": rng.integers(0, max(AgentState) + 1, ROWS),
            "path_status": rng.integers(0, max(PathStatus) + 1, ROWS),
            "is_driven": rng.choice([0, 0, 0, *Led], ROWS),
            "is_yielding": rng.choice([0, 0, *Stepping], ROWS),
            "is_immovable": rng.integers(0, 2, ROWS),
            "goal": rng.integers(-1, 2, ROWS),
            "goal_piece": rng.integers(-1, 2, ROWS),
            "group": rng.integers(-1, 3, ROWS),
            "corner_vertex": NOT_CACHED + rng.integers(0, 3, ROWS),
            "preferred_velocity": rng.integers(0, 2, (ROWS, 2)) * rng.normal(size=(ROWS, 2)),
            "position": rng.normal(size=(ROWS, 2)),
            "chosen_velocity": rng.normal(size=(ROWS, 2)),
            "yield_target": rng.normal(size=(ROWS, 2)),
            "yield_tick": rng.integers(80, 110, ROWS),
            "desired_speed": rng.uniform(0.5, 40.0, ROWS),
            "strays": rng.integers(0, MOST_STRAYS + 3, ROWS),
            "corridor_length": rng.integers(0, 5, ROWS),
        },
    )
    return agents, rng


def both(found, expected):
    """Assert that they are equal, and that neither all nor none are found: else it would say little."""
    assert np.array_equal(found, expected)
    assert 0 < np.count_nonzero(expected) < len(expected)


def test_which_walk_stand_and_have_a_path(crowd):
    agents, _ = crowd
    state = agents.activity, agents.is_yielding, agents.is_driven
    both(has_path(agents.path_status), twin.has_path(agents.path_status))
    both(standing(agents), twin.standing(*state))
    both(on_their_way(agents), twin.on_their_way(*state))


def test_which_ask_for_a_path(crowd):
    agents, _ = crowd
    given = agents.activity, agents.path_status, agents.goal
    out = np.empty(ROWS, dtype=bool)
    assert sum(find_asking(*half, *given, out) for half in HALVES) == np.count_nonzero(out)
    both(out, twin.asking(*given))


def test_gaits(crowd):
    agents, _ = crowd
    given = agents.activity, agents.is_yielding, agents.is_driven, agents.preferred_velocity
    out = np.empty(ROWS, dtype=np.uint8)
    find_gaits(0, ROWS, *given, out)
    both(out, twin.gaits(*given))


@pytest.mark.parametrize("with_vehicles", [False, True])
def test_how_models_see_each(crowd, with_vehicles):
    agents, rng = crowd
    drives = rng.random(ROWS) < 0.3 if with_vehicles else NONE_DRIVES
    given = agents.activity, agents.is_driven, agents.is_yielding, drives
    out = np.empty(ROWS, dtype=np.uint8)
    obstacles = sum(find_active(*half, *given, out) for half in HALVES)
    expected, count = twin.active(*given)
    assert obstacles == count > 0
    both(out, expected)


def test_which_can_be_pushed(crowd):
    agents, _ = crowd
    out = np.empty(ROWS, dtype=np.uint8)
    others = sum(find_movable(*half, agents.activity, agents.is_immovable, out) for half in HALVES)
    assert others == np.count_nonzero(agents.activity >= AgentState.OBSTACLE)
    both(out, twin.movable(agents.activity, agents.is_immovable))


def test_pushes_are_taken_where_they_move_an_agent(crowd):
    agents, rng = crowd
    before = agents.position.copy()
    after = before + rng.integers(0, 2, (ROWS, 2)) * 0.1
    out = np.full((ROWS, 2), 7.0)
    take_pushes(0, len(out), before, after, out)
    moved = (before != after).any(axis=1)
    assert np.array_equal(out, np.where(moved[:, None], after, 7.0))
    assert 0 < np.count_nonzero(moved) < ROWS


@pytest.mark.parametrize("may_stay", [False, True])
def test_which_walk_straight_to_their_goal(crowd, may_stay):
    agents, rng = crowd
    agents.itinerary[:], agents.stage[:] = rng.integers(-1, 4, ROWS), rng.integers(0, 3, ROWS)
    ends = ListEnds(np.array([0, -1, 1, -1, -1]), np.array([2, 9, 1, 9, 9]), 1)
    none = ListEnds(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0)
    given = (
        agents.corner_vertex, agents.activity, agents.is_driven, agents.path_status, agents.group,
        agents.goal, agents.itinerary, agents.stage,
    )  # fmt: skip
    heeds, piece_source = np.array([True, False, True]), np.array([3, 5], dtype=np.int32)
    source, out = np.empty(ROWS, dtype=np.int32), np.empty(ROWS, dtype=np.uint8)
    found = [
        find_straight(
            *half, *given, agents.goal_piece, heeds, ends if may_stay else none, piece_source, source, out
        )
        for half in HALVES
    ]
    expected = twin.straight(*given, heeds, ends if may_stay else None)
    both(out, expected)
    assert np.array_equal(source, np.where(expected, piece_source[agents.goal_piece], 0))
    assert sum(count for count, _ in found) == np.count_nonzero(expected)
    assert max(farthest for _, farthest in found) == 5
    assert np.count_nonzero(twin.straight(*given, heeds, None)) > np.count_nonzero(expected) or not may_stay


def test_which_are_led_round_a_free_vertex(crowd):
    agents, rng = crowd
    side = np.where(rng.random(ROWS) < 0.5, -1, 0)
    kinds = [NOT_CACHED, STRAIGHT_TO_GOAL]
    vertex = rng.integers(0, 20, ROWS)
    agents.corner_vertex[:] = np.where(
        rng.random(ROWS) < 0.7, (vertex << VERTEX) ^ side, rng.choice(kinds, ROWS)
    )
    before = np.where(rng.random(ROWS) < 0.5, agents.corner_vertex, NOT_CACHED)
    agents.radius[:] = rng.uniform(0.1, 0.4, ROWS)
    agents.next_corner[:] = agents.position + rng.normal(scale=0.5, size=(ROWS, 2))
    follows, is_wall = rng.random(ROWS) < 0.8, rng.integers(0, 2, 20).astype(np.uint8)
    given = (
        follows, before, agents.corner_vertex, agents.next_corner, agents.position, agents.radius, is_wall,
        rng.uniform(0.0, 0.5, 20),
    )  # fmt: skip
    out = np.empty(ROWS, dtype=bool)
    count = sum(find_led_round(*half, *given, out) for half in HALVES)
    both(out, twin.led_round(*given))
    assert count == np.count_nonzero(out)


def test_which_stand_and_can_be_asked_aside(crowd):
    agents, _ = crowd
    given = agents.activity, agents.is_yielding, agents.is_driven, agents.is_immovable
    out = np.empty(ROWS, dtype=bool)
    count = sum(find_movable_standing(*half, *given, out) for half in HALVES)
    assert count == np.count_nonzero(out)
    both(out, twin.movable_standing(*given))


def test_which_steps_end(crowd):
    agents, rng = crowd
    agents.yield_target[:500] = agents.position[:500] + 0.01 * rng.normal(size=(500, 2))
    given = (
        agents.yield_target, agents.position, agents.activity, agents.is_driven, agents.yield_tick,
        0.01, 12, 100,
    )  # fmt: skip
    expected = twin.steps_that_go_on(*given, agents.is_yielding.copy())
    for half in HALVES:
        end_steps(*half, *given, agents.is_yielding)
    both(agents.is_yielding, expected)


def test_where_steps_lead(crowd):
    agents, _ = crowd
    agents.yield_target[:9] = agents.position[:9]  # there
    agents.preferred_velocity[:], agents.next_corner[:] = 7.0, 7.0
    steps = agents.is_yielding != Stepping.NOWHERE
    given = (
        agents.is_yielding, agents.yield_target, agents.position, agents.desired_speed, 0.05,
        agents.preferred_velocity, agents.next_corner,
    )  # fmt: skip
    count = sum(lead_steps(*half, *given) for half in HALVES)
    expected = twin.led(agents.yield_target, agents.position, agents.desired_speed, 0.05)
    assert count == np.count_nonzero(steps)
    assert 0 < count < ROWS
    assert np.array_equal(agents.preferred_velocity, np.where(steps[:, None], expected, 7.0))
    assert np.array_equal(agents.next_corner, np.where(steps[:, None], agents.yield_target, 7.0))


@pytest.mark.parametrize("keeps_previous", [False, True])
@pytest.mark.parametrize("may_guess", [False, True])
@pytest.mark.parametrize("has_barred", [False, True])
def test_which_follow_and_which_guess(crowd, keeps_previous, may_guess, has_barred):
    agents, rng = crowd
    mine, polygon = rng.random(ROWS) < 0.8, rng.integers(0, 4, ROWS)
    barred = np.array([False, True, False, True]) if has_barred else NOWHERE_BARRED
    given = (
        mine, agents.activity, agents.is_driven, agents.path_status, agents.goal_piece, polygon, barred,
        keeps_previous, may_guess,
    )  # fmt: skip
    follows, guesses = np.empty(ROWS, dtype=bool), np.empty(ROWS, dtype=bool)
    velocity, corner = np.full((ROWS, 2), 7.0), np.full((ROWS, 2), 7.0)
    counts = [
        sort_followers(*half, *given, agents.position, follows, guesses, velocity, corner) for half in HALVES
    ]
    expected = twin.followers(*given)
    assert np.array_equal(follows, expected[0])
    assert np.array_equal(guesses, expected[1])
    assert sum(counts) == np.count_nonzero(guesses)
    assert (sum(counts) > 0) == (keeps_previous or may_guess)
    assert np.array_equal(velocity, np.where(expected[2][:, None], np.zeros((ROWS, 2)), 7.0))
    assert np.array_equal(corner, np.where(expected[2][:, None], agents.position, 7.0))


class Layers(NamedTuple):
    """Of a mesh what steps ask for."""

    polygon_layer: NDArray[np.int32]


@pytest.mark.parametrize("has_tiles", [False, True])
def test_what_is_noted_of_steps(crowd, has_tiles):
    agents, rng = crowd
    mesh, polygon = Layers(rng.integers(0, 5, 30).astype(np.int32)), rng.integers(0, 30, ROWS)
    agents.surface[:], agents.layer[:] = 7, 7
    old = agents.position - 0.1 * rng.normal(size=(ROWS, 2))
    # at walls some have moved less than they chose to, and some more
    walked = Walked(
        agents.position.copy(),
        polygon,
        rng.integers(-1, 8, ROWS).astype(np.int32),
        np.ones(ROWS, dtype=np.float32),
        rng.integers(0, 2, ROWS).astype(np.uint8),
    )
    has_ground = rng.random(ROWS) < 0.9 if has_tiles else np.ones(ROWS, dtype=bool)
    handle = rng.integers(1, 1 << 40, ROWS) if has_tiles else pack(1, 0, polygon)
    expected = twin.steps(
        old, walked.position, walked.touched, agents.chosen_velocity, has_ground, 0.05, agents.path_status,
        walked.length, agents.strays, agents.corridor_length, MOST_STRAYS,
    )  # fmt: skip
    agents.position[:] = old
    out = Steps(
        agents.position, agents.surface, agents.layer, agents.walked_velocity, agents.velocity,
        agents.corridor_length, agents.strays,
    )  # fmt: skip
    lost = np.empty(ROWS, dtype=bool)
    counts = [
        note_steps(
            *half, mesh, walked, agents.chosen_velocity, agents.path_status,
            has_ground if has_tiles else NO_ONE, handle if has_tiles else NO_ROWS, 0.05, out, lost,
        )
        for half in HALVES
    ]  # fmt: skip
    found = agents.walked_velocity, agents.velocity, agents.strays, agents.corridor_length
    for one, other in zip(found, expected, strict=False):
        assert one.tobytes() == other.astype(one.dtype).tobytes()
    assert agents.position.tobytes() == walked.position.tobytes()
    assert np.array_equal(agents.surface, np.where(has_ground, handle, 7))
    assert np.array_equal(agents.layer, np.where(has_ground, mesh.polygon_layer[polygon], 7))
    assert sum(lost for lost, _ in counts) == np.count_nonzero(lost)
    assert sum(at_walls for _, at_walls in counts) == np.count_nonzero(walked.touched)
    both(lost, expected[-1])
    slowed = (walked.touched == 1) & (agents.velocity == agents.walked_velocity).all(axis=1)
    assert 0 < np.count_nonzero(slowed) < np.count_nonzero(walked.touched)
