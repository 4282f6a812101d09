"""A square with columns that agents cross in four directions, as a scenario, and the same agents in RVO2."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from crowdsim.simulation.simulation import Simulation

TICK = 0.05  # s


def document(agents: int, seed: int = 1) -> str:
    """Return a square with columns, so many agents at random places,
    and goals at its four sides and in the middle.
    """
    side = float(np.sqrt(agents))
    columns = [
        {"box": [x, y, x + 0.8, y + 0.8]}
        for x in np.arange(10.0, side - 5, 20.0).tolist()
        for y in np.arange(10.0, side - 5, 20.0).tolist()
    ]
    strip = {
        "west": [0, 0, 2, side],
        "east": [side - 2, 0, side, side],
        "south": [2, 0, side - 2, 2],
        "north": [2, side - 2, side - 2, side],
    }
    box = {name: [[a, b], [c, b], [c, d], [a, d]] for name, (a, b, c, d) in strip.items()}
    return json.dumps(
        {
            "version": 1,
            "name": f"square-{agents}",
            "seed": seed,
            "tick": TICK,
            "stop": {"after": 600},
            "geometry": {"walkable": [[0, 0], [side, 0], [side, side], [0, side]], "obstacles": columns},
            "goals": {name: {"region": shape} for name, shape in box.items()},
            "groups": [
                {
                    "name": name,
                    "count": agents // 4,
                    "goals": [name],
                    "radius": {"uniform": {"low": 0.2, "high": 0.25}},
                    "leave_on_arrival": False,
                }
                for name in box
            ],
            "avoidance": {
                "model": "orca",
                "neighbour_count": 10,
                "neighbour_distance": 5.0,
                "time_horizon": 5.0,
            },
            "record": {"rate": 10},
        }
    )


def rvo2_of(simulation: Simulation) -> Any:
    """Return RVO2 with the agents of a simulation."""
    import pyrvo

    agents = simulation.agents
    rvo = pyrvo.RVOSimulator()
    rvo.set_time_step(TICK)
    rvo.set_agent_defaults(5.0, 10, 5.0, 0.5, 0.2, 2.0)
    for row in range(len(agents)):
        rvo.add_agent(agents.position[row].tolist())
        rvo.set_agent_radius(row, float(agents.radius[row]))
        rvo.set_agent_max_speed(row, float(agents.maximum_speed[row]))
    return rvo
