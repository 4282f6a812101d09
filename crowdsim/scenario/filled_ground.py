"""From triangles to the ground of a scenario: filled, gathered into sectors, cut into plates, put on floors;
once for all, or anew while parts of them come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import Terrain
from crowdsim.geometry.lengths import lengths_of
from crowdsim.geometry.steps import Steps, at_once
from crowdsim.geometry.surface import Patch
from crowdsim.kernels.disk_cache import kept_arrays
from crowdsim.navigation.soup.fill import ExitRefused, FillRules, Link, SeedRefused, fill_steps
from crowdsim.navigation.soup.ground import KnownFloors, floor_steps, patch_steps, plates_of
from crowdsim.navigation.soup.sectors import Portals, SectorGraph, Sectors, gather, gather_steps
from crowdsim.printable import counted
from crowdsim.scenario import schema
from crowdsim.scenario.geometry import Filled, Geometry
from crowdsim.scenario.shapes import GRID_M, wkt_of
from crowdsim.scenario.surfaces import as_floors

_LEAST_AREA_M2 = 1e-12  # A triangle with less is a line or a point, and stands in no agent's way.
MOST_SECTORS = 100_000  # Each becomes a polygon of the mesh or several: some 2 ms.
ALWAYS = -1  # The part of triangles that do not come and go.
MOST_KNOWN = 16  # Grounds that are at hand.


class FilledCells(NamedTuple):
    """What a fill results in.

    Attributes
    ----------
    graph : SectorGraph
    cells : int
        How many there are.
    nbytes : int
        That they take.
    """

    graph: SectorGraph
    cells: int
    nbytes: int


@dataclass(frozen=True, eq=False)
class Triangles:
    """What ground is filled from.

    Attributes
    ----------
    corners : (nt, 3, 3) float64, m
        z up.
    surfaces : (nt,) uint8
        Kind of surface of each, from 1.
    part : (nt,) int16
        The part that each belongs to, or `ALWAYS`.
    seeds : list of [x, y, z], m
    rules : FillRules
    links : sequence of Link
    """

    corners: NDArray[np.float64]
    surfaces: NDArray[np.uint8]
    part: NDArray[np.int16]
    seeds: list[list[float]]
    rules: FillRules
    links: Sequence[Link]

    def those_there(self, parts: Sequence[int]) -> NDArray[np.bool_]:
        """Return which triangles are there with some parts, (nt,)."""
        there: NDArray[np.bool_] = np.isin(self.part, (ALWAYS, *parts))
        return there

    def _solid(self, parts: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return the triangles that are there with some parts and have an area, and their surfaces."""
        there = self.those_there(parts)
        edges = self.corners[:, 1:] - self.corners[:, :1]
        there &= lengths_of(np.cross(edges[:, 0], edges[:, 1])) >= 2.0 * _LEAST_AREA_M2
        return self.corners[there], self.surfaces[there]

    def kept(self, parts: Sequence[int], *, is_lenient: bool = False) -> FilledCells:
        """Return the ground with some parts; it is kept on disk under a hash of the triangles, their
        surfaces, the seeds, the links and the rules.

        Raises
        ------
        NavigationError
            See `fill_steps`.
        """
        corners, surfaces = self._solid(parts)
        if not len(corners):
            raise NavigationError("there are no triangles")

        def make() -> dict[str, NDArray[Any]]:
            cells = at_once(
                fill_steps(corners, surfaces, self.seeds, self.rules, self.links, is_lenient=is_lenient)
            )
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
                repr((self.seeds, is_lenient) if is_lenient else self.seeds).encode(),
                repr(self.rules).encode(),
                *(
                    part
                    for zone in (zone for link in self.links for zone in link)
                    for part in (shapely.to_wkb(zone.area), repr(zone.height).encode())
                ),
            ],
            make,
        )
        graph = SectorGraph(
            self.rules.cell,
            float(kept["step"]),
            Sectors(*(kept[f"sectors.{name}"] for name in Sectors._fields)),
            Portals(*(kept[f"portals.{name}"] for name in Portals._fields)),
            Portals(*(kept[f"barriers.{name}"] for name in Portals._fields)),
        )
        count, nbytes = kept["cells"].tolist()
        return FilledCells(graph, count, nbytes)

    def kept_with_some(self, parts: Sequence[int], count: int) -> FilledCells:
        """Return the ground with some of so many parts; seeds and ends of links may lie where a body can
        stand with all parts alone, or with none.

        Raises
        ------
        NavigationError
            See `fill_steps`.
        """
        others = [own for own in (list(range(count)), []) if own != parts]
        for number, seed in enumerate(self.seeds):
            refused = [self._why_not(own, seed) for own in (parts, *others)]
            if all(refused):
                raise SeedRefused(number, refused[0])
        try:
            return self.kept(parts)
        except SeedRefused:
            return self.kept(parts, is_lenient=True)
        except ExitRefused as refusal:
            for own in others:
                try:
                    self.kept(own)
                except ExitRefused as again:
                    if again.number == refusal.number:
                        continue
                except NavigationError:
                    continue
                return self.kept(parts, is_lenient=True)
            raise

    def _why_not(self, parts: Sequence[int], seed: list[float]) -> str:
        """Return why no body stands at a seed while some parts are there; empty where one does."""
        corners, surfaces = self._solid(parts)
        if not len(corners):
            return "there are no triangles"
        steps = fill_steps(corners, surfaces, [seed], self.rules)
        try:
            next(steps)
            next(steps)  # now it has looked at the seed
        except SeedRefused as refused:
            return str(refused)
        except StopIteration:
            pass
        return ""

    def graph_steps(self, parts: Sequence[int]) -> Steps[SectorGraph]:
        """Fill the ground with some parts, resting in between: what is on disk does not matter, so that there
        are as many rests in each run. Seeds and ends of links on which no body can stand then are left out.
        """
        corners, surfaces = self._solid(parts)
        yield "triangles"
        if not len(corners):
            raise NavigationError("there are no triangles")
        cells = yield from fill_steps(corners, surfaces, self.seeds, self.rules, self.links, is_lenient=True)
        return (yield from gather_steps(cells))


