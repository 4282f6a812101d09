"""Agents move from the first tick, on a guess, while the budget is too small for their searches; a wrong guess is walked back."""

import numpy as np
import pytest

from crowdsim.world.columns import PathStatus
from crowdsim.world.events import EventKind
from tests.crowds import simulation

# A wall across the straight line: the guess runs towards the goal into a pocket, the way leads round the far end.
POCKET = {
    "version": 1, "name": "pocket", "seed": 1, "tick": 0.1, "stop": {"after": 90, "when": "all_arrived"}, "record": {"rate": 1},
    "geometry": {
        "walkable": [[0, 0], [30, 0], [30, 12], [0, 12]],
        "obstacles": [{"box": [20, 0, 20.3, 10]}] + [{"box": [x, y, x + 0.5, y + 0.5]} for x in range(3, 19, 3) for y in (2, 5, 8)],
    },
    "goals": {"far": {"point": [25, 1], "arrive_within": 0.3}},
    "groups": [{"name": "one", "positions": [[1.0, 1.0]], "goals": ["far"], "radius": 0.2, "speed": 1.3}],
    "navigation": {"kind": "mesh", "share_searches": False},
}  # fmt: skip


def test_an_agent_moves_in_the_first_tick_and_is_guessing():
    with simulation(POCKET, sets=["budget.work=1"]) as run:
        start = run.agents.position[0].copy()
        run.step()
        assert np.hypot(*(run.agents.position[0] - start)) > 0.1
        assert run.agents.path_status[0] == 1  # pending
        assert (run.agents.position[0] - start) @ (np.array([25, 1]) - start) > 0.0


def test_a_starved_search_still_leads_to_the_goal():
    with simulation(POCKET) as run:
        served = run.run()
    with simulation(POCKET, sets=["budget.work=1"]) as run:
        starved = run.run()
    assert served.arrived == starved.arrived == 1
    assert served.longest_wait_s == 0.0 < starved.longest_wait_s
    assert starved.last_arrival_s < served.last_arrival_s + 2.0 * starved.longest_wait_s + 1.0


@pytest.mark.parametrize("navigation", [{"kind": "mesh", "share_searches": False}, {"kind": "mesh"}, {"kind": "optimal"}], ids=str)
def test_who_arrives_on_a_guess_waits_for_no_answer_and_nobody_else_gets_it(navigation):
    """Six have two metres to go, which they do on guesses: twelve before them in the queue have far to go, and an expansion a tick is all there is."""
    far = [
        {"id": i, "position": [1.0, 0.6 + 0.9 * i], "radius": 0.2, "speed": 1.3, "goals": [{"point": [25, 1 + 0.5 * i], "arrive_within": 0.3}]}
        for i in range(12)
    ]
    near = [{"id": 12 + i, "position": [2.2, y], "radius": 0.2, "speed": 1.3, "goals": ["near"]} for i, y in enumerate((1.0, 3.6, 4.3, 6.6, 7.3, 9.6))]
    goals = {"near": {"region": [[4.2, 0], [6, 0], [6, 12], [4.2, 12]]}}
    scene = {**POCKET, "goals": goals, "groups": [{"name": "all", "agents": [*far, *near]}], "navigation": navigation, "budget": {"work": 1}}
    with simulation(scene) as run:
        arrived_on_a_guess = 0
        while len(run.agents) > 12:
            waiting = run.agents.entity[run.agents.path_status == PathStatus.PENDING]
            events = run.step()
            done, found = (events.entity[events.kind == kind].tolist() for kind in (EventKind.ARRIVAL, EventKind.PATH_FOUND))
            arrived_on_a_guess += len(set(done) & set(waiting.tolist()) - set(found))
        assert arrived_on_a_guess
        for _ in range(20):
            run.step()
            assert run.counts["requests_open"] == np.count_nonzero(run.agents.path_status == PathStatus.PENDING)
