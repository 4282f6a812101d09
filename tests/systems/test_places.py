"""Agents that stay in a region move in to places of their own,
so that those behind them find its rim free.
"""

from dataclasses import replace

import numpy as np
import pytest

from crowdsim.bodies.places import PlaceParameters
from crowdsim.systems.base.system import Tick
from crowdsim.systems.goals.place_rows import STANDING
from crowdsim.systems.goals.places import LOOSEST_M, Places
from crowdsim.world.columns import AgentState
from tests.crowds import assert_same_on_threads_and_from_saved_states, simulation
from tests.reference import places as twin

SQUARE = (11.0, 2.0, 17.0, 6.0)


def square(
    count,
    *,
    regions=((0.5, 0.5, 9, 7.5),),
    box=SQUARE,
    walkable=((0, 0), (20, 0), (20, 8), (0, 8)),
    obstacles=(),
    more=(),
    **settings,
):
    """Return a hall of 20 x 8 m with a region in which groups stay, each from a box of its own."""
    groups = [
        {
            "name": f"from{i}",
            "count": count,
            "region": {"box": list(each)},
            "goals": "square",
            "leave_on_arrival": False,
        }
        for i, each in enumerate(regions)
    ]
    return {
        "version": 1,
        "name": "square",
        "seed": 1,
        "stop": {"after": 60, "when": "all_arrived"},
        "geometry": {"walkable": [list(each) for each in walkable], "obstacles": list(obstacles)},
        "goals": {"square": {"region": {"box": list(box)}}, "back": {"exit": {"box": [0, 3, 0.3, 5]}}},
        "groups": [*groups, *more],
        **settings,
    }


def run_out(document, sets=()):
    """Run a scene; return where all agents are at the end, the radii, which have arrived,
    and how long it took.
    """
    with simulation(document, sets=list(sets)) as run:
        run.run()
        agents = run.world.agents
        return agents.position.copy(), agents.radius.copy(), agents.goal < 0, run.tick * run.scenario.tick


def inside(position, box=SQUARE, margin=0.0):
    """Return which positions lie in a box, or no farther outside than a margin."""
    return np.all((position >= np.array(box[:2]) - margin) & (position <= np.array(box[2:]) + margin), axis=1)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "sets",
    [[], ["avoidance.model=clearpath"], ["navigation.kind=visibility"], ["navigation.kind=grid"]],
    ids=str,
)
def test_all_arrive_that_there_is_room_for(sets):
    position, _, arrived, took = run_out(square(40), sets)
    assert np.all(arrived) and np.all(inside(position, margin=0.1)) and took < 20.0
    middle = (SQUARE[0] + 1.5, SQUARE[1] + 1.0, SQUARE[2] - 1.5, SQUARE[3] - 1.0)
    assert np.count_nonzero(inside(position, middle)) >= 5  # a quarter of the ground


def test_agents_that_stay_where_they_came_in_shut_the_rim():
    _, _, arrived, took = run_out(square(40), ["bodies.moving_in=false", "stop.after=30"])
    assert np.count_nonzero(arrived) < 30 and took > 29.0


def test_from_both_sides_all_have_places_without_overlaps():
    position, radius, arrived, _ = run_out(
        square(20, regions=((0.5, 0.5, 5, 7.5), (15, 0.5, 19.5, 7.5)), box=(7, 2, 13, 6))
    )
    apart = np.hypot(*(position[:, None] - position[None]).T) - radius[:, None] - radius[None]
    np.fill_diagonal(apart, np.inf)
    assert np.all(arrived) and apart.min() > -1e-3


