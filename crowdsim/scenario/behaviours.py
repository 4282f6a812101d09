"""What agents do, as a scenario says it, read and checked: machines whose states are flat and numbered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from crowdsim.scenario.distributions import Distribution
from crowdsim.scenario.tree import Place

END = -1  # in place of a state: the machine has ended
MOST_HEARD = (
    64  # Signals that transitions of whole machines wait for: each is a bit of what an agent has heard.
)
NEVER_DONE = ("stay", "stand", "follow", "wander")
AgentName = int | str  # an agent's id, or the name of a group


@dataclass(frozen=True)
class Condition:
    """Something that is so or is not.

    Attributes
    ----------
    kind : str
        The key under which a scenario has it: ``after``, ``at``, ``signal``, ``opened``, ``closed``,
        ``inside``, ``count``, ``density``, ``near``, ``hidden``, ``all_of``, ``any_of``, ``none_of``.
    seconds : float, s
        after, at; hidden: for how long.
    name : str
        signal, opened, closed; inside, count, density: the area.
    goal : int
        inside, count, density: the goal that has this name; -1 where it is an area under measures.
    least, most : float
        count, density: between which numbers it has to be.
    group : str
        count: whose agents count; empty for all.
    others : tuple of (int or str)
        near, hidden: which other agents, by id or group.
    distance : float, m
        near: within; hidden: how far they see.
    seen : bool
        near: only where no wall is between.
    parts : tuple of Condition
        all_of, any_of, none_of.
    """

    kind: str
    seconds: float = 0.0
    name: str = ""
    goal: int = -1
    least: float = 0.0
    most: float = float("inf")
    group: str = ""
    others: tuple[AgentName, ...] = ()
    distance: float = 0.0
    seen: bool = False
    parts: tuple[Condition, ...] = ()

    def each(self) -> Iterator[Condition]:
        """Yield this condition and all that it is made of."""
        yield self
        for part in self.parts:
            yield from part.each()


@dataclass(frozen=True)
class Target:
    """A state that may come next.

    Attributes
    ----------
    state : int
        Its number, or `END`.
    share : float
        How often it comes, beside the others, in any unit.
    level : int
        In how many of the states in which it is the agent stays; those further in begin anew.
    """

    state: int
    share: float
    level: int


Next = tuple[Target, ...]  # what may come next; each agent draws one of them


@dataclass(frozen=True)
class Transition:
    """What comes next as soon as something is so.

    Attributes
    ----------
    condition : Condition
    next : Next
    level : int
        Of the machine that says so, among those that the state is in.
    once : bool
        Whether it leads out of every state of that machine: an agent takes it once for each time that the
        signals that it waits for come.
    """

    condition: Condition
    next: Next
    level: int
    once: bool = False

    @property
    def signals(self) -> set[str]:
        """The signals that it waits for."""
        return {each.name for each in self.condition.each() if each.kind == "signal"}


@dataclass(frozen=True)
class State:
    """What an agent does until it goes on.

    Attributes
    ----------
    name : str
        With the names of the states of the machines that it is in: ``patrol/walk``.
    kind : str
        The key under which a scenario has it: ``go_to``, ``wait`` and so on.
    goals : tuple of int
        go_to, leave, stay, wander: the goal; jump: where it lands; patrol: all places. Indices into the
        scenario's goals.
    time : Distribution or None, s
        wait: for how long; patrol, wander: at each place; queue: the patience.
    condition : Condition or None
        wait_until.
    others : tuple of (int or str)
        approach, follow, flee: which other agents, by id or group.
    distance : float, m
        approach, follow: how near; flee: how far the others see.
    seconds : float, s
        flee: for how long it has to be hidden.
    queue : str
    order, rounds : str, int
        patrol; 0 rounds are endless.
    lasts : tuple of (Distribution or None)
        How long the states in which it is last at most (s), the outermost first, and itself.
    on_time : tuple of Next
        What comes when that is over, at each of these levels.
    then : Next
        What comes when it is done.
    cannot : Next or None
        What comes when it cannot be done; None: the agent goes on trying.
    when : tuple of Transition
        Those of the machines in which it is come first.
    signals, ends_signals : tuple of tuple of str
        That are on, or off, from the moment an agent begins it, at each of these levels.
    speed : Distribution or None, m/s
    place : Place
        Where it stands in the file.
    """

    name: str
    kind: str
    then: Next
    goals: tuple[int, ...] = ()
    time: Distribution | None = None
    condition: Condition | None = None
    others: tuple[AgentName, ...] = ()
    distance: float = 0.0
    seconds: float = 0.0
    queue: str = ""
    order: str = "round"
    rounds: int = 0
    lasts: tuple[Distribution | None, ...] = (None,)
    on_time: tuple[Next, ...] = ((),)
    cannot: Next | None = None
    when: tuple[Transition, ...] = ()
    signals: tuple[tuple[str, ...], ...] = ((),)
    ends_signals: tuple[tuple[str, ...], ...] = ((),)
    speed: Distribution | None = None
    place: Place = field(default=Place(""), compare=False)

    @property
    def levels(self) -> int:
        """In how many states, one in the other, an agent is that is in this one."""
        return len(self.lasts)

    @property
    def is_never_done(self) -> bool:
        """Whether it goes on until its time is over or something is so."""
        return self.kind in NEVER_DONE or (self.kind == "patrol" and not self.rounds)

    def targets(self) -> Iterator[Target]:
        """Yield everything that may come next."""
        for transition in self.when:
            yield from transition.next
        for lasts, following in zip(self.lasts, self.on_time, strict=True):
            yield from following if lasts is not None else ()
        yield from () if self.is_never_done else self.then
        yield from self.cannot or ()

    def asked(self) -> Iterator[tuple[Condition, int]]:
        """Yield the conditions that it asks about, each with the level of the state since when it counts."""
        for transition in self.when:
            yield transition.condition, transition.level
        if self.condition is not None:
            yield self.condition, self.levels - 1

    def conditions(self) -> Iterator[Condition]:
        """Yield all conditions that it asks about, and what they are made of."""
        for condition, _ in self.asked():
            yield from condition.each()


@dataclass(frozen=True)
class Machine:
    """What the agents of a group do.

    Attributes
    ----------
    name : str
    states : tuple of State
    start : int
        The state in which it begins.
    """

    name: str
    states: tuple[State, ...]
    start: int = 0


def heard_once(states: Sequence[State]) -> list[str]:
    """Return the signals that transitions of whole machines wait for, ascending."""
    return sorted({name for state in states for each in state.when if each.once for name in each.signals})


@dataclass(frozen=True)
class Behaviours:
    """All machines of a scenario.

    Attributes
    ----------
    machines : tuple of Machine
        Those that groups use, ascending by name.
    written : dict of str to dict
        Each machine as a scenario file has it, those too that others are made of; parameters have their
        values.
    """

    machines: tuple[Machine, ...] = ()
    written: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def states(self) -> list[State]:
        """All states by their numbers in a run: those of one machine after those of the other."""
        return [state for machine in self.machines for state in machine.states]

    @property
    def goals(self) -> set[int]:
        """The goals, by number, that states name, as places to go to or to look at."""
        asked = [condition.goal for state in self.states for condition in state.conditions()]
        return {goal for state in self.states for goal in state.goals} | {goal for goal in asked if goal >= 0}

    def endless_states(self) -> list[bool]:
        """Return of each state, by its number in a run, whether an agent in it never leaves the world, nor
        comes to the end of its machine.
        """
        found: list[bool] = []
        for machine in self.machines:
            ends = {END} | {number for number, state in enumerate(machine.states) if state.kind == "leave"}
            grew = True
            while grew:
                more = {
                    number
                    for number, state in enumerate(machine.states)
                    if number not in ends and any(target.state in ends for target in state.targets())
                }
                ends |= more
                grew = bool(more)
            found += [number not in ends for number in range(len(machine.states))]
        return found

    def first_state(self, name: str) -> int:
        """Return the number in a run of the first state of a machine, (those behind it follow)."""
        found = 0
        for machine in self.machines:
            if machine.name == name:
                return found
            found += len(machine.states)
        raise KeyError(name)

    def machine(self, name: str) -> Machine:
        """Return a machine that a group uses."""
        return next(machine for machine in self.machines if machine.name == name)

    def fastest(self, name: str) -> float:
        """Return the highest speed (m/s) that agents like in some state of a machine; 0 if none has one."""
        own = self.machine(name).states if name else ()
        return max((state.speed.high for state in own if state.speed is not None), default=0.0)

    @property
    def state_names(self) -> list[str]:
        """The names of all states by their numbers in a run: ``visitor: patrol/walk``."""
        return [f"{machine.name}: {state.name}" for machine in self.machines for state in machine.states]
