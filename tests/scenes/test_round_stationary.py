"""Ways on a mesh round those who stand, and through them where there is no other ([Pathfinding undated],
sections 5 and 6).
"""

import numpy as np
import pytest

from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import PathStatus

KINDS = ("mesh", "optimal", "visibility")

# Two rooms; the lower door is on the straight way, the upper one is 3 m further up.
TWO_DOORS = """
version: 1
name: two-doors
tick: 0.1
stop: {{when: all_arrived, after: 30}}
geometry:
  walkable: {{box: [0, 0, 8, 6]}}
  obstacles: [{{box: [4, 0, 4.2, 0.65]}}, {{box: [4, 1.35, 4.2, {upper}]}}, {{box: [4, {above}, 4.2, 6]}}]
goals: {{right: {{point: [7, 1]}}, behind: {{point: [7, 1.2]}}, far: {{point: [7, 1.3]}}}}
groups:
  - {{name: stander, positions: [{standers}], radius: 0.3}}
  - {{name: walker, positions: [[1, 1]], radius: 0.2, speed: 1.2, goals: [right]}}
avoidance: {avoidance}
navigation: {{kind: {kind}, round_stationary: {rounds}{more}}}
bodies: {{replanning: {replanning}}}
"""


def run(
    kind="mesh",
    rounds="true",
    standers="[4.1, 1]",
    upper=3.65,
    above=4.35,
    more="",
    avoidance="none",
    replanning="false",
    ticks=None,
):
    """Run a walker from the left room to the right; return (simulation at its end, places of the walker)."""
    text = TWO_DOORS.format(
        kind=kind,
        rounds=rounds,
        standers=standers,
        upper=upper,
        above=above,
        more=more,
        avoidance=avoidance,
        replanning=replanning,
    )
    simulation, places = Simulation(parse_scenario(text, file="two-doors.yaml"), threads=1), []
    while not simulation.why_over() and (ticks is None or len(places) < ticks):
        simulation.step()
        places.append(simulation.world.agents.position[-1].copy())
    return simulation, np.array(places)


def status_of_walker(**how):
    simulation, _ = run(ticks=2, **how)
    return PathStatus(int(simulation.world.agents.path_status[-1]))


def goes_by_the_upper_door(**how):
    _, places = run(**how)
    return bool(places[places[:, 0] < 4.1, 1].max() > 3.0)


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_way_leads_by_the_other_door_where_somebody_fills_the_first(kind):
    assert goes_by_the_upper_door(kind=kind)
    assert not goes_by_the_upper_door(kind=kind, rounds="false")
    assert status_of_walker(kind=kind) == PathStatus.FOUND


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_way_leads_through_who_stands_in_the_only_door(kind):
    closed = {"upper": 5.0, "above": 5.0, "kind": kind}
    assert status_of_walker(**closed) == PathStatus.FOUND_THROUGH_AGENTS
    _, places = run(**closed)
    assert places[:, 0].max() > 3.0, "it does not stay where it is"
    assert status_of_walker(**closed, rounds="false") == PathStatus.FOUND


def test_the_only_door_is_passed_where_who_stands_there_steps_aside():
    text = TWO_DOORS.format(
        kind="mesh",
        rounds="true",
        standers="[4.1, 1]",
        upper=5.0,
        above=5.0,
        more="",
        avoidance="orca",
        replanning="true, nudging: true",
    )
    with Simulation(parse_scenario(text, file="two-doors.yaml"), threads=1) as simulation:
        verdict = simulation.run()
    assert verdict.arrived == 1


@pytest.mark.full
def test_each_constant_of_s2_does_what_it_says():
    assert not goes_by_the_upper_door(more=", obstacle_radius_share: 0.2"), (
        "0.06 m in the middle of a door of 0.7 m leave room for a centre"
    )
    # at the lower post: 0.31 m to the upper one, of which the walker needs 0.2
    aside = {"standers": "[4.1, 0.86]"}
    assert goes_by_the_upper_door(more=", obstacle_radius_share: 1.0", **aside)
    assert not goes_by_the_upper_door(more=", obstacle_radius_share: 0.6", **aside)
    # Who stands behind the goal's side wall is farther from the line than the reach.
    assert not goes_by_the_upper_door(more=", obstacle_reach: 0.0", standers="[4.1, 1.02]")
    assert goes_by_the_upper_door(more=", obstacle_reach: 0.1", standers="[4.1, 1.02]")


