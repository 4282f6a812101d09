"""The mesh of one tile, made step by step: it needs nothing but what has been cut for it
(`crowdsim.navigation.tiles.cut`, `crowdsim.navigation.tiles.plates`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import Plane
from crowdsim.geometry.forced_edges import force_edges
from crowdsim.geometry.lengths import hypots
from crowdsim.geometry.steps import at_once
from crowdsim.geometry.triangulation import Triangulation, in_fixed_order, make_delaunay, neighbours_of
from crowdsim.navigation.mesh.build import next_in_polygon
from crowdsim.navigation.mesh.plates import EdgeKey, edge_key
from crowdsim.navigation.mesh.terrain import Pieces, convex_pieces, speeds_on, terrain_near
from crowdsim.navigation.tiles.cut import TileGround

# What an edge of a tile is: shared with a polygon of the tile, a wall, part of an exit, or on the tile's
# border or a seam.
INNER, WALL, OPEN, BORDER = range(4)
NO_GAP: tuple[float, tuple[int, ...]] = np.inf, ()


class TileMesh(NamedTuple):
    """The polygons of one tile, by themselves.

    Attributes
    ----------
    vertex : (nv, 2) float64, m
    vertex_height : (nv,) float64, m
    vertex_sheet : (nv,) int32
        Vertices of all tiles at one place in plan with the same number are one.
    polygon_start : (np + 1,) int32
        First edge of each polygon.
    edge_vertex : (ne,) int32
        Where each edge begins, counter-clockwise round its polygon.
    edge_kind : (ne,) uint8
        INNER, WALL, OPEN or BORDER.
    polygon_height : (np,) float64, m
        Height of each polygon's plane at its first corner.
    polygon_slope : (np, 2) float64
        Gradient of its plane.
    polygon_pace : (np, 2) float64
        Speed up and down on it as a share of that on plain level ground.
    gap_edge : (g,) int32
        Edges that are a part of a gap.
    gap_width : (g,) float64, m
        Width of the whole gap.
    gap_start : (g + 1,) int32
    gap_tile : (m,) int32
        Tiles without which gap i is none: ``gap_tile[gap_start[i]:gap_start[i + 1]]``.
    """

    vertex: NDArray[np.float64]
    vertex_height: NDArray[np.float64]
    vertex_sheet: NDArray[np.int32]
    polygon_start: NDArray[np.int32]
    edge_vertex: NDArray[np.int32]
    edge_kind: NDArray[np.uint8]
    polygon_height: NDArray[np.float64]
    polygon_slope: NDArray[np.float64]
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


def can_be_crossed(kind: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which edges lead to another polygon, if it is there; shape (n,)."""
    return (kind == INNER) | (kind == BORDER)


def depths_in(tile: TileMesh, x: float, y: float) -> NDArray[np.float64]:
    """Return how deep (m) a point lies in each polygon of a tile, (np,), negative outside."""
    start = tile.vertex[tile.edge_vertex]
    along = next_in_polygon(tile.polygon_start, start) - start
    across = along[:, 0] * (y - start[:, 1]) - along[:, 1] * (x - start[:, 0])
    depth: NDArray[np.float64] = np.minimum.reduceat(
        across / hypots(along[:, 0], along[:, 1]), tile.polygon_start[:-1]
    )
    return depth


def build_tile(ground: TileGround, tile: int, *, most_sides: int) -> TileMesh | None:
    """Mesh one tile of level ground in one go; see `tile_steps`."""
    return at_once(tile_steps(ground, tile, most_sides=most_sides))


