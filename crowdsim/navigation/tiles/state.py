"""Tiles as named arrays, for saving without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.mesh.build import next_in_polygon
from crowdsim.navigation.tiles.build import BORDER, INNER, TileMesh, can_be_crossed
from crowdsim.navigation.tiles.numbers import MOST_TILES, TileNumbers
from crowdsim.navigation.tiles.seams import MOST_AT_A_PLACE, MOST_SHEETS
from crowdsim.saved import FARTHEST_M, Saved, ascends

MOST_LINE = 10**9  # Column or row of a tile, to either side.
PAIRS = ("vertex", "polygon_slope", "polygon_pace")  # What has two numbers for each.
MOST_PACE = 25.0  # As scenarios may say, of terrain on a stair.
MOST_SLOPE = 1e3  # Metres up for each metre in plan.
STRAIGHT = 1e-6  # Sine of the angle by which a corner of a convex polygon may turn the other way: rounding.


def pack_tiles(tiles: Mapping[int, TileMesh]) -> dict[str, NDArray[Any]]:
    """Return tiles as a few arrays: each array of all tiles end to end, and where each tile's part ends."""
    numbers = sorted(tiles)
    packed: dict[str, NDArray[Any]] = {"tiles": np.array(numbers, dtype=np.int64)}
    for field, like in TileMesh.__annotations__.items():
        parts = [getattr(tiles[number], field) for number in numbers]
        packed[f"tiles.{field}"] = (
            np.concatenate(parts)
            if parts
            else np.zeros((0, 2) if field in PAIRS else 0, dtype=_kind(str(like)))
        )
        packed[f"tiles.{field}.ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return packed


def unpack_tiles(saved: Saved, count: int) -> dict[int, TileMesh]:
    """Return the tiles that `pack_tiles` packed; their numbers are below `count`.

    Raises
    ------
    SavedError
        If there is a tile that no ground has.
    """
    packed: dict[str, NDArray[Any]] = {"tiles": saved.take("tiles", "i8", low=0, high=count - 1)}
    numbers = packed["tiles"]
    saved.require(ascends(numbers), "tiles", "numbers of tiles ascend")
    for field, like in TileMesh.__annotations__.items():
        name = f"tiles.{field}"
        flat = saved.take(name, _kind(str(like)), (None, 2) if field in PAIRS else (None,))
        ends = saved.take(f"{name}.ends", "i8", (len(numbers),), low=0, high=len(flat))
        is_whole = bool(np.all(np.diff(ends) >= 0)) and (int(ends[-1]) if len(ends) else 0) == len(flat)
        saved.require(is_whole, f"{name}.ends", "does not say where the parts of all tiles end")
        packed |= {name: flat, f"{name}.ends": ends}
    tiles = split_tiles(packed)
    for number, tile in tiles.items():
        fault = _fault(tile, count)
        saved.require(not fault, "tiles", f"has tile {number}, {fault}")
    return tiles


def split_tiles(packed: Mapping[str, NDArray[Any]]) -> dict[int, TileMesh]:
    """Return the tiles that `pack_tiles` packed, whatever they hold."""
    fields = []
    for field in TileMesh._fields:
        flat, ends = packed[f"tiles.{field}"], packed[f"tiles.{field}.ends"].tolist()
        fields.append([flat[a:b] for a, b in zip([0, *ends], ends, strict=False)])
    numbers = packed["tiles"].tolist()
    return {number: TileMesh(*parts) for number, *parts in zip(numbers, *fields, strict=True)}


def _fault(tile: TileMesh, count: int) -> str:
    """Return what is wrong with a tile: with the numbers that its arrays have of each other's entries,
    or its polygons; nothing where all is right.
    """
    corners, edges = len(tile.vertex), len(tile.edge_vertex)
    places = (tile.vertex, tile.vertex_height, tile.polygon_height)
    if not all(np.all(np.abs(each) <= FARTHEST_M) for each in places):
        return "which lies nowhere"
    if len(tile.vertex_height) != corners or len(tile.vertex_sheet) != corners:
        return "whose corners have no heights"
    for numbers, low, high, name in (
        (tile.vertex_sheet, 0, MOST_SHEETS * MOST_AT_A_PLACE - 1, "corners"),
        (tile.polygon_start, 0, edges, "polygons"),
        (tile.edge_vertex, 0, corners - 1, "corners"),
        (tile.edge_kind, INNER, BORDER, "kinds of edges"),
        (tile.gap_edge, 0, edges - 1, "gaps"),
        (tile.gap_start, 0, len(tile.gap_tile), "gaps"),
        (tile.gap_tile, 0, count - 1, "gaps"),
    ):
        if numbers.size and not (numbers.min() >= low and numbers.max() <= high):
            return f"whose {name} are out of range"
    if len(tile.edge_kind) != edges:
        return "whose edges have no kinds, or more kinds than there are edges"
    sides, gaps = np.diff(tile.polygon_start), np.diff(tile.gap_start)
    if not len(sides) or tile.polygon_start[0] != 0 or tile.polygon_start[-1] != edges or sides.min() < 3:
        return "whose polygons do not take all edges in turn"
    if (
        len(tile.gap_start) != len(tile.gap_edge) + 1
        or tile.gap_start[0] != 0
        or tile.gap_start[-1] != len(tile.gap_tile)
        or np.any(gaps < 1)
    ):
        return "whose gaps do not take all tiles in turn"
    if len(tile.gap_width) != len(tile.gap_edge) or not np.all(
        (tile.gap_width >= 0.0) & (tile.gap_width <= FARTHEST_M)
    ):
        return "whose gaps have no widths"
    if len(tile.polygon_pace) != len(sides) or not np.all(
        (tile.polygon_pace > 0.0) & (tile.polygon_pace <= MOST_PACE)
    ):
        return "whose polygons have no speeds"
    if len(tile.polygon_height) != len(sides) or not (
        len(tile.polygon_slope) == len(sides) and np.all(np.abs(tile.polygon_slope) <= MOST_SLOPE)
    ):
        return "whose polygons have no planes"
    begin, end = tile.edge_vertex.astype(np.int64), end_vertices(tile).astype(np.int64)
    key, back = begin * corners + end, end * corners + begin
    if (
        len(np.unique(key)) != edges
        or np.any(begin == end)
        or not np.all(np.isin(back[tile.edge_kind == INNER], key))
    ):
        return "whose polygons are not joined"
    a, b, c = tile.vertex[begin], tile.vertex[end], tile.vertex[next_in_polygon(tile.polygon_start, end)]
    along, onward = b - a, c - b
    turn = along[:, 0] * onward[:, 1] - along[:, 1] * onward[:, 0]
    lengths = hypots(along[:, 0], along[:, 1])
    if not lengths.min() > 0.0 or np.any(turn < -STRAIGHT * lengths * hypots(onward[:, 0], onward[:, 1])):
        return "whose polygons are not convex"
    area = np.add.reduceat(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], tile.polygon_start[:-1])
    return "" if np.all(area > 0.0) else "whose polygons have no area"


