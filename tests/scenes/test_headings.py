"""Everybody faces where it goes, whatever finds its way, and the recording keeps it."""

import math

import numpy as np
import pytest

from crowdsim.recording.opening import open_run
from crowdsim.systems.record import DIGEST_COLUMNS, Record
from crowdsim.world.columns import Gait
from tests.crowds import room, simulation

GRID = "navigation={kind: grid, cell_size: 0.25, object_padding: 0.05}"
NAVIGATIONS = ["navigation=mesh", "navigation=optimal", "navigation=visibility", GRID]
WALL = [[[-0.5, -9], [0.5, -9], [0.5, 3], [-0.5, 3]]]


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_a_walker_turns_at_the_rotation_speed_and_then_faces_its_way(navigation):
    walker = {"position": [-8, 0], "goals": [{"point": [8, 0], "arrive_within": 0.3}]}
    with simulation(room([walker], obstacles=WALL), sets=[navigation, "bodies.rotation_speed=1.5"]) as run:
        facing, turned = [], []
        while not run.why_over():
            before = run.world.agents.heading[0].copy()
            run.step()
            if not len(run.agents):
                break
            agents = run.world.agents
            assert np.hypot(*agents.heading[0]) == pytest.approx(1.0, abs=1e-12)
            turned.append(math.acos(min(1.0, float(before @ agents.heading[0]))))
            speed = np.hypot(*agents.velocity[0])
            facing.append(float(agents.heading[0] @ agents.velocity[0]) / speed if speed > 0.1 else np.nan)
        assert max(turned) <= 1.5 * 0.05 + 1e-6 < 0.08 and max(turned) > 0.074
        assert np.nanmedian(facing) > 0.999


def test_the_rotation_speed_changes_headings_and_nothing_else():
    runs = []
    for speed in (0.5, 20.0):
        with simulation(sets=[f"bodies.rotation_speed={speed}"]) as run:
            for _ in range(40):
                run.step()
            record = next(system for system in run.systems if isinstance(system, Record))
            runs.append(dict(zip(DIGEST_COLUMNS, record.last.tolist(), strict=True)))
    assert [name for name in DIGEST_COLUMNS if runs[0][name] != runs[1][name]] == ["heading"]


def test_who_steps_aside_walks_and_who_stands_or_waits_does_not():
    stander, walker = (
        {"id": 1, "position": [0, 0], "radius": 0.3},
        {"id": 2, "position": [-3, 0.01], "radius": 0.3, "goals": [{"point": [5, 0.01]}], "premovement": 1},
    )
    with simulation(room([stander, walker], after=30), sets=["avoidance=none", "bodies.nudging=true"]) as run:
        agents = run.world.agents
        run.step()
        assert agents.gait.tolist() == [Gait.STAND, Gait.STAND] and agents.heading.tolist() == [
            [1.0, 0.0],
            [1.0, 0.0],
        ]
        while not agents.is_yielding[0]:
            run.step()
        assert agents.gait.tolist() == [Gait.WALK, Gait.WALK]
        while agents.is_yielding[0]:
            run.step()
        aside = agents.heading[0].copy()
        for _ in range(20):
            run.step()
        assert agents.gait[0] == Gait.STAND and np.array_equal(agents.heading[0], aside)


def test_the_recording_keeps_headings_and_pedpy_reads_it(tmp_path):
    with simulation(sets=["record.rate=10"], out=tmp_path / "run.h5") as run:
        for _ in range(30):
            run.step()
        expected = run.world.agents.heading.copy(), run.world.agents.gait.copy()
        run.finish()
    with open_run(tmp_path / "run.h5") as recording:
        rows = recording.trajectories(columns=["heading", "gait"])
    last = rows[rows.frame == 30]
    np.testing.assert_allclose(last[["heading_x", "heading_y"]].to_numpy(), expected[0], atol=1 / 256)
    assert (last.gait.to_numpy() == expected[1]).all() and set(rows.gait) == {0, 1}
    pedpy = pytest.importorskip("pedpy")
    assert len(
        pedpy.load_trajectory_from_ped_data_archive_hdf5(trajectory_file=tmp_path / "run.h5").data
    ) == len(rows)
