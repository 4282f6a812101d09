"""No search for a shortest path goes into a dead end, or bends where a shorter path has passed:
its path is the same as without these rules.
"""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.search.dead_ends import Regions, find_regions, mark_chains
from crowdsim.navigation.search.polyanya_slots import list_sides, measure_clear_round
from crowdsim.navigation.search.slot_fields import EXPANSIONS, FOUND
from tests.navigation.search.test_polyanya import Polyanya
from tests.navigation.worlds import free_points, pillar_hall, point_goals, random_ground, rooms
from tests.reference import dead_ends as twin

WORLDS = [(random_ground, 3), (random_ground, 12), (rooms, 2), (rooms, 5)]
TWO_GROUNDS = shapely.union_all([shapely.box(0, 0, 4, 4), shapely.box(6, 0, 9, 3)])


def comb(teeth):
    """A corridor with so many dead ends on its side, each with a room behind it that one can go round in."""
    parts = [shapely.box(0, 0, 4 * teeth + 2, 2)]
    for tooth in range(teeth):
        x = 4.0 * tooth + 1.0
        parts += [shapely.box(x, 2, x + 1, 4), shapely.box(x, 4, x + 3, 8) - shapely.box(x + 1, 5, x + 2, 7)]
    return shapely.union_all(parts)


@pytest.mark.parametrize(
    "ground", [*(make(seed) for make, seed in WORLDS), comb(3), TWO_GROUNDS], ids=lambda _: ""
)
def test_a_region_is_what_hangs_together_without_bridges(ground):
    mesh = build_mesh(ground).mesh
    regions, expected = find_regions(mesh), twin.regions(mesh)
    members = [frozenset(np.flatnonzero(regions.of_polygon == r).tolist()) for r in range(len(regions.above))]
    assert [members[r] for r in regions.of_polygon] == expected
    over = {
        (int(regions.of_polygon[mesh.edge_polygon[a]]), int(regions.of_polygon[mesh.edge_polygon[b]]))
        for a, b in enumerate(mesh.edge_twin)
        if b >= 0
    }
    for region, above in enumerate(regions.above.tolist()):
        assert above == -1 or (above > region and (region, above) in over)
    parts = len({frozenset(twin.flood(mesh, p, lambda *_: False)) for p in range(mesh.polygon_count)})
    assert np.count_nonzero(regions.above == -1) == parts


@pytest.mark.parametrize("ground", [rooms(2), random_ground(12), comb(3), TWO_GROUNDS], ids=lambda _: "")
def test_regions_are_open_that_lie_between_the_start_and_some_piece_of_the_goal(ground):
    mesh = build_mesh(ground).mesh
    regions, rng = find_regions(mesh), np.random.default_rng(4)
    points, _ = free_points(ground, 0.0, 60, rng)
    stamp, closed = np.zeros((2, len(regions.above)), dtype=np.int64), 0
    whole = {p: twin.flood(mesh, p, lambda *_: False) for p in range(mesh.polygon_count)}
    for generation in range(1, 16):
        start, *ends = rng.integers(0, mesh.polygon_count, 1 + generation % 4).tolist()
        goals = cut_goals(mesh, [GoalShape(shapely.MultiPoint(points[: len(ends) or 1]))])
        goals = goals._replace(piece_polygon=np.array(ends or [start], dtype=np.int32))
        goals = goals._replace(goal_start=np.array([0, len(goals.piece_polygon)], dtype=np.int32))
        mark_chains.py_func(regions, stamp, generation, 1, start, goals, 0)
        is_exact = whole[start].issuperset(ends)  # else more is open than need be
        for region in range(len(regions.above)):
            polygons = set(np.flatnonzero(regions.of_polygon == region).tolist())
            is_open = bool(stamp[1, region] == generation)
            if twin.on_chain(mesh, polygons, start, ends or [start]):
                assert is_open
            elif is_exact:
                assert not is_open
                closed += 1
    assert closed > 0
    assert not stamp[0].any()


