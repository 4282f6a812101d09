"""Grids are read from the forms of [Pathfinding undated] and of the MovingAI benchmark,
and written so that they come back the same.
"""

import json

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.errors import NavigationError
from crowdsim.navigation.grid.files import (
    grid_from_json,
    grid_from_map,
    grid_from_text,
    grid_to_text,
    load_grid,
    save_grid,
)
from crowdsim.navigation.grid.grid import Area, build_grid
from crowdsim.navigation.grid.parameters import GridParameters
from tests.navigation.grid.test_grid import random_plan
from tests.navigation.grid.worlds import cells_of

TEXT = """cellSize 0.5
agentRadius 0.45
floorY 1.25
minX -5.0
minZ 2.0
gridWidth 4
gridDepth 3
1100
0110
0011
"""
MAP = "type octile\nheight 3\nwidth 4\nmap\n.G@T\nOS.W\n@@@.\n"
JSON = {
    "cellSize": 0.5,
    "agentRadius": 0.3,
    "areas": [
        {"name": "main_room", "available": True, "polygon": [[0, 0], [6, 0], [6, 4], [0, 4]]},
        {"name": "closet", "available": False, "polygon": [[6, 1], [8, 1], [8, 3]]},
    ],
    "obstacles": [{"name": "table", "polygon": [[2, 1], [3, 1], [3, 2], [2, 2]]}],
}


def test_the_text_form_says_where_its_cells_are():
    grid = grid_from_text(TEXT)
    assert (grid.x, grid.y, grid.width, grid.depth) == (-5.0, 2.0, 4, 3)
    assert (grid.parameters.cell_size, grid.parameters.agent_radius, grid.parameters.floor_height) == (
        0.5,
        0.45,
        1.25,
    )
    assert cells_of(grid, 0.45) == {(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2)}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("radius", [None, 0.0, 0.3])
def test_what_is_saved_is_loaded_the_same(tmp_path, seed, radius):
    grid = build_grid(
        *random_plan(seed), GridParameters(cell_size=0.3, boundary_padding=0.1, floor_height=0.1)
    )
    path = tmp_path / "grid.txt"
    save_grid(grid, path, radius)
    again = load_grid(path)
    np.testing.assert_array_equal(again.walkable(), grid.walkable(radius))
    assert (again.x, again.y) == (grid.x, grid.y)
    used = grid.parameters.agent_radius if radius is None else radius
    assert again.parameters == GridParameters(
        cell_size=0.3, boundary_padding=0.1, floor_height=0.1, agent_radius=used
    )
    assert grid_to_text(again) == path.read_text()


def test_wider_agents_keep_off_the_blocked_cells_of_a_file_and_narrower_ones_gain_nothing():
    rows = np.ones((5, 5), dtype=int)
    rows[2, 0] = 0
    head = "cellSize 1\nagentRadius 0.5\nobjectPadding 0\nminX 0\nminZ 0\ngridWidth 5\ngridDepth 5\n"
    grid = grid_from_text(
        head + "\n".join("".join(map(str, row)) for row in rows), GridParameters(widest_body=3.0)
    )
    assert len(cells_of(grid, 0.1)) == len(cells_of(grid, 0.5)) == len(cells_of(grid, 0.9)) == 24
    # 0.6 m farther off, the rim is blocked too
    assert cells_of(grid, 1.1) == {(x, y) for x in (1, 2, 3) for y in (1, 2, 3)} - {(1, 2)}


def test_a_map_is_a_picture_whose_upper_row_comes_first():
    grid = grid_from_map(MAP)
    assert cells_of(grid) == {(0, 2), (1, 2), (1, 1), (2, 1), (3, 0)}
    assert (grid.x, grid.y, grid.parameters.cell_size) == (0.0, 0.0, 1.0)
    assert cells_of(grid, 0.49) == cells_of(grid) and cells_of(grid, 0.5) == set()


