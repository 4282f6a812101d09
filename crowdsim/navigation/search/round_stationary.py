"""Whether paths on a mesh lead round stationary agents, and which of them."""

from __future__ import annotations

from dataclasses import dataclass

from crowdsim.tunable import param


@dataclass(frozen=True)
class StationaryParameters:
    """What searches on a mesh know of stationary agents."""

    round_stationary: bool = param(
        False,
        "",
        source="[Pathfinding undated], sections 5 and 6",
        why="on, paths lead round stationary agents, between corners as far as a local grid sees, and "
        "through them only where there is no other; off, "
        "paths know of walls alone and avoidance and nudging do the rest",
    )
    obstacle_reach: float = param(
        6.0,
        "m",
        low=0.0,
        source="[Pathfinding undated], section 6 (kDynamicObstacleInfluenceDist)",
        why=(
            "stationary agents this near to the straight line to the goal are walked around; larger knows "
            "of more of them and costs more"
        ),
    )
    obstacle_radius_share: float = param(
        0.6,
        "",
        low=0.0,
        high=20.0,
        source="[Pathfinding undated], section 6 (kDynamicObstacleRadiusFraction)",
        why=(
            "share of a stationary agent's collision radius in which no centre of another may be; larger "
            "walks round wider and finds doors shut more often"
        ),
    )
