"""Storeys and stairs in tiles: they cover the floors, join over the same seams as the mesh in one piece, and
answer as it does; what goes on one floor stays on all others.
"""

from dataclasses import replace

import numpy as np
import pytest
import shapely

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import FloorPlan, Join, Plane
from crowdsim.geometry.steps import at_once
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters
from crowdsim.navigation.mesh.floors import plates_of_floors
from crowdsim.navigation.mesh.mesh import locate, make_flood, wall_distance
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.navigation.search.slot_fields import FOUND, UNREACHABLE
from crowdsim.navigation.tiles import handles
from crowdsim.navigation.tiles.bits import bits_of_plate
from crowdsim.navigation.tiles.make import build_tiled_plates
from crowdsim.navigation.tiles.numbers import TileNumbers, numbers_over
from crowdsim.navigation.tiles.plates import cut_plates
from crowdsim.navigation.tiles.rebuild import TileRebuilder, differences
from crowdsim.navigation.tiles.tiled_mesh import TiledMesh
from crowdsim.saved import SavedError
from crowdsim.scenario.geometry import joins_of
from crowdsim.scenario.load import load_scenario
from crowdsim.setup.tiled_ground import plates_of, tile_numbers
from tests.crowds import ROOT
from tests.navigation.floors import two_storeys
from tests.navigation.houses import Spot, random_house, spots, tiled_mesh, whole_mesh
from tests.navigation.worlds import UTM, OnePlanner

RADII = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.1)
SNAP_M = 1e-6  # Walls so near to a line of tiles end on it.
TIE_M = 1e-5
PARAMETERS = MeshParameters()


def house_of(seed):
    """Return a house; every third lies at map coordinates."""
    return random_house(seed, (0.0, 0.0) if seed % 3 else UTM)


def faces_of(seed):
    return "polygons" if seed % 2 else "triangles"


def areas_of(mesh, floors):
    """Return the area of the polygons of each floor."""
    found = np.zeros(floors)
    for polygon, (first, last) in enumerate(zip(mesh.polygon_start[:-1], mesh.polygon_start[1:])):
        corners = mesh.vertex[mesh.edge_vertex[first:last], :2]
        x, y = (corners - corners[0]).T
        found[mesh.polygon_layer[polygon]] += 0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1))
    return found


def parts_of(mesh):
    """Return how many connected parts there are but for the polygon that stands for no ground."""
    return len(set(mesh.polygon_part[:-1].tolist()))


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [0.9, 4.0])
@pytest.mark.parametrize("seed", range(8))
def test_tiles_cover_each_floor_and_join_what_the_whole_mesh_joins(seed, size):
    house = house_of(seed)
    whole = whole_mesh(house, faces=faces_of(seed))
    tiles = tiled_mesh(house, size, faces=faces_of(seed))
    mesh = tiles.mesh
    areas = areas_of(mesh, len(house.floors))
    areas[0] -= 0.5  # of the polygon that stands for no ground
    for area, floor in zip(areas, house.floors, strict=True):
        assert area == pytest.approx(floor.ground.area, abs=2.0 * SNAP_M * floor.ground.length)
    assert parts_of(mesh) == len(set(whole.polygon_part.tolist()))
    is_open = (mesh.edge_twin < 0) & (mesh.edge_wall < 0)
    assert set(mesh.edge_polygon[is_open]) == {tiles.nowhere}  # everything else has a neighbour or a wall
    flood, other = make_flood(mesh.polygon_count), make_flood(whole.polygon_count)
    for x, y, layer, _ in spots(house, whole, 40, np.random.default_rng(seed)):
        here, there = locate(mesh, x, y, layer), locate(whole, x, y, layer)
        assert mesh.polygon_slope[here] == pytest.approx(whole.polygon_slope[there], abs=1e-8)
        assert wall_distance(mesh, here, x, y, 3.0, flood) == pytest.approx(
            wall_distance(whole, there, x, y, 3.0, other), abs=3e-6
        )


