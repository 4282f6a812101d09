"""What programs can do to agents: other speeds, holds, other places."""

from __future__ import annotations

import numpy as np
import pytest

import crowdsim as library
from crowdsim.errors import CrowdsimError
from crowdsim.simulation.simulation import Simulation
from tests.cli.command import crowdsim
from tests.simulation.steered import hall

NAVIGATIONS = ["mesh", "optimal", "visibility", "grid", "s2-grid"]


def corridor(navigation="mesh", groups=(), **more):
    """Return an empty corridor of 20 m by 4 m, with a place to go to at its end."""
    return {
        "version": 1,
        "geometry": {"walkable": {"box": [0, 0, 20, 4]}},
        "goals": {"east": {"region": {"box": [18, 0, 20, 4]}}, "west": {"region": {"box": [0, 0, 2, 4]}}},
        "groups": list(groups),
        "navigation": navigation,
        "stop": {"after": 60, "when": "never"},
        **more,
    }


def walker(x=4.0, y=2.0, **more):
    return {
        "name": "walker",
        "agents": [{"position": [x, y], "goals": ["east"], "radius": 0.25, "speed": 1.2}],
        "leave_on_arrival": False,
        **more,
    }


def crowd(*places, name="others", **more):
    return {"name": name, "positions": [list(place) for place in places], "radius": 0.25, **more}


def steps(run, count):
    for _ in range(count):
        run.step()


# Speeds
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_an_agent_walks_at_the_speed_that_a_program_gives_it(navigation):
    with Simulation(corridor(navigation, [walker()])) as run:
        steps(run, 20)
        run.set_speed("walker[0]", 2.5)
        steps(run, 20)
        before = run.agents.position[0, 0]
        steps(run, 20)
        assert run.agents.position[0, 0] - before == pytest.approx(2.5, rel=1e-3)
        run.set_speed(1, 0.4)
        steps(run, 20)
        before = run.agents.position[0, 0]
        steps(run, 20)
        assert run.agents.position[0, 0] - before == pytest.approx(0.4, rel=1e-3)


def test_a_faster_agent_keeps_its_speed_over_a_save(tmp_path):
    with Simulation(corridor(groups=[walker()])) as run, Simulation(corridor(groups=[walker()])) as other:
        run.set_speed([1], 3.0)
        steps(run, 10)
        other.restore(run.state())
        steps(run, 30), steps(other, 30)
        assert other.agents.position.tobytes() == run.agents.position.tobytes()
        assert run.agents.position[0, 0] > 9.0


@pytest.mark.parametrize(
    ("speed", "message"),
    [
        (
            0.0,
            r"a speed of 0 m/s is none; give one above 0, of at most 833.333 m/s. `hold` lets agents stand",
        ),
        (-1.0, "a speed of -1 m/s is none"),
        (np.nan, "a speed of nan m/s is none"),
        (1e6, r"a speed of 1e\+06 m/s is none"),
        (12.0, r"walker\[0\] would walk 0.6 m in a tick of 0.05 s, farther than it is wide \(0.5 m\)"),
        ("fast", "1 agents need one speed or 1, in metres a second, but fast was given"),
        ([1.0, 2.0], "1 agents need one speed or 1"),
    ],
)
def test_what_is_no_speed_is_one_clear_error(speed, message):
    with Simulation(corridor(groups=[walker()])) as run:
        with pytest.raises(CrowdsimError, match=message):
            run.set_speed(1, speed)
        assert run.verdict().steered == 0


# Holds
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_a_held_agent_stands_and_goes_on_when_it_is_let_go(navigation):
    with Simulation(corridor(navigation, [walker()])) as run:
        steps(run, 20)
        run.hold("walker[0]")
        place = run.agents.position.copy()
        steps(run, 300)
        assert run.agents.position.tobytes() == place.tobytes()
        assert run.agents.is_stuck[0] == 0 and run.agents.gait[0] == 0
        run.hold("walker[0]", held=False)
        steps(run, 300)
        assert run.verdict().arrived == 1


