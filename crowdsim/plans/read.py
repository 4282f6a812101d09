"""Plans from files: DXF, WKT, GeoJSON and grid maps, leniently:
what one cannot walk by is kept, what is no part of a plan is left out and reported.

Of plans in space, OBJ files, the ground is as the scenario itself finds it; people start on its largest
piece.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.plans.drawn import MILLIMETRES_SPAN, Drawn, in_metres, near_the_origin, was
from crowdsim.plans.ground import Found
from crowdsim.printable import counted
from crowdsim.scenario.dxf import HEADER_UNITS, METRES, NO_OUTLINE, drawing_of, entities_of, outline_of
from crowdsim.scenario.files import FileAccess, FileRefused
from crowdsim.scenario.geometry_files import (
    GeometryRefused,
    GridMap,
    grid_map_of,
    json_value,
    movingai_map_of,
    refuse_arcs,
)
from crowdsim.scenario.limits import MAX_VERTICES
from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.plan_kinds import Kind
from crowdsim.scenario.shapes import GRID_M, cleaned

ENDINGS = (".dxf", ".wkt", ".geojson", ".json", ".txt", ".map")
_ADVICE = {
    ".dwg": "Save it as DXF (text, for example in the version of 2013).",
    ".ifc": "Export the storey's plan as DXF, or its slab as OBJ.",
    ".pdf": "Export it as DXF from the program that drew it.",
    ".svg": "Export it as DXF: its lengths have units.",
    ".png": "A picture has no lengths: trace it in a CAD program and save it as DXF.",
    ".jpg": "A picture has no lengths: trace it in a CAD program and save it as DXF.",
    ".shp": "Convert it to GeoJSON: ogr2ogr plan.geojson plan.shp.",
    ".yaml": "That is a scenario: crowdsim run FILE runs it.",
    ".yml": "That is a scenario: crowdsim run FILE runs it.",
}
# properties of a GeoJSON feature that say what it is
_NAMES = ("kind", "layer", "name", "type", "category", "class", "indoor", "room")


def read_plan(path: Path, *, unit: str | None = None, kinds: dict[str, Kind] | None = None) -> Drawn:
    """Return what is drawn in a plan, in metres.

    Parameters
    ----------
    path : Path
        With one of `ENDINGS`.
    unit : str, optional
        A key of `crowdsim.scenario.dxf.METRES`; by default what the file says, or what its size suggests.
    kinds : dict of str to Kind, optional
        What layers are, where their names do not say it.

    Raises
    ------
    CrowdsimError
        If it cannot be read, or nothing is drawn in it.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        advice = _ADVICE.get(
            ending, "Plans are read from .dxf, .wkt, .geojson, .json, .txt and .map (grid maps) and .obj."
        )
        raise CrowdsimError(f'"{path}" is no plan that can be read. {advice}'.replace("FILE", str(path)))
    drawn = Drawn(kinds={layer.casefold(): kind for layer, kind in (kinds or {}).items()})
    try:
        there = path.resolve()
        data = FileAccess(there.parent).read_bytes(there.name)
        scale = METRES[unit] if unit else None
        if ending == ".dxf":
            scale = _read_dxf(drawn, data, unit)
        elif ending == ".wkt":
            _read_wkt(drawn, data.decode("utf-8-sig"))
        elif ending in (".txt", ".map"):
            text = data.decode("utf-8-sig")
            _take_map(drawn, grid_map_of(text) if ending == ".txt" else movingai_map_of(text, 1.0))
            scale = 1.0
        else:
            _read_json(drawn, data.decode("utf-8-sig"))
    except (GeometryRefused, FileRefused) as refused:
        raise CrowdsimError(
            f"{path}: {refused}." + (f"\n    {refused.way_out}" if refused.way_out else "")
        ) from None
    except UnicodeDecodeError:
        raise CrowdsimError(f"{path}: this is no text in UTF-8.") from None
    unknown = [
        layer
        for layer, kind in drawn.kinds.items()
        if kind != Kind.NOTHING and layer not in {known.casefold() for known in drawn.layers}
    ]
    if unknown:
        raise CrowdsimError(
            f'{path}: there is nothing on a layer "{unknown[0]}". There are '
            f"{', '.join(sorted(drawn.layers))}."
        )
    shapes = [shape for _, shape in (*drawn.areas, *drawn.lines)]
    if not shapes:
        raise CrowdsimError(f"{path}: nothing is drawn in it: no outline and no line.")
    coordinates = shapely.get_coordinates(np.array(shapes))
    if not np.isfinite(coordinates).all():
        raise CrowdsimError(f"{path}: a coordinate is not a finite number.")
    if len(coordinates) > MAX_VERTICES:
        raise CrowdsimError(
            f"{path}: it has {len(coordinates):,} corners, but there may be at most {MAX_VERTICES:,}. "
            "Simplify it."
        )
    in_metres(drawn, scale, may_be_degrees=ending in (".geojson", ".json"))
    near_the_origin(drawn)
    return drawn


