"""Searches beside the programs of others, on the same ground and with the same queries, by turns in one run.

    python benchmarks/search_peers.py [--data ../shared/data] [--detour ./detour_paths]
        [--polyanya ./polyanya_paths] [--warthog ./warthog_paths] [--grounds dungeon arena ...]
        [--queries 300] [--rounds 9] [--json]

Detour ([Recast 2009]) searches a corridor and pulls its string (findPath, findStraightPath): beside it
`navigation: mesh`, with points of portals 1 m apart and with two of most (`points_apart: 1000`), and
`optimal`, the kernels alone, and through the planner with its queue and copies; *mesh landmarks*, *2
landmarks* and *landmarks* are the three with those that a scenario has on ground that is not small, which are
found before the first search. All list the portals and measure the string. The program of [Cui 2017] finds
the shortest path of a point: beside it `optimal`; both find the polygons of the two points, and neither lists
the path. warthog searches cells by A*, and lists them: beside it our A* over cells. None of it is part of the
project; `detour_paths.cpp`, `polyanya_paths.cpp` and `warthog_paths.cpp` say how each is compiled. One that
is not given is left out.

The data folder has `detour/*.json` (polygons of Recast with queries), `polyanya/*.mesh` (in the format of
that program) and `movingai/*.map` with `.map.scen` (a cell is a metre; Detour and Polyanya get our polygons).

What both find is compared first: which queries have a path, and how long it is. Lengths have to be the same
beside Polyanya and warthog. Beside Detour none may be shorter than `optimal`, and by how much those of each
are longer is told, since it takes no shortest paths. Times are processor times for those queries that have a
path, in microseconds, the median of the rounds; the ratio is the median of those of the rounds, with
quartiles in brackets. Nodes that were expanded and pushed, ours/theirs, depend on no machine. For each figure
that is asked for it is told on how many grounds it is met.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import shapely
from alarm import write_for_detour
from game_maps import ground_of
from game_maps import queries_of as queries_on_ground
from grid import queries_of as queries_on_cells
from paths import random_queries, read_polyanya

from crowdsim.bench.rounds import ratio
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.goals.rims import find_rims
from crowdsim.navigation.grid.cascade import advance_path, begin_path, last_node
from crowdsim.navigation.grid.files import load_grid
from crowdsim.navigation.grid.obstacles import StationaryDiscs
from crowdsim.navigation.grid.search import EXPANSIONS as CELLS_EXPANDED
from crowdsim.navigation.grid.search import FOUND as CELLS_FOUND
from crowdsim.navigation.grid.search import HEAP_SIZE as CELLS_OPEN
from crowdsim.navigation.grid.search import STATUS as CELLS_STATUS
from crowdsim.navigation.grid.search import make_slots as make_cell_slots
from crowdsim.navigation.grid.sight import list_cells
from crowdsim.navigation.mesh.build import build_mesh, mesh_from_polygons
from crowdsim.navigation.mesh.mesh import locate, locate_many
from crowdsim.navigation.planning.find_landmarks import find_landmarks, find_point_landmarks
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.protocol import ALL
from crowdsim.navigation.search.a_star import (
    advance_search,
    begin_search,
    copy_corridor,
    corridor_size,
    make_slots,
)
from crowdsim.navigation.search.goal_entries import make_scratch
from crowdsim.navigation.search.landmarks import LandmarkParameters
from crowdsim.navigation.search.polyanya import advance_polyanya, begin_polyanya
from crowdsim.navigation.search.polyanya_slots import (
    INTERVAL_COUNT,
    copy_polyanya,
    make_interval_slots,
    polyanya_size,
)
from crowdsim.navigation.search.portal_points import APART_M, PointParameters, place_points
from crowdsim.navigation.search.slot_fields import BEST_TOTAL, EXPANSIONS, FOUND, HEAP_SIZE, STATUS

TURN_S = 0.1  # A turn does its queries as often as it takes to fill this, so that clocks are exact enough.
INTERVALS = 1 << 20
LANDMARKS = LandmarkParameters().landmarks
# Of a length: sums in another order differ by 1e-14, and warthog has the root of 2 in 24 bits.
SAME_LENGTH = 1e-9
SAME_CELLS_LENGTH = 1e-7
# Of the extent of the ground: Detour's vertices are rounded to 1/65,000 of it, and a path has several.
DETOUR_ROUNDING = 1e-4
FAR_APART_M = 1000.0  # Points of portals: two of most, near their ends.
RINGS = 8  # Cells round a point that the search over cells may move it to; here it never has to.
GOALS = {
    ("Detour", "mesh"): 1.5,
    ("Detour", "mesh, planner"): 1.0,
    ("Detour", "mesh landmarks"): 1.5,
    ("Detour", "mesh landmarks, planner"): 1.0,
    ("Detour", "2 landmarks"): 1.5,
    ("Detour", "2 landmarks, planner"): 1.0,
    ("Detour", "landmarks"): 1.5,
    ("Detour", "landmarks, planner"): 1.0,
    ("Polyanya", "optimal"): 1.2,
    ("Polyanya", "landmarks"): 1.2,
    ("warthog", "grid"): 1.5,
}
WHAT = {
    "Detour": "search and string (findPath, findStraightPath)",
    "Polyanya": "the shortest path's length",
    "warthog": "search over cells",
}
COUNTED = ("expanded", "pushed")
HEAD = f"  {'':<23}{'ours us':>8}{'its us':>8}  {'times its rate':<18}{'expanded':>10}{'pushed':>10}"


class Corridors(NamedTuple):
    """Where kernels put the corridors that they find.

    Attributes
    ----------
    portals : (m,) int32
        The portals of all corridors, those of each with the one at the goal first.
    block : (n,) int64
        Where each begins.
    ahead, piece : (n,) int32
        How many portals it has, and the piece of the goal; -1 for no path.
    count : (n, 2) int64
        Nodes expanded and pushed.
    """

    portals: Any
    block: Any
    ahead: Any
    piece: Any
    count: Any


@lean_kernel
def find_corridors(slots, mesh, goals, points, scratch, starts, polygons, out):
    """Find a corridor from each start to the goal of the same number by A*; return whether all had room."""
    at = 0
    for i in range(polygons.size):
        begin_search(
            slots, 0, mesh, goals, points, scratch, i, 0.0, starts[i, 0], starts[i, 1], polygons[i], 0
        )
        advance_search(slots, 0, mesh, goals, points, scratch, 1 << 40)
        out.count[i, 0] = slots.header[0, EXPANSIONS]
        out.count[i, 1] = slots.header[0, EXPANSIONS] + slots.header[0, HEAP_SIZE]
        out.block[i], out.ahead[i], out.piece[i] = at, 0, -1
        if slots.header[0, STATUS] == FOUND:
            if at + corridor_size(slots, 0) > out.portals.size:
                return False
            out.ahead[i], out.piece[i] = copy_corridor(slots, 0, mesh, goals, points, out.portals, at)
            at += out.ahead[i]
    return True


@lean_kernel
def find_optimal_corridors(slots, mesh, goals, rims, scratch, starts, polygons, out):
    """Find the corridor of the shortest path from each start to the goal of the same number;
    return whether all had room.
    """
    at = 0
    for i in range(polygons.size):
        begin_polyanya(slots, 0, mesh, goals, scratch, i, 0.0, starts[i, 0], starts[i, 1], polygons[i], 0)
        advance_polyanya(slots, 0, mesh, goals, rims, scratch, 1 << 40)
        out.count[i, 0], out.count[i, 1] = slots.header[0, EXPANSIONS], slots.header[0, INTERVAL_COUNT]
        out.block[i], out.ahead[i], out.piece[i] = at, 0, -1
        if slots.header[0, STATUS] == FOUND:
            if at + polyanya_size(slots, 0) > out.portals.size:
                return False
            out.ahead[i], out.piece[i] = copy_polyanya(slots, 0, out.portals, at)
            at += out.ahead[i]
    return True


@lean_kernel
def find_shortest(slots, mesh, goals, rims, scratch, starts, ends, length, count):
    """Find the length of the shortest path from each start to the end of the same number, inf for none;
    both points are looked for on the mesh.
    """
    for i in range(len(starts)):
        here, there = locate(mesh, starts[i, 0], starts[i, 1], -1), locate(mesh, ends[i, 0], ends[i, 1], -1)
        length[i] = np.inf
        if here >= 0 and there >= 0:
            begin_polyanya(slots, 0, mesh, goals, scratch, i, 0.0, starts[i, 0], starts[i, 1], here, 0)
            advance_polyanya(slots, 0, mesh, goals, rims, scratch, 1 << 40)
            count[i, 0], count[i, 1] = slots.header[0, EXPANSIONS], slots.header[0, INTERVAL_COUNT]
            if slots.header[0, STATUS] == FOUND:
                length[i] = slots.measure[0, BEST_TOTAL]


@lean_kernel
def find_cells(slots, ground, need, starts, ends, nothing, length, count):
    """Find the cells of a path from each start to the end of the same number, and its length (cells), inf
    for none.
    """
    for i in range(len(starts)):
        slots.choice[0, 0, 0], slots.choice[0, 0, 1] = ends[i, 0], ends[i, 1]
        begin_path(slots, 0, ground, need, starts[i, 0], starts[i, 1], 1, nothing, RINGS, -1)
        advance_path(slots, 0, ground, RINGS, 1 << 60)
        count[i, 0] = slots.header[0, CELLS_EXPANDED]
        count[i, 1] = slots.header[0, CELLS_EXPANDED] + slots.header[0, CELLS_OPEN]
        length[i] = np.inf
        if slots.header[0, CELLS_STATUS] == CELLS_FOUND:
            node = last_node(slots, 0)
            length[i] = slots.cost[0, node]
            list_cells(slots, 0, ground, node)


class Queries(NamedTuple):
    """Where paths are asked for: points (n, 2) or, with heights, (n, 3) m, and the polygons they are in."""

    start: Any
    end: Any
    start_polygon: Any
    end_polygon: Any

    def only(self, rows: Any) -> Queries:
        """Return some of them."""
        return Queries(*(each[rows].copy() for each in self))


class Own:
    """One of our searches with what it works on.

    Attributes
    ----------
    work : callable
        Answers all queries.
    length : (n,) float64, m
        What it found last; inf for no path.
    count : (n, 2) int64
        Nodes expanded and pushed.
    """

    def __init__(self, work: Callable[[], Any], length: Any, count: Any) -> None:
        self.work, self.length, self.count = work, length, count
        work()

    def turn(self, times: int) -> float:
        """Answer all queries so many times; return the processor time of one (s)."""
        begin = time.process_time()
        for _ in range(times):
            self.work()
        return (time.process_time() - begin) / times


class Peer:
    """A program beside ours, which keeps its answers and then takes turns (`peer_turns.h`)."""

    def __init__(self, program: str, folder: Path, *files: Path) -> None:
        answers = folder / "answers"
        self._process = subprocess.Popen(
            [program, *files, answers], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin and self._process.stdout
        self._to, self._from = self._process.stdin, self._process.stdout
        if self._from.readline().split() != ["ready"]:
            raise SystemExit(f"{program} could not read what it was asked; compile it anew.")
        self.answers = np.fromfile(answers).reshape(-1, 3)
        self.length = np.where(self.answers[:, 0] >= 0.0, self.answers[:, 0], np.inf)
        self.count = self.answers[:, 1:]

    def turn(self, times: int) -> float:
        """Let it answer all queries so many times; return the processor time of one (s)."""
        print(times, file=self._to, flush=True)
        return float(self._from.readline().split()[-1]) / times

    def close(self) -> None:
        """End it."""
        self._to.close()
        self._process.wait()
        self._from.close()


def by_turns(sides: list[Any], rounds: int) -> list[list[float]]:
    """Return how long each took in each round (s), in turns, every other round in the opposite order."""
    times = [max(1, round(TURN_S / max(side.turn(1), 1e-9))) for side in sides]
    took: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        order = range(len(sides)) if number % 2 == 0 else range(len(sides) - 1, -1, -1)
        for side in order:
            took[side].append(sides[side].turn(times[side]))
    return took


def mesh_searches(mesh: Any, asked: Queries) -> dict[str, Own]:
    """Return what is measured beside Detour."""
    count, starts = len(asked.start), np.ascontiguousarray(asked.start[:, :2])
    goals = cut_goals(mesh, [GoalShape(shapely.Point(end[:2])) for end in asked.end])
    assert len(goals.piece_polygon) == count, "each goal is a point"
    goals = goals._replace(piece_polygon=asked.end_polygon.astype(np.int32))  # floors lie above each other
    points, scratch, rims = place_points(mesh), make_scratch(1, mesh.polygon_count), find_rims(mesh, goals)
    nodes, intervals = make_slots(1, len(points.edge)), make_interval_slots(1, mesh, INTERVALS)
    radius, row = np.zeros(count), np.arange(count)
    alone, polygon = Team(1), asked.start_polygon

    def room() -> tuple[Corridors, Any]:
        portals = np.empty(count * mesh.polygon_count, dtype=np.int32)
        ahead, piece = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
        found = Corridors(
            portals, np.empty(count, dtype=np.int64), ahead, piece, np.zeros((count, 2), dtype=np.int64)
        )
        return found, np.empty(count)

    def kernels(search: Callable[..., bool], *state: Any) -> Own:
        found, length = room()

        def work() -> None:
            assert search(*state, starts, polygon, found)
            measure_corridors(mesh, goals, *found[:3], polygon, found.piece, starts, radius, length)

        return Own(work, length, found.count)

    def planned(kind: str, counted: Own, apart_m: float = APART_M, landmarks: int = 0) -> Own:
        parameters = PointParameters(points_apart=apart_m)
        planner = MeshPlanner(mesh, goals, kind=kind, points=parameters, landmarks=landmarks)
        length = np.empty(count)

        def work() -> None:
            planner.submit(0, row + 1, starts, polygon, row.astype(np.int32), radius)
            told, _ = planner.advance(ALL, alone)
            ahead, order = np.diff(told.start).astype(np.int32), told.entity - 1
            found = np.empty(count)
            measure_corridors(
                mesh, goals, told.portals, told.start[:-1].copy(), ahead, polygon[order], told.piece,
                starts[order], radius, found,
            )  # fmt: skip
            length[order] = found

        return Own(work, length, counted.count)

    own = kernels(find_corridors, nodes, mesh, goals, points, scratch)
    few = place_points(mesh, FAR_APART_M)
    quick = kernels(find_corridors, make_slots(1, len(few.edge)), mesh, goals, few, scratch)
    optimal = kernels(find_optimal_corridors, intervals, mesh, goals, rims, scratch)
    searches = {
        "mesh": own,
        "mesh, planner": planned("mesh", own),
        "mesh, 2 points": quick,
        "mesh, 2, planner": planned("mesh", quick, FAR_APART_M),
        "optimal": optimal,
        "optimal, planner": planned("optimal", optimal),
    }
    for name, apart_m in (("mesh landmarks", APART_M), ("2 landmarks", FAR_APART_M)):
        at = place_points(mesh, apart_m)
        if (of_points := find_point_landmarks(mesh, at, "time", LANDMARKS)) is not None:
            slots = make_slots(1, len(at.edge), landmarks=of_points)
            by = kernels(find_corridors, slots, mesh, goals, at, scratch)
            searches |= {name: by, f"{name}, planner": planned("mesh", by, apart_m, LANDMARKS)}
    if (known := find_landmarks(mesh, LANDMARKS)) is not None:
        intervals = make_interval_slots(1, mesh, INTERVALS, landmarks=known)
        by = kernels(find_optimal_corridors, intervals, mesh, goals, rims, scratch)
        searches |= {"landmarks": by, "landmarks, planner": planned("optimal", by, landmarks=LANDMARKS)}
    return searches


def shortest_searches(mesh: Any, asked: Queries) -> dict[str, Own]:
    """Return what is measured beside Polyanya."""
    goals = cut_goals(mesh, [GoalShape(shapely.Point(end)) for end in asked.end])
    rims, scratch = find_rims(mesh, goals), make_scratch(1, mesh.polygon_count)

    def search(landmarks: Any = None) -> Own:
        length, count = np.empty(len(asked.start)), np.zeros((len(asked.start), 2), dtype=np.int64)
        slots = make_interval_slots(1, mesh, INTERVALS, landmarks=landmarks)
        state = slots, mesh, goals, rims, scratch, asked.start, asked.end, length, count
        return Own(lambda: find_shortest(*state), length, count)

    known = find_landmarks(mesh, LANDMARKS)
    return {"optimal": search()} | ({} if known is None else {"landmarks": search(known)})


def cell_search(grid: Any, asked: Queries) -> Own:
    """Return what is measured beside warthog."""
    length, count = np.empty(len(asked.start)), np.zeros((len(asked.start), 2), dtype=np.int64)
    slots = make_cell_slots(1, (grid.width + 2) * (grid.depth + 2))
    nothing = StationaryDiscs(np.zeros((0, 3)), 0, 0, 1.0)
    state = slots, grid.ground, grid.need(0.0), asked.start, asked.end, nothing, length, count
    return Own(lambda: find_cells(*state), length, count)


def write_polyanya(path: Path, mesh: Any) -> None:
    """Write a mesh in Polyanya's format, version 2; that of floors above each other is refused there."""
    used, vertex = np.unique(mesh.edge_vertex, return_inverse=True)
    beyond = np.where(mesh.edge_twin >= 0, mesh.edge_polygon[mesh.edge_twin], -1)
    around: list[list[int]] = [[] for _ in used]
    for at, polygon, behind in zip(vertex.tolist(), mesh.edge_polygon.tolist(), beyond.tolist(), strict=True):
        around[at] += [polygon] if behind >= 0 else [polygon, -1]  # each gap has one side that begins here
    lines = ["mesh", "2", f"{len(used)} {mesh.polygon_count}"]
    for (x, y), polygons in zip(mesh.vertex[used, :2].tolist(), around, strict=True):
        lines.append(" ".join(map(str, [repr(x), repr(y), len(polygons), *polygons])))
    for begin, end in zip(mesh.polygon_start[:-1].tolist(), mesh.polygon_start[1:].tolist(), strict=True):
        behind_side = np.roll(beyond[begin:end], 1)  # theirs is the side that ends at a vertex
        lines.append(" ".join(map(str, [end - begin, *vertex[begin:end].tolist(), *behind_side.tolist()])))
    path.write_text("\n".join(lines) + "\n")


