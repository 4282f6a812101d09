"""From ground to a mesh in tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crowdsim.geometry.floor_plans import CLEARANCE_M, Terrain
from crowdsim.geometry.steps import at_once
from crowdsim.navigation.mesh.build import MeshBuild, MeshParameters
from crowdsim.navigation.mesh.plates import Plates, level_ground
from crowdsim.navigation.tiles.build import TileMesh
from crowdsim.navigation.tiles.cut import TileGround
from crowdsim.navigation.tiles.numbers import TileNumbers, numbers_over
from crowdsim.navigation.tiles.parts import CutPlates
from crowdsim.navigation.tiles.plates import PlateCut, cut_plates
from crowdsim.navigation.tiles.tiled_mesh import TiledMesh


@dataclass(frozen=True)
class TiledBuild(MeshBuild):
    """A mesh in tiles with the walls that belong to it."""

    tiles: TiledMesh


def build_tiles(
    ground: Any,
    size: float,
    *,
    openings: Any = None,
    parameters: MeshParameters | None = None,
    wall_reach: float = 5.0,
    terrain: Sequence[Terrain] = (),
) -> tuple[TiledMesh, TileGround]:
    """Build the tiled mesh of level ground.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon, m
        Valid.
    size : float, m
        Side of a tile.
    openings : shapely geometry, optional
    parameters : MeshParameters, optional
    wall_reach : float, m
    terrain : sequence of Terrain
        See `crowdsim.navigation.mesh.build.build_mesh`.

    Returns
    -------
    TiledMesh
    TileGround
        With which `crowdsim.navigation.tiles.build.tile_steps` makes tiles anew.

    Raises
    ------
    NavigationError
        If no mesh can be made, or the tiles are too many.
    """
    parameters = parameters or MeshParameters()
    plates = level_ground(ground, openings, terrain, parameters.terrain_cell)
    numbers = numbers_over([ground], size)
    cuts, _ = at_once(cut_plates(plates, numbers, parameters))
    assert cuts[0].ground is not None
    return TiledMesh(_all_tiles(cuts, parameters, plates.cell), numbers, wall_reach), cuts[0].ground


def build_tiled_plates(
    ground: Plates,
    numbers: TileNumbers,
    *,
    parameters: MeshParameters,
    wall_reach: float,
    clearance: float = CLEARANCE_M,
) -> TiledMesh:
    """Build the tiled mesh of ground that consists of plates.

    Parameters
    ----------
    ground : Plates
    numbers : TileNumbers
        Of its tiles.
    parameters : MeshParameters
    wall_reach, clearance : float, m

    Raises
    ------
    NavigationError
        If no mesh can be made.
    """
    cuts, _ = at_once(cut_plates(ground, numbers, parameters))
    return TiledMesh(_all_tiles(cuts, parameters, ground.cell), numbers, wall_reach, clearance)


def _all_tiles(cuts: Sequence[PlateCut], parameters: MeshParameters, cell: float) -> dict[int, TileMesh]:
    cut = CutPlates(cuts, parameters, cell)
    found = {tile: at_once(cut.steps(tile)) for tile in cut.bits}
    return {tile: content for tile, content in found.items() if content is not None}
