"""Recordings cut by time, region, group and floor: beside the source filtered by pandas."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import shapely

from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.recording.cut import LASTING, cut_run
from crowdsim.recording.opening import open_run
from crowdsim.recording.schema import EVENT_DTYPE, EventKind
from crowdsim.recording.storage import Storage
from tests.recording import crowd

TICK_S = 0.05  # of `crowd`; a frame is two ticks
ROOM = shapely.Polygon([(-20, 10), (60, -10), (90, 80), (10, 90)])
COLUMNS = ("x", "y", "z", "velocity", "next_corner", "goal", "layer", "remaining")


class Lively(crowd.Crowd):
    """On two floors, and something happens to some agents and to the ground in every tick."""

    def at(self, tick):
        entity, position, columns = super().at(tick)
        return entity, position, {**columns, "layer": (entity // 3 % 2).astype(np.int32)}

    def events(self, tick):
        own = np.zeros(6, dtype=EVENT_DTYPE)
        own["tick"] = tick
        own["entity"][:4] = 1 + (np.arange(4) * 13 + 7 * tick) % len(self.entity)
        own["kind"] = [
            *(EventKind.NUDGED,) * 3,
            EventKind.RADIUS_SET,
            EventKind.AREA_CLOSED,
            EventKind.TILE_ADDED,
        ]
        return np.concatenate([super().events(tick), own])


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Return a recording of 40 agents on two floors, 160 ticks, 80 frames."""
    path = tmp_path_factory.mktemp("cut") / "source.h5"
    changes = {"ground": (crowd.GROUND, crowd.GROUND), "layers": ("low", "high")}
    writer = crowd.new_writer(path, header_changes=changes, trace=True)
    Lively(40).record(writer, 160)
    return writer.close({"arrived": 0}).path


def rows_of(path):
    """Return the rows of a recording with the tick of each in the place of its frame."""
    with open_run(path) as run:
        table = run.trajectories(columns=COLUMNS)
        tick = run.frames()["tick"].to_numpy()[table.pop("frame")]
        return table.assign(tick=tick)


def filtered(table, bounds):
    """Return what is within bounds, by pandas and one point after the other."""
    tick_s = table["tick"] * TICK_S
    keep = (tick_s >= bounds.get("from_s", 0.0) - 1e-9) & (tick_s <= bounds.get("until_s", 1e9) + 1e-9)
    if "groups" in bounds:
        names = crowd.header().groups
        keep &= table["id"].map(lambda entity: names[entity % 2]).isin(bounds["groups"])
    if "floors" in bounds:
        keep &= table["layer"].map({0: "low", 1: "high"}).isin(bounds["floors"])
    if "region" in bounds:
        points = shapely.points(table["x"], table["y"])
        keep &= np.array([bounds["region"].covers(point) for point in points])
    return table[keep].reset_index(drop=True)


