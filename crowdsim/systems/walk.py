"""Walk: each agent is moved on the mesh, edge by edge, and keeps clear of walls."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.corridor.corridors import Corridors
from crowdsim.navigation.corridor.walk import Walked, walk_many
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.systems.base.system import Tick, TickSystem
from crowdsim.systems.paths.lost_paths import ask_anew
from crowdsim.world.events import EventKind
from crowdsim.world.states import FOUND, FOUND_THROUGH_AGENTS, OBSTACLE, PENDING
from crowdsim.world.world import NO_ROWS

# Portals that pushes may add to a corridor before the agent asks for a new path: a few steps are walked back,
# a longer detour is not.
MOST_STRAYS = 6


@lean_kernel
def note_steps(
    start,
    stop,
    old,
    position,
    chosen_velocity,
    has_ground,
    tick_length,
    path_status,
    ahead,
    walked_velocity,
    velocity,
    strays,
    corridor_length,
    is_lost,
):
    """Note how agents have moved, and which have lost their corridors.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    old, position : (n, 2) float64, m
        Before and after the step.
    chosen_velocity, path_status : (n, ...)
        Columns of agents.
    has_ground : (n,) bool
    tick_length : float, s
    ahead : (n,) int32
        Portals that are ahead now; below 0 where there is no room for them.
    walked_velocity, velocity : (n, 2) float64, m/s
        Receive what they moved by, and what they did by themselves: what a push added is not kept.
    strays, corridor_length : (n,) int32
        In and out.
    is_lost : (n,) bool
        Receives which agents cannot go on. One that waits for its path has no corridor but a trail back;
        without room for that, it asks again from where it is.

    Returns
    -------
    int
        How many these are.

    Notes
    -----
    Twin: `tests/reference/rows.py`.
    """
    lost = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        for axis in range(2):
            walked_velocity[row, axis] = (position[row, axis] - old[row, axis]) / tick_length
            velocity[row, axis] = chosen_velocity[row, axis] if has_ground[row] else 0.0
        follows = path_status[row] == FOUND or path_status[row] == FOUND_THROUGH_AGENTS
        if follows and ahead[row] > corridor_length[row]:
            strays[row] += ahead[row] - corridor_length[row]
        is_lost[row] = (follows or path_status[row] == PENDING) and (
            ahead[row] < 0 or strays[row] > MOST_STRAYS
        )
        if is_lost[row]:
            lost += 1
        corridor_length[row] = max(ahead[row], np.int32(0))
    return lost


class Walk(TickSystem):
    """Move agents on the surface and keep their corridors with them."""

    reads = (
        "entity",
        "group",
        "activity",
        "position",
        "tentative_position",
        "surface",
        "layer",
        "radius",
        "wall_distance",
        "velocity",
        "chosen_velocity",
        "path_status",
        "strays",
        "goal_piece",
        "corridor_start",
        "corridor_capacity",
        "corridor_length",
        "walked_velocity",
    )
    writes = (
        "position",
        "surface",
        "layer",
        "velocity",
        "walked_velocity",
        "wall_distance",
        "corridor_length",
        "strays",
        "path_status",
    )
    counts = ("at_walls", "strayed")

    def process(self, tick: Tick) -> None:
        """Walk from position to tentative position."""
        world, agents = self.world, self.world.agents
        rows = len(agents)
        old = agents.position.copy()
        polygon = world.polygons()
        new_polygon = np.empty(rows, dtype=np.int64)
        ahead = np.empty(rows, dtype=np.int32)
        known_clear = agents.wall_distance.copy()
        touched = np.empty(rows, dtype=np.uint8)
        has_ground = world.has_ground()
        target = agents.tentative_position
        lacks_ground = np.count_nonzero(has_ground) < rows
        if lacks_ground:  # an agent that has lost its ground cannot be pushed either
            target = np.where(has_ground[:, None], target, old)
        corridors = Corridors(
            world.corridors.portals,
            agents.corridor_start,
            agents.corridor_length,
            polygon,
            agents.goal_piece,
            old,
            agents.radius,
        )
        walked = Walked(agents.position, new_polygon, ahead, agents.wall_distance, touched)
        tick.team.run(
            walk_many, rows, world.mesh, corridors, agents.corridor_capacity, target, known_clear, walked
        )
        obstacles = (agents.activity >= OBSTACLE).nonzero()[0]  # and those that ride
        touched[obstacles] = 0
        if len(obstacles):
            self._carry(obstacles, new_polygon, has_ground)
        if lacks_ground:
            np.copyto(agents.surface, world.handles_of(new_polygon), where=has_ground)
            np.copyto(agents.layer, world.mesh.polygon_layer[new_polygon], where=has_ground)
        else:
            agents.surface[:] = world.handles_of(new_polygon)
            np.take(world.mesh.polygon_layer, new_polygon, out=agents.layer)
        is_lost = np.empty(rows, dtype=np.bool_)
        any_lost = sum(
            tick.team.run(
                note_steps,
                rows,
                old,
                agents.position,
                agents.chosen_velocity,
                has_ground,
                tick.length,
                agents.path_status,
                ahead,
                agents.walked_velocity,
                agents.velocity,
                agents.strays,
                agents.corridor_length,
                is_lost,
            )
        )
        at_wall = (touched == 1).nonzero()[0]
        if len(at_wall):
            moved = agents.walked_velocity[at_wall]
            slower = hypots(moved[:, 0], moved[:, 1]) < hypots(
                agents.velocity[at_wall, 0], agents.velocity[at_wall, 1]
            )
            agents.velocity[at_wall[slower]] = moved[slower]
        lost = NO_ROWS
        if any_lost:
            lost = np.flatnonzero(is_lost & world.on_corridors())
            ask_anew(agents, lost)
            world.events.note(
                tick.number,
                EventKind.STRAYED,
                agents.entity[lost],
                agents.position[lost],
                agents.strays[lost],
            )
            agents.strays[lost] = 0
        tick.counts["at_walls"], tick.counts["strayed"] = float(len(at_wall)), float(len(lost))

    def _carry(
        self, rows: NDArray[np.int64], polygon: NDArray[np.int64], has_ground: NDArray[np.bool_]
    ) -> None:
        """Put obstacles where they go, over walls and all: a disc that reaches beyond the ground keeps the
        polygon that it had, and one that comes back onto ground has ground.
        """
        world, agents = self.world, self.world.agents
        found = np.empty(len(rows), dtype=np.int64)
        agents.position[rows] = agents.tentative_position[rows]
        agents.wall_distance[rows] = 0.0
        locate_many(0, len(rows), world.mesh, agents.position[rows], agents.layer[rows], found)
        polygon[rows] = np.where(found >= 0, found, polygon[rows])
        has_ground[rows] |= found >= 0