def check_reach(seed, sizes, count=12):
    """Assert that agents of any radius have a path on tiles exactly if they have one on the whole mesh;
    return how many had, and how many had not.
    """
    house, rng = house_of(seed), np.random.default_rng(seed)
    whole = OnePlanner(whole_mesh(house, faces=faces_of(seed)))
    places = spots(house, whole.mesh, 2 * count, rng)
    outcomes = [0, 0]

    def status(planner, a, b, radius):
        goals = cut_goals(planner.mesh, [GoalShape(shapely.Point(b.x, b.y), layer=b.layer)])
        return planner.search((a.x, a.y), goals, radius, polygon=locate(planner.mesh, a.x, a.y, a.layer))

    for size in sizes:
        tiled = OnePlanner(tiled_mesh(house, size, faces=faces_of(seed)).mesh)
        for a, b in zip(places[::2], places[1::2], strict=True):
            for radius in RADII:
                if min(a.wall, b.wall) < radius + 1e-4:
                    continue
                one, many = status(whole, a, b, radius), status(tiled, a, b, radius)
                if one != many:
                    assert status(whole, a, b, radius - TIE_M) != status(whole, a, b, radius + TIE_M), (
                        f"house {seed}, tiles of {size} m, radius {radius}: from {a} to {b}: {many}, not "
                        f"{one}"
                    )
                outcomes[one != FOUND] += 1
    return outcomes


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [*range(3), 90, 95])
def test_a_path_exists_on_tiled_floors_exactly_if_it_does_on_the_whole_mesh(seed):
    assert check_reach(seed, (0.875, 4.0))[0] > 20


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 160))
def test_thousands_of_paths_exist_on_tiled_floors_exactly_if_they_do_on_the_whole_mesh(seed):
    check_reach(seed, (0.875, 2.0, 4.0, 7.25, 16.0), 20)


def test_paths_both_found_and_not_found_were_compared():
    assert min(np.sum([check_reach(seed, (4.0,)) for seed in range(4, 7)], axis=0)) > 3


def corridors_between(mesh, pairs, radius, kind):
    """Return paths of agents, from each first spot to each second, and what was asked."""
    shapes = [GoalShape(shapely.Point(b.x, b.y), layer=b.layer) for _, b in pairs]
    goals = cut_goals(mesh, shapes)
    asked = Asked(
        mesh,
        goals,
        np.array([[a.x, a.y] for a, _ in pairs]),
        np.array([locate(mesh, a.x, a.y, a.layer) for a, _ in pairs]),
        np.arange(len(pairs), dtype=np.int32),
        np.full(len(pairs), radius),
    )
    return FoundCorridors(MeshPlanner(mesh, goals, kind=kind), asked), asked


@pytest.mark.sample(2)
# lines at these coordinates are numbers that plans have: no wall is moved onto them
@pytest.mark.parametrize("size", [0.875, 4.0, 7.25])
@pytest.mark.parametrize("seed", range(1, 5))
def test_optimal_paths_over_tiled_floors_are_as_long_as_on_the_whole_mesh(seed, size):
    house, rng = random_house(seed), np.random.default_rng(seed)
    whole = whole_mesh(house)
    places = spots(house, whole, 40, rng)
    lengths = []
    for mesh in (whole, tiled_mesh(house, size).mesh):
        found, asked = corridors_between(mesh, list(zip(places[::2], places[1::2])), 0.0, "optimal")
        out = np.empty(len(asked.goal))
        measure_corridors(
            mesh, asked.goals, found._portals, found._start, found._size, asked.polygon, found.piece,
            asked.position, asked.radius, out,
        )  # fmt: skip
        lengths.append(out)
    assert (
        np.array_equal(np.isfinite(lengths[0]), np.isfinite(lengths[1])) and np.isfinite(lengths[0]).sum() > 5
    )
    is_found = np.isfinite(lengths[0])
    assert lengths[1][is_found] == pytest.approx(lengths[0][is_found], rel=1e-9)


