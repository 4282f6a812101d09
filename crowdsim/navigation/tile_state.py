"""Tiles as named arrays, for saving without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.tile_build import TileMesh


def pack_tiles(tiles: Mapping[int, TileMesh]) -> dict[str, NDArray[Any]]:
    """Return tiles as a few arrays: each array of all tiles end to end, and where each tile's part ends."""
    numbers = sorted(tiles)
    packed: dict[str, NDArray[Any]] = {"tiles": np.array(numbers, dtype=np.int64)}
    for field, like in TileMesh.__annotations__.items():
        parts = [getattr(tiles[number], field) for number in numbers]
        packed[f"tiles.{field}"] = np.concatenate(parts) if parts else _nothing(str(like))
        packed[f"tiles.{field}.ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return packed


def unpack_tiles(packed: Mapping[str, NDArray[Any]]) -> dict[int, TileMesh]:
    """Return the tiles that `pack_tiles` packed."""
    numbers = packed["tiles"].tolist()
    fields = []
    for field in TileMesh._fields:
        parts = np.split(packed[f"tiles.{field}"], packed[f"tiles.{field}.ends"][:-1]) if numbers else []
        fields.append([part.copy() for part in parts])
    return {number: TileMesh(*parts) for number, *parts in zip(numbers, *fields, strict=True)}


def _nothing(like: str) -> NDArray[Any]:
    kinds = {"float64": np.float64, "int32": np.int32, "uint8": np.uint8}
    return np.zeros(0, dtype=next(kind for name, kind in kinds.items() if name in like))
