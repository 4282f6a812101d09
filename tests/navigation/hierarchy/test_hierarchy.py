"""Paths that are searched for over areas first: they can be walked, are found where any are, and are hardly
longer than the shortest.
"""

import functools
import itertools

import numpy as np
import pytest
import shapely

from crowdsim.geometry.made_city import make_city
from crowdsim.kernels import disk_cache
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.hierarchy import planner as planner_module
from crowdsim.navigation.hierarchy.areas import find_areas, find_centres
from crowdsim.navigation.hierarchy.known import KnownCosts
from crowdsim.navigation.hierarchy.nodes import place_nodes
from crowdsim.navigation.hierarchy.planner import MOST_POINTS, HierarchicalPlanner, spacing
from crowdsim.navigation.hierarchy.search import AREAS, MOST_COST
from crowdsim.navigation.hierarchy.straight import cross_straight
from crowdsim.navigation.hierarchy.widths import WIDTH_STEP_M, classes_of
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import ALL, Asked
from crowdsim.navigation.search.portal_points import place_points
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.navigation.search.slot_fields import BEST_TOTAL, FOUND, UNREACHABLE
from crowdsim.navigation.tiles.make import build_tiles
from crowdsim.saved import SavedError
from tests.navigation.worlds import free_points, located, pillar_hall, random_ground, rooms
from tests.reference.hierarchy import Twin, areas_of
from tests.reference.mesh import depth_in_polygon

ALONE = ShareParameters(share_searches=False)
POINTS_APART_M, NODES_APART_M = spacing(3.0)


def asked_on(mesh, ground, count, seed, radius, clearance=0.3):
    """Queries between random points, each with a goal of its own."""
    rng = np.random.default_rng(seed)
    points, _ = free_points(ground, clearance, 2 * count, rng)
    count = len(points) // 2
    goals = cut_goals(
        mesh, [GoalShape(shapely.Point(place), reach=0.2) for place in points[count : 2 * count]]
    )
    start = np.ascontiguousarray(points[:count])
    return Asked(
        mesh, goals, start, located(mesh, start), np.arange(count, dtype=np.int32), np.resize(radius, count)
    )


def answers_of(planner, asked, rows=slice(None)):
    """Answers in the order of the queries, and expansions."""
    planner.submit(0, 1 + np.arange(len(asked.goal))[rows], *(each[rows] for each in asked[2:]))
    return planner.advance(ALL, Team(1))


def assert_walkable(asked, answers):
    """Assert that corridors lead from portal to portal, from the start into the polygon of their piece."""
    mesh = asked.mesh
    for number, row in enumerate((answers.entity - 1).tolist()):
        here = asked.polygon[row]
        for edge in answers.portals[answers.start[number] : answers.start[number + 1]][::-1].tolist():
            assert mesh.edge_polygon[edge] == here and mesh.edge_twin[edge] >= 0
            assert mesh.edge_width[edge] >= 2.0 * asked.radius[row]
            here = mesh.edge_polygon[mesh.edge_twin[edge]]
        if answers.status[number] == FOUND:
            assert here == asked.goals.piece_polygon[answers.piece[number]]
            assert asked.goals.goal_start[asked.goal[row]] <= answers.piece[number]
            assert answers.piece[number] < asked.goals.goal_start[asked.goal[row] + 1]


@pytest.mark.parametrize("seed", range(4))
def test_areas_are_what_one_gets_to_within_a_square(seed):
    mesh = build_mesh(random_ground(seed)).mesh
    area, expected = find_areas(mesh, 3.0), areas_of(mesh, 3.0)
    lowest = np.array([np.flatnonzero(area == each)[0] for each in area])
    assert lowest.tolist() == expected
    assert area[np.sort(np.unique(lowest))].tolist() == list(range(area.max() + 1))


def test_each_node_has_one_at_its_place_that_leads_back():
    mesh = build_mesh(rooms(2)).mesh
    nodes = place_nodes(
        mesh, place_points(mesh, POINTS_APART_M, MOST_POINTS), find_areas(mesh, 3.0), NODES_APART_M
    )
    back = nodes.twin[nodes.twin]
    assert len(back) > 40 and np.array_equal(back, np.arange(len(back)))
    assert np.array_equal(nodes.place, nodes.place[nodes.twin])
    assert np.array_equal(nodes.enters, nodes.leaves[nodes.twin]) and np.all(nodes.enters != nodes.leaves)
    for area in range(nodes.area_count):
        assert np.all(nodes.leaves[nodes.start[area] : nodes.start[area + 1]] == area)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(8))
