"""How fast triangles are filled, and how much smaller sectors are than cells.

``python benchmarks/soup.py [dungeon.obj] [--recast recast_build]``: a plain of two triangles, a made building
of rooms, doors and stairs on several storeys, and, if it is given, a file with y up, from the place in it
where most ground is. One thread; each is done three times, and the least time counts.

With --recast, Recast builds the same worlds with the same body and cells (`recast_build.cpp` says how it is
compiled). It finds all ground, whether a body gets there or not, and measures heights in steps of 5 cm.

With --paths, a storey of that building is filled, and drawn as a plan; paths between the same points are
searched on both by turns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.navigation.planning.mesh_planner import usual_planner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.navigation.soup.fill import Cells, FillRules, SeedRefused, fill
from crowdsim.navigation.soup.sectors import SectorGraph, gather
from crowdsim.scenario.load import parse_scenario
from crowdsim.setup.build import build_world

Triangles = NDArray[np.float64]
ROUNDS = 3
STOREYS, STOREY_M, ROOM_M, DOOR_M, WALL_M = 10, 3.0, 5.0, 1.0, 0.2
TREAD_M, RISER_M = 0.3, 0.15


def _quad(a: list[float], b: list[float], c: list[float], d: list[float]) -> list[list[list[float]]]:
    return [[a, b, c], [a, c, d]]


def _level(x0: float, y0: float, x1: float, y1: float, z: float) -> list[list[list[float]]]:
    return _quad([x0, y0, z], [x1, y0, z], [x1, y1, z], [x0, y1, z])


def _wall(x0: float, y0: float, x1: float, y1: float, z: float) -> list[list[list[float]]]:
    """Return the four sides and the top of a wall that stands on a floor."""
    top = z + STOREY_M - 0.3
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    faces = _level(x0, y0, x1, y1, top)
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
        faces += _quad([ax, ay, z], [bx, by, z], [bx, by, top], [ax, ay, top])
    return faces


def _walls(rooms: int) -> list[tuple[float, float, float, float]]:
    """Return the walls of a storey in plan: each of a room has a doorway, and the east has none."""
    walls = []
    for x in range(rooms):
        for y in range(rooms):
            at, low, gap = x * ROOM_M, y * ROOM_M, 0.5 * (ROOM_M - DOOR_M)
            for first, last in ((low, low + gap), (low + gap + DOOR_M, low + ROOM_M)):
                walls.append((at - 0.5 * WALL_M, first, at + 0.5 * WALL_M, last))
                if x > 0 or y > 0:
                    walls.append((first, at - 0.5 * WALL_M, last, at + 0.5 * WALL_M))
    return walls


def building(rooms: int, storeys: int = STOREYS) -> Triangles:
    """Return storeys of rooms x rooms rooms with a doorway in each wall, and stairs along one side."""
    faces: list[list[list[float]]] = []
    side, stair = rooms * ROOM_M, 2.0
    for storey in range(storeys):
        z = storey * STOREY_M
        faces += _level(0, 0, side, side, z)
        for wall in _walls(rooms):
            faces += _wall(*wall, z)
        # beside it the flights, those of every other storey apart
        faces += _level(side, 0, side + stair, 20.0, z)
        if storey + 1 < storeys:
            begin, steps = 2.0 + 10.0 * (storey % 2), round(STOREY_M / RISER_M)
            faces += _level(side + stair, begin - 2.0, side + 2 * stair, begin, z)  # a landing at its foot
            for step in range(steps):
                y = begin + step * TREAD_M
                faces += _level(side + stair, y, side + 2 * stair, y + TREAD_M, z + (step + 1) * RISER_M)
            y = begin + steps * TREAD_M
            faces += _level(side + stair, y, side + 2 * stair, y + 2.0, z + STOREY_M)
    return np.array(faces)


def measured(
    corners: Triangles, seed: list[float], rules: FillRules
) -> tuple[Cells, float, SectorGraph, float]:
    """Return the cells and the sectors of a world, and how long each took, s."""
    surfaces, fills, gathers = np.ones(len(corners), dtype=np.uint8), [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        cells = fill(corners, surfaces, [seed], rules)
        fills.append(time.perf_counter() - start)
        start = time.perf_counter()
        graph = gather(cells)
        gathers.append(time.perf_counter() - start)
    return cells, min(fills), graph, min(gathers)


def from_file(name: Path) -> tuple[Triangles, list[float]]:
    """Return the triangles of a file, and the middle of one from which most ground is found."""
    import trimesh

    mesh = trimesh.load(name, process=False, force="mesh", skip_materials=True)
    corners = (np.asarray(mesh.vertices)[:, [0, 2, 1]] * [1, -1, 1])[np.asarray(mesh.faces)]
    rules, best, most = FillRules(0.3, 2.0, 0.3, 0.3, 0.3, 0.3), [0.0, 0.0, 0.0], 0
    for place in corners.mean(axis=1)[:: max(1, len(corners) // 200)].tolist():
        try:
            found = len(fill(corners, np.ones(len(corners), dtype=np.uint8), [place], rules))
        except SeedRefused:
            continue
        if found > most:
            best, most = place, found
    return corners, best


def recast(program: Path, corners: Triangles, rules: FillRules) -> str:
    """Return cells of a row: what Recast finds, how many a second, and how long its polygons take."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "triangles"
        file.write_bytes(np.ascontiguousarray(corners, dtype=np.float64).tobytes())
        numbers = [f"{each:g}" for each in (rules.cell, rules.side, rules.height, rules.step_up)]
        said = subprocess.run([program, file, *numbers], capture_output=True, text=True, check=True).stdout
    spans, polygons, found_s, made_s = (float(each) for each in said.split())
    made = f"{polygons:,.0f} | {made_s:.2f} s" if polygons >= 0 else "too many | |"
    return f" {spans:,.0f} | {spans / found_s / 1e6:.2f} | {made} |"


