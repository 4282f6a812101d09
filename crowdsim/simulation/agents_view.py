"""Agents as a user of the library sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.old_names import COLUMNS, name_today
from crowdsim.printable import counted
from crowdsim.scenario.tree import suggestion
from crowdsim.setup.identity import AgentNames
from crowdsim.setup.things import Goals
from crowdsim.world.columns import AgentColumns, AgentState, PathStatus

if TYPE_CHECKING:
    import pandas as pd


class AgentsView:
    """The agents that are in the world, in ascending order of their entity ids.

    Every hot column is an attribute: a read-only array, valid until the next step (copy it to keep it).
    Columns and units are listed in `crowdsim.world.columns.AGENT_COLUMNS`.

    Parameters
    ----------
    columns : AgentColumns
    count : int
        How many of the rows are agents: the first.
    names : AgentNames
    goals : Goals
    """

    def __init__(self, columns: AgentColumns, count: int, names: AgentNames, goals: Goals) -> None:
        self._columns, self._count, self._names, self._goals = columns, count, names, goals

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        columns = f"{len(self._columns.columns)} columns such as position, velocity, goal: see dir()"
        return f"<{counted(len(self), 'agent')}; {columns}>"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns.columns]

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in COLUMNS:
            name = name_today("the column", name, COLUMNS)
        if name not in self._columns.columns:
            near = suggestion(name, self._columns.columns)
            raise AttributeError(
                f"agents have no column {name!r}. "
                f"{near or 'Known are ' + ', '.join(self._columns.columns) + '.'}"
            )
        view = getattr(self._columns, name)[: self._count]
        view.flags.writeable = False
        return view

    @property
    def label(self) -> list[str]:
        """What a user calls each agent: its id, or group[index]."""
        return self._names.of_all(self.entity)

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of the agents as a DataFrame:
        one row each, indexed by entity, vectors as two columns, units in ``attrs["units"]``.
        """
        import pandas as pd

        table: dict[str, Any] = {"agent": self.label}
        units = {"agent": ""}
        for name in ("position", "velocity", "heading", "preferred_velocity", "next_corner"):
            for axis, suffix in enumerate("xy"):
                table[f"{name}_{suffix}"] = getattr(self, name)[:, axis].copy()
                units[f"{name}_{suffix}"] = self._columns.columns[name].unit
        for name in ("radius", "desired_speed", "goal", "layer", "blocker"):
            table[name] = getattr(self, name).copy()
            units[name] = self._columns.columns[name].unit
        goals = self.goal.tolist()
        names = {goal: self._goals.name(goal) if goal >= 0 else "" for goal in set(goals)}
        table["goal_name"] = [names[goal] for goal in goals]
        table["activity"] = [AgentState(value).name.lower() for value in self.activity.tolist()]
        table["path_status"] = [PathStatus(value).name.lower() for value in self.path_status.tolist()]
        table["is_stuck"] = self.is_stuck.astype(bool)
        data = pd.DataFrame(table, index=pd.Index(np.asarray(self.entity).copy(), name="entity"))
        data.attrs["units"] = dict.fromkeys(table, "") | units
        return data
