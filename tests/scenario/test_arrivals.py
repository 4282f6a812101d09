"""When agents come in, as scenarios say it: what is understood, and what is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crowdsim.errors import ScenarioError
from crowdsim.scenario.arrivals import NO_LIMIT
from crowdsim.scenario.load import load_scenario
from crowdsim.scenario.model import Scenario
from tests.scenario.worlds import load, problems_of

HALL = "geometry: {walkable: {box: [0, 0, 10, 8]}}\n"
GOALS = "goals: {a: {exit: {box: [9, 0, 10, 2]}}, b: {exit: {box: [9, 6, 10, 8]}}}\n"


def text(arrive: str, goals: str = "a", more: str = "") -> str:
    return (
        f"version: 1\n{HALL}{GOALS}groups:\n"
        f"  - {{name: flow, region: {{box: [0, 0, 2, 8]}}, goals: {goals}, arrive: {arrive}{more}}}\n"
    )


def of(arrive: str) -> Any:
    return load(text(arrive)).groups[0].arrive


@pytest.mark.parametrize(
    ("written", "mean"), [("2", 0.5), ("2/s", 0.5), ("90/min", 60 / 90), ("1200/h", 3.0), ("0.5/s", 2.0)]
)
def test_rates_have_units(written: str, mean: float) -> None:
    even, random = of(f"{{rate: {written}}}"), of(f"{{rate: {written}, process: poisson}}")
    assert (even.gap.kind, even.gap.low) == ("number", pytest.approx(mean))
    assert (random.gap.kind, random.gap.first) == ("exponential", pytest.approx(mean))
    assert even.after == 0.0 and even.until == even.at_most == NO_LIMIT


def test_schedules_are_sorted_and_batches_of_one_time_are_one() -> None:
    assert of("{schedule: [[5, 2], [1, 3], [5, 1], [7, 0]]}").schedule == ((1.0, 3), (5.0, 3))


def with_files(folder: Path, document: str, **files: str) -> Scenario:
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    (folder / "a.yaml").write_text(document, encoding="utf-8")
    return load_scenario(folder / "a.yaml")


def test_schedules_and_trips_are_read_from_tables(tmp_path: Path) -> None:
    found = with_files(
        tmp_path,
        text("{schedule_file: when.csv}", "[{shares_file: trips.csv}]"),
        when="count, time, train\n3, 1.5, A\n\n2, 0.5, B\n",
        trips="origin,destination,share\nflow,b,30\nother,a,1\nflow,a,10\n",
    )
    assert found.groups[0].arrive is not None
    assert found.groups[0].arrive.schedule == ((0.5, 2), (1.5, 3))
    visit = found.groups[0].visits[0]
    assert {found.goals[goal].name: share for goal, share in visit.shares} == {"a": 10.0, "b": 30.0}
    # a recording carries the numbers, and none of the files
    again = load(found.canonical())
    assert again.canonical() == found.canonical() and ".csv" not in found.canonical()


@pytest.mark.parametrize(
    ("arrive", "problem"),
    [
        ("{}", "arrive: does not say when agents come"),
        ("{rate: 2, gap: 3}", "arrive.gap: rate and gap are both given"),
        ("{rate: 0}", "arrive.rate: "),
        ("{rate: 2/day}", "arrive.rate: '2/day' is no rate above 0 and up to 100,000 a second"),
        ("{rate: 0/s}", "arrive.rate: '0/s' is no rate above 0"),
        ("{rate: 9999999/s}", "arrive.rate: '9999999/s' is no rate above 0"),
        ("{gap: 2, process: poisson}", "arrive.process: only a rate has a process"),
        ("{rate: 2, process: random}", "arrive.process: "),
        ("{gap: -1}", "arrive.gap: "),
        ("{gap: 0}", "arrive.gap: is at most 0 s: all agents would come at once"),
        ("{rate: 2, after: 9, until: 9}", "arrive.until: is 9 s, but agents come from 9 s on: none would"),
        ("{rate: 2, at_most: 0}", "arrive.at_most: "),
        ("{rate: 2, doors: []}", "arrive.doors: "),
        ("{schedule: [[1, 2.5]]}", "arrive.schedule[0]: 2.5 is no number of agents"),
        ("{schedule: [[-1, 2]]}", "arrive.schedule[0]: the time -1 s is none"),
        ("{schedule: [[1]]}", "arrive.schedule[0]: "),
        ("{trains: {people: 4}}", "arrive.trains: trains come at given times or at intervals"),
        ("{trains: {people: 4, every: 9, at: [1]}}", "arrive.trains: trains come at given times or"),
        ("{trains: {people: 4, every: 9, within: 10}}", "arrive.trains.within: is 10 s, but the next train"),
        ("{trains: {people: 4, at: [1, 3], within: 5}}", "arrive.trains.at: the trains at 1 s and 3 s are"),
        ("{trains: {people: -4, every: 9}}", "arrive.trains.people: "),
        ("{rates: 2}", "arrive.rates: there is no key"),
        ("{schedule_file: none.csv}", "arrive.schedule_file: "),
    ],
)
def test_mistakes_have_their_place(arrive: str, problem: str) -> None:
    found = problems_of(text(arrive))
    assert any(f"groups[0].{problem}" in each for each in found), found


@pytest.mark.parametrize(
    ("goals", "problem"),
    [
        ("[{shares: {a: 1, c: 2}}]", 'there is no goal "c"'),
        ("[{shares: {a: 0, b: 0}}]", "share"),
        ("[{shares: {a: -1, b: 2}}]", "share"),
        ("[{shares: {}}]", "shares"),
        ("[{shares: {a: 1}, shares_file: x.csv}]", "shares"),
    ],
)
def test_mistakes_in_shares_have_their_place(goals: str, problem: str) -> None:
    found = problems_of(text("{rate: 1}", goals))
    assert any("groups[0].goals" in each and problem in each for each in found), found


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the first line has no column time"),
        ("time,number\n1,2\n", "the first line has no column count"),
        ("time,count\n1,2,3\n", "line 2 has 3 cells, but there are 2 columns"),
        ("time,count\n1,2\nx,2\n", 'line 3: time is "x", which is no number'),
        ("time,count\n1,nan\n", 'line 2: count is "nan", which is no number'),
        ("time,count\n1,2\n3,0.5\n", '"when.csv", line 3: 0.5 is no number of agents'),
    ],
)
def test_mistakes_in_tables_have_their_line(content: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        with_files(tmp_path, text("{schedule_file: when.csv}"), when=content)
    assert problem in str(caught.value) and "groups[0].arrive.schedule_file" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("origin,destination\nflow,a\n", "the first line has no column share"),
        ("origin,destination,share\nflow,a,-2\n", "line 2: share is -2, but must be at least 0"),
        ("origin,destination,share\nflow,a,1\nflow,a,2\n", "line 3: flow and a stand there twice"),
        ("origin,destination,share\nfloor,a,1\n", 'no line with the origin "flow"'),
        ("origin,destination,share\nflow,c,1\n", 'there is no goal "c"'),
    ],
)
def test_mistakes_in_trips_have_their_line(content: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        with_files(tmp_path, text("{rate: 1}", "[{shares_file: trips.csv}]"), trips=content)
    assert problem in str(caught.value)


def test_a_group_that_arrives_needs_no_agents_and_says_so() -> None:
    found = load(text("{rate: 1}"))
    assert found.groups[0].count == 0 and not any("no agents" in note.message for note in found.notes)
    both = load(text("{rate: 1}", more=", count: 3"))
    assert both.groups[0].count == 3 and both.groups[0].arrive is not None


def test_a_scenario_as_a_value_is_the_same() -> None:
    found = load(text("{trains: {people: {uniform: {low: 3, high: 9}}, every: 60, within: 20}, until: 500}"))
    assert load(found.canonical()).canonical() == found.canonical()
    assert json.loads(json.dumps(found.canonical()))
