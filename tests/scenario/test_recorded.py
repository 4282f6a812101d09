"""What is recorded: rates that fit the tick, columns, agents, sizes."""

from __future__ import annotations

import pytest

from tests.scenario.worlds import load, problems_of, with_line


def record(value: str, more: str = "") -> str:
    return with_line("record", value) + more


@pytest.mark.parametrize(
    ("rate", "tick", "ticks"),
    [
        ("20", 0.05, 1),
        ("10", 0.05, 2),
        ("6.666667", 0.05, 3),
        ("6.66667", 0.05, 3),
        ("5", 0.05, 4),
        ("1", 0.05, 20),
        ("0.1", 0.05, 200),
        ("25", 0.04, 1),
        ("30", 1 / 30, 1),
    ],
)
def test_rates_that_divide_the_ticks_are_taken(rate: str, tick: float, ticks: int) -> None:
    found = load(record(f"{{rate: {rate}}}", f"tick: {tick!r}\n")).record
    assert found.ticks_per_frame == ticks
    assert found.rate == 1.0 / (ticks * tick)


@pytest.mark.parametrize(
    ("rate", "tick", "way_out"),
    [
        ("8", 0.05, "The nearest rates are 6.66667 (every 3rd tick) and 10 (every 2nd tick)."),
        ("16", 0.05, "The nearest rates are 10 (every 2nd tick) and 20 (every single tick)."),
        ("25", 0.05, "The nearest rate is 20 (every single tick)."),
        ("1000", 0.05, "The nearest rate is 20 (every single tick)."),
        ("0.9", 0.05, "The nearest rates are 0.869565 (every 23rd tick) and 0.909091 (every 22nd tick)."),
        ("1.8", 0.05, "The nearest rates are 1.66667 (every 12th tick) and 1.81818 (every 11th tick)."),
    ],
)
def test_rates_that_do_not_divide_the_ticks_name_the_nearest(rate: str, tick: float, way_out: str) -> None:
    from crowdsim.errors import ScenarioError

    with pytest.raises(ScenarioError) as caught:
        load(record(f"{{rate: {rate}}}", f"tick: {tick}\n"))
    (problem,) = caught.value.problems
    assert problem.way_out == way_out
    for nearest in way_out.replace("(", "").split():
        if nearest[0].isdigit() and nearest[-1].isdigit():
            # what a message names is accepted
            assert load(record(f"{{rate: {nearest}}}", f"tick: {tick}\n")).record.ticks_per_frame >= 1


@pytest.mark.parametrize(
    ("tick", "rate", "ticks"),
    [(0.05, 10.0, 2), (0.01, 10.0, 10), (0.04, 1 / 0.12, 3), (0.5, 2.0, 1), (0.1, 10.0, 1)],
)
def test_the_usual_rate_is_the_highest_up_to_ten(tick: float, rate: float, ticks: int) -> None:
    found = load(with_line("tick", repr(tick)).replace("count: 5", "count: 5, radius: 2, speed: 1")).record
    assert (found.rate, found.ticks_per_frame) == (pytest.approx(rate), ticks)


def test_columns_are_all_or_those_named_in_one_order() -> None:
    assert load(record("{rate: 10}")).record.columns == (
        "velocity",
        "preferred_velocity",
        "next_corner",
        "activity",
        "path_status",
        "goal",
    )
    assert load(record("{columns: [goal, velocity]}")).record.columns == ("velocity", "goal")
    assert load(record("{columns: []}")).record.columns == ()


def test_agents_are_all_every_kth_or_those_named() -> None:
    assert load(record("{agents: {every: 3}}")).record.every == 3
    text = record("{agents: [9, crowd, 7]}").replace(
        "groups: [", "groups: [{name: more, agents: [{id: 9}, {id: 7}]}, "
    )
    assert load(text).record.agents == (7, 9, "crowd")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{columns: [velocity, velocity]}", 'record.columns[1]: "velocity" is listed twice'),
        ("{columns: [x]}", 'record.columns[0]: "x" is no column that can be chosen'),
        ("{agents: [cowd]}", 'record.agents[0]: there is no group "cowd"'),
        ("{agents: [3]}", "record.agents[0]: no agent has the id 3"),
        ("{region: {box: [0, 0, 0, 1]}}", "record.region: the box [0, 0, 0, 1] has no inside"),
    ],
)
def test_what_cannot_be_recorded_is_told(value: str, message: str) -> None:
    assert [problem.split(": ", 1)[1] for problem in problems_of(record(value))] == [message]


def test_a_recording_that_would_fill_any_disk_is_refused_with_its_size() -> None:
    text = (
        with_line("groups", "[{name: crowd, count: 2000000}]") + "stop: {after: 100000}\nrecord: {rate: 20}\n"
    )
    (found,) = problems_of(text)
    assert found == (
        "t.yaml:6:9: record: 2,000,001 frames of 2,000,000 agents are up to 290,573 GiB, but there may "
        "be at most 1,024 GiB"
    )
    assert problems_of(text.replace("{rate: 20}", "{rate: 0.1, agents: {every: 100}}")) == []
