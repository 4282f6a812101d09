"""Parties of agents that belong together: families, friends, school classes; resolved, and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crowdsim.scenario import schema
from crowdsim.scenario.distributions import Distribution, complaint, distribution_from
from crowdsim.scenario.limits import MAX_PARTY
from crowdsim.scenario.tree import Path, Problems

NO_PARTY = -1  # of an agent that belongs to none


@dataclass(frozen=True)
class Together:
    """How the agents of a group form parties that keep together.

    Attributes
    ----------
    size : Distribution
        How many agents a party has; fractions are cut off.
    leader : bool
        Whether the first of each leads, and the others go along its path.
    spacing : float, m
        Between the centres of neighbours.
    abreast : int
        How many walk side by side at most.
    gap : float, m
        How far a member may be ahead of the last one, beyond its place, before it stands.
    patience : float, s
        How long a member waits for the others.
    hurry : float
        Members that lag walk at most so many times as fast as they like.
    slower : float, m/s
        By how much a party is slower for each member beside the first.
    """

    size: Distribution
    leader: bool = False
    spacing: float = 0.8
    abreast: int = 4
    gap: float = 3.0
    patience: float = 60.0
    hurry: float = 1.3
    slower: float = 0.04

    def data(self) -> dict[str, Any]:
        """Return it as a scenario says it, with every number."""
        return {**vars(self), "size": self.size.data()}


def resolve_together(
    shape: schema.TogetherShape, group: schema.GroupShape, path: Path, problems: Problems
) -> Together | None:
    """Return how the agents of a group keep together; None after a problem was added."""
    size = distribution_from(shape.size)
    wrong = complaint(shape.size, size, least=1.0, most=float(MAX_PARTY), unit="agents", positive=False)
    if wrong is not None:
        problems.add((*path, "size"), *wrong)
    if group.behaviour is not None:
        problems.add(
            path,
            "the agents have a behaviour: a machine sends each of them on by what happens to it alone, and "
            "members of a party that are sent apart would wait for each other in vain",
            "Keep one: a party goes to goals, and in a machine {follow: ...} keeps near to another agent.",
            key=True,
        )
    if group.agents is not None:
        problems.add(
            path,
            "the agents are listed one by one, with goals and starts of their own, and parties are formed "
            "by the order in the group, which says nothing where agents have ids",
            "Give count or positions: of these the first agents are the first party.",
            key=True,
        )
    if wrong is not None or group.behaviour is not None or group.agents is not None:
        return None
    numbers = {name: getattr(shape, name) for name in ("spacing", "gap", "patience", "hurry", "slower")}
    return Together(
        size=size,
        leader=shape.leader,
        abreast=int(shape.abreast),
        **{name: float(value) for name, value in numbers.items()},
    )
