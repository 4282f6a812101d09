"""Agents that change their radius during a run:
what has to follow, and which paths have become too narrow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED
from crowdsim.setup.build import WALL_REACH_MARGIN_M, Built, model_reach
from crowdsim.systems.paths.lost_paths import forget_path, lose_paths
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import EventKind


def set_radii(built: Built, rows: NDArray[np.intp], radius: ArrayLike) -> None:
    """Give agents other radii; those with a portal ahead that is too narrow now, or without a path, ask anew.

    Parameters
    ----------
    built : Built
    rows : (k,) int
        Of the agents in the world.
    radius : float or (k,) float, m

    Raises
    ------
    CrowdsimError
        If a radius is not positive, or so small that others could jump over the agent, or wider than the
        ground was prepared for.
    """
    world, agents, plan = built.world, built.world.agents, built.world.planning
    wanted = _checked(built, rows, radius)
    before = agents.radius[rows]
    changed = wanted != before
    rows, wanted, before = rows[changed], wanted[changed], before[changed]
    if not len(rows):
        return
    agents.radius[rows] = wanted
    widest = float(agents.radius[: world.agent_count].max())
    fastest = float(built.agents.desired_speed.max()) if len(built.agents) else 0.0
    world.reach_walls(model_reach(built.scenario, fastest) + widest + WALL_REACH_MARGIN_M)
    agents.wall_distance[rows] = 0.0  # that bound is of another radius
    agents.neighbour_reach[rows] = np.inf
    agents.corner_vertex[rows] = NOT_CACHED
    hopeless = (
        (agents.activity[rows] == AgentState.STANDING)
        & (agents.goal[rows] >= 0)
        & (agents.path_status[rows] != PathStatus.NONE)
    )
    asks = hopeless | (agents.path_status[rows] == PathStatus.PENDING)
    found = np.flatnonzero((agents.path_status[rows] != PathStatus.NONE) & ~asks)
    for paths in plan.paths:
        for place in found[paths.mine()[rows[found]]].tolist():
            asks[place] = paths.too_narrow(int(rows[place]), float(wanted[place]), float(before[place]))
    agents.activity[rows[hopeless]] = AgentState.WALKING
    again = rows[asks]
    lose_paths(agents, again)
    forget_path(agents, again)
    agents.guessed[again] = -1
    plan.forget(agents.entity[again])
    for paths in plan.paths:
        paths.forget_targets(again)
    world.events.note(
        world.tick + 1,
        EventKind.RADIUS_SET,
        agents.entity[rows],
        agents.position[rows],
        np.rint(1000.0 * wanted).astype(np.int64),
    )


def _checked(built: Built, rows: NDArray[np.intp], radius: ArrayLike) -> NDArray[np.float64]:
    """Return the radii that are wanted, if they can be."""
    agents = built.world.agents
    try:
        wanted = np.broadcast_to(np.asarray(radius, dtype=np.float64), (len(rows),)).copy()
    except (TypeError, ValueError):
        raise CrowdsimError(
            f"{len(rows)} agents need one radius or {len(rows)}, in metres, but {str(radius)[:60]} was given."
        ) from None
    if not len(wanted):
        return wanted
    if not np.all(wanted > 0.0) or not np.all(np.isfinite(wanted)):
        raise CrowdsimError(
            f"a radius of {wanted[~(wanted > 0.0) | ~np.isfinite(wanted)][0]:g} m is none; give a positive "
            "length in metres."
        )
    tick = built.scenario.tick
    step = agents.desired_speed[rows] * tick
    thin = np.flatnonzero(2.0 * wanted < step)
    if len(thin):
        place = thin[0]
        raise CrowdsimError(
            f"{built.agents.label[int(agents.entity[rows[place]]) - 1]} walks {step[place]:.3g} m in a tick "
            f"of {tick:g} s, farther than an agent of radius "
            f"{wanted[place]:g} m is wide: others would jump over it. Make the radius at least "
            f"{step[place] / 2.0:.3g} m, or the tick shorter."
        )
    widest, place = float(wanted.max()), int(np.argmax(wanted))
    limit = float(built.mesh_build.parameters.widest_body)
    if widest > limit:
        raise CrowdsimError(
            f"a radius of {widest:g} m is wider than the mesh was made for ({limit:g} m). Set "
            f"navigation.widest_body of the scenario to {widest:g} or more."
        )
    for paths in built.world.planning.paths:
        mine = paths.mine()[rows]
        if mine.any() and float(wanted[mine].max()) > paths.widest_agent:
            place = int(np.flatnonzero(mine)[np.argmax(wanted[mine])])
            raise CrowdsimError(
                f"{built.agents.label[int(agents.entity[rows[place]]) - 1]} finds its path on a grid, which "
                "knows distances for radii up to "
                f"{paths.widest_agent:g} m, not {wanted[place]:g} m. Take navigation: mesh for its group, "
                "which serves any radius."
            )
    return wanted
