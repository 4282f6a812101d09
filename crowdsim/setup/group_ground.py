"""The ground as a group uses it: what a navigation forbids and prices, on the mesh and on cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.navigation.mesh.group_ground import GroupGround
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.search.ground_filter import GroundFilter
from crowdsim.scenario.geometry import Geometry
from crowdsim.scenario.parameters import Chosen
from crowdsim.setup.tiled_ground import terrain_of

# what a metre costs at points, (n, 2) m, of floors, (n,)
Weigh = Callable[[NDArray[np.float64], NDArray[np.int32]], NDArray[np.float64]]


def has_filter(chosen: Chosen) -> bool:
    """Return whether a navigation forbids or prices some ground."""
    said = chosen.parameters(GroundFilter)
    return bool(said.forbid or said.allow or _prices(chosen))


def group_ground(
    geometry: Geometry,
    mesh: NavMesh,
    chosen: Chosen,
    weigh: Weigh | None = None,
) -> GroupGround | None:
    """Return the ground of the agents with a navigation; None where that is all there is.

    Parameters
    ----------
    geometry : Geometry
    mesh : NavMesh
        Of it, as it is now; its polygons end at the borders of terrain.
    chosen : Chosen
        One of `Scenario.navigations`.
    weigh : callable, optional
        Returns what a metre costs at points, (n, 2) m, of floors, (n,).
    """
    if not has_filter(chosen) and weigh is None:
        return None
    said, prices = chosen.parameters(GroundFilter), _prices(chosen)
    barred = np.full(mesh.polygon_count, bool(said.allow))
    middle = middles_of(mesh)
    price = np.ones(mesh.polygon_count) if weigh is None else weigh(middle, mesh.polygon_layer)
    for layer in range(len(geometry.grounds)):
        floor = np.flatnonzero(mesh.polygon_layer == layer)
        for each in terrain_of(geometry, layer):
            if each.kind:
                own = floor[_held(each, middle[floor])]
                barred[own] = _is_forbidden(each, said)
                price[own] *= prices.get(each.name, 1.0)
    return GroupGround(mesh, barred, price)


def middles_of(mesh: NavMesh) -> NDArray[np.float64]:
    """Return a point inside each polygon, (np, 2) m."""
    corner = mesh.vertex[mesh.edge_vertex, :2]
    middle: NDArray[np.float64] = np.add.reduceat(corner, mesh.polygon_start[:-1], axis=0)
    return middle / np.diff(mesh.polygon_start)[:, None]


def forbidden_areas(geometry: Geometry, chosen: Chosen) -> list[tuple[int, Any]]:
    """Return what a navigation forbids as shapes in plan (shapely, m), each with the number of its floor."""
    said, found = chosen.parameters(GroundFilter), list[tuple[int, Any]]()
    for layer, ground in enumerate(geometry.grounds):
        terrain = terrain_of(geometry, layer)
        if said.allow:
            allowed = shapely.union_all([each.area for each in terrain if not _is_forbidden(each, said)])
            area = shapely.difference(ground, allowed)
        else:
            area = shapely.union_all([each.area for each in terrain if _is_forbidden(each, said)])
        parts = [each for each in shapely.get_parts(area) if each.geom_type == "Polygon"]
        if parts:
            found.append((layer, shapely.multipolygons(parts)))
    return found


def priced_terrain(terrain: tuple[Terrain, ...], chosen: Chosen) -> list[Terrain]:
    """Return terrain with the speeds with which one would walk there if time were what metres cost."""
    prices = _prices(chosen)
    return [replace(each, speed=each.speed / prices.get(each.name, 1.0)) for each in terrain]


def _prices(chosen: Chosen) -> dict[str, float]:
    return dict(chosen.values.get("prices", ()))


def _is_forbidden(terrain: Terrain, said: GroundFilter) -> bool:
    return terrain.name not in said.allow if said.allow else terrain.name in said.forbid


def _held(terrain: Terrain, points: NDArray[np.float64]) -> NDArray[np.bool_]:
    shapely.prepare(terrain.area)
    held: NDArray[np.bool_] = shapely.contains_xy(terrain.area, points[:, 0], points[:, 1])
    return held