@pytest.mark.parametrize("size", [4.5, 0.9, 16.0])
def test_a_gap_between_a_corner_of_a_seam_and_a_wall_stops_agents_too_wide_for_it(size):
    """The corner of the well is 1.4 m from the box, and a line of tiles crosses the seam between them."""
    floors = [
        FloorPlan("low", shapely.box(0, 0, 10, 1), Plane((0, 0, 0))),
        FloorPlan(
            "high",
            shapely.box(0, 1, 10, 10) - shapely.box(4, 1, 7, 5) - shapely.box(5, 6, 9, 7),
            Plane((0, 0, 3)),
        ),
        FloorPlan("stair", shapely.box(4, 1, 7, 5), Plane((4, 1, 0), (0.0, 0.75))),
    ]
    joins = [Join((0, 2), ((4, 1), (7, 1)), 0.0), Join((1, 2), ((4, 5), (7, 5)), 3.0)]
    numbers = numbers_over([floor.ground for floor in floors], size)
    tiles = build_tiled_plates(
        plates_of_floors(floors, joins), numbers, parameters=PARAMETERS, wall_reach=4.0
    )
    planner = OnePlanner(tiles.mesh)
    goals = cut_goals(tiles.mesh, [GoalShape(shapely.Point(5.5, 3.0), layer=2)])
    for radius, expected in ((0.5 * 2**0.5, FOUND), (0.5 * 2**0.5 + 1e-6, UNREACHABLE)):
        polygon = locate(tiles.mesh, 2.0, 7.0, 1)
        # from the right the box leaves 1 m
        assert planner.search((2.0, 7.0), goals, radius, polygon=polygon) == expected


def walls_of(house):
    """Return the walls of each floor."""
    joins = joins_of(house.floors)
    return [
        floor.ground.boundary
        - shapely.union_all(
            [shapely.LineString(each.line).buffer(2e-5) for each in joins if layer in each.floors]
        )
        for layer, floor in enumerate(house.floors)
    ]


def check_clear(house, size, pairs, radius, kind, drawn=0.02):
    """Assert that paths over tiles keep their radius from the walls of the floors that they are on;
    return their lengths, and those on the whole mesh.
    """
    walls, lengths = walls_of(house), []
    for mesh in (whole_mesh(house), tiled_mesh(house, size).mesh):
        found, _ = corridors_between(mesh, pairs, radius, kind)
        lengths.append(found.lengths())
        for row, layer, line in found.lines():
            # arcs are drawn as chords, which cut some of the radius off
            away = shapely.LineString(line).distance(walls[layer])
            assert away > radius - drawn * radius - 2e-3, (pairs[row], layer, away)
    is_found = np.isfinite(lengths[0])
    return lengths[1][is_found], lengths[0][is_found]


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["mesh", "optimal"])
@pytest.mark.parametrize("size", [0.9, 4.0])
@pytest.mark.parametrize(
    "seed", [*range(1, 4), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(4, 60))]
)
def test_paths_over_tiled_floors_keep_clear_of_the_walls_of_the_floors_that_they_are_on(seed, size, kind):
    house, rng = random_house(seed), np.random.default_rng(seed)
    places = spots(house, whole_mesh(house), 40, rng)
    for radius in (0.2, 0.35):
        pairs = [(a, b) for a, b in zip(places[::2], places[1::2]) if min(a.wall, b.wall) > radius + 1e-3]
        many, one = check_clear(house, size, pairs, radius, kind)
        assert not len(one) or np.mean(many / one) == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("kind", ["mesh", "optimal"])
def test_a_path_from_a_bridge_down_the_ramp_beside_it_heeds_no_wall_of_the_bridge(kind):
    """The ramp runs along under the bridge that leads to its head: in plan the walls of both are one line."""
    house = load_scenario(ROOT / "scenarios" / "two-storeys.yaml").geometry
    above, below = Spot(10.044, 8.714, 2, 1.0), Spot(2.0, 7.0, 0, 2.0)
    assert [floor.name for floor in house.floors][:3] == ["ground", "landing", "upper"]
    for size in (2.0, 4.0, 7.3):
        tiles = tiled_mesh(house, size)
        # without the stair the ramp is the only path
        stair = [tile for tile in tiles.tiles() if tiles.numbers.layer_of(tile) == 5]
        tiles.change(remove=stair)
        found, _ = corridors_between(tiles.mesh, [(above, below), (below, above)], 0.2, kind)
        down, up = found.lengths()
        assert down == pytest.approx(up, rel=0.02) and 57.0 < down < 58.0
        walls = walls_of(house)
        for _, layer, line in found.lines():
            assert shapely.LineString(line).distance(walls[layer]) > 0.2 - 0.006


