"""What systems are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from crowdsim.kernels.threads import Team
from crowdsim.scenario.model import Scenario
from crowdsim.setup.build import Built
from crowdsim.systems.base.slices import Budget
from crowdsim.world.columns import AgentColumns
from crowdsim.world.world import World

P = TypeVar("P")


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
