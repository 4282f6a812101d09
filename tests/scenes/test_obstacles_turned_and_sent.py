"""Obstacles that turn, that programs put in, send and take away, and that move on one of several floors."""

import json

import numpy as np
import pytest
import shapely

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.scenario.load import parse_scenario
from crowdsim.world.columns import AgentState
from crowdsim.world.events import EventKind
from tests.crowds import digests, room, simulation

BAR = {"polygon": [[-1.5, -0.2], [1.5, -0.2], [1.5, 0.2], [-1.5, 0.2]]}
TWO_ROOMS = {
    "walkable": [
        {"box": [0, 0, 6, 6]},
        {"box": [6, 1, 6.2, 2.4]},
        {"box": [6, 4, 6.2, 5.4]},
        {"box": [6.2, 0, 12, 6]},
    ]
}
STOREYS = {
    "storeys": [
        {"name": "low", "elevation": 0, "walkable": {"box": [0, 0, 10, 6]}},
        {"name": "high", "elevation": 3, "walkable": {"box": [14, 0, 24, 6]}},
    ],
    "connections": [
        {
            "name": "ramp",
            "kind": "ramp",
            "lower": "low",
            "upper": "high",
            "foot": [[10, 2], [10, 4]],
            "head": [[14, 2], [14, 4]],
        }
    ],
}


def discs(run):
    """Return places and velocities of the rows that are obstacles."""
    agents = run.world.agents
    is_obstacle = agents.activity == AgentState.OBSTACLE
    return agents.position[is_obstacle].copy(), agents.velocity[is_obstacle].copy()


def through(run, ticks):
    """Step a run; return its events and the deepest overlap of anybody with an obstacle (m)."""
    events, worst = [], 0.0
    for _ in range(ticks):
        if run.why_over():
            break
        events += run.step().tolist()
        rows, is_obstacle = run.world.agents, run.world.agents.activity == AgentState.OBSTACLE
        if is_obstacle.any() and not is_obstacle.all():
            apart = np.hypot(
                *(rows.position[is_obstacle][:, None] - rows.position[~is_obstacle][None]).transpose(2, 0, 1)
            )
            same = rows.layer[is_obstacle][:, None] == rows.layer[~is_obstacle][None]
            worst = max(
                worst,
                float(
                    np.where(
                        same, rows.radius[is_obstacle][:, None] + rows.radius[~is_obstacle][None] - apart, 0.0
                    ).max()
                ),
            )
    return events, worst


def test_a_bar_that_turns_is_where_it_should_be_and_people_keep_out_of_its_way():
    walkers = [
        {"position": [x, y], "goals": [{"point": [-x, -y], "arrive_within": 0.4}]}
        for x, y in ((-4, -2.5), (4, 2.6), (-4, 2.7), (4, -2.8))
    ]
    bar = {"name": "bar", "shape": BAR, "path": [[0, 0]], "turns": 0.7}
    with simulation(room(walkers) | {"obstacles": [bar]}) as run:
        obstacle = run.scenario.obstacles[0]
        for tick in range(1, 60):
            run.step()
            place, velocity = discs(run)
            angle = 0.7 * tick * 0.05
            turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
            assert np.allclose(place, obstacle.centre @ turn, atol=1e-9)
            assert np.allclose(np.hypot(*velocity.T), 0.7 * np.hypot(*obstacle.centre.T), atol=0.01)
            assert obstacle.outline(tick).area == pytest.approx(1.2)
        events, worst = through(run, 800)
        assert worst <= 0.02 and run.why_over() == "all arrived"
        # what turns is never closed ground
        assert EventKind.OBSTACLE_STANDS not in {event[2] for event in events}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "navigation", ["mesh", {"kind": "grid", "cell_size": 0.1, "object_padding": 0.02}], ids=["mesh", "grid"]
)
def test_a_cart_points_along_its_path_and_stands_across_the_door_as_it_came(navigation):
    """It comes from the south and stops in the western door, lengthwise:
    3 m along y shut it, where 0.4 m across would not.
    """
    cart = {
        "name": "cart",
        "shape": BAR,
        "path": [[3, 1.7], {"point": [6.1, 1.7], "wait": 0}, [6.1, 2.3]],
        "speed": 1.0,
        "turns": "path",
        "stands_after": 0.5,
    }
    agents = [{"position": [1, 1.2], "goals": [{"point": [11, 1.2]}], "premovement": 8}]
    with simulation(
        {**room(agents), "geometry": {**TWO_ROOMS}, "obstacles": [cart], "navigation": navigation}
    ) as run:
        crossed = set()
        while not run.why_over():
            run.step()
            crossed |= {bool(y > 3) for x, y in run.agents.position.tolist() if abs(x - 6.1) < 0.1}
        assert crossed == {True} and run.why_over() == "all arrived"
        assert run.scenario.obstacles[0].direction(400) == pytest.approx((0.0, 1.0))


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("size", [(2.0, 1.0), (1.2, 0.6), (3.0, 0.4)])
def test_people_pass_a_cart_by_less_than_a_hand(size):
    """Its discs stick out of it by 12 cm at most: 7 to 9 cm are measured along its sides."""
    x, y = size[0] / 2.0, size[1] / 2.0
    outline = [[-x, -y], [x, -y], [x, y], [-x, y]]
    walker = {
        "position": [-6, y + 0.1],
        "goals": [{"point": [6, y + 0.1], "arrive_within": 0.3}],
        "radius": 0.2,
    }
    cart = {"name": "cart", "shape": {"polygon": outline}, "path": [[0, 0]], "stands_after": 1000}
    with simulation(room([walker]) | {"obstacles": [cart]}) as run:
        gap = np.inf
        while not run.why_over():
            run.step()
            gap = min(
                [
                    gap,
                    *(shapely.Polygon(outline).distance(shapely.points(run.agents.position)) - 0.2).tolist(),
                ]
            )
        assert -0.005 < gap < 0.12 and run.why_over() == "all arrived"


