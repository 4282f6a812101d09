"""Exports: the same numbers in other formats, whole files only."""

from __future__ import annotations

import sqlite3

import h5py
import numpy as np
import pandas as pd
import pytest
import shapely

from crowdsim.errors import RecordingError
from crowdsim.recording import export as module
from crowdsim.recording.export import export_csv, export_pedpy, export_sqlite
from crowdsim.recording.header import Layout
from crowdsim.recording.opening import open_run
from crowdsim.recording.schema import STANDARD_COLUMNS, RecordedColumn
from crowdsim.recording.writer import RecordingWriter
from tests.recording.crowd import GROUND, Crowd, header, new_writer, record, roster_of


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with open_run(record(tmp_path_factory.mktemp("runs") / "run.h5", agents=40, ticks=120)) as found:
        yield found


def test_csv_gives_every_number_back(run, tmp_path):
    assert export_csv(run, tmp_path / "run.csv", columns=["velocity", "surface"]) == run.commit.rows
    found = pd.read_csv(tmp_path / "run.csv", dtype=str)
    assert list(found.columns) == ["id", "frame", "x", "y", "z", "velocity_x", "velocity_y", "surface"]
    expected = run.trajectories(columns=["x", "y", "z", "velocity", "surface"])
    for name in found.columns:
        numbers = expected[name].to_numpy()
        assert [numbers.dtype.type(text) for text in found[name]] == numbers.tolist(), name


def test_csv_is_written_in_pieces(run, tmp_path, monkeypatch):
    whole = tmp_path / "whole.csv"
    export_csv(run, whole)
    original = type(run).blocks
    monkeypatch.setattr(type(run), "blocks", lambda self, columns: original(self, columns, rows=7))
    export_csv(run, tmp_path / "pieces.csv")
    assert (tmp_path / "pieces.csv").read_bytes() == whole.read_bytes()


def test_csv_of_a_run_without_rows_is_its_header(tmp_path):
    with open_run(new_writer(tmp_path / "run.h5").close({}).path) as run:
        assert export_csv(run, tmp_path / "run.csv", columns=["velocity"]) == 0
    assert (tmp_path / "run.csv").read_text() == "id,frame,x,y,z,velocity_x,velocity_y\n"


