"""What a picture shows of the plan: the region that was cut out and a rim; of a whole run all of it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import shapely
from matplotlib.axes import Axes

from crowdsim import cut_run
from crowdsim.errors import RecordingError
from crowdsim.pictures import run as run_picture
from crowdsim.pictures import sheet
from crowdsim.pictures.framing import bounds_of, grounds_within
from crowdsim.pictures.view import film
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import scenario_of_run
from tests.crowds import ROOT, room, simulation

WHOLE = (0.0, 0.0, 20.0, 10.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run in a room of 20 x 10 m, and parts of it."""
    made = tmp_path_factory.mktemp("framing")
    document = room([], after=4.0) | {"geometry": {"walkable": {"box": WHOLE}}, "record": {"rate": 5}}
    document["goals"] = {"east": {"exit": {"box": [19, 4, 20, 6]}}}
    document["groups"] = [{"name": "crowd", "count": 40, "goals": ["east"]}]
    with simulation(document, out=made / "run.h5") as run:
        run.run()
    cut_run(made / "run.h5", made / "part.h5", region=shapely.box(2, 3, 12, 7))
    cut_run(made / "part.h5", made / "twice.h5", region=shapely.box(8, 0, 20, 10))
    cut_run(made / "part.h5", made / "later.h5", from_s=1.0)
    cut_run(made / "run.h5", made / "edge.h5", region=shapely.box(-50, -50, 5, 50))
    return made


@pytest.mark.parametrize(
    "name, expected",
    [
        ("run", WHOLE),
        ("part", (1.5, 2.5, 12.5, 7.5)),
        ("later", (1.5, 2.5, 12.5, 7.5)),  # cut by time alone out of a region
        ("twice", (7.8, 2.8, 12.2, 7.2)),
        ("edge", (0.0, 0.0, 10.0, 10.0)),  # no more than the ground
    ],
)
def test_a_picture_shows_the_region_that_was_cut_out_and_a_rim(
    folder: Path, name: str, expected: tuple[float, ...]
) -> None:
    with open_run(folder / f"{name}.h5") as recording:
        geometry = scenario_of_run(recording.header, "run").geometry
        assert bounds_of(recording, geometry) == pytest.approx(expected)


@pytest.mark.parametrize(
    "cut",
    [
        {"region": "no area"}, {"region": 5}, {"region": "POINT (1 2)"}, {"region": "POLYGON EMPTY"},
        {"region": "POLYGON ((nan 0, 1 0, 1 1, nan 0))"}, {"of": {"region": "LINESTRING (0 0, 1 1)"}},
        {"of": "part.h5"},
    ],
)  # fmt: skip
def test_a_region_that_is_no_area_is_one_error(folder: Path, cut: dict[str, Any]) -> None:
    with open_run(folder / "part.h5") as recording:
        geometry = scenario_of_run(recording.header, "run").geometry
        bad = SimpleNamespace(path=recording.path, header=replace(recording.header, cut=cut))
        with pytest.raises(RecordingError, match="region that was cut out is no area"):
            bounds_of(bad, geometry)


@pytest.mark.parametrize("name", ["run", "part"])
def test_pictures_sheets_and_films_show_it(
    folder: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []

    def kept(figure: Any, *_: Any, **__: Any) -> None:
        shown.append([axes for axes in figure.findobj(Axes) if axes.get_aspect() == 1.0])

    for module in (run_picture, sheet):
        monkeypatch.setattr(module, "save", kept)
    with open_run(folder / f"{name}.h5") as recording:
        scenario = scenario_of_run(recording.header, "run")
        expected = bounds_of(recording, scenario.geometry)
        run_picture.draw_run(recording, tmp_path / "run.png")
        sheet.draw_sheet(recording, tmp_path / "sheet.png", ("trails", "density"))
        figure, _ = film._stage(recording, scenario)
        kept(figure)
    assert [len(panels) for panels in shown] == [1, 2, 1]
    for axes in [axes for panels in shown for axes in panels]:
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        if name == "part":
            assert (left, bottom, right, top) == pytest.approx(expected)
        else:
            assert left <= 0.0 and bottom <= 0.0 and right >= 20.0 and top >= 10.0


def test_figures_and_the_backend_of_a_notebook_stay_as_they_are(folder: Path, tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
import matplotlib
matplotlib.use("svg")
from matplotlib import pyplot
import crowdsim
from crowdsim.pictures.run import draw_run
pyplot.figure()
with crowdsim.open_run({str(folder / "run.h5")!r}) as recording:
    draw_run(recording, Path({str(tmp_path / "run.png")!r}))
print(matplotlib.get_backend(), pyplot.get_fignums())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (0, "svg [1]\n"), done.stderr


def test_densities_are_of_the_ground_that_is_shown() -> None:
    grounds = [shapely.box(0, 0, 20, 10), shapely.box(30, 0, 40, 10)]
    within = grounds_within(grounds, (15.0, 2.0, 25.0, 8.0))
    assert [part.area for part in within] == [30.0, 0.0]
    assert np.array_equal(shapely.total_bounds(within), (15.0, 2.0, 20.0, 8.0))
    assert grounds_within(grounds, (22.0, 2.0, 25.0, 8.0)) == grounds  # in a hole: no ground at all


@pytest.mark.parametrize("marks", [1, 4, 11])
@pytest.mark.parametrize(("floors", "bounds"), [(1, (0, 0, 40, 3)), (1, (0, 0, 3, 40)), (3, (0, 0, 20, 10))])
def test_a_legend_hides_no_plan(marks: int, floors: int, bounds: tuple[float, ...]) -> None:
    figure, panels = run_picture.panels(floors, bounds)
    for axes in panels:
        axes.set(xlim=bounds[::2], ylim=bounds[1::2], aspect="equal", xlabel="x (m)", ylabel="y (m)")
    figure.suptitle("a title")
    named = [run_picture.line_mark(f"a group with a name {number}", "red") for number in range(marks)]
    run_picture.legend_below(panels[0], named)
    figure.draw_without_rendering()
    figure.draw_without_rendering()  # once more: what is as wide as it is high settles then
    (legend,) = (each.get_window_extent() for each in figure.legends)
    assert len(figure.legends[0].get_texts()) == marks
    assert figure.bbox.x0 <= legend.x0 and legend.x1 <= figure.bbox.x1 and legend.y0 >= figure.bbox.y0
    assert all(axes.get_tightbbox().y0 >= legend.y1 for axes in panels)
    assert figure._suptitle.get_window_extent().y1 <= figure.bbox.y1
