"""Ground from a mesh in space: an OBJ file or polygons with heights, cut to what can be walked on,
as floors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import Plane
from crowdsim.geometry.soup import Soup, repaired
from crowdsim.geometry.surface import STEP_M, Patch, SurfaceRules, walkable_patches
from crowdsim.kernels.disk_cache import kept_arrays
from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.files import FileRefused
from crowdsim.scenario.geometry import Floor, Geometry, seen_from_above
from crowdsim.scenario.limits import MAX_COORDINATE_M, MAX_FACES
from crowdsim.scenario.shapes import GRID_M
from crowdsim.scenario.tree import Path, Problems
from crowdsim.scenario.triangle_files import read_triangles

_PATH: Path = ("geometry", "surface")
_LEAST_OVERLAP_M2 = 1e-6
# Sheets smaller than this are put with a floor of another height rather than made one of their own.
SCRAP_M2 = 4.0
LEAST_KEPT_FACES = 1000  # Of a mesh whose ground is kept on disk: it takes some second to find.


def resolve_surface(
    shape: schema.GeometryShape, reader: AreaReader, problems: Problems, notes: Problems
) -> Geometry | None:
    """Return the ground of a mesh in space, or None where there are problems.

    Parameters
    ----------
    shape : GeometryShape
    reader : AreaReader
    problems : Problems
        Receives mistakes.
    notes : Problems
        Receives what was repaired.
    """
    surface = shape.surface
    assert surface is not None
    given = [key for key in ("obj_file", "polygons", "patches") if getattr(surface, key) is not None]
    if len(given) != 1:
        problems.add(
            _PATH, "exactly one of obj_file and polygons says what the surface is", "Give one of them."
        )
        return None
    if surface.patches is not None:
        patches = [_patch(each) for each in surface.patches]
        return as_floors(
            patches,
            np.array(surface.floors, dtype=np.int32),
            float(shape.clearance),
            STEP_M if surface.step is None else float(surface.step),
        )
    try:
        vertices, faces = (
            read_triangles(surface.obj_file, reader.access, surface.up)[:2]
            if surface.obj_file is not None
            else _of_polygons(surface.polygons or ())
        )
        if len(faces) > MAX_FACES:
            problems.add(
                _PATH, f"has {len(faces):,} faces, but there may be at most {MAX_FACES:,}", "Simplify it."
            )
            return None
        if np.abs(vertices).max(initial=0.0) > MAX_COORDINATE_M:
            problems.add(
                _PATH,
                f"a coordinate is {np.abs(vertices).max():g} m, but may be at most {MAX_COORDINATE_M:g} m",
            )
            return None
        soup = repaired(vertices, faces)
        patches = _kept_patches(soup, SurfaceRules(float(surface.steepest), float(shape.clearance)))
    except FileRefused as refused:
        problems.add((*_PATH, "obj_file"), f"{surface.obj_file}: {refused}", refused.way_out)
        return None
    except NavigationError as error:
        problems.add(
            (*_PATH, given[0]), f"{surface.obj_file}: {error}" if surface.obj_file is not None else str(error)
        )
        return None
    for repair in soup.repairs:
        notes.add((*_PATH, given[0]), repair)
    if not patches:
        is_file = surface.obj_file is not None and surface.up == "y"
        problems.add(
            _PATH,
            (
                f"no face looks up, rises by at most {surface.steepest:g} m a metre, and has "
                f"{shape.clearance:g} m of height above it"
            ),
            (
                "Is z up in the file? Then say up: z."
                if is_file
                else "Polygons run counter-clockwise seen from above."
            ),
        )
        return None
    return as_floors(patches, _floors_of(patches, float(shape.clearance)), float(shape.clearance))


def _kept_patches(soup: Soup, rules: SurfaceRules) -> list[Patch]:
    """Return the ground of a mesh; that of a large one is kept on disk,
    under a hash of the mesh and the rules.
    """
    if len(soup.faces) < LEAST_KEPT_FACES:
        return walkable_patches(soup, rules)

    def make() -> dict[str, NDArray[Any]]:
        patches = walkable_patches(soup, rules)
        _, coordinates, offsets = shapely.to_ragged_array([patch.ground for patch in patches])
        planes = np.array(
            [[*patch.plane.place, *patch.plane.slope] for patch in patches], dtype=np.float64
        ).reshape(-1, 5)
        sheets = np.array([patch.sheet for patch in patches], dtype=np.int64)
        return {
            "coordinates": coordinates,
            "rings": offsets[0],
            "polygons": offsets[1],
            "planes": planes,
            "sheets": sheets,
        }

    kept = kept_arrays(
        "surfaces", __file__, [soup.vertices.tobytes(), soup.faces.tobytes(), repr(rules).encode()], make
    )
    grounds = shapely.from_ragged_array(
        shapely.GeometryType.POLYGON, kept["coordinates"], (kept["rings"], kept["polygons"])
    )
    planes = [Plane((x, y, z), (along_x, along_y)) for x, y, z, along_x, along_y in kept["planes"].tolist()]
    return [
        Patch(ground, plane, sheet)
        for ground, plane, sheet in zip(grounds, planes, kept["sheets"].tolist(), strict=True)
    ]


def _patch(shape: schema.PatchShape) -> Patch:
    x, y, z, along_x, along_y = shape.plane
    return Patch(shapely.from_wkt(shape.wkt), Plane((x, y, z), (along_x, along_y)), shape.sheet)


def _of_polygons(
    polygons: Sequence[Sequence[Sequence[float]]],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return vertices and triangles of convex polygons in space."""
    vertices: list[Sequence[float]] = []
    faces = []
    for polygon in polygons:
        first = len(vertices)
        vertices += polygon
        faces += [[first, first + k, first + k + 1] for k in range(1, len(polygon) - 1)]
    return np.array(vertices, dtype=np.float64).reshape(-1, 3), np.array(faces, dtype=np.int64).reshape(-1, 3)