def write_queries(path: Path, start: Any, end: Any) -> None:
    """Write points, (n, 2) each, as the programs read them."""
    with path.open("wb") as file:
        np.array([len(start)], dtype=np.int32).tofile(file)
        np.hstack([start, end]).astype(np.float64).tofile(file)


def of_recast(path: Path) -> tuple[Any, Queries]:
    """Return the mesh and all queries of a file of Recast's polygons."""
    data = json.loads(path.read_text())
    mesh, _ = mesh_from_polygons(np.array(data["vertices"]), data["polygons"])
    columns = [np.array([query[name] for query in data["queries"]]) for name in
               ("start", "goal", "start_polygon", "goal_polygon")]  # fmt: skip
    return mesh, Queries(*columns)


def of_map(path: Path, count: int) -> tuple[Any, Queries]:
    """Return our polygons of a map, and some queries of its scenario file."""
    ground, depth = ground_of(path)
    mesh = build_mesh(ground).mesh
    start, end = queries_on_ground(path.with_name(path.name + ".scen"), depth, ground, 0.0, count)
    return mesh, _placed(mesh, start, end)


def of_polyanya(path: Path, count: int) -> tuple[Any, Queries]:
    """Return a mesh in Polyanya's format, and random queries on it."""
    mesh = read_polyanya(path)
    start, end, _ = random_queries(mesh, count)
    return mesh, _placed(mesh, start, end)


