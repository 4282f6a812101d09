"""Agents as a user of the library sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.world.columns import AgentColumns, AgentState, PathStatus

if TYPE_CHECKING:
    import pandas as pd


class AgentsView:
    """The agents that are in the world, in ascending order of their entity ids.

    Every hot column is an attribute: a read-only array, valid until the next step (copy it to keep it). Columns and units are listed in
    `crowdsim.world.columns.AGENT_COLUMNS`.

    Parameters
    ----------
    columns : AgentColumns
    labels : sequence of str
        Names of all agents by entity id - 1.
    """

    def __init__(self, columns: AgentColumns, labels: Sequence[str]) -> None:
        self._columns = columns
        self._labels = labels

    def __len__(self) -> int:
        return len(self._columns)

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        view = getattr(self._columns, name).view()
        view.flags.writeable = False
        return view

    @property
    def label(self) -> list[str]:
        """What a user calls each agent: its id, or group[index]."""
        return [self._labels[entity - 1] for entity in self._columns.entity.tolist()]

    def to_frame(self) -> pd.DataFrame:
        """Return the agents as a DataFrame: one row each, indexed by entity, vectors as two columns."""
        import pandas as pd

        agents = self._columns
        table: dict[str, Any] = {"agent": self.label}
        for name in ("position", "velocity", "preferred_velocity", "next_corner"):
            array = getattr(agents, name)
            table[f"{name}_x"], table[f"{name}_y"] = array[:, 0].copy(), array[:, 1].copy()
        for name in ("radius", "desired_speed", "goal", "layer", "blocker"):
            table[name] = getattr(agents, name).copy()
        table["activity"] = [AgentState(value).name.lower() for value in agents.activity.tolist()]
        table["path_status"] = [PathStatus(value).name.lower() for value in agents.path_status.tolist()]
        table["is_stuck"] = agents.is_stuck.astype(bool)
        return pd.DataFrame(table, index=pd.Index(np.asarray(agents.entity).copy(), name="entity"))