def test_turning_is_kept_in_the_canonical_text_and_in_a_saved_state():
    obstacles = [
        {"name": "bar", "shape": BAR, "path": [[-3, 0]], "turns": -0.5},
        {
            "name": "cart",
            "shape": BAR,
            "path": [[3, -4], [3, 4]],
            "speed": 1.0,
            "turns": "path",
            "turn_time": 0.4,
            "loop": True,
        },
    ]
    document = room([{"position": [-8, y], "goals": [{"point": [8, -y]}]} for y in (-2, 0, 2)]) | {
        "obstacles": obstacles
    }
    text = parse_scenario(json.dumps(document)).canonical()
    assert parse_scenario(text).canonical() == text
    with simulation(document) as run, simulation(document) as other:
        digests(run, 40)
        state = run.state()
        expected = digests(run, 20)
        other.restore(state)
        assert digests(other, 20) == expected


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"shape": {"disc": 1}}, "obstacles[0].turns", "a disc looks the same"),
        ({"turns": 0}, "obstacles[0].turns", "turns nothing"),
        ({"turns": 50}, "obstacles[0].turns", "its rim would move at"),
        ({"turns": "path"}, "obstacles[0].turns", "the path has one point"),
        ({"turns": "left"}, "obstacles[0].turns", "path"),
        ({"storey": "low"}, "obstacles[0].storey", "the geometry has none"),
    ],
)
def test_mistakes_are_named(change, place, message):
    bar = {"name": "bar", "shape": BAR, "path": [[0, 0]], "turns": 0.7, **change}
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(json.dumps(room([{"position": [5, 5]}]) | {"obstacles": [bar]}))
    assert place in str(caught.value) and message in str(caught.value)


def sent(run):
    """Put a cart in, send it off, turn it back, take it away, in a run of walkers."""
    for tick in range(120):
        if tick == 10:
            run.put_obstacle("cart", {"disc": 0.5}, (-2.0, 3.0), stands_after=0.5)
        elif tick == 40:
            run.move_obstacle("cart", [(-2.0, 0.0), (2.0, 0.0)], 1.2)
        elif tick == 70:
            run.move_obstacle("cart", (-2.0, -3.0), 0.8)
        elif tick == 110:
            run.remove_obstacle("cart")
        yield run.step()


WALKERS = [
    {"position": [-8, y], "goals": [{"point": [8, y], "arrive_within": 0.5}]} for y in (-1.0, 0.0, 1.0)
]


def test_a_program_puts_an_obstacle_in_sends_it_about_and_takes_it_away():
    with simulation(room(WALKERS)) as run:
        places, kinds = {}, []
        for tick, events in enumerate(sent(run), start=1):
            kinds += events.kind.tolist()
            place, velocity = discs(run)
            assert len(place) == (1 if 11 <= tick <= 110 else 0)
            if len(place):
                places[tick] = place[0]
                assert np.hypot(*velocity[0]) <= 1.2 + 1e-9
        assert (
            np.allclose(places[40], (-2, 3))
            and np.allclose(places[60], (-2, 3 - 1.2))
            and np.allclose(places[110], (-2, -0.4))
        )
        assert (
            max(np.hypot(*(places[tick + 1] - places[tick])) for tick in range(11, 110)) <= 1.2 * 0.05 + 1e-9
        )
        assert [
            kinds.count(kind)
            for kind in (EventKind.OBSTACLE_APPEARED, EventKind.OBSTACLE_GONE, EventKind.OBSTACLE_SENT)
        ] == [1, 1, 4]
        assert EventKind.OBSTACLE_STANDS in kinds and EventKind.OBSTACLE_MOVES in kinds
        verdict = run.run()
        assert verdict.arrived == 3 and verdict.steered == 4


def test_a_run_with_sent_obstacles_goes_on_from_a_saved_state():
    with simulation(room(WALKERS)) as run, simulation(room(WALKERS)) as other:
        states, expected = {}, []
        for tick, _ in enumerate(sent(run), start=1):
            expected.append(run.digest)
            if tick in (5, 11, 50, 95, 115):
                states[tick] = run.state()
        for tick in (95, 115, 5, 50, 11):
            other.restore(states[tick])
            assert digests(other, 5) == expected[tick : tick + 5]


