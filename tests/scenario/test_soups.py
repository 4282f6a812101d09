"""Soups of triangles in a scenario file: read from every kind of file, filled, told of, refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdsim.errors import ScenarioError
from crowdsim.scenario.canonical import canonical_text
from crowdsim.scenario.load import parse_scenario
from tests.navigation.soup.scenes import block, floor, wall

trimesh = pytest.importorskip("trimesh", reason="trimesh is missing: it reads files of triangles")
WORLD = np.concatenate([floor(0, 0, 8, 4), block(3, 1, -0.1, 5, 4, 3)])
AREA = 32 - 6
GROUPS = "groups: [{name: a, count: 2, region: {box: [0, 0, 2, 4]}, goals: [{point: [2.5, 2]}]}]\n"


def scenario_of(said: str, folder: Path | None = None) -> Any:
    return parse_scenario(f"version: 1\ngeometry:\n  soup: {{{said}}}\n{GROUPS}", folder=folder)


def written(folder: Path, name: str, corners: Any = WORLD, scale: float = 1.0) -> None:
    """Write triangles as programs do that use such files: y up in OBJ and glTF, z up in the others."""
    points = corners.reshape(-1, 3) * scale
    if name.rpartition(".")[2] in ("obj", "glb", "gltf"):
        points = points[:, [0, 2, 1]] * [1, 1, -1]
    mesh = trimesh.Trimesh(points, np.arange(len(points)).reshape(-1, 3), process=False)
    if name.endswith(".gltf"):
        for part, data in trimesh.exchange.gltf.export_gltf(trimesh.Scene(mesh), embed_buffers=True).items():
            (folder / (name if part == "model.gltf" else part)).write_bytes(data)
    else:
        mesh.export(folder / name)


@pytest.mark.parametrize("name", ["world.obj", "world.ply", "world.stl", "world.glb", "world.gltf"])
def test_every_kind_of_file_gives_the_same_ground(tmp_path: Path, name: str) -> None:
    written(tmp_path, name)
    scenario = scenario_of(f"file: {name}, seeds: [[1, 1, 0]]", tmp_path)
    inline = scenario_of(f"triangles: {WORLD.tolist()}, seeds: [[1, 1, 0]]")
    assert scenario.geometry.walkable.area == pytest.approx(AREA)
    assert scenario.geometry.patches == () or [
        patch.ground.normalize().equals_exact(other.ground.normalize(), 1e-4)
        for patch, other in zip(scenario.geometry.patches, inline.geometry.patches, strict=True)
    ] == [True] * len(inline.geometry.patches)


def test_axis_and_unit_can_be_said(tmp_path: Path) -> None:
    written(tmp_path, "world.stl", scale=1000.0)
    found = scenario_of("file: world.stl, unit: mm, seeds: [[1, 1, 0]]", tmp_path)
    assert found.geometry.walkable.area == pytest.approx(AREA)
    turned = WORLD[:, :, [0, 2, 1]] * [1, 1, -1]
    written(tmp_path, "turned.ply", turned)
    found = scenario_of("file: turned.ply, up: y, seeds: [[1, 1, 0]]", tmp_path)
    assert found.geometry.walkable.area == pytest.approx(AREA)


def test_the_size_of_the_ground_is_told() -> None:
    (note,) = scenario_of(f"triangles: {WORLD.tolist()}, seeds: [[1, 1, 0]]").notes
    assert note.message == (
        "416 cells of 0.25 m are reached, 26.0 m2; they are 3 sectors with 2 portals "
        "(0 kB, 1.9% of the cells' 8 kB)"
    )


def test_body_cell_step_and_slope_are_those_that_are_said() -> None:
    kerb = np.concatenate(
        [floor(0, 0, 8, 4), block(3, 0, -0.1, 8, 4, 0.3), [[[1, 1, 0], [1.01, 1, 0], [1, 1, 2.3]]]]
    )
    said = f"triangles: {kerb.tolist()}, seeds: [[0.5, 0.5, 0]]"
    assert scenario_of(f"{said}, step: 0.3").geometry.walkable.area > 30
    assert scenario_of(f"{said}, body: {{width: 0.2}}").geometry.walkable.area < 12.1
    fine = scenario_of(f"{said}, body: {{side: 0.1}}").geometry.walkable.area
    wide = scenario_of(f"{said}, body: {{width: 1}}, cell: 0.1").geometry.walkable.area
    assert 11.9 < fine <= 12.0 and wide < 11.7  # what stands there keeps wider bodies farther off


def test_the_written_scenario_needs_no_file_and_is_the_same_ground() -> None:
    ramp = [[[8, 0, 0], [12, 0, 2], [12, 4, 2]], [[8, 0, 0], [12, 4, 2], [8, 4, 0]]]
    scenario = scenario_of(f"triangles: {[*WORLD.tolist(), *ramp]}, seeds: [[1, 1, 0]], step: 0.3")
    again = parse_scenario(canonical_text(scenario))
    assert again.geometry.step == scenario.geometry.step == 0.6
    assert again.geometry.sheet_floors == scenario.geometry.sheet_floors
    for one, other in zip(scenario.geometry.patches, again.geometry.patches, strict=True):
        assert one.ground.equals(other.ground) and one.plane == other.plane


def soup_of(corners: Any, more: str = "") -> str:
    return f"triangles: {np.asarray(corners).tolist()}, seeds: [[1, 1, 0]]{more}"


MISTAKES = [
    (
        f"triangles: {[*WORLD.tolist(), *wall(6.1, 0, 6.1, 4).tolist()]}, seeds: [[1, 1, 0], [6.1, 3, 0]]",
        r"3:\d+: geometry.soup.seeds\[1\]: no agent can stand here: .* meets triangle \d+",
    ),
    (f"triangles: {WORLD.tolist()}, seeds: [[1, 1, 3]]", r"nothing to stand on from 1 to 3.25 m"),
    (soup_of(WORLD, ", file: a.obj"), "exactly one of file and triangles"),
    ("seeds: [[1, 1, 0]]", "exactly one of file and triangles"),
    (soup_of(WORLD, ", cell: 0.4"), "a cell of 0.4 m has to be at most as wide as the body, 0.25 m"),
    (soup_of(WORLD, ", steepest: 3"), r"take cells of at most 0.0833333 m"),
    (soup_of(WORLD, ", most_cells: 100"), "more than 100 cells of 0.25 m"),
    (soup_of(WORLD, ", sted: 1"), 'unknown key "sted".* Did you mean "seeds" or "step"|sted'),
    ("triangles: [], seeds: [[1, 1, 0]]", "there are no triangles"),
    (f"triangles: {WORLD.tolist()}, seeds: []", "seeds"),
    ("file: none.obj, seeds: [[1, 1, 0]]", "there is no such file"),
    ("file: a.dae, seeds: [[1, 1, 0]]", r"files of triangles end in one of .obj, .ply, .stl, .gltf, .glb"),
    ("file: bad.stl, seeds: [[1, 1, 0]]", "bad.stl: is no STL file that can be read"),
    ("file: nan.obj, seeds: [[1, 1, 0]]", "nan.obj: triangle 2 is nowhere"),
    ("file: far.obj, seeds: [[1, 1, 0]]", r"far.obj: triangle 2 reaches 1e\+09 m from the origin"),
    ("file: names.obj, seeds: [[1, 1, 0]]", "names.obj"),
    ("file: wide.obj, seeds: [[1, 1, 0]]", r"the triangles lie over .* cells of 0.25 m"),
]


@pytest.mark.parametrize(("said", "problem"), MISTAKES)
def test_mistakes_have_their_place_and_a_way_out(tmp_path: Path, said: str, problem: str) -> None:
    first = "v 0 0 0\nv 8 0 0\nv 8 0 -4\nf 1 2 3\n"
    (tmp_path / "bad.stl").write_bytes(b"\x00" * 80 + b"\xff" * 20)
    (tmp_path / "nan.obj").write_text(first + "v nan 0 0\nf 1 2 4\n")
    (tmp_path / "far.obj").write_text(first + "v 1e9 0 0\nf 1 2 4\n")
    (tmp_path / "wide.obj").write_text(first + "v 9e7 0 9e7\nf 1 2 4\n")
    (tmp_path / "names.obj").write_text(first + "f 1 2 99\n")
    with pytest.raises(ScenarioError, match=problem) as refused:
        scenario_of(said, tmp_path)
    assert "3:" in str(refused.value)


def test_a_heap_of_triangles_without_area_is_left_out(tmp_path: Path) -> None:
    flat = np.tile([[[1.0, 1.0, 1.0], [1.5, 1.5, 1.0], [2.0, 2.0, 1.0]]], (20_000, 1, 1))
    written(tmp_path, "heap.stl", np.concatenate([WORLD, flat]))
    assert scenario_of("file: heap.stl, seeds: [[1, 1, 0]]", tmp_path).geometry.walkable.area == AREA


ROAD = np.concatenate([floor(0, 0, 8, 1), floor(0, 1, 8, 3), floor(0, 3, 8, 4)])
STREET = (
    f"triangles: {ROAD.tolist()}, seeds: [[1, 0.5, 0]], "
    "materials: [pavement, pavement, asphalt, asphalt, pavement, pavement]"
)


def test_surfaces_of_materials_are_terrain_that_navigations_name() -> None:
    said = f"{STREET}, surfaces: {{street: {{materials: [asphalt], speed: 0.5}}, pavement: {{}}}}"
    geometry = scenario_of(said).geometry
    areas = {each.name: (each.area.area, each.speed) for each in geometry.terrain[0]}
    assert areas == {"street": (16.0, 0.5), "pavement": (16.0, 1.0)}
    assert len(geometry.patches) == 3 and geometry.walkable.area == 32
    assert not scenario_of(STREET).geometry.terrain  # materials that nothing names are ground as all is


@pytest.mark.parametrize("name", ["street.obj", "street.glb"])
def test_materials_are_read_from_files(tmp_path: Path, name: str) -> None:
    if name.endswith(".obj"):
        text = "".join(f"v {x:g} {z:g} {-y:g}\n" for x, y, z in ROAD.reshape(-1, 3).tolist())
        for number in (0, 2, 1):  # pavement on both sides comes in two pieces
            text += f"usemtl {'asphalt' if number == 1 else 'pavement'}\n"
            text += "".join(
                f"f {6 * number + 3 * k + 1} {6 * number + 3 * k + 2} {6 * number + 3 * k + 3}\n"
                for k in (0, 1)
            )
        (tmp_path / name).write_text(text)
    else:
        scene = trimesh.Scene()
        for material, corners in (("pavement", ROAD[[0, 1, 4, 5]]), ("asphalt", ROAD[2:4])):
            points = corners.reshape(-1, 3)[:, [0, 2, 1]] * [1, 1, -1]
            mesh = trimesh.Trimesh(points, np.arange(len(points)).reshape(-1, 3), process=False)
            mesh.visual = trimesh.visual.TextureVisuals(
                material=trimesh.visual.material.PBRMaterial(name=material), uv=np.zeros((len(points), 2))
            )
            scene.add_geometry(mesh)
        scene.export(tmp_path / name)
    found = scenario_of(f"file: {name}, seeds: [[1, 0.5, 0]], surfaces: {{asphalt: {{speed: 2}}}}", tmp_path)
    ((street,),) = found.geometry.terrain
    assert street.name == "asphalt" and street.area.bounds == (0, 1, 8, 3)


def test_mistakes_in_surfaces_have_their_place() -> None:
    with pytest.raises(ScenarioError, match=r'(?s)surfaces.road: no triangle is made of "asfalt".*"asphalt"'):
        scenario_of(f"{STREET}, surfaces: {{road: {{materials: [asfalt]}}}}")
    with pytest.raises(ScenarioError, match=r"there are 12 triangles, but 2 names in materials"):
        scenario_of(f"triangles: {WORLD[:12].tolist()}, seeds: [[1, 1, 0]], materials: [a, b]")


CONNECTED = """\
version: 1
geometry:
  soup: {{triangles: {triangles}, seeds: [[1, 1, 0]]{more}}}
