"""Halls with connections, for tests."""

from __future__ import annotations

from typing import Any

HALVES = [{"box": [0, 0, 8, 6]}, {"box": [12, 0, 20, 6]}]
WEST, EAST = {"box": [7, 2, 8, 4]}, {"box": [12, 2, 13, 4]}
SHAFT = {"box": [12.4, 3, 14, 5]}


def halves(
    connections: dict[str, Any], groups: list[dict[str, Any]], *, seed: int = 3, **more: Any
) -> dict[str, Any]:
    """Return two halls of 8 by 6 m with a gap of 4 m between them."""
    return {
        "version": 1,
        "name": "halves",
        "seed": seed,
        "tick": 0.1,
        "geometry": {"walkable": HALVES},
        "goals": {
            "east": {"exit": {"box": [19, 2, 20, 4]}},
            "west": {"exit": {"box": [0, 2, 1, 4]}},
        },
        "connections": connections,
        "groups": groups,
        "record": {"rate": 10},
        "stop": {"after": 120},
        **more,
    }


def two(kind: str, **keys: Any) -> dict[str, Any]:
    """Return a connection over the gap."""
    return {kind: {"ends": [{"area": WEST}, {"area": EAST}], **keys}}


def walkers(count: int = 8, *, name: str = "w", goes: str = "east", **more: Any) -> dict[str, Any]:
    """Return a group in the hall from which it goes to the other one."""
    box = [0.5, 0.5, 5, 5.5] if goes == "east" else [15, 0.5, 19.5, 5.5]
    return {"name": name, "count": count, "region": {"box": box}, "goals": goes, **more}


def storeys(
    lifts: dict[str, dict[str, Any]], groups: list[dict[str, Any]], *, floors: int = 3, **more: Any
) -> dict[str, Any]:
    """Return storeys of 14 by 8 m, 3 m apart, with lifts at their east ends."""
    names = [f"s{number}" for number in range(floors)]
    boxes = [{"box": [12.4, 1 + 3 * place, 14, 2.6 + 3 * place]} for place in range(2)]
    return {
        "version": 1,
        "name": "storeys",
        "seed": 4,
        "tick": 0.1,
        "geometry": {
            "storeys": [
                {"name": name, "elevation": 3.0 * number, "walkable": {"box": [0, 0, 14, 8]}}
                for number, name in enumerate(names)
            ]
        },
        "goals": {f"to {name}": {"exit": {"box": [0, 1, 0.5, 7]}, "storey": name} for name in names},
        "connections": {
            name: {"lift": {"stops": [{"area": boxes[place], "storey": each} for each in names], **keys}}
            for place, (name, keys) in enumerate(lifts.items())
        },
        "groups": groups,
        "record": {"rate": 10},
        "stop": {"after": 300},
        **more,
    }


def riders(count: int, begin: int, end: int, *, name: str = "", **more: Any) -> dict[str, Any]:
    """Return a group that goes from a storey to another one."""
    return {
        "name": name or f"from {begin} to {end}",
        "count": count,
        "region": {"box": [1, 1, 8, 7]},
        "storey": f"s{begin}",
        "goals": f"to s{end}",
        **more,
    }
