"""Salted handles of mesh polygons: salt | tile | polygon in an int64.

A handle names a polygon of one version of a tile. When a tile is removed its salt goes up, so that whatever
still has an old handle finds out instead of walking on ground that is gone ([Mononen 2010], "Detour
Handles"). 0 is the null handle; salts start at 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

POLYGON_BITS = 28  # 268 million polygons a tile
TILE_BITS = 20  # a million tiles; 15 bits are left for the salt, the sign bit stays clear
SALT_BITS = 63 - TILE_BITS - POLYGON_BITS
NULL = 0
FIRST_SALT = 1
_POLYGON_MASK = (1 << POLYGON_BITS) - 1
_TILE_MASK = (1 << TILE_BITS) - 1
LAST_SALT = (1 << SALT_BITS) - 1


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


def next_salt(salt: int) -> int:
    """Return the salt of a tile once it was removed;
    after the last (32,767) the first comes again, never 0.
    """
    return salt + 1 if salt < LAST_SALT else FIRST_SALT


def find_polygons(
    handle: NDArray[np.int64], salt: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the polygons that handles name.

    Parameters
    ----------
    handle : (n,) int64
        Of whatever age.
    salt : (tiles,) int64
        Salts that tiles have now.
    first : (tiles + 1,) int64
        First polygon of each tile among those of all; a tile that is not there has none.

    Returns
    -------
    (n,) int64
        -1 for stale handles: null, of a tile that was removed or replaced since, or of one that never was.
        Twin: `tests/reference/handles.py`.
    """
    tile, polygon = tile_of(handle), polygon_of(handle)
    known = tile < len(salt)
    tile = np.where(known, tile, 0)
    is_fresh = (
        known & (handle > NULL) & (salt_of(handle) == salt[tile]) & (polygon < first[tile + 1] - first[tile])
    )
    found: NDArray[np.int64] = np.where(is_fresh, first[tile] + polygon, -1)
    return found