def test_what_a_path_over_areas_costs_is_what_the_definition_says(seed):
    ground = (random_ground, rooms)[seed % 2](seed)
    mesh = build_mesh(ground).mesh
    asked = asked_on(mesh, ground, 6, seed, WIDTH_STEP_M)
    seen = 0
    for row in range(len(asked.goal)):
        planner = HierarchicalPlanner(mesh, asked.goals, ALONE, 3.0)
        answers_of(planner, asked, slice(row, row + 1))
        twin = Twin(
            mesh, asked.goals, row, 2.0 * WIDTH_STEP_M, 3.0, POINTS_APART_M, MOST_POINTS, NODES_APART_M
        )
        goal_polygon = asked.goals.piece_polygon[asked.goals.goal_start[row]]
        if twin.area[goal_polygon] == twin.area[asked.polygon[row]]:
            continue
        seen += 1
        total = planner.searches._slots.measure[0, BEST_TOTAL]
        assert total == pytest.approx(twin.total(*asked.position[row], int(asked.polygon[row])), rel=1e-12)
    assert seen >= 3


@pytest.mark.sample(2)
@pytest.mark.parametrize("workspace", [2, 3, 4, 1000])
@pytest.mark.parametrize("seed", range(12))
def test_a_path_is_found_where_any_is_and_costs_hardly_more_than_over_areas(seed, workspace):
    ground = (random_ground, rooms, lambda k: pillar_hall(4 + k))[seed % 3](seed)
    mesh = build_mesh(ground).mesh
    asked = asked_on(mesh, ground, 80, seed, [0.1, 0.125, 0.17, 0.25, 0.4])
    planner = HierarchicalPlanner(mesh, asked.goals, ALONE, 3.0, workspace)
    answers, _ = answers_of(planner, asked)
    flat, _ = answers_of(MeshPlanner(mesh, asked.goals, ALONE), asked)
    assert np.array_equal(answers.entity, flat.entity) and np.array_equal(answers.status, flat.status)
    assert np.array_equal(answers.piece, flat.piece)  # there is one of each goal
    assert_walkable(asked, answers)
    found = answers.status == FOUND
    assert found.sum() > 20
    length = FoundCorridors(planner, asked).lengths()[found]
    shortest = FoundCorridors(MeshPlanner(mesh, asked.goals, ALONE, "optimal"), asked).lengths()[found]
    assert np.all(length >= shortest - 2e-2)  # bodies' shortest paths are that exact, see navigation.md
    # those that no gap keeps from where the layer of their width does not lead
    width = 2.0 * asked.radius[found]
    layer = planner.searches.widths[classes_of(planner.searches.widths, width)]
    gap = np.concatenate([mesh.edge_width, mesh.pair_width])
    is_exact = ~np.any((gap >= width[:, None]) & (gap < layer[:, None]), axis=1)
    assert is_exact.mean() > 0.7
    assert np.mean(length / shortest) < 1.01 and np.max((length / shortest)[is_exact]) < 1.2


def depth_in(mesh, polygon, places):
    """How deep points lie in polygons (m)."""
    return np.array([depth_in_polygon(mesh, int(p), *map(float, place)) for p, place in zip(polygon, places)])


@functools.cache
def town():
    city = make_city(1500.0, 4)
    return city.ground, build_tiles(city.ground, 125.0)[0].mesh


@functools.cache
def asked_in_town():
    """Return queries in the town, how long the shortest paths are, and what A* expands for all of them."""
    ground, mesh = town()
    asked = asked_on(mesh, ground, 250, 7, 0.2, clearance=0.5)
    flat, expansions = answers_of(MeshPlanner(mesh, asked.goals, ALONE), asked)
    assert np.all(flat.status == FOUND)
    shortest = FoundCorridors(MeshPlanner(mesh, asked.goals, ALONE, "optimal"), asked).lengths()
    return asked, shortest, expansions


@pytest.mark.parametrize("workspace", [2, 4, 1000])
def test_in_a_city_paths_are_hardly_longer_than_the_shortest(workspace):
    asked, shortest, all_expansions = asked_in_town()
    planner = HierarchicalPlanner(asked.mesh, asked.goals, ALONE, 125.0, workspace)
    answers, expansions = answers_of(planner, asked)
    assert np.all(answers.status == FOUND)
    assert_walkable(asked, answers)
    ratio = FoundCorridors(planner, asked).lengths() / shortest
    assert ratio.min() > 0.995 and ratio.mean() < 1.005 and ratio.max() < 1.05
    assert 3 * expansions < all_expansions  # 1 : 23 on 10 km, see benchmarks/hierarchy.py


