"""Radii that change during a run: paths, walls and neighbours follow,
and memory does not grow with the number of radii.
"""

import numpy as np
import pytest
import shapely

from crowdsim.errors import CrowdsimError
from crowdsim.kernels.threads import Team
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.recording.opening import open_run
from crowdsim.world.columns import PathStatus
from crowdsim.world.events import EventKind
from tests.crowds import digests, simulation
from tests.navigation.worlds import located, point_goals, random_ground

WALL = [
    [[5, 0], [5.2, 0], [5.2, 2.75], [5, 2.75]],
    [[5, 3.25], [5.2, 3.25], [5.2, 8], [5, 8]],
    [[5, 9.25], [5.2, 9.25], [5.2, 10], [5, 10]],
]


def two_gaps(*, radius=0.2, start=(1.0, 3.0), more=None, navigation="mesh", work=100_000):
    """A wall with a gap of 0.5 m straight ahead and one of 1.25 m further up."""
    agents = [
        {
            "position": list(start),
            "radius": radius,
            "speed": 1.3,
            "goals": [{"point": [8.0, 3.0], "arrive_within": 0.2}],
        },
        *(more or []),
    ]
    return {
        "version": 1,
        "name": "gaps",
        "tick": 0.05,
        "stop": {"after": 60},
        "geometry": {"walkable": {"box": [0, 0, 10, 10]}, "obstacles": WALL},
        "groups": [{"name": "one", "agents": agents}],
        "navigation": navigation,
        "budget": {"work": work},
        "record": {"rate": 20},
    }


def found_in(events):
    return [float(event.x) for event in events if event.kind == EventKind.PATH_FOUND]


def test_an_agent_too_wide_for_a_gap_ahead_takes_another_path_and_keeps_clear_of_walls():
    walls = shapely.union_all([shapely.Polygon(ring) for ring in WALL])
    with simulation(two_gaps()) as run:
        lengths = found_in(event for _ in range(20) for event in run.step())
        run.set_radius("one[0]", 0.45)
        assert run.world.agents.path_status[0] == PathStatus.NONE
        highest, least = 0.0, np.inf
        while not run.why_over():
            lengths += found_in(run.step())
            if len(run.world.agents):
                highest = max(highest, float(run.world.agents.position[0, 1]))
                least = min(least, shapely.distance(walls, shapely.Point(run.world.agents.position[0])))
        assert run.verdict().arrived == 1 and run.verdict().steered == 1
    assert len(lengths) == 2 and lengths[0] == pytest.approx(7.0, abs=0.01) and lengths[1] > 12.0
    assert highest > 8.0 and least > 0.45 - 1e-3


def test_an_agent_that_still_fits_through_everything_ahead_keeps_its_path():
    with simulation(two_gaps()) as run:
        for _ in range(20):
            run.step()
        run.set_radius(1, 0.25)  # the gap of 0.5 m lets it pass exactly
        assert run.world.agents.path_status[0] == PathStatus.FOUND
        assert found_in(event for _ in range(20) for event in run.step()) == []
        assert run.run().arrived == 1


def test_an_agent_that_had_no_path_gets_another_chance():
    with simulation(two_gaps(radius=0.7)) as run:
        for _ in range(5):
            run.step()
        assert run.world.agents.path_status[0] == PathStatus.UNREACHABLE
        run.set_radius(1, 0.2)
        assert run.run().arrived == 1


def test_a_request_that_is_open_is_made_anew():
    with simulation(two_gaps(work=1)) as run:
        run.step()
        assert run.world.agents.path_status[0] == PathStatus.PENDING
        run.set_radius(1, 0.45)
        lengths = []
        while not lengths and run.tick < 60:
            lengths = found_in(run.step())
        walked = np.hypot(*(run.world.agents.position[0] - (1.0, 3.0)))  # on a guess, straight ahead
        assert 0.1 < walked < 3.0 and walked + lengths[0] > 12.0


def test_an_agent_that_walks_over_cells_asks_for_every_radius():
    with simulation(
        two_gaps(
            navigation={"kind": "grid", "cell_size": 0.1, "object_padding": 0.0},
            radius=0.18,
            more=[{"position": [1, 9], "radius": 0.45}],
        )
    ) as run:
        for _ in range(20):
            run.step()
        run.set_radius(1, 0.4)
        (length,) = found_in(event for _ in range(3) for event in run.step())
        assert length > 10.0
        with pytest.raises(
            CrowdsimError,
            match=(
                r"one\[0\] finds its path on a grid, which knows distances for radii up to 0.45 m, not 1 m. "
                r"Take navigation: mesh"
            ),
        ):
            run.set_radius(1, 1.0)
        assert run.world.agents.radius[0] == 0.4
        assert run.run().arrived == 1


