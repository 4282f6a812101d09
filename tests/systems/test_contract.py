"""Every system keeps to the columns that it declares, and to its place in the tick."""

import numpy as np
import pytest

from crowdsim.systems import TICK_ORDER, Tick
from crowdsim.systems.agree import Agree
from crowdsim.systems.behave import Behave
from crowdsim.systems.change_ground import ChangeGround
from crowdsim.systems.choose import Choose
from crowdsim.systems.give_way import GiveWay
from crowdsim.systems.keep_together import KeepTogether
from crowdsim.systems.move_obstacles import MoveObstacles
from crowdsim.systems.paths.lost_paths import NOTED
from crowdsim.systems.ride import Ride
from crowdsim.systems.route import Route
from crowdsim.world.columns import AGENT_COLUMNS, BEHAVIOUR_COLUMNS, CHOICE_COLUMNS, PARTY_COLUMNS
from crowdsim.world.riding import RIDING_COLUMNS, WAYPATH_COLUMNS
from crowdsim.world.vehicles import VEHICLE_COLUMNS
from tests.crowds import BUSY, simulation

NAMES = {
    column.name
    for column in (
        *AGENT_COLUMNS,
        *BEHAVIOUR_COLUMNS,
        *PARTY_COLUMNS,
        *CHOICE_COLUMNS,
        *RIDING_COLUMNS,
        *WAYPATH_COLUMNS,
        *VEHICLE_COLUMNS,
    )
}


@pytest.mark.parametrize("kind", TICK_ORDER, ids=lambda kind: kind.__name__)
def test_a_system_declares_columns_that_exist(kind):
    assert set(kind.reads) <= NAMES and set(kind.writes) <= NAMES
    assert len(set(kind.reads)) == len(kind.reads) and len(set(kind.writes)) == len(kind.writes)


def test_a_system_writes_only_what_it_declares():
    meeting = {
        "name": "pair",
        "agents": [
            {"position": [x, 7.5], "goals": [{"point": [20 - x, 7.5], "arrive_within": 0.2}]} for x in (9, 11)
        ],
    }
    # in the way of agents that go east
    idle = {"name": "idle", "positions": [[6.5, 3.4], [6.5, 4.6], [7.2, 4.0], [4.5, 1.75]]}
    guests = {
        "name": "guests",
        "positions": [[5.5, 7.5], [5.5, 6.5]],
        "goals": "table",
        "leave_on_arrival": False,
    }
    callers = {"name": "callers", "positions": [[4.5, 6.0], [4.5, 6.8]], "goals": "table"}
    with simulation(
        {**BUSY, "groups": [*BUSY["groups"], idle, meeting, guests, callers]},
        # work enough that those that meet head on set off in one tick
        sets=["bodies.nudging=true", "bodies.replanning=true", "bodies.local_grid=true", "budget.work=60"],
    ) as run:
        agents = run.world.agents
        written: dict[str, set[str]] = {type(system).__name__: set() for system in run.systems}
        for number in range(1, 121):
            tick = Tick(number, run.scenario.tick, run.team)
            for system in run.systems:
                name = type(system).__name__
                before, entities = agents.state(), agents.entity.copy()
                system.process(tick)
                if not np.array_equal(entities, agents.entity):
                    assert name == "Retire"
                    continue
                changed = {
                    column
                    for column, array in before.items()
                    if not np.array_equal(array, getattr(agents, column), equal_nan=array.dtype.kind == "f")
                }
                assert changed <= set(type(system).writes), (
                    f"{name} changed {changed - set(type(system).writes)} at tick {number}"
                )
                written[name] |= changed
            run.world.tick = number
    # What is declared is also done. This scene has no stairs, no push off the path, no agent stuck, no goal
    # with a speed of its own, no hopeless goal, no model that tries samples, no law of speed and density, no
    # door that closes, no watcher, and no wish for a new path that a cooldown holds back; no agent gives way
    # by waiting time (tests/scenes/test_priority.py), no portal is shut for good, no path bends at a corner
    # in free ground (tests/systems/test_straighten.py), and none follows waypoints
    # (tests/scenes/test_grid_navigation.py).
    rare = {
        "Plan": {"strays", "activity", "replan_wish"},
        "Arrive": {"corridor_length", "strays", "desired_speed", "waits", "choice"},
        "Integrate": {"chosen_velocity"},
        "Avoid": {"samples"},
        "SlowDown": {"preferred_velocity"},
        "Walk": {"layer", "path_status", "strays"},
        "DetectStuck": {"is_stuck", "stuck_tick", "stuck_cause", "front_tick", "setbacks", "behind"},
        "ChangeGround": set(ChangeGround.writes),
        "Replan": {"replan_wish", "remaining"},
        "MoveObstacles": set(MoveObstacles.writes),
        "GiveWay": set(GiveWay.writes),
        "GoRound": {"priced_portal", "priced_until"},
        "Behave": set(Behave.writes),  # no agent has a machine
        "KeepTogether": set(KeepTogether.writes),  # nor a party
        "Agree": set(Agree.writes),
        "Choose": set(Choose.writes),  # no goal is a choice
        "Ride": set(Ride.writes),  # there are no connections
        "Route": set(Route.writes),
        "Follow": {"corridor_start", "corridor_capacity", "corridor_length", "activity", *NOTED},
    }
    for system in run.systems:
        name = type(system).__name__
        assert set(type(system).writes) - written[name] <= rare.get(name, set()), name


def test_obstacles_make_systems_write_only_what_they_declare():
    cart = {
        "name": "cart",
        "shape": {"disc": 0.4},
        "path": [[2, 1], {"point": [5, 1], "wait": 2}, [7, 1]],
        "speed": 1,
        "vanishes": 11,
        "stands_after": 0.5,
    }
    box = {
        "name": "box",
        "shape": {"polygon": [[-1, -0.5], [1, -0.5], [1, 0.5], [-1, 0.5]]},
        "path": [[6, 7]],
        "appears": 1,
    }
    with simulation(
        {**BUSY, "obstacles": [cart, box]}, sets=["speed_density=weidmann", "budget.work=60"]
    ) as run:
        agents, changes = run.world.agents, 0
        for number in range(1, 121):
            tick = Tick(number, run.scenario.tick, run.team)
            for system in run.systems:
                before, entities = agents.state(), agents.entity.copy()
                system.process(tick)
                if not np.array_equal(entities, agents.entity):
                    assert type(system).__name__ in ("Retire", "MoveObstacles")
                    changes += 1
                    continue
                changed = {
                    column
                    for column, array in before.items()
                    if not np.array_equal(array, getattr(agents, column), equal_nan=array.dtype.kind == "f")
                }
                assert changed <= set(type(system).writes), (
                    f"{type(system).__name__} changed {changed - set(type(system).writes)} at tick {number}"
                )
            run.world.tick = number
    assert changes > 3


def test_systems_count_what_they_declare():
    with simulation() as run:
        tick = Tick(1, run.scenario.tick, run.team)
        for system in run.systems:
            before = set(tick.counts)
            system.process(tick)
            assert set(tick.counts) - before == set(type(system).counts), type(system).__name__


def test_the_tick_in_the_documentation_is_the_tick():
    from tests.crowds import ROOT

    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    places = [text.find(f"`{kind.__name__}`") for kind in TICK_ORDER]
    assert all(place >= 0 for place in places) and places == sorted(places)
