"""Files that no program draws, and damaged ones:
each is read or refused in words, and none costs more than a few seconds.
"""

from __future__ import annotations

import io
import json
import math
import random
import time
from functools import partial
from pathlib import Path

import pytest

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.plans.read import read_plan
from crowdsim.scenario.dxf import drawing_of, pieces_of_dxf
from crowdsim.scenario.geometry_files import GeometryRefused, pieces_of_geojson, pieces_of_wkt
from crowdsim.scenario.load import load_scenario

WKT = (
    "GEOMETRYCOLLECTION (POLYGON ((0 0, 10 0, 10 8, 0 8, 0 0), (2 2, 3 2, 3 3, 2 2)), MULTIPOLYGON (((20 0, "
    "30 0, 30 8, 20 0))))"
)
ROOMS = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"kind": "room"},
            "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 8], [0, 8], [0, 0]]]},
        },
        {
            "type": "Feature",
            "properties": {"kind": "obstacle", "name": "desk"},
            "geometry": {"type": "Polygon", "coordinates": [[[4, 3], [6, 3], [6, 5], [4, 3]]]},
        },
    ],
}


@pytest.mark.parametrize(
    "kind",
    [
        "CURVEPOLYGON ((0 0, 9 0, 9 8, 0 0))",
        "CurvePolygon (CIRCULARSTRING (0 0, 4 0, 4 4, 0 4, 0 0))",
        "GEOMETRYCOLLECTION (POINT (0 0), MULTICURVE ((0 0, 5 5), CIRCULARSTRING (4 0, 4 4, 8 4)))",
    ],
)
def test_curves_in_well_known_text_are_refused_with_a_way_out(kind: str, tmp_path: Path) -> None:
    with pytest.raises(GeometryRefused, match="this has curves"):
        pieces_of_wkt(kind)
    (tmp_path / "plan.wkt").write_text(kind)
    with pytest.raises(CrowdsimError, match=r"this has curves .*\.\n    Make chords of its arcs"):
        read_plan(tmp_path / "plan.wkt")


@pytest.mark.parametrize("kind", ["polyline", "arc", "circle", "point twice"])
def test_outlines_of_drawings_without_points_or_size_are_refused(kind: str) -> None:
    ezdxf = pytest.importorskip("ezdxf", reason="ezdxf is missing: it reads DXF files")
    drawing = ezdxf.new("R2013")
    drawing.header["$INSUNITS"] = 6
    space, layer = drawing.modelspace(), {"layer": "rooms"}
    if kind == "polyline":
        space.add_polyline2d([], dxfattribs=layer, close=True)
    elif kind == "arc":
        space.add_arc((0, 0), 0, 10, 10, dxfattribs=layer)
    elif kind == "circle":
        space.add_circle((0, 0), 0, dxfattribs=layer)
    else:
        space.add_lwpolyline([(1, 1), (1, 1)], dxfattribs=layer)
    text = io.StringIO()
    drawing.write(text)
    for wall in (None, 0.1):
        with pytest.raises(GeometryRefused):
            pieces = pieces_of_dxf(drawing_of(text.getvalue().encode()), ["rooms"], None, wall)
            # what has no inside is refused where it is used
            if not any(piece.polygon.area > 0.0 for piece in pieces):
                raise GeometryRefused("no inside")


def test_faces_that_all_lie_over_each_other_are_refused_before_work_is_spent_on_them(tmp_path: Path) -> None:
    pytest.importorskip("trimesh", reason="trimesh is missing: it reads OBJ files")
    rng = random.Random(1)
    for spread, words in ((0.1, "with less than 2 m between them"), (30.0, "lie over each other:")):
        corners, faces = [], []
        for k in range(600):
            turn, x, y, z = rng.random() * 6, rng.random() * 5, rng.random() * 5, rng.random() * spread
            corners += [
                f"v {x + 10 * math.cos(turn + 2.1 * j):.4f} {z:.4f} {y + 10 * math.sin(turn + 2.1 * j):.4f}"
                for j in range(3)
            ]
            faces.append(f"f {3 * k + 3} {3 * k + 2} {3 * k + 1}")
        (tmp_path / "heap.obj").write_text("\n".join(corners + faces) + "\n")
        values = {
            "version": 1,
            "geometry": {"surface": {"obj_file": "heap.obj"}},
            "groups": [{"name": "people", "count": 1, "height": 0}],
        }
        begin = time.process_time()
        with pytest.raises(ScenarioError, match=words):
            load_scenario(values, folder=tmp_path)
        # 25 s to minutes before; reading the file, and trimesh itself, some 2 s
        assert time.process_time() - begin < 10.0


def test_features_that_are_something_else_than_where_they_stand_are_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.geojson").write_text(json.dumps(ROOMS))
    rest = {"version": 1, "groups": [{"name": "people", "count": 1, "region": {"box": [1, 1, 2, 2]}}]}
    with pytest.raises(ScenarioError) as caught:
        load_scenario({**rest, "geometry": {"walkable": {"geojson_file": "plan.geojson"}}}, folder=tmp_path)
    (problem,) = caught.value.problems
    assert (problem.item, problem.message) == (
        "geometry.walkable",
        'plan.geojson, features[1]: is an obstacle, as its file says ("obstacle")',
    )
    assert "geometry.obstacles" in problem.way_out and "crowdsim new --plan" in problem.way_out
    box = {"box": [0, 0, 20, 20]}
    with pytest.raises(ScenarioError, match="is ground, as its file says"):
        load_scenario(
            {**rest, "geometry": {"walkable": box, "obstacles": [{"geojson_file": "plan.geojson"}]}},
            folder=tmp_path,
        )
    for number, kind in enumerate(("room", "obstacle")):
        (tmp_path / f"{kind}.geojson").write_text(
            json.dumps({**ROOMS, "features": [ROOMS["features"][number]]})
        )
    right = {
        "walkable": {"geojson_file": "room.geojson"},
        "obstacles": [{"geojson_file": "obstacle.geojson"}],
    }
    assert load_scenario(
        {**rest, "geometry": right}, folder=tmp_path
    ).geometry.walkable.area == pytest.approx(78.0, abs=1e-3)


def damaged(text: str, rng: random.Random) -> str:
    """Return a text with some of its pieces taken out, doubled, or exchanged for others."""
    for _ in range(rng.randint(1, 3)):
        at, length = rng.randrange(len(text) + 1), rng.randint(0, 6)
        new = rng.choice(
            [
                "",
                "",
                "(",
                ")",
                ",",
                "[",
                "]",
                "{",
                "}",
                "null",
                "1e999",
                "nan",
                "-",
                '"',
                " ",
                "EMPTY",
                "Z",
                "0",
                "99999999999999999999",
                text[at : at + 9],
            ]
        )
        text = text[:at] + new + text[at + length :]
    return text


@pytest.mark.parametrize("seed", range(4))
def test_damaged_text_is_read_or_refused(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for name, text, read in (
        ("a.wkt", WKT, pieces_of_wkt),
        ("a.geojson", json.dumps(ROOMS), pieces_of_geojson),
    ):
        refused = 0
        for _ in range(60):
            broken = damaged(text, rng)
            (tmp_path / name).write_text(broken)
            for attempt in (partial(read, broken), partial(read_plan, tmp_path / name)):
                try:
                    attempt()
                except (GeometryRefused, CrowdsimError) as error:
                    refused += 1
                    assert str(error)
        assert refused > 10  # the damage is felt
