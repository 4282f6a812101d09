"""What a system is: one step of the tick, with the columns that it reads and writes declared;
what it is made of, and what the systems of one tick share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.separate import Separator
from crowdsim.geometry.cells import Cells
from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.layout import Shut
from crowdsim.navigation.mesh.slopes import plan_shares
from crowdsim.old_names import Counts
from crowdsim.saved import Arrays, Saved
from crowdsim.scenario.model import Scenario
from crowdsim.setup.build import Built
from crowdsim.systems.base.slices import Budget
from crowdsim.world.columns import AgentColumns, Column
from crowdsim.world.entities import Processor
from crowdsim.world.world import World

P = TypeVar("P")


@dataclass
class Tick:
    """What the systems of one tick share.

    Attributes
    ----------
    number : int
    length : float, s
    team : Team
    counts : dict of str to float
        What was counted in this tick, by name; recorded.
    cells : Cells or None
        The neighbour index, from Index on.
    separator : Separator or None
        What has parted bodies, from Separate on: it knows how they overlapped then.
    limits : (n,) float64 or None, m/s
        How fast each agent goes at most to avoid others, from KeepTogether on; None: as fast as it can.
    reasons : record array or None
        What stood behind the choices of the agents that `record.explain` names, from Avoid on; see
        `crowdsim.avoidance.explain`.
    digests : (k,) uint64 or None
        Digests of the state at the end of the tick, from Record on.
    """

    number: int
    length: float
    team: Team
    counts: dict[str, float] = field(default_factory=Counts)
    cells: Cells | None = None
    separator: Separator | None = None
    limits: NDArray[np.float64] | None = None
    reasons: NDArray[Any] | None = None
    digests: NDArray[np.uint64] | None = None


@dataclass(frozen=True)
class GroundChange:
    """What systems that find paths have to know of a change of the ground.

    Attributes
    ----------
    closed : tuple of Shut
        Everything that is closed now; tiles that are out, too.
    has_opened : bool
        Whether something was closed before that is not now: agents that had no path may have one.
    is_new : bool
        False where a saved state is taken back: agents have heard of it then.
    """

    closed: tuple[Shut, ...]
    has_opened: bool
    is_new: bool = True


class KeepsFrames(Protocol):
    """What `Record` gives frames to."""

    def frame(self, tick: int, agents: AgentColumns) -> None:
        """Record a frame if this tick has one."""


@dataclass(frozen=True, eq=False)
class Setup:
    """What systems are made from; each takes from it what it needs (`System.from_setup`).

    Attributes
    ----------
    built : Built
        The world, and the scenario that it was made from.
    budget : Budget
        Says how much long work a tick does.
    team : Team
    recorder : KeepsFrames or None
        None where nothing is recorded.
    paths : tuple of Paths
        Of the groups, those of each kind of navigation apart.
    own : sequence of OwnSystem
        Systems of a user's own, which are made first.
    """

    built: Built
    budget: Budget
    team: Team
    recorder: KeepsFrames | None
    paths: tuple[Any, ...]
    own: Sequence[Any] = ()

    @property
    def world(self) -> World:
        """The world."""
        return self.built.world

    @property
    def scenario(self) -> Scenario:
        """The scenario."""
        return self.built.scenario

    def of_bodies(self, kind: type[P]) -> P:
        """Return those parameters of the section `bodies` that a system takes."""
        return self.scenario.bodies.parameters(kind)


@dataclass(frozen=True)
class NoParameters:
    """Nothing can be tuned."""


class System(Processor):
    """Base of all systems.

    Attributes
    ----------
    reads, writes : tuple of str
        Agent columns. A test runs each system and holds it to both; systems of a user's own are held to them
        in every tick.
    counts : tuple of str
        Names that the system adds to `Tick.counts` in every tick.
    after, before : class of systems, str or None
        Of a system of a user's own, one of both: where it stands in the tick (docs/develop/extending.md).
    columns : tuple of Column
        Of a system of a user's own: what it adds to the columns of agents.
    components : tuple of dataclasses
        Of a system of a user's own: classes of components that it gives to entities. They are saved and
        digested with it.
    Parameters : dataclass of tunables
        Of a system of a user's own: what a scenario can set. `parameters` holds the values.
    """

    reads: ClassVar[tuple[str, ...]] = ()
    writes: ClassVar[tuple[str, ...]] = ()
    counts: ClassVar[tuple[str, ...]] = ()
    after: ClassVar[type[System] | str | None] = None
    before: ClassVar[type[System] | str | None] = None
    columns: ClassVar[tuple[Column, ...]] = ()
    components: ClassVar[tuple[type, ...]] = ()
    Parameters: ClassVar[type] = NoParameters

    def __init__(self, world: World) -> None:
        self.world = world

    @classmethod
    def from_setup(cls, setup: Setup) -> System:
        """Make the system of what is set up."""
        return cls(setup.world)

    @property
    def name(self) -> str:
        """What the system is called in tables, recordings and checkpoints."""
        return type(self).__name__

    @property
    def is_idle(self) -> bool:
        """Whether there was nothing to do in the last tick, so that no column was written;
        a trace need not look then.
        """
        return False

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what lives in the system between ticks as named arrays; most systems keep nothing."""
        return {}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave.

        Raises
        ------
        SavedError
            If something in it cannot be; every `restore` says what each array may hold, by taking it from a
            `Saved`.
        """
        Saved.of(state).finish()

    @staticmethod
    def count_of(mask: NDArray[np.bool_]) -> float:
        """Return how many entries of a mask are true, as a count for `Tick.counts`."""
        return float(np.count_nonzero(mask))


class TickSystem(System):
    """A system of crowdsim's own: made of all that is set up, not of the world alone."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup.world)

    @classmethod
    def from_setup(cls, setup: Setup) -> TickSystem:
        """Make the system of what is set up."""
        return cls(setup)


def shares_in_plan(world: World, tick: Tick, velocity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how fast each agent goes in plan in the direction of `velocity`, (n, 2),
    as a share of its speed on level ground; shape (n,).
    """
    share = np.ones(len(velocity))
    if not world.is_even:
        tick.team.run(plan_shares, len(velocity), world.mesh, world.polygons(), velocity, share)
    return share


def ticks_of(seconds: float, tick_length: float) -> int:
    """Return a time in ticks, rounded up; what is a millionth of a tick more is rounding."""
    return max(0, int(np.ceil(seconds / tick_length - 1e-6)))
