"""Measures of measured people: ours and PedPy's give what is published of them.

The table of the corridor of 1.8 m says what was measured of each run, and not over which line, in which area,
and from when until when. The lengths of corridor and the times below are those with which all nine numbers
come out, for our measures; PedPy's are held to the same. Its column N, people who were counted, is of a
longer time than its means, and no bound here.
"""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest
import shapely

from crowdsim.measures import (
    Line,
    area_states,
    box_area,
    densities,
    evacuation_curve,
    first_crossings,
    line_crossings,
    mean_flow,
    passages,
    read_measured,
    speeds,
    steady_state,
    tracks_of,
)
from tests.external.data import need

# people walk from y = 8 m to y = -6 m; between y = 4 m and -4 m there are walls
CORRIDOR = box_area(0.0, -2.0, 1.8, 0.0, "2 m of the corridor")
MIDDLE = Line(((-1.0, 0.0), (3.0, 0.0)), "middle")
SKIP_BEGIN_S, SKIP_END_S = 16.5, 14.0  # until the corridor has filled, and while it empties
OVER_S = 0.5
RUNS = ("uo-050-180-180", "uo-145-180-180", "uo-180-180-095")


def measured(run):
    return read_measured(need("trajectories", f"{run}.txt"), fps=16.0, unit="cm")


def row_of(run):
    with need("trajectories", "measured_uni_fd.csv").open(encoding="utf-8") as file:
        return {
            name: float(value)
            for name, value in next(row for row in csv.DictReader(file) if row["run"] == run).items()
            if name != "run"
        }


@pytest.mark.parametrize("run", RUNS)
def test_density_and_speed_in_the_corridor_are_those_of_the_table_to_a_hundredth(run):
    people, expected = measured(run), row_of(run)
    found = steady_state(
        area_states(people, CORRIDOR, over_s=OVER_S), skip_begin_s=SKIP_BEGIN_S, skip_end_s=SKIP_END_S
    )
    assert found["density_per_m2"] == pytest.approx(expected["rho"], rel=0.01)
    assert found["speed_m_s"] == pytest.approx(expected["v"], rel=0.01)
    assert found["density_sd_per_m2"] == pytest.approx(expected["rho_sd"], rel=0.05) and found[
        "speed_sd_m_s"
    ] == pytest.approx(expected["v_sd"], abs=0.02)


@pytest.mark.parametrize("run", RUNS)
def test_the_flow_through_the_corridor_is_that_of_the_table_to_a_hundredth(run):
    people, expected = measured(run), row_of(run)
    begin, end = people.frame_s[0] + SKIP_BEGIN_S, people.frame_s[-1] - SKIP_END_S
    flow = mean_flow(
        first_crossings(line_crossings(people, MIDDLE), 1), width_m=1.8, from_s=begin, until_s=end
    )
    # as the table counts: the first one too
    people_over_time = flow["people"] / (flow["last_s"] - flow["first_s"])
    assert people_over_time == pytest.approx(
        expected["J"], rel=0.01
    ) and people_over_time / 1.8 == pytest.approx(expected["Js"], rel=0.01)


@pytest.mark.parametrize("run", [RUNS[0], *(pytest.param(run, marks=pytest.mark.full) for run in RUNS[1:])])
def test_pedpy_measures_the_same_of_measured_people(run):
    pedpy = pytest.importorskip("pedpy", reason="pedpy is missing")
    people, expected = measured(run), row_of(run)
    data = pedpy.load_trajectory(
        trajectory_file=need("trajectories", f"{run}.txt"),
        default_frame_rate=16.0,
        default_unit=pedpy.TrajectoryUnit.CENTIMETER,
    )
    assert (
        data.data.sort_values(["id", "frame"])["x"].to_numpy() == people.x
    ).all() and data.frame_rate == people.fps
    theirs = pedpy.compute_individual_speed(
        traj_data=data, frame_step=4, speed_calculation=pedpy.SpeedCalculation.BORDER_EXCLUDE
    )
    both = theirs.merge(speeds(people, over_s=OVER_S), on=["id", "frame"])
    assert len(both) == len(theirs) and both["speed"].to_numpy() == pytest.approx(
        both["speed_m_s"].to_numpy(), abs=1e-9
    )
    curve, _ = passages(people, MIDDLE)
    first = first_crossings(line_crossings(people, MIDDLE), 1)
    assert [int((first["frame"] <= frame).sum()) for frame in curve["frame"]] == curve["total"].tolist()
    # People near the area will do; some sway out of the corridor by a hand's breadth, so the ground is drawn
    # around them.
    steady = of_frames(people, slice(int(SKIP_BEGIN_S * 16), len(people.frame_s) - int(SKIP_END_S * 16), 4))
    table = densities(replace(steady, ground=shapely.box(-1.0, -7.0, 3.0, 9.0)), CORRIDOR, over_s=OVER_S)
    assert table["classic_density_per_m2"].mean() == pytest.approx(expected["rho"], rel=0.01)


def of_frames(people, frames):
    """Return the people near the area in every so manyth of some frames, as if the camera had been slower."""
    number = people.frame - people.first_frame - frames.start
    keep = (
        (number >= 0)
        & (people.frame - people.first_frame < frames.stop)
        & (number % frames.step == 0)
        & (people.y > -2.5)
        & (people.y < 0.5)
    )
    columns = {name: getattr(people, name)[keep] for name in ("person", "x", "y", "z")}
    frame = number[keep] // frames.step
    return replace(
        people,
        **columns,
        frame=frame,
        fps=people.fps / frames.step,
        frame_s=people.frame_s[frames],
        first_frame=0,
    )


def test_persons_a_second_through_the_bottleneck_are_those_that_are_published():
    people = tracks_of(need("trajectories", "040_c_56_h-.txt"))
    crossed = first_crossings(line_crossings(people, Line(((-2.0, 0.0), (2.0, 0.0)))), 1)
    flow = mean_flow(crossed)
    assert (
        people.fps == 25.0 and flow["people"] == 75 and flow["flow_per_s"] == pytest.approx(1.148, abs=0.005)
    )
    # the last are still in the picture when the recording ends
    assert evacuation_curve(people)["left"].iloc[-1] >= 73


def test_an_archive_file_whose_frame_rate_is_a_text_or_a_number_is_measured():
    people = tracks_of(need("trajectories", "00_01a.h5"))
    assert people.fps == 25.0 and np.isfinite(speeds(people)["speed_m_s"]).all() and len(people.seen) > 10
