"""The mesh of one tile, made step by step:
it needs nothing but what `crowdsim.navigation.tiles.cut` has cut for it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.forced_edges import force_edges
from crowdsim.geometry.steps import at_once
from crowdsim.geometry.triangulation import Triangulation, in_fixed_order, make_delaunay, neighbours_of
from crowdsim.navigation.mesh.terrain import Pieces, convex_pieces, speeds_on, terrain_near
from crowdsim.navigation.tiles.cut import TileGround

# What an edge of a tile is: shared with a polygon of the tile, a wall, part of an exit, or on the tile's
# border.
INNER, WALL, OPEN, BORDER = range(4)


class TileMesh(NamedTuple):
    """The polygons of one tile, by themselves.

    Attributes
    ----------
    vertex : (nv, 2) float64, m
    polygon_start : (np + 1,) int32
        First edge of each polygon.
    edge_vertex : (ne,) int32
        Where each edge begins, counter-clockwise round its polygon.
    edge_kind : (ne,) uint8
        INNER, WALL, OPEN or BORDER.
    polygon_pace : (np,) float64
        Speed on each polygon as a share of that on plain ground.
    gap_edge : (g,) int32
        Edges that are a part of a gap.
    gap_width : (g,) float64, m
        Width of the whole gap.
    gap_start : (g + 1,) int32
    gap_tile : (m,) int32
        Tiles without which gap i is none: ``gap_tile[gap_start[i]:gap_start[i + 1]]``.
    """

    vertex: NDArray[np.float64]
    polygon_start: NDArray[np.int32]
    edge_vertex: NDArray[np.int32]
    edge_kind: NDArray[np.uint8]
    polygon_pace: NDArray[np.float64]
    gap_edge: NDArray[np.int32]
    gap_width: NDArray[np.float64]
    gap_start: NDArray[np.int32]
    gap_tile: NDArray[np.int32]

    @property
    def polygon_count(self) -> int:
        """Number of polygons."""
        return len(self.polygon_start) - 1

    def same_as(self, other: TileMesh) -> bool:
        """Return whether two tiles are equal to the last bit."""
        return all(np.array_equal(getattr(self, field), getattr(other, field)) for field in self._fields)


def build_tile(ground: TileGround, tile: int, *, most_sides: int) -> TileMesh | None:
    """Mesh one tile in one go; see `tile_steps`."""
    return at_once(tile_steps(ground, tile, most_sides=most_sides))


def tile_steps(ground: TileGround, tile: int, *, most_sides: int) -> Generator[str, None, TileMesh | None]:
    """Mesh one tile, resting between steps of some tenths of a millisecond to some milliseconds.

    Parameters
    ----------
    ground : TileGround
    tile : int
    most_sides : int
        Of a polygon.

    Yields
    ------
    str
        What was done last.

    Returns
    -------
    TileMesh or None
        None where the tile has no ground.

    Raises
    ------
    NavigationError
        If the ground of the tile cannot be triangulated.
    """
    walls = np.flatnonzero(ground.wall_tile == tile)
    borders = np.flatnonzero((ground.border_tile == tile).any(axis=1))
    faces = _faces(ground, walls, borders)
    yield "faces"
    if not faces:
        return None
    number, triangles = _triangles(ground, faces)
    points = ground.points[number]
    yield "triangles"
    local = {int(point): place for place, point in enumerate(number)}
    wanted = _wanted_gaps(ground, tile, borders, local)
    triangles, edges = force_edges(points, triangles, [pair for pair, _, _ in wanted])
    gaps: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {}
    for (_, width, tiles), parts in zip(wanted, edges, strict=True):
        for edge in parts:
            if len(tiles) > 1 or _key(*edge) not in gaps:
                gaps[_key(*edge)] = width, tiles
    yield "gaps"
    neighbours = _neighbours_without(triangles, set(gaps))
    make_delaunay(points, triangles, neighbours)
    yield "delaunay"
    partial = {edge for edge, (_, tiles) in gaps.items() if len(tiles) > 1}
    corner = np.array([tile % ground.shape[0], tile // ground.shape[0]]) + ground.first
    terrain = terrain_near(ground.terrain, corner * ground.size, (corner + 1) * ground.size)
    pieces = convex_pieces(
        Triangulation(points, triangles, _neighbours_without(triangles, partial)),
        terrain,
        most_sides=most_sides,
        cell=ground.cell,
        widest=ground.widest_gap,
        kept=[(local[a], local[b]) for a, b in ground.border[borders].tolist()],
        gaps={frozenset(edge) for edge in gaps},
    )
    yield "polygons"
    return _packed(ground, tile, number, pieces, speeds_on(terrain, pieces.vertices, pieces.polygons), gaps)


def _key(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def _faces(ground: TileGround, walls: NDArray[np.int64], borders: NDArray[np.int64]) -> list[shapely.Polygon]:
    """Return the ground of a tile as polygons through all stops."""
    ends = np.concatenate([ground.wall[walls], ground.border[borders]])
    if not len(ends):
        return []
    faces = shapely.get_parts(shapely.polygonize(shapely.linestrings(ground.points[ends])))
    inside = shapely.get_coordinates(shapely.point_on_surface(faces)) if len(faces) else np.zeros((0, 2))
    shapely.prepare(ground.ground)
    return list(faces[shapely.contains_xy(ground.ground, inside[:, 0], inside[:, 1])]) if len(faces) else []


def _triangles(
    ground: TileGround, faces: list[shapely.Polygon]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the points of a tile, by their numbers in the ground, and its triangles between them."""
    collection = shapely.constrained_delaunay_triangles(shapely.MultiPolygon(faces))
    corners = shapely.get_coordinates(collection).reshape(-1, 4, 2)[:, :3]
    vertices, index = np.unique(corners.reshape(-1, 2), axis=0, return_inverse=True)
    # The points of the ground are sorted like these, by x and then y, and have them all.
    keys = ground.points.view([("x", "f8"), ("y", "f8")]).reshape(-1)
    number = np.searchsorted(keys, np.ascontiguousarray(vertices).view(keys.dtype).reshape(-1))
    triangles = in_fixed_order(vertices, index.reshape(-1, 3).astype(np.int32))
    area = sum(face.area for face in faces)
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    covered = 0.5 * float(
        np.sum((b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0]))
    )
    if (
        not np.array_equal(ground.points[np.minimum(number, len(keys) - 1)], vertices)
        or abs(covered - area) > 1e-9 * area + 1e-9
    ):
        raise NavigationError(
            f"the triangles of a tile cover {covered:.6f} of its {area:.6f} m2; try a slightly different "
            "tile size"
        )
    return number, triangles


