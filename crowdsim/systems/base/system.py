"""What a system is: one step of the tick, with the columns that it reads and writes declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.mesh.slopes import plan_shares
from crowdsim.saved import Arrays, Saved
from crowdsim.systems.base.setup import Setup
from crowdsim.systems.base.tick import Tick
from crowdsim.world.columns import Column
from crowdsim.world.entities import Processor
from crowdsim.world.world import World

__all__ = ["System", "Tick"]


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
        """Make the system; those that need more than the world take it from the setup."""
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


def shares_in_plan(world: World, tick: Tick, velocity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how fast each agent goes in plan in the direction of `velocity`, (n, 2),
    as a share of its speed on level ground; shape (n,).
    """
    share = np.ones(len(velocity))
    if not world.is_even:
        tick.team.run(plan_shares, len(velocity), world.mesh, world.polygons(), velocity, share)
    return share
