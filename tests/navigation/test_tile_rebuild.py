"""When ground changes, only the tiles are made anew that are others, and what comes out is the ground cut into tiles at once."""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.build import MeshParameters
from crowdsim.navigation.tile_build import build_tile
from crowdsim.navigation.tile_ground import cut_ground
from crowdsim.navigation.tile_rebuild import TileRebuilder, differences, numbered_as
from crowdsim.navigation.tiles import build_tiles
from crowdsim.scenario.areas import ground_without

PARAMETERS = MeshParameters()
SIZE = 4.0


def hall(seed):
    """A hall with pillars that lie on no raster."""
    rng = np.random.default_rng(seed)
    pillars = [shapely.box(x, y, x + a, y + b) for x, y, a, b in np.column_stack([rng.uniform(1, 20, (8, 2)), rng.uniform(0.3, 3, (8, 2))]).tolist()]
    return ground_without(shapely.box(0.0, 0.0, 23.7, 22.1), [shapely.union_all(pillars)], None)[0], rng


@pytest.mark.parametrize("seed", range(8))
def test_rebuilt_tiles_are_those_of_the_ground_cut_at_once(seed):
    ground, rng = hall(seed)
    tiles, _ = build_tiles(ground, SIZE, parameters=PARAMETERS)
    rebuilder = TileRebuilder(tiles.size, tiles.first, tiles.shape, PARAMETERS)
    assert differences(tiles, rebuilder.tiles_of(ground)) == ([], {})
    for _ in range(3):
        x, y = rng.uniform(1, 20, 2)
        door = shapely.Polygon(shapely.get_coordinates(shapely.Point(x, y).buffer(float(rng.uniform(0.2, 2.0)), quad_segs=4)))
        left, _ = ground_without(ground, [door], None)
        built = rebuilder.built_count
        wanted = rebuilder.tiles_of(left)
        assert rebuilder.built_count - built < tiles.tile_count / 2
        cut = numbered_as(cut_ground(left, SIZE, widest_gap=2.0 * PARAMETERS.widest_body), tiles.first, tiles.shape)
        at_once = {tile: content for tile in range(cut.tile_count) if (content := build_tile(cut, tile, most_sides=PARAMETERS.most_sides)) is not None}
        assert set(wanted) == set(at_once) and all(wanted[tile].same_as(at_once[tile]) for tile in wanted)
        remove, add = differences(tiles, wanted)
        tiles.change(remove=remove, add=add)
        assert differences(tiles, at_once) == ([], {})
    remove, add = differences(tiles, rebuilder.tiles_of(ground))
    tiles.change(remove=remove, add=add)
    fresh, _ = build_tiles(ground, SIZE, parameters=PARAMETERS)
    assert all(tiles.content(tile).same_as(fresh.content(tile)) for tile in fresh.tiles()) and tiles.tiles() == fresh.tiles()
    assert np.array_equal(tiles.mesh.vertex, fresh.mesh.vertex) and np.array_equal(tiles.mesh.edge_twin, fresh.mesh.edge_twin)


def test_ground_at_the_rim_that_is_gone_leaves_the_numbers_of_tiles_as_they_are():
    ground = shapely.box(0.0, 0.0, 20.0, 8.0)
    tiles, _ = build_tiles(ground, SIZE, parameters=PARAMETERS)
    rebuilder = TileRebuilder(tiles.size, tiles.first, tiles.shape, PARAMETERS)
    wanted = rebuilder.tiles_of(shapely.box(8.0, 0.0, 20.0, 8.0))
    assert sorted(wanted) == [2, 3, 4, 7, 8, 9]
    remove, add = differences(tiles, wanted)
    assert remove == [0, 1, 2, 5, 6, 7] and sorted(add) == [2, 7]  # those at the new wall are others


def test_a_tile_that_was_taken_out_comes_back_as_the_ground_is_then():
    ground = shapely.box(0.0, 0.0, 12.0, 4.0)
    tiles, _ = build_tiles(ground, SIZE, parameters=PARAMETERS)
    rebuilder = TileRebuilder(tiles.size, tiles.first, tiles.shape, PARAMETERS)
    tiles.change(remove=[1])
    content = rebuilder.tiles_of(ground_without(ground, [shapely.box(5.0, 1.0, 6.0, 2.0)], None)[0])[1]
    tiles.keep(1, content)
    tiles.change(add=[1])
    assert tiles.content(1) is content and tiles.mesh.polygon_count > 4
