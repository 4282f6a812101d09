"""PedPy and JuPedSim read what we write, as it is."""

from __future__ import annotations

import pytest
import shapely

from crowdsim.recording.export import export_pedpy, export_sqlite
from crowdsim.recording.files import partials_of
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import recover
from tests.recording.crowd import Crowd, killed, new_writer, record
from tests.recording.test_export import two_floors

pedpy = pytest.importorskip("pedpy", reason="pedpy is missing")


def load(path):
    data = pedpy.load_trajectory_from_ped_data_archive_hdf5(trajectory_file=path)
    return data, pedpy.load_walkable_area_from_ped_data_archive_hdf5(trajectory_file=path)


def assert_same(data, path):
    with open_run(path) as run:
        expected = run.trajectories(columns=["x", "y"])
    found = data.data.sort_values(["frame", "id"])
    for name in ("id", "frame", "x", "y"):
        assert (found[name].to_numpy() == expected[name].to_numpy()).all(), name
    assert data.frame_rate == pytest.approx(10.0)


def test_both_archive_loaders_read_a_finished_run(tmp_path):
    path = record(tmp_path / "run.h5", agents=60, ticks=120)
    data, ground = load(path)
    assert_same(data, path)
    assert ground.area == 300.0 * 300.0
    assert len(pedpy.get_invalid_trajectory(traj_data=data, walkable_area=ground)) == 0
    assert len(pedpy.compute_individual_speed(traj_data=data, frame_step=5)) > 1000


def test_the_archive_loaders_read_a_recovered_run(tmp_path):
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.0)
    Crowd(60).record(writer, 40)
    killed(writer)
    with pytest.raises(OSError, match="open"):
        load(partials_of(tmp_path / "run.h5")[0])  # why there is `recover`
    path = recover(tmp_path / "run.h5").path
    data, ground = load(path)
    assert_same(data, path)
    assert len(pedpy.get_invalid_trajectory(traj_data=data, walkable_area=ground)) == 0


def test_the_archive_loaders_read_an_interrupted_run(tmp_path):
    writer = new_writer(tmp_path / "run.h5")
    Crowd(30).record(writer, 40)
    path = writer.abandon("stopped by Ctrl-C").path
    assert_same(load(path)[0], path)


def test_ground_in_pieces_is_refused_as_a_whole_and_read_piece_by_piece(tmp_path):
    path = two_floors(tmp_path / "run.h5")
    with open_run(path) as run:
        # seen from above the floor upstairs closes the gap
        assert run.header.wkt_geometry().startswith("POLYGON")
        pieces = export_pedpy(run, tmp_path / "pieces.h5")
    for piece in pieces:
        data, ground = load(piece)
        assert len(data.data) == 10
        assert len(pedpy.get_invalid_trajectory(traj_data=data, walkable_area=ground)) == 0
    apart = ("POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))", "POLYGON ((2 0, 3 0, 3 1, 2 1, 2 0))")
    writer = new_writer(tmp_path / "apart.h5", header_changes={"ground": apart})
    with pytest.raises(
        pedpy.GeometryError if hasattr(pedpy, "GeometryError") else Exception, match="MULTIPOLYGON"
    ):
        load(writer.close({}).path)


def test_a_ground_with_many_corners_comes_through_whole(tmp_path):
    """An HDF5 attribute has a limit of 64 KiB in the file's old place; this one has more."""
    round_ground = shapely.Point(50.0, 50.0).buffer(150.0, quad_segs=2000).wkt
    assert len(round_ground) > 2 * 65536
    path = record(tmp_path / "run.h5", header_changes={"ground": (round_ground,)})
    _, ground = load(path)
    assert ground.polygon.equals(shapely.from_wkt(round_ground))


def test_pedpy_and_jupedsim_read_the_sqlite_export(tmp_path):
    path = record(tmp_path / "run.h5", agents=60, ticks=120)
    with open_run(path) as run:
        export_sqlite(run, tmp_path / "run.sqlite")
    data = pedpy.load_trajectory_from_jupedsim_sqlite(trajectory_file=tmp_path / "run.sqlite")
    ground = pedpy.load_walkable_area_from_jupedsim_sqlite(trajectory_file=tmp_path / "run.sqlite")
    assert_same(data, path)
    assert ground.area == 300.0 * 300.0
    jupedsim = pytest.importorskip("jupedsim", reason="jupedsim is missing")
    recording = jupedsim.Recording(str(tmp_path / "run.sqlite"))
    entity, position, _ = Crowd(60).at(20)
    frame = recording.frame(10)
    assert [agent.id for agent in frame.agents] == entity.tolist()
    assert [agent.position for agent in frame.agents] == [tuple(place) for place in position.tolist()]
    assert (recording.num_frames, recording.fps) == (60, pytest.approx(10.0))
    assert recording.bounds().xmax == 200.0
