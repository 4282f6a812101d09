"""Parties as scenarios say them: what is understood, and what is refused with its place."""

import pytest

from tests.scenario.worlds import load, problems_of


def text(together, more=""):
    return (
        "version: 1\ngeometry: {walkable: {box: [0, 0, 20, 20]}}\n"
        "goals: {a: {exit: {box: [19, 0, 20, 20]}}}\n"
        f"groups:\n  - {{name: g, count: 6, goals: a, together: {together}{more}}}\n"
    )


def test_a_party_has_a_size_and_what_is_left_out_has_a_default():
    found = load(text("{size: 3}")).groups[0].together
    assert (found.size.low, found.spacing, found.abreast, found.leader) == (3.0, 0.8, 4, False)
    assert (found.gap, found.patience, found.hurry, found.slower) == (3.0, 60.0, 1.3, 0.04)


def test_sizes_are_drawn_from_any_distribution_and_are_written_again():
    scenario = load(text("{size: {choice: {values: [2, 3, 4], weights: [6, 3, 1]}}, leader: true, gap: 2}"))
    again = load(scenario.canonical())
    assert again.groups[0].together == scenario.groups[0].together
    assert again.canonical() == scenario.canonical()
    assert "together" not in load(text("{size: 2}").replace(", together: {size: 2}", "")).canonical()


@pytest.mark.parametrize(
    ("together", "problem"),
    [
        ("{}", 'together: the key "size" is missing'),
        ("{size: 0}", "together.size: is 0 agents, but must be at least 1 agents"),
        ("{size: 101}", "together.size: is 101 agents, but may be at most 100 agents"),
        ("{size: 3, abreast: 0}", "together.abreast"),
        ("{size: 3, hurry: 0.5}", "together.hurry"),
        ("{size: 3, spacing: -1}", "together.spacing"),
        ("{size: 3, gap: 0}", "together.gap"),
        ("{size: 3, patience: -1}", "together.patience"),
        ("{size: 3, leder: true}", "leder"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(together, problem):
    assert any(problem in each for each in problems_of(text(together))), problems_of(text(together))


def test_machines_and_listed_agents_form_no_parties():
    machine = "behaviours: {m: {states: {out: {leave: a}}}}\n"
    led = text("{size: 2}", ", behaviour: m").replace("goals: a, ", "") + machine
    assert any("together: the agents have a behaviour" in each for each in problems_of(led))
    listed = text("{size: 2}").replace("count: 6", "agents: [{position: [1, 1]}, {position: [2, 2]}]")
    assert any("together: the agents are listed one by one" in each for each in problems_of(listed))


def test_a_tick_in_which_one_that_hurries_jumps_over_others_is_refused():
    slow = text("{size: 2}", ", speed: 1.9, radius: 0.1").replace("version: 1", "version: 1\ntick: 0.1")
    assert any("a tick of 0.1 s" in each for each in problems_of(slow))
    assert not problems_of(slow.replace("{size: 2}", "{size: 2, hurry: 1.05}"))
