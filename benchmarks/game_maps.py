"""Triangles or polygons? Both meshes of classic game maps side by side:
build time, memory, expansions, time and length of paths.

    python benchmarks/paths.py --maps folder-with-maps [--radius 0] [--queries 500]

The folder holds MovingAI maps (`name.map`, `name.map.scen`); a cell is a metre. Walkable cells become the
ground, and queries are drawn from the scenario file with a seed. Times are the best of several runs, in which
both meshes take turns: trust ratios within a line, not the figures.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import shapely
from paths import best_of_each, search_all, search_all_optimal

from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.goals.rims import find_rims
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.search.a_star import make_slots
from crowdsim.navigation.search.goal_entries import make_scratch
from crowdsim.navigation.search.polyanya_slots import make_interval_slots
from crowdsim.navigation.search.portal_points import place_points
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.navigation.visibility.graph import build_graph
from crowdsim.navigation.visibility.search import make_visibility_slots
from crowdsim.scenario.load import load_scenario
from crowdsim.setup.agents import resolve_agents
from crowdsim.setup.build import mesh_of

KINDS = ("triangles", "polygons")
HEAD = (
    "| map | mesh | cells | edges | build s | kB | portals | A*: expansions | us | longer than the shortest "
    "| optimal: expansions | us |\n"
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
    """Return starts and goals of a map's scenario file that are clear of walls:
    up to `count`, drawn with a seed.
    """
    rows = [line.split() for line in path.read_text().split("\n")[1:] if line.strip()]
    cells = np.array([[int(value) for value in row[4:8]] for row in rows]) + 0.5
    cells[:, 1::2] = depth - cells[:, 1::2]
    walls = ground.boundary
    shapely.prepare(walls)
    is_clear = ~shapely.dwithin(walls, shapely.points(cells[:, :2]), radius) & ~shapely.dwithin(
        walls, shapely.points(cells[:, 2:]), radius
    )
    cells = cells[is_clear]
    chosen = np.sort(np.random.default_rng(0).permutation(len(cells))[:count])
    return cells[chosen, :2].copy(), cells[chosen, 2:].copy()


def build(ground, kind: str):
    """Return the mesh of one kind."""
    return build_mesh(ground, parameters=MeshParameters(faces=kind)).mesh


class Side:
    """One of the two meshes of a map, with all that its searches need."""

    def __init__(self, ground, kind, starts, ends, radius) -> None:
        self.mesh = build(ground, kind)
        self.goals = cut_goals(self.mesh, [GoalShape(shapely.Point(end), reach=0.05) for end in ends])
        self.starts, self.polygons, self.width = starts, np.empty(len(starts), dtype=np.int64), 2.0 * radius
        locate_many(
            0, len(starts), self.mesh, starts, np.full(len(starts), -1, dtype=np.int32), self.polygons
        )
        self.points, self.scratch, self.rims = (
            place_points(self.mesh),
            make_scratch(1, self.mesh.polygon_count),
            find_rims(self.mesh, self.goals),
        )
        self.slots, self.cones = (
            make_slots(1, len(self.points.edge)),
            make_interval_slots(1, self.mesh, 1 << 20),
        )
        self.shortest = np.empty(len(starts))
        planner, rows = (
            MeshPlanner(self.mesh, self.goals, ShareParameters(share_searches=False)),
            np.arange(len(starts)),
        )
        planner.submit(0, rows, starts, self.polygons, rows.astype(np.int32), np.full(len(starts), radius))
        answers, _ = planner.advance(1 << 60, Team(1))
        self.ahead, self.length = np.diff(answers.start).astype(np.int32), np.empty(len(starts))
        self.corridors = (
            self.mesh,
            self.goals,
            answers.portals,
            answers.start[:-1].copy(),
            self.ahead,
            self.polygons,
            answers.piece,
            starts,
        )

    def search(self):
        """Find all paths by A*, and pull the strings; return the expansions."""
        used = search_all(
            self.slots,
            self.mesh,
            self.goals,
            self.points,
            self.scratch,
            self.starts,
            self.polygons,
            self.width,
        )
        measure_corridors(*self.corridors, np.full(len(self.starts), 0.5 * self.width), self.length)
        return used

    def search_optimal(self):
        """Find all shortest paths; return the expansions."""
        return search_all_optimal(
            self.cones,
            self.mesh,
            self.goals,
            self.rims,
            self.scratch,
            self.starts,
            self.polygons,
            self.width,
            self.shortest,
        )


def time_keeping(name: str, ground) -> None:
    """Print how long the mesh of a plan takes when it is built and when it is read from the cache,
    in which it lies under a hash of its content.
    """
    offset = float(np.random.default_rng().integers(1, 10**6))  # so that this content was never seen
    shape = shapely.affinity.translate(max(shapely.get_parts(ground), key=lambda part: part.area), offset)
    point = shapely.point_on_surface(shape)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "plan.wkt").write_text(shape.wkt)
        file = Path(folder) / "plan.yaml"
        file.write_text(
            "version: 1\nstop: {after: 1}\ngeometry: {walkable: {wkt_file: plan.wkt}}\n"
            f"groups: [{{name: one, positions: [[{point.x}, {point.y}]], radius: 0.2, goals: {{point: "
            f"[{point.x}, {point.y}]}}}}]\n"
        )
        scenario, times = load_scenario(file), []
        for _ in range(2):
            agents = resolve_agents(scenario)
            begin = time.perf_counter()
            mesh = mesh_of(scenario, agents, []).mesh
            times.append(time.perf_counter() - begin)
    graph, size = build_graph(mesh)
    print(
        f"\nlargest, {name}: {shapely.get_num_coordinates(shape):,} vertices, mesh of "
        f"{bytes_of(mesh) / 1e6:.1f} MB with its widths for all radii"
    )
    print(
        f"  mesh            {times[0]:9.2f} s to build, {times[1]:.2f} s to read from the cache, where it "
        "lies under a hash of its content"
    )
    print(
        f"  search          {bytes_of(make_slots(1, mesh.edge_count)) / 1e6:9.2f} MB for each that goes on, "
        "of any radius"
    )
    slots = bytes_of(make_visibility_slots(1, graph)) / 1e6
    print(
        f"  visibility      {bytes_of(graph) / 1e6:9.2f} MB of graph ({size.edges:,} edges), {slots:.2f} MB "
        "for each search that goes on"
    )


def bytes_of(arrays) -> int:
    """Return the memory of a named tuple of arrays, and of those in it."""
    return sum(bytes_of(array) if isinstance(array, tuple) else np.asarray(array).nbytes for array in arrays)


def compare(folder: Path, radius: float, count: int) -> None:
    """Print the table, and what the largest of the maps costs to keep."""
    maps = sorted(folder.glob("*.map"), key=lambda path: path.stat().st_size)
    if not maps:
        raise SystemExit(
            f"{folder} holds no .map files; give the folder with the MovingAI maps and their .map.scen files."
        )
    grounds = {}
    print(HEAD)
    for path in maps:
        ground, depth = ground_of(path)
        grounds[path.stem] = ground
        starts, ends = queries_of(path.with_name(path.name + ".scen"), depth, ground, radius, count)
        sides = [Side(ground, kind, starts, ends, radius) for kind in KINDS]
        built = best_of_each([partial(build, ground, kind) for kind in KINDS], 3)
        times = best_of_each([side.search for side in sides] + [side.search_optimal for side in sides], 5)
        for i, (kind, side) in enumerate(zip(KINDS, sides, strict=True)):
            found = np.isfinite(side.shortest) & np.isfinite(side.length)
            # For agents with a radius the optimal search counts arcs of the corners at portals only; then the
            # shorter of the two is what is compared with.
            best = np.minimum(
                sides[1].shortest, np.minimum(sides[0].shortest, np.minimum(sides[0].length, sides[1].length))
            )
            excess = side.length[found] / np.maximum(best[found], 1e-9) - 1.0
            memory = bytes_of(side.mesh) / 1e3
            print(
                f"| {path.stem if i == 0 else ''} | {kind} | {side.mesh.polygon_count:,} | "
                f"{side.mesh.edge_count:,} | {built[i]:.2f} | {memory:.0f} | "
                f"{side.ahead.mean():.0f} | {side.search() / len(starts):,.0f} | "
                f"{1e6 * times[i] / len(starts):.0f} | "
                f"{100 * excess.mean():.1f} %, at most {100 * excess.max():.0f} % | "
                f"{side.search_optimal() / len(starts):,.0f} | {1e6 * times[2 + i] / len(starts):.0f} |",
                flush=True,
            )
    largest = max(grounds, key=lambda name: shapely.get_num_coordinates(grounds[name]))
    time_keeping(largest, grounds[largest])
