"""The newest run has the name; the older one is kept by its run id, whatever is stopped between two steps."""

from __future__ import annotations

import errno
import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording.files import Kept
from crowdsim.recording.naming import take_name
from crowdsim.recording.opening import open_run
from tests.recording.crowd import record


class Killed(BaseException):
    """Nothing of the program goes on after it."""


@pytest.fixture(params=["links", "no links"])
def linking(request, monkeypatch):
    """Both kinds of file system."""
    if request.param == "no links":

        def refuse(*_):
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)


def finished(folder, name, seed):
    """Return a finished recording that has no name yet, and its run id."""
    path = record(folder / name, seed=seed)
    with open_run(path) as run:
        return path, run.header.run_id


def runs_in(folder):
    """Return the run ids of all recordings in a folder, by the names of the files."""
    found = {}
    for path in folder.glob("*.h5"):
        with open_run(path) as run:
            found[path.name] = run.header.run_id
    return found


def test_the_older_run_goes_on_under_its_own_id(tmp_path, linking):
    (older, old_id), (newer, new_id) = finished(tmp_path, "p", 1), finished(tmp_path, "q", 2)
    out, aside = tmp_path / "run.h5", tmp_path / f"run.{old_id}.h5"
    assert take_name(older, out, old_id) == Kept(out, name_taken=False)
    assert take_name(newer, out, new_id) == Kept(out, name_taken=False, older=aside)
    assert runs_in(tmp_path) == {out.name: new_id, aside.name: old_id}
    assert not older.exists() and not newer.exists()


@pytest.mark.parametrize("step", ["link", "replace"])
def test_a_kill_between_two_steps_loses_nothing_and_the_next_try_ends_it(step, tmp_path, monkeypatch):
    (older, old_id), (newer, new_id) = finished(tmp_path, "p", 1), finished(tmp_path, "q", 2)
    out, aside = tmp_path / "run.h5", tmp_path / f"run.{old_id}.h5"
    take_name(older, out, old_id)

    def struck(*_):
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        if step == "link":  # that to the second name: the one before it finds the first one taken
            link = os.link
            patched.setattr(os, "link", lambda one, to: link(one, to) if to == out else struck())
        else:
            patched.setattr(Path, "replace", struck)
        take_name(newer, out, new_id)
    with open_run(out) as run:
        assert run.header.run_id == old_id
    assert newer.exists() and aside.exists() == (step == "replace")
    assert take_name(newer, out, new_id).older == aside
    assert runs_in(tmp_path) == {out.name: new_id, aside.name: old_id} and not newer.exists()


def test_of_many_that_end_at_once_each_is_kept_once(tmp_path, linking):
    made = [finished(tmp_path, f"p{k}", k + 1) for k in range(8)]
    out = tmp_path / "run.h5"
    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(lambda one: take_name(one[0], out, one[1]), made))
    assert all(each.path == out and not each.name_taken for each in kept)
    found = runs_in(tmp_path)
    assert sorted(found.values()) == sorted(run_id for _, run_id in made)
    assert all(name in ("run.h5", f"run.{run_id}.h5") for name, run_id in found.items())


def test_a_second_name_that_is_taken_is_left_alone(tmp_path, linking):
    (older, old_id), (newer, new_id) = finished(tmp_path, "p", 1), finished(tmp_path, "q", 2)
    out = tmp_path / "run.h5"
    take_name(older, out, old_id)
    (tmp_path / f"run.{old_id}.h5").write_text("notes")
    assert take_name(newer, out, new_id).older == tmp_path / f"run.{old_id}-2.h5"
    assert (tmp_path / f"run.{old_id}.h5").read_text() == "notes"


def test_what_is_none_or_cannot_be_read_is_left_alone(tmp_path, linking):
    newer, new_id = finished(tmp_path, "p", 1)
    out = tmp_path / "run.h5"
    out.write_bytes(newer.read_bytes()[:5000])
    assert take_name(newer, out, new_id) == Kept(tmp_path / f"run.{new_id}.h5", name_taken=True)
    assert out.stat().st_size == 5000


@pytest.mark.parametrize("answer", [errno.ENOLCK, errno.EAGAIN])
def test_without_a_lock_nothing_is_moved(answer, tmp_path, monkeypatch):
    (older, old_id), (newer, new_id) = finished(tmp_path, "p", 1), finished(tmp_path, "q", 2)
    out = tmp_path / "run.h5"
    take_name(older, out, old_id)

    def refuse(*_):
        raise OSError(answer, os.strerror(answer))

    monkeypatch.setattr("crowdsim.recording.locks._PATIENCE_S", 0.05)
    monkeypatch.setattr(fcntl, "flock", refuse)
    assert take_name(newer, out, new_id) == Kept(tmp_path / f"run.{new_id}.h5", name_taken=True)


def test_a_folder_that_disappeared_is_one_sentence(tmp_path):
    newer, new_id = finished(tmp_path, "p", 1)
    with pytest.raises(RecordingError, match=r"is whole, but could not be given this name.*p\."):
        take_name(newer, tmp_path / "gone" / "run.h5", new_id)
    assert newer.exists()
