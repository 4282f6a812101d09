"""The walkable grid: areas that are available or not, obstacles,
and one field of distances that serves agents of every radius.

Source: [Pathfinding undated], sections 1 and 2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import Terrain
from crowdsim.navigation.grid.cells import bar_steps, fill_polygon, stamp_distances
from crowdsim.navigation.grid.drawn import Drawn, Window, Zone, drawn_on, edges_of, is_same
from crowdsim.navigation.grid.ground import NEAR_BARS, NO_GROUND, TOUCH_M, Floors, Ground, one_floor
from crowdsim.navigation.grid.layout import Raster, Shut
from crowdsim.navigation.grid.lines import lay_on_floors
from crowdsim.navigation.grid.parameters import GridParameters
from crowdsim.navigation.grid.sheet import Sheet
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.tunable import tunables

# 67 million cells, 1.4 GB: a square of 3 km with the usual cells. More is a slip of the finger in cell_size.
MOST_CELLS = 1 << 26


@dataclass(frozen=True, eq=False)
class Area:
    """A region that can be walked on while it is available.

    Attributes
    ----------
    name : str
    polygon : shapely Polygon or MultiPolygon, m
    is_available : bool
    """

    name: str
    polygon: Any
    is_available: bool = True


class UnderCells(NamedTuple):
    """The ground under the cells of a sheet.

    Attributes
    ----------
    mesh : NavMesh
    polygon : (depth, width) int32
        Under the centre of each cell; -1 where there is none.
    """

    mesh: NavMesh
    polygon: NDArray[np.int32]


class Grid:
    """Cells of a floor plan, and how far each is from the nearest obstacle.

    An agent of radius r walks on cells whose centres lie in an available area, at least `boundary_padding`
    inside of it, and are farther than r + `object_padding` from every obstacle ([Pathfinding undated],
    section 2), and than r from every wall, where walls are known. One field of distances answers for all
    radii up to `widest_body`.

    Attributes
    ----------
    parameters : GridParameters
    areas : dict of str to Area
        In the order in which they were given.
    x, y : float, m
        Lower left corner.
    width, depth : int
        Cells in x and in y.
    version : int
        Counts the changes of availability.
    fastest : float
        Speed on the fastest ground as a share of that on plain ground.
    under : UnderCells or None
        The ground under the cells of several floors.
    sheet : Sheet
        Where several floors lie side by side; the cells are those of the sheet. See
        `crowdsim.navigation.grid.floors.build_floor_grid`.
    """

    def __init__(self, parameters: GridParameters, x: float, y: float, width: int, depth: int) -> None:
        refuse_numbers(parameters, GridParameters)
        _refuse_sizes(parameters, width, depth, x, y)
        self.parameters = parameters
        self.x, self.y, self.width, self.depth = x, y, width, depth
        self.areas: dict[str, Area] = {}
        self.version = 0
        self._windows: dict[str, Window] = {}
        self._holders = np.zeros((depth, width), dtype=np.int32)  # how many available areas hold a cell
        # to obstacles that stand for good, whether an area holds the cell or not
        self._distance = np.full((depth, width), np.inf)
        self._near = self._distance  # to obstacles that can be taken down too
        self._raised: dict[str, tuple[Shut, list[Drawn]]] = {}  # with how it is drawn on the sheet
        self._has_walls = self._has_bars = False
        self._fixed_bars = np.zeros((depth, width), dtype=np.uint8)  # of walls that stand for good
        self._bars = np.zeros((depth + 2, width + 2), dtype=np.uint16)
        self._clearance = np.full((depth + 2, width + 2), NO_GROUND)
        self.fastest = 1.0
        self._slowness = np.ones((depth + 2, width + 2))
        self._marks = np.zeros(
            (depth + 2, width + 2), dtype=np.uint16
        )  # what bars hold for good beside walls
        self.sheet, self._floors, self._zones = Sheet(), one_floor(depth), list[Zone]()
        self.under: UnderCells | None = None
        self._grounds: Sequence[Any] = ()

    @property
    def reach(self) -> float:
        """Distance (m) up to which obstacles are looked for; beyond it clearance is infinite."""
        # what the widest agent keeps is measured, too
        return self.widest_body + self.parameters.object_padding + 2.0 * TOUCH_M

    @property
    def widest_body(self) -> float:
        """Radius (m) up to which agents can ask."""
        return max(self.parameters.widest_body, self.parameters.agent_radius)

    @property
    def ground(self) -> Ground:
        """The cells as searches see them; it follows changes of availability."""
        clearance = self._clearance.reshape(-1)
        return Ground(
            self.x,
            self.y,
            self.parameters.cell_size,
            self.width,
            self.depth,
            clearance,
            self._bars.reshape(-1),
            self._slowness.reshape(-1),
            self._floors,
        )

    @property
    def has_floors(self) -> bool:
        """Whether it is of several floors, or of slopes."""
        return len(self._floors.kind) > 1

    @property
    def is_even(self) -> bool:
        """Whether agents walk at their own speed on all cells."""
        return self.fastest == 1.0 and not np.any(self._marks & np.uint16(NEAR_BARS))

    @property
    def bars(self) -> NDArray[np.uint8]:
        """(depth, width) uint8: which steps from each cell lead over walls, see `Ground.bars`."""
        return self._bars[1:-1, 1:-1].astype(np.uint8)

    @property
    def clearance(self) -> NDArray[np.float64]:
        """(depth, width) float64, m: distance of each centre to the nearest obstacle;
        NO_GROUND where no available area holds it. Not to be written.
        """
        inner = self._clearance[1:-1, 1:-1].view()
        inner.flags.writeable = False
        return inner

    def on_floor(self, field: NDArray[Any], floor: int) -> tuple[NDArray[Any], float, float]:
        """Return the part of a field over the grid, (depth, width), that is of one floor, and where its lower
        left corner is in plan (m).
        """
        first, last = int(self._floors.first[floor]), int(self._floors.last[floor])
        row = first - int(self._floors.lift[floor])
        return field[first : last + 1], self.x, self.y + row * self.parameters.cell_size

    def need(self, radius: float) -> float:
        """Return the clearance (m) that a cell must exceed for an agent of a radius (m).

        Raises
        ------
        NavigationError
            If the agent is wider than what distances were measured for.
        """
        if not 0.0 <= radius <= self.widest_body:
            raise NavigationError(
                f"An agent of radius {radius:g} m cannot be led over a grid that knows distances for radii "
                f"from 0 to {self.widest_body:g} m. "
                "Make the grid with a larger widest_body, or the radius smaller."
            )
        return radius + self.parameters.object_padding

    def walkable(self, radius: float | None = None) -> NDArray[np.bool_]:
        """Return where an agent can be.

        Parameters
        ----------
        radius : float, m, optional
            `agent_radius` where none is given.

        Returns
        -------
        (depth, width) bool
            Row 0 is the lowest.
        """
        return (
            self.clearance > self.need(self.parameters.agent_radius if radius is None else radius) + TOUCH_M
        )

    def set_area_available(self, name: str, available: bool) -> bool:
        """Open or close an area; only its own cells are looked at.

        Parameters
        ----------
        name : str
        available : bool

        Returns
        -------
        bool
            Whether that changed anything.

        Raises
        ------
        NavigationError
            If there is no such area.
        """
        if name not in self.areas:
            known = ", ".join(f'"{area}"' for area in list(self.areas)[:8]) or "none"
            raise NavigationError(
                f'There is no area "{name}" on this grid. Its areas: '
                f"{known}{' and others' if len(self.areas) > 8 else ''}."
            )
        if self.areas[name].is_available == available:
            return False
        self.areas[name] = replace(self.areas[name], is_available=available)
        self._hold(self._windows[name], 1 if available else -1)
        self.version += 1
        return True

    def add_area(self, area: Area) -> None:
        """Add an area; its cells outside of the grid are lost.

        Raises
        ------
        NavigationError
            If there is one of its name.
        """
        if area.name in self.areas:
            raise NavigationError(f'Two areas have the name "{area.name}". Give each a name of its own.')
        self.areas[area.name] = area
        self._windows[area.name] = window = self._window_of(area.polygon)
        if area.is_available:
            self._hold(window, 1)

    def _hold(self, window: Window, change: int) -> None:
        """Count an area in or out, and show it in the clearance of its cells."""
        holders = window.within(self._holders)
        holders[window.held] += change
        window.within(self._clearance[1:-1, 1:-1])[...] = np.where(
            holders > 0, window.within(self._near), NO_GROUND
        )

    def _block(self, polygon: Any, margin: float) -> tuple[int, int, int, int]:
        """Return first row, first column, rows and columns of the cells within a margin (m) of a polygon's
        bounds.
        """
        if polygon.is_empty:
            return 0, 0, 0, 0
        min_x, min_y, max_x, max_y = polygon.bounds
        left, right = (
            self._column(min_x - margin - self.x, self.width),
            self._column(max_x + margin - self.x, self.width),
        )
        low, high = (
            self._column(min_y - margin - self.y, self.depth),
            self._column(max_y + margin - self.y, self.depth),
        )
        return low, left, min(high + 1, self.depth) - low, min(right + 1, self.width) - left

    def _column(self, distance: float, count: int) -> int:
        return int(min(max(distance // self.parameters.cell_size, 0), count))

    def _window_of(self, polygon: Any) -> Window:
        """Return which cells a polygon holds, `boundary_padding` inside of its edges."""
        cell, padding = self.parameters.cell_size, self.parameters.boundary_padding
        row, column, rows, columns = self._block(polygon, 0.0)
        edges = edges_of(polygon)
        inside = np.zeros((rows, columns), dtype=np.uint8)
        fill_polygon(edges, self.x, self.y, cell, row, column, inside)
        held = inside.astype(np.bool_)
        if padding > 0.0:
            away = np.full((rows, columns), np.inf)
            stamp_distances(edges, self.x, self.y, cell, row, column, padding, away)
            held &= away >= padding - TOUCH_M
        return Window(row, column, held)

    def add_obstacle(self, polygon: Any) -> None:
        """Put an obstacle up for good: cells inside of it are blocked,
        and those around as far as an agent is wide.

        Parameters
        ----------
        polygon : shapely Polygon or MultiPolygon, m
        """
        row, column, rows, columns = self._block(polygon, self.reach)
        distance = self._distance[row : row + rows, column : column + columns].copy()
        self._stamp(Drawn(Shut("", polygon), polygon), row, column, distance)
        self._distance[row : row + rows, column : column + columns] = distance
        self._show(row, column, rows, columns)

    def take_away(self, polygon: Any, layer: int = -1) -> None:
        """Take some ground away for good, without a wall round it: bodies reach over its rim.

        Parameters
        ----------
        polygon : shapely Polygon or MultiPolygon, m
        layer : int
            Its floor, where there are several.
        """
        gone = Shut("", polygon, is_ground=True, layer=layer, has_wall=False)
        for each in drawn_on(gone, self.sheet, self._grounds, self._zones):
            row, column, rows, columns = self._block(each.polygon, self.reach)
            block = np.s_[row : row + rows, column : column + columns]
            distance = self._distance[block].copy()
            self._stamp(each, row, column, distance)
            self._distance[block] = distance
            if self._has_bars:
                bars = np.zeros((rows, columns), dtype=np.uint8)
                cell = self.parameters.cell_size
                bar_steps(edges_of(each.polygon), self.x, self.y, cell, row, column, bars)
                held = each.cells(row, column, rows, columns)
                self._fixed_bars[block] |= np.where(held, bars, np.uint8(0))
            self._show(row, column, rows, columns)

    def show(self, closed: Sequence[Shut]) -> None:
        """Show what is closed now, and nothing else: obstacles that stand, and ground that is shut.

        Of a name that an area of the grid has, the area becomes unavailable; all others are available then.
        """
        wanted = {each.name: each for each in closed}
        for name in self.areas:
            self.set_area_available(name, name not in wanted)
        # Where walls are known, there is one round an area that is closed, too.
        shown = {
            name: each
            for name, each in wanted.items()
            if not each.polygon.is_empty and (name not in self.areas or self._has_bars)
        }
        for name, (shut, _) in list(self._raised.items()):
            if name not in shown or not is_same(shut, shown[name]):
                self.take_down(name)
        for name, each in shown.items():
            if name not in self._raised:
                self._put_up(each)

    def put_up(self, name: str, polygon: Any, layer: int = -1) -> None:
        """Put an obstacle up that can be taken down again; only the cells around it are looked at.

        Parameters
        ----------
        name : str
        polygon : shapely Polygon or MultiPolygon, m
        layer : int
            Floor on which it stands, where there are several; -1 is all of them.

        Raises
        ------
        NavigationError
            If one of that name stands.
        """
        if name in self._raised:
            raise NavigationError(
                f'An obstacle "{name}" stands on this grid already. Take it down first, or give another name.'
            )
        self._put_up(Shut(name, polygon, layer=layer))

    def _put_up(self, shut: Shut) -> None:
        """Put an obstacle up, or shut some ground: agents keep no padding from that, and their radius only
        where there are walls, and it has some.
        """
        if not self._raised:
            self._near = self._distance.copy()
        drawn = drawn_on(shut, self.sheet, self._grounds, self._zones)
        self._raised[shut.name] = shut, drawn
        for each in drawn:
            self._show(*self._block(each.polygon, self.reach))
        self.version += 1

    def take_down(self, name: str) -> None:
        """Take an obstacle down that `put_up` has put up.

        Raises
        ------
        NavigationError
            If none of that name stands.
        """
        if name not in self._raised:
            raise NavigationError(f'No obstacle "{name}" stands on this grid that could be taken down.')
        _, drawn = self._raised.pop(name)
        if not self._raised:
            self._near = self._distance
        for each in drawn:
            self._show(*self._block(each.polygon, self.reach))
        self.version += 1

    def _all_drawn(self) -> Iterator[Drawn]:
        return itertools.chain.from_iterable(drawn for _, drawn in self._raised.values())

    def _show(self, row: int, column: int, rows: int, columns: int) -> None:
        """Measure a block of cells anew against what can be taken down, and show it in their clearance."""
        block = np.s_[row : row + rows, column : column + columns]
        if self._raised:
            near = self._distance[block].copy()
            for each in self._all_drawn():
                low, left, high, wide = self._block(each.polygon, self.reach)
                if low < row + rows and row < low + high and left < column + columns and column < left + wide:
                    self._stamp(each, row, column, near)
            self._near[block] = near
        self._clearance[1:-1, 1:-1][block] = np.where(self._holders[block] > 0, self._near[block], NO_GROUND)
        if self._has_bars:
            self._show_bars(row, column, rows, columns)

    def _show_bars(self, row: int, column: int, rows: int, columns: int) -> None:
        """Note anew which steps from a block of cells lead over walls."""
        bars = self._fixed_bars[row : row + rows, column : column + columns].copy()
        for each in self._all_drawn():
            own = bars if each.zone is None else np.zeros_like(bars)
            bar_steps(edges_of(each.polygon), self.x, self.y, self.parameters.cell_size, row, column, own)
            if each.zone is not None:
                bars |= np.where(each.cells(row, column, rows, columns), own, np.uint8(0))
        self._bars[1 + row : 1 + row + rows, 1 + column : 1 + column + columns] = bars
        # The neighbours of cells may have other bars now: one more on each side, which the rim has room for.
        low, high, left, right = row, row + rows + 2, column, column + columns + 2
        has_bars = np.pad(self._bars & np.uint16(NEAR_BARS - 1), 1)[low : high + 2, left : right + 2] > 0
        near = np.zeros((high - low, right - left), dtype=np.bool_)
        for i, j in itertools.product(range(3), repeat=2):
            near |= has_bars[i : i + high - low, j : j + right - left]
        part = self._bars[low:high, left:right]
        part[...] = (part & np.uint16(NEAR_BARS - 1)) | np.where(near, np.uint16(NEAR_BARS), np.uint16(0))
        part |= self._marks[low:high, left:right]

    def _stamp(self, drawn: Drawn, row: int, column: int, distance: NDArray[np.float64]) -> None:
        """Lower the distances of a block of cells to those from an obstacle, or from ground that is shut."""
        edges, cell = edges_of(drawn.polygon), self.parameters.cell_size
        before = distance.copy() if drawn.zone is not None else distance
        inside = np.zeros(distance.shape, dtype=np.uint8)
        fill_polygon(edges, self.x, self.y, cell, row, column, inside)
        distance[inside == 1] = 0.0
        if not drawn.shut.is_ground:
            stamp_distances(edges, self.x, self.y, cell, row, column, self.reach, distance)
        elif self._has_walls and drawn.shut.has_wall:
            self._stamp_walls(edges, row, column, distance)
        if drawn.zone is not None:
            np.copyto(distance, before, where=~drawn.cells(row, column, *distance.shape))

    def _stamp_walls(
        self, edge: NDArray[np.float64], row: int, column: int, distance: NDArray[np.float64]
    ) -> None:
        """Lower the distances of a block of cells to those from walls,
        which are taken to be farther off by the padding that is kept from obstacles alone.
        """
        away = np.full(distance.shape, np.inf)
        stamp_distances(edge, self.x, self.y, self.parameters.cell_size, row, column, self.reach, away)
        np.minimum(distance, away + self.parameters.object_padding, out=distance)

    def add_walls(self, edge: NDArray[np.float64]) -> None:
        """Put walls without thickness up for good, the edges of areas:
        agents keep their radius from them, and no padding.

        Parameters
        ----------
        edge : (e, 4) float64, m
            x, y of start, x, y of end.
        """
        self._has_walls = True
        self._stamp_walls(edge, 0, 0, self._distance)
        self._show(0, 0, self.depth, self.width)

    def add_bars(self, edge: NDArray[np.float64]) -> None:
        """Let no step lead over walls, which may be thinner than a cell;
        from now on, over edges of what is put up neither.

        Parameters
        ----------
        edge : (e, 4) float64, m
            x, y of start, x, y of end.
        """
        self._has_bars = True
        bar_steps(edge, self.x, self.y, self.parameters.cell_size, 0, 0, self._fixed_bars)
        self._show_bars(0, 0, self.depth, self.width)

    def has_ground(self) -> NDArray[np.bool_]:
        """Return which cells some area holds, (depth, width) bool."""
        held: NDArray[np.bool_] = self._holders > 0
        return held

    def set_terrain(self, terrain: Sequence[Terrain], price: NDArray[np.float64] | None = None) -> None:
        """Let cells be walked at the speeds of the terrain that their centres lie on.

        Parameters
        ----------
        terrain : sequence of Terrain
            Areas that do not overlap; all there are.
        price : (depth, width) float64, > 0, optional
            What a metre costs on each cell, beside the time that it takes.
        """
        speed = np.ones((self.depth, self.width))
        for each in terrain:
            row, column, rows, columns = self._block(each.area, 0.0)
            inside = np.zeros((rows, columns), dtype=np.uint8)
            edges, cell = edges_of(each.area), self.parameters.cell_size
            fill_polygon(edges, self.x, self.y, cell, row, column, inside)
            speed[row : row + rows, column : column + columns][inside == 1] = each.speed
        if price is not None:
            speed /= price
        self.fastest = float(speed.max())
        self._slowness = np.pad(self.fastest / speed, 1, mode="edge")
        around = np.pad(self._slowness, 1, mode="edge")
        shifted = [
            around[i : i + self.depth + 2, j : j + self.width + 2]
            for i, j in itertools.product(range(3), repeat=2)
        ]
        is_mixed = np.any([each != self._slowness for each in shifted], axis=0)
        self._marks = np.where(is_mixed, np.uint16(NEAR_BARS), np.uint16(0))
        self._show_bars(0, 0, self.depth, self.width)
        self.version += 1

    def lay_floors(
        self,
        sheet: Sheet,
        grounds: Sequence[Any],
        held: NDArray[np.bool_],
        distance: NDArray[np.float64],
        walls: NDArray[np.float64],
        *,
        keeps_off: bool,
    ) -> None:
        """Lay the cells over the floors of a sheet; `join_floors` comes next.

        Parameters
        ----------
        sheet : Sheet
        grounds : sequence of shapely Polygon or MultiPolygon, m
            Of the floors, in plan.
        held : (depth, width) bool
            Which cells have ground.
        distance : (depth, width) float64, m
            How far centres are from obstacles, and from walls with the padding that is kept from obstacles
            alone.
        walls : (e, 4) float64, m
            On the sheet: x, y of start, x, y of end.
        keeps_off : bool
            Whether agents keep their radius from walls.
        """
        self.sheet, self._grounds, self._has_walls = sheet, tuple(grounds), keeps_off
        self._holders += held
        np.minimum(self._distance, distance, out=self._distance)
        self._show(0, 0, self.depth, self.width)
        self.add_bars(walls)

    def join_floors(
        self,
        floors: Floors,
        marks: NDArray[np.uint16],
        fastest: float,
        zones: Sequence[Zone] | None = None,
    ) -> None:
        """Join the floors where they meet.

        Parameters
        ----------
        floors : Floors
        marks : (depth + 2, width + 2) uint16
            NEAR_BARS, LINKED and UNEVEN of each node, see `Ground`.
        fastest : float
            Speed on the fastest ground as a share of that on plain ground.
        zones : sequence of Zone, optional
            By default those that there are.
        """
        self._floors, self._marks, self.fastest = floors, marks, fastest
        self._zones = self._zones if zones is None else list(zones)
        self._slowness = floors.metre[floors.kind, 0].reshape(self.depth + 2, self.width + 2)
        self._show_bars(0, 0, self.depth, self.width)

    def laid_on_floors(
        self, place: NDArray[np.float64], start: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
        """Return paths with a waypoint at each seam, where those of each begin, and their lengths along the
        surface (m); see `lay_on_floors`.

        Parameters
        ----------
        place : (m, 2) float64, m
            On the sheet: where paths begin, and their waypoints.
        start : (k + 1,) int64
            Those of path i are ``place[start[i]:start[i + 1]]``.
        """
        laid, length = np.empty(len(start), dtype=np.int64), np.empty(len(start) - 1)
        room = np.empty((len(place) + 64, 2))
        while (count := int(lay_on_floors(self.ground, place, start, room, laid, length))) > len(room):
            room = np.empty((count, 2))
        return room[:count].copy(), laid, length

    def add_rim(self, kept: float) -> None:
        """Let agents keep off the rim of the areas as they are now, of which the cells already keep `kept`
        (m) from obstacles; see `add_cells`.
        """
        walkable = self._holders > 0
        distance = np.where(walkable, np.inf, 0.0)
        stamp_distances(
            _square_sides(walkable, self),
            self.x,
            self.y,
            self.parameters.cell_size,
            0,
            0,
            self.reach,
            distance,
        )
        np.minimum(self._distance, distance + kept, out=self._distance)
        self._show(0, 0, self.depth, self.width)

    def add_cells(self, walkable: NDArray[np.bool_], kept: float) -> None:
        """Take cells from a file, where areas and obstacles are not known any more:
        blocked cells are solid squares.

        Parameters
        ----------
        walkable : (depth, width) bool
        kept : float, m
            Distance that the walkable cells of the file already keep from obstacles; agents that need more
            are kept off the blocked squares by the difference.
        """
        self._holders += walkable
        self.add_rim(kept)


def build_grid(
    areas: Sequence[Area],
    obstacles: Sequence[Any] = (),
    parameters: GridParameters | None = None,
    walls: NDArray[np.float64] | None = None,
    raster: Raster | None = None,
) -> Grid:
    """Build a grid from polygons ([Pathfinding undated], section 2b).

    Parameters
    ----------
    areas : sequence of Area
        Also those that are not available: they decide about the bounds.
    obstacles : sequence of shapely Polygon or MultiPolygon, m
    parameters : GridParameters, optional
    walls : (e, 4) float64, m, optional
        x, y of start, x, y of end of walls without thickness, see `Grid.add_walls`.
    raster : Raster, optional
        Where the cells lie if a file says so, with the same size of cells; they are continued where areas
        reach beyond them.

    Returns
    -------
    Grid

    Raises
    ------
    NavigationError
        If there is no area, two have one name, or the grid would be too large.
    """
    parameters = parameters or GridParameters()
    refuse_numbers(parameters, GridParameters)
    boxes = np.array([area.polygon.bounds for area in areas if not area.polygon.is_empty])
    if not len(boxes):
        raise NavigationError("A grid needs at least one area that can be walked on, and there is none.")
    grid = _empty_grid(
        parameters, (*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist()), raster
    )
    for area in areas:
        grid.add_area(area)
    if raster is not None and raster.kept is not None:
        grid.add_rim(raster.kept)
    for obstacle in obstacles:
        grid.add_obstacle(obstacle)
    if walls is not None:
        grid.add_walls(walls)
    return grid


def _empty_grid(
    parameters: GridParameters, bounds: tuple[float, float, float, float], raster: Raster | None
) -> Grid:
    """Return a grid over the bounds (m) of areas and a margin ([Pathfinding undated], section 1),
    or over the cells of a file and what is beyond.
    """
    left, low, right, high = bounds
    cell = parameters.cell_size
    if raster is None:
        margin = 2.0 * cell + parameters.agent_radius + parameters.object_padding
        x, y = left - margin, low - margin
        return Grid(
            parameters, x, y, _cells_over(right + margin - x, cell), _cells_over(high + margin - y, cell)
        )
    before = [
        max(0, math.ceil((begin - least) / cell - 1e-6))
        for begin, least in ((raster.x, left), (raster.y, low))
    ]
    after = [
        max(0, math.ceil((most - begin) / cell - count - 1e-6))
        for begin, count, most in ((raster.x, raster.width, right), (raster.y, raster.depth, high))
    ]  # fmt: skip
    x, y = (
        begin - more * cell if more else begin
        for begin, more in zip((raster.x, raster.y), before, strict=True)
    )
    return Grid(parameters, x, y, before[0] + raster.width + after[0], before[1] + raster.depth + after[1])


def _square_sides(walkable: NDArray[np.bool_], grid: Grid) -> NDArray[np.float64]:
    """Return the sides of cells that part walkable from blocked ones, the rim included."""
    padded = np.pad(walkable, 1)
    row, column = np.nonzero(padded[1:-1, :-1] != padded[1:-1, 1:])
    upright = np.column_stack([column, row, column, row + 1])
    row, column = np.nonzero(padded[:-1, 1:-1] != padded[1:, 1:-1])
    level = np.column_stack([column, row, column + 1, row])
    sides = np.concatenate([upright, level]) * grid.parameters.cell_size
    return np.ascontiguousarray(sides + np.array([grid.x, grid.y, grid.x, grid.y]))


def _cells_over(length: float, cell: float) -> int:
    """Return how many cells cover a length; a remainder that is only rounding has no cell of its own."""
    return max(1, math.ceil(min(length / cell, 2.0 * MOST_CELLS) - 1e-9))


def refuse_numbers(parameters: Any, owner: type[Any]) -> None:
    """Refuse parameters of which one that `owner` declares is out of its range, with a `NavigationError`."""
    for tunable in tunables(owner):
        complaint = tunable.complaint(getattr(parameters, tunable.name))
        if complaint:
            raise NavigationError(f"{tunable.name}: {complaint}.")


def _refuse_sizes(parameters: GridParameters, width: int, depth: int, x: float, y: float) -> None:
    if not (math.isfinite(x) and math.isfinite(y)):
        raise NavigationError(
            f"The corner of the grid would lie at ({x:g}, {y:g}). Give coordinates that are finite numbers."
        )
    if width * depth > MOST_CELLS:
        raise NavigationError(
            f"The grid would have {width:,} x {depth:,} cells of {parameters.cell_size:g} m; at most "
            f"{MOST_CELLS:,} are made. Make cell_size larger."
        )