def tile_steps(ground: TileGround, tile: int, *, most_sides: int) -> Generator[str, None, TileMesh | None]:
    """Mesh the part of a plate in one tile, resting between steps of some tenths of a millisecond to some
    milliseconds.

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
        As if it were level ground, see `in_space`; None where the tile has no ground.

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
    low = np.asarray(ground.corner(tile) * ground.size, dtype=np.float64)
    high = np.asarray((ground.corner(tile) + 1) * ground.size, dtype=np.float64)
    terrain = terrain_near(ground.terrain, low, high)
    whole = [*ground.border[borders].tolist(), *ground.wall[walls[ground.wall_seam[walls]]].tolist()]
    pieces = convex_pieces(
        Triangulation(points, triangles, _neighbours_without(triangles, partial)),
        terrain,
        most_sides=most_sides,
        cell=ground.cell,
        widest=ground.widest_gap,
        kept=[(local[a], local[b]) for a, b in whole],
        gaps={frozenset(edge) for edge in gaps},
    )
    yield "polygons"
    kinds = _kinds(ground, tile, walls, borders, local)
    return packed(pieces, kinds, speeds_on(terrain, pieces.vertices, pieces.polygons), gaps)


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
    if kept:
        count = int(triangles.max()) + 1
        ends = np.sort(np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1), axis=-1) @ (count, 1)
        neighbours[np.isin(ends, [a * count + b for a, b in kept])] = -1
    return neighbours


def _kinds(
    ground: TileGround,
    tile: int,
    walls: NDArray[np.int64],
    borders: NDArray[np.int64],
    local: Mapping[int, int],
) -> dict[tuple[int, int], int]:
    """Return what the edges round a tile are, by their ends in the tile, ground on the left."""
    kinds: dict[tuple[int, int], int] = {}
    for place in borders.tolist():
        a, b = (local[each] for each in ground.border[place].tolist())
        kinds[(a, b) if ground.border_tile[place, 0] == tile else (b, a)] = BORDER
    for place in walls.tolist():
        a, b = (local.get(each, -1) for each in ground.wall[place].tolist())
        kinds[a, b] = BORDER if ground.wall_seam[place] else OPEN if ground.wall_open[place] else WALL
    return kinds


def packed(
    pieces: Pieces,
    kinds: Mapping[tuple[int, int], int],
    pace: NDArray[np.float64],
    gaps_of: Mapping[tuple[int, int], tuple[float, tuple[int, ...]]],
) -> TileMesh:
    """Return polygons as the arrays of a tile, as if they lay on level ground.

    Parameters
    ----------
    pieces : Pieces
    kinds : mapping of (int, int) to int
        What each edge of the boundary is, by its ends, ground on the left.
    pace : (np,) float64
        Speed on each polygon as a share of that on plain ground.
    gaps_of : mapping of (int, int) to (float, tuple of int)
        For edges that stop some agent, the lesser end first: the width of the gap that they are a part of
        (m), and the tiles without which it is none.
    """
    polygons, whole = pieces.polygons, pieces.whole
    sizes = np.array([len(corners) for corners in polygons], dtype=np.int64)
    begin = np.array([corner for corners in polygons for corner in corners], dtype=np.int32)
    end = np.array([corner for corners in polygons for corner in corners[1:] + corners[:1]], dtype=np.int32)
    inner = set(zip(begin.tolist(), end.tolist(), strict=True))
    kind = np.zeros(len(begin), dtype=np.uint8)
    gaps: list[tuple[int, float, tuple[int, ...]]] = []
    for edge, (a, b) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        first, last = whole.get((a, b), (a, b))  # where terrain cuts an edge, each part is what the whole is
        if (a, b)[::-1] not in inner:
            found = kinds.get((first, last))
            if found is None:
                raise NavigationError(
                    f"an edge of a tile at {pieces.vertices[a]} m is neither wall nor border; try a "
                    "slightly different tile size"
                )
            kind[edge] = found
        width, tiles = gaps_of.get(_key(first, last), NO_GAP)
        if len(tiles) > 1 or (tiles and (a, b) in whole):
            gaps.append((edge, width, tiles))
    return TileMesh(
        pieces.vertices,
        np.zeros(len(pieces.vertices)),
        np.zeros(len(pieces.vertices), dtype=np.int32),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        begin,
        kind,
        np.zeros(len(polygons)),
        np.zeros((len(polygons), 2)),
        np.repeat(pace[:, None], 2, axis=1),
        *_gap_arrays(gaps),
    )


def _gap_arrays(
    gaps: Sequence[tuple[int, float, tuple[int, ...]]],
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Return gaps, each as edge, width and tiles, as a tile has them."""
    return (
        np.array([gap[0] for gap in gaps], dtype=np.int32),
        np.array([gap[1] for gap in gaps], dtype=np.float64),
        np.cumsum([0, *(len(gap[2]) for gap in gaps)]).astype(np.int32),
        np.array([slot for gap in gaps for slot in gap[2]], dtype=np.int32),
    )


