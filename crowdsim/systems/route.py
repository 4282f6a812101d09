"""Route: agents walk to their goals, or to a connection that leads there sooner."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.mesh.group_ground import GroupGround
from crowdsim.navigation.mesh.mesh import see_many
from crowdsim.saved import Arrays, Saved
from crowdsim.setup.routes import Chosen, Legs, Routes, Walkers
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.systems.connections.common_route import CommonRoute
from crowdsim.systems.connections.gates import Gates
from crowdsim.systems.connections.waypaths import Along
from crowdsim.systems.paths.lost_paths import GAVE_UP, LOST, ask_anew
from crowdsim.systems.paths.paths import Paths
from crowdsim.systems.ride import carriers_of
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.riding import RideStep, let_go

CHOICES = ("ride_step", "bound_for", "gate", "gate_out")
_WHOLE = -1  # In place of the number of paths: their agents use all ground.
TURNS = 32  # In which agents choose that choose in one tick: up to so many one after the other.


def _kept_off(paths: Paths) -> GroupGround | None:
    return paths.kept_off


class Route(TickSystem):
    """Choose for each agent that is to ask for a path whether it goes to a connection first.

    An agent chooses when it sets off, when it is sent elsewhere, when it comes out of a connection, and when
    the ground has changed; one that walks also when another has jumped. It knows how many wait at each gate
    at that moment, and those on their way there, or does so where it sees the gate, or not, as the connection
    says.
    Members of a party do the same (`CommonRoute`).
    """

    reads = (
        "entity", "group", "index", "party", "activity", "goal", "position", "layer", "surface", "radius",
        "desired_speed", "path_status", "waits", "start_tick", "goal_piece", "remaining", *CHOICES,
        "ride_since", "gate_spot",
    )  # fmt: skip
    writes = (
        "activity", "goal", "guessed", "replan_wish", "waits", "ride_until", "ride_since", "gate_spot",
        "lacks_key", "waypath_aim", *CHOICES, *LOST,
    )  # fmt: skip
    counts = ("chose_connections",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._is_idle = setup.world.riding is None
        if self._is_idle:
            return
        self._gates = Gates(setup)
        self._carriers = carriers_of(setup, self._gates)
        self._routes = Routes(setup.world)
        # how far one walks along each pair of gates that is a part of a waypath, in m of other ground; 0 of
        # all else
        first = self._gates.facts.first_gate[self._routes.connection]
        begin, end = self._routes.begin - first, self._routes.end - first
        self._walked = np.zeros(len(first))
        for pair, carrier in enumerate(self._carriers[each] for each in self._routes.connection.tolist()):
            if isinstance(carrier, Along):
                self._walked[pair] = carrier.walk_m(int(begin[pair]), int(end[pair]))
        self._kept_off: dict[int, Routes] = {}  # by the paths of groups that are kept off some ground
        self._common = CommonRoute(setup)
        self._mesh = setup.world.mesh

    @property
    def is_idle(self) -> bool:
        """Whether there are no connections."""
        return self._is_idle

    def process(self, tick: Tick) -> None:
        """Choose, and send those to gates that go there."""
        tick.counts["chose_connections"] = 0.0
        if self._is_idle:
            return
        agents = self.world.agents
        if self._mesh is not self.world.mesh:
            self._mesh = self.world.mesh
            again = np.flatnonzero(agents.ride_step == RideStep.COMING)
            let_go(agents, again)
            # those that stand have no ground, or no path: whatever ends that looks for why they stand
            ask_anew(agents, again[agents.activity[again] != AgentState.STANDING])
        self._gates.look_at_gates()
        new = self._new_portals(tick.number)
        rows = self._choosing(looks_again=len(new) > 0)
        if not len(rows):
            return
        asks = (agents.path_status[rows] == PathStatus.NONE) & (agents.ride_step[rows] == RideStep.NONE)
        at_gate = agents.ride_step[rows] != RideStep.NONE
        grounds = self._grounds(rows)
        is_open = self._open(grounds, len(rows))
        may = self._gates.facts.may_use[agents.group[rows]][:, self._routes.connection] & is_open
        goal = np.where(at_gate, agents.bound_for[rows], agents.goal[rows])
        polygon, speed = self.world.polygons(rows), agents.desired_speed[rows]
        walkers = Walkers(agents.position[rows], polygon, agents.radius[rows], speed)
        legs = self._measure(grounds, walkers, goal)
        chosen = self._common.agree(rows, self._choose(rows, legs, may), legs, may, self._routes)
        agents.lacks_key[rows[asks]] = -1
        lost = np.flatnonzero(np.isinf(chosen.seconds) & asks)
        if len(lost) and not may.all():
            by_foot = np.array([each.waypath is not None for each in self._gates.facts.connections])
            with_keys = may[lost] | (is_open[lost] & ~by_foot[self._routes.connection])
            all_keys = self._routes.choose(legs.only(lost), self._costs(self._ahead()), with_keys)
            agents.lacks_key[rows[lost]] = self._lacking(agents.group[rows[lost]], all_keys.gate)
        changes = (chosen.gate >= 0) & (asks | np.isin(chosen.gate, new))
        goes = rows[changes]
        if len(goes):
            self._gates.leave(tick.number, rows[changes & at_gate])
            agents.bound_for[goes] = agents.goal[goes]
            agents.gate[goes] = chosen.gate[changes]
            agents.gate_out[goes] = chosen.gate_out[changes]
            agents.ride_step[goes], agents.ride_since[goes] = RideStep.COMING, tick.number
            if self._gates.facts.has_waypaths:  # it comes to the line anew
                agents.waypath_aim[goes] = np.nan
            self._gates.come(tick.number, goes)
            tick.counts["chose_connections"] = float(len(goes))

    def _grounds(self, rows: NDArray[np.int64]) -> list[tuple[Routes, NDArray[np.int64]]]:
        """Return the routes over each ground that some of the agents, (k,) rows, use, with their places among
        these.
        """
        of_paths = np.full(len(rows), _WHOLE)
        for number, paths in enumerate(self.world.planning.paths):
            if paths.kept_off is not None:
                of_paths[paths.mine()[rows]] = number
                if number not in self._kept_off:
                    self._kept_off[number] = Routes(self.world, partial(_kept_off, paths))
        return [
            (self._kept_off.get(number, self._routes), np.flatnonzero(of_paths == number))
            for number in np.unique(of_paths).tolist()
        ]

    def _open(self, grounds: list[tuple[Routes, NDArray[np.int64]]], count: int) -> NDArray[np.bool_]:
        """Return which pairs of gates lead on over the ground that agents use, (k, p)."""
        found = np.ones((count, len(self._walked)), dtype=np.bool_)
        for routes, mine in grounds:
            found[mine] = ~routes.closed()
        return found

    def _choosing(self, *, looks_again: bool) -> NDArray[np.int64]:
        """Return the agents, (k,) rows, that choose in this tick: those that are to ask for a path; and where
        a new portal lies, all that go somewhere, also those that had given up, or wait at another gate.
        """
        agents = self.world.agents
        walks, step, status = agents.activity == AgentState.WALKING, agents.ride_step, agents.path_status
        free = (agents.goal >= 0) & (step == RideStep.NONE)
        if not looks_again:
            return np.flatnonzero(walks & free & (status == PathStatus.NONE) & self.world.has_ground())
        gave_up = (agents.activity == AgentState.STANDING) & np.isin(status, GAVE_UP)
        waits = np.isin(step, (RideStep.COMING, RideStep.IN_LINE)) & (agents.bound_for >= 0)
        return np.flatnonzero(((free & (walks | gave_up)) | waits) & self.world.has_ground())

    def _new_portals(self, tick: int) -> NDArray[np.int64]:
        """Return the gates of portals of which agents hear in this tick: those that walk look again whether
        they get to their goals sooner over one.
        """
        facts = self._gates.facts
        if facts.portals is None:
            return np.zeros(0, dtype=np.int64)
        slots = np.flatnonzero(facts.portals.is_open & (facts.portals.opened == tick))
        return facts.first_gate[facts.first_portal + slots]

    def _measure(
        self, grounds: list[tuple[Routes, NDArray[np.int64]]], walkers: Walkers, goal: NDArray[np.int32]
    ) -> Legs:
        """Return how long agents, (k,), walk, each over the ground that it uses."""
        return Legs.joined(
            [routes.measure(walkers.only(mine), goal[mine]) for routes, mine in grounds],
            [mine for _, mine in grounds],
        )

    def _choose(self, rows: NDArray[np.int64], legs: Legs, may: NDArray[np.bool_]) -> Chosen:
        """Let agents, (k,) rows, choose in turns: those of a turn know of all before them which gates they go
        to. Those that are at a gate already choose in the order in which they came there, before all others.
        """
        agents, found = self.world.agents, list[Chosen]()
        at_gate = agents.ride_step[rows] != RideStep.NONE
        ahead = self._ahead() - np.bincount(agents.gate[rows[at_gate]], minlength=len(self._gates.gates))
        since = np.where(at_gate, agents.ride_since[rows], 0)
        order = np.lexsort((since, -agents.ride_step[rows].astype(np.int64)))
        knows, alone = self._knows_lines(rows), self._costs(np.zeros_like(ahead))
        size = -(-len(may) // TURNS)
        for first in range(0, len(may), size):
            part = order[first : first + size]
            cost = np.where(knows[part], self._costs(ahead), alone) + self._walked / legs.speed[part, None]
            found.append(self._routes.choose(legs.only(part), cost, may[part]))
            goes = found[-1].gate[found[-1].gate >= 0]
            ahead += np.bincount(goes, minlength=len(ahead))
        back = np.argsort(order)
        return Chosen(*(np.concatenate(each)[back] for each in zip(*found, strict=True)))

    def _knows_lines(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for which pairs of gates agents, (k,) rows, know how many wait there, (k, p)."""
        begin, facts = self._routes.begin, self._gates.facts
        of_pair = np.array([facts.connections[number].knows for number in self._routes.connection.tolist()])
        found = np.tile(of_pair == "all", (len(rows), 1))
        for gate in np.unique(begin[of_pair == "seen"]).tolist():
            sees = np.empty(len(rows), dtype=np.bool_)
            aim = np.tile(facts.gates[gate].point, (len(rows), 1))
            layer = np.full(len(rows), max(0, facts.gates[gate].layer), dtype=np.int32)
            polygons, position = self.world.polygons(), self.world.agents.position
            see_many(rows, self.world.mesh, polygons, position, aim, layer, sees)
            found[:, begin == gate] |= sees[:, None]
        return found

    def _ahead(self) -> NDArray[np.int64]:
        """Return how many wait at each gate or are on their way there, (g,)."""
        agents = self.world.agents
        waits = np.isin(agents.ride_step, (RideStep.COMING, RideStep.IN_LINE))
        return np.bincount(agents.gate[waits], minlength=len(self._gates.gates))

    def _lacking(self, group: NDArray[np.int32], gate: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the connections whose keys agents lack, (k,); -1 where no key would help."""
        may_use = self._gates.facts.may_use[group]
        first = self._gates.connection[np.maximum(gate, 0)]
        lacks_first = ~may_use[np.arange(len(group)), first]
        by_foot = np.array([each.waypath is not None for each in self._gates.facts.connections])
        other = np.argmin(may_use | by_foot, axis=1)
        return np.where(gate < 0, -1, np.where(lacks_first, first, other))

    def _costs(self, ahead: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how long each pair of gates takes behind so many others at each gate, (g,); (p,) s."""
        routes, facts = self._routes, self._gates.facts
        found = np.empty(len(routes.connection))
        for pair, number in enumerate(routes.connection.tolist()):
            begin, end, first = int(routes.begin[pair]), int(routes.end[pair]), int(facts.first_gate[number])
            carrier = self._carriers[number]
            found[pair] = carrier.expected(int(ahead[begin])) + carrier.ride_s(begin - first, end - first)
        return found

    def restore(self, state: Arrays | Saved) -> None:
        """Stand on the ground as it was; nothing else lives here."""
        if not self._is_idle:
            self._mesh = self.world.mesh
        Saved.of(state).finish()
