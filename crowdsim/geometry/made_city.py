"""A made city as ground: streets on a net that is a little irregular, avenues across it, squares, houses with
passages and courts.

It is for searches over large ground: it may be as large as one likes, the same seed gives the same city to
the last digit, and all of its ground is connected.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.disk_cache import kept_arrays

STREET_M = (8.0, 16.0)  # Width of streets, from house to house: drawn for each line of the net.
AVENUE_M = 30.0  # Width of avenues across the net.
PASSAGE_M = 4.0  # Width of passages between houses, and of gates of courts.
COURT_DEPTH_M = 14.0  # Depth of a house round a court.
SHIFT = 0.18  # By how much of a block a crossing is moved from its place in the net, at most, in x and in y.
# Blocks that are squares; of others those whose house stands round a court.
SQUARES, COURTS = 0.05, 0.3
# Least area of a house; what is left of a block beside an avenue may be smaller, and is free ground then.
LEAST_HOUSE_M2 = 60.0
LEAST_BLOCK_M, LEAST_BLOCKS = 50.0, 2
MOST_BLOCKS = 50_000  # Some 16 vertices each: a scenario may have a million.
LEAST_KEPT_BLOCKS = 400  # Of a city whose ground goes to the disk cache: it takes some 0.5 s to make.
DIGITS = 2  # Places are whole centimetres.


@dataclass(frozen=True)
class City:
    """A city.

    Attributes
    ----------
    ground : shapely Polygon, m
        Its holes are the houses.
    squares : tuple of (float, float), m
        The middles of its squares, where ground is free.
    """

    ground: Any
    squares: tuple[tuple[float, float], ...]


def make_city(size: float, seed: int = 1, block: float = 100.0) -> City:
    """Make a city.

    Parameters
    ----------
    size : float, m
        Length of its sides.
    seed : int, >= 0
        The same seed gives the same city.
    block : float, m
        From one street to the next, about.

    Raises
    ------
    CrowdsimError
        If the sizes cannot be.
    """
    if not block >= LEAST_BLOCK_M:
        raise CrowdsimError(
            f"blocks of {block:g} m are too small for streets and houses. Take {LEAST_BLOCK_M:g} m or more."
        )
    if not LEAST_BLOCKS * block <= size < math.inf:
        raise CrowdsimError(
            f"a city of {size:g} m has no room for {LEAST_BLOCKS} blocks of {block:g} m in a row. Take a "
            f"size of {LEAST_BLOCKS * block:g} m or more, or smaller blocks."
        )
    count = round(size / block)
    if count * count > MOST_BLOCKS:
        raise CrowdsimError(
            f"a city of {size:g} m has {count * count:,} blocks of {block:g} m, and {MOST_BLOCKS:,} are the "
            "most. Take larger blocks, or a smaller city."
        )
    rng = np.random.default_rng(seed)
    crossing = _crossings(size, count, rng)
    avenues = _avenues(size, count, rng)
    kind = rng.random((count, count))
    is_square = kind < SQUARES
    # one there is, and not at the rim
    is_square[count // 2, count // 2] = True
    houses, squares = list[Any](), list[tuple[float, float]]()
    half = 0.5 * rng.uniform(*STREET_M, (2, count + 1))
    for column in range(count):
        for row in range(count):
            corners = crossing[[column, column + 1, column + 1, column], [row, row, row + 1, row + 1]]
            middle = corners.mean(axis=0)
            if is_square[column, row]:
                squares.append((round(float(middle[0]), DIGITS), round(float(middle[1]), DIGITS)))
                continue
            inset = half[1, row], half[0, column + 1], half[1, row + 1], half[0, column]
            lot = shapely.Polygon(_moved_in(corners, inset))
            for avenue in avenues:
                if lot.intersects(avenue):
                    lot = shapely.difference(lot, avenue)
            has_court = kind[column, row] > 1.0 - COURTS
            for part in shapely.get_parts(lot):
                houses += _houses_on(part, has_court, rng)
    outer = [(0.0, 0.0), (size, 0.0), (size, size), (0.0, size)]
    return City(shapely.Polygon(outer, [house.exterior for house in houses]), tuple(squares))


def ground_of_city(size: float, seed: int = 1, block: float = 100.0) -> Any:
    """Return the ground of a city, that of a large one from the disk cache; see `make_city`."""
    if not size * size >= LEAST_KEPT_BLOCKS * block * block:
        return make_city(size, seed, block).ground

    def make() -> dict[str, NDArray[Any]]:
        return {"wkb": np.frombuffer(shapely.to_wkb(make_city(size, seed, block).ground), dtype=np.uint8)}

    kept = kept_arrays("cities", __file__, [repr((size, seed, block)).encode()], make)
    return shapely.from_wkb(kept["wkb"].tobytes())


def _crossings(size: float, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return where the streets cross, (count + 1, count + 1, 2) m: at the rim only moved along it."""
    line = np.linspace(0.0, size, count + 1)
    found = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    shift = rng.uniform(-SHIFT, SHIFT, found.shape) * (size / count)
    shift[[0, -1], :, 0] = 0.0
    shift[:, [0, -1], 1] = 0.0
    return found + shift


