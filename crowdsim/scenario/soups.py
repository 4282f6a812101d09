"""Ground from any triangles: read, filled from places where an agent can stand, and gathered into sectors."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import Terrain
from crowdsim.geometry.surface import Patch
from crowdsim.kernels.disk_cache import kept_arrays
from crowdsim.navigation.soup.drops import Drop, drops_of
from crowdsim.navigation.soup.fill import Cells, ExitRefused, FillRules, Link, SeedRefused, Zone, fill
from crowdsim.navigation.soup.ground import floors_of, patches_of, plates_of
from crowdsim.navigation.soup.sectors import Portals, SectorGraph, Sectors, gather
from crowdsim.printable import counted
from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.connections import Connection, End, directions, fall_s, is_one_way
from crowdsim.scenario.files import FileRefused
from crowdsim.scenario.geometry import Filled, Geometry
from crowdsim.scenario.limits import MAX_AGENTS, MAX_COORDINATE_M, MAX_TRIANGLES
from crowdsim.scenario.schema_connections import KINDS, CarrierShape
from crowdsim.scenario.shapes import GRID_M
from crowdsim.scenario.surfaces import as_floors
from crowdsim.scenario.tree import Path, Problems, listed, suggestion
from crowdsim.scenario.triangle_files import read_triangles

_PATH: Path = ("geometry", "soup")
_METRES = {"mm": 0.001, "cm": 0.01, "m": 1.0, "in": 0.0254, "ft": 0.3048}
_LEAST_AREA_M2 = 1e-12  # A triangle with less is a line or a point, and stands in nobody's way.
_LEAST_FALL_M = 1e-3  # A drop may be one since there is no room for a head further up.
MOST_SECTORS = 100_000  # Each becomes a polygon of the mesh or several: some 2 ms.


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
    source: Path = (*_PATH, "triangles" if soup.file is None else "file")
    said = "" if soup.file is None else f"{soup.file}: "
    try:
        corners, material, materials = _triangles(soup, reader)
        _check_places(corners)
    except FileRefused as refused:
        problems.add(source, f"{said}{refused}", refused.way_out)
        return None
    except NavigationError as error:
        problems.add(source, f"{said}{error}")
        return None
    corners = corners * _METRES[soup.unit] if soup.file is not None else corners
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
    links, ends = _links_of(carriers, reader, problems)
    try:
        graph, cells, nbytes = _kept_ground(corners, surfaces, soup, rules, links)
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
    if len(graph.sectors.z) > MOST_SECTORS:
        problems.add(
            _PATH,
            f"the ground has {len(graph.sectors.z):,} sectors, but may have at most {MOST_SECTORS:,}",
            "Take larger cells.",
        )
        return None
    notes.add(
        _PATH,
        f"{cells:,} cells of {rules.cell:g} m are reached, {cells * rules.cell**2:,.1f} m2; they are "
        f"{len(graph.sectors.z):,} sectors with {len(graph.portals.side):,} portals "
        f"({_size(graph.nbytes)}, {graph.nbytes / nbytes:.1%} of the cells' {_size(nbytes)})",
    )
    patches, floors = patches_of(graph), floors_of(graph, rules.height)
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
    _, plate = np.unique(plates_of(graph), return_inverse=True)
    geometry = as_floors(patches, floors, rules.height, graph.step)
    geometry = replace(geometry, filled=Filled(graph, floors[plate]))
    if soup.surfaces:
        geometry = replace(geometry, terrain=_terrain_of(graph, patches, floors, soup))
    return geometry, _drop_connections(drops, set(carriers))


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


def _terrain_of(
    graph: SectorGraph, patches: Sequence[Patch], floors: NDArray[np.int32], soup: schema.SoupShape
) -> tuple[tuple[Terrain, ...], ...]:
    """Return the surfaces as terrain, floor by floor."""
    surface = graph.sectors.surface[np.unique(plates_of(graph))]
    found: list[list[Terrain]] = [[] for _ in range(int(floors.max()) + 1)]
    for name, number in sorted((name, number) for number, name in enumerate(soup.surfaces, 2)):
        for layer, own in enumerate(found):
            grounds = [
                patch.ground
                for patch in patches
                if surface[patch.sheet] == number and floors[patch.sheet] == layer
            ]
            if grounds:
                area = shapely.union_all(grounds, grid_size=GRID_M)
                own.append(Terrain(name, area, float(soup.surfaces[name].speed)))
    return tuple(tuple(own) for own in found) if any(found) else ()


def _triangles(
    soup: schema.SoupShape, reader: AreaReader
) -> tuple[NDArray[np.float64], NDArray[np.int64], Sequence[str]]:
    """Return the corners of all triangles as they are given, (nt, 3, 3), z up, and their materials:
    of each its place among the names.
    """
    if soup.file is None:
        corners = np.array(soup.triangles, dtype=np.float64).reshape(-1, 3, 3)
        if soup.materials is not None and len(soup.materials) != len(corners):
            raise NavigationError(
                f"there are {len(corners):,} triangles, but {len(soup.materials):,} names in materials"
            )
        names, material = np.unique(soup.materials or [""] * len(corners), return_inverse=True)
        return corners, material, [str(name) for name in names]
    vertices, faces, material, materials = read_triangles(soup.file, reader.access, soup.up)
    if not len(faces):
        raise NavigationError("there are no triangles in it")
    if faces.min() < 0 or faces.max() >= len(vertices):
        bad = int(np.flatnonzero((faces < 0).any(axis=1) | (faces >= len(vertices)).any(axis=1))[0]) + 1
        raise NavigationError(
            f"triangle {bad} names a corner that does not exist; there are {len(vertices):,}"
        )
    if len(faces) > MAX_TRIANGLES:
        raise NavigationError(f"it has {len(faces):,} triangles, but may have at most {MAX_TRIANGLES:,}")
    return vertices[faces], material, materials


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


def _kept_ground(
    corners: NDArray[np.float64],
    surfaces: NDArray[np.uint8],
    soup: schema.SoupShape,
    rules: FillRules,
    links: Sequence[Link],
) -> tuple[SectorGraph, int, int]:
    """Return the sectors of the ground, and the number of its cells and of their bytes;
    they are kept on disk under a hash of the triangles, their surfaces, the seeds, the links and the rules.
    """
    edges = corners[:, 1:] - corners[:, :1]
    is_flat = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) < 2.0 * _LEAST_AREA_M2
    seeds = [[float(each) for each in seed] for seed in soup.seeds]

    def make() -> dict[str, NDArray[Any]]:
        cells: Cells = fill(corners[~is_flat], surfaces[~is_flat], seeds, rules, links)
        graph = gather(cells)
        return {
            "cells": np.array([len(cells), cells.nbytes]),
            "step": np.array(graph.step),
            **{
                f"{group}.{name}": array
                for group in ("sectors", "portals", "barriers")
                for name, array in getattr(graph, group)._asdict().items()
            },
        }

    kept = kept_arrays(
        "soups",
        __file__,
        [
            corners.tobytes(),
            surfaces.tobytes(),
            repr(seeds).encode(),
            repr(rules).encode(),
            *(
                part
                for zone in (zone for link in links for zone in link)
                for part in (shapely.to_wkb(zone.area), repr(zone.height).encode())
            ),
        ],
        make,
    )
    graph = SectorGraph(
        rules.cell,
        float(kept["step"]),
        Sectors(*(kept[f"sectors.{name}"] for name in Sectors._fields)),
        Portals(*(kept[f"portals.{name}"] for name in Portals._fields)),
        Portals(*(kept[f"barriers.{name}"] for name in Portals._fields)),
    )
    count, nbytes = kept["cells"].tolist()
    return graph, count, nbytes