def test_an_obstacle_of_the_scenario_can_be_sent_off_its_timetable_and_come_back():
    cart = {"name": "cart", "shape": {"disc": 0.5}, "path": [[0, 4], [0, -4]], "speed": 1.0, "vanishes": 30}
    with simulation(room(WALKERS, stop={"after": 20, "when": "never"}) | {"obstacles": [cart]}) as run:
        for _ in range(20):
            run.step()
        run.move_obstacle("cart", (0.0, 5.0), 1.0)
        for _ in range(80):
            run.step()
        assert np.allclose(discs(run)[0], [[0.0, 5.0]])
        run.remove_obstacle("cart")
        with pytest.raises(CrowdsimError, match="is there already"):
            run.put_obstacle("cart", {"disc": 0.3}, (0, 0))
        run.step()
        assert not len(discs(run)[0])
        run.put_obstacle("cart", {"disc": 0.3}, (1, 1))
        run.step()
        assert np.allclose(discs(run)[0], [[1.0, 1.0]]) and run.world.agents.radius[-1] == 0.3


def test_mistakes_of_programs_are_told_in_a_sentence():
    with simulation(room(WALKERS)) as run:
        for wrong, message in (
            (
                lambda: run.move_obstacle("cart", (0, 0), 1.0),
                'there is no obstacle "cart" now. None is there now',
            ),
            (
                lambda: run.put_obstacle("cart", {"disc": 0.5}, (30, 0)),
                r"the path leaves the walkable ground at \(30, 0\)",
            ),
            (lambda: run.put_obstacle("cart", {"disk": 0.5}, (0, 0)), "disc"),
            (lambda: run.put_obstacle("cart", {"disc": 0.5}, (0, 0), colour="red"), "colour"),
        ):
            with pytest.raises(CrowdsimError, match=message):
                wrong()
        run.put_obstacle("cart", {"disc": 0.5}, (0, 0))
        run.step()
        with pytest.raises(CrowdsimError, match=r'Did you mean "cart"\? There are cart'):
            run.remove_obstacle("card")


def on_floors(**obstacle):
    cart = {
        "name": "cart",
        "shape": {"disc": 0.6},
        "storey": "high",
        "path": [[19, 3]],
        "stands_after": 0.5,
        **obstacle,
    }
    walkers = [{"position": [1, y], "goals": ["far"]} for y in (2.5, 3.0, 3.5)]
    return {
        **room([]),
        "geometry": STOREYS,
        "goals": {"far": {"region": {"box": [22.5, 0, 24, 6]}, "storey": "high"}},
        "obstacles": [cart],
        "groups": [{"name": "all", "storey": "low", "agents": walkers}],
    }


def test_an_obstacle_on_an_upper_floor_is_met_there_and_ways_lead_round_it():
    with simulation(
        on_floors(path=[[18, 3]], shape={"polygon": [[-0.5, -2.2], [0.5, -2.2], [0.5, 2.2], [-0.5, 2.2]]})
    ) as run:
        run.step()
        assert set(run.world.agents.layer[run.world.agents.activity == AgentState.OBSTACLE].tolist()) == {
            run.scenario.geometry.floor_names.index("high")
        }
        events, worst = through(run, 1500)
        assert EventKind.OBSTACLE_STANDS in {event[2] for event in events} and worst <= 0.02
        assert run.why_over() == "all arrived"
        hole = run.world.mesh
        assert not any(
            shapely.Polygon(hole.vertex[hole.edge_vertex[a:b], :2]).contains(shapely.Point(18, 3))
            for a, b in zip(hole.polygon_start[:-1], hole.polygon_start[1:])
        )


@pytest.mark.full
def test_nobody_on_another_floor_meets_it_and_one_on_the_foot_of_a_stair_is_only_avoided():
    below = on_floors(storey="low", path=[[9.6, 3]], shape={"disc": 0.3})
    with simulation(below) as run:
        _, worst = through(run, 1500)
        assert run.why_over() == "all arrived" and worst <= 0.02
    with pytest.raises(ScenarioError, match='"ramp" leads up, and obstacles move on level ground'):
        parse_scenario(json.dumps(on_floors(storey="ramp", path=[[12, 3]])))
    with pytest.raises(ScenarioError, match="says no storey, but the geometry has several"):
        parse_scenario(
            json.dumps(
                {**on_floors(), "obstacles": [{"name": "cart", "shape": {"disc": 0.6}, "path": [[19, 3]]}]}
            )
        )


def test_a_run_with_obstacles_on_floors_goes_on_from_a_saved_state():
    document = on_floors(path=[{"point": [17, 3], "wait": 3}, [19, 3]], speed=1.0)
    with simulation(document) as run, simulation(document) as other:
        states, expected = [], []
        for tick in range(140):
            if tick % 20 == 7:
                states.append((tick, run.state()))
            run.step()
            expected.append(run.digest)
        for tick, state in states[::-1]:
            other.restore(state)
            assert digests(other, 8) == expected[tick : tick + 8]