def _placed(mesh: Any, start: Any, end: Any) -> Queries:
    where = [np.empty(len(start), dtype=np.int64) for _ in range(2)]
    for points, under in zip((start, end), where, strict=True):
        locate_many(0, len(points), mesh, points, np.full(len(points), -1, dtype=np.int32), under)
    return Queries(start, end, *where)


def measured(
    name: str, ground: str, own: dict[str, Own], peer: Peer | None, rounds: int, same: str, is_same: bool
) -> dict[str, Any]:
    """Take turns, and return what is told of a ground."""
    sides = [*own.values(), *([peer] if peer else [])]
    took = by_turns(sides, rounds)
    queries, rows = len(next(iter(own.values())).length), []
    for (way, side), spent in zip(own.items(), took, strict=False):
        row: dict[str, Any] = {
            "way": way,
            "us": 1e6 * float(np.median(spent)) / queries,
            "expanded": float(side.count[:, 0].mean()),
            "pushed": float(side.count[:, 1].mean()),
        }
        if peer:
            row |= ratio(took[-1], spent)
            row["its_us"] = 1e6 * float(np.median(took[-1])) / queries
            row["its_expanded"], row["its_pushed"] = (float(value) for value in peer.count.mean(axis=0))
        rows.append(row)
    if peer:
        peer.close()
    return {
        "peer": name,
        "ground": ground,
        "queries": queries,
        "same": same,
        "is_same": is_same,
        "rows": rows,
    }


