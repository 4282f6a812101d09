"""When ground changes, only the tiles are made anew that are others,
and what comes out is the ground cut into tiles at once.
"""

from dataclasses import replace

import numpy as np
import pytest
import shapely

from crowdsim.navigation.mesh.build import MeshParameters
from crowdsim.navigation.mesh.plates import level_ground
from crowdsim.navigation.tiles.bits import bits_of_tiles
from crowdsim.navigation.tiles.build import build_tile
from crowdsim.navigation.tiles.cut import cut_ground, numbered_as
from crowdsim.navigation.tiles.make import build_tiles
from crowdsim.navigation.tiles.numbers import TileNumbers
from crowdsim.navigation.tiles.rebuild import TileRebuilder, differences
from crowdsim.scenario.areas import ground_without

PARAMETERS = MeshParameters()
SIZE = 4.0


def hall(seed):
    """A hall with pillars that lie on no raster."""
    rng = np.random.default_rng(seed)
    pillars = [
        shapely.box(x, y, x + a, y + b)
        for x, y, a, b in np.column_stack([rng.uniform(1, 20, (8, 2)), rng.uniform(0.3, 3, (8, 2))]).tolist()
    ]
    return ground_without(shapely.box(0.0, 0.0, 23.7, 22.1), [shapely.union_all(pillars)], None)[0], rng


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(8))
def test_rebuilt_tiles_are_those_of_the_ground_cut_at_once(seed):
    ground, rng = hall(seed)
    tiles, _ = build_tiles(ground, SIZE, parameters=PARAMETERS)
    rebuilder = TileRebuilder(tiles.numbers, PARAMETERS)
    assert differences(tiles, rebuilder.tiles_of(level_ground(ground))) == ([], {})
    for _ in range(3):
        x, y = rng.uniform(1, 20, 2)
        door = shapely.Polygon(
            shapely.get_coordinates(shapely.Point(x, y).buffer(float(rng.uniform(0.2, 2.0)), quad_segs=4))
        )
        left, _ = ground_without(ground, [door], None)
        built = rebuilder.built_count
        wanted = rebuilder.tiles_of(level_ground(left))
        assert rebuilder.built_count - built < tiles.tile_count / 2
        cut = numbered_as(cut_ground(left, SIZE, widest_gap=2.0 * PARAMETERS.widest_body), tiles.numbers)
        at_once = {
            tile: content
            for tile in cut.tiles
            if (content := build_tile(cut, tile, most_sides=PARAMETERS.most_sides)) is not None
        }
        assert set(wanted) == set(at_once) and all(wanted[tile].same_as(at_once[tile]) for tile in wanted)
        remove, add = differences(tiles, wanted)
        tiles.change(remove=remove, add=add)
        assert differences(tiles, at_once) == ([], {})
    remove, add = differences(tiles, rebuilder.tiles_of(level_ground(ground)))
    tiles.change(remove=remove, add=add)
    fresh, _ = build_tiles(ground, SIZE, parameters=PARAMETERS)
    assert (
        all(tiles.content(tile).same_as(fresh.content(tile)) for tile in fresh.tiles())
        and tiles.tiles() == fresh.tiles()
    )
    assert np.array_equal(tiles.mesh.vertex, fresh.mesh.vertex) and np.array_equal(
        tiles.mesh.edge_twin, fresh.mesh.edge_twin
    )


def test_ground_at_the_rim_that_is_gone_leaves_the_numbers_of_tiles_as_they_are():
    ground = shapely.box(0.0, 0.0, 20.0, 8.0)
    tiles, _ = build_tiles(ground, SIZE, parameters=PARAMETERS)
    rebuilder = TileRebuilder(tiles.numbers, PARAMETERS)
    wanted = rebuilder.tiles_of(level_ground(shapely.box(8.0, 0.0, 20.0, 8.0)))
    assert sorted(wanted) == [2, 3, 4, 7, 8, 9]
    remove, add = differences(tiles, wanted)
    assert remove == [0, 1, 2, 5, 6, 7] and sorted(add) == [2, 7]  # those at the new wall are others


def test_ground_that_lies_in_one_tile_is_made_anew_although_it_has_no_borders():
    ground = shapely.box(0.5, 0.5, 3.5, 3.0)
    tiles, _ = build_tiles(ground, SIZE, parameters=PARAMETERS)
    rebuilder = TileRebuilder(tiles.numbers, PARAMETERS)
    assert differences(tiles, rebuilder.tiles_of(level_ground(ground))) == ([], {})
    remove, add = differences(
        tiles,
        rebuilder.tiles_of(level_ground(ground_without(ground, [shapely.box(1.0, 1.0, 2.0, 2.0)], None)[0])),
    )
    assert remove == [0] and list(add) == [0]


