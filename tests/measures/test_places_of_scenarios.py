"""Lines and areas that a scenario names for measuring: read, refused, measured after runs and in sweeps."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import shapely

import crowdsim
from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.measures.lines import Line, line_crossings
from crowdsim.measures.report import scenario_figures
from crowdsim.scenario.load import parse_scenario
from tests.cli.command import crowdsim as command

HALL = """\
version: 1
vars: {width: 1.2}
tick: 0.1
stop: {after: 60}
geometry:
  walkable: {box: [0, 0, 8, 4]}
  obstacles: [{box: [4, 0, 4.2, 2 - $width / 2]}, {box: [4, 2 + $width / 2, 4.2, 4]}]
goals: {end: {exit: {box: [7.5, 0, 8, 4]}}}
groups: [{name: crowd, count: 6, region: {box: [0, 0, 3, 4]}, goals: [end]}]
measures:
  door: {line: [[4.1, 2 - $width / 2], [4.1, 2 + $width / 2]]}
  front: {area: [{box: [3, 0, 4, 4]}, {box: [4, 0, 5, 9]}]}
"""
# one room above the other: east below, west above
HOUSE = """\
version: 1
tick: 0.1
stop: {after: 30}
geometry:
  storeys:
    - {name: ground, elevation: 0, walkable: {box: [0, 0, 12, 3]}}
    - {name: upper, elevation: 3, walkable: {box: [0, 0, 12, 3]}}
goals:
  east: {exit: {box: [11.5, 0, 12, 3]}, storey: ground}
  west: {exit: {box: [0, 0, 0.5, 3]}, storey: upper}
groups:
  - {name: below, count: 2, region: {box: [0, 0, 3, 3]}, storey: ground, goals: [east]}
  - {name: above, count: 3, region: {box: [9, 0, 12, 3]}, storey: upper, goals: [west]}
measures:
  low: {line: [[6, 3], [6, 0]], storey: ground}
  high: {line: [[6, 3], [6, 0]], height: 3}
  hall: {area: {box: [4, 0, 8, 3]}, storey: upper}
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, file="hall.yaml")
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("text", [HALL, HOUSE])
def test_measures_are_the_same_from_the_text_of_a_recording(text: str) -> None:
    scenario = parse_scenario(text)
    again = parse_scenario(scenario.canonical())
    assert again.canonical() == scenario.canonical()
    for one, other in zip(scenario.measures, again.measures, strict=True):
        assert (one.name, one.line, one.layer) == (other.name, other.line, other.layer)
        assert one.area is None or shapely.equals_exact(one.area, other.area)
    assert [each.name for each in scenario.measures] == sorted(each.name for each in scenario.measures)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[[4.1, 2 - $width / 2], [4.1, 2 + $width / 2]]", "[[9, 0], [12, 0]]",
         "measures.door.line: the line from (9, 0) to (12, 0) is off the walkable ground: that lies within "
         "(0, 0) and (8, 4), its nearest point 1.00 m away\n    Draw it where agents walk."),
        ("[{box: [3, 0, 4, 4]}, {box: [4, 0, 5, 9]}]", "{box: [0, 4, 8, 5]}",
         "measures.front.area: the area within (0, 4) and (8, 5) is off the walkable ground"),
        ("[[4.1, 2 - $width / 2], [4.1, 2 + $width / 2]]", "[[4, 1], [4, 1]]",
         "measures.door.line: two points of the line in a row are the same"),
        ("{line: [", "{lin: [", "measures.door: expects a line {line: [[x, y], [x, y]]} or an area"),
        ("door: {", "door: {storey: attic, ", 'names the storey "attic", but the geometry has none'),
    ],
)  # fmt: skip
def test_mistakes_name_the_item_and_the_numbers(old: str, new: str, said: str) -> None:
    (found,) = problems_of(HALL.replace(old, new, 1))
    assert said in found and found.startswith("hall.yaml:1")


