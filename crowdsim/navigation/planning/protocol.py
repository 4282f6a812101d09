"""What every planner does: the protocol that the tick, the scenario and one contract test over all planners
rely on; what it searches, and what paths it finds when it is asked outside of a tick.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.old_names import note_old_name
from crowdsim.saved import Arrays, Saved

# What an answer counts as, in expansions, besides one for each of its portals: copying it out of a tree,
# joining it with a guess and measuring it takes 17 to 26 us for 36 portals, in an alarm of 20,000 agents, as
# long as some 46 expansions of a search over points of portals.
ANSWER_WORK = 10


@dataclass(frozen=True)
class Answers:
    """Searches that ended, in the order of the requests.

    Attributes
    ----------
    entity : (k,) int64
    status : (k,) uint8
        FOUND, FOUND_THROUGH_AGENTS, UNREACHABLE or OUT_OF_NODES.
    piece : (k,) int32
        Piece of the goal at the end; -1 unless found.
    start : (k + 1,) int64
    portals : (m,) int32
        Corridor i is ``portals[start[i]:start[i + 1]]``, goal's end first.
    """

    entity: NDArray[np.int64]
    status: NDArray[np.uint8]
    piece: NDArray[np.int32]
    start: NDArray[np.int64]
    portals: NDArray[np.int32]

    @property
    def cells(self) -> NDArray[np.int32]:
        """The portals, by their name of before."""
        note_old_name("Answers.cells", "Answers.portals")
        return self.portals


# which agent asked from where (m)
START = np.dtype([("entity", "i8"), ("x", "f8"), ("y", "f8"), ("polygon", "i4")])


def starts_of(requests: NDArray[Any]) -> NDArray[Any]:
    """Return what of requests is in `START`."""
    found = np.zeros(len(requests), dtype=START)
    for name in START.names or ():
        found[name] = requests[name]
    return found


class Planner(Protocol):
    """Answers requests for paths with corridors on the mesh, under a budget of expansions.

    The answer to a request depends on the mesh, the goals, and the requests made before it: neither on
    budgets, nor on threads, nor on a save in between.

    Attributes
    ----------
    prices : bool
        Whether `submit` takes portals that cost more, and their price, too.
    heeds_standing : bool
        Whether it wants to know which agents are stationary, before requests are made, by a method `stand`.
    settles : bool
        Whether requests may be made in parts: whatever of them depends on the requests made with them is
        settled by calls of a method `settle(entity, goal, radius)` for all of these, and `submit` takes
        ``settled=True`` then.
    request_work : int, expansions
        What a request counts as.
    spent : int, expansions
        Work that the last `advance` did: the expansions made, and what was paid for answers, if they count.

    Notes
    -----
    One that says `has_rounds` heeds `round_work`: `advance` hands out so much work at a time, and ends after
    so many expansions, or half as many more, however much it may do. Where a clock decides, it may do several
    slices at once then.
    """

    prices: bool
    heeds_standing: bool
    settles: bool
    request_work: int
    spent: int

    @property
    def waiting(self) -> int:
        """Requests that have not been answered."""

    @property
    def starts(self) -> NDArray[Any]:
        """The requests that have not been answered: records of the type `START`."""

    def oldest_tick(self, default: int) -> int:
        """Return the tick at which the oldest unanswered request was made; `default` if there is none."""

    def submit(
        self,
        tick: int,
        entity: NDArray[np.int64],
        position: NDArray[np.float64],
        polygon: NDArray[np.int64],
        goal: NDArray[np.int32],
        radius: NDArray[np.float64],
    ) -> None:
        """Ask for paths; a new request of an agent withdraws the one before.

        Parameters
        ----------
        tick : int
            Now.
        entity : (k,) int64
        position : (k, 2) float64, m
        polygon : (k,) int64
        goal : (k,) int32
        radius : (k,) float64, m
        """

    def expect(self, count: int) -> None:
        """Make room for so many requests, which come in parts."""

    def drop(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that left or changed their mind."""

    def take_goals(self, goals: GoalPieces, changed: NDArray[np.int64]) -> None:
        """Search for other goals from now on, on the same mesh.

        Parameters
        ----------
        goals : GoalPieces
            Those before, with their numbers, and perhaps more behind them.
        changed : (k,) int64
            Those that are new, or are points that lie elsewhere now, ascending. Nothing waits for a path to
            one of these.
        """

    def advance(self, budget: int, team: Team, *, counts_answers: bool = True) -> tuple[Answers, int]:
        """Do at most so much work, in expansions: search, and pay for answers if they count, since what is
        done with them takes time however they were found; return what ended and the expansions made.

        An answer that counts as more than is left is paid for in parts, and comes when all is paid.
        """

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives in the planner as named arrays."""

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave to a planner on the same mesh and goals.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """


ALL = 1 << 40  # a budget with which every search comes to its end


class Asked(NamedTuple):
    """Paths that are asked for, outside of a tick: of n agents, each as if it were alone.

    Attributes
    ----------
    mesh : NavMesh
    goals : GoalPieces
    position : (n, 2) float64, m
    polygon : (n,) int64
    goal : (n,) int32
    radius : (n,) float64, m
    """

    mesh: NavMesh
    goals: GoalPieces
    position: NDArray[np.float64]
    polygon: NDArray[np.int64]
    goal: NDArray[np.int32]
    radius: NDArray[np.float64]


class Line(NamedTuple):
    """A part of a path, on one floor.

    Attributes
    ----------
    row : int
        Which of the agents that asked.
    layer : int
        Floor.
    points : (k, 2) float64, m
        Arcs round corners are chords of at most 22.5 degrees.
    """

    row: int
    layer: int
    points: NDArray[np.float64]


class FoundPaths(ABC):
    """What a planner found.

    Attributes
    ----------
    piece : (n,) int32
        Piece of the goal at the end; -1 where there is no path.
    """

    piece: NDArray[np.int32]

    @abstractmethod
    def lengths(self, *, in_time: bool = False) -> NDArray[np.float64]:
        """Return how long the paths are, (n,) float64, m; inf where there is none.

        Parameters
        ----------
        in_time : bool
            Give not lengths along the surface, but how far one would go in the same time on level ground.
        """

    @abstractmethod
    def lines(self) -> list[Line]:
        """Return the paths as lines, those of each agent from its start on; none where it has no path."""


@dataclass(frozen=True)
class SearchSpace:
    """What planners search: portals of a mesh, or cells of a grid.

    Attributes
    ----------
    find : callable
        Asks an idle planner for paths, without a budget: makes `FoundPaths` of a planner and what is `Asked`.
    least_work, work_an_agent : int
        Expansions a tick if the scenario names none: of small crowds, and of larger ones for each agent.
    scarce_work : int
        Expansions a tick with which some agents of a small scene wait for a few ticks, and some get a path.
    owners : tuple of dataclasses
        The parameters that all planners of this space have, after their own.
    """

    find: Callable[[Any, Asked], FoundPaths]
    least_work: int
    work_an_agent: int
    scarce_work: int
    owners: tuple[type, ...]
