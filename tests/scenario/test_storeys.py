"""Storeys in a scenario file: what is cut away, what is refused,
and that the resolved text means the same.
"""

from __future__ import annotations

import pytest
import shapely

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.setup.agents import resolve_agents

STAIR = "{name: stair, lower: ground, upper: upper, foot: [[10, 4], [10, 6]], head: [[14.8, 4], [14.8, 6]]}"


def text_of(storeys: str = "", connections: str = STAIR, more: str = "", groups: str = "") -> str:
    storeys = storeys or (
        "{name: ground, elevation: 0, walkable: {box: [0, 0, 30, 10]}}, "
        "{name: upper, elevation: 3, walkable: {box: [0, 0, 30, 10]}, obstacles: [{name: shelf, box: [20, "
        "2, 21, 8]}]}"
    )
    groups = groups or "{name: guests, count: 10, storey: upper, goals: [out]}"
    return (
        f"version: 1\ngeometry:\n  storeys: [{storeys}]\n  connections: [{connections}]\n{more}"
        f"goals: {{out: {{exit: {{box: [0, 4, 0.3, 6]}}, storey: ground}}}}\ngroups: [{groups}]\n"
    )


def grounds(scenario: Scenario) -> dict[str, shapely.Geometry]:
    return dict(zip(scenario.geometry.floor_names, scenario.geometry.grounds, strict=True))


def test_ground_with_too_little_height_above_it_is_cut_away() -> None:
    """A stair of 3 m over 4.8 m: below it the floor ends where it is 2 m high, 3.2 m in;
    above it the well begins where it is 1 m high.
    """
    found = grounds(parse_scenario(text_of()))
    assert (
        found["ground"].symmetric_difference(shapely.box(0, 0, 30, 10) - shapely.box(10, 4, 13.2, 6)).area
        < 1e-4
    )
    well = shapely.box(11.6, 4, 14.8, 6)
    assert (
        found["upper"].symmetric_difference(shapely.box(0, 0, 30, 10) - well - shapely.box(20, 2, 21, 8)).area
        < 1e-4
    )
    assert found["stair"].symmetric_difference(shapely.box(10, 4, 14.8, 6)).area < 1e-4


def test_a_lower_clearance_leaves_more_ground() -> None:
    scenario = parse_scenario(text_of(more="  clearance: 1.5\n"))
    assert (
        grounds(scenario)["ground"]
        .symmetric_difference(shapely.box(0, 0, 30, 10) - shapely.box(10, 4, 12.4, 6))
        .area
        < 1e-4
    )


def test_a_gallery_takes_the_ground_below_it_where_it_hangs_too_low() -> None:
    low = (
        "{name: ground, elevation: 0, walkable: {box: [0, 0, 30, 10]}}, {name: gallery, elevation: 1.5, "
        "walkable: {box: [0, 8, 30, 10]}}"
    )
    high = low.replace("1.5", "2.5")
    group = "{name: guests, count: 10, storey: ground, goals: [out]}"
    assert grounds(parse_scenario(text_of(low, "", groups=group)))["ground"].area == pytest.approx(240.0)
    assert grounds(parse_scenario(text_of(high, "", groups=group)))["ground"].area == pytest.approx(300.0)


def test_the_order_of_storeys_and_connections_changes_nothing_and_the_canonical_text_means_the_same() -> None:
    storeys = [
        "{name: b, elevation: 3, walkable: {box: [0, 0, 30, 10]}}",
        "{name: a, elevation: 0, walkable: {box: [0, 0, 30, 10]}}",
    ]
    stairs = [
        "{name: one, lower: a, upper: b, foot: [[10, 4], [10, 6]], head: [[14.8, 4], [14.8, 6]]}",
        "{name: two, kind: ramp, lower: a, upper: b, foot: [[20, 1], [20, 2]], head: [[29, 2], [29, 1]]}",
    ]
    groups = "{name: guests, count: 10, storey: b, goals: [{point: [3, 3], storey: b}, out]}"
    first, second = (
        parse_scenario(
            text_of(", ".join(storeys[::way]), ", ".join(stairs[::way]), groups=groups).replace(
                "storey: ground", "storey: a"
            )
        )
        for way in (1, -1)
    )
    assert first.canonical() == second.canonical()
    again = parse_scenario(first.canonical())
    assert again.canonical() == first.canonical()
    assert [floor.plane for floor in again.geometry.floors] == [
        floor.plane for floor in first.geometry.floors
    ]
    assert all(
        a.equals_exact(b, 0.0) for a, b in zip(again.geometry.grounds, first.geometry.grounds, strict=True)
    )
    assert (resolve_agents(again).position == resolve_agents(first).position).all()