def test_on_several_floors_each_says_which_and_the_floor_is_recorded() -> None:
    assert (
        "says no storey, but the geometry has several"
        in problems_of(HOUSE.replace(", storey: ground}\n  high", "}\n  high"))[0]
    )
    found = problems_of(HOUSE + "record: {columns: [velocity]}\n")
    assert len(found) == 3 and "on which floor agents are is not recorded" in found[0]


def test_only_agents_on_the_floor_of_a_line_or_area_count(tmp_path: Path) -> None:
    with crowdsim.Simulation(parse_scenario(HOUSE), out=tmp_path / "house.h5") as simulation:
        simulation.run()
    figures = scenario_figures(tmp_path / "house.h5")
    counts = {row["line"]: (row["forwards"], row["backwards"]) for row in figures["lines"]}
    assert counts == {"low": (0, 2), "high": (3, 0)}
    assert [(row["area"], row["people"]) for row in figures["areas"]] == [("hall", 3)]
    # seen from above, a line is on all floors
    assert len(line_crossings(tmp_path / "house.h5", Line(((6.0, 3.0), (6.0, 0.0))))) == 5


def test_a_run_prints_them_and_measure_shows_the_same(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text(HALL)
    told = json.loads(command(["run", "hall.yaml", "-o", "hall.h5", "--json"], cwd=tmp_path).stdout)
    (door,), (front,) = told["measures"]["lines"], told["measures"]["areas"]
    assert (door["line"], round(door["length_m"], 9), door["forwards"], door["backwards"]) == (
        "door",
        1.2,
        6,
        0,
    )
    assert front["people"] == 6 and front["mean_density_per_m2"] > 0.0
    measured = json.loads(command(["measure", "hall.h5", "--json", "--line", "door"], cwd=tmp_path).stdout)
    assert measured["lines"] == [door] and measured["areas"] == [front]
    done = command(["run", "hall.yaml", "--no-record"], cwd=tmp_path)
    assert done.stdout.splitlines()[-5].startswith("line  length m  forwards")
    assert done.stdout.splitlines()[-1].split()[:2] == ["front", "6"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hall.h5", "hall.yaml"]


def test_the_table_of_a_sweep_has_them_and_varies_a_name(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text(HALL)
    words = [
        "sweep",
        "hall.yaml",
        "--vary",
        "vars.width=0.8,1.6",
        "--seeds",
        "0:2",
        "--out",
        "out",
        "--no-record",
    ]
    done = command(words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "lines.door.specific_flow_per_m_s  areas.front.mean_density_per_m2" in done.stdout
    told = json.loads(command([*words, "--json"], cwd=tmp_path).stdout)
    assert [row["vars.width"] for row in told["means"]] == [0.8, 1.6]
    assert [row["mean_lines.door.forwards"] for row in told["means"]] == [6.0, 6.0]
    assert not list((tmp_path / "out" / "recordings").iterdir())
    (table,) = (tmp_path / "out").glob("runs.*")
    if table.suffix == ".csv":
        assert pd.read_csv(table)["lines.door.forwards"].tolist() == [6] * 4


def test_a_line_off_the_ground_is_refused_with_numbers(tmp_path: Path) -> None:
    with crowdsim.Simulation(parse_scenario(HALL), out=tmp_path / "hall.h5") as simulation:
        simulation.run()
    done = command(["measure", "hall.h5", "--line", "20,0,20,4"], cwd=tmp_path)
    assert done.returncode == 2 and done.stderr == (
        "hall.h5: --line 20,0,20,4: the line from (20, 0) to (20, 4) is off the walkable ground: that lies "
        "within (0, 0) and (8, 4), its nearest point 12.00 m away.\n"
    )
    assert command(["measure", "hall.h5", "--line", "rim=8,0,8,4"], cwd=tmp_path).returncode == 0
    with pytest.raises(CrowdsimError):
        Line(((1.0, 1.0),))
