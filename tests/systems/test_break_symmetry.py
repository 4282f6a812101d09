"""The breaker goes by what agents really moved, not by the velocities that they chose."""

import numpy as np

from crowdsim.systems import BreakSymmetry, Tick
from tests.crowds import room, simulation

TICK_S = 0.05


def two_that_meet(**more):
    """Return two agents 0.6 m apart, a little beside each other's line, that want to pass each other."""
    ends = [[4.0, 0.1], [-4.0, 0.0]]
    agents = [
        {"id": k, "position": place, "radius": 0.3, "speed": 1.3, "goals": [{"point": end}]}
        for k, (place, end) in enumerate(zip([[-0.3, 0.05], [0.3, 0.0]], ends, strict=True))
    ]
    return room(agents, **more)


def rings_after(run, walked_share, ticks):
    """Return how many are turned after so many ticks in which each is held by the other, chooses its wish,
    and walks a share of it.
    """
    agents, breaker = (
        run.world.agents,
        next(system for system in run.systems if isinstance(system, BreakSymmetry)),
    )
    wish = np.array([[1.3, 0.01], [-1.3, 0.01]])
    for number in range(1, ticks + 1):
        agents.preferred_velocity[:], agents.velocity[:], agents.walked_velocity[:] = (
            wish,
            wish,
            walked_share * wish,
        )
        agents.blocker[:] = agents.entity[::-1]
        tick = Tick(number, TICK_S, run.team)
        breaker.process(tick)
    return tick.counts["symmetry_rings"]


def test_two_that_press_against_each_other_and_do_not_get_on_are_turned_whatever_they_choose():
    """In a press each chooses to walk on, and pushes put it back:
    it was never found that they held each other, and 149 of 150 stood for good.
    """
    with simulation(two_that_meet(tick=TICK_S)) as run:
        assert run.step() is not None
        assert rings_after(run, 0.0, 30) == 2
    with simulation(two_that_meet(tick=TICK_S)) as run:
        assert run.step() is not None
        assert rings_after(run, 0.5, 30) == 0


def test_what_was_walked_is_what_positions_say():
    with simulation(two_that_meet(tick=TICK_S)) as run:
        for _ in range(40):
            before = run.world.agents.position.copy()
            run.step()
            assert np.array_equal(
                run.world.agents.walked_velocity, (run.world.agents.position - before) / TICK_S
            )