def geometry_of(
    graph: SectorGraph,
    plates: NDArray[np.int64],
    patches: Sequence[Patch],
    floors: NDArray[np.int32],
    rules: FillRules,
    soup: schema.SoupShape,
    heights: Sequence[float] = (),
) -> Geometry:
    """Return sectors as ground of a scenario.

    Parameters
    ----------
    graph : SectorGraph
    plates : (ns,) int64
        Of each sector.
    patches : sequence of Patch
        Its plates.
    floors : (plates,) int32
    rules : FillRules
    soup : SoupShape
    heights : sequence of float, m
        See `as_floors`.
    """
    first, plate = np.unique(plates, return_inverse=True)
    geometry = as_floors(patches, floors, rules.height, graph.step, heights)
    geometry = replace(geometry, filled=Filled(graph, floors[plate]))
    if soup.surfaces:
        geometry = replace(
            geometry,
            terrain=_terrain_of(graph.sectors.surface[first], patches, floors, soup, len(geometry.floors)),
        )
    return geometry


def check_size(graph: SectorGraph) -> None:
    """Refuse ground of too many sectors."""
    if len(graph.sectors.z) > MOST_SECTORS:
        raise NavigationError(
            f"the ground has {len(graph.sectors.z):,} sectors, but may have at most {MOST_SECTORS:,}: take "
            "larger cells"
        )


def _terrain_of(
    surface: NDArray[np.uint8],
    patches: Sequence[Patch],
    floors: NDArray[np.int32],
    soup: schema.SoupShape,
    count: int,
) -> tuple[tuple[Terrain, ...], ...]:
    """Return the surfaces as terrain, floor by floor."""
    found: list[list[Terrain]] = [[] for _ in range(count)]
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


