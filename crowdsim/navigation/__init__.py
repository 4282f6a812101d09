"""Where may one walk, and how does one get there? Plain functions on arrays that know nothing of the world.

In: walkable ground as shapely polygons, goals, agents as radii and positions. Out: meshes, paths as corridors
or waypoints, the next corner, the position after a step. This is the front door; each name is imported when
it is first used.

One package a question: `mesh` (where can an agent walk?), `goals` (where does a path end?), `tiles` (which
part of the mesh is what while the ground changes?), `corridor` (where next along a path?), `search` (which
portals?), `planning` (which request is served when?), `visibility` (shortest paths over corners),
`hierarchy` (paths over large ground), `stationary` (paths round stationary agents), `grid` (paths over
cells), `local_grid` (a path round what stands just ahead).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdsim.front_doors import names_from

if TYPE_CHECKING:
    from crowdsim.navigation.corridor.curve import curve_through
    from crowdsim.navigation.corridor.measure import measure_corridors
    from crowdsim.navigation.corridor.walk import walk_many
    from crowdsim.navigation.goals.goals import GoalShape, cut_goals
    from crowdsim.navigation.grid.grid import build_grid
    from crowdsim.navigation.grid.planner import GridPlanner
    from crowdsim.navigation.hierarchy.planner import HierarchicalPlanner
    from crowdsim.navigation.mesh.build import MeshBuild, MeshParameters, build_mesh
    from crowdsim.navigation.mesh.mesh import NavMesh, is_in_sight, locate
    from crowdsim.navigation.planning.mesh_planner import MeshPlanner
    from crowdsim.navigation.planning.protocol import Planner
    from crowdsim.navigation.tiles.make import build_tiles
    from crowdsim.navigation.tiles.tiled_mesh import TiledMesh
    from crowdsim.navigation.visibility.planner import VisibilityPlanner

__all__ = [
    "GoalShape", "GridPlanner", "HierarchicalPlanner", "MeshBuild", "MeshParameters", "MeshPlanner",
    "NavMesh", "Planner", "TiledMesh", "VisibilityPlanner", "build_grid", "build_mesh", "build_tiles",
    "curve_through", "cut_goals", "is_in_sight", "locate", "measure_corridors", "walk_many",
]  # fmt: skip

__getattr__, __dir__ = names_from(
    __name__,
    {
        "corridor.curve": ("curve_through",),
        "corridor.measure": ("measure_corridors",),
        "corridor.walk": ("walk_many",),
        "goals.goals": ("GoalShape", "cut_goals"),
        "grid.grid": ("build_grid",),
        "grid.planner": ("GridPlanner",),
        "hierarchy.planner": ("HierarchicalPlanner",),
        "mesh.build": ("MeshBuild", "MeshParameters", "build_mesh"),
        "mesh.mesh": ("NavMesh", "is_in_sight", "locate"),
        "planning.mesh_planner": ("MeshPlanner",),
        "planning.protocol": ("Planner",),
        "tiles.make": ("build_tiles",),
        "tiles.tiled_mesh": ("TiledMesh",),
        "visibility.planner": ("VisibilityPlanner",),
    },
)
