"""A standing agent that is pushed stays where it was pushed."""

import numpy as np

from tests.crowds import room, simulation


def test_a_pushed_stander_stays_where_it_was_pushed():
    stander = {"id": 1, "position": [0, 0], "radius": 0.3}
    walker = {"id": 2, "position": [-4, 0.02], "radius": 0.3, "goals": [{"point": [5, 0.02]}]}
    with simulation(room([stander, walker], after=30), sets=["avoidance=none"]) as run:
        furthest = 0.0
        while not run.why_over():
            run.step()
            furthest = max(furthest, np.hypot(*run.agents.position[0]))
        place = run.agents.position[0].copy()
        assert furthest > 0.1, "the walker bumped into it"
        assert np.hypot(*place) > 0.1
        for _ in range(50):
            run.step()
        assert np.array_equal(run.agents.position[0], place)
