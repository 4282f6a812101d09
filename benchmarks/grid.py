"""What finding paths on grids costs: expansions a second, paths a second, what pulling strings adds,
and what sharing saves where all have one goal.

    python benchmarks/grid.py [maze512-32-9.map 16room_000.map ...] [--paths 300]

Without maps of the MovingAI benchmark, three grids of 512 x 512 are made: open, with pillars, and with a
third of the cells blocked. Beside a map its queries are looked for (maze512-32-9.map.scen). Times are those
of the one core that works, without what other programs take of it. `search_peers.py` measures a search beside
that of warthog, in C++.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.cascade import advance_path, begin_path, last_node
from crowdsim.navigation.grid.files import grid_from_map, load_grid
from crowdsim.navigation.grid.obstacles import StationaryDiscs
from crowdsim.navigation.grid.parameters import PathParameters
from crowdsim.navigation.grid.planner import GridPlanner
from crowdsim.navigation.grid.search import make_slots
from crowdsim.navigation.grid.sight import list_cells, pull_taut

REPEATS = 5
RINGS = 8


@lean_kernel
def find_all(slots, ground, need, start, end, nothing, pulls):
    """Find all paths, one after the other; return (expansions, waypoints)."""
    expansions, waypoints = 0, 0
    for i in range(len(start)):
        slots.choice[0, 0, 0], slots.choice[0, 0, 1] = end[i, 0], end[i, 1]
        begin_path(slots, 0, ground, need, start[i, 0], start[i, 1], 1, nothing, RINGS, -1)
        expansions += advance_path(slots, 0, ground, RINGS, 1 << 60)
        node = last_node(slots, 0)
        if pulls and node >= 0:
            waypoints += pull_taut(slots, 0, ground, list_cells(slots, 0, ground, node), 0.0, 0.75)
    return expansions, waypoints


def made(name):
    """Return a grid of 512 x 512 as a map."""
    rng = np.random.default_rng(1)
    blocked = np.zeros((512, 512), dtype=bool)
    if name == "pillars":
        for x, y in rng.integers(0, 500, (600, 2)):
            blocked[y : y + 8, x : x + 8] = True
    elif name == "a third blocked":
        blocked = rng.uniform(size=blocked.shape) < 0.33
    rows = "\n".join("".join("@" if cell else "." for cell in row) for row in blocked)
    return grid_from_map(f"type octile\nheight 512\nwidth 512\nmap\n{rows}\n")


def queries_of(grid, scen, count):
    """Return starts and ends (m): those of a .scen spread over its lengths, or random ones."""
    if scen is not None and scen.exists():
        rows = [line.split() for line in scen.read_text(encoding="utf-8").split("\n")[1:] if line.strip()]
        cells = (
            np.array([[int(value) for value in row[4:8]] for row in rows[:: max(1, len(rows) // count)]])
            + 0.5
        )
        cells[:, 1::2] = grid.depth - cells[:, 1::2]
        return cells[:, :2].copy(), cells[:, 2:].copy()
    row, column = np.nonzero(grid.walkable(0.0))
    chosen = np.random.default_rng(2).integers(0, len(row), (2, count))
    return tuple(np.column_stack([column[part], row[part]]) + 0.5 for part in chosen)


def best_of(work):
    """Return the least time (s) of this process over some runs;
    the first, which may compile, does not count.
    """
    work()
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def report(name, grid, start, end):
    """Print the figures of one grid."""
    slots, count = make_slots(1, (grid.width + 2) * (grid.depth + 2)), len(start)
    arguments = slots, grid.ground, grid.need(0.0), start, end, StationaryDiscs(np.zeros((0, 3)), 0, 0, 1.0)
    expansions, waypoints = find_all(*arguments, True)
    search, pulled = best_of(lambda: find_all(*arguments, False)), best_of(lambda: find_all(*arguments, True))
    planner, team = GridPlanner(grid, end), Team(1)

    def plan():
        planner.submit(
            0, np.arange(count), start, np.full(count, -1), np.arange(count, dtype=np.int32), np.zeros(count)
        )
        planner.advance(1 << 60, team)

    def plan_for_one_goal(share):
        def work():
            one = GridPlanner(grid, end[:1], PathParameters(share_searches=share))
            one.submit(
                0,
                np.arange(count),
                start,
                np.full(count, -1),
                np.zeros(count, dtype=np.int32),
                np.zeros(count),
            )
            work.expansions = one.advance(1 << 60, team)[1]

        return best_of(work), work.expansions

    planned = best_of(plan)
    (alone, looked_alone), (shared, looked) = plan_for_one_goal(False), plan_for_one_goal(True)
    print(
        f"{name}: {grid.width} x {grid.depth}, {count} paths of {expansions / count:.0f} expansions and "
        f"{waypoints / count:.1f} waypoints"
    )
    print(
        f"  search    {expansions / search / 1e6:6.1f} million expansions a second, "
        f"{1e9 * search / expansions:.0f} ns each"
    )
    print(f"  strings   {100.0 * (pulled / search - 1.0):6.0f} % on top, {count / pulled:.0f} paths a second")
    print(
        f"  planner   {count / planned:6.0f} paths a second, {expansions / planned / 1e6:.1f} million "
        "expansions a second"
    )
    print(
        f"  one goal  {alone / shared:6.1f} times as fast shared, {looked / count:.0f} expansions each "
        f"instead of {looked_alone / count:.0f}"
    )


def main():
    """Read the arguments and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("maps", nargs="*", type=Path)
    parser.add_argument("--paths", type=int, default=300)
    given = parser.parse_args()
    for path in given.maps:
        grid = load_grid(path)
        report(path.stem, grid, *queries_of(grid, path.with_suffix(".map.scen"), given.paths))
    for name in () if given.maps else ("open", "pillars", "a third blocked"):
        grid = made(name)
        report(name, grid, *queries_of(grid, None, given.paths))


if __name__ == "__main__":
    main()
