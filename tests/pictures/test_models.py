"""The picture of one scene under several models:
a column for each, the trails of all agents in the same colour, marks where the trace has them, figures below.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from crowdsim.comparison.comparison import over_seeds, run_scene
from crowdsim.comparison.counts import Trace
from crowdsim.pictures import models
from crowdsim.pictures.models import Panel, draw_models, figures
from crowdsim.scenario.load import load_scenario, parse_scenario
from tests.crowds import SCENARIOS, on_circle, room

pytest.importorskip("matplotlib")


def panel(scenario, model, **more):
    trace = Trace()
    together = over_seeds([run_scene(scenario, model, trace=trace)])
    for name, value in more.items():
        setattr(trace, name, value)
    return Panel(scenario, model, trace, together)


@pytest.fixture
def drawn(monkeypatch):
    """Figures that were drawn."""
    found, save = [], models.save
    monkeypatch.setattr(
        models, "save", lambda figure, *args, **more: found.append(figure) or save(figure, *args, **more)
    )
    return found


def circle(**more):
    return parse_scenario(
        json.dumps(room(on_circle(6, radius=3.0), size=10.0, after=2.0, name="ring", **more))
    )


def test_there_is_a_panel_for_each_model_with_marks_trails_and_figures(tmp_path, drawn):
    marked = {"stuck": np.array([[1.0, 1.0, 0.0]]), "overlaps": np.array([[0.0, 0.0, 0.0], [2.0, 2.0, 0.0]])}
    panels = [panel(circle(), "orca"), panel(circle(), "none", **marked)]
    draw_models(panels, tmp_path / "out.png", dpi=40)
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    left, right = drawn[0].axes
    assert [axes.get_title() for axes in (left, right)] == ["ring: orca", "ring: none"]
    marks = [
        {line.get_gid(): len(line.get_xdata()) for line in axes.lines if line.get_gid()}
        for axes in (left, right)
    ]
    assert marks == [{"overlaps": 0, "stuck": 0}, {"overlaps": 2, "stuck": 1}]
    trails = [
        next(each for each in axes.collections if len(each.get_segments()) == 6) for axes in (left, right)
    ]
    assert (
        np.array_equal(trails[0].get_colors(), trails[1].get_colors())
        and len(np.unique(trails[0].get_colors(), axis=0)) == 6
    )
    assert (
        left.get_xlabel() == figures(panels[0].runs)
        and "path/optimal" in left.get_xlabel()
        and "0 of 6 arrived" in left.get_xlabel()
    )


def test_a_trail_has_a_gap_where_an_agent_was_on_another_floor_or_gone():
    nan = np.nan
    parts = models._unbroken(
        np.array([[0.0, 0.0], [1.0, 0.0], [nan, nan], [3.0, 0.0], [nan, nan], [5.0, 0.0], [6.0, 0.0]])
    )
    assert [part[:, 0].tolist() for part in parts] == [[0.0, 1.0], [5.0, 6.0]]


@pytest.mark.full
def test_every_floor_of_a_scene_has_a_row_of_its_own(tmp_path, drawn):
    scenario = load_scenario(SCENARIOS / "two-storeys.yaml", sets=["stop.after=1"])
    draw_models([panel(scenario, "none")], tmp_path / "out.png", dpi=30)
    titles = [axes.get_title() for axes in drawn[0].axes]
    assert len(titles) == len(scenario.geometry.grounds) > 1 and all(
        floor.name in title for floor, title in zip(scenario.geometry.floors, titles)
    )
