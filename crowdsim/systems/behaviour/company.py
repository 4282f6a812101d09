"""Going up to another agent, and following one."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.systems.base.system import Tick
from crowdsim.systems.behaviour.actions import Action
from crowdsim.world.columns import Errand, Wait

MOVED_M = 0.5  # An agent goes on to where it is heading until the other is so far from there.
BEHIND = 1.2  # Share of the distance at which one that follows sets off again.
NOBODY = -1


class Approach(Action):
    """Go up to another agent: the nearest of those that are meant, when the state begins."""

    looks = True

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Choose the other, and go."""
        self.crew.agents.partner[rows] = self._nearest(number, rows)
        self.crew.agents.errand[rows] = Errand.NONE
        self._act(tick, number, rows)

    def arrived(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Go on, if the other has moved."""
        self.crew.agents.errand[rows] = Errand.NONE
        self._act(tick, number, rows)

    def look(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Go where the other is now."""
        self._act(tick, number, rows[self.crew.agents.errand[rows] <= Errand.GOING])

    def _act(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        agents = self.crew.agents
        other = self._partners(number, rows)
        lost = other < 0
        self.crew.errands.stop(rows[lost], Wait.NOTHING)
        agents.errand[rows[lost]] = Errand.FAILED
        rows, other = rows[~lost], other[~lost]
        near = self._distance(rows, other) <= self.states[number].distance
        self._is_near(tick, number, rows[near])
        self._pursue(tick, number, rows[~near], other[~near])

    def _partners(self, number: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the others; of those that have left the world another one is chosen, and -1
        stands where there is none.
        """
        agents = self.crew.agents
        other = self._rows_of(agents.partner[rows])
        gone = other < 0
        if gone.any():
            agents.partner[rows[gone]] = self._nearest(number, rows[gone])
            other = self._rows_of(agents.partner[rows])
        return other

    def _rows_of(self, entity: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of entities, -1 of those that are not in the world."""
        known = self.crew.agents.entity
        if not len(known):
            return np.full(len(entity), NOBODY, dtype=np.int64)
        place = np.minimum(np.searchsorted(known, entity), len(known) - 1)
        return np.where((known[place] == entity) & (entity > 0), place, NOBODY)

    def _nearest(self, number: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the entity of the nearest of those that are meant, (k,), on the same floor if there is one;
        -1 where there is none.
        """
        agents = self.crew.agents
        meant = np.flatnonzero(self.crew.conditions.selection(self.states[number].others).rows(agents))
        found = np.full(len(rows), NOBODY, dtype=np.int64)
        for layer in np.unique(agents.layer[rows]).tolist():
            mine = np.flatnonzero(agents.layer[rows] == layer)
            own = meant[agents.layer[meant] == layer]
            for chosen in (own, meant):
                left = mine[found[mine] == NOBODY]
                if len(left) and len(chosen):
                    found[left] = self._nearest_of(rows[left], chosen)
        return found

    def _nearest_of(self, rows: NDArray[np.int64], meant: NDArray[np.int64]) -> NDArray[np.int64]:
        agents = self.crew.agents
        tree = shapely.STRtree(shapely.points(agents.position[meant]))
        own, other = tree.query_nearest(
            shapely.points(agents.position[rows]), exclusive=False, all_matches=True
        )
        is_other = rows[own] != meant[other]
        own, other = own[is_other], other[is_other]
        found = np.full(len(rows), NOBODY, dtype=np.int64)
        # of several that are equally near, and of those in the same place, the first
        order = np.lexsort((agents.entity[meant[other]], own))
        first = np.unique(own[order], return_index=True)
        found[first[0]] = agents.entity[meant[other[order][first[1]]]]
        for row in np.flatnonzero(found == NOBODY).tolist():  # nearest to itself: it is one of those meant
            rest = meant[meant != rows[row]]
            if len(rest):
                apart = hypots(*(agents.position[rest] - agents.position[rows[row]]).T)
                found[row] = agents.entity[rest[int(np.argmin(apart))]]
        return found

    def _distance(self, rows: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how far agents are apart (m), inf on different floors."""
        agents = self.crew.agents
        apart = hypots(*(agents.position[rows] - agents.position[other]).T)
        return np.where(agents.layer[rows] == agents.layer[other], apart, np.inf)

    def _pursue(self, tick: Tick, number: int, rows: NDArray[np.int64], other: NDArray[np.int64]) -> None:
        """Send agents to where the others are, unless they are on their way to near there."""
        agents, world = self.crew.agents, self.crew.world
        heads = np.full((len(rows), 2), np.inf)
        going = (agents.errand[rows] == Errand.GOING) & (agents.goal[rows] >= world.destinations.fixed)
        heads[going] = world.destinations.places_of(agents.goal[rows[going]])
        moved = hypots(*(heads - agents.position[other]).T) > MOVED_M
        rows, other = rows[moved], other[moved]
        if len(rows):
            self.crew.errands.go_to(
                rows, agents.position[other], agents.layer[other], self.states[number].distance
            )

    def _is_near(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Take note of agents that are with the others."""
        self.crew.errands.stop(rows, Wait.NOTHING)
        self.crew.agents.errand[rows] = Errand.DONE


class Follow(Approach):
    """Go behind another agent, and stand where it stands; never done."""

    def _distance(self, rows: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how far agents are apart (m); those that stand set off a little later."""
        apart = super()._distance(rows, other)
        return np.where(self.crew.agents.errand[rows] == Errand.GOING, apart, apart / BEHIND)

    def _is_near(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        self.crew.errands.stop(rows, Wait.STAY)
        self.crew.agents.errand[rows] = Errand.NONE
