"""Areas become one ground: united, cut, snapped, cleaned, the same in any order;
and every way to write an area.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.scenario.geometry_files import GeometryRefused, grid_map_of, pieces_of_geojson, pieces_of_wkt
from crowdsim.scenario.shapes import GRID_M, circle_corners, cleaned, wkt_of
from tests.scenario.worlds import load, problems_of, with_line


def ground(value: Any, obstacles: Any = None, folder: Path | None = None) -> Any:
    """Return the walkable ground of a scenario with such areas."""
    shape = {"walkable": value} | ({"obstacles": obstacles} if obstacles is not None else {})
    return load(
        with_line("geometry", json.dumps(shape))
        .replace("goals: {door: {exit: {box: [9, 0, 10, 8]}}}", "goals: {}")
        .replace(", goals: door", ""),
        folder=folder,
    ).geometry


def complaint(value: Any, **options: Any) -> str:
    text = (
        with_line("geometry", json.dumps({"walkable": value}))
        .replace("goals: {door: {exit: {box: [9, 0, 10, 8]}}}", "goals: {}")
        .replace(", goals: door", "")
    )
    (found,) = problems_of(text, **options)
    return found.split(": ", 2)[2]


SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4]]


@pytest.mark.parametrize(
    "value",
    [
        SQUARE,
        SQUARE[::-1],
        [*SQUARE, [0, 0]],
        [SQUARE],
        [[0, 0], [0, 0], [2, 0], [4, 0], [4, 4], [0, 4]],
        {"polygon": SQUARE},
        {"box": [0, 0, 4, 4]},
        {"wkt": "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))"},
        {"wkt": " multipolygon(((0 0,2 0,2 4,0 4,0 0)),((2 0,4 0,4 4,2 4,2 0)))"},
        {
            "wkt": (
                "GEOMETRYCOLLECTION (GEOMETRYCOLLECTION (POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))), POLYGON EMPTY)"
            )
        },
        {"wkt": "POLYGON Z ((0 0 1, 4 0 1, 4 4 1, 0 4 1, 0 0 1))"},
        [{"box": [0, 0, 2, 4]}, {"box": [2, 0, 4, 4]}],
        [{"box": [0, 0, 3, 4]}, {"box": [1, 0, 4, 4]}],
        [{"name": "whole", "box": [0, 0, 4, 4]}, SQUARE],
    ],
)
def test_one_square_written_in_many_forms_is_the_same_ground(value: Any) -> None:
    assert ground(value).walkable.wkt == "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))"


def test_holes_are_kept_and_obstacles_are_cut_out() -> None:
    found = ground(
        {"polygon": SQUARE, "holes": [[[1, 1], [1, 2], [2, 2], [2, 1]]]},
        [{"name": "pillar", "box": [3, 3, 5, 5]}],
    )
    assert found.walkable.equals(
        shapely.from_wkt("POLYGON ((0 0, 4 0, 4 3, 3 3, 3 4, 0 4, 0 0), (1 1, 1 2, 2 2, 2 1, 1 1))")
    )
    assert shapely.is_ccw(found.walkable.exterior)
    assert not shapely.is_ccw(found.walkable.interiors[0])
    assert [(each.name, each.polygon.area) for each in found.obstacles] == [("pillar", 4.0)]


def test_obstacles_that_divide_the_ground_leave_its_parts() -> None:
    assert ground(SQUARE, [[[1, -1], [2, -1], [2, 5], [1, 5]]]).walkable.geom_type == "MultiPolygon"


def test_rooms_that_are_off_by_less_than_the_grid_are_joined_without_a_crack() -> None:
    left, right = {"box": [0, 0, 0.1 + 0.2, 1]}, {"box": [0.3, 0, 1, 1]}
    assert 0.1 + 0.2 != 0.3
    assert len(ground([left, right]).walkable.exterior.coords) == 5


def test_slivers_between_rooms_and_obstacles_are_dropped_but_thin_walls_stay() -> None:
    almost = 4 + 3e-6
    sliver = ground({"box": [0, 0, almost, 4]}, [{"box": [1, 1, 2, 2]}, {"box": [2 + 2e-6, 1, 3, 2]}])
    assert len(sliver.walkable.interiors) in (1, 2)
    assert sliver.walkable.area == pytest.approx(16 - 2, abs=1e-4)
    wall = ground(SQUARE, [{"box": [2, 0, 2.001, 4]}])
    assert len(wall.walkable.geoms) == 2


areas = st.lists(
    st.tuples(*[st.integers(0, 40)] * 4).filter(lambda box: box[0] != box[2] and box[1] != box[3]),
    min_size=1,
    max_size=7,
)


@settings(max_examples=60, deadline=None)
@given(
    areas,
    areas,
    st.randoms(use_true_random=False),
    st.floats(0.05, 1.3),
    st.sampled_from([0.0, 395_131.7942683684, -5_268_347.448105887]),
)
def test_any_order_of_areas_and_obstacles_gives_the_same_numbers(
    rooms: Any, blocks: Any, random: Any, scale: float, shift: float
) -> None:
    def boxes(cells: Any, size: float) -> list[Any]:
        corners = [(min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in cells]
        return [{"box": [shift + size * scale * value for value in box]} for box in corners]

    walkable, obstacles = (
        boxes(rooms, 1.0),
        [*boxes(blocks, 0.37), {"circle": {"centre": [shift + 3, shift + 3], "radius": 1.1, "corners": 7}}],
    )
    try:
        first = ground(walkable, obstacles).walkable
    except Exception:  # the obstacles may cover everything
        return
    random.shuffle(walkable)
    random.shuffle(obstacles)
    again = ground(walkable, obstacles).walkable
    assert first.wkb == again.wkb
    assert first.is_valid
    points = shapely.get_coordinates(first)
    assert np.array_equal(points / GRID_M, np.round(points / GRID_M))
    assert shapely.equals_exact(cleaned(first), first)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e7, 1e7), st.floats(-1e7, 1e7)), min_size=3, max_size=6, unique=True))
def test_written_out_polygons_are_read_back_to_the_last_bit(points: Any) -> None:
    polygon = shapely.Polygon(points)
    assert np.array_equal(
        shapely.get_coordinates(shapely.from_wkt(wkt_of(polygon))), shapely.get_coordinates(polygon)
    )


@pytest.mark.parametrize("corners", [3, 4, 5, 7, 8, 12, 31, 32, 1000])
def test_circles_are_regular_polygons_with_the_first_corner_along_x(corners: int) -> None:
    found = circle_corners((0.0, 0.0), 2.0, corners)
    angles = 2.0 * math.pi * np.arange(corners) / corners
    assert np.allclose(found, 2.0 * np.column_stack([np.cos(angles), np.sin(angles)]), atol=4e-15)
    assert found[0].tolist() == [2.0, 0.0]
    if corners % 4 == 0:  # mirrored at the diagonal, the corners are exactly each other
        assert np.array_equal(found[:, ::-1], found[(corners // 4 - np.arange(corners)) % corners])


def test_nested_collections_are_refused_before_they_can_hurt() -> None:
    deep = "GEOMETRYCOLLECTION (" * 100_000 + "POLYGON ((0 0, 1 0, 1 1, 0 0))" + ")" * 100_000
    with pytest.raises(GeometryRefused, match="collections are nested 100002 deep"):
        pieces_of_wkt(deep)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("POINT (1 2)", "this is a POINT, not a polygon"),
        (
            "GEOMETRYCOLLECTION (POLYGON ((0 0, 1 0, 1 1, 0 0)), LINESTRING (0 0, 1 1))",
            "this is a LINESTRING, not a polygon",
        ),
        (
            "POLYGON ((0 0, 1",
            'this is no well-known text ("POLYGON ((0 0, 1"): Expected number but encountered end of stream',
        ),
        ("", 'this is no well-known text (""): Expected word but encountered end of stream'),
        ("POLYGON Z ((0 0 1, 1 0 1, 1 1 2, 0 0 1))", "a polygon has heights from 1 to 2 m"),
    ],
)
def test_text_that_is_no_area_is_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(GeometryRefused) as caught:
        pieces_of_wkt(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"wkt": "POLYGON ((0 0, 1e999 0, 1 1, 0 0))"}, "a coordinate is not a finite number"),
        ({"wkt": "POLYGON ((0 0, nan 0, 1 1, 0 0))"}, "a coordinate is not a finite number"),
        ({"wkt": "POLYGON ((0 0, 1e9 0, 1 1, 0 0))"}, "a coordinate is 1e+09 m, but may be at most 1e+08 m"),
        (
            {"wkt": "MULTIPOLYGON (((0 0,1 0,1 1,0 0)),((5 5,6 6,6 5,5 6,5 5)))"},
            "polygon 2 of 2: the boundary crosses itself at (5.5, 5.5)",
        ),
        (
            {"polygon": SQUARE, "holes": [[[1, 1], [3, 1], [3, 3], [1, 3]], [[2, 2], [2.5, 2], [2.5, 2.5]]]},
            "a hole lies inside another hole at (2, 2)",
        ),
        (
            {"polygon": SQUARE, "holes": [[[0, 2], [2, 1], [4, 2], [2, 3]]]},
            "the holes cut the polygon in two at (4, 2)",
        ),
        ([[0, 0], [4, 0], [4, 4], [2, 0], [0, 4]], "the boundary touches itself at (2, 0)"),
        ([[1, 1], [1, 1], [1, 1]], "the polygon between (1, 1) and (1, 1) has no inside"),
        ({"box": [0, 0, 0.001, 0.0009]}, "the ground is only 0.001 x 0.0009 m large"),
        ([], "no area is given"),
        ({"wkt": "POLYGON EMPTY"}, "no area is given"),
    ],
)
def test_polygons_that_cannot_be_walked_on_are_named_with_the_place(value: Any, message: str) -> None:
    assert complaint(value) == message


def test_obstacles_that_cover_everything_are_told() -> None:
    text = with_line("geometry", "{walkable: {box: [0, 0, 10, 8]}, obstacles: [{box: [-1, -1, 11, 9]}]}")
    assert "t.yaml:2:55: geometry.obstacles: the obstacle covers all of the walkable areas" in problems_of(
        text
    )


def test_too_many_vertices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdsim.scenario.area_reader.MAX_VERTICES", 20)
    assert complaint([SQUARE] * 5) == "with this polygon the scenario has more than 20 vertices"
    monkeypatch.setattr("crowdsim.scenario.geometry_files.MAX_VERTICES", 5)
    with pytest.raises(GeometryRefused, match="more than 5 vertices"):
        pieces_of_wkt("POLYGON ((" + ", ".join(f"{n} {n * n}" for n in range(20)) + "))")


def test_too_much_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdsim.scenario.area_reader.MAX_GEOMETRY_CHARACTERS", 100)
    text = {"wkt": "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))"}
    assert (
        complaint([text, text, text])
        == "with this text the scenario has more than 100 characters of geometry"
    )


# GeoJSON
# ------------------------------------------------------------------------------------------------------------

RING = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]
POLYGON = {"type": "Polygon", "coordinates": [RING]}


@pytest.mark.parametrize(
    "value",
    [
        POLYGON,
        {"type": "Feature", "geometry": POLYGON, "properties": None},
        {
            "type": "FeatureCollection",
            "features": [
                {"type": "Feature", "geometry": POLYGON, "properties": {"name": "hall"}},
                {"type": "Feature", "geometry": None},
            ],
        },
        {"type": "MultiPolygon", "coordinates": [[RING]]},
        {"type": "GeometryCollection", "geometries": [POLYGON]},
        {"type": "Polygon", "coordinates": [[[*point, 0.0] for point in RING]]},
    ],
)
def test_geojson_in_all_its_forms(value: Any, tmp_path: Path) -> None:
    (tmp_path / "plan.geojson").write_text(json.dumps(value), encoding="utf-8-sig")
    assert (
        ground({"geojson_file": "plan.geojson"}, folder=tmp_path).walkable.wkt
        == "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))"
    )


def test_names_of_features_are_names_of_obstacles(tmp_path: Path) -> None:
    feature = {
        "type": "Feature",
        "geometry": {"type": "Polygon", "coordinates": [[[1, 1], [2, 1], [2, 2], [1, 1]]]},
        "properties": {"name": "stand"},
    }
    (tmp_path / "o.geojson").write_text(json.dumps(feature))
    assert [
        each.name for each in ground(SQUARE, {"geojson_file": "o.geojson"}, folder=tmp_path).obstacles
    ] == ["stand"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("[1]", "this is no GeoJSON object: it has no type"),
        ('{"type": "Point", "coordinates": [1, 2]}', "this is a Point, not a polygon"),
        ('{"type": "FeatureCollection"}', "features is nothing, but must be a list"),
        ('{"type": "Polygon", "coordinates": []}', "a polygon is a list of rings, found an empty list"),
        (
            '{"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]}',
            "a ring has at least 3 points, found a list of 2",
        ),
        (
            '{"type": "Polygon", "coordinates": [[[0, 0], [1, "a"], [1, 1]]]}',
            "point 2 is a list of 2, but a point is [x, y]",
        ),
        (
            '{"type": "Polygon", "coordinates": [[[0, 0], [1, 0, 5], [1, 1]]]}',
            "point 2 is a list of 3, but a point is [x, y]",
        ),
        ('{"type": "Polygon", "coordinates": [[[0, 0], [1, NaN], [1, 1]]]}', "NaN is not a finite number"),
        ('{"type": "Polygon", "type": "Point"}', 'the key "type" stands twice in one object'),
        ("[" * 100_000, "the JSON is nested too deep"),
        (
            '{"type": "Polygon", "coordinates": [[[0, 0], [' + "1" * 5000 + ", 0], [1, 1]]]}",
            "this JSON cannot be read",
        ),
        (
            '{"type": "Polygon", "coordinates": [[[0, 0], [' + "1" * 400 + ", 0], [1, 1]]]}",
            "a coordinate is too large",
        ),
        (
            (
                '{"type": "FeatureCollection", "crs": {"properties": {"name": '
                '"urn:ogc:def:crs:OGC:1.3:CRS84"}}, "features": []}'
            ),
            "the coordinates are longitudes and latitudes in degrees",
        ),
    ],
)
def test_json_that_is_no_plan_is_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(GeometryRefused) as caught:
        pieces_of_geojson(text)
    assert str(caught.value).startswith(message)


def test_json_with_too_many_values_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdsim.scenario.geometry_files._MOST_JSON_VALUES", 10)
    with pytest.raises(GeometryRefused, match="more than 10 values"):
        pieces_of_geojson("[" + "[]," * 10 + "[]]")


def test_collections_in_collections_are_bounded() -> None:
    value: Any = POLYGON
    for _ in range(50):
        value = {"type": "GeometryCollection", "geometries": [value]}
    with pytest.raises(GeometryRefused, match="nested more than 16 deep"):
        pieces_of_geojson(json.dumps(value))


# Grid maps ([Pathfinding undated])
# ------------------------------------------------------------------------------------------------------------

GRID_MAP = {
    "cellSize": 0.4,
    "areas": [
        {"name": "main_room", "available": True, "polygon": [[0, 0], [4, 0], [4, 4], [0, 4]]},
        {"name": "closed", "available": False, "polygon": [[4, 0], [8, 0], [8, 4], [4, 4]]},
    ],
    "obstacles": [{"name": "table", "polygon": [[1, 1], [2, 1], [2, 2], [1, 2]]}],
}


def test_a_grid_map_brings_its_areas_and_its_obstacles(tmp_path: Path) -> None:
    """Also the closed ones: they can be opened."""
    (tmp_path / "map.json").write_text(json.dumps(GRID_MAP))
    found = ground({"s2_file": "map.json"}, folder=tmp_path)
    assert found.walkable.equals(shapely.box(0, 0, 8, 4).difference(shapely.box(1, 1, 2, 2)))
    assert [each.name for each in found.obstacles] == ["table"]
    assert [
        (each.name, each.available, each.area.equals(shapely.box(x, 0, x + 4, 4)))
        for each, x in zip(found.areas, (4, 0))
    ] == [
        ("closed", False, True),
        ("main_room", True, True),
    ]
    only = ground(SQUARE, {"s2_file": "map.json"}, folder=tmp_path)
    assert only.walkable.area == 15.0
    assert [piece.name for piece in grid_map_of(json.dumps(GRID_MAP)).closed_areas] == ["closed"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], 'a grid map is an object with "areas", found an empty list'),
        ({"aras": []}, 'a grid map is an object with "areas", found a mapping with the key aras'),
        ({"areas": [], "obstacle": []}, 'there is no key "obstacle" in a grid map'),
        ({"areas": {}}, "areas is an empty mapping, but must be a list"),
        ({"areas": [5]}, 'areas[0] is the number 5, but must be an object with "polygon"'),
        ({"areas": [{"polygon": [[0, 0]]}]}, "areas[0]: a ring has at least 3 points, found a list of 1"),
        (
            {"areas": [{"polygon": SQUARE, "available": "yes"}]},
            'areas[0].available is the text "yes", but must be true or false',
        ),
    ],
)
def test_what_is_no_grid_map_is_refused_in_words(value: Any, message: str) -> None:
    with pytest.raises(GeometryRefused) as caught:
        grid_map_of(json.dumps(value))
    assert str(caught.value) == message
