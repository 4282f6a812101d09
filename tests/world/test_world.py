"""The facade over esper: worlds do not disturb each other, and a restored world numbers its entities as
before.
"""

import esper
import numpy as np
import pytest
import shapely

from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.saved import SavedError
from crowdsim.world.columns import AgentState
from crowdsim.world.events import EventKind
from crowdsim.world.world import Itinerary, World


def small_world():
    build = build_mesh(shapely.box(0, 0, 10, 10))
    goals = cut_goals(build.mesh, [GoalShape(shapely.Point(9, 9), 0.3)])
    return World(
        build.mesh,
        build.walls,
        goals,
        ["corner"],
        [Itinerary((0,), (np.nan,), True), Itinerary((), (), False)],
    )


def newcomers(count, start=0):
    """Columns of agents that come into the world."""
    return {
        "key": np.arange(start, start + count, dtype=np.uint64),
        "itinerary": np.arange(count, dtype=np.int32) % 2,
        "position": np.column_stack([np.linspace(1, 9, count), np.full(count, 5.0)]),
        "radius": np.full(count, 0.2),
        "desired_speed": np.full(count, 1.3),
        "maximum_speed": np.full(count, 1.5),
        "start_tick": np.zeros(count, dtype=np.int64),
    }


def test_spawn_gives_ascending_ids_and_notes_it():
    world = small_world()
    world.spawn(newcomers(5), np.zeros(5, dtype=np.int64))
    assert world.agents.entity.tolist() == [1, 2, 3, 4, 5]
    assert world.agents.goal.tolist() == [0, -1, 0, -1, 0]
    events = world.events.take()
    assert events["kind"].tolist() == [EventKind.SPAWN] * 5 and len(world.events.take()) == 0


def test_what_agents_are_when_they_come_stands_in_their_columns():
    world = small_world()
    columns = newcomers(2) | {"is_immovable": np.array([True, False]), "start_tick": np.array([0, 7])}
    world.itineraries[0] = Itinerary((0,), (0.8,), True)  # a speed of its own on the path to the first goal
    world.itineraries[1] = Itinerary((0,), (np.nan,), True)
    rows = world.spawn(columns, np.zeros(2, dtype=np.int64))
    agents = world.agents
    for name in columns.keys() - {"desired_speed"}:
        assert np.array_equal(getattr(agents, name)[rows], columns[name]), name
    assert agents.desired_speed.tolist() == [0.8, 1.3]
    assert agents.activity.tolist() == [AgentState.WALKING, AgentState.WAITING]
    for name in ("tentative_position", "next_corner", "counted_position", "progress_place"):
        assert np.array_equal(getattr(agents, name), columns["position"]), name


def test_a_saved_agent_has_what_it_came_into_the_world_with():
    world = small_world()
    world.spawn(newcomers(3) | {"group": np.array([0, 1, 0])}, np.zeros(3, dtype=np.int64))
    others = {
        "key": 9,
        "group": 1,
        "itinerary": 1,
        "start_tick": 3,
        "symmetry_draw": 0.5,
        "is_immovable": 1,
    }
    saved = world.state()
    for name, other in others.items():
        state = {each: array.copy() for each, array in saved.items()}
        state[f"agents/{name}"][2] = other
        with pytest.raises(SavedError, match=f"{name}.*came into the world with another"):
            world.restore(state)


def test_two_worlds_do_not_see_each_other():
    first, second = small_world(), small_world()
    first.spawn(newcomers(3), np.zeros(3, dtype=np.int64))
    second.spawn(newcomers(2), np.zeros(2, dtype=np.int64))
    first.retire(np.array([0]))
    assert first.agents.entity.tolist() == [2, 3] and second.agents.entity.tolist() == [1, 2]
    assert (
        second.entities.component(1, Itinerary).leaves and not first.entities.component(2, Itinerary).leaves
    )
    first.close()
    assert second.entities.component(2, Itinerary).goals == ()


def test_a_restored_world_goes_on_numbering_where_it_was():
    world = small_world()
    world.spawn(newcomers(6), np.zeros(6, dtype=np.int64))
    world.retire(np.array([1, 5]))
    state = world.state()
    other = small_world()
    other.spawn(newcomers(6), np.zeros(6, dtype=np.int64))
    other.restore(state)
    assert other.agents.entity.tolist() == [1, 3, 4, 5]
    for each in (world, other):
        each.spawn(newcomers(2, 10), np.zeros(2, dtype=np.int64))
    assert world.agents.entity.tolist() == other.agents.entity.tolist() == [1, 3, 4, 5, 7, 8]
    assert other.entities.component(8, Itinerary) == world.entities.component(8, Itinerary)


def test_retire_frees_corridors_and_notes_only_agents_that_had_not_arrived():
    world = small_world()
    world.spawn(newcomers(2), np.zeros(2, dtype=np.int64))
    none = np.zeros(1, dtype=np.int64)
    start = world.corridors.exchange(none, none, np.array([16]))[0]
    world.agents.corridor_start[0], world.agents.corridor_capacity[0] = start, 16
    world.agents.activity[1] = 3  # arrived
    world.events.take()
    world.retire(np.array([0, 1]))
    assert world.corridors.exchange(none, none, np.array([16]))[0] == start
    events = world.events.take()
    assert events["kind"].tolist() == [EventKind.RETIRED] and events["entity"].tolist() == [1]


def test_closing_a_world_leaves_nothing_in_esper():
    before = set(esper.list_worlds())
    world = small_world()
    world.spawn(newcomers(2), np.zeros(2, dtype=np.int64))
    world.close()
    assert set(esper.list_worlds()) == before
