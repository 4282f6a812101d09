"""Groups with a navigation of their own: what they inherit, what is told,
and that the canonical text keeps it.
"""

from __future__ import annotations

import pytest

from crowdsim.errors import ScenarioError
from crowdsim.scenario.json_schema import scenario_schema
from crowdsim.scenario.load import parse_scenario

TEXT = """
version: 1
geometry: {{walkable: {{box: [0, 0, 10, 8]}}}}
navigation: {scenario}
groups:
  - {{name: a, count: 2, navigation: {a}}}
  - {{name: b, count: 2}}
"""


def scenario(of_all: str, of_a: str, **options):
    return parse_scenario(TEXT.format(scenario=of_all, a=of_a), **options)


def test_a_group_keeps_the_scenarios_numbers_where_the_kind_is_the_same():
    found = scenario("{kind: grid, cell_size: 0.2}", "{object_padding: 0.01}")
    own, other = found.navigation_of(found.groups[0]), found.navigation_of(found.groups[1])
    assert (own.name, own.values["cell_size"], own.values["object_padding"]) == ("grid", 0.2, 0.01)
    assert (other.name, other.values["cell_size"], other.values["object_padding"]) == ("grid", 0.2, 0.25)


def test_a_group_of_another_kind_has_the_defaults_of_that_kind_and_the_scenarios_mesh():
    found = scenario("{kind: mesh, faces: triangles, most_sides: 4, costs: length}", "grid")
    own = found.navigation_of(found.groups[0])
    assert own.name == "grid" and own.values["faces"] == "triangles" and own.values["most_sides"] == 4
    assert "costs" not in own.values
    assert [chosen.name for chosen in found.navigations] == ["grid", "mesh"]


def test_a_group_that_says_what_the_scenario_says_means_the_same():
    same = scenario("mesh", "{kind: mesh}")
    assert same.groups[0].navigation is None and len(same.navigations) == 1
    assert same.canonical() == scenario("mesh", "mesh").canonical()


@pytest.mark.parametrize(
    "of_a", ["grid", "optimal", "{kind: visibility, shun: [[1, 2]], weight: 2}", "{share_searches: false}"]
)
def test_the_canonical_text_gives_the_same_navigation(of_a: str):
    found = scenario("{kind: mesh, faces: triangles}", of_a)
    again = parse_scenario(found.canonical())
    assert again.groups[0].navigation == found.groups[0].navigation and again.canonical() == found.canonical()


def test_a_mesh_of_its_own_is_refused_with_the_way_out():
    with pytest.raises(ScenarioError) as caught:
        scenario("mesh", "{kind: grid, faces: triangles}")
    problem = caught.value.problems[0]
    assert problem.item == "groups[0].navigation.faces" and problem.line == 6
    assert "one mesh for all groups" in problem.message and "navigation.faces" in problem.way_out


def test_mistakes_in_a_groups_navigation_stand_where_they_are_made():
    with pytest.raises(
        ScenarioError, match=r'groups\[0\].navigation: "gird" is no known kind\n.*Did you mean "grid"\?'
    ):
        scenario("mesh", "gird")
    with pytest.raises(ScenarioError, match=r"groups\[0\].navigation.cell_size"):
        scenario("mesh", "{kind: grid, cell_size: -1}")


def test_the_navigation_of_a_group_can_be_set_on_the_command_line():
    found = scenario("mesh", "mesh", sets=["groups.b.navigation=optimal"])
    assert found.navigation_of(found.groups[1]).name == "optimal"
    found = scenario("mesh", "grid", sets=["groups.a.navigation.cell_size=0.3"])
    assert found.navigation_of(found.groups[0]).values["cell_size"] == 0.3


def test_editors_are_told_of_every_kind_but_not_of_the_mesh():
    of_group = scenario_schema()["$defs"]["GroupShape"]["properties"]["navigation"]
    kinds = {
        form["properties"]["kind"]["anyOf"][0]["const"]: form["properties"]  # or a $name
        for form in of_group["anyOf"]
        if "properties" in form
    }
    assert {"mesh", "optimal", "visibility", "grid"} <= set(kinds)
    assert (
        all("most_sides" not in properties for properties in kinds.values()) and "cell_size" in kinds["grid"]
    )


SILENT = "version: 1\ngeometry: {{{ground}}}\ngroups: []\n{more}"
HILL = (
    "storeys: [{name: low, elevation: 0, walkable: {box: [0, 0, 4, 4]}}, {name: high, elevation: 3, "
    "walkable: {box: [6, 0, 9, 4]}}]"
)
GRASS = "walkable: {box: [0, 0, 10, 8]}, terrain: [{name: grass, speed: 0.5, area: {box: [4, 3, 6, 5]}}]"


@pytest.mark.parametrize(
    ("ground", "more", "kind"),
    [
        ("walkable: {box: [0, 0, 10, 8]}", "", "optimal"),
        ("walkable: {box: [0, 0, 10, 8]}", "navigation: {share_searches: false}", "optimal"),
        ("walkable: {box: [0, 0, 10, 8]}", "navigation: {weight: 2}", "mesh"),
        ("walkable: {box: [0, 0, 10, 8]}", "navigation: {costs: length}", "mesh"),
        (HILL, "", "mesh"),
        (GRASS, "", "mesh"),
    ],
)
def test_a_file_that_does_not_say_gets_the_kind_that_its_ground_and_its_numbers_ask_for(ground, more, kind):
    assert parse_scenario(SILENT.format(ground=ground, more=more)).navigation.name == kind


def test_numbers_that_only_the_mesh_has_are_refused_beside_another_kind_with_the_way_out():
    for number in ("weight: 2", "heuristic: zero", "costs: length"):
        with pytest.raises(ScenarioError, match=r"optimal has no parameter[\s\S]*[Tt]ake kind: mesh"):
            parse_scenario(
                SILENT.format(
                    ground="walkable: {box: [0, 0, 10, 8]}", more=f"navigation: {{kind: optimal, {number}}}"
                )
            )
