"""Events that take tiles out and make agents wider: what a program can do, by the file alone."""

import copy
import json

import numpy as np
import pytest
import yaml

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import parse_scenario
from crowdsim.world.events import EventKind
from tests.crowds import assert_same_on_threads_and_from_saved_states, simulation
from tests.scenes.test_tiles import TWO_PATHS
from tests.simulation.test_radius import two_gaps

GOES, COMES = 2.0, 8.0  # s
CORRIDOR = [(2, 0), (3, 0)]  # tiles of the shorter one
WAIST = 0.45  # m; too wide for the gap of 0.5 m


def with_tiles():
    document = copy.deepcopy(TWO_PATHS)
    document["events"] = [
        *({"at": GOES, "remove_tile": list(tile)} for tile in CORRIDOR),
        *({"at": COMES, "add_tile": list(tile)} for tile in CORRIDOR),
    ]
    return document


def with_waist(**more):
    document = two_gaps(**more)
    document["events"] = [{"at": 1.0, "set_radius": WAIST, "agents": ["one"]}]
    return document


def steps(run, ticks):
    """Return the events and positions of some ticks."""
    kinds, places = [], []
    for _ in range(ticks):
        found = run.step()
        kinds.append([(int(each.kind), int(each.entity), int(each.value)) for each in found])
        places.append(run.agents.position.copy())
    return kinds, places


def assert_same(one, other):
    assert one[0] == other[0]
    assert all(np.array_equal(a, b) for a, b in zip(one[1], other[1], strict=True))


def test_tiles_go_and_come_by_the_clock_as_a_program_takes_them_out_and_puts_them_back():
    with simulation(with_tiles()) as run:
        clock = steps(run, 150)
    with simulation(TWO_PATHS) as run:
        first = steps(run, 20)
        for tile in CORRIDOR:
            run.remove_tile(*tile)
        second = steps(run, 60)
        for tile in CORRIDOR:
            run.add_tile(*tile)
        third = steps(run, 70)
    assert_same(clock, tuple(a + b + c for a, b, c in zip(first, second, third, strict=True)))
    kinds = [kind for tick in clock[0] for kind, _, _ in tick]
    assert kinds.count(EventKind.TILE_REMOVED) == kinds.count(EventKind.TILE_ADDED) == 2


def test_no_agent_walks_onto_a_tile_that_is_gone():
    with simulation(with_tiles()) as run:
        steps(run, 21)
        on = {
            entity
            for entity, (x, y) in zip(run.agents.entity.tolist(), run.agents.position.tolist(), strict=True)
            if 8 < x < 16 and y < 4
        }
        while run.tick < COMES / 0.1:
            run.step()
            for entity, (x, y) in zip(run.agents.entity.tolist(), run.agents.position.tolist(), strict=True):
                assert entity in on or not (8 < x < 16 and y < 4), (run.tick, entity, x, y)
        assert run.run().not_arrived == 0


def test_a_tile_that_is_gone_already_stays_so_and_agents_may_do_it():
    document = with_tiles()
    document["events"] += [
        {"when": {"crossed": [[6, 0], [6, 4]], "count": 3}, "remove_tile": [2, 0]},
        {"at": 9.0, "add_tile": [3, 0]},
    ]
    with simulation(document) as run:
        kinds = [each.kind for _ in range(150) for each in run.step()]
        assert kinds.count(EventKind.TILE_REMOVED) == kinds.count(EventKind.TILE_ADDED) >= 2
        assert run.run().not_arrived == 0


@pytest.mark.parametrize("navigation", ["mesh", "optimal", "visibility"])
def test_an_agent_becomes_wider_by_the_clock_as_a_program_makes_it(navigation):
    with simulation(with_waist(navigation=navigation)) as run:
        clock = steps(run, 300)
        assert run.agents.radius.tolist() in ([], [WAIST])
    with simulation(two_gaps(navigation=navigation)) as run:
        first = steps(run, 20)
        run.set_radius("one[0]", WAIST)
        second = steps(run, 280)
    for one, other in zip(clock[1], first[1] + second[1], strict=True):
        assert np.array_equal(one, other)
    highest = max(float(place[:, 1].max()) for place in clock[1] if len(place))
    assert highest > 7.0  # it goes by the wide gap, at y = 8 to 9.25 m


def test_cells_know_distances_for_radii_that_are_to_come():
    with simulation(with_waist(navigation={"kind": "grid", "cell_size": 0.1, "object_padding": 0.02})) as run:
        places = steps(run, 500)[1]
        assert run.verdict().not_arrived == 0
    assert max(float(place[:, 1].max()) for place in places if len(place)) > 7.0


def test_events_are_the_same_for_any_number_of_threads_and_from_saved_states():
    assert_same_on_threads_and_from_saved_states(with_tiles(), 100, (19, 20, 21, 60))
    more = [
        {"position": [1.0, 4.0 + row], "radius": 0.2, "goals": [{"point": [8.0, 4.0]}]} for row in range(4)
    ]
    assert_same_on_threads_and_from_saved_states(with_waist(more=more), 60, (19, 20, 21))


@pytest.mark.parametrize("document", [with_tiles(), with_waist()], ids=["tiles", "radius"])
def test_a_scenario_that_is_written_out_says_the_same(document):
    scenario = parse_scenario(json.dumps(document))
    text = scenario.canonical()
    assert yaml.safe_load(text)["events"] == document["events"]
    assert parse_scenario(text).events == scenario.events


@pytest.mark.parametrize(
    ("event", "item", "says"),
    [
        ({"at": 1, "remove_tile": [99, 0]}, "events[0].remove_tile", r"no tile \(99, 0\)"),
        ({"at": 1, "add_tile": [1]}, "events[0].add_tile", "column and row"),
        ({"at": 1, "set_radius": 0.3}, "events[0]", "which agents"),
        ({"at": 1, "set_radius": 0.3, "agents": ["crwd"]}, "events[0].agents[0]", 'no group "crwd"'),
        ({"at": 1, "set_radius": 0.001, "agents": ["crowd"]}, "events[0].set_radius", "jump over"),
        ({"at": 1, "set_radius": 0.0, "agents": ["crowd"]}, "events[0].set_radius", "0"),
        ({"at": 1, "remove_tile": [1, 0], "agents": ["crowd"]}, "events[0].agents", "asks for no agents"),
        ({"at": 1, "remove_tile": [1, 0], "add_tile": [1, 0]}, "events[0].add_tile", "both given"),
        ({"at": 1}, "events[0]", "does not say what happens"),
    ],
)
def test_what_cannot_happen_is_refused_before_the_run(event, item, says):
    with pytest.raises(ScenarioError, match=says) as caught, simulation({**TWO_PATHS, "events": [event]}):
        pass
    assert [problem.item for problem in caught.value.problems] == [item]


def test_ground_in_one_piece_has_no_tiles_to_take_out():
    document = {**TWO_PATHS, "navigation": {}, "events": [{"at": 1, "remove_tile": [1, 0]}]}
    with pytest.raises(ScenarioError, match="in one piece"), simulation(document):
        pass
