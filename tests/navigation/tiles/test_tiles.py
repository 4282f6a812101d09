"""A mesh in tiles answers like the mesh in one piece, whatever tiles were taken out and put back before;
stale handles are found out.
"""

import numpy as np
import pytest
import shapely
from shapely import affinity

from crowdsim.errors import NavigationError
from crowdsim.geometry.made_city import make_city
from crowdsim.geometry.steps import at_once
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.mesh.mesh import NavMesh, locate, make_flood, wall_distance
from crowdsim.navigation.search.slot_fields import FOUND, UNREACHABLE
from crowdsim.navigation.tiles import cut, handles
from crowdsim.navigation.tiles.build import build_tile, tile_steps
from crowdsim.navigation.tiles.make import build_tiles
from crowdsim.navigation.tiles.tiled_mesh import CLOSED, TiledMesh
from tests.navigation.worlds import (
    SIZE,
    UTM,
    OnePlanner,
    free_points,
    outlines,
    pillar_hall,
    random_ground,
    rooms,
)
from tests.reference.handles import find_polygon

RADII = (0.0, 0.1, 0.2, 0.35, 0.7)
TIE_M = 1e-5  # Ends of walls are moved onto lines of tiles by up to a micrometre.


def tiled(ground, size, **parameters):
    """Return the tiled mesh of some ground."""
    return build_tiles(ground, size, parameters=MeshParameters(**parameters))[0]


def same(a: NavMesh, b: NavMesh) -> bool:
    """Return whether two meshes are equal to the last bit."""
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def check_reach(ground, size, seed, cells="polygons", radii=RADII, pairs=3):
    """Assert that an agent of any radius has a path on the tiles exactly if it has one on the whole mesh;
    return how many paths there were.
    """
    one, many = (
        OnePlanner(build_mesh(ground, parameters=MeshParameters(faces=cells)).mesh),
        OnePlanner(tiled(ground, size, faces=cells).mesh),
    )
    rng = np.random.default_rng(seed)
    found = 0
    for radius in radii:
        points, _ = free_points(ground, radius, 2 * pairs, rng)
        for k in range(0, len(points) - 1, 2):
            a, b = points[k], points[k + 1]
            status, path, _, _ = many.path(a, b, radius)
            expected = one.path(a, b, radius)[0]
            if status != expected:
                assert one.path(a, b, radius - TIE_M)[0] != one.path(a, b, radius + TIE_M)[0], (
                    f"radius {radius}: from {a} to {b}: {status}, not {expected}"
                )
            if status == FOUND:
                found += 1
                assert shapely.difference(shapely.LineString(path), ground).length <= 1e-6 or radius > 0.0
    return found


@pytest.mark.sample(1)
@pytest.mark.parametrize("size", [1.0, 3.0, 4.7])
@pytest.mark.parametrize("cells", ["polygons", "triangles"])
@pytest.mark.parametrize("seeds, least", [(range(2), 13), pytest.param(range(6), 40, marks=pytest.mark.full)])
def test_a_path_exists_on_tiles_exactly_if_it_does_on_the_whole_mesh(size, cells, seeds, least):
    assert sum(check_reach(random_ground(seed), size, seed, cells) for seed in seeds) > least


@pytest.mark.full
@pytest.mark.parametrize("block", range(20))
def test_thousands_of_paths_exist_on_tiles_exactly_if_they_do_on_the_whole_mesh(block):
    for seed in range(20 * block, 20 * block + 20):
        for size in (0.9, 2.0, 3.0, 4.7):
            check_reach(random_ground(seed), size, seed, pairs=6)


@pytest.mark.parametrize("seed", range(2))
def test_tiles_are_exact_at_map_coordinates(seed):
    assert check_reach(affinity.translate(random_ground(seed), *UTM), 4.0, seed) > 4


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "ground, size", [(rooms(1), 4.0), (rooms(2), 2.0), (pillar_hall(5), 1.0), (pillar_hall(4), 1.5)]
)
def test_walls_and_pillars_along_lines_of_tiles_do_no_harm(ground, size):
    assert check_reach(ground, size, 3, radii=(0.0, 0.2, 0.4, 0.5), pairs=6) > 10


