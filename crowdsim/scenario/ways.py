"""The ways that agents would take if each were alone: whether there is one, how long it is, and to which piece of the goal it leads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.measure import measure_corridors
from crowdsim.navigation.planner import MeshPlanner
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