def test_json_is_built_like_its_polygons():
    grid = grid_from_json(json.dumps(JSON))
    areas = [
        Area(item["name"], shapely.Polygon(item["polygon"]), item["available"]) for item in JSON["areas"]
    ]
    other = build_grid(
        areas,
        [shapely.Polygon(item["polygon"]) for item in JSON["obstacles"]],
        GridParameters(cell_size=0.5, agent_radius=0.3),
    )
    np.testing.assert_array_equal(grid.clearance, other.clearance)
    assert list(grid.areas) == ["main_room", "closet"] and not grid.areas["closet"].is_available
    assert grid.set_area_available("closet", True) and cells_of(grid) > cells_of(other)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TEXT.replace("gridWidth 4", "gridWidth 5"), "line 8: 5 cells are announced, but the row has 4"),
        (TEXT.replace("gridDepth 3", "gridDepth 4"), "4 rows are announced, but 3 follow"),
        (TEXT + "1111\n", "more rows follow than the 3"),
        (TEXT.replace("0110", "0120"), 'line 9: "2" is no cell'),
        (TEXT.replace("minX -5.0\n", ""), "does not say minX"),
        (TEXT.replace("-5.0", "nan"), "line 4: minX is nan"),
        (TEXT.replace("minX", "minx"), 'line 4: there is no "minx"; did you mean "minX"'),
        (TEXT.replace("cellSize 0.5", "cellSize 0.5\ncellSize 1"), "stands twice"),
        (TEXT.replace("cellSize 0.5", "cellSize -1"), "cell_size: -1 m is outside"),
        (TEXT.replace("gridWidth 4", "gridWidth 1e12"), "gridWidth is 1e"),
        (
            TEXT.replace("gridWidth 4", "gridWidth 60000000").replace("gridDepth 3", "gridDepth 20"),
            "20 rows are announced",
        ),
        ("", "line 1"),
        ("a b c\n", "line 1"),
    ],
)
def test_mistakes_in_text_are_named(text, says):
    with pytest.raises(NavigationError, match=says):
        grid_from_text(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (MAP.replace("octile\n", "octile\nx 3\n"), "line 2"),
        (MAP.replace(".G@T", ".G@X"), 'line 5: "X" is no cell'),
        (MAP.replace("height 3", "height 0"), "height is 0"),
        ("", "line 1"),
    ],
)
def test_mistakes_in_maps_are_named(text, says):
    with pytest.raises(NavigationError, match=says):
        grid_from_map(text)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"areas": 3}, '"areas"'),
        ({"areas": []}, "at least one area"),
        ({"areas": [{"polygon": [[0, 0], [1, 1]]}]}, r"areas\[0\] must be an object"),
        ({"areas": [{"polygon": [[0, 0], [1, 1], [1, "a"]]}]}, r"areas\[0\].polygon\[2\] is a"),
        ({"areas": [{"polygon": [[0, 0], [1, 1], [1, 2, 3]]}]}, r"a point is \[x, z\]"),
        ({"areas": [{**JSON["areas"][0], "available": 1}]}, "must be true or false"),
        ({"obstacles": {}}, '"obstacles" must be a list'),
        ({"agentradius": 1}, 'did you mean "agentRadius"'),
        ({"cellSize": None}, "cellSize is None"),
    ],
)
def test_mistakes_in_json_are_named(change, says):
    with pytest.raises(NavigationError, match=says):
        grid_from_json(json.dumps({**JSON, **change}))


def test_files_are_named_in_errors(tmp_path):
    with pytest.raises(NavigationError, match=r"no\.txt cannot be read: No such file"):
        load_grid(tmp_path / "no.txt")
    with pytest.raises(NavigationError, match=r"not from \.bmp"):
        load_grid(tmp_path / "no.bmp")
    (tmp_path / "bad.map").write_bytes(b"\xff\xfe")
    with pytest.raises(NavigationError, match=r"bad\.map is not a text file"):
        load_grid(tmp_path / "bad.map")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(NavigationError, match=r"bad\.json: this is not JSON"):
        load_grid(tmp_path / "bad.json")
    with pytest.raises(NavigationError, match="cannot be written"):
        save_grid(grid_from_map(MAP), tmp_path / "no folder" / "grid.txt")


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([TEXT, MAP, json.dumps(JSON)]),
    st.integers(0, 400),
    st.integers(0, 30),
    st.text(max_size=8),
)
def test_a_damaged_file_is_read_or_refused_but_never_breaks(text, at, length, patch):
    broken = text[:at] + patch + text[at + length :]
    for reader in (grid_from_text, grid_from_map, grid_from_json):
        try:
            assert reader(broken).width > 0
        except NavigationError as error:
            assert str(error)
