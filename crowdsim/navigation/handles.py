"""Salted handles of mesh polygons: salt | tile | polygon in an int64.

A handle names a polygon of one version of a tile. When a tile is removed its salt goes up, so that whatever still holds an old handle finds out
instead of walking on ground that is gone (S1, "Detour Handles"). 0 is the null handle; salts start at 1.
"""

from __future__ import annotations

from typing import Any

POLYGON_BITS = 28  # 268 million polygons a tile
TILE_BITS = 20  # a million tiles; 15 bits are left for the salt, the sign bit stays clear
NULL = 0
_POLYGON_MASK = (1 << POLYGON_BITS) - 1
_TILE_MASK = (1 << TILE_BITS) - 1


def pack(salt: Any, tile: Any, polygon: Any) -> Any:
    """Return the handle of a polygon; integers or int64 arrays."""
    return (salt << (TILE_BITS + POLYGON_BITS)) | (tile << POLYGON_BITS) | polygon


def salt_of(handle: Any) -> Any:
    """Return the salt in a handle."""
    return handle >> (TILE_BITS + POLYGON_BITS)


def tile_of(handle: Any) -> Any:
    """Return the tile in a handle."""
    return (handle >> POLYGON_BITS) & _TILE_MASK


def polygon_of(handle: Any) -> Any:
    """Return the polygon's index in its tile."""
    return handle & _POLYGON_MASK
