"""Ground from any triangles as a scenario says it: files and lists of triangles, rules, surfaces, parts, and
what is wrong with them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.steps import at_once
from crowdsim.navigation.soup.drops import Drop, drops_of
from crowdsim.navigation.soup.fill import ExitRefused, FillRules, Link, SeedRefused, Zone
from crowdsim.navigation.soup.ground import floors_of, patch_steps, plates_of
from crowdsim.printable import counted
from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.connections import Connection, End, directions, fall_s, is_one_way
from crowdsim.scenario.files import FileRefused
from crowdsim.scenario.filled_ground import (
    ALWAYS,
    FilledCells,
    PartsOfSoup,
    Triangles,
    check_size,
    found_floors,
    geometry_of,
)
from crowdsim.scenario.geometry import Geometry, ToggledArea
from crowdsim.scenario.limits import MAX_AGENTS, MAX_COORDINATE_M, MAX_FACES, MAX_TRIANGLES
from crowdsim.scenario.schema_connections import KINDS, CarrierShape
from crowdsim.scenario.shapes import GRID_M
from crowdsim.scenario.tree import Path, Problems, listed, suggestion
from crowdsim.scenario.triangle_files import read_triangles

_PATH: Path = ("geometry", "soup")
_METRES = {"mm": 0.001, "cm": 0.01, "m": 1.0, "in": 0.0254, "ft": 0.3048}
_LEAST_FALL_M = 1e-3  # A drop may be one since there is no room for a head further up.
_STRIP_M = 0.02  # Half the width of a triangle on edge in pictures.


def resolve_soup(
    shape: schema.GeometryShape,
    carriers: Mapping[str, CarrierShape],
    reader: AreaReader,
    problems: Problems,
    notes: Problems,
) -> tuple[Geometry, tuple[Connection, ...]] | None:
    """Return the ground that a body gets to among triangles, and the edges over which it drops;
    None where there are problems.

    Parameters
    ----------
    shape : GeometryShape
    carriers : mapping of str to CarrierShape
        The connections of the scenario: the fill goes on behind those whose ends say a height.
    reader : AreaReader
    problems : Problems
        Receives mistakes.
    notes : Problems
        Receives what was left out, and how large the ground is.
    """
    soup = shape.soup
    assert soup is not None
    if (soup.file is None) == (soup.triangles is None):
        problems.add(_PATH, "exactly one of file and triangles says what there is", "Give one of them.")
        return None
    read = _triangles(soup, reader, problems)
    if read is None:
        return None
    corners, material, materials, own_file = read
    source: Path = (*_PATH, "triangles" if soup.file is None else "file")
    said = "" if soup.file is None else f"{soup.file}: "
    try:
        _check_places(corners)
    except NavigationError as error:
        problems.add(source, f"{said}{error}")
        return None
    if np.abs(corners).max() > MAX_COORDINATE_M:
        far = int(np.argmax(np.abs(corners).max(axis=(1, 2)))) + 1
        problems.add(
            source,
            f"{said}triangle {far} reaches {np.abs(corners).max():g} m from the origin, but may reach at "
            f"most {MAX_COORDINATE_M:g} m",
            "Is the unit right? Leave it out, if it is far from all ground.",
        )
        return None
    try:
        rules = _rules_of(soup, float(shape.clearance))
    except NavigationError as error:
        problems.add(_PATH, str(error))
        return None
    surfaces = _surfaces_of(soup, material, materials, problems)
    if surfaces is None:
        return None
    part = _parts_of(soup, material, materials, own_file, problems)
    if part is None:
        return None
    links, ends = _links_of(carriers, reader, problems)
    for number, each in enumerate(soup.links):
        links.append(
            Link(*(Zone(shapely.from_wkt(end.wkt), float(end.height)) for end in (each.enter, each.exit)))
        )
        ends.append((*_PATH, "links", number))
    seeds = [[float(each) for each in seed] for seed in soup.seeds]
    triangles = Triangles(corners, surfaces, part, seeds, rules, links)
    names = tuple(sorted(soup.parts))
    present = [number for number, name in enumerate(names) if soup.parts[name].present]
    try:
        filled = triangles.kept(present) if not names else triangles.kept_with_some(present, len(names))
        check_size(filled.graph)
    except ExitRefused as refused:
        problems.add(
            ends[refused.number],
            f"no agent can come out in the middle of it: {refused}",
            "Move the area to where one can stand, or mend its height.",
        )
        return None
    except SeedRefused as refused:
        problems.add((*_PATH, "seeds", refused.number), f"no agent can stand here: {refused}")
        return None
    except NavigationError as error:
        problems.add(_PATH, str(error))
        return None
    graph = filled.graph
    notes.add(
        _PATH,
        f"{filled.cells:,} cells of {rules.cell:g} m are reached, {filled.cells * rules.cell**2:,.1f} m2; "
        f"they are {len(graph.sectors.z):,} sectors with {len(graph.portals.side):,} portals "
        f"({_size(graph.nbytes)}, {graph.nbytes / filled.nbytes:.1%} of the cells' {_size(filled.nbytes)})",
    )
    if names:
        return _with_parts(shape, triangles, filled, names, present, problems)
    plates, floors = plates_of(graph), floors_of(graph, rules.height)
    patches = at_once(patch_steps(graph, plates))
    drops: list[Drop] = []
    if soup.drop is not None:
        try:
            drops = drops_of(graph, patches, floors, 2.0 * rules.side)
        except NavigationError as error:
            problems.add((*_PATH, "drop"), str(error))
            return None
        if drops:
            falls = [drop.fall for drop in drops]
            notes.add(
                (*_PATH, "drop"),
                f"{counted(len(drops), 'drop')} over edges, by {min(falls):.2f} to {max(falls):.2f} m",
            )
    return geometry_of(graph, plates, patches, floors, rules, soup), _drop_connections(drops, set(carriers))


def _with_parts(
    shape: schema.GeometryShape,
    triangles: Triangles,
    filled: FilledCells,
    names: tuple[str, ...],
    present: list[int],
    problems: Problems,
) -> tuple[Geometry, tuple[Connection, ...]] | None:
    """Return the ground of a soup parts of which come and go."""
    soup = shape.soup
    assert soup is not None
    refused = [
        (soup.drop is not None, "drop", "drops over edges are found once, before the run"),
        (bool(shape.terrain), "terrain", "drawn terrain is cut out of the ground once, before the run"),
    ]
    for is_given, key, why in refused:
        if is_given:
            where = (*_PATH, key) if key == "drop" else ("geometry", key)
            problems.add(where, f"{key} does not go with parts of a soup: {why}", "Leave one of them out.")
    if len(triangles.corners) > MAX_FACES:
        problems.add(
            (*_PATH, "parts"),
            f"there are {len(triangles.corners):,} triangles, but with parts there may be at most "
            f"{MAX_FACES:,}: recordings keep them, to fill the ground anew",
            "Simplify it, or leave the parts out.",
        )
    if problems.found:
        return None
    everything = list(range(len(names)))
    cases = [present, *(each for each in (everything, []) if each != present)]
    known = found_floors(triangles, filled, cases)
    refill = PartsOfSoup(triangles, soup, names, known)
    areas = tuple(
        ToggledArea(
            name, _in_plan(triangles.corners[triangles.part == number]), number in present, is_part=True
        )
        for number, name in enumerate(names)
    )
    there = frozenset(names[number] for number in present)
    return replace(refill.ground(there), areas=areas, refill=refill), ()


def _in_plan(corners: NDArray[np.float64]) -> Any:
    """Return what triangles cover as seen from above; those on edge as narrow strips."""
    outlines = shapely.polygons(np.concatenate([corners, corners[:, :1]], axis=1)[:, :, :2])
    shapes = shapely.make_valid(outlines)
    strips = shapely.buffer(shapely.boundary(outlines), _STRIP_M, cap_style="flat", join_style="mitre")
    found = shapely.union_all([*shapely.get_parts(shapely.get_parts(shapes)), *strips], grid_size=GRID_M)
    return shapely.orient_polygons(
        shapely.multipolygons([each for each in shapely.get_parts(found) if each.geom_type == "Polygon"])
    )


def _parts_of(
    soup: schema.SoupShape,
    material: NDArray[np.int64],
    materials: Sequence[str],
    own_file: NDArray[np.int16],
    problems: Problems,
) -> NDArray[np.int16] | None:
    """Return the number of the part of each triangle, `ALWAYS` for those of none; None where there are
    problems.
    """
    part, of_material = own_file.copy(), dict[str, str]()
    for number, name in enumerate(sorted(soup.parts)):
        shape, path = soup.parts[name], (*_PATH, "parts", name)
        if shape.file is not None:
            continue
        for each in shape.materials or [name]:
            if each not in materials:
                known = sorted({known for known in materials if known})
                problems.add(
                    path,
                    f'no triangle is made of "{each}"',
                    suggestion(each, known)
                    or (f"There is {listed(known)}." if known else "None has a name."),
                )
                return None
            if each in of_material:
                problems.add(
                    path, f'"{each}" belongs to the part "{of_material[each]}" already', "Name it once."
                )
                return None
            of_material[each] = name
            part[(material == materials.index(each)) & (own_file == ALWAYS)] = number
    return part


def _drop_connections(drops: Sequence[Drop], taken: set[str]) -> tuple[Connection, ...]:
    """Return drops as connections, with names that no other has."""
    digits = len(str(len(drops) + len(taken)))
    numbers = (f"drop {number:0{digits}d}" for number in itertools.count(1))
    names = (name for name in numbers if name not in taken)
    return tuple(
        Connection(
            name=name,
            kind="drop",
            ends=(End(drop.above, (), drop.layers[0]), End(drop.below, (), drop.layers[1])),
            seconds=(fall_s(drop.fall),),
            capacity=MAX_AGENTS,
            one_way=True,
            written={"fall": max(drop.fall, _LEAST_FALL_M)},
        )
        for drop, name in zip(drops, names, strict=False)
    )


def _links_of(
    carriers: Mapping[str, CarrierShape], reader: AreaReader, problems: Problems
) -> tuple[list[Link], list[Path]]:
    """Return what takes a body on during the fill, and where the file says where it comes out: connections
    with heights. What is wrong with them is told when they are read.
    """
    quiet = AreaReader(reader.access, Problems(problems.root))
    links: list[Link] = []
    paths: list[Path] = []
    for name in sorted(carriers):
        for kind in KINDS:
            given = getattr(carriers[name], kind)
            if given is None:
                continue
            key = "stops" if kind == "lift" else "ends"
            ends = getattr(given, key)
            zones = [
                None
                if end.height is None
                else (quiet.united(end.area, ("connections", name, kind, key, number)), float(end.height))
                for number, end in enumerate(ends)
            ]
            for a, b in directions(len(ends), one_way=is_one_way(kind, given)):
                enter, out = zones[a], zones[b]
                if enter is not None and out is not None and enter[0] is not None and out[0] is not None:
                    links.append(Link(Zone(*enter), Zone(*out)))
                    paths.append(("connections", name, kind, key, b))
    return links, paths


def _size(nbytes: int) -> str:
    return f"{nbytes / 1e6:,.1f} MB" if nbytes >= 1e6 else f"{nbytes / 1e3:,.0f} kB"


def _surfaces_of(
    soup: schema.SoupShape, material: NDArray[np.int64], materials: Sequence[str], problems: Problems
) -> NDArray[np.uint8] | None:
    """Return the number of the surface of each triangle, 1 for those that are none that is named;
    None where there are problems.
    """
    number_of: dict[str, int] = {}
    for number, (name, shape) in enumerate(soup.surfaces.items(), 2):
        for each in shape.materials or [name]:
            if each not in materials:
                known = sorted({known for known in materials if known})
                problems.add(
                    (*_PATH, "surfaces", name),
                    f'no triangle is made of "{each}"',
                    suggestion(each, known)
                    or (f"There is {listed(known)}." if known else "None has a name."),
                )
                return None
            number_of[each] = number
    own = np.array([number_of.get(name, 1) for name in materials], dtype=np.uint8)
    return own[material] if len(own) else np.ones(len(material), dtype=np.uint8)


def _triangles(
    soup: schema.SoupShape, reader: AreaReader, problems: Problems
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[str], NDArray[np.int16]] | None:
    """Return the corners of all triangles, (nt, 3, 3) m, z up, and their materials: of each its place among
    the names; and the part whose file they are from, `ALWAYS` for others. None where there are problems.
    """
    if soup.file is None:
        corners = np.array(soup.triangles, dtype=np.float64).reshape(-1, 3, 3)
        if soup.materials is not None and len(soup.materials) != len(corners):
            problems.add(
                (*_PATH, "triangles"),
                f"there are {len(corners):,} triangles, but {len(soup.materials):,} names in materials",
            )
            return None
        names, material = np.unique(soup.materials or [""] * len(corners), return_inverse=True)
        materials = [str(name) for name in names]
    else:
        found = _of_file(soup.file, (*_PATH, "file"), soup, reader, problems)
        if found is None:
            return None
        corners, material, materials = found
    part = np.full(len(corners), ALWAYS, dtype=np.int16)
    for number, name in enumerate(sorted(soup.parts)):
        shape, path = soup.parts[name], (*_PATH, "parts", name)
        if shape.file is None:
            continue
        if shape.materials is not None:
            problems.add(path, "materials and file are both given", "Keep one of them.")
            return None
        found = _of_file(shape.file, (*path, "file"), soup, reader, problems)
        if found is None:
            return None
        corners = np.concatenate([corners, found[0]])
        material = np.concatenate([material, found[1] + len(materials)])
        materials = [*materials, *found[2]]
        part = np.concatenate([part, np.full(len(found[0]), number, dtype=np.int16)])
    if len(corners) > MAX_TRIANGLES:
        problems.add(
            _PATH, f"there are {len(corners):,} triangles, but there may be at most {MAX_TRIANGLES:,}"
        )
        return None
    return corners, material, materials, part


def _of_file(
    file: str, path: Path, soup: schema.SoupShape, reader: AreaReader, problems: Problems
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[str]] | None:
    """Return what `_triangles` does of one file; None where there are problems."""
    try:
        vertices, faces, material, materials = read_triangles(file, reader.access, soup.up)
    except FileRefused as refused:
        problems.add(path, f"{file}: {refused}", refused.way_out)
        return None
    except NavigationError as error:
        problems.add(path, f"{file}: {error}")
        return None
    wrong = ""
    if not len(faces):
        wrong = "there are no triangles in it"
    elif faces.min() < 0 or faces.max() >= len(vertices):
        bad = int(np.flatnonzero((faces < 0).any(axis=1) | (faces >= len(vertices)).any(axis=1))[0]) + 1
        wrong = f"triangle {bad} names a corner that does not exist; there are {len(vertices):,}"
    elif len(faces) > MAX_TRIANGLES:
        wrong = f"it has {len(faces):,} triangles, but may have at most {MAX_TRIANGLES:,}"
    if wrong:
        problems.add(path, f"{file}: {wrong}")
        return None
    return vertices[faces] * _METRES[soup.unit], material, list(materials)


def _check_places(corners: NDArray[np.float64]) -> None:
    """Refuse triangles that are nowhere."""
    if not len(corners):
        raise NavigationError("there are no triangles")
    is_somewhere = np.isfinite(corners).all(axis=(1, 2))
    if not is_somewhere.all():
        bad = int(np.argmin(is_somewhere)) + 1
        raise NavigationError(f"triangle {bad} is nowhere: a coordinate of it is not a finite number")


def _rules_of(soup: schema.SoupShape, height: float) -> FillRules:
    side = 0.5 * soup.body.width if soup.body.side is None else soup.body.side
    return FillRules(
        side=float(side),
        height=height,
        cell=float(side if soup.cell is None else soup.cell),
        step_up=float(soup.step),
        step_down=float(soup.step),
        drop=float(soup.step if soup.drop is None else soup.drop),
        steepest=float(soup.steepest),
        most_cells=int(soup.most_cells),
    )