def path_rates(rooms: int = 12, paths: int = 200, turns: int = 15) -> str:
    """Return what paths cost on a storey that is filled beside one that is drawn, in words."""
    side, rng = rooms * ROOM_M, np.random.default_rng(1)
    plan = shapely.union_all([shapely.box(0, 0, side, side), shapely.box(side, 0, side + 2.0, 20.0)])
    plan = plan.difference(shapely.union_all([shapely.box(*wall) for wall in _walls(rooms)]))
    places = rng.uniform(0.0, side, (20 * paths, 2))
    places = places[shapely.contains_xy(shapely.buffer(plan, -0.3), places)][: 2 * paths]
    soup = {
        "triangles": building(rooms, storeys=1).tolist(),
        "seeds": [[2.5, 2.5, 0]],
        "body": {"side": 0.1},
    }
    drawn = {"walkable": {"wkt": shapely.to_wkt(plan, 9)}}
    polygons, find = zip(
        _asked(places, {"soup": soup}, height=0.0), _asked(places, drawn), strict=True
    )  # the same points, on both
    lengths = [each().sum() for each in find]
    times = np.empty((turns, 2))
    for turn in range(turns):
        for number, each in enumerate(find):
            start = time.perf_counter()
            each()
            times[turn, number] = time.perf_counter() - start
    return (
        f"{paths} paths on the storey as it is filled ({polygons[0]} polygons) and drawn ({polygons[1]}): "
        f"{lengths[0]:,.1f} and {lengths[1]:,.1f} m, rate {np.median(times[:, 1] / times[:, 0]):.2f}"
    )


def _asked(
    places: NDArray[np.float64], geometry: dict[str, Any], **more: float
) -> tuple[int, Callable[[], NDArray[np.float64]]]:
    """Return of how many polygons the ground is, and a function that searches for paths from the first half
    of some places to the second, (n, 2) m, and returns their lengths.
    """
    begin, end = np.split(places, 2)
    agents = [
        {"position": place, "goals": {"point": goal, "arrive_within": 0.01}}
        for place, goal in zip(begin.tolist(), end.tolist(), strict=True)
    ]
    groups = [{"name": "all", "agents": agents, "radius": 0.05, **more}]
    text = {"version": 1, "tick": 0.01, "geometry": geometry, "groups": groups}
    built = build_world(parse_scenario(json.dumps(text), file="bench"))
    mesh, goals, itineraries = built.world.mesh, built.world.goals, built.world.itineraries
    goal = np.array([itineraries[number].goals[0] for number in built.agents.itinerary], dtype=np.int32)
    asked = Asked(mesh, goals, built.agents.position, built.polygon, goal, built.agents.radius)
    return len(mesh.polygon_layer), lambda: FoundCorridors(usual_planner(mesh, goals), asked).lengths()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--recast", type=Path)
    parser.add_argument("--paths", action="store_true")
    given = parser.parse_args()
    plain = np.array(_level(0, 0, 250, 250, 0.0))
    worlds: list[tuple[str, Triangles, list[float], float]] = [
        ("plain", plain, [1.0, 1.0, 0.0], 0.1),
        ("building", building(20), [2.5, 2.5, 0.0], 0.1),
    ]
    if given.file:
        worlds.append((given.file.name, *from_file(given.file), 0.1))
    heads = [
        "world",
        "triangles",
        "cells",
        "M cells/s",
        "bytes a cell",
        "sectors",
        "portals",
        "of the memory",
    ]
    heads.append("sectors in")
    if given.recast:
        heads += ["Recast's spans", "M spans/s", "polygons", "polygons in"]
    print(f"| {' | '.join(heads)} |\n| --- |{' ---: |' * (len(heads) - 1)}")
    for name, corners, seed, cell in worlds:
        rules = FillRules(cell, 2.0, cell, 0.25, 0.25, 0.25)
        cells, fill_s, graph, gather_s = measured(corners, seed, rules)
        print(
            f"| {name} | {len(corners):,} | {len(cells):,} | {len(cells) / fill_s / 1e6:.2f} "
            f"| {cells.nbytes / len(cells):.1f} | {len(graph.sectors.z):,} | {len(graph.portals.side):,} "
            f"| {graph.nbytes / cells.nbytes:.2%} | {gather_s:.2f} s |"
            + (recast(given.recast, corners, rules) if given.recast else "")
        )
    if given.paths:
        print(path_rates())


if __name__ == "__main__":
    main()