def test_unknown_columns_leave_no_file(run, tmp_path):
    with pytest.raises(RecordingError, match="no column 'speed'"):
        export_csv(run, tmp_path / "run.csv", columns=["speed"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("export", [export_csv, export_sqlite])
def test_exports_replace_only_with_force(run, tmp_path, export):
    out = tmp_path / "out"
    out.write_text("mine")
    with pytest.raises(RecordingError, match="exists already"):
        export(run, out)
    assert out.read_text() == "mine"
    export(run, out, force=True)
    assert out.stat().st_size > 1000
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_sqlite_has_the_tables_of_jupedsim(run, tmp_path):
    assert export_sqlite(run, tmp_path / "run.sqlite") == run.commit.rows
    base = sqlite3.connect(tmp_path / "run.sqlite")
    rows = np.array(
        base.execute(
            "SELECT frame, id, pos_x, pos_y, ori_x, ori_y FROM trajectory_data ORDER BY frame, id"
        ).fetchall()
    )
    expected = run.trajectories(columns=["x", "y", "velocity", "heading"])
    assert (rows[:, :4] == expected[["frame", "id", "x", "y"]].to_numpy()).all()
    velocity = expected[["velocity_x", "velocity_y"]].to_numpy().astype(float)
    heading = expected[["heading_x", "heading_y"]].to_numpy().astype(float)
    assert rows[:, 4:] == pytest.approx(heading / np.hypot(*heading.T)[:, None], abs=1e-12)
    # a heading is kept to a quarter of a degree
    assert rows[:, 4:] == pytest.approx(velocity / np.hypot(*velocity.T)[:, None], abs=0.005)
    facts = dict(base.execute("SELECT key, value FROM metadata"))
    assert facts["version"] == "2"
    assert float(facts["fps"]) == pytest.approx(10.0)
    assert [float(facts[key]) for key in ("xmin", "ymin", "xmax", "ymax")] == [-100.0, -100.0, 200.0, 200.0]
    assert base.execute("SELECT count(*), count(DISTINCT geometry_hash) FROM frame_data").fetchone() == (
        60,
        1,
    )
    assert base.execute(
        "SELECT wkt FROM geometry JOIN frame_data ON hash = geometry_hash WHERE frame = 3"
    ).fetchone() == (GROUND,)
    base.close()


def test_an_agent_that_stands_keeps_looking_where_it_looked(tmp_path):
    writer = RecordingWriter(tmp_path / "run.h5", header(), Layout((STANDARD_COLUMNS[0],)))
    writer.roster(roster_of(1, 2, 3))
    steps = [
        ([1, 2], [(0.0, 2.0), (0.0, 0.0)]),
        ([1, 2, 3], [(0.0, 0.0), (0.0, 0.0), (-1.0, 0.0)]),
        ([2, 3], [(3.0, 4.0), (0.0, 0.0)]),
    ]
    for frame, (entity, velocity) in enumerate(steps):
        zeros = np.zeros(len(entity))
        writer.frame(frame, frame, np.array(entity), zeros, zeros, 0.0, {"velocity": np.array(velocity)})
    with open_run(writer.close({}).path) as run:
        export_sqlite(run, tmp_path / "run.sqlite")
    base = sqlite3.connect(tmp_path / "run.sqlite")
    looks = base.execute("SELECT frame, id, ori_x, ori_y FROM trajectory_data ORDER BY frame, id").fetchall()
    base.close()
    assert looks == [
        (0, 1, 0, 1),
        (0, 2, 1, 0),
        (1, 1, 0, 1),
        (1, 2, 1, 0),
        (1, 3, -1, 0),
        (2, 2, 0.6, 0.8),
        (2, 3, -1, 0),
    ]


def test_a_run_without_ground_or_velocity(tmp_path):
    writer = RecordingWriter(tmp_path / "a.h5", header(ground=()), Layout())
    with open_run(writer.close({}).path) as run:
        for export in (export_sqlite, export_pedpy):
            with pytest.raises(RecordingError, match="has no ground"):
                export(run, tmp_path / "out")
    writer = RecordingWriter(tmp_path / "b.h5", header(), Layout())
    writer.roster(roster_of(4))
    writer.frame(0, 0, np.array([4]), [1.0], [2.0], 0.0, {})
    with open_run(writer.close({}).path) as run:
        export_sqlite(run, tmp_path / "b.sqlite")
    base = sqlite3.connect(tmp_path / "b.sqlite")
    assert base.execute("SELECT * FROM trajectory_data").fetchall() == [(0, 4, 1.0, 2.0, 1.0, 0.0)]
    base.close()


def test_a_failed_database_leaves_nothing(run, tmp_path, monkeypatch):
    def fail(_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(module, "_make_tables", fail)
    with pytest.raises(RecordingError, match="database or disk is full"):
        export_sqlite(run, tmp_path / "run.sqlite")
    assert list(tmp_path.iterdir()) == []


def two_floors(path):
    """Agent 1 walks on the left piece of the ground floor, 2 on the right one,
    3 upstairs over the gap between them.
    """
    pieces = "MULTIPOLYGON (((0 0, 4 0, 4 4, 0 4, 0 0)), ((6 0, 9 0, 9 4, 6 4, 6 0)))"
    upstairs = "POLYGON ((3 0, 7 0, 7 4, 3 4, 3 0))"
    writer = RecordingWriter(
        path,
        header(ground=(pieces, upstairs), layers=("ground floor", "first")),
        Layout((RecordedColumn("layer", "int32", "", ""),)),
    )
    writer.roster(roster_of(1, 2, 3))
    for frame in range(10):
        x = np.array([1.0, 8.0, 5.0]) + 0.05 * frame
        writer.frame(
            frame,
            frame,
            np.array([1, 2, 3]),
            x,
            np.full(3, 2.0),
            np.array([0.0, 0.0, 3.0]),
            {"layer": np.array([0, 0, 1])},
        )
    return writer.close({}).path


def test_each_piece_of_ground_becomes_a_file_with_its_own_agents(tmp_path):
    with open_run(two_floors(tmp_path / "run.h5")) as run:
        made = export_pedpy(run, tmp_path / "run.h5")
        whole = run.trajectories(columns=["x", "y", "z"])
        with pytest.raises(RecordingError, match="exists already"):
            export_pedpy(run, tmp_path / "run.h5")
        export_pedpy(run, tmp_path / "run.h5", force=True)
    assert [path.name for path in made] == ["run.ground_floor.1.h5", "run.ground_floor.2.h5", "run.first.h5"]
    for path, agent in zip(made, (1, 2, 3)):
        with h5py.File(path, "r") as file:
            table = pd.DataFrame(file["trajectory"][:])
            ground = shapely.from_wkt(file.attrs["wkt_geometry"])
            assert file["trajectory"].attrs["fps"] == pytest.approx(10.0)
        assert ground.geom_type == "Polygon"
        assert ground.covers(shapely.points(table["x"], table["y"])).all()
        assert table.equals(whole[whole["id"] == agent].reset_index(drop=True))


def test_floors_without_the_column_that_tells_them_apart_are_refused(tmp_path):
    writer = RecordingWriter(tmp_path / "run.h5", header(ground=(GROUND, GROUND)), Layout())
    with open_run(writer.close({}).path) as run, pytest.raises(RecordingError, match="no agent has a floor"):
        export_pedpy(run, tmp_path / "out.h5")


def test_a_cut_off_recording_is_exported_as_far_as_it_was_committed(tmp_path):
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.0)
    Crowd(20).record(writer, 30)
    with open_run(writer.partial) as run:
        assert export_csv(run, tmp_path / "run.csv") == run.commit.rows > 0
    writer.discard()
