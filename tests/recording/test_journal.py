"""The journal: what fills no chunk yet comes back as it was, or is told to be damaged;
its lock tells which process is alive.
"""

from __future__ import annotations

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording import gate, storage
from crowdsim.recording.files import lock_of
from crowdsim.recording.gate import Damage, Packed
from crowdsim.recording.journal import CHUNK_BYTES, IDLE_BYTES, Journal, Kept, Rest
from crowdsim.recording.locks import create_locked, is_held, taken
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import recover
from crowdsim.recording.schema import TRAJECTORY_DTYPE
from tests.crowds import ROOT
from tests.recording.crowd import Crowd, killed, new_writer, record

KINDS = [(np.dtype("<f4"), 2), (np.dtype("u1"), 0), (np.dtype("<u8"), 5), (TRAJECTORY_DTYPE, 0)]


def rest_of(number, table, first, stop):
    """Return rows of a table as the writer keeps them: the trajectory field by field."""
    names = table.dtype.names
    return Rest(
        number,
        first,
        stop - first,
        [np.ascontiguousarray(table[name][first:stop]) for name in names] if names else [table[first:stop]],
    )


@pytest.fixture
def file(tmp_path):
    with h5py.File(tmp_path / "a.h5", "x", libver=("v110", "v110")) as file:
        file.create_dataset("journal", (0,), "u1", maxshape=(None,), chunks=(CHUNK_BYTES,))
        yield file


class AsOnDisk:
    """The dataset as another process finds it: h5py keeps what it has read."""

    def __init__(self, journal):
        self.shape, self.dtype = (journal.size,), np.dtype("u1")
        self._bytes = b"".join(os.pread(journal._handle, CHUNK_BYTES, place) for place in journal._places)

    def rows(self, start, stop):
        return np.frombuffer(self._bytes, dtype=np.uint8)[start:stop]


def journal_in(file):
    return Journal(file["journal"], file.id.get_vfd_handle())


@pytest.mark.parametrize("seed", range(5))
def test_rows_come_back_whatever_was_written_before(file, seed):
    """Random commits of random datasets, of which chunks become full at random:
    after each, all that is needed is there, and it stays small.
    """
    rng = np.random.default_rng(seed)
    tables = []
    for dtype, width in KINDS:
        table = np.zeros((30_000, *((width,) if width else ())), dtype=dtype)
        table.view(np.uint8)[...] = rng.integers(0, 256, table.view(np.uint8).shape)
        tables.append(table)
    journal = journal_in(file)
    begun, done, written, largest = [0] * len(KINDS), [0] * len(KINDS), [0] * len(KINDS), 0
    for _ in range(60):
        for number in range(len(KINDS)):
            done[number] += int(rng.integers(0, 500))
            if rng.random() < 0.2:
                begun[number] = done[number]  # a chunk is full
        new = [
            rest_of(n, tables[n], max(written[n], begun[n]), done[n])
            for n in range(len(KINDS))
            if max(written[n], begun[n]) < done[n]
        ]
        needed = [rest_of(n, tables[n], begun[n], done[n]) for n in range(len(KINDS)) if begun[n] < done[n]]
        live = sum(each.size for each in needed)
        largest = max(largest, live)
        fits = journal.fits(sum(each.size for each in new), live)
        word = journal.write(new if fits else needed, anew=not fits)
        written = [*done]
        kept = Kept(AsOnDisk(journal), word)
        for number, (dtype, width) in enumerate(KINDS):
            found = kept.rows(
                number, dtype, width, begun[number], done[number], fields=dtype.names is not None
            )
            assert found.tobytes() == tables[number][begun[number] : done[number]].tobytes()
    assert journal.size <= 6 * max(largest, IDLE_BYTES)


