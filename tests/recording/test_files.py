"""Names: what is finished is never replaced, and nothing half-made ever has a final name."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording import files


def make(path, text):
    path.write_text(text)
    return path


@pytest.fixture(params=["links", "no links"])
def linking(request, monkeypatch):
    """Both kinds of file system."""
    if request.param == "no links":

        def refuse(*_):
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)


def test_a_file_gets_its_name(tmp_path, linking):
    partial = make(tmp_path / ".run.h5.ab.partial.h5", "mine")
    assert files.give_name(partial, tmp_path / "run.h5", "ab") == files.Kept(tmp_path / "run.h5", False)
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_a_name_that_is_taken_is_left_alone(tmp_path, linking):
    make(tmp_path / "run.h5", "theirs")
    partial = make(tmp_path / "p", "mine")
    assert files.give_name(partial, tmp_path / "run.h5", "ab") == files.Kept(tmp_path / "run.ab.h5", True)
    assert (tmp_path / "run.h5").read_text() == "theirs"
    assert (tmp_path / "run.ab.h5").read_text() == "mine"
    assert not partial.exists()


def test_force_replaces(tmp_path):
    make(tmp_path / "run.h5", "theirs")
    files.give_name(make(tmp_path / "p", "mine"), tmp_path / "run.h5", "ab", force=True)
    assert (tmp_path / "run.h5").read_text() == "mine"


def test_both_names_taken_keeps_the_file_and_says_where(tmp_path, linking):
    make(tmp_path / "run.h5", "theirs")
    make(tmp_path / "run.ab.h5", "theirs too")
    partial = make(tmp_path / "p", "mine")
    with pytest.raises(RecordingError, match=r"both taken.*kept as"):
        files.give_name(partial, tmp_path / "run.h5", "ab")
    assert partial.read_text() == "mine"


def test_of_many_that_end_at_once_one_gets_the_name_and_all_are_kept(tmp_path, linking):
    partials = [make(tmp_path / f"p{k}", str(k)) for k in range(16)]
    with ThreadPoolExecutor(8) as pool:
        kept = list(
            pool.map(
                lambda pair: files.give_name(pair[1], tmp_path / "run.h5", f"id{pair[0]}"),
                enumerate(partials),
            )
        )
    assert sum(not found.name_taken for found in kept) == 1
    assert {found.path.read_text() for found in kept} == {str(k) for k in range(16)}
    assert len(list(tmp_path.iterdir())) == 16


def test_a_folder_that_disappeared_is_one_sentence(tmp_path):
    partial = make(tmp_path / "p", "mine")
    with pytest.raises(RecordingError, match=r"is whole, but could not be given this name.*p\."):
        files.give_name(partial, tmp_path / "gone" / "run.h5", "ab")
    assert partial.exists()


def test_partials_of_a_path_are_found_oldest_first(tmp_path):
    out = tmp_path / "run.h5"
    for age, run_id in ((3, "aa"), (1, "bb"), (2, "cc")):
        path = make(files.partial_name(out, run_id), "")
        os.utime(path, (100 - age, 100 - age))
    make(tmp_path / ".run2.h5.aa.partial.h5", "")
    assert [path.name.split(".")[3] for path in files.partials_of(out)] == ["aa", "cc", "bb"]
    assert files.partials_of(tmp_path / "none" / "run.h5") == []


def test_a_new_file_appears_when_it_is_done_and_only_then(tmp_path, linking):
    out = tmp_path / "a.csv"
    with files.new_file(out) as scratch:
        scratch.write_text("done")
        assert not out.exists()
    assert out.read_text() == "done"
    with pytest.raises(ZeroDivisionError), files.new_file(tmp_path / "b.csv") as scratch:
        scratch.write_text("half")
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_new_file_never_replaces_without_force(tmp_path, linking):
    out = make(tmp_path / "a.csv", "old")
    with pytest.raises(RecordingError, match="exists already"), files.new_file(out):
        pytest.fail("the work was begun")
    with pytest.raises(RecordingError, match="exists already"), files.new_file(tmp_path / "b.csv") as scratch:
        scratch.write_text("mine")
        make(tmp_path / "b.csv", "another process was faster")
    with files.new_file(out, force=True) as scratch:
        scratch.write_text("new")
    assert out.read_text() == "new"
    assert (tmp_path / "b.csv").read_text() == "another process was faster"


def test_system_errors_in_a_new_file_become_one_sentence(tmp_path):
    with pytest.raises(RecordingError, match="No space left on device"), files.new_file(tmp_path / "a.csv"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(RecordingError, match="no such folder"), files.new_file(tmp_path / "no" / "a.csv"):
        pytest.fail("the work was begun")


def test_free_bytes_knows_the_limit_of_the_process(tmp_path, monkeypatch):
    assert files.free_bytes(tmp_path) > 0
    monkeypatch.setattr(files.resource, "getrlimit", lambda _: (1000, 1000))
    assert files.free_bytes(tmp_path, 400) == 600
    assert files.free_bytes(tmp_path, 4000) == 0
