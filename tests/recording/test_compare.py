"""Two recordings of one run: the same, or the first place where they part."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording.compare import compare_digests, first_difference
from crowdsim.recording.digest import column_digests
from crowdsim.recording.header import Layout
from crowdsim.recording.opening import open_run
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import EventKind
from tests.recording.crowd import Crowd, new_writer, record

AT = 31  # the tick in which the disturbed run goes another way; frames show even ticks


class Disturbed(Crowd):
    """The same crowd, but one agent is somewhere else from tick 31 on."""

    def at(self, tick):
        entity, position, columns = super().at(tick)
        if tick >= AT:
            position[70, 1] += 1e-9
        return entity, position, columns


def run_of(crowd, path, ticks=60, **options):
    writer = new_writer(path, **options)
    crowd.record(writer, ticks)
    return writer.close({}).path


def difference(one, other):
    with open_run(one) as recorded, open_run(other) as fresh:
        return first_difference(recorded, fresh)


@pytest.mark.parametrize("trace", [False, True])
def test_equal_runs_have_no_difference(tmp_path, trace):
    """Their clocks, run ids and moments of commit differ, and do not count."""
    one = run_of(Crowd(100), tmp_path / "a.h5", trace=trace, flush_seconds=0.0)
    other = run_of(Crowd(100), tmp_path / "b.h5", trace=trace, header_changes={"threads": 7})
    assert difference(one, other) is None


def test_the_first_tick_column_and_agent_are_named(tmp_path):
    one, other = run_of(Crowd(100), tmp_path / "a.h5"), run_of(Disturbed(100), tmp_path / "b.h5")
    found = difference(one, other)
    assert (found.tick, found.column, found.system) == (AT, "position", "")
    assert found.recorded != found.fresh
    assert found.values_tick == AT + 1  # the next frame
    entity, position, _ = Crowd(100).at(AT + 1)
    assert [(value.entity, value.column) for value in found.values] == [(entity[70], "y")]
    assert found.values[0].recorded == position[70, 1]
    assert found.values[0].fresh == position[70, 1] + 1e-9
    assert str(found).startswith(
        f"tick {AT}: position differ (digest of position: recorded {found.recorded:016x}, now "
        f"{found.fresh:016x})"
    )
    assert f"agent {entity[70]}, y at tick {AT + 1}: recorded {float(position[70, 1])!r}" in str(found)


def test_traced_runs_name_the_system_and_the_block_of_agents(tmp_path):
    one, other = (
        run_of(Crowd(200), tmp_path / "a.h5", trace=True),
        run_of(Disturbed(200), tmp_path / "b.h5", trace=True),
    )
    found = difference(one, other)
    assert (found.tick, found.column, found.system) == (AT, "position", "Integrate")
    entity, *_ = Crowd(200).at(AT + 1)
    assert found.entities == tuple(entity[64:128])
    assert "first after system Integrate, in rows 64 to 127 (agents 65 to 128)" in str(found)


def test_a_recording_of_some_agents_names_rows_instead_of_guessing_agents(tmp_path):
    class Half(Disturbed):
        def record(self, writer, ticks):
            original = writer.frame
            writer.frame = lambda frame, tick, entity, x, y, z, columns: original(
                frame,
                tick,
                entity[::2],
                x[::2],
                y[::2],
                z,
                {name: array[::2] for name, array in columns.items()},
            )
            return super().record(writer, ticks)

    half = {"scenario": "name: crossing\nrecord: {agents: {every: 2}}\n"}
    one, other = (
        run_of(Crowd(200), tmp_path / "a.h5", trace=True),
        run_of(Half(200), tmp_path / "b.h5", trace=True, header_changes=half),
    )
    assert difference(one, other).entities != ()
    found = difference(other, one)
    assert (found.rows, found.entities) == ((64, 128), ())
    assert "in rows 64 to 127\n" in str(found)


def test_one_traced_recording_alone_names_no_system(tmp_path):
    one, other = run_of(Crowd(100), tmp_path / "a.h5", trace=True), run_of(Disturbed(100), tmp_path / "b.h5")
    assert difference(one, other).system == ""


def test_events_count_when_all_digests_are_equal(tmp_path):
    class Eventful(Crowd):
        def events(self, tick):
            events = super().events(tick)
            if tick == 2:
                events["kind"][0] = EventKind.STUCK
            return events

    found = difference(run_of(Crowd(50), tmp_path / "a.h5"), run_of(Eventful(50), tmp_path / "b.h5"))
    assert (found.tick, found.column) == (2, "")
    assert "event 15" in found.what

    class Quiet(Crowd):
        def events(self, tick):
            return super().events(tick)[: None if tick < 6 else 0]

    found = difference(run_of(Crowd(50), tmp_path / "c.h5"), run_of(Quiet(50), tmp_path / "d.h5"))
    assert (found.tick, "now none" in found.what) == (6, True)


def test_finished_runs_have_equal_lengths(tmp_path):
    one, other = (
        run_of(Crowd(20), tmp_path / "a.h5", ticks=40),
        run_of(Crowd(20), tmp_path / "b.h5", ticks=50),
    )
    found = difference(one, other)
    assert found.tick == 40
    assert "the last tick is 39 (recorded) and 49 (now)" in found.what


def test_an_interrupted_run_is_compared_as_far_as_it_goes(tmp_path):
    writer = new_writer(tmp_path / "a.h5")
    Crowd(20).record(writer, 40)
    short = writer.abandon("stopped").path
    assert difference(short, run_of(Crowd(20), tmp_path / "b.h5", ticks=60)) is None
    assert difference(short, run_of(Disturbed(100), tmp_path / "c.h5", ticks=60)) is not None


def test_different_sets_of_agents_are_compared_by_entity(tmp_path):
    crowd = Crowd(30)
    crowd.first[3] = 1000
    found = difference(run_of(Crowd(30), tmp_path / "a.h5"), run_of(crowd, tmp_path / "b.h5"))
    assert found.tick == 4  # agent 4 was to come then
    assert found.values == ()


def test_runs_that_number_their_ticks_differently_differ(tmp_path):
    paths = []
    for first in (0, 1):
        writer = new_writer(tmp_path / f"{first}.h5")
        for tick in range(first, first + 5):
            writer.tick(tick, {}, [0] * 4, np.zeros(2, dtype=np.uint64))
        paths.append(writer.close({}).path)
    assert "row 0 of ticks: recorded tick 0, now tick 1" in difference(*paths).what


def test_recordings_without_common_digests_cannot_be_compared(tmp_path):
    from crowdsim.recording.writer import RecordingWriter
    from tests.recording.crowd import header

    writer = RecordingWriter(tmp_path / "a.h5", header(), Layout(digests=("radius",)))
    writer.tick(0, {}, [], column_digests({"radius": np.zeros(3)}))
    one, other = writer.close({}).path, record(tmp_path / "b.h5")
    with (
        open_run(one) as recorded,
        open_run(other) as fresh,
        pytest.raises(RecordingError, match="no digests of the same columns"),
    ):
        compare_digests(recorded, fresh)


def test_chunks_that_are_the_same_bytes_are_not_unpacked(tmp_path, monkeypatch):
    one, other = (run_of(Crowd(4000), tmp_path / name, ticks=90) for name in ("a.h5", "b.h5"))
    with open_run(one) as recorded:
        rows, chunk = recorded.commit.rows, recorded.agent_chunk_rows
        starts, ticks = recorded.frame_starts(), recorded.frames()["tick"].to_numpy()
    assert rows > 4 * chunk
    unpacked, read = [], Recording.rows
    monkeypatch.setattr(
        Recording,
        "rows",
        lambda self, start, stop, *columns: (
            unpacked.append((start, stop)) or read(self, start, stop, *columns)
        ),
    )
    assert difference(one, other) is None
    assert not unpacked
    row = 3 * chunk + 5
    with h5py.File(other, "r+") as file:
        changed = file["trajectory"][row : row + 1]
        changed["y"] += 0.125
        file["trajectory"][row : row + 1] = changed
    found = difference(one, other)
    frame = int(np.searchsorted(starts, row, side="right")) - 1
    assert (found.tick, [(value.entity, value.column) for value in found.values]) == (
        ticks[frame],
        [(changed["id"][0], "y")],
    )
    # two chunks at a time are looked at
    assert min(start for start, stop in unpacked if stop - start > 4000) == 2 * chunk
