"""Recordings that are longer than the memory: measured part by part, with the results of the whole, bit for
bit, and in memory that does not grow with them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import weakref

import numpy as np
import pandas as pd
import pytest
import shapely

from crowdsim import measures
from crowdsim.errors import RecordingError
from crowdsim.measures import deadlock, report, sources
from crowdsim.measures.areas import Area, box_area
from crowdsim.measures.deadlock import stuck_by_place
from crowdsim.measures.deadlock_recorded import Recorded
from crowdsim.measures.lines import Line
from crowdsim.measures.motion import frames_with_speeds
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.cli.command import environment
from tests.crowds import SCENARIOS, simulation
from tests.measures.long_runs import record_walkers

# Something of everything that a measure looks at: overlaps and doors, parties, floors, lines of queues,
# choices.
SCENES = {
    "busy": 12.0, "school-class": 15.0, "two-storeys": 15.0, "security-check": 20.0, "four-exits": 12.0,
}  # fmt: skip


@pytest.fixture(scope="module", params=SCENES)
def recorded(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / f"{request.param}.h5"
    if request.param == "busy":
        with simulation(sets=[f"stop.after={SCENES['busy']}", "record.rate=10"], out=path) as run:
            run.set_radius([1, 2, 3, 4, 5], 0.3)
            run.run()
    else:
        file = SCENARIOS / f"{request.param}.yaml"
        with Simulation(load_scenario(file, sets=[f"stop.after={SCENES[request.param]}"]), out=path) as run:
            run.run()
    return path


def tables_of(path, most_rows, monkeypatch):
    """Return all tables, made in parts of so many places."""
    monkeypatch.setattr(sources, "MOST_ROWS", most_rows)
    with open_run(path) as run:
        x_min, y_min, x_max, y_max = shapely.total_bounds(run.floors())
        layers = range(len(run.header.ground))
    x, y = 0.5 * (x_min + x_max), 0.5 * (y_min + y_max)
    lines = [Line(((x, y_min), (x, y_max)), f"middle {layer}", layer) for layer in layers]
    bent = Line(((x_min, y), (x, y), (x_max, y_max)), "bent")
    areas = [Area(shapely.box(x_min, y_min, x, y_max), f"left {layer}", layer) for layer in layers]
    return report.all_tables(path, lines=[*lines, bent], areas=areas, deeper_than_m=0.0)


@pytest.mark.sample(2)
@pytest.mark.parametrize("most_rows", [1, 100])
def test_parts_of_any_size_have_the_results_of_the_whole(recorded, most_rows, monkeypatch):
    whole = tables_of(recorded, 10**9, monkeypatch)
    with open_run(recorded) as run:
        assert run.commit.rows > 4 * most_rows
    parts = tables_of(recorded, most_rows, monkeypatch)
    assert parts.keys() == whole.keys()
    for name, table in whole.items():
        pd.testing.assert_frame_equal(parts[name], table, check_exact=True, obj=name)
        assert parts[name].attrs == table.attrs
    assert sum(len(table) > 0 for table in whole.values()) >= 10
    summaries = [report.summary(recorded, tables).to_dict() for tables in (whole, parts)]
    assert repr(summaries[0]) == repr(summaries[1])
    assert [path.name for path in recorded.parent.iterdir()] == [recorded.name]


@pytest.mark.sample(2)
@pytest.mark.parametrize("most_rows", [1, 100])
def test_measures_of_places_in_parts_of_any_size_are_those_of_the_whole(recorded, most_rows, monkeypatch):
    def measured():
        found = {
            "trajectories": measures.trajectories(recorded),
            "speeds": measures.speeds(recorded, over_s=0.7),
            "lanes": measures.lane_order_of(recorded, along=(1.0, 2.0)),
        }
        if len(layers) == 1:
            found["stuck"] = stuck_by_place(recorded)
        return found

    with open_run(recorded) as run:
        layers = run.header.ground
    monkeypatch.setattr(sources, "MOST_ROWS", 10**9)
    whole = measured()
    monkeypatch.setattr(sources, "MOST_ROWS", most_rows)
    for name, table in measured().items():
        pd.testing.assert_frame_equal(table, whole[name], check_exact=True, obj=name)
        assert table.attrs == whole[name].attrs and len(table)
    parts = [measures.speeds(part, over_s=0.7) for part in measures.by_people(recorded)]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole["speeds"], check_exact=True)
    assert len(parts) > 1


@pytest.mark.parametrize("rows", [30, 700])
def test_pedpy_in_parts_measures_what_it_measures_of_the_whole(tmp_path, rows, monkeypatch):
    pytest.importorskip("pedpy", reason="pedpy is missing")
    from crowdsim.measures import with_pedpy

    path = tmp_path / "run.h5"
    with Simulation(load_scenario(SCENARIOS / "bottleneck.yaml", sets=["stop.after=3"]), out=path) as run:
        run.run()
    area, line = box_area(6.0, 2.0, 10.0, 6.0), Line(((8.0, 0.5), (8.0, 7.5)))
    tables = []
    for most in (10**9, rows):
        monkeypatch.setattr(with_pedpy, "MOST_ROWS", most)
        monkeypatch.setattr(sources, "MOST_ROWS", most)
        tables.append([measures.densities(path, area, over_s=0.7), *measures.passages(path, line, every_s=1)])
    for whole, parts in zip(*tables, strict=True):
        pd.testing.assert_frame_equal(parts, whole, check_exact=True)
        assert parts.attrs == whole.attrs and len(parts)


def test_groups_of_stuck_agents_are_the_same_however_often_links_are_put_together(tmp_path, monkeypatch):
    path = record_walkers(tmp_path / "run.h5", 60, 12, apart=50, stuck=True)
    once = deadlock.stuck_people(path)
    monkeypatch.setattr(deadlock, "LEAST_LINKS", -(10**9))  # after each moment
    pd.testing.assert_frame_equal(deadlock.stuck_people(path), once, check_exact=True)
    assert len(once) == 60 and (once["looks"] >= 11).all()
    assert 1 < once["group"].nunique() < 60


def test_one_moment_of_the_crowd_is_there_at_a_time(tmp_path, monkeypatch):
    path = record_walkers(tmp_path / "run.h5", 60, 12, apart=50, stuck=True)
    taken, moment_of = [], Recorded.moment

    def moment(self, frame):
        assert all(each() is None for each in taken)
        found = moment_of(self, frame)
        taken.append(weakref.ref(found))
        return found

    monkeypatch.setattr(Recorded, "moment", moment)
    deadlock.stuck_people(path)
    assert len(taken) >= 11


def test_overlaps_that_go_on_over_parts_are_one(tmp_path, monkeypatch):
    path = record_walkers(tmp_path / "run.h5", 200, 40)
    monkeypatch.setattr(sources, "MOST_ROWS", 10**9)
    whole = measures.overlaps(path)
    monkeypatch.setattr(sources, "MOST_ROWS", 200)  # a frame
    assert (whole["duration_s"] > 0.25).any() and len(whole) > 10
    pd.testing.assert_frame_equal(measures.overlaps(path), whole, check_exact=True)


def test_parts_by_people_are_no_larger_than_they_may_be(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MOST_ROWS", 500)
    with sources.run_of(record_walkers(tmp_path / "run.h5", 100, 40)) as run:
        together = np.arange(100) % 7
        parts = [*run.by_people()]
        assert max(map(len, parts)) <= 500 + 40 and len(parts) >= 8
        assert np.concatenate([part.seen for part in parts]).tolist() == list(range(1, 101))
        of = [set(together[part.seen - 1]) for part in run.by_people(together)]
        assert sorted(number for each in of for number in each) == list(range(7))
        assert all(part.people["id"].tolist() == part.seen.tolist() for part in parts)
        assert all(np.isin(part.events["id"], part.seen).all() for part in parts)
        assert sum(len(part.events) for part in parts) == len(run.facts.events) > 0
        frames = [(part.first_frame, len(part.frame_s)) for part, _ in frames_with_speeds(run)]
        assert frames == [(first, 5) for first in range(0, 40, 5)]


def test_a_disk_without_room_to_sort_is_told(tmp_path, monkeypatch):
    path = record_walkers(tmp_path / "run.h5", 100, 40)
    monkeypatch.setattr(sources, "MOST_ROWS", 500)
    monkeypatch.setattr(sources, "free_bytes", lambda folder: 1000)
    with pytest.raises(RecordingError, match=r"sorting it by people takes 0 MB .*crowdsim cut"):
        measures.path_lengths(path)
    assert [each.name for each in tmp_path.iterdir()] == ["run.h5"]


PEAK = """
import json, resource, sys
from pathlib import Path
from crowdsim.measures import deadlock, report, sources
from crowdsim.measures.areas import box_area
from crowdsim.measures.lines import Line
from crowdsim.recording import compare, cut, export
from crowdsim.recording.opening import open_run
path, most_rows, limit, what = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if limit:
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
if most_rows:
    sources.MOST_ROWS = most_rows