def without_rules(world):
    """Let the searches of a world go everywhere: all ground is one region, and no path passes a corner."""
    mesh = world.mesh
    one = Regions(np.zeros(mesh.polygon_count, dtype=np.int32), np.full(1, -1, dtype=np.int32))
    world.slots = world.slots._replace(
        regions=one, sides=list_sides(mesh, one), clear_round=np.full(len(mesh.vertex), -1.0)
    )
    return world


@pytest.mark.parametrize("radius", [0.0, 0.1, 0.3])
@pytest.mark.parametrize(
    "make, seed", [*WORLDS, (comb, 4), (pillar_hall, 5)], ids=lambda value: getattr(value, "__name__", value)
)
def test_paths_are_the_same_and_cost_no_more(make, seed, radius):
    ground = make(seed)
    points, _ = free_points(ground, radius, 40, np.random.default_rng(seed))
    short, full = Polyanya(ground), without_rules(Polyanya(ground, capacity=1 << 14))
    goals, cost = point_goals(short.mesh, points), np.zeros(2, dtype=np.int64)
    for k in range(1, len(points)):
        for is_shared in (0, 1):
            # a tree serves the goal of the one before as well
            goal = 0 if is_shared else k - 1
            found = [
                world.search(points[k], goals, radius, goal=goal, is_shared=is_shared)
                for world in (short, full)
            ]
            assert found[0] == found[1]
            if found[0][0] == FOUND:
                assert np.array_equal(short.corridor(is_shared)[0], full.corridor(is_shared)[0])
            if not is_shared:
                cost += [world.slots.header[0, EXPANSIONS] for world in (short, full)]
    assert cost[0] <= cost[1]


def test_rooms_behind_a_dead_end_cost_nothing():
    ground = comb(6)
    world = Polyanya(ground)
    goals = point_goals(world.mesh, [(25.0, 1.0), (22.0, 7.5)])
    assert world.search((0.5, 1.5), goals, 0.2, goal=0)[0] == FOUND
    expansions, regions = int(world.slots.header[0, EXPANSIONS]), world.slots.regions
    # what is open is the corridor alone
    is_open = world.slots.is_open[0] == world.slots.is_open[0].max()
    heights = [
        world.mesh.vertex[world.mesh.edge_vertex[e], 1]
        for e in range(world.mesh.edge_count)
        if is_open[regions.of_polygon[world.mesh.edge_polygon[e]]]
    ]
    assert max(heights) <= 2.0 and expansions <= 30
    # the last room is open for an agent that goes there
    status, total = world.search((0.5, 1.5), goals, 0.0, goal=1)
    assert status == FOUND and total > np.hypot(21.5, 6.0)


def test_a_path_on_the_other_side_of_a_corner_prunes_only_where_the_agent_can_go_round():
    """Both ends of a wall in a room: how far other walls are from them is known to be a metre at least, and
    not more than it is.
    """
    ground = shapely.box(0, 0, 10, 8) - shapely.box(4, 3, 6, 5)
    mesh = build_mesh(ground).mesh
    clear, walls = measure_clear_round(mesh), mesh.edge_twin < 0
    for vertex, (x, y) in enumerate(mesh.vertex[:, :2].tolist()):
        others = walls & (mesh.edge_vertex != vertex) & (mesh.edge_end != vertex)
        lines = shapely.linestrings(
            np.stack(
                [mesh.vertex[mesh.edge_vertex[others], :2], mesh.vertex[mesh.edge_end[others], :2]], axis=1
            )
        )
        assert 1.0 <= clear[vertex] <= shapely.distance(lines, shapely.Point(x, y)).min() + 1e-12


def test_no_agent_goes_round_a_vertex_at_which_two_walls_touch():
    """Two pillars that touch at a corner: ground on either side of it, and no way between."""
    ground = shapely.box(0, 0, 10, 10) - shapely.box(3, 3, 5, 5) - shapely.box(5, 5, 7, 7)
    mesh = build_mesh(ground).mesh
    (touch,) = np.flatnonzero((mesh.vertex[:, :2] == 5.0).all(axis=1)).tolist()
    clear = measure_clear_round(mesh)
    assert clear[touch] == -1.0 and (np.delete(clear, touch) > 0.0).all()