def _wanted_gaps(
    ground: TileGround, tile: int, borders: NDArray[np.int64], local: dict[int, int]
) -> list[tuple[tuple[int, int], float, tuple[int, ...]]]:
    """Return the parts of gaps in a tile: their ends, the width of the whole, and the tiles that it needs;
    of parts that are the same, the narrowest.
    """
    on_border = {_key(*ends) for ends in ground.border[borders].tolist()}
    found: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {}
    for part in np.flatnonzero((ground.gap_tile == tile) | (ground.gap_tile < 0)).tolist():
        a, b = ground.gap[part].tolist()
        if ground.gap_tile[part] < 0 and _key(a, b) not in on_border:
            continue
        key, value = (
            _key(local[a], local[b]),
            (float(ground.gap_width[part]), ground.gap_tiles[ground.gap_of[part]]),
        )
        if key not in found or value < found[key]:
            found[key] = value
    return [(key, width, tiles) for key, (width, tiles) in sorted(found.items())]


def _neighbours_without(triangles: NDArray[np.int32], kept: set[tuple[int, int]]) -> NDArray[np.int32]:
    """Return the neighbours of triangles, none over the edges that are kept:
    so that none is flipped or merged over.
    """
    neighbours = neighbours_of(triangles)
    for t, i in np.argwhere(neighbours >= 0).tolist() if kept else ():
        if _key(int(triangles[t, i]), int(triangles[t, (i + 1) % 3])) in kept:
            neighbours[t, i] = -1
    return neighbours


def _packed(
    ground: TileGround,
    tile: int,
    number: NDArray[np.int64],
    pieces: Pieces,
    pace: NDArray[np.float64],
    gaps_of: dict[tuple[int, int], tuple[float, tuple[int, ...]]],
) -> TileMesh:
    """Return the polygons of a tile as arrays, with what each edge is."""
    polygons, whole = pieces.polygons, pieces.whole
    kinds: dict[tuple[int, int], int] = {}
    for place in np.flatnonzero((ground.border_tile == tile).any(axis=1)).tolist():
        a, b = ground.border[place].tolist()
        kinds[(a, b) if ground.border_tile[place, 0] == tile else (b, a)] = BORDER
    for place in np.flatnonzero(ground.wall_tile == tile).tolist():
        a, b = ground.wall[place].tolist()
        kinds[a, b] = OPEN if ground.wall_open[place] else WALL
    sizes = np.array([len(corners) for corners in polygons], dtype=np.int64)
    begin = np.array([corner for corners in polygons for corner in corners], dtype=np.int32)
    end = np.array([corner for corners in polygons for corner in corners[1:] + corners[:1]], dtype=np.int32)
    inner = set(zip(begin.tolist(), end.tolist(), strict=True))
    kind = np.zeros(len(begin), dtype=np.uint8)
    gaps: list[tuple[int, float, tuple[int, ...]]] = []
    for edge, (a, b) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        first, last = whole.get((a, b), (a, b))  # where terrain cuts an edge, each part is what the whole is
        if (a, b)[::-1] not in inner:
            found = kinds.get((int(number[first]), int(number[last])))
            if found is None:
                raise NavigationError(
                    f"an edge of a tile at {pieces.vertices[a]} m is neither wall nor border; try a "
                    "slightly different tile size"
                )
            kind[edge] = found
        width, tiles = gaps_of.get(_key(first, last), (np.inf, ()))
        if len(tiles) > 1 or (tiles and (a, b) in whole):
            gaps.append((edge, width, tiles))
    return TileMesh(
        pieces.vertices,
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        begin,
        kind,
        pace,
        np.array([gap[0] for gap in gaps], dtype=np.int32),
        np.array([gap[1] for gap in gaps]),
        np.cumsum([0, *(len(gap[2]) for gap in gaps)]).astype(np.int32),
        np.array([slot for gap in gaps for slot in gap[2]], dtype=np.int32),
    )
