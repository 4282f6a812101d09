"""Guesses over the edges of the visibility graph: who is on one, which corners each has come to, and how the path that is found is joined with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.corridor.funnel import find_bends
from crowdsim.navigation.corridor.portal_vertices import VERTEX, lay_out_posts
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.navigation.planning.protocol import Answers
from crowdsim.navigation.visibility.corridor import corridor_over
from crowdsim.navigation.visibility.graph import MOST_PORTALS
from crowdsim.navigation.visibility.guess import TO_GOAL, UNDECIDED, CornerGuess, guess_over_corners, join_over_corners
from crowdsim.navigation.visibility.search import Scratch, Terrain
from crowdsim.navigation.visibility.sight import NOWHERE
from crowdsim.saved import FARTHEST_M, MOST, Arrays, Saved, ascends
from crowdsim.systems.base.system import Tick
from crowdsim.world.columns import has_way
from crowdsim.world.world import World

LEAST_VISITED = 8  # Corners that there is room for at first; more is made when somebody has come to so many.


class CornerGuesses:
    """The guesses of all agents that find their ways over points of visibility.

    Parameters
    ----------
    world : World
    terrain : callable
        Returns what the planner searches on now.
    """

    def __init__(self, world: World, terrain: Callable[[], Terrain]) -> None:
        self.world, self._terrain_of = world, terrain
        self._visited: NDArray[np.int32] = np.zeros((0, LEAST_VISITED), dtype=np.int32)
        self._entity, self._target, self._at, self._visits = (np.zeros(0, dtype=np.int64) for _ in range(4))
        self._begin: NDArray[np.float64] = np.zeros((0, 3))  # x, y and polygon at which each search began
        self.clear()

    def clear(self) -> None:
        """Forget all guesses: the ground is another."""
        self._terrain = self._terrain_of()
        mesh = self._terrain.mesh
        self._scratch = Scratch(make_flood(mesh.polygon_count), np.zeros(MOST_PORTALS + 1, dtype=np.int32))
        self._corner_at = {int(vertex): corner for corner, vertex in enumerate(self._terrain.graph.corners.vertex.tolist())}
        self._keep(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def _keep(self, entity: NDArray[np.int64], place: NDArray[np.int64]) -> None:
        """Keep guesses of these agents: those that are at a place now, and new ones where that is -1."""
        known, count, width = place >= 0, len(entity), self._visited.shape[1]
        target, at, visits = np.full(count, UNDECIDED, dtype=np.int64), np.full(count, NOWHERE, dtype=np.int64), np.zeros(count, dtype=np.int64)
        begin, visited = np.zeros((count, 3)), np.full((count, width), -1, dtype=np.int32)
        if known.any():
            kept = place[known]
            target[known], at[known], visits[known] = self._target[kept], self._at[kept], self._visits[kept]
            begin[known], visited[known] = self._begin[kept], self._visited[kept]
        self._entity, self._target, self._at, self._visits, self._begin, self._visited = entity, target, at, visits, begin, visited

    def ask(self, rows: NDArray[np.int64]) -> None:
        """Begin anew for agents that ask for a way from where they are."""
        agents = self.world.agents
        entity = agents.entity[rows]
        others = ~np.isin(self._entity, entity)
        every = np.union1d(self._entity[others], entity)
        self._keep(every, _places(self._entity[others], np.flatnonzero(others), every))
        place = np.searchsorted(every, entity)
        self._begin[place, :2], self._begin[place, 2] = agents.position[rows], self.world.polygons()[rows]

    def forget(self, entity: NDArray[np.int64]) -> None:
        """Forget the guesses of agents that left, have their way, or go elsewhere."""
        stays = np.flatnonzero(~np.isin(self._entity, entity))
        if len(stays) < len(self._entity):
            self._keep(self._entity[stays], stays)

    def lead(self, tick: Tick, guesses: NDArray[np.bool_]) -> None:
        """Set the preferred velocities of those whose path is not there yet."""
        agents = self.world.agents
        rows = np.flatnonzero(guesses & np.isin(agents.entity, self._entity))
        place = np.searchsorted(self._entity, agents.entity[rows])
        if not len(rows):
            return
        if int(self._visits.max()) >= self._visited.shape[1]:
            self._visited = np.pad(self._visited, ((0, 0), (0, self._visited.shape[1])), constant_values=-1)
        guess = CornerGuess(self._target[place], self._at[place], self._visited[place], self._visits[place])
        velocity, aim = np.empty((len(rows), 2)), np.empty((len(rows), 2))
        guess_over_corners(
            self._terrain, agents.goal[rows], agents.radius[rows], agents.desired_speed[rows], tick.length, agents.position[rows],
            self.world.polygons()[rows], guess, velocity, aim, self._scratch,
        )  # fmt: skip
        self._target[place], self._at[place], self._visited[place], self._visits[place] = guess
        agents.preferred_velocity[rows], agents.next_corner[rows] = velocity, aim

    def join(self, answers: Answers, rows: NDArray[np.int64]) -> tuple[Answers, NDArray[np.bool_]]:
        """Join the ways that were found with the guesses of their agents.

        Returns
        -------
        Answers
            With the corridors from where the agents are now, where they were joined.
        (k,) bool
            Which were; the others meet their guess only where their search began, or were pushed off it.
        """
        joined = np.zeros(len(rows), dtype=np.bool_)
        cells = np.split(answers.cells, answers.start[1:-1])
        for number in np.flatnonzero(has_way(answers.status) & np.isin(answers.entity, self._entity)).tolist():
            found = self._joined(int(rows[number]), int(answers.entity[number]), int(answers.piece[number]), cells[number])
            if found is not None:
                cells[number], joined[number] = found, True
        self.forget(answers.entity)
        if not joined.any():
            return answers, joined
        start = np.cumsum([0, *(len(each) for each in cells)]).astype(np.int64)
        return Answers(answers.entity, answers.status, answers.piece, start, np.concatenate(cells).astype(np.int32)), joined

    def _joined(self, row: int, entity: int, piece: int, cells: NDArray[np.int32]) -> NDArray[np.int32] | None:
        """Return the corridor from where an agent is; None if its guess and its way cannot be joined over corners."""
        place = int(np.searchsorted(self._entity, entity))
        agents, terrain, scratch = self.world.agents, self._terrain, self._scratch
        (x, y), radius, polygon = agents.position[row].tolist(), float(agents.radius[row]), int(self.world.polygons()[row])
        found, (tx, ty) = self._corners_of(cells, piece, self._begin[place], radius)
        if found is None:
            return None
        visits = int(self._visits[place])
        chain = np.zeros(len(found) + visits + 1, dtype=np.int32)
        count = join_over_corners(terrain, x, y, polygon, self._visited[place, :visits], found, piece, tx, ty, radius, chain, scratch)
        if count < 0:
            return None
        out = np.zeros(4 * (len(chain) + 1) * 64 + terrain.mesh.edge_count, dtype=np.int32)
        length = corridor_over(terrain, chain, count, x, y, polygon, tx, ty, piece, out, 0, scratch)
        return out[:length] if length >= 0 else None

    def _corners_of(
        self, cells: NDArray[np.int32], piece: int, begin: NDArray[np.float64], radius: float
    ) -> tuple[NDArray[np.int32] | None, tuple[float, float]]:
        """Return the corners at which a found way bends, from where its search began on, and where it ends; None if it bends at what is no corner."""
        mesh, goals, flood = self._terrain.mesh, self._terrain.goals, self._scratch.flood
        x, y, polygon = float(begin[0]), float(begin[1]), int(begin[2])
        posts = np.zeros((len(cells) + 2) * (int(np.diff(mesh.polygon_start).max()) + 2) + 4096, dtype=np.int32)
        count, _ = lay_out_posts(mesh, cells, 0, len(cells), polygon, 0, len(cells) + 1, posts, 0)
        bends = np.zeros(len(posts), dtype=np.int32)
        found, tx, ty = find_bends(mesh, goals, cells, 0, len(cells), posts, count, polygon, piece, x, y, radius, bends, flood)
        post = posts[bends[:found]]
        corners = [self._corner_at.get(vertex, -1) for vertex in (np.where(post < 0, ~post, post) >> VERTEX).tolist()]
        return (np.array(corners, dtype=np.int32) if -1 not in corners else None), (float(tx), float(ty))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all guesses as named arrays."""
        return {
            "guess_entity": self._entity.copy(), "guess_target": self._target.copy(), "guess_at": self._at.copy(), "guess_visits": self._visits.copy(),
            "guess_begin": self._begin.copy(), "guess_visited": self._visited.copy(),
        }  # fmt: skip

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
        saved.require((visited >= 0) | (np.arange(visited.shape[1]) >= visits[:, None]), "guess_visited", "has not so many corners")
        begin = saved.take("guess_begin", "f8", (count, 3), low=[-FARTHEST_M, -FARTHEST_M, 0.0], high=[FARTHEST_M, FARTHEST_M, float(polygons - 1)])
        saved.require(begin[:, 2] == np.floor(begin[:, 2]), "guess_begin", "the last number is that of a polygon")
        self._entity, self._target, self._at, self._visits, self._begin, self._visited = entity, target, at, visits, begin, visited

    def check(self, saved: Saved, starts: NDArray[Any]) -> None:
        """Look whether guesses begin where the searches of their agents do; `starts` as `Planner.starts` has them."""
        place = np.searchsorted(self._entity, starts["entity"])
        known = np.isin(starts["entity"], self._entity)
        begin = np.column_stack([starts["x"], starts["y"], starts["polygon"]])[known]
        saved.require(bool(np.array_equal(self._begin[place[known]], begin)), "guess_begin", "is not where the searches of their agents begin")


def _places(known: NDArray[np.int64], place: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each wanted number, ascending, the place of it among the known ones, which are ascending too; -1 where it is not known."""
    found = np.full(len(wanted), -1, dtype=np.int64)
    found[np.searchsorted(wanted, known)] = place
    return found
