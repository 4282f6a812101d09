"""A corner that is held is the corner that a fresh look would find, and is held for most of the time."""

import numpy as np
import pytest

from crowdsim.navigation.corridor.corner_cache import NOTHING_HELD, REACH, SLACK, Held, held_by_nobody
from crowdsim.navigation.corridor.steer import steer_many
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import AgentState, PathStatus
from tests.crowds import SCENARIOS


def steer(simulation, held):
    """Return the preferred velocities of everybody with a path, and who that is."""
    world, agents = simulation.world, simulation.world.agents
    follows = (agents.activity == AgentState.WALKING) & (agents.path_status == PathStatus.FOUND)
    velocity, corner = np.zeros((len(agents), 2)), np.zeros((len(agents), 2))
    steer_many(
        0, len(agents), world.mesh, world.goals, world.corridors.cells, agents.corridor_start, agents.corridor_length, world.polygons(), agents.goal_piece,
        follows.view(np.uint8), agents.position, agents.radius, agents.desired_speed, simulation.scenario.tick, held, velocity, corner,
    )  # fmt: skip
    return velocity, corner, follows


def held_by(agents):
    return Held(agents.corner_post.copy(), agents.corner_line.copy(), agents.corner_offset.copy())


# Where the string bends several times within a body's width, the two may let go of a bend some centimetres apart.
@pytest.mark.sample(1)
@pytest.mark.parametrize("name, least_held", [("concourse", 0.85), ("office-floor", 0.8), ("four-way-crossing", 0.9), ("room-evacuation", 0.9)])
def test_what_is_held_is_what_a_fresh_look_finds(name, least_held):
    asked = held_on = different = 0
    with Simulation(load_scenario(SCENARIOS / f"{name}.yaml")) as simulation:
        while simulation.tick < 300 and not simulation.why_over():
            simulation.step()
            if simulation.tick % 6:
                continue
            agents = simulation.world.agents
            held = held_by(agents)
            before = held.line.copy()
            velocity, _, follows = steer(simulation, held)
            fresh, _, _ = steer(simulation, held_by_nobody(len(agents)))
            apart = np.hypot(*(velocity - fresh).T)
            assert apart.max(initial=0.0) < 0.5
            asked += np.count_nonzero(follows)
            held_on += np.count_nonzero(follows & (before == held.line).all(axis=1))
            different += np.count_nonzero(apart > 1e-9)
    assert asked > 500
    assert different < 0.003 * asked
    assert held_on > least_held * asked


def test_a_corner_is_let_go_of_behind_where_it_was_found_and_aside_of_its_line():
    with Simulation(load_scenario(SCENARIOS / "office-floor.yaml")) as simulation:
        for _ in range(20):
            simulation.step()
        agents = simulation.world.agents
        held = held_by_nobody(len(agents))
        _, _, follows = steer(simulation, held)
        known = follows & (held.post != NOTHING_HELD) & (held.line[:, SLACK] > 0.0)
        assert known.any()
        for spoil in ("offset", "reach"):
            again = Held(held.post.copy(), held.line.copy(), held.offset.copy())
            if spoil == "offset":
                again.offset[:] += again.line[:, SLACK] + 0.01
            else:
                again.line[:, REACH] -= 0.01
            spoiled = again.offset.copy(), again.line.copy()
            steer(simulation, again)
            assert np.all((again.offset[known] != spoiled[0][known]) | (again.line[known] != spoiled[1][known]).any(axis=1))