@pytest.mark.parametrize("box", [(11.0, 0.8, 13.0, 7.2), (9.0, 3.0, 18.0, 5.0)], ids=["upright", "flat"])
def test_no_place_is_given_to_two(box):
    """Nor one on which another agent stands, whichever side of the region is the longer one."""
    with simulation(square(16, box=box)) as run:
        agents, sent = run.world.agents, 0
        while run.tick < 600 and np.any(agents.goal >= 0):
            run.step()
            moves_in = agents.is_yielding != 0
            takes = moves_in | ((agents.goal < 0) & (agents.activity == AgentState.STANDING))
            place = np.where(moves_in[:, None], agents.yield_target, agents.position)[takes]
            apart = np.hypot(*(place[:, None] - place[None]).T) - 2.0 * agents.radius.min()
            np.fill_diagonal(apart, np.inf)
            assert apart.min(initial=np.inf) > -0.02
            sent = max(sent, np.count_nonzero(moves_in))
        assert np.all(agents.goal < 0) and sent > 1


@pytest.mark.full
def test_a_region_that_many_visit_on_their_way_does_not_jam_while_others_stay():
    visitors = {
        "name": "visitors",
        "count": 20,
        "region": {"box": [0.5, 0.5, 9, 7.5]},
        "goals": ["square", "back"],
    }
    with simulation(square(40, more=(visitors,))) as run:
        run.run()
        agents = run.world.agents
        assert len(agents) == 40 and np.all(agents.goal < 0)  # all visitors have left again


def test_the_seed_decides_the_places():
    first, again, other = (run_out(square(5, seed=seed))[0] for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    spacing = 1.2
    for place in first:
        assert np.min(np.abs(np.hypot(*(first - place).T) - spacing)) < 0.2  # neighbours on one lattice
    assert not np.any(np.hypot(*(first[:, None] - other[None]).T) < 1e-3)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [1, 6])  # two at the rim shut one out, and move up when it is stuck
def test_no_agent_is_sent_to_a_place_behind_a_wall_and_none_shuts_the_rim(seed):
    wall = [[14, 0.5], [14.2, 0.5], [14.2, 7.5], [14, 7.5]]
    position, _, arrived, took = run_out(square(25, obstacles=[wall], seed=seed))
    assert np.all(arrived) and np.all(position[:, 0] < 14.0) and took < 40.0


def test_an_agent_alone_stops_as_soon_as_it_has_room_to_itself():
    position, _, arrived, _ = run_out(square(1))
    assert np.all(arrived) and position[0, 0] < SQUARE[0] + 1.2


def test_in_a_strip_too_thin_for_places_agents_arrive():
    position, _, arrived, _ = run_out(square(6, box=(11.0, 0.5, 11.02, 7.5)), ["stop.after=20"])
    assert np.all(arrived) and np.all(np.abs(position[:, 0] - 11.0) < 0.1)


def test_an_agent_that_a_program_stops_does_not_go_on_to_its_place():
    with simulation(square(30)) as run:
        while not np.any(run.world.agents.is_yielding):
            run.step()
        row = int(np.argmax(run.world.agents.is_yielding))
        run.set_goal(int(run.world.agents.entity[row]), None)
        run.step()
        assert run.world.agents.is_yielding[row] == 0 and not np.any(run.world.agents.preferred_velocity[row])


def test_places_are_the_same_with_any_threads_and_from_saved_states():
    assert_same_on_threads_and_from_saved_states(square(12, regions=((7, 2, 11, 6),)), 80, (20, 41))


@pytest.mark.parametrize("stays", [False, True])
def test_one_that_blocks_is_asked_to_move_up_only_where_agents_may_stay(stays, monkeypatch):
    """Looked for are kernels that runs without such places do not have ready."""
    asked = []
    survey = Places._survey
    monkeypatch.setattr(
        Places, "_survey", lambda self, *args, **more: asked.append(args[1]) or survey(self, *args, **more)
    )
    scene = square(
        0 if not stays else 1, walkable=((0, 0), (20, 0), (20, 0.9), (0, 0.9)), box=(11, 0, 17, 0.9)
    )
    scene["goals"]["back"] = {"exit": {"box": [0, 0, 0.3, 0.9]}}
    scene["groups"] = [
        *(
            [{"name": "late", "positions": [[19, 0.45]], "goals": "square", "leave_on_arrival": False}]
            * stays
        ),
        {"name": "post", "positions": [[3, 0.45]], "radius": 0.4},
        {"name": "leaves", "positions": [[6, 0.45]], "goals": "back"},
    ]
    scene["bodies"] = {"nudging": False}
    with simulation(scene) as run:
        while run.tick < 400:
            run.step()
        stuck = run.world.agents.is_stuck.any()
    assert stuck and (len(asked) > 0) == stays