def test_every_changed_byte_of_what_counts_is_noticed(file):
    journal = journal_in(file)
    word = journal.write([Rest(0, 0, 9, [np.arange(9.0)])], anew=False)
    word = journal.write(
        [Rest(0, 9, 3, [np.arange(3.0)]), Rest(1, 4, 2, [np.arange(2, dtype=np.uint8)])], anew=False
    )
    file.flush()
    data = file["journal"]
    whole = data[:]
    start, end = word >> 32, word & 0xFFFFFFFF
    for at in range(start, end):
        data[at] ^= 16
        with pytest.raises(Damage, match="the journal of its newest rows is damaged"):
            Kept(Packed(data), word)
        data[at] = whole[at]
    with pytest.raises(Damage):
        Kept(Packed(data), start << 32 | len(data) + 1)
    with pytest.raises(Damage):
        Kept(Packed(data), word).rows(0, np.dtype("f8"), 0, 0, 13, fields=False)  # a row more than there is
    with pytest.raises(Damage):
        Kept(Packed(data), word).rows(0, np.dtype("f4"), 0, 0, 12, fields=False)
    assert (
        Kept(Packed(data), word).rows(0, np.dtype("f8"), 0, 0, 12, fields=False) == [*range(9), *range(3)]
    ).all()
    assert (Kept(Packed(data), word).rows(1, np.dtype("u1"), 0, 4, 6, fields=False) == [0, 1]).all()


def test_with_a_damaged_journal_the_rest_is_read_and_the_newest_rows_are_told_as_lost(tmp_path):
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.05)
    Crowd(20).record(writer, 60)
    writer.commit()
    partial = killed(writer)
    with gate.opened(partial) as file:
        place = file["journal"].id.get_chunk_info(0).byte_offset
    data = bytearray(partial.read_bytes())
    data[place + 500] ^= 1
    partial.write_bytes(data)
    with open_run(partial) as run:
        assert run.commit.ticks == 60 and run.header.name == "crossing"
        with pytest.raises(RecordingError) as caught:
            run.ticks()
    assert str(caught.value) == (
        f"{partial}: the journal of its newest rows is damaged. `crowdsim recover {partial}` makes a "
        "whole file of the rest."
    )
    with pytest.raises(
        RecordingError, match=r"nothing of it can be recovered .*journal of its newest rows is damaged"
    ):
        recover(partial)


def test_a_lock_goes_with_its_maker(tmp_path):
    path = tmp_path / "lock"
    assert not is_held(path)
    program = (
        "import sys, time; from pathlib import Path; from crowdsim.recording.locks import create_locked; "
        "create_locked(Path(sys.argv[1])); print('made', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as other:
        assert other.stdout.readline() == "made\n"
        assert is_held(path)
        with taken(path) as is_ours:
            assert not is_ours
        with pytest.raises(FileExistsError):
            create_locked(path)
        other.kill()
    assert not is_held(path)
    with taken(path) as is_ours:
        assert is_ours and is_held(path)
    with taken(tmp_path / "none") as is_ours:
        assert not is_ours


def test_a_recording_in_the_making_is_held_until_its_writer_is_done(tmp_path):
    writer = new_writer(tmp_path / "run.h5")
    lock = lock_of(writer.partial)
    Crowd(5).record(writer, 10)
    assert is_held(lock) and lock.read_text().split()[0] == str(os.getpid())
    writer.close({})
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]
    writer = new_writer(tmp_path / "run.h5")
    Crowd(5).record(writer, 10)
    writer.let_go()
    assert not is_held(lock_of(writer.partial)) and lock_of(writer.partial).exists()


@pytest.mark.sample(1)
@pytest.mark.parametrize("room", ["enough", "too little"])
def test_the_finished_file_has_no_journal_if_there_is_room_for_a_second_one(tmp_path, monkeypatch, room):
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.0)
    Crowd(40).record(writer, 100)
    if room == "too little":
        monkeypatch.setattr(storage, "free_bytes", lambda *_: writer._storage.reserve_bytes + 1000)
    path = writer.close({"arrived": 0}).path
    monkeypatch.undo()
    assert [found.name for found in tmp_path.iterdir()] == ["run.h5"]
    with h5py.File(path) as file:
        assert ("journal" in file) == (room == "too little")
    with open_run(path) as run, open_run(record(tmp_path / "other.h5", 40, 100, flush_seconds=1e9)) as other:
        assert (
            run.is_whole
            and run.commit.ticks == 100
            and run.trajectories().equals(other.trajectories())
            and run.verdict == other.verdict
        )
