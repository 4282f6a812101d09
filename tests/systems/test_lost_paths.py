"""Losing a path is one function: nothing of it is left, whatever it was made of."""

import ast

import numpy as np
import pytest

from crowdsim.systems.paths.lost_paths import ask_anew, drop_corridors, lose_paths, lose_shut_paths
from crowdsim.world.columns import AgentState, PathStatus, ReplanCause
from crowdsim.world.events import EventKind
from tests.crowds import ROOT, simulation

FIELDS = ("corridor_length", "goal_piece", "strays", "path_status")
# Where a path is lost, and where a search's answer or the number of a kept piece is written.
WRITERS = {
    "systems/paths/lost_paths.py",
    "systems/paths/corridor_paths.py",
    "systems/paths/waypoint_paths.py",
    "systems/paths/paths.py",
    "systems/paths/straighten.py",
    "systems/walk.py",
    "systems/ground/ground_change.py",
    "systems/ground/tile_changes.py",
}


@pytest.mark.parametrize("status", [PathStatus.NONE, PathStatus.STALE])
def test_an_agent_that_loses_its_path_has_no_portals_no_piece_and_no_strays_and_the_others_keep_theirs(
    status,
):
    with simulation(sets=["budget.work=60"]) as run:
        for _ in range(5):
            run.step()
        agents = run.world.agents
        rows = np.flatnonzero(agents.corridor_length > 0)[:3]
        agents.strays[rows] = 2
        before = {name: getattr(agents, name).copy() for name in FIELDS}
        lose_paths(agents, rows, status)
        assert (agents.path_status[rows] == status).all() and (agents.goal_piece[rows] == -1).all()
        assert not agents.corridor_length[rows].any() and not agents.strays[rows].any()
        others = np.setdiff1d(np.arange(len(agents)), rows)
        for name in FIELDS:
            assert np.array_equal(getattr(agents, name)[others], before[name][others])


def test_an_agent_that_asks_anew_keeps_its_path_until_it_has_another():
    with simulation(sets=["budget.work=60"]) as run:
        for _ in range(5):
            run.step()
        agents = run.world.agents
        rows = np.flatnonzero(agents.corridor_length > 0)[:2]
        assert len(rows)
        length, piece = agents.corridor_length[rows].copy(), agents.goal_piece[rows].copy()
        ask_anew(agents, rows)
        assert (agents.path_status[rows] == PathStatus.NONE).all()
        assert np.array_equal(agents.corridor_length[rows], length) and np.array_equal(
            agents.goal_piece[rows], piece
        )
        drop_corridors(agents, rows)
        assert not agents.corridor_length[rows].any() and (agents.path_status[rows] == PathStatus.NONE).all()


def test_those_that_walk_are_told_that_their_path_was_shut_and_the_others_lose_it_silently():
    with simulation(sets=["budget.work=60"]) as run:
        for _ in range(5):
            run.step()
        agents = run.world.agents
        rows = np.flatnonzero(
            (agents.activity == AgentState.WALKING) & (agents.path_status == PathStatus.FOUND)
        )[:2]
        agents.activity[rows[1]] = AgentState.STANDING
        run.world.events.take()
        lose_shut_paths(run.world, 7, rows, np.array([4, 5]))
        events = run.world.events.take()
        assert [(int(event["entity"]), int(event["kind"]), int(event["value"])) for event in events] == [
            (int(agents.entity[rows[0]]), EventKind.PATH_LOST, 4)
        ]
        assert (
            agents.replan_wish[rows].tolist() == [ReplanCause.PATH_CLOSED, ReplanCause.NONE]
            and (agents.path_status[rows] == PathStatus.NONE).all()
        )


def test_no_other_file_takes_a_path_from_an_agent_by_hand():
    found = set()
    for path in sorted((ROOT / "crowdsim").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(field in text for field in FIELDS) else ():
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AugAssign)
                else []
            )
            for target in [
                each for one in targets for each in (one.elts if isinstance(one, ast.Tuple) else [one])
            ]:
                if (
                    isinstance(target, ast.Subscript)
                    and isinstance(target.value, ast.Attribute)
                    and target.value.attr in FIELDS
                ):
                    found.add(str(path.relative_to(ROOT / "crowdsim")))
    assert found == WRITERS
