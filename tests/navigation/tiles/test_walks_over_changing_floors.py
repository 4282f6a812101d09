"""Whoever walks at random over the floors of a house never leaves the mesh, and changes floors over seams
only, while tiles on all floors go and come.
"""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.corridor.corridors import Corridors
from crowdsim.navigation.corridor.walk import Walked, walk_many
from crowdsim.navigation.mesh.mesh import locate
from crowdsim.navigation.mesh.slopes import heights_at
from crowdsim.scenario.geometry import joins_of
from tests.navigation.houses import random_house, spots, tiled_mesh
from tests.navigation.tiles.test_tiles_on_surfaces import decks, each_sheet, tiled
from tests.navigation.worlds import UTM, outlines

ROUNDING_M = 1e-9  # and the last digits of map coordinates
CHANGED_EVERY = 5  # moves
MOST_OUT = 0.3  # share of the tiles


class Strollers:
    """Agents on a mesh in tiles that walk where they like; those without ground stand until it is back."""

    def __init__(self, tiles, position, polygon, radius, rng):
        self.tiles, self.rng, self.position = tiles, rng, np.array(position)
        self.handle, count = tiles.handles_of(np.array(polygon)), len(position)
        self.layer = tiles.mesh.polygon_layer[np.array(polygon)].copy()
        self.radius, self.heading = np.full(count, radius), rng.uniform(0.0, 2.0 * np.pi, count)
        self.clear, self.touched = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.uint8)

    def change(self):
        """Take some tiles out and put some back; find ground under those that had lost theirs."""
        tiles, rng = self.tiles, self.rng
        there, out = tiles.tiles(), [tile for tile in tiles.known() if not tiles.is_there[tile]]
        room = int(MOST_OUT * len(tiles.known())) - len(out)
        gone = rng.choice(there, size=int(rng.integers(0, max(1, min(room, 8)))), replace=False)
        back = rng.choice(out, size=int(rng.integers(0, len(out) + 1)), replace=False) if out else []
        tiles.change(remove=gone.tolist(), add=list(map(int, back)))
        for row in np.flatnonzero(tiles.is_stale(self.handle)).tolist():
            polygon = locate(tiles.mesh, *self.position[row].tolist(), int(self.layer[row]))
            if polygon >= 0:
                self.handle[row] = tiles.handles_of(np.array([polygon]))[0]
        self.clear[:] = 0.0

    def walk(self, stride):
        """Move once; return where each was, with its floor and height."""
        mesh, has_ground = self.tiles.mesh, ~self.tiles.is_stale(self.handle)
        count, polygon = len(self.position), self.tiles.polygons_of(self.handle)
        self.heading += self.rng.normal(0.0, 0.4, count) + (self.touched == 1) * self.rng.uniform(
            -2, 2, count
        )
        target = self.position + stride * np.c_[np.cos(self.heading), np.sin(self.heading)]
        target = np.where(has_ground[:, None], target, self.position)
        none = np.zeros(count, dtype=np.int32)
        before = self.position, self.layer, self.heights(polygon)
        new = [np.empty_like(each) for each in (self.position, polygon, none, self.clear, self.touched)]
        corridors = Corridors(
            np.zeros(1, dtype=np.int32),
            none.astype(np.int64),
            none,
            polygon,
            none,
            self.position,
            self.radius,
        )
        walk_many(0, count, mesh, corridors, none, target, self.clear, Walked(*new))
        self.position, polygon, _, self.clear, self.touched = new
        self.handle = np.where(has_ground, self.tiles.handles_of(polygon), self.handle)
        self.layer = np.where(has_ground, mesh.polygon_layer[polygon], self.layer)
        return before, polygon, has_ground

    def heights(self, polygon):
        out = np.empty(len(polygon))
        heights_at(0, len(polygon), self.tiles.mesh, polygon, self.position, out)
        return out


