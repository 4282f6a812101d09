"""Where people were, read from recordings, from text, and from archive files."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.measures import path_lengths, read_measured, tracks_of, trajectories
from crowdsim.measures.tracks import make_tracks
from crowdsim.recording.opening import open_run
from tests.measures.people import random_crowd, tracks
from tests.recording.crowd import record

ROWS = "1 0 100 200 170\n1 1 110 200 170\n2 1 0 0 180\n"


def test_a_recording_is_the_same_by_its_name_and_open(tmp_path):
    path = record(tmp_path / "run.h5", agents=9, ticks=60)
    by_name = tracks_of(path)
    with open_run(path) as run:
        opened, expected = tracks_of(run), run.trajectories(columns=["x", "y"]).sort_values(["id", "frame"])
    assert (
        (by_name.person == expected["id"]).all()
        and (by_name.frame == expected["frame"]).all()
        and (by_name.x == expected["x"]).all()
    )
    assert (opened.y == by_name.y).all() and by_name.fps == 10.0 and by_name.ground.area == 90000.0
    assert by_name.people["radius_m"].tolist() == [0.25] * 9 and set(by_name.events["kind"]) == {"SPAWN"}
    assert by_name.time_s[by_name.frame == 10].tolist() == [1.0] * 9


def test_tracks_are_measured_as_they_are():
    crowd = random_crowd(1)
    assert tracks_of(crowd) is crowd


def test_text_says_its_unit_and_frame_rate_itself_or_is_told(tmp_path):
    bare, said = tmp_path / "bare.txt", tmp_path / "said.txt"
    bare.write_text(ROWS)
    said.write_text("# framerate: 12.5 fps\n# id frame x/cm y/cm z/cm\n" + ROWS)
    told, read = read_measured(bare, fps=12.5, unit="cm"), tracks_of(said)
    for people in (told, read):
        assert (
            people.fps == 12.5
            and people.x.tolist() == [1.0, 1.1, 0.0]
            and people.y.tolist() == [2.0, 2.0, 0.0]
        )
        assert not people.has_events and np.isnan(people.people["radius_m"]).all() and (people.z == 0.0).all()
    assert read_measured(bare, fps=12.5, unit="m").x[0] == 100.0


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        (
            ROWS,
            {"unit": "cm"},
            "does not say its frames a second. Give it: fps=25, or on the command line --fps 25.",
        ),
        (
            ROWS,
            {"fps": 16.0},
            "does not say its unit of places. Give it: unit='cm', or on the command line --unit cm.",
        ),
        (ROWS, {"fps": 16.0, "unit": "feet"}, '"feet" is no unit of places. Known are m, cm, mm.'),
        (
            "# framerate: 25 fps\n" + ROWS,
            {"fps": 16.0, "unit": "m"},
            "says that its frames a second is 25.0, not 16.0.",
        ),
        ("", {"fps": 16.0, "unit": "m"}, "holds nobody"),
        ("# nothing\n", {"fps": 16.0, "unit": "m"}, "holds nobody"),
        (
            "1 0 1 1\n1 1 here there\n",
            {"fps": 16.0, "unit": "m"},
            "people.txt:2: is no row of a table of trajectories",
        ),
        (
            "# none\n\n1 0\n",
            {"fps": 16.0, "unit": "m"},
            "people.txt:3: has 2 columns, but each line has id, frame, x, y",
        ),
        (
            "1 0.5 1 1\n",
            {"fps": 16.0, "unit": "m"},
            "people.txt:1: frame is 0.5, but the first two columns, id and frame, are whole numbers",
        ),
        ("1 0 1 1\n1 0 2 2\n", {"fps": 16.0, "unit": "m"}, "person 1 is twice in frame 0"),
        (
            "1 0 nan 1\n",
            {"fps": 16.0, "unit": "m"},
            "people.txt:1: x is nan m, but places are numbers up to 1e+08 m",
        ),
        (ROWS, {"fps": 0.0, "unit": "m"}, "has 0 frames a second"),
    ],
)
def test_what_is_wrong_with_a_text_is_one_sentence(tmp_path, text, given, message):
    path = tmp_path / "people.txt"
    path.write_text(text)
    with pytest.raises(RecordingError) as caught:
        read_measured(path, **given)
    assert message in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.sample(1)
@pytest.mark.parametrize("fps", [16.0, "16.0", b"16.0", np.array([16.0])])
def test_archive_files_give_their_frame_rate_as_a_number_or_as_text(tmp_path, fps):
    path = tmp_path / "people.h5"
    table = np.array(
        [(1, 0, 1.0, 2.0, 1.7), (2, 0, 3.0, 4.0, 1.8)],
        dtype=[("id", "i8"), ("frame", "i8"), ("x", "f8"), ("y", "f8"), ("z", "f8")],
    )
    with h5py.File(path, "w") as file:
        file["trajectory"] = table
        file["trajectory"].attrs["fps"] = fps
        file.attrs["wkt_geometry"] = "POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0))"
    people = tracks_of(path)
    assert people.fps == 16.0 and people.x.tolist() == [1.0, 3.0] and people.ground.area == 81.0
    with pytest.raises(RecordingError, match=r"says that its frames a second is 16\.0, not 25"):
        read_measured(path, fps=25.0)


def test_what_is_wrong_with_an_archive_file_is_one_sentence(tmp_path):
    path = tmp_path / "people.h5"
    with h5py.File(path, "w") as file:
        file["trajectory"] = np.zeros(1, dtype=[("id", "i8"), ("frame", "i8"), ("x", "f8")])
    with pytest.raises(RecordingError, match="has no column y"):
        tracks_of(path)
    with h5py.File(path, "w") as file:
        file["trajectory"] = h5py.ExternalLink("elsewhere.h5", "/trajectory")
    with pytest.raises(RecordingError, match="trajectory is a link to somewhere else"):
        read_measured(path)
    with h5py.File(path, "w") as file:
        file["trajectory"] = np.zeros(1, dtype=[("id", "i8"), ("frame", "i8"), ("x", "f8"), ("y", "f8")])
        file["trajectory"].attrs["fps"] = "fast"
    with pytest.raises(RecordingError, match="is 'fast', which is no number"):
        tracks_of(path)
    for missing in ("people.txt", "gone.h5"):
        with pytest.raises(RecordingError, match=r"no such file|cannot be"):
            tracks_of(tmp_path / missing)


def test_rows_may_come_in_any_order_and_ids_may_be_far_apart():
    rng = np.random.default_rng(3)
    person, frame = np.repeat([5, 10**12, -3], 20), np.tile(np.arange(7, 27), 3)
    x = person * 1e-6 + frame
    order = rng.permutation(60)
    made = make_tracks("shuffled", 5.0, person[order], frame[order], x[order], x[order])
    assert made.seen.tolist() == [-3, 5, 10**12] and made.starts.tolist() == [0, 20, 40, 60]
    assert (made.x == made.person * 1e-6 + made.frame).all() and (made.time_s == made.frame / 5.0).all()
    assert made.follows.sum() == 57


def test_every_column_has_a_unit():
    table = trajectories(tracks({1: [(0, 0), (1, 0)]}))
    assert table.attrs["units"] == {"id": "", "frame": "", "time_s": "s", "x_m": "m", "y_m": "m", "z_m": "m"}
    assert path_lengths(tracks({1: [(0, 0), (1, 0)]})).attrs["units"]["mean_speed_m_s"] == "m/s"