def _avenues(size: float, count: int, rng: np.random.Generator) -> list[Any]:
    """Return avenues from rim to rim, one for each ten blocks, neither along the net nor all of a kind."""
    found = []
    for number in range(max(1, count // 10)):
        low, high = rng.uniform(-0.3, 0.7, 2) * size
        ends = np.array([(-0.1 * size, low), (1.1 * size, high + 0.6 * size)])
        if number % 2:
            ends = ends[:, ::-1] * (-1.0, 1.0) + (size, 0.0)
        along = (ends[1] - ends[0]) / math.hypot(*(ends[1] - ends[0]))
        aside = 0.5 * AVENUE_M * np.array([-along[1], along[0]])
        found.append(shapely.Polygon([ends[0] - aside, ends[1] - aside, ends[1] + aside, ends[0] + aside]))
    return found


def _moved_in(corners: NDArray[np.float64], inset: tuple[float, ...]) -> NDArray[np.float64]:
    """Return the corners of a counter-clockwise quadrangle whose sides have been moved inwards, each by its
    own distance (m).
    """
    side = np.roll(corners, -1, axis=0) - corners
    side /= hypots(*side.T)[:, None]
    begin = corners + np.array(inset)[:, None] * np.column_stack([-side[:, 1], side[:, 0]])
    found = []
    for here in range(4):
        before = here - 1
        apart = begin[here] - begin[before]
        along = (apart[0] * side[here, 1] - apart[1] * side[here, 0]) / (
            side[before, 0] * side[here, 1] - side[before, 1] * side[here, 0]
        )
        found.append(begin[before] + along * side[before])
    return np.array(found)


def _houses_on(lot: Any, has_court: bool, rng: np.random.Generator) -> Iterator[Any]:
    """Return the houses on a convex piece of a block: one round a court, or several with passages between."""
    if lot.area < LEAST_HOUSE_M2:
        return
    if has_court:
        court = lot.buffer(-COURT_DEPTH_M, join_style="mitre")
        if not court.is_empty and court.area > LEAST_HOUSE_M2:
            yield _rounded(_with_gate(lot, court))
            return
    parts = [lot]
    for _ in range(int(rng.integers(1, 5))):
        parts.sort(key=lambda part: part.area)
        largest = parts.pop()
        parts += _halves(largest, float(rng.uniform(0.35, 0.65)))
    for part in parts:
        house = _rounded(part)
        if house.area >= LEAST_HOUSE_M2:
            yield house


def _with_gate(lot: Any, court: Any) -> Any:
    """Return what is left of a lot without its court and a gate from the middle of its longest side."""
    corners = shapely.get_coordinates(lot.exterior)
    longest = int(np.argmax(hypots(*np.diff(corners, axis=0).T)))
    middle = 0.5 * (corners[longest] + corners[longest + 1])
    inside = np.array(court.centroid.coords[0])
    gate = shapely.LineString([middle + (middle - inside), inside]).buffer(0.5 * PASSAGE_M, cap_style="flat")
    return max(
        shapely.get_parts(shapely.difference(lot, shapely.union(court, gate))), key=lambda part: part.area
    )


def _halves(lot: Any, share: float) -> Iterator[Any]:
    """Return the two pieces of a lot on the sides of a passage across its longer side."""
    corners = shapely.get_coordinates(shapely.minimum_rotated_rectangle(lot).exterior)
    sides = np.diff(corners, axis=0)[:2]
    longer = int(np.argmax(hypots(*sides.T)))
    along, across = sides[longer], sides[1 - longer]
    at = corners[longer] + share * along
    passage = shapely.LineString([at - 2.0 * across, at + 2.0 * across]).buffer(
        0.5 * PASSAGE_M, cap_style="flat"
    )
    return iter(shapely.get_parts(shapely.difference(lot, passage)))


def _rounded(house: Any) -> Any:
    """Return a house with its corners at whole centimetres."""
    return shapely.set_precision(house, 10.0**-DIGITS)