def test_a_gap_that_a_border_cuts_stops_agents_too_wide_for_the_whole():
    # The gap from (3.9, y) to (4.1, y + 0.2) and its like: two pillars on either side of the line x = 4,
    # 0.5 m apart across it.
    wall = shapely.union_all([shapely.box(0, 4.9, 3.75, 5.1), shapely.box(4.25, 4.9, 8, 5.1)])
    planner = OnePlanner(tiled(shapely.box(0, 0, 8, 10) - wall, 4.0).mesh)
    assert planner.path((4, 2), (4, 8), 0.25)[0] == FOUND
    assert planner.path((4, 2), (4, 8), np.nextafter(0.25, 1.0))[0] == UNREACHABLE
    assert planner.path((3, 2), (5, 8), 0.2499)[0] == FOUND


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [1.3, 4.0])
@pytest.mark.parametrize("seed", range(4))
def test_tiles_cover_the_ground_and_share_whole_edges(seed, size):
    ground = random_ground(seed)
    mesh = tiled(ground, size).mesh
    shapes = outlines(mesh)[:-1]
    assert sum(shape.area for shape in shapes) == pytest.approx(ground.area, abs=1e-4)
    assert shapely.symmetric_difference(shapely.union_all(shapes, grid_size=1e-9), ground).area < 1e-4
    border = np.flatnonzero(mesh.edge_twin >= 0)
    twin = mesh.edge_twin[border]
    assert np.array_equal(mesh.edge_vertex[border], mesh.edge_end[twin]) and np.array_equal(
        mesh.edge_twin[twin], border
    )
    open_edges = np.flatnonzero((mesh.edge_twin < 0) & (mesh.edge_wall < 0))
    # all others have a neighbour or a wall
    assert set(mesh.edge_polygon[open_edges]) <= {mesh.polygon_count - 1}


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_walls_are_as_far_away_on_tiles_as_on_the_whole_mesh(seed):
    ground = random_ground(seed)
    meshes = build_mesh(ground).mesh, tiled(ground, 2.0).mesh
    floods = [make_flood(mesh.polygon_count) for mesh in meshes]
    points, _ = free_points(ground, 0.0, 200, np.random.default_rng(seed))
    for x, y in points:
        one, many = (
            wall_distance(mesh, locate(mesh, x, y, -1), x, y, 3.0, flood)
            for mesh, flood in zip(meshes, floods)
        )
        assert many == pytest.approx(one, abs=3e-6)


def test_walls_run_on_straight_over_borders():
    walls = build_tiles(shapely.box(0.0, 0.0, 20.0, 10.0), 3.0)[0].walls
    assert len(walls.start) == 4 and sorted(np.hypot(*(walls.end - walls.start).T).tolist()) == pytest.approx(
        [10.0, 10.0, 20.0, 20.0]
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(6))
def test_after_any_changes_the_mesh_is_that_of_the_tiles_that_are_there(seed):
    rng = np.random.default_rng(seed)
    mesh, ground = build_tiles(random_ground(seed), 3.0)
    everything = {tile: mesh.content(tile) for tile in mesh.tiles()}
    for _ in range(12):
        there = mesh.tiles()
        gone = rng.choice(there, size=min(len(there) - 1, int(rng.integers(4))), replace=False).tolist()
        missing = [tile for tile in everything if tile not in there]
        back = (
            rng.choice(missing, size=int(rng.integers(len(missing) + 1)), replace=False).tolist()
            if missing
            else []
        )
        again = [tile for tile in gone if rng.random() < 0.3]
        old, before = mesh.mesh, mesh.handles_of(np.arange(mesh.mesh.polygon_count - 1))
        now = mesh.change(
            remove=gone,
            add={**dict.fromkeys(back), **{tile: build_tile(ground, tile, most_sides=6) for tile in again}},
        )
        fresh = TiledMesh(everything, mesh.numbers, 5.0)
        fresh.change(remove=set(everything) - set(mesh.tiles()))
        assert same(fresh.mesh, mesh.mesh) and all(
            np.array_equal(a, b) for a, b in zip(fresh.walls, mesh.walls, strict=True)
        )
        stale = mesh.is_stale(before)
        assert np.array_equal(stale, np.isin(handles.tile_of(before), gone)) and np.array_equal(
            now.polygon[:-1] < 0, stale
        )
        assert np.array_equal(mesh.polygons_of(before)[~stale], now.polygon[:-1][~stale])
        kept = np.flatnonzero(now.edge >= 0)
        assert np.array_equal(
            old.vertex[old.edge_vertex[kept]], mesh.mesh.vertex[mesh.mesh.edge_vertex[now.edge[kept]]]
        )


def test_a_tile_is_the_same_each_time_it_is_made_and_can_be_made_in_steps():
    mesh, ground = build_tiles(random_ground(5), 3.0)
    for tile in mesh.tiles():
        steps = tile_steps(ground, tile, most_sides=6)
        done = []
        while True:
            try:
                done.append(next(steps))
            except StopIteration as end:
                assert end.value.same_as(mesh.content(tile))
                break
        assert done == ["faces", "triangles", "gaps", "delaunay", "polygons"]


