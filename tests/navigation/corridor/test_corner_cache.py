"""A cached corner is the corner that a fresh search would find, and is used for most of the time."""

import numpy as np
import pytest

from crowdsim.navigation.corridor.corner_cache import (
    NOT_CACHED,
    REACH,
    SLACK,
    CornerCache,
    empty_corner_cache,
)
from crowdsim.navigation.corridor.corridors import Corridors
from crowdsim.navigation.corridor.steer import steer_many
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import AgentState, PathStatus
from tests.crowds import SCENARIOS


def steer(simulation, cache):
    """Return the preferred velocities of the agents with a path, and which those are."""
    world, agents = simulation.world, simulation.world.agents
    follows = (agents.activity == AgentState.WALKING) & (agents.path_status == PathStatus.FOUND)
    velocity, corner = np.zeros((len(agents), 2)), np.zeros((len(agents), 2))
    corridors = Corridors(
        world.corridors.portals,
        agents.corridor_start,
        agents.corridor_length,
        world.polygons(),
        agents.goal_piece,
        agents.position,
        agents.radius,
    )
    steer_many(
        0,
        len(agents),
        world.mesh,
        world.goals,
        corridors,
        follows.view(np.uint8),
        agents.desired_speed,
        simulation.scenario.tick,
        cache,
        velocity,
        corner,
    )
    return velocity, corner, follows


def cache_of(agents):
    return CornerCache(agents.corner_vertex.copy(), agents.corner_line.copy(), agents.corner_offset.copy())


# Where the string bends several times within an agent's width, the two may leave a bend some centimetres
# apart.
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "name, least_cached",
    [("concourse", 0.85), ("office-floor", 0.8), ("four-way-crossing", 0.9), ("room-evacuation", 0.9)],
)
def test_a_cached_corner_is_what_a_fresh_search_finds(name, least_cached):
    corners = cached = different = 0
    with Simulation(load_scenario(SCENARIOS / f"{name}.yaml")) as simulation:
        while simulation.tick < 300 and not simulation.why_over():
            simulation.step()
            if simulation.tick % 6:
                continue
            agents = simulation.world.agents
            cache = cache_of(agents)
            before = cache.line.copy()
            velocity, _, follows = steer(simulation, cache)
            fresh, _, _ = steer(simulation, empty_corner_cache(len(agents)))
            apart = np.hypot(*(velocity - fresh).T)
            assert apart.max(initial=0.0) < 0.5
            corners += np.count_nonzero(follows)
            cached += np.count_nonzero(follows & (before == cache.line).all(axis=1))
            different += np.count_nonzero(apart > 1e-9)
    assert corners > 500
    assert different < 0.003 * corners
    assert cached > least_cached * corners


def test_a_corner_is_searched_for_again_behind_where_it_was_found_and_aside_of_its_line():
    with Simulation(load_scenario(SCENARIOS / "office-floor.yaml")) as simulation:
        for _ in range(20):
            simulation.step()
        agents = simulation.world.agents
        cache = empty_corner_cache(len(agents))
        _, _, follows = steer(simulation, cache)
        known = follows & (cache.code != NOT_CACHED) & (cache.line[:, SLACK] > 0.0)
        assert known.any()
        for spoil in ("offset", "reach"):
            again = CornerCache(cache.code.copy(), cache.line.copy(), cache.offset.copy())
            if spoil == "offset":
                again.offset[:] += again.line[:, SLACK] + 0.01
            else:
                again.line[:, REACH] -= 0.01
            spoiled = again.offset.copy(), again.line.copy()
            steer(simulation, again)
            assert np.all(
                (again.offset[known] != spoiled[0][known])
                | (again.line[known] != spoiled[1][known]).any(axis=1)
            )
