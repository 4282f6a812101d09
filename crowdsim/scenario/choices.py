"""How agents choose between goals: resolved, checked, and written again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from crowdsim.scenario.schema_choices import FamiliarShape, QuickestGoal
from crowdsim.scenario.tree import Path, Problems, listed


@dataclass(frozen=True)
class Familiar:
    """Agents that know only some of the goals of a choice.

    Attributes
    ----------
    share : float
        How many of the agents, 0..1.
    goals : tuple of int
        Which they know, as ascending indices into the scenario's goals.
    """

    share: float
    goals: tuple[int, ...]


@dataclass(frozen=True)
class Influence:
    """How much agents are drawn to where others go.

    Attributes
    ----------
    worth : float, s
        So much sooner a goal seems to be to which all others go that an agent sees.
    within : float, m
        How far it sees others.
    share : float
        How many of the agents are drawn, 0..1.
    """

    worth: float
    within: float
    share: float


@dataclass(frozen=True)
class Choice:
    """How agents choose between the parts of a goal.

    Attributes
    ----------
    every : float, s
        How often an agent looks again.
    gain : float, s
        By how much another part has to be quicker.
    keeps_for : float, s
        For how long an agent that has changed keeps its choice.
    specific_flow : float, 1/(m s)
        Agents that get through a metre of an exit's width in a second, for the time in its queue.
    needs_sight : bool
        Whether an agent knows only the queues of goals that it sees.
    familiar : tuple of Familiar
        Shares of agents that know only some parts, in all at most 1.
    influence : Influence or None
        How others draw them; None is not at all.
    """

    every: float
    gain: float
    keeps_for: float
    specific_flow: float
    needs_sight: bool
    familiar: tuple[Familiar, ...] = ()
    influence: Influence | None = None

    def data(self, name_of: Callable[[int], str]) -> dict[str, Any]:
        """Return it as a scenario says it, with every number; `name_of` names a goal."""
        found: dict[str, Any] = {
            "every": self.every,
            "gain": self.gain,
            "keeps_for": self.keeps_for,
            "specific_flow": self.specific_flow,
            "knows": "seen" if self.needs_sight else "all",
        }
        if self.familiar:
            found["familiar"] = [
                {"share": each.share, "only": [name_of(goal) for goal in each.goals]}
                for each in self.familiar
            ]
        if self.influence is not None:
            found["social_influence"] = asdict(self.influence)
        return found


def resolve_choice(
    shape: QuickestGoal, path: Path, numbers: Callable[[str], int], problems: Problems
) -> Choice:
    """Return how agents choose; `numbers` gives the index of a goal of the scenario by its name."""
    given = shape.familiar
    shapes: list[FamiliarShape] = [] if given is None else given if isinstance(given, list) else [given]
    found, left = [], 1.0
    for place, each in enumerate(shapes):
        at: Path = (*path, "familiar", place) if isinstance(given, list) else (*path, "familiar")
        for index, name in enumerate(each.only):
            if name not in shape.quickest_of:
                problems.add(
                    (*at, "only", index),
                    f'"{name}" is none of the goals between which these agents choose',
                    f"Those are {listed(shape.quickest_of)}.",
                )
        left -= each.share
        if left < -1e-9:
            problems.add(
                (*at, "share"),
                f"with this one the shares are {1.0 - left:g} in all, more than all agents",
                "Make them 1 in all at most; what is left knows all goals.",
            )
            break
        known = {numbers(name) for name in each.only if name in shape.quickest_of}
        found.append(Familiar(float(each.share), tuple(sorted(known))))
    drawn = shape.social_influence
    return Choice(
        float(shape.every),
        float(shape.gain),
        float(shape.keeps_for),
        float(shape.specific_flow),
        shape.knows == "seen",
        tuple(found),
        None if drawn is None else Influence(float(drawn.worth), float(drawn.within), float(drawn.share)),
    )