def test_a_tile_that_was_taken_out_comes_back_as_the_ground_is_then():
    ground = shapely.box(0.0, 0.0, 12.0, 4.0)
    tiles, _ = build_tiles(ground, SIZE, parameters=PARAMETERS)
    rebuilder = TileRebuilder(tiles.numbers, PARAMETERS)
    tiles.change(remove=[1])
    content = rebuilder.tiles_of(
        level_ground(ground_without(ground, [shapely.box(5.0, 1.0, 6.0, 2.0)], None)[0])
    )[1]
    tiles.keep(1, content)
    tiles.change(add=[1])
    assert tiles.content(1) is content and tiles.mesh.polygon_count > 4


def test_of_more_tiles_than_are_kept_those_that_were_not_used_for_longest_are_made_anew(monkeypatch):
    monkeypatch.setattr("crowdsim.navigation.tiles.rebuild.MOST_KNOWN", 2)
    grounds = [shapely.box(0.0, 0.0, 4.0, top) for top in (2.0, 3.0, 4.0)]  # one tile each
    rebuilder, built = TileRebuilder(TileNumbers(SIZE, ((0, 0),), ((1, 1),)), PARAMETERS), []
    for number in (0, 1, 0, 2, 0, 1):
        rebuilder.tiles_of(level_ground(grounds[number]))
        built.append(rebuilder.built_count)
    assert built == [1, 2, 2, 3, 3, 4]


def with_tips():
    """Two pillars whose tips face each other on a line of tiles, so that the gap between them lies on it,
    among others.
    """
    tips = [
        shapely.Polygon([(3, 0.5), (5, 0.5), (4, 1)]),
        shapely.Polygon([(4, 2), (5, 2.5), (3, 2.5)]),
        shapely.box(6, 1, 6.5, 9),
        shapely.box(7.5, 2, 9.5, 2.5),
    ]
    return ground_without(shapely.box(0.0, 0.0, 12.0, 12.0), [shapely.union_all(tips)], None)[0]


@pytest.mark.parametrize("ground", [with_tips(), hall(0)[0]], ids=["tips", "hall"])
def test_whatever_the_mesh_of_a_tile_is_made_from_changes_its_bits_and_those_of_no_other_tile(ground):
    cut = cut_ground(ground, SIZE, widest_gap=2.0 * PARAMETERS.widest_body)
    bits = bits_of_tiles(cut)

    def changed(name, rows, value):
        column = getattr(cut, name).copy()
        column[rows] = value
        other = bits_of_tiles(replace(cut, **{name: column}))
        return {tile for tile in bits if other[tile] != bits[tile]}

    def tiles_of_part(row):
        if cut.gap_tile[row] >= 0:
            return {int(cut.gap_tile[row])}
        on_line = (np.sort(cut.border, axis=1) == np.sort(cut.gap[row])).all(axis=1)
        return {tile for tile in cut.border_tile[on_line].ravel().tolist() if tile >= 0}

    for row in range(0, len(cut.wall), 7):
        assert changed("wall_open", row, ~cut.wall_open[row]) == {int(cut.wall_tile[row])}
        assert changed("wall", row, cut.wall[row][::-1]) == {int(cut.wall_tile[row])}
    for row in range(0, len(cut.border), 5):
        assert changed("border", row, cut.border[row][::-1]) == {
            tile for tile in cut.border_tile[row].tolist() if tile >= 0
        }
    for row in {*range(0, len(cut.gap), 7), *np.flatnonzero(cut.gap_tile < 0).tolist()}:
        assert changed("gap_width", row, cut.gap_width[row] + 0.001) == tiles_of_part(row) != set()
    for gap in set(cut.gap_of[::7].tolist()) | set(cut.gap_of[cut.gap_tile < 0].tolist()):
        needed = [(*tiles, 99) if number == gap else tiles for number, tiles in enumerate(cut.gap_tiles)]
        other = bits_of_tiles(replace(cut, gap_tiles=needed))
        parts = np.flatnonzero(cut.gap_of == gap).tolist()
        assert {tile for tile in bits if other[tile] != bits[tile]} == set().union(
            *(tiles_of_part(row) for row in parts)
        )


def test_gaps_on_lines_of_tiles_are_among_those_that_are_tried():
    assert (cut_ground(with_tips(), SIZE, widest_gap=2.0 * PARAMETERS.widest_body).gap_tile < 0).any()
