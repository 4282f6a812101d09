"""Walk: each agent is moved on the mesh, edge by edge, and keeps clear of walls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.corridor.corridors import Corridors
from crowdsim.navigation.corridor.walk import Walked, walk_many
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.systems.base.system import Tick, TickSystem
from crowdsim.systems.paths.lost_paths import ask_anew
from crowdsim.world.columns import AgentState, PathStatus, has_path
from crowdsim.world.events import EventKind

# Portals that pushes may add to a corridor before the agent asks for a new path: a few steps are walked back,
# a longer detour is not.
MOST_STRAYS = 6


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
        obstacles = np.flatnonzero(agents.activity >= AgentState.OBSTACLE)  # and those that ride
        touched[obstacles] = 0
        if len(obstacles):
            self._carry(obstacles, new_polygon, has_ground)
        np.copyto(agents.surface, world.handles_of(new_polygon), where=has_ground)
        np.copyto(agents.layer, world.mesh.polygon_layer[new_polygon], where=has_ground)
        agents.walked_velocity[:] = (agents.position - old) / tick.length
        # A velocity is what the agent does by itself: what a push added is not kept, what a wall took is.
        agents.velocity[:] = agents.chosen_velocity
        if lacks_ground:
            agents.velocity[~has_ground] = 0.0
        at_wall = np.flatnonzero(touched == 1)
        if len(at_wall):
            moved = agents.walked_velocity[at_wall]
            slower = np.hypot(moved[:, 0], moved[:, 1]) < np.hypot(
                agents.velocity[at_wall, 0], agents.velocity[at_wall, 1]
            )
            agents.velocity[at_wall[slower]] = moved[slower]
        follows = has_path(agents.path_status)
        agents.strays[:] += np.maximum(ahead - agents.corridor_length, 0) * follows
        # An agent that waits for its path has no corridor but a trail back; without room for that, it asks
        # again from where it is.
        lost = np.flatnonzero(
            (follows | (agents.path_status == PathStatus.PENDING))
            & ((ahead < 0) | (agents.strays > MOST_STRAYS))
        )
        agents.corridor_length[:] = np.maximum(ahead, 0)
        if len(lost):
            lost = lost[world.on_corridors()[lost]]
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
