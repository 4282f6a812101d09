"""Where can an agent walk? Convex polygons that share whole edges,
and what is known of them before a path is requested.

In: walkable ground as shapely polygons or triangles in space, floors and how they meet, terrain. Out: a
`MeshBuild`, whose `NavMesh` is a named tuple of flat arrays that kernels read, with the walls and the list of
those near each polygon. Positions are found on it by `mesh.locate`.

Reading order: `mesh` (the arrays, and queries on them), `build` (from ground to mesh: `merge`, `terrain`,
`wall_lists`, `point_location`, `vertex_clearance`), `floors` and `surface_mesh` (ground of several floors and
in space; `floor_seams` is where two meet), `slopes` (what a metre costs), `kept` (the arrays on disk).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdsim.front_doors import names_from

if TYPE_CHECKING:
    from crowdsim.navigation.mesh.build import MeshBuild, MeshParameters, build_mesh
    from crowdsim.navigation.mesh.mesh import NavMesh, is_in_sight, locate

__all__ = ["MeshBuild", "MeshParameters", "NavMesh", "build_mesh", "is_in_sight", "locate"]

__getattr__, __dir__ = names_from(
    __name__,
    {"build": ("MeshBuild", "MeshParameters", "build_mesh"), "mesh": ("NavMesh", "is_in_sight", "locate")},
)
