"""A crowd takes the width of the rim of the region that it goes to; one alone walks the shortest path."""

import numpy as np
import pytest
import shapely

from crowdsim.bodies.spread import CORNER_ON_RIM, HEADS_THERE, crowds_of, find_crowds, lead_aside
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.fronts import find_fronts
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems import Follow
from tests.crowds import ROOT, assert_same_on_threads_and_from_saved_states, simulation
from tests.navigation.worlds import located
from tests.reference import nudge
from tests.reference import spread as twin

EXITS = {
    "north": ((14, 19.7), (16, 19.7)),
    "south": ((6, 0.3), (8, 0.3)),
    "east": ((29.7, 9), (29.7, 11)),
    "west": ((0.3, 4), (0.3, 6)),
}
OFF = "bodies.spread_reach=0"


def fronts_of(ground, *regions, holes=()):
    mesh = build_mesh(ground).mesh
    goals = cut_goals(mesh, [GoalShape(region) for region in regions])
    return mesh, find_fronts(mesh, goals)


def hall(count, *, exit=(9, 7.7, 11, 8), region=(0.5, 0.5, 19.5, 6), obstacles=(), **more):
    """Return a hall of 20 x 8 m with an exit in its upper wall."""
    return {
        "version": 1,
        "name": "hall",
        "seed": 1,
        "stop": {"after": 60, "when": "all_arrived"},
        "geometry": {"walkable": [[0, 0], [20, 0], [20, 8], [0, 8]], "obstacles": list(obstacles)},
        "goals": {"out": {"exit": {"box": list(exit)}}},
        "groups": [{"name": "guests", "count": count, "region": {"box": list(region)}, "goals": "out"}],
        **more,
    }


def bins_of(scenario, seeds, sets=()):
    """Return how many agents leave through each tenth of the exits' usable width,
    those beside it in the outermost; and what share is beside.
    """
    bins, beside = np.zeros(10), 0
    for seed in seeds:
        with Simulation(load_scenario(ROOT / "scenarios" / scenario, sets=[f"seed={seed}", *sets])) as run:
            last = {}
            while not run.why_over():
                agents = run.world.agents
                last.update(
                    zip(
                        agents.entity.tolist(),
                        np.column_stack([agents.position, agents.velocity, agents.radius]).tolist(),
                        strict=True,
                    )
                )
                run.step()
        for x, y, vx, vy, radius in last.values():
            for a, b in EXITS.values():
                middle, along = (np.array(a) + b) / 2, (np.array(b) - a) / 2
                at = np.array([x, y]) - middle
                if np.hypot(*at) < 1.6:
                    normal = np.array([-along[1], along[0]])
                    gone = (
                        at
                        @ normal
                        / max(abs(np.array([vx, vy]) @ normal), 1e-9)
                        * -np.sign(np.array([vx, vy]) @ normal)
                    )
                    share = (at + min(max(gone, 0.0), 0.05) * np.array([vx, vy])) @ along / (1.0 - radius)
                    beside += abs(share) > 1.0
                    bins[min(9, max(0, int(5 * (share + 1))))] += 1
    return bins, beside / bins.sum()


@pytest.mark.parametrize("seeds, least", [(3, 590), pytest.param(10, 1970, marks=pytest.mark.full)])
def test_each_tenth_of_an_exit_is_used_by_a_crowd(seeds, least):
    """Of 200 agents and ten bins one seed in ten has a bin with fewer than half of the mean by chance."""
    bins, beside = bins_of("room-evacuation.yaml", range(1, seeds + 1))
    assert bins.sum() > least and np.all(bins >= 0.5 * bins.mean()) and np.all(bins <= 2.0 * bins.mean())
    assert beside < 0.25


