"""The ways that agents would take if each were alone: whether there is one, how long it is, and to which piece of the goal it leads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.measure import measure_corridors
from crowdsim.navigation.planner import MeshPlanner
from crowdsim.scenario.build import Built
from crowdsim.threads import Team
from crowdsim.world.world import World

_ALL = 1 << 40


def lengths_of(
    world: World, position: NDArray[np.float64], polygon: NDArray[np.int64], goal: NDArray[np.int32], radius: NDArray[np.float64]
) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.int32]]:
    """Search and measure ways, without a budget.

    Parameters
    ----------
    world : World
    position : (n, 2) float64, m
    polygon : (n,) int64
    goal : (n,) int32
    radius : (n,) float64, m

    Returns
    -------
    status : (n,) uint8
        FOUND or UNREACHABLE.
    length : (n,) float64, m
        inf where there is no way.
    piece : (n,) int32
        Piece of the goal at the end; -1 where there is no way.
    """
    count = len(goal)
    planner = MeshPlanner(world.mesh, world.goals)
    planner.submit(0, np.arange(1, count + 1), position, polygon, goal, radius)
    answers, _ = planner.advance(_ALL, Team())
    order = np.argsort(answers.entity, kind="stable")
    status, piece = answers.status[order], answers.piece[order]
    start, sizes = answers.start[:-1][order], np.diff(answers.start)[order].astype(np.int32)
    length = np.empty(count)
    measure_corridors(world.mesh, world.goals, answers.cells, start, sizes, polygon, piece, position, radius, length)
    return status, length, piece


def ideal_times(built: Built) -> NDArray[np.float64]:
    """Return how long each agent would take if it were alone: its shortest way through its goals at its desired speed.

    Parameters
    ----------
    built : Built

    Returns
    -------
    (n,) float64, s
        By place in the order of identity; nan for those without a goal, inf where there is no way. A goal counts as reached where an agent counts as
        arrived; from an area the way goes on from the area's middle.
    """
    world, agents, population = built.world, built.agents, built.population
    itineraries = [world.itineraries[number] for number in population.itinerary.tolist()]
    total = np.where([len(each.goals) > 0 for each in itineraries], 0.0, np.nan)
    position, polygon = agents.position.copy(), built.polygon.copy()
    within = np.array([goal.arrive_within for goal in built.scenario.goals] or [0.0])
    rows, stage = np.flatnonzero(~np.isnan(total)), 0
    while len(rows):
        goal = np.array([itineraries[row].goals[stage] for row in rows], dtype=np.int32)
        speed = np.array([itineraries[row].speeds[stage] for row in rows])
        speed = np.where(np.isnan(speed), agents.speed[rows], speed)
        _, length, piece = lengths_of(world, position[rows], polygon[rows], goal, agents.radius[rows])
        there = piece >= 0
        reach = np.where(there, within[world.goals.piece_source[np.maximum(piece, 0)]], 0.0)
        total[rows] += np.maximum(0.0, length - reach) / speed
        position[rows[there]], polygon[rows[there]] = world.goals.pole[piece[there]], world.goals.piece_polygon[piece[there]]
        stage += 1
        rows = rows[there & np.array([len(itineraries[row].goals) > stage for row in rows], dtype=bool)]
    return total