@pytest.mark.parametrize("navigation", ["mesh", "grid"])
@pytest.mark.parametrize("held", [False, True])
def test_a_held_agent_is_not_asked_aside(navigation, held):
    """In a corridor that is no wider than two, others want through where it stands."""
    narrow = {
        "geometry": {"walkable": {"box": [0, 0, 20, 1.1]}},
        "bodies": {"nudging": True},
        "goals": {"east": {"region": {"box": [18, 0, 20, 1.1]}}},
    }
    groups = [walker(4.0, 0.55), crowd((9.0, 0.55), name="idle")]
    with Simulation(corridor(navigation, groups) | narrow) as run:
        if held:
            run.hold("idle[0]")
        place = run.agents.position[run.agents.label.index("idle[0]")].copy()
        steps(run, 200)
        idle = run.agents.label.index("idle[0]")
        moved = np.hypot(*(run.agents.position[idle] - place))
        assert (run.agents.nudges[idle] == 0) == held
        assert moved < 0.15 if held else moved > 0.2


def test_others_go_round_a_held_agent_that_had_a_goal():
    navigation = {"kind": "mesh", "round_stationary": True}
    groups = [walker(3.0), walker(9.0) | {"name": "held"}]
    with Simulation(corridor(navigation, groups)) as run:
        run.hold("held[0]")
        steps(run, 400)
        assert run.agents.position[run.agents.label.index("walker[0]"), 0] > 17.5
        assert run.agents.position[run.agents.label.index("held[0]")].tolist() == [9.0, 2.0]


def test_an_agent_on_its_way_aside_stops_where_it_is_held():
    with Simulation(
        corridor(groups=[walker(4.0), crowd((9.0, 2.0), name="idle")], bodies={"nudging": True})
    ) as run:
        idle = run.agents.label.index("idle[0]")
        while not run.agents.is_yielding[idle]:
            run.step()
        steps(run, 3)
        run.hold("idle[0]")
        place = run.agents.position[idle].copy()
        steps(run, 5)
        assert run.agents.is_yielding[idle] == 0
        assert np.hypot(*(run.agents.position[idle] - place)) < 0.1


def test_a_hold_is_saved_and_ends_where_a_velocity_is_set():
    with Simulation(corridor(groups=[walker()])) as run, Simulation(corridor(groups=[walker()])) as other:
        steps(run, 5)
        run.hold(1)
        other.restore(run.state())
        steps(other, 20)
        assert other.agents.velocity.tolist() == [[0.0, 0.0]]
        other.set_preferred_velocity(1, (0.0, 0.5))
        steps(other, 20)
        assert other.agents.velocity[0, 1] == pytest.approx(0.5)


# Other places
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_an_agent_is_put_elsewhere_and_finds_its_goal_from_there(navigation, tmp_path):
    document = hall("orca", navigation, groups=[hall()["groups"][0]])
    with Simulation(document, out=tmp_path / "run.h5") as run:
        steps(run, 40)
        run.move_agents("a[0]", (15.0, 1.0))
        run.move_agents([2, 3], [[9.5, 9.0], [10.5, 9.0]])
        assert run.agents.position[:3].tolist() == [[15.0, 1.0], [9.5, 9.0], [10.5, 9.0]]
        steps(run, 3)
        away = np.hypot(*(run.agents.position[:3] - [[15.0, 1.0], [9.5, 9.0], [10.5, 9.0]]).T)
        assert np.all(away < 0.5)
        steps(run, 600)
        assert run.verdict().arrived == 6
    with library.open_run(tmp_path / "run.h5") as recorded:
        events = recorded.events()
    moved = events[events["kind"] == "MOVED"]
    assert moved[["tick", "entity", "x", "y"]].to_numpy().tolist() == [
        [41, 1, 15.0, 1.0],
        [41, 2, 9.5, 9.0],
        [41, 3, 10.5, 9.0],
    ]


@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_an_agent_that_stands_stays_where_it_is_put(navigation):
    with Simulation(corridor(navigation, [crowd((5.0, 2.0), (6.0, 2.0))])) as run:
        steps(run, 10)
        run.move_agents([1], [12.0, 3.0])
        steps(run, 60)
        assert run.agents.position.tolist() == [[12.0, 3.0], [6.0, 2.0]]