def some_bounds(seed):
    """Return bounds of some kinds, at random; those of seeds 0 to 15 have every combination of kinds."""
    rng = np.random.default_rng(seed)
    begin, end = np.sort(rng.uniform(0.0, 5.0, 2)) + [0.0, 0.5]
    x, y = rng.uniform(0.0, 60.0, 2)
    kinds = {
        "time": {"from_s": float(begin), "until_s": float(end)},
        "region": {"region": shapely.box(x, y, x + rng.uniform(30, 60), y + 40) if seed % 3 else ROOM},
        "groups": {"groups": (["left", "right"][seed % 2],)},
        "floors": {"floors": (["low", "high"][seed // 2 % 2],)},
    }
    chosen = [kind for bit, kind in enumerate(kinds) if (seed >> bit) & 1]
    return {name: value for kind in chosen for name, value in kinds[kind].items()}


def tables_of(path):
    """Return everything that a recording holds, by dataset, as bytes and shapes."""
    with open_run(path) as run:
        names = ["trajectory", "frames/start", "frames/tick", "events", "roster", "ticks", "timings"]
        names += [f"agents/{column.name}" for column in run.layout.columns]
        return {name: (run.table(name).shape, run.table(name).tobytes()) for name in names}


@pytest.mark.sample(5)
@pytest.mark.parametrize("seed", range(16))
def test_what_is_kept_is_the_source_filtered(source, tmp_path, seed):
    bounds = some_bounds(seed)
    made = cut_run(source, tmp_path / "cut.h5", **bounds)
    expected = filtered(rows_of(source), bounds)
    assert 0 < len(expected) == made.rows
    pd.testing.assert_frame_equal(rows_of(made.path), expected, check_exact=True)


@pytest.mark.sample(5)
@pytest.mark.parametrize("seed", range(16))
def test_events_and_roster_are_those_of_agents_that_are_in_the_cut(source, tmp_path, seed):
    bounds = some_bounds(seed)
    made = cut_run(source, tmp_path / "cut.h5", **bounds)
    kept = filtered(rows_of(source), bounds)
    there = kept.groupby("tick")["id"].agg(set).to_dict()
    by_place = {"region", "floors"} & bounds.keys()
    with open_run(source) as run, open_run(made.path) as cut:
        frame_ticks, expected = run.table("frames/tick").tolist(), []
        for event in run.table("events"):
            tick, entity = int(event["tick"]), int(event["entity"])
            if tick * TICK_S > bounds.get("until_s", 1e9) + 1e-9 or entity not in {0, *kept["id"]}:
                continue
            # the last frame until it, and the first from it on
            sides = [max((each for each in frame_ticks if each <= tick), default=-1)]
            sides += [min((each for each in frame_ticks if each >= tick), default=-1)]
            is_in = entity == 0 or not by_place or any(entity in there.get(side, ()) for side in sides)
            is_late = tick * TICK_S >= bounds.get("from_s", 0.0) - 1e-9
            if (is_in and is_late) or EventKind(event["kind"]) in LASTING:
                expected.append(event)
        assert cut.table("events").tolist() == [event.item() for event in expected]
        assert len(expected) > 10
        roster = run.table("roster")
        assert cut.table("roster").tolist() == roster[np.isin(roster["entity"], kept["id"])].tolist()


@pytest.mark.sample(3)
@pytest.mark.parametrize(("one", "other"), [(3, 4), (1, 2), (2, 10), (5, 8), (11, 1), (9, 2), (6, 3)])
def test_a_cut_of_a_cut_is_the_cut_of_both(source, tmp_path, one, other):
    first, second = some_bounds(one), some_bounds(other)
    both = {**first, **second}
    if "from_s" in first and "from_s" in second:
        both |= {"from_s": max(first["from_s"], second["from_s"])}
        both |= {"until_s": min(first["until_s"], second["until_s"])}
    if "region" in first and "region" in second:
        both["region"] = shapely.intersection(first["region"], second["region"])
    if any(name in first and first[name] != second.get(name, first[name]) for name in ("groups", "floors")):
        pytest.fail("nobody is in two groups, or on two floors")
    half = cut_run(source, tmp_path / "half.h5", **first).path
    twice = cut_run(half, tmp_path / "twice.h5", **second).path
    once = cut_run(source, tmp_path / "once.h5", **both).path
    assert tables_of(twice) == tables_of(once)
    with open_run(twice) as cut, open_run(half) as middle:
        assert cut.header.cut["of"] == middle.header.cut
        assert cut.header.cut["run_digest"] == middle.header.cut["run_digest"] != ""


def test_a_cut_without_bounds_keeps_everything_but_digests(source, tmp_path):
    made = cut_run(source, tmp_path / "all.h5").path
    assert tables_of(made) == tables_of(source)
    with open_run(made) as cut, open_run(source) as run:
        assert cut.is_whole and cut.state is run.state and cut.commit.last_tick == run.commit.last_tick
        assert not cut.layout.digests and not cut.layout.trace and cut.run_digest == 0
        assert cut.header.run_id != run.header.run_id == cut.header.cut["run_id"]
        assert cut.header.cut["run_digest"] == f"{run.run_digest:016x}"
        assert cut.header.scenario == run.header.scenario


def test_groups_one_by_one_part_the_rows_among_them(source, tmp_path):
    parts = [
        rows_of(cut_run(source, tmp_path / f"{group}.h5", groups=[group]).path) for group in ("left", "right")
    ]
    together = pd.concat(parts).sort_values(["tick", "id"], ignore_index=True)
    pd.testing.assert_frame_equal(together, rows_of(source), check_exact=True)
    assert not set(parts[0]["id"]) & set(parts[1]["id"])


def test_blocks_of_any_size_make_the_same_cut(source, tmp_path, monkeypatch):
    once = tables_of(cut_run(source, tmp_path / "a.h5", **some_bounds(11)).path)
    monkeypatch.setattr("crowdsim.recording.cut.BLOCK_ROWS", 7)
    spans = "crowdsim.recording.reader.Recording.frame_spans"
    monkeypatch.setattr(spans, lambda self, first, stop: itertools.pairwise(range(first, stop + 1)))
    assert tables_of(cut_run(source, tmp_path / "b.h5", **some_bounds(11)).path) == once


def test_frames_in_which_nobody_is_left_stay(source, tmp_path):
    rows = rows_of(source)
    row = rows[rows["tick"] == 100].iloc[0]
    around = shapely.Point(row["x"], row["y"]).buffer(0.05)
    made = cut_run(source, tmp_path / "spot.h5", region=around)
    with open_run(made.path) as cut:
        frames = cut.frames()
    assert len(frames) == made.frames == 80
    assert (frames["agents"] == 0).any() and frames["agents"].sum() == made.rows > 0


def test_nothing_is_written_over_and_nothing_is_left_half_done(source, tmp_path, monkeypatch):
    out = tmp_path / "there.h5"
    out.write_text("mine")
    with pytest.raises(RecordingError, match=r"exists already.*--force"):
        cut_run(source, out)
    with pytest.raises(RecordingError, match="nobody within the bounds"):
        cut_run(source, out, region=shapely.box(-99, -99, -98, -98), force=True)
    assert out.read_text() == "mine" and [*tmp_path.iterdir()] == [out]
    write = Storage.append

    def fails(self, name, count, *values):
        if name == "roster":
            raise OSError(28, "No space left on device")
        write(self, name, count, *values)

    monkeypatch.setattr(Storage, "append", fails)
    with pytest.raises(RecordingError, match="No space left"):
        cut_run(source, out, force=True)
    assert out.read_text() == "mine" and [*tmp_path.iterdir()] == [out]
    monkeypatch.undo()
    assert cut_run(source, out, force=True).rows == len(rows_of(out))


def test_the_source_stays_as_it_is_and_is_not_written_over(source):
    before = source.read_bytes()
    with pytest.raises(CrowdsimError, match="is the file that is read"):
        cut_run(source, source, force=True)
    assert source.read_bytes() == before


def test_a_recording_that_was_cut_off_is_refused(tmp_path):
    writer = crowd.new_writer(tmp_path / "run.h5")
    crowd.Crowd(5).record(writer, 20)
    writer.commit()
    with pytest.raises(RecordingError, match=r"is not whole.*crowdsim recover"):
        cut_run(crowd.killed(writer), tmp_path / "cut.h5")


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ({"from_s": -1.0}, "from -1 s: must be a time from 0 s on"),
        ({"until_s": float("nan")}, "until nan s: must be"),
        ({"from_s": 5.0, "until_s": 2.0}, "from 5 s until 2 s has no time in it"),
        ({"from_s": 50.0, "until_s": 60.0}, "from 50 s until its end, 7.95 s, has no time in it"),
        ({"from_s": 50.0}, "from 50 s until its end, 7.95 s, has no time in it"),
        (
            {"from_s": 1.04, "until_s": 1.06},
            "no frame from 1.05 s until 1.05 s; the nearest are at 1 s and 1.1 s",
        ),
        ({"groups": ["left", "up"]}, 'no group "up". Known are left, right'),
        ({"floors": ["attic"]}, 'no floor "attic". Known are low, high'),
        ({"region": shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])}, "is no area.*Self-intersection"),
        ({"region": shapely.LineString([(0, 0), (1, 1)])}, "is no area"),
        (
            {"region": shapely.box(150, 150, 160, 160)},
            "nobody within the bounds.*80 frames from 0 s until 7.9 s",
        ),
    ],
)
def test_bad_bounds_are_told_with_what_there_is(source, tmp_path, bounds, told):
    with pytest.raises(CrowdsimError, match=told):
        cut_run(source, tmp_path / "cut.h5", **bounds)
    assert not [*tmp_path.iterdir()]
