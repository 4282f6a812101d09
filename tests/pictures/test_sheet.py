"""Panels about a run: what they draw is what the measures say, whatever the order of reading;
a picture comes out for each choice.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import shapely

from crowdsim import measures
from crowdsim.errors import CrowdsimError
from crowdsim.measures.motion import SPEED_OVER_S
from crowdsim.pictures import looked_through, sheet
from crowdsim.pictures import run as run_picture
from crowdsim.recording.opening import open_run
from crowdsim.recording.reader import Recording
from crowdsim.scenario.load import scenario_of_run
from tests.crowds import room, simulation
from tests.measures.long_runs import record_walkers


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two groups with some twenty people each, of which one stays."""
    document = room([], after=20.0) | {
        "geometry": {"walkable": {"box": [0, 0, 12, 12]}},
        "record": {"rate": 10},
    }
    document["goals"] = {"east": {"exit": {"box": [11.5, 0, 12, 12]}}}
    document["groups"] = [
        {"name": "left", "count": 20, "region": {"box": [0, 0, 5, 12]}, "goals": ["east"]},
        {"name": "right", "count": 19, "region": {"box": [6, 0, 10, 12]}, "goals": ["east"]},
        {"name": "stays", "positions": [[1.0, 11.5]]},
    ]
    out = tmp_path_factory.mktemp("sheet") / "run.h5"
    with simulation(document, out=out) as run:
        run.run()
    return out


def test_the_curve_is_the_evacuation_curve_of_the_measures_and_groups_add_up(recorded: Path) -> None:
    with open_run(recorded) as recording:
        table = sheet.arrivals_by_group(recording)
    all_people = table[table["group"] == sheet.ALL]
    measured = measures.evacuation_curve(recorded)
    at = all_people["time_s"].searchsorted(measured["time_s"], side="right") - 1
    assert all_people["arrived"].to_numpy()[at].tolist() == measured["left"].tolist()
    ends = table.groupby("group")["arrived"].max()
    assert (ends["left"], ends["right"], ends["stays"], ends[sheet.ALL]) == (20, 19, 0, 39)
    assert dict(zip(table["group"], table["of"], strict=True)) == {
        "left": 20,
        "right": 19,
        "stays": 1,
        sheet.ALL: 40,
    }


def test_of_many_groups_the_largest_have_lines_and_the_others_one() -> None:
    names = [f"g{number}" for number in range(20) for _ in range(20 - number)]
    roster = pd.DataFrame({"entity": np.arange(len(names)), "group_name": names})
    events = pd.DataFrame({"tick": [10, 20], "entity": [0, len(names) - 1], "kind": "ARRIVAL"})
    run = SimpleNamespace(
        roster=lambda: roster,
        events=lambda: events,
        commit=SimpleNamespace(last_tick=40),
        header=SimpleNamespace(tick_s=0.5),
    )
    arrivals = sheet.arrivals_by_group(run)  # type: ignore[arg-type]
    ends = arrivals.groupby("group", sort=False).agg({"arrived": "max", "of": "first"})
    assert (
        len(ends) == sheet.MOST_GROUPS + 1
        and ends.loc[sheet.OTHERS].tolist() == [1, sum(range(1, 10))]
        and ends.loc["g0"].tolist() == [1, 20]
    )