def test_a_gap_that_the_graph_takes_for_too_narrow_is_found_on_the_ground():
    """Of gaps in 1/32 m the narrowest and the widest count, here those between pillars:
    an agent of 0.445 m is searched for as one of 0.465 m.
    """
    wall = shapely.box(13.4, 0.0, 13.6, 5.0) | shapely.box(13.4, 5.45, 13.6, 12.0)
    pillars = [shapely.box(x, y, x + 1.0, y + 1.0) for x, y in ((4, 4), (5.44, 4), (4, 8), (5.465, 8))]
    ground = shapely.box(0.0, 0.0, 27.0, 12.0) - shapely.union_all([wall, *pillars])
    mesh = build_tiles(ground, 3.0)[0].mesh
    goals = cut_goals(mesh, [GoalShape(shapely.Point(26.0, 11.0), reach=0.2)])
    for radius, status, is_over_areas in (
        (0.2, FOUND, True),
        (0.2225, FOUND, False),
        (0.23, UNREACHABLE, False),
    ):
        start = np.array([[1.0, 1.0]])
        one = np.zeros(1, dtype=np.int32)
        asked = Asked(mesh, goals, start, located(mesh, start), one, np.array([radius]))
        planner = HierarchicalPlanner(mesh, goals, ALONE, 3.0)
        answers, _ = answers_of(planner, asked)
        assert answers.status.tolist() == [status]
        assert (planner.searches._state[0, AREAS] > 0) == is_over_areas
        assert_walkable(asked, answers)


def test_the_straight_path_over_areas_bends_at_their_portals_only():
    """Any portals do: here those of a path up, and round a corner to the right."""
    mesh = build_mesh(shapely.box(0, 0, 2, 6) | shapely.box(0, 4, 8, 6)).mesh
    goals = cut_goals(mesh, [GoalShape(shapely.Point(7.5, 5.0), reach=0.2)])
    start = np.array([[1.0, 0.5]])
    found, _ = answers_of(
        MeshPlanner(mesh, goals, ALONE),
        Asked(mesh, goals, start, located(mesh, start), np.zeros(1, dtype=np.int32), np.array([0.1])),
    )
    edge = np.ascontiguousarray(found.portals[::-1])
    assert len(edge)
    crossing = np.full((len(edge), 2), np.nan)
    cross_straight(mesh, edge, len(edge), 0.0, 1.0, 0.5, 7.5, 5.0, crossing)
    places = [start[0], *crossing, np.array([7.5, 5.0])]
    length = sum(np.hypot(*(b - a)) for a, b in itertools.pairwise(places))
    corner = np.hypot(1.0, 3.5) + np.hypot(5.5, 1.0)
    assert length == pytest.approx(corner, rel=1e-9)


def test_a_path_costs_at_most_a_hundredth_more_than_over_areas():
    ground, mesh = town()
    asked = asked_on(mesh, ground, 60, 11, 0.125, clearance=0.5)
    planner = HierarchicalPlanner(mesh, asked.goals, ALONE, 125.0, 2)
    for row in range(len(asked.goal)):
        answers_of(planner, asked, slice(row, row + 1))
        over_areas = planner.searches._slots.measure[0, BEST_TOTAL]
        ground_cost = planner.searches._known_cost[0] + planner.searches._ground.measure[0, BEST_TOTAL]
        assert ground_cost <= MOST_COST * over_areas * (1.0 + 1e-12)


@pytest.fixture
def no_disk(monkeypatch):
    """Nothing that was measured comes from the disk cache."""
    monkeypatch.setattr(planner_module, "LEAST_KEPT_AREAS", 10**9)


def test_when_a_tile_changes_only_its_own_areas_are_measured_anew(monkeypatch, no_disk):
    ground, _ = town()
    tiles, _ = build_tiles(ground, 125.0)
    monkeypatch.setattr(planner_module, "KNOWN_COSTS", KnownCosts())

    def graph():
        planner = HierarchicalPlanner(tiles.mesh, cut_goals(tiles.mesh, []), ALONE, 125.0)
        planner.searches._make_layers(np.array([0.4, 0.6]))
        return planner.searches

    first, again = graph(), graph()
    # no gap is between 1/2 and 5/8 m wide, so that what paths cost is measured once for both
    assert first.measured == first.nodes.area_count and again.measured == 0
    assert np.array_equal(first._layers, again._layers) and len(first._layers) == 2
    out = tiles.tile_named(5, 5)
    tiles.change(remove=[out])
    changed = graph()
    # those of its neighbours have fewer nodes now: at most a few areas in each of four tiles
    assert 1 <= changed.measured <= 24 < first.nodes.area_count
    monkeypatch.setattr(planner_module, "KNOWN_COSTS", KnownCosts())
    anew = graph()
    assert anew.measured == anew.nodes.area_count
    assert np.array_equal(anew._layers, changed._layers)
    tiles.change(add=[out])
    back = graph()
    assert np.array_equal(back._layers, first._layers)