def tiles_of(house, size=4.0, closed=()):
    return tiled_mesh(house, size, closed)


def seam_edges(mesh, one, other):
    """Return the length of the portals between two floors."""
    layer = mesh.polygon_layer[mesh.edge_polygon]
    portal = np.flatnonzero(mesh.edge_twin >= 0)
    own = portal[(layer[portal] == one) & (layer[mesh.edge_twin[portal]] == other)]
    return np.hypot(*(mesh.vertex[mesh.edge_end[own]] - mesh.vertex[mesh.edge_vertex[own]])[:, :2].T).sum()


def stair_in_tiles():
    """Return two storeys and a stair of 2 m from (10, 4..6) up to (14.8, 4..6), in tiles of 2.5 m: its foot
    lies on a line of tiles, and another one crosses foot and head.
    """
    floors, joins, _ = two_storeys()
    numbers = numbers_over([floor.ground for floor in floors], 2.5)
    return build_tiled_plates(plates_of_floors(floors, joins), numbers, parameters=PARAMETERS, wall_reach=4.0)


def test_a_seam_is_parted_where_a_tile_beside_it_is_out_and_joined_when_it_is_back():
    tiles = stair_in_tiles()
    whole = tiles.mesh
    assert seam_edges(whole, 0, 2) == pytest.approx(2.0) == seam_edges(whole, 1, 2)
    lower, upper = tiles.tile_at(9.9, 4.5, 0), tiles.tile_at(14.9, 5.5, 1)
    tiles.change(remove=[lower])
    assert seam_edges(tiles.mesh, 0, 2) == pytest.approx(1.0)  # from y = 5 on
    assert seam_edges(tiles.mesh, 1, 2) == pytest.approx(2.0)
    tiles.change(remove=[upper, tiles.tile_at(10.1, 4.5, 2)])
    assert seam_edges(tiles.mesh, 1, 2) == pytest.approx(1.0)
    is_open = (tiles.mesh.edge_twin < 0) & (tiles.mesh.edge_wall < 0)
    is_open[-3:] = False
    seam = tiles.mesh.portal_point[is_open]
    assert ((seam == (10.0, 5.5)) | (seam == (10.0, 4.5))).all(
        axis=1
    ).sum() == 0  # one side is there, or none
    assert ((seam[:, 0] > 14.7) & (seam[:, 1] == 5.5)).any()  # no wall: agents come up to it
    tiles.change(add=[lower, upper, tiles.tile_at(10.1, 4.5, 2)])
    assert all(np.array_equal(a, b) for a, b in zip(whole, tiles.mesh, strict=True))


