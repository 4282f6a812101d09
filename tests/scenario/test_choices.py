"""Goals between which agents choose: what a scenario says of them, and mistakes in it."""

import pytest

from tests.scenario.worlds import load, problems_of

HALL = """
version: 1
geometry: {{walkable: {{box: [0, 0, 9, 9]}}}}
goals:
  a: {{exit: {{box: [8, 0, 9, 1]}}, flow: 2}}
  b: {{exit: {{box: [8, 8, 9, 9]}}}}
  c: {{region: {{box: [0, 0, 1, 1]}}}}
  near: {{nearest_of: [a, b]}}
  out: {0}
groups: [{{name: g, count: 1, goals: {1}}}]
"""


def hall(out, goals="out"):
    return HALL.format(out, goals)


def test_a_choice_has_its_parts_in_order_and_every_number():
    goal = next(each for each in load(hall("{quickest_of: [b, c, a]}")).goals if each.name == "out")
    assert goal.kind == "quickest_of" and goal.parts == (0, 1, 2)
    choice = goal.choice
    assert (choice.every, choice.gain, choice.keeps_for, choice.specific_flow) == (2.0, 3.0, 30.0, 1.3)
    assert not choice.needs_sight and choice.familiar == ()


@pytest.mark.parametrize(
    "out",
    [
        "{quickest_of: [a, b]}",
        "{quickest_of: [b, a], every: 0.5, gain: 0, keeps_for: 12, specific_flow: 1.9, knows: seen}",
        "{quickest_of: [a, b, c], familiar: {share: 0.25, only: [b]}}",
        "{quickest_of: [a, b, c], familiar: [{share: 0.25, only: [c, a]}, {share: 0.5, only: [b]}]}",
        "{quickest_of: [a, b], familiar: {only: [b]}}",
        "{quickest_of: [a, b], social_influence: {worth: 8}}",
        "{quickest_of: [a, b], social_influence: {worth: 2.5, within: 4, share: 0.3}}",
    ],
)
def test_a_choice_is_written_as_it_was_read(out):
    scenario = load(hall(out))
    again = load(scenario.canonical())
    assert again.canonical() == scenario.canonical()
    assert (
        next(goal for goal in again.goals if goal.choice).choice
        == next(goal for goal in scenario.goals if goal.choice).choice
    )


def test_scenarios_without_a_choice_are_written_as_before():
    assert "quickest" not in load(hall("{nearest_of: [a, b]}")).canonical()


@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("{quickest_of: []}", "goals.out.quickest_of"),
        ("{quickest_of: [a, d]}", 'goals.out.quickest_of[1]: there is no goal "d"'),
        ("{quickest_of: [a, near]}", 'goals.out.quickest_of[1]: "near" is nearest_of others itself'),
        ("{quickest_of: [a, out]}", 'goals.out.quickest_of[1]: "out" is quickest_of others itself'),
        ("{quickest_of: [a, b], every: 0}", "goals.out.every"),
        ("{quickest_of: [a, b], gain: -1}", "goals.out.gain"),
        ("{quickest_of: [a, b], knows: some}", "goals.out.knows"),
        ("{quickest_of: [a, b], specific_flow: 0}", "goals.out.specific_flow"),
        ("{quickest_of: [a, b], familiar: {share: 2, only: [a]}}", "goals.out.familiar.share"),
        ("{quickest_of: [a, b], familiar: {share: 0.5}}", "goals.out.familiar"),
        (
            "{quickest_of: [a, b], familiar: {only: [c]}}",
            'goals.out.familiar.only[0]: "c" is none of the goals',
        ),
        (
            "{quickest_of: [a, b], familiar: [{share: 0.7, only: [a]}, {share: 0.6, only: [b]}]}",
            "goals.out.familiar[1].share: with this one the shares are 1.3 in all",
        ),
        ("{quickest_of: [a, b], width: 2}", "goals.out.width"),
        ("{quickest_of: [a, b], social_influence: 3}", "goals.out.social_influence"),
        ("{quickest_of: [a, b], social_influence: {within: 3}}", "goals.out.social_influence"),
        ("{quickest_of: [a, b], social_influence: {worth: -1}}", "goals.out.social_influence.worth"),
        (
            "{quickest_of: [a, b], social_influence: {worth: 1, within: 0}}",
            "goals.out.social_influence.within",
        ),
        ("{quickest_of: [a, b], social_influence: {worth: 1, share: 2}}", "goals.out.social_influence.share"),
    ],
)
def test_a_mistake_in_a_choice_is_told_once_with_its_place(out, told):
    problems = problems_of(hall(out))
    assert len(problems) == 1 and told in problems[0], problems


def test_the_nearest_of_a_choice_is_refused_and_what_comes_after_an_exit_too():
    text = hall("{quickest_of: [a, b]}").replace("near: {nearest_of: [a, b]}", "near: {nearest_of: [a, out]}")
    assert any('"out" is quickest_of others: it is no place' in each for each in problems_of(text))
    assert any('"out" is an exit' in each for each in problems_of(hall("{quickest_of: [a, b]}", "[out, c]")))
    assert problems_of(hall("{quickest_of: [a, c]}", "[out, c]")) == []  # some stay for c


def test_a_machine_stays_at_no_choice():
    text = hall("{quickest_of: [a, b]}").replace("goals: out", "behaviour: m") + (
        "behaviours: {m: {states: {s: {stay: out}}}}\n"
    )
    assert any('"out" is a quickest_of, which has no inside' in each for each in problems_of(text))