def beside_detour(
    ground: str, mesh: Any, asked: Queries, program: str | None, rounds: int, folder: Path
) -> dict[str, Any]:
    """Measure searches with their strings beside those of Detour."""

    def ask(those: Queries) -> Peer | None:
        if program is None:
            return None
        file = folder / "asked"
        write_for_detour(file, mesh, those.start, those.start_polygon, those.end, those.end_polygon)
        return Peer(program, folder, file)

    own, peer, total = mesh_searches(mesh, asked), ask(asked), len(asked.start)
    found = np.isfinite(own["mesh"].length)
    is_same = all(np.array_equal(np.isfinite(way.length), found) for way in own.values())
    if peer:
        is_same = is_same and np.array_equal(np.isfinite(peer.length), found)
        found = found & np.isfinite(peer.length)
        peer.close()
    asked = asked.only(np.flatnonzero(found))
    own, peer = mesh_searches(mesh, asked), ask(asked)
    best = own["optimal"].length
    excess = {way: side.length / np.maximum(best, 1e-9) - 1.0 for way, side in own.items()}
    told = f"{len(best)} of {total} queries have a path{', for both' if peer and is_same else ''}; "
    told += f"optimal {best.mean():.2f} m on average\n  longer than that: "
    told += f"mesh {excess['mesh'].mean():.2%}, at most {excess['mesh'].max(initial=0.0):.0%}"
    if peer:
        over = peer.length / np.maximum(best, 1e-9) - 1.0
        told += f"; Detour {over.mean():.2%}, at most {over.max(initial=0.0):.0%}"
        extent = float(np.ptp(mesh.vertex[:, :2], axis=0).max())
        is_same = is_same and bool(np.all(peer.length > best - DETOUR_ROUNDING * extent))
    is_same = is_same and all(bool(np.all(each > -SAME_LENGTH)) for each in excess.values())
    return measured("Detour", ground, own, peer, rounds, told, is_same)


