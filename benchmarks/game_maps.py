"""Triangles or polygons? Both meshes of classic game maps side by side: build time, memory, expansions, time and length of ways.

    python benchmarks/paths.py --maps folder-with-maps [--radius 0] [--queries 500]

The folder holds MovingAI maps (`name.map`, `name.map.scen`); a cell is a metre. Walkable cells become the ground, and queries are drawn from the
scenario file with a seed. Times are the best of several runs, in which both meshes take turns: trust ratios within a line, not the figures.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import shapely
from paths import best_of_each, search_all, search_all_optimal

from crowdsim.navigation.build import MeshParameters, build_mesh
from crowdsim.navigation.goals import GoalShape, cut_goals
from crowdsim.navigation.measure import measure_corridors
from crowdsim.navigation.mesh import locate_many
from crowdsim.navigation.optimal_slots import make_interval_slots
from crowdsim.navigation.planner import MeshPlanner, PlannerParameters
from crowdsim.navigation.search import make_slots
from crowdsim.threads import Team

KINDS = ("triangles", "polygons")
HEAD = (
    "| map | mesh | cells | edges | build s | MB | portals | A*: expansions | us | longer than the shortest | optimal: expansions | us |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def ground_of(path: Path):
    """Return the walkable cells of a map as one geometry, y up, and its number of rows."""
    lines = path.read_text().split("\n")
    depth = int(lines[1].split()[1])
    runs = []
    for row, line in enumerate(lines[4 : 4 + depth]):
        free = np.array([letter in ".G" for letter in line.strip()])
        ends = np.flatnonzero(np.diff(np.concatenate([[0], free, [0]])))
        runs += [shapely.box(a, depth - row - 1, b, depth - row) for a, b in ends.reshape(-1, 2).tolist()]
    return shapely.simplify(shapely.union_all(runs), 0.0), depth


def queries_of(path: Path, depth: int, ground, radius: float, count: int):
    """Return starts and goals of a map's scenario file that are clear of walls: up to `count`, drawn with a seed."""
    rows = [line.split() for line in path.read_text().split("\n")[1:] if line.strip()]
    cells = np.array([[int(value) for value in row[4:8]] for row in rows]) + 0.5
    cells[:, 1::2] = depth - cells[:, 1::2]
    walls = ground.boundary
    shapely.prepare(walls)
    is_clear = ~shapely.dwithin(walls, shapely.points(cells[:, :2]), radius) & ~shapely.dwithin(walls, shapely.points(cells[:, 2:]), radius)
    cells = cells[is_clear]
    chosen = np.sort(np.random.default_rng(0).permutation(len(cells))[:count])
    return cells[chosen, :2].copy(), cells[chosen, 2:].copy()


class Side:
    """One of the two meshes of a map, with all that its searches need."""

    def __init__(self, ground, kind, starts, ends, radius) -> None:
        begin = time.perf_counter()
        self.mesh = build_mesh(ground, parameters=MeshParameters(cells=kind)).mesh
        self.built = time.perf_counter() - begin
        self.goals = cut_goals(self.mesh, [GoalShape(shapely.Point(end), reach=0.05) for end in ends])
        self.starts, self.polygons, self.width = starts, np.empty(len(starts), dtype=np.int64), 2.0 * radius
        locate_many(0, len(starts), self.mesh, starts, np.full(len(starts), -1, dtype=np.int32), self.polygons)
        self.slots, self.cones = make_slots(1, self.mesh.edge_count), make_interval_slots(1, self.mesh, 1 << 20)
        self.shortest = np.empty(len(starts))
        planner, rows = MeshPlanner(self.mesh, self.goals, PlannerParameters(share_searches=False)), np.arange(len(starts))
        planner.submit(0, rows, starts, self.polygons, rows.astype(np.int32), np.full(len(starts), radius))
        answers, _ = planner.advance(1 << 60, Team(1))
        self.ahead, self.length = np.diff(answers.start).astype(np.int32), np.empty(len(starts))
        self.corridors = (self.mesh, self.goals, answers.cells, answers.start[:-1].copy(), self.ahead, self.polygons, answers.piece, starts)

    def search(self):
        """Find all ways by A*, and pull the strings; return the expansions."""
        used = search_all(self.slots, self.mesh, self.goals, self.starts, self.polygons, self.width)
        measure_corridors(*self.corridors, np.full(len(self.starts), 0.5 * self.width), self.length)
        return used

    def search_optimal(self):
        """Find all shortest ways; return the expansions."""
        return search_all_optimal(self.cones, self.mesh, self.goals, self.starts, self.polygons, self.width, self.shortest)


def compare(folder: Path, radius: float, count: int) -> None:
    """Print the table."""
    print(HEAD)
    build_mesh(shapely.box(0, 0, 5, 5) - shapely.box(2, 2, 3, 3))  # Compiling is not building.
    for path in sorted(folder.glob("*.map"), key=lambda path: path.stat().st_size):
        ground, depth = ground_of(path)
        starts, ends = queries_of(path.with_name(path.name + ".scen"), depth, ground, radius, count)
        sides = [Side(ground, kind, starts, ends, radius) for kind in KINDS]
        times = best_of_each([side.search for side in sides] + [side.search_optimal for side in sides], 5)
        for i, (kind, side) in enumerate(zip(KINDS, sides, strict=True)):
            found = np.isfinite(side.shortest) & np.isfinite(side.length)
            # For bodies the optimal search counts arcs of the corners at portals only; then the shorter of the two is what is compared with.
            best = np.minimum(sides[1].shortest, np.minimum(sides[0].shortest, np.minimum(sides[0].length, sides[1].length)))
            excess = side.length[found] / np.maximum(best[found], 1e-9) - 1.0
            size = sum(np.asarray(array).nbytes for array in side.mesh)
            print(
                f"| {path.stem if i == 0 else ''} | {kind} | {side.mesh.polygon_count:,} | {side.mesh.edge_count:,} | {side.built:.2f} | {size / 1e6:.1f} | "
                f"{side.ahead.mean():.0f} | {side.search() / len(starts):,.0f} | {1e6 * times[i] / len(starts):.0f} | "
                f"{100 * excess.mean():.1f} %, at most {100 * excess.max():.0f} % | "
                f"{side.search_optimal() / len(starts):,.0f} | {1e6 * times[2 + i] / len(starts):.0f} |",
                flush=True,
            )