@pytest.mark.parametrize("seed", [1, 2])
def test_paths_over_centres_of_areas_are_found_by_a_smaller_graph(seed):
    ground, mesh = town()
    asked = asked_on(mesh, ground, 120, seed, 0.2, clearance=0.5)
    small, usual = (
        HierarchicalPlanner(mesh, asked.goals, ALONE, 125.0, nodes=nodes) for nodes in ("centres", "portals")
    )
    answers, _ = answers_of(small, asked)
    assert_walkable(asked, answers)
    assert np.all(answers.status == FOUND)
    nodes = small.searches.nodes
    assert 2 * len(nodes.point) < len(usual.searches.nodes.point)
    between = np.column_stack([nodes.leaves, nodes.enters])
    assert len(np.unique(between, axis=0)) == len(between)
    # what a path through an area costs leads over its centre, by Dijkstra's algorithm there and on
    middle, polygon = find_centres(mesh, nodes.area)
    assert np.array_equal(nodes.area[polygon], np.arange(nodes.area_count))
    assert np.all(depth_in(mesh, polygon, middle) > 0.0)
    answers_of(usual, asked)
    lengths = [FoundCorridors(planner, asked).lengths() for planner in (small, usual)]
    assert 1.0 < lengths[0].sum() / lengths[1].sum() < 1.2


@pytest.mark.parametrize("seed", range(4))
def test_over_a_centre_costs_are_those_to_it_and_from_it(seed):
    ground = (random_ground, rooms)[seed % 2](seed)
    mesh = build_mesh(ground).mesh
    searches = HierarchicalPlanner(mesh, cut_goals(mesh, []), ALONE, 3.0, nodes="centres").searches
    searches._make_layers(np.array([0.25]))
    middle, polygon = find_centres(mesh, searches.nodes.area)
    nodes, points, seen = searches.nodes, searches._points, 0
    for area in range(nodes.area_count):
        goals = cut_goals(mesh, [GoalShape(shapely.Point(middle[area]), reach=0.2)])
        twin = Twin(mesh, goals, 0, 0.25, 3.0, POINTS_APART_M, MOST_POINTS, NODES_APART_M)
        away = twin.within_goal()
        first, last = nodes.start[area], nodes.start[area + 1]
        costs = searches._layers[0][searches._start[area] : searches._start[area + 1]]
        costs = costs.reshape(last - first, last - first)
        for one, other in itertools.permutations(range(first, last), 2):
            # the ground is even: as far from the centre as to it
            both = sum(away.get(int(nodes.point[nodes.twin[each]]), np.inf) for each in (one, other))
            assert costs[other - first, one - first] == pytest.approx(both, rel=1e-12)
            seen += both < np.inf
    assert len(points.edge) and seen > 10 and len(polygon)


def test_what_is_known_gives_way_to_what_is_new():
    known = KnownCosts(most_bytes=3 * 8 * 10)
    for number in range(3):
        known[bytes([number])] = np.full(10, float(number))
    assert known[b"\x00"] is not None
    known[b"\x03"] = np.full(10, 3.0)
    assert known[b"\x01"] is None and known[b"\x00"][0] == 0.0 and known[b"\x03"][0] == 3.0


def test_what_is_known_is_saved_and_taken_back(tmp_path, monkeypatch, no_disk):
    _, mesh = town()

    def graph():
        planner = HierarchicalPlanner(mesh, cut_goals(mesh, []), ALONE, 125.0)
        planner.searches._make_layers(np.array([0.4]))
        return planner.searches

    monkeypatch.setattr(planner_module, "KNOWN_COSTS", KnownCosts())
    first = graph()
    np.savez(tmp_path / "town.npz", **planner_module.KNOWN_COSTS.as_arrays())
    monkeypatch.setattr(planner_module, "KNOWN_COSTS", KnownCosts())
    with np.load(tmp_path / "town.npz") as state:
        planner_module.KNOWN_COSTS.add_arrays(state)
    again = graph()
    assert first.measured > 100 and again.measured == 0
    assert np.array_equal(first._layers, again._layers)
    empty = KnownCosts()
    empty.add_arrays(KnownCosts().as_arrays())
    assert not empty.as_arrays()["size"].size


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("cost", np.array([-1.0, 1.0]), "cost"),
        ("cost", np.array([np.nan, 1.0]), "cost"),
        ("size", np.array([3]), "size"),
        ("key", np.zeros((1, 3), dtype=np.uint8), "key"),
    ],
)
def test_costs_that_cannot_be_are_refused(name, value, words):
    known = KnownCosts()
    known[bytes(16)] = np.array([0.0, np.inf])
    with pytest.raises(SavedError, match=words):
        KnownCosts().add_arrays({**known.as_arrays(), name: value})


