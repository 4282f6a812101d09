"""Options that would do nothing are refused, and every tunable is read by something."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import crowdsim
from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.scenario.parameters import SECTIONS, tunables_of

ROOM = {
    "version": 1,
    "geometry": {"walkable": {"box": [0, 0, 10, 8]}},
    "goals": {"out": {"exit": {"box": [9, 3, 10, 5]}}},
    "groups": [{"name": "crowd", "count": 3, "region": {"box": [1, 1, 4, 4]}, "goals": "out"}],
}
FLOORS = {
    "storeys": [
        {"name": "ground", "elevation": 0, "walkable": [{"box": [0, 0, 8, 5]}]},
        {"name": "upper", "elevation": 2, "walkable": [{"box": [12, 0, 20, 5]}]},
    ],
    "connections": [
        {
            "name": "stair",
            "kind": "stair",
            "lower": "ground",
            "upper": "upper",
            "foot": [[8, 1], [8, 3]],
            "head": [[12, 1], [12, 3]],
        }
    ],
}


@pytest.mark.parametrize(
    ("section", "key", "value", "switch", "on"),
    [
        ("bodies", "nudge_distance", 0.7, "nudging", True),
        ("bodies", "nudge_patience", 1.0, "nudging", True),
        ("bodies", "priority_after", 2.0, "priority", "waiting"),
        ("bodies", "replan_trigger", 2.0, "replanning", True),
        ("bodies", "replan_moved", 0.1, "replanning", True),
        ("bodies", "replan_cooldown", 1.0, "replanning", True),
        ("bodies", "local_grid_cells", 40, "local_grid", True),
        ("bodies", "local_grid_cell", 0.1, "local_grid", True),
        ("navigation", "exposure", 10.0, "unseen_from", [[5.0, 5.0]]),
        ("navigation", "shun_cost", 3.0, "shun", [[5.0, 5.0]]),
        ("navigation", "obstacle_reach", 3.0, "round_stationary", True),
        ("navigation", "obstacle_radius_share", 0.5, "round_stationary", True),
    ],
)
def test_a_number_of_something_that_is_off_is_refused_and_taken_where_it_is_on(
    section, key, value, switch, on
):
    kind = {"kind": "visibility"} if section == "navigation" else {}
    with pytest.raises(
        ScenarioError,
        match=(
            rf"{section}\.{key}: {key} does nothing while {switch} is (false|none|nothing).*\n    Give "
            rf"{switch}, or leave {key} out"
        ),
    ):
        load_scenario({**ROOM, section: {**kind, key: value}})
    assert (
        load_scenario({**ROOM, section: {**kind, key: value, switch: on}}).sections[section].values[key]
        == value
    )
    plain = load_scenario(ROOM if not kind else {**ROOM, section: kind})
    # canonical text has all defaults, of what is off too
    assert parse_scenario(plain.canonical()).canonical() == plain.canonical()


@pytest.mark.parametrize("key", ["local_grid_price", "local_grid_memory"])
def test_what_shut_portals_cost_is_refused_unless_somebody_finds_them_shut_and_asks_again(key):
    """The grid finds a portal shut, and the next search heeds it: with one of the two off nobody does."""
    both = {"local_grid": True, "replanning": True}
    for missing in both:
        with pytest.raises(
            ScenarioError, match=rf"bodies\.{key}: {key} does nothing while {missing} is false"
        ):
            load_scenario({**ROOM, "bodies": {**both, missing: False, key: 5.0}})
    assert load_scenario({**ROOM, "bodies": {**both, key: 5.0}}).bodies.values[key] == 5.0


def test_a_cooldown_is_taken_with_replanning_off_where_somebody_walks_on_waypoints():
    """Over cells, who has a wall in the line to its waypoint asks again with replanning off too."""
    bodies = {"replan_cooldown": 3.0}
    assert (
        load_scenario({**ROOM, "navigation": "grid", "bodies": bodies}).bodies.values["replan_cooldown"]
        == 3.0
    )
    group = {**ROOM["groups"][0], "navigation": "s2-grid"}
    assert (
        load_scenario({**ROOM, "groups": [group], "bodies": bodies}).bodies.values["replan_cooldown"] == 3.0
    )
    with pytest.raises(
        ScenarioError, match=r"replan_cooldown does nothing while replanning is false, under mesh"
    ):
        load_scenario({**ROOM, "navigation": "mesh", "bodies": bodies})


@pytest.mark.parametrize("kind", ["optimal", "visibility", "grid", "s2-grid"])
def test_a_size_of_polygons_on_terrain_is_refused_by_planners_that_look_for_no_paths_over_it(kind):
    with pytest.raises(
        ScenarioError,
        match=rf"navigation\.terrain_cell: terrain_cell does nothing under {kind}: only navigation mesh",
    ):
        load_scenario({**ROOM, "navigation": {"kind": kind, "terrain_cell": 0.5}})


def test_a_size_of_polygons_on_terrain_is_taken_by_a_mesh_where_there_is_terrain():
    navigation = {"kind": "mesh", "terrain_cell": 0.5}
    with pytest.raises(
        ScenarioError,
        match=(
            r"navigation\.terrain_cell: terrain_cell does nothing on this ground: no terrain has a speed or "
            r"a price of its own"
        ),
    ):
        load_scenario({**ROOM, "navigation": navigation})
    lawn = {**ROOM["geometry"], "terrain": [{"name": "lawn", "speed": 0.5, "area": {"box": [4, 0, 6, 4]}}]}
    assert (
        load_scenario({**ROOM, "geometry": lawn, "navigation": navigation}).navigation.values["terrain_cell"]
        == 0.5
    )
    # The mesh is one for all: the number is of the scenario also where only a group finds its paths on it.
    group = {**ROOM["groups"][0], "navigation": "mesh"}
    scenario = load_scenario(
        {**ROOM, "geometry": lawn, "groups": [group], "navigation": {"kind": "grid", "terrain_cell": 0.5}}
    )
    assert parse_scenario(scenario.canonical()).canonical() == scenario.canonical()


@pytest.mark.parametrize("key", ["unseen_from", "shun"])
@pytest.mark.parametrize("of_a_group", [False, True])
def test_watchers_and_points_to_shun_have_a_height_where_there_are_several_floors_and_none_elsewhere(
    key, of_a_group
):
    navigation = {"kind": "visibility", key: [[2.0, 2.0, 0.0], [2.0, 2.0]]}
    goals = {"out": {"exit": {"box": [19, 0, 20, 5]}, "storey": "upper"}}
    group = {**ROOM["groups"][0], "storey": "ground"}
    values = {
        **ROOM,
        "geometry": FLOORS,
        "goals": goals,
        "groups": [group | ({"navigation": navigation} if of_a_group else {})],
    }
    with pytest.raises(
        ScenarioError,
        match=(
            rf"{'groups.0..' if of_a_group else ''}navigation\.{key}: the point \[2\.0, 2\.0\] has no "
            r"height, and this geometry has several floors"
        ),
    ):
        load_scenario(values if of_a_group else {**values, "navigation": navigation})
    values["navigation"] = {"kind": "visibility", key: [[2.0, 2.0, 0.0]]}
    values["groups"] = [group]
    scenario = load_scenario(values)
    assert parse_scenario(scenario.canonical()).canonical() == scenario.canonical()
    with pytest.raises(
        ScenarioError,
        match=rf"navigation\.{key}: \[\[2\.0, 2\.0, 0\.0\]\] is not a list of at most 1000 points \[x, y\]",
    ):
        load_scenario({**ROOM, "navigation": values["navigation"]})


def test_every_tunable_is_read_by_something():
    """A number that nobody reads can be set and changes nothing."""
    package = Path(crowdsim.__file__).parent
    sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py")))
    # As an attribute of its parameters or of the kernel's numbers, or as an item of the section's values.
    how = (r"\.(\w+)\b(?!: )", r"\[\"(\w+)\"\]", r"get\(\"(\w+)\"")
    read = {name for pattern in how for name in re.findall(pattern, sources)}
    unread = set()
    for section in SECTIONS:
        for owner in section.owners().values():
            for tunable in tunables_of(owner):
                if tunable.name not in read:
                    unread.add(f"{section.name}.{tunable.name}")
    assert not unread
