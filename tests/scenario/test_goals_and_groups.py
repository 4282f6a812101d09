"""Goals, groups, and what they must agree on; places on the ground; what is noted without being a mistake."""

from __future__ import annotations

import numpy as np
import pytest

from crowdsim.scenario.timetable import ticks_in
from tests.scenario.worlds import SMALL, load, problems_of, with_line


def scenario(goals: str, groups: str, geometry: str = "{walkable: {box: [0, 0, 10, 8]}}") -> str:
    return f"version: 1\ngeometry: {geometry}\ngoals: {goals}\ngroups: {groups}\n"


def test_points_that_stand_inline_are_goals_of_their_own_and_equal_ones_are_one() -> None:
    text = scenario(
        "{b: {point: [1, 1]}}",
        (
            "[{name: x, agents: [{position: [1, 1], goals: [{point: [2, 2]}, b]}, {position: [2, 1], goals: "
            "{point: [2.0, 2], speed: 1}}]}]"
        ),
    )
    found = load(text)
    assert [goal.name for goal in found.goals] == ["(2, 2) within 0.3 m", "b"]
    assert [
        [(visit.goal, visit.speed) for visit in agent.visits or ()] for agent in found.groups[0].listed
    ] == [[(0, None), (1, None)], [(0, 1.0)]]


def test_the_nearest_of_goals_that_are_themselves_nearest_of_comes_down_to_places() -> None:
    goals = (
        "{a: {point: [1, 1]}, b: {point: [2, 2]}, c: {region: {box: [3, 3, 4, 4]}}, bc: {nearest_of: [c, b, "
        "b]}, abc: {nearest_of: [bc, a]}}"
    )
    found = load(scenario(goals, "[{name: x, count: 1, goals: abc}]"))
    assert {
        goal.name: [found.goals[part].name for part in goal.parts] for goal in found.goals if goal.parts
    } == {"abc": ["a", "b", "c"], "bc": ["b", "c"]}


def test_deep_chains_of_goals_are_refused() -> None:
    chain = ", ".join(f"g{n}: {{nearest_of: [g{n + 1}]}}" for n in range(3000))
    found = problems_of(scenario(f"{{{chain}, g3000: {{point: [1, 1]}}}}", "[]"))
    assert any("nearest_of goals are nested more than 16 deep" in problem for problem in found)


def test_the_order_in_which_goals_and_groups_are_listed_changes_nothing() -> None:
    one = load(
        scenario(
            "{a: {point: [1, 1]}, b: {point: [2, 2]}}",
            "[{name: y, count: 2, goals: a}, {name: x, count: 3, goals: b}]",
        )
    )
    two = load(
        scenario(
            "{b: {point: [2, 2]}, a: {point: [1, 1]}}",
            "[{name: x, count: 3, goals: b}, {name: y, count: 2, goals: a}]",
        )
    )
    assert one.canonical() == two.canonical()


@pytest.mark.parametrize(
    ("goals", "group", "message"),
    [
        ("{}", "goals: door", 'groups[0].goals: there is no goal "door"'),
        (
            "{door: {exit: {box: [9, 0, 10, 8]}}}",
            "goals: [dor]",
            'groups[0].goals[0]: there is no goal "dor"',
        ),
        ("{a: {nearest_of: [a]}}", "", "goals.a.nearest_of[0]: goals go in a circle: a -> a"),
        (
            "{a: {exit: {box: [9, 0, 10, 8]}}, b: {nearest_of: [a]}}",
            "goals: b, leave_on_arrival: false",
            (
                'groups[0].leave_on_arrival: the last goal "b" is an exit, where agents leave the world: '
                "they cannot stay"
            ),
        ),
        (
            "{a: {exit: {box: [9, 0, 10, 8]}}, b: {point: [1, 1]}}",
            "goals: [a, b]",
            (
                'groups[0].goals[0]: "a" is an exit: agents leave the world there and never reach what '
                "comes after it"
            ),
        ),
        ("{a: {point: [20, 1]}}", "", "goals.a.point: (20, 1) lies 10 m outside the walkable ground"),
        (
            "{a: {region: [[20, 0], [21, 0], [21, 1]]}}",
            "",
            "goals.a.region: the area lies 10 m outside the walkable ground",
        ),
        (
            "{a: {exit: [[0, 0], [1, 1], [1, 0], [0, 1]]}}",
            "",
            "goals.a.exit: the boundary crosses itself at (0.5, 0.5)",
        ),
        ("{a: {exit: []}}", "", "goals.a.exit: no area is given"),
    ],
)
def test_goals_that_cannot_be_are_refused(goals: str, group: str, message: str) -> None:
    text = scenario(goals, f"[{{name: x, count: 1{', ' + group if group else ''}}}]")
    assert [problem.split(": ", 1)[1] for problem in problems_of(text)] == [message]


def test_a_mixture_of_exit_and_place_is_no_exit() -> None:
    goals = "{a: {exit: {box: [9, 0, 10, 8]}}, b: {point: [1, 1]}, c: {nearest_of: [a, b]}}"
    assert problems_of(scenario(goals, "[{name: x, count: 1, goals: c, leave_on_arrival: false}]")) == []


def test_points_on_the_boundary_that_snapping_moved_are_on_the_ground() -> None:
    third = 10 / 3
    text = scenario(
        f"{{a: {{point: [{third!r}, 4]}}}}",
        f"[{{name: x, positions: [[{third!r}, 4]], goals: a}}]",
        f"{{walkable: {{box: [0, 0, {third!r}, 8]}}}}",
    )
    assert problems_of(text) == []


