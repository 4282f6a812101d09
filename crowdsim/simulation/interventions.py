"""What a program can do to a run from outside:
send agents elsewhere, steer them, change their radii and the ground.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.kernels.threads import Team
from crowdsim.scenario.canonical import canonical_data
from crowdsim.scenario.load import as_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.obstacles import Obstacle, obstacle_data
from crowdsim.scenario.tree import listed, suggestion
from crowdsim.setup.build import Built
from crowdsim.setup.things import Door, MovingObstacle
from crowdsim.simulation.given import floor_of, points_of, rows_of, velocities_of
from crowdsim.simulation.ledger import Ledger
from crowdsim.simulation.placing import places_for, polygons_under, put_elsewhere
from crowdsim.simulation.recorder import Recorder
from crowdsim.simulation.replay import intervention
from crowdsim.simulation.sending import goals_for, layer_at
from crowdsim.simulation.verdict import Verdict
from crowdsim.systems.base.own import OwnSystem
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.behave import Behave
from crowdsim.systems.change_ground import ChangeGround
from crowdsim.systems.ground.things import obstacle_named, send_obstacle
from crowdsim.systems.paths.sending import let_stand, send
from crowdsim.systems.plan import Plan
from crowdsim.systems.resize import reach_walls, require_radii, set_radii, set_speeds
from crowdsim.systems.ride import Ride
from crowdsim.world.columns import Led, Stepping
from crowdsim.world.world import World

S = TypeVar("S", bound=System)


class Interventions:
    """Base of the simulation. What is done here holds from the next tick on, is noted in the verdict,
    and can be done from callbacks too.
    """

    scenario: Scenario
    built: Built
    world: World
    ledger: Ledger
    recorder: Recorder | None
    is_in_tick: bool
    systems: list[System]
    team: Team
    _verdict: Verdict | None

    def system(self, kind: type[S]) -> S:
        """Return the system of a class, for example one of your own.

        Raises
        ------
        CrowdsimError
            If the tick has none.
        """
        for system in self.systems:
            own = system.system if isinstance(system, OwnSystem) else system
            if isinstance(own, kind):
                return own
        raise CrowdsimError(
            f"the tick has no system {kind.__name__}; it has "
            f"{', '.join(system.name for system in self.systems)}."
        )

    @property
    def tick(self) -> int:
        """Ticks done so far."""
        return self.world.tick

    @property
    def time(self) -> float:
        """Simulated time so far, s."""
        return self.world.tick * self.scenario.tick

    @intervention
    def set_goal(
        self,
        entity: ArrayLike,
        goal: str | ArrayLike | Mapping[str, Any] | None,
        *,
        storey: str | None = None,
        height: float | None = None,
    ) -> None:
        """Send agents to a goal of the scenario, to a point or a region, or to none; they ask for a path in
        the next tick.

        An agent with a path that leads within `navigation.same_target` of the new goal keeps it
        ([Pathfinding undated], section 7).

        One that has not set off yet (premovement) sets off at its time. At the new goal agents go on with the
        rest of their list; those at the end of it leave the world or stay, as their group says.

        Parameters
        ----------
        entity : int, str, or sequence of these
            Entity ids, or names as `agents.label` has them.
        goal : str, (2,) or (k, 2) float in m, mapping, or None
            Name of a goal; a point, one for all or one for each; a point or a region with the keys of a
            scenario file, as in ``{"point": [3, 4], "arrive_within": 0.5}`` or
            ``{"region": {"box": [0, 0, 2, 2]}}``. None lets them stand.
        storey : str, optional
            Floor on which a point or a region lies; without it points are on the floor of their agents.
        height : float, m, optional
            The same on a surface: the ground nearest to it.

        Notes
        -----
        The machine of states of an agent that has one ends here: `set_state` lets it begin again.

        Raises
        ------
        CrowdsimError
            If there is no such goal or agent, or the place is off the ground.
        """
        self._refuse_if_finished("send agents to a goal")
        rows, agents = self._rows(entity), self.world.agents
        if goal is None:
            self.system(Behave).end(self._next_tick, rows)
            self._let_stand(rows)
            return
        number = goals_for(self.built, rows, goal, storey, height)
        self.system(Behave).end(self._next_tick, rows)
        send(self.world, rows, number, self.world.tick + 1)
        self.ledger.note_steering(agents.entity[rows], are_sent=True)

    def _let_stand(self, rows: NDArray[np.intp]) -> None:
        """Take the goals of agents."""
        let_stand(self.world, rows)
        self.ledger.note_steering(self.world.agents.entity[rows], are_sent=True)

    @intervention
    def jump(
        self, entity: ArrayLike, to: ArrayLike, *, storey: str | None = None, height: float | None = None
    ) -> None:
        """Let an agent jump from where it is to a point, in the next tick; others follow it over the portal
        that it leaves (the scenario's key `jumps`).

        It goes on to its goal where it lands. The machine of states of an agent that has one ends here.

        Parameters
        ----------
        entity : int or str
            Entity id, or name as `agents.label` has it.
        to : (2,) float, m
        storey : str, optional
            Floor on which the point lies; without it that of the agent.
        height : float, m, optional
            The same on a surface: the ground nearest to it.

        Raises
        ------
        CrowdsimError
            If the agent cannot jump there, with the reason.
        """
        self._refuse_if_finished("let agents jump")
        rows, place = self._rows(entity), points_of(to, "the place to jump to")
        name = self.built.names.of(int(self.world.agents.entity[rows[0]])) if len(rows) else "nobody"
        if len(rows) != 1 or len(place) != 1:
            raise CrowdsimError("one agent jumps to one point at a time: give one of each.")
        jumps = self.system(Ride).jumps
        if jumps is None:
            raise CrowdsimError("nobody jumps in this scenario. Say how agents jump: jumps: {}.")
        row, floor = int(rows[0]), -1
        if self.scenario.geometry.floors:
            is_own = storey is None and height is None
            own = int(self.world.agents.layer[row])
            floor = own if is_own else layer_at(self.built, place[0].tolist(), storey, height)
        elif storey is not None or height is not None:
            raise CrowdsimError("the ground has one level floor: leave out storey and height.")
        where = f"({place[0, 0]:g}, {place[0, 1]:g})"
        if why := jumps.why_not(row, place[0], floor):
            raise CrowdsimError(f"{name} cannot jump to {where}: {why}.")
        tick = self._next_tick
        self.system(Behave).end(tick, rows)
        if not jumps.leap(tick.number, row, place[0], floor, tick.number):
            raise CrowdsimError(
                f"{name} cannot jump to {where} now: others are in the air there. Try again in a moment."
            )
        self.ledger.note_steering(self.world.agents.entity[rows], are_sent=True)

    @intervention
    def set_state(self, entity: ArrayLike, state: str) -> None:
        """Let agents begin a state of their machine, whatever they do now.

        Parameters
        ----------
        entity : int, str, or sequence of these
            Entity ids, or names as `agents.label` has them.
        state : str
            Its name in their machine, as `behaviours` in the scenario have it; that of a state in a machine
            of which it is made with a slash: ``"round/walk"``.

        Raises
        ------
        CrowdsimError
            If there is no such agent, or its group has no machine, or none with this state.
        """
        self._refuse_if_finished("change what agents do")
        rows, agents, behaviours = self._rows(entity), self.world.agents, self.scenario.behaviours
        numbers = np.empty(len(rows), dtype=np.int32)
        for group in np.unique(agents.group[rows]).tolist():
            own, machine = self.scenario.groups[group], self.scenario.groups[group].behaviour
            if not machine:
                raise CrowdsimError(
                    f"the agents of the group {own.name} have no machine of states. Give it one with "
                    "behaviour: name in the scenario."
                )
            names = [each.name for each in behaviours.machine(machine).states]
            if state not in names:
                near = suggestion(state, names) if isinstance(state, str) else ""
                way_out = f"{near} Known are {listed(names)}.".strip()
                raise CrowdsimError(f'the machine "{machine}" has no state {state!r}. {way_out}')
            numbers[agents.group[rows] == group] = behaviours.first_state(machine) + names.index(state)
        for number in np.unique(numbers).tolist():
            self.system(Behave).put_into(self._next_tick, np.unique(rows[numbers == number]), number)
        self.ledger.note_steering(agents.entity[rows], are_sent=False)

    @intervention
    def set_signal(self, name: str, on: bool = True) -> None:
        """Give a signal to all agents, or end it; those that wait for it go on in the next tick.

        Parameters
        ----------
        name : str
            One that the machines or the events of the scenario name.
        on : bool

        Raises
        ------
        CrowdsimError
            If there is no such signal.
        """
        self._refuse_if_finished("give signals")
        known = list(self.world.signals)
        if name not in known:
            near = suggestion(name, known) if isinstance(name, str) else ""
            way_out = f"{near} Known are {listed(known)}." if known else "No machine and no event names one."
            raise CrowdsimError(f"there is no signal {name!r}. {way_out}".replace("  ", " "))
        self.world.signals[name] = bool(on)
        self.ledger.note_steering(np.zeros(1, dtype=np.int64), are_sent=False)

    @property
    def _next_tick(self) -> Tick:
        """The tick in which what a program does takes place."""
        return Tick(self.world.tick + 1, self.scenario.tick, self.team)

    @intervention
    def set_preferred_velocity(self, entity: ArrayLike, velocity: ArrayLike | None) -> None:
        """Steer agents from outside, until this is called with None: avoidance still applies.

        Parameters
        ----------
        entity : int, str, or sequence of these
            Entity ids, or names as `agents.label` has them.
        velocity : (2,) or (k, 2) float, m/s, or None
            One for all or one for each; None gives them back to their paths.

        Raises
        ------
        CrowdsimError
            If there is no such agent, or a velocity is not two finite numbers.
        """
        self._refuse_if_finished("steer agents")
        rows, agents = self._rows(entity), self.world.agents
        if velocity is not None:
            agents.preferred_velocity[rows] = velocities_of(velocity, len(rows))
            agents.next_corner[rows] = agents.position[rows]
        agents.is_driven[rows] = Led.ON if velocity is not None else Led.NOT
        self.ledger.note_steering(agents.entity[rows], are_sent=False)

    @intervention
    def set_radius(self, entity: ArrayLike, radius: ArrayLike) -> None:
        """Make agents wider or thinner, from the next tick on.

        An agent with a portal ahead of it that is too narrow now asks for another path, and so does one that
        had none. An agent that has no room where it is, is pushed clear of walls and others as far as there
        is any.

        Parameters
        ----------
        entity : int, str, or sequence of these
            Entity ids, or names as `agents.label` has them.
        radius : float or (k,) float, m
            One for all or one for each, up to `navigation.widest_body` (2 m where the scenario does not say
            otherwise).

        Raises
        ------
        CrowdsimError
            If there is no such agent, or it cannot have such a radius.
        """
        self._refuse_if_finished("change agents")
        rows = self._rows(entity)
        set_radii(self.built, rows, radius)
        self.ledger.note_steering(self.world.agents.entity[rows], are_sent=False)

    @intervention
    def set_speed(self, entity: ArrayLike, speed: ArrayLike) -> None:
        """Let agents like another speed, from the next tick on, until a goal of their list has its own.

        Parameters
        ----------
        entity : int, str, or sequence of these
            Entity ids, or names as `agents.label` has them.
        speed : float or (k,) float, m/s
            One for all or one for each, above 0: `hold` lets agents stand.

        Raises
        ------
        CrowdsimError
            If there is no such agent, or a speed is none, or so high that others could jump over the agent.
        """
        self._refuse_if_finished("change agents")
        rows = self._rows(entity)
        set_speeds(self.built, rows, speed)
        self.ledger.note_steering(self.world.agents.entity[rows], are_sent=False)

    @intervention
    def hold(self, entity: ArrayLike, held: bool = True) -> None:
        """Let agents stand where they are, or go on.

        One that is held heeds no other agent and is not asked aside, also where `bodies.nudging` is on.
        Bodies that touch it push it all the same, and others go round it. It keeps its goal and its path, and
        is not stuck. This and `set_preferred_velocity` undo each other.

        Parameters
        ----------
        entity : int, str, or sequence of these
            Entity ids, or names as `agents.label` has them.
        held : bool

        Raises
        ------
        CrowdsimError
            If there is no such agent.
        """
        self._refuse_if_finished("hold agents")
        rows, agents = self._rows(entity), self.world.agents
        if held:
            agents.preferred_velocity[rows] = agents.chosen_velocity[rows] = agents.velocity[rows] = 0.0
            agents.next_corner[rows] = agents.position[rows]
            agents.is_yielding[rows] = Stepping.NOWHERE
        agents.is_driven[rows] = Led.HELD if held else Led.NOT
        self.ledger.note_steering(agents.entity[rows], are_sent=False)

    @intervention
    def add_agents(self, group: str, position: ArrayLike, *, storey: str | None = None) -> NDArray[np.int64]:
        """Put agents of a group's reserve into the world; they are there in the next tick.

        They are the next ones of the group by their index, have what its agents have, drawn as theirs from
        the seed, and go where these go; `set_goal` sends them elsewhere.

        Parameters
        ----------
        group : str
            One with a key ``reserve`` in the scenario.
        position : (2,) or (k, 2) float, m
            One for each.
        storey : str, optional
            Floor on which they begin, where there are several; without it that of their group.

        Returns
        -------
        (k,) int64
            Their entities.

        Raises
        ------
        CrowdsimError
            If the group has not so many left, or one would be off the ground, in a wall or in another. Then
            none is put in.
        """
        self._refuse_if_finished("put agents in")
        groups = [each.name for each in self.scenario.groups]
        if group not in groups:
            near = suggestion(group, groups) if isinstance(group, str) else ""
            raise CrowdsimError(
                f"there is no group {group!r}. {near} Known are {listed(groups)}.".replace("  ", " ")
            )
        number, outside = groups.index(group), self.world.outside
        left = outside["entity"][outside["was_in"] == 0]
        left = left[outside["group"][outside["was_in"] == 0] == number]
        wanted = points_of(position, "the position of an agent")
        if len(wanted) > len(left):
            reserve = self.scenario.groups[number].reserve
            raise CrowdsimError(
                f"{len(wanted):,} agents are to be put in, but the group {group} has a reserve of "
                f"{reserve:,}, and {len(left):,} of them are left. Give it more: groups: [{{name: {group}, "
                f"reserve: {reserve + len(wanted) - len(left)}, ...}}]."
            )
        entity = left[: len(wanted)]
        layer = max(0, self.scenario.groups[number].layer) if storey is None else self._floor(storey)
        self._put_in(entity, wanted, np.full(len(entity), layer, dtype=np.int32))
        return entity

    @intervention
    def switch_off(self, entity: ArrayLike) -> None:
        """Take agents out of the world until `switch_on`: no agent meets them, and they do nothing.

        What they are, where they were and where they go is kept; their paths are not.

        Parameters
        ----------
        entity : int, str, or sequence of these
            Entity ids, or names as `agents.label` has them.

        Raises
        ------
        CrowdsimError
            If there is no such agent.
        """
        rows = self._leaving(entity)
        self.world.take_out(rows)

    @intervention
    def switch_on(self, entity: ArrayLike, position: ArrayLike | None = None) -> None:
        """Put agents into the world again that were switched off; they are there in the next tick.

        Parameters
        ----------
        entity : int, str, or sequence of these
            Entity ids or names.
        position : (2,) or (k, 2) float, m, optional
            One for each, on the floor on which it was; without it they come where they were.

        Raises
        ------
        CrowdsimError
            If an agent is not switched off, or would be off the ground, in a wall or in another. Then none is
            put in.
        """
        self._refuse_if_finished("put agents in")
        outside = self.world.outside
        is_off = outside["was_in"] == 1
        known = outside["entity"][is_off]
        rows = rows_of(entity, known, self.built.names, "is not switched off")
        place, layer = outside["position"][is_off][rows], outside["layer"][is_off][rows]
        own = known[rows]
        self._put_in(own, places_for(self.built, own, place if position is None else position), layer)

    @intervention
    def remove_agents(self, entity: ArrayLike) -> None:
        """Take agents out of the world for good.

        Parameters
        ----------
        entity : int, str, or sequence of these
            Entity ids, or names as `agents.label` has them.

        Raises
        ------
        CrowdsimError
            If there is no such agent.
        """
        self.world.retire(self._leaving(entity))

    def _leaving(self, entity: ArrayLike) -> NDArray[np.int64]:
        """Return the rows of agents that are to leave, which then ask for no path any more."""
        self._refuse_if_finished("take agents out")
        rows = np.unique(self._rows(entity))
        own = self.world.agents.entity[rows]
        self.system(Plan).forget(own)
        self.ledger.note_steering(own, are_sent=False)
        return rows

    def _put_in(
        self, entity: NDArray[np.int64], position: NDArray[np.float64], layer: NDArray[np.int32]
    ) -> None:
        """Put agents in that are outside, where they have room."""
        world = self.world
        place = np.searchsorted(world.outside["entity"], entity)
        radius = world.outside["radius"][place]
        require_radii(self.built, entity, world.outside["group"][place], radius)
        polygon = polygons_under(self.built, entity, position, radius, layer)
        world.put_in(entity, position, polygon)
        reach_walls(self.built)
        self.ledger.note_steering(entity, are_sent=False)

    def _floor(self, storey: str) -> int:
        names = self.scenario.geometry.floor_names
        if storey not in names:
            known = f"Known are {listed(list(names))}." if names else "The ground has one floor only."
            raise CrowdsimError(f"there is no storey {storey!r}. {known}")
        return list(names).index(storey)

    @intervention
    def move_agents(self, entity: ArrayLike, position: ArrayLike) -> None:
        """Put agents elsewhere on their floor at once; those that go somewhere ask for a path from there.

        Parameters
        ----------
        entity : int, str, or sequence of these
            Entity ids, or names as `agents.label` has them.
        position : (2,) or (k, 2) float, m
            One for each.

        Raises
        ------
        CrowdsimError
            If there is no such agent, or one would be off the ground, in a wall or in another. Then none is
            moved.
        """
        self._refuse_if_finished("move agents")
        rows, agents = self._rows(entity), self.world.agents
        own = agents.entity[rows]
        place = places_for(self.built, own, position)
        polygon = polygons_under(self.built, own, place, agents.radius[rows], agents.layer[rows])
        put_elsewhere(self.built, self.system(Plan), rows, place, polygon)
        self.ledger.note_steering(own, are_sent=False)

    @intervention
    def set_area_available(self, name: str, available: bool) -> None:
        """Open or close an area of the scenario in the next tick, before anything else happens in it.

        A closed area is a wall along its outline: no agent walks through it, and those with a path through it
        get another. Agents on the wall's line, or in an area that is too narrow for them, are put where they
        have room; those inside a wider area are shut in.

        Parameters
        ----------
        name : str
            One of `geometry.areas`.
        available : bool

        Raises
        ------
        CrowdsimError
            If there is no such area.
        """
        self._refuse_if_finished("open or close areas")
        self._ask_door(name, bool(available), is_part=False)

    @intervention
    def set_part_present(self, name: str, present: bool) -> None:
        """Let a part of the scenario's soup come or go. The ground is filled anew, as a task of the time
        slicer, and put in between two ticks; till then it is as it was.

        Agents under which the ground goes come down on what is below; those where something appears are put
        beside it.

        Parameters
        ----------
        name : str
            One of `geometry.soup.parts`.
        present : bool

        Raises
        ------
        CrowdsimError
            If there is no such part.
        """
        self._refuse_if_finished("let parts of the soup come or go")
        self._ask_door(name, bool(present), is_part=True)

    def _ask_door(self, name: str, is_open: bool, *, is_part: bool) -> None:
        """Ask for an area or a part to be there or not."""
        doors = {door.area.name: door for _, door in self.world.query(Door) if door.area.is_part == is_part}
        if name not in doors:
            what, where = ("part", "geometry.soup.parts") if is_part else ("area", "geometry.areas")
            names = list(doors)
            known = (
                f"{suggestion(name, names)} Known are {listed(names)}."
                if names
                else f"The scenario has none; list them under {where}."
            )
            raise CrowdsimError(f"there is no {what} {name!r}. {known}".replace(".  ", ". "))
        doors[name].asked = is_open
        self.ledger.note_steering(np.zeros(1, dtype=np.int64), are_sent=False)

    @intervention
    def put_obstacle(self, name: str, shape: Mapping[str, Any], position: ArrayLike, **more: Any) -> None:
        """Let an obstacle appear in the next tick and stand there; agents in its place are put beside it.

        Parameters
        ----------
        name : str
            A new one, or that of an obstacle which is not there now.
        shape : mapping
            ``{"disc": radius}`` or ``{"polygon": [[x, y], ...]}`` round the position, m.
        position : (2,) float, m
        **more
            Further keys of an obstacle in a scenario file: ``stands_after``, ``turns``, ``storey`` ...

        Raises
        ------
        CrowdsimError
            If an obstacle of this name is there, or something is wrong with it on this ground.
        """
        self._refuse_if_finished("put obstacles in")
        known = obstacle_named(self.world, name)
        if known is not None and known.is_there:
            raise CrowdsimError(
                f'the obstacle "{name}" is there already. Send it elsewhere with move_obstacle, or choose '
                "another name."
            )
        if known is None and any(area.name == name for area in self.scenario.geometry.areas):
            raise CrowdsimError(f'"{name}" is the name of an area. Choose another one for the obstacle.')
        if not isinstance(shape, Mapping):
            raise CrowdsimError(
                f'the shape of an obstacle is {{"disc": radius}} or {{"polygon": [[x, y], ...]}}, not '
                f"{shape!r:.60}."
            )
        place = points_of(position, "the position of an obstacle")[:1].tolist()
        values = {"name": name, "shape": dict(shape), "path": place, "appears": self.time, **more}
        send_obstacle(self.world, obstacle_of(self.scenario, values))
        self.ledger.note_steering(np.zeros(1, dtype=np.int64), are_sent=False)

    @intervention
    def move_obstacle(self, name: str, path: ArrayLike, speed: float, *, loop: bool = False) -> None:
        """Send an obstacle along a path from where it is;
        it begins in the next tick and stands at the end of the path.

        Parameters
        ----------
        name : str
        path : (2,) or (k, 2) float, m
            Points that it goes through, the last of which is its end.
        speed : float, m/s
        loop : bool
            Whether it goes on from the last point to where it is now, and round again.

        Raises
        ------
        CrowdsimError
            If there is no such obstacle now, or its path leaves the ground.
        """
        self._refuse_if_finished("move obstacles")
        here = self._obstacle(name)
        tick, turning = self.world.tick, here.turning
        points = [list(here.place(tick)), *points_of(path, "the path of an obstacle").tolist()]
        values = {
            **obstacle_data(here, self.scenario.geometry.floor_names),
            "path": points,
            "speed": speed,
            "appears": self.time,
            "loop": loop,
        }
        sent = obstacle_of(
            self.scenario,
            {
                key: value
                for key, value in values.items()
                if key not in ("times", "vanishes", "turns", "turn_time")
            },
        )
        send_obstacle(
            self.world,
            replace(sent, turning=replace(turning, timetable=sent.timetable, before=here.direction(tick))),
        )
        self.ledger.note_steering(np.zeros(1, dtype=np.int64), are_sent=False)

    @intervention
    def remove_obstacle(self, name: str) -> None:
        """Let an obstacle vanish in the next tick.

        Parameters
        ----------
        name : str

        Raises
        ------
        CrowdsimError
            If there is no such obstacle now.
        """
        self._refuse_if_finished("take obstacles away")
        send_obstacle(
            self.world, replace(self._obstacle(name), vanishes=self.time, last_tick=self.world.tick)
        )
        self.ledger.note_steering(np.zeros(1, dtype=np.int64), are_sent=False)

    def _obstacle(self, name: str) -> Obstacle:
        found = obstacle_named(self.world, name)
        if found is None or not found.is_there:
            there = [each.obstacle.name for _, each in self.world.query(MovingObstacle) if each.is_there]
            known = (
                f"{suggestion(name, there)} There are {listed(there)}.".strip()
                if there
                else "None is there now; put_obstacle puts one in."
            )
            raise CrowdsimError(f'there is no obstacle "{name}" now. {known}')
        return found.obstacle

    @intervention
    def remove_tile(
        self, column: int, row: int, *, storey: str | None = None, height: float | None = None
    ) -> None:
        """Take a tile of the ground out in the next tick, before anything else happens in it,
        or as soon as the budget allows.

        Agents with paths over it ask for others. Those on it stand still, with the path status STALE, until
        the tile is back; handles of it are stale for good. Until then all is as it was. What is ordered
        between two ticks lands together, and nothing before what was ordered earlier.

        Parameters
        ----------
        column, row : int
            Tile (i, j) covers ``i * tile_size .. (i + 1) * tile_size`` in x, likewise j in y.
        storey : str, optional
            Its floor, a storey or a connection; needed where there are several, unless height is given.
        height : float, m, optional
            About how high it lies, in place of storey.

        Raises
        ------
        CrowdsimError
            If the ground has no tiles (``navigation: {tile_size: 16}`` makes some), or this one is not there,
            or will not be by then, or the floor is not named.
        """
        self._order_tile(column, row, storey, height, goes=True)

    @intervention
    def add_tile(
        self, column: int, row: int, *, storey: str | None = None, height: float | None = None
    ) -> None:
        """Put a tile back that was taken out, when `remove_tile` would take one out:
        agents on it go on, those that had found no path ask again.

        Parameters
        ----------
        column, row : int
        storey : str, optional
        height : float, m, optional
            See `remove_tile`.

        Raises
        ------
        CrowdsimError
            If the ground has no tiles, or this one is there already, or will be by then, or the floor is not
            named.
        """
        self._order_tile(column, row, storey, height, goes=False)

    def _order_tile(
        self, column: int, row: int, storey: str | None, height: float | None, *, goes: bool
    ) -> None:
        self._refuse_if_finished("change the ground")
        tiles = self.world.tiles
        if tiles is None:
            raise CrowdsimError(
                "the ground of this scenario is in one piece. Write navigation: {tile_size: 16}, for "
                "example, to have tiles of 16 m."
            )
        whole = [isinstance(each, (int, np.integer)) and abs(int(each)) < 2**31 for each in (column, row)]
        layer = self._floor_of_tile(column, row, storey, height) if all(whole) else 0
        tile = tiles.tile_named(int(column), int(row), layer) if all(whole) else -1
        if tile < 0:
            where = tiles.numbers.of_floor(layer)
            raise CrowdsimError(
                f"there is no tile ({column}, {row}){where}. {tiles.numbers.extent_text(layer)}"
            )
        self.system(ChangeGround).order_tile(tile, goes=goes)
        self.ledger.note_steering(np.zeros(1, dtype=np.int64), are_sent=False)

    def _floor_of_tile(self, column: int, row: int, storey: str | None, height: float | None) -> int:
        """Return the number of the floor that a program means; the only one if it names none."""
        geometry, tiles = self.scenario.geometry, self.world.tiles
        layer = floor_of(geometry, storey, height, f"tile ({column}, {row})")
        if layer is not None:
            return max(0, layer)
        assert height is not None and tiles is not None
        box = shapely.box(*(tiles.size * each for each in (column, row, column + 1, row + 1)))
        layer = geometry.floor_in(box, float(height))
        if layer < 0:
            raise CrowdsimError(f"there is no ground in tile ({column}, {row}) on any floor.")
        return layer

    def _rows(self, entity: ArrayLike) -> NDArray[np.intp]:
        there, away = self.world.agents.entity[: self.world.agent_count], self.world.outside["entity"]
        rows = rows_of(entity, there, self.built.names, away=away.tolist())
        drives = rows[self.world.drives()[rows]]
        if len(drives):
            name = self.built.names.of(int(self.world.agents.entity[drives[0]]))
            raise CrowdsimError(
                f"{name} is a vehicle: it drives along its curve, and no program changes that. Leave it out."
            )
        return rows

    def _refuse_if_finished(self, wish: str) -> None:
        if self._verdict is not None:
            raise CrowdsimError(
                f"the simulation was finished at {self.time:g} s and cannot {wish}. Make a new one: "
                "Simulation(scenario)."
            )


def obstacle_of(scenario: Scenario, values: Mapping[str, Any]) -> Obstacle:
    """Return an obstacle that a program describes with the keys of a scenario file.

    Raises
    ------
    CrowdsimError
        With everything that is wrong with it on the ground of the scenario.
    """
    data = {
        key: value for key, value in canonical_data(scenario).items() if key not in ("events", "obstacles")
    }
    try:
        return as_scenario({**data, "groups": [], "record": {}, "obstacles": [values]}).obstacles[0]
    except ScenarioError as error:
        raise CrowdsimError(
            "; ".join(
                f"{problem.item.replace('obstacles[0]', 'the obstacle', 1)}: {problem.message}"
                for problem in error.problems
            )
        ) from None
