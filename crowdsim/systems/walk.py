"""Walk: each agent is moved on the mesh, edge by edge, and keeps clear of walls."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.corridor.corridors import Corridors
from crowdsim.navigation.corridor.walk import Walked, walk_many
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.tiles.handles import FIRST_SALT, pack
from crowdsim.systems.base.system import Tick, TickSystem
from crowdsim.systems.paths.lost_paths import ask_anew
from crowdsim.world.events import EventKind
from crowdsim.world.states import FOUND, FOUND_THROUGH_AGENTS, NO_ONE, OBSTACLE, PENDING
from crowdsim.world.world import NO_ROWS, ONE_TILE

# Portals that pushes may add to a corridor before the agent asks for a new path: a few steps are walked back,
# a longer detour is not.
MOST_STRAYS = 6
_FIRST_HANDLE = np.int64(pack(FIRST_SALT, ONE_TILE, 0))


class Steps(NamedTuple):
    """Columns of agents that steps change, a row each."""

    position: NDArray[np.float64]
    surface: NDArray[np.int64]
    layer: NDArray[np.int32]
    walked_velocity: NDArray[np.float64]
    velocity: NDArray[np.float64]
    corridor_length: NDArray[np.int32]
    strays: NDArray[np.int32]


@lean_kernel
def note_steps(
    start, stop, mesh, walked, chosen_velocity, path_status, has_ground, handle, tick_length, out, is_lost
):
    """Set agents where they have walked, and note how they moved, and which have lost their corridors.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    mesh : NavMesh
    walked : Walked
        Where their steps have led them.
    chosen_velocity, path_status : (n, ...)
        Columns of agents.
    has_ground : (n,) bool
        Without entries all have. One that has none keeps its surface and layer.
    handle : (n,) int64
        Of the polygons that they are on now; without entries the ground is one tile that never changes.
    tick_length : float, s
    out : Steps
        In and out. `walked_velocity` receives what agents moved by, `velocity` what they did by themselves:
        without what a push added, and what they moved by where a wall made them slower.
    is_lost : (n,) bool
        Receives which agents cannot go on. One that waits for its path has no corridor but a trail back;
        without room for that, it asks again from where it is.

    Returns
    -------
    lost, at_walls : int
        How many these are, and how many a wall changed the step of.

    Notes
    -----
    Twin: `tests/reference/rows.py`.
    """
    lost, at_walls = 0, 0
    for row in range(np.uint64(start), np.uint64(stop)):
        stands = has_ground.size == 0 or has_ground[row]
        for axis in range(2):
            out.walked_velocity[row, axis] = (
                walked.position[row, axis] - out.position[row, axis]
            ) / tick_length
            out.velocity[row, axis] = chosen_velocity[row, axis] if stands else 0.0
            out.position[row, axis] = walked.position[row, axis]
        if walked.touched[row] == 1:
            at_walls += 1
            x, y = out.walked_velocity[row, 0], out.walked_velocity[row, 1]
            if hypot(x, y) < hypot(out.velocity[row, 0], out.velocity[row, 1]):
                out.velocity[row, 0], out.velocity[row, 1] = x, y
        if stands:
            polygon = walked.polygon[row]
            out.surface[row] = handle[row] if handle.size > 0 else _FIRST_HANDLE | polygon
            out.layer[row] = mesh.polygon_layer[polygon]
        ahead = walked.length[row]
        follows = path_status[row] == FOUND or path_status[row] == FOUND_THROUGH_AGENTS
        if follows and ahead > out.corridor_length[row]:
            out.strays[row] += ahead - out.corridor_length[row]
        is_lost[row] = (follows or path_status[row] == PENDING) and (
            ahead < 0 or out.strays[row] > MOST_STRAYS
        )
        if is_lost[row]:
            lost += 1
        out.corridor_length[row] = max(ahead, np.int32(0))
    return lost, at_walls


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
        rows, polygon = len(agents), world.polygons()
        has_ground, target = NO_ONE, agents.tentative_position
        if world.tiles is not None:
            has_ground = world.has_ground()
            if not has_ground.all():  # an agent that has lost its ground cannot be pushed either
                target = np.where(has_ground[:, None], target, agents.position)
        corridors = Corridors(
            world.corridors.portals,
            agents.corridor_start,
            agents.corridor_length,
            polygon,
            agents.goal_piece,
            agents.position,
            agents.radius,
        )
        walked = Walked(
            np.empty((rows, 2)),
            np.empty(rows, dtype=np.int64),
            np.empty(rows, dtype=np.int32),
            agents.wall_distance,
            np.empty(rows, dtype=np.uint8),
        )
        tick.team.run(
            walk_many,
            rows,
            world.mesh,
            corridors,
            agents.corridor_capacity,
            target,
            agents.wall_distance,
            walked,
        )
        obstacles = (agents.activity >= OBSTACLE).nonzero()[0]  # and those that ride
        if len(obstacles):
            self._carry(obstacles, walked, has_ground)
        steps = Steps(
            agents.position,
            agents.surface,
            agents.layer,
            agents.walked_velocity,
            agents.velocity,
            agents.corridor_length,
            agents.strays,
        )
        is_lost = np.empty(rows, dtype=np.bool_)
        found = tick.team.run(
            note_steps,
            rows,
            world.mesh,
            walked,
            agents.chosen_velocity,
            agents.path_status,
            has_ground,
            NO_ROWS if world.tiles is None else world.handles_of(walked.polygon),
            tick.length,
            steps,
            is_lost,
        )
        any_lost, at_walls = (sum(counts) for counts in zip(*found, strict=True))
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
        tick.counts["at_walls"], tick.counts["strayed"] = float(at_walls), float(len(lost))

    def _carry(self, rows: NDArray[np.int64], walked: Walked, has_ground: NDArray[np.bool_]) -> None:
        """Put obstacles where they go, over walls and all: a disc that reaches beyond the ground keeps the
        polygon that it had, and one that comes back onto ground has ground.
        """
        world, agents = self.world, self.world.agents
        found = np.empty(len(rows), dtype=np.int64)
        walked.position[rows] = agents.tentative_position[rows]
        walked.clear[rows], walked.touched[rows] = 0.0, 0
        locate_many(0, len(rows), world.mesh, walked.position[rows], agents.layer[rows], found)
        walked.polygon[rows] = np.where(found >= 0, found, walked.polygon[rows])
        if len(has_ground):
            has_ground[rows] |= found >= 0
