"""What paths on a mesh round stationary agents cost, beside the same requests without them,
by turns in one process.

``python -m benchmarks.stationary_agents plan.wkt``: agents stand at random places of a plan, some of them
together, and others ask for paths.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.mesh.mesh import NavMesh, locate_many
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.search.round_stationary import StationaryParameters
from crowdsim.navigation.search.slot_fields import FOUND_THROUGH_AGENTS
from crowdsim.navigation.stationary.planner import StationaryPlanner

ASKING, GOALS, RADIUS_M, REPEATS = 800, 4, 0.2, 7
STANDING = (0, 50, 500, 2000)
# Agents of one size do not fit between: much more is shut than with the 0.6 of [Pathfinding undated].
SHARE = 1.8


def places(ground: shapely.Geometry, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return places an agent's radius clear of walls."""
    clear = ground.buffer(-RADIUS_M)
    shapely.prepare(clear)
    found = np.zeros((0, 2))
    while len(found) < count:
        tried = rng.uniform(ground.bounds[:2], ground.bounds[2:], (20 * count + 100, 2))
        found = np.concatenate([found, tried[shapely.contains_xy(clear, tried[:, 0], tried[:, 1])]])
    return np.ascontiguousarray(found[:count])


def polygons(mesh: NavMesh, position: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the polygons under places."""
    out = np.empty(len(position), dtype=np.int64)
    locate_many(0, len(position), mesh, position, np.full(len(position), -1, dtype=np.int32), out)
    return out


def main() -> None:
    """Print the table."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m benchmarks.stationary_agents plan.wkt")
    ground = shapely.from_wkt(Path(sys.argv[1]).read_text())
    rng = np.random.default_rng(1)
    mesh = build_mesh(max(shapely.get_parts(ground), key=lambda part: part.area)).mesh
    goals = cut_goals(
        mesh, [GoalShape(shapely.Point(place), reach=0.3) for place in places(ground, GOALS, rng)]
    )
    asking, team = places(ground, ASKING, rng), Team(1)
    request = (
        np.arange(ASKING),
        asking,
        polygons(mesh, asking),
        rng.integers(0, GOALS, ASKING).astype(np.int32),
        np.full(ASKING, RADIUS_M),
    )
    print(
        f"{mesh.polygon_count} polygons, {ASKING} ask for paths to {GOALS} goals, one thread; best of "
        f"{REPEATS}, by turns"
    )
    print(
        "| standing | without them | round them | times | expansions | through them |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    for count in STANDING:
        standing = places(ground, count, rng) if count else np.zeros((0, 2))
        where, best, made, through = polygons(mesh, standing), [np.inf, np.inf], [0, 0], 0
        for _ in range(REPEATS + 1):
            plain = MeshPlanner(mesh, goals)
            for which, planner in enumerate(
                (
                    plain,
                    StationaryPlanner(
                        MeshPlanner(mesh, goals), mesh, goals, StationaryParameters(True, 6.0, SHARE)
                    ),
                )
            ):
                begun = time.perf_counter()
                if isinstance(planner, StationaryPlanner):
                    planner.stand(10_000 + np.arange(count), standing, np.full(count, RADIUS_M), where)
                planner.submit(0, *request)
                answers, made[which] = planner.advance(1 << 40, team)
                best[which] = min(best[which], time.perf_counter() - begun)
            through = int((answers.status == FOUND_THROUGH_AGENTS).sum())
        print(
            f"| {count} | {1e3 * best[0]:.1f} ms | {1e3 * best[1]:.1f} ms | {best[1] / best[0]:.1f} | "
            f"{made[0]:,} and {made[1]:,} | {through} |"
        )
    team.close()


if __name__ == "__main__":
    main()
