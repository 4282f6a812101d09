"""Read machines of states: parameters are put in, machines that are made of others are laid out flat."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from crowdsim.scenario import schema_behaviours as schema
from crowdsim.scenario.behaviours import (
    END,
    NEVER_DONE,
    Behaviours,
    Condition,
    Machine,
    Next,
    State,
    Target,
    Transition,
)
from crowdsim.scenario.distributions import Distribution, complaint, distribution_from
from crowdsim.scenario.draft import Draft, checked
from crowdsim.scenario.geometry import Geometry
from crowdsim.scenario.limits import MAX_LEVELS, MAX_MACHINES, MAX_STATES
from crowdsim.scenario.named_values import NAME, put_in
from crowdsim.scenario.queues import Queue
from crowdsim.scenario.resolve import GoalTable
from crowdsim.scenario.tree import (
    UNUSABLE,
    Node,
    Path,
    Problems,
    described,
    listed,
    plain,
    suggestion,
)

ENDS = "end"  # in place of a state
_TIMES = {"least": 0.0, "most": 1e9, "unit": "s", "positive": False}
_SPEEDS = {"least": 0.0, "most": 50.0, "unit": "m/s", "positive": True}
_OF_STATE = ("then", "cannot")


class Place(NamedTuple):
    """A point that stands in a machine, and where."""

    shape: schema.PlaceShape
    path: Path


class Known(NamedTuple):
    """What machines may name.

    Attributes
    ----------
    goals : dict of str to int
        Indices of goals by name.
    kinds : dict of str to str
        Kinds of these goals.
    points : dict of int to int
        Indices of goals that are points in machines, by the ids of their shapes.
    areas : sequence of str
        Areas in which agents are counted: goals that are areas, and areas under measures.
    doors : sequence of str
        Areas that open and close.
    groups : sequence of str
    ids : set of int
        Of agents.
    queues : sequence of str
    jumps : bool
        Whether agents jump.
    """

    goals: Mapping[str, int]
    kinds: Mapping[str, str]
    points: Mapping[int, int]
    areas: Sequence[str]
    doors: Sequence[str]
    groups: Sequence[str]
    ids: set[int]
    queues: Sequence[str]
    jumps: bool


@dataclass
class Instance:
    """A machine with values for its parameters."""

    source: str
    shape: schema.MachineShape
    parts: dict[str, Instance] = field(default_factory=dict)  # those that its states are made of
    name: str = ""

    @property
    def path(self) -> Path:
        """Where the machine stands in the file."""
        return ("behaviours", self.source)

    @property
    def first(self) -> str:
        """The state in which it begins."""
        return self.shape.start if self.shape.start in self.shape.states else next(iter(self.shape.states))


class MachineReader:
    """Reads the machines that groups use.

    Parameters
    ----------
    root : Node
        The whole file.
    problems : Problems
    """

    def __init__(self, root: Node, problems: Problems) -> None:
        node = root.child("behaviours")
        self._nodes: dict[str, Node] = {}
        self._values = root.child("vars")
        self._problems = problems
        self._instances: dict[tuple[str, str], Instance | None] = {}
        self._open: list[tuple[str, str]] = []
        if node is not None and node.value is not UNUSABLE and node.value is not None:
            if not isinstance(node.value, dict):
                problems.add(("behaviours",), f"expects machines by name, found {described(node.value)}")
            elif len(node.value) > MAX_MACHINES:
                problems.add(
                    ("behaviours",),
                    f"{len(node.value):,} machines, but there may be at most {MAX_MACHINES:,}",
                )
            else:
                self._nodes = node.value

    def use(self, node: Node, path: Path) -> Instance | None:
        """Return the machine that a group or a state names, with its parameters; None after a problem was
        added.
        """
        given = node.value
        values: dict[str, Node] = {}
        if isinstance(given, dict) and isinstance(name_node := given.get("name"), Node):
            name, values = name_node.value, {key: each for key, each in given.items() if key != "name"}
        else:
            name = given
        if not isinstance(name, str):
            if given is not UNUSABLE:
                self._problems.add(
                    path,
                    f"expects the name of a machine or {{name: machine, parameter: value}}, found "
                    f"{described(given)}",
                )
            return None
        if name not in self._nodes:
            known = f"Known are {listed(self._nodes)}." if self._nodes else "Declare it under behaviours."
            self._problems.add(
                path, f'there is no machine "{name}"', f"{suggestion(name, self._nodes)} {known}".strip()
            )
            return None
        key = name, json.dumps({each: plain(value) for each, value in sorted(values.items())}, default=str)
        if key in self._open or len(self._open) >= MAX_LEVELS:
            trail = " -> ".join([*(each for each, _ in self._open), name])
            self._problems.add(
                path,
                f"machines in machines go round in a circle: {trail}"
                if key in self._open
                else f"machines are nested more than {MAX_LEVELS} deep: {trail}",
                "Let a state of the outer machine come next instead.",
            )
            return None
        if key not in self._instances:
            self._open.append(key)
            self._instances[key] = None
            self._instances[key] = self._read(name, values, path)
            self._open.pop()
        return self._instances[key]

    def read_unused(self) -> None:
        """Look at the machines that no group uses, too, and note that of each."""
        used = {name for name, _ in self._instances}
        for name, node in self._nodes.items():
            if name not in used:
                self.use(Node(name, node.place), ("behaviours", name))
                self._problems.note(("behaviours", name), f'no group uses the machine "{name}"', key=True)

    def places(self) -> Iterator[Place]:
        """Yield the points that stand in machines."""
        for instance in self._found():
            for name, state in instance.shape.states.items():
                path: Path = (*instance.path, "states", name)
                if isinstance(state.go_to, schema.PlaceShape):
                    yield Place(state.go_to, (*path, "go_to"))
                if isinstance(state.jump, schema.PlaceShape):
                    yield Place(state.jump, (*path, "jump"))
                for index, place in enumerate(state.patrol.places if state.patrol is not None else ()):
                    if isinstance(place, schema.PlaceShape):
                        yield Place(place, (*path, "patrol", "places", index))

    def _found(self) -> list[Instance]:
        return [each for each in self._instances.values() if each is not None]

    def _read(self, name: str, given: dict[str, Node], path: Path) -> Instance | None:
        """Return a machine with its values."""
        whole = self._nodes[name]
        declared = whole.child("parameters")
        defaults = declared.value if declared is not None and isinstance(declared.value, dict) else {}
        for parameter in given:
            if parameter not in defaults:
                known = f"Known are {listed(defaults)}." if defaults else "It has none."
                self._problems.add(
                    (*path, parameter),
                    f'the machine "{name}" has no parameter "{parameter}"',
                    f"{suggestion(parameter, defaults)} {known}".strip(),
                    key=True,
                )
        values = {**defaults, **{key: value for key, value in given.items() if key in defaults}}
        named = (
            self._values.value if self._values is not None and isinstance(self._values.value, dict) else {}
        )
        self._check_parameters(name, whole, values)
        where: Path = ("behaviours", name)
        tree = put_in(whole, {**named, **values}, frozenset(values), where, self._problems)
        if isinstance(tree.value, dict):
            tree.value.pop("parameters", None)
        shape = checked("behaviours/", tree, where, self._problems)
        if shape is UNUSABLE:
            return None
        instance = Instance(name, shape)
        self._check_states(instance)
        states = tree.child("states")
        for state in shape.states:
            below = states.child(state) if states is not None else None
            use = below.child("machine") if below is not None else None
            if use is not None:
                part = self.use(use, (*where, "states", state, "machine"))
                if part is None:
                    return None
                instance.parts[state] = part
        return instance

    def _check_parameters(self, name: str, whole: Node, values: Mapping[str, Node]) -> None:
        """Report parameters that no state uses."""
        text = json.dumps(plain(whole.child("states") or Node(None, whole.place)), default=str)
        text += json.dumps(plain(whole.child("when") or Node(None, whole.place)), default=str)
        used = set(NAME.findall(text))
        for parameter in values:
            if not re.fullmatch(NAME, f"${parameter}"):
                self._problems.add(
                    ("behaviours", name, "parameters", parameter),
                    f'"{parameter}" is no name for a parameter',
                    "Use letters, digits and _.",
                    key=True,
                )
            elif parameter not in used:
                self._problems.add(
                    ("behaviours", name, "parameters", parameter),
                    f"no state uses ${parameter}",
                    "Use it somewhere, or leave it out.",
                    key=True,
                )

    def _check_states(self, instance: Instance) -> None:
        """Report states that say nothing, or too much, and names of states that there are not."""
        shape = instance.shape
        if shape.start is not None:
            self._is_state(shape.start, instance, (*instance.path, "start"))
        self._check_targets(instance, shape.when, (*instance.path, "when"))
        for name, state in shape.states.items():
            path: Path = (*instance.path, "states", name)
            if name == ENDS:
                self._problems.add(path, f'"{ENDS}" stands for the end of a machine', "Choose another name.")
            given = [key for key in schema.BLOCKS if getattr(state, key) is not None]
            if not given:
                self._problems.add(
                    path, "does not say what an agent does", f"Give one of {listed(schema.BLOCKS, most=20)}."
                )
            elif len(given) > 1:
                self._problems.add(
                    (*path, given[1]), f"{given[0]} and {given[1]} are both given", "Keep one.", key=True
                )
            elif given == ["choose"] and state.then is not None:
                self._problems.add(
                    (*path, "then"), "choose says already what comes next", "Leave it out.", key=True
                )
            elif state.then is not None and state.lasts is None and _is_never_done(state, given[0]):
                way_out = "Give lasts, or rounds." if given[0] == "patrol" else "Give lasts."
                self._problems.add(
                    (*path, "then"), f"{given[0]} is never done: nothing comes then", way_out, key=True
                )
            for key in _OF_STATE:
                self._check_target(instance, getattr(state, key), (*path, key))
            self._check_target(instance, state.choose, (*path, "choose"))
            self._check_targets(instance, state.when, (*path, "when"))

    def _check_targets(
        self, instance: Instance, transitions: Sequence[schema.TransitionShape], path: Path
    ) -> None:
        for index, transition in enumerate(transitions):
            self._check_target(instance, transition.to, (*path, index, "to"))

    def _check_target(self, instance: Instance, target: Any, path: Path) -> None:
        if isinstance(target, str):
            self._is_state(target, instance, path)
        elif isinstance(target, dict):
            for name in target:
                self._is_state(name, instance, (*path, name))
            if not sum(target.values()) > 0.0:
                self._problems.add(path, "all shares are 0", "Give at least one state a share above 0.")

    def _is_state(self, name: str, instance: Instance, path: Path) -> None:
        states = instance.shape.states
        if name not in states and name != ENDS:
            self._problems.add(
                path,
                f'there is no state "{name}"',
                f"{suggestion(name, states)} Known are {listed([*states, ENDS])}.".strip(),
            )

    def behaviours(self, used: Sequence[Instance], known: Known) -> Behaviours:
        """Return all machines, those that groups use with flat states; each gets its name.

        Parameters
        ----------
        used : sequence of Instance
            Those of the groups.
        known : Known
        """
        by_source: dict[str, list[tuple[str, Instance]]] = {}
        for (name, values), instance in self._instances.items():
            if instance is not None:
                by_source.setdefault(name, []).append((values, instance))
        for name, found in by_source.items():
            for number, (_, instance) in enumerate(sorted(found, key=lambda each: each[0]), 1):
                instance.name = name if number == 1 else f"{name} ({number})"
        layouts = [
            _Layout(each, known, self._problems) for each in {id(each): each for each in used}.values()
        ]
        machines = sorted((layout.machine() for layout in layouts), key=lambda machine: machine.name)
        written: dict[str, Any] = {}
        for each in used:
            _write(each, written)
        return Behaviours(tuple(machines), dict(sorted(written.items())))


def _write(instance: Instance, written: dict[str, Any]) -> None:
    """Add a machine, and those that it is made of, as a file has them."""
    if instance.name in written:
        return
    # pydantic warns of unions whose form a function tells
    data = instance.shape.model_dump(exclude_none=True, warnings=False)
    for name, part in instance.parts.items():
        data["states"][name]["machine"] = part.name
        _write(part, written)
    written[instance.name] = {
        "start": instance.first,
        **({"when": data["when"]} if data["when"] else {}),
        "states": {
            name: {key: value for key, value in state.items() if value != []}
            for name, state in data["states"].items()
        },
    }


class _Leaf(NamedTuple):
    """A state that is no machine, with those that it is in: each with its machine, the outermost first."""

    chain: tuple[tuple[Instance, str], ...]

    @property
    def name(self) -> str:
        return "/".join(state for _, state in self.chain)


class _Layout:
    """The states of a machine, and of those that it is made of, in one list."""

    def __init__(self, instance: Instance, known: Known, problems: Problems) -> None:
        self._instance, self._known, self._problems = instance, known, problems
        self._leaves = list(self._leaves_of(instance, ()))
        self._number = {leaf.name: number for number, leaf in enumerate(self._leaves)}

    def machine(self) -> Machine:
        """Return the machine."""
        if len(self._leaves) > MAX_STATES:
            self._problems.add(
                self._instance.path,
                f"has {len(self._leaves):,} states with those of the machines that it is made of, but there "
                f"may be at most {MAX_STATES:,}",
            )
            return Machine(self._instance.name, ())
        states = tuple(self._state(leaf) for leaf in self._leaves)
        return Machine(self._instance.name, states, self._entry((), self._instance, self._instance.first))

    def _leaves_of(self, instance: Instance, chain: tuple[tuple[Instance, str], ...]) -> Iterator[_Leaf]:
        for name in instance.shape.states:
            inner = (*chain, (instance, name))
            if name in instance.parts:
                yield from self._leaves_of(instance.parts[name], inner)
            else:
                yield _Leaf(inner)

    def _entry(self, chain: tuple[tuple[Instance, str], ...], instance: Instance, name: str) -> int:
        """Return the number of the state in which an agent is that begins a state of a machine."""
        chain = (*chain, (instance, name))
        while name in instance.parts:
            instance = instance.parts[name]
            name = instance.first
            chain = (*chain, (instance, name))
        return self._number.get(_Leaf(chain).name, END)

    def _next(self, target: Any, leaf: _Leaf, level: int) -> Next:
        """Return what a target of the machine at one level of a state means."""
        shares = {target: 1.0} if isinstance(target, str) else {ENDS: 1.0} if target is None else dict(target)
        found: list[Target] = []
        total = sum(shares.values()) or 1.0
        for name, share in shares.items():
            if share <= 0.0:
                continue
            if name != ENDS:
                number = self._entry(leaf.chain[:level], leaf.chain[level][0], name)
                found.append(Target(number, share / total, level))
            elif level == 0:
                found.append(Target(END, share / total, 0))
            else:  # the machine is done, and so is the state that it is the inside of
                outer, state = leaf.chain[level - 1]
                after = self._next(outer.shape.states[state].then, leaf, level - 1)
                found += [replace(each, share=each.share * share / total) for each in after]
        return tuple(found)

    def _state(self, leaf: _Leaf) -> State:
        instance, name = leaf.chain[-1]
        shape, last = instance.shape.states[name], len(leaf.chain) - 1
        path: Path = (*instance.path, "states", name)
        shapes = [each.shape.states[state] for each, state in leaf.chain]
        when: list[Transition] = []
        for level, (each, state) in enumerate(leaf.chain):
            for index, transition in enumerate(each.shape.when):
                if transition.to != state:  # it is there already
                    found = self._transition(transition, (*each.path, "when", index), leaf, level)
                    when.append(replace(found, once=True))
            for index, transition in enumerate(shapes[level].when):
                at: Path = (*each.path, "states", state, "when", index)
                when.append(self._transition(transition, at, leaf, level))
        cannot = next(
            (
                self._next(shapes[level].cannot, leaf, level)
                for level in range(last, -1, -1)
                if shapes[level].cannot is not None
            ),
            None,
        )
        lasts = []
        for level, (each, state) in enumerate(leaf.chain):
            at = (*each.path, "states", state, "lasts")
            lasts.append(self._distribution(shapes[level].lasts, at, _TIMES))
        speeds = [
            self._distribution(shapes[level].speed, (*each.path, "states", state, "speed"), _SPEEDS)
            for level, (each, state) in enumerate(leaf.chain)
        ]
        then = shape.choose if shape.choose is not None else shape.then
        return State(
            leaf.name,
            **self._block(shape, path),
            then=self._next(then, leaf, last),
            lasts=tuple(lasts),
            on_time=tuple(self._next(shapes[level].then, leaf, level) for level in range(len(leaf.chain))),
            cannot=cannot,
            when=tuple(when),
            signals=tuple(tuple(each.signals) for each in shapes),
            ends_signals=tuple(tuple(each.ends_signals) for each in shapes),
            speed=next((each for each in reversed(speeds) if each is not None), None),
            place=self._problems.root.place_of(path),
        )

    def _transition(self, shape: schema.TransitionShape, path: Path, leaf: _Leaf, level: int) -> Transition:
        return Transition(self._condition(shape, path), self._next(shape.to, leaf, level), level)

    def _block(self, shape: schema.StateShape, path: Path) -> dict[str, Any]:
        """Return what a state does, by the names of the fields of `State`."""
        kind = next((key for key in schema.BLOCKS if getattr(shape, key) is not None), "stand")
        found: dict[str, Any] = {"kind": kind}
        at: Path = (*path, kind)
        value = getattr(shape, kind)
        if kind in ("go_to", "leave", "stay"):
            wanted = ("region", "exit", "nearest_of") if kind == "stay" else ()
            found["goals"] = (self._goal(value, at, wanted),)
        elif kind == "jump":
            found["goals"] = (self._landing(value, at),)
        elif kind == "wait":
            found["time"] = self._distribution(value, at, _TIMES)
        elif kind == "wait_until":
            found["condition"] = self._condition(value, at)
        elif kind == "queue":
            name = value if isinstance(value, str) else value.at
            self._is_known(name, self._known.queues, "queue", at if name is value else (*at, "at"), "queues")
            found["queue"] = name
            if name is not value:
                found["time"] = self._distribution(value.patience, (*at, "patience"), _TIMES)
        elif kind in ("approach", "follow"):
            other, key = (value.to, "to") if kind == "approach" else (value.after, "after")
            found["others"] = self._others([other], (*at, key), is_list=False)
            found["distance"] = float(value.within if kind == "approach" else value.distance)
        elif kind == "flee":
            found["others"] = self._others(value.away_from, (*at, "away_from"))
            found["distance"], found["seconds"] = float(value.sight), float(value.hidden_for)
        elif kind == "wander":
            found["goals"] = (self._goal(value.where, (*at, "where"), ("region", "exit")),)
            found["time"] = self._distribution(value.pause, (*at, "pause"), _TIMES)
        elif kind == "patrol":
            found["goals"] = tuple(
                self._goal(place, (*at, "places", index), ()) for index, place in enumerate(value.places)
            )
            found["time"] = self._distribution(value.pause, (*at, "pause"), _TIMES)
            found["order"], found["rounds"] = value.order, value.rounds or 0
        return found

    def _distribution(self, shape: Any, path: Path, bounds: Mapping[str, Any]) -> Distribution | None:
        if shape is None:
            return None
        found = distribution_from(shape)
        wrong = complaint(shape, found, **bounds)
        if wrong is not None:
            self._problems.add(path, *wrong)
        return found

    def _goal(self, place: Any, path: Path, kinds: Sequence[str]) -> int:
        if isinstance(place, schema.PlaceShape):
            return self._known.points[id(place)]
        if not self._is_known(place, list(self._known.goals), "goal", path, "goals"):
            return END
        kind = self._known.kinds[place]
        if kinds and kind not in kinds:
            self._problems.add(
                path, f'the goal "{place}" is a {kind}, which has no inside', "Name a region or an exit."
            )
        return self._known.goals[place]

    def _landing(self, place: Any, path: Path) -> int:
        if not self._known.jumps:
            self._problems.add(path, "nobody jumps in this scenario", "Say how agents jump: jumps: {}.")
        goal = self._goal(place, path, ())
        if isinstance(place, str) and self._known.kinds.get(place, "point") != "point":
            self._problems.add(
                path, f'the goal "{place}" is no point, but a jump ends at one', "Give {point: [x, y]}."
            )
        return goal

    def _others(
        self, names: Sequence[int | str], path: Path, *, is_list: bool = True
    ) -> tuple[int | str, ...]:
        for index, name in enumerate(names):
            at: Path = (*path, index) if is_list else path
            if isinstance(name, str):
                self._is_known(name, self._known.groups, "group", at, "groups")
            elif name not in self._known.ids:
                self._problems.add(at, f"no agent has the id {name}", "Ids stand under agents of a group.")
        return tuple(names)

    def _is_known(self, name: str, known: Sequence[str], what: str, path: Path, where: str) -> bool:
        if name in known:
            return True
        way_out = (
            f"{suggestion(name, known)} Known are {listed(known)}." if known else f"Declare it under {where}."
        )
        self._problems.add(path, f'there is no {what} "{name}"', way_out.strip())
        return False

    def _condition(self, shape: schema.ConditionShape, path: Path) -> Condition:
        """Return a condition; add a problem if it says nothing, too much, or names what there is not."""
        given = [key for key in schema.CONDITIONS if getattr(shape, key) is not None]
        if len(given) != 1:
            if not given:
                self._problems.add(
                    path, "does not say what has to be so", f"Give one of {listed(schema.CONDITIONS)}."
                )
                return Condition("at", float("inf"))
            self._problems.add(
                (*path, given[1]),
                f"{given[0]} and {given[1]} are both given",
                f"Write all_of: [{{{given[0]}: ...}}, {{{given[1]}: ...}}], or any_of.",
                key=True,
            )
        kind = given[0]
        value, at = getattr(shape, kind), (*path, kind)
        if kind in ("all_of", "any_of", "none_of"):
            parts = tuple(self._condition(part, (*at, index)) for index, part in enumerate(value))
            return Condition(kind, parts=parts)
        if kind in ("after", "at"):
            return Condition(kind, float(value))
        if kind in ("opened", "closed"):
            self._is_known(value, self._known.doors, "area", at, "geometry.areas")
            return Condition(kind, name=value)
        if kind == "signal":
            return Condition(kind, name=value)
        if kind == "inside":
            self._is_known(value, self._known.areas, "area", at, "goals or measures")
            return Condition(kind, name=value, goal=self._known.goals.get(value, -1))
        if kind == "near":
            others = self._others([value.to], (*at, "to"), is_list=False)
            return Condition(kind, others=others, distance=float(value.within), seen=value.seen)
        if kind == "hidden":
            others = self._others(value.away_from, (*at, "away_from"))
            return Condition(kind, float(value.hidden_for), others=others, distance=float(value.sight))
        self._is_known(value.where, self._known.areas, "area", (*at, "where"), "goals or measures")
        group = getattr(value, "group", None)
        if group is not None:
            self._is_known(group, self._known.groups, "group", (*at, "group"), "groups")
        if (value.at_least is None) == (value.at_most is None):
            self._problems.add(at, "at_least or at_most: one of both", "Write all_of for both.")
        return Condition(
            kind,
            name=value.where,
            goal=self._known.goals.get(value.where, -1),
            least=float(value.at_least or 0.0),
            most=float("inf") if value.at_most is None else float(value.at_most),
            group=group or "",
        )


def _is_never_done(state: schema.StateShape, kind: str) -> bool:
    return kind in NEVER_DONE or (state.patrol is not None and state.patrol.rounds is None)


def machines_of_groups(root: Node, draft: Draft, reader: MachineReader) -> dict[int, Instance]:
    """Return the machine of each group that has one, by the group's index in the file."""
    found: dict[int, Instance] = {}
    for index, shape in draft.groups.items():
        path: Path = ("groups", index, "behaviour")
        node = root.at(path) if shape.behaviour is not None else None
        instance = reader.use(node, path) if node is not None else None
        if instance is not None:
            found[index] = instance
    return found


def group_names(draft: Draft) -> list[str]:
    """Return the names of the groups of a draft."""
    return [shape.name for shape in draft.groups.values()]


def known_to_machines(
    draft: Draft, table: GoalTable, geometry: Geometry | None, queues: Sequence[Queue]
) -> Known:
    """Return what machines of a draft may name."""
    named = {goal.name: number for number, goal in enumerate(table.goals) if not goal.is_inline}
    with_inside = [name for name, number in named.items() if table.goals[number].area is not None]
    agents = [agent for shape in draft.groups.values() for agent in shape.agents or ()]
    return Known(
        goals=named,
        kinds={goal.name: goal.kind for goal in table.goals},
        points=table.points,
        areas=[*with_inside, *(draft.values.get("measures") or {})],
        doors=[area.name for area in geometry.areas] if geometry is not None else [],
        groups=group_names(draft),
        ids={agent.id for agent in agents if agent.id is not None},
        queues=[queue.name for queue in queues],
        jumps=draft.values.get("jumps") is not None,
    )
