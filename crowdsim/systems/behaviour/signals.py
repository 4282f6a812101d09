"""Signals: what one agent, or the clock, tells all others; and which can still come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from crowdsim.scenario.behaviours import END, Behaviours, Condition, State


def outlook_of(behaviours: Behaviours) -> Outlook:
    """Return the outlook of all machines of a scenario."""
    firsts = [behaviours.first_state(each.name) for each in behaviours.machines for _ in each.states]
    return Outlook(behaviours.states, firsts)


class Outlook:
    """Which states an agent may still get to, and what it waits for there: found once for all states.

    Parameters
    ----------
    states : sequence of State
        Of all machines.
    firsts : sequence of int
        The number of the first state of the machine of each.
    """

    def __init__(self, states: Sequence[State], firsts: Sequence[int]) -> None:
        self._states, self._firsts = states, firsts
        self._next = [
            {first + target.state for target in state.targets() if target.state != END}
            for state, first in zip(states, firsts, strict=True)
        ]
        self._gives = [{name for names in state.signals for name in names} for state in states]

    def blocked(self, present: Iterable[int], coming: set[str], on: set[str]) -> set[int]:
        """Return those of the states in which agents are, in which they wait for good.

        Parameters
        ----------
        present : iterable of int
            States in which agents are.
        coming : set of str
            Signals that the clock or other events still give.
        on : set of str
            Signals that are on.
        """
        present = set(present)
        possible = coming | on
        grew = True
        while grew:
            more = {
                name
                for state in self._reached(
                    {each for each in present if self._goes_on(each, possible)}, possible
                )
                for name in self._gives[state]
            } - possible
            possible |= more
            grew = bool(more)
        return {each for each in present if not self._goes_on(each, possible)}

    def _reached(self, begins: set[int], possible: set[str]) -> set[int]:
        """Return the states that agents get to from those in which they do not wait for good."""
        found: set[int] = set()
        pending = {following for each in begins for following in self._next[each]}
        while pending:
            state = pending.pop()
            if state not in found:
                found.add(state)
                if self._goes_on(state, possible):
                    pending |= self._next[state]
        return found

    def _goes_on(self, number: int, possible: set[str]) -> bool:
        """Return whether an agent may go on from a state, if no signals but these ever come."""
        state = self._states[number]
        if state.kind != "wait_until" or any(lasts is not None for lasts in state.lasts):
            return True
        asked = [transition.condition for transition in state.when]
        assert state.condition is not None
        return any(_can_be(condition, possible) for condition in (*asked, state.condition))


def _can_be(condition: Condition, possible: set[str]) -> bool:
    """Return whether a condition may come true, if no signals but these ever come."""
    if condition.kind == "signal":
        return condition.name in possible
    if condition.kind == "all_of":
        return all(_can_be(part, possible) for part in condition.parts)
    if condition.kind == "any_of":
        return any(_can_be(part, possible) for part in condition.parts)
    return True
