"""From which points and agents paths keep out of sight, and which points they keep away from."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, make_dataclass

from crowdsim.tunable import NAMES, param


@dataclass(frozen=True)
class WatchParameters:
    """What makes metres dearer for agents that hide, or shun a place."""

    unseen_from: tuple[tuple[float, ...], ...] = param(
        (),
        "m",
        source="[Norberg 2004], section 3",
        why=(
            "points (x, y), with floors (x, y, height), of watchers; metres that they see cost more, so "
            "agents keep behind walls; none where it is empty"
        ),
    )
    exposure: float = param(
        1000.0,
        "",
        low=0.0,
        high=1e6,
        source="[Norberg 2004], section 3",
        why=(
            "cost that each metre in sight of a watcher has more; 1,000 takes a detour of a kilometre for a "
            "metre less in sight, 1 of a metre"
        ),
    )
    shun: tuple[tuple[float, ...], ...] = param(
        (),
        "m",
        source="[Norberg 2004], section 3",
        why=(
            "points (x, y), with floors (x, y, height), to keep away from where there is another path; none "
            "where it is empty"
        ),
    )
    shun_reach: float = param(
        5.0,
        "m",
        above=0.0,
        high=1e4,
        why="distance from such a point at which a metre costs what it always does",
    )
    shun_cost: float = param(
        10.0,
        "",
        low=0.0,
        high=1e6,
        why="cost that a metre has more at such a point, less farther away, as 1 - (d / shun_reach)^2",
    )
    unseen_by: tuple[str, ...] = param(
        (),
        "",
        holds=NAMES,
        is_later=True,
        source="[Norberg 2004], section 3",
        why=(
            "groups whose agents are watchers, wherever they are; paths are asked for anew as they move; "
            "none where it is empty"
        ),
    )
    watch_interval: float = param(
        1.0,
        "s",
        low=0.05,
        high=3600.0,
        is_later=True,
        why=(
            "between two looks at where such watchers are; smaller hides better and searches more often, "
            "larger lets agents walk into the sight of one that has turned a corner"
        ),
    )


# The same for planners that have had it since later: what it says by default is not in older recordings.
LaterWatchParameters = make_dataclass(
    "LaterWatchParameters",
    [
        (each.name, each.type, field(default=each.default, metadata={**each.metadata, "is_later": True}))
        for each in fields(WatchParameters)
    ],
    bases=(),
    frozen=True,
)
