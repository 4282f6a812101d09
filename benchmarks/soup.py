"""How fast triangles are filled, and how much smaller sectors are than cells.

``python benchmarks/soup.py [dungeon.obj] [--recast recast_build]``: a plain of two triangles, a made building
of rooms, doors and stairs on several storeys, and, if it is given, a file with y up, from the place in it
where most ground is. One thread; each is done three times, and the least time counts.

With --recast, Recast builds the same worlds with the same body and cells (`recast_build.cpp` says how it is
compiled). It finds all ground, whether a body gets there or not, and measures heights in steps of 5 cm.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.soup.fill import Cells, FillRules, SeedRefused, fill
from crowdsim.navigation.soup.sectors import SectorGraph, gather

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


def building(rooms: int) -> Triangles:
    """Return storeys of rooms x rooms rooms with a doorway in each wall, and stairs along one side."""
    faces: list[list[list[float]]] = []
    side, stair = rooms * ROOM_M, 2.0
    for storey in range(STOREYS):
        z = storey * STOREY_M
        faces += _level(0, 0, side, side, z)
        for x in range(rooms + 1):
            for y in range(rooms):
                at, low, gap = x * ROOM_M, y * ROOM_M, 0.5 * (ROOM_M - DOOR_M)
                for first, last in ((low, low + gap), (low + gap + DOOR_M, low + ROOM_M)):
                    if x == rooms:
                        continue
                    faces += _wall(at - 0.5 * WALL_M, first, at + 0.5 * WALL_M, last, z)
                    if x > 0 or y > 0:
                        faces += _wall(first, at - 0.5 * WALL_M, last, at + 0.5 * WALL_M, z)
        faces += _level(
            side, 0, side + stair, 20.0, z
        )  # beside it the flights, those of every other storey apart
        if storey + 1 < STOREYS:
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--recast", type=Path)
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


if __name__ == "__main__":
    main()