if what == "measure":
    lines, areas = [Line(((190, 0), (190, 400)))], [box_area(160, 160, 190, 190)]
    tables = report.all_tables(path, lines=lines, areas=areas)
    assert len(tables["line line"]) and len(tables["stays area"])
elif what == "compare":
    with open_run(path) as one, open_run(path) as other:
        assert compare.compare_places(one, other, 0.0).apart is None
        compare.aggregates(one)
elif what == "cut":
    cut.cut_run(path, path.with_name("cut.h5"), region=areas_box(160, 160, 190, 190), force=True)
else:
    with open_run(path) as run:
        getattr(export, f"export_{what}")(run, path.with_name(f"out.{what}"), force=True)
# not ru_maxrss, which counts what the parent had when it forked
line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(line.split()[1]) / 1024)
""".replace("areas_box", "__import__('shapely').box")


def called(path, what, *, most_rows=0, limit=0):
    """Do something with a recording in a process of its own, with a limit on its memory in bytes."""
    return subprocess.run(
        [sys.executable, "-c", PEAK, str(path), str(most_rows), str(limit), what],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


def peak_mb(path, what, **limits):
    """Return how much memory that process takes at most, MB."""
    done = called(path, what, **limits)
    assert done.returncode == 0, done.stderr[-2000:]
    return float(json.loads(done.stdout))


@pytest.mark.full  # by default the verb is looked at: tests/measures/test_memory.py
def test_memory_does_not_grow_with_the_length(tmp_path):
    short, long = (record_walkers(tmp_path / f"{frames}.h5", 1000, frames) for frames in (100, 500))
    peaks = [peak_mb(path, "measure", most_rows=2**15) for path in (short, long)]
    assert peaks[1] < peaks[0] + 15.0
    assert peak_mb(long, "measure", most_rows=10**9) > peaks[1] + 40.0  # in one piece


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return recordings of 100,000 agents with 60 and with 240 frames: 6 and 24 million places."""
    folder = tmp_path_factory.mktemp("large")
    return [record_walkers(folder / f"{frames}.h5", 100_000, frames) for frames in (60, 240)]


LIMIT = 2**31 + 2**30  # bytes of addresses: what the libraries map counts too


@pytest.mark.full
@pytest.mark.parametrize("what", ["measure", "compare", "cut", "csv", "sqlite", "pedpy"])
def test_a_hundred_thousand_agents_are_looked_at_within_a_limit_on_memory(large, what):
    peaks = [peak_mb(path, what, limit=LIMIT) for path in large]
    assert peaks[1] < 1.1 * peaks[0] + 20.0


@pytest.mark.full
def test_a_hundred_thousand_agents_in_one_piece_do_not_fit_into_that_limit(large):
    """They are refused before a place is read."""
    done = called(large[1], "measure", most_rows=10**9, limit=LIMIT)
    assert done.returncode != 0 and "MemoryError" not in done.stderr
    assert "GB of memory. Make a recording of a part of it (crowdsim cut), or take it in parts" in done.stderr
