"""What finding and following paths costs: paths a second, and nanoseconds for each part.

    python benchmarks/paths.py [--plan plan.wkt] [--detour nav_test.json] [--polyanya arena-merged.mesh]
        [--agents 10000]
    python benchmarks/paths.py --maps movingai [--radius 0] [--queries 500]

Without a plan, a hall of 50 x 50 m with 300 pillars is made. With --detour, the polygons and the 1,000
queries of the file are used for the first lines, with --polyanya a mesh in the format of the program of
[Cui 2017], between 200 random points. Each figure is the best of several runs, which take turns; beside the
programs of others they are measured by `search_peers.py`. With --maps, triangles and polygons are compared on
the game maps of a folder, and nothing else is measured (`game_maps`).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import shapely

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.corner_cache import empty_corner_cache
from crowdsim.navigation.corridor.corridors import Corridors
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.corridor.steer import steer_many
from crowdsim.navigation.corridor.walk import Walked, walk_many
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.goals.rims import find_rims
from crowdsim.navigation.mesh.build import build_mesh, mesh_from_polygons
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.search.a_star import advance_search, begin_search, make_slots
from crowdsim.navigation.search.goal_entries import make_scratch
from crowdsim.navigation.search.polyanya import advance_polyanya, begin_polyanya
from crowdsim.navigation.search.polyanya_slots import make_interval_slots
from crowdsim.navigation.search.portal_points import place_points
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.navigation.search.slot_fields import BEST_TOTAL, EXPANSIONS

RADIUS_M, SPEED_M_S, TICK_S, REPEATS = 0.2, 1.3, 0.05, 7


def pillar_hall(size: float = 50.0, pillars: int = 300):
    """Return a hall with randomly turned square pillars."""
    rng = np.random.default_rng(1)
    boxes = []
    for _ in range(pillars):
        x, y = rng.uniform(1.0, size - 1.0, 2)
        boxes.append(
            shapely.affinity.rotate(shapely.box(x - 0.3, y - 0.3, x + 0.3, y + 0.3), rng.uniform(0.0, 90.0))
        )
    ground = shapely.box(0.0, 0.0, size, size).difference(shapely.union_all(boxes))
    return max(shapely.get_parts(ground), key=lambda part: part.area)


def best_of(work, repeats: int = REPEATS):
    """Return the least time (s) of some runs; the first, which may compile, does not count."""
    return best_of_each([work], repeats)[0]


def best_of_each(works, repeats: int):
    """Return the least time (s) of some runs of each piece of work;
    they take turns, and the first run of each, which may compile, does not count.
    """
    times: list[list[float]] = [[] for _ in works]
    for turn in range(repeats + 1):
        for work, spent in zip(works, times, strict=True):
            begin = time.perf_counter()
            work()
            if turn > 0:
                spent.append(time.perf_counter() - begin)
    return [min(spent) for spent in times]


@lean_kernel
def search_all(slots, mesh, goals, points, scratch, starts, polygons, width):
    """Search from each start to the goal of the same number; return the expansions."""
    total = 0
    for i in range(polygons.size):
        begin_search(
            slots, 0, mesh, goals, points, scratch, i, width, starts[i, 0], starts[i, 1], polygons[i], 0
        )
        advance_search(slots, 0, mesh, goals, points, scratch, 1 << 40)
        total += slots.header[0, EXPANSIONS]
    return total


@lean_kernel
def search_all_optimal(slots, mesh, goals, rims, scratch, starts, polygons, width, out):
    """Search the shortest path from each start to the goal of the same number; return the expansions."""
    total = 0
    for i in range(polygons.size):
        begin_polyanya(slots, 0, mesh, goals, scratch, i, width, starts[i, 0], starts[i, 1], polygons[i], 0)
        total += advance_polyanya(slots, 0, mesh, goals, rims, scratch, 1 << 40)
        out[i] = slots.measure[0, BEST_TOTAL]
    return total


def time_optimal(name, mesh, goals, starts, polygons, radius):
    """Print the times of optimal searches."""
    count, out = len(polygons), np.empty(len(polygons))
    slots, rims, scratch = (
        make_interval_slots(1, mesh, 1 << 20),
        find_rims(mesh, goals),
        make_scratch(1, mesh.polygon_count),
    )
    expansions = search_all_optimal(slots, mesh, goals, rims, scratch, starts, polygons, 2.0 * radius, out)
    took = best_of(
        lambda: search_all_optimal(slots, mesh, goals, rims, scratch, starts, polygons, 2.0 * radius, out)
    )
    found = np.isfinite(out)
    each, per = 1e9 * took / max(1, expansions), expansions / count
    print(
        f"{name}, optimal: {count / took:.0f} paths a second, {each:.0f} ns an expansion, {per:.1f} "
        f"expansions a path, {out[found].mean():.2f} m"
    )


def read_polyanya(path):
    """Return the mesh in a file in Polyanya's format, version 2."""
    numbers = iter(path.read_text().split()[2:])
    vertex_count, polygon_count = int(next(numbers)), int(next(numbers))
    vertices, polygons = [], []
    for _ in range(vertex_count):
        vertices.append((float(next(numbers)), float(next(numbers))))
        for _ in range(int(next(numbers))):
            next(numbers)
    for _ in range(polygon_count):
        count = int(next(numbers))
        polygons.append([int(next(numbers)) for _ in range(count)])
        for _ in range(count):
            next(numbers)
    return mesh_from_polygons(np.array(vertices), polygons)[0]


