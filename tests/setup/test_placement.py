"""Random places: no overlap, clear of walls, inside the region, dense where asked,
and the same whatever the order.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from crowdsim.setup import packing
from crowdsim.setup.placement import WALL_MARGIN_M, Placed, place

ROOM = shapely.box(0, 0, 10, 10)
PILLARS = ROOM.difference(
    shapely.union_all([shapely.Point(x, y).buffer(0.6) for x in (3, 7) for y in (3, 7)])
)


def placed(
    ground: Any,
    count: int,
    radius: Any = 0.2,
    region: Any = None,
    seed: int = 1,
    position: NDArray[np.float64] | None = None,
) -> tuple[Placed, NDArray[np.float64]]:
    radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), count).copy()
    key = np.random.default_rng(7).integers(0, 2**63, count, dtype=np.uint64)
    wanted = np.full((count, 2), np.nan) if position is None else position
    return place(
        ground,
        [region if region is not None else ground],
        np.zeros(count, dtype=np.int32),
        key,
        radii,
        wanted,
        seed,
    ), radii


def least_gap(position: NDArray[np.float64], radii: NDArray[np.float64]) -> float:
    points = shapely.points(position)
    first, second = shapely.STRtree(points).query(points, predicate="dwithin", distance=2.0 * radii.max())
    pairs = first < second
    if not pairs.any():
        return np.inf
    first, second = first[pairs], second[pairs]
    return float((np.hypot(*(position[first] - position[second]).T) - radii[first] - radii[second]).min())


def check(ground: Any, found: Placed, radii: NDArray[np.float64], region: Any = None) -> None:
    assert (found.status == packing.PLACED).all()
    assert least_gap(found.position, radii) >= 0.0
    points = shapely.points(found.position)
    assert shapely.contains(region if region is not None else ground, points).all()
    assert shapely.contains(ground, points).all()
    assert (shapely.distance(points, ground.boundary) >= radii + WALL_MARGIN_M - 1e-9).all()


@pytest.mark.parametrize("count", [1, 100, 250, 400])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_up_to_four_a_square_metre_fit_into_a_plain_room(count: int, seed: int) -> None:
    found, radii = placed(ROOM, count, seed=seed)
    check(ROOM, found, radii)


@pytest.mark.parametrize(
    ("ground", "count", "radius", "region"),
    [
        (PILLARS, 300, 0.2, None),
        (ROOM, 150, 0.2, shapely.box(2, 2, 8, 8)),
        (ROOM, 40, 0.2, shapely.box(5, -100, 100, 100)),
        (shapely.Polygon([(0, 0), (60, 60), (60, 60.8), (0, 0.8)]), 100, 0.2, None),
        (shapely.box(0, 0, 300, 0.5), 300, 0.2, None),
        (shapely.MultiPolygon([shapely.box(0, 0, 3, 3), shapely.box(100, 100, 103, 103)]), 60, 0.2, None),
        (shapely.box(395_000.25, 5_268_000.5, 395_010.25, 5_268_010.5), 400, 0.2, None),
        (shapely.box(-1e7, -1e7, 1e7, 1e7), 50, 0.3, None),
    ],
    ids=[
        "pillars",
        "region",
        "region beyond the ground",
        "slanted corridor",
        "narrow corridor",
        "two rooms",
        "far from the origin",
        "a very large ground",
    ],
)
def test_all_kinds_of_ground(ground: Any, count: int, radius: float, region: Any) -> None:
    found, radii = placed(ground, count, radius, region)
    check(ground, found, radii, region)


@pytest.mark.parametrize("seed", range(4))
def test_bodies_of_different_size_are_placed_together(seed: int) -> None:
    radii = np.random.default_rng(seed).choice([0.12, 0.2, 0.6], 180, p=[0.5, 0.45, 0.05])
    found, radii = placed(ROOM, 180, radii, seed=seed)
    check(ROOM, found, radii)


def test_given_positions_are_kept_and_others_keep_clear_of_them() -> None:
    position = np.full((200, 2), np.nan)
    position[::4] = np.random.default_rng(0).uniform(0.5, 9.5, (50, 2))
    found, radii = placed(ROOM, 200, position=position)
    given = ~np.isnan(position[:, 0])
    assert np.array_equal(found.position[given], position[given])
    free = np.flatnonzero(~given)
    gaps = np.hypot(*(found.position[free, None] - found.position[None, given]).transpose(2, 0, 1)) - 0.4
    assert gaps.min() >= 0.0
    assert least_gap(found.position[free], radii[free]) >= 0.0


def test_where_all_positions_are_given_nothing_is_placed() -> None:
    position = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert np.array_equal(placed(ROOM, 2, position=position)[0].position, position)


def test_at_low_density_places_are_uniform_over_the_ground() -> None:
    found, _ = placed(shapely.box(0, 0, 100, 100), 4000)
    counts, _, _ = np.histogram2d(*found.position.T, bins=4, range=[[0, 100], [0, 100]])
    chi_square = ((counts - 250.0) ** 2 / 250.0).sum()
    assert chi_square < 37.7  # 15 degrees of freedom: exceeded by chance once in a thousand seeds


def test_the_same_seed_gives_the_same_places_and_another_seed_others() -> None:
    first, again, other = (placed(ROOM, 300, seed=seed)[0].position for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.isclose(first, other).all(axis=1).any()


@pytest.mark.parametrize("shift", [(16.0, -32.0), (4096.0, 8192.0)])
def test_moving_the_ground_moves_the_places(shift: tuple[float, float]) -> None:
    here, _ = placed(ROOM, 50)
    there, _ = placed(shapely.transform(ROOM, lambda points: points + shift), 50)
    assert np.allclose(there.position - shift, here.position, atol=1e-9)


def test_an_agent_that_does_not_fit_is_marked() -> None:
    crowded, radii = placed(shapely.box(0, 0, 3, 3), 62)
    assert (crowded.status == packing.CROWDED).any()
    assert 20 <= crowded.free_at_once.sum() <= 45
    apart = crowded.status == packing.PLACED
    assert least_gap(crowded.position, radii) < 0.0
    assert not apart.any() or least_gap(crowded.position[apart], radii[apart]) >= 0.0
    homeless, _ = placed(shapely.box(0, 0, 10, 0.41), 3)
    assert (homeless.status == packing.HOMELESS).all()
    assert np.isnan(homeless.position).all()


@pytest.mark.full
def test_a_hundred_thousand_agents_are_placed_in_seconds() -> None:
    placed(ROOM, 400)  # compiled
    start = time.perf_counter()
    found, radii = placed(shapely.box(0, 0, 160, 160), 100_000)
    seconds = time.perf_counter() - start
    assert (found.status == packing.PLACED).all()
    assert least_gap(found.position, radii) >= 0.0
    assert seconds < 20.0  # some 2 s at 3.9 a square metre on a quiet machine


@pytest.mark.full
@pytest.mark.parametrize("seed", range(200))
def test_four_a_square_metre_fit_for_every_seed(seed: int) -> None:
    found, radii = placed(ROOM, 400, seed=seed)
    check(ROOM, found, radii)