def test_several_who_stand_together_shut_what_none_of_them_does_alone():
    wide = {"upper": 4.9, "above": 5.6}  # the door of 0.7 m above is free
    row = (
        "[2.0, 0.15], [2.0, 0.45], [2.0, 0.75], [2.0, 1.05], [2.0, 1.35], [2.0, 1.65], [2.0, 1.95], [2.0, "
        "2.25], [2.0, 2.55], [2.0, 2.85], [2.0, 3.15]"
    )
    rest = (
        ", [2.0, 3.45], [2.0, 3.75], [2.0, 4.05], [2.0, 4.35], [2.0, 4.65], [2.0, 4.95], [2.0, 5.25], [2.0, "
        "5.55], [2.0, 5.85]"
    )
    assert status_of_walker(standers=row + rest, **wide) == PathStatus.FOUND_THROUGH_AGENTS
    assert status_of_walker(standers=row, **wide) == PathStatus.FOUND


def test_nothing_of_it_is_on_the_mesh_and_who_moves_is_in_nobodys_way():
    simulation, _ = run(ticks=3)
    mesh = simulation.world.mesh
    plain, _ = run(ticks=3, rounds="false")
    assert all(np.array_equal(a, b) for a, b in zip(mesh, plain.world.mesh))
    text = TWO_DOORS.format(
        kind="mesh",
        rounds="true",
        standers="[4.1, 1]",
        upper=3.65,
        above=4.35,
        more="",
        avoidance="none",
        replanning="false",
    ).replace("name: stander, positions", "name: stander, goals: [far], positions")
    simulation = Simulation(parse_scenario(text, file="two-doors.yaml"), threads=1)
    simulation.step()
    assert len(simulation.world.agents) == 2
    places = []
    while not simulation.why_over():
        places.append(simulation.world.agents.position[-1].copy())
        simulation.step()
    assert max(y for _, y in places) < 2.0


def test_who_asks_again_hears_of_who_has_come_to_stand():
    """Replanning because of people ahead pays on a mesh that goes round them."""
    how = {"avoidance": "none", "replanning": "true"}
    text = TWO_DOORS.format(
        kind="mesh", rounds="true", standers="[4.9, 1]", upper=3.65, above=4.35, more="", **how
    ).replace(
        "name: stander, positions",
        (
            "name: stander, goals: [{point: [4.1, 1], arrive_within: 0.05}], speed: 1.3, leave_on_arrival: "
            "false, positions"
        ),
    )
    simulation, ys = Simulation(parse_scenario(text, file="two-doors.yaml"), threads=1), []
    while not simulation.why_over() and simulation.time < 25:
        simulation.step()
        ys.append(float(simulation.world.agents.position[-1, 1]))
    assert max(ys) > 3.0, "it goes by the upper door, which it did not look for when it set off"


def test_another_goal_that_is_where_the_way_leads_is_no_new_request():
    for same_target, asks in ((0.25, False), (0.1, True)):
        simulation, _ = run(ticks=3, more=f", same_target: {same_target}")
        before = int(simulation.world.agents.path_tick[-1])
        simulation.set_goal(simulation.world.agents.entity[-1], "behind")
        simulation.step()
        assert (int(simulation.world.agents.path_tick[-1]) != before) == asks
        while not simulation.why_over():
            simulation.step()
        assert (
            np.hypot(*(simulation.world.agents.position[-1] - (7.0, 1.2))) < 0.6
            or len(simulation.world.agents) == 1
        )
    simulation, _ = run(ticks=3)
    before = int(simulation.world.agents.path_tick[-1])
    simulation.set_goal(simulation.world.agents.entity[-1], "far")  # 0.3 m away
    simulation.step()
    assert int(simulation.world.agents.path_tick[-1]) != before


@pytest.mark.sample(1)
@pytest.mark.parametrize("threads", [2, 3])
def test_runs_are_the_same_for_any_number_of_threads(threads):
    how = {
        "kind": "mesh",
        "rounds": "true",
        "standers": "[4.1, 1], [3.6, 1.1], [2.5, 1.5]",
        "upper": 3.65,
        "above": 4.35,
        "more": "",
        "avoidance": "orca",
    }
    scenario = parse_scenario(TWO_DOORS.format(**how, replanning="true"), file="two-doors.yaml")
    with Simulation(scenario, threads=threads) as simulation:
        simulation.run()
        digest = simulation.digest
    with Simulation(scenario, threads=1) as other:
        other.run()
        assert digest == other.digest


def cross_a_room(
    standers,
    kind="mesh",
    model="none",
    start=(2.0, 5.0),
    goal=None,
    rounds=True,
    after=30,
    more=None,
    obstacles=(),
):
    """Let a walker cross a room of 16 x 10 m in which others stand;
    return (whether it arrived, its places, how near it came to the middle of anybody).
    """
    scenario = load_scenario({
        "version": 1, "tick": 0.05, "stop": {"when": "all_arrived", "after": after},
        "geometry": {"walkable": {"box": [0, 0, 16, 10]}, "obstacles": list(obstacles)},
        "goals": {"there": goal or {"point": [14, 5]}},
        "groups": [
            {"name": "stander", "positions": [list(map(float, place)) for place in standers], "radius": 0.25},
            {"name": "walker", "positions": [list(start)], "radius": 0.2, "speed": 1.3, "goals": ["there"]},
        ],
        "avoidance": model, "navigation": {"kind": kind, "round_stationary": rounds, **(more or {})},
    })  # fmt: skip
    with Simulation(scenario, threads=1) as simulation:
        walker, places = int(simulation.agents.entity[-1]), []
        while not simulation.why_over() and simulation.agents.entity[-1] == walker:
            simulation.step()
            if simulation.agents.entity[-1] == walker:
                places.append(simulation.agents.position[-1].copy())
        away = np.hypot(*(np.array(places)[:, None] - np.array(standers, dtype=float)).transpose(2, 0, 1))
        return simulation.why_over() == "all arrived", np.array(places), float(away.min())