@dataclass(frozen=True, eq=False)
class PartsOfSoup:
    """Fills ground anew as parts of its triangles come and go; see `Refill`.

    What the ground is depends on what is there alone, not on what was there before. Floors keep their
    numbers: they were found before the run, with the parts that are there at the beginning, with all and with
    none.

    Parameters
    ----------
    triangles : Triangles
    soup : SoupShape
    names : tuple of str
        Of the parts.
    known : KnownFloors
    """

    triangles: Triangles
    soup: schema.SoupShape
    names: tuple[str, ...]
    known: KnownFloors
    _at_hand: dict[frozenset[str], Geometry] = field(default_factory=dict)

    @property
    def surfaces(self) -> dict[str, float]:
        """The terrain that there may be, with its speeds."""
        return {name: float(shape.speed) for name, shape in self.soup.surfaces.items()}

    def ground(self, present: frozenset[str]) -> Geometry:
        """Return the ground while the parts of these names are there.

        Raises
        ------
        NavigationError
            If there is none, or too much.
        """
        if present not in self._at_hand:
            graph = self.triangles.kept(self._numbers(present), is_lenient=True).graph
            self._at_hand[present] = at_once(self._placed(graph, present))
            while len(self._at_hand) > MOST_KNOWN:
                del self._at_hand[next(iter(self._at_hand))]
        return self._at_hand[present]

    def steps(self, present: frozenset[str]) -> Steps[Geometry]:
        """Return the same, resting in between; see `Triangles.graph_steps`."""
        graph = yield from self.triangles.graph_steps(self._numbers(present))
        yield "sectors"
        return (yield from self._placed(graph, present))

    def corners(self, present: frozenset[str]) -> NDArray[np.float64]:
        """Return the corners of the triangles that are there then, (nt, 3, 3) m."""
        return self.triangles.corners[self.triangles.those_there(self._numbers(present))]

    def _numbers(self, present: frozenset[str]) -> list[int]:
        return [number for number, name in enumerate(self.names) if name in present]

    def _placed(self, graph: SectorGraph, present: frozenset[str]) -> Steps[Geometry]:
        rules = self.triangles.rules
        check_size(graph)
        plates = plates_of(graph)
        patches = yield from patch_steps(graph, plates)
        floors, heights = yield from floor_steps(graph, plates, patches, rules.height, self.known)
        if len(heights) > len(self.known.height):
            raise NavigationError(
                f"the ground has {counted(len(heights), 'floor')}, but with all parts, with none and at the "
                f"beginning {len(self.known.height)}: let the run begin with these parts"
            )
        yield "floors"
        return geometry_of(
            graph, plates, patches, floors.astype(np.int32), rules, self.soup, self.known.height
        )

    def data(self, present: frozenset[str]) -> dict[str, Any]:
        """Return the soup as a scenario says it, with its triangles: those of one surface and part have one
        material.
        """
        own, soup = self.triangles, self.soup
        surfaces = ["", *soup.surfaces]
        labels = [
            f"{'' if part == ALWAYS else self.names[part]}/{surfaces[surface - 1]}"
            for part, surface in zip(own.part.tolist(), own.surfaces.tolist(), strict=True)
        ]
        used = sorted(set(labels))
        return {
            "triangles": own.corners.tolist(),
            "materials": labels,
            "surfaces": {
                name: {
                    "materials": [each for each in used if each.partition("/")[2] == name],
                    "speed": shape.speed,
                }
                for name, shape in soup.surfaces.items()
            },
            "parts": {
                name: {
                    "materials": [each for each in used if each.partition("/")[0] == name],
                    "present": name in present,
                }
                for name in self.names
            },
            "seeds": own.seeds,
            "body": {"side": own.rules.side},
            "cell": own.rules.cell,
            "step": own.rules.step_up,
            "steepest": own.rules.steepest,
            "most_cells": own.rules.most_cells,
            "links": [
                {
                    key: {"wkt": wkt_of(zone.area), "height": zone.height}
                    for key, zone in (("enter", link.enter), ("exit", link.exit))
                }
                for link in own.links
            ],
        }


def found_floors(triangles: Triangles, first: FilledCells, parts: Sequence[Sequence[int]]) -> KnownFloors:
    """Return the floors of ground with each of several lists of parts, from below upwards: `first` is that
    with the first of them. Ground that cannot be filled is left out; a run that comes to it ends with the
    reason.
    """
    clearance = triangles.rules.height
    known = KnownFloors()
    for number, each in enumerate(parts):
        try:
            graph = first.graph if number == 0 else triangles.kept(each, is_lenient=True).graph
        except NavigationError:
            continue
        plates = plates_of(graph)
        patches = at_once(patch_steps(graph, plates))
        floors, heights = at_once(floor_steps(graph, plates, patches, clearance, known))
        known = known.with_more(patches, floors, heights)
    return known.from_below()