def random_queries(mesh, count):
    """Return random starts and ends on a mesh, (count, 2) m each, and the polygons of the starts."""
    points = np.random.default_rng(0).uniform(
        mesh.vertex[:, :2].min(axis=0), mesh.vertex[:, :2].max(axis=0), (25 * count, 2)
    )
    under = np.empty(len(points), dtype=np.int64)
    locate_many(0, len(points), mesh, points, np.full(len(points), -1, dtype=np.int32), under)
    points, under = points[under >= 0][: 2 * count], under[under >= 0][: 2 * count]
    return points[::2].copy(), points[1::2].copy(), under[::2].copy()


def time_polyanya(path):
    """Print the times of optimal searches on a mesh in Polyanya's format between 200 random points."""
    mesh = read_polyanya(path)
    starts, ends, polygons = random_queries(mesh, 200)
    goals = cut_goals(mesh, [GoalShape(shapely.Point(end)) for end in ends])
    time_optimal(path.stem, mesh, goals, starts, polygons, 0.0)


def time_paths(name, mesh, goals, starts, polygons, radius):
    """Print the times of searching, of the planner, and of the funnel; return the answers of the planner."""
    count = len(polygons)
    points, scratch = place_points(mesh), make_scratch(1, mesh.polygon_count)
    slots = make_slots(1, len(points.edge))
    expansions = search_all(slots, mesh, goals, points, scratch, starts, polygons, 2.0 * radius)
    search = best_of(lambda: search_all(slots, mesh, goals, points, scratch, starts, polygons, 2.0 * radius))
    planner = MeshPlanner(mesh, goals, ShareParameters(share_searches=False))

    def plan(team):
        planner.submit(
            0,
            np.arange(count) + 1,
            starts,
            polygons,
            np.arange(count, dtype=np.int32),
            np.full(count, radius),
        )
        return planner.advance(1 << 40, team)[0]

    alone = Team(1)
    answers = plan(alone)
    planned = best_of(lambda: plan(alone))
    ahead, out = np.diff(answers.start).astype(np.int32), np.empty(count)
    measure = (
        mesh,
        goals,
        answers.portals,
        answers.start[:-1].copy(),
        ahead,
        polygons,
        answers.piece,
        starts,
        np.full(count, radius),
        out,
    )
    funnel = best_of(lambda: measure_corridors(*measure))
    found = np.isfinite(out)
    print(
        f"{name}: {mesh.polygon_count} polygons, {count} queries, {found.sum()} found, {ahead.mean():.1f} "
        f"portals, {out[found].mean():.2f} m"
    )
    print(
        f"  search          {1e9 * search / expansions:9.0f} ns an expansion, {expansions / count:.1f} "
        "expansions a path"
    )
    print(
        f"  search + funnel {count / (search + funnel):9.0f} paths a second ({1e6 * search / count:.2f} + "
        f"{1e6 * funnel / count:.2f} us)"
    )
    print(f"  planner         {count / planned:9.0f} paths a second, with its queue and the copies")
    return answers


