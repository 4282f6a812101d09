"""The picture of a scenario before it runs:
every layer on every floor, paths that are those of the run, and mistakes in one sentence.
"""

import itertools

import numpy as np
import pytest
import shapely
from matplotlib.image import imread

from crowdsim.errors import CrowdsimError
from crowdsim.pictures.scenario import LAYERS, draw_scenario
from crowdsim.scenario.load import as_scenario, load_scenario, parse_scenario
from crowdsim.setup.build import build_world, grid_of
from crowdsim.setup.paths import lines_of
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.events import EventKind
from tests.crowds import SCENARIOS
from tests.pictures.test_velocities import outcome

ROOM = """
version: 1
name: room
geometry:
  walkable: {box: [0, 0, 10, 6]}
  obstacles: [{box: [4, 0, 5, 4]}]
TERRAIN
goals: {end: {point: [9, 1]}}
groups:
  - {name: cells, positions: [[1, 1], [1, 2]], goals: end, navigation: {kind: grid, cell_size: 0.2}}
  - {name: corners, positions: [[2, 1]], goals: end, navigation: visibility}
  - {name: mesh, positions: [[3, 1]], goals: end}
  - {name: standing, positions: [[8, 5]]}
"""


def picture(path):
    return imread(path)


def test_every_layer_changes_the_picture(tmp_path):
    built = build_world(parse_scenario(ROOM.replace("TERRAIN", "")))
    seen = []
    drawn = LAYERS[:-1]  # sectors are those of a fill
    for layers in ((), *((layer,) for layer in drawn), drawn):
        draw_scenario(built, tmp_path / "a.png", layers=layers, dpi=60)
        seen.append(picture(tmp_path / "a.png"))
    for number, one in enumerate(seen):
        assert all(one.shape != other.shape or not np.array_equal(one, other) for other in seen[:number])


def test_a_wider_body_sees_less(tmp_path):
    built = build_world(parse_scenario(ROOM.replace("TERRAIN", "")))
    for name, radius in (("thin", 0.1), ("wide", 1.5)):
        draw_scenario(built, tmp_path / f"{name}.png", layers=["visibility"], radius=radius, dpi=60)
    assert not np.array_equal(picture(tmp_path / "thin.png"), picture(tmp_path / "wide.png"))


@pytest.mark.full
def test_paths_are_as_long_as_those_of_the_run_and_keep_clear_of_walls():
    text = parse_scenario(ROOM.replace("TERRAIN", ""))
    built = build_world(text)
    lines = {line.row + 1: line.points for line in lines_of(built, 100)}
    with Simulation(text) as run:
        events = [event for _ in range(5) for event in run.step() if event.kind == EventKind.PATH_FOUND]
    lengths = {int(event.entity): float(event.x) for event in events}
    assert sorted(lines) == sorted(lengths) == [1, 2, 3, 4]  # nobody stands on a way
    for entity, points in lines.items():
        way = shapely.LineString(points)
        assert way.length == pytest.approx(lengths[entity], rel=0.01)  # arcs are drawn as their chords
        # 0.2 m round a corner of 90 degrees, on its chord
        assert shapely.distance(way, text.geometry.obstacles[0].polygon) > 0.14


HOUSE = """
version: 1
geometry:
  storeys:
    - {name: low, elevation: 0, walkable: {box: [0, 0, 20, 10]}}
    - {name: high, elevation: 3, walkable: {box: [0, 0, 20, 10]}}
  connections: [{name: stair, lower: low, upper: high, foot: [[6, 4], [6, 6]], head: [[12, 4], [12, 6]]}]
goals: {up: {region: {box: [1, 1, 3, 3]}, storey: high}, out: {exit: {box: [19, 4, 20, 6]}, storey: low}}
groups:
  - {name: climbers, storey: low, count: 10, region: {box: [8, 0.5, 18, 3.5]}, goals: [up]}
  - {name: leavers, storey: high, count: 10, region: {box: [1, 6.5, 11, 9.5]}, goals: [out]}
"""


@pytest.mark.parametrize("name", ["two-storeys", ""])
def test_paths_on_stairs_are_drawn_on_the_floors_that_they_lead_over(name):
    """On the one that turns back at its head and at its foot, too."""
    text = load_scenario(SCENARIOS / f"{name}.yaml") if name else parse_scenario(HOUSE)
    built = build_world(text)
    lines = lines_of(built, 20)
    for line in lines:
        ground = text.geometry.grounds[line.layer]
        assert shapely.difference(shapely.LineString(line.points), ground.buffer(0.05)).length < 1e-9
    assert len({line.row for line in lines}) <= 20 and {line.layer for line in lines} == set(
        range(len(text.geometry.grounds))
    )
    for row in {line.row for line in lines}:
        own = [line for line in lines if line.row == row]
        assert own[0].points[0] == pytest.approx(built.agents.position[row])
        assert all(np.allclose(a.points[-1], b.points[0]) for a, b in itertools.pairwise(own))


def test_cells_are_drawn_on_the_floors_that_they_are_on(tmp_path):
    """Fewer for a wider body, and none where no cells are."""
    text = HOUSE + "navigation: {kind: grid, cell_size: 0.2}\n"
    share = []
    for radius in (0.1, 0.2):
        built = build_world(parse_scenario(text))
        pictures = []
        for layers in ((), ("cells",)):
            draw_scenario(built, tmp_path / "a.png", layers=layers, radius=radius, dpi=100)
            pictures.append(picture(tmp_path / "a.png"))
        (height, width), changed = pictures[0].shape[:2], (pictures[0] != pictures[1]).any(axis=2).sum()
        share.append(changed / width / height / grid_of(built).walkable(radius).sum())
    # of the picture for each cell, the line that says how wide they are left out
    assert share[0] == pytest.approx(share[1], rel=0.02) and share[0] > 0.2 / 10_000
    with pytest.raises(CrowdsimError, match=r"cells are made for agents of up to 0\.2 m here, and"):
        draw_scenario(built, tmp_path / "a.png", layers=["cells"], radius=0.9)
    with pytest.raises(CrowdsimError, match="no agent finds its paths over cells here"):
        draw_scenario(build_world(parse_scenario(HOUSE)), tmp_path / "a.png", layers=["cells"])


