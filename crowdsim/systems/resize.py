"""Agents that change their radius or their speed during a run:
what has to follow, and which paths have become too narrow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED
from crowdsim.setup.build import WALL_REACH_MARGIN_M, Built, model_reach
from crowdsim.systems.paths.lost_paths import forget_path, lose_paths
from crowdsim.world.columns import MOST_SPEED_M_S, AgentState, PathStatus
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
    reach_walls(built)
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


def reach_walls(built: Built) -> None:
    """List walls as far as the widest and the fastest agent heed them."""
    world, count = built.world, built.world.agent_count
    fastest = max(
        built.agents.desired_speed.max(initial=0.0), world.agents.desired_speed[:count].max(initial=0.0)
    )
    widest = float(world.agents.radius[:count].max(initial=0.0))
    world.reach_walls(model_reach(built.scenario, float(fastest)) + widest + WALL_REACH_MARGIN_M)


def set_speeds(built: Built, rows: NDArray[np.intp], speed: ArrayLike) -> None:
    """Let agents like other speeds; avoidance may use more where that is faster than they ever liked.

    Parameters
    ----------
    built : Built
    rows : (k,) int
        Of the agents in the world.
    speed : float or (k,) float, m/s

    Raises
    ------
    CrowdsimError
        If a speed is not positive, too high to be taken, or so high that others could jump over the agent.
    """
    agents = built.world.agents
    wanted = _one_for_each(rows, speed, "speed", "metres a second")
    if not len(wanted):
        return
    top = float(built.scenario.bodies.values["top_speed"])
    wrong = ~((wanted > 0.0) & (wanted * top <= MOST_SPEED_M_S))
    if np.any(wrong):
        raise CrowdsimError(
            f"a speed of {wanted[wrong][0]:g} m/s is none; give one above 0, of at most "
            f"{MOST_SPEED_M_S / top:g} m/s. `hold` lets agents stand."
        )
    tick = built.scenario.tick
    jumps = np.flatnonzero(wanted * tick > 2.0 * agents.radius[rows])
    if len(jumps):
        place = jumps[0]
        name = built.names.of(int(agents.entity[rows[place]]))
        wide = 2.0 * float(agents.radius[rows[place]])
        raise CrowdsimError(
            f"{name} would walk {wanted[place] * tick:.3g} m in a tick of {tick:g} s, farther than it is "
            f"wide ({wide:.3g} m): others would jump over it. Its speed may be up to {wide / tick:.3g} m/s, "
            "or make the tick shorter."
        )
    agents.desired_speed[rows] = wanted
    agents.maximum_speed[rows] = np.maximum(agents.maximum_speed[rows], wanted * top)
    reach_walls(built)


def _one_for_each(rows: NDArray[np.intp], value: ArrayLike, what: str, unit: str) -> NDArray[np.float64]:
    """Return a number for each of some agents, from one for all or one for each."""
    try:
        return np.broadcast_to(np.asarray(value, dtype=np.float64), (len(rows),)).copy()
    except (TypeError, ValueError):
        raise CrowdsimError(
            f"{len(rows)} agents need one {what} or {len(rows)}, in {unit}, but {str(value)[:60]} was given."
        ) from None


def _checked(built: Built, rows: NDArray[np.intp], radius: ArrayLike) -> NDArray[np.float64]:
    """Return the radii that are wanted, if they can be."""
    agents = built.world.agents
    wanted = _one_for_each(rows, radius, "radius", "metres")
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
            f"{built.names.of(int(agents.entity[rows[place]]))} walks {step[place]:.3g} m in "
            f"a tick of {tick:g} s, farther than an agent of radius "
            f"{wanted[place]:g} m is wide: others would jump over it. Make the radius at least "
            f"{step[place] / 2.0:.3g} m, or the tick shorter."
        )
    require_radii(built, agents.entity[rows], agents.group[rows], wanted)
    return wanted


def require_radii(
    built: Built, entity: NDArray[np.int64], group: NDArray[np.int32], wanted: NDArray[np.float64]
) -> None:
    """Raise CrowdsimError where agents, (k,), of some groups, (k,), are to have radii, (k,) m, that the
    ground, or the planner of one of them, was not prepared for.
    """
    widest = float(wanted.max(initial=0.0))
    limit = float(built.mesh_build.parameters.widest_body)
    if widest > limit:
        raise CrowdsimError(
            f"a radius of {widest:g} m is wider than the mesh was made for ({limit:g} m). Set "
            f"navigation.widest_body of the scenario to {widest:g} or more."
        )
    for paths in built.world.planning.paths:
        mine = np.ones(len(entity), dtype=np.bool_) if paths.groups is None else paths.groups[group]
        if mine.any() and float(wanted[mine].max()) > paths.widest_agent:
            place = int(np.flatnonzero(mine)[np.argmax(wanted[mine])])
            raise CrowdsimError(
                f"{built.names.of(int(entity[place]))} finds its path on a grid, which knows "
                f"distances for radii up to {paths.widest_agent:g} m, not {wanted[place]:g} m. Take "
                "navigation: mesh for its group, which serves any radius."
            )
