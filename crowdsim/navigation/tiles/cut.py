"""Ground cut into square tiles: which bits of wall, of tile border and of gaps each tile has.

Tiles are meshed one by one, and yet their meshes have to fit together to the last bit and answer for every
radius. Both follow from what is cut here, once, for all tiles. Lines of tiles run at whole multiples of the
tile size. Where a wall or a gap (`crowdsim.geometry.triangulation`) crosses one, there is a *stop*, and both
tiles get the same one as a vertex. A gap that a border cuts is an edge in each of its tiles, and keeps the
width of the whole: so an agent sees walls beyond the border. Where the border of terrain with a speed of its
own crosses a line there is a stop too, so that polygons follow it on both sides.

Ground is cut plate by plate (`crowdsim.navigation.tiles.plates`); here is one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.geometry.lengths import hypots
from crowdsim.geometry.triangulation import EMPTY_DISC_SLACK, Triangulation, is_open, triangulate
from crowdsim.navigation.mesh.plates import EdgeKey, edge_key
from crowdsim.navigation.mesh.terrain import BORDER_M, CELL_SHARE, MOST_CELLS, region_of
from crowdsim.navigation.tiles.numbers import SNAP_M, TileNumbers

# Up to as many holes ground is triangulated as it is, which takes half a second; a large city has more.
MOST_HOLES = 2000


@dataclass(frozen=True, eq=False)
class TileGround:
    """Ground cut along the lines of tiles.

    Attributes
    ----------
    size : float, m
        Side of a tile.
    first : (int, int)
        Column and row of the tile in the lower left: tile (i, j) covers ``i * size .. (i + 1) * size`` in x,
        likewise j in y.
    shape : (int, int)
        Columns and rows. The tile in column i and row j has the number
        ``base + (j - first[1]) * shape[0] + i - first[0]``.
    points : (n, 2) float64, m
    wall : (k, 2) int32
        Ends of bits of the ground's boundary, ground on the left; each in one tile.
    wall_open : (k,) bool
        Part of an exit or of a seam.
    wall_seam : (k,) bool
        Part of a seam to another plate.
    wall_tile : (k,) int32
    border : (b, 2) int32
        Bits of the lines of tiles inside the ground, from one stop to the next, upwards or to the right.
    border_tile : (b, 2) int32
        Tiles on the left and on the right.
    gap : (g, 2) int32
        Parts of gaps.
    gap_tile : (g,) int32
        One of the tiles with that part; -1 for parts on a border, which both tiles have anyway.
    gap_width : (g,) float64, m
        Width of the whole gap.
    gap_of : (g,) int32
        Which gap it is a part of.
    gap_tiles : list of tuples of int
        For each gap the tiles without which it is none: those that it runs through, and those that alone have
        the wall at one of its ends.
    gap_through : list of tuples of int
        The former of these alone.
    ground : shapely geometry
    terrain : tuple of Terrain
    cell : float, m
        How large polygons are where there is terrain with a speed, about.
    widest_gap : float, m
    base : int
    """

    size: float
    first: tuple[int, int]
    shape: tuple[int, int]
    points: NDArray[np.float64]
    wall: NDArray[np.int32]
    wall_open: NDArray[np.bool_]
    wall_seam: NDArray[np.bool_]
    wall_tile: NDArray[np.int32]
    border: NDArray[np.int32]
    border_tile: NDArray[np.int32]
    gap: NDArray[np.int32]
    gap_tile: NDArray[np.int32]
    gap_width: NDArray[np.float64]
    gap_of: NDArray[np.int32]
    gap_tiles: list[tuple[int, ...]]
    gap_through: list[tuple[int, ...]]
    ground: Any
    terrain: tuple[Terrain, ...] = ()
    cell: float = 1.0
    widest_gap: float = np.inf
    base: int = 0

    @property
    def tiles(self) -> range:
        """The numbers of all tiles, those without ground included."""
        return range(self.base, self.base + self.shape[0] * self.shape[1])

    def corner(self, tile: int) -> NDArray[np.int64]:
        """Return the column and row of a tile, shape (2,)."""
        row, column = divmod(tile - self.base, self.shape[0])
        return np.array([column + self.first[0], row + self.first[1]])


def cut_ground(
    ground: Any,
    size: float,
    *,
    openings: Any = None,
    widest_gap: float,
    terrain: Sequence[Terrain] = (),
    cell: float = 1.0,
    seams: Collection[EdgeKey] = (),
    walls_beyond: Collection[tuple[float, float]] = (),
) -> TileGround:
    """Cut ground into tiles.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon, m
        Valid; already cut at the outlines of openings.
    size : float, m, > 0
    openings : shapely geometry, optional
    widest_gap : float, m
        Gaps up to this width are kept: twice the largest radius of an agent.
    terrain : sequence of Terrain
        Areas that are walked at speeds of their own and do not overlap: there are stops where their borders
        meet lines of tiles, and between them as far apart as cells are large.
    cell : float, m
    seams : collection of edges
        Those that it shares with other plates, already cut at lines of tiles.
    walls_beyond : collection of (x, y), m
        Corners of it where walls of other plates end.

    Raises
    ------
    NavigationError
        If the ground cannot be triangulated.
    """
    whole = triangulate(
        ground, openings=_without_walls(seams, openings), widest_gap=widest_gap, most_holes=MOST_HOLES
    )
    points = snapped(whole.vertices, size)
    owner, side = np.nonzero(whole.neighbours < 0)
    start, end = whole.triangles[owner, side], whole.triangles[owner, (side + 1) % 3]
    opened = is_open(whole.vertices[start], whole.vertices[end], openings)
    is_seam = _are_seams(points[start], points[end], seams)
    opened |= is_seam
    at_wall = np.zeros(len(points), dtype=np.bool_)
    at_wall[start[~opened]] = at_wall[end[~opened]] = True
    if walls_beyond:
        at_wall |= np.array([tuple(point) in walls_beyond for point in points.tolist()], dtype=np.bool_)
    gap_start, gap_end = _gaps(whole, at_wall, widest_gap)
    walls = _cut_segments(points[start], points[end], size)
    lines = _Lines(size, np.concatenate([walls.start, walls.end]))
    if (region := region_of(terrain))[0] is not None:
        cell = max(cell, math.sqrt(region[0].area / MOST_CELLS))
        lines.enter_terrain(*region, cell)
    gaps = _cut_segments(points[gap_start], points[gap_end], size, lines)
    border, border_keys = lines.borders(
        ground, {(*a, *b) for a, b in zip(walls.start.tolist(), walls.end.tolist(), strict=True)}
    )
    cut = _numbered(
        size,
        walls,
        opened,
        gaps,
        hypots(*(whole.vertices[gap_end] - whole.vertices[gap_start]).T),
        border,
        border_keys,
        ground,
    )
    return replace(
        cut,
        wall_seam=is_seam[walls.owner],
        terrain=tuple(terrain),
        cell=cell,
        widest_gap=widest_gap,
    )


def _without_walls(seams: Collection[EdgeKey], openings: Any) -> Any:
    """Return where the boundary of a plate is no wall: on seams and in openings."""
    if not seams:
        return openings
    lines = shapely.multilinestrings([np.array(key).reshape(2, 2) for key in sorted(seams)])
    return shapely.GeometryCollection([lines, *([openings] if openings is not None else [])])


def _are_seams(
    start: NDArray[np.float64], end: NDArray[np.float64], seams: Collection[EdgeKey]
) -> NDArray[np.bool_]:
    """Return which edges are seams, exactly: walls beside them may be as short as a micrometre."""
    found = np.zeros(len(start), dtype=np.bool_)
    for row, ends in enumerate(np.hstack([start, end]).tolist() if seams else ()):
        found[row] = edge_key(ends[:2], ends[2:]) in seams
    return found


def snapped(points: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """Return points of which those near a line of tiles lie on it."""
    near = np.round(points / size) * size
    return np.where(np.abs(points - near) <= SNAP_M, near, points)


def _gaps(
    whole: Triangulation, at_wall: NDArray[np.bool_], widest_gap: float
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the ends of the edges that may be gaps:
    between walls, not too wide, and without a wall at a corner of their triangles in the circle over them.
    """
    t, i = np.nonzero(whole.neighbours > np.arange(len(whole.triangles))[:, None])
    a, b, apex = (whole.triangles[t, (i + k) % 3] for k in range(3))
    other = whole.neighbours[t, i]
    far = whole.triangles[other].sum(axis=1) - a - b
    place = whole.vertices
    span = place[b] - place[a]
    length2 = (span * span).sum(axis=1)
    is_gap = at_wall[a] & at_wall[b] & (length2 <= widest_gap * widest_gap)
    for corner in (apex, far):
        inside = ((place[a] - place[corner]) * (place[b] - place[corner])).sum(axis=1)
        is_empty = inside > -4.0 * EMPTY_DISC_SLACK * length2 - SNAP_M * SNAP_M
        is_gap &= is_empty | ~at_wall[corner]  # where the boundary is open nothing else stops agents
    return a[is_gap], b[is_gap]


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Segments cut at lines of tiles: start and end of each piece, (n, 2) m, and which segment it is of."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    owner: NDArray[np.int64]