def length_of(places):
    return float(np.hypot(*np.diff(places, axis=0).T).sum())


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_line_within_one_polygon_leads_round_who_stands_in_it(kind):
    arrived, places, nearest = cross_a_room([(8.0, 5.0)], kind)
    assert arrived and nearest > 0.4 and length_of(places) < 11.9, (
        "bodies of 0.45 m in sum, and a straight line of 11.7 m"
    )
    assert cross_a_room([(8.0, 5.0)], kind, rounds=False)[2] < 0.2, "without the option it goes through him"


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_line_leads_round_a_row_and_out_of_a_pocket(kind):
    row = [(8.0, 5.0 + 0.45 * place) for place in range(-8, 9)]
    arrived, places, nearest = cross_a_room(row, kind)
    assert arrived and nearest > 0.4 and length_of(places) < 16.0
    sides = [(8.0 - 0.45 * place, y) for place in range(1, 5) for y in (3.2, 6.8)]
    arrived, places, nearest = cross_a_room(
        [(8.0, 5.0 + 0.45 * place) for place in range(-4, 5)] + sides, kind, start=(7.0, 5.0)
    )
    assert arrived and nearest > 0.4 and places[:, 0].min() < 6.2


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["orca", "toi"])
def test_a_line_leads_round_a_row_under_avoidance_too(model):
    arrived, places, nearest = cross_a_room(
        [(8.0, 5.0 + 0.45 * place) for place in range(-3, 4)], model=model
    )
    assert arrived and nearest > 0.4 and length_of(places) < 12.8


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_the_last_leg_behind_a_door_leads_round_too(kind):
    wall = [{"box": [5, 0, 5.2, 4]}, {"box": [5, 5.2, 5.2, 10]}]
    arrived, _, nearest = cross_a_room(
        [(9.0, 4.3), (9.0, 4.7), (9.0, 5.1)],
        kind,
        start=(2.0, 4.6),
        goal={"point": [14, 4.6]},
        obstacles=wall,
    )
    assert arrived and nearest > 0.4


def test_who_stands_on_the_goal_or_round_it_keeps_nobody_from_it():
    assert cross_a_room([(14.0, 5.0)])[0]
    ring = [(14.0 + 0.6 * np.cos(angle), 5.0 + 0.6 * np.sin(angle)) for angle in np.arange(6) * np.pi / 3]
    arrived, places, _ = cross_a_room(ring)
    assert arrived and length_of(places) < 13.0
    arrived, _, nearest = cross_a_room([(13.5, 5.0)], goal={"region": {"box": [13, 3, 15, 7]}})
    assert arrived and nearest > 0.4


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_where_people_stand_from_wall_to_wall_or_thick_a_line_leads_through_them(kind):
    arrived, _, nearest = cross_a_room([(8.0, 0.25 + 0.45 * place) for place in range(22)], kind)
    assert arrived and nearest < 0.2


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_a_standing_crowd_is_crossed(seed):
    rng, standers = np.random.default_rng(seed), []
    while len(standers) < 80:
        place = rng.uniform((4, 0.4), (12, 9.6))
        if all(np.hypot(*(place - other)) > 0.52 for other in standers):
            standers.append(place)
    assert cross_a_room(standers, "optimal")[0]
    arrived, places, nearest = cross_a_room(standers[:40], "optimal")
    assert arrived and nearest > 0.38 and length_of(places) < 13.0


@pytest.mark.full
def test_a_larger_share_walks_round_wider():
    near = [cross_a_room([(8.0, 5.0)], more={"obstacle_radius_share": share})[2] for share in (0.6, 4.0, 8.0)]
    assert near[0] < 0.5 and near[1] == pytest.approx(1.0, abs=0.1) and near[2] == pytest.approx(2.0, abs=0.1)


def test_groups_that_do_not_ask_for_it_and_lines_that_nobody_cuts_are_left_alone():
    arrived, places, _ = cross_a_room([(8.0, 5.6)])
    assert arrived and np.abs(places[:, 1] - 5.0).max() == 0.0, "0.6 m beside the line"
    plain = cross_a_room([(8.0, 5.6)], rounds=False)[1]
    assert np.array_equal(places, plain)
