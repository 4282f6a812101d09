"""Standing in line until one is served."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.saved import MOST, Saved
from crowdsim.scenario.behaviours import State
from crowdsim.scenario.queues import Queue
from crowdsim.systems.base.system import Tick
from crowdsim.systems.behaviour.actions import Action, Crew
from crowdsim.world.columns import NEVER, Errand, Wait
from crowdsim.world.events import EventKind
from crowdsim.world.random import Stream

JOIN_M = 1.0  # So near to the end of a line an agent has joined it: it is the next in the eyes of the others.
AT_SPOT_M = 0.2  # How near to its place an agent stands.
OFF_M = 0.45  # So far from there one that was pushed goes back.
FREE = 0

COMING, IN_LINE, CALLED, SERVED = 0, 1, 2, 3  # steps of an agent


class Desk:
    """A queue while the run lasts.

    Attributes
    ----------
    queue : Queue
    number : int
    lines : list of list of int
        Entities in each line, the head first.
    served : list of int
        Entity at each server, or on its way there; FREE if there is none.
    spots : list of (s, 2) float64, m
        The places of each line, the head first.
    """

    def __init__(self, queue: Queue, number: int) -> None:
        self.queue, self.number = queue, number
        self.lines: list[list[int]] = [[] for _ in queue.lines]
        self.served = [FREE] * len(queue.servers)
        self.spots = [spots_of(line, queue.spacing) for line in queue.lines]

    def tail(self, line: int) -> NDArray[np.float64]:
        """Return where the next one to join a line stands, (2,) m; at its end if it is full."""
        spots = self.spots[line]
        found: NDArray[np.float64] = spots[min(len(self.lines[line]), len(spots) - 1)]
        return found

    def is_full(self, line: int) -> bool:
        """Return whether all places of a line are taken."""
        return len(self.lines[line]) >= len(self.spots[line])

    def members(self) -> set[int]:
        """Return all that stand in a line or are served."""
        return {*(each for line in self.lines for each in line), *self.served} - {FREE}

    def drop(self, entities: set[int]) -> None:
        """Take some out of the lines and from the servers."""
        if entities & self.members():
            self.lines = [[each for each in line if each not in entities] for line in self.lines]
            self.served = [FREE if each in entities else each for each in self.served]


def spots_of(line: tuple[tuple[float, float], ...], spacing: float) -> NDArray[np.float64]:
    """Return points along a line from its head on, (s, 2) m, so far apart (m), by its length."""
    corner = np.array(line, dtype=np.float64)
    step = hypots(*np.diff(corner, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(step)])
    at = np.arange(int(np.floor(along[-1] / spacing + 1e-9)) + 1) * spacing
    part = np.minimum(np.searchsorted(along, at, side="right") - 1, len(step) - 1)
    share = (at - along[part]) / np.where(step[part] > 0.0, step[part], 1.0)
    found: NDArray[np.float64] = corner[part] + share[:, None] * (corner[part + 1] - corner[part])
    return found


class QueueUp(Action):
    """Stand in line, go to a server when it is free, and be served.

    The step of an agent says how far it has got, its partner which line it has chosen. Service begins when it
    is at the server, which is taken from the moment at which it leaves the head of the line.
    """

    looks = True

    def __init__(self, crew: Crew, states: dict[int, State]) -> None:
        super().__init__(crew, states)
        self.desks = [Desk(queue, number) for number, queue in enumerate(crew.setup.scenario.queues)]
        by_name = {desk.queue.name: desk for desk in self.desks}
        self._desk_of = {number: by_name[state.queue] for number, state in states.items()}
        groups = [group.name for group in crew.setup.scenario.groups]
        self._first = [{groups.index(name) for name in desk.queue.first} for desk in self.desks]

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Choose a line, and go to its end."""
        agents, desk = self.crew.agents, self._desk_of[number]
        lengths = self._lengths(desk, number)
        for row in rows.tolist():  # one after the other: each makes a line longer
            agents.partner[row] = line = self._chosen_line(desk, lengths, row)
            lengths[line] += 1
            agents.step[row] = COMING
        self._come(desk, rows)

    def _lengths(self, desk: Desk, number: int) -> list[int]:
        """Return how many stand in each line, are served there, or come to it."""
        agents = self.crew.agents
        lengths = [len(line) for line in desk.lines]
        if len(lengths) > 1:
            for line, entity in enumerate(desk.served):
                lengths[line] += entity != FREE
        coming = (agents.step == COMING) & np.isin(
            agents.machine_state, [each for each, own in self._desk_of.items() if own is desk]
        )
        for line in agents.partner[coming].tolist():
            if 0 <= line < len(lengths):
                lengths[line] += 1
        return lengths

    def _chosen_line(self, desk: Desk, lengths: list[int], row: int) -> int:
        if len(lengths) == 1:
            return 0
        if desk.queue.join == "random":
            return int(self.crew.draws.choices(np.ones(len(lengths)), np.array([row]))[0])
        # of those that are equally short the nearest
        place = self.crew.agents.position[row]
        apart = [float(hypots(*(desk.tail(line) - place))) for line in range(len(lengths))]
        return min(range(len(lengths)), key=lambda line: (lengths[line], apart[line], line))

    def _come(self, desk: Desk, rows: NDArray[np.int64]) -> None:
        """Send agents to the ends of their lines."""
        lines = self.crew.agents.partner[rows].tolist()
        self._go(desk, rows, np.array([desk.tail(line) for line in lines]).reshape(-1, 2), Wait.NOTHING)

    def _go(self, desk: Desk, rows: NDArray[np.int64], place: NDArray[np.float64], waits: Wait) -> None:
        if len(rows):
            layer = np.full(len(rows), max(0, desk.queue.layer), dtype=np.int32)
            self.crew.errands.go_to(rows, place, layer, AT_SPOT_M)
            self.crew.agents.waits[rows] = waits

    def arrived(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Stand, or be served."""
        agents, desk = self.crew.agents, self._desk_of[number]
        agents.errand[rows] = Errand.NONE
        self.crew.errands.stop(rows, Wait.QUEUE)
        for row in rows[agents.step[rows] == CALLED].tolist():
            agents.step[row] = SERVED
            agents.waits[row] = Wait.SERVICE
            one = np.array([row])
            self.crew.pause(one, self.crew.draws.of(desk.queue.service, one, Stream.SERVICE), tick.number)
            self._note(tick, EventKind.SERVED, one, desk)

    def rested(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Served; or one that has waited for too long leaves."""
        agents = self.crew.agents
        is_served = agents.step[rows] == SERVED
        agents.errand[rows[is_served]] = Errand.DONE
        waits = rows[agents.step[rows] <= IN_LINE]
        self.end(number, waits)
        self.crew.errands.stop(waits, Wait.QUEUE)
        agents.errand[waits] = Errand.FAILED

    def end(self, number: int, rows: NDArray[np.int64]) -> None:
        """Let agents leave the line, or the server."""
        if len(rows):
            self._desk_of[number].drop(set(self.crew.agents.entity[rows].tolist()))

    def every_tick(self, tick: Tick) -> None:
        """Let servers that are free have the next ones."""
        agents = self.crew.agents
        for desk in self.desks:
            self._drop_those_away(desk)
            for line, servers in enumerate(desk.queue.serves):
                for server in servers:
                    if desk.served[server] != FREE or not desk.lines[line]:
                        continue
                    row = int(np.searchsorted(agents.entity, desk.lines[line][0]))
                    if hypots(*(desk.spots[line][0] - agents.position[row])) > OFF_M:
                        continue  # is still on its way to the head of the line
                    desk.served[server] = desk.lines[line].pop(0)
                    one = np.array([row])
                    agents.step[row], agents.pause_until[row] = CALLED, NEVER
                    agents.errand[row] = Errand.NONE
                    self._go(desk, one, np.array([desk.queue.servers[server]]), Wait.SERVICE)
                    self._note(tick, EventKind.CALLED, one, desk)

    def _drop_those_away(self, desk: Desk) -> None:
        """Take those out of a line that have left the world or do something else."""
        members = np.array(sorted(desk.members()), dtype=np.int64)
        if not len(members):
            return
        agents = self.crew.agents
        row = np.minimum(np.searchsorted(agents.entity, members), max(0, len(agents) - 1))
        there = (agents.entity[row] == members) if len(agents) else np.zeros(len(members), dtype=np.bool_)
        there = there & np.isin(agents.machine_state[row], list(self._desk_of)) if len(agents) else there
        desk.drop(set(members[~there].tolist()))

    def look(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let those that have come to the end of a line join it, and those in it close up."""
        agents, desk = self.crew.agents, self._desk_of[number]
        failed = rows[agents.errand[rows] == Errand.FAILED]
        if self.states[number].cannot is None:  # no path leads there now: ask again
            agents.errand[failed] = Errand.NONE
        members = desk.members()
        lost = rows[(agents.step[rows] != COMING) & ~np.isin(agents.entity[rows], list(members))]
        if len(lost):  # they were out of the world
            self.begin(tick, number, lost)
        coming = rows[(agents.step[rows] == COMING) & (agents.errand[rows] != Errand.FAILED)]
        self._join(tick, number, desk, coming)
        self._close_up(desk)

    def _join(self, tick: Tick, number: int, desk: Desk, coming: NDArray[np.int64]) -> None:
        agents = self.crew.agents
        tails = np.array([desk.tail(line) for line in agents.partner[coming].tolist()]).reshape(-1, 2)
        apart = hypots(*(agents.position[coming] - tails).T)
        floor = max(0, desk.queue.layer)
        apart[agents.layer[coming] != floor] = np.inf
        late = []
        for place in np.lexsort((agents.entity[coming], apart)).tolist():
            row, line = int(coming[place]), int(agents.partner[coming[place]])
            near = hypots(*(desk.tail(line) - agents.position[row])) <= JOIN_M and apart[place] < np.inf
            if near and not desk.is_full(line):
                self._take_place(desk, line, row)
                one = np.array([row])
                agents.step[row], agents.waits[row] = IN_LINE, Wait.QUEUE
                time = self.states[number].time
                if time is not None:
                    self.crew.pause(one, self.crew.draws.of(time, one), tick.number)
                self._note(tick, EventKind.JOINED_LINE, one, desk)
            elif near and self.states[number].cannot is not None:
                agents.errand[row] = Errand.FAILED
                self.crew.errands.stop(np.array([row]), Wait.QUEUE)
            elif near:  # stands behind a line that is full
                agents.waits[row] = Wait.QUEUE
            else:
                late.append(row)
        self._follow_tail(desk, np.array(sorted(late), dtype=np.int64))

    def _take_place(self, desk: Desk, line: int, row: int) -> None:
        """Put an agent into a line: at its end, or behind the others of those that go first."""
        agents, own = self.crew.agents, desk.lines[line]
        entity, first = int(agents.entity[row]), self._first[desk.number]
        place = len(own)
        if int(agents.group[row]) in first:
            rows = np.searchsorted(agents.entity, own)
            place = next(
                (at for at, group in enumerate(agents.group[rows].tolist()) if group not in first), place
            )
        own.insert(place, entity)

    def _follow_tail(self, desk: Desk, rows: NDArray[np.int64]) -> None:
        """Send agents to where the end of their line is now, if it has moved."""
        agents, world = self.crew.agents, self.crew.world
        if not len(rows):
            return
        tails = np.array([desk.tail(line) for line in agents.partner[rows].tolist()]).reshape(-1, 2)
        heads = np.full((len(rows), 2), np.inf)
        going = (agents.errand[rows] == Errand.GOING) & (agents.goal[rows] >= world.destinations.fixed)
        heads[going] = world.destinations.places_of(agents.goal[rows[going]])
        moved = hypots(*(heads - tails).T) > JOIN_M / 2.0
        self._go(desk, rows[moved], tails[moved], Wait.NOTHING)

    def _close_up(self, desk: Desk) -> None:
        """Send those in line to their places that are not there."""
        agents, world = self.crew.agents, self.crew.world
        for line, spots in zip(desk.lines, desk.spots, strict=True):
            if not line:
                continue
            rows = np.searchsorted(agents.entity, line)
            spot = spots[np.minimum(np.arange(len(line)), len(spots) - 1)]
            going = (agents.errand[rows] == Errand.GOING) & (agents.goal[rows] >= world.destinations.fixed)
            heads = np.where(going[:, None], np.inf, agents.position[rows])
            heads[going] = world.destinations.places_of(agents.goal[rows[going]])
            off = hypots(*(heads - spot).T) > np.where(going, 0.01, OFF_M)
            order = np.argsort(rows[off])
            self._go(desk, rows[off][order], spot[off][order], Wait.QUEUE)

    def _note(self, tick: Tick, kind: EventKind, rows: NDArray[np.int64], desk: Desk) -> None:
        agents = self.crew.agents
        number = np.full(len(rows), desk.number)
        self.crew.world.events.note(tick.number, kind, agents.entity[rows], agents.position[rows], number)

    def check(self, saved: Saved, number: int, rows: NDArray[np.int64]) -> None:
        """Require that they come to, stand in or leave a line that there is."""
        agents, lines = self.crew.agents, len(self._desk_of[number].lines)
        step, line = agents.step[rows], agents.partner[rows]
        saved.require((step >= COMING) & (step <= SERVED), "step", "no agent in a queue gets so far")
        saved.require((line >= 0) & (line < lines), "partner", "the queue has no such line")

    def state(self) -> dict[str, NDArray[Any]]:
        """Return which agents stand in which line, and which are served."""
        lines = [line for desk in self.desks for line in desk.lines]
        return {
            "line": np.array([each for line in lines for each in line], dtype=np.int64),
            "lengths": np.array([len(line) for line in lines], dtype=np.int64),
            "served": np.array([each for desk in self.desks for each in desk.served], dtype=np.int64),
        }

    def restore(self, saved: Saved) -> None:
        """Take back what `state()` gave."""
        entities = saved.take("line", "i8", low=1, high=MOST)
        served = saved.take("served", "i8", (sum(len(desk.served) for desk in self.desks),), low=0, high=MOST)
        together = np.concatenate([entities, served[served != FREE]])
        saved.require(len(np.unique(together)) == len(together), "line", "has an agent twice")
        lengths = saved.parts("lengths", sum(len(desk.lines) for desk in self.desks), len(entities)).tolist()
        begin = at = 0
        for desk in self.desks:
            for line in range(len(desk.lines)):
                desk.lines[line] = entities[begin : begin + lengths[at]].tolist()
                begin, at = begin + lengths[at], at + 1
        begin = 0
        for desk in self.desks:
            desk.served = served[begin : begin + len(desk.served)].tolist()
            begin += len(desk.served)
