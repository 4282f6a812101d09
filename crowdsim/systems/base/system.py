"""What a system is: one step of the tick, with the columns that it reads and writes declared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import esper
import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.cells import Cells
from crowdsim.kernels.threads import Team
from crowdsim.navigation.mesh.slopes import plan_shares
from crowdsim.saved import Arrays, Saved
from crowdsim.world.world import World


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
    reasons : record array or None
        What stood behind the choices of the agents that somebody asked about, from Avoid on; see `crowdsim.avoidance.explain`.
    digests : (k,) uint64 or None
        Digests of the state at the end of the tick, from Record on.
    """

    number: int
    length: float
    team: Team
    counts: dict[str, float] = field(default_factory=dict)
    cells: Cells | None = None
    reasons: NDArray[Any] | None = None
    digests: NDArray[np.uint64] | None = None


class System(esper.Processor):
    """Base of all systems.

    Attributes
    ----------
    reads, writes : tuple of str
        Agent columns. A test runs each system and holds it to `writes`.
    counts : tuple of str
        Names that the system adds to `Tick.counts` in every tick.
    """

    reads: ClassVar[tuple[str, ...]] = ()
    writes: ClassVar[tuple[str, ...]] = ()
    counts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def is_idle(self) -> bool:
        """Whether there was nothing to do in the last tick, so that no column was written; a trace need not look then."""
        return False

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what lives in the system between ticks as named arrays; most systems keep nothing."""
        return {}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave.

        Raises
        ------
        SavedError
            If something in it cannot be; every `restore` says what each array may hold, by taking it from a `Saved`.
        """
        Saved.of(state).finish()

    def of_groups(self, groups: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Return (n,) bool: which agents belong to groups, given as (groups,) bool; None is everybody. Obstacles belong to none of given groups."""
        return self.world.of_groups(groups)

    def shares_in_plan(self, tick: Tick, velocity: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how fast each agent goes in plan in the direction of `velocity`, (n, 2), as a share of its speed on level ground; shape (n,)."""
        return shares_in_plan(self.world, tick, velocity)

    @staticmethod
    def count_of(mask: NDArray[np.bool_]) -> float:
        """Return how many entries of a mask are true, as a count for `Tick.counts`."""
        return float(np.count_nonzero(mask))


def shares_in_plan(world: World, tick: Tick, velocity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how fast each agent goes in plan, see `System.shares_in_plan`."""
    share = np.ones(len(velocity))
    if not world.is_even:
        tick.team.run(plan_shares, len(velocity), world.mesh, world.polygons(), velocity, share)
    return share
