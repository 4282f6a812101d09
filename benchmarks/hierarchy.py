"""The planner `hierarchical` beside flat A* (`mesh`) and `optimal` on a made city:
expansions, time to a path, lengths, and how long it takes to build its graph, and to load it.

    python benchmarks/hierarchy.py
    python benchmarks/hierarchy.py --size 2000 --queries 1000 --tile 125 --workspace 8

All planners answer the same queries in one run, a block each in turn, every query with a search of its own,
on one thread; flat ones without landmarks, and with them where the ground is not too large. Times are CPU
times of the process. Starts and goals are drawn from the ground, evenly.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from crowdsim.geometry.made_city import make_city
from crowdsim.kernels.threads import Team
from crowdsim.navigation import GoalShape, cut_goals
from crowdsim.navigation.hierarchy import planner as planner_module
from crowdsim.navigation.hierarchy.known import KnownCosts
from crowdsim.navigation.hierarchy.planner import USUAL_WORKSPACE, HierarchicalPlanner
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import ALL, Asked
from crowdsim.navigation.search.landmarks import LandmarkParameters
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.navigation.tiles.make import build_tiles

RADIUS_M, WALL_M = 0.2, 0.3  # Of agents, and how far from walls they start and end at least.
BLOCK = 20  # Queries of a turn.


def draw(mesh: Any, ground: Any, count: int, rng: np.random.Generator) -> Any:
    """Return so many points of the ground, (n, 2) m, off its walls."""
    shapely.prepare(inside := ground.buffer(-WALL_M, join_style="mitre"))
    found = np.zeros((0, 2))
    while len(found) < count:
        points = rng.uniform(0.0, ground.bounds[2], (count, 2))
        found = np.concatenate([found, points[shapely.contains_xy(inside, *points.T)]])
    return found[:count]


def located(mesh: Any, position: Any) -> Any:
    """Return the polygons under points."""
    polygon = np.empty(len(position), dtype=np.int64)
    locate_many(0, len(position), mesh, position, np.zeros(len(position), dtype=np.int32), polygon)
    return polygon


def ask(planner: Any, asked: Asked, rows: slice, team: Team) -> tuple[float, int]:
    """Return the time (s) and the expansions of some queries."""
    begin = time.process_time()
    planner.submit(0, 1 + np.arange(rows.start, rows.stop), *(each[rows] for each in asked[2:]))
    _, expansions = planner.advance(ALL, team)
    return time.process_time() - begin, expansions


def compile_all() -> None:
    """Let the planner answer once on small ground, so that no compiling is measured."""
    mesh = build_tiles(shapely.box(0.0, 0.0, 40.0, 40.0), 10.0)[0].mesh
    goals, start = cut_goals(mesh, [GoalShape(shapely.Point(35.0, 35.0), reach=0.2)]), np.array([[2.0, 2.0]])
    asked = Asked(mesh, goals, start, located(mesh, start), np.zeros(1, dtype=np.int32), np.array([RADIUS_M]))
    ask(HierarchicalPlanner(mesh, goals, size=10.0), asked, slice(0, 1), Team(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=float, default=10_000.0, help="of the city, m")
    parser.add_argument("--tile", type=float, default=250.0, help="m")
    parser.add_argument("--workspace", type=int, default=USUAL_WORKSPACE, help="areas")
    parser.add_argument("--nodes", choices=("portals", "centres"), default="portals")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    begin = time.perf_counter()
    city = make_city(args.size, args.seed)
    made = time.perf_counter()
    mesh = build_tiles(city.ground, args.tile)[0].mesh
    print(
        f"city of {args.size:g} m with {len(city.ground.interiors):,} houses made in {made - begin:.1f} s, "
        f"{mesh.polygon_count:,} polygons in tiles of {args.tile:g} m in {time.perf_counter() - made:.1f} s",
        flush=True,
    )
    points = draw(mesh, city.ground, 2 * args.queries, np.random.default_rng(args.seed))
    starts, ends = points[: args.queries], points[args.queries :]
    goals = cut_goals(mesh, [GoalShape(shapely.Point(place), reach=0.2) for place in ends])
    count = args.queries
    asked = Asked(
        mesh, goals, starts, located(mesh, starts), np.arange(count, dtype=np.int32), np.full(count, RADIUS_M)
    )
    alone, team = ShareParameters(share_searches=False), Team(1)
    planners = {kind: MeshPlanner(mesh, goals, alone, kind) for kind in ("mesh", "optimal")}
    for kind in ("mesh", "optimal"):  # where the ground is not too large for landmarks
        begin = time.perf_counter()
        planner = MeshPlanner(mesh, goals, alone, kind, landmarks=LandmarkParameters().landmarks)
        if planner._searches._slots.landmarks.each[0]:
            planners[f"{kind}, landmarks"] = planner
            print(f"landmarks for {kind} found in {time.perf_counter() - begin:.2f} s", flush=True)
    compile_all()
    planner_module.LEAST_KEPT_AREAS = 10**9  # the disk cache has nothing of it
    begin = time.perf_counter()
    planners["hierarchical"] = HierarchicalPlanner(mesh, goals, alone, args.tile, args.workspace, args.nodes)
    ask(planners["hierarchical"], asked, slice(0, 1), team)  # makes the graph for the width of the agents
    built = time.perf_counter() - begin
    nodes = planners["hierarchical"].searches.nodes
    print(
        f"graph of {nodes.area_count:,} areas with {len(nodes.point):,} nodes built in {built:.1f} s",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        np.savez(file := Path(folder) / "areas.npz", **planner_module.KNOWN_COSTS.as_arrays())
        planner_module.KNOWN_COSTS = KnownCosts()
        begin = time.perf_counter()
        with np.load(file) as state:
            planner_module.KNOWN_COSTS.add_arrays(state)
        read = time.perf_counter() - begin
        begin = time.perf_counter()
        again = HierarchicalPlanner(mesh, goals, alone, args.tile, args.workspace, args.nodes).searches
        again.make_layers_of(planners["hierarchical"].searches)
        assert again.measured == 0
        print(
            f"its costs, {file.stat().st_size / 1e6:.0f} MB, read in {read:.2f} s; graph made of them in "
            f"{time.perf_counter() - begin:.2f} s",
            flush=True,
        )
    spent, made_of = dict.fromkeys(planners, 0.0), dict.fromkeys(planners, 0)
    for planner in planners.values():  # code is loaded, and memory touched
        ask(planner, asked, slice(0, min(count, BLOCK)), team)
    for first in range(0, count, BLOCK):
        for kind, planner in planners.items():
            took, expansions = ask(planner, asked, slice(first, min(count, first + BLOCK)), team)
            spent[kind] += took
            made_of[kind] += expansions
    lengths = {kind: FoundCorridors(planner, asked).lengths() for kind, planner in planners.items()}
    found = np.isfinite(lengths["optimal"])
    assert all(np.array_equal(np.isfinite(each), found) for each in lengths.values()), (
        "reached by all or none"
    )
    for kind in planners:
        ratio = lengths[kind][found] / lengths["optimal"][found] - 1.0
        shares = f"1 : {made_of['mesh'] / made_of[kind]:.1f} and 1 : {spent['mesh'] / spent[kind]:.1f}"
        print(
            f"  {kind:<18} {made_of[kind] / count:9,.0f} expansions a path, "
            f"{1e3 * spent[kind] / count:7.2f} ms, {shares} of flat A*; longer than optimal by "
            f"{100 * ratio.mean():.2f} %, at most {100 * ratio.max():.2f} %"
        )
    mean = lengths["optimal"][found].mean()
    print(f"  {np.count_nonzero(found):,} of {count:,} reached, {mean:,.0f} m on average")


if __name__ == "__main__":
    main()