def end_vertices(tile: TileMesh) -> NDArray[np.int32]:
    """Return where each edge ends, counter-clockwise round its polygon."""
    return next_in_polygon(tile.polygon_start, tile.edge_vertex)


def _kind(like: str) -> str:
    return next(kind for kind in ("float64", "int32", "uint8") if kind in like)


def numbers_from(saved: Saved, size: float) -> TileNumbers:
    """Return the numbers of tiles of a size (m) whose `TileNumbers.table` was saved.

    Raises
    ------
    SavedError
        If there are none, or too many.
    """
    low = [-MOST_LINE, -MOST_LINE, 1, 1]
    high = [MOST_LINE, MOST_LINE, MOST_TILES, MOST_TILES]
    floors = saved.take("floors", "i8", (None, 4), low=low, high=high)
    count = int((floors[:, 2] * floors[:, 3]).sum())
    saved.require(0 < count <= MOST_TILES, "floors", "has no tiles, or too many")
    return TileNumbers(
        size,
        tuple((column, row) for column, row, _, _ in floors.tolist()),
        tuple((columns, rows) for _, _, columns, rows in floors.tolist()),
    )


def are_apart(tiles: list[TileMesh]) -> bool:
    """Return whether no two polygons of tiles lie on the same side of an edge."""
    points, index = np.unique(
        np.concatenate(
            [np.zeros((0, 3)), *(np.column_stack([tile.vertex, tile.vertex_sheet]) for tile in tiles)]
        ),
        axis=0,
        return_inverse=True,
    )
    base = np.cumsum([0, *(len(tile.vertex) for tile in tiles)])
    index = index.reshape(-1)
    keys = [
        (index[base[n] + tile.edge_vertex] * len(points) + index[base[n] + end_vertices(tile)])[
            can_be_crossed(tile.edge_kind)
        ]
        for n, tile in enumerate(tiles)
    ]
    every = np.concatenate([np.zeros(0, dtype=np.int64), *keys])
    return len(np.unique(every)) == len(every)