def same_lengths(own: Own, peer: Peer | None, within: float) -> tuple[str, bool]:
    """Return what is told of two programs that both find shortest paths, and whether they found the same."""
    found = np.isfinite(own.length)
    told = f"{found.sum()} of {len(found)} queries have a path; {own.length[found].mean():.2f} on average"
    if peer is None:
        return told, True
    both = found & np.isfinite(peer.length)
    off = np.abs(own.length[both] - peer.length[both]) / np.maximum(peer.length[both], 1.0)
    same = both.sum() == found.sum() == np.isfinite(peer.length).sum()
    told += (
        f"\n  it found {np.isfinite(peer.length).sum()}, lengths differ by {off.max(initial=0.0):.0e} at most"
    )
    return told, bool(same and np.all(off < within))


def beside_polyanya(
    ground: str, mesh: Any, asked: Queries, program: str | None, rounds: int, folder: Path, file: Path | None
) -> dict[str, Any]:
    """Measure shortest paths beside Polyanya, on a file of its own or on our polygons."""
    inside = np.flatnonzero((asked.start_polygon >= 0) & (asked.end_polygon >= 0))
    asked, peer = asked.only(inside), None
    own = shortest_searches(mesh, asked)
    if program:
        if file is None:
            file = folder / "mesh"
            write_polyanya(file, mesh)
        write_queries(folder / "queries", asked.start, asked.end)
        peer = Peer(program, folder, file.resolve(), folder / "queries")
    same = [same_lengths(each, peer, SAME_LENGTH) for each in own.values()]
    is_same = all(each for _, each in same)
    return measured("Polyanya", ground, own, peer, rounds, same[0][0], is_same)


