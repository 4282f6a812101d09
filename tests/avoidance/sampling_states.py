"""What agents of a view see, for the naive twin of the sampling models."""

import math

import numpy as np

from tests.reference import sampled as twin
from tests.reference.orca import walls_in_sight


def as_dicts(view):
    """Agents as the twin takes them; preferred velocities not faster than allowed."""
    agents = []
    for i in range(len(view.entity)):
        wish, speed = tuple(view.preferred_velocity[i].tolist()), float(view.maximum_speed[i])
        factor = min(1.0, speed / math.hypot(*wish)) if wish != (0.0, 0.0) else 1.0
        agents.append(
            {
                "entity": int(view.entity[i]),
                "position": tuple(view.position[i].tolist()),
                "velocity": tuple(view.velocity[i].tolist()),
                "shown": wish,
                "preferred": (wish[0] * factor, wish[1] * factor),
                "radius": float(view.radius[i]),
                "speed": speed,
                "active": int(view.active[i]),
                "layer": int(view.layer[i]),
            }
        )
    return agents


def states(view, numbers, *, count=8, distance=5.0, rows=None):
    """(row, state) of active agents of a view, found by brute force."""
    agents = as_dicts(view)
    for me in range(len(agents)) if rows is None else rows:
        agent = agents[me]
        if not agent["active"]:
            continue
        gaps = [
            (math.dist(agent["position"], other["position"]), k)
            for k, other in enumerate(agents)
            if k != me and other["layer"] == agent["layer"]
        ]
        near = [
            {**agents[k], "preferred": agents[k]["shown"]}
            for gap, k in sorted(gaps)[:count]
            if gap < distance
        ]
        zone = view.zone[me]
        listed = view.walls.zone_wall[view.walls.zone_start[zone] : view.walls.zone_start[zone + 1]]
        seen = walls_in_sight(
            view.walls,
            listed.tolist(),
            agent["position"],
            agent["speed"] * numbers.time_horizon_walls + agent["radius"],
        )
        yield (
            me,
            twin.state_of(
                {**agent, "position": np.array(agent["position"])}, near, view.walls, seen, numbers
            ),
        )
