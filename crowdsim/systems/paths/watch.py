"""Watchers that are agents: where they were when those that hide from them looked last."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.mesh.watchers import Watchers
from crowdsim.navigation.search.watching import WatchParameters
from crowdsim.saved import FARTHEST_M, Saved
from crowdsim.scenario.parameters import Chosen
from crowdsim.setup.build import Built
from crowdsim.setup.hiding import watchers_at
from crowdsim.systems.base.system import ticks_of
from crowdsim.world.columns import AgentState
from crowdsim.world.world import World


class Watch:
    """Looks at watchers at intervals.

    Parameters
    ----------
    built : Built
    chosen : Chosen
        The navigation of those that hide.
    groups : (groups,) bool
        Whose agents are watchers.
    """

    def __init__(self, built: Built, chosen: Chosen, groups: NDArray[np.bool_]) -> None:
        interval = chosen.parameters(WatchParameters).watch_interval
        self.groups, self.interval = groups, max(1, ticks_of(interval, built.scenario.tick))
        rows = np.flatnonzero(groups[built.agents.group])
        self._position = built.agents.position[rows].copy()
        self._layer = built.mesh_build.mesh.polygon_layer[built.polygon[rows]].astype(np.int32)

    def look(self, tick: int, world: World) -> bool:
        """Look at where the watchers are, if it is time; return whether that is another than before."""
        if tick % self.interval:
            return False
        agents = world.agents
        there = world.of_groups(self.groups) & (agents.activity != AgentState.OBSTACLE) & world.has_ground()
        position, layer = agents.position[there], agents.layer[there]
        if np.array_equal(position, self._position) and np.array_equal(layer, self._layer):
            return False
        self._position, self._layer = position.copy(), layer.copy()
        return True

    def watchers(self, mesh: NavMesh) -> Watchers:
        """Return them where they were seen last, on the ground that there is now."""
        return watchers_at(mesh, self._position, self._layer)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return where they were seen last."""
        return {"watch_position": self._position.copy(), "watch_layer": self._layer.copy()}

    def restore(self, saved: Saved, mesh: NavMesh) -> None:
        """Take back what `state()` gave, on a ground.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        position = saved.take("watch_position", "f8", (None, 2), low=-FARTHEST_M, high=FARTHEST_M)
        layer = saved.take("watch_layer", "i4", low=-1, high=int(mesh.polygon_layer.max()))
        saved.require(
            len(layer) == len(position), "watch_layer", "has not as many watchers as watch_position"
        )
        self._position, self._layer = position, layer