def test_agents_of_two_storeys_take_no_room_from_each_other() -> None:
    """A thousand bodies of 0.2 m on each of two storeys of some 290 m2:
    two thousand on one would cover 86 % of it.
    """
    groups = "{name: a, count: 1000, storey: ground}, {name: b, count: 1000, storey: upper}"
    agents = resolve_agents(parse_scenario(text_of(groups=groups)))
    assert len(agents) == 2000


MISTAKES = [
    (
        {"connections": STAIR.replace("[10, 4], [10, 6]", "[-0.5, 4], [-0.5, 6]")},
        'the foot of "stair" lies up to 0.500 m outside the ground of "ground"',
    ),
    (
        {"connections": STAIR.replace("[10, 4], [10, 6]", "[30, 4], [30, 6]").replace("14.8", "25.2")},
        'foot of "stair" has no ground of "ground" before it, at (30.10, 5.00): the stair leads back over it',
    ),
    (
        {"connections": STAIR.replace("10, ", "4.8, ").replace("14.8", "0")},
        'head of "stair" has no ground of "upper" before it, at (-0.10, 5.00): the stair leads back over it',
    ),
    (
        {"connections": STAIR.replace("[14.8, 4], [14.8, 6]", "[14.8, 4], [15.2, 6]")},
        "foot and head are not parallel: the ends of the head lie 4.800 and 5.200 m",
    ),
    ({"connections": STAIR.replace("14.8", "11")}, "it rises 3 m over 1 m in plan, 72 degrees"),
    ({"connections": STAIR.replace("lower: ground", "lower: groud")}, 'there is no storey "groud"'),
    (
        {"connections": STAIR.replace("lower: ground, upper: upper", "lower: upper, upper: ground")},
        '"ground" at 0 m is not above "upper" at 3 m',
    ),
    ({"connections": f"{STAIR}, {STAIR}"}, 'there is a floor "stair" already'),
    (
        {
            "connections": (
                f"{STAIR}, {STAIR.replace('stair', 'other').replace('4]', '5]').replace('6]', '7]')}"
            )
        },
        "it is only 0 m above or below",
    ),
    ({"groups": "{name: guests, count: 10, goals: [out]}"}, "says no storey, but the geometry has several"),
    ({"groups": "{name: guests, count: 10, storey: uper, goals: [out]}"}, 'there is no storey "uper"'),
    (
        {"groups": "{name: guests, positions: [[12, 5]], storey: ground, goals: [out]}"},
        "outside the walkable ground",
    ),
    ({"more": "  walkable: {box: [0, 0, 1, 1]}\n"}, "walkable and storeys are both given"),
    ({"more": "  obstacles: {box: [0, 0, 1, 1]}\n"}, "obstacles stand beside storeys"),
    (
        {
            "storeys": (
                "{name: ground, elevation: 0, walkable: {box: [0, 0, 30, 10]}}, {name: upper, elevation: 0, "
                "walkable: {box: [5, 0, 30, 10]}}"
            )
        },
        "not above",
    ),
]


@pytest.mark.parametrize(("change", "told"), MISTAKES)
def test_a_mistake_is_told_with_its_numbers_and_a_way_out(change: dict[str, str], told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text_of(**change))
    assert told in str(caught.value)
    assert all(problem.line >= 1 for problem in caught.value.problems)
    assert all(problem.way_out for problem in caught.value.problems)


def test_storeys_of_one_height_that_overlap_are_refused() -> None:
    storeys = (
        "{name: a, elevation: 0, walkable: {box: [0, 0, 30, 10]}}, {name: b, elevation: 0, walkable: {box: "
        "[29, 0, 40, 10]}}"
    )
    with pytest.raises(ScenarioError, match='"a" and "b" are both at 0 m and share 10 m2'):
        parse_scenario(
            text_of(storeys, "", groups="{name: guests, count: 1, storey: a}").replace(
                "storey: ground", "storey: a"
            )
        )


def test_a_storey_in_a_geometry_without_storeys_is_refused() -> None:
    with pytest.raises(ScenarioError, match='names the storey "attic", but the geometry has none'):
        parse_scenario(
            "version: 1\ngeometry: {walkable: {box: [0, 0, 9, 9]}}\n"
            "groups: [{name: a, count: 1, storey: attic}]\n"
        )


def test_one_storey_needs_no_name_and_floors_that_touch_nothing_are_no_mistake() -> None:
    scenario = parse_scenario(
        "version: 1\ngeometry: {storeys: [{name: deck, elevation: 7.5, walkable: {box: [0, 0, 9, 9]}}]}\n"
        "groups: [{name: a, count: 3, goals: {point: [1, 1]}}]\n"
    )
    assert scenario.groups[0].layer == 0 and scenario.goals[0].layer == 0