def test_a_tile_that_is_taken_out_upstairs_takes_nothing_away_downstairs():
    tiles = stair_in_tiles()
    upper, lower = tiles.tile_at(27.0, 2.0, 1), tiles.tile_at(27.0, 2.0, 0)
    assert tiles.name_of(upper) == tiles.name_of(lower) == (10, 0) and upper != lower
    before = areas_of(tiles.mesh, 3)
    tiles.change(remove=[upper])
    after = areas_of(tiles.mesh, 3)
    assert after[[0, 2]] == pytest.approx(before[[0, 2]]) and after[1] == pytest.approx(before[1] - 2.5**2)
    assert locate(tiles.mesh, 27.0, 2.0, 1) == -1 and locate(tiles.mesh, 27.0, 2.0, 0) >= 0
    with pytest.raises(NavigationError, match=r"tile \(10, 0\) of floor 1 is not there"):
        tiles.change(remove=[upper])


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_after_any_changes_the_mesh_of_floors_is_that_of_the_tiles_that_are_there(seed):
    rng, house = np.random.default_rng(seed), random_house(seed)
    tiles, fresh = tiled_mesh(house, 4.0), tiled_mesh(house, 4.0)
    every = tiles.tiles()
    for _ in range(8):
        there = tiles.tiles()
        gone = rng.choice(there, size=min(len(there) - 1, int(rng.integers(6))), replace=False).tolist()
        missing = [tile for tile in every if tile not in there]
        back = missing[: int(rng.integers(len(missing) + 1))]
        before = tiles.handles_of(np.arange(tiles.mesh.polygon_count - 1))
        now = tiles.change(remove=gone, add=back)
        once = TiledMesh({tile: fresh.content(tile) for tile in every}, tiles.numbers, 5.0, tiles.clearance)
        once.change(remove=set(every) - set(tiles.tiles()))
        assert all(np.array_equal(a, b) for a, b in zip(once.mesh, tiles.mesh, strict=True))
        assert all(np.array_equal(a, b) for a, b in zip(once.walls, tiles.walls, strict=True))
        stale = tiles.is_stale(before)
        assert np.array_equal(stale, np.isin(handles.tile_of(before), gone))
        assert np.array_equal(tiles.polygons_of(before)[~stale], now.polygon[:-1][~stale])
        own = tiles.handles_of(np.arange(tiles.mesh.polygon_count - 1))
        assert np.array_equal(tiles.numbers.layers(handles.tile_of(own)), tiles.mesh.polygon_layer[:-1])