@pytest.mark.full
def test_without_it_most_leave_at_the_ends():
    bins, beside = bins_of("room-evacuation.yaml", (1,), [OFF])
    assert (bins[0] + bins[-1]) > 0.6 * bins.sum() and beside > 0.5


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["optimal", "visibility", "grid", "s2-grid"])
def test_crowds_are_led_to_places_over_the_width_whatever_finds_their_paths(kind):
    """Of 20 agents at an exit of 2 m fewer than half leave near its ends;
    grids, whose paths end at cells in the middle here, lead them apart.
    """
    near_ends, places = [], []
    for sets in ([], [OFF]):
        with simulation(hall(20), sets=[f"navigation={kind}", *sets]) as run:
            last = {}
            while not run.why_over():
                last.update(
                    zip(
                        run.world.agents.entity.tolist(),
                        run.world.agents.position[:, 0].tolist(),
                        strict=True,
                    )
                )
                run.step()
        places.append(last)
        near_ends.append(np.mean(np.abs(np.array([*last.values()]) - 10.0) > 0.5))
    assert near_ends[0] < 0.5 and places[0] != places[1]
    assert near_ends[1] > 0.7 or "grid" in kind


@pytest.mark.parametrize("aside, are_led", [(0.1, True), (1.0, False)])
def test_bends_of_cells_on_a_path_that_leads_straight_to_a_region_keep_no_agent_from_its_place(
    aside, are_led
):
    """Cells have a path bend where the ground does not;
    one that leads round something is gone along to its end.
    """
    with simulation(hall(12, region=(5.5, 5.5, 7.5, 7)), sets=["navigation=s2-grid"]) as run:
        run.step()
        agents = run.world.agents
        (over_cells,), rows = (
            next(system for system in run.systems if isinstance(system, Follow)).paths,
            np.arange(len(agents)),
        )
        line = np.array([9.2, 7.8]) - agents.position
        left = np.column_stack([-line[:, 1], line[:, 0]]) / np.hypot(*line.T)[:, None]
        paths = np.stack(
            [agents.position + line / 2 + aside * left, np.broadcast_to([9.2, 7.8], line.shape)], axis=1
        )
        over_cells.walkers.take(rows, 2 * np.arange(len(rows) + 1), paths.reshape(-1, 2), agents.position)
        run.step()
        bend = np.hypot(*(agents.next_corner - paths[:, 0]).T) < 1e-9
        assert len(rows) == 12 and np.array_equal(bend, np.full(12, not are_led))
        assert not are_led or np.ptp(agents.next_corner[:, 0]) > 1.0


@pytest.mark.full
@pytest.mark.parametrize(
    "sets",
    [
        ["avoidance=clearpath"],
        ["avoidance=hrvo"],
        ["avoidance=sampled-hrvo"],
        ["avoidance=toi"],
        ["navigation=mesh"],
        ["navigation=visibility"],
        ["navigation=grid"],
        ["navigation=s2-grid"],
        ["groups.0.premovement=0"],
    ],
    ids=str,
)
def test_so_it_is_under_other_models_and_planners(sets):
    bins, _ = bins_of("room-evacuation.yaml", range(1, 6), sets)
    assert np.all(bins >= 0.5 * bins.mean()) and np.all(bins <= 2.0 * bins.mean())


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["optimal", "mesh", "visibility", "grid", "s2-grid"])
def test_one_alone_walks_the_shortest_path_bit_for_bit(kind):
    found = []
    for sets in ([], [OFF]):
        with simulation(hall(1), sets=[f"navigation={kind}", *sets]) as run:
            paths = []
            while not run.why_over():
                run.step()
                paths.append(run.world.agents.position.tobytes())
        found.append(paths)
    assert found[0] == found[1] and len(found[0]) > 20


def test_agents_that_walk_through_others_are_not_led():
    ends = []
    for sets in ([], [OFF]):
        with simulation(hall(20), sets=["avoidance=none", *sets]) as run:
            for _ in range(80):
                run.step()
            ends.append(run.world.agents.position.tobytes())
    assert ends[0] == ends[1]


def test_threads_and_saved_states_change_nothing():
    assert_same_on_threads_and_from_saved_states(hall(60), 100, (40, 80))


def test_progress_is_measured_along_the_path():
    with simulation(hall(30)) as run:
        for _ in range(60):
            run.step()
            agents = run.world.agents
            straight = np.hypot(*(agents.position - np.clip(agents.position, (9, 7.7), (11, 8))).T)
            assert np.all(agents.remaining <= straight + 2.0)
        assert not np.any(agents.is_stuck)