def check_moves(walkers, moves, stride, seams, steepest, rounding, step=0.0):
    """Walk and look after every move; return how many moves there were, and how often floors were changed."""
    changes = 0
    lines = {pair: shapely.union_all(each) for pair, each in seams.items()}
    for number in range(moves):
        if number % CHANGED_EVERY == 0:
            walkers.change()
            shapes = np.array(outlines(walkers.tiles.mesh))
        (was, floor, z), polygon, has_ground = walkers.walk(stride)
        points = shapely.points(walkers.position)
        off = shapely.distance(shapes[polygon], points)[has_ground]
        assert off.max(initial=0.0) <= rounding, "a point is not in the polygon that is tracked"
        assert np.array_equal(was[~has_ground], walkers.position[~has_ground])
        moved = np.hypot(*(walkers.position - was).T)
        rise = np.abs(walkers.heights(polygon) - z)[has_ground]
        assert (rise <= steepest * moved[has_ground] + step + 1e-6).all(), "a height jumps"
        for row in np.flatnonzero((walkers.layer != floor) & has_ground).tolist():
            changes += 1
            pair = frozenset((int(floor[row]), int(walkers.layer[row])))
            if not lines:
                continue
            seam, ends = lines[pair], shapely.points([was[row], walkers.position[row]])
            off = seam.distance(shapely.LineString(ends))
            if off > 1e-5 and walkers.touched[row]:  # it slid along walls, no farther in all than its stride
                off = seam.distance(ends[0]) + seam.distance(ends[1]) - stride
            assert off <= 1e-5, "a floor was changed beside a seam"
    return len(walkers.position) * moves, changes


def in_house(seed, radius, agents, moves, stride):
    house = random_house(seed, (0.0, 0.0) if seed % 2 else UTM)
    rng, tiles = np.random.default_rng(seed), tiled_mesh(house, 2.5)
    places = [each for each in spots(house, tiles.mesh, 3 * agents, rng) if each.wall > radius + 1e-3][
        :agents
    ]
    polygon = [locate(tiles.mesh, each.x, each.y, each.layer) for each in places]
    seams: dict[frozenset[int], list[shapely.LineString]] = {}
    for join in joins_of(house.floors):
        seams.setdefault(frozenset(join.floors), []).append(shapely.LineString(join.line))
    walkers = Strollers(tiles, [(each.x, each.y) for each in places], polygon, radius, rng)
    rounding = ROUNDING_M + 4e-16 * np.abs(tiles.mesh.vertex[:-3]).max()
    return check_moves(walkers, moves, stride, seams, 1.75, rounding)


@pytest.mark.sample(1)
@pytest.mark.parametrize("radius", [0.0, 0.2])
@pytest.mark.parametrize("stride", [0.1, 0.6])
def test_random_moves_over_floors_never_leave_the_mesh_while_tiles_go_and_come(stride, radius):
    done = np.sum([in_house(seed, radius, 60, 40, stride) for seed in (1, 2, 3)], axis=0)
    assert done[0] > 6000 and done[1] > 3


@pytest.mark.full
@pytest.mark.parametrize("radius", [0.0, 0.05, 0.2, 0.4])
@pytest.mark.parametrize("stride", [0.05, 0.3, 2.0])
def test_a_million_random_moves_over_floors_never_leave_the_mesh_while_tiles_go_and_come(stride, radius):
    done, seed = np.zeros(2), 0
    while done[0] < 1_000_000 / 12:
        seed += 1
        done += in_house(seed, radius, 150, 60, stride)
    assert done[1] > 20


@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_random_moves_over_a_surface_never_leave_the_mesh_while_tiles_go_and_come(radius):
    patches, rng = decks(), np.random.default_rng(5)
    tiles = tiled(patches, 2.5, each_sheet(patches))
    polygon = rng.integers(0, tiles.mesh.polygon_count - 1, 80)
    first = tiles.mesh.polygon_start[polygon]
    corners = [tiles.mesh.vertex[tiles.mesh.edge_vertex[first + k], :2] for k in range(3)]
    walkers = Strollers(tiles, sum(corners) / 3.0, polygon, radius, rng)
    # treads rise by 0.2 m
    assert check_moves(walkers, 150, 0.3, {}, 1.0, ROUNDING_M, step=0.45)[1] > 3