@pytest.mark.parametrize("nodes", ["portals", "centres"])
def test_costs_of_large_ground_are_measured_once_and_lie_on_disk_for_the_next_process(
    nodes, monkeypatch, tmp_path
):
    ground, _ = town()
    tiles, _ = build_tiles(ground, 125.0)
    monkeypatch.setattr(disk_cache, "cache_directory", lambda: tmp_path)

    def graph(width):
        """As a new process makes it: it knows nothing."""
        monkeypatch.setattr(planner_module, "KNOWN_COSTS", KnownCosts())
        planner = HierarchicalPlanner(tiles.mesh, cut_goals(tiles.mesh, []), ALONE, 125.0, nodes=nodes)
        planner.searches._make_layers(np.array([width]))
        return planner.searches

    first, again = graph(0.4), graph(0.4)
    assert first.measured == first.nodes.area_count > planner_module.LEAST_KEPT_AREAS
    assert again.measured == 0 and np.array_equal(again._layers, first._layers)
    assert len(planner_module.KNOWN_COSTS.as_arrays()["size"]) > 0  # a tile that changes finds them
    (file,) = (tmp_path / "areas").glob("*.arrays")
    file.write_bytes(file.read_bytes()[:-100])
    spoilt = graph(0.4)
    assert spoilt.measured == first.measured and np.array_equal(spoilt._layers, first._layers)
    # over portals it counts which gaps agents pass, and here they pass the same
    assert graph(0.6).measured == (first.measured if nodes == "centres" else 0)
    assert graph(3.0).measured > 0
    tiles.change(remove=[tiles.tile_named(5, 5)])
    assert graph(0.4).measured > 0


@pytest.mark.parametrize("nodes", ["portals", "centres"])
def test_the_graph_of_a_mesh_that_is_on_the_disk_is_there_too_and_a_change_knows_its_costs(
    nodes, monkeypatch, tmp_path
):
    ground, _ = town()
    tiles, _ = build_tiles(ground, 125.0)
    monkeypatch.setattr(disk_cache, "cache_directory", lambda: tmp_path)

    def graph(width, key=b"of this town"):
        goals = cut_goals(tiles.mesh, [])
        planner = HierarchicalPlanner(tiles.mesh, goals, ALONE, 125.0, nodes=nodes, key=key)
        planner.searches._make_layers(np.array(width))
        return planner.searches

    def forget():
        monkeypatch.setattr(planner_module, "KNOWN_COSTS", KnownCosts())

    forget()
    fresh = graph([0.4, 0.6], b"")
    forget()
    first = graph([0.4, 0.6])
    forget()
    again = graph([0.4, 0.6])
    assert first.measured == fresh.measured > 0 and again.measured == 0
    for one in (first, again):
        assert np.array_equal(one._layers, fresh._layers)
        for of_one, of_fresh in ((one.nodes, fresh.nodes), (one._points, fresh._points)):
            assert all(np.array_equal(a, b) for a, b in zip(of_one, of_fresh, strict=True))
    assert graph([0.4]).measured == 0
    tiles.change(remove=[tiles.tile_named(5, 5)])
    changed = graph([0.4, 0.6], b"")
    assert 0 < changed.measured < 0.5 * first.measured
    forget()
    anew = graph([0.4, 0.6], b"")
    assert np.array_equal(anew._layers, changed._layers)


def test_costs_of_another_size_are_measured_anew(monkeypatch):
    mesh = build_mesh(rooms(2)).mesh
    monkeypatch.setattr(planner_module, "KNOWN_COSTS", KnownCosts())

    def layers():
        planner = HierarchicalPlanner(mesh, cut_goals(mesh, []), ALONE, 3.0)
        planner.searches._make_layers(np.array([0.25]))
        return planner.searches._layers

    first, state = layers(), planner_module.KNOWN_COSTS.as_arrays()
    wrong = {**state, "size": np.where(np.arange(len(state["size"])) == 0, len(state["cost"]), 0)}
    planner_module.KNOWN_COSTS = KnownCosts()
    planner_module.KNOWN_COSTS.add_arrays(wrong)
    assert np.array_equal(layers(), first)
