"""The numbers of the grid world, with the defaults of [Pathfinding undated], section 10;
where ours are others, `DocumentPathParameters` has its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from crowdsim.navigation.goals.targets import TargetParameters
from crowdsim.navigation.search.heuristic_weight import HeuristicParameters
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.tunable import param


@dataclass(frozen=True)
class CellParameters:
    """How ground is cut into cells."""

    cell_size: float = param(
        0.4,
        "m",
        above=0.0,
        source="[Pathfinding undated], section 1",
        why="finds doors of an agent's width plus one cell; larger is faster and misses narrow doors",
    )
    object_padding: float = param(
        0.25,
        "m",
        low=0.0,
        source="[Pathfinding undated], section 1",
        why="added to every radius around obstacles, so that paths do not graze them; larger closes gaps",
    )
    boundary_padding: float = param(
        0.0,
        "m",
        low=0.0,
        source="[Pathfinding undated], section 1",
        why=(
            "inward erosion of each area from its own edges; above 0, rooms are connected only where their "
            "areas overlap"
        ),
    )


@dataclass(frozen=True)
class GridParameters(CellParameters):
    """How a grid is made, where agents do not bring a radius of their own."""

    agent_radius: float = param(
        0.45,
        "m",
        low=0.0,
        source="[Pathfinding undated], section 1",
        why=(
            "half the width of an agent without a radius of its own; larger keeps paths farther from "
            "obstacles"
        ),
    )
    floor_height: float = param(
        0.0,
        "m",
        source="[Pathfinding undated], section 1 (floorY)",
        why="height of the ground as files of grids note it; in scenarios storeys have heights",
    )
    widest_body: float = param(
        1.0,
        "m",
        above=0.0,
        why=(
            "radius up to which distances to obstacles are measured; larger takes longer to build, wider "
            "agents are refused"
        ),
    )


@dataclass(frozen=True)
class PathParameters(HeuristicParameters, ShareParameters):
    """How paths are looked for."""

    heuristic: str = param(
        "octile",
        "",
        choices=("euclidean", "octile", "zero"),
        source="[Harabor 2011]",
        why="what is left of a path is taken for the path over cells without obstacles; euclidean, for the "
        "straight line, which is shorter and so expands more; "
        "zero is Dijkstra's search, which looks everywhere; paths are as short with each",
    )

    agent_radius: float = param(
        0.0,
        "m",
        low=0.0,
        source="[Pathfinding undated], section 1 (0.45 m, the default of s2-grid)",
        why="half the width that paths are looked for with, for all agents; 0 is each agent's own, so that "
        "none is sent where it does not fit or round gaps "
        "that it fits through; larger keeps all agents farther from walls and shuts doors",
    )
    keep_off_edges: bool = param(
        True,
        "",
        source="[Pathfinding undated], section 2 (off, the default of s2-grid)",
        why="on, paths keep an agent's radius from the edges of the ground, which are walls in a scenario; "
        "off, cells are walkable up to the edge, as for "
        "s2-grid, where obstacles alone are kept off: more doors are open, and agents brush along walls",
    )
    snap_distance: float = param(
        8.0,
        "m",
        low=0.0,
        source="[Pathfinding undated], section 3",
        why="how far off the ground a start or a goal may lie; larger accepts points farther out",
    )
    first_waypoint_trim: float = param(
        0.75,
        "cells",
        low=0.0,
        source="[Pathfinding undated], section 3",
        why=(
            "a first waypoint this near is left out: its agent is there; 0.75 covers all of the agent's own "
            "cell"
        ),
    )
    sight: str = param(
        "exact",
        "",
        choices=("exact", "sampled"),
        source="[Pathfinding undated], section 4",
        why=(
            "how a line of sight is checked: exact takes every cell it crosses, sampled only those under "
            "points of it, so that it may graze a corner"
        ),
    )
    sight_step: float = param(
        0.5,
        "cells",
        above=0.0,
        high=1.0,
        source="[Pathfinding undated], section 4",
        why="distance of the points of a sampled line of sight; smaller misses less and costs more",
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
        source="[Pathfinding undated], section 6 (kDynamicObstacleRadiusFraction)",
        why=(
            "share of a stationary agent's collision radius that is blocked; larger walks round wider and "
            "finds doors shut more often"
        ),
    )


@dataclass(frozen=True)
class DocumentPathParameters(PathParameters):
    """How [Pathfinding undated] itself looks for paths, the planner `s2-grid`:
    for one width of all agents, and with sampled lines of sight.
    """

    agent_radius: float = param(
        0.45,
        "m",
        low=0.0,
        source="[Pathfinding undated], section 1",
        why=(
            "half the width that paths are looked for with, for all agents; larger keeps them farther from "
            "walls and shuts doors, 0 is each agent's own"
        ),
    )
    keep_off_edges: bool = param(
        False,
        "",
        source="[Pathfinding undated], section 2",
        why=(
            "off, cells are walkable up to the edges of areas, which boundary_padding alone moves inwards; "
            "on, paths keep an agent's radius from them, too"
        ),
    )
    sight: str = param(
        "sampled",
        "",
        choices=("exact", "sampled"),
        source="[Pathfinding undated], section 4",
        why=(
            "how a line of sight is checked: sampled looks under points of it only, so that it may graze a "
            "corner, exact takes every cell it crosses"
        ),
    )
    heuristic: str = param(
        "euclidean",
        "",
        choices=("euclidean", "octile", "zero"),
        source="[Pathfinding undated], section 3",
        why="what is left of a path is taken for the straight line; octile, for the path over cells without "
        "obstacles, which is longer and so expands less; zero looks everywhere; paths are as short with each",
    )
    share_searches: bool = param(
        False,
        "",
        source="[Pathfinding undated], section 3",
        why="off, every agent searches by itself; on, one backward search from a goal draws the searches of "
        "all agents that go there: paths are "
        "as short, of equally short ones another may be taken",
    )


@dataclass(frozen=True)
class WalkParameters(TargetParameters):
    """How waypoints are followed."""

    waypoint_reached: float = param(
        0.05,
        "m",
        low=0.0,
        source="[Pathfinding undated], section 7 (WALK_THRESHOLD)",
        why="a waypoint nearer than this is reached; larger cuts corners, smaller is missed by pushes",
    )