def time_two_threads(mesh, goals, starts, polygons, radius, times=8):
    """Print how many times as fast two threads are for the planner, beside work that shares nothing:
    what the machine gives at best.
    """
    starts, polygons, shapes = (
        np.tile(starts, (times, 1)),
        np.tile(polygons, times),
        np.tile(np.arange(len(starts), dtype=np.int32), times),
    )
    planner = MeshPlanner(mesh, goals, ShareParameters(share_searches=False))
    many, layer, out = (
        np.tile(starts, (20, 1)),
        np.full(20 * len(starts), -1, dtype=np.int32),
        np.empty(20 * len(starts), dtype=np.int64),
    )

    def plan(team):
        planner.submit(0, np.arange(len(starts)) + 1, starts, polygons, shapes, np.full(len(starts), radius))
        planner.advance(1 << 40, team)

    one, two = Team(1), Team(2)
    works = [lambda team=team: plan(team) for team in (one, two)]
    works += [
        lambda team=team: team.run(locate_many, len(many), mesh, many, layer, out) for team in (one, two)
    ]
    alone, both, located, located_by_both = best_of_each(works, REPEATS)
    print(
        f"  two threads     {alone / both:9.2f} times the paths of one in the planner; work that shares "
        f"nothing gains {located / located_by_both:.2f}"
    )


def time_agents(mesh, goals, answers, starts, polygons, agents):
    """Print what locating, steering and walking cost an agent, where agents are spread along their paths."""
    found = np.flatnonzero(np.diff(answers.start) > 0)
    chosen = found[np.random.default_rng(2).integers(0, len(found), agents)]
    ahead = np.diff(answers.start).astype(np.int32)[chosen]
    capacity = np.maximum(16, 2 * ahead).astype(np.int32)
    block = np.concatenate([[0], np.cumsum(capacity)])[:-1].astype(np.int64)
    portals = np.zeros(int(capacity.sum()), dtype=np.int32)
    for row, path in enumerate(chosen):
        portals[block[row] : block[row] + ahead[row]] = answers.portals[
            answers.start[path] : answers.start[path + 1]
        ]
    position, polygon, piece = starts[chosen].copy(), polygons[chosen].copy(), answers.piece[chosen].copy()
    wants, radius, speed = (
        np.ones(agents, dtype=np.uint8),
        np.full(agents, RADIUS_M),
        np.full(agents, SPEED_M_S),
    )
    velocity, corner, clear = np.zeros((agents, 2)), np.zeros((agents, 2)), np.zeros(agents, dtype=np.float32)
    new = [position.copy(), polygon.copy(), ahead.copy(), clear.copy(), np.zeros(agents, dtype=np.uint8)]
    cache = empty_corner_cache(agents)
    layer, located = np.full(agents, -1, dtype=np.int32), np.empty(agents, dtype=np.int64)
    spent = {"steer": [], "walk": [], "locate": []}
    for _ in range(200):
        times = [time.perf_counter()]
        corridors = Corridors(portals, block, ahead, polygon, piece, position, radius)
        steer_many(0, agents, mesh, goals, corridors, wants, speed, TICK_S, cache, velocity, corner)
        times.append(time.perf_counter())
        walk_many(0, agents, mesh, corridors, capacity, position + velocity * TICK_S, clear, Walked(*new))
        times.append(time.perf_counter())
        position, new[0], polygon, new[1], ahead, new[2], clear, new[3] = (
            new[0],
            position,
            new[1],
            polygon,
            new[2],
            ahead,
            new[3],
            clear,
        )
        locate_many(0, agents, mesh, position, layer, located)
        times.append(time.perf_counter())
        for name, took in zip(("steer", "walk", "locate"), np.diff(times), strict=True):
            spent[name].append(took)
    for name, per in (("steer", "an agent and tick"), ("walk", "an agent and tick"), ("locate", "a point")):
        print(f"  {name:<15} {1e9 * float(np.median(spent[name][20:])) / agents:9.0f} ns {per}")


