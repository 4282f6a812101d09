"""Game maps as ground: shortest ways are the same over triangles, polygons and points of visibility,
and never longer than the grid's optimum ([Cui 2012]).
"""

from functools import cache

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.search.slot_fields import FOUND
from crowdsim.navigation.visibility.planner import VisibilityPlanner
from tests.external.test_movingai import benchmark
from tests.navigation.worlds import located, point_goals

MAPS = ("arena", "den203d", "arena2", "lak303d")


@cache
def ground_of(name):
    """Return the walkable cells of a map in one piece of geometry."""
    grid = benchmark(name)[0]
    runs = []
    for row, free in enumerate(grid.walkable(0.0)):
        ends = np.flatnonzero(np.diff(np.concatenate([[0], free.astype(np.int8), [0]])))
        runs += [
            shapely.box(grid.x + a, grid.y + row, grid.x + b, grid.y + row + 1)
            for a, b in ends.reshape(-1, 2).tolist()
        ]
    return shapely.simplify(shapely.union_all(runs), 0.0)


def lengths(mesh, kind, starts, ends):
    """Return how long the taut strings through a planner's corridors are."""
    goals, rows = point_goals(mesh, ends), np.arange(len(starts))
    planner = VisibilityPlanner(mesh, goals) if kind == "visibility" else MeshPlanner(mesh, goals, kind=kind)
    polygon = located(mesh, starts)
    planner.submit(0, rows, starts, polygon, rows.astype(np.int32), np.zeros(len(starts)))
    answers, _ = planner.advance(1 << 60, Team(1))
    assert (answers.status == FOUND).all()
    out, ahead = np.empty(len(starts)), np.diff(answers.start).astype(np.int32)
    measure_corridors(
        mesh,
        goals,
        answers.portals,
        answers.start[:-1].copy(),
        ahead,
        polygon,
        answers.piece,
        starts,
        np.zeros(len(starts)),
        out,
    )
    return out


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", MAPS)
def test_shortest_ways_are_those_of_every_optimal_planner_on_either_mesh_and_no_longer_than_the_grids(name):
    _, starts, ends, optimum = benchmark(name)
    chosen = np.random.default_rng(0).permutation(len(starts))[:60]
    starts, ends, optimum = starts[chosen].copy(), ends[chosen].copy(), optimum[chosen]
    meshes = {
        cells: build_mesh(ground_of(name), parameters=MeshParameters(faces=cells)).mesh
        for cells in ("polygons", "triangles")
    }
    best = lengths(meshes["polygons"], "optimal", starts, ends)
    assert lengths(meshes["triangles"], "optimal", starts, ends) == pytest.approx(best, rel=1e-9)
    assert lengths(meshes["polygons"], "visibility", starts, ends) == pytest.approx(best, rel=1e-9)
    assert (best >= np.hypot(*(ends - starts).T) - 1e-9).all()
    assert (best <= optimum + 1e-4 * (1.0 + optimum)).all() and best.sum() < 0.99 * optimum.sum()
    for mesh in meshes.values():
        own = lengths(mesh, "mesh", starts, ends)
        assert (own >= best * (1.0 - 1e-9)).all() and own.mean() < 1.05 * best.mean()
