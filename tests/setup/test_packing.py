"""The kernels that find room for discs agree with their naive twins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import shapely

from crowdsim.setup import area_grid, packing, placement
from crowdsim.world.random import Stream
from tests.reference import area_grid as naive_grid
from tests.reference import packing as naive

L_ROOM = shapely.Polygon(
    [(0, 0), (6, 0), (6, 2.5), (2.5, 2.5), (2.5, 6), (0, 6)], [[(1, 1), (1, 1.5), (1.5, 1.5), (1.5, 1)]]
)
SLANTED = shapely.Polygon([(0.3, -1), (5, 3.2), (1.1, 5.5)])
FAR_ROOM = shapely.transform(L_ROOM, lambda points: np.add(points, (395_000.25, 5_268_000.5)))
SHAPES = {
    "L with a hole": (L_ROOM, SLANTED),
    "all of it": (L_ROOM, L_ROOM),
    "slanted ground": (SLANTED, L_ROOM),
    "far from the origin": (FAR_ROOM, FAR_ROOM),
}
REACH = 0.35


def grids(name: str) -> tuple[area_grid.Areas, area_grid.NearWalls, list[Any], list[Any]]:
    ground, region = SHAPES[name]
    areas = placement._grids([ground, region], REACH)
    edges = placement.ring_edges(ground)
    return (
        areas,
        placement._near_walls(areas, len(edges), REACH),
        [tuple(edge) for edge in edges],
        [tuple(edge) for edge in placement.ring_edges(region)],
    )


def scattered(ground: Any, count: int, seed: int) -> np.ndarray:
    left, bottom, right, top = ground.bounds
    return np.random.default_rng(seed).uniform([left - 1, bottom - 1], [right + 1, top + 1], (count, 2))


@pytest.mark.parametrize("name", SHAPES)
def test_is_inside_agrees_with_counting_crossings_and_with_geos(name: str) -> None:
    areas, _, ground, region = grids(name)
    for x, y in scattered(SHAPES[name][0], 1500, 1):
        assert (
            area_grid.is_inside(areas, 0, x, y)
            == naive_grid.is_inside(ground, x, y)
            == shapely.contains_xy(SHAPES[name][0], x, y)
        )
        if naive_grid.is_inside(ground, x, y):  # a region is laid out within the bounds of the ground only
            assert area_grid.is_inside(areas, 1, x, y) == naive_grid.is_inside(region, x, y)


@pytest.mark.parametrize("name", SHAPES)
def test_wall_clearance_is_the_distance_to_the_nearest_wall_within_reach(name: str) -> None:
    areas, walls, ground, _ = grids(name)
    inside = [point for point in scattered(SHAPES[name][0], 1500, 2) if naive_grid.is_inside(ground, *point)]
    assert len(inside) > 100
    for x, y in inside:
        expected, found = (
            naive_grid.wall_clearance(ground, x, y),
            area_grid.wall_clearance(areas, walls, x, y),
        )
        if expected < REACH:
            assert found == pytest.approx(expected, abs=1e-9)
        else:
            assert found >= REACH


@pytest.mark.parametrize("name", SHAPES)
def test_off_walls_and_may_stand_agree_with_their_twins(name: str) -> None:
    areas, walls, ground, region = grids(name)
    for x, y in scattered(SHAPES[name][0], 600, 3):
        assert area_grid.may_stand(areas, walls, 1, x, y, 0.3) == naive_grid.may_stand(
            region, ground, x, y, 0.3
        )
        if naive_grid.is_inside(ground, x, y):
            assert area_grid.off_walls(areas, walls, x, y, 0.3) == pytest.approx(
                naive_grid.off_walls(ground, x, y, 0.3), abs=1e-9
            )


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_edge_span_covers_what_lies_between_two_heights(seed: int) -> None:
    random = np.random.default_rng(seed)
    for edge in random.uniform(-3, 3, (200, 4)):
        low = random.uniform(-3, 3)
        found, expected = (
            area_grid.edge_span(edge, low, low + 0.7, 0.2),
            naive_grid.edge_span(tuple(edge), low, low + 0.7, 0.2),
        )
        if expected[0] == math.inf:
            assert found[1] - found[0] < 0.45  # nothing, or the tip that fell between two samples
        else:
            assert found == pytest.approx(expected, abs=0.01)
            assert found[0] <= expected[0] + 1e-12
            assert found[1] >= expected[1] - 1e-12


def test_lists_of_near_edges_miss_none() -> None:
    edges = np.random.default_rng(4).uniform(-1, 4, (12, 4))
    grid = (0.0, 0.0, 0.7, 4, 5)
    start = np.zeros(21, dtype=np.int64)
    area_grid.list_near(edges, 0.2, *grid, start, np.zeros(0, dtype=np.int32))
    start = np.cumsum(start)
    members = np.zeros(start[-1], dtype=np.int32)
    area_grid.list_near(edges, 0.2, *grid, start.copy(), members)
    needed = naive_grid.list_near([tuple(edge) for edge in edges], 0.2, *grid)
    listed = [members[start[cell] : start[cell + 1]] for cell in range(20)]
    assert all(near <= set(found.tolist()) for near, found in zip(needed, listed))
    assert all((np.diff(found) > 0).all() for found in listed)
    assert sum(len(found) for found in listed) < 1.6 * sum(len(near) for near in needed)


@pytest.mark.parametrize("name", SHAPES)
def test_cells_that_no_edge_touches_are_classified_by_their_centre(name: str) -> None:
    areas, _, ground, _ = grids(name)
    inside = naive_grid.classify_cells(
        ground, areas.x[0], areas.y[0], areas.cell[0], int(areas.across[0]), int(areas.up[0])
    )
    kinds = areas.kind[: len(inside)]
    whole = kinds != area_grid.BOUNDARY
    assert whole.any()
    assert np.array_equal(kinds[whole] == area_grid.INSIDE, np.array(inside)[whole])


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", SHAPES)
def test_spots_leave_out_no_cell_in_which_a_disc_may_stand(name: str) -> None:
    areas, walls, ground, region = grids(name)
    coarse = areas._replace(cell=areas.cell.copy())
    found = np.empty(areas.across[1] * areas.up[1], dtype=np.int64)
    count = area_grid.find_spots(coarse, walls, 1, 0.3, found)
    window = (areas.x[1], areas.y[1], areas.cell[1], int(areas.across[1]), int(areas.up[1]))
    needed = naive_grid.find_spots(region, ground, 0.3, *window, grid=2)
    assert needed
    assert needed <= set(found[:count].tolist())
    assert count < 2.0 * len(needed) + 400


def _scene(name: str, count: int, seed: int, fixed: int) -> tuple[Any, Any, Any, packing.Discs, naive.Scene]:
    ground = SHAPES[name][0]
    random = np.random.default_rng(seed)
    radius = random.uniform(0.12, 0.3, count)
    key = random.integers(0, 2**63, count, dtype=np.uint64)
    position = np.full((count, 2), np.nan)
    for row in range(fixed):
        position[row] = ground.representative_point().x + 0.1 * row, ground.representative_point().y
    fixed_rows = ~np.isnan(position[:, 0])
    areas, walls, ground_edges, region_edges = grids(name)
    rows = np.zeros(count, dtype=np.int32)
    spots = placement._spots(areas, walls, rows, radius, fixed_rows)
    discs = placement._discs(ground, rows + 1, key, radius, position.copy(), fixed_rows)
    across, cell = int(areas.across[1]), float(areas.cell[1])
    cells = [
        (float(areas.x[1]) + (at % across) * cell, float(areas.y[1]) + (at // across) * cell, cell)
        for at in spots.cell.tolist()
    ]

    def near(x: float, y: float) -> list[Any]:
        row, column = int((y - areas.y[0]) // areas.cell[0]), int((x - areas.x[0]) // areas.cell[0])
        if not (0 <= row < areas.up[0] and 0 <= column < areas.across[0]):
            return []
        at = row * int(areas.across[0]) + column
        return [ground_edges[index] for index in walls.wall[walls.start[at] : walls.start[at + 1]]]

    scene = naive.Scene(
        ground=ground_edges,
        area=region_edges,
        cells=cells,
        near=near,
        grid=tuple(discs.grid[:3]),
        seed=5,
        margin=0.01,
        key=key.tolist(),
        radius=radius.tolist(),
        fixed=fixed_rows.tolist(),
        x=position[:, 0].tolist(),
        y=position[:, 1].tolist(),
        status=[0] * count,
        drawn=[0] * count,
    )
    return areas, walls, spots, discs, scene


@pytest.mark.parametrize(
    ("name", "count", "seed", "fixed"),
    [
        ("all of it", 30, 1, 0),
        ("L with a hole", 40, 2, 2),
        ("slanted ground", 55, 3, 1),
        ("all of it", 90, 4, 3),
    ],
)
def test_placing_and_pushing_agree_with_the_naive_twin(name: str, count: int, seed: int, fixed: int) -> None:
    areas, walls, spots, discs, scene = _scene(name, count, seed, fixed)
    numbers = (np.uint64(5), np.uint64(int(Stream.POSITION)))
    left = packing.place_in_turn(areas, walls, spots, discs, *numbers, 0.01, 0.01, 12, 300)
    assert left == naive.place_in_turn(scene, 0.01, 12, 300)
    assert discs.status.tolist() == scene.status
    assert np.allclose(discs.x, scene.x, atol=1e-12)
    assert np.allclose(discs.y, scene.y, atol=1e-12)
    crowded = sum(status == packing.CROWDED for status in scene.status)
    waiting = packing.Waiting(
        np.zeros(count, np.int64), np.zeros(2, np.int64), np.zeros(count, np.uint8), np.zeros(count, np.int64)
    )
    steps = 400  # few, so that differences of rounding have no time to grow
    assert packing.push_apart_in_area(
        areas, walls, spots, discs, *numbers, 0.01, 0.002, steps, waiting
    ) == naive.push_apart_in_area(scene, 0.002, steps)
    assert np.allclose(discs.x, scene.x, atol=1e-9)
    assert np.allclose(discs.y, scene.y, atol=1e-9)
    if seed > 1:
        assert crowded > 0  # the pushing was needed


@pytest.mark.parametrize("seed", range(3))
def test_gap_to_others_agrees_with_looking_at_all(seed: int) -> None:
    areas, walls, spots, discs, scene = _scene("all of it", 25, seed, 0)
    packing.place_in_turn(areas, walls, spots, discs, np.uint64(5), np.uint64(1), 0.01, 0.01, 12, 300)
    naive.place_in_turn(scene, 0.01, 12, 300)
    for row in range(25):
        found, expected = (
            packing.gap_to_others(discs, row, discs.x[row], discs.y[row], -np.inf),
            naive.gap_to_others(scene, row, scene.x[row], scene.y[row]),
        )
        assert found == pytest.approx(expected, abs=1e-12) if expected < 0.1 else found >= 0.0