def _cut_segments(
    start: NDArray[np.float64], end: NDArray[np.float64], size: float, lines: _Lines | None = None
) -> _Pieces:
    """Return the pieces of segments, cut at the lines of tiles; with `lines`, the stops are entered there,
    and those that are there already are taken.
    """
    low, high = np.minimum(start, end), np.maximum(start, end)
    crosses = ((np.floor(low / size) + 1.0) * size < high).any(axis=1)
    if lines is not None:
        crosses |= _on_line(start, end, size)
    owner, pieces = [np.flatnonzero(~crosses)], [np.hstack([start[~crosses], end[~crosses]])]
    for number in np.flatnonzero(crosses).tolist():
        a, b = start[number].tolist(), end[number].tolist()
        stops = stops_on(a, b, size)
        if lines is not None:
            stops = lines.entered(a, b, stops)
        row = [tuple(a), *stops, tuple(b)]
        parts = [(*p, *q) for p, q in itertools.pairwise(row) if p != q]
        owner.append(np.full(len(parts), number))
        pieces.append(np.array(parts, dtype=np.float64).reshape(-1, 4))
    table, whose = np.concatenate(pieces), np.concatenate(owner)
    kept = (table[:, 0] != table[:, 2]) | (table[:, 1] != table[:, 3])
    order = np.argsort(whose[kept], kind="stable")
    table, whose = table[kept][order], whose[kept][order]
    return _Pieces(np.ascontiguousarray(table[:, :2]), np.ascontiguousarray(table[:, 2:]), whose)


