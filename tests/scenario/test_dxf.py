"""DXF drawings in a scenario: closed outlines by layer, lines as walls, units,
and mistakes that are told with file, layer and entity.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
import shapely

from crowdsim.errors import ScenarioError
from crowdsim.scenario import dxf
from crowdsim.scenario.load import parse_scenario

ezdxf = pytest.importorskip("ezdxf", reason="ezdxf is missing: it reads DXF files")
ROOM = [(0, 0), (20, 0), (20, 10), (0, 10)]


def drawing(unit=6, scale=1.0):
    """Return a drawing with a room on the layer `rooms`, and its model space."""
    made = ezdxf.new("R2010", units=unit)
    made.modelspace().add_lwpolyline(
        [(scale * x, scale * y) for x, y in ROOM], close=True, dxfattribs={"layer": "rooms"}
    )
    return made, made.modelspace()


def ground_of(folder: Path, made, obstacles="[]", rooms="layers: [rooms]"):
    """Return the ground of a scenario with a drawing, and the scenario."""
    made.saveas(folder / "plan.dxf")
    text = (
        f"version: 1\ngeometry:\n  walkable: {{dxf_file: plan.dxf, {rooms}}}\n  obstacles: {obstacles}\n"
        f"groups: [{{name: a, count: 5}}]\n"
    )
    return parse_scenario(text, folder=folder).geometry.walkable


def told(folder: Path, made, *args, **kwargs) -> str:
    """Return what is said about a drawing that is refused."""
    with pytest.raises(ScenarioError) as caught:
        ground_of(folder, made, *args, **kwargs)
    return str(caught.value)


def test_closed_outlines_on_named_layers_are_areas(tmp_path: Path) -> None:
    made, space = drawing()
    space.add_lwpolyline([(4, 4), (6, 4), (6, 6), (4, 6)], close=True, dxfattribs={"layer": "furniture"})
    space.add_polyline2d([(8, 4), (9, 4), (9, 5)], close=True, dxfattribs={"layer": "Furniture"})
    # not marked as closed, but it ends where it begins
    space.add_lwpolyline([(12, 2), (13, 2), (13, 3), (12, 2)], dxfattribs={"layer": "furniture"})
    space.add_lwpolyline([(0, 0), (50, 50), (50, 0)], close=True, dxfattribs={"layer": "title block"})
    space.add_text("a table", dxfattribs={"layer": "furniture"})
    ground = ground_of(tmp_path, made, "{dxf_file: plan.dxf, layers: [FURNITURE]}")
    assert ground.area == pytest.approx(200 - 4 - 0.5 - 0.5) and len(ground.interiors) == 3


@pytest.mark.parametrize(
    ("code", "metres"), [(1, 0.0254), (2, 0.3048), (4, 0.001), (5, 0.01), (6, 1.0), (14, 0.1)]
)
def test_lengths_are_in_the_unit_of_the_header(tmp_path: Path, code: int, metres: float) -> None:
    made, _ = drawing(code, 1.0 / metres)
    assert ground_of(tmp_path, made).bounds == pytest.approx((0, 0, 20, 10), abs=1e-6)


def test_a_unit_in_the_scenario_counts_more_than_the_header(tmp_path: Path) -> None:
    made, _ = drawing(6, 1000.0)
    assert ground_of(tmp_path, made, rooms="layers: [rooms], unit: mm").area == pytest.approx(200)


def test_lines_are_walls_as_thick_as_is_said(tmp_path: Path) -> None:
    made, space = drawing()
    space.add_line((10, 0), (10, 4), dxfattribs={"layer": "walls"})
    space.add_lwpolyline([(10, 10), (10, 6), (14, 6)], dxfattribs={"layer": "walls"})
    ground = ground_of(tmp_path, made, "{dxf_file: plan.dxf, layers: [walls], wall: 0.2}")
    assert ground.area == pytest.approx(200 - 4 * 0.2 - (4 + 4 + 0.1) * 0.2 + 0.1 * 0.2, abs=1e-4)
    # the door of 2 m, less half a wall
    assert ground.boundary.distance(shapely.Point(10.0, 5.0)) == pytest.approx(math.hypot(0.9, 0.0), abs=1e-4)
    assert shapely.get_num_geometries(ground) == 1


def test_walls_that_meet_leave_no_gap(tmp_path: Path) -> None:
    made, space = drawing()
    corners = [(10, 10), (10, 6), (7, 3), (8, 0)]
    for a, b in itertools.pairwise(corners):
        space.add_line(a, b, dxfattribs={"layer": "walls"})
    assert (
        shapely.get_num_geometries(
            ground_of(tmp_path, made, "{dxf_file: plan.dxf, layers: [walls], wall: 0.05}")
        )
        == 2
    )


def test_arcs_are_chords_that_are_hardly_off(tmp_path: Path) -> None:
    made, space = drawing()
    space.add_circle((5, 5), 2, dxfattribs={"layer": "columns"})
    # two half circles
    space.add_lwpolyline(
        [(12, 5, 1.0), (14, 5, 1.0)], format="xyb", close=True, dxfattribs={"layer": "columns"}
    )
    space.add_ellipse((17, 5), major_axis=(0, 2), ratio=0.5, dxfattribs={"layer": "columns"})
    ground = ground_of(tmp_path, made, "{dxf_file: plan.dxf, layers: [columns]}")
    holes = sorted(shapely.Polygon(ring).area for ring in ground.interiors)
    exact = sorted((4 * math.pi, math.pi, 2 * math.pi))
    assert all(0.99 * area < hole <= area for hole, area in zip(holes, exact, strict=True))


def test_blocks_count_where_they_are_placed_and_lend_their_layer(tmp_path: Path) -> None:
    made, space = drawing()
    block = made.blocks.new("table")
    # on layer 0: that of the block where it is placed
    block.add_lwpolyline([(0, 0), (1, 0), (1, 1), (0, 1)], close=True)
    block.add_circle((0.5, 0.5), 3, dxfattribs={"layer": "notes"})
    space.add_blockref("table", (2, 2), dxfattribs={"layer": "furniture"})
    space.add_blockref(
        "table", (8, 2), dxfattribs={"layer": "furniture", "xscale": 2, "yscale": 2, "rotation": 90}
    )
    assert ground_of(tmp_path, made, "{dxf_file: plan.dxf, layers: [furniture]}").area == pytest.approx(
        200 - 1 - 4
    )


@pytest.mark.parametrize("version", ["R12", "R2000", "R2007", "R2018"])
def test_drawings_of_all_versions_are_read(tmp_path: Path, version: str) -> None:
    made = ezdxf.new(version)
    space = made.modelspace()
    (space.add_polyline2d if version == "R12" else space.add_lwpolyline)(
        ROOM, close=True, dxfattribs={"layer": "Räume"}
    )
    assert ground_of(tmp_path, made, rooms="layers: [Räume], unit: m").area == pytest.approx(200)


def test_a_binary_drawing_is_told(tmp_path: Path) -> None:
    made, _ = drawing()
    made.saveas(tmp_path / "plan.dxf", fmt="bin")
    text = (
        "version: 1\ngeometry: {walkable: {dxf_file: plan.dxf, layers: [rooms]}}\n"
        "groups: [{name: a, count: 5}]\n"
    )
    with pytest.raises(ScenarioError, match="this is a binary DXF drawing"):
        parse_scenario(text, folder=tmp_path)


def test_an_open_line_is_told_with_file_layer_and_handle(tmp_path: Path) -> None:
    made, space = drawing()
    line = space.add_line((1, 1), (3, 1), dxfattribs={"layer": "walls"})
    said = told(tmp_path, made, "{dxf_file: plan.dxf, layers: [walls]}")
    assert (
        f'plan.dxf: LINE {line.dxf.handle} on layer "walls" is open: it runs from (1, 1) to (3, 1) m' in said
        and "wall: 0.1" in said
    )


def test_an_open_line_in_a_block_is_told_with_the_handle_it_has_there(tmp_path: Path) -> None:
    made, space = drawing()
    line = made.blocks.new("table").add_line((0, 0), (1, 0))
    space.add_blockref("table", (2, 2), dxfattribs={"layer": "walls"})
    assert f'LINE {line.dxf.handle} on layer "walls" is open' in told(
        tmp_path, made, "{dxf_file: plan.dxf, layers: [walls]}"
    )


def test_an_outline_that_crosses_itself_is_told_with_its_handle(tmp_path: Path) -> None:
    made, space = drawing()
    bow = space.add_lwpolyline([(1, 1), (3, 3), (3, 1), (1, 3)], close=True, dxfattribs={"layer": "walls"})
    said = told(tmp_path, made, "{dxf_file: plan.dxf, layers: [walls]}")
    assert (
        f'plan.dxf, LWPOLYLINE {bow.dxf.handle} on layer "walls": the boundary crosses itself at (2, 2)'
        in said
    )


def test_an_unknown_layer_is_told_with_what_there_is(tmp_path: Path) -> None:
    made, _ = drawing()
    assert 'there is nothing on a layer "room"' in told(tmp_path, made, rooms="layers: [room]")
    assert "There are rooms" in told(tmp_path, made, rooms="layers: [ground]")


def test_a_drawing_without_unit_is_told(tmp_path: Path) -> None:
    made, _ = drawing(0)
    assert "does not say in which unit it is drawn" in told(tmp_path, made)


def test_what_is_no_outline_is_told(tmp_path: Path) -> None:
    made, space = drawing()
    space.add_3dface([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], dxfattribs={"layer": "walls"})
    assert "3DFACE" in told(tmp_path, made, "{dxf_file: plan.dxf, layers: [walls]}")


def test_an_outline_that_is_not_flat_is_told(tmp_path: Path) -> None:
    made, space = drawing()
    space.add_line((0, 0, 0), (1, 0, 3), dxfattribs={"layer": "walls"})
    assert "heights from 0 to 3 m" in told(tmp_path, made, "{dxf_file: plan.dxf, layers: [walls], wall: 0.1}")


def test_blocks_that_hold_each_other_many_times_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dxf, "MOST_ENTITIES", 1000)
    made, space = drawing()
    made.blocks.new("0th").add_line((0, 0), (1, 0))
    for level in range(1, 8):
        block = made.blocks.new(f"{level}th")
        for _ in range(10):
            block.add_blockref(f"{level - 1}th", (0, 0))
    space.add_blockref("7th", (0, 0), dxfattribs={"layer": "walls"})
    assert "more than 1,000 entities" in told(
        tmp_path, made, "{dxf_file: plan.dxf, layers: [walls], wall: 0.1}"
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no drawing at all",
        b"\x00\x01\x02\x03",
        b"  0\nSECTION\n  2\nENTITIES\n",
        b"AutoCAD Binary DXF\r\n\x1a\x00rubbish",
    ],
)
def test_a_file_that_is_no_drawing_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "plan.dxf").write_bytes(data)
    text = (
        "version: 1\ngeometry: {walkable: {dxf_file: plan.dxf, layers: [rooms]}}\n"
        "groups: [{name: a, count: 5}]\n"
    )
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, folder=tmp_path)
    assert "plan.dxf: " in str(caught.value)


def test_a_cut_off_drawing_is_refused(tmp_path: Path) -> None:
    made, _ = drawing()
    made.saveas(tmp_path / "whole.dxf")
    data = (tmp_path / "whole.dxf").read_bytes()
    text = (
        "version: 1\ngeometry: {walkable: {dxf_file: plan.dxf, layers: [rooms]}}\n"
        "groups: [{name: a, count: 5}]\n"
    )
    for share in (0.1, 0.5, 0.9, 0.97, 0.99, 0.995):
        (tmp_path / "plan.dxf").write_bytes(data[: int(share * len(data))])
        with pytest.raises(ScenarioError, match="cut off"):
            parse_scenario(text, folder=tmp_path)
