"""A mesh as named arrays, as the cache on disk keeps it; and by themselves the lists of walls near each
polygon, which reach as far as the fastest agent heeds walls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.walls import Walls, no_walls
from crowdsim.kernels.disk_cache import kept_arrays
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.mesh.wall_lists import with_lists

_LISTS = ("zone_start", "zone_wall", "reach")


def kept_mesh(mesh: NavMesh, walls: Walls) -> dict[str, NDArray[Any]]:
    """Return a mesh and its walls as named arrays."""
    return {
        **{f"mesh.{name}": np.asarray(each) for name, each in mesh._asdict().items()},
        **{f"walls.{name}": each for name, each in walls._asdict().items() if name not in _LISTS},
    }


def mesh_of_kept(arrays: Mapping[str, NDArray[Any]]) -> tuple[NavMesh, Walls]:
    """Return the mesh that `kept_mesh` gave, and its walls without lists. Nothing is looked at: what is kept
    is trusted as compiled code is.
    """
    fields: dict[str, Any] = {name: arrays[f"mesh.{name}"] for name in NavMesh._fields}
    fields.update({name: float(each) for name, each in fields.items() if not each.ndim})
    lines: dict[str, Any] = {name: arrays[f"walls.{name}"] for name in Walls._fields if name not in _LISTS}
    return NavMesh(**fields), no_walls()._replace(**lines, reach=0.0)


def kept_lists(mesh: NavMesh, walls: Walls, reach: float, key: bytes) -> Walls:
    """Return walls with lists of those within `reach` (m) of each polygon, from the disk cache where they are
    there; `key` is a hash of what the mesh was made of.
    """

    def make() -> dict[str, NDArray[Any]]:
        made = with_lists(mesh, walls, reach)
        return {"zone_start": made.zone_start, "zone_wall": made.zone_wall}

    return walls._replace(**kept_arrays("walls", __file__, [key, repr(reach).encode()], make), reach=reach)