def test_a_survey_among_other_places_than_last_time_is_made_again():
    """The places of a region follow from those that stay: as wider agents come they lie elsewhere."""
    with simulation(square(12)) as run:
        while np.count_nonzero(run.world.agents.activity == AgentState.STANDING) < 6:
            run.step()
        tick = Tick(run.tick + 1, run.scenario.tick, run.team)
        rows = np.flatnonzero(run.world.agents.activity == AgentState.STANDING)[:1]
        region, found = run.world.goal_names.index("square"), []
        for last in (None, "others"):
            places = Places(run.world, PlaceParameters(), run.scenario.seed)
            if last:
                places._look_at_ground()
                elsewhere = {"low": np.full(2, 90.0), "high": np.full(2, 91.0)}
                places._last[region] = replace(places._lattice(region, 1.2, 0.2), **elsewhere), 0.2
            known, spacing, tight, seen = places._survey_places(tick, {region: rows.tolist()}, leaving=True)
            standing = twin.listed(seen.found[0, 1], seen.parts[0, :, STANDING : STANDING + 2].tolist())
            found.append((known[0][0].low.tolist(), spacing[0], tight[0], standing.tolist()))
        assert found[0] == found[1]
        assert len(found[0][3]) >= 6


def test_an_agent_is_not_in_its_own_way():
    """The only place of a region lies so near to its rim that an agent that stands there would take it."""
    document = square(1, box=(10.9, 2.9, 11.3, 3.3))
    with simulation(document) as run:
        agents, region = run.world.agents, run.world.goal_names.index("square")
        places = Places(run.world, PlaceParameters(), run.scenario.seed)
        places._look_at_ground()
        while agents.goal[0] >= 0:
            run.step()
        arrived_at = agents.position[0].copy()
        run.run()
        agents = run.world.agents
        (place,) = places._lattice(region, LOOSEST_M, float(agents.radius[0])).point
        assert np.hypot(*(arrived_at - place)) < 2.0 * agents.radius[0]
        assert np.hypot(*(agents.position[0] - place)) < 0.05 < np.hypot(*(arrived_at - place))


def test_those_for_which_there_is_no_room_farther_apart_move_closer_one_by_one(monkeypatch):
    """The others may have room farther apart again; one that gets nowhere stays where it is."""
    asked, done = [], iter([[1], [1], [0], [1]])
    with simulation(square(4)) as run:
        places = Places(run.world, PlaceParameters(), run.scenario.seed)
        places._look_at_ground()

        def settle(tick, regions, seen, coming, counts, is_last, polygon):
            apart = np.hypot(*(regions.point[0] - regions.point[1]))
            asked.append((round(float(apart), 3), *coming.values(), counts, is_last))
            return next(done)

        monkeypatch.setattr(places, "_settle", settle)
        tick, region = Tick(1, run.scenario.tick, run.team), run.world.goal_names.index("square")
        given = [0, 1, 2, 3], (0.9, 0.6), 0.25, run.world.polygons()
        places._take_in_one_by_one(tick, region, *given, leaving=False)
    assert asked == [
        (0.6, [0], [4], [False]),
        (0.9, [1, 2, 3], [3], [False]),
        (0.6, [2], [2], [False]),
        (0.9, [3], [1], [False]),
    ]