def _mean_height(patches: Sequence[Patch]) -> float:
    area = np.array([patch.ground.area for patch in patches])
    height = np.array(
        [patch.plane.height(shapely.get_coordinates(patch.ground.centroid))[0] for patch in patches]
    )
    return float((area * height).sum() / area.sum())


def _floors_of(patches: Sequence[Patch], clearance: float) -> NDArray[np.int32]:
    """Return the floor of each sheet: sheets at about one height that nowhere lie above each other are one
    floor; floors come from below upwards.
    """
    sheets: dict[int, list[Patch]] = {}
    for patch in patches:
        sheets.setdefault(patch.sheet, []).append(patch)
    plan = {
        number: shapely.union_all([patch.ground for patch in own], grid_size=GRID_M)
        for number, own in sheets.items()
    }
    height = {number: _mean_height(own) for number, own in sheets.items()}
    floors: list[list[int]] = []
    for number in sorted(sheets, key=lambda number: (-plan[number].area, number)):
        for floor in floors:
            is_near = abs(height[number] - height[floor[0]]) < clearance or plan[number].area < SCRAP_M2
            if is_near and all(
                shapely.area(shapely.intersection(plan[number], plan[other])) <= _LEAST_OVERLAP_M2
                for other in floor
            ):
                floor.append(number)
                break
        else:
            floors.append([number])
    layer = np.zeros(max(sheets) + 1, dtype=np.int32)
    for place, floor in enumerate(sorted(floors, key=lambda floor: (height[floor[0]], floor[0]))):
        layer[floor] = place
    return layer


def as_floors(
    patches: Sequence[Patch],
    layers: NDArray[np.int32],
    clearance: float,
    step: float = STEP_M,
    heights: Sequence[float] = (),
) -> Geometry:
    """Return ground of patches.

    Parameters
    ----------
    patches : sequence of Patch
    layers : (sheets,) int32
        Floor of each sheet.
    clearance : float, m
        Free height above all of it.
    step : float, m
        Up to which difference in height patches of different sheets are joined.
    heights : sequence of float, m
        About how high each floor lies, where some may have no ground now.
    """
    floors = []
    for layer in range(len(heights) or int(layers.max()) + 1):
        own = [patch for patch in patches if layers[patch.sheet] == layer]
        ground = shapely.union_all([patch.ground for patch in own], grid_size=GRID_M)
        floors.append(
            Floor(
                f"floor {layer + 1}",
                shapely.orient_polygons(ground, exterior_cw=False) if own else shapely.Polygon(),
                Plane((0.0, 0.0, heights[layer] if len(heights) else _mean_height(own))),
            )
        )
    return Geometry(
        seen_from_above(tuple(floors)),
        (),
        tuple(floors),
        clearance,
        tuple(patches),
        tuple(layers.tolist()),
        step,
    )