def _on_line(start: NDArray[np.float64], end: NDArray[np.float64], size: float) -> NDArray[np.bool_]:
    """Return which segments lie on a line of tiles."""
    return ((start == end) & (np.round(start / size) * size == start)).any(axis=1)


def stops_on(a: Sequence[float], b: Sequence[float], size: float) -> list[tuple[float, float]]:
    """Return where a segment crosses lines of tiles strictly between its ends, in order;
    a crossing of two lines is met exactly.
    """
    found = []
    for axis in range(2):
        low, high = min(a[axis], b[axis]), max(a[axis], b[axis])
        for k in range(int(np.floor(low / size)), int(np.ceil(high / size)) + 1):
            at = k * size
            if low < at < high:
                t = (at - a[axis]) / (b[axis] - a[axis])
                cross = a[1 - axis] + t * (b[1 - axis] - a[1 - axis])
                near = np.round(cross / size) * size
                cross = float(near if abs(cross - near) <= SNAP_M else cross)
                found.append((t, (at, cross) if axis == 0 else (cross, at)))
    stops: list[tuple[float, float]] = []
    for _, stop in sorted(found):
        if stop not in stops:
            stops.append(stop)
    return stops


class _Lines:
    """The stops on all lines of tiles: of walls first; those of gaps are added."""

    def __init__(self, size: float, points: NDArray[np.float64]) -> None:
        self.size = size
        self.low = np.floor(points.min(axis=0) / size).astype(int)
        self.high = np.maximum(np.ceil(points.max(axis=0) / size).astype(int), self.low + 1)
        # (axis, coordinate) -> stops along the line
        self.stops: dict[tuple[int, float], dict[float, float]] = {}
        on = np.round(points / size) * size == points
        for axis in range(2):
            corners = [k * size for k in range(self.low[1 - axis], self.high[1 - axis] + 1)]
            for k in range(self.low[axis], self.high[axis] + 1):
                self.stops[axis, k * size] = {corner: corner for corner in corners}
            for place, along in np.unique(points[on[:, axis]][:, [axis, 1 - axis]], axis=0).tolist():
                self.stops[axis, place][along] = along

    def enter_terrain(
        self, region: Any, borders: list[tuple[NDArray[np.float64], NDArray[np.float64]]], cell: float
    ) -> None:
        """Enter stops where borders of terrain meet lines, and round the tiles that meet its region one every
        cell (m).
        """
        for start, end in borders:
            a, b = start.tolist(), end.tolist()
            for x, y in (a, *stops_on(a, b, self.size), b):
                self._enter_apart(x, y, BORDER_M)
        columns, rows = (
            each.reshape(-1)
            for each in np.meshgrid(*(np.arange(*ends) for ends in zip(self.low, self.high, strict=True)))
        )
        boxes = shapely.box(*(np.array([columns, rows, columns + 1, rows + 1]) * self.size))
        shapely.prepare(region)
        count = max(1, int(np.ceil(self.size / cell)))
        step = self.size / count
        meets = shapely.intersects(region, boxes)
        for column, row in zip(columns[meets].tolist(), rows[meets].tolist(), strict=True):
            x, y = column * self.size, row * self.size
            for along in (step * place for place in range(1, count)):
                for far in (0, 1):
                    self._enter_apart((column + far) * self.size, y + along, CELL_SHARE * step)
                    self._enter_apart(x + along, (row + far) * self.size, CELL_SHARE * step)

    def _enter_apart(self, x: float, y: float, least: float) -> None:
        """Enter a stop on the lines that a point is on, unless there is one nearer than `least` (m)."""
        for axis, (across, along) in enumerate(((x, y), (y, x))):
            line = round(across / self.size) * self.size
            known = self.stops.get((axis, line)) if abs(across - line) <= BORDER_M else None
            if known is not None and all(abs(each - along) > least for each in known):
                known[along] = along

    def entered(
        self, a: list[float], b: list[float], stops: list[tuple[float, float]]
    ) -> list[tuple[float, float]]:
        """Enter the stops of a gap; return them with those taken that were there.
        A gap on a line stops wherever anything does.
        """
        for axis in range(2):
            if a[axis] == b[axis] and (axis, a[axis]) in self.stops:
                low, high = sorted((a[1 - axis], b[1 - axis]))
                inner = sorted(each for each in self.stops[axis, a[axis]].values() if low < each < high)
                if a[1 - axis] > b[1 - axis]:
                    inner.reverse()
                return [(a[0], each) if axis == 0 else (each, a[1]) for each in inner]
        return [self._entered_one(stop) for stop in stops]

    def _entered_one(self, stop: tuple[float, float]) -> tuple[float, float]:
        on = [axis for axis in range(2) if (axis, stop[axis]) in self.stops]
        if len(on) == 2:
            return stop
        axis = on[0]
        known = self.stops[axis, stop[axis]]
        along = stop[1 - axis]
        near = (
            [each for each in known.values() if abs(each - along) <= SNAP_M]
            if along not in known
            else [along]
        )
        along = min(near, key=lambda each: (abs(each - along), each)) if near else along
        known[along] = along
        return (stop[0], along) if axis == 0 else (along, stop[1])

    def borders(
        self, ground: Any, walls: set[tuple[float, ...]]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the bits of lines inside the ground, (b, 4) m, with columns and rows of the tiles on their
        left and right, (b, 4).
        """
        rows, keys = [], []
        for (axis, place), known in sorted(self.stops.items()):
            line = round(place / self.size)
            along = sorted(known.values())
            for low, high in itertools.pairwise(along):
                tile = int(np.floor(0.5 * (low + high) / self.size))
                if axis == 0:
                    rows.append((place, low, place, high))
                    keys.append((line - 1, tile, line, tile))
                else:
                    rows.append((low, place, high, place))
                    keys.append((tile, line, tile, line - 1))
        table, tiles = np.array(rows), np.array(keys, dtype=np.int64)
        shapely.prepare(ground)
        inside = shapely.contains_xy(
            ground, 0.5 * (table[:, 0] + table[:, 2]), 0.5 * (table[:, 1] + table[:, 3])
        )
        free = np.array(
            [row not in walls and (*row[2:], *row[:2]) not in walls for row in rows], dtype=np.bool_
        )
        return table[inside & free], tiles[inside & free]


def _left_tile(start: NDArray[np.float64], end: NDArray[np.float64], size: float) -> NDArray[np.int64]:
    """Return column and row of the tile of each piece, (n, 2); of one on a line, the tile on its left."""
    middle = 0.5 * (start + end)
    tile = np.floor(middle / size).astype(np.int64)
    for axis in range(2):
        line = np.round(start[:, axis] / size)
        on = (start[:, axis] == end[:, axis]) & (line * size == start[:, axis])
        upwards = end[:, 1 - axis] > start[:, 1 - axis]
        left_is_before = upwards if axis == 0 else ~upwards
        tile[on, axis] = (line[on] - left_is_before[on]).astype(np.int64)
    return tile


def _numbered(
    size: float,
    walls: _Pieces,
    opened: NDArray[np.bool_],
    gaps: _Pieces,
    width: NDArray[np.float64],
    border: NDArray[np.float64],
    border_keys: NDArray[np.int64],
    ground: Any,
) -> TileGround:
    """Number points and tiles."""
    corners = (
        np.concatenate([walls.start, walls.end, gaps.start, gaps.end, border[:, :2], border[:, 2:]]) + 0.0
    )
    points, index = np.unique(corners, axis=0, return_inverse=True)
    ends = np.split(
        index.reshape(-1).astype(np.int32),
        np.cumsum([len(walls.owner)] * 2 + [len(gaps.owner)] * 2 + [len(border)]),
    )
    wall_key, gap_key = _left_tile(walls.start, walls.end, size), _left_tile(gaps.start, gaps.end, size)
    keys = np.concatenate([wall_key, border_keys[:, :2], border_keys[:, 2:]])
    first, last = keys.min(axis=0), keys.max(axis=0)
    columns, rows = (last - first + 1).tolist()

    def number(key: NDArray[np.int64]) -> NDArray[np.int32]:
        return ((key[:, 1] - first[1]) * columns + key[:, 0] - first[0]).astype(np.int32)

    wall_tile = number(wall_key)
    on_line = _on_line(gaps.start, gaps.end, size)
    other_key = _left_tile(gaps.end, gaps.start, size)
    through = _tiles_along(len(width), gaps.owner, number(gap_key), number(other_key))
    at_point = tiles_at_points(np.column_stack(ends[0:2]), wall_tile)
    part = np.column_stack(ends[2:4])
    return TileGround(
        size, (int(first[0]), int(first[1])), (columns, rows), points, np.column_stack(ends[0:2]),
        opened[walls.owner], np.zeros(len(wall_tile), dtype=np.bool_), wall_tile, np.column_stack(ends[4:6]),
        np.column_stack([number(border_keys[:, :2]), number(border_keys[:, 2:])]), part,
        np.where(on_line, -1, number(gap_key)).astype(np.int32), width[gaps.owner],
        gaps.owner.astype(np.int32), with_tiles_at_ends(through, gaps.owner, part, at_point),
        [tuple(sorted(each)) for each in through], ground,
    )  # fmt: skip


def _tiles_along(
    count: int, owner: NDArray[np.int64], left: NDArray[np.int32], right: NDArray[np.int32]
) -> list[set[int]]:
    """Return for each gap the tiles that it runs through."""
    found: list[set[int]] = [set() for _ in range(count)]
    for gap, one, other in zip(owner.tolist(), left.tolist(), right.tolist(), strict=True):
        found[gap] |= {one, other}
    return found


def tiles_at_points(wall: NDArray[np.int32], wall_tile: NDArray[np.int32]) -> dict[int, set[int]]:
    """Return for each point where walls end the tiles that these walls are in."""
    found: dict[int, set[int]] = {}
    for (a, b), tile in zip(wall.tolist(), wall_tile.tolist(), strict=True):
        found.setdefault(a, set()).add(tile)
        found.setdefault(b, set()).add(tile)
    return found


def with_tiles_at_ends(
    through: Sequence[Collection[int]],
    owner: NDArray[Any],
    ends: NDArray[np.int32],
    at_point: Mapping[int, Collection[int]],
) -> list[tuple[int, ...]]:
    """Return for each gap the tiles without which it is none.

    Parameters
    ----------
    through : sequence of collections of int
        The tiles that each runs through.
    owner : (g,) int
        Which gap each part is of.
    ends : (g, 2) int32
        Points where the parts end.
    at_point : mapping of int to collection of int
        See `tiles_at_points`.
    """
    found = [set(tiles) for tiles in through]
    for gap, points in zip(owner.tolist(), ends.tolist(), strict=True):
        for point in points:
            if len(at_point.get(point, ())) == 1:
                found[gap] |= set(at_point[point])
    return [tuple(sorted(each)) for each in found]


def numbered_as(cut: TileGround, numbers: TileNumbers, layer: int = 0) -> TileGround:
    """Return cut ground with the numbers that its tiles have among those of all floors."""
    first, shape, base = numbers.first[layer], numbers.shape[layer], numbers.base(layer)
    if cut.first == first and cut.shape == shape and cut.base == base:
        return cut
    columns, right, up = cut.shape[0], cut.first[0] - first[0], cut.first[1] - first[1]

    def number(tile: NDArray[np.int32]) -> NDArray[np.int32]:
        own = tile - cut.base
        there = base + (own // columns + up) * shape[0] + own % columns + right
        return np.where(tile < 0, tile, there).astype(np.int32)

    def renumbered(gaps: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        return [tuple(number(np.array(tiles, dtype=np.int32)).tolist()) for tiles in gaps]

    return replace(
        cut,
        first=first,
        shape=shape,
        base=base,
        wall_tile=number(cut.wall_tile),
        border_tile=number(cut.border_tile),
        gap_tile=number(cut.gap_tile),
        gap_tiles=renumbered(cut.gap_tiles),
        gap_through=renumbered(cut.gap_through),
    )
