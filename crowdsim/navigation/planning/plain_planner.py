"""A base for planners in plain Python: a search is a generator, and all else is done here.

For planners that are tried out, and for plug-ins: a search in Python is some hundred times slower than one
that is compiled.
"""

from __future__ import annotations

import traceback
from abc import abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.goals.targets import targets_of
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planning.protocol import ANSWER_WORK
from crowdsim.navigation.planning.request_queue import RequestQueue
from crowdsim.navigation.planning.serve import serve
from crowdsim.navigation.planning.slot_planner import SlotPlanner
from crowdsim.navigation.planning.work import Work
from crowdsim.navigation.search.slot_fields import FOUND, UNREACHABLE
from crowdsim.saved import WIDEST_M, Arrays, Saved

BATCH = 16  # Requests that are taken at a time.
FIELDS = [("goal", "i4"), ("polygon", "i4"), ("radius", "f8")]  # of requests, beside those that every one has


class Request(NamedTuple):
    """What an agent asks for.

    Attributes
    ----------
    entity : int
    x, y : float, m
        Where it is.
    polygon : int
        Of the mesh, in which that is.
    goal : int
    radius : float, m
        Of the agent.
    """

    entity: int
    x: float
    y: float
    polygon: int
    goal: int
    radius: float


class Path(NamedTuple):
    """A path that was found.

    Attributes
    ----------
    piece : int
        Of the goal, at its end.
    portals : list of int
        Half-edges through which it leaves one polygon after the other, the first one first.
    """

    piece: int
    portals: list[int]


@dataclass(frozen=True)
class NoParameters:
    """Nothing can be tuned."""


class PlainPlanner(SlotPlanner):
    """A planner whose searches are generators.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    parameters : instance of `Parameters`

    Attributes
    ----------
    target : (np, 2) float64, m
        A point in each piece of the goals.
    """

    settles = True
    name: ClassVar[str] = ""
    Parameters: ClassVar[type] = NoParameters

    def __init__(self, mesh: NavMesh, goals: GoalPieces, parameters: Any = None) -> None:
        self.mesh, self.goals, self.parameters = (
            mesh,
            goals,
            parameters if parameters is not None else self.Parameters(),
        )
        self.target = targets_of(goals)
        out = lazy_zeros((1, max(1 << 14, mesh.edge_count)), np.int32)
        super().__init__(RequestQueue(FIELDS, 1, 0, BATCH, BATCH, out), ANSWER_WORK, 1)
        self._search: Generator[None, None, Path | None] | None = None
        self._request = Request(0, 0.0, 0.0, 0, 0, 0.0)
        self._path: Path | None = None
        self._made = 0
        parts = {"begin": self._begin, "advance": self._advance, "finish": self._finish}
        self._serve_loop = FunctionType(serve.__code__, {**serve.__globals__, **parts})

    @abstractmethod
    def search(self, request: Request) -> Generator[None, None, Path | None]:
        """Search for a path: ``yield`` after each expansion, ``return`` a `Path`,
        or None where there is none.

        What is found depends on the request, the mesh, the goals and the parameters alone: a search that was
        saved is done again.
        """

    def take_goals(self, goals: GoalPieces, changed: NDArray[np.int64]) -> None:
        """Search for other goals from now on; see `Planner.take_goals`."""
        self.goals, self.target = goals, targets_of(goals)

    def pieces(self, goal: int) -> range:
        """Return the pieces of a goal."""
        return range(int(self.goals.goal_start[goal]), int(self.goals.goal_start[goal + 1]))

    def submit(
        self,
        tick: int,
        entity: NDArray[np.int64],
        position: NDArray[np.float64],
        polygon: NDArray[np.int64],
        goal: NDArray[np.int32],
        radius: NDArray[np.float64],
        settled: bool = False,
    ) -> None:
        """Ask for paths; see `Planner.submit`. No request depends on another, `settled` or not."""
        fresh = self._fresh(tick, entity, position, goal=goal, polygon=polygon, radius=radius)
        self.queue.submit(len(fresh))

    def settle(self, entity: NDArray[np.int64], goal: NDArray[np.int32], radius: NDArray[np.float64]) -> None:
        """Take no notice of requests that are going to be made."""

    def _begin(self, search: Any, work: Work, slot: int, job: int) -> int:
        request = work.requests[job]
        self._request = Request(*(request[name].item() for name in Request._fields))
        self._search, self._path, self._made = self.search(self._request), None, 0
        return 0

    def _advance(self, search: Any, slot: int, grant: int) -> int:
        made = 0
        while self._search is not None and made < grant:
            made += 1
            try:
                next(self._search)
            except StopIteration as end:
                self._search, self._path = None, end.value
                self._check()
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                raise NavigationError(
                    f'the planner "{self.name}" raised an error for agent {self._request.entity}, at '
                    f"{last.filename}:{last.lineno}: "
                    f"{type(error).__name__}: {' '.join(str(error).split())}"
                ) from error
        self._made += made
        return made

    def _check(self) -> None:
        """Refuse a path that does not lead from the start of its request to the goal."""
        if self._path is None:
            return
        mesh, request, answer = (
            self.mesh,
            self._request,
            f'the planner "{self.name}" answers agent {self._request.entity} with a path',
        )
        if self._path.piece not in self.pieces(request.goal):
            raise NavigationError(
                f"{answer} to piece {self._path.piece}, but its goal has {list(self.pieces(request.goal))}."
            )
        here = request.polygon
        for place, portal in enumerate(self._path.portals):
            if (
                not 0 <= portal < mesh.edge_count
                or mesh.edge_twin[portal] < 0
                or mesh.edge_polygon[portal] != here
            ):
                raise NavigationError(
                    f"{answer} whose portal {place}, half-edge {portal}, does not lead out of polygon {here}."
                )
            here = int(mesh.edge_polygon[mesh.edge_twin[portal]])
        if here != self.goals.piece_polygon[self._path.piece]:
            raise NavigationError(
                f"{answer} that ends in polygon {here}, but the piece is in "
                f"{self.goals.piece_polygon[self._path.piece]}."
            )

    def _finish(self, search: Any, work: Work, slot: int, job: int) -> int:
        count = len(self._path.portals) if self._path is not None else 0
        if self._search is not None or work.fill[slot] + count > work.out.shape[1]:
            return -1
        work.status[job], work.piece[job] = (
            (UNREACHABLE, -1) if self._path is None else (FOUND, self._path.piece)
        )
        if self._path is not None:
            work.out[slot, work.fill[slot] : work.fill[slot] + count] = self._path.portals[::-1]
        return count

    def _serve(self, team: Team, work: Work) -> None:
        self._serve_loop(0, len(work.turn), None, work)

    def _progress(self) -> dict[str, NDArray[Any]]:
        return {"made": np.where(self.queue.is_active, self._made, 0)}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave: the search in the middle is begun
        again and does what it had done.
        """
        self._search, self._path, self._made = None, None, 0
        goals, polygons = len(self.goals.goal_start) - 1, self.mesh.polygon_count
        self._restore(
            Saved.of(state), {"goal": (0, goals - 1), "polygon": (0, polygons - 1), "radius": (0.0, WIDEST_M)}
        )
