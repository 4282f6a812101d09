"""What is odd in machines: states that nothing leads to, and machines that never end or never rest."""

from __future__ import annotations

from collections.abc import Iterable

from crowdsim.scenario.behaviours import END, MOST_HEARD, Behaviours, Machine, State, heard_once
from crowdsim.scenario.model import Event, SignalChange
from crowdsim.scenario.tree import Path, Problems, listed, suggestion

AT_ONCE = ("choose",)  # states in which no time passes


def check_machines(behaviours: Behaviours, problems: Problems, *, are_all: bool) -> None:
    """Report machines that go round without any time, and note what is odd but possible.

    Parameters
    ----------
    behaviours : Behaviours
    problems : Problems
    are_all : bool
        Whether only the machines say which state comes next, and no system of a user's own.
    """
    heard = heard_once(behaviours.states)
    if len(heard) > MOST_HEARD:
        problems.add(
            ("behaviours",),
            f"the transitions of whole machines wait for {len(heard)} signals, but may for {MOST_HEARD}",
            "Let states wait for some of them.",
        )
    for machine in behaviours.machines:
        if machine.states:
            _check_loops(machine, problems)
            if are_all:
                _note_unreached(machine, problems)
                _note_endless(machine, problems)


def note_signals(behaviours: Behaviours, events: Iterable[Event], problems: Problems) -> None:
    """Note signals that states wait for, and that no state and no event gives: names may be misspelt."""
    changes = [event.change for event in events]
    given = {change.name for change in changes if isinstance(change, SignalChange) and change.is_on}
    given |= {name for state in behaviours.states for names in state.signals for name in names}
    noted: set[str] = set()
    for machine in behaviours.machines:
        for state in machine.states:
            heard = {condition.name for condition in state.conditions() if condition.kind == "signal"}
            for name in sorted(heard - given - noted):
                problems.note_at(
                    _path(machine, state),
                    f'the state "{state.name}" of the machine "{machine.name}" waits for the signal '
                    f'"{name}", which no state and no event gives. {suggestion(name, sorted(given))}'.strip()
                    + " A program may (Simulation.set_signal).",
                    state.place,
                )
                noted.add(name)


def _following(state: State) -> set[int]:
    return {target.state for target in state.targets() if target.share > 0.0}


def _check_loops(machine: Machine, problems: Problems) -> None:
    """Report states that only lead to each other, and in none of which an agent spends any time."""
    rests = {number for number, state in enumerate(machine.states) if state.kind not in AT_ONCE} | {END}
    grew = True
    while grew:
        more = {
            number
            for number, state in enumerate(machine.states)
            if number not in rests and _following(state) & rests
        }
        rests |= more
        grew = bool(more)
    loop = [state for number, state in enumerate(machine.states) if number not in rests]
    if loop:
        problems.add(
            _path(machine),
            f"the states {listed(state.name for state in loop)} lead only to each other, and take no time",
            "Let one of them lead to a state in which an agent does something.",
            place=loop[0].place,
        )


def _reached(machine: Machine, begins: Iterable[int]) -> set[int]:
    """Return the states that an agent may get to from some."""
    found: set[int] = set()
    pending = set(begins)
    while pending:
        number = pending.pop()
        if number in found:
            continue
        found.add(number)
        if number != END:
            pending |= _following(machine.states[number])
    return found


def _note_unreached(machine: Machine, problems: Problems) -> None:
    missing = set(range(len(machine.states))) - _reached(machine, [machine.start])
    for number in sorted(missing):
        problems.note_at(
            _path(machine, machine.states[number]),
            f'nothing leads to the state "{machine.states[number].name}" of the machine "{machine.name}"',
            machine.states[number].place,
        )


def _note_endless(machine: Machine, problems: Problems) -> None:
    """Note a machine whose agents never leave, nor come to its end."""
    found = _reached(machine, [machine.start])
    leaves = any(number != END and machine.states[number].kind == "leave" for number in found)
    if END not in found and not leaves:
        problems.note_at(
            _path(machine),
            f'the machine "{machine.name}" never ends: its agents stay to the end of the run',
            machine.states[machine.start].place,
        )


def _path(machine: Machine, state: State | None = None) -> Path:
    source = machine.name.rsplit(" (", 1)[0]
    return ("behaviours", source) if state is None else ("behaviours", source, "states", state.name)
