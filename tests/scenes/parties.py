"""Scenes of parties, and what their members do: from recorded places, in a few lines that share nothing with
the program.
"""

from __future__ import annotations

import numpy as np

from crowdsim import open_run

MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]
PLANNERS = [
    "optimal",
    "mesh",
    "visibility",
    "grid",
    {"kind": "mesh", "tile_size": 4},
    {"kind": "hierarchical", "area_size": 3},
]


def corridor(width, together, *, length=50, count=12, seed=1, **more):
    """Return a corridor along x through which one group goes."""
    group = {
        "name": "f",
        "count": count,
        "region": {"box": [1, 0.1, 12, width - 0.1]},
        "goals": "out",
        "together": together,
        **more.pop("group", {}),
    }
    return {
        "version": 1,
        "seed": seed,
        "tick": 0.1,
        "geometry": {"walkable": {"box": [0, 0, length, width]}},
        "goals": {"out": {"exit": {"box": [length - 1, 0, length, width]}}},
        "groups": [group],
        "record": {"rate": 5},
        "stop": {"after": 200},
        **more,
    }


def party_places(path):
    """Return by party and frame: times (s), entities, and places (members, 2), m."""
    with open_run(path) as kept:
        moves = kept.trajectories(columns=["x", "y", "party"])
    rate = moves.attrs["fps"]
    found = {}
    for party, own in moves.groupby("party"):
        if party >= 0:
            found[int(party)] = [
                (frame / rate, each["id"].to_numpy(), each[["x", "y"]].to_numpy())
                for frame, each in own.groupby("frame")
            ]
    return found


def neighbours_abreast(places, step):
    """Return how far members stand apart along and across the direction of a step, (pairs, 2), m: each from
    the next across.
    """
    ux, uy = step / np.hypot(*step)
    turned = places @ np.array([[ux, -uy], [uy, ux]])
    by_side = turned[np.argsort(turned[:, 1], kind="stable")]
    return np.abs(np.diff(by_side, axis=0))
