"""What paths are to the tick: requested, taken, followed, lost, joined, measured and saved,
whatever they are made of.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.mesh.group_ground import GroupGround
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.saved import Arrays, Saved
from crowdsim.scenario.parameters import Chosen
from crowdsim.setup.build import Built, OwnGround, kept_off, own_ground, planner_of
from crowdsim.setup.hiding import watching_groups
from crowdsim.systems.base.slices import Budget, Progress, Slicer, Wish
from crowdsim.systems.base.system import GroundChange, Tick
from crowdsim.systems.paths.asking import Asking
from crowdsim.systems.paths.lost_paths import WALKS, ask_anew, forget_path, wish_to_replan
from crowdsim.systems.paths.watch import Watch
from crowdsim.world.columns import AgentState, PathStatus, ReplanCause
from crowdsim.world.events import EventKind
from crowdsim.world.states import NO_PATH, WALKING
from crowdsim.world.world import World

# So many agents count as one expansion when a planner is told of them, before their requests are made: each
# takes some 50 ns.
TOLD_AS_ONE = 8


class SearchTask:
    """The requests and the searches of one planner as a task: it is there while agents wait for their paths
    ([Norberg 2004], section 3.3).

    Requests are made where fewer are open than a quarter of a slice, by half of a slice: more than it can
    answer, and so few that requests, which take as long as some answers when there are very many, come when
    there is use for them. Those for one goal follow each other, so that the trees that they share are
    needed one after the other, too.

    Parameters
    ----------
    name : str
        Of the task; one for each planner of a world.
    planner : object
        With `advance(budget, team, counts_answers)`, which returns answers and the expansions made, `spent`,
        `waiting` and `oldest_tick`.
    asking : Asking
        Agents for which requests are to be made.
    paths : Paths
        Whose requests these are: tells the planner of agents (`settle`), and makes their requests (`submit`).
    take : callable
        Called with the tick and the answers of each slice that has some: what is done with them is on the
        account of the slice.
    tasks : Slicer
    counts_answers : bool
        Whether a slice is so much work, requests and answers counted, or so many expansions.
    is_timed : bool
        Whether a clock decides, or has: slices of several times their size are worked through in rounds of
        one, and end after the expansions of one, or half as many more. An expansion takes several times as
        long as other work that counts as much; so what a slice takes can be told from the one before.
    """

    counts = ("expansions", "expansions_granted", "slices", "requests_open", "oldest_request_ticks")

    def __init__(
        self,
        name: str,
        planner: Any,
        asking: Asking,
        paths: Paths,
        take: Callable[[Tick, Any], None],
        tasks: Slicer,
        counts_answers: bool = False,
        is_timed: bool = False,
    ) -> None:
        self.name, self.expansions, self.counts_answers, self.is_timed = name, 0, counts_answers, is_timed
        self._planner, self._take, self._tasks = planner, take, tasks
        self._asking, self._paths, self._has_begun = asking, paths, False
        self._tick: Tick | None = None

    @property
    def settles(self) -> bool:
        """Whether requests are made in slices: they count, and nothing of them depends on the slices."""
        return self.counts_answers and bool(self._planner.settles)

    @property
    def waiting(self) -> int:
        """Requests without an answer, made or to be made."""
        return int(self._planner.waiting) + len(self._asking)

    def take(self, planner: Any) -> None:
        """Search with another planner, which has no requests yet."""
        self._planner = planner
        self._asking.tell_anew()
        self._tasks.remove(self.name)

    def register(self, tick: Tick) -> None:
        """Register the task if there is something to search for."""
        self._tick, self.expansions, self._has_begun = tick, 0, False
        if self.waiting and self.name not in self._tasks:
            self._tasks.add(self.name, self._slice, due=tick.number)

    def oldest_tick(self, now: int) -> int:
        """Return the tick of the oldest request without an answer; `now` if there is none."""
        return min(int(self._planner.oldest_tick(now)), self._asking.oldest_tick(now))

    def ask(self, tick: Tick, most: int) -> int:
        """Do at most so much work on requests, at least 1: tell the planner of those next in line, and make
        theirs; return the work. A request that counts as more than is left is made, and paid for in parts.

        Requests for many goals are made in one call, as far as they have come in one tick: a call by itself
        takes as long as hundreds of requests. Agents in line that were sent elsewhere may stand behind others
        with the same goal: of those the planner is told once requests of the former are made, so that what
        they share does not depend on how many are made at a time.
        """
        asking, paths, each = self._asking, self._paths, int(self._planner.request_work)
        left, told, asked, come = most, list[NDArray[np.int64]](), list[NDArray[np.int64]](), -1
        goal, goals = paths.world.agents.goal, set[int]()
        while left > 0 and len(asking):
            if asking.is_told:
                rows, come = asking.next(max(1, left // each))
                asked.append(rows)
                goals.add(int(goal[rows[0]]))
                left -= each * len(rows)
                continue
            rows = asking.to_tell(goal, TOLD_AS_ONE * left)
            if asked and (asking.oldest_tick(come) != come or int(goal[rows[0]]) in goals):
                self._make(tick, told, asked, come)
                told, asked, goals = [], [], set()
            told.append(rows)
            left -= len(rows) // TOLD_AS_ONE
        self._make(tick, told, asked, come)
        asking.owed += max(0, -left)
        return most - max(0, left)

    def _make(
        self, tick: Tick, told: list[NDArray[np.int64]], asked: list[NDArray[np.int64]], since: int
    ) -> None:
        """Tell the planner of agents, lists of (k,) rows, and make requests of those that have come in one
        tick.
        """
        if told:
            self._paths.settle(np.concatenate(told))
        if not asked:
            return
        if not self._has_begun:
            self._paths.begin(tick)
            self._has_begun = True
        self._paths.submit(tick, np.concatenate(asked), since, settled=True)

    def _slice(self, most: int) -> Progress:
        tick, planner, size = self._tick, self._planner, most
        assert tick is not None
        if self.is_timed:
            size = min(most, self._tasks.slice_size)
            if getattr(planner, "has_rounds", False):
                planner.round_work = size
            else:
                most = size
        answered, used = 0, min(self._asking.owed, most)
        self._asking.owed -= used
        if used < most and len(self._asking) and planner.waiting <= size // 4:
            used, most = used + self.ask(tick, max(1, (size - used) // 2)), size
        if used < most and planner.waiting:
            answers, made = planner.advance(most - used, tick.team, counts_answers=self.counts_answers)
            self.expansions += made
            used += planner.spent
            answered = len(answers.entity)
            if answered:
                self._take(tick, answers)
        if not self.waiting:
            return Progress(used, Wish.DONE)
        return Progress(used, Wish.GO_ON if used or answered else Wish.NEXT_TICK)

    def restored(self, tick: int) -> None:
        """Register the task, or take it off, as the requests of a planner that was restored want it."""
        self._tasks.remove(self.name)
        if self.waiting or self.name in self._tasks.expected:
            self._tasks.add(self.name, self._slice, due=tick)


def search(tick: Tick, budget: Budget, tasks: Sequence[SearchTask]) -> None:
    """Let all planners of a world search, with the slices of one tick for all of them, and count.

    Parameters
    ----------
    tick : Tick
    budget : Budget
    tasks : sequence of SearchTask
        All that there are: what is granted is granted once a tick.
    """
    for task in tasks:
        task.register(tick)
    spent = budget.spend(tick.number)
    tick.counts["expansions"] = sum(task.expansions for task in tasks)
    tick.counts["expansions_granted"] = spent.granted
    tick.counts["slices"] = spent.slices
    tick.counts["requests_open"] = sum(task.waiting for task in tasks)
    tick.counts["oldest_request_ticks"] = tick.number - min(task.oldest_tick(tick.number) for task in tasks)


def require_open(saved: Saved, world: World, entities: Sequence[int], mine: NDArray[np.bool_]) -> None:
    """Refuse requests of others than agents that are there and that the planner plans for, (n,) bool."""
    own = world.agents.entity[mine & (world.agents.activity != AgentState.OBSTACLE)]
    strangers = np.setdiff1d(np.array(entities, dtype=np.int64), own)
    saved.require(
        not len(strangers),
        "",
        f"has a request of {strangers[:1].tolist()}, which is no agent that it plans for",
    )


@lean_kernel
def find_asking(start, stop, activity, path_status, goal, out):
    """Write which agents of a range walk to a goal and have no path, nor wait for one, (n,) bool; return how
    many.

    All others are columns of agents. Twin: `tests/reference/rows.py`.
    """
    count = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        out[row] = activity[row] == WALKING and path_status[row] == NO_PATH and goal[row] >= 0
        count += out[row]
    return count


class Paths(ABC):
    """The paths of the agents of some groups, found by one planner.

    Parameters
    ----------
    built : Built
    chosen : Chosen
        How they are found, one of `Scenario.navigations`.
    budget : Budget
        Says how far its searches get in a tick.
    groups : (groups,) bool or None
        Those that it plans for; None is all.
    name : str
        Of the searches as a task, one for each planner of a world.

    Attributes
    ----------
    planner : object
        Answers requests; see `crowdsim.navigation.planning.protocol.Planner`.
    searches : SearchTask
    own : OwnGround
        The ground as the planner knows it.
    watch : Watch or None
        Where the agents are that these hide from.
    keeps_previous : bool
        Whether agents keep to the corridors that they have until they have others.
    """

    keeps_previous = False

    def __init__(
        self,
        built: Built,
        chosen: Chosen,
        budget: Budget,
        groups: NDArray[np.bool_] | None,
        name: str,
    ) -> None:
        self.world, self.groups, self._found_by = built.world, groups, (built, chosen)
        watching = watching_groups(built.scenario.groups, chosen)
        self.watch = Watch(built, chosen, watching) if watching is not None else None
        self._kept_off_on: NavMesh | None = None
        self._kept_off: GroupGround | None = None
        self.planner: Any = self.make_planner()
        self.asking = Asking()
        self.searches = SearchTask(
            name, self.planner, self.asking, self, self._answered, budget.tasks, budget.counts_answers,
            budget.is_timed,
        )  # fmt: skip

    def make_planner(self) -> Any:
        """Return a planner for the ground and the goals that the world has now."""
        self.own = self.look_at_ground(None)
        return self.new_planner()

    def new_planner(self) -> Any:
        """Return a planner for the ground as it was looked at last."""
        planner, world = planner_of(*self._found_by, self.own), self.world
        if len(world.destinations):
            planner.take_goals(world.goals, np.arange(world.destinations.fixed, len(world.goals.reach)))
        return planner

    def look_at_ground(self, team: Team | None) -> OwnGround:
        """Return the ground as the planner is to know it now."""
        watchers = self.watch.watchers(self.world.mesh) if self.watch is not None else None
        return own_ground(*self._found_by, watchers, team)

    def look_at_watchers(self, tick: Tick) -> None:
        """Hide from watchers where they are now, if they have moved and it is time to look."""
        if self.watch is None or not self.watch.look(tick.number, self.world):
            return
        self.own = self.look_at_ground(tick.team)
        self.weigh_anew()
        agents, mine = self.world.agents, self.mine()
        ask_anew(agents, mine & (agents.path_status == PathStatus.PENDING))
        wish_to_replan(agents, mine & np.isin(agents.path_status, WALKS), ReplanCause.WATCHED)

    @abstractmethod
    def weigh_anew(self) -> None:
        """Search by what metres cost on the ground that is `own` now; those that wait ask again."""

    def take_goals(self, changed: NDArray[np.int64]) -> None:
        """Search for the goals that the world has now, of which some, (k,), have changed."""
        self.planner.take_goals(self.world.goals, changed)

    @property
    def foresees(self) -> bool:
        """Whether its planner can prepare for other ground."""
        return hasattr(self.planner, "foresee")

    def foresee(self, mesh: NavMesh) -> None:
        """Prepare for a mesh on which the world will stand; where paths are kept off some of it, that is
        known only then.
        """
        if self.own.filtered is None:
            self.planner.foresee(mesh)

    @property
    def kept_off(self) -> GroupGround | None:
        """The polygons that there are now, as its agents may use them, where their paths are kept off some;
        else None. Not what `own` has: planners on cells keep that of polygons that have gone.
        """
        if self._kept_off_on is not self.world.mesh:
            self._kept_off_on, self._kept_off = self.world.mesh, kept_off(*self._found_by)
        return self._kept_off

    def mine(self) -> NDArray[np.bool_]:
        """Return (n,) bool: which agents are of its groups."""
        return self.world.of_groups(self.groups)

    def ask(self, tick: Tick) -> None:
        """Let agents ask for paths that walk and have none: at once, or in slices where requests are work."""
        agents, asking = self.world.agents, self.asking
        sent = asking.stay(agents, self.keeps_previous)
        if len(sent):
            self.line_up(sent)
        wants = np.empty(len(agents), dtype=np.bool_)
        found = tick.team.run(
            find_asking, len(agents), agents.activity, agents.path_status, agents.goal, wants
        )
        if not sum(found):
            return
        rows = np.flatnonzero(wants & self.mine())
        if not len(rows):
            return
        if not self.searches.settles:
            self.begin(tick)
            self.submit(tick, rows, tick.number)
            return
        if self.planner.waiting:
            self.planner.drop(agents.entity[rows])
        self.line_up(rows)
        asking.join(agents, rows, tick.number, len(self.world.goals.reach), self.keeps_previous)

    def begin(self, tick: Tick) -> None:  # noqa: B027 -- most need nothing
        """Prepare for the requests of a tick, before the first of them."""

    def line_up(self, rows: NDArray[np.int64]) -> None:  # noqa: B027 -- most need nothing
        """Take notice that agents, (k,) rows, wait whose requests are made later."""

    def settle(self, rows: NDArray[np.int64]) -> None:
        """Tell the planner of agents, (k,) rows, whose requests are made next."""
        raise NotImplementedError

    def _answered(self, tick: Tick, answers: Any) -> None:
        agents = self.world.agents
        rows = np.searchsorted(agents.entity, answers.entity)
        # an agent that leaves is forgotten by the planner before
        assert (agents.entity[rows] == answers.entity).all()
        self.take(tick, answers, rows)

    def has_found(
        self, tick: Tick, rows: NDArray[np.int64], status: NDArray[np.uint8], length: NDArray[np.float64]
    ) -> None:
        """Note that paths were found for agents, (k,) rows, and how long they are (m)."""
        agents = self.world.agents
        place = np.zeros((len(rows), 2))
        place[:, 0] = length
        self.world.events.note(tick.number, EventKind.PATH_FOUND, agents.entity[rows], place, status)

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
    def submit(self, tick: Tick, rows: NDArray[np.int64], since: int, *, settled: bool = False) -> None:
        """Ask the planner for the paths of agents, (k,) rows, from where they are.

        Parameters
        ----------
        tick : Tick
        rows : (k,) int64
        since : int
            The tick since which they have wanted one.
        settled : bool
            Whether the planner has been told of them, and of all that have come with them and want the same.
        """

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

    def keep(self, rows: NDArray[np.int64], goal: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Let agents, (k,) rows, keep paths that lead to other goals, (k,), too; return which do, (k,):
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

    def put_elsewhere(self, rows: NDArray[np.int64]) -> None:  # noqa: B027 -- most know paths by columns
        """Forget where agents, of its groups or not, walked: they have been put elsewhere."""

    def astray(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which of some agents, of its groups or not, can get back to their paths by another path
        only, though no wall is in their line: none, if not said otherwise.
        """
        return rows[:0]

    @abstractmethod
    def stand_on(self, tick: int, change: GroundChange, team: Team) -> None:
        """Search on another ground from now on; agents that wait for a path ask again."""

    @property
    def widest_agent(self) -> float:
        """The greatest radius (m) that paths can be found for."""
        return np.inf

    def watch_state(self) -> dict[str, NDArray[Any]]:
        """Return where watchers were when these looked at them last; nothing where there are none."""
        return {} if self.watch is None else self.watch.state()

    def restore_watch(self, saved: Saved) -> None:
        """Take back what `watch_state()` gave."""
        if self.watch is not None:
            self.watch.restore(saved, self.world.mesh)
            self.own = self.look_at_ground(None)
            self.weigh_anew()

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives as named arrays."""

    @abstractmethod
    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave, to a world in which all agents are where they were."""
