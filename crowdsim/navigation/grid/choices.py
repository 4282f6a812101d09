"""Which points of their goals agents ask a grid for ways to: all that can be meant, so that the search finds which is nearest on foot.

A goal has a point for each of its pieces, see `crowdsim.navigation.targets.targets_of`. Of those some are on the same part of the ground as the agent: only
they can be walked to. A point that lies on no walkable cell is moved to one nearby (S2 section 3), perhaps through a wall: then the way would end behind
it. Such a point is left out where there are others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals import GoalPieces
from crowdsim.navigation.grid.cascade import nearest_walkable
from crowdsim.navigation.grid.grid import Grid
from crowdsim.navigation.grid.ground import TOUCH_M
from crowdsim.navigation.grid.search import NEED, GridSlots, make_slots, new_generation
from crowdsim.navigation.mesh import NavMesh, is_in_sight

Choices = tuple[NDArray[np.int32], list[NDArray[np.int64]]]


class Chooser:
    """Knows for the goals of a ground which of their points agents can mean.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    target : (np, 2) float64, m
        Point of each piece.
    grid : Grid
        As long as it does not change.
    rings : int
        How many rings of cells round a point are looked at for a walkable one.
    """

    def __init__(self, mesh: NavMesh, goals: GoalPieces, target: NDArray[np.float64], grid: Grid, rings: int) -> None:
        self._mesh, self._goals, self._target, self._grid, self._rings = mesh, goals, target, grid, rings
        self.version = grid.version
        self._part = mesh.polygon_part[goals.piece_polygon]
        self._known: dict[tuple[int, float], bool] = {}
        self._slots: GridSlots | None = None
        column = np.floor((target[:, 0] - grid.x) / grid.parameters.cell_size)
        row = np.floor((target[:, 1] - grid.y) / grid.parameters.cell_size)
        on_grid = (column >= 0) & (column < grid.width) & (row >= 0) & (row < grid.depth)
        self._clearance = np.full(len(target), -np.inf)
        self._clearance[on_grid] = grid.clearance[row[on_grid].astype(np.int64), column[on_grid].astype(np.int64)]

    def choices(self, goal: NDArray[np.int32], polygon: NDArray[np.int64], need: NDArray[np.float64]) -> Choices:
        """Return which points agents can mean.

        Parameters
        ----------
        goal : (k,) int32
        polygon : (k,) int64
            Of the mesh, under each.
        need : (k,) float64, m
            Clearance that cells have to exceed for each, see `Grid.need`.

        Returns
        -------
        which : (k,) int32
            Place in the list; -1 if the goal has no piece.
        list of (c,) int64
            Pieces, ascending; each list has one at least.
        """
        lists: list[NDArray[np.int64]] = []
        known: dict[tuple[int, int, float], int] = {}
        which = np.full(len(goal), -1, dtype=np.int32)
        here = self._mesh.polygon_part[polygon]
        for row, key in enumerate(zip(goal.tolist(), here.tolist(), need.tolist(), strict=True)):
            if key not in known:
                pieces = self._pieces(*key)
                known[key] = len(lists) if len(pieces) else -1
                lists += [pieces] if len(pieces) else []
            which[row] = known[key]
        return which, lists

    def _pieces(self, goal: int, part: int, need: float) -> NDArray[np.int64]:
        """Return the pieces of a goal that agents on a part of the ground can mean."""
        pieces = np.arange(self._goals.goal_start[goal], self._goals.goal_start[goal + 1])
        joined = pieces[self._part[pieces] == part]
        pieces = joined if len(joined) else pieces
        if len(pieces) < 2:
            return pieces
        kept = [piece for piece in pieces.tolist() if self._clearance[piece] > need + TOUCH_M or self._is_seen_from_its_cell(piece, need)]
        return np.array(kept, dtype=np.int64) if kept else pieces

    def _is_seen_from_its_cell(self, piece: int, need: float) -> bool:
        """Return whether no wall is between the point of a piece and the cell that it is moved to."""
        if (piece, need) not in self._known:
            if self._slots is None:
                self._slots = make_slots(1, (self._grid.width + 2) * (self._grid.depth + 2))
                new_generation(self._slots, 0)
            self._slots.measure[0, NEED] = need
            x, y = self._target[piece].tolist()
            node = int(nearest_walkable(self._slots, 0, self._grid.ground, x, y, self._rings))
            is_seen = False
            if node >= 0:
                row, column = divmod(node, self._grid.width + 2)
                cell, polygon = self._grid.parameters.cell_size, int(self._goals.piece_polygon[piece])
                to_x, to_y = self._grid.x + (column - 0.5) * cell, self._grid.y + (row - 0.5) * cell
                is_seen = bool(is_in_sight(self._mesh, polygon, x, y, to_x, to_y, int(self._mesh.polygon_layer[polygon])))
            self._known[piece, need] = is_seen
        return self._known[piece, need]

    def piece_at(self, goal: NDArray[np.int32], point: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the piece of each agent's goal whose point is nearest to a place, as a rule that very point; -1 if the goal has none.

        Parameters
        ----------
        goal : (k,) int32
        point : (k, 2) float64, m
        """
        found = np.full(len(goal), -1, dtype=np.int32)
        for number in np.unique(goal[goal >= 0]).tolist():
            first, last = int(self._goals.goal_start[number]), int(self._goals.goal_start[number + 1])
            mine = np.flatnonzero(goal == number)
            if last > first:
                away = point[mine, None, :] - self._target[None, first:last, :]
                found[mine] = first + np.argmin(np.hypot(away[:, :, 0], away[:, :, 1]), axis=1)
        return found