def test_the_first_of_many_agents_outside_are_named_and_the_rest_counted() -> None:
    found = problems_of(
        scenario("{}", f"[{{name: x, positions: [{', '.join(f'[{n}, -1]' for n in range(9))}]}}]")
    )
    assert len(found) == 3
    assert found[0].endswith("agent 0 of x at (0, -1) lies 1 m outside the walkable ground")
    assert found[2].endswith(
        "agent 2 of x at (2, -1) lies 1 m outside the walkable ground, and so do 6 more of the group"
    )


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (scenario("{a: {point: [1, 1]}}", "[{name: x, count: 1}]"), "goals: nobody goes to a"),
        (scenario("{}", "[]"), "groups: there are no agents"),
        (
            scenario("{}", "[{name: x, positions: [[5, 5], [0.1, 4]]}]"),
            "groups[0]: 1 of 2 given positions are closer to a wall than the agent's radius",
        ),
        (
            scenario(
                "{a: {point: [21, 1]}}",
                "[{name: x, count: 1, region: {box: [0, 0, 1, 1]}, goals: a}]",
                "{walkable: [{box: [0, 0, 10, 8]}, {box: [20, 0, 30, 8]}]}",
            ),
            (
                'groups[0].goals: "a" lies on another part of the ground than all agents of "x": nobody can '
                "walk there"
            ),
        ),
    ],
)
def test_what_might_not_be_meant_is_noted(text: str, note: str) -> None:
    (found,) = load(text).notes
    assert f"{found.item}: {found.message}" == note
    assert found.line > 0


@pytest.mark.parametrize(
    ("groups", "noted"),
    [
        ("[{name: x, positions: [[1, 1], [1, 1]]}]", "2 of 2 given positions overlap another"),
        ("[{name: x, positions: [[1, 1], [1, 1.39], [5, 5]]}]", "2 of 3 given positions overlap another"),
        (
            (
                "[{name: x, positions: [[1, 1]]}, {name: y, radius: {uniform: {low: 0.3, high: 0.5}}, "
                "agents: [{position: [1.45, 1]}, {position: [4, 4]}]}]"
            ),
            "2 of 3 given positions overlap another",
        ),
        ("[{name: x, positions: [[1, 1], [1, 1.4], [5, 5]]}]", ""),
        ("[{name: x, positions: [[1, 1]]}]", ""),
    ],
)
def test_given_positions_that_overlap_are_noted(groups: str, noted: str) -> None:
    assert [note.message for note in load(scenario("{}", groups)).notes] == ([noted] if noted else [])


def test_nothing_is_noted_where_an_agent_can_get_to_its_goal() -> None:
    geometry = "{walkable: [{box: [0, 0, 10, 8]}, {box: [20, 0, 30, 8]}]}"
    assert load(scenario("{a: {point: [21, 1]}}", "[{name: x, count: 1, goals: a}]", geometry)).notes == ()
    assert (
        load(
            scenario(
                "{a: {point: [21, 1]}, b: {point: [1, 1]}, c: {nearest_of: [a, b]}}",
                "[{name: x, positions: [[2, 2]], goals: c}]",
                geometry,
            )
        ).notes
        == ()
    )


def test_the_tick_that_is_too_long_is_told_at_the_tick_or_else_at_the_group() -> None:
    fast = "[{name: x, count: 1, speed: 30}]"
    assert problems_of(with_line("groups", fast)) == [
        (
            "t.yaml:4:10: groups[0]: in a tick of 0.05 s an agent of groups[0] can walk 1.5 m (30 m/s): "
            "farther than the 0.4 m that the thinnest is wide"
        )
    ]
    assert problems_of(with_line("groups", "[{name: x, count: 1, radius: 0.1}]") + "tick: 0.2\n")[
        0
    ].startswith("t.yaml:5:7: tick: in a tick of 0.2 s")
    special = "[{name: x, agents: [{position: [1, 1], goals: [{goal: door, speed: 40}]}]}]"
    assert "(40 m/s)" in problems_of(with_line("groups", special))[0]


def test_a_number_of_agents_over_the_limit_is_refused_before_anything_is_made() -> None:
    assert problems_of(with_line("groups", "[{name: x, count: 99999999999999}]")) == [
        "t.yaml:4:27: groups[0].count: is 99999999999999, but may be at most 2000000"
    ]


@pytest.mark.parametrize(
    ("seconds", "tick", "ticks"),
    [
        (60.0, 0.05, 1200),
        (0.3, 0.1, 3),
        (0.31, 0.1, 4),
        (0.0, 0.05, 0),
        (1e6, 0.01, 100_000_000),
        (0.049999, 0.05, 1),
    ],
)
def test_times_are_whole_ticks_up_to_rounding_else_rounded_up(
    seconds: float, tick: float, ticks: int
) -> None:
    assert ticks_in(seconds, tick) == ticks
    assert ticks_in(np.array([seconds, seconds]), tick).tolist() == [ticks, ticks]


def test_groups_of_the_small_scenario_have_what_it_says() -> None:
    guests, sitters, walkers = load(SMALL).groups
    assert (sitters.count, sitters.leave_on_arrival, walkers.count, guests.count) == (3, False, 20, 3)
    assert [agent.id for agent in guests.listed] == [40, 7, None]
    assert guests.item == "groups[2]"
    assert guests.place.line == 27
