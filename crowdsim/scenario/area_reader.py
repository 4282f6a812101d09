"""Areas of a scenario as polygons, from all the forms in which they are written:
counted against the limits, and what is wrong with each said.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import shapely

from crowdsim.errors import CrowdsimError
from crowdsim.geometry.made_city import ground_of_city
from crowdsim.scenario import schema
from crowdsim.scenario.dxf import drawing_of, pieces_of_dxf
from crowdsim.scenario.files import FileAccess
from crowdsim.scenario.geometry_files import (
    GeometryRefused,
    GridMap,
    Piece,
    grid_map_of,
    movingai_map_of,
    pieces_of_geojson,
    pieces_of_wkt,
)
from crowdsim.scenario.limits import MAX_COORDINATE_M, MAX_GEOMETRY_CHARACTERS, MAX_VERTICES
from crowdsim.scenario.plan_kinds import Kind, kind_of
from crowdsim.scenario.shapes import as_written, circle_corners, cleaned, is_wide, united_on_grid
from crowdsim.scenario.tree import Path, Problems, Refused, clipped, number_text

_REASON = re.compile(r"(?P<reason>[^\[]+)\[(?P<x>\S+) (?P<y>\S+)\]")


class AreaReader:
    """Turns the areas of a scenario into polygons, reporting what is wrong with them.

    Parameters
    ----------
    access : FileAccess
    problems : Problems
    exact : bool
        Take areas as they are written instead of uniting and snapping them: for scenarios that crowdsim
        wrote, so that another version of GEOS cannot change a recorded run.
    """

    def __init__(self, access: FileAccess, problems: Problems, *, exact: bool = False) -> None:
        self.access = access
        self.problems = problems
        self.exact = exact
        self.vertices = 0
        self.characters = 0  # of geometry as text that was read
        self._maps: dict[tuple[str, float], GridMap] = {}  # by file and size of cells
        # on which one walks: where the scenario names them, and the files
        self.grid_maps: list[tuple[Path, str, GridMap]] = []
        self._files: dict[tuple[str, str], list[Piece]] = {}
        self._drawings: dict[str, Any] = {}

    def pieces(self, areas: Any, path: Path, *, obstacles: bool = False) -> list[Piece]:
        """Return the valid polygons of one or several areas.

        Parameters
        ----------
        areas : schema value of type `Areas`
        path : tuple
            Where they stand in the scenario.
        obstacles : bool
            Of a grid map take the obstacles instead of the areas.
        """
        if isinstance(areas, list) and (not areas or not _is_ring(areas)):
            return [
                piece
                for index, area in enumerate(areas)
                for piece in self._pieces_of_one(area, (*path, index), obstacles)
            ]
        return self._pieces_of_one(areas, path, obstacles)

    def obstacles_in(self, areas: Any, path: Path) -> list[Piece]:
        """Return the obstacles that the grid maps among `areas` bring along."""
        if isinstance(areas, list) and not _is_ring(areas):
            return [
                piece for index, area in enumerate(areas) for piece in self.obstacles_in(area, (*path, index))
            ]
        return (
            self._pieces_of_one(areas, path, True)
            if isinstance(areas, schema.S2FileArea) and self.map_of(areas).raster is None
            else []
        )

    def maps_in(self, areas: Any, path: Path) -> list[tuple[Path, str, GridMap]]:
        """Return the grid maps among `areas` that can be read, with where the scenario names them,
        and their files.
        """
        if isinstance(areas, list) and not _is_ring(areas):
            return [found for index, area in enumerate(areas) for found in self.maps_in(area, (*path, index))]
        if not isinstance(areas, (schema.S2FileArea, schema.MapFileArea)):
            return []
        try:
            return [(path, self._file_named(areas), self.map_of(areas))]
        except Refused:  # told where its pieces were asked for
            return []

    def united(self, areas: Any, path: Path) -> Any:
        """Return one valid polygon or multipolygon of one or several areas,
        or None after a problem was added.
        """
        before = len(self.problems.found)
        pieces = self.pieces(areas, path)
        if len(self.problems.found) > before:
            return None
        if not pieces:
            self.problems.add(path, "no area is given", "Give at least one polygon.")
            return None
        return (
            as_written([piece.polygon for piece in pieces])
            if self.exact
            else cleaned(united_on_grid([piece.polygon for piece in pieces]))
        )

    def _pieces_of_one(self, area: Any, path: Path, obstacles: bool) -> list[Piece]:
        if area is None:  # has been reported
            return []
        try:
            found = self._found(area, obstacles)
        except Refused as refused:
            file = self._file_named(area)
            self.problems.add(path, f"{file}: {refused}" if file else str(refused), refused.way_out)
            return []
        name = getattr(area, "name", None)
        good = []
        for piece in found:
            complaint = _misplaced(piece, path) or self.complaint(piece)
            if complaint:
                file = self._file_named(area)
                where = ", ".join(part for part in (file, piece.where) if part)
                self.problems.add(path, f"{where}: {complaint[0]}" if where else complaint[0], complaint[1])
            else:
                good.append(Piece(piece.polygon, name or piece.name, piece.where))
        return good

    @staticmethod
    def _file_named(area: Any) -> str:
        keys = ("wkt_file", "geojson_file", "s2_file", "map_file", "dxf_file")
        return next((value for key in keys if isinstance(value := getattr(area, key, None), str)), "")

    def _found(self, area: Any, obstacles: bool) -> list[Piece]:
        if isinstance(area, list):
            return [Piece(shapely.Polygon(area))]
        if isinstance(area, schema.PolygonArea):
            return [Piece(shapely.Polygon(area.polygon, area.holes))]
        if isinstance(area, schema.BoxArea):
            left, bottom, right, top = area.box
            if not (left < right and bottom < top):
                raise GeometryRefused(
                    f"the box [{', '.join(map(number_text, area.box))}] has no inside",
                    "Write [xmin, ymin, xmax, ymax] with xmin < xmax and ymin < ymax.",
                )
            return [Piece(shapely.box(left, bottom, right, top))]
        if isinstance(area, schema.CircleArea):
            return [
                Piece(
                    shapely.Polygon(
                        circle_corners(area.circle.centre, area.circle.radius, area.circle.corners)
                    )
                )
            ]
        if isinstance(area, schema.CityArea):
            return [Piece(self._made_city(area.city.size, area.city.seed, area.city.block))]
        if isinstance(area, schema.WktArea):
            return pieces_of_wkt(self._counted(area.wkt))
        if isinstance(area, schema.WktFileArea):
            return self._from_file(area.wkt_file, "wkt", pieces_of_wkt)
        if isinstance(area, schema.GeoJsonFileArea):
            return self._from_file(area.geojson_file, "geojson", pieces_of_geojson)
        if isinstance(area, schema.DxfFileArea):
            return self._from_drawing(area)
        found = self.map_of(area)
        if obstacles and found.raster is not None:
            raise GeometryRefused(
                "a map of cells has no obstacles that could be taken from it",
                "Put it under walkable: its walkable cells are the ground.",
            )
        return found.obstacles if obstacles else found.areas

    def map_of(self, area: schema.S2FileArea | schema.MapFileArea) -> GridMap:
        """Return the grid map of a file.

        Raises
        ------
        GeometryRefused or FileRefused
            If it cannot be read.
        """
        is_s2 = isinstance(area, schema.S2FileArea)
        file, cell = (
            (area.s2_file, 0.0)
            if isinstance(area, schema.S2FileArea)
            else (area.map_file, float(area.cell_size))
        )
        if (file, cell) not in self._maps:
            if is_s2 and file.lower().endswith(".map"):
                raise GeometryRefused(
                    "this is a map of the MovingAI benchmark, by its ending", f"Write {{map_file: {file}}}."
                )
            text = self._counted(self.access.read(file))
            self._maps[file, cell] = grid_map_of(text) if is_s2 else movingai_map_of(text, cell)
        return self._maps[file, cell]

    def _from_file(self, name: str, kind: str, read: Callable[[str], list[Piece]]) -> list[Piece]:
        if (kind, name) not in self._files:
            self._files[kind, name] = read(self._counted(self.access.read(name)))
        return self._files[kind, name]

    @staticmethod
    def _made_city(size: float, seed: int, block: float) -> Any:
        try:
            return ground_of_city(float(size), seed, float(block))
        except CrowdsimError as error:
            message, _, way_out = str(error).partition(". ")
            raise GeometryRefused(message, way_out) from None

    def _from_drawing(self, area: schema.DxfFileArea) -> list[Piece]:
        if area.dxf_file not in self._drawings:
            data = self.access.read_bytes(area.dxf_file)
            self._count(len(data))
            self._drawings[area.dxf_file] = drawing_of(data)
        return pieces_of_dxf(self._drawings[area.dxf_file], area.layers, area.unit, area.wall)

    def _counted(self, text: str) -> str:
        self._count(len(text))
        return text

    def _count(self, characters: int) -> None:
        self.characters += characters
        if self.characters > MAX_GEOMETRY_CHARACTERS:
            raise GeometryRefused(
                (
                    f"with this text the scenario has more than {MAX_GEOMETRY_CHARACTERS:,} characters of "
                    "geometry"
                ),
                "Simplify the geometry.",
            )

    def complaint(self, piece: Piece) -> tuple[str, str] | None:
        """Return what is wrong with a polygon and the way out, or None."""
        coordinates = shapely.get_coordinates(piece.polygon)
        self.vertices += len(coordinates)
        if self.vertices > MAX_VERTICES:
            return (
                f"with this polygon the scenario has more than {MAX_VERTICES:,} vertices",
                "Simplify the geometry.",
            )
        if not np.isfinite(coordinates).all():
            return "a coordinate is not a finite number", ""
        if np.abs(coordinates).max(initial=0.0) > MAX_COORDINATE_M:
            return (
                f"a coordinate is {np.abs(coordinates).max():g} m, but may be at most {MAX_COORDINATE_M:g} m",
                "",
            )
        if not is_wide(piece.polygon.convex_hull):
            low, high = coordinates.min(axis=0), coordinates.max(axis=0)
            return (
                f"the polygon between ({low[0]:g}, {low[1]:g}) and ({high[0]:g}, {high[1]:g}) has no inside",
                "Its points lie on one line; give it a width.",
            )
        return None if piece.polygon.is_valid else _invalid(shapely.is_valid_reason(piece.polygon))


def _misplaced(piece: Piece, path: Path) -> tuple[str, str] | None:
    """Return what is wrong with a polygon whose file says that it is something else than the place where it
    is used, and the way out, or None.
    """
    kind = kind_of(piece.kind)
    if "walkable" in path and kind in (Kind.OBSTACLES, Kind.WALLS):
        what, way_out = (
            "an obstacle" if kind is Kind.OBSTACLES else "a wall",
            "Put it into a file of its own, under geometry.obstacles",
        )
    elif "obstacles" in path and kind is Kind.GROUND:
        what, way_out = "ground", "Put it into a file of its own, under geometry.walkable"
    else:
        return None
    return (
        f'is {what}, as its file says ("{clipped(piece.kind)}")',
        f"{way_out}; or make a scenario of the whole file: crowdsim new --plan FILE.",
    )


def _is_ring(areas: list[Any]) -> bool:
    return (
        bool(areas)
        and isinstance(areas[0], list)
        and bool(areas[0])
        and isinstance(areas[0][0], (int, float))
    )


def _invalid(reason: str) -> tuple[str, str]:
    """Return GEOS's reason why a polygon is not valid, in words, with the way out."""
    match = _REASON.match(reason)
    at = f" at ({float(match['x']):.6g}, {float(match['y']):.6g})" if match else ""
    kind = match["reason"].strip() if match else reason
    known = {
        "Self-intersection": (
            "the boundary crosses itself",
            "Put the points into the order in which they follow each other along the boundary.",
        ),
        "Ring Self-intersection": (
            "the boundary touches itself",
            "Split the polygon there into two, or move one of the points.",
        ),
        "Hole lies outside shell": ("a hole lies outside the polygon", "Remove it, or move it inside."),
        "Nested holes": ("a hole lies inside another hole", "Give only the outer one."),
        "Holes are nested": ("a hole lies inside another hole", "Give only the outer one."),
        "Nested shells": ("a polygon lies inside another one", "Give only the outer one."),
        "Duplicate Rings": ("two boundaries are the same", "Give it once."),
        "Interior is disconnected": ("the holes cut the polygon in two", "Give two polygons."),
        "Too few points in geometry component": (
            "the polygon has fewer than 3 different points",
            "Give at least 3.",
        ),
    }
    words, way_out = known.get(kind, (f"the polygon is not valid ({kind})", ""))
    return words + at, way_out
