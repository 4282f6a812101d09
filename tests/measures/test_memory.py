"""What looks at a recording takes no more memory if it is longer, and what needs all of it at once says so
before it takes it.

Each verb and measure runs in a process of its own on two recordings, one four times as long as the other. By
default these have some thousand agents, and limits on what is had at once are as much smaller; with
``-m full`` they have 100,000, and a limit on addresses.
"""

from __future__ import annotations

import pytest

from crowdsim.errors import RecordingError
from crowdsim.measures import pedpy_trajectory, sources, speeds, tracks_of, trajectories
from crowdsim.measures.deadlock import stuck_by_place
from crowdsim.recording import gate
from crowdsim.recording.opening import open_run
from crowdsim.recording.reader import Recording
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS
from tests.measures.long_runs import record_walkers
from tests.measures.peaks import called, peak_mb

AREA, LINE = "box_area(160, 160, 190, 190)", "Line(((190, 0), (190, 400)))"
IMPORTS = "from crowdsim.measures import *; from crowdsim.measures.deadlock import stuck_by_place; "
# Of agents that walk in the open: verbs by their words, measures by Python.
WALKERS = {
    "info": ["info", "{run}"],
    "places": ["compare", "{run}", "{run}", "--tolerance", "0.1"],
    "aggregates": ["compare", "{run}", "{run}", "--aggregates", "0.1"],
    "cut": ["cut", "{run}", "{out}.h5", "--region", "160,160,190,190", "--force"],
    "csv": ["export", "{run}", "--out", "{out}.csv", "--force"],
    "sqlite": ["export", "{run}", "--format", "sqlite", "--out", "{out}.sqlite", "--force"],
    "pedpy": ["export", "{run}", "--format", "pedpy", "--out", "{out}.h5", "--force"],
    "plot": ["plot", "{run}", "--show", "trails,density,speeds", "--out", "{out}.png", "--force"],
    "view": ["view", "{run}", "--out", "{out}.html", "--force"],
    "measure": [
        "measure", "{run}", "--line", "190,0,190,400", "--area", "160,160,190,190", "--csv", "{out}",
        "--force",
    ],
    "speeds": ["python", IMPORTS + "print(sum(len(speeds(part)) for part in by_people(path)))", "{run}"],
    "lanes": ["python", IMPORTS + f"lane_order_of(path, area={AREA})", "{run}"],
    "ground": ["python", IMPORTS + "pedpy_ground(path)", "{run}"],
    "passages": ["python", IMPORTS + f"passages(path, {LINE})", "{run}"],
}  # fmt: skip
# Of a run that can be run again.
RUNS = {
    "budget": ["budget", "{run}"],
    "sheet": ["plot", "{run}", "--show", "all", "--out", "{out}.png", "--force"],
    "bits": ["compare", "{run}", "{run}"],
    "verify": ["verify", "{run}", "--threads", "1"],
    "resume": ["resume", "{run}", "--at", "{half}", "--threads", "1", "--out", "{out}.h5", "--force", "-q"],
    "deadlocks": ["deadlocks", "{run}"],
}
NEEDS = {"plot": "matplotlib", "sheet": "matplotlib", "ground": "pedpy", "passages": "pedpy"}

# So that recordings of half a million places are long ones.
SMALL = {
    "crowdsim.measures.sources.MOST_ROWS": 2**16,
    "crowdsim.measures.with_pedpy.MOST_ROWS": 2**15,
    "crowdsim.pictures.looked_through.MOST_TRAILS": 50,
    "crowdsim.pictures.view.page.MOST_ROWS": 2**16,
    "crowdsim.pictures.view.page.MOST_TRIED": 2**14,
    "crowdsim.pictures.view.page.LOOKED_AT": 2**12,
}
# Read at once, all places of the longer one take 40 MB more than those of the shorter one, or more.
MOST_GROWTH_MB = 15.0
LENGTHS = (40, 160)  # frames


def record_run(path, people, frames):
    """Record a run of people that cross in the open, each tick a frame, with checkpoints."""
    side = (4 * people / 0.2) ** 0.5
    sets = [f"vars.people={people}", f"vars.side={side:g}", f"stop.after={frames * 0.05:g}", "record.rate=20"]
    with Simulation(load_scenario(SCENARIOS / "open-1000000.yaml", sets=sets), out=path) as run:
        run.run(checkpoint_every=frames * 0.05 / 2.0)
    return path


def words(form, run, frames):
    """Return the words of a verb for a recording."""
    out, half = run.with_name(f"out-{run.stem}"), f"{frames * 0.05 / 2.0:g}"
    return [word.format(run=run, out=out, half=half) if "{" in word else word for word in form]


@pytest.fixture(scope="module")
def walkers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walkers")
    return [record_walkers(folder / f"{frames}.h5", 4000, frames) for frames in LENGTHS]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [record_run(folder / f"{frames}.h5", 1250, frames) for frames in LENGTHS]


