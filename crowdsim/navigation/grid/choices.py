"""Which points of a goal a request for a path over cells names:
all that can be meant, so that the search finds which is nearest on foot.

A goal has a point in the middle of each of its pieces and, if it has several pieces, more along their rims,
see `crowdsim.navigation.goals.targets.points_of`. Of those some are on the same part of the ground as the
agent: only they can be walked to. A point that lies on no walkable cell is moved to one nearby
([Pathfinding undated], section 3), perhaps through a wall: then the path would end behind it. Such a point is
left out where there are others. Points on rims are meant only where the agent fits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.goals.targets import GoalPoints
from crowdsim.navigation.grid.cascade import nearest_walkable
from crowdsim.navigation.grid.grid import Grid
from crowdsim.navigation.grid.ground import TOUCH_M
from crowdsim.navigation.grid.search import NEED, GridSlots, make_slots, new_generation
from crowdsim.navigation.mesh.mesh import NavMesh, is_in_sight, make_flood, wall_distance

Choices = tuple[NDArray[np.int32], list[NDArray[np.int64]]]
# When points on rims are chosen, radii count as the next multiple: then agents of about one size mean the
# same points.
CLASS_M = 0.1
# Up to which walls are looked for round points on rims; agents that need more mean the middles of pieces.
MOST_CLEARANCE_M = 1.0


def places_of_goals(mesh: NavMesh, goals: GoalPieces, points: GoalPoints, grid: Grid) -> NDArray[np.float64]:
    """Return the points of goals that paths over cells can lead to as places on the sheet of a grid,
    (m, 2) m.
    """
    return grid.sheet.place_of(points.point, mesh.polygon_layer[goals.piece_polygon[points.piece]])


class Chooser:
    """Knows for the goals of a ground which of their points agents can mean.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    points : GoalPoints
        Of the goals, see `points_of`.
    target : (m, 2) float64, m
        The same on the sheet of the grid, see `places_of_goals`.
    grid : Grid
        As long as it does not change.
    rings : int
        How many rings of cells round a point are looked at for a walkable one.
    before : Chooser, optional
        On the same mesh and grid, from whose points these come by `points_after`: what it has found out is
        kept.

    Attributes
    ----------
    target : (m, 2) float64, m
        The points, see `places_of_goals`.
    piece : (m,) int32
        Of each point.
    """

    _to_wall: NDArray[np.float64]

    def __init__(
        self,
        mesh: NavMesh,
        goals: GoalPieces,
        points: GoalPoints,
        target: NDArray[np.float64],
        grid: Grid,
        rings: int,
        before: Chooser | None = None,
    ) -> None:
        self._mesh, self._goals, self._grid, self._rings = mesh, goals, grid, rings
        self._plan, self.target, self.piece = points.point, target, points.piece
        self.version = grid.version
        self._goal = np.repeat(np.arange(len(goals.goal_start) - 1), np.diff(goals.goal_start))[self.piece]
        self._part = mesh.polygon_part[goals.piece_polygon][self.piece]
        # of the middles of goals of several pieces, which keep their numbers
        self._known: dict[tuple[int, float], bool] = {} if before is None else before._known
        self._slots: GridSlots | None = None
        column = np.floor((target[:, 0] - grid.x) / grid.parameters.cell_size)
        row = np.floor((target[:, 1] - grid.y) / grid.parameters.cell_size)
        on_grid = (column >= 0) & (column < grid.width) & (row >= 0) & (row < grid.depth)
        self._clearance = np.full(len(target), -np.inf)
        self._clearance[on_grid] = grid.clearance[
            row[on_grid].astype(np.int64), column[on_grid].astype(np.int64)
        ]
        cell = grid.parameters.cell_size
        self._to_centre = hypots(
            target[:, 0] - (grid.x + (column + 0.5) * cell), target[:, 1] - (grid.y + (row + 0.5) * cell)
        )
        known = np.zeros(0) if before is None else before._to_wall[len(before._goals.piece_polygon) :]
        self._to_wall = self._wall_distances(known)

    def _wall_distances(self, known: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far the points on rims are from walls, (m,), m; of the first of them it is known."""
        first, flood = len(self._goals.piece_polygon), make_flood(len(self._mesh.polygon_start) - 1)
        found = np.zeros(len(self.piece))
        found[first : first + len(known)] = known
        for row in range(first + len(known), len(found)):
            polygon = int(self._goals.piece_polygon[self.piece[row]])
            found[row] = wall_distance(
                self._mesh,
                polygon,
                float(self._plan[row, 0]),
                float(self._plan[row, 1]),
                MOST_CLEARANCE_M,
                flood,
            )
        return found

    def choices(
        self,
        goal: NDArray[np.int32],
        polygon: NDArray[np.int64],
        need: NDArray[np.float64],
        radius: NDArray[np.float64],
    ) -> Choices:
        """Return which points agents can mean.

        Parameters
        ----------
        goal : (k,) int32
        polygon : (k,) int64
            Of the mesh, under each.
        need : (k,) float64, m
            Clearance that cells have to exceed for each, see `Grid.need`.
        radius : (k,) float64, m
            Of the agents.

        Returns
        -------
        which : (k,) int32
            Place in the list; -1 if the goal has no piece.
        list of (c,) int64
            Rows of `target`, ascending; each list has one at least.
        """
        lists: list[NDArray[np.int64]] = []
        known: dict[tuple[int, int, float, int], int] = {}
        which = np.full(len(goal), -1, dtype=np.int32)
        here = self._mesh.polygon_part[polygon]
        size = np.ceil(radius / CLASS_M).astype(np.int64)
        for row, key in enumerate(
            zip(goal.tolist(), here.tolist(), need.tolist(), size.tolist(), strict=True)
        ):
            if key not in known:
                points = self._points(*key)
                known[key] = len(lists) if len(points) else -1
                lists += [points] if len(points) else []
            which[row] = known[key]
        return which, lists

    def _points(self, goal: int, part: int, need: float, size: int) -> NDArray[np.int64]:
        """Return the points of a goal that agents on a part of the ground can mean."""
        points = np.flatnonzero(self._goal == goal)
        joined = points[self._part[points] == part]
        points = joined if len(joined) else points
        on_rim = points >= len(self._goals.piece_polygon)
        middles, rim = points[~on_rim], points[on_rim]
        if len(middles) < 2:
            return middles
        kept = [
            point
            for point in middles.tolist()
            if self._clearance[point] > need + TOUCH_M or self._is_seen_from_its_cell(point, need)
        ]
        fits = self._clearance[rim] > np.ceil(need / CLASS_M) * CLASS_M + TOUCH_M
        fits &= self._to_wall[rim] >= np.maximum(size * CLASS_M, self._to_centre[rim])
        kept += rim[fits].tolist()
        return np.array(kept, dtype=np.int64) if kept else middles

    def _is_seen_from_its_cell(self, point: int, need: float) -> bool:
        """Return whether no wall is between a point and the cell that it is moved to."""
        if (point, need) not in self._known:
            if self._slots is None:
                self._slots = make_slots(1, (self._grid.width + 2) * (self._grid.depth + 2))
                new_generation(self._slots, 0)
            self._slots.measure[0, NEED] = need
            x, y = self.target[point].tolist()
            node = int(nearest_walkable(self._slots, 0, self._grid.ground, x, y, self._rings))
            is_seen = False
            if node >= 0:
                row, column = divmod(node, self._grid.width + 2)
                cell, polygon = (
                    self._grid.parameters.cell_size,
                    int(self._goals.piece_polygon[self.piece[point]]),
                )
                centre = self._grid.x + (column - 0.5) * cell, self._grid.y + (row - 0.5) * cell
                to, (x, y) = np.array([centre]), self._plan[point].tolist()
                floor = int(self._grid.sheet.floors_of(to)[0])
                to_x, to_y = self._grid.sheet.plan_of(to)[0].tolist()
                is_seen = bool(is_in_sight(self._mesh, polygon, x, y, to_x, to_y, floor))
            self._known[point, need] = is_seen
        return self._known[point, need]

    def piece_at(self, goal: NDArray[np.int32], point: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the piece of each agent's goal that has the point nearest to a place,
        as a rule that very point; -1 if the goal has none.

        Parameters
        ----------
        goal : (k,) int32
        point : (k, 2) float64, m
        """
        found = np.full(len(goal), -1, dtype=np.int32)
        for number in np.unique(goal[goal >= 0]).tolist():
            mine, points = np.flatnonzero(goal == number), np.flatnonzero(self._goal == number)
            if len(points):
                away = point[mine, None, :] - self.target[None, points, :]
                found[mine] = self.piece[points[np.argmin(hypots(away[:, :, 0], away[:, :, 1]), axis=1)]]
        return found
