"""Guesses over the edges of the visibility graph:
which corners each agent has come to, and how the path that is found is joined with its guess.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.corridor.corridors import Corridor
from crowdsim.navigation.corridor.funnel import find_bends
from crowdsim.navigation.corridor.portal_vertices import VERTEX, list_portal_vertices
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.navigation.planning.protocol import Answers
from crowdsim.navigation.visibility.corridor import corridor_over
from crowdsim.navigation.visibility.graph import MOST_PORTALS
from crowdsim.navigation.visibility.guess import (
    TO_GOAL,
    UNDECIDED,
    CornerGuess,
    guess_over_corners,
    join_over_corners,
)
from crowdsim.navigation.visibility.search import Scratch, Terrain
from crowdsim.navigation.visibility.sight import NOWHERE
from crowdsim.saved import FARTHEST_M, MOST, Arrays, Saved, ascends
from crowdsim.systems.base.system import Tick
from crowdsim.systems.paths.guesses import Guesses
from crowdsim.world.states import has_path
from crowdsim.world.world import World

# First choices of a tick, 9 us each, that no budget pays for. More has agents set off sooner in an alarm,
# and makes its ticks longer.
MOST_FIRST_CHOICES = 500
LEAST_VISITED = 8  # Corners that there is room for at first; twice as many when an agent has come to so many.


class CornerGuesses(Guesses):
    """The guesses of all agents that find their paths over points of visibility.

    Parameters
    ----------
    world : World
    terrain : callable
        Returns what the planner searches on now.
    """

    def __init__(self, world: World, terrain: Callable[[], Terrain]) -> None:
        super().__init__(world)
        self._terrain_of, self._most = terrain, LEAST_VISITED
        self._table = self._fresh(0)
        self.clear()

    def clear(self) -> None:
        """Forget all guesses: the ground is another."""
        self._terrain = self._terrain_of()
        mesh = self._terrain.mesh
        # corners that see some of one polygon, at most
        self._widest = int(np.diff(self._terrain.graph.pvs_start).max(initial=0))
        self._scratch = Scratch(make_flood(mesh.polygon_count), np.zeros(MOST_PORTALS + 1, dtype=np.int32))
        self._corner_at = {
            int(vertex): corner for corner, vertex in enumerate(self._terrain.graph.corners.vertex.tolist())
        }
        self._keep(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def take_goals(self) -> None:
        """Guess towards the goals that the planner has now."""
        self._terrain = self._terrain_of()

    def _fresh(self, count: int) -> dict[str, NDArray[Any]]:
        return {
            "target": np.full(count, UNDECIDED, dtype=np.int64),
            "at": np.full(count, NOWHERE, dtype=np.int64),
            "visits": np.zeros(count, dtype=np.int64),
            "begin": np.zeros((count, 3)),  # x, y and polygon at which each search began
            "visited": np.full((count, self._most), -1, dtype=np.int32),
        }

    def ask(self, rows: NDArray[np.int64]) -> None:
        """Begin anew for agents that request a path from where they are."""
        agents = self.world.agents
        place = self._begin(agents.entity[rows])
        self._table["begin"][place] = np.column_stack([agents.position[rows], self.world.polygons(rows)])

    def _place(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where in the table agents are that wait, (k,) rows."""
        return np.searchsorted(self._entity, self.world.agents.entity[rows])

    def lead(self, tick: Tick, guesses: NDArray[np.bool_]) -> None:
        """Set the preferred velocities of agents that wait for their path; of those that have just begun to,
        some stand until a later tick.
        """
        agents = self.world.agents
        rows = np.flatnonzero(guesses & self.knows(agents.entity))
        begin = np.flatnonzero(self._table["target"][self._place(rows)] == UNDECIDED)
        later = self._later(begin, tick.number, MOST_FIRST_CHOICES)
        if len(later):
            stands, rows = rows[later], np.delete(rows, later)
            agents.preferred_velocity[stands], agents.next_corner[stands] = 0.0, agents.position[stands]
        if not len(rows):
            return
        place = self._place(rows)
        table = self._table
        if int(table["visits"].max()) >= self._most:
            table["visited"] = np.pad(table["visited"], ((0, 0), (0, self._most)), constant_values=-1)
            self._most *= 2
        guess = CornerGuess(*(table[name][place] for name in CornerGuess._fields))
        velocity, corner = np.empty((len(rows), 2)), np.empty((len(rows), 2))
        tick.team.run(
            guess_over_corners, len(rows), self._terrain, self._widest, agents.goal[rows],
            np.column_stack([agents.radius[rows], agents.desired_speed[rows]]), tick.length,
            agents.position[rows], self.world.polygons(rows), guess, velocity, corner,
        )  # fmt: skip
        for name, array in guess._asdict().items():
            table[name][place] = array
        agents.preferred_velocity[rows], agents.next_corner[rows] = velocity, corner

    def join(self, answers: Answers, rows: NDArray[np.int64]) -> tuple[Answers, NDArray[np.bool_]]:
        """Join the paths that were found with the guesses of their agents.

        Returns
        -------
        Answers
            With the corridors from where the agents are now, where they were joined.
        (k,) bool
            Which were; the others meet their guess only where their search began, or were pushed off it.
        """
        joined = np.zeros(len(rows), dtype=np.bool_)
        portals = np.split(answers.portals, answers.start[1:-1])
        for number in np.flatnonzero(has_path(answers.status) & self.knows(answers.entity)).tolist():
            found = self._joined(
                int(rows[number]), int(answers.entity[number]), int(answers.piece[number]), portals[number]
            )
            if found is not None:
                portals[number], joined[number] = found, True
        self.forget(answers.entity)
        if not joined.any():
            return answers, joined
        start = np.cumsum([0, *(len(each) for each in portals)]).astype(np.int64)
        return Answers(
            answers.entity, answers.status, answers.piece, start, np.concatenate(portals).astype(np.int32)
        ), joined

    def _joined(
        self, row: int, entity: int, piece: int, cells: NDArray[np.int32]
    ) -> NDArray[np.int32] | None:
        """Return the corridor from where an agent is;
        None if its guess and its path cannot be joined over corners.
        """
        place = int(np.searchsorted(self._entity, entity))
        agents, terrain, scratch = self.world.agents, self._terrain, self._scratch
        (x, y), radius, polygon = (
            agents.position[row].tolist(),
            float(agents.radius[row]),
            int(self.world.polygons(np.array([row]))[0]),
        )
        found, (tx, ty) = self._corners_of(cells, piece, self._table["begin"][place], radius)
        if found is None:
            return None
        visited = self._table["visited"][place, : int(self._table["visits"][place])]
        chain = np.zeros(len(found) + len(visited) + 1, dtype=np.int32)
        count = join_over_corners(
            terrain, x, y, polygon, visited, found, piece, tx, ty, radius, chain, scratch
        )
        if count < 0:
            return None
        out = np.zeros(4 * (len(chain) + 1) * 64 + terrain.mesh.edge_count, dtype=np.int32)
        length = corridor_over(terrain, chain, count, x, y, polygon, tx, ty, piece, out, 0, scratch)
        return out[:length] if length >= 0 else None

    def _corners_of(
        self, cells: NDArray[np.int32], piece: int, begin: NDArray[np.float64], radius: float
    ) -> tuple[NDArray[np.int32] | None, tuple[float, float]]:
        """Return the corners at which a found path bends, from where its search began on, and where it ends;
        None if it bends at what is no corner.
        """
        mesh, goals, flood = self._terrain.mesh, self._terrain.goals, self._scratch.flood
        x, y, polygon = float(begin[0]), float(begin[1]), int(begin[2])
        vertices = np.zeros(
            (len(cells) + 2) * (int(np.diff(mesh.polygon_start).max()) + 2) + 4096, dtype=np.int32
        )
        corridor = Corridor(cells, 0, len(cells), polygon, piece)
        count, _ = list_portal_vertices(mesh, corridor, len(cells) + 1, vertices)
        bends = np.zeros(len(vertices), dtype=np.int32)
        found, tx, ty = find_bends(mesh, goals, corridor, vertices, count, x, y, radius, bends, flood)
        code = vertices[bends[:found]]
        corners = [
            self._corner_at.get(vertex, -1) for vertex in (np.where(code < 0, ~code, code) >> VERTEX).tolist()
        ]
        return (np.array(corners, dtype=np.int32) if -1 not in corners else None), (float(tx), float(ty))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all guesses as named arrays."""
        return {
            f"guess_{name}": array.copy() for name, array in {"entity": self._entity, **self._table}.items()
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved, polygons = Saved.of(state), self._terrain.mesh.polygon_count
        corners = len(self._terrain.graph.corners.position)
        entity = saved.take("guess_entity", "i8", low=1, high=MOST)
        count = len(entity)
        saved.require(ascends(entity), "guess_entity", "entity ids have to ascend")
        target = saved.take("guess_target", "i8", (count,), low=TO_GOAL, high=2 * corners - 1)
        at = saved.take("guess_at", "i8", (count,), low=NOWHERE, high=corners - 1)
        visited = saved.take("guess_visited", "i4", (count, None), low=-1, high=corners - 1)
        visits = saved.take("guess_visits", "i8", (count,), low=0, high=visited.shape[1])
        saved.require(visited.shape[1] >= 1, "guess_visited", "has no room")
        saved.require(
            (visited >= 0) | (np.arange(visited.shape[1]) >= visits[:, None]),
            "guess_visited",
            "has not so many corners",
        )
        begin = saved.take(
            "guess_begin",
            "f8",
            (count, 3),
            low=[-FARTHEST_M, -FARTHEST_M, 0.0],
            high=[FARTHEST_M, FARTHEST_M, float(polygons - 1)],
        )
        saved.require(
            begin[:, 2] == np.floor(begin[:, 2]), "guess_begin", "the last number is that of a polygon"
        )
        self._entity, self._most = entity, visited.shape[1]
        self._table = {"target": target, "at": at, "visits": visits, "begin": begin, "visited": visited}

    def check(self, saved: Saved, starts: NDArray[Any]) -> None:
        """Require that guesses begin where the searches of their agents do;
        `starts` as `Planner.starts` has them.
        """
        place = np.searchsorted(self._entity, starts["entity"])
        known = self.knows(starts["entity"])
        begin = np.column_stack([starts["x"], starts["y"], starts["polygon"]])[known]
        saved.require(
            bool(np.array_equal(self._table["begin"][place[known]], begin)),
            "guess_begin",
            "is not where the searches of their agents begin",
        )