def test_speeds_over_time_are_those_of_the_measures(recorded: Path) -> None:
    with open_run(recorded) as recording:
        speeds = looked_through.look_through(recording, ["speeds"], [shapely.box(0, 0, 12, 12)]).speeds
        fps = recording.fps
    assert speeds is not None
    tracks = measures.speeds(recorded, over_s=SPEED_OVER_S)
    half = looked_through.half_window(fps, SPEED_OVER_S)
    # at its end a track has less than the whole window
    whole = tracks.groupby("id")["frame"].transform("max") - half >= tracks["frame"]
    inner = tracks[whole & (tracks["frame"] >= half)]
    expected = inner.groupby("frame")[next(name for name in tracks.columns if name.startswith("speed"))]
    frames = np.round(speeds.time_s * fps).astype(int)
    assert frames.tolist() == list(expected.groups) and speeds.people.tolist() == expected.size().tolist()
    np.testing.assert_allclose(speeds.mean, expected.mean(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(speeds.quantiles[:, 2], expected.median(), rtol=1e-9, atol=1e-12)


class Still:
    """A recording of people that stand at given places."""

    frame_spans = Recording.frame_spans

    def __init__(
        self, places: np.ndarray, frames: int = 60, fps: float = 10.0, layer: np.ndarray | None = None
    ) -> None:
        self.places, self.fps, self.layer = places, fps, layer
        self.commit = SimpleNamespace(frames=frames, agents=len(places))
        self.layout = SimpleNamespace(columns=[SimpleNamespace(name="layer")] if layer is not None else [])

    def frame_starts(self):
        return np.arange(self.commit.frames + 1) * len(self.places)

    def roster(self):
        return pd.DataFrame({"entity": np.arange(1, len(self.places) + 1)})

    def frames(self):
        return pd.DataFrame({"time_s": np.arange(self.commit.frames) / self.fps})

    def rows(self, start, stop, columns):
        agent = np.arange(start, stop) % len(self.places)
        found = {
            "frame": np.arange(start, stop) // len(self.places),
            "id": agent + 1,
            "x": self.places[agent, 0],
            "y": self.places[agent, 1],
        }
        return found | ({"layer": self.layer[agent]} if "layer" in columns else {})


def test_a_crowd_on_a_lattice_has_its_density_everywhere_inside_and_beside_walls() -> None:
    # 4 a square metre
    spots = np.stack(np.meshgrid(np.arange(0.25, 10, 0.5), np.arange(0.25, 8, 0.5)), axis=-1).reshape(-1, 2)
    still, ground = Still(spots), shapely.box(0, 0, 10, 8)
    found = looked_through.look_through(still, ["density"], [ground]).density  # type: ignore[arg-type]
    assert found is not None
    inside = found.highest[0][np.isfinite(found.highest[0])]
    assert (found.square_m, found.over_s) == (1.0, 5.0) and inside.size == 40 * 32
    # every square away from walls holds four, the outermost by halves
    np.testing.assert_allclose(found.highest[0][4:-5, 4:-5], 4.0, rtol=1e-12)
    assert inside.min() >= 2.4 and inside.max() <= 6.0  # at walls a square is cut, and so is what counts


def test_densities_of_floors_are_apart_and_those_that_pass_by_count_by_their_time() -> None:
    spots = np.array([[5.1, 5.1], [5.2, 5.2], [2.1, 2.1]])
    grounds = [shapely.box(0, 0, 10, 10)] * 2
    still = Still(spots, layer=np.array([0, 0, 1]))
    found = looked_through.look_through(still, ["density"], grounds).density  # type: ignore[arg-type]
    assert found is not None
    assert [float(np.nanmax(floor)) for floor in found.highest] == [2.0, 1.0]
    moving = Still(spots[:1], frames=50)
    first_rows = moving.rows
    moving.rows = lambda start, stop, columns: (
        (rows := first_rows(start, stop, columns)) | {"x": np.where(rows["frame"] < 10, rows["x"], 1.1)}
    )  # type: ignore[method-assign]
    found = looked_through.look_through(moving, ["density"], grounds[:1]).density  # type: ignore[arg-type]
    assert found is not None and found.highest[0][20, 20] == pytest.approx(0.2)  # one of five seconds


def test_trails_of_many_people_and_frames_are_thinned_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looked_through, "MOST_TRAILS", 10)
    monkeypatch.setattr(looked_through, "MOST_POINTS", 20)
    trails = looked_through.look_through(
        Still(np.random.default_rng(1).random((35, 2)), frames=101), ["trails"], [shapely.box(0, 0, 1, 1)]
    ).trails  # type: ignore[arg-type]
    assert trails is not None
    assert (
        (trails.shown, trails.total, trails.step) == (9, 35, 5)
        and len(trails.rows["id"]) == 9 * 21
        and trails.rows["frame"].max() == 100
    )


def test_frames_come_whole_however_they_lie_in_the_blocks_that_are_read(recorded: Path) -> None:
    with open_run(recorded) as recording:
        table = recording.trajectories(columns=["x", "y"])
        starts = recording.frame_starts()
        for frame, rows in looked_through.frames_of(recording, ["x", "y"]):
            assert (
                rows["x"].tolist() == table["x"][starts[frame] : starts[frame + 1]].tolist()
                and (rows["frame"] == frame).all()
            )


@pytest.mark.sample(1)
@pytest.mark.parametrize("shown", [("trails",), ("density",), ("curve",), ("speeds", "budget"), sheet.PANELS])
def test_each_choice_of_panels_is_drawn(shown: tuple[str, ...], recorded: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with open_run(recorded) as recording:
        sheet.draw_sheet(recording, tmp_path / "sheet.png", shown, dpi=40)
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_no_panel_is_one_error() -> None:
    assert (
        sheet.panels_from("curve, trails,curve") == ("curve", "trails")
        and sheet.panels_from("all") == sheet.PANELS
    )
    for text in ("trail", "", ","):
        with pytest.raises(
            CrowdsimError, match="of a recording there are trails, density, curve, speeds, budget, and all"
        ):
            sheet.panels_from(text)


@pytest.mark.parametrize(("floors", "size"), [(3, (30, 20)), (6, (30, 20)), (6, (10, 40)), (40, (80, 20))])
@pytest.mark.parametrize("plans", [1, 2])
def test_a_sheet_of_several_floors_is_no_higher_than_a_page(
    plans: int, floors: int, size: tuple[int, int]
) -> None:
    room = sheet.HIGHEST - sheet.CHART - sheet.BUDGET - 0.4
    beside, across, row = sheet._plan_rows(plans, floors, (0.0, 0.0, *map(float, size)), room)
    assert 1 <= across <= floors and row * (1 if beside else plans) <= room + 1e-9
    if floors == 3 and plans == 1:  # two beside each other, and one below, would be 8.8 inches high
        assert (beside, across) == (False, 3)


def test_one_floor_stands_as_it_did() -> None:
    assert sheet._plan_rows(2, 1, (0.0, 0.0, 40.0, 10.0), 8.0)[:2] == (False, 1)
    assert sheet._plan_rows(2, 1, (0.0, 0.0, 20.0, 20.0), 8.0)[:2] == (True, 1)


def test_agents_that_wait_for_a_door_are_grey_and_named_in_the_legend(tmp_path: Path) -> None:
    """One waits for a door that the clock opens, one for its premovement time, one is barred by another."""
    document = room([], after=14.0) | {
        "geometry": {
            "walkable": [{"box": [0, 0, 12, 3]}, {"box": [0, 5, 12, 8]}, {"box": [5, 3, 6, 5]}],
            "areas": [{"name": "door", "area": {"box": [5, 3, 6, 5]}, "available": False}],
        },
        "events": [{"at": 20, "open": "door"}],
        "goals": {"far": {"exit": {"box": [11.5, 5, 12, 8]}}, "near": {"point": [11, 1.5]}},
        "avoidance": "none",
    }
    barred: list[object] = [{"point": [10.0, 6.5], "arrive_within": 0.1}]
    document["groups"] = [
        {"name": "a-shut", "positions": [[2.0, 1.0]], "goals": ["far"]},
        {"name": "b-late", "positions": [[4.0, 1.0]], "goals": ["near"], "premovement": 60},
        {"name": "c-barred", "positions": [[8.0, 6.5]], "goals": barred},
        {"name": "d-post", "positions": [[10.0, 6.5]], "immovable": True},
    ]
    out = tmp_path / "run.h5"
    with simulation(document, out=out) as run:
        run.run()
    with open_run(out) as recording:
        scenario = scenario_of_run(recording.header, "run")
        last = run_picture._states_at_the_end(recording, scenario)
        assert last["waits"].tolist() == [1, 1, 0, 0] and last["is_stuck"].tolist() == [0, 0, 1, 0]
        figure, axes = run_picture.panels(1, (0, 0, 12, 8))
        trails = looked_through.look_through(recording, ["trails"], scenario.geometry.grounds).trails
        notes = run_picture.draw_trails(axes, recording, scenario, trails)
        words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert notes == ["1 stuck at the end"]
    assert words[-2:] == ["stuck at the end: 1", "waiting by design: 2"]


def test_a_sheet_says_that_what_systems_took_was_not_recorded(tmp_path: Path) -> None:
    with open_run(record_walkers(tmp_path / "run.h5", 4, 3)) as recording:
        sheet.draw_sheet(recording, tmp_path / "all.png", dpi=40)
        scenario = scenario_of_run(recording.header, "run")
        figure = run_picture.new_figure(6.0, 4.0)
        sheet._draw_panel(figure, "budget", recording, scenario, SimpleNamespace(), 1, (0.0, 0.0, 1.0, 1.0))
    assert [text.get_text() for text in figure.texts] == ["what systems took was not recorded"]
    assert not figure.axes
