"""A program that steers a run, as tests need it: what it does after a tick follows from the tick and from
the agents that are there. As a process of its own it can be killed in the middle.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from crowdsim.errors import CrowdsimError
from crowdsim.simulation.simulation import Simulation

CART = {"polygon": [[-0.4, -0.3], [0.4, -0.3], [0.4, 0.3], [-0.4, 0.3]]}


def hall(avoidance: str = "orca", navigation: Any = "mesh", **more: Any) -> dict[str, Any]:
    """Return a hall with a wall across, a gate in it that can be closed, and a second one that stays open."""
    return {
        "version": 1,
        "name": "steered",
        "seed": 11,
        "geometry": {
            "walkable": {"box": [0, 0, 16, 10]},
            "obstacles": [{"box": [7.5, 2, 8.5, 4]}, {"box": [7.5, 6, 8.5, 10]}],
            "areas": [{"name": "gate", "area": {"box": [7.6, 4, 8.4, 6]}}],
        },
        "goals": {
            "west": {"region": {"box": [0.5, 0.5, 4, 9.5]}},
            "east": {"region": {"box": [12, 0.5, 15.5, 9.5]}},
            "corner": {"point": [14, 8]},
        },
        "groups": [
            {
                "name": "a",
                "count": 6,
                "reserve": 40,
                "leave_on_arrival": False,
                "region": {"box": [0, 0, 7, 10]},
                "goals": "east",
            },
            {
                "name": "b",
                "count": 6,
                "leave_on_arrival": False,
                "region": {"box": [9, 0, 16, 10]},
                "goals": "west",
            },
        ],
        "avoidance": avoidance,
        "navigation": navigation,
        "record": {"rate": 2},
        "stop": {"after": 100, "when": "never"},
        **more,
    }


def act(run: Simulation) -> None:
    """Do what the program does after a tick; nothing in most of them."""
    tick, agents = run.tick, run.agents
    draws = np.random.default_rng([7, tick])
    some = np.sort(draws.choice(agents.entity, size=min(4, len(agents)), replace=False))
    if tick % 20 == 3:
        run.set_goal(some, ["west", "east", "corner", None][tick // 20 % 4])
    if tick % 40 == 33:
        run.set_goal(some, draws.uniform((0.5, 0.5), (7.0, 9.5), (len(some), 2)))
    if tick % 90 == 37:
        run.set_goal(some, {"region": {"box": [9 + tick % 4, 4, 12 + tick % 4, 9]}})
    if tick % 90 == 82:
        run.set_goal(some, {"point": [14, 2], "arrive_within": 0.5})
    if tick % 50 == 11:
        run.set_radius(some, draws.uniform(0.15, 0.3, len(some)))
    if tick % 50 == 21:
        run.set_preferred_velocity(some, draws.uniform(-1.0, 1.0, (len(some), 2)))
    if tick % 50 == 31:
        run.set_preferred_velocity(agents.entity, None)
    if tick % 60 == 17:
        run.set_speed(some, draws.uniform(0.5, 2.5, len(some)))
    if tick % 60 == 27:
        run.hold(some)
    if tick % 60 == 57:
        run.hold(agents.entity, held=False)
    if tick % 70 == 19 and len(agents) > 6:
        run.switch_off(some[:2])
        run.remove_agents(some[2])
    if tick % 70 == 49:
        off = run.world.outside["entity"][run.world.outside["was_in"] == 1]
        for entity in off.tolist():
            with contextlib.suppress(CrowdsimError):
                run.switch_on(entity)
    if tick % 35 == 29:
        with contextlib.suppress(CrowdsimError):
            run.add_agents("a", draws.uniform((0.0, 0.0), (7.0, 10.0)))
    if tick % 30 == 13:
        for entity in some:
            with contextlib.suppress(CrowdsimError):  # where there is no room it stays
                run.move_agents(entity, draws.uniform((0.0, 0.0), (16.0, 10.0)))
    if tick % 100 == 41:
        run.set_area_available("gate", tick % 200 > 100)
    if tick % 200 == 51:
        run.put_obstacle(f"cart {tick}", CART, [2.0, 1.2], stands_after=1.0)
    if tick % 200 == 61:
        run.move_obstacle(f"cart {tick - 10}", [[5.0, 1.2], [5.0, 7.0]], 0.8)
    if tick % 200 == 191:
        run.remove_obstacle(f"cart {tick - 140}")


def go_on(run: Simulation, ticks: int) -> Simulation:
    """Step until a tick; the program acts after each, and before the first."""
    if run.tick == 0:
        act(run)
    while run.tick < ticks:
        run.step()
        act(run)
    return run


def main(out: str, ticks: str, checkpoint: str, *models: str) -> None:
    """Record a run of so many ticks with a checkpoint at one of them; then be killed."""
    run = Simulation(hall(*models), out=out)
    assert run.recorder is not None
    run.recorder.writer.flush_seconds = 0.0
    go_on(run, int(checkpoint)).checkpoint()
    go_on(run, int(ticks))
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main(*sys.argv[1:])