def in_space(
    part: TileMesh,
    plane: Plane,
    pace: tuple[float, float],
    sheet: int,
    corners: Mapping[tuple[float, float], tuple[int, float]],
    seam_gaps: Mapping[EdgeKey, tuple[float, tuple[int, ...]]],
) -> TileMesh:
    """Return a part of level ground as it lies in space.

    Parameters
    ----------
    part : TileMesh
    plane : Plane
    pace : (float, float)
        Speed up and down as a share of that on level ground.
    sheet : int
        Number of its vertices.
    corners : mapping of (x, y) to (int, float)
        Vertices that other plates have, too: their number, and their height (m).
    seam_gaps : mapping of edges to (float, tuple of int)
        For edges of seams that stop some agent what `packed` has for others.
    """
    height = plane.height(part.vertex)
    sheets = np.full(len(part.vertex), sheet, dtype=np.int32)
    if corners:
        for row, point in enumerate(part.vertex.tolist()):
            sheets[row], height[row] = corners.get((point[0], point[1]), (sheets[row], height[row]))
    gaps = []
    if seam_gaps:
        end = next_in_polygon(part.polygon_start, part.edge_vertex)
        for edge in np.flatnonzero(part.edge_kind == BORDER).tolist():
            key = edge_key(part.vertex[part.edge_vertex[edge]].tolist(), part.vertex[end[edge]].tolist())
            if key in seam_gaps:
                gaps.append((edge, *seam_gaps[key]))
    more = _gap_arrays(gaps)
    first = part.edge_vertex[part.polygon_start[:-1]]
    return part._replace(
        vertex_height=height,
        vertex_sheet=sheets,
        polygon_height=plane.height(part.vertex[first]),
        polygon_slope=np.repeat([plane.slope], part.polygon_count, axis=0).astype(np.float64),
        polygon_pace=part.polygon_pace * pace,
        gap_edge=np.concatenate([part.gap_edge, more[0]]),
        gap_width=np.concatenate([part.gap_width, more[1]]),
        gap_start=np.concatenate([part.gap_start, part.gap_start[-1] + more[2][1:]]).astype(np.int32),
        gap_tile=np.concatenate([part.gap_tile, more[3]]),
    )


def put_together(parts: Sequence[TileMesh]) -> TileMesh:
    """Return the parts of one tile as one."""
    if len(parts) == 1:
        return parts[0]
    shift = {
        "polygon_start": "edge_vertex",
        "edge_vertex": "vertex",
        "gap_edge": "edge_vertex",
        "gap_start": "gap_tile",
    }
    columns: dict[str, Any] = {}
    for field in TileMesh._fields:
        rows = []
        base = 0
        for place, part in enumerate(parts):
            own = getattr(part, field)
            # of starts the last is the first of the next part
            rows.append(
                (own[1:] if field.endswith("_start") and place else own) + base if field in shift else own
            )
            base += len(getattr(part, shift[field])) if field in shift else 0
        columns[field] = np.concatenate(rows).astype(getattr(parts[0], field).dtype)
    return TileMesh(**columns)
