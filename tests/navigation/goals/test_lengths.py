"""Lengths to goals from anywhere, beside slow code and beside the paths that planners find."""

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.goals.lengths import GoalLengths, lay_points, lengths_from, spread_lengths
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.mesh.mesh import locate_many, make_flood, wall_distance
from crowdsim.navigation.planning.mesh_planner import usual_planner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.scenario.load import load_scenario
from crowdsim.setup.build import build_world
from tests.crowds import SCENARIOS
from tests.reference import goal_lengths as naive

ROOMS = shapely.box(0, 0, 24, 16) - shapely.union_all(
    [
        shapely.box(8, 0, 8.3, 6), shapely.box(8, 7, 8.3, 16), shapely.box(8.3, 9, 15, 9.3),
        shapely.box(16, 4, 16.3, 16), shapely.box(18, 6, 20, 8), shapely.box(11, 2, 12.2, 3.4),
        shapely.box(16.3, 12, 22.0, 12.2), shapely.box(23.3, 12, 24, 12.2),
    ]
)  # fmt: skip
GOALS = [
    GoalShape(shapely.box(0, 7, 1.5, 9)),
    GoalShape(shapely.box(22, 14, 24, 16)),
    GoalShape(shapely.Point(12, 12), 0.3),
]


def places(mesh, count, seed, radius, size=(24.0, 16.0)):
    """Return places with room for a radius, and their polygons."""
    rng, flood = np.random.default_rng(seed), make_flood(mesh.polygon_count)
    place = rng.uniform((0, 0), size, (4 * count, 2))
    polygon = np.empty(len(place), dtype=np.int64)
    locate_many(0, len(place), mesh, place, np.full(len(place), -1, dtype=np.int32), polygon)
    fits = [
        p >= 0 and wall_distance(mesh, p, x, y, radius, flood) >= radius
        for p, (x, y) in zip(polygon.tolist(), place.tolist(), strict=True)
    ]
    return place[fits][:count], polygon[fits][:count]


def ground(name):
    """Return a mesh, goals on it, and how large it is."""
    if name == "rooms":
        mesh = build_mesh(ROOMS).mesh
        return mesh, cut_goals(mesh, GOALS), (24.0, 16.0)
    world = build_world(load_scenario(SCENARIOS / f"{name}.yaml")).world
    return world.mesh, world.goals, np.ptp(world.mesh.vertex[:, :2], axis=0)


@pytest.mark.parametrize("radius", [0.2, 0.5])
@pytest.mark.parametrize("name", ["rooms", "two-storeys", "bridge"])
def test_lengths_are_those_of_the_twin(name, radius):
    mesh, goals, size = ground(name)
    points, laid = lay_points(mesh, radius), naive.lay(mesh, radius)
    assert sorted(laid) == points.edge.tolist()
    flat = np.array([place for edge in sorted(laid) for place in laid[edge]]).reshape(-1, 2)
    assert np.allclose(points.place, flat, atol=1e-9)
    place, polygon = places(mesh, 25, 3, 0.25, size)
    numbers = np.arange(min(3, len(goals.reach)))
    lengths = np.empty((len(numbers), len(flat)))
    for goal in numbers.tolist():
        spread_lengths(mesh, goals, goal, points, lengths[goal])
    found = np.empty((len(place), len(numbers)))
    lengths_from(
        0, len(place), np.arange(len(place)), np.full(len(place), -1), mesh, goals, numbers, points, lengths,
        polygon, place, found,
    )  # fmt: skip
    one, which = np.empty_like(found), np.arange(len(place)) % len(numbers)
    lengths_from(
        0, len(place), np.arange(len(place)), which, mesh, goals, numbers, points, lengths, polygon,
        place, one,
    )  # fmt: skip
    assert np.array_equal(one[np.arange(len(place)), which], found[np.arange(len(place)), which])
    assert np.isinf(np.delete(one[0], which[0])).all()
    for goal in numbers.tolist():
        least = naive.spread(mesh, goals, goal, laid, radius)
        nodes = [(edge, number) for edge in sorted(laid) for number in range(len(laid[edge]))]
        assert np.allclose(lengths[goal], [least.get(node, np.inf) for node in nodes], rtol=1e-9)
        wanted = [
            naive.length_from(mesh, goals, goal, laid, least, p, x, y)
            for p, (x, y) in zip(polygon.tolist(), place.tolist(), strict=True)
        ]
        assert np.allclose(found[:, goal], wanted, rtol=1e-9)
    assert np.isfinite(found).any()


@pytest.mark.parametrize("radius", [0.2, 0.35, 0.6])
def test_lengths_are_those_of_the_paths_that_a_planner_finds(radius):
    mesh, goals, _ = ground("rooms")
    place, polygon = places(mesh, 150, 5, radius)
    count = len(place)
    lengths = GoalLengths(mesh, goals, [0, 1, 2])
    found = lengths.of(Team(), polygon, place, np.full(count, radius))
    for goal in range(3):
        asked = Asked(
            mesh, goals, place, polygon, np.full(count, goal, dtype=np.int32), np.full(count, radius)
        )
        paths = FoundCorridors(usual_planner(mesh, goals), asked)
        length = paths.lengths()
        has_path = np.isfinite(found[:, goal])
        if goal == 0:  # agents of 0.6 m do not get through the door to it
            assert has_path.all() == (radius < 0.5) and (paths.piece >= 0).all() == (radius < 0.5)
        assert (has_path >= (paths.piece >= 0)).all()
        both = has_path & (paths.piece >= 0)
        assert both.sum() > 20
        over = found[both, goal] - length[both]
        # of paths of up to 30 m; they turn round corners in arcs, which are longer than bends
        assert over.min() > -0.2 - radius and over.max() < 0.6
        assert abs(np.median(over)) < 0.05 + 0.5 * radius


def test_agents_of_many_widths_share_lengths_and_fit_through_what_they_fit_through():
    mesh, goals, _ = ground("rooms")
    place, polygon = places(mesh, 60, 8, 0.6)
    for radius in (0.49, 0.499, 0.501, 0.52):  # the doors are 1 m wide
        lengths = GoalLengths(mesh, goals, [0])
        found = lengths.of(Team(), polygon, place, np.full(len(place), radius))
        right = place[:, 0] > 8.3
        assert np.isfinite(found[right, 0]).all() == (radius < 0.5), radius
        assert np.isfinite(found[~right, 0]).all()
