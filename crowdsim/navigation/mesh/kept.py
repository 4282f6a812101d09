"""A mesh as named arrays, as the cache on disk keeps it: without the lists of walls near each polygon. Those
reach as far as the fastest agent heeds walls, and are made in a small part of the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.walls import Walls, no_walls
from crowdsim.navigation.mesh.mesh import NavMesh

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