def test_agents_may_exchange_places():
    with Simulation(corridor(groups=[crowd((5.0, 2.0), (5.5, 2.0))])) as run:
        run.move_agents([1, 2], [[5.5, 2.0], [5.0, 2.0]])
        assert run.agents.position.tolist() == [[5.5, 2.0], [5.0, 2.0]]


@pytest.mark.parametrize(
    ("entity", "place", "message"),
    [
        (1, (25.0, 2.0), r"others\[0\]: the place \(25, 2\) is off the walkable ground"),
        (1, (10.0, 0.1), r"the place \(10, 0.1\) is 0.1 m from a wall, but the agent has a radius of 0.25 m"),
        (1, (8.3, 2.0), r"the place \(8.3, 2\) is 0.3 m from others\[1\], but they need 0.5 m"),
        ([1, 2], [[3, 2], [3, 2.2]], r"others\[0\]: the place \(3, 2\) is 0.2 m from others\[1\]"),
        (1, (15.2, 2.0), r"the place \(15.2, 2\) is 0.2 m from an obstacle, but they need 0.75 m"),
        ([1, 1], [[3, 2], [4, 2]], r"others\[0\] is named twice, and can be in one place only"),
        ([1, 2], (3, 2), r"2 agents need 2 places \[x, y\] in metres, but \(3, 2\) was given"),
        (1, (np.nan, 2.0), r"1 agents need 1 places"),
        (1, "there", r"1 agents need 1 places \[x, y\] in metres, but there was given"),
        (7, (3, 2), "there is no agent 7"),
    ],
)
def test_no_agent_is_put_off_the_ground_into_a_wall_or_into_another(entity, place, message):
    with Simulation(corridor(groups=[crowd((5.0, 2.0), (8.0, 2.0))])) as run:
        run.put_obstacle("pillar", {"disc": 0.5}, (15, 2))
        run.step()
        before = run.agents.position.copy()
        with pytest.raises(CrowdsimError, match=message):
            run.move_agents(entity, place)
        assert run.agents.position.tobytes() == before.tobytes()


def test_a_closed_area_is_a_wall_for_those_that_are_put_there():
    document = hall(groups=[crowd((3.0, 3.0))])
    with Simulation(document) as run:
        run.move_agents(1, (8.0, 4.3))
        run.move_agents(1, (3.0, 3.0))
        run.set_area_available("gate", available=False)
        run.step()
        with pytest.raises(CrowdsimError, match="from a wall"):
            run.move_agents(1, (8.4, 5.0))


# Agents that come and go
# ------------------------------------------------------------------------------------------------------------

RESERVE = {"reserve": 5, "goals": ["east"], "leave_on_arrival": False}


def reserved(navigation="mesh", **more):
    """Return a corridor with two agents, and five that a program may put in."""
    groups = [crowd((5.0, 1.0), (5.0, 3.0), name="guests") | RESERVE, crowd((1.0, 3.6), name="last")]
    return corridor(navigation, groups, **more)


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_agents_of_a_reserve_come_in_and_go_where_their_group_goes(navigation, tmp_path):
    with Simulation(reserved(navigation), out=tmp_path / "run.h5") as run:
        run.put_obstacle("cart", {"disc": 0.3}, (10, 2))
        steps(run, 20)
        entity = run.add_agents("guests", [[3.0, 1.0], [3.0, 2.5]])
        assert entity.tolist() == [4, 5]
        assert run.agents.label == ["guests[0]", "guests[1]", "last[0]", "guests[2]", "guests[3]"]
        assert run.agents.position[3:].tolist() == [[3.0, 1.0], [3.0, 2.5]]
        (third,) = run.add_agents("guests", (2.0, 3.5))
        steps(run, 700)
        verdict = run.verdict()
        assert (verdict.agents, verdict.arrived, verdict.arrivals) == (6, 5, {"east": 5})
        assert third == 6 and run.agents.position[5, 0] > 17.5
    with library.open_run(tmp_path / "run.h5") as recorded:
        roster, events = recorded.roster(), recorded.events()
        assert roster["entity"].tolist() == [1, 2, 3, 4, 5, 6]
        assert roster["spawn_tick"].tolist() == [0, 0, 0, 21, 21, 21]
        assert recorded.labels()[6] == "guests[4]"
        assert len(recorded.trajectories()) > 0
    came = events[events["kind"] == "SPAWN"]
    assert came["tick"].tolist() == [0, 0, 0, 21, 21, 21]
    assert verdict_of(tmp_path / "run.h5", "verify") == 0