def beside_warthog(path: Path, count: int, program: str | None, rounds: int, folder: Path) -> dict[str, Any]:
    """Measure searches over the cells of a map beside warthog."""
    grid, peer = load_grid(path), None
    start, end = queries_on_cells(grid, path.with_suffix(".map.scen"), count)
    own = cell_search(grid, Queries(start, end, start, end))
    if program:
        cells = [np.floor(points) for points in (start, end)]
        for each in cells:
            each[:, 1] = grid.depth - 1 - each[:, 1]
        write_queries(folder / "queries", *cells)
        peer = Peer(program, folder, path.resolve(), folder / "queries")
    same = same_lengths(own, peer, SAME_CELLS_LENGTH)
    return measured("warthog", path.stem, {"grid": own}, peer, rounds, *same)


def _short(count: float) -> str:
    return f"{count:.0f}" if count < 1e5 else f"{count / 1e3:.0f}k"


def show(one: dict[str, Any]) -> None:
    """Print the lines of a ground."""
    print(f"{one['ground']}: {one['same']}")
    if not one["is_same"]:
        print("  NOT THE SAME: the ratios below do not count")
    for row in one["rows"]:
        times, counts = f"{row['us']:8.2f}{'':8}", [_short(row[name]) for name in COUNTED]
        rate = ""
        if "ratio" in row:
            times = f"{row['us']:8.2f}{row['its_us']:8.2f}"
            rate = f"{row['ratio']:.2f} [{row['ratio_low']:.2f}, {row['ratio_high']:.2f}]"
            counts = [f"{_short(row[name])}/{_short(row['its_' + name])}" for name in COUNTED]
        print(f"  {row['way']:<23}{times}  {rate:<18}{counts[0]:>10}{counts[1]:>10}")