@pytest.mark.sample(1)
@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_the_verb_draws_floors_and_terrain_in_every_form(form, tmp_path, capsys):
    storeys = """
  storeys:
    - {name: low, elevation: 0, walkable: {box: [0, 0, 4, 4]}}
    - {name: high, elevation: 1, walkable: {box: [6, 0, 9, 4]}}
  connections: [{name: stair, lower: low, upper: high, foot: [[4, 1], [4, 3]], head: [[6, 1], [6, 3]]}]
  terrain: [{name: carpet, speed: 0.8, storey: high, area: {box: [7, 0, 8, 4]}}]"""
    path = tmp_path / "house.yaml"
    path.write_text(f"version: 1\ngeometry:{storeys}\ngoals: {{up: {{point: [8, 2], storey: high}}}}\n"
                    "groups: [{name: one, storey: low, positions: [[1, 1]], goals: up}]\n")  # fmt: skip
    code, out, _ = outcome(
        capsys, "plot", path, "-o", tmp_path / f"a.{form}", "--show", "mesh, portals,widths,paths"
    )
    assert (
        code == 0
        and out.strip() == str(tmp_path / f"a.{form}")
        and (tmp_path / f"a.{form}").stat().st_size > 5_000
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--show", "mash"],
            'there is no layer "mash". Known are mesh, portals, widths, cells, visibility, paths, sectors.',
        ),
        (["--explain", "1", "--at", "2"], "--explain is of a recording"),
        (["--set", "groups=3"], "groups"),
    ],
)
def test_what_cannot_be_drawn_is_told(arguments, message, tmp_path, capsys):
    path = tmp_path / "room.yaml"
    path.write_text(ROOM.replace("TERRAIN", ""))
    code, _, err = outcome(capsys, "plot", path, *arguments)
    assert code == 2 and message in err and "Traceback" not in err
    assert [each.name for each in tmp_path.iterdir()] == ["room.yaml"]


def test_options_of_scenarios_are_refused_for_recordings(tmp_path, capsys):
    code, _, err = outcome(capsys, "plot", tmp_path / "run.h5", "--radius", "0.2")
    assert code == 2 and "are of scenarios; a recording, or a sweep, is drawn as it is" in err
    # recordings have panels, scenarios layers
    code, _, err = outcome(capsys, "plot", tmp_path / "run.h5", "--show", "mesh")
    assert (
        code == 2
        and (
            '--show names "mesh", but of a recording there are trails, density, curve, speeds, budget, and '
            "all."
        )
        in err
    )


def test_visibility_of_several_floors_and_terrain_under_other_planners_are_refused(tmp_path, capsys):
    code, _, err = outcome(
        capsys, "plot", SCENARIOS / "two-storeys.yaml", "-o", tmp_path / "a.png", "--show", "visibility"
    )
    assert code == 2 and "of one floor only" in err
    path = tmp_path / "room.yaml"
    path.write_text(
        ROOM.replace("TERRAIN", "  terrain: [{name: grass, speed: 0.6, area: {box: [0, 0, 2, 2]}}]")
    )
    code, _, err = outcome(capsys, "plot", path, "--show", "ways")
    assert (
        code == 2
        and "visibility looks for short paths and knows no speeds of ground" in err
        and 'note: the layer "ways" is called "paths" now' in err
    )


def test_sectors_of_a_fill_are_drawn_and_elsewhere_refused(tmp_path, capsys):
    code, _, _ = outcome(
        capsys, "plot", SCENARIOS / "cliff.yaml", "-o", tmp_path / "a.svg", "--show", "sectors"
    )
    said = (tmp_path / "a.svg").read_text()
    assert code == 0 and "one-way" in said
    shown = {name: said.count(colour) for name, colour in (("portals", "#3a6ea5"), ("one-way", "#d95f02"))}
    assert min(shown.values()) > 0
    code, _, err = outcome(
        capsys, "plot", SCENARIOS / "two-storeys.yaml", "-o", tmp_path / "b.png", "--show", "sectors"
    )
    assert code == 2 and "there are no sectors here: this ground is no fill of triangles" in err


def test_paths_are_drawn_as_curves_where_agents_walk_along_them():
    corner = {
        "version": 1,
        "geometry": {"walkable": [{"box": [0, 0, 10, 2]}, {"box": [8, 0, 10, 10]}]},
        "groups": [{"name": "a", "positions": [[1, 1]], "goals": [{"point": [9, 9]}]}],
        "stop": {"after": 30},
    }
    turns = {}
    for smoothing in ("straight", "bezier"):
        kind = {"kind": "mesh", "smoothing": smoothing}
        (line,) = lines_of(build_world(as_scenario(corner | {"navigation": kind})), 10)
        step = np.diff(line.points, axis=0)
        step = step[np.hypot(*step.T) > 1e-6]
        heading = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
        length = np.hypot(*step.T)
        turns[smoothing] = (np.abs(np.diff(heading)) / (0.5 * (length[1:] + length[:-1]))).max()  # 1/m
        assert heading[-1] - heading[0] == pytest.approx(np.pi / 2, abs=0.3)
    assert turns["bezier"] < 0.5 * turns["straight"]
