"""From checked shapes to the objects of a scenario:
names become indices, defaults are filled in, items are checked against each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import shapely

from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.arrivals import agents_a_second, resolve_arrivals, shares_in
from crowdsim.scenario.behaviours import Behaviours
from crowdsim.scenario.choices import resolve_choice
from crowdsim.scenario.distributions import Distribution, complaint, distribution_from, number
from crowdsim.scenario.draft import HOW_MANY, Draft
from crowdsim.scenario.geometry import FloorNames
from crowdsim.scenario.limits import MAX_AGENTS, MAX_GOALS, MAX_ITINERARIES, MAX_TICKS
from crowdsim.scenario.model import Goal, Group, ListedAgent, Stop, Visit, point_goal_name
from crowdsim.scenario.parameters import SECTIONS, Chosen, resolve_section
from crowdsim.scenario.schema_connections import WaypathShape
from crowdsim.scenario.timetable import ticks_in
from crowdsim.scenario.together import Together, resolve_together
from crowdsim.scenario.tree import UNUSABLE, Path, Problems, Refused, item_text, listed, suggestion
from crowdsim.scenario.vehicles import complaints, vehicle_from
from crowdsim.scenario.waypaths import fastest_factor

_MOST_NESTING = 16  # of nearest_of in nearest_of
UNKNOWN = -1  # index of a goal that could not be resolved; its problem has been reported
_BOUNDS: dict[str, dict[str, Any]] = {  # of the keys of agents that are drawn
    "speed": {"least": 0.0, "most": 50.0, "unit": "m/s", "positive": True},
    "radius": {"least": 0.0, "most": 20.0, "unit": "m", "positive": True},
    "premovement": {"least": 0.0, "most": 1e9, "unit": "s", "positive": False},
}


def resolve_stop(shape: schema.StopShape, tick: float, problems: Problems) -> Stop | None:
    """Return when the run ends, or None after a problem was added."""
    ticks = max(1, int(ticks_in(shape.after, tick)))
    if ticks > MAX_TICKS:
        longest = MAX_TICKS * tick
        problems.add(
            ("stop", "after"),
            f"{shape.after:g} s are {ticks:,} ticks, but there may be at most {MAX_TICKS:,}",
            f"With this tick, at most {longest:g} s.",
        )
        return None
    return Stop(float(shape.after), ticks, shape.when == "all_arrived", shape.stuck_for)


def _pair(point: Sequence[float]) -> tuple[float, float]:
    # -0.0 becomes 0.0: it would be another number to a digest
    return float(point[0]) + 0.0, float(point[1]) + 0.0


class GoalTable:
    """The goals of a scenario: named ones, and points that stand inline, in lists of goals and in `places`.

    Attributes
    ----------
    goals : tuple of Goal
        All of them, ascending by name.
    points : dict of int to int
        Indices of the goals that `places` are, by the ids of their shapes.
    in_machines : list of (int, tuple)
        These indices, and where the shapes stand.
    exits : set of int
        Which of them agents leave the world at; of nearest_of, those whose parts are all such.
    """

    def __init__(
        self,
        draft: Draft,
        reader: AreaReader,
        problems: Problems,
        floors: FloorNames,
        places: Iterable[tuple[Any, Path]] = (),
    ) -> None:
        self.floors, self.access = floors, reader.access
        self._names = {index: group.name for index, group in draft.groups.items()}
        self.problems = problems
        self.known = draft.goal_names
        self.goals_are_known = draft.goals_are_known
        self.shapes = draft.goals
        goals = {name: self._goal(name, shape, reader) for name, shape in draft.goals.items()}
        self._inline: dict[Path, str] = {}  # names of the points that stand inline, by where
        for index, group in draft.groups.items():
            path: Path = ("groups", index)
            goals |= self._points(group.goals, (*path, "goals"))
            for row, agent in enumerate(group.agents or ()):
                goals |= self._points(agent.goals, (*path, "agents", row, "goals"))
        own = [(id(shape), self._point(shape, at), at) for shape, at in places]
        goals |= {goal.name: goal for _, goal, _ in own}
        if len(goals) > MAX_GOALS:
            problems.add(
                ("goals",),
                f"{len(goals):,} goals, but there may be at most {MAX_GOALS:,}",
                "Let agents share goals.",
            )
        members = self._flattened()
        self._index = {name: index for index, name in enumerate(sorted(goals))}
        for name, parts in members.items():
            goals[name] = replace(goals[name], parts=tuple(sorted(self._index[part] for part in parts)))
        for name, shape in self._choices():
            goals[name] = replace(
                goals[name],
                parts=tuple(sorted({self._index[part] for part in shape.quickest_of if part in goals})),
                choice=resolve_choice(
                    shape, ("goals", name), lambda part: self._index.get(part, UNKNOWN), problems
                ),
            )
        self.goals = tuple(goals[name] for name in self._index)
        self.points = {key: self._index[goal.name] for key, goal, _ in own}
        self.in_machines = [(self._index[goal.name], at) for _, goal, at in own]
        named_exits = {index for index, goal in enumerate(self.goals) if goal.kind == "exit"}
        self.exits = {
            index for index, goal in enumerate(self.goals) if named_exits.issuperset(goal.parts or (index,))
        }

    def _goal(self, name: str, shape: Any, reader: AreaReader) -> Goal:
        path = ("goals", name)
        if isinstance(shape, schema.PointGoal):
            return Goal(
                name,
                "point",
                _pair(shape.point),
                float(shape.arrive_within),
                layer=self.floors.layer(shape, path, shapely.Point(shape.point)),
            )
        if isinstance(shape, schema.ExitGoal):
            area = reader.united(shape.exit, (*path, "exit"))
            flow = 0.0 if shape.flow is None else agents_a_second(shape.flow, (*path, "flow"), self.problems)
            return Goal(name, "exit", area=area, layer=self.floors.layer(shape, path, area), flow=flow)
        if isinstance(shape, schema.RegionGoal):
            area = reader.united(shape.region, (*path, "region"))
            return Goal(name, "region", area=area, layer=self.floors.layer(shape, path, area))
        return Goal(name, "nearest_of" if isinstance(shape, schema.NearestGoal) else "quickest_of")

    def _choices(self) -> Iterator[tuple[str, schema.QuickestGoal]]:
        """Go through the goals between whose parts agents choose; report parts that are unknown, or that are
        no places.
        """
        for name, shape in self.shapes.items():
            if not isinstance(shape, schema.QuickestGoal):
                continue
            for index, part in enumerate(shape.quickest_of):
                path = ("goals", name, "quickest_of", index)
                own = self.shapes.get(part)
                if self.is_known(part, path) and isinstance(own, (schema.NearestGoal, schema.QuickestGoal)):
                    kind = "nearest_of" if isinstance(own, schema.NearestGoal) else "quickest_of"
                    self.problems.add(
                        path,
                        f'"{part}" is {kind} others itself: agents choose between places',
                        "Name points, regions and exits.",
                    )
            yield name, shape

    def _flattened(self) -> dict[str, set[str]]:
        """Return for each nearest_of the names of the other goals that it comes down to;
        report unknown names and circles.
        """
        members: dict[str, set[str]] = {}

        def visit(name: str, trail: tuple[str, ...]) -> set[str]:
            """Return what `name` comes down to; `trail` holds the goals that led here."""
            shape = self.shapes.get(name)
            if isinstance(shape, schema.QuickestGoal):
                self.problems.add(
                    ("goals", trail[-1], "nearest_of"),
                    f'"{name}" is quickest_of others: it is no place to which a path leads',
                    "Name points, regions and exits.",
                )
                return set()
            if not isinstance(shape, schema.NearestGoal):
                return {name} if shape is not None else set()
            if name in members:
                return members[name]
            found: set[str] = set()
            if len(trail) >= _MOST_NESTING:
                self.problems.add(
                    ("goals", name),
                    f"nearest_of goals are nested more than {_MOST_NESTING} deep",
                    "Name points, regions and exits directly.",
                )
                return found
            for index, part in enumerate(shape.nearest_of):
                path = ("goals", name, "nearest_of", index)
                if part in (*trail, name):
                    circle = [*trail, name][(*trail, name).index(part) :]
                    self.problems.add(
                        path,
                        f"goals go in a circle: {' -> '.join([*circle, part])}",
                        "Name points, regions and exits in the end.",
                    )
                elif self.is_known(part, path):
                    found |= visit(part, (*trail, name))
            members[name] = found
            return found

        for name in sorted(self.shapes):
            if not isinstance(self.shapes[name], schema.QuickestGoal):
                visit(name, ())
        return members

    def is_known(self, name: str, path: Path) -> bool:
        """Return whether the file has a goal of this name; add a problem if not."""
        if name in self.known or not self.goals_are_known:
            return True
        if self.problems.is_full:
            self.problems.uncollected += 1
            return False
        self.problems.add(
            path,
            f'there is no goal "{name}"',
            (
                f"{suggestion(name, self.known)} Known are {listed(self.known)}.".strip()
                if self.known
                else "Declare it under goals."
            ),
        )
        return False

    def visits(self, shape: Any, path: Path) -> tuple[Visit, ...]:
        """Return a sequence of goals; add a problem for each that there is not."""
        found = []
        for at, item, is_last in _steps(shape, path):
            visit = self._visit(item, at)
            found += [visit] if visit is not None else []
            exits = [goal for goal in visit.goals if goal in self.exits] if visit is not None else []
            if not is_last and exits:
                self.problems.add(
                    at,
                    f'"{self.goals[exits[0]].name}" is an exit: agents leave the world there and never reach '
                    "what comes after it",
                    "Make it a region, or put it last.",
                )
        count = math.prod(len(visit.goals) for visit in found)
        if count > MAX_ITINERARIES:
            self.problems.add(
                path,
                f"agents would draw from {count:,} lists of goals, but there may be at most "
                f"{MAX_ITINERARIES:,}",
                "Give fewer goals with shares.",
            )
            return ()
        return tuple(found)

    def _visit(self, item: Any, at: Path) -> Visit | None:
        """Return one step of a list of goals, or None after a problem was added."""
        if isinstance(item, (schema.Shares, schema.SharesFile)):
            return self._drawn(item, at)
        name = item if isinstance(item, str) else self._inline.get(at) or item.goal
        speed = None if isinstance(item, str) or item.speed is None else float(item.speed)
        if at in self._inline or self.is_known(name, at if isinstance(item, str) else (*at, "goal")):
            return Visit(self._index.get(name, UNKNOWN), speed)
        return None

    def _drawn(self, item: Any, at: Path) -> Visit | None:
        """Return a step for which agents draw their goal, or None after a problem was added."""
        if isinstance(item, schema.Shares):
            shares, place = {name: float(share) for name, share in item.shares.items()}, (*at, "shares")
        else:
            place = (*at, "shares_file")
            try:
                shares = dict(shares_in(self.access.read(item.shares_file), self._names[int(at[1])]))
            except Refused as error:
                self.problems.add(place, f'"{item.shares_file}": {error}', error.way_out)
                return None
        known = [
            name
            for name in shares
            if self.is_known(name, (*place, name) if isinstance(item, schema.Shares) else place)
        ]
        if len(known) < len(shares):
            return None
        if not sum(shares.values()) > 0.0:
            self.problems.add(place, "all shares are 0", "Give at least one goal a share above 0.")
            return None
        # ascending by name, so that their order in the file changes nothing
        drawn = tuple(
            (self._index.get(name, UNKNOWN), shares[name]) for name in sorted(shares) if shares[name] > 0.0
        )
        speed = None if item.speed is None else float(item.speed)
        return Visit(drawn[0][0], speed, drawn if len(drawn) > 1 else ())

    def _points(self, shape: Any, path: Path) -> dict[str, Goal]:
        """Return the points that stand inline in a sequence of goals, by name."""
        found = {}
        for at, item, _ in _steps(shape, path):
            if isinstance(item, schema.VisitPoint):
                goal = self._point(item, at)
                found[goal.name] = goal
                self._inline[at] = goal.name
        return found

    def _point(self, shape: Any, at: Path) -> Goal:
        """Return the goal that a point is which stands inline."""
        (x, y), within = _pair(shape.point), float(shape.arrive_within)
        layer = self.floors.layer(shape, at, shapely.Point(x, y))
        name = f"{point_goal_name((x, y), within)}{self.floors.text(layer)}"
        return Goal(name, "point", (x, y), within, is_inline=True, layer=layer)


def _steps(shape: Any, path: Path) -> Iterator[tuple[Path, Any, bool]]:
    """Go through a sequence of goals, which may be one alone or None:
    where each stands, its shape, and whether it is the last.
    """
    if isinstance(shape, list):
        yield from (((*path, index), item, index == len(shape) - 1) for index, item in enumerate(shape))
    elif shape is not None:
        yield path, shape, True


# What a group of vehicles cannot say: they drive along curves, each for itself.
NOT_OF_VEHICLES = (
    "speed", "radius", "immovable", "count", "agents", "region", "reserve", "arrive", "behaviour", "together",
    "keys", "excludes", "avoidance",
)  # fmt: skip


class GroupResolver:
    """Turns the groups of a scenario into objects, checking them against goals and each other."""

    def __init__(
        self,
        goals: GoalTable,
        reader: AreaReader,
        problems: Problems,
        tick: float | None,
        sections: Mapping[str, Any] | None = None,
        grid_numbers: Mapping[str, float] | None = None,
        machines: Mapping[int, str] | None = None,
        behaviours: Behaviours | None = None,
        waypaths: Mapping[str, WaypathShape] | None = None,
    ) -> None:
        self.goals, self.grid_numbers = goals, grid_numbers
        self._waypaths = waypaths or {}
        self.machines = machines or {}  # by the index of the group
        self.behaviours = behaviours or Behaviours()
        self.sections = sections or {}
        self.reader = reader
        self.problems = problems
        self.tick = tick
        self._names: dict[str, int] = {}
        self._ids: dict[int, str] = {}
        self._total = 0
        self._widths = 0.0  # own widths a second
        self._hastiest: tuple[float, float, Path] | None = None
        self._groups: list[Group] = []

    def add(self, index: int, shape: schema.GroupShape) -> None:
        """Check one group of the file."""
        path: Path = ("groups", index)
        if shape.name in self._names:
            first = item_text(("groups", self._names[shape.name]))
            self.problems.add(
                (*path, "name"),
                f'there is a group "{shape.name}" already: {first}',
                "Names tell agents apart; give another one.",
            )
        self._names.setdefault(shape.name, index)
        count = self._count(shape, path)
        self._total += count + shape.reserve
        if self._total > MAX_AGENTS >= self._total - count - shape.reserve:
            self.problems.add(
                path,
                (
                    f"with this group the scenario has {self._total:,} agents, but there may be at most "
                    f"{MAX_AGENTS:,}"
                ),
            )
        region = self.reader.united(shape.region, (*path, "region")) if shape.region is not None else None
        spot = shapely.Point(shape.positions[0]) if shape.positions else region
        group = Group(
            name=shape.name,
            count=count,
            positions=np.array(shape.positions, dtype=np.float64).reshape(-1, 2) + 0.0
            if shape.positions is not None
            else None,
            listed=(),
            reserve=shape.reserve,
            arrive=resolve_arrivals(shape.arrive, (*path, "arrive"), self.reader, self.problems)
            if shape.arrive is not None
            else None,
            region=region,
            leave_on_arrival=shape.leave_on_arrival,
            avoidance=self._own("avoidance", path),
            navigation=self._own("navigation", path),
            behaviour=self.machines.get(index, ""),
            together=resolve_together(shape.together, shape, (*path, "together"), self.problems)
            if shape.together is not None
            else None,
            keys=tuple(shape.keys),
            excludes=tuple(shape.excludes),
            layer=self.goals.floors.layer(shape, path, spot),
            place=self.problems.root.place_of(path),
            item=item_text(path),
            **self._keys_of_agents(shape, path),
        )
        if shape.vehicle is not None:
            group = self._driven(group, shape, path)
        self._check_stay(shape, group.visits, (*path, "leave_on_arrival"))
        self._check_behaviour(shape, path)
        if fastest := self.behaviours.fastest(group.behaviour):
            self._check_step(number(fastest), group.radius, (), (*path, "behaviour"), group.name)
        self._check_step(group.speed, group.radius, group.visits, path, group.name, group.together)
        self._groups.append(replace(group, listed=tuple(self._listed(group, shape, path))))

    def _driven(self, group: Group, shape: schema.GroupShape, path: Path) -> Group:
        """Return a group whose agents are vehicles; what they cannot have is refused."""
        assert shape.vehicle is not None
        vehicle = vehicle_from(shape.vehicle)
        for key, what, way_out in complaints(vehicle, shape.vehicle):
            self.problems.add((*path, "vehicle", key), what, way_out)
        if shape.positions is None:
            self.problems.add(
                path, "vehicles stand at places that are given", "Give positions: [[x, y], ...].", key=False
            )
        for key in NOT_OF_VEHICLES:
            if key in shape.model_fields_set and getattr(shape, key) not in (None, [], 0):
                self.problems.add((*path, key), f"vehicles have no {key}", "Leave it out.", key=True)
        if not shape.leave_on_arrival:
            self.problems.add(
                (*path, "leave_on_arrival"), "vehicles leave where they arrive", "Leave it out.", key=True
            )
        goals = [self.goals.goals[visit.goal] for visit in group.visits]
        if len(goals) != 1 or goals[0].area is None or goals[0].parts:
            self.problems.add(
                (*path, "goals") if shape.goals is not None else path,
                "a vehicle drives to one goal, which is an area",
                "Give one goal that is an exit or a region.",
            )
            return replace(group, visits=())
        return replace(
            group,
            vehicle=vehicle,
            radius=number(0.5 * vehicle.width),
            speed=number(vehicle.speed),
            immovable=True,
        )

    def _keys_of_agents(self, shape: schema.Bodies, path: Path) -> dict[str, Any]:
        """Return what the file says under the keys that groups and single agents have in common."""
        found: dict[str, Any] = {}
        for key, value in shape:
            if value is None or key not in schema.Bodies.model_fields:
                continue
            if key == "goals":
                found["visits"] = self.goals.visits(value, (*path, key))
            elif key not in _BOUNDS:
                found[key] = value
            elif (distribution := self._distribution(value, key, (*path, key))) is not None:
                found[key] = distribution
        return found

    def _own(self, name: str, group: Path) -> Chosen | None:
        """Return a section of a group's own (how it avoids others, how it finds its path) if it says anything
        else there than the scenario.
        """
        path, base = (*group, name), self.sections.get(name)
        node = self.problems.root.at(path)
        if node is None or node.value is UNUSABLE:
            return None
        section = next(section for section in SECTIONS if section.name == name)
        own = resolve_section(
            section, node, self.problems, path=path, base=base, grid_numbers=self.grid_numbers
        )
        return own if own != base else None

    def _count(self, shape: schema.GroupShape, path: Path) -> int:
        given = [key for key in HOW_MANY if getattr(shape, key) is not None]
        if not given and shape.arrive is not None:
            return 0
        if not given:
            self.problems.add(
                path,
                f'the group "{shape.name}" says nothing of how many agents it has',
                "Give one of count, positions and agents, or say with arrive when they come.",
            )
            return 0
        if len(given) > 1:
            self.problems.add(
                (*path, given[1]), f"{given[0]} and {given[1]} are both given", "Keep one of them.", key=True
            )
        placed = shape.positions is not None or (
            shape.agents is not None and all(agent.position is not None for agent in shape.agents)
        )
        if shape.region is not None and placed and len(given) == 1 and shape.arrive is None:
            self.problems.add(
                (*path, "region"),
                "every agent has a position, so the region does nothing",
                "Leave it out.",
                key=True,
            )
        if shape.count is not None:
            return shape.count
        return len(shape.positions if shape.positions is not None else shape.agents or ())

    def _distribution(self, shape: Any, name: str, path: Path) -> Distribution | None:
        distribution = distribution_from(shape)
        wrong = complaint(shape, distribution, **_BOUNDS[name])
        if wrong is not None:
            self.problems.add(path, *wrong)
            return None
        return distribution

    def _listed(self, group: Group, shape: schema.GroupShape, path: Path) -> Iterator[ListedAgent]:
        for index, agent in enumerate(shape.agents or ()):
            at = (*path, "agents", index)
            if agent.id is not None:
                if agent.id in self._ids:
                    self.problems.add(
                        (*at, "id"),
                        f"{agent.id} is the id of {self._ids[agent.id]} already",
                        "ids tell agents apart in the whole scenario.",
                    )
                self._ids.setdefault(agent.id, item_text(at))
            position = _pair(agent.position) if agent.position is not None else None
            own = ListedAgent(agent.id, position, **self._keys_of_agents(agent, at))
            if own.visits is not None:
                self._check_stay(shape, own.visits, (*at, "goals"))
            if own.speed or own.radius or own.visits:
                self._check_step(
                    own.speed or group.speed, own.radius or group.radius, own.visits or (), at, group.name
                )
            yield own

    def _check_stay(self, shape: schema.GroupShape, visits: Sequence[Visit], path: Path) -> None:
        exits = [goal for goal in visits[-1].goals if goal in self.goals.exits] if visits else []
        if not shape.leave_on_arrival and exits:
            self.problems.add(
                path,
                (
                    f'the last goal "{self.goals.goals[exits[0]].name}" is an exit, where agents '
                    "leave the world: they cannot stay"
                ),
                "Make it a region, or leave out leave_on_arrival.",
            )

    def _check_behaviour(self, shape: schema.GroupShape, path: Path) -> None:
        """Report what a machine says in place of the group."""
        if shape.behaviour is None:
            return
        listed_goals = [
            (*path, "agents", row, "goals")
            for row, agent in enumerate(shape.agents or ())
            if agent.goals is not None
        ]
        for at in ([(*path, "goals")] if shape.goals is not None else []) + listed_goals:
            self.problems.add(
                at,
                "goals stand beside a behaviour, which says where agents go",
                "Keep one: in a machine {go_to: goal} and {leave: exit} go to goals.",
                key=True,
            )
        if not shape.leave_on_arrival:
            self.problems.add(
                (*path, "leave_on_arrival"),
                "a behaviour says where agents leave",
                "Leave it out: in a machine agents leave by {leave: exit}, and stay by {stay: region}.",
                key=True,
            )

    def _check_step(
        self,
        speed: Distribution,
        radius: Distribution,
        visits: Sequence[Visit],
        path: Path,
        name: str,
        together: Together | None = None,
    ) -> None:
        """Remember which agent walks farthest in a tick, measured by its own width."""
        fastest = max([speed.high, *(visit.speed for visit in visits if visit.speed is not None)])
        fastest *= together.hurry if together is not None else 1.0
        fastest *= fastest_factor(self._waypaths, name)
        widths = fastest / (2.0 * radius.low)
        if widths > self._widths:
            self._widths, self._hastiest = widths, (fastest, 2.0 * radius.low, path)

    def check_tick(self) -> None:
        """Report a tick in which an agent can jump over another."""
        if self.tick is None or self._hastiest is None or self._widths * self.tick <= 1.0:
            return
        fastest, width, path = self._hastiest
        agent = item_text(path)
        step = (
            f"in a tick of {self.tick:g} s an agent of {agent} can walk {fastest * self.tick:.3g} m "
            f"({fastest:g} m/s)"
        )
        message = f"{step}: farther than the {width:g} m that the thinnest is wide"
        where = ("tick",) if self.problems.root.at(("tick",)) is not None else path
        self.problems.add(
            where,
            message,
            f"Agents would jump over each other: take a tick of at most {width / fastest:.2g} s.",
        )

    def groups(self) -> tuple[Group, ...]:
        """Return all groups, ascending by name."""
        return tuple(sorted(self._groups, key=lambda group: group.name))
