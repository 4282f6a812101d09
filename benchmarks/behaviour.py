"""What machines of states cost: the share of `Behave` in the tick of a large crowd.

``python benchmarks/behaviour.py [AGENTS]``: agents with machines of five states (go, rest, patrol, talk,
wander) on a square with a pillar every 30 m, at one agent on two square metres; 100,000 where nothing is
said. The first 45 s are left out, in which all walk to their first place.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from crowdsim.scenario.load import as_scenario
from crowdsim.simulation.simulation import Simulation

WARM, TICKS, TICK_S = 450, 150, 0.1
MACHINE = {
    "states": {
        "walk": {
            "go_to": "g0",
            "lasts": {"uniform": {"low": 20, "high": 60}},
            "then": {"rest": 1, "stroll": 1},
        },
        "rest": {"wait": {"uniform": {"low": 5, "high": 30}}, "then": "stroll"},
        "stroll": {
            "patrol": {"places": ["g1", "g2", "g3", "g4"], "pause": {"uniform": {"low": 0, "high": 5}}},
            "lasts": {"uniform": {"low": 30, "high": 90}},
            "then": "talk",
        },
        "talk": {
            "wait": {"lognormal": {"mu": 2, "sigma": 0.5}},
            "when": [{"signal": "alarm", "to": "walk"}],
            "then": "wander",
        },
        "wander": {
            "wander": {"where": "g5", "pause": 3},
            "lasts": {"uniform": {"low": 20, "high": 50}},
            "then": "walk",
        },
    }
}


def document(agents: int) -> dict[str, Any]:
    """Return the scenario."""
    side, rng = float(np.sqrt(2.0 * agents)), np.random.default_rng(1)
    corners = rng.uniform(0, side - 12, (6, 2)).round(1).tolist()
    pillars = np.arange(15, side - 15, 30).tolist()
    return {
        "version": 1,
        "tick": TICK_S,
        "geometry": {
            "walkable": {"box": [0, 0, side, side]},
            "obstacles": [{"box": [x, y, x + 1, y + 5]} for x in pillars for y in pillars],
        },
        "goals": {
            f"g{number}": {"region": {"box": [x, y, x + 10, y + 10]}} for number, (x, y) in enumerate(corners)
        },
        "behaviours": {"m": MACHINE},
        "groups": [{"name": "c", "count": agents, "behaviour": "m", "region": {"box": [0, 0, side, side]}}],
        "navigation": "mesh",
        "stop": {"after": 1000},
    }


def main() -> None:
    """Print the table."""
    agents = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with Simulation(as_scenario(document(agents)), threads=2) as run:
        for _ in range(WARM):
            run.step()
        before, transitions = run.probes.total.copy(), 0.0
        for _ in range(TICKS):
            run.step()
            transitions += run.counts["transitions"]
        spent = dict(zip(run.probes.names, (run.probes.total - before) / TICKS / 1e6, strict=True))
    tick = sum(spent.values())
    apart = tick - spent["Separate"]  # which depends on how many press into one region
    print("| agents | transitions a tick | Behave, ms | tick, ms | share | of the tick without Separate |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    print(
        f"| {agents:,} | {transitions / TICKS:.0f} | {spent['Behave']:.2f} | {tick:.1f} | "
        f"{spent['Behave'] / tick:.1%} | {spent['Behave'] / apart:.1%} |"
    )


if __name__ == "__main__":
    main()
