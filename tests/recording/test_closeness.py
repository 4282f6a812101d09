"""Recordings that are alike, but not equal."""

import math

import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording.compare import aggregates, compare_places
from crowdsim.recording.opening import open_run
from tests.recording.crowd import Crowd, new_writer

AT = 30


class Drifting(Crowd):
    """The same crowd, but agent 71 drifts away from tick 30 on, by a millimetre a tick."""

    def at(self, tick):
        entity, position, columns = super().at(tick)
        position[entity == 71, 0] += 1e-3 * max(0, tick - AT)
        return entity, position, columns


def recorded(crowd, path, ticks=60, **options):
    writer = new_writer(path, **options)
    crowd.record(writer, ticks)
    return writer.close({}).path


@pytest.fixture
def pair(tmp_path):
    with (
        open_run(recorded(Crowd(100), tmp_path / "a.h5")) as one,
        open_run(recorded(Drifting(100), tmp_path / "b.h5")) as other,
    ):
        yield one, other


def test_the_first_frame_in_which_an_agent_is_too_far_off_is_named(pair):
    found = compare_places(*pair, 0.0055)
    entity, position, _ = Crowd(100).at(36)
    assert (found.apart.tick, found.apart.entity, found.ticks) == (36, 71, 36)
    assert found.apart.distance == pytest.approx(0.006, abs=1e-9) and found.deepest == pytest.approx(
        0.004, abs=1e-9
    )
    assert found.apart.places[0][:2] == pytest.approx(
        tuple(position[entity == 71][0])
    ) and found.apart.places[1][0] == pytest.approx(position[entity == 71][0, 0] + 0.006)


def test_within_the_tolerance_they_are_the_same(pair):
    found = compare_places(*pair, 0.1)
    assert found.apart is None and found.ticks == 58 and found.deepest == pytest.approx(0.028, abs=1e-9)
    assert compare_places(pair[0], pair[0], 0.0).deepest == 0.0


def test_one_that_is_in_one_only_is_infinitely_far(tmp_path, pair):
    class Fewer(Crowd):
        def at(self, tick):
            entity, position, columns = super().at(tick)
            return (
                (entity[:-1], position[:-1], {name: array[:-1] for name, array in columns.items()})
                if tick >= AT
                else (entity, position, columns)
            )

    with open_run(recorded(Fewer(100), tmp_path / "c.h5")) as fewer:
        found = compare_places(pair[0], fewer, 1.0)
    assert (
        found.apart.tick == AT
        and math.isinf(found.apart.distance)
        and np.isnan(found.apart.places[1]).all()
        and not np.isnan(found.apart.places[0]).any()
    )
    assert found.apart.entity == Crowd(100).at(AT)[0][-1]


def test_recordings_without_a_common_frame_cannot_be_compared(tmp_path, pair):
    writer = new_writer(tmp_path / "d.h5")
    Crowd(100).record(writer, 20, first=100)
    with (
        open_run(writer.close({}).path) as late,
        pytest.raises(RecordingError, match="no frame of the same tick"),
    ):
        compare_places(pair[0], late, 1.0)


def test_aggregates_are_those_of_the_table(pair):
    found = aggregates(pair[1])
    table = pair[1].trajectories()
    steps = table.sort_values(["id", "frame"]).groupby("id")[["x", "y", "z"]].diff().dropna()
    metres = np.sqrt((steps**2).sum(axis=1)).sum()
    assert found["mean distance m"] == pytest.approx(metres / table["id"].nunique())
    assert found["mean speed m/s"] == pytest.approx(metres / (len(steps) / pair[1].header.fps))
    events = pair[1].events()
    arrivals = events[events["kind"] == "ARRIVAL"]
    assert (
        found["arrived"] == arrivals["entity"].nunique()
        and found["stuck"] == (events["kind"] == "STUCK").sum()
    )
    assert found["last arrival s"] == pytest.approx(
        arrivals["tick"].max() * pair[1].header.tick_s, nan_ok=True
    )
