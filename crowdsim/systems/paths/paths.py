"""What paths are to the tick: requested, taken, followed, lost, joined, measured and saved,
whatever they are made of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.threads import Team
from crowdsim.saved import Arrays, Saved
from crowdsim.systems.base.ground_changes import GroundChange
from crowdsim.systems.base.slices import Budget, SearchTask
from crowdsim.systems.base.system import Tick
from crowdsim.systems.paths.lost_paths import ask_anew
from crowdsim.systems.paths.progress import forget_path
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import EventKind
from crowdsim.world.world import World


class Paths(ABC):
    """The paths of the agents of some groups, found by one planner.

    Parameters
    ----------
    world : World
    planner : object
        Answers requests; see `crowdsim.navigation.planning.protocol.Planner`.
    budget : Budget
        Says how far its searches get in a tick.
    groups : (groups,) bool, optional
        Those that it plans for; all by default.
    name : str
        Of the searches as a task, one for each planner of a world.

    Attributes
    ----------
    searches : SearchTask
    """

    def __init__(
        self,
        world: World,
        planner: Any,
        budget: Budget,
        groups: NDArray[np.bool_] | None = None,
        name: str = "searches",
    ) -> None:
        self.world, self.groups = world, groups
        self.planner: Any = planner
        self.searches = SearchTask(name, planner, self._answered, budget.tasks, budget.counts_answers)

    def mine(self) -> NDArray[np.bool_]:
        """Return (n,) bool: which agents are of its groups."""
        return self.world.of_groups(self.groups)

    def ask(self, tick: Tick) -> None:
        """Ask for the paths of agents that walk and have none."""
        agents = self.world.agents
        wants = (
            (agents.activity == AgentState.WALKING)
            & (agents.path_status == PathStatus.NONE)
            & (agents.goal >= 0)
        )
        rows = np.flatnonzero(wants & self.mine())
        if len(rows):
            self.submit(tick, rows)

    def _answered(self, tick: Tick, answers: Any) -> None:
        agents = self.world.agents
        rows = np.searchsorted(agents.entity, answers.entity)
        # an agent that leaves is forgotten by the planner before
        assert np.array_equal(agents.entity[rows], answers.entity)
        self.take(tick, answers, rows)

    def has_found(
        self, tick: Tick, rows: NDArray[np.int64], status: NDArray[np.uint8], length: NDArray[np.float64]
    ) -> None:
        """Note that paths were found for agents, (k,) rows, and how long they are (m)."""
        agents = self.world.agents
        self.world.events.note(
            tick.number,
            EventKind.PATH_FOUND,
            agents.entity[rows],
            np.column_stack([length, np.zeros(len(rows))]),
            status,
        )

    def give_up(self, tick: Tick, rows: NDArray[np.int64], status: NDArray[np.uint8]) -> None:
        """Let agents, (k,) rows, stand because there is no path for them; `status` says why."""
        agents = self.world.agents
        agents.path_status[rows] = status
        agents.activity[rows] = AgentState.STANDING
        self.world.events.note(
            tick.number, EventKind.UNREACHABLE, agents.entity[rows], agents.position[rows], status
        )

    def lose(self, rows: NDArray[np.int64]) -> None:
        """Take the paths of some of its agents, which are sent elsewhere,
        but for those that keep to them until they have another.
        """
        agents = self.world.agents
        forget_path(agents, rows)
        self.let_go(rows)
        ask_anew(agents, rows)

    @abstractmethod
    def submit(self, tick: Tick, rows: NDArray[np.int64]) -> None:
        """Ask the planner for the paths of agents from where they are."""

    @abstractmethod
    def take(self, tick: Tick, answers: Any, rows: NDArray[np.int64]) -> None:
        """Set agents on the paths that were found, joined with what they have walked since they asked."""

    @abstractmethod
    def follow(self, tick: Tick) -> float:
        """Set the preferred velocities of its agents; return how many walk on guesses."""

    @abstractmethod
    def let_go(self, rows: NDArray[np.int64]) -> None:
        """Have the paths of agents end where they are, but for those that keep to them until they have
        another.
        """

    def keep(self, rows: NDArray[np.int64], goal: int) -> NDArray[np.bool_]:
        """Let agents, (k,) rows, keep paths that lead to another goal, too; return which do, (k,):
        none, if not said otherwise.
        """
        return np.zeros(len(rows), dtype=np.bool_)

    @abstractmethod
    def forget(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that changed their mind."""

    @abstractmethod
    def too_narrow(self, row: int, radius: float, before: float) -> bool:
        """Return whether the path of an agent does not serve any more after its radius (m) has changed."""

    def forget_targets(self, rows: NDArray[np.int64]) -> None:  # noqa: B027 -- most search for every request
        """Forget what agents, of its groups or not, asked for:
        they look for a path even to the same target.
        """

    @abstractmethod
    def stand_on(self, tick: int, change: GroundChange, team: Team) -> None:
        """Search on another ground from now on; agents that wait for a path ask again."""

    @property
    def widest_agent(self) -> float:
        """The greatest radius (m) that paths can be found for."""
        return np.inf

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives as named arrays."""

    @abstractmethod
    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave, to a world in which all agents are where they were."""
