"""An agent without a goal stands, and no run waits for agents that stand."""

import pytest

from crowdsim.world.columns import AgentState
from tests.crowds import room, simulation

WALKER = {"id": 1, "position": [0, 0], "speed": 1.0, "goals": [{"point": [4, 0], "arrive_within": 0.3}]}


@pytest.mark.parametrize("extra", [{}, {"premovement": 20}])
def test_a_run_ends_when_all_that_were_to_arrive_have(extra):
    with simulation(room([WALKER, {"id": 2, "position": [5, 5], **extra}], after=60)) as run:
        assert run.agents.activity.tolist() == [AgentState.WALKING, AgentState.STANDING]
        verdict = run.run()
    assert verdict.ended == "all arrived" and verdict.simulated_s < 5.0
    assert (verdict.agents, verdict.arrived, verdict.standing, verdict.not_arrived) == (2, 1, 1, 0)


def test_an_agent_that_stands_is_never_stuck_and_others_walk_round_it():
    with simulation(
        room([WALKER, {"id": 2, "position": [2, 0]}], after=60, stop={"after": 15, "when": "never"})
    ) as run:
        verdict = run.run()
        assert verdict.arrived == 1 and run.agents.is_stuck.tolist() == [0]
        assert run.agents.position[0].tolist() == pytest.approx([2.0, 0.0], abs=0.01)
