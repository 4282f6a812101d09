"""Which paths are kept when the ground's polygons and portals have other numbers, and which are lost."""

from types import SimpleNamespace

import numpy as np
import pytest

from crowdsim.navigation.tiles.renumber import Renumbered
from crowdsim.systems.ground.tile_changes import _carry_corridors
from crowdsim.world.columns import AgentColumns, AgentState, PathStatus, ReplanCause
from crowdsim.world.events import EventKind

# Three polygons in a row. Portal 0 leads from the first to the second and is portal 1 from there; portals 2
# and 3 lie between the second and the third.
TWIN, POLYGON_OF = np.array([1, 0, 3, 2]), np.array([0, 1, 1, 2])


def carry(*, polygon=(0, 1, 2), edge=(0, 1, 2, 3), is_narrower=(), piece=(0, 1), **columns):
    """Return the agents, their corridors and the events after a change;
    one in the first polygon goes through both portals to piece 1.
    """
    agents, events = AgentColumns(), []
    here = {
        "entity": np.array([7]),
        "activity": AgentState.WALKING,
        "path_status": PathStatus.FOUND,
        "corridor_start": 1,
        "corridor_length": 2,
        "goal_piece": 1,
        "strays": 1,
    }
    agents.append(1, here | columns)
    world = SimpleNamespace(
        agents=agents,
        on_corridors=lambda: np.ones(1, dtype=np.bool_),
        corridors=SimpleNamespace(portals=np.array([9, 2, 0, 9], dtype=np.int32)),
        mesh=SimpleNamespace(edge_twin=TWIN, edge_polygon=POLYGON_OF, polygon_count=3),
        events=SimpleNamespace(
            note=lambda tick, kind, entity, position, value: events.extend(
                (kind, each, int(value[i])) for i, each in enumerate(entity.tolist())
            )
        ),
    )
    narrower = np.isin(np.arange(3), is_narrower)
    now = Renumbered(
        np.array(polygon, dtype=np.int32), np.array([*edge, *[-1] * 6], dtype=np.int32), narrower
    )
    _carry_corridors(world, 50, now, np.array(piece, dtype=np.int32), np.array([0]))
    return agents, world.corridors.portals.tolist(), events


def test_a_way_that_nothing_changed_is_kept_under_its_new_numbers():
    agents, cells, events = carry(edge=(2, 3, 0, 1), piece=(3, 0), polygon=(1, 0, 2))
    assert cells == [9, 0, 2, 9] and events == []
    assert (
        agents.path_status[0] == PathStatus.FOUND
        and agents.goal_piece[0] == 0
        and agents.corridor_length[0] == 2
        and agents.strays[0] == 1
    )


@pytest.mark.parametrize(
    "change",
    [
        {"is_narrower": [0]},
        {"is_narrower": [1]},
        {"is_narrower": [2]},
        {"polygon": (-1, 1, 2)},
        {"polygon": (0, 1, -1)},
        {"edge": (0, 1, -1, 3)},
        {"edge": (-1, 1, 2, 3)},
        {"piece": (0, -1)},
        {"goal_piece": -1},
    ],
    ids=str,
)
def test_a_way_that_leads_over_other_ground_is_lost_and_asked_for_again(change):
    """Also where the ground under the walker, or the last polygon, lets less through than before."""
    agents, _, events = carry(**change)
    assert events == [(EventKind.PATH_LOST, 7, 2)] and agents.replan_wish[0] == ReplanCause.PATH_CLOSED
    assert (
        agents.path_status[0] == PathStatus.NONE
        and agents.corridor_length[0] == 0
        and agents.goal_piece[0] == -1
        and agents.strays[0] == 0
    )


def test_an_agent_that_stands_loses_its_path_without_an_event_and_one_that_waits_for_an_answer_asks_again():
    agents, _, events = carry(is_narrower=[2], activity=AgentState.STANDING)
    assert (
        events == []
        and agents.replan_wish[0] == ReplanCause.NONE
        and agents.path_status[0] == PathStatus.NONE
        and agents.corridor_length[0] == 0
    )
    agents, cells, events = carry(path_status=PathStatus.PENDING)
    assert (
        events == []
        and agents.path_status[0] == PathStatus.NONE
        and agents.corridor_length[0] == 0
        and cells == [9, 2, 0, 9]
    )