def require(name):
    """Skip where a package is missing."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is missing")


def peaks(form, recordings, lengths, constants=None, **more):
    """Return the most memory that something takes with each of some recordings, MB."""
    pairs = zip(recordings, lengths, strict=True)
    return [peak_mb(words(form, run, frames), constants, **more) for run, frames in pairs]


@pytest.mark.parametrize("name", WALKERS)
def test_a_longer_recording_takes_no_more_memory(name, walkers):
    require(name)
    short, long = peaks(WALKERS[name], walkers, LENGTHS, SMALL)
    assert long < short + MOST_GROWTH_MB


@pytest.mark.parametrize("name", RUNS)
def test_a_longer_run_takes_no_more_memory(name, runs):
    require(name)
    short, long = peaks(RUNS[name], runs, LENGTHS, SMALL)
    assert long < short + MOST_GROWTH_MB


@pytest.mark.full
def test_agents_that_are_stuck_for_longer_take_no_more_memory(tmp_path):
    lengths = (40, 200)  # frames, 5 s apart
    runs = [
        record_walkers(tmp_path / f"{frames}.h5", 600, frames, apart=50, stuck=True) for frames in lengths
    ]
    short, long = peaks(RUNS["deadlocks"], runs, lengths)
    assert long < short + MOST_GROWTH_MB


def test_more_frames_a_second_take_hardly_more_memory(tmp_path):
    """Speeds are of half a second: 11 frames of 20 a second, of which only places are kept."""
    recorded = {
        rate: record_walkers(tmp_path / f"{rate}.h5", 40_000, 24, tick_s=0.05, rate=rate) for rate in (2, 20)
    }
    slow, fast = (peak_mb(words(WALKERS["measure"], path, 24), SMALL) for path in recorded.values())
    assert fast < slow + 2.0 * MOST_GROWTH_MB


def test_overlaps_that_go_on_take_no_more_memory_in_more_frames(tmp_path):
    runs = [record_walkers(tmp_path / f"{frames}.h5", 4000, frames, stuck=True) for frames in LENGTHS]
    measure = ["python", IMPORTS + "assert len(overlaps(path)) > 4000", "{run}"]
    short, long = peaks(measure, runs, LENGTHS, {"crowdsim.measures.sources.MOST_ROWS": 4000})
    assert long < short + MOST_GROWTH_MB


def test_reading_all_places_at_once_is_seen(walkers):
    short, long = peaks(WALKERS["places"], walkers, LENGTHS, SMALL, whole=True)
    assert long > short + 2.0 * MOST_GROWTH_MB


@pytest.mark.parametrize(
    ("measure", "what"),
    [
        (tracks_of, "having 640,000 places at once needs 0.07 GB"),
        (trajectories, "a table of 640,000 rows needs 0.03 GB"),
        (speeds, "a table of 640,000 rows needs 0.03 GB"),
        (stuck_by_place, "a table of 64,000 rows needs 0.00 GB"),
        (pedpy_trajectory, "PedPy's table of 640,000 places needs 0.22 GB"),
        (lambda path: open_run(path).trajectories(), "a table of 640,000 rows needs 0.0"),
    ],
    ids=["tracks", "trajectories", "speeds", "stuck by place", "PedPy's table", "reader"],
)
def test_what_needs_all_places_says_so_before_it_reads_one(measure, what, walkers, monkeypatch):
    if measure is pedpy_trajectory:
        pytest.importorskip("pedpy", reason="pedpy is missing")
    monkeypatch.setattr(sources, "MOST_ROWS", 2**16)
    monkeypatch.setattr(gate, "memory_bytes", lambda: 3_000_000)
    monkeypatch.setattr(gate, "LOOKED_AT_BYTES", 0)
    rows = Recording.rows

    def none(self, start, stop, columns=None):
        assert start == stop
        return rows(self, start, stop, columns)

    monkeypatch.setattr(Recording, "rows", none)
    with pytest.raises(RecordingError) as refused:
        measure(walkers[1])
    assert what in str(refused.value) and "more than the limit of 0.00 GB" in str(refused.value)
    assert "crowdsim cut" in str(refused.value)


LARGE = 100_000
LARGE_LENGTHS = (30, 120)  # frames
# So that the shorter one has several parts, too: two are in memory while the next one is read. A page and
# trails have their limits above these lengths.
LARGE_CONSTANTS = {
    "crowdsim.measures.sources.MOST_ROWS": 2**20,
    "crowdsim.pictures.looked_through.MOST_TRAILS": 100,
    "crowdsim.pictures.view.page.MOST_ROWS": 2**21,
}
MOST_LARGE_GROWTH_MB = 100.0  # Nine million places more take 500 MB at least.
BEYOND = 3 * 2**30  # Bytes of addresses beyond those of Python and its packages.


@pytest.fixture(scope="module")
def large_walkers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large-walkers")
    return [record_walkers(folder / f"{frames}.h5", LARGE, frames) for frames in LARGE_LENGTHS]


@pytest.fixture(scope="module")
def large_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large-runs")
    return [record_run(folder / f"{frames}.h5", LARGE // 4, frames) for frames in LARGE_LENGTHS]


@pytest.mark.full
@pytest.mark.parametrize("name", WALKERS)
def test_a_hundred_thousand_agents_take_no_more_memory_in_more_frames(name, large_walkers):
    require(name)
    short, long = peaks(WALKERS[name], large_walkers, LARGE_LENGTHS, LARGE_CONSTANTS, beyond=BEYOND)
    assert long < short + MOST_LARGE_GROWTH_MB


@pytest.mark.full
@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_a_hundred_thousand_agents_takes_no_more_memory_in_more_frames(name, large_runs):
    require(name)
    short, long = peaks(RUNS[name], large_runs, LARGE_LENGTHS, LARGE_CONSTANTS, beyond=BEYOND)
    assert long < short + MOST_LARGE_GROWTH_MB


@pytest.mark.full
def test_a_hundred_thousand_agents_that_do_not_fit_are_refused_in_words(large_walkers):
    """Their table takes 0.6 GB of the 0.3 GB that are left."""
    asks = ["python", IMPORTS + "trajectories(path)", large_walkers[1]]
    done = called(asks, beyond=2**29)
    assert done.returncode == 1
    assert "crowdsim cut" in done.stderr and "MemoryError" not in done.stderr