def test_tiled_floors_are_saved_and_restored_from_nothing_with_handles_still_valid():
    tiles = tiled_mesh(random_house(2), 4.0)
    gone = tiles.tiles()[3::7]
    tiles.change(remove=gone)
    tiles.change(add=gone[:1])
    tiles.set_areas(tiles.handles_of(np.arange(5)), 9)
    own = tiles.handles_of(np.arange(tiles.mesh.polygon_count - 1))
    state = tiles.state(whole=True)
    copy = TiledMesh.from_state(state)
    assert all(np.array_equal(a, b) for a, b in zip(copy.mesh, tiles.mesh, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(copy.walls, tiles.walls, strict=True))
    assert np.array_equal(copy.polygons_of(own), tiles.polygons_of(own)) and copy.numbers == tiles.numbers
    again = tiled_mesh(random_house(2), 4.0)
    again.restore(tiles.state())
    assert all(np.array_equal(a, b) for a, b in zip(again.mesh, tiles.mesh, strict=True))
    with pytest.raises(SavedError, match="floors"):
        tiled_mesh(random_house(1), 4.0).restore(tiles.state())
    for name, wrong in (
        ("floors", np.zeros((0, 4), dtype=np.int64)),
        ("tiles.vertex_height", np.full_like(state["tiles.vertex_height"], np.nan)),
        ("tiles.polygon_slope", np.full_like(state["tiles.polygon_slope"], 1e6)),
        ("tiles.vertex_sheet", np.full_like(state["tiles.vertex_sheet"], -1)),
    ):
        with pytest.raises(SavedError, match=r"floors|tiles"):
            TiledMesh.from_state(state | {name: wrong})


def door_in(house, layer, rng):
    """Return a box on a storey that no stair comes near to."""
    lines = [shapely.LineString(join.line) for join in joins_of(house.floors) if layer in join.floors]
    while True:
        x, y = rng.uniform((1, 1), (17, 12))
        door = shapely.box(x, y, x + 1.3, y + 0.9)
        if house.floors[layer].ground.intersection(door).area > 0.5 and all(
            line.distance(door) > 0.1 for line in lines
        ):
            return door


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_where_a_door_closes_on_a_floor_only_tiles_of_that_floor_are_made_anew(seed):
    house, rng = random_house(seed), np.random.default_rng(seed)
    tiles = tiled_mesh(house, 4.0)
    rebuilder = TileRebuilder(tiles.numbers, PARAMETERS)
    assert differences(tiles, rebuilder.tiles_of(plates_of(house, {}, PARAMETERS))) == ([], {})
    for _ in range(3):
        layer = int(rng.integers(sum(floor.flight is None for floor in house.floors)))
        closed = [(layer, door_in(house, layer, rng))]
        built = rebuilder.built_count
        wanted = rebuilder.tiles_of(plates_of(house, {}, PARAMETERS, closed))
        own = int((tiles.numbers.layers(np.array(tiles.tiles())) == layer).sum())
        assert 0 < rebuilder.built_count - built <= own
        gone, come = differences(tiles, wanted)
        assert set(tiles.numbers.layers(np.array(sorted({*gone, *come}))).tolist()) == {layer}
        fresh = tiled_mesh(house, 4.0, closed)
        assert sorted(wanted) == fresh.tiles() and all(
            wanted[tile].same_as(fresh.content(tile)) for tile in wanted
        )
        tiles.change(remove=gone, add=come)
        assert areas_of(tiles.mesh, len(house.floors))[layer] - (0.5 if layer == 0 else 0.0) == pytest.approx(
            (house.floors[layer].ground - closed[0][1]).area, abs=1e-4
        )
        gone, come = differences(tiles, rebuilder.tiles_of(plates_of(house, {}, PARAMETERS)))
        tiles.change(remove=gone, add=come)
    once = tiled_mesh(house, 4.0)
    assert all(np.array_equal(a, b) for a, b in zip(once.mesh, tiles.mesh, strict=True))


def test_whatever_a_tile_of_a_floor_is_made_from_changes_its_bits():
    house = random_house(1)
    numbers = tile_numbers(house, 4.0)
    cuts, _ = at_once(cut_plates(plates_of(house, {}, PARAMETERS), numbers, PARAMETERS))
    for cut in cuts:
        bits = bits_of_plate(cut)
        (point, (number, height)), *_ = sorted(cut.corners.items())
        others = [
            replace(cut, plate=replace(cut.plate, plane=Plane((0.0, 0.0, 7.0)))),
            replace(cut, plate=replace(cut.plate, pace=(0.3, 0.4))),
            replace(cut, plate=replace(cut.plate, sheet=99)),
        ]
        for other in others:
            assert all(bits_of_plate(other)[tile] != bits[tile] for tile in bits)
        moved = bits_of_plate(replace(cut, corners={**cut.corners, point: (number, height + 0.1)}))
        changed = {tile for tile in bits if moved[tile] != bits[tile]}
        place = tuple(int(each // 4.0) for each in point)
        assert changed and all(
            max(abs(a - b) for a, b in zip(numbers.place(tile), place, strict=True)) <= 1 for tile in changed
        )


def test_numbers_go_floor_by_floor_and_row_by_row():
    numbers = TileNumbers(4.0, ((0, 0), (-2, 1), (3, 3)), ((3, 2), (2, 2), (1, 1)), ("low", "high", "stair"))
    names = [
        (layer, *numbers.place(tile)) for tile in range(numbers.count) for layer in [numbers.layer_of(tile)]
    ]
    assert names == [
        (0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 0, 1), (0, 1, 1), (0, 2, 1),
        (1, -2, 1), (1, -1, 1), (1, -2, 2), (1, -1, 2), (2, 3, 3),
    ]  # fmt: skip
    assert [numbers.number(column, row, layer) for layer, column, row in names] == list(range(11))
    for wrong in ((3, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, 3), (0, 0, -1)):
        assert numbers.number(*wrong) == -1
    assert numbers.text(7) == 'tile (-1, 1) of "high"' and "(-2, 1) to (-1, 2)" in numbers.extent_text(1)
    with pytest.raises(NavigationError, match="make them larger"):
        numbers_over([shapely.box(0, 0, 900, 900)] * 2, 1.0)
    assert numbers_over([shapely.box(0, 0, 8 + 1e-7, 8), shapely.box(-1e-7, 3, 4, 4)], 4.0).shape == (
        (2, 2),
        (1, 1),
    )
