"""Everything that exists is an entity: queries answer in ascending order,
agents keep their numbers whatever else there is, and worlds do not disturb each other.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from crowdsim.saved import Saved, SavedError
from crowdsim.scenario.model import Goal
from crowdsim.setup.things import Disc, Door, MovingObstacle
from crowdsim.world.entities import FIRST_THING, Entities
from crowdsim.world.world import Itinerary
from tests.crowds import BUSY, simulation


@dataclass
class Mark:
    number: int


@dataclass
class Other:
    name: str


@pytest.fixture
def entities():
    found = Entities()
    yield found
    found.close()


@pytest.mark.parametrize("seed", range(5))
def test_a_query_answers_in_ascending_order_whatever_came_and_went(entities, seed):
    rng = np.random.default_rng(seed)
    rows = entities.add_rows([()] * 40).tolist()
    there = {}
    for step in range(200):
        entity = int(rng.choice(rows)) if rng.random() < 0.7 else entities.create()
        if entity in there:
            assert entities.remove(entity, Mark).number == there.pop(entity)
        else:
            entities.add(entity, Mark(step))
            there[entity] = step
        if step % 7 == 0:
            assert [(entity, mark.number) for entity, mark in entities.query(Mark)] == sorted(there.items())


def test_a_list_that_was_asked_for_stays_as_it_is_while_components_go(entities):
    for number in range(5):
        entities.create(Mark(number))
    for entity, _ in entities.query(Mark):
        entities.remove(entity, Mark)
    assert entities.query(Mark) == []


def test_entities_that_share_a_component_have_it_whether_or_not_they_have_others():
    shared = [Other("a"), Other("b")]
    entities = Entities(shared)
    assert entities.add_sharing(np.array([0, 1, 1, 0])).tolist() == [1, 2, 3, 4]
    assert entities.add_rows([(Mark(7),)]).tolist() == [5]
    assert entities.component(3, Other) is shared[1] and entities.components(4) == (shared[0],)
    entities.add(2, Mark(1))
    assert entities.components(2) == (shared[1], Mark(1)) and entities.query(Mark) == [
        (2, Mark(1)),
        (5, Mark(7)),
    ]
    assert entities.query(Other) == [(1, shared[0]), (2, shared[1]), (3, shared[1]), (4, shared[0])]
    with pytest.raises(KeyError):
        entities.component(1, Mark)
    entities.delete([4, 2])
    assert entities.query(Other) == [(1, shared[0]), (3, shared[1])] and entities.query(Mark) == [
        (5, Mark(7))
    ]
    assert 1 in entities and 2 not in entities and 4 not in entities
    assert entities.add_sharing(np.array([1])).tolist() == [6] and entities.remove(6, Other) is shared[1]
    assert entities.components(6) == () and entities.query(Other) == [(1, shared[0]), (3, shared[1])]
    for gone in (2, 4):
        with pytest.raises(KeyError):
            entities.add(gone, Mark(0))
    entities.close()


@pytest.mark.parametrize("seed", range(5))
def test_those_that_share_come_and_go_as_in_a_dictionary(seed):
    rng, shared = np.random.default_rng(seed), [Other("a"), Other("b")]
    entities, there = Entities(shared), {}
    for _ in range(60):
        which = rng.integers(0, 2, rng.integers(0, 9)).astype(np.int32)
        there.update(zip(entities.add_sharing(which).tolist(), which.tolist(), strict=True))
        if there and rng.random() < 0.3:
            entities.add(int(rng.choice(list(there))), Mark(0))
        going = [each for each in there if rng.random() < 0.2]
        entities.delete(going)
        for each in going:
            del there[each]
            with pytest.raises(KeyError):
                entities.component(each, Other)
        assert entities.query(Other) == [(each, shared[which]) for each, which in there.items()]
        assert all(entities.component(each, Other) is shared[which] for each, which in there.items())
    entities.close()


def test_what_has_no_row_takes_no_number_from_what_has_one(entities):
    assert entities.create(Mark(1)) == FIRST_THING + 1
    assert entities.add_rows([(), (Mark(2),)]).tolist() == [1, 2]
    assert entities.create() == FIRST_THING + 2
    assert [entity for entity, _ in entities.query(Mark)] == [2, FIRST_THING + 1]
    entities.delete([2, FIRST_THING + 1])
    assert (
        entities.query(Mark) == [] and 2 not in entities and 1 in entities and FIRST_THING + 1 not in entities
    )


def test_two_worlds_have_entities_of_their_own(entities):
    other = Entities()
    entities.create(Mark(1))
    other.create(Mark(2))
    assert [mark.number for _, mark in entities.query(Mark)] == [1] and [
        mark.number for _, mark in other.query(Mark)
    ] == [2]
    other.close()
    assert entities.components(FIRST_THING + 1) == (Mark(1),)


def test_an_entity_that_is_not_there_is_told(entities):
    for call in (
        lambda: entities.add(7, Mark(1)),
        lambda: entities.component(7, Mark),
        lambda: entities.components(FIRST_THING + 7),
    ):
        with pytest.raises(KeyError):
            call()


def test_restored_things_have_their_numbers_and_so_have_the_next(entities):
    for number in range(4):
        entities.create(Mark(number))
    entities.delete([FIRST_THING + 3])
    state, other = entities.state_of_things(), Entities()
    other.create(Mark(0))
    other.restore_things(Saved(state), 1)
    assert (
        other.things().tolist()
        == entities.things().tolist()
        == [FIRST_THING + 1, FIRST_THING + 2, FIRST_THING + 4]
    )
    assert other.create() == entities.create() == FIRST_THING + 5
    # what was made in the run is given its components by those that own it
    assert other.query(Mark) == [(FIRST_THING + 1, Mark(0))]
    for wrong in (
        {"highest": np.array([-1])},
        {"entity": state["entity"][1:]},
        {"entity": state["entity"][::-1].copy()},
        {"entity": state["entity"] + 1},
    ):
        with pytest.raises(SavedError):
            other.restore_things(Saved({**state, **wrong}), 1)
    other.close()


def test_goals_doors_obstacles_agents_and_discs_are_entities_with_components():
    cart = {"name": "cart", "shape": {"disc": 0.4}, "path": [[2, 1], [7, 1]], "speed": 1}
    area = [{"name": "door", "area": {"box": [5.5, 0.2, 6.5, 0.6]}}]
    with simulation({**BUSY, "geometry": {**BUSY["geometry"], "areas": area}, "obstacles": [cart]}) as run:
        run.step()
        world = run.world
        goals, ((door, state),), ((obstacle, moving),) = (
            world.query(Goal),
            world.query(Door),
            world.query(MovingObstacle),
        )
        assert [goal for _, goal in goals] == list(run.scenario.goals) and [
            entity for entity, _ in goals
        ] == list(range(FIRST_THING + 1, door))
        assert world.components(door) == {"Door": state} and state.is_open and state.area.name == "door"
        assert moving.is_there and world.components(moving.first_disc)["Disc"] == Disc(obstacle)
        agent = world.components(1)
        assert (
            isinstance(agent["Itinerary"], Itinerary)
            and agent["position"].tolist() == world.agents.position[0].tolist()
            and agent["entity"] == 1
        )
        run.set_area_available("door", available=False)
        assert state.asked is False
        run.step()
        assert state.asked is None and not state.wanted
