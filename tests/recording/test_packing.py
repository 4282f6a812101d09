"""A thread that packs: what it is given is done in order, what fails is said, and nothing waits for ever."""

import errno
import os
import signal
import threading
import time

import h5py
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording import storage
from crowdsim.recording.encode import GrowingDataset
from crowdsim.recording.opening import open_run
from crowdsim.recording.packing import MOST_WAITING, Packer
from tests.recording.crowd import Crowd, new_writer


def test_jobs_are_done_in_the_order_in_which_they_were_given():
    packer, done = Packer(), []
    for number in range(100):
        packer.give(lambda number=number: done.append(number))
    packer.wait()
    assert done == list(range(100))
    packer.stop()
    packer.stop()


def test_no_thread_begins_before_there_is_something_to_do():
    before = threading.active_count()
    packer = Packer()
    packer.wait()
    packer.stop()
    assert threading.active_count() == before


def test_the_caller_waits_while_as_much_as_may_waits():
    packer, gate, given = Packer(), threading.Event(), []

    def fill():
        for number in range(MOST_WAITING + 5):
            packer.give(gate.wait)
            given.append(number)

    filling = threading.Thread(target=fill)
    filling.start()
    time.sleep(0.3)
    assert len(given) == MOST_WAITING + 1  # and the one that is being done
    gate.set()
    filling.join(10)
    packer.wait()
    assert len(given) == MOST_WAITING + 5
    packer.stop()


@pytest.mark.parametrize("ask", ["give", "wait"])
def test_what_fails_is_raised_and_what_waits_behind_it_is_dropped(ask):
    packer, done = Packer(), []
    packer.give(lambda: time.sleep(0.1))
    packer.give(lambda: 1 / 0)
    packer.give(lambda: done.append(1))
    time.sleep(0.3)
    with pytest.raises(ZeroDivisionError):
        packer.give(done.clear) if ask == "give" else packer.wait()
    packer.stop()
    assert not done


def test_stopping_waits_for_what_is_being_done_and_drops_the_rest():
    packer, done = Packer(), []
    packer.give(lambda: (time.sleep(0.2), done.append(0)))
    for number in range(1, MOST_WAITING):
        packer.give(lambda number=number: done.append(number))
    time.sleep(0.05)
    packer.stop()
    assert done == [0]


def test_ctrl_c_does_not_leave_the_thread_at_work():
    packer, done = Packer(), []
    packer.give(lambda: (time.sleep(0.5), done.append(0)))
    time.sleep(0.1)
    press = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
    press.start()
    with pytest.raises(KeyboardInterrupt):
        packer.stop()
    assert done == [0]


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(storage, "available_cores", lambda: 2)


def tables(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: (
                found.update({name: item[()].tobytes()})
                if isinstance(item, h5py.Dataset) and name not in ("commit", "journal", "timings")
                else None
            )
        )
    return found


def test_a_recording_is_the_same_whichever_thread_writes_it(tmp_path, monkeypatch):
    """3,000 agents and 100 ticks are several chunks of each column."""
    found = []
    for cores in (1, 2):
        monkeypatch.setattr(storage, "available_cores", lambda cores=cores: cores)
        writer = new_writer(tmp_path / f"{cores}.h5")
        assert (writer._storage._packer is None) == (cores == 1)
        Crowd(3000).record(writer, 100)
        assert writer._storage.datasets["trajectory"].filled > 2
        found.append(tables(writer.close({}).path))
    del found[0]["header"], found[1]["header"]  # each has an id of its own
    assert found[0] == found[1]


def test_a_run_does_not_wait_where_a_frame_fills_chunks_of_all_columns(tmp_path, two_cores):
    writer, crowd, gate = new_writer(tmp_path / "run.h5", flush_seconds=1e9), Crowd(9000), threading.Event()
    datasets = writer._storage.datasets.values()
    late = threading.Timer(30.0, gate.set)  # one that waits would wait until then
    late.start()
    writer._storage._packer.give(gate.wait)
    for tick in range(60):
        crowd.record(writer, tick + 1, first=tick)
        if sum(dataset.filled > 0 for dataset in datasets) > MOST_WAITING:
            break
    assert sum(dataset.filled for dataset in datasets) > MOST_WAITING
    assert not gate.is_set() and not any(dataset.chunks for dataset in datasets)
    gate.set()
    late.cancel()
    writer.close({})
    assert all(dataset.chunks >= dataset.filled for dataset in datasets)


def test_a_write_that_fails_on_the_thread_stops_the_run_and_keeps_what_was_committed(
    tmp_path, monkeypatch, two_cores
):
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.0)
    Crowd(3000).record(writer, 20)
    safe = writer.committed

    def fails(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(GrowingDataset, "_write", fails)
    with pytest.raises(
        RecordingError, match=r"could not be written \(No space left on device\).*are safe"
    ) as caught:
        Crowd(3000).record(writer, 200, first=20)
    assert f"until tick {writer.committed.last_tick:,} are safe" in str(caught.value)
    assert writer.committed.last_tick >= safe.last_tick
    assert not [each for each in threading.enumerate() if each.name == "crowdsim-recording"]
    with open_run(writer.partial) as run:
        assert run.commit.last_tick == writer.committed.last_tick


def test_a_commit_counts_only_what_is_in_the_file(tmp_path, monkeypatch, two_cores):
    """Slow writes: the file of each commit is read as a kill would leave it."""
    write = GrowingDataset._write
    monkeypatch.setattr(GrowingDataset, "_write", lambda *given: (time.sleep(0.02), write(*given))[1])
    writer, seen = new_writer(tmp_path / "run.h5", flush_seconds=1e9), []

    def look(tick):
        if tick % 10 == 0:
            writer.commit()
            with open_run(writer.partial) as run:
                seen.append(len(run.rows(0, run.commit.rows, ["x"])["x"]) - run.commit.rows)

    Crowd(3000).record(writer, 60, pause=look)
    assert seen and not any(seen)
    writer.close({})
    assert not [each for each in threading.enumerate() if each.name == "crowdsim-recording"]


def test_a_forked_process_is_refused_and_does_not_wait_for_ever():
    packer = Packer()
    packer.give(lambda: None)
    packer.wait()
    child = os.fork()
    if not child:
        signal.alarm(10)
        refused = 0
        for ask in (packer.wait, lambda: packer.give(lambda: None)):
            try:
                ask()
            except RuntimeError:
                refused += 1
        packer.stop()
        os._exit(0 if refused == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    packer.stop()
