"""Grids to try, and searches on them one at a time."""

import itertools
import math

import numpy as np

from crowdsim.navigation.grid.cascade import advance_path, begin_path, last_node
from crowdsim.navigation.grid.grid import Grid
from crowdsim.navigation.grid.obstacles import StationaryDiscs
from crowdsim.navigation.grid.parameters import GridParameters
from crowdsim.navigation.grid.search import STATUS, make_slots
from crowdsim.navigation.grid.sight import copy_waypoints, list_cells, pull_taut

NAMES = {2: "found", 3: "found through agents", 4: "nearest reachable", 5: "enclosed"}
NONE = np.zeros((0, 3))
ALL = 1 << 40


def grid_of(picture, cell=1.0, **parameters):
    """A grid from rows of . and #, the upper row first; agents are points, blocked cells solid squares."""
    rows = [line.strip() for line in picture.strip().split("\n")]
    return grid_from(np.array([[letter != "#" for letter in row] for row in rows])[::-1], cell, **parameters)


def grid_from(walkable, cell=1.0, x=0.0, y=0.0, **parameters):
    """A grid from cells, the lowest row first."""
    numbers = {"cell_size": cell, "agent_radius": 0.0, "object_padding": 0.0, **parameters}
    grid = Grid(GridParameters(**numbers), x, y, walkable.shape[1], walkable.shape[0])
    grid.add_cells(np.ascontiguousarray(walkable), 0.0)
    return grid


def random_grid(seed, blocked=0.3, width=24, depth=17, cell=1.0, **parameters):
    """Cells blocked at random."""
    rng = np.random.default_rng(seed)
    return grid_from(rng.uniform(size=(depth, width)) >= blocked, cell, **parameters)


def cells_of(grid, radius=0.0):
    """Set of walkable cells (column, row)."""
    row, column = np.nonzero(grid.walkable(radius))
    return set(zip(column.tolist(), row.tolist()))


def node_of(grid, cell):
    """Number of a cell in searches."""
    return (cell[1] + 1) * (grid.width + 2) + cell[0] + 1


def cell_of_node(grid, node):
    """Column and row of a number."""
    return int(node) % (grid.width + 2) - 1, int(node) // (grid.width + 2) - 1


def centre(grid, cell):
    """Centre of a cell, m."""
    size = grid.parameters.cell_size
    return grid.x + (cell[0] + 0.5) * size, grid.y + (cell[1] + 0.5) * size


def random_cell(grid, rng):
    """A walkable cell."""
    return sorted(cells_of(grid))[rng.integers(len(cells_of(grid)))]


class OneSearch:
    """One search in a slot of its own."""

    def __init__(self, grid):
        self.grid, self.slots = grid, make_slots(1, (grid.width + 2) * (grid.depth + 2))

    def find(self, start, end, radius=0.0, stationary=NONE, share=0.6, rings=8, grant=ALL, after_each=None):
        """Search between two points; return (outcome, cell at the end or None, cost in cells, expansions)."""
        self.slots.choice[0, 0] = end
        begin_path(
            self.slots,
            0,
            self.grid.ground,
            self.grid.need(radius),
            *start,
            1,
            StationaryDiscs(stationary, 0, len(stationary), share),
            rings,
            -1,
        )
        total = calls = 0
        while self.slots.header[0, STATUS] == 1:
            used = advance_path(self.slots, 0, self.grid.ground, rings, grant)
            assert used <= grant
            total += used
            calls += 1
            if after_each:
                after_each(self.slots)
            assert calls < 10_000_000
        node = last_node(self.slots, 0)
        outcome = NAMES[int(self.slots.header[0, STATUS])]
        return (
            (outcome, None, 0.0, total)
            if node < 0
            else (outcome, cell_of_node(self.grid, node), float(self.slots.cost[0, node]), total)
        )

    def nodes(self):
        """Nodes of the path that was found."""
        count = list_cells(self.slots, 0, self.grid.ground, last_node(self.slots, 0))
        return self.slots.heap_entry[0, :count].tolist()

    def cells(self):
        """Cells of the path that was found."""
        return [cell_of_node(self.grid, node) for node in self.nodes()]

    def waypoints(self, step=0.0, trim=0.75):
        """Waypoints of the path that was found, and its length (m)."""
        count = pull_taut(
            self.slots,
            0,
            self.grid.ground,
            list_cells(self.slots, 0, self.grid.ground, last_node(self.slots, 0)),
            step,
            trim,
        )
        out = np.full((count, 2), np.nan)
        length = copy_waypoints(self.slots, 0, self.grid.ground, count, out, 0)
        return [tuple(point) for point in out.tolist()], length


def length_of(points):
    """Length of a row of points."""
    return sum(math.dist(a, b) for a, b in itertools.pairwise(points))
