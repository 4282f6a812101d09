"""Which agents may ask for a new path, when, and what becomes of wishes that are not granted."""

from types import SimpleNamespace

import numpy as np
import pytest

from crowdsim.avoidance.model import WALL
from crowdsim.bodies.nudge import BlockedParameters
from crowdsim.bodies.replan import ReplanParameters
from crowdsim.kernels.threads import Team
from crowdsim.systems.base.system import Tick
from crowdsim.systems.paths.lost_paths import wish_to_replan
from crowdsim.systems.replan import Replan
from crowdsim.world.columns import AgentColumns, AgentState, PathStatus, ReplanCause

NOW, COOLDOWN = 100, 5  # ticks of 0.1 s


class Lines(Replan):
    """Replan with lines in which no agent is, and walls in those of some rows."""

    walls = np.zeros(0, dtype=np.int64)

    def _blocked(self, tick, rows, share=1.0):
        return np.intersect1d(rows, self.walls)

    def _some_agent_moved(self, tick, rows):
        return np.zeros(len(rows), dtype=np.bool_)


def crowd(count=6, **columns):
    """Walkers with a path that is a cooldown old."""
    agents = AgentColumns()
    values = {
        "entity": np.arange(count) + 1,
        "activity": AgentState.WALKING,
        "goal": 0,
        "path_status": PathStatus.FOUND,
        "path_tick": NOW - COOLDOWN,
        "moved_tick": -50,
    }
    agents.append(count, values | columns)
    return agents


def process(agents, on_waypoints=False, **parameters):
    """Let Replan run once; return its counts and the events that it noted."""
    events = []

    def note(tick, kind, entity, position, value):
        events.extend(zip(entity.tolist(), np.asarray(value).tolist(), strict=True))

    world = SimpleNamespace(
        agents=agents,
        events=SimpleNamespace(note=note),
        on_corridors=lambda: np.full(len(agents), not on_waypoints),
        planning=SimpleNamespace(paths=[]),
    )
    on_cells = SimpleNamespace(values={"obstacle_radius_share": 0.6})
    scenario = SimpleNamespace(
        groups=[None], navigations=[on_cells], navigation_of=lambda group: on_cells, tick=0.1
    )
    own = {
        ReplanParameters: ReplanParameters(**parameters),
        BlockedParameters: BlockedParameters(blocked_time=0.3),
    }
    tick = Tick(NOW, 0.1, Team(1))
    Lines(SimpleNamespace(world=world, scenario=scenario, of_bodies=own.__getitem__)).process(tick)
    return {name: count for name, count in tick.counts.items() if count}, events


def test_a_wish_is_granted_once_the_last_way_is_a_cooldown_old_and_waits_until_then():
    agents = crowd(3, path_tick=np.array([NOW - COOLDOWN - 1, NOW - COOLDOWN, NOW - COOLDOWN + 1]))
    wish_to_replan(agents, np.arange(3), ReplanCause.PATH_CLOSED)
    counts, events = process(agents)
    assert agents.asks_again.tolist() == [1, 1, 0] and agents.replans.tolist() == [1, 1, 0]
    assert agents.path_status.tolist() == [PathStatus.NONE, PathStatus.NONE, PathStatus.FOUND]
    assert agents.replan_wish.tolist() == [ReplanCause.NONE, ReplanCause.NONE, ReplanCause.PATH_CLOSED]
    assert counts == {"replans_path_closed": 2.0} and events == [
        (1, ReplanCause.PATH_CLOSED),
        (2, ReplanCause.PATH_CLOSED),
    ]


@pytest.mark.parametrize(
    "column",
    [
        {"activity": AgentState.STANDING},
        {"goal": -1},
        {"is_driven": 1},
        {"path_status": PathStatus.PENDING},
        {"path_status": PathStatus.UNREACHABLE},
    ],
    ids=str,
)
def test_the_wish_of_an_agent_that_walks_no_path_is_forgotten(column):
    agents = crowd(1, **column)
    wish_to_replan(agents, np.arange(1), ReplanCause.NO_LOCAL_PATH)
    assert process(agents) == ({}, [])
    assert agents.replan_wish[0] == ReplanCause.NONE and agents.asks_again[0] == agents.replans[0] == 0


def test_an_agent_that_was_sent_elsewhere_or_lost_its_path_asks_already_and_is_counted_at_once():
    agents = crowd(2, path_tick=NOW, path_status=np.array([PathStatus.FOUND, PathStatus.NONE]))
    agents.replan_wish[:] = ReplanCause.GOAL_MOVED, ReplanCause.PATH_CLOSED
    counts, events = process(agents)
    assert counts == {"replans_goal_moved": 1.0, "replans_path_closed": 1.0} and len(events) == 2
    assert (
        agents.asks_again.tolist() == [0, 0]
        and agents.replans.tolist() == [1, 1]
        and not agents.replan_wish.any()
    )


def test_an_agent_counts_as_having_moved_when_it_got_far_enough_since_it_last_counted():
    agents = crowd(3, position=np.array([[0.05, 0.0], [0.0, 0.049], [0.3, 0.4]]))
    process(agents, replanning=True, replan_moved=0.05)
    assert agents.moved_tick.tolist() == [NOW, -50, NOW]
    assert agents.counted_position.tolist() == [[0.05, 0.0], [0.0, 0.0], [0.3, 0.4]]


def test_an_agent_that_is_blocked_for_long_enough_asks_for_that_unless_it_has_another_cause(monkeypatch):
    monkeypatch.setattr(Lines, "walls", np.array([3, 4]))
    agents = crowd(
        5, blocked_ticks=np.array([2, 3, 4, 9, 0]), path_tick=NOW, entity=np.arange(5) * COOLDOWN, blocker=-1
    )
    wish_to_replan(agents, np.array([2]), ReplanCause.NO_LOCAL_PATH)
    process(agents, replanning=True)
    wanted = [
        ReplanCause.NONE,
        ReplanCause.BLOCKED,
        ReplanCause.NO_LOCAL_PATH,
        ReplanCause.PUSHED_OFF,
        ReplanCause.PUSHED_OFF,
    ]
    assert agents.replan_wish.tolist() == wanted


def test_each_looks_once_in_a_cooldown_and_only_for_walls_that_bind_it(monkeypatch):
    monkeypatch.setattr(Lines, "walls", np.arange(12))
    agents = crowd(12, path_tick=NOW, blocker=np.array([-1, 7] * 6))
    process(agents, replanning=True)
    assert np.flatnonzero(agents.replan_wish).tolist() == [
        row for row in range(12) if (NOW + row + 1) % COOLDOWN == 0 and row % 2 == 0
    ]


def test_those_on_waypoints_look_for_walls_with_replanning_off_and_ask_again_where_one_stops_them(
    monkeypatch,
):
    """In their turn, NOW + entity being a multiple of the cooldown: entities 5 and 10.
    An agent that gets on beside a wall does not ask.
    """
    for on_waypoints, replanning in ((True, False), (False, False)):
        agents = crowd(10)
        monkeypatch.setattr(Lines, "walls", np.arange(10)[:5])
        assert process(agents, on_waypoints, replanning=replanning)[1] == (
            [(5, ReplanCause.PUSHED_OFF)] if on_waypoints else []
        )
    for speed, asks in ((0.05, [10]), (0.5, [])):
        agents = crowd(10, blocker=WALL, desired_speed=1.3)
        agents.velocity[:, 0] = speed
        monkeypatch.setattr(Lines, "walls", np.zeros(0, dtype=np.int64))
        agents.blocker[4] = 3  # blocked by an agent
        assert [entity for entity, _ in process(agents, True)[1]] == asks
