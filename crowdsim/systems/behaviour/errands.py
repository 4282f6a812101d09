"""Where agents go for what they do: sent, stopped, and what became of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals.destinations import Points
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.systems.paths.lost_paths import GAVE_UP
from crowdsim.systems.paths.sending import let_stand, send
from crowdsim.world.columns import AgentState, Errand, Wait
from crowdsim.world.world import World


class Errands:
    """Sends agents to goals and points.

    Those that are sent in one tick are sent together, at its end: planners hear of new goals once.

    Parameters
    ----------
    world : World
    """

    def __init__(self, world: World) -> None:
        self.world = world
        # of agents that are to be sent to goals, and to points: rows, and where
        self._to_goals: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
        self._to_points: list[tuple[NDArray[np.int64], Points]] = []

    def go(self, rows: NDArray[np.int64], goal: NDArray[np.int32]) -> None:
        """Send agents, (k,) rows, to goals, (k,)."""
        if len(rows):
            self._sets_off(rows)
            self._to_goals.append((rows, goal.astype(np.int32)))

    def go_to(
        self, rows: NDArray[np.int64], place: NDArray[np.float64], layer: NDArray[np.int32], reach: float
    ) -> NDArray[np.bool_]:
        """Send agents, (k,) rows, to points, (k, 2) m, on floors, (k,), until they are within `reach` (m);
        return which points are on the ground, (k,).
        """
        polygon = np.empty(len(rows), dtype=np.int64)
        several = int(self.world.mesh.polygon_layer.max(initial=0)) > 0
        floor = layer if several else np.full(len(rows), -1, dtype=np.int32)
        locate_many(0, len(rows), self.world.mesh, place, floor, polygon)
        there: NDArray[np.bool_] = polygon >= 0
        if there.any():
            own = rows[there]
            self._sets_off(own)
            self._to_points.append((own, Points(place[there], floor[there], np.full(len(own), reach))))
        return there

    def _sets_off(self, rows: NDArray[np.int64]) -> None:
        agents = self.world.agents
        self._drop(rows)
        agents.errand[rows], agents.waits[rows] = Errand.GOING, Wait.NOTHING

    def stop(self, rows: NDArray[np.int64], waits: Wait) -> None:
        """Let agents, (k,) rows, stand where they are, and wait for something."""
        if not len(rows):
            return
        agents = self.world.agents
        self._drop(rows)
        goes = rows[(agents.goal[rows] >= 0) | (agents.activity[rows] != AgentState.STANDING)]
        if len(goes):
            let_stand(self.world, goes)
        agents.waits[rows] = waits

    def _drop(self, rows: NDArray[np.int64]) -> None:
        """Forget that agents were to be sent somewhere in this tick."""
        for goals, (own, goal) in enumerate(self._to_goals):
            left = ~np.isin(own, rows)
            self._to_goals[goals] = own[left], goal[left]
        for points, (own, point) in enumerate(self._to_points):
            left = ~np.isin(own, rows)
            self._to_points[points] = (
                own[left],
                Points(point.place[left], point.layer[left], point.reach[left]),
            )

    def finish(self, tick: int) -> None:
        """Send those that were to be sent."""
        rows = [own for own, _ in (*self._to_goals, *self._to_points)]
        number = [goal for _, goal in self._to_goals]
        if self._to_points:
            parts = [point for _, point in self._to_points]
            place = np.concatenate([each.place for each in parts])
            layer = np.concatenate([each.layer for each in parts])
            reach = np.concatenate([each.reach for each in parts])
            number.append(self.world.set_points(Points(place, layer, reach)))
        self._to_goals, self._to_points = [], []
        if rows:
            order = np.argsort(np.concatenate(rows), kind="stable")
            send(self.world, np.concatenate(rows)[order], np.concatenate(number)[order], tick)

    def note(self) -> None:
        """Note which agents have come to where they were sent, and which cannot."""
        agents = self.world.agents
        going = (agents.errand == Errand.GOING) & (agents.activity != AgentState.ARRIVED)
        agents.errand[going & (agents.goal < 0)] = Errand.THERE
        gave_up = going & (agents.goal >= 0) & (agents.activity == AgentState.STANDING)
        agents.errand[gave_up & np.isin(agents.path_status, GAVE_UP)] = Errand.FAILED
