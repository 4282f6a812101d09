"""The benchmark of searches beside programs of others says what is not there, compares results before it
counts ratios, and writes what those programs read. Here programs of a few lines stand in for them.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import shapely

from crowdsim.navigation.mesh.build import build_mesh
from tests.crowds import ROOT

SIZE = 12
# Answers as those programs do, on ground without walls: straight lines, and over cells the octile distance.
STAND_IN = """#!{python}
import sys, time
import numpy as np
asked = sys.argv[-2]
if len(sys.argv) == 3:
    vertices, _, count, _ = np.fromfile(asked, dtype=np.int32, count=4).tolist()
    query = np.fromfile(asked, count=6 * count, offset=16 + 24 * vertices).reshape(-1, 2, 3)[:, :, :2]
else:
    query = np.fromfile(asked, offset=4).reshape(-1, 2, 2)
off = np.abs(query[:, 1] - query[:, 0])
length = np.hypot(*off.T)
if sys.argv[1].endswith(".map"):
    length = off.max(axis=1) + (np.sqrt(2.0) - 1.0) * off.min(axis=1)
np.column_stack([{factor} * length, np.full((len(length), 2), 3.0)]).tofile(sys.argv[-1])
print("ready", flush=True)
for line in sys.stdin:
    time.sleep(0.001)
    print(1e-6 * int(line), 2e-6 * int(line), flush=True)
"""


@pytest.fixture
def run(monkeypatch, capsys):
    """Return what runs the benchmark: its exit code, and what it printed to either stream."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from search_peers import main

    def run_with(folder, *more):
        code = main(["--data", str(folder), "--rounds", "3", *more])
        return code, *capsys.readouterr()

    return run_with


def prepared(folder: Path, factor: float) -> list[str]:
    """Write an open map with queries and a program that answers `factor` times the right lengths;
    return the options that name it.
    """
    maps = folder / "movingai"
    maps.mkdir()
    rows = "\n".join(["." * SIZE] * SIZE)
    (maps / "open.map").write_text(f"type octile\nheight {SIZE}\nwidth {SIZE}\nmap\n{rows}\n")
    cells = np.random.default_rng(1).integers(0, SIZE, (20, 4))
    queries = "\n".join(f"0 open.map {SIZE} {SIZE} {a} {b} {c} {d} 1" for a, b, c, d in cells)
    (maps / "open.map.scen").write_text(f"version 1\n{queries}\n")
    program = folder / "stand_in"
    program.write_text(STAND_IN.format(python=sys.executable, factor=factor))
    program.chmod(0o755)
    return [word for name in ("detour", "polyanya", "warthog") for word in (f"--{name}", str(program))]


@pytest.mark.parametrize("option", ["--detour", "--polyanya", "--warthog"])
def test_a_program_that_is_not_there_is_named_in_one_line(option, run, tmp_path):
    code, out, error = run(tmp_path, option, str(tmp_path / "none"))
    assert code == 2 and out == ""
    assert str(tmp_path / "none") in error and error.count("\n") == 1


def test_data_that_are_not_there_are_named_in_one_line(run, tmp_path):
    code, out, error = run(tmp_path / "none")
    assert code == 2 and out == "" and error.count("\n") == 1


@pytest.mark.full  # compiles four kernels, for a minute
def test_results_are_compared_and_then_timed_by_turns(run, tmp_path):
    programs = prepared(tmp_path, 1.0)
    code, out, _ = run(tmp_path, *programs)
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    assert out.count("times Polyanya's rate: on ") == 1
    found = json.loads(run(tmp_path, *programs, "--json")[1])
    assert [one["peer"] for one in found["grounds"]] == ["Detour", "Polyanya", "warthog"]
    for one in found["grounds"]:
        assert one["is_same"] and one["queries"] == 20
        for row in one["rows"]:
            # stand-ins say that all queries take 2 us, and give three nodes for each
            assert row["its_us"] == pytest.approx(2.0 / 20)
            assert row["ratio_low"] - 0.005 <= row["its_us"] / row["us"] <= row["ratio_high"] + 0.005
            assert row["its_expanded"] == row["its_pushed"] == 3.0
    asked = {(one["peer"], one["way"]) for one in found["goals"]}
    assert asked == {
        ("Detour", "mesh"), ("Detour", "mesh, planner"), ("Polyanya", "optimal"), ("warthog", "grid")
    }  # fmt: skip


@pytest.mark.full  # compiles four kernels, for a minute
def test_no_ratio_counts_where_lengths_are_not_the_same(run, tmp_path):
    code, out, _ = run(tmp_path, *prepared(tmp_path, 0.5))
    assert code == 1 and out.count("NOT THE SAME") == 3
    assert "'s rate:" not in out


@pytest.mark.full  # compiles four kernels, for a minute
def test_ours_are_measured_alone_where_no_program_is_given(run, tmp_path):
    prepared(tmp_path, 1.0)
    code, out, _ = run(tmp_path, "--json")
    found = json.loads(out)
    assert code == 0 and found["goals"] == [] and len(found["grounds"]) == 3
    assert all(row["us"] > 0.0 and "ratio" not in row for one in found["grounds"] for row in one["rows"])


def test_a_mesh_is_written_with_its_polygons_and_what_lies_behind_their_sides(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from paths import read_polyanya
    from search_peers import write_polyanya

    holes = shapely.union_all([shapely.box(x, x + 1, x + 2, x + 2) for x in (1, 5, 9)])
    mesh = build_mesh(shapely.box(0, 0, 14, 14).difference(holes)).mesh
    write_polyanya(tmp_path / "mesh", mesh)
    again = read_polyanya(tmp_path / "mesh")
    assert np.array_equal(again.polygon_start, mesh.polygon_start)
    assert np.array_equal(again.vertex[again.edge_vertex], mesh.vertex[mesh.edge_vertex])
    vertices, polygons = map(int, (tmp_path / "mesh").read_text().split()[2:4])
    lines = [line.split() for line in (tmp_path / "mesh").read_text().splitlines()[3:]]
    assert (vertices, polygons) == (len(np.unique(mesh.edge_vertex)), mesh.polygon_count)
    # all are on walls, and no wall touches another
    assert all(line[3:].count("-1") == 1 and int(line[2]) == len(line) - 3 for line in lines[:vertices])
    of = [list(map(int, line[1 : 1 + int(line[0])])) for line in lines[vertices:]]
    for number, line in enumerate(lines[vertices:]):
        behind = list(map(int, line[1 + int(line[0]) :]))
        for side, other in enumerate(behind):  # its side ends at the vertex of the same place
            if other >= 0:
                assert {of[number][side], of[number][side - 1]} <= set(of[other])
                assert other != number
    assert sum(line[1 + int(line[0]) :].count("-1") for line in lines[vertices:]) == vertices