def test_others_keep_away_from_the_new_radius():
    """A stationary agent that grows is gone round at its new radius."""
    nearest = []
    for radius in (0.2, 1.0):
        with simulation(two_gaps(start=(0.5, 6.0), more=[{"position": [2.5, 6.05], "radius": 0.2}])) as run:
            run.set_goal("one[0]", None)
            run.set_preferred_velocity("one[0]", (1.3, 0.0))
            run.step()
            run.set_radius("one[1]", radius)
            gaps = []
            for _ in range(60):
                run.step()
                gaps.append(float(np.hypot(*(run.world.agents.position[0] - run.world.agents.position[1]))))
            nearest.append(min(gaps))
    assert 0.4 - 1e-3 < nearest[0] < 0.6 and nearest[1] > 1.2 - 1e-3


def test_a_run_goes_on_the_same_from_a_saved_state_after_a_change():
    scene = two_gaps(
        more=[{"position": [1.0, 2.0 + 0.5 * k], "goals": [{"point": [8.0, 3.0]}]} for k in range(6)]
    )
    with simulation(scene) as run:
        for _ in range(10):
            run.step()
        run.set_radius([1, 3], [0.6, 0.4])
        run.step()
        state = run.state()
        expected = digests(run, 60)
        with simulation(scene) as other:
            other.restore(state)
            assert digests(other, 60) == expected


def test_longer_wall_lists_change_nothing_for_others():
    scene = two_gaps(
        more=[{"position": [1.0, 2.0 + 0.5 * k], "goals": [{"point": [8.0, 3.0]}]} for k in range(6)]
    )
    with simulation(scene) as run, simulation(scene) as other:
        other.world.reach_walls(run.world.walls.reach + 3.0)
        assert len(other.world.walls.zone_wall) >= len(run.world.walls.zone_wall)
        assert digests(run, 100) == digests(other, 100)


def test_the_recording_says_which_agent_changed_when(tmp_path):
    with simulation(two_gaps(), out=tmp_path / "a.h5") as run:
        for _ in range(5):
            run.step()
        run.set_radius(1, 0.45)
        run.run()
    with open_run(tmp_path / "a.h5") as recording:
        events = recording.events()
        assert events.loc[events.kind == "RADIUS_SET", ["tick", "entity", "value"]].values.tolist() == [
            [6, 1, 450]
        ]


@pytest.mark.parametrize(
    ("radius", "message"),
    [
        (0.0, "a radius of 0 m is none"),
        (float("nan"), "a radius of nan m is none"),
        (
            2.5,
            (
                "a radius of 2.5 m is wider than the mesh was made for .2 m.. Set navigation.widest_body of "
                "the scenario to 2.5 or more."
            ),
        ),
        (0.01, r"one\[0\] walks 0.065 m in a tick of 0.05 s, farther than an agent of radius 0.01 m is wide"),
        ([0.2, 0.3], "1 agents need one radius or 1"),
        ("wide", "need one radius or 1"),
    ],
)
def test_radii_that_cannot_be_are_refused_and_nothing_changes(radius, message):
    with simulation(two_gaps()) as run:
        with pytest.raises(CrowdsimError, match=message):
            run.set_radius(1, radius)
        assert run.world.agents.radius[0] == 0.2


@pytest.mark.parametrize("kind", ["mesh", "optimal"])
def test_memory_does_not_grow_with_the_number_of_radii(kind):
    """One mesh and one set of slots answer for two radii as for two thousand;
    what a planner notes of requests is bounded by the gaps of the mesh.
    """
    from crowdsim.navigation.mesh.build import build_mesh

    mesh = build_mesh(random_ground(4)).mesh
    goals = point_goals(mesh, [[6.0, 6.0]])
    point = np.array([shapely.Point(random_ground(4).representative_point()).coords[0]])
    sizes, known = [], []
    for radii in (2, 2000):
        planner = MeshPlanner(mesh, goals, kind=kind)
        radius = np.linspace(0.01, 0.6, radii)
        for part in np.array_split(np.arange(radii), max(1, radii // 100)):
            starts = np.repeat(point, len(part), axis=0)
            planner.submit(
                0, part + 1, starts, located(mesh, starts), np.zeros(len(part), dtype=np.int32), radius[part]
            )
            planner.advance(1 << 40, Team())
        state = planner.state()
        sizes.append(
            sum(array.nbytes for name, array in state.items() if not name.startswith(("known", "slots_")))
        )
        known.append(len(state["known_key"]))
        assert known[-1] <= 1024 * (len(planner.widths) + 1)
    assert sizes[0] == sizes[1]
    if kind == "mesh":
        assert known[1] <= len(MeshPlanner(mesh, goals).widths) + 1
