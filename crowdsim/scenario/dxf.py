"""Areas from DXF drawings: closed outlines on chosen layers, and lines as thin walls.
Needs the extra `dxf` (ezdxf).

What is read: LWPOLYLINE, POLYLINE (in a plane), LINE, ARC, CIRCLE, ELLIPSE and SPLINE of the model space,
those in blocks too. Arcs become chords. What has no outline (texts, dimensions, points, pictures, hatches of
outlines that are drawn anyway) is passed over; what has one that is not understood is refused.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.scenario.geometry_files import GeometryRefused, Piece
from crowdsim.scenario.limits import MAX_VERTICES
from crowdsim.scenario.tree import clipped, listed, suggestion

# lengths of the units
METRES = {
    "mm": 0.001,
    "cm": 0.01,
    "dm": 0.1,
    "m": 1.0,
    "km": 1000.0,
    "in": 0.0254,
    "ft": 0.3048,
    "yd": 0.9144,
}
# $INSUNITS: DXF reference, "HEADER Section Group Codes"
HEADER_UNITS = {1: "in", 2: "ft", 4: "mm", 5: "cm", 6: "m", 7: "km", 10: "yd", 14: "dm"}
ARC_M = 0.005  # How far a chord may be from its arc: as for circles in a scenario, of 32 corners and 1 m.
# Corners lie on the grid on which all ground is: sines of arcs differ in the last digit between processors.
SNAP_M = 2.0**-20
CLOSED_M = 1e-6  # Ends of an outline this near to each other are one point.
# Blocks can hold blocks: a small file can say a million times the same. Some 50 us each.
MOST_ENTITIES = 200_000
MOST_BLOCKS = 16  # Blocks within blocks.
_OUTLINES = ("LWPOLYLINE", "POLYLINE", "LINE", "ARC", "CIRCLE", "ELLIPSE", "SPLINE")
NO_OUTLINE = (
    "TEXT", "MTEXT", "ATTDEF", "ATTRIB", "DIMENSION", "ARC_DIMENSION", "LARGE_RADIAL_DIMENSION", "LEADER",
    "MULTILEADER", "MLEADER", "TOLERANCE", "POINT", "IMAGE", "WIPEOUT", "HATCH", "MPOLYGON", "VIEWPORT",
    "LIGHT", "SUN", "OLE2FRAME", "OLEFRAME", "ACAD_TABLE", "PDFUNDERLAY", "DWFUNDERLAY", "DGNUNDERLAY",
)  # fmt: skip


def pieces_of_dxf(
    drawing: Any, layers: Sequence[str], unit: str | None = None, wall: float | None = None
) -> list[Piece]:
    """Return the areas on some layers of a DXF drawing.

    Parameters
    ----------
    drawing : ezdxf Drawing
        See `drawing_of`.
    layers : sequence of str
        Their names; upper and lower case are the same, as in DXF.
    unit : str, optional
        Of the drawing, a key of `METRES`; by default that of its header.
    wall : float, m, optional
        How thick lines that enclose nothing are as walls; without it they are refused.

    Returns
    -------
    list of Piece
        In metres, in the order of the drawing, named after their layers.

    Raises
    ------
    GeometryRefused
        If it has no such layer or no unit, or there is something on a layer that is no area.
    """
    scale = METRES[unit or _unit_of(drawing)]
    entities = list(entities_of(drawing.modelspace(), None, 0, [0]))
    known = {layer.casefold(): layer for _, layer in entities}
    for layer in layers:
        if layer.casefold() not in known:
            there = f"There are {listed(sorted(known.values()))}." if known else ""
            raise GeometryRefused(
                f'there is nothing on a layer "{clipped(layer)}"', suggestion(layer, known.values()) or there
            )
    wanted = {layer.casefold() for layer in layers}
    pieces, corners = [], 0
    for entity, layer in entities:
        if layer.casefold() not in wanted or entity.dxftype() in NO_OUTLINE:
            continue
        where = f'{entity.dxftype()} {_handle(entity)} on layer "{layer}"'
        points, is_closed = outline_of(entity, scale, where)
        corners += len(points)
        if corners > MAX_VERTICES:
            raise GeometryRefused(f"more than {MAX_VERTICES:,} vertices", "Simplify the drawing.")
        if not np.isfinite(points).all():
            raise GeometryRefused(f"{where} has a coordinate that is not a finite number")
        pieces += [Piece(area, layer, where) for area in _areas(points, is_closed, wall, where)]
    if not pieces:
        raise GeometryRefused(
            f"there is no outline on {'layer' if len(layers) == 1 else 'layers'} {listed(layers)}",
            "Name a layer with closed polylines.",
        )
    return pieces


def drawing_of(data: bytes) -> Any:
    """Return a DXF drawing, as ezdxf knows it.

    Parameters
    ----------
    data : bytes
        The file: text in any code page.

    Raises
    ------
    GeometryRefused
        If it is no DXF drawing, or damaged.
    CrowdsimError
        If ezdxf is not installed.
    """
    try:
        from ezdxf import recover
        from ezdxf.lldxf.const import DXFError
    except ImportError:
        raise CrowdsimError(
            "reading DXF files needs ezdxf, which is not installed: pip install 'crowdsim[dxf]'"
        ) from None
    if data.startswith(b"AutoCAD Binary DXF"):
        raise GeometryRefused(
            "this is a binary DXF drawing", "Save it as text: DXF, for example in the version of 2013."
        )
    # ezdxf would read what is left of it, and walls would be missing
    if not data.rstrip(b"\0 \r\n\t\x1a").endswith(b"EOF"):
        raise GeometryRefused(
            "this is no DXF drawing, or it is cut off: it does not end with EOF", "Save it as DXF anew."
        )
    try:
        drawing, audit = recover.read(io.BytesIO(data))
    except DXFError as error:
        raise GeometryRefused(
            f"this is no DXF drawing that can be read: {error}",
            "Save it as DXF anew, for example in the version of 2013.",
        ) from None
    except Exception as error:  # ezdxf has no list of what broken files raise
        raise GeometryRefused(
            f"this is no DXF drawing that can be read ({type(error).__name__}: {error})",
            "Save it as DXF anew.",
        ) from None
    if audit.has_errors:
        raise GeometryRefused(f"the drawing is damaged: {audit.errors[0].message}", "Save it as DXF anew.")
    return drawing


def _unit_of(drawing: Any) -> str:
    code = int(drawing.header.get("$INSUNITS", 0))
    if code not in HEADER_UNITS:
        said = (
            "does not say in which unit it is drawn"
            if code == 0
            else f"is drawn in a unit ($INSUNITS {code}) that nobody builds in"
        )
        raise GeometryRefused(f"the drawing {said}", f"Say it: unit: {', '.join(METRES)}.")
    return HEADER_UNITS[code]


def entities_of(found: Any, within: str | None, depth: int, count: list[int]) -> Iterator[tuple[Any, str]]:
    """Yield the entities of a drawing, those in blocks as they are placed, and the layer of each;
    what a block has on layer 0 is on that of the block.
    """
    for entity in found:
        count[0] += 1
        if count[0] > MOST_ENTITIES:
            raise GeometryRefused(
                (
                    f"the drawing has more than {MOST_ENTITIES:,} entities, those in blocks counted where "
                    "they stand"
                ),
                "Simplify the drawing.",
            )
        layer = str(entity.dxf.layer)
        if within is not None and layer == "0":
            layer = within
        if entity.dxftype() != "INSERT":
            yield entity, layer
            continue
        if depth >= MOST_BLOCKS:
            raise GeometryRefused(
                f"blocks are nested more than {MOST_BLOCKS} deep", "Resolve the blocks in the drawing."
            )
        if entity.mcount > MOST_ENTITIES:
            raise GeometryRefused(
                f"INSERT {_handle(entity)} repeats a block {entity.mcount:,} times", "Simplify the drawing."
            )
        for placed in entity.multi_insert() if entity.mcount > 1 else (entity,):
            yield from entities_of(placed.virtual_entities(), layer, depth + 1, count)


def _handle(entity: Any) -> str:
    """Return the handle of an entity; of one that a block holds, that of its original."""
    origin = getattr(entity, "origin_of_copy", None)
    handle = entity.dxf.handle or (origin.dxf.handle if origin is not None else None)
    return str(handle) if handle else "in a block"


def outline_of(entity: Any, scale: float, where: str) -> tuple[NDArray[np.float64], bool]:
    """Return the corners of an entity, (n, 2) m, and whether they enclose something."""
    from ezdxf.path import make_path

    if entity.dxftype() not in _OUTLINES or (
        entity.dxftype() == "POLYLINE" and not (entity.is_2d_polyline or entity.is_3d_polyline)
    ):
        raise GeometryRefused(
            f"{where} is no outline that can be read",
            "Draw it as a closed polyline, or move it to a layer that is not named.",
        )
    try:
        path = make_path(entity)
    except Exception as error:  # ezdxf has no list of what outlines that no program draws raise
        raise GeometryRefused(
            f"{where} is no outline that can be read ({type(error).__name__}: {error})",
            "Draw it anew, or delete it.",
        ) from None
    points = (
        np.array([(p.x, p.y, p.z) for p in path.flattening(ARC_M / scale)], dtype=np.float64).reshape(-1, 3)
        * scale
    )
    if not len(points):
        raise GeometryRefused(f"{where} has no points", "Delete it.")
    heights = points[:, 2]
    if np.isfinite(heights).all() and np.ptp(heights) > CLOSED_M:
        raise GeometryRefused(
            f"{where} has heights from {heights.min():g} to {heights.max():g} m",
            "Plans are flat: draw it in one plane.",
        )
    flat = points[:, :2]
    is_closed = len(flat) > 2 and bool(np.abs(flat[0] - flat[-1]).max() <= CLOSED_M)
    return np.round(flat / SNAP_M) * SNAP_M, is_closed


def _areas(points: NDArray[np.float64], is_closed: bool, wall: float | None, where: str) -> list[Any]:
    """Return the area that an outline encloses, or that of the wall along it."""
    if is_closed:
        return [shapely.Polygon(points)]
    if wall is None:
        raise GeometryRefused(
            (
                f"{where} is open: it runs from ({points[0][0]:g}, {points[0][1]:g}) to ({points[-1][0]:g}, "
                f"{points[-1][1]:g}) m"
            ),
            ("Close it, or say how thick lines are as walls: wall: 0.1."),
        )
    if np.ptp(points, axis=0).max() <= CLOSED_M:
        raise GeometryRefused(f"{where} has no length", "Delete it.")
    along = shapely.buffer(shapely.LineString(points), 0.5 * wall, cap_style="flat", join_style="mitre")
    return list(shapely.get_parts(shapely.set_precision(along, SNAP_M)))
