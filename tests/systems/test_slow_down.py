"""A law of speed and density slows agents that walk by themselves, and counts them."""

import numpy as np

from crowdsim.systems import SlowDown, Tick
from tests.crowds import room, simulation


def queue(**more):
    """Return a column of nine rows of four, packed 0.5 m apart, that walks east."""
    places = [[0.5 * i - 5.0, 0.5 * j - 1.0] for i in range(9) for j in range(4)]
    agents = [
        {"id": k, "position": place, "radius": 0.2, "speed": 1.34, "goals": [{"point": [9.0, 0.0]}]}
        for k, place in enumerate(places)
    ]
    return room(agents, **more)


def slowed(run):
    """Return preferred speeds before and after SlowDown in the first tick, and its count."""
    tick = Tick(1, run.scenario.tick, run.team)
    for system in run.systems:
        before = run.world.agents.preferred_velocity.copy()
        system.process(tick)
        if isinstance(system, SlowDown):
            return (
                np.linalg.norm(before, axis=1),
                np.linalg.norm(run.world.agents.preferred_velocity, axis=1),
                tick.counts["slowed"],
            )
    raise AssertionError("SlowDown is not in the tick")


def test_the_count_is_of_agents_that_lose_more_than_half_of_their_speed():
    with simulation(queue(speed_density="weidmann")) as run:
        wanted, speed, count = slowed(run)
    fraction = speed / wanted
    # the last rows have many ahead of them, the first has none
    assert np.all(fraction[:16] < 0.5) and np.all(fraction[-4:] == 1.0)
    assert np.any((fraction > 0.5) & (fraction < 0.9)) and not np.any(np.abs(fraction - 0.5) < 1e-3)
    assert count == np.count_nonzero(fraction < 0.5)


def test_without_a_law_none_is_slowed():
    with simulation(queue()) as run:
        wanted, speed, count = slowed(run)
    assert np.array_equal(wanted, speed) and count == 0


def test_an_agent_that_a_program_steers_keeps_its_velocity():
    with simulation(queue(speed_density="weidmann")) as run:
        run.set_preferred_velocity([13, 14], [1.3, 0.0])
        wanted, speed, _ = slowed(run)
        steered = run.world.agents.is_driven == 1
    assert np.count_nonzero(steered) == 2
    # those behind them
    assert np.array_equal(speed[steered], wanted[steered]) and np.all(speed[:12] < wanted[:12])
