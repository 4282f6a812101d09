"""Guesses over cells: which patches each agent has come to, where it goes next,
and how the path that is found is joined with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.grid.guess import (
    GIVEN_UP,
    NOWHERE,
    TO_GOAL,
    UNDECIDED,
    CellGuess,
    GuessGrid,
    Guessing,
    guess_over_cells,
)
from crowdsim.navigation.grid.guess_join import SHORT_CUT, join_over_cells
from crowdsim.navigation.grid.obstacles import StationaryDiscs
from crowdsim.navigation.grid.patches import block_side, make_patches
from crowdsim.navigation.grid.planner import GridPlanner, WaypointAnswers
from crowdsim.navigation.grid.search import EXPANSIONS, FOUND_THROUGH_AGENTS, make_slots
from crowdsim.navigation.grid.walkers import Walkers
from crowdsim.saved import FARTHEST_M, MOST, MOST_TICKS, Arrays, Saved, ascends
from crowdsim.systems.base.system import Tick
from crowdsim.systems.paths.guesses import Guesses
from crowdsim.world.world import World

Rows = NDArray[np.int64]
Places = NDArray[np.float64]

LEAST_PATCHES = 8  # That there is room for at first; more is made when an agent has come to so many.
# First choices of a tick, 50 us each, that no budget pays for. More has agents set off sooner in an alarm,
# and makes its ticks longer.
MOST_FIRST_CHOICES = 250
# In one cell, before an agent gives up what it has committed to: longer than pedestrians take to get past
# each other.
PATIENCE_S = 5.0
# Waypoints that a round has room for, besides those of one block: agents that get none have theirs in the
# next round.
ROOM_AN_AGENT = 16
_TABLES = ("patch", "parent", "entry", "origin")  # of `CellGuess`, one number a patch


class CellGuesses(Guesses):
    """The guesses of all agents that find their paths on a grid.

    Parameters
    ----------
    world : World
    planner : GridPlanner
    keeps_previous : bool
        Whether agents that have a path keep to it until the next is found, and only note their trail.
    past_walls : callable
        Returns waypoints of some rows, and where those of each begin, as agents can walk them.
    """

    def __init__(
        self,
        world: World,
        planner: GridPlanner,
        keeps_previous: bool,
        past_walls: Callable[[Rows, Places, Rows], tuple[Places, Rows]],
    ) -> None:
        super().__init__(world)
        self.planner, self.keeps_previous, self._past_walls, self._most = (
            planner,
            keeps_previous,
            past_walls,
            LEAST_PATCHES,
        )
        grid, parameters = planner.grid, planner.parameters
        self._step = float(parameters.sight_step) if parameters.sight == "sampled" else 0.0
        nodes, self._side = (grid.width + 2) * (grid.depth + 2), block_side(grid.parameters.cell_size)
        self._slots = make_slots(1, nodes)
        self._patches = make_patches(nodes, self._side, len(grid.sheet.rise))
        self._table = self._fresh(0)

    def _fresh(self, count: int) -> dict[str, NDArray[Any]]:
        columns: list[NDArray[Any]] = [
            np.full(count, first, dtype=np.int64) for first in (UNDECIDED, NOWHERE, NOWHERE, NOWHERE, 0, 0)
        ]
        columns += [np.full((count, self._most), -1, dtype=np.int32) for _ in _TABLES]
        # where each search began; 0 where an agent keeps to its previous path; what kernels know of its guess
        return {
            "begin": np.zeros((count, 2)),
            "leads": np.ones(count, dtype=np.uint8),
            **CellGuess(*columns)._asdict(),
        }

    def _guess(self) -> CellGuess:
        """Return the guesses as kernels take them."""
        return CellGuess(*(self._table[name] for name in CellGuess._fields))

    def ask(self, rows: NDArray[np.int64], walkers: Walkers) -> None:
        """Begin anew for agents that ask for a path from where they are."""
        agents = self.world.agents
        entity = agents.entity[rows]
        has_path = (walkers.walks.total[rows] > 0) & ~self.led(entity)
        place = self._begin(entity)
        self._table["begin"][place], self._table["leads"][place] = (
            self._places(rows),
            ~(has_path & self.keeps_previous),
        )

    def _places(self, rows: Rows) -> Places:
        """Return where agents are on the sheet of the grid."""
        agents = self.world.agents
        return self.planner.grid.sheet.place_of(agents.position[rows], agents.layer[rows])

    def led(self, entity: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (k,) bool: which agents walk on a guess, and do not keep to their previous paths."""
        return np.isin(entity, self._entity[self._table["leads"] == 1])

    def lead(self, tick: Tick, rows: NDArray[np.int64], walkers: Walkers) -> NDArray[np.int64]:
        """Note where agents that wait have come to, and set those that guess on waypoints; of those that have
        just begun to, some in a later tick.

        Parameters
        ----------
        tick : Tick
        rows : (r,) int64
            Agents that walk and wait for a path; those that a program steers are watched, too.
        walkers : Walkers
            Of all agents.

        Returns
        -------
        (g,) int64
            Those of them that guess.
        """
        agents = self.world.agents
        rows = rows[self.knows(agents.entity[rows])]
        place = np.searchsorted(self._entity, agents.entity[rows])
        if not len(rows):
            return rows
        leads = self._table["leads"][place] & (agents.is_driven[rows] == 0)
        every = rows[leads == 1]
        begins = (
            (leads == 1) & (self._table["at"][place] == NOWHERE) & (self._table["to"][place] == UNDECIDED)
        )
        later = self._later(np.flatnonzero(begins), tick.number, MOST_FIRST_CHOICES)
        rows, place, leads = (np.delete(each, later) for each in (rows, place, leads))
        if int(self._table["known"][place].max()) + 2 > self._most:
            self._table |= {
                name: np.pad(self._table[name], ((0, 0), (0, self._most)), constant_values=-1)
                for name in _TABLES
            }
            self._most *= 2
        patience = max(1, round(PATIENCE_S / tick.length))
        is_done = (walkers.walks.total[rows] == 0).astype(np.uint8)
        laid, waypoint = self._look(
            rows, place, leads, walkers.toward()[rows], is_done, tick.number, patience
        )
        sent = np.flatnonzero(laid >= 0)
        if len(sent):
            start = np.concatenate([[0], np.cumsum(laid[sent])]).astype(np.int64)
            waypoint, start = self._past_walls(rows[sent], waypoint, start)
            walkers.take(rows[sent], start, waypoint, self._places(np.arange(len(agents))))
        return every

    def _grid(self) -> GuessGrid:
        """Return what guesses are made on now."""
        planner, goals, mesh = self.planner, self.world.goals, self.world.mesh
        trim = float(planner.parameters.first_waypoint_trim)
        pole = planner.grid.sheet.place_of(goals.pole, mesh.polygon_layer[goals.piece_polygon])
        return GuessGrid(
            planner.grid.ground, self._side, planner.rings(), self._step, trim, pole, goals.goal_start
        )

    def _look(
        self,
        rows: Rows,
        place: Rows,
        leads: NDArray[np.uint8],
        aim: Places,
        is_done: NDArray[np.uint8],
        tick: int,
        patience: int,
    ) -> tuple[Rows, Places]:
        """Return how many waypoints agents are to walk along, see `guess_over_cells`, and these."""
        agents, grid, guess = self.world.agents, self._grid(), self._guess()
        laid = np.zeros(len(rows), dtype=np.int64)
        out = np.empty((ROOM_AN_AGENT * len(rows) + self._side * self._side + 2, 2))
        parts: list[NDArray[np.float64]] = []
        guessing = Guessing(
            place,
            leads,
            agents.goal[rows],
            self.planner.needs(agents.radius[rows]),
            self._places(rows),
            aim,
            is_done,
        )
        done = -1
        while done < len(rows):
            begin = max(done, 0)
            done = guess_over_cells(
                begin, grid, guessing, tick, patience, guess, self._slots, self._patches, laid, out
            )
            parts.append(out[: int(np.maximum(laid[begin:done], 0).sum())].copy())
        return laid, np.concatenate(parts)

    def join(
        self, answers: WaypointAnswers, rows: NDArray[np.int64], stationary: NDArray[np.float64]
    ) -> WaypointAnswers:
        """Join the paths that were found with the guesses of their agents, and forget these.

        Parameters
        ----------
        answers : WaypointAnswers
        rows : (k,) int64
            Of the agents.
        stationary : (s, 3) float64, m
            Position and radius of the stationary agents that a path leads round.

        Returns
        -------
        WaypointAnswers
            With paths and lengths from where the agents are now, where they have been led since they asked.
        """
        agents, grid, at_place = self.world.agents, self.planner.grid, self._places(rows)
        known = np.flatnonzero(self.knows(answers.entity))
        place = np.searchsorted(self._entity, answers.entity[known])
        waits = self._table["at"][place] >= 0
        paths, length = np.split(answers.waypoint, answers.start[1:-1]), answers.length.copy()
        for number, at in zip(known[waits].tolist(), place[waits].tolist(), strict=True):
            if len(paths[number]):
                avoided = stationary[:0] if answers.status[number] == FOUND_THROUGH_AGENTS else stationary
                row = int(rows[number])
                need = float(self.planner.needs(agents.radius[row : row + 1])[0])
                path = self._joined(at, need, at_place[number], paths[number], avoided)
                if path is not None:
                    corners = np.concatenate([at_place[number][None], path])
                    if grid.has_floors:
                        path, _, along = grid.laid_on_floors(corners, np.array([0, len(corners)]))
                        length[number] = along[0]
                    else:
                        length[number] = hypots(*np.diff(corners, axis=0).T).sum()
                    paths[number] = path
        self.forget(answers.entity)
        start = np.cumsum([0, *(len(path) for path in paths)]).astype(np.int64)
        return dataclasses.replace(answers, start=start, waypoint=np.concatenate(paths), length=length)

    def _joined(
        self, place: int, need: float, position: Places, path: Places, stationary: Places
    ) -> Places | None:
        """Return a path from where an agent is; None if it does not get back to where its search began."""
        planner = self.planner
        trail = np.zeros((int(self._table["known"][place]) + 1) * self._side * self._side + 1, dtype=np.int32)
        out = np.empty((len(trail) + len(path) + SHORT_CUT + 3, 2))
        discs, begin = (
            StationaryDiscs(stationary, 0, len(stationary), float(planner.parameters.obstacle_radius_share)),
            self._table["begin"][place],
        )
        count = join_over_cells(
            self._grid(),
            need,
            position,
            begin,
            self._guess(),
            place,
            path,
            discs,
            self._slots,
            self._patches,
            trail,
            out,
        )
        planner.owe(int(self._slots.header[0, EXPANSIONS]))
        return out[:count].copy() if count >= 0 else None

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all guesses as named arrays."""
        return {name: array.copy() for name, array in {"entity": self._entity, **self._table}.items()}

    def restore(self, state: Arrays | Saved, waiting: NDArray[np.int64]) -> None:
        """Take back what `state()` gave; `waiting`, (k,), are the agents that wait for a path."""
        saved, grid = Saved.of(state), self.planner.grid
        stride, nodes = grid.width + 2, (grid.width + 2) * (grid.depth + 2)
        entity = saved.take("entity", "i8", low=1, high=MOST)
        count = len(entity)
        saved.require(ascends(entity), "entity", "entity ids have to ascend")
        saved.require(np.isin(entity, waiting), "entity", "has an agent that waits for no path")
        begin = saved.take("begin", "f8", (count, 2), low=-FARTHEST_M, high=FARTHEST_M)
        leads = saved.take("leads", "u1", (count,), high=1)
        known = saved.take("known", "i8", (count,), low=0, high=MOST)
        patch = saved.take("patch", "i4", (count, None), low=-1, high=nodes - 1)
        most = patch.shape[1]
        saved.require(most >= LEAST_PATCHES, "patch", "has no room")
        saved.require(known <= most, "known", f"there is room for {most} patches")
        used = np.arange(most) < known[:, None]
        parent = saved.take("parent", "i4", (count, most), low=GIVEN_UP, high=most - 1)
        saved.require((parent < known[:, None]) | ~used, "parent", "there is no such patch")
        entry, origin = (
            saved.take(name, "i4", (count, most), low=-1, high=nodes - 1) for name in ("entry", "origin")
        )
        at = saved.take("at", "i8", (count,), low=NOWHERE, high=known - 1)
        to, cell, last = (
            saved.take(name, "i8", (count,), low=low, high=nodes - 1)
            for name, low in (("to", TO_GOAL), ("cell", NOWHERE), ("last", NOWHERE))
        )
        since = saved.take("since", "i8", (count,), low=0, high=MOST_TICKS)

        def inner(node: NDArray[Any]) -> NDArray[np.bool_]:
            """Return which nodes are cells of the grid, and not on its rim."""
            column = node % stride
            return (node >= stride) & (node < nodes - stride) & (column > 0) & (column < stride - 1)

        saved.require(inner(entry) | ~used, "entry", "is on no cell")
        saved.require(inner(origin) | ~used, "origin", "is on no cell")
        saved.require(inner(to) | (to < 0), "to", "is on no cell")
        saved.require(inner(last) | (at < 0), "last", "is on no cell")
        self._entity, self._most = entity, most
        guess = CellGuess(to, at, cell, last, since, known, patch, parent, entry, origin)
        self._table = {"begin": begin, "leads": leads, **guess._asdict()}