def verdict_of(path, verb):
    done = crowdsim([verb, path, "--threads", "2"])
    assert "Traceback" not in done.stderr
    return done.returncode


def test_agents_of_a_reserve_are_the_same_ones_whenever_they_come():
    drawn = {
        "radius": {"uniform": {"low": 0.15, "high": 0.25}},
        "speed": {"uniform": {"low": 0.8, "high": 1.8}},
    }
    document = corridor(groups=[{"name": "a", "count": 2, "reserve": 3, **drawn}])
    whole = corridor(groups=[{"name": "a", "count": 5, **drawn}])
    with Simulation(document) as run, Simulation(whole) as other:
        for entity in (1, 2):
            run.remove_agents(entity)
        steps(run, 7)
        run.add_agents("a", [[2, 2], [4, 2], [6, 2]])
        for name in ("key", "radius", "desired_speed", "maximum_speed", "symmetry_draw"):
            assert getattr(run.agents, name).tolist() == getattr(other.agents, name)[2:].tolist(), name


def test_a_scenario_with_a_reserve_is_the_run_without_until_one_comes():
    with Simulation(reserved()) as run, Simulation(corridor(groups=[
        crowd((5.0, 1.0), (5.0, 3.0), name="guests") | RESERVE | {"reserve": 0},
        crowd((1.0, 3.6), name="last"),
    ])) as other:  # fmt: skip
        steps(run, 50), steps(other, 50)
        assert run.digest == other.digest


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_agents_are_switched_off_and_come_back_as_they_were(navigation, tmp_path):
    with Simulation(reserved(navigation), out=tmp_path / "run.h5") as run:
        steps(run, 40)
        run.set_speed("guests[0]", 1.7)
        run.set_goal("guests[1]", "west")
        steps(run, 5)
        place = run.agents.position[:2].copy()
        run.switch_off(["guests[0]", "guests[1]"])
        assert run.agents.label == ["last[0]"]
        steps(run, 100)
        run.switch_on(["guests[1]", "guests[0]"])
        assert run.agents.position[:2].tobytes() == place.tobytes()
        assert run.agents.desired_speed[0] == 1.7
        steps(run, 600)
        assert run.verdict().arrivals == {"east": 1, "west": 1}
    assert verdict_of(tmp_path / "run.h5", "verify") == 0


def test_agents_that_are_off_take_no_room_and_may_come_back_elsewhere():
    with Simulation(reserved()) as run:
        steps(run, 3)
        run.switch_off(1)
        place = run.world.outside["position"][0].tolist()
        run.add_agents("guests", place)
        with pytest.raises(CrowdsimError, match=r"guests\[0\]: the place .* from guests\[2\], but they need"):
            run.switch_on(1)
        run.switch_on("guests[0]", (15.0, 2.0))
        assert run.agents.position[0].tolist() == [15.0, 2.0]


def test_what_is_done_to_nobody_changes_nothing():
    with Simulation(reserved()) as run, Simulation(reserved()) as other:
        for each in (run, other):
            steps(each, 3)
            each.switch_off(1)
        for nobody in ([], np.zeros(0, dtype=np.int64)):
            run.set_goal(nobody, "west"), run.set_goal(nobody, None), run.set_goal(nobody, (3.0, 2.0))
            run.set_speed(nobody, 1.0), run.set_radius(nobody, 0.3)
            run.set_preferred_velocity(nobody, (1, 0)), run.hold(nobody)
            run.remove_agents(nobody), run.move_agents(nobody, np.zeros((0, 2)))
            run.switch_off(nobody), run.switch_on(nobody), run.switch_on(nobody, np.zeros((0, 2)))
        steps(run, 30), steps(other, 30)
        assert run.digest == other.digest


