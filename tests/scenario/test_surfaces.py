"""Meshes in space in a scenario file: from OBJ or polygons to floors, repairs told, mistakes refused,
and a resolved text that needs no file.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import shapely

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import load_scenario, parse_scenario
from tests.crowds import SCENARIOS

pytest.importorskip("trimesh", reason="trimesh is missing: it reads OBJ files")
YARD = "v 0 0 0\nv 20 0 0\nv 20 0 -10\nv 0 0 -10\nf 1 2 3\nf 1 3 4\n"


def scenario_of(
    folder: Path, obj: str, more: str = "", groups: str = "{name: a, count: 5, goals: [{point: [9, 5]}]}"
):
    (folder / "yard.obj").write_text(obj)
    return parse_scenario(
        f"version: 1\ngeometry:\n  surface: {{obj_file: yard.obj{more}}}\ngroups: [{groups}]\n", folder=folder
    )


def test_an_obj_file_becomes_floors_with_y_up(tmp_path: Path) -> None:
    geometry = scenario_of(tmp_path, YARD).geometry
    assert geometry.floor_names == ("floor 1",)
    assert geometry.grounds[0].equals(shapely.box(0, 0, 20, 10))


def test_polygons_in_the_scenario_are_the_same_ground(tmp_path: Path) -> None:
    text = (
        "version: 1\ngeometry: {surface: {polygons: [[[0, 0, 0], [20, 0, 0], [20, 10, 0], [0, 10, 0]]]}}\n"
        "groups: [{name: a, count: 5}]\n"
    )
    assert parse_scenario(text).geometry.grounds[0].equals(scenario_of(tmp_path, YARD).geometry.grounds[0])


def test_repairs_are_notes(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, YARD + "f 2 3 1\n")
    assert [note.message for note in scenario.notes] == ["face 3 that repeats others is left out"]


def test_heights_choose_the_floor() -> None:
    layers = {goal.name: goal.layer for goal in load_scenario(SCENARIOS / "bridge.yaml").goals}
    assert layers["deck"] != layers["north"] == layers["east"]


MISTAKES = [
    ("", "", "there are no faces"),
    (YARD.replace("f 1 3 4", "f 1 3 9"), "", "yard.obj"),
    ("v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "", "no face has an area"),
    (YARD, ", up: z", "no face looks up, rises by at most 1 m a metre, and has 2 m of height above it"),
    (YARD, ", polygons: [[[0, 0, 0], [1, 0, 0], [1, 1, 0]]]", "exactly one of obj_file and polygons"),
]


@pytest.mark.parametrize(("obj", "more", "told"), MISTAKES)
def test_a_mistake_is_told(tmp_path: Path, obj: str, more: str, told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario_of(tmp_path, obj, more)
    assert told in str(caught.value)


def test_no_ground_at_a_height_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="there is no ground with a height of about 3 m there"):
        scenario_of(tmp_path, YARD, groups="{name: a, positions: [[30, 5]], height: 3}")


def test_a_file_that_is_missing_is_told() -> None:
    with pytest.raises(ScenarioError, match=r"none\.obj"):
        parse_scenario(
            "version: 1\ngeometry: {surface: {obj_file: none.obj}}\ngroups: []\n", folder=SCENARIOS
        )