def test_paths_do_not_lead_over_ground_that_was_taken_out_and_do_again_when_it_is_back():
    mesh, _ = build_tiles(shapely.box(0.0, 0.0, 12.0, 4.0), 4.0)
    assert OnePlanner(mesh.mesh).path((1, 2), (11, 2), 0.3)[3] == pytest.approx(10.0)
    mesh.change(remove=[mesh.tile_at(6.0, 2.0)])
    planner = OnePlanner(mesh.mesh)
    assert planner.path((1, 2), (11, 2), 0.0)[0] == UNREACHABLE
    assert locate(mesh.mesh, 6.0, 2.0, -1) == -1
    mesh.change(add=[mesh.tile_at(6.0, 2.0)])
    assert OnePlanner(mesh.mesh).path((1, 2), (11, 2), 0.3)[3] == pytest.approx(10.0)


def test_handles_of_a_tile_stay_stale_when_it_is_put_back_and_a_restored_save_makes_its_own_valid():
    mesh, _ = build_tiles(random_ground(2), 4.0)
    old = mesh.handles_of(np.arange(mesh.mesh.polygon_count - 1))
    saved, first = mesh.state(), mesh.mesh
    tile = mesh.tiles()[1]
    mesh.change(remove=[tile])
    gone = handles.tile_of(old) == tile
    assert (
        gone.any()
        and np.array_equal(mesh.is_stale(old), gone)
        and np.all(mesh.polygons_of(old)[gone] == mesh.nowhere)
    )
    mesh.change(add=[tile])
    assert np.array_equal(mesh.is_stale(old), gone)
    later = mesh.state()
    mesh.restore(saved)
    assert not mesh.is_stale(old).any() and same(mesh.mesh, first)
    mesh.restore(later)
    assert np.array_equal(mesh.is_stale(old), gone)


def test_a_city_in_tiles_is_the_same_to_the_last_bit_whether_or_not_it_is_triangulated_in_pieces(monkeypatch):
    ground = make_city(900.0, 2).ground
    whole = build_tiles(ground, 125.0)[0].state(whole=True)
    monkeypatch.setattr(cut, "MOST_HOLES", 10)
    pieces = build_tiles(ground, 125.0)[0].state(whole=True)
    assert whole.keys() == pieces.keys()
    assert all(array.tobytes() == pieces[name].tobytes() for name, array in whole.items())


def test_a_whole_mesh_is_saved_and_restored_from_nothing_with_handles_still_valid():
    mesh, ground = build_tiles(random_ground(4), 4.0)
    first, second = mesh.tiles()[:2]
    mesh.change(remove=[first, second], add={first: build_tile(ground, first, most_sides=3)})
    mesh.set_flags(mesh.handles_of(np.arange(3)), 6)
    mesh.set_areas(mesh.handles_of(np.arange(5)), 9)
    state = mesh.state(whole=True)
    assert all(array.dtype != object for array in state.values())
    copy = TiledMesh.from_state(state)
    own = mesh.handles_of(np.arange(mesh.mesh.polygon_count - 1))
    assert same(copy.mesh, mesh.mesh) and np.array_equal(copy.polygons_of(own), mesh.polygons_of(own))
    assert (
        np.array_equal(copy.flags, mesh.flags)
        and np.array_equal(copy.areas, mesh.areas)
        and np.array_equal(copy.is_there, mesh.is_there)
    )
    other = build_tiles(random_ground(4), 4.0)[0]
    other.restore(mesh.state())
    assert same(other.mesh, mesh.mesh) and not other.is_stale(own).any()


def test_flags_and_areas_of_a_tile_are_saved_and_restored_for_its_version_only():
    mesh, _ = build_tiles(random_ground(2), 4.0)
    tile = mesh.tiles()[3]
    own = mesh.handles_of(np.arange(mesh.first_polygon[tile], mesh.first_polygon[tile + 1]))
    mesh.set_flags(own[:2], 4)
    mesh.set_areas(own[1:3], 7)
    state = mesh.tile_state(tile)
    mesh.set_flags(own, 0)
    mesh.set_areas(own, 0)
    mesh.restore_tile_state(state)
    assert mesh.flags[mesh.polygons_of(own)].tolist()[:4] == [4, 4, 0, 0][: len(own)] and mesh.areas[
        mesh.polygons_of(own)
    ].tolist()[:3] == [0, 7, 7]
    mesh.change(remove=[tile])
    mesh.change(add=[tile])
    kept = slice(int(mesh.first_polygon[tile]), int(mesh.first_polygon[tile + 1]))
    # as it was when it was taken out
    assert np.array_equal(mesh.flags[kept], state["flags"]) and np.array_equal(
        mesh.areas[kept], state["areas"]
    )
    with pytest.raises(NavigationError, match="removed since"):
        mesh.restore_tile_state(state)