def test_the_fronts_of_a_strip_at_a_wall_are_its_three_open_sides():
    _, fronts = fronts_of(shapely.box(0, 0, 20, 8), shapely.box(9, 7.7, 11, 8))
    ends = sorted((*sorted([tuple(each[:2]), tuple(each[2:])]),) for each in fronts.end.tolist())
    assert (
        ends == [((9, 7.7), (9, 8)), ((9, 7.7), (11, 7.7)), ((11, 7.7), (11, 8))] and fronts.is_shared.all()
    )
    longest = fronts.end[np.argmax(np.hypot(*(fronts.end[:, :2] - fronts.end[:, 2:]).T))]
    assert longest[0] > longest[2]  # an agent from below has b on its left


def test_of_a_long_front_only_the_ends_are_shared():
    _, fronts = fronts_of(shapely.box(0, 0, 20, 8), shapely.box(18, 0, 20, 8))
    order = np.argsort(fronts.end[:, [1, 3]].min(axis=1))
    assert fronts.is_shared[order].tolist() == [1, 0, 1]
    assert np.hypot(*(fronts.end[order, :2] - fronts.end[order, 2:]).T) == pytest.approx([2.5, 3.0, 2.5])


def test_a_region_without_ground_round_it_and_a_point_have_no_fronts():
    _, fronts = fronts_of(shapely.box(0, 0, 20, 8), shapely.box(-1, -1, 21, 9), shapely.Point(3, 3))
    assert len(fronts.end) == 0 and fronts.goal_start.tolist() == [0, 0, 0]


@pytest.mark.parametrize("wants", [CORNER_ON_RIM, HEADS_THERE])
@pytest.mark.parametrize("seed", range(6))
def test_places_agree_with_the_twin(seed, wants):
    rng = np.random.default_rng(seed)
    count, reach, full, least = 25, 4.0, 3.0, 3.5
    ground = shapely.difference(shapely.box(0, 0, 20, 8), shapely.box(7.6, 5.6, 8.0, 6.0))
    region = shapely.box(9, 7.7, 11, 8) if seed % 2 else shapely.box(8, 3, 12, 5)
    mesh, fronts = fronts_of(ground, region)
    position = rng.uniform((5, 0.5), (15, 7.4), (count, 2))
    position = position[
        [
            not region.buffer(0.3).contains(shapely.Point(p))
            and ground.buffer(-0.3).contains(shapely.Point(p))
            for p in position
        ]
    ]
    position[1] = position[0]  # two on one spot: the one of the lower row comes first
    radius = rng.uniform(0.15, 0.28, len(position))
    radius[1] = radius[0]
    low, high = np.array(region.bounds[:2]), np.array(region.bounds[2:])
    corner = np.clip(position, low, high)
    velocity = (corner - position) / np.hypot(*(corner - position).T)[:, None] * 1.3
    expected = np.array(
        twin.targets(
            fronts.end.tolist(),
            position.tolist(),
            corner.tolist(),
            radius.tolist(),
            reach,
            full,
            least,
            wants == HEADS_THERE,
        )
    )
    clear = (
        np.array([nudge.clearance_of_line(ground, a, b) for a, b in zip(position, expected, strict=True)])
        - radius
    )
    for threads in (1, 3):
        team, rows = Team(threads), len(position)
        crowd, place = np.empty(rows, dtype=np.int32), np.empty((rows, 5))
        ends = position if wants == HEADS_THERE else corner
        team.run(
            find_crowds,
            rows,
            fronts,
            np.zeros(rows, dtype=np.int32),
            np.full(rows, wants, dtype=np.uint8),
            position,
            ends,
            radius,
            reach,
            least,
            crowd,
            place,
            at_least=1,
        )
        crowds = crowds_of(crowd, place)
        to, wish = corner.copy(), velocity.copy()
        polygon = located(mesh, position).astype(np.int64)
        team.run(
            lead_aside,
            len(crowds.member),
            crowds,
            mesh,
            fronts,
            polygon,
            position,
            radius,
            full,
            wish,
            to,
            at_least=1,
        )
        led, kept = clear > 1e-3, clear < -1e-3
        assert to[led] == pytest.approx(expected[led], abs=1e-9) and np.array_equal(to[kept], corner[kept])
        ahead = to - position
        assert wish[led] == pytest.approx(1.3 * ahead[led] / np.hypot(*ahead[led].T)[:, None])
        assert np.count_nonzero(led & (np.hypot(*(to - corner).T) > 0.1)) > 3