def main():
    """Read the arguments and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plan", type=Path)
    parser.add_argument("--detour", type=Path)
    parser.add_argument("--polyanya", type=Path)
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--maps", type=Path)
    parser.add_argument("--radius", type=float, default=0.0)
    parser.add_argument("--queries", type=int, default=500)
    given = parser.parse_args()
    if given.maps:
        from game_maps import compare

        compare(given.maps, given.radius, given.queries)
        return
    if given.detour:
        data = json.loads(given.detour.read_text())
        mesh, _ = mesh_from_polygons(np.array(data["vertices"]), data["polygons"])
        queries = [query for query in data["queries"] if query["reached"]]
        points = [GoalShape(shapely.Point(query["goal"][:2]), reach=0.05) for query in queries]
        goals = cut_goals(mesh, points)
        kept = [i for i in range(len(queries)) if goals.goal_start[i + 1] > goals.goal_start[i]]
        goals = cut_goals(mesh, [points[i] for i in kept])
        goals = goals._replace(
            piece_polygon=np.array([queries[i]["goal_polygon"] for i in kept], dtype=np.int32)
        )
        starts = np.array([queries[i]["start"][:2] for i in kept])
        polygons = np.array([queries[i]["start_polygon"] for i in kept], dtype=np.int64)
        time_paths(given.detour.stem, mesh, goals, starts, polygons, 0.0)
        time_optimal(given.detour.stem, mesh, goals, starts, polygons, 0.0)
    if given.polyanya:
        time_polyanya(given.polyanya)
    ground = (
        shapely.union_all(shapely.get_parts(shapely.from_wkt(given.plan.read_text())))
        if given.plan
        else pillar_hall()
    )
    begin = time.perf_counter()
    mesh = build_mesh(ground).mesh
    built = time.perf_counter() - begin
    rng = np.random.default_rng(0)
    free = ground.buffer(-RADIUS_M - 0.01)
    points = rng.uniform(ground.bounds[:2], ground.bounds[2:], (40_000, 2))
    points = points[shapely.contains_xy(free, points[:, 0], points[:, 1])][:2000]
    starts, ends = points[: len(points) // 2], points[len(points) // 2 :][: len(points) // 2]
    goals = cut_goals(mesh, [GoalShape(shapely.Point(end), reach=0.05) for end in ends])
    polygons = np.empty(len(starts), dtype=np.int64)
    locate_many(0, len(starts), mesh, starts, np.full(len(starts), -1, dtype=np.int32), polygons)
    name = given.plan.stem if given.plan else "pillar hall"
    answers = time_paths(name, mesh, goals, starts, polygons, RADIUS_M)
    time_optimal(name, mesh, goals, starts, polygons, RADIUS_M)
    time_two_threads(mesh, goals, starts, polygons, RADIUS_M)
    time_agents(mesh, goals, answers, starts, polygons, given.agents)
    print(f"  mesh            {built:9.2f} s to build, compiled code read from the cache or made")


if __name__ == "__main__":
    main()