def reached(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each goal of the project whether it is met on all grounds."""
    told = []
    for (peer, way), asked in GOALS.items():
        ratios = {
            one["ground"]: row["ratio"]
            for one in found if one["peer"] == peer and one["is_same"]
            for row in one["rows"] if row["way"] == way and "ratio" in row
        }  # fmt: skip
        if ratios:
            met = [ground for ground, times in ratios.items() if times >= asked]
            told.append({"peer": peer, "way": way, "asked": asked, "ratios": ratios, "met_on": met})
    return told


def _usable(asked: argparse.Namespace) -> str | None:
    """Return what is wrong with what was asked, in one line."""
    for name in ("detour", "polyanya", "warthog"):
        program = getattr(asked, name)
        if program and not Path(program).is_file():
            return f"there is no program {program}; {name}_paths.cpp in benchmarks/ says how it is compiled."
    if not asked.data.is_dir():
        return (
            f"there is no folder {asked.data}; give the one with detour/, polyanya/ and movingai/ by --data."
        )
    return None


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print the table; return 2 if something is not there, 1 if results are not the same."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    for name in ("detour", "polyanya", "warthog"):
        parser.add_argument(f"--{name}", metavar="PROGRAM")
    parser.add_argument("--grounds", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    wrong = _usable(asked)
    if wrong:
        print(f"search_peers: {wrong}", file=sys.stderr)
        return 2

    def files(kind: str) -> list[Path]:
        some = sorted(asked.data.glob(kind), key=lambda path: path.stat().st_size)
        return [path for path in some if not asked.grounds or path.stem in asked.grounds]

    given = {name: getattr(asked, name) for name in ("detour", "polyanya", "warthog")}
    program = {name: str(Path(path).resolve()) for name, path in given.items() if path}
    measures, found = set(program) or set(given), list[dict[str, Any]]()  # without any, ours alone

    def note(one: dict[str, Any]) -> None:
        if not asked.json:
            if not found or found[-1]["peer"] != one["peer"]:
                print(f"beside {one['peer']}: {WHAT[one['peer']]}\n{HEAD}")
            show(one)
            sys.stdout.flush()
        found.append(one)

    with tempfile.TemporaryDirectory() as made:
        folder, maps = Path(made), files("movingai/*.map")
        if "detour" in measures:
            for path in [*files("detour/*.json"), *maps]:
                mesh, queries = of_map(path, asked.queries) if path in maps else of_recast(path)
                note(beside_detour(path.stem, mesh, queries, program.get("detour"), asked.rounds, folder))
        if "polyanya" in measures:
            for path in [*files("polyanya/*.mesh"), *maps]:
                mesh, queries = (of_map if path in maps else of_polyanya)(path, asked.queries)
                own_file = None if path in maps else path
                name = path.stem + (" (map)" if path in maps else "")
                note(
                    beside_polyanya(
                        name, mesh, queries, program.get("polyanya"), asked.rounds, folder, own_file
                    )
                )
        if "warthog" in measures:
            for path in maps:
                note(beside_warthog(path, asked.queries, program.get("warthog"), asked.rounds, folder))
    goals = reached(found)
    if asked.json:
        print(json.dumps({"grounds": found, "goals": goals}))
    else:
        for one in goals:
            met, ratios = one["met_on"], one["ratios"]
            print(
                f"{'met' if len(met) == len(ratios) else 'NOT MET'}: {one['way']}, {one['asked']:g} times "
                f"{one['peer']}'s rate: on {len(met)} of {len(ratios)} grounds, "
                f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f}"
            )
    return 0 if all(one["is_same"] for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