def _read_wkt(drawn: Drawn, text: str) -> None:
    """Read well-known text: one geometry, or one on each line."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    refuse_arcs("\n".join(lines))
    # A text that is one geometry may run over several lines; else each line is one.
    for part in [text] if _geometry_of(text) is not None else lines:
        geometry = _geometry_of(part)
        if geometry is None:
            raise GeometryRefused(
                f'this is no well-known text: "{part.strip()[:60]}"',
                'For example "POLYGON ((0 0, 9 0, 9 8, 0 0))"; rings end where they begin.',
            )
        drawn.add("", geometry)


def _geometry_of(text: str) -> Any | None:
    with np.errstate(all="ignore"):
        return shapely.from_wkt(text.strip(), on_invalid="ignore") if text.strip() else None


def _read_json(drawn: Drawn, text: str) -> None:
    """Read GeoJSON, whose features say by a property what they are, or a grid map."""
    value = json_value(text)
    if isinstance(value, dict) and "areas" in value and "type" not in value:
        _take_map(drawn, grid_map_of(text))
        return
    if not isinstance(value, dict) or "type" not in value:
        raise GeometryRefused(
            "this is neither GeoJSON nor a grid map",
            'GeoJSON begins like {"type": "FeatureCollection", "features": [...]}.',
        )
    features = value["features"] if isinstance(value.get("features"), list) else [value]
    passed = 0
    for number, feature in enumerate(features):
        properties = feature.get("properties") if isinstance(feature, dict) else None
        names = (
            [str(properties[key]) for key in _NAMES if isinstance(properties.get(key), str)]
            if isinstance(properties, dict)
            else []
        )
        geometry = feature.get("geometry", feature) if isinstance(feature, dict) else None
        if geometry is None:
            continue
        try:
            shape = shapely.geometry.shape(geometry)
        except Exception as error:  # shapely has no list of what broken GeoJSON raises
            raise GeometryRefused(
                f"features[{number}] has no geometry that can be read ({type(error).__name__}: {error})"
            ) from None
        passed += shape.geom_type in ("Point", "MultiPoint")
        drawn.add(next((name for name in names if drawn.kind(name)), names[0] if names else ""), shape)
    if passed:
        drawn.words.append(f"{counted(passed, 'point')} of the file {was(passed)} passed over")


def _take_map(drawn: Drawn, found: GridMap) -> None:
    """Take the open areas and the obstacles of a grid map."""
    for piece in found.areas:
        drawn.add("areas", piece.polygon)
    for piece in found.obstacles:
        drawn.add("obstacles", piece.polygon)
    if found.closed_areas:
        drawn.words.append(
            f"{counted(len(found.closed_areas), 'area')} with available: false "
            f"{was(len(found.closed_areas))} left out"
        )


def _read_dxf(drawn: Drawn, data: bytes, unit: str | None) -> float | None:
    """Read a DXF drawing; return 1.0 where it is in metres now, None where neither the user nor the drawing
    says its unit.
    """
    drawing = drawing_of(data)
    header = HEADER_UNITS.get(int(drawing.header.get("$INSUNITS", 0)))
    scale = METRES[unit or header or "m"]
    left_out: dict[str, int] = {}
    corners = 0
    for entity, layer in entities_of(drawing.modelspace(), None, 0, [0]):
        if entity.dxftype() in NO_OUTLINE or drawn.kind(layer) == Kind.NOTHING:
            continue
        try:
            points, is_closed = outline_of(entity, scale, entity.dxftype())
        except GeometryRefused:
            left_out[entity.dxftype()] = left_out.get(entity.dxftype(), 0) + 1
            continue
        corners += len(points)
        if corners > MAX_VERTICES:
            raise GeometryRefused(f"more than {MAX_VERTICES:,} vertices", "Simplify the drawing.")
        if is_closed:
            drawn.areas.append((layer, shapely.Polygon(points)))
        elif len(points) > 1 and np.ptp(points, axis=0).max() > 0.0:
            drawn.lines.append((layer, shapely.LineString(points)))
    if left_out:
        drawn.words.append(
            "left out, since they are no flat outlines: "
            + ", ".join(f"{counted(number, name)}" for name, number in left_out.items())
        )
    if unit or header is None:
        return 1.0 if unit else None
    left, bottom, right, top = drawn.bounds()
    wide = max(right - left, top - bottom)
    if wide > MILLIMETRES_SPAN and wide / scale > MILLIMETRES_SPAN:
        drawn.words.append(
            f'its header says "{header}", in which it would be {wide:,.0f} m wide: it was taken to be in '
            "millimetres (--unit says otherwise)"
        )
        return METRES["mm"] / scale
    drawn.words.append(f'lengths are in "{header}", as its header says')
    return 1.0


def ground_of_mesh(plan: Path) -> tuple[Drawn, Found, str, float]:
    """Return the largest piece of ground of a mesh in space.

    Parameters
    ----------
    plan : Path
        An OBJ file, in metres.

    Returns
    -------
    drawn : Drawn
        Without parts, with words.
    found : Found
        The largest piece, in plan; people may walk from it to those that it touches.
    up : str
        Which axis of the file points up: y, or z where y gives no ground.
    height : float, m
        Of that ground, in its middle.

    Raises
    ------
    CrowdsimError
        If it has no ground.
    """
    there = plan.resolve()
    if not there.is_file():
        raise CrowdsimError(f'"{plan}": there is no such file.')
    drawn, refused = Drawn(), ""
    for up in ("y", "z"):
        name = json.dumps(there.name, ensure_ascii=False)
        text = (
            f"version: 1\ngeometry: {{surface: {{obj_file: {name}, up: {up}}}}}\n"
            f"groups: [{{name: people, count: 1, height: 0}}]\n"
        )
        try:
            geometry: Any = parse_scenario(text, file=str(plan), folder=there.parent).geometry
        except ScenarioError as error:
            refused = refused or "\n".join(problem.message for problem in error.problems)
            continue
        break
    else:
        raise CrowdsimError(f"{plan}: {refused}")
    if up == "z":
        drawn.words.append("z points up in it")
    sheets: dict[int, list[Any]] = {}
    for patch in geometry.patches:
        sheets.setdefault(patch.sheet, []).append(patch)
    # A floor may have sheets that do not touch, a low gallery in a hall: agents that start on another could
    # not get to the exit.
    largest = max(sheets.values(), key=lambda patches: round(sum(patch.ground.area for patch in patches), 3))
    ground = cleaned(shapely.union_all([patch.ground for patch in largest], grid_size=GRID_M))
    spot = shapely.get_coordinates(ground.representative_point())[:1]
    patch = min(largest, key=lambda each: each.ground.distance(shapely.Point(spot[0])))
    height = float(patch.plane.height(spot)[0])
    if len(sheets) > 1:
        drawn.words.append(
            f"{counted(len(sheets), 'piece')} of ground: people start on the largest and leave there, at a "
            f"height of {height:.2f} m"
        )
    return drawn, Found(ground), up, round(height, 3)


def obj_beside(plan: Path, folder: Path, name: str) -> tuple[str, str | None]:
    """Return how a scenario in a folder names an OBJ file, and the text that has to be written there if the
    file lies elsewhere.
    """
    there, here = plan.resolve(), folder.resolve()
    if there.is_relative_to(here):
        return os.path.relpath(there, here), None
    return f"{name}.obj", there.read_text(encoding="utf-8", errors="replace")
