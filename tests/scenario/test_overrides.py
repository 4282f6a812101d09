"""``--set``: single values changed before anything is checked."""

from __future__ import annotations

import pytest

from crowdsim.scenario.overrides import apply_overrides
from crowdsim.scenario.tree import Problems, plain
from crowdsim.scenario.yaml_reader import read_yaml
from tests.scenario.worlds import SMALL, load, problems_of, with_line


def test_values_are_set_by_keys_indices_and_names() -> None:
    found = load(
        SMALL,
        sets=[
            "seed=9",
            "stop.after=30",
            "groups.0.count=5",
            "groups.sitters.radius={uniform: {low: 0.1, high: 0.2}}",
            "groups[2].agents[0].id=41",
        ],
    )
    guests, sitters, walkers = found.groups
    assert (found.seed, found.stop.after, walkers.count, sitters.radius.high, guests.listed[0].id) == (
        9,
        30.0,
        5,
        0.2,
        41,
    )


def test_what_is_not_there_yet_is_added() -> None:
    found = load(
        with_line("seed", "1"),
        sets=["stop.stuck_for=20", "record.rate=5", "goals.seat.point=[1, 1]", "name=from the command line"],
    )
    assert (found.stop.stuck_for, found.record.rate, found.name) == (20.0, 5.0, "from the command line")
    assert [goal.name for goal in found.goals] == ["door", "seat"]


def test_the_last_of_several_settings_counts_and_later_ones_build_on_earlier() -> None:
    assert load(SMALL, sets=["seed=1", "seed=2"]).seed == 2
    assert (
        load(SMALL, sets=["avoidance={model: orca}", "avoidance.time_horizon=7"]).avoidance.values[
            "time_horizon"
        ]
        == 7.0
    )


def test_a_short_form_can_be_refined() -> None:
    text = with_line("navigation", "mesh")
    assert load(text, sets=["navigation.faces=triangles"]).navigation.values["faces"] == "triangles"
    assert load(text, sets=["avoidance.model=none"]).avoidance.name == "none"


def test_a_value_that_is_named_twice_by_an_alias_is_set_in_one_place_only() -> None:
    text = with_line(
        "groups",
        "[{name: a, count: 1, speed: &v {uniform: {low: 1, high: 2}}}, {name: b, count: 1, speed: *v}]",
    )
    one, two = load(text, sets=["groups.a.speed.uniform.high=3"]).groups
    assert (one.speed.high, two.speed.high) == (3.0, 2.0)


def test_the_tree_itself_stays_as_it_was() -> None:
    root, _ = read_yaml(SMALL, "f")
    assert root is not None
    before = plain(root)
    changed = apply_overrides(root, ["groups.0.count=7", "stop.after=1"], Problems(root))
    assert plain(root) == before
    assert plain(changed)["groups"][0]["count"] == 7


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("seed", '--set seed: "seed" is not of the form key=value'),
        ("=5", '--set =5: "=5" is not of the form key=value'),
        ("a..b=5", '--set a..b=5: "a..b=5" is not of the form key=value'),
        ("seed=-1", "--set seed=-1: seed: is -1, but must be at least 0"),
        ("seed=", "--set seed=: seed: no value is given"),
        ("seed=017", "--set seed=017: seed: 017 begins with a zero: some programs read it as octal 15"),
        ("seed=[1", "--set seed=[1: seed: the list that begins at line 1, column 1 goes wrong here"),
        ("sed=1", '--set sed=1: sed: there is no key "sed" here'),
        (
            "groups.3.count=1",
            '--set groups.3.count=1: groups: has no item "3": it is a list of 3, counted from 0',
        ),
        (
            "groups.walker.count=1",
            '--set groups.walker.count=1: groups: has no item "walker": it is a list of 3, counted from 0',
        ),
        (
            "groups.0.count.x=1",
            '--set groups.0.count.x=1: groups[0].count: is the number 20, so it has no "x"',
        ),
        ("groups.0.cout=1", '--set groups.0.cout=1: groups[0].cout: there is no key "cout" here'),
        (
            "goals.seat.point=[100, 1]",
            (
                "--set goals.seat.point=[100, 1]: goals.seat.point: (100, 1) lies 86 m outside the walkable "
                "ground"
            ),
        ),
        (
            "record.rate=3",
            (
                "--set record.rate=3: record.rate: 3 frames a second leave 6.667 ticks of 0.05 s between "
                "two frames, which is not a whole number"
            ),
        ),
    ],
)
def test_problems_with_a_setting_stand_at_the_setting(option: str, message: str) -> None:
    assert problems_of(SMALL, sets=[option]) == [message]


def test_problems_of_settings_come_after_those_of_the_file() -> None:
    found = problems_of(with_line("tick", "5"), sets=["seed=-1"])
    assert found == [
        "t.yaml:5:7: tick: is 5 s, but may be at most 1 s",
        "--set seed=-1: seed: is -1, but must be at least 0",
    ]


def test_a_file_that_is_no_mapping_is_told_before_its_settings() -> None:
    assert problems_of("", sets=["seed=1"]) == ["t.yaml: the file is empty"]


def test_hostile_settings_are_refused() -> None:
    assert len(problems_of(SMALL, sets=["seed=" + "[" * 100_000])) == 1
    assert problems_of(SMALL, sets=["seed=1"] * 2000) == [
        "t.yaml:1:1: 2,000 values to set, but there may be at most 1,000"
    ]
    assert len(problems_of(SMALL, sets=[".".join("a" * 1 for _ in range(500)) + "=1"])) == 1