def test_closed_polygons_are_neither_entered_nor_left_and_open_again():
    mesh, _ = build_tiles(shapely.box(0.0, 0.0, 12.0, 4.0), 4.0)
    whole = mesh.mesh
    tile = mesh.tile_at(6.0, 2.0)
    own = mesh.handles_of(np.arange(mesh.first_polygon[tile], mesh.first_polygon[tile + 1]))
    now = mesh.set_flags(own, CLOSED)
    assert OnePlanner(mesh.mesh).path((1, 2), (11, 2), 0.0)[0] == UNREACHABLE
    assert OnePlanner(mesh.mesh).path((6, 1), (6, 3), 0.2)[0] == FOUND
    assert not mesh.is_stale(own).any() and (now.polygon[:-1] >= 0).all()
    mesh.set_flags(own, 0)
    assert same(mesh.mesh, whole)


def test_a_change_in_steps_is_the_change_at_once_and_is_made_anew_if_the_mesh_changed_meanwhile():
    stepwise, whole = (build_tiles(random_ground(2), 4.0)[0] for _ in range(2))
    gone, back = stepwise.tiles()[1:4], stepwise.tiles()[1]
    for change in ({"remove": gone}, {"add": [back]}):
        before, steps, rests = stepwise.mesh, stepwise.steps(**change), 0
        while rests < 2:
            next(steps)
            rests += 1
            assert stepwise.mesh is before  # until it is taken
        made = at_once(steps)
        own = stepwise.handles_of(np.arange(3))
        for mesh in (stepwise, whole):
            mesh.set_flags(own, CLOSED if "remove" in change else 0)
            mesh.set_areas(own, 5)
        assert same(stepwise.mesh, whole.mesh) and not same(made.joined.mesh, whole.mesh)
        one, other = stepwise.take(made), whole.change(**change)
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        assert same(stepwise.mesh, whole.mesh) and all(
            np.array_equal(a, b) for a, b in zip(stepwise.walls, whole.walls, strict=True)
        )
        mine, theirs = stepwise.state(), whole.state()
        assert mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


def test_what_cannot_be_changed_is_told_and_nothing_is_changed():
    mesh, _ = build_tiles(shapely.box(0.0, 0.0, 12.0, 4.0), 4.0)
    before = mesh.mesh
    with pytest.raises(NavigationError, match=r"tile \(1, 0\) is there already"):
        mesh.change(remove=[0], add=[1])
    with pytest.raises(NavigationError, match=r"tiles go from \(0, 0\) to \(2, 0\)"):
        mesh.change(remove=[17])
    mesh.change(remove=[1])
    with pytest.raises(NavigationError, match="not there"):
        mesh.change(remove=[1])
    with pytest.raises(NavigationError, match=r"do not belong to tile \(1, 0\)"):
        mesh.change(add={1: mesh.content(2)})
    with pytest.raises(NavigationError, match="stale"):
        mesh.set_flags(np.array([handles.pack(1, 1, 0)]), 2)
    mesh.change(add=[1])
    assert same(mesh.mesh, before) and mesh.tile_at(100.0, 0.0) == -1 and mesh.name_of(2) == (2, 0)
    with pytest.raises(NavigationError, match="make them larger"):
        build_tiles(shapely.box(0.0, 0.0, SIZE, SIZE), 1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_find_polygons_agrees_with_reference(seed):
    rng = np.random.default_rng(seed)
    count = 6
    first = np.concatenate([[0], np.cumsum(rng.integers(0, 5, count))])
    salt = rng.integers(1, 4, count)
    some = handles.pack(
        rng.integers(0, 4, 500), rng.integers(0, count + 2, 500), rng.integers(0, 6, 500)
    ).astype(np.int64)
    assert handles.find_polygons(some, salt, first).tolist() == [
        find_polygon(int(each), salt, first) for each in some
    ]


def test_salts_go_round_without_the_null_handle():
    assert handles.next_salt(1) == 2 and handles.next_salt((1 << handles.SALT_BITS) - 1) == handles.FIRST_SALT
    last = handles.pack(
        (1 << handles.SALT_BITS) - 1, (1 << handles.TILE_BITS) - 1, (1 << handles.POLYGON_BITS) - 1
    )
    assert last == 2**63 - 1