def test_agents_that_are_removed_do_not_come_back():
    with Simulation(reserved()) as run:
        steps(run, 3)
        run.remove_agents(["guests[0]", "last[0]"])
        assert run.agents.label == ["guests[1]"]
        steps(run, 3)
        with pytest.raises(CrowdsimError, match=r'agent 1 \("guests\[0\]"\) is not switched off'):
            run.switch_on(1)
        with pytest.raises(CrowdsimError, match=r'agent 3 \("last\[0\]"\) has left the world'):
            run.set_goal(3, "east")
        assert (run.verdict().agents, run.verdict().not_arrived) == (3, 1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_what_is_outside_is_saved(navigation):
    with Simulation(reserved(navigation)) as run, Simulation(reserved(navigation)) as other:
        run.put_obstacle("cart", {"disc": 0.3}, (10, 2))
        steps(run, 5)
        run.add_agents("guests", [[3.0, 1.0], [3.0, 2.5]])
        run.switch_off([1, 5])
        other.restore(run.state())
        for each in (run, other):
            each.step()
            each.switch_on(5)
            each.add_agents("guests", (2.0, 2.0))
            steps(each, 100)
        assert run.digest == other.digest
        assert run.agents.label == other.agents.label == [
            "guests[1]", "last[0]", "guests[2]", "guests[3]", "guests[4]"
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda run: run.add_agents("guest", (3, 2)),
            r"there is no group 'guest'. Did you mean \"guests\"\?",
        ),
        (lambda run: run.add_agents(7, (3, 2)), "there is no group 7. Known are guests, last"),
        (
            lambda run: run.add_agents("last", (3, 2)),
            r"1 agents are to be put in, but the group last has a reserve of 0, and 0 of them are left. Give "
            r"it more: groups: \[\{name: last, reserve: 1, ...\}\]",
        ),
        (lambda run: run.add_agents("guests", [[k, 2] for k in range(2, 10)]), "8 agents are to be put in"),
        (lambda run: run.add_agents("guests", (5.1, 1.1)), r"guests\[2\]: the place .* from guests\[0\]"),
        (
            lambda run: run.add_agents("guests", (50, 1)),
            r"guests\[2\]: the place \(50, 1\) is off the walkable",
        ),
        (lambda run: run.add_agents("guests", (3, 0)), r"is 0 m from a wall"),
        (lambda run: run.add_agents("guests", [[3, 2], [3, 2.1]]), r"is 0.1 m from guests\[3\]"),
        (lambda run: run.add_agents("guests", "here"), r"the position of an agent is \[x, y\] in metres"),
        (lambda run: run.add_agents("guests", (3, 2), storey="upper"), "there is no storey 'upper'"),
        (lambda run: run.switch_on(1), r'agent 1 \("guests\[0\]"\) is not switched off'),
        (lambda run: run.switch_on(5), r'agent 5 \("guests\[3\]"\) is not switched off'),
        (lambda run: run.switch_off(5), r'agent 5 \("guests\[3\]"\) is not in the world now; add_'),
        (lambda run: run.remove_agents(99), "there is no agent 99"),
    ],
)
def test_agents_that_cannot_come_or_go_are_one_clear_error(call, message):
    with Simulation(reserved()) as run, Simulation(reserved()) as other:
        with pytest.raises(CrowdsimError, match=message):
            call(run)
        steps(run, 5), steps(other, 5)
        assert run.digest == other.digest and run.verdict().steered == 0


def test_an_agent_comes_in_on_another_storey():
    document = {
        "version": 1,
        "geometry": {
            "storeys": [
                {"name": "lower", "elevation": 0, "walkable": {"box": [0, 0, 10, 4]}},
                {"name": "upper", "elevation": 4, "walkable": {"box": [0, 0, 10, 4]}},
            ],
        },
        "groups": [{"name": "a", "positions": [[2, 2]], "storey": "lower", "reserve": 2}],
        "stop": {"after": 5, "when": "never"},
    }
    with Simulation(document) as run:
        run.add_agents("a", (2, 2), storey="upper")
        with pytest.raises(CrowdsimError, match=r"from a\[0\]"):
            run.add_agents("a", (2, 2))
        steps(run, 3)
        assert run.agents.layer.tolist() == [0, 1]
