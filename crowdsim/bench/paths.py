"""Paths through a hall of pillars: ours beside those of JuPedSim's router, between the same points."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

HALL_M, PILLARS, WIDE_M = 50.0, 300, 0.6


def pillar_hall(seed: int = 1) -> Any:
    """Return a square hall with pillars that are turned at random, as a polygon."""
    rng = np.random.default_rng(seed)
    half = WIDE_M / 2.0
    boxes = []
    for _ in range(PILLARS):
        x, y = rng.uniform(1.0, HALL_M - 1.0, 2)
        boxes.append(
            shapely.affinity.rotate(
                shapely.box(x - half, y - half, x + half, y + half), rng.uniform(0.0, 90.0)
            )
        )
    ground = shapely.box(0.0, 0.0, HALL_M, HALL_M).difference(shapely.union_all(boxes))
    return max(shapely.get_parts(ground), key=lambda part: part.area)


def points_in(ground: Any, count: int, seed: int = 2) -> NDArray[np.float64]:
    """Return points of a ground, 5 cm clear of walls, (count, 2) float64, m."""
    inner, rng = shapely.buffer(ground, -0.05), np.random.default_rng(seed)
    shapely.prepare(inner)
    found = np.zeros((0, 2))
    while len(found) < count:
        some = rng.uniform(0.0, HALL_M, (2 * count, 2))
        found = np.concatenate([found, some[shapely.contains_xy(inner, some)]])
    return found[:count]


def our_paths(
    ground: Any, begin: NDArray[np.float64], end: NDArray[np.float64]
) -> Callable[[], NDArray[np.float64]]:
    """Return a function that finds the paths of points without width and returns their lengths, (n,) float64,
    m: search, and the string pulled tight.
    """
    from crowdsim.navigation.planning.mesh_planner import usual_planner
    from crowdsim.navigation.planning.portals import FoundCorridors
    from crowdsim.navigation.planning.protocol import Asked
    from crowdsim.scenario.load import parse_scenario
    from crowdsim.setup.build import build_world

    agents = [
        {"position": place, "goals": {"point": goal, "arrive_within": 0.01}}
        for place, goal in zip(begin.tolist(), end.tolist(), strict=True)
    ]
    groups = [{"name": "all", "agents": agents, "radius": 0.04}]
    text = {
        "version": 1,
        "tick": 0.01,
        "geometry": {"walkable": {"wkt": shapely.to_wkt(ground, 9)}},
        "groups": groups,
    }
    built = build_world(parse_scenario(json.dumps(text), file="bench"))
    goal = np.array(
        [built.world.itineraries[number].goals[0] for number in built.agents.itinerary.tolist()],
        dtype=np.int32,
    )
    mesh, goals = built.world.mesh, built.world.goals
    asked = Asked(mesh, goals, built.agents.position, built.polygon, goal, np.zeros(len(goal)))
    return lambda: FoundCorridors(usual_planner(mesh, goals), asked).lengths()


def jupedsim_paths(
    ground: Any, begin: NDArray[np.float64], end: NDArray[np.float64]
) -> Callable[[], NDArray[np.float64]]:
    """Return a function that finds the same paths with JuPedSim's router."""
    import jupedsim

    router = jupedsim.RoutingEngine(ground)
    pairs = [(tuple(a), tuple(b)) for a, b in zip(begin.tolist(), end.tolist(), strict=True)]

    def find() -> NDArray[np.float64]:
        paths = [np.array(router.compute_waypoints(a, b)) for a, b in pairs]
        return np.array([float(np.hypot(*np.diff(path, axis=0).T).sum()) for path in paths])

    return find
