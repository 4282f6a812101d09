"""Machines of states, as scenarios say them: what is understood, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from crowdsim.scenario.behaviours import END
from crowdsim.scenario.model import Scenario
from tests.scenario.worlds import load, problems_of

HEAD = """version: 1
geometry:
  walkable: {box: [0, 0, 20, 10]}
  areas: [{name: door, area: {box: [9, 0, 10, 2]}}]
goals: {out: {exit: {box: [19, 4, 20, 6]}}, hall: {region: {box: [10, 1, 16, 9]}}, spot: {point: [5, 5]}}
measures: {corner: {area: {box: [0, 0, 3, 3]}}}
queues: {till: {servers: [[15, 9]], line: [[14, 9], [11, 9]], service: 3}}
"""


def text(machine: str, *, more: str = "", group: str = "behaviour: m") -> str:
    return (
        f"{HEAD}behaviours:\n  m: {machine}\n{more}groups:\n  - {{name: g, positions: [[3, 3]], {group}}}\n"
    )


def of(machine: str, **given: str) -> Scenario:
    return load(text(machine, **given))


def states(machine: str, **given: str) -> dict[str, Any]:
    return {state.name: state for state in of(machine, **given).behaviours.states}


def test_a_state_leads_to_the_end_where_nothing_else_is_said() -> None:
    found = states("{states: {a: {wait: 3, then: b}, b: {go_to: spot}}}")
    assert [(each.kind, [to.state for to in each.then]) for each in found.values()] == [
        ("wait", [1]),
        ("go_to", [END]),
    ]
    assert found["a"].time.low == 3.0 and found["a"].cannot is None


def test_shares_lead_to_several_states_and_a_machine_can_begin_anywhere() -> None:
    scenario = of("{start: c, states: {a: {stand: true}, b: {leave: out}, c: {choose: {a: 1, b: 3}}}}")
    machine = scenario.behaviours.machines[0]
    assert machine.start == 2
    assert [(to.state, to.share) for to in machine.states[2].then] == [(0, 0.25), (1, 0.75)]


def test_machines_in_machines_are_laid_out_flat_with_values_for_their_parameters() -> None:
    more = (
        "  errand: {parameters: {place: spot, time: 2}, states: {go: {go_to: $place, then: stay}, "
        "stay: {wait: $time}}}\n"
    )
    found = states(
        "{when: [{signal: alarm, to: out}], states: {"
        "one: {machine: errand, then: two}, "
        "two: {machine: {name: errand, place: hall, time: 7}, lasts: 30, then: out}, out: {leave: out}}}",
        more=more,
    )
    assert list(found) == ["one/go", "one/stay", "two/go", "two/stay", "out"]
    assert (found["one/stay"].time.low, found["two/stay"].time.low) == (2.0, 7.0)
    # the end of the inner machine is what comes after the outer state
    assert [to.state for to in found["one/stay"].then] == [2]
    assert [to.state for to in found["two/stay"].then] == [4]
    # the outer state lasts as long as it says, whatever the inner ones do
    assert [lasts.low if lasts else None for lasts in found["two/go"].lasts] == [30.0, None]
    assert all(
        found[name].when[0].signals == {"alarm"} and found[name].when[0].once for name in [*found][:-1]
    )
    assert found["out"].when == ()  # where it leads to there is nothing to leave


def test_points_may_stand_in_machines_and_are_goals() -> None:
    scenario = of("{states: {a: {patrol: {places: [spot, {point: [2, 2]}]}, lasts: 9}}}")
    places = [scenario.goals[goal] for goal in scenario.behaviours.states[0].goals]
    assert [each.point for each in places] == [(5.0, 5.0), (2.0, 2.0)]
    assert [each.is_inline for each in places] == [False, True]


def test_a_scenario_writes_itself_and_reads_the_same_again() -> None:
    scenario = of(
        "{parameters: {t: 4}, when: [{all_of: [{signal: alarm}, {none_of: [{closed: door}]}], to: d}], "
        "states: {"
        "a: {queue: {at: till, patience: {uniform: {low: 3, high: 5}}}, then: {b: 1, c: 2}, cannot: c}, "
        "b: {approach: {to: g}, lasts: $t, then: c, signals: [bell]}, "
        "c: {wander: {where: hall, pause: 1}, when: [{after: 3, to: d}], lasts: {normal: {mean: 9, sd: 2}}}, "
        "d: {flee: {away_from: [g], hidden_for: 3}, then: e, speed: 2}, "
        "e: {wait_until: {any_of: [{count: {where: hall, at_least: 2}}, "
        "{density: {where: corner, at_most: 1}}, "
        "{at: 30}, {opened: door}, {near: {to: g, within: 2, seen: true}}, "
        "{hidden: {away_from: [g]}}]}, then: f}, "
        "f: {follow: {after: g}, lasts: 3, then: h}, "
        "h: {stay: hall, lasts: 2, then: i, ends_signals: [bell]}, "
        "i: {leave: out}}}"
    )
    again = load(scenario.canonical())
    assert again.canonical() == scenario.canonical()
    assert again.behaviours.states == scenario.behaviours.states and again.queues == scenario.queues
    assert again.signals == ["alarm", "bell"]


@pytest.mark.parametrize(
    ("machine", "problem"),
    [
        ("{states: {}}", "behaviours.m.states: "),
        ("{}", 'behaviours.m: the key "states" is missing'),
        ("{states: {a: {}}}", "behaviours.m.states.a: "),
        (
            "{states: {a: {wait: 3, go_to: spot}}}",
            "behaviours.m.states.a.wait: go_to and wait are both given",
        ),
        ("{states: {a: {wait: -3}}}", "behaviours.m.states.a.wait: "),
        ("{states: {a: {wait: 3, then: b}}}", 'behaviours.m.states.a.then: there is no state "b"'),
        ("{states: {a: {wait: 3, then: {a: 0}}}}", "behaviours.m.states.a.then: "),
        ("{start: z, states: {a: {wait: 3}}}", 'behaviours.m.start: there is no state "z"'),
        ("{states: {a: {go_to: sport}}}", 'behaviours.m.states.a.go_to: there is no goal "sport"'),
        (
            "{states: {a: {go_to: {point: [50, 5]}}}}",
            "behaviours.m.states.a.go_to.point: (50, 5) lies 30 m outs",
        ),
        ("{states: {a: {stay: spot}}}", 'behaviours.m.states.a.stay: the goal "spot" is a point'),
        ("{states: {a: {queue: tills}}}", 'behaviours.m.states.a.queue: there is no queue "tills"'),
        ("{states: {a: {approach: {to: h}}}}", 'behaviours.m.states.a.approach.to: there is no group "h"'),
        ("{states: {a: {follow: {after: 7}}}}", "behaviours.m.states.a.follow.after: no agent has the id 7"),
        ("{states: {a: {machine: n}}}", 'behaviours.m.states.a.machine: there is no machine "n"'),
        ("{states: {a: {machine: m}}}", "behaviours.m.states.a.machine: "),
        ("{states: {a: {wait: $t}}}", "behaviours.m.states.a.wait: "),
        (
            "{states: {a: {wait: 1, when: [{to: a}]}}}",
            "behaviours.m.states.a.when[0]: does not say what has to be",
        ),
        (
            "{states: {a: {wait: 1, when: [{at: 3, after: 2, to: a}]}}}",
            "behaviours.m.states.a.when[0].at: after and at are both given",
        ),
        (
            "{states: {a: {wait_until: {opened: dor}}}}",
            "behaviours.m.states.a.wait_until.opened: there is no area",
        ),
        (
            "{states: {a: {wait_until: {count: {where: hall}}}}}",
            "behaviours.m.states.a.wait_until.count: at_least or at_most: one of both",
        ),
        ("{states: {a: {choose: {b: 1}}, b: {choose: {a: 1}}}}", "the states a, b lead only to each other"),
        ("{states: {a: {wait: 1, then: a, speed: 0}}}", "behaviours.m.states.a.speed: "),
        ("{states: {a: {stay: hall, then: a}}}", "behaviours.m.states.a.then: stay is never done"),
        ("{states: {a: {wait: 1, thn: b}}}", 'behaviours.m.states.a.thn: there is no key "thn"'),
    ],
)
def test_mistakes_have_their_place(machine: str, problem: str) -> None:
    found = problems_of(text(machine))
    assert any(problem in each for each in found), found


@pytest.mark.parametrize(
    ("group", "problem"),
    [
        ("behaviour: n", 'groups[0].behaviour: there is no machine "n"'),
        ("behaviour: {name: m, t: 3}", 'groups[0].behaviour.t: the machine "m" has no parameter "t"'),
        ("behaviour: m, goals: out", "groups[0]."),
        ("behaviour: m, leave_on_arrival: false", "groups[0]."),
        ("behaviour: 3", "groups[0].behaviour: expects the name of a machine"),
    ],
)
def test_mistakes_of_groups_have_their_place(group: str, problem: str) -> None:
    found = problems_of(text("{states: {a: {wait: 3}}}", group=group))
    assert any(problem in each for each in found), found


@pytest.mark.parametrize(
    ("queue", "problem"),
    [
        ("{servers: [[5, 5]], service: 3}", "queues.q: line or lines: one of both"),
        ("{servers: [], line: [[5, 6], [5, 9]], service: 3}", "queues.q.servers: "),
        ("{servers: [[5, 5]], line: [[5, 6], [5, 6.1]], service: 3}", "queues.q.line: is 0.1 m long"),
        (
            "{servers: [[5, 5]], line: [[5, 6], [5, 16]], service: 3}",
            "queues.q.line: 6 m of the line are off",
        ),
        ("{servers: [[5, 15]], line: [[5, 6], [5, 9]], service: 3}", "queues.q.servers[0]: (5, 15) lies 5 m"),
        (
            "{servers: [[5, 5], [6, 5]], lines: [[[5, 6], [5, 9]]], service: 3}",
            "queues.q.lines: 1 lines for 2 se",
        ),
        ("{servers: [[5, 5]], line: [[5, 6], [5, 9]], service: -3}", "queues.q.service: "),
        (
            "{servers: [[5, 5]], line: [[5, 6], [5, 9]], service: 3, first: [h]}",
            "queues.q.first[0]: there is no g",
        ),
    ],
)
def test_mistakes_of_queues_have_their_place(queue: str, problem: str) -> None:
    document = text("{states: {a: {queue: till}}}").replace("queues: {", f"queues: {{q: {queue}, ")
    found = problems_of(document)
    assert any(problem in each for each in found), found


def test_what_is_odd_but_possible_is_a_note() -> None:
    scenario = of("{states: {a: {wait_until: {signal: bel}, then: a}, b: {wait: 1, signals: [bell]}}}")
    notes = [each.message for each in scenario.notes]
    assert any('nothing leads to the state "b"' in each for each in notes)
    assert any('the machine "m" never ends' in each for each in notes)
    assert any('waits for the signal "bel", which no state and no event gives' in each for each in notes)


def test_a_machine_may_hear_64_signals_in_all_its_states_and_no_more() -> None:
    heard = ", ".join(f"{{signal: s{number}, to: a}}" for number in range(65))
    assert any(
        "wait for 65 signals, but may for 64" in each
        for each in problems_of(
            text(f"{{when: [{heard}], states: {{a: {{wait: 1, then: b}}, b: {{wait: 2}}}}}}")
        )
    )