connections:
  up:
    ladder:
      ends: [{{area: {{box: [0, 2, 1, 3]}}, height: 0}}, {{area: {{box: [{x}, 2, 3, 3]}}, height: {z}}}]
      climb: 4
groups:
  - {{name: a, count: 2, height: 0, region: {{box: [0, 0, 2, 1]}}, goals: [{{point: [1, 0.5], height: 0}}]}}
"""
TWO_STOREYS = np.concatenate([floor(0, 0, 4, 4), floor(0, 0, 4, 4, 4.0)])


def connected_soup(corners: Any, more: str = "", z: float = 4) -> Any:
    return parse_scenario(CONNECTED.format(triangles=corners.tolist(), more=more, x=1, z=z))


def test_the_fill_goes_on_behind_connections_that_say_a_height() -> None:
    scenario = connected_soup(TWO_STOREYS)
    assert [floor.elevation for floor in scenario.geometry.floors] == [0.0, 4.0]
    assert [end.layer for end in scenario.connections[0].ends] == [0, 1]
    again = parse_scenario(canonical_text(scenario))
    assert canonical_text(again) == canonical_text(scenario)


def test_where_one_cannot_come_out_the_connection_is_named_with_what_stands_there() -> None:
    pole = block(1.8, 2.2, 3.0, 2.2, 2.8, 6.0)
    with pytest.raises(ScenarioError) as refused:
        connected_soup(np.concatenate([TWO_STOREYS, pole]))
    said = str(refused.value)
    assert (
        "scenario:7:" in said
        and "connections.up.ladder.ends[1]: no agent can come out in the middle of it" in said
    )
    assert "meets triangle" in said and "Move the area" in said


def test_a_height_on_no_floor_there_is_refused_with_that_of_the_nearest() -> None:
    with pytest.raises(ScenarioError, match=r"nearest to -3 m is at 0.00 m, on another floor"):
        parse_scenario(
            CONNECTED.format(triangles=TWO_STOREYS.tolist(), more="", x=1, z=4).replace(
                "height: 0}", "height: -3}"
            )
        )
    said = GROUPS.replace("count: 2", "count: 2, height: 2.5")
    with pytest.raises(ScenarioError, match=r"groups\[0\].height: .* nearest to 2.5 m is at 0.00 m"):
        parse_scenario(
            f"version: 1\ngeometry:\n  soup: {{triangles: {WORLD.tolist()}, seeds: [[1, 1, 0]]}}\n{said}"
        )


ROCK = np.concatenate([floor(0, 0, 8, 8), block(0, 4, 0, 8, 8, 1.5)])


def test_drops_are_connections_that_are_told_of_and_written_down() -> None:
    said = f"triangles: {ROCK.tolist()}, seeds: [[1, 1, 0], [1, 7, 1.5]], drop: 1.6"
    groups = GROUPS.replace("[0, 0, 2, 4]", "[0, 0, 2, 2]").replace("count: 2", "count: 2, height: 0")
    groups = groups.replace("[{point: [2.5, 2]}]", "[{point: [2.5, 2], height: 0}]")
    scenario = parse_scenario(f"version: 1\ngeometry:\n  soup: {{{said}}}\n{groups}")
    assert [each.name for each in scenario.connections] == ["drop 1", "drop 2", "drop 3", "drop 4"]
    assert all(each.one_way and each.is_drop for each in scenario.connections)
    assert scenario.connections[0].seconds[0] == pytest.approx((2 * 1.5 / 9.81) ** 0.5)
    assert "4 drops over edges, by 1.50 to 1.50 m" in [note.message for note in scenario.notes]
    again = parse_scenario(canonical_text(scenario))
    assert canonical_text(again) == canonical_text(scenario) and len(again.connections) == 4
    low = parse_scenario(f"version: 1\ngeometry:\n  soup: {{{said.replace('1.6', '1.4')}}}\n{groups}")
    assert low.connections == ()


def test_names_of_drops_are_not_those_of_other_connections() -> None:
    soup = ", drop: 1.6, most_cells: 10000"
    text = CONNECTED.format(
        triangles=np.concatenate([ROCK, floor(0, 0, 4, 3, 4.0)]).tolist(), more=soup, x=1, z=4
    ).replace("  up:", "  drop 01:")
    text = text.replace("[[1, 1, 0]]", "[[1, 1, 0], [1, 7, 1.5]]")
    names = [each.name for each in parse_scenario(text).connections]
    assert len(set(names)) == len(names) == 5 and "drop 1" in names


def test_too_many_drops_have_their_place() -> None:
    crates = [block(2 * i, 2 * j, 0, 2 * i + 1, 2 * j + 1, 1.0) for i in range(9) for j in range(9)]
    seeds = [[2 * i + 0.5, 2 * j + 0.5, 1.0] for i in range(9) for j in range(9)]
    corners = np.concatenate([floor(-2, -2, 19, 19), *crates])
    with pytest.raises(ScenarioError, match=r"3:\d+: geometry.soup.drop: there are 81 edges"):
        scenario_of(f"triangles: {corners.tolist()}, seeds: {[[-1, -1, 0], *seeds]}, drop: 1.5")
