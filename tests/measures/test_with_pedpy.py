"""PedPy's measures and ours agree where both measure the same."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import shapely

from crowdsim.errors import CrowdsimError
from crowdsim.measures import (
    Area,
    Line,
    area_states,
    box_area,
    densities,
    first_crossings,
    line_crossings,
    passages,
    pedpy_ground,
    pedpy_trajectory,
    speeds,
)
from tests.measures.people import random_crowd, straight, tracks

GROUND = shapely.box(-1, -1, 4, 4)


def crowd(seed):
    return replace(random_crowd(seed, people=24, frames=30), ground=GROUND)


@pytest.mark.parametrize("seed", range(2))
def test_speeds_densities_and_passages_are_those_of_pedpy(seed):
    pedpy = pytest.importorskip("pedpy", reason="pedpy is missing")
    people, area, line = crowd(seed), box_area(0.5, 0.5, 2.5, 2.5), Line(((0.5, 1.4), (2.5, 1.6)))
    theirs = pedpy.compute_individual_speed(
        traj_data=pedpy_trajectory(people),
        frame_step=2,
        speed_calculation=pedpy.SpeedCalculation.BORDER_EXCLUDE,
    )
    both = theirs.merge(speeds(people, over_s=0.4), on=["id", "frame"])
    assert len(both) == len(theirs) > 100 and both["speed"].to_numpy() == pytest.approx(
        both["speed_m_s"].to_numpy(), abs=1e-12
    )
    found, states = densities(people, area), area_states(people, area)
    assert found["classic_density_per_m2"].to_numpy() == pytest.approx(
        states["density_per_m2"].to_numpy(), abs=1e-12
    )
    curve, _ = passages(people, line)
    first = first_crossings(line_crossings(people, line))
    last_frame = dict(zip(people.seen.tolist(), people.frame[people.starts[1:] - 1].tolist(), strict=True))
    # a step that is a person's last is none to PedPy
    first = first[first["frame"] < first["id"].map(last_frame)]
    assert curve["total"].iloc[-1] == len(first) > 2
    assert [int((first["frame"] <= frame).sum()) for frame in curve["frame"]] == curve["total"].tolist()


def test_cells_of_people_in_a_row_are_as_large_as_the_room_that_each_has():
    pytest.importorskip("pedpy", reason="pedpy is missing")
    row = replace(
        tracks({k: straight((k + 0.5, 0.5), (0.1, 0), 3) for k in range(4)}), ground=shapely.box(0, 0, 4, 1)
    )
    table = densities(row, box_area(1, 0, 3, 1), cut_off_m=None)
    assert table.loc[0, ["voronoi_density_per_m2", "classic_density_per_m2"]].tolist() == pytest.approx(
        [1.0, 1.0]
    )
    assert table["voronoi_speed_m_s"].to_numpy() == pytest.approx(0.1) and table[
        "mean_speed_m_s"
    ].to_numpy() == pytest.approx(0.1)


def test_one_alone_has_one_speed_however_large_the_room_and_an_empty_area_none():
    pytest.importorskip("pedpy", reason="pedpy is missing")
    alone = replace(tracks({1: straight((0.5, 0.5), (1, 0), 8)}), ground=shapely.box(0, 0, 20, 9))
    table = densities(alone, box_area(0, 0, 20, 9))
    assert table["voronoi_speed_m_s"].to_numpy() == pytest.approx(1.0)
    empty = densities(alone, box_area(10, 0, 20, 9))
    assert (empty["voronoi_density_per_m2"] == 0.0).all() and empty[
        ["mean_speed_m_s", "voronoi_speed_m_s"]
    ].isna().all().all()


def test_of_several_pieces_of_ground_the_one_with_the_area_is_meant_and_one_that_is_elsewhere_is_left_out():
    pytest.importorskip("pedpy", reason="pedpy is missing")
    rooms = shapely.MultiPolygon([shapely.box(0, 0, 4, 4), shapely.box(5, 0, 8, 4)])
    people = replace(tracks({1: straight((1, 1), (1, 0), 3), 2: straight((6, 1), (1, 0), 3)}), ground=rooms)
    assert (
        pedpy_ground(people).area == 16.0
        and pedpy_ground(people, around=shapely.box(6, 1, 7, 2)).area == 12.0
    )
    assert densities(people, box_area(5, 0, 8, 4), cut_off_m=None)[
        "voronoi_density_per_m2"
    ].to_numpy() == pytest.approx(1 / 12)


def test_an_agent_that_touches_a_wall_and_is_outside_by_rounding_is_counted():
    pytest.importorskip("pedpy", reason="pedpy is missing")
    people = replace(tracks({1: [(1.0, -1e-9), (1.1, -1e-9)]}), ground=shapely.box(0, 0, 2, 2))
    assert densities(people, box_area(0.0, 0.0, 2, 2), cut_off_m=None)[
        "voronoi_density_per_m2"
    ].to_numpy() == pytest.approx(0.25)


def test_what_does_not_suit_pedpy_is_one_sentence():
    pytest.importorskip("pedpy", reason="pedpy is missing")
    bent = Area(shapely.Polygon([(0, 0), (2, 0), (2, 2), (1, 0.5), (0, 2)]), "bent")
    with pytest.raises(CrowdsimError, match='PedPy cannot measure in the area "bent"'):
        densities(crowd(0), bent)
    with pytest.raises(CrowdsimError, match="does not say where the ground is"):
        densities(random_crowd(0), box_area(0, 0, 1, 1))
    with pytest.raises(CrowdsimError, match="lines with two points"):
        passages(crowd(0), Line(((0, 0), (1, 0), (1, 1))))
    curve, flow = passages(crowd(0), Line(((0, 90), (1, 90))))
    assert curve["total"].max() == 0 and len(flow) == 0


def test_without_pedpy_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pedpy", None)  # an import of it fails
    for call in (
        lambda: densities(crowd(0), box_area(0, 0, 1, 1)),
        lambda: passages(crowd(0), Line(((0, 0), (1, 0)))),
        lambda: pedpy_trajectory(crowd(0)),
    ):
        with pytest.raises(CrowdsimError, match=r'not installed: pip install "crowdsim\[pedpy\]"'):
            call()
    assert (
        len(area_states(crowd(0), box_area(0, 0, 1, 1))) > 0
        and np.isfinite(speeds(crowd(0))["speed_m_s"]).any()
    )
